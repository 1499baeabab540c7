/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prepares runs of the packet engine: patterns, rates and times. */
#include "packet_lab.h"

#include "packet_jobs.h"
#include "text.h"

#include <portmajor/memory/xalloc.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GBPS_FS UINT64_C(512000000) /* a block at 1 Gb/s, in femtoseconds */

/* ---- Patterns, rates and times ---- */

/*
 * Reads HOST or HOST:NUMBER after a pattern's name. HOST may have colons, too.
 */
static int read_host(struct packet_lab *lab, const char **rest)
{
	const char *text = lab->request->pattern_argument;
	const char *colon = text ? strrchr(text, ':') : NULL;

	*rest = NULL;
	lab->node = scene_host(&lab->scene, text ? text : "");
	if (lab->node == PM_NONE && colon) {
		char *name = cli_text_make("%.*s", (int)(colon - text), text);

		lab->node = scene_host(&lab->scene, name);
		free(name);
		*rest = colon + 1;
	}
	return lab->node == PM_NONE
		       ? cli_fail(
				 EXIT_USAGE,
				 "--pattern %s: no host \"%s\", or several (NAME (0xGUID) "
				 "is one of these)",
				 pm_pattern_name(lab->request->pattern), text ? text : "")
		       : EXIT_FINE;
}

/* Reads the arguments after a host. */
static int read_rest(struct packet_lab *lab, const char *rest)
{
	unsigned long number;
	char *end;
	double share;

	if (lab->request->pattern == PM_INCAST) {
		lab->workload.senders = lab->jobs.hosts - 1;
		if (rest && !cli_number(rest, 1, lab->workload.senders, &number))
			return cli_fail(EXIT_USAGE,
					"--pattern incast: not 1 to %u senders",
					lab->workload.senders);
		if (rest)
			lab->workload.senders = (uint32_t)number;
		return EXIT_FINE;
	}
	share = rest ? strtod(rest, &end) : 0.1;
	if (rest && (*end || end == rest || !(share >= 0 && share <= 1)))
		return cli_fail(EXIT_USAGE, "--pattern hot-spot: a share of 0 to 1");
	lab->workload.share = (uint32_t)lround(share * PM_LOAD_FULL);
	return EXIT_FINE;
}

static int configure_pattern(struct packet_lab *lab)
{
	const struct packet_request *request = lab->request;
	const char *argument = request->pattern_argument;
	unsigned long number;
	const char *rest;
	int status;

	switch (request->pattern) {
	case PM_SHIFT:
		if (!argument || !cli_number(argument, 1, lab->jobs.hosts - 1, &number))
			return cli_fail(EXIT_USAGE, "--pattern shift:N: N is 1 to %u",
					lab->jobs.hosts - 1);
		lab->workload.shift = (uint32_t)number;
		return EXIT_FINE;
	case PM_HOT_SPOT:
	case PM_INCAST:
		status = read_host(lab, &rest);
		if (!status)
			status = read_rest(lab, rest);
		return status;
	default:
		return argument ? cli_fail(EXIT_USAGE, "--pattern %s takes nothing else",
					   pm_pattern_name(request->pattern))
				: EXIT_FINE;
	}
}

/* Sets the tick, and the ticks of a block on each link. */
static int configure_rates(struct packet_lab *lab)
{
	const struct pm_fabric *fabric = lab->scene.fabric;
	struct pm_error err;

	lab->tick = GBPS_FS / (lab->request->gbps ? lab->request->gbps : PACKET_GBPS);
	if (lab->request->gbps)
		return EXIT_FINE;
	lab->ticks = pm_xarray(fabric->num_ports, sizeof(*lab->ticks));
	lab->host_ticks = pm_xarray(lab->scene.num_hosts, sizeof(*lab->host_ticks));
	if (pm_rates_find(fabric, lab->ticks, &lab->rates, &err))
		return cli_refuse(&err);
	if (lab->rates.num)
		lab->tick = lab->rates.tick;
	for (uint32_t h = 0; h < lab->scene.num_hosts; h++)
		lab->host_ticks[h] = lab->ticks[lab->scene.hosts[h].port];
	return EXIT_FINE;
}

static void configure_sls(struct packet_lab *lab)
{
	const struct packet_request *request = lab->request;

	lab->sls = pm_xarray(lab->scene.num_hosts, 1);
	for (uint32_t h = 0; h < lab->scene.num_hosts; h++)
		lab->sls[h] = request->sls[h % request->num_sls];
}

