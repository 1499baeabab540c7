/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options and results of `portmajor-lab traffic --engine packet`. */
#ifndef PORTMAJOR_CLI_TRAFFIC_PACKET_H
#define PORTMAJOR_CLI_TRAFFIC_PACKET_H

#include "packet_request.h"

#include <jansson.h>

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
