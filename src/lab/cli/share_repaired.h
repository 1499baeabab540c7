/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-lab traffic --engine share --sets: throughput before and after a repair. */
#ifndef PORTMAJOR_LAB_CLI_SHARE_REPAIRED_H
#define PORTMAJOR_LAB_CLI_SHARE_REPAIRED_H

#include "fabric_options.h"
#include "failure_options.h"
#include "output.h"

/* Borrowed. */
struct share_repaired {
	const struct cli_fabric *fabric;
	const char *sets;		  /* a recording */
	const struct cli_failed *compare; /* more recordings of the same failure */
	uint32_t shifts, permutations, seed;
	const struct cli_output *output;
};

/* Runs it on a netlist; an exit status. */
int share_repaired_run(const char *path, const struct share_repaired *request);

#endif
