/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Any text gives keys with values, without blanks around, or an error with its line. */
#include "fuzz.h"

#include <portmajor/files/opensm_conf.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_opensm_conf conf = {0};
	struct pm_error err = {""};
	char *text = strndup((const char *)data, size);
	int rc;

	if (!text)
		return 0;
	rc = pm_opensm_conf_parse(text, "in", &conf, &err);
	if (rc && (rc != -EINVAL || strncmp(err.text, "in:", 3) || conf.items))
		abort();
	for (size_t i = 0; i < conf.count; i++) {
		const struct pm_opensm_conf_item *item = &conf.items[i];

		if (!*item->key || strpbrk(item->key, "# \t\n") ||
		    strpbrk(item->value, "#\n") ||
		    !pm_opensm_conf_find(&conf, item->key) ||
		    (i && item->line <= conf.items[i - 1].line))
			abort();
	}
	pm_opensm_conf_free(&conf);
	free(text);
	return 0;
}
