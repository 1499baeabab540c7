/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/fabric.h>
#include <portmajor/generate.h>
#include <portmajor/netlist.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define DIRECTOR(l)                                                                      \
	{                                                                                \
		.kind = PM_GENERATE_DIRECTOR, .director = { l }                          \
	}
#define TWO_LEVEL(l, s, h, p)                                                            \
	{                                                                                \
		.kind = PM_GENERATE_TWO_LEVEL, .two_level = { l, s, h, p }               \
	}
#define LIST(...)                                                                        \
	{                                                                                \
		__VA_ARGS__                                                              \
	}
#define XGFT(h, m, w)                                                                    \
	{                                                                                \
		.kind = PM_GENERATE_XGFT, .xgft = { h, m, w }                            \
	}

static char *generate(const struct pm_generate *config)
{
	struct pm_error err = {""};
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	if (pm_generate_write(config, file, &err))
		fail_msg("%s", err.text);
	fclose(file);
	return text;
}

static struct pm_fabric *generate_fabric(const struct pm_generate *config)
{
	struct pm_fabric *fabric = NULL;
	struct pm_error err = {""};
	char *text = generate(config);

	if (pm_netlist_parse(text, strlen(text), "generated", &fabric, &err))
		fail_msg("%s", err.text);
	free(text);
	return fabric;
}

static const struct pm_port *port_of(const struct pm_fabric *fabric, const char *name,
				     unsigned int num)
{
	uint32_t node = pm_fabric_find_name(fabric, name);

	if (node == PM_NONE)
		fail_msg("no node is named \"%s\"", name);
	assert_in_range(num, 1, fabric->nodes[node].num_ports);
	return &fabric->ports[fabric->nodes[node].first_port + num];
}

static void assert_linked(const struct pm_fabric *fabric, const char *a,
			  unsigned int port_a, const char *b, unsigned int port_b)
{
	const struct pm_port *x = port_of(fabric, a, port_a);
	const struct pm_port *y = port_of(fabric, b, port_b);

	if (x->peer != y - fabric->ports || y->peer != x - fabric->ports)
		fail_msg("port %u of \"%s\" is not linked to port %u of \"%s\"", port_a,
			 a, port_b, b);
}

/* Every port of a generated fabric has a cable. */
static uint32_t count_links(const struct pm_fabric *fabric)
{
	uint32_t ends = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		if (fabric->ports[i].num)
			assert_int_not_equal(fabric->ports[i].peer, PM_NONE);
		ends += fabric->ports[i].peer != PM_NONE;
	}
	return ends / 2;
}

static const struct {
	const char *name;
	struct pm_generate config;
	uint32_t hosts, switches, links;
} sizes[] = {
	{"director 36", DIRECTOR(36), 648, 90, 1944},
	{"director 72", DIRECTOR(72), 1296, 180, 3888},
	{"director 108", DIRECTOR(108), 1944, 270, 5832},
	{"director 144: 4 does not divide 18", DIRECTOR(144), 2592, 360, 7776},
	{"director 324", DIRECTOR(324), 5832, 810, 17496},
	{"director 612: 17 does not divide 18", DIRECTOR(612), 11016, 1530, 33048},
	{"director 648", DIRECTOR(648), 11664, 1620, 34992},
	{"two-level, smallest", TWO_LEVEL(1, 1, 1, 1), 1, 2, 2},
	{"two-level", TWO_LEVEL(4, 3, 5, 2), 20, 7, 44},
	{"two-level, most ports", TWO_LEVEL(127, 2, 250, 2), 31750, 129, 32258},
	{"xgft 1", XGFT(1, LIST(4), LIST(1)), 4, 1, 4},
	{"xgft 2", XGFT(2, LIST(4, 3), LIST(1, 2)), 12, 5, 18},
	{"xgft 3", XGFT(3, LIST(4, 3, 2), LIST(1, 2, 3)), 24, 16, 48},
	{"xgft 4", XGFT(4, LIST(2, 2, 3, 2), LIST(1, 2, 2, 2)), 24, 40, 88},
	{"xgft of ones", XGFT(4, LIST(1, 1, 1, 1), LIST(1, 1, 1, 1)), 1, 4, 4},
	{"xgft, unused levels", XGFT(1, LIST(3, 0, 999), LIST(1)), 3, 1, 3},
};

static void test_sizes(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		struct pm_fabric *fabric = generate_fabric(&sizes[i].config);

		if (fabric->num_switches != sizes[i].switches ||
		    fabric->num_nodes != sizes[i].switches + sizes[i].hosts ||
		    count_links(fabric) != sizes[i].links)
			fail_msg("%s: %u nodes, %u switches, %u links", sizes[i].name,
				 fabric->num_nodes, fabric->num_switches,
				 count_links(fabric));
		pm_fabric_free(fabric);
	}
}

