/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The order of the blocks of switches that came back. */
#include "returned_switch.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Block numbers; their steps follow each other, so the wire stays busy. */
#define CHUNK 16

/* Entries of a block that differ from those installed. */
struct changes {
	bool down; /* some lead down, */
	bool other;
};

bool returned_leads_down(const struct returned_switches *switches, uint32_t node,
			 uint8_t out)
{
	const struct pm_plan *plan = switches->view->plan;
	const struct pm_node *sw = &plan->topology->nodes[node];

	return out <= sw->num_ports &&
	       plan->tree.direction[sw->first_port + out] != PM_UP;
}

static struct changes find_changes(const struct returned_switches *switches,
				   const struct returned_switch *sw, uint32_t number)
{
	const uint8_t *table = pm_routes_table(switches->view->routes, sw->node);
	struct changes changes = {.other = !sw->installed};
	uint32_t first = number * PM_LFT_BLOCK;

	for (uint32_t lid = first; sw->installed && lid < first + PM_LFT_BLOCK; lid++) {
		bool down = returned_leads_down(switches, sw->node, table[lid]);

		if (table[lid] == sw->installed[lid])
			continue;
		changes.down |= down;
		changes.other |= !down;
	}
	return changes;
}

static int add_block(struct returned_switches *switches,
		     const struct returned_block *block)
{
	if (pm_grow(&switches->blocks, &switches->blocks_room, switches->num_blocks + 1,
		    sizeof(*switches->blocks)))
		return -ENOMEM;
	switches->blocks[switches->num_blocks++] = *block;
	return 0;
}

/* Those that lead down from the lowest level on, then the others from the highest on. */
static int add_blocks(struct returned_switches *switches, uint32_t i, uint32_t number)
{
	const struct returned_switch *sw = &switches->list[i];
	const struct pm_tree *tree = &switches->view->plan->tree;
	uint8_t level = tree->level[sw->node];
	struct changes changes;
	int rc = 0;

	if (!sw->whole || sw->why || sw->silent)
		return 0;
	changes = find_changes(switches, sw, number);
	if (level > tree->top_level) /* no leaf in reach */
		level = tree->top_level;
	if (changes.down)
		rc = add_block(switches, &(struct returned_block){
						 .sw = i,
						 .number = number,
						 .step = level,
						 .down = changes.other,
					 });
	if (!rc && changes.other)
		rc = add_block(switches, &(struct returned_block){
						 .sw = i,
						 .number = number,
						 .step = (uint8_t)(2 * tree->top_level +
								   1u - level),
					 });
	return rc;
}

/* By step, then block by block, of all switches in turn. */
static int compare(const void *a, const void *b)
{
	const struct returned_block *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

/* Orders the blocks from this one on, which wait for none before it. */
static void order_chunk(struct returned_switches *switches, uint32_t first, bool in_use)
{
	struct returned_block *blocks = switches->blocks + first;
	uint32_t num = switches->num_blocks - first;

	for (uint32_t i = 0; i < num && !in_use; i++)
		blocks[i].step = 0;
	if (num)
		qsort(blocks, num, sizeof(*blocks), compare);
	for (uint32_t i = 1; i < num; i++)
		blocks[i].after = blocks[i].step == blocks[i - 1].step
					  ? blocks[i - 1].after
					  : first + i;
}

int returned_order(struct returned_switches *switches)
{
	uint32_t num = pm_routes_stride(switches->view->routes) / PM_LFT_BLOCK, first = 0;
	bool in_use = false; /* packets may pass */
	int rc = 0;

	switches->num_blocks = switches->num_over = 0;
	for (uint32_t i = 0; i < switches->num; i++)
		in_use |= switches->list[i].installed != NULL;
	for (uint32_t number = 0; number < num && !rc; number++) {
		for (uint32_t i = 0; i < switches->num && !rc; i++)
			rc = add_blocks(switches, i, number);
		if ((number + 1) % CHUNK && number + 1 < num)
			continue;
		order_chunk(switches, first, in_use);
		first = switches->num_blocks;
	}
	return rc;
}
