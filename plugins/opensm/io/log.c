/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes lines of bounded length to OpenSM's log. */
#include "log.h"

#include <portmajor/base/escape.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OURS "portmajor"

/* How much text osm_log can take beside its own: it does not check this. */
static size_t room_for_text(const osm_log_t *log)
{
	const char *prefix = log->log_prefix;
	size_t around = (prefix ? strlen(prefix) + strlen(": ") : 0) + strlen(OURS "\n");

	return around < LOG_ENTRY_SIZE_MAX ? LOG_ENTRY_SIZE_MAX - around : 1;
}

void log_line(osm_log_t *log, osm_log_level_t level, const char *format, ...)
{
	char text[LOG_ENTRY_SIZE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, room_for_text(log), format, args);
	va_end(args);
	pm_escape_terminal(text);
	osm_log(log, level, OURS "%s\n", text);
	/* OpenSM's lock, as logs are rotated by closing and opening the file. */
	cl_spinlock_acquire(&log->lock);
	fflush(log->out_port);
	cl_spinlock_release(&log->lock);
}
