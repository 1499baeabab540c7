/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "unit.h"
#include "world.h"

#include <portmajor/fabric/fabric.h>
#include <portmajor/fabric/generate.h>
#include <portmajor/fabric/link.h>
#include <portmajor/netlist/netlist.h>

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

#define LINE_BOARDS(l, s, e, h, u)                                                       \
	{                                                                                \
		.kind = PM_GENERATE_LINE_BOARDS, .line_boards = { l, s, e, h, u }        \
	}
#define ISLANDS(u, c, n, ...)                                                            \
	{                                                                                \
		.kind = PM_GENERATE_ISLANDS, .islands = { u, c, n, {__VA_ARGS__} }       \
	}
#define TORUS(d, sides, h)                                                               \
	{                                                                                \
		.kind = PM_GENERATE_TORUS, .torus = { d, sides, h, false }               \
	}
#define MESH(d, sides, h)                                                                \
	{                                                                                \
		.kind = PM_GENERATE_TORUS, .torus = { d, sides, h, true }                \
	}
#define DRAGONFLY(g, l, s, h)                                                            \
	{                                                                                \
		.kind = PM_GENERATE_DRAGONFLY, .dragonfly = { g, l, s, h }               \
	}
#define SMALL .kind = PM_GENERATE_TWO_LEVEL, .two_level = {4, 2, 3, 1}

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

static const struct pm_port *port_of(const struct pm_fabric *fabric, const char *name,
				     unsigned int num)
{
	return &fabric->ports[world_port(fabric, name, num)];
}

/* A name with one or two numbers; it stays until the fourth call from then on. */
static const char *name(const char *format, ...)
{
	static char names[4][32];
	static unsigned int next;
	char *text = names[next++ % LENGTH(names)];
	va_list numbers;

	va_start(numbers, format);
	vsnprintf(text, sizeof(names[0]), format, numbers);
	va_end(numbers);
	return text;
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

static uint32_t count_links(const struct pm_fabric *fabric, uint32_t *empty)
{
	uint32_t ends = 0;

	*empty = 0;
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		ends += fabric->ports[i].peer != PM_NONE;
		*empty += fabric->ports[i].num && fabric->ports[i].peer == PM_NONE;
	}
	return ends / 2;
}

