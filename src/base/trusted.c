/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks who may have written a file. */
#include <portmajor/base/trusted.h>

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_LINKS 8

/* Copies a path without slashes at its end, with which lstat(2) follows a link. */
static int copy_path(const char *path, char copy[PATH_MAX], struct pm_error *err)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	if (length >= PATH_MAX)
		return pm_error_set(err, -ENAMETOOLONG, "%s: the name is too long", path);
	memcpy(copy, path, length);
	copy[length] = '\0';
	return 0;
}

static int check_owner(const char *path, uid_t user, const struct stat *status,
		       struct pm_error *err)
{
	if (!status->st_uid || status->st_uid == user)
		return 0;
	return pm_error_set(err, -EPERM,
			    "%s: it belongs to user %u, not to root or user %u "
			    "(chown it)",
			    path, (unsigned int)status->st_uid, (unsigned int)user);
}

static int check_status(const char *path, mode_t type, uid_t user, struct stat *status,
			struct pm_error *err)
{
	if (lstat(path, status))
		return pm_error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (S_ISLNK(status->st_mode))
		return pm_error_set(
			err, -EPERM, "%s: a symbolic link, which is not followed%s", path,
			type == S_IFDIR ? " (name the folder it leads to)" : "");
	if ((status->st_mode & S_IFMT) != type)
		return pm_error_set(err, type == S_IFDIR ? -ENOTDIR : -EINVAL,
				    "%s: not a %s", path,
				    type == S_IFDIR ? "folder" : "regular file");
	if (check_owner(path, user, status, err))
		return -EPERM;
	if (status->st_mode & (S_IWGRP | S_IWOTH))
		return pm_error_set(
			err, -EPERM, "%s: others may write it (mode %04o; %s)", path,
			(unsigned int)status->st_mode & 07777,
			type == S_IFDIR ? "chmod go-w it, or use another folder"
					: "chmod go-w it");
	return 0;
}

static int check_folder(const char *path, uid_t user, struct pm_error *err)
{
	char copy[PATH_MAX];
	struct stat status;
	int rc = copy_path(path, copy, err);

	return rc ? rc : check_status(copy, S_IFDIR, user, &status, err);
}

int pm_trusted_folder(const char *path, struct pm_error *err)
{
	return check_folder(path, geteuid(), err);
}

int pm_trusted_place(const char *path, uid_t user, struct pm_error *err)
{
	char copy[PATH_MAX];
	int rc = copy_path(path, copy, err);

	if (!rc)
		rc = check_folder(dirname(copy), user, err);
	return rc ? rc : check_folder(path, user, err);
}

int pm_trusted_placed_file(const char *path, uid_t user, struct pm_error *err)
{
	char copy[PATH_MAX];
	struct stat status;
	int rc = copy_path(path, copy, err);

	if (!rc)
		rc = pm_trusted_place(dirname(copy), user, err);
	return rc ? rc : check_status(path, S_IFREG, user, &status, err);
}

int pm_trusted_file(const char *path, struct stat *file, struct pm_error *err)
{
	char copy[PATH_MAX];
	struct stat status;
	int rc = copy_path(path, copy, err);

	if (!rc)
		rc = pm_trusted_folder(dirname(copy), err);
	if (!rc)
		rc = check_status(path, S_IFREG, geteuid(), &status, err);
	if (!rc && file)
		*file = status;
	return rc;
}

/*
 * Replaces the path of a link by the path that it has. 0: it was a link; -EINVAL: it is
 * none, or nothing; -EPERM: a link of another user.
 */
static int follow_link(char path[PATH_MAX], struct pm_error *err)
{
	char to[PATH_MAX], copy[PATH_MAX], joined[PATH_MAX];
	struct stat status;
	ssize_t length;

	if (lstat(path, &status) || !S_ISLNK(status.st_mode))
		return -EINVAL;
	if (check_owner(path, geteuid(), &status, err))
		return -EPERM;
	length = readlink(path, to, sizeof(to) - 1);
	if (length < 0)
		return pm_error_set(err, -errno, "%s: %s", path, strerror(errno));
	to[length] = '\0';
	memcpy(copy, path, sizeof(copy));
	if (snprintf(joined, sizeof(joined), "%s%s%s", *to == '/' ? "" : dirname(copy),
		     *to == '/' ? "" : "/", to) >= PATH_MAX)
		return pm_error_set(err, -ENAMETOOLONG, "%s: leads to too long a name",
				    path);
	return copy_path(joined, path, err);
}

int pm_trusted_linked_file(const char *path, struct pm_error *err)
{
	char at[PATH_MAX], copy[PATH_MAX];
	int rc = copy_path(path, at, err);

	for (int i = 0; !rc && i <= MAX_LINKS; i++) {
		memcpy(copy, at, sizeof(copy));
		rc = pm_trusted_folder(dirname(copy), err);
		if (!rc)
			rc = follow_link(at, err);
		if (rc == -EINVAL)
			return pm_trusted_file(at, NULL, err);
	}
	return rc ? rc : pm_error_set(err, -ELOOP, "%s: too many symbolic links", path);
}
