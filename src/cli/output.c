/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Exit statuses and messages of the command. */
#include "output.h"

#include <portmajor/base/escape.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 8192 /* longest line with text from outside; the rest is cut off */

static void print_line(FILE *out, const char *before, const char *format, va_list args)
{
	char line[LINE];
	int length = vsnprintf(line, sizeof(line), format, args);

	if (length >= LINE)
		strcpy(line + LINE - sizeof(" .."), " ..");
	pm_escape_terminal(line);
	fprintf(out, "%s%s%s\n", before, *before ? ": " : "", line);
}

void cli_print_line(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(stdout, "", format, args);
	va_end(args);
}

int cli_fail(enum exit_status status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(stderr, cli_program, format, args);
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
	print_line(stderr, cli_program, format, args);
	va_end(args);
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
