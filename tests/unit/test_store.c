/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Plans on disk while memory runs out: each allocation of a load fails once, on both of
 * its threads. Either the plan is loaded, or the caller knows, and no good file has
 * another name. And on a disk that hangs at any call: no thread waits, unread files are
 * not lost, and the newest content is written when the disk goes on.
 * tests/integration/test_diskfault.py has the files on a disk that fails.
 */
#include "io/store.h"

#include "io/candidates.h"

#include "engine/clock.h"

#include "memfault.h"
#include "world.h"
#include "unit.h"

#include <portmajor/files/plan_file.h>

#include <dirent.h>
#include <fcntl.h>
#include <float.h>
#include <glob.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define GUID 0x1234
#define LONG_MS 60e3 /* more than any test takes */

static char folder[] = "/tmp/portmajor-store-XXXXXX";
static struct world world;

void log_line(osm_log_t *log, osm_log_level_t level, const char *format, ...)
{
}

static struct worker *writer;
static struct store *the_store; /* that it writes for */
static atomic_int rounds;
static atomic_bool by_hand; /* the test makes the writer's rounds */

static _Thread_local bool is_writer;

static double go_round(void *context, bool last)
{
	is_writer = true;
	memfault_spare(true); /* what fails does so on the test's thread */
	if (!by_hand) {
		store_write(the_store);
		free(store_take_source(the_store));
	}
	rounds++;
	return DBL_MAX;
}

/* A sanitizer needs memory itself for a thread that begins. */
static void await_writer(void)
{
	int before = rounds;

	worker_poke(writer);
	while (rounds == before)
		sched_yield();
}

/* The writer has made no round yet. */
static struct store *begin_store(void)
{
	writer = worker_start("test", go_round, NULL);
	assert_non_null(writer);
	the_store = store_start(NULL, writer);
	assert_non_null(the_store);
	return the_store;
}

static struct store *open_store(void)
{
	begin_store();
	assert_true(store_open(the_store, GUID));
	assert_false(store_open(the_store, GUID));
	await_writer();
	return the_store;
}

