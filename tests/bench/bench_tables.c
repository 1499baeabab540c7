/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The time of plans, tables, updates and deltas, on one core, best of several runs,
 * beside filling and copying as many bytes of fresh memory in the same run. There is no
 * randomness, so no seed. Exit 1 if a ratio is out of bounds.
 *
 *   bench_tables [RUNS]
 */
#include "bench.h"

#include <portmajor/plan/reachable.h>
#include <portmajor/route/delta.h>

#include <sys/mman.h>
#include <sys/resource.h>

static unsigned int runs = 5;

struct size {
	const char *name;
	struct pm_generate config;
	/*
	 * Agreed goals, only printed: whole tables as a multiple of the memset, an
	 * event in ms of a present-day core; 0: none.
	 */
	double whole, event_ms;
};

static const struct size sizes[] = {
	{"director 324", {.kind = PM_GENERATE_DIRECTOR, .director = {324}}, 5, 10},
	{"director 648", {.kind = PM_GENERATE_DIRECTOR, .director = {648}}, 3, 10},
	{"xgft 32,32,40",
	 {.kind = PM_GENERATE_XGFT, .xgft = {3, {32, 32, 40}, {1, 32, 32}}},
	 5,
	 0},
};

struct bench {
	struct pm_fabric *fabric;
	struct pm_plan *plan;
	struct pm_routes *routes;
	uint8_t *installed; /* [switch][stride] tables with everything usable */
	uint8_t *whole, *no_plane, *no_link; /* [port] usable */
	size_t bytes;			     /* of all tables */
	uint64_t blocks, entries;	     /* of the last delta */
};

/* Pages that no allocator has used before. */
static uint8_t *claim_fresh(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("out of memory");
	return memory;
}

static double now_ms(void)
{
	return clock_time_ms(CLOCK_MONOTONIC);
}

/* ---- Measurements: each returns its own milliseconds ---- */

static double run_plan(struct bench *bench)
{
	struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan *plan = NULL;
	struct pm_error err;
	double start = now_ms(), end;

	if (pm_plan_make(bench->fabric, &config, &plan, &err))
		die(err.text);
	end = now_ms();
	pm_plan_free(plan);
	return end - start;
}

static double run_whole(struct bench *bench)
{
	struct pm_routes *routes = NULL;
	double start = now_ms(), end;

	if (pm_routes_make(bench->plan, &routes, NULL))
		die("out of memory");
	end = now_ms();
	pm_routes_free(routes);
	return end - start;
}

static double run_memset(struct bench *bench)
{
	double start = now_ms(), end;
	uint8_t *memory = claim_fresh(bench->bytes);

	memset(memory, 1, bench->bytes);
	/* The compiler must not see that the memory is not read. */
	__asm__ volatile("" : : "r"(memory) : "memory");
	end = now_ms();
	munmap(memory, bench->bytes);
	return end - start;
}

static double run_memcpy(struct bench *bench)
{
	double start = now_ms(), end;
	uint8_t *memory = claim_fresh(bench->bytes);

	memcpy(memory, bench->installed, bench->bytes);
	__asm__ volatile("" : : "r"(memory) : "memory");
	end = now_ms();
	munmap(memory, bench->bytes);
	return end - start;
}

static double update(struct bench *bench, const uint8_t *usable)
{
	double start = now_ms();

	pm_routes_update(bench->routes, usable, NULL);
	return now_ms() - start;
}

static double run_no_plane(struct bench *bench)
{
	update(bench, bench->whole);
	return update(bench, bench->no_plane);
}

static double run_no_link(struct bench *bench)
{
	update(bench, bench->whole);
	return update(bench, bench->no_link);
}

static double run_back(struct bench *bench)
{
	update(bench, bench->no_plane);
	return update(bench, bench->whole);
}

static double run_delta(struct bench *bench)
{
	uint32_t stride = pm_routes_stride(bench->routes);
	struct pm_delta delta = {0};
	double start;

	update(bench, bench->no_plane);
	start = now_ms();
	for (uint32_t sw = 0; sw < bench->plan->topology->num_switches; sw++)
		pm_delta_add(&delta, bench->installed + (size_t)sw * stride,
			     pm_routes_table(bench->routes, sw), stride);
	bench->blocks = delta.blocks;
	bench->entries = delta.entries;
	return now_ms() - start;
}

/* Leaves that cables of their own join, as in a ring, without a path between any two. */
static double run_reachable(struct bench *bench)
{
	const struct pm_fabric *topology = bench->plan->topology;
	struct pm_pool pool = {0};
	struct pm_reach reach;
	struct pm_reachable reachable;
	double start, end;

	pm_reach_init(&bench->plan->tree, &pool, &reach);
	if (pm_pool_check(&pool, NULL))
		die("out of memory");
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		reach.updown[(size_t)sw * reach.words + sw / 64] = 1ull << sw % 64;
	start = now_ms();
	if (pm_reachable_find(topology, &reach, bench->whole, &reachable, NULL) ||
	    reachable.pairs)
		die("pairs served");
	end = now_ms();
	pm_pool_free(&pool);
	return end - start;
}

static double best(struct bench *bench, double (*run)(struct bench *bench))
{
	double least = run(bench);

	for (unsigned int i = 1; i < runs; i++) {
		double ms = run(bench);

		if (ms < least)
			least = ms;
	}
	return least;
}

