/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The discovered fabric as a netlist: the file fabric.net in the store's folder, which
 * `portmajor status --expect` compares with the intended cabling.
 *
 * The sweeper hands a fabric over, and the writer's thread (worker.h) makes the text and
 * writes it, if it differs from the last one. If it cannot be written, the earlier file
 * is removed, lest an old fabric is taken for the present one, and each round tries
 * again.
 */
#ifndef PORTMAJOR_FABRIC_FILE_H
#define PORTMAJOR_FABRIC_FILE_H

#include "engine/worker.h"
#include "known_hosts.h"
#include "store.h"

#include <portmajor/fabric/fabric.h>

struct fabric_file;

/* The writer's rounds must call fabric_file_write. NULL without memory. */
struct fabric_file *fabric_file_start(struct store *store, struct worker *writer);

/* After the writer has ended; file may be NULL. */
void fabric_file_stop(struct fabric_file *file);

/* Has a fabric written soon, and takes it over. Waits for no file. */
void fabric_file_put(struct fabric_file *file, struct pm_fabric *fabric);

/* The fabric is still that of the last fabric_file_put: the file is written if it is
 * gone.
 */
void fabric_file_keep(struct fabric_file *file);

/* A round of the writer, on its thread, after store_write. */
void fabric_file_write(struct fabric_file *file);

/* The last fabric that was written, or NULL; for the writer's thread, until its next
 * round. */
const struct pm_fabric *fabric_file_now(const struct fabric_file *file);

/* The hosts of all fabrics that were handed over and written; for the writer's thread. */
const struct known_hosts *fabric_file_hosts(const struct fabric_file *file);

#endif
