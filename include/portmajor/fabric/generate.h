/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Generated fabrics, written as ibsim netlists (see netlist.h).
 *
 * In every kind the lowest switches are the leaves "leaf0", "leaf1", ...; a leaf has
 * hosts on its first ports, and the host on port p of leaf l is "h<l>-<p>", with one
 * port. The file has the leaves, the other switches, the hosts in the order of their
 * leaves, and then other end nodes: service nodes, routers, aggregation nodes. There are
 * no GUID lines: ibsim assigns GUIDs.
 */
#ifndef PORTMAJOR_GENERATE_H
#define PORTMAJOR_GENERATE_H

#include <portmajor/base/error.h>

#include <stdbool.h>
#include <stdio.h>

#define PM_GENERATE_MAX_HEIGHT 4
#define PM_GENERATE_MAX_SERVICES 8
#define PM_GENERATE_NAME 16

enum pm_generate_kind {
	PM_GENERATE_DIRECTOR,
	PM_GENERATE_TWO_LEVEL,
	PM_GENERATE_XGFT,
	PM_GENERATE_LINE_BOARDS,
	PM_GENERATE_ISLANDS,
	PM_GENERATE_TORUS,
	PM_GENERATE_DRAGONFLY,
};

/*
 * Leaves of 36 ports below 18 chassis of 36-port switches, as in a director.
 *
 * A leaf has hosts on ports 1 to 18, and port 19 + s goes to chassis s, 0 to 17.
 * Each chassis has leaves/18 line switches "s<chassis>-line<q>" and leaves/36
 * fabric switches "s<chassis>-fab<f>". Port 1 + i of line q goes to leaf
 * 18 * q + i. The links inside a chassis, counted by line and then by the line's
 * port as c = 18 * q + k for port 19 + k, are assigned to the fabrics in turn:
 * link c goes to fabric c mod F, its port 1 + c div F, with F fabrics. (If F
 * divides 18, port 19 + k of every line goes to fabric k mod F.)
 * In the file, each chassis has its lines before its fabrics.
 */
struct pm_generate_director {
	unsigned int leaves; /* 36..648, a multiple of 36 */
};

/*
 * Every leaf has the same number of links to every spine "spine<s>".
 *
 * Leaf port: hosts + 1 + spine * parallel + link, that is spine by spine with
 * the parallel links side by side. Spine port: 1 + leaf * parallel + link.
 */
struct pm_generate_two_level {
	unsigned int leaves;   /* all four are at least 1, */
	unsigned int spines;   /* switches have at most 254 ports */
	unsigned int hosts;    /* per leaf */
	unsigned int parallel; /* links from each leaf to each spine */
};

/*
 * The extended generalised fat tree XGFT(h; m_1..m_h; w_1..w_h): hosts are on level 0,
 * switches on levels 1 to h; a node on level l has m_l children and w_(l+1) parents.
 * Switches above the leaves are "sw<level>-<index>".
 *
 * A node on level l has digits a_i < m_i for i > l and b_i < w_i for i <= l. Its parents
 * are the nodes on level l + 1 that differ from it in digit l + 1 alone: its a_(l+1) is
 * its place among a parent's children, b_(l+1) the parent's place among its parents. Its
 * index has a_h as the highest digit down to a_(l+1), then b_l down to b_1. Ports: 1 +
 * a_l for children, then m_l + 1 + b_(l+1) for parents.
 */
struct pm_generate_xgft {
	unsigned int height;			       /* h, 1..PM_GENERATE_MAX_HEIGHT */
	unsigned int children[PM_GENERATE_MAX_HEIGHT]; /* m_1.. at [0]; >= 1 */
	unsigned int parents[PM_GENERATE_MAX_HEIGHT];  /* w_1.. at [0]; w_1 is 1 */
};

/*
 * Edge switches below the line boards of a director: leaves, then "line<l>", then
 * "spine<s>". Line l has a link to each spine, to its port 1 + l. A leaf's uplinks follow
 * its hosts. Uplinks are counted leaf by leaf, and link j goes to line j mod lines, to
 * its port 1 + j div lines; behind the ports for these, used or not, are those to the
 * spines.
 */
