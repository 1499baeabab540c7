/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options and results of `portmajor-lab job`. */
#ifndef PORTMAJOR_CLI_JOB_H
#define PORTMAJOR_CLI_JOB_H

#include "packet_lab.h"
#include "packet_run.h"
#include "recordings.h"

struct job_request {
	struct packet_request packet; /* each engine has a copy */
	const char *engine;
	struct cli_failed compare; /* engines or files */
	const char *folder;	   /* of recordings, or NULL */
	uint32_t repeat;
	struct cli_output output;
};

/*
 * Tables of an engine or a file; the job runs with them without the failure, and with it.
 * Zeroed: nothing yet.
 */
struct job_engine {
	char *path; /* of the recording; NULL: portmajor's Sets are computed */
	struct packet_request request;
	struct packet_lab lab;
	uint64_t healthy; /* ticks until the job is done */
	json_t *object;
};

/* Add a run's results to an engine's object: the one without the failure, and with it. */
void job_add_healthy(struct job_engine *engine, const struct packet_run *run);
void job_add_failure(struct job_engine *engine, const struct packet_run *run,
		     json_t *point);

/*
 * Prints the object, and takes it over. An exit status: EXIT_FINDINGS if the first
 * engine's job is not done, or connections of it break.
 */
int job_print(json_t *object, const struct cli_output *output);

/* Runs the job on a netlist, or on a recorded fabric; an exit status. */
int job_run(const struct job_request *request, const char *netlist);

#endif
