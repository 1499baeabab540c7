/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the present fabric from the plugin's files. */
#include "present.h"

#include "fabric_options.h"
#include "json.h"
#include "output.h"
#include "text.h"

#include <portmajor/files/plan_file.h>
#include <portmajor/memory/xalloc.h>
#include <portmajor/netlist/netlist.h>
#include <portmajor/plan/drawing.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint8_t *make_marks(const struct pm_fabric *topology)
{
	uint8_t *marks = pm_xarray(topology->num_ports + 1u, 1);

	return marks;
}

/* ---- What is there ---- */

/* Whether a fabric has the link, or the end port, of a port of the plan. */
static bool is_there(const struct pm_fabric *topology, uint32_t port,
		     const struct pm_fabric *now)
{
	uint32_t own = pm_fabric_same_port(topology, port, now);
	uint32_t peer = own == PM_NONE ? PM_NONE : now->ports[own].peer;

	if (peer == PM_NONE)
		return false;
	if (now->ports[peer].node >= now->num_switches)
		return topology->ports[port].peer == PM_NONE;
	return pm_fabric_same_port(now, peer, topology) == topology->ports[port].peer;
}

static void mark_there(struct present *present, const struct pm_fabric *now)
{
	const struct pm_fabric *topology = present->plan->topology;

	for (uint32_t i = 0; i < topology->num_ports; i++)
		if (topology->ports[i].num)
			present->there[i] =
				now ? is_there(topology, i, now)
				    : topology->ports[i].peer != PM_NONE ||
						topology->ports[i].host != PM_NO_HOST;
}

/* The port of an end in the plugin's state, PM_NONE: the plan has none such. */
static uint32_t find_end(const struct pm_fabric *topology, const json_t *end)
{
	const char *guid = json_string_value(json_object_get(end, "guid"));
	json_int_t port = cli_json_number(end, "port");
	uint32_t sw =
		guid ? pm_fabric_find_guid(topology, strtoull(guid, NULL, 16)) : PM_NONE;

	return sw == PM_NONE || port < 0 || port > topology->nodes[sw].num_ports
		       ? PM_NONE
		       : topology->nodes[sw].first_port + (uint32_t)port;
}

static void mark_away(struct present *present, uint32_t port)
{
	uint32_t peer = present->plan->topology->ports[port].peer;

	present->there[port] = 0;
	if (peer != PM_NONE)
		present->there[peer] = 0;
}

/* Marks a port, or a switch; PM_NONE: a host's own end, or none of the fabric. */
static void mark_end(struct present *present, uint32_t port)
{
	const struct pm_fabric *topology = present->plan->topology;

	if (port == PM_NONE)
		return;
	if (topology->ports[port].num) {
		mark_away(present, port);
		return;
	}
	pm_for_each_port(p, topology, topology->ports[port].node)
		mark_away(present, p);
}

/*
 * Whether a port where a host or a link is missing has a link between switches now, or
 * another one: the plan may be newer.
 */
static bool is_taken(const struct pm_fabric *topology, const json_t *part, uint32_t port)
{
	const json_t *ends = json_object_get(part, "ends");
	const char *kind = cli_json_text(part, "kind");
	uint32_t peer = port == PM_NONE ? PM_NONE : topology->ports[port].peer;

	if (peer == PM_NONE || !strcmp(kind, "switch"))
		return false;
	return !strcmp(kind, "host") ||
	       (peer != find_end(topology, json_array_get(ends, 0)) &&
		peer != find_end(topology, json_array_get(ends, 1)));
}

const json_t *present_missing(const json_t *state)
{
	const json_t *absent = json_object_get(state, "absent");

	return json_is_object(absent) ? absent : json_object_get(state, "missing");
}

/* Marks missing parts of the state, which may be newer than the fabric. */
static void mark_missing(struct present *present, const json_t *state)
{
	const struct pm_fabric *topology = present->plan->topology;
	const json_t *parts = json_object_get(present_missing(state), "parts");
	const json_t *part, *end;
	size_t i, k;

	json_array_foreach(parts, i, part)
		json_array_foreach(json_object_get(part, "ends"), k, end) {
			uint32_t port = find_end(topology, end);

			if (!is_taken(topology, part, port))
				mark_end(present, port);
		}
}

uint32_t present_find_sm(const struct pm_fabric *fabric, const json_t *state)
{
	const char *text = cli_json_text(state, "port_guid");
	uint64_t guid = strtoull(text, NULL, 16);

	for (uint32_t i = 0; guid && i < fabric->num_ports; i++)
		if (fabric->ports[i].guid == guid)
			return i;
	return PM_NONE;
}

/* ---- Empty places ---- */

struct pm_fabric *present_read_drawing(const char *folder)
{
	char *path = cli_text_make("%sdrawing.net", folder);
	struct pm_fabric *drawing = NULL;
	int rc = pm_netlist_read(path, &drawing, NULL, NULL);

	free(path);
	if (rc == -ENOMEM)
		pm_no_memory();
	return rc ? NULL : drawing;
}

/* Marks the ports of missing parts: places of hosts that the plan alone may know. */
static uint8_t *mark_told(const struct pm_fabric *topology, const json_t *state)
{
	const json_t *parts = json_object_get(present_missing(state), "parts");
	uint8_t *told = make_marks(topology);
	const json_t *part, *end;
	size_t i, k;

	json_array_foreach(parts, i, part)
		json_array_foreach(json_object_get(part, "ends"), k, end) {
			uint32_t port = find_end(topology, end);

			if (port == PM_NONE)
				continue;
			told[port] = 1;
			if (!topology->ports[port].num)
				pm_for_each_port(p, topology, topology->ports[port].node)
					told[p] = 1;
		}
	return told;
}

