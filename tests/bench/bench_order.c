/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The order of blocks that restores paths soonest: the rule of order.h beside others,
 * on failures of all kinds. For each order, the share of the failed paths that are
 * still dead, as the mean over all Sets; exact, and the same in every run. Exit 1 if
 * another order is better than the rule, or if blocks could not be put before others
 * that have to wait.
 */
#include "bench.h"

#include <portmajor/analysis/failures.h>
#include <portmajor/lab/cutoff.h>
#include <portmajor/route/delta.h>
#include <portmajor/route/order.h>

static const struct {
	const char *name;
	struct pm_generate config;
	const char *failures[8];
} fabrics[] = {
	{"director 324",
	 {.kind = PM_GENERATE_DIRECTOR, .director = {324}},
	 {"leaf5:20", "s0-line0", "s5-line5", "s0-fab0", "s0-line0:30", "s0-*"}},
	{"xgft 6,6,6",
	 {.kind = PM_GENERATE_XGFT, .xgft = {3, {6, 6, 6}, {1, 6, 6}}},
	 {"leaf5:7", "sw2-0", "sw2-7", "sw3-0", "sw2-0:7"}},
	{"xgft 4,4,4,4",
	 {.kind = PM_GENERATE_XGFT, .xgft = {4, {4, 4, 4, 4}, {1, 4, 4, 4}}},
	 {"leaf5:6", "sw2-0", "sw3-0", "sw4-0", "sw2-0:7", "sw3-5:6"}},
	{"xgft 8,8,4",
	 {.kind = PM_GENERATE_XGFT, .xgft = {3, {8, 8, 4}, {1, 4, 8}}},
	 {"leaf5:9", "sw2-0", "sw3-0", "sw2-0:9"}},
};

struct bench {
	struct pm_fabric *fabric;
	struct pm_plan *plan;
	struct pm_routes *routes;
	uint32_t stride;
	uint8_t *whole, *usable; /* [port] */
	uint8_t *installed;	 /* [switch][stride] */
	struct pm_cutoff_lid *lids;
	uint32_t num_lids;
	struct pm_order_block *blocks; /* that are to be sent, in the rule's order */
	uint32_t num;
};

/* ---- Orders ---- */

static const struct bench *sorted; /* owner of the blocks */

static uint32_t count_bits(uint64_t set)
{
	return (uint32_t)__builtin_popcountll(set);
}

