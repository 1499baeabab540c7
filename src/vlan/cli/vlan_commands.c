/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-vlan: its subcommands, grouped by purpose. */
#include "subcommands.h"
#include "vlan_commands.h"

const char cli_program[] = "portmajor-vlan";
const char cli_findings[] = "findings or refused by the kernel";

const struct cli_subcommand cli_subcommands[] = {
	CLI_TITLE("plan, on any machine"),
	{"plan", cmd_plan, "Write the host table and the switches' VLANs of a fabric"},
	{"lldp", cmd_lldp, "Compare an Ethernet's cables with its netlist"},
	CLI_TITLE("operate, as root on each host"),
	{"load", cmd_load, "Load the program and a host table on a device"},
	{"replace", cmd_replace, "Replace the host table, at once"},
	{"update", cmd_update, "Change lines of the host table, at once"},
	{"show", cmd_show, "Print the loaded program, and counters"},
	{"status", cmd_status, "Check that frames are sent and received with tags"},
	{"remove", cmd_remove, "Remove the program from the device"},
	{0},
};
