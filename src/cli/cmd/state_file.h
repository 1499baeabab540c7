/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the state that the plugin writes (docs/json.md, portmajor-state). */
#ifndef PORTMAJOR_CLI_STATE_FILE_H
#define PORTMAJOR_CLI_STATE_FILE_H

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Members of the document. A text is borrowed from it; NULL: null. A number that is null
 * or missing is 0.
 */
struct state_file {
	json_t *root;
	time_t time;	      /* when it was written */
	bool written_running; /* OpenSM ran at that time */
	bool running;
	bool killed; /* OpenSM was killed: no process holds the folder's lock */
	bool routed; /* an engine has routed .. */
	bool active; /* .. and it was portmajor */
	const char *sm, *no_master, *unsaved, *config_error, *bad_switches;
	time_t no_master_since;
	struct {
		const char *used, *reason;
	} engine;
	struct {
		uint64_t pairs, ends;
		const char *text;
	} unreachable;
	struct {
		uint64_t connected,
			pairs; /* pairs of hosts that links connect, and that tables do */
	} reachable;
	struct {
		uint64_t stale_entries;
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

/* The suffix of the file's reserve, which has the state when the disk is full. */
#define STATE_FILE_RESERVE ".reserve"

/*
 * Reads and checks the file, or its reserve if that is newer; an exit status, with a
 * message. The caller frees *state in any case.
 */
int state_file_read(const char *path, struct state_file *state);

void state_file_free(struct state_file *state);

/* A whole member of the document, borrowed; NULL: it is not there. */
json_t *state_file_member(const struct state_file *state, const char *name);

#endif
