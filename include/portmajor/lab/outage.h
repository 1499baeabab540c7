/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a recording of LFT Sets costs hosts: which share of their pairs is cut off, from
 * the loss to the last Set. Exact after every Set.
 *
 * Hosts are end ports with a LID and a cable to a switch that is not lost. A path leads
 * from a host to a LID of another one; with LMC above 0 a pair of hosts has 2^LMC paths
 * and is cut off by as many shares of it as are dead.
 */
#ifndef PORTMAJOR_OUTAGE_H
#define PORTMAJOR_OUTAGE_H

#include <portmajor/lab/lft_trace.h>

/* From this time on so many paths are dead. */
struct pm_outage_point {
	uint64_t ns; /* since the loss */
	uint64_t dead;
};

/* When what comes back in the end is back for good, of it the part named. */
enum pm_outage_part {
	PM_OUTAGE_HALF,
	PM_OUTAGE_MOST, /* 99% */
	PM_OUTAGE_ALL,
	PM_OUTAGE_PARTS,
};

/* Times in ns since the loss. */
struct pm_outage {
	uint64_t hosts, pairs; /* ordered */
	uint64_t paths;	       /* of these */
	uint64_t before;       /* paths that were dead before the loss, */
	uint64_t all_before;   /* of those of hosts that were there then */
	uint64_t at_once, end; /* dead after the loss, and after the last Set */
	/* Dead paths that lead into loops: after the loss and after the last Set, most at
	 * a time, and times seconds up to the last Set; the others come to dead ends. */
	uint64_t loops_at_once, loops_end, loops_most;
	double loop_seconds;
	uint32_t differ;      /* Sets that changed something in their switch */
	uint32_t unheard;     /* Sets that were not acknowledged */
	uint64_t first, last; /* sent, and last time of arriving or acknowledging; 0
			       * without Sets, and if it was before the loss */
	/* Paths dead beyond those that are so in the end, times seconds. */
	double path_seconds;
	uint64_t back[PM_OUTAGE_PARTS];
	struct pm_outage_point *curve; /* the first at 0, then where it changes */
	uint32_t num_points;
};

/*
 * Follows a recording of this fabric. The caller frees outage->curve with free().
 * -ENOMEM. Cost: three times O(LIDs x switches), and that of each Set (cutoff.h).
 */
int pm_outage_follow(const struct pm_fabric *fabric, const struct pm_lft_trace *sets,
		     struct pm_outage *outage, struct pm_error *err);

#endif
