/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plugin's configuration file, portmajor.conf(5): lines `KEY VALUE`, blank lines, and
 * comments from # to the end of the line. Each key but `role` may be given once; keys
 * left out have their default.
 */
#ifndef PORTMAJOR_CONFIG_H
#define PORTMAJOR_CONFIG_H

#include <portmajor/fabric/roles.h>
#include <portmajor/files/event_kinds.h>
#include <portmajor/plan/plan.h>
#include <portmajor/policy/damping.h>

#define PM_CONFIG_PATH 1024
#define PM_REBALANCE_RATE_MAX 1000000 /* LFT blocks per second */
#define PM_PORT_ERROR_LIMIT_MAX 1000000

struct pm_config {
	enum pm_lid_order lid_order; /* default grouped */
	/*
	 * Whether a port with another LID than planned gets the planned one at its next
	 * link-up. Default no: ports keep their LIDs, and planned LIDs are for new ports.
	 */
	bool migrate;
	/*
	 * Link damping. The file has seconds, 1 to 86400; this structure has ms. Default:
	 * 3 times down in 60 s, holds of 60 to 3600 s. pm_failback uses the holds, too,
	 * even with limit 0.
	 */
	struct pm_damping_config flap;
	/* Whether a trap starts a repair of tables. Default yes. */
	bool early_repair;
	bool throttle_sweeps;
	uint32_t early_repair_budget_ms; /* for locating the failure; 1..10000, default
					  * 200 */
	/*
	 * Whether tables return to the plan's once the fabric is complete again, or only
	 * at an operator's request. Default true.
	 */
	bool rebalance_auto;
	uint32_t rebalance_rate; /* blocks per second; default 1000 */
	/*
	 * Shadow mode: portmajor computes and logs, and the next engine routes. Default
	 * no.
	 */
	bool shadow;
	/* File or folder for Prometheus, absolute; "": the plugin's folder. */
	char prometheus[PM_CONFIG_PATH];
	bool event_syslog;		    /* whether events go to syslog; default yes */
	char event_command[PM_CONFIG_PATH]; /* run for each event, absolute; "": none */
	enum event_severity event_command_severity; /* the least; default EVENT_INFO */
	uint64_t event_command_kinds; /* pm_event_kind_bit of each; 0, default: all */
	uint32_t port_error_limit;  /* ports with this number of errors or more in an hour
				       are named; 0: none; 0..1000000, default 10 */
	struct pm_role_rules roles; /* of end ports; default none */
};

void pm_config_init(struct pm_config *config);

/*
 * Reads a file. On failure config is untouched but for `shadow`: an error elsewhere must
 * not make a shadow engine route. -EINVAL: unknown key, bad value, repeated key (the
 * message begins with "path:LINE: "), or values that contradict each other ("path: "); it
 * names the key. -errno of opening or reading.
 */
int pm_config_read(const char *path, struct pm_config *config, struct pm_error *err);

/* The same, of a file that no other user may have written: pm_trusted_linked_file. */
int pm_config_read_trusted(const char *path, struct pm_config *config,
			   struct pm_error *err);

/* The same for text in memory, called source in messages. */
int pm_config_parse(const char *text, const char *source, struct pm_config *config,
		    struct pm_error *err);

/*
 * Keys with values that can change while the plugin runs, and those that need a restart
 * of OpenSM: lid_order, migrate, shadow, prometheus.
 */
enum pm_config_kind {
	PM_CONFIG_LIVE,
	PM_CONFIG_RESTART,
};

#define PM_CONFIG_KEYS 256 /* bytes of the names of all keys, with the NUL */

/*
 * Writes the keys of a kind with different values, "a, b"; returns whether there are any.
 */
bool pm_config_compare(const struct pm_config *before, const struct pm_config *now,
		       enum pm_config_kind kind, char names[PM_CONFIG_KEYS]);

/* Copies the values of the keys that can change while the plugin runs. */
void pm_config_take_live(struct pm_config *config, const struct pm_config *now);

#endif
