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

#include <portmajor/check/check.h>
#include <portmajor/fabric/link.h>

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
};

/* One state of the fabric: before or after the failure. */
struct state {
	const struct pm_plan *plan;
	struct pm_routes *routes;
	const struct pm_detours *detours;
	uint8_t *usable;	    /* [port] of plan->topology */
	uint32_t *loads;	    /* [port] flows out of it, weighted by rate */
	uint8_t *table;		    /* [stride] of the switch */
	const uint8_t **tables;	    /* [switch] tables in force, the routes' .. */
	uint16_t *top;		    /* .. and their highest LIDs */
	uint32_t *changed, *blocks; /* [switch] changed by it: entries, blocks */
};

/*
 * Counts the loads of all-to-all traffic: every end port sends a flow to every LID of an
 * end port. The fabric has the rates of links, at the same ports.
 */
static void count_loads(struct state *state, const struct pm_fabric *whole)
{
	const struct pm_plan *plan = state->plan;
	const struct pm_check check = {
		.fabric = plan->topology, .table = state->tables, .top = state->top};
	uint32_t common = pm_link_common_rate(whole);

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
			(uint32_t)pm_link_weigh(whole, common, i, state->loads[i]);
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

	return json_pack(
		"{s:i, s:i, s:i, s:s, s:o, s:b, s:i, s:i}", "port",
		topology->ports[i].num, "to", (int)pm_fabric_peer_node(topology, i),
		"peer_port", topology->ports[topology->ports[i].peer].num, "direction",
		direction_name(tree, i), "plane", plane, "usable", after->usable[i],
		"before", (int)before->loads[i], "after", (int)after->loads[i]);
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

/* Lists the ports of a switch that have an end port before the failure. */
static json_t *list_hosts(const struct state *before, uint32_t sw)
{
	const struct pm_fabric *topology = before->plan->topology;
	json_t *list = json_array();

	pm_for_each_port(i, topology, sw)
		if (topology->ports[i].host)
			json_array_append_new(list, json_integer(topology->ports[i].num));
	return list;
}

/* Lists the attached nodes; the fabric has the end nodes, at the same ports. */
static json_t *list_host_names(const struct state *before, const struct pm_fabric *whole,
			       uint32_t sw)
{
	const struct pm_fabric *topology = before->plan->topology;
	json_t *list = json_array();

	pm_for_each_port(i, topology, sw)
		if (topology->ports[i].host)
			json_array_append_new(
				list, pm_json_text(pm_fabric_label(
					      whole, pm_fabric_peer_node(whole, i))));
	return list;
}

static json_t *describe_switch(const struct state *before, const struct state *after,
			       const struct pm_fabric *whole, uint32_t sw)
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
			  "host_names", list_host_names(before, whole, sw), "ports",
			  list_ports(before, after, sw)));
}

static json_t *list_switches(const struct state *before, const struct state *after,
			     const struct pm_fabric *whole)
{
	json_t *list = json_array();

	for (uint32_t sw = 0; sw < before->plan->topology->num_switches; sw++)
		json_array_append_new(list, describe_switch(before, after, whole, sw));
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
	free(state->loads);
	free(state->table);
	free(state->tables);
	free(state->top);
	free(state->changed);
	free(state->blocks);
}

static bool new_state(struct state *state, const struct pm_plan *plan,
		      struct pm_routes *routes, const struct pm_detours *detours)
{
	const struct pm_fabric *topology = plan->topology;

	*state = (struct state){
		.plan = plan,
		.routes = routes,
		.detours = detours,
		.usable = calloc(topology->num_ports, 1),
		.loads = calloc(topology->num_ports, sizeof(uint32_t)),
		.table = malloc(pm_routes_stride(routes)),
		.tables = calloc(topology->num_switches, sizeof(*state->tables)),
		.top = calloc(topology->num_switches, sizeof(*state->top)),
		.changed = calloc(topology->num_switches, sizeof(uint32_t)),
		.blocks = calloc(topology->num_switches, sizeof(uint32_t)),
	};
	return state->usable && state->loads && state->table && state->tables &&
	       state->top && state->changed && state->blocks;
}

/* Makes the tables for `now`, which is the whole fabric or a part of it. */
static void route_state(struct state *state, const struct pm_fabric *whole,
			const struct pm_fabric *now, uint32_t sw)
{
	pm_plan_match(state->plan, now, state->usable);
	pm_routes_update(state->routes, state->usable, state->detours);
	memcpy(state->table, pm_routes_table(state->routes, sw),
	       pm_routes_stride(state->routes));
	count_loads(state, whole);
}

static void print_port(const struct state *before, const struct state *after, uint32_t i)
{
	const struct pm_fabric *topology = before->plan->topology;
	const struct pm_port *peer = &topology->ports[topology->ports[i].peer];

	cli_print_line("%4u  %-5s %10u %10u  \"%s\"[%u]%s", topology->ports[i].num,
		       direction_name(&before->plan->tree, i), before->loads[i],
		       after->loads[i], pm_fabric_label(topology, peer->node), peer->num,
		       after->usable[i] ? "" : ", failed");
}

