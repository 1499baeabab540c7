/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor acknowledge: marks missing parts as intended, so that they are no finding. */
#include "commands.h"
#include "missing_output.h"
#include "settle.h"
#include "text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *list_missing(const json_t *root)
{
	return json_object_get(json_object_get(root, "missing"), "parts");
}

static bool is_acknowledged(const json_t *part)
{
	return json_is_true(json_object_get(part, "acknowledged"));
}

/* "acknowledged leaf9, since .." */
static void print_part(const json_t *part)
{
	char *name = cli_missing_name(part);

	printf("%-13s", is_acknowledged(part) ? "acknowledged" : "missing");
	cli_text_put(name);
	cli_text_print(part, ", since {@since}\n");
	free(name);
}

static const struct settle_kind kind = {
	.name = "acknowledge",
	.listed = "missing",
	.unknown = "not missing (`portmajor acknowledge` lists what is)",
	.list = list_missing,
	.print = print_part,
};

static const struct cli_option options[] = {
	{0, "all", NULL, "all that is missing", CLI_MEMBER(struct settle_request, all)},
	{.include = settle_options},
	{0},
};

static const struct cli_command command = {
	.synopsis = "acknowledge [OPTION]... [--all | PART...]",
	.about =
		"Has a running OpenSM note that parts are missing by intent: `portmajor "
		"status` shows them, and they are no finding and raise no alert until they "
		"have returned. PART is the name, a pattern with * and ?, or the GUID of a "
		"switch, an end of a link (SWITCH:PORT), or the name or port of a host. "
		"Then, or without operands, lists what is missing. Exit status 1, for a list or "
		"with --wait, if any of it is not acknowledged.",
	.options = options,
	.max_operands = INT_MAX,
};

int cmd_acknowledge(int argc, char **argv)
{
	return settle_run(&kind, &command, argc, argv);
}
