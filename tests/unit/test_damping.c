/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Series of one cable as text; then random series in random trees against a model that
 * keeps the whole history and computes everything anew each time. PM_SEED and PM_ROUNDS
 * are as in test_properties.c.
 */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/policy/damping.h>

static const struct pm_damping_config usual = {3, 60000, 10000, 35000};

static void *zeros(size_t count, size_t size)
{
	void *memory = calloc(count + 1, size);

	assert_non_null(memory);
	return memory;
}

/* ---- One world ---- */

struct ground {
	struct world world;
	const struct pm_fabric *topology;
	struct pm_damping *damping;
	uint8_t *whole, *before, *now, *out; /* [port] */
	struct pm_damping_holds holds;
};

static void begin(struct ground *g, const char *drawing,
		  const struct pm_damping_config *config)
{
	memset(g, 0, sizeof(*g));
	world_make(&g->world, recipe_draw(drawing), PM_GROUPED);
	g->topology = g->world.plan->topology;
	g->before = zeros(g->topology->num_ports, 1);
	g->now = zeros(g->topology->num_ports, 1);
	g->out = zeros(g->topology->num_ports, 1);
	g->whole = zeros(g->topology->num_ports, 1);
	assert_true(pm_plan_match(g->world.plan, g->world.fabric, g->whole));
	memcpy(g->now, g->whole, g->topology->num_ports);
	memcpy(g->before, g->whole, g->topology->num_ports);
	assert_int_equal(pm_damping_make(config, &g->damping, NULL), 0);
}

static void end(struct ground *g)
{
	pm_damping_free(g->damping);
	world_free(&g->world);
	free(g->whole);
	free(g->before);
	free(g->now);
	free(g->out);
}

static uint32_t port_of(const struct ground *g, const char *sw, unsigned int num)
{
	return world_port(g->topology, sw, num);
}

static void set(struct ground *g, const char *sw, unsigned int num, uint8_t usable)
{
	uint32_t port = port_of(g, sw, num), peer = g->topology->ports[port].peer;

	g->now[port] = usable;
	if (peer != PM_NONE)
		g->now[peer] = usable;
}

/* Observes the set links, and excludes those on hold. */
static void look(struct ground *g, uint64_t at)
{
	assert_int_equal(
		pm_damping_observe(g->damping, g->topology, g->before, g->now, at, NULL),
		0);
	memcpy(g->before, g->now, g->topology->num_ports);
	memcpy(g->out, g->now, g->topology->num_ports);
	assert_int_equal(
		pm_damping_hold(g->damping, g->world.plan, g->out, at, &g->holds, NULL),
		0);
}

/* Down and up, `times` times, a millisecond each; the time after it. */
static uint64_t flap(struct ground *g, const char *sw, unsigned int num, int times,
		     uint64_t at)
{
	while (times--) {
		set(g, sw, num, 0);
		look(g, at++);
		set(g, sw, num, 1);
		look(g, at++);
	}
	return at;
}

/* The record of the cable at this port; false if there is none. */
static bool find(const struct ground *g, const char *sw, unsigned int num, uint64_t at,
		 struct pm_damped_link *flap)
{
	uint64_t guid = g->topology->nodes[pm_fabric_find_name(g->topology, sw)].guid;
	uint32_t i = 0;

	while (pm_damping_next(g->damping, at, &i, flap))
		for (int e = 0; e < 2; e++)
			if (flap->end[e].guid == guid && flap->end[e].num == num)
				return true;
	return false;
}

static uint32_t count(const struct pm_damping *damping)
{
	struct pm_damped_link flap;
	uint32_t at = 0;

	while (pm_damping_next(damping, 0, &at, &flap))
		;
	return at;
}

/* ---- Series of one cable ---- */

#define TWO_SPINES                                                                       \
	"l0/4 l1/4 s0/2 s1/2 l0:1=a l1:1=b l0:2=s0:1 l1:2=s0:2 l0:3=s1:1 l1:3=s1:2"

/*
 * SECONDSd and SECONDSu: the cable goes down, comes up; SECONDS=STATE/DOWNS/LEFT/HOLD
 * in seconds is then expected, or SECONDS=none.
 */
