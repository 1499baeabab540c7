/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs jobs and collectives on the packet engine, and describes their results. */
#include "packet_jobs.h"
#include "json.h"
#include "packet_trace.h"
#include "text.h"

#include <portmajor/base/random.h>
#include <portmajor/lab/packet_paths.h>
#include <portmajor/memory/xalloc.h>

#include <stdio.h>

/* ---- Hosts of jobs ---- */

static uint32_t most_processes(enum pm_collective algorithm, uint32_t hosts)
{
	struct pm_error err;
	uint32_t num = hosts < PM_COLLECTIVE_MAX ? hosts : PM_COLLECTIVE_MAX;

	while (num > 1 && pm_collective_check(algorithm, num, &err))
		num--;
	return num;
}

static int begin_collective(struct packet_lab *lab)
{
	const struct packet_request *request = lab->request;
	struct packet_jobs *jobs = &lab->jobs;
	struct pm_error err;

	jobs->processes = request->processes;
	if (!jobs->processes)
		jobs->processes = most_processes(request->algorithm, jobs->hosts);
	if (!request->processes &&
	    pm_collective_check(request->algorithm, jobs->processes, &err))
		return cli_fail(
			EXIT_USAGE, "--collective %s: %s %u hosts, too few for it",
			pm_collective_name(request->algorithm),
			request->jobs > 1 ? "each job has" : "there are", jobs->hosts);
	if (pm_collective_check(request->algorithm, jobs->processes, &err))
		return cli_fail(EXIT_USAGE, "--collective %s", err.text);
	if (jobs->processes > jobs->hosts)
		return cli_fail(
			EXIT_USAGE, "--processes %u: %s %u hosts", jobs->processes,
			request->jobs > 1 ? "each job has" : "there are", jobs->hosts);
	return EXIT_FINE;
}

int packet_jobs_begin(struct packet_lab *lab)
{
	const struct packet_request *request = lab->request;
	struct packet_jobs *jobs = &lab->jobs;
	int status;

	jobs->num = request->jobs;
	jobs->hosts = lab->scene.num_hosts / jobs->num;
	if (jobs->hosts < 2)
		return cli_fail(EXIT_USAGE, "--jobs %u: %u hosts are fewer than two each",
				jobs->num, lab->scene.num_hosts);
	jobs->order = pm_xarray(lab->scene.num_hosts, sizeof(*jobs->order));
	if (!request->collective)
		return EXIT_FINE;
	status = begin_collective(lab);
	if (!status)
		jobs->bytes = pm_calls_bytes(request->algorithm, jobs->processes,
					     request->bytes);
	return status;
}

/* Lists the messages of `num` jobs, from one on. */
static int list_calls(const struct packet_lab *lab, uint32_t job, uint32_t num,
		      struct pm_calls **calls)
{
	const struct packet_request *request = lab->request;
	const struct packet_jobs *jobs = &lab->jobs;
	const struct pm_calls_config config = {
		.algorithm = request->algorithm,
		.processes = jobs->processes,
		.bytes = request->bytes,
		.calls = request->calls,
		.hosts = jobs->order + (size_t)job * jobs->hosts,
		.stride = jobs->hosts,
		.jobs = num,
	};
	struct pm_error err;

	return pm_calls_make(&config, calls, &err)
		       ? cli_fail(EXIT_USAGE, "--collective: %s", err.text)
		       : EXIT_FINE;
}

static void set_workload(const struct packet_lab *lab, uint32_t job, uint32_t num,
			 const struct pm_calls *calls,
			 struct pm_workload_config *workload)
{
	workload->members = lab->jobs.order + (size_t)job * lab->jobs.hosts;
	workload->num_jobs = num;
	workload->job_hosts = lab->jobs.hosts;
	workload->list = calls ? calls->list : NULL;
	workload->num_list = calls ? calls->num : 0;
}

