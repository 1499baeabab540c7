/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads ibdiagnet2.net_dump: a table for each switch, with a row for each port. Columns
 * differ between versions, so that their names count. `#` is the port's label on the
 * front, as in the column `N#` of its peer; `IB#` is its number:
 *
 *     "leaf1", Mellanox, 0x00000000000000a1, LID 3
 *      #     : IB# : Sta : PhysSta : MTU : LWA : LSA : FEC mode : Retran : Neighbor Guid
 * .. 1/1/1 : 1   : ACT : LINK UP : 5   : 4x  : 100 : NO-FEC   : NO-RTR : 0xc11 ..
 *
 * .. up to ` : N# : NLID : Neighbor Description`. Peers without a table are end nodes.
 */
#include "netlist_parts.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <inttypes.h>

#define MAX_COLUMNS 32

enum column {
	LABEL,
	NUMBER,
	STATE,
	WIDTH,
	SPEED,
	GUID,
	PEER_LABEL,
	PEER_LID,
	NAME,
	WANTED
};

static const char *const column_names[WANTED] = {"#",	"IB#",	"Sta",
						 "LWA", "LSA",	"Neighbor Guid",
						 "N#",	"NLID", "Neighbor Description"};

/* The tables so far. */
struct tables {
	struct netlist *n;
	struct pm_text id; /* of this table's switch: its GUID, without zeros before it */
	struct pm_text name;
	uint64_t guid;
	uint16_t lid;
	uint32_t num_columns; /* 0: their names are still to come */
	uint32_t at[WANTED];  /* [column] its place */
};

/* A port of a table by its label. */
struct label {
	struct pm_text id, label;
	uint32_t port;
};

bool net_dump_recognise(struct pm_text text)
{
	struct pm_lexer lexer = {.rest = text};
	struct pm_text line;

	while (pm_lexer_next(&lexer, &line)) {
		pm_text_skip_blanks(&line);
		if (pm_text_is_empty(line) || pm_text_next_is(line, '#'))
			continue;
		return pm_text_next_is(line, '"') && pm_text_skip_past(&line, "\", ") &&
		       pm_text_skip_past(&line, ", LID ");
	}
	return false;
}

/* ---- Pieces of a line ---- */

static struct pm_text trim(struct pm_text text)
{
	pm_text_skip_blanks(&text);
	while (text.end > text.at && (text.end[-1] == ' ' || text.end[-1] == '\t'))
		text.end--;
	return text;
}

/* Splits a line at its colons; the last of `limit` fields has the rest. */
static uint32_t split(struct pm_text line, struct pm_text *fields, uint32_t limit)
{
	uint32_t count = 0;

	while (count + 1 < limit && pm_text_find(line, ':')) {
		struct pm_text field = pm_text_before(line, ':');

		fields[count++] = trim(field);
		line.at = field.end + 1;
	}
	fields[count++] = trim(line);
	return count;
}

/* Takes a GUID; its id is the text without zeros before it. */
static int take_guid(struct netlist *n, struct pm_text *text, struct pm_text *id,
		     uint64_t *guid)
{
	int rc = netlist_need_guid(n, text, id, guid);

	if (rc)
		return rc;
	id->at += strlen("0x");
	while (id->at + 1 < id->end && *id->at == '0')
		id->at++;
	return 0;
}

static int take_lid(struct netlist *n, struct pm_text text, uint16_t *lid)
{
	uint64_t value;

	if (!pm_text_take_number(&text, 10, UINT16_MAX, &value))
		return pm_lexer_fail(&n->lexer, "no LID in \"%.*s\"", PM_SHOWN(text));
	*lid = dump_lid(value);
	return 0;
}

static struct pm_text unquote(struct pm_text text)
{
	if (pm_text_length(text) < 2 || *text.at != '"' || text.end[-1] != '"')
		return text;
	return (struct pm_text){text.at + 1, text.end - 1};
}

/* ---- Lines ---- */

/* `"leaf1", Mellanox, 0x00000000000000a1, LID 3` */
static int parse_switch(struct tables *t, struct pm_text line)
{
	struct netlist *n = t->n;
	struct pm_text rest = netlist_after_quotes(line), lid;
	int rc;

	t->name = (struct pm_text){line.at + 1, rest.at - 1};
	if (rest.at < line.at + 2 || !pm_text_skip_past(&rest, ",") ||
	    !pm_text_skip_past(&rest, ","))
		return pm_lexer_fail(&n->lexer, "no name, vendor and GUID in \"%.*s\"",
				     PM_SHOWN(line));
	rc = take_guid(n, &rest, &t->id, &t->guid);
	if (rc)
		return rc;
	lid = rest;
	if (!pm_text_skip_past(&lid, "LID "))
		return pm_lexer_fail(&n->lexer, "no LID in \"%.*s\"", PM_SHOWN(line));
	t->num_columns = 0;
	return take_lid(n, trim(lid), &t->lid);
}

