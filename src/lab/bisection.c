/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the rate at which half of the hosts can send to the other half. */
#include "bisection_parts.h"

#include <portmajor/base/random.h>
#include <portmajor/lab/share.h>

/* ---- Flows ---- */

int pm_flows_begin(struct flows *flows, struct pm_error *err)
{
	struct pm_pool *pool = &flows->pool;
	size_t num = flows->num;

	flows->to = pm_pool_array(pool, num, sizeof(uint32_t));
	flows->first = pm_pool_array(pool, num + 1, sizeof(uint32_t));
	flows->ports = pm_pool_array(pool, num * PM_PATH_MAX, sizeof(uint32_t));
	flows->rates = pm_pool_array(pool, num, sizeof(double));
	return pm_pool_check(pool, err);
}

/* Sends all flows; adds their total rate. */
static int send_flows(struct flows *flows, uint32_t number,
		      struct pm_bisection_rates *rates, struct pm_error *err)
{
	const struct pm_bisection_config *config = flows->config;
	const struct pm_share_flows shared = {
		.num = flows->num, .first = flows->first, .ports = flows->ports};
	double sum = 0;
	int rc;

	for (uint32_t i = 0; i < flows->num; i++) {
		uint32_t hops =
			config->path(config->network, i, flows->first_to + flows->to[i],
				     flows->ports + flows->first[i]);

		flows->first[i + 1] = flows->first[i] + hops;
		flows->unreachable += !hops;
	}
	rc = pm_share_rates(&shared, config->num_ports, config->room, flows->rates, err);
	if (config->tried)
		config->tried(config->about);
	if (rc)
		return rc;
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
	return 0;
}

int pm_flows_shift(struct flows *flows, uint32_t shift, uint32_t number,
		   struct pm_bisection_rates *rates, struct pm_error *err)
{
	for (uint32_t i = 0; i < flows->num; i++)
		flows->to[i] = (i + shift) % flows->num;
	return send_flows(flows, number, rates, err);
}

int pm_flows_draw(struct flows *flows, struct pm_bisection_rates *rates,
		  struct pm_error *err)
{
	uint64_t random = flows->config->seed;
	uint32_t *to = flows->to;
	int rc = 0;

	for (uint32_t k = 0; k < flows->config->drawn && !rc; k++) {
		for (uint32_t i = flows->num; i > 1; i--) {
			uint32_t other = (uint32_t)pm_random_below(&random, i);
			uint32_t moved = to[other];

			to[other] = to[i - 1];
			to[i - 1] = moved;
		}
		rc = send_flows(flows, k, rates, err);
	}
	return rc;
}

/* ---- Halves ---- */

int pm_bisection_find(const struct pm_bisection_config *config,
		      struct pm_bisection *bisection, struct pm_error *err)
{
	uint32_t half = config->num_hosts / 2;
	struct flows flows = {.config = config,
			      .num = half,
			      .first_to = half,
			      .slowest = config->room[0]};
	struct pm_bisection found = {.half = half};
	int rc = pm_flows_begin(&flows, err);

	for (uint32_t i = 1; i < config->num_ports; i++)
		if (config->room[i] > flows.slowest)
			flows.slowest = config->room[i];
	for (uint32_t k = 0; k < half && !rc; k++) {
		rc = pm_flows_shift(&flows, k, k, &found.shifts, err);
		if (!k)
			found.straight = found.shifts.mean;
	}
	if (!rc)
		rc = pm_flows_draw(&flows, &found.drawn, err);
	if (!rc) {
		found.slowest = flows.slowest;
		found.unreachable = flows.unreachable;
		*bisection = found;
	}
	pm_pool_free(&flows.pool);
	return rc;
}
