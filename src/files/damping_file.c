/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads and writes damped links. */
#include <portmajor/files/damping_file.h>

#include <portmajor/base/lexer.h>
#include <portmajor/base/sealed.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define MAGIC "portmajor-holds 1"

/* ---- Writing ---- */

struct job {
	const struct pm_damping *damping;
	const struct pm_damping_clock *clock;
};

static void print_link(FILE *out, const struct pm_damping_record *r)
{
	fprintf(out,
		"cable %016" PRIx64 " %u %016" PRIx64 " %u %" PRIu32 " %" PRIu32
		" %s %" PRIu64,
		r->end[0].guid, r->end[0].num, r->end[1].guid, r->end[1].num, r->downs,
		r->hold_ms, r->up ? "up" : "down", r->changed_ms);
	for (uint32_t i = 0; i < r->num; i++)
		fprintf(out, " %" PRIu64, r->down_ms[i]);
	putc('\n', out);
}

static int print_all(FILE *out, const void *arg)
{
	const struct job *job = arg;
	struct pm_damping_record record;
	uint32_t at = 0;

	fprintf(out, MAGIC "\ntime %" PRIu64 "\n", job->clock->seconds);
	while (pm_damping_export(job->damping, job->clock->now_ms, &at, &record))
		print_link(out, &record);
	return 0;
}

int pm_damping_file_print(const struct pm_damping *damping,
			  const struct pm_damping_clock *clock, char **text,
			  size_t *length)
{
	const struct job job = {damping, clock};

	return pm_sealed_print(print_all, &job, text, length);
}

/* ---- Reading ---- */

struct reader {
	struct pm_lexer lexer;
	const struct pm_damping_clock *clock;
	uint64_t passed_ms; /* time since it was written */
	struct pm_damping *damping;
};

static int bad_line(struct reader *r, const char *what)
{
	return pm_lexer_fail(&r->lexer, "%s", what);
}

static bool take_end(struct pm_text *rest, struct pm_damping_end *end)
{
	uint64_t port;

	if (!pm_text_take_number(rest, 16, UINT64_MAX, &end->guid) ||
	    !pm_text_take_number(rest, 10, PM_MAX_PORTS, &port))
		return false;
	end->num = (unsigned int)port;
	return true;
}

/* Reads the next word as a time, in ms before now. */
static bool take_time(struct reader *r, struct pm_text *rest, uint64_t *ms)
{
	if (!pm_text_take_number(rest, 10, UINT64_MAX / 4, ms))
		return false;
	*ms += r->passed_ms;
	return true;
}

static bool take_state(struct pm_text *rest, bool *up)
{
	struct pm_text word;

	*up = pm_text_take_word(rest, &word) && pm_text_is(word, "up");
	return *up || pm_text_is(word, "down");
}

static int parse_link(struct reader *r, struct pm_text rest)
{
	struct pm_damping_record record = {0};
	struct pm_error why = {""};
	uint64_t downs, hold;
	int rc;

	if (!take_end(&rest, &record.end[0]) || !take_end(&rest, &record.end[1]) ||
	    !pm_text_take_number(&rest, 10, UINT32_MAX, &downs) ||
	    !pm_text_take_number(&rest, 10, UINT32_MAX, &hold) ||
	    !take_state(&rest, &record.up) || !take_time(r, &rest, &record.changed_ms))
		return bad_line(r, "not a cable");
	record.downs = (uint32_t)downs;
	record.hold_ms = (uint32_t)hold;
	while (!pm_text_is_empty(rest) && record.num <= PM_DAMPING_LIMIT_MAX)
		if (!take_time(r, &rest, &record.down_ms[record.num++]))
			return bad_line(r, "not a time");
	if (!pm_text_is_empty(rest))
		return bad_line(r, "too many times");
	rc = pm_damping_import(r->damping, r->clock->now_ms, &record, &why);
	if (rc == -EINVAL)
		return bad_line(r, why.text);
	return rc ? pm_error_set(r->lexer.err, rc, "%s", why.text) : 0;
}

static int parse_time(struct reader *r, struct pm_text rest)
{
	uint64_t written;

	if (!pm_text_take_number(&rest, 10, UINT32_MAX, &written) ||
	    !pm_text_is_empty(rest))
		return bad_line(r, "no time");
	if (written < r->clock->seconds)
		r->passed_ms = (r->clock->seconds - written) * 1000;
	return 0;
}

static int parse_hold(struct reader *r, struct pm_text line)
{
	struct pm_text rest = line, word;

	pm_text_take_word(&rest, &word);
	if (r->lexer.line == 1)
		return pm_text_is(line, MAGIC) ? 0
					       : bad_line(r, "not holds of this version");
	if (r->lexer.line == 2)
		return pm_text_is(word, "time") ? parse_time(r, rest)
						: bad_line(r, "no time");
	return pm_text_is(word, "cable") ? parse_link(r, rest)
					 : bad_line(r, "unknown line");
}

int pm_damping_file_parse(const char *text, size_t length, const char *source,
			  const struct pm_damping_clock *clock,
			  struct pm_damping *damping, struct pm_error *err)
{
	struct reader r = {.clock = clock, .damping = damping};
	const char *end = pm_sealed_end(text, length);
	struct pm_text line;
	int rc = 0;

	if (!end)
		return pm_error_set(err, -EBADMSG,
				    "%s: damaged or cut short: the checksum is wrong",
				    source);
	r.lexer = pm_lexer_begin(text, (size_t)(end - text), source, -EBADMSG, err);
	while (!rc && pm_lexer_next(&r.lexer, &line))
		rc = parse_hold(&r, line);
	if (!rc && r.lexer.line < 2)
		rc = bad_line(&r, "no time");
	return rc;
}
