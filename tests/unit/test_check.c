/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/check/check.h>

#include <unistd.h>

/*
 * Tables written by hand, so that no other part of the core is needed: two leaves
 * with a host each below two spines. LIDs: l0 1, l1 2, s0 3, s1 4, hosts a 5, b 6.
 */
#define DRAWING                                                                          \
	"l0/3 l1/3 s0/2 s1/2 l0:1=a l1:1=b l0:2=s0:1 l0:3=s1:1 l1:2=s0:2 l1:3=s1:2"

#define TOP 6

#define MAX_RING 20

/* A fabric and its tables, for a check. */
struct hand {
	struct pm_fabric *fabric;
	uint8_t table[4][TOP + 1]; /* of DRAWING */
	const uint8_t *tables[MAX_RING];
	uint16_t top[MAX_RING];
	struct pm_check check;
};

/* Tables of `top` entries behind that of LID 0, switch by switch. */
static void draw(struct hand *hand, const char *drawing, const uint8_t *levels,
		 const uint8_t *tables, uint16_t top)
{
	hand->fabric = recipe_draw(drawing);
	for (uint32_t sw = 0; sw < hand->fabric->num_switches; sw++) {
		hand->tables[sw] = tables + (size_t)sw * (top + 1u);
		hand->top[sw] = top;
	}
	hand->check = (struct pm_check){hand->fabric, levels, hand->tables, hand->top,
					PM_NONE,      0,      NULL};
}

static struct pm_port *port_of(const struct hand *hand, const char *name)
{
	return &hand->fabric->ports[world_port(hand->fabric, name, 1)];
}

/* Hosts a, b, .. get LIDs from 1 on. */
static void number_hosts(const struct hand *hand, uint16_t num)
{
	for (uint16_t i = 0; i < num; i++)
		port_of(hand, (char[]){(char)('a' + i), '\0'})->lid = i + 1;
}

static struct pm_check_paths find_paths(const struct hand *hand)
{
	struct pm_check_paths paths;

	assert_int_equal(pm_check_paths(&hand->check, false, &paths, NULL), 0);
	return paths;
}

static struct pm_check_credits find_credits(const struct hand *hand)
{
	struct pm_check_credits credits;

	assert_int_equal(pm_check_credits(&hand->check, &credits, NULL), 0);
	return credits;
}

static const uint8_t level[4] = {0, 0, 1, 1};

static const uint8_t right[4][TOP + 1] = {
	/*	 l0  l1   s0   s1 a  b */
	{255, 0, 2, 2, 3, 1, 3},
	{255, 2, 0, 2, 3, 2, 1},
	{255, 1, 2, 0, 255, 1, 2},
	{255, 1, 2, 255, 0, 1, 2},
};

static void set_up(struct hand *hand)
{
	static const struct {
		const char *name;
		unsigned int port;
	} owners[] = {
		{"l0", 0}, {"l1", 0}, {"s0", 0}, {"s1", 0}, {"a", 1}, {"b", 1},
	};

	memcpy(hand->table, right, sizeof(right));
	draw(hand, DRAWING, level, hand->table[0], TOP);
	for (uint16_t i = 0; i < LENGTH(owners); i++)
		hand->fabric
			->ports[world_port(hand->fabric, owners[i].name, owners[i].port)]
			.lid = i + 1;
}

/* A fault, and its findings. */
struct row {
	const char *name;
	int sw, lid, entry; /* sw -1: nothing; lid -1: no table; -2: top of 5 */
	const char *cut;    /* NAME:PORT of a cable that is lost */
	uint64_t pairs, delivered, lost, loops, turns, misrouted, unjoined;
	const char *first;
};

