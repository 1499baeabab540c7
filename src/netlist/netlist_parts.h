/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the readers of netlists share. A format is a file of its own and a row of the
 * table in netlist.c; its reader adds nodes and the ends of cables, in any order. Then
 * the ids are sorted, each cable finds its peer there, and the peer's own end must name
 * the same cable. Ids and peers stay pointers into the text.
 */
#ifndef NETLIST_PARTS_H
#define NETLIST_PARTS_H

#include <portmajor/netlist/dump.h>

#include <portmajor/base/lexer.h>
#include <portmajor/fabric/link.h>
#include <portmajor/netlist/netlist.h>

#define NETLIST_TYPES (PM_ROUTER + 1) /* of nodes */

struct record {
	struct pm_text id;
	uint32_t line;
};

/* What a port can do, or does; 0: nothing is said of it. */
struct netlist_link {
	uint16_t speeds; /* bit: enum pm_speed */
	uint8_t widths;	 /* bits as in PortInfo: 1x 1, 4x 2, 8x 4, 12x 8, 2x 16 */
};

/* One end of a cable. */
struct cable {
	struct pm_text peer; /* id of the node at the other end */
	uint32_t port;	     /* index into the fabric's ports */
	uint32_t line;
	uint32_t peer_port; /* from 1 */
	struct netlist_link link;
	struct pm_text rest; /* of its line, which says more of the peer */
};

/* What a cable's line says of the node at its other end. */
struct netlist_peer {
	enum pm_node_type type;
	uint64_t node_guid, port_guid;
	unsigned int num_ports; /* 0: not said */
	uint16_t lid;
	struct pm_text name;
};

/* False: it does not say what the node is, or not all of an end node. */
typedef bool netlist_read_peer(const struct cable *cable, struct netlist_peer *peer);

/* A port of a text that has a row for each. */
struct netlist_row {
	struct pm_text id,
		peer;  /* GUIDs, or LIDs, as they are written; empty: no cable */
	uint64_t guid; /* of the port, or the switch */
	uint32_t port, peer_port, line;
	uint16_t lid;
	bool typed; /* else its node is a switch if it has several ports, or a CA */
	enum pm_node_type type;
	struct netlist_link link;
	struct pm_text name, rest; /* rest: see struct cable */
};

struct netlist_id_key {
	struct pm_text id;
	uint32_t node;
};

struct netlist {
	struct pm_lexer lexer;
	struct pm_fabric *fabric;
	struct record *records; /* by node index */
	struct cable *cables;
	uint32_t records_room, cables_room;
	uint32_t num_cables;
	struct pm_netlist_notes notes;
	/*
	 * A program wrote it of a fabric: it may be incomplete. NULL: a person wrote it,
	 * and what is incomplete there is an error.
	 */
	netlist_read_peer *read_peer;

	/* Of texts that have rows. */
	struct netlist_row *rows;
	uint32_t rows_room, num_rows;
	struct {
		bool given;
		enum pm_node_type type;
		uint64_t guid; /* of a switch */
		struct pm_text name;
	} header; /* of the rows behind it */

	/* Of texts that have records. */
	bool in_record;
	unsigned int ports_left;	  /* of this record, not listed so far */
	uint32_t given[PM_MAX_PORTS + 1]; /* this record's ports: line, or 0 */
	uint64_t guid_base[NETLIST_TYPES], guid_next[NETLIST_TYPES];
	struct netlist_link link; /* default of ports without one in their line */
	uint16_t device;	  /* of the records that follow, 0: not said */
};

/* Functions return 0, -EINVAL with a message that names the line, or -ENOMEM. */

/* ---- Nodes and cables: netlist_cables.c ---- */

struct pm_text netlist_id(const struct netlist *n, uint32_t port);

/* The ports of an end node get the GUIDs that follow the node's. */
int netlist_add_node(struct netlist *n, enum pm_node_type type, uint64_t guid,
		     unsigned int num_ports, struct pm_text id, struct pm_text name);
int netlist_add_cable(struct netlist *n, const struct cable *cable);

/* Nodes by id: *keys is for the caller to free. An id that is used twice is bad. */
int netlist_sort_ids(struct netlist *n, struct netlist_id_key **keys);
uint32_t netlist_find_id(const struct netlist_id_key *keys, uint32_t count,
			 struct pm_text id); /* or PM_NONE */

