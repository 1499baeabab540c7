/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program put on a device, and taken off. */
#ifndef PORTMAJOR_PLUGIN_VLAN_PROGRAM_H
#define PORTMAJOR_PLUGIN_VLAN_PROGRAM_H

#include "loaded.h"

/* The object file of vlan.bpf.c, see embed.cmake. */
extern const unsigned char vlan_object[];
extern const unsigned int vlan_object_size;

/*
 * Loads it with a table, and attaches it at both hooks: by tcx ahead of all others, or as
 * tc filters where the kernel has no tcx, for which it makes the device's clsact if there
 * is none. Whatever fails, all is as before. -errno of bpf(2) or of netlink.
 */
int vlan_program_attach(unsigned int device, int table, struct pm_error *err);

/*
 * Detaches the program, and takes the device's clsact off if our_hook and no other filter
 * is there.
 */
int vlan_program_detach(unsigned int device, const struct vlan_loaded *loaded,
			bool our_hook, struct pm_error *err);

#endif
