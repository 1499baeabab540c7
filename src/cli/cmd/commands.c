/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor: its subcommands, grouped by purpose. */
#include "commands.h"
#include "subcommands.h"

const char cli_program[] = "portmajor";
const char cli_findings[] = "findings";

const struct cli_subcommand cli_subcommands[] = {
	CLI_TITLE("plan and predict"),
	{"generate", cmd_generate, "Write the netlist of a fabric"},
	{"plan", cmd_plan, "Print the plan of a fabric: planes, LIDs and tables"},
	{"whatif", cmd_whatif, "Print the cost of a failure or a return in LFT blocks"},
	{"merge", cmd_merge, "Join the shards of whatif"},
	{"table", cmd_table,
	 "Print a switch's table and loads before and after a failure"},
	CLI_TITLE("operate"),
	{"preflight", cmd_preflight, "Check an OpenSM configuration before it is used"},
	{"status", cmd_status, "Judge the fabric as it is now"},
	{"events", cmd_events, "Print the events of the fabric"},
	{"rebalance", cmd_rebalance, "Replace tables by the plan's"},
	CLI_TITLE("verify"),
	{"check", cmd_check, "Check the tables that switches hold"},
	{"diff", cmd_diff, "Compare two sets of tables, or two topologies"},
	CLI_TITLE("maintain"),
	{"drain", cmd_drain, "Exclude cables and switches from hosts' paths"},
	{"undrain", cmd_undrain, "End drains"},
	{"release", cmd_release, "Use links on hold again"},
	{"acknowledge", cmd_acknowledge,
	 "Acknowledge that parts are missing or changed by intent"},
	{0},
};
