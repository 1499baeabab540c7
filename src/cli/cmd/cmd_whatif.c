/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * portmajor whatif: predicts the cost of a failure, of every failure of a kind, or of a
 * return.
 */
#include "commands.h"
#include "groups.h"
#include "json.h"
#include "failure_options.h"
#include "progress.h"
#include "return_output.h"
#include "summary_output.h"
#include "planned_tables.h"
#include "text.h"
#include "whatif_output.h"
#include "whatif_present.h"

#include <portmajor/analysis/failure_trials.h>
#include <portmajor/analysis/mft_failure.h>
#include <portmajor/json/rows.h>
#include <portmajor/memory/xalloc.h>

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_GIVEN UINT32_MAX

struct request {
	struct cli_fabric fabric;
	const char *sm;
	struct cli_failed failed;
	bool all, pairs, loads, no_loads, csv, back, reset, now;
	struct cli_group_options groups;
	struct cli_output output;
	enum pm_failure_kind kind;
	uint32_t shifts, mad_us, wire_smps, worst, threads;
	struct cli_shard shard;
	enum pm_metric by;
};

/* ---- Describing ---- */

static json_t *fabric_json(const struct pm_fabric *fabric)
{
	uint32_t ends = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		ends += fabric->ports[i].node >= fabric->num_switches &&
			fabric->ports[i].peer != PM_NONE;
	return json_pack("{s:i, s:i, s:o}", "switches", (int)fabric->num_switches,
			 "end_ports", (int)ends, "fingerprint",
			 pm_json_guid(cli_fabric_fingerprint(fabric)));
}

/* Members that the objects of a failure and of a sweep have in common. */
static json_t *settings_json(const struct pm_fabric *fabric,
			     const struct request *request,
			     const struct pm_whatif_config *config)
{
	return pm_json_object((const struct pm_json_member[]){
		{"fabric", fabric_json(fabric)},
		{"lid_order", json_string(pm_lid_order_name(config->plan.order))},
		{"lmc", json_integer(config->plan.lmc)},
		{"sm", pm_json_text(request->sm)},
		{"connect_roots", json_boolean(config->connect_roots)},
		{"loads", json_boolean(config->loads)},
		{"shifts", json_integer(config->shifts)},
		{"mad_us", json_integer(request->mad_us)},
		{"max_wire_smps", json_integer(request->wire_smps)},
		{0},
	});
}

/* Lists the hosts that the last failure cut off; NULL without memory. */
static json_t *cut_off_json(const struct pm_fabric *fabric,
			    const struct pm_whatif *whatif)
{
	json_t *list = json_array();
	uint32_t num;
	const uint32_t *node = pm_whatif_cut_off(whatif, &num);

	for (uint32_t i = 0; i < num; i++)
		list = pm_json_append(list,
				      pm_json_text(pm_fabric_label(fabric, node[i])));
	return list;
}

/* ---- One failure ---- */

static int write_whatif(json_t *object, bool json, void (*print)(const json_t *object))
{
	if (json)
		return cli_json_print(object);
	print(object);
	json_decref(object);
	return EXIT_FINE;
}

/* ---- Multicast ---- */

/* The subnet manager's place, or PM_NONE. */
static uint32_t find_sm(const struct pm_fabric *fabric, const struct pm_plan *plan,
			uint32_t sm)
{
	return sm == PM_NONE ? PM_NONE : pm_plan_place(plan, fabric, sm);
}

#define MFT(member) PM_JSON_ROW(struct pm_mft_failure, member)

static const struct pm_json_row mft_rows[] = {
	{"trees", MFT(trees)},
	{"down_and_up", MFT(down_and_up)},
	{"members_left_out", MFT(left_out)},
	{"blocks", MFT(blocks)},
	{"sets", MFT(sets)},
	{"ordered", MFT(ordered)},
	{"longest", MFT(longest)},
	{"full_load", MFT(full_load)},
	{0},
};

