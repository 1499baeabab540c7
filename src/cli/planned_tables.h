/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A plan with its tables, and names, for the subcommands that judge or write tables. */
#ifndef PORTMAJOR_CLI_PLANNED_TABLES_H
#define PORTMAJOR_CLI_PLANNED_TABLES_H

#include "fabric_options.h"

#include <portmajor/fabric/apart.h>
#include <portmajor/files/lft_file.h>

/* A plan and its tables for a fabric. Zeroed: nothing yet. */
struct cli_tables {
	struct pm_plan *plan;
	struct pm_routes *routes;
	struct pm_unreachable unreachable; /* pairs that the tables do not connect */
	struct pm_apart apart;		   /* nor can any tables */
};

/*
 * Makes the tables of tables->plan, which is freed with them, for a fabric.
 * sm: the subnet manager's port, or PM_NONE. An exit status.
 */
int cli_tables_route(struct cli_tables *tables, const struct cli_fabric *config,
		     const struct pm_fabric *fabric, uint32_t sm);

/* Makes the plan, and then its tables. */
int cli_tables_make(struct cli_tables *tables, const struct cli_fabric *config,
		    const struct pm_fabric *fabric, uint32_t sm);

/* Whether some pair of end ports has no path, apart from those with aggregation nodes. */
bool cli_tables_cut(const struct cli_tables *tables);

void cli_tables_free(struct cli_tables *tables);

/*
 * A switch that a plane leads to: a first-level switch, or another one of its component.
 */
uint32_t cli_tables_plane(const struct pm_plan *plan, uint32_t p);

/*
 * The port that a subnet manager on this node would use. --sm names the node as --fail
 * does; NULL: the port is PM_NONE. An exit status.
 */
int cli_tables_sm(const struct pm_fabric *fabric, const char *name, uint32_t *port);

#endif
