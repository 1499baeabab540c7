/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The plan as JSON: `portmajor plan --json`. */
#include "json.h"
#include "failure_options.h"
#include "output.h"
#include "plan_command.h"
#include "text.h"

#include <portmajor/analysis/change_text.h>
#include <portmajor/base/print.h>
#include <portmajor/fabric/link.h>
#include <portmajor/memory/xalloc.h>
#include <portmajor/plan/guess.h>

#include <stdlib.h>

#define NAMED 8 /* links in a note */

/* The number of places of a plane; PM_NONE: places without a plane. */
struct plane_count {
	uint32_t slots, switches;
};

static struct plane_count count_places(const struct pm_plan *plan, uint32_t plane)
{
	struct plane_count count = {0, 0};

	for (uint32_t lid = 0; lid <= plan->top_lid; lid++) {
		uint32_t place = plan->owner[lid];

		if (place == PM_NONE || plan->plane[place] != plane ||
		    plan->lid[place] != lid)
			continue;
		if (plan->topology->ports[place].num)
			count.slots++;
		else
			count.switches++;
	}
	return count;
}

static json_t *list_runs(const struct pm_plan *plan, uint32_t plane)
{
	json_t *list = json_array();

	for (uint32_t r = 0; r < plan->num_runs; r++) {
		const struct pm_run *run = &plan->runs[r];

		if (run->plane == plane)
			json_array_append_new(
				list, json_pack("{s:i, s:i}", "first",
						run->start ? run->start : 1, "last",
						run->start + run->length - 1));
	}
	return list;
}

static json_t *name_plane(const struct pm_plan *plan, uint32_t p)
{
	if (p == PM_NONE)
		return json_pack("{s:n, s:n, s:n, s:n}", "plane", "name", "guid", "link");
	return cli_json_join(
		json_pack("{s:I}", "plane", (json_int_t)p),
		cli_json_join(cli_node_json(plan->topology, cli_tables_plane(plan, p)),
			      json_pack("{s:I}", "link",
					(json_int_t)plan->tree.planes[p].link)));
}

static json_t *list_planes(const struct pm_plan *plan)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i <= plan->tree.num_planes; i++) {
		bool none = i == plan->tree.num_planes;
		uint32_t p = none ? PM_NONE : i;
		struct plane_count count = count_places(plan, p);

		if (none && !count.slots && !count.switches)
			continue;
		json_array_append_new(
			list, cli_json_join(name_plane(plan, p),
					    json_pack("{s:I, s:I, s:o}", "slots",
						      (json_int_t)count.slots, "switches",
						      (json_int_t)count.switches, "lids",
						      list_runs(plan, p))));
	}
	return list;
}

/* Describes a LID and its place, with the present node there. */
static json_t *describe_lid(const struct pm_plan *plan, const struct pm_fabric *fabric,
			    uint32_t lid)
{
	uint32_t place = plan->owner[lid];
	const struct pm_port *port = &plan->topology->ports[place];
	uint32_t plane = plan->plane[place];
	uint32_t here = pm_fabric_same_port(plan->topology, place, fabric);
	uint64_t guid = plan->topology->nodes[port->node].guid;
	bool empty = false;

	if (plane != PM_NONE)
		plane = pm_plan_plane(plan, place, lid - plan->lid[place]);
	if (port->num) {
		uint32_t peer = here == PM_NONE ? PM_NONE : fabric->ports[here].peer;

		empty = peer == PM_NONE;
		guid = empty ? 0 : fabric->ports[peer].guid;
	}
	return json_pack("{s:i, s:i, s:o, s:o, s:o, s:i, s:o}", "lid", (int)lid, "block",
			 (int)(lid / PM_LFT_BLOCK), "plane",
			 plane == PM_NONE ? json_null() : json_integer(plane), "switch",
			 pm_json_text(pm_fabric_name(plan->topology, port->node)),
			 "switch_guid",
			 pm_json_guid(plan->topology->nodes[port->node].guid), "port",
			 port->num, "guid", empty ? json_null() : pm_json_guid(guid));
}

static json_t *list_planned_lids(const struct pm_plan *plan,
				 const struct pm_fabric *fabric)
{
	json_t *list = json_array();

	for (uint32_t lid = 0; lid <= plan->top_lid; lid++)
		if (plan->owner[lid] != PM_NONE)
			json_array_append_new(list, describe_lid(plan, fabric, lid));
	return list;
}

struct degraded_links {
	const struct pm_plan *plan;
	struct pm_degraded_link *list;
	uint32_t count;
};