/*
 * Describes a failure's cost in multicast tables, or a return's with reset[node]; null
 * without groups.
 */
static int describe_multicast(const struct request *request,
			      const struct pm_fabric *fabric, const struct pm_plan *plan,
			      uint32_t sm, const uint8_t *reset, json_t **object)
{
	struct cli_groups groups = {0};
	struct pm_fabric *broken = NULL;
	struct pm_mft_failure failure = {0};
	struct pm_error err;
	int status;

	*object = NULL;
	if (!cli_groups_named(&request->groups)) {
		*object = json_null();
		return EXIT_FINE;
	}
	status = cli_groups_get(&request->groups, fabric, plan, &groups);
	if (!status)
		status = cli_failures_cut(fabric, plan, &request->failed, &broken);
	sm = find_sm(fabric, plan, sm);
	if (!status && (reset ? pm_mft_failure_undo(plan, broken, sm, reset, groups.list,
						    groups.num, &failure, &err)
			      : pm_mft_failure_find(plan, broken, sm, groups.list,
						    groups.num, &failure, &err)))
		status = cli_refuse(&err);
	if (!status)
		*object = cli_json_join(
			json_pack("{s:I}", "groups", (json_int_t)groups.num),
			pm_json_rows(mft_rows, &failure));
	pm_mft_failure_free(&failure);
	cli_groups_free(&groups);
	pm_fabric_free(broken);
	return status;
}

/* ---- One failure, with its output ---- */

/* What was tried, and how. */
struct trial {
	const struct request *request;
	const struct pm_fabric *fabric;
	const struct pm_whatif_config *config;
	struct pm_whatif *whatif;
	struct settings settings;
	struct pm_ports ports;
	uint8_t *reset; /* [node] of a return, else NULL */
};

/* Describes the failure, or the return; takes over `took` and `multicast`. */
static int describe_trial(const struct trial *trial,
			  const struct pm_whatif_result *result, json_t *took,
			  json_t *multicast, json_t **object)
{
	const struct request *request = trial->request;

	if (request->back)
		return cli_return_json(&(struct cli_return){.fabric = trial->fabric,
							    .whatif = trial->whatif,
							    .ports = &trial->ports,
							    .result = result,
							    .failed = &request->failed,
							    .settings = &trial->settings,
							    .reset = trial->reset,
							    .any_reset = request->reset},
				       took, multicast, object);
	*object = whatif_json(
		&(struct whatif_described){.plan = pm_whatif_plan(trial->whatif),
					   .before = pm_whatif_before(trial->whatif),
					   .after = result,
					   .settings = &trial->settings,
					   .loads = trial->config->loads,
					   .shifts = trial->config->shifts},
		json_incref(trial->settings.json), cli_failed_json(&request->failed),
		took, cut_off_json(trial->fabric, trial->whatif));
	json_object_set_new(*object, "multicast", multicast);
	return EXIT_FINE;
}

static int write_trial(struct trial *trial, json_t *took, json_t *multicast)
{
	const struct request *request = trial->request;
	struct pm_whatif_result result;
	struct pm_error err;
	json_t *object;
	int status;

	if (pm_whatif_fail(trial->whatif, trial->ports.list, trial->ports.num, &result,
			   &err)) {
		json_decref(took);
		json_decref(multicast);
		return cli_refuse(&err);
	}
	status = describe_trial(trial, &result, took, multicast, &object);
	if (status)
		return status;
	if (request->output.json || !request->output.quiet)
		return write_whatif(object, request->output.json,
				    request->back ? cli_return_print : whatif_print);
	json_decref(object);
	return EXIT_FINE;
}

/* Finds what --fail names. An exit status. */
static int find_parts(struct trial *trial)
{
	const struct request *request = trial->request;
	const struct pm_plan *plan = pm_whatif_plan(trial->whatif);
	int status;

	if (!request->output.quiet)
		cli_failed_print(trial->fabric, plan, &request->failed);
	status = cli_failures_add(trial->fabric, plan, &request->failed, &trial->ports);
	if (status || !request->back)
		return status;
	trial->reset = pm_xarray(trial->fabric->num_nodes + 1u, 1);
	return request->reset ? cli_return_reset(trial->fabric, plan, &request->failed,
						 trial->reset)
			      : EXIT_FINE;
}

