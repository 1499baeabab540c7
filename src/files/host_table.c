/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads host tables and changes of them, and applies changes. */
#include <portmajor/files/host_table.h>

#include <portmajor/base/alloc.h>
#include <portmajor/base/hash.h>
#include <portmajor/base/lexer.h>
#include <portmajor/base/textfile.h>
#include <portmajor/fabric/mac.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- Lines ---- */

struct reader {
	struct pm_lexer lexer;
	struct pm_host_table table;
	uint32_t room;
	bool changes;
};

static int take_mac(struct reader *r, struct pm_text *rest, uint64_t *mac)
{
	struct pm_text word;

	if (!pm_text_take_word(rest, &word))
		return pm_lexer_fail(&r->lexer, "no MAC address");
	if (!pm_mac_parse(word, mac))
		return pm_lexer_fail(&r->lexer, "no MAC address: %.*s", PM_SHOWN(word));
	if (!pm_mac_is_host(*mac) && *mac != PM_MAC_GROUP)
		return pm_lexer_fail(&r->lexer, "%.*s is no host's address",
				     PM_SHOWN(word));
	return 0;
}

static int take_number(struct reader *r, struct pm_text *rest, const char *what,
		       uint32_t max, uint32_t *number)
{
	struct pm_text word, digits;
	uint64_t value;

	if (!pm_text_take_word(rest, &word))
		return pm_lexer_fail(&r->lexer, "no %s", what);
	digits = word;
	if (pm_text_take_digits(&digits, 10, &value) || !pm_text_is_empty(digits) ||
	    !value || value > max)
		return pm_lexer_fail(&r->lexer, "%s %.*s is not 1 to %" PRIu32, what,
				     PM_SHOWN(word), max);
	*number = (uint32_t)value;
	return 0;
}

static int add_line(struct reader *r, const struct pm_host_line *line)
{
	if (r->table.num == UINT32_MAX ||
	    pm_grow(&r->table.lines, &r->room, r->table.num + 1, sizeof(*line)))
		return pm_error_no_memory(r->lexer.err);
	r->table.lines[r->table.num++] = *line;
	return 0;
}

static int parse_host(struct reader *r, struct pm_text rest)
{
	struct pm_host_line line = {.line = r->lexer.line};
	struct pm_text behind, word;
	bool gone;
	int rc;

	rest = pm_text_before(rest, '#');
	pm_text_skip_blanks(&rest);
	if (pm_text_is_empty(rest))
		return 0;
	behind = rest;
	gone = r->changes && pm_text_take_word(&behind, &word) && pm_text_is(word, "-");
	if (gone)
		rest = behind;
	rc = take_mac(r, &rest, &line.mac);
	if (!rc && !gone)
		rc = take_number(r, &rest, "VLAN", PM_HOST_VLAN_MAX, &line.vlan);
	if (!rc && !gone)
		rc = take_number(r, &rest, "priority", UINT32_MAX, &line.priority);
	if (!rc && pm_text_take_word(&rest, &word))
		rc = pm_lexer_fail(&r->lexer, "more than a line has: %.*s",
				   PM_SHOWN(word));
	return rc ? rc : add_line(r, &line);
}

/* ---- Duplicates ---- */

