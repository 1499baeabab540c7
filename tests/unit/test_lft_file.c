/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/analysis/lft_diff.h>
#include <portmajor/files/lft_file.h>

#define HEAD "Unicast lids [0-3] of switch Lid 2 guid 0x0000000000000010 ('a (b) 'c''):\n"
#define ENTRY "0x0001 001 # Channel Adapter portguid 0x0000000000000021: 'h'\n"
#define OWN "0x0002 000 # Switch portguid 0x0000000000000010: 'a'\n"
#define FTS                                                                              \
	"Unicast lids [0x0-0x3] of switch DR path slid 0; dlid 0; 0,1 guid 0x10 (a "     \
	"b):\n"

/* A switch with a host behind port 1 and nothing behind port 2. */
#define DUMP_SWITCH                                                                      \
	"# Net status - today\n\nSwitch 2 \"a\"\tnodeguid 10\tsysimgguid 10\n"           \
	"#\tlinearcap 49151 FDBtop 3 portchange 0\n"
#define DUMP_ENTRIES "#\tForwarding table 0-15: [0]FF [1]1 [2]0 [3]ff [4]1 \n"
#define DUMP_PORTS                                                                       \
	"10\t[0]\t\"Sma Port\"[0]\t lid 2 lmc 0 smlid 8  4x  2.5G Active/LinkUp\n"       \
	"10\t[1]\t\"h\"[1]\t  4x 10.0G Active/LinkUp\n"                                  \
	"10\t[2]\t\t\t  4x 10.0G Down/Polling\n"
#define DUMP_HOST                                                                        \
	"\nCa 2 \"h\"\tnodeguid 20\tsysimgguid 20\n"                                     \
	"21\t[1]\t\"a\"[1]\t lid 8 lmc 1 smlid 9  4x 10.0G Active/LinkUp\n"              \
	"22\t[2]\t\t\t lid 1 lmc 0 smlid 7  4x 10.0G Down/Polling\n"
#define DUMP_NODES DUMP_SWITCH DUMP_ENTRIES DUMP_PORTS DUMP_HOST
#define DUMP DUMP_NODES "#  dumped 2 nodes\n"

struct row {
	const char *name, *text;
	unsigned int line; /* that the message must name; 0: the text is good */
	const char *word;  /* in the message, or the switch's name */
};

