/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Dead paths, counted while blocks change, against following each of them; and the
 * order in which blocks are sent, against its promises. PM_SEED and PM_ROUNDS are as in
 * test_properties.c.
 */
#include "world.h"
#include "unit.h"

#include <portmajor/base/alloc.h>
#include <portmajor/lab/cutoff.h>
#include <portmajor/route/order.h>

/* ---- A failure ---- */

struct scene {
	struct world world;
	struct recipe recipe;
	struct random random;
	uint8_t *before, *usable;	     /* [port] */
	uint8_t *counted;		     /* [port] end ports there count */
	uint8_t *first, *installed, *wanted; /* [switch][stride] */
	struct pm_cutoff_lid *lids;	     /* of hosts */
	uint32_t num_lids;
	struct pm_order_block *blocks; /* that differ */
	uint32_t num_blocks;
	uint64_t *used;	 /* see pm_order_find_used */
	bool hosts_only; /* for_paths: without aggregation nodes */
};

static void fail_some(struct scene *s, uint8_t *usable)
{
	const struct pm_fabric *topology = s->world.plan->topology;
	bool whole_switch = random_chance(&s->random, 25);

	for (uint32_t i = 1 + random_below(&s->random, 6); i; i--) {
		uint32_t port = random_below(&s->random, topology->num_ports);
		uint32_t sw = topology->ports[port].node;

		pm_for_each_port(p, topology, sw) {
			if (p != port && !whole_switch)
				continue;
			usable[p] = 0;
			if (topology->ports[p].peer != PM_NONE)
				usable[topology->ports[p].peer] = 0;
		}
	}
}

static void list_lids(struct scene *s)
{
	const struct pm_plan *plan = s->world.plan;

	s->lids = calloc(PM_MAX_LID + 1, sizeof(*s->lids));
	assert_non_null(s->lids);
	for (uint32_t lid = 1; lid <= plan->top_lid; lid++)
		if (plan->owner[lid] != PM_NONE &&
		    plan->topology->ports[plan->owner[lid]].num)
			s->lids[s->num_lids++] =
				(struct pm_cutoff_lid){(uint16_t)lid, plan->owner[lid]};
}

static void list_blocks(struct scene *s)
{
	const struct world *w = &s->world;

	s->blocks = calloc((size_t)w->num_switches * w->stride / PM_LFT_BLOCK,
			   sizeof(*s->blocks));
	assert_non_null(s->blocks);
	for (uint32_t sw = 0; sw < w->num_switches; sw++)
		for (uint32_t b = 0; b < w->stride / PM_LFT_BLOCK; b++) {
			size_t at = (size_t)sw * w->stride + (size_t)b * PM_LFT_BLOCK;

			s->num_blocks +=
				pm_order_compare(w->routes, sw, b, s->installed + at,
						 &s->blocks[s->num_blocks]);
		}
}

static bool scene_begin(struct scene *s, uint64_t seed)
{
	const struct pm_fabric *topology;

	*s = (struct scene){.random = {seed}};
	if (!world_make_random(&s->world, &s->random, &s->recipe)) {
		recipe_free(&s->recipe);
		return false;
	}
	topology = s->world.plan->topology;
	s->before = calloc(topology->num_ports, 1);
	s->usable = calloc(topology->num_ports, 1);
	assert_true(s->before && s->usable);
	assert_true(pm_plan_match(s->world.plan, s->world.fabric, s->before));
	if (random_chance(&s->random, 50))
		fail_some(s, s->before);
	memcpy(s->usable, s->before, topology->num_ports);
	fail_some(s, s->usable);
	s->counted = pm_copy(s->usable, topology->num_ports, 1);
	assert_non_null(s->counted);
	pm_routes_update(s->world.routes, s->before, NULL);
	s->used = calloc((size_t)s->world.num_switches * s->world.stride / PM_LFT_BLOCK,
			 sizeof(*s->used));
	assert_non_null(s->used);
	pm_order_find_used(s->world.routes, s->used);
	s->first = world_tables(s->world.routes, s->world.num_switches);
	s->installed = world_tables(s->world.routes, s->world.num_switches);
	pm_routes_update(s->world.routes, s->usable, NULL);
	s->wanted = world_tables(s->world.routes, s->world.num_switches);
	for (uint32_t sw = 0; sw < s->world.num_switches; sw++)
		pm_delta_apply(s->wanted + (size_t)sw * s->world.stride,
			       s->installed + (size_t)sw * s->world.stride,
			       pm_routes_table(s->world.routes, sw), s->world.stride);
	list_lids(s);
	list_blocks(s);
	return true;
}

