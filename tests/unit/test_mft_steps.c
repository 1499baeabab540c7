/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Transitions between multicast tables (mft_steps.h), on random trees: links fail and
 * return, are drained, switches fail, reboot or forget, and groups change: after each
 * Set, the Sets of a step in any order, no packet arrives twice, loops or reaches a
 * port that is no member's.
 */
#include "expect.h"
#include "mscene.h"
#include "mwalk.h"

#include <portmajor/multicast/mft_steps.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SEED 1
#define DEFAULT_ROUNDS 1500
#define EVENTS 6   /* of each tree */
#define SENDERS 3  /* of a group, with packets to look for */
#define PORTS 4096 /* at most */

static uint64_t seed; /* of the round at hand */

struct trial {
	struct mscene scene;
	struct random random;
	bool in_steps;	    /* else all Sets in any order */
	uint8_t *up;	    /* [port] passes packets */
	uint8_t *reachable; /* [switch] */
	uint8_t *was;	    /* [switch] before the event */
	uint8_t *may;	    /* [port] may receive */
	uint8_t *sends;	    /* [port] */
	struct pm_mfts *real, *installed;
	struct pm_mft_steps steps;
	struct pm_mfts *wanted;
	uint8_t member[MSCENE_GROUPS][PORTS]; /* before the event */
	/*
	 * The packets that must arrive all the time unless a group is in order: those
	 * that arrive before the first Set and by the wanted tables.
	 */
	uint8_t steady[MSCENE_GROUPS][SENDERS][PORTS];
	uint32_t lost[MSCENE_GROUPS]; /* Sets after which some of them did not arrive */
	bool came_back;		      /* some switch, with old or unknown entries */
};

/* The events of all trials. */
static struct {
	uint32_t events, sets, ordered, cleared, twice, longest, harm, garbage, rebooted;
	uint32_t losing, lost; /* groups that lost packets, for how many Sets at most */
} met;

/* ---- Events ---- */

/* Marks what the first host's switch reaches over links that are up. */
static void find_reachable(struct trial *t)
{
	const struct pm_fabric *topology = t->scene.topology;
	uint32_t queue[256], num = 1;

	memcpy(t->was, t->reachable, topology->num_switches);
	memset(t->reachable, 0, topology->num_switches);
	queue[0] = topology->ports[t->scene.places[0]].node;
	t->reachable[queue[0]] = 1;
	for (uint32_t k = 0; k < num; k++)
		pm_for_each_port(i, topology, queue[k]) {
			uint32_t remote = pm_fabric_peer_node(topology, i);

			if (remote == PM_NONE || !t->up[i] || t->reachable[remote])
				continue;
			t->reachable[remote] = 1;
			queue[num++] = remote;
		}
}

/* Links behind which no port can send are neither up nor usable. */
static void cut_off(struct trial *t)
{
	for (uint32_t i = 0; i < t->scene.topology->num_ports; i++)
		if (!t->reachable[t->scene.topology->ports[i].node])
			t->up[i] = t->scene.usable[i] = 0;
}

/* The table of a switch that returns: the old one, empty, or unknown. */
static void come_back(struct trial *t, uint32_t sw)
{
	uint32_t blocks = pm_mfts_num_blocks(t->real);

	switch (random_below(&t->random, 4)) {
	case 0:
		met.rebooted++;
		pm_mfts_clear(t->real, sw);
		pm_mfts_clear(t->installed, sw);
		return;
	case 1:
		met.garbage++;
		if (pm_mfts_forget(t->installed, sw, blocks))
			fail_msg("no memory");
	}
	t->came_back = true;
}

static void draw_event(struct trial *t)
{
	struct mscene *scene = &t->scene;
	bool drains = random_chance(&t->random, 25);

	if (random_chance(&t->random, 20))
		mscene_set_all_links(scene);
	else if (random_chance(&t->random, 80))
		mscene_draw_event(scene, &t->random);
	for (uint32_t i = 0; i < scene->topology->num_ports; i++)
		t->up[i] = scene->usable[i] || (drains && t->up[i]);
	/* A link that was not up and is: both ends, as usable has both. */
	find_reachable(t);
	cut_off(t);
	t->came_back = false;
	for (uint32_t sw = 0; sw < scene->topology->num_switches; sw++)
		if (t->reachable[sw] && !t->was[sw])
			come_back(t, sw);
}

/* ---- Checks ---- */

/* Sets of ports: members of all groups, and the ports in masks of one MLID. */
static void mark_members(struct trial *t, uint8_t *marks)
{
	for (uint32_t g = 0; g < t->scene.num_groups; g++)
		for (uint32_t i = 0; i < t->scene.groups[g].num; i++)
			marks[t->scene.groups[g].members[i]] = 1;
}

