/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Error detail.
 *
 * Functions of the core return 0 or -errno; a struct pm_error has details for the caller
 * to print. The core itself never prints or logs.
 */
#ifndef PORTMAJOR_ERROR_H
#define PORTMAJOR_ERROR_H

#define PM_ERROR_TEXT 512

struct pm_error {
	/*
	 * One line without a newline: the file and line, node or number at fault.
	 * Truncated if longer.
	 */
	char text[PM_ERROR_TEXT];
};

/*
 * Formats a message into err (which may be NULL) and returns code, so that
 * callers can write `return pm_error_set(err, -EINVAL, ...)`.
 */
int pm_error_set(struct pm_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with -ENOMEM. */
int pm_error_no_memory(struct pm_error *err);

#endif
