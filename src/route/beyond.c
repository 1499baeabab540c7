/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds paths beyond up and then down, for end ports above the leaves: two spines, say,
 * have nothing but leaves in common. Leaves that have no switch above in common, in the
 * whole tree or since a failure, need them, too.
 *
 * All such paths turn up again at one leaf, the hub, or above it (hub.h). A switch
 * without an up-then-down path to a place sends as to the hub, until the packet is at a
 * switch with such a path; the hub itself has one. Entries for one LID lead along the
 * path to the hub or, from the first switch that reaches the place, up and then down: no
 * loop.
 *
 *       s0 (end port)   s1 (end port)        s0 -> hub -> s1; another leaf would do for
 *         \ \         / /                    a path alone, but then these two turns
 *          \ hub ----' /                     could wait for each other
 *           leaf -----'
 *
 * A credit loop needs two turns up that wait for each other, or one turn with a path back
 * to it. The first is impossible, as there is one place to turn. For the second, traffic
 * that goes up from the hub would have to come back down to it, over other ancestors of
 * the hub: is_safe() looks for such a step. Where the places below ancestors of one level
 * are the same, as in trees without holes, there is none. Where switches above the hub
 * form a tree, paths may also turn there; and where no leaf serves all, a switch above
 * the leaves may be such a hub.
 */
#include "route_parts.h"

#include <portmajor/fabric/hub.h>

#include <errno.h>

#define NO_HUB PM_NONE

static bool reaches(const struct pm_routes *routes, uint32_t from, uint32_t to)
{
	return pm_bits_test(pm_reach_updown(&routes->now, from), to);
}

static bool is_below(const struct pm_routes *routes, uint32_t sw, uint32_t below)
{
	return pm_bits_test(pm_reach_down(&routes->now, sw), below);
}

/* The switch that an entry leads to, or PM_NONE. */
static uint32_t next_by(const struct pm_routes *routes, uint32_t sw, uint8_t num)
{
	if (num == 0 || num > route_node(routes, sw)->num_ports)
		return PM_NONE;
	return route_remote_switch(routes, route_node(routes, sw)->first_port + num);
}

static uint32_t next_switch(const struct pm_routes *routes, uint32_t sw, uint32_t lid)
{
	return next_by(routes, sw, route_table(routes, sw)[lid]);
}

/* ---- The hub ---- */

/* Counts the switches of a list that a leaf reaches, and those that reach it. */
static uint32_t count_reached(const struct pm_reach *reach, uint32_t leaf,
			      const uint32_t *list, uint32_t num)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < num; i++)
		count += pm_bits_test(pm_reach_updown(reach, leaf), list[i]) +
			 pm_bits_test(pm_reach_updown(reach, list[i]), leaf);
	return count;
}

/* Whether entries lead from a up to c and down to b, for a place below b but not a. */
static bool may_return(const struct pm_routes *routes, uint32_t a, uint32_t b, uint32_t c)
{
	const uint64_t *below_a = pm_reach_down(&routes->now, a);
	const uint64_t *below_b = pm_reach_down(&routes->now, b);

	for (uint32_t w = 0; w < routes->now.words; w++)
		for (uint64_t only = below_b[w] & ~below_a[w]; only; only &= only - 1) {
			uint32_t to = w * 64 + (uint32_t)__builtin_ctzll(only);

			for (uint32_t i = routes->first_lid[to];
			     i < routes->first_lid[to + 1]; i++)
				if (next_switch(routes, a, routes->lids_of[i]) == c &&
				    next_switch(routes, c, routes->lids_of[i]) == b)
					return true;
		}
	return false;
}

/* Whether traffic that comes up to c from the hub's side may go down there again. */
static bool turns_back_at(const struct pm_routes *routes, uint32_t hub, uint32_t c)
{
	uint32_t sides[PM_MAX_PORTS + 1], count = 0, last = PM_NONE;

	pm_for_each_port(i, routes->plan->topology, c) {
		uint32_t remote = route_remote_switch(routes, i);

		if (routes->plan->tree.direction[i] != PM_DOWN || !routes->usable[i] ||
		    remote == last || !is_below(routes, remote, hub))
			continue;
		sides[count++] = last = remote;
	}
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < count; k++)
			if (sides[i] != sides[k] &&
			    may_return(routes, sides[i], sides[k], c))
				return true;
	return false;
}

