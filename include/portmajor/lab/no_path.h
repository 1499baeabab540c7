/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pairs of hosts that tables do not connect. */
#ifndef PORTMAJOR_NO_PATH_H
#define PORTMAJOR_NO_PATH_H

#include <stdint.h>

struct pm_no_path {
	uint64_t pairs;	   /* ordered ones, whose packets do not arrive */
	uint32_t from, to; /* one of the first leaf with some, if any */
};

#endif
