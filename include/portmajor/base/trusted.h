/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files that a privileged process follows: only root and the process's user may have
 * written them.
 */
#ifndef PORTMAJOR_TRUSTED_H
#define PORTMAJOR_TRUSTED_H

#include <portmajor/base/error.h>

#include <sys/stat.h>
#include <sys/types.h>

/*
 * Checks a folder. -EPERM: its owner is neither root nor the effective user, or its group
 * or others may write it, or it is a symbolic link; -ENOTDIR; -errno of lstat(2). The
 * message names the folder, and what to do.
 */
int pm_trusted_folder(const char *path, struct pm_error *err);

/*
 * Checks a file, and the folder that holds it: owners and modes as above. -EINVAL: not a
 * regular file. So opening it does not block, and no other user can replace it
 * meanwhile. *file, unless NULL, gets its status.
 */
int pm_trusted_file(const char *path, struct stat *file, struct pm_error *err);

/*
 * The same for a file that only the operator writes and that is read by this path: it may
 * be a symbolic link to such a file, as configuration management makes them. Each link,
 * and the folder that holds it, must have such an owner, and the folder such a mode.
 * -ELOOP: too many links.
 */
int pm_trusted_linked_file(const char *path, struct pm_error *err);

/*
 * What another process follows that runs as this user, a folder and the one that holds
 * it, or a file in such a folder: owners and modes as above, but for root and `user`.
 */
int pm_trusted_place(const char *path, uid_t user, struct pm_error *err);
int pm_trusted_placed_file(const char *path, uid_t user, struct pm_error *err);

#endif