static const struct {
	const char *name;
	struct pm_generate config;
	uint32_t hosts, switches, links;
	uint32_t empty; /* ports */
} sizes[] = {
	{"director 36", DIRECTOR(36), 648, 90, 1944, 0},
	{"director 72", DIRECTOR(72), 1296, 180, 3888, 0},
	{"director 108", DIRECTOR(108), 1944, 270, 5832, 0},
	{"director 144: 4 does not divide 18", DIRECTOR(144), 2592, 360, 7776, 0},
	{"director 324", DIRECTOR(324), 5832, 810, 17496, 0},
	{"director 612: 17 does not divide 18", DIRECTOR(612), 11016, 1530, 33048, 0},
	{"director 648", DIRECTOR(648), 11664, 1620, 34992, 0},
	{"two-level, smallest", TWO_LEVEL(1, 1, 1, 1), 1, 2, 2, 0},
	{"two-level", TWO_LEVEL(4, 3, 5, 2), 20, 7, 44, 0},
	{"two-level, most ports", TWO_LEVEL(127, 2, 250, 2), 31750, 129, 32258, 0},
	{"xgft 1", XGFT(1, LIST(4), LIST(1)), 4, 1, 4, 0},
	{"xgft 2", XGFT(2, LIST(4, 3), LIST(1, 2)), 12, 5, 18, 0},
	{"xgft 3", XGFT(3, LIST(4, 3, 2), LIST(1, 2, 3)), 24, 16, 48, 0},
	{"xgft 4", XGFT(4, LIST(2, 2, 3, 2), LIST(1, 2, 2, 2)), 24, 40, 88, 0},
	{"xgft of ones", XGFT(4, LIST(1, 1, 1, 1), LIST(1, 1, 1, 1)), 1, 4, 4, 0},
	{"xgft, unused levels", XGFT(1, LIST(3, 0, 999), LIST(1)), 3, 1, 3, 0},
	{"line boards", LINE_BOARDS(4, 2, 6, 5, 2), 30, 12, 50, 0},
	{"line boards, uneven", LINE_BOARDS(4, 3, 3, 2, 3), 6, 10, 27, 3},
	{"line boards of one", LINE_BOARDS(1, 1, 1, 1, 1), 1, 3, 3, 0},
	{"one island", ISLANDS(1, 2, 1, {3, 2, 4}), 12, 7, 20, 0},
	{"two islands, unlike", ISLANDS(2, 3, 2, {3, 2, 4}, {2, 3, 5}), 22, 13, 44, 2},
	{"four islands", ISLANDS(1, 1, 4, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}), 4,
	 9, 12, 0},
	{"ring", TORUS(1, LIST(5), 2), 10, 5, 15, 0},
	{"torus", TORUS(3, LIST(4, 3, 2), 1), 24, 24, 96, 0},
	{"mesh", MESH(3, LIST(4, 3, 2), 1), 24, 24, 24 + 18 + 16 + 12, 52},
	{"dragonfly of two", DRAGONFLY(2, 1, 1, 1), 2, 4, 5, 0},
	{"dragonfly", DRAGONFLY(5, 3, 2, 4), 60, 25, 60 + 30 + 20, 0},
	{"aggregation nodes", {SMALL, .aggregation = true}, 18, 6, 26, 0},
	{"service nodes",
	 {SMALL, .services = {{"sm", 1, 1}, {"login", 3, 1}, {"io", 5, 0}},
	  .num_services = 3},
	 21,
	 6,
	 29,
	 0},
	{"hosts of two ports", {SMALL, .host_ports = 2}, 6, 6, 20, 0},
	{"hosts of four rails", {SMALL, .host_ports = 4, .rails = true}, 12, 6, 20, 0},
	{"split", {SMALL, .split = true}, 12, 6, 20, 8},
	{"all of it",
	 {SMALL, .host_ports = 2, .split = true, .aggregation = true,
	  .services = {{"router", 4, 1}}, .num_services = 1},
	 6 + 4 + 6,
	 6,
	 20 + 4 + 6,
	 8},
};

