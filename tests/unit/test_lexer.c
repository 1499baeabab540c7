/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "world.h"
#include "unit.h"

#include <portmajor/base/lexer.h>

#include <inttypes.h>

static struct pm_text text_of(const char *string)
{
	return (struct pm_text){string, string + strlen(string)};
}

static void assert_text(const char *name, struct pm_text text, const char *expected)
{
	if (!pm_text_is(text, expected))
		fail_msg("%s: \"%.*s\", not \"%s\"", name, (int)pm_text_length(text),
			 text.at, expected);
}

/* ---- Pieces ---- */

static void test_digits(void **state)
{
	static const struct {
		const char *text;
		unsigned int base;
		int rc;
		uint64_t value;
		const char *rest;
	} rows[] = {
		{"12]", 10, 0, 12, "]"},
		{" \t\r12", 10, 0, 12, ""},
		{"08", 10, 0, 8, ""},
		{"0x1fG", 0, 0, 0x1f, "G"},
		{"0X1F", 16, 0, 0x1f, ""},
		{"1fg", 16, 0, 0x1f, "g"},
		{"0x1f", 10, 0, 0, "x1f"},
		{"017", 0, 0, 017, ""},
		{"08", 0, 0, 0, "8"},
		{"0", 0, 0, 0, ""},
		{"18446744073709551615", 10, 0, UINT64_MAX, ""},
		{"0xffffffffffffffff", 0, 0, UINT64_MAX, ""},
		{"18446744073709551616", 10, -ERANGE, 0, NULL},
		{"18446744073709551620", 10, -ERANGE, 0, NULL},
		{"0x10000000000000000", 16, -ERANGE, 0, NULL},
		{"", 10, -EINVAL, 0, NULL},
		{"  ", 10, -EINVAL, 0, NULL},
		{"-1", 10, -EINVAL, 0, NULL},
		{"+1", 10, -EINVAL, 0, NULL},
		{"0x", 16, -EINVAL, 0, NULL},
		{"a", 10, -EINVAL, 0, NULL},
	};

	for_each_row(row, rows) {
		struct pm_text text = text_of(row->text);
		uint64_t value = 77;

		if (pm_text_take_digits(&text, row->base, &value) != row->rc ||
		    value != (row->rc ? 77 : row->value))
			fail_msg("\"%s\": %" PRIu64, row->text, value);
		if (row->rest)
			assert_text(row->text, text, row->rest);
	}
}

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
		bool good;
	} rows[] = {
		{"12", 12, true},   {"12 x", 12, true},
		{"12\t", 12, true}, {"12:", 12, true},
		{"12]", 12, true},  {"12)", 12, true},
		{"13", 12, false},  {"12x", 12, false},
		{"12-", 12, false}, {"12.5", UINT64_MAX, false},
		{"", 12, false},    {"x", 12, false},
	};

	for_each_row(row, rows) {
		struct pm_text text = text_of(row->text);
		uint64_t value;

		if (pm_text_take_number(&text, 10, row->max, &value) != row->good)
			fail_msg("\"%s\"", row->text);
		if (row->good)
			assert_int_equal(value, 12);
	}
}

static void test_words(void **state)
{
	struct pm_text text = text_of(" one\ttwo  \"a \"b c \r"), word;

	assert_true(pm_text_take_word(&text, &word));
	assert_text("first", word, "one");
	assert_text("before", pm_text_before(text, '"'), "\ttwo  ");
	assert_text("all", pm_text_before(text, '#'), "\ttwo  \"a \"b c \r");
	assert_true(pm_text_take_word(&text, &word));
	assert_text("second", word, "two");
	pm_text_skip_blanks(&text);
	assert_true(pm_text_next_is(text, '"'));
	assert_true(pm_text_take_quoted(&text, &word));
	assert_text("quoted", word, "a ");
	assert_false(pm_text_skip_past(&text, "bc"));
	assert_true(pm_text_skip_past(&text, "b "));
	assert_true(pm_text_take_word(&text, &word));
	assert_text("last", word, "c");
	assert_false(pm_text_take_word(&text, &word));
	assert_true(pm_text_is_empty(text));
	assert_false(pm_text_next_is(text, 'c'));
	assert_false(pm_text_skip_past(&text, "c"));
	text = text_of("\"a");
	assert_false(pm_text_take_quoted(&text, &word));
}

