/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "generate_parts.h"

#include <errno.h>
#include <inttypes.h>

/* ibsim warns about every port line that does not end in a LID, width and speed. */
#define LINK_COMMENT "\t# lid 0 4xQDR\n"
#define MAX_LIDS 49151 /* 1..0xbfff */

static const struct generate_shape *find_shape(enum pm_generate_kind kind)
{
	static const struct generate_shape *const shapes[] = {
		[PM_GENERATE_DIRECTOR] = &generate_director,
		[PM_GENERATE_TWO_LEVEL] = &generate_two_level,
		[PM_GENERATE_XGFT] = &generate_xgft,
	};

	if ((unsigned int)kind >= sizeof(shapes) / sizeof(shapes[0]))
		return NULL;
	return shapes[kind];
}

static int check_size(const struct generate_size *size, struct pm_error *err)
{
	uint64_t nodes;

	if (size->max_ports > PM_MAX_PORTS)
		return pm_error_set(err, -E2BIG,
				    "a switch would have %" PRIu64 " ports, more than %d",
				    size->max_ports, PM_MAX_PORTS);
	/* Hosts take ports of a leaf, so this product is far from overflowing. */
	nodes = size->switches + size->leaves * size->hosts_per_leaf;
	if (nodes > PM_MAX_NODES)
		return pm_error_set(err, -E2BIG, "more than %d nodes", PM_MAX_NODES);
	if (nodes > MAX_LIDS)
		return pm_error_set(err, -E2BIG,
				    "%" PRIu64 " nodes need more than the "
				    "%d LIDs there are",
				    nodes, MAX_LIDS);
	return 0;
}

static void print_name(const struct pm_generate *config,
		       const struct generate_shape *shape,
		       const struct generate_size *size, uint32_t node, FILE *file)
{
	if (node < size->leaves)
		fprintf(file, "leaf%" PRIu32, node);
	else
		shape->print_name(config, node, file);
}

static void write_switch(const struct pm_generate *config,
			 const struct generate_shape *shape,
			 const struct generate_size *size, uint32_t node, FILE *file)
{
	uint32_t ports = shape->ports(config, node);

	fprintf(file, "Switch\t%" PRIu32 " \"", ports);
	print_name(config, shape, size, node, file);
	fputs("\"\n", file);
	for (uint32_t port = 1; port <= ports; port++) {
		struct generate_end peer;

		if (node < size->leaves && port <= size->hosts_per_leaf) {
			fprintf(file,
				"[%" PRIu32 "]\t\"h%" PRIu32 "-%" PRIu32
				"\"[1]" LINK_COMMENT,
				port, node, port);
			continue;
		}
		peer = shape->peer(config, node, port);
		fprintf(file, "[%" PRIu32 "]\t\"", port);
		print_name(config, shape, size, peer.node, file);
		fprintf(file, "\"[%" PRIu32 "]" LINK_COMMENT, peer.port);
	}
	/* Without the blank line ibsim would lose the next record's header. */
	fputc('\n', file);
}

int pm_generate_write(const struct pm_generate *config, FILE *file, struct pm_error *err)
{
	const struct generate_shape *shape = find_shape(config->kind);
	struct generate_size size;
	int rc;

	if (!shape)
		return pm_error_set(err, -EINVAL, "no such kind of fabric: %d",
				    (int)config->kind);
	rc = shape->measure(config, &size, err);
	if (!rc)
		rc = check_size(&size, err);
	if (rc)
		return rc;
	for (uint32_t node = 0; node < size.switches && !ferror(file); node++)
		write_switch(config, shape, &size, node, file);
	for (uint32_t leaf = 0; leaf < size.leaves && !ferror(file); leaf++)
		for (uint32_t port = 1; port <= size.hosts_per_leaf; port++)
			fprintf(file,
				"Hca\t1 \"h%" PRIu32 "-%" PRIu32 "\"\n"
				"[1]\t\"leaf%" PRIu32 "\"[%" PRIu32 "]" LINK_COMMENT "\n",
				leaf, port, leaf, port);
	if (fflush(file) || ferror(file))
		return pm_error_set(err, -EIO, "writing the netlist failed");
	return 0;
}
