/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of Ethernet switches' ports: --port-names. */
#ifndef PORTMAJOR_CLI_PORT_NAMES_H
#define PORTMAJOR_CLI_PORT_NAMES_H

#include <portmajor/fabric/fabric.h>

/* An exit status: a pattern without {port} is refused; NULL is the usual one. */
int cli_port_pattern_check(const char *pattern);

/* A switch port's name by that pattern; the caller frees it. */
char *cli_port_name(const struct pm_fabric *fabric, uint32_t port, const char *pattern);

#endif
