/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads drains, and excludes their links. */
#include <portmajor/base/alloc.h>
#include <portmajor/base/lexer.h>
#include <portmajor/base/textfile.h>
#include <portmajor/policy/drain.h>
#include <portmajor/policy/exclude.h>

#include <errno.h>
#include <inttypes.h>

#define MAGIC "portmajor-drained 1"
#define MAX_FILE ((size_t)16 << 20)
#define MAX_LINE 512
#define MAX_NAME 256 /* that is written, so that its line can be read */

static void free_drain(struct pm_drain *d)
{
	free(d->name);
	free(d->label);
	free(d->by);
	free(d->reason);
}

void pm_drains_free(struct pm_drains *drains)
{
	for (uint32_t i = 0; i < drains->num; i++)
		free_drain(&drains->list[i]);
	free(drains->list);
	*drains = (struct pm_drains){0};
}

static uint32_t find_drain(const struct pm_drains *drains, uint64_t guid,
			   unsigned int num)
{
	for (uint32_t i = 0; i < drains->num; i++)
		if (drains->list[i].guid == guid && drains->list[i].num == num)
			return i;
	return PM_NONE;
}

/* How long the name is in a label of a switch with this GUID. */
static size_t name_length(const char *label, uint64_t guid)
{
	size_t length = strlen(label), guid_length;
	char text[24];

	guid_length = (size_t)snprintf(text, sizeof(text), " (0x%016" PRIx64 ")", guid);
	if (length > guid_length && !strcmp(label + length - guid_length, text))
		return length - guid_length;
	snprintf(text, sizeof(text), "0x%016" PRIx64, guid);
	return strcmp(label, text) != 0 ? length : 0;
}

int pm_drains_add(struct pm_drains *drains, uint64_t guid, unsigned int num,
		  const char *label, bool *added, struct pm_error *err)
{
	bool is_new = find_drain(drains, guid, num) == PM_NONE;
	char *name, *copy;

	if (added)
		*added = is_new;
	if (!is_new)
		return 0;
	copy = strdup(label);
	name = strndup(label, name_length(label, guid));
	if (!copy || !name ||
	    pm_grow(&drains->list, &drains->room, drains->num + 1,
		    sizeof(*drains->list))) {
		free(copy);
		free(name);
		return pm_error_no_memory(err);
	}
	drains->list[drains->num++] =
		(struct pm_drain){.guid = guid, .num = num, .name = name, .label = copy};
	return 0;
}

int pm_drains_note(struct pm_drains *drains, uint32_t i, uint64_t since, const char *by,
		   const char *reason, struct pm_error *err)
{
	struct pm_drain *d = &drains->list[i];
	char *own_by = by ? strdup(by) : NULL,
	     *own_reason = reason ? strdup(reason) : NULL;

	if ((by && !own_by) || (reason && !own_reason)) {
		free(own_by);
		free(own_reason);
		return pm_error_no_memory(err);
	}
	free(d->by);
	free(d->reason);
	d->since = since;
	d->by = own_by;
	d->reason = own_reason;
	return 0;
}

int pm_drains_copy(const struct pm_drains *from, struct pm_drains *to,
		   struct pm_error *err)
{
	struct pm_drains copy = {0};
	int rc = 0;

	for (uint32_t i = 0; i < from->num && !rc; i++) {
		const struct pm_drain *d = &from->list[i];

		rc = pm_drains_add(&copy, d->guid, d->num, d->label, NULL, err);
		if (!rc)
			rc = pm_drains_note(&copy, i, d->since, d->by, d->reason, err);
	}
	if (rc) {
		pm_drains_free(&copy);
		return rc;
	}
	pm_drains_free(to);
	*to = copy;
	return 0;
}

void pm_drains_remove(struct pm_drains *drains, uint32_t i)
{
	free_drain(&drains->list[i]);
	memmove(&drains->list[i], &drains->list[i + 1],
		(drains->num - i - 1) * sizeof(*drains->list));
	drains->num--;
}

bool pm_drains_equal(const struct pm_drains *a, const struct pm_drains *b)
{
	if (a->num != b->num)
		return false;
	for (uint32_t i = 0; i < a->num; i++)
		if (a->list[i].guid != b->list[i].guid ||
		    a->list[i].num != b->list[i].num)
			return false;
	return true;
}

/* ---- The file ---- */

