/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "world.h"
#include "unit.h"

#include <portmajor/fabric/link.h>
#include <portmajor/netlist/netlist.h>

#include <fnmatch.h>

struct pm_fabric *world_generate(const struct pm_generate *config)
{
	struct pm_fabric *fabric = NULL;
	struct pm_error err = {""};
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	if (pm_generate_write(config, file, &err))
		fail_msg("%s", err.text);
	fclose(file);
	if (pm_netlist_parse(text, size, "generated", &fabric, &err))
		fail_msg("%s", err.text);
	free(text);
	return fabric;
}

struct pm_fabric *world_director(unsigned int leaves)
{
	return world_generate(&(struct pm_generate){
		.kind = PM_GENERATE_DIRECTOR,
		.director = {leaves},
	});
}

void world_set_lids(struct pm_fabric *fabric, const struct pm_plan *plan)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		bool own = fabric->ports[i].node < fabric->num_switches
				   ? fabric->ports[i].num == 0
				   : fabric->ports[i].peer != PM_NONE;
		uint32_t place = own ? pm_plan_place(plan, fabric, i) : PM_NONE;

		fabric->ports[i].lid = place == PM_NONE ? 0 : plan->lid[place];
		fabric->ports[i].lmc = fabric->ports[i].num ? plan->lmc : 0;
	}
}

uint8_t *world_tables(const struct pm_routes *routes, uint32_t num_switches)
{
	uint32_t stride = pm_routes_stride(routes);
	uint8_t *tables = malloc((size_t)num_switches * stride + 1);

	assert_non_null(tables);
	for (uint32_t sw = 0; sw < num_switches; sw++)
		memcpy(tables + (size_t)sw * stride, pm_routes_table(routes, sw), stride);
	return tables;
}

void world_make(struct world *world, struct pm_fabric *fabric, enum pm_lid_order order)
{
	world_make_with(world, fabric, &(struct pm_plan_config){.order = order});
}

void world_make_with(struct world *world, struct pm_fabric *fabric,
		     const struct pm_plan_config *config)
{
	struct pm_error err = {""};

	*world = (struct world){.fabric = fabric, .detours.sm = PM_NONE};
	if (pm_plan_make(fabric, config, &world->plan, &err) ||
	    pm_routes_make(world->plan, &world->routes, &err))
		fail_msg("%s", err.text);
	world_set_lids(fabric, world->plan);
	world->num_switches = world->plan->topology->num_switches;
	world->stride = pm_routes_stride(world->routes);
	world->first = world_tables(world->routes, world->num_switches);
	world->usable = calloc(world->plan->topology->num_ports, 1);
	assert_non_null(world->usable);
}

bool world_make_random(struct world *world, struct random *random, struct recipe *recipe)
{
	const struct recipe_limits limits = {80, 80};
	const struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_fabric *fabric;
	struct pm_plan *plan = NULL;
	bool drawn = random_chance(random, 50);
	int rc;

	if (drawn)
		recipe_random(recipe, random, &limits);
	else if (random_chance(random, 50))
		recipe_add_meshed(recipe, &(struct recipe_meshed){
						  .pods = random_range(random, 1, 3),
						  .leaves = random_range(random, 1, 4),
						  .middles = random_range(random, 1, 4),
						  .tops = random_range(random, 1, 3),
						  .hosts = random_range(random, 1, 2),
					  });
	else
		recipe_add_director(recipe,
				    &(struct recipe_director){
					    .chassis = random_range(random, 1, 6),
					    .pods = random_range(random, 1, 4),
					    .leaves_per_pod = random_range(random, 1, 6),
					    .hosts = 1,
					    .fabrics = random_range(random, 1, 3),
					    .parallel = random_range(random, 1, 2),
				    });
	if (!drawn)
		recipe_random_roles(recipe, random);
	fabric = recipe_build(recipe, NULL);
	rc = pm_plan_make(fabric, &config, &plan, NULL);
	pm_plan_free(plan);
	if (rc || fabric->num_switches == fabric->num_nodes) {
		pm_fabric_free(fabric);
		return false;
	}
	world_make_with(world, fabric, &config);
	return true;
}

void world_free(struct world *world)
{
	pm_routes_free(world->routes);
	pm_plan_free(world->plan);
	pm_fabric_free(world->fabric);
	free(world->usable);
	free(world->first);
	memset(world, 0, sizeof(*world));
}

/*
 * Cuts one cable or all (port 0) of every node that matches; returns the number of
 * nodes.
 */
static unsigned int cut(struct pm_fabric *fabric, const char *pattern, unsigned int port)
{
	unsigned int found = 0;

	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		const struct pm_node *n = &fabric->nodes[i];

		if (fnmatch(pattern, pm_fabric_name(fabric, i), 0))
			continue;
		found++;
		for (uint32_t p = 1; p <= n->num_ports; p++)
			if (!port || p == port)
				pm_fabric_cut(fabric, n->first_port + p);
	}
	return found;
}

struct pm_fabric *world_without(const struct world *world, const char *failure)
{
	struct pm_fabric *broken = pm_fabric_clone(world->fabric);
	char *copy = strdup(failure), *rest = copy, *item;

