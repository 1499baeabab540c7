/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-vlan: its subcommands, grouped by purpose. */
#include "subcommands.h"
#include "vlan_commands.h"

const char cli_program[] = "portmajor-vlan";
const char cli_findings[] = "findings or refused by the kernel";

const struct cli_subcommand cli_subcommands[] = {
	CLI_TITLE("plan, on any machine"),
	{"plan", cmd_plan, "write the host table and the switches' VLANs of a fabric"},
	{"lldp", cmd_lldp, "compare an Ethernet's cables with its netlist"},
	CLI_TITLE("run, as root on each host"),
	{"load", cmd_load, "put the program with a host table on a device"},
	{"replace", cmd_replace, "give it another table, at once"},
	{"update", cmd_update, "change lines of its table, at once"},
	{"show", cmd_show, "print what is loaded, and counters"},
	{"status", cmd_status, "check that frames are sent and received with tags"},
	{"remove", cmd_remove, "take the program off the device"},
	{0},
};
