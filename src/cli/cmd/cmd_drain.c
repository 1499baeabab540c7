/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor drain, undrain: excludes parts from hosts' paths, by the plugin. */
#include "cache.h"
#include "commands.h"
#include "drain_effect.h"
#include "drain_match.h"
#include "json.h"
#include "failure_options.h"
#include "ports.h"
#include "text.h"
#include "when.h"

#include <portmajor/files/plan_file.h>
#include <portmajor/files/requests.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRIES 32 /* each fails by another request that has changed drains */

struct request {
	const char *netlist; /* NULL: the plan files */
	const char *reason;  /* or NULL */
	time_t until;	     /* 0: they do not end by themselves */
	bool all;
	bool dry_run, force;
	uint32_t wait_s;
	struct cli_output output;
};

/* What new drains do; zeroed at first: there are none. */
struct outcome {
	json_t *effect;
	char *text;	     /* the effect in words */
	const char *refusal; /* without --force; NULL: it may be */
	json_t *new;	     /* the list of new drains, or NULL */
};

/* ---- Several parts of one name ---- */

static void add_guid(struct cli_names *guids, uint64_t guid, unsigned int num)
{
	char text[20];

	snprintf(text, sizeof(text), "0x%016" PRIx64, guid);
	cli_names_add(guids, text, num);
}

static int refuse_several(const char *what, const char *text,
			  const struct cli_names *guids)
{
	return cli_fail(EXIT_USAGE, "%s: the name \"%s\" is ambiguous: give a GUID (%s)",
			what, text, guids->text);
}

/* ---- Adding ---- */

/* A pattern may mean several parts, but a name only one. */
static int check_several(const struct pm_fabric *fabric, const char *text,
			 const struct pm_ports *things, bool quiet)
{
	struct cli_names guids = {0};

	if (things->num > 1 && pm_failures_is_name(fabric, things->list[0], text)) {
		for (uint32_t i = 0; i < things->num; i++) {
			const struct pm_port *port = &fabric->ports[things->list[i]];

			add_guid(&guids, fabric->nodes[port->node].guid, port->num);
		}
		return refuse_several("drain", text, &guids);
	}
	if (!quiet)
		cli_failures_print(fabric, "drain", text, things);
	return EXIT_FINE;
}

/* The fabric in which parts are looked up, and the one that is drained. */
struct input {
	struct pm_fabric *fabric; /* of a netlist, or NULL */
	struct present present;
};

static const struct pm_fabric *fabric_of(const struct input *input)
{
	return input->fabric ? input->fabric : input->present.plan->topology;
}

/* Whether a port is drained, or is to be. */
static bool is_listed(const json_t *parts, const struct pm_drains *drains,
		      const struct pm_fabric *fabric, uint32_t port)
{
	const uint64_t guid = fabric->nodes[fabric->ports[port].node].guid;
	const unsigned int num = fabric->ports[port].num;
	struct pm_request_part part;
	const json_t *object;
	bool any = false;
	size_t i;

	json_array_foreach(parts, i, object)
		any = any || (pm_request_part_read(object, &part) && part.guid == guid &&
			      part.num == num);
	for (i = 0; i < drains->num; i++)
		any = any || (drains->list[i].guid == guid && drains->list[i].num == num);
	return any;
}

/*
 * Adds one part to a request, as cli_failures_find gives it. A link is named by the end
 * that is drained already, if one is: two names of a cable are one drain.
 */
static int add_thing(json_t *parts, const struct pm_drains *drains,
		     const struct pm_fabric *fabric, uint32_t thing)
{
	uint32_t peer = fabric->ports[thing].num ? fabric->ports[thing].peer : PM_NONE;
	bool other = peer != PM_NONE && is_listed(parts, drains, fabric, peer);
	const struct pm_port *port = &fabric->ports[other ? peer : thing];
	uint64_t guid = fabric->nodes[port->node].guid;
	struct pm_error err;

	if (pm_requests_may_drain(fabric, guid, port->num, &err))
		return cli_fail(EXIT_USAGE, "drain: %s", err.text);
	json_array_append_new(parts, cli_port_part(guid, port->num,
						   pm_fabric_label(fabric, port->node)));
	return EXIT_FINE;
}

