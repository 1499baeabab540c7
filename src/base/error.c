/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fills error details. */
#include <portmajor/base/error.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int pm_error_set(struct pm_error *err, int code, const char *format, ...)
{
	va_list args;

	if (err) {
		va_start(args, format);
		vsnprintf(err->text, sizeof(err->text), format, args);
		va_end(args);
	}
	return code;
}

int pm_error_no_memory(struct pm_error *err)
{
	return pm_error_set(err, -ENOMEM, "out of memory");
}