static void print_loads(const struct state *before, const struct state *after,
			uint32_t sw, const json_t *multicast)
{
	const struct pm_fabric *topology = before->plan->topology;

	cli_print_line("\"%s\": %u entr%s in %u block%s differ%s after the failure",
		       pm_fabric_label(topology, sw), after->changed[sw],
		       after->changed[sw] == 1 ? "y" : "ies", after->blocks[sw],
		       after->blocks[sw] == 1 ? "" : "s",
		       after->changed[sw] == 1 ? "s" : "");
	puts("port  way       before      after  to");
	pm_for_each_port(i, topology, sw)
		if (pm_fabric_peer_node(topology, i) != PM_NONE)
			print_port(before, after, i);
	if (json_is_object(multicast))
		table_mfts_print(multicast);
}

/* Prints the table; takes over `multicast`. */
static int print_table(const struct state *before, const struct state *after,
		       const struct pm_fabric *whole, const struct request *request,
		       uint32_t sw, json_t *multicast)
{
	const struct pm_plan *plan = before->plan;
	json_t *more = json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "lid_order",
		pm_lid_order_name(plan->order), "switch",
		pm_json_text(pm_fabric_name(plan->topology, sw)), "switch_guid",
		pm_json_guid(plan->topology->nodes[sw].guid), "failed",
		cli_failed_json(&request->failed), "planes", list_planes(plan), "entries",
		list_entries(plan, before->table, after->table), "switches",
		list_switches(before, after, whole), "multicast", multicast);

	return cli_json_print(cli_json_join(cli_json_new("table", VERSION), more));
}

/*
 * Finds the requested switch, which plan->topology has at the same index.
 */
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

static int make_table(const struct pm_fabric *fabric, const struct pm_fabric *broken,
		      const struct pm_plan *plan, uint32_t sm, uint32_t sw,
		      const struct request *request)
{
	struct pm_detours detours = {
		.sm = sm == PM_NONE ? PM_NONE : pm_plan_place(plan, fabric, sm),
		.switches = request->fabric.connect_roots};
	struct state before = {0}, after = {0};
	struct pm_routes *routes = NULL;
	struct pm_error err;
	uint8_t *held = NULL;
	json_t *multicast = NULL;
	size_t stride;
	int status = describe_multicast(fabric, broken, plan, detours.sm, sw,
					&request->groups, &multicast);

	if (!status && pm_routes_make(plan, &routes, &err))
		status = cli_refuse(&err);
	if (status)
		goto out;
	stride = pm_routes_stride(routes);
	held = calloc(plan->topology->num_switches, stride);
	if (!held || !new_state(&before, plan, routes, &detours) ||
	    !new_state(&after, plan, routes, &detours))
		cli_no_memory();
	route_state(&before, fabric, fabric, sw);
	for (uint32_t i = 0; i < plan->topology->num_switches; i++)
		memcpy(held + i * stride, pm_routes_table(routes, i), stride);
	route_state(&after, fabric, broken, sw);
	count_changes(&after, held);
	if (request->output.json)
		status = print_table(&before, &after, fabric, request, sw,
				     json_incref(multicast));
	else if (!request->output.quiet)
		print_loads(&before, &after, sw, multicast);
out:
	free_state(&before);
	free_state(&after);
	free(held);
	json_decref(multicast);
	pm_routes_free(routes);
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
		status = make_table(fabric, broken, plan, sm, sw, request);
	pm_plan_free(plan);
	pm_fabric_free(broken);
	pm_fabric_free(fabric);
	return status;
}

static const struct cli_option options[] = {
	{'S', "switch", "NAME", "the switch (default: the first leaf)",
	 CLI_MEMBER(struct request, table)},
	CLI_FAIL(struct request, failed, "as in portmajor whatif"),
	{'s', "sm", "NAME", "the node with the subnet manager: every switch reaches it",
	 CLI_MEMBER(struct request, sm)},
	CLI_GROUPS(struct request, groups,
		   "show the switch's multicast table, too, for these groups: as in "
		   "portmajor whatif"),
	CLI_OUTPUT(struct request, output, "no text",
		   "print one JSON object: planes, the whole table, all switches"),
	CLI_INCLUDE(struct request, fabric, cli_fabric_options),
	{0},
};

static const struct cli_command command = {
	.synopsis = "table [OPTION]... NETLIST [--fail WHAT[:PORT]]...",
	.about =
		"Prints the flows that each port of a switch carries, every host sending "
		"to every LID of a host, before and after a failure, and what of the table changes.",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
};

int cmd_table(int argc, char **argv)
{
	struct request request = {.failed.list = calloc((size_t)argc, sizeof(char *))};
	int status;

	if (!request.failed.list)
		cli_no_memory();
	status = cli_command_read(&command, argc, argv, &request);
	if (status < 0 && cli_groups_misused(&request.groups))
		status = cli_command_misused(&command,
					     cli_groups_misused(&request.groups));
	if (status < 0)
		status = run_table(argv[optind], &request);
	free(request.failed.list);
	return status;
}
