/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Edge switches below a director's line boards. Link j of all links from edge switches to
 * line boards goes to board j mod L, to its port 1 + j div L, if there are L of them.
 */
#include "generate_parts.h"

#include <inttypes.h>

static int boards_measure(const struct pm_generate *config, struct generate_size *size,
			  struct pm_error *err)
{
	const struct pm_generate_line_boards *b = &config->line_boards;
	const unsigned int numbers[] = {b->lines, b->spines, b->edges, b->hosts,
					b->uplinks};
	uint64_t most[3];
	int rc = 0;

	for (unsigned int i = 0; i < 5 && !rc; i++)
		rc = generate_check_number("line-boards", numbers[i], err);
	if (rc)
		return rc;
	most[0] = (uint64_t)b->hosts + b->uplinks;
	most[1] =
		generate_divide_up((uint64_t)b->edges * b->uplinks, b->lines) + b->spines;
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
	return (uint32_t)generate_divide_up((uint64_t)b->edges * b->uplinks, b->lines);
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
