/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Incomplete texts of programs: the fabric that is read, and the notes. */
#include "unit.h"

#include <portmajor/fabric/link.h>
#include <portmajor/netlist/netlist.h>

#include <inttypes.h>

/*
 *   h[2] --- [1]a[2] --- [2]b[1] --- i
 *              [3]---------[3]
 */
#define HEAD "# Topology file: generated\n\n"
#define A_HEAD                                                                           \
	"switchguid=0xa(a)\nSwitch\t4 \"S-000000000000000a\"\t\t# \"a\" base port 0 lid 1 lmc 0\n"
#define A_H "[1]\t\"H-0000000000000010\"[2](1f) \t\t# \"h \"x\" y\" lid 7 4xEDR\n"
#define A_B                                                                              \
	"[2]\t\"S-000000000000000b\"[2]\t\t# \"b\" lid 2 4xEDR\n"                        \
	"[3]\t\"S-000000000000000b\"[3]\t\t# \"b\" lid 2 4xEDR\n"
#define B_HEAD                                                                           \
	"switchguid=0xb(b)\nSwitch\t4 \"S-000000000000000b\"\t\t# \"b\" base port 0 lid 2 lmc 0\n"
#define B_I "[1]\t\"H-0000000000000020\"[1](21) \t\t# \"i\" lid 65535 4xEDR\n"
#define B_A                                                                              \
	"[2]\t\"S-000000000000000a\"[2]\t\t# \"a\" lid 1 4xEDR\n"                        \
	"[3]\t\"S-000000000000000a\"[3]\t\t# \"a\" lid 1 4xEDR\n"
#define H_HEAD "caguid=0x10\nCa\t2 \"H-0000000000000010\"\t\t# \"h \"x\" y\"\n"
#define H_A "[2](1f) \t\"S-000000000000000a\"[1]\t\t# lid 7 lmc 0 \"a\" lid 1 4xEDR\n"
#define I_HEAD "caguid=0x20\nCa\t1 \"H-0000000000000020\"\t\t# \"i\"\n"
#define I_B "[1](21) \t\"S-000000000000000b\"[1]\t\t# lid 65535 lmc 0 \"b\" lid 2 4xEDR\n"
#define A A_HEAD A_H A_B "\n"
#define B B_HEAD B_I B_A "\n"
#define H H_HEAD H_A "\n"
#define I I_HEAD I_B

/* The same of OpenSM: each line has all of both ends. */
#define END_OF(kind, ports, node, port, name, lid, number)                               \
	"{ " kind " Ports:" ports                                                        \
	" SystemGUID:00000000000000ff NodeGUID:00000000000000" node                      \
	" PortGUID:00000000000000" port " VenID:0002C9 DevID:0001 Rev:000000A1 {" name   \
	"} LID:" lid " PN:" number " } "
#define LST_A(number) END_OF("SW", "04", "0a", "0a", "a", "0001", number)
#define LST_B(number) END_OF("SW", "04", "0b", "0b", "b", "0002", number)
#define LST_H END_OF("CA", "02", "10", "1f", "h \"x\" y", "0007", "02")
#define LST_I END_OF("CA-SM", "01", "20", "21", "i", "FFFF", "01")
#define LST_LINE(a, b) a b "PHY=4x LOG=ACT SPD=25\n"
#define LST_OF_A                                                                         \
	LST_LINE(LST_A("01"), LST_H)                                                     \
	LST_LINE(LST_A("02"), LST_B("02")) LST_LINE(LST_A("03"), LST_B("03"))
#define LST_OF_B                                                                         \
	LST_LINE(LST_B("01"), LST_I)                                                     \
	LST_LINE(LST_B("02"), LST_A("02")) LST_LINE(LST_B("03"), LST_A("03"))
#define LST_OF_H LST_LINE(LST_H, LST_A("01"))
#define LST_OF_I LST_LINE(LST_I, LST_B("01"))

/* The same as ibnetdiscover -p has it: by port, without GUIDs of nodes. */
#define AT(kind, lid, port, guid) kind " " lid " " port " 0x00000000000000" guid
#define ROW(own, other, name, other_name)                                                \
	own " 4x EDR - " other " ( '" name "' - '" other_name "' )\n"
#define P_A(port) AT("SW", "    1", " " port, "0a")
#define P_B(port) AT("SW", "    2", " " port, "0b")
#define P_H AT("CA", "    7", " 2", "1f")
#define P_I AT("CA", "65535", " 1", "21")
#define NO_ROW(own, name) own " 4x EDR                                    '" name "'\n"
#define P_OF_A                                                                           \
	NO_ROW(P_A("4"), "a")                                                            \
	ROW(P_A("3"), P_B("3"), "a", "b")                                                \
	ROW(P_A("2"), P_B("2"), "a", "b") ROW(P_A("1"), P_H, "a", "h 'x' y")