/* Finds the place in its job of the host that a pattern names. */
static int find_pattern_host(struct packet_lab *lab)
{
	const struct packet_jobs *jobs = &lab->jobs;
	enum pm_pattern pattern = lab->request->pattern;

	if (pattern != PM_HOT_SPOT && pattern != PM_INCAST)
		return EXIT_FINE;
	for (uint32_t i = 0; i < jobs->num * jobs->hosts; i++)
		if (jobs->order[i] == lab->node) {
			lab->workload.node = i % jobs->hosts;
			return EXIT_FINE;
		}
	return cli_fail(EXIT_USAGE, "--pattern %s: host \"%s\" is in none of the jobs",
			pm_pattern_name(pattern), scene_name(&lab->scene, lab->node));
}

int packet_jobs_assign(struct packet_lab *lab)
{
	struct packet_jobs *jobs = &lab->jobs;
	uint64_t random = lab->workload.seed ^ 0x6a09e667;
	int status = EXIT_FINE;

	for (uint32_t i = 0; i < lab->scene.num_hosts; i++)
		jobs->order[i] = i;
	for (uint32_t i = lab->scene.num_hosts; i-- > 1 && lab->request->random;) {
		uint32_t j = (uint32_t)pm_random_below(&random, i + 1);
		uint32_t host = jobs->order[i];

		jobs->order[i] = jobs->order[j];
		jobs->order[j] = host;
	}
	for (uint32_t i = 0; i < jobs->num * jobs->hosts && jobs->num > 1; i++)
		lab->sls[jobs->order[i]] =
			lab->request->sls[i / jobs->hosts % lab->request->num_sls];
	pm_calls_free(jobs->calls);
	jobs->calls = NULL;
	if (lab->request->collective)
		status = list_calls(lab, 0, jobs->num, &jobs->calls);
	set_workload(lab, 0, jobs->num, jobs->calls, &lab->workload);
	packet_trace_free(jobs->trace);
	jobs->trace = NULL;
	if (lab->request->trace) {
		status = packet_trace_begin(lab, &jobs->trace);
		if (!status)
			packet_trace_set(jobs->trace, &lab->workload);
		return status;
	}
	return status || lab->request->collective ? status : find_pattern_host(lab);
}

void packet_jobs_free(struct packet_lab *lab)
{
	free(lab->jobs.order);
	pm_calls_free(lab->jobs.calls);
	packet_trace_free(lab->jobs.trace);
}

/* ---- Results of a job ---- */

struct outcome {
	uint64_t messages, latency, slowest; /* ticks */
	uint64_t left, done;
	double accepted;
};

static bool is_closed(const struct packet_lab *lab)
{
	return packet_request_closed(lab->request);
}

static struct outcome look_at(const struct packet_lab *lab, const struct packet_run *run,
			      uint32_t job)
{
	const uint32_t *hosts = lab->jobs.order + (size_t)job * lab->jobs.hosts;
	struct outcome o = {0};
	double sent = 0, ticks = run->r.measured;
	uint32_t senders = 0;

	for (uint32_t i = 0; i < lab->jobs.hosts; i++) {
		const struct pm_packet_sender *s = &run->r.senders[hosts[i]];
		uint64_t done = pm_workload_done_of(run->workload, hosts[i]);

		if (!pm_workload_sends(run->workload, hosts[i]))
			continue;
		senders++;
		sent += (double)s->blocks *
			(lab->host_ticks ? lab->host_ticks[hosts[i]] : 1);
		o.messages += s->messages;
		o.latency += s->latency;
		o.slowest = s->slowest > o.slowest ? s->slowest : o.slowest;
		o.left += pm_workload_left_of(run->workload, hosts[i]);
		o.done = done > o.done ? done : o.done;
	}
	if (is_closed(lab) && !o.left)
		ticks = (double)o.done - lab->config.warmup;
	if (ticks > 0 && senders)
		o.accepted = sent / ticks / senders;
	return o;
}

