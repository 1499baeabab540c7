/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Netlists: text files with the topology of a fabric. The format is recognised by the
 * beginning of the text:
 *
 *	ibnetdiscover      comment `# Topology file:`, or ibdiagnet's, before the first
 *	                   attribute or record; also ibdiagnet2.ibnetdiscover
 *	ibsim's Dump       a node and its `nodeguid`; output of that console command
 *	opensm-subnet.lst  a brace and a `SystemGUID:`; written by OpenSM; also
 *	                   ibdiagnet2.lst
 *	net_dump           a name in quotes, a vendor, a GUID and a LID; of ibdiagnet2
 *	ibnetdiscover -p   rows: `SW`, `CA` or `RT`, two numbers and a GUID
 *	iblinkinfo         rows: `==(` in the first line, or in the line behind a name
 *	ibsim              any other text
 *
 * Lists of nodes without cables (ibnetdiscover -l) are refused.
 *
 * In the texts of ibsim and ibnetdiscover a record is a header line, `Switch|Ca|Hca|Rt
 * PORTS "ID" # "DESCRIPTION" ...`, and its port lines, `[PORT](GUID) "PEER-ID"[PEER-PORT]
 * # ...`. A blank line, or any line but a port line or a comment, ends it. (ibsim drops
 * that line when not all ports are listed, so it must not be a header or GUID line.) Only
 * ports with a cable are listed, at both ends of it. A peer's port that is left out is 1.
 * Other lines between records are ignored.
 *
 * Names: the quoted id identifies a node in links. A node's name in the fabric is the
 * quoted description or, if that is missing or empty, the id.
 *
 * GUIDs are those that ibsim assigns: each kind of node counts from its own base (CAs
 * 0x100000, switches 0x200000, routers 0). The lines `caguid=` or `hcaguids=`,
 * `switchguid=` and `rtguid=` set the base; in ibsim's text `+` instead of `=` adds to
 * the last base. A switch takes one number, and an end node one more than it has ports;
 * the GUID of an end node's port is the node's GUID plus the port number. A GUID in
 * parentheses behind the port number of an end node, as ibnetdiscover writes it, replaces
 * the port's GUID; ibsim itself ignores it. In ibnetdiscover's text the id, `S-`, `H-` or
 * `R-` and 16 digits, has the node's GUID: that behind `switchguid=` may be the chassis'.
 *
 * The line `devid=` has the device ID of the records behind it, in both formats.
 *
 * LIDs: `lid` and `lmc` of a switch's port 0 are in the header's comment, those of an end
 * node's port at the start of that port's comment. In all formats a LID above 0xbfff is
 * none: ports that are not active have 65535 and the like.
 *
 * MAC addresses: the word `mac` and an address in the comment of an end node's port give
 * the port the GUID made of the address (mac.h).
 *
 * Widths and speeds are behind the last quote of a port's line. ibnetdiscover writes the
 * port's best, `lid 3 4xQDR`. ibsim's options `w=`, `s=` and `e=` there list widths,
 * speeds and extended speeds in PortInfo's bits; so do its lines `width=`, `speed=` and
 * `extspeed=`, for the records behind them. Both ends of a link get the best that both
 * support or, if nothing is known of one end, the other end's best. Unknown words and
 * values are ignored; ends with nothing in common make an unknown link.
 *
 * A Dump lists all ports with GUIDs, LIDs, widths and speeds, and the present cables;
 * nodes' names are their ids. A port without a cable is read without a LID: the simulator
 * keeps its last LID there, which another port may have by now.
 *
 * opensm-subnet.lst has a line for each end of a cable with GUIDs, LIDs, width and speed,
 * by node. Ports without a cable, and LMCs, are missing; LMCs are read as 0.
 *
 * The rows of ibnetdiscover -p and iblinkinfo have GUIDs of ports, not of nodes. A
 * switch's port GUID is taken for its node's. Each end port becomes a node with the
 * port's GUID, and with as many ports as the port's number. iblinkinfo -l has no node
 * types: a GUID with ports of several numbers is a switch's, any other a CA's. iblinkinfo
 * without -l has LIDs in place of the peers' GUIDs, so that a LID of two ports is an
 * error. The highest port of a switch in the text is its number of ports; both programs
 * also list ports without a cable.
 *
 * net_dump has a table for each switch, and none for end nodes. Columns are found by
 * their names. A peer's port is named by its label, which the peer's table has, too.
 *
 * In iblinkinfo -l and net_dump, if only switches have rows, peers without a row are end
 * nodes, unless some cable leads to a switch without a row (a port above 2, or port 2 of
 * what is no adapter by its name): then the text is not complete, and none is taken.
 *
 * A byte-order mark of UTF-8 is skipped. Prompts of a shell and messages of tools
 * (`ibwarn:`, `-W-`, `src/query_smp.c:199;`) are ignored, with a note; so are lines of
 * ports that are Active while no peer answered.
 *
 * All formats but ibsim's two may be incomplete. Both ends of a cable list it. So
 *
 * - an end node without a record, and a port that only the other end of its cable lists,
 *   are taken from the switch's line, which has their GUIDs, LID and name;
 * - a cable between switches that only one of them lists, a switch without a record, and
 *   an end node without these data in its switch's line are left out: tables without an
 *   existing cable are right, tables over a missing one are not;
 * - the last line is left out if the file ends in the middle of it.
 *
 * Notes report all this, and parts with hosts that no cable joins. A contradiction is an
 * error, and so is a text without a switch.
 *
 * ibsim's `module`, `include`, `do` and aliases (`@`) are not supported.
 */
#ifndef PORTMAJOR_NETLIST_H
#define PORTMAJOR_NETLIST_H

#include <portmajor/base/error.h>
#include <portmajor/base/textfile.h>
#include <portmajor/fabric/fabric.h>

#include <stddef.h>

#define PM_NETLIST_MAX_BYTES PM_TEXTFILE_MAX_BYTES

/* Notes on an incomplete text, see above. */
#define PM_NETLIST_NOTES 5

struct pm_netlist_notes {
	uint32_t count;				 /* number of notes */
	struct pm_error first[PM_NETLIST_NOTES]; /* "source:LINE: what is missing" */
};

/*
 * Reads a netlist from memory. text[] needs no NUL at its end and is not kept;
 * source names it in messages. *fabric is a sealed fabric that the caller frees
 * with pm_fabric_free; it and *notes, which may be NULL, are untouched on failure.
 *
 * -EINVAL: bad content, and the message is "source:LINE: what is wrong" with the
 * node and port; -EFBIG: more than PM_NETLIST_MAX_BYTES; -ENOMEM.
 * Cost: O(length + nodes log nodes + cables log cables).
 */
int pm_netlist_parse_noting(const char *text, size_t length, const char *source,
			    struct pm_fabric **fabric, struct pm_netlist_notes *notes,
			    struct pm_error *err);

/* The same without notes, for complete texts. */
int pm_netlist_parse(const char *text, size_t length, const char *source,
		     struct pm_fabric **fabric, struct pm_error *err);

/*
 * The same for a file; "-" is standard input, "<stdin>" in messages. Also any -errno of
 * open(2) or read(2).
 */
int pm_netlist_read(const char *path, struct pm_fabric **fabric,
		    struct pm_netlist_notes *notes, struct pm_error *err);

#endif
