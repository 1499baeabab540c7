/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "world.h"
#include "unit.h"

#include <portmajor/fabric/link.h>

#include <inttypes.h>

/* ---- Codes ---- */

static const unsigned int lanes[] = {0, 1, 2, 4, 8, 12};

static void test_codes(void **state)
{
	bool used[256] = {false};

	assert_int_equal(pm_link_code(0, PM_SPEED_UNKNOWN), 0);
	for (size_t w = 0; w < LENGTH(lanes); w++)
		for (enum pm_speed s = PM_SPEED_UNKNOWN; s < PM_SPEEDS; s++) {
			uint8_t link = pm_link_code(lanes[w], s);

			assert_int_equal(pm_link_lanes(link), lanes[w]);
			assert_int_equal(pm_link_speed(link), s);
			assert_false(used[link]);
			used[link] = true;
			assert_int_equal(pm_link_rate(link) != 0,
					 lanes[w] && s != PM_SPEED_UNKNOWN);
		}
	/* A number that is no code is unknown, and harms nothing. */
	for (unsigned int link = 0; link < 256; link++)
		if (!used[link])
			assert_int_equal(pm_link_rate((uint8_t)link), 0);
	for (unsigned int w = 0; w < 300; w++)
		if (w != 1 && w != 2 && w != 4 && w != 8 && w != 12)
			assert_int_equal(pm_link_lanes(pm_link_code(w, PM_EDR)), 0);
}

static void test_names(void **state)
{
	char text[PM_LINK_TEXT];

	for (enum pm_speed s = PM_SDR; s < PM_SPEEDS; s++) {
		const char *name = pm_speed_name(s);

		assert_int_equal(pm_speed_find(name, strlen(name)), s);
		assert_int_equal(pm_speed_find(name, strlen(name) - 1), PM_SPEED_UNKNOWN);
	}
	assert_int_equal(pm_speed_find("FDR10", 3), PM_FDR);
	assert_int_equal(pm_speed_find("?", 1), PM_SPEED_UNKNOWN);
	assert_int_equal(pm_speed_find("", 0), PM_SPEED_UNKNOWN);
	assert_int_equal(pm_speed_find("QDRX", 4), PM_SPEED_UNKNOWN);
	assert_string_equal(pm_link_print(pm_link_code(4, PM_QDR), text), "4xQDR");
	assert_string_equal(pm_link_print(pm_link_code(12, PM_FDR10), text), "12xFDR10");
	assert_string_equal(pm_link_print(pm_link_code(1, PM_SPEED_UNKNOWN), text),
			    "1x?");
	assert_string_equal(pm_link_print(pm_link_code(0, PM_EDR), text), "?xEDR");
	assert_string_equal(pm_link_print(0, text), "?");
}

/* As the standard and the vendors' data sheets have them. */
static void test_rates(void **state)
{
	static const struct {
		unsigned int lanes;
		enum pm_speed speed;
		uint32_t mbits;
	} rates[] = {
		{1, PM_SDR, 2000},	  {4, PM_SDR, 8000},	 {12, PM_SDR, 24000},
		{4, PM_DDR, 16000},	  {1, PM_QDR, 8000},	 {4, PM_QDR, 32000},
		{8, PM_QDR, 64000},	  {4, PM_FDR10, 40000},	 {1, PM_FDR, 13636},
		{4, PM_FDR, 54545},	  {12, PM_FDR, 163636},	 {4, PM_EDR, 100000},
		{2, PM_HDR, 100000},	  {4, PM_HDR, 200000},	 {4, PM_NDR, 400000},
		{4, PM_XDR, 800000},	  {12, PM_XDR, 2400000}, {0, PM_XDR, 0},
		{4, PM_SPEED_UNKNOWN, 0},
	};

	for_each_row(row, rates)
		assert_int_equal(pm_link_rate(pm_link_code(row->lanes, row->speed)),
				 row->mbits);
}

static void test_slower(void **state)
{
	uint8_t fast = pm_link_code(4, PM_QDR), degraded = pm_link_code(1, PM_QDR);
	uint8_t half = pm_link_code(4, PM_SPEED_UNKNOWN);

	assert_int_equal(pm_link_slower(fast, degraded), degraded);
	assert_int_equal(pm_link_slower(degraded, fast), degraded);
	assert_int_equal(pm_link_slower(fast, 0), fast);
	assert_int_equal(pm_link_slower(0, fast), fast);
	assert_int_equal(pm_link_slower(half, fast), fast);
	assert_int_equal(pm_link_slower(fast, half), fast);
	assert_int_equal(pm_link_slower(0, 0), 0);
}

