/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ways out for text from outside. Each hostile name of tests/data/hostile_names.json
 * goes through all of them; test_outside_names.py sends the same names through the
 * programs.
 */
#include "unit.h"

#include <portmajor/base/escape.h>
#include <portmajor/base/print.h>
#include <portmajor/json/values.h>

#include <jansson.h>

#define ROOM 1024

/* A text of the table. */
static const char *text_of(const json_t *row, const char *member)
{
	return json_string_value(json_object_get(row, member));
}

/* Bytes, which the table has as characters up to U+00FF. */
static void get_bytes(const json_t *row, const char *member, char bytes[ROOM])
{
	const char *text = text_of(row, member);

	assert_non_null(text);
	while (*text)
		*bytes++ = (char)pm_utf8_take(&text);
	*bytes = '\0';
}

static void check(const json_t *row, const char *way, const char *got,
		  const char *expected)
{
	if (strcmp(got, expected) != 0)
		fail_msg("%s, %s: \"%s\", not \"%s\"", text_of(row, "what"), way, got,
			 expected);
}

struct way {
	void (*put)(FILE *out, const char *text);
	const char *text;
};

static int print_way(FILE *out, const void *arg)
{
	const struct way *way = arg;

	way->put(out, way->text);
	return 0;
}

static void check_put(const json_t *row, const char *way, const char *name,
		      void (*put)(FILE *out, const char *text), const char *expected)
{
	const struct way printed = {put, name};
	size_t length;
	char *text;

	assert_int_equal(pm_text_print(print_way, &printed, &text, &length), 0);
	check(row, way, text, expected);
	free(text);
}

static void put_netlist(FILE *out, const char *text)
{
	pm_put_field(out, text, SIZE_MAX, "\"");
}

/* Reads the word as a shell does. */
static void check_shell_reads(const json_t *row, const char *word, const char *name)
{
	char command[2 * ROOM], read[ROOM] = "";
	FILE *shell;

	snprintf(command, sizeof(command), "printf %%s %s", word);
	shell = popen(command, "r");
	assert_non_null(shell);
	assert_true(fread(read, 1, sizeof(read) - 1, shell) < sizeof(read) - 1);
	assert_int_equal(pclose(shell), 0);
	check(row, "read by a shell", read, name);
}

static void check_shell(const json_t *row, const char *name)
{
	const char *expected = text_of(row, "shell");
	char word[ROOM], exact[ROOM];
	size_t size;

	memset(word, 'x', sizeof(word));
	assert_int_equal(pm_escape_shell(name, word, sizeof(word)), expected != NULL);
	if (!expected) {
		assert_int_equal(word[0], 'x');
		return;
	}
	check(row, "shell", word, expected);
	check_shell_reads(row, word, name);
	size = strlen(expected) + 1;
	assert_false(pm_escape_shell(name, exact, size - 1));
	assert_true(pm_escape_shell(name, exact, size));
	check(row, "shell", exact, expected);
}

static void check_json(const json_t *row, const char *name)
{
	json_t *text = pm_json_text(name);

	check(row, "json", json_string_value(text), text_of(row, "json"));
	json_decref(text);
}

/* Printable ASCII, as long as before. */
static void check_ascii(const json_t *row, const char *name)
{
	char line[ROOM];

	strcpy(line, name);
	pm_escape_ascii(line);
	assert_int_equal(strlen(line), strlen(name));
	for (size_t i = 0; line[i]; i++)
		if (line[i] != (name[i] >= ' ' && name[i] <= '~' ? name[i] : '?'))
			fail_msg("%s, ascii: \"%s\"", text_of(row, "what"), line);
}

static void test_ways_out(void **state)
{
	json_t *rows = json_load_file(HOSTILE_NAMES, 0, NULL), *row;
	char name[ROOM], line[ROOM], netlist[ROOM];
	size_t i;

	assert_true(json_array_size(rows) >= 20);
	json_array_foreach(rows, i, row) {
		get_bytes(row, "name", name);
		get_bytes(row, "netlist", netlist);
		strcpy(line, name);
		pm_escape_terminal(line);
		check(row, "terminal", line, text_of(row, "terminal"));
		check_put(row, "terminal", name, pm_put_terminal,
			  text_of(row, "terminal"));
		check_put(row, "csv", name, pm_put_csv, text_of(row, "csv"));
		check_put(row, "netlist", name, put_netlist, netlist);
		check_ascii(row, name);
		check_shell(row, name);
		check_json(row, name);
	}
	json_decref(rows);
}

/* Encodes a character without regard to what it is. */
static void encode(uint32_t c, char text[5])
{
	unsigned int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};

	text[0] = (char)(lead[more] | c >> (6 * more));
	for (unsigned int i = 1; i <= more; i++)
		text[i] = (char)(0x80 | ((c >> (6 * (more - i))) & 0x3f));
	text[more + 1] = '\0';
}

/* jansson and pm_utf8_take agree about each code point, and its text alone. */
static void test_utf8(void **state)
{
	char text[5];

	for (uint32_t c = 1; c < 0x120000; c++) {
		const char *rest = text;
		json_t *string;
		uint32_t taken;

		encode(c, text);
		string = json_string(text);
		taken = pm_utf8_take(&rest);
		if (taken != (string ? c : PM_NO_CHARACTER))
			fail_msg("U+%04X: 0x%x", c, taken);
		assert_ptr_equal(rest, string ? text + strlen(text) : text + 1);
		json_decref(string);
	}
}

static void test_hidden(void **state)
{
	static const struct {
		uint32_t first, last;
		bool hidden;
	} rows[] = {
		{0x00, 0x1f, true},	    {0x20, 0x7e, false},
		{0x7f, 0x9f, true},	    {0xa0, 0xac, false},
		{0xad, 0xad, true},	    {0xae, 0x34e, false},
		{0x61c, 0x61c, true},	    {0x200b, 0x200f, true},
		{0x2010, 0x2027, false},    {0x2028, 0x202e, true},
		{0x202f, 0x205f, false},    {0x2060, 0x206f, true},
		{0x3041, 0x3163, false},    {0x4e00, 0x9fff, false},
		{0xac00, 0xd7a3, false},    {0xfeff, 0xfeff, true},
		{0xff01, 0xff9f, false},    {0xfffd, 0xfffd, false},
		{0xfffe, 0xffff, true},	    {0x1f300, 0x1fafe, false},
		{0x1fffe, 0x1ffff, true},   {0xe0001, 0xe007f, true},
		{0x110000, 0x110010, true}, {PM_NO_CHARACTER, PM_NO_CHARACTER, true},
	};

	for_each_row(row, rows)
		for (uint64_t c = row->first; c <= row->last; c++)
			if (pm_is_hidden((uint32_t)c) != row->hidden)
				fail_msg("U+%04X", (unsigned int)c);
}

static void put_3(FILE *out, const char *text)
{
	pm_put_field(out, text, 3, "{}");
}

static void test_field(void **state)
{
	json_t *row = json_pack("{s:s}", "what", "field");

	check_put(row, "braces", "{}", put_3, "??");
	check_put(row, "at most 3", "a\tb\"c", put_3, "a?b");
	check_put(row, "bytes", "\xff\x7f\"x", put_3, "\xff?\"");
	json_decref(row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways_out),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
