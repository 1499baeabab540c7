/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what)
{
	fprintf(stderr, "recipe: %s\n", what);
	abort();
}

/* ---- Random numbers ---- */

uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint32_t random_below(struct random *random, uint32_t below)
{
	return (uint32_t)((random_next(random) >> 32) * below >> 32);
}

uint32_t random_range(struct random *random, uint32_t low, uint32_t high)
{
	return low + random_below(random, high - low + 1);
}

bool random_chance(struct random *random, uint32_t percent)
{
	return random_below(random, 100) < percent;
}

/* Fills order[] with 0 to num - 1, shuffled if random is given. */
static void make_order(uint32_t *order, uint32_t num, struct random *random)
{
	for (uint32_t i = 0; i < num; i++)
		order[i] = i;
	for (uint32_t i = num; random && i > 1; i--) {
		uint32_t j = random_below(random, i), swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
}

/* ---- Recipes ---- */

uint64_t from_environment(const char *variable, uint64_t usual)
{
	const char *text = getenv(variable);

	return text && *text ? strtoull(text, NULL, 0) : usual;
}

void recipe_free(struct recipe *recipe)
{
	free(recipe->nodes);
	free(recipe->links);
	memset(recipe, 0, sizeof(*recipe));
}

/* Room for one more; grows whenever the count is 0 or a power of two. */
static void *room_for(void *array, uint32_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	array = reallocarray(array, count ? 2 * (size_t)count : 1, size);
	if (!array)
		die("out of memory");
	return array;
}

uint32_t recipe_add_node(struct recipe *recipe, enum pm_node_type type, uint64_t guid,
			 unsigned int num_ports, unsigned int level, const char *name)
{
	struct recipe_node *node;

	recipe->nodes = room_for(recipe->nodes, recipe->num_nodes, sizeof(*node));
	node = &recipe->nodes[recipe->num_nodes];
	*node = (struct recipe_node){
		.guid = guid,
		.type = type,
		.num_ports = num_ports,
		.level = level,
	};
	snprintf(node->name, sizeof(node->name), "%s", name);
	return recipe->num_nodes++;
}

void recipe_add_link(struct recipe *recipe, uint32_t a, unsigned int port_a, uint32_t b,
		     unsigned int port_b)
{
	recipe->links =
		room_for(recipe->links, recipe->num_links, sizeof(*recipe->links));
	recipe->links[recipe->num_links++] = (struct recipe_link){
		.node = {a, b},
		.port = {port_a, port_b},
	};
}

uint32_t recipe_add_host(struct recipe *recipe, uint32_t sw, unsigned int port)
{
	char name[32];
	uint32_t host;

	snprintf(name, sizeof(name), "h%u", recipe->num_nodes);
	host = recipe_add_node(recipe, PM_CA, 0x100000u + 2 * recipe->num_nodes, 1, 0,
			       name);
	recipe_add_link(recipe, sw, port, host, 1);
	return host;
}

bool recipe_has_link(const struct recipe *recipe, uint32_t link)
{
	const struct recipe_link *c = &recipe->links[link];

	return !c->away && !recipe->nodes[c->node[0]].away &&
	       !recipe->nodes[c->node[1]].away;
}

unsigned int recipe_free_port(const struct recipe *recipe, uint32_t node)
{
	bool used[PM_MAX_PORTS + 1] = {false};

	for (uint32_t c = 0; c < recipe->num_links; c++)
		for (int end = 0; end < 2; end++)
			if (recipe->links[c].node[end] == node)
				used[recipe->links[c].port[end]] = true;
	for (unsigned int p = 1; p <= recipe->nodes[node].num_ports; p++)
		if (!used[p])
			return p;
	return 0;
}

/* Nodes first, then cables; only those with there[] and has[]. */
static struct pm_fabric *build(const struct recipe *recipe, const bool *there,
			       const bool *has, struct random *random)
{
	uint32_t num_nodes = recipe->num_nodes, num_links = recipe->num_links;
	struct pm_fabric *fabric = pm_fabric_new();
	uint32_t *order = calloc(num_nodes + num_links + 1u, sizeof(*order));
	uint32_t *index = calloc(num_nodes + 1u, sizeof(*index));
	struct pm_error err = {""};

	if (!fabric || !order || !index)
		die("out of memory");
	make_order(order, num_nodes, random);
	for (uint32_t i = 0; i < num_nodes; i++) {
		const struct recipe_node *n = &recipe->nodes[order[i]];

		if (!there[order[i]])
			continue;
		if (pm_fabric_add_node(fabric, n->type, n->guid, n->num_ports, n->name,
				       &index[order[i]], &err))
			die(err.text);
		fabric->nodes[index[order[i]]].device = n->device;
	}
	make_order(order, num_links, random);
	for (uint32_t i = 0; i < num_links; i++) {
		const struct recipe_link *c = &recipe->links[order[i]];

		if (has[order[i]] && pm_fabric_link(fabric, index[c->node[0]], c->port[0],
						    index[c->node[1]], c->port[1], &err))
			die(err.text);
	}
	if (pm_fabric_seal(fabric, &err))
		die(err.text);
	free(order);
	free(index);
	return fabric;
}

/* A host without its cable is not in a discovered fabric. */
static bool is_adrift(const struct recipe *recipe, uint32_t node)
{
	if (recipe->nodes[node].type == PM_SWITCH)
		return false;
	for (uint32_t c = 0; c < recipe->num_links; c++)
		if ((recipe->links[c].node[0] == node ||
		     recipe->links[c].node[1] == node) &&
		    recipe_has_link(recipe, c))
			return false;
	return true;
}

struct pm_fabric *recipe_build(struct recipe *recipe, struct random *order)
{
	bool *there = calloc(recipe->num_nodes + 1u, sizeof(*there));
	bool *has = calloc(recipe->num_links + 1u, sizeof(*has));
	struct pm_fabric *fabric;

	if (!there || !has)
		die("out of memory");
	for (uint32_t i = 0; i < recipe->num_nodes; i++) {
		there[i] = !recipe->nodes[i].away && !is_adrift(recipe, i);
		recipe->nodes[i].built |= there[i];
	}
	for (uint32_t i = 0; i < recipe->num_links; i++) {
		has[i] = recipe_has_link(recipe, i);
		recipe->links[i].built |= has[i];
	}
	fabric = build(recipe, there, has, order);
	free(there);
	free(has);
	return fabric;
}

struct pm_fabric *recipe_build_whole(const struct recipe *recipe)
{
	bool *there = calloc(recipe->num_nodes + 1u, sizeof(*there));
	bool *has = calloc(recipe->num_links + 1u, sizeof(*has));
	struct pm_fabric *fabric;

	if (!there || !has)
		die("out of memory");
	for (uint32_t i = 0; i < recipe->num_nodes; i++)
		there[i] = recipe->nodes[i].built;
	for (uint32_t i = 0; i < recipe->num_links; i++)
		has[i] = recipe->links[i].built;
	fabric = build(recipe, there, has, NULL);
	free(there);
	free(has);
	return fabric;
}

/* ---- Drawings ---- */

static uint32_t find_node(const struct recipe *recipe, const char *name)
{
	for (uint32_t i = 0; i < recipe->num_nodes; i++)
		if (!strcmp(recipe->nodes[i].name, name))
			return i;
	return PM_NONE;
}

static void draw_link(struct recipe *recipe, const char *item)
{
	char a[24], b[24];
	unsigned int port_a, port_b = 1;
	uint32_t x, y;

	if (sscanf(item, "%23[^:]:%u=%23[^:]:%u", a, &port_a, b, &port_b) < 3)
		die(item);
	x = find_node(recipe, a);
	y = find_node(recipe, b);
	if (x == PM_NONE)
		die(item);
	if (y == PM_NONE)
		y = recipe_add_node(recipe, PM_CA, 0x100000u + 2 * recipe->num_nodes, 1,
				    0, b);
	recipe_add_link(recipe, x, port_a, y, port_b);
}

struct pm_fabric *recipe_draw(const char *text)
{
	struct recipe recipe = {0};
	char *copy = strdup(text), *rest = copy, *item;
	struct pm_fabric *fabric;

	if (!copy)
		die("out of memory");
	while ((item = strsep(&rest, " \t\n"))) {
		char name[32];
		unsigned int ports;

		if (!*item)
			continue;
		if (sscanf(item, "%23[^/]/%u", name, &ports) == 2)
			recipe_add_node(&recipe, PM_SWITCH, 0x200000u + recipe.num_nodes,
					ports, 0, name);
		else
			draw_link(&recipe, item);
	}
	fabric = recipe_build(&recipe, NULL);
	recipe_free(&recipe);
	free(copy);
	return fabric;
}

/* ---- Complete trees ---- */

/* Adds a switch with so many used ports. */
static uint32_t add_switch(struct recipe *recipe, unsigned int level, unsigned int ports,
			   const char *format, unsigned int i, unsigned int j)
{
	char name[32];

	snprintf(name, sizeof(name), format, i, j);
	return recipe_add_node(recipe, PM_SWITCH, 0x200000u + recipe->num_nodes, ports,
			       level, name);
}

static void add_hosts(struct recipe *recipe, uint32_t leaf, unsigned int hosts)
{
	for (unsigned int p = 1; p <= hosts; p++)
		recipe_add_host(recipe, leaf, p);
}

/* Switches of a level, as digits a (above it) and b (up to it): a has the weight. */
static unsigned int level_size(const struct recipe_xgft *shape, unsigned int level)
{
	unsigned int size = 1;

	for (unsigned int l = 0; l < level; l++)
		size *= shape->parents[l];
	for (unsigned int l = level + 1; l < shape->levels; l++)
		size *= shape->children[l];
	return size;
}

/* Ports of a switch towards its children; its up ports follow them. */
static unsigned int down_ports(const struct recipe_xgft *shape, unsigned int level)
{
	return level ? shape->children[level] * shape->parallel[level - 1] : shape->hosts;
}

static unsigned int up_ports(const struct recipe_xgft *shape, unsigned int level)
{
	return level + 1 < shape->levels ? shape->parents[level] * shape->parallel[level]
					 : 0;
}

/*
 * Joins level l to l + 1. With B the number of b digits of level l, switch
 * i = a * B + b has a = child + children * a' and its parents are
 * a' * B * parents + b * parents + k.
 */
static void join_level(struct recipe *recipe, const struct recipe_xgft *shape,
		       unsigned int l, uint32_t low, uint32_t high)
{
	unsigned int digits = 1, children = shape->children[l + 1];
	unsigned int parents = shape->parents[l], parallel = shape->parallel[l];

	for (unsigned int k = 0; k < l; k++)
		digits *= shape->parents[k];
	for (unsigned int i = 0; i < level_size(shape, l); i++)
		for (unsigned int k = 0; k < parents; k++)
			for (unsigned int c = 0; c < parallel; c++) {
				unsigned int a = i / digits, b = i % digits;
				unsigned int child = a % children, above = a / children;

				recipe_add_link(recipe, low + i,
						down_ports(shape, l) + 1 + k * parallel +
							c,
						high + (above * digits + b) * parents + k,
						1 + child * parallel + c);
			}
}

void recipe_add_xgft(struct recipe *recipe, const struct recipe_xgft *shape)
{
	uint32_t first[5] = {0};

	for (unsigned int l = 0; l < shape->levels; l++) {
		unsigned int ports = down_ports(shape, l) + up_ports(shape, l);

		first[l] = recipe->num_nodes;
		for (unsigned int i = 0; i < level_size(shape, l); i++)
			add_switch(recipe, l, ports ? ports : 1, "sw%u-%u", l, i);
	}
	for (unsigned int l = 0; l + 1 < shape->levels; l++)
		join_level(recipe, shape, l, first[l], first[l + 1]);
	for (unsigned int i = 0; i < level_size(shape, 0); i++)
		add_hosts(recipe, first[0] + i, shape->hosts);
}

static void add_chassis(struct recipe *recipe, const struct recipe_director *shape,
			unsigned int s, uint32_t leaves)
{
	unsigned int below = shape->leaves_per_pod;
	unsigned int above = shape->fabrics * shape->parallel;
	uint32_t lines = recipe->num_nodes, fabrics = lines + shape->pods;

	for (unsigned int q = 0; q < shape->pods; q++)
		add_switch(recipe, 1, below + above, "s%u-line%u", s, q);
	for (unsigned int f = 0; f < shape->fabrics; f++)
		add_switch(recipe, 2, shape->pods * shape->parallel, "s%u-fab%u", s, f);
	for (unsigned int q = 0; q < shape->pods; q++) {
		for (unsigned int i = 0; i < below; i++)
			recipe_add_link(recipe, leaves + q * below + i,
					shape->hosts + 1 + s, lines + q, 1 + i);
		for (unsigned int k = 0; k < above; k++)
			recipe_add_link(recipe, lines + q, below + 1 + k,
					fabrics + k % shape->fabrics,
					1 + q * shape->parallel + k / shape->fabrics);
	}
}

void recipe_add_director(struct recipe *recipe, const struct recipe_director *shape)
{
	uint32_t leaves = recipe->num_nodes;
	unsigned int num_leaves = shape->pods * shape->leaves_per_pod;

	for (unsigned int i = 0; i < num_leaves; i++)
		add_switch(recipe, 0, shape->hosts + shape->chassis, "leaf%u", i, 0);
	for (unsigned int s = 0; s < shape->chassis; s++)
		add_chassis(recipe, shape, s, leaves);
	for (unsigned int i = 0; i < num_leaves; i++)
		add_hosts(recipe, leaves + i, shape->hosts);
}

/* ---- Random trees ---- */

static uint32_t count_switches(const struct recipe *recipe)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < recipe->num_nodes; i++)
		count += recipe->nodes[i].type == PM_SWITCH;
	return count;
}

