/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads whole text files. */
#include <portmajor/base/textfile.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SHOWN_BYTES 200 /* of a name in a message */
#define FIRST_BYTES 65536

const char *pm_textfile_name(const char *path)
{
	return strcmp(path, "-") ? path : "<stdin>";
}

/* A FIFO in a file system. The pipe of a shell's <(..) is in none. */
static bool is_named_fifo(int fd)
{
	struct stat file;
	struct statfs system;

	return !fstat(fd, &file) && S_ISFIFO(file.st_mode) && !fstatfs(fd, &system) &&
	       system.f_type != PIPEFS_MAGIC;
}

/* How many bytes are asked for at first: a file's, and one more to meet its end. */
static size_t first_room(int fd, size_t max)
{
	struct stat file;
	bool is_file = !fstat(fd, &file) && S_ISREG(file.st_mode) && file.st_size > 0;
	size_t size = is_file ? (size_t)file.st_size : 0;

	return (size < max ? size : max) + FIRST_BYTES;
}

/* Reads up to max + 1 bytes: a length above max shows the caller that it is too long. */
static int read_all(int fd, size_t max, char **text, size_t *length)
{
	size_t room = 0, used = 0;

	while (used <= max) {
		ssize_t got;

		if (used + 1 >= room) {
			size_t more = room ? 2 * room : first_room(fd, max);
			char *bigger = realloc(*text, more);

			if (!bigger)
				return -ENOMEM;
			*text = bigger;
			room = more;
		}
		got = read(fd, *text + used, room - used - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	(*text)[used] = '\0';
	*length = used;
	return 0;
}

static int fail_file(struct pm_error *err, const char *name, int rc, const char *why)
{
	size_t length = strlen(name);

	if (length > SHOWN_BYTES)
		name += length - SHOWN_BYTES;
	return pm_error_set(err, rc, "%s: %s", name, why);
}

/* Does not block on a FIFO without a writer, as open(2) would. Returns -errno. */
static int open_file(const char *path, struct pm_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return fail_file(err, path, -errno, strerror(errno));
	if (is_named_fifo(fd)) {
		close(fd);
		return fail_file(err, path, -EINVAL, "a FIFO, not a file");
	}
	fcntl(fd, F_SETFL, O_RDONLY);
	return fd;
}

static int read_fd(int fd, size_t max, const char *name, char **text, size_t *length,
		   struct pm_error *err)
{
	char *found = NULL;
	int rc;

	if (fd < 0)
		return fd;
	rc = read_all(fd, max, &found, length);
	if (fd > STDIN_FILENO)
		close(fd);
	if (!rc) {
		*text = found;
		return 0;
	}
	free(found);
	return fail_file(err, name, rc, strerror(-rc));
}

int pm_textfile_read(const char *path, char **text, size_t *length, struct pm_error *err)
{
	int fd = strcmp(path, "-") ? open_file(path, err) : STDIN_FILENO;
	struct stat file;
	bool ends = fd >= 0 && !fstat(fd, &file) &&
		    (S_ISREG(file.st_mode) || S_ISFIFO(file.st_mode));

	return read_fd(fd, ends ? PM_TEXTFILE_MAX_TABLES : PM_TEXTFILE_MAX_BYTES,
		       pm_textfile_name(path), text, length, err);
}

int pm_textfile_read_string(const char *path, size_t max, char **text,
			    struct pm_error *err)
{
	char *found = NULL;
	size_t length = 0;
	int rc = read_fd(open_file(path, err), max, path, &found, &length, err);

	if (!rc && length > max)
		rc = pm_error_set(err, -EFBIG, "%s: longer than %zu MiB", path,
				  max >> 20);
	else if (!rc && strlen(found) < length)
		rc = pm_error_set(err, -EINVAL, "%s: not a text file", path);
	if (rc)
		free(found);
	else
		*text = found;
	return rc;
}
