/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Orders nodes by who has whose planned LID. Strongly connected components, found by
 * Tarjan's algorithm without recursion, come out behind all that they wait for.
 */
#include <portmajor/plan/migration.h>

#include <portmajor/base/pool.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LIDS (PM_MAX_LID + 1u)

/* A port with a LID and a place. */
struct entry {
	uint32_t port, node;
	uint32_t lid, lids;	  /* present ones */
	uint32_t planned, wanted; /* planned ones: the first, and their number */
};

struct frame {
	uint32_t node, entry, lid; /* the next LID to look at, of this entry */
};

struct work {
	struct pm_pool pool;
	const struct pm_plan *plan;
	const struct pm_fabric *fabric;
	struct entry *entries; /* by node */
	uint32_t num_entries;
	uint32_t *first;  /* [node] its first entry; [node + 1] the end */
	uint32_t *holder; /* [LID] node, or PM_NONE */
	uint8_t *reboots; /* [node] a port of it is out of plan */
	/* Tarjan's: */
	uint32_t *index, *low; /* [node] index: 0 before the visit */
	uint8_t *on_stack;
	uint32_t *stack, num_stack;
	struct frame *frames;
	uint32_t num_frames, last_index;
};

/* ---- Ports ---- */

static bool has_place(const struct pm_fabric *fabric, uint32_t port)
{
	const struct pm_port *p = &fabric->ports[port];

	return p->lid &&
	       (p->node < fabric->num_switches ? p->num == 0 : p->peer != PM_NONE);
}

static void add_entry(struct work *work, uint32_t port)
{
	const struct pm_port *p = &work->fabric->ports[port];
	uint32_t place = pm_plan_place(work->plan, work->fabric, port);
	uint32_t lids = p->node < work->fabric->num_switches ? 1 : 1u << p->lmc;

	if (place == PM_NONE || !work->plan->lid[place])
		return;
	work->entries[work->num_entries++] =
		(struct entry){.port = port,
			       .node = p->node,
			       .lid = p->lid,
			       .lids = lids,
			       .planned = work->plan->lid[place],
			       .wanted = pm_plan_num_lids(work->plan, place)};
	for (uint32_t lid = p->lid; lid < p->lid + lids && lid < MAX_LIDS; lid++)
		work->holder[lid] = p->node;
}

static bool is_planned(const struct entry *entry)
{
	return entry->lid == entry->planned && entry->lids == entry->wanted;
}

static void list_entries(struct work *work, struct pm_migration *found)
{
	const struct pm_fabric *fabric = work->fabric;

	memset(work->holder, 0xff, MAX_LIDS * sizeof(*work->holder));
	for (uint32_t node = 0; node < fabric->num_nodes; node++) {
		const struct pm_node *n = &fabric->nodes[node];

		work->first[node] = work->num_entries;
		for (uint32_t p = 0; p <= n->num_ports; p++)
			if (has_place(fabric, n->first_port + p))
				add_entry(work, n->first_port + p);
	}
	work->first[fabric->num_nodes] = work->num_entries;
	for (uint32_t i = 0; i < work->num_entries; i++) {
		if (is_planned(&work->entries[i]))
			continue;
		found->num_ports++;
		work->reboots[work->entries[i].node] = 1;
	}
}

/* ---- The order ---- */

static void visit(struct work *work, uint32_t node)
{
	work->index[node] = work->low[node] = ++work->last_index;
	work->stack[work->num_stack++] = node;
	work->on_stack[node] = 1;
	work->frames[work->num_frames++] = (struct frame){node, work->first[node], 0};
}

/* The next node that the frame's node waits for, or PM_NONE. */
static uint32_t next_awaited(const struct work *work, struct frame *frame)
{
	for (; frame->entry < work->first[frame->node + 1]; frame->entry++) {
		const struct entry *entry = &work->entries[frame->entry];

		while (frame->lid < entry->wanted) {
			uint32_t lid = entry->planned + frame->lid++;
			uint32_t other = lid < MAX_LIDS ? work->holder[lid] : PM_NONE;

			if (other != PM_NONE && other != frame->node)
				return other;
		}
		frame->lid = 0;
	}
	return PM_NONE;
}

/* Takes the component that ends with this node off the stack. */
static void take_group(struct work *work, uint32_t node, struct pm_migration *found)
{
	uint32_t taken, size = 0;

	do {
		taken = work->stack[--work->num_stack];
		work->on_stack[taken] = 0;
		if (!work->reboots[taken])
			continue;
		found->nodes[found->num] = taken;
		found->group[found->num++] = found->num_groups;
		found->switches += taken < work->fabric->num_switches;
		size++;
	} while (taken != node);
	found->num_groups += size > 0;
	found->num_joint += size > 1;
}

