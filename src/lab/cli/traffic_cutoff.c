/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * portmajor-lab traffic --engine cutoff: pairs of hosts cut off from a failure to the
 * last LFT Set, by LFT traces.
 */
#include "failure_options.h"
#include "outfile.h"
#include "planned_tables.h"
#include "text.h"
#include "trace_check.h"
#include "traffic.h"
#include "traffic_mixture.h"
#include "write.h"

#include <portmajor/base/textfile.h>
#include <portmajor/lab/outage.h>
#include <portmajor/memory/xalloc.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
	struct cli_fabric fabric;
	const char *sm, *sets, *write;
	struct cli_failed failed;
	struct cli_failed compare; /* files */
	uint32_t mad_us, wire_smps;
	struct cli_output output;
};

struct scene {
	struct pm_fabric *fabric;
	struct pm_plan *plan;
	struct pm_ports ports; /* of --fail: links at these ports fail */
	uint64_t hosts;	       /* of the first recording */
	const char *first;     /* the first recording's file, or NULL */
};

/* ---- Describing ---- */

static json_t *ms_json(uint64_t ns)
{
	return json_real((double)ns / 1e6);
}

static json_t *paths_json(uint64_t dead, uint64_t paths)
{
	return json_pack("{s:I, s:f}", "paths", (json_int_t)dead, "share",
			 paths ? (double)dead / (double)paths : 0.0);
}

static json_t *curve_json(const struct pm_outage *outage)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < outage->num_points; i++)
		list = pm_json_append(list,
				      json_pack("[I, I]", (json_int_t)outage->curve[i].ns,
						(json_int_t)outage->curve[i].dead));
	return list;
}

/* Pair-seconds: with an LMC above 0, a pair has several paths. */
static double pair_seconds(const struct pm_outage *outage, double path_seconds)
{
	return outage->paths
		       ? path_seconds * (double)outage->pairs / (double)outage->paths
		       : 0;
}

static json_t *loops_json(const struct pm_outage *outage)
{
	return json_pack("{s:I, s:I, s:I, s:f}", "at_once",
			 (json_int_t)outage->loops_at_once, "most",
			 (json_int_t)outage->loops_most, "end",
			 (json_int_t)outage->loops_end, "pair_seconds",
			 pair_seconds(outage, outage->loop_seconds));
}

static json_t *cut_json(const struct pm_outage *outage)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "loops", loops_json(outage), "before",
			 paths_json(outage->before, outage->all_before), "at_once",
			 paths_json(outage->at_once, outage->paths), "end",
			 paths_json(outage->end, outage->paths));
}

static json_t *recording_json(const char *path, const struct pm_lft_trace *trace,
			      const struct pm_outage *outage)
{
	const char *name = trace->engine[0] ? trace->engine : pm_textfile_name(path);

	return pm_json_object((const struct pm_json_member[]){
		{"name", pm_json_text(name)},
		{"file", path ? pm_json_text(path) : json_null()},
		{"times", pm_json_text(trace->times)},
		{"hosts", json_integer((json_int_t)outage->hosts)},
		{"pairs", json_integer((json_int_t)outage->pairs)},
		{"paths", json_integer((json_int_t)outage->paths)},
		{"sets", json_integer(trace->num)},
		{"differ", json_integer(outage->differ)},
		{"unacknowledged", json_integer(outage->unacknowledged)},
		{"first_ms", ms_json(outage->first)},
		{"last_ms", ms_json(outage->last)},
		{"cut", cut_json(outage)},
		{"pair_seconds", json_real(pair_seconds(outage, outage->path_seconds))},
		{"back_ms", json_pack("{s:o, s:o, s:o}", "half",
				      ms_json(outage->back[PM_OUTAGE_HALF]), "most",
				      ms_json(outage->back[PM_OUTAGE_MOST]), "all",
				      ms_json(outage->back[PM_OUTAGE_ALL]))},
		{"curve", curve_json(outage)},
		{0},
	});
}

static json_t *describe_cutoffs(const struct request *request, json_t *recordings)
{
	return cli_json_join(
		cli_json_new("traffic", 2),
		json_pack("{s:s, s:o, s:o, s:I, s:I, s:o}", "engine", "cutoff", "failed",
			  cli_failed_json(&request->failed), "sm",
			  request->sm ? pm_json_text(request->sm) : json_null(), "mad_us",
			  (json_int_t)request->mad_us, "max_wire_smps",
			  (json_int_t)request->wire_smps, "recordings", recordings));
}

/* ---- Text ---- */

static void print_recording(const json_t *recording)
{
	const char *name = json_string_value(json_object_get(recording, "name"));
	const json_t *once =
		json_object_get(json_object_get(recording, "cut"), "at_once");
	double share = json_number_value(json_object_get(once, "share"));

	cli_text_put(name);
	printf("%*s", (int)(strlen(name) < 24 ? 24 - strlen(name) : 0), "");
	cli_text_print(recording,
		       " {8sets} {9%first_ms} {9%last_ms} {11cut.at_once.paths}");
	printf(" %7.3f", share * 100);
	cli_text_print(recording, " {9cut.end.paths} {13%%pair_seconds} {9%back_ms.half} "
				  "{9%back_ms.most} {9%back_ms.all}\n");
}

