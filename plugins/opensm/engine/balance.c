/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces tables found in the switches by the plan's. */
#include "balance.h"

#include "ahead.h"
#include "osm/lft_records.h"
#include "clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROUND 64     /* blocks of a round; then other work is looked for */
#define PAUSE_MS 100 /* least time between two rounds, where the rate is low */

static uint32_t count_view_blocks(const struct view *view)
{
	return pm_routes_stride(view->routes) / PM_LFT_BLOCK;
}

static const uint8_t *block_of(const uint8_t *table, uint32_t number)
{
	return table + (size_t)number * PM_LFT_BLOCK;
}

void balance_forget(struct balance *balance)
{
	pm_routes_free(balance->planned);
	free(balance->as_planned);
	*balance = (struct balance){.planned = NULL};
}

int balance_make(struct balance *balance, const struct view *view)
{
	size_t blocks =
		(size_t)view->plan->topology->num_switches * count_view_blocks(view);

	balance->as_planned = calloc(blocks + 1u, sizeof(*balance->as_planned));
	if (!balance->as_planned || pm_routes_make(view->plan, &balance->planned, NULL)) {
		balance_forget(balance);
		return -ENOMEM;
	}
	return 0;
}

static void measure_switch(struct balance *balance, const struct view *view, uint32_t sw)
{
	const uint8_t *installed = pm_routes_table(view->routes, sw);
	const uint8_t *planned = pm_routes_table(balance->planned, sw);
	uint64_t before = balance->now.blocks_off;

	for (uint32_t b = 0; b < count_view_blocks(view); b++) {
		uint32_t off = 0;

		for (uint32_t i = 0; i < PM_LFT_BLOCK; i++)
			off += block_of(installed, b)[i] != block_of(planned, b)[i];
		balance->now.entries_off += off;
		balance->now.blocks_off += off != 0;
	}
	balance->now.switches_off += balance->now.blocks_off != before;
}

int balance_helps(const struct balance *balance, const struct view *view,
		  bool (*stop)(void *context), void *context, bool *helps)
{
	struct pm_ratio planned, now = {0};
	int rc = pm_routes_load_ratio(balance->planned, view->discovered, stop, context,
				      &planned);

	if (!rc)
		rc = pm_routes_load_ratio(view->routes, view->discovered, stop, context,
					  &now);
	*helps = !rc && pm_ratio_is_below(planned, now);
	return rc;
}

void balance_measure(struct balance *balance, const struct view *view)
{
	pm_routes_update(balance->planned, view->usable, &view->detours);
	balance->now = (struct state_balance){.rebalancing = balance->active};
	for (uint32_t sw = 0; sw < view->plan->topology->num_switches; sw++)
		measure_switch(balance, view, sw);
	if (balance->active)
		balance->now.blocks_left = balance->now.blocks_off;
}

void balance_begin(struct balance *balance, uint32_t rate)
{
	balance->rate = rate;
	balance->since_ms = clock_ms();
	balance->sent = balance->acked = 0;
	balance->gave_up = NULL;
	balance->active = balance->now.entries_off != 0;
	balance->now.rebalancing = balance->active;
	balance->now.blocks_left = balance->active ? balance->now.blocks_off : 0;
	balance->next = 0;
}

void balance_apply(const struct balance *balance, struct view *view)
{
	uint32_t blocks = balance->planned ? count_view_blocks(view) : 0;

	for (uint32_t sw = 0; sw < view->plan->topology->num_switches; sw++)
		for (uint32_t b = 0; b < blocks; b++)
			if (atomic_load(&balance->as_planned[(size_t)sw * blocks + b]))
				pm_routes_prefer(view->routes, sw, b,
						 block_of(pm_routes_preferred(
								  balance->planned, sw),
							  b));
}

/* ---- A round ---- */

/* A block to replace, and what the view preferred for it before. */
struct piece {
	uint32_t sw, number;
	uint8_t before[PM_LFT_BLOCK];
};

struct round {
	struct balance *balance;
	const struct balance_subject *on;
	struct view *view;
	struct piece pieces[ROUND];
	uint32_t num;
	struct pm_steps_set sets[ROUND];
	uint32_t num_sets;
};

/*
 * Chooses the next blocks that differ from the plan's. The view prefers the plan's from
 * now on.
 */
static void choose_blocks(struct round *round, uint32_t most)
{
	struct balance *balance = round->balance;
	uint32_t blocks = count_view_blocks(round->view);
	uint32_t end = round->view->plan->topology->num_switches * blocks;

	for (; balance->next < end && round->num < most; balance->next++) {
		uint32_t sw = balance->next / blocks, b = balance->next % blocks;
		const uint8_t *planned =
			block_of(pm_routes_preferred(balance->planned, sw), b);
		const uint8_t *before =
			block_of(pm_routes_preferred(round->view->routes, sw), b);
		struct piece *piece = &round->pieces[round->num];

		atomic_store(&balance->as_planned[balance->next], 1);
		if (!memcmp(planned, before, PM_LFT_BLOCK))
			continue;
		*piece = (struct piece){.sw = sw, .number = b};
		memcpy(piece->before, before, PM_LFT_BLOCK);
		pm_routes_prefer(round->view->routes, sw, b, planned);
		round->num++;
	}
}

