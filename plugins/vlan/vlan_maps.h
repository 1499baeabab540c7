/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the program in the kernel and its loader have in common. A table is one hash map:
 * whatever the program needs to know of it is an entry, so that it is swapped at once.
 */
#ifndef PORTMAJOR_PLUGIN_VLAN_MAPS_H
#define PORTMAJOR_PLUGIN_VLAN_MAPS_H

#include <linux/types.h>

#define VLAN_MAC_BYTES 6

/* Kinds of entries; where no address is said, it is zero. */
enum vlan_kind {
	VLAN_HOST,   /* the line of an address, or of ff:ff:ff:ff:ff:ff */
	VLAN_OWN,    /* the line of the device's address */
	VLAN_POPPED, /* tags of the VLAN in the first two bytes, high first, are popped */
	VLAN_OUR_HOOK /* the device's clsact came with the program and goes with it */
};

struct vlan_key {
	__u8 mac[VLAN_MAC_BYTES];
	__u16 kind;
};

struct vlan_line {
	__u32 priority;
	__u32 vlan;
};

/* Frames, as the network stack has them: one of TCP may become several in the device. */
enum vlan_count {
	VLAN_COUNT_OWN,	    /* sent in the VLAN of the sender */
	VLAN_COUNT_PARTNER, /* of the receiver */
	VLAN_COUNT_GROUP,   /* to a group */
	VLAN_COUNT_UNKNOWN, /* to an address without a line */
	VLAN_COUNT_PASSED,  /* sent as they were: with a tag, or to the link alone */
	VLAN_COUNT_POPPED,  /* received in a VLAN of the tables */
	VLAN_COUNT_FOREIGN, /* received with another tag, left as they were */
	VLAN_COUNT_ERRORS,  /* dropped, because the tag could not be pushed or popped */
	VLAN_COUNTS
};

#endif