static int print_degraded(FILE *out, const void *arg)
{
	const struct degraded_links *degraded = arg;
	const struct pm_fabric *topology = degraded->plan->topology;
	char link[PM_LINK_TEXT], usual[PM_LINK_TEXT];

	fprintf(out, "links below their neighbours': %u (", degraded->count);
	for (uint32_t i = 0; i < degraded->count && i < NAMED; i++) {
		const struct pm_port *a = &topology->ports[degraded->list[i].port];
		const struct pm_port *b = &topology->ports[a->peer];

		fprintf(out, "%s%s[%u]-%s[%u] %s, neighbours %s", i ? "; " : "",
			pm_fabric_label(topology, a->node), a->num,
			pm_fabric_label(topology, b->node), b->num,
			pm_link_print(degraded->list[i].link, link),
			pm_link_print(degraded->list[i].usual, usual));
	}
	fputs(degraded->count > NAMED ? "; ..)" : ")", out);
	return 0;
}

/* Adds a note on links of the present fabric that are slower than their neighbours. */
static void note_degraded_links(const struct pm_plan *plan,
				const struct pm_fabric *fabric, json_t *notes)
{
	const struct pm_fabric *topology = plan->topology;
	struct degraded_links degraded = {.plan = plan};
	uint8_t *link;
	char *text = NULL;
	size_t length;

	if (!pm_link_common_rate(fabric))
		return; /* all links are alike */
	link = calloc(topology->num_ports + 1u, 1);
	for (uint32_t i = 0; link && i < topology->num_ports; i++) {
		uint32_t here = pm_fabric_same_port(topology, i, fabric);

		link[i] = here == PM_NONE ? 0 : fabric->ports[here].link;
	}
	if (!link || pm_degraded_links_find(topology, &plan->tree, link, &degraded.list,
					    &degraded.count, NULL))
		pm_no_memory();
	if (degraded.count && pm_text_print(print_degraded, &degraded, &text, &length))
		pm_no_memory();
	if (text)
		json_array_append_new(notes, pm_json_text(text));
	free(text);
	free(degraded.list);
	free(link);
}

static void add_note(json_t *notes, const char *lead, const char *text)
{
	char *note = cli_text_make("%s%s", lead, text);

	json_array_append_new(notes, pm_json_text(note));
	free(note);
}

void plan_note_paths(const struct cli_tables *tables, const struct pm_fabric *fabric,
		     const char *lead, json_t *notes)
{
	char text[PM_CHANGE_TEXT];

	if (pm_change_unreachable(tables->plan, &tables->unreachable, text, sizeof(text)))
		add_note(notes, lead, text);
	if (pm_apart_describe(fabric, &tables->apart, text, sizeof(text)))
		add_note(notes, lead, text);
}

static json_t *list_notes(const struct cli_tables *tables, const struct pm_fabric *fabric)
{
	json_t *list = json_array();
	char text[PM_CHANGE_TEXT];

	if (pm_guess_describe(tables->plan, fabric, text, sizeof(text)))
		json_array_append_new(list, pm_json_text(text));
	if (pm_change_oddities(tables->plan, text, sizeof(text)))
		json_array_append_new(list, pm_json_text(text));
	plan_note_paths(tables, fabric, "", list);
	note_degraded_links(tables->plan, fabric, list);
	return list;
}

static json_t *plan_numbers_json(const struct pm_plan *plan)
{
	const struct pm_tree *tree = &plan->tree;
	uint64_t blocks = pm_plan_blocks(plan);

	return pm_json_object((const struct pm_json_member[]){
		{"switches", json_integer(tree->num_switches)},
		{"leaves", json_integer(tree->num_leaves)},
		{"top_level", json_integer(tree->top_level)},
		{"pods", json_integer(tree->num_pods)},
		{"planes", json_integer(tree->num_planes)},
		{"lid_order", json_string(pm_lid_order_name(plan->order))},
		{"lmc", json_integer(plan->lmc)},
		{"top_lid", json_integer(plan->top_lid)},
		{"blocks", json_integer((json_int_t)blocks)},
		{"full_load", json_integer((json_int_t)(blocks * tree->num_switches))},
		{0},
	});
}

json_t *plan_json(const struct cli_tables *tables, const struct pm_fabric *fabric,
		  bool lids)
{
	const struct pm_plan *plan = tables->plan;
	json_t *object = cli_json_new("plan", 1);

	json_object_update_new(object, plan_numbers_json(plan));
	json_object_set_new(object, "notes", list_notes(tables, fabric));
	json_object_set_new(object, "plane_list", list_planes(plan));
	if (lids)
		json_object_set_new(object, "lids", list_planned_lids(plan, fabric));
	return object;
}
