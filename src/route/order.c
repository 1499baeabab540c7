/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Orders blocks by the paths between hosts that they restore. A path is restored when the
 * last of its changed entries is sent. Nearly all paths have just one changed entry. So
 * the value of a block is the number of paths over its new entries, whatever the other
 * blocks are; docs/design-bounds.md compares this order with others.
 */
#include "route_parts.h"

#include <portmajor/route/order.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct count {
	const struct pm_routes *routes;
	const uint8_t *usable;
	const uint64_t *used; /* see pm_order_find_used; NULL: count all paths */
	struct pm_pool pool;
	uint32_t *hosts;    /* [switch] 1 + the number of its hosts; 0: not counted yet */
	uint64_t *sound;    /* [block] LIDs with a sound entry in some switch */
	uint64_t *diverted; /* [block] with used[]: LIDs with changed entries in use */
	uint32_t number;    /* of the present block */
	uint64_t *sent;	   /* [switch] of its LIDs, those whose paths come through here */
	uint64_t *pending; /* [switch] of these, those in the queue */
	uint32_t *queue;   /* [switch] a ring */
	uint32_t *visited; /* [switch] with some in sent[] */
	uint32_t queued, num_visited;
};

/* The port of an entry, unless it leads to no other switch: PM_NONE. */
static uint32_t port_of(const struct pm_routes *routes, uint32_t sw, uint32_t to,
			uint8_t num)
{
	const struct pm_node *n = route_node(routes, sw);
	uint32_t port = n->first_port + num;

	return to == PM_NONE || to == sw || !num || num > n->num_ports ||
			       route_remote_switch(routes, port) == PM_NONE
		       ? PM_NONE
		       : port;
}

/* Whether a port leads to a switch, but over no up-then-down path of `reach` to a place.
 */
static bool is_detour(const struct pm_routes *routes, const struct pm_reach *reach,
		      uint32_t port, uint32_t to)
{
	return port != PM_NONE &&
	       !pm_bits_test(route_reach_over(routes, reach, port), to);
}

/* Whether a port leads to a place over an up-then-down path of usable links. */
static bool is_sound(const struct pm_routes *routes, uint32_t port, uint32_t to)
{
	return port != PM_NONE && routes->usable[port] &&
	       !is_detour(routes, &routes->now, port, to);
}

/* Whether an entry that leads up led down, or is unknown. */
static bool turns(const struct pm_routes *routes, uint32_t sw, uint8_t installed,
		  uint8_t wanted)
{
	const struct pm_node *n = route_node(routes, sw);
	const uint8_t *direction = routes->plan->tree.direction + n->first_port;

	return wanted && wanted <= n->num_ports && direction[wanted] == PM_UP &&
	       (!installed ||
		(installed <= n->num_ports && direction[installed] == PM_DOWN));
}

/* The entries of a block that differ; nearly all do not, so eight are compared at once.
 */
static uint64_t find_differences(const uint8_t *a, const uint8_t *b)
{
	uint64_t differ = 0;

	for (unsigned int at = 0; at < PM_LFT_BLOCK; at += 8) {
		if (!memcmp(a + at, b + at, 8))
			continue;
		for (unsigned int i = at; i < at + 8; i++)
			differ |= (uint64_t)(a[i] != b[i]) << i;
	}
	return differ;
}

