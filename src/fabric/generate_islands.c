/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Islands below common cores. Link j of all links from spines to cores goes to core j mod
 * C, to its port 1 + j div C, if there are C of them.
 */
#include "generate_parts.h"

#include <errno.h>
#include <inttypes.h>

/* Where a switch is: in an island, or among the cores, which are in none. */
struct seat {
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

static struct seat find_seat(const struct pm_generate_islands *c, uint32_t node)
{
	uint32_t leaves = count_switches(c, 0), cores = leaves + count_switches(c, 1);
	struct seat seat = {.island = c->island, .spines = leaves};

	if (node >= cores)
		return (struct seat){.level = 2, .number = node - cores};
	seat.level = node >= leaves;
	for (;; seat.island++) {
		uint32_t first = seat.level ? seat.spines : seat.leaves;
		uint32_t count = seat.level ? seat.island->spines : seat.island->leaves;

		seat.number = node - first;
		if (seat.number < count)
			return seat;
		seat.leaves += seat.island->leaves;
		seat.spines += seat.island->spines;
	}
}

static int measure_island(const struct pm_generate_islands *c, unsigned int number,
			  struct generate_size *size, struct pm_error *err)
{
	const struct pm_generate_island *island = &c->island[number];
	uint64_t leaf = (uint64_t)island->hosts + island->spines;
	uint64_t spine = (uint64_t)island->leaves + c->uplinks;
	int rc = generate_check_number("islands", island->leaves, err);

	if (!rc)
		rc = generate_check_number("islands", island->spines, err);
	if (!rc)
		rc = generate_check_number("islands", island->hosts, err);
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
	int rc = generate_check_number("islands", c->uplinks, err);
	uint64_t core;

	*size = (struct generate_size){0};
	if (!rc)
		rc = generate_check_number("islands", c->cores, err);
	if (!rc && (!c->num_islands || c->num_islands > PM_GENERATE_MAX_ISLANDS))
		rc = pm_error_set(err, -EINVAL, "islands: 1 to %d of them",
				  PM_GENERATE_MAX_ISLANDS);
	for (unsigned int i = 0; !rc && i < c->num_islands; i++)
		rc = measure_island(c, i, size, err);
	if (rc)
		return rc;
	core = generate_divide_up((size->switches - size->leaves) * c->uplinks, c->cores);
	size->switches += c->cores;
	if (core > size->max_ports)
		size->max_ports = core;
	return 0;
}

static uint32_t islands_level(const struct pm_generate *config, uint32_t node)
{
	return find_seat(&config->islands, node).level;
}

static uint32_t islands_hosts(const struct pm_generate *config, uint32_t leaf)
{
	return find_seat(&config->islands, leaf).island->hosts;
}

static uint32_t islands_ports(const struct pm_generate *config, uint32_t node)
{
	const struct pm_generate_islands *c = &config->islands;
	struct seat seat = find_seat(c, node);

	switch (seat.level) {
	case 0:
		return seat.island->hosts + seat.island->spines;
	case 1:
		return seat.island->leaves + c->uplinks;
	default:
		return (uint32_t)generate_divide_up(
			(uint64_t)count_switches(c, 1) * c->uplinks, c->cores);
	}
}

static struct generate_end islands_peer(const struct pm_generate *config, uint32_t node,
					uint32_t port)
{
	const struct pm_generate_islands *c = &config->islands;
	uint32_t spines = count_switches(c, 0), cores = spines + count_switches(c, 1);
	struct seat seat = find_seat(c, node);
	const struct pm_generate_island *island = seat.island;
	uint32_t link;

	if (seat.level == 0)
		return (struct generate_end){seat.spines + port - 1 - island->hosts,
					     1 + seat.number};
	if (seat.level == 1 && port <= island->leaves)
		return (struct generate_end){seat.leaves + port - 1,
					     1 + island->hosts + seat.number};
	if (seat.level == 1) {
		link = (node - spines) * c->uplinks + port - 1 - island->leaves;
		return (struct generate_end){cores + link % c->cores,
					     1 + link / c->cores};
	}
	link = (port - 1) * c->cores + seat.number;
	node = spines + link / c->uplinks;
	if (node >= cores)
		return (struct generate_end){PM_NONE, 0};
	seat = find_seat(c, node);
	return (struct generate_end){node, 1 + seat.island->leaves + link % c->uplinks};
}

static void islands_print_name(const struct pm_generate *config, uint32_t node,
			       FILE *file)
{
	const struct pm_generate_islands *c = &config->islands;
	struct seat seat = find_seat(c, node);

	if (seat.level == 1)
		fprintf(file, "spine%" PRIu32, node - count_switches(c, 0));
	else
		fprintf(file, "core%" PRIu32, seat.number);
}

const struct generate_shape generate_islands = {
	.measure = islands_measure,
	.ports = islands_ports,
	.peer = islands_peer,
	.print_name = islands_print_name,
	.level = islands_level,
	.hosts = islands_hosts,
};
