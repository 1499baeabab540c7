/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Plans on disk while memory runs out: each allocation of a load fails once. Either the
 * plan is there, or the caller knows, and no good file has another name. What files are
 * on a disk that fails is in tests/integration/test_diskfault.py.
 */
#include "store.h"

#include "memfault.h"
#include "world.h"

#include <portmajor/planfile.h>

#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define GUID 0x1234

static char folder[] = "/tmp/portmajor-store-XXXXXX";
static struct world world;

void say(osm_log_t *log, osm_log_level_t level, const char *format, ...)
{
	(void)log;
	(void)level;
	(void)format;
}

static struct store *open_store(void)
{
	struct store *store = store_start(NULL);

	assert_non_null(store);
	assert_true(store_open(store, GUID));
	return store;
}

static size_t count_files(const char *pattern)
{
	char path[128];
	glob_t found = {0};
	size_t count;

	snprintf(path, sizeof(path), "%s/portmajor.%016x/%s", folder, GUID, pattern);
	count = glob(path, 0, NULL, &found) ? 0 : found.gl_pathc;
	globfree(&found);
	return count;
}

static void write_plan(const char *text, size_t length)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/portmajor.%016x/plan", folder, GUID);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

/* Loads with a failure; whether there was any. */
static bool load(uint64_t nth, struct planning *planning, int *rc)
{
	const struct store_request request = {.fabric = world.fabric};
	struct store *store = open_store();
	struct pm_error err = {""};
	uint64_t allocations;

	*planning = (struct planning){.phase = PLANNING_EMPTY};
	memfault_begin(&(struct memfault){.nth = nth});
	*rc = store_load(store, &request, planning, &err);
	allocations = memfault_end();
	store_stop(store);
	if (*rc) {
		assert_int_equal(*rc, -ENOMEM);
		assert_string_equal(err.text, "out of memory");
		assert_int_equal(planning->phase, PLANNING_EMPTY);
	}
	return nth <= allocations;
}

static void test_good(void **state)
{
	struct planning planning;
	bool failed = true;
	char *text;
	size_t length;
	int rc;

	(void)state;
	store_stop(open_store());
	assert_int_equal(pm_planfile_print(world.plan, &text, &length), 0);
	write_plan(text, length);
	free(text);
	for (uint64_t nth = 1; failed; nth++) {
		failed = load(nth, &planning, &rc);
		assert_int_equal(count_files("plan"), 1);
		assert_int_equal(count_files("plan.bad-*"), 0);
		if (!rc) {
			assert_int_equal(planning.phase, PLANNING_LOADED);
			assert_int_equal(planning.base->top_lid, world.plan->top_lid);
		}
		planning_forget(&planning);
	}
}

static void test_damaged(void **state)
{
	struct planning planning;
	bool failed = true;
	int rc;

	(void)state;
	for (uint64_t nth = 1; failed; nth++) {
		char path[128];
		glob_t aside = {0};

		write_plan("no plan\n", 8);
		failed = load(nth, &planning, &rc);
		assert_int_equal(planning.phase, PLANNING_EMPTY);
		if (rc && count_files("plan")) {
			assert_int_equal(count_files("plan.bad-*"), 0);
			continue;
		}
		assert_int_equal(count_files("plan"), 0);
		snprintf(path, sizeof(path), "%s/*/plan.bad-*", folder);
		assert_int_equal(glob(path, 0, NULL, &aside), 0);
		assert_int_equal(aside.gl_pathc, 1);
		assert_int_equal(unlink(aside.gl_pathv[0]), 0);
		globfree(&aside);
	}
}

/* Whether a plan is found where the folder can be used, and whether it can. */
static bool finds_plan(bool *opens)
{
	const struct store_request request = {.fabric = world.fabric};
	struct store *store = store_start(NULL);
	struct planning planning = {.phase = PLANNING_EMPTY};
	bool found;

	assert_non_null(store);
	*opens = store_open(store, GUID);
	assert_int_equal(store_load(store, &request, &planning, NULL), 0);
	found = planning.phase == PLANNING_LOADED;
	planning_forget(&planning);
	store_stop(store);
	return found;
}

/* What others could have written is not read, not written and not renamed. */
static void test_of_others(void **state)
{
	char ours[128], plan[256], elsewhere[256];
	const struct {
		const char *path;
		mode_t mode;
		bool opens;
	} rows[] = {{folder, 0770, false}, {folder, 0702, false}, {ours, 0775, false},
		    {ours, 0757, false},   {plan, 0664, true},	  {plan, 0646, true}};
	char *text;
	size_t length;
	bool opens;

	(void)state;
	snprintf(ours, sizeof(ours), "%s/portmajor.%016x", folder, GUID);
	snprintf(plan, sizeof(plan), "%s/plan", ours);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", ours);
	assert_int_equal(pm_planfile_print(world.plan, &text, &length), 0);
	write_plan(text, length);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stat before;

		assert_int_equal(stat(rows[i].path, &before), 0);
		assert_int_equal(chmod(rows[i].path, rows[i].mode), 0);
		assert_false(finds_plan(&opens));
		assert_int_equal(opens, rows[i].opens);
		assert_int_equal(count_files("plan.bad-*"), 0);
		assert_int_equal(chmod(rows[i].path, before.st_mode & 07777), 0);
		assert_true(finds_plan(&opens));
		assert_true(opens);
	}
	assert_int_equal(rename(plan, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, plan), 0);
	assert_false(finds_plan(&opens));
	assert_int_equal(rename(elsewhere, plan), 0);
	if (!geteuid()) {
		assert_int_equal(chown(plan, 1, (gid_t)-1), 0);
		assert_false(finds_plan(&opens));
		assert_int_equal(chown(plan, 0, (gid_t)-1), 0);
	}
	assert_true(finds_plan(&opens));
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", folder);
	assert_int_equal(rename(ours, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, ours), 0);
	assert_false(finds_plan(&opens));
	assert_false(opens);
	assert_int_equal(unlink(ours), 0);
	assert_int_equal(rename(elsewhere, ours), 0);
	free(text);
}

static int set_up(void **state)
{
	(void)state;
	world_make(&world, world_director(36), PM_GROUPED);
	return !mkdtemp(folder) || setenv("OSM_CACHE_DIR", folder, 1);
}

static int tear_down(void **state)
{
	glob_t left = {0};
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/*/*", folder);
	if (!glob(path, 0, NULL, &left))
		for (size_t i = 0; i < left.gl_pathc; i++)
			unlink(left.gl_pathv[i]);
	globfree(&left);
	snprintf(path, sizeof(path), "%s/portmajor.%016x", folder, GUID);
	rmdir(path);
	rmdir(folder);
	world_free(&world);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_of_others),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
