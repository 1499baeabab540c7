/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor check: judges the tables of switches over a topology. */
#include "check_now.h"
#include "commands.h"
#include "groups.h"
#include "json.h"
#include "planned_tables.h"
#include "present.h"
#include "text.h"

#include <portmajor/check/judge.h>
#include <portmajor/files/mft_file.h>
#include <portmajor/files/plan_file.h>
#include <portmajor/json/rows.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
	struct cli_fabric fabric;
	const char *topology, *tables, *whole;
	const char *sm, *plan_path;
	const char *mfts, *groups; /* files, or NULL */
	uint32_t shifts;
	double balance; /* 0: no limit */
	uint32_t wait_s;
	bool conform, from_all, now;
	struct cli_output output;
};

/* All inputs of the judgement. */
struct judged {
	struct check_now now;
	struct pm_fabric *fabric;
	struct pm_fabric *whole; /* NULL: not given */
	struct pm_lfts *lfts;
	struct pm_plan *plan; /* NULL: not given */
	struct cli_ports ports;
	struct present present; /* the fabric of a port of OpenSM, if it is this one */
	struct present_drains drains;
	char *plan_path;      /* of its plan; NULL: there is none */
	struct pm_mfts *mfts; /* NULL: not given */
	struct cli_groups groups;
	struct pm_judgement found;
};

#define NOW_WAIT_S 120 /* for the tables of --now */
#define NOW_TIMES 3    /* tries of --now, where the fabric changes */

/* ---- Reading and judging ---- */

static int read_plan(struct judged *j, const char *path)
{
	struct pm_error err;

	if (!path)
		return EXIT_FINE;
	if (pm_plan_file_read(path, &j->plan, &err))
		return cli_refuse(&err);
	return pm_plan_fits(j->plan, j->fabric)
		       ? EXIT_FINE
		       : cli_fail(EXIT_INPUT, "%s is a plan of another fabric", path);
}

/* Uses the plan of a port of OpenSM on this machine that is of this fabric. */
static int find_present(struct judged *j, const struct request *request,
			struct pm_judge_config *config)
{
	int status;

	if (request->plan_path || request->whole || request->conform ||
	    request->fabric.lmc_given || request->fabric.plan.order != PM_GROUPED)
		return EXIT_FINE;
	status = cli_ports_open(false, &j->ports);
	for (size_t i = 0; i < j->ports.num && !status && !j->plan_path; i++) {
		struct cli_port *port = &j->ports.list[i];

		if (!present_is_known(port))
			continue;
		status = present_read(port, &j->present);
		if (status || !pm_plan_fits(j->present.plan, j->fabric)) {
			present_free(&j->present);
			continue;
		}
		j->drains = (struct present_drains){&j->present, &port->kept.drains};
		j->plan_path = cli_text_make("%splan", port->folder);
		config->plan = j->present.base ? j->present.base : j->present.plan;
		config->in_force = j->present.base ? j->present.plan : NULL;
		config->compare_only = true;
		config->use = present_use_by;
		config->context = &j->drains;
	}
	return status;
}

/* Reads multicast tables and groups, if they are given. */
static int read_multicast(struct judged *j, const struct request *request,
			  struct pm_judge_config *config)
{
	struct pm_error err;
	int status = EXIT_FINE;

	if (!request->mfts)
		return EXIT_FINE;
	if (pm_mfts_read(request->mfts, j->fabric, &j->mfts, &err))
		return cli_refuse(&err);
	config->mfts = j->mfts;
	if (!request->groups)
		return EXIT_FINE;
	status = cli_groups_read(request->groups, j->fabric, NULL, &j->groups);
	if (!status && !j->groups.num)
		status = cli_fail(EXIT_INPUT, "%s: no groups in it", request->groups);
	config->groups = j->groups.list;
	config->num_groups = j->groups.num;
	return status;
}

/* Has OpenSM read the tables, and reads the fabric that they are of. */
static int read_now(struct judged *j, struct request *request)
{
	const char *folder = request->topology;
	int status = EXIT_FINE;

	for (int i = 0; i < NOW_TIMES && !status; i++) {
		pm_fabric_free(j->fabric);
		j->fabric = NULL;
		check_now_free(&j->now);
		j->now.waits_s = request->wait_s;
		status = check_now_read(&j->now, folder);
		if (status)
			break;
		request->topology = j->now.fabric;
		request->tables = j->now.tables;
		status = cli_fabric_read(request->topology, &request->fabric, &j->fabric);
		if (!status && !check_now_is_outdated(&j->now))
			return EXIT_FINE;
	}
	return status ? status
		      : cli_fail(EXIT_INPUT,
				 "--now: the fabric has changed while tables were read, "
				 "each time: try again when it rests");
}