bool pm_order_compare(const struct pm_routes *routes, uint32_t sw, uint32_t number,
		      const uint8_t *installed, struct pm_order_block *block)
{
	const uint8_t *wanted =
		pm_routes_table(routes, sw) + (size_t)number * PM_LFT_BLOCK;

	*block = (struct pm_order_block){
		.sw = sw, .number = number, .level = routes->plan->tree.level[sw]};
	/* Nearly all blocks are unchanged, and memcmp compares them as vectors. */
	if (memcmp(wanted, installed, PM_LFT_BLOCK) == 0)
		return false;
	for (uint64_t rest = find_differences(wanted, installed); rest;
	     rest &= rest - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(rest);
		uint32_t to = routes->to[number * PM_LFT_BLOCK + i].sw, before, after;
		uint64_t bit = (uint64_t)1 << i;

		if (wanted[i] == PM_LFT_KEEP) {
			block->blank |= installed[i] ? 0 : bit;
			continue;
		}
		block->differ |= bit;
		before = port_of(routes, sw, to, installed[i]);
		after = port_of(routes, sw, to, wanted[i]);
		if (is_detour(routes, &routes->now, after, to) ||
		    is_detour(routes, &routes->whole, before, to))
			block->detour |= bit;
		if (is_sound(routes, before, to))
			block->sound |= bit;
		if (turns(routes, sw, installed[i], wanted[i]))
			block->turn |= bit;
	}
	return block->differ;
}

static uint32_t count_hosts_at(const struct count *count, uint32_t sw)
{
	const struct pm_fabric *skeleton = count->routes->plan->topology;

	if (count->hosts[sw])
		return count->hosts[sw] - 1;
	count->hosts[sw] = 1;
	pm_for_each_port(i, skeleton, sw)
		count->hosts[sw] += count->usable[i] &&
				    skeleton->ports[i].peer == PM_NONE &&
				    skeleton->ports[i].host != PM_AGGREGATION;
	return count->hosts[sw] - 1;
}

/* The LIDs of a block, among these, that a switch sends over a port. */
static uint64_t find_sent(const struct count *count, uint32_t sw, uint8_t port,
			  uint64_t lids)
{
	const uint8_t *row =
		pm_routes_table(count->routes, sw) + (size_t)count->number * PM_LFT_BLOCK;
	uint64_t sent = 0;

	for (; lids; lids &= lids - 1) {
		int bit = __builtin_ctzll(lids);

		sent |= (uint64_t)(row[bit] == port) << bit;
	}
	return sent;
}

/*
 * Of these LIDs of a block, those that hosts may send through the switch: by its paths
 * before, or by a changed entry.
 */
static uint64_t find_in_use(const struct count *count, uint32_t sw, uint32_t number,
			    uint64_t lids)
{
	uint32_t blocks = count->routes->stride / PM_LFT_BLOCK;

	if (!count->used || !lids || count_hosts_at(count, sw))
		return lids;
	return lids &
	       (count->used[(size_t)sw * blocks + number] | count->diverted[number]);
}

/* Puts a switch in the queue with LIDs that it sends on, those that are new. */
static void add_sender(struct count *count, uint32_t sw, uint64_t lids)
{
	lids = find_in_use(count, sw, count->number, lids);
	lids &= ~count->sent[sw]; /* the count ends even if there should be a loop */
	if (!lids)
		return;
	if (!count->sent[sw])
		count->visited[count->num_visited++] = sw;
	count->sent[sw] |= lids;
	if (!count->pending[sw])
		count->queue[count->queued++ % count->routes->num_switches] = sw;
	count->pending[sw] |= lids;
}

/* The number of paths from hosts of a switch to these LIDs, none from a host to itself.
 */
static uint64_t count_from(const struct count *count, uint32_t sw, uint64_t lids)
{
	uint64_t paths = (uint64_t)__builtin_popcountll(lids) * count_hosts_at(count, sw);

	for (; paths && lids; lids &= lids - 1)
		paths -= count->routes
				 ->to[count->number * PM_LFT_BLOCK +
				      (uint32_t)__builtin_ctzll(lids)]
				 .sw == sw;
	return paths;
}

/*
 * Adds the switches that send these LIDs to this one. With used[] until paths of one are
 * found; returns their number.
 */
