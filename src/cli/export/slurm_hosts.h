/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The hosts of topology.conf, each below one switch.
 *
 * Adapters belong to one host if the first words of their nodes' names are equal.
 * Switches with the same hosts, as those of all rails, count as one: a host is below the
 * one with most of its compute adapters, at the first switch by GUID. Among equals it is
 * below the one with the fewest hosts, which tells most, and that is a guess. A host
 * without compute adapters is below the switch of a service adapter, above the leaves:
 * nodes that the file lacks would get no jobs.
 */
#ifndef PORTMAJOR_CLI_SLURM_HOSTS_H
#define PORTMAJOR_CLI_SLURM_HOSTS_H

#include <portmajor/base/pool.h>
#include <portmajor/fabric/fabric.h>

#define SLURM_NAME_MAX 64 /* of a node or a switch */

struct slurm_host {
	const char *name;
	uint32_t sw, port; /* port: of the switch, an index */
	uint32_t node;	   /* the adapter */
	uint8_t kind;	   /* enum pm_host */
	bool guessed;	   /* it has as many adapters at switches with other hosts */
};

struct slurm_hosts {
	struct slurm_host *list; /* by port */
	uint32_t num;
	struct slurm_host *io; /* hosts with I/O adapters alone, which are left out */
	uint32_t num_io;
};

/* The first word of a name, as far as Slurm allows; `more` may be in it, too. */
void slurm_name_shorten(const char *name, const char *more, char out[SLURM_NAME_MAX + 1]);

/* Finds them; they are in the pool. O(ports log ports). */
void slurm_hosts_find(const struct pm_fabric *fabric, struct pm_pool *pool,
		      struct slurm_hosts *hosts);

/* Notes on stderr the adapters and hosts that the file lacks, or has at a guessed place.
 */
void slurm_hosts_note(const struct pm_fabric *fabric);

#endif
