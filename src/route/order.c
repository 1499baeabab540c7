/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Orders blocks by the paths that they bring back. A path is back when the last of its
 * changed entries is sent. Nearly all paths have just one changed entry. So the value of
 * a block is the number of paths over its new entries, whatever the other blocks are;
 * docs/design.md compares this order with others.
 */
#include "route_parts.h"

#include <portmajor/route/order.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct count {
	const struct pm_routes *routes;
	const uint8_t *usable;
	uint32_t *end_ports; /* [switch] its usable end ports */
	uint32_t *queue;     /* [switch] room */
	uint32_t lid;
	uint32_t place; /* owner of the LID */
};

static enum pm_direction direction_of(const struct pm_plan *plan, uint32_t sw,
				      uint8_t port)
{
	const struct pm_node *n = &plan->topology->nodes[sw];

	return port && port <= n->num_ports
		       ? (enum pm_direction)plan->tree.direction[n->first_port + port]
		       : PM_DARK;
}

/* Whether an entry leads to its place over no up-then-down path of `reach`. */
static bool is_detour(const struct pm_routes *routes, const struct pm_reach *reach,
		      uint32_t sw, uint32_t lid, uint8_t num)
{
	const struct pm_node *n = route_node(routes, sw);
	uint32_t to = routes->to[lid].sw, port = n->first_port + num;

	if (to == PM_NONE || to == sw || !num || num > n->num_ports ||
	    route_remote_switch(routes, port) == PM_NONE)
		return false;
	return !pm_bits_test(route_reach_over(routes, reach, port), to);
}

bool pm_order_compare(const struct pm_routes *routes, uint32_t sw, uint32_t number,
		      const uint8_t *held, struct pm_order_block *block)
{
	const uint8_t *wanted =
		pm_routes_table(routes, sw) + (size_t)number * PM_LFT_BLOCK;

	*block = (struct pm_order_block){
		.sw = sw, .number = number, .level = routes->plan->tree.level[sw]};
	/* Nearly all blocks are unchanged, and memcmp compares them as vectors. */
	if (memcmp(wanted, held, PM_LFT_BLOCK) == 0)
		return false;
	for (unsigned int i = 0; i < PM_LFT_BLOCK; i++) {
		uint64_t bit = (uint64_t)1 << i;

		if (wanted[i] == PM_LFT_KEEP)
			block->blank |= held[i] ? 0 : bit;
		if (wanted[i] == PM_LFT_KEEP || wanted[i] == held[i])
			continue;
		block->differ |= bit;
		if (is_detour(routes, &routes->now, sw, number * PM_LFT_BLOCK + i,
			      wanted[i]) ||
		    is_detour(routes, &routes->whole, sw, number * PM_LFT_BLOCK + i,
			      held[i]))
			block->detour |= bit;
		if ((!held[i] || direction_of(routes->plan, sw, held[i]) == PM_DOWN) &&
		    direction_of(routes->plan, sw, wanted[i]) == PM_UP)
			block->turn |= bit;
	}
	return block->differ;
}

static uint32_t count_end_ports(const struct pm_fabric *skeleton, uint32_t sw,
				const uint8_t *usable)
{
	uint32_t count = 0;

	pm_for_each_port(i, skeleton, sw)
		count += usable[i] && skeleton->ports[i].peer == PM_NONE;
	return count;
}

/*
 * Counts the end ports that send to the LID through this switch, without the owner. Each
 * switch sends to one other, so none is counted twice.
 */
static uint32_t count_senders(const struct count *count, uint32_t sw)
{
	const struct pm_plan *plan = count->routes->plan;
	const struct pm_port *ports = plan->topology->ports;
	uint32_t senders = 0, num = 0;

	count->queue[num++] = sw;
	for (uint32_t i = 0; i < num; i++) {
		sw = count->queue[i];
		senders += count->end_ports[sw] - (ports[count->place].node == sw);
		if (!plan->tree.level[sw] && !count->routes->num_upper)
			continue; /* no path comes down to a leaf and goes on */
		pm_for_each_port(port, plan->topology, sw) {
			uint32_t remote = plan->tree.remote[port];

			/* The count ends even if there should be a loop. */
			if (remote != PM_NONE && count->usable[port] &&
			    num < count->routes->num_switches &&
			    pm_routes_table(count->routes, remote)[count->lid] ==
				    ports[ports[port].peer].num)
				count->queue[num++] = remote;
		}
	}
	return senders;
}

