/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A GUID file has one GUID per line, in hexadecimal with 0x or in decimal; text behind
 * it, blank lines and comments from # on are ignored. Roots are node GUIDs, the others
 * port or node GUIDs.
 */
#ifndef PORTMAJOR_ROLE_FILES_H
#define PORTMAJOR_ROLE_FILES_H

#include <portmajor/fabric/roles.h>

/* Paths; NULL: there is no such file. */
struct pm_role_files {
	const char *roots;		   /* root_guid_file */
	const char *compute;		   /* cn_guid_file: end ports not in it are I/O */
	const char *io;			   /* io_guid_file */
	const struct pm_role_rules *rules; /* copied when the files are read; or NULL */
};

/*
 * Reads the files. *roles, zeroed or with earlier roles, is replaced; on failure
 * untouched. -EINVAL: not a GUID, with "path:LINE: " first in the message; -errno of
 * opening or reading; -ENOMEM.
 */
int pm_roles_read(const struct pm_role_files *files, struct pm_roles *roles,
		  struct pm_error *err);

/*
 * The same for the text of one file, called source in messages. The caller frees
 * guids->list.
 */
int pm_guids_parse(const char *text, const char *source, struct pm_guids *guids,
		   struct pm_error *err);

#endif
