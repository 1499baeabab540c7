/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A tick for links with different rates: a block of 64 bytes takes a whole number of
 * ticks on each link.
 */
#ifndef PORTMAJOR_RATES_H
#define PORTMAJOR_RATES_H

#include <portmajor/fabric/fabric.h>

#define PM_RATES_MAX 256

struct pm_rate {
	uint32_t rate;	/* Mb/s */
	uint32_t ticks; /* for a block */
	uint32_t links; /* with this rate */
};

struct pm_rates {
	uint64_t tick;			   /* femtoseconds */
	uint32_t num;			   /* 0: no known rate */
	struct pm_rate list[PM_RATES_MAX]; /* the fastest one first */
};

/*
 * Finds the longest tick that gives a block's time exactly on the fastest link, and
 * within 1/1000 on the others. Writes ticks[port], 1 without a cable. Links of unknown
 * rate count as the fastest. -EINVAL: rates differ too much. O(ports).
 */
int pm_rates_find(const struct pm_fabric *fabric, uint16_t *ticks, struct pm_rates *rates,
		  struct pm_error *err);

#endif
