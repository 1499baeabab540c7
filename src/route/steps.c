/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the steps in which blocks are sent.
 *
 * A loop in a mixture of old and new entries has one edge from each of its switches, the
 * old or the new one. So it is a cycle in the graph of all old and new edges; and each
 * cycle of that graph is a loop in some mixture. So LIDs without such a cycle need no
 * order.
 *
 * For other LIDs, a new entry is sent after the changed entries that its packets meet.
 * Then no loop has a new edge, as new entries lead to new ones, and on to the place or to
 * a drop. A loop of old edges alone would have existed before. Setting an entry to drop
 * adds no edge. Where blocks wait for each other, all of them first drop, and then get
 * the wanted entries together: these lead to each other, to entries sent earlier, or to a
 * drop.
 */
#include "route_parts.h"

#include <portmajor/route/steps.h>

#include <errno.h>

/* A block with entries that need an order. */
struct block {
	uint32_t sw, number;
	uint32_t waits;	 /* entries not sent yet that it waits for */
	uint32_t behind; /* entries not sent yet that wait for it */
	bool sent;
};

struct plan {
	const struct pm_stale_input *input;
	const struct pm_stale *stale;
	struct pm_steps *steps;
	struct pm_stale_entry *changed; /* by LID, then switch */
	uint32_t num_changed, changed_room;
	uint64_t *lids; /* LIDs that could loop */
	/* [switch] of the cycle search: 2 x `search`; odd: fully searched */
	uint32_t *visited, *stack;
	uint8_t *followed;    /* [switch] edges followed so far */
	uint32_t search;      /* counts LIDs */
	struct block *blocks; /* by switch and number */
	uint32_t num_blocks, blocks_room;
	/*
	 * block i waits for before[first[i]] .. before[first[i + 1] - 1]; `after` has the
	 * blocks that wait for it, likewise
	 */
	uint32_t *first, *before, *first_after, *after;
	uint32_t num_before, before_room;
	uint32_t *queue; /* [block] */
};

static uint8_t new_entry(const struct plan *p, uint32_t sw, uint32_t lid)
{
	return pm_stale_entry(p->input, p->stale, sw, lid);
}

static bool is_changed(const struct plan *p, uint32_t sw, uint32_t lid)
{
	const struct pm_installed *installed = &p->input->installed[sw];

	return installed->table && lid < installed->length &&
	       installed->table[lid] != new_entry(p, sw, lid);
}

/* ---- Changed entries ---- */

static int note_changes(struct plan *p, uint32_t sw, uint32_t from, uint32_t end)
{
	for (uint32_t lid = from; lid < end; lid++) {
		if (!is_changed(p, sw, lid))
			continue;
		if (pm_grow(&p->changed, &p->changed_room, p->num_changed + 1,
			    sizeof(*p->changed)))
			return -ENOMEM;
		p->changed[p->num_changed++] = (struct pm_stale_entry){sw, (uint16_t)lid};
	}
	return 0;
}

/* Whether a switch can be in a loop: it has a link to another switch. */
static bool is_connected(const struct plan *p, uint32_t sw)
{
	const struct pm_fabric *topology = p->input->routes->plan->topology;

	pm_for_each_port(i, topology, sw)
		if (p->input->up[i] && pm_fabric_peer_node(topology, i) != PM_NONE)
			return true;
	return false;
}

static int note_switch(struct plan *p, uint32_t sw)
{
	const struct pm_routes *routes = p->input->routes;
	const struct pm_installed *installed = &p->input->installed[sw];
	const uint8_t *table = pm_routes_table(routes, sw);
	uint32_t both =
		installed->length < routes->stride ? installed->length : routes->stride;
	int rc = 0;

	if (!installed->table || !is_connected(p, sw))
		return 0;
	if (memcmp(installed->table, table, both) == 0)
		return note_changes(p, sw, both, installed->length);
	for (uint32_t at = 0; at < installed->length && !rc; at += PM_LFT_BLOCK) {
		uint32_t end = at + PM_LFT_BLOCK < installed->length ? at + PM_LFT_BLOCK
								     : installed->length;

		if (end > both ||
		    memcmp(installed->table + at, table + at, end - at) != 0)
			rc = note_changes(p, sw, at, end);
	}
	return rc;
}

