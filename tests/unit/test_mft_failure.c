/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cost of failures and returns in multicast tables (mft_failure.h), on a small
 * fabric. */
#include "mscene.h"
#include "unit.h"

#include <portmajor/analysis/mft_failure.h>
#include <portmajor/multicast/mft.h>

/* Two leaves with two hosts each, two spines; one group of all hosts. */
static const char drawing[] = "l/4 m/4 s/4 t/4 l:1=a l:2=b m:1=c m:2=d l:3=s:1 l:4=t:1 "
			      "m:3=s:2 m:4=t:2";

struct trial {
	struct world world;
	uint32_t members[4];
	struct pm_mft_failure failure;
};

/*
 * The failed parts, and the subnet manager's place; reset[switch]: it returns, as in
 * undo.
 */
static void begin(struct trial *t, const uint8_t *reset, const char *failed, uint32_t sm)
{
	static const struct {
		const char *leaf;
		unsigned int port;
	} ends[] = {{"l", 1}, {"l", 2}, {"m", 1}, {"m", 2}};
	const struct pm_group group = {PM_MLID_FIRST, LENGTH(ends), t->members};
	struct pm_fabric *broken;

	world_make(&t->world, recipe_draw(drawing), PM_GROUPED);
	for (uint32_t i = 0; i < LENGTH(ends); i++)
		t->members[i] =
			world_port(t->world.plan->topology, ends[i].leaf, ends[i].port);
	broken = world_without(&t->world, failed);
	if (reset)
		assert_int_equal(pm_mft_failure_undo(t->world.plan, broken,
						     t->members[sm], reset, &group, 1,
						     &t->failure, NULL),
				 0);
	else
		assert_int_equal(pm_mft_failure_find(t->world.plan, broken,
						     t->members[sm], &group, 1,
						     &t->failure, NULL),
				 0);
	assert_int_equal(t->failure.trees, 1);
	assert_int_equal(t->failure.left_out, 0);
	pm_fabric_free(broken);
}

static void end_failure(struct trial *t)
{
	pm_mft_failure_free(&t->failure);
	world_free(&t->world);
}

static bool has_member(const struct trial *t, const struct pm_mfts *mfts, uint32_t i)
{
	const struct pm_port *port = &t->world.plan->topology->ports[t->members[i]];

	return pm_mfts_has_port(mfts, port->node, PM_MLID_FIRST, port->num);
}

/* The first member's cable fails: the others stay, and one block changes. */
static void test_failed_member(void **state)
{
	struct trial t;

	begin(&t, NULL, "a", 1);
	assert_int_equal(t.failure.blocks, 1);
	assert_int_equal(t.failure.sets, 1);
	for (uint32_t i = 0; i < LENGTH(t.members); i++) {
		assert_true(has_member(&t, t.failure.before, i));
		assert_int_equal(has_member(&t, t.failure.after, i), i != 0);
	}
	end_failure(&t);
}

/* A leaf is cut off: its members leave, and those of the other leaf stay. */
static void test_lost_leaf(void **state)
{
	struct trial t;

	begin(&t, NULL, "l:3 l:4", 3);
	assert_true(has_member(&t, t.failure.after, 2));
	assert_true(has_member(&t, t.failure.after, 3));
	end_failure(&t);
}

static const uint8_t none[4];

/* A host returns and joins again: the block that its failure has changed. */
static void test_returned_member(void **state)
{
	struct trial t;

	begin(&t, none, "a", 1);
	assert_int_equal(t.failure.sets, 1);
	for (uint32_t i = 0; i < LENGTH(t.members); i++) {
		assert_int_equal(has_member(&t, t.failure.before, i), i != 0);
		assert_true(has_member(&t, t.failure.after, i));
	}
	end_failure(&t);
}

/* A leaf returns: with its table, then without. */
static void test_returned_leaf(void **state)
{
	uint8_t reset[4] = {0};

	for (uint32_t lost = 0; lost < 2; lost++) {
		struct trial t;

		reset[0] = (uint8_t)lost; /* in the order of the drawing */
		begin(&t, reset, "l:3 l:4", 3);
		for (uint32_t i = 0; i < LENGTH(t.members); i++) {
			assert_int_equal(has_member(&t, t.failure.before, i), i >= 2);
			assert_true(has_member(&t, t.failure.after, i));
		}
		assert_int_equal(t.failure.sets, 2 + lost);
		assert_int_equal(t.failure.full_load, 2 + lost);
		end_failure(&t);
	}
}

/* No part has failed: nothing changes. */
static void test_nothing_returned(void **state)
{
	struct trial t;

	begin(&t, none, "", 0);
	assert_int_equal(t.failure.sets, 0);
	end_failure(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failed_member),
		cmocka_unit_test(test_lost_leaf),
		cmocka_unit_test(test_returned_member),
		cmocka_unit_test(test_returned_leaf),
		cmocka_unit_test(test_nothing_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
