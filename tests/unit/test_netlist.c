/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "unit.h"

#include <portmajor/fabric/link.h>
#include <portmajor/netlist/netlist.h>

#include <inttypes.h>
#include <unistd.h>

static int parse(const char *text, struct pm_fabric **fabric, struct pm_error *err)
{
	return pm_netlist_parse(text, strlen(text), "t", fabric, err);
}

static struct pm_fabric *must_parse(const char *text)
{
	struct pm_fabric *fabric = NULL;
	struct pm_error err = {""};

	if (parse(text, &fabric, &err))
		fail_msg("%s\n%s", err.text, text);
	assert_non_null(fabric);
	assert_true(fabric->sealed);
	return fabric;
}

/* A text is rejected with a message, part of which is given; line 0: on any line. */
static void assert_rejected(const char *name, const char *text, uint32_t line,
			    const char *message)
{
	struct pm_fabric *untouched = (struct pm_fabric *)&name, *fabric = untouched;
	struct pm_error err = {""};
	char start[32] = "t:";

	if (line)
		snprintf(start, sizeof(start), "t:%" PRIu32 ": ", line);
	if (parse(text, &fabric, &err) != -EINVAL)
		fail_msg("%s: accepted", name);
	assert_ptr_equal(fabric, untouched);
	if (strncmp(err.text, start, strlen(start)) || !strstr(err.text, message))
		fail_msg("%s: \"%s\"", name, err.text);
}

static uint32_t node_named(const struct pm_fabric *fabric, const char *name)
{
	uint32_t node = pm_fabric_find_name(fabric, name);

	if (node == PM_NONE)
		fail_msg("no node is named \"%s\"", name);
	return node;
}

static const struct pm_port *port_of(const struct pm_fabric *fabric, const char *name,
				     unsigned int num)
{
	const struct pm_node *node = &fabric->nodes[node_named(fabric, name)];

	assert_in_range(num, 0, node->num_ports);
	return &fabric->ports[node->first_port + num];
}

static void assert_linked(const struct pm_fabric *fabric, const char *a,
			  unsigned int port_a, const char *b, unsigned int port_b)
{
	const struct pm_port *x = port_of(fabric, a, port_a);
	const struct pm_port *y = port_of(fabric, b, port_b);

	assert_int_equal(x->peer, y - fabric->ports);
	assert_int_equal(y->peer, x - fabric->ports);
}

static uint32_t count_links(const struct pm_fabric *fabric)
{
	uint32_t ends = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		ends += fabric->ports[i].peer != PM_NONE;
	return ends / 2;
}

/*
 *   a --- s1 === s2 --- c
 *         |
 *         r
 */
static const char small_net[] = "# two switches\n"
				"Switch\t8 \"s1\"\n"
				"[1]\t\"a\"[1]\n"
				"[2]\t\"r\"\n"
				"# inside the record\n"
				"[7]\t\"s2\"[2]\t# lid 4 4xQDR\n"
				"[8]\t\"s2\"[1]\n"
				"\n"
				"Switch 3 \"s2\"\n"
				"[1]\t\"s1\"[8]\n"
				"[2]\t\"s1\"[7] w=2 s=4\n"
				"[3]\t\"c\"[2]\n"
				"Hca 2 \"a\"\n"
				"[1]\t\"s1\"\n"
				"\n"
				"Ca\t2 \"c\"\n"
				"[2]\t\"s2\"[3]\n"
				"\n"
				"Rt 2 \"r\"\n"
				"[1]\t\"s1\"[2]\n";

/* The text above with another end of line. */
static struct pm_fabric *parse_small(const char *line_end)
{
	char text[2 * sizeof(small_net)], *to = text;

	for (const char *at = small_net; *at; at++) {
		if (*at == '\n')
			to = stpcpy(to, line_end);
		else
			*to++ = *at;
	}
	*to = '\0';
	return must_parse(text);
}

static void check_small(const struct pm_fabric *fabric)
{
	assert_int_equal(fabric->num_nodes, 5);
	assert_int_equal(fabric->num_switches, 2);
	assert_int_equal(count_links(fabric), 5);
	assert_linked(fabric, "s1", 1, "a", 1);
	assert_linked(fabric, "s1", 2, "r", 1);
	assert_linked(fabric, "s1", 7, "s2", 2);
	assert_linked(fabric, "s1", 8, "s2", 1);
	assert_linked(fabric, "s2", 3, "c", 2);
	assert_int_equal(fabric->nodes[node_named(fabric, "a")].type, PM_CA);
	assert_int_equal(fabric->nodes[node_named(fabric, "r")].type, PM_ROUTER);
	assert_int_equal(fabric->nodes[node_named(fabric, "s2")].type, PM_SWITCH);
	assert_int_equal(fabric->nodes[node_named(fabric, "s2")].num_ports, 3);
}

static void test_small(void **state)
{
	static const char *const ends[] = {"\n", "\r\n", " \n", "\t\r\n"};

	for (size_t i = 0; i < LENGTH(ends); i++) {
		struct pm_fabric *fabric = parse_small(ends[i]);

		check_small(fabric);
		pm_fabric_free(fabric);
	}
}

static void test_no_final_newline(void **state)
{
	struct pm_fabric *fabric = NULL;

	assert_int_equal(
		pm_netlist_parse(small_net, strlen(small_net) - 1, "t", &fabric, NULL),
		0);
	check_small(fabric);
	pm_fabric_free(fabric);
}

/* What the dump command of ibsim's console shows for small_net. */
static void test_guids(void **state)
{
	struct pm_fabric *f = must_parse(small_net);

	assert_int_equal(port_of(f, "s1", 0)->guid, 0x200000);
	assert_int_equal(port_of(f, "s1", 8)->guid, 0x200000);
	assert_int_equal(port_of(f, "s2", 0)->guid, 0x200001);
	assert_int_equal(f->nodes[node_named(f, "a")].guid, 0x100000);
	assert_int_equal(port_of(f, "a", 1)->guid, 0x100001);
	assert_int_equal(port_of(f, "a", 2)->guid, 0x100002);
	assert_int_equal(f->nodes[node_named(f, "c")].guid, 0x100003);
	assert_int_equal(port_of(f, "c", 2)->guid, 0x100005);
	assert_int_equal(f->nodes[node_named(f, "r")].guid, 0);
	assert_int_equal(port_of(f, "r", 1)->guid, 1);
	pm_fabric_free(f);
}

static void test_guid_lines(void **state)
{
	static const char text[] = "vendid=0x2\n"
				   "switchguid=0x300(300)\n"
				   "Switch 8 \"s1\"\n\n"
				   "switchguids+5\n"
				   "Switch 4 \"s2\"\n\n"
				   "Switch 4 \"s3\"\n\n"
				   "hcaguids+0x10\n"
				   "Hca 2 \"a\"\n\n"
				   "caguid=0x70\n"
				   "Ca 3 \"b\"\n\n"
				   "Ca 3 \"c\"\n\n"
				   "rtguid=0500\n"
				   "Rt 1 \"r\"\n";
	static const struct {
		const char *name;
		uint64_t guid;
	} rows[] = {
		{"s1", 0x300}, {"s2", 0x305}, {"s3", 0x306}, {"a", 0x100010},
		{"b", 0x70},   {"c", 0x74},   {"r", 0500},
	};
	struct pm_fabric *f = must_parse(text);

	for (size_t i = 0; i < LENGTH(rows); i++)
		assert_int_equal(f->nodes[node_named(f, rows[i].name)].guid,
				 rows[i].guid);
	assert_int_equal(port_of(f, "b", 3)->guid, 0x73);
	pm_fabric_free(f);
}