static int try_failures(const struct pm_fabric *fabric, const struct request *request,
			const struct pm_whatif_config *config, struct pm_whatif *whatif)
{
	struct trial trial = {
		.request = request,
		.fabric = fabric,
		.config = config,
		.whatif = whatif,
		.settings = {.mad_us = request->mad_us, .wire_smps = request->wire_smps},
	};
	json_t *took = NULL, *multicast = NULL;
	int status = find_parts(&trial);

	trial.settings.json = settings_json(fabric, request, config);
	if (!status)
		status = cli_took_json(fabric, pm_whatif_plan(whatif), &request->failed,
				       &took);
	if (!status)
		status = describe_multicast(request, fabric, pm_whatif_plan(whatif),
					    config->sm, trial.reset, &multicast);
	if (!status)
		status = write_trial(&trial, took, multicast);
	else
		json_decref(took);
	json_decref(trial.settings.json);
	free(trial.ports.list);
	free(trial.reset);
	return status;
}

/* ---- One failure in the present fabric ---- */

static json_t *now_settings(const struct request *request,
			    const struct whatif_present *now,
			    const struct pm_whatif_config *config)
{
	const struct pm_fabric *fabric = now->present.fabric;
	json_t *settings = settings_json(fabric, request, config);

	if (now->sm != PM_NONE)
		json_object_set_new(settings, "sm",
				    pm_json_text(pm_fabric_label(
					    fabric, fabric->ports[now->sm].node)));
	json_object_set_new(settings, "now", whatif_present_json(now));
	return settings;
}

/* Finds the parts' ports, and describes the parts. An exit status. */
static int find_now(const struct request *request, const struct whatif_present *now,
		    struct pm_ports *ports, json_t **took)
{
	int status =
		whatif_present_fail(now, &request->failed, request->output.quiet, ports);

	return status ? status
		      : cli_took_json(now->present.fabric, now->present.plan,
				      &request->failed, took);
}

/* The names of nodes that are marked; NULL without memory. */
static json_t *marked_json(const struct pm_fabric *fabric, const uint8_t *marked)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (marked[i])
			list = pm_json_append(list,
					      pm_json_text(pm_fabric_label(fabric, i)));
	return list;
}

/* Tries the failure; takes over `took`. */
static int try_now(const struct request *request, struct whatif_present *now,
		   const struct pm_ports *ports, json_t *took)
{
	const struct pm_fabric *fabric = now->present.fabric;
	struct pm_whatif_config config = {.plan = {.order = now->present.plan->order,
						   .lmc = now->present.plan->lmc},
					  .connect_roots = request->fabric.connect_roots,
					  .loads = !request->no_loads};
	struct pm_whatif_now find = {.connect_roots = config.connect_roots,
				     .loads = config.loads};
	const struct settings times = {.mad_us = request->mad_us,
				       .wire_smps = request->wire_smps};
	uint8_t *cut_off = pm_xarray(fabric->num_nodes + 1u, 1);
	struct pm_whatif_result before, after;
	struct pm_error err;
	json_t *object;
	int status = EXIT_FINE;

	whatif_present_find(now, &find);
	if (pm_whatif_now(&find, ports->list, ports->num, &before, &after, cut_off,
			  &err)) {
		json_decref(took);
		free(cut_off);
		return cli_refuse(&err);
	}
	object = whatif_json(&(struct whatif_described){.plan = now->present.plan,
							.before = &before,
							.after = &after,
							.settings = &times,
							.loads = config.loads},
			     now_settings(request, now, &config),
			     cli_failed_json(&request->failed), took,
			     marked_json(fabric, cut_off));
	json_object_set_new(object, "multicast", json_null());
	if (request->output.json || !request->output.quiet)
		status = write_whatif(object, request->output.json, whatif_print);
	else
		json_decref(object);
	free(cut_off);
	return status;
}

