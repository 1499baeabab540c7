/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Max-min fair shares of long flows. All flows grow alike until a cable is full; its
 * flows then keep their rate, and the others go on growing.
 *
 * 	cables of 1:    a: flows 1, 2, 3    b: flows 3, 4
 * 	shares:         1, 2, 3 get 1/3 of a; then 4 gets 2/3, the rest of b
 *
 * Directions of a cable are independent. There are no packets, queues or time: this is an
 * ideal that congestion control approximates.
 */
#ifndef PORTMAJOR_SHARE_H
#define PORTMAJOR_SHARE_H

#include <portmajor/base/error.h>

#include <stdint.h>

/* Borrowed. */
struct pm_share_flows {
	uint32_t num;
	const uint32_t *first; /* [num + 1] index of each flow's first in ports[] */
	const uint32_t *ports; /* output ports, each once */
};

/*
 * rates[flow] in the unit of room[port], which is above 0; 0 for a flow without ports.
 * Exact, except for rounding. O(ports + hops x different rates).
 */
void pm_share_rates(const struct pm_share_flows *flows, uint32_t num_ports,
		    const double *room, double *rates);

#endif
