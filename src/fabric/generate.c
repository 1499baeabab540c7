/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes generated fabrics as netlists: lays out end nodes, and prints all records. */
#include "generate_parts.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <inttypes.h>

/* ibsim warns about every port line that does not end in a LID, width and speed. */
#define LINK_COMMENT "\t# lid 0 4xQDR\n"
#define SPLIT_COMMENT "\t# lid 0 2xHDR\n" /* of half a split port */
#define WHOLE_COMMENT "\t# lid 0 4xHDR\n" /* of a whole port there */
#define MAX_LIDS 49151			  /* 1..0xbfff */
#define LEVELS PM_GENERATE_MAX_HEIGHT

/* The device ID of real aggregation nodes, by which OpenSM knows them. */
#define AGGREGATION_DEVICE "0xcf09"
#define AGGREGATION_NODE "Mellanox Technologies Aggregation Node"
/* Without this base, ibsim's first GUID of a router is all ones, and the next one 0. */
#define ROUTER_GUIDS "0x300000"

/* A fabric that is being written. */
struct layout {
	const struct pm_generate *config;
	const struct generate_shape *shape;
	FILE *file;
	struct generate_size size;
	uint32_t host_ports;	    /* of a host, at least 1 */
	uint32_t host_leaves;	    /* leaves of the hosts' first ports */
	uint32_t *order;	    /* switches by level, lowest first */
	uint32_t *index;	    /* [switch] its index in its level */
	uint32_t first[LEVELS + 1]; /* [level] its first switch in order[] */
	uint64_t services[LEVELS];  /* [level] service nodes there */
};

static const struct generate_shape *find_shape(enum pm_generate_kind kind)
{
	static const struct generate_shape *const shapes[] = {
		[PM_GENERATE_DIRECTOR] = &generate_director,
		[PM_GENERATE_TWO_LEVEL] = &generate_two_level,
		[PM_GENERATE_XGFT] = &generate_xgft,
		[PM_GENERATE_LINE_BOARDS] = &generate_line_boards,
		[PM_GENERATE_ISLANDS] = &generate_islands,
		[PM_GENERATE_TORUS] = &generate_torus,
		[PM_GENERATE_DRAGONFLY] = &generate_dragonfly,
	};

	if ((unsigned int)kind >= sizeof(shapes) / sizeof(shapes[0]))
		return NULL;
	return shapes[kind];
}

/* ---- Where things are ---- */

static uint32_t level_of(const struct layout *l, uint32_t node)
{
	return l->shape->level(l->config, node);
}

static bool is_leaf(const struct layout *l, uint32_t node)
{
	return node < l->size.leaves;
}

static uint32_t count_hosts(const struct layout *l, uint32_t leaf)
{
	return l->shape->hosts ? l->shape->hosts(l->config, leaf)
			       : (uint32_t)l->size.hosts_per_leaf;
}

/*
 * The number of one of the shape's ports. On split leaves a port that is not split takes
 * two numbers, and has the first.
 */
static uint32_t port_number(const struct layout *l, uint32_t node, uint32_t port)
{
	uint32_t hosts;

	if (!l->config->split || !is_leaf(l, node))
		return port;
	hosts = count_hosts(l, node);
	return port <= hosts ? port : hosts + 2 * (port - hosts) - 1;
}

static uint32_t shape_ports(const struct layout *l, uint32_t node)
{
	uint32_t ports = l->shape->ports(l->config, node);

	return l->config->split && is_leaf(l, node) ? 2 * ports - count_hosts(l, node)
						    : ports;
}

static uint32_t count_level(const struct layout *l, uint32_t level)
{
	return l->first[level + 1] - l->first[level];
}

/* Counts the service nodes at a switch: node i of a level is at switch i mod n, of n. */
static uint64_t count_services(const struct layout *l, uint32_t node)
{
	uint32_t level = level_of(l, node);
	uint64_t count = l->services[level];

	return count / count_level(l, level) +
	       (l->index[node] < count % count_level(l, level));
}

/* Counts a switch's ports: the shape's, to service nodes, to the aggregation node. */
static uint64_t count_ports(const struct layout *l, uint32_t node)
{
	return shape_ports(l, node) + count_services(l, node) + l->config->aggregation;
}

