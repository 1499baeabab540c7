/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The computing time of early repair for a failed cable, with an aggregation node on
 * each switch and without these: the CPU time of its steps (view.c, repair.c), as the
 * mean over every n-th cable between switches; no seed, as nothing is random. Exit 1 if
 * all steps together take more than 2.5 times as long with them; the goal of 1.2 is
 * only printed.
 *
 *   bench_repair [NETLIST [CABLES]]     without aggregation nodes: those of NETLIST cut
 */
#include "bench.h"

#include <portmajor/fabric/roles.h>
#include <portmajor/netlist/netlist.h>
#include <portmajor/plan/reachable.h>
#include <portmajor/route/delta.h>
#include <portmajor/route/order.h>
#include <portmajor/route/steps.h>

#define GOAL 1.2
#define MOST 2.5

static uint32_t cables = 60;
static const char *netlist;

static const struct pm_generate usual = {
	.kind = PM_GENERATE_DIRECTOR,
	.director = {324},
	.aggregation = true,
};

enum { UPDATE, UNREACHABLE, REACHABLE, COMPARE, STEPS, ORDER, NUM_PARTS };
static const char *const parts[] = {
	"tables", "unreachable pairs", "reachable pairs", "changed blocks", "steps",
	"order",
};

struct bench {
	struct pm_fabric *fabric;
	struct pm_plan *plan;
	struct pm_routes *routes;
	struct pm_detours detours;
	uint32_t stride, num, tried;
	uint8_t *whole, *usable, *tables;
	struct pm_installed *installed; /* [switch] tables before the failure */
	struct pm_order_block *blocks;
	uint32_t num_blocks;
	uint64_t all_blocks;
	double ms[NUM_PARTS];
};

/* ---- Steps of early repair ---- */

static void update(struct bench *b)
{
	pm_routes_update(b->routes, b->usable, &b->detours);
}

static void find_unreachable(struct bench *b)
{
	struct pm_unreachable unreachable;

	if (pm_routes_unreachable(b->routes, &unreachable, NULL))
		die("out of memory");
}

static void find_reachable(struct bench *b)
{
	struct pm_reachable reachable;

	if (pm_reachable_find(b->plan->topology, pm_routes_reach(b->routes), b->usable,
			      &reachable, NULL))
		die("out of memory");
}

static void compare(struct bench *b)
{
	b->num_blocks = 0;
	for (uint32_t sw = 0; sw < b->num; sw++) {
		struct pm_delta delta = {0};

		pm_delta_add(&delta, b->installed[sw].table,
			     pm_routes_table(b->routes, sw), b->stride);
		for (uint32_t n = 0; delta.blocks && n < b->stride / PM_LFT_BLOCK; n++)
			b->num_blocks += pm_order_compare(b->routes, sw, n,
							  b->installed[sw].table +
								  n * PM_LFT_BLOCK,
							  &b->blocks[b->num_blocks]);
	}
}

static void find_steps(struct bench *b)
{
	const struct pm_stale none = {.num = 0};
	const struct pm_stale_input input = {
		.routes = b->routes, .installed = b->installed, .up = b->usable};
	struct pm_steps steps = {0};

	if (!pm_routes_may_turn(b->routes))
		return;
	if (pm_steps_make(&input, &none, &steps))
		die("out of memory");
	pm_steps_free(&steps);
}

static void sort(struct bench *b)
{
	struct pm_order_waits waits = {0};

	if (pm_order_sort(b->routes, b->usable, b->blocks, b->num_blocks, &waits))
		die("out of memory");
	pm_order_free(&waits);
}

static void (*const run[])(struct bench *b) = {
	update, find_unreachable, find_reachable, compare, find_steps, sort,
};

static void try_cable(struct bench *b, uint32_t port)
{
	b->usable[port] = b->usable[b->plan->topology->ports[port].peer] = 0;
	for (int i = 0; i < NUM_PARTS; i++) {
		double start = cpu_ms();

		run[i](b);
		b->ms[i] += cpu_ms() - start;
	}
	b->all_blocks += b->num_blocks;
	b->tried++;
	memcpy(b->usable, b->whole, b->plan->topology->num_ports);
}

/* ---- Setting up ---- */

static struct pm_fabric *read_fabric(void)
{
	const struct pm_roles none = {0};
	struct pm_fabric *fabric = NULL;

	if (!netlist)
		fabric = generate(&usual);
	else if (pm_netlist_read(netlist, &fabric, NULL, NULL))
		die(netlist);
	pm_roles_apply(&none, fabric);
	return fabric;
}

