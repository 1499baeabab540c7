/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ibsim's text: it counts GUIDs on from where a line says. */
#include "netlist_parts.h"

#include <errno.h>

/* It ignores lines that it does not know, so any text may be one. */
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
	/* It compares beginnings, too: "switchguids=" is "switchguid". */
	static const struct netlist_statement statements[] = {
		{"Switch", PM_SWITCH, netlist_parse_record},
		{"Hca", PM_CA, netlist_parse_record},
		{"Ca", PM_CA, netlist_parse_record},
		{"Rt", PM_ROUTER, netlist_parse_record},
		{"switchguid", PM_SWITCH, parse_guid},
		{"hcaguids", PM_CA, parse_guid},
		{"caguid", PM_CA, parse_guid},
		{"rtguid", PM_ROUTER, parse_guid},
	};

	return netlist_read_records(n, statements,
				    sizeof(statements) / sizeof(*statements));
}
