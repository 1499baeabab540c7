/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shares links fairly: finds ports that are full first, level by level; their flows are
 * final.
 */
#include <portmajor/lab/share.h>

#include <portmajor/base/pool.h>
#include <portmajor/memory/xalloc.h>

#define SAME (1 + 1e-12) /* shares that differ by rounding alone */

struct sharing {
	const struct pm_share_flows *flows;
	double *rates;	   /* [flow]; below 0: still growing */
	double *left;	   /* [port] room that final flows leave */
	uint32_t *growing; /* [port] number of its growing flows */
	uint32_t *first;   /* [port + 1] index of its first flow in on[] */
	uint32_t *on;	   /* flows, by port */
	uint32_t *used;	   /* ports with growing flows */
	uint32_t num_used;
};

/* Lists flows by port. */
static void index_flows(struct sharing *s, uint32_t num_ports)
{
	const struct pm_share_flows *flows = s->flows;

	for (uint32_t i = 0; i < flows->first[flows->num]; i++)
		s->growing[flows->ports[i]]++;
	for (uint32_t port = 0; port < num_ports; port++) {
		s->first[port + 1] = s->first[port] + s->growing[port];
		if (s->growing[port])
			s->used[s->num_used++] = port;
		s->growing[port] = 0;
	}
	for (uint32_t f = 0; f < flows->num; f++) {
		s->rates[f] = flows->first[f] < flows->first[f + 1] ? -1 : 0;
		for (uint32_t i = flows->first[f]; i < flows->first[f + 1]; i++) {
			uint32_t port = flows->ports[i];

			s->on[s->first[port] + s->growing[port]++] = f;
		}
	}
}

static double share_of(const struct sharing *s, uint32_t port)
{
	return s->left[port] / s->growing[port];
}

/* Makes the flows on a full port final. */
static void fill_port(struct sharing *s, uint32_t port, double rate)
{
	for (uint32_t i = s->first[port]; i < s->first[port + 1]; i++) {
		uint32_t f = s->on[i];

		if (s->rates[f] >= 0)
			continue;
		s->rates[f] = rate;
		for (uint32_t k = s->flows->first[f]; k < s->flows->first[f + 1]; k++) {
			s->left[s->flows->ports[k]] -= rate;
			s->growing[s->flows->ports[k]]--;
		}
	}
}

/* The next level, which is not below the last one. */
static double raise_level(struct sharing *s, double level)
{
	double next = share_of(s, s->used[0]);
	uint32_t kept = 0;

	for (uint32_t i = 1; i < s->num_used; i++)
		if (share_of(s, s->used[i]) < next)
			next = share_of(s, s->used[i]);
	if (next < level)
		next = level;
	for (uint32_t i = 0; i < s->num_used; i++)
		if (s->growing[s->used[i]] && share_of(s, s->used[i]) <= next * SAME)
			fill_port(s, s->used[i], next);
	for (uint32_t i = 0; i < s->num_used; i++)
		if (s->growing[s->used[i]])
			s->used[kept++] = s->used[i];
	s->num_used = kept;
	return next;
}

void pm_share_rates(const struct pm_share_flows *flows, uint32_t num_ports,
		    const double *room, double *rates)
{
	struct pm_pool pool = {0};
	double level = 0;
	struct sharing s = {
		.flows = flows,
		.rates = rates,
		.left = pm_pool_xcopy(&pool, room, num_ports, sizeof(double)),
		.growing = pm_pool_xarray(&pool, num_ports, sizeof(uint32_t)),
		.first = pm_pool_xarray(&pool, (size_t)num_ports + 1, sizeof(uint32_t)),
		.on = pm_pool_xarray(&pool, flows->first[flows->num], sizeof(uint32_t)),
		.used = pm_pool_xarray(&pool, num_ports, sizeof(uint32_t)),
	};

	index_flows(&s, num_ports);
	while (s.num_used)
		level = raise_level(&s, level);
	pm_pool_free(&pool);
}
