/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the plugin's files in OpenSM's cache folder. */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define PREFIX "portmajor."

static const char *find_folder(void)
{
	const char *folder = getenv("OSM_CACHE_DIR");

	return folder && *folder ? folder : CLI_CACHE_DIR;
}

char *cache_path(const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", find_folder(), name) < 0 ? NULL : path;
}

static int is_folder(const struct dirent *entry)
{
	return !strncmp(entry->d_name, PREFIX, strlen(PREFIX)) &&
	       strchr("0123456789abcdef", entry->d_name[strlen(PREFIX)]) &&
	       entry->d_name[strlen(PREFIX)];
}

/* Adds a path, which is taken over, if the file exists; NULL: out of memory. -1. */
static int add_path(struct cache_paths *paths, char *path)
{
	char **list;

	if (!path || access(path, F_OK)) {
		free(path);
		return path ? 0 : -1;
	}
	list = realloc(paths->path, (paths->count + 1) * sizeof(*list));
	if (!list) {
		free(path);
		return -1;
	}
	paths->path = list;
	list[paths->count++] = path;
	return 0;
}

/*
 * Adds the files of all folders. Does not use glob(3), which takes a folder for empty
 * when out of memory.
 */
static int add_folders(const char *cache, const char *name, struct cache_paths *paths)
{
	struct dirent **folders = NULL;
	int num = scandir(cache, &folders, is_folder, alphasort);
	int rc = num < 0 && errno == ENOMEM ? -1 : 0;

	for (int i = 0; i < num; i++) {
		char *path = NULL;

		if (!rc &&
		    asprintf(&path, "%s/%s/%s", cache, folders[i]->d_name, name) < 0)
			path = NULL;
		if (!rc)
			rc = add_path(paths, path);
		free(folders[i]);
	}
	free(folders);
	return rc;
}

int cache_find(const char *name, struct cache_paths *paths, char **wanted)
{
	const char *cache = find_folder();

	*paths = (struct cache_paths){0};
	if (asprintf(wanted, "%s/" PREFIX "[0-9a-f]*/%s", cache, name) < 0) {
		*wanted = NULL;
		return -1;
	}
	if (!add_folders(cache, name, paths))
		return 0;
	cache_paths_free(paths);
	free(*wanted);
	*wanted = NULL;
	return -1;
}

void cache_paths_free(struct cache_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->path[i]);
	free(paths->path);
	*paths = (struct cache_paths){0};
}

bool cache_is_left(const char *file)
{
	const char *slash = strrchr(file, '/');
	char *path;
	bool left;
	int fd;

	if (!slash || asprintf(&path, "%.*s/lock", (int)(slash - file), file) < 0)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	if (fd < 0)
		return false;
	left = !flock(fd, LOCK_SH | LOCK_NB);
	close(fd);
	return left;
}
