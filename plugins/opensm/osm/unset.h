/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Switches whose tables are not known to be the ones in force: OpenSM's record of some
 * block differs, as no Set of it was answered, or as the answer had other content. Found
 * anew from the records each time; nothing is counted up and down.
 */
#ifndef PORTMAJOR_UNSET_H
#define PORTMAJOR_UNSET_H

#include "engine/view.h"
#include "smp.h"

/* One switch; at least one of its blocks counts. */
struct unset_switch {
	uint32_t node; /* index in the plan */
	uint32_t blocks;
	bool different; /* it has answered one of them, with other content */
};

/* All zero: nothing is known, and the result of an earlier refresh stays. */
struct unset {
	bool known;   /* the list is */
	bool settled; /* every switch has acknowledged every block */
	uint32_t num;
	struct unset_switch *list; /* in the plan's order; the caller frees it */
};

/*
 * Compares the records with the view's tables, which all Sets so far were for. Leaves out
 * blocks of which a Set of ours is out, bad switches, and switches that no discovered
 * link joins to another one. Without memory *unset is zero. With no lock held, on the
 * view's thread. O(size of the tables).
 */
void unset_find(osm_opensm_t *osm, struct smp_sender *smps, const struct view *view,
		struct unset *unset);

#endif
