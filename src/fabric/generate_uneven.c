/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Trees of unlike switches: edge switches below a director's line boards, and islands
 * below common cores. In both the links between two levels are counted, and link j goes
 * to upper switch j mod U, to its port 1 + j div U, if there are U of them.
 */
#include "generate_parts.h"

#include <errno.h>
#include <inttypes.h>

static uint64_t divide_up(uint64_t number, uint64_t by)
{
	return (number + by - 1) / by;
}

static int check_number(const char *kind, uint64_t number, struct pm_error *err)
{
	if (!number)
		return pm_error_set(err, -EINVAL, "%s: numbers must be at least 1", kind);
	if (number > PM_MAX_NODES)
		return pm_error_set(err, -E2BIG, "more than %d nodes", PM_MAX_NODES);
	return 0;
}

/* ---- Line boards ---- */

static int boards_measure(const struct pm_generate *config, struct generate_size *size,
			  struct pm_error *err)
{
	const struct pm_generate_line_boards *b = &config->line_boards;
	const unsigned int numbers[] = {b->lines, b->spines, b->edges, b->hosts,
					b->uplinks};
	uint64_t most[3];
	int rc = 0;

	for (unsigned int i = 0; i < 5 && !rc; i++)
		rc = check_number("line-boards", numbers[i], err);
	if (rc)
		return rc;
	most[0] = (uint64_t)b->hosts + b->uplinks;
	most[1] = divide_up((uint64_t)b->edges * b->uplinks, b->lines) + b->spines;
	most[2] = b->lines;
	*size = (struct generate_size){
		.leaves = b->edges,
		.hosts_per_leaf = b->hosts,
		.switches = (uint64_t)b->edges + b->lines + b->spines,
	};
	for (unsigned int i = 0; i < 3; i++)
		if (most[i] > size->max_ports)
			size->max_ports = most[i];
	return 0;
}

static uint32_t boards_level(const struct pm_generate *config, uint32_t node)
{
	const struct pm_generate_line_boards *b = &config->line_boards;

	return node < b->edges ? 0 : node < b->edges + b->lines ? 1 : 2;
}

/* The number of a line board's ports to edge switches. */
static uint32_t down_ports(const struct pm_generate_line_boards *b)
{
	return (uint32_t)divide_up((uint64_t)b->edges * b->uplinks, b->lines);
}

static uint32_t boards_ports(const struct pm_generate *config, uint32_t node)
{
	const struct pm_generate_line_boards *b = &config->line_boards;

	switch (boards_level(config, node)) {
	case 0:
		return b->hosts + b->uplinks;
	case 1:
		return down_ports(b) + b->spines;
	default:
		return b->lines;
	}
}

static struct generate_end boards_peer(const struct pm_generate *config, uint32_t node,
				       uint32_t port)
{
	const struct pm_generate_line_boards *b = &config->line_boards;
	uint32_t lines = b->edges, spines = b->edges + b->lines, down = down_ports(b);
	uint32_t link;

	if (node < lines) {
		link = node * b->uplinks + port - 1 - b->hosts;
		return (struct generate_end){lines + link % b->lines,
					     1 + link / b->lines};
	}
	if (node >= spines)
		return (struct generate_end){lines + port - 1, down + 1 + node - spines};
	if (port > down)
		return (struct generate_end){spines + port - 1 - down, 1 + node - lines};
	link = (port - 1) * b->lines + node - lines;
	if (link / b->uplinks >= b->edges)
		return (struct generate_end){PM_NONE, 0};
	return (struct generate_end){link / b->uplinks, 1 + b->hosts + link % b->uplinks};
}

static void boards_print_name(const struct pm_generate *config, uint32_t node, FILE *file)
{
	const struct pm_generate_line_boards *b = &config->line_boards;

	if (node < b->edges + b->lines)
		fprintf(file, "line%" PRIu32, node - b->edges);
	else
		fprintf(file, "spine%" PRIu32, node - b->edges - b->lines);
}

const struct generate_shape generate_line_boards = {
	.measure = boards_measure,
	.ports = boards_ports,
	.peer = boards_peer,
	.print_name = boards_print_name,
	.level = boards_level,
};

/* ---- Islands ---- */

/* Where a switch is: in an island, or among the cores, which are in none. */
struct place {
	const struct pm_generate_island *island;
	uint32_t leaves, spines; /* the first ones of this island */
	uint32_t level;
	uint32_t number; /* in its island, or among the cores */
};

static uint32_t count_switches(const struct pm_generate_islands *c, uint32_t level)
{
	uint32_t count = 0;

	for (unsigned int i = 0; i < c->num_islands; i++)
		count += level ? c->island[i].spines : c->island[i].leaves;
	return count;
}

static struct place find_place(const struct pm_generate_islands *c, uint32_t node)
{
	uint32_t leaves = count_switches(c, 0), cores = leaves + count_switches(c, 1);
	struct place place = {.island = c->island, .spines = leaves};

