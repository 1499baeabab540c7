/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Any bytes give a fabric or an error with its line; see netlist.h. */
#include "fuzz.h"

#include <portmajor/netlist/netlist.h>

static void check_fabric(const struct pm_fabric *fabric)
{
	check(fabric->sealed && fabric->num_switches > 0);
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		check(pm_fabric_find_guid(fabric, fabric->nodes[i].guid) == i);
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer;

		check(peer == PM_NONE ||
		      (peer < fabric->num_ports && peer != i &&
		       fabric->ports[i].num > 0 && fabric->ports[peer].peer == i));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_fabric *fabric = NULL;
	struct pm_netlist_notes notes = {0};
	struct pm_error err = {""};
	int rc = pm_netlist_parse_noting((const char *)data, size, "in", &fabric, &notes,
					 &err);

	for (uint32_t i = 0; i < notes.count && i < PM_NETLIST_NOTES; i++)
		check(!strncmp(notes.first[i].text, "in:", 3));
	if (rc) {
		check(!notes.count);
		check(rc == -EINVAL && !fabric && !strncmp(err.text, "in:", 3));
		return 0;
	}
	check_fabric(fabric);
	pm_fabric_free(fabric);
	return 0;
}
