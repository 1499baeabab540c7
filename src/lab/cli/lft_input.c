/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the tables that option --lfts names. */
#include "lft_input.h"

#include "output.h"

#include <portmajor/base/textfile.h>

static int check_lids(const struct pm_fabric *fabric, const struct pm_lft_lids *lids,
		      const char *name)
{
	const struct pm_port *left_out =
		lids->left_out == PM_NONE ? NULL : &fabric->ports[lids->left_out];

	if (lids->first_differ != PM_NONE)
		return cli_fail(
			EXIT_INPUT,
			"%s: \"%s\" has another LID there than in the fabric: "
			"tables of another fabric?",
			name,
			pm_fabric_label(fabric, fabric->ports[lids->first_differ].node));
	if (left_out && left_out->node >= fabric->num_switches)
		return cli_fail(
			EXIT_INPUT,
			"%s has no entry for LID %u of \"%s\": dump_fts leaves out "
			"the last LID of a fabric where that is a multiple of 64; "
			"take opensm-lfts.dump",
			name, left_out->lid, pm_fabric_label(fabric, left_out->node));
	return EXIT_FINE;
}

int lft_input_read(const char *path, struct pm_fabric *fabric, struct pm_lfts **lfts)
{
	struct pm_lft_lids lids;
	struct pm_error err;
	int status;

	*lfts = NULL;
	if (pm_lfts_read(path, lfts, &err))
		return cli_fail(EXIT_INPUT, "%s", err.text);
	if (pm_lfts_give_lids(*lfts, fabric, &lids, &err))
		status = cli_fail(EXIT_INPUT, "%s", err.text);
	else
		status = check_lids(fabric, &lids, pm_textfile_name(path));
	if (status) {
		pm_lfts_free(*lfts);
		*lfts = NULL;
	}
	return status;
}