static int read_topology(struct judged *j, struct request *request)
{
	return request->now
		       ? read_now(j, request)
		       : cli_fabric_read(request->topology, &request->fabric, &j->fabric);
}

static int find_sm(const struct judged *j, const struct request *request, uint32_t *sm)
{
	if (!request->now || request->sm)
		return cli_tables_sm(j->fabric, request->sm, sm);
	*sm = present_find_sm(j->fabric, j->now.port->state);
	return EXIT_FINE;
}

static int judge(struct judged *j, struct request *request)
{
	int status = read_topology(j, request);
	struct pm_judge_config config = {
		.topology = request->topology,
		.tables = request->tables,
		.from_all = request->from_all,
		.shifts = request->shifts,
		.balance = request->balance,
		.plan_config = request->fabric.plan,
		.lmc_of_ports = !request->fabric.lmc_given,
		.connect_roots = request->fabric.connect_roots,
		.conform = request->conform,
	};
	struct pm_error err;

	if (!status && request->whole)
		status = cli_fabric_read(request->whole, &request->fabric, &j->whole);
	config.whole = j->whole;
	if (!status && pm_lfts_read(request->tables, &j->lfts, &err))
		status = cli_fail(EXIT_INPUT, "%s%s", err.text,
				  request->tables != request->topology
					  ? ""
					  : ": give both, TOPOLOGY and TABLES "
					    "(opensm-lfts.dump, or what dump_fts wrote)");
	if (!status)
		status = find_sm(j, request, &config.sm);
	if (!status)
		status = read_plan(j, request->plan_path);
	if (!status)
		status = read_multicast(j, request, &config);
	config.plan = j->plan;
	if (!status)
		status = find_present(j, request, &config);
	if (!status && pm_judge(j->fabric, j->lfts, &config, &j->found, &err))
		status = cli_refuse(&err);
	return status;
}

/* ---- Describing ---- */

/* Files of tables have no service levels. All paths are judged on the lane of SL 0. */
#define JUDGED_LANE 0

#define PATHS(member) PM_JSON_ROW(struct pm_check_paths, member)
#define PAIRS(member) PM_JSON_ROW(struct pm_check_pairs, member)
#define LOAD(member) PM_JSON_ROW(struct pm_check_load, member)
#define LOADS(member) PM_JSON_ROW(struct pm_check_loads, member)
#define CREDITS(member) PM_JSON_ROW(struct pm_check_credits, member)
#define MFTS(member) PM_JSON_ROW(struct pm_check_mfts, member)
#define JUDGED(member) PM_JSON_ROW(struct pm_judgement, member)

static const struct pm_json_row path_rows[] = {
	{"pairs", PATHS(pairs)},
	{"delivered", PATHS(delivered)},
	{"cut", PATHS(cut)},
	{"unreachable", PATHS(unreachable)},
	{"aggregation", PATHS(aggregation)},
	{"lost", PATHS(lost)},
	{"loops", PATHS(loops)},
	{"turns", PATHS(turns)},
	{"misrouted", PATHS(misrouted)},
	{"sm", PATHS(sm_unreachable)},
	{0},
};

static const struct pm_json_row pair_rows[] = {
	{"connected", PAIRS(connected)},
	{"pairs", PAIRS(reachable)},
	{0},
};

static const struct pm_json_row load_rows[] = {
	{"links", LOAD(links)},
	{"flows", LOAD(flows)},
	{"minimum", LOAD(minimum)},
	{"maximum", LOAD(maximum)},
	{0},
};

static const struct pm_json_row uplink_rows[] = {
	{"minimum", LOADS(uplink_least)},
	{"maximum", LOADS(uplink_most)},
	{"spread", LOADS(uplink_spread)},
	{0},
};

static const struct pm_json_row credit_rows[] = {
	{"channels", CREDITS(channels)},
	{"dependencies", CREDITS(dependencies)},
	{"length", CREDITS(length)},
	{"multicast", CREDITS(multicast)},
	{0},
};