/* ---- Links of a fabric ---- */

/* Two leaves with three cables to each of two spines. */
#define TREE                                                                             \
	"a/8 b/8 s/8 t/8 a:1=h a:2=i b:1=j "                                             \
	"a:3=s:1 a:4=s:2 a:5=s:3 a:6=t:1 a:7=t:2 a:8=t:3 "                               \
	"b:3=s:4 b:4=s:5 b:5=s:6 b:6=t:4 b:7=t:5 b:8=t:6"

static uint32_t port_of(const struct pm_fabric *fabric, const char *name,
			unsigned int port)
{
	return world_port(fabric, name, port);
}

static void set_link(struct pm_fabric *fabric, uint32_t port, uint8_t link)
{
	fabric->ports[port].link = link;
	fabric->ports[fabric->ports[port].peer].link = link;
}

/* All links, to hosts too. */
static void set_all(struct pm_fabric *fabric, uint8_t link)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].peer != PM_NONE)
			fabric->ports[i].link = link;
}

static void test_ends(void **state)
{
	struct pm_fabric *f = recipe_draw(TREE), *skeleton, *copy;
	uint32_t port = port_of(f, "a", 3);
	uint8_t fast = pm_link_code(4, PM_HDR), degraded = pm_link_code(4, PM_EDR);

	assert_int_equal(pm_link_at(f, port), 0);
	f->ports[port].link = fast;
	assert_int_equal(pm_link_at(f, port), fast);
	assert_int_equal(pm_link_at(f, f->ports[port].peer), fast);
	f->ports[f->ports[port].peer].link = degraded;
	assert_int_equal(pm_link_at(f, port), degraded);
	copy = pm_fabric_clone(f);
	assert_int_equal(pm_link_at(copy, port), degraded);
	pm_fabric_cut(copy, port);
	assert_int_equal(pm_link_at(copy, port), 0);
	skeleton = pm_fabric_skeleton(f);
	assert_int_equal(pm_link_at(skeleton, port), 0);
	pm_fabric_free(skeleton);
	pm_fabric_free(copy);
	pm_fabric_free(f);
}

static void test_common(void **state)
{
	struct pm_fabric *f = recipe_draw(TREE);
	uint8_t fast = pm_link_code(4, PM_EDR), degraded = pm_link_code(1, PM_EDR);
	uint32_t port = port_of(f, "a", 3);

	assert_int_equal(pm_link_common_rate(f), 0);
	set_all(f, fast);
	assert_int_equal(pm_link_common_rate(f), 0);
	assert_int_equal(pm_link_weigh(f, 0, port, 7), 7);
	/* Links to hosts are left out here. */
	set_link(f, port_of(f, "a", 1), degraded);
	assert_int_equal(pm_link_common_rate(f), 0);
	set_link(f, port, degraded);
	assert_int_equal(pm_link_common_rate(f), 100000);
	assert_int_equal(pm_link_weigh(f, 100000, port, 7), 28);
	assert_int_equal(pm_link_weigh(f, 100000, f->ports[port].peer, 7), 28);
	assert_int_equal(pm_link_weigh(f, 100000, port_of(f, "a", 4), 7), 7);
	set_link(f, port, 0);
	assert_int_equal(pm_link_weigh(f, 100000, port, 7), 7);
	/* 4xFDR: 1.83 times as much; 4xHDR: half, rounded. */
	set_link(f, port, pm_link_code(4, PM_FDR));
	assert_int_equal(pm_link_weigh(f, 100000, port, 100), 183);
	set_link(f, port, pm_link_code(4, PM_HDR));
	assert_int_equal(pm_link_weigh(f, 100000, port, 7), 4);
	/* Just a half of them are not most. */
	for (unsigned int p = 3; p <= 8; p++)
		set_link(f, port_of(f, "a", p), degraded);
	assert_int_equal(pm_link_common_rate(f), 25000);
	set_link(f, port, fast);
	assert_int_equal(pm_link_common_rate(f), 100000);
	pm_fabric_free(f);
}

/* ---- Slow links ---- */

/* The codes of a fabric, and its tree. */
struct subject {
	struct pm_fabric *skeleton;
	struct pm_tree tree;
	uint8_t *link;
	struct pm_degraded_link *degraded;
	uint32_t count;
};