static const struct row rows[] = {
	{"OpenSM's dump", HEAD ENTRY OWN "3 lids dumped\n", 0, "a (b) 'c'"},
	{"ibsim's Dump, with what is no node's",
	 "# Net status - today\n#\tlinearcap 9 FDBtop 9 portchange 0\n" DUMP_ENTRIES DUMP,
	 0, "a"},
	{"dump_fts",
	 FTS "  Lid  Out   Destination\n       Port     Info \n"
	     "0x0001 001 : (Channel Adapter portguid 0x21: 'h')\n"
	     "0x0002 000 : (Switch portguid 0x10: 'a b')\n2 valid lids dumped \n",
	 0, "a b"},
	{"dump_fts -a",
	 FTS "0x0000 255 : (path #0 - illegal port)\n"
	     "0x0001 001 : (Channel Adapter portguid 0x21: 'h')\n"
	     "0x0002 000 : (Switch portguid 0x10: 'a b')\n3 lids dumped \n",
	 0, "a b"},
	{"fdbs",
	 "dump_ucast_routes: Switch 0x10\nLID    : Port : Hops : Optimal\n"
	 "0x0001 : 001  : 01   : yes\n0x0002 : 000  : 00   : yes\n"
	 "0x0003 : UNREACHABLE\n",
	 0, ""},
	{"a name like a header",
	 "Unicast lids [0x0-0x3] of switch DR path slid 0 guid 0x10 (a of switch Lid "
	 "b):\n"
	 "0x0001 001 : (Channel Adapter portguid 0x21: 'h')\n0x0002 000\n"
	 "2 valid lids dumped\n",
	 0, "a of switch Lid b"},
	{"ibsim's Dump", DUMP, 0, "a"},
	{"Dump with more of the console", DUMP "# no more\n\n", 0, "a"},
	{"Dump that stops", DUMP_NODES, 12, "stops before its end"},
	{"Dump that stops in a line", DUMP_NODES "#  dumped", 13, "stops before its end"},
	{"Dump of another number of nodes", DUMP_NODES "#  dumped 3 nodes\n", 13,
	 "3 nodes, but 2 are here"},
	{"number of nodes that is none", DUMP_NODES "#  dumped all nodes\n", 13,
	 "no number up to"},
	{"Dump of no switch", DUMP_HOST "#  dumped 1 nodes\n", 5, "no tables"},
	{"second Dump", DUMP DUMP, 16, "another Dump begins"},
	{"port behind a Dump", DUMP "10\t[0]\t\n", 14, "outside of a node"},
	{"node without ports", "Switch \"a\"\tnodeguid 10\n", 1, "no number of ports"},
	{"node of 255 ports", "Switch 255 \"a\"\tnodeguid 10\n", 1, "no number of ports"},
	{"node of 254 ports", "Switch 254 \"a\"\tnodeguid 10\n", 1,
	 "stops before its end"},
	{"node without an id", "Switch 2 a\tnodeguid 10\n", 1, "no quoted id"},
	{"node with an empty id", "Switch 2 \"\"\tnodeguid 10\n", 1, "no quoted id"},
	{"node without an end of its id", "Switch 2 \"a\tnodeguid 10\n", 1,
	 "no quoted id"},
	{"node without a GUID", DUMP_SWITCH "Ca 1 \"h\"\n", 5, "no GUID"},
	{"node's GUID that is none", "Switch 2 \"a\"\tnodeguid x\n", 1, "no GUID"},
	{"switch of GUID 0", "Switch 2 \"a\"\tnodeguid 0\n", 1, "GUID 0"},
	{"port of GUID 0",
	 DUMP_SWITCH "Ca 1 \"h\"\tnodeguid 0\n"
		     "0\t[1]\t\"a\"[1]\t lid 8 lmc 0 smlid 9 \n",
	 6, "GUID 0"},
	{"FDBtop too high",
	 "Switch 2 \"a\"\tnodeguid 10\n#\tlinearcap 0 FDBtop 49152 portchange 0\n", 2,
	 "up to 49151 behind \" FDBtop \""},
	{"FDBtop twice", DUMP_SWITCH "#\t FDBtop 3\n", 5, "second FDBtop"},
	{"entries without a colon", DUMP_SWITCH "#\tForwarding table 0-15\n", 5,
	 "no entries"},
	{"entry without a LID", DUMP_SWITCH "#\tForwarding table 0-15: 1 2\n", 5,
	 "no LID in \"1 2\""},
	{"entry without an end of its LID", DUMP_SWITCH "#\tForwarding table: [1 2\n", 5,
	 "no LID"},
	{"entry for a multicast LID", DUMP_SWITCH "#\tForwarding table: [49152]1\n", 5,
	 "no LID"},
	{"entry without a port", DUMP_SWITCH "#\tForwarding table: [1]\n", 5, "no port"},
	{"entry with port 256", DUMP_SWITCH "#\tForwarding table: [1]100\n", 5,
	 "no port"},
	{"entry twice", DUMP_SWITCH DUMP_ENTRIES DUMP_ENTRIES, 6, "second entry"},
	{"prose in a Dump", DUMP_SWITCH "Dear reader,\n", 5, "no port in \"Dear"},
	{"port without a number", DUMP_SWITCH "10\t\"h\"[1]\n", 5, "no port"},
	{"peer without a port", DUMP_SWITCH "10\t[1]\t\"h\"\n", 5, "no peer"},
	{"peer without an end", DUMP_SWITCH "10\t[1]\t\"h[1]\n", 5, "no peer"},
	{"port's LID too high", DUMP_SWITCH "10\t[0]\t\t lid 65536 lmc 0\n", 5,
	 "up to 65535 behind \" lid \""},
	{"port's LMC too high", DUMP_SWITCH "10\t[0]\t\t lid 4 lmc 8\n", 5,
	 "up to 7 behind \" lmc \""},
	{"SM's LID that is none", DUMP_SWITCH "10\t[0]\t\t lid 4 lmc 0 smlid x\n", 5,
	 "up to 65535 behind \" smlid \""},
	{"node twice in a Dump", DUMP_SWITCH DUMP_SWITCH "#  dumped 2 nodes\n", 7,
	 "on line 3 already"},
	{"two owners in a Dump",
	 DUMP_NODES "Ca 1 \"i\"\tnodeguid 30\n31\t[1]\t\"a\"[2]\t lid 9 lmc 0 smlid 9\n",
	 14, "on line 11"},
	{"line ends of Windows",
	 HEAD "0x0001 001 # portguid 0x21: 'h'\r\n"
	      "0x0002 000\r\n3 lids dumped\r\n",
	 0, "a (b) 'c'"},
	{"empty", "", 1, "no tables"},
	{"not text in a table", HEAD "0x0001 001 # portguid 0x21: '\x01'\n", 2,
	 "not text: byte 0x01"},
	{"not text",
	 "\x7f"
	 "ELF\n",
	 1, "not text: byte 0x7f"},
	{"prose", "Dear reader,\n", 1, "Dear reader"},
	{"ibsim's netlist", "\n# x\nSwitch\t4 \"s\"\n", 1, "this is a topology"},
	{"ibnetdiscover's", "#\n# Topology file: x\n", 1, "this is a topology"},
	{"opensm-subnet.lst", "{ SW Ports:24 SystemGUID:1\n", 1, "this is a topology"},
	{"words of no topology", "Switches are\n", 1, "no line of a table"},
	{"multicast", "Multicast mlids [0xc000-0xc3ff] of switch\n", 1, "multicast"},
	{"stops in a line", HEAD "0x0001 0", 2, "middle of a line"},
	{"stops after a line", HEAD ENTRY, 2, "line 1 has no"},
	{"stops before another", HEAD ENTRY HEAD, 3, "line 1 has no"},
	{"no range", "Unicast lids of switch Lid 2 guid 0x10 ('a'):\n", 1, "no range"},
	{"range without an end", "Unicast lids [0-] of switch Lid 2 guid 0x10:\n", 1,
	 "no range"},
	{"range that is no number", "Unicast lids [0-x] of switch Lid 2 guid 0x10:\n", 1,
	 "no range"},
	{"range in hexadecimal without digits",
	 "Unicast lids [0x0-0x] of switch Lid 2 guid 0x10:\n", 1, "no range"},
	{"range beyond all numbers",
	 "Unicast lids [0-99999999999999999999] of switch Lid 2 guid 0x10:\n", 1,
	 "no range"},
	{"switch's LID that is none", "Unicast lids [0-3] of switch Lid x guid 0x10:\n",
	 1, "no LID of the switch"},
	{"switch's LID that is too high",
	 "Unicast lids [0-3] of switch Lid 49152 guid 0x10:\n", 1, "at most 0xbfff"},
	{"entry before a switch", ENTRY, 1, "outside"},
	{"end before a switch", "3 lids dumped\n", 1, "ends no table"},
	{"too few entries", FTS "0x0001 001 \n2 valid lids dumped \n", 3, "1 are here"},
	{"no GUID", "Unicast lids [0-3] of switch Lid 2:\n", 1, "no GUID"},
	{"GUID 0", "dump_ucast_routes: Switch 0x0\n", 1, "GUID 0"},
	{"GUID too long", "dump_ucast_routes: Switch 0x12345678901234567\n", 1,
	 "no GUID"},
	{"LID that is none", HEAD "0xzz 001\n", 2, "no LID"},
	{"multicast LID", HEAD "0xc000 001\n", 2, "no LID"},
	{"port that is none", HEAD "0x0001 1x\n", 2, "no port"},
	{"port above 255", HEAD "0x0001 256\n", 2, "no port"},
	{"port GUID 0", HEAD "0x0001 001 # portguid 0x0: 'h'\n", 2, "no port GUID"},
	{"port GUID that is none", HEAD "0x0001 001 # portguid 0xg: 'h'\n", 2,
	 "no port GUID for LID 1"},
	{"LID twice", HEAD ENTRY ENTRY, 3, "second entry"},
	{"switch twice", HEAD "3 lids dumped\n" HEAD "3 lids dumped\n", 3, "line 1"},
	{"two owners",
	 HEAD ENTRY "0x0003 001 # portguid 0x22: 'h'\n3 lids dumped\n"
		    "Unicast lids [0-3] of switch Lid 3 guid 0x11 ('b'):\n"
		    "0x0003 001 # portguid 0x23: 'h'\n",
	 6, "on line 3"},
};

