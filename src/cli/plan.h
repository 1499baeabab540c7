/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the source files of `portmajor plan` share. */
#ifndef PORTMAJOR_CLI_PLAN_H
#define PORTMAJOR_CLI_PLAN_H

#include "tables.h"

#include <jansson.h>

/* Files to write, NULL: none. */
struct plan_files {
	const char *guid2lid; /* as OpenSM keeps it in its cache folder */
	const char *lfts;     /* for `opensm -R file -U FILE` */
	const char *ibdmchk; /* folder for ibdmchk's three files; it is made if need be */
};

/* Writes them; an exit status. sm: the SM's port or PM_NONE. */
int plan_files_write(const struct plan_files *files, const struct cli_tables *tables,
		     const struct pm_fabric *fabric, uint32_t sm);

/* The plan as a JSON object, with every LID if so wanted. */
json_t *plan_json(const struct cli_tables *tables, const struct pm_fabric *fabric,
		  bool lids);

#endif