/* Refuses hosts, whose names a plan does not have. */
static int check_hosts(const struct input *input, const char *text)
{
	const struct pm_fabric *fabric = input->present.fabric;
	struct pm_ports things = {0};
	struct pm_error err;
	int status = EXIT_FINE;

	if (!input->fabric && fabric &&
	    !pm_failures_find(fabric, input->present.plan, "drain", text, &things,
			      NULL)) {
		const struct pm_node *n =
			&fabric->nodes[fabric->ports[things.list[0]].node];

		if (n->type != PM_SWITCH &&
		    pm_requests_may_drain(fabric, n->guid, 0, &err))
			status = cli_fail(EXIT_USAGE, "drain: %s", err.text);
	}
	free(things.list);
	return status;
}

static int add_all(json_t *parts, const struct pm_drains *drains,
		   const struct input *input, char **operands, bool quiet)
{
	const struct pm_fabric *fabric = fabric_of(input);
	int status = EXIT_FINE;

	for (; *operands && !status; operands++) {
		struct pm_ports things = {0};

		status = check_hosts(input, *operands);
		if (!status)
			status = cli_failures_find(fabric, input->present.plan, "drain",
						   *operands, &things);
		if (!status)
			status = check_several(fabric, *operands, &things, quiet);
		for (uint32_t i = 0; i < things.num && !status; i++)
			status = add_thing(parts, drains, fabric, things.list[i]);
		free(things.list);
	}
	return status;
}

static bool has_plan(const struct cli_port *port)
{
	char *path = cli_text_make("%splan", port->folder);
	bool has = !access(path, R_OK);

	free(path);
	return has;
}

/* Makes a plan of the netlist, unless the port's plan is of this fabric. */
static int open_netlist(const char *path, const struct cli_port *port,
			struct input *input)
{
	const struct cli_fabric config = {.plan = {.order = PM_GROUPED}};
	struct present *present = &input->present;
	struct pm_plan *plan = NULL;
	struct pm_error err;
	int status = cli_fabric_read(path, &config, &input->fabric);

	if (!status && has_plan(port))
		status = present_read(port, present);
	if (status || (present->plan && pm_plan_fits(present->plan, input->fabric)))
		return status;
	present_free(present);
	if (pm_plan_make(input->fabric, &config.plan, &plan, &err))
		return cli_fail(EXIT_INPUT, "%s: %s", path, err.text);
	present_of(plan, input->fabric, present);
	return EXIT_FINE;
}

/* Opens the plan of a port, or of the netlist; an exit status. */
static int open_input(const struct request *request, const struct cli_port *port,
		      struct input *input)
{
	*input = (struct input){.fabric = NULL};
	return request->netlist ? open_netlist(request->netlist, port, input)
				: present_read(port, &input->present);
}

static void close_input(struct input *input)
{
	present_free(&input->present);
	pm_fabric_free(input->fabric);
}

/* Takes over the outcome of a port; those of ports of one fabric are alike. */
static void note_outcome(struct outcome *outcome, struct outcome *more, bool tells)
{
	if (tells && (!outcome->text || strcmp(outcome->text, more->text) != 0))
		cli_note("drain: %s", more->text);
	json_decref(outcome->effect);
	json_decref(outcome->new);
	free(outcome->text);
	more->refusal = more->refusal ? more->refusal : outcome->refusal;
	*outcome = *more;
}

/* Finds the effects of new drains, and if they are allowed. */
static int judge(const struct input *input, struct pm_drains *before,
		 struct pm_drains *after, const struct request *request,
		 struct outcome *outcome)
{
	struct drain_effect effect;
	struct outcome more = {.new = json_array()};

	if (drain_effect_find(&input->present, before, after, &effect, NULL))
		pm_no_memory();
	more.text = drain_effect_text(input->present.plan, &effect);
	more.effect = drain_effect_describe(input->present.plan, &effect);
	more.refusal = drain_effect_refusal(&effect);
	for (uint32_t i = before->num; i < after->num; i++)
		json_array_append_new(more.new, cli_port_part(after->list[i].guid,
							      after->list[i].num,
							      after->list[i].label));
	note_outcome(outcome, &more,
		     !request->output.quiet && !request->dry_run &&
			     (!more.refusal || request->force));
	return outcome->refusal && !request->force && !request->dry_run
		       ? cli_fail(EXIT_FINDINGS,
				  "drain: %s: refused, as %s; --force drains it all the "
				  "same",
				  outcome->text, outcome->refusal)
		       : EXIT_FINE;
}

