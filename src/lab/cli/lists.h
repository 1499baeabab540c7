/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words, sizes, and lists of numbers and sizes, as options name them. */
#ifndef PORTMAJOR_CLI_LISTS_H
#define PORTMAJOR_CLI_LISTS_H

#include "options.h"

#include <jansson.h>

#define CLI_LIST_MAX 64

struct cli_list {
	uint32_t values[CLI_LIST_MAX];
	uint32_t num;
};

/* Reads a size: "12", "12K" (K is 1,024) or "12M" (1,048,576), from low to high bytes. */
bool cli_size(const char *text, uint32_t low, uint32_t high, uint32_t *bytes);

/*
 * For `take` of an option. The first reads numbers and ranges, "2,3,8..10". The second
 * reads sizes; the range "1..1M" means 1, ten times that and so on, and 1M. Each value is
 * from `low` to `high` of the option.
 */
int cli_take_list(const struct cli_option *option, char *argument, void *to);
int cli_take_sizes(const struct cli_option *option, char *argument, void *to);

json_t *cli_list_json(const struct cli_list *list);

/* The index of a word among words with | between; -1: not there. */
int cli_find_word(const char *words, const char *word);

#endif
