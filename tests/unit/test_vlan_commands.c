/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-vlan with each of its allocations failing; in a build without BPF. */
#include "command_faults.h"

#define MACS                                                                             \
	"h0-1 02:00:00:00:00:01\nh0-2 02:00:00:00:00:02\nh1-1 02:00:00:00:00:03\n"       \
	"h1-2 02:00:00:00:00:04\n"
/* With a host that is gone. */
#define FORMER                                                                           \
	"ff:ff:ff:ff:ff:ff 101 9\n02:00:00:00:00:01 101 4\n02:00:00:00:00:02 102 3\n"    \
	"02:00:00:00:00:03 101 2\n02:00:00:00:00:04 102 1\n02:00:00:00:00:05 102 7\n"

/* The left one hears the wrong spine. */
#define LLDP                                                                             \
	"{\"lldp\": {\"interface\": {\"swp3\": {\"chassis\": {\"spine1\": {\"id\": "     \
	"{\"type\": \"mac\", \"value\": \"02:00:00:00:00:09\"}}}, \"port\": {\"id\": "   \
	"{\"type\": \"ifname\", \"value\": \"swp1\"}}}}}}"

static const struct command_row rows[] = {
	{"plan", "plan --macs macs --untagged h1-1 --diff former net .", "switches.json",
	 "before"},
	{"plan.merge", "plan --json --macs macs --merge --mac-table 4 net .",
	 "leaf1.bridge", NULL},
	{"plan.lose", "plan --macs macs --fail leaf0:3 --diff former net .", "hosts.diff",
	 "before"},
	{"lldp", "lldp net leaf0.json", NULL, NULL},
	{"lldp.json", "lldp --json net leaf0.json", NULL, NULL},
	{"load", "load e0 former", NULL, NULL},
};

static int make_files(void)
{
	make_file_by_portmajor("net", "generate two-level 2 2 2 1");
	write_file("macs", MACS);
	write_file("former", FORMER);
	write_file("leaf0.json", LLDP);
	return 0;
}

int __wrap_main(int argc, char **argv)
{
	const struct command_tests all = {rows, sizeof(rows) / sizeof(*rows), make_files};

	return command_tests_run(&all, argc, argv);
}
