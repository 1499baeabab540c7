/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * portmajor table: prints a switch's table and ports' loads, before and after a failure.
 */
#include "commands.h"
#include "groups.h"
#include "json.h"
#include "failure_options.h"
#include "table_mfts.h"
#include "planned_tables.h"
#include "whatif_present.h"

#include <portmajor/check/check.h>
#include <portmajor/fabric/link.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

struct request {
	struct cli_fabric fabric;
	const char *table; /* name of the switch, or NULL */
	const char *sm;
	struct cli_failed failed;
	struct cli_group_options groups;
	struct cli_output output;
	bool now;
};

/* What tables are of. All is borrowed. */
struct subject {
	const struct request *request;
	const struct pm_plan *plan;
	const struct pm_fabric *rates;	  /* of links, at the ports of plan->topology */
	const struct pm_fabric *ends;	  /* has the end nodes */
	uint32_t sw;			  /* the switch, of plan->topology */
	const struct whatif_present *now; /* NULL: a netlist's */
};

/* One state of the fabric: before or after the failure. */
struct state {
	const struct pm_plan *plan;
	struct pm_routes *routes;
	struct pm_detours detours;
	uint8_t *usable;	/* [port] of plan->topology */
	uint8_t *there;		/* [port] the same and what is kept out; or NULL */
	const uint8_t *vacant;	/* [port] places of hosts elsewhere, borrowed; or NULL */
	uint32_t *loads;	/* [port] flows out of it, weighted by rate */
	uint8_t *table;		/* [stride] of the switch */
	const uint8_t **tables; /* [switch] tables in force, the routes' .. */
	uint16_t *top;		/* .. and their highest LIDs */
	uint32_t *changed, *blocks; /* [switch] changed by it: entries, blocks */
};

/*
 * Counts the loads of all-to-all traffic: every end port sends a flow to every LID of an
 * end port.
 */
static void count_loads(struct state *state, const struct pm_fabric *rates)
{
	const struct pm_plan *plan = state->plan;
	const struct pm_check check = {
		.fabric = plan->topology, .table = state->tables, .top = state->top};
	uint32_t common = pm_link_common_rate(rates);

	for (uint32_t sw = 0; sw < plan->topology->num_switches; sw++) {
		state->tables[sw] = pm_routes_table(state->routes, sw);
		state->top[sw] = plan->top_lid;
	}
	memset(state->loads, 0, plan->topology->num_ports * sizeof(*state->loads));
	for (uint32_t sw = 0; sw < plan->topology->num_switches; sw++) {
		uint32_t hosts =
			pm_fabric_count_hosts(state->plan->topology, sw, state->usable);

		for (uint32_t lid = 1; hosts && lid <= plan->top_lid; lid++) {
			uint32_t place = plan->owner[lid];

			if (place != PM_NONE && plan->topology->ports[place].num &&
			    state->usable[place])
				pm_check_add_path(&check, sw, lid, hosts, state->loads);
		}
	}
	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		state->loads[i] =
			(uint32_t)pm_link_weigh(rates, common, i, state->loads[i]);
}

static json_t *list_planes(const struct pm_plan *plan)
{
	json_t *list = json_array();

	for (uint32_t p = 0; p < plan->tree.num_planes; p++)
		json_array_append_new(
			list, cli_json_join(cli_node_json(plan->topology,
							  cli_tables_plane(plan, p)),
					    json_pack("{s:i}", "link",
						      (int)plan->tree.planes[p].link)));
	return list;
}

