/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cost of knowing, after each LFT Set, the pairs of hosts that are cut off, beside
 * a walk of all pairs over the same tables (pm_check_paths), 5,832 hosts. CPU time,
 * best of some runs, for each Set on its own. Exit 1 if a Set costs more than a
 * thousandth of the walk.
 */
#include "bench.h"

#include <portmajor/analysis/failures.h>
#include <portmajor/check/check.h>
#include <portmajor/lab/cutoff.h>
#include <portmajor/lab/lft_trace.h>

#define LEAVES 324
#define RUNS 3
#define MOST (1.0 / 1000)

static const struct {
	const char *failure;
	enum pm_lid_order order;
} cases[] = {
	{"leaf5:20", PM_GROUPED},
	{"s0-fab0", PM_GROUPED},
	{"s0-*", PM_GROUPED},
	{"s0-*", PM_LEAF_MAJOR},
};

static double now_us(void)
{
	return cpu_ms() * 1e3;
}

/* Walks all pairs over the tables of a recording before the failure; microseconds. */
static double time_walk(struct pm_fabric *fabric, const struct pm_plan *plan,
			const struct pm_lft_trace *trace)
{
	const uint8_t **table = claim(fabric->num_switches * sizeof(*table));
	uint16_t *top = claim(fabric->num_switches * sizeof(*top));
	const struct pm_check check = {.fabric = fabric,
				       .level = plan->tree.level,
				       .table = table,
				       .top = top,
				       .sm = PM_NONE};
	double best = 1e18;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		fabric->ports[i].lid = trace->lid[i];
		fabric->ports[i].lmc = trace->lmc[i];
	}
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++) {
		table[sw] = trace->tables + (size_t)sw * trace->length;
		top[sw] = plan->top_lid;
	}
	for (int run = 0; run < RUNS; run++) {
		struct pm_check_paths found;
		double start = now_us();

		if (pm_check_paths(&check, false, &found, NULL))
			die("out of memory");
		if (now_us() - start < best)
			best = now_us() - start;
		if (found.delivered != found.pairs)
			die("the tables are not in order");
	}
	free(table);
	free(top);
	return best;
}

static uint32_t list_lids(const struct pm_fabric *fabric,
			  const struct pm_lft_trace *trace, struct pm_cutoff_lid *lids)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].node >= fabric->num_switches && trace->lid[i])
			lids[num++] = (struct pm_cutoff_lid){trace->lid[i],
							     fabric->ports[i].peer};
	return num;
}

/* Counts after each Set; best[Set] in microseconds keeps the lower value. */
static void time_sets(const struct pm_fabric *fabric, const struct pm_lft_trace *trace,
		      double *best)
{
	struct pm_cutoff_lid *lids = claim((PM_MAX_LID + 1) * sizeof(*lids));
	uint8_t *usable = claim(fabric->num_ports);
	struct pm_cutoff *cutoff;

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		usable[i] = fabric->ports[i].peer != PM_NONE;
	cutoff = pm_cutoff_new(fabric, usable, trace->tables, trace->length, lids,
			       list_lids(fabric, trace, lids));
	for (uint32_t i = 0; i < trace->num_failed; i++)
		usable[trace->failed[i]] = usable[fabric->ports[trace->failed[i]].peer] =
			0;
	pm_cutoff_links(cutoff, usable, usable);
	for (uint32_t i = 0; i < trace->num; i++) {
		double start = now_us(), us;

		pm_cutoff_set(cutoff, trace->set[i].sw, trace->set[i].block,
			      trace->entries + (size_t)i * PM_LFT_BLOCK);
		us = now_us() - start;
		if (best[i] <= 0 || us < best[i])
			best[i] = us;
	}
	if (pm_cutoff_dead(cutoff))
		die("paths are dead in the end");
	pm_cutoff_free(cutoff);
	free(usable);
	free(lids);
}

static bool try_case(struct pm_fabric *fabric, size_t number)
{
	const struct pm_plan_config planned = {.order = cases[number].order};
	const struct pm_lft_trace_config config = {
		.sm = PM_NONE, .mad_ns = 1000 * 265, .wire_smps = 4};
	struct pm_ports ports = {0};
	struct pm_plan *plan;
	struct pm_lft_trace *trace;
	struct pm_error err;
	double walk, sum = 0, longest = 0, *best;

	if (pm_plan_make(fabric, &planned, &plan, &err) ||
	    pm_failures_add(fabric, plan, "loss", cases[number].failure, &ports, &err))
		die(err.text);
	trace = pm_lft_trace_compute(fabric, plan, &config, ports.list, ports.num);
	walk = time_walk(fabric, plan, trace);
	best = claim(trace->num * sizeof(*best));
	for (int run = 0; run < RUNS; run++)
		time_sets(fabric, trace, best);
	for (uint32_t i = 0; i < trace->num; i++) {
		sum += best[i];
		longest = best[i] > longest ? best[i] : longest;
	}
	printf("%-10s %-8s %6u Sets, mean %6.2f us, 1/%.0f of a walk of %.0f us; longest "
	       "%.1f us, 1/%.0f\n",
	       pm_lid_order_name(planned.order), cases[number].failure, trace->num,
	       sum / trace->num, walk / (sum / trace->num), walk, longest,
	       walk / longest);
	free(best);
	pm_lft_trace_free(trace);
	pm_plan_free(plan);
	free(ports.list);
	return longest <= walk * MOST;
}

int main(void)
{
	const struct pm_generate config = {.kind = PM_GENERATE_DIRECTOR,
					   .director = {LEAVES}};
	struct pm_fabric *fabric = generate(&config);
	bool good = true;

	for (size_t i = 0; i < LENGTH(cases); i++)
		good &= try_case(fabric, i);
	pm_fabric_free(fabric);
	return !good;
}
