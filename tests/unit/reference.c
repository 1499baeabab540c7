/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char fault[256];

#define FAULT(...) (snprintf(fault, sizeof(fault), __VA_ARGS__), fault)

/* The switch at the other end of a port's cable, or PM_NONE. */
static uint32_t next_switch(const struct pm_fabric *fabric, uint32_t sw,
			    unsigned int port)
{
	uint32_t peer = fabric->ports[fabric->nodes[sw].first_port + port].peer;

	if (peer == PM_NONE || fabric->nodes[fabric->ports[peer].node].type != PM_SWITCH)
		return PM_NONE;
	return fabric->ports[peer].node;
}

static bool has_host(const struct pm_fabric *fabric, uint32_t sw, unsigned int port)
{
	uint32_t peer = fabric->ports[fabric->nodes[sw].first_port + port].peer;

	return peer != PM_NONE &&
	       fabric->nodes[fabric->ports[peer].node].type != PM_SWITCH;
}

static unsigned int count_hosts(const struct pm_fabric *fabric, uint32_t sw)
{
	unsigned int hosts = 0;

	for (unsigned int p = 1; p <= fabric->nodes[sw].num_ports; p++)
		hosts += has_host(fabric, sw, p);
	return hosts;
}

/* ---- Levels and reachability ---- */

/* End ports of a switch that the plan did not take for service ports. */
static unsigned int count_said(const struct pm_fabric *topology, uint32_t sw)
{
	unsigned int hosts = 0;

	for (unsigned int p = 1; p <= topology->nodes[sw].num_ports; p++) {
		uint8_t host = topology->ports[topology->nodes[sw].first_port + p].host;

		hosts += host != PM_NO_HOST && !pm_host_is_service(host);
	}
	return hosts;
}

/*
 * Whether it has hosts, and no neighbour with so many that it could be a spine with
 * some.
 */
static bool is_leaf(const struct pm_fabric *topology, uint32_t sw)
{
	unsigned int mine = count_said(topology, sw);

	for (unsigned int p = 1; p <= topology->nodes[sw].num_ports; p++) {
		uint32_t other = next_switch(topology, sw, p);

		if (other != PM_NONE && other != sw &&
		    count_said(topology, other) >= 2 * mine)
			return false;
	}
	return mine != 0;
}

/* Marks the switches that are connected with switches that have hosts and a level. */
static void mark_connected(const struct pm_fabric *whole, const uint8_t *level,
			   uint8_t *mark)
{
	bool again = true;

	for (uint32_t sw = 0; sw < whole->num_switches; sw++)
		mark[sw] = count_hosts(whole, sw) != 0 && level[sw] != PM_NO_LEVEL;
	while (again) {
		again = false;
		for (uint32_t sw = 0; sw < whole->num_switches; sw++)
			for (unsigned int p = 1; p <= whole->nodes[sw].num_ports; p++) {
				uint32_t other = next_switch(whole, sw, p);

				if (other == PM_NONE || !mark[other] || mark[sw])
					continue;
				mark[sw] = 1;
				again = true;
			}
	}
}

static bool has_neighbour_level(const struct pm_fabric *whole, const uint8_t *level,
				uint32_t sw)
{
	for (unsigned int p = 1; p <= whole->nodes[sw].num_ports; p++) {
		uint32_t other = next_switch(whole, sw, p);

		if (other != PM_NONE && level[other] != PM_NO_LEVEL &&
		    abs(level[other] - level[sw]) == 1)
			return true;
	}
	return false;
}

static const char *check_level(const struct pm_fabric *whole, const struct pm_plan *plan,
			       const uint8_t *connected, uint32_t sw)
{
	const char *name = pm_fabric_name(whole, sw);
	const uint8_t *level = plan->tree.level;

	if (plan->tree.levels_by == PM_BY_LEAVES && is_leaf(plan->topology, sw) &&
	    level[sw] != 0)
		return FAULT("%s is a leaf, not of level %u", name, level[sw]);
	if (connected[sw] != (level[sw] != PM_NO_LEVEL))
		return FAULT("%s has level %u but is%s joined to leaves", name, level[sw],
			     connected[sw] ? "" : " not");
	if (level[sw] != 0 && level[sw] != PM_NO_LEVEL &&
	    !has_neighbour_level(whole, level, sw))
		return FAULT("%s has level %u and no way up or down", name, level[sw]);
	return NULL;
}

