/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor check: tables as switches hold them, walked over a topology. */
#include "cli.h"
#include "json.h"
#include "tables.h"

#include <portmajor/check.h>
#include <portmajor/delta.h>
#include <portmajor/planfile.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
	struct cli_fabric fabric;
	const char *topology, *tables;
	const char *manager, *plan_path;
	double balance; /* 0: any */
	bool conform;
	struct cli_output output;
};

#define FINDING_TEXT 700

struct finding {
	const char *kind;
	uint64_t count;
	char text[FINDING_TEXT];
};

#define MAX_FINDINGS 32

/* All that is known of what is being judged. */
struct judged {
	struct pm_fabric *fabric;
	struct pm_lfts *lfts;
	struct pm_tree tree;
	struct pm_check check;
	const uint8_t **table; /* [switch] */
	uint16_t *top;
	uint8_t *in_use; /* [0..2^16) whether some port has the LID */
	struct pm_lft_lids lids;
	uint32_t ports_with_lid, end_ports, tables;
	uint8_t *has_entry;			 /* [0..2^16) in some table */
	uint32_t of_nobody, first_of_nobody, at; /* LIDs of these that nobody has, the
						  * first, and a switch with it */
	struct pm_check_paths paths;
	struct pm_check_credits credits;
	struct pm_check_loads loads;
	/* Against the plan; `planned` if there is one. */
	bool planned;
	char unplanned[PM_ERROR_TEXT]; /* why not */
	uint32_t lids_differ;
	struct pm_delta delta;
	struct finding findings[MAX_FINDINGS];
	uint32_t num_findings;
};

static void __attribute__((format(printf, 4, 5)))
add_finding(struct judged *j, const char *kind, uint64_t count, const char *format, ...)
{
	struct finding *finding = &j->findings[j->num_findings];
	va_list args;

	if (!count || j->num_findings == MAX_FINDINGS)
		return;
	j->num_findings++;
	finding->kind = kind;
	finding->count = count;
	va_start(args, format);
	vsnprintf(finding->text, FINDING_TEXT, format, args);
	va_end(args);
}

/* ---- Reading ---- */

/* Whether a port ought to have a LID. */
static bool wants_lid(const struct pm_fabric *fabric, const struct pm_port *p)
{
	if (p->node < fabric->num_switches)
		return !p->num && pm_fabric_has_cable(fabric, p->node);
	return p->peer != PM_NONE;
}

/* Tables that belong to no switch, and switches without a table. */
static int match_tables(struct judged *j, const struct request *request)
{
	const struct pm_lft_switch *first_unknown = NULL;
	const char *first_missing = "";
	uint32_t unknown = 0, missing = 0;

	for (uint32_t i = 0; i < j->lfts->num_switches; i++) {
		const struct pm_lft_switch *table = &j->lfts->switches[i];
		uint32_t sw = pm_fabric_find_guid(j->fabric, table->guid);

		if (sw < j->fabric->num_switches) {
			j->table[sw] = table->table;
			j->top[sw] = table->top;
			j->tables++;
		} else if (!unknown++) {
			first_unknown = table;
		}
	}
	if (!j->tables)
		return cli_fail(EXIT_INPUT,
				"%s:%" PRIu32 ": tables of another fabric: no switch of "
				"%s has any of them",
				request->tables, first_unknown->line, request->topology);
	for (uint32_t sw = 0; sw < j->fabric->num_switches; sw++)
		if (!j->table[sw] && pm_fabric_has_cable(j->fabric, sw) && !missing++)
			first_missing = pm_fabric_name(j->fabric, sw);
	if (first_unknown)
		add_finding(j, "unknown-switch", unknown,
			    "%u tables are of switches that the topology does not have: "
			    "0x%016" PRIx64 " (\"%s\") on line %u of %s",
			    unknown, first_unknown->guid, first_unknown->name,
			    first_unknown->line, request->tables);
	add_finding(j, "no-table", missing, "%u switches have no table: \"%s\"", missing,
		    first_missing);
	return EXIT_FINE;
}

