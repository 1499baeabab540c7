/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locates a failure with few queries. A switch reports that one of its ports changed
 * (trap 128); a query is a Get of the state of one port.
 *
 *   pm_locate_new
 *   repeat: pm_locate_report for each new report
 *           pm_locate_queries, pm_locate_safe_path for each, pm_locate_answer
 *   until there are no more queries
 *   pm_locate_failed
 *
 * A query to a dead switch costs the caller a time-out. So at most PM_LOCATE_PROBES
 * queries over unproven paths are out at a time, on different paths, and after the
 * first time-out only switches on proven paths are queried. src/policy/locate.c has the
 * order of queries, src/policy/locate_paths.c proven paths.
 *
 * The module has no clock and sends nothing: the caller does.
 */
#ifndef PORTMAJOR_LOCATE_H
#define PORTMAJOR_LOCATE_H

#include <portmajor/route/route.h>

#define PM_LOCATE_HOPS 62  /* longest path, the highest that a directed route can have */
#define PM_LOCATE_PROBES 4 /* as OpenSM has SMPs on the wire by default */

enum pm_answer {
	PM_ANSWER_UP,	/* the link at this port is usable */
	PM_ANSWER_DOWN, /* it is down */
	PM_NO_ANSWER,
};

/* Opaque: knowledge of one failure. */
struct pm_locate;

/*
 * Begins with the ports that were up, discovered[port], excluded from tables or not, and
 * with the tables of the last pm_routes_update. The routes are borrowed; meanwhile they
 * may be updated only with the result of pm_locate_failed. sm: the place of the sending
 * port. The caller frees *locate. -ENOMEM.
 */
int pm_locate_new(const struct pm_routes *routes, const uint8_t *discovered, uint32_t sm,
		  struct pm_locate **locate, struct pm_error *err);
void pm_locate_free(struct pm_locate *locate);

/*
 * Notes that a sweep is running. It may have discovered links that were not up before,
 * and that failed since. Such links count, too, when a switch's reports are unexplained.
 */
void pm_locate_sweeping(struct pm_locate *locate);

/*
 * Notes a report: a port of this switch of plan->topology changed. Called for each
 * report.
 */
void pm_locate_report(struct pm_locate *locate, uint32_t sw);

/*
 * The next queries: ports of plan->topology, at most `max`; returns their number. 0: no
 * more are useful, or pm_locate_gave_up. Unsent queries of the last call are forgotten;
 * no answer may be outstanding.
 */
uint32_t pm_locate_queries(struct pm_locate *locate, uint32_t *ports, uint32_t max);

/*
 * The present path for an SMP to a switch, as the output ports from the subnet manager's
 * switch on. Returns their number (0: the subnet manager's own switch),
 * PM_LOCATE_NO_PATH, or PM_LOCATE_LATER: wait for an outstanding answer. pm_locate_answer
 * or pm_locate_answered has to follow. O(hops), and O(links) the first time after an
 * answer.
 */
#define PM_LOCATE_NO_PATH (-1)
#define PM_LOCATE_LATER (-2)
int pm_locate_safe_path(struct pm_locate *locate, uint32_t sw,
			uint8_t path[PM_LOCATE_HOPS]);

/*
 * Notes the answer to a query. After PM_NO_ANSWER do not send the remaining queries.
 */
void pm_locate_answer(struct pm_locate *locate, uint32_t port, enum pm_answer answer);

/* Notes that a query cannot be sent; it is not listed again soon. */
void pm_locate_skip(struct pm_locate *locate, uint32_t port);

/* Notes whether another SMP over the path of pm_locate_safe_path was answered. */
void pm_locate_answered(struct pm_locate *locate, uint32_t sw, bool answered);

/* A probable path, not for sending, or PM_LOCATE_NO_PATH. */
int pm_locate_path(struct pm_locate *locate, uint32_t sw, uint8_t path[PM_LOCATE_HOPS]);

/*
 * Notes that the caller will send to this switch. If only proven paths are used, the next
 * queries look for one to it.
 */
void pm_locate_want(struct pm_locate *locate, uint32_t sw);

/* Uses only proven paths from now on, as after an unanswered query. */
void pm_locate_be_careful(struct pm_locate *locate);

/* Whether the search ended because an answer was missing even over a proven path. */
bool pm_locate_gave_up(const struct pm_locate *locate);

/*
 * Writes usable[port]: as at the start, without the failed links found and the parts that
 * they cut off. Returns the number of failed links.
 */
uint32_t pm_locate_failed(struct pm_locate *locate, uint8_t *usable);

/*
 * Sets gone[port] at both ends of queried links that were not up before, and are down
 * now. Returns the number of ports.
 */
uint32_t pm_locate_gone(const struct pm_locate *locate, uint8_t *gone);

#endif