static const struct {
	const char *name, *series;
} series[] = {
	{"within the limit", "0d 1u 2d 3u 4d 4=noted/3/0/0 5u 6=noted/3/0/0"},
	{"once too often", "0d 1u 2d 3u 4d 5u 6d 6=down/4/10/10 8u 8=on-hold/4/10/10 "
			   "17=on-hold/4/1/10 18=watched/4/0/10"},
	{"comes up late all the same", "0d 1u 2d 3u 4d 5u 6d 90u 90=on-hold/4/10/10"},
	{"just within the window", "0d 1u 20d 21u 40d 41u 59d 61u 61=on-hold/4/10/10"},
	{"just outside the window", "0d 1u 20d 21u 40d 41u 60d 61u 61=noted/4/0/0"},
	{"the window moves on",
	 "0d 1u 20d 21u 40d 41u 60d 61u 79d 80u 80=on-hold/5/10/10"},
	{"once down, forgotten", "0d 1u 59=noted/1/0/0 60=none"},
	{"down for good, forgotten", "0d 59=noted/1/0/0 60=none 61u 61=none"},
	{"down on hold: doubled to the longest",
	 "0d 1u 2d 3u 4d 5u 6d 7u 8d 8=down/5/20/20 9u 9=on-hold/5/20/20 "
	 "28=on-hold/5/1/20 "
	 "28d 29u 29=on-hold/6/35/35 30d 31u 31=on-hold/7/35/35 66=watched/7/0/35"},
	{"a hold is uptime without a break",
	 "0d 1u 2d 3u 4d 5u 6d 7u 16d 17u 18=on-hold/5/19/20"},
	{"down in the window after a hold",
	 "0d 1u 2d 3u 4d 5u 6d 7u 76=watched/4/0/10 76d 77u 77=on-hold/5/20/20"},
	{"quiet for a window after a hold",
	 "0d 1u 2d 3u 4d 5u 6d 7u 76=watched/4/0/10 77=none 78d 79u 79=noted/1/0/0 "
	 "80d 81u 82d 83u 84d 85u 85=on-hold/4/10/10"},
	{"quiet, and down in the same moment",
	 "0d 1u 2d 3u 4d 5u 6d 7u 77d 77=noted/1/0/0"},
	{"on hold and down for long",
	 "0d 1u 2d 3u 4d 5u 6d 100=down/4/10/10 101=none 102u 102=none"},
};

static void expect(const struct ground *g, const char *name, const char *token,
		   uint64_t at)
{
	const char *wanted = strchr(token, '=') + 1;
	char text[40] = "none";
	struct pm_damped_link flap;

	if (find(g, "l0", 2, at, &flap))
		snprintf(text, sizeof(text), "%s/%u/%u/%u",
			 pm_damping_state_name(flap.state), flap.downs,
			 flap.left_ms / 1000, flap.hold_ms / 1000);
	if (strcmp(text, wanted) != 0)
		fail_msg("%s: %s, not %s", name, token, text);
}

static void check_out(const struct ground *g, const char *name, uint64_t at)
{
	struct pm_damped_link flap;
	bool held = find(g, "l0", 2, at, &flap) && flap.state == PM_DAMPING_ON_HOLD;

	for (uint32_t i = 0; i < g->topology->num_ports; i++) {
		bool is_it = i == port_of(g, "l0", 2) || i == port_of(g, "s0", 1);

		if (g->out[i] != (g->now[i] && !(held && is_it)))
			fail_msg("%s: port %u at %u", name, i, (unsigned int)at);
	}
	if (g->holds.on_hold != held || g->holds.needed ||
	    g->holds.next_ms != (held ? flap.left_ms : UINT64_MAX))
		fail_msg("%s: holds at %u", name, (unsigned int)at);
}

static void test_series(void **state)
{
	for_each_row(row, series) {
		char *copy = strdup(row->series), *rest = copy, *token;
		struct ground g;

		begin(&g, TWO_SPINES, &usual);
		while ((token = strsep(&rest, " "))) {
			char *what;
			uint64_t at = 1000 * strtoull(token, &what, 10);

			if (*what != '=')
				set(&g, "l0", 2, *what == 'u');
			look(&g, at);
			check_out(&g, row->name, at);
			if (*what == '=')
				expect(&g, row->name, token, at);
		}
		free(copy);
		end(&g);
	}
}

static void test_off(void **state)
{
	struct pm_damping_config config = usual;
	struct ground g;

	config.limit = 0;
	begin(&g, TWO_SPINES, &config);
	flap(&g, "l0", 2, 40, 0);
	assert_int_equal(count(g.damping), 0);
	end(&g);
}

static void test_limits(void **state)
{
	for (uint32_t limit = 1; limit <= PM_DAMPING_LIMIT_MAX; limit++) {
		struct pm_damping_config config = usual;
		struct ground g;
		uint64_t at;

		config.limit = limit;
		begin(&g, TWO_SPINES, &config);
		at = flap(&g, "l0", 2, (int)limit, 0);
		assert_int_equal(g.holds.on_hold, 0);
		flap(&g, "l0", 2, 1, at);
		assert_int_equal(g.holds.on_hold, 1);
		end(&g);
	}
}

static void test_bad_config(void **state)
{
	static const struct pm_damping_config rows[] = {
		{PM_DAMPING_LIMIT_MAX + 1, 1, 1, 1},
		{1, 0, 1, 1},
		{1, 1, 0, 1},
		{1, 1, 2, 1},
	};

	for_each_row(row, rows) {
		struct pm_damping *damping = NULL;
		struct pm_error err = {""};

		assert_int_equal(pm_damping_make(row, &damping, &err), -EINVAL);
		assert_true(err.text[0] && !damping);
	}
	pm_damping_free(NULL);
}

