/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-lab: its subcommands, grouped by purpose. */
#include "lab_commands.h"
#include "subcommands.h"

const char cli_program[] = "portmajor-lab";
const char cli_findings[] = "findings";

const struct cli_subcommand cli_subcommands[] = {
	CLI_TITLE("a fabric"),
	{"job", cmd_job, "print what a failure costs a job, with several engines"},
	{"traffic", cmd_traffic, "simulate what jobs feel of traffic, and of a failure"},
	{"merge", cmd_merge, "add up the shards of traffic"},
	CLI_TITLE("models of networks"),
	{"collective", cmd_collective,
	 "print what collective operations cost on circuits"},
	{"dsm", cmd_dsm, "print what shared memory over datagrams costs, and loses"},
	{0},
};
