/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Any text gives sorted GUIDs or an error with its line; see roles.h. */
#include "fuzz.h"

#include <portmajor/files/role_files.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_guids guids = {0};
	struct pm_error err = {""};
	char *text = strndup((const char *)data, size);
	int rc;

	if (!text)
		return 0;
	rc = pm_guids_parse(text, "in", &guids, &err);
	if (rc && (rc != -EINVAL || strncmp(err.text, "in:", 3) || guids.list))
		abort();
	for (uint32_t i = 1; i < guids.count; i++)
		if (guids.list[i - 1] > guids.list[i])
			abort();
	free(guids.list);
	free(text);
	return 0;
}
