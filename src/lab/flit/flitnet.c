/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes networks: links are added in the order of the places that they leave. */
#include <portmajor/lab/flitnet.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LENGTH 24
#define MAX_SWITCHES 4096
#define MAX_NODES 4096

static struct pm_flit_net *make_net(uint32_t switches, uint32_t nodes, size_t links)
{
	struct pm_flit_net *net = pm_xarray(1, sizeof(*net));
	size_t places = (size_t)switches + nodes;

	net->num_switches = switches;
	net->num_nodes = nodes;
	net->links = pm_pool_xarray(&net->pool, links, sizeof(*net->links));
	net->first_link = pm_pool_xarray(&net->pool, places, sizeof(uint32_t));
	net->next_hop = pm_pool_xarray(&net->pool, (size_t)switches * nodes, 1);
	net->up = pm_pool_xarray(&net->pool, switches, 1);
	net->names = pm_pool_xarray(&net->pool, places, sizeof(char *));
	return net;
}

void pm_flit_net_free(struct pm_flit_net *net)
{
	if (net)
		pm_pool_free(&net->pool);
	free(net);
}

/* Begins the links of the next place. */
static void begin_place(struct pm_flit_net *net, uint32_t place)
{
	net->first_link[place] = net->num_links;
}

static struct pm_flit_link *add_link(struct pm_flit_net *net, uint32_t from, uint32_t to)
{
	struct pm_flit_link *link = &net->links[net->num_links++];

	*link = (struct pm_flit_link){
		.from = from, .to = to, .dimension = PM_FLIT_NO_DIMENSION};
	return link;
}

/* Adds a node's link, into a switch or another node. */
static void add_node_link(struct pm_flit_net *net, uint32_t node, uint32_t to)
{
	begin_place(net, net->num_switches + node);
	add_link(net, net->num_switches + node, to);
}

static void set_next_hop(struct pm_flit_net *net, uint32_t sw, uint32_t node,
			 uint32_t link)
{
	net->next_hop[(size_t)sw * net->num_nodes + node] = (uint8_t)link;
}

/* Names switches and nodes: s5, n5. */
static int finish_net(struct pm_flit_net *net, struct pm_flit_net **result)
{
	uint32_t places = net->num_switches + net->num_nodes;
	char *names = pm_pool_xarray(&net->pool, places, NAME_LENGTH);

	for (uint32_t i = 0; i < places; i++, names += NAME_LENGTH) {
		bool node = i >= net->num_switches;

		snprintf(names, NAME_LENGTH, "%c%u", node ? 'n' : 's',
			 node ? i - net->num_switches : i);
		net->names[i] = names;
	}
	for (uint32_t sw = 0; sw < net->num_switches; sw++)
		if (!net->up[sw])
			net->up[sw] =
				(uint8_t)(net->first_link[sw + 1] - net->first_link[sw]);
	*result = net;
	return 0;
}

uint32_t pm_flit_net_distance(const struct pm_flit_net *net, uint32_t from, uint32_t to)
{
	uint32_t last = net->num_switches + to, links = 1;
	uint32_t at = net->links[net->first_link[net->num_switches + from]].to;

	for (; at != last; links++) {
		uint32_t next_hop = net->next_hop[(size_t)at * net->num_nodes + to];

		if (next_hop == PM_FLIT_UP)
			next_hop = net->up[at];
		at = net->links[net->first_link[at] + next_hop].to;
	}
	return links;
}

/* ---- Torus ---- */

struct grid {
	const uint32_t *size;
	uint32_t dimensions, count;
	bool ties_up;
};

static uint32_t stride_of(const struct grid *grid, uint32_t dimension)
{
	uint32_t stride = 1;

	for (uint32_t d = 0; d < dimension; d++)
		stride *= grid->size[d];
	return stride;
}

static uint32_t coordinate(const struct grid *grid, uint32_t sw, uint32_t dimension)
{
	return sw / stride_of(grid, dimension) % grid->size[dimension];
}

/*
 * Adds a switch's links: 2d and 2d + 1 lead up and down dimension d; the node's is last.
 */
