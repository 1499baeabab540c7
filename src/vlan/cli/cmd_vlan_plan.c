/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-vlan plan: VLANs for Ethernet switches and tables for hosts. */
#include "json.h"
#include "plan_vlan.h"
#include "text.h"
#include "vlan_commands.h"

#include <portmajor/memory/xalloc.h>

#include <inttypes.h>
#include <stdio.h>

#define FIRST 101  /* first VLAN */
#define SAMPLES 64 /* of shift permutations */

struct request {
	struct cli_fabric fabric;
	struct plan_vlan vlan;
	struct cli_failed failed;
	struct cli_output output;
};

/* ---- Fewer VLANs, for small MAC tables ---- */

/* Counts the numbers of VLANs from the first one on. */
static uint32_t count_numbers(const struct plan_vlan *request)
{
	return PM_VLAN_MAX - request->first + 1;
}

/* Makes at most so many VLANs, assigns hosts to them and counts MAC entries. */
static int make_at_most(struct vlan_job *job, const struct pm_tree *tree, uint32_t limit)
{
	uint8_t *untagged = NULL;
	struct pm_error err;
	int rc;

	if (job->vlans.num) { /* untagged hosts are known already */
		untagged = pm_xcopy(job->vlans.untagged, job->vlans.num_hosts, 1);
		pm_vlans_free(&job->vlans);
	}
	rc = pm_vlans_make(job->fabric, tree, limit, &job->vlans, &err);
	if (!rc && untagged)
		memcpy(job->vlans.untagged, untagged, job->vlans.num_hosts);
	free(untagged);
	return rc ? cli_refuse(&err) : EXIT_FINE;
}

static void assignment(struct vlan_job *job)
{
	if (!job->table.host)
		job->table.host =
			pm_xarray(job->vlans.num_hosts, sizeof(*job->table.host));
	pm_vlans_assign(&job->vlans, NULL, &job->table, &job->assignment);
	pm_vlans_count_macs(&job->vlans, &job->table, &job->mac_entries,
			    &job->mac_switch);
}

static bool has_room(const struct vlan_job *job)
{
	return !job->request->mac_table || job->mac_entries <= job->request->mac_table;
}

static int refuse_macs(const struct vlan_job *job)
{
	return cli_fail(EXIT_USAGE,
			"--mac-table %" PRIu32 ": %s would learn %" PRIu64
			" addresses in %" PRIu32 " VLANs%s",
			job->request->mac_table,
			pm_fabric_label(job->fabric, job->mac_switch), job->mac_entries,
			job->vlans.num,
			job->request->merge ? "" : ": --merge makes do with fewer");
}

/*
 * Finds a number of VLANs for which MAC tables are large enough: the largest one if
 * entries grow with VLANs, as they do in whole trees.
 */
static int merge_vlans(struct vlan_job *job, const struct pm_tree *tree)
{
	uint32_t low = 1, high = job->vlans.num; /* high: too many */
	int status = EXIT_FINE;

	while (low + 1 < high && !status) {
		uint32_t middle = low + (high - low) / 2;

		status = make_at_most(job, tree, middle);
		if (!status)
			assignment(job);
		if (has_room(job))
			low = middle;
		else
			high = middle;
	}
	if (!status)
		status = make_at_most(job, tree, low);
	if (!status)
		assignment(job);
	return status || has_room(job) ? status : refuse_macs(job);
}

static int make_vlans(struct vlan_job *job, const struct pm_tree *tree)
{
	uint32_t numbers = count_numbers(job->request);
	int status = make_at_most(job, tree, job->request->merge ? numbers : PM_VLAN_MAX);

	if (!status && job->vlans.needed > numbers && !job->request->merge)
		return cli_fail(EXIT_USAGE,
				"%" PRIu32 " VLANs are needed, and from %" PRIu32
				" on there are %" PRIu32 ": --merge makes do with fewer",
				job->vlans.needed, job->request->first, numbers);
	if (!status)
		status = vlan_hosts_read(job);
	return status;
}

static int plan_vlans(struct vlan_job *job, const struct pm_tree *tree)
{
	int status = make_vlans(job, tree);

	if (status)
		return status;
	assignment(job);
	if (has_room(job))
		return EXIT_FINE;
	return job->request->merge && job->vlans.num > 1 ? merge_vlans(job, tree)
							 : refuse_macs(job);
}

/* ---- Failures ---- */

static int find_cut(struct vlan_job *job, const struct pm_plan *plan,
		    const struct cli_failed *failed)
{
	struct pm_ports ports = {0};
	int status;

	if (!failed->num)
		return EXIT_FINE;
	job->cut = pm_xarray(job->fabric->num_ports, 1);
	status = cli_failures_add(job->fabric, plan, failed, &ports);
	for (uint32_t i = 0; i < ports.num && !status; i++) {
		uint32_t peer = job->fabric->ports[ports.list[i]].peer;

		if (peer != PM_NONE)
			job->cut[ports.list[i]] = job->cut[peer] = 1;
	}
	free(ports.list);
	return status;
}