/* ---- What is requested ---- */

static int check_size(const struct generate_size *size, uint64_t max_ports,
		      uint64_t end_ports, struct pm_error *err)
{
	uint64_t nodes;

	if (max_ports > PM_MAX_PORTS)
		return pm_error_set(err, -E2BIG,
				    "a switch would have %" PRIu64 " ports, more than %d",
				    max_ports, PM_MAX_PORTS);
	/* End nodes take ports of switches, so this sum is far from overflowing. */
	nodes = size->switches + end_ports;
	if (nodes > PM_MAX_NODES)
		return pm_error_set(err, -E2BIG, "more than %d nodes", PM_MAX_NODES);
	if (nodes > MAX_LIDS)
		return pm_error_set(err, -E2BIG,
				    "%" PRIu64
				    " nodes need more than the %d LIDs there are",
				    nodes, MAX_LIDS);
	return 0;
}

static int check_hosts(const struct layout *l, struct pm_error *err)
{
	uint64_t leaves = l->size.leaves;

	if (l->host_ports == 1)
		return 0;
	if (l->shape->hosts)
		return pm_error_set(
			err, -EINVAL,
			"hosts of several ports are for leaves of equally many hosts");
	if (leaves % l->host_ports)
		return pm_error_set(err, -EINVAL,
				    "%" PRIu64 " leaves cannot be divided by the %" PRIu32
				    " ports of a host",
				    leaves, l->host_ports);
	if (l->host_ports > PM_MAX_PORTS)
		return pm_error_set(err, -E2BIG,
				    "a host would have %" PRIu32 " ports, more than %d",
				    l->host_ports, PM_MAX_PORTS);
	return 0;
}

static bool is_service_name(const char name[PM_GENERATE_NAME])
{
	size_t length = 0;

	while (length < PM_GENERATE_NAME && name[length] >= 'a' && name[length] <= 'z')
		length++;
	return length && length < PM_GENERATE_NAME && !name[length];
}

static int check_services(struct layout *l, struct pm_error *err)
{
	for (unsigned int i = 0; i < l->config->num_services; i++) {
		const struct pm_generate_service *s = &l->config->services[i];

		if (!is_service_name(s->name) || !s->count)
			return pm_error_set(
				err, -EINVAL,
				"service nodes: a name of up to %d small letters, and a number",
				PM_GENERATE_NAME - 1);
		if (s->level >= LEVELS || !count_level(l, s->level))
			return pm_error_set(err, -EINVAL, "no switches are on level %u",
					    s->level);
		l->services[s->level] += s->count;
	}
	return 0;
}

/* ---- A layout ---- */

static int sort_switches(struct layout *l, struct pm_error *err)
{
	uint32_t next[LEVELS], switches = (uint32_t)l->size.switches;

	l->order = pm_array(switches, sizeof(*l->order));
	l->index = pm_array(switches, sizeof(*l->index));
	if (!l->order || !l->index)
		return pm_error_no_memory(err);
	for (uint32_t i = 0; i < switches; i++)
		l->first[level_of(l, i) + 1]++;
	for (uint32_t level = 0; level < LEVELS; level++) {
		next[level] = l->first[level];
		l->first[level + 1] += l->first[level];
	}
	for (uint32_t i = 0; i < switches; i++) {
		uint32_t level = level_of(l, i);

		l->index[i] = next[level] - l->first[level];
		l->order[next[level]++] = i;
	}
	return 0;
}

static int make_layout(struct layout *l, struct pm_error *err)
{
	struct generate_size *size = &l->size;
	uint64_t most = 0, end_ports;
	int rc = l->shape->measure(l->config, size, err);

	if (rc)
		return rc;
	end_ports = l->shape->hosts ? size->hosts : size->leaves * size->hosts_per_leaf;
	rc = check_size(size, size->max_ports, end_ports, err);
	if (!rc)
		rc = check_hosts(l, err);
	if (!rc)
		rc = sort_switches(l, err);
	if (!rc)
		rc = check_services(l, err);
	if (rc)
		return rc;
	l->host_leaves = (uint32_t)size->leaves / l->host_ports;
	for (uint32_t i = 0; i < size->switches; i++)
		if (count_ports(l, i) > most)
			most = count_ports(l, i);
	for (uint32_t level = 0; level < LEVELS; level++)
		end_ports += l->services[level];
	if (l->config->aggregation)
		end_ports += size->switches;
	return check_size(size, most, end_ports, err);
}

