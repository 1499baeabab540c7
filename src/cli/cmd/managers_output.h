/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text about the other subnet managers of a state. */
#ifndef PORTMAJOR_CLI_MANAGERS_OUTPUT_H
#define PORTMAJOR_CLI_MANAGERS_OUTPUT_H

#include <jansson.h>

/* `port 0x0002c903000a1105 (sm2), priority 5`, for the caller to free. */
char *cli_manager_name(const json_t *manager);

/* Prints a line for each: its state, name, and since when. */
void cli_managers_print(const json_t *managers);

#endif