#define P_OF_B                                                                           \
	NO_ROW(P_B("4"), "b")                                                            \
	ROW(P_B("3"), P_A("3"), "b", "a")                                                \
	ROW(P_B("2"), P_A("2"), "b", "a") ROW(P_B("1"), P_I, "b", "i")
#define P_OF_H ROW(P_H, P_A("1"), "h 'x' y", "a")
#define P_OF_I ROW(P_I, P_B("1"), "i", "b")

/* As iblinkinfo -l has it: what has one port alone is an end node. */
#define L_STATE "==( 4X       25.78125 Gbps Active/  LinkUp)==>  "
#define L_DOWN "==(                Down/ Polling)==>             [  ] \"\" ( )\n"
#define L_OWN(guid, name, at)                                                            \
	"0x00000000000000" guid " \"                          " name "\" " at "[  ] "
#define L_PEER(guid, name, at)                                                           \
	"0x00000000000000" guid " " at "[ 3] \"" name "\" (Could be 12X )\n"
#define L_OWN_OF(...) L_OWN(__VA_ARGS__)
#define L_PEER_OF(...) L_PEER(__VA_ARGS__)
#define L_A(port) "0a", "a", "     1    " port
#define L_B(port) "0b", "b", "     2    " port
#define L_H "1f", "h \"x\" y", "     7    2"
#define L_I "21", "i", " 65535    1"
#define L_OF_A                                                                           \
	L_OWN_OF(L_A("1"))                                                               \
	L_STATE L_PEER_OF(L_H) L_OWN_OF(L_A("2")) L_STATE L_PEER_OF(L_B("2"))            \
		L_OWN_OF(L_A("3")) L_STATE                                               \
		L_PEER_OF(L_B("3")) L_OWN_OF(L_A("4")) L_DOWN
#define L_OF_B                                                                           \
	L_OWN_OF(L_B("1"))                                                               \
	L_STATE L_PEER_OF(L_I) L_OWN_OF(L_B("2")) L_STATE L_PEER_OF(L_A("2"))            \
		L_OWN_OF(L_B("3")) L_STATE                                               \
		L_PEER_OF(L_A("3")) L_OWN_OF(L_B("4")) L_DOWN
#define L_OF_H L_OWN_OF(L_H) L_STATE L_PEER_OF(L_A("1"))
#define L_OF_I L_OWN_OF(L_I) L_STATE L_PEER_OF(L_B("1"))

/* As iblinkinfo has it: peers by LID. */
#define G_ROW(own, other, name)                                                          \
	"      " own "[  ] " L_STATE "  " other "[  ] \"" name "\" ( )\n"
#define G_A(port) "     1    " port
#define G_B(port) "     2    " port
#define G_H "     7    2"
#define G_I " 65535    1"
#define G_OF_A                                                                           \
	"Switch: 0x000000000000000a a:\n" G_ROW(G_A("1"), G_H, "h \"x\" y")              \
		G_ROW(G_A("2"), G_B("2"), "b") G_ROW(G_A("3"), G_B("3"), "b")            \
			G_A("4") "[  ] " L_DOWN
#define G_OF_B                                                                           \
	"Switch: 0x000000000000000b b:\n" G_ROW(G_B("1"), G_I, "i")                      \
		G_ROW(G_B("2"), G_A("2"), "a") G_ROW(G_B("3"), G_A("3"), "a")            \
			G_B("4") "[  ] " L_DOWN
#define G_OF_H "CA: h \"x\" y:\n" G_ROW("0x000000000000001f " G_H, G_A("1"), "a")
#define G_OF_I "CA: i:\n" G_ROW("0x0000000000000021 " G_I, G_B("1"), "b")

/* As ibdiagnet2.net_dump has it: a table for each switch, ports by their labels. */
#define T_COLUMNS                                                                        \
	"  #     : IB# : Sta  : PhysSta : MTU : LWA : LSA : FEC mode : Retran : "        \
	"Neighbor Guid : N# : NLID : Neighbor Description\n"
#define T_HEAD(name, guid, lid)                                                          \
	"\n\"" name "\", Mellanox, 0x00000000000000" guid ", LID " lid "\n" T_COLUMNS
#define T_ROW(label, port, guid, peer_label, lid, name)                                  \
	"  " label " : " port "   : ACT  : LINK UP : 5   : 4x  : 25  : NO-FEC   : "      \
	"NO-RTR : 0x" guid " : " peer_label " : " lid " : \"" name "\"\n"
#define T_OF_A                                                                           \
	T_HEAD("a", "0a", "1")                                                           \
	T_ROW("1/1/1", "1", "1f", "2", "7", "h mlx4_0")                                  \
	T_ROW("1/1/2", "2", "b", "1/2/1", "2", "b: \"x\"")                               \
	T_ROW("1/2/1", "3", "b", "1/2/2", "2", "b: \"x\"")                               \
	"  1/2/2 : 4   : DOWN : POLLING : N/A : N/A : N/A : N/A : N/A : N/A\n"
