/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints missing parts of the state. */
#include "missing_output.h"

#include "ends.h"
#include "json.h"
#include "output.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED 8 /* parts in a line */

static bool is_kind(const json_t *part, const char *kind)
{
	return !strcmp(cli_json_text(part, "kind"), kind);
}

static bool is_acknowledged(const json_t *part)
{
	return json_is_true(json_object_get(part, "acknowledged"));
}

char *cli_missing_name(const json_t *part)
{
	char *name = cli_ends_name(part), *host;
	const char *known;

	if (!is_kind(part, "host"))
		return name;
	known = cli_json_text(part, "host");
	host = cli_text_make("host %s%sat %s", known, *known ? " " : "", name);
	free(name);
	return host;
}

/* Names a part; a switch with the number of its hosts. */
static char *name_with_hosts(const json_t *part)
{
	char *name = cli_missing_name(part), *both;
	json_int_t hosts = is_kind(part, "switch") ? cli_json_number(part, "hosts") : 0;

	if (!hosts)
		return name;
	both = cli_text_make("%s (%" JSON_INTEGER_FORMAT " host%s)", name, hosts,
			     hosts == 1 ? "" : "s");
	free(name);
	return both;
}

/* ---- Text ---- */

/*
 * Lists the parts that are not acknowledged. Returns their number; *from and *to: since
 * when the first and the last one are missing.
 */
static size_t list_open(FILE *out, const json_t *missing, json_int_t *from,
			json_int_t *to)
{
	size_t i, count = 0;
	const json_t *part;

	json_array_foreach(json_object_get(missing, "parts"), i, part) {
		json_int_t since = cli_json_number(part, "since");
		char *name;

		if (is_acknowledged(part))
			continue;
		*from = !count || since < *from ? since : *from;
		*to = !count || since > *to ? since : *to;
		if (count++ >= NAMED)
			continue;
		name = name_with_hosts(part);
		fprintf(out, "%s%s", count > 1 ? ", " : "", name);
		free(name);
	}
	return count;
}

static int print_finding(FILE *out, const void *arg)
{
	const json_t *missing = arg;
	json_int_t links = cli_json_number(missing, "links"), from = 0, to = 0;
	size_t count;

	fputs("missing: ", out);
	count = list_open(out, missing, &from, &to);
	if (count > NAMED || !count)
		fputs(count ? ", .." : "..", out);
	if (links > 1)
		fprintf(out, ", %" JSON_INTEGER_FORMAT " links", links);
	if (count) {
		fputs(", since ", out);
		cli_text_date(out, from);
	}
	if (from != to) {
		fputs(", the last since ", out);
		cli_text_date(out, to);
	}
	return 0;
}

char *cli_missing_finding(const json_t *missing)
{
	return cli_json_number(missing, "links") > 0
		       ? cli_text_make_by(print_finding, missing)
		       : NULL;
}

static void print_part(const json_t *part)
{
	char *name = name_with_hosts(part);

	cli_text_put(name);
	cli_text_print(part, " (since {@since}");
	fputs(is_acknowledged(part) ? ", acknowledged)" : ")", stdout);
	free(name);
}

void cli_missing_print(const json_t *missing)
{
	const json_t *total = json_object_get(missing, "total");
	const json_t *part;
	size_t i;

	if (!json_is_object(total))
		return;
	if (!cli_json_number(total, "links")) {
		puts("missing     nothing");
		return;
	}
	cli_text_print(missing, "missing     {#total.switches|switch|switches}, "
				"{#total.links|link|links}, {#total.hosts|host|hosts}");
	json_array_foreach(json_object_get(missing, "parts"), i, part) {
		if (i == NAMED)
			break;
		fputs(i ? ", " : ": ", stdout);
		print_part(part);
	}
	puts(json_array_size(json_object_get(missing, "parts")) > NAMED ? ", .." : "");
}