static bool begin(struct subject *s, const struct pm_fabric *fabric)
{
	struct pm_error err;

	memset(s, 0, sizeof(*s));
	s->skeleton = pm_fabric_skeleton(fabric);
	assert_non_null(s->skeleton);
	if (pm_tree_make(s->skeleton, &s->tree, &err)) {
		pm_fabric_free(s->skeleton);
		return false;
	}
	s->link = calloc(fabric->num_ports + 1u, 1);
	assert_non_null(s->link);
	for (uint32_t i = 0; i < s->skeleton->num_ports; i++)
		s->link[i] = fabric->ports[i].link;
	return true;
}

static void find(struct subject *s)
{
	struct pm_error err = {""};

	free(s->degraded);
	if (pm_degraded_links_find(s->skeleton, &s->tree, s->link, &s->degraded,
				   &s->count, &err))
		fail_msg("%s", err.text);
}

static void end(struct subject *s)
{
	free(s->degraded);
	free(s->link);
	pm_tree_free(&s->tree);
	pm_fabric_free(s->skeleton);
}

/* Slow links as text: "a3 1xQDR 4xQDR; ..". */
static void assert_slow(const struct pm_fabric *fabric, const char *wanted)
{
	char text[512] = "";
	struct subject s;

	assert_true(begin(&s, fabric));
	find(&s);
	for (uint32_t i = 0; i < s.count; i++) {
		const struct pm_port *port = &s.skeleton->ports[s.degraded[i].port];
		char a[PM_LINK_TEXT], b[PM_LINK_TEXT];
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%s%u %s %s", i ? "; " : "",
			 pm_fabric_name(s.skeleton, port->node), port->num,
			 pm_link_print(s.degraded[i].link, a),
			 pm_link_print(s.degraded[i].usual, b));
	}
	assert_string_equal(text, wanted);
	end(&s);
}

static void test_slow(void **state)
{
	struct pm_fabric *f = recipe_draw(TREE);
	uint8_t usual = pm_link_code(4, PM_QDR);

	assert_slow(f, "");
	set_all(f, usual);
	assert_slow(f, "");
	set_link(f, port_of(f, "a", 2), pm_link_code(1, PM_SDR));
	assert_slow(f, ""); /* a host's */
	set_link(f, port_of(f, "b", 4), pm_link_code(1, PM_QDR));
	assert_slow(f, "b4 1xQDR 4xQDR");
	set_link(f, port_of(f, "a", 8), pm_link_code(4, PM_DDR));
	assert_slow(f, "a8 4xDDR 4xQDR; b4 1xQDR 4xQDR");
	/* Wider or faster than most is no fault, and neither is an unknown link. */
	set_link(f, port_of(f, "a", 8), pm_link_code(12, PM_QDR));
	set_link(f, port_of(f, "a", 7), 0);
	set_link(f, port_of(f, "a", 6), pm_link_code(1, PM_SPEED_UNKNOWN));
	assert_slow(f, "b4 1xQDR 4xQDR");
	/* One end reports less than the other. */
	f->ports[port_of(f, "t", 6)].link = pm_link_code(2, PM_QDR);
	assert_slow(f, "b4 1xQDR 4xQDR; b8 2xQDR 4xQDR");
	pm_fabric_free(f);
}

/* A spine of an older generation is compared with itself. */
static void test_generations(void **state)
{
	struct pm_fabric *f = recipe_draw(TREE);

	set_all(f, pm_link_code(4, PM_EDR));
	for (unsigned int p = 1; p <= 6; p++)
		set_link(f, port_of(f, "t", p), pm_link_code(4, PM_FDR));
	assert_slow(f, "");
	/* Nor are its links if they are fewer. */
	set_link(f, port_of(f, "t", 6), 0);
	assert_slow(f, "");
	set_link(f, port_of(f, "t", 6), pm_link_code(4, PM_FDR));
	set_link(f, port_of(f, "t", 2), pm_link_code(1, PM_FDR));
	assert_slow(f, "a7 1xFDR 4xFDR");
	/* One with all but one of its links slowed down is not: it can do better. */
	set_link(f, port_of(f, "t", 2), pm_link_code(4, PM_EDR));
	assert_slow(f, "a6 4xFDR 4xEDR; a8 4xFDR 4xEDR; b6 4xFDR 4xEDR; b7 4xFDR 4xEDR; "
		       "b8 4xFDR 4xEDR");
	pm_fabric_free(f);
}

/* Half of the links are not most of them: neither half is known to be right. */
static void test_half(void **state)
{
	struct pm_fabric *f = recipe_draw(TREE);

	set_all(f, pm_link_code(4, PM_HDR));
	for (unsigned int p = 3; p <= 7; p++)
		set_link(f, port_of(f, "a", p), pm_link_code(2, PM_HDR));
	assert_slow(f, "a3 2xHDR 4xHDR; a4 2xHDR 4xHDR; a5 2xHDR 4xHDR; a6 2xHDR 4xHDR; "
		       "a7 2xHDR 4xHDR");
	set_link(f, port_of(f, "a", 8), pm_link_code(2, PM_HDR));
	assert_slow(f, "");
	pm_fabric_free(f);
}

