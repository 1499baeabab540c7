/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread of ours, for what may wait for a file or has its time. Nobody waits for it:
 * others hand values over and poke it. It makes a round when it was poked, and at the
 * time that the round before has named.
 *
 * When OpenSM ends there is a last round, which is waited for until some time. A thread
 * that hangs in a file operation then is left behind with all that it may touch, and
 * ends with the process.
 */
#ifndef PORTMAJOR_WORKER_H
#define PORTMAJOR_WORKER_H

#include <stdbool.h>

/* Opaque. */
struct worker;

/*
 * One round, with no lock held. `last`: OpenSM is ending. Returns the clock_ms by
 * which the next one is due, DBL_MAX: when it is poked.
 */
typedef double worker_round(void *context, bool last);

/*
 * Starts the thread; name: at most 15 bytes, for ps and top. The first round is made when
 * it is poked. NULL without memory.
 */
struct worker *worker_start(const char *name, worker_round *round, void *context);

/* Has a round made that begins after this call. On any thread; waits for no file. */
void worker_poke(struct worker *worker);

/* Has the last round begin, and returns; worker may be NULL. */
void worker_end(struct worker *worker);

/*
 * Waits until a clock_ms, DBL_MAX: without a bound, for the end of the last round. True:
 * it has ended, and worker, which may be NULL, is freed. False: it is left behind, and
 * what its round touches must never be freed, but for what it touches between enter and
 * leave.
 */
bool worker_stop(struct worker *worker, double until_ms);

/*
 * Stand around whatever a round does with OpenSM's memory, its log say, or with what ends
 * before its worker; around what main does about that, too. A thread that was left behind
 * does not return from worker_enter. No file but the log is touched between.
 */
void worker_enter(struct worker *worker);
void worker_leave(struct worker *worker);

#endif
