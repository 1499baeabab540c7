/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor diff: compares two sets of tables, or two topologies with their tables. */
#include "cable_output.h"
#include "commands.h"
#include "json.h"
#include "planned_tables.h"
#include "text.h"

#include <portmajor/analysis/lft_diff.h>
#include <portmajor/base/textfile.h>
#include <portmajor/netlist/netlist.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
	struct cli_fabric fabric;
	bool list, cables;
	struct cli_output output;
};

/* One of the two sides. */
struct side {
	const char *path;
	struct pm_fabric *fabric; /* NULL: only tables were given */
	struct pm_lfts *lfts;
};

/* Differences between topologies. */
struct topology_diff {
	uint32_t switches_gone, switches_new, end_nodes_gone, end_nodes_new;
	uint32_t links_gone, links_new;
};

struct result {
	bool topologies;
	struct topology_diff topology;
	json_t *cables; /* of topologies */
	struct pm_lft_diff tables;
	struct pm_lft_reassigned *reassigned;
	uint32_t num_reassigned;
};

/* ---- Reading ---- */

static int read_side(struct side *side, const struct request *request)
{
	const char *name = pm_textfile_name(side->path);
	struct pm_netlist_notes notes = {0};
	struct pm_error err;
	char *text = NULL;
	size_t length = 0;
	int rc = pm_textfile_read(side->path, &text, &length, &err);

	if (!rc && pm_lfts_recognise(text ? text : "", length))
		rc = pm_lfts_parse(text, length, name, &side->lfts, &err);
	else if (!rc)
		rc = pm_netlist_parse_noting(text, length, name, &side->fabric, &notes,
					     &err);
	free(text);
	if (rc)
		return cli_refuse(&err);
	cli_fabric_warn(&notes);
	return side->fabric ? cli_fabric_describe(side->fabric, &request->fabric)
			    : EXIT_FINE;
}

/* ---- Topologies ---- */

/* Counts cabled nodes, and cables, that `a` has and `b` lacks. */
static void count_gone(const struct pm_fabric *a, const struct pm_fabric *b,
		       uint32_t *switches, uint32_t *end_nodes, uint32_t *links)
{
	for (uint32_t i = 0; i < a->num_nodes; i++) {
		uint32_t there = pm_fabric_find_guid(b, a->nodes[i].guid);

		if (!pm_fabric_has_link(a, i) ||
		    (there != PM_NONE && pm_fabric_has_link(b, there)))
			continue;
		if (i < a->num_switches)
			(*switches)++;
		else
			(*end_nodes)++;
	}
	for (uint32_t i = 0; i < a->num_ports; i++) {
		uint32_t peer = a->ports[i].peer, x, y;

		if (peer == PM_NONE || peer < i)
			continue;
		x = pm_fabric_same_port(a, i, b);
		y = pm_fabric_same_port(a, peer, b);
		*links += x == PM_NONE || y == PM_NONE || b->ports[x].peer != y;
	}
}

/* Replaces a plan by one that keeps the fabric's LIDs. */
static int keep_lids(struct pm_plan **plan, const struct pm_fabric *fabric,
		     const struct pm_plan *before)
{
	struct pm_plan *kept = NULL;
	struct pm_error err;
	uint32_t differ;

	if (pm_plan_keep(*plan, fabric, before, &kept, &differ, &err))
		return cli_refuse(&err);
	if (kept) {
		pm_plan_free(*plan);
		*plan = kept;
	}
	return EXIT_FINE;
}

/* Makes a plan's tables for one side, as if read from a file. */
static int make_side(struct side *side, const struct request *request,
		     struct cli_tables *tables)
{
	struct pm_error err;
	int status = cli_tables_route(tables, &request->fabric, side->fabric, PM_NONE);

	if (!status && pm_lfts_of_plan(tables->plan, tables->routes, side->fabric,
				       &side->lfts, &err))
		status = cli_refuse(&err);
	return status;
}