#define T_OF_B                                                                           \
	T_HEAD("b: \"x\"", "0b", "2")                                                    \
	T_ROW("1/1/1", "1", "21", "HCA/1/1/1", "65535", "i mlx5_0")                      \
	T_ROW("1/2/1", "2", "a", "1/1/2", "1", "a")                                      \
	T_ROW("1/2/2", "3", "a", "1/2/1", "1", "a")                                      \
	"  1/2/3 : 4   : INI  : LINK UP : 5   : 4x  : 100 : NO-FEC   : NO-RTR :  :  :  : \n"
#define IBDIAGNET                                                                        \
	"# This database file was automatically generated by IBDIAG\n"                   \
	"# Running version   : \"IBDIAGNET 2.10.0\"\n\n"
#define BY_TABLE "a1-1f.1f(7) a2-b: \"x\"2 a3-b: \"x\"3 b: \"x\"1-21.21(0) "

/* As iblinkinfo --switches-only -l has it. */
#define S_OF(own, port, ...) L_OWN_OF(own(port)) L_STATE L_PEER_OF(__VA_ARGS__)
#define S_H "1f", "h HCA-2", "     7    2"
#define SWITCHES_ONLY                                                                    \
	S_OF(L_A, "1", S_H)                                                              \
	S_OF(L_A, "2", L_B("2"))                                                         \
	S_OF(L_A, "3", L_B("3"))                                                         \
	S_OF(L_B, "1", L_I) S_OF(L_B, "2", L_A("2")) S_OF(L_B, "3", L_A("3"))

#define L_PEER_2 "1f", "h HCA-2", "     7    1"
#define T_OF_A_HOST T_ROW("1/1/1", "1", "1f", "2", "7", "h mlx4_0")
#define T_OF_B_HOST                                                                      \
	T_HEAD("b", "0b", "2") T_ROW("1/1/1", "1", "21", "HCA/1/1/1", "65535", "i mlx5_0")

static const char tables[] = IBDIAGNET T_OF_A T_OF_B;
static const char ports[] = P_OF_A P_OF_B P_OF_H P_OF_I;
static const char lines[] = L_OF_A L_OF_B L_OF_H L_OF_I;
static const char groups[] = G_OF_A G_OF_B G_OF_H G_OF_I;
static const char net[] = HEAD A B H I;
static const char lst[] = LST_OF_A LST_OF_B LST_OF_H LST_OF_I;

/* ---- A fabric in one line ---- */

static const struct pm_port *peer_of(const struct pm_fabric *f,
				     const struct pm_port *port)
{
	return port->peer == PM_NONE ? NULL : &f->ports[port->peer];
}

static void print_end(FILE *out, const struct pm_fabric *f, const struct pm_port *port)
{
	const struct pm_node *node = &f->nodes[port->node];

	if (node->type == PM_SWITCH)
		fprintf(out, "%s%u", pm_fabric_name(f, port->node), port->num);
	else
		fprintf(out, "%" PRIx64 ".%" PRIx64 "(%u)", node->guid, port->guid,
			port->lid);
}

/* "a1-10.1f(7) a2-b2": switches' ports by name, end ports by GUIDs with their LIDs. */
static void describe(const struct pm_fabric *f, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");

	assert_non_null(out);
	for (uint32_t i = 0; i < f->num_ports; i++) {
		const struct pm_port *peer = peer_of(f, &f->ports[i]);

		if (!peer || peer < &f->ports[i])
			continue;
		print_end(out, f, &f->ports[i]);
		fputc('-', out);
		print_end(out, f, peer);
		fputc(' ', out);
	}
	fputc('\0', out);
	fclose(out);
}

#define WHOLE "a1-10.1f(7) a2-b2 a3-b3 b1-20.21(0) "
#define BY_PORT "a1-1f.1f(7) a2-b2 a3-b3 b1-21.21(0) "

/* ---- Rows ---- */

