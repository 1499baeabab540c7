/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plugin's configuration file, portmajor.conf(5): lines `KEY VALUE`, blank
 * lines, and comments from # to the end of the line. Every key but `role` may be given
 * once; those left out have their default.
 */
#ifndef PORTMAJOR_CONFIG_H
#define PORTMAJOR_CONFIG_H

#include <portmajor/fabric/roles.h>
#include <portmajor/files/rebalance.h>
#include <portmajor/plan/plan.h>
#include <portmajor/policy/damping.h>

#define PM_CONFIG_PATH 1024

struct pm_config {
	enum pm_lid_order lid_order; /* default grouped */
	/*
	 * Whether ports that run with a LID other than planned are given the
	 * planned one when they come up anew. Default no: they keep theirs, and what is
	 * planned is kept beside.
	 */
	bool migrate;
	/* Seconds in the file, 1 to 86400, ms here. Default 3 in 60 s, 60 to 3600 s. The
	 * holds are those of pm_failback too, whatever the limit. */
	struct pm_damping_config flap;
	/* Whether tables are repaired as soon as a trap comes. Default yes. */
	bool early_repair;
	uint32_t early_repair_budget_ms; /* to find out more; 1..10000, default 200 */
	/*
	 * Whether tables go over to the plan's as soon as the fabric is whole again, or
	 * only when an operator asks for it. Default true.
	 */
	bool rebalance_auto;
	uint32_t rebalance_rate; /* blocks per second; default 1000 */
	/* Whether the engine computes and logs, and the next one routes. Default no. */
	bool shadow;
	/* File or folder for Prometheus, absolute; "": the plugin's own folder. */
	char prometheus[PM_CONFIG_PATH];
	struct pm_role_rules roles; /* what end ports are for; default none */
};

void pm_config_init(struct pm_config *config);

/*
 * Reads a file; config is untouched on failure, but for `shadow`: where any line asks
 * for it, an error elsewhere must not make the engine route.
 * -EINVAL: unknown key, bad value, a key given twice or values at odds with each other;
 * the message begins with "path:LINE: ", in the last case "path: ", and names the key.
 * -errno of opening or reading.
 */
int pm_config_read(const char *path, struct pm_config *config, struct pm_error *err);

/* The same for text in memory, which source names in messages. */
int pm_config_parse(const char *text, const char *source, struct pm_config *config,
		    struct pm_error *err);

#endif
