/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One lock for each device, so that two commands do not change it at a time. */
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/run/portmajor-vlan"
#define NAMESPACE "/proc/self/ns/net"

static int refuse(struct pm_error *err, int code, const char *what)
{
	return pm_error_set(err, -code, "cannot lock: %s: %s", what,
			    code == EACCES ? "only root may" : strerror(code));
}

/* Any user that can open a file can lock it. */
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

static int open_file(int folder, unsigned int device, int *fd, struct pm_error *err)
{
	struct stat network;
	char name[48];

	if (stat(NAMESPACE, &network))
		return refuse(err, errno, NAMESPACE);
	snprintf(name, sizeof(name), "%ju-%u", (uintmax_t)network.st_ino, device);
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