/* Makes the request to one port, and finds what it would do. */
static int prepare_port(struct cli_port *port, const struct input *input, json_t *parts,
			const struct request *request, struct outcome *outcome)
{
	const struct pm_request_facts none = {.now = 0};
	struct pm_requests after = {0};
	struct pm_error err;
	uint64_t number;
	int status = EXIT_FINE;

	port->request = cli_port_request("drain", parts);
	if (request->reason)
		json_object_set_new(port->request, "reason",
				    pm_json_text(request->reason));
	if (request->until)
		json_object_set_new(port->request, "until",
				    json_integer((json_int_t)request->until));
	if (!request->force) /* two may each be fine, but not both */
		json_object_set_new(port->request, "seen",
				    json_integer((json_int_t)port->kept.number));
	if (pm_requests_copy(&port->kept, &after, &err) ||
	    pm_requests_apply(&after, port->request, &none, &number, &err))
		status = cli_refuse(&err);
	else if (after.drains.num > port->kept.drains.num)
		status =
			judge(input, &port->kept.drains, &after.drains, request, outcome);
	pm_requests_free(&after);
	return status;
}

static bool knows_all(const struct input *input, char **operands)
{
	int rc = 0;

	for (; !rc && *operands; operands++) {
		struct pm_ports things = {0};

		rc = pm_failures_find(fabric_of(input), input->present.plan, "drain",
				      *operands, &things, NULL);
		free(things.list);
	}
	if (rc == -ENOMEM)
		pm_no_memory();
	return !rc;
}

/* Whether a port's plan has the parts of a netlist; if it has none, OpenSM judges. */
static bool has_parts(const struct cli_port *port, const json_t *parts)
{
	char *path = cli_text_make("%splan", port->folder);
	struct pm_plan *plan = NULL;
	struct pm_request_part part;
	const json_t *object;
	int rc = pm_plan_file_read(path, &plan, NULL);
	bool has = true;
	size_t i;

	free(path);
	if (rc == -ENOMEM)
		pm_no_memory();
	if (rc)
		return !port->stopped;
	json_array_foreach(parts, i, object)
		has = has && pm_request_part_read(object, &part) &&
		      pm_fabric_find_guid(plan->topology, part.guid) != PM_NONE;
	pm_plan_free(plan);
	return has;
}

/*
 * Makes the request to a port if its plan has the parts, or at all events; *asks: it did.
 */
static int drain_at(struct cli_port *port, const struct request *request, char **operands,
		    bool anyway, struct outcome *outcome, bool *asks)
{
	struct input input;
	json_t *parts = json_array();
	int status = open_input(request, port, &input);
	bool knows = !status && (anyway || knows_all(&input, operands));

	if (knows)
		status = add_all(parts, &port->kept.drains, &input, operands,
				 request->output.quiet);
	knows = knows && (anyway || !request->netlist || has_parts(port, parts));
	if (!status && knows)
		status = prepare_port(port, &input, json_incref(parts), request, outcome);
	*asks |= knows;
	json_decref(parts);
	close_input(&input);
	return status;
}

/* Has each port asked whose plan has the parts; if none has, the first one tells why. */
static int drain(struct cli_ports *ports, const struct request *request, char **operands,
		 struct outcome *outcome)
{
	struct cli_port *first = NULL;
	int status = EXIT_FINE;
	bool any = false;

	for (size_t i = 0; i < ports->num && !status; i++) {
		struct cli_port *port = &ports->list[i];

		if (!request->netlist && !has_plan(port))
			continue;
		first = first ? first : port;
		status = drain_at(port, request, operands, false, outcome, &any);
	}
	if (any || status)
		return status;
	return first ? drain_at(first, request, operands, true, outcome, &any)
		     : cli_fail(EXIT_INPUT,
				"%splan: " CACHE_NONE " (or name a netlist with -n)",
				ports->wanted);
}

/* ---- undrain ---- */

/*
 * Prints the matches of a name, if there are several. Returns an exit status: an error if
 * several switches have the name.
 */
