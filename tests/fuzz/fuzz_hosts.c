/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any text gives a host table, and changes that turn no table into it, or an error with
 * its line.
 */
#include "fuzz.h"

#include <portmajor/files/host_table.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pm_host_table none = {0};
	struct pm_host_table table = {0}, changes = {0}, made = {0};
	struct pm_error err = {""};
	int rc = pm_host_table_parse((const char *)data, size, "in", &table, &err);

	if (rc && (rc != -EINVAL || strncmp(err.text, "in:", 3) || table.lines))
		abort();
	/* A table is a list of changes as well. */
	if (pm_host_changes_parse((const char *)data, size, "in", &changes, &err)) {
		if (!rc)
			abort();
		return 0;
	}
	if (pm_host_table_change(&none, &changes, "in", &made, &err) ||
	    (!rc && pm_host_table_sum(&made) != pm_host_table_sum(&table)))
		abort();
	pm_host_table_free(&made);
	pm_host_table_free(&changes);
	pm_host_table_free(&table);
	return 0;
}