static double mean_of(const struct outcome *o)
{
	return o->messages ? (double)o->latency / (double)o->messages : 0;
}

/* How much longer one run took than another, to its end or for a message. */
static json_t *ratio_json(const struct packet_lab *lab, const struct outcome *o,
			  const struct outcome *other)
{
	double above = mean_of(o), below = mean_of(other);

	if (is_closed(lab)) {
		above = o->left ? 0 : (double)o->done;
		below = other->left ? 0 : (double)other->done;
	}
	return above > 0 && below > 0 ? json_real(above / below) : json_null();
}

static json_t *outcome_json(const struct packet_lab *lab, const struct outcome *o)
{
	json_t *done = json_null();

	if (is_closed(lab))
		done = json_pack("{s:o, s:I}", "us",
				 o->left ? json_null()
					 : json_real(packet_us(lab, (double)o->done)),
				 "left", (json_int_t)o->left);
	return json_pack("{s:f, s:{s:o, s:o}, s:I, s:o}", "accepted", o->accepted,
			 "latency_us", "mean",
			 packet_us_json(lab, o->messages, mean_of(o)), "max",
			 packet_us_json(lab, o->messages, (double)o->slowest), "messages",
			 (json_int_t)o->messages, "done", done);
}

/* ---- Collectives ---- */

/* The delay, without bytes, of the longest path of a job's messages. */
static uint64_t longest_delay(const struct packet_lab *lab, uint32_t job)
{
	const struct pm_packet_paths paths = {.fabric = lab->scene.fabric,
					      .hosts = lab->scene.hosts,
					      .lfts = lab->scene.lfts,
					      .length = lab->scene.length};
	const struct pm_calls *calls = lab->jobs.calls;
	uint32_t num = calls->per_call, most = 0, ports[PM_PATH_MAX];

	if (lab->request->algorithm == PM_COLLECTIVE_RING)
		num = lab->jobs.processes; /* others use the same paths */
	for (uint32_t m = 0; m < num; m++) {
		const struct pm_workload_message *message =
			&calls->list[(size_t)job * lab->request->calls * calls->per_call +
				     m];
		uint32_t hops =
			pm_packet_path_by_lfts(&paths, message->from, message->to, ports);

		if (hops > most + 1)
			most = hops - 1; /* switches */
	}
	return (uint64_t)(most + 1) * lab->config.wire +
	       (uint64_t)most * lab->config.crossing;
}

/* When a call was complete, or PM_NEVER. */
static uint64_t end_of_call(const struct packet_lab *lab, const struct packet_run *run,
			    uint32_t job, uint32_t call)
{
	uint32_t num = lab->jobs.calls->per_call;
	uint32_t first = (job * lab->request->calls + call) * num;
	uint64_t last = 0;

	for (uint32_t m = first; m < first + num; m++) {
		uint64_t time = pm_workload_arrived(run->workload, m);

		last = time > last ? time : last;
	}
	return last;
}

/* The times of a job's calls, each since the last one, and by the equation. */
static json_t *calls_json(const struct packet_lab *lab, const struct packet_run *run,
			  uint32_t job)
{
	const struct packet_request *request = lab->request;
	const uint32_t *hosts = lab->jobs.order + (size_t)job * lab->jobs.hosts;
	uint64_t last = 0, bytes = lab->jobs.bytes;
	struct pm_circuit_costs costs = {
		.alpha = packet_us(lab, (double)longest_delay(lab, job))};
	json_t *list = json_array();

	for (uint32_t p = 0; p < lab->jobs.processes; p++) {
		double beta = packet_us(
			lab, (lab->host_ticks ? lab->host_ticks[hosts[p]] : 1) / 64.0);

		costs.beta = beta > costs.beta ? beta : costs.beta;
	}
	for (uint32_t call = 0; call < request->calls; call++) {
		uint64_t end = end_of_call(lab, run, job, call);
		uint64_t from = last;

		last = end > last ? end : last;
		list = pm_json_append(
			list, end == PM_NEVER
				      ? json_null()
				      : json_real(packet_us(lab, (double)(last - from))));
	}
	return json_pack("{s:f, s:f, s:o}", "alpha_us", costs.alpha, "equation_us",
			 pm_collective_seconds(request->algorithm, lab->jobs.processes,
					       bytes, 2, &costs),
			 "calls_us", list);
}

