/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bisections, and paths through fabrics: by hand, and against the properties of paths.
 */
#include "packet_world.h"

#include <portmajor/lab/bisection.h>
#include <portmajor/lab/packet_paths.h>
#include <portmajor/lab/share.h>

#include <math.h>

#define CLOSE 1e-9

static void assert_close(double value, double wanted)
{
	if (fabs(value - wanted) > CLOSE)
		fail_msg("%.12f instead of %.12f", value, wanted);
}

struct scene {
	struct lab lab;
	struct pm_vlans vlans;
	struct pm_vlan_table table;
	uint32_t *index;
	double *room;
	struct pm_packet_paths paths;
	struct pm_bisection found;
};

static void scene_begin(struct scene *s, struct pm_fabric *fabric, uint32_t limit)
{
	struct pm_vlan_assignment assignment;

	*s = (struct scene){0};
	begin_with(&s->lab, fabric);
	fabric = s->lab.world.fabric;
	assert_int_equal(
		pm_vlans_make(fabric, &s->lab.world.plan->tree, limit, &s->vlans, NULL),
		0);
	s->table.host = calloc(s->vlans.num_hosts, sizeof(*s->table.host));
	s->index = calloc(s->vlans.num_hosts, sizeof(*s->index));
	s->room = calloc(fabric->num_ports, sizeof(*s->room));
	assert_true(s->table.host && s->index && s->room);
	pm_vlans_assign(&s->vlans, NULL, &s->table, &assignment);
	for (uint32_t h = 0; h < s->vlans.num_hosts; h++)
		s->index[h] = h;
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		s->room[i] = 1;
	s->paths = (struct pm_packet_paths){
		.fabric = fabric,
		.hosts = s->lab.hosts,
		.lfts = s->lab.tables,
		.length = s->lab.world.stride,
		.vlans = &s->vlans,
		.table = &s->table,
		.index = s->index,
	};
}

/* The tried pairings; their rates are computed once more. */
#define MOST_SENDERS 32
#define MOST_PAIRINGS 128

static struct {
	const struct scene *s;
	pm_packet_path *path;
	uint32_t num, receivers; /* senders; the first receiver */
	uint32_t shifts, step;	 /* the first pairings; shift k is by (k + step) .. */
	uint32_t of;		 /* .. * num / of */
	uint32_t to[MOST_SENDERS];
	double sums[MOST_PAIRINGS], slowest;
	uint32_t tried;
	uint64_t unreachable;
} watch;

static uint32_t watched_path(const void *network, uint32_t from, uint32_t to,
			     uint32_t ports[PM_PATH_MAX])
{
	if (from < watch.num)
		watch.to[from] = to;
	return watch.path(network, from, to, ports);
}

static double add_rates(void)
{
	static uint32_t first[MOST_SENDERS + 1], ports[MOST_SENDERS * PM_PATH_MAX];
	double rates[MOST_SENDERS], sum = 0;

	for (uint32_t i = 0; i < watch.num; i++) {
		uint32_t hops =
			watch.path(&watch.s->paths, i, watch.to[i], ports + first[i]);

		first[i + 1] = first[i] + hops;
		watch.unreachable += !hops;
	}
	pm_share_rates(&(struct pm_share_flows){watch.num, first, ports},
		       watch.s->lab.world.fabric->num_ports, watch.s->room, rates);
	for (uint32_t i = 0; i < watch.num; i++) {
		sum += rates[i];
		watch.slowest = fmin(watch.slowest, rates[i]);
	}
	return sum;
}

/* Each receiver has one sender; of a shift, the one so far before it. */
static void see_pairing(void *number)
{
	uint32_t by = (watch.tried + watch.step) * watch.num / watch.of;
	bool receives[MOST_SENDERS] = {false};

	for (uint32_t i = 0; i < watch.num; i++) {
		uint32_t to = watch.to[i] - watch.receivers;

		assert_true(to < watch.num && !receives[to]);
		receives[to] = true;
		if (watch.tried < watch.shifts)
			assert_int_equal(to, (i + by) % watch.num);
	}
	assert_true(watch.tried < MOST_PAIRINGS);
	watch.sums[watch.tried++] = add_rates();
	++*(uint32_t *)number;
}

static void assert_sums(const struct pm_bisection_rates *found, const double *sums,
			uint32_t num)
{
	struct pm_bisection_rates wanted = {.least = sums[0], .most = sums[0]};

	for (uint32_t k = 0; k < num; k++) {
		wanted.mean += sums[k] / num;
		wanted.most = fmax(wanted.most, sums[k]);
		if (sums[k] >= wanted.least)
			continue;
		wanted.least = sums[k];
		wanted.worst = k;
	}
	assert_close(found->mean, wanted.mean);
	assert_close(found->least, wanted.least);
	assert_close(found->most, wanted.most);
	assert_int_equal(found->worst, wanted.worst);
}