/* Lists entries by LID: plane, and ports before and after; null without an owner. */
static json_t *list_entries(const struct pm_plan *plan, const uint8_t *before,
			    const uint8_t *after)
{
	json_t *list = json_array();

	for (uint32_t lid = 0; lid <= plan->top_lid; lid++) {
		uint32_t place = plan->owner[lid], plane;

		if (place == PM_NONE) {
			json_array_append_new(list, json_null());
			continue;
		}
		plane = plan->plane[place];
		if (plane != PM_NONE)
			plane = pm_plan_plane(plan, place, lid - plan->lid[place]);
		/* If an entry may stay, it stays. */
		json_array_append_new(
			list, json_pack("[i, i, i]", plane == PM_NONE ? -1 : (int)plane,
					before[lid] == PM_LFT_KEEP ? -1 : before[lid],
					after[lid] != PM_LFT_KEEP    ? after[lid]
					: before[lid] == PM_LFT_KEEP ? -1
								     : before[lid]));
	}
	return list;
}

static const char *direction_name(const struct pm_tree *tree, uint32_t port)
{
	return tree->direction[port] == PM_UP	  ? "up"
	       : tree->direction[port] == PM_DOWN ? "down"
						  : "other";
}

/* Describes a link's end, and the flows out of it. */
static json_t *port_loads_json(const struct state *before, const struct state *after,
			       uint32_t i)
{
	const struct pm_fabric *topology = before->plan->topology;
	const struct pm_tree *tree = &before->plan->tree;
	json_t *plane =
		tree->plane[i] == PM_NONE ? json_null() : json_integer(tree->plane[i]);
	json_t *object = json_pack(
		"{s:i, s:i, s:i, s:s, s:o, s:b, s:i, s:i}", "port",
		topology->ports[i].num, "to", (int)pm_fabric_peer_node(topology, i),
		"peer_port", topology->ports[topology->ports[i].peer].num, "direction",
		direction_name(tree, i), "plane", plane, "usable", after->usable[i],
		"before", (int)before->loads[i], "after", (int)after->loads[i]);

	if (after->there)
		json_object_set_new(object, "there", json_boolean(after->there[i]));
	return object;
}

static json_t *list_ports(const struct state *before, const struct state *after,
			  uint32_t sw)
{
	const struct pm_fabric *topology = before->plan->topology;
	json_t *list = json_array();

	pm_for_each_port(i, topology, sw)
		if (pm_fabric_peer_node(topology, i) != PM_NONE)
			json_array_append_new(list, port_loads_json(before, after, i));
	return list;
}

static bool is_host_port(const struct state *state, uint32_t port)
{
	return state->plan->topology->ports[port].host != PM_NO_HOST &&
	       !(state->vacant && state->vacant[port]);
}

/* Lists the ports of a switch that have an end port before the failure. */
static json_t *list_hosts(const struct state *before, uint32_t sw)
{
	const struct pm_fabric *topology = before->plan->topology;
	json_t *list = json_array();

	pm_for_each_port(i, topology, sw)
		if (is_host_port(before, i))
			json_array_append_new(list, json_integer(topology->ports[i].num));
	return list;
}

/* Lists the nodes at these ports; null: there is none now. */
static json_t *list_host_names(const struct state *before, const struct pm_fabric *ends,
			       uint32_t sw)
{
	const struct pm_fabric *topology = before->plan->topology;
	json_t *list = json_array();

	pm_for_each_port(i, topology, sw) {
		bool is_one = is_host_port(before, i);
		uint32_t port = is_one ? pm_fabric_same_port(topology, i, ends) : PM_NONE;
		uint32_t peer =
			port == PM_NONE ? PM_NONE : pm_fabric_peer_node(ends, port);

		if (is_one)
			json_array_append_new(
				list,
				peer == PM_NONE || peer < ends->num_switches
					? json_null()
					: pm_json_text(pm_fabric_label(ends, peer)));
	}
	return list;
}

static json_t *describe_switch(const struct state *before, const struct state *after,
			       const struct pm_fabric *ends, uint32_t sw)
{
	const struct pm_fabric *topology = before->plan->topology;
	const struct pm_tree *tree = &before->plan->tree;
	uint32_t component = tree->component[sw];

	return cli_json_join(
		cli_node_json(topology, sw),
		json_pack("{s:i, s:i, s:i, s:i, s:o, s:o, s:o}", "level",
			  tree->level[sw] == PM_NO_LEVEL ? -1 : tree->level[sw],
			  "component", component == PM_NONE ? -1 : (int)component,
			  "blocks", (int)after->blocks[sw], "entries",
			  (int)after->changed[sw], "hosts", list_hosts(before, sw),
			  "host_names", list_host_names(before, ends, sw), "ports",
			  list_ports(before, after, sw)));
}

