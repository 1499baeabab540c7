/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The packet engine on cables of different rates, and the tick for them. */
#include "packet_world.h"

#include <portmajor/fabric/link.h>
#include <portmajor/lab/rates.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* From a slow cable a packet leaves only so late that it does not run dry; until then
 * its output is there for others. */
static void test_dry(void **state)
{
	const struct pm_workload_message alone[] = {{0, 3, 64, 0, NULL}};
	const struct pm_workload_message both[] = {{0, 3, 64, 0, NULL},
						   {1, 3, 100, 0, NULL}};
	uint16_t ticks[32];
	struct lab lab;

	begin_star(&lab);
	for (uint32_t i = 0; i < lab.world.fabric->num_ports; i++)
		ticks[i] = 1;
	ticks[lab.hosts[0].port] = 4;
	lab.config.ticks = ticks;
	lab.config.warmup = 0;
	lab.workload.pattern = PM_LIST;
	lab.workload.list = alone;
	lab.workload.num_list = 1;
	run(&lab);
	assert_int_equal(lab.r.done, 4 * 64 + WIRE + CROSSING + WIRE);
	/* It begins at 4 x 64 - 64 + WIRE + CROSSING; the other one has gone by then. */
	lab.workload.list = both;
	lab.workload.num_list = 2;
	start(&lab);
	run_to(&lab, 100 + WIRE + CROSSING + WIRE + 1);
	assert_int_equal(lab.r.delivered, 2);
	run_to(&lab, end_of(&lab));
	assert_int_equal(lab.r.done, 4 * 64 + WIRE + CROSSING + WIRE);
	finish(&lab);
	/* The other way round it goes on as if both were slow. */
	ticks[lab.hosts[0].port] = 1;
	ticks[lab.world.fabric->ports[lab.hosts[3].port].peer] = 4;
	lab.workload.list = alone;
	lab.workload.num_list = 1;
	run(&lab);
	assert_int_equal(lab.r.done, WIRE + CROSSING + 4 * 64 + WIRE);
	end(&lab);
}

/* A cable of which one direction fell back to a quarter carries a quarter; a slow host's
 * load is a share of its own link. */
static void test_degraded(void **state)
{
	uint16_t *ticks, host_ticks[16];
	uint32_t path[MAX_PATH], slow;
	struct lab lab;

	begin_with(&lab, tree(2, 4));
	assert_int_equal(lab.num_hosts, 16);
	ticks = calloc(lab.world.fabric->num_ports, sizeof(*ticks));
	assert_non_null(ticks);
	for (uint32_t i = 0; i < lab.world.fabric->num_ports; i++)
		ticks[i] = 1;
	lab.config.ticks = ticks;
	lab.config.batch = 20000;
	lab.workload.pattern = PM_SHIFT;
	lab.workload.shift = 4;
	lab.workload.load = PM_LOAD_FULL;
	find_path(&lab, 0, 4, path);
	slow = path[1];
	ticks[slow] = 4;
	start(&lab);
	run_to(&lab, end_of(&lab));
	assert_int_equal(lab.r.busy[slow], 200000);
	assert_true(fabs(lab.r.accepted - (15 + 0.25) / 16) < 0.001);
	assert_true(lab.r.unstable);
	finish(&lab);
	/* The host behind it is as slow: now nothing waits. */
	for (uint32_t h = 0; h < 16; h++)
		host_ticks[h] = h ? 1 : 4;
	ticks[lab.hosts[0].port] = 4;
	lab.workload.ticks = host_ticks;
	lab.workload.load = PM_LOAD_FULL / 2;
	start(&lab);
	run_to(&lab, end_of(&lab));
	assert_true(fabs((double)lab.r.busy[slow] / 200000 - 0.5) < 0.001);
	assert_true(fabs(lab.r.accepted - 0.5) < 0.001 && !lab.r.unstable);
	assert_true(fabs((double)lab.r.batches[5].ticks / 20000 / 16 - 0.5) < 0.01);
	finish(&lab);
	free(ticks);
	end(&lab);
}

static void find_rates(struct lab *lab, struct pm_rates *rates, uint16_t *ticks)
{
	assert_int_equal(pm_rates_find(lab->world.fabric, ticks, rates, NULL), 0);
}

