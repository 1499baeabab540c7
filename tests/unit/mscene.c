/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "mscene.h"
#include "unit.h"

static void list_places(struct mscene *scene)
{
	for (uint32_t i = 0; i < scene->topology->num_ports; i++)
		if (scene->topology->ports[i].host)
			scene->places[scene->num_places++] = i;
	scene->num_slots = scene->num_places;
	for (uint32_t sw = 0; sw < scene->topology->num_switches; sw++)
		scene->places[scene->num_places++] =
			scene->topology->nodes[sw].first_port;
}

void mscene_make(struct mscene *scene, struct world *world)
{
	const struct pm_fabric *topology = world->plan->topology;

	*scene = (struct mscene){
		.world = *world,
		.topology = topology,
		.tree = &world->plan->tree,
		.places = calloc(topology->num_ports, sizeof(uint32_t)),
		.usable = calloc(topology->num_ports, 1),
		.capacity = calloc(topology->num_switches, sizeof(uint16_t)),
	};
	assert_non_null(scene->places);
	assert_non_null(scene->usable);
	assert_non_null(scene->capacity);
	list_places(scene);
	mscene_set_all_links(scene);
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		scene->capacity[sw] = PM_MLIDS;
	for (uint32_t g = 0; g < MSCENE_GROUPS; g++) {
		scene->members[g] = calloc(topology->num_ports, sizeof(uint32_t));
		assert_non_null(scene->members[g]);
		scene->groups[g].members = scene->members[g];
	}
	mscene_remake(scene);
}

bool mscene_make_random(struct mscene *scene, struct random *random)
{
	struct recipe recipe = {0};
	struct world world = {0};
	bool made = world_make_random(&world, random, &recipe);

	recipe_free(&recipe);
	if (made)
		mscene_make(scene, &world);
	return made;
}

void mscene_free(struct mscene *scene)
{
	pm_multicast_free(scene->multicast);
	for (uint32_t g = 0; g < MSCENE_GROUPS; g++)
		free(scene->members[g]);
	free(scene->places);
	free(scene->usable);
	free(scene->capacity);
	world_free(&scene->world);
}

void mscene_remake(struct mscene *scene)
{
	struct pm_error err = {""};

	pm_multicast_free(scene->multicast);
	if (pm_multicast_new(scene->world.plan,
			     &(struct pm_multicast_config){scene->capacity, scene->large},
			     &scene->multicast, &err))
		fail_msg("%s", err.text);
}

/* ---- Groups ---- */

/* Puts some places in random order first, without repetitions. */
static uint32_t draw_places(const struct mscene *scene, struct random *random,
			    uint32_t most, uint32_t *list)
{
	uint32_t of = random_chance(random, 70) && scene->num_slots ? scene->num_slots
								    : scene->num_places;
	uint32_t num = random_range(random, 0, most < of ? most : of);

	memcpy(list, scene->places, of * sizeof(*list));
	for (uint32_t i = 0; i < num; i++) {
		uint32_t other = random_range(random, i, of - 1), place = list[i];

		list[i] = list[other];
		list[other] = place;
	}
	return num;
}

/* Those of one switch. */
static uint32_t keep_switch(const struct mscene *scene, uint32_t *list, uint32_t num)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < num; i++)
		if (scene->topology->ports[list[i]].node ==
		    scene->topology->ports[list[0]].node)
			list[kept++] = list[i];
	return kept;
}

void mscene_draw_members(struct mscene *scene, struct random *random, uint32_t group)
{
	static const uint32_t most[] = {2, 2, 3, 5, 8, 1000};
	uint32_t *list = scene->members[group];
	uint32_t num = draw_places(scene, random, most[random_below(random, 6)], list);

	if (random_chance(random, 10))
		num = keep_switch(scene, list, num);
	if (random_chance(random, 15)) { /* all hosts */
		memcpy(list, scene->places, scene->num_slots * sizeof(*list));
		num = scene->num_slots;
	}
	scene->groups[group].num = num;
}

/* MLIDs of a few blocks, all different. */
void mscene_draw_groups(struct mscene *scene, struct random *random)
{
	uint32_t mlid = PM_MLID_FIRST;

	scene->num_groups = random_range(random, 1, MSCENE_GROUPS);
	for (uint32_t g = 0; g < scene->num_groups; g++) {
		mlid += random_range(random, 1, random_chance(random, 80) ? 3 : 80);
		scene->groups[g].mlid = (uint16_t)mlid;
		mscene_draw_members(scene, random, g);
	}
}

/* ---- Links ---- */

void mscene_set_link(struct mscene *scene, uint32_t port, bool usable)
{
	uint32_t peer = scene->topology->ports[port].peer;

	if (peer == PM_NONE)
		return;
	scene->usable[port] = usable;
	scene->usable[peer] = usable;
}

void mscene_set_switch(struct mscene *scene, uint32_t sw, bool usable)
{
	pm_for_each_port(i, scene->topology, sw)
		mscene_set_link(scene, i, usable);
}

void mscene_set_all_links(struct mscene *scene)
{
	for (uint32_t i = 0; i < scene->topology->num_ports; i++)
		mscene_set_link(scene, i, true);
}

void mscene_draw_event(struct mscene *scene, struct random *random)
{
	uint32_t sw = random_below(random, scene->topology->num_switches), num;
	uint32_t component = scene->tree->component[sw];
	bool usable = random_chance(random, 40);

	switch (random_below(random, 4)) {
	case 0:
		mscene_set_switch(scene, sw, usable);
		break;
	case 1:
		for (uint32_t i = 0; i < scene->topology->num_switches; i++)
			if (component != PM_NONE &&
			    scene->tree->component[i] == component)
				mscene_set_switch(scene, i, usable);
		break;
	default:
		for (num = random_range(random, 1, 3); num; num--)
			mscene_set_link(scene,
					random_below(random, scene->topology->num_ports),
					usable);
	}
}

/* ---- Tables ---- */

struct pm_mfts *mscene_route(struct mscene *scene, struct pm_group_tree *trees)
{
	struct pm_mfts *tables = NULL;
	struct pm_error err = {""};

	pm_multicast_set_links(scene->multicast, scene->usable);
	if (pm_multicast_route(scene->multicast, scene->groups, scene->num_groups,
			       &tables, trees, &err))
		fail_msg("%s", err.text);
	return tables;
}

bool mscene_same(const struct mscene *scene, const struct pm_mfts *a,
		 const struct pm_mfts *b, uint16_t mlid)
{
	uint32_t blocks = pm_mfts_num_blocks(a), i = mlid - (uint32_t)PM_MLID_FIRST;

	if (pm_mfts_num_blocks(b) > blocks)
		blocks = pm_mfts_num_blocks(b);
	for (uint32_t sw = 0; sw < scene->topology->num_switches; sw++)
		for (uint32_t p = 0; p < pm_mfts_num_positions(a, sw); p++)
			for (uint32_t block = 0; block < blocks; block++) {
				const uint16_t *x = pm_mfts_block(a, sw, block, p);
				const uint16_t *y = pm_mfts_block(b, sw, block, p);

				if (!mlid && memcmp(x, y, PM_MFT_BLOCK * sizeof(*x)))
					return false;
				if (mlid && block == i / PM_MFT_BLOCK &&
				    x[i % PM_MFT_BLOCK] != y[i % PM_MFT_BLOCK])
					return false;
			}
	return true;
}