static int print_meant(const struct pm_drains *drains, const enum drain_match *match,
		       const char *text, bool quiet)
{
	struct cli_names names = {0}, guids = {0};
	uint64_t guid = 0;
	bool differ = false;

	for (uint32_t i = 0; i < drains->num; i++) {
		const struct pm_drain *d = &drains->list[i];

		if (!match[i])
			continue;
		cli_names_add(&names, d->label, d->num);
		if (match[i] != DRAIN_BY_NAME)
			continue;
		differ = differ || (guids.num && d->guid != guid);
		guid = d->guid;
		add_guid(&guids, d->guid, d->num);
	}
	if (differ)
		return refuse_several("undrain", text, &guids);
	if (names.num > 1 && !guids.num && !quiet)
		cli_note("undrain: \"%s\" matches %u drains: %s", text, names.num,
			 names.text);
	return EXIT_FINE;
}

/* Adds the drains of a port that are meant to its request; whether there are any. */
static bool add_meant(struct cli_port *port, const enum drain_match *match)
{
	const struct pm_drains *drains = &port->kept.drains;
	bool any = false;

	for (uint32_t i = 0; i < drains->num; i++) {
		const struct pm_drain *d = &drains->list[i];

		if (!match[i])
			continue;
		any = true;
		if (!port->request)
			port->request = cli_port_request("undrain", json_array());
		json_array_append_new(json_object_get(port->request, "parts"),
				      cli_port_part(d->guid, d->num, d->label));
	}
	return any;
}

/* Asks one port to end the drains that an operand means. An exit status. */
static int undrain_at(struct cli_port *port, const char *operand, bool quiet, bool *any)
{
	enum drain_match *match = pm_xarray(port->kept.drains.num + 1u, sizeof(*match));
	int status;

	drain_match_find(port, operand, match);
	status = print_meant(&port->kept.drains, match, operand, quiet);
	*any |= !status && add_meant(port, match);
	free(match);
	return status;
}

/* Has each port asked where something is drained that operands mean. */
static int undrain(struct cli_ports *ports, const struct request *request,
		   char **operands)
{
	for (char **operand = operands; *operand; operand++) {
		bool any = false;

		int status = EXIT_FINE;

		for (size_t i = 0; i < ports->num && !status; i++)
			status = undrain_at(&ports->list[i], *operand,
					    request->output.quiet, &any);
		if (status)
			return status;
		if (!any)
			return cli_fail(
				EXIT_USAGE,
				"undrain: \"%s\" is not drained (`portmajor drain` lists "
				"what is)",
				*operand);
	}
	return EXIT_FINE;
}

/* ---- Output ---- */

/* cause: why it is pending, or NULL */
static void print_thing(const json_t *thing, const char *state, const char *cause)
{
	const char *label = cli_json_label(thing);

	printf("%-9s", state);
	if (*label)
		cli_text_put(label);
	else
		cli_text_print(thing, "{guid}");
	cli_text_print(thing, cli_json_number(thing, "port") ? ":{port}" : "");
	if (cli_json_number(thing, "since"))
		cli_text_print(thing, ", since {@since}");
	if (cli_json_number(thing, "until"))
		cli_text_print(thing, ", until {@until}");
	if (json_is_string(json_object_get(thing, "by")))
		cli_text_print(thing, " by {by}");
	if (json_is_string(json_object_get(thing, "reason")))
		cli_text_print(thing, ": {reason}");
	if (cause) {
		fputs(" (", stdout);
		cli_text_put(cause);
		putchar(')');
	}
	putchar('\n');
}

/* The joined answers, with the effect of new drains; takes over `joined`. */
static json_t *describe(json_t *joined, const struct outcome *outcome)
{
	json_object_set(joined, "effect",
			outcome->effect ? outcome->effect : json_null());
	return joined;
}

/* Prints the result of a dry run. */
static int show_trial(const struct cli_ports *ports, const struct request *request,
		      const struct outcome *outcome)
{
	json_t *object = cli_ports_join(ports, "drain", "drained");
	const json_t *thing;
	size_t i;
	int status = EXIT_FINE;

	json_array_foreach(outcome->new, i, thing) {
		if (request->output.json)
			json_array_append(json_object_get(object, "drained"),
					  (json_t *)(uintptr_t)thing);
		else if (!request->output.quiet)
			print_thing(thing, "would", NULL);
	}
	if (request->output.json) {
		status = cli_json_print(describe(object, outcome));
	} else {
		if (outcome->text && !request->output.quiet) {
			cli_text_put(outcome->text);
			printf("%s%s\n",
			       outcome->refusal ? ": refused without --force, as " : "",
			       outcome->refusal ? outcome->refusal : "");
		}
		json_decref(object);
	}
	return status ? status : outcome->refusal ? EXIT_FINDINGS : EXIT_FINE;
}

