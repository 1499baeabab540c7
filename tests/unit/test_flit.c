/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The flit engine where theory is exact: latency without load, throughput of flow
 * control and the fill of a buffer, a queue, conservation in each cycle, deadlocks; and
 * beside the figures of another simulator, booksim2, as far as the models agree.
 */
#include "world.h"
#include "unit.h"

#include <portmajor/lab/flit.h>
#include <portmajor/route/lfts.h>

#include <math.h>

/* The system of the RHiNET paper, with what it leaves open. */
static const struct pm_flit_config rhinet = {
	.stop = 68,
	.go = 60,
	.cable = 30,
	.buffer = 128,
	.vcs = 16,
	.rule = PM_FLIT_HOP,
	.reads = 1,
	.length = 64,
	.load = PM_FLIT_FULL_LOAD,
	.seed = 1,
};

static struct pm_flit_net *torus_with(uint32_t x, uint32_t y, bool ties)
{
	struct pm_flit_net *net = NULL;

	assert_int_equal(pm_flit_net_torus((uint32_t[]){x, y}, 2, ties, &net, NULL), 0);
	return net;
}

static struct pm_flit_net *torus(uint32_t x, uint32_t y)
{
	return torus_with(x, y, false);
}

static struct pm_flit_net *mesh(uint32_t switches, uint32_t nodes)
{
	struct pm_flit_net *net = NULL;

	assert_int_equal(pm_flit_net_mesh(switches, nodes, &net, NULL), 0);
	return net;
}

static struct pm_flit_net *chain(uint32_t cables)
{
	struct pm_flit_net *net = NULL;

	assert_int_equal(pm_flit_net_chain(cables, &net, NULL), 0);
	return net;
}

static struct pm_flit_net *tree(uint32_t k, uint32_t n)
{
	struct pm_flit_net *net = NULL;

	assert_int_equal(pm_flit_net_tree(k, n, &net, NULL), 0);
	return net;
}

static struct pm_flit *begin(const struct pm_flit_net *net,
			     const struct pm_flit_config *config)
{
	struct pm_flit *flit = NULL;
	struct pm_error err = {""};

	if (pm_flit_new(net, config, &flit, &err))
		fail_msg("%s", err.text);
	return flit;
}

/* What is found in so many cycles, after a quarter as many; no deadlock, all counted. */
static struct pm_flit_result measure(const struct pm_flit_net *net,
				     const struct pm_flit_config *config, uint32_t cycles)
{
	struct pm_flit *flit = begin(net, config);
	struct pm_flit_result result;
	struct pm_flit_count count;

	pm_flit_run(flit, cycles / 4);
	pm_flit_measure(flit);
	pm_flit_run(flit, cycles);
	pm_flit_result(flit, &result);
	assert_int_equal(pm_flit_deadlock(flit)->cycle, 0);
	count = pm_flit_count(flit);
	assert_int_equal(count.sent, count.arrived + count.lost + count.inside);
	assert_true(result.highest_fill <= config->buffer);
	if (config->flow == PM_FLIT_CREDIT)
		assert_int_equal(count.lost, 0);
	pm_flit_free(flit);
	return result;
}

static void assert_near(double found, double wanted, double share)
{
	if (!(fabs(found - wanted) <= share * fabs(wanted)))
		fail_msg("%g, not %g within %g%%", found, wanted, share * 100);
}

/* ---- Without load ---- */

/* The cycles of a head in a switch with stages. */
static uint32_t time_of(const struct pm_flit_stages *stages)
{
	return stages->vc ? stages->routing + stages->vc + stages->crossbar +
				    stages->crossing - 1
			  : 0;
}

/* Every pair of nodes, alone: a cable each takes its cycles, a switch its own, and flits
 * follow each other. */
static void try_pairs(struct pm_flit_net *net, struct pm_flit_config config)
{
	config.pattern = PM_FLIT_PAIR;
	for (config.from = 0; config.from < net->num_nodes; config.from++)
		for (config.node = 0; config.node < net->num_nodes; config.node++) {
			uint32_t links, wanted;
			struct pm_flit_result found;

			if (config.node == config.from)
				continue;
			links = pm_flit_net_distance(net, config.from, config.node);
			wanted = links * config.cable +
				 (links - 1) * (config.delay + time_of(&config.stages)) +
				 config.length - 1;
			/* none before the one before has come */
			config.load = config.length * PM_FLIT_FULL_LOAD / (wanted + 10);
			found = measure(net, &config, 8 * wanted + 80);
			assert_in_range(found.packets, 6, 12);
			if (found.p50 != wanted || found.max != wanted)
				fail_msg(
					"%u to %u over %u links: %u to %u cycles, not %u",
					config.from, config.node, links, found.p50,
					found.max, wanted);
		}
	pm_flit_net_free(net);
}

