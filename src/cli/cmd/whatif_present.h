/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `portmajor whatif --now`, `table --now`: a failure in the fabric of a running OpenSM.
 */
#ifndef PORTMAJOR_CLI_WHATIF_PRESENT_H
#define PORTMAJOR_CLI_WHATIF_PRESENT_H

#include "failure_options.h"
#include "present.h"

#include <portmajor/analysis/whatif_now.h>

/* The present fabric, with holds and drains. Zeroed: not opened. */
struct whatif_present {
	struct cli_ports ports;
	struct present present;
	struct cli_port *port; /* one of `ports` */
	uint32_t sm;	       /* OpenSM's port in present.fabric, or PM_NONE */
	struct present_drains drains;
};

/*
 * Opens the fabric of this folder of the plugin's or, with NULL, that of the master on
 * this machine, or without one that of the first port with a plan. An exit status, with a
 * message. The caller closes it in any case.
 */
int whatif_present_open(const char *folder, struct whatif_present *now);
void whatif_present_close(struct whatif_present *now);

/* Fills `find` for pm_whatif_now, but for its options. */
void whatif_present_find(struct whatif_present *now, struct pm_whatif_now *find);

/*
 * Finds the parts of --fail and their ports in present.fabric. An exit status, with a
 * message: parts of which nothing is there are refused as missing already, or as being at
 * another place. The caller frees ports->list.
 */
int whatif_present_fail(const struct whatif_present *now, const struct cli_failed *failed,
			bool quiet, struct pm_ports *ports);

/* The numbers of missing parts, links on hold and drained parts (docs/json.md). */
json_t *whatif_present_json(const struct whatif_present *now);

#endif
