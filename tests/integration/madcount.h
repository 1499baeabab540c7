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
 * Counters only grow; to count since some moment, a reader keeps the
 * old values and subtracts. The exceptions are stated: first_lft_smp, hold_lft_ms,
 * delay_us.
 * A file that is still all zero (magic included) counts nothing yet.
 *
 * MADCOUNT_DELAY_US, if set, is delay_us at first: the microseconds that each SMP waits
 * before it is sent (in the sending thread, so the delays add up as on a serial link).
 */
#ifndef PM_TESTS_MADCOUNT_H
#define PM_TESTS_MADCOUNT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define MADCOUNT_MAGIC 0x434d4d50u /* "PMMC" read as little endian */
#define MADCOUNT_VERSION 4u

/* Attributes 0x00-0x3f have a slot each; all others share the last one. */
#define MADCOUNT_ATTR_SLOTS 65u
#define MADCOUNT_ATTR_OTHER 64u

/* An answer that takes longer is late, because of a busy machine. */
#define MADCOUNT_LATE_MS 50u
#define MADCOUNT_ECHOES 64u
#define MADCOUNT_PATH 64u

/*
 * An LFT Set that may repeat another one: its block and its contents are those of an
 * earlier one with a late answer, or none. The reader, who knows the ends of their
 * directed routes, judges whether both went to the same switch.
 */
struct madcount_echo {
	uint64_t number; /* of the later one, counted by lft_sets from 1 */
	uint64_t ns;	 /* CLOCK_MONOTONIC when the earlier one was sent */
	uint8_t hops[2]; /* of the earlier and the later one */
	uint8_t unused[6];
	uint8_t path[2][MADCOUNT_PATH];
};

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

	uint64_t smps;	      /* SMPs given to umad_send, classes 0x01 and 0x81; without
				 the plugin's looks at the own port, which cross no link */
	uint64_t requests;    /* of these, Get and Set: they await an answer */
	uint64_t send_errors; /* requests that umad_send refused */
	uint64_t responses;   /* answers to SMPs received */
	uint64_t timeouts;    /* requests that came back unanswered */
	uint64_t traps;	      /* SMP traps received */
	uint64_t gmps;	      /* datagrams sent in any other class */
	uint64_t discoveries; /* NodeInfo Gets of zero hops: OpenSM sends
			       * one each time it begins a discovery */
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

	uint64_t late;	   /* answers to requests that came late */
	uint64_t lft_late; /* of these, to LFT Sets */
	uint64_t lft_lost; /* LFT Sets that came back unanswered, of the timeouts */
	uint64_t num_echoes;
	/*
	 * The reader may store a time: the next answer to an LFT Set is delayed by that
	 * much.
	 */
	uint64_t hold_lft_ms;
	uint64_t delay_us; /* the reader may store another one at any time */

	/* SMPs sent by attribute (host order) and method. */
	uint64_t attr[MADCOUNT_ATTR_SLOTS][MADCOUNT_METHODS];

	struct madcount_echo echoes[MADCOUNT_ECHOES]; /* number i at i % ECHOES */
};

static_assert(offsetof(struct madcount, smps) == 16, "madcount layout");
static_assert(offsetof(struct madcount, attr) == 16 + 22 * 8, "madcount layout");
static_assert(sizeof(struct madcount_echo) == 24 + 2 * MADCOUNT_PATH, "madcount layout");
static_assert(sizeof(struct madcount) ==
		      16 + (22 + MADCOUNT_ATTR_SLOTS * MADCOUNT_METHODS) * 8 +
			      MADCOUNT_ECHOES * sizeof(struct madcount_echo),
	      "madcount layout");

#endif