/* Each pairing is reported: all shifts of a half, and the drawn ones. */
static const struct pm_bisection *bisect(struct scene *s, pm_packet_path *path)
{
	uint32_t tried = 0, half = s->lab.num_hosts / 2;
	const struct pm_bisection_config config = {
		.path = watched_path,
		.network = &s->paths,
		.num_hosts = s->lab.num_hosts,
		.num_ports = s->lab.world.fabric->num_ports,
		.room = s->room,
		.drawn = 50,
		.seed = 1,
		.tried = see_pairing,
		.about = &tried,
	};

	memset(&watch, 0, sizeof(watch));
	watch.s = s;
	watch.path = path;
	watch.num = watch.receivers = watch.shifts = watch.of = half;
	watch.slowest = 1;
	pm_bisection_find(&config, &s->found);
	assert_int_equal(tried, half + 50);
	assert_int_equal(s->found.half, half);
	assert_close(s->found.straight, watch.sums[0]);
	assert_sums(&s->found.shifts, watch.sums, half);
	assert_sums(&s->found.drawn, watch.sums + half, 50);
	assert_close(s->found.slowest, watch.slowest);
	assert_int_equal(s->found.unreachable, watch.unreachable);
	return &s->found;
}

static void scene_end(struct scene *s)
{
	pm_vlans_free(&s->vlans);
	free(s->table.host);
	free(s->index);
	free(s->room);
	end(&s->lab);
}

static struct pm_fabric *two_level(unsigned int leaves, unsigned int spines,
				   unsigned int hosts, unsigned int parallel)
{
	const struct pm_generate config = {
		.kind = PM_GENERATE_TWO_LEVEL,
		.two_level = {leaves, spines, hosts, parallel}};

	return world_generate(&config);
}

static void assert_rates(const struct pm_bisection *b, double straight, double least,
			 double most)
{
	assert_close(b->straight, straight);
	assert_close(b->shifts.least, least);
	assert_close(b->shifts.most, most);
	assert_true(b->drawn.least >= least - CLOSE && b->drawn.most <= most + CLOSE);
	assert_true(b->drawn.mean >= b->drawn.least - CLOSE);
	assert_true(b->drawn.mean <= b->drawn.most + CLOSE);
	assert_int_equal(b->unreachable, 0);
}

/* Figure 6 of Miura et al.: four hosts of a leaf send to four of the other one, over one
 * to four cables. One tree is one cable; four hosts assigned to n VLANs fill n cables. */
static void test_figure(void **state)
{
	for (unsigned int links = 1; links <= 4; links++)
		for (int parallel = 0; parallel < 2; parallel++) {
			struct scene s;

			scene_begin(&s,
				    parallel ? two_level(2, 1, 4, links)
					     : two_level(2, links, 4, 1),
				    PM_VLAN_MAX);
			assert_int_equal(s.vlans.num, links);
			assert_rates(bisect(&s, pm_packet_path_flat), 4, 4, 4);
			assert_close(s.found.slowest, 1);
			assert_rates(bisect(&s, pm_packet_path_by_vlan), links, links,
				     links);
			assert_close(s.found.slowest, links == 4   ? 1
						      : links == 1 ? .25
								   : .5);
			assert_rates(bisect(&s, pm_packet_path_by_lfts), links, links,
				     links);
			s.paths.broadcast = true;
			assert_rates(bisect(&s, pm_packet_path_by_vlan), 1, 1, 1);
			scene_end(&s);
		}
}

/* Two leaves of two hosts, two spines: priorities decide. */
static void test_by_priority(void **state)
{
	struct scene s;

	scene_begin(&s, two_level(2, 2, 2, 1), PM_VLAN_MAX);
	for (uint32_t h = 0; h < 4; h++)
		s.table.host[h] = (struct pm_vlan_host){h % 2, 4 - h};
	assert_rates(bisect(&s, pm_packet_path_by_vlan), 2, 2, 2);
	/*
	 * h0 and the last one decide, and are in the same VLAN: straight, h0 to h2 and
	 * h1 to h3, both use it; shifted, only h0 to h3.
	 */
	s.table.host[0] = (struct pm_vlan_host){0, 4};
	s.table.host[3] = (struct pm_vlan_host){0, 3};
	s.table.host[1] = (struct pm_vlan_host){1, 2};
	s.table.host[2] = (struct pm_vlan_host){1, 1};
	assert_rates(bisect(&s, pm_packet_path_by_vlan), 1, 1, 2);
	assert_int_equal(s.found.shifts.worst, 0);
	/* The other way round. */
	s.table.host[2] = (struct pm_vlan_host){0, 3};
	s.table.host[3] = (struct pm_vlan_host){1, 1};
	assert_rates(bisect(&s, pm_packet_path_by_vlan), 2, 1, 2);
	assert_int_equal(s.found.shifts.worst, 1);
	scene_end(&s);
}