/* "-" is 0: the whole switch. */
static bool parse_drained_port(struct pm_text word, unsigned int *num)
{
	uint64_t value = 0;

	*num = 0;
	if (pm_text_is(word, "-"))
		return true;
	if (pm_text_length(word) > 3 || pm_text_take_digits(&word, 10, &value) ||
	    !pm_text_is_empty(word))
		return false;
	*num = (unsigned int)value;
	return value >= 1 && value <= PM_MAX_PORTS;
}

static bool parse_guid(struct pm_text word, uint64_t *guid)
{
	return pm_text_starts(word, "0x") && !pm_text_take_digits(&word, 16, guid) &&
	       pm_text_is_empty(word) && *guid;
}

/* "GUID PORT NAME"; the name may have blanks, or be missing. */
static int parse_drain(const struct pm_lexer *lexer, struct pm_text rest,
		       struct pm_drains *drains)
{
	struct pm_text guid_word, num_word;
	char name[MAX_LINE];
	unsigned int num;
	uint64_t guid;
	bool added;

	pm_text_take_word(&rest, &guid_word);
	if (!parse_guid(guid_word, &guid))
		return pm_lexer_fail(lexer, "\"%.*s\" is no GUID (0x...)",
				     PM_SHOWN(guid_word));
	pm_text_take_word(&rest, &num_word);
	if (!parse_drained_port(num_word, &num))
		return pm_lexer_fail(lexer,
				     "\"%.*s\" is no port: 1 to %d, or - for the switch",
				     PM_SHOWN(num_word), PM_MAX_PORTS);
	pm_text_skip_blanks(&rest);
	rest = pm_text_before(rest, '\r');
	snprintf(name, sizeof(name), "%.*s", (int)pm_text_length(rest), rest.at);
	if (pm_drains_add(drains, guid, num, name, &added, lexer->err))
		return -ENOMEM;
	return added ? 0
		     : pm_lexer_fail(lexer, "%.*s %.*s is drained already",
				     PM_SHOWN(guid_word), PM_SHOWN(num_word));
}

/* "since SECONDS", "by USER" or "reason TEXT", of the last drain. */
static int parse_note(const struct pm_lexer *lexer, struct pm_text key,
		      struct pm_text rest, struct pm_drains *drains)
{
	struct pm_drain *d = &drains->list[drains->num - 1];
	uint64_t since = d->since;
	char text[MAX_LINE];
	bool is_since = pm_text_is(key, "since"), is_by = pm_text_is(key, "by");

	pm_text_skip_blanks(&rest);
	rest = pm_text_before(rest, '\r');
	if (is_since && (pm_text_take_digits(&rest, 10, &since) ||
			 !pm_text_is_empty(rest) || since > INT64_MAX))
		return pm_lexer_fail(lexer, "since is no number of seconds");
	snprintf(text, sizeof(text), "%.*s", (int)pm_text_length(rest), rest.at);
	return pm_drains_note(drains, drains->num - 1, since, is_by ? text : d->by,
			      is_since || is_by ? d->reason : text, lexer->err);
}

static bool is_note(struct pm_text key)
{
	return pm_text_is(key, "since") || pm_text_is(key, "by") ||
	       pm_text_is(key, "reason");
}

/* A line behind the first one. */
static int parse_item(const struct pm_lexer *lexer, struct pm_text rest,
		      struct pm_drains *drains)
{
	struct pm_text after = rest, key;

	pm_text_take_word(&after, &key);
	return drains->num && is_note(key) ? parse_note(lexer, key, after, drains)
					   : parse_drain(lexer, rest, drains);
}

static int parse_drain_line(const struct pm_lexer *lexer, struct pm_text line,
			    bool *begun, struct pm_drains *drains)
{
	struct pm_text rest = line;

	if (pm_text_length(line) >= MAX_LINE || pm_text_find(line, '\0'))
		return pm_lexer_fail(lexer, "not a line of this file");
	pm_text_skip_blanks(&rest);
	if (pm_text_next_is(line, '#') || pm_text_is_empty(rest))
		return 0;
	if (*begun)
		return parse_item(lexer, rest, drains);
	*begun = pm_text_is(pm_text_before(line, '\r'), MAGIC);
	return *begun ? 0 : pm_lexer_fail(lexer, "the first line is not \"" MAGIC "\"");
}

int pm_drains_parse(const char *text, size_t length, const char *source,
		    struct pm_drains *drains, struct pm_error *err)
{
	struct pm_lexer lexer = pm_lexer_begin(text, length, source, -EINVAL, err);
	struct pm_drains found = {0};
	struct pm_text line;
	bool begun = false;
	int rc = 0;

	while (!rc && pm_lexer_next(&lexer, &line))
		rc = parse_drain_line(&lexer, line, &begun, &found);
	if (!rc)
		*drains = found;
	else
		pm_drains_free(&found);
	return rc;
}

