/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Our filters on a device: nothing is remembered elsewhere than in the kernel. */
#ifndef PORTMAJOR_PLUGIN_VLAN_LOADED_H
#define PORTMAJOR_PLUGIN_VLAN_LOADED_H

#include "filters.h"
#include "vlan_maps.h"

struct vlan_loaded {
	struct vlan_filter ours[VLAN_HOOKS];  /* program 0: not there */
	uint32_t num;			      /* of them */
	struct vlan_filter ahead[VLAN_HOOKS]; /* comes first; kind "": none does */
	uint32_t num_others;
	struct vlan_filter other; /* the first one */
};

/*
 * Looks for it. What a filter or program that is ahead does with a frame is up to it:
 * ours may never see it. -ENOMEM, or an -errno of netlink or bpf(2).
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

/* The table in force, a map that the caller closes. */
int vlan_maps_table(const struct vlan_maps *maps, int *fd, struct pm_error *err);

/* Puts another one in force at once; no frame is handled by the old one afterwards. */
int vlan_maps_swap(const struct vlan_maps *maps, int fd, struct pm_error *err);

/* Adds up what all processors counted. -ENOMEM, or an -errno of bpf(2). */
int vlan_maps_count(const struct vlan_maps *maps, uint64_t counts[VLAN_COUNTS],
		    struct pm_error *err);

#endif