static uint64_t add_senders(struct count *count, uint32_t sw, uint64_t lids)
{
	const struct pm_plan *plan = count->routes->plan;
	const struct pm_port *ports = plan->topology->ports;
	uint64_t paths = 0;

	if (!plan->tree.level[sw] && !pm_routes_may_turn(count->routes))
		return 0; /* no path comes down to a leaf and goes on */
	pm_for_each_port(port, plan->topology, sw) {
		uint32_t remote = plan->tree.remote[port];
		uint64_t sent;

		if (remote == PM_NONE || !count->usable[port])
			continue;
		sent = find_sent(count, remote, ports[ports[port].peer].num, lids);
		if (count->used && sent)
			paths = count_from(count, remote, sent);
		if (paths)
			break;
		add_sender(count, remote, sent);
	}
	return paths;
}

/*
 * Counts the paths from hosts to these LIDs of a block through this switch; with used[]
 * until there is one. Each switch sends a LID to one other, so none is counted twice.
 */
static uint64_t count_senders(struct count *count, uint32_t sw, uint64_t lids)
{
	uint64_t paths = 0;

	count->queued = count->num_visited = 0;
	add_sender(count, sw, lids);
	for (uint32_t i = 0; i < count->queued && !(count->used && paths); i++) {
		sw = count->queue[i % count->routes->num_switches];
		lids = count->pending[sw];
		count->pending[sw] = 0;
		paths += count_from(count, sw, lids);
		if (!(count->used && paths))
			paths += add_senders(count, sw, lids);
	}
	while (count->num_visited) {
		sw = count->visited[--count->num_visited];
		count->sent[sw] = count->pending[sw] = 0;
	}
	return paths;
}

/* The LIDs of a block that belong to present hosts. */
static uint64_t find_host_lids(const struct count *count, uint64_t lids, uint32_t number)
{
	uint64_t hosts = 0;

	for (; lids; lids &= lids - 1) {
		uint32_t lid = number * PM_LFT_BLOCK + (uint32_t)__builtin_ctzll(lids);
		uint32_t place = count->routes->plan->owner[lid];

		if (count->routes->to[lid].counts && count->usable[place])
			hosts |= lids & -lids;
	}
	return hosts;
}

