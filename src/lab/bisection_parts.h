/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by bisections and the throughput of all hosts. */
#ifndef PORTMAJOR_LAB_BISECTION_PARTS_H
#define PORTMAJOR_LAB_BISECTION_PARTS_H

#include <portmajor/lab/bisection.h>

/* Adds the total rate of pairing `number`; called in order, from 0 on. */
void pm_bisection_count(struct pm_bisection_rates *rates, uint32_t number, double sum);

/* Writes the next random permutation. */
void pm_bisection_shuffle(uint64_t *random, uint32_t *to, uint32_t num);

#endif