/* ---- Setting up ---- */

static void fail_link(const struct bench *bench, uint8_t *usable, uint32_t port)
{
	uint32_t peer = bench->plan->topology->ports[port].peer;

	if (peer == PM_NONE)
		return;
	usable[port] = usable[peer] = 0;
}

/* Marks for the whole, without the first component, and without a leaf's cable. */
static void mark(struct bench *bench)
{
	const struct pm_fabric *topology = bench->plan->topology;
	const struct pm_tree *tree = &bench->plan->tree;
	uint32_t link = PM_NONE;

	bench->whole = claim(topology->num_ports);
	bench->no_plane = claim(topology->num_ports);
	bench->no_link = claim(topology->num_ports);
	if (!pm_plan_match(bench->plan, bench->fabric, bench->whole))
		die("the plan does not know its fabric");
	memcpy(bench->no_plane, bench->whole, topology->num_ports);
	memcpy(bench->no_link, bench->whole, topology->num_ports);
	for (uint32_t i = 0; i < topology->num_ports; i++) {
		if (tree->component[topology->ports[i].node] == 0)
			fail_link(bench, bench->no_plane, i);
		if (tree->leaf_index[topology->ports[i].node] == 5 && tree->plane[i] == 1)
			link = i;
	}
	fail_link(bench, bench->no_link, link);
}

static void set_up(struct bench *bench, const struct size *size)
{
	struct pm_plan_config config = {.order = PM_GROUPED};
	uint32_t stride;

	*bench = (struct bench){0};
	bench->fabric = generate(&size->config);
	if (pm_plan_make(bench->fabric, &config, &bench->plan, NULL) ||
	    pm_routes_make(bench->plan, &bench->routes, NULL))
		die(size->name);
	stride = pm_routes_stride(bench->routes);
	bench->bytes = (size_t)bench->plan->topology->num_switches * stride;
	bench->installed = claim(bench->bytes);
	for (uint32_t sw = 0; sw < bench->plan->topology->num_switches; sw++)
		memcpy(bench->installed + (size_t)sw * stride,
		       pm_routes_table(bench->routes, sw), stride);
	mark(bench);
}

static void release(struct bench *bench)
{
	pm_routes_free(bench->routes);
	pm_plan_free(bench->plan);
	pm_fabric_free(bench->fabric);
	free(bench->installed);
	free(bench->whole);
	free(bench->no_plane);
	free(bench->no_link);
}

/* ---- Reporting ---- */

/* A measurement, and its limit as a multiple of the time of a memset. */
static const struct {
	const char *name;
	double (*run)(struct bench *bench);
	double most; /* times the memset of the same bytes */
	bool event;  /* otherwise whole tables, or neither if most is 0 */
} parts[] = {
	{"memset of as many fresh bytes", run_memset, 0, false},
	{"memcpy to as many fresh bytes", run_memcpy, 0, false},
	{"plan", run_plan, 0, false},
	{"whole tables", run_whole, 12, false},
	{"update, a chassis or plane lost", run_no_plane, 3, true},
	{"update, a cable lost", run_no_link, 3, true},
	{"update, all back", run_back, 3, true},
	{"delta of all switches", run_delta, 2, false},
	{"reachable pairs alone", run_reachable, 3, true},
};

static bool measure(struct bench *bench, const struct size *size)
{
	double reference = 0;
	bool fine = true;

	for (size_t i = 0; i < LENGTH(parts); i++) {
		double ms = best(bench, parts[i].run);
		double goal = parts[i].event ? size->event_ms : 0;

		if (i == 0)
			reference = ms;
		if (parts[i].run == run_whole)
			goal = size->whole * reference;
		printf("  %-34s %9.3f ms %8.2f x memset", parts[i].name, ms,
		       ms / reference);
		if (goal > 0)
			printf("   goal %.3g ms: %s", goal, ms < goal ? "met" : "MISSED");
		if (parts[i].most > 0 && ms > parts[i].most * reference) {
			printf("   OVER %g x", parts[i].most);
			fine = false;
		}
		putchar('\n');
	}
	return fine;
}

static double peak_mb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

static bool try_size(const struct size *size)
{
	struct bench bench;
	bool fine;

	set_up(&bench, size);
	printf("%s: %u end ports, %u switches, LIDs up to %u of %u, tables of %.1f MiB\n",
	       size->name, bench.fabric->num_nodes - bench.fabric->num_switches,
	       bench.fabric->num_switches, bench.plan->top_lid, (unsigned int)PM_MAX_LID,
	       (double)bench.bytes / 1048576);
	printf("  peak RSS %.1f MiB with fabric, plan, routes and a copy of the tables\n",
	       peak_mb());
	fine = measure(&bench, size);
	printf("  delta: %llu blocks, %llu entries\n", (unsigned long long)bench.blocks,
	       (unsigned long long)bench.entries);
	release(&bench);
	return fine;
}

int main(int argc, char **argv)
{
	bool fine = true;

	if (argc > 1)
		runs = (unsigned int)atoi(argv[1]);
	if (!runs)
		die("usage: bench_tables [RUNS]");
	printf("best of %u runs, one core, no seed (nothing is random)\n", runs);
	for (size_t i = 0; i < LENGTH(sizes); i++)
		fine &= try_size(&sizes[i]);
	return fine || !RATIOS_COUNT ? 0 : 1;
}
