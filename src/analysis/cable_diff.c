/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares the cables of two fabrics.
 *
 * Each port has at most one cable in either fabric. Consider a walk over a missing cable,
 * the additional cable at its other end, the missing cable at the end of that, and so on.
 * It never branches: it ends, or it returns to its start. If it returns, all its cables
 * are swapped. A walk that ends marks its cables, so that no later walk goes over them
 * again. So the cost of all walks together is linear.
 */
#include <portmajor/analysis/cable_diff.h>

#include <portmajor/base/alloc.h>

#include <stdlib.h>
#include <string.h>

enum mark {
	SAME,
	MISSING,
	WALKED, /* missing, and in no cycle */
	SWAPPED
};

/* [port] of one fabric: the same port of the other one, or PM_NONE. */
struct compared {
	const struct pm_fabric *wanted, *found;
	uint32_t *to_found, *to_wanted;
	uint8_t *mark; /* [port of wanted] */
};

/* ---- Nodes and ports ---- */

struct named {
	const char *name;
	uint32_t node;
	bool is_switch;
};

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return x->is_switch != y->is_switch ? x->is_switch - y->is_switch
					    : strcmp(x->name, y->name);
}

/* The node of the same GUID, if both are switches or neither is; or PM_NONE. */
static uint32_t find_same(const struct pm_fabric *from, uint32_t node,
			  const struct pm_fabric *to)
{
	uint32_t same = pm_fabric_find_guid(to, from->nodes[node].guid);

	return same != PM_NONE && (node < from->num_switches) == (same < to->num_switches)
		       ? same
		       : PM_NONE;
}

/* Lists, by name, the nodes with a GUID that the other fabric lacks; returns their
 * number. */
static uint32_t list_named(const struct pm_fabric *fabric, const struct pm_fabric *other,
			   struct named *list)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (*pm_fabric_name(fabric, i) && find_same(fabric, i, other) == PM_NONE)
			list[num++] = (struct named){pm_fabric_name(fabric, i), i,
						     i < fabric->num_switches};
	qsort(list, num, sizeof(*list), compare_named);
	return num;
}

static bool is_unique(const struct named *list, uint32_t num, uint32_t i)
{
	return (!i || compare_named(&list[i - 1], &list[i]) != 0) &&
	       (i + 1 == num || compare_named(&list[i], &list[i + 1]) != 0);
}

static void join_ports(struct compared *c, uint32_t node, uint32_t same)
{
	const struct pm_node *a = &c->wanted->nodes[node], *b = &c->found->nodes[same];

	for (uint32_t i = 0; i <= a->num_ports && i <= b->num_ports; i++) {
		c->to_found[a->first_port + i] = b->first_port + i;
		c->to_wanted[b->first_port + i] = a->first_port + i;
	}
}

static void join_named(struct compared *c, const struct named *a, uint32_t num_a,
		       const struct named *b, uint32_t num_b)
{
	for (uint32_t i = 0, k = 0; i < num_a && k < num_b;) {
		int order = compare_named(&a[i], &b[k]);

		if (!order && is_unique(a, num_a, i) && is_unique(b, num_b, k))
			join_ports(c, a[i].node, b[k].node);
		i += order <= 0;
		k += order >= 0;
	}
}

static int join_nodes(struct compared *c, struct pm_error *err)
{
	struct named *a = pm_array((size_t)c->wanted->num_nodes + 1, sizeof(*a));
	struct named *b = pm_array((size_t)c->found->num_nodes + 1, sizeof(*b));
	int rc = 0;

	if (!a || !b) {
		rc = pm_error_no_memory(err);
	} else {
		for (uint32_t i = 0; i < c->wanted->num_nodes; i++) {
			uint32_t same = find_same(c->wanted, i, c->found);

			if (same != PM_NONE)
				join_ports(c, i, same);
		}
		join_named(c, a, list_named(c->wanted, c->found, a), b,
			   list_named(c->found, c->wanted, b));
	}
	free(a);
	free(b);
	return rc;
}

/* ---- Cables ---- */

/*
 * The remote end of a port's cable in the second fabric, as a port of the first fabric.
 */