static void scene_end(struct scene *s)
{
	free(s->before);
	free(s->usable);
	free(s->counted);
	free(s->first);
	free(s->installed);
	free(s->wanted);
	free(s->lids);
	free(s->blocks);
	free(s->used);
	world_free(&s->world);
	recipe_free(&s->recipe);
}

/* The fate of a packet. */
enum end { ARRIVES, DIES, TURNS, LOOPS };

/* Follows it; calls via, if given, for every switch on the path. */
static enum end follow(const struct scene *s, const uint8_t *tables, uint32_t sw,
		       const struct pm_cutoff_lid *to, uint8_t *via)
{
	const struct pm_fabric *topology = s->world.plan->topology;
	bool down = false, turned = false;

	for (unsigned int hops = 0; hops <= s->world.num_switches; hops++) {
		uint8_t out = tables[(size_t)sw * s->world.stride + to->lid];
		uint32_t port = topology->nodes[sw].first_port + out;

		if (via)
			via[sw] = 1;
		if (!out || out > topology->nodes[sw].num_ports || !s->usable[port])
			return DIES;
		if (port == to->port)
			return turned ? TURNS : ARRIVES;
		if (topology->ports[port].peer == PM_NONE)
			return DIES;
		if (down && s->world.plan->tree.direction[port] == PM_UP)
			turned = true;
		down = s->world.plan->tree.direction[port] == PM_DOWN;
		sw = pm_fabric_peer_node(topology, port);
	}
	return LOOPS;
}

static bool counts(const struct scene *s, uint32_t port)
{
	return s->counted[port] &&
	       (!s->hosts_only ||
		s->world.plan->topology->ports[port].host != PM_AGGREGATION);
}

/* Calls for every path from an end port that is usable to one that counts. */
static uint64_t for_paths(struct scene *s, const uint8_t *tables,
			  uint64_t (*count)(struct scene *s, const uint8_t *tables,
					    uint32_t sw, const struct pm_cutoff_lid *to))
{
	const struct pm_fabric *topology = s->world.plan->topology;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->num_lids; i++) {
		if (!counts(s, s->lids[i].port))
			continue;
		for (uint32_t from = 0; from < topology->num_ports; from++)
			if (topology->ports[from].num &&
			    topology->ports[from].peer == PM_NONE && counts(s, from) &&
			    s->usable[from] && from != s->lids[i].port)
				sum += count(s, tables, topology->ports[from].node,
					     &s->lids[i]);
	}
	return sum;
}

static uint64_t is_path(struct scene *s, const uint8_t *tables, uint32_t sw,
			const struct pm_cutoff_lid *to)
{
	return 1;
}

static uint64_t is_dead(struct scene *s, const uint8_t *tables, uint32_t sw,
			const struct pm_cutoff_lid *to)
{
	enum end end = follow(s, tables, sw, to, NULL);

	return end == DIES || end == LOOPS;
}

static uint64_t is_looping(struct scene *s, const uint8_t *tables, uint32_t sw,
			   const struct pm_cutoff_lid *to)
{
	return follow(s, tables, sw, to, NULL) == LOOPS;
}

/* Down and then up, or in a loop. */
static bool turns(const struct scene *s, const uint8_t *tables, uint32_t sw,
		  const struct pm_cutoff_lid *to)
{
	enum end end = follow(s, tables, sw, to, NULL);

	return end == TURNS || end == LOOPS;
}

/*
 * That, and neither as before nor as planned: where no path goes up and then down, old
 * entries stay, and may join others.
 */
static uint64_t is_unsound(struct scene *s, const uint8_t *tables, uint32_t sw,
			   const struct pm_cutoff_lid *to)
{
	return turns(s, tables, sw, to) && !turns(s, s->first, sw, to) &&
	       !turns(s, s->wanted, sw, to);
}

/* ---- Counting ---- */

static uint8_t *entries_of(const struct scene *s, uint8_t *tables, uint32_t sw,
			   uint32_t number)
{
	return tables + (size_t)sw * s->world.stride + (size_t)number * PM_LFT_BLOCK;
}

