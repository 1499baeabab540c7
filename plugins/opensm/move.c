/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "move.h"

#include "ahead.h"
#include "tables.h"
#include "wait.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_AHEAD 4 /* blocks in OpenSM's queue beside those on the wire */
#define SILENT_MS 800  /* as OpenSM's own time-out and retries by default */

/* A block to be sent. */
struct block {
	uint32_t known, number;
};

struct move {
	const struct move_subject *on;
	const struct pm_plan *plan;
	struct moved *done;
	bool only_unused; /* entries that no packet uses */
	uint8_t *unused;  /* [switch][stride / 8] set of LIDs without a path before */
	struct block *blocks;
	uint32_t num, room;
};

static size_t unused_at(const struct move *move, uint32_t known, uint32_t lid)
{
	return ((size_t)known * pm_routes_stride(move->on->view->routes) + lid) / 8;
}

static bool is_unused(const struct move *move, uint32_t known, uint32_t lid)
{
	return move->unused[unused_at(move, known, lid)] >> lid % 8 & 1;
}

/*
 * Nothing leads a packet to a switch that has no path to its place. What such a switch
 * holds for it may be as old as its last drain, and must be set before anything leads
 * there again.
 */
static void find_unused(struct move *move, const uint8_t *before)
{
	struct view *view = move->on->view;
	uint32_t stride = pm_routes_stride(view->routes);

	/* Detours are for a switch's own traps. */
	pm_routes_update(view->routes, before, NULL);
	for (uint32_t sw = 0; sw < move->plan->known->num_switches; sw++) {
		const uint8_t *table = pm_routes_table(view->routes, sw);

		for (uint32_t lid = 0; lid < stride; lid++)
			if (table[lid] == PM_LFT_KEEP)
				move->unused[unused_at(move, sw, lid)] |=
					(uint8_t)(1u << lid % 8);
	}
}

/* What a block of a switch is to be; `wanted` has the length of one. */
static void find_wanted(const struct move *move, const osm_switch_t *sw, uint32_t known,
			uint32_t at, uint8_t *wanted)
{
	const uint8_t *held = sw->lft + at;

	tables_wanted(held, pm_routes_table(move->on->view->routes, known) + at,
		      PM_LFT_BLOCK, wanted);
	for (uint32_t i = 0; move->only_unused && i < PM_LFT_BLOCK; i++)
		if (held[i] != OSM_NO_PATH && !is_unused(move, known, at + i))
			wanted[i] = held[i];
}

static int list_switch(struct move *move, uint32_t known)
{
	const osm_switch_t *sw = tables_switch(&move->on->osm->subn, move->plan, known);
	uint32_t blocks = sw && sw->lft ? tables_blocks(move->on->view->routes, sw) : 0;
	struct pm_delta delta = {0};

	for (uint32_t b = 0; b < blocks; b++) {
		uint8_t wanted[PM_LFT_BLOCK];

		find_wanted(move, sw, known, b * PM_LFT_BLOCK, wanted);
		if (!memcmp(wanted, sw->lft + (size_t)b * PM_LFT_BLOCK, PM_LFT_BLOCK))
			continue;
		if (move->num == move->room) {
			uint32_t room = move->room ? 2 * move->room : 256;
			struct block *more =
				reallocarray(move->blocks, room, sizeof(*more));

			if (!more)
				return -ENOMEM;
			move->blocks = more;
			move->room = room;
		}
		move->blocks[move->num++] = (struct block){known, b};
	}
	if (blocks)
		pm_delta_add(&delta, sw->lft,
			     pm_routes_table(move->on->view->routes, known),
			     blocks * PM_LFT_BLOCK);
	if (!move->only_unused) {
		move->done->delta.bound += delta.bound;
		move->done->delta.entries += delta.entries;
		move->done->delta.switches += delta.switches;
	}
	return 0;
}

/* Zeroed in OpenSM's record until it is acknowledged, as in OpenSM and in repair.c. */
static enum ask_make make_block(void *context, uint32_t index, struct ask_smp *smp)
{
	struct move *move = context;
	const struct block *block = &move->blocks[index];
	const osm_switch_t *sw =
		tables_switch(&move->on->osm->subn, move->plan, block->known);
	const osm_dr_path_t *route = sw ? tables_route(sw) : NULL;
	uint32_t at = block->number * PM_LFT_BLOCK;

