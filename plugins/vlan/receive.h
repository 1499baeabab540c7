/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads and sets the receive features of a device in the kernel. Devices are indexes. */
#ifndef PORTMAJOR_PLUGIN_VLAN_RECEIVE_H
#define PORTMAJOR_PLUGIN_VLAN_RECEIVE_H

#include <portmajor/base/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ETHTOOL's name of the feature that a card that filters VLANs has on. */
#define VLAN_FEATURE "rx-vlan-filter"

enum vlan_feature { VLAN_FEATURE_OFF, VLAN_FEATURE_ON, VLAN_FEATURE_FIXED };

/* FIXED: on, and nothing can change it. A device without ETHTOOL has it off. -errno. */
int vlan_feature_find(unsigned int device, const char *name, enum vlan_feature *state);

/* The device's driver may ignore it. -errno. */
int vlan_feature_switch(unsigned int device, const char *name, bool on);

/* Whether the device's flag is set; promiscuous packet sockets do not set it. -errno. */
int vlan_promiscuous_find(unsigned int device, bool *on);
int vlan_promiscuous_switch(unsigned int device, bool on);

struct nlmsghdr;

/*
 * Sends a netlink request for a dump, and calls take for each message of this type with a
 * body of at least this size; -errno of take ends the dump. -errno.
 */
int vlan_dump(const struct nlmsghdr *question, uint16_t type, size_t body,
	      int (*take)(const struct nlmsghdr *message, void *context), void *context);

struct vlan_member {
	unsigned int device;
	unsigned int leader; /* the bond or team, its own or one above, that it follows in
				promiscuous mode; or itself */
};

/*
 * Lists the device, its members, and theirs. In the kernel members of a bond or a team
 * follow its promiscuous mode, also members that come later, until they leave. The caller
 * frees *members. -errno.
 */
int vlan_members_list(unsigned int device, struct vlan_member **members, uint32_t *num);

#endif
