/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Transitions that are interrupted after any of their Sets, below an OpenSM of stubs
 * (subnet.h): by a trap without a change, or by a failure of any cable between
 * switches. After no Set of any kind a LID loops, and no Set costs a host a path: paths
 * that the failure has cut off come back, and stay. In the end paths are those over the
 * remaining links, whatever went before: the transition goes on after the repair, or
 * another one goes back.
 *
 * Each upper switch has a cable to every top switch, so that blocks sent in OpenSM's
 * order would let packets loop (tests/integration/test_drain.py, MeshedPods).
 */
#include "subnet.h"

#include "recipe.h"
#include "unit.h"

static const char *folder;
static struct pm_fabric *fabric;
static struct recipe recipe;

/* The events while blocks are sent. */
static struct {
	uint32_t blocks; /* taken so far, of all kinds */
	uint32_t at;	 /* the interruption comes after so many; 0: none */
	const char *sw;	 /* its cable fails then; NULL: none does */
	unsigned int port;
	bool reached[SUBNET_NODES][SUBNET_NODES]; /* before the last block */
	const char *name;			  /* of the trial, for messages */
} trial;

/* ---- Drains ---- */

/* "m0-0" or "l0-0:4". */
struct drain {
	const char *sw;
	unsigned int port; /* 0: all of it */
};

/* Drains these, and no others. */
static void ask_to_drain(const struct drain *drains, size_t num)
{
	char text[2048];
	size_t used = 0;

	subnet_ask("{\"request\": \"undrain\", \"all\": true}");
	if (!num)
		return;
	for (size_t i = 0; i < num; i++) {
		uint32_t sw = pm_fabric_find_name(fabric, drains[i].sw);

		assert_true(sw < fabric->num_switches);
		used += (size_t)snprintf(
			text + used, sizeof(text) - used,
			"%s{\"guid\": \"0x%016llx\", \"port\": %u}",
			i ? ", " : "{\"request\": \"drain\", \"parts\": [",
			(unsigned long long)fabric->nodes[sw].guid, drains[i].port);
	}
	assert_true(used < sizeof(text) - 3);
	strcat(text, "]}");
	subnet_ask(text);
}

/* ---- After each block ---- */

static void check_block(void)
{
	bool now[SUBNET_NODES][SUBNET_NODES];

	trial.blocks++;
	subnet_note_reached(now);
	for (uint32_t a = fabric->num_switches; a < fabric->num_nodes; a++)
		for (uint32_t b = fabric->num_switches; b < fabric->num_nodes; b++)
			if (trial.reached[a][b] && !now[a][b])
				fail_msg(
					"%s: block %u, interrupted after %u: %s does not reach %s any more",
					trial.name, trial.blocks, trial.at,
					pm_fabric_name(fabric, a),
					pm_fabric_name(fabric, b));
	if (subnet_loops())
		fail_msg("%s: block %u, interrupted after %u: a LID loops", trial.name,
			 trial.blocks, trial.at);
	if (trial.blocks == trial.at && trial.sw)
		subnet_set_link(trial.sw, trial.port, false, true);
	else if (trial.blocks == trial.at)
		subnet_send_traps("t0", 1);
	subnet_note_reached(trial.reached);
}

/* ---- A trial ---- */

static void end(void)
{
	subnet_on_block(NULL);
	subnet_unload();
	subnet_end();
	subnet_remove_files("*/*");
	subnet_remove_files("*");
}

/* Has the plugin read the drains, and follow them. */
static void follow(const struct drain *drains, size_t num)
{
	struct subnet_sweep result;

	ask_to_drain(drains, num);
	subnet_begin_sweep();
	subnet_work(&result, 0);
	assert_int_equal(result.errors, 0);
	assert_int_equal(subnet_logged("not followed"), 0);
}

/* The paths that it leads to, one after the other. */
static uint64_t paths_of(const struct drain *drains, size_t num, const char *sw,
			 unsigned int port)
{
	uint64_t paths;

	subnet_begin_routed(fabric);
	if (sw)
		subnet_set_link(sw, port, false, true);
	subnet_sweep_well();
	follow(drains, num);
	subnet_sweep_well();
	paths = subnet_paths();
	end();
	return paths;
}

static const struct scenario {
	const char *name;
	struct drain before[2], after[2]; /* what is drained; what is to be instead */
	struct drain failing;		  /* a cable; or none */
} scenarios[] = {
	{"a switch goes", {{0}}, {{"m0-1", 0}}, {0}},
	{"a switch comes", {{"m0-1", 0}}, {{0}}, {0}},
	{"a switch for another", {{"m0-1", 0}}, {{"m0-0", 0}}, {0}},
	{"a top switch for another", {{"t0", 0}}, {{"t2", 0}}, {0}},
	{"cables go", {{0}}, {{"l1-0", 2}, {"t1", 2}}, {0}},
	{"two switches for a cable", {{"m0-2", 0}, {"t2", 0}}, {{"l0-1", 3}}, {0}},
	{"a switch goes, a cable fails", {{0}}, {{"m0-1", 0}}, {"m1-0", 4}},
	{"a switch goes, one of its cables fails", {{0}}, {{"m0-1", 0}}, {"m0-1", 1}},
	{"a switch goes, what it leaves fails", {{0}}, {{"m0-1", 0}}, {"m0-0", 1}},
	{"a switch comes, a cable fails", {{"m0-1", 0}}, {{0}}, {"m0-0", 3}},
	{"a switch comes, one of its cables fails", {{"m0-1", 0}}, {{0}}, {"m0-1", 2}},
	{"a switch for another, and its cable fails",
	 {{"m0-1", 0}},
	 {{"m0-2", 0}},
	 {"m0-1", 1}},
	{"a top switch for another, a cable fails",
	 {{"t0", 0}},
	 {{"t2", 0}},
	 {"m1-1", 5}},
};

