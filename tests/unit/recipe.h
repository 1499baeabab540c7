/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Recipes for fabrics: lists of nodes and cables, some of which may be absent, so that
 * the same network can be built whole, broken, grown, and in any order.
 */
#ifndef TESTS_RECIPE_H
#define TESTS_RECIPE_H

#include <portmajor/fabric/fabric.h>

/* A generator of random numbers (splitmix64); any seed will do. */
struct random {
	uint64_t state;
};

uint64_t random_next(struct random *random);
/* From 0 to below - 1; below > 0. */
uint32_t random_below(struct random *random, uint32_t below);
/* From low to high, both included. */
uint32_t random_range(struct random *random, uint32_t low, uint32_t high);
bool random_chance(struct random *random, uint32_t percent);

/*
 * The number in an environment variable, such as PM_SEED, or `usual` if it is not set.
 */
uint64_t from_environment(const char *variable, uint64_t usual);

struct recipe_node {
	uint64_t guid;
	enum pm_node_type type;
	unsigned int num_ports;
	unsigned int level; /* switches: as drawn, 0 for the lowest */
	bool away;
	bool built;	 /* was present in a fabric that was built */
	uint16_t device; /* 0: unknown */
	char name[40];
};

struct recipe_link {
	uint32_t node[2];
	unsigned int port[2];
	bool away, built;
};

struct recipe {
	struct recipe_node *nodes;
	struct recipe_link *links;
	uint32_t num_nodes, num_links;
};

void recipe_free(struct recipe *recipe);

/* Adds a node; all functions here end the program if memory runs out. */
uint32_t recipe_add_node(struct recipe *recipe, enum pm_node_type type, uint64_t guid,
			 unsigned int num_ports, unsigned int level, const char *name);
void recipe_add_link(struct recipe *recipe, uint32_t a, unsigned int port_a, uint32_t b,
		     unsigned int port_b);
/* Adds a host with one port, called h<number of its node>. */
uint32_t recipe_add_host(struct recipe *recipe, uint32_t sw, unsigned int port);

/* Whether a cable and both of its nodes are present. */
bool recipe_has_link(const struct recipe *recipe, uint32_t link);

/*
 * The lowest port of this node without a cable, present or absent; 0 if there is none.
 */
unsigned int recipe_free_port(const struct recipe *recipe, uint32_t node);

/*
 * Builds and seals the present parts and marks them as seen. With order, nodes and
 * cables are added in random order.
 */
struct pm_fabric *recipe_build(struct recipe *recipe, struct random *order);

/* All parts that were ever seen, in one fabric. */
struct pm_fabric *recipe_build_whole(const struct recipe *recipe);

/*
 * A fabric drawn as text: first its switches, NAME/PORTS, in the order of
 * their GUIDs, then cables, NAME:PORT=NAME:PORT, or NAME:PORT=NAME with a host
 * of that name. Blanks and line ends between them.
 */
struct pm_fabric *recipe_draw(const char *text);

/* The largest numbers of parts in a random tree. */
struct recipe_limits {
	uint32_t switches, hosts;
};

/*
 * A random tree: two levels, an extended generalised fat tree of 1 to 4 levels
 * of switches or leaves below directors; then, each with some chance, parallel
 * cables, missing cables, switches and hosts, hosts on upper switches, cables
 * that no tree has, and GUIDs and ports in random order.
 */
void recipe_random(struct recipe *recipe, struct random *random,
		   const struct recipe_limits *limits);

/*
 * Some ports of real fabrics beside hosts of one port on leaves, drawn at random with
 * the ports that they need: aggregation nodes on all switches, service nodes and
 * routers on upper ones, hosts on all switches of an upper level, hosts with a port on
 * two leaves. Draws them in the percentage of trees in the environment variable
 * PM_ROLES, and nothing in the others: recipe_random() ends with this.
 */
void recipe_random_roles(struct recipe *recipe, struct random *random);

/* A complete tree; `width[l]` and `fan[l]` from the leaves upward. */
struct recipe_xgft {
	unsigned int levels;	  /* of switches */
	unsigned int hosts;	  /* per leaf */
	unsigned int children[4]; /* [l] of switches of level l; [0] unused */
	unsigned int parents[4];  /* [l] of switches of level l */
	unsigned int parallel[4]; /* [l] cables from there to each parent */
};

void recipe_add_xgft(struct recipe *recipe, const struct recipe_xgft *shape);

/* Leaves below chassis of two levels, as pm_generate_director, of any size. */
struct recipe_director {
	unsigned int chassis, pods, leaves_per_pod, hosts;
	unsigned int fabrics;  /* per chassis */
	unsigned int parallel; /* cables from each line to each fabric */
};

void recipe_add_director(struct recipe *recipe, const struct recipe_director *shape);

/*
 * Pods of two levels; each upper switch has a cable to every top switch: one that loses
 * its path down to a leaf can send up, and packets come down beside it.
 */
struct recipe_meshed {
	unsigned int pods, leaves, middles; /* the latter of each pod */
	unsigned int tops, hosts;	    /* hosts: per leaf */
};

void recipe_add_meshed(struct recipe *recipe, const struct recipe_meshed *shape);

#endif
