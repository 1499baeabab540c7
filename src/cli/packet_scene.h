/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the packet engine is given: hosts, tables, what is lost and how that is mended. */
#ifndef PORTMAJOR_CLI_PACKET_SCENE_H
#define PORTMAJOR_CLI_PACKET_SCENE_H

#include "losses.h"
#include "tables.h"

#include <portmajor/packet.h>

/* When the tables are mended after a loss. */
enum repair {
	REPAIR_NONE,
	REPAIR_AT_ONCE, /* all blocks at the same time */
	REPAIR_ORDER,	/* one after the other, as the plugin sends them */
};

struct repair_config {
	enum repair kind;
	uint32_t begin;	    /* tick */
	uint32_t smp;	    /* ticks from sending a block to its answer */
	uint32_t wire_smps; /* blocks under way at a time */
};

/* Zeroed: nothing yet. */
struct scene {
	struct pm_fabric *fabric;
	struct cli_tables tables; /* not with a file */
	uint8_t *lfts;		  /* [switch][length] */
	uint32_t length;
	struct pm_packet_host *hosts; /* by switch and port */
	uint32_t num_hosts;
	struct pm_ports lost;
	struct pm_packet_set *sets;
	uint32_t num_sets;
};

/* Reads a fabric, and tables from a file, or the plan's if that is NULL; an exit status.
 */
int scene_read(struct scene *scene, const char *path, const struct cli_fabric *config,
	       const char *lfts);

/* What is lost, and the Sets that follow from it; an exit status. */
int scene_lose(struct scene *scene, const struct cli_lost *lost,
	       const struct repair_config *repair);

/* The host with that name, or PM_NONE. */
uint32_t scene_host(const struct scene *scene, const char *name);

/* The name of a host. */
const char *scene_name(const struct scene *scene, uint32_t host);

void scene_free(struct scene *scene);

#endif
