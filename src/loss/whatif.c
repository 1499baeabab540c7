/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One loss after the other, each of them quickly: cables are cut in a copy of the
 * fabric and mended after it, and only switches whose tables the update made anew are
 * compared. So what a single cable costs is finding what can be reached.
 */
#include <portmajor/whatif.h>
#include <portmajor/alloc.h>

#include <portmajor/check.h>

#include <errno.h>

/* A port whose cable was cut. */
struct cut {
	uint32_t port, peer;
};

struct pm_whatif {
	struct pm_pool pool; /* of all arrays, and of what held[] leads to */
	const struct pm_fabric *fabric;
	struct pm_plan *plan;
	struct pm_routes *routes;
	struct pm_fabric *broken; /* the fabric, with the plan's LIDs, less cuts[] */
	struct cut *cuts;
	uint32_t num_cuts;
	uint8_t **held; /* [switch] table before the loss; NULL: the preferred one */
	uint8_t *alive; /* [port of plan->known] */
	struct pm_detours detours;
	uint32_t sm; /* port, or PM_NONE */
	bool loads;  /* as in pm_whatif_config */
	uint32_t shifts;
	uint64_t pairs; /* of end ports that are joined before the loss */
	struct pm_whatif_result before;
	uint32_t *hosts;	/* [switch] end ports with a cable */
	const uint8_t **tables; /* [switch] and */
	uint16_t *top;		/* [switch] for pm_check */
	/* Room for searches over the fabric. */
	uint32_t *queue, *part, *ports;
	uint32_t *managed; /* [switch] hosts of those that the manager can reach */
};

/* ---- Cables ---- */

/* Notes in hosts[] and alive[] that a cable is there, or not. */
static void note_end(struct pm_whatif *whatif, uint32_t port, uint32_t peer, bool there)
{
	uint32_t node = whatif->fabric->ports[port].node;

	if (node >= whatif->fabric->num_switches)
		return;
	whatif->alive[port] = there;
	if (whatif->fabric->ports[peer].node < whatif->fabric->num_switches)
		return;
	if (there)
		whatif->hosts[node]++;
	else
		whatif->hosts[node]--;
}

static void cut(struct pm_whatif *whatif, uint32_t port)
{
	uint32_t peer = whatif->broken->ports[port].peer;

	if (peer == PM_NONE)
		return;
	whatif->cuts[whatif->num_cuts++] = (struct cut){port, peer};
	pm_fabric_cut(whatif->broken, port);
	note_end(whatif, port, peer, false);
	note_end(whatif, peer, port, false);
}

static void mend_all(struct pm_whatif *whatif)
{
	while (whatif->num_cuts) {
		struct cut c = whatif->cuts[--whatif->num_cuts];

		whatif->broken->ports[c.port].peer = c.peer;
		whatif->broken->ports[c.peer].peer = c.port;
		note_end(whatif, c.port, c.peer, true);
		note_end(whatif, c.peer, c.port, true);
	}
}

/* ---- Who is reached ---- */

/* The number, in part[], of the part with the manager or, else, most end nodes. */
static uint32_t find_managed_part(struct pm_whatif *whatif)
{
	const struct pm_fabric *fabric = whatif->broken;
	uint32_t *part = whatif->part, *ends = whatif->queue, best = 0;

	pm_reach_parts(fabric, NULL, part, whatif->queue);
	if (whatif->sm != PM_NONE)
		return part[fabric->ports[whatif->sm].node];
	memset(ends, 0, fabric->num_nodes * sizeof(*ends));
	for (uint32_t i = fabric->num_switches; i < fabric->num_nodes; i++)
		ends[part[i]]++;
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (ends[i] > ends[best])
			best = i;
	return best;
}

/* Ordered pairs of different end ports that a path joins, those at one switch too. */
static uint64_t count_pairs(const struct pm_whatif *whatif)
{
	uint32_t num = whatif->fabric->num_switches;
	uint64_t pairs =
		pm_served_pairs(pm_routes_reach(whatif->routes), num, whatif->hosts);

	for (uint32_t sw = 0; sw < num; sw++)
		pairs += (uint64_t)whatif->hosts[sw] * (whatif->hosts[sw] - 1);
	return pairs;
}

/* ---- Comparing ---- */

static void add_delta(struct pm_delta *sum, const struct pm_delta *delta)
{
	sum->blocks += delta->blocks;
	sum->entries += delta->entries;
	sum->bound += delta->bound;
	sum->switches += delta->switches;
}