static uint64_t longest_time(const struct packet_lab *lab)
{
	uint64_t most = lab->tick * (PM_PACKET_MAX_TICKS / UINT64_C(4) * 3) / 1000;

	return most < lab->request->longest ? most : lab->request->longest;
}

static void configure_workload(struct packet_lab *lab)
{
	const struct packet_request *request = lab->request;

	lab->workload.pattern =
		request->collective || request->trace ? PM_LIST : request->pattern;
	lab->workload.num_hosts = lab->scene.num_hosts;
	lab->workload.blocks = (request->bytes + 63) / 64;
	lab->workload.poisson = request->poisson;
	lab->workload.messages = request->messages;
	lab->workload.seed = request->seed;
	lab->workload.ticks = lab->host_ticks;
	lab->workload.sls = lab->sls;
}

static void configure_times(struct packet_lab *lab)
{
	const struct packet_request *request = lab->request;
	struct pm_packet_config *config = &lab->config;
	uint64_t early = request->before && request->at > request->warmup
				 ? request->at - request->warmup
				 : 0;
	uint32_t at = packet_ticks(lab, request->at);

	if (request->before)
		config->fail_at = early || at > config->warmup ? 0 : config->warmup - at;
	else
		config->fail_at = config->warmup + at;
	for (uint32_t i = 0; lab->returns && i < config->num_failed; i++)
		lab->returns[i] = (struct pm_packet_return){
			config->fail_at + packet_ticks(lab, request->return_after),
			config->failed[i]};
	lab->times = (struct pm_replay_config){
		.tick = lab->tick,
		.fail_at = config->fail_at,
		.before = early / 1000,
		.end = config->warmup + config->batch * config->batches,
	};
}

static void configure_engine(struct packet_lab *lab)
{
	const struct packet_request *request = lab->request;
	struct pm_packet_config *config = &lab->config;

	config->fabric = lab->scene.fabric;
	config->tables = lab->scene.lfts;
	config->length = lab->scene.length;
	config->hosts = lab->scene.hosts;
	config->num_hosts = lab->scene.num_hosts;
	config->ticks = lab->ticks;
	config->lanes = &request->lanes;
	config->wire = packet_ticks(lab, request->wire);
	if (!config->wire)
		config->wire = 1;
	config->crossing = packet_ticks(lab, request->crossing);
	config->packet = request->mtu / 64;
	config->buffer = request->buffer;
	config->reads = request->reads;
	config->in_line = request->in_line;
	if (request->hoq < 20)
		config->lifetime = packet_ticks(lab, UINT64_C(4096000) << request->hoq);
	if (config->lifetime >= PM_PACKET_MAX_TICKS)
		config->lifetime = PM_PACKET_MAX_TICKS - 1;
	if (request->reliable)
		config->timeout =
			packet_ticks(lab, UINT64_C(4096000) << request->timeout);
	if (config->timeout >= PM_PACKET_MAX_TICKS)
		config->timeout = PM_PACKET_MAX_TICKS - 1;
	config->tries = request->retries;
	config->failed = lab->scene.failed.list;
	config->num_failed = lab->scene.failed.num;
	if (lab->scene.recording) {
		config->reset = lab->scene.recording->reset;
		config->num_reset = lab->scene.recording->num_reset;
	}
	config->returns = lab->returns ? lab->returns : lab->scene.replay.returns;
	config->num_returns =
		lab->returns ? config->num_failed : lab->scene.replay.num_returns;
	config->sets = lab->scene.replay.list;
	config->num_sets = lab->scene.replay.num;
	config->warmup = packet_ticks(lab, request->warmup);
	config->batches = request->batches;
	config->batch = packet_ticks(lab, request->time / request->batches);
	if (request->window != PACKET_UNSET)
		config->window = packet_ticks(lab, request->window);
	configure_times(lab);
}

/* Whether a given time is below half a tick. */
static bool is_none(const struct packet_lab *lab, uint64_t ps)
{
	return ps != PACKET_UNSET && !packet_ticks(lab, ps);
}

