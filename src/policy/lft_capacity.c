/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the switches with tables too small for all LIDs. */
#include <portmajor/policy/lft_capacity.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NAMED 8

static int compare_rooms(const void *a, const void *b)
{
	const struct pm_lft_capacity *x = a, *y = b;

	if (x->max_lid != y->max_lid)
		return x->max_lid < y->max_lid ? -1 : 1;
	return x->guid < y->guid ? -1 : x->guid > y->guid;
}

uint16_t pm_lft_capacity_max_lid(struct pm_lft_capacity *switches, uint32_t num)
{
	if (!num)
		return UINT16_MAX;
	qsort(switches, num, sizeof(*switches), compare_rooms);
	return switches[num / 2].max_lid;
}

uint16_t pm_lft_capacity_limit(const struct pm_lft_capacity *switches, uint32_t num,
			       uint16_t top_lid)
{
	uint16_t limit = UINT16_MAX;

	for (uint32_t i = 0; i < num; i++)
		if (switches[i].max_lid >= top_lid && switches[i].max_lid < limit)
			limit = switches[i].max_lid;
	return limit;
}

/* A line of text; whatever exceeds its size is left out. */
struct line {
	char *text;
	size_t size, used;
	uint32_t named;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line,
						      const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length =
		vsnprintf(line->text + line->used, line->size - line->used, format, args);
	va_end(args);
	if (length > 0)
		line->used += (size_t)length;
	if (line->used >= line->size)
		line->used = line->size - 1;
}

/* Adds the numbers of a switch's end ports, present or not. */
static void add_end_ports(const struct pm_plan *plan, uint32_t sw, struct line *line)
{
	uint32_t hosts = pm_fabric_count_hosts(plan->topology, sw, NULL), services = 0;

	pm_for_each_port(i, plan->topology, sw)
		services += pm_host_is_service(plan->topology->ports[i].host);
	if (hosts)
		add(line, " (%u host%s)", hosts, hosts == 1 ? "" : "s");
	if (services)
		add(line, " (%u service port%s)", services, services == 1 ? "" : "s");
}

static void name_switch(const struct pm_plan *plan, const struct pm_lft_capacity *bad,
			uint32_t sw, bool unfit, struct line *line)
{
	if (line->named++ >= MOST_NAMED) {
		if (line->named == MOST_NAMED + 1)
			add(line, "; ..");
		return;
	}
	add(line, "%s%s (0x%016" PRIx64 ")", line->used ? "; " : "",
	    sw == PM_NONE ? "a switch" : pm_fabric_name(plan->topology, sw), bad->guid);
	if (sw == PM_NONE) {
		add(line, " does not fit into the plan and is left out");
		return;
	}
	if (bad->max_lid < plan->top_lid)
		add(line, " has room for LIDs up to %u of %u and %s", bad->max_lid,
		    plan->top_lid, unfit ? "is left out" : "serves its hosts with those");
	if (bad->odd_ports)
		add(line, "%s has %u port%s neither up nor down",
		    bad->max_lid < plan->top_lid ? "," : "", bad->odd_ports,
		    bad->odd_ports == 1 ? "" : "s");
	add_end_ports(plan, sw, line);
}

void pm_lft_capacity_judge(const struct pm_plan *plan,
			   const struct pm_lft_capacity *switches, uint32_t num,
			   uint8_t *unfit, char *text, size_t size)
{
	struct line line = {text, size, 0, 0};

	text[0] = '\0';
	memset(unfit, 0, plan->topology->num_switches);
	for (uint32_t i = 0; i < num; i++) {
		const struct pm_lft_capacity *f = &switches[i];
		uint32_t sw = pm_fabric_find_guid(plan->topology, f->guid);
		bool small = f->max_lid < plan->top_lid;
		bool out = sw != PM_NONE && small && !pm_tree_is_leaf(&plan->tree, sw);

		if (sw != PM_NONE && !small && !f->odd_ports)
			continue;
		if (out)
			unfit[sw] = 1;
		name_switch(plan, f, sw, out, &line);
	}
}