/* `# : IB# : Sta : ..` */
static int parse_columns(struct tables *t, struct pm_text line)
{
	struct pm_text fields[MAX_COLUMNS];
	uint32_t count = split(line, fields, MAX_COLUMNS);

	for (enum column column = LABEL; column < WANTED; column++) {
		uint32_t i = 0;

		while (i < count && !pm_text_is(fields[i], column_names[column]))
			i++;
		if (i == count)
			return pm_lexer_fail(&t->n->lexer,
					     "no column \"%s\" in this table",
					     column_names[column]);
		t->at[column] = i;
	}
	/* A peer's data are read from the rest of the line, see read_end_node. */
	for (enum column column = GUID; column < WANTED; column++)
		if (t->at[column] + WANTED - column != count)
			return pm_lexer_fail(&t->n->lexer,
					     "the column \"%s\" is not in its place",
					     column_names[column]);
	t->num_columns = count;
	return 0;
}

/* The data of a link, from the peer's GUID on. */
static int parse_peer(struct tables *t, const struct pm_text *fields,
		      struct netlist_row *row)
{
	struct netlist *n = t->n;
	struct pm_text guid = fields[t->at[GUID]];
	uint64_t value;
	uint16_t lid;
	int rc = take_guid(n, &guid, &row->peer, &value);

	if (!rc && !pm_text_is_empty(guid))
		rc = pm_lexer_fail(&n->lexer, "no GUID in \"%.*s\"",
				   PM_SHOWN(fields[t->at[GUID]]));
	if (!rc)
		rc = take_lid(n, fields[t->at[PEER_LID]], &lid);
	row->peer_label = fields[t->at[PEER_LABEL]];
	row->rest = (struct pm_text){fields[t->at[GUID]].at, fields[t->at[NAME]].end};
	return rc;
}

static enum pm_speed find_speed(struct pm_text word)
{
	static const struct {
		const char *word;
		enum pm_speed speed;
	} words[] = {{"2.5", PM_SDR}, {"5", PM_DDR},	   {"10", PM_QDR},
		     {"14", PM_FDR},  {"FDR10", PM_FDR10}, {"25", PM_EDR},
		     {"50", PM_HDR},  {"100", PM_NDR},	   {"200", PM_XDR}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (pm_text_is(word, words[i].word))
			return words[i].speed;
	return PM_SPEED_UNKNOWN;
}

/* Ports that are down have `N/A`, or nothing, and may lack the last columns. */
static int parse_port(struct tables *t, struct pm_text line)
{
	struct netlist *n = t->n;
	struct pm_text fields[MAX_COLUMNS], number;
	struct netlist_row row = {
		.line = n->lexer.line, .typed = true, .type = PM_SWITCH};
	uint32_t count = split(line, fields, t->num_columns);
	bool linked, active;
	uint64_t port;
	int rc = 0;

	for (uint32_t i = count; i < t->num_columns; i++)
		fields[i] = (struct pm_text){line.end, line.end};
	number = fields[t->at[NUMBER]];
	if (count <= t->at[STATE] ||
	    !pm_text_take_number(&number, 10, PM_MAX_PORTS, &port) || !port)
		return pm_lexer_fail(&n->lexer,
				     "no port 1 to %d and its state in \"%.*s\"",
				     PM_MAX_PORTS, PM_SHOWN(line));
	row.id = t->id;
	row.guid = t->guid;
	row.lid = t->lid;
	row.name = t->name;
	row.port = (uint32_t)port;
	row.label = fields[t->at[LABEL]];
	active = pm_text_is(fields[t->at[STATE]], "ACT");
	linked = pm_text_starts(fields[t->at[GUID]], "0x");
	if (!linked && active)
		netlist_add_silent(n, &row);
	if (!linked && !pm_text_is_empty(fields[t->at[GUID]]) &&
	    !pm_text_is(fields[t->at[GUID]], "N/A"))
		return pm_lexer_fail(&n->lexer, "no GUID in \"%.*s\"",
				     PM_SHOWN(fields[t->at[GUID]]));
	netlist_set_link(&row.link, fields[t->at[WIDTH]],
			 find_speed(fields[t->at[SPEED]]));
	if (linked)
		rc = parse_peer(t, fields, &row);
	return rc ? rc : netlist_add_row(n, &row);
}

static int parse_line(struct tables *t, struct pm_text line)
{
	bool has_switch = !pm_text_is_empty(t->id);

	line = trim(line);
	if (pm_text_is_empty(line))
		return 0;
	if (*line.at == '"')
		return parse_switch(t, line);
	if (*line.at == '#') {
		bool columns = has_switch && !t->num_columns && pm_text_find(line, ':');

		return columns ? parse_columns(t, line) : 0;
	}
	if (!has_switch || !t->num_columns)
		return pm_lexer_fail(&t->n->lexer,
				     "a port without a table's column names before it");
	return parse_port(t, line);
}

/* ---- Ports by their labels ---- */

static int compare_labels(const void *a, const void *b)
{
	const struct label *x = a, *y = b;
	int order = pm_text_compare(x->id, y->id);

	return order ? order : pm_text_compare(x->label, y->label);
}

static int compare_ids(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	return pm_text_compare(x->id, y->id);
}

/* Sets a row's peer_port. Only an end node's own number is not in any table. */
static void find_port_line(struct netlist *n, const struct label *labels,
			   struct netlist_row *row)
{
	struct label wanted = {.id = row->peer, .label = row->peer_label};
	const struct label *found =
		bsearch(&wanted, labels, n->num_rows, sizeof(*labels), compare_labels);
	struct pm_text text = row->peer_label;
	uint64_t number;

