/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Assigns a leaf's ports to destinations that its own planes do not settle: see rules.c.
 */
#include "route_parts.h"

/* Up ports of the leaf, as a set of port numbers. */
struct choice {
	uint64_t set[PM_MAX_PORTS / 64 + 1];
};

/* A LID to be assigned. Items that differ only in their LID are a batch. */
struct item {
	uint8_t kind;  /* enum pm_host, or OWN_LID */
	uint8_t nth;   /* with LMC, which LID of its place */
	uint8_t wide;  /* all ports that lead there, not just a group's */
	uint8_t ports; /* how many the choice has */
	uint16_t choice;
	uint16_t lid;
};

#define OWN_LID PM_HOST_KINDS /* the LID of a switch itself */

struct assignment {
	struct pm_routes *routes;
	const uint32_t *num_up; /* [switch] planes that a leaf has */
	uint32_t leaf;		/* the present leaf */
	uint8_t *row;
	struct item *items;	/* [stride] at most */
	struct choice *choices; /* likewise */
	uint8_t *is_assigned;	/* [lid] */
	uint32_t num_items, num_choices;
	uint32_t load[PM_MAX_PORTS + 1]; /* [port] LIDs of the present kind and `nth` */
};

/*
 * Whether a leaf's up port leads to a group: a first-level switch or, without
 * index_in_pod, a component.
 */
static bool is_in_group(const struct pm_tree *tree, const struct pm_plane *group,
			uint32_t port)
{
	uint32_t p = tree->plane[port];

	return p != PM_NONE && tree->planes[p].component == group->component &&
	       (group->index_in_pod == PM_NONE ||
		tree->planes[p].index_in_pod == group->index_in_pod);
}

static uint32_t count_group(const struct pm_routes *routes, const struct pm_plane *group,
			    uint32_t leaf)
{
	uint32_t count = 0;

	pm_for_each_port(i, routes->plan->topology, leaf)
		count += is_in_group(&routes->plan->tree, group, i);
	return count;
}

static bool has_plane(const struct pm_routes *routes, uint32_t leaf, uint32_t plane)
{
	pm_for_each_port(i, routes->plan->topology, leaf)
		if (routes->plan->tree.plane[i] == plane)
			return true;
	return false;
}

/* Makes a choice of a list's ports: those of a group, or all if it is NULL. */
static uint8_t make_choice(const struct assignment *assign, const struct ports *list,
			   const struct pm_plane *group, struct choice *choice)
{
	uint32_t first = route_node(assign->routes, assign->leaf)->first_port;
	uint8_t count = 0;

	memset(choice, 0, sizeof(*choice));
	for (uint32_t i = 0; i < list->count; i++) {
		if (group && !is_in_group(&assign->routes->plan->tree, group,
					  first + list->num[i]))
			continue;
		pm_bits_set(choice->set, list->num[i]);
		count++;
	}
	return count;
}

/*
 * Whether this leaf has more up ports of the destination's group than the destination's
 * leaf. The group of a destination in the same pod is the switch of its plane; else the
 * component of its plane.
 */
static bool has_more(const struct assignment *assign, uint32_t lid,
		     struct pm_plane *group)
{
	const struct pm_tree *tree = &assign->routes->plan->tree;
	const struct destination *to = &assign->routes->to[lid];

	if (tree->level[to->sw] != tree->leaf_level || to->plane == tree->num_planes)
		return false;
	*group = tree->planes[to->plane];
	if (tree->pod[to->sw] != tree->pod[assign->leaf])
		group->index_in_pod = PM_NONE;
	return count_group(assign->routes, group, to->sw) <
	       count_group(assign->routes, group, assign->leaf);
}

/* Finds the ports an item may take; false: its entry is settled. */
static bool find_choice(const struct assignment *assign, struct item *item,
			struct choice *choice)
{
	const struct destination *to = &assign->routes->to[item->lid];
	struct pm_plane group;
	struct ports list;

	item->wide = !has_more(assign, item->lid, &group);
	if (item->wide && has_plane(assign->routes, assign->leaf, to->plane))
		return false;
	route_list_leading(assign->routes, assign->leaf, to->sw, PM_UP, &list);
	if (!item->wide)
		item->ports = make_choice(assign, &list, &group, choice);
	if (!item->wide && item->ports)
		return true;
	item->wide = 1;
	item->ports = make_choice(assign, &list, NULL, choice);
	return item->ports > 0;
}

static uint32_t number_choice(struct assignment *assign, const struct choice *choice)
{
	uint32_t i = 0;

	while (i < assign->num_choices &&
	       memcmp(&assign->choices[i], choice, sizeof(*choice)) != 0)
		i++;
	if (i == assign->num_choices)
		assign->choices[assign->num_choices++] = *choice;
	return i;
}

static struct item make_item(const struct pm_plan *plan, uint32_t lid)
{
	uint32_t place = plan->owner[lid];
	const struct pm_port *port = &plan->topology->ports[place];

	return (struct item){
		.lid = (uint16_t)lid,
		.kind = port->num ? port->host : OWN_LID,
		.nth = (uint8_t)(lid - plan->lid[place]),
	};
}

/* Between leaves with all planes there is nothing to assign. */
static bool is_plain(const struct assignment *assign, uint32_t to)
{
	const struct pm_tree *tree = &assign->routes->plan->tree;

	return assign->num_up[assign->leaf] == tree->num_planes &&
	       (tree->level[to] != tree->leaf_level ||
		assign->num_up[to] == tree->num_planes);
}