/* ---- Random trees ---- */

static uint8_t random_link(struct random *random)
{
	static const uint8_t few[] = {1, 4, 4, 4, 4, 2};

	return random_chance(random, 80)
		       ? pm_link_code(4, PM_EDR)
		       : pm_link_code(few[random_below(random, LENGTH(few))],
				      (enum pm_speed)random_below(random, PM_SPEEDS));
}

static enum pm_speed fastest_of(const struct subject *s, uint32_t sw)
{
	enum pm_speed best = PM_SPEED_UNKNOWN;

	for (uint32_t i = 0; i < s->skeleton->num_ports; i++) {
		uint32_t peer = s->skeleton->ports[i].peer;
		uint8_t link;

		if (peer == PM_NONE || s->skeleton->ports[i].node != sw)
			continue;
		link = pm_link_slower(s->link[i], s->link[peer]);
		if (pm_link_speed(link) > best)
			best = pm_link_speed(link);
	}
	return best;
}

static bool same_kind(const struct subject *s, const enum pm_speed *fastest, uint32_t a,
		      uint32_t b)
{
	return s->tree.level[a] == s->tree.level[b] &&
	       s->skeleton->nodes[a].num_ports == s->skeleton->nodes[b].num_ports &&
	       fastest[a] == fastest[b];
}

static uint32_t rate_at(const struct subject *s, uint32_t port)
{
	uint32_t peer = s->skeleton->ports[port].peer;

	return peer == PM_NONE || peer < port
		       ? 0
		       : pm_link_rate(pm_link_slower(s->link[port], s->link[peer]));
}

static bool are_neighbours(const struct subject *s, const enum pm_speed *fastest,
			   uint32_t i, uint32_t k)
{
	uint32_t a = s->skeleton->ports[i].node, b = pm_fabric_peer_node(s->skeleton, i);
	uint32_t c = s->skeleton->ports[k].node, d = pm_fabric_peer_node(s->skeleton, k);

	return (same_kind(s, fastest, a, c) && same_kind(s, fastest, b, d)) ||
	       (same_kind(s, fastest, a, d) && same_kind(s, fastest, b, c));
}

/* The rate that most neighbours reach: of each rate it is counted how many do. */
static uint32_t usual_rate(const struct subject *s, const enum pm_speed *fastest,
			   uint32_t port)
{
	uint32_t best = 0;

	for (uint32_t i = 0; i < s->skeleton->num_ports; i++) {
		uint32_t rate = rate_at(s, i), all = 0, reach = 0;

		if (!rate || !are_neighbours(s, fastest, port, i))
			continue;
		for (uint32_t k = 0; k < s->skeleton->num_ports; k++)
			if (rate_at(s, k) && are_neighbours(s, fastest, port, k)) {
				all++;
				reach += rate_at(s, k) >= rate;
			}
		if (2 * reach > all && rate > best)
			best = rate;
	}
	return best;
}

static uint32_t compare_all(struct subject *s)
{
	enum pm_speed *fastest = calloc(s->skeleton->num_switches + 1u, sizeof(*fastest));
	uint32_t at = 0;

	assert_non_null(fastest);
	for (uint32_t sw = 0; sw < s->skeleton->num_switches; sw++)
		fastest[sw] = fastest_of(s, sw);
	find(s);
	for (uint32_t i = 0; i < s->skeleton->num_ports; i++) {
		uint32_t rate = rate_at(s, i);
		uint32_t usual = rate ? usual_rate(s, fastest, i) : 0;

		if (rate >= usual)
			continue;
		assert_true(at < s->count);
		assert_int_equal(s->degraded[at].port, i);
		assert_int_equal(pm_link_rate(s->degraded[at].link), rate);
		assert_int_equal(pm_link_rate(s->degraded[at].usual), usual);
		at++;
	}
	assert_int_equal(at, s->count);
	free(fastest);
	return at;
}

