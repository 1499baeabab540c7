/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Trees and their tables (multicast.h) on random trees with links that fail and groups
 * that change: packets are followed copy by copy, roots are searched slowly, and tables
 * depend only on the documented input.
 */
#include "expect.h"
#include "mscene.h"
#include "mwalk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SEED 1
#define DEFAULT_ROUNDS 1500
#define EVENTS 5 /* of each tree */

static uint64_t seed; /* of the round at hand */

/* The events of all rounds. */
static struct {
	uint32_t groups, states[5], excluded, moved, stayed, small, empty;
} met;

/* ---- The possible roots, slowly ---- */

static bool is_usable(const struct mscene *scene, uint32_t port, uint32_t index)
{
	return scene->usable[port] &&
	       scene->capacity[scene->topology->ports[port].node] > index &&
	       scene->capacity[pm_fabric_peer_node(scene->topology, port)] > index;
}

/* Marks all that a switch reaches over usable links: going down, or anywhere. */
static void flood(const struct mscene *scene, uint32_t index, uint32_t from, bool down,
		  uint8_t *reached)
{
	uint32_t queue[256], num = 1;

	memset(reached, 0, scene->topology->num_switches);
	reached[from] = 1;
	queue[0] = from;
	for (uint32_t k = 0; k < num; k++)
		pm_for_each_port(i, scene->topology, queue[k]) {
			uint32_t remote = pm_fabric_peer_node(scene->topology, i);

			if (remote == PM_NONE || reached[remote] ||
			    (down && scene->tree->direction[i] != PM_DOWN) ||
			    !is_usable(scene, i, index))
				continue;
			reached[remote] = 1;
			queue[num++] = remote;
		}
}

/*
 * The members that are to be in a tree: of those at switches with room, the ones in the
 * part of the fabric with the most, the part with the lowest switch if there are two.
 */
static struct pm_group find_included(const struct mscene *scene, uint32_t g,
				     uint32_t *list)
{
	const struct pm_group *group = &scene->groups[g];
	uint32_t index = group->mlid - PM_MLID_FIRST, best = 0, room[4096];
	struct pm_group included = {.mlid = group->mlid, .members = list};
	uint8_t part[256];

	for (uint32_t sw = 0; sw < scene->topology->num_switches; sw++) {
		uint32_t num = 0;

		if (scene->capacity[sw] <= index)
			continue;
		flood(scene, index, sw, false, part);
		for (uint32_t i = 0; i < group->num; i++) {
			uint32_t at = scene->topology->ports[group->members[i]].node;

			if (part[at] && scene->capacity[at] > index)
				room[num++] = group->members[i];
		}
		if (num <= best)
			continue;
		best = included.num = num;
		memcpy(list, room, num * sizeof(*list));
	}
	return included;
}

static bool reaches_all(const struct mscene *scene, const struct pm_group *group,
			uint32_t sw)
{
	uint32_t index = group->mlid - PM_MLID_FIRST;
	uint8_t reached[256];

	if (scene->capacity[sw] <= index)
		return false;
	flood(scene, index, sw, true, reached);
	for (uint32_t i = 0; i < group->num; i++)
		if (!reached[scene->topology->ports[group->members[i]].node])
			return false;
	return true;
}

static bool plane_reaches_all(const struct mscene *scene, const struct pm_group *group,
			      uint32_t plane)
{
	for (uint32_t sw = 0; sw < scene->topology->num_switches; sw++)
		if (pm_tree_is_native(scene->tree, plane, sw) &&
		    reaches_all(scene, group, sw))
			return true;
	return false;
}

static uint32_t count_switches(const struct mscene *scene, const struct pm_group *group)
{
	uint8_t visited[256] = {0};
	uint32_t num = 0;

	for (uint32_t i = 0; i < group->num; i++) {
		uint32_t sw = scene->topology->ports[group->members[i]].node;

		num += !visited[sw];
		visited[sw] = 1;
	}
	return num;
}

