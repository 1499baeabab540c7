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
struct work {
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
		.at_end = calloc(blocks + 1u, 1),
		.start_ms = clock_ms(),
	};
	if (!t->from || !t->at_end) {
		transition_end(t);
		return -ENOMEM;
	}
	memcpy(t->from, view->usable, num_ports);
	return 0;
}

void transition_end(struct transition *t)
{
	free(t->from);
	free(t->at_end);
	*t = (struct transition){.stage = TRANSITION_NONE};
}

static uint8_t *find_at_end(const struct transition *t, const struct view *view,
			    uint32_t sw, uint32_t number)
{
	size_t blocks = pm_routes_stride(view->routes) / PM_LFT_BLOCK;

	return &t->at_end[sw * blocks + number];
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

/*
 * Gives blocks, those at the stage's end or the others, the view's entries where these
 * have a path.
 */
static void overlay(const struct transition *t, const struct view *view, bool at_end,
		    uint8_t *tables)
{
	uint32_t stride = pm_routes_stride(view->routes);

	for (uint32_t sw = 0; sw < view->plan->topology->num_switches; sw++) {
		const uint8_t *table = pm_routes_table(view->routes, sw);
		uint8_t *row = tables + (size_t)sw * stride;

		for (uint32_t lid = 0; lid < stride; lid++)
			if (*find_at_end(t, view, sw, lid / PM_LFT_BLOCK) == at_end &&
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
static const osm_switch_t *find_osm_switch(const struct work *work, uint32_t node,
					   uint32_t *blocks)
{
	const osm_switch_t *sw =
		lft_records_switch(&work->on->sender->osm->subn, work->plan, node);

	*blocks = sw && sw->lft ? lft_records_blocks(work->view->routes, sw) : 0;
	return sw;
}

/* Calls a function for each switch of the plan. With osm->lock held. */
static void for_each_switch(struct work *work,
			    void (*call)(struct work *work, uint32_t node))
{
	osm_opensm_t *osm = work->on->sender->osm;

	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t sw = 0; sw < work->plan->topology->num_switches; sw++)
		call(work, sw);
	CL_PLOCK_RELEASE(&osm->lock);
}

static size_t unused_at(const struct work *work, uint32_t node, uint32_t lid)
{
	return ((size_t)node * pm_routes_stride(work->view->routes) + lid) / 8;
}

static bool is_unused(const struct work *work, uint32_t node, uint32_t lid)
{
	return work->unused[unused_at(work, node, lid)] >> lid % 8 & 1;
}

/*
 * Finds unused entries: no packet comes to a switch without a path to the place. Such an
 * entry may be as old as the switch's last drain, and must be set before any path leads
 * there again.
 */
static void find_unused(struct work *work, const uint8_t *from)
{
	struct view *view = work->view;
	uint32_t stride = pm_routes_stride(view->routes);

	/* Detours are for a switch's own traps. */
	pm_routes_update(view->routes, from, NULL);
	for (uint32_t sw = 0; sw < work->plan->topology->num_switches; sw++) {
		const uint8_t *table = pm_routes_table(view->routes, sw);

		for (uint32_t lid = 0; lid < stride; lid++)
			if (table[lid] == PM_LFT_KEEP)
				work->unused[unused_at(work, sw, lid)] |=
					(uint8_t)(1u << lid % 8);
	}
}

/* Finds the wanted content of a switch's block, which has a block's length. */
static void find_wanted(const struct work *work, const osm_switch_t *sw, uint32_t node,
			uint32_t at, uint8_t *wanted)
{
	const uint8_t *installed = sw->lft + at;
	bool only_unused = work->transition->stage == TRANSITION_UNUSED;

	lft_records_wanted(installed, pm_routes_table(work->view->routes, node) + at,
			   PM_LFT_BLOCK, wanted);
	for (uint32_t i = 0; only_unused && i < PM_LFT_BLOCK; i++)
		if (installed[i] != OSM_NO_PATH && !is_unused(work, node, at + i))
			wanted[i] = installed[i];
}

static void note_at_end(struct work *work, uint32_t sw, uint32_t number)
{
	if (work->transition->stage != TRANSITION_UNUSED)
		*find_at_end(work->transition, work->view, sw, number) = 1;
}

/* Lists blocks that differ and were not sent; marks the others as at the stage's end. */
static int list_switch(struct work *work, uint32_t node)
{
	uint32_t blocks;
	const osm_switch_t *sw = find_osm_switch(work, node, &blocks);

	for (uint32_t b = 0; b < blocks; b++) {
		uint8_t wanted[PM_LFT_BLOCK];

		if (*find_at_end(work->transition, work->view, node, b))
			continue;
		find_wanted(work, sw, node, b * PM_LFT_BLOCK, wanted);
		if (!memcmp(wanted, sw->lft + (size_t)b * PM_LFT_BLOCK, PM_LFT_BLOCK)) {
			note_at_end(work, node, b);
			continue;
		}
		if (pm_grow(&work->blocks, &work->room, work->num + 1,
			    sizeof(*work->blocks)))
			return -ENOMEM;
		work->blocks[work->num++] = (struct block){node, b};
	}
	return 0;
}

/* Adds a switch's blocks to the transition's total, counted when it begins. */
static void count_switch(struct work *work, uint32_t node)
{
	uint32_t blocks;
	const osm_switch_t *sw = find_osm_switch(work, node, &blocks);

	if (blocks)
		pm_delta_add(&work->transition->done.delta, sw->lft,
			     pm_routes_table(work->view->routes, node),
			     blocks * PM_LFT_BLOCK);
}

static enum smp_make make_block(void *context, uint32_t index, struct smp_request *smp)
{
	struct work *work = context;
	const struct block *block = &work->blocks[index];
	uint8_t wanted[PM_LFT_BLOCK];

	work->interrupted |= work->on->is_interrupted(work->on->context);
	if (work->interrupted || !lft_set_address(work->on->sender, work->plan,
						  block->node, block->number, smp))
		return SMP_OMIT;
	find_wanted(work, smp->sw, block->node, block->number * PM_LFT_BLOCK, wanted);
	lft_set_make(block->number, wanted, smp);
	return SMP_SEND;
}

static bool take_acknowledgement(void *context, const struct smp_answer *answer)
{
	struct work *work = context;
	struct transition_result *done = &work->transition->done;
	const struct block *block = &work->blocks[answer->index];

	if (answer->outcome == SMP_ANSWERED) {
		done->acked++;
		note_at_end(work, block->node, block->number);
	} else {
		done->gave_up = smp_fault(answer->outcome);
	}
	return !done->gave_up && !osm_exit_flag;
}

static void send_blocks(struct work *work)
{
	struct transition_result *done = &work->transition->done;
	struct smp_count count = {0};

	smp_run(work->on->sender->smps,
		&(struct smp_batch){.num = work->num,
				    .ahead = SMP_AHEAD,
				    .total_ms = SMP_TOTAL_MS,
				    .exclusive = true,
				    .context = work,
				    .make = make_block,
				    .take = take_acknowledgement},
		&count);
	done->sent += count.sent;
	if (count.sent < work->num && !work->interrupted && !done->gave_up)
		done->gave_up = "a switch has no route";
}

static bool goes_on(const struct work *work)
{
	return !work->interrupted && !work->transition->done.gave_up && !osm_exit_flag;
}

/* Sends to the switches of a level, or with PM_NO_LEVEL to those without one. */
static void send_level(struct work *work, uint8_t level)
{
	osm_opensm_t *osm = work->on->sender->osm;
	int rc = 0;

	if (!goes_on(work))
		return;
	work->num = 0;
	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t sw = 0; sw < work->plan->topology->num_switches && !rc; sw++)
		if (work->plan->tree.level[sw] == level)
			rc = list_switch(work, sw);
	CL_PLOCK_RELEASE(&osm->lock);
	if (rc)
		work->transition->done.gave_up = "out of memory";
	else if (work->num)
		send_blocks(work);
}

/* Sends all blocks that differ from the view's tables, level by level. */
static void send_all(struct work *work, bool upward)
{
	uint8_t top = work->plan->tree.top_level;

	for (unsigned int i = 0; i <= top; i++)
		send_level(work, (uint8_t)(upward ? i : top - i));
	send_level(work, PM_NO_LEVEL);
}

/* ---- Stages ---- */

/* Sends the view's LIDs that could loop if sent level by level. */
static void send_steps(struct work *work)
{
	const struct view *view = work->view;
	osm_opensm_t *osm = work->on->sender->osm;
	struct pm_installed *installed =
		calloc(work->plan->topology->num_switches + 1u, sizeof(*installed));
	const struct pm_stale_input input = {
		.routes = view->routes, .installed = installed, .up = view->discovered};
	const struct pm_stale none = {.num = 0};
	struct transition_result *done = &work->transition->done;
	struct pm_steps steps = {0};
	struct ahead ahead;

	if (!installed) {
		done->gave_up = "out of memory";
		return;
	}
	CL_PLOCK_ACQUIRE(&osm->lock);
	lft_records_installed(&osm->subn, work->plan, false, installed);
	ahead_find(&input, &none, &steps, &ahead);
	CL_PLOCK_RELEASE(&osm->lock);
	ahead_send(&(struct ahead_subject){work->on->sender, view,
					   work->on->is_interrupted, work->on->context},
		   &steps, &ahead);
	done->sent += ahead.sent;
	done->acked += ahead.acked;
	work->interrupted |= ahead.interrupted;
	if (!ahead.interrupted)
		done->gave_up = ahead.gave_up;
	free(installed);
}

/*
 * Makes the view's tables differ from the installed ones only in entries that no packet
 * uses. These may be of any age, so that blocks of two switches could make a LID loop.
 */
static void put_used(struct work *work, uint32_t node)
{
	uint32_t blocks;
	const osm_switch_t *sw = find_osm_switch(work, node, &blocks);

	for (uint32_t b = 0; b < blocks; b++) {
		uint8_t wanted[PM_LFT_BLOCK];

		find_wanted(work, sw, node, b * PM_LFT_BLOCK, wanted);
		pm_routes_put(work->view->routes, node, b, wanted);
	}
}

static void run_stage(struct work *work)
{
	struct view *view = work->view;
	enum transition_stage stage = work->transition->stage;
	bool ends = stage == TRANSITION_NARROW || stage == TRANSITION_DETOURS;

	if (stage == TRANSITION_UNUSED) /* with the final tables, see transition_run */
		for_each_switch(work, count_switch);
	pm_routes_update(view->routes, ends ? view->usable : work->both,
			 stage == TRANSITION_NARROW ? NULL : &view->detours);
	if (stage == TRANSITION_UNUSED)
		for_each_switch(work, put_used);
	/* Detours lead across levels in any direction. */
	if (stage == TRANSITION_UNUSED || stage == TRANSITION_DETOURS)
		send_steps(work);
	send_all(work, stage != TRANSITION_NARROW);
}

static void begin_next(struct work *work)
{
	struct transition *t = work->transition;
	size_t blocks = (size_t)work->plan->topology->num_switches *
			(pm_routes_stride(work->view->routes) / PM_LFT_BLOCK);

	t->stage = t->stage == TRANSITION_DETOURS ? TRANSITION_NONE : t->stage + 1;
	memset(t->at_end, 0, blocks);
}

static int make_room(struct work *work)
{
	uint32_t num = work->plan->topology->num_ports;
	uint8_t *from = malloc(num + 1u);

	work->both = malloc(num + 1u);
	work->unused =
		calloc(unused_at(work, work->plan->topology->num_switches, 0) + 1u, 1);
	if (!from || !work->both || !work->unused) {
		free(from);
		return -ENOMEM;
	}
	find_links(work->transition, work->view, from, work->both);
	if (work->transition->stage == TRANSITION_UNUSED) {
		find_unused(work, from);
		pm_routes_update(work->view->routes, work->view->usable,
				 &work->view->detours);
	}
	free(from);
	return 0;
}

bool transition_run(struct transition *t, const struct transition_subject *subject)
{
	struct view *view = subject->view;
	struct work work = {
		.transition = t, .on = subject, .plan = view->plan, .view = view};

	if (make_room(&work))
		t->done.gave_up = "out of memory";
	while (t->stage != TRANSITION_NONE && goes_on(&work)) {
		run_stage(&work);
		if (goes_on(&work))
			begin_next(&work);
	}
	t->done.interruptions += work.interrupted;
	t->done.milliseconds = clock_ms() - t->start_ms;
	if (!work.interrupted)
		pm_routes_update(view->routes, view->usable, &view->detours);
	free(work.blocks);
	free(work.unused);
	free(work.both);
	return !work.interrupted;
}