static const char ibnetdiscover_net[] =
	"#\n"
	"# Topology file: generated on Tue Jun  5 14:15:10 2007\n"
	"#\n"
	"# Initiated from node 0008f10403960558 port 0008f10403960559\n"
	"\n"
	"Non-Chassis Nodes\n"
	"\n"
	"vendid=0x8f1\n"
	"devid=0x5a06\n"
	"sysimgguid=0x5442ba00003000\n"
	"switchguid=0x5442ba00003080(5442ba00003080)\n"
	"Switch\t24 \"S-005442ba00003080\"\t# \"ISR9024 #2\" base port 0 lid 6 lmc 0\n"
	"[22][ext 5]\t\"H-0008f10403961354\"[1](8f10403961355) "
	"\t\t# \"MT \" lid 4 4xSDR\n"
	"[10]\t\"S-0008f10400410015\"[1][ext 2]\t\t# \"sw \"x\" y\" lid 3 4xSDR\n"
	"\n"
	"vendid=0x8f1\n"
	"switchguid=0x8f10400410015(8f10400410015)\n"
	"Switch\t8 \"S-0008f10400410015\"\t# \"sw \"x\" y\" enhanced port 0 lid 3 lmc 1\n"
	"[1]\t\"S-005442ba00003080\"[10]\t\t# \"ISR9024 #2\" lid 6 1xSDR\n"
	"[2]\t\"R-0008f10400440000\"[2](8f10400440002)\t# \"\" lid 9 1xSDR\n"
	"\n"
	"caguid=0x8f10403961354\n"
	"Ca\t2 \"H-0008f10403961354\"\t\t# \"MT23108 InfiniHost\"\n"
	"[1](8f10403961399) \t\"S-005442ba00003080\"[22]"
	"\t\t# lid 4 lmc 2 \"ISR\" lid 6 4xSDR\n"
	"\n"
	"rtguid=0x8f10400440000\n"
	"Rt\t2 \"R-0008f10400440000\"\t\t# \"\"\n"
	"[2](8f10400440002) \t\"S-0008f10400410015\"[2]"
	"\t\t# lid 9 lmc 0 \"sw\" lid 3 4xSDR\n";

static void test_ibnetdiscover(void **state)
{
	struct pm_fabric *f = must_parse(ibnetdiscover_net);

	assert_int_equal(f->num_nodes, 4);
	assert_int_equal(count_links(f), 3);
	assert_linked(f, "ISR9024 #2", 22, "MT23108 InfiniHost", 1);
	assert_linked(f, "ISR9024 #2", 10, "sw \"x\" y", 1);
	assert_linked(f, "sw \"x\" y", 2, "R-0008f10400440000", 2);
	assert_int_equal(port_of(f, "ISR9024 #2", 0)->lid, 6);
	assert_int_equal(port_of(f, "ISR9024 #2", 22)->lid, 0);
	assert_int_equal(port_of(f, "sw \"x\" y", 0)->lid, 3);
	assert_int_equal(port_of(f, "sw \"x\" y", 0)->lmc, 1);
	assert_int_equal(port_of(f, "MT23108 InfiniHost", 1)->lid, 4);
	assert_int_equal(port_of(f, "MT23108 InfiniHost", 1)->lmc, 2);
	assert_int_equal(port_of(f, "MT23108 InfiniHost", 1)->guid, 0x8f10403961399);
	assert_int_equal(port_of(f, "MT23108 InfiniHost", 2)->guid, 0x8f10403961356);
	assert_int_equal(port_of(f, "R-0008f10400440000", 2)->lid, 9);
	assert_int_equal(f->nodes[node_named(f, "ISR9024 #2")].device, 0x5a06);
	/* As ibsim has it, a device ID is that of all records behind it. */
	assert_int_equal(f->nodes[node_named(f, "sw \"x\" y")].device, 0x5a06);
	pm_fabric_free(f);
}

/* Texts that are fine, and the name that their only switch gets. */
static const struct {
	const char *name;
	const char *text;
	const char *node;
} fine[] = {
	{"id only", "Switch 2 \"s\"\n", "s"},
	{"comment without quotes", "Switch 2 \"s\" # a spine lid is here\n", "s"},
	{"empty description", "Switch 2 \"s\" # \"\"\n", "s"},
	{"description", "Switch 2 \"s\"# \"d e\"\n", "d e"},
	{"description with quotes",
	 "Switch 2 \"s\" # \"Spine \"0\" x\" base port 0 lid 1 lmc 0\n", "Spine \"0\" x"},
	{"description of a quote", "Switch 2 \"s\" # \"\"\"\n", "\""},
	{"description in UTF-8", "Switch 2 \"s\" # \"\xc3\xa9\"\n", "\xc3\xa9"},
	{"hexadecimal port count", "Switch 0x2 \"s\"\n", "s"},
	{"most ports", "Switch 254 \"s\"\n", "s"},
	{"highest port", "Switch 254 \"s\"\n[253]\"s\"[254]\n[254]\"s\"[253]\n", "s"},
	{"hosts joined",
	 "Switch 1 \"s\"\n\nCa 1 \"c\"\n[1]\"d\"[1]\n\nCa 1 \"d\"\n[1]\"c\"[1]\n", "s"},
	{"unknown lines", "hello\nspeed=4\n\nSwitch 2 \"s\"\nbye\n", "s"},
	{"indented header is unknown", "Switch 2 \"s\"\n\n Switch 2 \"t\"\n", "s"},
	{"record after a full one",
	 "Switch 2 \"s\"\n[1]\"s\"[2]\n[2]\"s\"[1]\n"
	 "Ca 1 \"c\"\n",
	 "s"},
	{"largest LID", "Switch 2 \"s\" # \"\" lid 49151 lmc 7\n", "s"},
	{"spaces in brackets", "Switch 2 \"s\"\n[ 1 ] \"s\"[ 2 ]\n[2] \"s\"[1]\n", "s"},
};

static void test_fine(void **state)
{
	for (size_t i = 0; i < LENGTH(fine); i++) {
		struct pm_fabric *fabric = must_parse(fine[i].text);

		assert_int_equal(fabric->num_switches, 1);
		assert_string_equal(pm_fabric_name(fabric, 0), fine[i].node);
		pm_fabric_free(fabric);
	}
}

/* A switch's LID stands behind its description, not in it. */
static void test_lid_of_switch(void **state)
{
	static const struct {
		const char *text;
		unsigned int lid, lmc;
	} rows[] = {
		{"Switch 2 \"s\"\n", 0, 0},
		{"Switch 2 \"s\" # lid 4 lmc 1\n", 4, 1},
		{"Switch 2 \"s\" # \"a\" base port 0 lid 4 lmc 1\n", 4, 1},
		{"Switch 2 \"s\" # \"a lid 9 lmc 2\"\n", 0, 0},
		{"Switch 2 \"s\" # \"a lid 9 \"lmc 2\"\" lid 4\n", 4, 0},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_fabric *fabric = must_parse(rows[i].text);
		const struct pm_port *port = &fabric->ports[fabric->nodes[0].first_port];

		if (port->lid != rows[i].lid || port->lmc != rows[i].lmc)
			fail_msg("row %zu: LID %u, LMC %u", i, port->lid, port->lmc);
		pm_fabric_free(fabric);
	}
}

