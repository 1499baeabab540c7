/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast forwarding tables (mft.h) beside a plain array, operation by operation. */
#include "recipe.h"
#include "unit.h"

#include <portmajor/multicast/mft.h>

#define SWITCHES 4
#define BLOCKS 12
#define POSITIONS 3
#define ROUNDS 200
#define STEPS 60

/* Positions end behind ports 15, 16, 32 and 36. */
static const unsigned int positions[SWITCHES] = {1, 2, 3, 3};

struct cell {
	uint16_t mask[PM_MFT_BLOCK];
	bool unknown;
};

struct model {
	struct cell cells[SWITCHES][BLOCKS][POSITIONS];
};

static struct pm_fabric *draw_switches(void)
{
	return recipe_draw("a/15 b/16 c/32 d/36 a:1=h1 a:2=b:2 b:3=c:3 c:4=d:4");
}

static void draw_masks(struct random *random, uint16_t *mask)
{
	memset(mask, 0, PM_MFT_BLOCK * sizeof(*mask));
	if (random_chance(random, 30))
		return;
	for (uint32_t n = random_range(random, 1, 3); n; n--)
		mask[random_below(random, PM_MFT_BLOCK)] = (uint16_t)random_next(random);
}

static void change(struct random *random, struct pm_mfts *mfts, struct model *model)
{
	uint32_t sw = random_below(random, SWITCHES),
		 block = random_below(random, BLOCKS);
	uint32_t position = random_below(random, positions[sw]);
	struct cell *cell = &model->cells[sw][block][position];

	switch (random_below(random, 12)) {
	case 0:
		pm_mfts_clear(mfts, sw);
		memset(model->cells[sw], 0, sizeof(model->cells[sw]));
		break;
	case 1:
		assert_int_equal(pm_mfts_forget(mfts, sw, block), 0);
		for (uint32_t b = 0; b < block; b++)
			for (uint32_t p = 0; p < positions[sw]; p++) {
				memset(model->cells[sw][b][p].mask, 0xff,
				       sizeof(cell->mask));
				model->cells[sw][b][p].unknown = true;
			}
		break;
	case 2:
		pm_mfts_forget_block(mfts, sw, block, position);
		if (block < pm_mfts_num_blocks(mfts)) {
			memset(cell->mask, 0xff, sizeof(cell->mask));
			cell->unknown = true;
		}
		break;
	case 3:
		if (cell->unknown)
			memset(cell, 0, sizeof(*cell));
		cell->mask[block] = (uint16_t)random_next(random);
		assert_int_equal(pm_mfts_set_mask(mfts, sw,
						  (uint16_t)(PM_MLID_FIRST + block * 33),
						  position, cell->mask[block]),
				 0);
		break;
	default:
		draw_masks(random, cell->mask);
		cell->unknown = false;
		assert_int_equal(pm_mfts_set_block(mfts, sw, block, position, cell->mask),
				 0);
	}
}

static void compare(const struct pm_mfts *mfts, const struct model *model)
{
	static const uint16_t nothing[PM_MFT_BLOCK];

	for (uint32_t sw = 0; sw < SWITCHES; sw++) {
		assert_int_equal(pm_mfts_num_positions(mfts, sw), positions[sw]);
		assert_false(pm_mfts_has_entries(mfts, sw, pm_mfts_num_blocks(mfts)));
		for (uint32_t b = 0; b < BLOCKS; b++)
			for (uint32_t p = 0; p < positions[sw]; p++) {
				const struct cell *cell = &model->cells[sw][b][p];

				assert_memory_equal(pm_mfts_block(mfts, sw, b, p),
						    cell->mask, sizeof(cell->mask));
				assert_int_equal(pm_mfts_is_known(mfts, sw, b, p),
						 !cell->unknown);
				if (memcmp(cell->mask, nothing, sizeof(nothing)) != 0)
					assert_true(pm_mfts_has_entries(mfts, sw, b));
			}
	}
}

/* Places that differ or are unknown, of the switches that count, in the order promised.
 */
static void compare_delta(const struct pm_mft_delta *delta, const struct model *installed,
			  const struct model *wanted, const uint8_t *reachable)
{
	uint32_t num = 0;
	uint64_t entries = 0;

	for (uint32_t b = 1; b < BLOCKS - 1; b++)
		for (uint32_t sw = 0; sw < SWITCHES; sw++)
			for (uint32_t p = 0; p < positions[sw] && reachable[sw]; p++) {
				const struct cell *x = &installed->cells[sw][b][p];
				const struct cell *y = &wanted->cells[sw][b][p];
				uint32_t count = 0;

				for (uint32_t i = 0; i < PM_MFT_BLOCK; i++)
					count += x->mask[i] != y->mask[i];
				entries += count;
				if (!count && !x->unknown)
					continue;
				assert_true(num < delta->num);
				assert_int_equal(delta->cells[num].sw, sw);
				assert_int_equal(delta->cells[num].block, b);
				assert_int_equal(delta->cells[num++].position, p);
			}
	assert_int_equal(num, delta->num);
	assert_int_equal(entries, delta->entries);
}