const char *reference_levels(const struct pm_fabric *whole, const struct pm_plan *plan)
{
	uint8_t *connected = malloc(whole->num_switches + 1u);
	const char *text = NULL;

	if (!connected)
		abort();
	mark_connected(whole, plan->tree.level, connected);
	for (uint32_t sw = 0; sw < whole->num_switches && !text; sw++)
		text = check_level(whole, plan, connected, sw);
	free(connected);
	return text;
}

/* All that can be reached from (from, gone down), into visited[switch][2]. */
static void search(const struct reference *reference, uint32_t from, int gone_down,
		   uint8_t *visited, uint32_t *stack)
{
	uint32_t depth = 0;

	memset(visited, 0, 2 * (size_t)reference->num);
	visited[2 * from + (uint32_t)gone_down] = 1;
	stack[depth++] = 2 * from + (uint32_t)gone_down;
	while (depth) {
		uint32_t state = stack[--depth], sw = state / 2;

		for (unsigned int p = 1; p <= reference->now->nodes[sw].num_ports; p++) {
			uint32_t other = next_switch(reference->now, sw, p), next;
			int rise;

			if (other == PM_NONE)
				continue;
			rise = reference->level[other] - reference->level[sw];
			if (abs(rise) != 1 || (rise > 0 && state % 2))
				continue;
			next = 2 * other + (rise < 0);
			if (visited[next])
				continue;
			visited[next] = 1;
			stack[depth++] = next;
		}
	}
}

static void find_reach(struct reference *reference)
{
	uint32_t num = reference->num;
	uint8_t *visited = malloc(2 * (size_t)num + 1);
	uint32_t *stack = calloc(2 * (size_t)num + 1, sizeof(*stack));

	if (!visited || !stack)
		abort();
	for (uint32_t from = 0; from < num; from++) {
		search(reference, from, 1, visited, stack);
		for (uint32_t to = 0; to < num; to++)
			reference->down[from * num + to] = visited[2 * to + 1];
		search(reference, from, 0, visited, stack);
		for (uint32_t to = 0; to < num; to++)
			reference->updown[from * num + to] =
				visited[2 * to] | visited[2 * to + 1];
	}
	free(visited);
	free(stack);
}

void reference_make(struct reference *reference, const struct pm_plan *plan,
		    const struct pm_fabric *now)
{
	size_t num = now->num_switches;

	*reference = (struct reference){
		.now = now,
		.num = now->num_switches,
		.level = malloc(num + 1),
		.down = malloc(num * num + 1),
		.updown = malloc(num * num + 1),
	};
	if (!reference->level || !reference->down || !reference->updown)
		abort();
	for (uint32_t sw = 0; sw < reference->num; sw++)
		reference->level[sw] = plan->tree.level[pm_fabric_find_guid(
			plan->topology, now->nodes[sw].guid)];
	find_reach(reference);
}

void reference_free(struct reference *reference)
{
	free(reference->level);
	free(reference->down);
	free(reference->updown);
}

bool reference_leads(const struct reference *reference, uint32_t from, unsigned int port,
		     uint32_t to)
{
	uint32_t next;

	if (port == 0 || port > reference->now->nodes[from].num_ports)
		return false;
	next = next_switch(reference->now, from, port);
	if (next == PM_NONE || abs(reference->level[next] - reference->level[from]) != 1)
		return false;
	if (reference->level[next] > reference->level[from])
		return reference->updown[next * reference->num + to];
	return reference->down[next * reference->num + to];
}

/* ---- Packets ---- */

/* A packet for one LID, at a port of switch `to`. */
struct packet {
	const struct reference *reference;
	const struct reference_tables *tables;
	uint32_t lid, to; /* `to` is a switch of now */
	unsigned int port;
};

static uint8_t entry_at(const struct packet *packet, uint32_t sw)
{
	const struct reference_tables *tables = packet->tables;
	uint32_t node = pm_fabric_find_guid(tables->plan->topology,
					    packet->reference->now->nodes[sw].guid);

	return tables->entries[(size_t)node * tables->stride + packet->lid];
}

