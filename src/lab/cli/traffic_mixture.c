/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Describes loops and cycles in mixtures of tables, as JSON and as text. */
#include "traffic_mixture.h"

#include "json.h"
#include "failure_options.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

#define LISTED 100 /* of each kind, in JSON */
#define PRINTED 3

/* ---- Describing ---- */

static double event_ms(const struct pm_lft_trace *trace, uint64_t ns)
{
	return ((double)ns - (double)trace->failed_at) / 1e6;
}

/* Describes the cause of a fault or of its end; null: none. */
static json_t *event_json(const struct pm_fabric *fabric,
			  const struct pm_lft_trace *trace, uint32_t event)
{
	const struct pm_lft_trace_return *link;
	const struct pm_lft_trace_set *set;

	if (event == PM_MIXTURE_NOTHING)
		return json_null();
	if (event == PM_MIXTURE_FIRST)
		return json_pack("{s:s, s:n}", "by", "start", "ms");
	if (event == PM_MIXTURE_FAILURE)
		return json_pack("{s:s, s:f}", "by", "failure", "ms", 0.0);
	if (event >= trace->num) {
		link = &trace->active[event - trace->num];
		return json_pack("{s:s, s:f, s:o}", "by", "return", "ms",
				 event_ms(trace, link->ns), "link",
				 cli_link_json(fabric, link->port));
	}
	set = &trace->set[event];
	return json_pack("{s:s, s:f, s:I, s:o, s:I}", "by", "set", "ms",
			 event_ms(trace, set->arrived), "set", (json_int_t)event, "node",
			 cli_node_json(fabric, set->sw), "block", (json_int_t)set->block);
}

/* Describes the host with a LID, or null. */
static json_t *owner_json(const struct pm_fabric *fabric,
			  const struct pm_lft_trace *trace, uint32_t lid)
{
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (trace->lid[i] && lid >= trace->lid[i] &&
		    lid < trace->lid[i] + (1u << trace->lmc[i]))
			return cli_node_json(fabric, fabric->ports[i].node);
	return json_null();
}

static json_t *ring_json(const struct pm_fabric *fabric, const struct pm_lft_trace *trace,
			 const struct pm_mixture *mixture,
			 const struct pm_mixture_ring *ring, bool is_loop)
{
	json_t *list = json_array(), *object;

	for (uint32_t i = 0; i < ring->length; i++) {
		uint32_t at = mixture->at[ring->first + i];

		list = pm_json_append(list, is_loop ? cli_node_json(fabric, at)
						    : cli_link_json(fabric, at));
	}
	object = json_pack("{s:o, s:o, s:o}", is_loop ? "switches" : "links", list,
			   "made", event_json(fabric, trace, ring->made), "removed",
			   event_json(fabric, trace, ring->removed));
	if (!is_loop)
		return object;
	return cli_json_join(object,
			     json_pack("{s:I, s:o}", "lid", (json_int_t)ring->lid,
				       "owner", owner_json(fabric, trace, ring->lid)));
}

static json_t *rings_json(const struct pm_fabric *fabric,
			  const struct pm_lft_trace *trace,
			  const struct pm_mixture *mixture,
			  const struct pm_mixture_rings *rings, bool is_loop)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < rings->num && i < LISTED; i++)
		list = pm_json_append(list, ring_json(fabric, trace, mixture,
						      &rings->list[i], is_loop));
	return json_pack("{s:I, s:I, s:f, s:o}", "num", (json_int_t)rings->num, "most",
			 (json_int_t)rings->most, "ms", (double)rings->ns / 1e6, "list",
			 list);
}

json_t *traffic_mixture_json(const struct pm_fabric *fabric,
			     const struct pm_lft_trace *trace,
			     const struct pm_mixture *mixture)
{
	return json_pack("{s:o, s:o}", "loops",
			 rings_json(fabric, trace, mixture, &mixture->loops, true),
			 "cycles",
			 rings_json(fabric, trace, mixture, &mixture->cycles, false));
}

/* ---- Text ---- */

static void print_event(const char *verb, const json_t *event)
{
	const char *by = json_string_value(json_object_get(event, "by"));

	if (!by) {
		printf(", not %s", verb);
	} else if (!strcmp(by, "start")) {
		fputs(", there from the start", stdout);
	} else if (!strcmp(by, "failure")) {
		printf(", %s by the failure", verb);
	} else if (!strcmp(by, "return")) {
		printf(", %s by the return of ", verb);
		cli_text_put(cli_json_label(json_object_get(event, "link")));
		cli_text_print(event, " at {%%%ms} ms");
	} else {
		printf(", %s by ", verb);
		cli_text_print(event, "Set {set} (");
		cli_text_put(cli_json_label(json_object_get(event, "node")));
		cli_text_print(event, ", block {block}) at {%%%ms} ms");
	}
}

static void print_ring(const json_t *ring)
{
	const json_t *list = json_object_get(ring, "switches"), *one;
	size_t i;

	if (list) {
		cli_text_print(ring, "  LID {lid}");
		if (json_is_object(json_object_get(ring, "owner"))) {
			fputs(" (", stdout);
			cli_text_put(cli_json_label(json_object_get(ring, "owner")));
			putchar(')');
		}
		putchar(':');
	} else {
		list = json_object_get(ring, "links");
		putchar(' ');
	}
	json_array_foreach(list, i, one) {
		putchar(' ');
		cli_text_put(cli_json_label(one));
	}
	print_event("made", json_object_get(ring, "made"));
	print_event("removed", json_object_get(ring, "removed"));
	putchar('\n');
}

static void print_rings(const json_t *recording, const char *kind, const char *format)
{
	const json_t *mixture = json_object_get(recording, "mixture");
	const json_t *rings = json_object_get(mixture, kind), *ring;
	json_int_t num = cli_json_number(rings, "num");
	size_t i;

	if (!num)
		return;
	cli_text_print(recording, "{name}: ");
	cli_text_print(rings, format);
	json_array_foreach(json_object_get(rings, "list"), i, ring)
		if (i < PRINTED)
			print_ring(ring);
	if (num > PRINTED)
		printf("  and %lld more\n", (long long)num - PRINTED);
}

void traffic_mixture_print(const json_t *recording)
{
	print_rings(recording, "loops",
		    "{num|loop|loops}, up to {most} at a time, for {%%%ms} ms in all\n");
	print_rings(recording, "cycles",
		    "{num|cycle|cycles} of channels that depend on each other, up to "
		    "{most} at a time, for {%%%ms} ms in all\n");
}
