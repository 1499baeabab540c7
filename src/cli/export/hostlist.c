/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints lists of host names in Slurm's short form. */
#include "hostlist.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 9 /* Slurm's own limit */

/* The parts of a name. */
struct parts {
	size_t prefix; /* bytes before the number */
	int digits;    /* 0: no number */
	uint64_t number;
};

static struct parts split_name(const char *name)
{
	struct parts parts = {.prefix = strlen(name)};

	while (parts.prefix && parts.digits < MAX_DIGITS &&
	       isdigit((unsigned char)name[parts.prefix - 1])) {
		parts.prefix--;
		parts.digits++;
	}
	if (parts.digits)
		parts.number = strtoull(name + parts.prefix, NULL, 10);
	return parts;
}

/* Orders names by the text before the number, the number of its digits, and its value. */
static int compare_names(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	struct parts p = split_name(x), q = split_name(y);
	int differ = strncmp(x, y, p.prefix < q.prefix ? p.prefix : q.prefix);

	if (differ)
		return differ;
	if (p.prefix != q.prefix)
		return p.prefix < q.prefix ? -1 : 1;
	if (p.digits != q.digits)
		return p.digits - q.digits;
	return p.number < q.number ? -1 : p.number > q.number;
}

/* Whether a name is the first one with another number. */
static bool is_alike(const char *first, const char *name)
{
	struct parts p = split_name(first), q = split_name(name);

	return p.digits && q.digits && p.prefix == q.prefix &&
	       !strncmp(first, name, p.prefix);
}

/* Counts the names with consecutive numbers from names[0] on. */
static uint32_t count_run(const char **names, uint32_t num)
{
	struct parts first = split_name(names[0]);
	uint32_t run = 1;

	for (; run < num && is_alike(names[0], names[run]); run++) {
		char wanted[32];

		snprintf(wanted, sizeof(wanted), "%0*" PRIu64, first.digits,
			 first.number + run);
		if (strcmp(names[run] + first.prefix, wanted) != 0)
			break;
	}
	return run;
}

/* Prints names with one prefix and number of digits, in brackets if they are several. */
static void print_alike(FILE *out, const char **names, uint32_t num)
{
	size_t prefix = split_name(names[0]).prefix;
	uint32_t run;

	if (num == 1) {
		fputs(names[0], out);
		return;
	}
	fprintf(out, "%.*s[", (int)prefix, names[0]);
	for (uint32_t i = 0; i < num; i += run) {
		run = count_run(names + i, num - i);
		fprintf(out, "%s%s", i ? "," : "", names[i] + prefix);
		if (run > 1)
			fprintf(out, "-%s", names[i + run - 1] + prefix);
	}
	fputc(']', out);
}

void cli_hostlist_print(FILE *out, const char **names, uint32_t num)
{
	uint32_t kept = 0, alike;

	if (num)
		qsort(names, num, sizeof(*names), compare_names);
	for (uint32_t i = 0; i < num; i++)
		if (!kept || strcmp(names[kept - 1], names[i]) != 0)
			names[kept++] = names[i];
	for (uint32_t i = 0; i < kept; i += alike) {
		for (alike = 1; i + alike < kept; alike++)
			if (!is_alike(names[i], names[i + alike]))
				break;
		if (i)
			fputc(',', out);
		print_alike(out, names + i, alike);
	}
}
