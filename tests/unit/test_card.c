/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cards that filter VLANs: settings that are changed and restored, on fakes; and the
 * kernel.
 */
#include "card.h"
#include "unit.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Fakes: devices 1 to CARDS ---- */

#define CARDS 3

static struct fake {
	enum vlan_feature filter;
	bool promiscuous;
	bool ignores;  /* accepts settings, and does not apply them */
	int refuses;   /* -errno of switching the filter */
	int no_flags;  /* -errno of setting promiscuous mode */
	int no_answer; /* -errno of asking for the filter */
} fakes[CARDS + 1];

static int fake_feature_find(unsigned int device, const char *name,
			     enum vlan_feature *state)
{
	assert_string_equal(name, "rx-vlan-filter");
	*state = fakes[device].filter;
	return fakes[device].no_answer;
}

static int fake_feature_switch(unsigned int device, const char *name, bool on)
{
	struct fake *fake = &fakes[device];

	assert_string_equal(name, "rx-vlan-filter");
	assert_int_not_equal(fake->filter, VLAN_FEATURE_FIXED);
	if (!fake->refuses && !fake->ignores)
		fake->filter = on ? VLAN_FEATURE_ON : VLAN_FEATURE_OFF;
	return fake->refuses;
}

static int fake_promiscuous_find(unsigned int device, bool *on)
{
	*on = fakes[device].promiscuous;
	return 0;
}

static int fake_promiscuous_switch(unsigned int device, bool on)
{
	if (!fakes[device].no_flags)
		fakes[device].promiscuous = on;
	return fakes[device].no_flags;
}

static const struct vlan_card_kernel fake_kernel = {
	.feature_find = fake_feature_find,
	.feature_switch = fake_feature_switch,
	.promiscuous_find = fake_promiscuous_find,
	.promiscuous_switch = fake_promiscuous_switch,
};

static struct vlan_card cards[CARDS] = {{.device = 1, .leader = 1},
					{.device = 2, .leader = 2},
					{.device = 3, .leader = 3}};

static const struct row {
	const char *name;
	struct fake before;
	int rc;
	enum vlan_card_change change;
	enum vlan_feature filter;
	bool promiscuous;
} rows[] = {
	{"no filter",
	 {.filter = VLAN_FEATURE_OFF},
	 0,
	 VLAN_CARD_NONE,
	 VLAN_FEATURE_OFF,
	 false},
	{"on", {.filter = VLAN_FEATURE_ON}, 0, VLAN_CARD_FILTER, VLAN_FEATURE_OFF, false},
	{"on, and promiscuous",
	 {.filter = VLAN_FEATURE_ON, .promiscuous = true},
	 0,
	 VLAN_CARD_FILTER,
	 VLAN_FEATURE_OFF,
	 true},
	{"fixed",
	 {.filter = VLAN_FEATURE_FIXED},
	 0,
	 VLAN_CARD_PROMISCUOUS,
	 VLAN_FEATURE_FIXED,
	 true},
	{"fixed, and promiscuous",
	 {.filter = VLAN_FEATURE_FIXED, .promiscuous = true},
	 0,
	 VLAN_CARD_NONE,
	 VLAN_FEATURE_FIXED,
	 true},
	{"refuses",
	 {.filter = VLAN_FEATURE_ON, .refuses = -EBUSY},
	 0,
	 VLAN_CARD_PROMISCUOUS,
	 VLAN_FEATURE_ON,
	 true},
	{"does not follow",
	 {.filter = VLAN_FEATURE_ON, .ignores = true},
	 0,
	 VLAN_CARD_PROMISCUOUS,
	 VLAN_FEATURE_ON,
	 true},
	{"neither",
	 {.filter = VLAN_FEATURE_FIXED, .no_flags = -EPERM},
	 -EPERM,
	 VLAN_CARD_NONE,
	 VLAN_FEATURE_FIXED,
	 false},
	{"gone", {.no_answer = -ENODEV}, 0, VLAN_CARD_NONE, VLAN_FEATURE_OFF, false},
	{"no answer", {.no_answer = -EIO}, -EIO, VLAN_CARD_NONE, VLAN_FEATURE_OFF, false},
};

