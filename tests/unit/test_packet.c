/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The packet engine where theory is exact, and against itself. */
#include "packet_world.h"

#include <portmajor/lab/cutoff.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>

static void end_ring(struct lab *lab)
{
	free(lab->tables);
	free(lab->hosts);
	pm_fabric_free(lab->world.fabric);
}

/* One host of a star sends to another. */
static void send_to_one(struct lab *lab)
{
	lab->workload.pattern = PM_INCAST;
	lab->workload.node = 3;
	lab->workload.senders = 1;
}

/* ---- Paths ---- */

/* The arrival of a single packet, cable after cable, at any speeds. */
static uint32_t follow_packet(const struct lab *lab, const uint32_t *path, uint32_t num,
			      uint32_t blocks)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t i = 0; i < num; i++) {
		uint32_t takes = blocks * lab->config.ticks[path[i]];

		/* From a slower cable: so late that it does not run dry. */
		if (i && head + takes < tail + CROSSING)
			head = tail + CROSSING - takes;
		tail = head + takes + WIRE;
		head += WIRE + CROSSING;
	}
	return tail;
}

/* The tick at which one message has arrived. */
static uint32_t send_one(struct lab *lab, uint32_t from, uint32_t to, uint32_t blocks)
{
	const struct pm_workload_message list[] = {{from, to, blocks, 0, NULL}};

	lab->workload.pattern = PM_LIST;
	lab->workload.list = list;
	lab->workload.num_list = 1;
	lab->config.batch = 2000;
	lab->config.batches = 1;
	lab->config.warmup = 0;
	start(lab);
	run_to(lab, 2000);
	assert_true(lab->r.over && pm_packet_is_idle(lab->packet));
	finish(lab);
	assert_int_equal(lab->r.dropped + lab->r.delivered, lab->r.created);
	if (lab->r.messages == 1)
		assert_true(lab->r.p50 == lab->r.slowest && lab->r.p99 == lab->r.slowest);
	return lab->r.done;
}

static void test_zero_load(void **state)
{
	static const uint32_t sizes[] = {1, 64, 160}; /* the last one in three packets */
	struct pm_fabric *fabrics[] = {
		tree(2, 3), tree(3, 2),
		world_generate(&(struct pm_generate){.kind = PM_GENERATE_TWO_LEVEL,
						     .two_level = {2, 2, 3, 2}})};

	for (size_t f = 0; f < LENGTH(fabrics); f++) {
		struct lab lab;
		uint32_t path[MAX_PATH];

		begin_with(&lab, fabrics[f]);
		for (uint32_t from = 0; from < lab.num_hosts; from++)
			for (uint32_t to = 0; to < lab.num_hosts; to++)
				for (size_t s = 0; s < LENGTH(sizes) && from != to; s++)
					assert_int_equal(
						send_one(&lab, from, to, sizes[s]),
						zero_load(find_path(&lab, from, to, path),
							  sizes[s]));
		end(&lab);
	}
}

static void test_speeds(void **state)
{
	struct random random = {3};
	struct lab lab;
	uint16_t *ticks;

	begin_with(&lab, tree(3, 2));
	ticks = calloc(lab.world.fabric->num_ports, sizeof(*ticks));
	assert_non_null(ticks);
	lab.config.ticks = ticks;
	for (uint32_t i = 0; i < 300; i++) {
		uint32_t path[MAX_PATH], from, to, num, blocks;

		for (uint32_t p = 0; p < lab.world.fabric->num_ports; p++)
			ticks[p] = (uint16_t)random_range(&random, 1, 9);
		from = random_below(&random, lab.num_hosts);
		to = (from + 1 + random_below(&random, lab.num_hosts - 1)) %
		     lab.num_hosts;
		blocks = random_range(&random, 1, 64);
		num = find_path(&lab, from, to, path);
		assert_int_equal(send_one(&lab, from, to, blocks),
				 follow_packet(&lab, path, num, blocks));
	}
	free(ticks);
	end(&lab);
}

/* ---- Queues ---- */

/* B blocks in 2 D + c ticks, c being a packet and the switch: until the room is back. */
static void test_credits(void **state)
{
	static const uint32_t packets[] = {1, 4, 16, 64};
	struct lab lab;

	begin_star(&lab);
	send_to_one(&lab);
	lab.workload.load = PM_LOAD_FULL;
	lab.config.wire = 200;
	for (size_t i = 0; i < LENGTH(packets); i++)
		for (uint32_t room = 1; room <= 16; room++) {
			uint32_t size = packets[i], turn = 2 * 200 + CROSSING + size;
			double most = fmin(1, (double)room * size / turn);

			lab.config.packet = lab.workload.blocks = size;
			lab.config.buffer = room * size;
			lab.config.batch = turn * 100;
			run(&lab);
			/* a packet more or less at either end */
			if (fabs(lab.r.accepted - most) > size / (1000.0 * turn) + 1e-9)
				fail_msg("%u packets of %u: %f, not %f", room, size,
					 lab.r.accepted, most);
			assert_int_equal(lab.r.unstable, most < 0.97);
		}
	end(&lab);
}

static void test_md1(void **state)
{
	static const double loads[] = {0.2, 0.5, 0.8};
	struct lab lab;

	begin_star(&lab);
	send_to_one(&lab);
	lab.workload.poisson = true;
	lab.config.batch = 4000000;
	for (size_t i = 0; i < LENGTH(loads); i++) {
		double wait = loads[i] * 64 / (2 * (1 - loads[i]));
		double found;

		lab.workload.load = (uint32_t)(loads[i] * PM_LOAD_FULL);
		run(&lab);
		found = lab.r.mean - zero_load(2, 64);
		printf("M/D/1 at %.1f: a mean wait of %.2f, theory %.2f\n", loads[i],
		       found, wait);
		assert_true(fabs(found / wait - 1) < 0.03);
		assert_true(fabs(lab.r.accepted - loads[i]) < 0.01);
		assert_true(lab.r.fairness == 1); /* of one that sends, exactly */
	}
	end(&lab);
}