static const struct pm_json_row mft_rows[] = {
	{"groups", MFTS(groups)},
	{"members", MFTS(members)},
	{"pairs", MFTS(pairs)},
	{"delivered", MFTS(delivered)},
	{"loops", MFTS(count[PM_MFT_LOOP])},
	{"second_copies", MFTS(count[PM_MFT_TWICE])},
	{"missed", MFTS(count[PM_MFT_MISSED])},
	{"strangers", MFTS(count[PM_MFT_STRANGER])},
	{"nowhere", MFTS(count[PM_MFT_NOWHERE])},
	{"unused", MFTS(unused)},
	{0},
};

static const struct pm_json_row plan_rows[] = {
	{"lids_out_of_plan", JUDGED(lids_differ)},
	{"entries", JUDGED(delta.entries)},
	{"blocks", JUDGED(delta.blocks)},
	{"switches", JUDGED(delta.switches)},
	{0},
};

static json_t *loads_json(const struct pm_check_loads *loads)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < 2 * PM_CHECK_LEVELS; i++) {
		const struct pm_check_load *load =
			i % 2 ? &loads->down[i / 2] : &loads->up[i / 2];

		if (load->links)
			list = pm_json_append(
				list,
				cli_json_join(
					json_pack("{s:s, s:i, s:f, s:f}", "direction",
						  i % 2 ? "down" : "up", "level",
						  (int)(i / 2), "mean",
						  (double)load->flows /
							  (double)load->links,
						  "ratio", pm_check_load_ratio(load)),
					pm_json_rows(load_rows, load)));
	}
	return list;
}

static json_t *place_json(const struct judged *j, uint32_t node)
{
	return json_pack("{s:o, s:o}", "guid", pm_json_guid(j->fabric->nodes[node].guid),
			 "name", pm_json_text(pm_fabric_name(j->fabric, node)));
}

static json_t *credit_loop_json(const struct judged *j)
{
	const struct pm_check_credits *credits = &j->found.credits;
	json_t *list = json_array();

	for (uint32_t i = 0; i < credits->length && i < PM_CHECK_CREDIT_LOOP; i++) {
		const struct pm_port *p = &j->fabric->ports[credits->credit_loop[i]];

		list = pm_json_append(list,
				      cli_json_join(place_json(j, p->node),
						    json_pack("{s:i}", "port", p->num)));
	}
	return list;
}

static json_t *findings_json(const struct judged *j)
{
	const struct pm_judgement *found = &j->found;
	json_t *list = json_array();

	for (unsigned int kind = 0; kind < CHECK_NOW_KINDS; kind++) {
		const char *name;
		uint64_t count;
		char *text = check_now_finding(j->now.read, kind, &name, &count);

		if (text)
			list = pm_json_append(list,
					      json_pack("{s:s, s:I, s:o}", "kind", name,
							"count", (json_int_t)count,
							"text", pm_json_text(text)));
		free(text);
	}
	for (uint32_t i = 0; i < found->num_findings; i++) {
		const struct pm_finding *finding = &found->findings[i];

		list = pm_json_append(list,
				      json_pack("{s:s, s:I, s:o}", "kind",
						pm_finding_name(finding->kind), "count",
						(json_int_t)finding->count, "text",
						pm_json_text(finding->text)));
	}
	return list;
}

static json_t *loops_json(const struct judged *j)
{
	const struct pm_check_loops *loops = &j->found.loops;
	json_t *list = json_array();

	for (uint32_t i = 0; i < loops->length && i < PM_CHECK_LOOP; i++)
		list = pm_json_append(list, place_json(j, loops->loop[i]));
	return json_pack("{s:I, s:o, s:I, s:o}", "lids", (json_int_t)loops->lids, "lid",
			 loops->lids ? json_integer(loops->lid) : json_null(), "length",
			 (json_int_t)loops->length, "switches", list);
}

static json_t *credits_json(const struct judged *j)
{
	return cli_json_join(pm_json_rows(credit_rows, &j->found.credits),
			     json_pack("{s:i, s:o}", "virtual_lane", JUDGED_LANE, "loop",
				       credit_loop_json(j)));
}

static json_t *unassigned_json(const struct judged *j)
{
	const struct pm_judgement *found = &j->found;

	if (!found->unassigned)
		return json_null();
	return cli_json_join(
		json_pack("{s:I}", "lid", (json_int_t)found->first_unassigned),
		place_json(j, found->at));
}

static json_t *left_out_json(const struct judged *j)
{
	uint32_t port = j->found.left_out;

	if (port == PM_NONE)
		return json_null();
	return cli_json_join(json_pack("{s:i}", "lid", j->fabric->ports[port].lid),
			     place_json(j, j->fabric->ports[port].node));
}

