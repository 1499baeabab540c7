/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parts with `ends` (docs/json.md) in the plugin's state: links, and, with one end,
 * switches (port 0) and hosts at a leaf's port. Their names, and their match with
 * operands.
 */
#ifndef PORTMAJOR_CLI_ENDS_H
#define PORTMAJOR_CLI_ENDS_H

#include <jansson.h>

#include <stdbool.h>

/* `leaf5[20]-s1-line0[6]`, `leaf5[20]` or `leaf5`; the caller frees it. */
char *cli_ends_name(const json_t *thing);

/*
 * Whether an operand names a part: by its name as above, by its host, or by one of its
 * ends. An end is a switch, by name, label or GUID, with the port as `leaf5:20` or
 * `leaf5[20]`; with by_switch a switch alone names its links. A host's end needs no port.
 * Without such a match the operand may be a pattern with * and ?.
 */
bool cli_ends_are_meant(const json_t *thing, const char *operand, bool by_switch);

#endif
