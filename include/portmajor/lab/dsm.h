/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared memory in software over InfiniBand, as Araki et al. built it ("Fagus over the
 * Verb layer"): datagrams (UD), rings of posted receives, acknowledgements and time-outs.
 *
 * A node requests pages, or only an acknowledgement, from another. A message is sent as
 * packets of at most PM_DSM_PACKET bytes, of which PM_DSM_HEADER are a header (size and
 * number of the message, number of the packet). Each packet
 *
 * 	waits for the sender's processor, which takes `touch` for it,
 * 	passes the sender's software in `delay`, together with others,
 * 	waits for the sender's link, and is on it for as long as its bytes take,
 * 	passes the switches in `latency`, and waits for the receiver's link,
 * 	takes one of the receives that the receiver has posted, or is lost,
 * 	passes the receiver's software in `delay`,
 * 	waits for the receiver's processor, which takes `touch`, and posts it again.
 *
 * A message is lost if one of its packets is. A node that lacks answers after `timeout`
 * requests the rest again.
 */
#ifndef PORTMAJOR_DSM_H
#define PORTMAJOR_DSM_H

#include <portmajor/base/error.h>

#include <stdbool.h>
#include <stdint.h>

#define PM_DSM_PACKET 2048
#define PM_DSM_HEADER 6
#define PM_DSM_MAX_NODES 256
#define PM_DSM_MAX_PAGES 64
#define PM_DSM_MAX_TIME 1000000000000000 /* 1,000 seconds, for a setting */

struct pm_dsm_config {
	uint32_t nodes; /* 1 to PM_DSM_MAX_NODES */
	/*
	 * Pages are written into the requester's memory (RDMA): one message, split by the
	 * adapter, without a posted receive, and with one use of the processor at its
	 * end.
	 */
	bool rdma;
	/* Picoseconds, each at most PM_DSM_MAX_TIME. */
	uint64_t delay, touch, latency, timeout;
	uint32_t mbps;	 /* of a link, 1 and up */
	uint32_t posted; /* receives of each node, 1 and up */
	uint32_t tries;	 /* requests that a node sends before it gives up, 1 and up */
	uint32_t small;	 /* bytes of a request and of an acknowledgement */
	uint32_t page;	 /* bytes, at most 1 MiB, as of `small` */
};

struct pm_dsm_result {
	uint64_t first, last; /* picoseconds until the first node, and until the last
				 node, had all its answers */
	uint64_t messages, packets, lost, bytes;
	uint64_t headers;    /* bytes of headers, among `bytes` */
	uint64_t repeats;    /* repeated requests */
	uint32_t unanswered; /* given up */
};

/*
 * All three functions: -EINVAL, with a message: the configuration is out of range;
 * -ERANGE: more than 50 days. O(packets x log packets).
 *
 * Node 0 invalidates the copies of all others: it requests an acknowledgement of each,
 * all at once.
 */
int pm_dsm_invalidate(const struct pm_dsm_config *config, struct pm_dsm_result *result,
		      struct pm_error *err);

/* All others request pages, 1 to PM_DSM_MAX_PAGES, from node 0 at the same time. */
int pm_dsm_update(const struct pm_dsm_config *config, uint32_t pages,
		  struct pm_dsm_result *result, struct pm_error *err);

/* Each node requests pages from the node before it in a row, and then from the next. */
int pm_dsm_exchange(const struct pm_dsm_config *config, uint32_t pages,
		    struct pm_dsm_result *result, struct pm_error *err);

#endif
