/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Jobs on the packet engine: their hosts, the messages of collectives, and their results.
 */
#ifndef PORTMAJOR_CLI_PACKET_JOBS_H
#define PORTMAJOR_CLI_PACKET_JOBS_H

#include "packet_run.h"

/* How large jobs are, before anything of theirs is used; an exit status. */
int packet_jobs_begin(struct packet_lab *lab);

/* Deals the hosts for the seed at hand, and lists their messages; an exit status. */
int packet_jobs_assign(struct packet_lab *lab);
void packet_jobs_free(struct packet_lab *lab);

/* Runs for each load and seed. */
uint32_t packet_jobs_runs(const struct packet_lab *lab);

/*
 * Adds each job's results to a point, by its run and, if requested, by some more; an exit
 * status.
 */
int packet_jobs_add(struct packet_lab *lab, const struct packet_run *run, json_t *point);

/* Settings; the first is null without a collective. */
json_t *packet_collective_json(const struct packet_lab *lab);
json_t *packet_jobs_json(const struct packet_lab *lab);

/* A point's jobs, as text. */
void packet_jobs_print(const json_t *point);

#endif
