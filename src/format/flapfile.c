/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/flapfile.h>
#include <portmajor/alloc.h>

#include <portmajor/sealed.h>
#include <portmajor/textfile.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define MAGIC "portmajor-holds 1"

/* ---- Writing ---- */

struct job {
	const struct pm_flaps *flaps;
	const struct pm_flap_clock *clock;
};

static void print_cable(FILE *out, const struct pm_flap_record *r)
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
	struct pm_flap_record record;
	uint32_t at = 0;

	fprintf(out, MAGIC "\ntime %" PRIu64 "\n", job->clock->seconds);
	while (pm_flaps_export(job->flaps, job->clock->now_ms, &at, &record))
		print_cable(out, &record);
	return 0;
}

int pm_flapfile_print(const struct pm_flaps *flaps, const struct pm_flap_clock *clock,
		      char **text, size_t *length)
{
	const struct job job = {flaps, clock};

	return pm_sealed_print(print_all, &job, text, length);
}

/* ---- Reading ---- */

struct reader {
	const char *source;
	unsigned int line;
	const struct pm_flap_clock *clock;
	uint64_t passed_ms; /* since it was written */
	struct pm_flaps *flaps;
	struct pm_error *err;
};

static int bad_line(struct reader *r, const char *what)
{
	return pm_error_set(r->err, -EBADMSG, "%s:%u: %s", r->source, r->line, what);
}

static bool take_end(char **rest, struct pm_flap_end *end)
{
	uint64_t port;

	if (!pm_text_take_number(rest, 16, UINT64_MAX, &end->guid) ||
	    !pm_text_take_number(rest, 10, PM_MAX_PORTS, &port))
		return false;
	end->num = (unsigned int)port;
	return true;
}

/* So many ms before now, from the next word. */
static bool take_time(struct reader *r, char **rest, uint64_t *ms)
{
	if (!pm_text_take_number(rest, 10, UINT64_MAX / 4, ms))
		return false;
	*ms += r->passed_ms;
	return true;
}

static bool take_state(char **rest, bool *up)
{
	const char *word = strsep(rest, " ");

	*up = word && !strcmp(word, "up");
	return *up || (word && !strcmp(word, "down"));
}

static int parse_cable(struct reader *r, char *rest)
{
	struct pm_flap_record record = {0};
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
	while (rest && record.num <= PM_FLAP_LIMIT_MAX)
		if (!take_time(r, &rest, &record.down_ms[record.num++]))
			return bad_line(r, "not a time");
	if (rest)
		return bad_line(r, "too many times");
	rc = pm_flaps_import(r->flaps, r->clock->now_ms, &record, &why);
	if (rc == -EINVAL)
		return bad_line(r, why.text);
	return rc ? pm_error_set(r->err, rc, "%s", why.text) : 0;
}

static int parse_time(struct reader *r, char *rest)
{
	uint64_t written;

	if (!pm_text_take_number(&rest, 10, UINT32_MAX, &written) || rest)
		return bad_line(r, "no time");
	if (written < r->clock->seconds)
		r->passed_ms = (r->clock->seconds - written) * 1000;
	return 0;
}

static int parse_line(struct reader *r, char *line)
{
	char *rest = line, *word;

	if (r->line == 1)
		return strcmp(line, MAGIC) ? bad_line(r, "not holds of this version") : 0;
	word = strsep(&rest, " ");
	if (r->line == 2)
		return strcmp(word, "time") ? bad_line(r, "no time")
					    : parse_time(r, rest);
	return strcmp(word, "cable") ? bad_line(r, "unknown line") : parse_cable(r, rest);
}

int pm_flapfile_parse(const char *text, size_t length, const char *source,
		      const struct pm_flap_clock *clock, struct pm_flaps *flaps,
		      struct pm_error *err)
{
	struct reader r = {.source = source, .clock = clock, .flaps = flaps, .err = err};
	const char *end = pm_sealed_end(text, length);
	char *body, *rest;
	int rc = 0;

	if (!end)
		return pm_error_set(err, -EBADMSG,
				    "%s: damaged or cut short: the checksum is wrong",
				    source);
	rest = body = strndup(text, (size_t)(end - text));
	if (!body)
		return pm_error_no_memory(err);
	while (!rc && rest && *rest) {
		r.line++;
		rc = parse_line(&r, strsep(&rest, "\n"));
	}
	if (!rc && r.line < 2)
		rc = bad_line(&r, "no time");
	free(body);
	return rc;
}

int pm_flapfile_read(const char *path, const struct pm_flap_clock *clock,
		     struct pm_flaps *flaps, struct pm_error *err)
{
	char *text = NULL;
	size_t length = 0;
	int rc = pm_textfile_read(path, &text, &length, err);

	if (!rc)
		rc = pm_flapfile_parse(text, length, path, clock, flaps, err);
	free(text);
	return rc;
}
