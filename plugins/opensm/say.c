/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "say.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_SIZE 4096

void say(osm_log_t *log, osm_log_level_t level, const char *format, ...)
{
	char text[LINE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	osm_log(log, level, "portmajor%s\n", text);
	/* Its lock: the file is closed and opened anew when logs are rotated. */
	cl_spinlock_acquire(&log->lock);
	fflush(log->out_port);
	cl_spinlock_release(&log->lock);
}
