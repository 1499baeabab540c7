/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Describes guessed roles and levels in words. */
#include "plan_parts.h"

#include <portmajor/fabric/roles.h>
#include <portmajor/plan/guess.h>

#include <stdarg.h>
#include <stdio.h>

#define NAMED 3 /* parts of a kind that are named */

struct line {
	char *text;
	size_t size, used;
	bool any; /* something was guessed */
};

__attribute__((format(printf, 2, 3))) static void append(struct line *line,
							 const char *format, ...)
{
	va_list arguments;
	int length;

	if (line->used >= line->size)
		return;
	va_start(arguments, format);
	length = vsnprintf(line->text + line->used, line->size - line->used, format,
			   arguments);
	va_end(arguments);
	if (length > 0)
		line->used += (size_t)length;
}

static void begin_part(struct line *line)
{
	append(line, line->any ? "; " : "roles guessed: ");
	line->any = true;
}

/* Whether a port of a node has a role; a rule may have said otherwise than its kind. */
static bool has_role(const struct pm_fabric *now, uint32_t node, enum pm_host role)
{
	pm_for_each_port(i, now, node)
		if (now->ports[i].peer != PM_NONE &&
		    now->ports[now->ports[i].peer].host == role)
			return true;
	return false;
}

static void count_nodes(const struct pm_fabric *now, uint32_t *aggregation,
			uint32_t *routers)
{
	*aggregation = *routers = 0;
	for (uint32_t i = now->num_switches; i < now->num_nodes; i++) {
		if (pm_is_aggregation_node(now, i))
			*aggregation += has_role(now, i, PM_AGGREGATION);
		else if (now->nodes[i].type == PM_ROUTER)
			*routers += has_role(now, i, PM_SERVICE);
	}
}

static void describe_nodes(const struct pm_fabric *now, struct line *line)
{
	uint32_t aggregation, routers;

	count_nodes(now, &aggregation, &routers);
	if (aggregation) {
		begin_part(line);
		append(line, "%u aggregation node%s", aggregation,
		       aggregation > 1 ? "s" : "");
	}
	if (routers) {
		begin_part(line);
		append(line, "%u router%s", routers, routers > 1 ? "s" : "");
	}
}

/*
 * Whether a port is a service port only because of its place; *named: though the operator
 * named another role.
 */
static bool is_by_place(const struct pm_plan *plan, const struct pm_fabric *now,
			uint32_t port, bool *named)
{
	uint32_t here;

	if (plan->topology->ports[port].host != PM_SERVICE)
		return false;
	here = pm_fabric_same_port(plan->topology, port, now);
	*named = here != PM_NONE && now->ports[here].named;
	return here != PM_NONE && now->ports[here].host == PM_COMPUTE;
}

/* Appends "HOST at SWITCH[PORT]". */
static void name_end_port(const struct pm_plan *plan, const struct pm_fabric *now,
			  uint32_t port, struct line *line)
{
	const struct pm_fabric *topology = plan->topology;
	uint32_t here = pm_fabric_same_port(topology, port, now);
	uint32_t host = here == PM_NONE ? PM_NONE : pm_fabric_peer_node(now, here);

	if (host != PM_NONE)
		append(line, "%s at ", pm_fabric_label(now, host));
	append(line, "%s[%u]", pm_fabric_label(topology, topology->ports[port].node),
	       topology->ports[port].num);
}

static void describe_places(const struct pm_plan *plan, const struct pm_fabric *now,
			    struct line *line)
{
	const struct pm_fabric *topology = plan->topology;
	uint32_t count = 0, unnamed = 0, shown = 0;
	bool named;

	for (uint32_t i = 0; i < topology->num_ports; i++)
		if (is_by_place(plan, now, i, &named)) {
			count++;
			unnamed += !named;
		}
	if (!count)
		return;
	begin_part(line);
	append(line, "%u %s (", count,
	       count > 1 ? "end ports above the leaves are service ports"
			 : "end port above the leaves is a service port");
	for (uint32_t i = 0; i < topology->num_ports && shown < NAMED; i++)
		if (is_by_place(plan, now, i, &named)) {
			append(line, "%s", shown++ ? ", " : "");
			name_end_port(plan, now, i, line);
		}
	append(line, "%s)%s", count > NAMED ? ", .." : "",
	       unnamed ? ", `role compute` in portmajor.conf or cn_guid_file says "
			 "otherwise"
		       : "");
}

static void describe_roots(const struct pm_plan *plan, struct line *line)
{
	uint32_t count = 0, named = 0;

	for (uint32_t sw = 0; sw < plan->tree.num_switches; sw++)
		count += plan_is_root(plan, sw);
	begin_part(line);
	append(line, "levels count from %u %s (", count,
	       count > 1 ? "switches" : "switch");
	for (uint32_t sw = 0; sw < plan->tree.num_switches && named < NAMED; sw++)
		if (plan_is_root(plan, sw))
			append(line, "%s%s", named++ ? ", " : "",
			       pm_fabric_label(plan->topology, sw));
	append(line, "%s)%s, root_guid_file says otherwise", count > NAMED ? ", .." : "",
	       plan->tree.levels_by == PM_BY_GUESSED_ROOTS
		       ? " so that all end ports have paths"
		       : "");
}

static void describe_levels(const struct pm_plan *plan, struct line *line)
{
	switch (plan->tree.levels_by) {
	case PM_BY_LARGE_LEAVES:
		begin_part(line);
		append(line, "levels count from switches with many hosts, root_guid_file "
			     "says otherwise");
		break;
	case PM_BY_FARTHEST:
	case PM_BY_FARTHEST_FROM_LARGE:
	case PM_BY_CENTRE:
	case PM_BY_GUESSED_ROOTS:
		describe_roots(plan, line);
		break;
	default:
		break;
	}
}

bool pm_guess_describe(const struct pm_plan *plan, const struct pm_fabric *now,
		       char *text, size_t size)
{
	struct line line = {.text = text, .size = size};

	if (size)
		text[0] = '\0';
	describe_nodes(now, &line);
	describe_places(plan, now, &line);
	describe_levels(plan, &line);
	return line.any;
}
