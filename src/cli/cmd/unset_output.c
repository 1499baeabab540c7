/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Puts the plugin's list of switches without the tables in force into words. */
#include "unset_output.h"

#include "json.h"
#include "text.h"

#include <stdlib.h>

#define NAMED 4 /* switches in a sentence */

static const char *name_of(const json_t *sw)
{
	const char *name = cli_json_label(sw);

	return name && *name ? name : cli_json_text(sw, "guid");
}

/* The text with a further sentence; takes over the text. */
static char *add(char *text, const json_t *sw)
{
	json_int_t blocks = cli_json_number(sw, "blocks");
	const char *fault = json_is_true(json_object_get(sw, "different"))
				    ? "acknowledges LFT Sets with other content"
				    : "does not answer LFT Sets";
	char *more = cli_text_make("%s%s%s %s (%" JSON_INTEGER_FORMAT " block%s)",
				   text ? text : "", text ? ", " : "", name_of(sw), fault,
				   blocks, blocks == 1 ? "" : "s");

	free(text);
	return more;
}

char *cli_unset_finding(const json_t *unset)
{
	const json_t *list = json_object_get(unset, "list");
	size_t num = json_array_size(list);
	char *text = NULL, *more;

	for (size_t i = 0; i < num && i < NAMED; i++)
		text = add(text, json_array_get(list, i));
	if (num <= NAMED)
		return text;
	more = cli_text_make("%s, and so on: %zu switches", text, num);
	free(text);
	return more;
}