static void compare(const struct pm_whatif *whatif, uint32_t sw,
		    struct pm_whatif_result *result)
{
	const uint64_t *blocks = pm_routes_moved(whatif->routes, sw);
	const uint8_t *held = whatif->held[sw];
	unsigned int level = whatif->plan->tree.level[sw];
	struct pm_delta delta = {0};

	if (!held && !blocks)
		return;
	/* What was detoured before may differ everywhere. */
	pm_delta_add_blocks(&delta, held ? held : pm_routes_preferred(whatif->routes, sw),
			    pm_routes_table(whatif->routes, sw),
			    pm_routes_stride(whatif->routes), held ? NULL : blocks);
	add_delta(&result->total, &delta);
	if (level < PM_WHATIF_LEVELS)
		add_delta(&result->level[level], &delta);
}

/* Loads and shifts of the tables as they are; -ENOMEM. */
static int find_loads(struct pm_whatif *whatif, struct pm_whatif_result *result,
		      struct pm_error *err)
{
	struct pm_check check = {.fabric = whatif->broken,
				 .level = whatif->plan->tree.level,
				 .table = whatif->tables,
				 .top = whatif->top,
				 .sm = PM_NONE};
	struct pm_check_loads loads = {0};

	if (!whatif->loads && !whatif->shifts)
		return 0;
	for (uint32_t sw = 0; sw < whatif->fabric->num_switches; sw++) {
		whatif->tables[sw] = pm_routes_table(whatif->routes, sw);
		whatif->top[sw] = whatif->plan->top_lid;
	}
	if (whatif->loads && pm_check_loads(&check, &loads, err))
		return -ENOMEM;
	for (uint32_t l = 0; l < PM_CHECK_LEVELS; l++) {
		if (loads.up[l].maximum > result->load)
			result->load = loads.up[l].maximum;
		if (loads.down[l].maximum > result->load)
			result->load = loads.down[l].maximum;
	}
	if (whatif->shifts)
		return pm_check_shifts(&check, whatif->shifts, &result->shift, err);
	return 0;
}

int pm_whatif_lose(struct pm_whatif *whatif, const uint32_t *ports, uint32_t num_ports,
		   struct pm_whatif_result *result, struct pm_error *err)
{
	struct pm_whatif_result found = {0};
	uint32_t part;
	int rc;

	for (uint32_t i = 0; i < num_ports; i++)
		cut(whatif, ports[i]);
	pm_routes_update(whatif->routes, whatif->alive, &whatif->detours);
	part = find_managed_part(whatif);
	for (uint32_t sw = 0; sw < whatif->fabric->num_switches; sw++) {
		whatif->managed[sw] = whatif->part[sw] == part ? whatif->hosts[sw] : 0;
		if (whatif->part[sw] != part) {
			found.switches_cut++;
			continue;
		}
		found.switches++;
		compare(whatif, sw, &found);
	}
	found.full_load = (uint64_t)found.switches * pm_plan_blocks(whatif->plan);
	found.pairs_cut = whatif->pairs - count_pairs(whatif);
	pm_served_count(pm_routes_reach(whatif->routes), whatif->fabric->num_switches,
			whatif->managed, whatif->part, whatif->queue, &found.served);
	rc = find_loads(whatif, &found, err);
	mend_all(whatif);
	if (!rc)
		*result = found;
	return rc;
}

int pm_whatif_try(struct pm_whatif *whatif, const struct pm_fabric *broken,
		  struct pm_whatif_result *result, struct pm_error *err)
{
	const struct pm_fabric *whole = whatif->fabric;
	uint32_t num = 0;
	bool more = broken->num_ports != whole->num_ports ||
		    broken->num_switches != whole->num_switches;

	for (uint32_t i = 0; !more && i < whole->num_ports; i++) {
		uint32_t peer = broken->ports[i].peer;

		more = peer != PM_NONE && peer != whole->ports[i].peer;
		if (peer != whole->ports[i].peer)
			whatif->ports[num++] = i;
	}
	if (more)
		return pm_error_set(err, -EINVAL,
				    "the broken fabric has more than the whole");
	return pm_whatif_lose(whatif, whatif->ports, num, result, err);
}

/* ---- Making ---- */

