/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks who may have written a file. */
#include <portmajor/base/trusted.h>

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static int check_status(const char *path, mode_t type, struct stat *status,
			struct pm_error *err)
{
	if (lstat(path, status))
		return pm_error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (S_ISLNK(status->st_mode))
		return pm_error_set(err, -EPERM,
				    "%s: a symbolic link, which is not followed", path);
	if ((status->st_mode & S_IFMT) != type)
		return pm_error_set(err, type == S_IFDIR ? -ENOTDIR : -EINVAL,
				    "%s: not a %s", path,
				    type == S_IFDIR ? "folder" : "regular file");
	if (status->st_uid && status->st_uid != geteuid())
		return pm_error_set(err, -EPERM,
				    "%s: it belongs to user %u, not to root or user %u "
				    "(chown it)",
				    path, (unsigned int)status->st_uid,
				    (unsigned int)geteuid());
	if (status->st_mode & (S_IWGRP | S_IWOTH))
		return pm_error_set(
			err, -EPERM, "%s: others may write it (mode %04o; %s)", path,
			(unsigned int)status->st_mode & 07777,
			type == S_IFDIR ? "chmod go-w it, or use another folder"
					: "chmod go-w it");
	return 0;
}

int pm_trusted_folder(const char *path, struct pm_error *err)
{
	char copy[PATH_MAX];
	struct stat status;
	int rc = copy_path(path, copy, err);

	return rc ? rc : check_status(copy, S_IFDIR, &status, err);
}

int pm_trusted_file(const char *path, struct stat *file, struct pm_error *err)
{
	char copy[PATH_MAX];
	struct stat status;
	int rc = copy_path(path, copy, err);

	if (!rc)
		rc = pm_trusted_folder(dirname(copy), err);
	if (!rc)
		rc = check_status(path, S_IFREG, &status, err);
	if (!rc && file)
		*file = status;
	return rc;
}