static const char *name_of(const struct packet *packet, uint32_t sw)
{
	return pm_fabric_name(packet->reference->now, sw);
}

static const char *follow(const struct packet *packet, uint32_t from)
{
	const struct reference *reference = packet->reference;
	bool down = false;
	uint32_t sw = from;

	for (uint32_t hops = 0; hops <= reference->num; hops++) {
		uint8_t out = entry_at(packet, sw);
		uint32_t next;

		if (sw == packet->to)
			return out == packet->port
				       ? NULL
				       : FAULT("LID %u: %s has %u, its place is port %u",
					       packet->lid, name_of(packet, sw), out,
					       packet->port);
		if (out == 0 || out > reference->now->nodes[sw].num_ports)
			return FAULT("LID %u from %s dropped at %s (%u)", packet->lid,
				     name_of(packet, from), name_of(packet, sw), out);
		next = next_switch(reference->now, sw, out);
		if (next == PM_NONE)
			return FAULT("LID %u from %s falls out of %s port %u",
				     packet->lid, name_of(packet, from),
				     name_of(packet, sw), out);
		if (abs(reference->level[next] - reference->level[sw]) != 1)
			return FAULT("LID %u from %s goes sideways at %s", packet->lid,
				     name_of(packet, from), name_of(packet, sw));
		if (reference->level[next] > reference->level[sw] && down)
			return FAULT("LID %u from %s turns up at %s", packet->lid,
				     name_of(packet, from), name_of(packet, sw));
		down |= reference->level[next] < reference->level[sw];
		sw = next;
	}
	return FAULT("LID %u from %s loops", packet->lid, name_of(packet, from));
}

/* Marks the switches that cables join with one, over any path. */
static void find_connected(const struct reference *reference, uint32_t to,
			   uint8_t *connected)
{
	bool again = true;

	memset(connected, 0, reference->num);
	connected[to] = 1;
	while (again) {
		again = false;
		for (uint32_t sw = 0; sw < reference->num; sw++)
			for (unsigned int p = 1;
			     connected[sw] && p <= reference->now->nodes[sw].num_ports;
			     p++) {
				uint32_t next = next_switch(reference->now, sw, p);

				if (next == PM_NONE || connected[next])
					continue;
				connected[next] = 1;
				again = true;
			}
	}
}

static bool has_upper_slots(const struct pm_plan *plan)
{
	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		if (plan->topology->ports[i].host &&
		    plan->tree.level[plan->topology->ports[i].node] >
			    plan->tree.leaf_level)
			return true;
	return false;
}

static bool has_detours(const struct reference_tables *tables, uint32_t place)
{
	return tables->detours && (place == tables->detours->sm ||
				   (tables->detours->switches &&
				    tables->plan->topology->ports[place].num == 0));
}

/* Whether a packet gets there, over any path. */
static const char *arrives(const struct packet *packet, uint32_t from)
{
	uint32_t sw = from;

	for (uint32_t hops = 0; hops <= packet->reference->num && sw != PM_NONE; hops++) {
		uint8_t out = entry_at(packet, sw);

		if (sw == packet->to)
			return out == packet->port
				       ? NULL
				       : FAULT("LID %u: ends at %s port %u", packet->lid,
					       name_of(packet, sw), out);
		if (out == 0 || out > packet->reference->now->nodes[sw].num_ports)
			break;
		sw = next_switch(packet->reference->now, sw, out);
	}
	return FAULT("LID %u: no detour from %s", packet->lid, name_of(packet, from));
}

/* The switch at which a packet that arrives goes up after it went down, or PM_NONE. */
static uint32_t find_turn(const struct packet *packet, uint32_t from)
{
	const struct reference *reference = packet->reference;
	uint32_t sw = from;
	bool down = false;

	while (sw != packet->to) {
		uint32_t next = next_switch(reference->now, sw, entry_at(packet, sw));

		if (reference->level[next] > reference->level[sw] && down)
			return sw;
		down |= reference->level[next] < reference->level[sw];
		sw = next;
	}
	return PM_NONE;
}