/* ---- Names ---- */

static void print_switch(const struct layout *l, uint32_t node)
{
	if (is_leaf(l, node))
		fprintf(l->file, "leaf%" PRIu32, node);
	else
		l->shape->print_name(l->config, node, l->file);
}

/* Prints the end node at this port of a leaf; returns the end node's port number. */
static uint32_t print_host(const struct layout *l, uint32_t leaf, uint32_t port)
{
	uint32_t own = leaf / l->host_leaves;

	fprintf(l->file, "h%" PRIu32 "-%" PRIu32, leaf % l->host_leaves, port);
	if (l->host_ports == 1 || !l->config->rails)
		return 1 + own;
	fprintf(l->file, "-%" PRIu32, 1 + own);
	return 1;
}

static const struct pm_generate_service *
find_service(const struct layout *l, uint32_t level, uint64_t i, uint64_t *number)
{
	const struct pm_generate_service *s = l->config->services;

	while (s->level != level || i >= s->count) {
		i -= s->level == level ? s->count : 0;
		s++;
	}
	/* Nodes of the same name are numbered. */
	*number = 1 + i;
	for (const struct pm_generate_service *o = l->config->services; o < s; o++)
		*number += strcmp(o->name, s->name) ? 0 : o->count;
	return s;
}

static void print_service(const struct layout *l, uint32_t level, uint64_t i)
{
	uint64_t number;
	const struct pm_generate_service *s = find_service(l, level, i, &number);

	fprintf(l->file, "%s-%" PRIu64, s->name, number);
}

/* ---- Records ---- */

/* The comment behind a port that is not split. */
static const char *whole_comment(const struct layout *l)
{
	return l->config->split ? WHOLE_COMMENT : LINK_COMMENT;
}

/* The comment behind a host's port. */
static const char *host_comment(const struct layout *l)
{
	return l->config->split ? SPLIT_COMMENT : LINK_COMMENT;
}

static void write_shape_port(const struct layout *l, uint32_t node, uint32_t port)
{
	bool host = is_leaf(l, node) && port <= count_hosts(l, node);
	struct generate_end peer = {PM_NONE, 0};
	uint32_t number = port_number(l, node, port);

	if (!host)
		peer = l->shape->peer(l->config, node, port);
	if (!host && peer.node == PM_NONE)
		return;
	fprintf(l->file, "[%" PRIu32 "]\t\"", number);
	if (host) {
		number = print_host(l, node, port);
	} else {
		print_switch(l, peer.node);
		number = port_number(l, peer.node, peer.port);
	}
	fprintf(l->file, "\"[%" PRIu32 "]%s", number,
		host ? host_comment(l) : whole_comment(l));
}

static void write_switch(const struct layout *l, uint32_t node)
{
	uint32_t ports = l->shape->ports(l->config, node), level = level_of(l, node);
	uint32_t next = shape_ports(l, node) + 1;

	fprintf(l->file, "Switch\t%" PRIu64 " \"", count_ports(l, node));
	print_switch(l, node);
	fputs("\"\n", l->file);
	for (uint32_t port = 1; port <= ports; port++)
		write_shape_port(l, node, port);
	for (uint64_t i = 0; i < count_services(l, node); i++) {
		fprintf(l->file, "[%" PRIu32 "]\t\"", next++);
		print_service(l, level, i * count_level(l, level) + l->index[node]);
		fprintf(l->file, "\"[1]%s", whole_comment(l));
	}
	if (l->config->aggregation)
		fprintf(l->file, "[%" PRIu32 "]\t\"agg%" PRIu32 "\"[1]%s", next, node,
			whole_comment(l));
	/* ibsim needs the blank line to find the next record's header. */
	fputc('\n', l->file);
}