static bool is_safe(const struct pm_routes *routes, uint32_t hub)
{
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (sw != hub && is_below(routes, sw, hub) &&
		    turns_back_at(routes, hub, sw))
			return false;
	return true;
}

/*
 * As is_safe(), and paths may also turn above the hub. A hub where they may in the whole
 * tree stays one whatever fails: switches above it have fewer links then.
 */
static bool may_turn_above(const struct pm_routes *routes, uint32_t hub)
{
	return hub == routes->whole_hub ||
	       pm_hub_is_safe(routes->plan->topology, &routes->plan->tree, routes->usable,
			      &routes->now, hub);
}

/* Counts switches with hosts above the leaves that a leaf connects. */
static uint32_t count_talking(const struct pm_routes *routes,
			      const struct pm_reach *reach, uint32_t leaf)
{
	return count_reached(reach, leaf, routes->upper, routes->num_talking);
}

/*
 * The first leaf of the list, as long as it has a link and connects the switches with
 * hosts that it connects in the whole tree: so aggregation nodes alone do not move the
 * hub, and with it the entries of many switches. Else the leaf that connects most of
 * these.
 */
static uint32_t find_leaf(const struct pm_routes *routes)
{
	uint32_t best = NO_HUB, most = 0;

	for (uint32_t i = 0; i < routes->num_hubs; i++) {
		uint32_t leaf = routes->hubs[i], count;

		if (route_is_alone(routes, leaf))
			continue;
		count = 1 + count_talking(routes, &routes->now, leaf);
		if (count <= most)
			continue;
		most = count;
		best = leaf;
		if (count == 1 + 2 * routes->num_talking ||
		    (i == 0 && count == 1 + count_talking(routes, &routes->whole, leaf)))
			break;
	}
	return best;
}

/* This leaf; none if it is not safe. */
static uint32_t choose_leaf(const struct pm_routes *routes)
{
	uint32_t leaf = find_leaf(routes);

	return leaf != NO_HUB && (may_turn_above(routes, leaf) || is_safe(routes, leaf))
		       ? leaf
		       : NO_HUB;
}

/* ---- Paths over the hub ---- */

/* One place with traffic over the hub. */
struct beyond {
	struct pm_routes *routes;
	uint32_t hub, to;
	uint16_t hub_lid;
	bool turns_above; /* paths may also turn at switches above the hub */
	uint8_t *marked;  /* [switch] gets the hub's entries */
	uint64_t *via;	  /* see route_mark_beyond; or NULL */
};

static uint16_t lid_of(const struct pm_routes *routes, uint32_t hub)
{
	return routes->plan->lid[route_node(routes, hub)->first_port];
}

static struct beyond begin_beyond(struct pm_routes *routes, uint32_t hub)
{
	return (struct beyond){
		.routes = routes,
		.hub = hub,
		.hub_lid = lid_of(routes, hub),
		.turns_above = may_turn_above(routes, hub),
		.marked = routes->marked,
	};
}

static const struct pm_reach *reach_of(const struct beyond *b)
{
	return b->via ? &b->routes->whole : &b->routes->now;
}

/* Whether a switch's path to the hub need not be followed further. */
static bool ends_at(const struct beyond *b, uint32_t sw)
{
	if (b->via)
		pm_bits_set(b->via + (size_t)sw * b->routes->now.words, b->to);
	return sw == b->hub || b->marked[sw] ||
	       pm_bits_test(pm_reach_updown(reach_of(b), sw), b->to);
}

/*
 * Lists in queue[] the switches on the path to the hub that do not reach the place;
 * returns their number. The first one that reaches it may have to turn up, as the path
 * comes down to it: then there is no path, unless paths may turn above the hub. A path
 * ends at a switch that is marked, too. PM_NONE: no path.
 */
