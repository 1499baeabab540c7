/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cost of a failure, in JSON and as text. */
#include "whatif_output.h"

#include "json.h"
#include "output.h"
#include "return_output.h"
#include "text.h"

#include <portmajor/json/rows.h>

#include <stdio.h>

/* ---- JSON ---- */

#define DELTA(member) PM_JSON_ROW(struct pm_delta, member)

static const struct pm_json_row delta_rows[] = {
	{"switches", DELTA(switches)},
	{"blocks", DELTA(blocks)},
	{"least", DELTA(least)},
	{"entries", DELTA(entries)},
	{0},
};

static json_t *levels_json(const struct pm_plan *plan,
			   const struct pm_whatif_result *result)
{
	json_t *list = json_array();

	for (unsigned int l = 0; l <= plan->tree.top_level && l < PM_WHATIF_LEVELS; l++)
		list = pm_json_append(list, pm_json_rows(delta_rows, &result->level[l]));
	return list;
}

/* Describes results before and after, or null if not requested. */
static json_t *both_json(bool wanted, uint64_t before, uint64_t after)
{
	return wanted ? json_pack("{s:I, s:I}", "before", (json_int_t)before, "after",
				  (json_int_t)after)
		      : json_null();
}

/* Describes connected pairs of hosts, and those of them without an up-then-down path. */
static json_t *reachable_json(const struct pm_reachable *reachable)
{
	return json_pack("{s:I, s:I}", "connected", (json_int_t)reachable->connected,
			 "cut", (json_int_t)(reachable->connected - reachable->pairs));
}

json_t *whatif_json(const struct whatif_described *described, json_t *settings,
		    json_t *failed, json_t *took, json_t *cut_off)
{
	const struct pm_whatif_result *before = described->before;
	const struct pm_whatif_result *result = described->after;
	const struct settings *times = described->settings;

	return cli_json_join(
		cli_json_new("whatif", 1),
		pm_json_object((const struct pm_json_member[]){
			{"settings", settings},
			{"failed", failed},
			{"took", took},
			{"cut_off", cut_off},
			{"total", pm_json_rows(delta_rows, &result->total)},
			{"levels", levels_json(described->plan, result)},
			{"restoring", json_integer(result->restoring)},
			{"restoring_ms",
			 json_real(settings_ms(times, result->restoring))},
			{"full_load", json_integer((json_int_t)result->full_load)},
			{"switches", json_integer(result->switches)},
			{"switches_cut", json_integer(result->switches_cut)},
			{"pairs_cut", json_integer((json_int_t)result->pairs_cut)},
			{"fails_over",
			 json_boolean(!pm_reachable_enough(&result->reachable))},
			{"reachable", reachable_json(&result->reachable)},
			{"ms", json_real(settings_ms(times, result->total.blocks))},
			{"load", both_json(described->loads, before->load, result->load)},
			{"shift",
			 both_json(described->shifts, before->shift, result->shift)},
			{0},
		}));
}

/* ---- Text ---- */

static void print_delta(const char *name, const json_t *delta)
{
	printf("%-10s", name);
	cli_text_print(delta, " {10switches} {10blocks} {10least} {10entries}\n");
}

/* What is out of paths in the present fabric. */
static void print_now(const json_t *object)
{
	if (json_is_object(json_object_get(json_object_get(object, "settings"), "now")))
		cli_text_print(
			object,
			"now: missing {settings.now.switches_missing|switch|switches}, "
			"{settings.now.links_missing|link|links}, "
			"{settings.now.hosts_missing|host|hosts}; "
			"{settings.now.on_hold|link|links} on hold; "
			"{settings.now.drained} drained\n");
}

void whatif_print(const json_t *object)
{
	const json_t *level;
	size_t l;

	cli_took_print("failed", json_object_get(object, "took"));
	cli_text_print(object, "lid_order {settings.lid_order}\n");
	print_now(object);
	printf("%-10s %10s %10s %10s %10s\n", "", "switches", "blocks", "least",
	       "entries");
	json_array_foreach(json_object_get(object, "levels"), l, level) {
		char name[32] = "leaves";

		if (l)
			snprintf(name, sizeof(name), "level %zu", l);
		print_delta(name, level);
	}
	print_delta("total", json_object_get(object, "total"));
	cli_text_print(
		object,
		"full load {full_load|block|blocks} for {switches|switch|switches}; "
		"{switches_cut|switch|switches} cut off; {pairs_cut|pair|pairs} of end ports cut\n");
	if (json_array_size(json_object_get(object, "cut_off"))) {
		fputs("hosts cut off: ", stdout);
		cut_off_print(json_object_get(object, "cut_off"));
		putchar('\n');
	}
	if (json_is_true(json_object_get(object, "fails_over")))
		cli_text_print(
			object,
			"the engine fails over to the next one: no up-then-down "
			"path joins {reachable.cut} of {reachable.connected} pairs of hosts "
			"that cables connect\n");
	cli_multicast_print(object);
	cli_text_print(object, "all paths between hosts are restored after "
			       "{restoring|block|blocks}, about {%restoring_ms} ms\n");
	cli_text_print(object, "about {%ms} ms, with {settings.max_wire_smps} MADs of "
			       "{settings.mad_us} us at a time\n");
	if (json_is_object(json_object_get(object, "load")))
		cli_text_print(object, "maximal link load, all to all: {load.before} "
				       "before, {load.after} after\n");
	if (json_is_object(json_object_get(object, "shift")))
		cli_text_print(object, "most flows on a link in a shift permutation: "
				       "{shift.before} before, {shift.after} after\n");
}