/* Two ports of a switch, one with a cable, and of a host, too. */
#define DUMP_SWITCH                                                                      \
	"# Net status - today\n\nSwitch 2 \"a\"\tnodeguid 10\tsysimgguid 10\n"           \
	"#\tlinearcap 49151 FDBtop 1 portchange 0\n#\tForwarding table 0-15: [0]FF\n"    \
	"10\t[0]\t\"Sma Port\"[0]\t lid 2 lmc 0 smlid 8  4x  2.5G Active/LinkUp\n"
#define DUMP_CABLE "10\t[1]\t\"h\"[1]\t  4x 10.0G Active/LinkUp\n"
#define DUMP_HOST                                                                        \
	"10\t[2]\t\t\t  4x 10.0G Down/Polling\n\n"                                       \
	"Ca 2 \"h\"\tnodeguid 20\tsysimgguid 20\n"                                       \
	"2b\t[1]\t\"a\"[1]\t lid 8 lmc 1 smlid 9  4x 10.0G Active/LinkUp\n"              \
	"22\t[2]\t\t\t lid 1 lmc 0 smlid 7  4x 10.0G Down/Polling\n\n"
#define DUMP_ROUTER                                                                       \
	"Router 1 \"r\"\tnodeguid 30\tsysimgguid 30\n31\t[1]\t\t lid 9 lmc 0 smlid 8\n\n" \
	"Switch 4 \"b\"\tnodeguid 11\tsysimgguid 11\n"                                    \
	"11\t[0]\t\"Sma Port\"[0]\t lid 8 lmc 0 smlid 8  4x  2.5G Active/LinkUp\n"        \
	"#  dumped 4 nodes\n"

#define P_ROW "SW 3 4 0xa 4x SDR 'a'\n"
#define L_ROW "0xa \"a\" 3 4[  ] ==()==> [  ] \"\" ( )\n"
#define S "Switch 4 \"s\"\n" /* line 1 of most bad texts */