static void test_zero_load(void **state)
{
	struct pm_flit_config config = rhinet;

	config.buffer = 200;
	try_pairs(torus(4, 4), config);
	config.length = 1;
	config.cable = 1;
	try_pairs(torus(4, 4), config);
	config.rule = PM_FLIT_DATELINE;
	config.cable = 3;
	config.length = 5;
	config.flow = PM_FLIT_SLACK;
	try_pairs(torus(5, 2), config);
	config.rule = PM_FLIT_ANY;
	config.delay = 2;
	try_pairs(mesh(3, 3), config);
	try_pairs(tree(2, 3), config);
	config.flow = PM_FLIT_CREDIT;
	try_pairs(tree(3, 2), config);
	try_pairs(tree(4, 1), config);
	config.vcs = 1;
	config.rule = PM_FLIT_ONE;
	for (uint32_t cables = 1; cables < 5; cables++)
		try_pairs(chain(cables), config);
	config.vcs = 3;
	config.rule = PM_FLIT_HOP;
	config.delay = 1;
	try_pairs(mesh(4, 2), config);
}

static void test_zero_load_of_stages(void **state)
{
	struct pm_flit_config config = rhinet;

	config.cable = 2;
	config.length = 5;
	config.stages = (struct pm_flit_stages){.vc = 1, .crossbar = 1};
	try_pairs(torus(4, 4), config);
	config.rule = PM_FLIT_ROW;
	config.stages = (struct pm_flit_stages){1, 1, 1, 1, 0};
	try_pairs(torus(5, 2), config);
	config.rule = PM_FLIT_ANY;
	config.delay = 3;
	config.stages = (struct pm_flit_stages){7, 5, 1, 9, 11};
	try_pairs(tree(2, 3), config);
	try_pairs(mesh(3, 3), config);
	/* each flit waits for its turn as long as the head */
	config.length = 1;
	config.stages.crossbar = 3;
	try_pairs(tree(3, 2), config);
}

/* Mean links of a 4 x 4 torus: 32/15 between switches, and the nodes' own. */
static void test_mean_distance(void **state)
{
	struct pm_flit_net *net = torus(4, 4);
	uint32_t sum = 0;

	for (uint32_t i = 0; i < 16; i++)
		for (uint32_t j = 0; j < 16; j++)
			sum += i == j ? 0 : pm_flit_net_distance(net, i, j);
	assert_int_equal(sum, 16 * (32 + 2 * 15));
	pm_flit_net_free(net);
}

/* ---- Flow control ---- */

static void test_credit_throughput(void **state)
{
	static const uint32_t buffers[] = {1, 16, 17, 60, 64, 128, 256};
	static const uint32_t cables[] = {1, 5, 30, 64, 80, 256, 512};
	struct pm_flit_net *net = chain(1), *longer = chain(3);
	struct pm_flit_config config = rhinet;

	config.rule = PM_FLIT_ONE;
	config.pattern = PM_FLIT_SHIFT;
	config.node = 1;
	config.length = 32;
	for (size_t b = 0; b < LENGTH(buffers); b++)
		for (size_t c = 0; c < LENGTH(cables); c++) {
			double wanted;

			config.buffer = buffers[b];
			config.cable = cables[c];
			wanted = config.buffer / 2.0 / config.cable;
			wanted = wanted > 1 ? 1 : wanted;
			assert_near(measure(net, &config, 500 * config.cable).accepted,
				    wanted, 0.005);
			assert_near(measure(longer, &config, 500 * config.cable).accepted,
				    wanted, 0.005);
		}
	pm_flit_net_free(longer);
	pm_flit_net_free(net);
}

/* Between STOP and its arrival come 2 D - 1 flits; they are lost where there is no room,
 * and nowhere else. */
static void test_slack_fill(void **state)
{
	static const uint32_t cables[] = {1, 7, 29, 30, 31, 40};
	struct pm_flit_net *net = mesh(4, 5);
	struct pm_flit_config config = rhinet;

	config.rule = PM_FLIT_ONE;
	config.length = 32;
	for (size_t i = 0; i < LENGTH(cables); i++) {
		uint32_t highest = config.stop + 2 * cables[i] - 1;
		struct pm_flit_result found;

		config.cable = cables[i];
		config.flow = PM_FLIT_SLACK;
		config.buffer = 256;
		found = measure(net, &config, 10000);
		assert_int_equal(found.highest_fill, highest);
		assert_int_equal(found.lost_flits, 0);
		config.buffer = 128;
		found = measure(net, &config, 10000);
		assert_int_equal(found.highest_fill, highest < 128 ? highest : 128);
		assert_int_equal(found.lost_flits > 0, highest > 128);
		assert_int_equal(found.lost_packets > 0, highest > 128);
		config.flow = PM_FLIT_CREDIT;
		assert_int_equal(measure(net, &config, 10000).lost_flits, 0);
	}
	pm_flit_net_free(net);
}

/* Packets longer than a buffer, which lose their ends: each is counted once, and those
 * that come after it are none of its. */
