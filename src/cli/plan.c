/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor plan: planes, their runs of LIDs, and who has which. */
#include "cli.h"

#include <portmajor/change.h>
#include <portmajor/route.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
	"usage: portmajor plan [OPTION]... NETLIST\n"
	"\n"
	"Prints the plan for a fabric, an ibsim or ibnetdiscover file (- is standard\n"
	"input): planes with their runs of LIDs, what is used of them and "
	"spare.\n" CLI_FABRIC_HELP "  -l        list every LID with its place as well\n"
	"  -h        this help\n";

struct plane_count {
	uint32_t slots, switches;
};

/* The first-level switches or the component that a plane leads to, by name. */
static const char *plane_name(const struct pm_plan *plan, uint32_t p)
{
	const struct pm_tree *tree = &plan->tree;

	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		if (tree->component[sw] == tree->planes[p].component &&
		    tree->rank[sw] == tree->planes[p].rank)
			return pm_fabric_name(plan->known, sw);
	return "?";
}

static void count_places(const struct pm_plan *plan, uint32_t plane,
			 struct plane_count *count)
{
	*count = (struct plane_count){0};
	for (uint32_t lid = 0; lid <= plan->top_lid; lid++) {
		uint32_t place = plan->owner[lid];

		if (place == PM_NONE || plan->plane[place] != plane ||
		    plan->lid[place] != lid)
			continue;
		if (plan->known->ports[place].num)
			count->slots++;
		else
			count->switches++;
	}
}

static void print_runs(const struct pm_plan *plan, uint32_t plane, uint32_t used)
{
	uint32_t length = 0;

	for (uint32_t r = 0; r < plan->num_runs; r++) {
		const struct pm_run *run = &plan->runs[r];

		if (run->plane != plane)
			continue;
		printf(" %u-%u", run->start ? run->start : 1,
		       (unsigned int)(run->start + run->length - 1));
		length += (uint32_t)(run->length - (run->start == 0));
	}
	printf(" spare %u", length - used);
}

static void print_planes(const struct pm_plan *plan)
{
	for (uint32_t i = 0; i <= plan->tree.num_planes; i++) {
		uint32_t p = i == plan->tree.num_planes ? PM_NONE : i;
		struct plane_count count;

		count_places(plan, p, &count);
		if (p == PM_NONE && !count.slots && !count.switches)
			continue;
		if (p == PM_NONE)
			printf("no plane:");
		else
			printf("plane %u (%s cable %u):", p, plane_name(plan, p),
			       plan->tree.planes[p].cable);
		printf(" %u slots, %u switches", count.slots, count.switches);
		if (plan->order == PM_GROUPED) {
			printf(", LIDs");
			print_runs(plan, p, (count.slots << plan->lmc) + count.switches);
		}
		putchar('\n');
	}
}

static void print_lids(const struct pm_plan *plan)
{
	for (uint32_t lid = 0; lid <= plan->top_lid; lid++) {
		uint32_t place = plan->owner[lid];
		const struct pm_port *port;

		if (place == PM_NONE)
			continue;
		port = &plan->known->ports[place];
		printf("lid %u block %u", lid, lid / PM_LFT_BLOCK);
		if (plan->plane[place] == PM_NONE)
			printf(" plane -");
		else
			printf(" plane %u",
			       pm_plan_plane(plan, place, lid - plan->lid[place]));
		printf(" \"%s\"", pm_fabric_name(plan->known, port->node));
		if (port->num)
			printf("[%u]%s", port->num, port->host ? "" : " empty");
		putchar('\n');
	}
}

static void print_plan(const struct pm_plan *plan, const struct pm_apart *apart,
		       bool lids)
{
	const struct pm_tree *tree = &plan->tree;
	char text[PM_CHANGE_TEXT];

	printf("%u switches, %u of them leaves, levels 0 to %u, %u pods, %u planes\n",
	       tree->num_switches, tree->num_leaves, tree->top_level, tree->num_pods,
	       tree->num_planes);
	printf("lid_order %s, LIDs up to %u, %u LFT blocks a switch, %llu for a full "
	       "load\n",
	       pm_lid_order_name(plan->order), plan->top_lid, pm_plan_blocks(plan),
	       (unsigned long long)pm_plan_blocks(plan) * tree->num_switches);
	if (pm_change_oddities(plan, text, sizeof(text)))
		printf("note: %s\n", text);
	if (pm_change_apart(plan, apart, text, sizeof(text)))
		printf("note: %s\n", text);
	print_planes(plan);
	if (lids)
		print_lids(plan);
}

/* What no path joins in the fabric as it is. */
static int find_apart(const struct pm_plan *plan, const struct pm_fabric *fabric,
		      struct pm_apart *apart, struct pm_error *err)
{
	uint8_t *alive = calloc(plan->known->num_ports + 1u, 1);
	struct pm_routes *routes = NULL;
	int rc = -ENOMEM;

	if (alive)
		rc = pm_routes_make(plan, &routes, err);
	else
		pm_error_set(err, rc, "out of memory");
	if (!rc) {
		pm_plan_match(plan, fabric, alive);
		pm_routes_update(routes, alive, NULL);
		rc = pm_routes_apart(routes, apart, err);
	}
	pm_routes_free(routes);
	free(alive);
	return rc;
}

int cmd_plan(int argc, char **argv)
{
	static const struct option options[] = {
		CLI_FABRIC_LONG,
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct cli_fabric config = {0};
	struct pm_fabric *fabric = NULL;
	struct pm_plan *plan = NULL;
	struct pm_apart apart;
	struct pm_error err;
	bool lids = false;
	int option, status;

	while ((option = getopt_long(argc, argv, "hl" CLI_FABRIC_SHORT, options, NULL)) !=
	       -1) {
		status = cli_fabric_option(option, &config);
		if (status > 0)
			return status;
		if (status == EXIT_FINE)
			continue;
		if (option == 'l') {
			lids = true;
			continue;
		}
		fputs(usage, option == 'h' ? stdout : stderr);
		return option == 'h' ? EXIT_FINE : EXIT_USAGE;
	}
	if (optind + 1 != argc) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	status = cli_fabric_read(argv[optind], &config, &fabric);
	if (status == EXIT_FINE) {
		if (pm_plan_make(fabric, &config.plan, &plan, &err) ||
		    find_apart(plan, fabric, &apart, &err))
			status = cli_fail(EXIT_INPUT, "%s", err.text);
		else
			print_plan(plan, &apart, lids);
	}
	pm_plan_free(plan);
	pm_fabric_free(fabric);
	return status;
}