/* The mean of all messages, and its interval by the means of the batches. */
static void test_mean(void **state)
{
	double latency = 0, messages = 0, sum = 0, squares = 0, variance;
	uint64_t slowest = 0;
	struct lab lab;

	begin_star(&lab);
	lab.workload.load = 700000;
	lab.workload.poisson = true;
	start_to_end(&lab);
	assert_int_equal(lab.r.num_batches, 10);
	for (uint32_t i = 0; i < 10; i++) {
		const struct pm_packet_while *b = &lab.r.batches[i];

		latency += (double)b->latency;
		messages += (double)b->messages;
		sum += (double)b->latency / (double)b->messages;
	}
	for (uint32_t i = 0; i < 10; i++) {
		const struct pm_packet_while *b = &lab.r.batches[i];
		double unreachable = (double)b->latency / (double)b->messages - sum / 10;

		squares += unreachable * unreachable;
	}
	for (uint32_t h = 0; h < lab.num_hosts; h++)
		if (lab.r.senders[h].slowest > slowest)
			slowest = lab.r.senders[h].slowest;
	assert_int_equal(lab.r.slowest, slowest);
	variance = squares / 9;
	assert_true(fabs(lab.r.mean - latency / messages) < 1e-9);
	assert_true(fabs(lab.r.half - 2.262 * sqrt(variance / 10)) < 1e-6);
	finish(&lab);
	end(&lab);
}

/* Two messages of a host, the first for an output that another host's packet holds. */
static uint32_t pass(struct lab *lab, uint32_t second)
{
	const struct pm_workload_message list[] = {
		{0, 2, 64, 0, NULL}, {1, 2, 10, 0, NULL}, {1, 3, second, 0, NULL}};

	lab->workload.pattern = PM_LIST;
	lab->workload.list = list;
	lab->workload.num_list = 3;
	lab->config.batch = 1000;
	lab->config.window = 1;
	start(lab);
	run_to(lab, 1000);
	assert_int_equal(lab->r.delivered, 3);
	for (uint32_t i = 0; i < lab->r.num_windows; i++)
		if (lab->r.windows[i].blocks == second) {
			finish(lab);
			return i;
		}
	fail();
	return 0;
}

static void test_passing(void **state)
{
	/* 64 blocks hold the output for 64 ticks from WIRE + CROSSING on */
	const uint32_t ready = WIRE + CROSSING, freed = ready + 64;
	struct lab lab;

	begin_star(&lab);
	lab.config.warmup = 0;
	assert_int_equal(pass(&lab, 20), 10 + ready + 20 + WIRE);
	lab.config.in_line = true;
	assert_int_equal(pass(&lab, 20), freed + 10 + 20 + WIRE);
	lab.config.in_line = false;
	assert_int_equal(pass(&lab, 63), 10 + ready + 63 + WIRE);
	assert_int_equal(lab.r.done, freed + 10 + WIRE);
	/* The packet that passed holds the input, and the first one waits for it. */
	lab.config.reads = 1;
	assert_int_equal(pass(&lab, 63), 10 + ready + 63 + WIRE);
	assert_int_equal(lab.r.done, 10 + ready + 63 + 10 + WIRE);
	end(&lab);
	/* Also if these are ports above the 64th. */
	begin_with(&lab, recipe_draw("s/130 s:1=a s:70=b s:100=c s:129=d"));
	lab.config.warmup = 0;
	lab.config.reads = 1;
	assert_int_equal(pass(&lab, 63), 10 + ready + 63 + WIRE);
	assert_int_equal(lab.r.done, 10 + ready + 63 + 10 + WIRE);
	end(&lab);
}

/* ---- Loads ---- */

static void test_shift(void **state)
{
	struct lab lab;
	uint32_t path[MAX_PATH], half;

	begin_with(&lab, tree(3, 4));
	half = lab.num_hosts / 2;
	lab.workload.pattern = PM_SHIFT;
	lab.workload.load = PM_LOAD_FULL;
	for (uint32_t shift = 1; shift < lab.num_hosts; shift += 5) {
		uint32_t longest = 0;

		lab.workload.shift = shift;
		run(&lab);
		for (uint32_t h = 0; h < lab.num_hosts; h++) {
			uint32_t links =
				find_path(&lab, h, (h + shift) % lab.num_hosts, path);

			longest = links > longest ? links : longest;
		}
		assert_int_equal(lab.r.slowest, zero_load(longest, 64));
		assert_true(fabs(lab.r.accepted - 1) < 0.001 && !lab.r.unstable);
	}
	/* All by the top: there is no waiting at all. */
	lab.workload.shift = half;
	run(&lab);
	assert_int_equal(lab.r.slowest, zero_load(6, 64));
	assert_true(lab.r.mean == zero_load(6, 64) && lab.r.half == 0);
	end(&lab);
}

/* A message counts once, when its last packet is there. */
static void test_messages(void **state)
{
	struct lab lab;

	begin_with(&lab, tree(2, 4));
	lab.workload.pattern = PM_SHIFT;
	lab.workload.shift = 1;
	lab.workload.load = PM_LOAD_FULL / 10;
	lab.workload.blocks = 150;
	lab.workload.messages = 5;
	lab.config.warmup = 0;
	run(&lab);
	assert_int_equal(lab.r.delivered, 16 * 5 * 3);
	assert_int_equal(lab.r.messages, 16 * 5);
	end(&lab);
}

