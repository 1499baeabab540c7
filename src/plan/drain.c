/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/drain.h>
#include <portmajor/alloc.h>
#include <portmajor/take_out.h>
#include <portmajor/textfile.h>

#include <errno.h>
#include <inttypes.h>

#define MAGIC "portmajor-drained 1"
#define MAX_LINE 512

void pm_drains_free(struct pm_drains *drains)
{
	for (uint32_t i = 0; i < drains->num; i++)
		free(drains->list[i].name);
	free(drains->list);
	*drains = (struct pm_drains){0};
}

static uint32_t find(const struct pm_drains *drains, uint64_t guid, unsigned int num)
{
	for (uint32_t i = 0; i < drains->num; i++)
		if (drains->list[i].guid == guid && drains->list[i].num == num)
			return i;
	return PM_NONE;
}

int pm_drains_add(struct pm_drains *drains, uint64_t guid, unsigned int num,
		  const char *name, bool *added, struct pm_error *err)
{
	bool is_new = find(drains, guid, num) == PM_NONE;
	char *copy;

	if (added)
		*added = is_new;
	if (!is_new)
		return 0;
	copy = strdup(name);
	if (!copy || pm_grow(&drains->list, &drains->room, drains->num + 1,
			     sizeof(*drains->list))) {
		free(copy);
		return pm_error_no_memory(err);
	}
	drains->list[drains->num++] =
		(struct pm_drain){.guid = guid, .num = num, .name = copy};
	return 0;
}

