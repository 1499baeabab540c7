/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * portmajor status: reads, judges and prints the plugin's state or, watching, its
 * changes.
 */
#include "cache.h"
#include "commands.h"
#include "expected.h"
#include "json.h"
#include "missing_output.h"
#include "one_fabric.h"
#include "state_text.h"
#include "repeat.h"
#include "text.h"

#include <portmajor/base/hash.h>
#include <portmajor/memory/xalloc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_AGE_S 75 /* the plugin writes every 60 s */

static json_t *describe_status(const char *path, const struct status *status,
			       const struct findings *findings)
{
	json_t *object = cli_json_new("status", 1), *list = json_array();
	char *nodes = cli_missing_nodes(state_file_member(&status->state, "missing"));

	for (size_t i = 0; i < findings->count; i++)
		json_array_append_new(list, pm_json_text(findings->text[i]));
	json_object_set_new(object, "file", pm_json_text(path));
	json_object_set_new(object, "age_s", json_integer(status->age));
	json_object_set_new(object, "running", json_boolean(status->state.running));
	json_object_set_new(object, "findings", list);
	json_object_set_new(object, "missing_nodes", pm_json_text(nodes));
	free(nodes);
	json_object_set_new(object, "master",
			    status->master
				    ? pm_json_text(cli_json_text(
					      status->master->state.root, "port_guid"))
				    : json_null());
	json_object_set_new(object, "cables",
			    status->cables ? json_incref(status->cables) : json_null());
	json_object_set(object, "state", status->state.root);
	return object;
}

/* ---- The command ---- */

struct request {
	uint32_t max_age; /* seconds */
	bool watch;
	const char *expect; /* netlist of the intended cabling, or NULL */
	char *file;	    /* NULL: the files of all fabrics */
	json_t *shown;	    /* printed by --watch, see status_print_changes */
	struct cli_output output;
};

static int print(const char *path, const struct status *status,
		 const struct findings *findings, const struct request *request)
{
	bool quiet = request->output.quiet;

	if (request->output.json) {
		json_t *object = describe_status(path, status, findings);

		return request->watch ? cli_json_print_line(object)
				      : cli_json_print(object);
	}
	if (request->watch) {
		status_print_changes(
			request->shown, path,
			request->file ? NULL
				      : cli_json_text(status->state.root, "port_guid"),
			findings, quiet);
		return EXIT_FINE;
	}
	if (!quiet || findings->count)
		status_print_fabric(&status->state);
	if (!quiet)
		status_print(status);
	status_print_findings(findings, quiet);
	return EXIT_FINE;
}

/* Compares cables, on a master: a standby knows nothing new of the fabric. */
static int compare_cables(struct status *status, const char *path)
{
	return status->expected && !strcmp(status->state.sm, "master")
		       ? expected_compare(status->expected, path, &status->cables)
		       : EXIT_FINE;
}

/* Sets *old to the time when the state becomes outdated, if that is sooner. */
static int judge_and_print(const char *path, struct status *status,
			   const struct request *request, time_t *old)
{
	json_int_t age = (json_int_t)(time(NULL) - status->state.time);
	time_t end = status->state.time + (time_t)request->max_age;
	struct findings findings = {0};
	int rc;

	status->age = age < 0 ? 0 : age; /* clocks are adjusted at times */
	findings_judge(status, &findings);
	rc = print(path, status, &findings, request);
	if (rc == EXIT_FINE && findings.count)
		rc = EXIT_FINDINGS;
	if (status->age <= (json_int_t)request->max_age && *old > end)
		*old = end + 1;
	findings_free(&findings);
	return rc;
}

/* Shows a state that was read. */
static int show_state(struct status *status, const struct request *request, time_t *old)
{
	int rc = compare_cables(status, status->path);

	return rc == EXIT_FINE ? judge_and_print(status->path, status, request, old) : rc;
}

