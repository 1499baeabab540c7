/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* OpenSM's nodes and ports in flat arrays, and one walk that tells what changed. */
#include "subnet_cache.h"

#include <portmajor/fabric/link.h>

#include <string.h>

/* What a look finds of a port; 0: nothing is there. */
#define STATE 0x0f /* of the port, as OpenSM has it */
#define HEALTHY 0x10
#define LINKED 0x20    /* the other end is the one that was learnt */
#define THERE 0x40     /* its node was seen in this sweep */
#define OTHER_LID 0x80 /* than it has to have */

/* Of OpenSM's tree of nodes, at which its list is cut. */
#define LEVELS 3

static bool is_switch(const osm_node_t *node)
{
	return osm_node_get_type(node) == IB_NODE_TYPE_SWITCH;
}

static unsigned int highest_port(const osm_node_t *node)
{
	return osm_node_get_num_physp((osm_node_t *)(uintptr_t)node) - 1u;
}

/* Whether it is there, and can be copied. */
static bool is_usable(const osm_node_t *node)
{
	return node->discovery_count != 0 && (node->sw || !is_switch(node)) &&
	       highest_port(node) >= 1 &&
	       (node->sw || highest_port(node) <= PM_MAX_PORTS);
}

static const osm_node_t *first_node(const osm_subn_t *subn)
{
	return (const osm_node_t *)cl_qmap_head(&subn->node_guid_tbl);
}

static const osm_node_t *next_node(const osm_node_t *node)
{
	return (const osm_node_t *)cl_qmap_next(&node->map_item);
}

static bool is_end(const osm_subn_t *subn, const osm_node_t *node)
{
	return &node->map_item == cl_qmap_end(&subn->node_guid_tbl);
}

#define FOR_EACH_NODE(node, subn)                                                        \
	for (const osm_node_t *node = first_node(subn); !is_end(subn, node);             \
	     node = next_node(node))

static osm_physp_t *port_of(const osm_node_t *node, unsigned int num)
{
	return osm_node_get_physp_ptr((osm_node_t *)(uintptr_t)node, num);
}

/* Not all states that a port may tell are any: OpenSM does nothing with the others. */
static bool is_up(uint8_t state)
{
	return state >= IB_LINK_INIT && state <= IB_LINK_ACTIVE;
}

/* ---- Finding ---- */

static bool is_same(const struct subnet_cache_node *n, const osm_node_t *node)
{
	return n->key == cl_qmap_key(&node->map_item) && n->ports == highest_port(node) &&
	       n->is_switch == is_switch(node);
}

/* A part of OpenSM's list of nodes, and what was learnt from where it begins. */
struct part {
	const osm_node_t *at, *end;
	struct subnet_cache_node *n;
};

