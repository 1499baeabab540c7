/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cost of a failure, in JSON (docs/json.md) and as text. */
#ifndef PORTMAJOR_CLI_WHATIF_OUTPUT_H
#define PORTMAJOR_CLI_WHATIF_OUTPUT_H

#include "failure_options.h"
#include "summary_output.h"

#include <portmajor/analysis/whatif.h>

/* All is borrowed. */
struct whatif_described {
	const struct pm_plan *plan;
	const struct pm_whatif_result *before, *after;
	const struct settings *settings; /* for times */
	bool loads, shifts;		 /* they were found */
};

/* Describes a failure; takes over the objects, but not the times. */
json_t *whatif_json(const struct whatif_described *described, json_t *settings,
		    json_t *failed, json_t *took, json_t *cut_off);

/* Prints that object, with the member `multicast`. */
void whatif_print(const json_t *object);

#endif
