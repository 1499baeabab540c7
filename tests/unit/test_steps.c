/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stale entries and steps (stale.h, steps.h), on random trees that are cabled anew
 * again and again, lose parts and plans, and have adopted tables: no LID's packets
 * loop, up to the highest entry, after each Set.
 */
#include "expect.h"
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/route/order.h>
#include <portmajor/route/steps.h>

#define DEFAULT_SEED 1
#define SEED_OF_HUBS 11269
#define DEFAULT_ROUNDS 3000
#define EVENTS 6     /* of each tree */
#define LONGEST 1024 /* entries of a table */

static uint64_t seed; /* of the round at hand */

/* The way in which a trial sends its blocks. */
enum manner {
	IN_STEPS,
	IN_ANY_ORDER, /* to see that the order matters */
	KEEPING_ALL,  /* to see that stale entries matter */
	REPAIRING,    /* failures alone, as early repair sends them; all else in steps */
};

struct trial {
	struct random random;
	struct recipe recipe;
	enum manner manner;
	bool is_failure;
	struct pm_fabric *now;
	struct pm_plan *plan;
	struct pm_routes *routes;
	uint32_t num;	      /* switches of the plan */
	uint8_t *real;	      /* [switch][LONGEST] the switches' tables */
	uint8_t *there;	      /* [switch] 1: OpenSM knows its table */
	uint8_t *up, *usable; /* [port] of the plan's */
	uint8_t *stayed;      /* [port] up, and up before: packets pass */
	uint8_t *recabled;
	struct pm_installed *installed; /* [switch] OpenSM's records: real, where known */
	struct pm_stale_input input;
	struct pm_stale stale;
	struct pm_steps steps;
};

/* The events of all trials. */
static struct {
	uint32_t events, sets, stale, ordered, twice, loops, loop_lids, adopted;
} met;

/* ---- Packets ---- */

static uint8_t real_entry(const struct trial *t, uint32_t sw, uint32_t lid)
{
	return t->real[(size_t)sw * LONGEST + lid];
}

/* Whether packets for a LID that leave this switch come back, over the links given. */
static bool comes_back(const struct trial *t, uint32_t sw, uint32_t lid,
		       const uint8_t *links)
{
	const struct pm_fabric *topology = t->plan->topology;
	uint32_t at = sw;

	for (uint32_t hops = 0; hops <= t->num; hops++) {
		const struct pm_node *n = &topology->nodes[at];
		uint8_t out = real_entry(t, at, lid);

		if (!out || out > n->num_ports || !links[n->first_port + out])
			return false;
		at = pm_fabric_peer_node(topology, n->first_port + out);
		if (at == PM_NONE)
			return false;
		if (at == sw)
			return true;
	}
	return false;
}

/* All LIDs, over all links. */
static uint32_t count_loops(const struct trial *t)
{
	uint32_t loops = 0;

	for (uint32_t lid = 1; lid < LONGEST; lid++)
		for (uint32_t sw = 0; sw < t->num; sw++)
			if (comes_back(t, sw, lid, t->up)) {
				loops++;
				break;
			}
	return loops;
}

/* ---- Sending ---- */

static bool all_are_known(const struct trial *t)
{
	for (uint32_t sw = 0; sw < t->num; sw++)
		if (!t->there[sw])
			return false;
	return true;
}

/*
 * A switch takes a block. Loops that begin now lead through it. A link that has just
 * come up passes no packet before the end of a sweep; this is needed only if a switch
 * has an unknown table.
 */
static void take_block(struct trial *t, uint32_t sw, uint32_t number,
		       const uint8_t *entries)
{
	const uint8_t *links = all_are_known(t) ? t->up : t->stayed;
	uint8_t *real = t->real + (size_t)sw * LONGEST + number * PM_LFT_BLOCK;
	bool looped[PM_LFT_BLOCK];

	for (uint32_t i = 0; i < PM_LFT_BLOCK; i++)
		looped[i] = comes_back(t, sw, number * PM_LFT_BLOCK + i, links);
	met.sets++;
	for (uint32_t i = 0; i < PM_LFT_BLOCK; i++) {
		uint32_t lid = number * PM_LFT_BLOCK + i;

		if (real[i] == entries[i])
			continue;
		real[i] = entries[i];
		if (looped[i] || !comes_back(t, sw, lid, links))
			continue;
		met.loops++;
		if (t->manner == IN_STEPS || t->manner == REPAIRING)
			fail_msg("PM_SEED=%llu PM_ROUNDS=1: LID %u loops over \"%s\"",
				 (unsigned long long)seed, lid,
				 pm_fabric_name(t->plan->topology, sw));
	}
}

