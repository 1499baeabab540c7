/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds nodes by GUID, name or label, and ports by GUID. */
#include <portmajor/fabric/fabric.h>

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Nodes ---- */

struct wanted {
	const struct pm_fabric *fabric;
	uint64_t guid;
};

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *x = a;
	const uint32_t *node = b;
	uint64_t guid = x->fabric->nodes[*node].guid;

	return x->guid < guid ? -1 : x->guid > guid;
}

uint32_t pm_fabric_find_guid(const struct pm_fabric *fabric, uint64_t guid)
{
	const struct wanted wanted = {fabric, guid};
	const uint32_t *found =
		fabric->num_nodes ? bsearch(&wanted, fabric->by_guid, fabric->num_nodes,
					    sizeof(*fabric->by_guid), compare_wanted)
				  : NULL;

	return found ? *found : PM_NONE;
}

uint32_t pm_fabric_find_name(const struct pm_fabric *fabric, const char *name)
{
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (!strcmp(pm_fabric_name(fabric, i), name))
			return i;
	return PM_NONE;
}

uint32_t pm_fabric_find_label(const struct pm_fabric *fabric, const char *text)
{
	const char *guid_text = strrchr(text, '(');
	size_t length = strlen(text);
	const char *name;
	uint32_t node;
	char *end;

	if (!guid_text || guid_text < text + 1 || guid_text[-1] != ' ' ||
	    strncmp(guid_text, "(0x", 3) != 0 || text[length - 1] != ')')
		return PM_NONE;
	errno = 0;
	node = pm_fabric_find_guid(fabric, strtoull(guid_text + 1, &end, 16));
	if (errno || end != text + length - 1 || node == PM_NONE)
		return PM_NONE;
	name = pm_fabric_name(fabric, node);
	length = (size_t)(guid_text - 1 - text);
	return strlen(name) == length && !memcmp(name, text, length) ? node : PM_NONE;
}

/* ---- Ports by GUID ---- */

static int compare_ports(const void *a, const void *b)
{
	const struct pm_port_key *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

struct pm_port_key *pm_fabric_ports_by_guid(const struct pm_fabric *fabric,
					    uint32_t *count)
{
	struct pm_port_key *keys = pm_array(fabric->num_ports, sizeof(*keys));

	*count = 0;
	for (uint32_t i = 0; keys && i < fabric->num_ports; i++) {
		bool is_switch = fabric->ports[i].node < fabric->num_switches;

		if (is_switch ? !fabric->ports[i].num : fabric->ports[i].peer != PM_NONE)
			keys[(*count)++] = (struct pm_port_key){
				is_switch ? fabric->nodes[fabric->ports[i].node].guid
					  : fabric->ports[i].guid,
				i};
	}
	if (keys)
		qsort(keys, *count, sizeof(*keys), compare_ports);
	return keys;
}

static int compare_port_guid(const void *guid, const void *element)
{
	const uint64_t *x = guid;
	const struct pm_port_key *y = element;

	return *x < y->guid ? -1 : *x > y->guid;
}

uint32_t pm_ports_find(const struct pm_port_key *keys, uint32_t count, uint64_t guid)
{
	const struct pm_port_key *found =
		count ? bsearch(&guid, keys, count, sizeof(*keys), compare_port_guid)
		      : NULL;

	return found ? found->port : PM_NONE;
}