static void test_saturation(void **state)
{
	struct lab lab;

	begin_with(&lab, tree(2, 4));
	lab.workload.pattern = PM_UNIFORM;
	lab.workload.load = PM_LOAD_FULL;
	run(&lab);
	assert_true(lab.r.accepted > 0.7 && lab.r.accepted <= 1 && lab.r.unstable);
	lab.workload.load = PM_LOAD_FULL / 4;
	run(&lab);
	assert_true(fabs(lab.r.accepted - 0.25) < 0.005 && !lab.r.unstable);
	assert_true(lab.r.fairness > 0.999 && lab.r.fairness <= 1);
	lab.workload.pattern = PM_INCAST;
	lab.workload.load = PM_LOAD_FULL;
	lab.workload.senders = lab.num_hosts - 1;
	lab.config.batch = 64 * 15 * 50;
	run(&lab);
	assert_true(fabs(lab.r.accepted * (lab.num_hosts - 1) - 1) < 0.005);
	assert_true(lab.r.unstable);
	end(&lab);
}

/* ---- The same again ---- */

static void test_same(void **state)
{
	struct recipe recipe = {0};
	struct random random = {5};
	uint64_t first = 0;

	recipe_add_xgft(&recipe, &(struct recipe_xgft){.levels = 2,
						       .hosts = 4,
						       .children = {0, 4},
						       .parents = {4},
						       .parallel = {1}});
	for (unsigned int i = 0; i < 5; i++) {
		struct lab lab;
		uint64_t digest;

		begin_with(&lab, recipe_build(&recipe, i ? &random : NULL));
		lab.workload.pattern = PM_HOT_SPOT;
		lab.workload.share = 50000;
		lab.workload.load = 700000;
		lab.workload.poisson = true;
		digest = run_digest(&lab);
		if (!i)
			first = digest;
		assert_int_equal(digest, first);
		/* In many small steps. */
		start(&lab);
		for (uint32_t t = 0; t < end_of(&lab); t += 37)
			run_to(&lab, t);
		run_to(&lab, end_of(&lab));
		assert_int_equal(digest_of(&lab), first);
		finish(&lab);
		lab.workload.seed = 2;
		assert_int_not_equal(run_digest(&lab), first);
		end(&lab);
	}
	recipe_free(&recipe);
}

/* ---- Failures ---- */

/*
 * One packet, and each cable of its path dies at each tick: it is lost if a part of it
 * has not come in over that cable.
 */
static void test_cut(void **state)
{
	const uint32_t size = 30;
	struct lab lab;
	uint32_t path[MAX_PATH], num;

	begin_with(&lab, tree(3, 2));
	lab.config.num_failed = 1;
	num = find_path(&lab, 0, lab.num_hosts - 1, path);
	assert_int_equal(num, 6);
	for (uint32_t c = 0; c < num; c++)
		for (uint32_t t = 1; t < zero_load(num, size) + 5; t++) {
			bool arrives = t >= zero_load(c + 1, size);

			lab.config.failed = &path[c];
			lab.config.fail_at = t;
			send_one(&lab, 0, lab.num_hosts - 1, size);
			if (lab.r.delivered != arrives)
				fail_msg("cable %u at %u: %s", c, t,
					 arrives ? "lost" : "not lost");
			assert_int_equal(lab.r.drops[PM_DROP_CUT] +
						 lab.r.drops[PM_DROP_DEAD_PORT],
					 !arrives);
		}
	end(&lab);
}

/* A packet is on a link and another one waits for it when it fails: both are dropped, the
 * second one at once, whichever end of the link is named. */
static void test_queued(void **state)
{
	const struct pm_workload_message list[] = {{.from = 0, .to = 2, .blocks = 30},
						   {.from = 1, .to = 2, .blocks = 30}};
	struct lab lab;
	uint32_t ends[2];

	begin_star(&lab);
	ends[0] = lab.hosts[2].port;
	ends[1] = lab.world.fabric->ports[ends[0]].peer;
	lab.workload.pattern = PM_LIST;
	lab.workload.list = list;
	lab.workload.num_list = 2;
	lab.config.warmup = 0;
	lab.config.num_failed = 1;
	lab.config.fail_at = WIRE + CROSSING + 5;
	for (uint32_t i = 0; i < 2; i++) {
		lab.config.failed = &ends[i];
		start(&lab);
		run_to(&lab, lab.config.fail_at + 1);
		assert_int_equal(lab.r.drops[PM_DROP_DEAD_PORT], 1);
		run_to(&lab, 2000);
		assert_int_equal(lab.r.drops[PM_DROP_CUT], 1);
		assert_int_equal(lab.r.dropped, 2);
		assert_int_equal(lab.r.delivered, 0);
		assert_true(lab.r.over && pm_packet_is_idle(lab.packet));
		finish(&lab);
	}
	end(&lab);
}

/*
 * Two packets of a host, and a cable of their path dies for a while: a packet for it
 * then, or one that has not come in whole over it, is lost, but a host waits. All
 * credits are back.
 */
static void try_return(struct lab *lab, const uint32_t *path, uint32_t c, uint32_t gone)
{
	const uint32_t size = 30, at = lab->config.fail_at, back = at + gone;
	uint32_t arrived = 0, begin[2] = {0, size};

	if (!c && at <= size) /* the first is on its way; the other waits */
		begin[1] = size > back ? size : back;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t enters = begin[i] + c * (WIRE + CROSSING);

		if (c ? enters >= back || enters + size + WIRE <= at
		      : begin[i] >= back || begin[i] + size + WIRE <= at)
			arrived++;
	}
	lab->config.failed = &path[c];
	lab->config.returns = &(const struct pm_packet_return){back, path[c]};
	lab->config.num_returns = 1;
	start(lab);
	run_to(lab, 2000);
	if (lab->r.delivered != arrived || lab->r.dropped != 2 - arrived)
		fail_msg("cable %u from %u to %u: %u arrived, not %u", c, at, back,
			 (uint32_t)lab->r.delivered, arrived);
	assert_true(lab->r.over && pm_packet_is_idle(lab->packet));
	finish(lab);
}

