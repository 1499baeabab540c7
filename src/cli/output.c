/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Exit statuses and messages of the command. */
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_message(const char *format, va_list args)
{
	fprintf(stderr, "%s: ", cli_program);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int cli_fail(enum exit_status status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(format, args);
	va_end(args);
	return (int)status;
}

int cli_refuse(const struct pm_error *err)
{
	return cli_fail(EXIT_INPUT, "%s", err->text);
}

void cli_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(format, args);
	va_end(args);
}

void cli_no_memory(void)
{
	exit(cli_fail(EXIT_INPUT, "out of memory"));
}

void cli_print_version(void)
{
	printf("%s %s\n", cli_program, PORTMAJOR_VERSION);
}

int cli_finish(int status)
{
	if (fflush(stdout) || ferror(stdout))
		return cli_fail(EXIT_INPUT, "cannot write: %s", strerror(errno));
	return status;
}
