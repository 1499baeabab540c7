/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor plan: prints planes, their runs of LIDs, and the owners of LIDs. */
#include "commands.h"
#include "json.h"
#include "failure_options.h"
#include "output.h"
#include "plan_command.h"
#include "text.h"

#include <portmajor/memory/xalloc.h>
#include <portmajor/multicast/mft.h>
#include <portmajor/plan/migration.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct request {
	struct cli_fabric fabric;
	struct plan_files files;
	const char *sm;
	struct cli_failed failed; /* files are for the parts that remain */
	bool lids, reboots;
	uint32_t mlid_blocks; /* to print with orders of planes */
	struct cli_output output;
};

/* ---- Reboots with `migrate` ---- */

static json_t *reboots_json(const struct pm_fabric *fabric,
			    const struct pm_migration *migration)
{
	json_t *order = json_array(), *group = NULL;

	for (uint32_t i = 0; i < migration->num; i++) {
		uint32_t node = migration->nodes[i];

		if (!i || migration->group[i] != migration->group[i - 1]) {
			group = json_array();
			json_array_append_new(order, group);
		}
		json_array_append_new(group, cli_node_json(fabric, node));
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "ports",
			 (json_int_t)migration->num_ports, "nodes",
			 (json_int_t)migration->num, "switches",
			 (json_int_t)migration->switches, "joint_groups",
			 (json_int_t)migration->num_joint, "twice_by_index",
			 (json_int_t)migration->twice, "order", order);
}

static void print_reboots(const json_t *reboots)
{
	const json_t *group, *node;
	size_t i, k;

	if (!cli_json_number(reboots, "ports")) {
		puts("reboots: none, no port with a LID is out of plan");
		return;
	}
	cli_text_print(
		reboots,
		"reboots with `migrate yes`: {ports|port|ports} out of plan at "
		"{nodes|node|nodes}, {switches|switch|switches} among them: each reboots "
		"once in the order below, if those of one line are down together "
		"({joint_groups|line|lines}; else one of them reboots twice); one after "
		"the other as in NETLIST {twice_by_index} would reboot twice\n");
	json_array_foreach(json_object_get(reboots, "order"), i, group) {
		fputs("reboot ", stdout);
		json_array_foreach(group, k, node) {
			fputs(k ? ", " : "", stdout);
			cli_text_put(cli_json_label(node));
		}
		putchar('\n');
	}
}

/* Adds the order of reboots to the plan's object. */
static int add_reboots(json_t *object, const struct pm_plan *plan,
		       const struct pm_fabric *fabric)
{
	struct pm_migration migration = {.num = 0};
	struct pm_error err;

	if (pm_migration_find(plan, fabric, &migration, &err))
		return cli_refuse(&err);
	json_object_set_new(object, "reboots", reboots_json(fabric, &migration));
	pm_migration_free(&migration);
	return EXIT_FINE;
}

/* ---- The plan ---- */

/* Prints a plane's places and its runs of LIDs. */
static void print_plane(const json_t *plane, const struct pm_plan *plan)
{
	const json_t *runs = json_object_get(plane, "lids"), *run;
	uint32_t spare = 0;
	size_t i;

	if (json_is_null(json_object_get(plane, "plane"))) {
		fputs("no plane:", stdout);
	} else {
		cli_text_print(plane, "plane {plane} (");
		cli_text_put(cli_json_label(plane));
		cli_text_print(plane, " link {link}):");
	}
	cli_text_print(plane, " {slots|slot|slots}, {switches|switch|switches}");
	if (plan->order == PM_GROUPED && json_array_size(runs)) {
		fputs(", LIDs", stdout);
		json_array_foreach(runs, i, run) {
			json_int_t lid = cli_json_number(run, "first");

			cli_text_print(run, " {first}-{last}");
			for (; lid <= cli_json_number(run, "last"); lid++)
				spare += plan->owner[lid] == PM_NONE;
		}
		printf(" spare %" PRIu32, spare);
	}
	putchar('\n');
}

/* Prints a place, and whether it had a host when the plan was made. */
static void print_place(const struct pm_plan *plan, const json_t *lid)
{
	uint32_t place = plan->owner[cli_json_number(lid, "lid")];
	const struct pm_port *port = &plan->topology->ports[place];

	json_t *label = pm_json_text(pm_fabric_label(plan->topology, port->node));

	fputs(" \"", stdout);
	cli_text_put(json_string_value(label));
	json_decref(label);
	cli_text_print(lid, !port->num	 ? "\"\n"
			    : port->host ? "\"[{port}]\n"
					 : "\"[{port}] empty\n");
}