static void check_good(const struct row *row, const struct pm_lfts *lfts)
{
	const struct pm_lft_switch *sw = pm_lfts_find(lfts, 0x10);

	assert_int_equal(lfts->num_switches, 1);
	assert_non_null(sw);
	assert_string_equal(sw->name, row->word);
	assert_int_equal(sw->table[0], PM_LFT_KEEP);
	assert_int_equal(sw->table[1], 1);
	assert_int_equal(sw->table[2], 0);
	assert_int_equal(sw->table[3], PM_LFT_KEEP);
	assert_null(pm_lfts_find(lfts, 0x11));
}

static void test_parse(void **state)
{
	for_each_row(row, rows) {
		struct pm_lfts *lfts = NULL;
		struct pm_error err = {""};
		char place[32];
		int rc = pm_lfts_parse(row->text, strlen(row->text), "in", &lfts, &err);

		if (rc != (row->line ? -EINVAL : 0))
			fail_msg("%s: %d %s", row->name, rc, err.text);
		if (!row->line) {
			check_good(row, lfts);
			pm_lfts_free(lfts);
			continue;
		}
		assert_null(lfts);
		snprintf(place, sizeof(place), "in:%u: ", row->line);
		if (strncmp(err.text, place, strlen(place)) ||
		    !strstr(err.text, row->word))
			fail_msg("%s: %s", row->name, err.text);
	}
}

