/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs `portmajor-lab job`: the healthy baseline, then the failure with each engine. */
#include "job.h"

#include "json.h"
#include "packet_jobs.h"
#include "packet_trace.h"
#include "text.h"
#include "traffic_packet.h"

#include <portmajor/memory/xalloc.h>

#include <math.h>
#include <unistd.h>

#define OURS "ours"

struct job {
	const struct job_request *request;
	struct recordings recordings;
	char *netlist;
	/* The fabric and the failure, to choose recordings by: */
	struct pm_fabric *fabric;
	struct pm_plan *plan;
	struct pm_ports ports;
	struct job_engine *engines;
	uint32_t num;
	uint64_t at; /* ps from the job's begin to the failure */
	struct cli_progress progress;
};

static int fail_length(const struct packet_lab *lab)
{
	return cli_fail(EXIT_USAGE,
			"the job is not done in the %.1f ms that a run can have, without "
			"the failure: fewer --repeat, or :BYTES",
			packet_us(lab, lab->times.end) / 1000);
}

/* Checks that a host's messages fit into a run with no other traffic. */
static int check_length(const struct packet_lab *lab)
{
	const struct pm_workload_config *workload = &lab->workload;
	uint64_t blocks = (uint64_t)workload->messages * workload->blocks;

	for (uint32_t h = 0; h < workload->num_hosts; h++)
		if (blocks * (workload->ticks ? workload->ticks[h] : 1) > lab->times.end)
			return fail_length(lab);
	return EXIT_FINE;
}

static int read_fabric(struct job *job, const char *netlist)
{
	const struct packet_request *packet = &job->request->packet;
	struct pm_error err;
	int status = recordings_begin(&job->recordings, job->request->folder);

	if (!status)
		status =
			recordings_find_netlist(&job->recordings, netlist, &job->netlist);
	if (!status)
		status = cli_fabric_read(job->netlist, &packet->fabric, &job->fabric);
	if (!status && pm_plan_make(job->fabric, &packet->fabric.plan, &job->plan, &err))
		status = cli_refuse(&err);
	if (!status && !job->request->output.quiet)
		cli_failed_print(job->fabric, job->plan, &packet->failed);
	if (!status)
		status = cli_failures_add(job->fabric, job->plan, &packet->failed,
					  &job->ports);
	return status;
}

/* Chooses a recording. If ours has none *path is NULL, whatever file has that name. */
static int choose_recording(const struct job *job, const char *name, char **path)
{
	bool ours = !strcmp(name, OURS);
	int status = recordings_find_engine(&job->recordings, ours ? "portmajor" : name,
					    job->fabric, &job->ports, path);

	if (status || *path || ours)
		return status;
	if (access(name, F_OK) == 0) {
		*path = cli_text_make("%s", name);
		return EXIT_FINE;
	}
	return job->recordings.fabric
		       ? cli_fail(EXIT_INPUT,
				  "%s: no such file, and no recording of that engine of "
				  "%s with this failure",
				  name, job->recordings.fabric)
		       : cli_fail(EXIT_INPUT,
				  "%s: no such file; recordings of this fabric are made "
				  "by scripts/record-sets",
				  name);
}

static int begin_engine(struct job *job, const char *name)
{
	struct job_engine *engine = &job->engines[job->num];
	int status = choose_recording(job, name, &engine->path);

	job->num++;
	if (status)
		return status;
	engine->request = job->request->packet;
	engine->request.output.quiet = true; /* a failure is reported once */
	engine->request.at = 0;
	engine->request.sets = engine->path;
	if (!engine->path)
		engine->request.repair.kind = REPAIR_ORDER;
	status = packet_lab_begin(&engine->lab, &engine->request, job->netlist);
	if (!status)
		status = check_length(&engine->lab);
	return status ? status : packet_jobs_assign(&engine->lab);
}

static int begin_job(struct job *job, const char *netlist)
{
	const struct cli_failed *compare = &job->request->compare;
	int status = read_fabric(job, netlist);

	job->engines = pm_xarray((size_t)compare->num + 1, sizeof(*job->engines));
	if (!status)
		status = begin_engine(job, job->request->engine);
	for (uint32_t i = 0; i < compare->num && !status; i++)
		status = begin_engine(job, compare->list[i]);
	return status;
}

/* ---- Runs ---- */

/* Makes one of two runs of an engine, to be ended in any case. */
static int run_engine(struct job *job, struct job_engine *engine, bool fails,
		      struct packet_run *run)
{
	struct packet_lab *lab = &engine->lab;
	struct pm_packet_config config = fails ? lab->config : packet_run_healthy(lab);
	int status;

	lab->progress = job->progress;
	lab->done = (uint32_t)(engine - job->engines) + (fails ? job->num : 0);
	lab->count = 2 * job->num;
	status = packet_run_begin(lab, &lab->workload, &config, run);
	job->progress = lab->progress;
	return status;
}

