/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The request of the packet engine, and the data of its runs. */
#ifndef PORTMAJOR_CLI_PACKET_REQUEST_H
#define PORTMAJOR_CLI_PACKET_REQUEST_H

#include "packet_scene.h"
#include "progress.h"
#include "traffic_shard.h"

#include <portmajor/lab/calls.h>
#include <portmajor/lab/rates.h>

#define PACKET_MAX_LOADS 100
#define PACKET_MAX_SEEDS 1000
#define PACKET_GBPS 200 /* of links of unknown speed */
#define PACKET_MAX_WINDOWS 100000
#define PACKET_UNSET UINT64_MAX /* a time that is not given */

struct packet_request {
	struct cli_fabric fabric;
	const char *lfts, *sets;
	struct cli_failed compare; /* files of recordings, used as `sets` is */
	struct cli_failed failed;
	struct repair_config repair;
	struct cli_shard shard; /* 0 of 0: all */
	struct cli_output output;
	bool timing, poisson, in_line, reliable;
	bool collective, random, alone;
	const char *pattern_argument; /* text behind the colon, or NULL */
	enum pm_pattern pattern;
	enum pm_collective algorithm;
	const char *trace; /* a file of events (goal.h) in place of a pattern; or NULL */
	uint32_t processes, calls; /* of a collective; 0 processes: as many as possible */
	uint32_t jobs;		   /* 1 and up */
	uint32_t loads[PACKET_MAX_LOADS], num_loads;
	uint32_t messages; /* of each host in a closed loop; 0: an open loop */
	uint32_t vls;
	struct pm_packet_lanes lanes;	  /* as given, even above `vls` */
	uint8_t sls[PM_MAX_SLS], num_sls; /* of hosts, in turn */
	uint32_t bytes, mtu, buffer, reads, gbps, batches, seed, seeds, hoq, timeout,
		retries;
	/* In picoseconds. time PACKET_UNSET: until all is done, up to `longest`. */
	uint64_t wire, crossing, warmup, time, window, at, return_after, repair_at, smp;
	uint64_t longest;
	bool before; /* `at` is the time from the failure to the measurement */
};

/* Whether hosts send a limited number of messages, without a load. */
static inline bool packet_request_closed(const struct packet_request *request)
{
	return request->messages || request->collective || request->trace;
}

/* The jobs of a run. */
struct packet_trace;
struct packet_jobs {
	uint32_t num, hosts; /* hosts of each */
	uint32_t processes;  /* of each job, in a collective */
	uint64_t bytes;	     /* that a collective brings to each process */
	uint32_t *order;     /* [all hosts], the first job's first */
	struct pm_calls *calls;
	struct packet_trace *trace; /* or NULL */
};

/* Data for one run after the other. */
struct packet_lab {
	const struct packet_request *request;
	struct scene scene;
	struct pm_workload_config workload;
	struct pm_packet_config config;
	struct pm_replay_config times;
	struct pm_rates rates;		  /* of the links; none with --gbps */
	uint16_t *ticks;		  /* [port] for a block, or NULL: 1 */
	uint16_t *host_ticks;		  /* [host], or NULL */
	struct pm_packet_return *returns; /* [failed] with --return-after, or NULL */
	uint8_t *sls;			  /* [host] */
	uint64_t tick;			  /* femtoseconds */
	struct packet_jobs jobs;
	uint32_t node; /* host that the pattern names */
	struct cli_progress progress;
	uint32_t done, count; /* runs */
};

#endif