/* Blocks as planned, as before, and with ports that lead anywhere. */
static void change_block(struct scene *s, uint8_t *entries, uint32_t sw, uint32_t number)
{
	const uint8_t *wanted = entries_of(s, s->wanted, sw, number);

	memcpy(entries, wanted, PM_LFT_BLOCK);
	for (uint32_t i = random_below(&s->random, 3) * 8; i; i--)
		entries[random_below(&s->random, PM_LFT_BLOCK)] =
			(uint8_t)random_below(&s->random, 12);
}

/* Some failed links will return: end ports there count. */
static void count_more(struct scene *s)
{
	for (uint32_t i = 0; i < s->world.plan->topology->num_ports; i++)
		if (s->before[i] && random_chance(&s->random, 70))
			s->counted[i] = 1;
}

/* They return. */
static void bring_back(struct scene *s)
{
	const struct pm_fabric *topology = s->world.plan->topology;

	for (uint32_t i = 0; i < topology->num_ports; i++) {
		uint32_t peer = topology->ports[i].peer;

		if (s->counted[i] && !s->usable[i])
			s->usable[i] = 1;
		if (s->usable[i] && peer != PM_NONE)
			s->usable[peer] = s->counted[peer] = 1;
	}
}

/* Paths from absent end ports that count: all are dead. */
static uint64_t count_away(const struct scene *s)
{
	const struct pm_fabric *topology = s->world.plan->topology;
	uint64_t sum = 0;

	for (uint32_t from = 0; from < topology->num_ports; from++)
		for (uint32_t i = 0; i < s->num_lids; i++)
			sum += topology->ports[from].num &&
			       topology->ports[from].peer == PM_NONE &&
			       s->counted[from] && !s->usable[from] &&
			       s->counted[s->lids[i].port] && from != s->lids[i].port;
	return sum;
}

static uint64_t loops_found, away_found;

static void check_counts(struct scene *s, uint64_t seed)
{
	struct world *w = &s->world;
	struct pm_cutoff *cutoff;

	for (uint32_t i = random_below(&s->random, 4); i; i--) {
		uint32_t sw = random_below(&s->random, w->num_switches);
		uint32_t number = random_below(&s->random, w->stride / PM_LFT_BLOCK);

		change_block(s, entries_of(s, s->installed, sw, number), sw, number);
	}
	cutoff = pm_cutoff_new(w->plan->topology, s->before, s->installed, w->stride,
			       s->lids, s->num_lids);
	pm_cutoff_links(cutoff, s->usable, s->usable);
	for (uint32_t i = 0; i < 18; i++) {
		uint32_t sw = random_below(&s->random, w->num_switches);
		uint32_t number = random_below(&s->random, w->stride / PM_LFT_BLOCK);
		uint64_t away = count_away(s);
		uint64_t dead = for_paths(s, s->installed, is_dead) + away;
		uint64_t looping = for_paths(s, s->installed, is_looping);
		uint8_t entries[PM_LFT_BLOCK];

		assert_int_equal(pm_cutoff_paths(cutoff),
				 for_paths(s, s->installed, is_path) + away);
		if (pm_cutoff_dead(cutoff) != dead ||
		    pm_cutoff_looping(cutoff) != looping)
			fail_msg("PM_SEED=%llu PM_ROUNDS=1: %llu dead, not %llu; %llu of "
				 "them in loops, not %llu",
				 (unsigned long long)seed,
				 (unsigned long long)pm_cutoff_dead(cutoff),
				 (unsigned long long)dead,
				 (unsigned long long)pm_cutoff_looping(cutoff),
				 (unsigned long long)looping);
		loops_found += looping != 0;
		away_found += away != 0;
		change_block(s, entries, sw, number);
		memcpy(entries_of(s, s->installed, sw, number), entries, PM_LFT_BLOCK);
		pm_cutoff_set(cutoff, sw, number, entries);
		if (i == 6)
			count_more(s);
		if (i == 12)
			bring_back(s);
		if (i % 6 == 0)
			pm_cutoff_links(cutoff, s->usable, s->counted);
	}
	pm_cutoff_free(cutoff);
}

/* ---- Against check ---- */

