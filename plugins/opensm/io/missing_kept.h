/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Missing parts (missing.h) in the state's document, with times and operators'
 * acknowledgements.
 *
 * The sweeper's document has the plan's parts (missing_describe). The writer corrects
 * them by the drawing, and adds members from the document before (missing_complete), at
 * first from the previous process's file (missing_begin). A part that a document lacks is
 * there, or another one has its place; that ends the outage. Which outages are
 * acknowledged is in the requests in force (requests.h).
 *
 * A struct missing_kept belongs to the writer's thread.
 */
#ifndef PORTMAJOR_IO_MISSING_KEPT_H
#define PORTMAJOR_IO_MISSING_KEPT_H

#include "known_hosts.h"
#include "missing_drawn.h"

#include <jansson.h>

#include <portmajor/fabric/tree.h>
#include <portmajor/files/requests.h>
#include <portmajor/plan/missing.h>

#include <stdbool.h>
#include <time.h>

#define MISSING_LISTED 1000 /* parts in a document at most; all of them are counted */

/* All zero at first. */
struct missing_kept {
	json_t *parts; /* {"GUID:PORT": {since, host}}, or NULL */
	json_t *last;  /* the member as last written, or NULL */
	json_t *raw;   /* the newest of missing_describe, or NULL */
};

/*
 * The member `missing`, of a plan's skeleton and tree: `total` and `parts`, each with the
 * end of the lower level first. NULL without memory.
 */
json_t *missing_describe(const struct pm_fabric *topology, const struct pm_tree *tree,
			 const struct pm_missing *missing);

/*
 * Takes over the members of a previous state. Outages that it lacks begin when they were
 * acknowledged to have begun: it may not have been written.
 */
void missing_begin(struct missing_kept *kept, const json_t *state,
		   const struct pm_requests *requests);

/* Notes the member `missing` of a new document; null: nothing new is known. */
void missing_take(struct missing_kept *kept, const json_t *document);

/* What a completion needs. */
struct missing_facts {
	struct missing_drawing
		drawing; /* .drawing or .now NULL: not known; without .before */
	const struct known_hosts *hosts;
	const struct pm_requests *requests;
	time_t now;
};

/*
 * Sets the member `missing` of a document: the newest, corrected (missing_drawn.h), with
 * since, acknowledged, the names of hosts, and sums without acknowledged parts; if
 * nothing is known yet, the last one. -ENOMEM: kept is unchanged.
 */
int missing_complete(struct missing_kept *kept, json_t *document,
		     const struct missing_facts *facts);

void missing_forget(struct missing_kept *kept);

#endif