/* ---- Further runs ---- */

static bool has_healthy(const struct packet_lab *lab)
{
	return packet_request_closed(lab->request) && lab->config.num_failed;
}

uint32_t packet_jobs_runs(const struct packet_lab *lab)
{
	return 1 + has_healthy(lab) + (lab->request->alone ? lab->jobs.num : 0);
}

static int add_healthy(struct packet_lab *lab, const struct packet_run *run,
		       json_t *point)
{
	struct pm_packet_config engine = packet_run_healthy(lab);
	struct packet_run other;
	json_t *object;
	int status;

	status = packet_run_begin(lab, &lab->workload, &engine, &other);
	if (!status) {
		struct outcome healthy = {.left = pm_workload_left(other.workload),
					  .done = other.r.done};
		struct outcome o = {.left = pm_workload_left(run->workload),
				    .done = run->r.done};

		object = json_pack("{s:o, s:o}", "us",
				   healthy.left ? json_null()
						: json_real(packet_us(lab, other.r.done)),
				   "ratio", ratio_json(lab, &o, &healthy));
		json_object_set_new(point, "healthy", object);
	}
	packet_run_end(&other);
	return status;
}

/* Adds a run of a job without other jobs. */
static int add_alone(struct packet_lab *lab, uint32_t job, const struct outcome *o,
		     json_t *object)
{
	struct pm_workload_config workload = lab->workload;
	struct pm_calls *calls = NULL;
	struct packet_run run = {0};
	struct outcome alone;
	int status = EXIT_FINE;

	if (lab->request->collective)
		status = list_calls(lab, job, 1, &calls);
	set_workload(lab, job, 1, calls, &workload);
	if (!status)
		status = packet_run_begin(lab, &workload, &lab->config, &run);
	if (!status) {
		alone = look_at(lab, &run, job);
		json_object_set_new(object, "alone", outcome_json(lab, &alone));
		json_object_set_new(object, "slowdown", ratio_json(lab, o, &alone));
	}
	packet_run_end(&run);
	pm_calls_free(calls);
	return status;
}

static json_t *fairness_json(double sum, double squares, uint32_t num)
{
	return squares > 0 ? json_real(sum * sum / squares / num) : json_null();
}

int packet_jobs_add(struct packet_lab *lab, const struct packet_run *run, json_t *point)
{
	bool by_job = lab->request->collective || lab->jobs.num > 1;
	json_t *list = json_array();
	double sum = 0, squares = 0;
	int status = EXIT_FINE;

	for (uint32_t job = 0; job < lab->jobs.num && by_job && !status; job++) {
		struct outcome o = look_at(lab, run, job);
		json_t *object = outcome_json(lab, &o);

		json_object_set_new(object, "collective",
				    lab->request->collective ? calls_json(lab, run, job)
							     : json_null());
		if (lab->request->alone)
			status = add_alone(lab, job, &o, object);
		list = pm_json_append(list, object);
		sum += o.accepted;
		squares += o.accepted * o.accepted;
	}
	json_object_set_new(point, "jobs", list);
	json_object_set_new(point, "jobs_fairness",
			    fairness_json(sum, squares, lab->jobs.num));
	json_object_set_new(point, "healthy", json_null());
	if (!status && has_healthy(lab))
		status = add_healthy(lab, run, point);
	return status;
}

