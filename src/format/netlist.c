/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/netlist.h>
#include <portmajor/alloc.h>
#include <portmajor/digit.h>
#include <portmajor/textfile.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * One pass over the lines adds the nodes to the fabric and collects the cables
 * with the peers' ids; then the ids are sorted, each cable finds its peer there,
 * and the peer's own line must name the same cable. Ids and peers stay pointers
 * into the text.
 */

#define MAX_LID 0xbfff /* the last unicast LID */
#define MAX_LMC 7
#define SHOWN_BYTES 64	 /* of an id in a message */
#define SHOWN_SOURCE 200 /* of the source's name in a message */
#define NODE_TYPES (PM_ROUTER + 1)

/* A piece of the input: a line, what is left of it, or an id. */
struct text {
	const char *at;
	const char *end;
};

struct record {
	struct text id;
	uint32_t line;
};

/* One end of a cable, as its port line gives it. */
struct cable {
	struct text peer;
	uint32_t port; /* index into the fabric's ports */
	uint32_t line;
	uint32_t peer_port;
};

struct id_key {
	struct text id;
	uint32_t node;
};

struct guid_key {
	uint64_t guid;
	uint32_t node;
};

struct netlist {
	const char *source;
	struct pm_error *err;
	struct pm_fabric *fabric;
	uint32_t line;
	bool in_record;
	unsigned int ports_left; /* of this record, not listed so far */

	struct record *records; /* by node index */
	struct cable *cables;
	char *name; /* room to put a NUL behind a name */
	uint32_t records_room, cables_room, name_room;
	uint32_t num_cables;

	uint64_t guid_base[NODE_TYPES], guid_next[NODE_TYPES];
	uint32_t given[PM_MAX_PORTS + 1]; /* this record's ports: line, or 0 */
};

#define SHOWN(text) shown_length(text), (text).at

static size_t text_length(struct text text)
{
	return (size_t)(text.end - text.at);
}

static int shown_length(struct text text)
{
	return text_length(text) > SHOWN_BYTES ? SHOWN_BYTES : (int)text_length(text);
}

static bool text_equal(struct text a, struct text b)
{
	return text_length(a) == text_length(b) && !memcmp(a.at, b.at, text_length(a));
}

static bool starts_with(struct text text, const char *word)
{
	size_t length = strlen(word);

	return text_length(text) >= length && !memcmp(text.at, word, length);
}

/* Like strchr, but NULL at the end of the text. */
static const char *find_char(struct text text, char c)
{
	return memchr(text.at, c, text_length(text));
}

/* The end of the source's name, so that the message behind it has room. */
static const char *shown_source(const char *source)
{
	size_t length = strlen(source);

	return length > SHOWN_SOURCE ? source + length - SHOWN_SOURCE : source;
}

static int __attribute__((format(printf, 3, 4)))
fail(const struct netlist *n, uint32_t line, const char *format, ...)
{
	char message[PM_ERROR_TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return pm_error_set(n->err, -EINVAL, "%s:%" PRIu32 ": %s",
			    shown_source(n->source), line ? line : 1, message);
}

static int fail_memory(const struct netlist *n)
{
	return pm_error_set(n->err, -ENOMEM, "%s: out of memory",
			    shown_source(n->source));
}

static struct text id_of_port(const struct netlist *n, uint32_t port)
{
	return n->records[n->fabric->ports[port].node].id;
}

/* Reading pieces of a line. */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct text *text)
{
	while (text->at < text->end && is_blank(*text->at))
		text->at++;
}

static bool next_is(const struct text *text, char c)
{
	return text->at < text->end && *text->at == c;
}

/*
 * Takes a number, with base 0 meaning 0x.. or 0.. or decimal as for strtoull.
 * -EINVAL: there is none; -ERANGE: it does not fit.
 */