/* It answers all end ports, and with detours between switches also service ports. */
static bool has_manager(const struct reference_tables *tables)
{
	return tables->detours &&
	       (tables->detours->sm != PM_NONE || tables->detours->switches);
}

static bool leads_to_aggregation(const struct packet *packet)
{
	const struct pm_plan *plan = packet->tables->plan;

	return plan->topology->ports[plan->owner[packet->lid]].host == PM_AGGREGATION;
}

/*
 * Entries for LIDs without a path are PM_LFT_KEEP. Some lead to a slot all the same, to
 * aggregation nodes only where end ports are above the leaves: all of these turn up at
 * one switch, the hub, or above it; or anywhere with detours for switches.
 */
static const char *check_kept(const struct packet *packet, uint32_t from, uint8_t *hubs)
{
	uint32_t turn, num = packet->reference->num;
	const char *text;
	bool any = false;

	if (entry_at(packet, from) == PM_LFT_KEEP)
		return NULL;
	if (!packet->port ||
	    (leads_to_aggregation(packet) && !has_upper_slots(packet->tables->plan) &&
	     !has_manager(packet->tables)))
		return FAULT("LID %u at %s is %u, but there is no path", packet->lid,
			     name_of(packet, from), entry_at(packet, from));
	text = arrives(packet, from);
	if (text || (packet->tables->detours && packet->tables->detours->switches))
		return text;
	turn = find_turn(packet, from);
	if (turn == PM_NONE)
		return FAULT("LID %u at %s: arrives without a turn", packet->lid,
			     name_of(packet, from));
	for (uint32_t sw = 0; sw < num; sw++) {
		hubs[sw] &= packet->reference->down[turn * num + sw];
		any |= hubs[sw];
	}
	if (!any)
		return FAULT("LID %u from %s turns up at %s, others elsewhere",
			     packet->lid, name_of(packet, from), name_of(packet, turn));
	return NULL;
}

const char *reference_walk(const struct reference *reference,
			   const struct reference_tables *tables, bool exact)
{
	const struct pm_plan *plan = tables->plan;
	uint8_t connected[PM_MAX_NODES], hubs[PM_MAX_NODES]; /* may be the hub */
	bool detours;

	memset(hubs, 1, sizeof(hubs));
	for (uint32_t lid = 0; lid < tables->stride; lid++) {
		struct packet packet = {reference, tables, lid, PM_NONE, 0};
		uint32_t place = lid <= plan->top_lid ? plan->owner[lid] : PM_NONE;

		if (place != PM_NONE) {
			uint32_t sw = plan->topology->ports[place].node;

			packet.port = plan->topology->ports[place].num;
			packet.to = pm_fabric_find_guid(reference->now,
							plan->topology->nodes[sw].guid);
		}
		detours = packet.to != PM_NONE && has_detours(tables, place);
		if (detours)
			find_connected(reference, packet.to, connected);
		for (uint32_t from = 0; from < reference->num; from++) {
			const char *text = NULL;

			if (packet.to != PM_NONE &&
			    reference->updown[from * reference->num + packet.to])
				text = follow(&packet, from);
			else if (detours && connected[from])
				text = arrives(&packet, from);
			else if (exact)
				text = check_kept(&packet, from, hubs);
			if (text)
				return text;
		}
	}
	return NULL;
}

uint64_t reference_count_pairs(const struct reference *reference,
			       const struct pm_plan *plan, bool from_all)
{
	const struct pm_fabric *now = reference->now;
	uint64_t pairs = 0;

	for (uint32_t port = 0; port < now->num_ports; port++) {
		uint32_t to = now->ports[port].node;

		if (to >= now->num_switches)
			to = pm_fabric_peer_node(now, port);
		if (to == PM_NONE || pm_plan_place(plan, now, port) == PM_NONE ||
		    (now->ports[port].node < now->num_switches && now->ports[port].num))
			continue;
		for (uint32_t from = 0; from < reference->num; from++)
			if ((from_all || count_hosts(now, from)) &&
			    reference->updown[from * reference->num + to])
				pairs += now->ports[port].num ? 1u << plan->lmc : 1;
	}
	return pairs;
}

/* ---- Plans ---- */

