/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads lists of ports and their MAC addresses. */
#include <portmajor/files/mac_list.h>

#include <portmajor/base/alloc.h>
#include <portmajor/base/textfile.h>
#include <portmajor/fabric/mac.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t mac;
	uint32_t port, line;
};

struct named {
	const char *name;
	uint32_t node;
};

struct reader {
	struct pm_lexer lexer;
	const struct pm_fabric *fabric;
	struct named *nodes; /* by name */
	struct entry *list;
	uint32_t num, room;
};

/* Takes the last word from the end. */
static struct pm_text take_last(struct pm_text *text)
{
	struct pm_text word;

	while (text->at < text->end && strchr(" \t\r", text->end[-1]))
		text->end--;
	word = *text;
	while (text->at < text->end && !strchr(" \t\r", text->end[-1]))
		text->end--;
	word.at = text->end;
	while (text->at < text->end && strchr(" \t\r", text->end[-1]))
		text->end--;
	return word;
}

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int index_names(struct reader *r)
{
	uint32_t num = r->fabric->num_nodes;

	r->nodes = pm_array(num, sizeof(*r->nodes));
	if (!r->nodes)
		return pm_error_no_memory(r->lexer.err);
	for (uint32_t i = 0; i < num; i++)
		r->nodes[i] = (struct named){pm_fabric_name(r->fabric, i), i};
	qsort(r->nodes, num, sizeof(*r->nodes), by_name);
	return 0;
}

static int compare_name(const void *text, const void *element)
{
	const struct pm_text *x = text;
	const struct named *y = element;
	size_t length = (size_t)(x->end - x->at);
	int order = strncmp(x->at, y->name, length);

	return order ? order : -(y->name[length] != '\0');
}

#define SEVERAL (PM_NONE - 1)

/* The node with this name, or PM_NONE. */
static uint32_t find_named(const struct reader *r, struct pm_text name)
{
	uint32_t num = r->fabric->num_nodes;
	const struct named *found =
		num ? bsearch(&name, r->nodes, num, sizeof(*found), compare_name) : NULL;

	if (!found)
		return PM_NONE;
	if ((found != r->nodes && !by_name(found, found - 1)) ||
	    (found != r->nodes + num - 1 && !by_name(found, found + 1)))
		return SEVERAL;
	return found->node;
}

/* The port of a name with a port number behind it. PM_NONE: no such name; or SEVERAL. */
static uint32_t find_numbered(const struct reader *r, struct pm_text name)
{
	struct pm_text number = name;
	uint64_t value;
	uint32_t node;

	while (name.at < name.end && *--name.end != '[')
		;
	number.at = name.end + 1;
	if (pm_text_is_empty(name) || pm_text_take_digits(&number, 10, &value) ||
	    !pm_text_is(number, "]"))
		return PM_NONE;
	node = find_named(r, name);
	if (node == PM_NONE || node == SEVERAL)
		return node;
	if (!value || value > r->fabric->nodes[node].num_ports)
		return PM_NONE;
	return r->fabric->nodes[node].first_port + (uint32_t)value;
}

/* Finds an end node's port by name. */
static int find_port(const struct reader *r, struct pm_text name, uint32_t *port)
{
	uint32_t node = find_named(r, name), links = 0;

	*port = PM_NONE;
	if (node == PM_NONE)
		*port = find_numbered(r, name);
	else if (node != SEVERAL)
		pm_for_each_port(i, r->fabric, node)
			if (r->fabric->ports[i].peer != PM_NONE) {
				*port = i;
				links++;
			}
	if (node == SEVERAL || *port == SEVERAL)
		return pm_lexer_fail(&r->lexer, "several nodes are named %.*s",
				     PM_SHOWN(name));
	if (links > 1)
		return pm_lexer_fail(&r->lexer,
				     "%.*s has several ports: NAME[PORT] says which",
				     PM_SHOWN(name));
	if (*port == PM_NONE && node != PM_NONE)
		return pm_lexer_fail(&r->lexer, "%.*s has no cable", PM_SHOWN(name));
	if (*port == PM_NONE)
		return pm_lexer_fail(&r->lexer, "no node is named %.*s", PM_SHOWN(name));
	if (r->fabric->ports[*port].node < r->fabric->num_switches)
		return pm_lexer_fail(&r->lexer, "%.*s is a switch", PM_SHOWN(name));
	return 0;
}

