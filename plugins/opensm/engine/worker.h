/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread for work that may wait for files, or is due at some time. Other threads hand
 * over values and poke the worker, and do not wait. It makes a round when poked, and at
 * the time set by the round before.
 *
 * When OpenSM ends it makes a last round; main waits for that within a bound. A thread
 * that hangs in a file operation is left behind with its memory, and ends with the
 * process.
 */
#ifndef PORTMAJOR_WORKER_H
#define PORTMAJOR_WORKER_H

#include <stdbool.h>

struct worker;

/*
 * One round, with no lock held. `last`: OpenSM is ending. Returns the clock_ms at which
 * the next round is due; DBL_MAX: only when poked.
 */
typedef double worker_round(void *context, bool last);

/*
 * Starts the thread; name: at most 15 bytes, for ps and top. The first round is made when
 * it is poked. NULL without memory.
 */
struct worker *worker_start(const char *name, worker_round *round, void *context);

/* Starts a round after this call. On any thread; waits for no file. */
void worker_poke(struct worker *worker);

/* Starts the last round, and returns; worker may be NULL. */
void worker_end(struct worker *worker);

/*
 * Waits for the end of the last round, until a clock_ms; DBL_MAX: without a bound. True:
 * it has ended, or worker is NULL. False: the thread is left behind; memory that its
 * round uses must never be freed, except memory used only between enter and leave, and
 * the worker itself neither.
 */
bool worker_stop(struct worker *worker, double until_ms);

/* When it has ended, and no thread pokes it any more; worker may be NULL. */
void worker_free(struct worker *worker);

/*
 * Enclose, in a round and in main, each use of OpenSM's memory, such as its log, or of
 * data that is freed before the worker. A thread that was left behind does not return
 * from worker_enter. In between no file is touched but the log.
 */
void worker_enter(struct worker *worker);
void worker_leave(struct worker *worker);

#endif