static int compare_lids(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* LIDs that two ports have, and ports that have none. */
static int count_lids(struct judged *j)
{
	const struct pm_fabric *fabric = j->fabric;
	uint32_t *lids = calloc((size_t)fabric->num_ports + 1, sizeof(*lids));
	uint32_t twice = 0, first = 0, without = 0, first_without = 0;

	if (!lids)
		return cli_fail(EXIT_INPUT, "out of memory");
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		const struct pm_port *p = &fabric->ports[i];

		j->end_ports += p->node >= fabric->num_switches && p->peer != PM_NONE;
		if (!p->lid && wants_lid(fabric, p) && !without++)
			first_without = i;
		if (!p->lid)
			continue;
		lids[j->ports_with_lid++] = p->lid;
		for (uint32_t k = 0; k < 1u << p->lmc; k++)
			j->in_use[(p->lid + k) & UINT16_MAX] = 1;
	}
	qsort(lids, j->ports_with_lid, sizeof(*lids), compare_lids);
	for (uint32_t i = 1; i < j->ports_with_lid; i++)
		if (lids[i] == lids[i - 1] && !twice++)
			first = lids[i];
	free(lids);
	if (without && j->ports_with_lid)
		add_finding(j, "no-lid", without,
			    "%u ports with a cable have no LID: \"%s\"[%u]", without,
			    pm_fabric_name(fabric, fabric->ports[first_without].node),
			    fabric->ports[first_without].num);
	add_finding(j, "duplicate-lid", twice, "%u ports have the LID of another one: %u",
		    twice, first);
	return EXIT_FINE;
}

static int take_lids(struct judged *j, const struct request *request)
{
	const struct pm_lft_lids *lids = &j->lids;
	struct pm_error err;
	int status;

	if (pm_lfts_give_lids(j->lfts, j->fabric, &j->lids, &err))
		return cli_fail(EXIT_INPUT, "%s", err.text);
	status = count_lids(j);
	if (status)
		return status;
	if (!j->ports_with_lid)
		return cli_fail(EXIT_INPUT,
				"no LIDs: neither %s nor %s says who has which (dump_fts "
				"without -n does, and ibnetdiscover)",
				request->topology, request->tables);
	if (lids->first_differ != PM_NONE)
		add_finding(j, "other-lid", lids->differ,
			    "%u ports have another LID in the tables' file than in the "
			    "topology: \"%s\" (%u)",
			    lids->differ,
			    pm_fabric_name(j->fabric,
					   j->fabric->ports[lids->first_differ].node),
			    j->fabric->ports[lids->first_differ].lid);
	add_finding(j, "unknown-port", lids->unknown,
		    "%u ports in the tables' file are not in the topology: 0x%016" PRIx64
		    " with LID %u, on line %u of %s",
		    lids->unknown, j->lfts->owner[lids->first_unknown].guid,
		    lids->first_unknown, j->lfts->owner[lids->first_unknown].line,
		    request->tables);
	return EXIT_FINE;
}

/* LIDs that switches have entries for and nobody has: of empty places, or strange ones.
 */
static int count_of_nobody(struct judged *j, const struct request *request)
{
	uint32_t of_somebody = 0;

	for (uint32_t sw = 0; sw < j->fabric->num_switches; sw++)
		for (uint32_t lid = 1; j->table[sw] && lid <= j->top[sw]; lid++) {
			if (j->table[sw][lid] == PM_LFT_KEEP || j->has_entry[lid])
				continue;
			j->has_entry[lid] = 1;
			of_somebody += j->in_use[lid];
			if (j->in_use[lid] || j->of_nobody++)
				continue;
			j->first_of_nobody = lid;
			j->at = sw;
		}
	if (!of_somebody)
		return cli_fail(EXIT_INPUT,
				"%s: tables of another fabric: nobody in %s has any of "
				"their LIDs",
				request->tables, request->topology);
	return EXIT_FINE;
}