static uint32_t find_path(const struct beyond *b, uint32_t from)
{
	const struct pm_tree *tree = &b->routes->plan->tree;
	uint32_t *path = b->routes->queue, length = 0, sw = from;
	bool down = false;

	while (!ends_at(b, sw)) {
		const uint8_t *table = b->via ? route_preferred(b->routes, sw)
					      : route_table(b->routes, sw);
		uint32_t next = next_by(b->routes, sw, table[b->hub_lid]);

		if (next == PM_NONE || length == b->routes->num_switches)
			return PM_NONE;
		path[length++] = sw;
		down = tree->level[next] < tree->level[sw];
		sw = next;
	}
	if (down && !b->turns_above && sw != b->hub && !b->marked[sw] &&
	    !pm_bits_test(pm_reach_down(reach_of(b), sw), b->to))
		return PM_NONE;
	return length;
}

/* Marks the switches on this path. */
static void mark_path(const struct beyond *b, uint32_t from)
{
	uint32_t length = find_path(b, from);

	while (length != PM_NONE && length)
		b->marked[b->routes->queue[--length]] = 1;
}

/* Whether a switch above the leaves has end ports. */
static bool is_above(const struct pm_routes *routes, uint32_t sw)
{
	return pm_bits_test(routes->with_slots, sw) &&
	       !pm_tree_is_leaf(&routes->plan->tree, sw) &&
	       routes->plan->tree.level[sw] != PM_NO_LEVEL;
}

/*
 * Hosts need such a path to each other. A host and an aggregation node need one if the
 * host is above the leaves or if they have no up-then-down path in the whole tree: one
 * that a failure takes returns with it, and to move these entries at each failure would
 * cost more than the failure itself. Two aggregation nodes need none.
 */
bool route_wants_hub(const struct pm_routes *routes, uint32_t from, uint32_t to)
{
	bool from_talks = pm_bits_test(routes->talking, from);
	bool to_talks = pm_bits_test(routes->talking, to);

	if (from == to)
		return false;
	/* The manager answers all, also from a switch of its own. */
	if (to_talks && (from_talks || route_is_sm_switch(routes, from)))
		return true;
	if ((!routes->may_turn[from] && !routes->may_turn[to]) ||
	    (!from_talks && !to_talks))
		return false;
	return (from_talks && is_above(routes, from)) ||
	       (to_talks && is_above(routes, to)) ||
	       !pm_bits_test(pm_reach_updown(&routes->whole, from), to);
}

static bool is_served(struct beyond *b, uint32_t from, uint32_t to)
{
	b->to = to;
	return from != to && (b->turns_above || find_path(b, from) != PM_NONE);
}

/* Counts the pairs of switches with hosts that need a hub and have a path over it. */
static uint64_t count_over(struct beyond *b)
{
	struct pm_routes *routes = b->routes;
	const uint64_t *reached = pm_reach_updown(&routes->now, b->hub);
	uint64_t count = 0;

	memset(b->marked, 0, routes->num_switches);
	for (uint32_t from = 0; from < routes->num_switches; from++) {
		if (!pm_bits_test(routes->talking, from) ||
		    !reaches(routes, from, b->hub))
			continue;
		for (uint32_t w = 0; w < routes->now.words; w++)
			for (uint64_t lost = routes->talking[w] & reached[w] &
					     ~pm_reach_updown(&routes->now, from)[w];
			     lost; lost &= lost - 1)
				count += is_served(
					b, from,
					w * 64 + (uint32_t)__builtin_ctzll(lost));
	}
	return count;
}

static uint64_t count_served(struct pm_routes *routes, uint32_t hub)
{
	struct beyond b;

	if (hub == NO_HUB)
		return 0;
	b = begin_beyond(routes, hub);
	return count_over(&b);
}

/* No fewer than count_served, whatever the tables: all may turn above the hub. */
static uint64_t count_at_most(struct pm_routes *routes, uint32_t hub)
{
	struct beyond b;

	if (hub == NO_HUB)
		return 0;
	b = begin_beyond(routes, hub);
	b.turns_above = true;
	return count_over(&b);
}

/* ---- The choice ---- */

