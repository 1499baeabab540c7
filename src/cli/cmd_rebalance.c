/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor rebalance: has a running OpenSM go over to the plan's tables. */
#include "cache.h"
#include "cli.h"
#include "json.h"
#include "outfile.h"
#include "text.h"

#include <portmajor/rebalance.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
	bool dry_run;
	uint32_t rate; /* 0: as configured */
	struct cli_output output;
};

/* ---- One fabric ---- */

/* Whether an OpenSM that would follow has written this state; root may be NULL. */
static bool is_followed(const json_t *root)
{
	const char *sm = json_string_value(json_object_get(root, "sm_state"));

	return json_is_true(json_object_get(root, "running")) && sm &&
	       !strcmp(sm, "master") && !json_is_object(json_object_get(root, "shadow"));
}

static int print_request(FILE *file, const void *arg)
{
	pm_rebalance_print(arg, file);
	return 0;
}

/* Writes the request into the folder of a state file; an exit status. */
static int ask(const char *state_file, const struct request *request)
{
	const struct pm_rebalance asked = {.rate = request->rate};
	const char *slash = strrchr(state_file, '/');
	char *path;
	int status;

	if (asprintf(&path, "%.*s/rebalance", (int)(slash - state_file), state_file) < 0)
		cli_no_memory();
	status = cli_outfile_write(path, print_request, &asked);
	free(path);
	return status;
}

/* What is told of one fabric; frees root. */
static json_t *describe(const char *state_file, json_t *root, bool asked)
{
	json_t *balance = json_object_get(root, "balance");
	json_t *port = json_object_get(root, "port_guid");
	json_t *object =
		json_pack("{s:O, s:o, s:b, s:o}", "port_guid", port ? port : json_null(),
			  "file", cli_json_string(state_file), "asked", asked, "balance",
			  json_is_object(balance) ? json_incref(balance) : json_null());

	json_decref(root);
	return object;
}

/* ---- All of them ---- */

/* Asks each that runs, unless it is a dry run, and lists them; an exit status. */
static int ask_all(const struct cache_paths *files, const struct request *request,
		   json_t *fabrics)
{
	for (size_t i = 0; i < files->count - files->old; i++) {
		json_t *root = cli_json_load(files->path[i]);
		int status = EXIT_FINE;

		if (!is_followed(root) || cache_is_left(files->path[i])) {
			json_decref(root);
			continue;
		}
		if (!request->dry_run)
			status = ask(files->path[i], request);
		json_array_append_new(fabrics, describe(files->path[i], root,
							!request->dry_run && !status));
		if (status)
			return status;
	}
	return EXIT_FINE;
}

/* Whether tables are known to be the plan's. */
static bool is_balanced(const json_t *fabric)
{
	const json_t *balance = json_object_get(fabric, "balance");

	return json_is_object(balance) && !cli_json_number(balance, "entries_off");
}

static void print_fabric(const json_t *fabric)
{
	const json_t *balance = json_object_get(fabric, "balance");

	cli_text_print(fabric, "port {port_guid}: ");
	if (!json_is_object(balance))
		fputs("how far tables are off the plan's is not known", stdout);
	else if (is_balanced(fabric))
		fputs("tables are the plan's", stdout);
	else
		cli_text_print(balance, "{#entries_off|entry|entries} off the plan's, in "
					"{#blocks_off|LFT block|LFT blocks} of "
					"{#switches_off|switch|switches}");
	if (json_is_true(json_object_get(balance, "rebalancing")))
		cli_text_print(balance,
			       "; rebalancing, {#blocks_left|LFT block|LFT blocks} left");
	puts(json_is_true(json_object_get(fabric, "asked")) ? "; asked for" : "");
}

/* Prints what was found; an exit status, that of findings if a dry run has any. */
static int show(json_t *fabrics, const struct request *request)
{
	json_t *object, *rate = request->rate ? json_integer(request->rate) : json_null();
	bool balanced = true;
	const json_t *fabric;
	int status = EXIT_FINE;
	size_t i;

	json_array_foreach(fabrics, i, fabric)
	{
		balanced = balanced && is_balanced(fabric);
		if (!request->output.json && !request->output.quiet)
			print_fabric(fabric);
	}
	if (request->output.json) {
		object = cli_json_new("rebalance", 1);
		json_object_set_new(object, "dry_run", json_boolean(request->dry_run));
		json_object_set_new(object, "rate", rate);
		json_object_set(object, "fabrics", fabrics);
		status = cli_json_print(object);
	} else {
		json_decref(rate);
	}
	return status			       ? status
	       : request->dry_run && !balanced ? EXIT_FINDINGS
					       : EXIT_FINE;
}

/* ---- The command ---- */

static int rebalance(const struct request *request)
{
	json_t *fabrics = json_array();
	struct cache_paths files;
	char *wanted;
	int status;

	if (cache_find("state", &files, &wanted))
		cli_no_memory();
	status = ask_all(&files, request, fabrics);
	if (!status && !json_array_size(fabrics))
		status = cli_fail(EXIT_INPUT,
				  "%s: of no OpenSM that runs, is the master and routes "
				  "with portmajor",
				  wanted);
	if (!status)
		status = show(fabrics, request);
	json_decref(fabrics);
	free(wanted);
	cache_paths_free(&files);
	return status;
}

static const struct cli_option options[] = {
	{0, "dry-run", NULL,
	 "tell how far tables are off the plan's, and ask for nothing",
	 CLI_MEMBER(struct request, dry_run)},
	{0, "rate", "BLOCKS",
	 "send at most so many LFT blocks a second (default: rebalance_rate of "
	 "portmajor.conf)",
	 CLI_MEMBER(struct request, rate), .low = 1, .high = PM_REBALANCE_RATE_MAX},
	CLI_OUTPUT(struct request, output, "print nothing but errors",
		   "print JSON, see docs/json.md"),
	{0},
};

static const struct cli_command command = {
	.synopsis = "rebalance [OPTION]...",
	.about =
		"Has a running OpenSM, of several each, go over to the plan's tables "
		"where "
		"switches hold others: those that were found in them when all files were "
		"lost, say. New paths come first, and no packet is lost. Prints how far "
		"tables are off the plan's, from the file that the plugin writes. Exit "
		"status 1, with --dry-run, if any is, or if it is not known.",
	.options = options,
};

int cmd_rebalance(int argc, char **argv)
{
	struct request request = {0};
	int status = cli_command_read(&command, argc, argv, &request);

	return status < 0 ? rebalance(&request) : status;
}
