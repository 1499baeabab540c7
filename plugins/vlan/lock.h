/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One command at a time for a device, so that none changes what another has just read. */
#ifndef PORTMAJOR_PLUGIN_VLAN_LOCK_H
#define PORTMAJOR_PLUGIN_VLAN_LOCK_H

#include <portmajor/base/error.h>

/*
 * Locks a device of this network namespace, by a file in a folder that only this user can
 * read; the lock ends when the caller closes *fd. Does not wait. -EBUSY: another command
 * has it; -EPERM: the folder is another user's, or writable by others; other -errno; with
 * a message.
 */
int vlan_lock(unsigned int device, int *fd, struct pm_error *err);

/*
 * Calls restore with the file of each device of this network namespace that is gone, and
 * removes the file. Does nothing before Linux 5.14, which has no lasting name for a
 * namespace.
 */
void vlan_lock_each_gone(void (*restore)(int fd));

#endif
