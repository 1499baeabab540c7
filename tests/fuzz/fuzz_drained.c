/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Any text gives a list that reads back the same, or an error with its line. */
#include "fuzz.h"

#include <portmajor/files/drain_file.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_drains drains = {0}, again = {0};
	struct pm_error err = {""};
	int rc = pm_drains_parse((const char *)data, size, "in", &drains, &err);
	char *text;
	size_t length;
	FILE *out;

	if (rc) {
		if (rc != -EINVAL || strncmp(err.text, "in:", 3) || drains.list)
			abort();
		return 0;
	}
	out = open_memstream(&text, &length);
	if (!out)
		abort();
	pm_drains_print(&drains, out);
	fclose(out);
	if (pm_drains_parse(text, length, "out", &again, &err) ||
	    !pm_drains_equal(&drains, &again))
		abort();
	free(text);
	pm_drains_free(&drains);
	pm_drains_free(&again);
	return 0;
}
