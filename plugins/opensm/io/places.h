/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is at another place than drawn (drawing.h): the member `changed` of the state. The
 * drawing is kept in the file drawing.net of the store's folder, a netlist. It begins
 * with the plan's switches and links, and the discovered fabric. A change stays until it
 * is undone, or acknowledged (requests.h): then it is drawn. A replaced switch or adapter
 * is drawn at once, and listed until acknowledged.
 *
 * A struct places belongs to the writer's thread.
 */
#ifndef PORTMAJOR_IO_PLACES_H
#define PORTMAJOR_IO_PLACES_H

#include "events.h"

#include <portmajor/files/requests.h>
#include <portmajor/plan/drawing.h>
#include <portmajor/plan/plan.h>

#include <jansson.h>

#include <stdbool.h>
#include <time.h>

#define PLACES_LISTED 1000 /* changes in a document at most; all of them are counted */

/* All zero at first. */
struct places {
	struct pm_fabric *drawing; /* NULL: not known yet */
	json_t *changes;	   /* as in the document's list, or NULL */
	bool begun, unsaved;
	bool partial; /* the drawing lacks what only the plan knows */
	char *former; /* path of the former master's drawing, to begin with; or NULL */
};

/* What an update needs; now, plan and events may be NULL. */
struct places_facts {
	const struct pm_fabric *now; /* as discovered last */
	const struct pm_plan *plan;
	const struct pm_requests *requests;
	const char *path;	/* of the drawing */
	const json_t *previous; /* state of the previous process, or NULL */
	struct events *events;
	time_t time;
};

/*
 * Compares the fabric with the drawing, which it updates, reads at first, and writes when
 * it has changed. Changes that come, that are undone and that are adopted are events. An
 * error of memory or of the file leaves things to the next call.
 */
void places_update(struct places *places, const struct places_facts *facts);

/* The member `changed`; null: not known. NULL without memory. */
json_t *places_describe(const struct places *places, const struct pm_requests *requests);

/* An end of a link, as pm_json_end; `host` is true at a host's. */
json_t *places_end(const struct pm_fabric *fabric, uint32_t port);

/* The end of the lower level of this port's link, by the plan, which may be NULL. */
uint32_t places_lower(const struct pm_plan *plan, const struct pm_fabric *fabric,
		      uint32_t port);

/*
 * Begins again with what the former master of the fabric knew: its drawing, at a path of
 * which the caller gives up the ownership, and its changes, as in a document's list.
 */
void places_inherit(struct places *places, char *former, const json_t *changes);

void places_forget(struct places *places);

#endif