/* Makes tables: for OLD by a plan for it, and for NEW by that plan, grown. */
static int plan_sides(struct side *before, struct side *after,
		      const struct request *request)
{
	struct cli_tables old = {0}, new = {0};
	struct pm_error err;
	int status = EXIT_FINE;

	if (pm_plan_make(before->fabric, &request->fabric.plan, &old.plan, &err))
		return cli_fail(EXIT_INPUT, "%s: %s", before->path, err.text);
	status = keep_lids(&old.plan, before->fabric, NULL);
	if (!status)
		status = make_side(before, request, &old);
	if (!status && pm_plan_grow(old.plan, after->fabric, &new.plan, &err))
		status = cli_fail(EXIT_INPUT, "%s: %s", after->path, err.text);
	if (!status && !new.plan) {
		new.plan = old.plan;
		old.plan = NULL;
		pm_routes_free(old.routes);
		old.routes = NULL;
	}
	if (!status)
		status = keep_lids(&new.plan, after->fabric, old.plan);
	if (!status)
		status = make_side(after, request, &new);
	cli_tables_free(&old);
	cli_tables_free(&new);
	return status;
}

/* ---- Describing ---- */

static bool differs(const struct result *r)
{
	const struct pm_lft_diff *t = &r->tables;
	const struct topology_diff *d = &r->topology;

	return t->switches_gone || t->switches_new || t->entries || t->lids_other_owner ||
	       t->lids_gone || t->lids_new || d->switches_gone || d->switches_new ||
	       d->end_nodes_gone || d->end_nodes_new || d->links_gone || d->links_new ||
	       cable_diff_any(r->cables);
}

/* The name of the node with a port GUID; "" if unknown. */
static const char *port_name(const struct pm_fabric *fabric, uint64_t guid)
{
	for (uint32_t i = 0; fabric && i < fabric->num_ports; i++) {
		uint32_t node = fabric->ports[i].node;

		if (fabric->ports[i].guid == guid &&
		    (node >= fabric->num_switches || !fabric->ports[i].num))
			return pm_fabric_name(fabric, node);
	}
	return "";
}

/* The name of the node of a port with another LID, by either side. */
static const char *reassigned_name(const struct side *before, const struct side *after,
				   uint64_t guid)
{
	const struct pm_lft_switch *sw = pm_lfts_find(after->lfts, guid);
	const char *name = port_name(after->fabric, guid);

	if (!*name)
		name = port_name(before->fabric, guid);
	return *name || !sw ? name : sw->name;
}

static void list_changes(const struct result *r, const struct side *before,
			 const struct side *after)
{
	for (uint32_t i = 0; i < r->num_reassigned; i++)
		cli_print_line("port 0x%016" PRIx64 " \"%s\": LID %u, before %u",
			       r->reassigned[i].guid,
			       reassigned_name(before, after, r->reassigned[i].guid),
			       r->reassigned[i].after, r->reassigned[i].before);
	for (uint32_t i = 0; i < after->lfts->num_switches; i++) {
		const struct pm_lft_switch *sw = &after->lfts->switches[i];
		const struct pm_lft_switch *old = pm_lfts_find(before->lfts, sw->guid);
		struct pm_lft_change change;

		if (!old) {
			cli_print_line("switch 0x%016" PRIx64 " \"%s\": new", sw->guid,
				       sw->name);
			continue;
		}
		change = pm_lft_compare(old, sw, r->topologies);
		if (change.entries)
			cli_print_line("switch 0x%016" PRIx64
				       " \"%s\": %u entr%s in %u block%s",
				       sw->guid, sw->name, change.entries,
				       change.entries == 1 ? "y" : "ies", change.blocks,
				       change.blocks == 1 ? "" : "s");
	}
	for (uint32_t i = 0; i < before->lfts->num_switches; i++) {
		const struct pm_lft_switch *sw = &before->lfts->switches[i];

		if (!pm_lfts_find(after->lfts, sw->guid))
			cli_print_line("switch 0x%016" PRIx64 " \"%s\": gone", sw->guid,
				       sw->name);
	}
}

static json_t *json_reassigned(const struct result *r, const struct side *before,
			       const struct side *after)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < r->num_reassigned; i++)
		json_array_append_new(
			list, json_pack("{s:o, s:o, s:i, s:i}", "guid",
					pm_json_guid(r->reassigned[i].guid), "name",
					pm_json_text(reassigned_name(
						before, after, r->reassigned[i].guid)),
					"before", r->reassigned[i].before, "after",
					r->reassigned[i].after));
	return list;
}