static const struct {
	const char *name;
	struct pm_generate config;
	int code;
	const char *message; /* part of it */
} refused[] = {
	{"no such kind",
	 {.kind = (enum pm_generate_kind)7},
	 -EINVAL,
	 "kind of fabric: 7"},
	{"director 0", DIRECTOR(0), -EINVAL, "director: 0 leaves"},
	{"director 18", DIRECTOR(18), -EINVAL, "director: 18 leaves"},
	{"director 54", DIRECTOR(54), -EINVAL, "not a multiple of 36"},
	{"director 684", DIRECTOR(684), -EINVAL, "from 36 to 648"},
	{"no leaves", TWO_LEVEL(0, 1, 1, 1), -EINVAL, "at least 1"},
	{"no spines", TWO_LEVEL(1, 0, 1, 1), -EINVAL, "at least 1"},
	{"no hosts", TWO_LEVEL(1, 1, 0, 1), -EINVAL, "at least 1"},
	{"no cables", TWO_LEVEL(1, 1, 1, 0), -EINVAL, "at least 1"},
	{"leaf of 255 ports", TWO_LEVEL(2, 5, 250, 1), -E2BIG, "have 255 ports"},
	{"parallel cables", TWO_LEVEL(2, 2, 5, 125), -E2BIG, "have 255 ports"},
	{"spine of 255 ports", TWO_LEVEL(255, 1, 1, 1), -E2BIG, "have 255 ports"},
	{"beyond 32 bits", TWO_LEVEL(65536, 65536, 1, 65536), -E2BIG, "ports"},
	{"largest numbers", TWO_LEVEL(~0u, ~0u, ~0u, ~0u), -E2BIG, "ports"},
	{"too many LIDs", TWO_LEVEL(250, 4, 200, 1), -E2BIG, "50254 nodes need"},
	{"too many nodes", XGFT(3, LIST(250, 250, 250), LIST(1, 1, 1)), -E2BIG,
	 "more than 65536 nodes"},
	{"far too many nodes", XGFT(4, LIST(253, 253, 253, 253), LIST(1, 1, 1, 1)),
	 -E2BIG, "more than 65536 nodes"},
	{"xgft of 255 ports", XGFT(2, LIST(253, 2), LIST(1, 2)), -E2BIG,
	 "have 255 ports"},
	{"xgft, largest numbers", XGFT(2, LIST(~0u, ~0u), LIST(1, ~0u)), -E2BIG, "ports"},
	{"height 0", XGFT(0, LIST(4), LIST(1)), -EINVAL, "height 0"},
	{"height 5", XGFT(5, LIST(2, 2, 2, 2), LIST(1, 2, 2, 2)), -EINVAL, "height 5"},
	{"no children", XGFT(2, LIST(2, 0), LIST(1, 1)), -EINVAL, "m_2 and w_2"},
	{"no hosts below", XGFT(2, LIST(0, 2), LIST(1, 1)), -EINVAL, "m_1 and w_1"},
	{"no parents", XGFT(2, LIST(2, 2), LIST(1)), -EINVAL, "m_2 and w_2"},
	{"two-port hosts", XGFT(2, LIST(2, 2), LIST(2, 1)), -EINVAL, "w_1 is 2"},
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(refused); i++) {
		struct pm_error err = {""};
		char *text = NULL;
		size_t size;
		FILE *file = open_memstream(&text, &size);

		assert_non_null(file);
		if (pm_generate_write(&refused[i].config, file, &err) !=
			    refused[i].code ||
		    !strstr(err.text, refused[i].message))
			fail_msg("%s: \"%s\"", refused[i].name, err.text);
		fclose(file);
		assert_int_equal(size, 0);
		free(text);
	}
}

static void test_write_error(void **state)
{
	static const struct pm_generate config = TWO_LEVEL(4, 3, 5, 2);
	struct pm_error err = {""};
	FILE *file = fopen("/dev/full", "w");

	(void)state;
	if (!file)
		skip();
	assert_int_equal(pm_generate_write(&config, file, &err), -EIO);
	assert_string_equal(err.text, "writing the netlist failed");
	fclose(file);
}

/* The whole text, as ibsim wants it. */
static void test_text(void **state)
{
	static const struct pm_generate config = TWO_LEVEL(1, 1, 1, 2);
	char *text = generate(&config);

	(void)state;
	assert_string_equal(text, "Switch\t3 \"leaf0\"\n"
				  "[1]\t\"h0-1\"[1]\t# lid 0 4xQDR\n"
				  "[2]\t\"spine0\"[1]\t# lid 0 4xQDR\n"
				  "[3]\t\"spine0\"[2]\t# lid 0 4xQDR\n"
				  "\n"
				  "Switch\t2 \"spine0\"\n"
				  "[1]\t\"leaf0\"[2]\t# lid 0 4xQDR\n"
				  "[2]\t\"leaf0\"[3]\t# lid 0 4xQDR\n"
				  "\n"
				  "Hca\t1 \"h0-1\"\n"
				  "[1]\t\"leaf0\"[1]\t# lid 0 4xQDR\n"
				  "\n");
	free(text);
}