/* Whether a hub connects the switches with hosts that it connects in the whole tree. */
static bool stays(const struct pm_routes *routes, uint32_t hub)
{
	return !route_is_alone(routes, hub) &&
	       count_talking(routes, &routes->now, hub) ==
		       count_talking(routes, &routes->whole, hub);
}

/*
 * Counts the pairs of switches with hosts that need a hub now, and had a path in the
 * whole tree.
 */
static uint64_t count_needing(const struct pm_routes *routes)
{
	const struct pm_reach *whole = &routes->whole;
	uint32_t hub = routes->whole_hub;
	uint64_t count = 0;

	for (uint32_t from = 0; from < routes->num_switches; from++) {
		const uint64_t *reached = pm_reach_updown(&routes->now, from);
		const uint64_t *before = pm_reach_updown(whole, from);
		const uint64_t *over = hub != NO_HUB && pm_bits_test(before, hub)
					       ? pm_reach_updown(whole, hub)
					       : routes->nothing;

		if (!pm_bits_test(routes->talking, from) || route_is_alone(routes, from))
			continue;
		for (uint32_t w = 0; w < whole->words; w++)
			for (uint64_t lost = routes->talking[w] & ~reached[w] &
					     (before[w] | over[w]);
			     lost; lost &= lost - 1) {
				uint32_t to = w * 64 + (uint32_t)__builtin_ctzll(lost);

				count += from != to && !route_is_alone(routes, to);
			}
	}
	return count;
}

/* The hub of the whole tree, as long as it serves as many hosts as the best leaf. */
static uint32_t choose_usual(struct pm_routes *routes, uint64_t *served)
{
	uint32_t leaf = choose_leaf(routes), other = routes->whole_hub;
	uint64_t by_other;

	*served = count_served(routes, leaf);
	if (other == NO_HUB || other == leaf || !may_turn_above(routes, other))
		return leaf;
	by_other = count_served(routes, other);
	if (by_other < *served || (by_other == *served && !stays(routes, other)))
		return leaf;
	*served = by_other;
	return other;
}

/* Where that does not serve all, any switch may be the hub that serves more. */
static uint32_t choose_hub(struct pm_routes *routes)
{
	const struct pm_hub_ends ends = {routes->talking, routes->talking};
	uint64_t served, weight, all = count_needing(routes);
	uint32_t hub = choose_usual(routes, &served), any;

	if (served >= all)
		return hub;
	any = pm_hub_find(routes->plan->topology, &routes->plan->tree, routes->usable,
			  &routes->now, &ends, all * PM_HUB_TALKING, &weight);
	return weight / PM_HUB_TALKING > served ? any : hub;
}

void route_choose_hub(struct pm_routes *routes)
{
	routes->hub = choose_hub(routes);
	routes->had_hub |= routes->hub != NO_HUB;
}

/*
 * Finds the hub that serves most pairs of the whole tree, the first leaf of the list if
 * it will do. A tree that the plan takes for its hub (src/plan/find_tree.c) has it.
 */
static void find_whole_hub(struct pm_routes *routes, const uint32_t *part)
{
	const struct pm_fabric *topology = routes->plan->topology;
	const struct pm_tree *tree = &routes->plan->tree;
	const struct pm_hub_ends ends = {routes->talking, routes->with_slots};
	struct pm_hub_pairs pairs;
	uint64_t served;

	pm_hub_count(tree, &routes->whole, &ends, part, &pairs);
	routes->whole_hub = pm_hub_find(topology, tree, NULL, &routes->whole, &ends,
					pairs.weight, &served);
	if (served && routes->num_hubs &&
	    pm_hub_serves(tree, &routes->whole, &ends, routes->hubs[0]) == served &&
	    pm_hub_is_safe(topology, tree, NULL, &routes->whole, routes->hubs[0]))
		routes->whole_hub = routes->hubs[0];
}

static uint32_t count_up(const struct pm_routes *routes, uint32_t leaf)
{
	uint32_t count = 0;

	pm_for_each_port(i, routes->plan->topology, leaf)
		count += routes->plan->tree.direction[i] == PM_UP;
	return count;
}