	if (node >= cores)
		return (struct place){.level = 2, .number = node - cores};
	place.level = node >= leaves;
	for (;; place.island++) {
		uint32_t first = place.level ? place.spines : place.leaves;
		uint32_t count =
			place.level ? place.island->spines : place.island->leaves;

		place.number = node - first;
		if (place.number < count)
			return place;
		place.leaves += place.island->leaves;
		place.spines += place.island->spines;
	}
}

static int measure_island(const struct pm_generate_islands *c, unsigned int number,
			  struct generate_size *size, struct pm_error *err)
{
	const struct pm_generate_island *island = &c->island[number];
	uint64_t leaf = (uint64_t)island->hosts + island->spines;
	uint64_t spine = (uint64_t)island->leaves + c->uplinks;
	int rc = check_number("islands", island->leaves, err);

	if (!rc)
		rc = check_number("islands", island->spines, err);
	if (!rc)
		rc = check_number("islands", island->hosts, err);
	if (rc)
		return rc;
	size->leaves += island->leaves;
	size->hosts += (uint64_t)island->leaves * island->hosts;
	size->switches += (uint64_t)island->leaves + island->spines;
	if (leaf > size->max_ports)
		size->max_ports = leaf;
	if (spine > size->max_ports)
		size->max_ports = spine;
	return 0;
}

static int islands_measure(const struct pm_generate *config, struct generate_size *size,
			   struct pm_error *err)
{
	const struct pm_generate_islands *c = &config->islands;
	int rc = check_number("islands", c->uplinks, err);
	uint64_t core;

	*size = (struct generate_size){0};
	if (!rc)
		rc = check_number("islands", c->cores, err);
	if (!rc && (!c->num_islands || c->num_islands > PM_GENERATE_MAX_ISLANDS))
		rc = pm_error_set(err, -EINVAL, "islands: 1 to %d of them",
				  PM_GENERATE_MAX_ISLANDS);
	for (unsigned int i = 0; !rc && i < c->num_islands; i++)
		rc = measure_island(c, i, size, err);
	if (rc)
		return rc;
	core = divide_up((size->switches - size->leaves) * c->uplinks, c->cores);
	size->switches += c->cores;
	if (core > size->max_ports)
		size->max_ports = core;
	return 0;
}

static uint32_t islands_level(const struct pm_generate *config, uint32_t node)
{
	return find_place(&config->islands, node).level;
}

static uint32_t islands_hosts(const struct pm_generate *config, uint32_t leaf)
{
	return find_place(&config->islands, leaf).island->hosts;
}

static uint32_t islands_ports(const struct pm_generate *config, uint32_t node)
{
	const struct pm_generate_islands *c = &config->islands;
	struct place place = find_place(c, node);

	switch (place.level) {
	case 0:
		return place.island->hosts + place.island->spines;
	case 1:
		return place.island->leaves + c->uplinks;
	default:
		return (uint32_t)divide_up((uint64_t)count_switches(c, 1) * c->uplinks,
					   c->cores);
	}
}

static struct generate_end islands_peer(const struct pm_generate *config, uint32_t node,
					uint32_t port)
{
	const struct pm_generate_islands *c = &config->islands;
	uint32_t spines = count_switches(c, 0), cores = spines + count_switches(c, 1);
	struct place place = find_place(c, node);
	const struct pm_generate_island *island = place.island;
	uint32_t link;

	if (place.level == 0)
		return (struct generate_end){place.spines + port - 1 - island->hosts,
					     1 + place.number};
	if (place.level == 1 && port <= island->leaves)
		return (struct generate_end){place.leaves + port - 1,
					     1 + island->hosts + place.number};
	if (place.level == 1) {
		link = (node - spines) * c->uplinks + port - 1 - island->leaves;
		return (struct generate_end){cores + link % c->cores,
					     1 + link / c->cores};
	}
	link = (port - 1) * c->cores + place.number;
	node = spines + link / c->uplinks;
	if (node >= cores)
		return (struct generate_end){PM_NONE, 0};
	place = find_place(c, node);
	return (struct generate_end){node, 1 + place.island->leaves + link % c->uplinks};
}

static void islands_print_name(const struct pm_generate *config, uint32_t node,
			       FILE *file)
{
	const struct pm_generate_islands *c = &config->islands;
	struct place place = find_place(c, node);

	if (place.level == 1)
		fprintf(file, "spine%" PRIu32, node - count_switches(c, 0));
	else
		fprintf(file, "core%" PRIu32, place.number);
}

const struct generate_shape generate_islands = {
	.measure = islands_measure,
	.ports = islands_ports,
	.peer = islands_peer,
	.print_name = islands_print_name,
	.level = islands_level,
	.hosts = islands_hosts,
};
