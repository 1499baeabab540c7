/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attaches the program to a device, and detaches it. */
#ifndef PORTMAJOR_PLUGIN_VLAN_PROGRAM_H
#define PORTMAJOR_PLUGIN_VLAN_PROGRAM_H

#include "loaded.h"

/* The object file of vlan.bpf.c, see embed.cmake. */
extern const unsigned char vlan_object[];
extern const unsigned int vlan_object_size;

/*
 * Loads the program with a table, and attaches it at both hooks. It uses tcx, ahead of
 * all other programs. Where the kernel has no tcx it uses tc filters, and makes the
 * device's clsact if there is none. After a failure all is as before. -errno of bpf(2) or
 * of netlink.
 */
int vlan_program_attach(unsigned int device, int table, struct pm_error *err);

/*
 * Detaches the program. With our_hook it also removes the device's clsact, if no other
 * filter is there.
 */
int vlan_program_detach(unsigned int device, const struct vlan_loaded *loaded,
			bool our_hook, struct pm_error *err);

#endif
