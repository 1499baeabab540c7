/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Networks for the flit engine: switches and nodes joined by cables, and which way leads
 * to which node. Places are switches, from 0, and then nodes; a link is one direction of
 * a cable.
 */
#ifndef PORTMAJOR_FLITNET_H
#define PORTMAJOR_FLITNET_H

#include <portmajor/base/pool.h>
#include <portmajor/fabric/fabric.h>
#include <portmajor/route/lfts.h>

#define PM_FLIT_UP 255	    /* a way: any of the switch's links up */
#define PM_FLIT_NOWHERE 254 /* no way */
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
	struct pm_flit_link *links; /* by place that they leave */
	uint32_t *first_link;	    /* [place]; of a node one leaves */
	uint8_t *next_hop;	    /* [switch][node] link, from the switch's first */
	uint8_t *up;	    /* [switch] the first of its links up, which come last */
	uint32_t max_hops;  /* most links between switches on a way */
	const char **names; /* [place] */
	bool torus;
	struct pm_pool pool;
};

/*
 * All make a network that the caller frees with pm_flit_net_free. -EINVAL with a message:
 * a number is out of range; -ENOMEM.
 */

/* Switches in rows of size[d], 2 to 64, in each of 1 to 4 dimensions, whose ends are
 * joined, a node at each; up to 4,096 switches. Ways take the first dimension first, and
 * the shorter way round; where both are as long, up with ties_up, else up from switches
 * of which the sum of coordinates is even, and down from the others. */
int pm_flit_net_torus(const uint32_t *size, uint32_t dimensions, bool ties_up,
		      struct pm_flit_net **net, struct pm_error *err);

/* 1 to 200 switches, each joined with each, with 1 to 50 nodes at each. */
int pm_flit_net_mesh(uint32_t switches, uint32_t nodes, struct pm_flit_net **net,
		     struct pm_error *err);

/* Two nodes with 1 to 64 cables between them, one behind the other. */
int pm_flit_net_chain(uint32_t cables, struct pm_flit_net **net, struct pm_error *err);

/* The k-ary n-tree, k 2 to 64 and n 1 to 6, up to 4,096 nodes. Ways up are drawn at
 * random, switch by switch. */
int pm_flit_net_tree(uint32_t k, uint32_t n, struct pm_flit_net **net,
		     struct pm_error *err);

/*
 * A fabric with tables; nodes are its end ports with a LID and a cable to a switch, by
 * switch and port, and names are the fabric's, which is borrowed. -EINVAL also: a node is
 * not reached from another one, and the message says which.
 */
int pm_flit_net_of_tables(const struct pm_fabric *fabric, const struct pm_lfts *lfts,
			  struct pm_flit_net **net, struct pm_error *err);

void pm_flit_net_free(struct pm_flit_net *net);

/* How many links are on the way from a node to another one; the least that there are
 * where ways are drawn. */
uint32_t pm_flit_net_distance(const struct pm_flit_net *net, uint32_t from, uint32_t to);

#endif
