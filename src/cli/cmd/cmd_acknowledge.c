/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * portmajor acknowledge: marks missing and changed parts as intended, so that they are no
 * finding.
 */
#include "commands.h"
#include "missing_output.h"
#include "settle.h"
#include "text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* Missing parts, and then those at other places. */
static json_t *list_open(const json_t *root)
{
	const json_t *missing = json_object_get(root, "missing");
	const json_t *changed = json_object_get(root, "changed");
	json_t *list;

	if (!json_is_object(missing))
		return NULL;
	list = json_copy(json_object_get(missing, "parts"));
	json_array_extend(list, json_object_get(changed, "list"));
	return list;
}

static bool is_acknowledged(const json_t *part)
{
	return json_is_true(json_object_get(part, "acknowledged"));
}

/* "acknowledged leaf9, since ..", "moved        h3-3 from leaf3[3] to leaf4[4], .." */
static void print_part(const json_t *part)
{
	const char *kind = json_string_value(json_object_get(part, "kind"));
	bool changed = json_object_get(part, "was");
	char *name = changed ? cli_change_name(part) : cli_missing_name(part);

	printf("%-13s", is_acknowledged(part) ? "acknowledged"
			: changed && kind     ? kind
					      : "missing");
	cli_text_put(name);
	cli_text_print(part, ", since {@since}\n");
	free(name);
}

static const struct settle_kind kind = {
	.name = "acknowledge",
	.listed = "missing",
	.unknown = "neither missing nor changed (`portmajor acknowledge` lists what is)",
	.list = list_open,
	.print = print_part,
};

static const struct cli_option options[] = {
	{0, "all", NULL, "Acknowledge all missing parts and all changes.",
	 CLI_MEMBER(struct settle_request, all)},
	{.include = settle_options},
	{0},
};

static const struct cli_command command = {
	.synopsis = "acknowledge [OPTION]... [--all | PART...]",
	.about = "Acknowledge that parts are missing or changed by intent. Missing parts "
		 "are still listed, but are no finding of `portmajor status` until they "
		 "return; cables, hosts and switches at another place belong there from "
		 "then on. PART is a switch, one end of a link (leaf5:20) or a host. "
		 "After that, or without operands, list what is missing or changed. Exit "
		 "status 1, for a list or with --wait, if any part is not acknowledged.",
	.options = options,
	.max_operands = INT_MAX,
};

int cmd_acknowledge(int argc, char **argv)
{
	return settle_run(&kind, &command, argc, argv);
}
