/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads and writes the list of drains. */
#include <portmajor/base/escape.h>
#include <portmajor/base/lexer.h>
#include <portmajor/base/textfile.h>
#include <portmajor/files/drain_file.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define MAGIC "portmajor-drained 1"
#define MAX_FILE ((size_t)16 << 20)
#define MAX_LINE 512
#define MAX_NAME 256 /* longest name written, so that its line can be read */

/* "-" is 0 and means the whole switch. */
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

/* "GUID PORT NAME"; the name may have blanks, and may be missing. */
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

/* "since SECONDS", "by USER" or "reason TEXT", about the last drain. */
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

/* Parses a line after the first one. */
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

/* Prints words, no more than can be read, and ends the line. */
static void print_words(FILE *file, const char *text)
{
	pm_put_field(file, text, MAX_NAME, "");
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
