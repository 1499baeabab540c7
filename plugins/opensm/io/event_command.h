/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An operator's command that is run for each event, without a shell and with the event's
 * line as its argument; /dev/null is its standard input and output. One runs at a time,
 * and is killed after EVENT_COMMAND_S seconds; up to EVENT_COMMAND_LINES lines wait, and
 * more are dropped. Nothing waits for it. All functions are for the writer's thread.
 */
#ifndef PORTMAJOR_IO_EVENT_COMMAND_H
#define PORTMAJOR_IO_EVENT_COMMAND_H

#include <portmajor/base/error.h>
#include <portmajor/files/config.h>

#include <stdbool.h>

#define EVENT_COMMAND_S 30
#define EVENT_COMMAND_LINES 64

struct event_command;

/* Starts without a program. NULL without memory. */
struct event_command *event_command_start(void);

/* Sets the program; "": none, and waiting lines are dropped. */
void event_command_set(struct event_command *command, const char path[PM_CONFIG_PATH]);

/* command may be NULL. A command that runs goes on. */
void event_command_stop(struct event_command *command);

/* Has the command, if there is one, run for a line in a later round. */
void event_command_add(struct event_command *command, const char *line);

/*
 * Notices the end of the running command, or kills it when its time is over; then starts
 * the next.
 */
void event_command_round(struct event_command *command);

/* Whether a command runs, or a line waits. */
bool event_command_is_busy(const struct event_command *command);

/* Takes the last failure, or "": it could not be started, failed, was killed, or lines
 * were dropped. A kind of failure is returned once until the command succeeds again. */
void event_command_trouble(struct event_command *command, struct pm_error *err);

#endif