static json_t *describe_check(const struct judged *j, const struct request *request)
{
	const struct pm_judgement *found = &j->found;

	return cli_json_join(
		cli_json_new("check", 2),
		pm_json_object((const struct pm_json_member[]){
			{"findings", findings_json(j)},
			{"tables_read",
			 j->now.read ? json_deep_copy(j->now.read) : json_null()},
			{"switches", json_integer(j->fabric->num_switches)},
			{"tables", json_integer(found->tables)},
			{"end_ports", json_integer(found->end_ports)},
			{"ports_with_lid", json_integer(found->ports_with_lid)},
			{"left_out", left_out_json(j)},
			{"unassigned_lids", json_integer(found->unassigned)},
			{"first_unassigned", unassigned_json(j)},
			{"from_all", json_boolean(request->from_all)},
			{"paths", pm_json_rows(path_rows, &found->paths)},
			{"reachable", pm_json_rows(pair_rows, &found->host_pairs)},
			{"lid_loops", loops_json(j)},
			{"credits", credits_json(j)},
			/* null without multicast tables */
			{"multicast",
			 j->mfts ? pm_json_rows(mft_rows, &found->mfts) : json_null()},
			{"loads", loads_json(&found->loads)},
			{"uplinks", pm_json_rows(uplink_rows, &found->loads)},
			{"shift",
			 request->shifts ? json_integer(found->shift) : json_null()},
			{"plan",
			 found->planned ? pm_json_rows(plan_rows, found) : json_null()},
			{"plan_file", pm_json_text(j->plan_path)},
			{"no_plan", found->planned ? json_null()
						   : pm_json_text(found->unplanned.text)},
			{0},
		}));
}

/* ---- Text ---- */

static void print_load(const json_t *load)
{
	cli_text_print(load, "load {direction} between levels {level} and ");
	printf("%" JSON_INTEGER_FORMAT, cli_json_number(load, "level") + 1);
	cli_text_print(load, ": {links|link|links}, mean {%%mean}, minimum {minimum}, "
			     "maximum {maximum} ({%%ratio} times the mean)\n");
}

static void print_paths(const json_t *object, const struct judged *j)
{
	const struct pm_judgement *found = &j->found;

	cli_text_print(object, json_is_true(json_object_get(object, "from_all"))
				       ? "paths from all switches"
				       : "paths from switches with end ports");
	cli_text_print(object, ": {paths.delivered} of {paths.pairs} delivered, "
			       "{paths.cut} without an up-then-down path\n");
	if (found->paths.aggregation)
		cli_text_print(
			object,
			"note: tables leave out {paths.aggregation|path|paths} between "
			"two aggregation nodes (connect_roots joins them)\n");
	cli_text_print(object,
		       "pairs of hosts at different switches: {reachable.pairs} of "
		       "{reachable.connected} have a path\n");
	cli_text_print(object, found->loops.lids
				       ? "loops: {lid_loops.lids|LID|LIDs}\n"
				       : "loops: none, of all LIDs with entries\n");
	cli_text_print(object, found->credits.length ? "credit loops: found"
						     : "credit loops: none");
	cli_text_print(object, " on virtual lane {credits.virtual_lane}, which all "
			       "paths take here ({credits.channels} channels, "
			       "{credits.dependencies} dependencies)\n");
	if (j->mfts)
		cli_text_print(
			object,
			"multicast: {multicast.groups|group|groups} with "
			"{multicast.members|member|members}; {multicast.delivered} "
			"of {multicast.pairs} pairs of members connected; "
			"{multicast.unused|entry|entries} of no group\n");
}

static void print_findings(const struct judged *j)
{
	for (unsigned int kind = 0; kind < CHECK_NOW_KINDS; kind++) {
		const char *name;
		uint64_t count;
		char *text = check_now_finding(j->now.read, kind, &name, &count);

		if (text)
			cli_print_line("finding: %s", text);
		free(text);
	}
	for (uint32_t i = 0; i < j->found.num_findings; i++)
		cli_print_line("finding: %s", j->found.findings[i].text);
}

static void print_reading(const json_t *object, const struct check_now *now)
{
	if (!now->read)
		return;
	cli_text_print(object, "tables read: {tables_read.read} of "
			       "{tables_read.switches|switch|switches}, "
			       "{tables_read.blocks|LFT block|LFT blocks}");
	printf(" in %.3f s\n",
	       json_real_value(json_object_get(now->read, "milliseconds")) / 1e3);
}

