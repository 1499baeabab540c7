/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event lists of MPI jobs: a subset of the GOAL text of LogGOPSim (Hoefler, Schneider and
 * Lumsdaine, 2010), a row on each line:
 *
 *   num_ranks N
 *   rank R {                             each rank once, in any order
 *   LABEL: send SIZEb to R [tag T]       a message; bytes
 *   LABEL: recv SIZEb from R [tag T]     of the send of that rank with this tag, in turn
 *   LABEL: calc NS                       computing
 *   LABEL requires LABEL                 begins when that one has ended
 *   LABEL irequires LABEL                begins when that one has begun
 *   }
 *
 * Behind the tag `cpu C` and `nic C` may stand, and say nothing. LABEL: may be left out.
 * Lines that are empty or begin with // say nothing. A send has ended when its message
 * has arrived; a receive when it has begun and its message has arrived. There is no CPU
 * to compete for: what nothing is required for goes on at the same time. The sends of a
 * rank go one after the other: those that require nothing in the order of the file, then
 * those that require these, and so on; one that waits holds up those behind it.
 */
#ifndef PORTMAJOR_GOAL_H
#define PORTMAJOR_GOAL_H

#include <portmajor/base/error.h>

#include <stddef.h>
#include <stdint.h>

#define PM_GOAL_MAX_RANKS 65536
#define PM_GOAL_MAX_WAITS (UINT32_C(1) << 26) /* of all messages */
#define PM_GOAL_MAX_NS UINT64_C(1000000000000)

/* So long after a message has arrived. */
struct pm_goal_wait {
	uint32_t message;
	uint64_t ns;
};

struct pm_goal_message {
	uint32_t from, to; /* ranks */
	uint64_t bytes;
	uint64_t ns; /* from the begin of the job, at the soonest */
	/* All of these are over: waits[first_wait .. first_wait + num_waits). */
	uint32_t first_wait, num_waits;
};

struct pm_goal {
	uint32_t ranks;
	struct pm_goal_message *list; /* each rank's in their order */
	uint32_t num;
	struct pm_goal_wait *waits;
	uint32_t num_waits;
	uint64_t calc_ns; /* of all ranks */
};

/*
 * text[] needs no NUL at its end. -EINVAL: bad content, a message that is sent and not
 * received or the other way round, or a rank's events that wait for each other; the
 * message is "source:LINE: what is wrong". -ENOMEM. The caller frees *goal. Cost:
 * O(events x log events + waits): a send waits for all messages received since the send
 * that it requires.
 */
int pm_goal_parse(const char *text, size_t length, const char *source,
		  struct pm_goal **goal, struct pm_error *err);
/* The same for a file; see pm_textfile_read. */
int pm_goal_read(const char *path, struct pm_goal **goal, struct pm_error *err);
void pm_goal_free(struct pm_goal *goal);

#endif
