/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handles the cards of a device and its members for load, replace, update, show, remove.
 */
#include "reception.h"
#include "lock.h"
#include "output.h"

#include <portmajor/base/alloc.h>

#include <net/if.h>
#include <stdio.h>
#include <string.h>

static const char *card_name(unsigned int device, char name[IF_NAMESIZE])
{
	return if_indextoname(device, name) ? name : "?";
}

/* Lists the device and its members; the caller frees them. */
static int list_cards(unsigned int device, struct reception *reception,
		      struct pm_error *err)
{
	struct vlan_member *members;
	int rc = vlan_members_list(device, &members, &reception->num);

	if (rc)
		return pm_error_set(err, rc, "cannot list its members: %s",
				    strerror(-rc));
	reception->cards = pm_array(reception->num, sizeof(*reception->cards));
	for (uint32_t i = 0; reception->cards && i < reception->num; i++)
		reception->cards[i] = (struct vlan_card){
			members[i].device, members[i].leader, VLAN_CARD_NONE};
	free(members);
	return reception->cards ? 0 : pm_error_no_memory(err);
}

static int fail_card(struct pm_error *err, int rc, unsigned int card)
{
	char name[IF_NAMESIZE];

	if (!card)
		return pm_error_no_memory(err);
	return pm_error_set(err, rc, "cannot have %s receive all VLANs: %s",
			    card_name(card, name), strerror(-rc));
}

static int keep_changes(int lock, const struct vlan_card *cards, uint32_t num,
			struct pm_error *err)
{
	int rc = vlan_cards_write(lock, cards, num);

	return rc ? pm_error_set(err, rc, "cannot save the cards' former settings: %s",
				 strerror(-rc))
		  : 0;
}

static int read_changes(int lock, struct vlan_card **cards, uint32_t *num,
			struct pm_error *err)
{
	int rc = vlan_cards_read(lock, cards, num);

	return rc ? pm_error_set(err, rc, "cannot read the cards' former settings: %s",
				 strerror(-rc))
		  : 0;
}

int reception_open(unsigned int device, int lock, struct reception *reception,
		   struct pm_error *err)
{
	unsigned int failed;
	int rc = list_cards(device, reception, err);

	if (rc)
		return rc;
	rc = vlan_cards_open(&vlan_card_kernel, reception->cards, reception->num,
			     &failed);
	if (rc) {
		rc = fail_card(err, rc, failed);
	} else {
		rc = keep_changes(lock, reception->cards, reception->num, err);
		if (rc)
			reception_undo(reception, lock);
	}
	if (rc)
		free(reception->cards);
	return rc;
}

int reception_renew(unsigned int device, int lock, struct reception *reception,
		    struct pm_error *err)
{
	struct vlan_card *kept;
	unsigned int failed;
	uint32_t num;
	int rc = read_changes(lock, &kept, &num, err);

	if (rc)
		return rc;
	rc = list_cards(device, reception, err);
	if (!rc) {
		rc = vlan_cards_renew(&vlan_card_kernel, reception->cards, reception->num,
				      &kept, &num, &failed);
		if (rc) {
			rc = fail_card(err, rc, failed);
		} else {
			rc = keep_changes(lock, kept, num, err);
			if (rc)
				vlan_cards_restore(&vlan_card_kernel, reception->cards,
						   reception->num, &failed);
		}
		if (rc)
			free(reception->cards);
	}
	free(kept);
	return rc;
}

void reception_note(const struct reception *reception)
{
	char name[IF_NAMESIZE], leader[IF_NAMESIZE];

	for (uint32_t i = 0; i < reception->num; i++) {
		const struct vlan_card *card = &reception->cards[i];

		card_name(card->device, name);
		if (card->change == VLAN_CARD_FILTER)
			cli_note("%s: " VLAN_FEATURE " switched off", name);
		else if (card->change == VLAN_CARD_PROMISCUOUS)
			cli_note("%s: " VLAN_FEATURE
				 " cannot be switched off: promiscuous mode%s%s",
				 name, card->leader != card->device ? " of " : "",
				 card->leader != card->device
					 ? card_name(card->leader, leader)
					 : "");
	}
}

void reception_undo(const struct reception *reception, int lock)
{
	unsigned int failed;

	vlan_cards_restore(&vlan_card_kernel, reception->cards, reception->num, &failed);
	vlan_cards_write(lock, NULL, 0);
}

int reception_restore(int lock, struct pm_error *err)
{
	struct vlan_card *cards;
	unsigned int failed;
	uint32_t num;
	int rc = read_changes(lock, &cards, &num, err);

	if (rc)
		return rc;
	rc = vlan_cards_restore(&vlan_card_kernel, cards, num, &failed);
	free(cards);
	if (rc) {
		char name[IF_NAMESIZE];

		return pm_error_set(err, rc,
				    "removed, but %s does not receive as before: %s",
				    card_name(failed, name), strerror(-rc));
	}
	vlan_cards_write(lock, NULL, 0);
	return 0;
}

/* ---- show ---- */

/* Finds a card's filter, and the device that bypasses it in promiscuous mode; 0: none. */
static int find_state(const struct vlan_card *card, enum vlan_feature *state,
		      unsigned int *mode)
{
	bool own = false, leaders = false;
	int rc = vlan_feature_find(card->device, VLAN_FEATURE, state);

	vlan_promiscuous_find(card->device, &own);
	vlan_promiscuous_find(card->leader, &leaders);
	*mode = own ? card->device : leaders ? card->leader : 0;
	return rc;
}

static void print_card(const struct vlan_card *card)
{
	enum vlan_feature state;
	unsigned int mode;
	char name[IF_NAMESIZE], leader[IF_NAMESIZE];

	printf("%-12s%s: ", "rx-filter", card_name(card->device, name));
	if (find_state(card, &state, &mode))
		puts("unknown");
	else if (state == VLAN_FEATURE_OFF)
		puts("off");
	else if (mode == card->device)
		puts("on, bypassed in promiscuous mode");
	else if (mode)
		printf("on, bypassed in promiscuous mode of %s\n",
		       card_name(card->leader, leader));
	else
		puts("on: frames with tags are not received");
}

int reception_print(unsigned int device, struct pm_error *err)
{
	struct reception reception;
	int rc = list_cards(device, &reception, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < reception.num; i++)
		print_card(&reception.cards[i]);
	free(reception.cards);
	return 0;
}

int reception_find_filters(unsigned int device, uint32_t *num, struct pm_error *err)
{
	struct reception reception;
	int rc = list_cards(device, &reception, err);

	*num = 0;
	if (rc)
		return rc;
	for (uint32_t i = 0; i < reception.num; i++) {
		enum vlan_feature state;
		unsigned int mode;
		char name[IF_NAMESIZE];

		if (find_state(&reception.cards[i], &state, &mode) ||
		    state == VLAN_FEATURE_OFF || mode)
			continue;
		printf("%s: frames with tags are not received (" VLAN_FEATURE " is on)\n",
		       card_name(reception.cards[i].device, name));
		(*num)++;
	}
	free(reception.cards);
	return 0;
}

/* ---- Devices that are gone ---- */

static void restore_gone(int lock)
{
	reception_restore(lock, NULL);
}

void reception_sweep(void)
{
	vlan_lock_each_gone(restore_gone);
}
