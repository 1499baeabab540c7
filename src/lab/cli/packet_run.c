/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs the packet engine, and converts between its ticks and microseconds. */
#include "packet_run.h"

#define PIECES 50 /* of a run, between two updates of the progress */

uint32_t packet_ticks(const struct packet_lab *lab, uint64_t ps)
{
	uint64_t ticks = (ps * 1000 + lab->tick / 2) / lab->tick;

	return ticks < PM_PACKET_MAX_TICKS ? (uint32_t)ticks : PM_PACKET_MAX_TICKS;
}

double packet_us(const struct packet_lab *lab, double ticks)
{
	return ticks * ((double)lab->tick / 1e3) / 1e6;
}

json_t *packet_us_json(const struct packet_lab *lab, bool known, double ticks)
{
	return known ? json_real(packet_us(lab, ticks)) : json_null();
}

struct pm_packet_config packet_run_healthy(const struct packet_lab *lab)
{
	struct pm_packet_config config = lab->config;

	config.num_failed = 0;
	config.num_reset = 0;
	config.num_returns = 0;
	config.num_sets = 0;
	return config;
}

static void show_progress(struct packet_lab *lab, uint32_t piece)
{
	cli_progress_show(&lab->progress, (uint64_t)lab->done * PIECES + piece,
			  (uint64_t)lab->count * PIECES, lab->done + 1, lab->count);
}

static bool is_done(const struct packet_lab *lab, const struct packet_run *run)
{
	return packet_request_closed(lab->request) && !pm_workload_left(run->workload);
}

static void run_through(struct packet_lab *lab, struct packet_run *run)
{
	const struct pm_packet_config *config = &lab->config;
	uint64_t end = config->warmup + (uint64_t)config->batch * config->batches + 1;

	for (uint32_t piece = 1; piece <= PIECES && !is_done(lab, run); piece++) {
		show_progress(lab, piece - 1);
		pm_packet_run(run->packet, (uint32_t)(end * piece / PIECES));
	}
	pm_packet_result(run->packet, &run->r);
}

int packet_run_begin(struct packet_lab *lab, const struct pm_workload_config *workload,
		     const struct pm_packet_config *engine, struct packet_run *run)
{
	struct pm_packet_config config = *engine;
	struct pm_error err;

	*run = (struct packet_run){0};
	if (pm_workload_new(workload, &run->workload, &err))
		return cli_refuse(&err);
	config.workload = run->workload;
	if (pm_packet_new(&config, &run->packet, &err))
		return cli_refuse(&err);
	run_through(lab, run);
	lab->done++;
	return EXIT_FINE;
}

void packet_run_end(struct packet_run *run)
{
	pm_packet_free(run->packet);
	pm_workload_free(run->workload);
}
