/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor rebalance: requests that a running OpenSM return to the plan's tables. */
#include "commands.h"
#include "json.h"
#include "masters.h"
#include "state_text.h"
#include "text.h"

#include <portmajor/files/rebalance.h>

#include <stdio.h>

struct request {
	bool dry_run;
	uint32_t rate; /* 0: the configured rate */
	struct cli_output output;
};

/* ---- One fabric ---- */

static int print_request(FILE *file, const void *arg)
{
	pm_rebalance_print(arg, file);
	return 0;
}

/* Describes the results of one fabric. */
static json_t *describe_balance(const struct cli_master *master, bool requested)
{
	json_t *balance = json_object_get(master->root, "balance");
	json_t *port = json_object_get(master->root, "port_guid");

	return json_pack("{s:O, s:o, s:b, s:o}", "port_guid", port ? port : json_null(),
			 "file", pm_json_text(master->state), "requested", requested,
			 "balance",
			 json_is_object(balance) ? json_incref(balance) : json_null());
}

/* ---- All fabrics ---- */

/* Writes each OpenSM's request, unless it is a dry run, and lists all. */
static int ask_all(const struct cli_masters *masters, const struct request *request,
		   json_t *fabrics)
{
	const struct pm_rebalance requested = {.rate = request->rate};

	for (size_t i = 0; i < masters->num; i++) {
		const struct cli_master *master = &masters->list[i];
		int status = request->dry_run ? EXIT_FINE
					      : cli_master_request(master, print_request,
								   &requested);

		json_array_append_new(
			fabrics, describe_balance(master, !request->dry_run && !status));
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
	cli_text_print(fabric, "port {port_guid}: ");
	status_print_balance(json_object_get(fabric, "balance"));
	puts(json_is_true(json_object_get(fabric, "requested")) ? "; requested" : "");
}

/* Prints the results. Returns an exit status: EXIT_FINDINGS if a dry run has any. */
static int show_balance(json_t *fabrics, const struct request *request)
{
	json_t *object, *rate = request->rate ? json_integer(request->rate) : json_null();
	bool balanced = true;
	const json_t *fabric;
	int status = EXIT_FINE;
	size_t i;

	json_array_foreach(fabrics, i, fabric) {
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
	struct cli_masters masters;
	int status = cli_masters_find("rebalance", false, &masters);

	if (!status)
		status = ask_all(&masters, request, fabrics);
	if (!status)
		status = show_balance(fabrics, request);
	json_decref(fabrics);
	cli_masters_free(&masters);
	return status;
}

static const struct cli_option options[] = {
	{0, "dry-run", NULL,
	 "print how far tables are off the plan's, and request nothing",
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
		"Has a running OpenSM, of several each, go over to the plan's tables where "
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
