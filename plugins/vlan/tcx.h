/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs attached to a device by tcx, which Linux has from 6.6 on. They run one after
 * the other, all ahead of tc's filters, and outlive the process that attached them.
 */
#ifndef PORTMAJOR_PLUGIN_VLAN_TCX_H
#define PORTMAJOR_PLUGIN_VLAN_TCX_H

#include "filters.h"

/* In place of the kind of a tc filter. */
#define VLAN_TCX "tcx"

/* Whether the kernel has tcx. */
bool vlan_tcx_exists(unsigned int device);

/*
 * Adds them to a list, in the order in which they run; the kernel truncates their names.
 * A kernel without tcx has none. -ENOMEM, or an -errno of bpf(2), with a message.
 */
int vlan_tcx_list(unsigned int device, enum vlan_hook hook, struct vlan_filters *filters,
		  struct pm_error *err);

/* Attaches a program ahead of all others. -EINVAL: this kernel has no tcx. */
int vlan_tcx_attach(unsigned int device, enum vlan_hook hook, int program);

/* -errno of bpf(2). */
int vlan_tcx_detach(unsigned int device, enum vlan_hook hook, int program);

#endif