static void add_torus_links(struct pm_flit_net *net, const struct grid *grid, uint32_t sw)
{
	begin_place(net, sw);
	for (uint32_t d = 0; d < grid->dimensions; d++) {
		uint32_t size = grid->size[d], stride = stride_of(grid, d);
		uint32_t at = coordinate(grid, sw, d), first = sw - at * stride;

		for (int down = 0; down < 2; down++) {
			uint32_t next = (at + (down ? size - 1 : 1)) % size;
			struct pm_flit_link *link =
				add_link(net, sw, first + next * stride);

			link->dimension = (uint8_t)d;
			link->wrap = down ? at == 0 : next == 0;
		}
	}
	add_link(net, sw, net->num_switches + sw);
}

static uint32_t torus_next_hop(const struct grid *grid, uint32_t from, uint32_t to)
{
	uint32_t sum = 0;

	for (uint32_t d = 0; d < grid->dimensions; d++)
		sum += coordinate(grid, from, d);
	for (uint32_t d = 0; d < grid->dimensions; d++) {
		uint32_t size = grid->size[d];
		uint32_t remote =
			(coordinate(grid, to, d) + size - coordinate(grid, from, d)) %
			size;

		if (remote == 0)
			continue;
		if (2 * remote == size)
			return 2 * d + (grid->ties_up ? 0 : sum % 2);
		return 2 * d + (2 * remote > size);
	}
	return 2 * grid->dimensions;
}

int pm_flit_net_torus(const uint32_t *size, uint32_t dimensions, bool ties_up,
		      struct pm_flit_net **result, struct pm_error *err)
{
	struct grid grid = {size, dimensions, 1, ties_up};
	struct pm_flit_net *net;

	if (dimensions < 1 || dimensions > PM_FLIT_MAX_DIMENSIONS)
		return pm_error_set(err, -EINVAL, "a torus has 1 to %d dimensions",
				    PM_FLIT_MAX_DIMENSIONS);
	for (uint32_t d = 0; d < dimensions; d++) {
		if (size[d] < 2 || size[d] > 64)
			return pm_error_set(err, -EINVAL,
					    "a row of a torus has 2 to 64 switches");
		grid.count *= size[d];
	}
	if (grid.count > MAX_SWITCHES)
		return pm_error_set(err, -EINVAL, "more than %d switches", MAX_SWITCHES);
	net = make_net(grid.count, grid.count, (size_t)grid.count * (2 * dimensions + 2));
	net->torus = true;
	for (uint32_t sw = 0; sw < grid.count; sw++) {
		add_torus_links(net, &grid, sw);
		for (uint32_t to = 0; to < grid.count; to++)
			set_next_hop(net, sw, to, torus_next_hop(&grid, sw, to));
	}
	for (uint32_t node = 0; node < grid.count; node++)
		add_node_link(net, node, node);
	for (uint32_t d = 0; d < dimensions; d++)
		net->max_hops += size[d] / 2;
	return finish_net(net, result);
}

/* ---- A full mesh, and a chain ---- */

int pm_flit_net_mesh(uint32_t switches, uint32_t nodes, struct pm_flit_net **result,
		     struct pm_error *err)
{
	struct pm_flit_net *net;
	uint32_t count = switches * nodes;

	if (switches < 1 || switches > 200 || nodes < 1 || nodes > 50 || count < 2)
		return pm_error_set(err, -EINVAL,
				    "a mesh has 1 to 200 switches with 1 to 50 nodes "
				    "each, and 2 nodes at least");
	net = make_net(switches, count,
		       (size_t)switches * (switches + 2 * (size_t)nodes));
	for (uint32_t sw = 0; sw < switches; sw++) {
		begin_place(net, sw);
		for (uint32_t to = 0; to < switches; to++)
			if (to != sw)
				add_link(net, sw, to);
		for (uint32_t i = 0; i < nodes; i++)
			add_link(net, sw, switches + sw * nodes + i);
		for (uint32_t to = 0; to < count; to++) {
			uint32_t remote = to / nodes;

			set_next_hop(net, sw, to,
				     remote == sw ? switches - 1 + to % nodes
						  : remote - (remote > sw));
		}
	}
	for (uint32_t node = 0; node < count; node++)
		add_node_link(net, node, node / nodes);
	net->max_hops = switches > 1;
	return finish_net(net, result);
}

