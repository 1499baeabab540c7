/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The outage in an LFT trace: the share of pairs of hosts cut off, from the failure to
 * the last Set, exact after every Set.
 *
 * Hosts are end ports with a LID and a link to a switch that is usable or returns. A path
 * leads from a host to a LID of another host. With LMC above 0 a pair of hosts has 2^LMC
 * paths, and is cut off in part: by the share of its dead paths.
 */
#ifndef PORTMAJOR_OUTAGE_H
#define PORTMAJOR_OUTAGE_H

#include <portmajor/lab/lft_trace.h>

/* Dead paths from this time on. */
struct pm_outage_point {
	uint64_t ns; /* since the failure */
	uint64_t dead;
};

/*
 * Parts of the returning paths; pm_outage.back has the time when a part is back for good.
 */
enum pm_outage_part {
	PM_OUTAGE_HALF,
	PM_OUTAGE_MOST, /* 99% */
	PM_OUTAGE_ALL,
	PM_OUTAGE_PARTS,
};

/* Times in ns since the failure. */
struct pm_outage {
	uint64_t hosts, pairs; /* ordered */
	uint64_t paths;	       /* of these */
	uint64_t before;       /* dead paths before the failure, .. */
	uint64_t all_before;   /* .. of all paths then */
	uint64_t at_once, end; /* dead after the failure, and after all that follows */
	/*
	 * Dead paths that lead into loops: after the failure and after the last Set, most
	 * at a time, and path-seconds up to the last Set.
	 */
	uint64_t loops_at_once, loops_end, loops_most;
	double loop_seconds;
	uint32_t differ;	 /* Sets that changed an entry */
	uint32_t unacknowledged; /* Sets */
	uint64_t first, last; /* first sending, and last arrival or acknowledgement; 0: no
				 Sets, or before the failure */
	/* Path-seconds of dead paths that return. */
	double path_seconds;
	uint64_t back[PM_OUTAGE_PARTS];
	struct pm_outage_point *curve; /* at 0, then at each change */
	uint32_t num_points;
};

/*
 * Follows a recording of this fabric. The caller frees outage->curve with free().
 * Cost: three times O(LIDs x switches), once more for each link that returns,
 * and that of each Set (cutoff.h).
 */
void pm_outage_follow(const struct pm_fabric *fabric, const struct pm_lft_trace *trace,
		      struct pm_outage *outage);

#endif
