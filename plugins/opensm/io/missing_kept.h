/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Missing parts (portmajor/missing.h) in the state's document: since when, and which of
 * them an operator has acknowledged.
 *
 * The sweeper's document has the parts (missing_describe). The writer adds to each what
 * it knows of it from documents before (missing_complete), the first time from the file
 * that the process before has left (missing_begin). A part that is not in a document has
 * returned: the time and the acknowledgement end with that.
 *
 * An acknowledgement is asked for by a file in the store's folder, written by
 * `portmajor acknowledge`:
 *
 *     {"schema": "portmajor-acknowledge", "version": 1, "all": false,
 *      "parts": [{"guid": "0x0002c903000a1105", "port": 0}]}
 *
 * with a part's first end. A struct missing_kept belongs to the writer's thread.
 */
#ifndef PORTMAJOR_IO_MISSING_KEPT_H
#define PORTMAJOR_IO_MISSING_KEPT_H

#include <jansson.h>

#include <portmajor/fabric/tree.h>
#include <portmajor/plan/missing.h>

#include <stdbool.h>
#include <time.h>

#define MISSING_LISTED 1000 /* parts in a document at most; all of them are counted */

/* All zero at first. */
struct missing_kept {
	json_t *parts; /* {"GUID:PORT": {since, acknowledged}}, or NULL */
	json_t *last;  /* the member as it was written last, or NULL */
};

/*
 * The member `missing`, of a plan's skeleton and tree: `total` and `parts`, each with the
 * end of the lower level first. NULL without memory.
 */
json_t *missing_describe(const struct pm_fabric *known, const struct pm_tree *tree,
			 const struct pm_missing *missing);

/* Takes over what a state of before has. */
void missing_begin(struct missing_kept *kept, const json_t *state);

/*
 * Completes the member of a document: since, acknowledged, and sums of what is not
 * acknowledged. Where it is null, nothing is known yet: it becomes what it was last.
 * -ENOMEM: kept is as before.
 */
int missing_complete(struct missing_kept *kept, json_t *document, time_t now);

/*
 * Follows and removes the file of a request. *count: the parts that are acknowledged now
 * and were not before. -ENOENT: there is none; -EINVAL: it is no such request, and is
 * removed; -ENOMEM: it stays.
 */
int missing_acknowledge(struct missing_kept *kept, const char *path, uint32_t *count);

void missing_forget(struct missing_kept *kept);

#endif
