/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps OpenSM's nodes and ports in flat arrays; one walk finds changes. */
#include "subnet_cache.h"

#include <portmajor/base/hash.h>
#include <portmajor/fabric/link.h>

#include <string.h>

/* Flags of a port; 0: nothing is there. */
#define STATE 0x0f /* the port's state, as OpenSM has it */
#define HEALTHY 0x10
#define LINKED 0x20    /* the other end is the learnt one */
#define THERE 0x40     /* its node was found in this sweep */
#define OTHER_LID 0x80 /* its LID is not the one it should have */

/* Levels of OpenSM's tree of nodes at which the list of nodes is cut. */
#define LEVELS 3

static bool is_switch(const osm_node_t *node)
{
	return osm_node_get_type(node) == IB_NODE_TYPE_SWITCH;
}

static unsigned int highest_port(const osm_node_t *node)
{
	return osm_node_get_num_physp((osm_node_t *)(uintptr_t)node) - 1u;
}

/* Whether a node is present, and can be copied. */
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

static bool is_last_node(const osm_subn_t *subn, const osm_node_t *node)
{
	return &node->map_item == cl_qmap_end(&subn->node_guid_tbl);
}

#define FOR_EACH_NODE(node, subn)                                                        \
	for (const osm_node_t *node = first_node(subn); !is_last_node(subn, node);       \
	     node = next_node(node))

static osm_physp_t *port_of(const osm_node_t *node, unsigned int num)
{
	return osm_node_get_physp_ptr((osm_node_t *)(uintptr_t)node, num);
}

#define AHEAD 4	    /* ports or nodes that are fetched ahead .. */
#define FETCHED 192 /* .. with the bytes of a port that are read */

/* A port may report a state that does not exist: OpenSM ignores it. */
static bool is_state_up(uint8_t state)
{
	return state >= IB_LINK_INIT && state <= IB_LINK_ACTIVE;
}

/* ---- Finding ---- */

static bool is_same(const struct subnet_cache_node *n, const osm_node_t *node)
{
	return n->key == cl_qmap_key(&node->map_item) && n->ports == highest_port(node) &&
	       n->is_switch == is_switch(node);
}

/* A part of OpenSM's list of nodes, and its first node in the cache. */
struct part {
	const osm_node_t *at, *end;
	struct subnet_cache_node *n;
};