static void test_one(void **state)
{
	for_each_row(row, rows) {
		unsigned int failed = 0;

		print_message("%s\n", row->name);
		fakes[1] = row->before;
		assert_int_equal(vlan_cards_open(&fake_kernel, cards, 1, &failed),
				 row->rc);
		assert_int_equal(failed, row->rc ? 1 : 0);
		assert_int_equal(cards[0].change, row->change);
		assert_int_equal(fakes[1].filter, row->filter);
		assert_int_equal(fakes[1].promiscuous, row->promiscuous);
		assert_int_equal(vlan_cards_restore(&fake_kernel, cards, 1, &failed), 0);
		assert_int_equal(fakes[1].filter, row->before.filter);
		assert_int_equal(fakes[1].promiscuous, row->before.promiscuous);
	}
}

/* The cards before are unchanged. */
static void test_one_of_several_fails(void **state)
{
	unsigned int failed = 0;

	fakes[1] = (struct fake){.filter = VLAN_FEATURE_ON};
	fakes[2] = (struct fake){.filter = VLAN_FEATURE_FIXED};
	fakes[3] = (struct fake){.filter = VLAN_FEATURE_FIXED, .no_flags = -EPERM};
	assert_int_equal(vlan_cards_open(&fake_kernel, cards, CARDS, &failed), -EPERM);
	assert_int_equal(failed, 3);
	assert_int_equal(fakes[1].filter, VLAN_FEATURE_ON);
	assert_false(fakes[2].promiscuous);
}

/*
 * A failure with one does not keep others from being restored, and a missing card is no
 * failure.
 */
static void test_restore(void **state)
{
	static const struct vlan_card done[CARDS] = {{1, 1, VLAN_CARD_FILTER},
						     {2, 2, VLAN_CARD_FILTER},
						     {3, 3, VLAN_CARD_PROMISCUOUS}};
	unsigned int failed = 0;

	fakes[1] = (struct fake){.refuses = -ENODEV};
	fakes[2] = (struct fake){.refuses = -EIO};
	fakes[3] = (struct fake){.promiscuous = true};
	assert_int_equal(vlan_cards_restore(&fake_kernel, done, CARDS, &failed), -EIO);
	assert_int_equal(failed, 2);
	assert_false(fakes[3].promiscuous);
}

/* A bond, 1, with the members 2 and 3. */
static void set_bond(struct fake second, struct fake third)
{
	static const struct vlan_card members[CARDS] = {
		{.device = 1, .leader = 1},
		{.device = 2, .leader = 1},
		{.device = 3, .leader = 1},
	};

	memcpy(cards, members, sizeof(cards));
	fakes[1] = (struct fake){.filter = VLAN_FEATURE_ON};
	fakes[2] = second;
	fakes[3] = third;
}

static const struct fake filters = {.filter = VLAN_FEATURE_ON},
			 fixed = {.filter = VLAN_FEATURE_FIXED};

/*
 * Their filters are switched off; cards whose filter cannot be are opened by the bond's
 * mode, and not by their own, which would stay when they leave.
 */
static void test_members(void **state)
{
	unsigned int failed;

	set_bond(filters, fixed);
	assert_int_equal(vlan_cards_open(&fake_kernel, cards, CARDS, &failed), 0);
	assert_int_equal(fakes[1].filter, VLAN_FEATURE_OFF);
	assert_int_equal(fakes[2].filter, VLAN_FEATURE_OFF);
	assert_true(fakes[1].promiscuous);
	assert_false(fakes[2].promiscuous || fakes[3].promiscuous);
	assert_int_equal(vlan_cards_restore(&fake_kernel, cards, CARDS, &failed), 0);
	assert_int_equal(fakes[1].filter, VLAN_FEATURE_ON);
	assert_int_equal(fakes[2].filter, VLAN_FEATURE_ON);
	assert_false(fakes[1].promiscuous);
}

static void renew(uint32_t num, struct vlan_card **kept, uint32_t *num_kept)
{
	unsigned int failed;

	assert_int_equal(
		vlan_cards_renew(&fake_kernel, cards, num, kept, num_kept, &failed), 0);
}

/*
 * Members that join are opened, one that leaves is restored, and so are the others in
 * the end.
 */
