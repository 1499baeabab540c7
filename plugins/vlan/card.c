/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records, changes and restores settings of a device's network cards. */
#include "card.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct vlan_card_kernel vlan_card_kernel = {
	.feature_find = vlan_feature_find,
	.feature_switch = vlan_feature_switch,
	.promiscuous_find = vlan_promiscuous_find,
	.promiscuous_switch = vlan_promiscuous_switch,
};

/*
 * Switches the filter off; returns whether it is off, as drivers may refuse or ignore it.
 */
static bool switch_off(const struct vlan_card_kernel *kernel, unsigned int device)
{
	enum vlan_feature state;

	return !kernel->feature_switch(device, VLAN_FEATURE, false) &&
	       !kernel->feature_find(device, VLAN_FEATURE, &state) &&
	       state == VLAN_FEATURE_OFF;
}

/* Bypasses the filter by promiscuous mode. If another program has set that, it stays. */
static int pass_by(const struct vlan_card_kernel *kernel, struct vlan_card *card)
{
	bool on;
	int rc = kernel->promiscuous_find(card->leader, &on);

	if (!rc && !on) {
		rc = kernel->promiscuous_switch(card->leader, true);
		if (!rc)
			card->change = VLAN_CARD_PROMISCUOUS;
	}
	return rc;
}

static int open_card(const struct vlan_card_kernel *kernel, struct vlan_card *card)
{
	enum vlan_feature state;
	int rc = kernel->feature_find(card->device, VLAN_FEATURE, &state);

	if (rc || state == VLAN_FEATURE_OFF)
		return rc;
	if (state == VLAN_FEATURE_ON && switch_off(kernel, card->device)) {
		card->change = VLAN_CARD_FILTER;
		return 0;
	}
	return pass_by(kernel, card);
}

static bool is_gone(int rc)
{
	return rc == -ENODEV || rc == -ENXIO;
}

int vlan_cards_open(const struct vlan_card_kernel *kernel, struct vlan_card *cards,
		    uint32_t num, unsigned int *failed)
{
	unsigned int ignored;

	for (uint32_t i = 0; i < num; i++) {
		int rc;

		cards[i].change = VLAN_CARD_NONE;
		rc = open_card(kernel, &cards[i]);
		if (!rc || is_gone(rc))
			continue;
		*failed = cards[i].device;
		vlan_cards_restore(kernel, cards, i, &ignored);
		return rc;
	}
	return 0;
}

static int restore_card(const struct vlan_card_kernel *kernel,
			const struct vlan_card *card)
{
	if (card->change == VLAN_CARD_FILTER)
		return kernel->feature_switch(card->device, VLAN_FEATURE, true);
	if (card->change == VLAN_CARD_PROMISCUOUS)
		return kernel->promiscuous_switch(card->leader, false);
	return 0;
}

int vlan_cards_restore(const struct vlan_card_kernel *kernel,
		       const struct vlan_card *cards, uint32_t num, unsigned int *failed)
{
	int first = 0;

	for (uint32_t i = 0; i < num; i++) {
		int rc = restore_card(kernel, &cards[i]);

		if (rc && !is_gone(rc) && !first) {
			first = rc;
			*failed = cards[i].device;
		}
	}
	return first;
}

/* ---- Members that came and left ---- */

static bool is_among(const struct vlan_card *cards, uint32_t num, unsigned int device)
{
	for (uint32_t i = 0; i < num; i++)
		if (cards[i].device == device)
			return true;
	return false;
}

/*
 * Whether a change is still needed. A leader keeps its mode for the remaining members,
 * whichever member it was set for.
 */
static bool is_kept(const struct vlan_card *cards, uint32_t num,
		    const struct vlan_card *card)
{
	return is_among(cards, num,
			card->change == VLAN_CARD_PROMISCUOUS ? card->leader
							      : card->device);
}

int vlan_cards_renew(const struct vlan_card_kernel *kernel, struct vlan_card *cards,
		     uint32_t num, struct vlan_card **kept, uint32_t *num_kept,
		     unsigned int *failed)
{
	struct vlan_card *all = pm_array((size_t)num + *num_kept, sizeof(*all));
	uint32_t count = 0;
	int rc;

	*failed = 0;
	if (!all)
		return -ENOMEM;
	rc = vlan_cards_open(kernel, cards, num, failed);
	if (rc) {
		free(all);
		return rc;
	}
	for (uint32_t i = 0; i < *num_kept; i++)
		if (is_kept(cards, num, &(*kept)[i]))
			all[count++] = (*kept)[i];
		else
			restore_card(kernel, &(*kept)[i]);
	for (uint32_t i = 0; i < num; i++)
		if (cards[i].change != VLAN_CARD_NONE)
			all[count++] = cards[i];
	free(*kept);
	*kept = all;
	*num_kept = count;
	return 0;
}

/* ---- The file ---- */

int vlan_cards_write(int fd, const struct vlan_card *cards, uint32_t num)
{
	size_t length = num * sizeof(*cards);
	ssize_t written;

	if (ftruncate(fd, 0))
		return -errno;
	written = pwrite(fd, cards, length, 0);
	return written < 0 ? -errno : (size_t)written < length ? -ENOSPC : 0;
}

int vlan_cards_read(int fd, struct vlan_card **cards, uint32_t *num)
{
	off_t length = lseek(fd, 0, SEEK_END);
	ssize_t taken;

	if (length < 0)
		return -errno;
	*num = (uint32_t)((size_t)length / sizeof(**cards));
	*cards = pm_array(*num, sizeof(**cards));
	if (!*cards)
		return -ENOMEM;
	taken = pread(fd, *cards, *num * sizeof(**cards), 0);
	if (taken < 0 || (size_t)taken < *num * sizeof(**cards)) {
		free(*cards);
		return taken < 0 ? -errno : -EIO;
	}
	return 0;
}