/* Owners of LIDs: a port without a cable has none. */
static void test_dump(void **state)
{
	struct pm_lfts *lfts = NULL;
	const struct pm_lft_switch *sw;

	assert_int_equal(pm_lfts_parse(DUMP, strlen(DUMP), "in", &lfts, NULL), 0);
	sw = lfts->switches;
	assert_int_equal(sw->top, 3);
	assert_int_equal(sw->table[4], PM_LFT_KEEP);
	assert_int_equal(sw->lid, 2);
	assert_int_equal(lfts->num_owned, 3);
	assert_int_equal(lfts->owner[2].guid, 0x10);
	assert_int_equal(lfts->owner[8].guid, 0x21);
	assert_int_equal(lfts->owner[9].guid, 0x21);
	assert_int_equal(lfts->sm_lid, 9);
	assert_true(lfts->whole);
	pm_lfts_free(lfts);
}

/* The last 200 bytes of a source are shown, and the first 64 of a line. */
static void test_shown(void **state)
{
	static const size_t lengths[] = {1, 63, 64, 65, 199, 200, 201, 999};

	for (size_t i = 0; i < LENGTH(lengths); i++) {
		size_t length = lengths[i];
		char source[1000] = "", line[1001] = "";
		struct pm_error err = {""};
		struct pm_lfts *lfts = NULL;

		memset(source, '~', length);
		memset(line, '+', length);
		line[length] = '\n';
		assert_int_equal(pm_lfts_parse(line, length + 1, source, &lfts, &err),
				 -EINVAL);
		assert_int_equal(strspn(err.text, "~"), length < 200 ? length : 200);
		assert_int_equal(strspn(strchr(err.text, '+'), "+"),
				 length < 64 ? length : 64);
		assert_non_null(strstr(err.text, "~:1: \"+"));
	}
}

/* Every LID and port that there is, and one more. */
static void test_ranges(void **state)
{
	static const struct {
		unsigned int own, lid, port;
		bool good;
	} cases[] = {
		{1, 0, 0, true},       {49151, 1, 254, true}, {49152, 1, 1, false},
		{1, 49151, 255, true}, {1, 49152, 1, false},  {1, 1, 256, false},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct pm_error err = {""};
		struct pm_lfts *lfts = NULL;
		char text[200];
		int rc;

		snprintf(text, sizeof(text),
			 "Unicast lids [0-49151] of switch Lid %u guid 0x10 ('a'):\n"
			 "0x%04x %03u\n49151 lids dumped\n",
			 cases[i].own, cases[i].lid, cases[i].port);
		rc = pm_lfts_parse(text, strlen(text), "in", &lfts, &err);
		if (rc != (cases[i].good ? 0 : -EINVAL))
			fail_msg("case %zu: %d %s", i, rc, err.text);
		if (rc)
			continue;
		assert_int_equal(lfts->switches[0].lid, cases[i].own);
		assert_int_equal(lfts->switches[0].top, cases[i].lid);
		assert_int_equal(lfts->switches[0].length,
				 (cases[i].lid / PM_LFT_BLOCK + 1) * PM_LFT_BLOCK);
		assert_int_equal(lfts->switches[0].table[cases[i].lid], cases[i].port);
		pm_lfts_free(lfts);
	}
}

