/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The discovered fabric's file while memory runs out: it is whole, or not there
 * until the next round. */
#include "unit.h"

#include "io/fabric_file.h"

#include "memfault.h"
#include "world.h"

#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/portmajor-fabric-XXXXXX";
static char *whole;

char *store_path(struct store *store, const char *name)
{
	bool before = memfault_spare(true);
	char *copy = strdup(path);

	memfault_spare(before);
	return copy;
}

void worker_poke(struct worker *worker)
{
}

static char *read_whole(void)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;
	ssize_t got;

	if (!file)
		return NULL;
	got = getdelim(&text, &room, '\0', file);
	fclose(file);
	assert_true(got > 0);
	return text;
}

/* With a failure of the nth allocation; whether there was one. */
static bool write_with(struct fabric_file *file, uint64_t nth)
{
	struct pm_fabric *fabric = world_generate(&(struct pm_generate){
		.kind = PM_GENERATE_TWO_LEVEL, .two_level = {12, 4, 12, 1}});
	uint64_t allocations;
	char *text;

	unlink(path);
	fabric_file_put(file, fabric);
	memfault_begin(&(struct memfault){.nth = nth});
	fabric_file_write(file);
	allocations = memfault_end();
	text = read_whole();
	if (!text) { /* the next round writes it */
		fabric_file_write(file);
		text = read_whole();
		assert_non_null(text);
	}
	if (text && whole)
		assert_string_equal(text, whole);
	else if (!whole)
		whole = text;
	if (text != whole)
		free(text);
	return nth && nth <= allocations;
}

static void test_no_memory(void **state)
{
	struct fabric_file *file = fabric_file_start(NULL, NULL);
	int fd = mkstemp(path);
	struct stat found;

	assert_true(fd >= 0 && !close(fd));
	assert_non_null(file);
	assert_false(write_with(file, 0));
	assert_non_null(whole);
	assert_int_equal(stat(path, &found), 0);
	assert_int_equal(found.st_mode & 0777, 0644);
	for (uint64_t nth = 1; write_with(file, nth); nth++)
		;
	assert_int_equal(access(path, F_OK), 0);
	fabric_file_stop(file);
	unlink(path);
	free(whole);
}

/* A kept fabric is written again only where its file is gone. */
static void test_kept(void **state)
{
	struct fabric_file *file = fabric_file_start(NULL, NULL);
	struct stat first, second;

	assert_non_null(file);
	whole = NULL;
	assert_false(write_with(file, 0));
	assert_int_equal(stat(path, &first), 0);
	fabric_file_keep(file);
	fabric_file_write(file);
	assert_int_equal(stat(path, &second), 0);
	assert_int_equal(first.st_ino, second.st_ino);
	unlink(path);
	fabric_file_write(file); /* a round that nobody asked for */
	assert_int_equal(access(path, F_OK), -1);
	fabric_file_keep(file);
	fabric_file_write(file);
	assert_int_equal(access(path, F_OK), 0);
	fabric_file_stop(file);
	unlink(path);
	free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