static void test_return(void **state)
{
	struct pm_workload_message list[2] = {{.blocks = 30}, {.blocks = 30}};
	uint32_t path[MAX_PATH], num;
	struct lab lab;

	begin_with(&lab, tree(3, 2));
	list[0].to = list[1].to = lab.num_hosts - 1;
	lab.workload.pattern = PM_LIST;
	lab.workload.list = list;
	lab.workload.num_list = 2;
	lab.config.warmup = 0;
	lab.config.num_failed = 1;
	num = find_path(&lab, 0, lab.num_hosts - 1, path);
	lab.config.packet = 30;
	lab.config.buffer = 120;
	for (uint32_t c = 0; c < num; c++)
		for (uint32_t t = 1; t < zero_load(num, 60) + 5; t++)
			for (uint32_t gone = 1; gone < 80; gone += 13) {
				lab.config.fail_at = t;
				try_return(&lab, path, c, gone);
			}
	end(&lab);
}

/* Up to four cables, which fail on the way; in every other run they return. */
struct loss {
	uint32_t failed[4];
	struct pm_packet_return returns[4];
};

static void draw_loss(struct lab *lab, struct random *random, uint64_t seed,
		      struct loss *loss)
{
	uint32_t time = lab->config.fail_at;

	for (uint32_t i = 0; i < 4; i++) {
		loss->failed[i] = random_below(random, lab->world.fabric->num_ports);
		time += random_range(random, 1, 1500);
		loss->returns[i] = (struct pm_packet_return){time, loss->failed[i]};
	}
	lab->config.failed = loss->failed;
	lab->config.returns = loss->returns;
	lab->config.num_returns = seed % 2 ? lab->config.num_failed : 0;
}

/* Any traffic and switches, with cables lost on the way. */
static void draw_run(struct lab *lab, struct random *random, uint64_t seed,
		     struct loss *loss)
{
	lab->workload.pattern = random_chance(random, 50) ? PM_UNIFORM : PM_PERMUTATION;
	lab->workload.seed = seed;
	lab->workload.load = random_range(random, 1, 10) * 100000;
	lab->workload.messages = 40;
	lab->workload.poisson = random_chance(random, 50);
	lab->workload.blocks = random_range(random, 1, 150);
	lab->config.packet = random_range(random, 1, 64);
	lab->config.buffer = lab->config.packet * random_range(random, 1, 4);
	lab->config.wire = random_range(random, 1, 40);
	lab->config.crossing = random_below(random, 40);
	lab->config.reads = random_below(random, 3);
	lab->config.in_line = random_chance(random, 50);
	lab->config.num_failed = random_below(random, 5);
	lab->config.fail_at = random_below(random, 4000);
	draw_loss(lab, random, seed, loss);
	if (random_chance(random, 50)) {
		lab->config.timeout = random_range(random, 3000, 20000);
		lab->config.tries = 3;
	}
}

/*
 * In random trees, with random parameters: all packets are accounted for, and in the
 * end no packet is left and all credits are back.
 */
static void test_conservation(void **state)
{
	uint64_t dropped = 0, delivered = 0;

	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct random random = {seed};
		struct recipe recipe = {0};
		struct lab lab = {0};
		struct loss loss;

		if (!world_make_random(&lab.world, &random, &recipe)) {
			recipe_free(&recipe);
			continue;
		}
		lab.tables = lab.world.first;
		configure(&lab);
		if (lab.num_hosts < 2)
			goto next;
		draw_run(&lab, &random, seed, &loss);
		lab.config.batch = 1000000;
		start(&lab);
		run_to(&lab, 2000);
		assert_int_equal(lab.r.created, lab.r.delivered + lab.r.uncounted +
							lab.r.dropped + lab.r.inside);
		run_to(&lab, end_of(&lab));
		if (lab.r.created != lab.r.delivered + lab.r.uncounted + lab.r.dropped ||
		    !lab.r.over || lab.r.inside || !pm_packet_is_idle(lab.packet))
			fail_msg("seed %llu: something is left",
				 (unsigned long long)seed);
		dropped += lab.r.dropped;
		delivered += lab.r.delivered;
		finish(&lab);
	next:
		free(lab.hosts);
		world_free(&lab.world);
		recipe_free(&recipe);
	}
	printf("%llu packets arrived, %llu were dropped\n", (unsigned long long)delivered,
	       (unsigned long long)dropped);
	assert_true(dropped > 1000 && delivered > dropped);
}

/* The share of paths that cutoff.c counts as dead. */
static double dead_share(const struct lab *lab, const uint8_t *usable)
{
	const struct pm_fabric *fabric = lab->world.fabric;
	struct pm_cutoff_lid *lids = calloc(lab->num_hosts, sizeof(*lids));
	uint8_t *all = malloc(lab->world.plan->topology->num_ports);
	struct pm_cutoff *cutoff;
	double share;

	assert_true(lids && all);
	memset(all, 1, lab->world.plan->topology->num_ports);
	for (uint32_t h = 0; h < lab->num_hosts; h++)
		lids[h] = (struct pm_cutoff_lid){lab->hosts[h].lid,
						 fabric->ports[lab->hosts[h].port].peer};
	cutoff = pm_cutoff_new(lab->world.plan->topology, all, lab->tables,
			       lab->world.stride, lids, lab->num_hosts);
	assert_int_equal(pm_cutoff_dead(cutoff), 0);
	pm_cutoff_links(cutoff, usable, usable);
	share = (double)pm_cutoff_dead(cutoff) / (double)pm_cutoff_paths(cutoff);
	pm_cutoff_free(cutoff);
	free(lids);
	free(all);
	return share;
}

/* All blocks that the failure changes, at a time. */
static struct pm_packet_set *make_sets(struct lab *lab, uint8_t *usable, uint32_t time)
{
	const struct world *w = &lab->world;
	struct pm_packet_set *sets =
		calloc((size_t)w->num_switches * w->stride / 64, sizeof(*sets));

