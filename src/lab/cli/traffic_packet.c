/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-lab traffic --engine packet: runs the packet engine. */
#include "json.h"
#include "no_path_finding.h"
#include "packet_jobs.h"
#include "packet_lab.h"
#include "traffic.h"
#include "traffic_packet.h"

#include <portmajor/base/hash.h>
#include <portmajor/lab/packet_paths.h>

#include <time.h>

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int add_point(struct packet_lab *lab, struct packet_run *run, double before,
		     json_t *points)
{
	json_t *object = packet_run_point(lab, run);
	int status = packet_jobs_add(lab, run, object);

	if (lab->request->timing)
		json_object_set_new(object, "cpu_seconds",
				    json_real(cpu_seconds() - before));
	json_array_append_new(points, object);
	return status;
}

static int run_point(struct packet_lab *lab, uint32_t index, json_t *points)
{
	const struct packet_request *request = lab->request;
	struct packet_run run = {0};
	double before = cpu_seconds();
	int status;

	lab->workload.load = packet_request_closed(request)
				     ? 0
				     : request->loads[index / request->seeds];
	lab->workload.seed = (uint64_t)request->seed + index % request->seeds;
	status = packet_jobs_assign(lab);
	if (!status)
		status = packet_run_begin(lab, &lab->workload, &lab->config, &run);
	if (!status)
		status = add_point(lab, &run, before, points);
	packet_run_end(&run);
	return status;
}

/*
 * A hash of the fabric, the tables and the numbers that the settings do not show: shards
 * of one run have the same.
 */
static uint64_t find_fingerprint(const struct packet_lab *lab)
{
	const struct pm_packet_config *c = &lab->config;
	const struct pm_workload_config *w = &lab->workload;
	const uint32_t numbers[] = {w->messages, w->shift,	     lab->node,
				    w->share,	 w->senders,	     c->lifetime,
				    c->timeout,	 c->tries,	     c->window,
				    c->fail_at,	 lab->request->alone};
	uint64_t hash = cli_fabric_fingerprint(c->fabric);

	hash = pm_hash_number(hash, lab->tick);
	hash = pm_hash(hash, c->lanes, sizeof(*c->lanes));
	hash = pm_hash(hash, lab->sls, lab->scene.num_hosts);
	for (uint32_t i = 0; c->ticks && i < c->fabric->num_ports; i++)
		hash = pm_hash_number(hash, c->ticks[i]);
	hash = pm_hash(hash, c->tables, (size_t)c->fabric->num_switches * c->length);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		hash = pm_hash_number(hash, numbers[i]);
	for (uint32_t i = 0; i < lab->request->num_loads; i++)
		hash = pm_hash_number(hash, lab->request->loads[i]);
	for (uint32_t i = 0; i < c->num_hosts; i++)
		hash = pm_hash_number(hash, c->hosts[i].lid);
	for (uint32_t i = 0; i < c->num_failed; i++)
		hash = pm_hash_number(hash, c->failed[i]);
	for (uint32_t i = 0; i < c->num_reset; i++)
		hash = pm_hash_number(hash, c->reset[i]);
	for (uint32_t i = 0; i < c->num_returns; i++)
		hash = pm_hash_number(hash, (uint64_t)c->returns[i].time << 32 |
						    c->returns[i].port);
	for (uint32_t i = 0; i < c->num_sets; i++) {
		hash = pm_hash_number(hash, c->sets[i].time);
		hash = pm_hash_number(hash,
				      (uint64_t)c->sets[i].sw << 32 | c->sets[i].block);
		hash = pm_hash(hash, c->sets[i].entries, sizeof(c->sets[i].entries));
	}
	return hash;
}

static int print_shard(const struct packet_lab *lab, json_t *object, uint32_t total,
		       json_t *points)
{
	int status =
		packet_has_findings(points) ? EXIT_FINDINGS : lab_no_path_status(object);

	object = traffic_shard_json(object, &lab->request->shard, total,
				    find_fingerprint(lab), json_incref(points));
	return cli_json_print(object) ? EXIT_INPUT : status;
}

static int run_points(struct packet_lab *lab, json_t *points)
{
	const struct packet_request *request = lab->request;
	uint32_t total = request->num_loads * request->seeds;
	int status = EXIT_FINE;

	lab->count = traffic_shard_count(&request->shard, total) * packet_jobs_runs(lab);
	cli_progress_begin(&lab->progress, request->output.quiet);
	for (uint32_t i = 0; i < total && !status; i++) {
		if (!traffic_shard_has(&request->shard, i))
			continue;
		status = run_point(lab, i, points);
	}
	cli_progress_end(&lab->progress);
	return status;
}

/* Pairs of hosts without a path before anything fails. */
static json_t *no_path_json(const struct packet_lab *lab)
{
	const struct scene *scene = &lab->scene;
	const struct pm_packet_paths paths = {.fabric = scene->fabric,
					      .hosts = scene->hosts,
					      .lfts = scene->lfts,
					      .length = scene->length};
	struct pm_no_path found;

	pm_packet_no_path(&paths, scene->num_hosts, &found);
	return lab_no_path_json(&found, scene->num_hosts, scene_name(scene, found.from),
				scene_name(scene, found.to));
}

static int run_lab(struct packet_lab *lab, struct packet_request *request,
		   const char *path, json_t *points, json_t **object)
{
	int status = packet_lab_begin(lab, request, path);

	if (!status) {
		packet_lab_mend(lab);
		status = run_points(lab, points);
	}
	if (!status)
		*object = json_pack("{s:o, s:o}", "settings", packet_settings_json(lab),
				    "no_path", no_path_json(lab));
	return status;
}

static int compare_recordings(const struct packet_request *first, const char *path,
			      json_t *list)
{
	int status = EXIT_FINE;

	for (uint32_t i = 0; i < first->compare.num && !status; i++) {
		struct packet_request request = *first;
		json_t *points = json_array(), *object;
		struct packet_lab lab = {0};

		request.sets = first->compare.list[i];
		request.lfts = NULL;
		request.repair.kind = REPAIR_NONE;
		status = run_lab(&lab, &request, path, points, &object);
		if (!status)
			json_array_append_new(
				list, traffic_packet_describe(object, points, &status));
		if (status == EXIT_FINDINGS)
			status = EXIT_FINE; /* only the first one is judged */
		packet_lab_end(&lab);
		json_decref(points);
	}
	return status;
}

static int run_packet(const struct packet_request *given, const char *path)
{
	struct packet_request request = *given; /* defaults are filled in */
	json_t *points = json_array(), *list = json_array(), *object = NULL;
	struct packet_lab lab = {0};
	int status = run_lab(&lab, &request, path, points, &object);

	if (!status) {
		status = compare_recordings(given, path, list);
		object = cli_json_join(cli_json_new("traffic", 2), object);
		if (json_array_size(list))
			json_object_set(object, "compared", list);
	}
	if (!status && request.shard.of)
		status = print_shard(&lab, object, request.num_loads * request.seeds,
				     points);
	else if (!status)
		status = traffic_packet_print(object, points, &request.output);
	else
		json_decref(object);
	packet_lab_end(&lab);
	json_decref(points);
	json_decref(list);
	return status;
}

int traffic_packet(int argc, char **argv)
{
	struct packet_request request;
	int status = packet_request_read(argc, argv, &request);

	if (status < 0)
		status = run_packet(&request, argv[optind]);
	packet_request_free(&request);
	return status;
}
