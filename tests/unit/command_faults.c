/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A command with each of its allocations failing alone, and then with all behind it:
 * the result is exit status 3 and a message, or the output, files and exit status of a
 * run without failures. The command is linked into this program, which runs it in a
 * child for each allocation.
 */
#include "command_faults.h"
#include "memfault.h"
#include "unit.h"

#include "../../src/cli/output.h"

#include <portmajor/base/textfile.h>

#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_ARGS 24
#define SHOWN 8 /* wrong results of a row */

/* The linker makes calls of main calls of __wrap_main. */
int __real_main(int argc, char **argv);
/* The age of a state is the same in all runs. */
time_t time(time_t *seconds)
{
	if (seconds)
		*seconds = 1000;
	return 1000;
}

/* ---- One run ---- */

/* The result of a run; freed by free_result. */
struct result {
	int status; /* of exit, or -1: it ended otherwise */
	uint64_t allocations;
	int64_t leaked;
	char *out, *err, *file;
};

/* The child's report on its memory. */
static struct {
	uint64_t allocations;
	int64_t leaked;
} * shared;

static char *text_of(int fd)
{
	off_t length = lseek(fd, 0, SEEK_END);
	char *text = calloc((size_t)length + 1, 1);

	assert_non_null(text);
	assert_int_equal(pread(fd, text, (size_t)length, 0), length);
	close(fd);
	return text;
}

static char *text_of_file(const char *path)
{
	char *text = NULL, *ended;
	size_t length = 0;

	if (!path || access(path, F_OK))
		return strdup("not there");
	assert_int_equal(pm_textfile_read(path, &text, &length, NULL), 0);
	ended = strndup(text, length);
	assert_non_null(ended);
	free(text);
	return ended;
}

void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void run_child(const char *args, const struct memfault *fault, int out, int err)
{
	static char text[512], *argv[MAX_ARGS + 1];
	char *rest = text;
	int64_t live;
	int argc = 0, status;

	snprintf(text, sizeof(text), "%s %s", cli_program, args);
	while (argc < MAX_ARGS && (argv[argc] = strsep(&rest, " ")))
		argc++;
	if (dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(99);
	alarm(60);
	program_invocation_short_name = argv[0];
	live = memfault_live();
	memfault_begin(fault);
	status = __real_main(argc, argv);
	shared->allocations = memfault_end();
	shared->leaked = memfault_live() - live;
	_exit(status);
}

static struct result run(const struct command_row *row, struct memfault fault)
{
	int out = memfd_create("out", 0), err = memfd_create("err", 0), wstatus;
	struct result result;
	pid_t pid;

	assert_true(out >= 0 && err >= 0);
	if (row->file)
		unlink(row->file);
	if (row->before)
		write_file(row->file, row->before);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		run_child(row->args, &fault, out, err);
	assert_int_equal(waitpid(pid, &wstatus, 0), pid);
	result = (struct result){
		.status = WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : -1,
		.allocations = shared->allocations,
		.leaked = shared->leaked,
		.out = text_of(out),
		.err = text_of(err),
		.file = text_of_file(row->file),
	};
	return result;
}

static void free_result(struct result *result)
{
	free(result->out);
	free(result->err);
	free(result->file);
}

/* The fault of a result, or NULL. */
static const char *judge(const struct result *found, const struct result *wanted,
			 const struct command_row *row)
{
	bool same_file = !strcmp(found->file, wanted->file);
	bool as_before = !strcmp(found->file, row->before ? row->before : "not there");

	if (found->status < 0)
		return "it crashed";
	if (found->status != 3 && found->leaked > wanted->leaked)
		return "it leaks";
	if (found->status == 3 && strncmp(found->err, cli_program, strlen(cli_program)))
		return "no message";
	if (found->status == 3 && !strstr(found->err, "emory"))
		return "another reason";
	if (found->status == 3)
		return same_file || as_before ? NULL : "half a file";
	if (found->status != wanted->status)
		return "another exit status";
	if (strcmp(found->err, wanted->err) != 0)
		return "other messages";
	if (!same_file)
		return "another file";
	return strcmp(found->out, wanted->out) ? "another output" : NULL;
}

/* ---- All of them ---- */

#ifndef EVERY
#define EVERY 3 /* of two runs for each allocation; a slow build may have fewer */
#endif

static void test_row(void **state)
{
	const struct command_row *row = *state;
	struct result wanted, found;
	uint64_t last;
	unsigned int wrong = 0;

#ifdef __SANITIZE_ADDRESS__ /* needs memory itself for a thread */
	if (strstr(row->args, "--threads 2"))
		skip();
#endif
	wanted = run(row, (struct memfault){0, false});
	last = wanted.allocations;
	print_message("%s: %llu allocations, exit status %d\n", row->name,
		      (unsigned long long)last, wanted.status);
	assert_true(wanted.status == 0 || wanted.status == 1);
	for (uint64_t i = 2; i < 2 * last + 2; i += EVERY) {
		const struct memfault fault = {.nth = i / 2, .onwards = i % 2};
		const char *what;

		found = run(row, fault);
		what = judge(&found, &wanted, row);
		if (what && wrong++ < SHOWN)
			print_error("%s %s: allocation %llu%s: %s: exit status %d, %s\n",
				    cli_program, row->args, (unsigned long long)fault.nth,
				    fault.onwards ? " and all that follow" : "", what,
				    found.status, found.err);
		free_result(&found);
	}
	free_result(&wanted);
	if (wrong)
		fail_msg("%s: %u of %llu runs are wrong", row->name, wrong,
			 (unsigned long long)(2 * last));
}

void make_file(const char *path, const char *args)
{
	struct result made =
		run(&(struct command_row){"", args, NULL, NULL}, (struct memfault){0});

	if (made.status)
		fail_msg("%s: %s", args, made.err);
	write_file(path, made.out);
	free_result(&made);
}

void make_file_by_portmajor(const char *path, const char *args)
{
	char line[512];

	snprintf(line, sizeof(line), "%s %s >%s", PORTMAJOR, args, path);
	if (system(line))
		fail_msg("%s", line);
}

static char folder[] = "/tmp/test_commands-XXXXXX";
static const struct command_tests *tests;

static int make_folder(void **state)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || !mkdtemp(folder) || chdir(folder))
		return -1;
	setenv("OSM_CACHE_DIR", folder, 1);
	setenv("PATH", folder, 1);
	return tests->make_files();
}

static int remove_file(const char *path, const struct stat *about, int kind,
		       struct FTW *place)
{
	return remove(path);
}

static int remove_folder(void **state)
{
	return chdir("/") || nftw(folder, remove_file, 8, FTW_DEPTH | FTW_PHYS);
}

int command_tests_run(const struct command_tests *all, int argc, char **argv)
{
	struct CMUnitTest *list = calloc(all->num, sizeof(*list));
	size_t num = 0;
	int failed;

	assert_non_null(list);
	tests = all;
	for (size_t i = 0; i < all->num; i++) {
		bool chosen = argc < 2;

		for (int a = 1; a < argc; a++)
			chosen |= !strcmp(argv[a], all->rows[i].name);
		if (chosen)
			list[num++] = (struct CMUnitTest){
				.name = all->rows[i].name,
				.test_func = test_row,
				.initial_state = (void *)(uintptr_t)&all->rows[i]};
	}
	failed = _cmocka_run_group_tests("commands", list, num, make_folder,
					 remove_folder);
	free(list);
	return failed;
}
