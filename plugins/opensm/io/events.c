/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collects events on any thread, and writes them on the writer's. */
#include "events.h"

#include "event_command.h"
#include "engine/clock.h"

#include <portmajor/base/escape.h>
#include <portmajor/base/print.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_STEP_S 2 /* least change of the clock that is an event */

static const int priorities[] = {
	[EVENT_ERROR] = LOG_ERR,
	[EVENT_WARNING] = LOG_WARNING,
	[EVENT_NOTICE] = LOG_NOTICE,
	[EVENT_INFO] = LOG_INFO,
};

struct event {
	enum event_severity severity;
	uint64_t kind;	       /* pm_event_kind_bit */
	char line[EVENT_LINE]; /* without newline */
};

struct events {
	pthread_mutex_t lock; /* of pending .. clock_off_s */
	struct event pending[EVENTS_PENDING];
	uint32_t num_pending, lost;
	bool renewed; /* new_config is a new one */
	struct pm_config new_config;
	double clock_off_s; /* time of day less clock_ms, at the last event; 0: none */
	/* the writer's: */
	struct event taken[EVENTS_PENDING];
	uint32_t num_taken; /* passed on, and not in the file yet */
	uint32_t unwritten; /* events lost before these */
	bool syslog;
	enum event_severity command_severity; /* least one of the command .. */
	uint64_t command_kinds;		      /* .. and its kinds; 0: all */
	struct event_command *command;
};

struct events *events_start(const struct pm_config *config)
{
	struct events *events = calloc(1, sizeof(*events));

	if (!events)
		return NULL;
	events->command = event_command_start();
	if (!events->command) {
		free(events);
		return NULL;
	}
	pthread_mutex_init(&events->lock, NULL);
	events_set(events, config);
	return events;
}

void events_set(struct events *events, const struct pm_config *config)
{
	if (!events)
		return;
	pthread_mutex_lock(&events->lock);
	events->new_config = *config;
	events->renewed = true;
	pthread_mutex_unlock(&events->lock);
}

void events_stop(struct events *events)
{
	if (!events)
		return;
	event_command_stop(events->command);
	pthread_mutex_destroy(&events->lock);
	free(events);
}

/* ---- Collecting ---- */

/* Prints time, severity and kind; returns their length. */
static size_t begin_line(char *line, enum event_severity severity, const char *kind)
{
	time_t now = time(NULL);
	size_t length = 0;
	struct tm local;

	if (localtime_r(&now, &local))
		length = strftime(line, EVENT_LINE, "%Y-%m-%dT%H:%M:%S%z ", &local);
	length += (size_t)snprintf(line + length, EVENT_LINE - length, "%s %s ",
				   pm_event_severities[severity], kind);
	return length;
}

/* Ends a text that exceeds its room, and replaces bytes that terminals interpret. */
static void end_line(char *line, int length, size_t room)
{
	if (length >= (int)room)
		memcpy(line + room - sizeof(" .."), " ..", sizeof(" .."));
	pm_escape_ascii(line);
}

static void add_event(struct events *events, enum event_severity severity,
		      const char *kind, const char *format, va_list args)
{
	struct event *event;
	size_t begin;

	if (events->num_pending == EVENTS_PENDING) {
		events->lost++;
		return;
	}
	event = &events->pending[events->num_pending++];
	event->severity = severity;
	event->kind = pm_event_kind_bit(kind);
	begin = begin_line(event->line, severity, kind);
	end_line(event->line + begin,
		 vsnprintf(event->line + begin, EVENT_LINE - begin, format, args),
		 EVENT_LINE - begin);
}

static void __attribute__((format(printf, 4, 5)))
add_line(struct events *events, enum event_severity severity, const char *kind,
	 const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_event(events, severity, kind, format, args);
	va_end(args);
}

/* Adds an event if the clock was set since the last event: times are out of order then.
 */
static void add_clock_step(struct events *events)
{
	double off_s = (double)time(NULL) - clock_ms() / 1e3;
	double step_s = events->clock_off_s != 0 ? off_s - events->clock_off_s : 0;

	events->clock_off_s = off_s;
	if (fabs(step_s) >= CLOCK_STEP_S)
		add_line(events, EVENT_NOTICE, "clock", "set %s by %.0f s",
			 step_s < 0 ? "back" : "forward", fabs(step_s));
}

void events_note(struct events *events, enum event_severity severity, const char *kind,
		 const char *format, ...)
{
	va_list args;

	if (!events)
		return;
	va_start(args, format);
	pthread_mutex_lock(&events->lock);
	add_clock_step(events);
	add_event(events, severity, kind, format, args);
	pthread_mutex_unlock(&events->lock);
	va_end(args);
}