/* The first plane of a group's order that has a root for it, or PM_NONE. */
static uint32_t find_plane(const struct mscene *scene, uint32_t g,
			   const struct pm_group *included)
{
	uint32_t order[256];
	bool large = count_switches(scene, &scene->groups[g]) >
		     pm_multicast_large(scene->multicast);

	EXPECT(scene->tree->num_planes <= 256);
	pm_multicast_order(scene->multicast, included->mlid, large, order);
	for (uint32_t i = 0; i < scene->tree->num_planes; i++)
		if (plane_reaches_all(scene, included, order[i]))
			return order[i];
	return PM_NONE;
}

static enum pm_group_state find_state(const struct mscene *scene,
				      const struct pm_group *included, uint32_t plane)
{
	if (included->num < 2)
		return PM_GROUP_IDLE;
	if (count_switches(scene, included) == 1)
		return PM_GROUP_LOCAL;
	if (plane != PM_NONE)
		return PM_GROUP_PLANE;
	for (uint32_t sw = 0; sw < scene->topology->num_switches; sw++)
		if (scene->tree->level[sw] != PM_NO_LEVEL &&
		    reaches_all(scene, included, sw))
			return PM_GROUP_ROOT;
	return PM_GROUP_UNSERVED;
}

/* ---- Properties of tables ---- */

static bool has_entry(const struct mscene *scene, const struct pm_mfts *tables,
		      uint32_t sw, uint16_t mlid)
{
	for (uint32_t p = 0; p < pm_mfts_num_positions(tables, sw); p++)
		if (pm_mfts_mask(tables, sw, mlid, p))
			return true;
	return false;
}

static bool has_tree(const struct pm_group_tree *tree)
{
	return tree->state != PM_GROUP_IDLE && tree->state != PM_GROUP_UNSERVED;
}

/*
 * Entries lie on usable links, both ends of each, and all but the root have one link
 * up; ports that are neither a member's nor a link's of the tree are in no mask.
 */
static void check_shape(const struct mscene *scene, const struct pm_mfts *tables,
			uint16_t mlid, const struct pm_group_tree *tree)
{
	uint32_t index = mlid - PM_MLID_FIRST, roots = 0;

	for (uint32_t sw = 0; sw < scene->topology->num_switches; sw++) {
		uint32_t ups = 0;

		if (!has_entry(scene, tables, sw, mlid))
			continue;
		EXPECT(scene->capacity[sw] > index);
		pm_for_each_port(i, scene->topology, sw) {
			const struct pm_port *port = &scene->topology->ports[i], *peer;

			if (port->peer == PM_NONE ||
			    !pm_mfts_has_port(tables, sw, mlid, port->num))
				continue;
			peer = &scene->topology->ports[port->peer];
			EXPECT(is_usable(scene, i, index));
			EXPECT(pm_mfts_has_port(tables, peer->node, mlid, peer->num));
			ups += scene->tree->direction[i] == PM_UP;
		}
		EXPECT(ups <= 1);
		if (!ups)
			EXPECT(sw == tree->root);
		roots += !ups;
	}
	EXPECT(roots == has_tree(tree));
}

/* Leaves go up by the plane's port, if it leads to the root. */
static void check_plane(const struct mscene *scene, const struct pm_mfts *tables,
			uint16_t mlid, const struct pm_group_tree *tree)
{
	uint8_t reached[256];

	flood(scene, mlid - PM_MLID_FIRST, tree->root, true, reached);
	for (uint32_t l = 0; l < scene->tree->num_leaves; l++) {
		uint32_t leaf = scene->tree->leaves[l];

		if (leaf == tree->root || !has_entry(scene, tables, leaf, mlid))
			continue;
		pm_for_each_port(i, scene->topology, leaf)
			if (scene->tree->plane[i] == tree->plane &&
			    is_usable(scene, i, mlid - PM_MLID_FIRST) &&
			    reached[pm_fabric_peer_node(scene->topology, i)])
				EXPECT(pm_mfts_has_port(tables, leaf, mlid,
							scene->topology->ports[i].num));
	}
}

