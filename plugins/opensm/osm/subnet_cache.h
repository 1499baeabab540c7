/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * OpenSM's discovered subnet in flat arrays, in the order of its table of nodes. It is
 * learnt once, then compared in one walk that allocates nothing: a refresh. While a
 * refresh finds the same parts, or fewer, the plan stays, and its discovered parts are
 * known without making and matching a fabric.
 *
 *     learn (osm->lock) ---> bind to the plan ---> refresh (osm->lock) ---> see, doubt
 *                                                    ^   |
 *                                                    '---'
 *
 * OpenSM may free nodes and ports when its lock is released. So the cache keeps GUIDs and
 * port numbers, and each refresh finds OpenSM's nodes anew in its table. Functions with a
 * subn need osm->lock held, shared at least.
 */
#ifndef PORTMAJOR_SUBNET_CACHE_H
#define PORTMAJOR_SUBNET_CACHE_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include "lock_share.h"

#include <portmajor/base/pool.h>
#include <portmajor/plan/plan.h>
#include <portmajor/policy/lft_capacity.h>

struct subnet_cache_node {
	const osm_node_t *here; /* during a refresh, if the node is present; else NULL */
	uint64_t key;		/* in OpenSM's table: the GUID as on the wire */
	uint32_t first;		/* index of port 0 */
	uint8_t ports;		/* highest port number */
	bool is_switch;
};

struct subnet_cache_port {
	ib_net64_t guid; /* as on the wire, if has_lid */
	uint32_t peer;	 /* the other end when learnt, PM_NONE: none in use */
	uint32_t remote; /* its node */
	uint32_t node;
	uint32_t planned; /* switches: the port of plan->topology, or PM_NONE */
	uint16_t lid;	  /* first the learnt one, then the plan's */
	bool has_lid;	  /* an end port, or a switch's own */
	bool used;	  /* connected when learnt */
	bool reported;	  /* subnet_cache_is_unchanged examines the other end, or none */
};

/*
 * A switch port's link in PortInfo's codes, decoded after the refresh, as that holds a
 * lock. One end of a link is enough. All 0: the other end has it.
 */
struct subnet_cache_link {
	uint8_t width;	  /* active */
	uint8_t speed;	  /* active in the upper half */
	uint8_t extended; /* likewise */
	uint8_t fdr10;	  /* of the vendor's ExtendedPortInfo */
};

/* All zero at first: empty. */
struct subnet_cache {
	struct pm_pool pool;
	const struct pm_plan *plan; /* bound plan, or NULL; borrowed */
	struct subnet_cache_node *nodes;
	struct subnet_cache_port *ports;
	uint32_t num_nodes, num_ports;
	uint64_t sm_guid; /* GUID of the port that OpenSM uses .. */
	uint32_t sm;	  /* .. and that port, or PM_NONE */
	bool regular;	  /* when learnt: both ends of all links agree */
	bool covered; /* set when the plan's LIDs were handed to OpenSM: later discoveries
			 are compared with the cache */

	/* Results of the last refresh. */
	uint32_t num_listed; /* nodes in OpenSM's table, .. */
	uint32_t num_found;  /* .. and of these, nodes that OpenSM will not drop */
	bool doubtful;	     /* OpenSM will drop ports of some of these */
	uint8_t *flags;	     /* [port] see subnet_cache.c */
	struct subnet_cache_link *links; /* [port] */
	uint8_t *connected; /* [port] 0: its node is absent; 2: with a link in use */
	uint8_t *kept;	    /* [port] connected at subnet_cache_keep */
	struct pm_lft_capacity *switches; /* of present switches */
	uint32_t num_switches;
};

/* Learns the present subnet, and refreshes. -ENOMEM: the cache is empty. */
int subnet_cache_learn(struct subnet_cache *cache, const osm_subn_t *subn,
		       struct pm_error *err);
void subnet_cache_forget(struct subnet_cache *cache);

/* Binds the cache to a plan that covers it: ports get the plan's LIDs. O(ports). */
void subnet_cache_bind(struct subnet_cache *cache, const struct pm_plan *plan);

/*
 * Refreshes. False: there is a new part, another LID than the plan's, or no bound plan;
 * then the functions below must not be called. O(ports); allocates nothing. With `share`,
 * on the sweeper's thread, the lock is held in parts of so many nodes.
 */
bool subnet_cache_refresh(struct subnet_cache *cache, const osm_subn_t *subn,
			  struct lock_share *share);

/*
 * Whether another refresh, later in the same sweep, would find the same. False: cannot
 * tell; refresh again. OpenSM may have assigned LIDs, which it lists; dropped nodes,
 * which lowers their number; and dropped links, at both ends, of which one is examined.
 * `heard`: PortInfo that OpenSM requested may have come in since. Without it only the
 * drop manager cuts links: those of nodes and ports that were not discovered, which the
 * refresh has counted, and of ports without an answer for their P_Key tables, which
 * OpenSM notes as an error. Then no link is examined, and a port that traps have called
 * unhealthy since is left to the next discovery. At most half the cost of a refresh.
 */
bool subnet_cache_is_unchanged(struct subnet_cache *cache, const osm_subn_t *subn,
			       bool heard);

/* Whether a port has a link that is up to a present node. */
static inline bool subnet_cache_is_connected(const struct subnet_cache *cache,
					     uint32_t port)
{
	return cache->connected[port] == 2;
}

/*
 * The first remembers the last refresh; the second tells whether a later refresh was the
 * same.
 */
void subnet_cache_keep(struct subnet_cache *cache);
bool subnet_cache_is_kept(const struct subnet_cache *cache);

/* A hash of the ports, links and LIDs that the last refresh found, never 0. O(ports). */
uint64_t subnet_cache_hash(const struct subnet_cache *cache);

/* Writes the result of pm_plan_match for the last refresh. */
void subnet_cache_see(const struct subnet_cache *cache, uint8_t *discovered);

/*
 * Whether a port with 1 to `most` in ports[port] is discovered; false without a bound
 * plan.
 */
bool subnet_cache_sees_any(const struct subnet_cache *cache, const uint8_t *ports,
			   uint8_t most);

/*
 * Writes widths and speeds, codes of link.h, for the ports of plan->topology with a link
 * in use: at one end of each link between switches. Else 0. O(ports).
 */
void subnet_cache_links(const struct subnet_cache *cache, uint8_t *link);

/* The same for a port of the cache with a link, also to an end node; 0: unknown. */
uint8_t subnet_cache_link(const struct subnet_cache *cache, uint32_t port);

/* OpenSM's codes of a port's link. */
struct subnet_cache_link subnet_cache_link_of(const osm_physp_t *physp);

/* Prefetches what is read of a port. */
void subnet_cache_fetch(const osm_physp_t *physp);

/* The place of the port that OpenSM itself uses, or PM_NONE. */
uint32_t subnet_cache_sm_place(const struct subnet_cache *cache);

/* Doubts about the links of plan->topology. [port] */
struct subnet_cache_doubt {
	uint8_t *stayed; /* discovered, and past INIT: it was not down since */
	uint8_t *silent; /* not discovered, but neither end is known to be down: lost
			    answers */
};

/* Fills both from the refresh right after discovery, for discovered[]. */
void subnet_cache_find_doubt(const struct subnet_cache *cache, const uint8_t *discovered,
			     const struct subnet_cache_doubt *doubt);

#endif