/* Holds near the end of 32 bits neither wrap nor stop short. */
static void test_long_holds(void **state)
{
	static const struct pm_damping_config config = {1, UINT32_MAX, 3u << 30,
							UINT32_MAX};
	struct pm_damped_link record;
	struct ground g;
	uint64_t at = (uint64_t)1 << 40;

	begin(&g, TWO_SPINES, &config);
	at = flap(&g, "l0", 2, 2, at);
	assert_int_equal(g.holds.next_ms, 3u << 30);
	at = flap(&g, "l0", 2, 1, at);
	assert_int_equal(g.holds.next_ms, UINT32_MAX);
	look(&g, at - 1 + UINT32_MAX - 1);
	assert_int_equal(g.holds.next_ms, 1);
	look(&g, at - 1 + UINT32_MAX);
	assert_int_equal(g.holds.on_hold, 0);
	assert_true(find(&g, "l0", 2, at - 1 + UINT32_MAX, &record));
	assert_int_equal(record.state, PM_DAMPING_WATCHED);
	end(&g);
}

/* ---- Last paths ---- */

static void expect_state(const struct ground *g, const char *sw, unsigned int num,
			 uint64_t at, enum pm_damping_state wanted)
{
	struct pm_damped_link flap;

	if (!find(g, sw, num, at, &flap) || flap.state != wanted)
		fail_msg("%s[%u] at %u is not %s", sw, num, (unsigned int)at,
			 pm_damping_state_name(wanted));
	assert_int_equal(g->out[port_of(g, sw, num)],
			 wanted == PM_DAMPING_NEEDED || wanted == PM_DAMPING_WATCHED);
}

/* Both paths flap; the one with the shorter hold stays, until the other one's ends. */
static void test_last_path(void **state)
{
	struct ground g;
	uint64_t at;

	begin(&g, TWO_SPINES, &usual);
	at = flap(&g, "l0", 2, 5, 0);
	at = flap(&g, "l0", 3, 4, at);
	expect_state(&g, "l0", 2, at, PM_DAMPING_ON_HOLD);
	expect_state(&g, "l0", 3, at, PM_DAMPING_NEEDED);
	assert_int_equal(g.holds.on_hold, 1);
	assert_int_equal(g.holds.needed, 1);
	assert_int_equal(g.holds.next_ms, 10000);
	at = flap(&g, "l0", 3, 2, at);
	expect_state(&g, "l0", 2, at, PM_DAMPING_NEEDED);
	expect_state(&g, "l0", 3, at, PM_DAMPING_ON_HOLD);
	look(&g, 20009);
	expect_state(&g, "l0", 2, 20009, PM_DAMPING_WATCHED);
	expect_state(&g, "l0", 3, 20009, PM_DAMPING_ON_HOLD);
	end(&g);
}

/* Decided by another path that fails or returns. */
static void test_other_path(void **state)
{
	struct ground g;
	uint64_t at;

	begin(&g, TWO_SPINES, &usual);
	at = flap(&g, "l0", 2, 4, 0);
	expect_state(&g, "l0", 2, at, PM_DAMPING_ON_HOLD);
	set(&g, "l1", 3, 0);
	look(&g, ++at);
	expect_state(&g, "l0", 2, at, PM_DAMPING_NEEDED);
	set(&g, "l1", 3, 1);
	look(&g, ++at);
	expect_state(&g, "l0", 2, at, PM_DAMPING_ON_HOLD);
	end(&g);
}

/* A switch without end ports needs no path. */
static void test_no_end_ports(void **state)
{
	struct ground g;
	uint64_t at;

	begin(&g, TWO_SPINES, &usual);
	at = flap(&g, "l0", 2, 4, 0);
	at = flap(&g, "l1", 2, 4, at);
	assert_int_equal(g.holds.on_hold, 2);
	at = flap(&g, "l0", 3, 4, at);
	assert_int_equal(g.holds.on_hold + g.holds.needed, 3);
	assert_int_equal(g.holds.needed, 1);
	set(&g, "l1", 1, 0); /* the host of l1 */
	look(&g, at);
	assert_int_equal(g.holds.on_hold, 3);
	end(&g);
}

/* ---- What counts as down ---- */

static void dark(struct ground *g, const char *sw)
{
	const struct pm_node *n =
		&g->topology->nodes[pm_fabric_find_name(g->topology, sw)];

	for (unsigned int p = 1; p <= n->num_ports; p++)
		set(g, sw, p, 0);
}

/* The SM is cut off again and again: the rest of the fabric does not flap. */
static void test_out_of_sight(void **state)
{
	struct ground g;
	struct pm_damped_link record;

	begin(&g, TWO_SPINES, &usual);
	for (uint64_t i = 0; i < 10; i++) {
		dark(&g, "s0");
		dark(&g, "s1");
		dark(&g, "l1");
		look(&g, 2 * i);
		memcpy(g.now, g.whole, g.topology->num_ports);
		look(&g, 2 * i + 1);
	}
	assert_int_equal(count(g.damping), 2);
	assert_true(find(&g, "l0", 2, 20, &record));
	assert_int_equal(record.downs, 10);
	assert_true(find(&g, "l0", 3, 20, &record));
	end(&g);
}

