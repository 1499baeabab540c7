/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fat trees: directors, two levels, and extended generalised fat trees. */
#include "generate_parts.h"

#include <errno.h>
#include <inttypes.h>

#define DIRECTOR_HALF 18 /* down and up ports of a 36-port switch; chassis */

/* Director. */

struct chassis {
	uint32_t lines, fabrics; /* of each chassis */
	uint32_t number;
	uint32_t module; /* lines first, then fabrics */
};

static struct chassis find_chassis(const struct pm_generate *config, uint32_t node)
{
	uint32_t leaves = config->director.leaves;
	uint32_t lines = leaves / DIRECTOR_HALF, fabrics = lines / 2;

	return (struct chassis){
		.lines = lines,
		.fabrics = fabrics,
		.number = (node - leaves) / (lines + fabrics),
		.module = (node - leaves) % (lines + fabrics),
	};
}

static int director_measure(const struct pm_generate *config, struct generate_size *size,
			    struct pm_error *err)
{
	uint64_t leaves = config->director.leaves;

	if (leaves < 36 || leaves > 648 || leaves % 36)
		return pm_error_set(err, -EINVAL,
				    "director: %" PRIu64
				    " leaves are not a multiple of 36 from 36 to 648",
				    leaves);
	*size = (struct generate_size){
		.leaves = leaves,
		.hosts_per_leaf = DIRECTOR_HALF,
		.switches = leaves + DIRECTOR_HALF * (leaves / 18 + leaves / 36),
		.max_ports = 2 * (uint64_t)DIRECTOR_HALF,
	};
	return 0;
}

static uint32_t director_ports(const struct pm_generate *config, uint32_t node)
{
	(void)config;
	(void)node;
	return 2 * DIRECTOR_HALF;
}

static struct generate_end director_peer(const struct pm_generate *config, uint32_t node,
					 uint32_t port)
{
	uint32_t leaves = config->director.leaves;
	bool is_leaf = node < leaves;
	struct chassis c = find_chassis(config, is_leaf ? leaves : node);
	uint32_t first = leaves + c.number * (c.lines + c.fabrics);
	uint32_t link;

	if (is_leaf)
		return (struct generate_end){
			first + (port - 1 - DIRECTOR_HALF) * (c.lines + c.fabrics) +
				node / DIRECTOR_HALF,
			1 + node % DIRECTOR_HALF,
		};
	if (c.module >= c.lines) {
		link = (port - 1) * c.fabrics + c.module - c.lines;
		return (struct generate_end){first + link / DIRECTOR_HALF,
					     1 + DIRECTOR_HALF + link % DIRECTOR_HALF};
	}
	if (port <= DIRECTOR_HALF)
		return (struct generate_end){DIRECTOR_HALF * c.module + port - 1,
					     1 + DIRECTOR_HALF + c.number};
	link = DIRECTOR_HALF * c.module + port - 1 - DIRECTOR_HALF;
	return (struct generate_end){first + c.lines + link % c.fabrics,
				     1 + link / c.fabrics};
}

static void director_print_name(const struct pm_generate *config, uint32_t node,
				FILE *file)
{
	struct chassis c = find_chassis(config, node);

	if (c.module < c.lines)
		fprintf(file, "s%" PRIu32 "-line%" PRIu32, c.number, c.module);
	else
		fprintf(file, "s%" PRIu32 "-fab%" PRIu32, c.number, c.module - c.lines);
}

static uint32_t director_level(const struct pm_generate *config, uint32_t node)
{
	struct chassis c;

	if (node < config->director.leaves)
		return 0;
	c = find_chassis(config, node);
	return c.module < c.lines ? 1 : 2;
}

const struct generate_shape generate_director = {
	.measure = director_measure,
	.ports = director_ports,
	.peer = director_peer,
	.print_name = director_print_name,
	.level = director_level,
};

static int two_level_measure(const struct pm_generate *config, struct generate_size *size,
			     struct pm_error *err)
{
	const struct pm_generate_two_level *t = &config->two_level;
	uint64_t up, down;

	if (!t->leaves || !t->spines || !t->hosts || !t->parallel)
		return pm_error_set(err, -EINVAL,
				    "two-level: leaves, spines, hosts and "
				    "parallel cables must be at least 1");
	up = t->hosts + (uint64_t)t->spines * t->parallel;
	down = (uint64_t)t->leaves * t->parallel;
	*size = (struct generate_size){
		.leaves = t->leaves,
		.hosts_per_leaf = t->hosts,
		.switches = (uint64_t)t->leaves + t->spines,
		.max_ports = up > down ? up : down,
	};
	return 0;
}

static uint32_t two_level_ports(const struct pm_generate *config, uint32_t node)
{
	const struct pm_generate_two_level *t = &config->two_level;

	return node < t->leaves ? t->hosts + t->spines * t->parallel
				: t->leaves * t->parallel;
}

static struct generate_end two_level_peer(const struct pm_generate *config, uint32_t node,
					  uint32_t port)
{
	const struct pm_generate_two_level *t = &config->two_level;
	uint32_t link;

	if (node < t->leaves) {
		link = port - 1 - t->hosts;
		return (struct generate_end){t->leaves + link / t->parallel,
					     1 + node * t->parallel + link % t->parallel};
	}
	link = port - 1;
	return (struct generate_end){link / t->parallel,
				     1 + t->hosts + (node - t->leaves) * t->parallel +
					     link % t->parallel};
}

