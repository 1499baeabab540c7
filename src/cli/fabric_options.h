/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options and input of the subcommands that read a fabric. */
#ifndef PORTMAJOR_CLI_FABRIC_OPTIONS_H
#define PORTMAJOR_CLI_FABRIC_OPTIONS_H

#include "options.h"

#include <portmajor/files/role_files.h>
#include <portmajor/netlist/netlist.h>
#include <portmajor/plan/plan.h>

/* Their common options. Zeroed: the defaults. */
struct cli_fabric {
	struct pm_plan_config plan;
	struct pm_role_files files;
	const char *names;  /* file for --node-name-map, or NULL */
	const char *config; /* the plugin's configuration file, for its roles; or NULL */
	bool connect_roots;
	bool lmc_given;			/* lmc was given with -m */
	struct pm_netlist_notes *notes; /* gets the notes, too, unless NULL */
};

/*
 * Rows to include, see options.h. The first are files with the roles of nodes; the second
 * are these, and options for planning LIDs and paths.
 */
extern const struct cli_option cli_node_options[];
extern const struct cli_option cli_fabric_options[];

/*
 * Reads a netlist and the files with its nodes' roles; an exit status. Notes on missing
 * lines go to stderr.
 */
int cli_fabric_read(const char *path, const struct cli_fabric *config,
		    struct pm_fabric **fabric);

/* Warns on stderr of a netlist's missing lines. */
void cli_fabric_warn(const struct pm_netlist_notes *notes);

/* Reads only the files with roles, for a fabric that was read already. */
int cli_fabric_describe(struct pm_fabric *fabric, const struct cli_fabric *config);

/* A hash, so that shards of different fabrics are not merged. O(nodes + ports). */
uint64_t cli_fabric_fingerprint(const struct pm_fabric *fabric);

#endif