static json_t *list_switches(const struct state *before, const struct state *after,
			     const struct pm_fabric *ends)
{
	json_t *list = json_array();

	for (uint32_t sw = 0; sw < before->plan->topology->num_switches; sw++)
		json_array_append_new(list, describe_switch(before, after, ends, sw));
	return list;
}

/* Counts the differences between tables; before: a copy of all, [switch][stride]. */
static void count_changes(struct state *after, const uint8_t *before)
{
	uint32_t stride = pm_routes_stride(after->routes);

	for (uint32_t sw = 0; sw < after->plan->topology->num_switches; sw++) {
		const uint8_t *table = pm_routes_table(after->routes, sw);
		uint32_t block = PM_NONE;

		for (uint32_t lid = 0; lid < stride; lid++) {
			if (table[lid] == PM_LFT_KEEP ||
			    table[lid] == before[(size_t)sw * stride + lid])
				continue;
			after->changed[sw]++;
			after->blocks[sw] += block != lid / PM_LFT_BLOCK;
			block = lid / PM_LFT_BLOCK;
		}
	}
}

static void free_state(struct state *state)
{
	free(state->usable);
	free(state->there);
	free(state->loads);
	free(state->table);
	free(state->tables);
	free(state->top);
	free(state->changed);
	free(state->blocks);
}

static void new_state(struct state *state, const struct pm_plan *plan)
{
	const struct pm_fabric *topology = plan->topology;

	*state = (struct state){
		.plan = plan,
		.usable = pm_xarray(topology->num_ports, 1),
		.loads = pm_xarray(topology->num_ports, sizeof(uint32_t)),
		.tables = pm_xarray(topology->num_switches, sizeof(*state->tables)),
		.top = pm_xarray(topology->num_switches, sizeof(*state->top)),
		.changed = pm_xarray(topology->num_switches, sizeof(uint32_t)),
		.blocks = pm_xarray(topology->num_switches, sizeof(uint32_t)),
	};
}

/* Makes the tables for what is usable. */
static void route_state(struct state *state, struct pm_routes *routes,
			const struct subject *subject)
{
	state->routes = routes;
	state->table = pm_xarray(pm_routes_stride(routes), 1);
	pm_routes_update(routes, state->usable, &state->detours);
	memcpy(state->table, pm_routes_table(routes, subject->sw),
	       pm_routes_stride(routes));
	count_loads(state, subject->rates);
}

static void print_port(const struct state *before, const struct state *after, uint32_t i)
{
	const struct pm_fabric *topology = before->plan->topology;
	const struct pm_port *peer = &topology->ports[topology->ports[i].peer];

	cli_print_line("%4u  %-5s %10u %10u  \"%s\"[%u]%s", topology->ports[i].num,
		       direction_name(&before->plan->tree, i), before->loads[i],
		       after->loads[i], pm_fabric_label(topology, peer->node), peer->num,
		       after->usable[i]			 ? ""
		       : after->there && after->there[i] ? ", out of paths"
							 : ", failed");
}

static void print_loads(const struct state *before, const struct state *after,
			const struct subject *subject, const json_t *multicast)
{
	uint32_t sw = subject->sw;
	bool failed = !subject->now || subject->request->failed.num;
	const struct pm_fabric *topology = before->plan->topology;

	cli_print_line(
		"\"%s\": %u entr%s in %u block%s differ%s %s",
		pm_fabric_label(topology, sw), after->changed[sw],
		after->changed[sw] == 1 ? "y" : "ies", after->blocks[sw],
		after->blocks[sw] == 1 ? "" : "s", after->changed[sw] == 1 ? "s" : "",
		failed ? "after the failure" : "now from the plan with all its parts");
	puts("port  way       before      after  to");
	pm_for_each_port(i, topology, sw)
		if (pm_fabric_peer_node(topology, i) != PM_NONE)
			print_port(before, after, i);
	if (json_is_object(multicast))
		table_mfts_print(multicast);
}