/* Entries that name a port that their switch does not have. */
static void find_bad_ports(struct judged *j)
{
	uint64_t count = 0;
	uint32_t first = PM_NONE, first_lid = 0;

	for (uint32_t sw = 0; sw < j->fabric->num_switches; sw++)
		for (uint32_t lid = 0; j->table[sw] && lid <= j->top[sw]; lid++) {
			uint8_t port = j->table[sw][lid];

			if (port == PM_LFT_KEEP || port <= j->fabric->nodes[sw].num_ports)
				continue;
			if (!count++) {
				first = sw;
				first_lid = lid;
			}
		}
	if (count)
		add_finding(j, "no-such-port", count,
			    "%" PRIu64 " entries name a port that the switch does not "
			    "have: port %u for LID %u on \"%s\"",
			    count, j->table[first][first_lid], first_lid,
			    pm_fabric_name(j->fabric, first));
}

static int read_input(struct judged *j, const struct request *request)
{
	struct pm_fabric *skeleton;
	struct pm_error err = {"out of memory"};
	int status = cli_fabric_read(request->topology, &request->fabric, &j->fabric);

	if (status)
		return status;
	if (pm_lfts_read(request->tables, &j->lfts, &err))
		return cli_fail(EXIT_INPUT, "%s", err.text);
	skeleton = pm_fabric_skeleton(j->fabric);
	if (!skeleton || pm_tree_make(skeleton, &j->tree, &err))
		status = cli_fail(EXIT_INPUT, "%s", err.text);
	pm_fabric_free(skeleton);
	j->table = calloc((size_t)j->fabric->num_switches + 1, sizeof(*j->table));
	j->top = calloc((size_t)j->fabric->num_switches + 1, sizeof(*j->top));
	j->in_use = calloc(UINT16_MAX + 1, 1);
	j->has_entry = calloc(UINT16_MAX + 1, 1);
	if (!status && (!j->table || !j->top || !j->in_use || !j->has_entry))
		status = cli_fail(EXIT_INPUT, "out of memory");
	if (!status)
		status = match_tables(j, request);
	if (!status)
		status = take_lids(j, request);
	if (!status)
		status = count_of_nobody(j, request);
	if (!status)
		find_bad_ports(j);
	return status;
}

/* ---- Judging ---- */

static void judge_paths(struct judged *j)
{
	const struct pm_check_paths *p = &j->paths;
	const struct {
		const char *kind, *text;
		uint64_t count;
	} rows[PM_FAULTS] = {
		[PM_FAULT_LOST] = {"lost", "paths end nowhere though there is a way",
				   p->lost},
		[PM_FAULT_LOOP] = {"loop", "paths go round for ever", p->loops},
		[PM_FAULT_TURN] = {"turn", "paths turn up after going down", p->turns},
		[PM_FAULT_ASTRAY] = {"astray", "paths end at another port", p->astray},
		[PM_FAULT_APART] =
			{"apart",
			 "paths to end ports do not arrive, for which there is "
			 "no way up and then down",
			 p->apart},
		[PM_FAULT_DEAF] = {"manager", "paths to the subnet manager do not arrive",
				   p->deaf},
	};

	for (int i = 0; i < PM_FAULTS; i++)
		add_finding(j, rows[i].kind, rows[i].count, "%" PRIu64 " %s (%s)",
			    rows[i].count, rows[i].text, p->example[i].text);
}

/* "leaf0"[7] and so on, as far as there is room. */
static void print_circle(const struct judged *j, char *text, size_t room)
{
	const struct pm_check_credits *c = &j->credits;
	size_t used = 0;

	*text = '\0';
	for (uint32_t i = 0; i < c->length && i < PM_CHECK_CIRCLE && used < room; i++) {
		const struct pm_port *p = &j->fabric->ports[c->circle[i]];
		int length =
			snprintf(text + used, room - used, "%s\"%s\"[%u]", i ? ", " : "",
				 pm_fabric_name(j->fabric, p->node), p->num);

		used += (size_t)length;
	}
}

