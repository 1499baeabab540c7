/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gathers the history of each LID.
 *
 * Tables are followed from every switch, as packets would. If more than half of a LID's
 * walks that end at slots end at one slot, that was the LID's slot. The majority outvotes
 * a leaf with an outdated entry, which was unreachable when the LID moved. Otherwise the
 * same is tried with all ports without a link to a switch, which may become slots when
 * hosts come. In most cases an absent switch was there, and the LID is only known to have
 * been in use.
 *
 * The plane of a LID is that of the leaves' up ports that lead to it, if three in four
 * agree. With our tables all agree, unless that plane has failed. With other engines'
 * tables they agree only by chance, in the smallest fabrics.
 */
#include "lid_history_parts.h"

#include <portmajor/base/alloc.h>

#include <errno.h>

#define MAX_HOPS 64

static int compare_claims(const void *a, const void *b)
{
	const struct pm_claim *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return (x->low > y->low) - (x->low < y->low);
}

/* Sorts the claims, and removes the impossible ones. */
static void clean_claims(struct pm_lid_history *history)
{
	uint32_t num = 0;

	qsort(history->claims, history->num_claims, sizeof(*history->claims),
	      compare_claims);
	for (uint32_t i = 0; i < history->num_claims; i++) {
		struct pm_claim claim = history->claims[i];

		if (!claim.guid || !claim.low || claim.high < claim.low ||
		    claim.high > PM_MAX_LID ||
		    (num && history->claims[num - 1].guid == claim.guid))
			continue;
		history->claims[num++] = claim;
	}
	history->num_claims = num;
}

int pm_lid_history_make(const struct pm_claim *claims, uint32_t num,
			struct pm_lid_history **result, struct pm_error *err)
{
	struct pm_lid_history *history = calloc(1, sizeof(*history));

	if (!history)
		return pm_error_no_memory(err);
	history->claims = pm_copy(claims, num, sizeof(*claims));
	history->num_claims = num;
	history->trace = pm_array(PM_MAX_LID + 1u, sizeof(*history->trace));
	if (!history->claims || !history->trace) {
		pm_lid_history_free(history);
		return pm_error_no_memory(err);
	}
	clean_claims(history);
	for (uint32_t i = 0; i < history->num_claims; i++) {
		const struct pm_claim *claim = &history->claims[i];

		for (uint32_t lid = claim->low; lid <= claim->high; lid++)
			if (!history->trace[lid].claimant)
				history->trace[lid].claimant = claim->guid;
	}
	*result = history;
	return 0;
}

void pm_lid_history_free(struct pm_lid_history *history)
{
	if (!history)
		return;
	free(history->claims);
	free(history->trace);
	free(history);
}

static int compare_guid(const void *guid, const void *element)
{
	const uint64_t *x = guid;
	const struct pm_claim *y = element;

	return *x < y->guid ? -1 : *x > y->guid;
}

struct pm_claim *history_claim(const struct pm_lid_history *history, uint64_t guid)
{
	struct pm_claim *found = NULL;

	if (history->num_claims)
		found = bsearch(&guid, history->claims, history->num_claims,
				sizeof(*history->claims), compare_guid);
	return found && found->low ? found : NULL;
}

uint32_t history_find(const struct pm_fabric *topology, const struct mark *mark)
{
	uint32_t sw = mark->guid ? pm_fabric_find_guid(topology, mark->guid) : PM_NONE;

	if (sw == PM_NONE || mark->num > topology->nodes[sw].num_ports)
		return PM_NONE;
	return topology->nodes[sw].first_port + mark->num;
}

/* ---- Settled LIDs ---- */

static void settle_place(struct pm_lid_history *history, const struct pm_plan *plan,
			 uint32_t place, enum settled settled)
{
	for (uint32_t k = 0; k < pm_plan_num_lids(plan, place); k++) {
		struct trace *trace = &history->trace[plan->lid[place] + k];

		if (trace->settled < settled)
			trace->settled = (uint8_t)settled;
	}
}

/* Removes the claim of a port in use: it has this LID, or needs it no more. */
static void drop_claim(struct pm_lid_history *history, uint64_t guid)
{
	struct pm_claim *claim = history_claim(history, guid);

	if (!claim)
		return;
	for (uint32_t lid = claim->low; lid <= claim->high; lid++)
		if (history->trace[lid].claimant == guid)
			history->trace[lid].claimant = 0;
	claim->low = 0;
}

void history_settle(struct pm_lid_history *history, const struct pm_plan *plan,
		    const struct pm_fabric *now, bool all)
{
	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		uint32_t port = plan->lid[i] ? plan_end_port(plan, now, i) : PM_NONE;

		if (port == PM_NONE || (!all && now->ports[port].lid != plan->lid[i]))
			continue;
		settle_place(history, plan, i, SETTLED_USED);
		drop_claim(history, now->ports[port].guid);
	}
}

void history_release(struct pm_lid_history *history, const struct pm_plan *plan)
{
	for (uint32_t lid = 1; lid <= PM_MAX_LID; lid++)
		if (history->trace[lid].settled && plan->owner[lid] == PM_NONE)
			history->trace[lid] = (struct trace){.in_table = 1};
}

void pm_lid_history_trust(struct pm_lid_history *history, const struct pm_plan *plan)
{
	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		if (plan->lid[i] && plan_is_used(plan, i))
			settle_place(history, plan, i, SETTLED_PLANNED);
}

