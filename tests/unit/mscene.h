/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fabric with links that fail and groups with members that come and go, for tests of
 * multicast. Everything here fails the running cmocka test when it cannot do its work.
 */
#ifndef TESTS_MSCENE_H
#define TESTS_MSCENE_H

#include "recipe.h"
#include "world.h"

#include <portmajor/multicast/multicast.h>

#define MSCENE_GROUPS 12

struct mscene {
	struct world world;
	const struct pm_fabric *topology;
	const struct pm_tree *tree;
	uint32_t *places; /* slots with an end port, and port 0 of switches */
	uint32_t num_places, num_slots; /* slots come first */
	uint8_t *usable;		/* [port] */
	uint16_t *capacity;		/* [switch] */
	uint32_t large;			/* as in struct pm_multicast_config */
	struct pm_group groups[MSCENE_GROUPS];
	uint32_t *members[MSCENE_GROUPS]; /* [num_places] room */
	uint32_t num_groups;
	struct pm_multicast *multicast;
};

/*
 * Takes over a world. All links are usable, all switches have room for all MLIDs, and
 * there is no group.
 */
void mscene_make(struct mscene *scene, struct world *world);
/* Of a random tree; false: this tree will not do. */
bool mscene_make_random(struct mscene *scene, struct random *random);
void mscene_free(struct mscene *scene);

/* Applies scene->capacity and large. */
void mscene_remake(struct mscene *scene);

/* All groups anew, of all kinds: a few members, many, one switch's, all. */
void mscene_draw_groups(struct mscene *scene, struct random *random);
void mscene_draw_members(struct mscene *scene, struct random *random, uint32_t group);

/* A link fails or returns, at both ends; or all links of a switch. */
void mscene_set_link(struct mscene *scene, uint32_t port, bool usable);
void mscene_set_switch(struct mscene *scene, uint32_t sw, bool usable);
/* Links, a switch or a component, which fail or return. */
void mscene_draw_event(struct mscene *scene, struct random *random);
void mscene_set_all_links(struct mscene *scene);

/* Tables of all groups with the links that are usable; the caller frees them. */
struct pm_mfts *mscene_route(struct mscene *scene, struct pm_group_tree *trees);

/* Whether both are equal for one MLID, or, with 0, for all. */
bool mscene_same(const struct mscene *scene, const struct pm_mfts *a,
		 const struct pm_mfts *b, uint16_t mlid);

#endif