/*
 * Prints the drained parts, and the cause once if none of them is pending. asks: it is
 * all that was asked for.
 */
static void print_drained(const json_t *joined, bool asks)
{
	const char *cause = cli_json_text(joined, "cause");
	const json_t *thing;
	bool named = false;
	size_t i;

	json_array_foreach(json_object_get(joined, "drained"), i, thing) {
		const char *state = cli_json_text(thing, "state");
		bool pending = !strcmp(state, "pending");

		print_thing(thing, state, pending && *cause ? cause : NULL);
		named = named || pending;
	}
	if (!named)
		cli_ports_print_cause(joined);
	if (asks && !i && !strcmp(cli_json_text(joined, "state"), "done"))
		puts("none");
}

/* Prints the drained parts; an exit status. */
static int show_drained(const struct cli_ports *ports, const struct request *request,
			const struct outcome *outcome, bool changes)
{
	json_t *joined = cli_ports_join(ports, "drain", "drained");
	int status = cli_ports_judge(joined, changes, request->wait_s), printed;

	if (!request->output.json && !request->output.quiet)
		print_drained(joined, !changes);
	if (!request->output.json) {
		json_decref(joined);
		return status;
	}
	printed = cli_json_print(describe(joined, outcome));
	return printed ? printed : status;
}

/* ---- The commands ---- */

/* Makes the requests; an exit status. */
static int prepare(struct cli_ports *ports, const struct request *request,
		   char **operands, bool back, struct outcome *outcome)
{
	const char *name = back ? "undrain" : "drain";

	if (*operands)
		return back ? undrain(ports, request, operands)
			    : drain(ports, request, operands, outcome);
	for (size_t i = 0; i < ports->num; i++)
		if (!request->all || !ports->list[i].stopped ||
		    ports->list[i].kept.drains.num)
			ports->list[i].request = cli_port_request(
				name, request->all ? NULL : json_array());
	return EXIT_FINE;
}

/* Whether drains were judged beside others than are in force. */
static bool is_outdated(const struct cli_ports *ports)
{
	bool any = false;

	for (size_t i = 0; i < ports->num; i++)
		any = any || !strcmp(cli_json_text(ports->list[i].answer, "reason"),
				     PM_REQUEST_OUTDATED);
	return any;
}

/* *again, if it may be: nothing is shown, as the request is to be judged again. */
static int try_change(const struct request *request, char **operands, bool back,
		      bool *again)
{
	struct outcome outcome = {.effect = NULL};
	bool changes = (*operands || request->all) && !request->dry_run;
	bool trial = *operands && request->dry_run;
	struct cli_ports ports;
	int status = cli_ports_open(changes || request->wait_s, &ports);

	if (!status)
		status = prepare(&ports, request, operands, back, &outcome);
	if (!status)
		status = trial ? show_trial(&ports, request, &outcome)
			       : cli_ports_ask(&ports, request->wait_s);
	*again = *again && !status && is_outdated(&ports);
	if (!status && !*again && !trial)
		status = show_drained(&ports, request, &outcome, changes);
	json_decref(outcome.effect);
	json_decref(outcome.new);
	free(outcome.text);
	cli_ports_free(&ports);
	return status;
}

static int change(const struct request *request, char **operands, bool back)
{
	bool again = true;
	int status = EXIT_FINE;

	for (int tries = 1; again; tries++) {
		again = tries < TRIES;
		status = try_change(request, operands, back, &again);
		if (again && !request->output.quiet)
			cli_note(PM_REQUEST_OUTDATED ": the effect is found again");
	}
	return status;
}

static const struct cli_option common_options[] = {
	{0, "wait", "SECONDS",
	 "Wait until all switches use the new tables, at most SECONDS. Default: "
	 "no wait.",
	 CLI_MEMBER(struct request, wait_s), .high = 86400},
	CLI_OUTPUT(struct request, output, "Print nothing but errors.",
		   "Print one JSON object (docs/json.md)."),
	{0},
};