static void random_xgft(struct recipe *recipe, struct random *random)
{
	struct recipe_xgft shape = {
		.levels = random_range(random, 1, 4),
		.hosts = random_range(random, 1, 6),
	};

	for (unsigned int l = 0; l < 4; l++) {
		uint32_t most = shape.levels == 2 ? 8 : shape.levels == 3 ? 4 : 3;

		shape.children[l] = random_range(random, 1, most);
		shape.parents[l] = random_range(random, 1, most > 4 ? 4 : most);
		shape.parallel[l] =
			random_chance(random, 25) ? random_range(random, 2, 3) : 1;
	}
	recipe_add_xgft(recipe, &shape);
}

static void random_director(struct recipe *recipe, struct random *random)
{
	struct recipe_director shape = {
		.chassis = random_range(random, 1, 4),
		.pods = random_range(random, 1, 4),
		.leaves_per_pod = random_range(random, 1, 4),
		.hosts = random_range(random, 1, 6),
		.fabrics = random_range(random, 1, 3),
		.parallel = random_range(random, 1, 2),
	};

	recipe_add_director(recipe, &shape);
}

/* Takes some of the cables out of the recipe, or some of the hosts. */
static void drop_links(struct recipe *recipe, struct random *random, bool hosts,
		       uint32_t percent)
{
	uint32_t kept = 0;

	for (uint32_t c = 0; c < recipe->num_links; c++) {
		bool is_host = recipe->nodes[recipe->links[c].node[1]].type != PM_SWITCH;

		if (is_host != hosts || !random_chance(random, percent))
			recipe->links[kept++] = recipe->links[c];
	}
	recipe->num_links = kept;
}

