/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Any text gives a configuration or an error with its line; see config.h. */
#include "fuzz.h"

#include <portmajor/files/config.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_config config;
	struct pm_error err = {""};
	char *text = strndup((const char *)data, size);
	int rc;

	if (!text)
		return 0;
	rc = pm_config_parse(text, "in", &config, &err);
	if (rc && (rc != -EINVAL || strncmp(err.text, "in:", 3)))
		abort();
	free(text);
	return 0;
}
