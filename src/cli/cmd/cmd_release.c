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
	 "Release all links on hold; also end a failover, so that portmajor "
	 "fails back.",
	 CLI_MEMBER(struct settle_request, all)},
	{.include = settle_options},
	{0},
};

static const struct cli_command command = {
	.synopsis = "release [OPTION]... [--all | LINK...]",
	.about = "Use links on hold again: the plugin puts links that go down again and "
		 "again on hold, out of the tables. LINK is one end of a link (leaf5:20 "
		 "or leaf5[20]), both ends as printed (leaf5[20]-s1-line0[6]), or a "
		 "switch, for all its links on hold. After that, or without operands, "
		 "list the links on hold. Exit status 1, for a list or with --wait, if "
		 "any named link is on hold.",
	.options = options,
	.max_operands = INT_MAX,
};

int cmd_release(int argc, char **argv)
{
	return settle_run(&kind, &command, argc, argv);
}
