/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Removes switches, hosts and links from a fabric at random. */
#ifndef PORTMAJOR_DEGRADE_H
#define PORTMAJOR_DEGRADE_H

#include <portmajor/fabric/fabric.h>

#include <stdio.h>

/* A number of parts, or the share of a kind's parts in thousandths of a percent. */
struct pm_share {
	uint32_t number;
	bool percent; /* then number is 0 to 100,000 */
};

struct pm_degrade {
	struct pm_share links;	  /* links between switches */
	struct pm_share switches; /* of any level, with all that is attached to them */
	struct pm_share hosts;	  /* end nodes */
	uint64_t seed;		  /* the same seed and fabric: the same failures */
};

/*
 * Reads "links=3%,switches=1,hosts=5": any of these, in any order, each once. The seed
 * stays as it is. -EINVAL with a message.
 */
int pm_degrade_parse(const char *text, struct pm_degrade *degrade, struct pm_error *err);

/*
 * Cuts links: those of the failed switches, then of the failed hosts, then some of the
 * rest. Percentages are rounded to the nearest number of parts. -EINVAL: more than there
 * are; -ENOMEM. O(ports).
 */
int pm_degrade_apply(const struct pm_degrade *degrade, struct pm_fabric *fabric,
		     struct pm_error *err);

/*
 * Writes a sealed fabric as a netlist, with GUIDs and device IDs; nodes without a link
 * are left out. Ports keep their LIDs, and links their width and speed, unless only the
 * speed is known. A name that is empty, not unique, of the form S-0123456789abcdef (also
 * with H or R), or has blanks, quotes, '#' or '@' becomes the description of a node with
 * such an id, made of its GUID; so ids are unique. Quotes and control characters in the
 * description become '?' (pm_put_field). The caller checks the stream for errors.
 * O(ports).
 */
void pm_netlist_write(const struct pm_fabric *fabric, FILE *file);

#endif
