/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the steps from one set of trees to another. They are safe for this reason: during
 * a step, a switch has one of two masks for a group. Take the union of both at each
 * switch. Packets enter at switches with end ports, go on over ports of these unions to
 * switches with a union that is not empty, never straight back, and are dropped
 * elsewhere. If the links between such switches are a forest, no packet comes to a switch
 * twice, whatever each Set has done by then.
 *
 *   any order  union of old and new masks: if it is a forest, there is nothing to order
 *   step 0     old masks and what is left of them: a part of the old tree
 *   step 1     what is left, and new masks: checked; if it is no forest, only what old
 *              and new masks have in common is left, and the union is the new tree
 */
#include "mft_parts.h"

#include <portmajor/base/alloc.h>
#include <portmajor/base/bits.h>
#include <portmajor/base/pool.h>
#include <portmajor/multicast/mft_steps.h>

#include <errno.h>

/* A block and position of a switch, with an old or a new entry. */
struct cell {
	uint32_t sw;
	uint8_t position;
	bool unknown;
	const uint16_t *old, *new; /* [32] */
};

/* The masks that a switch may have while Sets are under way. */
enum phase {
	ANY_ORDER, /* the old or the new one */
	STEP_1,	   /* as before, but the new one where no port is gained */
};

struct work {
	const struct pm_mft_input *input;
	struct pm_pool pool;
	uint64_t *has_ends; /* switches with end ports, a set */
	/* data of the present block: */
	struct cell *cells; /* by switch, then position */
	uint32_t num_cells;
	uint32_t *first; /* [switch + 1] its first cell */
	bool differs;
	uint32_t shrinks, ordered, clear; /* bit i: MLID i of the block */
	uint32_t *parent;		  /* [switch] union-find, for the present group */
};

/* ---- The cells of a block ---- */

static void add_cell(struct work *work, uint32_t sw, uint32_t block, uint8_t position)
{
	const struct pm_mft_input *input = work->input;
	uint32_t old = mft_read_cell(input->installed, sw, block, position);
	uint32_t new = mft_read_cell(input->wanted, sw, block, position);
	struct cell *cell = &work->cells[work->num_cells];

	if (old == ENTRY_NONE && new == ENTRY_NONE)
		return;
	*cell = (struct cell){
		.sw = sw,
		.position = position,
		.unknown = old == ENTRY_UNKNOWN,
		.old = mft_masks(input->installed, old)->mask,
		.new = mft_masks(input->wanted, new)->mask,
	};
	work->num_cells++;
	if (!cell->unknown && !memcmp(cell->old, cell->new, sizeof(struct masks)))
		return;
	work->differs = true;
	for (uint32_t i = 0; i < PM_MFT_BLOCK; i++)
		work->shrinks |= (uint32_t)((cell->old[i] & ~cell->new[i]) != 0) << i;
}

static void list_cells(struct work *work, uint32_t block)
{
	const uint8_t *reachable = work->input->reachable;
	uint32_t num = work->input->topology->num_switches;

	work->num_cells = 0;
	work->differs = false;
	work->shrinks = work->ordered = work->clear = 0;
	for (uint32_t sw = 0; sw < num; sw++) {
		work->first[sw] = work->num_cells;
		if (reachable && !reachable[sw])
			continue;
		for (uint32_t p = 0;
		     p < pm_mfts_num_positions(work->input->installed, sw); p++)
			add_cell(work, sw, block, (uint8_t)p);
	}
	work->first[num] = work->num_cells;
}

/* ---- Whether a group needs an order ---- */

static inline uint16_t mask_of(const struct cell *cell, uint32_t i, enum phase phase)
{
	uint16_t old = cell->old[i], new = cell->new[i];

	return (uint16_t)(phase == ANY_ORDER || new & ~old ? old | new : new);
}

static bool is_relaying(const struct work *work, uint32_t sw, uint32_t i,
			enum phase phase)
{
	for (uint32_t c = work->first[sw]; c < work->first[sw + 1]; c++)
		if (mask_of(&work->cells[c], i, phase))
			return true;
	return false;
}

static bool has_port(const struct work *work, uint32_t sw, uint32_t i, enum phase phase,
		     unsigned int port)
{
	for (uint32_t c = work->first[sw]; c < work->first[sw + 1]; c++)
		if (work->cells[c].position == port / PM_MFT_POSITION)
			return mask_of(&work->cells[c], i, phase) >>
				       port % PM_MFT_POSITION &
			       1;
	return false;
}