static double over_mean(const struct pm_check_load *load)
{
	return load->flows
		       ? (double)load->most * (double)load->links / (double)load->flows
		       : 1.0;
}

static void judge_load(struct judged *j, const struct pm_check_load *load,
		       const char *way, unsigned int level, double limit)
{
	if (load->links && limit > 0 && over_mean(load) > limit)
		add_finding(j, "balance", 1,
			    "a cable %s between levels %u and %u carries %.2f times the "
			    "mean, more than %.2f",
			    way, level, level + 1, over_mean(load), limit);
}

/*
 * One switch's table against the planned one, for LIDs that somebody has: what is
 * planned for empty places need not be in a file. held and wanted are room for tables.
 */
static void compare_table(struct judged *j, uint32_t sw, const uint8_t *planned,
			  uint32_t stride, uint8_t *held)
{
	uint8_t *wanted = held + stride;

	memset(held, PM_LFT_KEEP, stride);
	memcpy(held, j->table[sw], j->top[sw] < stride ? j->top[sw] + 1u : stride);
	for (uint32_t lid = 0; lid < stride; lid++)
		wanted[lid] = j->in_use[lid] ? planned[lid] : PM_LFT_KEEP;
	pm_delta_add(&j->delta, held, wanted, stride);
}

/* LIDs that switches have entries for, and that nobody has or is planned to have. */
static void find_unknown_lids(struct judged *j, const struct pm_plan *plan)
{
	uint32_t count = 0, first = 0;

	for (uint32_t lid = 1; lid <= PM_MAX_LID; lid++) {
		if (!j->has_entry[lid] || j->in_use[lid] ||
		    (lid <= plan->top_lid && plan->owner[lid] != PM_NONE))
			continue;
		if (!count++)
			first = lid;
	}
	add_finding(
		j, "unknown-lid", count,
		"%u LIDs have entries and no place, neither in the topology nor in the "
		"plan: %u",
		count, first);
}

static int compare_tables(struct judged *j, const struct cli_tables *tables)
{
	uint32_t stride = pm_routes_stride(tables->routes);
	uint8_t *held = malloc(2 * (size_t)stride);

	if (!held)
		return cli_fail(EXIT_INPUT, "out of memory");
	for (uint32_t sw = 0; sw < j->fabric->num_switches; sw++) {
		uint32_t known = pm_fabric_find_guid(tables->plan->known,
						     j->fabric->nodes[sw].guid);

		if (j->table[sw] && known != PM_NONE)
			compare_table(j, sw, pm_routes_table(tables->routes, known),
				      stride, held);
	}
	free(held);
	j->planned = true;
	return EXIT_FINE;
}

/* The fabric's LIDs and tables against a plan's; frees the plan. */
static int compare_plan(struct judged *j, const struct request *request,
			struct pm_plan *plan)
{
	struct cli_tables tables = {.plan = plan};
	struct pm_plan *kept = NULL;
	struct pm_error err;
	int status = EXIT_FINE;

	/* The tables that the LIDs in use allow: otherwise every entry of a LID out of
	 * plan would be told as well. */
	if (pm_plan_keep(plan, j->fabric, NULL, &kept, &j->lids_differ, &err)) {
		snprintf(j->unplanned, sizeof(j->unplanned), "%s", err.text);
		cli_tables_free(&tables);
		return EXIT_FINE;
	}
	if (kept) {
		pm_plan_free(plan);
		tables.plan = kept;
	}
	status = cli_tables_route(&tables, &request->fabric, j->fabric, j->check.manager);
	if (!status && request->plan_path)
		find_unknown_lids(j, tables.plan);
	if (!status)
		status = compare_tables(j, &tables);
	cli_tables_free(&tables);
	return status;
}

/* LMC as the fabric has it, unless the options say. */
static uint8_t used_lmc(const struct pm_fabric *fabric)
{
	uint8_t lmc = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].node >= fabric->num_switches &&
		    fabric->ports[i].lmc > lmc)
			lmc = fabric->ports[i].lmc;
	return lmc < PM_MAX_LMC ? lmc : PM_MAX_LMC;
}

