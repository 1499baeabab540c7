/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor plan: planes, their runs of LIDs, and who has which. */
#include "cli.h"
#include "plan.h"

#include <portmajor/change.h>

#include <stdio.h>
#include <stdlib.h>

struct request {
	struct cli_fabric fabric;
	struct plan_files files;
	const char *manager;
	bool lids;
	struct cli_output output;
};

const char *plan_plane_name(const struct pm_plan *plan, uint32_t p)
{
	const struct pm_tree *tree = &plan->tree;

	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		if (tree->component[sw] == tree->planes[p].component &&
		    tree->rank[sw] == tree->planes[p].rank)
			return pm_fabric_name(plan->known, sw);
	return "?";
}

struct plane_count plan_count_places(const struct pm_plan *plan, uint32_t plane)
{
	struct plane_count count = {0, 0};

	for (uint32_t lid = 0; lid <= plan->top_lid; lid++) {
		uint32_t place = plan->owner[lid];

		if (place == PM_NONE || plan->plane[place] != plane ||
		    plan->lid[place] != lid)
			continue;
		if (plan->known->ports[place].num)
			count.slots++;
		else
			count.switches++;
	}
	return count;
}

static void print_runs(const struct pm_plan *plan, uint32_t plane, uint32_t used)
{
	uint32_t length = 0;

	for (uint32_t r = 0; r < plan->num_runs; r++) {
		const struct pm_run *run = &plan->runs[r];

		if (run->plane != plane)
			continue;
		printf(" %u-%u", run->start ? run->start : 1u,
		       (unsigned int)(run->start + run->length - 1));
		length += (uint32_t)(run->length - (run->start == 0));
	}
	printf(" spare %u", length - used);
}

static void print_planes(const struct pm_plan *plan)
{
	for (uint32_t i = 0; i <= plan->tree.num_planes; i++) {
		uint32_t p = i == plan->tree.num_planes ? PM_NONE : i;
		struct plane_count count = plan_count_places(plan, p);

		if (p == PM_NONE && !count.slots && !count.switches)
			continue;
		if (p == PM_NONE)
			printf("no plane:");
		else
			printf("plane %u (%s cable %u):", p, plan_plane_name(plan, p),
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

/* Plans, writes, prints; an exit status. */
static int run(const struct request *request, const struct pm_fabric *fabric)
{
	struct cli_tables tables = {0};
	uint32_t manager = PM_NONE;
	int status = cli_tables_manager(fabric, request->manager, &manager);

	if (!status)
		status = cli_tables_make(&tables, &request->fabric, fabric, manager);
	if (!status)
		status = plan_files_write(&request->files, &tables, fabric, manager);
	if (!status && request->output.json)
		status = plan_json_print(&tables, fabric, request->lids);
	else if (!status && !request->output.quiet)
		print_plan(tables.plan, &tables.apart, request->lids);
	cli_tables_free(&tables);
	return status;
}

static const struct cli_option options[] = {
	{'l', NULL, NULL, "list every LID with its place as well",
	 CLI_MEMBER(struct request, lids)},
	{'s', "sm", "NAME", "the node with the subnet manager: every switch reaches it",
	 CLI_MEMBER(struct request, manager)},
	{0, "guid2lid", "FILE",
	 "write the LIDs as OpenSM keeps them in its cache folder (to be used with "
	 "honor_guid2lid_file TRUE)",
	 CLI_MEMBER(struct request, files.guid2lid)},
	{0, "lfts", "FILE", "write the tables for `opensm -R file -U FILE`",
	 CLI_MEMBER(struct request, files.lfts)},
	{0, "ibdmchk", "DIR",
	 "write opensm-subnet.lst, opensm.fdbs and opensm.mcfdbs into DIR, for ibdmchk",
	 CLI_MEMBER(struct request, files.ibdmchk)},
	{'q', "quiet", NULL, "print nothing, write files only",
	 CLI_MEMBER(struct request, output.quiet)},
	{0, "json", NULL, "print one JSON object, with -l with every LID",
	 CLI_MEMBER(struct request, output.json)},
	CLI_INCLUDE(struct request, fabric, cli_fabric_options),
	{0},
};

static const struct cli_command command = {
	.synopsis = "plan [OPTION]... NETLIST",
	.about = "Prints the plan for a fabric, an ibsim or ibnetdiscover file (- is "
		 "standard input): planes with their runs of LIDs, what is used of them "
		 "and spare.",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
};

int cmd_plan(int argc, char **argv)
{
	struct request request = {0};
	struct pm_fabric *fabric = NULL;
	int status = cli_command_read(&command, argc, argv, &request);

	if (status >= 0)
		return status;
	status = cli_fabric_read(argv[optind], &request.fabric, &fabric);
	if (!status)
		status = run(&request, fabric);
	pm_fabric_free(fabric);
	return status;
}