static int take_number(struct text *text, unsigned int base, uint64_t *value)
{
	uint64_t number = 0;
	const char *start;

	skip_blanks(text);
	if ((base == 0 || base == 16) &&
	    (starts_with(*text, "0x") || starts_with(*text, "0X"))) {
		text->at += 2;
		base = 16;
	}
	if (base == 0)
		base = next_is(text, '0') ? 8 : 10;
	for (start = text->at; text->at < text->end; text->at++) {
		unsigned int digit = pm_digit_value(*text->at);

		if (digit >= base)
			break;
		if (number > (UINT64_MAX - digit) / base)
			return -ERANGE;
		number = number * base + digit;
	}
	if (text->at == start)
		return -EINVAL;
	*value = number;
	return 0;
}

static int need_number(struct netlist *n, struct text *text, unsigned int base,
		       const char *what, uint64_t *value)
{
	switch (take_number(text, base, value)) {
	case -EINVAL:
		return fail(n, n->line, "no %s in \"%.*s\"", what, SHOWN(*text));
	case -ERANGE:
		return fail(n, n->line, "the %s is too large", what);
	}
	return 0;
}

/* Takes `"quoted"`; text stands on the first quote. */
static int take_quoted(struct netlist *n, struct text *text, struct text *quoted)
{
	const char *end;

	text->at++;
	end = find_char(*text, '"');
	if (!end)
		return fail(n, n->line, "unterminated quote before \"%.*s\"",
			    SHOWN(*text));
	*quoted = (struct text){text->at, end};
	text->at = end + 1;
	return 0;
}

static bool take_word(struct text *text, struct text *word)
{
	skip_blanks(text);
	word->at = text->at;
	while (text->at < text->end && !is_blank(*text->at))
		text->at++;
	word->end = text->at;
	return word->at < word->end;
}

/* An id must not look like one of ibsim's aliases or module names. */
static int check_id(struct netlist *n, struct text id)
{
	if (id.at == id.end)
		return fail(n, n->line, "empty node id");
	if (find_char(id, '@'))
		return fail(n, n->line,
			    "node id \"%.*s\": aliases ('@') are not "
			    "supported",
			    SHOWN(id));
	if (find_char(id, '#'))
		return fail(n, n->line,
			    "node id \"%.*s\": modules ('#') are not "
			    "supported",
			    SHOWN(id));
	return 0;
}

/* Reads `lid 3 lmc 0` from among other words of a comment. */
static int read_lid(struct netlist *n, struct text comment, uint32_t index)
{
	struct pm_port *port = &n->fabric->ports[index];
	struct text word;

	while (take_word(&comment, &word)) {
		bool is_lmc = text_length(word) == 3 && starts_with(word, "lmc");
		uint64_t limit = is_lmc ? MAX_LMC : MAX_LID;
		uint64_t value;
		int rc;

		if (!is_lmc && !(text_length(word) == 3 && starts_with(word, "lid")))
			continue;
		rc = take_number(&comment, 10, &value);
		if (rc == -EINVAL)
			continue; /* a word in some sentence */
		if (rc || value > limit)
			return fail(n, n->line,
				    "%.*s of port %u of \"%.*s\" is not 0 to %" PRIu64,
				    SHOWN(word), port->num, SHOWN(id_of_port(n, index)),
				    limit);
		if (is_lmc)
			port->lmc = (uint8_t)value;
		else
			port->lid = (uint16_t)value;
	}
	return 0;
}

/* Records. */

static int add_node(struct netlist *n, enum pm_node_type type, uint64_t num_ports,
		    struct text id, struct text name)
{
	size_t length = text_length(name);
	uint64_t guid = n->guid_next[type];
	uint32_t node;

