/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/netlist.h>
#include <portmajor/alloc.h>
#include <portmajor/lexer.h>
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
#define NODE_TYPES (PM_ROUTER + 1)

struct record {
	struct pm_text id;
	uint32_t line;
};

/* One end of a cable, as its port line gives it. */
struct cable {
	struct pm_text peer;
	uint32_t port; /* index into the fabric's ports */
	uint32_t line;
	uint32_t peer_port;
};

struct id_key {
	struct pm_text id;
	uint32_t node;
};

struct guid_key {
	uint64_t guid;
	uint32_t node;
};

struct netlist {
	struct pm_lexer lexer;
	struct pm_fabric *fabric;
	bool in_record;
	unsigned int ports_left; /* of this record, not listed so far */

	struct record *records; /* by node index */
	struct cable *cables;
	uint32_t records_room, cables_room;
	uint32_t num_cables;

	uint64_t guid_base[NODE_TYPES], guid_next[NODE_TYPES];
	uint32_t given[PM_MAX_PORTS + 1]; /* this record's ports: line, or 0 */
};

static int fail_memory(const struct netlist *n)
{
	return pm_error_no_memory(n->lexer.err);
}

static struct pm_text id_of_port(const struct netlist *n, uint32_t port)
{
	return n->records[n->fabric->ports[port].node].id;
}

/* Reading pieces of a line. */

static int need_number(struct netlist *n, struct pm_text *text, unsigned int base,
		       const char *what, uint64_t *value)
{
	switch (pm_text_take_digits(text, base, value)) {
	case -EINVAL:
		return pm_lexer_fail(&n->lexer, "no %s in \"%.*s\"", what,
				     PM_SHOWN(*text));
	case -ERANGE:
		return pm_lexer_fail(&n->lexer, "the %s is too large", what);
	}
	return 0;
}

/* Takes `"quoted"`; text stands on the first quote. */
static int need_quoted(struct netlist *n, struct pm_text *text, struct pm_text *quoted)
{
	return pm_text_take_quoted(text, quoted)
		       ? 0
		       : pm_lexer_fail(&n->lexer, "unterminated quote before \"%.*s\"",
				       PM_SHOWN(*text));
}

/* An id must not look like one of ibsim's aliases or module names. */
static int check_id(struct netlist *n, struct pm_text id)
{
	if (id.at == id.end)
		return pm_lexer_fail(&n->lexer, "empty node id");
	if (pm_text_find(id, '@'))
		return pm_lexer_fail(&n->lexer,
				     "node id \"%.*s\": aliases ('@') are not "
				     "supported",
				     PM_SHOWN(id));
	if (pm_text_find(id, '#'))
		return pm_lexer_fail(&n->lexer,
				     "node id \"%.*s\": modules ('#') are not "
				     "supported",
				     PM_SHOWN(id));
	return 0;
}

