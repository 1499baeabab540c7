/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the source files of `portmajor plan`. */
#ifndef PORTMAJOR_CLI_PLAN_COMMAND_H
#define PORTMAJOR_CLI_PLAN_COMMAND_H

#include "planned_tables.h"

#include <portmajor/base/print.h>

#include <jansson.h>

#include <stdbool.h>
#include <string.h>

/* Most hosts of a platform: a million routes. */
#define PLAN_SIMGRID_HOSTS 1024

/* Files to write, NULL: none. */
struct plan_files {
	const char *guid2lid; /* as OpenSM keeps it in its cache folder */
	const char *lfts;     /* for `opensm -R file -U FILE` */
	const char *roots;    /* a root_guid_file */
	const char *ibdmchk;  /* folder for ibdmchk's three files; made if missing */
	const char *slurm;    /* topology.conf, or by its name topology.yaml */
	const char *simgrid;  /* a platform */
};

/* Their sources, all borrowed. */
struct plan_source {
	const struct pm_plan *plan;
	const struct pm_fabric *fabric; /* the plan's, or a copy without failed parts,
					   with the same indexes */
	const struct pm_lfts *lfts;	/* tables for that fabric */
	uint32_t sm;			/* the SM's port, or PM_NONE */
};

/* Print a file, with a struct plan_source. -ENOMEM. */
pm_print plan_slurm_write, plan_slurm_write_yaml, plan_simgrid_write;

/*
 * Whether a name ends in "-" or "_" and 16 hexadecimal digits. These files add the GUID
 * so to a name that several nodes have; to be unique, they add it to such a name as well.
 */
static inline bool plan_ends_with_guid(const char *name)
{
	size_t length = strlen(name);

	return length > 16 && strchr("-_", name[length - 17]) &&
	       strspn(name + length - 16, "0123456789abcdef") == 16;
}

/* The number of hosts that a platform would have. O(nodes). */
uint32_t plan_simgrid_hosts(const struct pm_fabric *fabric);

/* Whether any file is requested. */
bool plan_files_any(const struct plan_files *files);

/*
 * Writes the files, with tables made for this fabric; an exit status. sm: the SM's port,
 * or PM_NONE.
 */
int plan_files_write(const struct plan_files *files, const struct cli_tables *tables,
		     const struct pm_fabric *fabric, uint32_t sm);

/* Orders of planes for the first blocks of 32 MLIDs, as a JSON object and as text. */
json_t *plan_multicast_json(const struct pm_plan *plan, uint32_t blocks);
void plan_multicast_print(const json_t *object);

/*
 * Adds notes on end ports of this fabric, the one of the tables, without a path between
 * them; lead: the first words.
 */
void plan_note_paths(const struct cli_tables *tables, const struct pm_fabric *fabric,
		     const char *lead, json_t *notes);

/* The plan as a JSON object, with every LID if requested. */
json_t *plan_json(const struct cli_tables *tables, const struct pm_fabric *fabric,
		  bool lids);

#endif