	if (n->fabric->num_nodes >= PM_MAX_NODES)
		return fail(n, n->line, "node \"%.*s\": more than %d nodes", SHOWN(id),
			    PM_MAX_NODES);
	if (pm_grow(&n->records, &n->records_room, n->fabric->num_nodes + 1,
		    sizeof(*n->records)) ||
	    pm_grow(&n->name, &n->name_room, (uint32_t)length + 1, 1))
		return fail_memory(n);
	memcpy(n->name, name.at, length);
	n->name[length] = '\0';
	if (pm_fabric_add_node(n->fabric, type, guid, (unsigned int)num_ports, n->name,
			       &node, NULL))
		return fail_memory(n);
	n->records[node] = (struct record){id, n->line};
	n->guid_next[type] += type == PM_SWITCH ? 1 : num_ports + 1;
	if (type == PM_SWITCH)
		return 0;
	for (uint32_t i = 1; i <= num_ports; i++)
		n->fabric->ports[n->fabric->nodes[node].first_port + i].guid = guid + i;
	return 0;
}

/* The description in `# "description" ...`; name stays as it is without one. */
static int take_description(struct netlist *n, struct text *rest, struct text *name)
{
	const char *hash = find_char(*rest, '#');
	struct text description = {NULL, NULL};
	int rc;

	if (!hash)
		return 0;
	rest->at = hash + 1;
	skip_blanks(rest);
	if (!next_is(rest, '"'))
		return 0;
	rc = take_quoted(n, rest, &description);
	if (!rc && description.at < description.end)
		*name = description;
	return rc;
}

/* What follows the last quote: descriptions may have quotes of their own. */
static struct text after_quotes(struct text text)
{
	const char *at = text.end;

	while (at > text.at && at[-1] != '"')
		at--;
	return (struct text){at, text.end};
}

static int parse_record(struct netlist *n, struct text rest, enum pm_node_type type)
{
	struct text id, name;
	uint64_t num_ports;
	int rc;

	rc = need_number(n, &rest, 0, "number of ports", &num_ports);
	if (rc)
		return rc;
	skip_blanks(&rest);
	if (!next_is(&rest, '"'))
		return fail(n, n->line, "no quoted id after the number of ports");
	rc = take_quoted(n, &rest, &id);
	if (!rc)
		rc = check_id(n, id);
	if (rc)
		return rc;
	if (num_ports < 1 || num_ports > PM_MAX_PORTS)
		return fail(n, n->line,
			    "node \"%.*s\" has %" PRIu64 " ports, allowed are 1 to %d",
			    SHOWN(id), num_ports, PM_MAX_PORTS);
	name = id;
	rc = take_description(n, &rest, &name);
	if (!rc)
		rc = add_node(n, type, num_ports, id, name);
	if (rc)
		return rc;
	memset(n->given, 0, sizeof(n->given));
	n->in_record = true;
	n->ports_left = (unsigned int)num_ports;
	if (type != PM_SWITCH)
		return 0;
	return read_lid(n, after_quotes(rest),
			n->fabric->nodes[n->fabric->num_nodes - 1].first_port);
}

/* `caguid=0x..` sets the base, `hcaguids+0x..` counts from the last base. */
static int parse_guid(struct netlist *n, struct text rest, enum pm_node_type type)
{
	const char *sign = find_char(rest, '=');
	bool relative = !sign;
	uint64_t value;
	int rc;

	if (relative)
		sign = find_char(rest, '+');
	if (!sign)
		return fail(n, n->line, "no '=' or '+' before the GUID");
	rest.at = sign + 1;
	rc = need_number(n, &rest, 0, "GUID", &value);
	if (rc)
		return rc;
	if (!relative)
		n->guid_base[type] = value;
	n->guid_next[type] = n->guid_base[type] + (relative ? value : 0);
	return 0;
}

static int reject(struct netlist *n, const char *word)
{
	return fail(n, n->line, "ibsim's \"%s\" lines are not supported", word);
}

/*
 * ibsim reads on for more ports unless it has seen them all, and drops the line that
 * ends the record. Taking a line that it drops would give us another fabric.
 */
