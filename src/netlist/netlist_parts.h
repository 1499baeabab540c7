/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the readers of netlists. Each format has a source file of its own, and a row
 * in the table in netlist.c. Its reader adds nodes and the ends of cables, in any order.
 * Then the ids are sorted, each end of a cable finds its peer among them, and the peer's
 * end must name the same cable. Ids and peers are pointers into the text.
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

/* Widths and speeds that a port can use, or uses; 0: not in the text. */
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
	struct pm_text rest; /* rest of its line, with more data of the peer */
};

/* Data of the node at the other end, from a cable's line. */
struct netlist_peer {
	enum pm_node_type type;
	uint64_t node_guid, port_guid;
	unsigned int num_ports; /* 0: not given */
	uint16_t lid;
	struct pm_text name;
};

/* False: the line lacks the node's type, or data of an end node. */
typedef bool netlist_read_peer(const struct cable *cable, struct netlist_peer *peer);

/* A port, of a text with a row for each. */
struct netlist_row {
	struct pm_text id, peer; /* GUIDs or LIDs, as written; peer empty: no cable */
	uint64_t guid;		 /* of the port, or the switch */
	uint32_t port, peer_port, line;
	uint16_t lid;
	bool typed; /* type is known; else the node is a switch if it has several ports,
		       or a CA */
	enum pm_node_type type;
	struct netlist_link link;
	struct pm_text name, rest;	  /* rest: see struct cable */
	struct pm_text label, peer_label; /* of ports on the front, if a text has them */
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
	 * Not NULL: a program wrote the text from a fabric, so it may be incomplete.
	 * NULL: a person wrote it, and incomplete data are an error.
	 */
	netlist_read_peer *read_peer;

	struct { /* ports that are Active without a peer, and the first of them */
		uint32_t count, line, port;
		struct pm_text name;
	} silent;

	/* For texts with rows. */
	struct netlist_row *rows;
	uint32_t rows_room, num_rows;
	struct {
		bool given;
		enum pm_node_type type;
		uint64_t guid; /* of a switch */
		struct pm_text name;
	} header; /* of the rows behind it */

	/* For texts with records. */
	bool in_record;
	unsigned int ports_left; /* ports of this record that are not listed so far */
	uint32_t given[PM_MAX_PORTS + 1]; /* [port of this record] its line, or 0 */
	uint64_t guid_base[NETLIST_TYPES], guid_next[NETLIST_TYPES];
	/* Of ibnetdiscover's text: sets guid_next to that of a record with this id. */
	int (*find_guid)(struct netlist *n, struct pm_text id, enum pm_node_type type);
	uint64_t guid_bracketed;  /* behind the last GUID; 0: none */
	struct netlist_link link; /* default of ports without one in their line */
	uint16_t device;	  /* of the records that follow; 0: not given */
};

/* Functions return 0, -EINVAL with a message that names the line, or -ENOMEM. */

/* ---- Nodes and cables: netlist_cables.c ---- */

struct pm_text netlist_id(const struct netlist *n, uint32_t port);

/* Adds a node; the ports of an end node get the GUIDs that follow the node's. */
int netlist_add_node(struct netlist *n, enum pm_node_type type, uint64_t guid,
		     unsigned int num_ports, struct pm_text id, struct pm_text name);
int netlist_add_cable(struct netlist *n, const struct cable *cable);

/* Sorts nodes by id; the caller frees *keys. -EINVAL: two nodes have one id. */
int netlist_sort_ids(struct netlist *n, struct netlist_id_key **keys);
uint32_t netlist_find_id(const struct netlist_id_key *keys, uint32_t count,
			 struct pm_text id); /* or PM_NONE */

/* Checks all nodes and cables, and joins the cables' ends. */
int netlist_resolve(struct netlist *n);

/* ---- What is missing: netlist_missing.c ---- */