/*
 * Lists the leaves that may be the hub, those first that connect most of the listed
 * switches in the whole tree; of equal ones those with most links up.
 */
static int index_hubs(struct pm_routes *routes, const uint32_t *list, uint32_t num,
		      struct pm_error *err)
{
	const struct pm_tree *tree = &routes->plan->tree;
	uint32_t *counts = pm_array(tree->num_leaves, sizeof(*counts));

	if (!counts)
		return pm_error_no_memory(err);
	for (uint32_t l = 0; l < tree->num_leaves; l++) {
		uint32_t leaf = tree->leaves[l], count, at = routes->num_hubs;

		/* Switches above an edge switch would have to turn up themselves. */
		if (tree->level[leaf] != tree->leaf_level)
			continue;
		count = count_reached(&routes->whole, leaf, list, num) *
				(PM_MAX_PORTS + 1) +
			count_up(routes, leaf);
		for (; at > 0 && counts[at - 1] < count; at--) {
			counts[at] = counts[at - 1];
			routes->hubs[at] = routes->hubs[at - 1];
		}
		counts[at] = count;
		routes->hubs[at] = leaf;
		routes->num_hubs++;
	}
	free(counts);
	return 0;
}

/* ---- Entries ---- */

void route_send_to_hub(struct pm_routes *routes, uint32_t sw, uint32_t to)
{
	uint8_t num = route_table(routes, sw)[lid_of(routes, routes->hub)];

	if (!routes->moved[sw])
		route_start_moving(routes, sw);
	for (uint32_t i = routes->first_lid[to]; i < routes->first_lid[to + 1]; i++) {
		uint32_t lid = routes->lids_of[i];

		if (routes->to[lid].port)
			route_set(routes, sw, lid, num);
	}
}

/* Sends to a place over the hub, from all switches with end ports that need it. */
static void send_over_hub(const struct beyond *b)
{
	struct pm_routes *routes = b->routes;
	bool talks = pm_bits_test(routes->talking, b->to);

	memset(b->marked, 0, routes->num_switches);
	for (uint32_t w = 0; w < routes->now.words; w++)
		for (uint64_t from = routes->senders[w] &
				     (talks ? ~UINT64_C(0) : routes->talking[w]);
		     from; from &= from - 1) {
			uint32_t sw = w * 64 + (uint32_t)__builtin_ctzll(from);

			if (route_wants_hub(routes, sw, b->to))
				mark_path(b, sw);
		}
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (b->marked[sw])
			route_send_to_hub(routes, sw, b->to);
}

/* Adds to lacking[] the wanted places that a switch does not reach; whether it has any.
 */
static bool find_lacking(const struct pm_routes *routes, uint32_t from)
{
	const uint64_t *reached = pm_reach_updown(&routes->now, from);
	const uint64_t *places = pm_bits_test(routes->talking, from) ? routes->with_slots
								     : routes->talking;
	bool any = false;

	for (uint32_t w = 0; w < routes->now.words; w++)
		for (uint64_t lost = places[w] & ~reached[w]; lost; lost &= lost - 1) {
			uint32_t to = w * 64 + (uint32_t)__builtin_ctzll(lost);

			if (!route_wants_hub(routes, from, to))
				continue;
			pm_bits_set(routes->lacking, to);
			any = true;
		}
	return any;
}

void route_add_beyond(struct pm_routes *routes)
{
	struct beyond b = begin_beyond(routes, routes->hub);

	memset(routes->lacking, 0, routes->now.words * sizeof(*routes->lacking));
	memset(routes->senders, 0, routes->now.words * sizeof(*routes->senders));
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (route_may_need_hub(routes, sw) && find_lacking(routes, sw))
			pm_bits_set(routes->senders, sw);
	for (b.to = 0; b.to < routes->num_switches; b.to++)
		if (pm_bits_test(routes->lacking, b.to) && reaches(routes, b.hub, b.to))
			send_over_hub(&b);
}

/* Whether a set has a switch with a link. */
static bool has_linked(const struct pm_routes *routes, const uint64_t *set)
{
	for (uint32_t w = 0; w < routes->now.words; w++)
		for (uint64_t rest = set[w]; rest; rest &= rest - 1)
			if (!route_is_alone(routes,
					    w * 64 + (uint32_t)__builtin_ctzll(rest)))
				return true;
	return false;
}

