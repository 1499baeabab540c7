/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reach sets: the switches that each switch reaches by going down only, and by going up
 * and then down. Tables use only up-then-down paths, which exclude loops and credit
 * loops.
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
	uint32_t num_by_level; /* switches with a level */
};

/* Makes empty sets for this tree in a pool, which the caller checks for memory. */
void pm_reach_init(const struct pm_tree *tree, struct pm_pool *pool,
		   struct pm_reach *reach);

/* Sorts by_level again, after the levels have changed. O(levels x switches). */
void pm_reach_sort(const struct pm_tree *tree, struct pm_reach *reach);

/*
 * Fills both sets for the links with usable[port] set (at both ends), or for all if
 * usable is NULL. Cost: O(links x switches / 64).
 */
void pm_reach_compute(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		      const uint8_t *usable, struct pm_reach *reach);

enum pm_reach_changed {
	PM_REACH_DOWN = 1,
	PM_REACH_UPDOWN = 2,
};

/*
 * The same, starting from `whole`, the sets with all links: computes only the sets that
 * failed links affect. changed[switch] is a mask of enum pm_reach_changed: the sets that
 * differ from those of `whole`. Cost: O(links), and that of the changed sets.
 */
void pm_reach_compute_since(const struct pm_fabric *skeleton, const struct pm_tree *tree,
			    const uint8_t *usable, const struct pm_reach *whole,
			    struct pm_reach *reach, uint8_t *changed);

/* Words of a row, from the first up to the end. */
struct pm_span {
	uint32_t first, end;
};

/* Working memory of pm_reach_fail. */
struct pm_reach_failure {
	uint32_t *affected; /* switches with changed[] set, each once */
	uint32_t num_affected;
	uint8_t *changed;  /* [switch] as above */
	uint64_t examined; /* sets examined */
	/* Room; empty between two calls. */
	uint64_t *missing;    /* [switch][words] switches that a set may lack now, .. */
	struct pm_span *span; /* .. [switch] and the words with these */
	uint64_t *waiting;    /* by index in by_level: switches still to examine */
	uint32_t *index;      /* [switch] its index in by_level, or PM_NONE */
};

/*
 * Makes that memory in a pool, for the sets of pm_reach_init, after their pool was
 * checked.
 */
void pm_reach_failure_init(const struct pm_reach *reach, uint32_t num_switches,
			   struct pm_pool *pool, struct pm_reach_failure *failure);

/*
 * Updates sets when the links at these ports (both ends of each) have failed. The result
 * is that of pm_reach_compute. Cost: O(ports of the switches that reach less, and of
 * their neighbours, x words).
 */
void pm_reach_fail(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		   const uint8_t *usable, const uint32_t *ports, uint32_t num_ports,
		   struct pm_reach *reach, struct pm_reach_failure *failure);

/*
 * Undoes pm_reach_fail: reach becomes a copy of `whole` again. With the sets after the
 * failure as `whole`, it updates a copy of the sets before the failure instead. Cost:
 * O(switches that reach less x words).
 */
void pm_reach_restore(const struct pm_reach *whole, struct pm_reach *reach,
		      struct pm_reach_failure *failure);

/*
 * Connected components: part[node] is the first node of its component. usable as above;
 * queue[node] is working memory. O(links).
 */
void pm_reach_parts(const struct pm_fabric *fabric, const uint8_t *usable, uint32_t *part,
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