/* Takes every cable of one switch out of the recipe; the switch stays, dark. */
static void drop_switch(struct recipe *recipe, uint32_t sw)
{
	uint32_t kept = 0;

	for (uint32_t c = 0; c < recipe->num_links; c++)
		if (recipe->links[c].node[0] != sw && recipe->links[c].node[1] != sw)
			recipe->links[kept++] = recipe->links[c];
	recipe->num_links = kept;
}

/* A leaf without hosts yet. */
static void drop_hosts_of(struct recipe *recipe, uint32_t sw)
{
	uint32_t kept = 0;

	for (uint32_t c = 0; c < recipe->num_links; c++)
		if (recipe->links[c].node[0] != sw ||
		    recipe->nodes[recipe->links[c].node[1]].type == PM_SWITCH)
			recipe->links[kept++] = recipe->links[c];
	recipe->num_links = kept;
}

static void swap_ports(struct recipe *recipe, struct random *random, uint32_t sw)
{
	uint32_t order[PM_MAX_PORTS];

	make_order(order, recipe->nodes[sw].num_ports, random);
	for (uint32_t c = 0; c < recipe->num_links; c++)
		for (int end = 0; end < 2; end++)
			if (recipe->links[c].node[end] == sw)
				recipe->links[c].port[end] =
					order[recipe->links[c].port[end] - 1] + 1;
}

