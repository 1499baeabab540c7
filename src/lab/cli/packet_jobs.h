/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Jobs on the packet engine: hosts, messages of collectives, and results. */
#ifndef PORTMAJOR_CLI_PACKET_JOBS_H
#define PORTMAJOR_CLI_PACKET_JOBS_H

#include "packet_run.h"

/* Finds the sizes of jobs; call it before the other functions. An exit status. */
int packet_jobs_begin(struct packet_lab *lab);

/* Assigns hosts to jobs by the present seed, and lists their messages; an exit status. */
int packet_jobs_assign(struct packet_lab *lab);
void packet_jobs_free(struct packet_lab *lab);

/* Runs for each load and seed. */
uint32_t packet_jobs_runs(const struct packet_lab *lab);

/*
 * Adds the results of jobs, and of further runs if requested, to a point; an exit status.
 */
int packet_jobs_add(struct packet_lab *lab, const struct packet_run *run, json_t *point);

/* Settings; the first is null without a collective. */
json_t *packet_collective_json(const struct packet_lab *lab);
json_t *packet_jobs_json(const struct packet_lab *lab);

/* A point's jobs, as text. */
void packet_jobs_print(const json_t *point);

#endif
