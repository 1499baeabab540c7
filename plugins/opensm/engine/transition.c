/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes tables for other usable links, without losing a packet. */
#include "transition.h"

#include "ahead.h"
#include "osm/lft_records.h"
#include "clock.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A block to send. */
struct block {
	uint32_t node, number;
};

/* One run of a transition. */
struct move {
	struct transition *transition;
	const struct transition_subject *on;
	const struct pm_plan *plan;
	struct view *view;
	uint8_t *both;	 /* [port] usable before or after */
	uint8_t *unused; /* [switch][stride / 8] set of LIDs without a path before */
	struct block *blocks;
	uint32_t num, room;
	bool interrupted;
};

int transition_begin(struct transition *t, const struct view *view)
{
	uint32_t num_ports = view->plan->topology->num_ports;
	size_t blocks = (size_t)view->plan->topology->num_switches *
			(pm_routes_stride(view->routes) / PM_LFT_BLOCK);

	*t = (struct transition){
		.stage = TRANSITION_UNUSED,
		.from = malloc(num_ports + 1u),
		.moved = calloc(blocks + 1u, 1),
		.start_ms = clock_ms(),
	};
	if (!t->from || !t->moved) {
		transition_end(t);
		return -ENOMEM;
	}
	memcpy(t->from, view->usable, num_ports);
	return 0;
}

void transition_end(struct transition *t)
{
	free(t->from);
	free(t->moved);
	*t = (struct transition){.stage = TRANSITION_NONE};
}

static uint8_t *moved_at(const struct transition *t, const struct view *view, uint32_t sw,
			 uint32_t number)
{
	size_t blocks = pm_routes_stride(view->routes) / PM_LFT_BLOCK;

	return &t->moved[sw * blocks + number];
}

/*
 * Finds the links usable before that are still up; `both` has the links usable after,
 * too.
 */
static void find_links(const struct transition *t, const struct view *view, uint8_t *from,
		       uint8_t *both)
{
	for (uint32_t i = 0; i < view->plan->topology->num_ports; i++) {
		from[i] = t->from[i] && view->discovered[i];
		both[i] = from[i] || view->usable[i];
	}
}

/* ---- While it is interrupted ---- */

/* Copies all tables of the view, [switch][stride]. */
static void copy_tables(struct view *view, uint8_t *tables)
{
	uint32_t stride = pm_routes_stride(view->routes);

	for (uint32_t sw = 0; sw < view->plan->topology->num_switches; sw++)
		memcpy(tables + (size_t)sw * stride, pm_routes_table(view->routes, sw),
		       stride);
}

/* Gives blocks, moved ones or the others, the view's entries where these have a path. */
static void overlay(const struct transition *t, const struct view *view, bool moved,
		    uint8_t *tables)
{
	uint32_t stride = pm_routes_stride(view->routes);

	for (uint32_t sw = 0; sw < view->plan->topology->num_switches; sw++) {
		const uint8_t *table = pm_routes_table(view->routes, sw);
		uint8_t *row = tables + (size_t)sw * stride;

		for (uint32_t lid = 0; lid < stride; lid++)
			if (*moved_at(t, view, sw, lid / PM_LFT_BLOCK) == moved &&
			    table[lid] != PM_LFT_KEEP)
				row[lid] = table[lid];
	}
}

static void put_tables(struct view *view, const uint8_t *tables)
{
	uint32_t blocks = pm_routes_stride(view->routes) / PM_LFT_BLOCK;

	for (uint32_t sw = 0; sw < view->plan->topology->num_switches; sw++)
		for (uint32_t b = 0; b < blocks; b++, tables += PM_LFT_BLOCK)
			pm_routes_put(view->routes, sw, b, tables);
}

/*
 * Mixes tables as the switches hold them. From UNUSED to DETOURS, a switch without a path
 * over the links usable before (or after) has its entry of the tables for `both`. Packets
 * may meet this entry, so it is repaired as well.
 */
static void mix(const struct transition *t, struct view *view, const uint8_t *from,
		const uint8_t *both, uint8_t *tables)
{
	bool narrow = t->stage == TRANSITION_NARROW;

	pm_routes_update(view->routes, both, &view->detours);
	copy_tables(view, tables);
	pm_routes_update(view->routes, narrow ? view->usable : from, NULL);
	overlay(t, view, narrow, tables);
	put_tables(view, tables);
}

