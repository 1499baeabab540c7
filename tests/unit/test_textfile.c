/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whole files of every size, names in messages, and numbers in lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <portmajor/textfile.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static char *make_text(size_t length)
{
	char *text = malloc(length + 1);

	assert_non_null(text);
	for (size_t i = 0; i < length; i++)
		text[i] = (char)('a' + i % 23);
	return text;
}

/* Sizes around those that memory is taken in. */
static void test_sizes(void **state)
{
	static const size_t sizes[] = {0,     1,      65535,  65536,
				       65537, 131072, 131073, 1000000};

	(void)state;
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		char path[] = "/tmp/test_textfile.XXXXXX", *text = NULL;
		char *wanted = make_text(sizes[i]);
		int fd = mkstemp(path);
		struct pm_error err = {""};
		size_t length = 99;

		assert_true(fd >= 0);
		assert_int_equal(write(fd, wanted, sizes[i]), sizes[i]);
		close(fd);
		assert_int_equal(pm_textfile_read(path, &text, &length, &err), 0);
		assert_int_equal(length, sizes[i]);
		if (length)
			assert_memory_equal(text, wanted, length);
		unlink(path);
		free(text);
		free(wanted);
	}
}

/* Standard input is read to its end and stays open. */
static void test_stdin(void **state)
{
	int before = dup(STDIN_FILENO), ends[2];
	struct pm_error err = {""};
	char *text = NULL;
	size_t length;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "two\nlines\n", 10), 10);
	close(ends[1]);
	assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(pm_textfile_read("-", &text, &length, &err), 0);
	assert_int_equal(length, 10);
	assert_memory_equal(text, "two\nlines\n", 10);
	free(text);
	assert_int_equal(dup2(before, STDIN_FILENO), STDIN_FILENO);
	close(before);
	close(ends[0]);
	assert_string_equal(pm_textfile_name("-"), "<stdin>");
	assert_string_equal(pm_textfile_name("-x"), "-x");
}

/* The message has the end of a long name, 200 bytes, and what is wrong with it. */
static void test_errors(void **state)
{
	static const size_t lengths[] = {3, 199, 200, 201, 240};

	(void)state;
	for (size_t i = 0; i < LENGTH(lengths); i++) {
		char path[300] = "/", message[300], *text = (char *)path;
		struct pm_error err = {""};
		size_t length = 7, shown = lengths[i] < 200 ? lengths[i] : 200;

		memset(path + 1, 'x', lengths[i] - 1);
		assert_int_equal(pm_textfile_read(path, &text, &length, &err), -ENOENT);
		assert_ptr_equal(text, path);
		assert_int_equal(length, 7);
		snprintf(message, sizeof(message), "%s: No such file or directory",
			 path + lengths[i] - shown);
		assert_string_equal(err.text, message);
		assert_int_equal(pm_textfile_read(path, &text, &length, NULL), -ENOENT);
	}
}

static void test_folder(void **state)
{
	struct pm_error err = {""};
	char *text = NULL;
	size_t length;

	(void)state;
	assert_int_equal(pm_textfile_read("/", &text, &length, &err), -EISDIR);
	assert_string_equal(err.text, "/: Is a directory");
	assert_null(text);
}

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		int base;
		uint64_t max;
		bool good;
		uint64_t value;
		const char *rest;
	} rows[] = {
		{"5", 10, 5, true, 5, NULL},
		{"5", 10, 4, false, 0, NULL},
		{"0 x", 10, 0, true, 0, "x"},
		{"ff 1 2", 16, 255, true, 255, "1 2"},
		{"18446744073709551615", 10, UINT64_MAX, true, UINT64_MAX, NULL},
		{"18446744073709551616", 10, UINT64_MAX, false, 0, NULL},
		{"-1", 10, UINT64_MAX, false, 0, NULL},
		{"+1", 10, 9, false, 0, NULL},
		{"", 10, 9, false, 0, NULL},
		{" 1", 10, 9, false, 0, "1"},
		{"1x", 10, 9, false, 0, NULL},
		{"x", 10, 9, false, 0, NULL},
	};
	uint64_t value;
	char *none = NULL;

	(void)state;
	assert_false(pm_text_take_number(&none, 10, 9, &value));
	for (size_t i = 0; i < LENGTH(rows); i++) {
		char text[32], *rest = text;

		snprintf(text, sizeof(text), "%s", rows[i].text);
		errno = ERANGE; /* of before, no matter */
		if (pm_text_take_number(&rest, rows[i].base, rows[i].max, &value) !=
		    rows[i].good)
			fail_msg("\"%s\"", rows[i].text);
		if (rows[i].good)
			assert_int_equal(value, rows[i].value);
		if (rows[i].rest)
			assert_string_equal(rest, rows[i].rest);
		else
			assert_null(rest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),	cmocka_unit_test(test_stdin),
		cmocka_unit_test(test_errors),	cmocka_unit_test(test_folder),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