static void mark_entries(struct trial *t, uint16_t mlid, uint8_t *marks)
{
	for (uint32_t i = 0; i < t->scene.topology->num_ports; i++) {
		const struct pm_port *port = &t->scene.topology->ports[i];

		if (port->peer == PM_NONE &&
		    pm_mfts_has_port(t->real, port->node, mlid, port->num))
			marks[i] = 1;
	}
}

/* Sends from all present and former members. */
static const char *look(struct trial *t, uint16_t mlid)
{
	struct mwalk walk = {t->scene.topology, t->real, t->up};
	uint32_t *from = calloc(t->scene.topology->num_ports, sizeof(*from)), num = 0;
	const char *wrong;

	assert_non_null(from);
	for (uint32_t i = 0; i < t->scene.topology->num_ports; i++)
		if (t->sends[i] && t->reachable[t->scene.topology->ports[i].node])
			from[num++] = i;
	wrong = mwalk_harmless(&walk, mlid, from, num, t->may);
	free(from);
	return wrong;
}

static const char *look_block(struct trial *t, uint32_t block)
{
	for (uint32_t g = 0; g < t->scene.num_groups; g++) {
		uint16_t mlid = t->scene.groups[g].mlid;
		const char *wrong = NULL;

		if ((mlid - (uint32_t)PM_MLID_FIRST) / PM_MFT_BLOCK == block)
			wrong = look(t, mlid);
		if (wrong)
			return wrong;
	}
	return NULL;
}

/* ---- Packets that are lost ---- */

/* The k-th member of a group that was one before, or PM_NONE. */
static uint32_t find_sender(const struct trial *t, uint32_t g, uint32_t k)
{
	const struct pm_group *group = &t->scene.groups[g];

	for (uint32_t i = 0; i < group->num; i++)
		if (t->member[g][group->members[i]] && !k--)
			return group->members[i];
	return PM_NONE;
}

/* Keeps of a set of ports those that a packet by some tables arrives at. */
static void keep_received(const struct trial *t, const struct pm_mfts *tables, uint32_t g,
			  uint32_t from, uint8_t *set)
{
	struct mwalk walk = {t->scene.topology, tables, t->up};
	static uint8_t received[PORTS];

	memset(received, 0, sizeof(received));
	mwalk_send(&walk, t->scene.groups[g].mlid, from, received);
	for (uint32_t i = 0; i < t->scene.topology->num_ports; i++)
		set[i] &= received[i];
}

static void find_steady(struct trial *t)
{
	for (uint32_t g = 0; g < t->scene.num_groups; g++) {
		t->lost[g] = 0;
		for (uint32_t k = 0; k < SENDERS; k++) {
			uint32_t from = find_sender(t, g, k);
			uint8_t *steady = t->steady[g][k];

			memcpy(steady, t->member[g], PORTS);
			if (from == PM_NONE)
				break;
			keep_received(t, t->real, g, from, steady);
			keep_received(t, t->wanted, g, from, steady);
		}
	}
}

static bool loses(const struct trial *t, uint32_t g)
{
	for (uint32_t k = 0; k < SENDERS; k++) {
		uint32_t from = find_sender(t, g, k);
		static uint8_t now[PORTS];

		if (from == PM_NONE)
			return false;
		memcpy(now, t->steady[g][k], PORTS);
		keep_received(t, t->real, g, from, now);
		if (memcmp(now, t->steady[g][k], PORTS) != 0)
			return true;
	}
	return false;
}

static void count_lost(struct trial *t, uint32_t block)
{
	for (uint32_t g = 0; g < t->scene.num_groups; g++)
		if ((t->scene.groups[g].mlid - (uint32_t)PM_MLID_FIRST) / PM_MFT_BLOCK ==
		    block)
			t->lost[g] += loses(t, g);
}

/* Only groups in order lose packets, and for no more Sets than predicted. */
static void check_lost(const struct trial *t)
{
	uint32_t losing = 0;

	for (uint32_t g = 0; g < t->scene.num_groups; g++) {
		losing += t->lost[g] != 0;
		EXPECT(t->lost[g] <= t->steps.longest);
		if (t->lost[g] > met.lost)
			met.lost = t->lost[g];
	}
	EXPECT(losing <= t->steps.ordered);
	met.losing += losing;
}

/* ---- Sending ---- */

static void take_set(struct trial *t, const struct pm_mft_set *set)
{
	const uint16_t *masks = t->in_steps ? set->masks
					    : pm_mfts_block(t->wanted, set->sw,
							    set->block, set->position);

	EXPECT(t->reachable[set->sw]);
	if (pm_mfts_set_block(t->real, set->sw, set->block, set->position, masks) ||
	    pm_mfts_set_block(t->installed, set->sw, set->block, set->position, masks))
		fail_msg("no memory");
	met.sets++;
}

