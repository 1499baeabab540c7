/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Drains in the text file of `portmajor drain`:
 *
 *     portmajor-drained 1
 *     0x0002c903000a1105 20 leaf5       the link at port 20 of this switch
 *     since 1763999999                  the time of draining, ..
 *     by root                           .. the user, ..
 *     reason errors on lane 2           .. and the reason
 *     0x0002c903000a2200 - s1-line0     all links of this switch to other switches
 *     0x0002c903000a2300 - SwitchIB (0x0002c903000a2300)    one of several of this name
 *
 * The GUID counts; names, and the lines since, by and reason below a drain, are for
 * people and may be missing. Blank lines, and comments from # at the beginning of a line,
 * are allowed.
 */
#ifndef PORTMAJOR_DRAIN_FILE_H
#define PORTMAJOR_DRAIN_FILE_H

#include <portmajor/policy/drain.h>

#include <stdio.h>

/*
 * Reads a file; a missing one drains nothing. *drains, zeroed, is untouched on failure.
 * -EINVAL: a bad or repeated line (the message begins with "path:LINE: "), or no text;
 * -EFBIG: more than 16 MiB; -ENOMEM; -errno of opening or reading.
 */
int pm_drains_read(const char *path, struct pm_drains *drains, struct pm_error *err);

/* The same for text in memory, called source in messages. */
int pm_drains_parse(const char *text, size_t length, const char *source,
		    struct pm_drains *drains, struct pm_error *err);

/*
 * Writes the file's text, with the first 256 bytes of a label or note. The caller checks
 * the stream.
 */
void pm_drains_print(const struct pm_drains *drains, FILE *file);

#endif
