/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The recordings that come with the package (scripts/record-fabrics makes them):
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
	const char *fabric; /* its name there; NULL: the netlist is a file of its own */
};

/* The folder that is given; or, for NULL, that of the installation or the source tree of
 * this program. To be freed; an exit status. */
int recordings_begin(struct recordings *recordings, const char *folder);
void recordings_free(struct recordings *recordings);

/* Finds the netlist that is called so: a file, or else a fabric of these. *path is for
 * the caller to free. An exit status; the message names the fabrics there are. */
int recordings_find_netlist(struct recordings *recordings, const char *name, char **path);

/*
 * Finds the recording of an engine, ENGINE or ENGINE.sets, in the folder, of the fabric
 * and of the failure of the cables at these ports. *path is for the caller to free; NULL:
 * there is none, which is no failure. An exit status. Cost: reads all recordings of this
 * engine and fabric.
 */
int recordings_find_engine(const struct recordings *recordings, const char *name,
			   const struct pm_fabric *fabric, const struct pm_ports *ports,
			   char **path);

#endif