/* Prints the states of these files; returns the worst exit status. */
static int show_each(char *const *paths, size_t count, const struct request *request,
		     time_t *old)
{
	bool apart = !request->output.json && !request->output.quiet && !request->watch;
	struct status *list = pm_xarray(count, sizeof(*list));
	int worst = EXIT_FINE, status;

	for (size_t i = 0; i < count; i++) {
		list[i] = (struct status){.path = paths[i],
					  .max_age = request->max_age,
					  .expected = request->expect};
		status = state_file_read(paths[i], &list[i].state);
		if (status == EXIT_FINE)
			continue;
		worst = status;
		state_file_free(&list[i].state);
		list[i].state.root = NULL;
	}
	one_fabric_find(list, count);
	for (size_t i = 0; i < count; i++) {
		if (i && apart)
			putchar('\n');
		status = list[i].state.root ? show_state(&list[i], request, old) : worst;
		worst = status > worst ? status : worst;
	}
	for (size_t i = 0; i < count; i++) {
		json_decref(list[i].cables);
		state_file_free(&list[i].state);
	}
	free(list);
	return worst;
}

static int show_all(const struct request *request, time_t *old)
{
	struct cache_paths paths;
	char *wanted;
	int status;

	cache_find("state", &paths, &wanted);
	if (!paths.count)
		status = cli_fail(EXIT_INPUT, "%s: " CACHE_NONE, wanted);
	else if (paths.count > 1 && request->expect)
		status = cli_fail(EXIT_USAGE,
				  "--expect is of one fabric: name its FILE, one of %s",
				  wanted);
	else
		status = show_each(paths.path, paths.count, request, old);
	free(wanted);
	cache_paths_free(&paths);
	return status;
}

/* ---- Watching ---- */

static int show_states(const void *arg, time_t *old)
{
	const struct request *request = arg;
	char *file = request->file;

	return file ? show_each(&file, 1, request, old) : show_all(request, old);
}

/* A killed OpenSM writes no end to its file. */
static uint64_t mark_file(uint64_t hash, const char *path)
{
	char *reserve = cli_text_make("%s" STATE_FILE_RESERVE, path);

	hash = cli_watch_file(cli_watch_file(hash, path), reserve);
	free(reserve);
	return pm_hash_number(hash, cache_is_left(path));
}

static uint64_t mark(const void *arg)
{
	const struct request *request = arg;
	uint64_t hash = PM_HASH_START;
	struct cache_paths paths;
	char *wanted;

	if (request->file)
		return mark_file(hash, request->file);
	cache_find("state", &paths, &wanted);
	for (size_t i = 0; i < paths.count; i++)
		hash = mark_file(hash, paths.path[i]);
	free(wanted);
	cache_paths_free(&paths);
	return hash;
}

static const struct cli_option options[] = {
	{0, "watch", NULL,
	 "Continue until interrupted: print a dated line for each finding and "
	 "for its end, and `verdict ok` when there is no finding.",
	 CLI_MEMBER(struct request, watch)},
	{0, "max-age", "SECONDS",
	 "The age at which a state is old, in seconds. Default 75; the plugin "
	 "writes the state at least every minute.",
	 CLI_MEMBER(struct request, max_age), .high = INT32_MAX},
	{0, "expect", "NETLIST",
	 "Compare the cables with NETLIST, the intended cabling: missing, "
	 "additional and swapped cables are a finding.",
	 CLI_MEMBER(struct request, expect)},
	CLI_OUTPUT(struct request, output, "Print findings only.",
		   "Print a JSON object (docs/json.md) for each fabric; with --watch a "
		   "line each time."),
	{0},
};

static const struct cli_command command = {
	.synopsis = "status [OPTION]... [FILE | FOLDER]",
	.about =
		"Judge the fabric as it is now, by the file that the plugin writes "
		"(portmajor.GUID/state in OpenSM's cache folder, $OSM_CACHE_DIR or " CLI_CACHE_DIR
		"); if there are several fabrics, each. Exit status 1 for a finding, such "
		""
		"as: "
		"OpenSM does not run or has fallen back to another engine, there is no "
		"master, "
		"parts are missing, hosts are cut off, links are on hold, slow or have "
		"errors, "
		"or LFT blocks were not acknowledged.",
	.options = options,
	.max_operands = 1,
};

int cmd_status(int argc, char **argv)
{
	struct request request = {.max_age = MAX_AGE_S};
	const struct cli_watch watch = {show_states, mark, &request};
	time_t ignored = 0;
	int status = cli_command_read(&command, argc, argv, &request);

	if (status >= 0)
		return status;
	request.file = optind < argc ? cache_file(argv[optind], "state") : NULL;
	request.shown = json_object();
	status = request.watch ? cli_watch_run(&watch) : show_states(&request, &ignored);
	json_decref(request.shown);
	free(request.file);
	return status;
}