static void count_paths(struct count *count, struct pm_order_block *block)
{
	const struct pm_plan *plan = count->routes->plan;

	block->paths = 0;
	for (uint32_t bit = 0; bit < PM_LFT_BLOCK; bit++) {
		count->lid = block->number * PM_LFT_BLOCK + bit;
		if (!(block->differ >> bit & 1))
			continue;
		count->place = plan->owner[count->lid];
		/* Port 0 is the switch's own: no host sends data to it. */
		if (count->place != PM_NONE && count->usable[count->place] &&
		    plan->topology->ports[count->place].num)
			block->paths += count_senders(count, block->sw);
	}
}

/* Blocks that most paths wait for come first; then higher levels. */
static int compare_paths(const void *a, const void *b)
{
	const struct pm_order_block *x = a, *y = b;

	if (x->paths != y->paths)
		return x->paths > y->paths ? -1 : 1;
	if (x->level != y->level)
		return x->level > y->level ? -1 : 1;
	if (x->sw != y->sw)
		return x->sw < y->sw ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* ---- Constraints between blocks ---- */

enum state { WAITING, CALLED, PLACED };

struct places {
	const struct pm_routes *routes;
	const struct pm_order_block *blocks; /* by paths */
	uint32_t num;
	struct pm_pool pool;
	uint32_t *index;		  /* [num] blocks by number and switch */
	uint32_t *before;		  /* blocks that must precede another one: */
	uint32_t *first;		  /* [num + 1] the first of those of each block */
	uint32_t num_before, before_room; /* of before, which is not in the pool */
	uint8_t *state;			  /* [num] enum state */
	uint32_t *stack, *next;		  /* [num] blocks; the next element of before */
	uint32_t *order, *rank;		  /* [num] blocks in order; the place of each */
	struct pm_order_block *result;	  /* [num] */
	uint32_t *queue, *visited, search; /* [switch] room; the search that visited it */
};

static int compare_index(const void *a, const void *b, void *context)
{
	const struct pm_order_block *blocks = context;
	const struct pm_order_block *x = &blocks[*(const uint32_t *)a],
				    *y = &blocks[*(const uint32_t *)b];

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

/* The block in which a switch's entry for the LID changes, or may change; or PM_NONE. */
static uint32_t find_block(const struct places *places, uint32_t sw, uint32_t lid)
{
	uint32_t number = lid / PM_LFT_BLOCK, low = 0, high = places->num;
	const struct pm_order_block *b;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		b = &places->blocks[places->index[mid]];
		if (b->number < number || (b->number == number && b->sw < sw))
			low = mid + 1;
		else
			high = mid;
	}
	if (low == places->num)
		return PM_NONE;
	b = &places->blocks[places->index[low]];
	return b->number == number && b->sw == sw &&
			       (b->differ | b->blank) >> lid % PM_LFT_BLOCK & 1
		       ? places->index[low]
		       : PM_NONE;
}

/*
 * Lists the blocks of switches that may still send a LID down to this one: those above it
 * with changed entries. A switch without a path keeps its entry, so switches that send to
 * it count instead.
 */
static int list_senders(struct places *places, uint32_t sw, uint32_t lid)
{
	const struct pm_plan *plan = places->routes->plan;
	uint32_t num = 0;

	places->search++;
	places->visited[sw] = places->search;
	places->queue[num++] = sw;
	for (uint32_t i = 0; i < num; i++)
		pm_for_each_port(port, plan->topology, places->queue[i]) {
			uint32_t remote = plan->tree.remote[port], block;

			if (remote == PM_NONE ||
			    places->visited[remote] == places->search ||
			    (!i && plan->tree.direction[port] != PM_UP))
				continue;
			places->visited[remote] = places->search;
			block = find_block(places, remote, lid);
			if (block == PM_NONE) {
				if (pm_routes_table(places->routes, remote)[lid] ==
				    PM_LFT_KEEP)
					places->queue[num++] = remote;
				continue;
			}
			if (pm_grow(&places->before, &places->before_room,
				    places->num_before + 1, sizeof(*places->before)))
				return -ENOMEM;
			places->before[places->num_before++] = block;
		}
	return 0;
}

/* The first block with a changed entry that packets of an entry meet, or PM_NONE. */
static uint32_t find_met(const struct places *places, uint32_t sw, uint32_t lid)
{
	const struct pm_routes *routes = places->routes;
	uint32_t block = PM_NONE;

	for (uint32_t hops = 0; hops < routes->num_switches && block == PM_NONE; hops++) {
		const struct pm_node *n = route_node(routes, sw);
		uint8_t num = route_table(routes, sw)[lid];

		if (!num || num > n->num_ports)
			return PM_NONE;
		sw = route_remote_switch(routes, n->first_port + num);
		if (sw == PM_NONE)
			return PM_NONE;
		block = find_block(places, sw, lid);
	}
	return block;
}

static int list_met(struct places *places, uint32_t sw, uint32_t lid)
{
	uint32_t block = find_met(places, sw, lid);

	if (block == PM_NONE)
		return 0;
	if (pm_grow(&places->before, &places->before_room, places->num_before + 1,
		    sizeof(*places->before)))
		return -ENOMEM;
	places->before[places->num_before++] = block;
	return 0;
}

static int list_before(struct places *places)
{
	int rc = 0;

	for (uint32_t i = 0; i < places->num; i++) {
		const struct pm_order_block *b = &places->blocks[i];
		uint32_t lid = b->number * PM_LFT_BLOCK;

		places->first[i] = places->num_before;
		for (uint64_t bits = b->turn; bits && !rc; bits &= bits - 1)
			rc = list_senders(places, b->sw,
					  lid + (uint32_t)__builtin_ctzll(bits));
		for (uint64_t bits = b->detour; bits && !rc; bits &= bits - 1)
			rc = list_met(places, b->sw,
				      lid + (uint32_t)__builtin_ctzll(bits));
	}
	places->first[places->num] = places->num_before;
	return rc;
}

/* Places a block behind those that must precede it; returns how many could not. */
static uint32_t place(struct places *places, uint32_t block, uint32_t *placed)
{
	uint32_t depth = 0, forced = 0;

	places->state[block] = CALLED;
	places->next[block] = places->first[block];
	places->stack[depth++] = block;
	while (depth) {
		uint32_t top = places->stack[depth - 1], other;

		if (places->next[top] == places->first[top + 1]) {
			places->state[top] = PLACED;
			places->rank[top] = *placed;
			places->order[(*placed)++] = top;
			depth--;
			continue;
		}
		other = places->before[places->next[top]++];
		forced += places->state[other] == CALLED;
		if (places->state[other] != WAITING)
			continue;
		places->state[other] = CALLED;
		places->next[other] = places->first[other];
		places->stack[depth++] = other;
	}
	return forced;
}

/* Lists the blocks in their new order, and what each waits for, by the new numbers. */
static int list_result(struct places *places, struct pm_order_waits *waits)
{
	uint32_t num = 0;

	waits->first = pm_array(places->num + 1u, sizeof(*waits->first));
	waits->before = pm_array(places->num_before, sizeof(*waits->before));
	if (!waits->first || !waits->before)
		return -ENOMEM;
	for (uint32_t i = 0; i < places->num; i++) {
		uint32_t block = places->order[i];

		places->result[i] = places->blocks[block];
		for (uint32_t k = places->first[block]; k < places->first[block + 1]; k++)
			waits->before[num++] = places->rank[places->before[k]];
		waits->first[i + 1] = num;
	}
	return 0;
}

static int place_all(struct places *places, struct pm_order_waits *waits)
{
	struct pm_pool *pool = &places->pool;
	uint32_t num = places->num, switches = places->routes->num_switches, placed = 0;

	places->index = pm_pool_array(pool, num, sizeof(uint32_t));
	places->first = pm_pool_array(pool, num + 1u, sizeof(uint32_t));
	places->state = pm_pool_array(pool, num, 1);
	places->stack = pm_pool_array(pool, num, sizeof(uint32_t));
	places->next = pm_pool_array(pool, num, sizeof(uint32_t));
	places->order = pm_pool_array(pool, num, sizeof(uint32_t));
	places->rank = pm_pool_array(pool, num, sizeof(uint32_t));
	places->result = pm_pool_array(pool, num, sizeof(*places->result));
	places->queue = pm_pool_array(pool, switches, sizeof(uint32_t));
	places->visited = pm_pool_array(pool, switches, sizeof(uint32_t));
	if (pm_pool_check(pool, NULL))
		return -ENOMEM;
	for (uint32_t i = 0; i < num; i++)
		places->index[i] = i;
	qsort_r(places->index, num, sizeof(*places->index), compare_index,
		(void *)places->blocks);
	if (list_before(places))
		return -ENOMEM;
	for (uint32_t i = 0; i < num; i++)
		if (places->state[i] == WAITING)
			waits->forced += place(places, i, &placed);
	return list_result(places, waits);
}

/* ---- All of it ---- */

static int count_dependencies(const struct pm_routes *routes, const uint8_t *usable,
			      struct pm_order_block *blocks, uint32_t num)
{
	uint32_t switches = routes->num_switches;
	struct count count = {.routes = routes, .usable = usable};

	count.end_ports = pm_array(2 * (size_t)switches, sizeof(*count.end_ports));
	if (!count.end_ports)
		return -ENOMEM;
	count.queue = count.end_ports + switches;
	for (uint32_t sw = 0; sw < switches; sw++)
		count.end_ports[sw] = count_end_ports(routes->plan->topology, sw, usable);
	for (uint32_t i = 0; i < num; i++)
		count_paths(&count, &blocks[i]);
	free(count.end_ports);
	return 0;
}

/*
 * Detours may lead in any direction. So all entries of a LID with a detour come after the
 * entries that their packets meet: new entries lead to new ones only, as in steps.c.
 */
static int mark_detours(const struct pm_routes *routes, struct pm_order_block *blocks,
			uint32_t num)
{
	uint64_t *lids = pm_array(routes->stride / PM_LFT_BLOCK, sizeof(*lids));

	if (!lids)
		return -ENOMEM;
	for (uint32_t i = 0; i < num; i++)
		lids[blocks[i].number] |= blocks[i].detour;
	for (uint32_t i = 0; i < num; i++)
		blocks[i].detour = blocks[i].differ & lids[blocks[i].number];
	free(lids);
	return 0;
}

int pm_order_sort(const struct pm_routes *routes, const uint8_t *usable,
		  struct pm_order_block *blocks, uint32_t num,
		  struct pm_order_waits *waits)
{
	struct places places = {.routes = routes, .blocks = blocks, .num = num};
	bool turns = false;
	int rc = count_dependencies(routes, usable, blocks, num);

	*waits = (struct pm_order_waits){0};
	if (!rc)
		rc = mark_detours(routes, blocks, num);
	if (rc)
		return rc;
	qsort(blocks, num, sizeof(*blocks), compare_paths);
	for (uint32_t i = 0; i < num; i++)
		turns |= (blocks[i].turn | blocks[i].detour) != 0;
	if (!turns)
		return 0;
	rc = place_all(&places, waits);
	if (rc)
		pm_order_free(waits);
	else
		memcpy(blocks, places.result, num * sizeof(*blocks));
	pm_pool_free(&places.pool);
	free(places.before);
	return rc;
}

bool pm_order_is_behind(const struct pm_order_waits *waits, uint32_t block,
			const uint8_t *missing)
{
	if (!waits->first)
		return false;
	for (uint32_t i = waits->first[block]; i < waits->first[block + 1]; i++)
		if (missing[waits->before[i]])
			return true;
	return false;
}

bool pm_order_is_early(const struct pm_order_waits *waits, uint32_t block,
		       const uint8_t *over)
{
	if (!waits->first)
		return false;
	for (uint32_t i = waits->first[block]; i < waits->first[block + 1]; i++)
		if (waits->before[i] < block && !over[waits->before[i]])
			return true;
	return false;
}

void pm_order_free(struct pm_order_waits *waits)
{
	free(waits->first);
	free(waits->before);
	*waits = (struct pm_order_waits){0};
}
