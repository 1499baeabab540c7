/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads and writes plans. */
#include <portmajor/base/alloc.h>
#include <portmajor/base/lexer.h>
#include <portmajor/base/sealed.h>
#include <portmajor/base/textfile.h>
#include <portmajor/files/plan_file.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* the first line: a new format changes the meaning of all others */
static const char magic[] = "portmajor-plan 4";

/* roles of end ports */
static const char *const roles[] = {[PM_COMPUTE] = "host",
				    [PM_IO] = "io",
				    [PM_SERVICE] = "service",
				    [PM_AGGREGATION] = "aggregation"};

/* ---- Writing ---- */

static void print_name(FILE *out, const char *name)
{
	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;

		fprintf(out, c <= ' ' || c == '%' || c > 126 ? "%%%02X" : "%c", c);
	}
}

static void print_skeleton(FILE *out, const struct pm_fabric *topology)
{
	for (uint32_t i = 0; i < topology->num_switches; i++) {
		fprintf(out, "switch %" PRIx64 " %" PRIx64 " %u ", topology->nodes[i].key,
			topology->nodes[i].guid, topology->nodes[i].num_ports);
		print_name(out, pm_fabric_name(topology, i));
		putc('\n', out);
	}
	for (uint32_t i = 0; i < topology->num_switches; i++)
		if (topology->nodes[i].root)
			fprintf(out, "%s %u\n",
				topology->nodes[i].root == PM_ROOT_NAMED ? "root"
									 : "guessed_root",
				i);
	for (uint32_t i = 0; i < topology->num_ports; i++) {
		const struct pm_port *p = &topology->ports[i], *remote;

		if (p->peer == PM_NONE || p->peer < i)
			continue;
		remote = &topology->ports[p->peer];
		fprintf(out, "cable %u %u %u %u\n", p->node, p->num, remote->node,
			remote->num);
	}
	for (uint32_t i = 0; i < topology->num_ports; i++)
		if (topology->ports[i].host)
			fprintf(out, "%s %u %u\n", roles[topology->ports[i].host],
				topology->ports[i].node, topology->ports[i].num);
}

static void print_plane(FILE *out, uint32_t plane)
{
	if (plane == PM_NONE)
		fputs(" -", out);
	else
		fprintf(out, " %u", plane);
}

static int print_plan(FILE *out, const void *arg)
{
	const struct pm_plan *plan = arg;

	fprintf(out, "%s\norder %s\nlmc %u\n", magic, pm_lid_order_name(plan->order),
		plan->lmc);
	if (plan->adopted)
		fputs("adopted\n", out);
	print_skeleton(out, plan->topology);
	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		if (!plan->lid[i])
			continue;
		fprintf(out, "place %u %u %u", plan->topology->ports[i].node,
			plan->topology->ports[i].num, plan->lid[i]);
		print_plane(out, plan->plane[i]);
		fprintf(out, " %u %u\n", plan->base_plane[i], plan->rank[i]);
	}
	for (uint32_t i = 0; i < plan->num_runs; i++) {
		fprintf(out, "run %u %u", plan->runs[i].start, plan->runs[i].length);
		print_plane(out, plan->runs[i].plane);
		putc('\n', out);
	}
	return 0;
}

int pm_plan_file_print(const struct pm_plan *plan, char **text, size_t *length)
{
	return pm_sealed_print(print_plan, plan, text, length);
}

/* ---- Reading ---- */

struct reader {
	struct pm_lexer lexer;
	struct pm_plan_config config;
	bool adopted;
	struct pm_fabric *fabric;
	struct pm_plan_place *places;
	struct pm_run *runs;
	uint32_t num_places, places_room, num_runs, runs_room;
};

static int bad_line(struct reader *r, const char *what)
{
	return pm_lexer_fail(&r->lexer, "%s", what);
}