static void send_steps(struct trial *t)
{
	uint32_t from = 0, end;

	for (uint32_t step = 0; step < t->steps.steps; step++, from = end) {
		for (end = from; end < t->steps.num && t->steps.sets[end].step == step;
		     end++)
			;
		/* Of a step in random order. */
		for (uint32_t i = end; i-- > from;) {
			uint32_t k = from + random_below(&t->random, i - from + 1);
			struct pm_steps_set set = t->steps.sets[k];

			t->steps.sets[k] = t->steps.sets[i];
			t->steps.sets[i] = set;
			take_block(t, set.sw, set.number, set.entries);
		}
	}
	EXPECT(from == t->steps.num);
}

/* The wanted table of a switch; an entry that OpenSM does not know is to be none. */
static void find_wanted(const struct trial *t, uint32_t sw, uint32_t number,
			uint8_t *entries)
{
	for (uint32_t i = 0; i < PM_LFT_BLOCK; i++)
		entries[i] = pm_stale_entry(&t->input, &t->stale, sw,
					    number * PM_LFT_BLOCK + i);
}

/* All remaining differences, in random order, as OpenSM might. */
static void send_rest(struct trial *t)
{
	uint32_t blocks = LONGEST / PM_LFT_BLOCK, all = t->num * blocks;
	uint32_t first = random_below(&t->random, all);
	uint8_t *goal = malloc((size_t)t->num * LONGEST);

	assert_non_null(goal);
	for (uint32_t i = 0; i < all; i++)
		find_wanted(t, i / blocks, i % blocks, goal + (size_t)i * PM_LFT_BLOCK);
	for (uint32_t i = 0; i < all; i++) {
		/* 7919 is prime, and larger than there are switches. */
		uint32_t k = (uint32_t)((first + (uint64_t)i * 7919) % all);

		if (memcmp(t->real + (size_t)k * PM_LFT_BLOCK,
			   goal + (size_t)k * PM_LFT_BLOCK, PM_LFT_BLOCK) != 0)
			take_block(t, k / blocks, k % blocks,
				   goal + (size_t)k * PM_LFT_BLOCK);
	}
	free(goal);
}

/* Whether a switch has a link to another one. */
static bool is_connected(const struct trial *t, uint32_t sw)
{
	pm_for_each_port(i, t->plan->topology, sw)
		if (t->up[i] && pm_fabric_peer_node(t->plan->topology, i) != PM_NONE)
			return true;
	return false;
}

/* The switch that an old or new entry leads to, or PM_NONE. */
static uint32_t next_by(const struct trial *t, uint32_t sw, uint32_t lid, bool is_new)
{
	const uint8_t *installed = t->installed[sw].table;

	if (is_new)
		return pm_stale_next(&t->input, sw,
				     pm_stale_entry(&t->input, &t->stale, sw, lid));
	return installed ? pm_stale_next(&t->input, sw, installed[lid]) : PM_NONE;
}

static bool is_changed(const struct trial *t, uint32_t sw, uint32_t lid)
{
	const uint8_t *installed = t->installed[sw].table;

	return installed && is_connected(t, sw) &&
	       installed[lid] != pm_stale_entry(&t->input, &t->stale, sw, lid);
}

/*
 * Whether old and new entries together lead from a changed one into a cycle: switches
 * without a next one go until none is left. An unknown entry may lead anywhere.
 */