/* Takes a time to come: of the next day, if a time of this day is over. */
static int take_until(const struct cli_option *option, char *argument, void *to)
{
	time_t now = time(NULL), when;
	bool valid = cli_when_read(argument, now, false, &when);

	(void)option;
	if (valid && !strpbrk(argument, ":-"))
		when = now + (now - when); /* 2h */
	else if (valid && when <= now && !strchr(argument, '-'))
		valid = cli_when_read(argument, now + 86400, false, &when);
	if (!valid)
		return cli_fail(EXIT_USAGE,
				"drain: --until: \"%s\" is no time: 06:00, 2h (from now) "
				"or 2026-11-29T06:00",
				argument);
	if (when <= now)
		return cli_fail(EXIT_USAGE, "drain: --until: \"%s\" is over", argument);
	*(time_t *)to = when;
	return EXIT_FINE;
}

static const struct cli_option drain_options[] = {
	{'n', NULL, "NETLIST",
	 "Look names up in NETLIST, an ibnetdiscover(8) or ibsim file, not in "
	 "the plan file. The printed effect is that on the plan file's fabric if "
	 "NETLIST is a part of it.",
	 CLI_MEMBER(struct request, netlist)},
	{0, "dry-run", NULL,
	 "Drain nothing: print the parts (`would`) and the effect on standard "
	 "output. Exit status 1 if the drain would be refused.",
	 CLI_MEMBER(struct request, dry_run)},
	{0, "force", NULL,
	 "Drain even if a leaf or a level keeps less than half of its uplinks, "
	 "or the busiest link gets more than 2.5 times the flows.",
	 CLI_MEMBER(struct request, force)},
	{0, "reason", "TEXT",
	 "The reason for the drains; it is kept and listed with them.",
	 CLI_MEMBER(struct request, reason)},
	{0, "until", "TIME",
	 "End the drains at TIME: 06:00 (the next one), 2h (from now; also m and "
	 "d) or 2026-11-29T06:00. Also changes the end of present drains.",
	 .take = take_until, .to = offsetof(struct request, until)},
	{.include = common_options},
	{0},
};

static const struct cli_command drain_command = {
	.synopsis = "drain [OPTION]... [WHAT[:PORT]]...",
	.about = "Exclude cables, or all cables of switches, from hosts' paths in a "
		 "running OpenSM until `portmajor undrain`, also over restarts. WHAT is "
		 "a switch, by name, pattern with * and ? or GUID; with PORT it is one "
		 "cable. Cables without which hosts would be cut off stay in use "
		 "(`needed`). First print the effect on the busiest link and on uplinks; "
		 "a drain is refused if a leaf or a level would keep less than half of "
		 "its uplinks, or the busiest link would get more than 2.5 times the "
		 "flows. After that, or without operands, list the drained parts. Exit "
		 "status 1, for a list or with --wait, if any part is not out of hosts' "
		 "paths.",
	.options = drain_options,
	.max_operands = INT_MAX,
};

int cmd_drain(int argc, char **argv)
{
	struct request request = {0};
	int status = cli_command_read(&drain_command, argc, argv, &request);

	return status < 0 ? change(&request, argv + optind, false) : status;
}

static const struct cli_option undrain_options[] = {
	{0, "all", NULL, "End all drains.", CLI_MEMBER(struct request, all)},
	{.include = common_options},
	{0},
};

static const struct cli_command undrain_command = {
	.synopsis = "undrain [OPTION]... --all | WHAT[:PORT]...",
	.about =
		"End drains of `portmajor drain`, and list the remaining ones. WHAT is "
		"named as for `portmajor drain` or as listed: a cable by either end "
		"(leaf5:20 or leaf5[20]) or by both (leaf5[20]-s1-line0[6]); a switch "
		"without a port includes its separately drained cables. Exit status 1 if "
		"a drain has not ended after --wait, or a remaining part is not out of "
		"hosts' paths.",
	.options = undrain_options,
	.max_operands = INT_MAX,
};

int cmd_undrain(int argc, char **argv)
{
	struct request request = {0};
	int status = cli_command_read(&undrain_command, argc, argv, &request);

	if (status < 0 && request.all != (optind == argc))
		status = cli_command_misused(
			&undrain_command, request.all ? "--all excludes operands"
						      : "--all or an operand is needed");
	return status < 0 ? change(&request, argv + optind, true) : status;
}