static json_t *json_switches(const struct result *r, const struct side *before,
			     const struct side *after)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < after->lfts->num_switches; i++) {
		const struct pm_lft_switch *sw = &after->lfts->switches[i];
		const struct pm_lft_switch *old = pm_lfts_find(before->lfts, sw->guid);
		struct pm_lft_change change = {0, 0};

		if (old)
			change = pm_lft_compare(old, sw, r->topologies);
		if (old && change.entries)
			json_array_append_new(
				list, json_pack("{s:o, s:o, s:I, s:I}", "guid",
						pm_json_guid(sw->guid), "name",
						pm_json_text(sw->name), "entries",
						(json_int_t)change.entries, "blocks",
						(json_int_t)change.blocks));
	}
	return list;
}

static json_t *json_topology(const struct result *r)
{
	const struct topology_diff *d = &r->topology;

	if (!r->topologies)
		return json_null();
	return json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I}", "switches_gone",
		(json_int_t)d->switches_gone, "switches_new", (json_int_t)d->switches_new,
		"end_nodes_gone", (json_int_t)d->end_nodes_gone, "end_nodes_new",
		(json_int_t)d->end_nodes_new, "links_gone", (json_int_t)d->links_gone,
		"links_new", (json_int_t)d->links_new);
}

static void describe_tables(const struct result *r, const struct side *before,
			    const struct side *after, json_t *object)
{
	const struct pm_lft_diff *t = &r->tables;

	json_object_set_new(object, "topology", json_topology(r));
	json_object_set_new(object, "tables",
			    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "switches_gone",
				      (json_int_t)t->switches_gone, "switches_new",
				      (json_int_t)t->switches_new, "switches",
				      (json_int_t)t->switches, "entries",
				      (json_int_t)t->entries, "blocks",
				      (json_int_t)t->blocks, "least",
				      (json_int_t)t->least));
	json_object_set_new(object, "lids",
			    json_pack("{s:I, s:I, s:I}", "other_owner",
				      (json_int_t)t->lids_other_owner, "gone",
				      (json_int_t)t->lids_gone, "new",
				      (json_int_t)t->lids_new));
	json_object_set_new(object, "mads",
			    json_pack("{s:I, s:I}", "all",
				      (json_int_t)(t->blocks + t->whole), "new_switches",
				      (json_int_t)t->whole));
	json_object_set_new(object, "left_out",
			    json_pack("{s:i, s:i}", "before",
				      pm_lfts_left_out(before->lfts), "after",
				      pm_lfts_left_out(after->lfts)));
	json_object_set_new(object, "ports", json_reassigned(r, before, after));
	json_object_set_new(object, "switches", json_switches(r, before, after));
}

/* Describes all differences as a JSON object. */
static json_t *describe_diff(const struct result *r, const struct side *before,
			     const struct side *after, const struct request *request)
{
	json_t *object = cli_json_new("diff", 1);

	json_object_set_new(object, "cables",
			    r->cables ? json_incref(r->cables) : json_null());
	if (!request->cables)
		describe_tables(r, before, after, object);
	return object;
}

static void print_tables(const json_t *object)
{
	if (json_is_object(json_object_get(object, "topology")))
		cli_text_print(
			json_object_get(object, "topology"),
			"topology: switches gone {switches_gone}, new {switches_new}; end "
			""
			""
			"nodes gone {end_nodes_gone}, new {end_nodes_new}; links gone "
			"{links_gone}, new {links_new}\n");
	cli_text_print(
		object,
		"LIDs: {lids.other_owner} with another owner, gone {lids.gone}, "
		"new {lids.new}; ports with another LID, gone or new: {#ports}\n"
		"tables: switches gone {tables.switches_gone}, new "
		"{tables.switches_new}; "
		"{tables.switches|switch differs|switches differ} in "
		"{tables.entries|entry|entries}, {tables.blocks|block|blocks} (least "
		"{tables.least})\n"
		"MADs: {mads.all|LFT Set|LFT Sets}, of these {mads.new_switches} for new switches\n");
}

