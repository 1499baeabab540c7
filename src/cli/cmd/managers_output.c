/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints the other subnet managers of a state. */
#include "managers_output.h"

#include "json.h"
#include "output.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>

char *cli_manager_name(const json_t *manager)
{
	const char *name = cli_json_text(manager, "name");

	return cli_text_make("port %s%s%s%s, priority %" JSON_INTEGER_FORMAT,
			     cli_json_text(manager, "guid"), *name ? " (" : "", name,
			     *name ? ")" : "", cli_json_number(manager, "priority"));
}

void cli_managers_print(const json_t *managers)
{
	const json_t *one;
	size_t i;

	json_array_foreach(managers, i, one) {
		char *name = cli_manager_name(one);

		printf("%-11s ", cli_json_text(one, "sm_state"));
		cli_text_put(name);
		cli_text_print(one, ", since {@since}\n");
		free(name);
	}
}