/* Whether a group has members at all leaves but an eighth. */
static bool is_broad(const struct mscene *scene, const struct pm_group *group)
{
	uint32_t without = scene->tree->num_leaves;
	uint8_t visited[256] = {0};

	for (uint32_t i = 0; i < group->num; i++) {
		uint32_t sw = scene->topology->ports[group->members[i]].node;

		without -= !visited[sw] && pm_tree_is_leaf(scene->tree, sw);
		visited[sw] = 1;
	}
	return without <= scene->tree->num_leaves / 8;
}

/* The ports in the masks of a switch. */
static uint32_t count_ports(const struct mscene *scene, const struct pm_mfts *tables,
			    uint32_t sw, uint16_t mlid)
{
	uint32_t num = 0;

	for (unsigned int port = 0; port <= scene->topology->nodes[sw].num_ports; port++)
		num += pm_mfts_has_port(tables, sw, mlid, port);
	return num;
}

/* Packets end at members; in a broad group also at leaves, of which none is left out that
 * the root reaches. */
static void check_ends(const struct mscene *scene, const struct pm_mfts *tables,
		       uint32_t g, const struct pm_group_tree *tree)
{
	const struct pm_group *group = &scene->groups[g];
	bool broad = is_broad(scene, group) && tree->state != PM_GROUP_LOCAL;
	uint8_t reached[256] = {0}, member[256] = {0};

	for (uint32_t i = 0; i < group->num; i++)
		member[scene->topology->ports[group->members[i]].node] = 1;
	if (broad)
		flood(scene, group->mlid - PM_MLID_FIRST, tree->root, true, reached);
	for (uint32_t sw = 0; sw < scene->topology->num_switches; sw++) {
		uint32_t ports = count_ports(scene, tables, sw, group->mlid);

		met.empty += ports == 1 && !member[sw];
		if (ports == 1 && !member[sw])
			EXPECT(broad && pm_tree_is_leaf(scene->tree, sw));
		if (reached[sw] && pm_tree_is_leaf(scene->tree, sw))
			EXPECT(ports);
	}
}

static void check_group(const struct mscene *scene, const struct pm_mfts *tables,
			uint32_t g, const struct pm_group_tree *tree)
{
	uint32_t list[4096], plane;
	struct pm_group included = find_included(scene, g, list);
	struct mwalk walk = {scene->topology, tables, scene->usable};

	met.groups++;
	met.states[tree->state]++;
	met.excluded += tree->excluded != 0;
	if (scene->groups[g].num < 2)
		included.num = scene->groups[g].num;
	EXPECT(tree->excluded ==
	       (scene->groups[g].num < 2 ? 0 : scene->groups[g].num - included.num));
	plane = included.num < 2 || count_switches(scene, &included) < 2
			? PM_NONE
			: find_plane(scene, g, &included);
	EXPECT(tree->state == find_state(scene, &included, plane));
	if (tree->state == PM_GROUP_PLANE)
		EXPECT(tree->plane == plane);
	check_shape(scene, tables, included.mlid, tree);
	if (!has_tree(tree))
		return;
	check_ends(scene, tables, g, tree);
	if (tree->state == PM_GROUP_PLANE)
		check_plane(scene, tables, included.mlid, tree);
	expect_none(seed, "walk", mwalk_group(&walk, &included));
}

