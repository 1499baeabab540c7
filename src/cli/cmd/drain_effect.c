/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the effect of drains on the busiest link and on leaves' uplinks. */
#include "drain_effect.h"

#include "json.h"
#include "text.h"

#include <portmajor/route/route.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void mark_away(const struct pm_fabric *topology, uint32_t port, uint8_t *there)
{
	there[port] = 0;
	if (topology->ports[port].peer != PM_NONE)
		there[topology->ports[port].peer] = 0;
}

/* Marks the ports of an end of a missing part: a switch or a port; not a host's own. */
static void mark_end(const struct pm_fabric *topology, const json_t *end, uint8_t *there)
{
	const char *guid = json_string_value(json_object_get(end, "guid"));
	json_int_t port = cli_json_number(end, "port");
	uint32_t sw =
		guid ? pm_fabric_find_guid(topology, strtoull(guid, NULL, 16)) : PM_NONE;

	if (sw == PM_NONE || port < 0 || port > topology->nodes[sw].num_ports)
		return;
	if (port) {
		mark_away(topology, topology->nodes[sw].first_port + (uint32_t)port,
			  there);
		return;
	}
	pm_for_each_port(i, topology, sw)
		mark_away(topology, i, there);
}

void drain_effect_there(const struct pm_plan *plan, const json_t *state, uint8_t *there)
{
	const struct pm_fabric *topology = plan->topology;
	const json_t *missing = json_object_get(state, "missing"), *part, *end;
	size_t i, k;

	for (uint32_t p = 0; p < topology->num_ports; p++)
		there[p] = topology->ports[p].peer != PM_NONE ||
			   topology->ports[p].host != PM_NO_HOST;
	json_array_foreach(json_object_get(missing, "parts"), i, part)
		json_array_foreach(json_object_get(part, "ends"), k, end)
			mark_end(topology, end, there);
}

static int find_busiest(const struct pm_plan *plan, const uint8_t *there,
			const uint8_t *usable, uint64_t *load, struct pm_error *err)
{
	struct pm_routes *routes = NULL;
	int rc = pm_routes_make(plan, &routes, err);

	if (rc)
		return rc;
	pm_routes_update(routes, usable, NULL);
	rc = pm_routes_busiest(routes, there, load);
	pm_routes_free(routes);
	return rc ? pm_error_no_memory(err) : 0;
}

static uint32_t count_up(const struct pm_plan *plan, uint32_t sw, const uint8_t *marked)
{
	const struct pm_fabric *topology = plan->topology;
	uint32_t count = 0;

	pm_for_each_port(i, topology, sw) {
		uint32_t peer = pm_fabric_peer_node(topology, i);

		count += marked[i] && peer != PM_NONE &&
			 plan->tree.level[peer] > plan->tree.level[sw];
	}
	return count;
}

static void find_leaf(const struct pm_plan *plan, const uint8_t *there,
		      const uint8_t *before, const uint8_t *after,
		      struct drain_effect *effect)
{
	effect->leaf = PM_NONE;
	for (uint32_t sw = 0; sw < plan->topology->num_switches; sw++) {
		uint32_t of = count_up(plan, sw, there);
		uint32_t kept = count_up(plan, sw, after);

		if (!pm_fabric_count_hosts(plan->topology, sw, NULL) ||
		    kept >= count_up(plan, sw, before))
			continue;
		if (effect->leaf != PM_NONE &&
		    (uint64_t)kept * effect->of >= (uint64_t)effect->kept * of)
			continue;
		effect->leaf = sw;
		effect->kept = kept;
		effect->of = of;
	}
}

int drain_effect_find(const struct pm_plan *plan, const uint8_t *there,
		      struct pm_drains *before, struct pm_drains *after,
		      struct drain_effect *effect, struct pm_error *err)
{
	size_t num = (size_t)plan->topology->num_ports + 1;
	uint8_t *usable = malloc(2 * num);
	int rc;

	if (!usable)
		return pm_error_no_memory(err);
	memcpy(usable, there, num - 1);
	memcpy(usable + num, there, num - 1);
	rc = pm_drains_apply(before, plan, usable, err);
	if (!rc)
		rc = pm_drains_apply(after, plan, usable + num, err);
	if (!rc)
		rc = find_busiest(plan, there, usable, &effect->load_before, err);
	if (!rc)
		rc = find_busiest(plan, there, usable + num, &effect->load_after, err);
	if (!rc)
		find_leaf(plan, there, usable, usable + num, effect);
	free(usable);
	return rc;
}

bool drain_effect_is_harsh(const struct drain_effect *effect)
{
	return effect->leaf != PM_NONE && effect->kept * 2 < effect->of;
}

char *drain_effect_text(const struct pm_plan *plan, const struct drain_effect *effect)
{
	double more =
		effect->load_before
			? ((double)effect->load_after / (double)effect->load_before - 1) *
				  100
			: 0;
	char uplinks[512] = "leaves keep all uplinks";

	if (effect->leaf != PM_NONE)
		snprintf(uplinks, sizeof(uplinks),
			 "leaves keep at least %u of %u uplinks (%s)", effect->kept,
			 effect->of, pm_fabric_label(plan->topology, effect->leaf));
	return cli_text_make("busiest link %" PRIu64 " -> %" PRIu64
			     " flows (%+.1f%%); %s",
			     effect->load_before, effect->load_after, more, uplinks);
}

json_t *drain_effect_describe(const struct pm_plan *plan,
			      const struct drain_effect *effect)
{
	bool any = effect->leaf != PM_NONE;

	return json_pack("{s:{s:I, s:I}, s:o, s:b}", "load", "before",
			 (json_int_t)effect->load_before, "after",
			 (json_int_t)effect->load_after, "uplinks",
			 any ? json_pack("{s:o, s:I, s:I}", "leaf",
					 pm_json_text(pm_fabric_label(plan->topology,
								      effect->leaf)),
					 "kept", (json_int_t)effect->kept, "of",
					 (json_int_t)effect->of)
			     : json_null(),
			 "harsh", drain_effect_is_harsh(effect));
}
