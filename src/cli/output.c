/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

int cli_fail(enum exit_status status, const char *format, ...)
{
	va_list args;

	fputs("portmajor: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return (int)status;
}

static atomic_bool lacked_memory;

void cli_no_memory(void)
{
	lacked_memory = true;
}

bool cli_lacked_memory(void)
{
	return lacked_memory;
}

int cli_finish(int status)
{
	if (fflush(stdout) || ferror(stdout))
		return cli_fail(EXIT_INPUT, "cannot write: %s", strerror(errno));
	if (lacked_memory && status != EXIT_INPUT)
		return cli_fail(EXIT_INPUT, "out of memory");
	return status;
}