/* Prints the table; takes over `multicast`. */
static int print_table(const struct state *before, const struct state *after,
		       const struct subject *subject, json_t *multicast)
{
	const struct pm_plan *plan = before->plan;
	uint32_t sw = subject->sw;
	json_t *more = json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "lid_order",
		pm_lid_order_name(plan->order), "switch",
		pm_json_text(pm_fabric_name(plan->topology, sw)), "switch_guid",
		pm_json_guid(plan->topology->nodes[sw].guid), "failed",
		cli_failed_json(&subject->request->failed), "planes", list_planes(plan),
		"entries", list_entries(plan, before->table, after->table), "switches",
		list_switches(before, after, subject->ends), "multicast", multicast);

	if (subject->now)
		json_object_set_new(more, "now", whatif_present_json(subject->now));
	return cli_json_print(cli_json_join(cli_json_new("table", VERSION), more));
}

/* Finds the requested switch, or the first leaf. */
static int find_named_switch(const struct pm_fabric *fabric, const struct pm_plan *plan,
			     const char *name, uint32_t *sw)
{
	struct pm_error err;
	int rc;

	*sw = plan->tree.leaves[0];
	if (!name)
		return EXIT_FINE;
	rc = pm_failures_find_node(fabric, plan, "--switch", name, sw, &err);
	if (rc)
		return cli_fail(rc == -EINVAL ? EXIT_USAGE : EXIT_INPUT, "%s", err.text);
	return *sw < fabric->num_switches
		       ? EXIT_FINE
		       : cli_fail(EXIT_USAGE, "--switch: \"%s\" is no switch", name);
}

/* Describes the switch's multicast table; null without groups. */
static int describe_multicast(const struct pm_fabric *fabric,
			      const struct pm_fabric *broken, const struct pm_plan *plan,
			      uint32_t sm, uint32_t sw,
			      const struct cli_group_options *options, json_t **object)
{
	struct cli_groups groups = {0};
	struct pm_mft_failure failure = {0};
	struct pm_error err;
	int status;

	if (!cli_groups_named(options)) {
		*object = json_null();
		return EXIT_FINE;
	}
	status = cli_groups_get(options, fabric, plan, &groups);
	if (!status && pm_mft_failure_find(plan, broken, sm, groups.list, groups.num,
					   &failure, &err))
		status = cli_refuse(&err);
	if (!status)
		*object = table_mfts_json(&failure, sw);
	pm_mft_failure_free(&failure);
	cli_groups_free(&groups);
	return status;
}

/* Makes both tables, and prints; takes over `multicast`. */
static int write_both(const struct subject *subject, struct state *before,
		      struct state *after, json_t *multicast)
{
	const struct request *request = subject->request;
	const struct pm_plan *plan = subject->plan;
	struct pm_routes *routes = NULL;
	struct pm_error err;
	uint8_t *installed;
	size_t stride;
	int status = EXIT_FINE;

	if (pm_routes_make(plan, &routes, &err)) {
		json_decref(multicast);
		return cli_refuse(&err);
	}
	stride = pm_routes_stride(routes);
	installed = pm_xarray(plan->topology->num_switches, stride);
	route_state(before, routes, subject);
	for (uint32_t i = 0; i < plan->topology->num_switches; i++)
		memcpy(installed + i * stride, pm_routes_table(routes, i), stride);
	route_state(after, routes, subject);
	count_changes(after, installed);
	if (request->output.json)
		status = print_table(before, after, subject, json_incref(multicast));
	else if (!request->output.quiet)
		print_loads(before, after, subject, multicast);
	free(installed);
	json_decref(multicast);
	pm_routes_free(routes);
	return status;
}

