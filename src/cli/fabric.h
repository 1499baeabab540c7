/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options and input of the subcommands that read a fabric. */
#ifndef PORTMAJOR_CLI_FABRIC_H
#define PORTMAJOR_CLI_FABRIC_H

#include <portmajor/plan.h>
#include <portmajor/roles.h>

/* What they have in common. Zeroed: the defaults. */
struct cli_fabric {
	struct pm_plan_config plan;
	struct pm_role_files files;
	const char *names; /* file for --node-name-map, or NULL */
	bool connect_roots;
	bool lmc_given; /* with -m, and not the default */
};

/* Short and long options of these, and the lines of help about them. */
#define CLI_FABRIC_SHORT "o:m:"
#define CLI_FABRIC_LONG                                                                  \
	{"root_guid_file", required_argument, NULL, 'A'},                                \
		{"cn_guid_file", required_argument, NULL, 'U'},                          \
		{"io_guid_file", required_argument, NULL, 'I'},                          \
		{"node-name-map", required_argument, NULL, 'N'},                         \
	{                                                                                \
		"connect_roots", no_argument, NULL, 'Z'                                  \
	}
#define CLI_FABRIC_HELP                                                                  \
	"  -o ORDER  lid_order: grouped (default), leaf-major or port-major\n"           \
	"  -m LMC    of end ports, 0 to 3 (default 0)\n"                                 \
	"  --root_guid_file FILE, --cn_guid_file FILE, --io_guid_file FILE,\n"           \
	"  --connect_roots\n"                                                            \
	"            as in opensm.conf\n"                                                \
	"  --node-name-map FILE\n"                                                       \
	"            names of nodes by GUID, as for infiniband-diags\n"

/* Deals with one of these options: an exit status, or -1 if it is another one. */
int cli_fabric_option(int option, struct cli_fabric *config);

/* Reads a netlist and the files that say what its nodes are; an exit status. */
int cli_fabric_read(const char *path, const struct cli_fabric *config,
		    struct pm_fabric **fabric);

/* The latter alone, for a fabric that was read already. */
int cli_fabric_describe(struct pm_fabric *fabric, const struct cli_fabric *config);

#endif