/* One host of each switch with usable ones; its paths are those between switches. */
static uint32_t choose_hosts(const struct scene *s, struct pm_cutoff_lid *chosen)
{
	const struct pm_fabric *topology = s->world.plan->topology;
	uint32_t num = 0, last = PM_NONE;

	for (uint32_t port = 0; port < topology->num_ports; port++) {
		bool host = topology->ports[port].num &&
			    topology->ports[port].peer == PM_NONE;

		if (!host || !s->usable[port] || topology->ports[port].node == last)
			continue;
		last = topology->ports[port].node;
		chosen[num++] = (struct pm_cutoff_lid){s->world.plan->lid[port], port};
	}
	return num;
}

/* The fabric with those hosts and what is usable; or without cables between switches. */
static struct pm_fabric *cut_fabric(const struct scene *s,
				    const struct pm_cutoff_lid *chosen, uint32_t num,
				    bool unreachable)
{
	const struct pm_fabric *topology = s->world.plan->topology;
	struct pm_fabric *now = pm_fabric_clone(s->world.fabric);

	assert_non_null(now);
	for (uint32_t port = 0; port < now->num_ports; port++)
		now->ports[port].lid = 0;
	for (uint32_t port = 0, i = 0; port < topology->num_ports; port++) {
		bool is_chosen = i < num && chosen[i].port == port;

		if (is_chosen) {
			uint32_t host = now->ports[port].peer;

			now->ports[host].lid = chosen[i++].lid;
			now->ports[host].lmc = 0;
		} else if (topology->ports[port].peer == PM_NONE || unreachable ||
			   !s->usable[port]) {
			pm_fabric_cut(now, port);
		}
	}
	return now;
}

static struct pm_check_paths check_tables(const struct scene *s,
					  const struct pm_fabric *now)
{
	uint32_t num = s->world.num_switches;
	const uint8_t **table = calloc(num, sizeof(*table));
	uint16_t *top = calloc(num, sizeof(*top));
	const struct pm_check check = {.fabric = now,
				       .level = s->world.plan->tree.level,
				       .table = table,
				       .top = top,
				       .sm = PM_NONE};
	struct pm_check_paths found;

	assert_true(table && top);
	for (uint32_t sw = 0; sw < num; sw++) {
		table[sw] = s->installed + (size_t)sw * s->world.stride;
		top[sw] = (uint16_t)(s->world.stride - 1);
	}
	assert_int_equal(pm_check_paths(&check, false, &found, NULL), 0);
	free(table);
	free(top);
	return found;
}

/* Paths between chosen hosts that no cables join. */
static uint64_t count_parted(const struct scene *s, const struct pm_cutoff_lid *chosen,
			     uint32_t num)
{
	const struct pm_fabric *topology = s->world.plan->topology;
	uint32_t *part = calloc(topology->num_nodes, sizeof(*part));
	uint32_t *queue = calloc(topology->num_nodes, sizeof(*queue));
	uint64_t parted = 0;

	assert_true(part && queue);
	pm_reach_parts(topology, s->usable, part, queue);
	for (uint32_t i = 0; i < num; i++)
		for (uint32_t k = 0; k < num; k++)
			parted += part[topology->ports[chosen[i].port].node] !=
				  part[topology->ports[chosen[k].port].node];
	free(part);
	free(queue);
	return parted;
}

/* check counts paths from switches to LIDs, so that each has a path to its own. */
static uint64_t count_by_check(const struct scene *s, const struct pm_cutoff_lid *chosen,
			       uint32_t num)
{
	struct pm_fabric *now = cut_fabric(s, chosen, num, false);
	struct pm_fabric *unreachable = cut_fabric(s, chosen, num, true);
	struct pm_check_paths all = check_tables(s, now),
			      own = check_tables(s, unreachable);
	uint64_t usable = all.delivered + all.cut - all.unreachable -
			  count_parted(s, chosen, num) - own.delivered;

	pm_fabric_free(now);
	pm_fabric_free(unreachable);
	return (uint64_t)num * (num ? num - 1 : 0) - usable;
}

