/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps the drawing, and lists what is at another place than drawn. */
#include "places.h"

#include "members.h"

#include <portmajor/base/print.h>
#include <portmajor/base/replace.h>
#include <portmajor/base/trusted.h>
#include <portmajor/fabric/degrade.h>
#include <portmajor/json/values.h>
#include <portmajor/netlist/netlist.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAMED 4	   /* changes in an event */
#define NAMES 1024 /* bytes of their names */

/* ---- The file ---- */

static struct pm_fabric *read_drawing(const char *path)
{
	struct pm_fabric *drawing = NULL;

	if (pm_trusted_file(path, NULL, NULL) ||
	    pm_netlist_read(path, &drawing, NULL, NULL))
		return NULL;
	return drawing;
}

static int print_drawing(FILE *out, const void *drawing)
{
	pm_netlist_write(drawing, out);
	return 0;
}

static void write_drawing(struct places *places, const char *path)
{
	size_t length = 0;
	char *text = NULL;

	places->unsaved = pm_text_print(print_drawing, places->drawing, &text, &length) ||
			  pm_replace_public(path, ".new", text, length, NULL);
	free(text);
}

/* Makes the first drawing; there is none without a plan, which may know more parts. */
static void begin_drawing(struct places *places, const struct places_facts *facts)
{
	struct pm_fabric *drawing = places->former ? read_drawing(places->former) : NULL;

	places->unsaved |= drawing != NULL;
	if (!drawing)
		drawing = read_drawing(facts->path);
	if (drawing && !pm_drawing_fits(drawing, facts->now)) {
		pm_fabric_free(drawing);
		drawing = NULL;
	}
	if (!drawing && facts->plan) {
		drawing = pm_fabric_clone(facts->plan->topology);
		places->partial = true;
	}
	places->drawing = drawing;
}

/* ---- Changes ---- */

static bool is_same_end(const json_t *a, const json_t *b)
{
	struct pm_request_part p, q;

	return pm_request_part_read(a, &p) && pm_request_part_read(b, &q) &&
	       p.guid == q.guid && p.num == q.num;
}

/* The same kind of change at the same ends in a list, or NULL. */
static json_t *find_change(const json_t *changes, const json_t *wanted)
{
	const json_t *ends = json_object_get(wanted, "ends"), *other;
	json_t *change;
	size_t i;

	json_array_foreach(changes, i, change) {
		bool same = !strcmp(text_of(change, "kind"), text_of(wanted, "kind"));

		other = json_object_get(change, "ends");
		same = same && json_array_size(ends) == json_array_size(other);
		for (size_t k = 0; same && k < json_array_size(ends); k++)
			same = is_same_end(json_array_get(ends, k),
					   json_array_get(other, k));
		if (same)
			return change;
	}
	return NULL;
}

json_t *places_end(const struct pm_fabric *fabric, uint32_t port)
{
	const struct pm_port *p = &fabric->ports[port];
	json_t *end = pm_json_end(fabric, fabric->nodes[p->node].guid, p->num);

	if (end && p->node >= fabric->num_switches)
		json_object_set_new(end, "host", json_true());
	return end;
}

/* The end that is drawn at the other side of a port; null: none. */
static json_t *make_drawn_peer(const struct pm_fabric *drawing,
			       const struct pm_fabric *now, uint32_t port)
{
	uint32_t drawn = pm_fabric_same_port(now, port, drawing);

	return drawn == PM_NONE || drawing->ports[drawn].peer == PM_NONE
		       ? json_null()
		       : places_end(drawing, drawing->ports[drawn].peer);
}

static unsigned int level_of(const struct pm_plan *plan, const struct pm_fabric *fabric,
			     uint32_t port)
{
	const struct pm_node *node = &fabric->nodes[fabric->ports[port].node];
	uint32_t sw = plan && node->type == PM_SWITCH
			      ? pm_fabric_find_guid(plan->topology, node->guid)
			      : PM_NONE;

	return sw == PM_NONE ? 0 : plan->tree.level[sw];
}

uint32_t places_lower(const struct pm_plan *plan, const struct pm_fabric *fabric,
		      uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	return level_of(plan, fabric, peer) < level_of(plan, fabric, port) ? peer : port;
}

/* Describes a link at `port` that is not drawn; of switches, the lower comes first. */
static json_t *make_change(const struct pm_fabric *drawing,
			   const struct places_facts *facts, uint32_t port)
{
	const struct pm_fabric *now = facts->now;
	uint32_t peer = now->ports[port].peer, first, second;
	json_t *was = make_drawn_peer(drawing, now, port);
	bool host = now->ports[port].node >= now->num_switches;

	if (host && json_is_object(was))
		return json_pack("{s:s, s:[o, o], s:[o], s:I}", "kind", "moved", "ends",
				 places_end(now, port), places_end(now, peer), "was", was,
				 "since", (json_int_t)facts->time);
	json_decref(was);
	first = host ? peer : places_lower(facts->plan, now, port);
	second = now->ports[first].peer;
	return json_pack("{s:s, s:[o, o], s:[o, o], s:I}", "kind", "recabled", "ends",
			 places_end(now, first), places_end(now, second), "was",
			 make_drawn_peer(drawing, now, first),
			 make_drawn_peer(drawing, now, second), "since",
			 (json_int_t)facts->time);
}

