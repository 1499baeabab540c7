/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plans on disk, beside OpenSM's own caches: the base, and, while ports run with
 * other LIDs or planes than planned (migrate), the plan in force, which says which. A
 * file that cannot be read, is damaged, or was made for another LMC or fabric is never
 * trusted nor lost: it gets another name, and the plan is made from the fabric and the
 * LIDs in it. On the sweeper thread with no lock held: a disk may be slow.
 */
#ifndef PORTMAJOR_STORE_H
#define PORTMAJOR_STORE_H

#include "planning.h"
#include "say.h"

/* The path of a file in OpenSM's cache folder; the caller frees it. NULL: no memory. */
char *store_path(const char *name);

struct store {
	osm_log_t *log;
	char *base, *drifting; /* paths: of the base, of the plan in force if another */
};

/* -ENOMEM. */
int store_open(struct store *store, osm_log_t *log);
void store_close(struct store *store);

/* Loads what there is into planning, with plans of other LMCs set aside. */
void store_load(const struct store *store, uint8_t lmc, struct planning *planning);

/* Sets the plan just loaded aside, with `why` in the log. */
void store_refuse(const struct store *store, struct planning *planning, const char *why);

/* Writes the plans if they have changed. */
void store_save(const struct store *store, struct planning *planning);

#endif
