/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the program in the kernel and its loader. A table is one hash map, with all
 * its data as entries, so that it is replaced in one step.
 */
#ifndef PORTMAJOR_PLUGIN_VLAN_MAPS_H
#define PORTMAJOR_PLUGIN_VLAN_MAPS_H

#include <linux/types.h>

#define VLAN_MAC_BYTES 6

/* Kinds of entries; the address of a key is zero unless noted. */
enum vlan_kind {
	VLAN_HOST,    /* the line of an address, or of ff:ff:ff:ff:ff:ff */
	VLAN_OWN,     /* the line of the device's address */
	VLAN_POPPED,  /* tags of this VLAN are popped; it is in the first two bytes, high
			 first */
	VLAN_OUR_HOOK /* the device's clsact is removed with the program */
};

struct vlan_key {
	__u8 mac[VLAN_MAC_BYTES];
	__u16 kind;
};

struct vlan_line {
	__u32 priority;
	__u32 vlan;
};

/*
 * Counts of frames, as in the network stack: the device may split a TCP frame into
 * several.
 */
enum vlan_count {
	VLAN_COUNT_OWN,	    /* sent in the sender's VLAN */
	VLAN_COUNT_PARTNER, /* sent in the receiver's VLAN */
	VLAN_COUNT_GROUP,   /* sent to a group */
	VLAN_COUNT_UNKNOWN, /* sent to an address without a line */
	VLAN_COUNT_PASSED,  /* sent unchanged: with a tag, or to the link alone */
	VLAN_COUNT_POPPED,  /* received in a VLAN of the tables */
	VLAN_COUNT_FOREIGN, /* received with another tag, left unchanged */
	VLAN_COUNT_ERRORS,  /* dropped, because the tag could not be pushed or popped */
	VLAN_COUNTS
};

#endif
