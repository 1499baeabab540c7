/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds cycles of dependencies. All dependencies except those that close a cycle are kept
 * in a topological order of channels (Pearce and Kelly, A dynamic topological sort
 * algorithm for directed acyclic graphs). A new dependency along the order needs no
 * search. For a dependency against the order, a search among the channels between its two
 * ends looks for a path back. If there is one, the dependency closes a cycle and stays
 * out. Otherwise the channels found are reordered.
 *
 * A dependency that stays out is tried again when a dependency of its cycle is gone. So
 * there is a cycle exactly if a dependency stays out.
 */
#include "depend.h"

#include <portmajor/memory/xalloc.h>

#define CLOSING (UINT32_C(1) << 31)
#define PRESENT (UINT32_C(1) << 30) /* as of the last depend_settle */
#define COUNT (PRESENT - 1)

static uint32_t *cell_of(const struct depend *d, struct dependency edge)
{
	const struct pm_port *ports = d->fabric->ports;
	const struct pm_port *in = &ports[ports[edge.from].peer];

	return &d->cells[d->first[in->node] +
			 (size_t)in->num * (d->fabric->nodes[in->node].num_ports + 1u) +
			 ports[edge.to].num];
}

void depend_begin(struct depend *d, const struct pm_fabric *fabric)
{
	struct pm_pool *pool = &d->pool;
	uint32_t num = fabric->num_ports;
	size_t total = 0;

	*d = (struct depend){.fabric = fabric};
	d->first = pm_pool_xarray(pool, fabric->num_switches, sizeof(*d->first));
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++) {
		size_t ports = fabric->nodes[sw].num_ports + 1u;

		d->first[sw] = total;
		total += ports * ports;
	}
	d->cells = pm_pool_xarray(pool, total, sizeof(*d->cells));
	d->order = pm_pool_xarray(pool, num, sizeof(*d->order));
	d->before = pm_pool_xarray(pool, num, sizeof(*d->before));
	d->visited = pm_pool_xarray(pool, num, sizeof(*d->visited));
	d->queue = pm_pool_xarray(pool, num, sizeof(*d->queue));
	d->behind = pm_pool_xarray(pool, num, sizeof(*d->behind));
	d->ahead = pm_pool_xarray(pool, num, sizeof(*d->ahead));
	d->orders = pm_pool_xarray(pool, num, sizeof(*d->orders));
	for (uint32_t i = 0; i < num; i++)
		d->order[i] = i;
}

void depend_free(struct depend *d)
{
	for (uint32_t i = 0; i < d->num_closing; i++)
		free(d->closing[i].cycle);
	free(d->closing);
	free(d->touched);
	pm_pool_free(&d->pool);
}

void depend_add(struct depend *d, uint32_t from, uint32_t to, bool more)
{
	const struct dependency edge = {from, to};
	uint32_t *cell = cell_of(d, edge);

	*cell += more ? 1 : UINT32_MAX;
	if ((*cell & COUNT) != (more ? 1 : 0))
		return;
	pm_xgrow(&d->touched, &d->touched_room, d->num_touched + 1, sizeof(*d->touched));
	d->touched[d->num_touched++] = edge;
}

/* ---- Searching ---- */

/* Whether the order has a dependency: packets that come by `from` leave by `to`. */
static bool is_in_order(const struct depend *d, uint32_t from, uint32_t to)
{
	return (*cell_of(d, (struct dependency){from, to}) & (PRESENT | CLOSING)) ==
	       PRESENT;
}

static void visit(struct depend *d, uint32_t channel, uint32_t before, uint32_t *list,
		  uint32_t *num)
{
	d->visited[channel] = d->search;
	d->before[channel] = before;
	list[(*num)++] = channel;
}

/*
 * Finds the channels reachable from one, up to `last` in the order; the search ends at
 * `last`. Returns their number in d->ahead.
 */
static uint32_t search_ahead(struct depend *d, uint32_t from, uint32_t last)
{
	const struct pm_fabric *fabric = d->fabric;
	uint32_t num = 0;

	d->search++;
	visit(d, from, PM_NONE, d->ahead, &num);
	for (uint32_t i = 0; i < num && d->visited[last] != d->search; i++) {
		uint32_t at = d->ahead[i], sw = pm_fabric_peer_node(fabric, at);

		pm_for_each_port(out, fabric, sw)
			if (d->visited[out] != d->search &&
			    d->order[out] <= d->order[last] && is_in_order(d, at, out))
				visit(d, out, at, d->ahead, &num);
	}
	return num;
}

/*
 * Finds the channels that reach one, down to `last` in the order. Returns their number in
 * d->behind.
 */
static uint32_t search_behind(struct depend *d, uint32_t to, uint32_t last)
{
	const struct pm_fabric *fabric = d->fabric;
	uint32_t num = 0;

	d->search++;
	visit(d, to, PM_NONE, d->behind, &num);
	for (uint32_t i = 0; i < num; i++) {
		uint32_t at = d->behind[i], sw = fabric->ports[at].node;

		pm_for_each_port(in, fabric, sw) {
			uint32_t channel = fabric->ports[in].peer;

			if (channel == PM_NONE ||
			    fabric->ports[channel].node >= fabric->num_switches ||
			    d->visited[channel] == d->search ||
			    d->order[channel] < d->order[last] ||
			    !is_in_order(d, channel, at))
				continue;
			visit(d, channel, at, d->behind, &num);
		}
	}
	return num;
}