static bool is_relay_up(const struct work *work, uint32_t port)
{
	return work->input->topology->ports[port].peer != PM_NONE &&
	       (!work->input->up || work->input->up[port]);
}

/*
 * Walks over the ports to switches in a switch's masks: the next one, or PM_NONE. *at
 * begins at 0.
 */
static uint32_t next_port(const struct work *work, uint32_t sw, uint32_t i,
			  enum phase phase, uint32_t *at)
{
	const struct pm_node *n = &work->input->topology->nodes[sw];
	uint32_t c = work->first[sw];

	for (; *at <= n->num_ports; (*at)++) {
		while (c < work->first[sw + 1] &&
		       work->cells[c].position < *at / PM_MFT_POSITION)
			c++;
		if (c == work->first[sw + 1])
			return PM_NONE;
		if (work->cells[c].position == *at / PM_MFT_POSITION &&
		    mask_of(&work->cells[c], i, phase) >> *at % PM_MFT_POSITION & 1 &&
		    is_relay_up(work, n->first_port + *at))
			return n->first_port + (*at)++;
	}
	return PM_NONE;
}

#define FOR_EACH_LINK(port, work, sw, i, phase)                                          \
	for (uint32_t at_ = 0, port;                                                     \
	     (port = next_port(work, sw, i, phase, &at_)) != PM_NONE;)

static uint32_t find_set(uint32_t *parent, uint32_t sw)
{
	while (parent[sw] != sw)
		sw = parent[sw] = parent[parent[sw]];
	return sw;
}

/*
 * Joins a switch with the relaying switches that its links lead to, in work->parent.
 * False if a link leads to a switch with which it is joined already.
 */
static bool join_relays(struct work *work, uint32_t sw, uint32_t i, enum phase phase)
{
	const struct pm_port *ports = work->input->topology->ports;

	FOR_EACH_LINK(port, work, sw, i, phase) {
		const struct pm_port *peer = &ports[ports[port].peer];
		uint32_t a, b;

		if (!is_relaying(work, peer->node, i, phase))
			continue;
		/* A link in both masks counts at one end. */
		if (port > ports[port].peer &&
		    has_port(work, peer->node, i, phase, peer->num))
			continue;
		a = find_set(work->parent, sw);
		b = find_set(work->parent, peer->node);
		if (a == b)
			return false;
		work->parent[a] = b;
	}
	return true;
}

/* Whether the links over which packets of the block's MLID i go are a forest. */
static bool is_forest(struct work *work, uint32_t i, enum phase phase)
{
	for (uint32_t c = 0; c < work->num_cells; c++)
		work->parent[work->cells[c].sw] = work->cells[c].sw;
	for (uint32_t c = 0; c < work->num_cells; c++) {
		uint32_t sw = work->cells[c].sw;

		if (c == work->first[sw] && !join_relays(work, sw, i, phase))
			return false;
	}
	return true;
}

/*
 * Finds the groups of the block that need an order, and the entries to clear. If a group
 * loses no port, the union is the new tree. If it gains none, the union is the old tree;
 * that is not a tree where switches come back from an earlier one.
 */
static void find_ordered(struct work *work)
{
	for (uint32_t set = work->shrinks; set; set &= set - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(set);

		if (is_forest(work, i, ANY_ORDER))
			continue;
		work->ordered |= 1u << i;
		if (!is_forest(work, i, STEP_1))
			work->clear |= 1u << i;
	}
}

/* ---- Sets ---- */

/* The mask of a cell after step 0, if its group needs an order. */
static uint16_t after_step_0(const struct work *work, const struct cell *cell, uint32_t i)
{
	uint16_t old = cell->old[i], new = cell->new[i];

	if (cell->unknown) /* the switch's mask may lack some of these ports */
		return 0;
	if (work->clear >> i & 1)
		return old & new;
	return new & ~old ? old : new;
}

/* A cell's needs. */
struct need {
	bool any;   /* entries of groups that need no order */
	bool early; /* entries that change in step 0 .. */
	bool late;  /* .. and in step 1 */
};

static struct need find_need(const struct work *work, const struct cell *cell)
{
	struct need need = {.any = cell->unknown};

	for (uint32_t i = 0; i < PM_MFT_BLOCK; i++) {
		uint16_t first;

		if (!(work->ordered >> i & 1)) {
			need.any |= cell->old[i] != cell->new[i];
			continue;
		}
		first = after_step_0(work, cell, i);
		need.early |= first != cell->old[i];
		need.late |= first != cell->new[i];
	}
	return need;
}

