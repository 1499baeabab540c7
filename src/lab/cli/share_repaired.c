/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The throughput of all hosts by fair shares, with the tables in recordings of routing
 * engines: before a failure, and after the last LFT Set.
 */
#include "share_repaired.h"
#include "progress_steps.h"
#include "text.h"
#include "trace_check.h"
#include "write.h"

#include <portmajor/base/pool.h>
#include <portmajor/base/textfile.h>
#include <portmajor/lab/lft_trace.h>
#include <portmajor/lab/packet_paths.h>
#include <portmajor/lab/rates.h>
#include <portmajor/memory/xalloc.h>

#include <stdio.h>
#include <string.h>

struct scene {
	const struct share_repaired *request;
	struct pm_fabric *fabric;
	struct pm_pool pool; /* of the following arrays */
	uint8_t *failed; /* [port] by the first recording; NULL: not read yet; freed alone
			  */
	double *room;	 /* [port] */
	struct pm_packet_host *hosts;
	uint32_t *port, *leaf; /* [host] */
	uint32_t num_hosts;
	struct lab_steps steps;
};

/* ---- Describing ---- */

static json_t *rates_json(const struct pm_bisection_rates *rates, double full)
{
	return json_pack("{s:f, s:f, s:f}", "mean", rates->mean / full, "minimum",
			 rates->least / full, "maximum", rates->most / full);
}

static json_t *throughput_json(const struct scene *scene,
			       const struct pm_throughput *found)
{
	double full = 0;

	for (uint32_t i = 0; i < scene->num_hosts; i++)
		full += scene->room[scene->port[i]];
	return json_pack("{s:I, s:o, s:o, s:f, s:I}", "hosts",
			 (json_int_t)scene->num_hosts, "shifts",
			 rates_json(&found->shifts, full), "permutations",
			 rates_json(&found->drawn, full), "all_to_all",
			 found->pace * scene->num_hosts / full, "unreachable",
			 (json_int_t)found->unreachable);
}

static json_t *describe_repairs(const struct share_repaired *request, json_t *recordings)
{
	return cli_json_join(cli_json_new("traffic", 2),
			     json_pack("{s:s, s:I, s:I, s:I, s:o}", "engine", "share",
				       "shifts", (json_int_t)request->shifts,
				       "permutations", (json_int_t)request->permutations,
				       "seed", (json_int_t)request->seed, "recordings",
				       recordings));
}

static void print_state(const json_t *recording, const char *state, const char *about)
{
	const char *name = json_string_value(json_object_get(recording, "name"));
	int width = 27 - (int)strlen(name);

	cli_text_put(name);
	printf("%-*s", width > 0 ? width : 0, about);
	cli_text_print(json_object_get(recording, state),
		       " {6hosts} {7%%%shifts.mean} {7%%%shifts.minimum} "
		       "{7%%%permutations.mean} {7%%%permutations.minimum} "
		       "{10%%%all_to_all}\n");
}

static void print_repairs(const json_t *object)
{
	const json_t *list = json_object_get(object, "recordings"), *recording;
	size_t i;

	cli_text_print(
		object,
		"All hosts send, as shares of what their links carry: in "
		"{shifts|shift|shifts}, in {permutations|permutation|permutations} "
		"drawn by seed {seed}, and all to all\n");
	printf("%-27s %6s %15s %15s\n", "", "", "shifts", "permutations");
	printf("%-27s %6s %7s %7s %7s %7s %10s\n", "", "hosts", "mean", "worst", "mean",
	       "worst", "all to all");
	json_array_foreach(list, i, recording) {
		print_state(recording, "before", ", before");
		print_state(recording, "after", ", repaired");
	}
	json_array_foreach(list, i, recording)
		if (cli_json_number(json_object_get(recording, "after"), "unreachable"))
			cli_text_print(
				recording,
				"{name}: {after.unreachable} flows have no path\n");
}

/* ---- One recording ---- */

