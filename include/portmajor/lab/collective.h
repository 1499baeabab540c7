/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collective operations of MPI: their messages and order, and their time where a circuit
 * is set up before a message and taken down after it (Takizawa, Matsuoka and Nakada, "MPI
 * collective communication on all optical network").
 *
 *   linear              process 0 sends to all others, one after the other
 *   ring                each process passes the data of the process before on to the next
 *   recursive-doubling  in step i = 0, 1, .. each exchanges all its data with the
 *                       process 2^i away
 *   binomial            in step i all processes with the data of process 0 send it to
 *                       the process 2^i away
 *
 * Linear and binomial bring `bytes` of process 0 to all; the two others bring bytes /
 * processes of each to all.
 */
#ifndef PORTMAJOR_COLLECTIVE_H
#define PORTMAJOR_COLLECTIVE_H

#include <portmajor/base/error.h>

#include <stdbool.h>
#include <stdint.h>

enum pm_collective {
	PM_COLLECTIVE_LINEAR,
	PM_COLLECTIVE_RING,
	PM_COLLECTIVE_DOUBLING,
	PM_COLLECTIVE_BINOMIAL,
	PM_NUM_COLLECTIVES,
};

#define PM_COLLECTIVE_MAX 4096 /* processes */

const char *pm_collective_name(enum pm_collective algorithm);

/* The algorithm of this name; -EINVAL: there is none. */
int pm_collective_parse(const char *name, enum pm_collective *algorithm);

/*
 * Whether an algorithm allows a number of processes: linear from 2, ring even numbers
 * from 4, the others powers of two from 2, all up to PM_COLLECTIVE_MAX. Else -EINVAL with
 * a message. The functions below take such numbers only.
 */
int pm_collective_check(enum pm_collective algorithm, uint32_t processes,
			struct pm_error *err);

/* ---- Equations 1 to 8 of the paper ---- */

/* In seconds, 0 and up. */
struct pm_circuit_costs {
	double alpha; /* delay of a message */
	double beta;  /* delay of a byte */
	double gamma; /* to set up a circuit and to take it down */
};

/*
 * Circuits for `ports` steps, 1 and up, are set up at once. With 2 and more a ring's
 * circuits stay. One port is the paper's naive algorithm (equations 1, 3, 5, 7), more are
 * equations 2, 4, 6, 8. The paper's ideal is gamma 0 with 2 ports or more.
 */

/* The number of times that gamma is waited for in sequence. */
uint32_t pm_collective_setups(enum pm_collective algorithm, uint32_t processes,
			      uint32_t ports);

/* Seconds until all is done. */
double pm_collective_seconds(enum pm_collective algorithm, uint32_t processes,
			     uint64_t bytes, uint32_t ports,
			     const struct pm_circuit_costs *costs);

/* ---- Schedules ---- */

struct pm_schedule_message {
	uint32_t step;	   /* 0 and up */
	uint32_t from, to; /* processes, not the same */
	uint32_t blocks;   /* of bytes / parts each; `parts` blocks are all data */
};

/*
 * Each process takes its own steps in order, independent of others: it sends the messages
 * of a step when all that it sends and receives in earlier steps is over. A message may
 * arrive before its receiver begins that step.
 */
struct pm_schedule {
	uint32_t processes;
	uint32_t parts; /* of the bytes: as many as processes, but for a ring of four */
	uint32_t steps;
	uint64_t bytes;
	uint32_t num;			      /* messages */
	struct pm_schedule_message *messages; /* by step, and within a step by `from` */
};

/*
 * The messages of an algorithm. With `alternating` the even processes of a ring send in
 * one step and the odd ones in the next, so that each has one partner at a time; other
 * algorithms ignore it. The caller frees the schedule. O(messages): processes - 1
 * of them (linear, binomial), processes x log2 processes (recursive doubling), or
 * processes x (processes - 1) (ring).
 */
struct pm_schedule *pm_schedule_make(enum pm_collective algorithm, uint32_t processes,
				     uint64_t bytes, bool alternating);

/*
 * Four processes of a ring of `processes`, joined to a ring of their own, with all steps
 * of the long ring. A process of a ring depends on its two neighbours alone, and all
 * processes, or with `alternating` every second one, do the same at the same time. So
 * each of the four does what every fourth process of the long ring does. The caller frees
 * the schedule. O(processes).
 */
struct pm_schedule *pm_schedule_make_four(uint32_t processes, uint64_t bytes,
					  bool alternating);
void pm_schedule_free(struct pm_schedule *schedule);

/* Bytes of a message, not rounded. */
double pm_schedule_size(const struct pm_schedule *schedule,
			const struct pm_schedule_message *message);

#endif
