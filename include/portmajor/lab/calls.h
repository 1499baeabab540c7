/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collective operations as a list of messages (workload.h): one or more jobs, each with
 * some calls one after the other.
 *
 * A process sends the messages of a step when all that it sends and receives in earlier
 * steps, also of earlier calls, is over. So it begins the next call when its part of this
 * one is over: there is no barrier.
 */
#ifndef PORTMAJOR_CALLS_H
#define PORTMAJOR_CALLS_H

#include <portmajor/lab/collective.h>
#include <portmajor/lab/workload.h>

#define PM_CALLS_MAX_MESSAGES (UINT32_C(1) << 25)

struct pm_calls_config {
	enum pm_collective algorithm;
	uint32_t processes; /* a number that the algorithm allows */
	uint64_t bytes;	    /* as in pm_schedule_make, 1 and up */
	uint32_t calls;	    /* of each job, 1 and up */
	/*
	 * hosts[job * stride + i] is the host of process i of a job. All are different.
	 */
	const uint32_t *hosts;
	uint32_t stride; /* `processes` and up */
	uint32_t jobs;	 /* 1 and up */
};

/*
 * Bytes that a call brings to each process: linear and binomial round them up to blocks,
 * ring and recursive doubling round up each process's part.
 */
uint64_t pm_calls_bytes(enum pm_collective algorithm, uint32_t processes, uint64_t bytes);

struct pm_calls {
	struct pm_workload_message *list; /* [num], by job, call and step */
	uint32_t num;
	uint32_t per_call; /* messages */
	uint32_t *before;  /* lists that the messages point to */
};

/*
 * The caller frees *calls. -EINVAL: more than PM_CALLS_MAX_MESSAGES, or a message is
 * longer than PM_MESSAGE_MAX. O(messages): about 40 bytes each.
 */
int pm_calls_make(const struct pm_calls_config *config, struct pm_calls **calls,
		  struct pm_error *err);
void pm_calls_free(struct pm_calls *calls);

#endif
