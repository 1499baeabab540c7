/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options and results of `portmajor-lab traffic --engine packet`. */
#ifndef PORTMAJOR_CLI_TRAFFIC_PACKET_H
#define PORTMAJOR_CLI_TRAFFIC_PACKET_H

#include "packet_scene.h"
#include "progress.h"
#include "traffic_shard.h"

#include <portmajor/lab/calls.h>
#include <portmajor/lab/rates.h>

#include <jansson.h>

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

/* Reads the request, with defaults; an exit status, or -1: go on. */
int packet_request_read(int argc, char **argv, struct packet_request *request);
void packet_request_free(struct packet_request *request);

/*
 * The steps of packet_request_read before and after the options. The first sets members
 * to "not given", with room for as many failures as there are arguments. The second
 * checks that options agree, and sets the defaults; an exit status.
 */
void packet_request_begin(struct packet_request *request, int argc);
int packet_request_check(struct packet_request *request);

/* For rows: a time with its unit as uint64_t picoseconds; whether it is random. */
int packet_take_time(const struct cli_option *option, char *argument, void *to);
int packet_take_placement(const struct cli_option *option, char *argument, void *to);

/* Options of links, switches and connections. */
extern const struct cli_option packet_network_options[];

/* Sets OpenSM's default lanes and arbitration. */
void packet_lanes_begin(struct packet_request *request);

/* Read the options for lanes; an exit status. */
int packet_take_vls(const struct cli_option *option, char *argument, void *to);
int packet_take_sl2vl(const struct cli_option *option, char *argument, void *to);
int packet_take_high(const struct cli_option *option, char *argument, void *to);
int packet_take_low(const struct cli_option *option, char *argument, void *to);
int packet_take_sls(const struct cli_option *option, char *argument, void *to);

/*
 * Reduces the given lanes to those that exist, as OpenSM would; an exit status: each
 * service level in use needs a lane.
 */
int packet_lanes_end(struct packet_request *request);

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

/* The settings of all runs. */
json_t *packet_settings_json(const struct packet_lab *lab);

/* traffic_replay.c: the recordings and failures of all runs; and their text. */
json_t *traffic_replay_json(const struct packet_lab *lab);
void traffic_replay_print(const json_t *settings);

/* Describes a run with lab->workload, and its deadlocks. */
struct packet_run;
json_t *packet_run_point(const struct packet_lab *lab, struct packet_run *run);

/* Whether any of these runs has findings. */
bool packet_has_findings(const json_t *points);

#endif