/* A group that is not served gets a tree over any links, whatever the members' order. */
static void check_span(struct mscene *scene, const struct pm_mfts *tables, uint32_t g)
{
	uint32_t list[4096];
	struct pm_group included = find_included(scene, g, list),
			reversed = scene->groups[g];
	struct pm_mfts *spanned = pm_mfts_clone(tables), *again = pm_mfts_clone(tables);
	struct mwalk walk = {scene->topology, spanned, scene->usable};
	uint32_t *back = calloc(reversed.num + 1u, sizeof(*back));

	assert_true(spanned && again && back);
	for (uint32_t i = 0; i < reversed.num; i++)
		back[i] = reversed.members[reversed.num - 1 - i];
	reversed.members = back;
	EXPECT(!pm_multicast_span(scene->multicast, &scene->groups[g], spanned));
	expect_none(seed, "span", mwalk_group(&walk, &included));
	EXPECT(!pm_multicast_span(scene->multicast, &reversed, again));
	EXPECT(mscene_same(scene, spanned, again, 0));
	for (uint32_t i = 0; i < scene->num_groups; i++)
		if (i != g)
			EXPECT(mscene_same(scene, spanned, tables,
					   scene->groups[i].mlid));
	pm_mfts_free(spanned);
	pm_mfts_free(again);
	free(back);
}

static void check_all(struct mscene *scene, const struct pm_mfts *tables,
		      const struct pm_group_tree *trees)
{
	for (uint32_t g = 0; g < scene->num_groups; g++)
		check_group(scene, tables, g, &trees[g]);
	for (uint32_t g = 0; g < scene->num_groups; g++)
		if (trees[g].state == PM_GROUP_UNSERVED)
			check_span(scene, tables, g);
}

/* Groups, and members of each, in another order. */
static void shuffle(struct mscene *scene, struct random *random)
{
	for (uint32_t g = 0; g < scene->num_groups; g++)
		for (uint32_t i = 0; i < scene->groups[g].num; i++) {
			uint32_t *list = scene->members[g], member = list[i];
			uint32_t j = random_range(random, i, scene->groups[g].num - 1);

			list[i] = list[j];
			list[j] = member;
		}
	for (uint32_t g = 0; g < scene->num_groups; g++) {
		uint32_t j = random_range(random, g, scene->num_groups - 1);
		struct pm_group group = scene->groups[g];
		uint32_t *list = scene->members[g];

		scene->groups[g] = scene->groups[j];
		scene->members[g] = scene->members[j];
		scene->groups[j] = group;
		scene->members[j] = list;
	}
}

/* The same input, another history and order: the same tables. */
static void check_input_alone(struct mscene *scene, struct random *random,
			      const struct pm_mfts *tables)
{
	struct pm_mfts *again;

	shuffle(scene, random);
	mscene_remake(scene);
	again = mscene_route(scene, NULL);
	EXPECT(mscene_same(scene, tables, again, 0));
	pm_mfts_free(again);
}

/* One group's members change: no other group's entries do. */
static void check_members(struct mscene *scene, struct random *random,
			  const struct pm_mfts *tables)
{
	uint32_t g = random_below(random, scene->num_groups);
	struct pm_mfts *anew;

	mscene_draw_members(scene, random, g);
	anew = mscene_route(scene, NULL);
	for (uint32_t i = 0; i < scene->num_groups; i++)
		if (i != g)
			EXPECT(mscene_same(scene, tables, anew, scene->groups[i].mlid));
	pm_mfts_free(anew);
}

/* Whether a group's entries name a link that is usable no more. */
static bool is_hit(const struct mscene *scene, const struct pm_mfts *tables,
		   uint16_t mlid)
{
	for (uint32_t i = 0; i < scene->topology->num_ports; i++) {
		const struct pm_port *port = &scene->topology->ports[i];

		if (port->peer != PM_NONE && !scene->usable[i] &&
		    pm_mfts_has_port(tables, port->node, mlid, port->num))
			return true;
	}
	return false;
}

/*
 * Links fail: groups without these in their trees keep them. But a root outside the
 * group's plane was found under one inside, and a part without links has members that
 * are left out.
 */
