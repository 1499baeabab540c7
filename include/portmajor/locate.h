/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finding what was lost with few questions. Switches report that a port of theirs
 * changed, without saying which (trap 128); a question asks one switch for the state of
 * one port.
 *
 *   pm_locate_new
 *   repeat: pm_locate_report for what reports have come
 *           pm_locate_questions, pm_locate_path for each, pm_locate_answer
 *   until there are no more questions
 *   pm_locate_lost
 *
 * No clock, no input or output: when to stop is the caller's business. See
 * src/locate.c for what is asked and why.
 */
#ifndef PORTMAJOR_LOCATE_H
#define PORTMAJOR_LOCATE_H

#include <portmajor/route.h>

#define PM_LOCATE_HOPS 62 /* longest path, the highest that a directed route can have */

enum pm_answer {
	PM_ANSWER_UP,	/* the cable at this port is alive */
	PM_ANSWER_DOWN, /* it is not */
	PM_NO_ANSWER,
};

/* Opaque: what is known of one loss. */
struct pm_locate;

/*
 * Begins with what was up, seen[port], whether in use or kept out of the tables, and
 * with the tables of the last pm_routes_update. Both are borrowed and must not be updated
 * meanwhile, except with what pm_locate_lost gave. manager: the place of the port that
 * questions are sent from. The caller frees *locate. -ENOMEM.
 */
int pm_locate_new(const struct pm_routes *routes, const uint8_t *seen, uint32_t manager,
		  struct pm_locate **locate, struct pm_error *err);
void pm_locate_free(struct pm_locate *locate);

/* A switch of plan->known says that a port of it changed. Once for each report. */
void pm_locate_report(struct pm_locate *locate, uint32_t sw);

/*
 * The next questions that can be asked at the same time: ports of plan->known, at most
 * `max`; returns how many there are. 0 if nothing more is worth asking now. Each is
 * to be answered before the next call; those that are not count as PM_NO_ANSWER.
 */
uint32_t pm_locate_questions(struct pm_locate *locate, uint32_t *ports, uint32_t max);

/* The answer to one of them. */
void pm_locate_answer(struct pm_locate *locate, uint32_t port, enum pm_answer answer);

/*
 * A way from the manager's switch to another one, as the ports by which it leaves each
 * switch. It keeps clear of what is lost and, where it can, of what may be. Returns the
 * number of hops (0: the manager's own switch), or -1 if there is no way or it is too
 * long. O(hops), and O(cables) the first time after something was learned.
 */
int pm_locate_path(struct pm_locate *locate, uint32_t sw, uint8_t path[PM_LOCATE_HOPS]);

/*
 * Writes to alive[port] what is alive still: as at the start, without the cables that
 * were found lost and what they cut off; returns how many were found.
 */
uint32_t pm_locate_lost(struct pm_locate *locate, uint8_t *alive);

#endif