static bool could_loop(const struct trial *t, uint32_t lid)
{
	bool *goes_on = malloc(t->num + 1u), again = false, found = false;

	assert_non_null(goes_on);
	for (uint32_t sw = 0; sw < t->num; sw++) {
		again |= is_changed(t, sw, lid);
		goes_on[sw] = true;
	}
	if (!again) {
		free(goes_on);
		return false;
	}
	while (again) {
		again = false;
		for (uint32_t sw = 0; sw < t->num; sw++) {
			uint32_t a = next_by(t, sw, lid, false);
			uint32_t b = next_by(t, sw, lid, true);

			if (!goes_on[sw] || (a != PM_NONE && goes_on[a]) ||
			    (b != PM_NONE && goes_on[b]))
				continue;
			goes_on[sw] = false;
			again = true;
		}
	}
	for (uint32_t sw = 0; sw < t->num; sw++)
		found |= is_changed(t, sw, lid) &&
			 (goes_on[sw] || t->installed[sw].table[lid] == 0);
	free(goes_on);
	return found;
}

/* Blocks with changed entries of LIDs that could loop, and which wait for which. */
struct waits {
	const bool *ordered;   /* [LID] could loop */
	uint32_t num, *number; /* [switch x blocks of a table] of a block here, from 1 */
	bool *waits;	       /* [block][block] directly or not */
};

static bool *wait(const struct waits *w, uint32_t block, uint32_t for_block)
{
	return &w->waits[(size_t)block * (w->num + 1) + for_block];
}

static uint32_t *number_of(const struct waits *w, uint32_t sw, uint32_t lid)
{
	return &w->number[sw * (LONGEST / PM_LFT_BLOCK) + lid / PM_LFT_BLOCK];
}

/* The first switch with a changed entry that a packet meets behind this one, or PM_NONE.
 */
static uint32_t next_changed(const struct trial *t, uint32_t sw, uint32_t lid)
{
	uint32_t hops = 0;

	do
		sw = next_by(t, sw, lid, true);
	while (sw != PM_NONE && !is_changed(t, sw, lid) && ++hops < t->num);
	return hops < t->num ? sw : PM_NONE;
}

static void find_waits(const struct trial *t, struct waits *w)
{
	for (uint32_t lid = 0; lid < LONGEST; lid++)
		for (uint32_t sw = 0; sw < t->num; sw++)
			if (w->ordered[lid] && is_changed(t, sw, lid) &&
			    !*number_of(w, sw, lid))
				*number_of(w, sw, lid) = ++w->num;
	w->waits = calloc((size_t)(w->num + 1) * (w->num + 1), sizeof(*w->waits));
	assert_non_null(w->waits);
	for (uint32_t lid = 0; lid < LONGEST; lid++)
		for (uint32_t sw = 0; sw < t->num; sw++) {
			uint32_t next = w->ordered[lid] && is_changed(t, sw, lid)
						? next_changed(t, sw, lid)
						: PM_NONE;

			if (next != PM_NONE)
				*wait(w, *number_of(w, sw, lid),
				      *number_of(w, next, lid)) = true;
		}
	for (uint32_t k = 1; k <= w->num; k++)
		for (uint32_t i = 1; i <= w->num; i++)
			for (uint32_t j = 1; j <= w->num && *wait(w, i, k); j++)
				*wait(w, i, j) |= *wait(w, k, j);
}

/* Whether a block waits for some that wait for each other, and is waited for by such. */
static bool is_between(const struct waits *w, uint32_t block)
{
	bool behind = false, before = false;

	for (uint32_t i = 1; i <= w->num; i++) {
		behind |= *wait(w, i, i) && *wait(w, block, i);
		before |= *wait(w, i, i) && *wait(w, i, block);
	}
	return behind && before;
}

/* Whether a block changes when the entries that need an order drop. */
static bool drops_some(const struct trial *t, const bool *ordered, uint32_t sw,
		       uint32_t number)
{
	for (uint32_t i = 0; i < PM_LFT_BLOCK; i++) {
		uint32_t lid = number * PM_LFT_BLOCK + i;

		if (is_changed(t, sw, lid) &&
		    (!ordered[lid] || t->installed[sw].table[lid] != PM_LFT_KEEP))
			return true;
	}
	return false;
}

/*
 * No block is sent twice except one that waits for itself, or is between such blocks.
 */
