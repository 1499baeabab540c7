/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * portmajor-lab traffic --engine share: finds the bisection bandwidth by fair shares, of
 * a fabric as VLANs, and beside it of a flat switch, a spanning tree and the plan's
 * tables. With --sets: what all hosts exchange with the tables of recordings
 * (share_repaired.c).
 */
#include "lists.h"
#include "no_path_finding.h"
#include "planned_tables.h"
#include "share_repaired.h"
#include "text.h"
#include "progress_steps.h"
#include "traffic.h"
#include "write.h"

#include <portmajor/base/pool.h>
#include <portmajor/lab/packet_paths.h>
#include <portmajor/lab/rates.h>
#include <portmajor/memory/xalloc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_GIVEN UINT32_MAX

struct request {
	struct cli_fabric fabric;
	struct cli_failed failed;
	struct cli_list vlans; /* none: as many as needed */
	const char *sets;
	struct cli_failed compare;
	uint32_t shifts, permutations, seed; /* NOT_GIVEN, except seed */
	struct cli_output output;
};

struct scene {
	const struct request *request;
	struct pm_fabric *fabric, *broken;
	struct cli_tables tables; /* the broken fabric's, by the whole one's plan */
	struct pm_pool pool;	  /* of the following arrays */
	uint8_t *cut;		  /* [port] */
	double *room;
	struct pm_packet_host *hosts; /* remaining hosts */
	uint32_t num_hosts;
	uint32_t *index;	   /* [host] its index among the VLANs' hosts */
	uint32_t needed;	   /* VLANs */
	double full;		   /* capacity of the senders' links */
	struct pm_no_path no_path; /* by the tables */
	struct lab_steps steps;
};

/* ---- Describing and text ---- */

static json_t *rates_json(const struct pm_bisection_rates *rates, double full)
{
	return json_pack("{s:f, s:f, s:f, s:I}", "mean", rates->mean / full, "minimum",
			 rates->least / full, "maximum", rates->most / full, "worst",
			 (json_int_t)rates->worst);
}

static json_t *network_json(const struct scene *scene, const char *kind, uint32_t vlans,
			    const struct pm_bisection *found)
{
	double full = scene->full;

	return json_pack("{s:s, s:o, s:f, s:o, s:o, s:f, s:I}", "kind", kind, "vlans",
			 vlans ? json_integer(vlans) : json_null(), "straight",
			 found->straight / full, "shifts",
			 rates_json(&found->shifts, full), "permutations",
			 rates_json(&found->drawn, full), "slowest",
			 found->slowest * found->half / full, "unreachable",
			 (json_int_t)found->unreachable);
}

/* After a failure, pairs without a path are a result, and no finding. */
static json_t *no_path_json(const struct scene *scene)
{
	const struct pm_no_path none = {0};
	const struct pm_fabric *fabric = scene->fabric;
	const struct pm_packet_host *hosts = scene->hosts;
	const struct pm_no_path *found =
		scene->request->failed.num ? &none : &scene->no_path;

	return lab_no_path_json(
		found, scene->num_hosts,
		pm_fabric_label(fabric, fabric->ports[hosts[found->from].port].node),
		pm_fabric_label(fabric, fabric->ports[hosts[found->to].port].node));
}

static json_t *describe_shares(const struct scene *scene, json_t *networks)
{
	const struct request *request = scene->request;

	return cli_json_join(cli_json_new("traffic", 2),
			     json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o}",
				       "engine", "share", "failed",
				       cli_failed_json(&request->failed), "hosts",
				       (json_int_t)scene->num_hosts, "flows",
				       (json_int_t)(scene->num_hosts / 2), "permutations",
				       (json_int_t)request->permutations, "seed",
				       (json_int_t)request->seed, "vlans_needed",
				       (json_int_t)scene->needed, "networks", networks,
				       "no_path", no_path_json(scene)));
}

static double share_of(const json_t *network, const char *rates, const char *member)
{
	const json_t *object = rates ? json_object_get(network, rates) : network;

	return json_number_value(json_object_get(object, member));
}

static void print_network(const json_t *network)
{
	const char *kind = json_string_value(json_object_get(network, "kind"));
	json_int_t vlans = cli_json_number(network, "vlans");
	char name[32];

	if (!strcmp(kind, "vlan"))
		snprintf(name, sizeof(name), "%lld VLAN%s", (long long)vlans,
			 vlans == 1 ? "" : "s");
	else
		snprintf(name, sizeof(name), "%s",
			 !strcmp(kind, "flat")	 ? "flat switch"
			 : !strcmp(kind, "tree") ? "spanning tree"
						 : "tables of the plan");
	printf("%-20s %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f\n", name,
	       share_of(network, NULL, "straight"), share_of(network, "shifts", "mean"),
	       share_of(network, "shifts", "minimum"),
	       share_of(network, "permutations", "mean"),
	       share_of(network, "permutations", "minimum"),
	       share_of(network, NULL, "slowest"));
}