/* Links of half the speed carry half; the flow on the failed cable has no bandwidth. */
static void test_failure(void **state)
{
	struct scene s;
	uint32_t port;

	scene_begin(&s, two_level(2, 2, 2, 1), PM_VLAN_MAX);
	for (uint32_t h = 0; h < 4; h++)
		s.table.host[h] = (struct pm_vlan_host){h % 2, 4 - h};
	port = s.vlans.up[s.vlans.site[0]];
	s.room[port] = .5;
	assert_rates(bisect(&s, pm_packet_path_by_vlan), 1.5, 1.5, 1.5);
	assert_close(s.found.slowest, .5);
	pm_fabric_cut(s.lab.world.fabric, port);
	bisect(&s, pm_packet_path_by_vlan);
	assert_close(s.found.straight, 1);
	assert_close(s.found.slowest, 0);
	assert_int_equal(s.found.unreachable, s.found.half + 50);
	bisect(&s, pm_packet_path_by_lfts);
	assert_close(s.found.straight, 1);
	scene_end(&s);
}

/*
 * Paths end at their host, use only tagged ports, the same ones back, and turn once; in
 * trees of three levels, too.
 */
static void assert_paths(struct pm_fabric *made)
{
	struct scene s;

	scene_begin(&s, made, PM_VLAN_MAX);
	for (uint32_t a = 0; a < s.lab.num_hosts; a++)
		for (uint32_t b = 0; b < s.lab.num_hosts; b++) {
			const struct pm_fabric *fabric = s.lab.world.fabric;
			uint32_t there[PM_PATH_MAX], back[PM_PATH_MAX], hops, vlan;
			const struct pm_vlan_host *host = s.table.host;

			if (a == b)
				continue;
			vlan = host[host[a].priority > host[b].priority ? a : b].vlan;
			hops = pm_packet_path_by_vlan(&s.paths, a, b, there);
			assert_int_equal(pm_packet_path_by_vlan(&s.paths, b, a, back),
					 hops);
			assert_in_range(hops, 2, 6);
			assert_int_equal(there[0], s.lab.hosts[a].port);
			for (uint32_t i = 0; i < hops; i++) {
				uint32_t peer = fabric->ports[there[i]].peer;

				assert_int_equal(back[hops - 1 - i], peer);
				if (i + 1 < hops)
					assert_int_equal(
						fabric->ports[peer].node,
						fabric->ports[there[i + 1]].node);
				if (i && i + 1 < hops)
					assert_true(pm_vlans_tagged(&s.vlans, vlan,
								    there[i]));
			}
			assert_int_equal(fabric->ports[there[hops - 1]].peer,
					 s.lab.hosts[b].port);
			assert_int_equal(find_path(&s.lab, a, b, there),
					 pm_packet_path_by_lfts(&s.paths, a, b, back));
			assert_memory_equal(there, back, 4);
		}
	scene_end(&s);
}

static void test_paths(void **state)
{
	struct pm_fabric *fabric;

	assert_paths(tree(3, 3));
	/* With a host at the top. */
	fabric =
		recipe_draw("l0/3 l1/3 s/3 l0:1=a l0:2=b l1:1=c s:3=d l0:3=s:1 l1:3=s:2");
	fabric->nodes[2].root = 1;
	assert_paths(fabric);
}

/* ---- All hosts send ---- */

