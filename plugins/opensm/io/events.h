/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events, for operators to read later. Each is a line in the file `events` of the store's
 * folder,
 *
 *     2026-11-26T15:04:05+0100 warning repair failed: 1 cable (leaf5[20]-s1-line0[6]); ..
 *
 * with the local time, the severity, the kind (a word) and a text, below 160 columns. The
 * same goes to syslog and, of the configured severities and kinds, to a command of the
 * operator's (event_command.h). If the clock was set by 2 s or more since the event
 * before, an event of kind `clock` comes first.
 *
 * Any thread notes events, which waits for no file. The writer's thread writes them: a
 * file that has grown to EVENTS_SIZE is renamed to `events.old` first, so that at least
 * the last EVENTS_SIZE bytes are kept and never more than twice as many.
 */
#ifndef PORTMAJOR_IO_EVENTS_H
#define PORTMAJOR_IO_EVENTS_H

#include <portmajor/base/error.h>
#include <portmajor/files/config.h>

#include <stdbool.h>
#include <stdint.h>

#define EVENTS_SIZE (512 * 1024L)
#define EVENTS_PENDING 1024 /* most unwritten events; losing more is an event */
#define EVENT_LINE 160	    /* bytes, with the NUL */

struct events;

/* The configuration is copied. NULL without memory. */
struct events *events_start(const struct pm_config *config);

/* Replaces the configuration, for events that are noted from now on. On any thread. */
void events_set(struct events *events, const struct pm_config *config);

/* After the writer has ended; events may be NULL. A running command goes on. */
void events_stop(struct events *events);

/*
 * Notes an event, now. The text is cut where the line would be too long; bytes that are
 * no printable ASCII become question marks. On any thread; events may be NULL.
 */
__attribute__((format(printf, 4, 5))) void events_note(struct events *events,
						       enum event_severity severity,
						       const char *kind,
						       const char *format, ...);

/*
 * A round of the writer, on its thread: writes the noted events to the file, and hands
 * them on. -errno of the file: writing is tried again in the next round, handing on is
 * not repeated.
 */
int events_write(struct events *events, const char *path, struct pm_error *err);

/*
 * Whether events are not in the file yet, or a command runs or waits. On the writer's
 * thread.
 */
bool events_pending(struct events *events);

/* The last failure of the command, or ""; it is returned once. On the writer's thread. */
void events_command_trouble(struct events *events, struct pm_error *err);

#endif
