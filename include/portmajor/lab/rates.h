/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A tick for links with different rates: a common unit, of which a block of 64 bytes
 * takes a whole number on each of them.
 */
#ifndef PORTMAJOR_RATES_H
#define PORTMAJOR_RATES_H

#include <portmajor/fabric/fabric.h>

#define PM_RATES_MAX 256

struct pm_rate {
	uint32_t rate;	/* Mb/s */
	uint32_t ticks; /* that a block takes */
	uint32_t links; /* that have it */
};

struct pm_rates {
	uint64_t tick;			   /* femtoseconds */
	uint32_t num;			   /* 0: no link says how fast it is */
	struct pm_rate list[PM_RATES_MAX]; /* the fastest one first */
};

/*
 * The longest tick with which each block's time is right by 1/1000, and the fastest
 * link's exactly; and ticks[port], 1 where there is no cable. Links that do not say how
 * fast they are count as the fastest one. -EINVAL: rates are too far apart. O(ports).
 */
int pm_rates_find(const struct pm_fabric *fabric, uint16_t *ticks, struct pm_rates *rates,
		  struct pm_error *err);

#endif
