/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the lane from which an output sends a packet. */
#include "packet_parts.h"

enum { HIGH, LOW };

/* The lanes in a table, as bits. */
static uint16_t lanes_of(const struct pm_packet_weight *table, uint32_t num)
{
	uint16_t lanes = 0;

	for (uint32_t i = 0; i < num; i++)
		if (table[i].weight)
			lanes = (uint16_t)(lanes | 1u << table[i].lane);
	return lanes;
}

bool pm_packet_is_served(const struct pm_packet_lanes *lanes, uint32_t sl)
{
	uint32_t served = lanes_of(lanes->high, lanes->num_high) |
			  lanes_of(lanes->low, lanes->num_low);

	return served >> lanes->of_sl[sl] & 1;
}

void arbiter_begin(struct pm_packet *sim)
{
	const struct pm_packet_lanes *lanes = sim->config.lanes;

	sim->served[HIGH] = lanes_of(lanes->high, lanes->num_high);
	sim->served[LOW] = lanes_of(lanes->low, lanes->num_low);
	for (uint32_t i = 0; i < sim->config.fabric->num_ports; i++)
		sim->arbiters[i] = (struct arbiter){
			.at = {(uint8_t)(lanes->num_high - 1),
			       (uint8_t)(lanes->num_low - 1)},
			.high_left = lanes->limit ? (int32_t)lanes->limit * 64 : 1,
		};
}

/* Takes the next of these lanes, in turn, in a table. */
static uint32_t take_turn(const struct pm_packet_weight *table, uint32_t num, uint8_t *at,
			  int16_t *left, uint32_t ready)
{
	if (*left > 0 && ready >> table[*at].lane & 1)
		return table[*at].lane;
	do
		*at = (uint8_t)((*at + 1u) % num);
	while (!table[*at].weight || !(ready >> table[*at].lane & 1));
	*left = table[*at].weight;
	return table[*at].lane;
}

uint32_t arbiter_choose(struct pm_packet *sim, uint32_t out, uint32_t ready)
{
	const struct pm_packet_lanes *lanes = sim->config.lanes;
	struct arbiter *a = &sim->arbiters[out];
	uint32_t high = ready & sim->served[HIGH], low = ready & sim->served[LOW];

	a->low = false;
	if (!high || (a->high_left <= 0 && lanes->limit != PM_PACKET_NO_LIMIT)) {
		a->high_left = lanes->limit ? (int32_t)lanes->limit * 64 : 1;
		a->low = low;
	}
	if (a->low)
		return take_turn(lanes->low, lanes->num_low, &a->at[LOW], &a->left[LOW],
				 low);
	return high ? take_turn(lanes->high, lanes->num_high, &a->at[HIGH],
				&a->left[HIGH], high)
		    : PM_NONE;
}

void arbiter_sent(struct pm_packet *sim, uint32_t out, uint32_t blocks)
{
	struct arbiter *a = &sim->arbiters[out];
	int16_t *left = &a->left[a->low ? LOW : HIGH];

	*left = (int16_t)(*left - (int16_t)blocks);
	if (!a->low)
		a->high_left -= (int32_t)blocks;
}