static uint32_t count_twice(const struct trial *t, const bool *ordered)
{
	uint32_t blocks = LONGEST / PM_LFT_BLOCK, count = 0;
	struct waits w = {
		.ordered = ordered,
		.number = calloc((size_t)t->num * blocks + 1, sizeof(*w.number)),
	};

	assert_non_null(w.number);
	find_waits(t, &w);
	for (uint32_t i = 0; i < t->num * blocks; i++)
		count += w.number[i] && is_between(&w, w.number[i]) &&
			 drops_some(t, ordered, i / blocks, i % blocks);
	free(w.number);
	free(w.waits);
	return count;
}

/* No block waits for a switch that is cut off: it may never answer. */
static void make_steps(struct trial *t)
{
	bool ordered[LONGEST];
	uint32_t lids = 0;

	EXPECT(pm_steps_make(&t->input, &t->stale, &t->steps) == 0);
	for (uint32_t lid = 0; lid < LONGEST; lid++)
		lids += ordered[lid] = could_loop(t, lid);
	EXPECT(t->steps.lids == lids);
	if (lids)
		EXPECT(t->steps.twice == count_twice(t, ordered));
	for (uint32_t i = 0; i < t->steps.num; i++)
		EXPECT(is_connected(t, t->steps.sets[i].sw));
}

/* ---- A repair ---- */

/*
 * A failure as early repair sends it, with everything kept: order.h alone, except that
 * where paths may turn up at a hub blocks that could loop go before.
 */
static void send_repair(struct trial *t)
{
	uint32_t blocks = pm_routes_stride(t->routes) / PM_LFT_BLOCK, num = 0;
	struct pm_order_block *list = calloc(t->num * blocks + 1u, sizeof(*list));
	struct pm_order_waits waits;

	assert_non_null(list);
	if (pm_routes_may_turn(t->routes)) {
		make_steps(t);
		send_steps(t);
		pm_steps_free(&t->steps);
	}
	for (uint32_t i = 0; i < t->num * blocks; i++)
		num += pm_order_compare(t->routes, i / blocks, i % blocks,
					t->real + (size_t)(i / blocks) * LONGEST +
						(size_t)(i % blocks) * PM_LFT_BLOCK,
					&list[num]);
	EXPECT(pm_order_sort(t->routes, t->usable, list, num, &waits) == 0);
	for (uint32_t i = 0; i < num; i++) {
		uint8_t entries[PM_LFT_BLOCK];

		find_wanted(t, list[i].sw, list[i].number, entries);
		take_block(t, list[i].sw, list[i].number, entries);
	}
	pm_order_free(&waits);
	free(list);
}

/* ---- A sweep ---- */

/* Kept entries lead where they led, or to a link that is down; all others are wanted. */
static void check_kept(const struct trial *t)
{
	const struct pm_fabric *topology = t->plan->topology;

	for (uint32_t sw = 0; sw < t->num; sw++)
		for (uint32_t lid = 0; lid < LONGEST; lid++) {
			uint32_t first = topology->nodes[sw].first_port;
			uint8_t entry = real_entry(t, sw, lid), wanted = PM_LFT_KEEP;

			if (lid < pm_routes_stride(t->routes))
				wanted = pm_routes_table(t->routes, sw)[lid];
			EXPECT(wanted == PM_LFT_KEEP || entry == wanted);
			EXPECT(wanted != PM_LFT_KEEP || entry == PM_LFT_KEEP ||
			       !t->recabled[first + entry]);
		}
}

static bool has_end_ports(const struct trial *t, uint32_t sw)
{
	pm_for_each_port(i, t->plan->topology, sw)
		if (t->plan->topology->ports[i].host != PM_NO_HOST)
			return true;
	return false;
}

/*
 * Where paths may turn up (hosts above leaves), packets of a switch with end ports for
 * a LID without a path end at no other one with end ports: they would have come by an
 * old detour.
 */
static void check_dropped(const struct trial *t)
{
	for (uint32_t sw = 0; sw < t->num; sw++)
		for (uint32_t lid = 0; lid < pm_routes_stride(t->routes); lid++) {
			uint32_t at = sw;

			if (!has_end_ports(t, sw) ||
			    pm_routes_table(t->routes, sw)[lid] != PM_LFT_KEEP)
				continue;
			while (at != PM_NONE &&
			       pm_routes_table(t->routes, at)[lid] == PM_LFT_KEEP)
				at = pm_stale_next(&t->input, at, real_entry(t, at, lid));
			EXPECT(at == PM_NONE);
		}
}