static void test_failures(void **state)
{
	struct pm_flit_net *nets[] = {mesh(1, 3), mesh(4, 5)};
	struct pm_flit_config config = rhinet;

	config.flow = PM_FLIT_SLACK;
	config.rule = PM_FLIT_ONE;
	config.cable = 40;
	config.share = 100;
	config.length = 200;
	for (size_t i = 0; i < LENGTH(nets); i++) {
		struct pm_flit_result found;
		struct pm_flit *flit;
		uint64_t begun;

		config.pattern = i ? PM_FLIT_UNIFORM : PM_FLIT_HOT_SPOT;
		flit = begin(nets[i], &config);
		pm_flit_run(flit, 100000);
		pm_flit_result(flit, &found);
		begun = pm_flit_count(flit).sent / config.length;
		assert_true(found.lost_packets > begun / 20);
		assert_near((double)(found.packets + found.lost_packets), (double)begun,
			    0.02);
		pm_flit_free(flit);
		pm_flit_net_free(nets[i]);
	}
}

/*
 * Two nodes send to a third one, by a single VC: so packets take turns, and the buffer of
 * the one that waits says STOP. When it is read again, flits come 2 D cycles after GO:
 * with a GO of 2 D - 1 and more it never runs dry, else it does once for each packet.
 */
static void test_slack_goes_on(void **state)
{
	static const uint32_t lines[] = {67, 60, 59, 58, 40, 20, 0};
	struct pm_flit_net *net = mesh(1, 3);
	struct pm_flit_config config = rhinet;

	config.flow = PM_FLIT_SLACK;
	config.rule = PM_FLIT_ONE;
	config.pattern = PM_FLIT_HOT_SPOT;
	config.share = 100;
	config.length = 1000;
	for (size_t i = 0; i < LENGTH(lines); i++) {
		double dry = lines[i] < 59 ? 59 - lines[i] : 0;

		config.go = lines[i];
		assert_near(measure(net, &config, 200000).busiest, 1000 / (1000 + dry),
			    0.0005);
	}
	pm_flit_net_free(net);
}

/* One queue, Poisson arrivals, a fixed length. */
static void test_queue(void **state)
{
	static const uint32_t loads[] = {200000, 500000, 800000};
	struct pm_flit_net *net = chain(1);
	struct pm_flit_config config = rhinet;

	config.arrivals = PM_FLIT_POISSON;
	config.pattern = PM_FLIT_PAIR;
	config.node = 1;
	config.length = 16;
	config.cable = 1;
	for (size_t i = 0; i < LENGTH(loads); i++) {
		double load = loads[i] / 1e6, length = config.length;
		struct pm_flit_result found;

		config.load = loads[i];
		found = measure(net, &config, 8000000);
		assert_near(found.mean - length, load * length / 2 / (1 - load), 0.03);
		assert_near(found.accepted, load / 2, 0.01); /* of two nodes one sends */
	}
	pm_flit_net_free(net);
}

/* ---- Patterns ---- */

static void test_hot_spot(void **state)
{
	struct pm_flit_net *net = torus(4, 4);
	struct pm_flit_config config = rhinet;

	config.pattern = PM_FLIT_HOT_SPOT;
	config.node = 5;
	config.share = 100;
	for (int flow = 0; flow < 2; flow++) {
		struct pm_flit_result found;

		config.flow = flow ? PM_FLIT_SLACK : PM_FLIT_CREDIT;
		found = measure(net, &config, 20000);
		assert_near(found.accepted, 1 / 16.0, 0.001);
		assert_near(found.busiest, 1, 0.001);
		assert_int_equal(net->links[found.busiest_link].to, 16 + 5);
	}
	pm_flit_net_free(net);
}

/*
 * Two nodes behind a switch: with every pattern, each sends to the other one, and none
 * to itself; a shift has the given distance.
 */
static void test_patterns(void **state)
{
	struct pm_flit_net *net = chain(2), *pairs = mesh(2, 2);
	struct pm_flit_config config = rhinet;
	struct pm_flit_result found;

	assert_near(measure(net, &config, 20000).accepted, 1, 0.005);
	config.pattern = PM_FLIT_HOT_SPOT;
	config.share = 50;
	assert_near(measure(net, &config, 20000).accepted, 1, 0.005);
	config.pattern = PM_FLIT_SHIFT;
	config.node = 2;
	config.load = 10000;
	found = measure(pairs, &config, 20000);
	assert_int_equal(found.p50, 3 * 30 + 63);
	assert_near(found.mean, found.p50, 0.1);
	config.node = 1; /* two of four stay at their switch */
	assert_near(measure(pairs, &config, 40000).mean, 2.5 * 30 + 63, 0.01);
	pm_flit_net_free(pairs);
	pm_flit_net_free(net);
}