/* Reads `lid 3 lmc 0` from among other words of a comment. */
static int read_lid(struct netlist *n, struct pm_text comment, uint32_t index)
{
	struct pm_port *port = &n->fabric->ports[index];
	struct pm_text word;

	while (pm_text_take_word(&comment, &word)) {
		bool is_lmc = pm_text_is(word, "lmc");
		uint64_t limit = is_lmc ? MAX_LMC : MAX_LID;
		uint64_t value;
		int rc;

		if (!is_lmc && !pm_text_is(word, "lid"))
			continue;
		rc = pm_text_take_digits(&comment, 10, &value);
		if (rc == -EINVAL)
			continue; /* a word in some sentence */
		if (rc || value > limit)
			return pm_lexer_fail(
				&n->lexer,
				"%.*s of port %u of \"%.*s\" is not 0 to %" PRIu64,
				PM_SHOWN(word), port->num, PM_SHOWN(id_of_port(n, index)),
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
		    struct pm_text id, struct pm_text name)
{
	uint64_t guid = n->guid_next[type];
	uint32_t node;
	char *copy;
	bool failed;

	if (n->fabric->num_nodes >= PM_MAX_NODES)
		return pm_lexer_fail(&n->lexer, "node \"%.*s\": more than %d nodes",
				     PM_SHOWN(id), PM_MAX_NODES);
	if (pm_grow(&n->records, &n->records_room, n->fabric->num_nodes + 1,
		    sizeof(*n->records)))
		return fail_memory(n);
	copy = strndup(name.at, pm_text_length(name));
	failed = !copy || pm_fabric_add_node(n->fabric, type, guid,
					     (unsigned int)num_ports, copy, &node, NULL);
	free(copy);
	if (failed)
		return fail_memory(n);
	n->records[node] = (struct record){id, n->lexer.line};
	n->guid_next[type] += type == PM_SWITCH ? 1 : num_ports + 1;
	if (type == PM_SWITCH)
		return 0;
	for (uint32_t i = 1; i <= num_ports; i++)
		n->fabric->ports[n->fabric->nodes[node].first_port + i].guid = guid + i;
	return 0;
}

/* The description in `# "description" ...`; name stays as it is without one. */
static int take_description(struct netlist *n, struct pm_text *rest, struct pm_text *name)
{
	const char *hash = pm_text_find(*rest, '#');
	struct pm_text description = {NULL, NULL};
	int rc;

	if (!hash)
		return 0;
	rest->at = hash + 1;
	pm_text_skip_blanks(rest);
	if (!pm_text_next_is(*rest, '"'))
		return 0;
	rc = need_quoted(n, rest, &description);
	if (!rc && description.at < description.end)
		*name = description;
	return rc;
}

/* What follows the last quote: descriptions may have quotes of their own. */
static struct pm_text after_quotes(struct pm_text text)
{
	const char *at = text.end;

	while (at > text.at && at[-1] != '"')
		at--;
	return (struct pm_text){at, text.end};
}

static int parse_record(struct netlist *n, struct pm_text rest, enum pm_node_type type)
{
	struct pm_text id, name;
	uint64_t num_ports;
	int rc;

	rc = need_number(n, &rest, 0, "number of ports", &num_ports);
	if (rc)
		return rc;
	pm_text_skip_blanks(&rest);
	if (!pm_text_next_is(rest, '"'))
		return pm_lexer_fail(&n->lexer, "no quoted id after the number of ports");
	rc = need_quoted(n, &rest, &id);
	if (!rc)
		rc = check_id(n, id);
	if (rc)
		return rc;
	if (num_ports < 1 || num_ports > PM_MAX_PORTS)
		return pm_lexer_fail(&n->lexer,
				     "node \"%.*s\" has %" PRIu64
				     " ports, allowed are 1 to %d",
				     PM_SHOWN(id), num_ports, PM_MAX_PORTS);
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
static int parse_guid(struct netlist *n, struct pm_text rest, enum pm_node_type type)
{
	const char *sign = pm_text_find(rest, '=');
	bool relative = !sign;
	uint64_t value;
	int rc;

	if (relative)
		sign = pm_text_find(rest, '+');
	if (!sign)
		return pm_lexer_fail(&n->lexer, "no '=' or '+' before the GUID");
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
	return pm_lexer_fail(&n->lexer, "ibsim's \"%s\" lines are not supported", word);
}

/*
 * ibsim reads on for more ports unless it has seen them all, and drops the line that
 * ends the record. Taking a line that it drops would give us another fabric.
 */
static int parse_statement(struct netlist *n, struct pm_text line, bool dropped)
{
	/* ibsim compares beginnings too: "switchguids=" is "switchguid". */
	static const struct {
		const char *word;
		enum pm_node_type type;
		int (*parse)(struct netlist *n, struct pm_text rest,
			     enum pm_node_type type);
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

		if (!pm_text_starts(line, word))
			continue;
		if (dropped)
			return pm_lexer_fail(&n->lexer,
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
static int take_port_number(struct netlist *n, struct pm_text *rest, uint64_t *number)
{
	int rc = need_number(n, rest, 10, "port number", number);

	if (rc)
		return rc;
	pm_text_skip_blanks(rest);
	if (!pm_text_next_is(*rest, ']'))
		return pm_lexer_fail(&n->lexer, "no ']' after port number %" PRIu64,
				     *number);
	rest->at++;
	return 0;
}

/* Takes `[1](8f10403960985)` and finds the port of the record's node. */
static int take_port(struct netlist *n, struct pm_text *rest, struct pm_port **port)
{
	struct pm_node *node = &n->fabric->nodes[n->fabric->num_nodes - 1];
	struct pm_text id = n->records[n->fabric->num_nodes - 1].id;
	uint64_t number, guid;
	int rc;

	rest->at++;
	rc = take_port_number(n, rest, &number);
	if (rc)
		return rc;
	if (number < 1 || number > node->num_ports)
		return pm_lexer_fail(&n->lexer,
				     "\"%.*s\" has ports 1 to %u, not %" PRIu64,
				     PM_SHOWN(id), node->num_ports, number);
	if (n->given[number])
		return pm_lexer_fail(&n->lexer,
				     "port %" PRIu64
				     " of \"%.*s\" is given already on line %" PRIu32,
				     number, PM_SHOWN(id), n->given[number]);
	n->given[number] = n->lexer.line;
	n->ports_left--;
	*port = &n->fabric->ports[node->first_port + number];
	pm_text_skip_blanks(rest);
	if (!pm_text_next_is(*rest, '('))
		return 0;
	rest->at++;
	rc = need_number(n, rest, 16, "port GUID", &guid);
	if (rc)
		return rc;
	if (!pm_text_next_is(*rest, ')'))
		return pm_lexer_fail(&n->lexer,
				     "no ')' after the GUID of port %" PRIu64
				     " of \"%.*s\"",
				     number, PM_SHOWN(id));
	if (node->type != PM_SWITCH)
		(*port)->guid = guid;
	return 0;
}

/* Takes `"peer"[2]`, with anything that is no comment before it. */
static int take_peer(struct netlist *n, struct pm_text *rest, struct cable *cable)
{
	struct pm_text id = id_of_port(n, cable->port);
	unsigned int num = n->fabric->ports[cable->port].num;
	uint64_t number = 1;
	int rc;

	while (rest->at < rest->end && *rest->at != '"' && *rest->at != '#')
		rest->at++;
	if (!pm_text_next_is(*rest, '"'))
		return pm_lexer_fail(&n->lexer, "port %u of \"%.*s\" has no quoted peer",
				     num, PM_SHOWN(id));
	rc = need_quoted(n, rest, &cable->peer);
	if (!rc)
		rc = check_id(n, cable->peer);
	if (rc)
		return rc;
	if (pm_text_next_is(*rest, '[')) {
		rest->at++;
		rc = take_port_number(n, rest, &number);
		if (rc)
			return rc;
	}
	if (number < 1 || number > PM_MAX_PORTS)
		return pm_lexer_fail(&n->lexer,
				     "port %u of \"%.*s\": the peer's port %" PRIu64
				     " is not 1 to %d",
				     num, PM_SHOWN(id), number, PM_MAX_PORTS);
	cable->peer_port = (uint32_t)number;
	return 0;
}

/* `# lid 16 lmc 1 "peer's description" lid 3 4xSDR`: the first LID is ours. */
static int take_port_comment(struct netlist *n, struct pm_text rest, uint32_t port)
{
	const char *hash = pm_text_find(rest, '#');
	const char *quote;

	if (!hash)
		return 0;
	rest.at = hash + 1;
	quote = pm_text_find(rest, '"');
	if (quote)
		rest.end = quote;
	return read_lid(n, rest, port);
}

static int parse_port(struct netlist *n, struct pm_text line)
{
	struct cable cable = {.line = n->lexer.line};
	struct pm_port *port = NULL;
	int rc;

	if (!n->in_record)
		return pm_lexer_fail(&n->lexer, "a port line outside of a node's record");
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

static int parse_line(struct netlist *n, struct pm_text line)
{
	int rc = pm_lexer_check_text(&n->lexer, line);
	bool dropped;

	if (rc || pm_text_next_is(line, '#'))
		return rc;
	if (pm_text_next_is(line, '['))
		return parse_port(n, line);
	if (pm_text_next_is(line, '@'))
		return pm_lexer_fail(&n->lexer, "aliases ('@') are not supported");
	dropped = n->in_record && n->ports_left;
	n->in_record = false;
	return parse_statement(n, line, dropped);
}

static int check_start(struct netlist *n)
{
	static const char *const marks[] = {"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (pm_text_starts(n->lexer.rest, marks[i]))
			return pm_lexer_fail(
				&n->lexer,
				"not plain text: it starts with a byte-order mark");
	return 0;
}

static int parse_lines(struct netlist *n)
{
	struct pm_text line;
	int rc = check_start(n);

	while (!rc && pm_lexer_next(&n->lexer, &line))
		rc = parse_line(n, line);
	return rc;
}

/* Resolving and checking. */

static int compare_id_keys(const void *a, const void *b)
{
	const struct id_key *x = a, *y = b;
	int order = pm_text_compare(x->id, y->id);

	return order ? order : x->node < y->node ? -1 : x->node > y->node;
}

static int sort_ids(struct netlist *n, struct id_key *keys)
{
	uint32_t count = n->fabric->num_nodes;

	for (uint32_t i = 0; i < count; i++)
		keys[i] = (struct id_key){n->records[i].id, i};
	qsort(keys, count, sizeof(*keys), compare_id_keys);
	for (uint32_t i = 1; i < count; i++)
		if (pm_text_equal(keys[i - 1].id, keys[i].id))
			return pm_lexer_fail_at(
				&n->lexer, n->records[keys[i].node].line,
				"node id \"%.*s\" is used already on line %" PRIu32,
				PM_SHOWN(keys[i].id), n->records[keys[i - 1].node].line);
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct id_key *x = a, *y = b;

	return pm_text_compare(x->id, y->id);
}

static uint32_t find_id(const struct netlist *n, const struct id_key *keys,
			struct pm_text id)
{
	const struct id_key wanted = {.id = id};
	const struct id_key *found =
		bsearch(&wanted, keys, n->fabric->num_nodes, sizeof(*keys), compare_ids);

	return found ? found->node : PM_NONE;
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
			return pm_lexer_fail_at(&n->lexer, second->line,
						"\"%.*s\" has the %s GUID 0x%016" PRIx64
						" of \"%.*s\" on line %" PRIu32,
						PM_SHOWN(second->id), what, keys[i].guid,
						PM_SHOWN(first->id), first->line);
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
	struct pm_text id = id_of_port(n, cable->port);
	uint32_t node = find_id(n, keys, cable->peer);
	unsigned int num_ports;

	if (node == PM_NONE)
		return pm_lexer_fail_at(&n->lexer, cable->line,
					"port %u of \"%.*s\": unknown peer \"%.*s\"",
					port->num, PM_SHOWN(id), PM_SHOWN(cable->peer));
	num_ports = n->fabric->nodes[node].num_ports;
	if (cable->peer_port > num_ports)
		return pm_lexer_fail_at(&n->lexer, cable->line,
					"port %u of \"%.*s\": its peer \"%.*s\" has "
					"ports 1 to %u, not %" PRIu32,
					port->num, PM_SHOWN(id), PM_SHOWN(cable->peer),
					num_ports, cable->peer_port);
	*peer = n->fabric->nodes[node].first_port + cable->peer_port;
	if (*peer == cable->port)
		return pm_lexer_fail_at(&n->lexer, cable->line,
					"port %u of \"%.*s\" is linked to itself",
					port->num, PM_SHOWN(id));
	return 0;
}

/* back is what the peer's record says about the peer's port, or NULL. */
static int check_back(struct netlist *n, const struct cable *cable,
		      const struct cable *back)
{
	const struct pm_port *port = &n->fabric->ports[cable->port];
	struct pm_text id = id_of_port(n, cable->port);

	if (!back)
		return pm_lexer_fail_at(&n->lexer, cable->line,
					"port %u of \"%.*s\": its peer \"%.*s\" does "
					"not list port %" PRIu32,
					port->num, PM_SHOWN(id), PM_SHOWN(cable->peer),
					cable->peer_port);
	if (back->peer_port != port->num || !pm_text_equal(back->peer, id))
		return pm_lexer_fail_at(
			&n->lexer, cable->line,
			"port %u of \"%.*s\": on line %" PRIu32 " port %" PRIu32
			" of its peer \"%.*s\" is linked to port %" PRIu32 " of \"%.*s\"",
			port->num, PM_SHOWN(id), back->line, cable->peer_port,
			PM_SHOWN(cable->peer), back->peer_port, PM_SHOWN(back->peer));
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
		rc = pm_lexer_fail(&n->lexer, "no nodes in the netlist");
	else
		rc = sort_ids(n, keys);
	if (!rc)
		rc = check_guids(n);
	if (!rc && !n->fabric->num_switches)
		rc = pm_lexer_fail(&n->lexer, "no switch in the netlist");
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
		.lexer = pm_lexer_begin(text, length, source, -EINVAL, err),
		.guid_base = {[PM_CA] = 0x100000, [PM_SWITCH] = 0x200000},
		.guid_next = {[PM_CA] = 0x100000, [PM_SWITCH] = 0x200000},
	};
	int rc;

	if (length > PM_NETLIST_MAX_BYTES)
		return pm_error_set(err, -EFBIG, "%s: more than %zu bytes", source,
				    PM_NETLIST_MAX_BYTES);
	n.fabric = pm_fabric_new();
	if (!n.fabric)
		return fail_memory(&n);
	rc = parse_lines(&n);
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