static void check_stays(struct mscene *scene, struct random *random)
{
	struct pm_group_tree trees[MSCENE_GROUPS], after[MSCENE_GROUPS];
	struct pm_mfts *before = mscene_route(scene, trees), *tables;

	for (uint32_t num = random_range(random, 1, 6); num; num--)
		mscene_set_link(scene, random_below(random, scene->topology->num_ports),
				false);
	tables = mscene_route(scene, after);
	for (uint32_t g = 0; g < scene->num_groups; g++) {
		uint16_t mlid = scene->groups[g].mlid;

		if (is_hit(scene, before, mlid)) {
			met.moved++;
			continue;
		}
		if (trees[g].state != PM_GROUP_PLANE || trees[g].excluded ||
		    !pm_tree_is_native(scene->tree, trees[g].plane, trees[g].root))
			continue;
		met.stayed++;
		EXPECT(mscene_same(scene, before, tables, mlid));
	}
	pm_mfts_free(before);
	pm_mfts_free(tables);
}

/* Some switches have no room, or for a few MLIDs only. */
static void draw_capacity(struct mscene *scene, struct random *random)
{
	if (!random_chance(random, 30))
		return;
	met.small++;
	for (uint32_t sw = 0; sw < scene->topology->num_switches; sw++)
		if (random_chance(random, 15))
			scene->capacity[sw] =
				(uint16_t)(random_chance(random, 50)
						   ? 0
						   : random_below(random, 40));
	mscene_remake(scene);
}

static void run_round(struct random *random)
{
	struct mscene scene;
	struct pm_group_tree trees[MSCENE_GROUPS];
	struct pm_mfts *tables;

	if (!mscene_make_random(&scene, random))
		return;
	EXPECT(scene.topology->num_switches <= 256 && scene.topology->num_ports <= 4096);
	draw_capacity(&scene, random);
	mscene_draw_groups(&scene, random);
	for (uint32_t event = 0; event < EVENTS; event++) {
		tables = mscene_route(&scene, trees);
		check_all(&scene, tables, trees);
		check_input_alone(&scene, random, tables);
		check_members(&scene, random, tables);
		pm_mfts_free(tables);
		check_stays(&scene, random);
		if (random_chance(random, 30))
			mscene_set_all_links(&scene);
		mscene_draw_event(&scene, random);
	}
	mscene_free(&scene);
}

static void test_random(void **state)
{
	uint64_t first = from_environment("PM_SEED", DEFAULT_SEED);
	uint64_t rounds = from_environment("PM_ROUNDS", DEFAULT_ROUNDS);

	memset(&met, 0, sizeof(met));
	for (seed = first; seed < first + rounds; seed++) {
		struct random random = {seed};

		run_round(&random);
	}
	printf("seeds from %llu on: %u groups (%u idle, %u local, %u in planes, %u other "
	       "roots, %u unserved; %u without some members), %u small tables, %u "
	       "leaves without members; after failures %u hit, %u not\n",
	       (unsigned long long)first, met.groups, met.states[PM_GROUP_IDLE],
	       met.states[PM_GROUP_LOCAL], met.states[PM_GROUP_PLANE],
	       met.states[PM_GROUP_ROOT], met.states[PM_GROUP_UNSERVED], met.excluded,
	       met.small, met.empty, met.moved, met.stayed);
	if (rounds < DEFAULT_ROUNDS)
		return;
	for (uint32_t i = 0; i < LENGTH(met.states); i++)
		assert_int_not_equal(met.states[i], 0);
	assert_int_not_equal(met.excluded, 0);
	assert_int_not_equal(met.stayed, 0);
	assert_int_not_equal(met.empty, 0);
}

/* ---- Wrong input ---- */

