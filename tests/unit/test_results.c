/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Results stay the same: plans, tables, counts and simulations of many fabrics. Only
 * this test fails when one of two equally good results replaces the other, which would
 * make an upgrade rewrite the tables of a running subnet.
 *
 * RESULTS names a file with lines `DIGEST COMMAND`. The commands run one after the
 * other, by a shell, in one folder; its subfolder out/ is emptied before each. A digest
 * is of the exit status, of the command's output, and of the files in out/, without the
 * version. An intended change goes into the file by `--update`; `--print COMMAND`
 * prints a command's results.
 */
#include "unit.h"

#include <portmajor/base/hash.h>

#include <dirent.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ROWS 500

static struct row {
	uint64_t digest;
	char *command;
} rows[MAX_ROWS];
static size_t num_rows;
static char folder[] = "/tmp/test_results-XXXXXX";

/* ---- The digest of a command ---- */

static char *text_of(const char *path)
{
	char *text = NULL;
	size_t capacity = 0;
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	if (getdelim(&text, &capacity, EOF, file) < 0) {
		assert_true(feof(file));
		free(text);
		text = strdup("");
	}
	assert_non_null(text);
	assert_int_equal(fclose(file), 0);
	return text;
}

static uint64_t add_text(uint64_t digest, const char *text)
{
	const char *version;

	for (; (version = strstr(text, PORTMAJOR_VERSION));
	     text = version + strlen(PORTMAJOR_VERSION))
		digest = pm_hash(digest, text, (size_t)(version - text));
	return pm_hash(digest, text, strlen(text) + 1);
}

static uint64_t add_file(uint64_t digest, const char *path)
{
	char *text = text_of(path);

	digest = add_text(digest, text);
	free(text);
	return digest;
}

static uint64_t add_files_of_out(uint64_t digest)
{
	struct dirent **entries;
	int num = scandir("out", &entries, NULL, alphasort);

	assert_true(num >= 0);
	for (int i = 0; i < num; i++) {
		char path[sizeof(entries[i]->d_name) + 4];

		snprintf(path, sizeof(path), "out/%s", entries[i]->d_name);
		if (entries[i]->d_type == DT_REG)
			digest = add_file(add_text(digest, path), path);
		free(entries[i]);
	}
	free(entries);
	return digest;
}

/* Writes its output to the files `printed` and `errors`. */
static int run_command(const char *command)
{
	char line[1024];
	int length = snprintf(
		line, sizeof(line),
		"rm -rf out && mkdir out && { %s\n} </dev/null >printed 2>errors",
		command);

	assert_in_range(length, 0, sizeof(line) - 1);
	return system(line);
}

static uint64_t digest_of(const char *command)
{
	int status = run_command(command);

	assert_true(WIFEXITED(status));
	return add_files_of_out(add_file(
		add_file(pm_hash_number(PM_HASH_START, (uint64_t)WEXITSTATUS(status)),
			 "printed"),
		"errors"));
}

/* ---- The rows ---- */

static void test_row(void **state)
{
	const struct row *row = *state;
	uint64_t digest = digest_of(row->command);

	if (digest != row->digest)
		fail_msg("other results, %016" PRIx64 ": see --print '%s'", digest,
			 row->command);
}

static bool read_rows(void)
{
	char *line = NULL;
	size_t capacity = 0;
	FILE *file = fopen(RESULTS, "r");

	while (file && num_rows < MAX_ROWS && getline(&line, &capacity, file) > 0) {
		char *command;

		line[strcspn(line, "\n")] = '\0';
		rows[num_rows].digest = strtoull(line, &command, 16);
		rows[num_rows++].command = strdup(command + strspn(command, " "));
	}
	free(line);
	return file && !fclose(file) && num_rows < MAX_ROWS;
}

static int update_rows(void)
{
	FILE *file = fopen(RESULTS, "w");

	for (size_t i = 0; file && i < num_rows; i++)
		fprintf(file, "%016" PRIx64 " %s\n", digest_of(rows[i].command),
			rows[i].command);
	return !file || fclose(file);
}

/* The rows before it make its files. */
static int print_row(const char *command)
{
	for (size_t i = 0; i < num_rows; i++) {
		run_command(rows[i].command);
		if (!strcmp(rows[i].command, command))
			return system(
				"tail -n +1 printed errors $(find out -type f | sort)");
	}
	fprintf(stderr, "%s has no such command\n", RESULTS);
	return 2;
}

static int make_folder(void)
{
	return setenv("PATH", PROGRAMS ":/usr/bin:/bin", 1) ||
	       setenv("TOPOLOGIES", SOURCES "/sim-topologies", 1) || !mkdtemp(folder) ||
	       chdir(folder);
}

static int remove_folder(void)
{
	char line[sizeof(folder) + 8];

	snprintf(line, sizeof(line), "rm -rf %s", folder);
	return chdir("/") || system(line);
}

static int run_rows(void)
{
	struct CMUnitTest tests[MAX_ROWS];

	for (size_t i = 0; i < num_rows; i++)
		tests[i] = (struct CMUnitTest){.name = rows[i].command,
					       .test_func = test_row,
					       .initial_state = &rows[i]};
	return _cmocka_run_group_tests("results", tests, num_rows, NULL, NULL);
}

int main(int argc, char **argv)
{
	int status;

	if (!read_rows() || make_folder()) {
		perror(RESULTS);
		return 2;
	}
	if (argc == 2 && !strcmp(argv[1], "--update"))
		status = update_rows();
	else if (argc == 3 && !strcmp(argv[1], "--print"))
		status = print_row(argv[2]);
	else
		status = run_rows();
	for (size_t i = 0; i < num_rows; i++)
		free(rows[i].command);
	return remove_folder() || status;
}
