/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fabric: nodes, ports and links in flat arrays joined by indexes.
 *
 * A fabric is built by pm_fabric_new, pm_fabric_add_node and pm_fabric_link, and then
 * sealed by pm_fabric_seal. Sealing sorts the nodes: switches before end nodes, each kind
 * by key, which is the GUID unless set otherwise. So nothing computed from a sealed
 * fabric depends on the order in which it was discovered or written down. Sealing voids
 * all indexes returned before.
 *
 * Callers read a sealed fabric's arrays. They change it only by pm_fabric_cut,
 * pm_fabric_rename and pm_roles_apply, and in the fields for LIDs and links.
 */
#ifndef PORTMAJOR_FABRIC_H
#define PORTMAJOR_FABRIC_H

#include <portmajor/base/error.h>

#include <stdbool.h>
#include <stdint.h>

#define PM_NONE UINT32_MAX /* "no index", for every uint32_t index */
#define PM_MAX_PORTS 254   /* highest port number (255 is "no port") */
#define PM_MAX_NODES 65536 /* more than there are unicast LIDs */

enum pm_node_type {
	PM_SWITCH,
	PM_CA,
	PM_ROUTER,
};

/*
 * The kind of end port at a switch's port; each kind is balanced by itself, see plan.h.
 */
enum pm_host {
	PM_NO_HOST,
	PM_COMPUTE, /* any end port without another role (roles.h) */
	PM_IO,	    /* an end port of an I/O node */
	PM_SERVICE, /* of a router, or an end node above the leaves; has a slot and a LID
		       as others have, but makes no switch a leaf */
	PM_AGGREGATION, /* of an aggregation node; likewise, and needs no path to others
			   of its kind but up and then down */
	PM_HOST_KINDS
};

/* Whether end ports of a kind make their switch no leaf. */
static inline bool pm_host_is_service(uint8_t host)
{
	return host == PM_SERVICE || host == PM_AGGREGATION;
}

/* Whether a switch is a root of the tree. */
enum pm_root {
	PM_NO_ROOT,
	PM_ROOT_NAMED,	 /* by the operator */
	PM_ROOT_GUESSED, /* in a skeleton: chosen when the plan was made */
};

struct pm_node {
	uint64_t guid;
	uint64_t key;  /* defines the order: the GUID, or for a replacement switch the old
			  switch's key */
	uint32_t name; /* offset into pm_fabric.names */
	uint32_t label;	     /* likewise, of the label, see pm_fabric_label */
	uint32_t first_port; /* index of port 0; port p is first_port + p */
	uint8_t type;	     /* enum pm_node_type */
	uint8_t num_ports;   /* highest port number, 1..PM_MAX_PORTS */
	uint8_t root;	     /* switches: enum pm_root */
	uint16_t device;     /* NodeInfo:DeviceID, 0: not known; a hint for roles */
};

struct pm_port {
	uint64_t guid; /* of the port; on a switch the node's GUID, but port 0 may have
			  its own */
	uint32_t node; /* index of the node it belongs to */
	uint32_t peer; /* index of the port at the other end, or PM_NONE */
	uint16_t lid;  /* base LID, 0 if none; switches: on port 0 */
	uint8_t lmc;   /* 0..7 */
	uint8_t num;   /* 0..num_ports; 0 is a switch's own port */
	uint8_t host;  /* sealed, of switches: enum pm_host of the attached end port; in a
			  skeleton also of a former one */
	uint8_t link;  /* width and speed of the link as this end reports them, a code of
			  link.h; 0: unknown */
	uint8_t named; /* 1: the operator named the end port's role (roles.h) */
};

struct pm_fabric {
	struct pm_node *nodes; /* sealed: switches by key, then the rest by key */
	struct pm_port *ports; /* sealed: in the order of the nodes */
	char *names;	       /* NUL-terminated strings, see pm_fabric_name */
	uint32_t num_nodes;
	uint32_t num_switches; /* sealed: nodes[0..num_switches) are switches */
	uint32_t num_ports;    /* length of ports[] */
	bool sealed;

	/* Room that is allocated; for fabric.c only. */
	uint32_t nodes_room, ports_room;
	uint32_t names_used, names_room;
	uint32_t *by_guid; /* sealed: node indexes sorted by GUID */
};

/* Returns an empty fabric, or NULL without memory. The caller frees it. */
struct pm_fabric *pm_fabric_new(void);
void pm_fabric_free(struct pm_fabric *fabric);

/*
 * Adds a node without links; its index goes to *node. The name, any string, is copied and
 * need not be unique. -EINVAL: num_ports is 0 or above PM_MAX_PORTS; -E2BIG: too many
 * nodes; -ENOMEM.
 */
int pm_fabric_add_node(struct pm_fabric *fabric, enum pm_node_type type, uint64_t guid,
		       unsigned int num_ports, const char *name, uint32_t *node,
		       struct pm_error *err);

/*
 * Joins two ports by a link.
 * -EINVAL: no such port, a port 0, a port with itself; -EEXIST: one of the
 * ports has a link already.
 */
int pm_fabric_link(struct pm_fabric *fabric, uint32_t node_a, unsigned int port_a,
		   uint32_t node_b, unsigned int port_b, struct pm_error *err);

