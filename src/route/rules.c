/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rules of tables. First, preferred ports, with all links usable:
 *
 * At a leaf, traffic goes to the plane of the destination. Above, a destination of a
 * plane that runs through this switch (a native one) takes the up port of a digit of its
 * rank: rank mod n at level 1, rank / n mod n' at level 2, and so on. As ranks count in
 * subtree order, any n neighbours use different ports, up and, mirrored, down again. This
 * is the d-mod-k rule, under which no two flows of a shift permutation meet in a full
 * tree.
 *
 * Where leaves have different links, this alone would leave some up ports idle. So a leaf
 * assigns some destinations to ports (assign_ports.c):
 *
 *   to its links to one first-level switch: the destinations of planes through that
 *   switch, at leaves of its pod with fewer links to it;
 *   to its links into one component: likewise those at leaves of other pods with fewer
 *   links into that component, as ranks in different pods have little in common;
 *   to all up ports that lead there: the rest of the planes that it lacks.
 *
 * Each such destination takes the port with the fewest destinations so far; destinations
 * that need no assignment are counted before. So ports become as even as possible. A port
 * gets a run of LIDs, so that a block has few ports. The first run begins with another
 * port at every leaf, so that all leaves together send to one destination over all
 * planes. Compute ports, I/O ports, empty slots and switches are assigned separately, and
 * with LMC so are the first LIDs of slots, the second ones and so on. Then destinations
 * leave ports that have many more than others, because few ports lead to some leaf
 * (relief.c). Where all leaves have the same planes nothing is assigned.
 *
 * Where leaves have different links, also the digits of parallel planes begin apart
 * (index.c). One first-level switch sends all these planes up, and equal ranks would
 * meet on its links, and on those down to it.
 *
 * Foreign destinations (their planes run elsewhere) get traffic mainly if their own plane
 * cannot be used. Up ports are numbered from 0, those to one switch above side by side
 * (route_up). The entry takes port number key mod count, where `count` is the number of
 * up ports. `index` is the switch's among those of its level and component.
 *
 *   at level 1, key = index x step + part. Successive LIDs of a plane get the same port,
 *   so that the failure of an up port changes few blocks. The next port begins when
 *     - this port has its share of flows (a flow is a leaf that sends to a slot),
 *     - or a block ends,
 *     - or a pod ends, in trees where each pod has ports of its own.
 *   Shares fill a port of an even tree, after a component's failure, to the mean plus 7%,
 *   or plus one flow if that is more. They are smaller if that takes no more ports.
 *   `part` counts these ports; each plane's count begins a fixed number of ports
 *   after that of the plane before. `step` moves the ports from switch to switch.
 *   foreign.c sets share, part and step, and has the exceptions: LIDs in short runs, and
 *   slots with one flow more. (LIDs in blocks of aggregation nodes alone are foreign at
 *   every switch: index.c.)
 *
 *   above, key = index + rank: equally many for each port.
 *
 * Going down, where several ports lead to the place, a native destination takes the
 * mirror image of its path up: the link that its own subtree would use for it. A switch
 * beside that path leads to the path's switch one level lower, if it has a link to it. So
 * the plane's own link carries all traffic to the leaf that comes from other pods.
 * Foreign destinations fill the links from level 2 to a pod one after the other; above,
 * their key is index + rank + a number for each plane.
 *
 * Moved entries: a port down if one leads there, else up. The candidates, in the order of
 * their port numbers, are the ports that lead there in the whole tree, except the
 * preferred port and those to neighbours without any link to this switch now. The entry
 * takes the candidate with index key mod count. At a leaf the key is the destination's
 * index less the leaf's. Above, a native one's is its rank, divided as for the digit,
 * plus the switch's index; a foreign one's is the key of its preferred port, up or down.
 * So moved entries spread evenly over the ports of every switch, and those of one
 * destination over the planes. If that port does not lead there now, it is removed, and
 * the next choice uses key / count. So an entry that has moved seldom moves again at
 * other failures.
 *
 * The leaf's index is subtracted for the sake of shift permutations, where all leaves
 * send equally far: so the moved flows of all leaves take one plane. Each of them shares
 * a link up with one flow and a link down with another. With the latter, the next leaf's
 * moved flow shares its link up. So two flows of each leaf are halved; if planes differed
 * from leaf to leaf, it would be three.
 *
 * But the moved flows of a pod's leaves go to slots in a row, and in one plane they share
 * that plane's first-level switch. If more than SHARING slots in a row have the same
 * foreign port there, so many flows of the pod would meet on its link. So the pod's
 * leaves are indexed anew in groups of SHARING leaves (index.c): the leaves of a group
 * still take one plane, different groups different ones. Larger groups would get a little
 * more bandwidth in all, but the moved flows among them less.
 *
 * No load of all-to-all traffic may grow. Between pods none does, as each pod keeps the
 * indexes that it had. Flows within the pod do not go above level 1, and for these the
 * indexes are leaf_index. To a leaf's ports that makes no difference if the pod's other
 * leaves take each remaining plane equally often. Other pods keep their indexes.
 */
#include "route_parts.h"

/* ---- Ports of a switch ---- */

/*
 * Lists the ports, in one direction, to linked neighbours that led there in the whole
 * tree.
 */
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