static void test_comparing(void **state)
{
	static const char *const sorted[] = {"", "a", "aa", "ab", "b", "\xc3"};

	for (size_t i = 0; i < LENGTH(sorted); i++)
		for (size_t k = 0; k < LENGTH(sorted); k++) {
			struct pm_text a = text_of(sorted[i]), b = text_of(sorted[k]);
			int order = pm_text_compare(a, b);

			assert_int_equal(order < 0, i < k);
			assert_int_equal(order > 0, i > k);
			assert_int_equal(pm_text_equal(a, b), i == k);
			assert_int_equal(pm_text_is(a, sorted[k]), i == k);
			assert_int_equal(
				pm_text_starts(a, sorted[k]),
				!strncmp(sorted[i], sorted[k], strlen(sorted[k])));
		}
}

/* ---- Lines ---- */

static void test_lines(void **state)
{
	static const char text[] = "one\n\r\n\ntwo\r\nthree \r";
	static const char *const expected[] = {"one", "", "", "two", "three \r"};
	struct pm_lexer lexer = pm_lexer_begin(text, strlen(text), "in", -EINVAL, NULL);
	struct pm_text line;

	for (size_t i = 0; i < LENGTH(expected); i++) {
		assert_true(pm_lexer_next(&lexer, &line));
		assert_text("line", line, expected[i]);
		assert_int_equal(lexer.line, i + 1);
	}
	assert_ptr_equal(line.end, text + strlen(text));
	assert_false(pm_lexer_next(&lexer, &line));
	lexer = pm_lexer_begin(NULL, 0, "in", -EINVAL, NULL);
	assert_false(pm_lexer_next(&lexer, &line));
	assert_int_equal(lexer.line, 0);
}

static void test_messages(void **state)
{
	char source[2000] = "", long_text[200];
	struct pm_error err = {""};
	struct pm_lexer lexer = pm_lexer_begin("a\nb", 3, "in", -EBADMSG, &err);
	struct pm_text line, shown = {long_text, long_text + sizeof(long_text)};

	assert_int_equal(pm_lexer_fail(&lexer, "nothing"), -EBADMSG);
	assert_string_equal(err.text, "in:1: nothing");
	while (pm_lexer_next(&lexer, &line))
		;
	assert_int_equal(pm_lexer_fail(&lexer, "%s %d", "why", 3), -EBADMSG);
	assert_string_equal(err.text, "in:2: why 3");
	assert_int_equal(pm_lexer_fail_at(&lexer, 7, "why"), -EBADMSG);
	assert_string_equal(err.text, "in:7: why");
	memset(source, 'x', sizeof(source) - 1);
	memset(long_text, 'y', sizeof(long_text));
	lexer.source = source;
	pm_lexer_fail(&lexer, "%.*s; why", PM_SHOWN(shown));
	assert_non_null(strstr(err.text, "xxx:2: yyy"));
	assert_non_null(strstr(err.text, "yyy; why"));
}

/* Each byte at each place of a line, alone among letters. */
static void test_bytes(void **state)
{
	for (unsigned int c = 0; c < 256; c++)
		for (size_t length = 1; length < 20; length++)
			for (size_t at = 0; at < length; at++) {
				char text[20];
				struct pm_error err = {""};
				struct pm_lexer lexer =
					pm_lexer_begin(text, length, "in", -EINVAL, &err);
				bool good =
					c == '\t' || c == '\r' || (c >= ' ' && c != 0x7f);
				char message[40];

				memset(text, 'a', sizeof(text));
				text[at] = (char)c;
				snprintf(message, sizeof(message),
					 "in:1: not text: byte 0x%02x", c);
				if (pm_lexer_check_text(&lexer, lexer.rest) !=
					    (good ? 0 : -EINVAL) ||
				    strcmp(err.text, good ? "" : message) != 0)
					fail_msg("0x%02x at %zu of %zu: %s", c, at,
						 length, err.text);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digits), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_words),  cmocka_unit_test(test_comparing),
		cmocka_unit_test(test_lines),  cmocka_unit_test(test_messages),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