static int compare_hosts(const void *a, const void *b)
{
	const struct pm_host_line *x = a, *y = b;

	if (x->mac != y->mac)
		return x->mac < y->mac ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int by_priority(const void *a, const void *b)
{
	const struct pm_host_line *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->mac < y->mac ? -1 : x->mac > y->mac;
}

/*
 * Finds two lines of the same priority, in a sorted copy; hosts that are gone have none.
 */
static int find_double(const struct pm_host_table *table, struct pm_host_line pair[2],
		       struct pm_error *err)
{
	struct pm_host_line *lines =
		pm_copy(table->lines, table->num, sizeof(*table->lines));
	int found = 0;

	if (!lines)
		return pm_error_no_memory(err);
	qsort(lines, table->num, sizeof(*lines), by_priority);
	for (uint32_t i = 1; i < table->num && !found; i++) {
		if (!lines[i].vlan || lines[i - 1].priority != lines[i].priority)
			continue;
		memcpy(pair, &lines[i - 1], 2 * sizeof(*lines));
		found = 1;
	}
	free(lines);
	return found;
}

/* Sorts the lines read. */
static int finish_table(struct reader *r)
{
	struct pm_host_line *lines = r->table.lines, pair[2];
	char text[PM_MAC_TEXT];
	int rc;

	if (r->table.num)
		qsort(lines, r->table.num, sizeof(*lines), compare_hosts);
	for (uint32_t i = 1; i < r->table.num; i++)
		if (lines[i].mac == lines[i - 1].mac)
			return pm_lexer_fail_at(&r->lexer, lines[i].line,
						"%s is in line %" PRIu32 ", too",
						pm_mac_print(lines[i].mac, text),
						lines[i - 1].line);
	rc = find_double(&r->table, pair, r->lexer.err);
	if (rc <= 0)
		return rc;
	return pm_lexer_fail_at(&r->lexer, pair[1].line,
				"priority %" PRIu32 " is that of line %" PRIu32 ", too",
				pair[1].priority, pair[0].line);
}

static int parse(const char *text, size_t length, const char *source, bool changes,
		 struct pm_host_table *table, struct pm_error *err)
{
	struct reader r = {.changes = changes};
	struct pm_text line;
	int rc = 0;

	r.lexer = pm_lexer_begin(text, length, source, -EINVAL, err);
	while (!rc && pm_lexer_next(&r.lexer, &line)) {
		rc = pm_lexer_check_text(&r.lexer, line);
		if (!rc)
			rc = parse_host(&r, line);
	}
	if (!rc)
		rc = finish_table(&r);
	if (rc)
		pm_host_table_free(&r.table);
	else
		*table = r.table;
	return rc;
}

int pm_host_table_parse(const char *text, size_t length, const char *source,
			struct pm_host_table *table, struct pm_error *err)
{
	return parse(text, length, source, false, table, err);
}

int pm_host_changes_parse(const char *text, size_t length, const char *source,
			  struct pm_host_table *changes, struct pm_error *err)
{
	return parse(text, length, source, true, changes, err);
}

static int read_file(const char *path, bool changes, struct pm_host_table *table,
		     struct pm_error *err)
{
	char *text = NULL;
	size_t length = 0;
	int rc = pm_textfile_read(path, &text, &length, err);

	if (!rc)
		rc = parse(text, length, pm_textfile_name(path), changes, table, err);
	free(text);
	return rc;
}

int pm_host_table_read(const char *path, struct pm_host_table *table,
		       struct pm_error *err)
{
	return read_file(path, false, table, err);
}

int pm_host_changes_read(const char *path, struct pm_host_table *changes,
			 struct pm_error *err)
{
	return read_file(path, true, changes, err);
}

/* ---- Tables ---- */

/* Merges two tables, both sorted by address. */
static void merge_tables(const struct pm_host_table *table,
			 const struct pm_host_table *changes,
			 struct pm_host_table *changed)
{
	const struct pm_host_line *old = table->lines;
	uint32_t at = 0;

	for (uint32_t i = 0; i < changes->num; i++) {
		const struct pm_host_line *change = &changes->lines[i];

		while (at < table->num && old[at].mac < change->mac)
			changed->lines[changed->num++] = old[at++];
		if (at < table->num && old[at].mac == change->mac)
			at++;
		if (change->vlan)
			changed->lines[changed->num++] = *change;
	}
	while (at < table->num)
		changed->lines[changed->num++] = old[at++];
}

int pm_host_table_change(const struct pm_host_table *table,
			 const struct pm_host_table *changes, const char *source,
			 struct pm_host_table *changed, struct pm_error *err)
{
	struct pm_host_line pair[2];
	struct pm_host_table made = {0};
	char one[PM_MAC_TEXT], two[PM_MAC_TEXT];
	int rc;

	if (changes->num > UINT32_MAX - table->num)
		return pm_error_no_memory(err);
	made.lines = pm_array(table->num + changes->num, sizeof(*made.lines));
	if (!made.lines)
		return pm_error_no_memory(err);
	merge_tables(table, changes, &made);
	rc = find_double(&made, pair, err);
	if (rc == 1)
		rc = pm_error_set(err, -EINVAL,
				  "%s: %s and %s would both have priority %" PRIu32,
				  source, pm_mac_print(pair[0].mac, one),
				  pm_mac_print(pair[1].mac, two), pair[0].priority);
	if (rc)
		pm_host_table_free(&made);
	else
		*changed = made;
	return rc;
}

void pm_host_table_free(struct pm_host_table *table)
{
	free(table->lines);
	*table = (struct pm_host_table){0};
}

const struct pm_host_line *pm_host_table_find(const struct pm_host_table *table,
					      uint64_t mac)
{
	uint32_t low = 0, high = table->num;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table->lines[middle].mac < mac)
			low = middle + 1;
		else
			high = middle;
	}
	return low < table->num && table->lines[low].mac == mac ? &table->lines[low]
								: NULL;
}

uint32_t pm_host_table_sum(const struct pm_host_table *table)
{
	uint64_t hash = PM_HASH_START;

	for (uint32_t i = 0; i < table->num; i++) {
		const struct pm_host_line *line = &table->lines[i];

		hash = pm_hash_number(hash, line->mac);
		hash = pm_hash_number(hash, (uint64_t)line->vlan << 32 | line->priority);
	}
	return (uint32_t)(hash ^ hash >> 32);
}
