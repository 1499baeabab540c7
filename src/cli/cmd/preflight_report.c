/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor preflight: prints a line, or a member of "checks", for each check. */
#include "json.h"
#include "preflight.h"

#include <portmajor/memory/xalloc.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void preflight_report(struct preflight *p, bool ok, const char *what, const char *format,
		      ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		pm_no_memory();
	va_end(args);
	p->findings += !ok;
	if (p->checks)
		json_array_append_new(p->checks,
				      json_pack("{s:s, s:b, s:o}", "check", what, "ok",
						ok, "text", pm_json_text(text)));
	else if (!ok || !p->output.quiet)
		cli_print_line("%-8s%-20s%s", ok ? "ok" : "FIX", what, text);
	free(text);
}