static const struct {
	const char *name, *text;
	const char *links;	 /* NULL: refused, for the first message */
	const char *messages[3]; /* at most: all notes */
} rows[] = {
	{"whole", net, WHOLE, {0}},
	{"no record of a host",
	 HEAD A B I,
	 WHOLE,
	 {"t:5: end nodes without a record: 1, taken from their switches' lines, such as "
	  "\"H-0000000000000010\""}},
	{"no record of any host",
	 HEAD A B,
	 WHOLE,
	 {"t:5: end nodes without a record: 2, taken from their switches' lines"}},
	{"no record of a switch",
	 HEAD A H I,
	 "a1-10.1f(7) ",
	 {"t:6: 3 ports lead to \"S-000000000000000b\", which has no record, such as "
	  "port 2 of \"S-000000000000000a\": left out"}},
	{"a host's line without its GUID",
	 HEAD A_HEAD "[1]\t\"H-0000000000000010\"[2] \t\t# \"h\" lid 7 4xEDR\n" A_B
		     "\n" B I,
	 "a2-b2 a3-b3 b1-20.21(0) ",
	 {"t:5: 1 port leads to \"H-0000000000000010\", which has no record, such as "
	  "port 1 of \"S-000000000000000a\": left out"}},
	{"no record of what is no node of ibnetdiscover's",
	 HEAD A_HEAD A_B "[1]\t\"H-10\"[2](1f)\n\n" B I,
	 "a2-b2 a3-b3 b1-20.21(0) ",
	 {"t:7: 1 port leads to \"H-10\""}},
	{"no record of a node with two cables",
	 HEAD A_HEAD A_H A_B
	 "\n" B_HEAD B_A B_I
	 "[4]\t\"H-0000000000000010\"[1](1e) \t\t# \"h\" lid 8 4xEDR\n\n" I,
	 WHOLE "b4-10.1e(8) ",
	 {"t:5: end nodes without a record: 1,"}},
	{"no record of a node with two cables at a port",
	 HEAD A_HEAD A_H A_B
	 "\n" B_HEAD B_A B_I
	 "[4]\t\"H-0000000000000010\"[2](1e) \t\t# \"h\" lid 8 4xEDR\n\n" I,
	 NULL,
	 {"t:14: port 4 of \"S-000000000000000b\": on line 5 port 2 of its peer "
	  "\"H-0000000000000010\" is linked to port 1 of \"S-000000000000000a\""}},
	{"no record of a router",
	 HEAD A_HEAD A_B
	 "[1]\t\"R-0000000000000010\"[1](1f) \t\t# \"r\" lid 9 4xEDR\n\n" B I,
	 "a1-10.1f(9) a2-b2 a3-b3 b1-20.21(0) ",
	 {"t:7: end nodes without a record: 1,"}},
	{"a host's record without lines",
	 HEAD A B H_HEAD "\n" I,
	 WHOLE,
	 {"t:5: cables of end nodes that one end lists: 1, taken from there, such as "
	  "port 1 of \"S-000000000000000a\" leads to port 2 of \"H-0000000000000010\""}},
	{"a switch without a host's line",
	 HEAD A_HEAD A_B "\n" B H I,
	 WHOLE,
	 {"t:16: cables of end nodes that one end lists: 1, taken from there, such as "
	  "port 2 of \"H-0000000000000010\" leads to port 1 of \"S-000000000000000a\""}},
	{"a switch without a switch's lines",
	 HEAD A B_HEAD B_I "\n" H I,
	 "a1-10.1f(7) b1-20.21(0) ",
	 {"t:6: port 2 of \"S-000000000000000a\" leads to port 2 of "
	  "\"S-000000000000000b\", which does not list it: left out",
	  "t:7: port 3 of",
	  "t:10: 2 parts without a cable between them, with 1 and 1 hosts"}},
	{"a switch's port that is not there",
	 HEAD A_HEAD "[9]\t\"S-000000000000000b\"[2]\n\n" B,
	 NULL,
	 {"t:5: \"S-000000000000000a\" has ports 1 to 4, not 9"}},
	{"a peer's port that is not there",
	 HEAD A_HEAD "[2]\t\"S-000000000000000b\"[9]\n\n" B,
	 NULL,
	 {"t:5: port 2 of \"S-000000000000000a\": its peer \"S-000000000000000b\" has "
	  "ports 1 to 4, not 9"}},
	{"a switch alone",
	 HEAD A_HEAD,
	 "",
	 {"t:4: nodes without a cable: 1, such as \"S-000000000000000a\""}},
	{"a switch without a cable, and others",
	 HEAD A_HEAD "\n" B_HEAD B_I "\n" I,
	 "b1-20.21(0) ",
	 {"t:4: nodes without a cable: 1, such as \"S-000000000000000a\""}},
	{"no switch at all", HEAD H I, NULL, {"t:9: no switch in the netlist"}},
	{"no node at all", HEAD, NULL, {"t:2: no nodes in the netlist"}},
	{"cut in a port's line",
	 HEAD A B H I_HEAD "[1](21) \t\"S-000000000000000b\"[1]\t\t# lid 6553",
	 WHOLE,
	 {"t:21: the file ends in the middle of this line, which is left out",
	  "t:11: cables of end nodes that one end lists: 1, taken from there"}},
	{"cut behind a port's line",
	 HEAD A B H I_HEAD I_B "\n\nvendid=0x8f1",
	 WHOLE,
	 {0}},
	{"cut in its speed",
	 HEAD A B H I_HEAD
	 "[1](21) \t\"S-000000000000000b\"[1]\t\t# lid 65535 lmc 0 \"b\" lid 2 4x",
	 WHOLE,
	 {0}},
	{"cut in a GUID's line",
	 HEAD A B H "caguid=0x2",
	 WHOLE,
	 {"t:19: the file ends in the middle of this line, which is left out",
	  "t:11: end nodes without a record: 1,"}},
	{"cut behind a header",
	 HEAD A B H I_HEAD,
	 WHOLE,
	 {"t:11: cables of end nodes that one end lists: 1,"}},
	{"cut in a header",
	 HEAD A B H "caguid=0x20\nCa\t1 \"H-0000000000000020\"\t\t# \"i\"",
	 WHOLE,
	 {"t:20: the file ends in the middle of this line, which is left out",
	  "t:11: end nodes without a record: 1,"}},
	{"opensm-subnet.lst", lst, WHOLE, {0}},
	{"opensm-subnet.lst: no host",
	 LST_OF_A LST_OF_B LST_OF_I,
	 WHOLE,
	 {"t:1: end nodes without a record: 1, taken from their switches' lines, such as "
	  "\"0000000000000010\""}},
	{"opensm-subnet.lst: no switch",
	 LST_OF_A LST_OF_H LST_OF_I,
	 "a1-10.1f(7) ",
	 {"t:2: 3 ports lead to \"000000000000000b\", which has no record"}},
	{"opensm-subnet.lst: no switch and not its host",
	 LST_OF_A LST_OF_H,
	 "a1-10.1f(7) ",
	 {"t:2: 2 ports lead to \"000000000000000b\", which has no record"}},
	{"opensm-subnet.lst: one end alone",
	 LST_OF_B LST_OF_I LST_LINE(LST_A("01"), LST_H) LST_OF_H,
	 "a1-10.1f(7) b1-20.21(0) ",
	 {"t:2: port 2 of \"000000000000000b\" leads to port 2 of \"000000000000000a\", "
	  "which does not list it: left out",
	  "t:3: port 3 of \"000000000000000b\"", "t:5: 2 parts without a cable"}},
	{"opensm-subnet.lst: cut",
	 LST_OF_A LST_OF_B LST_OF_H LST_I "{ SW Por",
	 WHOLE,
	 {"t:8: the file ends in the middle of this line, which is left out",
	  "t:4: end nodes without a record: 1,"}},
	{"ibnetdiscover -p", ports, BY_PORT, {0}},
	{"ibnetdiscover -p: no host",
	 P_OF_A P_OF_B P_OF_I,
	 BY_PORT,
	 {"t:4: end nodes without a record: 1, taken from their switches' lines, such as "
	  "\"0x000000000000001f\""}},
	{"ibnetdiscover -p: no switch",
	 P_OF_A P_OF_H P_OF_I,
	 "a1-1f.1f(7) ",
	 {"t:2: 3 ports lead to \"0x000000000000000b\", which has no record"}},
	{"ibnetdiscover -p: cut",
	 P_OF_A P_OF_B P_OF_H P_I " 4x EDR - SW     2  1",
	 BY_PORT,
	 {"t:10: the file ends in the middle of this line, which is left out",
	  "t:8: end nodes without a record: 1,"}},
	{"iblinkinfo -l", lines, BY_PORT, {0}},
	{"iblinkinfo -l: in another order", L_OF_I L_OF_B L_OF_H L_OF_A, BY_PORT, {0}},
	{"iblinkinfo -l: no host",
	 L_OF_A L_OF_B L_OF_I,
	 "a2-b2 a3-b3 b1-21.21(0) ",
	 {"t:1: 1 port leads to \"0x000000000000001f\", which has no record, such as "
	  "port 1 of \"0x000000000000000a\": left out"}},
	{"iblinkinfo -l: a switch by one line, and its peers",
	 L_OF_A L_OF_H L_OF_I L_OWN_OF(L_B("2")) L_STATE L_PEER_OF(L_A("2")),
	 "a1-1f.1f(7) a2-b2 b1-21.21(0) ",
	 {"t:3: port 3 of \"0x000000000000000a\" leads to port 3 of "
	  "\"0x000000000000000b\", which does not list it: left out",
	  "t:6: cables of end nodes that one end lists: 1,"}},
	{"iblinkinfo -l: cut",
	 L_OF_A L_OF_B L_OF_H L_OWN_OF(L_I) L_STATE "0x000000000000000b      2",
	 "a1-1f.1f(7) a2-b2 a3-b3 ",
	 {"t:10: the file ends in the middle of this line, which is left out",
	  "t:5: 1 port leads to \"0x0000000000000021\", which has no record"}},
	{"iblinkinfo", groups, BY_PORT, {0}},
	{"iblinkinfo of an older version",
	 "Switch 0x000000000000000a a:\n" G_ROW(G_A("1"), G_H, "h") G_OF_H,
	 "a1-1f.1f(7) ",
	 {0}},
	{"iblinkinfo: LIDs are used twice",
	 G_OF_A G_OF_B G_OF_H G_OF_I
	 "CA: j:\n" G_ROW("0x0000000000000031 " G_I, G_B("4"), "b"),
	 NULL,
	 {"t:16: LID 65535 is that of 0x0000000000000021 on line 14, too: ports differ here "
	  "by their LIDs alone, take ibnetdiscover or iblinkinfo -l"}},
	{"iblinkinfo: no host",
	 G_OF_A G_OF_B G_OF_I,
	 "a2-b2 a3-b3 b1-21.21(0) ",
	 {"t:2: 1 port leads to \"7\", which has no record"}},
	{"iblinkinfo --switches-only -l",
	 SWITCHES_ONLY,
	 BY_PORT,
	 {"t:1: end nodes without a record: 2, taken from their switches' lines, such as "
	  "\"0x000000000000001f\""}},
	{"iblinkinfo --switches-only -l: no switch",
	 S_OF(L_A, "1", S_H) S_OF(L_A, "2", L_B("2")) S_OF(L_A, "3", L_B("3")),
	 "",
	 {"t:2: 2 ports lead to \"0x000000000000000b\", which has no record",
	  "t:1: 1 port leads to \"0x000000000000001f\", which has no record"}},
	{"iblinkinfo --switches-only -l: two ports with one GUID",
	 SWITCHES_ONLY S_OF(L_B, "4", L_PEER_2),
	 "a2-b2 a3-b3 b1-21.21(0) ",
	 {"t:1: 2 ports lead to \"0x000000000000001f\", which has no record, such as "
	  "port 1 of \"0x000000000000000a\": left out",
	  "t:4: end nodes without a record: 1"}},
	{"iblinkinfo --switches-only",
	 G_OF_A G_OF_B,
	 "a2-b2 a3-b3 ",
	 {"t:1: only switches have lines here, without the GUIDs of their hosts: take "
	  "iblinkinfo with -l, or without --switches-only",
	  "t:7: 1 port leads to \"65535\", which has no record",
	  "t:2: 1 port leads to \"7\", which has no record"}},
	{"iblinkinfo -l: Active without a peer",
	 SWITCHES_ONLY L_OWN_OF(L_B("4")) "==( 4X 25.78125 Gbps Active/  LinkUp)==>"
					  "             [  ] \"\" ( )\n",
	 BY_PORT,
	 {"t:7: ports that are Active, while no peer answered: 1, such as port 4 of "
	  "\"b\"; their cables are missing here",
	  "t:1: end nodes without a record: 2"}},
	{"ibdiagnet2.net_dump",
	 tables,
	 BY_TABLE,
	 {"t:7: end nodes without a record: 2, taken from their switches' lines, such as "
	  "\"1f\""}},
	{"ibdiagnet2.net_dump: no switch",
	 T_OF_A,
	 "",
	 {"t:4: 1 port leads to \"1f\", which has no record",
	  "t:5: 2 ports lead to \"b\", which has no record"}},
	{"ibdiagnet2.net_dump: a label that the peer's table lacks",
	 T_HEAD("a", "0a", "1") T_ROW("1/1/9", "9", "b", "1/9/9", "2", "b")
		 T_OF_A_HOST T_OF_B_HOST,
	 "a1-1f.1f(7) b1-21.21(0) ",
	 {"t:4: port 9 of \"a\" leads to port \"1/9/9\" of 0xb, whose table does not have "
	  "it: left out",
	  "t:5: end nodes without a record: 2", "t:9: 2 parts without a cable"}},
	{"ibdiagnet2.net_dump: Active without a peer",
	 T_OF_A T_OF_B
	 "  1/2/4 : 5   : ACT  : LINK UP : 5   : 4x  : 100 : x : NO-RTR :  :  :  :\n",
	 BY_TABLE,
	 {"t:15: ports that are Active, while no peer answered: 1, such as port 5 of \"b: ",
	  "t:4: end nodes without a record: 2"}},
	{"a shell's and tools' lines",
	 "[root@sm ~]# ibnetdiscover 2>&1 | tee f\n" HEAD A B_HEAD
	 "ibwarn: [6931] mad_rpc: _do_madrpc failed\n" B_I
	 "src/query_smp.c:199; umad (DR path slid 0) bad status 110; timed out\n" B_A
	 "\n" H "-W- lid 2\n" I "ibnetdiscover: iberror: failed\n$ ls\nsm:~ # ls\n"
	 "root@sm:~# ",
	 WHOLE,
	 {"t:1: lines of a shell or of a tool's messages, which are ignored: 8, such as "
	  "\"[root@sm ~]# ibnetdiscover 2>&1 | tee f\""}},
	{"a message between rows",
	 P_OF_A "ibwarn: x\n" P_OF_B P_OF_H P_OF_I "-E- y\n",
	 BY_PORT,
	 {"t:5: lines of a shell or of a tool's messages, which are ignored: 2"}},
	{"a message before opensm-subnet.lst",
	 "root@sm:/var/log# cat x\n" LST_OF_A LST_OF_B LST_OF_H LST_OF_I,
	 WHOLE,
	 {"t:1: lines of a shell"}},
	{"a defect in a row is not a message",
	 P_OF_A "warn: SW\n",
	 NULL,
	 {"t:5: no SW, CA or RT before"}},
	/* A text that a person wrote has to be right. */
	{"ibsim: no record", A "\n" B, NULL, {"unknown peer \"H-0000000000000010\""}},
	{"ibsim: one end alone",
	 "Switch 2 \"s\"\n[1]\"h\"\n\nCa 1 \"h\"\n",
	 NULL,
	 {"t:2: port 1 of \"s\": its peer \"h\" does not list port 1"}},
	{"ibsim: cut",
	 "Switch 2 \"s\"\n[1]\"h",
	 NULL,
	 {"t:2: unterminated quote before \"h\"; the file ends in the middle of this "
	  "line"}},
};