static int parse_address(struct reader *r, struct pm_text line)
{
	struct entry entry = {.line = r->lexer.line};
	struct pm_text word;
	int rc;

	line = pm_text_before(line, '#');
	pm_text_skip_blanks(&line);
	if (pm_text_is_empty(line))
		return 0;
	word = take_last(&line);
	if (pm_text_is_empty(line))
		return pm_lexer_fail(&r->lexer, "a line is NAME MAC, not %.*s",
				     PM_SHOWN(word));
	if (!pm_mac_parse(word, &entry.mac))
		return pm_lexer_fail(&r->lexer, "no MAC address: %.*s", PM_SHOWN(word));
	if (!pm_mac_is_host(entry.mac))
		return pm_lexer_fail(&r->lexer, "%.*s is no host's address",
				     PM_SHOWN(word));
	rc = find_port(r, line, &entry.port);
	if (rc)
		return rc;
	if (pm_grow(&r->list, &r->room, r->num + 1, sizeof(*r->list)))
		return pm_error_no_memory(r->lexer.err);
	r->list[r->num++] = entry;
	return 0;
}

static int compare_macs(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->mac != y->mac)
		return x->mac < y->mac ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int by_port(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Checks that no port and no address is there twice. */
static int check_doubles(struct reader *r)
{
	const struct entry *list = r->list;
	char text[PM_MAC_TEXT];

	if (r->num)
		qsort(r->list, r->num, sizeof(*r->list), compare_macs);
	for (uint32_t i = 1; i < r->num; i++)
		if (list[i].mac == list[i - 1].mac)
			return pm_lexer_fail_at(
				&r->lexer, list[i].line, "%s is in line %" PRIu32 ", too",
				pm_mac_print(list[i].mac, text), list[i - 1].line);
	if (r->num)
		qsort(r->list, r->num, sizeof(*r->list), by_port);
	for (uint32_t i = 1; i < r->num; i++)
		if (list[i].port == list[i - 1].port)
			return pm_lexer_fail_at(
				&r->lexer, list[i].line,
				"%s has an address in line %" PRIu32 ", too",
				pm_fabric_name(r->fabric,
					       r->fabric->ports[list[i].port].node),
				list[i - 1].line);
	return 0;
}

int pm_mac_list_parse(const char *text, size_t length, const char *source,
		      const struct pm_fabric *fabric, uint64_t *mac, struct pm_error *err)
{
	struct reader r = {
		.lexer = pm_lexer_begin(text, length, source, -EINVAL, err),
		.fabric = fabric,
	};
	struct pm_text line;
	int rc = index_names(&r);

	while (!rc && pm_lexer_next(&r.lexer, &line)) {
		rc = pm_lexer_check_text(&r.lexer, line);
		if (!rc)
			rc = parse_address(&r, line);
	}
	if (!rc)
		rc = check_doubles(&r);
	for (uint32_t i = 0; i < r.num && !rc; i++)
		mac[r.list[i].port] = r.list[i].mac;
	free(r.list);
	free(r.nodes);
	return rc;
}

int pm_mac_list_read(const char *path, const struct pm_fabric *fabric, uint64_t *mac,
		     struct pm_error *err)
{
	size_t length = 0;
	char *text = NULL;
	int rc = pm_textfile_read(path, &text, &length, err);

	if (!rc)
		rc = pm_mac_list_parse(text, length, pm_textfile_name(path), fabric, mac,
				       err);
	free(text);
	return rc;
}