/* The first learnt node with this key or a higher one. */
static struct subnet_cache_node *find_place_of(struct subnet_cache *cache, uint64_t key)
{
	uint32_t low = 0, high = cache->num_nodes;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (cache->nodes[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return &cache->nodes[low];
}

/* The upper levels of OpenSM's tree: top[1] is its root; 2i and 2i + 1 are below i. */
static void find_top(const osm_subn_t *subn, const cl_map_item_t *top[1u << LEVELS])
{
	const cl_map_item_t *nil = &subn->node_guid_tbl.nil;

	top[1] = subn->node_guid_tbl.root.p_left;
	for (size_t i = 1; i < 1u << (LEVELS - 1); i++) {
		top[2 * i] = top[i] == nil ? nil : top[i]->p_left;
		top[2 * i + 1] = top[i] == nil ? nil : top[i]->p_right;
	}
}

/* Cuts the list at these nodes, from left to right; returns the number of parts. */
static uint32_t cut_list(struct subnet_cache *cache, const osm_subn_t *subn,
			 struct part parts[1u << LEVELS])
{
	const osm_node_t *end = (const osm_node_t *)cl_qmap_end(&subn->node_guid_tbl);
	const cl_map_item_t *top[1u << LEVELS];
	uint32_t num = 1;

	find_top(subn, top);
	parts[0] = (struct part){first_node(subn), end, cache->nodes};
	for (uint32_t i = 1; i < 1u << LEVELS; i++) {
		uint32_t height = (uint32_t)__builtin_ctz(i);
		const cl_map_item_t *item =
			top[(1u << (LEVELS - 1 - height)) + (i >> (height + 1))];

		if (item == &subn->node_guid_tbl.nil)
			continue;
		parts[num - 1].end = (const osm_node_t *)item;
		parts[num++] = (struct part){(const osm_node_t *)item, end,
					     find_place_of(cache, item->key)};
	}
	return num;
}

/* Finds a part's next node; false if it differs from the learnt one. */
static bool find_next(struct subnet_cache *cache, struct part *part)
{
	const struct subnet_cache_node *end = cache->nodes + cache->num_nodes;
	const osm_node_t *node = part->at;
	uint64_t key = cl_qmap_key(&node->map_item);

	part->at = next_node(node);
	cache->num_found += node->discovery_count != 0;
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
 * Finds the cached nodes that are still present; false if there are others. Both lists
 * are in the order of keys, so nodes that have gone are passed over. A walk over a list
 * waits for memory at each node, so the parts of the list are walked side by side. Call
 * forget_nodes before releasing the lock, whatever this returns.
 */
static bool find_nodes(struct subnet_cache *cache, const osm_subn_t *subn)
{
	struct part parts[1u << LEVELS];
	uint32_t num = cut_list(cache, subn, parts);
	bool more = true;

	cache->num_found = 0;
	cache->num_listed = (uint32_t)cl_qmap_count(&subn->node_guid_tbl);
	while (more) {
		more = false;
		for (uint32_t i = 0; i < num; i++) {
			if (parts[i].at == parts[i].end)
				continue;
			if (!find_next(cache, &parts[i]))
				return false;
			more = true;
		}
	}
	return true;
}

static void forget_nodes(struct subnet_cache *cache)
{
	for (uint32_t i = 0; i < cache->num_nodes; i++)
		cache->nodes[i].here = NULL;
}

/* end nodes have no port 0 */
static unsigned int first_port(const struct subnet_cache_node *n)
{
	return n->is_switch ? 0 : 1;
}

/* ---- Reading ---- */

/* Whether a link leads to the learnt end. */
static bool is_linked(const struct subnet_cache *cache,
		      const struct subnet_cache_port *port, const osm_physp_t *remote)
{
	const struct subnet_cache_node *node;

	if (port->peer == PM_NONE)
		return false;
	node = &cache->nodes[port->remote];
	return node->here && remote == &node->here->physp_table[port->peer - node->first];
}

/*
 * Reads a port's link as flags; false if the link is not in the cache. A link to a node
 * that cannot be used is none.
 */
static bool read_link(const struct subnet_cache *cache,
		      const struct subnet_cache_port *port, const osm_physp_t *physp,
		      uint8_t state, uint8_t *flags)
{
	const osm_physp_t *remote = physp->p_remote_physp;

	*flags = physp->healthy ? HEALTHY : 0;
	if (!remote)
		return true;
	if (is_linked(cache, port, remote))
		*flags |= LINKED;
	else if (is_state_up(state) && is_usable(remote->p_node))
		return false;
	return true;
}

static bool read_port(const struct subnet_cache *cache,
		      const struct subnet_cache_port *port, const osm_physp_t *physp,
		      uint8_t *flags)
{
	uint8_t state = ib_port_info_get_port_state(&physp->port_info) & STATE;

	if (!read_link(cache, port, physp, state, flags))
		return false;
	*flags |= (uint8_t)(THERE | state);
	if (port->has_lid && cl_ntoh16(physp->port_info.base_lid) != port->lid)
		*flags |= OTHER_LID;
	return true;
}

struct subnet_cache_link subnet_cache_link_of(const osm_physp_t *physp)
{
	const ib_port_info_t *info = &physp->port_info;
	struct subnet_cache_link link = {info->link_width_active, info->link_speed,
					 info->link_speed_ext, 0};

	if (link.speed >> 4 == IB_LINK_SPEED_ACTIVE_10 && !(link.extended >> 4))
		link.fdr10 = physp->ext_port_info.link_speed_active;
	return link;
}

/* The highest LID in a switch's table, which begins with LID 0. */
static uint16_t highest_lid(const osm_switch_t *sw)
{
	uint16_t room = cl_ntoh16(sw->switch_info.lin_cap);

	return room ? (uint16_t)(room - 1) : 0;
}

/*
 * A port is fetched some iterations before it is read, then the other end of its link.
 * OpenSM's ports are 1.7 kB apart, so that the processor does not foresee the next ones.
 */
void subnet_cache_fetch(const osm_physp_t *physp)
{
	for (size_t at = 0; at < FETCHED; at += 64)
		__builtin_prefetch((const char *)physp + at);
}

static void fetch_port(const osm_node_t *node, unsigned int num)
{
	subnet_cache_fetch(&node->physp_table[num]);
}

static void fetch_ahead(const osm_node_t *node, unsigned int num, unsigned int last)
{
	if (num + 2 * AHEAD <= last)
		fetch_port(node, num + 2 * AHEAD);
	if (num + AHEAD <= last)
		__builtin_prefetch(node->physp_table[num + AHEAD].p_remote_physp);
}

static bool read_node(struct subnet_cache *cache, const struct subnet_cache_node *n)
{
	uint16_t odd = 0;

	cache->flags[n->first] = THERE;
	for (unsigned int p = first_port(n); p <= n->ports; p++) {
		fetch_ahead(n->here, p, n->ports);
		uint8_t *flags = &cache->flags[n->first + p];
		const osm_physp_t *physp = port_of(n->here, p);

		*flags = THERE;
		if (!physp)
			continue;
		if (!read_port(cache, &cache->ports[n->first + p], physp, flags))
			return false;
		/* An end node's port loses its LID, too, which is_lid_unchanged finds. */
		if (n->is_switch && !n->here->physp_discovered[p])
			cache->doubtful |= (*flags & LINKED) != 0;
		if (n->is_switch && !cache->ports[n->first + p].reported)
			cache->links[n->first + p] = subnet_cache_link_of(physp);
		odd = (uint16_t)(odd + (p && !is_state_up(*flags & STATE) &&
					(*flags & STATE) != IB_LINK_DOWN));
	}
	if (n->is_switch)
		cache->switches[cache->num_switches++] = (struct pm_lft_capacity){
			cl_ntoh64(n->key), highest_lid(n->here->sw), odd};
	return true;
}

static bool read_all(struct subnet_cache *cache, const osm_subn_t *subn,
		     struct lock_share *share)
{
	bool same = find_nodes(cache, subn);

	memset(cache->flags, 0, cache->num_ports);
	cache->num_switches = 0;
	cache->doubtful = false;
	for (uint32_t i = 0; i < cache->num_nodes && same; i++) {
		const struct subnet_cache_node *next = &cache->nodes[i + AHEAD];

		if (i + AHEAD < cache->num_nodes && next->here && next->ports)
			fetch_port(next->here, 1);
		if (cache->nodes[i].here)
			same = read_node(cache, &cache->nodes[i]);
		lock_share_step(share);
		same &= cl_qmap_count(&subn->node_guid_tbl) == cache->num_listed;
	}
	forget_nodes(cache);
	return same;
}

static bool can_join(uint8_t flags)
{
	return (flags & HEALTHY) && is_state_up(flags & STATE);
}

/* Whether a port has a link to a usable node that is up. */
static bool leads_on(const struct subnet_cache *cache, uint32_t port)
{
	uint32_t peer = cache->ports[port].peer;

	return peer != PM_NONE && (cache->flags[port] & LINKED) &&
	       can_join(cache->flags[port]) && can_join(cache->flags[peer]);
}

/* Returns whether all links are known ones, and all ports have their LIDs. */
static bool join_nodes(struct subnet_cache *cache)
{
	bool same = true;

	for (uint32_t i = 0; i < cache->num_ports; i++) {
		uint8_t flags = cache->flags[i];
		bool connected = flags && leads_on(cache, i);

		cache->connected[i] = (uint8_t)(!flags ? 0 : 1 + connected);
		if ((connected && !cache->ports[i].used) ||
		    ((flags & OTHER_LID) &&
		     (connected || cache->nodes[cache->ports[i].node].is_switch)))
			same = false;
	}
	return same;
}

bool subnet_cache_refresh(struct subnet_cache *cache, const osm_subn_t *subn,
			  struct lock_share *share)
{
	return cache->plan && subn->sm_port_guid == cache->sm_guid &&
	       read_all(cache, subn, share) && join_nodes(cache);
}

/* ---- Unchanged parts ---- */

/* The port at a LID in OpenSM's table, if it is the one that should have the LID. */
static const osm_port_t *find_by_lid(const struct subnet_cache_port *port,
				     const osm_subn_t *subn)
{
	const osm_port_t *end = NULL;

	if (port->lid && port->lid < cl_ptr_vector_get_size(&subn->port_lid_tbl))
		end = cl_ptr_vector_get(&subn->port_lid_tbl, port->lid);
	return end && end->guid == port->guid ? end : NULL;
}

/* Finds a node by a port's LID, as for most, or by GUID; NULL: it has gone. */
static const osm_node_t *find_again(const struct subnet_cache *cache,
				    const osm_subn_t *subn,
				    const struct subnet_cache_node *n)
{
	const struct subnet_cache_port *port = &cache->ports[n->first + first_port(n)];
	const osm_port_t *end = port->has_lid ? find_by_lid(port, subn) : NULL;
	const cl_map_item_t *item;

	if (end)
		return end->p_node;
	item = cl_qmap_get(&subn->node_guid_tbl, n->key);
	return item == cl_qmap_end(&subn->node_guid_tbl) ? NULL
							 : (const osm_node_t *)item;
}

static bool was_there(const struct subnet_cache *cache, const struct subnet_cache_node *n)
{
	return cache->flags[n->first] != 0;
}

/*
 * Finds the cached nodes; false if one has gone. Counting nodes finds changes, too:
 * between discovery and routing no node comes, and nodes that were not found are dropped
 * before all others.
 */
static bool find_all_again(struct subnet_cache *cache, const osm_subn_t *subn)
{
	uint32_t listed = (uint32_t)cl_qmap_count(&subn->node_guid_tbl);

	if (listed != cache->num_listed && listed != cache->num_found)
		return false;
	for (uint32_t i = 0; i < cache->num_nodes; i++) {
		struct subnet_cache_node *n = &cache->nodes[i];

		if (!was_there(cache, n))
			continue;
		n->here = find_again(cache, subn, n);
		if (!n->here || (n->is_switch && !is_same(n, n->here)))
			return false;
	}
	return true;
}

/* OpenSM's port. End nodes are compared here, as few have to be queried themselves. */
static const osm_physp_t *own_port(const struct subnet_cache_node *n, unsigned int num)
{
	return n->is_switch || is_same(n, n->here) ? &n->here->physp_table[num] : NULL;
}

/* The members that are read are adjacent: the time goes into waiting for memory. */
static bool is_link_unchanged(const struct subnet_cache *cache,
			      const struct subnet_cache_port *port,
			      const osm_physp_t *physp, uint8_t before)
{
	uint8_t now;

	return physp && read_link(cache, port, physp, before & STATE, &now) &&
	       now == (before & (HEALTHY | LINKED));
}

/* Whether the port still has its LID, if it had it, by OpenSM's table. */
static bool is_lid_unchanged(const struct subnet_cache_port *port, const osm_subn_t *subn,
			     const struct subnet_cache_node *n, unsigned int num)
{
	const osm_physp_t *physp;

	if (port->lid && port->lid < cl_ptr_vector_get_size(&subn->port_lid_tbl))
		return find_by_lid(port, subn) != NULL;
	physp = own_port(n, num);
	return physp && cl_ntoh16(physp->port_info.base_lid) == port->lid;
}

static bool is_node_unchanged(const struct subnet_cache *cache, const osm_subn_t *subn,
			      const struct subnet_cache_node *n)
{
	for (unsigned int p = first_port(n); p <= n->ports; p++) {
		const struct subnet_cache_port *port = &cache->ports[n->first + p];
		uint8_t before = cache->flags[n->first + p];

		if (!port->reported &&
		    !is_link_unchanged(cache, port, own_port(n, p), before))
			return false;
		/* a port with another LID is not used */
		if (port->has_lid && !(before & OTHER_LID) &&
		    !is_lid_unchanged(port, subn, n, p))
			return false;
	}
	return true;
}

/* Whether OpenSM has cut no link, and dropped no node but those that were not found. */
static bool is_settled(const struct subnet_cache *cache, const osm_subn_t *subn)
{
	return !cache->doubtful && !subn->subnet_initialization_error &&
	       (uint32_t)cl_qmap_count(&subn->node_guid_tbl) == cache->num_found;
}

/* Compares LIDs alone, by OpenSM's table of LIDs; false: more has to be compared. */
static bool are_lids_unchanged(const struct subnet_cache *cache, const osm_subn_t *subn)
{
	for (uint32_t i = 0; i < cache->num_nodes; i++) {
		const struct subnet_cache_node *n = &cache->nodes[i];
		unsigned int last = n->is_switch ? 0 : n->ports;

		for (unsigned int p = first_port(n); p <= last && was_there(cache, n);
		     p++) {
			const struct subnet_cache_port *port =
				&cache->ports[n->first + p];

			if (!(cache->flags[n->first + p] & OTHER_LID) &&
			    !find_by_lid(port, subn))
				return false;
		}
	}
	return true;
}

bool subnet_cache_is_unchanged(struct subnet_cache *cache, const osm_subn_t *subn,
			       bool heard)
{
	bool same;

	if (!cache->plan || subn->sm_port_guid != cache->sm_guid)
		return false;
	if (!heard && is_settled(cache, subn) && are_lids_unchanged(cache, subn))
		return true;
	same = find_all_again(cache, subn);
	for (uint32_t i = 0; i < cache->num_nodes && same; i++)
		if (was_there(cache, &cache->nodes[i]))
			same = is_node_unchanged(cache, subn, &cache->nodes[i]);
	forget_nodes(cache);
	return same;
}

/* ---- Learning ---- */

static void count_nodes(struct subnet_cache *cache, const osm_subn_t *subn)
{
	FOR_EACH_NODE(node, subn)
		if (is_usable(node)) {
			cache->num_nodes++;
			cache->num_ports += highest_port(node) + 1;
			cache->num_switches += is_switch(node);
		}
}

static int make_cache_room(struct subnet_cache *cache, struct pm_error *err)
{
	struct pm_pool *pool = &cache->pool;
	uint32_t ports = cache->num_ports;

	cache->nodes = pm_pool_array(pool, cache->num_nodes, sizeof(*cache->nodes));
	cache->ports = pm_pool_array(pool, ports, sizeof(*cache->ports));
	cache->flags = pm_pool_array(pool, ports, 1);
	cache->links = pm_pool_array(pool, ports, sizeof(*cache->links));
	cache->connected = pm_pool_array(pool, ports, 1);
	cache->kept = pm_pool_array(pool, ports, 1);
	cache->switches =
		pm_pool_array(pool, cache->num_switches, sizeof(*cache->switches));
	return pm_pool_check(pool, err);
}

static void learn_port(struct subnet_cache *cache, uint32_t node, unsigned int num)
{
	const struct subnet_cache_node *n = &cache->nodes[node];
	struct subnet_cache_port *port = &cache->ports[n->first + num];
	const osm_physp_t *physp = port_of(n->here, num);

	*port = (struct subnet_cache_port){
		.peer = PM_NONE, .node = node, .planned = PM_NONE};
	if (!physp)
		return;
	port->has_lid = n->is_switch == (num == 0);
	port->lid = cl_ntoh16(physp->port_info.base_lid);
	if (!port->has_lid)
		return;
	port->guid = osm_physp_get_port_guid(physp);
	if (port->guid == cache->sm_guid)
		cache->sm = n->first + num;
}

static void learn_nodes(struct subnet_cache *cache, const osm_subn_t *subn)
{
	uint32_t index = 0, first = 0;

	FOR_EACH_NODE(node, subn)
		if (is_usable(node)) {
			cache->nodes[index] = (struct subnet_cache_node){
				node, cl_qmap_key(&node->map_item), first,
				(uint8_t)highest_port(node), is_switch(node)};
			for (unsigned int p = 0; p <= cache->nodes[index].ports; p++)
				learn_port(cache, index, p);
			first += cache->nodes[index++].ports + 1u;
		}
}

/* The number of a node, or PM_NONE if it cannot be used. */
static uint32_t find_cached(struct subnet_cache *cache, const osm_node_t *node)
{
	struct subnet_cache_node *n = find_place_of(cache, cl_qmap_key(&node->map_item));
	uint32_t index = (uint32_t)(n - cache->nodes);

	return index < cache->num_nodes && n->here == node ? index : PM_NONE;
}

static void find_peer(struct subnet_cache *cache, struct subnet_cache_port *port,
		      const osm_physp_t *remote)
{
	uint32_t node = find_cached(cache, remote->p_node);

	if (node == PM_NONE || remote->port_num > cache->nodes[node].ports)
		return;
	port->remote = node;
	port->peer = cache->nodes[node].first + remote->port_num;
}

static void find_peers(struct subnet_cache *cache)
{
	for (uint32_t i = 0; i < cache->num_ports; i++) {
		struct subnet_cache_port *port = &cache->ports[i];
		const struct subnet_cache_node *n = &cache->nodes[port->node];
		const osm_physp_t *physp = port_of(n->here, i - n->first);

		if (physp && physp->p_remote_physp)
			find_peer(cache, port, physp->p_remote_physp);
	}
	cache->regular = true;
	for (uint32_t i = 0; i < cache->num_ports; i++) {
		uint32_t peer = cache->ports[i].peer;

		if (peer != PM_NONE && (peer == i || cache->ports[peer].peer != i ||
					i == cache->nodes[cache->ports[i].node].first))
			cache->regular = false;
	}
}

/*
 * Whether the link at a port is read at this end: at the switch's, or at the first of
 * two. Port 0 has none, and end nodes are not read for unusable links.
 */
static bool is_reported(const struct subnet_cache *cache, uint32_t port)
{
	const struct subnet_cache_port *p = &cache->ports[port];

	if (!p->used)
		return p->has_lid || !cache->nodes[p->node].is_switch;
	if (p->has_lid != cache->ports[p->peer].has_lid)
		return p->has_lid;
	return p->peer < port;
}

int subnet_cache_learn(struct subnet_cache *cache, const osm_subn_t *subn,
		       struct pm_error *err)
{
	int rc;

	subnet_cache_forget(cache);
	count_nodes(cache, subn);
	rc = make_cache_room(cache, err);
	if (rc) {
		subnet_cache_forget(cache);
		return rc;
	}
	cache->sm_guid = subn->sm_port_guid;
	cache->sm = PM_NONE;
	learn_nodes(cache, subn);
	find_peers(cache);
	forget_nodes(cache);
	(void)read_all(cache, subn, NULL);
	(void)join_nodes(cache);
	for (uint32_t i = 0; i < cache->num_ports; i++) {
		struct subnet_cache_port *port = &cache->ports[i];

		port->used = subnet_cache_is_connected(cache, i);
		port->reported = is_reported(cache, i);
		if (port->reported)
			cache->links[i] = (struct subnet_cache_link){0};
	}
	return 0;
}

void subnet_cache_forget(struct subnet_cache *cache)
{
	pm_pool_free(&cache->pool);
	*cache = (struct subnet_cache){.sm = PM_NONE};
}

/* ---- With a plan ---- */

static void bind_switch(struct subnet_cache *cache, const struct subnet_cache_node *n)
{
	const struct pm_fabric *topology = cache->plan->topology;
	uint32_t there = pm_fabric_find_guid(topology, cl_ntoh64(n->key));

	for (uint32_t p = 0; there != PM_NONE && p <= n->ports; p++)
		if (p <= topology->nodes[there].num_ports)
			cache->ports[n->first + p].planned =
				topology->nodes[there].first_port + p;
}

/* The place of an end port with a link, or of a switch's own port; or PM_NONE. */
static uint32_t find_place(const struct subnet_cache *cache, uint32_t port)
{
	const struct subnet_cache_port *p = &cache->ports[port];
	uint32_t place = p->planned;

	if (!cache->nodes[p->node].is_switch)
		place = subnet_cache_is_connected(cache, port)
				? cache->ports[p->peer].planned
				: PM_NONE;
	return place != PM_NONE && cache->plan->lid[place] ? place : PM_NONE;
}

void subnet_cache_bind(struct subnet_cache *cache, const struct pm_plan *plan)
{
	cache->plan = plan;
	for (uint32_t i = 0; i < cache->num_nodes; i++)
		if (cache->nodes[i].is_switch)
			bind_switch(cache, &cache->nodes[i]);
	for (uint32_t i = 0; i < cache->num_ports; i++) {
		struct subnet_cache_port *port = &cache->ports[i];
		uint32_t place = port->has_lid ? find_place(cache, i) : PM_NONE;

		if (place != PM_NONE)
			port->lid = plan->lid[place];
	}
}

uint64_t subnet_cache_hash(const struct subnet_cache *cache)
{
	uint64_t hash = cache->num_ports;

	for (uint32_t i = 0; i < cache->num_ports; i++) {
		const struct subnet_cache_port *port = &cache->ports[i];
		const struct subnet_cache_link *link = &cache->links[i];

		hash = pm_hash_mix(hash, (uint64_t)port->peer << 32 |
						 (uint64_t)port->lid << 8 |
						 cache->flags[i]);
		hash = pm_hash_mix(
			hash, (uint64_t)link->width << 24 | (uint64_t)link->speed << 16 |
				      (uint64_t)link->extended << 8 | link->fdr10);
	}
	return hash | 1;
}

void subnet_cache_keep(struct subnet_cache *cache)
{
	memcpy(cache->kept, cache->connected, cache->num_ports);
}

bool subnet_cache_is_kept(const struct subnet_cache *cache)
{
	return !memcmp(cache->kept, cache->connected, cache->num_ports);
}

#define FOR_EACH_SWITCH_PORT(i, cache)                                                   \
	for (const struct subnet_cache_node *n = (cache)->nodes;                         \
	     n != (cache)->nodes + (cache)->num_nodes; n++)                              \
		for (uint32_t i = n->first, end = n->is_switch ? i + n->ports + 1u : i;  \
		     i < end; i++)

static bool is_planned_link(const struct subnet_cache *cache, uint32_t port)
{
	return cache->ports[port].planned != PM_NONE &&
	       subnet_cache_is_connected(cache, port);
}

void subnet_cache_see(const struct subnet_cache *cache, uint8_t *discovered)
{
	memset(discovered, 0, cache->plan->topology->num_ports);
	FOR_EACH_SWITCH_PORT(i, cache)
		if (is_planned_link(cache, i))
			discovered[cache->ports[i].planned] = 1;
}

bool subnet_cache_sees_any(const struct subnet_cache *cache, const uint8_t *ports,
			   uint8_t most)
{
	if (!cache->plan)
		return false;
	FOR_EACH_SWITCH_PORT(i, cache)
		if (is_planned_link(cache, i) && ports[cache->ports[i].planned] &&
		    ports[cache->ports[i].planned] <= most)
			return true;
	return false;
}

/* A link's code; unknown bits are ignored. */
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

uint8_t subnet_cache_link(const struct subnet_cache *cache, uint32_t port)
{
	uint8_t code = code_of(&cache->links[port]);

	return code ? code : code_of(&cache->links[cache->ports[port].peer]);
}

void subnet_cache_links(const struct subnet_cache *cache, uint8_t *link)
{
	memset(link, 0, cache->plan->topology->num_ports);
	FOR_EACH_SWITCH_PORT(i, cache)
		if (is_planned_link(cache, i))
			link[cache->ports[i].planned] = code_of(&cache->links[i]);
}

uint32_t subnet_cache_sm_place(const struct subnet_cache *cache)
{
	return cache->sm == PM_NONE || !cache->flags[cache->sm]
		       ? PM_NONE
		       : find_place(cache, cache->sm);
}

void subnet_cache_find_doubt(const struct subnet_cache *cache, const uint8_t *discovered,
			     const struct subnet_cache_doubt *doubt)
{
	const struct pm_fabric *topology = cache->plan->topology;

	memcpy(doubt->stayed, discovered, topology->num_ports);
	for (uint32_t i = 0; i < topology->num_ports; i++)
		doubt->silent[i] = !discovered[i] && topology->ports[i].peer != PM_NONE;
	FOR_EACH_SWITCH_PORT(i, cache) {
		uint8_t state = cache->flags[i] & STATE;
		uint32_t port, peer;

		if (!cache->flags[i] || state > IB_LINK_INIT)
			continue;
		port = cache->ports[i].planned;
		if (port == PM_NONE)
			continue;
		peer = topology->ports[port].peer;
		if (peer == PM_NONE)
			continue;
		doubt->stayed[port] = doubt->stayed[peer] = 0;
		if (state == IB_LINK_DOWN)
			doubt->silent[port] = doubt->silent[peer] = 0;
	}
}
