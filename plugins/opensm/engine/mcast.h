/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast by plan: computes the trees of OpenSM's groups over the links of a view, and
 * sends the MFT blocks that differ from the switches', in steps without loops or
 * duplicates (mft_steps.h).
 *
 *     groups of OpenSM's, view ---> wanted tables --.
 *                                                    >-- steps ---> Sets ---> switches
 *     installed tables -----------------------------'
 *
 * Installed tables are the plugin's record of acknowledged Sets. They are unknown at
 * first, after another subnet manager was master, where a switch may have rebooted, and
 * after an unanswered Set. Unknown blocks are read when a group needs them, the others
 * later (mcast_search_above). A block that a group needs, but that could not be read, is
 * sent whole. The tables of a switch that nobody has set since its boot (LID 0,
 * LinearFDBTop 0, no port past INIT) are empty.
 *
 * On the repairer's thread.
 */
#ifndef PORTMAJOR_ENGINE_MCAST_H
#define PORTMAJOR_ENGINE_MCAST_H

#include "osm/mft_wire.h"

#include "../osm/mcast_quiet.h"
#include "view.h"

struct mcast;

struct mcast_subject {
	const struct view *view; /* with usable[] of the unicast tables */
	bool sweeping;		 /* OpenSM's SMPs are on the wire, too */
	bool idle;		 /* no hurry: few SMPs are out at a time */
	/* Whether to end. On this thread, with or without osm->lock. */
	bool (*is_interrupted)(void *context);
	void *context;
};

/* Result. */
struct mcast_done {
	uint32_t groups, trees; /* OpenSM's groups, and those with a tree */
	uint32_t spanned;   /* of these: over any links, as no switch reaches all members
			       downwards */
	uint32_t excluded;  /* members in no tree */
	uint32_t cells;	    /* different MFT blocks; after an interruption without those
			       that still differ */
	uint32_t ordered;   /* groups with an order */
	bool compare_later; /* OpenSM does not report groups that end */
	double milliseconds;
	struct mft_wire_done wire; /* .gave_up: why some blocks are left */
};

/* Both are borrowed. NULL without memory. */
struct mcast *mcast_start(struct smp_sender *smps, struct mcast_quiet *quiet);
void mcast_free(struct mcast *mcast);

/* Switches with tables that have changed. All zero at first. */
struct mcast_doubt {
	uint64_t *guids; /* of the nodes of those with unknown tables */
	uint32_t num, room;
	bool all;	 /* all tables are unknown, but for those of: */
	uint64_t *blank; /* the nodes of switches that were reset: empty tables */
	uint32_t num_blank, blank_room;
};

/* For the next mcast_run, with a view of this plan. */
void mcast_forget(struct mcast *mcast, const struct pm_plan *plan,
		  const struct mcast_doubt *doubt);

/*
 * Brings the switches' tables up to date, with no lock held. False: OpenSM routes
 * multicast. Call it again if it was interrupted or gave up.
 */
bool mcast_run(struct mcast *mcast, const struct mcast_subject *subject,
	       struct mcast_done *done);

/*
 * Reads unknown blocks above those that groups need, from block *from on, clears another
 * subnet manager's entries there, and advances *from. Call it again if it was
 * interrupted. Blocks without an answer stay unknown. Costs one Get for each unknown
 * block of 32 MLIDs and 16 ports that a switch forwards. False: nothing was read.
 */
bool mcast_search_above(struct mcast *mcast, const struct mcast_subject *subject,
			uint32_t *from, struct mcast_done *done);

#endif