static int parse_statement(struct netlist *n, struct text line, bool dropped)
{
	/* ibsim compares beginnings too: "switchguids=" is "switchguid". */
	static const struct {
		const char *word;
		enum pm_node_type type;
		int (*parse)(struct netlist *n, struct text rest, enum pm_node_type type);
	} statements[] = {
		{"Switch", PM_SWITCH, parse_record},
		{"Hca", PM_CA, parse_record},
		{"Ca", PM_CA, parse_record},
		{"Rt", PM_ROUTER, parse_record},
		{"switchguid", PM_SWITCH, parse_guid},
		{"hcaguids", PM_CA, parse_guid},
		{"caguid", PM_CA, parse_guid},
		{"rtguid", PM_ROUTER, parse_guid},
		{"module", PM_SWITCH, NULL},
		{"include", PM_SWITCH, NULL},
		{"do", PM_SWITCH, NULL},
	};

	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		const char *word = statements[i].word;

		if (!starts_with(line, word))
			continue;
		if (dropped)
			return fail(n, n->line,
				    "no blank line before this \"%s\" line, "
				    "ibsim would drop it",
				    word);
		if (!statements[i].parse)
			return reject(n, word);
		line.at += strlen(word);
		return statements[i].parse(n, line, statements[i].type);
	}
	return 0;
}

/* Port lines. */

/* Takes `12]`; text stands behind the '['. */
static int take_port_number(struct netlist *n, struct text *rest, uint64_t *number)
{
	int rc = need_number(n, rest, 10, "port number", number);

	if (rc)
		return rc;
	skip_blanks(rest);
	if (!next_is(rest, ']'))
		return fail(n, n->line, "no ']' after port number %" PRIu64, *number);
	rest->at++;
	return 0;
}

/* Takes `[1](8f10403960985)` and finds the port of the record's node. */
static int take_port(struct netlist *n, struct text *rest, struct pm_port **port)
{
	struct pm_node *node = &n->fabric->nodes[n->fabric->num_nodes - 1];
	struct text id = n->records[n->fabric->num_nodes - 1].id;
	uint64_t number, guid;
	int rc;

	rest->at++;
	rc = take_port_number(n, rest, &number);
	if (rc)
		return rc;
	if (number < 1 || number > node->num_ports)
		return fail(n, n->line, "\"%.*s\" has ports 1 to %u, not %" PRIu64,
			    SHOWN(id), node->num_ports, number);
	if (n->given[number])
		return fail(n, n->line,
			    "port %" PRIu64
			    " of \"%.*s\" is given already on line %" PRIu32,
			    number, SHOWN(id), n->given[number]);
	n->given[number] = n->line;
	n->ports_left--;
	*port = &n->fabric->ports[node->first_port + number];
	skip_blanks(rest);
	if (!next_is(rest, '('))
		return 0;
	rest->at++;
	rc = need_number(n, rest, 16, "port GUID", &guid);
	if (rc)
		return rc;
	if (!next_is(rest, ')'))
		return fail(n, n->line,
			    "no ')' after the GUID of port %" PRIu64 " of \"%.*s\"",
			    number, SHOWN(id));
	if (node->type != PM_SWITCH)
		(*port)->guid = guid;
	return 0;
}

/* Takes `"peer"[2]`, with anything that is no comment before it. */
static int take_peer(struct netlist *n, struct text *rest, struct cable *cable)
{
	struct text id = id_of_port(n, cable->port);
	unsigned int num = n->fabric->ports[cable->port].num;
	uint64_t number = 1;
	int rc;

	while (rest->at < rest->end && *rest->at != '"' && *rest->at != '#')
		rest->at++;
	if (!next_is(rest, '"'))
		return fail(n, n->line, "port %u of \"%.*s\" has no quoted peer", num,
			    SHOWN(id));
	rc = take_quoted(n, rest, &cable->peer);
	if (!rc)
		rc = check_id(n, cable->peer);
	if (rc)
		return rc;
	if (next_is(rest, '[')) {
		rest->at++;
		rc = take_port_number(n, rest, &number);
		if (rc)
			return rc;
	}
	if (number < 1 || number > PM_MAX_PORTS)
		return fail(n, n->line,
			    "port %u of \"%.*s\": the peer's port %" PRIu64
			    " is not 1 to %d",
			    num, SHOWN(id), number, PM_MAX_PORTS);
	cable->peer_port = (uint32_t)number;
	return 0;
}

