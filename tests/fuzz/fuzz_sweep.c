/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any text is refused with a message or is a shard of a sweep, which then is written and
 * read again as the same; see summary.h.
 */
#include "fuzz.h"

#include "../../src/cli/cmd/summary_output.h"
#include "../../src/cli/output.h"

const char cli_program[] = "portmajor";

/* Reads a shard and writes it; NULL if it is refused. */
static json_t *read_and_write(json_t *object)
{
	struct settings settings = {0};
	struct pm_failure_summary summary = {0};
	struct names names = {0};
	char text[SUMMARY_TEXT] = "";
	json_t *written = NULL;

	if (!settings_read(&settings, object, text) &&
	    !summary_read(&summary, &names, &settings, object, text)) {
		pm_failure_summary_finish(&summary);
		written = summary_json(&summary, &names, &settings);
		if (!written)
			abort();
	} else if (!text[0]) {
		abort();
	}
	names_free(&names);
	pm_failure_summary_free(&summary);
	json_decref(settings.json);
	return written;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *object = json_loadb((const char *)data, size, 0, NULL);
	json_t *once = object ? read_and_write(object) : NULL, *twice;

	if (once) {
		twice = read_and_write(once);
		if (!twice || !json_equal(once, twice))
			abort();
		json_decref(twice);
		json_decref(once);
	}
	json_decref(object);
	return 0;
}