/* Checks the table after the failure, and counts flows on cables. */
static int finish_vlans(struct vlan_job *job)
{
	struct pm_error err;

	if (job->cut)
		pm_vlans_fail(&job->vlans, job->cut, &job->table, &job->assignment);
	if (pm_vlans_check(&job->vlans, &err))
		return cli_refuse(&err);
	pm_vlans_shifts(&job->vlans, job->cut, &job->table, SAMPLES, &job->loads);
	return EXIT_FINE;
}

/* ---- Results ---- */

/* The fewest and the most hosts of a VLAN. */
static json_t *hosts_per_vlan(const struct vlan_job *job)
{
	uint32_t *num = pm_xarray(job->vlans.num, sizeof(*num));
	uint32_t least = UINT32_MAX, most = 0;

	for (uint32_t h = 0; h < job->vlans.num_hosts; h++)
		num[job->table.host[h].vlan]++;
	for (uint32_t i = 0; i < job->vlans.num; i++) {
		least = num[i] < least ? num[i] : least;
		most = num[i] > most ? num[i] : most;
	}
	free(num);
	return json_pack("{s:I, s:I}", "minimum", (json_int_t)least, "maximum",
			 (json_int_t)most);
}

/* Lines that differ from the former table, and how many had to; null without one. */
static json_t *changes_json(const struct vlan_job *job)
{
	json_int_t bound = (json_int_t)job->fresh + job->gone;

	if (!job->request->old && !job->cut)
		return json_null();
	if (job->cut)
		bound += job->assignment.bound;
	return json_pack("{s:I, s:I}", "lines",
			 job->request->old ? (json_int_t)job->changed + job->gone
					   : (json_int_t)job->assignment.moved,
			 "bound", bound);
}

static json_t *describe_vlans(const struct vlan_job *job)
{
	const struct pm_vlans *v = &job->vlans;
	json_int_t first = job->request->first;

	return cli_json_join(
		cli_json_new("plan", 2),
		pm_json_object((const struct pm_json_member[]){
			{"folder", pm_json_text(job->request->folder)},
			{"first", json_integer(first)},
			{"last", json_integer(first + v->num - 1)},
			{"vlans", json_integer(v->num)},
			{"needed", json_integer(v->needed)},
			{"cables", json_integer(v->cables)},
			{"unused_cables", json_integer(v->unused)},
			{"access", json_integer(first + v->access)},
			{"broadcast", json_integer(first + job->table.broadcast)},
			{"hosts", json_integer(v->num_hosts)},
			{"hosts_per_vlan", hosts_per_vlan(job)},
			{"macs",
			 json_pack(
				 "{s:I, s:o, s:o}", "entries",
				 (json_int_t)job->mac_entries, "switch",
				 pm_json_text(
					 pm_fabric_name(job->fabric, job->mac_switch)),
				 "guid",
				 pm_json_guid(job->fabric->nodes[job->mac_switch].guid))},
			{"flows",
			 json_pack("{s:I, s:I}", "vlans", (json_int_t)job->loads.most,
				   "tree", (json_int_t)job->loads.tree)},
			{"pairs", json_integer((json_int_t)job->assignment.pairs)},
			{"unreachable",
			 json_integer((json_int_t)job->assignment.unreachable)},
			{"unreachable_cabled",
			 json_integer((json_int_t)job->assignment.cabled)},
			{"without_broadcast",
			 json_integer(job->assignment.without_broadcast)},
			{"changes", changes_json(job)},
			{0},
		}));
}

static void print_vlans(const json_t *result)
{
	const json_t *changes = json_object_get(result, "changes");

	cli_text_print(
		result,
		"VLANs {first} to {last}: {vlans} of {needed} that would use each cable, "
		"broadcasts in {broadcast}, untagged hosts in {access}\n"
		"{hosts} hosts, {hosts_per_vlan.minimum} to {hosts_per_vlan.maximum} per "
		"VLAN; at most {macs.entries} MAC entries ({macs.switch})\n"
		"shift permutations: at most {flows.vlans|flow|flows} on a cable, "
		"{flows.tree} with one VLAN for all\n");
	if (cli_json_number(result, "unused_cables"))
		cli_text_print(result,
			       "bandwidth lost: {unused_cables} of {cables} cables "
			       "between switches are in no VLAN\n");
	if (cli_json_number(result, "unreachable"))
		cli_text_print(
			result,
			"no VLAN connects {unreachable} of {pairs} pairs of hosts\n");
	if (cli_json_number(result, "unreachable_cabled"))
		cli_text_print(
			result,
			"cables connect {unreachable_cabled} of these, but over no "
			"up-then-down path: mend what failed, or attach hosts to leaves\n");
	if (cli_json_number(result, "without_broadcast"))
		cli_text_print(
			result,
			"broadcasts do not reach {without_broadcast|host|hosts}\n");
	if (!json_is_null(changes))
		cli_text_print(
			changes,
			"{lines|line|lines} of the host table changed, bound {bound}\n");
}

static void end_vlans(struct vlan_job *job)
{
	pm_vlans_free(&job->vlans);
	pm_host_table_free(&job->old);
	free(job->table.host);
	free(job->mac);
	free(job->cut);
}

