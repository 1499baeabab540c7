/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shapes of generated fabrics: functions from (switch, port) to the peer, so that a file
 * is written in one pass without building anything. Switches are numbered in the order of
 * the file, leaves first. End nodes are the same in all shapes: generate.c makes them.
 */
#ifndef GENERATE_PARTS_H
#define GENERATE_PARTS_H

#include <portmajor/fabric/fabric.h>
#include <portmajor/fabric/generate.h>

#include <errno.h>

/* The port at the other end of a link between switches. */
struct generate_end {
	uint32_t node; /* PM_NONE: the port has no link */
	uint32_t port;
};

struct generate_size {
	uint64_t leaves;
	uint64_t hosts_per_leaf; /* if the shape has no hosts() */
	uint64_t hosts;		 /* all of them, if it has */
	uint64_t switches;
	uint64_t max_ports;
};

struct generate_shape {
	/* Checks the parameters' ranges, but not the limits on the size. */
	int (*measure)(const struct pm_generate *config, struct generate_size *size,
		       struct pm_error *err);
	uint32_t (*ports)(const struct pm_generate *config, uint32_t node);
	/* For ports above a leaf's hosts and all ports of other switches. */
	struct generate_end (*peer)(const struct pm_generate *config, uint32_t node,
				    uint32_t port);
	/* For switches above the leaves; NULL: there are none. */
	void (*print_name)(const struct pm_generate *config, uint32_t node, FILE *file);
	/* 0: a leaf. */
	uint32_t (*level)(const struct pm_generate *config, uint32_t node);
	/* Of a leaf, where leaves have unequal numbers of hosts; else NULL. */
	uint32_t (*hosts)(const struct pm_generate *config, uint32_t leaf);
};

static inline uint64_t generate_divide_up(uint64_t number, uint64_t by)
{
	return (number + by - 1) / by;
}

/* Refuses a parameter of this kind of fabric that is 0 or above PM_MAX_NODES. */
static inline int generate_check_number(const char *kind, uint64_t number,
					struct pm_error *err)
{
	if (!number)
		return pm_error_set(err, -EINVAL, "%s: numbers must be at least 1", kind);
	if (number > PM_MAX_NODES)
		return pm_error_set(err, -E2BIG, "more than %d nodes", PM_MAX_NODES);
	return 0;
}

extern const struct generate_shape generate_director, generate_two_level, generate_xgft,
	generate_line_boards, generate_islands, generate_torus, generate_dragonfly;

#endif