static void exclude_some(struct trial *t)
{
	const struct pm_fabric *topology = t->plan->topology;

	for (uint32_t i = 0; i < topology->num_ports; i++)
		if (topology->ports[i].peer != PM_NONE && random_chance(&t->random, 2))
			t->usable[i] = t->usable[topology->ports[i].peer] = 0;
}

static void find_records(struct trial *t)
{
	for (uint32_t sw = 0; sw < t->num; sw++)
		t->installed[sw] =
			t->there[sw]
				? (struct pm_installed){t->real + (size_t)sw * LONGEST,
							LONGEST}
				: (struct pm_installed){NULL, 0};
}

static void sweep(struct trial *t)
{
	struct pm_detours detours = {.sm = PM_NONE};
	uint8_t *records = malloc((size_t)t->num * LONGEST);

	assert_non_null(records);
	EXPECT(pm_plan_match(t->plan, t->now, t->up));
	memcpy(t->usable, t->up, t->plan->topology->num_ports);
	for (uint32_t i = 0; i < t->plan->topology->num_ports; i++)
		t->stayed[i] &= t->up[i];
	/*
	 * Held or drained links may come into use after failures: then it is no failure
	 * alone.
	 */
	if (t->manner != REPAIRING && random_chance(&t->random, 30))
		exclude_some(t);
	pm_routes_update(t->routes, t->usable, &detours);
	find_records(t);
	if (t->manner != REPAIRING && random_chance(&t->random, 40) &&
	    pm_routes_adopt(t->routes, t->installed, random_chance(&t->random, 50))) {
		met.adopted++;
		pm_routes_update(t->routes, t->usable, &detours);
	}
	if (t->manner == REPAIRING && t->is_failure) {
		memcpy(records, t->real, (size_t)t->num * LONGEST);
		for (uint32_t sw = 0; sw < t->num; sw++)
			if (t->installed[sw].table)
				t->installed[sw].table = records + (size_t)sw * LONGEST;
		send_repair(t);
		EXPECT(count_loops(t) == 0);
		free(records);
		return;
	}
	if (t->manner != KEEPING_ALL) {
		EXPECT(pm_stale_find(&t->input, &t->stale) == 0);
		make_steps(t);
	}
	/* The wanted tables follow from those installed then. */
	memcpy(records, t->real, (size_t)t->num * LONGEST);
	for (uint32_t sw = 0; sw < t->num; sw++)
		if (t->installed[sw].table)
			t->installed[sw].table = records + (size_t)sw * LONGEST;
	met.stale += t->stale.num;
	met.ordered += t->steps.num;
	met.twice += t->steps.twice;
	met.events++;
	if (t->manner == IN_STEPS || t->manner == REPAIRING)
		send_steps(t);
	send_rest(t);
	free(records);
	if (t->manner != KEEPING_ALL)
		check_kept(t);
	met.loop_lids += count_loops(t);
	if (t->manner != KEEPING_ALL)
		EXPECT(count_loops(t) == 0);
	if (t->manner != KEEPING_ALL && pm_routes_may_turn(t->routes))
		check_dropped(t);
	pm_stale_free(&t->stale);
	pm_steps_free(&t->steps);
}

/* ---- Events ---- */

static uint32_t draw_switch(struct trial *t)
{
	uint32_t i;

	do
		i = random_below(&t->random, t->recipe.num_nodes);
	while (t->recipe.nodes[i].type != PM_SWITCH);
	return i;
}

/* One end of a cable, of a host perhaps, goes to a free port of another switch. */
static void move_link(struct trial *t)
{
	struct recipe_link *c =
		&t->recipe.links[random_below(&t->random, t->recipe.num_links)];
	uint32_t sw = draw_switch(t), end = random_below(&t->random, 2);
	unsigned int port = recipe_free_port(&t->recipe, sw);

	if (!port || c->node[!end] == sw)
		return;
	/* A host's end may be the one that moves: its port becomes an uplink. */
	c->node[end] = sw;
	c->port[end] = port;
	c->away = false;
}