	if (!route || at + PM_LFT_BLOCK > sw->lft_size)
		return ASK_OMIT;
	*smp = (struct ask_smp){.kind = ASK_SET_BLOCK,
				.sw = sw,
				.modifier = block->number,
				.route = *route};
	find_wanted(move, sw, block->known, at, smp->data);
	memset(sw->lft + at, 0, PM_LFT_BLOCK);
	return ASK_SEND;
}

static bool take_acknowledgement(void *context, const struct ask_answer *answer)
{
	struct move *move = context;

	move->done->acked += answer->outcome == ASK_ANSWERED;
	if (answer->outcome != ASK_ANSWERED)
		move->done->gave_up = "a block not answered";
	return !move->done->gave_up && !osm_exit_flag;
}

static void send_blocks(struct move *move)
{
	struct ask_count count = {0};

	ask_run(move->on->ask,
		&(struct ask_batch){.num = move->num,
				    .ahead = BLOCKS_AHEAD,
				    .total_ms = SILENT_MS,
				    .exclusive = true,
				    .context = move,
				    .make = make_block,
				    .take = take_acknowledgement},
		&count);
	move->done->sent += count.sent;
	if (count.sent < move->num && !move->done->gave_up)
		move->done->gave_up = "a switch has no route";
}

/* The switches of a level, or with PM_NO_LEVEL those of none. */
static void send_level(struct move *move, uint8_t level)
{
	osm_opensm_t *osm = move->on->osm;
	int rc = 0;

	if (move->done->gave_up)
		return;
	move->num = 0;
	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t sw = 0; sw < move->plan->known->num_switches && !rc; sw++)
		if (move->plan->tree.level[sw] == level)
			rc = list_switch(move, sw);
	CL_PLOCK_RELEASE(&osm->lock);
	if (rc)
		move->done->gave_up = "out of memory";
	else if (move->num)
		send_blocks(move);
}

/* Sends what differs from the tables for these cables. */
static void send_all(struct move *move, const uint8_t *alive,
		     const struct pm_detours *detours, bool upward)
{
	struct view *view = move->on->view;
	uint8_t top = move->plan->tree.top_level;

	pm_routes_update(view->routes, alive, detours);
	for (unsigned int i = 0; i <= top; i++)
		send_level(move, (uint8_t)(upward ? i : top - i));
	send_level(move, PM_NO_LEVEL);
}

/*
 * Of the tables for what is in use after, with detours, what could loop if it were sent
 * level by level: detours lead over levels in any direction.
 */
static void send_detours(struct move *move)
{
	const struct view *view = move->on->view;
	osm_opensm_t *osm = move->on->osm;
	struct pm_held *held =
		calloc(move->plan->known->num_switches + 1u, sizeof(*held));
	const struct pm_stale_input input = {view->routes, held, view->seen, NULL};
	const struct pm_stale none = {.num = 0};
	struct pm_steps steps = {0};
	struct ahead done;

	if (move->done->gave_up)
		goto out;
	if (!held) {
		move->done->gave_up = "out of memory";
		goto out;
	}
	pm_routes_update(view->routes, view->alive, &view->detours);
	CL_PLOCK_ACQUIRE(&osm->lock);
	tables_records(&osm->subn, move->plan, held);
	ahead_find(&input, &none, &steps, &done);
	CL_PLOCK_RELEASE(&osm->lock);
	ahead_send(&(struct ahead_subject){osm, move->on->ask, view}, &steps, &done);
	move->done->sent += done.sent;
	move->done->acked += done.acked;
	move->done->gave_up = done.gave_up;
out:
	free(held);
}

void move_run(const struct move_subject *subject, struct moved *done)
{
	const struct view *view = subject->view;
	uint32_t num = view->plan->known->num_ports;
	struct move move = {.on = subject, .plan = view->plan, .done = done};
	uint8_t *both = malloc(num + 1u);
	double start = wait_clock_ms();

	*done = (struct moved){.sent = 0};
	move.unused =
		calloc(unused_at(&move, view->plan->known->num_switches, 0) + 1u, 1);
	if (!both || !move.unused) {
		done->gave_up = "out of memory";
		goto out;
	}
	for (uint32_t i = 0; i < num; i++)
		both[i] = subject->before[i] | view->alive[i];
	find_unused(&move, subject->before);
	move.only_unused = true;
	send_all(&move, both, &view->detours, true);
	move.only_unused = false;
	send_all(&move, both, &view->detours, true);
	send_all(&move, view->alive, NULL, false);
	send_detours(&move);
	send_all(&move, view->alive, &view->detours, true);
	done->milliseconds = wait_clock_ms() - start;
out:
	free(move.blocks);
	free(move.unused);
	free(both);
}
