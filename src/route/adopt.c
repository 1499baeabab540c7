/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adopts installed tables as preferred ports.
 *
 * Without its predecessor's plan, an SM assigns planes otherwise in a fabric with missing
 * parts: its tables are right, but many entries change for nothing. So installed entries
 * are kept that lead to their place by our rules, if all of them together are as good as
 * ours. That is: blocks name at most 5% more ports in all, so that no failure costs much
 * more; no port is idle; and no up port of a leaf carries over an eighth more. Tables of
 * other engines fail this, as each of their blocks names most ports.
 */
#include "route_parts.h"

#include <errno.h>

/* Measures of one switch's table. */
struct usage {
	uint64_t footprint;		   /* pairs of a block and a port in it */
	uint32_t load[PM_MAX_PORTS + 1];   /* [port] slots' LIDs */
	uint32_t most;			   /* the largest load of an up port */
	uint8_t visited[PM_MAX_PORTS + 1]; /* [port] in the present block */
};

/*
 * Whether an entry leads to its place by our rules, both with every link usable and with
 * the usable links. So an entry that a failure moved up is not adopted: it would lead up
 * for good, perhaps to a switch that sends down to this one.
 */
static bool is_right(const struct pm_routes *routes, uint32_t sw, uint32_t lid,
		     uint8_t num)
{
	const struct pm_node *n = route_node(routes, sw);
	uint32_t to = routes->to[lid].sw, port = n->first_port + num;
	bool down = pm_bits_test(pm_reach_down(&routes->whole, sw), to);

	if (num == 0 || num > n->num_ports || !routes->usable[port] ||
	    routes->plan->tree.direction[port] != (down ? PM_DOWN : PM_UP))
		return false;
	return pm_bits_test(route_reach_over(routes, &routes->now, port), to) &&
	       pm_bits_test(route_reach_over(routes, &routes->whole, port), to);
}

/* Whether a switch has a path to the LID's place, and is not the place's own switch. */
static bool has_path(const struct pm_routes *routes, uint32_t sw, uint32_t lid)
{
	uint32_t to = routes->to[lid].sw;

	return to != PM_NONE && to != sw &&
	       pm_bits_test(pm_reach_updown(&routes->now, sw), to);
}

/* The installed entry if it is right, else ours. */
static uint8_t entry(const struct pm_routes *routes, uint32_t sw, uint32_t lid,
		     const struct pm_installed *installed)
{
	if (installed && lid < installed->length &&
	    is_right(routes, sw, lid, installed->table[lid]))
		return installed->table[lid];
	return pm_routes_table(routes, sw)[lid];
}

static void measure_usage(const struct pm_routes *routes, uint32_t sw,
			  const struct pm_installed *installed, struct usage *usage)
{
	uint8_t num;

	memset(usage, 0, sizeof(*usage));
	for (uint32_t lid = 0; lid < routes->stride; lid++) {
		if (lid % PM_LFT_BLOCK == 0)
			memset(usage->visited, 0, sizeof(usage->visited));
		if (!has_path(routes, sw, lid))
			continue;
		num = entry(routes, sw, lid, installed);
		if (num > PM_MAX_PORTS)
			continue;
		usage->footprint += !usage->visited[num];
		usage->visited[num] = 1;
		usage->load[num] += routes->to[lid].port != 0;
	}
	pm_for_each_port(i, routes->plan->topology, sw) {
		num = routes->plan->topology->ports[i].num;
		if (routes->plan->tree.direction[i] == PM_UP &&
		    usage->load[num] > usage->most)
			usage->most = usage->load[num];
	}
}

/*
 * Whether a port that our entries use much is idle with installed ones: its links are
 * back.
 */
static bool idles(const struct usage *ours, const struct usage *theirs)
{
	for (uint32_t p = 1; p <= PM_MAX_PORTS; p++)
		if (ours->load[p] * 2 > ours->most && ours->load[p] > 3 &&
		    !theirs->load[p])
			return true;
	return false;
}

static bool has_slots(const struct pm_routes *routes, uint32_t sw)
{
	for (uint32_t i = routes->first_lid[sw]; i < routes->first_lid[sw + 1]; i++)
		if (routes->to[routes->lids_of[i]].port)
			return true;
	return false;
}

/* Compares installed tables with ours; *same: they are equal. */
static bool is_as_good(const struct pm_routes *routes,
		       const struct pm_installed *installed, bool lenient, bool *same)
{
	uint64_t theirs = 0, ours = 0;

	*same = true;
	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		struct usage here, there;

		if (!installed[sw].table)
			continue;
		measure_usage(routes, sw, NULL, &here);
		measure_usage(routes, sw, &installed[sw], &there);
		if (idles(&here, &there))
			return false;
		ours += here.footprint;
		theirs += there.footprint;
		/* A switch without links to the leaves below may be taken for a leaf. */
		if (pm_tree_is_leaf(&routes->plan->tree, sw) && has_slots(routes, sw) &&
		    there.most > here.most + here.most / 8 + 1)
			return false;
		for (uint32_t lid = 0; lid < routes->stride && *same; lid++)
			*same = !has_path(routes, sw, lid) ||
				entry(routes, sw, lid, &installed[sw]) ==
					pm_routes_table(routes, sw)[lid];
	}
	return lenient ? theirs * 20 <= ours * 21 : theirs <= ours;
}

int pm_routes_copy(const struct pm_routes *routes, struct pm_routes **copy,
		   struct pm_error *err)
{
	int rc = pm_routes_make(routes->plan, copy, err);

	for (uint32_t sw = 0; !rc && sw < routes->num_switches; sw++) {
		size_t at = (size_t)sw * routes->stride;

		if (!memcmp((*copy)->preferred + at, routes->preferred + at,
			    routes->stride))
			continue;
		route_touch_all(*copy, sw);
		(*copy)->irregular[sw] = 1;
		memcpy((*copy)->preferred + at, routes->preferred + at, routes->stride);
		(*copy)->whole_now = false;
		(*copy)->hub_index.is_made = false;
	}
	return rc;
}

bool pm_routes_adopt(struct pm_routes *routes, const struct pm_installed *installed,
		     bool lenient)
{
	bool same;

	if (!is_as_good(routes, installed, lenient, &same) || same)
		return false;
	routes->whole_now = false;
	routes->hub_index.is_made = false;
	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		uint8_t *row = routes->preferred + (size_t)sw * routes->stride;

		if (!installed[sw].table)
			continue;
		route_touch_all(routes, sw);
		routes->irregular[sw] = 1; /* planes do not have ports of their own */
		for (uint32_t lid = 0; lid < routes->stride; lid++)
			if (has_path(routes, sw, lid) && lid < installed[sw].length &&
			    is_right(routes, sw, lid, installed[sw].table[lid]))
				row[lid] = installed[sw].table[lid];
	}
	return true;
}

void pm_routes_prefer(struct pm_routes *routes, uint32_t sw, uint32_t number,
		      const uint8_t *entries)
{
	size_t at = (size_t)sw * routes->stride + (size_t)number * PM_LFT_BLOCK;

	if (!memcmp(routes->preferred + at, entries, PM_LFT_BLOCK))
		return;
	memcpy(routes->preferred + at, entries, PM_LFT_BLOCK);
	pm_bits_set(route_touched(routes, sw), number);
	routes->irregular[sw] = 1; /* planes do not have ports of their own */
	routes->indexed[sw] = 0;
	routes->whole_now = false;
	routes->hub_index.is_made = false;
}