/* ---- The order ---- */

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void sort_by_order(struct depend *d, uint32_t *list, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		d->queue[d->order[list[i]]] = list[i];
	for (uint32_t i = 0; i < num; i++)
		list[i] = d->order[list[i]];
	qsort(list, num, sizeof(*list), compare_numbers);
	for (uint32_t i = 0; i < num; i++)
		list[i] = d->queue[list[i]];
}

/* Channels behind get the first of all these indexes, channels ahead get the rest. */
static void reorder(struct depend *d, uint32_t behind, uint32_t ahead)
{
	uint32_t num = 0;

	sort_by_order(d, d->behind, behind);
	sort_by_order(d, d->ahead, ahead);
	for (uint32_t i = 0; i < behind; i++)
		d->orders[num++] = d->order[d->behind[i]];
	for (uint32_t i = 0; i < ahead; i++)
		d->orders[num++] = d->order[d->ahead[i]];
	qsort(d->orders, num, sizeof(*d->orders), compare_numbers);
	for (uint32_t i = 0; i < behind; i++)
		d->order[d->behind[i]] = d->orders[i];
	for (uint32_t i = 0; i < ahead; i++)
		d->order[d->ahead[i]] = d->orders[behind + i];
}

/*
 * Takes a dependency into the order. False: it closes a cycle, which d->before has from
 * edge.from back to edge.to.
 */
static bool put_in_order(struct depend *d, struct dependency edge)
{
	uint32_t ahead;

	if (d->order[edge.from] < d->order[edge.to])
		return true;
	ahead = search_ahead(d, edge.to, edge.from);
	if (d->visited[edge.from] == d->search)
		return false;
	reorder(d, search_behind(d, edge.from, edge.to), ahead);
	return true;
}

/* ---- Cycles ---- */

/* Copies the cycle that put_in_order has found. */
static void copy_cycle(struct depend *d, struct closing *closing)
{
	uint32_t *cycle, length = 0;

	for (uint32_t c = closing->edge.from; c != PM_NONE; c = d->before[c])
		length++;
	cycle = pm_xarray(length, sizeof(*cycle));
	free(closing->cycle);
	closing->cycle = cycle;
	closing->length = length;
	for (uint32_t c = closing->edge.from; c != PM_NONE; c = d->before[c])
		cycle[--length] = c;
}

static void keep_out(struct depend *d, struct dependency edge)
{
	struct closing *closing;

	pm_xgrow(&d->closing, &d->closing_room, d->num_closing + 1, sizeof(*d->closing));
	closing = &d->closing[d->num_closing++];
	*closing = (struct closing){.edge = edge, .ring = PM_NONE};
	copy_cycle(d, closing);
	*cell_of(d, edge) |= CLOSING;
}

/* Whether all dependencies of a cycle, except the closing one, exist. */
static bool is_cycle_whole(const struct depend *d, const struct closing *closing)
{
	for (uint32_t i = 0; i + 1 < closing->length; i++)
		if (!is_in_order(d, closing->cycle[i], closing->cycle[i + 1]))
			return false;
	return true;
}

/* Whether a closing dependency still closes a cycle. */
static bool still_closes(struct depend *d, struct closing *closing)
{
	uint32_t *cell = cell_of(d, closing->edge);

	if (!(*cell & PRESENT))
		return false;
	if (is_cycle_whole(d, closing))
		return true;
	if (put_in_order(d, closing->edge)) {
		*cell &= ~CLOSING;
		return false;
	}
	copy_cycle(d, closing);
	return true;
}

static void look_at_closing(struct depend *d, void (*ended)(void *context, uint32_t ring),
			    void *context)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < d->num_closing; i++) {
		struct closing closing = d->closing[i];

		if (still_closes(d, &closing)) {
			d->closing[kept++] = closing;
			continue;
		}
		ended(context, closing.ring);
		free(closing.cycle);
	}
	d->num_closing = kept;
}

void depend_settle(struct depend *d, void (*ended)(void *context, uint32_t ring),
		   void *context)
{
	bool removed = false;

	for (uint32_t i = 0; i < d->num_touched; i++) {
		uint32_t *cell = cell_of(d, d->touched[i]);

		if (!(*cell & COUNT) && *cell & PRESENT) {
			*cell = 0;
			removed = true;
		}
	}
	if (removed)
		look_at_closing(d, ended, context);
	for (uint32_t i = 0; i < d->num_touched; i++) {
		uint32_t *cell = cell_of(d, d->touched[i]);

		if (!(*cell & COUNT) || *cell & PRESENT)
			continue;
		if (!put_in_order(d, d->touched[i]))
			keep_out(d, d->touched[i]);
		*cell |= PRESENT;
	}
	d->num_touched = 0;
}
