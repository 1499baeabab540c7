/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the tables that option --lfts names. */
#include "lft_input.h"

#include "output.h"

#include <portmajor/base/textfile.h>

#include <inttypes.h>

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

/* Checks that entries name ports of this switch. */
static int check_entries(const struct pm_fabric *fabric, uint32_t sw,
			 const struct pm_lft_switch *table, const char *path)
{
	for (uint32_t lid = 0; lid < table->length; lid++)
		if (table->table[lid] != PM_LFT_KEEP &&
		    table->table[lid] > fabric->nodes[sw].num_ports)
			return cli_fail(
				EXIT_INPUT,
				"%s: LID %u leads to port %u of \"%s\", which has "
				"%u: tables of another fabric?",
				path, lid, table->table[lid], pm_fabric_label(fabric, sw),
				fabric->nodes[sw].num_ports);
	return EXIT_FINE;
}

/* Checks that tables are of the fabric's switches, and that none is missing. */
static int check_tables(const struct pm_fabric *fabric, const struct pm_lfts *lfts,
			const char *path)
{
	int status = EXIT_FINE;

	for (uint32_t i = 0; i < lfts->num_switches; i++) {
		uint32_t sw = pm_fabric_find_guid(fabric, lfts->switches[i].guid);

		if (sw == PM_NONE || sw >= fabric->num_switches)
			return cli_fail(EXIT_INPUT,
					"%s: the fabric has no switch 0x%016" PRIx64
					" \"%s\": tables of another fabric?",
					path, lfts->switches[i].guid,
					lfts->switches[i].name);
	}
	for (uint32_t i = 0; i < lfts->num_switches && !status; i++)
		status = check_entries(
			fabric, pm_fabric_find_guid(fabric, lfts->switches[i].guid),
			&lfts->switches[i], path);
	for (uint32_t sw = 0; sw < fabric->num_switches && !status; sw++)
		if (pm_fabric_has_link(fabric, sw) &&
		    !pm_lfts_find(lfts, fabric->nodes[sw].guid))
			status = cli_fail(EXIT_INPUT, "%s has no table of \"%s\"", path,
					  pm_fabric_label(fabric, sw));
	return status;
}

int lft_input_read(const char *path, struct pm_fabric *fabric, struct pm_lfts **lfts)
{
	struct pm_lft_lids lids;
	struct pm_error err;
	int status;

	*lfts = NULL;
	if (pm_lfts_read(path, lfts, &err))
		return cli_refuse(&err);
	if (pm_lfts_give_lids(*lfts, fabric, &lids, &err))
		status = cli_refuse(&err);
	else
		status = check_lids(fabric, &lids, pm_textfile_name(path));
	if (!status)
		status = check_tables(fabric, *lfts, path);
	if (status) {
		pm_lfts_free(*lfts);
		*lfts = NULL;
	}
	return status;
}