/* As many switches as a fabric may have nodes, and one more. */
static void test_most_switches(void **state)
{
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);
	struct pm_error err = {""};
	struct pm_lfts *lfts = NULL;

	assert_non_null(file);
	for (uint32_t i = 1; i <= PM_MAX_NODES; i++)
		fprintf(file, "dump_ucast_routes: Switch 0x%x\n", i);
	fflush(file);
	assert_int_equal(pm_lfts_parse(text, length, "in", &lfts, &err), 0);
	assert_int_equal(lfts->num_switches, PM_MAX_NODES);
	for (uint32_t i = 0; i < PM_MAX_NODES; i++)
		assert_int_equal(lfts->switches[i].lid, 0); /* not in the file */
	pm_lfts_free(lfts);
	lfts = NULL;
	fprintf(file, "dump_ucast_routes: Switch 0xffffff\n");
	fclose(file);
	assert_int_equal(pm_lfts_parse(text, length, "in", &lfts, &err), -EINVAL);
	assert_null(lfts);
	assert_non_null(strstr(err.text, "in:65537: more than 65536 switches"));
	free(text);
}

static void test_recognise(void **state)
{
	assert_true(pm_lfts_recognise(HEAD, strlen(HEAD)));
	assert_true(pm_lfts_recognise("\n \ndump_ucast_routes: S", 23));
	assert_true(pm_lfts_recognise(DUMP, strlen(DUMP)));
	assert_false(pm_lfts_recognise("", 0));
	assert_false(pm_lfts_recognise("Switch 4 \"a\"\n", 13));
	assert_false(pm_lfts_recognise(HEAD, 5));
}

static struct pm_lfts *parse(const char *text)
{
	struct pm_error err = {""};
	struct pm_lfts *lfts = NULL;

	if (pm_lfts_parse(text, strlen(text), "in", &lfts, &err))
		fail_msg("%s", err.text);
	return lfts;
}

static struct pm_lfts *of_world(const struct world *world)
{
	struct pm_lfts *lfts = NULL;

	assert_int_equal(
		pm_lfts_of_plan(world->plan, world->routes, world->fabric, &lfts, NULL),
		0);
	return lfts;
}

/* What is written for a plan is read back, and gives ports the planned LIDs. */
static void test_round_trip(void **state)
{
	for (uint8_t lmc = 0; lmc <= 2; lmc++) {
		struct pm_plan_config config = {.order = PM_GROUPED, .lmc = lmc};
		struct world world;
		struct pm_fabric *bare;
		struct pm_lfts *made, *back;
		struct pm_lft_diff diff;
		struct pm_lft_lids lids;
		struct pm_lft_reassigned *moves;
		uint32_t num_moves;
		char *text = NULL;
		size_t length = 0;
		FILE *file = open_memstream(&text, &length);

		(void)state;
		world_make_with(&world, world_director(36), &config);
		made = of_world(&world);
		assert_int_equal(pm_lfts_write(made, world.fabric, file), 0);
		assert_int_equal(fclose(file), 0);
		back = parse(text);
		diff = pm_lfts_compare(made, back, true);
		assert_int_equal(diff.entries, 0);
		assert_int_equal(diff.switches_gone + diff.switches_new, 0);
		assert_int_equal(diff.lids_other_owner + diff.lids_gone + diff.lids_new,
				 0);
		assert_int_equal(made->num_owned, back->num_owned);
		assert_int_equal(
			pm_lfts_find_reassigned(made, back, &moves, &num_moves, NULL), 0);
		assert_int_equal(num_moves, 0);
		bare = world_director(36);
		assert_int_equal(pm_lfts_give_lids(back, bare, &lids, NULL), 0);
		assert_int_equal(lids.given, 648 + 90);
		assert_int_equal(lids.unknown + lids.differ, 0);
		for (uint32_t i = 0; i < bare->num_ports; i++) {
			bool end = bare->ports[i].node >= bare->num_switches;

			assert_int_equal(bare->ports[i].lid, world.fabric->ports[i].lid);
			if (bare->ports[i].lid)
				assert_int_equal(bare->ports[i].lmc, end ? lmc : 0);
		}
		free(moves);
		free(text);
		pm_lfts_free(made);
		pm_lfts_free(back);
		pm_fabric_free(bare);
		world_free(&world);
	}
}

