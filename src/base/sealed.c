/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds a checksum to text, and checks it. */
#include <portmajor/base/hash.h>
#include <portmajor/base/sealed.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t checksum(const char *text, size_t length)
{
	return pm_hash(PM_HASH_START, text, length);
}

int pm_sealed_print(pm_print *print, const void *arg, char **text, size_t *length)
{
	static const size_t last = sizeof("end 0123456789abcdef\n");
	char *body, *whole;
	size_t used;
	int rc = pm_text_print(print, arg, &body, &used);

	if (rc)
		return rc;
	whole = realloc(body, used + last);
	if (!whole) {
		free(body);
		return -ENOMEM;
	}
	snprintf(whole + used, last, "end %016" PRIx64 "\n", checksum(whole, used));
	*text = whole;
	*length = used + last - 1;
	return 0;
}

const char *pm_sealed_end(const char *text, size_t length)
{
	static const size_t last = sizeof("end 0123456789abcdef\n") - 1;
	const char *end;
	char *rest;

	if (length <= last || memchr(text, '\0', length))
		return NULL;
	end = text + length - last;
	if (end[-1] != '\n' || strncmp(end, "end ", 4) || text[length - 1] != '\n')
		return NULL;
	if (strtoull(end + 4, &rest, 16) != checksum(text, (size_t)(end - text)) ||
	    rest != text + length - 1)
		return NULL;
	return end;
}
