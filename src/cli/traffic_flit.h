/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `portmajor traffic --engine flit` was asked, and what it tells. */
#ifndef PORTMAJOR_CLI_TRAFFIC_FLIT_H
#define PORTMAJOR_CLI_TRAFFIC_FLIT_H

#include "fabric.h"
#include "output.h"

#include <portmajor/flit.h>

#include <jansson.h>

#define FLIT_MAX_POINTS 1024 /* of a list of lengths or loads */
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
	struct pm_flit_config config; /* length and load: those of the point at hand */
	bool stop_given, go_given, rule_given, ties_given, ties_up;
	struct flit_list lengths, loads;
	uint32_t warm_up, cycles, seeds, first_seed;
	bool speed;
	struct cli_output output;
};

/* A point, by the results of its seeds: what they have in common, or their mean. */
struct flit_point {
	uint32_t length, load;
	struct pm_flit_result *run;	  /* [seeds] */
	struct pm_flit_count *count;	  /* [seeds] at the end */
	struct pm_flit_deadlock deadlock; /* of the first seed with one */
	uint32_t deadlock_seed;
};

/* The object without points, and one for each of them, which tells findings too. */
json_t *flit_settings_json(const struct flit_request *request,
			   const struct pm_flit_net *net);
json_t *flit_point_json(const struct flit_request *request, const struct pm_flit_net *net,
			const struct flit_point *point);

/* Of points: what the highest loads give, by length; what is not in order. */
json_t *flit_saturation_json(const json_t *points);
json_t *flit_findings_json(const json_t *points, bool may_lose);

/* The whole object as text, to stdout. */
void flit_print_text(const json_t *object);

const char *flit_flow_name(enum pm_flit_flow flow);
const char *flit_rule_name(enum pm_flit_rule rule);
const char *flit_arrivals_name(enum pm_flit_arrivals arrivals);

#endif