/* Gives ports the plan's LIDs, counts end ports, and marks all that is there. */
static void settle(struct pm_whatif *whatif)
{
	const struct pm_fabric *known = whatif->plan->known;
	struct pm_fabric *fabric = whatif->broken;

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		fabric->ports[i].lid = 0;
	for (uint32_t i = 0; i < known->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer, place = i;

		if (peer != PM_NONE) {
			note_end(whatif, i, peer, true);
			if (fabric->ports[peer].node >= fabric->num_switches)
				place = peer;
		}
		fabric->ports[place].lid = whatif->plan->lid[i];
		fabric->ports[place].lmc = known->ports[i].num ? whatif->plan->lmc : 0;
	}
}

/* Keeps the tables of the whole fabric; detours may be needed even there. */
static int hold_tables(struct pm_whatif *whatif, struct pm_error *err)
{
	uint32_t stride = pm_routes_stride(whatif->routes);

	pm_routes_update(whatif->routes, whatif->alive, &whatif->detours);
	for (uint32_t sw = 0; sw < whatif->fabric->num_switches; sw++) {
		if (!pm_routes_moved(whatif->routes, sw))
			continue;
		whatif->held[sw] = pm_pool_copy(
			&whatif->pool, pm_routes_table(whatif->routes, sw), stride, 1);
	}
	return pm_pool_check(&whatif->pool, err);
}

static int allocate(struct pm_whatif *whatif, struct pm_error *err)
{
	struct pm_pool *pool = &whatif->pool;
	const struct pm_fabric *fabric = whatif->fabric;
	uint32_t num = fabric->num_switches;

	whatif->broken = pm_fabric_clone(fabric);
	if (!whatif->broken)
		return pm_error_no_memory(err);
	whatif->cuts = pm_pool_array(pool, fabric->num_ports, sizeof(*whatif->cuts));
	whatif->held = pm_pool_array(pool, num, sizeof(*whatif->held));
	whatif->alive = pm_pool_array(pool, fabric->num_ports, 1);
	whatif->hosts = pm_pool_array(pool, num, sizeof(uint32_t));
	whatif->tables = pm_pool_array(pool, num, sizeof(*whatif->tables));
	whatif->top = pm_pool_array(pool, num, sizeof(*whatif->top));
	whatif->queue = pm_pool_array(pool, fabric->num_nodes, sizeof(uint32_t));
	whatif->part = pm_pool_array(pool, fabric->num_nodes, sizeof(uint32_t));
	whatif->ports = pm_pool_array(pool, fabric->num_ports, sizeof(uint32_t));
	whatif->managed = pm_pool_array(pool, num, sizeof(uint32_t));
	return pm_pool_check(pool, err);
}

int pm_whatif_new(const struct pm_fabric *fabric, const struct pm_whatif_config *config,
		  struct pm_whatif **result, struct pm_error *err)
{
	struct pm_whatif *whatif = calloc(1, sizeof(*whatif));
	int rc;

	if (!whatif)
		return pm_error_no_memory(err);
	whatif->fabric = fabric;
	whatif->sm = config->sm;
	whatif->loads = config->loads;
	whatif->shifts = config->shifts;
	rc = allocate(whatif, err);
	if (!rc)
		rc = pm_plan_make(fabric, &config->plan, &whatif->plan, err);
	if (!rc)
		rc = pm_routes_make(whatif->plan, &whatif->routes, err);
	if (rc)
		goto fail;
	whatif->detours = (struct pm_detours){
		.sm = config->sm == PM_NONE
			      ? PM_NONE
			      : pm_plan_place(whatif->plan, fabric, config->sm),
		.switches = config->connect_roots,
	};
	settle(whatif);
	rc = hold_tables(whatif, err);
	if (rc)
		goto fail;
	whatif->pairs = count_pairs(whatif);
	rc = pm_whatif_lose(whatif, NULL, 0, &whatif->before, err);
	if (rc)
		goto fail;
	*result = whatif;
	return 0;
fail:
	pm_whatif_free(whatif);
	return rc;
}

void pm_whatif_free(struct pm_whatif *whatif)
{
	if (!whatif)
		return;
	pm_routes_free(whatif->routes);
	pm_plan_free(whatif->plan);
	pm_fabric_free(whatif->broken);
	pm_pool_free(&whatif->pool);
	free(whatif);
}

const struct pm_plan *pm_whatif_plan(const struct pm_whatif *whatif)
{
	return whatif->plan;
}

const struct pm_whatif_result *pm_whatif_before(const struct pm_whatif *whatif)
{
	return &whatif->before;
}