void pm_drains_remove(struct pm_drains *drains, uint32_t i)
{
	free(drains->list[i].name);
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
static bool parse_port(const char *word, unsigned int *num)
{
	size_t digits = strspn(word, "0123456789");

	*num = 0;
	if (!strcmp(word, "-"))
		return true;
	if (!digits || digits > 3 || word[digits])
		return false;
	*num = (unsigned int)strtoul(word, NULL, 10);
	return *num >= 1 && *num <= PM_MAX_PORTS;
}

static bool parse_guid(const char *word, uint64_t *guid)
{
	char *end;

	if (strncmp(word, "0x", 2) != 0 ||
	    strspn(word + 2, "0123456789abcdefABCDEF") != strlen(word + 2))
		return false;
	errno = 0;
	*guid = strtoull(word, &end, 16);
	return !errno && end > word + 2 && *guid;
}

/* "GUID PORT NAME"; the name may have blanks, or be missing. */
static int parse_drain(char *line, struct pm_drains *drains, struct pm_error *err)
{
	static const char blanks[] = " \t\r";
	char *rest = NULL, *guid_word = strtok_r(line, blanks, &rest);
	char *num_word = strtok_r(NULL, blanks, &rest);
	uint64_t guid = 0;
	unsigned int num = 0;
	bool added = false;
	int rc;

	if (!parse_guid(guid_word, &guid))
		return pm_error_set(err, -EINVAL, "\"%s\" is no GUID (0x...)", guid_word);
	if (!num_word || !parse_port(num_word, &num))
		return pm_error_set(err, -EINVAL,
				    "\"%s\" is no port: 1 to %d, or - for the switch",
				    num_word ? num_word : "", PM_MAX_PORTS);
	rest += strspn(rest, blanks);
	rest[strcspn(rest, "\r")] = '\0';
	rc = pm_drains_add(drains, guid, num, rest, &added, err);
	if (!rc && !added)
		rc = pm_error_set(err, -EINVAL, "%s %s is drained already", guid_word,
				  num_word);
	return rc;
}

static int parse_line(const char *line, size_t length, bool *begun,
		      struct pm_drains *drains, struct pm_error *err)
{
	char copy[MAX_LINE];

	if (length >= sizeof(copy) || memchr(line, '\0', length))
		return pm_error_set(err, -EINVAL, "not a line of this file");
	memcpy(copy, line, length);
	copy[length] = '\0';
	if (copy[0] == '#' || !copy[strspn(copy, " \t\r")])
		return 0;
	if (*begun)
		return parse_drain(copy, drains, err);
	copy[strcspn(copy, "\r")] = '\0';
	*begun = !strcmp(copy, MAGIC);
	return *begun ? 0
		      : pm_error_set(err, -EINVAL, "the first line is not \"" MAGIC "\"");
}

int pm_drains_parse(const char *text, size_t length, const char *source,
		    struct pm_drains *drains, struct pm_error *err)
{
	struct pm_drains found = {0};
	struct pm_error why = {""};
	bool begun = false;
	size_t at = 0;
	int rc = 0;

	for (unsigned int line = 1; at < length && !rc; line++) {
		const char *end = memchr(text + at, '\n', length - at);
		size_t size = end ? (size_t)(end - text) - at : length - at;

		rc = parse_line(text + at, size, &begun, &found, &why);
		if (rc == -EINVAL)
			pm_error_set(err, rc, "%s:%u: %s", source, line, why.text);
		else if (rc)
			pm_error_set(err, rc, "%s", why.text);
		at += size + 1;
	}
	if (!rc)
		*drains = found;
	else
		pm_drains_free(&found);
	return rc;
}

int pm_drains_read(const char *path, struct pm_drains *drains, struct pm_error *err)
{
	struct pm_error why;
	size_t length;
	char *text;
	int rc = pm_textfile_read(path, &text, &length, &why);

	if (rc == -ENOENT)
		return 0;
	if (rc)
		return pm_error_set(err, rc, "%s", why.text);
	rc = pm_drains_parse(text, length, pm_textfile_name(path), drains, err);
	free(text);
	return rc;
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
		for (const char *c = d->name; *c; c++)
			putc((unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c, file);
		putc('\n', file);
	}
}

/* ---- The rule ---- */

/* The cables of drained things that are in use. */
struct cables {
	struct take_out *list;
	uint8_t *has; /* [port] whether it is in the list */
	uint32_t num;
};

/* Its ports in `known`, first..last-1: none if it is not there. */
static void find_ports(const struct pm_fabric *known, const struct pm_drain *d,
		       uint32_t *first, uint32_t *last)
{
	uint32_t sw = pm_fabric_find_guid(known, d->guid);
	const struct pm_node *n = sw == PM_NONE ? NULL : &known->nodes[sw];

	*first = *last = 0;
	if (!n || d->num > n->num_ports)
		return;
	*first = n->first_port + (d->num ? d->num : 1);
	*last = d->num ? *first + 1 : n->first_port + n->num_ports + 1;
}

static void add_cables(const struct pm_fabric *known, const struct pm_drain *d,
		       const uint8_t *alive, struct cables *cables)
{
	uint32_t port, last;

	for (find_ports(known, d, &port, &last); port < last; port++) {
		uint32_t peer = known->ports[port].peer;

		if (peer == PM_NONE || !alive[port] || cables->has[port])
			continue;
		cables->has[port] = cables->has[peer] = 1;
		cables->list[cables->num++].port = port;
	}
}

static void note_state(const struct pm_fabric *known, const uint8_t *alive,
		       struct pm_drain *d)
{
	uint32_t port, last, cables = 0;

	d->needed = 0;
	for (find_ports(known, d, &port, &last); port < last; port++)
		if (known->ports[port].peer != PM_NONE) {
			cables++;
			d->needed += alive[port] != 0;
		}
	d->state = d->needed ? PM_DRAIN_NEEDED : cables ? PM_DRAIN_OUT : PM_DRAIN_UNKNOWN;
}

int pm_drains_apply(struct pm_drains *drains, const struct pm_plan *plan, uint8_t *alive,
		    struct pm_error *err)
{
	uint32_t num_ports = plan->known->num_ports;
	struct cables cables = {0};
	int rc = 0;

	if (!drains->num)
		return 0;
	cables.list = pm_array(num_ports, sizeof(*cables.list));
	cables.has = pm_array(num_ports, 1);
	if (!cables.list || !cables.has)
		rc = pm_error_no_memory(err);
	for (uint32_t i = 0; i < drains->num && !rc; i++)
		add_cables(plan->known, &drains->list[i], alive, &cables);
	if (!rc)
		rc = take_out_all(plan, alive, cables.list, cables.num, err);
	for (uint32_t i = 0; i < drains->num && !rc; i++)
		note_state(plan->known, alive, &drains->list[i]);
	free(cables.list);
	free(cables.has);
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