static int judge_plan(struct judged *j, const struct request *request)
{
	struct pm_plan_config config = request->fabric.plan;
	struct pm_plan *plan = NULL;
	struct pm_error err;
	int status;

	if (!request->fabric.lmc_given)
		config.lmc = used_lmc(j->fabric);
	if (request->plan_path) {
		if (pm_planfile_read(request->plan_path, &plan, &err))
			return cli_fail(EXIT_INPUT, "%s", err.text);
		if (!pm_plan_fits(plan, j->fabric)) {
			pm_plan_free(plan);
			return cli_fail(EXIT_INPUT, "%s is a plan of another fabric",
					request->plan_path);
		}
	} else if (pm_plan_make(j->fabric, &config, &plan, &err)) {
		snprintf(j->unplanned, sizeof(j->unplanned), "%s", err.text);
		add_finding(j, "no-plan", request->conform, "no plan: %s", err.text);
		return EXIT_FINE;
	}
	status = compare_plan(j, request, plan);
	if (status || !(request->conform || request->plan_path))
		return status;
	add_finding(j, "no-plan", !j->planned, "no plan: %s", j->unplanned);
	add_finding(j, "lid-out-of-plan", j->lids_differ, "%u ports have no planned LID",
		    j->lids_differ);
	add_finding(j, "entry-out-of-plan", j->delta.entries,
		    "%" PRIu64 " entries are not as planned for these LIDs, in %" PRIu64
		    " blocks of %" PRIu64 " switches",
		    j->delta.entries, j->delta.blocks, j->delta.switches);
	return status;
}

static int judge(struct judged *j, const struct request *request)
{
	char circle[FINDING_TEXT / 2];
	struct pm_error err;
	int status;

	j->check = (struct pm_check){.fabric = j->fabric,
				     .level = j->tree.level,
				     .table = j->table,
				     .top = j->top};
	status = cli_tables_manager(j->fabric, request->manager, &j->check.manager);
	if (status)
		return status;
	if (pm_check_paths(&j->check, false, &j->paths, &err) ||
	    pm_check_credits(&j->check, &j->credits, &err) ||
	    pm_check_loads(&j->check, &j->loads, &err))
		return cli_fail(EXIT_INPUT, "%s", err.text);
	judge_paths(j);
	print_circle(j, circle, sizeof(circle));
	add_finding(j, "credit-loop", j->credits.length,
		    "a credit loop over %u cables: %s%s", j->credits.length, circle,
		    j->credits.length > PM_CHECK_CIRCLE ? ", .." : "");
	for (unsigned int level = 0; level < PM_CHECK_LEVELS; level++) {
		judge_load(j, &j->loads.up[level], "up", level, request->balance);
		judge_load(j, &j->loads.down[level], "down", level, request->balance);
	}
	return judge_plan(j, request);
}

/* ---- Telling ---- */

static void print_load(const char *way, unsigned int level,
		       const struct pm_check_load *load)
{
	if (load->links)
		printf("load %s between levels %u and %u: %" PRIu64
		       " cables, mean %.2f, least %" PRIu64 ", most %" PRIu64
		       " (%.2f times the mean)\n",
		       way, level, level + 1, load->links,
		       (double)load->flows / (double)load->links, load->least, load->most,
		       over_mean(load));
}