static void shuffle(struct trial *t, struct pm_mft_set *sets, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++) {
		uint32_t j = random_range(&t->random, i, num - 1);
		struct pm_mft_set set = sets[i];

		sets[i] = sets[j];
		sets[j] = set;
	}
}

/*
 * Sends the Sets of a step, all of one block. Where a switch has unknown entries, there
 * may be loops until step 0 is over.
 */
static void send_step(struct trial *t, struct pm_mft_set *sets, uint32_t num)
{
	bool lost = look_block(t, sets[0].block) != NULL;

	if (t->in_steps)
		EXPECT(!lost || (t->came_back && !sets[0].step));
	shuffle(t, sets, num);
	for (uint32_t i = 0; i < num; i++) {
		const char *wrong;

		take_set(t, &sets[i]);
		count_lost(t, sets[i].block);
		if (lost && i + 1 < num)
			continue;
		wrong = look_block(t, sets[i].block);
		met.harm += wrong != NULL;
		if (t->in_steps)
			expect_none(seed, __func__, wrong);
	}
}

static void send_all(struct trial *t)
{
	struct pm_mft_steps *steps = &t->steps;

	for (uint32_t i = 0, end; i < steps->num; i = end) {
		for (end = i + 1;
		     end < steps->num && steps->sets[end].block == steps->sets[i].block &&
		     (steps->sets[end].step == steps->sets[i].step || !t->in_steps);)
			end++;
		send_step(t, steps->sets + i, end - i);
	}
}

/* Where a Set is in the order. */
static uint64_t place_of(const struct trial *t, const struct pm_mft_set *set)
{
	uint64_t place = (uint64_t)set->block << 1 | set->step, ends = 0;

	pm_for_each_port(i, t->scene.topology, set->sw)
		ends |= t->scene.topology->ports[i].host != PM_NO_HOST;
	return (place << 1 | ends) << 32 | set->sw << 8 | set->position;
}

/*
 * The cells that differ have one Set or two, in order, the last one of which has the
 * wanted masks.
 */
static void check_sets(struct trial *t)
{
	struct pm_mft_delta delta = {0};

	EXPECT(!pm_mft_delta_find(t->installed, t->wanted, 0, PM_MFT_BLOCKS, t->reachable,
				  &delta));
	EXPECT(t->steps.cells == delta.num);
	EXPECT(t->steps.num >= delta.num && t->steps.num <= 2 * delta.num);
	met.twice += t->steps.num - delta.num;
	pm_mft_delta_free(&delta);
	for (uint32_t i = 1; i < t->steps.num; i++)
		EXPECT(place_of(t, &t->steps.sets[i - 1]) <
		       place_of(t, &t->steps.sets[i]));
}

/* Ports of either table. */
static bool has_either(const struct trial *t, uint32_t sw, uint16_t mlid, uint32_t port)
{
	unsigned int num = t->scene.topology->ports[port].num;

	return pm_mfts_has_port(t->installed, sw, mlid, num) ||
	       pm_mfts_has_port(t->wanted, sw, mlid, num);
}

/* Marks the switches with ports of the MLID. */
static void mark_relays(const struct trial *t, uint16_t mlid, uint8_t *relays)
{
	for (uint32_t i = 0; i < t->scene.topology->num_ports; i++) {
		uint32_t sw = t->scene.topology->ports[i].node;

		if (sw < t->scene.topology->num_switches && t->reachable[sw])
			relays[sw] |= has_either(t, sw, mlid, i);
	}
}

/* Links of both tables from a relay to others. */
static uint32_t count_links(const struct trial *t, uint16_t mlid, const uint8_t *relays,
			    uint32_t sw)
{
	uint32_t num = 0;

	pm_for_each_port(i, t->scene.topology, sw) {
		uint32_t remote = pm_fabric_peer_node(t->scene.topology, i);

		num += remote != PM_NONE && t->up[i] && relays[remote] &&
		       (has_either(t, sw, mlid, i) ||
			has_either(t, remote, mlid, t->scene.topology->ports[i].peer));
	}
	return num;
}

/* Whether links of both tables form a cycle: some are left without all ends of trees. */
static bool has_cycle(const struct trial *t, uint16_t mlid)
{
	uint8_t relays[256] = {0};
	bool any = true;

	mark_relays(t, mlid, relays);
	while (any) {
		any = false;
		for (uint32_t sw = 0; sw < t->scene.topology->num_switches; sw++)
			if (relays[sw] && count_links(t, mlid, relays, sw) < 2) {
				relays[sw] = 0;
				any = true;
			}
	}
	return memchr(relays, 1, sizeof(relays)) != NULL;
}

/*
 * A group needs an order only if both trees together have a cycle; in an unknown table,
 * any MLID may.
 */