/* `# lid 16 lmc 1 "peer's description" lid 3 4xSDR`: the first LID is ours. */
static int take_port_comment(struct netlist *n, struct text rest, uint32_t port)
{
	const char *hash = find_char(rest, '#');
	const char *quote;

	if (!hash)
		return 0;
	rest.at = hash + 1;
	quote = find_char(rest, '"');
	if (quote)
		rest.end = quote;
	return read_lid(n, rest, port);
}

static int parse_port(struct netlist *n, struct text line)
{
	struct cable cable = {.line = n->line};
	struct pm_port *port = NULL;
	int rc;

	if (!n->in_record)
		return fail(n, n->line, "a port line outside of a node's record");
	rc = take_port(n, &line, &port);
	if (rc)
		return rc;
	cable.port = (uint32_t)(port - n->fabric->ports);
	rc = take_peer(n, &line, &cable);
	if (rc)
		return rc;
	if (pm_grow(&n->cables, &n->cables_room, n->num_cables + 1, sizeof(*n->cables)))
		return fail_memory(n);
	n->cables[n->num_cables++] = cable;
	if (n->fabric->nodes[port->node].type == PM_SWITCH)
		return 0;
	return take_port_comment(n, line, cable.port);
}

/* Lines. */

static int check_bytes(struct netlist *n, struct text line)
{
	for (; line.at < line.end; line.at++) {
		unsigned char c = (unsigned char)*line.at;

		if ((c < ' ' && c != '\t' && c != '\r') || c == 0x7f)
			return fail(n, n->line, "not text: byte 0x%02x", c);
	}
	return 0;
}

static int parse_line(struct netlist *n, struct text line)
{
	int rc = check_bytes(n, line);
	bool dropped;

	if (rc || next_is(&line, '#'))
		return rc;
	if (next_is(&line, '['))
		return parse_port(n, line);
	if (next_is(&line, '@'))
		return fail(n, n->line, "aliases ('@') are not supported");
	dropped = n->in_record && n->ports_left;
	n->in_record = false;
	return parse_statement(n, line, dropped);
}

static int check_start(struct netlist *n, struct text text)
{
	if (starts_with(text, "\xef\xbb\xbf") || starts_with(text, "\xff\xfe") ||
	    starts_with(text, "\xfe\xff"))
		return fail(n, 1, "not plain text: it starts with a byte-order mark");
	return 0;
}

static int parse_lines(struct netlist *n, struct text text)
{
	int rc = check_start(n, text);

	while (!rc && text.at < text.end) {
		const char *newline = find_char(text, '\n');
		const char *end = newline ? newline : text.end;

		n->line++;
		rc = parse_line(n, (struct text){text.at, end});
		text.at = newline ? newline + 1 : end;
	}
	return rc;
}

/* Resolving and checking. */

static int compare_ids(struct text a, struct text b)
{
	size_t x = text_length(a), y = text_length(b);
	int order = memcmp(a.at, b.at, x < y ? x : y);

	return order ? order : x < y ? -1 : x > y;
}

static int compare_id_keys(const void *a, const void *b)
{
	const struct id_key *x = a, *y = b;
	int order = compare_ids(x->id, y->id);

	return order ? order : x->node < y->node ? -1 : x->node > y->node;
}

static int sort_ids(struct netlist *n, struct id_key *keys)
{
	uint32_t count = n->fabric->num_nodes;

	for (uint32_t i = 0; i < count; i++)
		keys[i] = (struct id_key){n->records[i].id, i};
	qsort(keys, count, sizeof(*keys), compare_id_keys);
	for (uint32_t i = 1; i < count; i++)
		if (text_equal(keys[i - 1].id, keys[i].id))
			return fail(n, n->records[keys[i].node].line,
				    "node id \"%.*s\" is used already on line %" PRIu32,
				    SHOWN(keys[i].id), n->records[keys[i - 1].node].line);
	return 0;
}