	if (found) {
		row->peer_port = found->port;
		return;
	}
	if (!pm_text_take_number(&text, 10, PM_MAX_PORTS, &number) || !number)
		number = 1;
	row->peer_port = (uint32_t)number;
	if (!bsearch(&wanted, labels, n->num_rows, sizeof(*labels), compare_ids))
		return;
	netlist_note(n, row->line,
		     "port %" PRIu32 " of \"%.*s\" leads to port \"%.*s\" of 0x%.*s, "
		     "whose table does not have it: left out",
		     row->port, PM_SHOWN(row->name), PM_SHOWN(row->peer_label),
		     PM_SHOWN(row->peer));
	row->peer.end = row->peer.at;
}

static int find_ports(struct netlist *n)
{
	struct label *labels = pm_array(n->num_rows, sizeof(*labels));

	if (!labels)
		return pm_error_no_memory(n->lexer.err);
	for (uint32_t i = 0; i < n->num_rows; i++)
		labels[i] =
			(struct label){n->rows[i].id, n->rows[i].label, n->rows[i].port};
	qsort(labels, n->num_rows, sizeof(*labels), compare_labels);
	for (uint32_t i = 0; i < n->num_rows; i++)
		if (!pm_text_is_empty(n->rows[i].peer))
			find_port_line(n, labels, &n->rows[i]);
	free(labels);
	return 0;
}

/* ---- All of it ---- */

/*
 * Reads `0xc11 : 1 : 5 : "n1 HCA-1"`. A label that is no number may be that of a switch's
 * port, too.
 */
static bool read_end_node(const struct cable *cable, struct netlist_peer *peer)
{
	struct netlist n = {.lexer = {.source = ""}};
	struct pm_text fields[4], id;
	uint64_t guid, port;
	uint16_t lid;

	if (split(cable->rest, fields, 4) != 4)
		return false;
	if (!pm_text_take_number(&fields[1], 10, PM_MAX_PORTS, &port))
		port = 2;
	if (!netlist_may_be_end_node((uint32_t)port, unquote(fields[3])) ||
	    take_guid(&n, &fields[0], &id, &guid) || take_lid(&n, fields[2], &lid))
		return false;
	*peer = (struct netlist_peer){
		.type = PM_CA,
		.node_guid = guid,
		.port_guid = guid,
		.lid = lid,
		.name = unquote(fields[3]),
	};
	return true;
}

/* A last line without its end may lack a part of a number. */
static bool is_whole(struct pm_text line)
{
	line = trim(line);
	return pm_text_is_empty(line) || line.end[-1] == '"';
}

int net_dump_read(struct netlist *n)
{
	struct tables t = {.n = n};
	struct pm_text line;
	int rc = 0;

	n->read_peer = netlist_read_no_peer;
	while (!rc && pm_lexer_next(&n->lexer, &line)) {
		rc = pm_lexer_check_text(&n->lexer, line);
		if (!rc)
			rc = netlist_is_cut(n) && !is_whole(line) ? netlist_leave_cut(n)
								  : parse_line(&t, line);
	}
	if (!rc)
		rc = find_ports(n);
	if (!rc)
		rc = netlist_add_rows(n);
	return rc ? rc : netlist_use_peers(n, read_end_node, NULL);
}
