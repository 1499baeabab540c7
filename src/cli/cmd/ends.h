/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Things in the state that the plugin writes that have `ends` (docs/json.md): links, and
 * with one end switches (port 0) and hosts at a leaf's port. What text calls them, and
 * which of them an operand means.
 */
#ifndef PORTMAJOR_CLI_ENDS_H
#define PORTMAJOR_CLI_ENDS_H

#include <jansson.h>

#include <stdbool.h>

/* `leaf5[20]-s1-line0[6]`, `leaf5[20]` or `leaf5`; the caller frees it. */
char *cli_ends_name(const json_t *thing);

/*
 * Whether an operand means a thing: its name as above; its host; or one of its ends, a
 * switch by name, label or GUID, with the port as `leaf5:20` or `leaf5[20]`, or, where
 * the switch stands for its links, without; patterns with * and ? where that is not
 * exact.
 */
bool cli_ends_are_meant(const json_t *thing, const char *operand, bool by_switch);

#endif
