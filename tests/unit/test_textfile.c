/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whole files of every size, and names in messages. */
#include "unit.h"

#include <portmajor/base/textfile.h>

#include <sys/stat.h>
#include <unistd.h>

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

	assert_int_equal(pm_textfile_read("/", &text, &length, &err), -EISDIR);
	assert_string_equal(err.text, "/: Is a directory");
	assert_null(text);
}

/* A pipe without a writer is not waited for. A pipe that has a number is read. */
static void test_fifo(void **state)
{
	char folder[] = "/tmp/test_textfile.XXXXXX", path[64], *text = NULL;
	struct pm_error err = {""};
	size_t length;
	int ends[2];

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(60); /* files that are waited for */
	assert_int_equal(pm_textfile_read(path, &text, &length, &err), -EINVAL);
	assert_non_null(strstr(err.text, "/fifo: a FIFO, not a file"));
	assert_int_equal(pm_textfile_read_string(path, 9, &text, &err), -EINVAL);
	alarm(0);
	assert_null(text);
	unlink(path);
	rmdir(folder);

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "four", 4), 4);
	close(ends[1]);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	assert_int_equal(pm_textfile_read(path, &text, &length, &err), 0);
	assert_string_equal(text, "four");
	free(text);
	close(ends[0]);
}

/* Files that configure: strings up to a size, and "-" is a name. */
static void test_strings(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		int rc;
		const char *says;
	} rows[] = {
		{"", 0, 0, ""},
		{"a\nb", 3, 0, ""},
		{"abcd", 4, 0, ""},
		{"abcde", 5, -EFBIG, "longer than"},
		{"a\0b", 3, -EINVAL, "not a text file"},
		{"a\0", 2, -EINVAL, "not a text file"},
	};
	char path[] = "/tmp/test_textfile.XXXXXX", *untouched = path;
	int fd = mkstemp(path);

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_error err = {""};
		char *text = untouched;

		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, rows[i].bytes, rows[i].length, 0),
				 rows[i].length);
		if (pm_textfile_read_string(path, 4, &text, &err) != rows[i].rc ||
		    !strstr(err.text, rows[i].says))
			fail_msg("row %zu: %s", i, err.text);
		if (rows[i].rc) {
			assert_ptr_equal(text, untouched);
			continue;
		}
		assert_string_equal(text, rows[i].bytes);
		free(text);
	}
	close(fd);
	unlink(path);
	assert_int_equal(pm_textfile_read_string("-", 4, &untouched, NULL), -ENOENT);
}

/* The bound is told in MiB. */
static void test_long_string(void **state)
{
	char path[] = "/tmp/test_textfile.XXXXXX", message[64], *text = NULL;
	struct pm_error err = {""};
	int fd = mkstemp(path);

	assert_int_equal(ftruncate(fd, (3 << 20) + 1), 0);
	assert_int_equal(pm_textfile_read_string(path, 3 << 20, &text, &err), -EFBIG);
	snprintf(message, sizeof(message), "%s: longer than 3 MiB", path);
	assert_string_equal(err.text, message);
	assert_null(text);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),	    cmocka_unit_test(test_stdin),
		cmocka_unit_test(test_errors),	    cmocka_unit_test(test_folder),
		cmocka_unit_test(test_fifo),	    cmocka_unit_test(test_strings),
		cmocka_unit_test(test_long_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
