/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finding what was lost with few questions. Switches report that a port of theirs
 * changed, without saying which (trap 128); a question asks one switch for the state of
 * one port.
 *
 *   pm_locate_new
 *   repeat: pm_locate_report for what reports have come
 *           pm_locate_questions, pm_locate_way for each, pm_locate_answer
 *   until there are no more questions
 *   pm_locate_failed
 *
 * A question to what is dead is answered by nobody, and costs the caller a time-out. At
 * most PM_LOCATE_PROBES are asked that may fare so (one for each way), and none any more
 * after one did: then only switches are asked that surely can. See src/policy/locate.c
 * for what is asked and why, src/policy/locate_paths.c for what is sure.
 *
 * No clock, no input or output: how long to wait is the caller's business.
 */
#ifndef PORTMAJOR_LOCATE_H
#define PORTMAJOR_LOCATE_H

#include <portmajor/route/route.h>

#define PM_LOCATE_HOPS 62  /* longest path, the highest that a directed route can have */
#define PM_LOCATE_PROBES 4 /* as OpenSM has SMPs on the wire by default */

enum pm_answer {
	PM_ANSWER_UP,	/* the cable at this port is alive */
	PM_ANSWER_DOWN, /* it is not */
	PM_NO_ANSWER,
};

/* Opaque: what is known of one loss. */
struct pm_locate;

/*
 * Begins with what was up, seen[port], whether in use or kept out of the tables, and
 * with the tables of the last pm_routes_update; these are borrowed, and must not be
 * updated meanwhile but with what pm_locate_failed gave. sm: the place of the port
 * that questions are sent from. The caller frees *locate. -ENOMEM.
 */
int pm_locate_new(const struct pm_routes *routes, const uint8_t *seen, uint32_t sm,
		  struct pm_locate **locate, struct pm_error *err);
void pm_locate_free(struct pm_locate *locate);

/*
 * A discovery is under way, or its tables are: it may have seen links that were not up
 * before, and that failed since. Switches whose reports nothing explains are asked for
 * these as well.
 */
void pm_locate_sweeping(struct pm_locate *locate);

/* A switch of plan->known says that a port of it changed. Once for each report. */
void pm_locate_report(struct pm_locate *locate, uint32_t sw);

/*
 * The next questions: ports of plan->known, at most `max`; returns how many there are. 0
 * if nothing more is worth asking, or pm_locate_gave_up. Those of the last call that
 * were not sent are forgotten, none of them may be out.
 */
uint32_t pm_locate_questions(struct pm_locate *locate, uint32_t *ports, uint32_t max);

/*
 * The way by which something is sent to a switch now, from the manager's switch, as the
 * ports by which it leaves each switch: returns how many (0: the manager's own switch),
 * or PM_LOCATE_NO_WAY, or PM_LOCATE_LATER: not before an answer to what is out.
 * pm_locate_answer or pm_locate_told has to follow. O(hops), and O(cables) the first time
 * after something was learned.
 */
#define PM_LOCATE_NO_WAY (-1)
#define PM_LOCATE_LATER (-2)
int pm_locate_way(struct pm_locate *locate, uint32_t sw, uint8_t path[PM_LOCATE_HOPS]);

/* The answer to a question. After PM_NO_ANSWER the others are better not sent. */
void pm_locate_answer(struct pm_locate *locate, uint32_t port, enum pm_answer answer);

/* A question that cannot be asked; it is not listed again soon. */
void pm_locate_skip(struct pm_locate *locate, uint32_t port);

/* Whether something else, that was sent by pm_locate_way, was answered. */
void pm_locate_told(struct pm_locate *locate, uint32_t sw, bool answered);

/* A path that there seems to be, or PM_LOCATE_NO_WAY; nothing is to be sent by it. */
int pm_locate_path(struct pm_locate *locate, uint32_t sw, uint8_t path[PM_LOCATE_HOPS]);

/*
 * Something is to be sent to this switch. Where only proven ways are taken, the next
 * questions are for one to it.
 */
void pm_locate_want(struct pm_locate *locate, uint32_t sw);

/* From now on only proven ways, as after a question that was not answered. */
void pm_locate_be_careful(struct pm_locate *locate);

/* Whether the search ended because nothing can be relied on: even over a proven way
 * somebody did not answer. */
bool pm_locate_gave_up(const struct pm_locate *locate);

/*
 * Writes to alive[port] what is alive still: as at the start, without the cables that
 * were found lost and what they cut off; returns how many were found.
 */
uint32_t pm_locate_failed(struct pm_locate *locate, uint8_t *alive);

/* The links that were not up before and are down now, of those asked for, as gone[port]
 * at both ends; returns how many ports. */
uint32_t pm_locate_gone(const struct pm_locate *locate, uint8_t *gone);

#endif