static void test_renew(void **state)
{
	struct vlan_card *kept = NULL;
	unsigned int failed;
	uint32_t num = 0;

	set_bond(filters, fixed);
	renew(2, &kept, &num);
	assert_false(fakes[1].promiscuous);
	assert_int_equal(fakes[2].filter, VLAN_FEATURE_OFF);
	renew(3, &kept, &num);
	assert_int_equal(cards[1].change, VLAN_CARD_NONE);
	assert_int_equal(cards[2].change, VLAN_CARD_PROMISCUOUS);
	assert_true(fakes[1].promiscuous);
	renew(1, &kept, &num); /* both leave */
	assert_int_equal(fakes[2].filter, VLAN_FEATURE_ON);
	assert_int_equal(fakes[1].filter, VLAN_FEATURE_OFF);
	assert_int_equal(vlan_cards_restore(&fake_kernel, kept, num, &failed), 0);
	assert_int_equal(fakes[1].filter, VLAN_FEATURE_ON);
	assert_false(fakes[1].promiscuous);
	free(kept);
}

/* The card that joined cannot be opened: all is as before. */
static void test_renew_fails(void **state)
{
	struct vlan_card *kept = NULL;
	unsigned int failed;
	uint32_t num = 0;

	set_bond(filters, (struct fake){.filter = VLAN_FEATURE_FIXED});
	renew(2, &kept, &num);
	fakes[1].no_flags = -EPERM;
	assert_int_equal(
		vlan_cards_renew(&fake_kernel, cards, CARDS, &kept, &num, &failed),
		-EPERM);
	assert_int_equal(failed, 3);
	assert_int_equal(num, 2);
	assert_int_equal(fakes[2].filter, VLAN_FEATURE_OFF);
	free(kept);
}

static void test_file(void **state)
{
	static const struct vlan_card done[] = {{7, 7, VLAN_CARD_FILTER},
						{9, 1, VLAN_CARD_PROMISCUOUS}};
	int fd = memfd_create("cards", MFD_CLOEXEC);
	struct vlan_card *read;
	uint32_t num;

	assert_true(fd >= 0);
	assert_int_equal(vlan_cards_read(fd, &read, &num), 0);
	assert_int_equal(num, 0);
	free(read);
	assert_int_equal(vlan_cards_write(fd, done, 2), 0);
	assert_int_equal(vlan_cards_write(fd, done + 1, 1), 0);
	assert_int_equal(vlan_cards_read(fd, &read, &num), 0);
	assert_int_equal(num, 1);
	assert_int_equal(read->device, 9);
	assert_int_equal(read->leader, 1);
	assert_int_equal(read->change, VLAN_CARD_PROMISCUOUS);
	free(read);
	close(fd);
}

/*
 * ---- The kernel, as far as it allows changes on the loopback of a new namespace ----
 */

static void assert_feature(unsigned int device, const char *name, enum vlan_feature state)
{
	enum vlan_feature found;

	assert_int_equal(vlan_feature_find(device, name, &found), 0);
	assert_int_equal(found, state);
}

static void test_kernel(void **state)
{
	struct vlan_member *members;
	unsigned int lo;
	uint32_t num;
	bool on;

	if (unshare(CLONE_NEWNET))
		skip();
	lo = if_nametoindex("lo");
	assert_feature(lo, "rx-vlan-filter", VLAN_FEATURE_OFF);
	assert_feature(lo, "no such feature", VLAN_FEATURE_OFF);
	assert_feature(lo, "loopback", VLAN_FEATURE_FIXED);
	assert_feature(lo, "rx-gro", VLAN_FEATURE_ON);
	assert_int_equal(vlan_feature_switch(lo, "rx-gro", false), 0);
	assert_feature(lo, "rx-gro", VLAN_FEATURE_OFF);
	assert_int_equal(vlan_feature_switch(lo, "rx-gro", true), 0);
	assert_feature(lo, "rx-gro", VLAN_FEATURE_ON);

	assert_int_equal(vlan_promiscuous_switch(lo, true), 0);
	assert_int_equal(vlan_promiscuous_find(lo, &on), 0);
	assert_true(on);
	assert_int_equal(vlan_promiscuous_switch(lo, false), 0);
	assert_int_equal(vlan_promiscuous_find(lo, &on), 0);
	assert_false(on);

	assert_int_equal(vlan_members_list(lo, &members, &num), 0);
	assert_int_equal(num, 1);
	assert_int_equal(members[0].device, lo);
	assert_int_equal(members[0].leader, lo);
	free(members);
	assert_int_equal(vlan_promiscuous_find(lo + 1000, &on), -ENXIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_one_of_several_fails),
		cmocka_unit_test(test_restore),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_renew),
		cmocka_unit_test(test_renew_fails),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
