/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Drained links and switches: an operator excludes them from hosts' paths before
 * service.
 *
 * Like a hold (damping.h), a drain never cuts off a pair of hosts: see pm_drains_apply.
 */
#ifndef PORTMAJOR_DRAIN_H
#define PORTMAJOR_DRAIN_H

#include <portmajor/plan/plan.h>

enum pm_drain_state {
	PM_DRAIN_UNKNOWN, /* not in the plan */
	PM_DRAIN_OUT,	  /* no path of hosts uses it, up or down */
	PM_DRAIN_NEEDED,  /* in part in use, as the last path of some pair */
};

/* A drained link or switch. */
struct pm_drain {
	uint64_t guid;	   /* of the switch */
	unsigned int num;  /* its port; 0: all its links to other switches */
	char *name;	   /* of the switch; may be "" */
	char *label;	   /* for lists, see pm_fabric_label */
	uint64_t number;   /* of the request (requests.h); 0: none */
	uint64_t since;	   /* seconds since 1970; 0: not known */
	uint64_t until;	   /* likewise, when it ends by itself; 0: never */
	char *by, *reason; /* or NULL */

	/* As of the last pm_drains_apply. */
	enum pm_drain_state state;
	uint32_t needed; /* number of its links that are in use nevertheless */
};

/* In the order of draining. Zeroed: none. */
struct pm_drains {
	struct pm_drain *list;
	uint32_t num, room;
	uint64_t number; /* of the last request that changed them (requests.h); 0: none */
};

void pm_drains_free(struct pm_drains *drains);

/*
 * Adds a drain unless it is there already; *added (may be NULL) is whether it was added.
 * The drain's name is the label without the GUID. -ENOMEM.
 */
int pm_drains_add(struct pm_drains *drains, uint64_t guid, unsigned int num,
		  const char *label, bool *added, struct pm_error *err);

/*
 * Notes the time of drain number i, the user and the reason; NULL: unknown. Copies texts.
 * -ENOMEM: nothing is noted.
 */
int pm_drains_note(struct pm_drains *drains, uint32_t i, uint64_t since, const char *by,
		   const char *reason, struct pm_error *err);

/* Replaces *to by a copy. -ENOMEM: it stays. */
int pm_drains_copy(const struct pm_drains *from, struct pm_drains *to,
		   struct pm_error *err);

/* Removes number i. */
void pm_drains_remove(struct pm_drains *drains, uint32_t i);

/* Takes over the number, and the ends of drains, of a list with the same drains. */
void pm_drains_renumber(struct pm_drains *drains, const struct pm_drains *from);

/*
 * Whether both have the same drains since the same times in the same order, apart from
 * notes, ends and numbers: a part that is drained anew was perhaps in use meanwhile.
 */
bool pm_drains_equal(const struct pm_drains *a, const struct pm_drains *b);

/*
 * Excludes drained links from usable[port] (pm_plan_match) by pm_exclude (exclude.h),
 * which leaves in needed links: the last drained first. -ENOMEM: usable and *drains are
 * untouched. Cost: nothing if no drained link is usable; else that of pm_exclude.
 */
int pm_drains_apply(struct pm_drains *drains, const struct pm_plan *plan, uint8_t *usable,
		    struct pm_error *err);

/* "unknown", "out" or "needed". */
const char *pm_drain_state_name(enum pm_drain_state state);

#endif