static void test_low_load(void **state)
{
	struct pm_flit_config config = rhinet;
	struct pm_flit_net *nets[] = {torus(4, 4), mesh(4, 5), tree(4, 2)};

	config.load = 100000;
	for (size_t i = 0; i < LENGTH(nets); i++) {
		struct pm_flit_result found;

		config.rule = i ? PM_FLIT_ANY : PM_FLIT_HOP;
		found = measure(nets[i], &config, 100000);
		assert_near(found.accepted, 0.1, 0.01);
		assert_false(found.saturated);
		assert_true(found.p50 < found.p99 && found.p99 <= found.max);
		assert_true(found.fairness > 0.999);
		/* From a node to a switch, and from a switch to a node at least. */
		assert_true(found.hops >= (uint64_t)found.packets * 2 * config.length &&
			    found.hops < (uint64_t)found.cycles * nets[i]->num_links);
		pm_flit_net_free(nets[i]);
	}
}

/*
 * Packets that cannot leave wait at their source: their number grows by the born ones
 * less the sent ones.
 */
static void test_backlog(void **state)
{
	struct pm_flit_net *net = torus(4, 4);
	struct pm_flit_result found;
	double waits;

	found = measure(net, &rhinet, 40000);
	waits = (1 - found.accepted) * (double)found.cycles / rhinet.length;
	assert_true(found.saturated);
	assert_near(found.backlog, waits, 0.05);
	pm_flit_net_free(net);
}

/* More flits read at once: less waiting. */
static void test_reads(void **state)
{
	struct pm_flit_net *net = tree(4, 3);
	struct pm_flit_config config = rhinet;
	double before = 0;

	config.rule = PM_FLIT_ANY;
	config.cable = 4;
	config.vcs = 4;
	for (config.reads = 1; config.reads < 4; config.reads++) {
		double accepted = measure(net, &config, 10000).accepted;

		assert_true(accepted > before);
		before = accepted;
	}
	pm_flit_net_free(net);
}

/* ---- Invariants ---- */

static struct pm_flit_config config_of(uint32_t number)
{
	struct pm_flit_config config = rhinet;

	config.flow = number & 1 ? PM_FLIT_SLACK : PM_FLIT_CREDIT;
	config.cable = number & 2 ? 40 : 5;
	config.rule = number & 4 ? PM_FLIT_DATELINE : PM_FLIT_HOP;
	config.delay = number & 8 ? 3 : 0;
	config.reads = number & 16 ? 3 : 1;
	config.arbitration = number & 16 ? PM_FLIT_BY_PACKET : PM_FLIT_BY_FLIT;
	if (!(number & 16) && number & 8)
		config.stages = (struct pm_flit_stages){number % 3, 1, 1, number % 4, 2};
	config.length = number & 32 ? 7 : 150;
	config.arrivals = number & 64 ? PM_FLIT_POISSON : PM_FLIT_INTERVAL;
	config.seed = number;
	return config;
}

static void test_conservation(void **state)
{
	struct pm_flit_net *net = torus(4, 3);

	for (uint32_t number = 0; number < 128; number += 3) {
		struct pm_flit_config config = config_of(number);
		struct pm_flit *flit = begin(net, &config);
		uint64_t lost = 0;

		for (uint32_t i = 0; i < 1200; i++) {
			struct pm_flit_count count;

			pm_flit_run(flit, 1);
			count = pm_flit_count(flit);
			assert_int_equal(count.sent,
					 count.arrived + count.lost + count.inside);
			lost = count.lost;
		}
		if (config.flow == PM_FLIT_CREDIT || config.cable == 5)
			assert_int_equal(lost, 0);
		pm_flit_free(flit);
	}
	pm_flit_net_free(net);
}

static struct pm_flit_result in_pieces(const struct pm_flit_net *net,
				       const struct pm_flit_config *config)
{
	struct pm_flit *flit = begin(net, config);
	struct pm_flit_result result;

	pm_flit_measure(flit);
	for (uint32_t done = 0; done < 4000; done += 500)
		pm_flit_run(flit, 500);
	pm_flit_result(flit, &result);
	pm_flit_free(flit);
	return result;
}

/* Runs on, with a new measurement. */
static struct pm_flit_result measure_on(struct pm_flit *flit, uint32_t cycles)
{
	struct pm_flit_result result;

	pm_flit_measure(flit);
	pm_flit_run(flit, cycles);
	pm_flit_result(flit, &result);
	return result;
}

