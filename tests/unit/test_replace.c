/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replacing a file: whatever fails, and whenever the process ends, there is a whole
 * file.
 */

#include "world.h"
#include "unit.h"

#include <portmajor/base/replace.h>

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OLD "what was there\n"
#define NEW "what comes in its place, and is longer\n"

/* ---- Faults: the linker has these called instead (--wrap) ---- */

static struct {
	int at;	   /* the n-th call, from 1 on, fails, and those after it; 0: none */
	int error; /* with this errno; 0: the process ends there */
	int calls;
	bool once; /* only that one */
	bool short_writes;
} fault;

static bool fails(void)
{
	fault.calls++;
	if (!fault.at || fault.calls < fault.at || (fault.once && fault.calls > fault.at))
		return false;
	if (!fault.error)
		_exit(0);
	errno = fault.error;
	return true;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, mode_t mode);
ssize_t __real_write(int fd, const void *data, size_t length);
ssize_t __wrap_write(int fd, const void *data, size_t length);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_close(int fd);
int __wrap_close(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __real_unlink(const char *path);
int __wrap_unlink(const char *path);

int __wrap_open(const char *path, int flags, mode_t mode)
{
	return fails() ? -1 : __real_open(path, flags, mode);
}

ssize_t __wrap_write(int fd, const void *data, size_t length)
{
	if (fault.short_writes && length > 5)
		length = 5;
	return fails() ? -1 : __real_write(fd, data, length);
}

int __wrap_fsync(int fd)
{
	return fails() ? -1 : __real_fsync(fd);
}

int __wrap_close(int fd)
{
	bool failed = fails();

	__real_close(fd); /* as close(2) does, whatever it returns */
	return failed ? -1 : 0;
}

int __wrap_rename(const char *from, const char *to)
{
	return fails() ? -1 : __real_rename(from, to);
}

int __wrap_unlink(const char *path)
{
	return fails() ? -1 : __real_unlink(path);
}

/* ---- Files ---- */

struct folder {
	char path[64];
	char file[96], new[96];
};

static int make_folder(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	memset(&fault, 0, sizeof(fault));
	if (!f)
		return -1;
	snprintf(f->path, sizeof(f->path), "/tmp/test_replace.XXXXXX");
	if (!mkdtemp(f->path)) {
		free(f);
		return -1;
	}
	snprintf(f->file, sizeof(f->file), "%s/file", f->path);
	snprintf(f->new, sizeof(f->new), "%s/file.new", f->path);
	*state = f;
	return 0;
}

static int remove_folder(void **state)
{
	struct folder *f = *state;

	memset(&fault, 0, sizeof(fault));
	unlink(f->file);
	unlink(f->new);
	rmdir(f->path);
	free(f);
	return 0;
}

static bool holds(const char *path, const char *text)
{
	char found[128];
	FILE *file = fopen(path, "r");
	size_t length;

	if (!file)
		return false;
	length = fread(found, 1, sizeof(found), file);
	fclose(file);
	return length == strlen(text) && !memcmp(found, text, length);
}

static bool is_there(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

static int put(const struct folder *f, const char *text, struct pm_error *err)
{
	return pm_replace(f->file, ".new", text, strlen(text), err);
}

/* The old file again, and no fault any more. */
static void start_over(const struct folder *f)
{
	memset(&fault, 0, sizeof(fault));
	assert_int_equal(put(f, OLD, NULL), 0);
	assert_true(holds(f->file, OLD));
	assert_false(is_there(f->new));
	fault.calls = 0;
}

/* ---- Tests ---- */

static void test_made_and_replaced(void **state)
{
	static char large[1 << 20];
	struct folder *f = *state;
	struct stat st;
	mode_t mask = umask(027);

	assert_int_equal(put(f, OLD, NULL), 0);
	umask(mask);
	assert_int_equal(stat(f->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(put(f, NEW, NULL), 0);
	assert_true(holds(f->file, NEW));
	assert_int_equal(put(f, "", NULL), 0);
	assert_true(holds(f->file, ""));
	assert_int_equal(pm_replace(f->file, ".new", large, sizeof(large), NULL), 0);
	assert_int_equal(stat(f->file, &st), 0);
	assert_int_equal(st.st_size, sizeof(large));
	assert_false(is_there(f->new));
	mask = umask(0);
	assert_int_equal(put(f, NEW, NULL), 0);
	umask(mask);
	assert_int_equal(stat(f->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
}

/* What the plugin keeps: others read it, and only its owner writes it. */
static void test_public(void **state)
{
	static const mode_t masks[] = {0, 002, 022, 077, 0777};
	struct folder *f = *state;

	for (size_t i = 0; i < LENGTH(masks); i++) {
		mode_t mask = umask(masks[i]);
		struct stat st;
		int rc = pm_replace_public(f->file, ".new", NEW, strlen(NEW), NULL);

		umask(mask);
		assert_int_equal(rc, 0);
		assert_true(holds(f->file, NEW));
		assert_int_equal(stat(f->file, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0644);
		assert_int_equal(unlink(f->file), 0);
	}
}

/* The rest of a killed process is in no one's way, nor is a link followed. */
static void test_left_over(void **state)
{
	struct folder *f = *state;
	char other[128];

	start_over(f);
	snprintf(other, sizeof(other), "%s/other", f->path);
	assert_int_equal(pm_replace(other, ".new", OLD, strlen(OLD), NULL), 0);
	assert_int_equal(symlink(other, f->new), 0);
	assert_int_equal(put(f, NEW, NULL), 0);
	assert_true(holds(f->file, NEW));
	assert_true(holds(other, OLD));
	assert_false(is_there(f->new));
	unlink(other);
}

/* Nothing outside of the folder: code that is wrong would replace it. */
static void test_no_file(void **state)
{
	static const struct {
		const char *path;
		int rc;
	} rows[] = {
		{"pipe", -EEXIST},
		{"folder", -EISDIR},
		{"nowhere/file", -ENOENT},
		{"pipe/file", -ENOTDIR},
	};
	const struct folder *f = *state;
	char pipe[96], folder[96], path[PATH_MAX + 16];
	struct pm_error err;

	snprintf(pipe, sizeof(pipe), "%s/pipe", f->path);
	snprintf(folder, sizeof(folder), "%s/folder", f->path);
	assert_int_equal(mkfifo(pipe, 0600) | mkdir(folder, 0700), 0);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		snprintf(path, sizeof(path), "%s/%s", f->path, rows[i].path);
		if (pm_replace(path, ".new", OLD, 1, &err) != rows[i].rc ||
		    strncmp(err.text, path, strlen(path)) != 0)
			fail_msg("%s: %s", path, err.text);
	}
	unlink(pipe);
	rmdir(folder);
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(pm_replace(path, ".new", OLD, 1, &err), -ENAMETOOLONG);
}

static void test_short_and_interrupted(void **state)
{
	struct folder *f = *state;

	start_over(f);
	fault.short_writes = true;
	assert_int_equal(put(f, NEW, NULL), 0);
	assert_true(holds(f->file, NEW));
	start_over(f);
	for (int at = 3; at <= 4; at++) { /* the first writes */
		fault.short_writes = fault.once = true;
		fault.at = at;
		fault.error = EINTR;
		assert_int_equal(put(f, NEW, NULL), 0);
		assert_true(holds(f->file, NEW));
		start_over(f);
	}
}

/* A file system that cannot sync is no failure. */
static void test_no_sync(void **state)
{
	struct folder *f = *state;

	start_over(f);
	fault.once = true;
	fault.at = 4; /* unlink, open, write, fsync */
	fault.error = EINVAL;
	assert_int_equal(put(f, NEW, NULL), 0);
	assert_true(holds(f->file, NEW));
}

/* One call after the other fails, alone or with all that follow. */
static void test_each_fails(void **state)
{
	static const int errors[] = {ENOSPC, EIO};
	struct folder *f = *state;

	for (size_t i = 0; i < 2 * LENGTH(errors); i++) {
		int at = 0, calls, rc;

		do {
			struct pm_error err = {""};
			bool once = i % 2;

			start_over(f);
			fault.once = once;
			fault.error = errors[i / 2];
			fault.at = ++at;
			rc = put(f, NEW, &err);
			calls = fault.calls;
			memset(&fault, 0, sizeof(fault));
			if (rc && (rc != -errors[i / 2] || !strstr(err.text, f->file)))
				fail_msg("call %d: %d, %s", at, rc, err.text);
			/* Up to the sync of the folder, each of them counts. */
			if (!rc && at < 9)
				fail_msg("call %d: no error", at);
			if (!rc && !holds(f->file, NEW))
				fail_msg("call %d: not there", at);
			if (!holds(f->file, OLD) && !holds(f->file, NEW))
				fail_msg("call %d: not whole", at);
			if (once && is_there(f->new))
				fail_msg("call %d: leftover", at);
			assert_int_equal(put(f, NEW, NULL), 0);
			assert_true(holds(f->file, NEW));
			assert_false(is_there(f->new));
		} while (calls >= at);
		assert_int_equal(rc, 0);
		assert_true(at > 9);
	}
}

/* The process ends before each of the calls; the next one finds a whole file. */
static void test_killed(void **state)
{
	struct folder *f = *state;
	bool was_old = false, was_new = false;
	int at = 0, status;

	do {
		pid_t child;

		start_over(f);
		fault.at = ++at;
		fflush(NULL);
		child = fork();
		if (!child)
			_exit(put(f, NEW, NULL) ? 2 : 1);
		memset(&fault, 0, sizeof(fault));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
		if (!holds(f->file, OLD) && !holds(f->file, NEW))
			fail_msg("call %d: not whole", at);
		was_old |= holds(f->file, OLD);
		was_new |= holds(f->file, NEW);
		assert_int_equal(put(f, NEW, NULL), 0);
		assert_true(holds(f->file, NEW));
		assert_false(is_there(f->new));
	} while (!WEXITSTATUS(status));
	assert_true(was_old && was_new && at > 9);
}

int main(void)
{
#define IN_A_FOLDER(test)                                                                \
	cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(test_made_and_replaced),
		IN_A_FOLDER(test_public),
		IN_A_FOLDER(test_left_over),
		IN_A_FOLDER(test_no_file),
		IN_A_FOLDER(test_short_and_interrupted),
		IN_A_FOLDER(test_no_sync),
		IN_A_FOLDER(test_each_fails),
		IN_A_FOLDER(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
