/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options and results of `portmajor-lab job`. */
#ifndef PORTMAJOR_CLI_JOB_H
#define PORTMAJOR_CLI_JOB_H

#include "packet_lab.h"
#include "packet_run.h"
#include "recordings.h"

struct job_request {
	struct packet_request packet; /* for each engine a copy */
	const char *engine;
	struct cli_failed compare; /* engines or files */
	const char *folder;	   /* of recordings, or NULL */
	uint32_t repeat;
	struct cli_output output;
};

/* Tables, of an engine or a file, with which the job runs healthy and through the
 * failure. Zeroed: nothing yet. */
struct job_engine {
	char *path; /* of the recording; NULL: portmajor's Sets are computed */
	struct packet_request request;
	struct packet_lab lab;
	uint64_t healthy; /* ticks until the job is done */
	json_t *object;
};

/* All of it: the members of an engine are added in two steps, without the failure and
 * with it. */
void job_add_healthy(struct job_engine *engine, const struct packet_run *run);
void job_add_failure(struct job_engine *engine, const struct packet_run *run,
		     json_t *point);

/* Prints it; takes the object. An exit status: EXIT_FINDINGS if the first engine's job is
 * not done, or the failure breaks its connections. */
int job_print(json_t *object, const struct cli_output *output);

/* Runs it on a netlist, or a fabric that was recorded; an exit status. */
int job_run(const struct job_request *request, const char *netlist);

#endif
