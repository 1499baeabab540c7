/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loops and cycles while Sets arrive, against check's results for each mixture of
 * tables.
 */
#include "world.h"
#include "unit.h"

#include <portmajor/lab/mixture.h>

#define SETS 40
#define FAILED_AT 1000

/* ---- By hand ---- */

/* A ring of three switches with a host each, and a path back. */
static const char ring[] =
	"r0/3 r1/3 r2/3 r0:1=a r1:1=b r2:1=c r0:2=r1:3 r1:2=r2:3 r2:2=r0:3";

/* LIDs 1 to 3 of hosts a to c, of which switch k has its own at port 1. */
static struct pm_lft_trace *make_ring(const struct pm_fabric *fabric,
				      const uint8_t *tables)
{
	static const char *const names[] = {"a", "b", "c"};
	struct pm_lft_trace *trace = calloc(1, sizeof(*trace));

	assert_non_null(trace);
	trace->lid = calloc(fabric->num_ports, sizeof(*trace->lid));
	trace->lmc = calloc(fabric->num_ports, 1);
	trace->length = 64;
	trace->tables = malloc(3 * 64);
	trace->failed_at = FAILED_AT;
	trace->set = calloc(SETS, sizeof(*trace->set));
	trace->entries = malloc(SETS * 64);
	assert_true(trace->lid && trace->lmc && trace->tables && trace->set &&
		    trace->entries);
	memset(trace->tables, PM_LFT_KEEP, 3 * 64);
	for (uint32_t i = 0; i < 3; i++) {
		trace->lid[world_port(fabric, names[i], 1)] = (uint16_t)(i + 1);
		memcpy(trace->tables + i * 64 + 1, tables + i * 3, 3);
	}
	return trace;
}

static void add_set(struct pm_lft_trace *trace, uint64_t ns, uint32_t sw,
		    const uint8_t *entries)
{
	uint8_t *to = trace->entries + (size_t)trace->num * 64;

	memset(to, PM_LFT_KEEP, 64);
	memcpy(to + 1, entries, 3);
	trace->set[trace->num++] = (struct pm_lft_trace_set){ns, ns, ns, sw, 0};
}

static void assert_ring(const struct pm_mixture *found, const struct pm_mixture_ring *it,
			uint32_t made, uint32_t removed, const uint32_t *at,
			uint32_t length)
{
	uint32_t turn = 0;

	assert_int_equal(it->made, made);
	assert_int_equal(it->removed, removed);
	assert_int_equal(it->length, length);
	while (turn < length && found->at[it->first + turn] != at[0])
		turn++;
	for (uint32_t i = 0; i < length; i++)
		assert_int_equal(found->at[it->first + (turn + i) % length], at[i]);
}

/* LID 3 goes back and forth between r0 and r1 from the first Set to the third. */
static void test_loop(void **state)
{
	static const uint8_t tables[] = {1, 2, 3, 3, 1, 2, 2, 3, 1};
	struct pm_fabric *fabric = recipe_draw(ring);
	struct pm_lft_trace *trace = make_ring(fabric, tables);
	struct pm_mixture found;

	add_set(trace, 1500, 0, (const uint8_t[]){1, 2, 2}); /* over r1: no loop yet */
	add_set(trace, 2000, 1, (const uint8_t[]){3, 1, 3});
	add_set(trace, 2500, 2, (const uint8_t[]){2, 3, 1}); /* nothing new */
	add_set(trace, 3500, 0, (const uint8_t[]){1, 2, 3});
	pm_mixture_follow(fabric, trace, &found);
	assert_int_equal(found.loops.num, 1);
	assert_int_equal(found.loops.most, 1);
	assert_int_equal(found.loops.ns, 1500);
	assert_int_equal(found.loops.list[0].lid, 3);
	assert_ring(&found, &found.loops.list[0], 1, 3, (const uint32_t[]){0, 1}, 2);
	assert_int_equal(found.cycles.num,
			 1); /* there and back: each waits for the other */
	assert_ring(&found, &found.cycles.list[0], 1, 3,
		    (const uint32_t[]){world_port(fabric, "r0", 2),
				       world_port(fabric, "r1", 3)},
		    2);
	pm_mixture_free(&found);
	pm_lft_trace_free(trace);
	pm_fabric_free(fabric);
}

/* The same loop, made and removed by Sets that arrive at one time: it never existed. */
static void test_momentary_loop(void **state)
{
	static const uint8_t tables[] = {1, 2, 3, 3, 1, 2, 2, 3, 1};
	struct pm_fabric *fabric = recipe_draw(ring);
	struct pm_lft_trace *trace = make_ring(fabric, tables);
	struct pm_mixture found;

	add_set(trace, 1500, 0, (const uint8_t[]){1, 2, 2});
	add_set(trace, 2000, 1, (const uint8_t[]){3, 1, 3});
	add_set(trace, 2000, 0, (const uint8_t[]){1, 2, 3});
	pm_mixture_follow(fabric, trace, &found);
	assert_int_equal(found.loops.num, 0);
	assert_int_equal(found.loops.ns, 0);
	assert_int_equal(found.cycles.num, 0);
	pm_mixture_free(&found);
	pm_lft_trace_free(trace);
	pm_fabric_free(fabric);
}