/* Whether OpenSM's record of a block is what the view wants, which goes to *wanted. */
static bool is_there(const struct round *round, const struct piece *piece,
		     uint8_t *wanted)
{
	const osm_switch_t *sw = lft_records_switch(&round->on->sender->osm->subn,
						    round->view->plan, piece->sw);
	const uint8_t *installed;

	if (!sw || !sw->lft ||
	    piece->number >= lft_records_blocks(round->view->routes, sw))
		return true;
	installed = block_of(sw->lft, piece->number);
	lft_records_wanted(
		installed,
		block_of(pm_routes_table(round->view->routes, piece->sw), piece->number),
		PM_LFT_BLOCK, wanted);
	return !memcmp(installed, wanted, PM_LFT_BLOCK);
}

static void list_sets(struct round *round)
{
	osm_opensm_t *osm = round->on->sender->osm;

	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t i = 0; i < round->num; i++) {
		struct pm_steps_set *set = &round->sets[round->num_sets];

		*set = (struct pm_steps_set){.sw = round->pieces[i].sw,
					     .number = round->pieces[i].number};
		round->num_sets += !is_there(round, &round->pieces[i], set->entries);
	}
	CL_PLOCK_RELEASE(&osm->lock);
}

/*
 * Unmarks blocks that were not acknowledged as they were set: the view prefers
 * the old ones again. If the sweeper has taken over, they stay the plan's, and OpenSM
 * sends the missing ones.
 */
static void settle_round(struct round *round)
{
	struct balance *balance = round->balance;
	struct view *view = round->view;
	osm_opensm_t *osm = round->on->sender->osm;
	uint32_t blocks = count_view_blocks(view);
	uint8_t wanted[PM_LFT_BLOCK];

	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t i = 0; i < round->num; i++) {
		const struct piece *piece = &round->pieces[i];
		size_t at = (size_t)piece->sw * blocks + piece->number;

		if (round->on->is_halted(round->on->context) ||
		    is_there(round, piece, wanted))
			continue;
		atomic_store(&balance->as_planned[at], 0);
		pm_routes_prefer(view->routes, piece->sw, piece->number, piece->before);
		if (at < balance->next)
			balance->next = (uint32_t)at;
	}
	CL_PLOCK_RELEASE(&osm->lock);
	pm_routes_update(view->routes, view->usable, &view->detours);
}

/* Sends up to `most` blocks; false: one was not acknowledged as it was set. */
static bool run_round(struct round *round, uint32_t most)
{
	struct balance *balance = round->balance;
	struct view *view = round->view;
	struct pm_steps steps = {.sets = malloc(sizeof(round->sets))};
	struct ahead done = {.sent = 0};

	if (!steps.sets) {
		balance->gave_up = "out of memory";
		return false;
	}
	choose_blocks(round, most);
	pm_routes_update(view->routes, view->usable, &view->detours);
	list_sets(round);
	steps.num = round->num_sets;
	memcpy(steps.sets, round->sets, round->num_sets * sizeof(*steps.sets));
	ahead_send(&(struct ahead_subject){round->on->sender, view,
					   round->on->is_interrupted, round->on->context},
		   &steps, &done);
	balance->sent += done.sent;
	balance->acked += done.acked;
	settle_round(round);
	if (!done.interrupted)
		balance->gave_up = done.gave_up;
	return !balance->gave_up;
}

/* Marks all blocks, as all tables are the plan's. */
static void finish_balance(struct balance *balance, struct view *view)
{
	size_t blocks =
		(size_t)view->plan->topology->num_switches * count_view_blocks(view);

	for (size_t i = 0; i < blocks; i++)
		atomic_store(&balance->as_planned[i], 1);
	balance_apply(balance, view);
	pm_routes_update(view->routes, view->usable, &view->detours);
}

bool balance_run(struct balance *balance, const struct balance_subject *subject,
		 double *next_ms)
{
	struct round *round = calloc(1, sizeof(*round));
	double due = (clock_ms() - balance->since_ms) * balance->rate / 1e3 + 1;
	uint32_t most = 0;
	bool goes_on = round != NULL;

	if (!round)
		balance->gave_up = "out of memory";
	if (due > (double)balance->sent)
		most = (uint32_t)(due - (double)balance->sent);
	if (round && most) {
		round->balance = balance;
		round->on = subject;
		round->view = subject->view;
		goes_on = run_round(round, most < ROUND ? most : ROUND);
	}
	free(round);
	balance_measure(balance, subject->view);
	balance->active = goes_on && balance->now.blocks_off;
	balance->now.rebalancing = balance->active;
	if (goes_on && !balance->active && !balance->now.blocks_off)
		finish_balance(balance, subject->view);
	*next_ms = clock_ms() + (most > ROUND ? 0 : PAUSE_MS);
	return balance->active;
}
