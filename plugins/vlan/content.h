/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The content of a table's kernel map, outside of the kernel. */
#ifndef PORTMAJOR_PLUGIN_VLAN_CONTENT_H
#define PORTMAJOR_PLUGIN_VLAN_CONTENT_H

#include <portmajor/files/host_table.h>

#include <stdbool.h>

#define VLAN_NUMBERS 4096

struct vlan_content {
	struct pm_host_table table;
	bool popped[VLAN_NUMBERS];
	bool our_hook; /* the device's clsact is removed with the program */
};

void vlan_content_free(struct vlan_content *content);

/* Adds the VLANs of the table to popped[]. */
void vlan_content_pop_own(struct vlan_content *content);

/*
 * Makes a map of the content for a device; own: the line of the device's address. The
 * caller closes *fd. -errno of bpf(2), with a message. Cost: a call for each line.
 */
int vlan_content_to_map(const struct vlan_content *content,
			const struct pm_host_line *own, int *fd, struct pm_error *err);

/* Notes in a map that the device's clsact is removed with the program. */
int vlan_content_mark_hook(int fd, struct pm_error *err);

/* Reads a map; the caller frees it. -EPROTO: another version; -ENOMEM; -errno. */
int vlan_content_from_map(int fd, struct vlan_content *content, struct pm_error *err);

/* Sets the message for an -errno of bpf(2), and returns that -errno. */
int vlan_bpf_error(struct pm_error *err, int code, const char *what);

#endif
