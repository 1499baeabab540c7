/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a device and its members receive all VLANs, and keeps the changes in the file of
 * the device's lock until they are undone.
 */
#ifndef PORTMAJOR_PLUGIN_VLAN_RECEPTION_H
#define PORTMAJOR_PLUGIN_VLAN_RECEPTION_H

#include "card.h"

/* The device's cards, with the changes of one call; the caller frees them. */
struct reception {
	struct vlan_card *cards;
	uint32_t num;
};

/*
 * Opens the device and its members. After a failure all is as before. -errno, with a
 * message.
 */
int reception_open(unsigned int device, int lock, struct reception *reception,
		   struct pm_error *err);

/* Likewise opens members that came since; members that left are restored. */
int reception_renew(unsigned int device, int lock, struct reception *reception,
		    struct pm_error *err);

/* Prints a note for each change. */
void reception_note(const struct reception *reception);

/* Undoes the changes of reception_open. */
void reception_undo(const struct reception *reception, int lock);

/* Undoes all changes in the file, as far as possible. -errno. */
int reception_restore(int lock, struct pm_error *err);

/* Prints a line for each card. -errno. */
int reception_print(unsigned int device, struct pm_error *err);

/* Prints a finding for each card that drops frames with tags. -errno. */
int reception_find_filters(unsigned int device, uint32_t *num, struct pm_error *err);

/* Restores cards of devices that are gone from this namespace, as far as possible. */
void reception_sweep(void);

#endif
