/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

void cli_no_memory(void)
{
	exit(cli_fail(EXIT_INPUT, "out of memory"));
}

int cli_finish(int status)
{
	if (fflush(stdout) || ferror(stdout))
		return cli_fail(EXIT_INPUT, "cannot write: %s", strerror(errno));
	return status;
}
