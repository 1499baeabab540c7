/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast by plan: computes the trees of OpenSM's groups over the links of a view, and
 * sends the MFT blocks that differ from what the switches hold, in steps in which no
 * packet loops or arrives twice (mft_steps.h).
 *
 *     groups of OpenSM's, view ---> wanted tables --.
 *                                                    >-- steps ---> Sets ---> held tables
 *     held tables ----------------------------------'
 *
 * What switches hold is our own record of acknowledged Sets. It is unknown at first,
 * after another subnet manager's time, where a switch may have rebooted and where a Set
 * was not answered. Unknown blocks are read back as soon as a group needs them, and the
 * others later (mcast_look_above); where that is not answered they are sent whole.
 *
 * On one thread at a time: whoever has acquired the repairer.
 */
#ifndef PORTMAJOR_ENGINE_MCAST_H
#define PORTMAJOR_ENGINE_MCAST_H

#include "osm/mft_wire.h"

#include "../osm/mcast_quiet.h"
#include "view.h"

/* Opaque. */
struct mcast;

struct mcast_subject {
	const struct view *view; /* with alive[] as the unicast tables have it */
	bool urgent;		 /* SMPs of OpenSM's wait for the wire, and are passed */
	bool idle;		 /* nothing waits for these: few are out at a time */
	/* Whether it has to end; on this thread, with or without osm->lock. */
	bool (*is_interrupted)(void *context);
	void *context;
};

/* What was done. */
struct mcast_done {
	uint32_t groups, trees; /* of OpenSM's, and those that have one */
	uint32_t spanned;	/* of these: no switch reaches all members downwards */
	uint32_t excluded;	/* members that are in no tree */
	uint32_t places;	/* MFT blocks that differed */
	uint32_t ordered;	/* groups that needed an order */
	bool unasked;		/* OpenSM will not tell of groups that end: look again */
	double milliseconds;
	struct mft_wire_done wire; /* .gave_up: why something of it is left */
};

/* Both are borrowed. NULL without memory. */
struct mcast *mcast_start(struct smp_sender *smps, struct mcast_quiet *quiet);
void mcast_free(struct mcast *mcast);

/* Switches with unknown tables. All zero at first. */
struct mcast_doubt {
	uint64_t *guids; /* of their nodes */
	uint32_t num, room;
	bool all; /* that is all switches */
};

void mcast_forget(struct mcast *mcast, const struct mcast_doubt *doubt);

/*
 * Brings the tables up to date, with no lock held. False: multicast is not ours. Where it
 * was interrupted or gave up it is to be run again.
 */
bool mcast_run(struct mcast *mcast, const struct mcast_subject *subject,
	       struct mcast_done *done);

/*
 * Reads what is unknown of blocks above those that groups need, from *from on, and clears
 * entries there that another subnet manager has left; *from follows. Where it was
 * interrupted it is to be called again; what is not answered stays unknown. One Get for
 * each unknown block of 32 MLIDs and 16 ports that some switch passes packets of. False:
 * nothing was read.
 */
bool mcast_look_above(struct mcast *mcast, const struct mcast_subject *subject,
		      uint32_t *from, struct mcast_done *done);

#endif
