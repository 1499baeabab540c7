/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/textfile.h>
#include <portmajor/alloc.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#define SHOWN_BYTES 200 /* of a name in a message */

const char *pm_textfile_name(const char *path)
{
	return strcmp(path, "-") ? path : "<stdin>";
}

/* Reads one byte more than allowed, so that the caller sees that it is too much. */
static int read_all(int fd, char **text, size_t *length)
{
	uint32_t room = 0, used = 0;

	while (used <= PM_TEXTFILE_MAX_BYTES) {
		ssize_t got;

		if (used == room && pm_grow(text, &room, used ? used + 1 : 65536, 1))
			return -ENOMEM;
		got = read(fd, *text + used, room - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		used += (uint32_t)got;
	}
	*length = used;
	return 0;
}

int pm_textfile_read(const char *path, char **text, size_t *length, struct pm_error *err)
{
	const char *name = pm_textfile_name(path);
	size_t name_length = strlen(name);
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	char *read_text = NULL;
	int rc = fd < 0 ? -errno : read_all(fd, &read_text, length);

	if (fd >= 0 && !is_stdin)
		close(fd);
	if (rc) {
		free(read_text);
		errno = -rc;
		if (name_length > SHOWN_BYTES)
			name += name_length - SHOWN_BYTES;
		return pm_error_set(err, rc, "%s: %m", name);
	}
	*text = read_text;
	return 0;
}