/* All to all, flow by flow: the slowest, times the flows of a host. */
static double slowest_of_all(const struct scene *s)
{
	uint32_t hosts = s->lab.num_hosts, num = 0;
	uint32_t *first = calloc((size_t)hosts * hosts, sizeof(*first));
	uint32_t *ports = calloc((size_t)hosts * hosts * PM_PATH_MAX, sizeof(*ports));
	double *rates = calloc((size_t)hosts * hosts, sizeof(*rates)), slowest = 1;

	assert_true(first && ports && rates);
	for (uint32_t a = 0; a < hosts; a++)
		for (uint32_t b = 0; b < hosts; b++) {
			uint32_t hops =
				a == b ? 0
				       : pm_packet_path_by_lfts(&s->paths, a, b,
								ports + first[num]);

			if (!hops)
				continue;
			first[num + 1] = first[num] + hops;
			num++;
		}
	pm_share_rates(&(struct pm_share_flows){num, first, ports},
		       s->lab.world.fabric->num_ports, s->room, rates);
	for (uint32_t f = 0; f < num; f++)
		slowest = rates[f] < slowest ? rates[f] : slowest;
	free(first);
	free(ports);
	free(rates);
	return slowest * (hosts - 1);
}

/* Ordered pairs of hosts without a path. */
static uint64_t count_unreachable(const struct scene *s)
{
	uint32_t ports[PM_PATH_MAX];
	uint64_t num = 0;

	for (uint32_t a = 0; a < s->lab.num_hosts; a++)
		for (uint32_t b = 0; b < s->lab.num_hosts; b++)
			num += a != b && !pm_packet_path_by_lfts(&s->paths, a, b, ports);
	return num;
}

/* With a limit on shifts; 20 permutations are drawn. */
static struct pm_throughput find_throughput(const struct scene *s, uint32_t most)
{
	uint32_t hosts = s->lab.num_hosts, tried = 0;
	uint32_t shifts = most < hosts ? most : hosts - 1;
	uint32_t ports[MOST_SENDERS], leaf[MOST_SENDERS];
	struct pm_throughput_config config = {
		.of = {.path = watched_path,
		       .network = &s->paths,
		       .num_hosts = hosts,
		       .num_ports = s->lab.world.fabric->num_ports,
		       .room = s->room,
		       .drawn = 20,
		       .seed = 1,
		       .tried = see_pairing,
		       .about = &tried},
		.shifts = most,
		.port = ports,
		.leaf = leaf,
	};
	struct pm_throughput found;
	struct pm_no_path no_path;

	assert_true(hosts <= MOST_SENDERS);
	for (uint32_t h = 0; h < hosts; h++) {
		ports[h] = s->lab.hosts[h].port;
		leaf[h] = pm_fabric_peer_node(s->lab.world.fabric, ports[h]);
	}
	memset(&watch, 0, sizeof(watch));
	watch.s = s;
	watch.path = pm_packet_path_by_lfts;
	watch.num = hosts;
	watch.shifts = shifts;
	watch.step = 1;
	watch.of = shifts + 1;
	pm_throughput_find(&config, &found);
	assert_int_equal(tried, shifts + 20);
	assert_sums(&found.shifts, watch.sums, shifts);
	assert_sums(&found.drawn, watch.sums + shifts, 20);
	pm_packet_no_path(&s->paths, hosts, &no_path);
	assert_int_equal(no_path.pairs, count_unreachable(s));
	assert_int_equal(found.unreachable, watch.unreachable + no_path.pairs);
	assert_close(found.pace, slowest_of_all(s));
	return found;
}

/*
 * A whole tree has the full bandwidth; with slow and failed links, the rates are those
 * flow by flow.
 */
static void test_throughput(void **state)
{
	struct pm_throughput found;
	struct scene s;
	uint32_t port;

	scene_begin(&s, tree(3, 3), PM_VLAN_MAX);
	found = find_throughput(&s, 16);
	assert_close(found.shifts.least, s.lab.num_hosts);
	assert_close(found.shifts.most, s.lab.num_hosts);
	assert_close(found.pace, 1);
	assert_int_equal(found.unreachable, 0);
	assert_true(found.drawn.least < found.drawn.mean &&
		    found.drawn.mean < s.lab.num_hosts);
	port = s.vlans.up[s.vlans.site[0]];
	s.room[port] = .25;
	found = find_throughput(&s, 16);
	assert_true(found.pace < .9 && found.shifts.least < s.lab.num_hosts);
	s.room[s.lab.hosts[4].port] = .125;
	found = find_throughput(&s, 16);
	assert_close(found.pace, .125);
	pm_fabric_cut(s.lab.world.fabric, port);
	s.room[s.lab.hosts[4].port] = 1;
	found = find_throughput(&s, 16);
	assert_true(found.unreachable > 0);
	find_throughput(&s, 1);
	find_throughput(&s, s.lab.num_hosts - 1);
	find_throughput(&s, 1000);
	scene_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figure),	   cmocka_unit_test(test_by_priority),
		cmocka_unit_test(test_failure),	   cmocka_unit_test(test_paths),
		cmocka_unit_test(test_throughput),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