static uint32_t lead(const struct compared *c, uint32_t port)
{
	uint32_t there = c->to_found[port], peer;

	if (there == PM_NONE)
		return PM_NONE;
	peer = c->found->ports[there].peer;
	return peer == PM_NONE ? PM_NONE : c->to_wanted[peer];
}

static void mark_cable(struct compared *c, uint32_t port, enum mark mark)
{
	c->mark[port] = c->mark[c->wanted->ports[port].peer] = (uint8_t)mark;
}

/* Whether the walk from a missing cable returns to it; marks its cables. */
static bool walk_cycle(struct compared *c, uint32_t start)
{
	uint32_t port = start;

	do {
		mark_cable(c, port, WALKED);
		port = lead(c, c->wanted->ports[port].peer);
	} while (port != PM_NONE && c->mark[port] == MISSING);
	return port == start;
}

static void add_cycle(struct compared *c, uint32_t start, uint32_t cycle,
		      struct pm_cable_diff *diff)
{
	uint32_t port = start;

	do {
		diff->swapped[diff->num_swapped++] =
			(struct pm_swapped_cable){port, lead(c, port), cycle};
		mark_cable(c, port, SWAPPED);
		port = lead(c, c->wanted->ports[port].peer);
	} while (port != start);
}

static void list_wanted(struct compared *c, struct pm_cable_diff *diff)
{
	uint32_t cycles = 0;

	for (uint32_t i = 0; i < c->wanted->num_ports; i++) {
		uint32_t peer = c->wanted->ports[i].peer;

		if (peer != PM_NONE && lead(c, i) != peer)
			c->mark[i] = MISSING;
	}
	for (uint32_t i = 0; i < c->wanted->num_ports; i++)
		if (c->mark[i] == MISSING && walk_cycle(c, i))
			add_cycle(c, i, cycles++, diff);
	for (uint32_t i = 0; i < c->wanted->num_ports; i++)
		if (i < c->wanted->ports[i].peer && c->mark[i] == WALKED)
			diff->missing[diff->num_missing++] = i;
}

static void list_additional(const struct compared *c, struct pm_cable_diff *diff)
{
	const struct pm_fabric *found = c->found;

	for (uint32_t i = 0; i < found->num_ports; i++) {
		uint32_t peer = found->ports[i].peer, here = c->to_wanted[i];

		if (peer == PM_NONE || peer < i ||
		    (here != PM_NONE &&
		     (c->mark[here] == SWAPPED ||
		      (c->to_wanted[peer] != PM_NONE &&
		       c->wanted->ports[here].peer == c->to_wanted[peer]))))
			continue;
		diff->additional[diff->num_additional++] = i;
	}
}

static uint32_t *make_map(uint32_t length)
{
	uint32_t *map = pm_array((size_t)length + 1, sizeof(*map));

	for (uint32_t i = 0; map && i < length; i++)
		map[i] = PM_NONE;
	return map;
}

int pm_cable_diff_find(const struct pm_fabric *wanted, const struct pm_fabric *found,
		       struct pm_cable_diff *result, struct pm_error *err)
{
	size_t most = (size_t)wanted->num_ports / 2 + 1;
	struct compared c = {
		.wanted = wanted,
		.found = found,
		.to_found = make_map(wanted->num_ports),
		.to_wanted = make_map(found->num_ports),
		.mark = pm_array((size_t)wanted->num_ports + 1, 1),
	};
	struct pm_cable_diff diff = {
		.missing = pm_array(most, sizeof(*diff.missing)),
		.additional = pm_array((size_t)found->num_ports / 2 + 1,
				       sizeof(*diff.additional)),
		.swapped = pm_array(most, sizeof(*diff.swapped)),
	};
	int rc = c.to_found && c.to_wanted && c.mark && diff.missing && diff.additional &&
				 diff.swapped
			 ? join_nodes(&c, err)
			 : pm_error_no_memory(err);

	if (!rc) {
		list_wanted(&c, &diff);
		list_additional(&c, &diff);
		*result = diff;
	} else {
		pm_cable_diff_free(&diff);
	}
	free(c.to_found);
	free(c.to_wanted);
	free(c.mark);
	return rc;
}

void pm_cable_diff_free(struct pm_cable_diff *diff)
{
	free(diff->missing);
	free(diff->additional);
	free(diff->swapped);
	*diff = (struct pm_cable_diff){0};
}
