/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes the traffic of nodes. Each node has its own random numbers, and draws a packet
 * when it begins to send it. So traffic does not depend on the network, and a queue of
 * any length takes no memory.
 */
#include "flit_parts.h"

#include <portmajor/base/random.h>

#define UNIT_BITS 16 /* times are in 1 / 65536 cycles */

static uint64_t next_interval(const struct pm_flit *flit, struct source *source)
{
	uint64_t factor;

	if (flit->config.arrivals == PM_FLIT_INTERVAL)
		return flit->interval;
	factor = pm_random_exponential(&source->random, 1 << UNIT_BITS);
	return factor * flit->interval >> UNIT_BITS;
}

void flit_source_begin(struct pm_flit *flit, uint32_t node)
{
	const struct pm_flit_config *config = &flit->config;
	struct source *source = &flit->sources[node];
	uint64_t state = config->seed + node;

	/* Otherwise consecutive seeds would give the same numbers to different nodes. */
	source->random = pm_random_next(&state) ^ config->seed << 32;
	if (config->arrivals == PM_FLIT_INTERVAL)
		source->birth = pm_random_below(&source->random, flit->interval);
	else
		source->birth = next_interval(flit, source);
	if ((config->pattern == PM_FLIT_HOT_SPOT && config->share == 100 &&
	     node == config->node) ||
	    (config->pattern == PM_FLIT_PAIR && node != config->from))
		source->birth = UINT64_MAX;
}

static uint32_t draw_other(const struct pm_flit *flit, struct source *source,
			   uint32_t node)
{
	uint32_t to =
		(uint32_t)pm_random_below(&source->random, flit->net->num_nodes - 1);

	return to + (to >= node);
}

static uint32_t draw_node(const struct pm_flit *flit, struct source *source,
			  uint32_t node)
{
	const struct pm_flit_config *config = &flit->config;

	switch (config->pattern) {
	case PM_FLIT_SHIFT:
		return (node + config->node) % flit->net->num_nodes;
	case PM_FLIT_PAIR:
		return config->node;
	case PM_FLIT_HOT_SPOT:
		if (node != config->node &&
		    pm_random_below(&source->random, 100) < config->share)
			return config->node;
		break;
	case PM_FLIT_UNIFORM:
		break;
	}
	return draw_other(flit, source, node);
}

struct packet flit_source_take(struct pm_flit *flit, uint32_t node)
{
	struct source *source = &flit->sources[node];
	struct packet packet = {
		.born = (uint32_t)((source->birth + (1u << UNIT_BITS) - 1) >> UNIT_BITS),
		.from = node,
		.to = draw_node(flit, source, node),
	};

	source->birth += next_interval(flit, source);
	return packet;
}

uint64_t flit_source_backlog(const struct pm_flit *flit)
{
	uint64_t packets = 0, now = (uint64_t)flit->now << UNIT_BITS;

	for (uint32_t i = 0; i < flit->net->num_nodes; i++)
		if (flit->sources[i].birth <= now)
			packets += (now - flit->sources[i].birth) / flit->interval + 1;
	return packets;
}