static void swap_guids(struct recipe *recipe, struct random *random, uint32_t switches)
{
	uint32_t order[1024];

	if (switches > 1024)
		die("too many switches");
	make_order(order, switches, random);
	for (uint32_t i = 0; i < switches; i++)
		recipe->nodes[i].guid = 0x200000u + order[i];
}

/* A cable between any two switches that have a free port. */
static void add_odd_link(struct recipe *recipe, struct random *random, uint32_t switches)
{
	uint32_t a = random_below(random, switches), b = random_below(random, switches);
	unsigned int port_a = recipe_free_port(recipe, a);
	unsigned int port_b = recipe_free_port(recipe, b);

	if (a != b && port_a && port_b)
		recipe_add_link(recipe, a, port_a, b, port_b);
}

static void add_upper_host(struct recipe *recipe, struct random *random,
			   uint32_t switches)
{
	uint32_t sw = random_below(random, switches);
	unsigned int port = recipe_free_port(recipe, sw);

	if (recipe->nodes[sw].level && port)
		recipe_add_host(recipe, sw, port);
}

/* The differences of real fabrics from complete trees. */
static void add_flaws(struct recipe *recipe, struct random *random)
{
	uint32_t switches = count_switches(recipe);

	for (uint32_t i = 0; i < switches; i++)
		recipe->nodes[i].num_ports += random_below(random, 4);
	if (random_chance(random, 40))
		drop_links(recipe, random, false, random_range(random, 1, 25));
	if (random_chance(random, 40))
		drop_links(recipe, random, true, random_range(random, 1, 60));
	if (random_chance(random, 25))
		drop_switch(recipe, random_below(random, switches));
	if (random_chance(random, 25))
		drop_hosts_of(recipe, random_below(random, switches));
	if (random_chance(random, 25))
		add_upper_host(recipe, random, switches);
	while (random_chance(random, 12))
		add_odd_link(recipe, random, switches);
	for (uint32_t i = 0; i < switches && random_chance(random, 90); i++)
		if (random_chance(random, 30))
			swap_ports(recipe, random, i);
	if (random_chance(random, 50))
		swap_guids(recipe, random, switches);
}