/*
 * A hold goes on while its cable cannot be observed; a failure meanwhile is found
 * later.
 */
static void test_hold_out_of_sight(void **state)
{
	struct pm_damped_link record;
	struct ground g;

	begin(&g, TWO_SPINES, &usual);
	flap(&g, "l0", 2, 4, 0);
	memset(g.now, 0, g.topology->num_ports);
	look(&g, 100);
	assert_int_equal(g.holds.on_hold + g.holds.needed, 0);
	memcpy(g.now, g.whole, g.topology->num_ports);
	look(&g, 200);
	assert_true(find(&g, "l0", 2, 200, &record));
	assert_int_equal(record.downs, 4);
	assert_int_equal(record.left_ms, 10000 - 193);
	memset(g.now, 0, g.topology->num_ports);
	look(&g, 300);
	memcpy(g.now, g.whole, g.topology->num_ports);
	set(&g, "l0", 2, 0);
	look(&g, 400);
	assert_true(find(&g, "l0", 2, 400, &record));
	assert_int_equal(record.downs, 5);
	assert_int_equal(record.state, PM_DAMPING_DOWN);
	end(&g);
}

#define ELSEWHERE                                                                        \
	"l0/4 l1/4 s0/2 s1/2 l0:1=a l1:1=b l0:2=s0:1 l1:3=s0:2 l0:3=s1:1 l1:2=s1:2"
#define NOWHERE "l0/4 l1/4 s0/2 s1/2 l0:1=a l1:1=b l0:2=s0:1 l0:3=s1:1 l1:3=s1:2"
#define NO_SUCH_SWITCH "l0/4 l0:1=a l0:2=b"

/* A new cable has nothing to do with the old one in its ports. */
static void test_moved_link(void **state)
{
	static const char *const others[] = {ELSEWHERE, NOWHERE, NO_SUCH_SWITCH};
	struct ground old, new;

	for (size_t i = 0; i < LENGTH(others); i++)
		for (int downs = 1; downs <= 4; downs += 3) {
			uint64_t at;
			struct pm_damped_link flap_before, flap_after;

			begin(&old, TWO_SPINES, &usual);
			at = flap(&old, "l1", 2, downs, 0);
			assert_true(find(&old, "l1", 2, at, &flap_before));
			begin(&new, others[i], &usual);
			assert_int_equal(pm_damping_observe(old.damping, new.topology,
							    new.now, new.now, at, NULL),
					 0);
			assert_int_equal(pm_damping_hold(old.damping, new.world.plan,
							 new.now, at, &old.holds, NULL),
					 0);
			assert_int_equal(old.holds.on_hold + old.holds.needed, 0);
			if (i == 0)
				assert_int_equal(new.now[port_of(&new, "l1", 2)], 1);
			assert_true(find(&old, "l1", 2, at, &flap_after));
			assert_int_equal(flap_after.downs, downs);
			assert_int_equal(flap_after.state, flap_before.state);
			end(&new);
			end(&old);
		}
}

#define WITHOUT_FIRST "l0/4 l1/4 s0/2 s1/2 l0:1=a l1:1=b l1:2=s0:2 l0:3=s1:1 l1:3=s1:2"

/* A removed link does not keep the links behind it from being observed. */
static void test_observed_behind(void **state)
{
	struct ground old, new;
	struct pm_damped_link record;

	begin(&old, TWO_SPINES, &usual);
	flap(&old, "l0", 2, 1, 0);
	flap(&old, "l1", 2, 1, 2);
	begin(&new, WITHOUT_FIRST, &usual);
	set(&new, "l1", 2, 0);
	assert_int_equal(pm_damping_observe(old.damping, new.topology, new.before,
					    new.now, 4, NULL),
			 0);
	assert_true(find(&old, "l0", 2, 4, &record));
	assert_int_equal(record.downs, 1);
	assert_true(find(&old, "l1", 2, 4, &record));
	assert_int_equal(record.downs, 2);
	end(&new);
	end(&old);
}

/* A copy has the same records, but its own limits. */
static void test_copy(void **state)
{
	static const struct pm_damping_config shorter = {1, 60000, 2000, 5000};
	struct pm_damping *before;
	struct pm_damped_link link;
	struct ground g;
	uint64_t at;

	begin(&g, TWO_SPINES, &usual);
	at = flap(&g, "l0", 2, 4, 0);
	look(&g, at);
	assert_int_equal(g.out[port_of(&g, "l0", 2)], 0);
	before = g.damping;
	assert_int_equal(pm_damping_copy(before, &shorter, at, &g.damping, NULL), 0);
	pm_damping_free(before);
	assert_int_equal(count(g.damping), 1);
	assert_true(find(&g, "l0", 2, at, &link));
	assert_int_equal(link.hold_ms, 5000);
	look(&g, at);
	assert_int_equal(g.out[port_of(&g, "l0", 2)], 0);
	at = flap(&g, "l1", 3, 2, at); /* once more than the new limit */
	assert_true(find(&g, "l1", 3, at, &link));
	assert_int_equal(link.hold_ms, 2000);
	end(&g);
}