static void check_messages(const char *name, const char *const *wanted, size_t room,
			   const struct pm_netlist_notes *notes)
{
	uint32_t count = 0;

	for (; count < room && wanted[count]; count++) {
		if (count >= notes->count)
			fail_msg("%s: no note \"%s\"", name, wanted[count]);
		if (strncmp(notes->first[count].text, wanted[count],
			    strlen(wanted[count])) != 0)
			fail_msg("%s: \"%s\"", name, notes->first[count].text);
	}
	if (notes->count != count)
		fail_msg("%s: also \"%s\"", name, notes->first[count].text);
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_netlist_notes notes = {.count = 77};
		struct pm_fabric *f = NULL;
		struct pm_error err = {""};
		char links[300];
		int rc = pm_netlist_parse_noting(rows[i].text, strlen(rows[i].text), "t",
						 &f, &notes, &err);

		if (!rows[i].links) {
			assert_int_equal(rc, -EINVAL);
			assert_int_equal(notes.count, 77);
			if (!strstr(err.text, rows[i].messages[0]))
				fail_msg("%s: \"%s\"", rows[i].name, err.text);
			continue;
		}
		if (rc)
			fail_msg("%s: %s", rows[i].name, err.text);
		describe(f, links, sizeof(links));
		if (strcmp(links, rows[i].links) != 0)
			fail_msg("%s: %s", rows[i].name, links);
		check_messages(rows[i].name, rows[i].messages, LENGTH(rows[i].messages),
			       &notes);
		pm_fabric_free(f);
	}
}

