/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Netlists: the text files that ibsim reads and ibnetdiscover writes, what ibsim's
 * console command Dump prints, OpenSM's opensm-subnet.lst, and the rows of ibnetdiscover
 * -p and of iblinkinfo with or without -l. What has the comment `# Topology file:` before
 * its first attribute or record is ibnetdiscover's; a Dump's first other line is that of
 * a node with its `nodeguid`; the first line of opensm-subnet.lst begins with a brace and
 * has a `SystemGUID:`; that of ibnetdiscover -p is `SW`, `CA` or `RT` with two numbers
 * and a GUID; that of iblinkinfo, or the one behind the name of a node, has a `==(`; the
 * rest is ibsim's. Lists of nodes without cables (ibnetdiscover -l) are refused.
 *
 * A record is a header line, `Switch|Ca|Hca|Rt PORTS "ID" # "DESCRIPTION" ...`,
 * and its port lines, `[PORT](GUID) "PEER-ID"[PEER-PORT] # ...`; a blank line
 * or any line that is not a port line or a comment ends it (ibsim drops that line
 * when not all ports are listed, so it must not be a header or GUID line). Only the
 * ports that have a cable are listed, and both ends list it. The peer's port is 1 when it
 * is left out. Other lines between records are ignored.
 *
 * Names: links are resolved by the quoted id. The node's name in the fabric is
 * the quoted description if there is one that is not empty, otherwise the id.
 *
 * GUIDs are those that ibsim gives: each kind of node counts from its own base
 * (CAs 0x100000, switches 0x200000, routers 0), which the lines `caguid=` or
 * `hcaguids=`, `switchguid=` and `rtguid=` set (in ibsim's text `+` instead of `=` adds
 * to the last base). A switch takes one number and an end node one more than it has
 * ports; the GUID of an end node's port is the node's GUID plus the port number.
 * A GUID in parentheses after the port number of an end node, as ibnetdiscover
 * writes it, is used in place of that; ibsim itself ignores it.
 *
 * The line `devid=` has the device ID of the records behind it, in both formats.
 *
 * LIDs: `lid` and `lmc` are read for a switch's port 0 from the header's comment
 * and for an end node's port from the start of that port's comment. In all formats, a
 * LID above 0xbfff is none: ports that are not active have 65535 and the like.
 *
 * MAC addresses: the word `mac` and an address in the comment of an end node's port give
 * it the GUID that goes with that (mac.h).
 *
 * Widths and speeds are read from behind the last quote of a port's line, where
 * ibnetdiscover writes `lid 3 4xQDR`: that is what the port can do at best, and less.
 * ibsim's options `w=`, `s=` and `e=` before or behind that say which widths, speeds and
 * extended speeds there are, in PortInfo's bits, and so do its lines `width=`, `speed=`
 * and `extspeed=` for the records behind them. A link, both of its ends, has the best
 * that both can do; if nothing is said of one end, what the other can. Words and values
 * that are not known say nothing, and where the two ends have nothing in common, that is
 * not known.
 *
 * A Dump says itself which GUIDs, LIDs, widths and speeds there are, and all ports are
 * listed. Its cables are those that there are now, and nodes' names are their ids. What
 * has no cable has no LID: the simulated port keeps one that somebody else may have by
 * now.
 *
 * opensm-subnet.lst has a line for each end of a cable with GUIDs, LIDs and what the link
 * does, the ends of one node behind each other. What has no cable is not in it; it does
 * not tell LMCs, which are 0 then.
 *
 * Rows have GUIDs of ports and not of nodes. A switch's is taken for that of its node,
 * and each end port for a node of its own, with that GUID and as many ports as its
 * number. iblinkinfo -l does not say what its nodes are: a GUID with ports of several
 * numbers is a switch's, any other one a CA's. iblinkinfo without -l has LIDs in place of
 * the peers' GUIDs, so that a LID that two ports have is an error. A switch has as many
 * ports as its highest one in the text; both programs list those without a cable, too.
 *
 * What a program wrote of a fabric may be incomplete: all of these formats but ibsim's
 * own text and its Dump, which says how it ends. Both ends of a cable list it, so:
 *
 * - an end node without a record, and a port that only the other end of its cable lists,
 *   is taken from its switch's line, which has its GUIDs, LID and name;
 * - a cable between switches that one of them does not list, a switch without a record,
 *   and a node of which the line says less, is left out: tables that do without a cable
 *   are right, those that use one which is not there are not;
 * - the last line is left out if the file ends in the middle of it.
 *
 * The notes say so. What contradicts itself is an error, and so is a text without a
 * switch.
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

/* What is missing from a text that was read nevertheless, see above. */
#define PM_NETLIST_NOTES 5

struct pm_netlist_notes {
	uint32_t count;				 /* of all of them */
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

/* The same without notes, for texts that are known to be whole. */
int pm_netlist_parse(const char *text, size_t length, const char *source,
		     struct pm_fabric **fabric, struct pm_error *err);

/*
 * The same for a file; "-" is standard input, which messages call "<stdin>".
 * Also any -errno of open(2) or read(2).
 */
int pm_netlist_read(const char *path, struct pm_fabric **fabric,
		    struct pm_netlist_notes *notes, struct pm_error *err);

#endif