/* Their switches' ports are free then, as if they had never had any. */
static void cut_aggregation_nodes(struct pm_fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].host == PM_AGGREGATION) {
			pm_fabric_cut(fabric, i);
			fabric->ports[i].host = 0;
		}
}

static void set_up(struct bench *b, bool with)
{
	struct pm_plan_config config = {.order = PM_GROUPED};

	*b = (struct bench){.fabric = read_fabric(), .detours = {.sm = PM_NONE}};
	if (!with)
		cut_aggregation_nodes(b->fabric);
	if (pm_plan_make(b->fabric, &config, &b->plan, NULL) ||
	    pm_routes_make(b->plan, &b->routes, NULL))
		die("no plan");
	b->stride = pm_routes_stride(b->routes);
	b->num = b->plan->topology->num_switches;
	b->whole = claim(b->plan->topology->num_ports);
	b->usable = claim(b->plan->topology->num_ports);
	b->tables = claim((size_t)b->num * b->stride);
	b->installed = claim(b->num * sizeof(*b->installed));
	b->blocks =
		claim((size_t)b->num * (b->stride / PM_LFT_BLOCK) * sizeof(*b->blocks));
	pm_plan_match(b->plan, b->fabric, b->whole);
	memcpy(b->usable, b->whole, b->plan->topology->num_ports);
	update(b);
	for (uint32_t sw = 0; sw < b->num; sw++) {
		uint8_t *table = b->tables + (size_t)sw * b->stride;

		memcpy(table, pm_routes_table(b->routes, sw), b->stride);
		b->installed[sw] = (struct pm_installed){table, b->stride};
	}
}

static void release(struct bench *b)
{
	free(b->blocks);
	free(b->installed);
	free(b->tables);
	free(b->usable);
	free(b->whole);
	pm_routes_free(b->routes);
	pm_plan_free(b->plan);
	pm_fabric_free(b->fabric);
}

/* ---- Measuring ---- */

static bool is_cable(const struct bench *b, uint32_t port)
{
	uint32_t peer = b->plan->topology->ports[port].peer;

	return peer != PM_NONE && port < peer && b->whole[port];
}

static uint32_t count_cables(const struct bench *b)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < b->plan->topology->num_ports; i++)
		count += is_cable(b, i);
	return count;
}

/* The k-th cable, as counted above. */
static uint32_t find_cable(const struct bench *b, uint32_t k)
{
	uint32_t port = 0;

	while (!is_cable(b, port) || k--)
		port++;
	return port;
}

static void describe(const struct bench *b, const char *what)
{
	printf("%s aggregation nodes: %u switches, LIDs up to %u, %u of %u cables, "
	       "%llu blocks\n",
	       what, b->num, (unsigned int)b->plan->top_lid, b->tried, count_cables(b),
	       (unsigned long long)b->all_blocks);
}

int main(int argc, char **argv)
{
	double all[2] = {0, 0};
	struct bench b[2];
	uint32_t links;

	if (argc > 1)
		netlist = argv[1];
	if (argc > 2)
		cables = (uint32_t)atoi(argv[2]);
	if (!cables)
		die("usage: bench_repair [NETLIST [CABLES]]");
	set_up(&b[0], false);
	set_up(&b[1], true);
	links = count_cables(&b[0]);
	/* One after the other, as the machine is faster at some times than at others. */
	for (uint32_t k = 0; k < links; k += (links + cables - 1) / cables)
		for (int with = 0; with < 2; with++)
			try_cable(&b[with], find_cable(&b[with], k));
	describe(&b[0], "without");
	describe(&b[1], "with");
	printf("  %-18s %9s %9s   ms of CPU for a cable\n", "", "without", "with");
	for (int i = 0; i < NUM_PARTS; i++) {
		printf("  %-18s %9.3f %9.3f\n", parts[i], b[0].ms[i] / b[0].tried,
		       b[1].ms[i] / b[1].tried);
		all[0] += b[0].ms[i] / b[0].tried;
		all[1] += b[1].ms[i] / b[1].tried;
	}
	printf("  %-18s %9.3f %9.3f   %.2f times as long, goal %g: %s\n", "all", all[0],
	       all[1], all[1] / all[0], GOAL, all[1] <= GOAL * all[0] ? "met" : "MISSED");
	release(&b[0]);
	release(&b[1]);
	return all[1] <= MOST * all[0] || !RATIOS_COUNT ? 0 : 1;
}