static const struct {
	const char *name;
	uint32_t line;
	const char *message; /* part of it */
	const char *text;
} bad[] = {
	{"empty", 1, "no nodes", ""},
	{"comments only", 2, "no nodes", "# a\n# b\n"},
	{"no switch", 1, "no switch in", "Ca 1 \"c\"\n"},
	{"tables", 1, "these are tables",
	 "Unicast lids [0-1] of switch Lid 1 guid 0x1\n"},
	{"nodes alone", 1, "as ibnetdiscover -l lists them; take `ibnetdiscover > FILE`",
	 "Ca\t : 0x0000000000100005 ports 2 devid 0x0 vendid 0x0 \"h\"\n"},
	{"-p: no kind", 2, "no SW, CA or RT before", P_ROW "XX 3 5 0xa 4x SDR\n"},
	{"-p: no LID", 2, "no LID in \" x 5 0xa", P_ROW "SW x 5 0xa 4x SDR\n"},
	{"-p: LID too large", 2, "no LID in", P_ROW "SW 65536 5 0xa 4x SDR\n"},
	{"-p: port 0", 2, "no port 1 to 254 in", P_ROW "SW 3 0 0xa 4x SDR\n"},
	{"-p: port 255", 2, "no port 1 to 254 in", P_ROW "SW 3 255 0xa 4x SDR\n"},
	{"-p: no GUID", 2, "no GUID in", P_ROW "SW 3 5 a 4x SDR\n"},
	{"-p: no speed", 2, "no width and speed", P_ROW "SW 3 5 0xa 4x\n"},
	{"-p: no peer", 2, "no SW, CA or RT before", P_ROW "SW 3 5 0xa 4x SDR - \n"},
	{"-p: port twice", 2, "port 4 of \"0xa\" is given already on line 1",
	 P_ROW P_ROW},
	{"-p: control byte", 2, "byte 0x1b", P_ROW "SW\033\n"},
	{"iblinkinfo: no state", 2, "no \"==(\" in", L_ROW "0xa \"a\" 3 5[  ] x\n"},
	{"iblinkinfo: no peer", 2, "no \"==>\" in", L_ROW "0xa \"a\" 3 5[  ] ==(x\n"},
	{"iblinkinfo: no GUID", 2, "no GUID in", L_ROW "a \"a\" 3 5[  ] ==()==> x\n"},
	{"iblinkinfo: no brackets", 2, "no \"[ ]\" behind the port",
	 L_ROW "0xa \"a\" 3 5 ==()==> [  ] \"\" ( )\n"},
	{"iblinkinfo: peer's GUID", 2, "no GUID in",
	 L_ROW "0xa \"a\" 3 5[  ] ==()==> 3 1[  ] \"b\" ( )\n"},
	{"iblinkinfo: peer's brackets", 2, "no \"[ ]\" behind the port",
	 L_ROW "0xa \"a\" 3 5[  ] ==()==> 0xb 3 1 \"b\" ( )\n"},
	{"iblinkinfo: switch without a GUID", 3, "no GUID in",
	 "Switch: 0xa a:\n 3 1[ ] ==()==> [ ] \"\" ( )\nSwitch: a:\n"},
	{"UTF-8 byte-order mark", 1, "byte-order mark", "\xef\xbb\xbf" S},
	{"UTF-16 byte-order mark", 1, "byte-order mark", "\xff\xfeS"},
	{"control byte", 2, "byte 0x1b", S "\x1b[1]\n"},
	{"control byte in a comment", 2, "byte 0x0c", S "# \f\n"},
	{"delete byte", 1, "byte 0x7f", "\x7f"},
	{"no port count", 1, "no number of ports", "Switch \"s\"\n"},
	{"header word in a sentence", 1, "no number of ports", "Switches follow\n"},
	{"port count too large", 1, "too large", "Switch 99999999999999999999 \"s\"\n"},
	{"port count hex too large", 1, "too large", "Ca 0x10000000000000000 \"s\"\n"},
	{"no ports", 1, "\"s\" has 0 ports", "Switch 0 \"s\"\n"},
	{"255 ports", 1, "\"s\" has 255 ports", "Switch 255 \"s\"\n"},
	{"2^32 + 1 ports", 1, "has 4294967297 ports", "Switch 4294967297 \"s\"\n"},
	{"no id", 1, "no quoted id", "Switch 4\n"},
	{"id without quotes", 1, "no quoted id", "Switch 4 s\n"},
	{"empty id", 1, "empty node id", "Switch 4 \"\"\n"},
	{"id not closed", 1, "unterminated quote", "Switch 4 \"s\n"},
	{"description not closed", 1, "unterminated quote", "Switch 4 \"s\" # \"d\n"},
	{"id with @", 1, "aliases", "Switch 4 \"s@t\"\n"},
	{"id with #", 1, "modules", "Switch 4 \"s#t\"\n"},
	{"duplicate id", 3, "\"s\" is used already on line 1", S "\n" S},
	{"duplicate id of other type", 3, "used already", S "\nCa 1 \"s\"\n"},
	{"LID too large", 1, "lid of port 0 of \"s\"",
	 "Switch 4 \"s\" # \"\" lid 65536\n"},
	{"LMC too large", 5, "lmc of port 1 of \"c\"",
	 S "[1]\"c\"\n\nCa 1 \"c\"\n[1]\"s\" # lid 3 lmc 8 \"s\"\n"},
	{"LID overflows", 1, "lid of port 0 of \"s\"",
	 "Switch 4 \"s\" # \"\" lid 99999999999999999999\n"},
	{"GUID without sign", 3, "no '='", S "\ncaguid 0x12\n"},
	{"GUID without number", 1, "no GUID", "switchguid=x\n"},
	{"GUID too large", 1, "GUID is too large", "caguid=0x10000000000000000\n"},
	{"duplicate GUID", 4, "\"t\" has the node GUID 0x0000000000200000 of \"s\"",
	 S "\nswitchguid=0x200000\nSwitch 4 \"t\"\n"},
	{"duplicate GUID behind another one", 7,
	 "\"t\" has the node GUID 0x0000000000200000 of \"s\" on line 1",
	 S
	 "\nswitchguid=0x300000\nSwitch 4 \"u\"\n\nswitchguid=0x200000\nSwitch 4 \"t\"\n"},
	{"duplicate GUID of other type", 4, "node GUID",
	 S "\ncaguid=0x200000\nCa 1 \"t\"\n"},
	{"duplicate port GUID", 8, "\"d\" has the port GUID 0x0000000000000007 of \"c\"",
	 S "[1]\"c\"\n[2]\"d\"\n\nCa 1 \"c\"\n[1](7)\"s\"\n\n"
	   "Ca 1 \"d\"\n[1](7)\"s\"[2]\n"},
	{"module", 1, "\"module\" lines", "module = \"m\"\n"},
	{"include", 1, "\"include\" lines", "include \"file\"\n"},
	{"do", 2, "\"do\" lines", "\ndo Unlink \"s\"[1]\n"},
	{"alias port", 2, "aliases", S "@[1] \"x\"\n"},
	{"alias peer", 2, "aliases", S "[1] \"@x\"\n"},
	{"port line before a record", 1, "outside of", "[1] \"s\"\n"},
	{"port line after a blank line", 3, "outside of", S "\n[1] \"s\"\n"},
	{"port line after an attribute", 3, "outside of", S "width=4\n[1] \"s\"\n"},
	{"header that ibsim drops", 2, "no blank line", S "Switch 4 \"t\"\n"},
	{"GUID line that ibsim drops", 2, "no blank line", S "caguid=0x1\n"},
	{"port is no number", 2, "no port number", S "[x] \"s\"\n"},
	{"port not closed", 2, "no ']'", S "[1 \"s\"\n"},
	{"port 0", 2, "\"s\" has ports 1 to 4, not 0", S "[0] \"s\"\n"},
	{"port beyond the node", 2, "has ports 1 to 4, not 5", S "[5] \"s\"\n"},
	{"port overflows", 2, "too large", S "[18446744073709551616] \"s\"\n"},
	{"port 2^64 - 1", 2, "not 18446744073709551615", S "[18446744073709551615]\n"},
	{"port twice", 3, "port 1 of \"s\" is given already on line 2",
	 S "[1]\"s\"[2]\n[1]\"s\"[3]\n"},
	{"blanks before a port GUID", 2, "no port GUID", S "[1] \t(x) \"s\"\n"},
	{"port GUID is no number", 2, "no port GUID", S "[1](x) \"s\"\n"},
	{"port GUID not closed", 2, "no ')' after the GUID of port 1", S "[1](1 \"s\"\n"},
	{"port GUID overflows", 2, "port GUID is too large", S "[1](11112222333344445)"},
	{"no peer", 2, "port 1 of \"s\" has no quoted peer", S "[1]\n"},
	{"no peer but a comment", 2, "no quoted peer", S "[1] # \"s\"\n"},
	{"peer not closed", 2, "unterminated quote", S "[1] \"s\n"},
	{"empty peer", 2, "empty node id", S "[1] \"\"\n"},
	{"peer port is no number", 2, "no port number", S "[1] \"s\"[]\n"},
	{"peer port not closed", 2, "no ']'", S "[1] \"s\"[2\n"},
	{"peer port 0", 2, "peer's port 0 is not 1 to 254", S "[1] \"s\"[0]\n"},
	{"peer port 255", 2, "peer's port 255 is not", S "[1] \"s\"[255]\n"},
	{"peer port overflows", 2, "too large", S "[1] \"s\"[99999999999999999999]\n"},
	{"unknown peer", 2, "port 1 of \"s\": unknown peer \"t\"", S "[1] \"t\"[1]\n"},
	{"id that is a beginning", 2, "unknown peer \"c\"",
	 S "[1] \"c\"[1]\n\nCa 1 \"c1\"\n"},
	{"peer port beyond its node", 2, "peer \"c\" has ports 1 to 1, not 2",
	 S "[1] \"c\"[2]\n\nCa 1 \"c\"\n"},
	{"port linked to itself", 2, "port 1 of \"s\" is linked to itself",
	 S "[1] \"s\"[1]\n"},
	{"one-sided", 2, "peer \"c\" does not list port 1",
	 S "[1] \"c\"[1]\n\nCa 1 \"c\"\n"},
	{"peer lists another port", 2,
	 "on line 5 port 1 of its peer \"c\" is linked to port 2 of \"s\"",
	 S "[1] \"c\"[1]\n\nCa 1 \"c\"\n[1] \"s\"[2]\n"},
	{"peer lists another node", 2,
	 "port 1 of its peer \"c\" is linked to port 1 of \"t\"",
	 S "[1] \"c\"[1]\n\nCa 1 \"c\"\n[1] \"t\"[1]\n\nSwitch 4 \"t\"\n"
	   "[1] \"c\"[1]\n"},
	{"Dump that stops", 7, "the Dump stops before its end", DUMP_SWITCH DUMP_CABLE},
	{"Dump: port too many", 7, "the node has no port 3", DUMP_SWITCH "10\t[3]\t\n"},
	{"Dump: host's port 0", 9, "the node has no port 0",
	 DUMP_SWITCH "\nCa 1 \"h\"\tnodeguid 20\n20\t[0]\t\n"},
	{"Dump: port twice", 8, "port 1 is given already on line 7",
	 DUMP_SWITCH DUMP_CABLE DUMP_CABLE},
	{"Dump: peer's port 0", 7, "the peer's port is not 1 to 254",
	 DUMP_SWITCH "10\t[1]\t\"h\"[0]\n"},
	{"Dump: peer's port 255", 7, "the peer's port is not 1 to 254",
	 DUMP_SWITCH "10\t[1]\t\"h\"[255]\n"},
	{"Dump: no such peer", 7, "unknown peer \"h\"",
	 DUMP_SWITCH DUMP_CABLE "#  dumped 1 nodes\n"},
	{"two ports with one peer", 3, "is linked to port 1 of \"s\"",
	 S "[1] \"c\"[1]\n[2] \"c\"[1]\n\nCa 1 \"c\"\n[1] \"s\"[1]\n"},
};

static void test_bad(void **state)
{
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct pm_fabric *fabric;

		assert_rejected(bad[i].name, bad[i].text, bad[i].line, bad[i].message);
		/* The detail may be left out. */
		assert_int_equal(parse(bad[i].text, &fabric, NULL), -EINVAL);
	}
}