static void check_ordered(const struct trial *t)
{
	uint32_t cycles = 0;

	for (uint32_t g = 0; g < t->scene.num_groups; g++)
		cycles += has_cycle(t, t->scene.groups[g].mlid);
	EXPECT(t->came_back || t->steps.ordered <= cycles);
}

static void transit(struct trial *t)
{
	struct pm_mft_input input = {
		.topology = t->scene.topology,
		.installed = t->installed,
		.up = t->up,
		.reachable = t->reachable,
		.end = PM_MFT_BLOCKS,
	};

	input.wanted = t->wanted = mscene_route(&t->scene, NULL);
	mark_members(t, t->may);
	mark_members(t, t->sends);
	for (uint32_t g = 0; g < t->scene.num_groups; g++)
		mark_entries(t, t->scene.groups[g].mlid, t->may);
	EXPECT(!pm_mft_steps_find(&input, &t->steps));
	check_sets(t);
	check_ordered(t);
	met.ordered += t->steps.ordered;
	met.cleared += t->steps.cleared;
	if (t->steps.longest > met.longest)
		met.longest = t->steps.longest;
	find_steady(t);
	send_all(t);
	if (t->in_steps)
		check_lost(t);
	EXPECT(!pm_mft_steps_find(&input, &t->steps));
	EXPECT(t->steps.num == 0);
	pm_mfts_free(t->wanted);
}

static void run_event(struct trial *t)
{
	met.events++;
	memset(t->may, 0, t->scene.topology->num_ports);
	memset(t->sends, 0, t->scene.topology->num_ports);
	mark_members(t, t->sends);
	memset(t->member, 0, sizeof(t->member));
	for (uint32_t g = 0; g < t->scene.num_groups; g++)
		for (uint32_t i = 0; i < t->scene.groups[g].num; i++)
			t->member[g][t->scene.groups[g].members[i]] = 1;
	draw_event(t);
	for (uint32_t g = 0; g < t->scene.num_groups; g++)
		if (random_chance(&t->random, 30))
			mscene_draw_members(&t->scene, &t->random, g);
	transit(t);
}

static void run_round(bool in_steps)
{
	static struct trial t;
	uint32_t ports, switches;

	memset(&t, 0, sizeof(t));
	t.random.state = seed;
	t.in_steps = in_steps;
	if (!mscene_make_random(&t.scene, &t.random))
		return;
	ports = t.scene.topology->num_ports;
	switches = t.scene.topology->num_switches;
	EXPECT(switches <= 256 && ports <= PORTS);
	t.up = calloc(ports, 1);
	t.may = calloc(ports, 1);
	t.sends = calloc(ports, 1);
	t.reachable = calloc(switches, 1);
	t.was = calloc(switches, 1);
	t.real = pm_mfts_new(t.scene.topology);
	t.installed = pm_mfts_new(t.scene.topology);
	EXPECT(t.up && t.may && t.sends && t.reachable && t.was && t.real && t.installed);
	mscene_draw_groups(&t.scene, &t.random);
	for (uint32_t event = 0; event < EVENTS; event++)
		run_event(&t);
	free(t.up);
	free(t.may);
	free(t.sends);
	free(t.reachable);
	free(t.was);
	pm_mfts_free(t.real);
	pm_mfts_free(t.installed);
	pm_mft_steps_free(&t.steps);
	mscene_free(&t.scene);
}

static void run(bool in_steps)
{
	uint64_t first = from_environment("PM_SEED", DEFAULT_SEED);
	uint64_t rounds = from_environment("PM_ROUNDS", DEFAULT_ROUNDS);

	memset(&met, 0, sizeof(met));
	for (seed = first; seed < first + rounds; seed++)
		run_round(in_steps);
	printf("seeds from %llu on: %u events, %u Sets (%u the second of a place), %u groups "
	       "in order, of which %u cleared, longest block %u Sets; %u groups lost packets, "
	       "for %u Sets at most; %u switches rebooted, %u unknown; harm after %u Sets\n",
	       (unsigned long long)first, met.events, met.sets, met.twice, met.ordered,
	       met.cleared, met.longest, met.losing, met.lost, met.rebooted, met.garbage,
	       met.harm);
}

static void test_steps(void **state)
{
	run(true);
	if (from_environment("PM_ROUNDS", DEFAULT_ROUNDS) < DEFAULT_ROUNDS)
		return;
	assert_int_not_equal(met.cleared, 0);
	assert_int_not_equal(met.ordered, met.cleared);
	assert_int_not_equal(met.twice, 0);
}

/* The order matters. */
static void test_any_order(void **state)
{
	run(false);
	if (from_environment("PM_ROUNDS", DEFAULT_ROUNDS) >= DEFAULT_ROUNDS)
		assert_true(met.harm > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
