/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of Ethernet switches' ports: --port-names. */
#ifndef PORTMAJOR_CLI_PORT_NAMES_H
#define PORTMAJOR_CLI_PORT_NAMES_H

#include <portmajor/fabric/fabric.h>

/* Checks a pattern; an exit status: {port} is required. NULL: the default pattern. */
int cli_port_pattern_check(const char *pattern);

/* A switch port's name by that pattern; the caller frees it. */
char *cli_port_name(const struct pm_fabric *fabric, uint32_t port, const char *pattern);

#endif