static void test_input(void **state)
{
	struct world world;
	struct mscene scene;
	struct pm_error err;
	struct pm_mfts *tables = NULL;
	uint32_t host, link;

	world_make(&world, world_director(36), PM_GROUPED);
	mscene_make(&scene, &world);
	host = scene.places[0];
	link = world_port(scene.topology, "leaf0", 19);
	const struct {
		const char *name, *text;
		struct pm_group groups[2];
	} rows[] = {
		{"below", "0xbfff is no MLID", {{0xbfff, 0, NULL}, {0xc000, 0, NULL}}},
		{"above", "0xffff is no MLID", {{0xc001, 0, NULL}, {0xffff, 0, NULL}}},
		{"twice",
		 "two groups have MLID 0xc000",
		 {{0xc000, 0, NULL}, {0xc000, 1, &host}}},
		{"no port",
		 "MLID 0xc003: there is no port 4294967295",
		 {{0xc000, 1, &host}, {0xc003, 1, &(uint32_t){PM_NONE}}}},
		{"a link",
		 "MLID 0xc000: port 19 of leaf0 has a link to a switch",
		 {{0xc000, 1, &link}, {0xc003, 1, &host}}},
		{"a link behind a host",
		 "MLID 0xc003: port 19 of leaf0 has a link to a switch",
		 {{0xc000, 1, &host}, {0xc003, 2, (uint32_t[]){host, link}}}},
	};
	for (size_t i = 0; i < LENGTH(rows); i++) {
		if (pm_multicast_route(scene.multicast, rows[i].groups, 2, &tables, NULL,
				       &err) != -EINVAL)
			fail_msg("%s: taken", rows[i].name);
		assert_string_equal(err.text, rows[i].text);
	}
	assert_null(tables);
	mscene_free(&scene);
}

/* The first and the last MLID, and a member that is there twice. */
static void test_limits(void **state)
{
	struct world world;
	struct mscene scene;
	struct pm_group_tree trees[3];
	struct pm_mfts *tables;

	world_make(&world, world_director(36), PM_GROUPED);
	mscene_make(&scene, &world);
	scene.num_groups = 3;
	for (uint32_t g = 0; g < 3; g++) {
		scene.groups[g] = (struct pm_group){
			(uint16_t)(g == 1 ? PM_MLID_LAST : PM_MLID_FIRST + g), 2,
			scene.members[g]};
		scene.members[g][0] = scene.places[0];
		scene.members[g][1] = scene.places[g == 2 ? 0 : scene.num_slots - 1];
	}
	/* Between others. */
	scene.groups[0].num = 3;
	scene.members[0][2] = scene.members[0][1];
	scene.members[0][1] = scene.members[0][0];
	tables = mscene_route(&scene, trees);
	assert_int_equal(trees[0].state, PM_GROUP_PLANE);
	assert_int_equal(trees[1].state, PM_GROUP_PLANE);
	assert_int_equal(trees[2].state, PM_GROUP_IDLE);
	assert_int_equal(pm_mfts_num_blocks(tables), PM_MFT_BLOCKS);
	for (uint32_t g = 0; g < 2; g++)
		assert_null(
			mwalk_group(&(struct mwalk){scene.topology, tables, scene.usable},
				    &scene.groups[g]));
	pm_mfts_free(tables);
	mscene_free(&scene);
}

/* ---- Joins ---- */

/* Whether all entries of one MLID are in the second tables, too. */
static bool is_part(const struct mscene *scene, const struct pm_mfts *a,
		    const struct pm_mfts *b, uint16_t mlid)
{
	for (uint32_t sw = 0; sw < scene->topology->num_switches; sw++)
		for (uint32_t p = 0; p < pm_mfts_num_positions(a, sw); p++)
			if (pm_mfts_mask(a, sw, mlid, p) & ~pm_mfts_mask(b, sw, mlid, p))
				return false;
	return true;
}

/*
 * In whole regular trees a tree only grows while members join, also where its root goes
 * up a level, but once: when the group becomes large.
 */
