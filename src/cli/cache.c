/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cache.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int copy_paths(const glob_t *found, const char *old, struct cache_paths *paths)
{
	paths->path = calloc(found->gl_pathc + 1, sizeof(*paths->path));
	if (!paths->path)
		return -1;
	for (size_t i = 0; i < found->gl_pathc; i++) {
		paths->path[i] = strdup(found->gl_pathv[i]);
		if (!paths->path[i])
			return -1;
		paths->count++;
	}
	if (access(old, F_OK))
		return 0;
	paths->path[paths->count] = strdup(old);
	if (!paths->path[paths->count])
		return -1;
	paths->count++;
	paths->old = true;
	return 0;
}

int cache_find(const char *name, struct cache_paths *paths, char **wanted)
{
	const char *folder = find_folder();
	glob_t found = {0};
	char *old = NULL;
	int rc = -1;

	*paths = (struct cache_paths){0};
	if (asprintf(wanted, "%s/portmajor.[0-9a-f]*/%s", folder, name) < 0)
		*wanted = NULL;
	if (asprintf(&old, "%s/portmajor.%s", folder, name) < 0)
		old = NULL;
	if (*wanted && old && glob(*wanted, 0, NULL, &found) != GLOB_NOSPACE)
		rc = copy_paths(&found, old, paths);
	globfree(&found);
	free(old);
	if (!rc)
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