static void write_host_port(const struct layout *l, uint32_t own, uint32_t leaf,
			    uint32_t port)
{
	fprintf(l->file, "[%" PRIu32 "]\t\"leaf%" PRIu32 "\"[%" PRIu32 "]%s", own, leaf,
		port, host_comment(l));
}

/* Writes all adapters of the host that has its first port here. */
static void write_host(const struct layout *l, uint32_t leaf, uint32_t port)
{
	bool rails = l->config->rails;

	for (uint32_t i = 0; i < l->host_ports; i++) {
		uint32_t there = leaf + i * l->host_leaves;

		if (!i || rails) {
			fprintf(l->file, "Hca\t%" PRIu32 " \"",
				rails ? 1 : l->host_ports);
			print_host(l, there, port);
			fputs("\"\n", l->file);
		}
		write_host_port(l, rails ? 1 : i + 1, there, port);
		if (rails || i + 1 == l->host_ports)
			fputc('\n', l->file);
	}
}

/* Writes the service nodes of a level: the routers, or the others. */
static void write_services(const struct layout *l, uint32_t level, bool routers)
{
	uint32_t count = count_level(l, level);

	for (uint64_t i = 0; i < l->services[level] && !ferror(l->file); i++) {
		uint64_t number;
		uint32_t sw = l->order[l->first[level] + i % count];

		if (!strcmp(find_service(l, level, i, &number)->name, "router") !=
		    routers)
			continue;
		fprintf(l->file, "%s\t1 \"", routers ? "Rt" : "Hca");
		print_service(l, level, i);
		fputs("\"\n[1]\t\"", l->file);
		print_switch(l, sw);
		fprintf(l->file, "\"[%" PRIu64 "]%s\n",
			shape_ports(l, sw) + 1 + i / count, whole_comment(l));
	}
}

static bool has_routers(const struct layout *l)
{
	for (unsigned int i = 0; i < l->config->num_services; i++)
		if (!strcmp(l->config->services[i].name, "router"))
			return true;
	return false;
}

/* Writes aggregation nodes: last, as the device ID applies to all later records. */
static void write_aggregation(const struct layout *l)
{
	fputs("devid=" AGGREGATION_DEVICE "\n", l->file);
	for (uint32_t i = 0; i < l->size.switches && !ferror(l->file); i++) {
		fprintf(l->file,
			"Hca\t1 \"agg%" PRIu32 "\"\t# \"" AGGREGATION_NODE "\"\n[1]\t\"",
			i);
		print_switch(l, i);
		fprintf(l->file, "\"[%" PRIu64 "]%s\n", count_ports(l, i),
			whole_comment(l));
	}
}

static void write_layout(const struct layout *l)
{
	for (uint32_t node = 0; node < l->size.switches && !ferror(l->file); node++)
		write_switch(l, node);
	for (uint32_t leaf = 0; leaf < l->host_leaves && !ferror(l->file); leaf++)
		for (uint32_t port = 1; port <= count_hosts(l, leaf); port++)
			write_host(l, leaf, port);
	for (uint32_t level = 0; level < LEVELS; level++)
		write_services(l, level, false);
	if (has_routers(l))
		fputs("rtguid=" ROUTER_GUIDS "\n", l->file);
	for (uint32_t level = 0; level < LEVELS; level++)
		write_services(l, level, true);
	if (l->config->aggregation)
		write_aggregation(l);
}

int pm_generate_write(const struct pm_generate *config, FILE *file, struct pm_error *err)
{
	struct layout layout = {
		.config = config,
		.shape = find_shape(config->kind),
		.file = file,
		.host_ports = config->host_ports ? config->host_ports : 1,
	};
	int rc;

	if (!layout.shape)
		return pm_error_set(err, -EINVAL, "no such kind of fabric: %d",
				    (int)config->kind);
	rc = make_layout(&layout, err);
	if (!rc) {
		write_layout(&layout);
		if (fflush(file) || ferror(file))
			rc = pm_error_set(err, -EIO, "writing the netlist failed");
	}
	free(layout.order);
	free(layout.index);
	return rc;
}
