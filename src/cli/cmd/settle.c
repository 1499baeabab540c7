/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Common parts of acknowledge and release: lists, requests and answers. */
#include "settle.h"

#include "cache.h"
#include "ends.h"
#include "json.h"
#include "ports.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settle {
	const struct settle_kind *kind;
	const struct settle_request *request;
	bool changes;
};

/* Whether the OpenSM of this port follows such requests. */
static bool is_asked(const struct settle *settle, const struct cli_port *port)
{
	return settle->kind->masters ? cli_port_is_master(port, true)
				     : json_is_object(port->state);
}

/* Whether the OpenSM of this port knows what there is. */
static bool knows(const struct settle *settle, const struct cli_port *port)
{
	json_t *list = settle->kind->list(port->state);

	json_decref(list);
	return list != NULL;
}

/*
 * Whether a request without parts goes to this port. One for all there is goes to those
 * that know what there is or, if none does, to each, as its refusal tells why.
 */
static bool is_asked_all(const struct settle *settle, const struct cli_ports *ports,
			 const struct cli_port *port)
{
	bool any = false;

	for (size_t i = 0; i < ports->num && settle->request->all; i++)
		any = any || (is_asked(settle, &ports->list[i]) &&
			      knows(settle, &ports->list[i]));
	return is_asked(settle, port) && (!any || knows(settle, port));
}

/* Adds the parts of a port that an operand means; whether there are any. */
static bool add_meant(const struct settle *settle, const struct cli_port *port,
		      const char *operand, json_t *parts)
{
	json_t *matters = settle->kind->list(port->state), *matter;
	struct pm_request_part part;
	bool any = false;
	size_t i;

	json_array_foreach(matters, i, matter) {
		const json_t *end = json_array_get(json_object_get(matter, "ends"), 0);
		const char *label = cli_json_label(end);

		if ((settle->kind->is_listed && !settle->kind->is_listed(matter)) ||
		    !cli_ends_are_meant(matter, operand, settle->kind->by_switch) ||
		    !pm_request_part_read(end, &part))
			continue;
		any = true;
		json_array_append_new(parts, cli_port_part(part.guid, part.num, label));
	}
	json_decref(matters);
	return any;
}

/* Has each port asked that lists a part which an operand means. */
static int name_parts(const struct settle *settle, struct cli_ports *ports,
		      const char *operand)
{
	bool any = false;

	for (size_t i = 0; i < ports->num; i++) {
		struct cli_port *port = &ports->list[i];
		json_t *parts = json_array();

		if (is_asked(settle, port) && add_meant(settle, port, operand, parts)) {
			any = true;
			if (!port->request)
				port->request = cli_port_request(settle->kind->name,
								 json_array());
			json_array_extend(json_object_get(port->request, "parts"), parts);
		}
		json_decref(parts);
	}
	return any ? EXIT_FINE
		   : cli_fail(EXIT_USAGE, "%s: \"%s\" is %s", settle->kind->name, operand,
			      settle->kind->unknown);
}

/* Makes the requests, or the questions of what there is. */
static int prepare_settling(const struct settle *settle, struct cli_ports *ports)
{
	bool any = false;
	int status = EXIT_FINE;

	for (size_t i = 0; i < ports->num; i++)
		any = any || is_asked(settle, &ports->list[i]);
	if (!any && settle->kind->masters)
		return cli_fail(EXIT_FINDINGS,
				"%s: no running OpenSM is the master and routes with "
				"portmajor",
				settle->kind->name);
	if (!any)
		return cli_fail(settle->changes ? EXIT_FINDINGS : EXIT_INPUT,
				"%sstate: " CACHE_NONE, ports->wanted);
	for (char **operand = settle->request->operands; *operand && !status; operand++)
		status = name_parts(settle, ports, *operand);
	for (size_t i = 0; i < ports->num && !*settle->request->operands; i++)
		if (is_asked_all(settle, ports, &ports->list[i]))
			ports->list[i].request = cli_port_request(
				settle->kind->name,
				settle->request->all ? NULL : json_array());
	return status;
}

/* Prints the answers; an exit status. */
static int show_matters(const struct settle *settle, const struct cli_ports *ports)
{
	const struct cli_output *output = &settle->request->output;
	json_t *joined = cli_ports_join(ports, settle->kind->name, settle->kind->listed);
	int status = cli_ports_judge(joined, settle->changes, settle->request->wait_s);
	const json_t *matter;
	size_t i;

	if (output->json)
		return cli_json_print(joined) ? EXIT_INPUT : status;
	if (!output->quiet) {
		json_array_foreach(json_object_get(joined, settle->kind->listed), i,
				   matter)
			settle->kind->print(matter);
		cli_ports_print_cause(joined);
		if (!settle->changes && !i &&
		    !strcmp(cli_json_text(joined, "state"), "done"))
			puts("none");
	}
	json_decref(joined);
	return status;
}

static int settle(const struct settle_kind *kind, const struct settle_request *request)
{
	const struct settle settle = {kind, request, *request->operands || request->all};
	struct cli_ports ports;
	int status = cli_ports_open(settle.changes || request->wait_s, &ports);

	if (!status)
		status = prepare_settling(&settle, &ports);
	if (!status)
		status = cli_ports_ask(&ports, request->wait_s);
	if (!status)
		status = show_matters(&settle, &ports);
	cli_ports_free(&ports);
	return status;
}

const struct cli_option settle_options[] = {
	{0, "wait", "SECONDS",
	 "Wait until the plugin has handled the request, at most SECONDS. "
	 "Default: no wait.",
	 CLI_MEMBER(struct settle_request, wait_s), .high = 86400},
	CLI_OUTPUT(struct settle_request, output, "Print nothing but errors.",
		   "Print one JSON object (docs/json.md)."),
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
