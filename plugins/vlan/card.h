/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cards that filter VLANs drop frames with tags before any program sees them. So the
 * filter is switched off or, if it is fixed, bypassed by promiscuous mode. That mode is
 * set at the bond or team of the card, so that it ends when the card leaves.
 */
#ifndef PORTMAJOR_PLUGIN_VLAN_CARD_H
#define PORTMAJOR_PLUGIN_VLAN_CARD_H

#include "receive.h"

/* Calls of the kernel, as in receive.h, or those of a test. */
struct vlan_card_kernel {
	int (*feature_find)(unsigned int device, const char *name,
			    enum vlan_feature *state);
	int (*feature_switch)(unsigned int device, const char *name, bool on);
	int (*promiscuous_find)(unsigned int device, bool *on);
	int (*promiscuous_switch)(unsigned int device, bool on);
};

extern const struct vlan_card_kernel vlan_card_kernel;

/* A change made to a device. */
enum vlan_card_change {
	VLAN_CARD_NONE,	       /* none was needed */
	VLAN_CARD_FILTER,      /* the filter was switched off */
	VLAN_CARD_PROMISCUOUS, /* the filter stays on, and its leader's promiscuous mode
				  was set */
};

struct vlan_card {
	unsigned int device;
	unsigned int leader; /* the device follows this one's promiscuous mode, see
				vlan_members_list */
	enum vlan_card_change change;
};

/*
 * Makes these devices receive all VLANs, and notes the change of each. After a failure
 * all is as before. A device that is gone by then is no failure. -errno, and *failed is
 * the device.
 */
int vlan_cards_open(const struct vlan_card_kernel *kernel, struct vlan_card *cards,
		    uint32_t num, unsigned int *failed);

/* Undoes the changes of all cards, as far as possible; returns the first -errno. */
int vlan_cards_restore(const struct vlan_card_kernel *kernel,
		       const struct vlan_card *cards, uint32_t num, unsigned int *failed);

/*
 * Opens cards when the cards in *kept were opened before. Cards in *kept that have left
 * their leader by now are restored, as far as possible. Afterwards cards[] has the
 * changes of this call alone, and *kept those of all calls; the caller frees it. Errors
 * as vlan_cards_open, or -ENOMEM, with *failed 0.
 */
int vlan_cards_renew(const struct vlan_card_kernel *kernel, struct vlan_card *cards,
		     uint32_t num, struct vlan_card **kept, uint32_t *num_kept,
		     unsigned int *failed);

/* Write the changes to a file, in place of older ones, and read them. -errno. */
int vlan_cards_write(int fd, const struct vlan_card *cards, uint32_t num);
int vlan_cards_read(int fd, struct vlan_card **cards, uint32_t *num);

#endif