static int run_now(const struct request *request)
{
	struct whatif_present now = {.port = NULL};
	struct pm_ports ports = {0};
	json_t *took = NULL;
	int status = whatif_present_open(NULL, &now);

	if (!status)
		status = find_now(request, &now, &ports, &took);
	if (!status)
		status = try_now(request, &now, &ports, took);
	free(ports.list);
	whatif_present_close(&now);
	return status;
}

/* ---- All of a kind ---- */

static json_t *sweep_settings_json(const struct pm_fabric *fabric,
				   const struct request *request,
				   const struct pm_whatif_config *config,
				   const struct pm_whatif_result *before, uint64_t total)
{
	json_t *object = settings_json(fabric, request, config);
	json_t *more = pm_json_object((const struct pm_json_member[]){
		{"failures_of", json_string(pm_failure_kind_name(request->kind))},
		{"pairs", json_boolean(request->pairs)},
		{"total", json_integer((json_int_t)total)},
		{"worst", json_integer(request->worst)},
		{"by", json_string(pm_metric_name(request->by))},
		{"load_before",
		 config->loads ? json_integer((json_int_t)before->load) : json_null()},
		{"shift_before",
		 config->shifts ? json_integer(before->shift) : json_null()},
		{"full_load", json_integer((json_int_t)before->full_load)},
		{0},
	});

	return cli_json_join(object, more);
}

static void show_progress(uint64_t done, uint64_t count, void *context)
{
	cli_progress_show(context, done, count, done, count);
}

/*
 * Names the rows of a summary, and the hosts that each of them cuts off. For these the
 * failure is tried once more.
 */
static void name_rows(const struct pm_failures *failures, struct pm_whatif *whatif,
		      struct pm_failure_summary *summary, struct names *names)
{
	struct pm_whatif_result ignored;
	struct pm_ports ports = {0};

	for (uint32_t i = 0; i < summary->num_rows; i++) {
		struct pm_row *row = &summary->row[i];

		ports.num = 0;
		row->name = names->num;
		/* Most failures cut off no pair, and so no host. */
		if ((row->value[PM_METRIC_PAIRS_CUT] &&
		     pm_failures_ports(failures, row->number, &ports)) ||
		    pm_whatif_fail(whatif, ports.list, ports.num, &ignored, NULL) ||
		    names_add(names, cli_failures_json(failures, row->number),
			      cut_off_json(failures->fabric, whatif)))
			pm_no_memory();
	}
	free(ports.list);
}

/* Tries all these failures and names the worst. */
static int run_sweep(const struct request *request, const struct pm_failures *failures,
		     const struct pm_whatif_config *config, struct pm_whatif *whatif,
		     struct pm_failure_summary *summary, struct names *names)
{
	struct cli_progress progress;
	const struct pm_failure_trials sweep = {
		.fabric = failures->fabric,
		.config = config,
		.failures = failures,
		.shard = request->shard.index,
		.num_shards = request->shard.of,
		.threads = request->threads,
		.progress = show_progress,
		.context = &progress,
	};
	struct pm_error err;
	int rc;

	cli_progress_begin(&progress, request->output.quiet);
	rc = pm_failure_trials_run(&sweep, whatif, summary, &err);
	cli_progress_end(&progress);
	if (rc)
		return cli_refuse(&err);
	name_rows(failures, whatif, summary, names);
	return EXIT_FINE;
}