	assert_non_null(broken);
	assert_non_null(copy);
	while ((item = strsep(&rest, " "))) {
		char *colon = strchr(item, ':');
		unsigned int port = 0;

		if (colon) {
			*colon = '\0';
			port = (unsigned int)atoi(colon + 1);
		}
		if (*item && !cut(broken, item, port))
			fail_msg("nothing is named \"%s\"", item);
	}
	free(copy);
	return broken;
}

void world_update(struct world *world, const struct pm_fabric *now)
{
	assert_true(pm_plan_match(world->plan, now, world->usable));
	pm_routes_update(world->routes, world->usable, &world->detours);
}

/* Whether a switch has a cable; a switch without one gets no Sets any more. */
static bool has_link(const struct world *world, uint32_t sw)
{
	const struct pm_node *n = &world->plan->topology->nodes[sw];

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		if (world->usable[i] && world->plan->topology->ports[i].peer != PM_NONE)
			return true;
	return false;
}

struct pm_delta world_delta(const struct world *world)
{
	struct pm_delta delta = {0};

	for (uint32_t sw = 0; sw < world->num_switches; sw++)
		if (has_link(world, sw))
			pm_delta_add(&delta, world->first + (size_t)sw * world->stride,
				     pm_routes_table(world->routes, sw), world->stride);
	return delta;
}

struct pm_delta world_fail(struct world *world, const char *failure)
{
	struct pm_fabric *broken = world_without(world, failure);

	world_update(world, broken);
	pm_fabric_free(broken);
	return world_delta(world);
}

/* ---- Checks ---- */

static uint32_t sm_port(const struct world *world, const struct pm_fabric *now)
{
	uint32_t port =
		pm_fabric_same_port(world->plan->topology, world->detours.sm, now);

	if (port == PM_NONE || now->ports[port].num == 0)
		return port;
	return now->ports[port].peer;
}

static struct pm_check make_check(const struct world *world, const struct pm_fabric *now)
{
	uint16_t *top = calloc(world->num_switches + 1u, sizeof(*top));
	const uint8_t **table = calloc(world->num_switches + 1u, sizeof(*table));

	assert_non_null(top);
	assert_non_null(table);
	for (uint32_t sw = 0; sw < world->num_switches; sw++) {
		top[sw] = world->plan->top_lid;
		table[sw] = pm_routes_table(world->routes, sw);
	}
	return (struct pm_check){
		.fabric = now,
		.level = world->plan->tree.level,
		.table = table,
		.top = top,
		.sm = world->detours.sm == PM_NONE ? PM_NONE : sm_port(world, now),
		.common_rate = pm_link_common_rate(world->fabric),
	};
}

static void free_check(struct pm_check *check)
{
	free((void *)(uintptr_t)check->top);
	free((void *)(uintptr_t)check->table);
}

struct pm_check_paths world_paths(const struct world *world, const struct pm_fabric *now)
{
	struct pm_check check = make_check(world, now);
	struct pm_check_paths paths;

	assert_int_equal(pm_check_paths(&check, true, &paths, NULL), 0);
	free_check(&check);
	return paths;
}

void world_assert_sound(const struct world *world, const struct pm_fabric *now)
{
	struct pm_check_paths paths = world_paths(world, now);

	if (paths.lost || paths.loops || paths.turns || paths.misrouted ||
	    paths.sm_unreachable || paths.pairs != paths.delivered)
		fail_msg("%s", paths.first.text);
}

struct pm_check_credits world_credits(const struct world *world,
				      const struct pm_fabric *now)
{
	struct pm_check check = make_check(world, now);
	struct pm_check_credits credits;

	assert_int_equal(pm_check_credits(&check, &credits, NULL), 0);
	free_check(&check);
	return credits;
}

struct pm_check_loads world_loads(const struct world *world, const struct pm_fabric *now)
{
	struct pm_check check = make_check(world, now);
	struct pm_check_loads loads;

	assert_int_equal(pm_check_loads(&check, &loads, NULL), 0);
	free_check(&check);
	return loads;
}

uint32_t world_shifts(const struct world *world, const struct pm_fabric *now,
		      uint32_t samples)
{
	struct pm_check check = make_check(world, now);
	uint32_t most = 0;

	assert_int_equal(pm_check_shifts(&check, samples, &most, NULL), 0);
	free_check(&check);
	return most;
}

/* ---- Names ---- */

uint32_t world_switch(const struct world *world, const char *name)
{
	uint32_t sw = pm_fabric_find_name(world->fabric, name);

	if (sw == PM_NONE || sw >= world->num_switches)
		fail_msg("no switch is named \"%s\"", name);
	return sw;
}

uint32_t world_port(const struct pm_fabric *fabric, const char *name, unsigned int port)
{
	uint32_t node = pm_fabric_find_name(fabric, name);

	if (node == PM_NONE)
		fail_msg("no node is named \"%s\"", name);
	assert_in_range(port, 0, fabric->nodes[node].num_ports);
	return fabric->nodes[node].first_port + port;
}

uint16_t world_lid(const struct world *world, const char *name, unsigned int port)
{
	return world->plan->lid[world_port(world->plan->topology, name, port)];
}

uint8_t world_entry(const struct world *world, const char *sw, const char *name,
		    unsigned int port)
{
	return pm_routes_table(world->routes,
			       world_switch(world, sw))[world_lid(world, name, port)];
}