/* The same loop in the tables: it is there while its link is, and a Set ends it. */
static void test_loop_returns(void **state)
{
	static const uint8_t tables[] = {1, 2, 2, 3, 1, 3, 2, 3, 1};
	struct pm_fabric *fabric = recipe_draw(ring);
	struct pm_lft_trace *trace = make_ring(fabric, tables);
	uint32_t port = world_port(fabric, "r1", 3);
	struct pm_mixture found;

	trace->failed = malloc(sizeof(port));
	trace->active = malloc(sizeof(*trace->active));
	assert_true(trace->failed && trace->active);
	trace->failed[trace->num_failed++] = port;
	trace->active[trace->num_active++] = (struct pm_lft_trace_return){1700, port};
	add_set(trace, 2500, 0, (const uint8_t[]){1, 2, 3});
	pm_mixture_follow(fabric, trace, &found);
	assert_int_equal(found.loops.num, 2);
	assert_int_equal(found.loops.ns, 800);
	assert_ring(&found, &found.loops.list[0], PM_MIXTURE_FIRST, PM_MIXTURE_FAILURE,
		    (const uint32_t[]){0, 1}, 2);
	assert_ring(&found, &found.loops.list[1], 1, 0, (const uint32_t[]){0, 1}, 2);
	assert_int_equal(found.cycles.num, 2);
	assert_int_equal(found.cycles.ns, 800);
	pm_mixture_free(&found);
	pm_lft_trace_free(trace);
	pm_fabric_free(fabric);
}

/*
 * All packets go in one direction, without a loop: packets of two hops close a cycle of
 * three.
 */
static void test_cycle(void **state)
{
	static const uint8_t tables[] = {1, 2, 2, 3, 1, 2, 2, 3, 1};
	struct pm_fabric *fabric = recipe_draw(ring);
	struct pm_lft_trace *trace = make_ring(fabric, tables);
	struct pm_mixture found;
	uint32_t failed = world_port(fabric, "r1", 2);
	const uint32_t at[] = {world_port(fabric, "r0", 2), failed,
			       world_port(fabric, "r2", 2)};

	trace->failed = malloc(sizeof(failed));
	assert_non_null(trace->failed);
	trace->failed[trace->num_failed++] = failed;
	add_set(trace, 100, 1, (const uint8_t[]){2, 1, 2});
	add_set(trace, 200, 2, (const uint8_t[]){2, 2, 1});
	pm_mixture_follow(fabric, trace, &found);
	assert_int_equal(found.loops.num, 0);
	assert_int_equal(found.cycles.num, 1);
	assert_ring(&found, &found.cycles.list[0], 1, PM_MIXTURE_FAILURE, at, 3);
	assert_int_equal(found.cycles.most, 0); /* since the failure */
	pm_mixture_free(&found);
	/* Without the failure it stays. */
	trace->num_failed = 0;
	pm_mixture_follow(fabric, trace, &found);
	assert_ring(&found, &found.cycles.list[0], 1, PM_MIXTURE_NOTHING, at, 3);
	assert_int_equal(found.cycles.most, 1);
	pm_mixture_free(&found);
	/* Made and removed at one time: nothing was there. */
	add_set(trace, 200, 2, (const uint8_t[]){2, 3, 1});
	pm_mixture_follow(fabric, trace, &found);
	assert_int_equal(found.cycles.num, 0);
	pm_mixture_free(&found);
	pm_lft_trace_free(trace);
	pm_fabric_free(fabric);
}

/* ---- Against check ---- */

struct scene {
	struct world world;
	struct recipe recipe;
	struct random random;
	struct pm_fabric *now; /* without the parts that have failed by now */
	struct pm_lft_trace *trace;
	uint8_t *tables; /* now */
};

/* Entries of a Set: the plan's, with some that lead anywhere. */
static void draw_set(struct scene *s, uint64_t ns)
{
	const struct world *w = &s->world;
	struct pm_lft_trace *trace = s->trace;
	uint32_t sw = random_below(&s->random, w->num_switches);
	uint32_t block = random_below(&s->random, w->stride / 64);
	uint8_t *entries = trace->entries + (size_t)trace->num * 64;

	memcpy(entries, w->first + (size_t)sw * w->stride + (size_t)block * 64, 64);
	for (uint32_t i = random_below(&s->random, 3) * 6; i; i--)
		entries[random_below(&s->random, 64)] = (uint8_t)random_below(
			&s->random, w->fabric->nodes[sw].num_ports + 1u);
	trace->set[trace->num++] = (struct pm_lft_trace_set){ns, ns, ns, sw, block};
	if (random_chance(&s->random, 5))
		trace->set[trace->num - 1].arrived = trace->set[trace->num - 1].acked =
			PM_LFT_TRACE_NEVER;
}

