/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stores the LFTs of switches, from any engine. */
#include <portmajor/route/lfts.h>

#include <portmajor/base/alloc.h>

#include <errno.h>

struct pm_lfts *pm_lfts_new(void)
{
	struct pm_lfts *lfts = calloc(1, sizeof(*lfts));

	if (lfts)
		lfts->owner = pm_array(PM_MAX_LID + 1, sizeof(*lfts->owner));
	if (lfts && !lfts->owner) {
		free(lfts);
		lfts = NULL;
	}
	return lfts;
}

int pm_lft_grow(struct pm_lft_switch *sw, uint32_t lid)
{
	uint32_t length = (lid / PM_LFT_BLOCK + 1) * PM_LFT_BLOCK;
	uint8_t *table;

	if (length <= sw->length)
		return 0;
	table = realloc(sw->table, length);
	if (!table)
		return -ENOMEM;
	memset(table + sw->length, PM_LFT_KEEP, length - sw->length);
	sw->table = table;
	sw->length = length;
	return 0;
}

struct pm_lft_switch *pm_lfts_add(struct pm_lfts *lfts, uint64_t guid, const char *name,
				  size_t length, uint16_t top)
{
	struct pm_lft_switch *sw;

	if (pm_grow(&lfts->switches, &lfts->room, lfts->num_switches + 1, sizeof(*sw)))
		return NULL;
	sw = &lfts->switches[lfts->num_switches];
	*sw = (struct pm_lft_switch){.guid = guid};
	sw->name = strndup(name, length);
	if (!sw->name)
		return NULL;
	lfts->num_switches++;
	return pm_lft_grow(sw, top) ? NULL : sw;
}

static int compare_switches(const void *a, const void *b)
{
	const struct pm_lft_switch *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

void pm_lfts_sort(struct pm_lfts *lfts)
{
	if (lfts->num_switches)
		qsort(lfts->switches, lfts->num_switches, sizeof(*lfts->switches),
		      compare_switches);
}

void pm_lfts_free(struct pm_lfts *lfts)
{
	if (!lfts)
		return;
	for (uint32_t i = 0; i < lfts->num_switches; i++) {
		free(lfts->switches[i].name);
		free(lfts->switches[i].table);
	}
	free(lfts->switches);
	free(lfts->owner);
	free(lfts);
}

static int compare_guid(const void *guid, const void *element)
{
	const uint64_t *x = guid;
	const struct pm_lft_switch *y = element;

	return *x < y->guid ? -1 : *x > y->guid;
}

const struct pm_lft_switch *pm_lfts_find(const struct pm_lfts *lfts, uint64_t guid)
{
	return lfts->num_switches ? bsearch(&guid, lfts->switches, lfts->num_switches,
					    sizeof(*lfts->switches), compare_guid)
				  : NULL;
}

/* ---- Tables of a plan ---- */

static void own_lids(const struct pm_plan *plan, const struct pm_fabric *fabric,
		     struct pm_lfts *lfts)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		bool is_switch = fabric->ports[i].node < fabric->num_switches;
		uint32_t place, num;

		if (is_switch && (fabric->ports[i].num ||
				  !pm_fabric_has_link(fabric, fabric->ports[i].node)))
			continue;
		place = pm_plan_place(plan, fabric, i);
		if (place == PM_NONE)
			continue;
		num = pm_plan_num_lids(plan, place);
		for (uint32_t k = 0; k < num; k++)
			lfts->owner[plan->lid[place] + k].guid = fabric->ports[i].guid;
		lfts->num_owned += num;
	}
}

int pm_lfts_of_plan(const struct pm_plan *plan, const struct pm_routes *routes,
		    const struct pm_fabric *fabric, struct pm_lfts **result,
		    struct pm_error *err)
{
	struct pm_lfts *lfts = pm_lfts_new();

