/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stores a fabric's texts, and makes labels. Switches and adapters often have their model
 * as name, so the label of an ambiguous name has the GUID.
 */
#include "fabric_parts.h"

#include <portmajor/base/alloc.h>
#include <portmajor/base/hash.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define SUFFIX 22 /* bytes of " (0x0123456789abcdef)" */

int fabric_add_text(struct pm_fabric *fabric, const char *text, uint32_t *offset)
{
	size_t size = strlen(text) + 1;

	if (size > UINT32_MAX / 4 - fabric->names_used)
		return -E2BIG;
	if (pm_grow(&fabric->names, &fabric->names_room,
		    fabric->names_used + (uint32_t)size, 1))
		return -ENOMEM;
	memcpy(fabric->names + fabric->names_used, text, size);
	*offset = fabric->names_used;
	fabric->names_used += (uint32_t)size;
	return 0;
}

/* Makes the label of a name that is not unique; an empty name gets the GUID alone. */
static int add_label(struct pm_fabric *fabric, uint32_t name, uint64_t guid,
		     uint32_t *offset)
{
	const char *text = fabric->names + name;
	size_t size = strlen(text) + SUFFIX;
	char *label = malloc(size);
	int rc;

	if (!label)
		return -ENOMEM;
	snprintf(label, size, *text ? "%s (0x%016" PRIx64 ")" : "%s0x%016" PRIx64, text,
		 guid);
	rc = fabric_add_text(fabric, label, offset);
	free(label);
	return rc;
}

/*
 * Marks nodes that share a name, with PM_NONE as label. slot[] is a hash table of the
 * first node of each name, as its index + 1; its size is a power of two.
 */
static void mark_shared(struct pm_fabric *fabric, uint32_t *slot, uint32_t room)
{
	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		struct pm_node *node = &fabric->nodes[i];
		const char *name = fabric->names + node->name;
		uint64_t at = pm_hash(PM_HASH_START, name, strlen(name));

		node->label = node->name;
		for (at ^= at >> 32; slot[at & (room - 1)]; at++) {
			struct pm_node *first = &fabric->nodes[slot[at & (room - 1)] - 1];

			if (strcmp(fabric->names + first->name, name) != 0)
				continue;
			first->label = node->label = PM_NONE;
			break;
		}
		if (node->label != PM_NONE)
			slot[at & (room - 1)] = i + 1;
	}
}

int label_nodes(struct pm_fabric *fabric)
{
	uint32_t room = 16, *slot;
	int rc = 0;

	while (room < 2 * fabric->num_nodes)
		room *= 2;
	slot = pm_array(room, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	mark_shared(fabric, slot, room);
	for (uint32_t i = 0; i < fabric->num_nodes && !rc; i++)
		if (fabric->nodes[i].label == PM_NONE)
			rc = add_label(fabric, fabric->nodes[i].name,
				       fabric->nodes[i].guid, &fabric->nodes[i].label);
	free(slot);
	return rc;
}

/* Counts the other nodes with this name, up to 2; *first: the first of them. */
static unsigned int count_others(const struct pm_fabric *fabric, uint32_t node,
				 uint32_t name, uint32_t *first)
{
	const char *text = fabric->names + name;
	unsigned int count = 0;

	for (uint32_t i = 0; i < fabric->num_nodes && count < 2; i++)
		if (i != node && !strcmp(pm_fabric_name(fabric, i), text) && !count++)
			*first = i;
	return count;
}

int label_renamed(struct pm_fabric *fabric, uint32_t node, uint64_t guid, uint32_t name)
{
	struct pm_node *nodes = fabric->nodes;
	uint32_t left = node, same = node, label = name, its;
	bool is_other = strcmp(pm_fabric_name(fabric, node), fabric->names + name) != 0;
	unsigned int num_left = count_others(fabric, node, nodes[node].name, &left);
	unsigned int num_same = count_others(fabric, node, name, &same);
	int rc = 0;

	its = nodes[same].label;
	if (num_same)
		rc = add_label(fabric, name, guid, &label);
	if (!rc && num_same && its == nodes[same].name)
		rc = add_label(fabric, its, nodes[same].guid, &its);
	if (rc)
		return rc;
	nodes[same].label = its;
	if (is_other && num_left == 1)
		nodes[left].label = nodes[left].name;
	nodes[node].label = label;
	return 0;
}
