/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads multicast groups from a file, or makes those of IPoIB. */
#include "groups.h"
#include "output.h"

#include <portmajor/analysis/failures.h>
#include <portmajor/base/lexer.h>
#include <portmajor/base/textfile.h>
#include <portmajor/fabric/roles.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <stdlib.h>

#define LONGEST 1024 /* bytes of a name in a line */

/* ---- Members ---- */

/*
 * Adds a port of the fabric, an end port or a switch's port 0, or its place in a plan. A
 * port without a place is no member.
 */
static void add_member_port(const struct pm_fabric *fabric, const struct pm_plan *plan,
			    uint16_t mlid, uint32_t port, struct cli_groups *groups)
{
	uint32_t place = plan ? pm_plan_place(plan, fabric, port) : port;

	if (place == PM_NONE)
		return;
	pm_xgrow(&groups->members, &groups->members_room, groups->num_members + 1,
		 sizeof(*groups->members));
	groups->members[groups->num_members++] = (struct cli_member){mlid, place};
}

static void add_members_of(const struct pm_fabric *fabric, const struct pm_plan *plan,
			   uint16_t mlid, uint32_t node, struct cli_groups *groups)
{
	if (node < fabric->num_switches) {
		add_member_port(fabric, plan, mlid, fabric->nodes[node].first_port,
				groups);
		return;
	}
	pm_for_each_port(i, fabric, node)
		if (fabric->ports[i].peer != PM_NONE)
			add_member_port(fabric, plan, mlid, i, groups);
}

/*
 * Adds what pm_failures_find has found. A port of a switch means the attached node;
 * false: it is no end port.
 */
static bool add_thing(const struct pm_fabric *fabric, const struct pm_plan *plan,
		      uint16_t mlid, uint32_t thing, struct cli_groups *groups)
{
	const struct pm_port *port = &fabric->ports[thing];

	if (!port->num)
		add_members_of(fabric, plan, mlid, port->node, groups);
	if (!port->num)
		return true;
	if (port->node < fabric->num_switches)
		thing = port->peer;
	if (thing == PM_NONE || fabric->ports[thing].node < fabric->num_switches)
		return false;
	add_member_port(fabric, plan, mlid, thing, groups);
	return true;
}

/* ---- Groups ---- */