static int add_set(const struct work *work, const struct cell *cell, uint32_t block,
		   uint8_t step, struct pm_mft_steps *steps)
{
	struct pm_mft_set *set;

	if (pm_grow(&steps->sets, &steps->room, steps->num + 1, sizeof(*set)))
		return -ENOMEM;
	set = &steps->sets[steps->num++];
	*set = (struct pm_mft_set){cell->sw, (uint16_t)block, cell->position, step, {0}};
	for (uint32_t i = 0; i < PM_MFT_BLOCK; i++)
		set->masks[i] = !step && work->ordered >> i & 1
					? after_step_0(work, cell, i)
					: cell->new[i];
	return 0;
}

/* Whether a cell has a Set in a step. Entries without an order go with its first Set. */
static bool has_set(const struct work *work, const struct cell *cell, uint8_t step)
{
	struct need need = find_need(work, cell);

	return step ? need.late : need.early || (need.any && !need.late);
}

/* Switches without end ports come first, so that packets from leaves go on at once. */
static int add_step(const struct work *work, uint32_t block, uint8_t step,
		    struct pm_mft_steps *steps)
{
	for (int ends = 0; ends < 2; ends++)
		for (uint32_t c = 0; c < work->num_cells; c++) {
			const struct cell *cell = &work->cells[c];

			if (pm_bits_test(work->has_ends, cell->sw) == ends &&
			    has_set(work, cell, step) &&
			    add_set(work, cell, block, step, steps))
				return -ENOMEM;
		}
	return 0;
}

static int add_sets(const struct work *work, uint32_t block, struct pm_mft_steps *steps)
{
	uint32_t first = steps->num;

	for (uint8_t step = 0; step < 2; step++)
		if (add_step(work, block, step, steps))
			return -ENOMEM;
	for (uint32_t c = 0; c < work->num_cells; c++)
		steps->cells += has_set(work, &work->cells[c], 0) ||
				has_set(work, &work->cells[c], 1);
	if (work->ordered && steps->num - first > steps->longest)
		steps->longest = steps->num - first;
	return 0;
}

static int find_block(struct work *work, uint32_t block, struct pm_mft_steps *steps)
{
	list_cells(work, block);
	if (!work->differs)
		return 0;
	find_ordered(work);
	steps->ordered += (uint32_t)__builtin_popcount(work->ordered);
	steps->cleared += (uint32_t)__builtin_popcount(work->clear);
	return add_sets(work, block, steps);
}

static int allocate_work(struct work *work)
{
	const struct pm_fabric *topology = work->input->topology;
	uint32_t num = topology->num_switches, cells = 0;

	for (uint32_t sw = 0; sw < num; sw++)
		cells += pm_mfts_num_positions(work->input->installed, sw);
	work->has_ends = pm_pool_array(&work->pool, pm_bits_words(num), sizeof(uint64_t));
	work->cells = pm_pool_array(&work->pool, cells, sizeof(*work->cells));
	work->first = pm_pool_array(&work->pool, num + 1, sizeof(uint32_t));
	work->parent = pm_pool_array(&work->pool, num, sizeof(uint32_t));
	if (pm_pool_check(&work->pool, NULL))
		return -ENOMEM;
	for (uint32_t i = 0; i < topology->num_ports; i++)
		if (topology->ports[i].host)
			pm_bits_set(work->has_ends, topology->ports[i].node);
	return 0;
}

int pm_mft_steps_find(const struct pm_mft_input *input, struct pm_mft_steps *steps)
{
	struct work work = {.input = input};
	uint32_t blocks = pm_mfts_num_blocks(input->installed);
	int rc = allocate_work(&work);

	steps->num = steps->cells = steps->ordered = steps->cleared = steps->longest = 0;
	if (pm_mfts_num_blocks(input->wanted) > blocks)
		blocks = pm_mfts_num_blocks(input->wanted);
	for (uint32_t b = input->first; !rc && b < input->end && b < blocks; b++)
		rc = find_block(&work, b, steps);
	if (rc)
		steps->num = 0;
	pm_pool_free(&work.pool);
	return rc;
}

void pm_mft_steps_free(struct pm_mft_steps *steps)
{
	free(steps->sets);
	*steps = (struct pm_mft_steps){0};
}