/* ---- Of a netlist ---- */

static int make_table(const struct subject *subject, const struct pm_fabric *broken,
		      uint32_t sm)
{
	const struct request *request = subject->request;
	const struct pm_plan *plan = subject->plan;
	const struct pm_detours detours = {
		.sm = sm == PM_NONE ? PM_NONE : pm_plan_place(plan, subject->ends, sm),
		.switches = request->fabric.connect_roots};
	struct state before, after;
	json_t *multicast = NULL;
	int status = describe_multicast(subject->ends, broken, plan, detours.sm,
					subject->sw, &request->groups, &multicast);

	if (status)
		return status;
	new_state(&before, plan);
	new_state(&after, plan);
	before.detours = after.detours = detours;
	pm_plan_match(plan, subject->ends, before.usable);
	pm_plan_match(plan, broken, after.usable);
	status = write_both(subject, &before, &after, multicast);
	free_state(&before);
	free_state(&after);
	return status;
}

static int run_table(const char *path, const struct request *request)
{
	struct pm_fabric *fabric = NULL, *broken = NULL;
	struct pm_plan *plan = NULL;
	uint32_t sm = PM_NONE, sw = PM_NONE;
	struct pm_error err;
	int status = cli_fabric_read(path, &request->fabric, &fabric);

	if (!status)
		status = cli_tables_sm(fabric, request->sm, &sm);
	if (!status && pm_plan_make(fabric, &request->fabric.plan, &plan, &err))
		status = cli_refuse(&err);
	if (!status)
		status = find_named_switch(fabric, plan, request->table, &sw);
	if (!status && !request->output.quiet)
		cli_failed_print(fabric, plan, &request->failed);
	if (!status)
		status = cli_failures_cut(fabric, plan, &request->failed, &broken);
	if (!status)
		status = make_table(&(struct subject){.request = request,
						      .plan = plan,
						      .rates = fabric,
						      .ends = fabric,
						      .sw = sw},
				    broken, sm);
	pm_plan_free(plan);
	pm_fabric_free(broken);
	pm_fabric_free(fabric);
	return status;
}

/* ---- Of the present fabric ---- */

/* Marks all links and end ports of the plan, a host that was moved at its new place. */
static void mark_all(const struct state *state, uint8_t *marks)
{
	const struct pm_fabric *topology = state->plan->topology;

	for (uint32_t i = 0; i < topology->num_ports; i++)
		marks[i] = topology->ports[i].num &&
			   (topology->ports[i].peer != PM_NONE || is_host_port(state, i));
}

/* Finds the links in use, if those of state->there are. An exit status. */
static int use_there(const struct pm_whatif_now *find, struct state *state)
{
	struct pm_error err;

	return find->use(find->context, state->there, state->usable, &err)
		       ? cli_refuse(&err)
		       : EXIT_FINE;
}

/* Fills both states; failed: the ports of --fail, or none. An exit status. */
static int find_usable(const struct pm_whatif_now *find, const struct pm_ports *failed,
		       struct state *before, struct state *after)
{
	size_t size = find->plan->topology->num_ports;
	struct state *states[] = {before, after};
	int status = EXIT_FINE;

	for (unsigned int i = 0; i < 2; i++) {
		states[i]->there = pm_xarray(size, 1);
		memcpy(states[i]->there, find->there, size);
		states[i]->detours = (struct pm_detours){
			.sm = find->sm == PM_NONE
				      ? PM_NONE
				      : pm_plan_place(find->plan, find->fabric, find->sm),
			.switches = find->connect_roots,
			.extra = states[i]->there,
		};
	}
	pm_whatif_now_fail(find->plan, find->fabric, failed->list, failed->num,
			   after->there);
	if (failed->num) {
		status = use_there(find, before);
	} else {
		mark_all(before, before->there);
		memcpy(before->usable, before->there, size);
	}
	return status ? status : use_there(find, after);
}