static void test_sizes(void **state)
{
	for_each_row(row, sizes) {
		struct pm_fabric *fabric = world_generate(&row->config);
		uint32_t empty, links = count_links(fabric, &empty);

		if (fabric->num_switches != row->switches ||
		    fabric->num_nodes != row->switches + row->hosts ||
		    links != row->links || empty != row->empty)
			fail_msg("%s: %u nodes, %u switches, %u links, %u empty ports",
				 row->name, fabric->num_nodes, fabric->num_switches,
				 links, empty);
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
	{"no lines", LINE_BOARDS(0, 1, 1, 1, 1), -EINVAL, "line-boards: numbers"},
	{"no boards for spines", LINE_BOARDS(1, 0, 1, 1, 1), -EINVAL, "line-boards"},
	{"no edge switches", LINE_BOARDS(1, 1, 0, 1, 1), -EINVAL, "line-boards"},
	{"no hosts on the edge", LINE_BOARDS(1, 1, 1, 0, 1), -EINVAL, "line-boards"},
	{"no uplinks of the edge", LINE_BOARDS(1, 1, 1, 1, 0), -EINVAL, "line-boards"},
	{"line of 255 ports", LINE_BOARDS(2, 5, 250, 1, 2), -E2BIG, "have 255 ports"},
	{"boards, largest numbers", LINE_BOARDS(~0u, ~0u, ~0u, ~0u, ~0u), -E2BIG,
	 "65536 nodes"},
	{"no islands", ISLANDS(1, 1, 0, {1, 1, 1}), -EINVAL, "1 to 4 of them"},
	{"five islands", ISLANDS(1, 1, 5, {1, 1, 1}), -EINVAL, "1 to 4 of them"},
	{"no cores", ISLANDS(1, 0, 1, {1, 1, 1}), -EINVAL, "islands: numbers"},
	{"no uplinks", ISLANDS(0, 1, 1, {1, 1, 1}), -EINVAL, "islands: numbers"},
	{"no leaves in one", ISLANDS(1, 1, 2, {1, 1, 1}, {0, 1, 1}), -EINVAL, "islands:"},
	{"core of 255 ports", ISLANDS(5, 1, 1, {1, 51, 1}), -E2BIG, "have 255 ports"},
	{"islands, largest numbers", ISLANDS(~0u, ~0u, 1, {~0u, ~0u, ~0u}), -E2BIG,
	 "65536 nodes"},
	{"no dimension", TORUS(0, LIST(4), 1), -EINVAL, "0 dimensions"},
	{"five dimensions", TORUS(5, LIST(4), 1), -EINVAL, "5 dimensions"},
	{"a side of one", TORUS(2, LIST(4, 1), 1), -EINVAL, "at least 2"},
	{"no hosts on a torus", TORUS(1, LIST(4), 0), -EINVAL, "hosts must be"},
	{"torus, largest numbers", TORUS(4, LIST(~0u, ~0u, ~0u, ~0u), 1), -E2BIG,
	 "65536 nodes"},
	{"one group", DRAGONFLY(1, 1, 1, 1), -EINVAL, "at least 2 groups"},
	{"dragonfly, largest numbers", DRAGONFLY(~0u, ~0u, ~0u, ~0u), -E2BIG, "ports"},
	{"leaves and ports of hosts",
	 {SMALL, .host_ports = 3},
	 -EINVAL,
	 "4 leaves cannot be divided by the 3 ports"},
	{"islands and ports of hosts",
	 {.kind = PM_GENERATE_ISLANDS,
	  .islands = {1, 1, 1, {{2, 1, 1}}},
	  .host_ports = 2},
	 -EINVAL,
	 "equally many hosts"},
	{"no such level",
	 {SMALL, .services = {{"sm", 1, 2}}, .num_services = 1},
	 -EINVAL,
	 "no switches are on level 2"},
	{"beyond all levels",
	 {SMALL, .services = {{"sm", 1, 4}}, .num_services = 1},
	 -EINVAL,
	 "no switches are on level 4"},
	{"no service nodes",
	 {SMALL, .services = {{"sm", 0, 1}}, .num_services = 1},
	 -EINVAL,
	 "and a number"},
	{"no name",
	 {SMALL, .services = {{"", 1, 1}}, .num_services = 1},
	 -EINVAL,
	 "name"},
	{"a name with a quote",
	 {SMALL, .services = {{"a\"b", 1, 1}}, .num_services = 1},
	 -EINVAL,
	 "a name of up to 15"},
	{"a name without an end",
	 {SMALL,
	  .services = {{{'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a',
			 'a', 'a', 'a'},
			1,
			1}},
	  .num_services = 1},
	 -EINVAL,
	 "a name of up to 15"},
	{"spine of 255 ports for service",
	 {SMALL, .services = {{"io", 501, 1}}, .num_services = 1},
	 -E2BIG,
	 "have 255 ports"},
	{"split leaf of 256 ports",
	 {.kind = PM_GENERATE_TWO_LEVEL, .two_level = {2, 28, 200, 1}, .split = true},
	 -E2BIG,
	 "have 256 ports"},
	{"aggregation node on port 255",
	 {.kind = PM_GENERATE_TWO_LEVEL,
	  .two_level = {2, 4, 250, 1},
	  .aggregation = true},
	 -E2BIG,
	 "have 255 ports"},
	{"LIDs of aggregation nodes",
	 {.kind = PM_GENERATE_TWO_LEVEL,
	  .two_level = {240, 4, 203, 1},
	  .aggregation = true},
	 -E2BIG,
	 "49208 nodes need"},
	{"LIDs of service nodes",
	 {.kind = PM_GENERATE_TWO_LEVEL,
	  .two_level = {240, 4, 203, 1},
	  .services = {{"io", 188, 0}},
	  .num_services = 1},
	 -E2BIG,
	 "49152 nodes need"},
};

static void test_refused(void **state)
{
	for_each_row(row, refused) {
		struct pm_error err = {""};
		char *text = NULL;
		size_t size;
		FILE *file = open_memstream(&text, &size);

		assert_non_null(file);
		if (pm_generate_write(&row->config, file, &err) != row->code ||
		    !strstr(err.text, row->message))
			fail_msg("%s: \"%s\"", row->name, err.text);
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
	struct pm_fabric *fabric = world_generate(&config);

	for_each_row(row, rows)
		assert_string_equal(pm_fabric_name(fabric, row->node), row->name);
	assert_int_equal(fabric->nodes[0].guid, 0x200000);
	assert_int_equal(fabric->nodes[90].guid, 0x100000);
	pm_fabric_free(fabric);
}

/* The cabling of the header's comment, written out; 2, 3 and 4 fabrics. */
static void check_director(unsigned int leaves)
{
	const struct pm_generate config = DIRECTOR(leaves);
	struct pm_fabric *fabric = world_generate(&config);
	unsigned int fabrics = leaves / 36, taken[18];

	for (unsigned int leaf = 0; leaf < leaves; leaf++)
		for (unsigned int i = 0; i < 18; i++) {
			assert_linked(fabric, name("leaf%u", leaf), i + 1,
				      name("h%u-%u", leaf, i + 1), 1);
			assert_linked(fabric, name("leaf%u", leaf), 19 + i,
				      name("s%u-line%u", i, leaf / 18), 1 + leaf % 18);
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
			assert_linked(fabric, name("s%u-line%u", chassis, line), 19 + k,
				      name("s%u-fab%u", chassis, fab), port);
		}
	}
	pm_fabric_free(fabric);
}

static void test_director_links(void **state)
{
	check_director(72);
	check_director(108);
	check_director(144);
}

static void test_two_level_links(void **state)
{
	static const struct pm_generate config = TWO_LEVEL(4, 3, 5, 2);
	struct pm_fabric *fabric = world_generate(&config);

	for (unsigned int leaf = 0; leaf < 4; leaf++)
		for (unsigned int spine = 0; spine < 3; spine++)
			for (unsigned int link = 0; link < 2; link++)
				assert_linked(fabric, name("leaf%u", leaf),
					      5 + 1 + spine * 2 + link,
					      name("spine%u", spine),
					      1 + leaf * 2 + link);
	pm_fabric_free(fabric);
}

/*
 * XGFT(3; 4, 3, 2; 1, 2, 3): leaves leaf0..5 by (a_3, a_2), level 2 sw2-0..3 by
 * (a_3, b_2), level 3 sw3-0..5 by (b_3, b_2).
 */
static void test_xgft_links(void **state)
{
	static const struct pm_generate config = XGFT(3, LIST(4, 3, 2), LIST(1, 2, 3));
	struct pm_fabric *fabric = world_generate(&config);

	for (unsigned int a3 = 0; a3 < 2; a3++)
		for (unsigned int b2 = 0; b2 < 2; b2++) {
			for (unsigned int a2 = 0; a2 < 3; a2++)
				assert_linked(fabric, name("leaf%u", a3 * 3 + a2),
					      4 + 1 + b2, name("sw2-%u", a3 * 2 + b2),
					      1 + a2);
			for (unsigned int b3 = 0; b3 < 3; b3++)
				assert_linked(fabric, name("sw2-%u", a3 * 2 + b2),
					      3 + 1 + b3, name("sw3-%u", b3 * 2 + b2),
					      1 + a3);
		}
	pm_fabric_free(fabric);
}

/* Link j of the edge to line j mod 4, port 1 + j div 4. */
static void test_line_boards_links(void **state)
{
	static const struct pm_generate config = LINE_BOARDS(4, 3, 3, 2, 3);
	struct pm_fabric *fabric = world_generate(&config);

	for (unsigned int j = 0; j < 9; j++)
		assert_linked(fabric, name("leaf%u", j / 3), 3 + j % 3,
			      name("line%u", j % 4), 1 + j / 4);
	for (unsigned int line = 0; line < 4; line++)
		for (unsigned int spine = 0; spine < 3; spine++)
			assert_linked(fabric, name("line%u", line), 4 + spine,
				      name("spine%u", spine), 1 + line);
	pm_fabric_free(fabric);
}

static void test_islands_links(void **state)
{
	static const struct pm_generate config = ISLANDS(2, 3, 2, {3, 2, 4}, {2, 3, 5});
	struct pm_fabric *fabric = world_generate(&config);

	for (unsigned int leaf = 0; leaf < 3; leaf++)
		for (unsigned int spine = 0; spine < 2; spine++)
			assert_linked(fabric, name("leaf%u", leaf), 5 + spine,
				      name("spine%u", spine), 1 + leaf);
	for (unsigned int leaf = 0; leaf < 2; leaf++)
		for (unsigned int spine = 0; spine < 3; spine++)
			assert_linked(fabric, name("leaf%u", 3 + leaf), 6 + spine,
				      name("spine%u", 2 + spine), 1 + leaf);
	for (unsigned int j = 0; j < 10; j++)
		assert_linked(fabric, name("spine%u", j / 2), (j < 4 ? 4 : 3) + j % 2,
			      name("core%u", j % 3), 1 + j / 3);
	assert_linked(fabric, "leaf2", 4, "h2-4", 1);
	assert_linked(fabric, "leaf4", 5, "h4-5", 1);
	pm_fabric_free(fabric);
}

static void test_torus_links(void **state)
{
	static const struct pm_generate config = TORUS(2, LIST(4, 3), 2);
	static const struct pm_generate open = MESH(2, LIST(4, 3), 2);
	struct pm_fabric *fabric = world_generate(&config);

	assert_linked(fabric, "leaf0", 3, "leaf1", 4);
	assert_linked(fabric, "leaf3", 3, "leaf0", 4);
	assert_linked(fabric, "leaf7", 3, "leaf4", 4);
	assert_linked(fabric, "leaf1", 5, "leaf5", 6);
	assert_linked(fabric, "leaf9", 5, "leaf1", 6);
	pm_fabric_free(fabric);
	fabric = world_generate(&open);
	assert_linked(fabric, "leaf0", 3, "leaf1", 4);
	assert_linked(fabric, "leaf1", 5, "leaf5", 6);
	assert_int_equal(port_of(fabric, "leaf3", 3)->peer, PM_NONE);
	assert_int_equal(port_of(fabric, "leaf0", 4)->peer, PM_NONE);
	assert_int_equal(port_of(fabric, "leaf9", 5)->peer, PM_NONE);
	assert_int_equal(port_of(fabric, "leaf1", 6)->peer, PM_NONE);
	pm_fabric_free(fabric);
}

/* Each spine has a link to its counterpart in each other group. */
static void test_dragonfly_links(void **state)
{
	static const struct pm_generate config = DRAGONFLY(4, 3, 5, 2);
	struct pm_fabric *fabric = world_generate(&config);

	for (unsigned int group = 0; group < 4; group++)
		for (unsigned int spine = 0; spine < 5; spine++) {
			for (unsigned int leaf = 0; leaf < 3; leaf++)
				assert_linked(fabric, name("leaf%u", 3 * group + leaf),
					      3 + spine,
					      name("spine%u", 5 * group + spine),
					      1 + leaf);
			for (unsigned int i = 0; i < 3; i++)
				assert_linked(fabric, name("spine%u", 5 * group + spine),
					      4 + i,
					      name("spine%u",
						   5 * ((group + 1 + i) % 4) + spine),
					      6 - i);
		}
	pm_fabric_free(fabric);
}

static const struct pm_node *node_of(const struct pm_fabric *fabric, const char *name)
{
	return &fabric->nodes[port_of(fabric, name, 1)->node];
}

/* Service nodes come behind the shape's ports, and aggregation nodes last. */
static void test_service_nodes(void **state)
{
	static const struct pm_generate config = {
		SMALL,
		.aggregation = true,
		.services = {{"sm", 1, 1}, {"router", 2, 1}, {"io", 1, 0}, {"io", 1, 1}},
		.num_services = 4,
	};
	struct pm_fabric *fabric = world_generate(&config);
	uint32_t aggregation = 0;

	assert_linked(fabric, "spine0", 5, "sm-1", 1);
	assert_linked(fabric, "spine1", 5, "router-1", 1);
	assert_linked(fabric, "spine0", 6, "router-2", 1);
	assert_linked(fabric, "spine1", 6, "io-2", 1);
	assert_linked(fabric, "leaf0", 6, "io-1", 1);
	assert_int_equal(node_of(fabric, "router-1")->type, PM_ROUTER);
	assert_int_equal(node_of(fabric, "sm-1")->type, PM_CA);
	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		const struct pm_node *n = &fabric->nodes[i];
		bool is = !strcmp(pm_fabric_name(fabric, i),
				  "Mellanox Technologies Aggregation Node");
		const struct pm_port *peer;

		assert_int_equal(n->device, is ? 0xcf09 : 0);
		if (!is)
			continue;
		peer = &fabric->ports[fabric->ports[n->first_port + 1].peer];
		assert_int_equal(peer->num, fabric->nodes[peer->node].num_ports);
		assert_int_equal(peer->node, aggregation++);
	}
	assert_int_equal(aggregation, 6);
	pm_fabric_free(fabric);
}

