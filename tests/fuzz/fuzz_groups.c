/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any text gives groups by MLID, with members in order and at ports that end ports or
 * switches have, for which trees can be made, or an error with its line.
 */
#include "fuzz.h"

#include "../../src/cli/cmd/groups.h"
#include "../../src/cli/output.h"

#include <portmajor/netlist/netlist.h>

const char cli_program[] = "portmajor";

static const char net[] =
	"Switch 4 \"leaf0\"\n[1] \"a b\"[1]\n[2] \"h1\"[1]\n[3] \"s0\"[1]\n[4] "
	"\"s1\"[1]\n\n"
	"Switch 4 \"leaf1\"\n[1] \"h2\"[1]\n[2] \"h1\"[2]\n[3] \"s0\"[2]\n[4] "
	"\"s1\"[2]\n\n"
	"Switch 4 \"s0\"\n[1] \"leaf0\"[3]\n[2] \"leaf1\"[3]\n\n"
	"Switch 4 \"s1\"\n[1] \"leaf0\"[4]\n[2] \"leaf1\"[4]\n\n"
	"Hca 1 \"a b\"\n[1] \"leaf0\"[1]\n\nHca 2 \"h1\"\n[1] \"leaf0\"[2]\n[2] "
	"\"leaf1\"[2]\n\nHca 1 \"h2\"\n[1] \"leaf1\"[1]\n";

static struct pm_fabric *fabric;
static struct pm_plan *plan;
static struct pm_multicast *multicast;

/* Once. */
static void make_plan(void)
{
	const struct pm_plan_config config = {.order = PM_GROUPED};
	const struct pm_multicast_config trees = {0};

	if (pm_netlist_parse(net, sizeof(net) - 1, "net", &fabric, NULL) ||
	    pm_plan_make(fabric, &config, &plan, NULL) ||
	    pm_multicast_new(plan, &trees, &multicast, NULL))
		abort();
}

static void check_groups(const struct cli_groups *groups)
{
	struct pm_mfts *tables;

	for (uint32_t g = 1; g < groups->num; g++)
		if (groups->list[g - 1].mlid >= groups->list[g].mlid)
			abort();
	for (uint32_t g = 0; g < groups->num; g++) {
		const struct pm_group *group = &groups->list[g];

		for (uint32_t i = 1; i < group->num; i++)
			if (group->members[i - 1] > group->members[i])
				abort();
		if (!group->num)
			abort();
	}
	if (pm_multicast_route(multicast, groups->list, groups->num, &tables, NULL, NULL))
		abort();
	pm_mfts_free(tables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cli_groups groups = {0};
	struct pm_error err = {""};
	int rc;

	if (!plan)
		make_plan();
	rc = cli_groups_parse((const char *)data, size, "in", fabric, plan, &groups,
			      &err);
	if (!rc)
		check_groups(&groups);
	else if (rc != -EINVAL || strncmp(err.text, "in:", 3) != 0)
		abort();
	cli_groups_free(&groups);
	return 0;
}
