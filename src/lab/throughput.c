/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the rate of all hosts together: in permutations, and each to all others. */
#include "bisection_parts.h"

#include <portmajor/memory/xalloc.h>

static void try_permutations(const struct pm_throughput_config *config,
			     struct pm_throughput *result)
{
	uint32_t num = config->of.num_hosts;
	uint32_t steps = config->shifts < num ? config->shifts + 1 : num;
	struct flows flows = {.config = &config->of, .num = num};

	pm_flows_begin(&flows);
	for (uint32_t step = 1; step < steps; step++)
		pm_flows_shift(&flows, (uint32_t)((uint64_t)step * num / steps), step - 1,
			       &result->shifts);
	for (uint32_t i = 0; i < num; i++)
		flows.to[i] = i;
	pm_flows_draw(&flows, &result->drawn);
	result->unreachable = flows.unreachable;
	pm_pool_free(&flows.pool);
}

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

static void try_all(const struct pm_throughput_config *config,
		    struct pm_throughput *result)
{
	uint32_t *load = pm_xarray(config->of.num_ports, sizeof(*load));
	uint32_t num = config->of.num_hosts;

	for (uint32_t begin = 0, end; begin < num; begin = end) {
		end = begin + 1;
		while (end < num && config->leaf[end] == config->leaf[begin])
			end++;
		for (uint32_t to = 0; to < num; to++)
			load_path(config, begin, end, to, load, &result->unreachable);
	}
	result->pace = find_pace(config, load);
	free(load);
}

void pm_throughput_find(const struct pm_throughput_config *config,
			struct pm_throughput *throughput)
{
	*throughput = (struct pm_throughput){0};
	try_permutations(config, throughput);
	try_all(config, throughput);
}