static size_t count(const struct drain drains[2])
{
	return !drains[0].sw ? 0 : !drains[1].sw ? 1 : 2;
}

static void prepare(const struct scenario *s, uint32_t at)
{
	subnet_begin_routed(fabric);
	follow(s->before, count(s->before));
	subnet_sweep_well();
	trial.name = s->name;
	trial.blocks = 0;
	trial.at = at;
	trial.sw = s->failing.sw;
	trial.port = s->failing.port;
	subnet_note_reached(trial.reached);
	subnet_on_block(check_block);
}

/* Blocks that it takes without an interruption; tables stay when OpenSM sweeps. */
static uint32_t count_blocks(const struct scenario *s)
{
	uint32_t blocks;
	uint64_t tables;

	prepare(s, 0);
	follow(s->after, count(s->after));
	blocks = trial.blocks;
	tables = subnet_tables();
	subnet_sweep_well();
	assert_int_equal(subnet_tables(), tables);
	assert_int_equal(trial.blocks, blocks);
	end();
	return blocks;
}

/* One interruption; then it goes on, or back. */
static void interrupt(const struct scenario *s, uint32_t at, bool back, uint64_t expected)
{
	prepare(s, at);
	follow(s->after, count(s->after));
	assert_true(trial.blocks > at);
	assert_int_equal(subnet_logged("interrupted 1 time"), 1);
	assert_int_equal(subnet_unreachable(), 0);
	if (back)
		follow(s->before, count(s->before));
	assert_int_equal(subnet_unreachable(), 0);
	assert_int_equal(subnet_logged("left to"), 0);
	subnet_sweep_well();
	assert_int_equal(subnet_unreachable(), 0);
	if (subnet_paths() != expected)
		fail_msg("%s: interrupted after %u, %s: other paths", s->name, at,
			 back ? "back" : "on");
	end();
}

static void test_any_set(void **state)
{
	for (size_t i = 0; i < LENGTH(scenarios); i++) {
		const struct scenario *s = &scenarios[i];
		uint32_t blocks = count_blocks(s);
		uint64_t on = paths_of(s->after, count(s->after), s->failing.sw,
				       s->failing.port);
		uint64_t back = paths_of(s->before, count(s->before), s->failing.sw,
					 s->failing.port);

		assert_true(blocks > 1);
		for (uint32_t at = 1; at < blocks; at++) {
			interrupt(s, at, false, on);
			interrupt(s, at, true, back);
		}
		print_message("%s: %u blocks\n", s->name, blocks);
	}
}

/* ---- Drawn ones ---- */

static struct drain draw_link(struct random *random)
{
	static char names[8][16]; /* of the last ones */
	static unsigned int next;
	uint32_t sw = random_below(random, fabric->num_switches), port;
	char *name = names[next++ % LENGTH(names)];

	snprintf(name, sizeof(names[0]), "%s", pm_fabric_name(fabric, sw));
	do {
		port = random_range(random, 1, fabric->nodes[sw].num_ports);
	} while (fabric->ports[fabric->ports[fabric->nodes[sw].first_port + port].peer]
			 .node >= fabric->num_switches);
	return (struct drain){name, port};
}

static void draw_drains(struct random *random, struct drain drains[2])
{
	uint32_t num = random_below(random, 3);

	for (uint32_t i = 0; i < num; i++) {
		drains[i] = draw_link(random);
		/* leaves have hosts and stay */
		if (drains[i].sw[0] != 'l' && random_chance(random, 50))
			drains[i].port = 0;
	}
	if (num == 2 && !strcmp(drains[0].sw, drains[1].sw) &&
	    drains[0].port == drains[1].port)
		drains[1] = (struct drain){NULL, 0}; /* nothing is drained twice */
}

static void test_drawn(void **state)
{
	uint64_t seed = from_environment("PM_SEED", 1);
	uint64_t end = seed + from_environment("PM_ROUNDS", 300);
	uint32_t tried = 0;

	print_message("seeds %llu to %llu\n", (unsigned long long)seed,
		      (unsigned long long)(end - 1));
	for (; seed < end; seed++) {
		struct random random = {seed};
		char name[32];
		struct scenario s = {.name = name};
		uint32_t blocks, at;
		bool back;

		snprintf(name, sizeof(name), "seed %llu", (unsigned long long)seed);
		draw_drains(&random, s.before);
		draw_drains(&random, s.after);
		s.failing = draw_link(&random);
		blocks = count_blocks(&s);
		if (blocks < 2)
			continue;
		at = random_range(&random, 1, blocks - 1);
		back = random_chance(&random, 50);
		interrupt(&s, at, back,
			  back ? paths_of(s.before, count(s.before), s.failing.sw,
					  s.failing.port)
			       : paths_of(s.after, count(s.after), s.failing.sw,
					  s.failing.port));
		tried++;
	}
	print_message("%u of them interrupted\n", tried);
	assert_true(tried > 0);
}

static int set_up(void **state)
{
	const struct recipe_meshed shape = {
		.pods = 2, .leaves = 2, .middles = 3, .tops = 3, .hosts = 3};

	recipe_add_meshed(&recipe, &shape);
	fabric = recipe_build(&recipe, NULL);
	folder = subnet_make_folder();
	return 0;
}

static int tear_down(void **state)
{
	subnet_remove_folder();
	pm_fabric_free(fabric);
	recipe_free(&recipe);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_set),
		cmocka_unit_test(test_drawn),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