/* Adds a note on a line. */
void netlist_note(struct netlist *n, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Whether the last line read is the file's last, without a newline. */
bool netlist_is_cut(const struct netlist *n);

/* Notes that this line is left out because the file ends in the middle of it. */
int netlist_leave_cut(struct netlist *n);

/*
 * Adds data that only the other end of a cable has, and leaves out cables if these data
 * are not enough; both with a note. O(nodes log nodes + cables log cables).
 */
int netlist_complete(struct netlist *n);

/* ---- Lines that are no part of it: terminal.c ---- */

/*
 * Makes prompts of a shell and messages of tools comments, with a note, in a copy of the
 * text that the caller frees; *copy is untouched if there are none. -ENOMEM. O(length).
 */
int netlist_comment_foreign(struct netlist *n, char **copy);

/* ---- Unconnected parts: islands.c ---- */

/* Notes that several parts with hosts have no cable between them. -ENOMEM. O(ports). */
int netlist_note_islands(struct netlist *n);

/* ---- Widths and speeds: netlist_links.c ---- */

/* The text behind the last quote; all of the text without quotes. */
struct pm_text netlist_after_quotes(struct pm_text text);

/* Reads widths and speeds behind the peer in a port's line; others stay. */
void netlist_take_link(struct pm_text rest, struct netlist_link *link);

/* The same for a line of ibsim's Dump, which has those in use. */
void netlist_take_dumped(struct pm_text rest, struct netlist_link *link);

/* The same for a line of opensm-subnet.lst, which has `PHY=4x LOG=ACT SPD=10`. */
void netlist_take_active(struct pm_text rest, struct netlist_link *link);

/* Sets all widths and speeds up to a width, `4x` or `4X`, and a speed. */
void netlist_set_link(struct netlist_link *link, struct pm_text width,
		      enum pm_speed speed);

/* Reads ibsim's lines `width=`, `speed=` and `extspeed=`, and no others. */
void netlist_take_default(struct pm_text line, struct netlist_link *link);

/* The code (link.h) of a link with these ends; 0 if they have nothing in common. */
uint8_t netlist_link_code(const struct netlist_link *a, const struct netlist_link *b);

/* ---- Words of lines: netlist_rows.c ---- */

/* Finds the type of a node by its word: words[] by enum pm_node_type; false: none. */
bool netlist_find_type(struct pm_text word, const char *const words[PM_ROUTER + 1],
		       enum pm_node_type *type);

/* The same for the next word. */
bool netlist_take_type(struct pm_text *text, const char *const words[PM_ROUTER + 1],
		       enum pm_node_type *type);

/* ---- Records: netlist_records.c ---- */

/* Reads the text behind the first word of a line between records. */
typedef int netlist_parse(struct netlist *n, struct pm_text rest, enum pm_node_type type);

/*
 * Reads a text with records, see netlist.h; other lines are ignored. parse_guid is for
 * lines that begin with "switchguid" and the like.
 */
int netlist_read_records(struct netlist *n, netlist_parse *parse_guid);

int netlist_need_number(struct netlist *n, struct pm_text *text, unsigned int base,
			const char *what, uint64_t *value);

/* ---- Rows: netlist_rows.c ---- */

/* Reads a line that is not empty, without blanks at its end. */
typedef int netlist_parse_row(struct netlist *n, struct pm_text line);

/*
 * Reads a text with rows, and adds their nodes and cables. is_whole: whether a last
 * line that does not end has all numbers. O(rows log rows).
 */
int netlist_read_rows(struct netlist *n, netlist_parse_row *parse,
		      bool (*is_whole)(struct pm_text line));
int netlist_add_row(struct netlist *n, const struct netlist_row *row);

/* Adds the nodes and cables of the rows so far. O(rows log rows). */
int netlist_add_rows(struct netlist *n);

/* Counts a port that is Active without a peer. */
void netlist_add_silent(struct netlist *n, const struct netlist_row *row);

/*
 * Whether a peer without a row of its own, in a text with rows for switches alone, may be
 * an end node: at port 1, or at port 2 of an adapter as in "n1 HCA-1" or "n1 mlx4_0".
 * Other ports are those of a switch that the text lacks.
 */
bool netlist_may_be_end_node(uint32_t port, struct pm_text name);

/*
 * Call after adding the rows, if only switches have rows: takes peers without one for end
 * nodes, with read_peer. But if a cable leads to something else, the text lacks a switch,
 * and the others may be switches, too: then none is taken, and the advice, which may be
 * NULL, is noted. O(nodes log nodes + cables log nodes).
 */
int netlist_use_peers(struct netlist *n, netlist_read_peer *read_peer,
		      const char *advice);

/* A netlist_read_peer for lines without their peers' types: false. */
bool netlist_read_no_peer(const struct cable *cable, struct netlist_peer *peer);

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
bool net_dump_recognise(struct pm_text text);
int net_dump_read(struct netlist *n);
bool subnet_lst_recognise(struct pm_text text);
int subnet_lst_read(struct netlist *n);

#endif
