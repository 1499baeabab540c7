/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints text into memory. */
#include <portmajor/base/print.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct sink {
	char *text;
	size_t used, room;
};

/* Appends data to the text. Returning 0, when out of memory, sets the stream's error. */
static ssize_t take_text(void *cookie, const char *data, size_t size)
{
	struct sink *sink = cookie;
	size_t need = sink->used + size + 1, room = sink->room ? sink->room : 4096;
	char *bigger = sink->text;

	while (room < need)
		room *= 2;
	if (room > sink->room)
		bigger = realloc(sink->text, room);
	if (!bigger)
		return 0;
	sink->text = bigger;
	sink->room = room;
	memcpy(bigger + sink->used, data, size);
	sink->used += size;
	bigger[sink->used] = '\0';
	return (ssize_t)size;
}

int pm_text_print(pm_print *print, const void *arg, char **text, size_t *length)
{
	struct sink sink = {NULL, 0, 0};
	FILE *out = fopencookie(&sink, "w", (cookie_io_functions_t){.write = take_text});
	int rc;

	if (!out)
		return -ENOMEM;
	take_text(&sink, "", 0); /* an empty output is a text, too */
	rc = sink.text ? print(out, arg) : -ENOMEM;
	if (!rc && (fflush(out) || ferror(out)))
		rc = -ENOMEM;
	fclose(out);
	if (rc) {
		free(sink.text);
		return rc;
	}
	*text = sink.text;
	*length = sink.used;
	return 0;
}