static bool is_change_acknowledged(const json_t *change,
				   const struct pm_requests *requests)
{
	struct pm_request_part part;

	return pm_request_part_read(json_array_get(json_object_get(change, "ends"), 0),
				    &part) &&
	       pm_requests_is_acknowledged(requests, part.guid, part.num,
					   (uint64_t)number_of(change, "since"));
}

/*
 * A known change began earlier; a new one has another time than what was acknowledged at
 * these ends.
 */
static void set_since(json_t *change, const json_t *before,
		      const struct places_facts *facts)
{
	const json_t *known = find_change(before, change);

	if (known) {
		json_object_set(change, "since", json_object_get(known, "since"));
		return;
	}
	while (change && is_change_acknowledged(change, facts->requests))
		json_object_set_new(change, "since",
				    json_integer(number_of(change, "since") + 1));
}

/* Lists links that are not as drawn; NULL without memory. */
static json_t *list_elsewhere(const struct places *places,
			      const struct places_facts *facts)
{
	struct pm_drawing_diff diff;
	json_t *list = json_array();

	if (pm_drawing_compare(places->drawing, facts->now, &diff, NULL)) {
		json_decref(list);
		return NULL;
	}
	for (uint32_t i = 0; i < diff.num_elsewhere; i++) {
		json_t *change = make_change(places->drawing, facts, diff.elsewhere[i]);

		set_since(change, places->changes, facts);
		list = pm_json_append(list, change);
	}
	pm_drawing_diff_free(&diff);
	return list;
}

/* ---- Replaced nodes ---- */

static bool has_guid(const json_t *ends, uint64_t guid)
{
	const char *text = text_of(json_array_get(ends, 0), "guid");

	return text && strtoull(text, NULL, 16) == guid;
}

/*
 * Adds a node to the list. One replaced before was what the first one was; if that is
 * back, it is no change any more.
 */
static json_t *add_replaced(json_t *list, const struct places_facts *facts,
			    const struct pm_drawing_replaced *replaced)
{
	json_t *was = NULL, *change;
	size_t i;

	json_array_foreach(list, i, change) {
		if (!strcmp(text_of(change, "kind"), "replaced") &&
		    has_guid(json_object_get(change, "ends"), replaced->was)) {
			was = json_incref(json_object_get(change, "was"));
			json_array_remove(list, i);
			break;
		}
	}
	if (was && has_guid(was, replaced->is)) {
		json_decref(was);
		return list;
	}
	if (!was)
		was = json_pack("[{s:o, s:o}]", "guid", pm_json_guid(replaced->was),
				"name", pm_json_filled(replaced->name));
	return pm_json_append(list,
			      json_pack("{s:s, s:[o], s:o, s:I}", "kind", "replaced",
					"ends", pm_json_end(facts->now, replaced->is, 0),
					"was", was, "since", (json_int_t)facts->time));
}

/* The replaced nodes of the list before. */
static json_t *copy_replaced(const json_t *before)
{
	json_t *list = json_array(), *change;
	size_t i;

	json_array_foreach(before, i, change) {
		if (!strcmp(text_of(change, "kind"), "replaced"))
			list = pm_json_append(list, json_incref(change));
	}
	return list;
}

/* ---- Acknowledged changes ---- */

/* Draws the link at a change's first end. */
static void adopt(struct places *places, const struct pm_fabric *now,
		  const json_t *change)
{
	struct pm_request_part part;
	uint32_t node;

	if (!strcmp(text_of(change, "kind"), "replaced") ||
	    !pm_request_part_read(json_array_get(json_object_get(change, "ends"), 0),
				  &part))
		return;
	node = pm_fabric_find_guid(now, part.guid);
	if (node != PM_NONE && part.num <= now->nodes[node].num_ports &&
	    now->ports[now->nodes[node].first_port + part.num].peer != PM_NONE &&
	    !pm_drawing_adopt(&places->drawing, now,
			      now->nodes[node].first_port + part.num, NULL))
		places->unsaved = true;
}

/* Adopts changes, and removes them from the list; returns them. */
static json_t *adopt_acknowledged(struct places *places, const struct places_facts *facts)
{
	json_t *adopted = json_array();

	for (size_t i = 0; i < json_array_size(places->changes);) {
		json_t *change = json_array_get(places->changes, i);

		if (!is_change_acknowledged(change, facts->requests)) {
			i++;
			continue;
		}
		adopt(places, facts->now, change);
		json_array_append(adopted, change);
		json_array_remove(places->changes, i);
	}
	return adopted;
}

