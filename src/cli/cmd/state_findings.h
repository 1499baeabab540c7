/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The findings of `portmajor status` in a state. */
#ifndef PORTMAJOR_CLI_STATE_FINDINGS_H
#define PORTMAJOR_CLI_STATE_FINDINGS_H

#include "state_file.h"

/* The input. */
struct status {
	const char *path; /* of the state's file */
	struct state_file state;
	json_int_t age;		     /* of the state, seconds, at least 0 */
	uint32_t max_age;	     /* seconds: an older state is a finding */
	const char *expected;	     /* file of the intended cabling, or NULL .. */
	json_t *cables;		     /* .. and the differences; NULL: not compared */
	const struct status *master; /* another running master of the fabric, or NULL */
};

#define MAX_FINDINGS 30

/* Sentences, as the command prints them, at most one of each kind (a word). */
struct findings {
	char *text[MAX_FINDINGS];
	const char *kind[MAX_FINDINGS];
	size_t count;
};

/* Adds findings; ends the process without memory. */
void findings_judge(const struct status *status, struct findings *findings);

void findings_free(struct findings *findings);

#endif
