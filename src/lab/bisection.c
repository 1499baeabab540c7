/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the rate at which half of the hosts can send to the other half. */
#include "bisection_parts.h"

#include <portmajor/base/random.h>
#include <portmajor/lab/share.h>
#include <portmajor/memory/xalloc.h>

/* ---- Flows ---- */

void pm_flows_begin(struct flows *flows)
{
	struct pm_pool *pool = &flows->pool;
	size_t num = flows->num;

	flows->to = pm_pool_xarray(pool, num, sizeof(uint32_t));
	flows->first = pm_pool_xarray(pool, num + 1, sizeof(uint32_t));
	flows->ports = pm_pool_xarray(pool, num * PM_PATH_MAX, sizeof(uint32_t));
	flows->rates = pm_pool_xarray(pool, num, sizeof(double));
}

/* Sends all flows; adds their total rate. */
static void send_flows(struct flows *flows, uint32_t number,
		       struct pm_bisection_rates *rates)
{
	const struct pm_bisection_config *config = flows->config;
	const struct pm_share_flows shared = {
		.num = flows->num, .first = flows->first, .ports = flows->ports};
	double sum = 0;

	for (uint32_t i = 0; i < flows->num; i++) {
		uint32_t hops =
			config->path(config->network, i, flows->first_to + flows->to[i],
				     flows->ports + flows->first[i]);

		flows->first[i + 1] = flows->first[i] + hops;
		flows->unreachable += !hops;
	}
	pm_share_rates(&shared, config->num_ports, config->room, flows->rates);
	if (config->tried)
		config->tried(config->about);
	for (uint32_t i = 0; i < flows->num; i++) {
		sum += flows->rates[i];
		if (flows->rates[i] < flows->slowest)
			flows->slowest = flows->rates[i];
	}
	if (!number || sum < rates->least) {
		rates->least = sum;
		rates->worst = number;
	}
	if (!number || sum > rates->most)
		rates->most = sum;
	rates->mean += (sum - rates->mean) / (number + 1);
}

void pm_flows_shift(struct flows *flows, uint32_t shift, uint32_t number,
		    struct pm_bisection_rates *rates)
{
	for (uint32_t i = 0; i < flows->num; i++)
		flows->to[i] = (i + shift) % flows->num;
	send_flows(flows, number, rates);
}

void pm_flows_draw(struct flows *flows, struct pm_bisection_rates *rates)
{
	uint64_t random = flows->config->seed;
	uint32_t *to = flows->to;

	for (uint32_t k = 0; k < flows->config->drawn; k++) {
		for (uint32_t i = flows->num; i > 1; i--) {
			uint32_t other = (uint32_t)pm_random_below(&random, i);
			uint32_t moved = to[other];

			to[other] = to[i - 1];
			to[i - 1] = moved;
		}
		send_flows(flows, k, rates);
	}
}

/* ---- Halves ---- */

void pm_bisection_find(const struct pm_bisection_config *config,
		       struct pm_bisection *bisection)
{
	uint32_t half = config->num_hosts / 2;
	struct flows flows = {.config = config,
			      .num = half,
			      .first_to = half,
			      .slowest = config->room[0]};
	struct pm_bisection found = {.half = half};

	pm_flows_begin(&flows);
	for (uint32_t i = 1; i < config->num_ports; i++)
		if (config->room[i] > flows.slowest)
			flows.slowest = config->room[i];
	for (uint32_t k = 0; k < half; k++) {
		pm_flows_shift(&flows, k, k, &found.shifts);
		if (!k)
			found.straight = found.shifts.mean;
	}
	pm_flows_draw(&flows, &found.drawn);
	found.slowest = flows.slowest;
	found.unreachable = flows.unreachable;
	*bisection = found;
	pm_pool_free(&flows.pool);
}