/*
 * Whether the plan's place of an end port is empty for good: nothing is drawn there, or a
 * host that is discovered elsewhere.
 */
static bool is_vacant(const struct present *present, const struct pm_fabric *drawing,
		      uint32_t place, bool told)
{
	const struct pm_fabric *topology = present->plan->topology;
	uint32_t drawn = pm_fabric_same_port(topology, place, drawing), host, at;

	if (topology->ports[place].host == PM_NO_HOST || present->there[place] ||
	    drawn == PM_NONE)
		return false;
	host = drawing->ports[drawn].peer;
	if (host == PM_NONE)
		return !told;
	at = pm_fabric_same_port(drawing, host, present->fabric);
	return at != PM_NONE && present->fabric->ports[at].peer != PM_NONE &&
	       pm_drawing_peer(present->fabric, at, drawing) != drawn;
}

void present_mark_vacant(struct present *present, const struct cli_port *port)
{
	const struct pm_fabric *topology = present->plan->topology;
	struct pm_fabric *drawing =
		present->fabric ? present_read_drawing(port->folder) : NULL;
	uint8_t *told;

	if (!drawing)
		return;
	told = mark_told(topology, port->state);
	present->vacant = make_marks(topology);
	for (uint32_t i = 0; i < topology->num_ports; i++)
		present->vacant[i] = is_vacant(present, drawing, i, told[i]);
	free(told);
	pm_fabric_free(drawing);
}

/* ---- Links on hold ---- */

static void list_held(struct present *present, const json_t *state)
{
	const json_t *flapping = json_object_get(state, "flapping"), *link;
	size_t i;

	present->held = pm_xarray(json_array_size(flapping) + 1, sizeof(*present->held));
	json_array_foreach(flapping, i, link) {
		uint32_t port =
			find_end(present->plan->topology,
				 json_array_get(json_object_get(link, "ends"), 0));

		if (port != PM_NONE && pm_request_is_held(link))
			present->held[present->num_held++].port = port;
	}
}

int present_use(const struct present *present, const uint8_t *there,
		struct pm_drains *drains, uint8_t *usable, struct pm_error *err)
{
	struct pm_exclusion *held = malloc((present->num_held + 1u) * sizeof(*held));
	uint32_t num = 0;
	int rc;

	if (!held)
		return pm_error_no_memory(err);
	for (uint32_t i = 0; i < present->num_held; i++)
		if (there[present->held[i].port])
			held[num++] = present->held[i];
	memcpy(usable, there, present->plan->topology->num_ports);
	rc = pm_exclude(present->plan, usable, held, num, err);
	if (!rc && drains)
		rc = pm_drains_apply(drains, present->plan, usable, err);
	free(held);
	return rc;
}

int present_use_by(void *context, const uint8_t *there, uint8_t *usable,
		   struct pm_error *err)
{
	const struct present_drains *by = context;

	return present_use(by->present, there, by->drains, usable, err);
}

/* ---- Files ---- */

bool present_is_known(const struct cli_port *port)
{
	char *plan = cli_text_make("%splan", port->folder);
	char *fabric = cli_text_make("%sfabric.net", port->folder);
	bool known = !access(plan, R_OK) && !access(fabric, R_OK);

	free(plan);
	free(fabric);
	return known;
}

static int read_plan(const char *folder, const char *name, struct pm_plan **plan)
{
	char *path = cli_text_make("%s%s", folder, name);
	struct pm_error err;
	int rc = pm_plan_file_read(path, plan, &err);

	free(path);
	return rc ? cli_refuse(&err) : EXIT_FINE;
}

/* Reads the plan, and the one in force if that is another one. */
static int read_plans(const char *folder, struct present *present)
{
	char *path = cli_text_make("%sdrifting", folder);
	bool drifts = !access(path, R_OK);
	int status = read_plan(folder, "plan", &present->plan);

	free(path);
	if (status || !drifts)
		return status;
	present->base = present->plan;
	present->plan = NULL;
	return read_plan(folder, "drifting", &present->plan);
}

static int read_fabric(const char *folder, struct pm_fabric **fabric)
{
	const struct cli_fabric config = {.plan = {.order = PM_GROUPED}};
	char *path = cli_text_make("%sfabric.net", folder);
	int status =
		access(path, R_OK) ? EXIT_FINE : cli_fabric_read(path, &config, fabric);

	free(path);
	return status;
}

/* Gives the plan the LIDs in use. */
static int keep_lids(struct present *present)
{
	struct pm_plan *kept = NULL;
	uint32_t differ;
	struct pm_error err;

	if (pm_plan_keep(present->plan, present->fabric, NULL, &kept, &differ, &err))
		return cli_refuse(&err);
	if (!kept)
		return EXIT_FINE;
	if (present->base)
		pm_plan_free(present->plan);
	else
		present->base = present->plan;
	present->plan = kept;
	return EXIT_FINE;
}

void present_of(struct pm_plan *plan, const struct pm_fabric *fabric,
		struct present *present)
{
	present->plan = plan;
	present->there = make_marks(plan->topology);
	if (fabric)
		pm_plan_note_links(plan, fabric);
	mark_there(present, fabric);
}

int present_read(const struct cli_port *port, struct present *present)
{
	int status = read_plans(port->folder, present);

	if (!status)
		status = read_fabric(port->folder, &present->fabric);
	if (!status && present->fabric)
		status = keep_lids(present);
	if (status)
		return status;
	present_of(present->plan, present->fabric, present);
	mark_missing(present, port->state);
	list_held(present, port->state);
	return EXIT_FINE;
}

void present_free(struct present *present)
{
	free(present->held);
	free(present->there);
	free(present->vacant);
	pm_plan_free(present->plan);
	pm_plan_free(present->base);
	pm_fabric_free(present->fabric);
	*present = (struct present){0};
}
