/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The walks that judge tables, judged themselves: random tables over random trees, each
 * packet of which is followed here, one by one. Shares no code with the walks. PM_SEED
 * chooses the first seed and PM_ROUNDS how many trees.
 */
#include "recipe.h"
#include "reference.h"
#include "world.h"
#include "unit.h"

#define DEFAULT_SEED 20261122
#define DEFAULT_ROUNDS 1000

struct trial {
	struct random random;
	struct recipe recipe;
	struct pm_fabric *fabric;
	struct pm_plan *plan;
	struct pm_check check;
	uint8_t **table;
	uint16_t *top;
	struct reference reference;
	uint8_t *connected; /* [from][to] cables join these switches */
};

/* The path of one packet. */
struct trip {
	uint32_t end; /* port, or PM_NONE: nowhere */
	bool round, turned;
	uint32_t paths; /* number of way[] */
	uint32_t *path; /* ports that it left switches by, to other switches */
};

/* ---- The reference ---- */

static const struct pm_port *port_at(const struct trial *t, uint32_t sw, uint32_t num)
{
	return &t->fabric->ports[t->fabric->nodes[sw].first_port + num];
}

static bool is_switch(const struct trial *t, uint32_t node)
{
	return t->fabric->nodes[node].type == PM_SWITCH;
}

/* Up to a repeated switch, or to its end. */
static struct trip travel(const struct trial *t, uint32_t from, uint32_t lid)
{
	const uint8_t *level = t->check.level;
	uint32_t num = t->fabric->num_switches, sw = from;
	struct trip trip = {.end = PM_NONE, .path = calloc(num + 2, sizeof(uint32_t))};
	uint8_t *been = calloc(num + 1, 1);
	bool down = false;

	assert_non_null(been);
	assert_non_null(trip.path);
	for (;;) {
		const struct pm_port *out, *in;

		if (!t->table[sw] || lid > t->top[sw] ||
		    t->table[sw][lid] > t->fabric->nodes[sw].num_ports)
			break;
		out = port_at(t, sw, t->table[sw][lid]);
		if (out->num && out->peer == PM_NONE)
			break;
		in = out->num ? &t->fabric->ports[out->peer] : out;
		if (!out->num || !is_switch(t, in->node)) {
			trip.end = (uint32_t)(in - t->fabric->ports);
			break;
		}
		trip.path[trip.paths++] = (uint32_t)(out - t->fabric->ports);
		if (been[sw]) {
			trip.round = true;
			break;
		}
		been[sw] = 1;
		trip.turned |= level[in->node] == level[sw] ||
			       (down && level[in->node] > level[sw]);
		down |= level[in->node] < level[sw];
		sw = in->node;
	}
	free(been);
	return trip;
}

static bool has_host(const struct trial *t, uint32_t sw)
{
	for (uint32_t num = 1; num <= t->fabric->nodes[sw].num_ports; num++) {
		uint32_t peer = port_at(t, sw, num)->peer;

		if (peer != PM_NONE && !is_switch(t, t->fabric->ports[peer].node))
			return true;
	}
	return false;
}

/* The switch of a port that has a LID and can be sent to, or PM_NONE. */
static uint32_t home_of(const struct trial *t, const struct pm_port *p)
{
	if (!p->lid)
		return PM_NONE;
	if (is_switch(t, p->node))
		return p->node;
	return p->peer == PM_NONE ? PM_NONE : t->fabric->ports[p->peer].node;
}

static void find_connected(struct trial *t)
{
	uint32_t num = t->fabric->num_switches;
	bool again = true;

	t->connected = calloc((size_t)num * num + 1, 1);
	assert_non_null(t->connected);
	for (uint32_t sw = 0; sw < num; sw++)
		t->connected[sw * num + sw] = 1;
	while (again) {
		again = false;
		for (uint32_t i = 0; i < t->fabric->num_ports; i++) {
			const struct pm_port *p = &t->fabric->ports[i];
			uint32_t remote = p->peer == PM_NONE
						  ? PM_NONE
						  : t->fabric->ports[p->peer].node;

			if (remote == PM_NONE || !is_switch(t, p->node) ||
			    !is_switch(t, remote))
				continue;
			for (uint32_t to = 0; to < num; to++)
				if (t->connected[remote * num + to] &&
				    !t->connected[p->node * num + to])
					t->connected[p->node * num + to] = again = true;
		}
	}
}

