/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `portmajor check --now`: the tables that a running OpenSM reads from the switches. */
#ifndef PORTMAJOR_CLI_CHECK_NOW_H
#define PORTMAJOR_CLI_CHECK_NOW_H

#include "ports.h"

/* Zeroed: nothing. */
struct check_now {
	struct cli_ports ports;
	const struct cli_port *port; /* one of `ports` */
	const json_t *read; /* its "tables_read" (docs/json.md), without an error; NULL:
			       tables were not read */
	char *fabric, *tables; /* paths of the discovered fabric, and of the tables */
	uint32_t waits_s;      /* for one reading */
};

/*
 * Has the master on this machine read all tables, and waits. folder: of the port; NULL:
 * there is one master. An exit status, with a message. The caller frees *now in any case.
 */
int check_now_read(struct check_now *now, const char *folder);
void check_now_free(struct check_now *now);

/* Whether the fabric's file is newer than the tables: they are to be read again. */
bool check_now_is_outdated(const struct check_now *now);

/*
 * A text for each kind of finding of a reading ("tables_read") itself, or NULL; the
 * caller frees it.
 */
enum { CHECK_NOT_AS_SET, CHECK_NO_ANSWER, CHECK_NOW_KINDS };
char *check_now_finding(const json_t *read, unsigned int kind, const char **name,
			uint64_t *count);

#endif