static void test_host_ports(void **state)
{
	static const struct pm_generate ports = {SMALL, .host_ports = 2};
	static const struct pm_generate rails = {SMALL, .host_ports = 2, .rails = true};
	struct pm_fabric *fabric = world_generate(&ports);

	assert_linked(fabric, "leaf1", 3, "h1-3", 1);
	assert_linked(fabric, "leaf3", 3, "h1-3", 2);
	pm_fabric_free(fabric);
	fabric = world_generate(&rails);
	assert_linked(fabric, "leaf1", 3, "h1-3-1", 1);
	assert_linked(fabric, "leaf3", 3, "h1-3-2", 1);
	pm_fabric_free(fabric);
}

static void test_split(void **state)
{
	static const struct pm_generate config = {SMALL, .split = true};
	struct pm_fabric *fabric = world_generate(&config);
	char text[PM_LINK_TEXT];

	assert_int_equal(node_of(fabric, "leaf0")->num_ports, 7);
	assert_linked(fabric, "leaf0", 3, "h0-3", 1);
	assert_linked(fabric, "leaf0", 4, "spine0", 1);
	assert_linked(fabric, "leaf3", 6, "spine1", 4);
	assert_string_equal(pm_link_print(port_of(fabric, "h0-3", 1)->link, text),
			    "2xHDR");
	assert_string_equal(pm_link_print(port_of(fabric, "leaf0", 4)->link, text),
			    "4xHDR");
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
		cmocka_unit_test(test_director_links),
		cmocka_unit_test(test_two_level_links),
		cmocka_unit_test(test_xgft_links),
		cmocka_unit_test(test_line_boards_links),
		cmocka_unit_test(test_islands_links),
		cmocka_unit_test(test_torus_links),
		cmocka_unit_test(test_dragonfly_links),
		cmocka_unit_test(test_service_nodes),
		cmocka_unit_test(test_host_ports),
		cmocka_unit_test(test_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
