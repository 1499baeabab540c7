/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The recordings in the package, made by scripts/record-fabrics:
 *
 *   FOLDER/FABRIC/fabric.net           a netlist
 *   FOLDER/FABRIC/FAILURE/ENGINE.sets  LFT Sets after a failure of it (lft_trace.h)
 */
#ifndef PORTMAJOR_CLI_RECORDINGS_H
#define PORTMAJOR_CLI_RECORDINGS_H

#include <portmajor/analysis/failures.h>
#include <portmajor/lab/lft_trace.h>

struct recordings {
	char *folder;	    /* NULL: there is none */
	const char *fabric; /* its name there; NULL: the netlist is another file */
};

/*
 * Finds the folder: the given one, or for NULL that of the installation or source tree.
 * The caller calls recordings_free. An exit status.
 */
int recordings_begin(struct recordings *recordings, const char *folder);
void recordings_free(struct recordings *recordings);

/*
 * Finds a netlist by name: a file, or else a fabric of the recordings. The caller frees
 * *path. An exit status; the message lists the fabrics.
 */
int recordings_find_netlist(struct recordings *recordings, const char *name, char **path);

/*
 * Finds the recording of an engine, ENGINE or ENGINE.sets, for the fabric and the failure
 * of the cables at these ports. The caller frees *path; NULL: there is none. An exit
 * status. Cost: reading all recordings of this engine and fabric.
 */
int recordings_find_engine(const struct recordings *recordings, const char *name,
			   const struct pm_fabric *fabric, const struct pm_ports *ports,
			   char **path);

#endif