static void print_times(const json_t *first, const json_t *recording)
{
	const json_t *times = json_object_get(recording, "times");

	if (json_string_length(times) &&
	    (first == recording || !json_equal(times, json_object_get(first, "times"))))
		cli_text_print(recording, "{name}: {times}\n");
}

static void print_notes(const json_t *recording)
{
	if (cli_json_number(recording, "unacknowledged"))
		cli_text_print(recording,
			       "{name}: {unacknowledged} Sets were not acknowledged\n");
	if (cli_json_number(json_object_get(json_object_get(recording, "cut"), "before"),
			    "paths"))
		cli_text_print(
			recording,
			"{name}: {cut.before.paths} paths were dead before the failure\n");
}

static void print_loops(const json_t *recording)
{
	const json_t *loops = json_object_get(json_object_get(recording, "cut"), "loops");

	if (cli_json_number(loops, "most"))
		cli_text_print(
			recording,
			"{name}: of the paths cut off, {cut.loops.at_once} loop at "
			"once, up to {cut.loops.most} at a time, {cut.loops.end} in "
			"the end: {%%cut.loops.pair_seconds} pairs x s; all others "
			"come to dead ends\n");
}

static void print_cutoffs(const json_t *object)
{
	const json_t *list = json_object_get(object, "recordings"), *recording;
	size_t i;

	cli_text_print(json_array_get(list, 0),
		       "{hosts|host|hosts}, {pairs|ordered pair|ordered pairs} of them, "
		       "{paths|path|paths}\n");
	printf("%-24s %8s %9s %9s %11s %7s %9s %13s %9s %9s %9s\n", "", "", "first",
	       "last", "cut at", "", "cut in", "", "half back", "99% back", "all back");
	printf("%-24s %8s %9s %9s %11s %7s %9s %13s %9s %9s %9s\n", "", "Sets", "ms",
	       "ms", "once", "%", "the end", "pairs x s", "ms", "ms", "ms");
	json_array_foreach(list, i, recording)
		print_recording(recording);
	json_array_foreach(list, i, recording) {
		print_times(json_array_get(list, 0), recording);
		print_notes(recording);
		print_loops(recording);
		traffic_mixture_print(recording);
	}
}

/* ---- Recordings ---- */

/* path: NULL for a computed one. */
static int add_recording(struct scene *scene, const char *path,
			 const struct pm_lft_trace *trace, json_t **list)
{
	struct pm_mixture mixture;
	struct pm_outage outage;
	json_t *object;

	pm_outage_follow(scene->fabric, trace, &outage);
	object = recording_json(path, trace, &outage);
	free(outage.curve);
	pm_mixture_follow(scene->fabric, trace, &mixture);
	json_object_set_new(object, "mixture",
			    traffic_mixture_json(scene->fabric, trace, &mixture));
	pm_mixture_free(&mixture);
	*list = pm_json_append(*list, object);
	if (json_array_size(*list) == 1)
		scene->hosts = outage.hosts;
	return outage.hosts == scene->hosts
		       ? EXIT_FINE
		       : cli_fail(EXIT_INPUT,
				  "%s: %llu hosts have LIDs, and %llu in the first "
				  "recording",
				  pm_textfile_name(path),
				  (unsigned long long)outage.hosts,
				  (unsigned long long)scene->hosts);
}

static int read_recording(struct scene *scene, const char *path, json_t **list)
{
	struct pm_lft_trace *trace = NULL;
	struct pm_error err;
	int status;

	if (pm_lft_trace_read(path, scene->fabric, &trace, &err))
		return cli_refuse(&err);
	status = lab_trace_check(scene->fabric, &scene->ports, trace, path);
	if (!status)
		status = add_recording(scene, path, trace, list);
	pm_lft_trace_free(trace);
	return status;
}

static int write_recording(const struct scene *scene, const struct request *request,
			   const struct pm_lft_trace *trace)
{
	const struct pm_lft_trace_file file = {trace, scene->fabric};

	return request->write
		       ? cli_outfile_write(request->write, pm_lft_trace_print, &file)
		       : EXIT_FINE;
}

static int compute_recording(struct scene *scene, const struct request *request,
			     json_t **list)
{
	struct pm_lft_trace_config config = {.connect_roots =
						     request->fabric.connect_roots,
					     .mad_ns = (uint64_t)request->mad_us * 1000,
					     .wire_smps = request->wire_smps};
	struct pm_lft_trace *trace;
	int status = cli_tables_sm(scene->fabric, request->sm, &config.sm);

	if (status)
		return status;
	trace = pm_lft_trace_compute(scene->fabric, scene->plan, &config,
				     scene->ports.list, scene->ports.num);
	status = add_recording(scene, NULL, trace, list);
	if (!status)
		status = write_recording(scene, request, trace);
	pm_lft_trace_free(trace);
	return status;
}