	assert_non_null(sets);
	pm_routes_update(w->routes, usable, NULL);
	for (uint32_t sw = 0; sw < w->num_switches; sw++)
		for (uint32_t b = 0; b < w->stride / 64; b++) {
			struct pm_packet_set *set = &sets[lab->config.num_sets];
			const uint8_t *installed =
				lab->tables + (size_t)sw * w->stride + (size_t)b * 64;

			pm_delta_apply(set->entries, installed,
				       pm_routes_table(w->routes, sw) + (size_t)b * 64,
				       64);
			set->time = time;
			set->sw = sw;
			set->block = b;
			lab->config.num_sets += memcmp(set->entries, installed, 64) != 0;
		}
	lab->config.sets = sets;
	return sets;
}

/* The cables of a root die; the caller frees the list of unusable ones. */
static uint8_t *fail_root(struct lab *lab, const char *name)
{
	const struct pm_fabric *fabric = lab->world.fabric;
	uint32_t root = world_switch(&lab->world, name);
	uint32_t *failed = calloc(fabric->nodes[root].num_ports, sizeof(*failed));
	uint8_t *usable = malloc(lab->world.plan->topology->num_ports);

	assert_true(usable && failed);
	assert_true(pm_plan_match(lab->world.plan, fabric, usable));
	pm_for_each_port(port, fabric, root) {
		failed[lab->config.num_failed++] = port;
		usable[port] = usable[fabric->ports[port].peer] = 0;
	}
	lab->config.failed = failed;
	return usable;
}

/* A root of a tree fails, and the tables are repaired 50,000 ticks later. */
static void try_root(unsigned int height, unsigned int arity, uint32_t load)
{
	struct lab lab;
	struct pm_packet_set *sets;
	uint8_t *usable;
	char name[8];
	uint64_t dropped = 0, arrived = 0, after = 0;
	double share, found, deviation;

	begin_with(&lab, tree(height, arity));
	snprintf(name, sizeof(name), "sw%u-0", height);
	usable = fail_root(&lab, name);
	share = dead_share(&lab, usable);
	lab.workload.pattern = PM_UNIFORM;
	lab.workload.load = load;
	lab.workload.seed = getenv("PM_SEED") ? strtoull(getenv("PM_SEED"), NULL, 0) : 1;
	lab.config.fail_at = 20000;
	sets = make_sets(&lab, usable, 420000);
	lab.config.window = 10000;
	lab.config.batch = 50000;
	start_to_end(&lab);
	/* Windows begin after what was on its way at the failure. */
	for (uint32_t i = 3; i < 42; i++) {
		dropped += lab.r.windows[i].dropped;
		arrived += lab.r.windows[i].packets;
	}
	for (uint32_t i = 43; i < lab.r.num_windows; i++)
		after += lab.r.windows[i].dropped;
	finish(&lab);
	found = (double)dropped / (double)(dropped + arrived);
	deviation = sqrt(share * (1 - share) / (double)(dropped + arrived));
	printf("root of %u hosts: %.5f of packets lost, %.5f of paths dead, deviation %.5f\n",
	       lab.num_hosts, found, share, deviation);
	assert_true(fabs(found - share) < 3 * deviation);
	assert_int_equal(after, 0);
	free(sets);
	free(usable);
	free((void *)(uintptr_t)lab.config.failed);
	end(&lab);
}

static void test_root(void **state)
{
	try_root(2, 6, 300000);
	try_root(3, 4, 500000);
}

/* ---- Reliable connections ---- */

/* Shifts through the top of a tree, and a root that dies. */
static uint8_t *begin_reliable(struct lab *lab)
{
	begin_with(lab, tree(3, 4));
	lab->workload.pattern = PM_SHIFT;
	lab->workload.shift = lab->num_hosts / 2;
	lab->workload.load = PM_LOAD_FULL / 2;
	lab->workload.messages = 400;
	lab->workload.blocks = 100;
	lab->config.timeout = 20000;
	lab->config.tries = 7;
	lab->config.batch = 200000;
	lab->config.fail_at = 15000;
	return fail_root(lab, "sw3-0");
}

static void end_reliable(struct lab *lab, uint8_t *usable)
{
	finish(lab);
	free((void *)(uintptr_t)lab->config.failed);
	free(usable);
	end(lab);
}

/* Pairs with a path through a failed part. */
static uint32_t count_dead(const struct lab *lab, const uint8_t *usable)
{
	uint32_t path[MAX_PATH], dead = 0;

	for (uint32_t h = 0; h < lab->num_hosts; h++) {
		uint32_t to = (h + lab->workload.shift) % lab->num_hosts;
		uint32_t num = find_path(lab, h, to, path), bad = 0;

		for (uint32_t i = 1; i < num; i++)
			bad |= !usable[path[i]];
		dead += bad;
	}
	return dead;
}

/*
 * Every message arrives once, however many packets were lost; those that wait for an
 * answer when the tables are repaired take a time-out and no more.
 */
static void test_reliable(void **state)
{
	struct lab lab;
	uint8_t *usable = begin_reliable(&lab);
	uint32_t dead = count_dead(&lab, usable), num = lab.config.num_failed;
	struct pm_packet_set *sets;

	assert_int_equal(dead, 4);
	lab.config.num_failed = 0;
	run(&lab);
	assert_true(!lab.r.pairs.again && !lab.r.dropped && !lab.r.pairs.timeouts);
	assert_int_equal(lab.r.pairs.pairs, lab.num_hosts);
	assert_int_equal(lab.r.delivered, lab.num_hosts * 400u * 2);
	lab.config.num_failed = num;
	sets = make_sets(&lab, usable, 25000);
	start_to_end(&lab);
	assert_true(lab.r.over && pm_packet_is_idle(lab.packet));
	assert_int_equal(lab.r.delivered, lab.num_hosts * 400u * 2);
	assert_int_equal(lab.r.pairs.broken, 0);
	assert_int_equal(lab.r.pairs.again, dead);
	assert_int_equal(lab.r.pairs.late, dead);
	assert_int_equal(lab.r.pairs.timeouts, dead);
	assert_true(lab.r.dropped >= dead);
	assert_in_range(lab.r.slowest, 20000, 20000 + 15000);
	end_reliable(&lab, usable);
	free(sets);
}

