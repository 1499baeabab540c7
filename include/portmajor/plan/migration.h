/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reboots by which a fabric that runs with other LIDs gets those of its plan, with
 * the key `migrate`: a port gets its planned LID when it comes up, or a spare one while a
 * port of another node that is up has the planned one (pm_plan_keep). So a node that
 * waits for another one reboots after it, once. Nodes that wait for each other reboot
 * once if they are down at the same time, else one of them twice.
 */
#ifndef PORTMAJOR_MIGRATION_H
#define PORTMAJOR_MIGRATION_H

#include <portmajor/plan/plan.h>

struct pm_migration {
	uint32_t *nodes;     /* of the fabric, that reboot, in order; owned */
	uint32_t *group;     /* [of the same list] index of its group; owned */
	uint32_t num;	     /* of these nodes */
	uint32_t num_groups; /* nodes that do not wait for each other are groups of one */
	uint32_t num_joint;  /* groups of several nodes */
	uint32_t num_ports;  /* with another LID than planned */
	uint32_t switches;   /* of the nodes */
	uint32_t twice;	     /* nodes that would reboot twice, one after the other by
				index in the fabric */
};

/*
 * Finds the reboots for a plan of the fabric, whose ports have the present LIDs; ports
 * without a LID or a place are ignored. -ENOMEM: *migration is untouched. The caller
 * frees it. O(ports + LIDs).
 */
int pm_migration_find(const struct pm_plan *plan, const struct pm_fabric *fabric,
		      struct pm_migration *migration, struct pm_error *err);
void pm_migration_free(struct pm_migration *migration);

#endif
