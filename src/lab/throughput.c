/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the rate of all hosts together: in permutations, and each to all others. */
#include "bisection_parts.h"

#include <portmajor/base/pool.h>
#include <portmajor/base/random.h>
#include <portmajor/lab/share.h>

struct senders {
	const struct pm_throughput_config *config;
	struct pm_throughput *result;
	uint32_t *to; /* [host] */
	uint32_t *first, *ports;
	double *rates;
};

/* ---- Permutations ---- */

/* Finds the sum of all flows' rates. */
static int send_permutation(struct senders *s, double *sum, struct pm_error *err)
{
	const struct pm_bisection_config *of = &s->config->of;
	struct pm_share_flows flows = {
		.num = of->num_hosts, .first = s->first, .ports = s->ports};
	int rc;

	for (uint32_t i = 0; i < of->num_hosts; i++) {
		uint32_t hops =
			of->path(of->network, i, s->to[i], s->ports + s->first[i]);

		s->first[i + 1] = s->first[i] + hops;
		s->result->unreachable += !hops;
	}
	rc = pm_share_rates(&flows, of->num_ports, of->room, s->rates, err);
	if (of->tried)
		of->tried(of->about);
	*sum = 0;
	for (uint32_t i = 0; i < of->num_hosts && !rc; i++)
		*sum += s->rates[i];
	return rc;
}

static int send_shifts(struct senders *s, struct pm_error *err)
{
	uint32_t num = s->config->of.num_hosts;
	uint32_t steps = s->config->shifts < num ? s->config->shifts + 1 : num;
	double sum;
	int rc = 0;

	for (uint32_t step = 1; step < steps && !rc; step++) {
		uint32_t k = (uint32_t)((uint64_t)step * num / steps);

		for (uint32_t i = 0; i < num; i++)
			s->to[i] = (i + k) % num;
		rc = send_permutation(s, &sum, err);
		pm_bisection_count(&s->result->shifts, step - 1, sum);
	}
	return rc;
}

static int send_drawn(struct senders *s, struct pm_error *err)
{
	uint64_t random = s->config->of.seed;
	double sum;
	int rc = 0;

	for (uint32_t i = 0; i < s->config->of.num_hosts; i++)
		s->to[i] = i;
	for (uint32_t k = 0; k < s->config->of.drawn && !rc; k++) {
		pm_bisection_shuffle(&random, s->to, s->config->of.num_hosts);
		rc = send_permutation(s, &sum, err);
		pm_bisection_count(&s->result->drawn, k, sum);
	}
	return rc;
}

static int try_permutations(struct senders *s, struct pm_error *err)
{
	size_t num = s->config->of.num_hosts;
	struct pm_pool pool = {0};
	int rc;

	s->to = pm_pool_array(&pool, num, sizeof(uint32_t));
	s->first = pm_pool_array(&pool, num + 1, sizeof(uint32_t));
	s->ports = pm_pool_array(&pool, num * PM_PATH_MAX, sizeof(uint32_t));
	s->rates = pm_pool_array(&pool, num, sizeof(double));
	rc = pm_pool_check(&pool, err);
	if (!rc)
		rc = send_shifts(s, err);
	if (!rc)
		rc = send_drawn(s, err);
	pm_pool_free(&pool);
	return rc;
}

/* ---- All to all ---- */

/*
 * Adds the flows from all hosts of a switch to one host: these use the same links, except
 * the hosts' own.
 */
static void load_path(const struct pm_throughput_config *config, uint32_t begin,
		      uint32_t end, uint32_t to, uint32_t *load, uint64_t *unreachable)
{
	uint32_t flows = end - begin - (to >= begin && to < end), hops;
	uint32_t path[PM_PATH_MAX];

	if (!flows)
		return;
	hops = config->of.path(config->of.network, to == begin ? begin + 1 : begin, to,
			       path);
	for (uint32_t i = 1; i < hops; i++)
		load[path[i]] += flows;
	*unreachable += hops ? 0 : flows;
}

/* All hosts go at the pace of the slowest flows: those on the link that is full first. */
static double find_pace(const struct pm_throughput_config *config, const uint32_t *load)
{
	uint32_t flows = config->of.num_hosts - 1;
	double pace = config->of.room[config->port[0]];

	for (uint32_t i = 0; i < config->of.num_hosts; i++)
		if (config->of.room[config->port[i]] < pace)
			pace = config->of.room[config->port[i]];
	for (uint32_t port = 0; port < config->of.num_ports; port++)
		if (load[port] && config->of.room[port] * flows / load[port] < pace)
			pace = config->of.room[port] * flows / load[port];
	return pace;
}

static int try_all(const struct pm_throughput_config *config,
		   struct pm_throughput *result, struct pm_error *err)
{
	struct pm_pool pool = {0};
	uint32_t *load = pm_pool_array(&pool, config->of.num_ports, sizeof(*load));
	uint32_t num = config->of.num_hosts;
	int rc = pm_pool_check(&pool, err);

	for (uint32_t begin = 0, end; begin < num && !rc; begin = end) {
		end = begin + 1;
		while (end < num && config->leaf[end] == config->leaf[begin])
			end++;
		for (uint32_t to = 0; to < num; to++)
			load_path(config, begin, end, to, load, &result->unreachable);
	}
	if (!rc)
		result->pace = find_pace(config, load);
	pm_pool_free(&pool);
	return rc;
}

int pm_throughput_find(const struct pm_throughput_config *config,
		       struct pm_throughput *throughput, struct pm_error *err)
{
	struct pm_throughput found = {0};
	struct senders s = {.config = config, .result = &found};
	int rc = try_permutations(&s, err);

	if (!rc)
		rc = try_all(config, &found, err);
	if (!rc)
		*throughput = found;
	return rc;
}