static void close_store(void)
{
	assert_true(worker_stop(writer, clock_ms() + LONG_MS));
	store_stop(the_store);
	worker_free(writer);
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

/*
 * Looks and loads, with all actions of the writer, with a failure; returns whether
 * there was any.
 */
static bool load(uint64_t nth, struct planning *planning, int *rc)
{
	const struct store_request request = {.fabric = world.fabric};
	struct store *store = open_store();
	struct pm_error err = {""};
	uint64_t allocations;

	*planning = (struct planning){.phase = PLANNING_EMPTY};
	by_hand = true;
	memfault_begin(&(struct memfault){.nth = nth});
	store_poll(store);
	store_write(store);
	*rc = store_load(store, &request, planning, &err);
	store_write(store);
	allocations = memfault_end();
	by_hand = false;
	await_writer();
	close_store();
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

	open_store();
	close_store();
	assert_int_equal(pm_plan_file_print(world.plan, &text, &length), 0);
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

/* Each is kept, also those of the same second. */
static void test_damaged_again(void **state)
{
	struct planning planning;
	char path[128];
	glob_t aside = {0};
	int rc;

	for (size_t i = 1; i <= 3; i++) {
		write_plan("no plan\n", 8);
		load(UINT64_MAX, &planning, &rc);
		assert_int_equal(rc, 0);
		assert_int_equal(count_files("plan.bad-*"), i);
	}
	snprintf(path, sizeof(path), "%s/*/plan.bad-*", folder);
	assert_int_equal(glob(path, 0, NULL, &aside), 0);
	for (size_t i = 0; i < aside.gl_pathc; i++)
		assert_int_equal(unlink(aside.gl_pathv[i]), 0);
	globfree(&aside);
}

/* ---- A disk that hangs ---- */

static atomic_int calls;   /* of the writer's that touch files, since the last start */
static atomic_int hang_at; /* the number of the one that hangs, 0: none */
static atomic_bool hung;   /* it does, or did */
static char hung_call[16]; /* its name; before hung is set */
#define ROUNDS 10
static unsigned int kinds; /* whether each of these has hung */
static const char *const names[] = {"access", "flock", "fsync",	 "lstat",   "mkdir",
				    "open",   "read",  "rename", "scandir", "stat"};

static void count_call(const char *name)
{
	if (!is_writer || ++calls != hang_at)
		return;
	snprintf(hung_call, sizeof(hung_call), "%s", name);
	hung = true;
	while (hang_at)
		sched_yield();
}

static atomic_bool hanging;
static atomic_int syncs; /* begun */

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	count_call("fsync");
	syncs++;
	while (hanging)
		sched_yield();
	return 0;
}

static void await_sync(int number)
{
	double start = clock_ms();

	while (syncs < number) {
		assert_true(clock_ms() < start + LONG_MS);
		sched_yield();
	}
}

static void save(struct store *store, struct pm_plan *plan)
{
	struct planning planning = {.base = plan, .plan = plan, .unsaved = true};

	store_save(store, &planning);
	assert_false(planning.unsaved);
}

/* What is in the file. */
static struct pm_plan *read_plan(void)
{
	struct pm_error err = {""};
	struct pm_plan *plan;
	char path[128];

	snprintf(path, sizeof(path), "%s/portmajor.%016x/plan", folder, GUID);
	assert_int_equal(pm_plan_file_read(path, &plan, &err), 0);
	return plan;
}

/* All that the sweeper calls, while the writer is in an fsync that does not end. */
static void test_hanging(void **state)
{
	struct store *store = open_store();
	struct pm_error why;
	struct pm_plan *plan;
	char *path;

	hanging = true;
	syncs = 0;
	assert_false(store_await_plan(store));
	save(store, world.plan);
	await_sync(1);
	assert_true(store_await_plan(store));
	world.plan->adopted = !world.plan->adopted;
	save(store, world.plan); /* is dropped */
	world.plan->adopted = !world.plan->adopted;
	save(store, world.plan);
	world.plan->adopted = !world.plan->adopted;
	save(store, world.plan);
	assert_false(store_open(store, GUID));
	path = store_path(store, "state");
	assert_non_null(path);
	free(path);
	store_trouble(store, &why);
	assert_string_equal(why.text, "");
	assert_int_equal(store_guid(store), GUID);
	assert_false(store_has_plan(store));
	assert_true(store_await_plan(store));
	assert_int_equal(syncs, 1);
	hanging = false;
	while (store_await_plan(store))
		;
	assert_true(store_has_plan(store));
	close_store();
	assert_int_equal(syncs, 4); /* file and folder, of the first and of the last */
	plan = read_plan();
	assert_int_equal(plan->adopted, world.plan->adopted);
	pm_plan_free(plan);
}

/* ---- Any call that hangs ---- */

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
	count_call("access");
	return __real_access(path, mode);
}

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
	count_call("flock");
	return __real_flock(fd, operation);
}

int __real_lstat(const char *path, struct stat *found);
int __wrap_lstat(const char *path, struct stat *found);
int __wrap_lstat(const char *path, struct stat *found)
{
	count_call("lstat");
	return __real_lstat(path, found);
}

int __real_stat(const char *path, struct stat *found);
int __wrap_stat(const char *path, struct stat *found);
int __wrap_stat(const char *path, struct stat *found)
{
	count_call("stat");
	return __real_stat(path, found);
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
	count_call("mkdir");
	return __real_mkdir(path, mode);
}

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode)
{
	count_call("open");
	return __real_open(path, flags, mode);
}

ssize_t __real_read(int fd, void *data, size_t length);
ssize_t __wrap_read(int fd, void *data, size_t length);
ssize_t __wrap_read(int fd, void *data, size_t length)
{
	count_call("read");
	return __real_read(fd, data, length);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
	count_call("rename");
	return __real_rename(from, to);
}

int __real_scandir(const char *path, struct dirent ***list,
		   int (*filter)(const struct dirent *),
		   int (*compare)(const struct dirent **, const struct dirent **));
int __wrap_scandir(const char *path, struct dirent ***list,
		   int (*filter)(const struct dirent *),
		   int (*compare)(const struct dirent **, const struct dirent **));
