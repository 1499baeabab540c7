/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Generated fabrics, written as ibsim netlists (see netlist.h).
 *
 * In every kind the lowest level of switches are the leaves, named "leaf0",
 * "leaf1", ...; each has its hosts on its first ports, and the host on port p of
 * leaf l is named "h<l>-<p>" and has one port. The file has the switches first,
 * leaves before all others, and then the hosts in the order of their leaves.
 * There are no GUID lines: ibsim counts.
 */
#ifndef PORTMAJOR_GENERATE_H
#define PORTMAJOR_GENERATE_H

#include <portmajor/error.h>

#include <stdio.h>

#define PM_GENERATE_MAX_HEIGHT 4

enum pm_generate_kind {
	PM_GENERATE_DIRECTOR,
	PM_GENERATE_TWO_LEVEL,
	PM_GENERATE_XGFT,
};

/*
 * Leaves of 36 ports below 18 chassis of 36-port switches, as in a director.
 *
 * A leaf has hosts on ports 1 to 18, and port 19 + s goes to chassis s, 0 to 17.
 * Each chassis has leaves/18 line switches "s<chassis>-line<q>" and leaves/36
 * fabric switches "s<chassis>-fab<f>". Port 1 + i of line q goes to leaf
 * 18 * q + i. The cables inside a chassis, counted by line and then by the line's
 * port as c = 18 * q + k for port 19 + k, are dealt out to the fabrics in turn:
 * cable c goes to fabric c mod F, its port 1 + c div F, with F fabrics. (If F
 * divides 18, port 19 + k of every line goes to fabric k mod F.)
 * In the file, each chassis has its lines before its fabrics.
 */
struct pm_generate_director {
	unsigned int leaves; /* 36..648, a multiple of 36 */
};

/*
 * Every leaf has the same number of cables to every spine "spine<s>".
 *
 * Leaf port: hosts + 1 + spine * parallel + cable, that is spine by spine with
 * the parallel cables side by side. Spine port: 1 + leaf * parallel + cable.
 */
struct pm_generate_two_level {
	unsigned int leaves;   /* all four are at least 1, */
	unsigned int spines;   /* switches have at most 254 ports */
	unsigned int hosts;    /* per leaf */
	unsigned int parallel; /* cables from each leaf to each spine */
};

/*
 * The extended generalised fat tree XGFT(h; m_1..m_h; w_1..w_h): hosts are on
 * level 0, switches on levels 1 to h; a node on level l has m_l children and
 * w_(l+1) parents. Switches above the leaves are named "sw<level>-<index>".
 *
 * A node on level l has digits a_i < m_i for i > l and b_i < w_i for i <= l. It is
 * joined to those on level l + 1 that differ from it in digit l + 1 only: its
 * a_(l+1) is its place among the parent's children, b_(l+1) the parent's among
 * its parents. Its index has a_h as the highest digit down to a_(l+1), then b_l
 * down to b_1. Ports: 1 + a_l for children, then m_l + 1 + b_(l+1) for parents.
 */
struct pm_generate_xgft {
	unsigned int height;			       /* h, 1..PM_GENERATE_MAX_HEIGHT */
	unsigned int children[PM_GENERATE_MAX_HEIGHT]; /* m_1.. at [0]; >= 1 */
	unsigned int parents[PM_GENERATE_MAX_HEIGHT];  /* w_1.. at [0]; w_1 is 1 */
};

struct pm_generate {
	enum pm_generate_kind kind;
	/* Only the one that belongs to the kind is looked at. */
	struct pm_generate_director director;
	struct pm_generate_two_level two_level;
	struct pm_generate_xgft xgft;
};

/*
 * Writes the netlist to file and flushes it.
 * -EINVAL: a parameter is out of range; -E2BIG: more than PM_MAX_NODES nodes,
 * 49151 LIDs (one for each node) or PM_MAX_PORTS ports of a switch; nothing has
 * been written in these cases. -EIO: writing failed.
 * Cost: O(nodes + ports).
 */
int pm_generate_write(const struct pm_generate *config, FILE *file, struct pm_error *err);

#endif