static void test_nul_byte(void **state)
{
	static const char text[] = S "\n\0\n";
	struct pm_fabric *fabric = NULL;
	struct pm_error err = {""};

	assert_int_equal(pm_netlist_parse(text, sizeof(text) - 1, "t", &fabric, &err),
			 -EINVAL);
	assert_string_equal(err.text, "t:3: not text: byte 0x00");
	assert_null(fabric);
	assert_int_equal(pm_netlist_parse(NULL, 0, "t", &fabric, &err), -EINVAL);
	assert_string_equal(err.text, "t:1: no nodes in the netlist");
}

/* Neither a long source nor a long id pushes the message out of the error. */
static void test_long_names(void **state)
{
	char source[2000], text[6000];
	struct pm_fabric *fabric = NULL;
	struct pm_error err = {""};

	memset(source, 'x', sizeof(source) - 1);
	source[sizeof(source) - 1] = '\0';
	snprintf(text, sizeof(text), "Switch 4 \"%s\"\n[3]\"%s\"[2]\n", source, source);
	assert_int_equal(pm_netlist_parse(text, strlen(text), source, &fabric, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "xx:2: port 3 of \"xx"));
	assert_non_null(strstr(err.text, "does not list port 2"));
	snprintf(text, sizeof(text), "Switch 4 \"%s\"\n", source);
	assert_int_equal(pm_netlist_parse(text, strlen(text), source, &fabric, &err), 0);
	assert_string_equal(pm_fabric_name(fabric, 0), source);
	pm_fabric_free(fabric);
}

/* How many of a character follow each other, the first time that it is there. */
static size_t count_run(const char *text, char c)
{
	const char *at = strchr(text, c);

	return at ? strspn(at, (char[]){c, '\0'}) : 0;
}

/* The last 200 bytes of a source are shown, and the first 64 of an id. */
static void test_shown(void **state)
{
	static const size_t lengths[] = {1, 63, 64, 65, 199, 200, 201, 999};

	for (size_t i = 0; i < LENGTH(lengths); i++) {
		size_t length = lengths[i];
		char source[1000] = "", id[1000] = "", text[1100];
		struct pm_fabric *fabric = NULL;
		struct pm_error err = {""};

		memset(source, '~', length);
		memset(id, '+', length);
		snprintf(text, sizeof(text), "Switch 4 \"%s\"\n[9]\n", id);
		assert_int_equal(
			pm_netlist_parse(text, strlen(text), source, &fabric, &err),
			-EINVAL);
		assert_int_equal(count_run(err.text, '~'), length < 200 ? length : 200);
		assert_int_equal(count_run(err.text, '+'), length < 64 ? length : 64);
		assert_non_null(strstr(err.text, "~:2: \"+"));
		assert_non_null(strstr(err.text, "+\" has ports 1 to 4, not 9"));
	}
}

/* Two hosts may have a cable between them. */
static void test_hosts_alone(void **state)
{
	struct pm_fabric *f = must_parse("Switch 2 \"s\"\n[1]\"a\"\n\n"
					 "Ca 2 \"a\"\n[1]\"s\"\n[2]\"b\"[1]\n\n"
					 "Ca 1 \"b\"\n[1]\"a\"[2]\n");

	assert_int_equal(count_links(f), 2);
	assert_linked(f, "s", 1, "a", 1);
	assert_linked(f, "a", 2, "b", 1);
	assert_int_equal(port_of(f, "s", 1)->host, PM_COMPUTE);
	assert_int_equal(port_of(f, "a", 2)->host, 0);
	assert_int_equal(port_of(f, "b", 1)->host, 0);
	pm_fabric_free(f);
}

/* What has no cable has no LID, though the simulator knows one. */
static void test_dump(void **state)
{
	struct pm_fabric *f = must_parse(DUMP_SWITCH DUMP_CABLE DUMP_HOST DUMP_ROUTER);

	assert_int_equal(f->num_switches, 2);
	assert_int_equal(f->num_nodes, 4);
	assert_int_equal(f->nodes[node_named(f, "a")].guid, 0x10);
	assert_int_equal(f->nodes[node_named(f, "r")].type, PM_ROUTER);
	assert_int_equal(port_of(f, "a", 0)->lid, 2);
	assert_int_equal(port_of(f, "a", 0)->lmc, 0);
	assert_int_equal(port_of(f, "b", 0)->lid, 0);
	assert_int_equal(port_of(f, "r", 1)->lid, 0);
	assert_int_equal(port_of(f, "h", 2)->lid, 0);
	assert_int_equal(port_of(f, "h", 1)->lid, 8);
	assert_int_equal(port_of(f, "h", 1)->lmc, 1);
	assert_int_equal(port_of(f, "h", 1)->guid, 0x2b);
	assert_int_equal(port_of(f, "a", 2)->peer, PM_NONE);
	assert_linked(f, "a", 1, "h", 1);
	pm_fabric_free(f);
}

/* ---- opensm-subnet.lst ---- */

/* An end of a cable; of the first one OpenSM writes vendor and device with fewer digits.
 */
#define LST_END_OF(kind, guid, port_guid, vendor_device, name, lid, port)                \
	"{ " kind " SystemGUID:00000000000000ff NodeGUID:" guid " PortGUID:" port_guid   \
	" " vendor_device " Rev:000000A1 {" name "} LID:" lid " PN:" port " } "
#define LST_END(kind, guid, port_guid, name, lid, port)                                  \
	LST_END_OF(kind, guid, port_guid, "VenID:0002C9 DevID:CF08", name, lid, port)
#define LST_END_2(kind, guid, port_guid, name, lid, port)                                \
	LST_END_OF(kind, guid, port_guid, "VenID:000002C9 DevID:CF080000", name, lid,    \
		   port)
#define LST_S                                                                            \
	"SW Ports:24", "000000000020000a", "000000000020000a", "s {1} } LID x", "0002"
#define LST_T "SW Ports:0C", "000000000020000b", "000000000020000b", "t", "000C"
#define LST_H "CA-SM Ports:02", "0000000000100000", "0000000000100002", "h", "0101"
#define LST_R "Rt Ports:01", "0000000000300000", "0000000000300001", "", "0009"
#define LST_OF(...) LST_END(__VA_ARGS__)
#define LST_OF_2(...) LST_END_2(__VA_ARGS__)
#define LST_LINE(a, port_a, b, port_b, rest)                                             \
	LST_OF(a, port_a) LST_OF_2(b, port_b) rest "\n"

static const char subnet_lst[] = "\n" LST_LINE(LST_H, "02", LST_S, "0A",
					       "PHY=4x LOG=ACT SPD=14")
	LST_LINE(LST_S, "0A", LST_H, "02", "PHY=4x LOG=ACT SPD=14")
		LST_LINE(LST_S, "24", LST_T, "0C", "PHY=1x LOG=INI SPD=2.5") LST_LINE(
			LST_T, "0C", LST_S, "24", "PHY=1x LOG=INI SPD=2.5")
			LST_LINE(LST_T, "01", LST_R, "01", "PHY=?? LOG=ACT SPD=??")
				LST_LINE(LST_R, "01", LST_T, "01", "");

