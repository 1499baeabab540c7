/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of numbers and sizes in options. */
#include "lists.h"

#include "json.h"
#include "output.h"

#include <string.h>

/* "12", or "12K" and "12M" where `sizes`. */
static bool read_number(char *text, bool sizes, uint64_t *number)
{
	size_t length = strlen(text);
	char *last = length ? text + length - 1 : text;
	uint64_t factor = 1;
	unsigned long value;

	if (sizes && (*last == 'K' || *last == 'M')) {
		factor = *last == 'K' ? 1000 : 1000000;
		*last = '\0';
	}
	if (!cli_number(text, 0, UINT32_MAX, &value))
		return false;
	*number = value * factor;
	return true;
}

/* The numbers of an item; false if it is none, or they are too many or out of range. */
static bool add_item(const struct cli_option *option, char *item, bool sizes,
		     struct cli_list *list)
{
	char *dots = strstr(item, "..");
	uint64_t first, last;

	if (dots)
		*dots = '\0';
	if (!read_number(item, sizes, &first))
		return false;
	last = first;
	if (dots && !read_number(dots + 2, sizes, &last))
		return false;
	if (first < option->low || last > option->high || first > last ||
	    (sizes && dots && !first))
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

static int take(const struct cli_option *option, char *argument, bool sizes, void *to)
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
	return take(option, argument, false, to);
}

int cli_take_sizes(const struct cli_option *option, char *argument, void *to)
{
	return take(option, argument, true, to);
}

json_t *cli_list_json(const struct cli_list *list)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < list->num; i++)
		array = cli_json_append(array, json_integer(list->values[i]));
	return array;
}