static int compare_changed(const void *a, const void *b)
{
	const struct pm_stale_entry *x = a, *y = b;

	if (x->lid != y->lid)
		return x->lid < y->lid ? -1 : 1;
	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

static int note_all(struct plan *p)
{
	for (uint32_t sw = 0; sw < p->input->routes->num_switches; sw++)
		if (note_switch(p, sw))
			return -ENOMEM;
	if (p->num_changed)
		qsort(p->changed, p->num_changed, sizeof(*p->changed), compare_changed);
	return 0;
}

/* ---- LIDs that could loop ---- */

/* The next switch by the old (0) or the new (1) entry, or PM_NONE. */
static uint32_t next_by(const struct plan *p, uint32_t sw, uint32_t lid, uint8_t which)
{
	return pm_stale_next(p->input, sw,
			     which ? new_entry(p, sw, lid)
				   : pm_installed_entry(&p->input->installed[sw], lid));
}

/* Whether a cycle of old and new edges can be reached from a switch. */
static bool has_cycle(struct plan *p, uint32_t start, uint32_t lid)
{
	uint32_t open = 2 * p->search, depth = 0;

	if (p->visited[start] >= open)
		return false;
	p->visited[start] = open;
	p->followed[start] = 0;
	p->stack[depth++] = start;
	while (depth) {
		uint32_t sw = p->stack[depth - 1], next;

		if (p->followed[sw] == 2) {
			p->visited[sw] = open + 1;
			depth--;
			continue;
		}
		next = next_by(p, sw, lid, p->followed[sw]++);
		if (next == PM_NONE || p->visited[next] > open)
			continue;
		if (p->visited[next] == open)
			return true;
		p->visited[next] = open;
		p->followed[next] = 0;
		p->stack[depth++] = next;
	}
	return false;
}

/* Whether a LID with these changed entries could loop. Unknown ones may lead anywhere. */
static bool could_loop(struct plan *p, const struct pm_stale_entry *changed, uint32_t num)
{
	p->search++;
	for (uint32_t i = 0; i < num; i++)
		if (pm_installed_entry(&p->input->installed[changed[i].sw],
				       changed[i].lid) == 0 ||
		    has_cycle(p, changed[i].sw, changed[i].lid))
			return true;
	return false;
}

static void find_lids(struct plan *p)
{
	for (uint32_t i = 0, end; i < p->num_changed; i = end) {
		uint32_t lid = p->changed[i].lid;

		for (end = i; end < p->num_changed && p->changed[end].lid == lid; end++)
			;
		if (!could_loop(p, p->changed + i, end - i))
			continue;
		pm_bits_set(p->lids, lid);
		p->steps->lids++;
	}
}

/* ---- Blocks, and what they wait for ---- */

static int compare_blocks(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	if (x->sw != y->sw)
		return x->sw < y->sw ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int list_blocks(struct plan *p)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < p->num_changed; i++) {
		const struct pm_stale_entry *e = &p->changed[i];

		if (!pm_bits_test(p->lids, e->lid))
			continue;
		if (pm_grow(&p->blocks, &p->blocks_room, num + 1, sizeof(*p->blocks)))
			return -ENOMEM;
		p->blocks[num++] =
			(struct block){.sw = e->sw, .number = e->lid / PM_LFT_BLOCK};
	}
	if (num)
		qsort(p->blocks, num, sizeof(*p->blocks), compare_blocks);
	for (uint32_t i = 0; i < num; i++)
		if (!i || compare_blocks(&p->blocks[i], &p->blocks[p->num_blocks - 1]))
			p->blocks[p->num_blocks++] = p->blocks[i];
	return 0;
}

static uint32_t find_block(const struct plan *p, uint32_t sw, uint32_t lid)
{
	const struct block key = {.sw = sw, .number = lid / PM_LFT_BLOCK};
	const struct block *found =
		bsearch(&key, p->blocks, p->num_blocks, sizeof(key), compare_blocks);

	return (uint32_t)(found - p->blocks);
}

