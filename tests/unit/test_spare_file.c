/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A spare file: its room, content that fits or not, and blanking. */
#include "unit.h"

#include "io/spare_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/portmajor-spare-XXXXXX";
static char path[64], spare[80];

/* The whole text of the spare, and its size; the inode does not change. */
static const char *read_spare(size_t *size)
{
	static char text[65536];
	FILE *file = fopen(spare, "r");

	assert_non_null(file);
	*size = fread(text, 1, sizeof(text) - 1, file);
	text[*size] = '\0';
	fclose(file);
	return text;
}

/* Newlines at a place, up to this size. */
static void check_blank(size_t at, size_t wanted)
{
	size_t size;
	const char *text = read_spare(&size);

	assert_int_equal(size, wanted);
	assert_int_equal(strspn(text + at, "\n"), size - at);
}

static void test_room(void **state)
{
	char text[20000];
	struct stat before, after;
	size_t size;

	memset(text, 'x', sizeof(text));
	assert_int_equal(spare_file_write(path, "a", 1), -ENOENT);
	spare_file_keep(path, 5000, false);
	check_blank(0, 16384);
	assert_int_equal(stat(spare, &before), 0);
	assert_int_equal(spare_file_write(path, text, sizeof(text)), -ENOSPC);
	check_blank(0, 16384);
	assert_int_equal(spare_file_write(path, text, 9000), 0);
	assert_int_equal(spare_file_write(path, "abc", 3), 0);
	check_blank(3, 16384);
	assert_memory_equal(read_spare(&size), "abc\n", 4);
	/* The file was written: a longer one, and the spare's content is old. */
	spare_file_keep(path, 9000, false);
	assert_memory_equal(read_spare(&size), "abc\n", 4);
	assert_int_equal(size, 24576);
	spare_file_keep(path, 10, true);
	check_blank(0, 24576);
	assert_int_equal(stat(spare, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}

/* All may read it, whatever the umask. */
static void test_mode(void **state)
{
	mode_t before = umask(0077);
	struct stat file;

	unlink(spare);
	spare_file_keep(path, 10, false);
	umask(before);
	assert_int_equal(stat(spare, &file), 0);
	assert_int_equal(file.st_mode & 07777, 0644);
}

/* Another user's link is not followed, and a pipe is not waited for. */
static void test_link(void **state)
{
	char target[80];
	struct stat file;

	snprintf(target, sizeof(target), "%s/target", folder);
	unlink(spare);
	assert_int_equal(symlink(target, spare), 0);
	spare_file_keep(path, 10, true);
	assert_int_equal(spare_file_write(path, "a", 1), -ELOOP);
	assert_int_not_equal(stat(target, &file), 0);
	unlink(spare);
	assert_int_equal(mkfifo(spare, 0644), 0);
	spare_file_keep(path, 10, true);
	assert_int_equal(spare_file_write(path, "a", 1), -ENXIO);
	unlink(spare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_link),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/state", folder);
	snprintf(spare, sizeof(spare), "%s.spare", path);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(spare);
	rmdir(folder);
	return failed;
}