/* A slot has 2^LMC LIDs, aligned; a switch has one. */
static uint32_t lids_at(const struct pm_plan *plan, uint32_t place)
{
	return plan->topology->ports[place].num ? 1u << plan->lmc : 1;
}

static const char *check_lids(const struct pm_plan *plan)
{
	uint32_t needed = 0, owned = 0, top = 0;

	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		uint32_t lid = plan->lid[i], num = lids_at(plan, i);

		if (!lid)
			continue;
		needed += num;
		if (lid % num || lid + num - 1 > PM_MAX_LID ||
		    lid + num - 1 > plan->top_lid)
			return FAULT("%u LIDs from %u, top is %u", num, lid,
				     plan->top_lid);
		for (uint32_t k = 0; k < num; k++)
			if (plan->owner[lid + k] != i)
				return FAULT("LID %u of port %u is owned by %u", lid + k,
					     i, plan->owner[lid + k]);
		if (lid + num - 1 > top)
			top = lid + num - 1;
	}
	for (uint32_t lid = 0; lid <= plan->top_lid; lid++)
		owned += plan->owner[lid] != PM_NONE;
	if (owned != needed)
		return FAULT("%u LIDs owned, %u needed", owned, needed);
	/* never a multiple of a block's LIDs, as dump_fts would leave that out */
	top += top && top % PM_LFT_BLOCK == 0;
	return top == plan->top_lid ? NULL
				    : FAULT("top %u is not %u", plan->top_lid, top);
}

/* Whether this empty port is a place because other leaves have hosts there. */
static bool is_empty_slot(const struct pm_plan *plan, uint32_t port)
{
	const struct pm_fabric *topology = plan->topology;
	const struct pm_port *mine = &topology->ports[port];

	if (mine->peer != PM_NONE || plan->tree.level[mine->node] > plan->tree.leaf_level)
		return false;
	for (uint32_t i = 0; i < topology->num_ports; i++) {
		const struct pm_port *other = &topology->ports[i];

		if (other->host && other->num == mine->num &&
		    plan->tree.level[other->node] <= plan->tree.leaf_level &&
		    topology->nodes[other->node].num_ports ==
			    topology->nodes[mine->node].num_ports)
			return true;
	}
	return false;
}

static const char *check_places(const struct pm_plan *plan, bool grown)
{
	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		const struct pm_port *port = &plan->topology->ports[i];
		bool place = port->num == 0 || port->host || is_empty_slot(plan, i);

		if (place && !plan->lid[i])
			return FAULT("%s[%u] has no LID",
				     pm_fabric_name(plan->topology, port->node),
				     port->num);
		if (!place && plan->lid[i] && !grown)
			return FAULT("%s[%u] has LID %u",
				     pm_fabric_name(plan->topology, port->node),
				     port->num, plan->lid[i]);
	}
	return NULL;
}

/* Whether this plane is one of those that lead to the switch. */
static bool plane_leads(const struct pm_plan *plan, uint32_t sw, uint32_t plane)
{
	const struct pm_tree *tree = &plan->tree;
	unsigned int leaves = tree->leaf_level;

	if (tree->level[sw] > leaves)
		return tree->planes[plane].component == tree->component[sw] &&
		       (tree->level[sw] > leaves + 1 ||
			tree->planes[plane].index_in_pod == tree->index_in_pod[sw]);
	for (unsigned int p = 1; p <= plan->topology->nodes[sw].num_ports; p++) {
		uint32_t other = next_switch(plan->topology, sw, p);

		if (tree->plane[plan->topology->nodes[sw].first_port + p] == plane)
			return true;
		/* An edge switch has the planes of the leaves above it. */
		if (tree->level[sw] < leaves && other != PM_NONE &&
		    tree->level[other] == tree->level[sw] + 1 &&
		    plane_leads(plan, other, plane))
			return true;
	}
	return false;
}

static const char *check_planes(const struct pm_plan *plan)
{
	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		uint32_t sw = plan->topology->ports[i].node;

		if (!plan->lid[i] || plan->plane[i] == PM_NONE)
			continue;
		for (uint32_t k = 0; k < lids_at(plan, i); k++) {
			uint32_t plane = pm_plan_plane(plan, i, k);

			if (plane >= plan->tree.num_planes ||
			    !plane_leads(plan, sw, plane))
				return FAULT("plane %u does not lead to %s[%u]", plane,
					     pm_fabric_name(plan->topology, sw),
					     plan->topology->ports[i].num);
		}
	}
	return NULL;
}

