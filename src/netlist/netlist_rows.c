/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads texts that have a row for each port and no nodes: the ports of one id are a
 * switch, and an end port is a node of its own.
 */
#include "netlist_parts.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <inttypes.h>

#define NO_ROW UINT32_MAX

/* A port that has a row, or is the peer in another row. */
struct mention {
	struct pm_text id;
	uint32_t port;
	uint32_t row; /* its own, or NO_ROW */
};

int netlist_add_row(struct netlist *n, const struct netlist_row *row)
{
	if (pm_grow(&n->rows, &n->rows_room, n->num_rows + 1, sizeof(*n->rows)))
		return pm_error_no_memory(n->lexer.err);
	n->rows[n->num_rows++] = *row;
	return 0;
}

static int compare_mentions(const void *a, const void *b)
{
	const struct mention *x = a, *y = b;
	int order = pm_text_compare(x->id, y->id);

	if (order)
		return order;
	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static uint32_t list_mentions(const struct netlist *n, struct mention *list)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n->num_rows; i++) {
		const struct netlist_row *row = &n->rows[i];

		list[count++] = (struct mention){row->id, row->port, i};
		if (!pm_text_is_empty(row->peer))
			list[count++] =
				(struct mention){row->peer, row->peer_port, NO_ROW};
	}
	qsort(list, count, sizeof(*list), compare_mentions);
	return count;
}

/* Checks a further row of an id; `first` is the id's first row. */
static int check_row(struct netlist *n, const struct netlist_row *first,
		     const struct netlist_row *row)
{
	if (row->guid != first->guid)
		return pm_lexer_fail_at(
			&n->lexer, row->line,
			"LID %.*s is that of 0x%016" PRIx64 " on line %" PRIu32
			", too: ports differ here by their LIDs alone, take "
			"ibnetdiscover or iblinkinfo -l",
			PM_SHOWN(row->id), first->guid, first->line);
	if (row != first && n->given[row->port])
		return pm_lexer_fail_at(
			&n->lexer, row->line,
			"port %" PRIu32 " of \"%.*s\" is given already on line %" PRIu32,
			row->port, PM_SHOWN(row->id), n->given[row->port]);
	n->given[row->port] = row->line;
	return 0;
}

static int add_row(struct netlist *n, const struct netlist_row *row, bool is_switch,
		   uint32_t first_port)
{
	struct cable cable = {
		.peer = row->peer,
		.port = first_port + row->port,
		.line = row->line,
		.peer_port = row->peer_port,
		.link = row->link,
		.rest = row->rest,
	};
	struct pm_port *port = &n->fabric->ports[is_switch ? first_port : cable.port];

	port->lid = row->lid;
	port->guid = row->guid;
	return pm_text_is_empty(row->peer) ? 0 : netlist_add_cable(n, &cable);
}

/* Adds the node of one id, from its sorted ports. */
static int add_mentioned(struct netlist *n, const struct mention *list, uint32_t count)
{
	const struct netlist_row *first = NULL;
	uint32_t node = n->fabric->num_nodes, first_port = n->fabric->num_ports;
	bool several = list[0].port != list[count - 1].port;
	enum pm_node_type type;
	int rc = 0;

	memset(n->given, 0, sizeof(n->given));
	for (uint32_t i = 0; !rc && i < count; i++) {
		if (list[i].row == NO_ROW)
			continue;
		if (!first)
			first = &n->rows[list[i].row];
		rc = check_row(n, first, &n->rows[list[i].row]);
	}
	if (rc || !first)
		return rc;
	type = first->typed ? first->type : several ? PM_SWITCH : PM_CA;
	rc = netlist_add_node(n, type, first->guid, list[count - 1].port, first->id,
			      pm_text_is_empty(first->name) ? first->id : first->name);
	if (rc)
		return rc;
	n->records[node].line = first->line;
	for (uint32_t i = 0; !rc && i < count; i++)
		if (list[i].row != NO_ROW)
			rc = add_row(n, &n->rows[list[i].row], type == PM_SWITCH,
				     first_port);
	return rc;
}

void netlist_add_silent(struct netlist *n, const struct netlist_row *row)
{
	if (n->silent.count++)
		return;
	n->silent.line = row->line;
	n->silent.port = row->port;
	n->silent.name = pm_text_is_empty(row->name) ? row->id : row->name;
}

static void note_silent(struct netlist *n)
{
	if (n->silent.count)
		netlist_note(n, n->silent.line,
			     "ports that are Active, while no peer answered: %" PRIu32
			     ", such as port %" PRIu32 " of \"%.*s\"; their cables are "
			     "missing here",
			     n->silent.count, n->silent.port, PM_SHOWN(n->silent.name));
}

