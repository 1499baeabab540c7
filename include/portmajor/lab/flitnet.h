/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Networks for the flit engine: switches, nodes and links, with next hops to each node.
 * Places are switches, from 0, and then nodes; a link is one direction of a cable.
 */
#ifndef PORTMAJOR_FLITNET_H
#define PORTMAJOR_FLITNET_H

#include <portmajor/base/pool.h>
#include <portmajor/fabric/fabric.h>
#include <portmajor/lab/no_path.h>
#include <portmajor/route/lfts.h>

#define PM_FLIT_UP 255	    /* next hop: any of the switch's links up */
#define PM_FLIT_NOWHERE 254 /* no next hop */
#define PM_FLIT_MAX_DIMENSIONS 4
#define PM_FLIT_NO_DIMENSION 255

struct pm_flit_link {
	uint32_t from, to; /* places */
	uint8_t dimension; /* of a torus, or PM_FLIT_NO_DIMENSION */
	bool wrap;	   /* joins the two ends of a row */
};

/* Read-only once made. */
struct pm_flit_net {
	uint32_t num_switches, num_nodes, num_links;
	struct pm_flit_link *links; /* by the place that they leave */
	uint32_t *first_link;	    /* [place]; one link leaves a node */
	uint8_t *next_hop;	    /* [switch][node] link, from the switch's first */
	uint8_t *up;	    /* [switch] the first of its links up, which come last */
	uint32_t max_hops;  /* most links between switches on a path */
	const char **names; /* [place] */
	bool torus;
	struct pm_no_path no_path; /* of tables: pairs of nodes */
	struct pm_pool pool;
};

/*
 * The following functions make a network, which the caller frees with pm_flit_net_free.
 * -EINVAL with a message: a number is out of range.
 */

/*
 * A torus: switches in closed rows of size[d], 2 to 64, in each of 1 to 4 dimensions, a
 * node at each; up to 4,096 switches. Paths take the first dimension first, and the
 * shorter direction. Of equal directions they take up with ties_up; else up from switches
 * with an even sum of coordinates, and down from the others.
 */
int pm_flit_net_torus(const uint32_t *size, uint32_t dimensions, bool ties_up,
		      struct pm_flit_net **net, struct pm_error *err);

/* 1 to 200 switches, all linked to each other, with 1 to 50 nodes each. */
int pm_flit_net_mesh(uint32_t switches, uint32_t nodes, struct pm_flit_net **net,
		     struct pm_error *err);

/* Two nodes with a chain of 1 to 64 cables between them. */
int pm_flit_net_chain(uint32_t cables, struct pm_flit_net **net, struct pm_error *err);

/*
 * The k-ary n-tree, k 2 to 64 and n 1 to 6, up to 4,096 nodes. Links up are drawn at
 * random, switch by switch.
 */
int pm_flit_net_tree(uint32_t k, uint32_t n, struct pm_flit_net **net,
		     struct pm_error *err);

/*
 * A fabric with tables; nodes are its end ports with a LID and a link to a switch, by
 * switch and port, and names are the fabric's, which is borrowed. pm_flit_new refuses a
 * network in which a node does not reach another (no_path).
 */
int pm_flit_net_of_tables(const struct pm_fabric *fabric, const struct pm_lfts *lfts,
			  struct pm_flit_net **net, struct pm_error *err);

void pm_flit_net_free(struct pm_flit_net *net);

/*
 * The number of links on the path from a node to another; where paths are drawn at
 * random, the fewest.
 */
uint32_t pm_flit_net_distance(const struct pm_flit_net *net, uint32_t from, uint32_t to);

#endif