static void test_subnet_lst(void **state)
{
	struct pm_fabric *f = must_parse(subnet_lst);

	assert_int_equal(f->num_nodes, 4);
	assert_int_equal(f->num_switches, 2);
	assert_int_equal(count_links(f), 3);
	assert_linked(f, "s {1} } LID x", 10, "h", 2);
	assert_linked(f, "s {1} } LID x", 36, "t", 12);
	assert_linked(f, "t", 1, "0000000000300000", 1);
	assert_int_equal(f->nodes[node_named(f, "t")].num_ports, 12);
	assert_int_equal(f->nodes[node_named(f, "t")].guid, 0x20000b);
	for (uint32_t n = 0; n < f->num_nodes; n++)
		assert_int_equal(f->nodes[n].device, 0xcf08);
	assert_int_equal(f->nodes[node_named(f, "0000000000300000")].type, PM_ROUTER);
	assert_int_equal(port_of(f, "t", 0)->lid, 12);
	assert_int_equal(port_of(f, "t", 0)->guid, 0x20000b);
	assert_int_equal(port_of(f, "t", 12)->lid, 0);
	assert_int_equal(port_of(f, "h", 2)->lid, 0x101);
	assert_int_equal(port_of(f, "h", 2)->guid, 0x100002);
	assert_int_equal(port_of(f, "h", 1)->lid, 0);
	assert_int_equal(port_of(f, "h", 2)->link, pm_link_code(4, PM_FDR));
	assert_int_equal(port_of(f, "t", 12)->link, pm_link_code(1, PM_SDR));
	assert_int_equal(port_of(f, "t", 1)->link, 0);
	pm_fabric_free(f);
}

/* A host's line in the text of a format, with its LID to be filled in. */
static const struct {
	const char *name, *text;
} lid_texts[] = {
	{"record", S "[1]\"h\"[2]\n\nCa 2 \"h\"\n[2]\"s\"[1] # lid %u lmc 0 \"s\"\n"},
	{"opensm-subnet.lst",
	 LST_LINE(LST_S, "0A", LST_H, "02", "")
		 LST_END("CA Ports:02", "0000000000100000", "0000000000100002", "h",
			 "%04X", "02") LST_OF_2(LST_S, "0A") "\n"},
	{"Dump", DUMP_SWITCH "10\t[1]\t\"h\"[2]\t  4x 10.0G Active/LinkUp\n\n"
			     "Ca 2 \"h\"\tnodeguid 20\tsysimgguid 20\n"
			     "22\t[2]\t\"a\"[1]\t lid %u lmc 0 smlid 65535\n\n"
			     "#  dumped 2 nodes\n"},
};

/* What is above the last unicast LID is none. */
static void test_no_lids(void **state)
{
	static const struct {
		unsigned int said, lid;
	} rows[] = {{0xbfff, 0xbfff}, {0xc000, 0}, {0xfffe, 0}, {0xffff, 0}};

	for (size_t i = 0; i < LENGTH(lid_texts); i++)
		for (size_t k = 0; k < LENGTH(rows); k++) {
			struct pm_fabric *f;
			char text[1000];

			snprintf(text, sizeof(text), lid_texts[i].text, rows[k].said);
			f = must_parse(text);
			if (port_of(f, "h", 2)->lid != rows[k].lid)
				fail_msg("%s: %u is %u", lid_texts[i].name, rows[k].said,
					 port_of(f, "h", 2)->lid);
			pm_fabric_free(f);
		}
}

/* What is put in the place of what makes a bad file of one line of the good one. */
static void test_bad_subnet_lst(void **state)
{
	static const struct {
		const char *from, *to, *message;
	} rows[] = {
		{"} { ", "} ", "t:1: no switch, host or router in \" } SW "},
		{"{ CA-SM", "{ **", "t:1: no switch, host or router in"},
		{"Ports:02", "Ports:FF",
		 "t:1: no number up to 0xfe in \"Ports:FF System"},
		{"Ports:02", "", "t:1: no \"Ports:\" before \"SystemGUID:"},
		{"NodeGUID:", "", "t:1: no \"NodeGUID:\" before \"0000000000100000 "},
		{"NodeGUID:0000000000100000", "NodeGUID:",
		 "t:1: no number up to 0xffffffffffffffff in \"NodeGUID: Port"},
		{"PN:02", "PN:03", "t:1: port 3 of \"h\" is not one of 2"},
		{"PN:02", "PN:00", "t:1: port 0 of \"h\" is not one of 2"},
		{"LID:0101", "LID:10000",
		 "t:1: no number up to 0xffff in \"LID:10000 PN:02"},
		{" PN:02", "", "t:1: no \"PN:\" before \"} { SW"},
		{"{h}", "{h\033}", "t:1: not text: byte 0x1b"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		static const char good[] = LST_LINE(LST_H, "02", LST_S, "0A", "");
		const char *at = strstr(good, rows[i].from);
		char text[1000];

		assert_non_null(at);
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good,
			 rows[i].to, at + strlen(rows[i].from));
		assert_rejected(rows[i].from, text, 0, rows[i].message);
	}
}

/* Both ends of each cable, once each, and the lines of a node behind each other. */
static void test_contradicting_subnet_lst(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{LST_LINE(LST_H, "02", LST_S, "0A", "")
			 LST_LINE(LST_H, "02", LST_S, "0A", ""),
		 "t:2: port 2 of \"h\" is given already on line 1"},
		{LST_LINE(LST_H, "02", LST_S, "0A", "")
			 LST_LINE(LST_S, "0B", LST_H, "02", ""),
		 "is linked to port 10 of \"000000000020000a\""},
		{LST_LINE(LST_S, "01", LST_S, "02", "")
			 LST_LINE(LST_H, "01", LST_H, "02", "")
				 LST_LINE(LST_S, "02", LST_S, "01", ""),
		 "is used already on line 1"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		assert_rejected(rows[i].message, rows[i].text, 0, rows[i].message);
}

/* ibsim counts GUIDs from a base, which ibnetdiscover's text has not. */
static void test_formats(void **state)
{
	static const char relative[] = "switchguid+0x5\nSwitch 2 \"s\"\n";
	static const struct {
		const char *name, *before;
		int rc;
	} rows[] = {
		{"ibsim", "", 0},
		{"a comment", "# Topology\n\n", 0},
		{"ibnetdiscover", "#\n# Topology file: generated on Tue\n#\n\n", -EINVAL},
		{"a terminal's recording",
		 "=~=~= log of today =~=~=\n# ibnetdiscover\n# Topology file: x\n\n",
		 -EINVAL},
		{"a comment that comes late", "vendid=0x2\n# Topology file: x\n", 0},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_fabric *f = NULL;
		struct pm_error err = {""};
		char text[200];

		snprintf(text, sizeof(text), "%s%s", rows[i].before, relative);
		if (parse(text, &f, &err) != rows[i].rc)
			fail_msg("%s: %s", rows[i].name, err.text);
		if (!rows[i].rc)
			assert_int_equal(f->nodes[0].guid, 0x200005);
		else
			assert_string_equal(err.text, "t:5: no '=' before the GUID");
		pm_fabric_free(f);
	}
}

/* count - 1 CAs and one switch, without cables */
static int parse_many(uint32_t count, struct pm_fabric **fabric, struct pm_error *err)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	int rc;

	assert_non_null(file);
	fputs("Switch 1 \"s\"\n\n", file);
	for (uint32_t i = 1; i < count; i++)
		fprintf(file, "Ca 1 \"c%" PRIu32 "\"\n\n", i);
	fclose(file);
	rc = pm_netlist_parse(text, size, "t", fabric, err);
	free(text);
	return rc;
}

