/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ibnetdiscover's text: the line before a record has its GUID. */
#include "netlist_parts.h"

#include <errno.h>

/* It begins with comments, and says in one of these what it is. */
bool ibnetdiscover_recognise(struct pm_text text)
{
	struct pm_lexer lexer = {.rest = text};
	struct pm_text line;

	while (pm_lexer_next(&lexer, &line)) {
		if (pm_text_starts(line, "# Topology file:"))
			return true;
		if (!pm_text_is_empty(line) && !pm_text_next_is(line, '#'))
			return false;
	}
	return false;
}

/* `switchguid=0x5442ba00003080(5442ba00003080)` or `caguid=0x8f10403961354` */
static int parse_guid(struct netlist *n, struct pm_text rest, enum pm_node_type type)
{
	if (!pm_text_skip_past(&rest, "="))
		return pm_lexer_fail(&n->lexer, "no '=' before the GUID");
	return netlist_need_number(n, &rest, 0, "GUID", &n->guid_next[type]);
}

int ibnetdiscover_read(struct netlist *n)
{
	return netlist_read_records(n, parse_guid);
}