int __wrap_scandir(const char *path, struct dirent ***list,
		   int (*filter)(const struct dirent *),
		   int (*compare)(const struct dirent **, const struct dirent **))
{
	count_call("scandir");
	return __real_scandir(path, list, filter, compare);
}

/* What the sweeper calls while the writer hangs; none of it waits. */
static void check_nobody_waits(struct store *store)
{
	struct pm_error why;
	int before = calls;

	free(store_path(store, "state"));
	free(store_path_read(store, "requests"));
	store_trouble(store, &why);
	assert_int_equal(store_guid(store), GUID);
	assert_false(store_open(store, GUID));
	assert_int_equal(calls, before);
}

/* The sweeper gives up; a file that is read later is not lost. */
static void go_on_without(struct store *store, struct pm_plan *plan)
{
	const struct store_request request = {.fabric = world.fabric};
	struct planning planning = {.phase = PLANNING_EMPTY};
	struct pm_error err;

	assert_true(store_await_poll(store));
	assert_int_equal(store_load(store, &request, &planning, &err), -EAGAIN);
	assert_true(store_give_up(store));
	assert_false(store_give_up(store));
	assert_false(store_await_poll(store));
	assert_false(store_has_later(store, &request));
	assert_int_equal(store_load(store, &request, &planning, &err), -EAGAIN);
	assert_int_equal(planning.phase, PLANNING_EMPTY);
	save(store, plan);
	assert_false(store_await_plan(store));
	store_poll(store); /* in the next sweep */
	assert_false(store_await_poll(store));
}

static void check_loaded(struct store *store)
{
	const struct store_request request = {.fabric = world.fabric};
	struct planning planning = {.phase = PLANNING_EMPTY};
	struct pm_error err;

	assert_false(store_give_up(store));
	assert_int_equal(store_load(store, &request, &planning, &err), 0);
	assert_int_equal(planning.phase, PLANNING_LOADED);
	assert_false(planning.base->adopted);
	planning_forget(&planning);
}

static void remove_files(const char *pattern)
{
	char path[128];
	glob_t found = {0};

	snprintf(path, sizeof(path), "%s/portmajor.%016x/%s", folder, GUID, pattern);
	if (!glob(path, 0, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc; i++)
			assert_int_equal(unlink(found.gl_pathv[i]), 0);
	globfree(&found);
}

/* The folder as it was: the plan, `bare` not even the folder. */
static void put_plan(bool bare)
{
	char path[128], *text;
	size_t length;

	remove_files("*");
	snprintf(path, sizeof(path), "%s/portmajor.%016x", folder, GUID);
	rmdir(path);
	if (bare)
		return;
	assert_int_equal(mkdir(path, 0755), 0);
	world.plan->adopted = false;
	assert_int_equal(pm_plan_file_print(world.plan, &text, &length), 0);
	write_plan(text, length);
	free(text);
}

/* With the nth call of the writer's hanging; whether there was one. */
static bool hang_in(int nth, bool bare)
{
	struct store *store = begin_store();
	bool late;

	calls = 0;
	hung = false;
	hang_at = nth;
	assert_true(store_open(store, GUID));
	store_poll(store);
	while (!hung && store_await_poll(store))
		;
	late = hung && store_await_poll(store);
	world.plan->adopted = true;
	if (late)
		go_on_without(store, world.plan);
	else if (!bare)
		check_loaded(store);
	if (!late)
		save(store, world.plan);
	while (!hung && store_await_plan(store))
		;
	if (hung)
		check_nobody_waits(store);
	hang_at = 0;
	close_store();
	assert_int_equal(count_files("plan.late-*"), late && !bare);
	return hung;
}

/* Each call in turn, until a run ends before it. */
static void hang_in_each(bool bare)
{
	for (int nth = 1, any = true; any; nth++) {
		struct pm_plan *plan;

		put_plan(bare);
		any = hang_in(nth, bare);
		plan = read_plan();
		assert_true(plan->adopted); /* the new one */
		pm_plan_free(plan);
		for (size_t i = 0; any && i < LENGTH(names); i++)
			kinds |= (unsigned int)!strcmp(hung_call, names[i]) << i;
	}
}

/* Whether a call by that name can be wrapped. */
static bool is_wrapped(const char *name)
{
#if __GLIBC_PREREQ(2, 33)
	return true;
#else
	return !strstr(name, "stat"); /* it is __xstat, inline */
#endif
}

/* The calls of a run depend on the writer's progress when it is poked again. */
static void test_hanging_anywhere(void **state)
{
	unsigned int all = 0;

	for (size_t i = 0; i < LENGTH(names); i++)
		all |= (unsigned int)is_wrapped(names[i]) << i;
	hanging = false;
	kinds = 0;
	for (int round = 0; round < ROUNDS && kinds != all; round++) {
		hang_in_each(false);
		hang_in_each(true);
	}
	assert_int_equal(kinds, all);
	world.plan->adopted = false;
}

static void join_name(char path[128], const char *name)
{
	snprintf(path, 128, "%s/portmajor.%016x/%s", folder, GUID, name);
}

static int lock_it(mode_t mode)
{
	char path[128];
	int fd;

	join_name(path, "lock");
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0 && !fchmod(fd, mode) && !flock(fd, LOCK_EX));
	return fd;
}

