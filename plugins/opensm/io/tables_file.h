/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The switches' tables as they were read on request, for `portmajor check --now`: the
 * file tables in the store's folder, in the format of OpenSM's dump without owners of
 * LIDs.
 */
#ifndef PORTMAJOR_TABLES_FILE_H
#define PORTMAJOR_TABLES_FILE_H

#include "engine/table_check.h"
#include "store.h"

#include <jansson.h>

/*
 * Replaces the file in one step. Returns what came of it, the state's member
 * "tables_read" (docs/json.md), for the caller; NULL without memory. On the writer's
 * thread. Costs 11 bytes of the file for each entry.
 */
json_t *tables_file_write(const struct tables_read *read, struct store *store);

/* The command reads the file as soon as it has its answer; it may be large. */
#define TABLES_FILE_MS 60e3

/* Removes the file, if there is one; false: the store is not open. Likewise. */
bool tables_file_remove(struct store *store);

#endif