int pm_flit_net_chain(uint32_t cables, struct pm_flit_net **result, struct pm_error *err)
{
	struct pm_flit_net *net;
	uint32_t switches = cables - 1;

	if (cables < 1 || cables > 64)
		return pm_error_set(err, -EINVAL, "a chain has 1 to 64 cables");
	net = make_net(switches, 2, 2 * (size_t)cables);
	for (uint32_t sw = 0; sw < switches; sw++) {
		begin_place(net, sw);
		add_link(net, sw, sw ? sw - 1 : switches);
		add_link(net, sw, sw + 1 < switches ? sw + 1 : switches + 1);
		set_next_hop(net, sw, 0, 0);
		set_next_hop(net, sw, 1, 1);
	}
	add_node_link(net, 0, switches ? 0 : 1);
	add_node_link(net, 1, switches ? switches - 1 : 0);
	net->max_hops = switches ? switches - 1 : 0;
	return finish_net(net, result);
}

/* ---- Tree ---- */

/*
 * A level has k^(n-1) switches with n - 1 digits each. Switches of levels l and l + 1 are
 * linked if all their digits except digit l are equal.
 */
struct tree {
	uint32_t k, n, width;
};

static uint32_t power(uint32_t base, uint32_t exponent)
{
	uint32_t result = 1;

	while (exponent--)
		result *= base;
	return result;
}

static uint32_t with_digit(const struct tree *tree, uint32_t number, uint32_t digit,
			   uint32_t value)
{
	uint32_t stride = power(tree->k, digit);

	return number - number / stride % tree->k * stride + value * stride;
}

static void add_tree_switch(struct pm_flit_net *net, const struct tree *tree,
			    uint32_t level, uint32_t number)
{
	uint32_t sw = level * tree->width + number;
	uint32_t below = power(tree->k, level);

	begin_place(net, sw);
	for (uint32_t c = 0; c < tree->k; c++)
		add_link(net, sw,
			 level ? (level - 1) * tree->width +
					 with_digit(tree, number, level - 1, c)
			       : net->num_switches + number * tree->k + c);
	for (uint32_t c = 0; c < tree->k && level + 1 < tree->n; c++)
		add_link(net, sw,
			 (level + 1) * tree->width + with_digit(tree, number, level, c));
	net->up[sw] = (uint8_t)tree->k;
	for (uint32_t to = 0; to < net->num_nodes; to++) {
		uint32_t leaf = to / tree->k;

		if (leaf / below != number / below)
			set_next_hop(net, sw, to, PM_FLIT_UP);
		else
			set_next_hop(net, sw, to, to / below % tree->k);
	}
}

int pm_flit_net_tree(uint32_t k, uint32_t n, struct pm_flit_net **result,
		     struct pm_error *err)
{
	struct tree tree = {k, n, 1};
	struct pm_flit_net *net;
	uint32_t nodes;

	if (k < 2 || k > 64 || n < 1 || n > 6 || pow(k, n) > MAX_NODES)
		return pm_error_set(
			err, -EINVAL,
			"a tree K-ary N has K 2 to 64, N 1 to 6, and up to %d nodes",
			MAX_NODES);
	tree.width = power(k, n - 1);
	nodes = tree.width * k;
	net = make_net(n * tree.width, nodes, (size_t)nodes * 2 * n);
	for (uint32_t level = 0; level < n; level++)
		for (uint32_t i = 0; i < tree.width; i++)
			add_tree_switch(net, &tree, level, i);
	for (uint32_t node = 0; node < nodes; node++)
		add_node_link(net, node, node / k);
	net->max_hops = 2 * (n - 1);
	return finish_net(net, result);
}

/* ---- Tables ---- */

struct source {
	const struct pm_fabric *fabric;
	const struct pm_lfts *lfts;
	uint32_t *node_at; /* [port of a switch] attached node, or PM_NONE */
	uint32_t *ends;	   /* [node] its port */
};

/* Lists nodes, and counts all links. */
static size_t list_nodes(struct source *source, uint32_t *nodes)
{
	const struct pm_fabric *fabric = source->fabric;
	size_t links = 0;
	uint32_t num = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer;

		source->node_at[i] = PM_NONE;
		if (fabric->ports[i].node >= fabric->num_switches || peer == PM_NONE)
			continue;
		if (fabric->ports[peer].node < fabric->num_switches) {
			links++;
		} else if (fabric->ports[peer].lid) {
			source->ends[num] = peer;
			source->node_at[i] = num++;
			links += 2;
		}
	}
	*nodes = num;
	return links;
}

