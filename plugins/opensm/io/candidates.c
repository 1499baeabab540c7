/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the folder with a fabric's plan in OpenSM's cache folder. */
#include "candidates.h"

#include <portmajor/base/alloc.h>
#include <portmajor/base/textfile.h>
#include <portmajor/base/trusted.h>
#include <portmajor/files/plan_file.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const kept_name[KEPT_FILES] = {
	[KEPT_DRIFTING] = "drifting",
	[KEPT_PLAN] = "plan",
	[KEPT_HOLDS] = "holds",
};

/* ---- Stamps ---- */

static struct candidate_stamp stamp_of(const struct stat *file)
{
	return (struct candidate_stamp){file->st_ino, file->st_size, file->st_mtim};
}

struct candidate_stamp candidate_stamp(const char *path)
{
	struct candidate_stamp stamp = {0};
	struct stat file;

	if (!lstat(path, &file))
		stamp = stamp_of(&file);
	return stamp;
}

bool candidate_stamp_equal(const struct candidate_stamp *a,
			   const struct candidate_stamp *b)
{
	return a->inode == b->inode && a->size == b->size &&
	       a->written.tv_sec == b->written.tv_sec &&
	       a->written.tv_nsec == b->written.tv_nsec;
}

/* ---- Reading ---- */

static void free_candidate(struct candidate *candidate)
{
	for (enum kept_file file = 0; file < KEPT_FILES; file++) {
		pm_plan_free(candidate->file[file].plan);
		free(candidate->file[file].text);
	}
	free(candidate->folder);
}

void candidates_free(struct candidates *found)
{
	for (size_t i = 0; i < found->num; i++)
		free_candidate(&found->list[i]);
	free(found->list);
	*found = (struct candidates){0};
}

/* Reads a file; -ENOMEM. Any other failure is stored. */
static int read_file(const char *cache, const char *folder, enum kept_file which,
		     struct candidate_file *file)
{
	struct stat status;
	char *path;

	if (asprintf(&path, "%s%s", folder, kept_name[which]) < 0)
		return -ENOMEM;
	file->rc = pm_trusted_folder(cache, &file->why);
	if (!file->rc)
		file->rc = pm_trusted_file(path, &status, &file->why);
	if (!file->rc)
		file->stamp = stamp_of(&status);
	if (!file->rc && which == KEPT_HOLDS)
		file->rc = pm_textfile_read(path, &file->text, &file->length, &file->why);
	else if (!file->rc)
		file->rc = pm_plan_file_read(path, &file->plan, &file->why);
	free(path);
	return file->rc == -ENOMEM ? -ENOMEM : 0;
}

/* Whether the folder has a plan that no other user could have written. */
static bool has_plan(const char *cache, struct candidate *candidate)
{
	struct stat st;
	char *path;
	bool has;

	if (pm_trusted_folder(cache, NULL) ||
	    pm_trusted_folder(candidate->folder, NULL) ||
	    asprintf(&path, "%s%s", candidate->folder, kept_name[KEPT_PLAN]) < 0)
		return false;
	has = !stat(path, &st);
	free(path);
	if (has)
		candidate->written = st.st_mtim;
	return has;
}

/* Adds the plan at a path, which is taken over; NULL: out of memory. -ENOMEM. */
static int add_candidate(const char *cache, char *folder, bool ours,
			 struct candidates *found)
{
	struct candidate candidate = {.folder = folder, .ours = ours};
	struct candidate *list;
	int rc = folder ? 0 : -ENOMEM;

	if (rc)
		return rc;
	if (!has_plan(cache, &candidate) && !ours) {
		free(folder);
		return 0;
	}
	for (enum kept_file file = 0; file < KEPT_FILES && !rc; file++)
		rc = read_file(cache, folder, file, &candidate.file[file]);
	list = rc ? NULL : realloc(found->list, (found->num + 1) * sizeof(*list));
	if (!list) {
		free_candidate(&candidate);
		return -ENOMEM;
	}
	list[found->num++] = candidate;
	found->list = list;
	return 0;
}

static int is_folder(const struct dirent *entry)
{
	size_t length = strlen(CANDIDATES_PREFIX);

	return !strncmp(entry->d_name, CANDIDATES_PREFIX, length) &&
	       entry->d_name[length] && strchr("0123456789abcdef", entry->d_name[length]);
}

static char *name_folder(const char *cache, const char *name)
{
	char *folder;

	return asprintf(&folder, "%s%s/", cache, name) < 0 ? NULL : folder;
}

/*
 * Adds all folders except ours. Does not use glob(3): when out of memory, glibc's frees
 * memory twice. -ENOMEM.
 */
static int add_folders(const char *cache, const char *ours, struct candidates *found)
{
	struct dirent **folders = NULL;
	int num = scandir(cache, &folders, is_folder, alphasort);
	int rc = num < 0 && errno == ENOMEM ? -ENOMEM : 0;

	for (int i = 0; i < num; i++) {
		char *folder = rc ? NULL : name_folder(cache, folders[i]->d_name);

		if (folder && !strcmp(folder, ours))
			free(folder);
		else if (!rc)
			rc = add_candidate(cache, folder, false, found);
		free(folders[i]);
	}
	free(folders);
	return rc;
}

int candidates_read(const char *cache, const char *ours, struct candidates *found)
{
	struct candidates all = {0};
	int rc = add_candidate(cache, strdup(ours), true, &all);

	if (!rc)
		rc = add_folders(cache, ours, &all);
	if (rc)
		candidates_free(&all);
	else
		*found = all;
	return rc;
}

/* ---- Choosing ---- */

/* Whether a plan that was read is for this fabric. */
static bool fits(const struct candidate *candidate, enum kept_file which,
		 const struct pm_fabric *fabric, uint8_t lmc, struct candidate_file *file)
{
	const char *name = kept_name[which];

	if (file->rc)
		return false;
	if (file->plan->lmc != lmc)
		file->rc = pm_error_set(&file->why, -EBADMSG, "%s%s: made for LMC %u",
					candidate->folder, name, file->plan->lmc);
	else if (!fabric->num_switches || !pm_plan_fits(file->plan, fabric))
		file->rc = pm_error_set(&file->why, -EBADMSG,
					"%s%s: it is the plan of another fabric",
					candidate->folder, name);
	return !file->rc;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

struct candidate *candidates_choose(struct candidates *found,
				    const struct pm_fabric *fabric, uint8_t lmc)
{
	struct candidate *best = NULL;

	for (size_t i = 0; i < found->num; i++) {
		struct candidate *one = &found->list[i];

		if (fits(one, KEPT_PLAN, fabric, lmc, &one->file[KEPT_PLAN]) &&
		    (!best || is_later(&one->written, &best->written)))
			best = one;
	}
	if (best)
		fits(best, KEPT_DRIFTING, fabric, lmc, &best->file[KEPT_DRIFTING]);
	return best;
}

struct candidate *candidates_ours(const struct candidates *found)
{
	return found->num && found->list[0].ours ? &found->list[0] : NULL;
}
