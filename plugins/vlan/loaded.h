/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The filters of portmajor-vlan on a device. Nothing is remembered outside of the kernel.
 */
#ifndef PORTMAJOR_PLUGIN_VLAN_LOADED_H
#define PORTMAJOR_PLUGIN_VLAN_LOADED_H

#include "filters.h"
#include "vlan_maps.h"

struct vlan_loaded {
	struct vlan_filter ours[VLAN_HOOKS];  /* program 0: none at this hook */
	uint32_t num;			      /* of `ours` */
	struct vlan_filter ahead[VLAN_HOOKS]; /* runs before ours; kind "": none does */
	uint32_t num_others;
	struct vlan_filter other; /* the first of these */
};

/*
 * Finds the filters. A filter or program that runs before ours may keep frames from it.
 * -ENOMEM, or an -errno of netlink or bpf(2).
 */
int vlan_loaded_find(unsigned int device, struct vlan_loaded *loaded,
		     struct pm_error *err);

/* File descriptors, which the caller closes. */
struct vlan_maps {
	int tables; /* holds the table in force */
	int counts;
};

/* The maps of the loaded program. -EPROTO: of another version; other -errno of bpf(2). */
int vlan_maps_open(const struct vlan_loaded *loaded, struct vlan_maps *maps,
		   struct pm_error *err);
void vlan_maps_close(struct vlan_maps *maps);

/* Opens the table in force, a map; the caller closes *fd. */
int vlan_maps_table(const struct vlan_maps *maps, int *fd, struct pm_error *err);

/* Puts another table in force in one step; the old one handles no frame afterwards. */
int vlan_maps_swap(const struct vlan_maps *maps, int fd, struct pm_error *err);

/* Adds up the counts of all processors. -ENOMEM, or an -errno of bpf(2). */
int vlan_maps_count(const struct vlan_maps *maps, uint64_t counts[VLAN_COUNTS],
		    struct pm_error *err);

#endif