static void test_node_limit(void **state)
{
	struct pm_fabric *fabric = NULL;
	struct pm_error err = {""};

	assert_int_equal(parse_many(PM_MAX_NODES, &fabric, &err), 0);
	assert_int_equal(fabric->num_nodes, PM_MAX_NODES);
	pm_fabric_free(fabric);
	fabric = NULL;
	assert_int_equal(parse_many(PM_MAX_NODES + 1, &fabric, &err), -EINVAL);
	assert_string_equal(err.text, "t:131073: node \"c65536\": more than 65536 nodes");
	assert_null(fabric);
}

static void test_too_long(void **state)
{
	struct pm_fabric *fabric = NULL;
	struct pm_error err = {""};

	assert_int_equal(
		pm_netlist_parse("", PM_NETLIST_MAX_BYTES + 1, "t", &fabric, &err),
		-EFBIG);
	assert_non_null(strstr(err.text, "more than 1073741824 bytes"));
}

static void test_read(void **state)
{
	char path[] = "/tmp/test_netlist.XXXXXX";
	struct pm_fabric *fabric = NULL;
	struct pm_error err = {""};
	int fd = mkstemp(path), saved;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, small_net, strlen(small_net)), strlen(small_net));
	assert_int_equal(pm_netlist_read(path, &fabric, NULL, &err), 0);
	check_small(fabric);
	pm_fabric_free(fabric);

	saved = dup(STDIN_FILENO);
	lseek(fd, 0, SEEK_SET);
	dup2(fd, STDIN_FILENO);
	assert_int_equal(pm_netlist_read("-", &fabric, NULL, &err), 0);
	check_small(fabric);
	pm_fabric_free(fabric);
	fabric = NULL;
	assert_int_equal(pm_netlist_read("-", &fabric, NULL, &err), -EINVAL);
	assert_string_equal(err.text, "<stdin>:1: no nodes in the netlist");
	if (saved >= 0) {
		dup2(saved, STDIN_FILENO);
		close(saved);
	}
	close(fd);
	unlink(path);

	assert_int_equal(pm_netlist_read(path, &fabric, NULL, &err), -ENOENT);
	assert_non_null(strstr(err.text, ": No such file or directory"));
	assert_int_equal(pm_netlist_read("/", &fabric, NULL, &err), -EISDIR);
	assert_null(fabric);
}

/* Shuffling. */

/* A ring of switches with two CAs each: records that carry their GUIDs. */
#define RING 50

static char *ring_record(uint32_t i)
{
	uint32_t node = i / 3, next = (node + 1) % RING, last = (node + RING - 1) % RING;
	char *text = NULL;
	int length;

	if (i % 3 == 0)
		length = asprintf(&text,
				  "switchguid=0x%x\nSwitch 5 \"s%u\" # \"sw%u\"\n"
				  "[4] \"s%u\"[5]\n[1] \"c%u-1\"\n[5] \"s%u\"[4]\n"
				  "[2] \"c%u-2\"\n\n",
				  0x9000 - node, node, node % 7, next, node, last, node);
	else
		length = asprintf(&text,
				  "caguid=0x%x\nCa 2 \"c%u-%u\"\n"
				  "[1] \"s%u\"[%u]\n\n",
				  0x100 + 4 * i, node, i % 3, node, i % 3);
	assert_true(length > 0);
	return text;
}

static struct pm_fabric *parse_ring(const uint32_t *order)
{
	struct pm_fabric *fabric;
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	for (uint32_t i = 0; i < 3 * RING; i++) {
		char *record = ring_record(order[i]);

		fputs(record, file);
		free(record);
	}
	fclose(file);
	fabric = must_parse(text);
	free(text);
	return fabric;
}

static void assert_same(const struct pm_fabric *a, const struct pm_fabric *b)
{
	assert_int_equal(a->num_nodes, b->num_nodes);
	assert_int_equal(a->num_switches, b->num_switches);
	assert_int_equal(a->num_ports, b->num_ports);
	for (uint32_t i = 0; i < a->num_nodes; i++) {
		assert_int_equal(a->nodes[i].guid, b->nodes[i].guid);
		assert_int_equal(a->nodes[i].type, b->nodes[i].type);
		assert_int_equal(a->nodes[i].first_port, b->nodes[i].first_port);
		assert_int_equal(a->nodes[i].num_ports, b->nodes[i].num_ports);
		assert_string_equal(pm_fabric_name(a, i), pm_fabric_name(b, i));
	}
	for (uint32_t i = 0; i < a->num_ports; i++) {
		assert_int_equal(a->ports[i].guid, b->ports[i].guid);
		assert_int_equal(a->ports[i].node, b->ports[i].node);
		assert_int_equal(a->ports[i].peer, b->ports[i].peer);
		assert_int_equal(a->ports[i].num, b->ports[i].num);
	}
}

static void test_shuffled(void **state)
{
	unsigned int seed = 20240607;
	uint32_t order[3 * RING];
	struct pm_fabric *first;

	print_message("seed %u\n", seed);
	for (uint32_t i = 0; i < 3 * RING; i++)
		order[i] = i;
	first = parse_ring(order);
	assert_int_equal(count_links(first), 3 * RING);
	for (int round = 0; round < 20; round++) {
		struct pm_fabric *other;

		for (uint32_t i = 3 * RING - 1; i > 0; i--) {
			uint32_t j = (uint32_t)rand_r(&seed) % (i + 1);
			uint32_t swap = order[i];

			order[i] = order[j];
			order[j] = swap;
		}
		other = parse_ring(order);
		assert_same(first, other);
		pm_fabric_free(other);
	}
	pm_fabric_free(first);
}

/* ---- Widths and speeds ---- */