/* Lists the hosts with a LID and a link to a switch, by switch and port. */
static void list_senders(struct scene *scene, const struct pm_fabric *fabric,
			 const uint16_t *lid)
{
	scene->num_hosts = 0;
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		pm_for_each_port(i, fabric, sw) {
			uint32_t peer = fabric->ports[i].peer, h = scene->num_hosts;

			if (peer == PM_NONE || !lid[peer] ||
			    fabric->ports[peer].node < fabric->num_switches)
				continue;
			scene->hosts[h] = (struct pm_packet_host){peer, lid[peer]};
			scene->port[h] = peer;
			scene->leaf[h] = sw;
			scene->num_hosts++;
		}
}

static int find_throughput(struct scene *scene, const struct pm_fabric *fabric,
			   const struct pm_lft_trace *trace, json_t **found)
{
	const struct share_repaired *request = scene->request;
	const struct pm_packet_paths paths = {.fabric = fabric,
					      .hosts = scene->hosts,
					      .lfts = trace->tables,
					      .length = trace->length};
	struct pm_throughput_config config = {
		.of = {.path = pm_packet_path_by_lfts,
		       .network = &paths,
		       .num_ports = fabric->num_ports,
		       .room = scene->room,
		       .drawn = request->permutations,
		       .seed = request->seed,
		       .tried = lab_steps_next,
		       .about = &scene->steps},
		.shifts = request->shifts,
		.port = scene->port,
		.leaf = scene->leaf,
	};
	struct pm_throughput throughput;

	list_senders(scene, fabric, trace->lid);
	if (scene->num_hosts < 2)
		return cli_fail(EXIT_INPUT, "there are less than 2 hosts with LIDs");
	config.of.num_hosts = scene->num_hosts;
	pm_throughput_find(&config, &throughput);
	*found = throughput_json(scene, &throughput);
	return EXIT_FINE;
}

static void reset_tables(struct pm_lft_trace *trace)
{
	for (uint32_t i = 0; i < trace->num_reset; i++)
		memset(trace->tables + (size_t)trace->reset[i] * trace->length,
		       PM_LFT_KEEP, trace->length);
}

/* Empties tables at the failure, and writes all Sets that arrive. */
static void write_sets(struct pm_lft_trace *trace)
{
	bool is_reset = false;
	struct pm_lft_trace_arrival *list = pm_xarray(trace->num, sizeof(*list));
	uint32_t num = pm_lft_trace_arrivals(trace, list);

	for (uint32_t i = 0; i < num; i++) {
		const struct pm_lft_trace_set *set = &trace->set[list[i].set];

		if (!is_reset && list[i].ns >= trace->failed_at) {
			reset_tables(trace);
			is_reset = true;
		}
		memcpy(trace->tables + (size_t)set->sw * trace->length +
			       (size_t)set->block * PM_LFT_BLOCK,
		       trace->entries + (size_t)list[i].set * PM_LFT_BLOCK, PM_LFT_BLOCK);
	}
	if (!is_reset)
		reset_tables(trace);
	free(list);
}

/* Cuts the links that failed and do not return. */
static void cut_links(const struct pm_lft_trace *trace, struct pm_fabric *fabric,
		      struct pm_pool *pool)
{
	uint8_t *returns = pm_pool_xarray(pool, fabric->num_ports, 1);

	for (uint32_t i = 0; i < trace->num_active; i++) {
		returns[trace->active[i].port] = 1;
		returns[fabric->ports[trace->active[i].port].peer] = 1;
	}
	for (uint32_t i = 0; i < trace->num_failed; i++)
		if (fabric->ports[trace->failed[i]].peer != PM_NONE &&
		    !returns[trace->failed[i]])
			pm_fabric_cut(fabric, trace->failed[i]);
}