static void collect_items(struct assignment *assign)
{
	const struct pm_routes *routes = assign->routes;

	assign->num_items = assign->num_choices = 0;
	memset(assign->is_assigned, 0, routes->stride);
	for (uint32_t lid = 0; lid < routes->stride; lid++) {
		uint32_t to = routes->to[lid].sw;
		struct item item;
		struct choice choice;

		/* The leaf itself and edge switches below it need no plane. */
		if (to == PM_NONE || is_plain(assign, to) ||
		    pm_bits_test(pm_reach_down(&routes->whole, assign->leaf), to))
			continue;
		item = make_item(routes->plan, lid);
		if (!find_choice(assign, &item, &choice))
			continue;
		item.choice = (uint16_t)number_choice(assign, &choice);
		assign->items[assign->num_items++] = item;
		assign->is_assigned[lid] = 1;
	}
}

/*
 * Orders items by batch; 0: the same batch. LIDs of a group come first. Of the others,
 * the many that may take any port come before the few that may not. So the few find ports
 * with equal loads, and take another port at every leaf. Otherwise they would all take
 * the plane with the fewest slots.
 */
static int compare_batches(const struct item *x, const struct item *y)
{
	if (x->kind != y->kind)
		return x->kind - y->kind;
	if (x->nth != y->nth)
		return x->nth - y->nth;
	if (x->wide != y->wide)
		return x->wide - y->wide;
	return x->ports != y->ports ? y->ports - x->ports : x->choice - y->choice;
}

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order = compare_batches(x, y);

	return order ? order : x->lid - y->lid;
}

/* Counts, per port, the settled entries of this kind and `nth`. */
static void count_settled(struct assignment *assign, const struct item *like)
{
	memset(assign->load, 0, sizeof(assign->load));
	for (uint32_t lid = 0; lid < assign->routes->stride; lid++) {
		struct item item;

		if (assign->row[lid] == PM_LFT_KEEP || assign->is_assigned[lid] ||
		    assign->routes->to[lid].sw == assign->leaf)
			continue;
		item = make_item(assign->routes->plan, lid);
		assign->load[assign->row[lid]] +=
			item.kind == like->kind && item.nth == like->nth;
	}
}

/* Lists the ports of a batch, rotated so that each leaf begins with another one. */
static void list_choice(const struct assignment *assign, const struct item *batch,
			struct ports *list)
{
	uint32_t at = assign->routes->plan->tree.leaf_index[assign->leaf] + batch->nth;

	list->count = batch->ports;
	for (uint32_t p = 1; p <= PM_MAX_PORTS; p++)
		if (pm_bits_test(assign->choices[batch->choice].set, p))
			list->num[at++ % list->count] = (uint8_t)p;
}

/*
 * Each LID in turn goes to the port with the least load. To keep blocks together, each
 * port then gets its share of LIDs as a run.
 */
static void assign_batch(struct assignment *assign, const struct item *batch,
			 uint32_t num)
{
	uint32_t share[PM_MAX_PORTS + 1] = {0};
	struct ports list;

	list_choice(assign, batch, &list);
	for (uint32_t i = 0; i < num; i++) {
		uint32_t best = 0;

		for (uint32_t c = 1; c < list.count; c++)
			if (assign->load[list.num[c]] < assign->load[list.num[best]])
				best = c;
		assign->load[list.num[best]]++;
		share[best]++;
	}
	for (uint32_t c = 0; c < list.count; c++)
		while (share[c]-- > 0)
			assign->row[(batch++)->lid] = list.num[c];
}

static void assign_leaf(struct assignment *assign)
{
	uint32_t num;

	collect_items(assign);
	qsort(assign->items, assign->num_items, sizeof(*assign->items), compare_items);
	for (uint32_t i = 0; i < assign->num_items; i += num) {
		const struct item *batch = &assign->items[i];

		if (i == 0 || batch->kind != batch[-1].kind ||
		    batch->nth != batch[-1].nth)
			count_settled(assign, batch);
		for (num = 1; i + num < assign->num_items; num++)
			if (compare_batches(batch, batch + num))
				break;
		assign_batch(assign, batch, num);
	}
	if (assign->num_items)
		assign->routes->irregular[assign->leaf] = 1;
}

int route_assign(struct pm_routes *routes, struct pm_error *err)
{
	const struct pm_tree *tree = &routes->plan->tree;
	struct pm_pool pool = {0};
	uint32_t *num_up = pm_pool_array(&pool, routes->num_switches, sizeof(*num_up));
	struct assignment assign = {
		.routes = routes,
		.num_up = num_up,
		.items = pm_pool_array(&pool, routes->stride, sizeof(*assign.items)),
		.choices = pm_pool_array(&pool, routes->stride, sizeof(*assign.choices)),
		.is_assigned = pm_pool_array(&pool, routes->stride, 1),
	};
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	for (uint32_t i = 0; i < tree->num_ports; i++)
		num_up[routes->plan->topology->ports[i].node] +=
			tree->plane[i] != PM_NONE;
	for (uint32_t l = 0; l < tree->num_leaves; l++) {
		assign.leaf = tree->leaves[l];
		assign.row = routes->preferred + (size_t)assign.leaf * routes->stride;
		assign_leaf(&assign);
	}
out:
	pm_pool_free(&pool);
	return rc;
}