/* Descriptions have quotes of their own; ports without a cable are unknown. */
static void test_node(void **state)
{
	static const char *const texts[] = {HEAD A B I, LST_OF_A LST_OF_B LST_OF_I};
	static const unsigned int num_ports[] = {2, 2};

	for (size_t i = 0; i < LENGTH(texts); i++) {
		struct pm_fabric *f = NULL;
		uint32_t node;

		assert_int_equal(
			pm_netlist_parse(texts[i], strlen(texts[i]), "t", &f, NULL), 0);
		node = pm_fabric_find_guid(f, 0x10);
		assert_int_not_equal(node, PM_NONE);
		assert_string_equal(pm_fabric_name(f, node), "h \"x\" y");
		assert_int_equal(f->nodes[node].type, PM_CA);
		assert_int_equal(f->nodes[node].num_ports, num_ports[i]);
		pm_fabric_free(f);
	}
}

/* What an end node is called, which has a name in both ends' lines. */
static void test_names(void **state)
{
	static const struct {
		const char *text, *name;
	} names[] = {
		{ports, "h 'x' y"},
		{P_OF_A P_OF_B P_OF_I, "h 'x' y"},
		{lines, "h \"x\" y"},
		{groups, "h \"x\" y"},
		{NO_ROW(P_A("4"), "a") P_OF_B P_OF_I ROW(P_H, P_A("1"), "", ""),
		 "0x000000000000001f"},
	};

	for (size_t i = 0; i < LENGTH(names); i++) {
		struct pm_fabric *f = NULL;
		const struct pm_node *node;

		assert_int_equal(pm_netlist_parse(names[i].text, strlen(names[i].text),
						  "t", &f, NULL),
				 0);
		node = &f->nodes[pm_fabric_find_guid(f, 0x1f)];
		assert_string_equal(f->names + node->name, names[i].name);
		node = &f->nodes[pm_fabric_find_guid(f, 0xa)];
		assert_string_equal(f->names + node->name, "a");
		assert_int_equal(node->num_ports, 4);
		assert_int_equal(f->ports[node->first_port].lid, 1);
		pm_fabric_free(f);
	}
}

