/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One lock per device, so that no two commands change it at the same time. */
#include "lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/run/portmajor-vlan"
#define NAMESPACE "/proc/self/ns/net"
#define NETNS_COOKIE 71 /* SO_NETNS_COOKIE, which older headers lack */
#define FILE_NAME 48

static int refuse(struct pm_error *err, int code, const char *what)
{
	return pm_error_set(err, -code, "cannot lock: %s: %s", what,
			    code == EACCES ? "only root may" : strerror(code));
}

/* Opens the folder. Any user that could open a file in it could lock the file. */
static int open_folder(int *fd, struct pm_error *err)
{
	struct stat found;

	if (mkdir(FOLDER, 0700) && errno != EEXIST)
		return refuse(err, errno, FOLDER);
	*fd = open(FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd < 0)
		return refuse(err, errno, FOLDER);
	if (!fstat(*fd, &found) && found.st_uid == geteuid() && !(found.st_mode & 077))
		return 0;
	close(*fd);
	return pm_error_set(err, -EPERM, "cannot lock: %s is not of this user alone",
			    FOLDER);
}

/* A number that no other namespace has until the next boot; false: Linux before 5.14. */
static bool find_cookie(uint64_t *cookie)
{
	socklen_t length = sizeof(*cookie);
	int rc, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	rc = getsockopt(fd, SOL_SOCKET, NETNS_COOKIE, cookie, &length);
	close(fd);
	return !rc;
}

/* The first part of the names of this namespace's files. */
static int name_namespace(char name[FILE_NAME], struct pm_error *err)
{
	struct stat network;
	uint64_t cookie;

	if (find_cookie(&cookie)) {
		snprintf(name, FILE_NAME, "net%" PRIu64 "-", cookie);
		return 0;
	}
	if (stat(NAMESPACE, &network))
		return refuse(err, errno, NAMESPACE);
	snprintf(name, FILE_NAME, "%ju-", (uintmax_t)network.st_ino);
	return 0;
}

static int open_file(int folder, unsigned int device, int *fd, struct pm_error *err)
{
	char name[FILE_NAME];
	int rc = name_namespace(name, err);

	if (rc)
		return rc;
	snprintf(name + strlen(name), FILE_NAME - strlen(name), "%u", device);
	*fd = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return *fd < 0 ? refuse(err, errno, name) : 0;
}

int vlan_lock(unsigned int device, int *fd, struct pm_error *err)
{
	int folder = -1, code, rc = open_folder(&folder, err);

	if (rc)
		return rc;
	rc = open_file(folder, device, fd, err);
	close(folder);
	if (rc || !flock(*fd, LOCK_EX | LOCK_NB))
		return rc;
	code = errno;
	close(*fd);
	if (code != EWOULDBLOCK)
		return refuse(err, code, FOLDER);
	return pm_error_set(err, -EBUSY, "another portmajor-vlan is changing it");
}

/* ---- Devices that are gone ---- */

/*
 * Whether a file's device is gone. The kernel reuses no index in a namespace, unless a
 * program requests it.
 */
static bool is_gone_file(const char *name, const char *prefix)
{
	char device[IF_NAMESIZE], *end;
	size_t length = strlen(prefix);
	unsigned long index;

	if (strncmp(name, prefix, length))
		return false;
	index = strtoul(name + length, &end, 10);
	return *end == '\0' && index && !if_indextoname((unsigned int)index, device);
}

static void restore_file(int folder, const char *name, void (*restore)(int fd))
{
	int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	if (!flock(fd, LOCK_EX | LOCK_NB)) {
		restore(fd);
		unlinkat(folder, name, 0);
	}
	close(fd);
}

void vlan_lock_each_gone(void (*restore)(int fd))
{
	char prefix[FILE_NAME];
	struct dirent *entry;
	uint64_t cookie;
	DIR *files;
	int fd;

	if (!find_cookie(&cookie) || name_namespace(prefix, NULL) ||
	    open_folder(&fd, NULL))
		return;
	files = fdopendir(fd);
	if (!files) {
		close(fd);
		return;
	}
	while ((entry = readdir(files)))
		if (is_gone_file(entry->d_name, prefix))
			restore_file(fd, entry->d_name, restore);
	closedir(files);
}
