/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands that list open matters of the states that the plugin writes, things that have
 * `ends` (ends.h), and have the plugin settle those that operands mean: acknowledge and
 * release.
 */
#ifndef PORTMAJOR_CLI_SETTLE_H
#define PORTMAJOR_CLI_SETTLE_H

#include "options.h"
#include "output.h"

#include <jansson.h>

#include <portmajor/base/print.h>

#include <stdbool.h>
#include <stdint.h>

struct settle_kind {
	const char *name;    /* of the command */
	const char *file;    /* name of the request's */
	const char *listed;  /* the member of the JSON output */
	const char *unknown; /* what an operand is that means none, for a message */
	bool shadow;	     /* in shadow mode, too */
	bool by_switch;	     /* an operand that is a switch means its links */
	json_t *(*list)(const json_t *root);	 /* borrowed; the argument of is_listed */
	bool (*is_listed)(const json_t *matter); /* NULL: all are */
	bool (*is_settled)(const json_t *matter); /* of the listed; NULL: none is */
	pm_print *print_request;		  /* of a struct settle_chosen */
	void (*print)(const json_t *matter);	  /* a line */
};

struct settle_request {
	bool all;
	uint32_t wait_s;
	struct cli_output output;
	char **operands; /* NULL is the last */
};

/* A request to one OpenSM. */
struct settle_chosen {
	bool all;
	const json_t *list; /* what operands mean; empty if all */
};

/*
 * Leaves a request if there are operands or `all`, waits as requested, and lists what
 * there is then. An exit status: EXIT_FINDINGS where some of it is open, but for a
 * request that is not waited for.
 */
int settle_run(const struct settle_kind *kind, const struct settle_request *request);

#endif
