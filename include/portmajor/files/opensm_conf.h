/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * opensm.conf as OpenSM 3.3.23 reads it: lines `KEY VALUE`; the value is the rest of the
 * line without the blanks, and then the quotes, around it; # begins a comment anywhere.
 * The last line of a repeated key counts; unknown keys are ignored.
 */
#ifndef PORTMAJOR_OPENSM_CONF_H
#define PORTMAJOR_OPENSM_CONF_H

#include <portmajor/base/error.h>

#include <stddef.h>

/* The longest line in bytes, with its newline, that OpenSM reads as one. */
#define PM_OPENSM_CONF_LINE 1022

struct pm_opensm_conf_item {
	unsigned int line; /* from 1 */
	const char *key;   /* not empty */
	const char *value; /* may be empty */
};

/* Zeroed: empty. */
struct pm_opensm_conf {
	struct pm_opensm_conf_item *items; /* in the order of the file */
	size_t count;
	char *text; /* of the items */
};

/*
 * Reads text in memory, called source in messages, into conf, which is zeroed, and
 * untouched on failure; the caller frees it with pm_opensm_conf_free. -EINVAL: a line
 * longer than OpenSM reads, with "source:LINE: "; -ENOMEM.
 */
int pm_opensm_conf_parse(const char *text, const char *source,
			 struct pm_opensm_conf *conf, struct pm_error *err);

/* The same for a file. Also -EINVAL: no text file; -EFBIG; -errno of reading. */
int pm_opensm_conf_read(const char *path, struct pm_opensm_conf *conf,
			struct pm_error *err);
void pm_opensm_conf_free(struct pm_opensm_conf *conf);

/* The last item of a key, or NULL. O(items). */
const struct pm_opensm_conf_item *pm_opensm_conf_find(const struct pm_opensm_conf *conf,
						      const char *key);

/* The last value of a key; NULL: none, empty, or OpenSM's "(null)". */
const char *pm_opensm_conf_value(const struct pm_opensm_conf *conf, const char *key);

#endif
