/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-lab: its subcommands, grouped by purpose. */
#include "lab_commands.h"
#include "subcommands.h"

const char cli_program[] = "portmajor-lab";
const char cli_findings[] = "findings";

const struct cli_subcommand cli_subcommands[] = {
	CLI_TITLE("simulate a fabric"),
	{"job", cmd_job, "Print the cost of a failure for a job, with several engines"},
	{"traffic", cmd_traffic, "Print rates, latencies and outages of hosts"},
	{"merge", cmd_merge, "Join the shards of traffic"},
	CLI_TITLE("model other networks"),
	{"collective", cmd_collective,
	 "Print the times of collective operations on circuits"},
	{"dsm", cmd_dsm, "Print the times and losses of shared memory over datagrams"},
	{0},
};
