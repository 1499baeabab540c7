/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operators' requests that are in force: one file for each port of OpenSM, `requests` in
 * the plugin's folder, JSON:
 *
 *     {"schema": "portmajor-requests", "version": 1, "number": 17,
 *      "drains": [{"guid": "0x0002c903000a1105", "name": "leaf5", "port": 20,
 *                  "number": 4, "since": 1763999999, "until": null, "by": "pia",
 *                  "reason": null}],
 *      "releases": [{"guid": "0x0002c903000a1105", "port": 20, "number": 17}],
 *      "rebalance": {"rate": 500, "number": 12},
 *      "acknowledged": [{"guid": "0x0002c903000a1105", "port": 0, "since": 1763999000}]}
 *
 * Port 0 is the whole switch. Drains and acknowledgements stay; a release, without guid
 * and port for all links, and a request to rebalance (null: none) go when they are done.
 * An acknowledgement is of an outage, a part with its begin, so it ends with that.
 *
 * The process that has locked the folder writes the file: the plugin, or the command
 * while OpenSM does not run. A request is a JSON object (docs/json.md):
 *
 *     {"request": "drain", "parts": [{"guid": .., "port": .., "label": ..}],
 *      "by": "pia", "reason": .., "until": 1764010000, "seen": 17}
 *     {"request": "undrain", "release" or "acknowledge", "parts": [..] or "all": true}
 *     {"request": "rebalance", "parts": [], "all": true, "rate": 500}
 *     {"request": "check", "parts": [], "all": true}
 *
 * One without parts and all changes nothing: it asks what there is.
 */
#ifndef PORTMAJOR_REQUESTS_H
#define PORTMAJOR_REQUESTS_H

#include <portmajor/files/config.h>
#include <portmajor/policy/drain.h>

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

#define PM_REQUEST_PARTS 65536 /* most drains, releases and acknowledgements each */
#define PM_REQUEST_TEXT 256    /* bytes of a label, user or reason; the rest is cut */

/* The refusal of drains that were judged beside others (`seen`) than are in force. */
#define PM_REQUEST_OUTDATED "drain: other drains have changed meanwhile"

struct pm_request_part {
	uint64_t guid;	  /* of the switch; 0: all links (of a release) */
	unsigned int num; /* its port, or 0 */
	uint64_t mark;	  /* the release's number; the begin of the outage */
};

struct pm_request_parts {
	struct pm_request_part *list;
	uint32_t num, room;
};

/* All zero at first: none. */
struct pm_requests {
	uint64_t number; /* of the last request that changed anything */
	struct pm_drains drains;
	struct pm_request_parts releases, acknowledged;
	uint64_t rebalance; /* number of the request to rebalance; 0: none */
	uint32_t rate;	    /* LFT blocks per second; 0: as configured */
};

void pm_requests_free(struct pm_requests *requests);

/* Replaces *to by a copy. -ENOMEM: it stays. */
int pm_requests_copy(const struct pm_requests *from, struct pm_requests *to,
		     struct pm_error *err);

/*
 * Reads a file; a missing one has no requests. *requests, zeroed, is untouched on
 * failure. -EINVAL: not such a file (the message begins with path); -EFBIG: more than 16
 * MiB; -ENOMEM; -errno of opening or reading.
 */
int pm_requests_read(const char *path, struct pm_requests *requests,
		     struct pm_error *err);

/* The same for text in memory, called source in messages. */
int pm_requests_parse(const char *text, size_t length, const char *source,
		      struct pm_requests *requests, struct pm_error *err);

/* The file's content. NULL without memory. */
json_t *pm_requests_json(const struct pm_requests *requests);

/* Replaces or makes the file (pm_replace_public). -errno: it is as before. */
int pm_requests_write(const char *path, const struct pm_requests *requests,
		      struct pm_error *err);

/* Whether a request is to check the switches' tables, which changes nothing. */
bool pm_request_is_check(const json_t *request);

/* By what a request is judged. */
struct pm_request_facts {
	const struct pm_plan
		*plan;	     /* NULL: not known, so drained parts are not checked */
	const json_t *state; /* the plugin's newest (docs/json.md); NULL: none */
	uint64_t now;	     /* seconds since 1970 */
};

/*
 * Changes *requests by a request. *number: the request is done when the plugin has
 * followed all requests up to this one. -EINVAL: refused, with the reason; -ENOMEM. Then
 * *requests is as before.
 */
int pm_requests_apply(struct pm_requests *requests, const json_t *request,
		      const struct pm_request_facts *facts, uint64_t *number,
		      struct pm_error *err);

/*
 * Whether this link of a plan's topology, or with num 0 this switch, can be drained.
 * -EINVAL, with the reason: it is not there, is a host's link, or has hosts.
 */
int pm_requests_may_drain(const struct pm_fabric *topology, uint64_t guid,
			  unsigned int num, struct pm_error *err);

/*
 * Takes over the acknowledgements of a former master of the fabric or, without any
 * request yet, all its requests. 1: there were any; 0; -ENOMEM: *requests is as before.
 */
int pm_requests_inherit(struct pm_requests *requests, const struct pm_requests *from);

/* Ends releases up to this number, and a request to rebalance; whether there was any. */
bool pm_requests_released(struct pm_requests *requests, uint64_t number);
bool pm_requests_rebalanced(struct pm_requests *requests, uint64_t number);

/*
 * The first drain that is to end by now, or drains.num; and ends all these: whether there
 * was any.
 */
uint32_t pm_requests_find_over(const struct pm_requests *requests, uint64_t now);
bool pm_requests_end_drains(struct pm_requests *requests, uint64_t now);

/* Whether an outage is acknowledged. */
bool pm_requests_is_acknowledged(const struct pm_requests *requests, uint64_t guid,
				 unsigned int num, uint64_t since);

/* Reads "guid" and "port" of a JSON object. False: they are none. */
bool pm_request_part_read(const json_t *object, struct pm_request_part *part);

/* Whether a part with `ends` in the plugin's state has this first end, or any. */
bool pm_request_part_is(const json_t *thing, const struct pm_request_part *part,
			bool any_end);

/*
 * Whether a part with `ends`, or the switch at one of them, is drained by the plugin's
 * state; with `word`, and in this state ("out").
 */
bool pm_request_is_drained(const json_t *state, const json_t *thing, const char *word);

/* Whether a link of the state's `flapping` is kept out, or used only as a last path. */
bool pm_request_is_held(const json_t *link);

#endif
