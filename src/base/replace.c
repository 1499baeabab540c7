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

struct sink {
	int fd, rc; /* rc: of the first write that failed */
};

/* Returning 0 sets the stream's error. */
static ssize_t take_text(void *cookie, const char *data, size_t size)
{
	struct sink *sink = cookie;

	if (!sink->rc)
		sink->rc = write_all(sink->fd, data, size);
	return sink->rc ? 0 : (ssize_t)size;
}

/* Prints into an open file. */
static int print_into(int fd, pm_print *print, const void *arg)
{
	struct sink sink = {fd, 0};
	FILE *out = fopencookie(&sink, "w", (cookie_io_functions_t){.write = take_text});
	int rc;

	if (!out)
		return -ENOMEM;
	rc = print(out, arg);
	fclose(out);
	return sink.rc ? sink.rc : rc;
}

/* Syncs an open file. EINVAL and EROFS are no errors: the file system cannot sync. */
static int sync_fd(int fd)
{
	return fsync(fd) && errno != EINVAL && errno != EROFS ? -errno : 0;
}

/* Makes a new file of what is printed, and syncs it to disk. */
static int fill_file(const char *path, bool public, pm_print *print, const void *arg)
{
	int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, public ? 0644 : 0666);
	int rc;

	if (fd < 0)
		return -errno;
	rc = public && fchmod(fd, 0644) ? -errno : 0;
	if (!rc)
		rc = print_into(fd, print, arg);
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
			pm_print *print, const void *arg)
{
	struct stat there;
	int rc;

	if (!lstat(path, &there) && !S_ISREG(there.st_mode))
		return S_ISDIR(there.st_mode) ? -EISDIR : -EEXIST;
	if (unlink(temporary) && errno != ENOENT)
		return -errno;
	rc = fill_file(temporary, public, print, arg);
	if (!rc && rename(temporary, path))
		rc = -errno;
	if (rc) {
		unlink(temporary);
		return rc;
	}
	return sync_folder(path);
}

static int replace(const char *path, const char *suffix, bool public, pm_print *print,
		   const void *arg, struct pm_error *err)
{
	char temporary[PATH_MAX];
	int rc;

	if (snprintf(temporary, sizeof(temporary), "%s%s", path, suffix) >= PATH_MAX)
		return pm_error_set(err, -ENAMETOOLONG, "%s: the name is too long", path);
	rc = replace_file(path, temporary, public, print, arg);
	return rc ? pm_error_set(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}

int pm_replace_print(const char *path, const char *suffix, pm_print *print,
		     const void *arg, struct pm_error *err)
{
	return replace(path, suffix, false, print, arg, err);
}

struct content {
	const void *data;
	size_t length;
};

static int print_content(FILE *out, const void *arg)
{
	const struct content *content = arg;

	fwrite(content->data, 1, content->length, out);
	return 0;
}

int pm_replace(const char *path, const char *suffix, const void *data, size_t length,
	       struct pm_error *err)
{
	struct content content = {data, length};

	return replace(path, suffix, false, print_content, &content, err);
}

int pm_replace_public(const char *path, const char *suffix, const void *data,
		      size_t length, struct pm_error *err)
{
	struct content content = {data, length};

	return replace(path, suffix, true, print_content, &content, err);
}
