/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flows between pairs of hosts: shared by bisections and the throughput of all hosts. */
#ifndef PORTMAJOR_LAB_BISECTION_PARTS_H
#define PORTMAJOR_LAB_BISECTION_PARTS_H

#include <portmajor/base/pool.h>
#include <portmajor/lab/bisection.h>

struct flows {
	const struct pm_bisection_config *config;
	uint32_t num;	   /* senders: hosts from 0 on */
	uint32_t first_to; /* host that is receiver 0 */
	uint32_t *to;	   /* [sender] its receiver, below num */
	uint32_t *first;   /* as in pm_share_flows */
	uint32_t *ports;
	double *rates;	/* [sender] of the last pairing */
	double slowest; /* rate of all pairings; the caller begins it */
	uint64_t unreachable;
	struct pm_pool pool;
};

/* Allocates arrays, in flows->pool, for config and num. */
void pm_flows_begin(struct flows *flows);

/*
 * Shifts all receivers: `shift` is added to the sender's index, cyclically. Adds the
 * total rate to *rates as pairing `number`; called in order, from 0 on.
 */
void pm_flows_shift(struct flows *flows, uint32_t shift, uint32_t number,
		    struct pm_bisection_rates *rates);

/* Draws config->drawn permutations of flows->to, one from the other. */
void pm_flows_draw(struct flows *flows, struct pm_bisection_rates *rates);

#endif
