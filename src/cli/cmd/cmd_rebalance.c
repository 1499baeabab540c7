/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor rebalance: requests that a running OpenSM return to the plan's tables. */
#include "commands.h"
#include "json.h"
#include "ports.h"
#include "state_text.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

struct request {
	bool dry_run;
	uint32_t rate; /* 0: the configured rate */
	uint32_t wait_s;
	struct cli_output output;
};

/* ---- Requests ---- */

/* Has each master asked; an exit status. */
static int prepare(struct cli_ports *ports, const struct request *request)
{
	bool any = false;

	for (size_t i = 0; i < ports->num; i++) {
		struct cli_port *port = &ports->list[i];

		if (!cli_port_is_master(port, true))
			continue;
		any = true;
		port->request = cli_port_request("rebalance",
						 request->dry_run ? json_array() : NULL);
		if (request->rate)
			json_object_set_new(port->request, "rate",
					    json_integer(request->rate));
	}
	return any ? EXIT_FINE
		   : cli_fail(EXIT_FINDINGS,
			      "rebalance: no running OpenSM is the master and routes "
			      "with portmajor");
}

/* ---- Answers ---- */

/* Describes the result of one fabric. */
static json_t *describe_balance(const struct cli_port *port, bool requested)
{
	static const char *const members[] = {"port_guid", "state", "reason", "balance"};
	json_t *fabric = json_pack("{s:b}", "requested", requested);

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		json_object_set(fabric, members[i],
				json_object_get(port->answer, members[i]));
	return fabric;
}

static json_t *describe_all(const struct cli_ports *ports, bool requested)
{
	json_t *fabrics = json_array();

	for (size_t i = 0; i < ports->num; i++)
		if (ports->list[i].answer)
			json_array_append_new(
				fabrics, describe_balance(&ports->list[i], requested));
	return fabrics;
}

static bool is_in_state(const json_t *fabric, const char *state)
{
	return !strcmp(cli_json_text(fabric, "state"), state);
}

static void print_fabric(const json_t *fabric)
{
	cli_text_print(fabric, "port {port_guid}: ");
	status_print_balance(json_object_get(fabric, "balance"));
	if (is_in_state(fabric, "refused"))
		cli_text_print(fabric, "; refused: {reason}");
	else if (json_is_true(json_object_get(fabric, "requested")))
		fputs(is_in_state(fabric, "done") ? "; done" : "; requested", stdout);
	putchar('\n');
}

/*
 * Prints the results. Returns an exit status: EXIT_FINDINGS if one is refused or, for a
 * dry run or with --wait, not done.
 */
static int show_balance(json_t *fabrics, const struct request *request)
{
	json_t *object, *rate = request->rate ? json_integer(request->rate) : json_null();
	bool strict = request->dry_run || request->wait_s;
	int findings = EXIT_FINE, status = EXIT_FINE;
	const json_t *fabric;
	size_t i;

	json_array_foreach(fabrics, i, fabric) {
		if (is_in_state(fabric, "refused") ||
		    (strict && !is_in_state(fabric, "done")))
			findings = EXIT_FINDINGS;
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
	return status ? status : findings;
}

/* ---- The command ---- */

static int rebalance(const struct request *request)
{
	struct cli_ports ports;
	int status = cli_ports_open(!request->dry_run, &ports);
	json_t *fabrics;

	if (!status)
		status = prepare(&ports, request);
	if (!status)
		status = cli_ports_ask(&ports, request->wait_s);
	if (!status) {
		fabrics = describe_all(&ports, !request->dry_run);
		status = show_balance(fabrics, request);
		json_decref(fabrics);
	}
	cli_ports_free(&ports);
	return status;
}

static const struct cli_option options[] = {
	{0, "dry-run", NULL,
	 "Print the distance from the plan's tables, and request nothing. Exit "
	 "status 1 if it is above 0 or unknown.",
	 CLI_MEMBER(struct request, dry_run)},
	{0, "rate", "BLOCKS",
	 "Send at most BLOCKS LFT blocks a second, 1 to 1000000. Default: "
	 "rebalance_rate of portmajor.conf(5).",
	 CLI_MEMBER(struct request, rate), .low = 1, .high = PM_REBALANCE_RATE_MAX},
	{0, "wait", "SECONDS",
	 "Wait until it is done, at most SECONDS; exit status 1 if it is not. "
	 "Default: no wait.",
	 CLI_MEMBER(struct request, wait_s), .high = 86400},
	CLI_OUTPUT(struct request, output, "Print nothing but errors.",
		   "Print one JSON object (docs/json.md)."),
	{0},
};

static const struct cli_command command = {
	.synopsis = "rebalance [OPTION]...",
	.about = "Replace tables by the plan's, in each running OpenSM, if they are "
		 "right but less balanced, such as tables that OpenSM found in the "
		 "switches after its files were lost. No packet is lost. Print how far "
		 "the tables are from the plan's. Exit status 1 if no OpenSM can do it, "
		 "and with --dry-run or --wait if a distance is above 0 or unknown.",
	.options = options,
};

int cmd_rebalance(int argc, char **argv)
{
	struct request request = {0};
	int status = cli_command_read(&command, argc, argv, &request);

	return status < 0 ? rebalance(&request) : status;
}
