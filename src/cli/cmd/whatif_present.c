/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens the fabric of a running OpenSM for whatif. */
#include "whatif_present.h"

#include "json.h"
#include "output.h"

int whatif_present_open(const char *folder, struct whatif_present *now)
{
	int status = folder ? cli_ports_open_folder(folder, &now->ports)
			    : cli_ports_open(false, &now->ports);

	for (size_t i = 0; i < now->ports.num && !now->port; i++)
		if (present_is_known(&now->ports.list[i]))
			now->port = &now->ports.list[i];
	if (!status && !now->port)
		status = cli_fail(
			EXIT_INPUT,
			"--now: %s: no folder has a plan and a fabric: no OpenSM "
			"with portmajor has routed here",
			now->ports.wanted);
	if (!status)
		status = present_read(now->port, &now->present);
	if (!status)
		now->sm = present_find_sm(now->present.fabric, now->port->state);
	return status;
}

void whatif_present_close(struct whatif_present *now)
{
	present_free(&now->present);
	cli_ports_free(&now->ports);
}

void whatif_present_find(struct whatif_present *now, struct pm_whatif_now *find)
{
	find->plan = now->present.plan;
	find->fabric = now->present.fabric;
	find->there = now->present.there;
	find->sm = now->sm;
	now->drains = (struct present_drains){&now->present, &now->port->kept.drains};
	find->use = present_use_by;
	find->context = &now->drains;
}

int whatif_present_fail(const struct whatif_present *now, const struct cli_failed *failed,
			bool quiet, struct pm_ports *ports)
{
	const struct pm_fabric *fabric = now->present.fabric;
	const struct pm_plan *plan = now->present.plan;

	if (!quiet)
		cli_failed_print(fabric, plan, failed);
	return cli_failures_add(fabric, plan, failed, ports);
}

json_t *whatif_present_json(const struct whatif_present *now)
{
	const json_t *missing = json_object_get(now->port->state, "missing");
	const json_t *total = json_object_get(missing, "total");

	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "folder", now->port->folder,
			 "switches_missing", cli_json_number(total, "switches"),
			 "links_missing", cli_json_number(total, "links"),
			 "hosts_missing", cli_json_number(total, "hosts"), "on_hold",
			 (json_int_t)now->present.num_held, "drained",
			 (json_int_t)now->port->kept.drains.num);
}