static int by_place(const struct pm_order_block *x, const struct pm_order_block *y)
{
	if (x->sw != y->sw)
		return x->sw < y->sw ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Switch by switch. */
static int compare_switches(const void *a, const void *b)
{
	return by_place(a, b);
}

/* Most entries first. */
static int compare_entries(const void *a, const void *b)
{
	const struct pm_order_block *x = a, *y = b;
	uint32_t m = count_bits(x->differ), n = count_bits(y->differ);

	return m != n ? (m > n ? -1 : 1) : by_place(x, y);
}

static bool has_sm(const struct pm_order_block *block)
{
	return sorted->plan->lid[sorted->lids[0].port] / PM_LFT_BLOCK == block->number;
}

/* Those with the SM's LID, the first one of all hosts, first; then by entries. */
static int compare_sm(const void *a, const void *b)
{
	const struct pm_order_block *x = a, *y = b;

	return has_sm(x) != has_sm(y) ? (has_sm(x) ? -1 : 1) : compare_entries(a, b);
}

/* From the top to the leaves, then by paths. */
static int compare_levels(const void *a, const void *b)
{
	const struct pm_order_block *x = a, *y = b;

	if (x->level != y->level)
		return x->level > y->level ? -1 : 1;
	return x->paths != y->paths ? (x->paths > y->paths ? -1 : 1) : by_place(x, y);
}

static const struct {
	const char *name;
	int (*compare)(const void *a, const void *b); /* NULL: the rule */
} orders[] = {
	{"paths", NULL},    {"switch", compare_switches}, {"entries", compare_entries},
	{"SM", compare_sm}, {"levels", compare_levels},
};

/* ---- Counting ---- */

static void set_block(const struct bench *b, struct pm_cutoff *cutoff,
		      const struct pm_order_block *block)
{
	size_t at = (size_t)block->number * PM_LFT_BLOCK;
	uint8_t entries[PM_LFT_BLOCK];

	pm_delta_apply(entries, b->installed + (size_t)block->sw * b->stride + at,
		       pm_routes_table(b->routes, block->sw) + at, PM_LFT_BLOCK);
	pm_cutoff_set(cutoff, block->sw, block->number, entries);
}

static struct pm_cutoff *begin(const struct bench *b)
{
	struct pm_cutoff *cutoff =
		pm_cutoff_new(b->plan->topology, b->whole, b->installed, b->stride,
			      b->lids, b->num_lids);

	pm_cutoff_links(cutoff, b->usable, b->usable);
	return cutoff;
}

/* The mean share of the failed paths that are dead after a Set. */
static double try_order(const struct bench *b, const struct pm_order_block *blocks)
{
	struct pm_cutoff *cutoff = begin(b);
	uint64_t first = pm_cutoff_dead(cutoff), last;
	double sum = 0;

	for (uint32_t i = 0; i < b->num; i++) {
		set_block(b, cutoff, &blocks[i]);
		sum += (double)pm_cutoff_dead(cutoff);
	}
	last = pm_cutoff_dead(cutoff);
	pm_cutoff_free(cutoff);
	return first == last ? 0 : (sum / b->num - (double)last) / (double)(first - last);
}

static void list_blocks(struct bench *b)
{
	b->num = 0;
	for (uint32_t sw = 0; sw < b->plan->topology->num_switches; sw++) {
		bool failed = true;

		pm_for_each_port(i, b->plan->topology, sw)
			failed &= !b->usable[i];
		for (uint32_t n = 0; n < b->stride / PM_LFT_BLOCK && !failed; n++)
			b->num += pm_order_compare(b->routes, sw, n,
						   b->installed + (size_t)sw * b->stride +
							   n * PM_LFT_BLOCK,
						   &b->blocks[b->num]);
	}
}

static bool try_failure(struct bench *b, const char *name, const char *failure)
{
	struct pm_order_block *blocks;
	struct pm_order_waits waits;
	struct pm_ports ports = {0};
	struct pm_error err;
	double best = 0;
	bool good;

	if (pm_failures_add(b->fabric, b->plan, "loss", failure, &ports, &err))
		die(err.text);
	memcpy(b->usable, b->whole, b->plan->topology->num_ports);
	for (uint32_t i = 0; i < ports.num; i++) {
		uint32_t peer = b->fabric->ports[ports.list[i]].peer;

		b->usable[ports.list[i]] = 0;
		if (peer < b->plan->topology->num_ports)
			b->usable[peer] = 0;
	}
	free(ports.list);
	pm_routes_update(b->routes, b->usable, NULL);
	list_blocks(b);
	if (pm_order_sort(b->routes, b->usable, b->blocks, b->num, &waits))
		die("out of memory");
	good = waits.forced == 0;
	pm_order_free(&waits);
	blocks = claim(sizeof(*blocks) * b->num);
	printf("| %s | `%s` | %u |", name, failure, b->num);
	sorted = b;
	for (size_t i = 0; i < LENGTH(orders); i++) {
		double share;

		memcpy(blocks, b->blocks, sizeof(*blocks) * b->num);
		if (orders[i].compare)
			qsort(blocks, b->num, sizeof(*blocks), orders[i].compare);
		share = try_order(b, blocks);
		if (!i)
			best = share;
		good &= best <= share + 1e-9;
		printf(" %.3f |", share);
	}
	printf("%s\n",
	       good ? "" : " another order is better, or blocks are not in order");
	free(blocks);
	return good;
}

/* ---- Fabrics ---- */

static void make(struct bench *b, const struct pm_generate *config)
{
	struct pm_plan_config planned = {.order = PM_GROUPED};
	const struct pm_fabric *topology;
	struct pm_error err;

	b->fabric = generate(config);
	if (pm_plan_make(b->fabric, &planned, &b->plan, &err) ||
	    pm_routes_make(b->plan, &b->routes, &err))
		die(err.text);
	topology = b->plan->topology;
	b->stride = pm_routes_stride(b->routes);
	b->whole = claim(topology->num_ports);
	b->usable = claim(topology->num_ports);
	b->installed = claim((size_t)topology->num_switches * b->stride);
	b->lids = claim((b->plan->top_lid + 1u) * sizeof(*b->lids));
	b->blocks = claim((size_t)topology->num_switches * (b->stride / PM_LFT_BLOCK) *
			  sizeof(*b->blocks));
	if (!pm_plan_match(b->plan, b->fabric, b->whole))
		die("the plan does not fit");
	pm_routes_update(b->routes, b->whole, NULL);
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		memcpy(b->installed + (size_t)sw * b->stride,
		       pm_routes_table(b->routes, sw), b->stride);
	for (uint32_t lid = 1; lid <= b->plan->top_lid; lid++) {
		uint32_t place = b->plan->owner[lid];

		if (place != PM_NONE && topology->ports[place].num)
			b->lids[b->num_lids++] =
				(struct pm_cutoff_lid){(uint16_t)lid, place};
	}
}

static void end(struct bench *b)
{
	free(b->whole);
	free(b->usable);
	free(b->installed);
	free(b->lids);
	free(b->blocks);
	pm_routes_free(b->routes);
	pm_plan_free(b->plan);
	pm_fabric_free(b->fabric);
}

int main(void)
{
	bool good = true;

	printf("| fabric | lost | blocks |");
	for (size_t i = 0; i < LENGTH(orders); i++)
		printf(" %s |", orders[i].name);
	printf("\n|---|---|---|");
	for (size_t i = 0; i < LENGTH(orders); i++)
		printf("---|");
	printf("\n");
	for (size_t i = 0; i < LENGTH(fabrics); i++) {
		struct bench b = {0};

		make(&b, &fabrics[i].config);
		for (const char *const *failure = fabrics[i].failures; *failure;
		     failure++)
			good &= try_failure(&b, fabrics[i].name, *failure);
		end(&b);
	}
	return !good;
}
