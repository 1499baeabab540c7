/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages between hosts, and their times. Hosts are numbered 0 to num_hosts - 1; a
 * message is a number of 64-byte blocks. All numbers are integers, repeatable by seed.
 *
 * Open loop: each message of a host has its own time, independent of earlier ones. Closed
 * loop: a message can be sent when the one before has arrived.
 */
#ifndef PORTMAJOR_WORKLOAD_H
#define PORTMAJOR_WORKLOAD_H

#include <portmajor/base/error.h>

#include <stdbool.h>
#include <stdint.h>

#define PM_LOAD_FULL 1000000 /* loads are parts of this */
#define PM_LOAD_LEAST 100
#define PM_MESSAGE_MAX (UINT32_C(1) << 20) /* blocks: 64 MiB */
#define PM_NEVER UINT64_MAX
#define PM_MAX_SLS 16 /* service levels */
#define PM_PROGRESS_PARTS 100

enum pm_pattern {
	PM_UNIFORM,	/* any other host, with equal chance */
	PM_PERMUTATION, /* always the same host; drawn as one ring through all hosts */
	PM_SHIFT,	/* the host `shift` further, cyclically */
	PM_BIT_REVERSE, /* the host with the number's bits reversed; for the first 2^k
			   hosts */
	PM_HOT_SPOT,	/* `node` with the chance `share`, else as uniform */
	PM_INCAST,	/* the `senders` hosts behind `node` all send to it */
	PM_ALL_TO_ALL,	/* the next host, the one behind it, ...: shift after shift */
	PM_LIST,	/* a list of messages */
	PM_PATTERNS
};

/* "uniform" and so on. */
const char *pm_pattern_name(enum pm_pattern pattern);
/* -EINVAL: no such pattern. */
int pm_pattern_parse(const char *name, enum pm_pattern *pattern);

/*
 * A message of a list. A host's messages go in the list's order, each when the messages
 * before[0..num_before), which are to or from this host, have arrived.
 */
struct pm_workload_message {
	uint32_t from, to; /* hosts */
	uint32_t blocks;   /* 1..PM_MESSAGE_MAX */
	uint32_t num_before;
	const uint32_t *before; /* indexes into the list; borrowed */
};

struct pm_workload_config {
	enum pm_pattern pattern;
	uint32_t num_hosts; /* 2 and up */
	/*
	 * Jobs of job_hosts hosts each, 2 and up: members[job * job_hosts + i] is host i
	 * of a job; the pattern applies to these numbers. A host is in one job at most,
	 * and sends nothing if it is in none. NULL: one job, of all hosts. Lists ignore
	 * it.
	 */
	const uint32_t *members;
	uint32_t num_jobs, job_hosts;
	uint32_t blocks; /* of a message, 1..PM_MESSAGE_MAX */
	uint32_t load; /* open loop: share of a host's link, PM_LOAD_LEAST.. PM_LOAD_FULL;
			* 0: closed loop */
	bool poisson;  /* open loop: random intervals; else equal ones, from a random time
			* on */
	uint32_t messages;     /* of each host that sends; 0: without end, in an open loop
				  only */
	uint32_t shift;	       /* 1 to below the hosts of a job */
	uint32_t node;	       /* a host of a job */
	uint32_t share;	       /* 0..PM_LOAD_FULL */
	uint32_t senders;      /* as shift */
	const uint16_t *ticks; /* [host] of a block on its link, 1 and up; NULL: 1 */
	const uint8_t *
		sls; /* [host] service level; NULL: 0; borrowed as long as the workload */
	const struct pm_workload_message *list; /* borrowed as long as the workload */
	uint32_t num_list;
	/*
	 * Of a list, or NULL: starts[message] is its earliest tick,
	 * delays[message][num_before] are the ticks that it waits after each message
	 * before it. Borrowed likewise.
	 */
	const uint64_t *starts;
	const uint64_t *const *delays;
	uint64_t seed;
};

/* A message to send. */
struct pm_message {
	uint32_t to, blocks;
	uint32_t id;   /* for pm_workload_got */
	uint64_t time; /* tick since which it can be sent */
	uint8_t sl;    /* service level, below PM_MAX_SLS */
};

/* Opaque: how far each host has come with its messages. */
struct pm_workload;

/*
 * -EINVAL: out of range, with a message. The caller frees it. O(hosts + list).
 */
int pm_workload_new(const struct pm_workload_config *config,
		    struct pm_workload **workload, struct pm_error *err);
void pm_workload_free(struct pm_workload *workload);

/* Prefetches a host's sender into the cache, for pm_workload_time or pm_workload_take. */
void pm_workload_fetch(const struct pm_workload *workload, uint32_t host);

/*
 * The tick of the host's next message. PM_NEVER: there is none, or it waits for arrivals.
 * O(1); of a list O(num_before).
 */
uint64_t pm_workload_time(const struct pm_workload *workload, uint32_t host);

/* Takes that message, at its time. O(1). */
void pm_workload_take(struct pm_workload *workload, uint32_t host,
		      struct pm_message *message);

/*
 * Notes arrived blocks of a message. If it is complete, writes the hosts that may send
 * now, and returns their number: 0 to 2. O(1).
 */
uint32_t pm_workload_got(struct pm_workload *workload, uint32_t id, uint32_t blocks,
			 uint64_t now, uint32_t woken[2]);

/*
 * The number of hosts that send, and of messages that have not arrived: of closed loops
 * and lists, else 0.
 */
uint32_t pm_workload_senders(const struct pm_workload *workload);
uint64_t pm_workload_left(const struct pm_workload *workload);

/* The same for one host. O(1); of a list O(its messages). */
bool pm_workload_sends(const struct pm_workload *workload, uint32_t host);
uint64_t pm_workload_left_of(const struct pm_workload *workload, uint32_t host);

/*
 * The last arrival of a host's messages, of closed loops and lists; else 0. The same
 * cost.
 */
uint64_t pm_workload_done_of(const struct pm_workload *workload, uint32_t host);

/* The arrival of a message of a list, or PM_NEVER. O(1). */
uint64_t pm_workload_arrived(const struct pm_workload *workload, uint32_t id);

/* A time without progress, in ticks. */
struct pm_stall {
	uint64_t from, ticks;
	uint32_t host; /* sender, or PM_NONE: all of them */
	bool lasts;    /* it is not over at the tick of the query */
};

/* Progress of a closed loop or list, in arrived blocks; ticks from 0 on. */
struct pm_workload_progress {
	struct pm_stall all;  /* longest time without an arrival, .. */
	struct pm_stall host; /* .. and without one from a host that is not done */
	/* at[i]: when i / PM_PROGRESS_PARTS of all blocks had arrived, or PM_NEVER */
	uint64_t at[PM_PROGRESS_PARTS + 1];
};

/*
 * Progress up to tick now, which is not before the last arrival, or up to the end if
 * done. Of an open loop, or without messages: no stall, and `at` is PM_NEVER. O(hosts);
 * of a list O(hosts + messages).
 */
void pm_workload_progress(const struct pm_workload *workload, uint64_t now,
			  struct pm_workload_progress *progress);

#endif