static void test_clear(void **state)
{
	struct ground g;
	uint64_t guid, at;

	begin(&g, TWO_SPINES, &usual);
	at = flap(&g, "l0", 2, 4, 0);
	at = flap(&g, "l1", 3, 4, at);
	at = flap(&g, "l1", 2, 1, at);
	guid = g.topology->nodes[pm_fabric_find_name(g.topology, "s0")].guid;
	assert_int_equal(count(g.damping), 3);
	assert_int_equal(pm_damping_clear(g.damping, guid, 3), 0);
	assert_int_equal(pm_damping_clear(g.damping, guid + 0x1000000, 1), 0);
	assert_int_equal(count(g.damping), 3);
	assert_int_equal(pm_damping_clear(g.damping, guid, 1), 1);
	assert_int_equal(count(g.damping), 2);
	look(&g, at);
	assert_int_equal(g.out[port_of(&g, "l0", 2)], 1);
	at = flap(&g, "l0", 2, 3, at); /* it starts anew */
	assert_int_equal(g.out[port_of(&g, "l0", 2)], 1);
	at = flap(&g, "l0", 2, 1, at);
	assert_int_equal(g.out[port_of(&g, "l0", 2)], 0);
	assert_int_equal(pm_damping_clear(g.damping, guid, 0), 1);
	assert_int_equal(count(g.damping), 1);
	assert_int_equal(pm_damping_clear(g.damping, 0, 0), 1);
	assert_int_equal(count(g.damping), 0);
	end(&g);
}

/* ---- Random series against a model ---- */

static uint64_t seed;

static void require(bool fine, const char *what)
{
	if (!fine)
		fail_msg("PM_SEED=%llu PM_ROUNDS=1: %s", (unsigned long long)seed, what);
}
#define REQUIRE(condition) require((condition), #condition)

struct event {
	uint64_t at;
	bool up;
};

/* The present and former state of a cable of the recipe. */
struct model {
	uint32_t port; /* of the plan in force, PM_NONE: not of it, or to a host */
	bool down;     /* by itself */
	bool up;       /* as last noted */
	struct event *events;
	uint32_t num;
};

struct trial {
	struct random random;
	struct recipe recipe;
	struct pm_fabric *fabric;
	struct pm_plan *plan;
	struct pm_damping_config config;
	struct pm_damping *damping;
	struct model *models; /* [cable of the recipe] */
	bool *dark;	      /* [node of the recipe] */
	uint8_t *before, *now, *out;
	uint64_t at;
};

struct judgement {
	bool remembered;
	bool up;
	uint32_t downs, hold_ms, left_ms;
};

static bool forgotten(const struct pm_damping_config *config, const struct model *m,
		      uint32_t num, uint32_t hold_ms, uint64_t at)
{
	uint64_t last_down = 0;

	for (uint32_t i = 0; i < num; i++)
		if (!m->events[i].up)
			last_down = m->events[i].at;
	if (!hold_ms)
		return at >= last_down + config->window_ms;
	return at >= m->events[num - 1].at + config->window_ms +
			     (m->events[num - 1].up ? hold_ms : config->hold_max_ms);
}

/* How often it went down in the window that ends with this event. */
static uint32_t often(const struct pm_damping_config *config, const struct model *m,
		      uint32_t last)
{
	uint32_t times = 0;

	for (uint32_t i = 0; i <= last; i++)
		times += !m->events[i].up &&
			 m->events[i].at + config->window_ms > m->events[last].at;
	return times;
}

static struct judgement judge(const struct pm_damping_config *config,
			      const struct model *m, uint64_t at)
{
	struct judgement j = {0};
	uint64_t hold_end;

	for (uint32_t i = 0; i < m->num; i++) {
		if (i && forgotten(config, m, i, j.hold_ms, m->events[i].at))
			j.downs = j.hold_ms = 0;
		if (m->events[i].up)
			continue;
		j.downs++;
		if (j.hold_ms)
			j.hold_ms = 2 * j.hold_ms < config->hold_max_ms
					    ? 2 * j.hold_ms
					    : config->hold_max_ms;
		else if (often(config, m, i) > config->limit)
			j.hold_ms = config->hold_ms;
	}
	if (!m->num || forgotten(config, m, m->num, j.hold_ms, at))
		return (struct judgement){0};
	j.remembered = true;
	j.up = m->events[m->num - 1].up;
	hold_end = (j.up ? m->events[m->num - 1].at : at) + j.hold_ms;
	j.left_ms = hold_end > at ? (uint32_t)(hold_end - at) : 0;
	return j;
}