struct pm_generate_line_boards {
	unsigned int lines, spines; /* all five are at least 1 */
	unsigned int edges, hosts;  /* hosts: on each edge switch */
	unsigned int uplinks;	    /* of each edge switch */
};

/*
 * Islands of two levels, each of its own size, below common cores: leaves of all islands,
 * then their spines, "spine<s>", then "core<c>". In an island each leaf has a link to
 * each spine. A spine's uplinks follow its leaves; they are counted spine by spine, and
 * link j goes to core j mod cores, to its port 1 + j div cores.
 */
#define PM_GENERATE_MAX_ISLANDS 4

struct pm_generate_island {
	unsigned int leaves, spines, hosts; /* all at least 1; hosts: per leaf */
};

struct pm_generate_islands {
	unsigned int uplinks; /* of each spine; at least 1 */
	unsigned int cores;   /* at least 1 */
	unsigned int num_islands;
	struct pm_generate_island island[PM_GENERATE_MAX_ISLANDS];
};

/*
 * No tree: every switch has hosts, and neighbours in each dimension d, the next one on
 * port hosts + 1 + 2d and the one before on the next port. With `open` it is a mesh: no
 * links join the two ends of a row.
 */
struct pm_generate_torus {
	unsigned int dimensions;		    /* 1..PM_GENERATE_MAX_HEIGHT */
	unsigned int sides[PM_GENERATE_MAX_HEIGHT]; /* at least 2 */
	unsigned int hosts;			    /* of each switch; at least 1 */
	bool open;
};

/*
 * No tree: a Dragonfly+. In a group each leaf has a link to each "spine<s>", and spine s
 * of a group has one to spine s of each other group, to the next group first.
 */
struct pm_generate_dragonfly {
	unsigned int groups;	     /* at least 2, all others at least 1 */
	unsigned int leaves, spines; /* of each group */
	unsigned int hosts;	     /* per leaf */
};

/*
 * End nodes NAME-1, NAME-2, .. with one port, assigned in turn to the switches of a
 * level, on the ports behind those of the shape. Nodes of one name are numbered
 * consecutively.
 */
struct pm_generate_service {
	char name[PM_GENERATE_NAME]; /* small letters; "router": they are routers */
	unsigned int count;	     /* at least 1 */
	unsigned int level;	     /* 0: leaves; there must be switches */
};

struct pm_generate {
	enum pm_generate_kind kind;
	/* Only the member of this kind is read. */
	struct pm_generate_director director;
	struct pm_generate_two_level two_level;
	struct pm_generate_xgft xgft;
	struct pm_generate_line_boards line_boards;
	struct pm_generate_islands islands;
	struct pm_generate_torus torus;
	struct pm_generate_dragonfly dragonfly;

	/*
	 * Ports of a host; 0 means 1. With L leaves, port 1 + i of the host on port p of
	 * leaf l < L/host_ports is on port p of leaf l + i * L/host_ports. L must be a
	 * multiple of host_ports, and all leaves have the same number of hosts. With
	 * rails each port is an adapter of its own, "h<l>-<p>-<1 + i>"; otherwise one
	 * adapter has all ports.
	 */
	unsigned int host_ports;
	bool rails;
	/*
	 * Leaves can split ports in two: hosts have half a port, 2x. Each other port of a
	 * leaf takes two numbers and uses the first: with H hosts, port H + n becomes H +
	 * 2n - 1.
	 */
	bool split;
	/*
	 * Each switch has an aggregation node on its last port, "agg<switch>", counted in
	 * the order of the file, with the description and device ID of such nodes.
	 */
	bool aggregation;
	struct pm_generate_service services[PM_GENERATE_MAX_SERVICES];
	unsigned int num_services;
};

/*
 * Writes the netlist to file and flushes it.
 * -EINVAL: a parameter is out of range; -E2BIG: more than PM_MAX_NODES nodes,
 * 49151 LIDs (one for each switch and each port of an end node) or PM_MAX_PORTS ports of
 * a node; -ENOMEM; nothing has been written in these cases. -EIO: writing failed.
 * Cost: O(nodes + ports).
 */
int pm_generate_write(const struct pm_generate *config, FILE *file, struct pm_error *err);

#endif