static int run_healthy(struct job *job, struct job_engine *engine)
{
	struct packet_run run;
	int status = run_engine(job, engine, false, &run);

	if (!status && pm_workload_left(run.workload) && run.r.over)
		status = cli_fail(EXIT_INPUT,
				  "the job is never done, without the failure: its "
				  "messages wait for each other, or are lost");
	else if (!status && pm_workload_left(run.workload))
		status = fail_length(&engine->lab);
	if (!status) {
		engine->healthy = run.r.done;
		job_add_healthy(engine, &run);
	}
	packet_run_end(&run);
	return status;
}

/* Sets the failure's time, within the job of all engines. */
static int choose_time(struct job *job)
{
	uint64_t least = UINT64_MAX;
	double ps;

	for (uint32_t i = 0; i < job->num; i++)
		if (job->engines[i].healthy < least)
			least = job->engines[i].healthy;
	ps = (double)least * (double)job->engines[0].lab.tick / 1000;
	job->at = job->request->packet.at;
	if (job->at == PACKET_UNSET)
		job->at = (uint64_t)llround(ps / 2);
	return (double)job->at < ps
		       ? EXIT_FINE
		       : cli_fail(
				 EXIT_USAGE,
				 "--at: without the failure the job is done after %.3f us",
				 ps / 1e6);
}

static int run_failure(struct job *job, struct job_engine *engine)
{
	struct packet_run run = {0};
	int status;

	engine->request.at = job->at;
	packet_lab_mend(&engine->lab);
	status = run_engine(job, engine, true, &run);
	if (!status)
		job_add_failure(engine, &run, packet_run_point(&engine->lab, &run));
	packet_run_end(&run);
	return status;
}

/* ---- All runs ---- */

static const char *name_of(const struct packet_request *packet)
{
	if (packet->trace)
		return "goal";
	return packet->collective ? pm_collective_name(packet->algorithm)
				  : pm_pattern_name(packet->pattern);
}

static json_int_t bytes_of(const struct packet_lab *lab)
{
	if (lab->jobs.trace)
		return (json_int_t)lab->jobs.trace->bytes;
	return (json_int_t)(lab->request->collective ? lab->jobs.bytes
						     : lab->request->bytes);
}

static json_t *processes_of(const struct packet_lab *lab)
{
	if (lab->jobs.trace)
		return json_integer(lab->jobs.trace->goal->ranks);
	return lab->request->collective ? json_integer(lab->jobs.processes) : json_null();
}

static json_t *describe_job(const struct job *job)
{
	const struct packet_lab *lab = &job->engines[0].lab;
	const struct packet_request *packet = lab->request;
	json_t *list = json_array();

	for (uint32_t i = 0; i < job->num; i++)
		list = pm_json_append(list, json_incref(job->engines[i].object));
	return cli_json_join(
		cli_json_new("job", 1),
		pm_json_object((const struct pm_json_member[]){
			{"fabric",
			 pm_json_text(job->recordings.fabric ? job->recordings.fabric
							     : job->netlist)},
			{"hosts", json_integer(lab->scene.num_hosts)},
			{"failed", cli_failed_json(&packet->failed)},
			{"cables", json_integer(lab->scene.recording->num_failed)},
			{"pattern", json_string(name_of(packet))},
			{"bytes", json_integer(bytes_of(lab))},
			{"processes", processes_of(lab)},
			{"repeat", json_integer(job->request->repeat)},
			{"timeout_ms",
			 json_real(packet_us(lab, lab->config.timeout) / 1000)},
			{"retries", json_integer(packet->retries)},
			{"at_ms", json_real((double)job->at / 1e9)},
			{"engines", list},
			{0},
		}));
}

static int run_all(struct job *job)
{
	int status = EXIT_FINE;

	cli_progress_begin(&job->progress, job->request->output.quiet);
	for (uint32_t i = 0; i < job->num && !status; i++)
		status = run_healthy(job, &job->engines[i]);
	if (!status)
		status = choose_time(job);
	for (uint32_t i = 0; i < job->num && !status; i++)
		status = run_failure(job, &job->engines[i]);
	cli_progress_end(&job->progress);
	return status;
}

static void end_job(struct job *job)
{
	for (uint32_t i = 0; i < job->num; i++) {
		packet_lab_end(&job->engines[i].lab);
		json_decref(job->engines[i].object);
		free(job->engines[i].path);
	}
	free(job->engines);
	free(job->ports.list);
	pm_plan_free(job->plan);
	pm_fabric_free(job->fabric);
	free(job->netlist);
	recordings_free(&job->recordings);
}

int job_run(const struct job_request *request, const char *netlist)
{
	struct job job = {.request = request};
	int status = begin_job(&job, netlist);

	if (!status)
		status = run_all(&job);
	if (!status)
		status = job_print(describe_job(&job), &request->output);
	end_job(&job);
	return status;
}
