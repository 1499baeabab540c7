/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lines of the output of ibsim's console command Dump: the simulated fabric with its
 * cables, LIDs and tables, for the readers of topologies and of tables.
 *
 *     Switch 4 "leaf0"	nodeguid 200000	sysimgguid 200000
 *     #	linearcap 49151 FDBtop 31 portchange 0
 *     #	Forwarding table 0-15: [0]FF [1]1 [2]2 [3]0 ..
 *     200000	[0]	"Sma Port"[0]	 lid 3 lmc 0 smlid 1  4x  2.5G Active/LinkUp
 *     200000	[1]	"h0-1"[1]	  4x 10.0G Active/LinkUp
 *     200000	[2]			  4x 10.0G Down/Polling
 *     ..
 *     #  dumped 10 nodes
 */
#ifndef DUMP_H
#define DUMP_H

#include <portmajor/base/lexer.h>
#include <portmajor/fabric/fabric.h>
#include <portmajor/fabric/lft.h>

enum dump_kind {
	DUMP_OTHER,
	DUMP_NODE,    /* type, number of ports, id, guid */
	DUMP_TOP,     /* number: LinearFDBTop, at most PM_MAX_LID */
	DUMP_ENTRIES, /* rest */
	DUMP_PORT     /* number, guid, peer, rest */
};

struct dump_line {
	enum dump_kind kind;
	enum pm_node_type type;
	uint64_t guid, number;
	struct pm_text id;
	struct pm_text peer; /* id of the node at the other end; empty: no cable */
	uint64_t peer_port;
	uint64_t lid, lmc, sm_lid; /* 0: not in the line; a switch's are at port 0 */
	struct pm_text rest; /* of entries: `[0]FF [1]1 ..`; of a port: the text behind
				the peer */
};

/*
 * The LID in a field of 16 bits; 0: none. Inactive ports have 0xffff, or a value of the
 * manufacturer, above the last unicast LID.
 */
static inline uint16_t dump_lid(uint64_t value)
{
	return value <= PM_MAX_LID ? (uint16_t)value : 0;
}

/* A Dump being read. */
struct dump {
	struct pm_lexer *lexer;
	uint64_t nodes; /* nodes so far */
	bool ended;
};

/* Whether the first line that is no comment is that of a node. */
bool dump_recognise(struct pm_text text);

/*
 * Takes the next line: 1; 0: the end of the text; -EINVAL with a message. A Dump must end
 * with its last line, which has the number of nodes.
 */
int dump_next(struct dump *dump, struct dump_line *line);

/* Takes `[3]1F` off the front of entries: 1; 0: none left; -EINVAL. */
int dump_take_entry(const struct dump *dump, struct pm_text *entries, uint64_t *lid,
		    uint8_t *port);

#endif