static void print_plan(const json_t *object, const struct pm_plan *plan)
{
	const json_t *one;
	size_t i;

	cli_text_print(
		object,
		"{switches|switch|switches}, {leaves} of them leaves, levels 0 to "
		"{top_level}, {pods|pod|pods}, {planes|plane|planes}\n"
		"lid_order {lid_order}, LIDs up to {top_lid}, {blocks|LFT block|LFT "
		"blocks} a switch, {full_load} for a full load\n");
	json_array_foreach(json_object_get(object, "notes"), i, one)
		cli_print_line("note: %s", json_string_value(one));
	json_array_foreach(json_object_get(object, "plane_list"), i, one)
		print_plane(one, plan);
	json_array_foreach(json_object_get(object, "lids"), i, one) {
		cli_text_print(one, "lid {lid} block {block} plane ");
		cli_text_print(one, json_is_null(json_object_get(one, "plane"))
					    ? "-"
					    : "{plane}");
		print_place(plan, one);
	}
	if (json_object_get(object, "multicast"))
		plan_multicast_print(json_object_get(object, "multicast"));
	if (json_object_get(object, "reboots"))
		print_reboots(json_object_get(object, "reboots"));
}

/* Adds the netlist's missing lines, for readers of the object. */
static void add_notes(json_t *list, const struct pm_netlist_notes *notes)
{
	uint32_t shown =
		notes->count < PM_NETLIST_NOTES ? notes->count : PM_NETLIST_NOTES;

	for (uint32_t i = 0; i < shown; i++)
		json_array_append_new(list, pm_json_text(notes->first[i].text));
	if (shown < notes->count)
		json_array_append_new(list, json_sprintf("and %" PRIu32 " more of these",
							 notes->count - shown));
}

/* `after`: notes on the failure. */
static int write_plan(const struct request *request, const struct cli_tables *tables,
		      const struct pm_fabric *fabric, json_t *after)
{
	json_t *object = plan_json(tables, fabric, request->lids);

	if (request->mlid_blocks)
		json_object_set_new(
			object, "multicast",
			plan_multicast_json(tables->plan, request->mlid_blocks));
	json_array_extend(json_object_get(object, "notes"), after);
	if (request->reboots && add_reboots(object, tables->plan, fabric)) {
		json_decref(object);
		return EXIT_INPUT;
	}
	if (request->output.json) {
		add_notes(json_object_get(object, "notes"), request->fabric.notes);
		return cli_json_print(object);
	}
	print_plan(object, tables->plan);
	json_decref(object);
	return EXIT_FINE;
}

/* Says without a plan on stdout why the exit status is 1. */
static void print_cut(const struct cli_tables *tables, const struct pm_fabric *fabric,
		      const json_t *after)
{
	json_t *notes = json_array(), *note;
	size_t i;

	plan_note_paths(tables, fabric, "", notes);
	json_array_extend(notes, (json_t *)after);
	json_array_foreach(notes, i, note)
		cli_note("%s", json_string_value(note));
	json_decref(notes);
}

/*
 * Writes the files for the parts that remain after a failure, with the same plan, and
 * notes pairs that have no path then; *cut: whether these are a finding.
 */
static int write_broken(const struct request *request, struct pm_plan *plan,
			const struct pm_fabric *fabric, uint32_t sm, json_t *after,
			bool *cut)
{
	struct cli_tables tables = {.plan = plan};
	struct pm_fabric *broken = NULL;
	int status = cli_failures_cut(fabric, plan, &request->failed, &broken);

	if (!status)
		status = cli_tables_route(&tables, &request->fabric, broken, sm);
	if (!status)
		status = plan_files_write(&request->files, &tables, broken, sm);
	if (!status) {
		plan_note_paths(&tables, broken, "after the failure: ", after);
		*cut = cli_tables_cut(&tables);
	}
	pm_routes_free(tables.routes);
	pm_fabric_free(broken);
	return status;
}

