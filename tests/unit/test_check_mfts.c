/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast tables judged: one fault at a time in a drawn fabric, and tables of random
 * trees with random masks, whose packets mwalk.c follows, too. PM_SEED and PM_ROUNDS
 * are as in test_properties.c.
 */
#include "expect.h"
#include "mscene.h"
#include "mwalk.h"

#include <portmajor/check/check_mfts.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SEED 1
#define DEFAULT_ROUNDS 400
#define DAMAGES 6 /* of each tree */

#define MLID 0xc021

/* Three leaves with two hosts each below two spines. */
#define DRAWING                                                                          \
	"l0/6 l1/6 l2/6 s0/3 s1/3 l0:1=a l0:2=b l1:1=c l1:2=d l2:1=e l2:2=f "            \
	"l0:3=s0:1 l0:4=s1:1 l1:3=s0:2 l1:4=s1:2 l2:3=s0:3 l2:4=s1:3"

/* ---- One fault at a time ---- */

/* Tables as text, "l0:1,3 s0:1,2", and the group's members, "a c". */
struct row {
	const char *name, *tables, *members;
	uint64_t fault[PM_MFT_FAULTS];
	uint64_t pairs, delivered;
	const char *text; /* in the first fault's example */
};

#define TREE "l0:1,3 l1:1,2,3 s0:1,2"

static const struct row rows[] = {
	{"in order", TREE, "a c d", {0}, 6, 6, ""},
	{"members found", TREE, NULL, {0}, 6, 6, ""},
	{"a switch is a member", "l0:1,3 l1:0,3 s0:1,2", NULL, {0}, 2, 2, ""},
	{"a single member", "l0:1", "a", {0}, 0, 0, ""},
	{"a member not in its mask",
	 "l0:1,3 l1:1,3 s0:1,2",
	 "a c d",
	 {[PM_MFT_MISSED] = 2},
	 6,
	 4,
	 "MLID 0xc021, \"l1\"[2]"},
	{"a switch not in the tree",
	 TREE,
	 "a c e",
	 {[PM_MFT_MISSED] = 4, [PM_MFT_STRANGER] = 1},
	 6,
	 2,
	 "\"l2\"[1]"},
	{"somebody else", TREE, "a c", {[PM_MFT_STRANGER] = 1}, 2, 2, "\"l1\"[2]"},
	{"another group's", TREE, "a", {[PM_MFT_STRANGER] = 2}, 0, 0, "\"l1\"[1]"},
	{"one direction",
	 "l0:1,3 l1:1,2 s0:1,2",
	 NULL,
	 {[PM_MFT_MISSED] = 2},
	 6,
	 4,
	 "\"l0\"[1]"},
	{"no link",
	 "l0:1,3,5 l1:1,2,3 s0:1,2",
	 NULL,
	 {[PM_MFT_NOWHERE] = 1},
	 6,
	 6,
	 "\"l0\"[5] has no link"},
	{"no entry",
	 "l0:1,3 l1:1,2,3 s0:1,2,3",
	 NULL,
	 {[PM_MFT_NOWHERE] = 1},
	 6,
	 6,
	 "\"s0\"[3] leads to a switch with an empty mask"},
	{"no such port",
	 "l0:1,3 l1:1,2,3 s0:1,2,9",
	 NULL,
	 {[PM_MFT_NOWHERE] = 1},
	 6,
	 6,
	 "\"s0\"[0] has no such port"},
	/* Both uplinks: round and round, and to each switch twice. */
	{"loop",
	 "l0:1,3,4 l1:1,3,4 s0:1,2 s1:1,2",
	 NULL,
	 {[PM_MFT_LOOP] = 1, [PM_MFT_TWICE] = 4},
	 2,
	 2,
	 "MLID 0xc021"},
	/* Down both paths, but only from l0. */
	{"twice",
	 "l0:1,3,4 l1:1 s0:2 s1:2",
	 NULL,
	 {[PM_MFT_TWICE] = 1, [PM_MFT_MISSED] = 1},
	 2,
	 1,
	 "\"l1\"[4]"},
};

static void draw_tables(const struct world *world, uint16_t mlid, const char *text,
			struct pm_mfts *mfts)
{
	char name[8];
	int used;