static void count_trip(const struct trial *t, uint32_t from, uint32_t port, uint32_t lid,
		       struct pm_check_paths *count)
{
	const struct pm_port *p = &t->fabric->ports[port];
	uint32_t num = t->fabric->num_switches, to = home_of(t, p);
	struct trip trip = travel(t, from, lid);
	bool arrives = !trip.round && trip.end == port;

	free(trip.path);
	if (!t->reference.updown[from * num + to]) {
		count->cut++;
		count->unreachable += !is_switch(t, p->node) &&
				      t->connected[from * num + to] && !arrives;
		return;
	}
	count->pairs++;
	count->loops += trip.round;
	count->turns += !trip.round && trip.turned;
	count->lost += !trip.round && trip.end == PM_NONE;
	count->misrouted += !trip.round && trip.end != PM_NONE && trip.end != port;
	count->delivered += arrives;
}

static void count_to_sm(const struct trial *t, struct pm_check_paths *count)
{
	const struct pm_port *p = &t->fabric->ports[t->check.sm];
	uint32_t num = t->fabric->num_switches, to = home_of(t, p);

	for (uint32_t from = 0; to != PM_NONE && from < num; from++)
		for (uint32_t k = 0; t->connected[from * num + to] && k < 1u << p->lmc;
		     k++) {
			struct trip trip = travel(t, from, p->lid + k);

			count->sm_unreachable += trip.round || trip.end != t->check.sm;
			free(trip.path);
		}
}

static struct pm_check_paths count_paths(const struct trial *t, bool from_all)
{
	struct pm_check_paths count = {0};

	for (uint32_t from = 0; from < t->fabric->num_switches; from++)
		for (uint32_t i = 0; i < t->fabric->num_ports; i++) {
			const struct pm_port *p = &t->fabric->ports[i];

			if ((!from_all && !has_host(t, from)) || home_of(t, p) == PM_NONE)
				continue;
			for (uint32_t k = 0; k < 1u << p->lmc; k++)
				count_trip(t, from, i, p->lid + k, &count);
		}
	if (t->check.sm != PM_NONE)
		count_to_sm(t, &count);
	return count;
}

static bool is_host(const struct trial *t, uint32_t port)
{
	const struct pm_port *p = &t->fabric->ports[port];

	return !is_switch(t, p->node) && home_of(t, p) != PM_NONE &&
	       !pm_host_is_service(t->fabric->ports[p->peer].host);
}

/* Whether packets for each LID of a port arrive from a switch. */
static bool arrives(const struct trial *t, uint32_t from, uint32_t port)
{
	const struct pm_port *p = &t->fabric->ports[port];
	bool all = true;

	for (uint32_t k = 0; k < 1u << p->lmc; k++) {
		struct trip trip = travel(t, from, p->lid + k);

		all = all && !trip.round && trip.end == port;
		free(trip.path);
	}
	return all;
}

/* Counts pairs of hosts; the first one comes first in the order of destinations. */
static struct pm_check_pairs count_pairs(const struct trial *t)
{
	struct pm_check_pairs count = {0, 0, PM_NONE, PM_NONE};
	uint32_t num = t->fabric->num_switches;

	for (uint32_t to = 0; to < t->fabric->num_ports; to++)
		for (uint32_t i = 0; is_host(t, to) && i < t->fabric->num_ports; i++) {
			uint32_t a, b = home_of(t, &t->fabric->ports[to]);

			if (!is_host(t, i))
				continue;
			a = home_of(t, &t->fabric->ports[i]);
			if (a == b || !t->connected[a * num + b])
				continue;
			count.connected++;
			if (arrives(t, a, to))
				count.reachable++;
			else if (count.to == PM_NONE ||
				 (count.to == to && a < count.from)) {
				count.from = a;
				count.to = to;
			}
		}
	return count;
}

/* [port][port] which channel waits for which; marks the channels that packets use. */
static uint8_t *find_dependencies(const struct trial *t, uint8_t *used)
{
	uint32_t num = t->fabric->num_ports;
	uint8_t *waits = calloc((size_t)num * num + 1, 1);

	assert_non_null(waits);
	for (uint32_t from = 0; from < t->fabric->num_switches; from++)
		for (uint32_t i = 0; i < num && has_host(t, from); i++) {
			const struct pm_port *p = &t->fabric->ports[i];

			if (is_switch(t, p->node) || home_of(t, p) == PM_NONE)
				continue;
			for (uint32_t k = 0; k < 1u << p->lmc; k++) {
				struct trip trip = travel(t, from, p->lid + k);

				for (uint32_t w = 0; w < trip.paths; w++)
					used[trip.path[w]] = 1;
				for (uint32_t w = 1; w < trip.paths; w++)
					waits[trip.path[w - 1] * num + trip.path[w]] = 1;
				free(trip.path);
			}
		}
	return waits;
}

