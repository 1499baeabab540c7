/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds subtrees and planes, and indexes their switches, once levels are found. */
#include "tree_parts.h"

#include <portmajor/base/alloc.h>
#include <portmajor/base/bits.h>

/* Indexes the sets of a union-find by their first member, for members only. */
static uint32_t index_sets(uint32_t *parent, uint32_t *index, const struct pm_tree *tree,
			   unsigned int low, unsigned int high)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < tree->num_switches; i++) {
		uint32_t root = tree_find_root(parent, i);

		if (tree->level[i] < low || tree->level[i] > high)
			index[i] = PM_NONE;
		else
			index[i] = root == i ? count++ : index[root];
	}
	return count;
}

struct leaf_order {
	const uint32_t *keys; /* [level][switch]: first switch of the subtree */
	uint32_t num_switches;
	unsigned int num_keys;
};

static int compare_leaves(const void *a, const void *b, void *context)
{
	const struct leaf_order *order = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	for (unsigned int k = order->num_keys; k-- > 0;) {
		const uint32_t *key = order->keys + (size_t)k * order->num_switches;

		if (key[x] != key[y])
			return key[x] < key[y] ? -1 : 1;
	}
	return x < y ? -1 : x > y;
}

/*
 * Sorts leaves in subtree order: leaves that meet at a lower level stand closer together.
 * The key of a leaf at level l is the first leaf that switches of levels up to l join it
 * with.
 */
static int sort_leaves(const struct pm_fabric *skeleton, struct pm_tree *tree,
		       struct pm_error *err)
{
	unsigned int first_level = tree->leaf_level + 1u;
	unsigned int num_keys =
		tree->top_level > first_level ? tree->top_level - first_level : 0;
	uint32_t num = tree->num_switches, count = 0;
	struct pm_pool pool = {0};
	uint32_t *keys = pm_pool_array(&pool, (size_t)num_keys * num, sizeof(*keys));
	uint32_t *parent = pm_pool_array(&pool, num, sizeof(*parent));
	uint32_t *first = pm_pool_array(&pool, num, sizeof(*first));
	struct leaf_order order = {keys, num, num_keys};
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	for (unsigned int k = 0; k < num_keys; k++) {
		tree_join_levels(skeleton, tree, 0, first_level + k, parent);
		memset(first, 0xff, num * sizeof(*first));
		for (uint32_t i = 0; i < num; i++) {
			uint32_t root = tree_find_root(parent, i);

			if (pm_tree_is_leaf(tree, i) && first[root] == PM_NONE)
				first[root] = i;
			keys[(size_t)k * num + i] = first[root];
		}
	}
	for (uint32_t i = 0; i < num; i++)
		if (pm_tree_is_leaf(tree, i))
			tree->leaves[count++] = i;
	qsort_r(tree->leaves, count, sizeof(*tree->leaves), compare_leaves, &order);
	memset(tree->leaf_index, 0xff, num * sizeof(*tree->leaf_index));
	for (uint32_t i = 0; i < count; i++)
		tree->leaf_index[tree->leaves[i]] = i;
out:
	pm_pool_free(&pool);
	return rc;
}

/* Indexes in pods of first-level switches, in levels of all above the leaves. */
static int index_switches(struct pm_tree *tree, struct pm_error *err)
{
	size_t cells = (size_t)tree->num_components * tree->num_pods;
	size_t rows = (size_t)tree->num_components * (tree->top_level + 1u);
	struct pm_pool pool = {0};
	uint32_t *in_pod = pm_pool_array(&pool, cells, sizeof(*in_pod));
	uint32_t *in_level = pm_pool_array(&pool, rows, sizeof(*in_level));
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	for (uint32_t i = 0; i < tree->num_switches; i++) {
		unsigned int level = tree->level[i];
		uint32_t c = tree->component[i];

		tree->index_in_pod[i] = tree->index_in_level[i] = PM_NONE;
		if (c == PM_NONE)
			continue;
		tree->index_in_level[i] =
			in_level[(size_t)level * tree->num_components + c]++;
		if (level == tree->leaf_level + 1u)
			tree->index_in_pod[i] =
				in_pod[(size_t)tree->pod[i] * tree->num_components + c]++;
	}
out:
	pm_pool_free(&pool);
	return rc;
}

static int find_subtrees(const struct pm_fabric *skeleton, struct pm_tree *tree,
			 struct pm_error *err)
{
	uint32_t *parent = pm_array(tree->num_switches, sizeof(*parent));
	unsigned int first_level = tree->leaf_level + 1u, top = PM_NO_LEVEL - 1;

	if (!parent)
		return pm_error_no_memory(err);
	tree_join_levels(skeleton, tree, 0, first_level, parent);
	tree->num_pods = index_sets(parent, tree->pod, tree, 0, first_level);
	tree_join_levels(skeleton, tree, first_level, top, parent);
	tree->num_components =
		index_sets(parent, tree->component, tree, first_level, top);
	free(parent);
	return index_switches(tree, err);
}

static int compare_planes(const void *a, const void *b)
{
	const struct pm_plane *x = a, *y = b;

	if (x->component != y->component)
		return x->component < y->component ? -1 : 1;
	if (x->index_in_pod != y->index_in_pod)
		return x->index_in_pod < y->index_in_pod ? -1 : 1;
	return x->link < y->link ? -1 : x->link > y->link;
}