/* A plan of another process, which differs from ours in `adopted`. */
static void put_other_plan(bool adopted)
{
	bool before = world.plan->adopted;
	size_t length;
	char *text;

	world.plan->adopted = adopted;
	assert_int_equal(pm_plan_file_print(world.plan, &text, &length), 0);
	write_plan(text, length);
	free(text);
	world.plan->adopted = before;
}

static void await_saved(struct store *store, bool adopted)
{
	struct pm_plan *plan;
	double start = clock_ms();

	for (bool saved = false; !saved; pm_plan_free(plan)) {
		assert_true(clock_ms() < start + LONG_MS);
		store_open(store, GUID);
		await_writer();
		plan = read_plan();
		saved = plan->adopted == adopted;
	}
}

/*
 * A plan that cannot be written is not waited for, and is written when it can be. The
 * existing file is read, and so is the one that the other process leaves kept.
 */
static void test_in_use(void **state)
{
	struct store *store;
	struct pm_error why;
	int other;

	put_plan(false);
	other = lock_it(0600);
	store = begin_store();
	assert_true(store_open(store, GUID));
	store_poll(store);
	while (store_await_poll(store))
		;
	check_loaded(store);
	assert_null(store_path(store, "state"));
	assert_true(store_has_plan(store));
	world.plan->adopted = true;
	save(store, world.plan);
	while (store_await_plan(store))
		;
	store_trouble(store, &why);
	assert_non_null(strstr(why.text, "another process uses it"));
	assert_int_equal(count_files("*"), 2);
	put_other_plan(false);
	close(other);
	await_saved(store, true);
	close_store();
	assert_int_equal(count_files("plan.late-*"), 1);
	remove_files("plan.late-*");
	world.plan->adopted = false;
}

/* Some hold, so that there is something to save. */
static struct pm_damping *make_holds(void)
{
	const struct pm_damping_config config = {3, 60000, 60000, 3600000};
	const struct pm_damping_record record = {
		.end = {{1, 1}, {2, 1}}, .downs = 1, .hold_ms = 60000, .num = 1};
	struct pm_damping *damping;

	assert_int_equal(pm_damping_make(&config, &damping, NULL), 0);
	assert_int_equal(pm_damping_import(damping, 0, &record, NULL), 0);
	return damping;
}

/*
 * No file is replaced or removed that this process has not read and used, or written:
 * any other one is kept, and the reason logged.
 */