/* The first one that was learnt with this key, or a higher one. */
static struct subnet_cache_node *find_place_of(struct glance *glance, uint64_t key)
{
	uint32_t low = 0, high = glance->num_nodes;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (glance->nodes[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return &glance->nodes[low];
}

/* The upper levels of OpenSM's tree: top[1] is its root, below top[i] are 2i and 2i + 1.
 */
static void find_top(const osm_subn_t *subn, const cl_map_item_t *top[1u << LEVELS])
{
	const cl_map_item_t *nil = &subn->node_guid_tbl.nil;

	top[1] = subn->node_guid_tbl.root.p_left;
	for (size_t i = 1; i < 1u << (LEVELS - 1); i++) {
		top[2 * i] = top[i] == nil ? nil : top[i]->p_left;
		top[2 * i + 1] = top[i] == nil ? nil : top[i]->p_right;
	}
}

/* Cuts the list at these, from left to right; returns the number of parts. */
static uint32_t cut(struct glance *glance, const osm_subn_t *subn,
		    struct part parts[1u << LEVELS])
{
	const osm_node_t *end = (const osm_node_t *)cl_qmap_end(&subn->node_guid_tbl);
	const cl_map_item_t *top[1u << LEVELS];
	uint32_t num = 1;

	find_top(subn, top);
	parts[0] = (struct part){first_node(subn), end, glance->nodes};
	for (uint32_t i = 1; i < 1u << LEVELS; i++) {
		uint32_t height = (uint32_t)__builtin_ctz(i);
		const cl_map_item_t *item =
			top[(1u << (LEVELS - 1 - height)) + (i >> (height + 1))];

		if (item == &subn->node_guid_tbl.nil)
			continue;
		parts[num - 1].end = (const osm_node_t *)item;
		parts[num++] = (struct part){(const osm_node_t *)item, end,
					     find_place_of(glance, item->key)};
	}
	return num;
}

/* Finds a part's next node; false if it is not as it was learnt. */
static bool find_next(struct glance *glance, struct part *part)
{
	const struct subnet_cache_node *end = glance->nodes + glance->num_nodes;
	const osm_node_t *node = part->at;
	uint64_t key = cl_qmap_key(&node->map_item);

	part->at = next_node(node);
	glance->num_found += node->discovery_count != 0;
	if (!is_usable(node))
		return true;
	while (part->n != end && part->n->key < key)
		part->n++;
	if (part->n == end || !is_same(part->n, node))
		return false;
	part->n++->here = node;
	return true;
}

/*
 * Finds what there is of what was learnt; false if there is anything else. Both are in
 * the order of their keys, so that what is gone is passed by. A list is walked at the
 * speed of memory that answers one question at a time, so its parts are walked side by
 * side. Call lose_nodes before the lock is released, whatever this returns.
 */
static bool find_nodes(struct glance *glance, const osm_subn_t *subn)
{
	struct part parts[1u << LEVELS];
	uint32_t num = cut(glance, subn, parts);
	bool more = true;

	glance->num_found = 0;
	glance->num_listed = (uint32_t)cl_qmap_count(&subn->node_guid_tbl);
	while (more) {
		more = false;
		for (uint32_t i = 0; i < num; i++) {
			if (parts[i].at == parts[i].end)
				continue;
			if (!find_next(glance, &parts[i]))
				return false;
			more = true;
		}
	}
	return true;
}

static void lose_nodes(struct glance *glance)
{
	for (uint32_t i = 0; i < glance->num_nodes; i++)
		glance->nodes[i].here = NULL;
}

/* End nodes have no port 0. */
static unsigned int first_port(const struct subnet_cache_node *n)
{
	return n->is_switch ? 0 : 1;
}

/* ---- Looking ---- */

/* Whether a cable leads to the end that was learnt. */
static bool is_linked(const struct glance *glance, const struct subnet_cache_port *port,
		      const osm_physp_t *remote)
{
	const struct subnet_cache_node *far;

	if (port->peer == PM_NONE)
		return false;
	far = &glance->nodes[port->far];
	return far->here && remote == &far->here->physp_table[port->peer - far->first];
}

/*
 * What a port says of its cable, as flags; false if it is one that was not learnt. One to
 * a node that cannot be used is none.
 */
static bool look_at_cable(const struct glance *glance,
			  const struct subnet_cache_port *port, const osm_physp_t *physp,
			  uint8_t state, uint8_t *flags)
{
	const osm_physp_t *remote = physp->p_remote_physp;

	*flags = physp->healthy ? HEALTHY : 0;
	if (!remote)
		return true;
	if (is_linked(glance, port, remote))
		*flags |= LINKED;
	else if (is_up(state) && is_usable(remote->p_node))
		return false;
	return true;
}

static bool look_at_port(const struct glance *glance,
			 const struct subnet_cache_port *port, const osm_physp_t *physp,
			 uint8_t *flags)
{
	uint8_t state = ib_port_info_get_port_state(&physp->port_info) & STATE;

	if (!look_at_cable(glance, port, physp, state, flags))
		return false;
	*flags |= (uint8_t)(THERE | state);
	if (port->has_lid && cl_ntoh16(physp->port_info.base_lid) != port->lid)
		*flags |= OTHER_LID;
	return true;
}

static struct subnet_cache_link link_of(const osm_physp_t *physp)
{
	const ib_port_info_t *info = &physp->port_info;
	struct subnet_cache_link link = {info->link_width_active, info->link_speed,
					 info->link_speed_ext, 0};

	if (link.speed >> 4 == IB_LINK_SPEED_ACTIVE_10 && !(link.extended >> 4))
		link.fdr10 = physp->ext_port_info.link_speed_active;
	return link;
}

/* The highest LID that a switch's table has room for: it begins with LID 0. */
static uint16_t highest_lid(const osm_switch_t *sw)
{
	uint16_t room = cl_ntoh16(sw->switch_info.lin_cap);

	return room ? (uint16_t)(room - 1) : 0;
}

static bool look_at_node(struct glance *glance, const struct subnet_cache_node *n)
{
	uint16_t odd = 0;

	glance->flags[n->first] = THERE;
	for (unsigned int p = first_port(n); p <= n->ports; p++) {
		uint8_t *flags = &glance->flags[n->first + p];
		const osm_physp_t *physp = port_of(n->here, p);

		*flags = THERE;
		if (!physp)
			continue;
		if (!look_at_port(glance, &glance->ports[n->first + p], physp, flags))
			return false;
		/* An end node's port loses its LID, too, which is looked for. */
		if (n->is_switch && !n->here->physp_discovered[p])
			glance->doubtful |= (*flags & LINKED) != 0;
		if (n->is_switch && !glance->ports[n->first + p].told)
			glance->links[n->first + p] = link_of(physp);
		odd = (uint16_t)(odd + (p && !is_up(*flags & STATE) &&
					(*flags & STATE) != IB_LINK_DOWN));
	}
	if (n->is_switch)
		glance->switches[glance->num_switches++] = (struct pm_lft_capacity){
			cl_ntoh64(n->key), highest_lid(n->here->sw), odd};
	return true;
}

static bool look_at_all(struct glance *glance, const osm_subn_t *subn)
{
	bool same = find_nodes(glance, subn);

	memset(glance->flags, 0, glance->num_ports);
	glance->num_switches = 0;
	glance->doubtful = false;
	for (uint32_t i = 0; i < glance->num_nodes && same; i++)
		if (glance->nodes[i].here)
			same = look_at_node(glance, &glance->nodes[i]);
	lose_nodes(glance);
	return same;
}

static bool can_join(uint8_t flags)
{
	return (flags & HEALTHY) && is_up(flags & STATE);
}

/* Whether a cable leads somewhere from here and is up. */
static bool leads_on(const struct glance *glance, uint32_t port)
{
	uint32_t peer = glance->ports[port].peer;

	return peer != PM_NONE && (glance->flags[port] & LINKED) &&
	       can_join(glance->flags[port]) && can_join(glance->flags[peer]);
}

/*
 * Returns whether there is no cable that was not learnt, and all who are to have LIDs
 * have those that they have to have.
 */
static bool join(struct glance *glance)
{
	bool same = true;

	for (uint32_t i = 0; i < glance->num_ports; i++) {
		uint8_t flags = glance->flags[i];
		bool joined = flags && leads_on(glance, i);

		glance->joined[i] = (uint8_t)(!flags ? 0 : 1 + joined);
		if ((joined && !glance->ports[i].used) ||
		    ((flags & OTHER_LID) &&
		     (joined || glance->nodes[glance->ports[i].node].is_switch)))
			same = false;
	}
	return same;
}

bool subnet_cache_look(struct glance *glance, const osm_subn_t *subn)
{
	return glance->plan && subn->sm_port_guid == glance->sm_guid &&
	       look_at_all(glance, subn) && join(glance);
}

/* ---- Whether it is unchanged ---- */

/* What OpenSM's table has for the LID that a port has to have, if that is the port. */
static const osm_port_t *find_by_lid(const struct subnet_cache_port *port,
				     const osm_subn_t *subn)
{
	const osm_port_t *end = NULL;

	if (port->lid && port->lid < cl_ptr_vector_get_size(&subn->port_lid_tbl))
		end = cl_ptr_vector_get(&subn->port_lid_tbl, port->lid);
	return end && end->guid == port->guid ? end : NULL;
}

/* By a port's LID, as most can be found, or by the GUID; NULL: it is not there. */
static const osm_node_t *find_again(const struct glance *glance, const osm_subn_t *subn,
				    const struct subnet_cache_node *n)
{
	const struct subnet_cache_port *port = &glance->ports[n->first + first_port(n)];
	const osm_port_t *end = port->has_lid ? find_by_lid(port, subn) : NULL;
	const cl_map_item_t *item;

	if (end)
		return end->p_node;
	item = cl_qmap_get(&subn->node_guid_tbl, n->key);
	return item == cl_qmap_end(&subn->node_guid_tbl) ? NULL
							 : (const osm_node_t *)item;
}

static bool was_there(const struct glance *glance, const struct subnet_cache_node *n)
{
	return glance->flags[n->first] != 0;
}

/*
 * Finds what was there; false if something is not. Nodes are counted besides, and not in
 * vain: between discovery and routing none comes, and those that were not found are
 * dropped before all others.
 */
static bool find_all_again(struct glance *glance, const osm_subn_t *subn)
{
	uint32_t listed = (uint32_t)cl_qmap_count(&subn->node_guid_tbl);

	if (listed != glance->num_listed && listed != glance->num_found)
		return false;
	for (uint32_t i = 0; i < glance->num_nodes; i++) {
		struct subnet_cache_node *n = &glance->nodes[i];

		if (!was_there(glance, n))
			continue;
		n->here = find_again(glance, subn, n);
		if (!n->here || (n->is_switch && !is_same(n, n->here)))
			return false;
	}
	return true;
}

/* OpenSM's port. End nodes are compared here: few have to be asked themselves. */
static const osm_physp_t *own_port(const struct subnet_cache_node *n, unsigned int num)
{
	return n->is_switch || is_same(n, n->here) ? &n->here->physp_table[num] : NULL;
}

/* What is read of a port lies side by side: the time goes into waiting for memory. */
static bool is_cable_unchanged(const struct glance *glance,
			       const struct subnet_cache_port *port,
			       const osm_physp_t *physp, uint8_t before)
{
	uint8_t now;

	return physp && look_at_cable(glance, port, physp, before & STATE, &now) &&
	       now == (before & (HEALTHY | LINKED));
}

/* Whether OpenSM's table has it with the LID that it has to have, if it had that. */
static bool is_lid_unchanged(const struct subnet_cache_port *port, const osm_subn_t *subn,
			     const struct subnet_cache_node *n, unsigned int num)
{
	const osm_physp_t *physp;

	if (port->lid && port->lid < cl_ptr_vector_get_size(&subn->port_lid_tbl))
		return find_by_lid(port, subn) != NULL;
	physp = own_port(n, num);
	return physp && cl_ntoh16(physp->port_info.base_lid) == port->lid;
}

static bool is_node_unchanged(const struct glance *glance, const osm_subn_t *subn,
			      const struct subnet_cache_node *n)
{
	for (unsigned int p = first_port(n); p <= n->ports; p++) {
		const struct subnet_cache_port *port = &glance->ports[n->first + p];
		uint8_t before = glance->flags[n->first + p];

		if (!port->told &&
		    !is_cable_unchanged(glance, port, own_port(n, p), before))
			return false;
		/* One with another LID is not joined. */
		if (port->has_lid && !(before & OTHER_LID) &&
		    !is_lid_unchanged(port, subn, n, p))
			return false;
	}
	return true;
}

/* Whether OpenSM has cut no cable and dropped no node but those that the look left out.
 */
static bool is_settled(const struct glance *glance, const osm_subn_t *subn)
{
	return !glance->doubtful && !subn->subnet_initialization_error &&
	       (uint32_t)cl_qmap_count(&subn->node_guid_tbl) == glance->num_found;
}

/* Of that it is enough to ask OpenSM's table of LIDs; false if that is not all. */
static bool are_lids_unchanged(const struct glance *glance, const osm_subn_t *subn)
{
	for (uint32_t i = 0; i < glance->num_nodes; i++) {
		const struct subnet_cache_node *n = &glance->nodes[i];
		unsigned int last = n->is_switch ? 0 : n->ports;

		for (unsigned int p = first_port(n); p <= last && was_there(glance, n);
		     p++) {
			const struct subnet_cache_port *port =
				&glance->ports[n->first + p];

			if (!(glance->flags[n->first + p] & OTHER_LID) &&
			    !find_by_lid(port, subn))
				return false;
		}
	}
	return true;
}

bool subnet_cache_is_unchanged(struct glance *glance, const osm_subn_t *subn, bool heard)
{
	bool same;

	if (!glance->plan || subn->sm_port_guid != glance->sm_guid)
		return false;
	if (!heard && is_settled(glance, subn) && are_lids_unchanged(glance, subn))
		return true;
	same = find_all_again(glance, subn);
	for (uint32_t i = 0; i < glance->num_nodes && same; i++)
		if (was_there(glance, &glance->nodes[i]))
			same = is_node_unchanged(glance, subn, &glance->nodes[i]);
	lose_nodes(glance);
	return same;
}

/* ---- Learning ---- */

static void count_nodes(struct glance *glance, const osm_subn_t *subn)
{
	FOR_EACH_NODE(node, subn)
	if (is_usable(node)) {
		glance->num_nodes++;
		glance->num_ports += highest_port(node) + 1;
		glance->num_switches += is_switch(node);
	}
}

static int make_room(struct glance *glance, struct pm_error *err)
{
	struct pm_pool *pool = &glance->pool;
	uint32_t ports = glance->num_ports;

	glance->nodes = pm_pool_array(pool, glance->num_nodes, sizeof(*glance->nodes));
	glance->ports = pm_pool_array(pool, ports, sizeof(*glance->ports));
	glance->flags = pm_pool_array(pool, ports, 1);
	glance->links = pm_pool_array(pool, ports, sizeof(*glance->links));
	glance->joined = pm_pool_array(pool, ports, 1);
	glance->kept = pm_pool_array(pool, ports, 1);
	glance->switches =
		pm_pool_array(pool, glance->num_switches, sizeof(*glance->switches));
	return pm_pool_check(pool, err);
}

static void learn_port(struct glance *glance, uint32_t node, unsigned int num)
{
	const struct subnet_cache_node *n = &glance->nodes[node];
	struct subnet_cache_port *port = &glance->ports[n->first + num];
	const osm_physp_t *physp = port_of(n->here, num);

	*port = (struct subnet_cache_port){
		.peer = PM_NONE, .node = node, .known = PM_NONE};
	if (!physp)
		return;
	port->has_lid = n->is_switch == (num == 0);
	port->lid = cl_ntoh16(physp->port_info.base_lid);
	if (!port->has_lid)
		return;
	port->guid = osm_physp_get_port_guid(physp);
	if (port->guid == glance->sm_guid)
		glance->sm = n->first + num;
}

static void learn_nodes(struct glance *glance, const osm_subn_t *subn)
{
	uint32_t index = 0, first = 0;

	FOR_EACH_NODE(node, subn)
	if (is_usable(node)) {
		glance->nodes[index] = (struct subnet_cache_node){
			node, cl_qmap_key(&node->map_item), first,
			(uint8_t)highest_port(node), is_switch(node)};
		for (unsigned int p = 0; p <= glance->nodes[index].ports; p++)
			learn_port(glance, index, p);
		first += glance->nodes[index++].ports + 1u;
	}
}

/* The number of a node, or PM_NONE: not one that can be used. */
static uint32_t find_node(struct glance *glance, const osm_node_t *node)
{
	struct subnet_cache_node *n = find_place_of(glance, cl_qmap_key(&node->map_item));
	uint32_t index = (uint32_t)(n - glance->nodes);

	return index < glance->num_nodes && n->here == node ? index : PM_NONE;
}

static void find_peer(struct glance *glance, struct subnet_cache_port *port,
		      const osm_physp_t *remote)
{
	uint32_t far = find_node(glance, remote->p_node);

	if (far == PM_NONE || remote->port_num > glance->nodes[far].ports)
		return;
	port->far = far;
	port->peer = glance->nodes[far].first + remote->port_num;
}

static void find_peers(struct glance *glance)
{
	for (uint32_t i = 0; i < glance->num_ports; i++) {
		struct subnet_cache_port *port = &glance->ports[i];
		const struct subnet_cache_node *n = &glance->nodes[port->node];
		const osm_physp_t *physp = port_of(n->here, i - n->first);

		if (physp && physp->p_remote_physp)
			find_peer(glance, port, physp->p_remote_physp);
	}
	glance->regular = true;
	for (uint32_t i = 0; i < glance->num_ports; i++) {
		uint32_t peer = glance->ports[i].peer;

		if (peer != PM_NONE && (peer == i || glance->ports[peer].peer != i ||
					i == glance->nodes[glance->ports[i].node].first))
			glance->regular = false;
	}
}

/*
 * Of the ends of a cable a switch's is asked, or the first one; port 0 has none, and end
 * nodes are not asked for cables that are of no use.
 */
static bool is_told(const struct glance *glance, uint32_t port)
{
	const struct subnet_cache_port *p = &glance->ports[port];

	if (!p->used)
		return p->has_lid || !glance->nodes[p->node].is_switch;
	if (p->has_lid != glance->ports[p->peer].has_lid)
		return p->has_lid;
	return p->peer < port;
}

int subnet_cache_learn(struct glance *glance, const osm_subn_t *subn,
		       struct pm_error *err)
{
	int rc;

	subnet_cache_forget(glance);
	count_nodes(glance, subn);
	rc = make_room(glance, err);
	if (rc) {
		subnet_cache_forget(glance);
		return rc;
	}
	glance->sm_guid = subn->sm_port_guid;
	glance->sm = PM_NONE;
	learn_nodes(glance, subn);
	find_peers(glance);
	lose_nodes(glance);
	(void)look_at_all(glance, subn);
	(void)join(glance);
	for (uint32_t i = 0; i < glance->num_ports; i++) {
		struct subnet_cache_port *port = &glance->ports[i];

		port->used = subnet_cache_is_joined(glance, i);
		port->told = is_told(glance, i);
		if (port->told)
			glance->links[i] = (struct subnet_cache_link){0};
	}
	return 0;
}

void subnet_cache_forget(struct glance *glance)
{
	pm_pool_free(&glance->pool);
	*glance = (struct glance){.sm = PM_NONE};
}

/* ---- With a plan ---- */

static void bind_switch(struct glance *glance, const struct subnet_cache_node *n)
{
	const struct pm_fabric *known = glance->plan->known;
	uint32_t there = pm_fabric_find_guid(known, cl_ntoh64(n->key));

	for (uint32_t p = 0; there != PM_NONE && p <= n->ports; p++)
		if (p <= known->nodes[there].num_ports)
			glance->ports[n->first + p].known =
				known->nodes[there].first_port + p;
}

/* The place of an end port with a cable or of a switch's own, or PM_NONE. */
static uint32_t find_place(const struct glance *glance, uint32_t port)
{
	const struct subnet_cache_port *p = &glance->ports[port];
	uint32_t place = p->known;

	if (!glance->nodes[p->node].is_switch)
		place = subnet_cache_is_joined(glance, port)
				? glance->ports[p->peer].known
				: PM_NONE;
	return place != PM_NONE && glance->plan->lid[place] ? place : PM_NONE;
}

void subnet_cache_bind(struct glance *glance, const struct pm_plan *plan)
{
	glance->plan = plan;
	for (uint32_t i = 0; i < glance->num_nodes; i++)
		if (glance->nodes[i].is_switch)
			bind_switch(glance, &glance->nodes[i]);
	for (uint32_t i = 0; i < glance->num_ports; i++) {
		struct subnet_cache_port *port = &glance->ports[i];
		uint32_t place = port->has_lid ? find_place(glance, i) : PM_NONE;

		if (place != PM_NONE)
			port->lid = plan->lid[place];
	}
}

void subnet_cache_keep(struct glance *glance)
{
	memcpy(glance->kept, glance->joined, glance->num_ports);
}

bool subnet_cache_is_kept(const struct glance *glance)
{
	return !memcmp(glance->kept, glance->joined, glance->num_ports);
}

/* Switches' ports, which are those that the plan knows. */
#define FOR_EACH_SWITCH_PORT(i, glance)                                                  \
	for (const struct subnet_cache_node *n = (glance)->nodes;                        \
	     n != (glance)->nodes + (glance)->num_nodes; n++)                            \
		for (uint32_t i = n->first, end = n->is_switch ? i + n->ports + 1u : i;  \
		     i < end; i++)

void subnet_cache_see(const struct glance *glance, uint8_t *seen)
{
	memset(seen, 0, glance->plan->known->num_ports);
	FOR_EACH_SWITCH_PORT(i, glance)
	if (glance->ports[i].known != PM_NONE && subnet_cache_is_joined(glance, i))
		seen[glance->ports[i].known] = 1;
}

bool glance_sees_any(const struct glance *glance, const uint8_t *ports)
{
	if (!glance->plan)
		return false;
	FOR_EACH_SWITCH_PORT(i, glance)
	if (glance->ports[i].known != PM_NONE && subnet_cache_is_joined(glance, i) &&
	    ports[glance->ports[i].known])
		return true;
	return false;
}

/* A code; bits that there are not tell nothing. */
static uint8_t code_of(const struct subnet_cache_link *link)
{
	static const uint8_t lanes[] = {[1] = 1, [2] = 4, [4] = 8, [8] = 12, [16] = 2};
	static const uint8_t speeds[] = {[1] = PM_SDR, [2] = PM_DDR, [4] = PM_QDR};
	static const uint8_t faster[] = {
		[1] = PM_FDR, [2] = PM_EDR, [4] = PM_HDR, [8] = PM_NDR};
	unsigned int speed = link->speed >> 4, extended = link->extended >> 4;
	enum pm_speed found = PM_SPEED_UNKNOWN;

	if (extended)
		found = (enum pm_speed)(extended < sizeof(faster) ? faster[extended] : 0);
	else if (speed < sizeof(speeds))
		found = (enum pm_speed)speeds[speed];
	if (link->fdr10 & 1)
		found = PM_FDR10;
	return pm_link_code(link->width < sizeof(lanes) ? lanes[link->width] : 0, found);
}

void subnet_cache_links(const struct glance *glance, uint8_t *link)
{
	memset(link, 0, glance->plan->known->num_ports);
	FOR_EACH_SWITCH_PORT(i, glance)
	if (glance->ports[i].known != PM_NONE && subnet_cache_is_joined(glance, i))
		link[glance->ports[i].known] = code_of(&glance->links[i]);
}

uint32_t subnet_cache_sm_place(const struct glance *glance)
{
	return glance->sm == PM_NONE || !glance->flags[glance->sm]
		       ? PM_NONE
		       : find_place(glance, glance->sm);
}

void subnet_cache_find_doubt(const struct glance *glance, const uint8_t *seen,
			     const struct subnet_cache_doubt *doubt)
{
	const struct pm_fabric *known = glance->plan->known;

	memcpy(doubt->stayed, seen, known->num_ports);
	for (uint32_t i = 0; i < known->num_ports; i++)
		doubt->silent[i] = !seen[i] && known->ports[i].peer != PM_NONE;
	FOR_EACH_SWITCH_PORT(i, glance)
	{
		uint8_t state = glance->flags[i] & STATE;
		uint32_t port, peer;

		if (!glance->flags[i] || state > IB_LINK_INIT)
			continue;
		port = glance->ports[i].known;
		if (port == PM_NONE)
			continue;
		peer = known->ports[port].peer;
		if (peer == PM_NONE)
			continue;
		doubt->stayed[port] = doubt->stayed[peer] = 0;
		if (state == IB_LINK_DOWN)
			doubt->silent[port] = doubt->silent[peer] = 0;
	}
}