/* A row of -p and one of -l with a width and a speed, and the link's code. */
static void test_speeds(void **state)
{
	static const struct {
		const char *words, *state;
		unsigned int lanes;
		enum pm_speed speed;
	} links[] = {
		{"4x SDR", " 4X           2.5 Gbps Active/  LinkUp", 4, PM_SDR},
		{"1x DDR", " 1X           5.0 Gbps Active/  LinkUp", 1, PM_DDR},
		{"4x QDR", " 4X          10.0 Gbps Initialize/  LinkUp", 4, PM_QDR},
		{"4x FDR10", " 4X  10.0 Gbps (FDR10) Active/  LinkUp", 4, PM_FDR10},
		{"4x FDR", " 4X       14.0625 Gbps Active/  LinkUp", 4, PM_FDR},
		{"12x EDR", "12X      25.78125 Gbps Active/  LinkUp", 12, PM_EDR},
		{"2x HDR", " 2X        53.125 Gbps Active/  LinkUp", 2, PM_HDR},
		{"4x NDR", " 4X        106.25 Gbps Active/  LinkUp", 4, PM_NDR},
		{"4x XDR", " 4X         212.5 Gbps Active/  LinkUp", 4, PM_XDR},
		{"4x ???", " 4X         999.9 Gbps Active/  LinkUp", 4, PM_SPEED_UNKNOWN},
		{"?? SDR", " ??           2.5 Gbps Active/  LinkUp", 0, PM_SDR},
	};

	for (size_t i = 0; i < LENGTH(links); i++) {
		char text[2][1000];

		snprintf(text[0], sizeof(text[0]),
			 NO_ROW(P_A("4"), "a")
				 P_A("1") " %s - " P_H " ( 'a' - 'h' )\n" P_H
					  " %s - " P_A("1") " ( 'h' - 'a' )\n",
			 links[i].words, links[i].words);
		snprintf(text[1], sizeof(text[1]),
			 L_OWN_OF(L_A("4"))
				 L_DOWN L_OWN_OF(L_A("1")) "==(%s)==> " L_PEER_OF(L_H)
					 L_OWN_OF(L_H) "==(%s)==> " L_PEER_OF(L_A("1")),
			 links[i].state, links[i].state);
		for (size_t k = 0; k < LENGTH(text); k++) {
			struct pm_fabric *f = NULL;
			struct pm_error err = {""};

			if (pm_netlist_parse(text[k], strlen(text[k]), "t", &f, &err))
				fail_msg("%s: %s", links[i].words, err.text);
			if (f->ports[f->nodes[0].first_port + 1].link !=
			    pm_link_code(links[i].lanes, links[i].speed))
				fail_msg("%s in text %zu", links[i].words, k);
			pm_fabric_free(f);
		}
	}
}

