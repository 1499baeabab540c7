/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Preferred ports, with everything alive:
 *
 * At a leaf, traffic goes to the plane of the destination. Above, a
 * destination of a plane that runs through this switch (a native one) takes
 * the up port of a digit of its rank: rank mod n at level 1, rank / n mod n' at
 * level 2, and so on. As ranks count in subtree order, any n neighbours use
 * different ports, up and, mirrored, down again: this is the d-mod-k rule,
 * under which shift permutations meet nowhere in a full tree.
 *
 * Where leaves have unlike cables, that would leave up ports of some idle. So a leaf
 * deals some destinations out (deal.c):
 *
 *   over its cables to one first-level switch: those of planes through that switch,
 *   from leaves of its pod with fewer cables to it;
 *   over its cables into one component: likewise from leaves of other pods with
 *   fewer cables into that, as ranks in different pods have little in common;
 *   over all up ports that lead there: the rest of the planes that it lacks.
 *
 * Each of them counts for the port that serves fewest by then, those that are not
 * dealt counted first; so the ports end up as even as these allow. What a port gets
 * is a run of LIDs, so that a block has few ports, and the first run begins with
 * another port at every leaf, so that all leaves together send to one destination
 * over all planes. Compute ports, I/O ports, empty slots and switches are dealt each
 * by themselves, and with LMC so are the first LIDs of slots, the second ones and so
 * on. Where all leaves have the same planes nothing is dealt.
 *
 * Foreign destinations, whose planes run elsewhere, come only when their plane
 * is cut off somewhere. They take an up port by block instead of by LID, so
 * that losing an up port touches few blocks: `spread` ports for each block,
 * next to each other, moving on from block to block and from switch to switch.
 *
 * Going down, where several ports lead to the place, a native destination
 * takes the mirror image of its way up: the cable that its own subtree would
 * use for it. A foreign one is dealt over the cables likewise.
 *
 * Moved entries: the way down if there is one, else up. The candidates are the
 * ports that lead there in the whole tree, except the preferred one and those to
 * neighbours that this switch has no cable to any more. The entry takes number
 * key mod count, where the key is the destination's number plus that of the
 * switch, so that moved entries spread evenly over the ports at every switch,
 * and those of one destination over the planes. If that port does not lead
 * there now, it is struck off and the next choice made with key / count: what
 * found a port once seldom moves again when others are lost.
 */
#include "parts.h"

#include <math.h>

/* ---- Ports of a switch ---- */

/* Going one way, the ports to linked neighbours that led there in the whole tree. */
void route_list_leading(const struct pm_routes *routes, uint32_t sw, uint32_t to,
			enum pm_direction direction, struct ports *list)
{
	const struct pm_fabric *known = routes->plan->known;

	list->count = 0;
	pm_for_each_port(i, known, sw)
		if (routes->plan->tree.direction[i] == direction && routes->linked[i] &&
		    pm_bits_test(route_reach_over(routes, &routes->whole, i), to))
			list->num[list->count++] = known->ports[i].num;
}

/* ---- Foreign destinations ---- */

/* Slots per plane on average, at least 1. */
static uint32_t mean_slots(const struct pm_routes *routes)
{
	uint32_t slots = 0, planes = routes->plan->tree.num_planes;

	for (uint32_t lid = 0; lid < routes->stride; lid++)
		slots += routes->to[lid].sw != PM_NONE && routes->to[lid].port != 0;
	return slots > planes ? (slots + planes - 1) / planes : 1;
}

static uint32_t divide_up(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

/*
 * Spread: the fewest ports per block with which, after the loss of a plane, no
 * up port at level 1 carries more than 6% over an even share. In pairs (leaf
 * below, slot elsewhere): of the slots of a plane a part `elsewhere` is not in
 * the same pod, and each up port carries `native` pairs. The other planes take
 * over 1 / (planes - 1) each; of that a port carries its share of the blocks
 * that use it, and up to one pair more as leaves do not divide evenly.
 */
static uint32_t find_spread(const struct pm_routes *routes, uint32_t width)
{
	const struct pm_tree *tree = &routes->plan->tree;
	double planes = tree->num_planes, pods = tree->num_pods;
	double elsewhere = (pods - 1) / pods, leaves = tree->num_leaves / pods, native;
	uint32_t slots, blocks, spread = 1;

	if (tree->num_planes < 2)
		return 1;
	slots = mean_slots(routes);
	blocks = divide_up(slots, PM_LFT_BLOCK);
	native = slots * elsewhere * leaves / width;
	for (; spread < width; spread++) {
		uint32_t share = divide_up(divide_up(slots, blocks), spread);
		double more = ceil(share * elsewhere) *
				      divide_up(spread * blocks, width) * leaves /
				      (planes - 1) +
			      1;

		if (native + more <= 1.06 * native * planes / (planes - 1))
			break;
	}
	return spread;
}

void route_spread_foreign(struct pm_routes *routes, uint32_t width)
{
	routes->spread = find_spread(routes, width);
	for (uint32_t lid = 0; lid < routes->stride; lid++)
		routes->part[lid] = (uint8_t)(routes->to[lid].rank % routes->spread);
}

/* The first of the `spread` keys that a block has at a switch. */
static uint32_t block_key(const struct pm_routes *routes, uint32_t sw, uint32_t block)
{
	return (routes->plan->tree.position[sw] + block) * routes->spread;
}

uint32_t route_foreign_key(const struct pm_routes *routes, uint32_t sw, uint32_t lid)
{
	return block_key(routes, sw, lid / PM_LFT_BLOCK) + routes->part[lid];
}

/* Gives one port to its part of a block. Few instructions: many entries at a time. */
static void fill_part(const uint8_t *restrict part, uint8_t mine, uint8_t port,
		      uint8_t *restrict row)
{
	for (uint32_t i = 0; i < PM_LFT_BLOCK; i++)
		row[i] = part[i] == mine ? port : row[i];
}

/* Block by block, as nearly all entries above the leaves are foreign ones. */
void route_fill_foreign(const struct pm_routes *routes, uint32_t sw, struct up_ports up,
			uint8_t *row)
{
	for (uint32_t lid = 0; lid < routes->stride; lid += PM_LFT_BLOCK) {
		uint32_t at = block_key(routes, sw, lid / PM_LFT_BLOCK) % up.count;

		for (uint32_t k = 0; k < routes->spread; k++) {
			fill_part(routes->part + lid, (uint8_t)k, up.num[at], row + lid);
			at = at + 1 < up.count ? at + 1 : 0;
		}
	}
}