static void count_paths(struct count *count, struct pm_order_block *block)
{
	uint64_t lids =
		find_host_lids(count, block->differ & ~block->sound, block->number);

	count->number = block->number;
	block->paths = lids ? count_senders(count, block->sw, lids) : 0;
	if (!block->paths)
		block->paths = (uint64_t)__builtin_popcountll(
			lids & count->sound[block->number]);
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

enum state { WAITING, CALLED, ORDERED };

struct sort {
	const struct pm_routes *routes;
	const struct pm_order_block *blocks; /* by paths */
	uint32_t num;
	struct pm_pool pool;
	uint32_t *sorted;		  /* [num] blocks by number and switch */
	uint32_t *before;		  /* blocks that must precede another one: */
	uint32_t *first;		  /* [num + 1] the first of those of each block */
	uint32_t num_before, before_room; /* of before, which is not in the pool */
	uint8_t *state;			  /* [num] enum state */
	uint32_t *stack, *next;		  /* [num] blocks; the next element of before */
	uint32_t *order;		  /* [num] blocks in order */
	uint32_t *order_index;		  /* [num] index of each block in order[] */
	uint32_t ordered;		  /* blocks in order[] */
	struct pm_order_block *result;	  /* [num] */
	uint32_t *queue, *visited, search; /* [switch] room; the search that visited it */
};

static int compare_by_number(const void *a, const void *b, void *context)
{
	const struct pm_order_block *blocks = context;
	const struct pm_order_block *x = &blocks[*(const uint32_t *)a],
				    *y = &blocks[*(const uint32_t *)b];

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

/* The block in which a switch's entry for the LID changes, or may change; or PM_NONE. */
static uint32_t find_block(const struct sort *sort, uint32_t sw, uint32_t lid)
{
	uint32_t number = lid / PM_LFT_BLOCK, low = 0, high = sort->num;
	const struct pm_order_block *b;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		b = &sort->blocks[sort->sorted[mid]];
		if (b->number < number || (b->number == number && b->sw < sw))
			low = mid + 1;
		else
			high = mid;
	}
	if (low == sort->num)
		return PM_NONE;
	b = &sort->blocks[sort->sorted[low]];
	return b->number == number && b->sw == sw &&
			       (b->differ | b->blank) >> lid % PM_LFT_BLOCK & 1
		       ? sort->sorted[low]
		       : PM_NONE;
}

/*
 * Lists the blocks of switches that may still send a LID down to this one: those above it
 * with changed entries. A switch without a path keeps its entry, so switches that send to
 * it count instead.
 */
static int list_senders(struct sort *sort, uint32_t sw, uint32_t lid)
{
	const struct pm_plan *plan = sort->routes->plan;
	uint32_t num = 0;

	sort->search++;
	sort->visited[sw] = sort->search;
	sort->queue[num++] = sw;
	for (uint32_t i = 0; i < num; i++)
		pm_for_each_port(port, plan->topology, sort->queue[i]) {
			uint32_t remote = plan->tree.remote[port], block;

			if (remote == PM_NONE || sort->visited[remote] == sort->search ||
			    (!i && plan->tree.direction[port] != PM_UP))
				continue;
			sort->visited[remote] = sort->search;
			block = find_block(sort, remote, lid);
			if (block == PM_NONE) {
				if (pm_routes_table(sort->routes, remote)[lid] ==
				    PM_LFT_KEEP)
					sort->queue[num++] = remote;
				continue;
			}
			if (pm_grow(&sort->before, &sort->before_room,
				    sort->num_before + 1, sizeof(*sort->before)))
				return -ENOMEM;
			sort->before[sort->num_before++] = block;
		}
	return 0;
}

/* The first block with a changed entry that packets of an entry meet, or PM_NONE. */
static uint32_t find_met(const struct sort *sort, uint32_t sw, uint32_t lid)
{
	const struct pm_routes *routes = sort->routes;
	uint32_t block = PM_NONE;

	for (uint32_t hops = 0; hops < routes->num_switches && block == PM_NONE; hops++) {
		const struct pm_node *n = route_node(routes, sw);
		uint8_t num = route_table(routes, sw)[lid];

		if (!num || num > n->num_ports)
			return PM_NONE;
		sw = route_remote_switch(routes, n->first_port + num);
		if (sw == PM_NONE)
			return PM_NONE;
		block = find_block(sort, sw, lid);
	}
	return block;
}

static int list_met(struct sort *sort, uint32_t sw, uint32_t lid)
{
	uint32_t block = find_met(sort, sw, lid);

	if (block == PM_NONE)
		return 0;
	if (pm_grow(&sort->before, &sort->before_room, sort->num_before + 1,
		    sizeof(*sort->before)))
		return -ENOMEM;
	sort->before[sort->num_before++] = block;
	return 0;
}

static int list_before(struct sort *sort)
{
	int rc = 0;

	for (uint32_t i = 0; i < sort->num; i++) {
		const struct pm_order_block *b = &sort->blocks[i];
		uint32_t lid = b->number * PM_LFT_BLOCK;

		sort->first[i] = sort->num_before;
		for (uint64_t bits = b->turn; bits && !rc; bits &= bits - 1)
			rc = list_senders(sort, b->sw,
					  lid + (uint32_t)__builtin_ctzll(bits));
		for (uint64_t bits = b->detour; bits && !rc; bits &= bits - 1)
			rc = list_met(sort, b->sw, lid + (uint32_t)__builtin_ctzll(bits));
	}
	sort->first[sort->num] = sort->num_before;
	return rc;
}

/* Places a block behind those that must precede it; returns how many could not. */
static uint32_t order_block(struct sort *sort, uint32_t block)
{
	uint32_t depth = 0, forced = 0;

	sort->state[block] = CALLED;
	sort->next[block] = sort->first[block];
	sort->stack[depth++] = block;
	while (depth) {
		uint32_t top = sort->stack[depth - 1], other;

		if (sort->next[top] == sort->first[top + 1]) {
			sort->state[top] = ORDERED;
			sort->order_index[top] = sort->ordered;
			sort->order[sort->ordered++] = top;
			depth--;
			continue;
		}
		other = sort->before[sort->next[top]++];
		forced += sort->state[other] == CALLED;
		if (sort->state[other] != WAITING)
			continue;
		sort->state[other] = CALLED;
		sort->next[other] = sort->first[other];
		sort->stack[depth++] = other;
	}
	return forced;
}

/* Lists the blocks in their new order, and what each waits for, by index there. */
static int list_result(struct sort *sort, struct pm_order_waits *waits)
{
	uint32_t num = 0;

	waits->first = pm_array(sort->num + 1u, sizeof(*waits->first));
	waits->before = pm_array(sort->num_before, sizeof(*waits->before));
	if (!waits->first || !waits->before)
		return -ENOMEM;
	for (uint32_t i = 0; i < sort->num; i++) {
		uint32_t block = sort->order[i];

		sort->result[i] = sort->blocks[block];
		for (uint32_t k = sort->first[block]; k < sort->first[block + 1]; k++)
			waits->before[num++] = sort->order_index[sort->before[k]];
		waits->first[i + 1] = num;
	}
	return 0;
}

/* Places the first `wanted` blocks, and those that these wait for. */
static int order_all(struct sort *sort, uint32_t wanted, struct pm_order_waits *waits)
{
	struct pm_pool *pool = &sort->pool;
	uint32_t num = sort->num, switches = sort->routes->num_switches;

	sort->sorted = pm_pool_array(pool, num, sizeof(uint32_t));
	sort->first = pm_pool_array(pool, num + 1u, sizeof(uint32_t));
	sort->state = pm_pool_array(pool, num, 1);
	sort->stack = pm_pool_array(pool, num, sizeof(uint32_t));
	sort->next = pm_pool_array(pool, num, sizeof(uint32_t));
	sort->order = pm_pool_array(pool, num, sizeof(uint32_t));
	sort->order_index = pm_pool_array(pool, num, sizeof(uint32_t));
	sort->result = pm_pool_array(pool, num, sizeof(*sort->result));
	sort->queue = pm_pool_array(pool, switches, sizeof(uint32_t));
	sort->visited = pm_pool_array(pool, switches, sizeof(uint32_t));
	if (pm_pool_check(pool, NULL))
		return -ENOMEM;
	for (uint32_t i = 0; i < num; i++)
		sort->sorted[i] = i;
	qsort_r(sort->sorted, num, sizeof(*sort->sorted), compare_by_number,
		(void *)sort->blocks);
	if (list_before(sort))
		return -ENOMEM;
	for (uint32_t i = 0; i < wanted; i++)
		if (sort->state[i] == WAITING)
			waits->forced += order_block(sort, i);
	return 0;
}

static void sort_free(struct sort *sort)
{
	pm_pool_free(&sort->pool);
	free(sort->before);
}

/* ---- All of it ---- */

static int count_all_paths(const struct pm_routes *routes, const uint8_t *usable,
			   const uint64_t *used, struct pm_order_block *blocks,
			   uint32_t num)
{
	uint32_t switches = routes->num_switches;
	struct count count = {.routes = routes, .usable = usable, .used = used};
	int rc;

	count.hosts = pm_pool_array(&count.pool, switches, sizeof(uint32_t));
	count.sound = pm_pool_array(&count.pool, routes->stride / PM_LFT_BLOCK,
				    sizeof(uint64_t));
	count.diverted = pm_pool_array(&count.pool, routes->stride / PM_LFT_BLOCK,
				       sizeof(uint64_t));
	count.sent = pm_pool_array(&count.pool, switches, sizeof(uint64_t));
	count.pending = pm_pool_array(&count.pool, switches, sizeof(uint64_t));
	count.queue = pm_pool_array(&count.pool, switches, sizeof(uint32_t));
	count.visited = pm_pool_array(&count.pool, switches, sizeof(uint32_t));
	rc = pm_pool_check(&count.pool, NULL);
	for (uint32_t i = 0; i < num && !rc; i++)
		count.sound[blocks[i].number] |= blocks[i].sound;
	for (uint32_t i = 0; used && i < num && !rc; i++)
		count.diverted[blocks[i].number] |= find_in_use(
			&count, blocks[i].sw, blocks[i].number, blocks[i].differ);
	for (uint32_t i = 0; i < num && !rc; i++)
		count_paths(&count, &blocks[i]);
	pm_pool_free(&count.pool);
	return rc;
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

static bool has_waits(const struct pm_order_block *blocks, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		if (blocks[i].turn | blocks[i].detour)
			return true;
	return false;
}

int pm_order_sort(const struct pm_routes *routes, const uint8_t *usable,
		  struct pm_order_block *blocks, uint32_t num,
		  struct pm_order_waits *waits)
{
	struct sort sort = {.routes = routes, .blocks = blocks, .num = num};
	int rc = count_all_paths(routes, usable, NULL, blocks, num);

	*waits = (struct pm_order_waits){0};
	if (!rc)
		rc = mark_detours(routes, blocks, num);
	if (rc)
		return rc;
	qsort(blocks, num, sizeof(*blocks), compare_paths);
	if (!has_waits(blocks, num))
		return 0;
	rc = order_all(&sort, num, waits);
	if (!rc)
		rc = list_result(&sort, waits);
	if (rc)
		pm_order_free(waits);
	else
		memcpy(blocks, sort.result, num * sizeof(*blocks));
	sort_free(&sort);
	return rc;
}

uint32_t pm_order_restoring(const struct pm_order_block *blocks, uint32_t num)
{
	while (num && !blocks[num - 1].paths)
		num--;
	return num;
}

/* Puts the blocks with paths first; returns their number. */
static uint32_t put_first(struct pm_order_block *blocks, uint32_t num)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < num; i++)
		if (blocks[i].paths) {
			struct pm_order_block block = blocks[i];

			blocks[i] = blocks[first];
			blocks[first++] = block;
		}
	return first;
}