static void print_unreachable(const json_t *object, const json_t *network)
{
	json_int_t tried = cli_json_number(object, "flows") *
			   (cli_json_number(object, "flows") +
			    cli_json_number(object, "permutations"));

	if (!cli_json_number(network, "unreachable"))
		return;
	cli_text_print(network, "{kind}: {unreachable}");
	printf(" of %lld flows have no path\n", (long long)tried);
}

static void print_shares(const json_t *object)
{
	const json_t *list = json_object_get(object, "networks"), *network;
	size_t i;

	cli_text_print(object,
		       "{hosts} hosts: {flows|of them sends|of them send} to "
		       "{flows|other|others}, each to one, as shares of what their links "
		       "carry;\n{flows|shift|shifts}, and "
		       "{permutations|permutation|permutations} drawn by seed {seed}; a "
		       "fabric for {vlans_needed|VLAN|VLANs}\n");
	printf("%-20s %8s %17s %17s %8s\n", "", "", "shifts", "permutations", "slowest");
	printf("%-20s %8s %8s %8s %8s %8s %8s\n", "", "straight", "mean", "worst", "mean",
	       "worst", "flow");
	json_array_foreach(list, i, network)
		print_network(network);
	json_array_foreach(list, i, network)
		print_unreachable(object, network);
	lab_no_path_print(object);
}

/* ---- Networks ---- */

static void bisect(struct scene *scene, pm_packet_path *path,
		   const struct pm_packet_paths *paths, const char *kind,
		   json_t **networks)
{
	const struct pm_bisection_config config = {
		.path = path,
		.network = paths,
		.num_hosts = scene->num_hosts,
		.num_ports = scene->broken->num_ports,
		.room = scene->room,
		.drawn = scene->request->permutations,
		.seed = scene->request->seed,
		.tried = lab_steps_next,
		.about = &scene->steps,
	};
	struct pm_bisection found;

	pm_bisection_find(&config, &found);
	*networks = pm_json_append(
		*networks,
		network_json(scene, kind, !strcmp(kind, "vlan") ? paths->vlans->num : 0,
			     &found));
}

/* Assigns hosts to VLANs; after a failure, as the plan does then. */
static void assignment(const struct scene *scene, const struct pm_vlans *vlans,
		       struct pm_vlan_table *table)
{
	struct pm_vlan_assignment assigned;

	table->host = pm_xarray(vlans->num_hosts, sizeof(*table->host));
	pm_vlans_assign(vlans, NULL, table, &assigned);
	if (scene->request->failed.num)
		pm_vlans_fail(vlans, scene->cut, table, &assigned);
}

/* Makes at most so many VLANs; with `tree`, one of them for all hosts. */
static int bisect_vlans(struct scene *scene, uint32_t limit, bool tree, json_t **networks)
{
	struct pm_vlan_table table = {0};
	struct pm_vlans vlans = {0};
	const struct pm_packet_paths paths = {
		.fabric = scene->broken,
		.hosts = scene->hosts,
		.vlans = &vlans,
		.table = &table,
		.index = scene->index,
		.broadcast = tree,
	};
	struct pm_error err;

	if (pm_vlans_make(scene->fabric, &scene->tables.plan->tree, limit, &vlans, &err))
		return cli_refuse(&err);
	assignment(scene, &vlans, &table);
	scene->needed = vlans.needed;
	bisect(scene, pm_packet_path_by_vlan, &paths, tree ? "tree" : "vlan", networks);
	free(table.host);
	pm_vlans_free(&vlans);
	return EXIT_FINE;
}

static void bisect_flat(struct scene *scene, json_t **networks)
{
	const struct pm_packet_paths paths = {.fabric = scene->broken,
					      .hosts = scene->hosts};

	bisect(scene, pm_packet_path_flat, &paths, "flat", networks);
}

static void bisect_tables(struct scene *scene, json_t **networks)
{
	const struct pm_fabric *fabric = scene->broken;
	uint32_t length = pm_routes_stride(scene->tables.routes);
	uint8_t *lfts = pm_xarray(fabric->num_switches, length);
	const struct pm_packet_paths paths = {
		.fabric = fabric, .hosts = scene->hosts, .lfts = lfts, .length = length};

	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		memcpy(lfts + (size_t)sw * length,
		       pm_routes_table(scene->tables.routes, sw), length);
	bisect(scene, pm_packet_path_by_lfts, &paths, "tables", networks);
	pm_packet_no_path(&paths, scene->num_hosts, &scene->no_path);
	free(lfts);
}