/* Removes channels that wait for none until all that are left are in cycles. */
static bool has_loop(const uint8_t *waits, const uint8_t *used, uint32_t num)
{
	uint8_t *left = malloc(num + 1);
	bool again = true, any = false;

	assert_non_null(left);
	memcpy(left, used, num);
	while (again) {
		again = false;
		for (uint32_t i = 0; i < num; i++) {
			bool waiting = false;

			for (uint32_t j = 0; left[i] && j < num; j++)
				waiting |= left[j] && waits[i * num + j];
			again |= left[i] && !waiting;
			left[i] = left[i] && waiting;
		}
	}
	for (uint32_t i = 0; i < num; i++)
		any |= left[i];
	free(left);
	return any;
}

/* ---- Random tables ---- */

static void break_tables(struct trial *t)
{
	struct random *r = &t->random;
	uint32_t changes = random_below(r, 2) ? random_below(r, 40) : 0;
	uint32_t cuts = random_below(r, 2) ? random_below(r, 4) : 0;

	for (uint32_t i = 0; i < changes; i++) {
		uint32_t sw = random_below(r, t->fabric->num_switches);

		t->table[sw][random_below(r, t->plan->top_lid + 1u)] =
			(uint8_t)random_below(r, t->fabric->nodes[sw].num_ports + 2u);
	}
	for (uint32_t i = 0; i < cuts; i++)
		pm_fabric_cut(t->fabric, random_below(r, t->fabric->num_ports));
	if (random_chance(r, 20))
		t->top[random_below(r, t->fabric->num_switches)] =
			(uint16_t)random_below(r, t->plan->top_lid);
	if (random_chance(r, 20)) {
		uint32_t sw = random_below(r, t->fabric->num_switches);

		free(t->table[sw]);
		t->table[sw] = NULL;
	}
	if (random_chance(r, 20))
		t->fabric->ports[random_below(r, t->fabric->num_ports)].lid = 0;
}

/* The plan's tables for the whole fabric. */
static void take_tables(struct trial *t)
{
	struct pm_routes *routes = NULL;
	uint32_t num = t->fabric->num_switches;

	assert_int_equal(
		pm_routes_make_for(t->plan, t->fabric, PM_NONE, false, &routes, NULL), 0);
	t->table = calloc(num, sizeof(*t->table));
	t->top = calloc(num, sizeof(*t->top));
	assert_non_null(t->table);
	assert_non_null(t->top);
	for (uint32_t sw = 0; sw < num; sw++) {
		uint32_t node =
			pm_fabric_find_guid(t->plan->topology, t->fabric->nodes[sw].guid);

		t->table[sw] = malloc(pm_routes_stride(routes));
		assert_non_null(t->table[sw]);
		memcpy(t->table[sw], pm_routes_table(routes, node),
		       pm_routes_stride(routes));
		t->top[sw] = t->plan->top_lid;
	}
	pm_routes_free(routes);
}

/* False if there is no plan for this tree. */
static bool begin(struct trial *t, uint64_t seed)
{
	static const struct recipe_limits limits = {14, 24};
	struct pm_plan_config config = {.order = PM_GROUPED};

	*t = (struct trial){.random = {seed}};
	recipe_random(&t->recipe, &t->random, &limits);
	config.lmc = (uint8_t)(random_chance(&t->random, 25) ? 1 : 0);
	t->fabric = recipe_build(&t->recipe, NULL);
	if (pm_plan_make(t->fabric, &config, &t->plan, NULL))
		return false;
	world_set_lids(t->fabric, t->plan);
	take_tables(t);
	break_tables(t);
	reference_make(&t->reference, t->plan, t->fabric);
	find_connected(t);
	t->check = (struct pm_check){t->fabric,
				     t->reference.level,
				     (const uint8_t *const *)t->table,
				     t->top,
				     random_below(&t->random, t->fabric->num_ports),
				     0,
				     NULL};
	if (home_of(t, &t->fabric->ports[t->check.sm]) == PM_NONE)
		t->check.sm = PM_NONE;
	return true;
}

static void end(struct trial *t)
{
	reference_free(&t->reference);
	for (uint32_t sw = 0; t->table && sw < t->fabric->num_switches; sw++)
		free(t->table[sw]);
	free(t->table);
	free(t->top);
	free(t->connected);
	pm_plan_free(t->plan);
	pm_fabric_free(t->fabric);
	recipe_free(&t->recipe);
}