static void add_event(struct model *m, uint64_t at, bool up)
{
	m->up = up;
	m->events = realloc(m->events, (m->num + 1) * sizeof(*m->events));
	assert_non_null(m->events);
	m->events[m->num++] = (struct event){at, up};
}

static bool sees(const struct trial *t, uint32_t port)
{
	const struct pm_node *n =
		&t->plan->topology->nodes[t->plan->topology->ports[port].node];
	bool any = false;

	for (unsigned int p = 1; p <= n->num_ports; p++)
		any |= t->now[n->first_port + p];
	return any;
}

static void model_observe(struct trial *t)
{
	for (uint32_t c = 0; c < t->recipe.num_links; c++) {
		struct model *m = &t->models[c];
		bool usable;

		if (m->port == PM_NONE)
			continue;
		usable = t->now[m->port];
		if (!judge(&t->config, m, t->at).remembered) {
			m->up = t->before[m->port];
			m->num = 0;
		}
		if (m->up && !usable &&
		    (sees(t, m->port) || sees(t, t->plan->topology->ports[m->port].peer)))
			add_event(m, t->at, false);
		else if (!m->up && usable && m->num)
			add_event(m, t->at, true);
	}
}

/* Marks all that can be reached from here, going up first and then down. */
static void walk(const struct trial *t, const uint8_t *usable, uint32_t sw, bool down,
		 uint8_t (*discovered)[2])
{
	const struct pm_node *n = &t->plan->topology->nodes[sw];

	if (discovered[sw][down])
		return;
	discovered[sw][down] = 1;
	for (uint32_t i = n->first_port + 1u; i <= n->first_port + n->num_ports; i++) {
		uint8_t direction = t->plan->tree.direction[i];

		if (!usable[i] || (direction != PM_DOWN && direction != PM_UP))
			continue;
		if (direction == PM_DOWN || !down)
			walk(t, usable, pm_fabric_peer_node(t->plan->topology, i),
			     direction == PM_DOWN, discovered);
	}
}

/* joined[a][b] for switches with end ports. */
static uint8_t *find_connected(const struct trial *t, const uint8_t *usable)
{
	const struct pm_fabric *topology = t->plan->topology;
	uint32_t num = topology->num_switches;
	uint8_t *connected = zeros((size_t)num * num, 1), *ends = zeros(num, 1);

	for (uint32_t i = 0; i < topology->num_ports; i++)
		if (usable[i] && topology->ports[i].peer == PM_NONE)
			ends[topology->ports[i].node] = 1;
	for (uint32_t a = 0; a < num; a++) {
		uint8_t(*discovered)[2] = zeros(num, sizeof(*discovered));

		walk(t, usable, a, false, discovered);
		for (uint32_t b = 0; b < num; b++)
			connected[a * num + b] = ends[a] && ends[b] &&
						 (discovered[b][0] || discovered[b][1]);
		free(discovered);
	}
	free(ends);
	return connected;
}

/* Whether `usable` joins all the pairs that are joined. */
static bool connects_all(const struct trial *t, const uint8_t *usable,
			 const uint8_t *connected)
{
	size_t cells =
		(size_t)t->plan->topology->num_switches * t->plan->topology->num_switches;
	uint8_t *left = find_connected(t, usable);
	bool all = !memcmp(left, connected, cells);

	free(left);
	return all;
}

/* Excluded are only links that may be, and all that may be. */
static void check_holds(struct trial *t, const struct pm_damping_holds *holds)
{
	struct pm_damping_holds wanted = {.next_ms = UINT64_MAX};
	uint8_t *connected = find_connected(t, t->now);

	REQUIRE(connects_all(t, t->out, connected));
	for (uint32_t c = 0; c < t->recipe.num_links; c++) {
		struct judgement j = judge(&t->config, &t->models[c], t->at);
		uint32_t port = t->models[c].port, peer;

		if (port == PM_NONE)
			continue;
		peer = t->plan->topology->ports[port].peer;
		REQUIRE(t->out[port] == t->out[peer]);
		if (!t->now[port] || !j.left_ms) {
			REQUIRE(t->out[port] == t->now[port]);
			continue;
		}
		wanted.on_hold += !t->out[port];
		wanted.needed += t->out[port];
		if (j.left_ms < wanted.next_ms)
			wanted.next_ms = j.left_ms;
		if (!t->out[port])
			continue;
		t->out[port] = t->out[peer] = 0;
		REQUIRE(!connects_all(t, t->out, connected));
		t->out[port] = t->out[peer] = 1;
	}
	for (uint32_t i = 0; i < t->plan->topology->num_ports; i++)
		REQUIRE(t->plan->topology->ports[i].peer != PM_NONE ||
			t->out[i] == t->now[i]);
	REQUIRE(holds->on_hold == wanted.on_hold && holds->needed == wanted.needed);
	REQUIRE(holds->next_ms == wanted.next_ms);
	free(connected);
}

