/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the effect of drains on the busiest link and on uplinks. */
#include "drain_effect.h"

#include "json.h"
#include "text.h"

#include <portmajor/route/route.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Loads ---- */

static int find_busiest(const struct present *present, const uint8_t *usable,
			uint64_t *load, struct pm_error *err)
{
	struct pm_routes *routes = NULL;
	int rc = pm_routes_make(present->plan, &routes, err);

	if (rc)
		return rc;
	pm_routes_update(routes, usable, NULL);
	rc = pm_routes_busiest(routes, present->there, load);
	pm_routes_free(routes);
	return rc ? pm_error_no_memory(err) : 0;
}

/* usable[] is working memory. */
static int find_undrained(const struct present *present, uint8_t *usable, uint64_t *load,
			  struct pm_error *err)
{
	int rc = present_use(present, present->there, NULL, usable, err);

	return rc ? rc : find_busiest(present, usable, load, err);
}

/* ---- Uplinks ---- */

/* Up ports of a switch. */
struct count {
	uint32_t of, before, after;
};

static void count_up(const struct present *present, uint32_t sw, const uint8_t *before,
		     const uint8_t *after, struct count *count)
{
	const struct pm_fabric *topology = present->plan->topology;
	const uint8_t *level = present->plan->tree.level;

	pm_for_each_port(i, topology, sw) {
		uint32_t peer = pm_fabric_peer_node(topology, i);

		if (peer == PM_NONE || level[peer] <= level[sw])
			continue;
		count->of += present->there[i] != 0;
		count->before += before[i] != 0;
		count->after += after[i] != 0;
	}
}

/* Takes a count if its share is the smallest so far. */
static void note_count(struct drain_uplinks *worst, uint32_t of_what,
		       const struct count *count)
{
	if (count->after >= count->before ||
	    (worst->of_what != PM_NONE &&
	     (uint64_t)count->after * worst->of >= (uint64_t)worst->kept * count->of))
		return;
	*worst = (struct drain_uplinks){of_what, count->after, count->of};
}

static void find_uplinks(const struct present *present, const uint8_t *before,
			 const uint8_t *after, struct drain_effect *effect)
{
	const struct pm_plan *plan = present->plan;
	struct count levels[PM_NO_LEVEL + 1] = {{0, 0, 0}};

	effect->leaf.of_what = effect->level.of_what = PM_NONE;
	for (uint32_t sw = 0; sw < plan->topology->num_switches; sw++) {
		struct count own = {0, 0, 0};

		if (!pm_fabric_count_hosts(plan->topology, sw, NULL)) {
			count_up(present, sw, before, after,
				 &levels[plan->tree.level[sw]]);
			continue;
		}
		count_up(present, sw, before, after, &own);
		note_count(&effect->leaf, sw, &own);
	}
	for (uint32_t l = 0; l < PM_NO_LEVEL; l++)
		note_count(&effect->level, l, &levels[l]);
}

int drain_effect_find(const struct present *present, struct pm_drains *before,
		      struct pm_drains *after, struct drain_effect *effect,
		      struct pm_error *err)
{
	const uint8_t *there = present->there;
	size_t num = (size_t)present->plan->topology->num_ports + 1;
	uint8_t *usable = malloc(2 * num);
	struct drain_effect found = {.load_before = 0};
	int rc = usable ? 0 : pm_error_no_memory(err);

	if (!rc && before->num)
		rc = find_undrained(present, usable, &found.load_undrained, err);
	if (!rc)
		rc = present_use(present, there, before, usable, err);
	if (!rc)
		rc = present_use(present, there, after, usable + num, err);
	if (!rc)
		rc = find_busiest(present, usable, &found.load_before, err);
	if (!rc)
		rc = find_busiest(present, usable + num, &found.load_after, err);
	if (!rc) {
		if (!before->num)
			found.load_undrained = found.load_before;
		find_uplinks(present, usable, usable + num, &found);
		*effect = found;
	}
	free(usable);
	return rc;
}

static bool keeps_half(const struct drain_uplinks *uplinks)
{
	return uplinks->of_what == PM_NONE || uplinks->kept * 2 >= uplinks->of;
}

const char *drain_effect_refusal(const struct drain_effect *effect)
{
	if (!keeps_half(&effect->leaf))
		return "a leaf keeps less than half of its uplinks";
	if (!keeps_half(&effect->level))
		return "a level keeps less than half of its uplinks";
	/* Half of the links carry twice the flows, and a few more on the busiest one. */
	if (effect->load_after > effect->load_before &&
	    2 * effect->load_after > 5 * effect->load_undrained)
		return "the busiest link gets more than 2.5 times the flows that it "
		       "would have without any drain";
	return NULL;
}

/* ---- Output ---- */

char *drain_effect_text(const struct pm_plan *plan, const struct drain_effect *effect)
{
	double more =
		effect->load_before
			? ((double)effect->load_after / (double)effect->load_before - 1) *
				  100
			: 0;
	char uplinks[512] = "leaves keep all uplinks", level[80] = "";

	if (effect->leaf.of_what != PM_NONE)
		snprintf(uplinks, sizeof(uplinks),
			 "leaves keep at least %u of %u uplinks (%s)", effect->leaf.kept,
			 effect->leaf.of,
			 pm_fabric_label(plan->topology, effect->leaf.of_what));
	if (effect->level.of_what != PM_NONE)
		snprintf(level, sizeof(level), ", level %u keeps %u of %u",
			 effect->level.of_what, effect->level.kept, effect->level.of);
	return cli_text_make(
		"busiest link %" PRIu64 " -> %" PRIu64 " flows (%+.1f%%); %s%s",
		effect->load_before, effect->load_after, more, uplinks, level);
}

/* name: of the member that has the leaf or level; takes over `of_what`. */
static json_t *describe_uplinks(const struct drain_uplinks *uplinks, const char *name,
				json_t *of_what)
{
	if (uplinks->of_what != PM_NONE)
		return json_pack("{s:o, s:I, s:I}", name, of_what, "kept",
				 (json_int_t)uplinks->kept, "of",
				 (json_int_t)uplinks->of);
	json_decref(of_what);
	return json_null();
}

json_t *drain_effect_describe(const struct pm_plan *plan,
			      const struct drain_effect *effect)
{
	uint32_t leaf = effect->leaf.of_what;
	json_t *label = leaf == PM_NONE
				? NULL
				: pm_json_text(pm_fabric_label(plan->topology, leaf));

	return json_pack("{s:{s:I, s:I, s:I}, s:o, s:o, s:o}", "load", "undrained",
			 (json_int_t)effect->load_undrained, "before",
			 (json_int_t)effect->load_before, "after",
			 (json_int_t)effect->load_after, "uplinks",
			 describe_uplinks(&effect->leaf, "leaf", label), "level_uplinks",
			 describe_uplinks(&effect->level, "level",
					  json_integer(effect->level.of_what)),
			 "refusal", pm_json_text(drain_effect_refusal(effect)));
}
