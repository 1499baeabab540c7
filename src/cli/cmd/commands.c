/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor: its subcommands, grouped by purpose. */
#include "commands.h"
#include "subcommands.h"

const char cli_program[] = "portmajor";
const char cli_findings[] = "findings";

const struct cli_subcommand cli_subcommands[] = {
	CLI_TITLE("look ahead"),
	{"generate", cmd_generate, "write the netlist of a fabric"},
	{"plan", cmd_plan, "print which LIDs a fabric's places get, plane by plane"},
	{"whatif", cmd_whatif, "print what a failure would cost in LFT blocks"},
	{"merge", cmd_merge, "add up the shards of whatif"},
	{"table", cmd_table,
	 "print a switch's table and loads before and after a failure"},
	CLI_TITLE("run"),
	{"preflight", cmd_preflight, "check an OpenSM configuration before it is used"},
	{"status", cmd_status, "judge the fabric as it is now"},
	{"events", cmd_events, "print what happened"},
	{"rebalance", cmd_rebalance, "replace tables by the plan's"},
	CLI_TITLE("judge"),
	{"check", cmd_check, "judge the tables that switches hold"},
	{"diff", cmd_diff, "compare two sets of tables, or two topologies"},
	CLI_TITLE("service"),
	{"drain", cmd_drain, "exclude cables and switches from hosts' paths"},
	{"undrain", cmd_undrain, "end drains"},
	{"release", cmd_release, "use links on hold again"},
	{"acknowledge", cmd_acknowledge, "note that parts are missing by intent"},
	{0},
};