static void check_by_check(struct scene *s, uint64_t seed)
{
	struct world *w = &s->world;
	struct pm_cutoff_lid *chosen = calloc(w->num_switches, sizeof(*chosen));
	struct pm_cutoff *cutoff;
	uint32_t num;

	assert_non_null(chosen);
	num = choose_hosts(s, chosen);
	cutoff = pm_cutoff_new(w->plan->topology, s->before, s->installed, w->stride,
			       chosen, num);
	pm_cutoff_links(cutoff, s->usable, s->usable);
	for (uint32_t i = 0; i < s->num_blocks + 4; i++) {
		bool wanted = i < s->num_blocks; /* else anything */
		uint32_t sw = wanted ? s->blocks[i].sw
				     : random_below(&s->random, w->num_switches);
		uint32_t number =
			wanted ? s->blocks[i].number
			       : random_below(&s->random, w->stride / PM_LFT_BLOCK);
		uint64_t dead = count_by_check(s, chosen, num);
		uint8_t entries[PM_LFT_BLOCK];

		if (pm_cutoff_dead(cutoff) != dead)
			fail_msg(
				"PM_SEED=%llu PM_ROUNDS=1: %llu dead, not %llu as check says",
				(unsigned long long)seed,
				(unsigned long long)pm_cutoff_dead(cutoff),
				(unsigned long long)dead);
		if (wanted)
			memcpy(entries, entries_of(s, s->wanted, sw, number),
			       PM_LFT_BLOCK);
		else
			change_block(s, entries, sw, number);
		memcpy(entries_of(s, s->installed, sw, number), entries, PM_LFT_BLOCK);
		pm_cutoff_set(cutoff, sw, number, entries);
	}
	pm_cutoff_free(cutoff);
	free(chosen);
}

/* ---- The order ---- */

/* Paths over the entries of each block that differ and are not sound. */
static uint64_t *over; /* [block] */

static uint64_t count_over(struct scene *s, const uint8_t *tables, uint32_t sw,
			   const struct pm_cutoff_lid *to)
{
	uint8_t *via = calloc(s->world.num_switches, 1);

	assert_non_null(via);
	if (follow(s, tables, sw, to, via) == ARRIVES)
		for (uint32_t i = 0; i < s->num_blocks; i++)
			over[i] += via[s->blocks[i].sw] &&
				   to->lid / PM_LFT_BLOCK == s->blocks[i].number &&
				   (s->blocks[i].differ & ~s->blocks[i].sound) >>
						   to->lid % PM_LFT_BLOCK &
					   1;
	free(via);
	return 0;
}

static uint64_t breaks, prefixes, all_forced, restored, early, sounds;

/* Whether the new tables have a path that these lack. */
static uint64_t is_unrestored(struct scene *s, const uint8_t *tables, uint32_t sw,
			      const struct pm_cutoff_lid *to)
{
	return !is_dead(s, s->wanted, sw, to) && is_dead(s, tables, sw, to);
}

/* Entries of a block that packets may still meet over sound entries elsewhere. */
static uint64_t count_met(const struct scene *s, const struct pm_order_block *block)
{
	uint64_t sound = 0, lids = 0;

	for (uint32_t i = 0; i < s->num_blocks; i++)
		if (s->blocks[i].number == block->number)
			sound |= s->blocks[i].sound;
	for (uint32_t i = 0; i < s->num_lids; i++)
		if (s->lids[i].lid / PM_LFT_BLOCK == block->number &&
		    counts(s, s->lids[i].port))
			lids |= (uint64_t)1 << s->lids[i].lid % PM_LFT_BLOCK;
	return (uint64_t)__builtin_popcountll(block->differ & ~block->sound & sound &
					      lids);
}

static void check_weights(const struct scene *s, uint64_t seed)
{
	for (uint32_t i = 0; i < s->num_blocks; i++) {
		if (!over[i])
			over[i] = count_met(s, &s->blocks[i]);
		sounds += s->blocks[i].sound != 0;
		if (s->blocks[i].paths != over[i])
			fail_msg(
				"PM_SEED=%llu PM_ROUNDS=1: block %u: %llu paths, not %llu",
				(unsigned long long)seed, i,
				(unsigned long long)s->blocks[i].paths,
				(unsigned long long)over[i]);
	}
}

