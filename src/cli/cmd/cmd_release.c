/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor release: ends holds of flapping links. */
#include "commands.h"
#include "ends.h"
#include "json.h"
#include "settle.h"
#include "text.h"

#include <portmajor/files/requests.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *list_damped(const json_t *root)
{
	return json_incref(json_object_get(root, "flapping"));
}

static void print_damped(const json_t *flap)
{
	char *name = cli_ends_name(flap);

	cli_text_print(flap, "{state}");
	printf("%*s", (int)(9 - json_string_length(json_object_get(flap, "state"))), "");
	cli_text_put(name);
	cli_text_print(flap, ", {#downs|time|times} down, ");
	printf("%" JSON_INTEGER_FORMAT " s left\n",
	       (cli_json_number(flap, "left_ms") + 999) / 1000);
	free(name);
}

static const struct settle_kind kind = {
	.name = "release",
	.listed = "held",
	.unknown = "no link on hold (`portmajor release` lists these)",
	.masters = true,
	.by_switch = true,
	.list = list_damped,
	.is_listed = pm_request_is_held,
	.print = print_damped,
};

static const struct cli_option options[] = {
	{0, "all", NULL,
	 "all links on hold, and a fabric that is left to another engine for a while",
	 CLI_MEMBER(struct settle_request, all)},
	{.include = settle_options},
	{0},
};

static const struct cli_command command = {
	.synopsis = "release [OPTION]... [--all | LINK...]",
	.about = "Has a running OpenSM take links back into use that it keeps out as "
		 "they went down again and again. LINK is one end of it, SWITCH:PORT or "
		 "SWITCH[PORT], or both as status prints them, or a switch, for all of "
		 "its; the switch by name, pattern with * and ?, or GUID. Then, or "
		 "without operands, lists the links on hold. Exit status 1, for a list "
		 "or with --wait, if there is any, of those that were named.",
	.options = options,
	.max_operands = INT_MAX,
};

int cmd_release(int argc, char **argv)
{
	return settle_run(&kind, &command, argc, argv);
}