/*
 * Sets lacking[] to the switches with hosts that a switch has lost paths to; whether
 * there is one.
 */
static bool find_lost(struct pm_routes *routes, uint32_t from)
{
	const uint64_t *before = pm_reach_updown(&routes->whole, from);
	const uint64_t *after = pm_reach_updown(&routes->now, from);
	uint64_t any = 0;

	for (uint32_t w = 0; w < routes->now.words; w++) {
		routes->lacking[w] = routes->talking[w] & before[w] & ~after[w];
		any |= routes->lacking[w];
	}
	return any;
}

/*
 * Whether the hub of the whole tree surely serves as many pairs as count_needing counts:
 * it has lost no switch with hosts and links, and reaches both ends of lost paths.
 */
static bool serves_all(struct pm_routes *routes, uint32_t hub)
{
	const uint64_t *reached = pm_reach_updown(&routes->now, hub);

	if (find_lost(routes, hub) && has_linked(routes, routes->lacking))
		return false;
	for (uint32_t i = 0; i < routes->failure.num_affected; i++) {
		uint32_t sw = routes->failure.affected[i];

		if (!pm_bits_test(routes->talking, sw) || !find_lost(routes, sw) ||
		    route_is_alone(routes, sw))
			continue;
		if (reaches(routes, sw, hub))
			for (uint32_t w = 0; w < routes->now.words; w++)
				routes->lacking[w] &= ~reached[w];
		if (has_linked(routes, routes->lacking))
			return false;
	}
	return true;
}

bool route_cuts_hosts(struct pm_routes *routes)
{
	for (uint32_t i = 0; i < routes->failure.num_affected; i++) {
		uint32_t sw = routes->failure.affected[i];

		if (pm_bits_test(routes->talking, sw) && find_lost(routes, sw) &&
		    !route_is_alone(routes, sw) && has_linked(routes, routes->lacking))
			return true;
	}
	return false;
}

bool route_keeps_hub(struct pm_routes *routes)
{
	uint32_t leaf = find_leaf(routes), hub = routes->hub_index.hub;
	uint64_t served, most;

	if (!serves_all(routes, hub))
		return false;
	if (leaf == hub)
		return true;
	served = count_served(routes, hub);
	most = count_at_most(routes, leaf);
	return served > most || (served == most && stays(routes, hub));
}

void route_mark_beyond(struct pm_routes *routes, uint32_t to, const uint64_t *from,
		       uint64_t *via)
{
	struct beyond b = begin_beyond(routes, routes->hub_index.hub);

	b.to = to;
	b.via = via;
	memset(b.marked, 0, routes->num_switches);
	if (!pm_bits_test(pm_reach_updown(reach_of(&b), b.hub), to))
		return;
	for (uint32_t w = 0; w < routes->now.words; w++)
		for (uint64_t set = from[w]; set; set &= set - 1)
			mark_path(&b, w * 64 + (uint32_t)__builtin_ctzll(set));
}

void route_add_beyond_to_sm(struct pm_routes *routes, uint32_t sm)
{
	uint32_t first = routes->plan->lid[sm], num = pm_plan_num_lids(routes->plan, sm);
	uint32_t to = routes->plan->topology->ports[sm].node;
	struct beyond b;

	if (routes->hub == NO_HUB || !reaches(routes, routes->hub, to))
		return;
	b = begin_beyond(routes, routes->hub);
	b.to = to;
	memset(b.marked, 0, routes->num_switches);
	for (uint32_t sw = 0; sw < routes->num_switches; sw++)
		if (sw != b.to && route_table(routes, sw)[first] == PM_LFT_KEEP)
			mark_path(&b, sw);
	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		uint8_t num_out = route_table(routes, sw)[b.hub_lid];

		if (!b.marked[sw] || route_table(routes, sw)[first] != PM_LFT_KEEP)
			continue;
		if (!routes->moved[sw])
			route_start_moving(routes, sw);
		for (uint32_t lid = first; lid < first + num; lid++)
			route_set(routes, sw, lid, num_out);
	}
}

