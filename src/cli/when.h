/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Times that a user gives. */
#ifndef PORTMAJOR_CLI_WHEN_H
#define PORTMAJOR_CLI_WHEN_H

#include <stdbool.h>
#include <time.h>

/*
 * Reads a local time: `2026-11-29`, `2026-11-29T03:00`, with or without seconds, `03:00`
 * of the day of `now`, or so long before `now`: `90s`, `30m`, `2h`, `3d`. end: of what
 * the text names, a day or a minute, the last second is meant. False: it is none of
 * these.
 */
bool cli_when_read(const char *text, time_t now, bool end, time_t *when);

#endif