static void test_not_ours(void **state)
{
	struct pm_damping *damping = make_holds();
	struct store *store;
	char path[128];

	put_plan(false);
	store = begin_store();
	assert_true(store_open(store, GUID));
	store_poll(store);
	while (store_await_poll(store))
		;
	check_loaded(store);
	for (size_t i = 0; i < KEPT_FILES; i++) {
		FILE *file;

		join_name(path, kept_name[i]);
		file = fopen(path, "w");
		assert_non_null(file);
		fputs("of another process\n", file);
		assert_int_equal(fclose(file), 0);
	}
	world.plan->adopted = true;
	save(store, world.plan);
	store_save_holds(store, damping, 0);
	await_saved(store, true);
	close_store();
	assert_int_equal(count_files("plan.late-*"), 1);
	assert_int_equal(count_files("drifting.late-*"), 1);
	assert_int_equal(count_files("drifting"), 0);
	assert_int_equal(count_files("holds.late-*"), 1);
	assert_int_equal(count_files("holds"), 1);
	remove_files("*.late-*");
	world.plan->adopted = false;
	pm_damping_free(damping);
}

/* Only the folder's owner can open the lock, also where others could before. */
static void test_lock_of_others(void **state)
{
	static const mode_t modes[] = {0644, 0604, 0640, 0622};
	struct stat lock;
	char path[128];

	join_name(path, "lock");
	for (size_t i = 0; i < LENGTH(modes); i++) {
		mode_t mask = umask(i % 2 ? 0 : 022);
		struct pm_error why;
		struct store *store;
		int other;

		put_plan(false);
		other = lock_it(modes[i]);
		store = open_store();
		assert_int_equal(stat(path, &lock), 0);
		assert_int_equal(lock.st_mode & 0777, 0600);
		assert_true(store_has_plan(store));
		store_trouble(store, &why);
		assert_string_equal(why.text, "");
		close_store();
		close(other);
		umask(mask);
	}
}

/*
 * Whatever the umask, all users can read the files, and only the owner can write them.
 */
static void test_modes(void **state)
{
	static const mode_t masks[] = {0, 002, 022, 077};
	struct stat found;
	char path[128];

	for (size_t i = 0; i < LENGTH(masks); i++) {
		mode_t mask = umask(masks[i]);

		put_plan(true);
		save(open_store(), world.plan);
		await_saved(the_store, world.plan->adopted);
		close_store();
		umask(mask);
		join_name(path, "plan");
		assert_int_equal(stat(path, &found), 0);
		assert_int_equal(found.st_mode & 0777, 0644);
		join_name(path, "");
		assert_int_equal(stat(path, &found), 0);
		assert_int_equal(found.st_mode & 0777, 0755);
	}
}

/* Whether a plan is found if the folder can be used, and whether it can. */
static bool finds_plan(bool *opens)
{
	const struct store_request request = {.fabric = world.fabric};
	struct planning planning = {.phase = PLANNING_EMPTY};
	struct store *store;
	char *path;
	bool found;

	store = begin_store();
	store_open(store, GUID);
	store_poll(store);
	while (store_await_poll(store))
		;
	path = store_path(store, "state");
	*opens = path != NULL;
	free(path);
	assert_int_equal(store_load(store, &request, &planning, NULL), 0);
	found = planning.phase == PLANNING_LOADED;
	planning_forget(&planning);
	close_store();
	return found;
}

static void rename_back(const char *path)
{
	char pattern[300];
	glob_t aside = {0};

	snprintf(pattern, sizeof(pattern), "%s.bad-*", path);
	assert_int_equal(glob(pattern, 0, NULL, &aside), 0);
	assert_int_equal(aside.gl_pathc, 1);
	assert_int_equal(rename(aside.gl_pathv[0], path), 0);
	globfree(&aside);
}

