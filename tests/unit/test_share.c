/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fair shares, by hand, against the properties of fair shares, and against growing them
 * little by little.
 */
#include "recipe.h"
#include "unit.h"

#include <portmajor/lab/share.h>

#include <math.h>

#define CLOSE 1e-9

static void assert_close(double value, double wanted)
{
	if (fabs(value - wanted) > CLOSE)
		fail_msg("%.12f instead of %.12f", value, wanted);
}

/* The drawing of share.h, and a flow that is nowhere. */
static void test_by_hand(void **state)
{
	const uint32_t first[] = {0, 1, 2, 4, 5, 5}, ports[] = {0, 0, 0, 1, 1};
	const double room[] = {1, 1}, wide[] = {1, 4}, narrow[] = {9, 1};
	struct pm_share_flows flows = {5, first, ports};
	double rates[5];

	pm_share_rates(&flows, 2, room, rates);
	for (uint32_t f = 0; f < 3; f++)
		assert_close(rates[f], 1. / 3);
	assert_close(rates[3], 2. / 3);
	assert_close(rates[4], 0);
	pm_share_rates(&flows, 2, wide, rates);
	assert_close(rates[2], 1. / 3);
	assert_close(rates[3], 4 - 1. / 3);
	pm_share_rates(&flows, 2, narrow, rates);
	assert_close(rates[0], 4.25);
	assert_close(rates[1], 4.25);
	assert_close(rates[2], .5);
	assert_close(rates[3], .5);
}

#define PORTS 12
#define FLOWS 20

struct drawn {
	uint32_t first[FLOWS + 1], ports[FLOWS * PORTS];
	double room[PORTS], rates[FLOWS], slow[FLOWS];
	struct pm_share_flows flows;
};

static void draw(struct drawn *d, struct random *random)
{
	uint32_t at = 0;

	for (uint32_t port = 0; port < PORTS; port++)
		d->room[port] = 1. / random_range(random, 1, 3);
	d->flows = (struct pm_share_flows){random_range(random, 1, FLOWS), d->first,
					   d->ports};
	d->first[0] = 0;
	for (uint32_t f = 0; f < d->flows.num; f++) {
		for (uint32_t port = 0; port < PORTS; port++)
			if (random_chance(random, 25))
				d->ports[at++] = port;
		d->first[f + 1] = at;
	}
}

static bool is_on(const struct drawn *d, uint32_t f, uint32_t port)
{
	for (uint32_t i = d->first[f]; i < d->first[f + 1]; i++)
		if (d->ports[i] == port)
			return true;
	return false;
}

static double load_of(const struct drawn *d, const double *rates, uint32_t port)
{
	double load = 0;

	for (uint32_t f = 0; f < d->flows.num; f++)
		load += is_on(d, f, port) ? rates[f] : 0;
	return load;
}

/* Shares are fair if each flow is on a full port where none has more, and no port has
 * more than it carries. */
static void assert_fair(const struct drawn *d)
{
	for (uint32_t port = 0; port < PORTS; port++)
		assert_true(load_of(d, d->rates, port) <= d->room[port] + CLOSE);
	for (uint32_t f = 0; f < d->flows.num; f++) {
		bool limited = d->first[f] == d->first[f + 1];

		for (uint32_t i = d->first[f]; i < d->first[f + 1]; i++) {
			uint32_t port = d->ports[i];
			bool most = load_of(d, d->rates, port) > d->room[port] - CLOSE;

			for (uint32_t o = 0; o < d->flows.num; o++)
				most &= !is_on(d, o, port) ||
					d->rates[o] <= d->rates[f] + CLOSE;
			limited |= most;
		}
		assert_true(limited);
	}
}

/* All flows that no full port limits grow by a little, again and again. */
static void grow(struct drawn *d, double step)
{
	bool grows = true;

	memset(d->slow, 0, sizeof(d->slow));
	while (grows) {
		double more[FLOWS] = {0};

		grows = false;
		for (uint32_t f = 0; f < d->flows.num; f++) {
			bool limited = d->first[f] == d->first[f + 1];

			for (uint32_t i = d->first[f]; i < d->first[f + 1]; i++)
				limited |= load_of(d, d->slow, d->ports[i]) >=
					   d->room[d->ports[i]];
			more[f] = limited ? 0 : step;
			grows |= !limited;
		}
		for (uint32_t f = 0; f < d->flows.num; f++)
			d->slow[f] += more[f];
	}
}

static void test_drawn(void **state)
{
	uint64_t seed = from_environment("PM_SEED", 1);
	uint32_t rounds = (uint32_t)from_environment("PM_ROUNDS", 200);

	printf("seeds from %llu on\n", (unsigned long long)seed);
	for (uint32_t round = 0; round < rounds; round++) {
		struct random random = {seed + round};
		struct drawn d;

		draw(&d, &random);
		pm_share_rates(&d.flows, PORTS, d.room, d.rates);
		assert_fair(&d);
		if (round >= 20)
			continue;
		grow(&d, 1e-4);
		for (uint32_t f = 0; f < d.flows.num; f++)
			assert_true(fabs(d.rates[f] - d.slow[f]) < .05);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
