/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * opensm.conf as OpenSM 3.3.23 reads it: lines `KEY VALUE`, where the value is all that
 * follows, without blanks around it and quotes around these; # begins a comment
 * anywhere. A key may be given again, and the last one counts; unknown ones are ignored.
 */
#ifndef PORTMAJOR_OPENSM_CONF_H
#define PORTMAJOR_OPENSM_CONF_H

#include <portmajor/base/error.h>

#include <stddef.h>

/* Bytes of a line, with its end, that OpenSM reads as one. */
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
	char *text; /* that they point into */
};

/*
 * Reads text in memory, which source names in messages; conf, which must be zeroed, is
 * untouched on failure, and freed with pm_opensm_conf_free otherwise. -EINVAL: a line
 * longer than OpenSM reads, the message begins with "source:LINE: "; -ENOMEM.
 */
int pm_opensm_conf_parse(const char *text, const char *source,
			 struct pm_opensm_conf *conf, struct pm_error *err);

/* The same for a file. Also -EINVAL: not a text file; -EFBIG; -errno of reading. */
int pm_opensm_conf_read(const char *path, struct pm_opensm_conf *conf,
			struct pm_error *err);
void pm_opensm_conf_free(struct pm_opensm_conf *conf);

/* The item that counts for a key, or NULL. O(items). */
const struct pm_opensm_conf_item *pm_opensm_conf_find(const struct pm_opensm_conf *conf,
						      const char *key);

/*
 * The value that counts for a key. NULL if there is none, or if it is empty or what
 * OpenSM writes for none, "(null)".
 */
const char *pm_opensm_conf_value(const struct pm_opensm_conf *conf, const char *key);

#endif