static bool is_in_order(const struct judged *j)
{
	return !j->found.num_findings &&
	       !json_array_size(json_object_get(j->now.read, "differing")) &&
	       !json_array_size(json_object_get(j->now.read, "unanswered"));
}

static void print_unassigned(const json_t *object, const struct judged *j)
{
	cli_text_print(object,
		       "note: entries for {#unassigned_lids|LID|LIDs} that no port has "
		       "now, as of absent parts: no packet is for these; LID "
		       "{first_unassigned.lid} on ");
	cli_print_line("\"%s\", for one", pm_fabric_label(j->fabric, j->found.at));
}

/*
 * Prints the result. Findings have node names, and are not taken from the object: a
 * netlist's names may have bytes that JSON cannot have.
 */
static void print_check(const json_t *object, const struct judged *j, bool quiet)
{
	const struct pm_judgement *found = &j->found;
	const json_t *load;
	size_t i;

	print_findings(j);
	if (quiet)
		return;
	print_reading(object, &j->now);
	cli_text_print(object,
		       "{switches|switch|switches}, {tables} with a table, {end_ports} "
		       "end ports, {ports_with_lid} ports with a LID\n");
	if (found->left_out != PM_NONE) {
		cli_text_print(object, "LID {left_out.lid} of ");
		cli_print_line(
			"\"%s\" is not judged: dump_fts leaves out the last LID of a "
			"fabric where that is a multiple of 64",
			pm_fabric_label(j->fabric,
					j->fabric->ports[found->left_out].node));
	}
	if (found->unassigned)
		print_unassigned(object, j);
	print_paths(object, j);
	json_array_foreach(json_object_get(object, "loads"), i, load)
		print_load(load);
	if (json_is_integer(json_object_get(object, "shift")))
		cli_text_print(object,
			       "most flows on a cable in a shift permutation: {shift}\n");
	if (j->plan_path)
		cli_print_line("plan of %s, with its links on hold and drains:",
			       j->plan_path);
	if (found->planned)
		cli_text_print(object,
			       "plan: {plan.lids_out_of_plan} of "
			       "{ports_with_lid} LIDs out of plan; with these "
			       "LIDs {plan.entries} entries differ, {plan.blocks} "
			       "LFT blocks of {plan.switches} switches\n");
	else
		cli_print_line("plan: none (%s)", found->unplanned.text);
	if (found->planned && found->lids_differ && !j->whole && !j->plan &&
	    !j->plan_path)
		puts("note: this plan was made for TOPOLOGY; if parts are missing from it, "
		     "name the plan file (--plan) or the whole fabric (--whole)");
	puts(is_in_order(j) ? "in order" : "not in order");
}

static int write_check(const struct judged *j, const struct request *request)
{
	json_t *object = describe_check(j, request);

	if (request->output.json)
		return cli_json_print(object);
	print_check(object, j, request->output.quiet);
	json_decref(object);
	return EXIT_FINE;
}

/* ---- Options ---- */

static int take_balance(const struct cli_option *option, char *argument, void *to)
{
	double *balance = to;
	char *end;

	(void)option;
	*balance = strtod(argument, &end);
	if (*end || end == argument || !(*balance >= 1))
		return cli_fail(EXIT_USAGE, "--balance: a number of at least 1");
	return EXIT_FINE;
}