static void print_left_out(const struct side *side)
{
	uint16_t lid = pm_lfts_left_out(side->lfts);

	if (lid)
		cli_print_line(
			"LID %u is not compared: dump_fts left it out of %s, as it does "
			"with the last LID of a fabric where that is a multiple of 64",
			lid, pm_textfile_name(side->path));
}

static int write_diff(const struct result *r, const struct side *before,
		      const struct side *after, const struct request *request)
{
	json_t *object = describe_diff(r, before, after, request);

	if (request->output.json)
		return cli_json_print(object);
	if (r->cables)
		cable_diff_print(r->cables, request->list);
	if (request->list && !request->cables)
		list_changes(r, before, after);
	if (!request->cables) {
		print_left_out(before);
		print_left_out(after);
		print_tables(object);
	}
	json_decref(object);
	return EXIT_FINE;
}

/* ---- The command ---- */

static int compare_sides(struct side *before, struct side *after,
			 const struct request *request, struct result *r)
{
	struct pm_error err;
	int status = read_side(before, request);

	if (!status)
		status = read_side(after, request);
	if (status)
		return status;
	if (!before->fabric != !after->fabric)
		return cli_fail(EXIT_USAGE,
				"%s and %s: one is a topology, the other has tables",
				before->path, after->path);
	r->topologies = before->fabric != NULL;
	if (r->topologies)
		r->cables = cable_diff_describe(before->fabric, after->fabric);
	if (request->cables)
		return r->cables ? EXIT_FINE
				 : cli_fail(EXIT_USAGE, "--cables needs topologies");
	if (r->topologies) {
		struct topology_diff *d = &r->topology;

		count_gone(before->fabric, after->fabric, &d->switches_gone,
			   &d->end_nodes_gone, &d->links_gone);
		count_gone(after->fabric, before->fabric, &d->switches_new,
			   &d->end_nodes_new, &d->links_new);
		status = plan_sides(before, after, request);
	}
	if (status)
		return status;
	r->tables = pm_lfts_compare(before->lfts, after->lfts, r->topologies);
	if (pm_lfts_find_reassigned(before->lfts, after->lfts, &r->reassigned,
				    &r->num_reassigned, &err))
		return cli_refuse(&err);
	return EXIT_FINE;
}

static const struct cli_option options[] = {
	{'l', "list", NULL,
	 "List every cable that differs, every port with another LID, and every "
	 "switch with another table.",
	 CLI_MEMBER(struct request, list)},
	{0, "cables", NULL,
	 "Compare only the cables of topologies, and compute no tables. The "
	 "topologies need not be trees.",
	 CLI_MEMBER(struct request, cables)},
	CLI_OUTPUT(struct request, output,
		   "Print nothing: only the exit status has the result.",
		   "Print one JSON object (docs/json.md)."),
	CLI_INCLUDE(struct request, fabric, cli_fabric_options),
	{0},
};

static const struct cli_command command = {
	.synopsis = "diff [OPTION]... OLD NEW",
	.about = "Compare two sets of tables, or two topologies. Print how many LIDs, "
		 "entries and LFT blocks differ, and how many MADs lead from OLD to NEW; "
		 "for topologies, with the plan's tables, also the missing, additional "
		 "and swapped cables. One of the two may be - for standard input. Exit "
		 "status 1 if anything differs.",
	.options = options,
	.min_operands = 2,
	.max_operands = 2,
};

int cmd_diff(int argc, char **argv)
{
	struct request request = {0};
	struct side before = {0}, after = {0};
	struct result result = {0};
	int status = cli_command_read(&command, argc, argv, &request);

	if (status >= 0)
		return status;
	before.path = argv[optind];
	after.path = argv[optind + 1];
	if (!strcmp(before.path, "-") && !strcmp(after.path, "-"))
		return cli_fail(EXIT_USAGE, "only one operand can be standard input");
	status = compare_sides(&before, &after, &request, &result);
	if (!status && (request.output.json || !request.output.quiet))
		status = write_diff(&result, &before, &after, &request);
	if (!status && differs(&result))
		status = EXIT_FINDINGS;
	json_decref(result.cables);
	free(result.reassigned);
	pm_lfts_free(before.lfts);
	pm_lfts_free(after.lfts);
	pm_fabric_free(before.fabric);
	pm_fabric_free(after.fabric);
	return status;
}
