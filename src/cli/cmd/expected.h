/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares the intended cabling with the fabric that the plugin has discovered. */
#ifndef PORTMAJOR_CLI_EXPECTED_H
#define PORTMAJOR_CLI_EXPECTED_H

#include <jansson.h>

/*
 * Compares a netlist with fabric.net, which the plugin writes beside its state; *cables
 * is as in cable_output.h. An exit status, with a message unless it is EXIT_FINE.
 */
int expected_compare(const char *netlist, const char *state, json_t **cables);

#endif