static int check_short_times(const struct packet_lab *lab)
{
	const struct packet_request *request = lab->request;
	const char *name = NULL;

	if (is_none(lab, request->time / request->batches))
		name = "time";
	else if (is_none(lab, request->window))
		name = "window";
	else if (is_none(lab, request->return_after))
		name = "return-after";
	if (name)
		return cli_fail(EXIT_USAGE, "--%s: shorter than %s %.3f ns", name,
				name[0] == 't' ? "a tick for each of --batches,"
					       : "a tick,",
				packet_us(lab, 1) * 1000);
	if (request->window == PACKET_UNSET)
		return EXIT_FINE;
	if (request->window > request->warmup + request->time)
		return cli_fail(EXIT_USAGE, "--window: longer than the run");
	if ((request->warmup + request->time) / request->window > PACKET_MAX_WINDOWS)
		return cli_fail(EXIT_USAGE, "--window: more than %d of them in the run",
				PACKET_MAX_WINDOWS);
	return EXIT_FINE;
}

static int check_delays(const struct packet_lab *lab)
{
	const struct packet_request *request = lab->request;
	const char *name = packet_ticks(lab, request->wire) > UINT16_MAX ? "wire"
			   : packet_ticks(lab, request->crossing) > UINT16_MAX
				   ? "crossing"
				   : NULL;

	return name ? cli_fail(EXIT_USAGE, "--%s: longer than the %.3f us that it can be",
			       name, packet_us(lab, UINT16_MAX))
		    : EXIT_FINE;
}

/*
 * Checks that a run fits PM_PACKET_MAX_TICKS and has the failure in it.
 */
static int check_times(const struct packet_lab *lab)
{
	const struct packet_request *request = lab->request;
	uint64_t time = (request->warmup + request->time) * 1000;

	if (time / lab->tick >= PM_PACKET_MAX_TICKS - 1)
		return cli_fail(
			EXIT_USAGE,
			"--time and --warmup: more than the %.1f ms that a run can have",
			packet_us(lab, PM_PACKET_MAX_TICKS) / 1000);
	if (lab->scene.failed.num && !request->before && request->at >= request->time)
		return cli_fail(
			EXIT_USAGE,
			"--at: the failure is at the end of the run (--time) or after it");
	if (check_delays(lab))
		return EXIT_USAGE;
	return check_short_times(lab);
}

/* With --return-after, all links return at one time. */
static int begin_returns(struct packet_lab *lab)
{
	const struct scene *scene = &lab->scene;

	if (lab->request->return_after == PACKET_UNSET)
		return EXIT_FINE;
	if (scene->recording && scene->recording->num_active)
		return cli_fail(EXIT_USAGE,
				"--return-after: the recording has when cables return");
	lab->returns = pm_xarray(scene->failed.num, sizeof(*lab->returns));
	return EXIT_FINE;
}

static struct scene_config scene_config_of(const struct packet_request *request)
{
	return (struct scene_config){
		.fabric = &request->fabric,
		.lfts = request->lfts,
		.sets = request->sets,
		.failed = &request->failed,
		.quiet = request->output.quiet,
		.repair = {.kind = request->repair.kind,
			   .after = request->repair_at / 1000,
			   .smp = request->smp / 1000,
			   .wire_smps = request->repair.wire_smps},
	};
}

int packet_lab_begin(struct packet_lab *lab, struct packet_request *request,
		     const char *path)
{
	const struct scene_config config = scene_config_of(request);
	int status;

	*lab = (struct packet_lab){.request = request, .tick = 1000};
	status = scene_read(&lab->scene, path, &config);
	if (!status && lab->scene.num_hosts < 2)
		status = cli_fail(EXIT_INPUT, "%s: traffic needs two hosts", path);
	if (!status)
		status = begin_returns(lab);
	if (!status)
		status = packet_jobs_begin(lab);
	if (status)
		return status;
	if (request->messages == INT32_MAX)
		request->messages = (lab->jobs.hosts - 1) * request->calls;
	status = configure_rates(lab);
	if (request->time == PACKET_UNSET)
		request->time = longest_time(lab);
	configure_sls(lab);
	if (!status)
		status = configure_pattern(lab);
	if (!status)
		status = check_times(lab);
	if (!status)
		configure_workload(lab);
	if (!status)
		configure_engine(lab);
	return status;
}

void packet_lab_mend(struct packet_lab *lab)
{
	const struct scene_config config = scene_config_of(lab->request);

	configure_engine(lab);
	scene_mend(&lab->scene, &config, &lab->times);
	configure_engine(lab);
}

void packet_lab_end(struct packet_lab *lab)
{
	scene_free(&lab->scene);
	free(lab->ticks);
	free(lab->host_ticks);
	free(lab->sls);
	free(lab->returns);
	packet_jobs_free(lab);
}