/* Marks the switches on the path of a LID from this one on. */
static void mark_path(const struct pm_routes *routes, uint32_t sw, uint32_t lid,
		      uint64_t *used)
{
	uint32_t blocks = routes->stride / PM_LFT_BLOCK;

	while (sw != PM_NONE) {
		uint64_t *lids = &used[(size_t)sw * blocks + lid / PM_LFT_BLOCK];
		uint8_t num = pm_routes_table(routes, sw)[lid];
		uint64_t bit = (uint64_t)1 << lid % PM_LFT_BLOCK;

		if (*lids & bit)
			return;
		*lids |= bit;
		if (!num || num > route_node(routes, sw)->num_ports)
			return;
		sw = route_remote_switch(routes,
					 route_node(routes, sw)->first_port + num);
	}
}

void pm_order_find_used(const struct pm_routes *routes, uint64_t *used)
{
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		for (uint32_t lid = 0;
		     pm_bits_test(routes->talking, sw) && lid < routes->stride; lid++)
			if (routes->to[lid].counts)
				mark_path(routes, sw, lid, used);
}

int pm_order_count_restoring(const struct pm_routes *routes, const uint8_t *usable,
			     const uint64_t *used, struct pm_order_block *blocks,
			     uint32_t num, uint32_t *restoring)
{
	struct sort sort = {.routes = routes, .blocks = blocks, .num = num};
	struct pm_order_waits waits = {0};
	int rc = count_all_paths(routes, usable, used, blocks, num);

	if (!rc)
		rc = mark_detours(routes, blocks, num);
	if (rc)
		return rc;
	*restoring = put_first(blocks, num);
	if (*restoring == num || !has_waits(blocks, *restoring))
		return 0;
	/* Those that the first ones wait for come before them. */
	rc = order_all(&sort, *restoring, &waits);
	if (!rc)
		*restoring = sort.ordered;
	sort_free(&sort);
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