static int bisect_all(struct scene *scene, json_t **networks)
{
	const struct cli_list *vlans = &scene->request->vlans;
	uint64_t pairings = scene->num_hosts / 2 + scene->request->permutations;
	int status;

	/* a flat switch, a spanning tree, VLANs' and InfiniBand's */
	lab_steps_begin(&scene->steps, (3 + (vlans->num ? vlans->num : 1)) * pairings,
			scene->request->output.quiet);
	bisect_flat(scene, networks);
	status = bisect_vlans(scene, PM_VLAN_MAX, true, networks);
	for (uint32_t i = 0; i < vlans->num && !status; i++)
		status = bisect_vlans(scene, vlans->values[i], false, networks);
	if (!vlans->num && !status)
		status = bisect_vlans(scene, PM_VLAN_MAX, false, networks);
	if (!status)
		bisect_tables(scene, networks);
	lab_steps_end(&scene->steps);
	return status;
}

/* Lists the remaining hosts, in the order of the VLANs' hosts: by switch and port. */
static void list_hosts(struct scene *scene)
{
	const struct pm_fabric *fabric = scene->fabric;
	const struct pm_plan *plan = scene->tables.plan;
	uint32_t all = 0;

	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		pm_for_each_port(i, fabric, sw) {
			uint32_t peer = fabric->ports[i].peer;

			if (peer == PM_NONE || plan->tree.level[sw] == PM_NO_LEVEL ||
			    fabric->ports[peer].node < fabric->num_switches)
				continue;
			scene->index[scene->num_hosts] = all++;
			scene->hosts[scene->num_hosts] =
				(struct pm_packet_host){peer, plan->lid[i]};
			scene->num_hosts += !scene->cut[i];
		}
	for (uint32_t h = 0; h < scene->num_hosts / 2; h++)
		scene->full += scene->room[scene->hosts[h].port];
}

/* Cuts failed links, and sets the rates of the others. */
static int find_room(struct scene *scene)
{
	const struct pm_fabric *fabric = scene->fabric;
	uint32_t ports = fabric->num_ports;
	uint16_t *ticks = pm_pool_xarray(&scene->pool, ports, sizeof(*ticks));
	struct pm_rates rates;
	struct pm_error err;

	scene->cut = pm_pool_xarray(&scene->pool, ports, 1);
	scene->room = pm_pool_xarray(&scene->pool, ports, sizeof(*scene->room));
	scene->hosts = pm_pool_xarray(&scene->pool, ports, sizeof(*scene->hosts));
	scene->index = pm_pool_xarray(&scene->pool, ports, sizeof(*scene->index));
	if (pm_rates_find(fabric, ticks, &rates, &err))
		return cli_refuse(&err);
	for (uint32_t i = 0; i < ports; i++) {
		scene->cut[i] = fabric->ports[i].peer != scene->broken->ports[i].peer;
		scene->room[i] = 1. / ticks[i];
	}
	return EXIT_FINE;
}

static int read_scene(struct scene *scene, const char *path)
{
	const struct request *request = scene->request;
	struct pm_error err;
	int status = cli_fabric_read(path, &request->fabric, &scene->fabric);

	if (!status &&
	    pm_plan_make(scene->fabric, &request->fabric.plan, &scene->tables.plan, &err))
		status = cli_refuse(&err);
	if (!status && !request->output.quiet)
		cli_failed_print(scene->fabric, scene->tables.plan, &request->failed);
	if (!status)
		status = cli_failures_cut(scene->fabric, scene->tables.plan,
					  &request->failed, &scene->broken);
	if (!status)
		status = cli_tables_route(&scene->tables, &request->fabric, scene->broken,
					  PM_NONE);
	if (!status)
		status = find_room(scene);
	if (status)
		return status;
	list_hosts(scene);
	return scene->num_hosts < 2 ? cli_fail(EXIT_INPUT, "there are less than 2 hosts")
				    : EXIT_FINE;
}

static int write_shares(json_t *object, const struct cli_output *output)
{
	return lab_write(object, output, print_shares, lab_no_path_status(object));
}