/* ---- Roles ---- */

/* Percentage of trees, without the environment variable. */
#define USUAL_ROLES 30

/* An end node of so many ports, with room for the GUIDs of three. */
static uint32_t add_end_node(struct recipe *recipe, enum pm_node_type type,
			     unsigned int ports, const char *kind)
{
	char name[32];

	snprintf(name, sizeof(name), "%s%u", kind, recipe->num_nodes);
	return recipe_add_node(recipe, type, 0x400000u + 4 * recipe->num_nodes, ports, 0,
			       name);
}

/*
 * Joins a port of an end node to a new port of a switch, or to none if the switch has
 * 254.
 */
static void attach(struct recipe *recipe, uint32_t sw, uint32_t node, unsigned int port)
{
	if (recipe->nodes[sw].num_ports < PM_MAX_PORTS)
		recipe_add_link(recipe, sw, ++recipe->nodes[sw].num_ports, node, port);
}

/* The device ID alone, the description alone, or both identify it. */
static void add_aggregation_nodes(struct recipe *recipe, struct random *random,
				  uint32_t nodes)
{
	uint32_t known_by = random_below(random, 3);

	for (uint32_t sw = 0; sw < nodes; sw++) {
		uint32_t node;

		if (recipe->nodes[sw].type != PM_SWITCH)
			continue;
		node = add_end_node(recipe, PM_CA, 1, "a");
		if (known_by != 0)
			recipe->nodes[node].device = 0xcf09;
		if (known_by != 1)
			snprintf(recipe->nodes[node].name, sizeof(recipe->nodes[0].name),
				 "Mellanox Technologies Aggregation Node");
		attach(recipe, sw, node, 1);
	}
}

/* A switch above the leaves; PM_NONE if there is none or the draw fails. */
static uint32_t random_upper(const struct recipe *recipe, struct random *random,
			     uint32_t nodes)
{
	for (int i = 0; i < 50; i++) {
		uint32_t sw = random_below(random, nodes);

		if (recipe->nodes[sw].level)
			return sw;
	}
	return PM_NONE;
}

/* Often several on one switch, as management nodes are. */
static void add_service_nodes(struct recipe *recipe, struct random *random,
			      uint32_t nodes)
{
	do {
		uint32_t sw = random_upper(recipe, random, nodes);
		uint32_t count = random_range(random, 1, 3);

		for (uint32_t i = 0; sw != PM_NONE && i < count; i++) {
			bool router = random_chance(random, 20);

			attach(recipe, sw,
			       add_end_node(recipe, router ? PM_ROUTER : PM_CA, 1,
					    router ? "router" : "service"),
			       1);
		}
	} while (random_chance(random, 50));
}

