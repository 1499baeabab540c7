/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor acknowledge: parts that are missing by intent, and are no finding. */
#include "cache.h"
#include "cli.h"
#include "json.h"
#include "missing.h"
#include "outfile.h"
#include "text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_US 100000

struct request {
	bool all;
	uint32_t wait_s;
	struct cli_output output;
};

/* ---- One fabric ---- */

static json_t *parts_of(const json_t *root)
{
	return json_object_get(json_object_get(root, "missing"), "parts");
}

static bool is_acknowledged(const json_t *part)
{
	return json_is_true(json_object_get(part, "acknowledged"));
}

/* Whether an OpenSM runs that wrote this state and would follow. */
static bool is_followed(const json_t *root, const char *file)
{
	const char *sm = json_string_value(json_object_get(root, "sm_state"));

	return json_is_true(json_object_get(root, "running")) && sm &&
	       !strcmp(sm, "master") && !cache_is_left(file);
}

static int print_json(FILE *file, const void *arg)
{
	return json_dumpf(arg, file, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
}

/* Leaves the request in the folder of a state file; an exit status. */
static int ask(const char *state_file, const json_t *parts, bool all)
{
	const char *slash = strrchr(state_file, '/');
	json_t *request =
		json_pack("{s:s, s:i, s:b, s:O}", "schema", "portmajor-acknowledge",
			  "version", 1, "all", all, "parts", parts);
	char *path;
	int status;

	if (asprintf(&path, "%.*s/acknowledge", (int)(slash - state_file), state_file) <
	    0)
		cli_no_memory();
	status = cli_outfile_write(path, print_json, request);
	free(path);
	json_decref(request);
	return status;
}

/* Adds the first ends of parts that an operand means; how many these are. */
static size_t choose(const json_t *parts, const char *operand, json_t *chosen)
{
	size_t i, count = 0;
	const json_t *part;

	json_array_foreach(parts, i, part)
	{
		if (!cli_missing_is_meant(part, operand))
			continue;
		json_array_append(chosen,
				  json_array_get(json_object_get(part, "ends"), 0));
		count++;
	}
	return count;
}

/* ---- All of them ---- */

/* A state file with what was chosen of it; root NULL: nothing follows there. */
struct fabric {
	const char *file;
	json_t *root, *chosen;
};

struct fabrics {
	struct cache_paths files;
	struct fabric *list;
	size_t num; /* that are followed */
};

static void read_fabrics(struct fabrics *fabrics, char **wanted)
{
	if (cache_find("state", &fabrics->files, wanted))
		cli_no_memory();
	fabrics->list = calloc(fabrics->files.count + 1, sizeof(*fabrics->list));
	if (!fabrics->list)
		cli_no_memory();
	for (size_t i = 0; i < fabrics->files.count - fabrics->files.old; i++) {
		const char *file = fabrics->files.path[i];
		json_t *root = cli_json_load(file);

		if (!is_followed(root, file))
			json_decref(root);
		else
			fabrics->list[fabrics->num++] =
				(struct fabric){file, root, json_array()};
	}
}

static void free_fabrics(struct fabrics *fabrics)
{
	for (size_t i = 0; i < fabrics->num; i++) {
		json_decref(fabrics->list[i].root);
		json_decref(fabrics->list[i].chosen);
	}
	free(fabrics->list);
	cache_paths_free(&fabrics->files);
}

static int choose_all(struct fabrics *fabrics, char **operands)
{
	for (; *operands; operands++) {
		size_t count = 0;

		for (size_t i = 0; i < fabrics->num; i++)
			count += choose(parts_of(fabrics->list[i].root), *operands,
					fabrics->list[i].chosen);
		if (!count)
			return cli_fail(EXIT_USAGE,
					"acknowledge: \"%s\" is not missing (`portmajor "
					"acknowledge` lists what is)",
					*operands);
	}
	return EXIT_FINE;
}

static int ask_all(const struct fabrics *fabrics, bool all)
{
	int status = EXIT_FINE;

	for (size_t i = 0; i < fabrics->num && !status; i++) {
		const struct fabric *fabric = &fabrics->list[i];

		if (all || json_array_size(fabric->chosen))
			status = ask(fabric->file, fabric->chosen, all);
	}
	return status;
}

/* ---- What has become of it ---- */

/* Whether a request is still there. */
static bool is_pending(const struct fabric *fabric)
{
	const char *slash = strrchr(fabric->file, '/');
	char *path;
	bool pending;

	if (asprintf(&path, "%.*s/acknowledge", (int)(slash - fabric->file),
		     fabric->file) < 0)
		cli_no_memory();
	pending = !access(path, F_OK);
	free(path);
	return pending;
}

/* Whether all that was chosen is acknowledged, or has returned. */
static bool is_done(struct fabric *fabric, bool all)
{
	json_t *root = cli_json_load(fabric->file);
	const json_t *part;
	bool done = root && !is_pending(fabric);
	size_t i, j;

	if (!root)
		return false;
	json_decref(fabric->root);
	fabric->root = root;
	json_array_foreach(parts_of(root), i, part)
	{
		const json_t *end = json_array_get(json_object_get(part, "ends"), 0);
		const json_t *chosen;

		done = done && (!all || is_acknowledged(part));
		json_array_foreach(fabric->chosen, j, chosen) done =
			done && (!json_equal(end, chosen) || is_acknowledged(part));
	}
	return done;
}

static bool wait_done(struct fabrics *fabrics, const struct request *request)
{
	for (uint64_t looks = request->wait_s * UINT64_C(1000000) / LOOK_US;; looks--) {
		bool done = true;

		for (size_t i = 0; i < fabrics->num; i++)
			done = is_done(&fabrics->list[i], request->all) && done;
		if (done || !looks)
			return done;
		usleep(LOOK_US);
	}
}

/* "acknowledged leaf9 (since ..)" */
static void print_part(const json_t *part)
{
	char *name = cli_missing_name(part);

	printf("%-13s", is_acknowledged(part) ? "acknowledged" : "missing");
	cli_text_put(name);
	cli_text_print(part, ", since {@since}\n");
	free(name);
}

/* Lists what is missing; an exit status, that of findings if any is not acknowledged. */
static int show(const struct fabrics *fabrics, const struct request *request, bool done)
{
	json_t *object = cli_json_new("acknowledge", 1), *list = json_array();
	int status = done ? EXIT_FINE : EXIT_FINDINGS;
	json_t *part;
	size_t j;

	for (size_t i = 0; i < fabrics->num; i++)
		json_array_foreach(parts_of(fabrics->list[i].root), j, part)
		{
			json_array_append(list, part);
			if (!request->output.json && !request->output.quiet)
				print_part(part);
		}
	json_object_set_new(object, "done", json_boolean(done));
	json_object_set_new(object, "missing", list);
	if (!request->output.json) {
		json_decref(object);
		return status;
	}
	return cli_json_print(object) ? EXIT_INPUT : status;
}

static bool is_any_open(const struct fabrics *fabrics)
{
	const json_t *part;
	size_t j;

	for (size_t i = 0; i < fabrics->num; i++)
		json_array_foreach(parts_of(fabrics->list[i].root), j,
				   part) if (!is_acknowledged(part)) return true;
	return false;
}

/* ---- The command ---- */

static int acknowledge(const struct request *request, char **operands)
{
	bool changes = *operands || request->all, done;
	struct fabrics fabrics = {.num = 0};
	char *wanted;
	int status = EXIT_FINE;

	read_fabrics(&fabrics, &wanted);
	if (!fabrics.num)
		status = cli_fail(EXIT_INPUT,
				  "%s: of no OpenSM that runs and is the master", wanted);
	else
		status = choose_all(&fabrics, operands);
	if (!status && changes)
		status = ask_all(&fabrics, request->all);
	if (!status) {
		done = changes ? wait_done(&fabrics, request) : !is_any_open(&fabrics);
		status = show(&fabrics, request, done || (changes && !request->wait_s));
	}
	free(wanted);
	free_fabrics(&fabrics);
	return status;
}

static const struct cli_option options[] = {
	{0, "all", NULL, "all that is missing", CLI_MEMBER(struct request, all)},
	{0, "wait", "SECONDS", "wait until the plugin has followed, at most so long",
	 CLI_MEMBER(struct request, wait_s), .high = 86400},
	CLI_OUTPUT(struct request, output, "print nothing but errors",
		   "print JSON, see docs/json.md"),
	{0},
};

static const struct cli_command command = {
	.synopsis = "acknowledge [OPTION]... [--all | PART...]",
	.about = "Has a running OpenSM note that parts are missing by intent: `portmajor "
		 "status` shows them, and they are no finding and raise no alert until "
		 "they "
		 "have returned. PART is the name, a pattern with * and ?, or the GUID "
		 "of a "
		 "switch, or an end of a link or the port of a host (SWITCH:PORT). Then, "
		 "or "
		 "without operands, lists what is missing. Exit status 1, for a list or "
		 "with "
		 "--wait, if any of it is not acknowledged.",
	.options = options,
	.max_operands = INT_MAX,
};

int cmd_acknowledge(int argc, char **argv)
{
	struct request request = {0};
	int status = cli_command_read(&command, argc, argv, &request);

	if (status < 0 && request.all && optind < argc)
		status = cli_command_misused(&command, "--all, and parts are named");
	return status < 0 ? acknowledge(&request, argv + optind) : status;
}