static struct model *model_of(struct trial *t, const struct pm_damped_link *flap)
{
	for (uint32_t c = 0; c < t->recipe.num_links; c++) {
		const struct recipe_link *link = &t->recipe.links[c];

		for (int e = 0; e < 2; e++)
			if (t->recipe.nodes[link->node[e]].guid == flap->end[0].guid &&
			    link->port[e] == flap->end[0].num &&
			    t->recipe.nodes[link->node[!e]].guid == flap->end[1].guid &&
			    link->port[!e] == flap->end[1].num)
				return &t->models[c];
	}
	return NULL;
}

static enum pm_damping_state state_wanted(const struct trial *t, const struct model *m,
					  const struct judgement *j)
{
	if (!j->hold_ms)
		return PM_DAMPING_NOTED;
	if (!j->up)
		return PM_DAMPING_DOWN;
	if (!j->left_ms)
		return PM_DAMPING_WATCHED;
	return t->out[m->port] ? PM_DAMPING_NEEDED : PM_DAMPING_ON_HOLD;
}

static void check_list(struct trial *t)
{
	uint32_t at = 0, remembered = 0;
	struct pm_damped_link flap;

	for (uint32_t c = 0; c < t->recipe.num_links; c++)
		remembered += judge(&t->config, &t->models[c], t->at).remembered;
	REQUIRE(count(t->damping) == remembered);
	while (pm_damping_next(t->damping, t->at, &at, &flap)) {
		const struct model *m = model_of(t, &flap);
		struct judgement j;

		REQUIRE(m != NULL);
		j = judge(&t->config, m, t->at);
		REQUIRE(j.remembered && flap.downs == j.downs);
		REQUIRE(flap.hold_ms == j.hold_ms && flap.left_ms == j.left_ms);
		if (t->now[m->port] || !j.up)
			REQUIRE(flap.state == state_wanted(t, m, &j));
	}
}

/* Where the plan in force has each cable between switches, and what is usable. */
static void find_ports(struct trial *t)
{
	const struct pm_fabric *topology = t->plan->topology;

	memset(t->now, 0, topology->num_ports);
	for (uint32_t c = 0; c < t->recipe.num_links; c++) {
		const struct recipe_link *link = &t->recipe.links[c];
		bool up = recipe_has_link(&t->recipe, c) && !t->models[c].down &&
			  !t->dark[link->node[0]] && !t->dark[link->node[1]];
		uint32_t ports[2] = {PM_NONE, PM_NONE};

		t->models[c].port = PM_NONE;
		for (int e = 0; e < 2; e++) {
			uint32_t node = pm_fabric_find_guid(
				topology, t->recipe.nodes[link->node[e]].guid);

			if (node == PM_NONE)
				continue;
			ports[e] = topology->nodes[node].first_port + link->port[e];
			t->now[ports[e]] = up;
		}
		if (ports[0] != PM_NONE && ports[1] != PM_NONE)
			t->models[c].port = ports[0];
	}
}

static void make_room(struct trial *t)
{
	uint32_t ports = t->plan->topology->num_ports;

	free(t->before);
	free(t->now);
	free(t->out);
	t->before = zeros(ports, 1);
	t->now = zeros(ports, 1);
	t->out = zeros(ports, 1);
}

/* Some switches are away as yet. False if there is no plan without them. */
static bool begin_trial(struct trial *t)
{
	static const struct recipe_limits limits = {.switches = 40, .hosts = 60};
	struct pm_plan_config config = {.order = PM_GROUPED};

	*t = (struct trial){.random = {seed}};
	recipe_random(&t->recipe, &t->random, &limits);
	t->models = zeros(t->recipe.num_links, sizeof(*t->models));
	t->dark = zeros(t->recipe.num_nodes, sizeof(*t->dark));
	for (uint32_t i = 0; i < t->recipe.num_nodes; i++)
		t->recipe.nodes[i].away = random_chance(&t->random, 8);
	t->config = (struct pm_damping_config){
		.limit = random_range(&t->random, 1, 4),
		.window_ms = random_range(&t->random, 1, 100),
		.hold_ms = random_range(&t->random, 1, 300),
	};
	t->config.hold_max_ms = t->config.hold_ms * random_range(&t->random, 1, 9);
	t->fabric = recipe_build(&t->recipe, NULL);
	if (pm_plan_make(t->fabric, &config, &t->plan, NULL))
		return false;
	REQUIRE(pm_damping_make(&t->config, &t->damping, NULL) == 0);
	make_room(t);
	find_ports(t);
	memcpy(t->before, t->now, t->plan->topology->num_ports);
	return true;
}

static void end_trial(struct trial *t)
{
	for (uint32_t c = 0; c < t->recipe.num_links; c++)
		free(t->models[c].events);
	free(t->models);
	free(t->dark);
	free(t->before);
	free(t->now);
	free(t->out);
	pm_damping_free(t->damping);
	pm_plan_free(t->plan);
	pm_fabric_free(t->fabric);
	recipe_free(&t->recipe);
}