static uint32_t find_id(const struct netlist *n, const struct id_key *keys,
			struct text id)
{
	uint32_t low = 0, high = n->fabric->num_nodes;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (compare_ids(keys[mid].id, id) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == n->fabric->num_nodes || !text_equal(keys[low].id, id))
		return PM_NONE;
	return keys[low].node;
}

static int compare_guid_keys(const void *a, const void *b)
{
	const struct guid_key *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int check_unique(struct netlist *n, struct guid_key *keys, uint32_t count,
			const char *what)
{
	qsort(keys, count, sizeof(*keys), compare_guid_keys);
	for (uint32_t i = 1; i < count; i++) {
		const struct record *first = &n->records[keys[i - 1].node];
		const struct record *second = &n->records[keys[i].node];

		if (keys[i - 1].guid == keys[i].guid)
			return fail(n, second->line,
				    "\"%.*s\" has the %s GUID 0x%016" PRIx64
				    " of \"%.*s\" on line %" PRIu32,
				    SHOWN(second->id), what, keys[i].guid,
				    SHOWN(first->id), first->line);
	}
	return 0;
}

/*
 * Nodes differ in their GUIDs, and so do ports. Of the ports of end nodes only
 * those with a cable count: ibnetdiscover does not print the others' GUIDs, and
 * ours for them is a guess.
 */
static int check_guids(struct netlist *n)
{
	const struct pm_fabric *fabric = n->fabric;
	struct guid_key *keys;
	uint32_t count = 0;
	int rc;

	keys = pm_array((size_t)fabric->num_nodes + n->num_cables, sizeof(*keys));
	if (!keys)
		return fail_memory(n);
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		keys[count++] = (struct guid_key){fabric->nodes[i].guid, i};
	rc = check_unique(n, keys, count, "node");
	if (rc)
		goto out;
	count = 0;
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (fabric->nodes[i].type == PM_SWITCH)
			keys[count++] = (struct guid_key){fabric->nodes[i].guid, i};
	for (uint32_t i = 0; i < n->num_cables; i++) {
		const struct pm_port *port = &fabric->ports[n->cables[i].port];

		if (fabric->nodes[port->node].type != PM_SWITCH)
			keys[count++] = (struct guid_key){port->guid, port->node};
	}
	rc = check_unique(n, keys, count, "port");
out:
	free(keys);
	return rc;
}

/* Finds the port at the other end of a cable. */
static int find_peer(struct netlist *n, const struct id_key *keys,
		     const struct cable *cable, uint32_t *peer)
{
	const struct pm_port *port = &n->fabric->ports[cable->port];
	struct text id = id_of_port(n, cable->port);
	uint32_t node = find_id(n, keys, cable->peer);
	unsigned int num_ports;

	if (node == PM_NONE)
		return fail(n, cable->line, "port %u of \"%.*s\": unknown peer \"%.*s\"",
			    port->num, SHOWN(id), SHOWN(cable->peer));
	num_ports = n->fabric->nodes[node].num_ports;
	if (cable->peer_port > num_ports)
		return fail(n, cable->line,
			    "port %u of \"%.*s\": its peer \"%.*s\" has "
			    "ports 1 to %u, not %" PRIu32,
			    port->num, SHOWN(id), SHOWN(cable->peer), num_ports,
			    cable->peer_port);
	*peer = n->fabric->nodes[node].first_port + cable->peer_port;
	if (*peer == cable->port)
		return fail(n, cable->line, "port %u of \"%.*s\" is linked to itself",
			    port->num, SHOWN(id));
	return 0;
}

/* back is what the peer's record says about the peer's port, or NULL. */
static int check_back(struct netlist *n, const struct cable *cable,
		      const struct cable *back)
{
	const struct pm_port *port = &n->fabric->ports[cable->port];
	struct text id = id_of_port(n, cable->port);

	if (!back)
		return fail(n, cable->line,
			    "port %u of \"%.*s\": its peer \"%.*s\" does "
			    "not list port %" PRIu32,
			    port->num, SHOWN(id), SHOWN(cable->peer), cable->peer_port);
	if (back->peer_port != port->num || !text_equal(back->peer, id))
		return fail(n, cable->line,
			    "port %u of \"%.*s\": on line %" PRIu32 " port %" PRIu32
			    " of its peer \"%.*s\" is linked to port %" PRIu32
			    " of \"%.*s\"",
			    port->num, SHOWN(id), back->line, cable->peer_port,
			    SHOWN(cable->peer), back->peer_port, SHOWN(back->peer));
	return 0;
}

static int join(struct pm_fabric *fabric, uint32_t a, uint32_t b)
{
	return pm_fabric_link(fabric, fabric->ports[a].node, fabric->ports[a].num,
			      fabric->ports[b].node, fabric->ports[b].num, NULL);
}

static int link_cables(struct netlist *n, const struct id_key *keys,
		       const struct cable **by_port)
{
	for (uint32_t i = 0; i < n->num_cables; i++)
		by_port[n->cables[i].port] = &n->cables[i];
	for (uint32_t i = 0; i < n->num_cables; i++) {
		const struct cable *cable = &n->cables[i];
		uint32_t peer = PM_NONE;
		int rc;

		rc = find_peer(n, keys, cable, &peer);
		if (!rc)
			rc = check_back(n, cable, by_port[peer]);
		if (!rc && n->fabric->ports[peer].peer == PM_NONE)
			rc = join(n->fabric, cable->port, peer);
		if (rc)
			return rc;
	}
	return 0;
}

static int resolve(struct netlist *n)
{
	struct id_key *keys = pm_array(n->fabric->num_nodes, sizeof(*keys));
	const struct cable **by_port = pm_array(n->fabric->num_ports, sizeof(*by_port));
	int rc;

	if (!keys || !by_port)
		rc = fail_memory(n);
	else if (!n->fabric->num_nodes)
		rc = fail(n, n->line, "no nodes in the netlist");
	else
		rc = sort_ids(n, keys);
	if (!rc)
		rc = check_guids(n);
	if (!rc && !n->fabric->num_switches)
		rc = fail(n, n->line, "no switch in the netlist");
	if (!rc)
		rc = link_cables(n, keys, by_port);
	free(keys);
	free(by_port);
	return rc;
}

int pm_netlist_parse(const char *text, size_t length, const char *source,
		     struct pm_fabric **fabric, struct pm_error *err)
{
	struct netlist n = {
		.source = source,
		.err = err,
		.guid_base = {[PM_CA] = 0x100000, [PM_SWITCH] = 0x200000},
		.guid_next = {[PM_CA] = 0x100000, [PM_SWITCH] = 0x200000},
	};
	int rc;

	if (length > PM_NETLIST_MAX_BYTES)
		return pm_error_set(err, -EFBIG, "%s: more than %zu bytes",
				    shown_source(source), PM_NETLIST_MAX_BYTES);
	n.fabric = pm_fabric_new();
	if (!n.fabric)
		return fail_memory(&n);
	/* An empty text may come with a NULL pointer, which memchr must not see. */
	rc = length ? parse_lines(&n, (struct text){text, text + length}) : 0;
	if (!rc)
		rc = resolve(&n);
	if (!rc)
		rc = pm_fabric_seal(n.fabric, err);
	if (!rc) {
		*fabric = n.fabric;
		n.fabric = NULL;
	}
	pm_fabric_free(n.fabric);
	free(n.records);
	free(n.cables);
	free(n.name);
	return rc;
}

/* Files. */

int pm_netlist_read(const char *path, struct pm_fabric **fabric, struct pm_error *err)
{
	char *text = NULL;
	size_t length = 0;
	int rc = pm_textfile_read(path, &text, &length, err);

	if (!rc)
		rc = pm_netlist_parse(text, length, pm_textfile_name(path), fabric, err);
	free(text);
	return rc;
}