static void draw_failure(struct scene *s)
{
	const struct pm_fabric *fabric = s->world.fabric;
	struct pm_lft_trace *trace = s->trace;
	uint8_t *gone = calloc(fabric->num_ports, 1);

	trace->failed = calloc(4, sizeof(*trace->failed));
	assert_true(gone && trace->failed);
	for (uint32_t i = random_below(&s->random, 4); i; i--) {
		uint32_t port = random_below(&s->random, fabric->num_ports);
		uint32_t peer = fabric->ports[port].peer;

		if (fabric->ports[port].node >= fabric->num_switches || peer == PM_NONE ||
		    gone[port])
			continue;
		gone[port] = gone[peer] = 1;
		trace->failed[trace->num_failed++] = port;
	}
	free(gone);
}

/* Some of these links return, each at a time between two Sets; a switch was reset. */
static void draw_return(struct scene *s)
{
	struct pm_lft_trace *trace = s->trace;
	uint64_t ns = FAILED_AT + 5; /* Sets come at multiples of 10 */

	trace->active = calloc(4, sizeof(*trace->active));
	trace->reset = calloc(1, sizeof(*trace->reset));
	assert_true(trace->active && trace->reset);
	for (uint32_t i = 0; i < trace->num_failed; i++) {
		ns += (1 + random_below(&s->random, 10)) * 10;
		if (random_chance(&s->random, 70))
			trace->active[trace->num_active++] =
				(struct pm_lft_trace_return){ns, trace->failed[i]};
	}
	if (random_chance(&s->random, 30))
		trace->reset[trace->num_reset++] =
			random_below(&s->random, s->world.num_switches);
}

static bool scene_begin(struct scene *s, uint64_t seed)
{
	const struct pm_fabric *fabric;
	struct pm_lft_trace *trace;
	uint64_t ns = FAILED_AT - 200;

	*s = (struct scene){.random = {seed}};
	if (!world_make_random(&s->world, &s->random, &s->recipe)) {
		recipe_free(&s->recipe);
		return false;
	}
	fabric = s->world.fabric;
	trace = s->trace = calloc(1, sizeof(*trace));
	assert_non_null(trace);
	trace->lid = calloc(fabric->num_ports, sizeof(*trace->lid));
	trace->lmc = calloc(fabric->num_ports, 1);
	trace->length = s->world.stride;
	trace->tables = world_tables(s->world.routes, s->world.num_switches);
	s->tables = world_tables(s->world.routes, s->world.num_switches);
	trace->set = calloc(SETS, sizeof(*trace->set));
	trace->entries = malloc(SETS * 64);
	s->now = pm_fabric_clone(fabric);
	assert_true(trace->lid && trace->lmc && trace->set && trace->entries && s->now);
	trace->failed_at = FAILED_AT;
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		trace->lid[i] = fabric->ports[i].lid;
		trace->lmc[i] = fabric->ports[i].lmc;
	}
	draw_failure(s);
	draw_return(s);
	while (trace->num < SETS) {
		draw_set(s, ns);
		ns += random_below(&s->random, 3) * 10;
	}
	return true;
}

static void scene_end(struct scene *s)
{
	pm_lft_trace_free(s->trace);
	free(s->tables);
	pm_fabric_free(s->now);
	world_free(&s->world);
	recipe_free(&s->recipe);
}

static void look(const struct scene *s, struct pm_check_loops *loops,
		 struct pm_check_credits *credits)
{
	uint32_t num = s->world.num_switches;
	const uint8_t **table = calloc(num, sizeof(*table));
	uint16_t *top = calloc(num, sizeof(*top));
	const struct pm_check check = {.fabric = s->now,
				       .level = s->world.plan->tree.level,
				       .table = table,
				       .top = top,
				       .sm = PM_NONE};

	assert_true(table && top);
	for (uint32_t sw = 0; sw < num; sw++) {
		table[sw] = s->tables + (size_t)sw * s->world.stride;
		top[sw] = (uint16_t)(s->world.stride - 1);
	}
	assert_int_equal(pm_check_loops(&check, loops, NULL), 0);
	assert_int_equal(pm_check_credits(&check, credits, NULL), 0);
	free(table);
	free(top);
}