static void test_plain(void **state)
{
	const uint8_t table[] = {PM_LFT_KEEP, 0, PM_LFT_KEEP, 36, 254};
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);
	struct pm_lfts *back;

	pm_lfts_write_plain(0x10, 1, "a'b", table, sizeof(table), file);
	pm_lfts_write_plain(0x11, 2, "", table, 0, file);
	assert_int_equal(fclose(file), 0);
	back = parse(text);
	assert_int_equal(back->num_switches, 2);
	assert_int_equal(back->num_owned, 0);
	assert_int_equal(back->switches[0].guid, 0x10);
	assert_int_equal(back->switches[0].lid, 1);
	assert_string_equal(back->switches[0].name, "a'b");
	for (uint32_t i = 0; i < sizeof(table); i++)
		assert_int_equal(back->switches[0].table[i], table[i]);
	pm_lfts_free(back);
	free(text);
}

/* Of a name, 200 bytes are written. */
static void test_long_names(void **state)
{
	static const unsigned int lengths[] = {1, 199, 200, 201, 1000};

	for (size_t i = 0; i < LENGTH(lengths); i++) {
		struct recipe recipe = {0};
		struct pm_fabric *fabric;
		struct pm_lfts *lfts;
		char *text = NULL, name[1001] = "", quoted[210];
		size_t length = 0;
		FILE *file = open_memstream(&text, &length);

		memset(name, 'n', lengths[i]);
		snprintf(quoted, sizeof(quoted), "'%.200s'", name);
		recipe_add_node(&recipe, PM_SWITCH, 0x10, 2, 0, "a");
		fabric = recipe_build(&recipe, NULL);
		assert_int_equal(pm_fabric_rename(fabric, 0, 0x10, name, NULL), 0);
		lfts = parse("Unicast lids [0-1] of switch Lid 1 guid 0x10 ('a'):\n"
			     "0x0001 000 # Switch portguid 0x10: 'a'\n1 lids dumped\n");
		free(lfts->switches[0].name);
		lfts->switches[0].name = strdup(name);
		pm_lfts_write(lfts, fabric, file);
		assert_int_equal(fclose(file), 0);
		assert_non_null(strstr(text, quoted));
		assert_non_null(strstr(strstr(text, quoted) + 1, quoted));
		free(text);
		pm_lfts_free(lfts);
		pm_fabric_free(fabric);
		recipe_free(&recipe);
	}
}