/* Checks all that was added, and joins the cables' ends. */
int netlist_resolve(struct netlist *n);

/* ---- What is missing: netlist_missing.c ---- */

/* Notes something of a line. */
void netlist_note(struct netlist *n, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Whether the line that was read last is the file's last one and does not end. */
bool netlist_is_cut(const struct netlist *n);

/* Notes that this line is left out because the file ends in the middle of it. */
int netlist_leave_cut(struct netlist *n);

/*
 * Adds what no record says, but the other end of a cable, and leaves out cables of which
 * that end is not enough; a note says so. O(nodes log nodes + cables log cables).
 */
int netlist_complete(struct netlist *n);

/* ---- Widths and speeds: netlist_links.c ---- */

/* What is behind the last quote, all of it without quotes. */
struct pm_text netlist_after_quotes(struct pm_text text);

/* Reads what follows the peer on a port's line; what is not said there stays. */
void netlist_take_link(struct pm_text rest, struct netlist_link *link);

/* The same of a line of ibsim's Dump: what the link does. */
void netlist_take_dumped(struct pm_text rest, struct netlist_link *link);

/* The same of a line of opensm-subnet.lst, which has `PHY=4x LOG=ACT SPD=10`. */
void netlist_take_active(struct pm_text rest, struct netlist_link *link);

/* The same of a width, `4x` or `4X`, and a speed: up to these. */
void netlist_set_link(struct netlist_link *link, struct pm_text width,
		      enum pm_speed speed);

/* Reads ibsim's lines `width=`, `speed=` and `extspeed=`, and no others. */
void netlist_take_default(struct pm_text line, struct netlist_link *link);

/* The code (link.h) of a link with these ends; 0 if they have nothing in common. */
uint8_t netlist_link_code(const struct netlist_link *a, const struct netlist_link *b);

/* ---- Words of lines: netlist_rows.c ---- */

/* The kind of a node by its word, one of these by enum pm_node_type; false: none. */
bool netlist_find_type(struct pm_text word, const char *const words[PM_ROUTER + 1],
		       enum pm_node_type *type);

/* The same of the next word. */
bool netlist_take_type(struct pm_text *text, const char *const words[PM_ROUTER + 1],
		       enum pm_node_type *type);

/* ---- Records: netlist_records.c ---- */

/* Reads what is behind the first word of a line between records. */
typedef int netlist_parse(struct netlist *n, struct pm_text rest, enum pm_node_type type);

/*
 * Reads a text with records, see netlist.h; other lines are ignored. parse_guid is for
 * lines that begin with "switchguid" and the like.
 */
int netlist_read_records(struct netlist *n, netlist_parse *parse_guid);

int netlist_need_number(struct netlist *n, struct pm_text *text, unsigned int base,
			const char *what, uint64_t *value);

/* ---- Rows: netlist_rows.c ---- */

/* Reads a line without the blanks at its end, which has something. */
typedef int netlist_parse_row(struct netlist *n, struct pm_text line);

/*
 * Reads a text with rows, and adds their nodes and cables. is_whole: whether a last
 * line that does not end has all numbers. O(rows log rows).
 */
int netlist_read_rows(struct netlist *n, netlist_parse_row *parse,
		      bool (*is_whole)(struct pm_text line));
int netlist_add_row(struct netlist *n, const struct netlist_row *row);

/* Takes `3 65`, a LID and a port from 1; lid_text: the LID as it is written. */
int netlist_need_port(struct netlist *n, struct pm_text *text, struct pm_text *lid_text,
		      uint16_t *lid, uint32_t *port);

/* Takes `0x0000000000200001`. */
int netlist_need_guid(struct netlist *n, struct pm_text *text, struct pm_text *guid_text,
		      uint64_t *guid);

/* ---- Formats ---- */

bool ibnetdiscover_recognise(struct pm_text text);
int ibnetdiscover_read(struct netlist *n);
bool iblinkinfo_recognise(struct pm_text text);
int iblinkinfo_read(struct netlist *n);
bool ports_report_recognise(struct pm_text text);
int ports_report_read(struct netlist *n);
bool ibsim_recognise(struct pm_text text);
int ibsim_read(struct netlist *n);
int netlist_dump_read(struct netlist *n);
bool subnet_lst_recognise(struct pm_text text);
int subnet_lst_read(struct netlist *n);

#endif
