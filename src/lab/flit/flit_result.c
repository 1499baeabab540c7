/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Results of a run. */
#include "flit_parts.h"

#include <string.h>

/* By chance a backlog may grow: by packets per node, and by a share of all packets. */
#define CHANCE_PACKETS 2.0
#define CHANCE_SHARE 0.01

void pm_flit_measure(struct pm_flit *flit)
{
	flit->since = flit->now;
	flit->flits_in = flit->packets_in = flit->latency = 0;
	flit->lost_flits = flit->lost_packets = 0;
	flit->longest = flit->highest_fill = 0;
	flit->first_backlog = flit_source_backlog(flit);
	memset(flit->histogram, 0, FLIT_BINS * sizeof(*flit->histogram));
	for (uint32_t i = 0; i < flit->net->num_links; i++)
		flit->links[i].sent = 0;
	for (uint32_t i = 0; i < flit->net->num_nodes; i++)
		flit->sources[i].arrived = 0;
}

/* The latency that this percentage of packets does not exceed. */
static uint32_t find_percentile(const struct pm_flit *flit, uint64_t percent)
{
	uint64_t counted = 0;

	for (uint32_t bin = 0; bin < FLIT_BINS; bin++) {
		counted += flit->histogram[bin];
		if (counted && counted * 100 >= flit->packets_in * percent)
			return bin < 2048 ? bin : (bin % 1024 + 1024) << (bin / 1024 - 1);
	}
	return 0;
}

static double find_fairness(const struct pm_flit *flit)
{
	double sum = 0, squares = 0, num = 0;

	for (uint32_t i = 0; i < flit->net->num_nodes; i++) {
		double one = (double)flit->sources[i].arrived;

		if (flit->sources[i].birth == UINT64_MAX)
			continue;
		sum += one;
		squares += one * one;
		num++;
	}
	return squares > 0 ? sum * sum / (num * squares) : 1;
}

static void count_link_loads(const struct pm_flit *flit, struct pm_flit_result *result)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < flit->net->num_links; i++) {
		result->hops += flit->links[i].sent;
		if (flit->links[i].sent > most) {
			most = flit->links[i].sent;
			result->busiest_link = i;
		}
	}
	if (result->cycles)
		result->busiest = (double)most / (double)result->cycles;
}

void pm_flit_result(const struct pm_flit *flit, struct pm_flit_result *result)
{
	double nodes = flit->net->num_nodes, born;

	*result = (struct pm_flit_result){
		.cycles = flit->now - flit->since,
		.flits = flit->flits_in,
		.packets = flit->packets_in,
		.p50 = find_percentile(flit, 50),
		.p99 = find_percentile(flit, 99),
		.max = flit->longest,
		.highest_fill = flit->highest_fill,
		.lost_flits = flit->lost_flits,
		.lost_packets = flit->lost_packets,
		.fairness = find_fairness(flit),
	};
	count_link_loads(flit, result);
	if (result->packets)
		result->mean = (double)flit->latency / (double)flit->packets_in;
	if (result->cycles)
		result->accepted =
			(double)flit->flits_in / (double)result->cycles / nodes;
	result->backlog =
		((double)flit_source_backlog(flit) - (double)flit->first_backlog) / nodes;
	born = (double)(result->cycles << 16) / (double)flit->interval;
	result->saturated = result->backlog > CHANCE_PACKETS + CHANCE_SHARE * born;
}

const struct pm_flit_deadlock *pm_flit_deadlock(const struct pm_flit *flit)
{
	return &flit->deadlock;
}

struct pm_flit_count pm_flit_count(const struct pm_flit *flit)
{
	struct pm_flit_count count = {
		.sent = flit->sent, .arrived = flit->arrived, .lost = flit->lost};
	size_t vcs = (size_t)flit->net->num_links << flit->vc_shift;

	for (size_t i = 0; i < vcs; i++)
		count.inside += flit->vcs[i].fill;
	for (uint32_t i = 0; i < flit->cable_span; i++)
		count.inside += flit->num_cables[i];
	return count;
}