static void test_model(void **state)
{
	struct pm_fabric *fabric = draw_switches();
	struct random random = {from_environment("PM_SEED", 1)};
	struct pm_mft_delta delta = {0};

	printf("seed %llu\n", (unsigned long long)random.state);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct pm_mfts *mfts = pm_mfts_new(fabric), *copy;
		static struct model model, before;
		uint8_t reachable[SWITCHES];

		memset(&model, 0, sizeof(model));
		for (uint32_t step = 0; step < STEPS; step++)
			change(&random, mfts, &model);
		compare(mfts, &model);
		copy = pm_mfts_clone(mfts);
		before = model;
		for (uint32_t step = random_below(&random, 20); step; step--)
			change(&random, mfts, &model);
		compare(copy, &before);
		for (uint32_t sw = 0; sw < SWITCHES; sw++)
			reachable[sw] = random_chance(&random, 80);
		assert_int_equal(
			pm_mft_delta_find(copy, mfts, 1, BLOCKS - 1, reachable, &delta),
			0);
		compare_delta(&delta, &before, &model, reachable);
		assert_int_equal(
			pm_mft_unknown_find(copy, 1, BLOCKS - 1, reachable, &delta), 0);
		compare_delta(&delta, &before, &before, reachable);
		pm_mfts_free(mfts);
		pm_mfts_free(copy);
	}
	pm_mft_delta_free(&delta);
	pm_fabric_free(fabric);
}

/* Ports and MLIDs at the edges of blocks and positions. */
static void test_ports(void **state)
{
	static const struct {
		uint16_t mlid;
		unsigned int port;
	} rows[] = {{0xc000, 0},  {0xc000, 15}, {0xc01f, 16}, {0xc020, 31},
		    {0xc021, 32}, {0xc03f, 36}, {0xfffe, 36}};
	struct pm_fabric *fabric = draw_switches();

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_mfts *mfts = pm_mfts_new(fabric);
		uint32_t index = rows[i].mlid - PM_MLID_FIRST;
		uint16_t masks[PM_MFT_BLOCK] = {0};

		masks[index % 32] = (uint16_t)(1u << rows[i].port % 16);
		assert_int_equal(
			pm_mfts_set_block(mfts, 3, index / 32, rows[i].port / 16, masks),
			0);
		assert_int_equal(pm_mfts_num_blocks(mfts), index / 32 + 1);
		for (unsigned int port = 0; port <= 36; port++)
			assert_int_equal(pm_mfts_has_port(mfts, 3, rows[i].mlid, port),
					 port == rows[i].port);
		assert_false(pm_mfts_has_port(mfts, 2, rows[i].mlid, 3));
		pm_mfts_free(mfts);
	}
	pm_fabric_free(fabric);
}

/* A switch between others, and one that has another number of ports. */
static void test_move(void **state)
{
	struct pm_fabric *from = pm_fabric_new(), *to = pm_fabric_new();
	struct pm_mfts *mfts, *moved;
	uint16_t masks[PM_MFT_BLOCK] = {5};
	uint32_t node;

	for (uint64_t guid = 1; guid <= 4; guid++) {
		if (guid != 2)
			assert_int_equal(pm_fabric_add_node(from, PM_SWITCH, guid, 36,
							    "from", &node, NULL),
					 0);
		assert_int_equal(pm_fabric_add_node(to, PM_SWITCH, guid,
						    guid == 4 ? 40 : 36, "to", &node,
						    NULL),
				 0);
	}
	assert_int_equal(pm_fabric_seal(from, NULL), 0);
	assert_int_equal(pm_fabric_seal(to, NULL), 0);
	mfts = pm_mfts_new(from);
	assert_non_null(mfts);
	assert_int_equal(pm_mfts_forget(mfts, 0, 2), 0);
	for (uint32_t sw = 0; sw < 3; sw++)
		assert_int_equal(pm_mfts_set_block(mfts, sw, 1, 2, masks), 0);
	assert_int_equal(pm_mfts_move(mfts, from, to, &moved), 0);
	assert_int_equal(pm_mfts_num_switches(moved), 4);
	assert_false(pm_mfts_is_known(moved, 0, 0, 0));
	assert_int_equal(pm_mfts_mask(moved, 0, 0xc020, 2), 5);
	assert_int_equal(pm_mfts_mask(moved, 1, 0xc020, 2), 0);
	assert_int_equal(pm_mfts_mask(moved, 2, 0xc020, 2), 5);
	assert_int_equal(pm_mfts_mask(moved, 3, 0xc020, 2), 0);
	assert_true(pm_mfts_is_known(moved, 1, 0, 0));
	pm_mfts_free(mfts);
	pm_mfts_free(moved);
	pm_fabric_free(from);
	pm_fabric_free(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
