/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Generates fabrics that are no trees, for the engine to decline: tori, meshes and
 * Dragonfly+.
 */
#include "generate_parts.h"

#include <errno.h>
#include <inttypes.h>

/* ---- Tori and meshes ---- */

static int torus_measure(const struct pm_generate *config, struct generate_size *size,
			 struct pm_error *err)
{
	const struct pm_generate_torus *t = &config->torus;

	if (t->dimensions < 1 || t->dimensions > PM_GENERATE_MAX_HEIGHT)
		return pm_error_set(err, -EINVAL, "torus: %u dimensions are not 1 to %d",
				    t->dimensions, PM_GENERATE_MAX_HEIGHT);
	if (!t->hosts)
		return pm_error_set(err, -EINVAL, "torus: hosts must be at least 1");
	*size = (struct generate_size){
		.leaves = 1,
		.hosts_per_leaf = t->hosts,
		.max_ports = t->hosts + 2 * (uint64_t)t->dimensions,
	};
	for (unsigned int i = 0; i < t->dimensions; i++) {
		if (t->sides[i] < 2)
			return pm_error_set(err, -EINVAL,
					    "torus: sides must be at least 2");
		size->leaves *= t->sides[i];
		if (size->leaves > PM_MAX_NODES)
			break;
	}
	size->switches = size->leaves;
	return 0;
}

static uint32_t torus_ports(const struct pm_generate *config, uint32_t node)
{
	(void)node;
	return config->torus.hosts + 2 * config->torus.dimensions;
}

static struct generate_end torus_peer(const struct pm_generate *config, uint32_t node,
				      uint32_t port)
{
	const struct pm_generate_torus *t = &config->torus;
	uint32_t direction = port - 1 - t->hosts, stride = 1;
	uint32_t side, at, next;
	bool back = direction % 2;

	for (uint32_t i = 0; i < direction / 2; i++)
		stride *= t->sides[i];
	side = t->sides[direction / 2];
	at = node / stride % side;
	next = (at + (back ? side - 1 : 1)) % side;
	if (t->open && (back ? next > at : next < at))
		return (struct generate_end){PM_NONE, 0};
	return (struct generate_end){node + next * stride - at * stride,
				     back ? port - 1 : port + 1};
}

static uint32_t torus_level(const struct pm_generate *config, uint32_t node)
{
	(void)config;
	(void)node;
	return 0;
}

const struct generate_shape generate_torus = {
	.measure = torus_measure,
	.ports = torus_ports,
	.peer = torus_peer,
	.level = torus_level,
};

/* ---- Dragonfly+ ---- */

static int dragonfly_measure(const struct pm_generate *config, struct generate_size *size,
			     struct pm_error *err)
{
	const struct pm_generate_dragonfly *d = &config->dragonfly;
	uint64_t leaf = (uint64_t)d->hosts + d->spines;
	uint64_t spine = (uint64_t)d->leaves + d->groups - 1;

	if (d->groups < 2 || !d->leaves || !d->spines || !d->hosts)
		return pm_error_set(err, -EINVAL,
				    "dragonfly: there must be at least 2 groups, and 1 "
				    "of each other thing");
	*size = (struct generate_size){
		.leaves = (uint64_t)d->groups * d->leaves,
		.hosts_per_leaf = d->hosts,
		.switches = (uint64_t)d->groups * ((uint64_t)d->leaves + d->spines),
		.max_ports = leaf > spine ? leaf : spine,
	};
	return 0;
}

static uint32_t dragonfly_level(const struct pm_generate *config, uint32_t node)
{
	return node < config->dragonfly.groups * config->dragonfly.leaves ? 0 : 1;
}

static uint32_t dragonfly_ports(const struct pm_generate *config, uint32_t node)
{
	const struct pm_generate_dragonfly *d = &config->dragonfly;

	return dragonfly_level(config, node) ? d->leaves + d->groups - 1
					     : d->hosts + d->spines;
}

/* Global port i of group g leads to group g + 1 + i. */
static struct generate_end dragonfly_peer(const struct pm_generate *config, uint32_t node,
					  uint32_t port)
{
	const struct pm_generate_dragonfly *d = &config->dragonfly;
	uint32_t spines = d->groups * d->leaves, group, number, i;

	if (node < spines)
		return (struct generate_end){spines + node / d->leaves * d->spines +
						     port - 1 - d->hosts,
					     1 + node % d->leaves};
	group = (node - spines) / d->spines;
	number = (node - spines) % d->spines;
	if (port <= d->leaves)
		return (struct generate_end){group * d->leaves + port - 1,
					     1 + d->hosts + number};
	i = port - 1 - d->leaves;
	group = (group + 1 + i) % d->groups;
	return (struct generate_end){spines + group * d->spines + number,
				     d->leaves + d->groups - 1 - i};
}

static void dragonfly_print_name(const struct pm_generate *config, uint32_t node,
				 FILE *file)
{
	fprintf(file, "spine%" PRIu32,
		node - config->dragonfly.groups * config->dragonfly.leaves);
}

const struct generate_shape generate_dragonfly = {
	.measure = dragonfly_measure,
	.ports = dragonfly_ports,
	.peer = dragonfly_peer,
	.print_name = dragonfly_print_name,
	.level = dragonfly_level,
};
