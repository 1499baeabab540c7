/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds orders of planes.
 *
 * Block b begins with plane b mod n of the n planes with roots that reach the most
 * leaves. A large group begins at the other end, with plane n - 1 - (its MLID mod n), so
 * that a few blocks and a few large groups use different planes. Next in the order are
 * planes with leaf ports in the same 16-port position: when a tree moves there, a leaf
 * changes one block, not two. Each round of n blocks begins these planes, in a cycle, one
 * place later, so that the groups of a failed plane are spread over the others.
 */
#include "tree_rules.h"

/* ---- What the plan says ---- */

static uint32_t count_leaves(const struct pm_multicast *m, uint32_t sw)
{
	const uint64_t *down = pm_reach_down(&m->whole, sw);
	uint32_t count = 0;

	for (uint32_t l = 0; l < m->tree->num_leaves; l++)
		count += pm_bits_test(down, m->tree->leaves[l]);
	return count;
}

static void index_ups(struct pm_multicast *m)
{
	uint32_t at = 0;

	for (uint32_t sw = 0; sw < m->num_switches; sw++) {
		pm_for_each_port(i, m->topology, sw)
			if (m->tree->direction[i] == PM_UP)
				m->ups[at++] = i;
		m->first_up[sw + 1] = at;
	}
}

static bool is_top(const struct pm_multicast *m, uint32_t sw)
{
	return m->first_up[sw] == m->first_up[sw + 1];
}

/*
 * Lists each plane's switches, and its top switches that reach the most leaves;
 * reaches[plane]: how many leaves these reach.
 */
static void index_switches(struct pm_multicast *m, const uint32_t *leaves,
			   uint32_t *reaches)
{
	uint32_t natives = 0, tops = 0;

	for (uint32_t p = 0; p < m->num_planes; p++) {
		uint32_t first = natives;

		for (uint32_t i = 0; i < m->whole.num_by_level; i++) {
			uint32_t sw = m->whole.by_level[i];

			if (!pm_tree_is_native(m->tree, p, sw))
				continue;
			m->natives[natives++] = sw;
			if (is_top(m, sw) && leaves[sw] > reaches[p])
				reaches[p] = leaves[sw];
		}
		for (uint32_t i = first; i < natives; i++)
			if (is_top(m, m->natives[i]) &&
			    leaves[m->natives[i]] == reaches[p])
				m->tops[tops++] = m->natives[i];
		m->first_native[p + 1] = natives;
		m->first_top[p + 1] = tops;
	}
}

/* Finds the position of most leaf ports of each plane; room[plane][position]. */
static void find_positions(struct pm_multicast *m, uint32_t *room)
{
	for (uint32_t i = 0; i < m->topology->num_ports; i++)
		if (m->tree->plane[i] != PM_NONE)
			room[m->tree->plane[i] * TREE_POSITIONS +
			     m->topology->ports[i].num / PM_MFT_POSITION]++;
	for (uint32_t p = 0; p < m->num_planes; p++) {
		const uint32_t *count = room + (size_t)p * TREE_POSITIONS;

		for (uint32_t i = 1; i < TREE_POSITIONS; i++)
			if (count[i] > count[m->position[p]])
				m->position[p] = (uint8_t)i;
	}
}

/* Sorts planes: those that reach the most leaves come first. */
static void sort_planes(struct pm_multicast *m, const uint32_t *reaches)
{
	uint32_t most = 0, at = 0;

	for (uint32_t p = 0; p < m->num_planes; p++)
		if (reaches[p] > most)
			most = reaches[p];
	for (uint32_t p = 0; p < m->num_planes; p++)
		if (reaches[p] == most)
			m->planes[at++] = p;
	m->num_wide = at;
	for (uint32_t p = 0; p < m->num_planes; p++)
		if (reaches[p] != most)
			m->planes[at++] = p;
}

static uint32_t count_natives(const struct pm_multicast *m)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < m->num_planes; p++)
		for (uint32_t sw = 0; sw < m->num_switches; sw++)
			count += pm_tree_is_native(m->tree, p, sw);
	return count;
}

