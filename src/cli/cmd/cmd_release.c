/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor release: links that flapped are taken back into use at once. */
#include "cli.h"
#include "ends.h"
#include "json.h"
#include "masters.h"
#include "text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
	bool all;
	uint32_t wait_s;
	struct cli_output output;
	char **operands;
};

static json_t *flaps_of(const json_t *root)
{
	return json_object_get(root, "flapping");
}

/* Kept out, or in use as a last path alone. */
static bool is_held(const json_t *flap)
{
	const char *state = json_string_value(json_object_get(flap, "state"));

	return state && (!strcmp(state, "on-hold") || !strcmp(state, "needed"));
}

static bool is_meant(const json_t *flap, const struct request *request)
{
	bool meant = request->all;

	for (char **operand = request->operands; *operand; operand++)
		meant = meant || cli_ends_are_meant(flap, *operand, true);
	return meant;
}

/* ---- Asking ---- */

/* Whether a link is held that an operand means; an exit status. */
static int check_operand(const struct cli_masters *masters, const char *operand)
{
	const json_t *flap;
	size_t j;

	for (size_t i = 0; i < masters->num; i++)
		json_array_foreach(flaps_of(masters->list[i].root), j, flap)
			if (is_held(flap) && cli_ends_are_meant(flap, operand, true))
				return EXIT_FINE;
	return cli_fail(EXIT_USAGE,
			"release: \"%s\" is no link on hold (`portmajor release` lists "
			"these)",
			operand);
}

/* Lines "GUID[PORT]": names may be those of several switches. */
static int print_links(FILE *file, const void *arg)
{
	const json_t *flap;
	size_t i;

	json_array_foreach((json_t *)arg, i, flap) {
		const json_t *end = json_array_get(json_object_get(flap, "ends"), 0);
		const char *guid = json_string_value(json_object_get(end, "guid"));

		fprintf(file, "%s[%" JSON_INTEGER_FORMAT "]\n", guid ? guid : "?",
			cli_json_number(end, "port"));
	}
	return 0;
}

/* Leaves the request for one of them, empty for all links; an exit status. */
static int ask(const struct cli_master *master, const struct request *request)
{
	json_t *chosen = json_array(), *flap;
	int status = EXIT_FINE;
	size_t i;

	json_array_foreach(flaps_of(master->root), i, flap)
		if (!request->all && is_held(flap) && is_meant(flap, request))
			json_array_append(chosen, flap);
	if (request->all || json_array_size(chosen))
		status = cli_master_ask(master, print_links, chosen);
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

/* Whether no link is held that is meant, or without operands any. */
static bool is_done(const struct cli_master *master, const void *arg)
{
	const struct request *request = arg;
	bool every = !*request->operands;
	const json_t *flap;
	size_t i;

	json_array_foreach(flaps_of(master->root), i, flap)
		if (is_held(flap) && (every || is_meant(flap, request)))
			return false;
	return true;
}

static void print_flap(const json_t *flap)
{
	char *name = cli_ends_name(flap);

	cli_text_print(flap, "{state}");
	printf("%*s", (int)(9 - json_string_length(json_object_get(flap, "state"))), "");
	cli_text_put(name);
	cli_text_print(flap, ", {#downs|time|times} down, ");
	printf("%" JSON_INTEGER_FORMAT " s left\n",
	       (cli_json_number(flap, "left_ms") + 999) / 1000);
	free(name);
}

/* Lists what is held; an exit status. */
static int show(const struct cli_masters *masters, const struct cli_output *output,
		bool done)
{
	json_t *object = cli_json_new("release", 1), *list = json_array();
	json_t *flap;
	size_t j;

	for (size_t i = 0; i < masters->num; i++)
		json_array_foreach(flaps_of(masters->list[i].root), j, flap) {
			if (!is_held(flap))
				continue;
			json_array_append(list, flap);
			if (!output->json && !output->quiet)
				print_flap(flap);
		}
	json_object_set_new(object, "done", json_boolean(done));
	json_object_set_new(object, "held", list);
	if (output->json)
		return cli_json_print(object);
	json_decref(object);
	return EXIT_FINE;
}

/* ---- The command ---- */

static int release(const struct request *request)
{
	bool changes = *request->operands || request->all, done;
	struct cli_masters masters;
	int status = cli_masters_find("clear-holds", false, &masters);

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
	{0, "all", NULL,
	 "all links on hold, and a fabric that is left to another engine for a while",
	 CLI_MEMBER(struct request, all)},
	{0, "wait", "SECONDS", "wait until the plugin has followed, at most so long",
	 CLI_MEMBER(struct request, wait_s), .high = 86400},
	CLI_OUTPUT(struct request, output, "print nothing but errors",
		   "print JSON, see docs/json.md"),
	{0},
};

static const struct cli_command command = {
	.synopsis = "release [OPTION]... [--all | LINK...]",
	.about =
		"Has a running OpenSM take links back into use that it keeps out as they "
		"went down again and again. LINK is one end of it, SWITCH:PORT or "
		"SWITCH[PORT], or both as status prints them, or a switch, for all of "
		"its; "
		"the switch by name, pattern with * and ?, or GUID. Then, or without "
		"operands, lists the links on hold. Exit status 1, for a list or with "
		"--wait, if there is any, of those that were named.",
	.options = options,
	.max_operands = INT_MAX,
};

int cmd_release(int argc, char **argv)
{
	struct request request = {0};
	int status = cli_command_read(&command, argc, argv, &request);

	if (status < 0 && request.all && optind < argc)
		status = cli_command_misused(&command, "--all, and links are named");
	request.operands = argv + optind;
	return status < 0 ? release(&request) : status;
}