static int make_present(struct whatif_present *now, const struct request *request)
{
	const struct pm_plan *plan = now->present.plan;
	struct subject subject = {.request = request,
				  .plan = plan,
				  .rates = plan->topology,
				  .ends = now->present.fabric,
				  .now = now};
	struct pm_whatif_now find = {.connect_roots = request->fabric.connect_roots};
	struct pm_ports failed = {0};
	struct state before, after;
	int status = find_named_switch(plan->topology, plan, request->table, &subject.sw);

	if (!status)
		status = whatif_present_fail(now, &request->failed, request->output.quiet,
					     &failed);
	if (status)
		goto out;
	new_state(&before, plan);
	new_state(&after, plan);
	present_mark_vacant(&now->present, now->port);
	before.vacant = now->present.vacant;
	whatif_present_find(now, &find);
	status = find_usable(&find, &failed, &before, &after);
	if (!status)
		status = write_both(&subject, &before, &after, json_null());
	free_state(&before);
	free_state(&after);
out:
	free(failed.list);
	return status;
}

/* folder: the plugin's, or NULL. */
static int run_present(const char *folder, const struct request *request)
{
	struct whatif_present now = {.port = NULL};
	int status = whatif_present_open(folder, &now);

	if (!status)
		status = make_present(&now, request);
	whatif_present_close(&now);
	return status;
}

static const struct cli_option options[] = {
	{'S', "switch", "NAME",
	 "The switch, named as for --fail. Default: the first leaf.",
	 CLI_MEMBER(struct request, table)},
	CLI_FAIL(struct request, failed,
		 "The failed part, named as for portmajor-whatif(1). May be given "
		 "several times."),
	{0, "now", NULL,
	 "Instead of NETLIST: the fabric of the OpenSM on this machine, or of "
	 "FOLDER, as it is now. Without --fail it is compared with the whole "
	 "plan.",
	 CLI_MEMBER(struct request, now)},
	{'s', "sm", "NAME", "The node with the subnet manager: every switch reaches it.",
	 CLI_MEMBER(struct request, sm)},
	CLI_GROUPS(struct request, groups,
		   "Also show the switch's multicast table (MFT) for the groups in FILE, "
		   "which has the format of portmajor-whatif(1)."),
	CLI_OUTPUT(struct request, output, "Print no text.",
		   "Print one JSON object (docs/json.md)."),
	CLI_INCLUDE(struct request, fabric, cli_fabric_options),
	{0},
};

static const struct cli_command command = {
	.synopsis = "table [OPTION]... NETLIST [--fail WHAT[:PORT]]...\n"
		    "table [OPTION]... --now [FOLDER] [--fail WHAT[:PORT]]...",
	.about = "Print a switch's table and loads before and after a failure: the flows "
		 "on each port, with every host sending to every LID of a host, and the "
		 "changes of the table. NETLIST is an ibsim, ibnetdiscover or "
		 "opensm-subnet.lst file (- is standard input).",
	.options = options,
	.max_operands = 1,
};

/* Why options exclude each other, or NULL. */
static const char *check_operand(const struct request *request, const char *operand)
{
	if (!request->now && !operand)
		return "a netlist is missing, or --now";
	if (request->now && (request->sm || cli_groups_named(&request->groups)))
		return "--now excludes --sm, --groups and --ipoib";
	return cli_groups_misused(&request->groups);
}

int cmd_table(int argc, char **argv)
{
	struct request request = {.failed.list = pm_xarray((size_t)argc, sizeof(char *))};
	const char *operand, *reason;
	int status;

	status = cli_command_read(&command, argc, argv, &request);
	operand = status < 0 && optind < argc ? argv[optind] : NULL;
	reason = status < 0 ? check_operand(&request, operand) : NULL;
	if (reason)
		status = cli_command_misused(&command, reason);
	if (status < 0)
		status = request.now ? run_present(operand, &request)
				     : run_table(operand, &request);
	free(request.failed.list);
	return status;
}
