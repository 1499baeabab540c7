/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the drains that an operand of `portmajor undrain` means. */
#ifndef PORTMAJOR_CLI_DRAIN_MATCH_H
#define PORTMAJOR_CLI_DRAIN_MATCH_H

#include "ports.h"

enum drain_match {
	DRAIN_NOT_MEANT,
	DRAIN_BY_PATTERN,
	DRAIN_BY_NAME,
	DRAIN_BY_PART, /* GUID, label, or as `portmajor drain` looks it up */
};

/*
 * Writes match[drain of port->kept]. An operand names a drain as it is listed, or as
 * `portmajor drain` looks it up in the plan of the port, if there is one: also by the
 * other end of a link. A switch without a port includes its links that were drained by
 * themselves.
 */
void drain_match_find(const struct cli_port *port, const char *operand,
		      enum drain_match *match);

#endif