static void check_joins(struct mscene *scene, struct random *random)
{
	uint32_t most = scene->num_slots < 60 ? scene->num_slots : 60;

	scene->num_groups = 1;
	scene->groups[0].mlid = (uint16_t)(PM_MLID_FIRST + random_below(random, 99));
	scene->groups[0].num = scene->num_slots;
	memcpy(scene->members[0], scene->places, scene->num_slots * sizeof(uint32_t));
	shuffle(scene, random);
	for (uint32_t num = 1; num < most; num++) {
		struct pm_mfts *before, *tables;

		scene->groups[0].num = num;
		before = mscene_route(scene, NULL);
		scene->groups[0].num = num + 1;
		tables = mscene_route(scene, NULL);
		assert_true(is_part(scene, before, tables, scene->groups[0].mlid));
		pm_mfts_free(before);
		pm_mfts_free(tables);
	}
}

static void test_joins(void **state)
{
	static const struct pm_generate configs[] = {
		{.kind = PM_GENERATE_DIRECTOR, .director = {108}},
		{.kind = PM_GENERATE_XGFT, .xgft = {3, {4, 4, 4}, {1, 4, 4}}},
		{.kind = PM_GENERATE_XGFT, .xgft = {4, {3, 3, 3, 3}, {1, 2, 3, 2}}},
		{.kind = PM_GENERATE_TWO_LEVEL, .two_level = {12, 4, 6, 3}},
	};
	struct random random = {from_environment("PM_SEED", DEFAULT_SEED)};

	for (size_t i = 0; i < LENGTH(configs); i++) {
		struct world world;
		struct mscene scene;

		world_make(&world, world_generate(&configs[i]), PM_GROUPED);
		mscene_make(&scene, &world);
		scene.large = scene.topology->num_switches;
		mscene_remake(&scene);
		for (uint32_t k = 0; k < 8; k++)
			check_joins(&scene, &random);
		mscene_free(&scene);
	}
}

/* Sets from one set of tables to another. */
static uint32_t count_sets(const struct pm_mfts *installed, const struct pm_mfts *wanted)
{
	struct pm_mft_delta delta = {0};
	uint32_t num;

	assert_int_equal(pm_mft_delta_find(installed, wanted, 0, 1, NULL, &delta), 0);
	num = delta.num;
	pm_mft_delta_free(&delta);
	return num;
}

/*
 * A group with one member at each of 36 leaves: each that leaves, or joins again, takes
 * one Set, up to 4 leaves without members; then its tree shrinks to leaves with members.
 */
static void test_broad(void **state)
{
	struct world world;
	struct mscene scene;
	struct pm_mfts *tables, *after;

	world_make(&world, world_director(36), PM_GROUPED);
	mscene_make(&scene, &world);
	scene.num_groups = 1;
	scene.groups[0].mlid = PM_MLID_FIRST;
	scene.groups[0].num = 36;
	for (uint32_t leaf = 0; leaf < 36; leaf++)
		scene.members[0][leaf] = scene.places[leaf * 18 + leaf % 18];
	tables = mscene_route(&scene, NULL);
	for (uint32_t without = 1; without <= 5; without++) {
		scene.groups[0].num--;
		after = mscene_route(&scene, NULL);
		if (without <= 36 / 8) {
			assert_int_equal(count_sets(tables, after), 1);
			assert_int_equal(count_sets(after, tables), 1);
		}
		for (uint32_t leaf = 0; leaf < 36; leaf++)
			assert_int_equal(
				has_entry(&scene, after,
					  scene.topology->ports[scene.members[0][leaf]]
						  .node,
					  PM_MLID_FIRST),
				leaf < scene.groups[0].num || without <= 36 / 8);
		pm_mfts_free(tables);
		tables = after;
	}
	pm_mfts_free(tables);
	mscene_free(&scene);
}