/* The plane of a leaf's up port. */
static struct pm_plane plane_of(const struct pm_fabric *skeleton,
				const struct pm_tree *tree, uint32_t port)
{
	uint32_t above = pm_fabric_peer_node(skeleton, port);
	uint32_t first = skeleton->nodes[skeleton->ports[port].node].first_port;
	uint32_t link = 0;

	for (uint32_t i = first + 1; i < port; i++)
		link += pm_fabric_peer_node(skeleton, i) == above;
	return (struct pm_plane){tree->component[above], tree->index_in_pod[above], link};
}

static bool is_leaf_uplink(const struct pm_fabric *skeleton, const struct pm_tree *tree,
			   uint32_t port)
{
	return tree->direction[port] == PM_UP &&
	       tree->level[skeleton->ports[port].node] == tree->leaf_level;
}

static int find_planes(const struct pm_fabric *skeleton, struct pm_tree *tree,
		       struct pm_error *err)
{
	struct pm_plane *planes;
	uint32_t count = 0, unique = 0;

	for (uint32_t i = 0; i < tree->num_ports; i++)
		count += is_leaf_uplink(skeleton, tree, i);
	planes = pm_pool_array(&tree->pool, count, sizeof(*planes));
	if (!planes)
		return pm_error_no_memory(err);
	tree->planes = planes;
	count = 0;
	for (uint32_t i = 0; i < tree->num_ports; i++)
		if (is_leaf_uplink(skeleton, tree, i))
			planes[count++] = plane_of(skeleton, tree, i);
	qsort(planes, count, sizeof(*planes), compare_planes);
	for (uint32_t i = 0; i < count; i++)
		if (!i || compare_planes(&planes[i], &planes[unique - 1]))
			planes[unique++] = planes[i];
	tree->num_planes = unique;
	for (uint32_t i = 0; i < tree->num_ports; i++) {
		struct pm_plane key, *found;

		tree->plane[i] = PM_NONE;
		if (!is_leaf_uplink(skeleton, tree, i))
			continue;
		key = plane_of(skeleton, tree, i);
		found = bsearch(&key, planes, unique, sizeof(key), compare_planes);
		tree->plane[i] = (uint32_t)(found - planes);
	}
	return 0;
}

/* Goes downward, from the leaves above. */
static int find_edge_planes(const struct pm_fabric *skeleton, struct pm_tree *tree,
			    struct pm_error *err)
{
	uint32_t words = pm_bits_words(tree->num_planes);

	tree->plane_words = words;
	if (!tree->leaf_level)
		return 0;
	tree->edge_planes = pm_pool_array(&tree->pool, (size_t)tree->num_switches * words,
					  sizeof(uint64_t));
	if (!tree->edge_planes)
		return pm_error_no_memory(err);
	for (uint32_t i = 0; i < tree->num_ports; i++)
		if (tree->plane[i] != PM_NONE)
			pm_bits_set(tree->edge_planes +
					    (size_t)skeleton->ports[i].node * words,
				    tree->plane[i]);
	for (unsigned int level = tree->leaf_level; level-- > 0;)
		for (uint32_t i = 0; i < tree->num_ports; i++) {
			uint32_t sw = skeleton->ports[i].node;

			if (tree->level[sw] == level && tree->direction[i] == PM_UP)
				pm_bits_or(tree->edge_planes + (size_t)sw * words,
					   tree->edge_planes +
						   (size_t)tree->remote[i] * words,
					   words);
		}
	return 0;
}

static int allocate_tree(struct pm_tree *tree, struct pm_error *err)
{
	struct pm_pool *pool = &tree->pool;
	uint32_t n = tree->num_switches;

	tree->level = pm_pool_array(pool, n, 1);
	tree->direction = pm_pool_array(pool, tree->num_ports, 1);
	tree->remote = pm_pool_array(pool, tree->num_ports, sizeof(uint32_t));
	tree->leaves = pm_pool_array(pool, n, sizeof(uint32_t));
	tree->leaf_index = pm_pool_array(pool, n, sizeof(uint32_t));
	tree->pod = pm_pool_array(pool, n, sizeof(uint32_t));
	tree->component = pm_pool_array(pool, n, sizeof(uint32_t));
	tree->index_in_pod = pm_pool_array(pool, n, sizeof(uint32_t));
	tree->index_in_level = pm_pool_array(pool, n, sizeof(uint32_t));
	tree->plane = pm_pool_array(pool, tree->num_ports, sizeof(uint32_t));
	return pm_pool_check(pool, err);
}

int pm_tree_make(const struct pm_fabric *skeleton, struct pm_tree *result,
		 struct pm_error *err)
{
	struct pm_tree tree = {
		.num_switches = skeleton->num_switches,
		.num_ports = skeleton->num_ports,
	};
	int rc;

	rc = allocate_tree(&tree, err);
	if (!rc)
		rc = tree_find_levels(skeleton, &tree, err);
	if (!rc)
		rc = sort_leaves(skeleton, &tree, err);
	if (!rc)
		rc = find_subtrees(skeleton, &tree, err);
	if (!rc)
		rc = find_planes(skeleton, &tree, err);
	if (!rc)
		rc = find_edge_planes(skeleton, &tree, err);
	if (rc)
		pm_tree_free(&tree);
	else
		*result = tree;
	return rc;
}

void pm_tree_free(struct pm_tree *tree)
{
	pm_pool_free(&tree->pool);
	memset(tree, 0, sizeof(*tree));
}