	for (; sscanf(text, " %7[^:]:%n", name, &used) == 1; text += strcspn(text, " ")) {
		uint32_t sw = world_switch(world, name);
		unsigned int port;
		uint16_t mask = 0;

		for (text += used; sscanf(text, "%u%n", &port, &used) == 1;
		     text += used + (text[used] == ','))
			mask = (uint16_t)(mask | 1u << port);
		assert_int_equal(pm_mfts_set_mask(mfts, sw, mlid, 0, mask), 0);
	}
}

static void draw_group(const struct world *world, const char *names,
		       struct pm_group *group, uint32_t members[8])
{
	char name[8];
	int used;

	*group = (struct pm_group){.mlid = MLID, .members = members};
	for (; sscanf(names, " %7s%n", name, &used) == 1; names += used)
		members[group->num++] = world_port(world->fabric, name, 1);
}

static void check_row(const struct world *world, const struct row *row)
{
	struct pm_mfts *mfts = pm_mfts_new(world->fabric);
	struct pm_check_mfts found;
	uint32_t members[8], first = PM_MFT_FAULTS;
	struct pm_group group;

	assert_non_null(mfts);
	draw_tables(world, MLID, row->tables, mfts);
	draw_group(world, row->members ? row->members : "", &group, members);
	assert_int_equal(pm_check_mfts(world->fabric, mfts, row->members ? &group : NULL,
				       row->members ? 1 : 0, &found, NULL),
			 0);
	for (uint32_t i = PM_MFT_FAULTS; i-- > 0;) {
		if (found.count[i] != row->fault[i])
			fail_msg("%s: fault %u: %u", row->name, i,
				 (unsigned int)found.count[i]);
		if (found.count[i])
			first = i;
	}
	if (found.pairs != row->pairs || found.delivered != row->delivered)
		fail_msg("%s: %u of %u pairs", row->name, (unsigned int)found.delivered,
			 (unsigned int)found.pairs);
	if (first < PM_MFT_FAULTS && !strstr(found.example[first].text, row->text))
		fail_msg("%s: %s", row->name, found.example[first].text);
	pm_mfts_free(mfts);
}

static void test_faults(void **state)
{
	struct world world;

	world_make(&world, recipe_draw(DRAWING), PM_GROUPED);
	for_each_row(row, rows)
		check_row(&world, row);
	world_free(&world);
}

/* ---- Credit loops ---- */

/* Two trees that go down and up again, and unicast paths: each two of the three are free
 * of credit loops. */
static void test_credits(void **state)
{
	static const char *const tables[] = {"l0:1,3 s0:1,3 l2:3,4 s1:3,2 l1:1,4",
					     "l0:1,3 s0:1,2 l1:3,4 s1:2,3 l2:1,4"};
	struct world world;
	struct pm_check check = {.sm = PM_NONE};
	struct pm_check_credits found;
	const uint8_t *table[5], *nothing[5] = {NULL};
	uint16_t top[5];

	world_make(&world, recipe_draw(DRAWING), PM_GROUPED);
	check.fabric = world.fabric;
	for (uint32_t sw = 0; sw < 5; sw++) {
		table[sw] = pm_routes_table(world.routes, sw);
		top[sw] = world.plan->top_lid;
	}
	check.level = world.plan->tree.level;
	check.top = top;
	for (uint32_t i = 1; i < 8; i++) {
		struct pm_mfts *mfts = pm_mfts_new(world.fabric);

		assert_non_null(mfts);
		check.table = i & 1 ? table : nothing;
		for (uint32_t k = 0; k < 2; k++)
			if (i & 2u << k)
				draw_tables(&world, (uint16_t)(MLID + 40 * k), tables[k],
					    mfts);
		check.mfts = mfts;
		assert_int_equal(pm_check_credits(&check, &found, NULL), 0);
		assert_true(found.dependencies > 0);
		assert_int_equal(found.length, i == 7 ? 4 : 0);
		assert_int_equal(found.multicast, i == 7);
		pm_mfts_free(mfts);
	}
	world_free(&world);
}

/* ---- Random tables ---- */