static const struct row rows[] = {
	{"right", -1, 0, 0, NULL, 12, 12, 0, 0, 0, 0, 0, ""},
	{"dropped", 0, 6, 255, NULL, 12, 11, 1, 0, 0, 0, 0,
	 "lost: from \"l0\" to LID 6 of \"b\""},
	{"port that is none", 0, 6, 9, NULL, 12, 11, 1, 0, 0, 0, 0, "lost: from \"l0\""},
	{"port without a cable", 0, 6, 3, "l0:3", 11, 10, 1, 0, 0, 0, 1, "lost"},
	{"ends at another's", 0, 6, 1, NULL, 12, 11, 0, 0, 0, 1, 0,
	 "ends elsewhere: from \"l0\" to LID 6 of \"b\""},
	{"ends in a switch", 0, 6, 0, NULL, 12, 11, 0, 0, 0, 1, 0, "ends elsewhere"},
	{"loop", 3, 6, 1, NULL, 12, 11, 0, 1, 0, 0, 0,
	 "loop: from \"l0\" to LID 6 of \"b\""},
	{"no table", 3, -1, 0, NULL, 12, 9, 3, 0, 0, 0, 0, "lost"},
	{"top too low", 3, -2, 0, NULL, 12, 11, 1, 0, 0, 0, 0, "lost"},
	{"no path", -1, 0, 0, "l0:2 l0:3", 6, 6, 0, 0, 0, 0, 6, ""},
};

