/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens the fabric of a running OpenSM for whatif. */
#include "whatif_present.h"

#include "json.h"
#include "missing_output.h"
#include "output.h"
#include "text.h"

#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- Parts that are not there ---- */

/* Whether the link at a port of present.fabric has failed since it was discovered. */
static bool is_away(const struct present *present, uint32_t port)
{
	const struct pm_fabric *fabric = present->fabric;
	uint32_t peer = fabric->ports[port].peer, place;

	if (peer == PM_NONE)
		return true;
	if (fabric->ports[port].node >= fabric->num_switches)
		port = peer;
	place = pm_fabric_same_port(fabric, port, present->plan->topology);
	return place != PM_NONE && !present->there[place];
}

static bool is_thing_away(const struct present *present, uint32_t thing)
{
	const struct pm_port *p = &present->fabric->ports[thing];

	if (p->num)
		return is_away(present, thing);
	pm_for_each_port(i, present->fabric, p->node)
		if (!is_away(present, i))
			return false;
	return true;
}

static bool are_all_away(const struct present *present, const struct pm_ports *things)
{
	for (uint32_t i = 0; i < things->num; i++)
		if (!is_thing_away(present, things->list[i]))
			return false;
	return true;
}

/* Whether an end in the plugin's state is that port, or one of them is a whole node. */
static bool names_end(const json_t *end, const struct pm_fabric *fabric, uint32_t port)
{
	const struct pm_port *p = &fabric->ports[port];
	struct pm_request_part part;

	return pm_request_part_read(end, &part) &&
	       part.guid == fabric->nodes[p->node].guid &&
	       (!p->num || !part.num || part.num == p->num);
}

static bool tells_of(const json_t *ends, const struct pm_fabric *fabric, uint32_t thing)
{
	uint32_t peer = fabric->ports[thing].peer;
	const json_t *end;
	size_t i;

	json_array_foreach(ends, i, end)
		if (names_end(end, fabric, thing) ||
		    (peer != PM_NONE && names_end(end, fabric, peer)))
			return true;
	return false;
}

/* The first element of a list of the state whose ends have a thing's; or NULL. */
static const json_t *find_told(const json_t *list, const struct pm_fabric *fabric,
			       const struct pm_ports *things)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		for (uint32_t k = 0; k < things->num; k++)
			if (tells_of(json_object_get(one, "ends"), fabric,
				     things->list[k]))
				return one;
	return NULL;
}

/* Refuses a missing part; since when is not known of one that a repair has just found. */
static int refuse_missing(const char *text, const json_t *part)
{
	json_int_t since = cli_json_number(part, "since");
	char *name = cli_missing_name(part), when[CLI_TEXT_WHEN];

	cli_fail(EXIT_USAGE, "--fail: \"%s\" is missing already: %s%s%s", text, name,
		 since ? ", since " : "", since ? cli_text_when(since, when) : "");
	free(name);
	return EXIT_USAGE;
}

/*
 * What the state tells of missing parts; or NULL. One that is back after a sweep without
 * it is absent no more, and missing until the next sweep, which the fabric is from, too.
 */
static const json_t *find_absent_part(const json_t *state, const struct pm_fabric *fabric,
				      const struct pm_ports *things)
{
	const json_t *missing = json_object_get(state, "missing");
	const json_t *absent = present_missing(state);
	const json_t *told = find_told(json_object_get(absent, "parts"), fabric, things);

	return told ? told : find_told(json_object_get(missing, "parts"), fabric, things);
}

/* Refuses parts that are not there, as the plugin's state tells of them. EXIT_USAGE. */
static int refuse_away(const json_t *state, const char *text,
		       const struct pm_fabric *fabric, const struct pm_ports *things)
{
	const json_t *changed = json_object_get(state, "changed");
	const json_t *told = find_absent_part(state, fabric, things);
	char *name;

	if (told)
		return refuse_missing(text, told);
	told = find_told(json_object_get(changed, "list"), fabric, things);
	name = told ? cli_change_name(told) : NULL;
	cli_fail(EXIT_USAGE, "--fail: \"%s\" is not there: %s", text,
		 name ? name : "its last place has no link now");
	free(name);
	return EXIT_USAGE;
}

/* Refuses a text that names no part of present.fabric, for the reason `why`. */
static int refuse_unknown(const struct whatif_present *now, const char *text,
			  const char *why)
{
	struct pm_fabric *drawing = present_read_drawing(now->port->folder);
	const struct pm_fabric *all = drawing ? drawing : now->present.plan->topology;
	struct pm_ports things = {0};
	int status;

	if (pm_failures_find(all, now->present.plan, "--fail", text, &things, NULL) ==
	    -ENOMEM)
		pm_no_memory();
	status = things.num ? refuse_away(now->port->state, text, all, &things)
			    : cli_fail(EXIT_USAGE, "%s", why);
	free(things.list);
	pm_fabric_free(drawing);
	return status;
}

/* Checks that a text of --fail names a part that is there. An exit status. */
static int check_there(const struct whatif_present *now, const char *text)
{
	const struct present *present = &now->present;
	struct pm_ports things = {0};
	struct pm_error err;
	int status = EXIT_FINE, rc;

	rc = pm_failures_find(present->fabric, present->plan, "--fail", text, &things,
			      &err);
	if (rc == -ENOMEM)
		pm_no_memory();
	if (rc)
		status = refuse_unknown(now, text, err.text);
	else if (are_all_away(present, &things))
		status = refuse_away(now->port->state, text, present->fabric, &things);
	free(things.list);
	return status;
}

int whatif_present_fail(const struct whatif_present *now, const struct cli_failed *failed,
			bool quiet, struct pm_ports *ports)
{
	const struct pm_fabric *fabric = now->present.fabric;
	const struct pm_plan *plan = now->present.plan;

	for (uint32_t i = 0; i < failed->num; i++) {
		int status = check_there(now, failed->list[i]);

		if (status)
			return status;
	}
	if (!quiet)
		cli_failed_print(fabric, plan, failed);
	return cli_failures_add(fabric, plan, failed, ports);
}

json_t *whatif_present_json(const struct whatif_present *now)
{
	const json_t *missing = present_missing(now->port->state);
	const json_t *total = json_object_get(missing, "total");

	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "folder", now->port->folder,
			 "switches_missing", cli_json_number(total, "switches"),
			 "links_missing", cli_json_number(total, "links"),
			 "hosts_missing", cli_json_number(total, "hosts"), "on_hold",
			 (json_int_t)now->present.num_held, "drained",
			 (json_int_t)now->port->kept.drains.num);
}
