/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Any bytes give sound tables, or an error with its line; see lft_file.h. */
#include "fuzz.h"

#include <portmajor/analysis/lft_diff.h>
#include <portmajor/files/lft_file.h>

static void check_tables(const struct pm_lfts *lfts)
{
	check(lfts->num_switches > 0);
	for (uint32_t i = 0; i < lfts->num_switches; i++) {
		const struct pm_lft_switch *sw = &lfts->switches[i];

		check(sw->length > 0 && sw->length % PM_LFT_BLOCK == 0 &&
		      sw->length <= PM_MAX_LID + 1 && sw->top < sw->length);
		check(pm_lfts_find(lfts, sw->guid) == sw);
		for (uint32_t lid = sw->top + 1u; lid < sw->length; lid++)
			check(sw->table[lid] == PM_LFT_KEEP);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_lfts *lfts = NULL;
	struct pm_error err = {""};
	struct pm_lft_diff diff;
	int rc;

	pm_lfts_recognise((const char *)data, size);
	rc = pm_lfts_parse((const char *)data, size, "in", &lfts, &err);
	if (rc) {
		check(rc == -EINVAL && !lfts && !strncmp(err.text, "in:", 3));
		return 0;
	}
	check_tables(lfts);
	diff = pm_lfts_compare(lfts, lfts, false);
	check(!diff.entries && !diff.blocks && !diff.lids_other_owner &&
	      !diff.switches_new);
	pm_lfts_free(lfts);
	return 0;
}