/* As on the line boards of a director. */
static void add_upper_hosts(struct recipe *recipe, struct random *random, uint32_t nodes)
{
	uint32_t sw = random_upper(recipe, random, nodes);
	uint32_t level = sw == PM_NONE ? PM_NONE : recipe->nodes[sw].level;
	uint32_t most = random_range(random, 1, 4);

	for (sw = 0; sw < nodes; sw++) {
		uint32_t count = random_range(random, 0, most);

		for (; count && recipe->nodes[sw].level == level; count--)
			attach(recipe, sw, add_end_node(recipe, PM_CA, 1, "u"), 1);
	}
}

static bool is_drawn_leaf(const struct recipe_node *node)
{
	return node->type == PM_SWITCH && !node->level;
}

static void add_dual_hosts(struct recipe *recipe, struct random *random, uint32_t nodes)
{
	do {
		uint32_t a = random_below(random, nodes);
		uint32_t b = random_below(random, nodes), node;

		if (!is_drawn_leaf(&recipe->nodes[a]) ||
		    !is_drawn_leaf(&recipe->nodes[b]))
			continue;
		node = add_end_node(recipe, PM_CA, 2, "dual");
		attach(recipe, a, node, 1);
		attach(recipe, b, node, 2);
	} while (random_chance(random, 85));
}

void recipe_random_roles(struct recipe *recipe, struct random *random)
{
	static const struct {
		uint32_t percent;
		void (*add)(struct recipe *recipe, struct random *random, uint32_t nodes);
	} kinds[] = {
		{30, add_upper_hosts},
		{40, add_dual_hosts},
		{60, add_service_nodes},
		{50, add_aggregation_nodes}, /* on ports behind all others */
	};
	uint32_t percent = (uint32_t)from_environment("PM_ROLES", USUAL_ROLES);
	uint32_t nodes = recipe->num_nodes; /* switches among them */

	if (!percent || !random_chance(random, percent))
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (random_chance(random, kinds[i].percent))
			kinds[i].add(recipe, random, nodes);
}

void recipe_random(struct recipe *recipe, struct random *random,
		   const struct recipe_limits *limits)
{
	for (;;) {
		*recipe = (struct recipe){0};
		if (random_chance(random, 35))
			random_director(recipe, random);
		else
			random_xgft(recipe, random);
		if (count_switches(recipe) <= limits->switches &&
		    recipe->num_nodes - count_switches(recipe) <= limits->hosts)
			break;
		recipe_free(recipe);
	}
	if (random_chance(random, 80))
		add_flaws(recipe, random);
	recipe_random_roles(recipe, random);
}

void recipe_add_meshed(struct recipe *recipe, const struct recipe_meshed *shape)
{
	uint32_t top = recipe->num_nodes;
	char name[32];

	for (unsigned int i = 0; i < shape->tops; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		recipe_add_node(recipe, PM_SWITCH, 0x300000 + i,
				shape->pods * shape->middles, 2, name);
	}
	for (unsigned int pod = 0; pod < shape->pods; pod++) {
		uint32_t middle = recipe->num_nodes;

		for (unsigned int i = 0; i < shape->middles; i++) {
			snprintf(name, sizeof(name), "m%u-%u", pod, i);
			recipe_add_node(recipe, PM_SWITCH, 0x200000 + pod * 256 + i,
					shape->leaves + shape->tops, 1, name);
			for (unsigned int t = 0; t < shape->tops; t++)
				recipe_add_link(recipe, middle + i, shape->leaves + 1 + t,
						top + t, pod * shape->middles + i + 1);
		}
		for (unsigned int i = 0; i < shape->leaves; i++) {
			uint32_t leaf;

			snprintf(name, sizeof(name), "l%u-%u", pod, i);
			leaf = recipe_add_node(recipe, PM_SWITCH,
					       0x100000 + pod * 256 + i,
					       shape->middles + shape->hosts, 0, name);
			for (unsigned int m = 0; m < shape->middles; m++)
				recipe_add_link(recipe, leaf, m + 1, middle + m, i + 1);
			for (unsigned int h = 0; h < shape->hosts; h++)
				recipe_add_host(recipe, leaf, shape->middles + h + 1);
		}
	}
}
