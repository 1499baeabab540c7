/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Jobs on the packet engine: their hosts, the messages of collectives, and their results.
 */
#ifndef PORTMAJOR_CLI_PACKET_JOBS_H
#define PORTMAJOR_CLI_PACKET_JOBS_H

#include "packet_run.h"

/* Finds the sizes of jobs; call it before the other functions. An exit status. */
int packet_jobs_begin(struct packet_lab *lab);

/*
 * Assigns hosts to the jobs for the present seed, and lists their messages; an exit
 * status.
 */
int packet_jobs_assign(struct packet_lab *lab);
void packet_jobs_free(struct packet_lab *lab);

/* The number of runs for each load and seed. */
uint32_t packet_jobs_runs(const struct packet_lab *lab);

/*
 * Adds each job's results in a run to a point and, if requested, those of further runs;
 * an exit status.
 */
int packet_jobs_add(struct packet_lab *lab, const struct packet_run *run, json_t *point);

/* Settings; the first is null without a collective. */
json_t *packet_collective_json(const struct packet_lab *lab);
json_t *packet_jobs_json(const struct packet_lab *lab);

/* A point's jobs, as text. */
void packet_jobs_print(const json_t *point);

#endif