static bool has_happened(const struct scene *s, uint32_t event, uint64_t ns, bool failed)
{
	if (event == PM_MIXTURE_FAILURE)
		return failed;
	if (event >= PM_MIXTURE_NOTHING)
		return event == PM_MIXTURE_FIRST;
	return event < s->trace->num ? s->trace->set[event].arrived <= ns
				     : s->trace->active[event - s->trace->num].ns <= ns;
}

/* Whether a reported loop exists. */
static bool is_there(const struct scene *s, const struct pm_mixture_ring *it, uint64_t ns,
		     bool failed)
{
	return has_happened(s, it->made, ns, failed) &&
	       !has_happened(s, it->removed, ns, failed);
}

static uint64_t loops_found, cycles_found, moments, returns;

static void compare(const struct scene *s, const struct pm_mixture *found, uint64_t ns,
		    bool failed, uint64_t seed)
{
	uint8_t *looping = calloc(s->world.stride, 1);
	struct pm_check_credits credits;
	struct pm_check_loops loops;
	uint32_t lids = 0, cycles = 0;

	assert_non_null(looping);
	look(s, &loops, &credits);
	for (uint32_t i = 0; i < found->loops.num; i++)
		if (is_there(s, &found->loops.list[i], ns, failed) &&
		    !looping[found->loops.list[i].lid]) {
			looping[found->loops.list[i].lid] = 1;
			lids++;
		}
	for (uint32_t i = 0; i < found->cycles.num; i++)
		cycles += is_there(s, &found->cycles.list[i], ns, failed);
	if (lids != loops.lids || !cycles != !credits.length)
		fail_msg("PM_SEED=%llu PM_ROUNDS=1: at %llu %u LIDs loop, not %u; %u "
			 "cycles, and of %u channels by check",
			 (unsigned long long)seed, (unsigned long long)ns, lids,
			 loops.lids, cycles, credits.length);
	loops_found += lids != 0;
	cycles_found += cycles != 0;
	moments++;
	free(looping);
}

/* The fabric after the failure: so many links have returned. */
static void cut_lost(struct scene *s, uint32_t returned)
{
	const struct pm_lft_trace *trace = s->trace;
	uint32_t k;

	pm_fabric_free(s->now);
	s->now = pm_fabric_clone(s->world.fabric);
	assert_non_null(s->now);
	for (uint32_t i = 0; i < trace->num_failed; i++) {
		for (k = 0; k < returned; k++)
			if (trace->active[k].port == trace->failed[i])
				break;
		if (k == returned)
			pm_fabric_cut(s->now, trace->failed[i]);
	}
}

static void lose_links(struct scene *s)
{
	const struct pm_lft_trace *trace = s->trace;

	cut_lost(s, 0);
	for (uint32_t i = 0; i < trace->num_reset; i++)
		memset(s->tables + (size_t)trace->reset[i] * s->world.stride, PM_LFT_KEEP,
		       s->world.stride);
}

static void try_seed(uint64_t seed)
{
	struct scene s;
	struct pm_mixture found;
	uint32_t returned = 0;
	bool failed = false;

	if (!scene_begin(&s, seed))
		return;
	pm_mixture_follow(s.world.fabric, s.trace, &found);
	compare(&s, &found, 0, false, seed);
	for (uint32_t i = 0; i < s.trace->num; i++) {
		const struct pm_lft_trace_set *set = &s.trace->set[i];

		if (!failed && set->sent >= FAILED_AT) {
			lose_links(&s);
			failed = true;
			compare(&s, &found, FAILED_AT - 1, true, seed);
		}
		while (returned < s.trace->num_active &&
		       s.trace->active[returned].ns < set->sent) {
			cut_lost(&s, ++returned);
			compare(&s, &found, s.trace->active[returned - 1].ns, failed,
				seed);
			returns++;
		}
		if (set->arrived != PM_LFT_TRACE_NEVER)
			memcpy(s.tables + (size_t)set->sw * s.world.stride +
				       (size_t)set->block * 64,
			       s.trace->entries + (size_t)i * 64, 64);
		if (i + 1 == s.trace->num || s.trace->set[i + 1].sent > set->sent)
			compare(&s, &found, set->sent, failed, seed);
	}
	pm_mixture_free(&found);
	scene_end(&s);
}

static void test_by_check(void **state)
{
	uint64_t seed = from_environment("PM_SEED", 1);
	uint64_t end = seed + from_environment("PM_ROUNDS", 400);

	printf("seeds %llu to %llu\n", (unsigned long long)seed,
	       (unsigned long long)(end - 1));
	for (; seed < end; seed++)
		try_seed(seed);
	printf("%llu mixtures, %llu with loops, %llu with cycles; %llu links returned\n",
	       (unsigned long long)moments, (unsigned long long)loops_found,
	       (unsigned long long)cycles_found, (unsigned long long)returns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_momentary_loop),
		cmocka_unit_test(test_loop_returns),
		cmocka_unit_test(test_cycle),
		cmocka_unit_test(test_by_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