int transition_mix(const struct transition *t, struct view *view)
{
	size_t num = view->plan->topology->num_ports + 1u;
	size_t size = (size_t)view->plan->topology->num_switches *
		      pm_routes_stride(view->routes);
	uint8_t *links, *tables;
	int rc = -ENOMEM;

	if (t->stage == TRANSITION_NONE || t->stage == TRANSITION_DETOURS)
		return 0;
	links = malloc(2 * num);
	tables = malloc(size + 1);
	if (links && tables) {
		find_links(t, view, links, links + num);
		if (t->stage == TRANSITION_UNUSED)
			pm_routes_update(view->routes, links, &view->detours);
		else
			mix(t, view, links, links + num, tables);
		rc = 0;
	}
	free(links);
	free(tables);
	return rc;
}

/* ---- Blocks ---- */

/* OpenSM's switch, or NULL, and how many of its blocks are ours. With osm->lock held. */
static const osm_switch_t *find_osm_switch(const struct move *move, uint32_t node,
					   uint32_t *blocks)
{
	const osm_switch_t *sw =
		lft_records_switch(&move->on->sender->osm->subn, move->plan, node);

	*blocks = sw && sw->lft ? lft_records_blocks(move->view->routes, sw) : 0;
	return sw;
}

/* Calls a function for each switch of the plan. With osm->lock held. */
static void for_each_switch(struct move *move,
			    void (*call)(struct move *move, uint32_t node))
{
	osm_opensm_t *osm = move->on->sender->osm;

	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t sw = 0; sw < move->plan->topology->num_switches; sw++)
		call(move, sw);
	CL_PLOCK_RELEASE(&osm->lock);
}

static size_t unused_at(const struct move *move, uint32_t node, uint32_t lid)
{
	return ((size_t)node * pm_routes_stride(move->view->routes) + lid) / 8;
}

static bool is_unused(const struct move *move, uint32_t node, uint32_t lid)
{
	return move->unused[unused_at(move, node, lid)] >> lid % 8 & 1;
}

/*
 * Finds unused entries: no packet comes to a switch without a path to the place. Such an
 * entry may be as old as the switch's last drain, and must be set before any path leads
 * there again.
 */
static void find_unused(struct move *move, const uint8_t *from)
{
	struct view *view = move->view;
	uint32_t stride = pm_routes_stride(view->routes);

	/* Detours are for a switch's own traps. */
	pm_routes_update(view->routes, from, NULL);
	for (uint32_t sw = 0; sw < move->plan->topology->num_switches; sw++) {
		const uint8_t *table = pm_routes_table(view->routes, sw);

		for (uint32_t lid = 0; lid < stride; lid++)
			if (table[lid] == PM_LFT_KEEP)
				move->unused[unused_at(move, sw, lid)] |=
					(uint8_t)(1u << lid % 8);
	}
}

/* Finds the wanted content of a switch's block, which has a block's length. */
static void find_wanted(const struct move *move, const osm_switch_t *sw, uint32_t node,
			uint32_t at, uint8_t *wanted)
{
	const uint8_t *installed = sw->lft + at;
	bool only_unused = move->transition->stage == TRANSITION_UNUSED;

	lft_records_wanted(installed, pm_routes_table(move->view->routes, node) + at,
			   PM_LFT_BLOCK, wanted);
	for (uint32_t i = 0; only_unused && i < PM_LFT_BLOCK; i++)
		if (installed[i] != OSM_NO_PATH && !is_unused(move, node, at + i))
			wanted[i] = installed[i];
}

static void note_moved(struct move *move, uint32_t sw, uint32_t number)
{
	if (move->transition->stage != TRANSITION_UNUSED)
		*moved_at(move->transition, move->view, sw, number) = 1;
}