/*
 * Absent parts come; `before` has the usable links from before, at their present ports.
 */
static bool grow(struct trial *t)
{
	uint32_t old = t->plan->topology->num_ports;
	struct pm_plan *grown = NULL, *was = t->plan;
	uint8_t *before = t->before;

	for (uint32_t i = 0; i < t->recipe.num_nodes; i++)
		t->recipe.nodes[i].away = false;
	pm_fabric_free(t->fabric);
	t->fabric = recipe_build(&t->recipe, &t->random);
	if (pm_plan_grow(t->plan, t->fabric, &grown, NULL) || !grown)
		return false;
	t->plan = grown;
	t->before = NULL;
	make_room(t);
	for (uint32_t i = 0; i < old; i++) {
		uint32_t port = pm_fabric_same_port(was->topology, i, grown->topology);

		if (port != PM_NONE)
			t->before[port] = before[i];
	}
	free(before);
	pm_plan_free(was);
	return true;
}

static void change(struct trial *t)
{
	struct recipe *recipe = &t->recipe;

	/* Every third cable is faulty. */
	for (uint32_t c = 0; c < recipe->num_links; c += 3)
		if (random_chance(&t->random, t->models[c].down ? 60 : 25))
			t->models[c].down = !t->models[c].down;
	for (int i = 0; i < 2; i++) {
		uint32_t c = random_below(&t->random, recipe->num_links);

		t->models[c].down = random_chance(&t->random, 40);
	}
	if (random_chance(&t->random, 10)) {
		uint32_t n = random_below(&t->random, recipe->num_nodes);

		t->dark[n] = !t->dark[n];
	}
	if (random_chance(&t->random, 5))
		for (uint32_t n = 0; n < recipe->num_nodes; n++)
			t->dark[n] = random_chance(&t->random, 50);
	else if (random_chance(&t->random, 20))
		memset(t->dark, 0, recipe->num_nodes * sizeof(*t->dark));
}

/* An operator clears one cable. */
static void clear_one(struct trial *t)
{
	uint32_t c = random_below(&t->random, t->recipe.num_links);
	const struct recipe_link *link = &t->recipe.links[c];
	struct judgement j = judge(&t->config, &t->models[c], t->at);

	if (t->models[c].port == PM_NONE)
		return;
	REQUIRE(pm_damping_clear(t->damping, t->recipe.nodes[link->node[1]].guid,
				 link->port[1]) == (j.hold_ms != 0));
	t->models[c].num = 0;
}

/* The events of all rounds. */
struct totals {
	uint32_t trees, grown, held, needed;
};

static void step(struct trial *t, struct totals *totals)
{
	struct pm_damping_holds holds;

	t->at += random_below(&t->random, random_chance(&t->random, 90)
						  ? t->config.window_ms / 8 + 2
						  : t->config.hold_max_ms * 2);
	find_ports(t);
	model_observe(t);
	REQUIRE(pm_damping_observe(t->damping, t->plan->topology, t->before, t->now,
				   t->at, NULL) == 0);
	memcpy(t->out, t->now, t->plan->topology->num_ports);
	REQUIRE(pm_damping_hold(t->damping, t->plan, t->out, t->at, &holds, NULL) == 0);
	check_holds(t, &holds);
	check_list(t);
	memcpy(t->before, t->now, t->plan->topology->num_ports);
	totals->held += holds.on_hold;
	totals->needed += holds.needed;
}

static void run(struct trial *t, struct totals *totals)
{
	for (int i = 0; i < 60; i++) {
		change(t);
		step(t, totals);
		if (i == 30)
			totals->grown += grow(t);
		if (random_chance(&t->random, 5))
			clear_one(t);
	}
}

static void test_random_series(void **state)
{
	uint64_t first = from_environment("PM_SEED", 20240607);
	uint64_t rounds = from_environment("PM_ROUNDS", 600);
	struct totals totals = {0};

	print_message("PM_SEED=%llu PM_ROUNDS=%llu\n", (unsigned long long)first,
		      (unsigned long long)rounds);
	for (seed = first; seed < first + rounds; seed++) {
		struct trial t;

		if (begin_trial(&t)) {
			totals.trees++;
			run(&t, &totals);
		}
		end_trial(&t);
	}
	print_message("%u trees, %u grew; %u cables held, %u left in as last paths\n",
		      totals.trees, totals.grown, totals.held, totals.needed);
	assert_true(rounds < 20 || (totals.trees * 2 > rounds && totals.grown &&
				    totals.held > rounds && totals.needed > rounds));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_series),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_bad_config),
		cmocka_unit_test(test_long_holds),
		cmocka_unit_test(test_last_path),
		cmocka_unit_test(test_other_path),
		cmocka_unit_test(test_no_end_ports),
		cmocka_unit_test(test_out_of_sight),
		cmocka_unit_test(test_hold_out_of_sight),
		cmocka_unit_test(test_moved_link),
		cmocka_unit_test(test_observed_behind),
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_random_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
