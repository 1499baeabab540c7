/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints text from the members of a JSON object. */
#include "text.h"

#include "output.h"

#include <portmajor/base/escape.h>
#include <portmajor/memory/xalloc.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_NAME 32

void cli_text_put(const char *text)
{
	pm_put_terminal(stdout, text);
}

const char *cli_text_when(json_int_t seconds, char text[CLI_TEXT_WHEN])
{
	time_t when = (time_t)seconds;
	struct tm local;

	if (!localtime_r(&when, &local) ||
	    !strftime(text, CLI_TEXT_WHEN, "%Y-%m-%d %H:%M:%S", &local))
		memcpy(text, "?", sizeof("?"));
	return text;
}

void cli_text_date(FILE *out, json_int_t seconds)
{
	char text[CLI_TEXT_WHEN];

	fputs(cli_text_when(seconds, text), out);
}

/* The member at a path such as "a.b}" or "a.b|"; NULL: none. A member of null is null. */
static const json_t *find_member(const json_t *object, const char *path)
{
	while (object && !json_is_null(object) && *path != '}' && *path != '|') {
		char name[MAX_NAME];
		size_t length = strcspn(path, ".}|");

		snprintf(name, sizeof(name), "%.*s", (int)length, path);
		object = json_object_get(object, name);
		path += length;
		path += *path == '.';
	}
	return object;
}

/* Prints the second or the third part of "a|one|many}". */
static void print_noun(const char *spec, bool one)
{
	const char *word = spec + strcspn(spec, "|}");

	if (*word == '}')
		return;
	if (!one)
		word += 1 + strcspn(word + 1, "|}");
	word++;
	printf(" %.*s", (int)strcspn(word, "|}"), word);
}

/*
 * The digits behind the point, at least `digits`, that show three significant digits,
 * without zeros at their end: of 0.0001 with at least 3 it is 4.
 */
static int find_digits(double number, int digits)
{
	char text[32], *exponent;
	int more;

	snprintf(text, sizeof(text), "%.2e", number); /* "1.23e-05" */
	exponent = strchr(text, 'e');
	if (number == 0 || !exponent)
		return digits;
	more = 2 - (int)strtol(exponent + 1, NULL, 10);
	while (more > digits && exponent[-1] == '0') {
		more--;
		exponent--;
	}
	return more > digits ? more : digits;
}

/* Prints one member; `spec` is the text in braces. */
static void print_member(const json_t *object, const char *spec)
{
	char *mark;
	int width = (int)strtol(spec, &mark, 10);
	bool significant = *mark == '~';
	int digits = (int)strspn(mark + significant, "%");
	const json_t *value = find_member(object, mark + strspn(mark, "#%@~"));

	if (json_is_null(value))
		printf("%*s", width, "-");
	else if (digits)
		printf("%*.*f", width,
		       significant ? find_digits(json_number_value(value), digits)
				   : digits,
		       json_number_value(value));
	else if (*mark == '@')
		cli_text_date(stdout, json_integer_value(value));
	else if (*mark == '#' && json_is_array(value))
		printf("%*zu", width, json_array_size(value));
	else if (*mark == '#' || json_is_integer(value))
		printf("%*" JSON_INTEGER_FORMAT, width, json_integer_value(value));
	else
		cli_text_put(json_is_string(value) ? json_string_value(value) : "?");
	print_noun(mark, json_is_array(value) ? json_array_size(value) == 1
					      : json_integer_value(value) == 1);
}

void cli_text_print(const json_t *object, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "{");

		printf("%.*s", (int)length, text);
		text += length;
		if (*text != '{')
			continue;
		print_member(object, text + 1);
		text = strchr(text, '}') + 1;
	}
}

#define MOST_ADDED 12
#define AND_MORE ", .."

void cli_names_add(struct cli_names *names, const char *name, unsigned int port)
{
	size_t used = strlen(names->text);
	size_t room = sizeof(names->text) - used - sizeof(AND_MORE);
	char *at = names->text + used, number[16] = "";
	int length;

	names->num++;
	if (names->full)
		return;
	if (port)
		snprintf(number, sizeof(number), ":%u", port);
	length = snprintf(at, room, "%s%s%s", used ? ", " : "", name, number);
	names->full = names->num > MOST_ADDED || length < 0 || (size_t)length >= room;
	if (names->full)
		strcpy(at, used ? AND_MORE : "..");
}

#define MOST_NAMED 4

void cli_text_first(const json_t *list, void (*put)(const json_t *))
{
	size_t i, num = json_array_size(list);
	const json_t *value;

	json_array_foreach(list, i, value) {
		if (i == MOST_NAMED && num > MOST_NAMED + 1)
			break;
		fputs(i ? ", " : "", stdout);
		put(value);
	}
	if (i < num)
		printf(" and %zu more", num - i);
}

char *cli_text_make(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		pm_no_memory();
	va_end(args);
	return text;
}

char *cli_text_make_by(pm_print *print, const void *arg)
{
	size_t length;
	char *text;

	if (pm_text_print(print, arg, &text, &length))
		pm_no_memory();
	return text;
}