int netlist_add_rows(struct netlist *n)
{
	struct mention *list = pm_array((size_t)n->num_rows * 2, sizeof(*list));
	uint32_t count, last = 0;
	int rc = 0;

	if (!list)
		return pm_error_no_memory(n->lexer.err);
	count = list_mentions(n, list);
	for (uint32_t first = 0; !rc && first < count; first = last) {
		for (last = first; last < count; last++)
			if (!pm_text_equal(list[last].id, list[first].id))
				break;
		rc = add_mentioned(n, list + first, last - first);
	}
	free(list);
	note_silent(n);
	return rc;
}

int netlist_read_rows(struct netlist *n, netlist_parse_row *parse,
		      bool (*is_whole)(struct pm_text line))
{
	struct pm_text line;
	int rc = 0;

	while (!rc && pm_lexer_next(&n->lexer, &line)) {
		rc = pm_lexer_check_text(&n->lexer, line);
		while (line.end > line.at &&
		       (line.end[-1] == ' ' || line.end[-1] == '\t' ||
			line.end[-1] == '\r'))
			line.end--;
		if (rc || pm_text_is_empty(line) || pm_text_next_is(line, '#'))
			continue;
		rc = netlist_is_cut(n) && !is_whole(line) ? netlist_leave_cut(n)
							  : parse(n, line);
	}
	return rc ? rc : netlist_add_rows(n);
}

/* ---- Rows for switches alone ---- */

bool netlist_read_no_peer(const struct cable *cable, struct netlist_peer *peer)
{
	(void)cable;
	(void)peer;
	return false;
}

bool netlist_may_be_end_node(uint32_t port, struct pm_text name)
{
	struct pm_text word;

	return port == 1 ||
	       (port == 2 && pm_text_take_word(&name, &word) &&
		pm_text_take_word(&name, &word) &&
		(pm_text_starts(word, "HCA-") || pm_text_starts(word, "mlx")));
}

/* Whether a cable leads to a peer that neither the text nor the cable's line has. */
static int find_absent(struct netlist *n, bool *found)
{
	struct netlist_id_key *keys = NULL;
	int rc = netlist_sort_ids(n, &keys);

	*found = false;
	for (uint32_t i = 0; !rc && !*found && i < n->num_cables; i++) {
		const struct cable *cable = &n->cables[i];
		struct netlist_peer peer;

		*found = netlist_find_id(keys, n->fabric->num_nodes, cable->peer) ==
				 PM_NONE &&
			 !n->read_peer(cable, &peer);
	}
	free(keys);
	return rc;
}

int netlist_use_peers(struct netlist *n, netlist_read_peer *read_peer, const char *advice)
{
	bool absent;
	int rc;

	n->read_peer = read_peer;
	rc = find_absent(n, &absent);
	if (rc || !absent)
		return rc;
	n->read_peer = netlist_read_no_peer;
	if (advice)
		netlist_note(n, 1, "%s", advice);
	return 0;
}

/* ---- Pieces of a row ---- */

bool netlist_find_type(struct pm_text word, const char *const words[PM_ROUTER + 1],
		       enum pm_node_type *type)
{
	for (enum pm_node_type i = PM_SWITCH; i <= PM_ROUTER; i++)
		if (pm_text_is(word, words[i])) {
			*type = i;
			return true;
		}
	return false;
}

bool netlist_take_type(struct pm_text *text, const char *const words[PM_ROUTER + 1],
		       enum pm_node_type *type)
{
	struct pm_text word;

	return pm_text_take_word(text, &word) && netlist_find_type(word, words, type);
}

int netlist_need_port(struct netlist *n, struct pm_text *text, struct pm_text *lid_text,
		      uint16_t *lid, uint32_t *port)
{
	struct pm_text all = *text;
	uint64_t value, number;

	pm_text_skip_blanks(text);
	lid_text->at = text->at;
	if (pm_text_take_digits(text, 10, &value) || value > UINT16_MAX)
		return pm_lexer_fail(&n->lexer, "no LID in \"%.*s\"", PM_SHOWN(all));
	lid_text->end = text->at;
	if (pm_text_take_digits(text, 10, &number) || number < 1 || number > PM_MAX_PORTS)
		return pm_lexer_fail(&n->lexer, "no port 1 to %d in \"%.*s\"",
				     PM_MAX_PORTS, PM_SHOWN(all));
	*lid = dump_lid(value);
	*port = (uint32_t)number;
	return 0;
}

int netlist_need_guid(struct netlist *n, struct pm_text *text, struct pm_text *guid_text,
		      uint64_t *guid)
{
	struct pm_text all = *text;

	pm_text_skip_blanks(text);
	guid_text->at = text->at;
	if (!pm_text_starts(*text, "0x") || pm_text_take_digits(text, 16, guid))
		return pm_lexer_fail(&n->lexer, "no GUID in \"%.*s\"", PM_SHOWN(all));
	guid_text->end = text->at;
	return 0;
}