/* The first ones are kept, and all are counted. */
static void test_many(void **state)
{
	struct pm_netlist_notes notes;
	struct pm_fabric *f = NULL;
	char text[2000] = HEAD "Switch\t20 \"S-000000000000000a\"\n";

	for (size_t i = 1; i <= 9; i++) {
		size_t length = strlen(text);

		snprintf(text + length, sizeof(text) - length,
			 "[%zu] \"S-%016zx\"[1] # \"x\" lid 1 4xEDR\n", i, 0x90 + i);
	}
	assert_int_equal(
		pm_netlist_parse_noting(text, strlen(text), "t", &f, &notes, NULL), 0);
	assert_int_equal(notes.count, 9);
	for (size_t i = 0; i < PM_NETLIST_NOTES; i++)
		assert_non_null(strstr(notes.first[i].text, "1 port leads to"));
	pm_fabric_free(f);
}

/* ---- Cut at each byte ---- */

/* The rest has no cable and no LID that the whole has not. */
static void check_part(const char *part, const char *whole, size_t at)
{
	char words[300], *rest = words, *word;

	snprintf(words, sizeof(words), "%s", part);
	while ((word = strsep(&rest, " ")))
		if (!strstr(whole, word))
			fail_msg("cut at %zu: %s", at, word);
}

static uint32_t try_cuts(const char *text, const char *whole)
{
	uint32_t read = 0;

	for (size_t at = 0; text[at]; at++) {
		struct pm_netlist_notes notes = {0};
		struct pm_fabric *f = NULL;
		struct pm_error err = {""};
		char links[300];
		int rc = pm_netlist_parse_noting(text, at, "t", &f, &notes, &err);

		if (rc) {
			assert_int_equal(rc, -EINVAL);
			continue;
		}
		describe(f, links, sizeof(links));
		check_part(links, whole, at);
		if (strcmp(links, whole) != 0 && !notes.count)
			fail_msg("cut at %zu: %s, and no note", at, links);
		pm_fabric_free(f);
		read++;
	}
	return read;
}

static void test_cuts(void **state)
{
	assert_in_range(try_cuts(net, WHOLE), 500, sizeof(net));
	assert_in_range(try_cuts(lst, WHOLE), 1000, sizeof(lst));
	assert_in_range(try_cuts(ports, BY_PORT), 500, sizeof(ports));
	assert_in_range(try_cuts(lines, BY_PORT), 500, sizeof(lines));
	assert_in_range(try_cuts(groups, BY_PORT), 500, sizeof(groups));
	assert_in_range(try_cuts(tables, BY_TABLE), 500, sizeof(tables));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),  cmocka_unit_test(test_node),
		cmocka_unit_test(test_names), cmocka_unit_test(test_speeds),
		cmocka_unit_test(test_many),  cmocka_unit_test(test_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