/*
 * Whether a switch lacks a path to end ports other than aggregation nodes in the whole
 * tree, where links connect them. Paths lead both ways there.
 */
static bool is_apart(const struct pm_routes *routes, const uint32_t *part, uint32_t sw)
{
	const uint64_t *reached = pm_reach_updown(&routes->whole, sw);

	for (uint32_t w = 0; w < routes->whole.words; w++)
		for (uint64_t lost = routes->talking[w] & ~reached[w]; lost;
		     lost &= lost - 1) {
			uint32_t other = w * 64 + (uint32_t)__builtin_ctzll(lost);

			if (other != sw && part[other] == part[sw])
				return true;
		}
	return false;
}

/* Lists switches above the leaves with end ports, those with hosts first. */
static uint32_t list_upper(struct pm_routes *routes)
{
	uint32_t above = 0;

	for (int talking = 1; talking >= 0; talking--) {
		for (uint32_t sw = 0; sw < routes->num_switches; sw++)
			if (is_above(routes, sw) &&
			    pm_bits_test(routes->talking, sw) == talking)
				routes->upper[above++] = sw;
		if (talking)
			routes->num_talking = above;
	}
	return above;
}

/* Finds the switches whose paths may turn at a hub, and the hubs. */
static int find_hubs(struct pm_routes *routes, struct pm_error *err)
{
	uint32_t num = routes->plan->topology->num_nodes, above = list_upper(routes);
	struct pm_pool pool = {0};
	uint32_t *part = pm_pool_array(&pool, num, sizeof(*part));
	uint32_t *room = pm_pool_array(&pool, num, sizeof(*room));
	int rc = pm_pool_check(&pool, err);

	routes->whole_hub = routes->hub_index.hub = routes->hub = NO_HUB;
	if (rc)
		goto out;
	pm_reach_parts(routes->plan->topology, NULL, part, room);
	for (uint32_t sw = 0; sw < routes->num_switches; sw++) {
		routes->may_turn[sw] =
			pm_bits_test(routes->with_slots, sw) &&
			((pm_bits_test(routes->talking, sw) && is_above(routes, sw)) ||
			 is_apart(routes, part, sw));
		routes->num_may_turn += routes->may_turn[sw];
	}
	if (!routes->num_may_turn)
		goto out;
	rc = index_hubs(routes, routes->upper, above, err);
	if (!rc)
		find_whole_hub(routes, part);
	routes->hub_index.hub = routes->whole_hub;
out:
	pm_pool_free(&pool);
	return rc;
}

int route_index_beyond(struct pm_routes *routes, struct pm_error *err)
{
	uint32_t num = routes->num_switches, words = routes->whole.words;

	routes->upper = pm_pool_array(&routes->pool, num, sizeof(*routes->upper));
	routes->may_turn = pm_pool_array(&routes->pool, num, 1);
	routes->has_services = pm_pool_array(&routes->pool, num, 1);
	routes->marked = pm_pool_array(&routes->pool, num, 1);
	routes->hubs = pm_pool_array(&routes->pool, num, sizeof(*routes->hubs));
	routes->with_slots = pm_pool_array(&routes->pool, words, sizeof(uint64_t));
	routes->talking = pm_pool_array(&routes->pool, words, sizeof(uint64_t));
	routes->lacking = pm_pool_array(&routes->pool, words, sizeof(uint64_t));
	routes->senders = pm_pool_array(&routes->pool, words, sizeof(uint64_t));
	if (pm_pool_check(&routes->pool, err))
		return -ENOMEM;
	for (uint32_t i = 0; i < routes->plan->topology->num_ports; i++) {
		const struct pm_port *port = &routes->plan->topology->ports[i];

		if (!port->host || !routes->plan->lid[i])
			continue;
		pm_bits_set(routes->with_slots, port->node);
		if (port->host != PM_AGGREGATION)
			pm_bits_set(routes->talking, port->node);
		if (pm_host_is_service(port->host))
			routes->has_services[port->node] = 1;
	}
	return find_hubs(routes, err);
}
