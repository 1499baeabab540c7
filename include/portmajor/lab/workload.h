/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who sends what to whom and when. Hosts are numbered 0 to num_hosts - 1; a message is a
 * number of 64-byte blocks. All of it is integers and repeatable by seed.
 *
 * Open loop: a host's messages come at their times, whatever became of those before.
 * Closed loop: the next one comes when the one before has arrived.
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
	PM_PERMUTATION, /* always the same one; drawn as one loop through all hosts */
	PM_SHIFT,	/* the one `shift` further, round and round */
	PM_BIT_REVERSE, /* number backwards; of the first 2^k hosts, as many as there are
			 */
	PM_HOT_SPOT,	/* `node` with the chance `share`, else as uniform */
	PM_INCAST,	/* the `senders` hosts behind `node` all send to it */
	PM_ALL_TO_ALL,	/* the next one, the one behind it, ...: shift after shift */
	PM_LIST,	/* messages that are given */
	PM_PATTERNS
};

/* "uniform" and so on. */
const char *pm_pattern_name(enum pm_pattern pattern);
/* -EINVAL: no such pattern. */
int pm_pattern_parse(const char *name, enum pm_pattern *pattern);

/*
 * A message of a list. Those of a host go in their order in the list, each when the
 * messages before[0..num_before) of the list, all of them to this host or its own, have
 * arrived.
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
	/* Jobs of job_hosts hosts each, 2 and up: members[job * job_hosts + i] is the
	 * i-th one of a job, and for its pattern, host i of job_hosts. A host is in one
	 * job at most, and sends nothing if it is in none. NULL: one job, of all hosts. A
	 * list knows nothing of this. */
	const uint32_t *members;
	uint32_t num_jobs, job_hosts;
	uint32_t blocks;   /* of a message, 1..PM_MESSAGE_MAX */
	uint32_t load;	   /* open loop: of what a host's link carries, PM_LOAD_LEAST..
			    * PM_LOAD_FULL; 0: closed loop */
	bool poisson;	   /* open loop: times are random; else all alike, each host from
			    * a random time on */
	uint32_t messages; /* of each host that sends; 0: no end, not in a closed loop */
	uint32_t shift;	   /* 1 to below the hosts of a job */
	uint32_t node;	   /* a host of a job */
	uint32_t share;	   /* 0..PM_LOAD_FULL */
	uint32_t senders;  /* as shift */
	const uint16_t *ticks; /* [host] that a block takes on its link, 1 and up; NULL: 1
				*/
	const uint8_t *sls;    /* [host] service level of what it sends; NULL: 0; borrowed
				* as long as the workload */
	const struct pm_workload_message *list; /* borrowed as long as the workload */
	uint32_t num_list;
	/* Of a list, or NULL: the tick before which a message does not go, and [message]
	 * [num_before] ticks that it waits after each of these. Borrowed likewise. */
	const uint64_t *starts;
	const uint64_t *const *delays;
	uint64_t seed;
};

/* What a host is to send. */
struct pm_message {
	uint32_t to, blocks;
	uint32_t id;   /* for pm_workload_got */
	uint64_t time; /* since when */
	uint8_t sl;    /* service level, below PM_MAX_SLS */
};

/* Opaque: where every host is in its messages. */
struct pm_workload;

/* -EINVAL: not in range, the message says what; -ENOMEM. The caller frees it. O(hosts +
 * list). */
int pm_workload_new(const struct pm_workload_config *config,
		    struct pm_workload **workload, struct pm_error *err);
void pm_workload_free(struct pm_workload *workload);

/* When the host's next message is there: a tick, or PM_NEVER: none, or not before others
 * have arrived. O(1); of a list O(num_before). */
uint64_t pm_workload_time(const struct pm_workload *workload, uint32_t host);

/* Takes that message, whose time has come. O(1). */
void pm_workload_take(struct pm_workload *workload, uint32_t host,
		      struct pm_message *message);

/*
 * Blocks of a message have arrived. Writes the hosts that may have a message to send now,
 * as this one is complete, and returns how many: 0 to 2. O(1).
 */
uint32_t pm_workload_got(struct pm_workload *workload, uint32_t id, uint32_t blocks,
			 uint64_t now, uint32_t woken[2]);

/* Hosts that send at all; messages that have not arrived yet, of closed loops and lists,
 * else 0. */
uint32_t pm_workload_senders(const struct pm_workload *workload);
uint64_t pm_workload_left(const struct pm_workload *workload);

/* The same of a host alone. O(1); of a list O(its messages). */
bool pm_workload_sends(const struct pm_workload *workload, uint32_t host);
uint64_t pm_workload_left_of(const struct pm_workload *workload, uint32_t host);

/* When the last message of a host that has arrived did so, of closed loops and lists; or
 * 0. Costs the same. */
uint64_t pm_workload_done_of(const struct pm_workload *workload, uint32_t host);

/* When a message of a list arrived, or PM_NEVER: it has not. O(1). */
uint64_t pm_workload_arrived(const struct pm_workload *workload, uint32_t id);

/* A time without progress, in ticks. */
struct pm_stall {
	uint64_t from, ticks;
	uint32_t host; /* that sends, or PM_NONE: all of them */
	bool lasts;    /* to the tick that was asked for */
};

/* How a closed loop or list went on, in blocks that arrived; ticks from 0 on. */
struct pm_workload_progress {
	struct pm_stall all;  /* longest time in which nothing arrived, */
	struct pm_stall host; /* and nothing from a host that was not done, of any host */
	/* at[i]: when i / PM_PROGRESS_PARTS of all blocks had arrived, or PM_NEVER */
	uint64_t at[PM_PROGRESS_PARTS + 1];
};

/*
 * Up to a tick that all arrivals come before, or at. Of what is done, up to when it was.
 * Of an open loop or without messages: no stall, and `at` is PM_NEVER. O(hosts); of a
 * list O(hosts + messages).
 */
void pm_workload_progress(const struct pm_workload *workload, uint64_t now,
			  struct pm_workload_progress *progress);

#endif