static uint64_t seed; /* of the round at hand */
static uint32_t met[PM_MFT_FAULTS], in_order;

static int compare_groups(const void *a, const void *b)
{
	const struct pm_group *x = a, *y = b;

	return x->mlid - y->mlid;
}

/*
 * All faults of mwalk_group are found, and no fault that packets of members do not
 * meet.
 */
static void compare(const struct mscene *scene, const struct pm_mfts *mfts,
		    const struct pm_group *group)
{
	const struct mwalk walk = {.topology = scene->topology, .tables = mfts};
	const char *wrong = group->num > 1 ? mwalk_group(&walk, group) : NULL;
	struct pm_check_mfts found;
	bool sure;

	EXPECT(!pm_check_mfts(scene->world.fabric, mfts, group, 1, &found, NULL));
	sure = found.count[PM_MFT_LOOP] || found.count[PM_MFT_MISSED];
	EXPECT(!sure || wrong);
	/* A port without a link has a copy, too, in mwalk.c. */
	EXPECT(sure || !wrong || found.count[PM_MFT_TWICE] ||
	       found.count[PM_MFT_STRANGER] || found.count[PM_MFT_NOWHERE]);
	for (uint32_t i = 0; i < PM_MFT_FAULTS; i++)
		met[i] += found.count[i] > 0;
	in_order += group->num > 1 && !wrong && !found.count[PM_MFT_STRANGER];
}

static void damage(const struct mscene *scene, struct random *random, uint16_t mlid,
		   struct pm_mfts *mfts)
{
	uint32_t sw = random_below(random, scene->topology->num_switches);
	uint32_t port = random_below(random, scene->topology->nodes[sw].num_ports + 1u);
	uint32_t position = port / PM_MFT_POSITION;
	uint16_t mask = pm_mfts_mask(mfts, sw, mlid, position);

	mask = (uint16_t)(mask ^ 1u << port % PM_MFT_POSITION);
	EXPECT(!pm_mfts_set_mask(mfts, sw, mlid, position, mask));
}

static void try_scene(struct mscene *scene, struct random *random)
{
	struct pm_group groups[MSCENE_GROUPS];
	struct pm_mfts *mfts = mscene_route(scene, NULL);
	struct pm_check_mfts found;

	memcpy(groups, scene->groups, sizeof(groups));
	qsort(groups, scene->num_groups, sizeof(*groups), compare_groups);
	EXPECT(!pm_check_mfts(scene->world.fabric, mfts, groups, scene->num_groups,
			      &found, NULL));
	for (uint32_t i = 0; i < PM_MFT_FAULTS; i++)
		EXPECT(i == PM_MFT_MISSED || !found.count[i]);
	pm_mfts_free(mfts);
	for (uint32_t i = 0; i < scene->num_groups; i++) {
		EXPECT(!pm_multicast_route(scene->multicast, &groups[i], 1, &mfts, NULL,
					   NULL));
		for (uint32_t k = 0; k < DAMAGES; k++) {
			compare(scene, mfts, &groups[i]);
			damage(scene, random, groups[i].mlid, mfts);
		}
		pm_mfts_free(mfts);
	}
}

static void test_random(void **state)
{
	uint64_t first = from_environment("PM_SEED", DEFAULT_SEED);
	uint64_t rounds = from_environment("PM_ROUNDS", DEFAULT_ROUNDS);

	for (seed = first; seed < first + rounds; seed++) {
		struct random random = {seed};
		struct mscene scene;

		if (!mscene_make_random(&scene, &random))
			continue;
		mscene_draw_groups(&scene, &random);
		try_scene(&scene, &random);
		mscene_free(&scene);
	}
	printf("seeds from %llu on: %u in order; loops %u, second copies %u, missed %u, "
	       "strangers %u, nowhere %u\n",
	       (unsigned long long)first, in_order, met[PM_MFT_LOOP], met[PM_MFT_TWICE],
	       met[PM_MFT_MISSED], met[PM_MFT_STRANGER], met[PM_MFT_NOWHERE]);
	for (uint32_t i = 0; i < PM_MFT_FAULTS && rounds == DEFAULT_ROUNDS; i++)
		assert_true(met[i] > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_credits),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
