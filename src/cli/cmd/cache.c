/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the plugin's files in OpenSM's cache folder. */
#include "cache.h"

#include "json.h"
#include "text.h"

#include <portmajor/memory/xalloc.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "portmajor."
#define CLOCK_SLACK_S 5 /* between the clock that a state has, and a process's begin */

static const char *find_folder(void)
{
	const char *folder = getenv("OSM_CACHE_DIR");

	return folder && *folder ? folder : CLI_CACHE_DIR;
}

static int is_folder(const struct dirent *entry)
{
	return !strncmp(entry->d_name, PREFIX, strlen(PREFIX)) &&
	       strchr("0123456789abcdef", entry->d_name[strlen(PREFIX)]) &&
	       entry->d_name[strlen(PREFIX)];
}

/* Adds a path, which is taken over, if the file exists. */
static void add_path(struct cache_paths *paths, char *path)
{
	if (access(path, F_OK)) {
		free(path);
		return;
	}
	pm_xgrow(&paths->path, &paths->room, paths->count + 1, sizeof(*paths->path));
	paths->path[paths->count++] = path;
}

char *cache_file(const char *operand, const char *name)
{
	struct stat found;
	bool folder = !stat(operand, &found) && S_ISDIR(found.st_mode);

	if (folder)
		return cli_text_make("%s/%s", operand, name);
	return cli_text_make("%s%s", strchr(operand, '/') ? "" : "./", operand);
}

/*
 * Adds the files of all folders. Does not use glob(3), which takes a folder for empty
 * when out of memory.
 */
static void add_folders(const char *cache, const char *name, struct cache_paths *paths)
{
	struct dirent **folders = NULL;
	int num = scandir(cache, &folders, is_folder, alphasort);

	if (num < 0 && errno == ENOMEM)
		pm_no_memory();
	for (int i = 0; i < num; i++) {
		add_path(paths,
			 cli_text_make("%s/%s/%s", cache, folders[i]->d_name, name));
		free(folders[i]);
	}
	free(folders);
}

void cache_find(const char *name, struct cache_paths *paths, char **wanted)
{
	const char *cache = find_folder();

	*paths = (struct cache_paths){0};
	*wanted = cli_text_make("%s/" PREFIX "[0-9a-f]*/%s", cache, name);
	add_folders(cache, name, paths);
}

void cache_paths_free(struct cache_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->path[i]);
	free(paths->path);
	*paths = (struct cache_paths){0};
}

/* When a process began, in seconds since the epoch; 0: unknown. */
static double begin_of(long pid)
{
	char *path = cli_text_make("/proc/%ld/stat", pid), line[1024], *field;
	FILE *stat = fopen(path, "re"), *uptime = fopen("/proc/uptime", "re");
	unsigned long long ticks = 0;
	double up = 0, begin = 0;

	/* The 22nd field; the second is a name in parentheses. */
	if (stat && fgets(line, sizeof(line), stat) && (field = strrchr(line, ')')) &&
	    sscanf(field + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
		   "%*d %*d %llu",
		   &ticks) == 1 &&
	    uptime && fscanf(uptime, "%lf", &up) == 1)
		begin = (double)time(NULL) - up +
			(double)ticks / (double)sysconf(_SC_CLK_TCK);
	if (stat)
		fclose(stat);
	if (uptime)
		fclose(uptime);
	free(path);
	return begin;
}

bool cache_has_our_pid(const json_t *root)
{
	json_int_t theirs = cli_json_number(root, "pid_namespace");
	struct stat ours;

	return cli_json_number(root, "pid") > 0 &&
	       (!theirs ||
		(!stat("/proc/self/ns/pid", &ours) && theirs == (json_int_t)ours.st_ino));
}

/*
 * Whether the process that wrote a state has ended, for users that may not open the lock.
 * A process that began after the last writing has its number by chance. False if that
 * process is of another PID namespace.
 */
static bool has_ended(const char *state)
{
	json_t *root = cli_json_load(state);
	long pid = (long)cli_json_number(root, "pid");
	double written = (double)cli_json_number(root, "time");
	bool ended =
		cache_has_our_pid(root) && ((kill((pid_t)pid, 0) && errno == ESRCH) ||
					    begin_of(pid) > written + CLOCK_SLACK_S);

	json_decref(root);
	return ended;
}

bool cache_is_left(const char *state)
{
	const char *slash = strrchr(state, '/');
	char *path;
	bool left;
	int fd;

	if (!slash)
		return false;
	path = cli_text_make("%.*s/lock", (int)(slash - state), state);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	free(path);
	if (fd < 0)
		return errno == EACCES && has_ended(state);
	left = !flock(fd, LOCK_SH | LOCK_NB);
	close(fd);
	return left;
}