/* GUIDs are counted, so the order of nodes is that of the file. */
static void test_order(void **state)
{
	static const struct pm_generate config = DIRECTOR(36);
	static const struct {
		uint32_t node;
		const char *name;
	} rows[] = {
		{0, "leaf0"},	 {35, "leaf35"},   {36, "s0-line0"}, {37, "s0-line1"},
		{38, "s0-fab0"}, {39, "s1-line0"}, {89, "s17-fab0"}, {90, "h0-1"},
		{107, "h0-18"},	 {108, "h1-1"},	   {737, "h35-18"},
	};
	struct pm_fabric *fabric = generate_fabric(&config);

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		assert_string_equal(pm_fabric_name(fabric, rows[i].node), rows[i].name);
	assert_int_equal(fabric->nodes[0].guid, 0x200000);
	assert_int_equal(fabric->nodes[90].guid, 0x100000);
	pm_fabric_free(fabric);
}

/* The cabling of the header's comment, told plainly; 2, 3 and 4 fabrics. */
static void check_director(unsigned int leaves)
{
	const struct pm_generate config = DIRECTOR(leaves);
	struct pm_fabric *fabric = generate_fabric(&config);
	unsigned int fabrics = leaves / 36, taken[18];
	char a[32], b[32];

	for (unsigned int leaf = 0; leaf < leaves; leaf++)
		for (unsigned int i = 0; i < 18; i++) {
			snprintf(a, sizeof(a), "leaf%u", leaf);
			snprintf(b, sizeof(b), "h%u-%u", leaf, i + 1);
			assert_linked(fabric, a, i + 1, b, 1);
			snprintf(b, sizeof(b), "s%u-line%u", i, leaf / 18);
			assert_linked(fabric, a, 19 + i, b, 1 + leaf % 18);
		}
	for (unsigned int chassis = 0; chassis < 18; chassis++) {
		memset(taken, 0, sizeof(taken));
		for (unsigned int c = 0; c < leaves; c++) {
			unsigned int line = c / 18, k = c % 18;
			unsigned int fab = c % fabrics, port = ++taken[fab];

			if (18 % fabrics == 0) {
				assert_int_equal(fab, k % fabrics);
				assert_int_equal(port,
						 line * (18 / fabrics) + k / fabrics + 1);
			}
			snprintf(a, sizeof(a), "s%u-line%u", chassis, line);
			snprintf(b, sizeof(b), "s%u-fab%u", chassis, fab);
			assert_linked(fabric, a, 19 + k, b, port);
		}
	}
	pm_fabric_free(fabric);
}

static void test_director_cables(void **state)
{
	(void)state;
	check_director(72);
	check_director(108);
	check_director(144);
}

static void test_two_level_cables(void **state)
{
	static const struct pm_generate config = TWO_LEVEL(4, 3, 5, 2);
	struct pm_fabric *fabric = generate_fabric(&config);
	char a[32], b[32];

	(void)state;
	for (unsigned int leaf = 0; leaf < 4; leaf++)
		for (unsigned int spine = 0; spine < 3; spine++)
			for (unsigned int cable = 0; cable < 2; cable++) {
				snprintf(a, sizeof(a), "leaf%u", leaf);
				snprintf(b, sizeof(b), "spine%u", spine);
				assert_linked(fabric, a, 5 + 1 + spine * 2 + cable, b,
					      1 + leaf * 2 + cable);
			}
	pm_fabric_free(fabric);
}

/*
 * XGFT(3; 4, 3, 2; 1, 2, 3): leaves leaf0..5 by (a_3, a_2), level 2 sw2-0..3 by
 * (a_3, b_2), level 3 sw3-0..5 by (b_3, b_2).
 */
static void test_xgft_cables(void **state)
{
	static const struct pm_generate config = XGFT(3, LIST(4, 3, 2), LIST(1, 2, 3));
	struct pm_fabric *fabric = generate_fabric(&config);
	char a[32], b[32];

	(void)state;
	for (unsigned int a3 = 0; a3 < 2; a3++)
		for (unsigned int b2 = 0; b2 < 2; b2++) {
			snprintf(b, sizeof(b), "sw2-%u", a3 * 2 + b2);
			for (unsigned int a2 = 0; a2 < 3; a2++) {
				snprintf(a, sizeof(a), "leaf%u", a3 * 3 + a2);
				assert_linked(fabric, a, 4 + 1 + b2, b, 1 + a2);
			}
			for (unsigned int b3 = 0; b3 < 3; b3++) {
				snprintf(a, sizeof(a), "sw3-%u", b3 * 2 + b2);
				assert_linked(fabric, b, 3 + 1 + b3, a, 1 + a3);
			}
		}
	pm_fabric_free(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_write_error),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_director_cables),
		cmocka_unit_test(test_two_level_cables),
		cmocka_unit_test(test_xgft_cables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