/* LIDs of the fabric stay, and differences are counted. */
static void test_give_lids(void **state)
{
	struct pm_fabric *fabric = recipe_draw("a/2 b/2 a:1=x b:1=y a:2=b:2");
	uint32_t x = world_port(fabric, "x", 1), y = world_port(fabric, "y", 1);
	struct pm_lft_lids lids;
	struct pm_lfts *lfts;
	char text[512];

	snprintf(text, sizeof(text),
		 HEAD "0x0004 001 # portguid 0x%llx: 'x'\n0x0005 001 # portguid 0x%llx: "
		      "'y'\n0x0006 001 # portguid 0xdead: 'z'\n6 lids dumped\n",
		 (unsigned long long)fabric->ports[x].guid,
		 (unsigned long long)fabric->ports[y].guid);
	lfts = parse(text);
	fabric->ports[y].lid = 9;
	assert_int_equal(pm_lfts_give_lids(lfts, fabric, &lids, NULL), 0);
	assert_int_equal(fabric->ports[x].lid, 4);
	assert_int_equal(fabric->ports[y].lid, 9);
	assert_int_equal(lids.given, 1);
	assert_int_equal(lids.differ, 1);
	assert_int_equal(lids.first_differ, y);
	assert_int_equal(lids.unknown, 1);
	assert_int_equal(lids.first_unknown, 6);
	pm_lfts_free(lfts);
	/* The highest LID that there is. */
	snprintf(text, sizeof(text),
		 HEAD "0xbfff 001 # portguid 0x%llx: 'x'\n49151 lids dumped\n",
		 (unsigned long long)fabric->ports[x].guid);
	lfts = parse(text);
	fabric->ports[x].lid = 0;
	assert_int_equal(pm_lfts_give_lids(lfts, fabric, &lids, NULL), 0);
	assert_int_equal(fabric->ports[x].lid, PM_MAX_LID);
	assert_int_equal(lids.given, 1);
	pm_lfts_free(lfts);
	pm_fabric_free(fabric);
}

/* Of dump_fts: LIDs up to `top`; OpenSM's numbers of a range are decimal. */
#define FTS_TABLE(guid, top, entries)                                                    \
	"Unicast lids [0x0-" top "] of switch DR path guid 0x" guid " (s):\n" entries    \
	"3 lids dumped \n"

static const struct {
	const char *name, *text;
	uint16_t left_out;
} cuts[] = {
	{"top 64", FTS_TABLE("10", "0x40", "0x0001 001\n"), 64},
	{"top 128, all of -a", FTS_TABLE("10", "0x80", "0x007f 255\n"), 128},
	{"top 63", FTS_TABLE("10", "0x3f", "0x0001 001\n"), 0},
	{"top 65", FTS_TABLE("10", "0x41", "0x0001 001\n"), 0},
	{"top 0", FTS_TABLE("10", "0x0", ""), 0},
	{"top of no LID", FTS_TABLE("10", "0xc000", "0x0001 001\n"), 0},
	{"OpenSM's",
	 "Unicast lids [0-64] of switch Lid 2 guid 0x10 ('s'):\n64 lids dumped\n", 0},
	{"with the entry", FTS_TABLE("10", "0x40", "0x0040 001\n"), 0},
	{"with an empty entry", FTS_TABLE("10", "0x40", "0x0040 255\n"), 0},
	{"in two tables", FTS_TABLE("10", "0x40", "") FTS_TABLE("11", "0x40", ""), 64},
	{"another has the entry",
	 FTS_TABLE("10", "0x40", "") FTS_TABLE("11", "0x41", "0x0040 001\n"), 0},
	{"a table that ends below",
	 FTS_TABLE("10", "0x40", "") FTS_TABLE("11", "0x20", "0x0001 001\n"), 64},
};

static void test_left_out(void **state)
{
	for_each_row(row, cuts) {
		struct pm_lfts *lfts = parse(row->text);

		if (pm_lfts_left_out(lfts) != row->left_out)
			fail_msg("%s: %u", row->name, pm_lfts_left_out(lfts));
		pm_lfts_free(lfts);
	}
}

/* The LID goes to the only port without one, and to no port if there are two. */
static void test_left_out_port(void **state)
{
	struct pm_lfts *lfts = parse(FTS_TABLE("10", "0x40", "0x0001 001\n"));

	for (unsigned int without = 0; without <= 2; without++) {
		struct pm_fabric *fabric = recipe_draw("a/2 b/2 a:1=x b:1=y a:2=b:2");
		uint32_t x = world_port(fabric, "x", 1), y = world_port(fabric, "y", 1);
		struct pm_lft_lids lids;

		fabric->ports[world_port(fabric, "a", 0)].lid = 1;
		fabric->ports[world_port(fabric, "b", 0)].lid = 2;
		fabric->ports[x].lid = without < 2 ? 3 : 0;
		fabric->ports[y].lid = without ? 0 : 64;
		assert_int_equal(pm_lfts_give_lids(lfts, fabric, &lids, NULL), 0);
		assert_int_equal(lids.left_out, without < 2 ? y : PM_NONE);
		assert_int_equal(lids.given, without == 1);
		assert_int_equal(fabric->ports[y].lid, without < 2 ? 64 : 0);
		/* With LMC the port's second LID is above the tables' end. */
		fabric->ports[y].lmc = 1;
		assert_int_equal(pm_lfts_give_lids(lfts, fabric, &lids, NULL), 0);
		assert_int_equal(lids.left_out, PM_NONE);
		pm_fabric_free(fabric);
	}
	pm_lfts_free(lfts);
}

