/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an operator says of nodes, in the GUID files of OpenSM: which switches are the
 * roots of the tree, which end ports are compute nodes, which are I/O nodes.
 *
 * A file has one GUID per line, in hexadecimal with 0x or in decimal; what follows it
 * after a blank, blank lines and comments from # on are ignored. Roots are node GUIDs,
 * the others port or node GUIDs.
 */
#ifndef PORTMAJOR_ROLES_H
#define PORTMAJOR_ROLES_H

#include <portmajor/fabric.h>

#include <stddef.h>

/* Paths; NULL: there is no such file. */
struct pm_role_files {
	const char *roots;   /* root_guid_file */
	const char *compute; /* cn_guid_file: end ports not in it are I/O */
	const char *io;	     /* io_guid_file */
};

/* Sorted GUIDs. */
struct pm_guids {
	uint64_t *list;
	uint32_t count;
	bool given; /* there is a file, if an empty one */
};

struct pm_roles {
	struct pm_guids roots, compute, io;
};

/*
 * Reads the files that there are. *roles, which must be zeroed or hold earlier roles,
 * is replaced, on failure untouched.
 * -EINVAL: not a GUID, the message begins with "path:LINE: "; -errno of opening or
 * reading; -ENOMEM.
 */
int pm_roles_read(const struct pm_role_files *files, struct pm_roles *roles,
		  struct pm_error *err);

/* The same for one file's text in memory, which source names in messages. The caller
 * frees guids->list. */
int pm_guids_parse(const char *text, const char *source, struct pm_guids *guids,
		   struct pm_error *err);

/* Whether both say the same. */
bool pm_roles_equal(const struct pm_roles *a, const struct pm_roles *b);

/* Marks a sealed fabric's roots and I/O ports. O(nodes log GUIDs). */
void pm_roles_apply(const struct pm_roles *roles, struct pm_fabric *fabric);

/* Frees the lists; zeroed roles are fine. */
void pm_roles_free(struct pm_roles *roles);

#endif