static void leave_node(struct work *work, struct pm_migration *found)
{
	uint32_t node = work->frames[--work->num_frames].node;

	if (work->low[node] == work->index[node])
		take_group(work, node, found);
	if (work->num_frames) {
		uint32_t above = work->frames[work->num_frames - 1].node;

		if (work->low[node] < work->low[above])
			work->low[above] = work->low[node];
	}
}

static void order_from(struct work *work, uint32_t node, struct pm_migration *found)
{
	for (visit(work, node); work->num_frames;) {
		struct frame *frame = &work->frames[work->num_frames - 1];
		uint32_t other = next_awaited(work, frame);

		if (other == PM_NONE)
			leave_node(work, found);
		else if (!work->index[other])
			visit(work, other);
		else if (work->on_stack[other] &&
			 work->index[other] < work->low[frame->node])
			work->low[frame->node] = work->index[other];
	}
}

/* ---- One after the other ---- */

static void set_holder(struct work *work, uint32_t lid, uint32_t num, uint32_t node)
{
	for (uint32_t i = lid; i < lid + num && i < MAX_LIDS; i++)
		work->holder[i] = node;
}

static bool is_free(const struct work *work, const struct entry *entry)
{
	for (uint32_t i = 0; i < entry->wanted; i++)
		if (entry->planned + i < MAX_LIDS &&
		    work->holder[entry->planned + i] != PM_NONE)
			return false;
	return true;
}

/* Counts nodes that get a spare LID at their first reboot. Changes holder[]. */
static uint32_t count_twice(struct work *work)
{
	uint32_t count = 0;

	for (uint32_t node = 0; node < work->fabric->num_nodes; node++) {
		bool spare = false;

		if (!work->reboots[node])
			continue;
		for (uint32_t i = work->first[node]; i < work->first[node + 1]; i++)
			set_holder(work, work->entries[i].lid, work->entries[i].lids,
				   PM_NONE);
		for (uint32_t i = work->first[node]; i < work->first[node + 1]; i++) {
			const struct entry *entry = &work->entries[i];

			if (is_free(work, entry))
				set_holder(work, entry->planned, entry->wanted, node);
			else
				spare = true;
		}
		count += spare;
	}
	return count;
}

/* ---- All of it ---- */

static int allocate(struct work *work, struct pm_migration *found, struct pm_error *err)
{
	struct pm_pool *pool = &work->pool;
	uint32_t num = work->fabric->num_nodes;

	work->entries =
		pm_pool_array(pool, work->fabric->num_ports, sizeof(*work->entries));
	work->first = pm_pool_array(pool, num + 1u, sizeof(uint32_t));
	work->holder = pm_pool_array(pool, MAX_LIDS, sizeof(uint32_t));
	work->reboots = pm_pool_array(pool, num, 1);
	work->index = pm_pool_array(pool, num, sizeof(uint32_t));
	work->low = pm_pool_array(pool, num, sizeof(uint32_t));
	work->on_stack = pm_pool_array(pool, num, 1);
	work->stack = pm_pool_array(pool, num, sizeof(uint32_t));
	work->frames = pm_pool_array(pool, num, sizeof(*work->frames));
	found->nodes = calloc(num + 1u, sizeof(*found->nodes));
	found->group = calloc(num + 1u, sizeof(*found->group));
	if (!found->nodes || !found->group)
		return pm_error_no_memory(err);
	return pm_pool_check(pool, err);
}

int pm_migration_find(const struct pm_plan *plan, const struct pm_fabric *fabric,
		      struct pm_migration *migration, struct pm_error *err)
{
	struct work work = {.plan = plan, .fabric = fabric};
	struct pm_migration found = {.num = 0};
	int rc = allocate(&work, &found, err);

	if (!rc) {
		list_entries(&work, &found);
		for (uint32_t node = 0; node < fabric->num_nodes; node++)
			if (work.reboots[node] && !work.index[node])
				order_from(&work, node, &found);
		found.twice = count_twice(&work);
		*migration = found;
	} else {
		pm_migration_free(&found);
	}
	pm_pool_free(&work.pool);
	return rc;
}

void pm_migration_free(struct pm_migration *migration)
{
	free(migration->nodes);
	free(migration->group);
	*migration = (struct pm_migration){.num = 0};
}