static uint32_t check_restoring(const struct scene *s, uint64_t seed)
{
	uint32_t restoring = pm_order_restoring(s->blocks, s->num_blocks), counted;
	struct pm_order_block *copy = calloc(s->num_blocks + 1, sizeof(*copy));

	assert_non_null(copy);
	memcpy(copy, s->blocks, s->num_blocks * sizeof(*copy));
	assert_int_equal(pm_order_count_restoring(s->world.routes, s->usable, s->used,
						  copy, s->num_blocks, &counted),
			 0);
	if (counted != restoring)
		fail_msg("PM_SEED=%llu PM_ROUNDS=1: %u restore paths, not %u",
			 (unsigned long long)seed, counted, restoring);
	free(copy);
	return restoring;
}

/* By paths, except for those that go before one that turns. */
static void check_sorted(const struct scene *s, uint64_t seed)
{
	bool turns = false;

	for (uint32_t i = 0; i < s->num_blocks; i++)
		turns |= s->blocks[i].turn != 0;
	for (uint32_t i = 1; i < s->num_blocks && !turns; i++)
		if (s->blocks[i].paths > s->blocks[i - 1].paths)
			fail_msg("PM_SEED=%llu PM_ROUNDS=1: block %u has more paths",
				 (unsigned long long)seed, i);
}

static void sort_blocks(struct scene *s, struct pm_order_waits *waits)
{
	assert_int_equal(pm_order_sort(s->world.routes, s->usable, s->blocks,
				       s->num_blocks, waits),
			 0);
	all_forced += waits->forced;
}

static void assert_sound(struct scene *s, uint32_t block, uint64_t seed)
{
	if (for_paths(s, s->installed, is_unsound))
		fail_msg("PM_SEED=%llu PM_ROUNDS=1: down and up after block %u",
			 (unsigned long long)seed, block);
}

static void check_order(struct scene *s, uint64_t seed)
{
	struct pm_order_waits waits;
	uint64_t dead, before = sounds;
	uint32_t restoring;

	s->hosts_only = true;
	sort_blocks(s, &waits);
	restoring = check_restoring(s, seed);
	over = calloc(s->num_blocks + 1, sizeof(*over));
	assert_non_null(over);
	for_paths(s, s->wanted, count_over);
	check_weights(s, seed);
	check_sorted(s, seed);
	free(over);
	dead = for_paths(s, s->installed, is_dead);
	for (uint32_t i = 0; i < s->num_blocks; i++) {
		uint32_t sw = s->blocks[i].sw, number = s->blocks[i].number;
		uint64_t now;

		memcpy(entries_of(s, s->installed, sw, number),
		       entries_of(s, s->wanted, sw, number), PM_LFT_BLOCK);
		if (!waits.forced)
			assert_sound(s, i, seed);
		now = for_paths(s, s->installed, is_dead);
		if (i + 1 == restoring || i + 2 == restoring) {
			bool cut = for_paths(s, s->installed, is_unrestored);

			restored += i + 1 == restoring;
			early += i + 2 == restoring && !cut;
			if (cut != (i + 2 == restoring) &&
			    (cut || (sounds == before && !waits.forced)))
				fail_msg("PM_SEED=%llu PM_ROUNDS=1: paths after block %u "
					 "of %u that restore them",
					 (unsigned long long)seed, i, restoring);
		}
		prefixes++;
		breaks += now > dead;
		dead = now;
	}
	pm_order_free(&waits);
}

/* ---- Sets and answers that are lost ---- */

static uint64_t lost, left_out;

/* The blocks for a switch; see lft_records_wanted() of the plugin. */
static void make_entries(const struct scene *s, const uint8_t *record, uint32_t sw,
			 uint32_t number, uint8_t *entries)
{
	const uint8_t *wanted = pm_routes_table(s->world.routes, sw);

	pm_delta_apply(entries, record, wanted + (size_t)number * PM_LFT_BLOCK,
		       PM_LFT_BLOCK);
	for (uint32_t i = 0; i < PM_LFT_BLOCK; i++)
		if (!entries[i] && wanted[number * PM_LFT_BLOCK + i] == PM_LFT_KEEP)
			entries[i] = PM_LFT_KEEP;
}