/* Each pair is found again, however many there come to be. */
static void test_many_pairs(void **state)
{
	struct lab lab;

	begin_with(&lab, tree(2, 4));
	lab.workload.pattern = PM_ALL_TO_ALL;
	lab.workload.load = PM_LOAD_FULL / 2;
	lab.config.timeout = 1000000;
	lab.config.tries = 7;
	run(&lab);
	assert_int_equal(lab.r.pairs.pairs, 16 * 15);
	assert_true(lab.r.delivered > 0 && !lab.r.pairs.again && !lab.r.dropped);
	end(&lab);
}

/* Tables are not repaired: pairs are given up after eight times, no other ones. */
static void test_broken(void **state)
{
	struct lab lab;
	uint8_t *usable = begin_reliable(&lab);
	uint32_t dead = count_dead(&lab, usable);

	start(&lab);
	run_to(&lab, 15000 + 8 * 20000 - 1000);
	assert_int_equal(lab.r.pairs.broken, 0);
	run_to(&lab, 15000 + 8 * 20000 + 1000);
	assert_int_equal(lab.r.pairs.broken, dead);
	run_to(&lab, end_of(&lab));
	assert_int_equal(lab.r.pairs.broken, dead);
	assert_int_equal(lab.r.pairs.timeouts, dead * 8);
	assert_true(lab.r.pairs.refused > 0);
	assert_true(lab.r.over && pm_packet_is_idle(lab.packet));
	end_reliable(&lab, usable);
}

/* A Set of a block drops its first LID and its last, not those beside it. */
static void test_set(void **state)
{
	static const uint16_t lids[] = {63, 64, 127, 128};
	struct pm_packet_set sets[2]; /* one, and what must not be read */
	uint64_t before[4];
	uint32_t outputs[4];
	struct lab lab;

	begin_star(&lab);
	lab.tables = malloc(192);
	assert_non_null(lab.tables);
	memset(lab.tables, PM_LFT_KEEP, 192);
	for (uint32_t h = 0; h < 4; h++) {
		outputs[h] = lab.world.fabric->ports[lab.hosts[h].port].peer;
		lab.hosts[h].lid = lids[h];
		lab.tables[lids[h]] = lab.world.fabric->ports[outputs[h]].num;
	}
	memset(sets, PM_LFT_KEEP, sizeof(sets));
	sets[0].time = 20000;
	sets[0].sw = 0;
	sets[0].block = 1;
	lab.config.tables = lab.tables;
	lab.config.length = 192;
	lab.config.sets = sets;
	lab.config.num_sets = 1;
	lab.workload.pattern = PM_SHIFT;
	lab.workload.shift = 1;
	lab.workload.load = PM_LOAD_FULL / 2;
	start(&lab);
	run_to(&lab, 30000);
	for (uint32_t h = 0; h < 4; h++)
		before[h] = lab.r.busy[outputs[h]];
	run_to(&lab, 60000);
	for (uint32_t h = 0; h < 4; h++) {
		assert_int_not_equal(before[h], 0);
		assert_int_equal(lab.r.busy[outputs[h]] > before[h], h == 0 || h == 3);
	}
	finish(&lab);
	end(&lab);
}

#define TIMES 10

/*
 * The path to a host fails again and again: at times[2 i], and returns at times[2 i +
 * 1].
 */
static struct pm_packet_set *make_holes(struct lab *lab, uint32_t host,
					const uint32_t *times)
{
	struct pm_packet_set *sets = calloc(2 * TIMES, sizeof(*sets));
	uint32_t lid = lab->hosts[host].lid;

	assert_non_null(sets);
	for (uint32_t i = 0; i < 2 * TIMES; i++) {
		sets[i].time = times[i];
		sets[i].block = lid / 64;
		memcpy(sets[i].entries, lab->tables + (size_t)lid / 64 * 64, 64);
		if (i % 2 == 0)
			sets[i].entries[lid % 64] = PM_LFT_KEEP;
	}
	lab->config.sets = sets;
	lab->config.num_sets = 2 * TIMES;
	return sets;
}

/*
 * Where packets are missing and others come, the receiver reports it, and no sender
 * waits for long. That is more frequent than a packet that is sent again: each time
 * some had arrived.
 */
static void test_gap(void **state)
{
	struct lab lab;
	struct pm_packet_set *sets;
	uint32_t times[2 * TIMES];

	begin_star(&lab);
	send_to_one(&lab);
	lab.workload.load = PM_LOAD_FULL / 2;
	lab.workload.messages = 500;
	lab.config.timeout = 50000;
	lab.config.tries = 7;
	for (uint32_t i = 0; i < TIMES; i++) {
		times[2 * i] = 11000 + i * 4000;
		times[2 * i + 1] = times[2 * i] + 1000;
	}
	sets = make_holes(&lab, 3, times);
	run(&lab);
	assert_int_equal(lab.r.delivered, 500);
	assert_in_range(lab.r.drops[PM_DROP_NO_ENTRY], TIMES * 7, TIMES * 9);
	assert_int_equal(lab.r.pairs.gaps, TIMES);
	assert_int_equal(lab.r.pairs.timeouts, 0);
	assert_true(lab.r.slowest < 3000);
	free(sets);
	end(&lab);
}