/* Sets both ends of a host's cable. */
static void set_link(struct lab *lab, uint32_t host, unsigned int lanes,
		     enum pm_speed speed)
{
	struct pm_fabric *fabric = lab->world.fabric;
	uint32_t port = lab->hosts[host].port;

	fabric->ports[port].link = pm_link_code(lanes, speed);
	fabric->ports[fabric->ports[port].peer].link = pm_link_code(lanes, speed);
}

static void test_rates(void **state)
{
	uint16_t ticks[32];
	struct pm_rates rates;
	struct lab lab;

	begin_star(&lab);
	memset(&rates, 0xff, sizeof(rates));
	find_rates(&lab, &rates, ticks);
	assert_int_equal(rates.tick, 0);
	assert_int_equal(rates.num, 0);
	assert_int_equal(ticks[lab.hosts[0].port], 1);
	for (uint32_t h = 0; h < 3; h++)
		set_link(&lab, h, 4, PM_EDR);
	find_rates(&lab, &rates, ticks); /* one does not say */
	assert_int_equal(rates.num, 1);
	assert_int_equal(rates.tick, 5120000);
	assert_int_equal(rates.list[0].rate, 100000);
	assert_int_equal(rates.list[0].links, 4);
	assert_int_equal(ticks[lab.hosts[3].port], 1);
	set_link(&lab, 3, 1, PM_EDR);
	find_rates(&lab, &rates, ticks);
	assert_int_equal(rates.tick, 5120000);
	assert_int_equal(ticks[lab.hosts[3].port], 4);
	assert_int_equal(ticks[lab.world.fabric->ports[lab.hosts[3].port].peer], 4);
	set_link(&lab, 2, 4, PM_FDR);
	set_link(&lab, 1, 4, PM_HDR);
	find_rates(&lab, &rates, ticks);
	assert_int_equal(rates.num, 4);
	assert_int_equal(rates.tick, 2560000 / 3);
	assert_int_equal(ticks[lab.hosts[1].port], 3);
	assert_int_equal(ticks[lab.hosts[0].port], 6);
	assert_int_equal(ticks[lab.hosts[2].port], 11);
	assert_int_equal(ticks[lab.hosts[3].port], 24);
	end(&lab);
}

/* Whatever two links there are: to a thousandth, and whole on the faster one. */
static void test_all_rates(void **state)
{
	static const unsigned int widths[] = {1, 2, 4, 8, 12};
	const uint32_t kinds = LENGTH(widths) * (PM_SPEEDS - 1);
	uint32_t most = 0;
	uint16_t ticks[32];
	struct pm_rates rates;
	struct lab lab;

	begin_star(&lab);
	for (uint32_t a = 0; a < kinds; a++)
		for (uint32_t b = 0; b < a; b++) {
			set_link(&lab, 0, widths[a % LENGTH(widths)],
				 (enum pm_speed)(a / LENGTH(widths) + 1));
			set_link(&lab, 1, widths[b % LENGTH(widths)],
				 (enum pm_speed)(b / LENGTH(widths) + 1));
			find_rates(&lab, &rates, ticks);
			for (uint32_t i = 0; i < rates.num; i++) {
				double time = 512e9 / rates.list[i].rate;
				double found = (double)rates.tick * rates.list[i].ticks;

				assert_true(fabs(found / time - 1) < 0.0011);
				if (rates.list[i].ticks > most)
					most = rates.list[i].ticks;
			}
		}
	printf("blocks of at most %u ticks\n", most);
	end(&lab);
}

/* A block takes a tick at the least. */
static void test_bad(void **state)
{
	uint16_t ticks[32] = {0};
	struct pm_packet *packet;
	struct pm_error err = {""};
	struct lab lab;

	begin_star(&lab);
	lab.config.ticks = ticks;
	assert_int_equal(pm_packet_new(&lab.config, &packet, &err), -EINVAL);
	assert_true(err.text[0]);
	end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dry),   cmocka_unit_test(test_degraded),
		cmocka_unit_test(test_rates), cmocka_unit_test(test_all_rates),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