/*
 * Makes VLANs and tables, checks them, and writes files; *result: the results as a JSON
 * object. Returns an exit status. EXIT_FINDINGS: no VLAN connects some pair of hosts, or
 * a broadcast does not reach all; even then all is written, and *result is set.
 */
static int run_job(const struct request *request, const struct pm_plan *plan,
		   const struct pm_fabric *fabric, json_t **result)
{
	struct vlan_job job = {.request = &request->vlan, .fabric = fabric};
	int status = plan_vlans(&job, &plan->tree);

	if (!status)
		status = vlan_files_check(&job);
	if (!status)
		status = find_cut(&job, plan, &request->failed);
	if (!status)
		status = vlan_old_read(&job);
	if (!status)
		status = finish_vlans(&job);
	if (!status) {
		vlan_old_compare(&job);
		status = vlan_files_write(&job);
	}
	if (!status) {
		*result = describe_vlans(&job);
		if (job.assignment.unreachable || job.assignment.without_broadcast)
			status = EXIT_FINDINGS;
	}
	end_vlans(&job);
	return status;
}

static int report_vlans(const struct request *request, json_t *result)
{
	if (request->output.json)
		return cli_json_print(result);
	if (!request->output.quiet)
		print_vlans(result);
	json_decref(result);
	return EXIT_FINE;
}

static int plan_fabric(const struct request *request, const struct pm_fabric *fabric)
{
	struct pm_plan *plan = NULL;
	json_t *result = NULL;
	struct pm_error err;
	int status, printed = EXIT_FINE;

	if (pm_plan_make(fabric, &request->fabric.plan, &plan, &err))
		return cli_refuse(&err);
	if (!request->output.quiet)
		cli_failed_print(fabric, plan, &request->failed);
	status = run_job(request, plan, fabric, &result);
	if (result)
		printed = report_vlans(request, result);
	pm_plan_free(plan);
	return printed ? printed : status;
}

static const struct cli_option options[] = {
	{0, "first-vlan", "N", "The number of the first VLAN, 1 to 4094. Default 101.",
	 CLI_MEMBER(struct request, vlan.first), 1, PM_VLAN_MAX},
	{0, "mac-table", "N",
	 "The MAC entries that a switch can hold. A plan with more is an error, "
	 "unless --merge is given.",
	 CLI_MEMBER(struct request, vlan.mac_table), 1, UINT32_MAX},
	{0, "merge", NULL,
	 "If there would be too many VLANs for the numbers up to 4094 or for "
	 "--mac-table, make fewer, and print the lost bandwidth.",
	 CLI_MEMBER(struct request, vlan.merge)},
	{0, "macs", "FILE", "The MAC addresses of hosts: lines of NAME MAC.",
	 CLI_MEMBER(struct request, vlan.macs)},
	{0, "port-names", "PATTERN",
	 "Switches' names of ports, such as eth1/{port} or {switch}-{port}. "
	 "Default swp{port}.",
	 CLI_MEMBER(struct request, vlan.ports)},
	{0, "untagged", "NAME",
	 "A host that sends without tags, such as a gateway; NAME[PORT] if "
	 "several of its ports have cables. May be given several times.",
	 .take = cli_take_failed, .to = offsetof(struct request, vlan.untagged)},
	CLI_FAIL(struct request, failed,
		 "Write the host table without this part, named as for "
		 "portmajor-whatif(1). May be given several times."),
	{0, "diff", "OLD",
	 "Also write hosts.diff: the differences from OLD, an earlier host "
	 "table. With --fail, OLD is the table in force, and few of its lines "
	 "change.",
	 CLI_MEMBER(struct request, vlan.old)},
	CLI_OUTPUT(struct request, output, "Print nothing, write files only.",
		   "Print one JSON object (docs/json.md)."),
	CLI_INCLUDE(struct request, fabric, cli_node_options),
	{0},
};

static const struct cli_command command = {
	.synopsis = "plan [OPTION]... NETLIST DIR",
	.about = "Plan a VLAN for each path of an Ethernet fat tree, and write the "
		 "hosts' table and the switches' VLANs into DIR, which is created if "
		 "necessary. NETLIST is an ibsim, ibnetdiscover or opensm-subnet.lst "
		 "file (- is standard input).",
	.options = options,
	.min_operands = 2,
	.max_operands = 2,
};

int cmd_plan(int argc, char **argv)
{
	struct request request = {
		.vlan.first = FIRST,
		.vlan.untagged.list = pm_xarray((size_t)argc, sizeof(char *)),
		.failed.list = pm_xarray((size_t)argc, sizeof(char *)),
	};
	struct pm_fabric *fabric = NULL;
	int status;

	status = cli_command_read(&command, argc, argv, &request);
	if (status < 0) {
		request.vlan.folder = argv[optind + 1];
		status = cli_fabric_read(argv[optind], &request.fabric, &fabric);
		if (!status)
			status = plan_fabric(&request, fabric);
	}
	pm_fabric_free(fabric);
	free(request.vlan.untagged.list);
	free(request.failed.list);
	return status;
}
