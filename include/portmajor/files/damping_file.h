/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flapping cables on disk, so that holds survive a restart:
 *
 *     portmajor-holds 1
 *     time SECONDS                    of writing, since 1970
 *     cable GUID PORT GUID PORT DOWNS HOLD STATE CHANGED DOWN...
 *     end CHECKSUM                    see sealed.h
 *
 * The ends of a cable in the order of struct pm_damped_link, GUIDs hexadecimal; STATE is
 * `up` or `down`; HOLD, CHANGED (when it last went down or came up) and DOWN (when it
 * went down, the last time first) are in ms, before the time of writing.
 */
#ifndef PORTMAJOR_DAMPING_FILE_H
#define PORTMAJOR_DAMPING_FILE_H

#include <portmajor/policy/damping.h>

#include <stddef.h>

/* Both clocks at one moment. */
struct pm_damping_clock {
	uint64_t now_ms;  /* of the monotonic clock */
	uint64_t seconds; /* since 1970 */
};

/* The text, to be written with pm_replace; the caller frees it. -ENOMEM. */
int pm_damping_file_print(const struct pm_damping *damping,
			  const struct pm_damping_clock *clock, char **text,
			  size_t *length);

/*
 * Adds the cables of a file's text, with their ages increased by the time since it was
 * written (0 if that is in the future). Messages name `source` and the line. -EBADMSG:
 * damaged, another version, or invalid: the lines before are added; -ENOMEM.
 */
int pm_damping_file_parse(const char *text, size_t length, const char *source,
			  const struct pm_damping_clock *clock,
			  struct pm_damping *damping, struct pm_error *err);

#endif
