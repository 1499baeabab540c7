/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notes that a netlist is several fabrics: parts with hosts that no cable joins. A CA
 * with ports in two parts does not forward packets, so it joins none.
 */
#include "netlist_parts.h"

#include <portmajor/base/alloc.h>
#include <portmajor/fabric/roles.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define SHOWN_PARTS 4

struct part {
	uint32_t hosts, node; /* node: its first switch in the text */
};

static uint32_t find_first(uint32_t *join, uint32_t node)
{
	while (join[node] != node) {
		join[node] = join[join[node]];
		node = join[node];
	}
	return node;
}

static bool is_switch_node(const struct pm_fabric *fabric, uint32_t node)
{
	return fabric->nodes[node].type == PM_SWITCH;
}

static void join_switches(const struct pm_fabric *fabric, uint32_t *join)
{
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		join[i] = i;
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t a = fabric->ports[i].node, b = pm_fabric_peer_node(fabric, i);

		if (b == PM_NONE || !is_switch_node(fabric, a) ||
		    !is_switch_node(fabric, b))
			continue;
		a = find_first(join, a);
		b = find_first(join, b);
		join[a > b ? a : b] = a > b ? b : a;
	}
}

static void count_part_hosts(const struct pm_fabric *fabric, uint32_t *join,
			     struct part *parts)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t sw = fabric->ports[i].node,
			 peer = pm_fabric_peer_node(fabric, i);

		if (is_switch_node(fabric, sw) && peer != PM_NONE &&
		    fabric->nodes[peer].type == PM_CA &&
		    !pm_is_aggregation_node(fabric, peer))
			parts[find_first(join, sw)].hosts++;
	}
}

/* Orders parts by their hosts, most first. */
static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->hosts != y->hosts)
		return x->hosts > y->hosts ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void note_parts(struct netlist *n, const struct part *parts, uint32_t count)
{
	char list[SHOWN_PARTS * 16] = "";
	uint32_t shown = count < SHOWN_PARTS ? count : SHOWN_PARTS, line = 0;
	size_t length = 0;

	for (uint32_t i = 0; i < shown; i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length,
					   "%s%" PRIu32,
					   !i		    ? ""
					   : i + 1 == count ? " and "
							    : ", ",
					   parts[i].hosts);
	for (uint32_t i = 0; i < count; i++)
		if (n->records[parts[i].node].line > line)
			line = n->records[parts[i].node].line;
	netlist_note(n, line,
		     "%" PRIu32 " parts without a cable between them, with %s%s hosts; "
		     "hosts of different parts have no path to each other",
		     count, list, shown < count ? " .." : "");
}

int netlist_note_islands(struct netlist *n)
{
	const struct pm_fabric *fabric = n->fabric;
	uint32_t *join = pm_array(fabric->num_nodes, sizeof(*join)), count = 0;
	struct part *parts = pm_array(fabric->num_nodes, sizeof(*parts));
	int rc = join && parts ? 0 : pm_error_no_memory(n->lexer.err);

	if (!rc) {
		join_switches(fabric, join);
		count_part_hosts(fabric, join, parts);
		for (uint32_t i = 0; i < fabric->num_nodes; i++)
			if (parts[i].hosts)
				parts[count++] = (struct part){parts[i].hosts, i};
		if (count > 1) {
			qsort(parts, count, sizeof(*parts), compare_parts);
			note_parts(n, parts, count);
		}
	}
	free(join);
	free(parts);
	return rc;
}