/* Makes a plan, writes files and prints. */
static int run_plan(const struct request *request, const struct pm_fabric *fabric)
{
	struct cli_tables tables = {0};
	json_t *after = json_array();
	uint32_t sm = PM_NONE;
	bool cut = false;
	int status = cli_tables_sm(fabric, request->sm, &sm);

	if (!status)
		status = cli_tables_make(&tables, &request->fabric, fabric, sm);
	if (!status && !request->output.quiet)
		cli_failed_print(fabric, tables.plan, &request->failed);
	if (!status)
		status = request->failed.num
				 ? write_broken(request, tables.plan, fabric, sm, after,
						&cut)
				 : plan_files_write(&request->files, &tables, fabric, sm);
	cut |= !status && cli_tables_cut(&tables);
	if (!status && (request->output.json || !request->output.quiet))
		status = write_plan(request, &tables, fabric, after);
	else if (cut)
		print_cut(&tables, fabric, after);
	if (!status && cut)
		status = EXIT_FINDINGS;
	json_decref(after);
	cli_tables_free(&tables);
	return status;
}

static const struct cli_option options[] = {
	{'l', NULL, NULL, "Also list every LID with its block, plane and place.",
	 CLI_MEMBER(struct request, lids)},
	{0, "reboots", NULL,
	 "Also print the order in which nodes reboot to get the planned LIDs "
	 "with `migrate yes`; NETLIST, as of ibnetdiscover(8) or the plugin's "
	 "fabric.net, has the present LIDs.",
	 CLI_MEMBER(struct request, reboots)},
	{0, "mlid-blocks", "N",
	 "Also print the order of planes for the first N blocks of 32 multicast "
	 "LIDs, and for each MLID the first plane of a large group.",
	 CLI_MEMBER(struct request, mlid_blocks), .high = PM_MFT_BLOCKS},
	{'s', "sm", "NAME", "The node with the subnet manager: every switch reaches it.",
	 CLI_MEMBER(struct request, sm)},
	{0, "guid2lid", "FILE",
	 "Write the LIDs as OpenSM keeps them in its cache folder (for "
	 "honor_guid2lid_file TRUE).",
	 CLI_MEMBER(struct request, files.guid2lid)},
	{0, "lfts", "FILE", "Write the tables for `opensm -R file -U FILE`.",
	 CLI_MEMBER(struct request, files.lfts)},
	{0, "roots", "FILE",
	 "Write the GUIDs of the switches of the highest level, for "
	 "root_guid_file in opensm.conf. Without that file OpenSM's updn guesses "
	 "its roots, and may cut hosts off.",
	 CLI_MEMBER(struct request, files.roots)},
	{0, "ibdmchk", "DIR",
	 "Write opensm-subnet.lst, opensm.fdbs and opensm.mcfdbs into DIR for "
	 "ibdmchk(1).",
	 CLI_MEMBER(struct request, files.ibdmchk)},
	{0, "slurm", "FILE",
	 "Write topology.conf for Slurm's topology/tree, or topology.yaml if "
	 "FILE ends in .yaml or .yml.",
	 CLI_MEMBER(struct request, files.slurm)},
	{0, "simgrid", "FILE", "Write a platform for SimGrid, with at most 1,024 hosts.",
	 CLI_MEMBER(struct request, files.simgrid)},
	CLI_FAIL(struct request, failed,
		 "Write the files for the fabric without this part, named as for "
		 "portmajor-whatif(1). May be given several times."),
	CLI_OUTPUT(
		struct request, output,
		"Print nothing, write files only. Standard error names pairs without a "
		"path.",
		"Print one JSON object (docs/json.md); with -l it has every LID."),
	CLI_INCLUDE(struct request, fabric, cli_fabric_options),
	{0},
};

static const struct cli_command command = {
	.synopsis = "plan [OPTION]... NETLIST",
	.about = "Print the plan for a fabric: levels, planes with their runs of LIDs, "
		 "and spare LIDs. NETLIST is an ibsim, ibnetdiscover or "
		 "opensm-subnet.lst file (- is standard input). Exit status 1 if end "
		 "ports, aggregation nodes apart, have no path.",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
};

/* Refuses options that need another option. */
static int check_request(const struct request *request)
{
	if (request->failed.num && !plan_files_any(&request->files))
		return cli_fail(EXIT_USAGE, "--fail needs an option that writes a file");
	return -1;
}

int cmd_plan(int argc, char **argv)
{
	struct pm_netlist_notes notes = {0};
	struct request request = {
		.fabric.notes = &notes,
		.failed.list = pm_xarray((size_t)argc, sizeof(char *)),
	};
	struct pm_fabric *fabric = NULL;
	int status;

	status = cli_command_read(&command, argc, argv, &request);
	if (status < 0)
		status = check_request(&request);
	if (status < 0) {
		status = cli_fabric_read(argv[optind], &request.fabric, &fabric);
		if (!status)
			status = run_plan(&request, fabric);
	}
	pm_fabric_free(fabric);
	free(request.failed.list);
	return status;
}