static void fail_or_return(struct trial *t)
{
	for (uint32_t i = 0; i < t->recipe.num_links; i++)
		if (random_chance(&t->random, t->recipe.links[i].away ? 40 : 6))
			t->recipe.links[i].away = !t->recipe.links[i].away;
	for (uint32_t i = 0; i < t->recipe.num_nodes; i++)
		if (random_chance(&t->random, t->recipe.nodes[i].away ? 40 : 3))
			t->recipe.nodes[i].away = !t->recipe.nodes[i].away;
}

static void fail_some(struct trial *t)
{
	bool back = random_chance(&t->random, 20);

	t->is_failure = !back;
	for (uint32_t i = 0; i < t->recipe.num_links; i++)
		if (back || random_chance(&t->random, 5))
			t->recipe.links[i].away = !back;
}

static void change_some(struct trial *t)
{
	uint32_t moves = random_below(&t->random, 4);

	fail_or_return(t);
	for (uint32_t i = 0; i < moves; i++)
		move_link(t);
}

/* Arrays by the plan's switches and ports; the switches' tables are carried over. */
static void take_plan(struct trial *t, struct pm_plan *plan)
{
	const struct pm_plan *old = t->plan;
	uint32_t num = plan->topology->num_switches, ports = plan->topology->num_ports;
	uint8_t *real = malloc((size_t)num * LONGEST + 1), *there = calloc(num + 1u, 1);
	uint8_t *stayed = calloc(ports, 1), *recabled = calloc(ports, 1);

	assert_true(real && there && stayed && recabled);
	memset(real, PM_LFT_KEEP, (size_t)num * LONGEST);
	for (uint32_t sw = 0; old && sw < num; sw++) {
		uint32_t was = pm_fabric_find_guid(old->topology,
						   plan->topology->nodes[sw].guid);

		if (was == PM_NONE)
			continue;
		memcpy(real + (size_t)sw * LONGEST, t->real + (size_t)was * LONGEST,
		       LONGEST);
		there[sw] = t->there[was];
	}
	if (old)
		pm_stale_mark_recabled(old, plan, recabled);
	for (uint32_t i = 0; old && i < ports; i++) {
		uint32_t was = pm_fabric_same_port(plan->topology, i, old->topology);

		stayed[i] = was != PM_NONE && t->up[was] && !recabled[i];
	}
	free(t->real);
	free(t->there);
	free(t->stayed);
	free(t->recabled);
	free(t->up);
	free(t->usable);
	free(t->installed);
	pm_routes_free(t->routes);
	pm_plan_free(t->plan);
	*t = (struct trial){
		.random = t->random,
		.recipe = t->recipe,
		.manner = t->manner,
		.is_failure = t->is_failure,
		.now = t->now,
		.plan = plan,
		.num = num,
		.real = real,
		.there = there,
		.stayed = stayed,
		.recabled = recabled,
		.up = calloc(ports, 1),
		.usable = calloc(ports, 1),
		.installed = calloc(num + 1u, sizeof(*t->installed)),
	};
	assert_true(t->up && t->usable && t->installed);
	EXPECT(pm_routes_make(plan, &t->routes, NULL) == 0);
	t->input = (struct pm_stale_input){.routes = t->routes,
					   .installed = t->installed,
					   .up = t->up,
					   .recabled = t->recabled};
}

/* The plan as it grows, or, now and then, made anew: all LIDs are others then. */
static int plan_anew(struct trial *t, struct pm_plan **plan)
{
	if (t->manner != REPAIRING && random_chance(&t->random, 15))
		return pm_plan_remake(t->plan, t->now, plan, NULL);
	return pm_plan_grow(t->plan, t->now, plan, NULL);
}

/* OpenSM forgets switches that it does not find; their tables stay. */
static void note_there(struct trial *t)
{
	for (uint32_t sw = 0; sw < t->num; sw++)
		t->there[sw] =
			pm_fabric_find_guid(t->now, t->plan->topology->nodes[sw].guid) !=
			PM_NONE;
}

static bool try_event(struct trial *t)
{
	struct pm_plan *plan = NULL;

	if (t->manner == REPAIRING)
		fail_some(t);
	else
		change_some(t);
	pm_fabric_free(t->now);
	t->now = recipe_build(&t->recipe, NULL);
	if (plan_anew(t, &plan))
		return false;
	if (plan && plan->top_lid >= LONGEST) {
		pm_plan_free(plan);
		return false;
	}
	memcpy(t->stayed, t->up, t->plan->topology->num_ports);
	memset(t->recabled, 0, t->plan->topology->num_ports);
	if (plan)
		take_plan(t, plan);
	sweep(t);
	note_there(t);
	return true;
}