static int sweep_all(const struct pm_fabric *fabric, const struct request *request,
		     const struct pm_whatif_config *config, struct pm_whatif *whatif)
{
	struct settings settings = {.worst = request->worst,
				    .by = request->by,
				    .mad_us = request->mad_us,
				    .wire_smps = request->wire_smps,
				    .shard = request->shard.index,
				    .num_shards = request->shard.of};
	struct pm_failure_summary summary = {.by = request->by, .worst = request->worst};
	struct pm_failures failures;
	struct names names = {0};
	struct pm_error err;
	int status;

	if (pm_failures_list(fabric, &pm_whatif_plan(whatif)->tree, request->kind,
			     request->pairs, &failures, &err))
		return cli_refuse(&err);
	settings.total = failures.count;
	settings.json = sweep_settings_json(fabric, request, config,
					    pm_whatif_before(whatif), failures.count);
	status = run_sweep(request, &failures, config, whatif, &summary, &names);
	if (!status && request->output.json)
		status = cli_json_print(summary_json(&summary, &names, &settings));
	else if (!status && request->csv)
		summary_print_csv(&summary, &names, &settings);
	else if (!status && !request->output.quiet)
		summary_print(&summary, &names, &settings);
	json_decref(settings.json);
	names_free(&names);
	pm_failure_summary_free(&summary);
	pm_failures_free(&failures);
	return status;
}

/* ---- Options ---- */

static int take_kind(const struct cli_option *option, char *argument, void *to)
{
	struct request *request = to;

	(void)option;
	request->all = true;
	return pm_failure_kind_parse(argument, &request->kind)
		       ? cli_fail(EXIT_USAGE, "--all: no kind \"%s\"", argument)
		       : EXIT_FINE;
}

static int take_metric(const struct cli_option *option, char *argument, void *to)
{
	(void)option;
	return pm_metric_parse(argument, to)
		       ? cli_fail(EXIT_USAGE, "--by: no metric \"%s\"", argument)
		       : EXIT_FINE;
}

static const struct cli_option options[] = {
	CLI_FAIL(struct request, failed,
		 "The failed part: a node with all its cables, or one cable (leaf5:20). "
		 "WHAT is a name, a pattern with * and ?, a GUID (0x...), a LID (lid:N, "
		 "or N alone) or a chassis (s0 for s0-line0 and s0-fab0). May be given "
		 "several times: all parts fail at once."),
	{'a', "all", "KIND",
	 "Try each of the links (between switches), switches, leaves, spines or "
	 "hosts, one after the other; print the worst, totals and percentiles.",
	 .take = take_kind, .values = "links|switches|leaves|spines|hosts"},
	{0, "pairs", NULL, "Try each pair of that kind.",
	 CLI_MEMBER(struct request, pairs)},
	{0, "now", NULL,
	 "Instead of NETLIST: the fabric of the OpenSM on this machine as it is "
	 "now, without missing and drained parts and links on hold, and with the "
	 "present LIDs.",
	 CLI_MEMBER(struct request, now)},
	{0, "return", NULL,
	 "Predict the return of the parts of --fail instead of their failure.",
	 CLI_MEMBER(struct request, back)},
	{0, "reset", NULL,
	 "With --return: the nodes that --fail names have lost what OpenSM has "
	 "set, as by a power cycle.",
	 CLI_MEMBER(struct request, reset)},
	CLI_GROUPS(
		struct request, groups,
		"Also count the Sets of multicast tables (MFTs) for the groups in FILE, "
		"lines of an MLID and a member."),
	{'s', "sm", "NAME",
	 "The node with the subnet manager, named as for --fail. Entries that "
	 "keep this node reachable from every switch are then counted, too.",
	 CLI_MEMBER(struct request, sm)},
	{0, "loads", NULL,
	 "Compute the maximal link load, with every host sending to every other. "
	 "This is the default, except with --all, where it takes most of the "
	 "time.",
	 CLI_MEMBER(struct request, loads)},
	{0, "no-loads", NULL, "Do not compute the maximal link load.",
	 CLI_MEMBER(struct request, no_loads)},
	{0, "shifts", "N", "Try N shift permutations (default 16; with --all 0), or all.",
	 .take = cli_take_count, .to = offsetof(struct request, shifts),
	 .high = INT32_MAX},
	{0, "mad-us", "N",
	 "Microseconds from sending an LFT block to its answer. Default 265.",
	 CLI_MEMBER(struct request, mad_us), .high = 1000000000},
	{0, "max-wire-smps", "N",
	 "Blocks on the wire at a time, as in opensm.conf. Default 4.",
	 CLI_MEMBER(struct request, wire_smps), .low = 1, .high = INT32_MAX},
	{'n', "worst", "N",
	 "With --all: how many of the worst failures to list. Default 20, and "
	 "all with --csv.",
	 CLI_MEMBER(struct request, worst), .high = INT32_MAX},
	{0, "by", "METRIC",
	 "The metric that orders the list: blocks (the default), restoring, least, "
	 "switches, entries, pairs_cut (the default for leaves and hosts), "
	 "switches_cut, load or shift. The last two imply --loads and --shifts.",
	 take_metric, offsetof(struct request, by),
	 .values =
		 "blocks|restoring|least|switches|entries|pairs_cut|switches_cut|load|shift"},
	{0, "csv", NULL,
	 "With --all: print comma-separated values, a line for each failure; the "
	 "last column has the hosts that are cut off.",
	 CLI_MEMBER(struct request, csv)},
	{'j', "threads", "N",
	 "Number of threads. Default: as many as there are processors.",
	 CLI_MEMBER(struct request, threads), .low = 1, .high = 4096},
	{0, "shard", "I/N",
	 "Compute only the I-th of N parts, 1 to N; see portmajor-merge(1).",
	 .take = cli_take_shard, .to = offsetof(struct request, shard)},
	CLI_OUTPUT(struct request, output, "Print no text and no progress bar.",
		   "Print one JSON object (docs/json.md)."),
	CLI_INCLUDE(struct request, fabric, cli_fabric_options),
	{0},
};

