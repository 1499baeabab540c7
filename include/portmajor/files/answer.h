/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers to requests (requests.h), by what is requested and the plugin's newest state:
 *
 *     {"state": "done", "reason": null, "cause": null, "port_guid": "0x..",
 *      "drained": [..]}
 *
 * state is "done", "pending", for the reason in `cause` where that is known, or "refused"
 * for that in `reason`. The list is what the request is about: `drained`, `held`,
 * `missing`, or the object `balance` or `tables_read` (docs/json.md).
 */
#ifndef PORTMAJOR_ANSWER_H
#define PORTMAJOR_ANSWER_H

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

struct pm_answer_facts {
	const json_t *requests; /* pm_requests_json; NULL: not known */
	const json_t *state;	/* the plugin's newest (docs/json.md); NULL: none */
	const char *reason;	/* why the request is refused, or NULL */
	const char *cause;	/* why it waits, whatever the state says, or NULL */
};

/*
 * Answers a request with this number (pm_requests_apply; 0: none). *over: waiting for
 * more is of no use. NULL without memory, or for no request.
 */
json_t *pm_answer_make(const json_t *request, uint64_t number,
		       const struct pm_answer_facts *facts, bool *over);

/*
 * Why OpenSM has not followed a request: it is no master, another engine routes, or a
 * switch has not acknowledged its table. Writes "" if that is not known.
 */
#define PM_ANSWER_CAUSE 256
void pm_answer_cause(const json_t *state, char cause[PM_ANSWER_CAUSE]);

#endif