/*
 * On every leaf the used slots of a kind are assigned to its planes as evenly as
 * possible.
 */
static const char *check_assignment(const struct pm_plan *plan, uint8_t kind)
{
	for (uint32_t sw = 0; sw < plan->topology->num_switches; sw++) {
		const struct pm_node *n = &plan->topology->nodes[sw];
		uint32_t most = 0, least = PM_NONE;

		if (plan->tree.level[sw] > plan->tree.leaf_level)
			continue;
		for (unsigned int u = 1; u <= n->num_ports; u++) {
			uint32_t plane = plan->tree.plane[n->first_port + u], count = 0;

			if (plane == PM_NONE)
				continue;
			for (unsigned int p = 1; p <= n->num_ports; p++)
				count += plan->topology->ports[n->first_port + p].host ==
						 kind &&
					 plan->plane[n->first_port + p] == plane;
			most = count > most ? count : most;
			least = count < least ? count : least;
		}
		if (least != PM_NONE && most > least + 1)
			return FAULT("%s: %u and %u slots of two planes",
				     pm_fabric_name(plan->topology, sw), least, most);
	}
	return NULL;
}

static bool has_spare(const struct pm_plan *plan, const struct pm_run *run)
{
	for (uint32_t lid = run->start; lid < (uint32_t)run->start + run->length; lid++)
		if (plan->owner[lid] == PM_NONE)
			return true;
	return false;
}

static const char *check_runs(const struct pm_plan *plan, bool grown)
{
	static uint32_t run_of[PM_MAX_LID + 1];
	bool aggregation = false;

	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		aggregation |= plan->topology->ports[i].host == PM_AGGREGATION;
	memset(run_of, 0xff, sizeof(run_of));
	for (uint32_t r = 0; r < plan->num_runs; r++) {
		const struct pm_run *run = &plan->runs[r];
		uint32_t block = run->start / PM_LFT_BLOCK;
		bool whole =
			run->start % PM_LFT_BLOCK == 0 && run->length % PM_LFT_BLOCK == 0;

		/* Whole blocks, or part of one; or without spare LIDs. */
		if (!run->length ||
		    (!whole && (run->start + run->length - 1u) / PM_LFT_BLOCK != block &&
		     has_spare(plan, run)))
			return FAULT("run %u of %u", run->start, run->length);
		for (uint32_t lid = run->start; lid < (uint32_t)run->start + run->length;
		     lid++) {
			if (lid > PM_MAX_LID || run_of[lid] != PM_NONE)
				return FAULT("LID %u is in two runs or none", lid);
			run_of[lid] = r;
		}
	}
	for (uint32_t lid = 0; lid <= plan->top_lid && plan->order == PM_GROUPED; lid++) {
		uint32_t place = plan->owner[lid];
		bool anywhere;

		if (place == PM_NONE)
			continue;
		/*
		 * Aggregation nodes, and beside them or with LMC switches, have the
		 * LIDs that others leave.
		 */
		anywhere = ((plan->lmc || aggregation) &&
			    !plan->topology->ports[place].num) ||
			   plan->topology->ports[place].host == PM_AGGREGATION;
		/* A place without a plane in the old plan may have been given one. */
		if (run_of[lid] == PM_NONE ||
		    (!grown && !anywhere &&
		     plan->runs[run_of[lid]].plane != plan->plane[place]))
			return FAULT("LID %u is not in a run of plane %u", lid,
				     plan->plane[place]);
	}
	return NULL;
}

const char *reference_plan(const struct pm_plan *plan, bool grown)
{
	const char *text = check_lids(plan);

	if (!text)
		text = check_places(plan, grown);
	if (!text && !grown)
		text = check_planes(plan);
	if (!text && !grown && !plan->lmc)
		text = check_assignment(plan, PM_COMPUTE);
	if (!text && !grown && !plan->lmc)
		text = check_assignment(plan, PM_IO);
	if (!text)
		text = check_runs(plan, grown);
	return text;
}