static const struct cli_command command = {
	.synopsis =
		"whatif [OPTION]... NETLIST --fail WHAT[:PORT]...\n"
		"whatif [OPTION]... --now --fail WHAT[:PORT]...\n"
		"whatif [OPTION]... NETLIST --fail WHAT[:PORT]... --return [--reset]\n"
		"whatif [OPTION]... NETLIST --all KIND [--pairs]",
	.about = "Print the cost of a failure in LFT blocks that the subnet manager "
		 "sends. `restoring` of these, sent first, restore all paths between "
		 "hosts; `least` is the fewest blocks that could hold the changed "
		 "entries: the sum over switches of ceil(changed entries / 64). With "
		 "--return, print the SMPs until the failed parts are back in service, "
		 "and the LFT blocks that move entries onto their links. NETLIST is an "
		 "ibsim, ibnetdiscover or opensm-subnet.lst file (- is standard input).",
	.options = options,
	.max_operands = INT_MAX,
};

/* Why options exclude --now, or NULL. */
static const char *check_now(const struct request *request)
{
	if (request->all || request->back)
		return "--now excludes --all and --return; these take a netlist, such as "
		       "fabric.net in the folder of the plugin's plan";
	if (request->sm || cli_groups_named(&request->groups))
		return "--now excludes --sm, --groups and --ipoib";
	if (request->shifts != NOT_GIVEN)
		return "--now excludes --shifts";
	return NULL;
}

/*
 * Refuses options that exclude each other; sets the default of `worst`. An exit status.
 */