/*
 * Files that other users could have written are not used: in a folder of theirs they
 * stay, and a file in ours is renamed.
 */
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

	snprintf(ours, sizeof(ours), "%s/portmajor.%016x", folder, GUID);
	snprintf(plan, sizeof(plan), "%s/plan", ours);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", ours);
	assert_int_equal(pm_plan_file_print(world.plan, &text, &length), 0);
	write_plan(text, length);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct stat before;

		assert_int_equal(stat(rows[i].path, &before), 0);
		assert_int_equal(chmod(rows[i].path, rows[i].mode), 0);
		assert_false(finds_plan(&opens));
		assert_int_equal(opens, rows[i].opens);
		assert_int_equal(count_files("plan.bad-*"), rows[i].opens);
		if (rows[i].opens)
			rename_back(plan);
		assert_int_equal(chmod(rows[i].path, before.st_mode & 07777), 0);
		assert_true(finds_plan(&opens));
		assert_true(opens);
	}
	assert_int_equal(rename(plan, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, plan), 0);
	assert_false(finds_plan(&opens));
	rename_back(plan);
	assert_int_equal(rename(elsewhere, plan), 0);
	if (!geteuid()) {
		assert_int_equal(chown(plan, 1, (gid_t)-1), 0);
		assert_false(finds_plan(&opens));
		rename_back(plan);
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

/*
 * The folder of a plan that was taken over loses the files that were used, and no other
 * one: a damaged drifting plan, or a plan that was written since.
 */
static void test_taken_over(void **state)
{
	const struct store_request request = {.fabric = world.fabric};
	char ours[128], theirs[128], path[160];

	snprintf(ours, sizeof(ours), "%s/portmajor.%016x", folder, GUID);
	snprintf(theirs, sizeof(theirs), "%s/portmajor.%016x", folder, GUID + 1);
	for (int late = 0; late < 2; late++) {
		struct planning planning = {.phase = PLANNING_EMPTY};
		struct store *store;
		FILE *file;

		put_plan(false);
		assert_int_equal(rename(ours, theirs), 0);
		snprintf(path, sizeof(path), "%s/%s", theirs, late ? "plan" : "drifting");
		file = late ? NULL : fopen(path, "w");
		assert_true(late || (fputs("damaged\n", file) >= 0 && !fclose(file)));
		store = begin_store();
		assert_true(store_open(store, GUID));
		store_poll(store);
		while (store_await_poll(store))
			;
		assert_int_equal(store_load(store, &request, &planning, NULL), 0);
		assert_int_equal(planning.phase, PLANNING_LOADED);
		assert_true(planning.unsaved);
		file = late ? fopen(path, "w") : NULL;
		assert_true(!late || (fputs("newer\n", file) >= 0 && !fclose(file)));
		save(store, world.plan);
		while (store_await_plan(store))
			;
		close_store();
		planning_forget(&planning);
		assert_int_equal(count_files("plan"), 1);
		assert_int_equal(unlink(path), 0);  /* it is there .. */
		assert_int_equal(rmdir(theirs), 0); /* .. and nothing else */
		remove_files("plan");
	}
}

/* The folder of the master that this OpenSM was a standby of stays, to show its end. */
static void test_former_master(void **state)
{
	const struct store_request request = {.fabric = world.fabric};
	struct planning planning = {.phase = PLANNING_EMPTY};
	char ours[128], theirs[128], path[160];
	struct store *store;

	snprintf(ours, sizeof(ours), "%s/portmajor.%016x", folder, GUID);
	snprintf(theirs, sizeof(theirs), "%s/portmajor.%016x", folder, GUID + 1);
	put_plan(false);
	assert_int_equal(rename(ours, theirs), 0);
	store = begin_store();
	store_note_master(store, GUID + 1);
	assert_true(store_open(store, GUID));
	store_poll(store);
	while (store_await_poll(store))
		;
	assert_int_equal(store_load(store, &request, &planning, NULL), 0);
	assert_int_equal(planning.phase, PLANNING_LOADED);
	save(store, world.plan);
	while (store_await_plan(store))
		;
	close_store();
	planning_forget(&planning);
	snprintf(path, sizeof(path), "%s/plan", theirs);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(theirs), 0);
	remove_files("plan");
}

static int set_up(void **state)
{
	world_make(&world, world_director(36), PM_GROUPED);
	return !mkdtemp(folder) || setenv("OSM_CACHE_DIR", folder, 1);
}

static int tear_down(void **state)
{
	glob_t left = {0};
	char path[128];

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
		cmocka_unit_test(test_damaged_again),
		cmocka_unit_test(test_hanging),
		cmocka_unit_test(test_hanging_anywhere),
		cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_lock_of_others),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_of_others),
		cmocka_unit_test(test_taken_over),
		cmocka_unit_test(test_former_master),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