/* Some are not answered, and the switch has the block or not: then it is unknown. */
static void send_block(struct scene *s, uint8_t *record, uint32_t block, uint8_t *missing)
{
	uint32_t sw = s->blocks[block].sw, number = s->blocks[block].number;
	uint8_t *known = entries_of(s, record, sw, number);
	uint8_t entries[PM_LFT_BLOCK];

	make_entries(s, known, sw, number, entries);
	missing[block] = random_chance(&s->random, 25);
	lost += missing[block];
	memcpy(known, entries, PM_LFT_BLOCK);
	if (missing[block])
		memset(known, 0, PM_LFT_BLOCK);
	if (!missing[block] || random_chance(&s->random, 50))
		memcpy(entries_of(s, s->installed, sw, number), entries, PM_LFT_BLOCK);
}

static bool send_blocks(struct scene *s, uint8_t *record, uint64_t seed)
{
	uint8_t *missing = calloc(s->num_blocks + 1, 1);
	struct pm_order_waits waits;
	bool ordered;

	assert_non_null(missing);
	sort_blocks(s, &waits);
	ordered = !waits.forced;
	for (uint32_t i = 0; i < s->num_blocks && ordered; i++) {
		if (pm_order_is_behind(&waits, i, missing)) {
			missing[i] = 1;
			left_out++;
			continue;
		}
		send_block(s, record, i, missing);
		assert_sound(s, i, seed);
	}
	pm_order_free(&waits);
	free(missing);
	return ordered;
}

/* The expected tables from here on, and the blocks to be sent for them. */
static void look_again(struct scene *s, uint8_t *record)
{
	struct world *w = &s->world;
	size_t size = (size_t)w->num_switches * w->stride;

	pm_routes_update(w->routes, s->usable, NULL);
	memcpy(s->first, s->installed, size);
	s->num_blocks = 0;
	for (uint32_t sw = 0; sw < w->num_switches; sw++)
		for (uint32_t b = 0; b < w->stride / PM_LFT_BLOCK; b++) {
			const uint8_t *known = entries_of(s, record, sw, b);

			make_entries(s, known, sw, b, entries_of(s, s->wanted, sw, b));
			s->num_blocks += pm_order_compare(w->routes, sw, b, known,
							  &s->blocks[s->num_blocks]);
		}
}

/* A repair with three tries, before each of which another part fails. */
static void check_lost(struct scene *s, uint64_t seed)
{
	uint8_t *record = world_tables(s->world.routes, s->world.num_switches);

	memcpy(record, s->installed, (size_t)s->world.num_switches * s->world.stride);
	for (int rounds = 0; rounds < 3; rounds++) {
		look_again(s, record);
		if (!send_blocks(s, record, seed))
			break;
		fail_some(s, s->usable);
	}
	free(record);
}

static void for_seed(uint64_t seed, void (*check)(struct scene *s, uint64_t seed))
{
	struct scene s;

	if (!scene_begin(&s, seed))
		return;
	check(&s, seed);
	scene_end(&s);
}

static void for_random(uint64_t rounds, void (*check)(struct scene *s, uint64_t seed))
{
	uint64_t seed = from_environment("PM_SEED", 1);

	rounds = from_environment("PM_ROUNDS", rounds);
	printf("seeds %llu to %llu\n", (unsigned long long)seed,
	       (unsigned long long)(seed + rounds - 1));
	for (uint64_t end = seed + rounds; seed < end; seed++)
		for_seed(seed, check);
}

static void test_counts(void **state)
{
	for_random(200, check_counts);
	printf("%llu times some paths looped, %llu times hosts were away\n",
	       (unsigned long long)loops_found, (unsigned long long)away_found);
}

static void test_by_check(void **state)
{
	for_random(200, check_by_check);
}

static void test_order(void **state)
{
	for_random(1000, check_order);
	printf("%llu times paths restored, %llu of these by fewer blocks than counted\n",
	       (unsigned long long)restored, (unsigned long long)early);
	assert_true(restored > 10 * early && (sounds || restored < 100));
	printf("%llu blocks, %llu that break more paths than they mend, %llu not in order\n",
	       (unsigned long long)prefixes, (unsigned long long)breaks,
	       (unsigned long long)all_forced);
}

static void test_lost(void **state)
{
	/* No answer is needed for an entry that leads nowhere any more. */
	for_seed(777059813, check_lost);
	for_seed(73, check_lost); /* leaves a block out */
	for_random(1000, check_lost);
	printf("%llu blocks not answered, %llu left out for that\n",
	       (unsigned long long)lost, (unsigned long long)left_out);
	assert_true(lost && left_out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_by_check),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
