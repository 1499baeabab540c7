/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces a file in one step. */
#include <portmajor/base/replace.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t done = write(fd, data, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		data += done;
		length -= (size_t)done;
	}
	return 0;
}

/* Syncs an open file. EINVAL and EROFS are no errors: the file system cannot sync. */
static int sync_fd(int fd)
{
	return fsync(fd) && errno != EINVAL && errno != EROFS ? -errno : 0;
}

/* Makes a new file with this content and syncs it to disk. */
static int fill_file(const char *path, bool public, const void *data, size_t length)
{
	int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, public ? 0644 : 0666);
	int rc;

	if (fd < 0)
		return -errno;
	rc = public && fchmod(fd, 0644) ? -errno : 0;
	if (!rc)
		rc = write_all(fd, data, length);
	if (!rc)
		rc = sync_fd(fd);
	if (close(fd) && !rc)
		rc = -errno;
	return rc;
}

static int sync_folder(const char *path)
{
	char copy[PATH_MAX];
	int fd, rc;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = sync_fd(fd);
	close(fd);
	return rc;
}

static int replace_file(const char *path, const char *temporary, bool public,
			const void *data, size_t length)
{
	struct stat there;
	int rc;

	if (!lstat(path, &there) && !S_ISREG(there.st_mode))
		return S_ISDIR(there.st_mode) ? -EISDIR : -EEXIST;
	if (unlink(temporary) && errno != ENOENT)
		return -errno;
	rc = fill_file(temporary, public, data, length);
	if (!rc && rename(temporary, path))
		rc = -errno;
	if (rc) {
		unlink(temporary);
		return rc;
	}
	return sync_folder(path);
}

static int replace(const char *path, const char *suffix, bool public, const void *data,
		   size_t length, struct pm_error *err)
{
	char temporary[PATH_MAX];
	int rc;

	if (snprintf(temporary, sizeof(temporary), "%s%s", path, suffix) >= PATH_MAX)
		return pm_error_set(err, -ENAMETOOLONG, "%s: the name is too long", path);
	rc = replace_file(path, temporary, public, data, length);
	return rc ? pm_error_set(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}

int pm_replace(const char *path, const char *suffix, const void *data, size_t length,
	       struct pm_error *err)
{
	return replace(path, suffix, false, data, length, err);
}

int pm_replace_public(const char *path, const char *suffix, const void *data,
		      size_t length, struct pm_error *err)
{
	return replace(path, suffix, true, data, length, err);
}
