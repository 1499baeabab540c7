/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The OpenSM on this machine that run, are masters and route with portmajor, or would in
 * shadow mode: those that follow a request, which is a file in the folder of each. The
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
	char *request; /* path of the file to be left for it */
	json_t *root;  /* its state */
};

struct cli_masters {
	struct cli_master *list;
	size_t num;
};

/*
 * Finds them; name is that of the request's file. shadow: in shadow mode, too. An exit
 * status: EXIT_INPUT, with a message, if there is none. The caller frees them in any
 * case.
 */
int cli_masters_find(const char *name, bool shadow, struct cli_masters *masters);
void cli_masters_free(struct cli_masters *masters);

/* Writes the file of a request; an exit status. */
int cli_master_request(const struct cli_master *master, pm_print *print, const void *arg);

/*
 * Waits until is_done(master, arg) of all, at most so long, at least one look; before
 * each look their states are read anew. It is not read as long as the request is still
 * there.
 */
bool cli_masters_wait(struct cli_masters *masters, uint32_t wait_s,
		      bool (*is_done)(const struct cli_master *master, const void *arg),
		      const void *arg);

#endif
