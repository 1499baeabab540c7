/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flapping cables on disk, so that a restart forgets no hold:
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

/* Both clocks at the same moment. */
struct pm_damping_clock {
	uint64_t now_ms;  /* that of the flaps */
	uint64_t seconds; /* since 1970 */
};

/* The text, to be written with pm_replace; the caller frees it. -ENOMEM. */
int pm_damping_file_print(const struct pm_damping *flaps,
			  const struct pm_damping_clock *clock, char **text,
			  size_t *length);

/*
 * Adds what a file has; time has passed since it was written, but none if its time is
 * yet to come. -ENOENT: there is none; -EBADMSG: damaged, of another version, or makes no
 * sense, the message names path and line: what is before that line is added; other
 * -errno.
 */
int pm_damping_file_read(const char *path, const struct pm_damping_clock *clock,
			 struct pm_damping *flaps, struct pm_error *err);

/* The same for text in memory, which source names in messages. */
int pm_damping_file_parse(const char *text, size_t length, const char *source,
			  const struct pm_damping_clock *clock, struct pm_damping *flaps,
			  struct pm_error *err);

#endif