/* ---- Tests ---- */

#define COUNT(member)                                                                    \
	{                                                                                \
#member, offsetof(struct pm_check_paths, member)                         \
	}

static void compare_paths(const struct trial *t, uint64_t seed, bool from_all)
{
	static const struct {
		const char *name;
		size_t at;
	} counts[] = {
		COUNT(pairs),	    COUNT(delivered), COUNT(cut),
		COUNT(unreachable), COUNT(lost),      COUNT(loops),
		COUNT(turns),	    COUNT(misrouted), COUNT(sm_unreachable),
	};
	struct pm_check_paths right = count_paths(t, from_all), found;

	assert_int_equal(pm_check_paths(&t->check, from_all, &found, NULL), 0);
	for (size_t i = 0; i < LENGTH(counts); i++) {
		uint64_t wanted, got;

		memcpy(&wanted, (char *)&right + counts[i].at, sizeof(wanted));
		memcpy(&got, (char *)&found + counts[i].at, sizeof(got));
		if (got != wanted)
			fail_msg("PM_SEED=%llu PM_ROUNDS=1: %s: %llu, not %llu",
				 (unsigned long long)seed, counts[i].name,
				 (unsigned long long)got, (unsigned long long)wanted);
	}
}

static void compare_pairs(const struct trial *t, uint64_t seed)
{
	struct pm_check_pairs right = count_pairs(t), found;

	assert_int_equal(pm_check_pairs(&t->check, &found, NULL), 0);
	if (memcmp(&found, &right, sizeof(found)) != 0)
		fail_msg(
			"PM_SEED=%llu PM_ROUNDS=1: %llu of %llu pairs, not %llu of %llu, "
			"or from %u to %u, not from %u to %u",
			(unsigned long long)seed, (unsigned long long)found.reachable,
			(unsigned long long)found.connected,
			(unsigned long long)right.reachable,
			(unsigned long long)right.connected, found.from, found.to,
			right.from, right.to);
}

/* A credit loop that was found must be one. */
static bool is_loop(const struct pm_check_credits *found, const uint8_t *waits,
		    uint32_t num)
{
	uint32_t shown = found->length < PM_CHECK_CREDIT_LOOP ? found->length
							      : PM_CHECK_CREDIT_LOOP;

	for (uint32_t i = 0; i + 1 < shown; i++)
		if (!waits[found->credit_loop[i] * num + found->credit_loop[i + 1]])
			return false;
	return shown == 0 || shown < found->length ||
	       waits[found->credit_loop[shown - 1] * num + found->credit_loop[0]];
}

static void compare_credits(const struct trial *t, uint64_t seed)
{
	uint32_t num = t->fabric->num_ports;
	uint8_t *used = calloc(num + 1, 1), *waits;
	struct pm_check_credits found;
	uint64_t channels = 0, dependencies = 0;

	assert_non_null(used);
	waits = find_dependencies(t, used);
	for (uint32_t i = 0; i < num; i++)
		channels += used[i];
	for (size_t i = 0; i < (size_t)num * num; i++)
		dependencies += waits[i];
	assert_int_equal(pm_check_credits(&t->check, &found, NULL), 0);
	if (found.channels != channels || found.dependencies != dependencies ||
	    (found.length != 0) != has_loop(waits, used, num) ||
	    (found.length && !is_loop(&found, waits, num)))
		fail_msg("PM_SEED=%llu PM_ROUNDS=1: %llu channels, not %llu, %llu "
			 "dependencies, not %llu, or a loop of %u",
			 (unsigned long long)seed, (unsigned long long)found.channels,
			 (unsigned long long)channels,
			 (unsigned long long)found.dependencies,
			 (unsigned long long)dependencies, found.length);
	free(waits);
	free(used);
}

static void test_random_tables(void **state)
{
	uint64_t first = from_environment("PM_SEED", DEFAULT_SEED);
	uint64_t rounds = from_environment("PM_ROUNDS", DEFAULT_ROUNDS), done = 0;

	print_message("PM_SEED=%llu PM_ROUNDS=%llu\n", (unsigned long long)first,
		      (unsigned long long)rounds);
	for (uint64_t seed = first; seed < first + rounds; seed++) {
		struct trial t;

		if (begin(&t, seed)) {
			compare_paths(&t, seed, false);
			compare_paths(&t, seed, true);
			compare_pairs(&t, seed);
			compare_credits(&t, seed);
			done++;
		}
		end(&t);
	}
	assert_true(done > rounds / 2 || rounds == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