/* One host sends to another, which has no path for answers until tick 35000. */
static struct pm_packet_set *begin_unanswered(struct lab *lab)
{
	struct pm_packet_set *sets;
	uint32_t times[2 * TIMES];

	begin_star(lab);
	for (uint32_t i = 0; i < TIMES; i++)
		times[2 * i] = times[2 * i + 1] = 60000;
	times[0] = 1;
	times[1] = 35000;
	sets = make_holes(lab, 0, times);
	for (uint32_t i = 2; i < 2 * TIMES; i++)
		sets[i] = sets[1];
	send_to_one(lab);
	lab->config.timeout = 10000;
	lab->config.tries = 7;
	return sets;
}

/* A message arrives, but not its answer: it is sent again, and answered again. */
static void test_answer(void **state)
{
	struct lab lab;
	struct pm_packet_set *sets = begin_unanswered(&lab);

	lab.workload.messages = 1;
	lab.config.warmup = 0;
	lab.config.batch = 11000;
	start_to_end(&lab);
	assert_int_equal(lab.r.delivered, 1);
	assert_int_equal(lab.r.pairs.timeouts, 4);
	assert_int_equal(lab.r.pairs.broken, 0);
	assert_int_equal(lab.r.dropped, 4);
	assert_int_equal(lab.r.uncounted, 4 + 1);
	/* Each answer is a block. */
	assert_int_equal(lab.r.busy[lab.hosts[3].port], 4 + 1);
	finish(&lab);
	free(sets);
	end(&lab);
}

/* The number of packets that are sent before the first is answered. */
static void test_window(void **state)
{
	struct lab lab;
	struct pm_packet_set *sets = begin_unanswered(&lab);

	lab.workload.messages = 100;
	start(&lab);
	run_to(&lab, 9000);
	assert_int_equal(lab.r.delivered, 64);
	assert_int_equal(lab.r.pairs.timeouts, 0);
	finish(&lab);
	free(sets);
	end(&lab);
}

/* ---- Failures of traffic ---- */

static void test_drops(void **state)
{
	struct lab lab;
	uint8_t *entry;

	begin_star(&lab);
	lab.tables = malloc(lab.world.stride);
	assert_non_null(lab.tables);
	memcpy(lab.tables, lab.world.first, lab.world.stride);
	lab.config.tables = lab.tables;
	entry = &lab.tables[lab.hosts[2].lid];
	*entry = PM_LFT_KEEP;
	send_one(&lab, 0, 2, 9);
	assert_int_equal(lab.r.drops[PM_DROP_NO_ENTRY], 1);
	*entry = 0;
	send_one(&lab, 0, 2, 9);
	assert_int_equal(lab.r.drops[PM_DROP_NO_ENTRY], 1);
	*entry = 4;
	send_one(&lab, 0, 2, 9);
	assert_int_equal(lab.r.drops[PM_DROP_WRONG_HOST], 1);
	*entry = 3;
	send_one(&lab, 0, 2, 9);
	assert_int_equal(lab.r.dropped, 0);
	lab.hosts[2].lid = (uint16_t)lab.world.stride;
	send_one(&lab, 0, 2, 9);
	assert_int_equal(lab.r.drops[PM_DROP_NO_LID], 1);
	end(&lab);
}

