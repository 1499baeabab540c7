/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hosts that no cables join: those of two parts without a cable between them, unless each
 * has a port in some common part. A host does not forward packets, so it joins no parts.
 * Hosts are end nodes with a cable to a switch, but not aggregation nodes.
 */
#ifndef PORTMAJOR_APART_H
#define PORTMAJOR_APART_H

#include <portmajor/fabric/fabric.h>

#include <stdbool.h>
#include <stddef.h>

struct pm_apart {
	uint64_t pairs;	  /* of hosts */
	uint64_t count;	  /* of these: without a common part */
	uint32_t host[2]; /* nodes of the first such pair, if there is one */
};

/*
 * Counts these pairs in a fabric with end nodes. -ENOMEM. Cost: O(links), and
 * O(hosts^2 x ports of each) if there are several parts.
 */
int pm_apart_find(const struct pm_fabric *fabric, struct pm_apart *apart,
		  struct pm_error *err);

/* Writes one line without a newline; false, and "": cables join all hosts. */
bool pm_apart_describe(const struct pm_fabric *fabric, const struct pm_apart *apart,
		       char *text, size_t size);

#endif