/* Lists blocks that differ and were not sent; marks the others as moved. */
static int list_switch(struct move *move, uint32_t node)
{
	uint32_t blocks;
	const osm_switch_t *sw = find_osm_switch(move, node, &blocks);

	for (uint32_t b = 0; b < blocks; b++) {
		uint8_t wanted[PM_LFT_BLOCK];

		if (*moved_at(move->transition, move->view, node, b))
			continue;
		find_wanted(move, sw, node, b * PM_LFT_BLOCK, wanted);
		if (!memcmp(wanted, sw->lft + (size_t)b * PM_LFT_BLOCK, PM_LFT_BLOCK)) {
			note_moved(move, node, b);
			continue;
		}
		if (pm_grow(&move->blocks, &move->room, move->num + 1,
			    sizeof(*move->blocks)))
			return -ENOMEM;
		move->blocks[move->num++] = (struct block){node, b};
	}
	return 0;
}

/* Adds a switch's blocks to the transition's total, counted when it begins. */
static void count_switch(struct move *move, uint32_t node)
{
	uint32_t blocks;
	const osm_switch_t *sw = find_osm_switch(move, node, &blocks);

	if (blocks)
		pm_delta_add(&move->transition->done.delta, sw->lft,
			     pm_routes_table(move->view->routes, node),
			     blocks * PM_LFT_BLOCK);
}

static enum smp_make make_block(void *context, uint32_t index, struct smp_request *smp)
{
	struct move *move = context;
	const struct block *block = &move->blocks[index];
	uint8_t wanted[PM_LFT_BLOCK];

	move->interrupted |= move->on->is_interrupted(move->on->context);
	if (move->interrupted || !lft_set_address(move->on->sender, move->plan,
						  block->node, block->number, smp))
		return SMP_OMIT;
	find_wanted(move, smp->sw, block->node, block->number * PM_LFT_BLOCK, wanted);
	lft_set_make(block->number, wanted, smp);
	return SMP_SEND;
}

static bool take_acknowledgement(void *context, const struct smp_answer *answer)
{
	struct move *move = context;
	struct moved *done = &move->transition->done;
	const struct block *block = &move->blocks[answer->index];

	if (answer->outcome == SMP_ANSWERED) {
		done->acked++;
		note_moved(move, block->node, block->number);
	} else {
		done->gave_up = smp_fault(answer->outcome);
	}
	return !done->gave_up && !osm_exit_flag;
}

static void send_blocks(struct move *move)
{
	struct moved *done = &move->transition->done;
	struct smp_count count = {0};

	smp_run(move->on->sender->smps,
		&(struct smp_batch){.num = move->num,
				    .ahead = SMP_AHEAD,
				    .total_ms = SMP_TOTAL_MS,
				    .exclusive = true,
				    .context = move,
				    .make = make_block,
				    .take = take_acknowledgement},
		&count);
	done->sent += count.sent;
	if (count.sent < move->num && !move->interrupted && !done->gave_up)
		done->gave_up = "a switch has no route";
}

static bool goes_on(const struct move *move)
{
	return !move->interrupted && !move->transition->done.gave_up && !osm_exit_flag;
}

/* Sends to the switches of a level, or with PM_NO_LEVEL to those without one. */
static void send_level(struct move *move, uint8_t level)
{
	osm_opensm_t *osm = move->on->sender->osm;
	int rc = 0;

	if (!goes_on(move))
		return;
	move->num = 0;
	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t sw = 0; sw < move->plan->topology->num_switches && !rc; sw++)
		if (move->plan->tree.level[sw] == level)
			rc = list_switch(move, sw);
	CL_PLOCK_RELEASE(&osm->lock);
	if (rc)
		move->transition->done.gave_up = "out of memory";
	else if (move->num)
		send_blocks(move);
}

/* Sends all blocks that differ from the view's tables, level by level. */
static void send_all(struct move *move, bool upward)
{
	uint8_t top = move->plan->tree.top_level;

	for (unsigned int i = 0; i <= top; i++)
		send_level(move, (uint8_t)(upward ? i : top - i));
	send_level(move, PM_NO_LEVEL);
}

/* ---- Stages ---- */

