/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fabric of an OpenSM as its files have it (libportmajor(8), FILES): parts that are
 * there, LIDs in use, rates, and links that holds and drains keep out of paths.
 */
#ifndef PORTMAJOR_CLI_PRESENT_H
#define PORTMAJOR_CLI_PRESENT_H

#include "ports.h"

#include <portmajor/policy/exclude.h>

/* Zeroed: nothing. */
struct present {
	struct pm_fabric *fabric; /* as last discovered; NULL: there is no file of it */
	struct pm_plan *plan;	  /* with the LIDs in use, and with the links' rates */
	struct pm_plan *base;	  /* the file's, if it has other LIDs; else NULL */
	uint8_t *there;		  /* [port of plan->topology] a link, or an end port */
	uint8_t *vacant; /* see present_mark_vacant; NULL: no place is known so */
	struct pm_exclusion *held; /* links on hold */
	uint32_t num_held;
};

/*
 * Reads the plan of a port's folder, and what is known of its fabric. An exit status,
 * with a message. The caller frees *present in any case.
 */
int present_read(const struct cli_port *port, struct present *present);

/*
 * The same for another plan, which is taken over: the links of a netlist are there. The
 * fabric is borrowed, and may be NULL.
 */
void present_of(struct pm_plan *plan, const struct pm_fabric *fabric,
		struct present *present);

void present_free(struct present *present);

/*
 * Finds the links in use if there[port of plan->topology] are there: without links on
 * hold and drained ones, unless they are needed. Drains, which may be NULL, get their
 * states. -ENOMEM.
 */
int present_use(const struct present *present, const uint8_t *there,
		struct pm_drains *drains, uint8_t *usable, struct pm_error *err);

/*
 * The same as a callback for the core (whatif_now.h, judge.h); the context is a struct
 * present_drains.
 */
struct present_drains {
	const struct present *present;
	struct pm_drains *drains;
};
int present_use_by(void *context, const uint8_t *there, uint8_t *usable,
		   struct pm_error *err);

/*
 * The member of a state that has `total` and `parts` of what is missing: what repairs and
 * returns have found since the missing parts were told, if they have, else these.
 */
const json_t *present_missing(const json_t *state);

/*
 * Marks places of end ports in present->vacant[port of plan->topology] at which no host
 * belongs any more: the plan keeps the place of a host that was moved.
 */
void present_mark_vacant(struct present *present, const struct cli_port *port);

/*
 * The fabric with all parts, there or not, as the plugin's drawing in the folder has it;
 * NULL: there is none. The caller frees it.
 */
struct pm_fabric *present_read_drawing(const char *folder);

/* The port of the OpenSM with this state, PM_NONE: it is not in the fabric. O(ports). */
uint32_t present_find_sm(const struct pm_fabric *fabric, const json_t *state);

/* Whether a port's folder has a plan and a discovered fabric. */
bool present_is_known(const struct cli_port *port);

#endif
