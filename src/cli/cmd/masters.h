/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The OpenSM processes on this machine that follow a request: masters that route with
 * portmajor or, in shadow mode, would. A request is a file in the folder of each. The
 * plugin reads it within a second or so, and removes it.
 */
#ifndef PORTMAJOR_CLI_MASTERS_H
#define PORTMAJOR_CLI_MASTERS_H

#include <jansson.h>

#include <portmajor/base/print.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_master {
	char *state;   /* path of its state */
	char *request; /* path of the request's file */
	json_t *root;  /* its state */
};

struct cli_masters {
	struct cli_master *list;
	size_t num;
};

/*
 * Finds the masters. name: the request's file name. shadow: also those in shadow mode. An
 * exit status: EXIT_INPUT, with a message, if there is none. The caller frees *masters in
 * any case.
 */
int cli_masters_find(const char *name, bool shadow, struct cli_masters *masters);
void cli_masters_free(struct cli_masters *masters);

/* Writes the file of a request; an exit status. */
int cli_master_request(const struct cli_master *master, pm_print *print, const void *arg);

/*
 * Waits until is_done(master, arg) of all masters, at most wait_s; returns whether it is.
 * Looks at least once, and reads their states anew each time. A master is not done while
 * the request's file is still there.
 */
bool cli_masters_wait(struct cli_masters *masters, uint32_t wait_s,
		      bool (*is_done)(const struct cli_master *master, const void *arg),
		      const void *arg);

#endif