/* Sends the view's LIDs that could loop if sent level by level. */
static void send_steps(struct move *move)
{
	const struct view *view = move->view;
	osm_opensm_t *osm = move->on->sender->osm;
	struct pm_installed *installed =
		calloc(move->plan->topology->num_switches + 1u, sizeof(*installed));
	const struct pm_stale_input input = {view->routes, installed, view->discovered,
					     NULL};
	const struct pm_stale none = {.num = 0};
	struct moved *done = &move->transition->done;
	struct pm_steps steps = {0};
	struct ahead ahead;

	if (!installed) {
		done->gave_up = "out of memory";
		return;
	}
	CL_PLOCK_ACQUIRE(&osm->lock);
	lft_records_installed(&osm->subn, move->plan, false, installed);
	ahead_find(&input, &none, &steps, &ahead);
	CL_PLOCK_RELEASE(&osm->lock);
	ahead_send(&(struct ahead_subject){move->on->sender, view,
					   move->on->is_interrupted, move->on->context},
		   &steps, &ahead);
	done->sent += ahead.sent;
	done->acked += ahead.acked;
	move->interrupted |= ahead.interrupted;
	if (!ahead.interrupted)
		done->gave_up = ahead.gave_up;
	free(installed);
}

/*
 * Makes the view's tables differ from the installed ones only in entries that no packet
 * uses. These may be of any age, so that blocks of two switches could make a LID loop.
 */
static void put_used(struct move *move, uint32_t node)
{
	uint32_t blocks;
	const osm_switch_t *sw = find_osm_switch(move, node, &blocks);

	for (uint32_t b = 0; b < blocks; b++) {
		uint8_t wanted[PM_LFT_BLOCK];

		find_wanted(move, sw, node, b * PM_LFT_BLOCK, wanted);
		pm_routes_put(move->view->routes, node, b, wanted);
	}
}

static void run_stage(struct move *move)
{
	struct view *view = move->view;
	enum transition_stage stage = move->transition->stage;
	bool ends = stage == TRANSITION_NARROW || stage == TRANSITION_DETOURS;

	if (stage == TRANSITION_UNUSED) /* with the final tables, see transition_run */
		for_each_switch(move, count_switch);
	pm_routes_update(view->routes, ends ? view->usable : move->both,
			 stage == TRANSITION_NARROW ? NULL : &view->detours);
	if (stage == TRANSITION_UNUSED)
		for_each_switch(move, put_used);
	/* Detours lead across levels in any direction. */
	if (stage == TRANSITION_UNUSED || stage == TRANSITION_DETOURS)
		send_steps(move);
	send_all(move, stage != TRANSITION_NARROW);
}

static void begin_next(struct move *move)
{
	struct transition *t = move->transition;
	size_t blocks = (size_t)move->plan->topology->num_switches *
			(pm_routes_stride(move->view->routes) / PM_LFT_BLOCK);

	t->stage = t->stage == TRANSITION_DETOURS ? TRANSITION_NONE : t->stage + 1;
	memset(t->moved, 0, blocks);
}

static int make_move_room(struct move *move)
{
	uint32_t num = move->plan->topology->num_ports;
	uint8_t *from = malloc(num + 1u);

	move->both = malloc(num + 1u);
	move->unused =
		calloc(unused_at(move, move->plan->topology->num_switches, 0) + 1u, 1);
	if (!from || !move->both || !move->unused) {
		free(from);
		return -ENOMEM;
	}
	find_links(move->transition, move->view, from, move->both);
	if (move->transition->stage == TRANSITION_UNUSED) {
		find_unused(move, from);
		pm_routes_update(move->view->routes, move->view->usable,
				 &move->view->detours);
	}
	free(from);
	return 0;
}

bool transition_run(struct transition *t, const struct transition_subject *subject)
{
	struct view *view = subject->view;
	struct move move = {
		.transition = t, .on = subject, .plan = view->plan, .view = view};

	if (make_move_room(&move))
		t->done.gave_up = "out of memory";
	while (t->stage != TRANSITION_NONE && goes_on(&move)) {
		run_stage(&move);
		if (goes_on(&move))
			begin_next(&move);
	}
	t->done.interruptions += move.interrupted;
	t->done.milliseconds = clock_ms() - t->start_ms;
	if (!move.interrupted)
		pm_routes_update(view->routes, view->usable, &view->detours);
	free(move.blocks);
	free(move.unused);
	free(move.both);
	return !move.interrupted;
}