static void test_random(void **state)
{
	static const struct recipe_limits limits = {14, 20};
	uint32_t found = 0, with = 0;

	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct random random = {seed};
		struct recipe recipe = {0};
		struct pm_fabric *fabric;
		struct subject s;

		recipe_random(&recipe, &random, &limits);
		fabric = recipe_build(&recipe, NULL);
		if (begin(&s, fabric)) {
			for (uint32_t i = 0; i < s.skeleton->num_ports; i++)
				s.link[i] = random_link(&random);
			with += compare_all(&s) != 0;
			found += s.count;
			end(&s);
		}
		pm_fabric_free(fabric);
		recipe_free(&recipe);
	}
	/* Most trees have some, or the test would show nothing. */
	assert_in_range(with, 100, 400);
	assert_true(found > with);
}

/* ---- Loads ---- */

/* One cable of a leaf is slow: what it carries counts four times, and only there. */
static void test_loads(void **state)
{
	struct world w;
	struct pm_check_loads before, after;
	uint32_t port;

	world_make(&w, recipe_draw(TREE), PM_GROUPED);
	before = world_loads(&w, w.fabric);
	set_all(w.fabric, pm_link_code(4, PM_EDR));
	after = world_loads(&w, w.fabric);
	assert_memory_equal(&before, &after, sizeof(before));
	/* The one by which both hosts of a send to that of b. */
	port = port_of(w.fabric, "a", world_entry(&w, "a", "b", 1));
	set_link(w.fabric, port, pm_link_code(1, PM_EDR));
	after = world_loads(&w, w.fabric);
	assert_int_equal(before.up[0].flows, 2 + 2);
	assert_int_equal(after.up[0].flows, 4 * 2 + 2);
	assert_int_equal(after.up[0].maximum, 4 * 2);
	assert_int_equal(after.up[0].links, before.up[0].links);
	/* One flow in a shift, and it counts as four. */
	assert_int_equal(world_shifts(&w, w.fabric, 0), 4);
	set_link(w.fabric, port, pm_link_code(4, PM_EDR));
	assert_int_equal(world_shifts(&w, w.fabric, 0), 1);
	world_free(&w);
}

/* "PORT", of hosts' links that are slower than others; adds these to the text. */
static void print_hosts(const struct pm_fabric *fabric, char text[64])
{
	struct pm_degraded_link *list;
	uint32_t count;

	text[0] = '\0';
	assert_int_equal(pm_degraded_hosts_find(fabric, &list, &count, NULL), 0);
	for (uint32_t i = 0; i < count; i++) {
		const struct pm_port *port = &fabric->ports[list[i].port];

		sprintf(text + strlen(text), "%s:%u ", pm_fabric_name(fabric, port->node),
			port->num);
	}
	free(list);
}

/* A host is compared with its kind at leaves of the same kind. */
static void test_hosts(void **state)
{
	struct pm_fabric *f =
		recipe_draw("a/6 b/6 s/4 a:1=h0 a:2=h1 a:3=h2 b:1=h3 b:2=h4 "
			    "b:3=h5 a:5=s:1 b:5=s:2");
	uint8_t slow = pm_link_code(1, PM_EDR);
	char text[64];

	print_hosts(f, text); /* unknown */
	assert_string_equal(text, "");
	set_all(f, pm_link_code(4, PM_EDR));
	print_hosts(f, text);
	assert_string_equal(text, "");
	set_link(f, port_of(f, "a", 2), slow);
	set_link(f, port_of(f, "b", 5), slow); /* of switches */
	print_hosts(f, text);
	assert_string_equal(text, "a:2 ");
	set_link(f, port_of(f, "b", 1), slow);
	print_hosts(f, text);
	assert_string_equal(text, "a:2 b:1 ");
	/* Three of six: that is normal for such hosts. */
	set_link(f, port_of(f, "b", 2), slow);
	print_hosts(f, text);
	assert_string_equal(text, "");
	/* Another adapter may be slower. */
	set_link(f, port_of(f, "b", 2), pm_link_code(4, PM_EDR));
	f->nodes[f->ports[f->ports[port_of(f, "a", 2)].peer].node].device = 7;
	print_hosts(f, text);
	assert_string_equal(text, "b:1 ");
	/* A leaf that is slower, too, as a whole: an older one. */
	for (unsigned int port = 1; port <= 5; port++)
		if (port != 4)
			set_link(f, port_of(f, "b", port), pm_link_code(4, PM_QDR));
	print_hosts(f, text);
	assert_string_equal(text, "");
	pm_fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes), cmocka_unit_test(test_names),
		cmocka_unit_test(test_rates), cmocka_unit_test(test_slower),
		cmocka_unit_test(test_ends),  cmocka_unit_test(test_common),
		cmocka_unit_test(test_slow),  cmocka_unit_test(test_generations),
		cmocka_unit_test(test_half),  cmocka_unit_test(test_random),
		cmocka_unit_test(test_loads), cmocka_unit_test(test_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
