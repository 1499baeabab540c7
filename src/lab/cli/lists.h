/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of numbers as options name them. */
#ifndef PORTMAJOR_CLI_LISTS_H
#define PORTMAJOR_CLI_LISTS_H

#include "options.h"

#include <jansson.h>

#define CLI_LIST_MAX 64

struct cli_list {
	uint32_t values[CLI_LIST_MAX];
	uint32_t num;
};

/*
 * "2,3,8..10": numbers, and all from one to another. Or sizes, where "1..1M" is 1, ten
 * times that and so on, and 1M: K is 1,000, M a million. Each from `low` to `high` of the
 * option. These are for `take` of an option.
 */
int cli_take_list(const struct cli_option *option, char *argument, void *to);
int cli_take_sizes(const struct cli_option *option, char *argument, void *to);

json_t *cli_list_json(const struct cli_list *list);

#endif
