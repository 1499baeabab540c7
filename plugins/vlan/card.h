/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cards that filter VLANs drop frames with tags before any program sees them. The filter
 * is switched off or, where that cannot be, passed by in promiscuous mode: of the bond or
 * team that the card is a member of, so that it ends when the card leaves.
 */
#ifndef PORTMAJOR_PLUGIN_VLAN_CARD_H
#define PORTMAJOR_PLUGIN_VLAN_CARD_H

#include "receive.h"

/* Calls of the kernel, as in receive.h, or of a test's fake. */
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
	VLAN_CARD_NONE,	       /* nothing had to be */
	VLAN_CARD_FILTER,      /* the filter was switched off */
	VLAN_CARD_PROMISCUOUS, /* the filter stays on, and its leader's mode was set */
};

struct vlan_card {
	unsigned int device;
	unsigned int leader; /* it follows the promiscuous mode of this one:
				vlan_members_list */
	enum vlan_card_change change;
};

/*
 * Has all VLANs received on these devices, and reports the change of each. After any
 * failure all is as before; a device that is gone by then is no failure. -errno, and
 * *failed is the device.
 */
int vlan_cards_open(const struct vlan_card_kernel *kernel, struct vlan_card *cards,
		    uint32_t num, unsigned int *failed);

/* Takes it back, of all that can be: the first -errno otherwise. */
int vlan_cards_restore(const struct vlan_card_kernel *kernel,
		       const struct vlan_card *cards, uint32_t num, unsigned int *failed);

/*
 * Opens cards, of which `kept` were opened before, and perhaps others that have left
 * their leader by now: these are restored, as far as can be. Cards then have the changes
 * of these calls alone, and *kept and *num_kept those of all: the caller frees them. As
 * vlan_cards_open, or -ENOMEM, with *failed 0.
 */
int vlan_cards_renew(const struct vlan_card_kernel *kernel, struct vlan_card *cards,
		     uint32_t num, struct vlan_card **kept, uint32_t *num_kept,
		     unsigned int *failed);

/* Keeps the changes in a file, in place of older ones, and reads them. -errno. */
int vlan_cards_write(int fd, const struct vlan_card *cards, uint32_t num);
int vlan_cards_read(int fd, struct vlan_card **cards, uint32_t *num);

#endif
