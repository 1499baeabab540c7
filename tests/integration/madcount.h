/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layout of the file through which libmadcount.so shows how many management
 * datagrams a process has sent.
 *
 * libmadcount.so is preloaded in front of libumad2sim.so into OpenSM. At the
 * first datagram it maps the file named by MADCOUNT_FILE and from then on keeps
 * a struct madcount there, which any other process may map and read at any time.
 * No umad call, no file: children that OpenSM starts do not disturb it.
 *
 * Native byte order, naturally aligned, no padding, every counter a uint64_t.
 * Counters only grow; a reader who wants the count since some moment keeps the
 * old values and subtracts. The one exception is stated at first_lft_smp.
 * A file that is still all zero (magic included) counts nothing yet.
 *
 * MADCOUNT_DELAY_US, if set, makes each SMP wait that many microseconds before
 * it is sent (in the sending thread, so the delays add up as on a serial link).
 */
#ifndef PM_TESTS_MADCOUNT_H
#define PM_TESTS_MADCOUNT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define MADCOUNT_MAGIC 0x434d4d50u /* "PMMC" read as little endian */
#define MADCOUNT_VERSION 2u

/* Attributes 0x00-0x3f have a slot each; all others share the last one. */
#define MADCOUNT_ATTR_SLOTS 65u
#define MADCOUNT_ATTR_OTHER 64u

/* Columns of the attribute table. */
enum madcount_method {
	MADCOUNT_GET,
	MADCOUNT_SET,
	MADCOUNT_OTHER_METHOD, /* trap repress, answers, traps */
	MADCOUNT_METHODS,
};

struct madcount {
	uint32_t magic;
	uint32_t version;
	uint32_t attr_slots;
	uint32_t methods;

	uint64_t smps;	      /* SMPs given to umad_send, classes 0x01 and 0x81 */
	uint64_t requests;    /* of these, Get and Set: they await an answer */
	uint64_t send_errors; /* requests that umad_send refused */
	uint64_t responses;   /* answers to SMPs received */
	uint64_t timeouts;    /* requests that came back unanswered */
	uint64_t traps;	      /* SMP traps received */
	uint64_t gmps;	      /* datagrams sent in any other class */
	uint64_t discoveries; /* NodeInfo Gets of zero hops: OpenSM sends
				 one each time it begins a discovery */
	uint64_t lft_sets;

	/* The number, counted by smps from 1, of an SMP; 0: none so far. */
	uint64_t last_lft_smp;
	/* As above. The reader may store 0: the next LFT Set fills it in again. */
	uint64_t first_lft_smp;

	/* CLOCK_MONOTONIC in nanoseconds at the time of sending; 0: none so far. */
	uint64_t last_smp_ns;
	uint64_t last_lft_ns;
	uint64_t first_lft_ns; /* belongs to first_lft_smp */
	uint64_t last_trap_ns; /* time of receiving it */

	uint64_t top_lft_block; /* the highest block number that was ever Set */

	/* SMPs sent by attribute (host order) and method. */
	uint64_t attr[MADCOUNT_ATTR_SLOTS][MADCOUNT_METHODS];
};

static_assert(offsetof(struct madcount, smps) == 16, "madcount layout");
static_assert(offsetof(struct madcount, attr) == 16 + 16 * 8, "madcount layout");
static_assert(sizeof(struct madcount) ==
		      16 + (16 + MADCOUNT_ATTR_SLOTS * MADCOUNT_METHODS) * 8,
	      "madcount layout");

#endif