static int judge_repair(struct scene *scene, struct pm_lft_trace *trace,
			json_t *recording)
{
	struct pm_fabric *broken = pm_fabric_clone(scene->fabric);
	json_t *before = NULL, *after = NULL;
	int status;

	if (!broken)
		pm_no_memory();
	status = find_throughput(scene, scene->fabric, trace, &before);
	write_sets(trace);
	cut_links(trace, broken, &scene->pool);
	if (!status)
		status = find_throughput(scene, broken, trace, &after);
	if (status)
		json_decref(before);
	else
		cli_json_join(recording,
			      json_pack("{s:I, s:o, s:o}", "sets", (json_int_t)trace->num,
					"before", before, "after", after));
	pm_fabric_free(broken);
	return status;
}

/* Marks both ends of failed links; all recordings must have those of the first one. */
static int check_failed(struct scene *scene, const struct pm_lft_trace *trace,
			const char *path)
{
	uint8_t *failed = lab_trace_ends(scene->fabric, trace->failed, trace->num_failed);
	bool same = !scene->failed ||
		    !memcmp(scene->failed, failed, scene->fabric->num_ports);

	free(scene->failed);
	scene->failed = failed;
	return same ? EXIT_FINE
		    : cli_fail(EXIT_INPUT, "%s: not the failure of %s",
			       pm_textfile_name(path),
			       pm_textfile_name(scene->request->sets));
}

static int add_repair(struct scene *scene, const char *path, json_t **list)
{
	struct pm_lft_trace *trace = NULL;
	struct pm_error err;
	json_t *recording;
	int status;

	if (pm_lft_trace_read(path, scene->fabric, &trace, &err))
		return cli_refuse(&err);
	recording = json_pack(
		"{s:o, s:o}", "name",
		pm_json_text(trace->engine[0] ? trace->engine : pm_textfile_name(path)),
		"file", pm_json_text(path));
	status = check_failed(scene, trace, path);
	if (!status)
		status = judge_repair(scene, trace, recording);
	*list = pm_json_append(*list, recording);
	pm_lft_trace_free(trace);
	return status;
}

static int begin_scene(struct scene *scene, const char *path)
{
	int status = cli_fabric_read(path, scene->request->fabric, &scene->fabric);
	uint32_t ports = status ? 0 : scene->fabric->num_ports;
	uint16_t *ticks = pm_pool_xarray(&scene->pool, ports, sizeof(*ticks));
	struct pm_rates rates;
	struct pm_error err;

	if (status)
		return status;
	scene->room = pm_pool_xarray(&scene->pool, ports, sizeof(*scene->room));
	scene->hosts = pm_pool_xarray(&scene->pool, ports, sizeof(*scene->hosts));
	scene->port = pm_pool_xarray(&scene->pool, ports, sizeof(*scene->port));
	scene->leaf = pm_pool_xarray(&scene->pool, ports, sizeof(*scene->leaf));
	if (pm_rates_find(scene->fabric, ticks, &rates, &err))
		return cli_refuse(&err);
	for (uint32_t i = 0; i < ports; i++)
		scene->room[i] = 1. / ticks[i];
	return EXIT_FINE;
}

int share_repaired_run(const char *path, const struct share_repaired *request)
{
	struct scene scene = {.request = request};
	json_t *list = json_array();
	int status = begin_scene(&scene, path);

	/* before and after, for each recording */
	lab_steps_begin(&scene.steps,
			2 * (1 + (uint64_t)request->compare->num) *
				(request->shifts + request->permutations),
			request->output->quiet);
	if (!status)
		status = add_repair(&scene, request->sets, &list);
	for (uint32_t i = 0; i < request->compare->num && !status; i++)
		status = add_repair(&scene, request->compare->list[i], &list);
	lab_steps_end(&scene.steps);
	if (status)
		json_decref(list);
	else
		status = lab_write(describe_repairs(request, list), request->output,
				   print_repairs, EXIT_FINE);
	pm_pool_free(&scene.pool);
	free(scene.failed);
	pm_fabric_free(scene.fabric);
	return status;
}