static const struct cli_option options[] = {
	{'s', "sm", "NAME",
	 "The node with the subnet manager: every switch must reach it. Default: "
	 "none, or that of ibsim's Dump.",
	 CLI_MEMBER(struct request, sm)},
	{0, "plan", "FILE",
	 "LIDs and tables must be those of the plan in FILE, which the plugin "
	 "keeps as portmajor.GUID/plan. Default: such a plan of this fabric on "
	 "this machine, else one made for the topology; differences are then no "
	 "finding.",
	 CLI_MEMBER(struct request, plan_path)},
	{0, "conform", NULL,
	 "LIDs and tables must be those that `portmajor plan` computes for the "
	 "topology. Default: differences are printed, but are no finding.",
	 CLI_MEMBER(struct request, conform)},
	{0, "whole", "FILE",
	 "The complete topology, if parts are missing from TOPOLOGY: it "
	 "determines the levels and the plan.",
	 CLI_MEMBER(struct request, whole)},
	{0, "mfts", "FILE",
	 "Judge multicast tables, too, in a file of OpenSM (opensm.mcfdbs, log "
	 "flag 0x40) or of `dump_fts -M`.",
	 CLI_MEMBER(struct request, mfts)},
	{0, "groups", "FILE",
	 "The members of groups, as in portmajor-whatif(1). Default: the end "
	 "ports (and switches' ports 0) in the tables' entries; then missing and "
	 "wrong members are not detected.",
	 CLI_MEMBER(struct request, groups)},
	{0, "from-all", NULL,
	 "Follow paths from all switches, not only from those with end ports.",
	 CLI_MEMBER(struct request, from_all)},
	{0, "shifts", "N",
	 "Try N shift permutations, or all, and print the most flows on a cable. "
	 "Default 0.",
	 .take = cli_take_count, .to = offsetof(struct request, shifts),
	 .high = INT32_MAX},
	{0, "balance", "RATIO",
	 "A cable with more than RATIO times the mean load of its level is a "
	 "finding. Default: no load is a finding.",
	 .take = take_balance, .to = offsetof(struct request, balance)},
	{0, "now", NULL,
	 "Have the OpenSM that is the master on this machine read the tables of "
	 "all switches now, and judge these.",
	 CLI_MEMBER(struct request, now)},
	{0, "wait", "SECONDS",
	 "With --now: wait for the tables, at most SECONDS. Default 120.",
	 CLI_MEMBER(struct request, wait_s), .low = 1, .high = 86400},
	CLI_OUTPUT(struct request, output, "Print findings only.",
		   "Print one JSON object (docs/json.md)."),
	CLI_INCLUDE(struct request, fabric, cli_fabric_options),
	{0},
};

static const struct cli_command command = {
	.synopsis = "check [OPTION]... TOPOLOGY [TABLES]\n"
		    "check [OPTION]... --now [FOLDER]",
	.about = "Check the tables that switches hold. Follow all paths through the "
		 "tables in a file of OpenSM (opensm-lfts.dump, opensm.fdbs) or "
		 "dump_fts(8) over TOPOLOGY, an ibsim, ibnetdiscover or "
		 "opensm-subnet.lst file; a Dump of ibsim's console is both. One of the "
		 "two may be - for standard input. Exit status 1 for packets that do not "
		 "arrive, paths that turn up after going down, loops, credit loops, "
		 "wrong multicast packets, and missing or foreign tables; with --now "
		 "also for switches that do not answer or hold other entries than OpenSM "
		 "has set.",
	.options = options,
	.max_operands = 2,
};

/* Why options and operands do not go together, or NULL. */
static const char *find_misuse(const struct request *request, int operands)
{
	if (!request->now && !operands)
		return "a topology is missing, or --now";
	if (request->now && operands > 1)
		return "--now takes one folder";
	if (request->now && (request->whole || request->plan_path || request->mfts))
		return "--now excludes --whole, --plan and --mfts";
	if (!request->now && request->wait_s != NOW_WAIT_S)
		return "--wait needs --now";
	return NULL;
}

/* Reads the options; returns an exit status, or -1 to go on. */
static int read_options(int argc, char **argv, struct request *request)
{
	int status = cli_command_read(&command, argc, argv, request);

	if (status >= 0)
		return status;
	if (find_misuse(request, argc - optind))
		return cli_command_misused(&command, find_misuse(request, argc - optind));
	request->topology = argv[optind]; /* NULL: none */
	request->tables = argv[argc - 1];
	if (request->now)
		return -1;
	if (request->groups && !request->mfts)
		return cli_fail(EXIT_USAGE, "--groups needs --mfts");
	if (!strcmp(request->topology, "-") && !strcmp(request->tables, "-"))
		return cli_fail(EXIT_USAGE, "only one operand can be standard input");
	return -1;
}

int cmd_check(int argc, char **argv)
{
	struct request request = {.wait_s = NOW_WAIT_S};
	struct judged j = {0};
	int status = read_options(argc, argv, &request);

	if (status >= 0)
		return status;
	status = judge(&j, &request);
	if (!status)
		status = write_check(&j, &request);
	if (!status && !is_in_order(&j))
		status = EXIT_FINDINGS;
	pm_plan_free(j.plan);
	present_free(&j.present);
	cli_ports_free(&j.ports);
	check_now_free(&j.now);
	free(j.plan_path);
	pm_lfts_free(j.lfts);
	pm_mfts_free(j.mfts);
	cli_groups_free(&j.groups);
	pm_fabric_free(j.whole);
	pm_fabric_free(j.fabric);
	return status;
}