/* The switch of the first changed entry that packets of a new entry meet, or PM_NONE. */
static uint32_t find_next_changed(const struct plan *p, uint32_t sw, uint32_t lid)
{
	for (uint32_t hops = 0; hops < p->input->routes->num_switches; hops++) {
		sw = next_by(p, sw, lid, 1);
		if (sw == PM_NONE || is_changed(p, sw, lid))
			return sw;
	}
	return PM_NONE;
}

/* Appends the blocks that a block waits for to before[]. */
static int list_before(struct plan *p, const struct block *b)
{
	uint32_t from = b->number * PM_LFT_BLOCK;

	for (uint32_t lid = from; lid < from + PM_LFT_BLOCK; lid++) {
		uint32_t sw;

		if (!pm_bits_test(p->lids, lid) || !is_changed(p, b->sw, lid))
			continue;
		sw = find_next_changed(p, b->sw, lid);
		if (sw == PM_NONE)
			continue;
		if (pm_grow(&p->before, &p->before_room, p->num_before + 1,
			    sizeof(*p->before)))
			return -ENOMEM;
		p->before[p->num_before++] = find_block(p, sw, lid);
	}
	return 0;
}

/* Lists the same by the blocks that are waited for. */
static void list_after(struct plan *p)
{
	for (uint32_t i = 0; i < p->num_blocks; i++) {
		p->blocks[i].waits = p->first[i + 1] - p->first[i];
		for (uint32_t k = p->first[i]; k < p->first[i + 1]; k++)
			p->blocks[p->before[k]].behind++;
	}
	for (uint32_t i = 0; i < p->num_blocks; i++)
		p->first_after[i + 1] = p->first_after[i] + p->blocks[i].behind;
	for (uint32_t i = 0; i < p->num_blocks; i++)
		for (uint32_t k = p->first[i]; k < p->first[i + 1]; k++)
			p->after[p->first_after[p->before[k] + 1] -
				 p->blocks[p->before[k]].behind--] = i;
}

static int list_waits(struct plan *p)
{
	p->first = pm_array(p->num_blocks + 1u, sizeof(*p->first));
	p->first_after = pm_array(p->num_blocks + 1u, sizeof(*p->first_after));
	p->queue = pm_array(p->num_blocks, sizeof(*p->queue));
	if (!p->first || !p->first_after || !p->queue)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->num_blocks; i++) {
		if (list_before(p, &p->blocks[i]))
			return -ENOMEM;
		p->first[i + 1] = p->num_before;
	}
	p->after = pm_array(p->num_before, sizeof(*p->after));
	if (!p->after)
		return -ENOMEM;
	list_after(p);
	return 0;
}

/* ---- Steps ---- */

/* Adds a Set, if it changes the block. With `drop`, entries that need an order drop. */
static int add_set(struct plan *p, const struct block *b, bool drop, bool *changes)
{
	struct pm_steps *steps = p->steps;
	struct pm_steps_set *set;

	if (pm_grow(&steps->sets, &steps->room, steps->num + 1, sizeof(*steps->sets)))
		return -ENOMEM;
	set = &steps->sets[steps->num];
	*set = (struct pm_steps_set){
		.sw = b->sw, .number = b->number, .step = steps->steps};
	*changes = false;
	for (uint32_t i = 0; i < PM_LFT_BLOCK; i++) {
		uint32_t lid = b->number * PM_LFT_BLOCK + i;
		bool ordered = pm_bits_test(p->lids, lid) && is_changed(p, b->sw, lid);

		set->entries[i] =
			drop && ordered ? PM_LFT_KEEP : new_entry(p, b->sw, lid);
		*changes |= set->entries[i] !=
			    pm_installed_entry(&p->input->installed[b->sw], lid);
	}
	steps->num += *changes;
	return 0;
}

/* Sends a block with its new entries; it enters no queue any more. */
static int send_block(struct plan *p, uint32_t block)
{
	bool changes;

	p->blocks[block].sent = true;
	return add_set(p, &p->blocks[block], false, &changes);
}

/*
 * Unblocks those that waited for this one; those that wait for no other are queued.
 */
static uint32_t unblock(struct plan *p, uint32_t block, uint32_t num)
{
	for (uint32_t k = p->first_after[block]; k < p->first_after[block + 1]; k++) {
		struct block *b = &p->blocks[p->after[k]];

		if (!--b->waits && !b->sent)
			p->queue[num++] = p->after[k];
	}
	return num;
}