	if (!lfts)
		return pm_error_no_memory(err);
	own_lids(plan, fabric, lfts);
	for (uint32_t i = 0; i < fabric->num_switches; i++) {
		uint64_t guid = fabric->nodes[i].guid;
		uint32_t node = pm_fabric_find_guid(plan->topology, guid);
		const char *name = pm_fabric_name(fabric, i);
		struct pm_lft_switch *sw;

		if (node == PM_NONE || !pm_fabric_has_link(fabric, i))
			continue;
		sw = pm_lfts_add(lfts, guid, name, strlen(name), plan->top_lid);
		if (!sw) {
			pm_lfts_free(lfts);
			return pm_error_no_memory(err);
		}
		sw->top = plan->top_lid;
		sw->lid = plan->lid[plan->topology->nodes[node].first_port];
		memcpy(sw->table, pm_routes_table(routes, node), sw->length);
	}
	pm_lfts_sort(lfts);
	*result = lfts;
	return 0;
}

uint16_t pm_lfts_left_out(const struct pm_lfts *lfts)
{
	uint16_t lid = 0;

	for (uint32_t i = 0; i < lfts->num_switches; i++)
		if (lfts->switches[i].left_out > lid)
			lid = lfts->switches[i].left_out;
	for (uint32_t i = 0; i < lfts->num_switches; i++)
		if (lfts->switches[i].top >= lid)
			return 0;
	return lid;
}

/* The LMC of so many consecutive LIDs. */
static uint8_t lmc_of(uint32_t count)
{
	uint8_t lmc = 0;

	while (lmc < 7 && 1u << (lmc + 1) <= count)
		lmc++;
	return lmc;
}

/*
 * The port with the LID that the file leaves out, or PM_NONE: where no port has it, the
 * only one without a LID. With LMC it is a switch's, as the highest LID of a host is odd.
 */
static uint32_t find_left_out(const struct pm_fabric *fabric, uint16_t lid,
			      const struct pm_port_key *keys, uint32_t count)
{
	uint32_t without = 0, port = PM_NONE;

	for (uint32_t i = 0; lid && i < count; i++) {
		const struct pm_port *p = &fabric->ports[keys[i].port];

		if (p->lid == lid)
			return p->lmc ? PM_NONE : keys[i].port;
		if (p->lid || !pm_fabric_has_link(fabric, p->node))
			continue;
		without++;
		port = keys[i].port;
	}
	return without == 1 ? port : PM_NONE;
}

int pm_lfts_give_lids(const struct pm_lfts *lfts, struct pm_fabric *fabric,
		      struct pm_lft_lids *result, struct pm_error *err)
{
	uint32_t count, next;
	uint16_t left_out = pm_lfts_left_out(lfts);
	struct pm_port_key *keys = pm_fabric_ports_by_guid(fabric, &count);

	if (!keys)
		return pm_error_no_memory(err);
	*result = (struct pm_lft_lids){.first_differ = PM_NONE};
	for (uint32_t lid = 1; lid <= PM_MAX_LID; lid = next) {
		uint64_t guid = lfts->owner[lid].guid;
		uint32_t port = guid ? pm_ports_find(keys, count, guid) : PM_NONE;
		struct pm_port *p;

		for (next = lid + 1; guid && next <= PM_MAX_LID; next++)
			if (lfts->owner[next].guid != guid)
				break;
		if (!guid)
			continue;
		if (port == PM_NONE) {
			if (!result->unknown++)
				result->first_unknown = (uint16_t)lid;
			continue;
		}
		p = &fabric->ports[port];
		if (!p->lid) {
			p->lid = (uint16_t)lid;
			p->lmc = lmc_of(next - lid);
			result->given++;
		} else if (p->lid != lid && !result->differ++) {
			result->first_differ = port;
		}
	}
	result->left_out = find_left_out(fabric, left_out, keys, count);
	if (result->left_out != PM_NONE && !fabric->ports[result->left_out].lid) {
		fabric->ports[result->left_out].lid = left_out;
		result->given++;
	}
	free(keys);
	return 0;
}

uint16_t pm_lfts_top(const struct pm_lfts *lfts)
{
	uint16_t top = 0;

	for (uint32_t lid = 1; lid <= PM_MAX_LID; lid++)
		if (lfts->owner[lid].guid)
			top = (uint16_t)lid;
	return top;
}
