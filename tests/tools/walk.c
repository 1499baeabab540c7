/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * walk: judges tables read back from the simulated switches.
 *
 *   walk [-o ORDER] [-m LMC] [-a] [-s SAMPLES] NETLIST DUMP
 *
 * NETLIST is the whole fabric, from which levels are taken; DUMP is the output of
 * ibsim's Dump, with the cables, LIDs and tables there are. Prints key=value
 * lines. -o compares LIDs and tables with those of a plan made from NETLIST with
 * this lid_order (entries for places that can be reached). -a follows paths from
 * all switches, not only from those with end ports. -s tries shift
 * permutations (0: all). Exit 0 if every pair that a path joins is delivered,
 * up and then down, 1 if not, 3 if a file cannot be read.
 */
#include "dump.h"

#include <portmajor/check.h>
#include <portmajor/netlist.h>
#include <portmajor/route.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_load(const char *name, unsigned int level,
		       const struct pm_check_load *load)
{
	double mean;

	if (!load->links)
		return;
	mean = (double)load->flows / (double)load->links;
	printf("%s%u_links=%" PRIu64 "\n", name, level, load->links);
	printf("%s%u_mean=%.2f\n", name, level, mean);
	printf("%s%u_most=%" PRIu64 "\n", name, level, load->maximum);
	printf("%s%u_over=%.4f\n", name, level,
	       mean > 0 ? (double)load->maximum / mean : 1.0);
}

static int judge(const struct pm_check *check, bool from_all, long samples)
{
	struct pm_check_paths paths;
	struct pm_check_loads loads;
	struct pm_error err;
	uint32_t most = 0;

	if (pm_check_paths(check, from_all, &paths, &err) ||
	    pm_check_loads(check, &loads, &err))
		return 3;
	printf("pairs=%" PRIu64 "\ndelivered=%" PRIu64 "\ncut=%" PRIu64 "\nlost=%" PRIu64
	       "\nloops=%" PRIu64 "\nturns=%" PRIu64 "\nmisrouted=%" PRIu64
	       "\ndeaf=%" PRIu64 "\nfirst=%s\n",
	       paths.pairs, paths.delivered, paths.cut, paths.lost, paths.loops,
	       paths.turns, paths.misrouted, paths.deaf, paths.first.text);
	printf("uplink_least=%u\nuplink_most=%u\nuplink_spread=%u\n", loads.uplink_least,
	       loads.uplink_most, loads.uplink_spread);
	for (unsigned int level = 0; level < PM_CHECK_LEVELS; level++) {
		print_load("up", level, &loads.up[level]);
		print_load("down", level, &loads.down[level]);
	}
	if (samples >= 0) {
		if (pm_check_shifts(check, (uint32_t)samples, &most, &err))
			return 3;
		printf("shift_most=%u\n", most);
	}
	return paths.lost || paths.loops || paths.turns || paths.misrouted || paths.deaf;
}

/* LIDs and entries that differ from a plan's, on what can be reached. */
static int compare(const struct dump *dump, const struct pm_fabric *whole,
		   const struct pm_plan_config *config)
{
	struct pm_plan *plan = NULL;
	struct pm_routes *routes = NULL;
	struct pm_detours detours = {.manager = PM_NONE};
	struct pm_error err;
	uint64_t lids = 0, entries = 0;
	uint8_t *alive = NULL;

	if (pm_plan_make(whole, config, &plan, &err) ||
	    pm_routes_make(plan, &routes, &err)) {
		fprintf(stderr, "walk: %s\n", err.text);
		return 3;
	}
	alive = calloc(plan->known->num_ports, 1);
	if (!alive || !pm_plan_match(plan, dump->fabric, alive)) {
		fprintf(stderr, "walk: the dump has what the netlist has not\n");
		return 3;
	}
	if (dump->manager != PM_NONE)
		detours.manager = pm_plan_place(plan, dump->fabric, dump->manager);
	pm_routes_update(routes, alive, &detours);
	for (uint32_t i = 0; i < dump->fabric->num_ports; i++) {
		uint32_t place;

		if (!dump->fabric->ports[i].lid)
			continue;
		place = pm_plan_place(plan, dump->fabric, i);
		lids += place != PM_NONE &&
			plan->lid[place] != dump->fabric->ports[i].lid;
	}
	for (uint32_t sw = 0; sw < plan->known->num_switches; sw++) {
		const uint8_t *table = pm_routes_table(routes, sw);
		uint32_t there =
			pm_fabric_find_guid(dump->fabric, plan->known->nodes[sw].guid);

		for (uint32_t lid = 1; there != PM_NONE && lid <= plan->top_lid; lid++)
			entries += table[lid] != PM_LFT_KEEP &&
				   table[lid] != dump->table[there][lid];
	}
	printf("lids_differ=%" PRIu64 "\nentries_differ=%" PRIu64 "\n", lids, entries);
	free(alive);
	pm_routes_free(routes);
	pm_plan_free(plan);
	return 0;
}

/* Levels of the dump's switches, found in the whole fabric by GUID. */
static uint8_t *find_levels(const struct dump *dump, const struct pm_fabric *whole)
{
	struct pm_fabric *skeleton = pm_fabric_skeleton(whole);
	uint8_t *level = calloc(dump->fabric->num_switches + 1u, 1);
	struct pm_tree tree;
	struct pm_error err;

	if (!skeleton || !level || pm_tree_make(skeleton, &tree, &err))
		exit(3);
	for (uint32_t i = 0; i < dump->fabric->num_switches; i++) {
		uint32_t sw = pm_fabric_find_guid(skeleton, dump->fabric->nodes[i].guid);

		level[i] = sw == PM_NONE ? PM_NO_LEVEL : tree.level[sw];
	}
	pm_tree_free(&tree);
	pm_fabric_free(skeleton);
	return level;
}

int main(int argc, char **argv)
{
	struct pm_fabric *whole = NULL;
	struct pm_plan_config config = {.order = PM_GROUPED};
	bool from_all = false, with_plan = false;
	long samples = -1;
	struct dump dump;
	struct pm_check check;
	struct pm_error err;
	int option, status;

	while ((option = getopt(argc, argv, "o:m:as:")) != -1) {
		if (option == 'o' && !pm_lid_order_parse(optarg, &config.order))
			with_plan = true;
		else if (option == 'm')
			config.lmc = (uint8_t)atoi(optarg);
		else if (option == 'a')
			from_all = true;
		else if (option == 's')
			samples = atol(optarg);
		else
			return 2;
	}
	if (optind + 2 != argc)
		return 2;
	if (pm_netlist_read(argv[optind], &whole, &err) ||
	    dump_read(argv[optind + 1], &dump, &err)) {
		fprintf(stderr, "walk: %s\n", err.text);
		return 3;
	}
	printf("links_not_active=%u\n", dump.links_not_active);
	check = (struct pm_check){
		.fabric = dump.fabric,
		.level = find_levels(&dump, whole),
		.table = (const uint8_t *const *)dump.table,
		.top = dump.top,
		.manager = dump.manager,
	};
	status = judge(&check, from_all, samples);
	if (with_plan && status != 3) {
		int rc = compare(&dump, whole, &config);

		status = rc ? rc : status;
	}
	free((void *)(uintptr_t)check.level);
	dump_free(&dump);
	pm_fabric_free(whole);
	return status;
}