static void two_level_print_name(const struct pm_generate *config, uint32_t node,
				 FILE *file)
{
	fprintf(file, "spine%" PRIu32, node - config->two_level.leaves);
}

static uint32_t two_level_level(const struct pm_generate *config, uint32_t node)
{
	return node < config->two_level.leaves ? 0 : 1;
}

const struct generate_shape generate_two_level = {
	.measure = two_level_measure,
	.ports = two_level_ports,
	.peer = two_level_peer,
	.print_name = two_level_print_name,
	.level = two_level_level,
};

/* XGFT. */

/* Levels are counted as in the literature: m_l is children[l - 1]. */
static uint32_t children_of(const struct pm_generate_xgft *x, uint32_t level)
{
	return x->children[level - 1];
}

/* w_(level + 1) */
static uint32_t parents_of(const struct pm_generate_xgft *x, uint32_t level)
{
	return level < x->height ? x->parents[level] : 0;
}

/* w_1 * .. * w_level: the number of nodes with the same a digits. */
static uint32_t copies(const struct pm_generate_xgft *x, uint32_t level)
{
	uint32_t product = 1;

	for (uint32_t i = 0; i < level; i++)
		product *= x->parents[i];
	return product;
}

static uint32_t level_size(const struct pm_generate_xgft *x, uint32_t level)
{
	uint32_t product = copies(x, level);

	for (uint32_t i = level; i < x->height; i++)
		product *= x->children[i];
	return product;
}

/* Splits a switch's index into its level (returned) and the index there. */
static uint32_t find_level(const struct pm_generate_xgft *x, uint32_t node,
			   uint32_t *index)
{
	uint32_t level = 1;

	while (node >= level_size(x, level))
		node -= level_size(x, level++);
	*index = node;
	return level;
}

static uint32_t level_start(const struct pm_generate_xgft *x, uint32_t level)
{
	uint32_t start = 0;

	for (uint32_t i = 1; i < level; i++)
		start += level_size(x, i);
	return start;
}

static int xgft_check(const struct pm_generate_xgft *x, struct pm_error *err)
{
	if (x->height < 1 || x->height > PM_GENERATE_MAX_HEIGHT)
		return pm_error_set(err, -EINVAL, "xgft: height %u is not 1 to %d",
				    x->height, PM_GENERATE_MAX_HEIGHT);
	for (unsigned int i = 0; i < x->height; i++)
		if (!x->children[i] || !x->parents[i])
			return pm_error_set(err, -EINVAL,
					    "xgft: m_%u and w_%u must be at least 1",
					    i + 1, i + 1);
	if (x->parents[0] != 1)
		return pm_error_set(err, -EINVAL,
				    "xgft: w_1 is %u, but hosts have one port",
				    x->parents[0]);
	return 0;
}

/*
 * Every m, and every w but w_1 = 1, is at most the number of ports of some switch. So
 * ports are counted first: with factors up to 254 the sizes of levels do not overflow.
 */
static int xgft_measure(const struct pm_generate *config, struct generate_size *size,
			struct pm_error *err)
{
	const struct pm_generate_xgft *x = &config->xgft;
	int rc = xgft_check(x, err);

	if (rc)
		return rc;
	*size = (struct generate_size){.hosts_per_leaf = x->children[0]};
	for (uint32_t level = 1; level <= x->height; level++) {
		uint64_t ports = (uint64_t)children_of(x, level) + parents_of(x, level);

		if (ports > size->max_ports)
			size->max_ports = ports;
	}
	if (size->max_ports > PM_MAX_PORTS)
		return 0;
	size->leaves = level_size(x, 1);
	for (uint32_t level = 1; level <= x->height; level++)
		size->switches += level_size(x, level);
	return 0;
}

static uint32_t xgft_ports(const struct pm_generate *config, uint32_t node)
{
	const struct pm_generate_xgft *x = &config->xgft;
	uint32_t index, level = find_level(x, node, &index);

	return children_of(x, level) + parents_of(x, level);
}

static struct generate_end xgft_peer(const struct pm_generate *config, uint32_t node,
				     uint32_t port)
{
	const struct pm_generate_xgft *x = &config->xgft;
	uint32_t index, level = find_level(x, node, &index);
	uint32_t own = copies(x, level), a = index / own, b = index % own;
	uint32_t down = children_of(x, level), digit;

	if (port <= down) {
		uint32_t below = copies(x, level - 1);

		digit = a * down + port - 1;
		return (struct generate_end){
			level_start(x, level - 1) + digit * below + b % below,
			1 + children_of(x, level - 1) + b / below,
		};
	}
	digit = port - 1 - down;
	down = children_of(x, level + 1);
	return (struct generate_end){
		level_start(x, level + 1) + a / down * copies(x, level + 1) +
			digit * own + b,
		1 + a % down,
	};
}

static void xgft_print_name(const struct pm_generate *config, uint32_t node, FILE *file)
{
	uint32_t index, level = find_level(&config->xgft, node, &index);

	fprintf(file, "sw%" PRIu32 "-%" PRIu32, level, index);
}

static uint32_t xgft_level(const struct pm_generate *config, uint32_t node)
{
	uint32_t index;

	return find_level(&config->xgft, node, &index) - 1;
}

const struct generate_shape generate_xgft = {
	.measure = xgft_measure,
	.ports = xgft_ports,
	.peer = xgft_peer,
	.print_name = xgft_print_name,
	.level = xgft_level,
};
