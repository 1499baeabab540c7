/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Common parts of acknowledge and release: lists, requests and waits. */
#include "settle.h"

#include "ends.h"
#include "json.h"
#include "masters.h"
#include "text.h"
#include "unset_output.h"

#include <stdio.h>
#include <stdlib.h>

struct settle {
	const struct settle_kind *kind;
	const struct settle_request *request;
};

/* The listed parts of a state, in a new array. */
static json_t *list_matters(const struct settle *settle, const json_t *root)
{
	json_t *matters = settle->kind->list(root), *list = json_array(), *matter;
	size_t i;

	json_array_foreach(matters, i, matter)
		if (!settle->kind->is_listed || settle->kind->is_listed(matter))
			list = pm_json_append(list, json_incref(matter));
	return list;
}

static bool means(const struct settle *settle, const char *operand, const json_t *matter)
{
	return cli_ends_are_meant(matter, operand, settle->kind->by_switch);
}

static bool is_meant(const struct settle *settle, const json_t *matter)
{
	bool meant = settle->request->all;

	for (char **operand = settle->request->operands; *operand; operand++)
		meant = meant || means(settle, *operand, matter);
	return meant;
}

/* Checks that an operand means a listed part. */
static int check_operand(const struct settle *settle, const struct cli_masters *masters,
			 const char *operand)
{
	const json_t *matter;
	bool known = false;
	size_t j;

	for (size_t i = 0; i < masters->num && !known; i++) {
		json_t *list = list_matters(settle, masters->list[i].root);

		json_array_foreach(list, j, matter)
			known = known || means(settle, operand, matter);
		json_decref(list);
	}
	return known ? EXIT_FINE
		     : cli_fail(EXIT_USAGE, "%s: \"%s\" is %s", settle->kind->name,
				operand, settle->kind->unknown);
}

static int query_master(const struct settle *settle, const struct cli_master *master)
{
	json_t *list = list_matters(settle, master->root), *meant = json_array(), *matter;
	const struct settle_chosen chosen = {settle->request->all, meant};
	int status = EXIT_FINE;
	size_t i;

	json_array_foreach(list, i, matter)
		if (!chosen.all && is_meant(settle, matter))
			json_array_append(meant, matter);
	if (chosen.all || json_array_size(meant))
		status = cli_master_request(master, settle->kind->print_request, &chosen);
	json_decref(meant);
	json_decref(list);
	return status;
}

static int leave_requests(const struct settle *settle, const struct cli_masters *masters)
{
	int status = EXIT_FINE;

	for (char **operand = settle->request->operands; *operand && !status; operand++)
		status = check_operand(settle, masters, *operand);
	for (size_t i = 0; i < masters->num && !status; i++)
		status = query_master(settle, &masters->list[i]);
	return status;
}

/* Whether a request has tables changed. */
static bool changes_tables(const struct settle *settle)
{
	return settle->kind->by_tables &&
	       (*settle->request->operands || settle->request->all);
}

/* Whether some switch has not acknowledged its table. */
static bool is_unset(const json_t *root)
{
	return json_is_false(
		json_object_get(json_object_get(root, "drained"), "settled"));
}

/* Says why it is not done, where that is known. */
static void print_cause(const struct cli_master *master)
{
	char *cause = cli_unset_cause(json_object_get(master->root, "unset"));

	if (!cause)
		return;
	printf("%-9s", "pending");
	cli_text_put(cause);
	putchar('\n');
	free(cause);
}

/* Whether all parts that are meant, or without operands all parts, are settled. */
static bool is_done(const struct cli_master *master, const void *arg)
{
	const struct settle *settle = arg;
	json_t *list = list_matters(settle, master->root), *matter;
	bool every = !*settle->request->operands;
	bool done = !changes_tables(settle) || !is_unset(master->root);
	size_t i;

	json_array_foreach(list, i, matter)
		if (!settle->kind->is_settled || !settle->kind->is_settled(matter))
			done = done && !every && !is_meant(settle, matter);
	json_decref(list);
	return done;
}

static int show_matters(const struct settle *settle, const struct cli_masters *masters,
			bool done)
{
	const struct cli_output *output = &settle->request->output;
	json_t *object = cli_json_new(settle->kind->name, 1), *all = json_array();
	json_t *matter;
	size_t i;

	for (i = 0; i < masters->num; i++) {
		json_t *list = list_matters(settle, masters->list[i].root);

		json_array_extend(all, list);
		json_decref(list);
	}
	if (!output->json && !output->quiet)
		json_array_foreach(all, i, matter)
			settle->kind->print(matter);
	for (i = 0; i < masters->num && !output->json && !output->quiet; i++)
		if (changes_tables(settle))
			print_cause(&masters->list[i]);
	json_object_set_new(object, "done", json_boolean(done));
	json_object_set_new(object, settle->kind->listed, all);
	if (output->json)
		return cli_json_print(object);
	json_decref(object);
	return EXIT_FINE;
}

static int settle(const struct settle_kind *kind, const struct settle_request *request)
{
	const struct settle settle = {kind, request};
	bool changes = *request->operands || request->all, done;
	struct cli_masters masters;
	int status = cli_masters_find(kind->file, kind->shadow, &masters);

	if (!status && changes)
		status = leave_requests(&settle, &masters);
	if (!status) {
		done = cli_masters_wait(&masters, request->wait_s, is_done, &settle);
		status = show_matters(&settle, &masters, done);
		if (!status && !done && (!changes || request->wait_s))
			status = EXIT_FINDINGS;
	}
	cli_masters_free(&masters);
	return status;
}

const struct cli_option settle_options[] = {
	{0, "wait", "SECONDS", "wait until the plugin has followed, at most so long",
	 CLI_MEMBER(struct settle_request, wait_s), .high = 86400},
	CLI_OUTPUT(struct settle_request, output, "print nothing but errors",
		   "print JSON, see docs/json.md"),
	{0},
};

int settle_run(const struct settle_kind *kind, const struct cli_command *command,
	       int argc, char **argv)
{
	struct settle_request request = {0};
	int status = cli_command_read(command, argc, argv, &request);

	if (status < 0 && request.all && optind < argc)
		status = cli_command_misused(command, "--all excludes operands");
	request.operands = argv + optind;
	return status < 0 ? settle(kind, &request) : status;
}
