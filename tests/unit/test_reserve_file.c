/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A reserve file: its room, content that fits or not, and blanking. */
#include "unit.h"

#include "io/reserve_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/portmajor-reserve-XXXXXX";
static char path[64], reserve[80];

/* The whole text of the reserve, and its size; the inode does not change. */
static const char *read_reserve(size_t *size)
{
	static char text[65536];
	FILE *file = fopen(reserve, "r");

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
	const char *text = read_reserve(&size);

	assert_int_equal(size, wanted);
	assert_int_equal(strspn(text + at, "\n"), size - at);
}

static void test_room(void **state)
{
	char text[20000];
	struct stat before, after;
	size_t size;

	memset(text, 'x', sizeof(text));
	assert_int_equal(reserve_file_write(path, "a", 1), -ENOENT);
	reserve_file_keep(path, 5000, false);
	check_blank(0, 16384);
	assert_int_equal(stat(reserve, &before), 0);
	assert_int_equal(reserve_file_write(path, text, sizeof(text)), -ENOSPC);
	check_blank(0, 16384);
	assert_int_equal(reserve_file_write(path, text, 9000), 0);
	assert_int_equal(reserve_file_write(path, "abc", 3), 0);
	check_blank(3, 16384);
	assert_memory_equal(read_reserve(&size), "abc\n", 4);
	/* The file was written: a longer one, and the reserve's content is old. */
	reserve_file_keep(path, 9000, false);
	assert_memory_equal(read_reserve(&size), "abc\n", 4);
	assert_int_equal(size, 24576);
	reserve_file_keep(path, 10, true);
	check_blank(0, 24576);
	assert_int_equal(stat(reserve, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}

/* All may read it, whatever the umask. */
static void test_mode(void **state)
{
	mode_t before = umask(0077);
	struct stat file;

	unlink(reserve);
	reserve_file_keep(path, 10, false);
	umask(before);
	assert_int_equal(stat(reserve, &file), 0);
	assert_int_equal(file.st_mode & 07777, 0644);
}

/* Another user's link is not followed, and a pipe is not waited for. */
static void test_link(void **state)
{
	char target[80];
	struct stat file;

	snprintf(target, sizeof(target), "%s/target", folder);
	unlink(reserve);
	assert_int_equal(symlink(target, reserve), 0);
	reserve_file_keep(path, 10, true);
	assert_int_equal(reserve_file_write(path, "a", 1), -ELOOP);
	assert_int_not_equal(stat(target, &file), 0);
	unlink(reserve);
	assert_int_equal(mkfifo(reserve, 0644), 0);
	reserve_file_keep(path, 10, true);
	assert_int_equal(reserve_file_write(path, "a", 1), -ENXIO);
	unlink(reserve);
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
	snprintf(reserve, sizeof(reserve), "%s.reserve", path);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(reserve);
	rmdir(folder);
	return failed;
}
