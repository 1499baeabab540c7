/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inputs of the packet engine: hosts, tables, failures and their repair. */
#ifndef PORTMAJOR_CLI_PACKET_SCENE_H
#define PORTMAJOR_CLI_PACKET_SCENE_H

#include "failure_options.h"
#include "planned_tables.h"

#include <portmajor/lab/replay.h>

/* The tables after a failure, where no recording has them. */
enum repair {
	REPAIR_NONE,	/* no Sets */
	REPAIR_AT_ONCE, /* all blocks at the same time */
	REPAIR_ORDER,	/* one after the other, as the plugin sends them */
};

struct repair_config {
	enum repair kind;
	uint64_t after;	    /* ns from the failure to the first block */
	uint64_t smp;	    /* ns from sending a block to its answer */
	uint32_t wire_smps; /* blocks under way at a time */
};

/* Zeroed: nothing yet. */
struct scene {
	struct pm_fabric *fabric;
	struct pm_lft_trace *recording; /* or NULL */
	struct cli_tables tables;	/* the plan's, without a recording and a file */
	uint8_t *lfts;			/* [switch][length] */
	uint32_t length;
	struct pm_packet_host *hosts; /* by switch and port */
	uint32_t num_hosts;
	struct pm_ports failed;
	struct pm_replay replay; /* Sets of the repair */
};

/* The source of tables: one of two files or, without them, the plan. */
struct scene_config {
	const struct cli_fabric *fabric;
	const char *lfts; /* or NULL */
	const char *sets; /* a recording, or NULL */
	const struct cli_failed *failed;
	bool quiet; /* does not list the matches of --fail */
	struct repair_config repair;
};

/* Reads a fabric, its tables, and failures; an exit status. */
int scene_read(struct scene *scene, const char *path, const struct scene_config *config);

/* Makes the Sets after the failure. */
void scene_mend(struct scene *scene, const struct scene_config *config,
		const struct pm_replay_config *times);

/* The host with this name or label (pm_fabric_label); PM_NONE: none, or several. */
uint32_t scene_host(const struct scene *scene, const char *name);

/* The name of a host. */
const char *scene_name(const struct scene *scene, uint32_t host);

void scene_free(struct scene *scene);

#endif