json_t *packet_collective_json(const struct packet_lab *lab)
{
	const struct packet_request *request = lab->request;

	if (!request->collective)
		return json_null();
	return json_pack("{s:s, s:I, s:I, s:I}", "algorithm",
			 pm_collective_name(request->algorithm), "processes",
			 (json_int_t)lab->jobs.processes, "bytes",
			 (json_int_t)lab->jobs.bytes, "calls",
			 (json_int_t)request->calls);
}

json_t *packet_jobs_json(const struct packet_lab *lab)
{
	return json_pack("{s:I, s:I, s:s}", "num", (json_int_t)lab->jobs.num, "hosts",
			 (json_int_t)lab->jobs.hosts, "placement",
			 lab->request->random ? "random" : "in-order");
}

/* ---- Text ---- */

static void print_calls(const json_t *collective)
{
	double equation = json_number_value(json_object_get(collective, "equation_us"));
	const json_t *row;
	size_t i;

	cli_text_print(collective, "by the equation {%%%equation_us} us for a call, with "
				   "{%%%alpha_us} us for a message\n");
	printf("%6s %12s %14s\n", "call", "us", "by equation");
	json_array_foreach(json_object_get(collective, "calls_us"), i, row) {
		double us = json_number_value(row);

		if (json_is_number(row))
			printf("%6zu %12.3f %14.3f\n", i + 1, us,
			       equation > 0 ? us / equation : 0);
		else
			printf("%6zu %12s\n", i + 1, "not done");
	}
}

static void print_slowest(const json_t *calls)
{
	const json_t *row;
	double most = 0;
	size_t i;

	json_array_foreach(calls, i, row) {
		if (!json_is_number(row)) {
			printf(" %11s", "not done");
			return;
		}
		if (json_number_value(row) > most)
			most = json_number_value(row);
	}
	if (calls)
		printf(" %11.3f", most);
}

static void print_job(const json_t *job, size_t number, bool closed, bool alone)
{
	const json_t *done = json_object_get(job, "done");
	const json_t *collective = json_object_get(job, "collective");

	printf("%6zu", number);
	cli_text_print(job,
		       " {8~%%%accepted} {9%%%latency_us.mean} {9%%%latency_us.max}");
	if (closed && json_is_number(json_object_get(done, "us")))
		cli_text_print(done, " {11%%%us}");
	else if (closed)
		printf(" %11s", "not done");
	if (alone)
		cli_text_print(job,
			       closed ? " {11%%%alone.done.us} {8%%%slowdown}"
				      : " {9%%%alone.latency_us.mean} {8%%%slowdown}");
	print_slowest(json_object_get(collective, "calls_us"));
	putchar('\n');
}

static void print_jobs(const json_t *list)
{
	const json_t *first = json_array_get(list, 0), *job;
	bool closed = json_is_object(json_object_get(first, "done"));
	bool alone = json_is_object(json_object_get(first, "alone"));
	size_t i;

	printf("%6s %8s %9s %9s", "job", "accepted", "mean", "max");
	if (closed)
		printf(" %11s", "done us");
	if (alone)
		printf(closed ? " %11s %8s" : " %9s %8s", "alone", "slowdown");
	if (json_is_object(json_object_get(first, "collective")))
		printf(" %11s", "slowest us");
	putchar('\n');
	json_array_foreach(list, i, job)
		print_job(job, i + 1, closed, alone);
}

void packet_jobs_print(const json_t *point)
{
	const json_t *list = json_object_get(point, "jobs");
	const json_t *healthy = json_object_get(point, "healthy");

	if (json_array_size(list) == 1)
		print_calls(json_object_get(json_array_get(list, 0), "collective"));
	if (json_array_size(list) > 1) {
		print_jobs(list);
		cli_text_print(point, "fairness between jobs {%%%jobs_fairness}\n");
	}
	if (!json_is_object(healthy))
		return;
	cli_text_print(healthy, "without the failure {%%%us} us");
	if (json_is_number(json_object_get(healthy, "ratio")))
		cli_text_print(healthy, ": it takes {%%%ratio} times as long");
	putchar('\n');
}
