/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Preferred ports, with everything usable:
 *
 * At a leaf, traffic goes to the plane of the destination. Above, a
 * destination of a plane that runs through this switch (a native one) takes
 * the up port of a digit of its rank: rank mod n at level 1, rank / n mod n' at
 * level 2, and so on. As ranks count in subtree order, any n neighbours use
 * different ports, up and, mirrored, down again: this is the d-mod-k rule,
 * under which shift permutations meet nowhere in a full tree.
 *
 * Where leaves have unlike cables, that would leave up ports of some idle. So a leaf
 * assigns some destinations (assign_ports.c):
 *
 *   over its cables to one first-level switch: those of planes through that switch,
 *   from leaves of its pod with fewer cables to it;
 *   over its cables into one component: likewise from leaves of other pods with
 *   fewer cables into that, as ranks in different pods have little in common;
 *   over all up ports that lead there: the rest of the planes that it lacks.
 *
 * Each of them counts for the port that serves fewest by then, those that are not
 * assigned counted first; so the ports end up as even as these allow. What a port gets
 * is a run of LIDs, so that a block has few ports, and the first run begins with
 * another port at every leaf, so that all leaves together send to one destination
 * over all planes. Compute ports, I/O ports, empty slots and switches are assigned each
 * by themselves, and with LMC so are the first LIDs of slots, the second ones and so
 * on. Where all leaves have the same planes nothing is assigned.
 *
 * Foreign destinations (their planes run elsewhere) come only when their plane is cut off
 * somewhere. Those of a block fill one up port after the other (foreign.c), so that the
 * failure of an up port changes few blocks: as few ports for each block as have room,
 * next to each other, moving on from block to block and from switch to switch.
 *
 * Going down, where several ports lead to the place, a native destination
 * takes the mirror image of its way up: the cable that its own subtree would
 * use for it. Foreign ones fill the cables to a pod one after the other.
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
#include "route_parts.h"

/* ---- Ports of a switch ---- */

/* Going one way, the ports to linked neighbours that led there in the whole tree. */
void route_list_leading(const struct pm_routes *routes, uint32_t sw, uint32_t to,
			enum pm_direction direction, struct ports *list)
{
	const struct pm_fabric *topology = routes->plan->topology;

	list->count = 0;
	pm_for_each_port(i, topology, sw)
		if (routes->plan->tree.direction[i] == direction && routes->linked[i] &&
		    pm_bits_test(route_reach_over(routes, &routes->whole, i), to))
			list->num[list->count++] = topology->ports[i].num;
}
