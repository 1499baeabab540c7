/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the plugin's state file. */
#include "state_file.h"

#include "cache.h"
#include "commands.h"
#include "json.h"
#include "text.h"

#include <portmajor/json/rows.h>

#include <stdlib.h>
#include <string.h>

#define STATE_VERSION 2

#define MEMBER(member) PM_JSON_ROW(struct state_file, member)

static const struct pm_json_row root_rows[] = {
	{"time", MEMBER(time)},
	{"running", MEMBER(written_running)},
	{"sm_state", MEMBER(sm)},
	{"no_master", MEMBER(no_master)},
	{"no_master_since", MEMBER(no_master_since)},
	{"unsaved", MEMBER(unsaved)},
	{"config_error", MEMBER(config_error)},
	{"bad_switches", MEMBER(bad_switches)},
	{0},
};

static const struct pm_json_row engine_rows[] = {
	{"active", MEMBER(active)},
	{"used", MEMBER(engine.used)},
	{"reason", MEMBER(engine.reason)},
	{0},
};

static const struct pm_json_row unreachable_rows[] = {
	{"pairs", MEMBER(unreachable.pairs)},
	{"ends", MEMBER(unreachable.ends)},
	{"text", MEMBER(unreachable.text)},
	{0},
};

static const struct pm_json_row reachable_rows[] = {
	{"connected", MEMBER(reachable.connected)},
	{"pairs", MEMBER(reachable.pairs)},
	{0},
};

static const struct pm_json_row run_rows[] = {
	{"stale_entries", MEMBER(run.stale_entries)},
	{0},
};

static const struct pm_json_row multicast_rows[] = {
	{"members_left_out", MEMBER(multicast.members_left_out)},
	{"incomplete", MEMBER(multicast.incomplete)},
	{0},
};

static const struct pm_json_row degraded_rows[] = {
	{"count", MEMBER(degraded.count)},
	{0},
};

static const struct pm_json_row port_errors_rows[] = {
	{"count", MEMBER(port_errors.count)},
	{0},
};

static const struct pm_json_row drained_rows[] = {
	{"error", MEMBER(drained.error)},
	{0},
};

static const struct {
	const char *name;
	const struct pm_json_row *rows;
} objects[] = {
	{"engine", engine_rows},       {"unreachable", unreachable_rows},
	{"reachable", reachable_rows}, {"run", run_rows},
	{"multicast", multicast_rows}, {"degraded_links", degraded_rows},
	{"drained", drained_rows},     {"port_errors", port_errors_rows},
};

/* Checks that this is the plugin's document, of our version. */
static int check_schema(json_t *root, const char *path)
{
	const char *schema = NULL;
	int version = 0;

	if (json_unpack(root, "{s:s, s:i}", "schema", &schema, "version", &version) ||
	    strcmp(schema, "portmajor-state") != 0)
		return cli_fail(EXIT_INPUT, "%s: not a state file of portmajor", path);
	if (version != STATE_VERSION)
		return cli_fail(EXIT_INPUT,
				"%s: version %d of the schema; this program reads %d",
				path, version, STATE_VERSION);
	return EXIT_FINE;
}

static int check_members(json_t *root, const char *path)
{
	json_error_t error;

	if (json_unpack_ex(root, &error, JSON_VALIDATE_ONLY,
			   "{s:I, s:b, s:s, s:s, s:s, s:I, s:I, s:o, s:{s:o}, s:o, "
			   "s:o, s:o, s:I, s:o, s:o, s:{s:I}, s:o}",
			   "time", "running", "sm_state", "opensm", "plugin", "pid",
			   "started", "engine", "engine", "active", "run", "repair",
			   "since_start", "out_of_plan", "flapping", "unreachable",
			   "unreachable", "pairs", "plan"))
		return cli_fail(EXIT_INPUT, "%s: %s", path, error.text);
	return EXIT_FINE;
}

static void read_members(const char *path, struct state_file *state)
{
	const json_t *active =
		json_object_get(state_file_member(state, "engine"), "active");

	pm_json_rows_get(root_rows, state->root, state);
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		pm_json_rows_get(objects[i].rows,
				 state_file_member(state, objects[i].name), state);
	state->routed = json_is_boolean(active);
	state->killed = state->written_running && cache_is_left(path);
	state->running = state->written_running && !state->killed;
}

static json_int_t time_of(const json_t *root)
{
	return json_integer_value(json_object_get(root, "time"));
}

/*
 * On a full disk the plugin writes a newer document than that of the file into its
 * reserve. The plugin may be writing it now: what cannot be read is ignored.
 */
static void prefer_reserve(const char *path, json_t **root)
{
	char *reserve = cli_text_make("%s" STATE_FILE_RESERVE, path);
	json_t *other = cli_json_load(reserve);

	free(reserve);
	if (!json_is_object(other) || time_of(other) < time_of(*root)) {
		json_decref(other);
		return;
	}
	json_decref(*root);
	*root = other;
}

int state_file_read(const char *path, struct state_file *state)
{
	struct pm_error err;
	int status;

	*state = (struct state_file){.root = cli_json_read(path, &err)};
	if (!state->root)
		return cli_refuse(&err);
	prefer_reserve(path, &state->root);
	status = check_schema(state->root, path);
	if (status == EXIT_FINE)
		status = check_members(state->root, path);
	if (status == EXIT_FINE)
		read_members(path, state);
	return status;
}

void state_file_free(struct state_file *state)
{
	json_decref(state->root);
}

json_t *state_file_member(const struct state_file *state, const char *name)
{
	return json_object_get(state->root, name);
}