static int compare_members(const void *a, const void *b)
{
	const struct cli_member *x = a, *y = b;

	if (x->mlid != y->mlid)
		return x->mlid < y->mlid ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Makes groups from their members. */
static void make_groups(struct cli_groups *groups)
{
	if (groups->num_members)
		qsort(groups->members, groups->num_members, sizeof(*groups->members),
		      compare_members);
	groups->places = pm_xarray(groups->num_members, sizeof(*groups->places));
	for (uint32_t i = 0; i < groups->num_members; i++) {
		uint16_t mlid = groups->members[i].mlid;

		groups->places[i] = groups->members[i].place;
		if (!i || groups->members[i - 1].mlid != mlid) {
			pm_xgrow(&groups->list, &groups->room, groups->num + 1,
				 sizeof(*groups->list));
			groups->list[groups->num++] = (struct pm_group){
				.mlid = mlid, .members = groups->places + i};
		}
		groups->list[groups->num - 1].num++;
	}
}

void cli_groups_free(struct cli_groups *groups)
{
	free(groups->list);
	free(groups->members);
	free(groups->places);
	*groups = (struct cli_groups){0};
}

/* ---- Files ---- */

struct reader {
	const struct pm_fabric *fabric;
	const struct pm_plan *plan;
	uint32_t *by_name; /* nodes, in the order of their names */
	struct cli_groups *groups;
};

static int compare_names(const void *a, const void *b, void *fabric)
{
	const uint32_t *x = a, *y = b;

	return strcmp(pm_fabric_name(fabric, *x), pm_fabric_name(fabric, *y));
}

/* Files name each host again and again. */
static void sort_names(struct reader *r)
{
	uint32_t num = r->fabric->num_nodes;

	r->by_name = pm_xarray(num, sizeof(*r->by_name));
	for (uint32_t i = 0; i < num; i++)
		r->by_name[i] = i;
	qsort_r(r->by_name, num, sizeof(*r->by_name), compare_names, (void *)r->fabric);
}

/* The only node with this name, or PM_NONE. */
static uint32_t find_only(const struct reader *r, const char *name)
{
	uint32_t low = 0, high = r->fabric->num_nodes;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (strcmp(pm_fabric_name(r->fabric, r->by_name[middle]), name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = low; i < low + 2; i++) {
		bool is_it = i < r->fabric->num_nodes &&
			     !strcmp(pm_fabric_name(r->fabric, r->by_name[i]), name);

		if (is_it != (i == low))
			return PM_NONE;
	}
	return r->by_name[low];
}

/* Adds what a line names; false: that is nothing with an end port. */
static bool add_named(const struct reader *r, uint16_t mlid, const char *name,
		      struct pm_error *err)
{
	uint32_t node = find_only(r, name);
	struct pm_ports things = {0};
	int rc;

	if (node != PM_NONE)
		return add_thing(r->fabric, r->plan, mlid,
				 r->fabric->nodes[node].first_port, r->groups);
	rc = pm_failures_find(r->fabric, r->plan, "member", name, &things, err);
	if (rc == -ENOMEM)
		pm_no_memory();
	for (uint32_t i = 0; i < things.num && !rc; i++)
		if (!add_thing(r->fabric, r->plan, mlid, things.list[i], r->groups))
			rc = -EINVAL;
	free(things.list);
	return !rc;
}

/* Copies the rest of a line, without blanks at its ends. */
static bool copy_rest(struct pm_text line, char name[LONGEST])
{
	size_t length;

	pm_text_skip_blanks(&line);
	while (!pm_text_is_empty(line) &&
	       (line.end[-1] == ' ' || line.end[-1] == '\t' || line.end[-1] == '\r'))
		line.end--;
	length = pm_text_length(line);
	if (!length || length >= LONGEST)
		return false;
	memcpy(name, line.at, length);
	name[length] = '\0';
	return true;
}

static int read_line(struct pm_lexer *lexer, struct pm_text line, const struct reader *r)
{
	char name[LONGEST];
	uint64_t mlid;
	int rc = pm_lexer_check_text(lexer, line);

	pm_text_skip_blanks(&line);
	if (rc || pm_text_is_empty(line) || pm_text_next_is(line, '#'))
		return rc;
	if (!pm_text_take_number(&line, 0, PM_MLID_LAST, &mlid) || mlid < PM_MLID_FIRST)
		return pm_lexer_fail(lexer, "no MLID, 0x%x to 0x%x", PM_MLID_FIRST,
				     PM_MLID_LAST);
	if (!copy_rest(line, name))
		return pm_lexer_fail(lexer, "MLID 0x%x has no member here",
				     (unsigned int)mlid);
	return add_named(r, (uint16_t)mlid, name, lexer->err)
		       ? 0
		       : pm_lexer_fail(lexer,
				       "\"%s\" is neither an end port nor a switch",
				       name);
}

int cli_groups_parse(const char *text, size_t length, const char *source,
		     const struct pm_fabric *fabric, const struct pm_plan *plan,
		     struct cli_groups *groups, struct pm_error *err)
{
	struct pm_lexer lexer = pm_lexer_begin(text, length, source, -EINVAL, err);
	struct reader r = {fabric, plan, NULL, groups};
	struct pm_text line;
	int rc = 0;

	sort_names(&r);
	while (!rc && pm_lexer_next(&lexer, &line))
		rc = read_line(&lexer, line, &r);
	free(r.by_name);
	if (!rc)
		make_groups(groups);
	return rc;
}

int cli_groups_read(const char *path, const struct pm_fabric *fabric,
		    const struct pm_plan *plan, struct cli_groups *groups)
{
	struct pm_error err = {"out of memory"};
	char *text = NULL;
	size_t length;
	int rc = pm_textfile_read(path, &text, &length, &err);

	if (!rc)
		rc = cli_groups_parse(text, length, pm_textfile_name(path), fabric, plan,
				      groups, &err);
	free(text);
	return rc ? cli_refuse(&err) : EXIT_FINE;
}

/* Adds IPoIB's broadcast group, which is made first: all end ports of hosts. */
static void add_ipoib(const struct pm_fabric *fabric, const struct pm_plan *plan,
		      struct cli_groups *groups)
{
	for (uint32_t i = fabric->num_switches; i < fabric->num_nodes; i++)
		if (fabric->nodes[i].type == PM_CA && !pm_is_aggregation_node(fabric, i))
			add_members_of(fabric, plan, PM_MLID_FIRST, i, groups);
	make_groups(groups);
}

/* ---- Options ---- */

const char *cli_groups_misused(const struct cli_group_options *options)
{
	return options->file && options->ipoib ? "--groups and --ipoib exclude each other"
					       : NULL;
}

bool cli_groups_named(const struct cli_group_options *options)
{
	return options->file || options->ipoib;
}

int cli_groups_get(const struct cli_group_options *options,
		   const struct pm_fabric *fabric, const struct pm_plan *plan,
		   struct cli_groups *groups)
{
	if (!options->ipoib)
		return cli_groups_read(options->file, fabric, plan, groups);
	add_ipoib(fabric, plan, groups);
	return EXIT_FINE;
}
