/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fabrics with parts missing, as they are in practice: switches, hosts and cables taken
 * away at random.
 */
#ifndef PORTMAJOR_DEGRADE_H
#define PORTMAJOR_DEGRADE_H

#include <portmajor/fabric/fabric.h>

#include <stdio.h>

/* How many of a kind: a number, or thousandths of a percent of all of them. */
struct pm_share {
	uint32_t number;
	bool percent; /* then number is 0 to 100,000 */
};

struct pm_degrade {
	struct pm_share links;	  /* cables between switches */
	struct pm_share switches; /* of any level, with all that is attached to them */
	struct pm_share hosts;	  /* end nodes */
	uint64_t seed;		  /* the same seed and fabric: the same losses */
};

/*
 * Reads "links=3%,switches=1,hosts=5": any of these, in any order, each once. The seed
 * stays as it is. -EINVAL with a message.
 */
int pm_degrade_parse(const char *text, struct pm_degrade *degrade, struct pm_error *err);

/*
 * Cuts the cables of what is lost: first switches, then hosts, then cables of those that
 * are left. A part of a percent is rounded to the nearest number. -EINVAL: more than
 * there are; -ENOMEM. O(ports).
 */
int pm_degrade_apply(const struct pm_degrade *degrade, struct pm_fabric *fabric,
		     struct pm_error *err);

/*
 * Writes a sealed fabric as a netlist, with the GUIDs and device IDs of its nodes; nodes
 * without any cable are left out. Links keep their width and speed, unless only the speed
 * is known. A name with blanks is a description, beside an id made of the GUID; other
 * names must be unique, and all free of quotes, '#' and '@', as those of generated
 * fabrics are. Errors of the stream are for the caller to see. O(ports).
 */
void pm_netlist_write(const struct pm_fabric *fabric, FILE *file);

#endif
