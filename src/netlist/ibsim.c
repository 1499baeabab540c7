/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads ibsim's text. GUIDs count up from a base that the text sets. */
#include "netlist_parts.h"

#include <errno.h>

/* ibsim ignores lines that it does not know, so any text may be one for it. */
bool ibsim_recognise(struct pm_text text)
{
	(void)text;
	return true;
}

/* `caguid=0x..` sets the base, `hcaguids+0x..` counts from the last base. */
static int parse_guid(struct netlist *n, struct pm_text rest, enum pm_node_type type)
{
	const char *sign = pm_text_find(rest, '=');
	bool relative = !sign;
	uint64_t value;
	int rc;

	if (relative)
		sign = pm_text_find(rest, '+');
	if (!sign)
		return pm_lexer_fail(&n->lexer, "no '=' or '+' before the GUID");
	rest.at = sign + 1;
	rc = netlist_need_number(n, &rest, 0, "GUID", &value);
	if (rc)
		return rc;
	if (!relative)
		n->guid_base[type] = value;
	n->guid_next[type] = n->guid_base[type] + (relative ? value : 0);
	return 0;
}

int ibsim_read(struct netlist *n)
{
	return netlist_read_records(n, parse_guid);
}