/* "-" means none. */
static bool take_plane(struct pm_text *rest, uint32_t *plane)
{
	struct pm_text behind = *rest, word;
	uint64_t value;

	if (pm_text_take_word(&behind, &word) && pm_text_is(word, "-")) {
		*rest = behind;
		*plane = PM_NONE;
		return true;
	}
	if (!pm_text_take_number(rest, 10, PM_NONE - 1, &value))
		return false;
	*plane = (uint32_t)value;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool unescape(char *name)
{
	char *to = name;

	for (; *name; name++) {
		int high, low;

		if (*name != '%') {
			*to++ = *name;
			continue;
		}
		high = hex_digit(name[1]);
		low = high < 0 ? -1 : hex_digit(name[2]);
		if (low < 0 || high + low == 0)
			return false;
		*to++ = (char)(high * 16 + low);
		name += 2;
	}
	*to = '\0';
	return true;
}

static int add_switch(struct reader *r, uint64_t key, uint64_t guid, unsigned int ports,
		      char *name)
{
	uint32_t node;
	int rc;

	if (!unescape(name))
		return bad_line(r, "not a switch");
	rc = pm_fabric_add_node(r->fabric, PM_SWITCH, guid, ports, name, &node,
				r->lexer.err);
	if (rc)
		return rc == -ENOMEM ? rc : bad_line(r, "this switch cannot be added");
	r->fabric->nodes[node].key = key;
	return 0;
}

static int parse_switch(struct reader *r, struct pm_text rest)
{
	uint64_t key, guid, ports;
	char *name;
	int rc;

	if (!pm_text_take_number(&rest, 16, UINT64_MAX, &key) ||
	    !pm_text_take_number(&rest, 16, UINT64_MAX, &guid) ||
	    !pm_text_take_number(&rest, 10, PM_MAX_PORTS, &ports) ||
	    !pm_text_next_is(rest, ' '))
		return bad_line(r, "not a switch");
	rest.at++;
	name = strndup(rest.at, pm_text_length(rest));
	if (!name)
		return pm_error_no_memory(r->lexer.err);
	rc = add_switch(r, key, guid, (unsigned int)ports, name);
	free(name);
	return rc;
}

static bool take_port(struct reader *r, struct pm_text *rest, uint32_t *node,
		      uint32_t *port)
{
	uint64_t n, p;

	if (!r->fabric->num_nodes ||
	    !pm_text_take_number(rest, 10, r->fabric->num_nodes - 1, &n) ||
	    !pm_text_take_number(rest, 10, r->fabric->nodes[n].num_ports, &p))
		return false;
	*node = (uint32_t)n;
	*port = (uint32_t)p;
	return true;
}

static int parse_link(struct reader *r, struct pm_text rest)
{
	uint32_t a, b, port_a, port_b;

	if (!take_port(r, &rest, &a, &port_a) || !take_port(r, &rest, &b, &port_b) ||
	    !pm_text_is_empty(rest))
		return bad_line(r, "not a cable");
	if (pm_fabric_link(r->fabric, a, port_a, b, port_b, NULL))
		return bad_line(r, "a port of this cable is in use or is none");
	return 0;
}

static int parse_any_root(struct reader *r, struct pm_text rest, enum pm_root kind)
{
	uint64_t node;

	if (!r->fabric->num_nodes ||
	    !pm_text_take_number(&rest, 10, r->fabric->num_nodes - 1, &node) ||
	    !pm_text_is_empty(rest))
		return bad_line(r, "not a root");
	r->fabric->nodes[node].root = (uint8_t)kind;
	return 0;
}

static int parse_root(struct reader *r, struct pm_text rest)
{
	return parse_any_root(r, rest, PM_ROOT_NAMED);
}

static int parse_guessed_root(struct reader *r, struct pm_text rest)
{
	return parse_any_root(r, rest, PM_ROOT_GUESSED);
}

static int parse_end_port(struct reader *r, struct pm_text rest, enum pm_host kind)
{
	uint32_t node, port;
	struct pm_port *p;

	if (!take_port(r, &rest, &node, &port) || !pm_text_is_empty(rest) || !port)
		return bad_line(r, "not a host port");
	p = &r->fabric->ports[r->fabric->nodes[node].first_port + port];
	if (p->peer != PM_NONE)
		return bad_line(r, "this port has a cable to a switch");
	p->host = (uint8_t)kind;
	return 0;
}

static int parse_host(struct reader *r, struct pm_text rest)
{
	return parse_end_port(r, rest, PM_COMPUTE);
}

static int parse_io(struct reader *r, struct pm_text rest)
{
	return parse_end_port(r, rest, PM_IO);
}

static int parse_service(struct reader *r, struct pm_text rest)
{
	return parse_end_port(r, rest, PM_SERVICE);
}

static int parse_aggregation(struct reader *r, struct pm_text rest)
{
	return parse_end_port(r, rest, PM_AGGREGATION);
}

static int parse_place(struct reader *r, struct pm_text rest)
{
	uint32_t node, port, plane;
	uint64_t lid, base_plane, rank;

	if (!take_port(r, &rest, &node, &port) ||
	    !pm_text_take_number(&rest, 10, PM_MAX_LID, &lid) ||
	    !take_plane(&rest, &plane) ||
	    !pm_text_take_number(&rest, 10, UINT8_MAX, &base_plane) ||
	    !pm_text_take_number(&rest, 10, UINT16_MAX, &rank) || !pm_text_is_empty(rest))
		return bad_line(r, "not a place");
	if (pm_grow(&r->places, &r->places_room, r->num_places + 1, sizeof(*r->places)))
		return pm_error_no_memory(r->lexer.err);
	r->places[r->num_places++] =
		(struct pm_plan_place){.port = r->fabric->nodes[node].first_port + port,
				       .plane = plane,
				       .rank = (uint32_t)rank,
				       .lid = (uint16_t)lid,
				       .base_plane = (uint8_t)base_plane};
	return 0;
}

static int parse_run(struct reader *r, struct pm_text rest)
{
	uint64_t start, length;
	uint32_t plane;

	if (!pm_text_take_number(&rest, 10, PM_MAX_LID, &start) ||
	    !pm_text_take_number(&rest, 10, PM_MAX_LID + 1, &length) ||
	    !take_plane(&rest, &plane) || !pm_text_is_empty(rest))
		return bad_line(r, "not a run");
	if (pm_grow(&r->runs, &r->runs_room, r->num_runs + 1, sizeof(*r->runs)))
		return pm_error_no_memory(r->lexer.err);
	r->runs[r->num_runs++] =
		(struct pm_run){(uint16_t)start, (uint16_t)length, plane};
	return 0;
}

static int parse_order(struct reader *r, struct pm_text rest)
{
	char name[32];

	pm_text_skip_blanks(&rest);
	snprintf(name, sizeof(name), "%.*s", PM_SHOWN(rest));
	return pm_lid_order_parse(name, &r->config.order) ? bad_line(r, "no order") : 0;
}

static int parse_lmc(struct reader *r, struct pm_text rest)
{
	uint64_t lmc;

	if (!pm_text_take_number(&rest, 10, PM_MAX_LMC, &lmc) || !pm_text_is_empty(rest))
		return bad_line(r, "no lmc");
	r->config.lmc = (uint8_t)lmc;
	return 0;
}

static int parse_magic(struct reader *r, struct pm_text line)
{
	struct pm_text own = {magic, magic + sizeof(magic) - 1}, rest = line, word,
		       wanted;

	pm_text_take_word(&own, &wanted);
	pm_text_skip_blanks(&own);
	if (!pm_text_take_word(&rest, &word) || !pm_text_equal(word, wanted))
		return bad_line(r, "not a plan");
	pm_text_skip_blanks(&rest);
	if (pm_text_equal(rest, own))
		return 0;
	return pm_lexer_fail(&r->lexer,
			     "a plan of format %.*s; this version reads format %.*s",
			     PM_SHOWN(rest), PM_SHOWN(own));
}

static int parse_plan_line(struct reader *r, struct pm_text line)
{
	static const struct {
		const char *word;
		int (*parse)(struct reader *r, struct pm_text rest);
	} kinds[] = {
		{"switch", parse_switch},   {"cable", parse_link},
		{"host", parse_host},	    {"io", parse_io},
		{"service", parse_service}, {"aggregation", parse_aggregation},
		{"root", parse_root},	    {"guessed_root", parse_guessed_root},
		{"place", parse_place},	    {"run", parse_run},
	};
	struct pm_text rest = line, word;

	pm_text_take_word(&rest, &word);
	if (r->lexer.line == 1)
		return parse_magic(r, line);
	if (r->lexer.line == 2)
		return pm_text_is(word, "order") ? parse_order(r, rest)
						 : bad_line(r, "no order");
	if (r->lexer.line == 3)
		return pm_text_is(word, "lmc") ? parse_lmc(r, rest)
					       : bad_line(r, "no lmc");
	if (r->lexer.line == 4 && pm_text_is(line, "adopted")) {
		r->adopted = true;
		return 0;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (pm_text_is(word, kinds[i].word))
			return kinds[i].parse(r, rest);
	return bad_line(r, "unknown line");
}

/* Nodes must be in the order of a sealed fabric, as ports are named by number. */
static bool in_order(const struct pm_fabric *fabric)
{
	for (uint32_t i = 1; i < fabric->num_nodes; i++) {
		const struct pm_node *a = &fabric->nodes[i - 1], *b = a + 1;

		if (a->key > b->key || (a->key == b->key && a->guid >= b->guid))
			return false;
	}
	return true;
}

static int parse_lines(struct reader *r)
{
	struct pm_text line;
	int rc = 0;

	while (!rc && pm_lexer_next(&r->lexer, &line))
		rc = parse_plan_line(r, line);
	if (!rc && !in_order(r->fabric))
		rc = pm_error_set(r->lexer.err, -EBADMSG, "%s: switches are not in order",
				  r->lexer.source);
	if (!rc)
		rc = pm_fabric_seal(r->fabric, r->lexer.err);
	return rc == -EEXIST ? -EBADMSG : rc;
}

int pm_plan_file_parse(const char *text, size_t length, const char *source,
		       struct pm_plan **plan, struct pm_error *err)
{
	struct reader r = {.runs = NULL};
	const char *end = pm_sealed_end(text, length);
	int rc;

	if (!end)
		return pm_error_set(err, -EBADMSG,
				    "%s: damaged or cut short: the checksum is wrong",
				    source);
	r.lexer = pm_lexer_begin(text, (size_t)(end - text), source, -EBADMSG, err);
	r.fabric = pm_fabric_new();
	rc = r.fabric ? parse_lines(&r) : pm_error_no_memory(err);
	if (!rc) {
		rc = pm_plan_restore(&r.config, r.fabric, r.places, r.num_places, r.runs,
				     r.num_runs, plan, err);
		r.fabric = NULL;
	}
	if (!rc)
		pm_plan_set_adopted(*plan, r.adopted);
	pm_fabric_free(r.fabric);
	free(r.places);
	free(r.runs);
	return rc;
}

int pm_plan_file_read(const char *path, struct pm_plan **plan, struct pm_error *err)
{
	char *text = NULL;
	size_t length = 0;
	int rc = pm_textfile_read(path, &text, &length, err);

	if (!rc)
		rc = pm_plan_file_parse(text, length, path, plan, err);
	free(text);
	return rc;
}

bool pm_plan_file_is_aside(const char *name)
{
	static const char *const begins[] = {"plan.bad-", "plan.late-", "drifting.bad-",
					     "drifting.late-"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}