static void print_text(const struct judged *j, const struct request *request)
{
	const struct pm_check_paths *p = &j->paths;

	for (uint32_t i = 0; i < j->num_findings; i++)
		printf("finding: %s\n", j->findings[i].text);
	if (request->output.quiet)
		return;
	printf("%u switches, %u with a table, %u end ports, %u ports with a LID\n",
	       j->fabric->num_switches, j->tables, j->end_ports, j->ports_with_lid);
	if (j->of_nobody)
		printf("%u more LIDs have entries: LID %u on \"%s\", for one\n",
		       j->of_nobody, j->first_of_nobody,
		       pm_fabric_name(j->fabric, j->at));
	printf("paths from switches with end ports: %" PRIu64 " of %" PRIu64
	       " delivered, %" PRIu64 " without an up-then-down path\n",
	       p->delivered, p->pairs, p->cut);
	printf("credit loops: %s (%" PRIu64 " channels, %" PRIu64 " dependencies)\n",
	       j->credits.length ? "found" : "none", j->credits.channels,
	       j->credits.dependencies);
	for (unsigned int level = 0; level < PM_CHECK_LEVELS; level++) {
		print_load("up", level, &j->loads.up[level]);
		print_load("down", level, &j->loads.down[level]);
	}
	if (j->planned)
		printf("plan: %u of %u LIDs out of plan; with these LIDs %" PRIu64
		       " entries differ, %" PRIu64 " LFT blocks of %" PRIu64
		       " switches\n",
		       j->lids_differ, j->ports_with_lid, j->delta.entries,
		       j->delta.blocks, j->delta.switches);
	else
		printf("plan: none (%s)\n", j->unplanned);
	printf("%s\n", j->num_findings ? "not in order" : "in order");
}

static json_t *json_all_loads(const struct judged *j)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < 2 * PM_CHECK_LEVELS; i++) {
		const struct pm_check_load *load =
			i % 2 ? &j->loads.down[i / 2] : &j->loads.up[i / 2];

		if (load->links)
			json_array_append_new(
				list,
				json_pack("{s:s, s:i, s:I, s:I, s:I, s:I}", "direction",
					  i % 2 ? "down" : "up", "level", (int)(i / 2),
					  "cables", (json_int_t)load->links, "flows",
					  (json_int_t)load->flows, "least",
					  (json_int_t)load->least, "most",
					  (json_int_t)load->most));
	}
	return list;
}

static json_t *json_circle(const struct judged *j)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < j->credits.length && i < PM_CHECK_CIRCLE; i++) {
		const struct pm_port *p = &j->fabric->ports[j->credits.circle[i]];

		json_array_append_new(
			list,
			json_pack("{s:o, s:o, s:i}", "guid",
				  cli_json_guid(j->fabric->nodes[p->node].guid), "name",
				  cli_json_string(pm_fabric_name(j->fabric, p->node)),
				  "port", p->num));
	}
	return list;
}

static json_t *json_findings(const struct judged *j)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < j->num_findings; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:I, s:o}", "kind", j->findings[i].kind,
					"count", (json_int_t)j->findings[i].count, "text",
					cli_json_string(j->findings[i].text)));
	return list;
}

static json_t *json_plan(const struct judged *j)
{
	if (!j->planned)
		return json_null();
	return json_pack(
		"{s:I, s:I, s:I, s:I}", "lids_out_of_plan", (json_int_t)j->lids_differ,
		"entries", (json_int_t)j->delta.entries, "blocks",
		(json_int_t)j->delta.blocks, "switches", (json_int_t)j->delta.switches);
}

static int print_json(const struct judged *j)
{
	json_t *object = cli_json_new("check", 1);
	const struct pm_check_paths *p = &j->paths;

	json_object_set_new(object, "findings", json_findings(j));
	json_object_set_new(object, "switches",
			    json_integer((json_int_t)j->fabric->num_switches));
	json_object_set_new(object, "tables", json_integer((json_int_t)j->tables));
	json_object_set_new(object, "end_ports", json_integer((json_int_t)j->end_ports));
	json_object_set_new(object, "ports_with_lid",
			    json_integer((json_int_t)j->ports_with_lid));
	json_object_set_new(object, "lids_of_nobody",
			    json_integer((json_int_t)j->of_nobody));
	json_object_set_new(
		object, "paths",
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "pairs",
			  (json_int_t)p->pairs, "delivered", (json_int_t)p->delivered,
			  "cut", (json_int_t)p->cut, "apart", (json_int_t)p->apart,
			  "lost", (json_int_t)p->lost, "loops", (json_int_t)p->loops,
			  "turns", (json_int_t)p->turns, "astray", (json_int_t)p->astray,
			  "manager", (json_int_t)p->deaf));
	json_object_set_new(object, "credits",
			    json_pack("{s:I, s:I, s:I, s:o}", "channels",
				      (json_int_t)j->credits.channels, "dependencies",
				      (json_int_t)j->credits.dependencies, "length",
				      (json_int_t)j->credits.length, "circle",
				      json_circle(j)));
	json_object_set_new(object, "loads", json_all_loads(j));
	json_object_set_new(object, "plan", json_plan(j));
	return cli_json_print(object);
}

