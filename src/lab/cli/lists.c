/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads sizes, and lists of numbers and sizes, in options. */
#include "lists.h"

#include "json.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

bool cli_size(const char *text, uint32_t low, uint32_t high, uint32_t *bytes)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	unsigned long unit = *end == 'K' ? 1024 : *end == 'M' ? 1048576 : 1;

	if (end == text || *(unit > 1 ? end + 1 : end) || strchr(text, '-') ||
	    value > high / unit || value * unit < low)
		return false;
	*bytes = (uint32_t)(value * unit);
	return true;
}

int cli_find_word(const char *words, const char *word)
{
	for (int index = 0;; index++) {
		size_t length = strcspn(words, "|");

		if (length == strlen(word) && !strncmp(words, word, length))
			return index;
		words += length;
		if (!*words++)
			return -1;
	}
}

static bool read_item(const struct cli_option *option, const char *text, bool sizes,
		      uint32_t *value)
{
	unsigned long number;

	if (sizes)
		return cli_size(text, option->low, option->high, value);
	if (!cli_number(text, option->low, option->high, &number))
		return false;
	*value = (uint32_t)number;
	return true;
}

/* Adds the numbers of an item; false: not a number, too many of them, or out of range. */
static bool add_item(const struct cli_option *option, char *item, bool sizes,
		     struct cli_list *list)
{
	char *dots = strstr(item, "..");
	uint32_t first, last;

	if (dots)
		*dots = '\0';
	if (!read_item(option, item, sizes, &first))
		return false;
	last = first;
	if (dots && !read_item(option, dots + 2, sizes, &last))
		return false;
	if (first > last || (sizes && dots && !first))
		return false;
	for (uint64_t n = first; n <= last;) {
		if (list->num == CLI_LIST_MAX)
			return false;
		list->values[list->num++] = (uint32_t)n;
		if (n == last)
			break;
		n = sizes ? 10 * n : n + 1;
		if (n > last)
			n = last;
	}
	return true;
}

static int take_items(const struct cli_option *option, char *argument, bool sizes,
		      void *to)
{
	struct cli_list *list = to;
	char *rest = argument, *item;

	list->num = 0;
	while ((item = strsep(&rest, ",")))
		if (!add_item(option, item, sizes, list))
			return cli_fail(EXIT_USAGE,
					"--%s: not a list of at most %u %s from %u to %u",
					option->name, CLI_LIST_MAX,
					sizes ? "sizes" : "numbers", option->low,
					option->high);
	return EXIT_FINE;
}

int cli_take_list(const struct cli_option *option, char *argument, void *to)
{
	return take_items(option, argument, false, to);
}

int cli_take_sizes(const struct cli_option *option, char *argument, void *to)
{
	return take_items(option, argument, true, to);
}

json_t *cli_list_json(const struct cli_list *list)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < list->num; i++)
		array = pm_json_append(array, json_integer(list->values[i]));
	return array;
}