static int check_request(struct request *request)
{
	const char *reason = NULL;

	if (request->all && request->failed.num)
		reason = "--all and --fail exclude each other";
	else if (!request->all && !request->failed.num)
		reason = "nothing fails: --fail WHAT, or --all KIND";
	else if (!request->all &&
		 (request->pairs || request->shard.of != 1 || request->csv ||
		  request->by != PM_METRICS || request->worst != NOT_GIVEN))
		reason = "--pairs, --shard, --csv, --by and --worst need --all";
	else if (request->now && check_now(request))
		reason = check_now(request);
	else if (request->back && !request->failed.num)
		reason = "--return needs --fail";
	else if (request->reset && !request->back)
		reason = "--reset needs --return";
	else if (request->back && (request->loads || request->shifts != NOT_GIVEN))
		reason = "--return excludes --loads and --shifts";
	else if (request->all && cli_groups_named(&request->groups))
		reason = "--groups and --ipoib need --fail";
	else if (cli_groups_misused(&request->groups))
		reason = cli_groups_misused(&request->groups);
	else if (request->no_loads && (request->loads || request->by == PM_METRIC_LOAD))
		reason = "--no-loads excludes --loads and --by load";
	else if (request->by == PM_METRIC_SHIFT && !request->shifts)
		reason = "--by shift excludes --shifts 0";
	else if (request->csv && (request->output.json || request->shard.of != 1))
		reason = "--csv excludes --json and --shard";
	if (reason)
		return cli_command_misused(&command, reason);
	if (request->worst == NOT_GIVEN)
		request->worst = request->csv ? INT32_MAX : 20;
	if (request->by == PM_METRICS)
		request->by =
			request->kind == PM_FAIL_HOSTS || request->kind == PM_FAIL_LEAVES
				? PM_METRIC_PAIRS_CUT
				: PM_METRIC_BLOCKS;
	return EXIT_FINE;
}

/* Reads the options; returns an exit status, or -1 to go on. */
static int read_options(int argc, char **argv, struct request *request)
{
	int status = cli_command_read(&command, argc, argv, request);

	if (status >= 0)
		return status;
	if (!request->now && optind == argc)
		return cli_command_misused(&command, "a netlist is missing, or --now");
	/* Arguments after --fail NAME are more names, up to the next option. */
	for (int i = optind + !request->now; i < argc; i++)
		request->failed.list[request->failed.num++] = argv[i];
	status = check_request(request);
	return status ? status : -1;
}

/* Loads and shifts take long for thousands of failures: found only if requested. */
static void configure(const struct request *request, struct pm_whatif_config *config)
{
	config->plan = request->fabric.plan;
	config->sm = PM_NONE;
	config->connect_roots = request->fabric.connect_roots;
	config->loads = request->loads || request->by == PM_METRIC_LOAD ||
			(!request->all && !request->back && !request->no_loads);
	config->shifts = (request->all && request->by != PM_METRIC_SHIFT) || request->back
				 ? 0
				 : 16;
	if (request->shifts != NOT_GIVEN)
		config->shifts = request->shifts;
}

static int run_whatif(const char *path, const struct request *request)
{
	struct pm_whatif_config config = {0};
	struct pm_fabric *fabric = NULL;
	struct pm_whatif *whatif = NULL;
	struct pm_error err;
	int status = cli_fabric_read(path, &request->fabric, &fabric);

	configure(request, &config);
	if (!status)
		status = cli_tables_sm(fabric, request->sm, &config.sm);
	if (!status && pm_whatif_new(fabric, &config, &whatif, &err))
		status = cli_refuse(&err);
	if (!status)
		status = request->all ? sweep_all(fabric, request, &config, whatif)
				      : try_failures(fabric, request, &config, whatif);
	pm_whatif_free(whatif);
	pm_fabric_free(fabric);
	return status;
}

/* The number of processors that this process may use, at least 1. */
static unsigned int count_processors(void)
{
	cpu_set_t set;
	int count;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	count = CPU_COUNT(&set);
	return count > 0 ? (unsigned int)count : 1;
}

int cmd_whatif(int argc, char **argv)
{
	struct request request = {
		.failed.list = pm_xarray((size_t)argc, sizeof(char *)),
		.shifts = NOT_GIVEN,
		.mad_us = 265,
		.wire_smps = 4,
		.worst = NOT_GIVEN,
		.by = PM_METRICS,
		.shard = {1, 1},
		.threads = count_processors(),
	};
	int status;

	status = read_options(argc, argv, &request);
	if (status < 0)
		status = request.now ? run_now(&request)
				     : run_whatif(argv[optind], &request);
	free(request.failed.list);
	return status;
}