int pm_drains_read(const char *path, struct pm_drains *drains, struct pm_error *err)
{
	struct pm_error why;
	char *text;
	int rc = pm_textfile_read_string(path, MAX_FILE, &text, &why);

	if (rc == -ENOENT)
		return 0;
	if (rc)
		return pm_error_set(err, rc, "%s", why.text);
	rc = pm_drains_parse(text, strlen(text), path, drains, err);
	free(text);
	return rc;
}

/* With no byte that would end the line, or be longer than can be read. */
static void print_words(FILE *file, const char *text)
{
	for (const char *c = text; *c && c < text + MAX_NAME; c++)
		putc((unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c, file);
	putc('\n', file);
}

static void print_notes(FILE *file, const struct pm_drain *d)
{
	if (d->since)
		fprintf(file, "since %" PRIu64 "\n", d->since);
	if (d->by) {
		fputs("by ", file);
		print_words(file, d->by);
	}
	if (d->reason) {
		fputs("reason ", file);
		print_words(file, d->reason);
	}
}

void pm_drains_print(const struct pm_drains *drains, FILE *file)
{
	fputs(MAGIC "\n", file);
	for (uint32_t i = 0; i < drains->num; i++) {
		const struct pm_drain *d = &drains->list[i];

		fprintf(file, "0x%016" PRIx64, d->guid);
		if (d->num)
			fprintf(file, " %u ", d->num);
		else
			fputs(" - ", file);
		print_words(file, d->label);
		print_notes(file, d);
	}
}

/* ---- The rule ---- */

/* The links of drained things that are in use. */
struct links {
	struct pm_exclusion *list;
	uint8_t *has; /* [port] whether it is in the list */
	uint32_t num;
};

/* Its ports in `topology`, first..last-1: none if it is not there. */
static void find_ports(const struct pm_fabric *topology, const struct pm_drain *d,
		       uint32_t *first, uint32_t *last)
{
	uint32_t sw = pm_fabric_find_guid(topology, d->guid);
	const struct pm_node *n = sw == PM_NONE ? NULL : &topology->nodes[sw];

	*first = *last = 0;
	if (!n || d->num > n->num_ports)
		return;
	*first = n->first_port + (d->num ? d->num : 1);
	*last = d->num ? *first + 1 : n->first_port + n->num_ports + 1;
}

static void add_links(const struct pm_fabric *topology, const struct pm_drain *d,
		      const uint8_t *usable, struct links *links)
{
	uint32_t port, last;

	for (find_ports(topology, d, &port, &last); port < last; port++) {
		uint32_t peer = topology->ports[port].peer;

		if (peer == PM_NONE || !usable[port] || links->has[port])
			continue;
		links->has[port] = links->has[peer] = 1;
		links->list[links->num++].port = port;
	}
}

static void note_state(const struct pm_fabric *topology, const uint8_t *usable,
		       struct pm_drain *d)
{
	uint32_t port, last, links = 0;

	d->needed = 0;
	for (find_ports(topology, d, &port, &last); port < last; port++)
		if (topology->ports[port].peer != PM_NONE) {
			links++;
			d->needed += usable[port] != 0;
		}
	d->state = d->needed ? PM_DRAIN_NEEDED : links ? PM_DRAIN_OUT : PM_DRAIN_UNKNOWN;
}

int pm_drains_apply(struct pm_drains *drains, const struct pm_plan *plan, uint8_t *usable,
		    struct pm_error *err)
{
	uint32_t num_ports = plan->topology->num_ports;
	struct links links = {0};
	int rc = 0;

	if (!drains->num)
		return 0;
	links.list = pm_array(num_ports, sizeof(*links.list));
	links.has = pm_array(num_ports, 1);
	if (!links.list || !links.has)
		rc = pm_error_no_memory(err);
	for (uint32_t i = 0; i < drains->num && !rc; i++)
		add_links(plan->topology, &drains->list[i], usable, &links);
	if (!rc)
		rc = pm_exclude(plan, usable, links.list, links.num, err);
	for (uint32_t i = 0; i < drains->num && !rc; i++)
		note_state(plan->topology, usable, &drains->list[i]);
	free(links.list);
	free(links.has);
	return rc;
}

const char *pm_drain_state_name(enum pm_drain_state state)
{
	static const char *const names[] = {
		[PM_DRAIN_UNKNOWN] = "unknown",
		[PM_DRAIN_OUT] = "out",
		[PM_DRAIN_NEEDED] = "needed",
	};

	return names[state];
}