/* ---- Tables ---- */

struct tracing {
	const struct pm_plan *plan;
	const struct pm_installed *installed;
	uint32_t *end;	  /* [switch] port where the walk from it ends, or PM_NONE */
	uint32_t *slot;	  /* [switch] the same if that port is a slot, or PM_NONE */
	uint32_t *leaves; /* [plane] leaves that send to the LID over it */
};

/* The port that a switch's table names for a LID, or PM_NONE. */
static uint32_t entry_port(const struct tracing *t, uint32_t sw, uint32_t lid)
{
	const struct pm_node *n = &t->plan->topology->nodes[sw];
	const struct pm_installed *installed = &t->installed[sw];
	uint8_t num =
		installed->table && lid < installed->length ? installed->table[lid] : 0;

	return num == 0 || num > n->num_ports ? PM_NONE : n->first_port + num;
}

/* The port without a link to a switch at which a packet would end, or PM_NONE. */
static uint32_t follow_entries(const struct tracing *t, uint32_t sw, uint32_t lid)
{
	const struct pm_port *ports = t->plan->topology->ports;

	for (int hops = 0; hops < MAX_HOPS; hops++) {
		uint32_t port = entry_port(t, sw, lid);

		if (port == PM_NONE || ports[port].peer == PM_NONE)
			return port;
		sw = ports[ports[port].peer].node;
	}
	return PM_NONE;
}

/* The end that more than half of the walks with an end have in common, or PM_NONE. */
static uint32_t find_majority(const uint32_t *end, uint32_t num)
{
	uint32_t candidate = PM_NONE, lead = 0, arrived = 0, count = 0;

	for (uint32_t i = 0; i < num; i++) {
		if (end[i] == PM_NONE)
			continue;
		arrived++;
		if (!lead)
			candidate = end[i];
		if (end[i] == candidate)
			lead++;
		else
			lead--;
	}
	for (uint32_t i = 0; i < num; i++)
		count += candidate != PM_NONE && end[i] == candidate;
	return count * 2 > arrived ? candidate : PM_NONE;
}

static struct mark mark_of(const struct pm_fabric *topology, uint32_t port)
{
	const struct pm_port *p = &topology->ports[port];

	return (struct mark){topology->nodes[p->node].guid, p->num};
}

static void find_plane(struct tracing *t, uint32_t lid, struct trace *trace)
{
	const struct pm_tree *tree = &t->plan->tree;
	uint32_t total = 0, most = PM_NONE;

	memset(t->leaves, 0, tree->num_planes * sizeof(*t->leaves));
	for (uint32_t l = 0; l < tree->num_leaves; l++) {
		uint32_t port = entry_port(t, tree->leaves[l], lid);

		if (port == PM_NONE || tree->plane[port] == PM_NONE)
			continue;
		total++;
		t->leaves[tree->plane[port]]++;
		if (most == PM_NONE ||
		    t->leaves[tree->plane[port]] > t->leaves[tree->plane[most]])
			most = port;
	}
	if (most != PM_NONE && t->leaves[tree->plane[most]] * 4 >= total * 3)
		trace->plane = mark_of(t->plan->topology, most);
}

static void trace_lid(struct tracing *t, uint32_t lid, struct trace *trace)
{
	const struct pm_fabric *topology = t->plan->topology;
	uint32_t slot;

	for (uint32_t sw = 0; sw < topology->num_switches; sw++) {
		if (entry_port(t, sw, lid) != PM_NONE)
			trace->in_table = 1;
		t->end[sw] = follow_entries(t, sw, lid);
		t->slot[sw] = PM_NONE;
		if (t->end[sw] != PM_NONE && t->plan->lid[t->end[sw]])
			t->slot[sw] = t->end[sw];
	}
	if (!trace->in_table)
		return;
	slot = find_majority(t->slot, topology->num_switches);
	if (slot == PM_NONE)
		slot = find_majority(t->end, topology->num_switches);
	if (slot != PM_NONE)
		trace->slot = mark_of(topology, slot);
	find_plane(t, lid, trace);
}

int pm_lid_history_add_tables(struct pm_lid_history *history, const struct pm_plan *plan,
			      const struct pm_fabric *now,
			      const struct pm_installed *installed, struct pm_error *err)
{
	uint32_t num = plan->topology->num_switches, length = 0;
	struct pm_pool pool = {0};
	struct tracing t = {
		.plan = plan,
		.installed = installed,
		.end = pm_pool_array(&pool, num, sizeof(*t.end)),
		.slot = pm_pool_array(&pool, num, sizeof(*t.slot)),
		.leaves = pm_pool_array(&pool, plan->tree.num_planes, sizeof(*t.leaves)),
	};
	int rc = pm_pool_check(&pool, err);

	for (uint32_t sw = 0; sw < num; sw++)
		if (installed[sw].table && installed[sw].length > length)
			length = installed[sw].length;
	if (!rc) {
		history_settle(history, plan, now, false);
		for (uint32_t lid = 1; lid < length && lid <= PM_MAX_LID; lid++)
			if (!history->trace[lid].settled)
				trace_lid(&t, lid, &history->trace[lid]);
		history->tables_added = true;
	}
	pm_pool_free(&pool);
	return rc;
}