/*
 * Seals the fabric, and labels its nodes (pm_fabric_label). Cost: O(nodes log nodes +
 * ports). -EEXIST: two nodes have one GUID; -ENOMEM. After an error only pm_fabric_free
 * may be called.
 */
int pm_fabric_seal(struct pm_fabric *fabric, struct pm_error *err);

/* A copy of a sealed fabric that the caller frees; NULL without memory. */
struct pm_fabric *pm_fabric_clone(const struct pm_fabric *fabric);

/*
 * The skeleton of a sealed fabric: its switches and the links between them, as a sealed
 * fabric with the same switch and port indexes. Where an end node is attached, `host` is
 * set and there is no peer. LIDs, widths and speeds are dropped: no plan depends on them.
 * The caller frees it; NULL without memory.
 */
struct pm_fabric *pm_fabric_skeleton(const struct pm_fabric *fabric);

/*
 * The union of a skeleton and a newer fabric: every switch, link and host port of either.
 * Where they contradict each other (a link ends elsewhere), the newer fabric counts. The
 * caller frees the result, a skeleton. -ENOMEM.
 */
int pm_fabric_merge(const struct pm_fabric *skeleton, const struct pm_fabric *now,
		    struct pm_fabric **merged, struct pm_error *err);

/*
 * Gives a node of a sealed fabric another GUID and name. Its key, and so its index,
 * stays. -EEXIST: another node has that GUID; -ENOMEM.
 */
int pm_fabric_rename(struct pm_fabric *fabric, uint32_t node, uint64_t guid,
		     const char *name, struct pm_error *err);

/* Whether a node has a link; without one the subnet manager cannot discover it. */
bool pm_fabric_has_link(const struct pm_fabric *fabric, uint32_t node);

/*
 * Counts a skeleton switch's end ports other than service ports. With usable[port]: the
 * present ones, even in slots that were always empty before. With NULL: the present and
 * the former ones. O(its ports).
 */
uint32_t pm_fabric_count_hosts(const struct pm_fabric *skeleton, uint32_t sw,
			       const uint8_t *usable);

/* Removes the link at this port, if there is one, also from a sealed fabric. */
void pm_fabric_cut(struct pm_fabric *fabric, uint32_t port);

/* The index of the node with this GUID in a sealed fabric, or PM_NONE. O(log n). */
uint32_t pm_fabric_find_guid(const struct pm_fabric *fabric, uint64_t guid);

/*
 * The port of a sealed fabric `to` with the same node GUID and number as a port of
 * `from`, or PM_NONE. O(log nodes).
 */
uint32_t pm_fabric_same_port(const struct pm_fabric *from, uint32_t port,
			     const struct pm_fabric *to);

/* A port and its search key. */
struct pm_port_key {
	uint64_t guid;
	uint32_t port;
};

/*
 * Ports that may have LIDs, by GUID: switches' port 0, and end ports with a link. The
 * caller frees them; NULL without memory. O(ports log ports).
 */
struct pm_port_key *pm_fabric_ports_by_guid(const struct pm_fabric *fabric,
					    uint32_t *count);

/* The port with this GUID, or PM_NONE. O(log count). */
uint32_t pm_ports_find(const struct pm_port_key *keys, uint32_t count, uint64_t guid);

/* The index of the first node with this name, or PM_NONE. O(nodes). */
uint32_t pm_fabric_find_name(const struct pm_fabric *fabric, const char *name);

static inline const char *pm_fabric_name(const struct pm_fabric *fabric, uint32_t node)
{
	return fabric->names + fabric->nodes[node].name;
}

/*
 * A node's label, for people to read: its name; "NAME (0xGUID)" if another node has the
 * same name; the GUID alone if several nodes have no name. Commands find operands by it
 * (pm_fabric_find_label). Sealing and renaming make labels; before sealing the label is
 * the name, and a skeleton has the labels of its fabric. Valid until the fabric is freed
 * or a node renamed.
 */
static inline const char *pm_fabric_label(const struct pm_fabric *fabric, uint32_t node)
{
	return fabric->names + fabric->nodes[node].label;
}

/*
 * The node named "NAME (0xGUID)", even if its name is unique, or PM_NONE. O(log nodes).
 */
uint32_t pm_fabric_find_label(const struct pm_fabric *fabric, const char *text);

/*
 * Goes over the ports of a node but port 0, as indexes into ports[] of a sealed fabric:
 *
 *	pm_for_each_port(i, fabric, node)
 *		links += fabric->ports[i].peer != PM_NONE;
 *
 * fabric and node are evaluated twice.
 */
#define pm_for_each_port(i, fabric, node)                                                \
	for (uint32_t i = (fabric)->nodes[node].first_port + 1,                          \
		      i##_end = i + (fabric)->nodes[node].num_ports;                     \
	     i < i##_end; i++)

/* The node at the other end of this port's link, or PM_NONE. */
static inline uint32_t pm_fabric_peer_node(const struct pm_fabric *fabric, uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	return peer == PM_NONE ? PM_NONE : fabric->ports[peer].node;
}

#endif