static int run_shares(const char *path, const struct request *request)
{
	struct scene scene = {.request = request};
	json_t *networks = json_array();
	int status = read_scene(&scene, path);

	if (!status)
		status = bisect_all(&scene, &networks);
	if (status)
		json_decref(networks);
	else
		status =
			write_shares(describe_shares(&scene, networks), &request->output);
	pm_pool_free(&scene.pool);
	cli_tables_free(&scene.tables);
	pm_fabric_free(scene.broken);
	pm_fabric_free(scene.fabric);
	return status;
}

/* ---- Options ---- */

static const struct cli_option options[] = {
	TRAFFIC_ENGINE_ROW(TRAFFIC_SHARE),
	{0, "vlans", "LIST",
	 "Limits of the number of VLANs, a list of numbers and ranges FROM..TO: "
	 "a line for each. Default: as many as put each cable between switches "
	 "in a VLAN.",
	 .take = cli_take_list, .to = offsetof(struct request, vlans), .low = 1,
	 .high = PM_VLAN_MAX},
	{0, "sets", "FILE",
	 "A recording of LFT Sets, as scripts/record-sets makes them: all hosts "
	 "send, with the tables before the failure and after the last Set.",
	 CLI_MEMBER(struct request, sets)},
	{0, "compare", "FILE",
	 "With --sets: another recording, of the same failure. May be given "
	 "several times.",
	 .take = cli_take_failed, .to = offsetof(struct request, compare)},
	{0, "shifts", "N", "With --sets: N shifts, evenly spread. Default 16.",
	 CLI_MEMBER(struct request, shifts), .low = 1, .high = 1000000},
	{0, "permutations", "N",
	 "Draw N permutations, 1 to 1,000,000, in addition to all shifts. "
	 "Default 200; 16 with --sets.",
	 CLI_MEMBER(struct request, permutations), .low = 1, .high = 1000000},
	{0, "seed", "N", "Seed of the permutations. Default 1.",
	 CLI_MEMBER(struct request, seed), .high = UINT32_MAX},
	CLI_FAIL(struct request, failed,
		 "The failed part, named as for portmajor-whatif(1): host table and LFTs "
		 "are those after the failure. May be given several times."),
	CLI_OUTPUT(struct request, output, "Print no text and no progress bar.",
		   "Print one JSON object (docs/json.md)."),
	CLI_INCLUDE(struct request, fabric, cli_fabric_options),
	{0},
};

const struct cli_command traffic_share_command = {
	.synopsis = "traffic --engine share [OPTION]... NETLIST\n"
		    "traffic --engine share --sets FILE [OPTION]... NETLIST",
	.about = "Print bisection bandwidth by fair shares of cables, of a flat switch, "
		 "spanning tree, planes as VLANs, and InfiniBand with the plan's tables. "
		 "With --sets, print the throughput of all hosts before a failure and "
		 "after its repair by routing engines. NETLIST is an ibsim, "
		 "ibnetdiscover or opensm-subnet.lst file (- is standard input). Exit "
		 "status 1 if the tables have no path for a pair of hosts although "
		 "nothing failed.",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
};

static int run_repaired(const char *path, const struct request *request)
{
	const struct share_repaired repaired = {
		.fabric = &request->fabric,
		.sets = request->sets,
		.compare = &request->compare,
		.shifts = request->shifts == NOT_GIVEN ? 16 : request->shifts,
		.permutations =
			request->permutations == NOT_GIVEN ? 16 : request->permutations,
		.seed = request->seed,
		.output = &request->output,
	};

	if (request->failed.num || request->vlans.num)
		return cli_fail(EXIT_USAGE,
				"%s: with --sets the tables and what fails are the "
				"recordings'",
				request->failed.num ? "--fail" : "--vlans");
	return share_repaired_run(path, &repaired);
}

static int run_bisection(const char *path, struct request *request)
{
	if (request->compare.num || request->shifts != NOT_GIVEN)
		return cli_fail(EXIT_USAGE, "%s: for --sets",
				request->compare.num ? "--compare" : "--shifts");
	if (request->permutations == NOT_GIVEN)
		request->permutations = 200;
	return run_shares(path, request);
}

int traffic_share(int argc, char **argv)
{
	struct request request = {
		.failed.list = pm_xarray((size_t)argc, sizeof(char *)),
		.compare.list = pm_xarray((size_t)argc, sizeof(char *)),
		.shifts = NOT_GIVEN,
		.permutations = NOT_GIVEN,
		.seed = 1,
	};
	int status = cli_command_read(&traffic_share_command, argc, argv, &request);

	if (status < 0)
		status = request.sets ? run_repaired(argv[optind], &request)
				      : run_bisection(argv[optind], &request);
	free(request.failed.list);
	free(request.compare.list);
	return status;
}
