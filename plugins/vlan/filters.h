/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All tc filters and tcx programs on a device. */
#ifndef PORTMAJOR_PLUGIN_VLAN_FILTERS_H
#define PORTMAJOR_PLUGIN_VLAN_FILTERS_H

#include <portmajor/base/error.h>

#include <stdbool.h>
#include <stdint.h>

enum vlan_hook { VLAN_INGRESS, VLAN_EGRESS, VLAN_HOOKS };

struct vlan_filter {
	enum vlan_hook hook;
	uint32_t preference, handle; /* 0 with tcx */
	uint32_t program;	     /* id of a BPF program, or 0 */
	char kind[16];		     /* tc's, or VLAN_TCX */
	char name[64];		     /* of a BPF program, or "" */
};

struct vlan_filters {
	struct vlan_filter *list; /* the caller frees it */
	uint32_t num, room;
};

/*
 * Lists them, for each hook in the order in which they run. -ENOMEM, or an -errno of
 * netlink or bpf(2).
 */
int vlan_filters_list(unsigned int device, struct vlan_filters *filters,
		      struct pm_error *err);

#endif