static void test_deadlock(void **state)
{
	struct lab lab;
	uint32_t loop[8];

	begin_ring(&lab);
	lab.workload.shift = 1;
	run(&lab); /* no packet waits for another one */
	lab.workload.shift = 3;
	start_to_end(&lab);
	assert_int_equal(pm_packet_stuck(lab.packet, loop, 8), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(pm_fabric_peer_node(lab.world.fabric, loop[i]),
				 lab.world.fabric->ports[loop[(i + 1) % 4]].node);
	assert_int_equal(lab.r.created, lab.r.delivered + lab.r.inside);
	assert_true(lab.r.inside >= 8 && lab.r.unstable);
	finish(&lab);
	/* Lifetimes end it. */
	lab.config.lifetime = 2000;
	start_to_end(&lab);
	assert_true(lab.r.drops[PM_DROP_LIFETIME] > 10);
	assert_int_equal(lab.r.drops[PM_DROP_LIFETIME], lab.r.dropped);
	assert_true(lab.r.created > 100);
	finish(&lab);
	end_ring(&lab);
}

static uint32_t list_deadlocks(struct lab *lab, const struct pm_packet_deadlock **list)
{
	return pm_packet_deadlocks(lab->packet, list);
}

/*
 * Reports how long a deadlock lasted, and the hosts that it blocked, also when it is
 * over.
 */
static void test_deadlocks(void **state)
{
	const struct pm_packet_deadlock *list;
	uint32_t stuck = 0, failed, num;
	struct lab lab;

	begin_ring(&lab);
	lab.workload.shift = 1;
	start_to_end(&lab);
	assert_int_equal(list_deadlocks(&lab, &list), 0);
	finish(&lab);
	/* It stays to the end, and is the same however often it is looked for. */
	lab.workload.shift = 3;
	start(&lab);
	for (uint32_t now = 10; !stuck; now += 10) {
		run_to(&lab, now);
		if (pm_packet_stuck(lab.packet, NULL, 0))
			stuck = now;
	}
	run_to(&lab, end_of(&lab) / 2);
	assert_int_equal(list_deadlocks(&lab, &list), 1);
	assert_int_equal(list[0].end, lab.r.now);
	run_to(&lab, end_of(&lab));
	assert_int_equal(list_deadlocks(&lab, &list), 1);
	assert_int_equal(list[0].end, lab.r.now);
	assert_true(list[0].begin <= stuck && list[0].begin + 200 > stuck);
	assert_int_equal(list[0].length, 4);
	assert_int_equal(list[0].hosts, 4);
	finish(&lab);
	/* A cable of it dies: it is over then. */
	failed = world_port(lab.world.fabric, "r1", 2);
	lab.config.failed = &failed;
	lab.config.num_failed = 1;
	lab.config.fail_at = 50000;
	start_to_end(&lab);
	assert_int_equal(pm_packet_stuck(lab.packet, NULL, 0), 0);
	assert_int_equal(list_deadlocks(&lab, &list), 1);
	assert_int_equal(list[0].end, lab.config.fail_at);
	assert_true(list[0].begin <= stuck && list[0].begin + 200 > stuck);
	finish(&lab);
	lab.config.num_failed = 0;
	/* A time-out ends it, and it comes again. */
	lab.config.lifetime = 2000;
	start(&lab);
	run_to(&lab, stuck + 1500);
	assert_int_equal(lab.r.dropped, 0);
	run_to(&lab, stuck + 2000);
	assert_true(lab.r.dropped > 0);
	num = list_deadlocks(&lab, &list);
	assert_true(num > 0);
	assert_true(list[0].begin <= stuck && list[0].end > stuck + 1500);
	finish(&lab);
	end_ring(&lab);
}

/* A deadlock is found once no packet arrives any more, and not before. */
static void try_ring(uint64_t seed, uint32_t buffer)
{
	struct lab lab;
	uint32_t last = 0, found = 0, one;
	uint64_t delivered = 0;

	begin_ring(&lab);
	lab.workload.pattern = PM_UNIFORM;
	lab.workload.load = PM_LOAD_FULL / 2;
	lab.workload.poisson = true;
	lab.workload.seed = seed;
	lab.config.packet = 16;
	lab.config.buffer = buffer;
	start(&lab);
	for (uint32_t t = 20; t < end_of(&lab); t += 20) {
		run_to(&lab, t);
		if (lab.r.delivered > delivered)
			last = t;
		delivered = lab.r.delivered;
		if (!found && pm_packet_stuck(lab.packet, &one, 1))
			found = t;
	}
	assert_true(last && found);
	if (found + 20 < last || found > last + 400)
		fail_msg("seed %llu: stuck at %u, the last packet came at %u",
			 (unsigned long long)seed, found, last);
	finish(&lab);
	end_ring(&lab);
}

static void test_ring(void **state)
{
	for (uint64_t seed = 1; seed <= 10; seed++)
		try_ring(seed, 16 * (1 + (uint32_t)seed % 4));
}

/* A tree full of packets that wait for each other in rows, and not in a loop. */
static void test_waiting(void **state)
{
	const struct pm_packet_deadlock *list;
	struct lab lab;

	begin_with(&lab, tree(3, 4));
	lab.workload.pattern = PM_INCAST;
	lab.workload.senders = lab.num_hosts - 1;
	lab.workload.load = PM_LOAD_FULL;
	lab.config.buffer = 64;
	for (uint32_t host = 0; host < lab.num_hosts; host += 21) {
		lab.workload.node = host;
		run(&lab);
		assert_true(lab.r.inside > 100);
	}
	/* Nor do lifetimes make one of it. */
	lab.config.lifetime = 100;
	start_to_end(&lab);
	assert_true(lab.r.drops[PM_DROP_LIFETIME] > 10);
	assert_int_equal(pm_packet_deadlocks(lab.packet, &list), 0);
	finish(&lab);
	end(&lab);
}

static void test_bad(void **state)
{
	struct lab lab;
	struct pm_packet_set sets[2] = {{.time = 5}, {.time = 4}};
	const struct pm_packet_return early = {.time = 5};
	struct pm_packet *packet;
	struct pm_error err;

	begin_star(&lab);
#define BAD(...)                                                                         \
	do {                                                                             \
		struct pm_packet_config config = lab.config;                             \
		__VA_ARGS__;                                                             \
		err.text[0] = '\0';                                                      \
		assert_int_equal(pm_packet_new(&config, &packet, &err), -EINVAL);        \
		assert_true(err.text[0]);                                                \
	} while (0)
	BAD(config.packet = 0);
	BAD(config.packet = 65);
	BAD(config.buffer = 63);
	BAD(config.wire = 0);
	BAD(config.batch = 0);
	BAD(config.batches = PM_PACKET_BATCHES + 1);
	BAD(config.batch = 1u << 31);
	BAD(config.sets = sets, config.num_sets = 2);
	sets[0].sw = 1;
	BAD(config.sets = sets, config.num_sets = 1);
	sets[0].sw = 0;
	BAD(config.fail_at = 5, config.returns = &early, config.num_returns = 1);
	sets[0].block = lab.world.stride / 64;
	BAD(config.sets = sets, config.num_sets = 1);
	lab.hosts[1].lid = 0;
	BAD(config.reads = 0);
	lab.hosts[1].port = 0;
	BAD(config.reads = 0);
	end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zero_load),  cmocka_unit_test(test_speeds),
		cmocka_unit_test(test_credits),	   cmocka_unit_test(test_md1),
		cmocka_unit_test(test_passing),	   cmocka_unit_test(test_shift),
		cmocka_unit_test(test_saturation), cmocka_unit_test(test_same),
		cmocka_unit_test(test_cut),	   cmocka_unit_test(test_return),
		cmocka_unit_test(test_mean),	   cmocka_unit_test(test_conservation),
		cmocka_unit_test(test_root),	   cmocka_unit_test(test_reliable),
		cmocka_unit_test(test_broken),	   cmocka_unit_test(test_set),
		cmocka_unit_test(test_gap),	   cmocka_unit_test(test_answer),
		cmocka_unit_test(test_window),	   cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_ring),	   cmocka_unit_test(test_drops),
		cmocka_unit_test(test_deadlock),   cmocka_unit_test(test_deadlocks),
		cmocka_unit_test(test_bad),	   cmocka_unit_test(test_many_pairs),
		cmocka_unit_test(test_messages),   cmocka_unit_test(test_queued),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