static int allocate_planes(struct pm_multicast *m, struct pm_error *err)
{
	uint32_t natives = count_natives(m), planes = m->num_planes, ups = 0;

	for (uint32_t i = 0; i < m->topology->num_ports; i++)
		ups += m->tree->direction[i] == PM_UP;
	m->planes = pm_pool_array(&m->pool, planes, sizeof(uint32_t));
	m->position = pm_pool_array(&m->pool, planes, 1);
	m->first_native = pm_pool_array(&m->pool, planes + 1, sizeof(uint32_t));
	m->natives = pm_pool_array(&m->pool, natives, sizeof(uint32_t));
	m->first_top = pm_pool_array(&m->pool, planes + 1, sizeof(uint32_t));
	m->tops = pm_pool_array(&m->pool, natives, sizeof(uint32_t));
	m->first_up = pm_pool_array(&m->pool, m->num_switches + 1, sizeof(uint32_t));
	m->ups = pm_pool_array(&m->pool, ups, sizeof(uint32_t));
	return pm_pool_check(&m->pool, err);
}

int planes_index(struct pm_multicast *m, struct pm_error *err)
{
	struct pm_pool pool = {0};
	uint32_t *leaves = pm_pool_array(&pool, m->num_switches, sizeof(*leaves));
	uint32_t *reaches = pm_pool_array(&pool, m->num_planes, sizeof(*reaches));
	uint32_t *room = pm_pool_array(&pool, (size_t)m->num_planes * TREE_POSITIONS,
				       sizeof(*room));
	int rc = pm_pool_check(&pool, err);

	if (!rc)
		rc = allocate_planes(m, err);
	if (rc)
		goto out;
	index_ups(m);
	for (uint32_t sw = 0; sw < m->num_switches; sw++)
		leaves[sw] = is_top(m, sw) ? count_leaves(m, sw) : 0;
	index_switches(m, leaves, reaches);
	find_positions(m, room);
	sort_planes(m, reaches);
out:
	pm_pool_free(&pool);
	return rc;
}

/* ---- Orders ---- */

static void reverse(uint32_t *list, uint32_t num)
{
	for (uint32_t i = 0; i < num / 2; i++) {
		uint32_t other = list[i];

		list[i] = list[num - 1 - i];
		list[num - 1 - i] = other;
	}
}

/* Moves the first `count` elements to the end. */
static void rotate(uint32_t *list, uint32_t num, uint32_t count)
{
	reverse(list, count);
	reverse(list + count, num - count);
	reverse(list, num);
}

/*
 * Appends the wide planes after `first`, as a cycle that begins `round` places later.
 * With `same`, these are the planes with the position of `first`; otherwise, the rest.
 * Returns the new number of planes.
 */
static uint32_t add_planes(const struct pm_multicast *m, uint32_t first, bool same,
			   uint32_t round, uint32_t *planes, uint32_t num)
{
	uint8_t position = m->position[m->planes[first]];
	uint32_t begin = num;

	for (uint32_t i = 1; i < m->num_wide; i++) {
		uint32_t plane = m->planes[(first + i) % m->num_wide];

		if ((m->position[plane] == position) == same)
			planes[num++] = plane;
	}
	if (num > begin)
		rotate(planes + begin, num - begin, round % (num - begin));
	return num;
}

void pm_multicast_order(const struct pm_multicast *m, uint16_t mlid, bool large,
			uint32_t *planes)
{
	uint32_t index = mlid - (uint32_t)PM_MLID_FIRST, num = 0, first, round;

	if (!m->num_wide)
		return;
	if (!large)
		index /= PM_MFT_BLOCK;
	first = index % m->num_wide;
	if (large)
		first = m->num_wide - 1 - first;
	round = index / m->num_wide;
	planes[num++] = m->planes[first];
	num = add_planes(m, first, true, round, planes, num);
	num = add_planes(m, first, false, round, planes, num);
	while (num < m->num_planes) {
		planes[num] = m->planes[num];
		num++;
	}
}

void planes_set_order(struct pm_multicast *m, uint32_t index, bool large)
{
	uint32_t key = large ? PM_MFT_BLOCKS + index : index / PM_MFT_BLOCK;

	if (m->order_key == key)
		return;
	pm_multicast_order(m, (uint16_t)(PM_MLID_FIRST + index), large, m->order);
	m->order_key = key;
}

uint32_t planes_top(const struct pm_multicast *m, uint32_t plane, uint32_t key)
{
	uint32_t first = m->first_top[plane], num = m->first_top[plane + 1] - first;

	return num ? m->tops[first + key % num] : PM_NONE;
}
