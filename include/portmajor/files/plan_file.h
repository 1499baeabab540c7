/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Plans on disk, as text for people and version control.
 *
 *     portmajor-plan 4
 *     order grouped
 *     lmc 0
 *     switch KEY GUID PORTS NAME      one line each, in the order of the plan
 *     root SWITCH                     switches by their number, from 0
 *     cable SWITCH PORT SWITCH PORT
 *     host SWITCH PORT                ports where an end node is or was
 *     io SWITCH PORT                  the same, of an I/O node
 *     place SWITCH PORT LID PLANE BASE_PLANE RANK
 *     run START LENGTH PLANE
 *     end CHECKSUM                    see sealed.h
 *
 * KEY, GUID and CHECKSUM are hexadecimal, PLANE is - for none, and in NAME
 * characters up to space, % and above 126 are written as %XX.
 */
#ifndef PORTMAJOR_PLAN_FILE_H
#define PORTMAJOR_PLAN_FILE_H

#include <portmajor/plan/plan.h>

#include <stddef.h>

/* The text of a plan, to be written with pm_replace; the caller frees it. -ENOMEM. */
int pm_plan_file_print(const struct pm_plan *plan, char **text, size_t *length);

/*
 * Reads a file; the caller frees *plan, which is untouched on failure. -ENOENT: no file;
 * -EBADMSG: damaged, another version, or inconsistent, with path and line in the message;
 * other -errno.
 */
int pm_plan_file_read(const char *path, struct pm_plan **plan, struct pm_error *err);

/* The same for text in memory, called source in messages. */
int pm_plan_file_parse(const char *text, size_t length, const char *source,
		       struct pm_plan **plan, struct pm_error *err);

/*
 * Whether a file of this name is a plan that OpenSM did not use: plan.bad-TIME,
 * plan.late-TIME, or a drifting one.
 */
bool pm_plan_file_is_aside(const char *name);

#endif