/* Adds a switch's links, and its next hops to all nodes. */
static void add_table(struct pm_flit_net *net, const struct source *source, uint32_t sw)
{
	const struct pm_fabric *fabric = source->fabric;
	const struct pm_node *n = &fabric->nodes[sw];
	const struct pm_lft_switch *table = pm_lfts_find(source->lfts, n->guid);
	uint8_t link[PM_MAX_PORTS + 2], num = 0;

	begin_place(net, sw);
	memset(link, PM_FLIT_NOWHERE, sizeof(link));
	pm_for_each_port(port, fabric, sw) {
		uint32_t remote = pm_fabric_peer_node(fabric, port);
		uint32_t node = source->node_at[port];

		if (remote == PM_NONE ||
		    (remote >= fabric->num_switches && node == PM_NONE))
			continue;
		add_link(net, sw,
			 remote < fabric->num_switches ? remote
						       : fabric->num_switches + node);
		link[port - n->first_port] = num++;
	}
	for (uint32_t node = 0; node < net->num_nodes; node++) {
		uint32_t lid = fabric->ports[source->ends[node]].lid;

		set_next_hop(net, sw, node,
			     table && lid < table->length ? link[table->table[lid]]
							  : PM_FLIT_NOWHERE);
	}
}

/* Whether a path from a switch leads to a node. */
static bool leads(struct pm_flit_net *net, uint32_t at, uint32_t node)
{
	for (uint32_t hops = 0; hops <= net->num_switches; hops++) {
		uint32_t next_hop = net->next_hop[(size_t)at * net->num_nodes + node];

		if (next_hop == PM_FLIT_NOWHERE)
			return false;
		at = net->links[net->first_link[at] + next_hop].to;
		if (at >= net->num_switches) {
			if (hops > net->max_hops)
				net->max_hops = hops;
			return at == net->num_switches + node;
		}
	}
	return false;
}

static uint32_t switch_of(const struct pm_flit_net *net, uint32_t node)
{
	return net->links[net->first_link[net->num_switches + node]].to;
}

static void find_no_path(struct pm_flit_net *net)
{
	struct pm_no_path *found = &net->no_path;
	uint32_t next;

	for (uint32_t from = 0; from < net->num_nodes; from = next) {
		uint32_t sw = switch_of(net, from);

		for (next = from + 1; next < net->num_nodes; next++)
			if (switch_of(net, next) != sw)
				break;
		for (uint32_t to = 0; to < net->num_nodes; to++) {
			bool below = to >= from && to < next; /* the same switch */

			if (leads(net, sw, to) || next - from == below)
				continue;
			if (!found->pairs) {
				found->from = to == from ? from + 1 : from;
				found->to = to;
			}
			found->pairs += next - from - below;
		}
	}
}

static int make_of_tables(struct source *source, struct pm_flit_net **result,
			  struct pm_error *err)
{
	const struct pm_fabric *fabric = source->fabric;
	struct pm_flit_net *net;
	uint32_t nodes;
	size_t links = list_nodes(source, &nodes);

	if (nodes < 2)
		return pm_error_set(
			err, -EINVAL,
			"less than two end ports with a LID and a cable to a switch");
	net = make_net(fabric->num_switches, nodes, links);
	for (uint32_t sw = 0; sw < net->num_switches; sw++)
		add_table(net, source, sw);
	for (uint32_t node = 0; node < nodes; node++)
		add_node_link(net, node, pm_fabric_peer_node(fabric, source->ends[node]));
	finish_net(net, result);
	for (uint32_t i = 0; i < fabric->num_switches + nodes; i++)
		net->names[i] = pm_fabric_label(
			fabric,
			i < fabric->num_switches
				? i
				: fabric->ports[source->ends[i - fabric->num_switches]]
					  .node);
	find_no_path(net);
	return 0;
}

int pm_flit_net_of_tables(const struct pm_fabric *fabric, const struct pm_lfts *lfts,
			  struct pm_flit_net **result, struct pm_error *err)
{
	struct pm_pool pool = {0};
	struct source source = {
		.fabric = fabric,
		.lfts = lfts,
		.node_at = pm_pool_xarray(&pool, fabric->num_ports, sizeof(uint32_t)),
		.ends = pm_pool_xarray(&pool, fabric->num_ports, sizeof(uint32_t)),
	};
	int rc = make_of_tables(&source, result, err);

	pm_pool_free(&pool);
	return rc;
}
