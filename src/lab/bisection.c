/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the rate at which half of the hosts can send to the other half. */
#include "bisection_parts.h"

#include <portmajor/base/pool.h>
#include <portmajor/base/random.h>
#include <portmajor/lab/share.h>

struct halves {
	const struct pm_bisection_config *config;
	struct pm_bisection *result;
	uint32_t *to;	 /* [sender] its receiver in the other half */
	uint32_t *first; /* as in pm_share_flows */
	uint32_t *ports;
	double *rates;
};

/* Finds the sum of all flows' rates. */
static int send_flows_through(struct halves *h, double *sum, struct pm_error *err)
{
	const struct pm_bisection_config *config = h->config;
	uint32_t half = h->result->half;
	struct pm_share_flows flows = {.num = half, .first = h->first, .ports = h->ports};
	int rc;

	for (uint32_t i = 0; i < half; i++) {
		uint32_t hops = config->path(config->network, i, half + h->to[i],
					     h->ports + h->first[i]);

		h->first[i + 1] = h->first[i] + hops;
		h->result->unreachable += !hops;
	}
	rc = pm_share_rates(&flows, config->num_ports, config->room, h->rates, err);
	if (config->tried)
		config->tried(config->about);
	*sum = 0;
	for (uint32_t i = 0; i < half && !rc; i++) {
		*sum += h->rates[i];
		if (h->rates[i] < h->result->slowest)
			h->result->slowest = h->rates[i];
	}
	return rc;
}

void pm_bisection_count(struct pm_bisection_rates *rates, uint32_t number, double sum)
{
	if (!number || sum < rates->least) {
		rates->least = sum;
		rates->worst = number;
	}
	if (!number || sum > rates->most)
		rates->most = sum;
	rates->mean += (sum - rates->mean) / (number + 1);
}

void pm_bisection_shuffle(uint64_t *random, uint32_t *to, uint32_t num)
{
	for (uint32_t i = num; i > 1; i--) {
		uint32_t other = (uint32_t)pm_random_below(random, i), moved = to[other];

		to[other] = to[i - 1];
		to[i - 1] = moved;
	}
}

static int try_shifts(struct halves *h, struct pm_error *err)
{
	uint32_t half = h->result->half;
	double sum;
	int rc = 0;

	for (uint32_t k = 0; k < half && !rc; k++) {
		for (uint32_t i = 0; i < half; i++)
			h->to[i] = (i + k) % half;
		rc = send_flows_through(h, &sum, err);
		if (!k)
			h->result->straight = sum;
		pm_bisection_count(&h->result->shifts, k, sum);
	}
	return rc;
}

static int try_drawn(struct halves *h, struct pm_error *err)
{
	uint64_t random = h->config->seed;
	double sum;
	int rc = 0;

	for (uint32_t k = 0; k < h->config->drawn && !rc; k++) {
		pm_bisection_shuffle(&random, h->to, h->result->half);
		rc = send_flows_through(h, &sum, err);
		pm_bisection_count(&h->result->drawn, k, sum);
	}
	return rc;
}

int pm_bisection_find(const struct pm_bisection_config *config,
		      struct pm_bisection *bisection, struct pm_error *err)
{
	struct pm_bisection found = {.half = config->num_hosts / 2,
				     .slowest = config->room[0]};
	struct pm_pool pool = {0};
	size_t half = found.half;
	struct halves h = {
		.config = config,
		.result = &found,
		.to = pm_pool_array(&pool, half, sizeof(uint32_t)),
		.first = pm_pool_array(&pool, half + 1, sizeof(uint32_t)),
		.ports = pm_pool_array(&pool, half * PM_PATH_MAX, sizeof(uint32_t)),
		.rates = pm_pool_array(&pool, half, sizeof(double)),
	};
	int rc = pm_pool_check(&pool, err);

	for (uint32_t i = 1; i < config->num_ports; i++)
		if (config->room[i] > found.slowest)
			found.slowest = config->room[i];
	if (!rc)
		rc = try_shifts(&h, err);
	if (!rc)
		rc = try_drawn(&h, err);
	if (!rc)
		*bisection = found;
	pm_pool_free(&pool);
	return rc;
}
