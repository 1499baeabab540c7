/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor acknowledge: parts that are missing by intent, and are no finding. */
#include "cli.h"
#include "ends.h"
#include "json.h"
#include "masters.h"
#include "missing_output.h"
#include "text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

struct request {
	bool all;
	uint32_t wait_s;
	struct cli_output output;
	char **operands;
};

static json_t *parts_of(const json_t *root)
{
	return json_object_get(json_object_get(root, "missing"), "parts");
}

static bool is_acknowledged(const json_t *part)
{
	return json_is_true(json_object_get(part, "acknowledged"));
}

/* ---- Asking ---- */

static bool is_meant(const json_t *part, const struct request *request)
{
	bool meant = request->all;

	for (char **operand = request->operands; *operand; operand++)
		meant = meant || cli_ends_are_meant(part, *operand, false);
	return meant;
}

/* Whether something is missing that an operand means; an exit status. */
static int check_operand(const struct cli_masters *masters, const char *operand)
{
	const json_t *part;
	size_t j;

	for (size_t i = 0; i < masters->num; i++)
		json_array_foreach(parts_of(masters->list[i].root), j, part)
			if (cli_ends_are_meant(part, operand, false))
				return EXIT_FINE;
	return cli_fail(
		EXIT_USAGE,
		"acknowledge: \"%s\" is not missing (`portmajor acknowledge` lists "
		"what is)",
		operand);
}

static int print_json(FILE *file, const void *arg)
{
	return json_dumpf(arg, file, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
}

/* Leaves the request for one of them, with the first ends of parts; an exit status. */
static int ask(const struct cli_master *master, const struct request *request)
{
	json_t *chosen = json_array(), *file;
	const json_t *part;
	int status = EXIT_FINE;
	size_t i;

	json_array_foreach(parts_of(master->root), i, part)
		if (!request->all && is_meant(part, request))
			json_array_append(
				chosen, json_array_get(json_object_get(part, "ends"), 0));
	file = json_pack("{s:s, s:i, s:b, s:O}", "schema", "portmajor-acknowledge",
			 "version", 1, "all", request->all, "parts", chosen);
	if (request->all || json_array_size(chosen))
		status = cli_master_ask(master, print_json, file);
	json_decref(file);
	json_decref(chosen);
	return status;
}

static int ask_all(const struct cli_masters *masters, const struct request *request)
{
	int status = EXIT_FINE;

	for (char **operand = request->operands; *operand && !status; operand++)
		status = check_operand(masters, *operand);
	for (size_t i = 0; i < masters->num && !status; i++)
		status = ask(&masters->list[i], request);
	return status;
}

/* ---- What has become of it ---- */

/* Whether nothing is missing that is meant, or without operands any, and is open. */
static bool is_done(const struct cli_master *master, const void *arg)
{
	const struct request *request = arg;
	bool every = !*request->operands;
	const json_t *part;
	size_t i;

	json_array_foreach(parts_of(master->root), i, part)
		if (!is_acknowledged(part) && (every || is_meant(part, request)))
			return false;
	return true;
}

/* "acknowledged leaf9, since .." */
static void print_part(const json_t *part)
{
	char *name = cli_missing_name(part);

	printf("%-13s", is_acknowledged(part) ? "acknowledged" : "missing");
	cli_text_put(name);
	cli_text_print(part, ", since {@since}\n");
	free(name);
}

/* Lists what is missing; an exit status. */
static int show(const struct cli_masters *masters, const struct cli_output *output,
		bool done)
{
	json_t *object = cli_json_new("acknowledge", 1), *list = json_array();
	json_t *part;
	size_t j;

	for (size_t i = 0; i < masters->num; i++)
		json_array_foreach(parts_of(masters->list[i].root), j, part) {
			json_array_append(list, part);
			if (!output->json && !output->quiet)
				print_part(part);
		}
	json_object_set_new(object, "done", json_boolean(done));
	json_object_set_new(object, "missing", list);
	if (output->json)
		return cli_json_print(object);
	json_decref(object);
	return EXIT_FINE;
}

/* ---- The command ---- */

static int acknowledge(const struct request *request)
{
	bool changes = *request->operands || request->all, done;
	struct cli_masters masters;
	int status = cli_masters_find("acknowledge", true, &masters);

	if (!status && changes)
		status = ask_all(&masters, request);
	if (!status) {
		done = cli_masters_wait(&masters, request->wait_s, is_done, request);
		status = show(&masters, &request->output, done);
		if (!status && !done && (!changes || request->wait_s))
			status = EXIT_FINDINGS;
	}
	cli_masters_free(&masters);
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
		 "with --wait, if any of it is not acknowledged.",
	.options = options,
	.max_operands = INT_MAX,
};

int cmd_acknowledge(int argc, char **argv)
{
	struct request request = {0};
	int status = cli_command_read(&command, argc, argv, &request);

	if (status < 0 && request.all && optind < argc)
		status = cli_command_misused(&command, "--all, and parts are named");
	request.operands = argv + optind;
	return status < 0 ? acknowledge(&request) : status;
}