/* A plane that reaches fewer leaves than others is no block's first. */
static void test_narrow_plane(void **state)
{
	static const char text[] =
		"a/4 b/4 c/4 s/4 t/4 u/4 a:1=a1 b:1=b1 c:1=c1 a:2=s:1 b:2=s:2 "
		"a:3=t:1 b:3=t:2 c:3=t:3 a:4=u:1 b:4=u:2 c:4=u:3";
	struct world world;
	struct mscene scene;
	uint32_t narrow, order[3];

	world_make(&world, recipe_draw(text), PM_GROUPED);
	mscene_make(&scene, &world);
	assert_int_equal(scene.tree->num_planes, 3);
	narrow = scene.tree->plane[world_port(scene.topology, "a", 2)];
	for (uint16_t block = 0; block < 6; block++)
		for (int large = 0; large < 2; large++) {
			uint16_t mlid = (uint16_t)(PM_MLID_FIRST + block * PM_MFT_BLOCK);

			pm_multicast_order(scene.multicast, mlid, large, order);
			assert_int_not_equal(order[0], narrow);
		}
	mscene_free(&scene);
}

/*
 * LIDs do not influence trees: whatever the LMC and their order, tables are the same.
 */
static void test_lids(void **state)
{
	static const struct pm_plan_config configs[] = {
		{.order = PM_GROUPED},
		{.order = PM_GROUPED, .lmc = 2},
		{.order = PM_LEAF_MAJOR},
	};
	struct pm_mfts *first = NULL;

	for (size_t i = 0; i < LENGTH(configs); i++) {
		struct random random = {DEFAULT_SEED};
		struct world world;
		struct mscene scene;
		struct pm_mfts *tables;

		world_make_with(&world, world_director(72), &configs[i]);
		mscene_make(&scene, &world);
		mscene_draw_groups(&scene, &random);
		mscene_set_switch(&scene, world_switch(&world, "s3-line1"), false);
		tables = mscene_route(&scene, NULL);
		if (first)
			assert_true(mscene_same(&scene, first, tables, 0));
		pm_mfts_free(first);
		first = tables;
		mscene_free(&scene);
	}
	pm_mfts_free(first);
}

/* All MLIDs there are, each a group of two, three or all leaves. */
static void test_all_mlids(void **state)
{
	struct pm_group *groups = calloc(PM_MLIDS, sizeof(*groups));
	struct pm_group_tree *trees = calloc(PM_MLIDS, sizeof(*trees));
	struct random random = {from_environment("PM_SEED", DEFAULT_SEED)};
	uint32_t *members = calloc((size_t)PM_MLIDS * 3, sizeof(*members)), all[36];
	struct pm_mfts *tables = NULL;
	struct world world;
	struct mscene scene;

	assert_true(groups && trees && members);
	world_make(&world, world_director(36), PM_GROUPED);
	mscene_make(&scene, &world);
	for (uint32_t leaf = 0; leaf < LENGTH(all); leaf++)
		all[leaf] = scene.places[leaf * 18];
	for (uint32_t g = 0; g < PM_MLIDS; g++) {
		groups[g] = (struct pm_group){(uint16_t)(PM_MLID_FIRST + g), 2 + g % 2,
					      members + (size_t)g * 3};
		for (uint32_t i = 0; i < 3; i++)
			members[g * 3 + i] =
				scene.places[random_below(&random, 216) + 216 * i];
		if (g % 50 == 0)
			groups[g] = (struct pm_group){groups[g].mlid, LENGTH(all), all};
	}
	assert_int_equal(pm_multicast_route(scene.multicast, groups, PM_MLIDS, &tables,
					    trees, NULL),
			 0);
	for (uint32_t g = 0; g < PM_MLIDS; g++) {
		const struct mwalk walk = {scene.topology, tables, NULL};

		assert_int_equal(trees[g].state, PM_GROUP_PLANE);
		if (g % 97 == 0 || g == PM_MLIDS - 1)
			assert_null(mwalk_group(&walk, &groups[g]));
	}
	pm_mfts_free(tables);
	mscene_free(&scene);
	free(groups);
	free(trees);
	free(members);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_input),	     cmocka_unit_test(test_joins),
		cmocka_unit_test(test_limits),	     cmocka_unit_test(test_all_mlids),
		cmocka_unit_test(test_lids),	     cmocka_unit_test(test_broad),
		cmocka_unit_test(test_narrow_plane), cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
