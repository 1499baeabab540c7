/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options and results of `portmajor-lab traffic --engine flit`. */
#ifndef PORTMAJOR_CLI_TRAFFIC_FLIT_H
#define PORTMAJOR_CLI_TRAFFIC_FLIT_H

#include "fabric_options.h"
#include "output.h"

#include <portmajor/lab/flit.h>

#include <jansson.h>

#define FLIT_MAX_POINTS 1024 /* values in a list of lengths or loads */
#define FLIT_MAX_SEEDS 1000

/* Numbers such as 16,32,64..256/64; loads are in millionths. */
struct flit_list {
	uint32_t *value; /* [FLIT_MAX_POINTS] */
	uint32_t num;
};

struct flit_request {
	struct cli_fabric fabric;
	const char *netlist, *topology, *lfts; /* NULL: not given */
	const char *pattern;
	struct pm_flit_config config; /* length and load: of the present point */
	uint32_t rule, ties; /* enum pm_flit_rule; 1: up; UINT32_MAX: not given */
	struct flit_list lengths, loads;
	uint32_t warm_up, cycles, seeds, first_seed;
	bool speed;
	struct cli_shard shard; /* 0 of 0: all */
	struct cli_output output;
};

/* A run with one length, load and seed. */
struct flit_run {
	uint32_t length, load, seed;
	struct pm_flit_result result;
	struct pm_flit_count count; /* at the end */
	struct pm_flit_deadlock deadlock;
};

/* The object without results, and the object of a run. */
json_t *flit_settings_json(const struct flit_request *request,
			   const struct pm_flit_net *net);
json_t *flit_run_json(const struct pm_flit_net *net, const struct flit_run *run);

/* The findings in points or runs. */
json_t *flit_findings_json(const json_t *points, bool may_lose);

#endif
