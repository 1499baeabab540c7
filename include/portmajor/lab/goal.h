/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event lists of MPI jobs: a subset of the GOAL text of LogGOPSim (Hoefler, Schneider and
 * Lumsdaine, 2010), a row on each line:
 *
 *   num_ranks N
 *   rank R {                             each rank once, in any order
 *   LABEL: send SIZEb to R [tag T]       a message; bytes
 *   LABEL: recv SIZEb from R [tag T]     the next message of that rank with this tag
 *   LABEL: calc NS                       computing
 *   LABEL requires LABEL                 begins when the second event has ended
 *   LABEL irequires LABEL                begins when the second event has begun
 *   }
 *
 * `cpu C` and `nic C` behind the tag are ignored, as are empty lines and lines that begin
 * with //. LABEL: may be left out. A send ends when its message arrives; a receive when
 * it has begun and its message has arrived. Events do not compete for CPUs: those without
 * requirements run at the same time. A rank sends one message after the other: first
 * sends that require nothing, in the order of the file, then those that require these,
 * and so on. A waiting send holds up those behind it.
 */
#ifndef PORTMAJOR_GOAL_H
#define PORTMAJOR_GOAL_H

#include <portmajor/base/error.h>

#include <stddef.h>
#include <stdint.h>

#define PM_GOAL_MAX_RANKS 65536
#define PM_GOAL_MAX_WAITS (UINT32_C(1) << 26) /* all messages together */
#define PM_GOAL_MAX_NS UINT64_C(1000000000000)

/* A time after the arrival of a message. */
struct pm_goal_wait {
	uint32_t message;
	uint64_t ns;
};

struct pm_goal_message {
	uint32_t from, to; /* ranks */
	uint64_t bytes;
	uint64_t ns; /* earliest, from the beginning of the job */
	/* It waits for waits[first_wait .. first_wait + num_waits). */
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
 * text[] needs no NUL at its end. -EINVAL: bad content, a send without a receive or the
 * reverse, or a rank's events that wait for each other, with "source:LINE: fault".
 * The caller frees *goal. Cost: O(events x log events + waits): a send waits for
 * all messages received since the send that it requires.
 */
int pm_goal_parse(const char *text, size_t length, const char *source,
		  struct pm_goal **goal, struct pm_error *err);
/* The same for a file; see pm_textfile_read. */
int pm_goal_read(const char *path, struct pm_goal **goal, struct pm_error *err);
void pm_goal_free(struct pm_goal *goal);

#endif