/* ---- Options ---- */

static int take_balance(const struct cli_option *option, char *argument, void *to)
{
	double *balance = to;
	char *end;

	(void)option;
	*balance = strtod(argument, &end);
	if (*end || end == argument || !(*balance >= 1))
		return cli_fail(EXIT_USAGE, "--balance: a number of at least 1");
	return EXIT_FINE;
}

static const struct cli_option options[] = {
	{'s', "sm", "NAME",
	 "the node with the subnet manager: it must be reached from every switch",
	 CLI_MEMBER(struct request, manager)},
	{0, "plan", "FILE",
	 "LIDs and tables must be those of the plan that the plugin keeps in "
	 "portmajor.GUID/plan",
	 CLI_MEMBER(struct request, plan_path)},
	{0, "conform", NULL,
	 "LIDs and tables must be those of the plan made for the topology (default: what "
	 "differs from it is told only)",
	 CLI_MEMBER(struct request, conform)},
	{0, "balance", "RATIO",
	 "all-to-all traffic may load no cable above RATIO times the mean of its level "
	 "(default: told only)",
	 .take = take_balance, .to = offsetof(struct request, balance)},
	{'q', "quiet", NULL, "print findings only",
	 CLI_MEMBER(struct request, output.quiet)},
	{0, "json", NULL, "print one JSON object",
	 CLI_MEMBER(struct request, output.json)},
	CLI_INCLUDE(struct request, fabric, cli_fabric_options),
	{0},
};

static const struct cli_command command = {
	.synopsis = "check [OPTION]... TOPOLOGY TABLES",
	.about =
		"Walks the tables in a file that OpenSM (opensm-lfts.dump, opensm.fdbs) "
		"or dump_fts wrote over a topology, an ibsim or ibnetdiscover file; one "
		"of both may be - for standard input. LIDs are those of the topology or, "
		"where it has none, of the tables. Exit status 1 if something is not in "
		"order: packets that do not arrive, loops, paths that turn up after "
		"going "
		"down, credit loops, tables that are missing or of another fabric.",
	.options = options,
	.min_operands = 2,
	.max_operands = 2,
};

/* Reads the options; an exit status, or -1 to go on. */
static int read_options(int argc, char **argv, struct request *request)
{
	int status = cli_command_read(&command, argc, argv, request);

	if (status >= 0)
		return status;
	request->topology = argv[optind];
	request->tables = argv[optind + 1];
	if (!strcmp(request->topology, "-") && !strcmp(request->tables, "-"))
		return cli_fail(EXIT_USAGE, "only one operand can be standard input");
	return -1;
}

int cmd_check(int argc, char **argv)
{
	struct request request = {0};
	struct judged j = {0};
	int status = read_options(argc, argv, &request);

	if (status >= 0)
		return status;
	status = read_input(&j, &request);
	if (!status)
		status = judge(&j, &request);
	if (!status && request.output.json)
		status = print_json(&j);
	else if (!status)
		print_text(&j, &request);
	if (!status && j.num_findings)
		status = EXIT_FINDINGS;
	free(j.table);
	free(j.top);
	free(j.in_use);
	free(j.has_entry);
	pm_tree_free(&j.tree);
	pm_lfts_free(j.lfts);
	pm_fabric_free(j.fabric);
	return status;
}
