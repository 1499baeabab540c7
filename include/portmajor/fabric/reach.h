/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which switches can be reached from which, going down only, and going up and
 * then down. Up-then-down paths are the only ones that the tables use, so that
 * there are no loops, and no credit loops.
 */
#ifndef PORTMAJOR_REACH_H
#define PORTMAJOR_REACH_H

#include <portmajor/base/pool.h>
#include <portmajor/fabric/tree.h>

#include <stddef.h>

/* Sets of switches, one row of `words` 64-bit words per switch. */
struct pm_reach {
	uint32_t words;
	uint64_t *down;	       /* [switch][words]; a switch reaches itself */
	uint64_t *updown;      /* [switch][words]; includes down */
	uint32_t *by_level;    /* switches from the leaves upward */
	uint32_t num_by_level; /* without those that have no level */
};

/* Empty sets for this tree, in a pool, of which the caller learns if memory ran out. */
void pm_reach_init(const struct pm_tree *tree, struct pm_pool *pool,
		   struct pm_reach *reach);

/* After the levels have changed. O(levels x switches). */
void pm_reach_sort(const struct pm_tree *tree, struct pm_reach *reach);

/*
 * Fills both sets for the cables with alive[port] set (either both ends are or
 * none), or for all cables if alive is NULL. Cost: O(cables x switches / 64).
 */
void pm_reach_compute(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		      const uint8_t *alive, struct pm_reach *reach);

enum pm_reach_changed {
	PM_REACH_DOWN = 1,
	PM_REACH_UPDOWN = 2,
};

/*
 * The same for alive, with help of the sets with everything alive: only what a lost cable
 * leads to is computed. changed[switch]: which of its sets are not those of `whole`.
 * Cost: O(cables) and that of what changes.
 */
void pm_reach_compute_since(const struct pm_fabric *skeleton, const struct pm_tree *tree,
			    const uint8_t *alive, const struct pm_reach *whole,
			    struct pm_reach *reach, uint8_t *changed);

/* Words of a row, from the first up to the end. */
struct pm_span {
	uint32_t first, end;
};

/* What pm_reach_fail works with. */
struct pm_reach_loss {
	uint32_t *stirred; /* switches with changed[] set, each once */
	uint32_t num_stirred;
	uint8_t *changed; /* [switch] as above */
	uint64_t looked;  /* sets that were looked at */
	/* Room; empty between two calls. */
	uint64_t *missing;    /* [switch][words] what a set may have lost, .. */
	struct pm_span *span; /* .. [switch] all of it in these words */
	uint64_t *waiting;    /* by place in by_level: whose sets are to be looked at */
	uint32_t *place;      /* [switch] in by_level, PM_NONE: nowhere */
};

/* Room for losses, in a pool; of the sets of pm_reach_init, once its pool is checked. */
void pm_reach_loss_init(const struct pm_reach *reach, uint32_t num_switches,
			struct pm_pool *pool, struct pm_reach_loss *loss);

/*
 * Corrects sets for the loss of the cables at these ports, both ends of each, which are
 * not alive any more. Until then the sets were right: those with everything alive, say.
 * So what pm_reach_compute does, but only what loses something is looked at. Cost:
 * O(ports of switches that lose something and of those next to them x words).
 */
void pm_reach_fail(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		   const uint8_t *alive, const uint32_t *ports, uint32_t num_ports,
		   struct pm_reach *reach, struct pm_reach_loss *loss);

/*
 * Takes that back: reach is again the copy of `whole` that it was. Or, with the sets
 * after the loss as `whole`, makes the loss in their copy from before it, too. Cost:
 * O(switches that lost something x words).
 */
void pm_reach_restore(const struct pm_reach *whole, struct pm_reach *reach,
		      struct pm_reach_loss *loss);

/*
 * Which nodes cables join, in whatever way: part[node] is the first node of its part.
 * alive as above; queue[node] is room. O(cables).
 */
void pm_reach_parts(const struct pm_fabric *fabric, const uint8_t *alive, uint32_t *part,
		    uint32_t *queue);

static inline const uint64_t *pm_reach_down(const struct pm_reach *reach, uint32_t sw)
{
	return reach->down + (size_t)sw * reach->words;
}

static inline const uint64_t *pm_reach_updown(const struct pm_reach *reach, uint32_t sw)
{
	return reach->updown + (size_t)sw * reach->words;
}

#endif