/* Both lines of the one cable of a text, from behind the peer, and what the link is. */
static const struct {
	const char *name;
	const char *before; /* lines */
	const char *one, *other, *link;
} link_texts[] = {
	{"nothing", "", "", "", "?"},
	{"ibnetdiscover's words", "", "# \"b\" lid 1 4xQDR", "# \"a\" lid 2 4xQDR",
	 "4xQDR"},
	{"one lane", "", "# \"\" lid 1 1xEDR", "# \"\" lid 1 1xEDR", "1xEDR"},
	{"widest", "", "# \"\" lid 1 12xFDR10", "# \"\" lid 1 12xFDR10", "12xFDR10"},
	{"2x", "", "# \"\" lid 1 2xHDR", "# \"\" lid 1 2xHDR", "2xHDR"},
	{"8x", "", "# \"\" lid 1 8xNDR", "# \"\" lid 1 8xNDR", "8xNDR"},
	{"4x FDR", "", "# \"\" lid 1 4xFDR", "# \"\" lid 1 4xFDR", "4xFDR"},
	{"4x XDR", "", "# \"\" lid 1 4xXDR", "# \"\" lid 1 4xXDR", "4xXDR"},
	{"4x SDR", "", "# \"\" lid 1 4xSDR", "# \"\" lid 1 4xSDR", "4xSDR"},
	{"4x DDR", "", "# \"\" lid 1 4xDDR", "# \"\" lid 1 4xDDR", "4xDDR"},
	{"without a description", "", "# lid 0 4xQDR", "# lid 0 4xQDR", "4xQDR"},
	{"one end alone", "", "# lid 0 4xQDR", "", "4xQDR"},
	{"the other end alone", "", "", "# lid 0 4xQDR", "4xQDR"},
	{"one end is less wide", "", "# lid 0 1xQDR", "# lid 0 4xQDR", "1xQDR"},
	{"one end is slower", "", "# lid 0 12xFDR", "# lid 0 4xEDR", "4xFDR"},
	{"nothing in common", "", "# lid 0 2xQDR", "# lid 0 4xQDR", "?xQDR"},
	{"unknown speed", "", "# lid 0 4x???", "# lid 0 4x???", "4x?"},
	{"unknown width", "", "# lid 0 ??QDR", "# lid 0 3xQDR", "?xQDR"},
	{"a description with a speed", "", "# \"lid 1 1xSDR\" lid 0 4xQDR", "", "4xQDR"},
	{"a description with quotes", "", "# \"a \"b\" lid 2 1xSDR\" lid 0 4xQDR", "",
	 "4xQDR"},
	{"in a description only", "", "# \"lid 1 1xSDR w=1 s=1\"", "", "?"},
	{"not behind a LID", "", "# 4xQDR lid x 4xQDR", "", "?"},
	{"behind other words", "", "# lid 3 lmc 0 \"b\" foo lid 7 4xEDR (x)", "",
	 "4xEDR"},
	{"options", "", " w=1 s=4", " w=1 s=4", "1xQDR"},
	{"widths in common", "", " w=3 s=7", " w=1 s=5", "1xQDR"},
	{"2x is 16", "", " w=16", " w=31", "2x?"},
	{"speeds in common", "", " w=2 s=7", " w=2 s=3", "4xDDR"},
	{"extended speeds", "", " w=2 s=7 e=15", " w=2 s=7 e=3", "4xEDR"},
	{"no extended speed", "", " w=2 s=7 e=0", " w=2 s=7 e=3", "4xQDR"},
	{"speed 0", "", " w=2 s=0", " w=2 s=0", "4xQDR"},
	{"ibnetdiscover --full", "", "# \"b\" lid 1 4xEDR s=4 w=2 e=2", "", "4xEDR"},
	{"options behind a description", "", "# \"b\" s=2 w=2", "", "4xDDR"},
	{"hexadecimal, with blanks", "", " w= 0x2 s = 4", "", "4x?"},
	{"bad options", "", " w=32 s=8 e=16 w= s=x =4 q=1", "", "?"},
	{"an option that is too large", "", " w=99999999999999999999", "", "?"},
	{"for all", "width=1\nspeed=2\n", "", "", "1xDDR"},
	{"for all, and extended", "width=2\nextspeed=2\n", "", "", "4xEDR"},
	{"for all, but not here", "width=1\nspeed=2\n", " w=2", " w=2 s=4", "4x?"},
	{"for all, but slower here", "width=2\nextspeed=8\n", " e=2", " e=2", "4xEDR"},
	{"for all, bad", "width=0\nspeed\nwidth=x\nspeed=9\n", "", "", "?"},
};

static void assert_link(const char *name, const struct pm_port *port, const char *wanted)
{
	char found[PM_LINK_TEXT];

	pm_link_print(port->link, found);
	if (strcmp(found, wanted) != 0)
		fail_msg("%s: %s instead of %s", name, found, wanted);
}

static void assert_links(const char *name, const char *text, const char *a, const char *b,
			 const char *wanted)
{
	struct pm_fabric *f = must_parse(text);

	assert_link(name, port_of(f, a, 1), wanted);
	assert_link(name, port_of(f, b, 1), wanted);
	pm_fabric_free(f);
}

static void test_links(void **state)
{
	for (size_t i = 0; i < LENGTH(link_texts); i++) {
		const char *start[] = {"", "# Topology file: generated\n#\n"};

		for (size_t k = 0; k < LENGTH(start); k++) {
			char text[1024];

			snprintf(text, sizeof(text),
				 "%s%sSwitch 1 \"a\"\n[1] \"b\"[1] %s\n\n"
				 "switchguid=0x77\nSwitch 1 \"b\"\n[1] \"a\"[1]%s\n",
				 start[k], link_texts[i].before, link_texts[i].one,
				 link_texts[i].other);
			assert_links(link_texts[i].name, text, "a", "b",
				     link_texts[i].link);
		}
	}
}

/* A host's line begins its comment with LIDs of its own. */
static void test_host_links(void **state)
{
	struct pm_fabric *f = must_parse(ibnetdiscover_net);

	assert_link("switch", port_of(f, "ISR9024 #2", 22), "4xSDR");
	assert_link("host", port_of(f, "MT23108 InfiniHost", 1), "4xSDR");
	assert_link("peer's words", port_of(f, "ISR9024 #2", 10), "1xSDR");
	assert_int_equal(port_of(f, "MT23108 InfiniHost", 2)->link, 0);
	assert_int_equal(port_of(f, "ISR9024 #2", 0)->link, 0);
	pm_fabric_free(f);
}

/* Those of a Dump, by its words. */
static void test_dumped_links(void **state)
{
	static const struct {
		const char *words, *link;
	} rows[] = {
		{" 4x  2.5G", "4xSDR"}, {" 4x  5.0G", "4xDDR"},
		{" 1x 10.0G", "1xQDR"}, {" 8x  14G", "8xFDR"},
		{"12x  25G", "12xEDR"}, {" 2x 50G", "2xHDR"},
		{" 4x 100G", "4xNDR"},	{" 4x  FDR10", "4xFDR10"},
		{"? 10.0G", "?"},	{" 4x ?", "4x?"},
		{"- -", "?"},		{" 3x 10.0G", "?xQDR"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		char text[1024];

		snprintf(text, sizeof(text),
			 "Switch 1 \"a\"\tnodeguid 10\tsysimgguid 10\n"
			 "10\t[0]\t\"Sma Port\"[0]\t lid 2 lmc 0 smlid 8  4x  2.5G "
			 "Active/LinkUp\n"
			 "10\t[1]\t\"12x 25G\"[1]\t %s Active/LinkUp\n\n"
			 "Ca 1 \"12x 25G\"\tnodeguid 20\tsysimgguid 20\n"
			 "21\t[1]\t\"a\"[1]\t lid 8 lmc 1 smlid 9 %s Active/LinkUp\n\n"
			 "#  dumped 2 nodes\n",
			 rows[i].words, rows[i].words);
		assert_links(rows[i].words, text, "a", "12x 25G", rows[i].link);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_no_final_newline),
		cmocka_unit_test(test_guids),
		cmocka_unit_test(test_guid_lines),
		cmocka_unit_test(test_ibnetdiscover),
		cmocka_unit_test(test_fine),
		cmocka_unit_test(test_lid_of_switch),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_nul_byte),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_hosts_alone),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_subnet_lst),
		cmocka_unit_test(test_no_lids),
		cmocka_unit_test(test_bad_subnet_lst),
		cmocka_unit_test(test_contradicting_subnet_lst),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_host_links),
		cmocka_unit_test(test_dumped_links),
		cmocka_unit_test(test_node_limit),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_shuffled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