/* Makes a step of the blocks in the queue; afterwards the queue has the unblocked ones.
 */
static int send_queue(struct plan *p, uint32_t *num)
{
	uint32_t end = *num, all = end;

	for (uint32_t i = 0; i < end; i++)
		if (send_block(p, p->queue[i]))
			return -ENOMEM;
	p->steps->steps++;
	/* No block is queued twice, so there is room. */
	for (uint32_t i = 0; i < end; i++)
		all = unblock(p, p->queue[i], all);
	*num = all - end;
	memmove(p->queue, p->queue + end, *num * sizeof(*p->queue));
	return 0;
}

/*
 * The remaining blocks wait for each other, or for such blocks. Puts those that wait for
 * each other into the queue: it removes, again and again, blocks for which no remaining
 * one waits.
 */
static uint32_t find_cyclic(struct plan *p)
{
	uint32_t num = 0, found = 0;

	for (uint32_t i = 0; i < p->num_blocks; i++) {
		struct block *b = &p->blocks[i];

		if (b->sent)
			continue;
		b->behind = 0;
		for (uint32_t k = p->first_after[i]; k < p->first_after[i + 1]; k++)
			b->behind += !p->blocks[p->after[k]].sent;
		if (!b->behind)
			p->queue[num++] = i;
	}
	for (uint32_t i = 0; i < num; i++)
		for (uint32_t k = p->first[p->queue[i]]; k < p->first[p->queue[i] + 1];
		     k++) {
			struct block *b = &p->blocks[p->before[k]];

			if (!b->sent && !--b->behind)
				p->queue[num++] = p->before[k];
		}
	for (uint32_t i = 0; i < p->num_blocks; i++)
		if (!p->blocks[i].sent && p->blocks[i].behind)
			p->queue[found++] = i;
	return found;
}

/* Adds a step in which the queued blocks drop their ordered entries. */
static int drop_queue(struct plan *p, uint32_t num)
{
	uint32_t before = p->steps->num;
	bool changes;

	for (uint32_t i = 0; i < num; i++)
		if (add_set(p, &p->blocks[p->queue[i]], true, &changes))
			return -ENOMEM;
	p->steps->twice += p->steps->num - before;
	p->steps->steps += p->steps->num != before;
	return 0;
}

static int send_all(struct plan *p)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < p->num_blocks; i++)
		if (!p->blocks[i].waits)
			p->queue[num++] = i;
	for (;;) {
		while (num)
			if (send_queue(p, &num))
				return -ENOMEM;
		num = find_cyclic(p);
		if (!num)
			return 0;
		if (drop_queue(p, num))
			return -ENOMEM;
	}
}

static int make_steps(struct plan *p)
{
	uint32_t num = p->input->routes->num_switches;

	p->lids = pm_array((UINT16_MAX + 1) / 64, sizeof(*p->lids));
	p->visited = pm_array(num, sizeof(*p->visited));
	p->stack = pm_array(num, sizeof(*p->stack));
	p->followed = pm_array(num, 1);
	if (!p->lids || !p->visited || !p->stack || !p->followed || note_all(p))
		return -ENOMEM;
	find_lids(p);
	if (!p->steps->lids)
		return 0;
	if (list_blocks(p) || list_waits(p))
		return -ENOMEM;
	return send_all(p);
}

int pm_steps_make(const struct pm_stale_input *input, const struct pm_stale *stale,
		  struct pm_steps *steps)
{
	struct pm_steps found = {0};
	struct plan p = {.input = input, .stale = stale, .steps = &found};
	int rc = make_steps(&p);

	free(p.changed);
	free(p.lids);
	free(p.visited);
	free(p.stack);
	free(p.followed);
	free(p.blocks);
	free(p.first);
	free(p.before);
	free(p.first_after);
	free(p.after);
	free(p.queue);
	if (rc) {
		free(found.sets);
		return rc;
	}
	pm_steps_free(steps);
	*steps = found;
	return 0;
}

void pm_steps_free(struct pm_steps *steps)
{
	free(steps->sets);
	*steps = (struct pm_steps){0};
}