/* ---- Writing ---- */

/* The text after the time, which syslog adds itself. */
static const char *behind_time(const char *line)
{
	const char *space = strchr(line, ' ');

	return space ? space + 1 : line;
}

static void hand_on(struct events *events, const struct event *event)
{
	if (events->syslog)
		syslog(LOG_DAEMON | priorities[event->severity], "portmajor: %s",
		       behind_time(event->line));
	if (event->severity <= events->command_severity &&
	    (!events->command_kinds || (events->command_kinds & event->kind)))
		event_command_add(events->command, event->line);
}

/* Makes room for more lines; if the disk is full, the oldest lines are lost. */
static void drop_oldest(struct events *events, uint32_t more)
{
	uint32_t many = events->num_taken + more > EVENTS_PENDING
				? events->num_taken + more - EVENTS_PENDING
				: 0;

	memmove(events->taken, events->taken + many,
		(events->num_taken - many) * sizeof(*events->taken));
	events->num_taken -= many;
	events->unwritten += many;
}

/* Called with the lock held. */
static void take_configuration(struct events *events)
{
	if (!events->renewed)
		return;
	events->syslog = events->new_config.event_syslog;
	events->command_severity = events->new_config.event_command_severity;
	events->command_kinds = events->new_config.event_command_kinds;
	event_command_set(events->command, events->new_config.event_command);
	events->renewed = false;
}

/* Takes the pending events, and passes them on. */
static void take_pending(struct events *events)
{
	struct event *taken;
	uint32_t num;

	pthread_mutex_lock(&events->lock);
	take_configuration(events);
	num = events->num_pending;
	drop_oldest(events, num);
	taken = events->taken + events->num_taken;
	memcpy(taken, events->pending, num * sizeof(*taken));
	events->num_taken += num;
	events->unwritten += events->lost;
	events->num_pending = events->lost = 0;
	pthread_mutex_unlock(&events->lock);
	for (uint32_t i = 0; i < num; i++)
		hand_on(events, &taken[i]);
}

/* Renames a file that is large enough. */
static int make_room(const char *path, struct pm_error *err)
{
	struct stat file;
	char *old;
	int rc = 0;

	if (stat(path, &file) || file.st_size < EVENTS_SIZE)
		return 0;
	if (asprintf(&old, "%s.old", path) < 0)
		return pm_error_no_memory(err);
	if (rename(path, old))
		rc = pm_error_set(err, -errno, "%s: %s", old, strerror(errno));
	free(old);
	return rc;
}

static int print_lines(FILE *out, const void *arg)
{
	const struct events *events = arg;
	char begin[EVENT_LINE];

	begin_line(begin, EVENT_WARNING, "events");
	if (events->unwritten)
		fprintf(out, "%s%u not recorded: too many, or a full disk\n", begin,
			events->unwritten);
	for (uint32_t i = 0; i < events->num_taken; i++)
		fprintf(out, "%s\n", events->taken[i].line);
	return 0;
}

/* Appends the whole text or, if that fails, nothing. */
static int append_text(int fd, const char *text, size_t length)
{
	off_t before = lseek(fd, 0, SEEK_END);
	ssize_t written = write(fd, text, length);
	int why = written < 0 ? errno : ENOSPC;

	if (written == (ssize_t)length)
		return 0;
	return before < 0 || ftruncate(fd, before) ? -EIO : -why;
}

static int append(const struct events *events, const char *path, struct pm_error *err)
{
	int fd, rc = make_room(path, err);
	size_t length = 0;
	char *text;

	if (rc)
		return rc;
	if (pm_text_print(print_lines, events, &text, &length))
		return pm_error_no_memory(err);
	fd = open(path,
		  O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		  0644);
	rc = fd < 0 || fchmod(fd, 0644) ? -errno : append_text(fd, text, length);
	if (fd >= 0 && close(fd) && !rc)
		rc = -errno;
	free(text);
	return rc ? pm_error_set(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}

int events_write(struct events *events, const char *path, struct pm_error *err)
{
	int rc = 0;

	take_pending(events);
	if (events->num_taken || events->unwritten)
		rc = append(events, path, err);
	if (!rc)
		events->num_taken = events->unwritten = 0;
	event_command_round(events->command);
	return rc;
}

bool events_pending(struct events *events)
{
	bool pending;

	pthread_mutex_lock(&events->lock);
	pending = events->num_pending || events->lost;
	pthread_mutex_unlock(&events->lock);
	return pending || events->num_taken || event_command_is_busy(events->command);
}

void events_command_trouble(struct events *events, struct pm_error *err)
{
	event_command_trouble(events->command, err);
}