static bool is_in_place(const struct pm_fabric *now, const json_t *change)
{
	const json_t *ends = json_object_get(change, "ends");
	struct pm_request_part a, b;
	uint32_t node, peer;

	if (!pm_request_part_read(json_array_get(ends, 0), &a) ||
	    !pm_request_part_read(json_array_get(ends, 1), &b))
		return false;
	node = pm_fabric_find_guid(now, a.guid);
	if (node == PM_NONE || a.num > now->nodes[node].num_ports)
		return false;
	peer = now->ports[now->nodes[node].first_port + a.num].peer;
	return peer != PM_NONE && now->ports[peer].num == b.num &&
	       now->nodes[now->ports[peer].node].guid == b.guid;
}

/*
 * Moves the changes that end with an adoption, as that of the other cable of a swap, to
 * the adopted ones: the cable is where it was.
 */
static void adopt_with_others(struct places *places, const struct pm_fabric *now,
			      const json_t *list, json_t *adopted)
{
	for (size_t i = 0;
	     json_array_size(adopted) && i < json_array_size(places->changes);) {
		json_t *change = json_array_get(places->changes, i);

		if (find_change(list, change) || !is_in_place(now, change)) {
			i++;
			continue;
		}
		json_array_append(adopted, change);
		json_array_remove(places->changes, i);
	}
}

/* ---- Events ---- */

/* Notes the changes of a kind that `list` has and `other` lacks; kind NULL: of any. */
static void note_changes(struct events *events, enum event_severity severity,
			 const char *event, const char *kind, const json_t *list,
			 const json_t *other)
{
	char names[NAMES] = "";
	size_t i, count = 0, used = 0;
	const json_t *change;

	json_array_foreach(list, i, change) {
		char name[NAMES / NAMED];

		if ((kind && strcmp(text_of(change, "kind"), kind) != 0) ||
		    find_change(other, change) || count++ >= NAMED)
			continue;
		pm_json_change_print(change, name, sizeof(name));
		used += (size_t)snprintf(names + used, NAMES - used, "%s%s",
					 used ? "; " : "", name);
	}
	if (count > NAMED)
		events_note(events, severity, event, "%zu: %s; ..", count, names);
	else if (count)
		events_note(events, severity, event, "%s", names);
}

static void note_all(struct events *events, const json_t *before, const json_t *now,
		     const json_t *adopted)
{
	static const char *const kinds[] = {"recabled", "moved", "replaced"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		note_changes(events, EVENT_WARNING, kinds[i], kinds[i], now, before);
	note_changes(events, EVENT_NOTICE, "adopted", NULL, adopted, NULL);
	note_changes(events, EVENT_NOTICE, "undone", NULL, before, now);
}

/* ---- A round ---- */

/* Updates the drawing and lists all changes; NULL without memory. */
static json_t *compare_places(struct places *places, const struct places_facts *facts)
{
	json_t *list = copy_replaced(places->changes), *elsewhere;
	struct pm_drawing_replaced *replaced = NULL;
	uint32_t num = 0;
	bool changed = false;
	int rc = pm_drawing_update(&places->drawing, facts->now, &replaced, &num,
				   &changed, NULL);

	for (uint32_t i = 0; i < num; i++)
		list = add_replaced(list, facts, &replaced[i]);
	free(replaced);
	places->unsaved |= changed;
	elsewhere = rc ? NULL : list_elsewhere(places, facts);
	if (elsewhere && list && !json_array_extend(list, elsewhere)) {
		json_decref(elsewhere);
		return list;
	}
	json_decref(elsewhere);
	json_decref(list);
	return NULL;
}

void places_inherit(struct places *places, char *former, const json_t *changes)
{
	places_forget(places);
	*places = (struct places){
		.former = former, .changes = json_deep_copy(changes), .begun = true};
}

void places_update(struct places *places, const struct places_facts *facts)
{
	json_t *list, *adopted;

	if (!places->begun)
		places->changes = json_deep_copy(json_object_get(
			json_object_get(facts->previous, "changed"), "list"));
	places->begun = true;
	if (facts->now && !places->drawing)
		begin_drawing(places, facts);
	if (!facts->now || !places->drawing)
		return;
	adopted = adopt_acknowledged(places, facts);
	list = compare_places(places, facts);
	if (list) {
		adopt_with_others(places, facts->now, list, adopted);
		note_all(facts->events, places->changes, list, adopted);
		json_decref(places->changes);
		places->changes = list;
	}
	json_decref(adopted);
	if (places->unsaved)
		write_drawing(places, facts->path);
}

json_t *places_describe(const struct places *places, const struct pm_requests *requests)
{
	json_t *list = json_array(), *change;
	json_int_t open = 0;
	size_t i;

	if (!places->changes) {
		json_decref(list);
		return json_null();
	}
	json_array_foreach(places->changes, i, change) {
		bool acknowledged = is_change_acknowledged(change, requests);
		json_t *copy = json_copy(change);

		open += !acknowledged;
		if (i >= PLACES_LISTED || !copy) {
			json_decref(copy);
			continue;
		}
		json_object_set_new(copy, "acknowledged", json_boolean(acknowledged));
		list = pm_json_append(list, copy);
	}
	return json_pack("{s:I, s:o}", "count", open, "list", list);
}

void places_forget(struct places *places)
{
	pm_fabric_free(places->drawing);
	json_decref(places->changes);
	free(places->former);
	*places = (struct places){0};
}