static bool begin(struct trial *t, enum manner manner)
{
	const struct recipe_limits limits = {.switches = 40, .hosts = 60};
	const struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan *plan = NULL;

	*t = (struct trial){.random = {seed}, .manner = manner};
	if (random_chance(&t->random, 60))
		recipe_random(&t->recipe, &t->random, &limits);
	else
		recipe_add_meshed(&t->recipe,
				  &(struct recipe_meshed){
					  .pods = random_range(&t->random, 2, 3),
					  .leaves = random_range(&t->random, 1, 4),
					  .middles = random_range(&t->random, 2, 4),
					  .tops = random_range(&t->random, 1, 3),
					  .hosts = random_range(&t->random, 1, 2),
				  });
	for (uint32_t i = 0; i < t->recipe.num_nodes; i++)
		if (t->recipe.nodes[i].type == PM_SWITCH)
			t->recipe.nodes[i].num_ports += 3;
	t->now = recipe_build(&t->recipe, NULL);
	if (pm_plan_make(t->now, &config, &plan, NULL))
		return false;
	if (plan->top_lid >= LONGEST) {
		pm_plan_free(plan);
		return false;
	}
	take_plan(t, plan);
	sweep(t);
	note_there(t);
	return true;
}

static void end(struct trial *t)
{
	pm_routes_free(t->routes);
	pm_plan_free(t->plan);
	pm_fabric_free(t->now);
	recipe_free(&t->recipe);
	free(t->real);
	free(t->there);
	free(t->up);
	free(t->usable);
	free(t->stayed);
	free(t->recabled);
	free(t->installed);
}

static void try_many(enum manner manner, uint64_t start, uint64_t usual)
{
	uint64_t first = from_environment("PM_SEED", start);
	uint64_t num = from_environment("PM_ROUNDS", usual);

	memset(&met, 0, sizeof(met));
	print_message("PM_SEED=%llu PM_ROUNDS=%llu\n", (unsigned long long)first,
		      (unsigned long long)num);
	for (seed = first; seed < first + num; seed++) {
		struct trial t;

		if (begin(&t, manner))
			for (int i = 0; i < EVENTS && try_event(&t); i++)
				;
		end(&t);
	}
	print_message("%u events, %u Sets, %u in steps, %u blocks twice, %u stale "
		      "entries, %u loops on the way, %u LIDs after it\n",
		      met.events, met.sets, met.ordered, met.twice, met.stale, met.loops,
		      met.loop_lids);
	if (num < DEFAULT_ROUNDS / 10) /* few trees may have none of it */
		met.loops = met.loop_lids = met.stale = met.ordered = met.twice =
			met.adopted = 1;
}

static void test_steps(void **state)
{
	try_many(IN_STEPS, DEFAULT_SEED, DEFAULT_ROUNDS);
	assert_true(met.stale && met.ordered && met.twice && met.adopted);
}

/* In any order packets would loop on the way: so the test above can fail. */
static void test_any_order(void **state)
{
	try_many(IN_ANY_ORDER, DEFAULT_SEED, DEFAULT_ROUNDS / 10);
	assert_true(met.loops > 0);
}

/* With all entries kept, they would loop for good. */
static void test_keeping_all(void **state)
{
	try_many(KEEPING_ALL, DEFAULT_SEED, DEFAULT_ROUNDS / 10);
	assert_true(met.loop_lids > 0);
}

/* Where no cable was moved and none comes into use, order.h is enough. */
static void test_repair(void **state)
{
	try_many(REPAIRING, DEFAULT_SEED, DEFAULT_ROUNDS / 3);
	assert_true(met.sets > 0);
}

/* The hub moves, and a LID would loop by order.h alone. */
static void test_repair_over_hubs(void **state)
{
	try_many(REPAIRING, SEED_OF_HUBS, 1);
	assert_true(met.sets > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_keeping_all),
		cmocka_unit_test(test_repair),
		cmocka_unit_test(test_repair_over_hubs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