static void assert_nothing(const struct pm_flit_result *found)
{
	assert_int_equal(found->cycles, 0);
	assert_int_equal(found->flits + found->packets + found->hops, 0);
	assert_int_equal(found->p50 + found->p99 + found->max, 0);
	assert_int_equal(found->highest_fill, 0);
	assert_int_equal(found->lost_flits + found->lost_packets, 0);
	assert_true(found->accepted == 0 && found->mean == 0 && found->busiest == 0);
	assert_true(found->backlog == 0 && found->fairness == 1 && !found->saturated);
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Three measurements, the third of no cycle; the first two are the parts of a whole. */
static void test_measurements(void **state)
{
	struct pm_flit_net *net = torus(4, 3);

	for (uint32_t number = 0; number < 128; number += 3) {
		struct pm_flit_config config = config_of(number);
		struct pm_flit *flit = begin(net, &config), *again = begin(net, &config);
		struct pm_flit_result all = measure_on(flit, 3000);
		struct pm_flit_result a = measure_on(again, 2800);
		struct pm_flit_result b = measure_on(again, 200);
		struct pm_flit_result none = measure_on(again, 0);

		assert_int_equal(a.cycles + b.cycles, all.cycles);
		assert_int_equal(a.flits + b.flits, all.flits);
		assert_int_equal(a.packets + b.packets, all.packets);
		assert_int_equal(a.hops + b.hops, all.hops);
		assert_int_equal(a.lost_flits + b.lost_flits, all.lost_flits);
		assert_int_equal(a.lost_packets + b.lost_packets, all.lost_packets);
		assert_int_equal(larger(a.max, b.max), all.max);
		assert_int_equal(larger(a.highest_fill, b.highest_fill),
				 all.highest_fill);
		assert_near(a.mean * (double)a.packets + b.mean * (double)b.packets,
			    all.mean * (double)all.packets, 1e-9);
		assert_near(a.backlog + b.backlog, all.backlog, 1e-9);
		assert_nothing(&none);
		pm_flit_free(flit);
		pm_flit_free(again);
	}
	pm_flit_net_free(net);
}

/* To the last bit. */
static bool same(double a, double b)
{
	return !memcmp(&a, &b, sizeof(a));
}

/* Member by member, as what lies between them is anything. */
static bool is_same(const struct pm_flit_result *a, const struct pm_flit_result *b)
{
	return a->cycles == b->cycles && a->flits == b->flits &&
	       a->packets == b->packets && same(a->accepted, b->accepted) &&
	       same(a->mean, b->mean) && a->p50 == b->p50 && a->p99 == b->p99 &&
	       a->max == b->max && a->highest_fill == b->highest_fill &&
	       a->lost_flits == b->lost_flits && a->lost_packets == b->lost_packets &&
	       a->hops == b->hops && same(a->busiest, b->busiest) &&
	       a->busiest_link == b->busiest_link && same(a->backlog, b->backlog) &&
	       same(a->fairness, b->fairness) && a->saturated == b->saturated;
}

static void test_repeatable(void **state)
{
	struct pm_flit_net *nets[] = {torus(4, 3), tree(2, 3)};

	for (size_t i = 0; i < LENGTH(nets); i++) {
		struct pm_flit_config config = config_of(65);
		struct pm_flit_result first, again;
		struct pm_flit *flit;

		config.rule = i ? PM_FLIT_ANY : PM_FLIT_HOP;
		first = in_pieces(nets[i], &config);
		flit = begin(nets[i], &config);
		pm_flit_run(flit, 4000);
		pm_flit_result(flit, &again);
		pm_flit_free(flit);
		assert_true(is_same(&first, &again));
		config.seed++;
		again = in_pieces(nets[i], &config);
		assert_false(is_same(&first, &again));
		pm_flit_net_free(nets[i]);
	}
}

/* The nodes' traffic does not depend on the network. */
static void test_traffic_is_the_same(void **state)
{
	struct pm_flit_net *net = torus(4, 4);
	struct pm_flit_config config = rhinet;
	struct pm_flit_result one, other;

	config.load = 100000;
	one = measure(net, &config, 40000);
	config.flow = PM_FLIT_SLACK;
	other = measure(net, &config, 40000);
	assert_int_equal(one.packets, other.packets);
	assert_near(one.mean, other.mean, 0.001);
	pm_flit_net_free(net);
}

/* ---- Deadlocks ---- */

/* By a rule that sends everything on VC 0. */
static void find_one(struct pm_flit_net *net, const struct pm_flit_config *config)
{
	struct pm_flit *flit = begin(net, config);
	const struct pm_flit_deadlock *found = pm_flit_deadlock(flit);

	pm_flit_run(flit, 200000);
	assert_in_range(found->cycle, 100, 199999);
	assert_true(found->buffers >= found->length && found->length >= 2);
	assert_true(found->flits >= found->buffers);
	for (uint32_t i = 0; i < found->length && found->length <= PM_FLIT_LOOP; i++) {
		uint32_t next = (i + 1) % found->length;
		uint32_t to = net->links[found->loop[i].link].to;

		assert_int_equal(found->loop[i].vc, 0);
		/* the next buffer, or another input of the same switch */
		assert_true(net->links[found->loop[next].link].from == to ||
			    net->links[found->loop[next].link].to == to);
	}
	pm_flit_free(flit);
	pm_flit_net_free(net);
}

static void test_deadlock(void **state)
{
	struct pm_flit_config config = rhinet;

	config.rule = PM_FLIT_ONE;
	for (int flow = 0; flow < 2; flow++) {
		config.flow = flow ? PM_FLIT_SLACK : PM_FLIT_CREDIT;
		for (config.length = 8; config.length <= 64; config.length *= 8) {
			find_one(torus(5, 5), &config);
			find_one(torus_with(4, 4, true), &config);
		}
	}
}

static void test_no_deadlock(void **state)
{
	struct pm_flit_net *net = torus(4, 4), *odd = torus(5, 3);
	struct pm_flit_net *ties = torus_with(4, 4, true);
	struct pm_flit_config config = rhinet;

	for (config.seed = 1; config.seed <= 10; config.seed++) {
		config.flow = config.seed % 2 ? PM_FLIT_CREDIT : PM_FLIT_SLACK;
		config.rule = PM_FLIT_HOP;
		measure(net, &config, 8000);
		measure(ties, &config, 8000);
		config.rule = PM_FLIT_DATELINE;
		measure(net, &config, 8000);
		config.rule = PM_FLIT_ROW;
		measure(net, &config, 8000);
		config.vcs = 2;
		measure(odd, &config, 8000);
		config.stages = (struct pm_flit_stages){0, 1, 1, 1, 1};
		measure(ties, &config, 8000);
		config.stages = (struct pm_flit_stages){0};
		config.rule = PM_FLIT_DATELINE;
		measure(odd, &config, 8000);
		measure(ties, &config, 8000);
		config.vcs = 16;
	}
	/* where ways of as many links take turns, no four of them are a loop */
	config.rule = PM_FLIT_ONE;
	measure(net, &config, 8000);
	pm_flit_net_free(ties);
	pm_flit_net_free(odd);
	pm_flit_net_free(net);
}

/* ---- Tables ---- */

/* Two levels, full; a plan's tables give every shift a cable of its own. */
static void test_tables(void **state)
{
	static const struct pm_generate whole = {.kind = PM_GENERATE_TWO_LEVEL,
						 .two_level = {4, 4, 4, 1}};
	struct pm_flit_config config = rhinet;
	struct pm_flit_net *net = NULL;
	struct pm_lfts *lfts = NULL;
	struct world world;

	world_make(&world, world_generate(&whole), PM_GROUPED);
	assert_int_equal(
		pm_lfts_of_plan(world.plan, world.routes, world.fabric, &lfts, NULL), 0);
	assert_int_equal(pm_flit_net_of_tables(world.fabric, lfts, &net, NULL), 0);
	assert_int_equal(net->num_nodes, 16);
	assert_int_equal(net->num_switches, 8);
	assert_int_equal(net->max_hops, 2);
	assert_string_equal(net->names[net->num_switches + 5], "h1-2");
	config.rule = PM_FLIT_ANY;
	config.pattern = PM_FLIT_SHIFT;
	for (config.node = 4; config.node < 16; config.node += 4) {
		struct pm_flit_result found = measure(net, &config, 5000);

		assert_near(found.accepted, 1, 0.001);
		assert_int_equal(found.p50, 4 * 30 + 63);
		assert_int_equal(found.max, 4 * 30 + 63);
	}
	pm_flit_net_free(net);
	net = NULL;
	for (uint32_t from = 0; from < 2; from++) {
		assert_int_equal(pm_flit_net_of_tables(world.fabric, lfts, &net, NULL),
				 0);
		try_pairs(net, config);
	}
	/* The first port of a leaf has no host. */
	pm_fabric_cut(world.fabric, world_port(world.fabric, "leaf1", 1));
	assert_int_equal(pm_flit_net_of_tables(world.fabric, lfts, &net, NULL), 0);
	assert_int_equal(net->num_nodes, 15);
	assert_string_equal(net->names[net->num_switches + 4], "h1-2");
	try_pairs(net, config);
	pm_lfts_free(lfts);
	world_free(&world);
}

/* So many pairs of nodes have no path, and the engine does not take the network. */
static void assert_no_path(const struct world *world, const struct pm_lfts *lfts,
			   uint64_t pairs, uint32_t from, uint32_t to)
{
	struct pm_flit_config config = rhinet;
	struct pm_flit_net *net = NULL;
	struct pm_flit *flit = NULL;
	struct pm_error err;

	assert_int_equal(pm_flit_net_of_tables(world->fabric, lfts, &net, NULL), 0);
	assert_int_equal(net->no_path.pairs, pairs);
	assert_int_equal(net->no_path.from, from);
	assert_int_equal(net->no_path.to, to);
	config.rule = PM_FLIT_ANY;
	assert_int_equal(pm_flit_new(net, &config, &flit, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no path from \"h"));
	pm_flit_net_free(net);
}

/* Tables without an entry, and those of another fabric. */
static void test_bad_tables(void **state)
{
	static const struct pm_generate whole = {.kind = PM_GENERATE_TWO_LEVEL,
						 .two_level = {3, 2, 2, 1}};
	struct pm_lfts *lfts = NULL, *none = pm_lfts_new();
	struct world world;

	world_make(&world, world_generate(&whole), PM_GROUPED);
	assert_int_equal(
		pm_lfts_of_plan(world.plan, world.routes, world.fabric, &lfts, NULL), 0);
	assert_no_path(&world, none, 30, 1, 0);
	for (uint32_t i = 0; i < lfts->num_switches; i++) {
		struct pm_lft_switch *sw = &lfts->switches[i];
		uint16_t lid = world_lid(&world, "leaf2", 1);
		uint32_t at = pm_fabric_find_guid(world.fabric, sw->guid);
		const char *name = pm_fabric_name(world.fabric, at);
		uint8_t kept = sw->table[lid];
		uint32_t pairs, from;

		if (strncmp(name, "leaf", 4) != 0)
			continue;
		sw->table[lid] = PM_LFT_KEEP;
		/* From leaf2 itself no other leaf's packets arrive either. */
		pairs = name[4] == '2' ? 5 : 2;
		from = name[4] == '1' ? 2 : 0;
		assert_no_path(&world, lfts, pairs, from, 4);
		sw->table[lid] = 2; /* an irrelevant host */
		assert_no_path(&world, lfts, pairs, from, 4);
		sw->table[lid] = kept;
	}
	pm_lfts_free(none);
	pm_lfts_free(lfts);
	world_free(&world);
}

/* ---- What is refused ---- */

static void refuse(const struct pm_flit_net *net, struct pm_flit_config config,
		   const char *what)
{
	struct pm_flit *flit = NULL;
	struct pm_error err = {""};

	assert_int_equal(pm_flit_new(net, &config, &flit, &err), -EINVAL);
	assert_null(flit);
	if (!strstr(err.text, what))
		fail_msg("\"%s\", not \"%s\"", err.text, what);
}

#define REFUSE(net, what, ...)                                                           \
	do {                                                                             \
		struct pm_flit_config c = rhinet;                                        \
		__VA_ARGS__;                                                             \
		refuse(net, c, what);                                                    \
	} while (0)

static void test_refused(void **state)
{
	struct pm_flit_net *net = torus(4, 4), *other = mesh(4, 5), *none = NULL;

	REFUSE(net, "load in millionths: 0", c.load = 0);
	REFUSE(net, "load in millionths: 2000000", c.load = 2000000);
	REFUSE(net, "cycles of a cable: 0", c.cable = 0);
	REFUSE(net, "flits of a buffer: 0", c.buffer = 0);
	REFUSE(net, "VCs: 65", c.vcs = 65);
	REFUSE(net, "reads: 0", c.reads = 0);
	REFUSE(net, "flits of a packet: 0", c.length = 0);
	REFUSE(net, "hop needs 5 VCs here, not 4", c.vcs = 4);
	REFUSE(other, "dateline is for a torus", c.rule = PM_FLIT_DATELINE);
	REFUSE(net, "dateline", c.rule = PM_FLIT_DATELINE, c.vcs = 1);
	REFUSE(other, "row is for a torus", c.rule = PM_FLIT_ROW);
	REFUSE(net, "arbitration by packet", c.arbitration = PM_FLIT_BY_PACKET,
	       c.stages = (struct pm_flit_stages){0, 1, 1, 1, 0});
	REFUSE(net, "the crossbar's allocation: 0", c.stages.vc = 1);
	REFUSE(net, "VC allocation: 257", c.stages.crossbar = 1, c.stages.vc = 257);
	REFUSE(net, "reads of a switch with stages: 2", c.reads = 2,
	       c.stages = (struct pm_flit_stages){0, 1, 1, 1, 0});
	REFUSE(net, "GO (68) is to be below STOP (68)", c.flow = PM_FLIT_SLACK,
	       c.go = 68);
	REFUSE(net, "STOP at most", c.flow = PM_FLIT_SLACK, c.stop = 129);
	REFUSE(net, "a shift is by 1 to 15 nodes, not 0", c.pattern = PM_FLIT_SHIFT);
	REFUSE(net, "a hot spot is a node from 0 to 15", c.pattern = PM_FLIT_HOT_SPOT,
	       c.node = 16, c.share = 100);
	REFUSE(net, "1 to 100 percent", c.pattern = PM_FLIT_HOT_SPOT, c.share = 0);
	REFUSE(net, "that differ", c.pattern = PM_FLIT_PAIR);
	assert_int_equal(pm_flit_net_torus((uint32_t[]){1, 4}, 2, false, &none, NULL),
			 -EINVAL);
	assert_int_equal(pm_flit_net_torus(NULL, 0, false, &none, NULL), -EINVAL);
	assert_int_equal(
		pm_flit_net_torus((uint32_t[]){64, 64, 2}, 3, false, &none, NULL),
		-EINVAL);
	assert_int_equal(pm_flit_net_mesh(1, 1, &none, NULL), -EINVAL);
	assert_int_equal(pm_flit_net_mesh(201, 1, &none, NULL), -EINVAL);
	assert_int_equal(pm_flit_net_chain(0, &none, NULL), -EINVAL);
	assert_int_equal(pm_flit_net_tree(1, 2, &none, NULL), -EINVAL);
	assert_int_equal(pm_flit_net_tree(64, 6, &none, NULL), -EINVAL);
	assert_null(none);
	pm_flit_net_free(other);
	pm_flit_net_free(net);
}

/* ---- booksim2 ---- */

/*
 * Figures of booksim2 (28f43299) for 64 nodes and uniform traffic. The test compares how
 * much latency exceeds that at load 0.02. Switches without stages, unlike booksim2's
 * routers, are compared up to 3/4 of saturation. With booksim2's stages (routing in
 * advance; its channels of 1 cycle take 2) both have the same latency, with two
 * exceptions: booksim2 has packets to the sender itself, and hosts' cables of the torus
 * take 3 cycles here and 2 there.
 */
struct figures {
	struct pm_flit_net *net;
	enum pm_flit_rule rule;
	uint32_t vcs, cable, length, buffer;
	struct pm_flit_stages stages;
	double least; /* at load 0.02; 0: not known */
	double saturation;
	const struct point {
		uint32_t load; /* 0 behind the last */
		double latency;
	} * points;
};

static const struct point no_points[] = {{0}};
/* A 4-ary 3-tree with 4 VCs and random ways up, an 8 x 8 torus with 2 VCs. */
static const struct point ft64_points[] = {{100000, 23.65}, {200000, 25.21},
					   {300000, 27.53}, {400000, 31.16},
					   {500000, 37.24}, {0}};
static const struct point t64_points[] = {{200000, 32.41}, {300000, 36.14}, {0}};

static void compare(const struct figures *figures)
{
	bool staged = figures->stages.vc != 0;
	struct pm_flit_config config = {.cable = figures->cable,
					.buffer = figures->buffer,
					.vcs = figures->vcs,
					.rule = figures->rule,
					.reads = 1,
					.stages = figures->stages,
					.length = figures->length,
					.load = 20000,
					.arrivals = PM_FLIT_POISSON,
					.seed = 1};
	double more = measure(figures->net, &config, 20000).mean - figures->least;
	double most = 0;

	if (staged && figures->least > 0)
		assert_in_range((uint64_t)((more + 1) * 1000), 1000, 4000);
	for (const struct point *point = figures->points; point->load; point++) {
		config.load = point->load;
		assert_near(measure(figures->net, &config, 10000).mean - more,
			    point->latency, staged ? 0.05 : 0.1);
	}
	for (config.load = staged ? PM_FLIT_FULL_LOAD : 500000;
	     config.load <= PM_FLIT_FULL_LOAD; config.load *= 2)
		most = fmax(most, measure(figures->net, &config, 10000).accepted);
	assert_near(most, figures->saturation, staged ? 0.1 : 0.2);
	pm_flit_net_free(figures->net);
}

static void test_booksim(void **state)
{
	const struct figures rows[] = {
		{tree(4, 3), PM_FLIT_ANY, 4, 4, 4, 16, {0}, 22.69, 0.694, ft64_points},
		{torus(8, 8),
		 PM_FLIT_DATELINE,
		 2,
		 5,
		 4,
		 16,
		 {0},
		 28.96,
		 0.40,
		 t64_points},
	};

	for_each_row(row, rows)
		compare(row);
}

static void test_booksim_stages(void **state)
{
#define STAGES                                                                           \
	{                                                                                \
		0, 1, 1, 1, 0                                                            \
	}
	const struct figures rows[] = {
		{tree(4, 3), PM_FLIT_ANY, 4, 2, 4, 16, STAGES, 22.69, 0.691, ft64_points},
		{torus(8, 8), PM_FLIT_ROW, 2, 3, 4, 16, STAGES, 28.96, 0.403, t64_points},
		{tree(4, 3), PM_FLIT_ANY, 8, 2, 4, 16, STAGES, 0, 0.744, no_points},
		{tree(4, 3), PM_FLIT_ANY, 8, 2, 1, 8, STAGES, 19.48, 0.741, no_points},
		{tree(8, 2), PM_FLIT_ANY, 4, 2, 8, 16, STAGES, 0, 0.659, no_points},
	};
#undef STAGES

	for_each_row(row, rows)
		compare(row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zero_load),
		cmocka_unit_test(test_zero_load_of_stages),
		cmocka_unit_test(test_mean_distance),
		cmocka_unit_test(test_credit_throughput),
		cmocka_unit_test(test_slack_fill),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_slack_goes_on),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_hot_spot),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_low_load),
		cmocka_unit_test(test_backlog),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_conservation),
		cmocka_unit_test(test_measurements),
		cmocka_unit_test(test_repeatable),
		cmocka_unit_test(test_traffic_is_the_same),
		cmocka_unit_test(test_deadlock),
		cmocka_unit_test(test_no_deadlock),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_bad_tables),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_booksim),
		cmocka_unit_test(test_booksim_stages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