static int begin_scene(struct scene *scene, const char *path,
		       const struct request *request)
{
	struct pm_error err;
	int status = cli_fabric_read(path, &request->fabric, &scene->fabric);

	if (!status &&
	    pm_plan_make(scene->fabric, &request->fabric.plan, &scene->plan, &err))
		status = cli_refuse(&err);
	if (!status && !request->output.quiet)
		cli_failed_print(scene->fabric, scene->plan, &request->failed);
	if (!status)
		status = cli_failures_add(scene->fabric, scene->plan, &request->failed,
					  &scene->ports);
	return status;
}

static int run_cutoffs(const char *path, const struct request *request)
{
	json_t *list = json_array();
	struct scene scene = {0};
	int status = begin_scene(&scene, path, request);

	if (!status)
		status = request->sets ? read_recording(&scene, request->sets, &list)
				       : compute_recording(&scene, request, &list);
	for (uint32_t i = 0; i < request->compare.num && !status; i++)
		status = read_recording(&scene, request->compare.list[i], &list);
	if (status)
		json_decref(list);
	else
		status = lab_write(describe_cutoffs(request, list), &request->output,
				   print_cutoffs, EXIT_FINE);
	free(scene.ports.list);
	pm_plan_free(scene.plan);
	pm_fabric_free(scene.fabric);
	return status;
}

/* ---- Options ---- */

static const struct cli_option options[] = {
	TRAFFIC_ENGINE_ROW(TRAFFIC_CUTOFF),
	CLI_FAIL(struct request, failed,
		 "The failed part, named as for portmajor-whatif(1). May be given "
		 "several times: all parts fail at once."),
	{0, "sets", "FILE",
	 "A recording of LFT Sets after the same failure (scripts/record-sets "
	 "makes them). Default: portmajor's Sets, computed.",
	 CLI_MEMBER(struct request, sets)},
	{0, "compare", "FILE", "Another recording. May be given several times.",
	 .take = cli_take_failed, .to = offsetof(struct request, compare)},
	{0, "write", "FILE", "Write the computed recording.",
	 CLI_MEMBER(struct request, write)},
	{'s', "sm", "NAME",
	 "The node with the subnet manager, for computed tables: every switch "
	 "reaches it.",
	 CLI_MEMBER(struct request, sm)},
	{0, "mad-us", "N",
	 "For computed Sets: microseconds from sending an LFT block to its "
	 "answer. Default 265.",
	 CLI_MEMBER(struct request, mad_us), .high = 1000000000},
	{0, "max-wire-smps", "N",
	 "For computed Sets: blocks on the wire at a time, as in opensm.conf. "
	 "Default 4.",
	 CLI_MEMBER(struct request, wire_smps), .low = 1, .high = INT32_MAX},
	CLI_OUTPUT(struct request, output, "Print no text and no progress bar.",
		   "Print one JSON object (docs/json.md)."),
	CLI_INCLUDE(struct request, fabric, cli_fabric_options),
	{0},
};

const struct cli_command traffic_cutoff_command = {
	.synopsis = "traffic [OPTION]... NETLIST --fail WHAT[:PORT]...",
	.about = "Print how many ordered pairs of hosts are cut off, from a failure to "
		 "the last LFT Set, with the computed Sets of portmajor or with "
		 "recordings of any engine. The numbers are exact after every Set. "
		 "NETLIST is the fabric before the failure, an ibsim, ibnetdiscover or "
		 "opensm-subnet.lst file (- is standard input).",
	.options = options,
	.min_operands = 1,
	.max_operands = INT_MAX,
};

#define NOT_GIVEN UINT32_MAX

/* Reads the options; returns an exit status, or -1 to go on. */
static int read_options(int argc, char **argv, struct request *request)
{
	int status = cli_command_read(&traffic_cutoff_command, argc, argv, request);

	if (status >= 0)
		return status;
	/* Arguments after --fail NAME are more names, up to the next option. */
	for (int i = optind + 1; i < argc; i++)
		request->failed.list[request->failed.num++] = argv[i];
	if (!request->failed.num)
		return cli_command_misused(&traffic_cutoff_command,
					   "nothing fails: --fail WHAT");
	if (request->sets &&
	    (request->write || request->sm || request->mad_us != NOT_GIVEN ||
	     request->wire_smps != NOT_GIVEN))
		return cli_fail(EXIT_USAGE, "%s: with --sets nothing is computed",
				request->write ? "--write"
					       : "--sm, --mad-us and --max-wire-smps");
	if (request->mad_us == NOT_GIVEN)
		request->mad_us = 265;
	if (request->wire_smps == NOT_GIVEN)
		request->wire_smps = 4;
	return -1;
}

int traffic_cutoff(int argc, char **argv)
{
	struct request request = {
		.failed.list = pm_xarray((size_t)argc, sizeof(char *)),
		.compare.list = pm_xarray((size_t)argc, sizeof(char *)),
		.mad_us = NOT_GIVEN,
		.wire_smps = NOT_GIVEN,
	};
	int status = read_options(argc, argv, &request);

	if (status < 0)
		status = run_cutoffs(argv[optind], &request);
	free(request.failed.list);
	free(request.compare.list);
	return status;
}