static void break_one(struct hand *hand, const struct row *row)
{
	const char *at = row->cut;

	if (row->sw >= 0 && row->lid == -1)
		hand->tables[row->sw] = NULL;
	else if (row->sw >= 0 && row->lid == -2)
		hand->top[row->sw] = 5;
	else if (row->sw >= 0)
		hand->table[row->sw][row->lid] = (uint8_t)row->entry;
	for (; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
		pm_fabric_cut(hand->fabric,
			      world_port(hand->fabric, "l0", (unsigned int)at[3] - '0'));
}

static void test_paths(void **state)
{
	for_each_row(row, rows) {
		struct pm_check_paths paths;
		struct hand hand;

		set_up(&hand);
		break_one(&hand, row);
		paths = find_paths(&hand);
		if (paths.pairs != row->pairs || paths.delivered != row->delivered ||
		    paths.lost != row->lost || paths.loops != row->loops ||
		    paths.turns != row->turns || paths.misrouted != row->misrouted ||
		    paths.cut != row->unjoined ||
		    strncmp(paths.first.text, row->first, strlen(row->first)) ||
		    !*row->first != !*paths.first.text)
			fail_msg(
				"%s: %u pairs, %u delivered, %u lost, %u loops, %u turns, "
				"%u misrouted, %u cut: %s",
				row->name, (int)paths.pairs, (int)paths.delivered,
				(int)paths.lost, (int)paths.loops, (int)paths.turns,
				(int)paths.misrouted, (int)paths.cut, paths.first.text);
		pm_fabric_free(hand.fabric);
	}
}

/* From spines, too: two more switches of 5 LIDs each that a path joins. */
static void test_from_all(void **state)
{
	struct pm_check_paths paths;
	struct hand hand;

	set_up(&hand);
	assert_int_equal(pm_check_paths(&hand.check, true, &paths, NULL), 0);
	assert_int_equal(paths.pairs, 22);
	assert_int_equal(paths.delivered, 22);
	assert_int_equal(paths.cut, 2);
	pm_fabric_free(hand.fabric);
}

/* A manager without a LID has no traps to wait for. */
static void test_sm_without_lid(void **state)
{
	struct pm_check_paths paths;
	struct hand hand;

	set_up(&hand);
	hand.check.sm = world_port(hand.fabric, "b", 1);
	hand.fabric->ports[hand.check.sm].lid = 0;
	paths = find_paths(&hand);
	assert_int_equal(paths.sm_unreachable, 0);
	pm_fabric_free(hand.fabric);
}

/* Down to l1 and up again is a turn, although it arrives. */
static void test_turns(void **state)
{
	static const uint8_t levels[] = {0, 0, 0, 1, 1};
	static const uint8_t table[5][2] = {
		{255, 2}, {255, 1}, {255, 3}, {255, 2}, {255, 1}};
	struct pm_check_paths paths;
	struct hand hand;

	draw(&hand,
	     "l0/2 l1/2 l2/3 s0/3 s1/3 l0:1=a l1:1=b l0:2=s0:1 l2:2=s0:2 l2:3=s1:2 "
	     "l1:2=s1:1 s0:3=s1:3",
	     levels, table[0], 1);
	port_of(&hand, "b")->lid = 1;
	paths = find_paths(&hand);
	/* There is no legal path, so the tables do not matter. */
	assert_int_equal(paths.cut, 1);
	assert_int_equal(paths.pairs, 1);
	assert_int_equal(paths.turns, 0);
	/* Now there is one, by s0 straight to l1. */
	pm_fabric_free(hand.fabric);
	draw(&hand,
	     "l0/2 l1/3 l2/3 s0/3 s1/3 l0:1=a l1:1=b l0:2=s0:1 l2:2=s0:2 "
	     "l2:3=s1:2 l1:2=s1:1 l1:3=s0:3",
	     levels, table[0], 1);
	port_of(&hand, "b")->lid = 1;
	paths = find_paths(&hand);
	assert_int_equal(paths.turns, 1);
	assert_int_equal(paths.delivered, 2);
	assert_non_null(strstr(paths.first.text, "turns up after going down"));
	pm_fabric_free(hand.fabric);
}

/* A sideways cable is no path up or down. */
static void test_sideways(void **state)
{
	static const uint8_t levels[] = {0, 0, 1};
	static const uint8_t table[3][2] = {{255, 3}, {255, 1}, {255, 2}};
	struct hand hand;

	draw(&hand, "l0/3 l1/3 s0/2 l0:1=a l1:1=b l0:2=s0:1 l1:2=s0:2 l0:3=l1:3", levels,
	     table[0], 1);
	port_of(&hand, "b")->lid = 1;
	assert_int_equal(find_paths(&hand).turns, 1);
	pm_fabric_free(hand.fabric);
}

static void test_loads(void **state)
{
	struct pm_check_loads loads;
	struct hand hand;
	uint32_t most;

	set_up(&hand);
	assert_int_equal(pm_check_loads(&hand.check, &loads, NULL), 0);
	/* a to b by s1, b to a by s0: each of 4 links up and 4 down has 1 or 0. */
	assert_int_equal(loads.up[0].links, 4);
	assert_int_equal(loads.up[0].flows, 2);
	assert_int_equal(loads.up[0].maximum, 1);
	assert_int_equal(loads.up[0].minimum, 0);
	assert_int_equal(loads.down[0].links, 4);
	assert_int_equal(loads.down[0].flows, 2);
	assert_int_equal(loads.up[1].links, 0);
	assert_int_equal(loads.uplink_least, 0);
	assert_int_equal(loads.uplink_most, 1);
	assert_int_equal(loads.uplink_spread, 1);
	assert_int_equal(pm_check_shifts(&hand.check, 0, &most, NULL), 0);
	assert_int_equal(most, 1);
	pm_fabric_free(hand.fabric);
}

/* Four hosts on each of two leaves, all by one of two spines: four flows meet. */
static void test_contention(void **state)
{
	uint8_t table[4][9] = {
		{255, 1, 2, 3, 4, 5, 5, 5, 5},
		{255, 5, 5, 6, 6, 1, 2, 3, 4},
		{255, 1, 1, 1, 1, 2, 2, 2, 2},
		{255, 1, 1, 1, 1, 2, 2, 2, 2},
	};
	struct pm_check_loads loads;
	struct hand hand;
	uint32_t most = 0;

	draw(&hand,
	     "l0/6 l1/6 s0/2 s1/2 l0:1=a l0:2=b l0:3=c l0:4=d l1:1=e l1:2=f l1:3=g "
	     "l1:4=h l0:5=s0:1 l0:6=s1:1 l1:5=s0:2 l1:6=s1:2",
	     level, table[0], 8);
	number_hosts(&hand, 8);
	assert_int_equal(pm_check_shifts(&hand.check, 0, &most, NULL), 0);
	assert_int_equal(most, 4);
	assert_int_equal(pm_check_loads(&hand.check, &loads, NULL), 0);
	assert_int_equal(loads.up[0].maximum, 16);
	assert_int_equal(loads.up[0].minimum, 0);
	assert_int_equal(loads.up[0].flows, 32);
	assert_int_equal(loads.uplink_spread, 4);
	/* One permutation is the one half round, three are by 2, 4 and 6. */
	assert_int_equal(pm_check_shifts(&hand.check, 1, &most, NULL), 0);
	assert_int_equal(most, 4);
	assert_int_equal(pm_check_shifts(&hand.check, 3, &most, NULL), 0);
	assert_int_equal(most, 4);
	/* Half of l0's packets by the other spine: now all links bear the same. */
	table[0][7] = 6;
	table[0][8] = 6;
	assert_int_equal(pm_check_loads(&hand.check, &loads, NULL), 0);
	assert_int_equal(loads.up[0].maximum, 8);
	assert_int_equal(loads.up[0].minimum, 8);
	assert_int_equal(loads.down[0].minimum, 8);
	assert_int_equal(loads.uplink_spread, 0);
	pm_fabric_free(hand.fabric);
}

/*
 * Two hosts on each of three leaves; all traffic from one leaf to another takes one
 * path. By three, each leaf's hosts send to different leaves, by two to the same one. A
 * host without a LID (g) does not take part.
 */
static void test_samples(void **state)
{
	static const uint8_t levels[] = {0, 0, 0, 1, 1};
	static const uint8_t table[5][7] = {
		{255, 1, 2, 3, 3, 4, 4}, {255, 4, 4, 1, 2, 3, 3}, {255, 3, 3, 4, 4, 1, 2},
		{255, 1, 1, 2, 2, 3, 3}, {255, 1, 1, 2, 2, 3, 3},
	};
	static const uint32_t most[] = {2, 1, 2, 2, 2, 2, 2, 2}; /* [samples] */
	struct hand hand;

	draw(&hand,
	     "l0/5 l1/4 l2/4 s0/3 s1/3 l0:5=g l0:1=a l0:2=b l1:1=c l1:2=d l2:1=e "
	     "l2:2=f l0:3=s0:1 l1:3=s0:2 l2:3=s0:3 l0:4=s1:1 l1:4=s1:2 l2:4=s1:3",
	     levels, table[0], 6);
	number_hosts(&hand, 6);
	for (uint32_t samples = 0; samples < LENGTH(most); samples++) {
		uint32_t found = 99;

		assert_int_equal(pm_check_shifts(&hand.check, samples, &found, NULL), 0);
		assert_int_equal(found, most[samples]);
	}
	pm_fabric_free(hand.fabric);
}

/* A path that is not up and then down, and that the tables do not serve. */
static void test_unreachable(void **state)
{
	static const uint8_t levels[] = {0, 0};
	static const uint8_t table[2][3] = {{255, 1, 2}, {255, 255, 1}};
	struct pm_check_paths paths;
	struct hand hand;

	draw(&hand, "l0/2 l1/2 l0:1=a l1:1=b l0:2=l1:2", levels, table[0], 2);
	number_hosts(&hand, 2);
	paths = find_paths(&hand);
	assert_int_equal(paths.cut, 2);
	/* From l0 the table leads to b over the side cable all the same. */
	assert_int_equal(paths.unreachable, 1);
	assert_string_equal(paths.example[PM_FAULT_UNREACHABLE].text,
			    "not reached: from \"l1\" to LID 1 of \"a\"");
	/* With LMC 1 b has LID 3 as well, which l0 has no entry for. */
	port_of(&hand, "b")->lmc = 1;
	paths = find_paths(&hand);
	assert_int_equal(paths.cut, 3);
	assert_int_equal(paths.unreachable, 2);
	port_of(&hand, "b")->lmc = 0;
	/* Without the cable no path is missing. */
	pm_fabric_cut(hand.fabric, world_port(hand.fabric, "l0", 2));
	paths = find_paths(&hand);
	assert_int_equal(paths.cut, 2);
	assert_int_equal(paths.unreachable, 0);
	pm_fabric_free(hand.fabric);
}

/*
 * Tables may leave out pairs of aggregation nodes, if they drop the packets and the
 * switch has no other end port.
 */
static void test_aggregation_left_out(void **state)
{
	static const uint8_t levels[] = {0, 1, 1};
	uint8_t table[3][5] = {
		{255, 255, 3, 1, 2}, {255, 255, 2, 1, 255}, {255, 255, 1, 255, 2}};
	struct pm_check_paths paths;
	struct hand hand;

	draw(&hand, "l0/3 s0/2 s1/3 l0:1=s0:2 l0:2=s1:1 l0:3=c s0:1=a s1:2=b", levels,
	     table[0], 4);
	port_of(&hand, "a")->lid = 3;
	port_of(&hand, "b")->lid = 4;
	port_of(&hand, "c")->lid = 2;
	hand.fabric->ports[port_of(&hand, "a")->peer].host = PM_AGGREGATION;
	hand.fabric->ports[port_of(&hand, "b")->peer].host = PM_AGGREGATION;
	paths = find_paths(&hand);
	assert_int_equal(paths.unreachable, 2);
	assert_int_equal(paths.aggregation, 2);
	assert_string_equal(paths.example[PM_FAULT_UNREACHABLE].text, "");
	assert_string_equal(paths.left_out.text,
			    "not reached: from \"s0\" to LID 4 of \"b\"");
	/* A wrong entry is a fault. */
	table[1][4] = 1;
	paths = find_paths(&hand);
	assert_int_equal(paths.unreachable, 2);
	assert_int_equal(paths.aggregation, 1);
	assert_string_equal(paths.example[PM_FAULT_UNREACHABLE].text,
			    "not reached: from \"s0\" to LID 4 of \"b\"");
	/* So is a path that a host lacks. */
	table[1][4] = 255;
	hand.fabric->ports[port_of(&hand, "a")->peer].host = PM_COMPUTE;
	paths = find_paths(&hand);
	assert_int_equal(paths.unreachable, 2);
	assert_int_equal(paths.aggregation, 0);
	pm_fabric_free(hand.fabric);
}

/* With LMC 1 each LID of a port counts by itself. */
static void test_lmc(void **state)
{
	struct pm_check_loads loads;
	struct pm_check_credits credits;
	struct pm_check_paths paths;
	struct hand hand;

	set_up(&hand);
	for (uint32_t i = 0; i < hand.fabric->num_ports; i++)
		hand.fabric->ports[i].lid = 0;
	/* LIDs of a: 3 and 4, of b: 5 and 6; l0 sends to these by s0 and by s1. */
	for (int sw = 0; sw < 4; sw++)
		memcpy(hand.table[sw],
		       (const uint8_t[4][TOP + 1]){{255, 255, 255, 1, 1, 2, 3},
						   {255, 255, 255, 2, 3, 1, 1},
						   {255, 255, 255, 1, 1, 2, 2},
						   {255, 255, 255, 1, 1, 2, 2}}[sw],
		       TOP + 1);
	port_of(&hand, "a")->lid = 3;
	port_of(&hand, "a")->lmc = 1;
	hand.check.sm = world_port(hand.fabric, "b", 1);
	hand.fabric->ports[hand.check.sm].lid = 5;
	hand.fabric->ports[hand.check.sm].lmc = 1;
	paths = find_paths(&hand);
	assert_int_equal(paths.pairs, 8);
	assert_int_equal(paths.delivered, 8);
	assert_int_equal(paths.sm_unreachable, 0);
	credits = find_credits(&hand);
	assert_int_equal(credits.channels, 8);
	assert_int_equal(credits.dependencies, 4);
	/* Each leaf sends one of the two to either spine. */
	assert_int_equal(pm_check_loads(&hand.check, &loads, NULL), 0);
	assert_int_equal(loads.uplink_least, 1);
	assert_int_equal(loads.uplink_most, 1);
	/* The second one only loops between l0 and s1. */
	hand.table[3][6] = 1;
	paths = find_paths(&hand);
	assert_int_equal(paths.loops, 1);
	assert_int_equal(paths.delivered, 7);
	credits = find_credits(&hand);
	assert_int_equal(credits.length, 2);
	/* From l0 and from s1, which has no end ports, it does not reach the manager. */
	assert_int_equal(paths.sm_unreachable, 2);
	assert_string_equal(paths.example[PM_FAULT_SM_UNREACHABLE].text,
			    "no path to the manager: from \"s1\" to LID 6 of \"b\"");
	/* Without cables no path is missing from l0. */
	pm_fabric_cut(hand.fabric, world_port(hand.fabric, "l0", 2));
	pm_fabric_cut(hand.fabric, world_port(hand.fabric, "l0", 3));
	paths = find_paths(&hand);
	assert_int_equal(paths.pairs, 4);
	assert_int_equal(paths.cut, 4);
	assert_int_equal(paths.sm_unreachable, 1);
	pm_fabric_free(hand.fabric);
}

/*
 * A ring of `size` switches with a host each, numbered by their LIDs less 1; port 1 is
 * the host's, 2 leads on, 3 back. Packets go on for up to `most` cables, else back.
 */
static struct pm_check_credits ring_credits(unsigned int size, unsigned int most)
{
	char text[1024] = "";
	size_t used = 0;
	uint8_t table[MAX_RING][MAX_RING + 1];
	const uint8_t *tables[MAX_RING];
	uint16_t top[MAX_RING];
	static const uint8_t levels[MAX_RING];
	struct pm_check check = {NULL, levels, tables, top, PM_NONE, 0, NULL};
	struct {
		struct pm_check_credits credits;
		uint32_t behind[MAX_RING];
	} room = {.behind = {0}};
	struct pm_check_credits *credits = &room.credits;
	struct pm_fabric *fabric;

	memset(table, 255, sizeof(table));
	for (unsigned int i = 0; i < size; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "s%u/3 ", i);
	for (unsigned int i = 0; i < size; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "s%u:1=h%u s%u:2=s%u:3 ", i, i, i,
					 (i + 1) % size);
	fabric = recipe_draw(text);
	for (unsigned int i = 0; i < size; i++) {
		char name[16];

		snprintf(name, sizeof(name), "h%u", i);
		fabric->ports[world_port(fabric, name, 1)].lid = (uint16_t)(i + 1);
		tables[i] = table[i];
		top[i] = (uint16_t)size;
		for (unsigned int to = 0; to < size; to++) {
			unsigned int way = (to + size - i) % size;

			table[i][to + 1] = way == 0 ? 1 : way <= most ? 2 : 3;
		}
	}
	check.fabric = fabric;
	assert_int_equal(pm_check_credits(&check, credits, NULL), 0);
	for (uint32_t i = 0; i < MAX_RING; i++)
		assert_int_equal(room.behind[i], 0);
	for (uint32_t i = 1; i < credits->length && i < PM_CHECK_CREDIT_LOOP; i++) {
		uint32_t remote = fabric->ports[credits->credit_loop[i - 1]].peer;

		/* One channel ends where the next one begins. */
		assert_int_equal(fabric->ports[remote].node,
				 fabric->ports[credits->credit_loop[i]].node);
	}
	pm_fabric_free(fabric);
	return room.credits;
}

static void test_ring_has_a_credit_loop(void **state)
{
	struct pm_check_credits credits = ring_credits(5, 2);

	/*
	 * Two hops in either direction: a credit loop in each direction, of which one
	 * is reported.
	 */
	assert_int_equal(credits.channels, 10);
	assert_int_equal(credits.dependencies, 10);
	assert_int_equal(credits.length, 5);
	/* In a ring of three all are neighbours: no packet waits for a second cable. */
	credits = ring_credits(3, 1);
	assert_int_equal(credits.channels, 6);
	assert_int_equal(credits.dependencies, 0);
	assert_int_equal(credits.length, 0);
	/* In one direction only. */
	credits = ring_credits(3, 2);
	assert_int_equal(credits.channels, 3);
	assert_int_equal(credits.length, 3);
	/* Of a long one the first channels are listed. */
	credits = ring_credits(MAX_RING, MAX_RING - 1);
	assert_int_equal(credits.channels, MAX_RING);
	assert_int_equal(credits.length, MAX_RING);
}

/*
 * A channel that only leads into the credit loop is not part of it: t, where the search
 * begins.
 */
static void test_path_into_a_credit_loop(void **state)
{
	static const uint8_t levels[4];
	static const uint8_t table[4][4] = {
		{255, 2, 2, 2}, {255, 1, 2, 2}, {255, 2, 1, 2}, {255, 2, 2, 1}};
	struct pm_check_credits credits;
	struct hand hand;

	draw(&hand,
	     "t/2 s0/4 s1/3 s2/3 t:1=x t:2=s0:4 s0:1=a s1:1=b s2:1=c s0:2=s1:3 "
	     "s1:2=s2:3 s2:2=s0:3",
	     levels, table[0], 3);
	number_hosts(&hand, 3);
	credits = find_credits(&hand);
	assert_int_equal(credits.channels, 4);
	assert_int_equal(credits.length, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(hand.fabric->ports[credits.credit_loop[i]].num, 2);
	assert_int_equal(credits.credit_loop[0], world_port(hand.fabric, "s0", 2));
	pm_fabric_free(hand.fabric);
}

static void test_trees_have_no_credit_loop(void **state)
{
	struct pm_check_credits credits;
	struct pm_fabric *now;
	struct world world;
	struct hand hand;

	set_up(&hand);
	credits = find_credits(&hand);
	/* a to b by s1, b to a by s0. */
	assert_int_equal(credits.channels, 4);
	assert_int_equal(credits.dependencies, 2);
	assert_int_equal(credits.length, 0);
	/* b's packets loop between s1 and l0. */
	hand.table[3][6] = 1;
	credits = find_credits(&hand);
	assert_int_equal(credits.length, 2);
	pm_fabric_free(hand.fabric);

	world_make(&world, world_director(36), PM_GROUPED);
	now = world_without(&world, "s3-* leaf5:20 s0-fab0");
	credits = world_credits(&world, world.fabric);
	assert_int_equal(credits.length, 0);
	assert_true(credits.dependencies > 1000);
	world_update(&world, now);
	assert_int_equal(world_credits(&world, now).length, 0);
	pm_fabric_free(now);
	world_free(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_sm_without_lid),
		cmocka_unit_test(test_from_all),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_sideways),
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_contention),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_unreachable),
		cmocka_unit_test(test_aggregation_left_out),
		cmocka_unit_test(test_lmc),
		cmocka_unit_test(test_ring_has_a_credit_loop),
		cmocka_unit_test(test_path_into_a_credit_loop),
		cmocka_unit_test(test_trees_have_no_credit_loop),
	};

	/* Where packets go round for ever, the tests do not. */
	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