/* A LID that one side leaves out is neither gone nor new, and has no other entry. */
static void test_compare_left_out(void **state)
{
	static const char *const sides[] = {
		FTS_TABLE("10", "0x40", "0x0001 001 : (portguid 0xa:)\n"),
		FTS_TABLE("10", "0x41",
			  "0x0001 001 : (portguid 0xa:)\n0x0040 002 : (portguid 0xb:)\n"),
	};

	for (int i = 0; i < 2; i++) {
		struct pm_lfts *before = parse(sides[i]), *after = parse(sides[!i]);
		struct pm_lft_diff diff = pm_lfts_compare(before, after, false);
		struct pm_lft_reassigned *moves;
		uint32_t num_moves;

		assert_int_equal(diff.entries + diff.blocks + diff.switches, 0);
		assert_int_equal(diff.lids_gone + diff.lids_new + diff.lids_other_owner,
				 0);
		assert_int_equal(
			pm_lfts_find_reassigned(before, after, &moves, &num_moves, NULL),
			0);
		assert_int_equal(num_moves, 0);
		free(moves);
		pm_lfts_free(before);
		pm_lfts_free(after);
	}
}

#define TABLE(guid, entries)                                                             \
	"Unicast lids [0-200] of switch Lid 1 guid 0x" guid " ('s'):\n" entries          \
	"200 lids dumped\n"

static void test_compare(void **state)
{
	struct pm_lfts *before = parse(
		TABLE("10", "0x0001 001 # portguid 0xa:\n0x0002 002 # portguid 0xb:\n"
			    "0x0040 003 # portguid 0xc:\n0x0080 004\n")
			TABLE("11", "0x0001 001\n") TABLE("12", "0x0001 001\n"));
	struct pm_lfts *after = parse(
		TABLE("10", "0x0001 002 # portguid 0xa:\n0x0002 003 # portguid 0xc:\n"
			    "0x0041 003 # portguid 0xd:\n0x0080 004\n")
			TABLE("12", "0x0001 001\n")
				TABLE("13", "0x0001 001\n0x0090 001\n"));
	struct pm_lft_diff diff = pm_lfts_compare(before, after, false);
	struct pm_lft_reassigned *moves;
	uint32_t num_moves;

	/* LIDs 1 and 2 in block 0, 0x40 gone and 0x41 new in block 1. */
	assert_int_equal(diff.entries, 4);
	assert_int_equal(diff.blocks, 2);
	assert_int_equal(diff.least, 1);
	assert_int_equal(diff.switches, 1);
	assert_int_equal(diff.switches_gone, 1);
	assert_int_equal(diff.switches_new, 1);
	assert_int_equal(diff.whole, 2);
	assert_int_equal(diff.lids_other_owner, 1);
	assert_int_equal(diff.lids_gone, 1);
	assert_int_equal(diff.lids_new, 1);
	assert_int_equal(pm_lfts_compare(before, after, true).entries, 3);
	assert_int_equal(pm_lfts_find_reassigned(before, after, &moves, &num_moves, NULL),
			 0);
	assert_int_equal(num_moves, 3);
	assert_int_equal(moves[0].guid, 0xb);
	assert_int_equal(moves[0].before, 2);
	assert_int_equal(moves[0].after, 0);
	assert_int_equal(moves[1].guid, 0xc);
	assert_int_equal(moves[1].before, 0x40);
	assert_int_equal(moves[1].after, 2);
	assert_int_equal(moves[2].guid, 0xd);
	assert_int_equal(moves[2].after, 0x41);
	free(moves);
	pm_lfts_free(before);
	pm_lfts_free(after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_most_switches),
		cmocka_unit_test(test_recognise),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_give_lids),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_left_out_port),
		cmocka_unit_test(test_compare_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
