/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* OpenSM's record of links that were served follows; see returns_settle. */
#include "returns_parts.h"

osm_physp_t *returns_find_physp(const osm_subn_t *subn, ib_net64_t guid, uint8_t num)
{
	osm_node_t *node = osm_get_node_by_guid(subn, guid);

	if (!node || num >= osm_node_get_num_physp(node))
		return NULL;
	return osm_node_get_physp_ptr(node, num);
}

/* Brings one end of OpenSM's record up to date. Returns whether it has the link. */
static bool settle_end(osm_physp_t *here, const osm_physp_t *there,
		       const struct served_end *end)
{
	bool linked = there && osm_physp_get_remote(here) == there &&
		      osm_physp_get_remote(there) == here;

	if (linked && osm_physp_get_port_state(here) != IB_LINK_ACTIVE)
		here->port_info = end->info;
	else if (!linked && osm_physp_get_port_state(here) > IB_LINK_INIT)
		ib_port_info_set_port_state(&here->port_info, IB_LINK_INIT);
	return linked;
}

/* A host of which the discovery saw the link down is kept from OpenSM's drop manager. */
static void keep_host(const osm_subn_t *subn, osm_physp_t *physp)
{
	osm_node_t *node = osm_physp_get_node_ptr(physp);
	osm_port_t *port = osm_get_port_by_guid(subn, osm_physp_get_port_guid(physp));
	uint8_t num = osm_physp_get_port_num(physp);

	if (node->sw || !port || node->physp_discovered[num])
		return;
	node->discovery_count += !node->discovery_count;
	node->physp_discovered[num] = 1;
	port->discovery_count++;
}

/* Links both ends, if OpenSM has both, and neither is linked to another port. */
static void relink(const osm_subn_t *subn, osm_physp_t *a, osm_physp_t *b)
{
	if (!a || !b || osm_physp_get_remote(a) || osm_physp_get_remote(b))
		return;
	osm_node_link(osm_physp_get_node_ptr(a), osm_physp_get_port_num(a),
		      osm_physp_get_node_ptr(b), osm_physp_get_port_num(b));
	keep_host(subn, a);
	keep_host(subn, b);
}

bool returns_settle_one(osm_subn_t *subn, const struct served *served, bool links)
{
	const struct served_end *ends = served->ends;
	osm_physp_t *a = returns_find_physp(subn, ends[0].guid, ends[0].num);
	osm_physp_t *b = returns_find_physp(subn, ends[1].guid, ends[1].num);
	bool linked;

	if (links)
		relink(subn, a, b);
	linked = a && settle_end(a, b, &ends[0]);

	if (b)
		linked &= settle_end(b, a, &ends[1]);
	return linked && b;
}

double returns_settle(struct returns *returns, osm_subn_t *subn, bool links)
{
	double first = 0;

	pthread_mutex_lock(&returns->lock);
	for (uint32_t i = 0; i < returns->num_served; i++) {
		const struct served *served = &returns->served[i];

		if (!returns->noted[served->lid] && /* else it may be down */
		    !returns_settle_one(subn, served, links) && first <= 0)
			first = served->at_ms;
	}
	pthread_mutex_unlock(&returns->lock);
	return first;
}

void returns_begin_sweep(struct returns *returns)
{
	pthread_mutex_lock(&returns->lock);
	returns->num_served = 0;
	returns->begun = clock_ms();
	pthread_mutex_unlock(&returns->lock);
}

/* Remembers a link for returns_settle. Without memory its next sweep sets it again. */
void returns_remember(struct returns *returns, const struct served *served)
{
	pthread_mutex_lock(&returns->lock);
	if (!pm_grow(&returns->served, &returns->served_room, returns->num_served + 1,
		     sizeof(*returns->served)))
		returns->served[returns->num_served++] = *served;
	pthread_mutex_unlock(&returns->lock);
}

/* Forgets links of a switch, which are read again. */
void returns_forget_served(struct returns *returns, const struct served_end *end)
{
	uint32_t num = 0;

	pthread_mutex_lock(&returns->lock);
	for (uint32_t i = 0; i < returns->num_served; i++) {
		const struct served_end *ends = returns->served[i].ends;

		if ((ends[0].guid != end->guid || ends[0].num != end->num) &&
		    (ends[1].guid != end->guid || ends[1].num != end->num))
			returns->served[num++] = returns->served[i];
	}
	returns->num_served = num;
	pthread_mutex_unlock(&returns->lock);
}
