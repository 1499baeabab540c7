/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files that operators write while OpenSM runs, read on the writer's thread, so that
 * no sweep waits for a file:
 *
 *     GUID files          of OpenSM's options, see roles.h
 *     portmajor.conf      the configuration (config.h), if there is a file
 *
 * They are read at each operator_files_poll. Changes may be too late for a running sweep:
 * then operator_files_routed requests another sweep. Between sweeps the writer's thread
 * requests it. Only the first sweep waits for the first reading, within bounds (sweep.h).
 */
#ifndef PORTMAJOR_OPERATOR_FILES_H
#define PORTMAJOR_OPERATOR_FILES_H

#include "engine/worker.h"

#include <portmajor/files/config.h>
#include <portmajor/files/role_files.h>

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

struct operator_files;

/*
 * config is the configuration as read, or the defaults; then misread is the error. NULL
 * without memory.
 */
struct operator_files *operator_files_start(osm_opensm_t *osm, struct worker *writer,
					    const struct pm_config *config,
					    const struct pm_error *misread);

/* After the writer has ended. */
void operator_files_stop(struct operator_files *files);

/* ---- On the writer's thread ---- */

/* Begins a round: whether the files are to be read in it. */
bool operator_files_begin(struct operator_files *files);

/* Then reads them. */
void operator_files_read(struct operator_files *files);

/* Requests a sweep, unless one has begun and not routed yet. */
void operator_files_request_sweep(struct operator_files *files);

/* ---- On the sweeper ---- */

/* At the beginning of a sweep: has all files read soon. */
void operator_files_poll(struct operator_files *files);

/* Whether the first reading is neither over nor given up; waits for it up to 10 ms. */
bool operator_files_await(struct operator_files *files);

/* Gives up waiting for the first reading. True: it is not over. */
bool operator_files_give_up(struct operator_files *files);

/* After routing with these roles; more: other work needs a sweep. */
void operator_files_routed(struct operator_files *files, const struct pm_roles *roles,
			   bool more);

/*
 * Replace the roles in use by those read; returns whether they differ. An unreadable file
 * is logged once and changes nothing.
 */
bool operator_files_take_roles(struct operator_files *files, struct pm_roles *now);

/*
 * Takes the configuration, if another one was read, or the error of the file, which
 * leaves *now alone. Returns whether there is either.
 */
bool operator_files_take_config(struct operator_files *files, struct pm_config *now,
				struct pm_error *misread);

#endif
