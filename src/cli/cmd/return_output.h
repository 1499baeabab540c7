/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What parts cost that return, in JSON and as text. */
#ifndef PORTMAJOR_CLI_RETURN_OUTPUT_H
#define PORTMAJOR_CLI_RETURN_OUTPUT_H

#include "failure_options.h"
#include "summary_output.h"

#include <portmajor/analysis/whatif.h>

/* The return of the parts whose failure was tried last. All is borrowed. */
struct cli_return {
	const struct pm_fabric *fabric; /* whole */
	const struct pm_whatif *whatif; /* after pm_whatif_fail for .. */
	const struct pm_ports *ports;	/* .. these ports */
	const struct pm_whatif_result *result;
	const struct cli_failed *failed; /* as --fail names them */
	const struct settings *settings;
	const uint8_t *reset; /* [node], see cli_return_reset */
	bool any_reset;
};

/*
 * Marks reset[node] for the nodes that --fail names: they have lost what OpenSM set. An
 * exit status; EXIT_USAGE: it names none.
 */
int cli_return_reset(const struct pm_fabric *fabric, const struct pm_plan *plan,
		     const struct cli_failed *failed, uint8_t *reset);

/* Describes the return. An exit status. Takes over `took` and `multicast`. */
int cli_return_json(const struct cli_return *back, json_t *took, json_t *multicast,
		    json_t **object);
void cli_return_print(const json_t *object);

/* Prints the line about multicast tables, if there are groups. */
void cli_multicast_print(const json_t *object);

#endif
