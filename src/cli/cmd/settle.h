/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The commands acknowledge and release: they list open matters in the plugin's states,
 * parts with `ends` (ends.h), and ask the plugin to settle those that operands name.
 */
#ifndef PORTMAJOR_CLI_SETTLE_H
#define PORTMAJOR_CLI_SETTLE_H

#include "options.h"
#include "output.h"

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

struct settle_kind {
	const char *name;   /* of the command, and of its request */
	const char *listed; /* the member of the answer */
	const char *
		unknown; /* in a message on an operand: it is .., such as "not missing" */
	bool masters;	 /* only a master that routes with portmajor follows */
	bool by_switch;	 /* a switch as operand names its links */
	json_t *(*list)(const json_t *root); /* for the caller to free; NULL: not known */
	bool (*is_listed)(const json_t *matter); /* NULL: all are */
	void (*print)(const json_t *matter);	 /* prints a line */
};

struct settle_request {
	bool all;
	uint32_t wait_s;
	struct cli_output output;
	char **operands; /* NULL is the last */
};

/* Rows of both commands behind that of --all. */
extern const struct cli_option settle_options[];

/*
 * Runs a command: sends a request if there are operands or `all`, and lists the matters
 * that remain. An exit status: EXIT_FINDINGS if some are open, unless a request is not
 * waited for, or if it is refused.
 */
int settle_run(const struct settle_kind *kind, const struct cli_command *command,
	       int argc, char **argv);

#endif
