/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state that the plugin writes (docs/json.md, portmajor-state), as it is read back.
 */
#ifndef PORTMAJOR_CLI_STATE_FILE_H
#define PORTMAJOR_CLI_STATE_FILE_H

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Members of the document. A text is borrowed from it, NULL: null; a number that is null
 * or not there is 0.
 */
struct state_file {
	json_t *root;
	time_t time;	      /* when it was written */
	bool written_running; /* OpenSM ran then */
	bool running;
	bool killed; /* it has gone without ending: nothing holds the folder's lock */
	bool routed; /* there was a routing, by whatever engine .. */
	bool active; /* .. and it was portmajor's */
	const char *sm, *unsaved, *config_error, *bad_switches;
	struct {
		const char *used, *reason;
	} engine;
	struct {
		uint64_t pairs;
		const char *text;
	} unreachable;
	struct {
		uint64_t connected,
			pairs; /* of hosts: that links connect, that tables do */
	} reachable;
	struct {
		uint64_t sent, acked, stale_entries;
	} run;
	struct {
		uint64_t members_left_out;
		bool incomplete;
	} multicast;
	struct {
		uint64_t count;
	} degraded;
	struct {
		uint64_t count;
	} port_errors;
	struct {
		const char *error;
	} drained;
};

/*
 * Reads and checks it; an exit status, after a message. The caller frees it in either
 * case.
 */
int state_file_read(const char *path, struct state_file *state);

void state_file_free(struct state_file *state);

/* A whole member of the document, borrowed; NULL: it is not there. */
json_t *state_file_member(const struct state_file *state, const char *name);

#endif
