/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Corrects missing parts by the drawing. */
#include "missing_drawn.h"

#include "members.h"
#include "missing_kept.h"
#include "places.h"

#include <portmajor/fabric/roles.h>
#include <portmajor/json/values.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The work on one document. */
struct drawn {
	const struct missing_drawing *with;
	json_t *index;		 /* {key: null} of the parts in the list so far */
	json_t *beside, *behind; /* lists */
	json_int_t switches, links, hosts; /* sums of all parts, listed or not */
};

/* ---- Ends ---- */

static uint32_t find_end_port(const struct pm_fabric *fabric, const json_t *end)
{
	struct pm_request_part at;
	uint32_t node;

	if (!pm_request_part_read(end, &at))
		return PM_NONE;
	node = pm_fabric_find_guid(fabric, at.guid);
	return node == PM_NONE || at.num > fabric->nodes[node].num_ports
		       ? PM_NONE
		       : fabric->nodes[node].first_port + at.num;
}

static bool is_linked(const struct pm_fabric *fabric, uint32_t port)
{
	return port != PM_NONE && fabric->ports[port].peer != PM_NONE;
}

/* Whether a port of the drawing has a link now. */
static bool is_linked_now(const struct missing_drawing *with, uint32_t drawn)
{
	return is_linked(with->now, pm_fabric_same_port(with->drawing, drawn, with->now));
}

static bool is_host_port(const struct pm_fabric *fabric, uint32_t port)
{
	return fabric->ports[port].node >= fabric->num_switches;
}

/* ---- The lists ---- */

static bool is_kind(const json_t *part, const char *kind)
{
	const char *found = text_of(part, "kind");

	return found && !strcmp(found, kind);
}

/* Adds a part, which it takes over, unless it is in the list. */
static int add_part(struct drawn *drawn, json_t *part)
{
	bool behind = json_is_true(json_object_get(part, "behind"));
	json_t *list = behind ? drawn->behind : drawn->beside;
	char key[MEMBERS_KEY];
	int rc = 0;

	if (!part)
		return -ENOMEM;
	if (!make_key(part, key) || json_object_get(drawn->index, key)) {
		json_decref(part);
		return 0;
	}
	drawn->switches += is_kind(part, "switch");
	drawn->links += number_of(part, "links");
	drawn->hosts += number_of(part, "hosts");
	rc = json_object_set_new(drawn->index, key, json_null());
	if (json_array_size(list) < MISSING_LISTED)
		rc |= json_array_append(list, part);
	json_decref(part);
	return rc ? -ENOMEM : 0;
}

/* A host of the drawing, by its port. */
static json_t *make_host(const struct pm_fabric *drawing, uint32_t port)
{
	const struct pm_port *p = &drawing->ports[port];

	return json_pack("{s:s, s:[o, o], s:I, s:I, s:o}", "kind", "host", "ends",
			 places_end(drawing, port), places_end(drawing, p->peer), "hosts",
			 (json_int_t)1, "links", (json_int_t)0, "host",
			 pm_json_text(pm_fabric_name(drawing, p->node)));
}

static json_t *make_link(const struct missing_drawing *with, uint32_t port)
{
	const struct pm_fabric *drawing = with->drawing;

	port = places_lower(with->plan, drawing, port);
	return json_pack("{s:s, s:[o, o], s:I, s:I}", "kind", "link", "ends",
			 places_end(drawing, port),
			 places_end(drawing, drawing->ports[port].peer), "hosts",
			 (json_int_t)0, "links", (json_int_t)1);
}

/* ---- What the plan says ---- */

/* Whether a part was missing before, by its first end. */
static bool was_missing(const struct missing_drawing *with, const json_t *part)
{
	char key[MEMBERS_KEY], other[MEMBERS_KEY];
	const json_t *before;
	size_t i;

	if (!make_key(part, key))
		return false;
	json_array_foreach(with->before, i, before) {
		if (make_key(before, other) && !strcmp(key, other))
			return true;
	}
	return false;
}

/*
 * Whether a host of the drawing is discovered at another port than drawn. At its own port
 * it may have been discovered before a failure that the plan's part tells of.
 */
static bool is_elsewhere(const struct missing_drawing *with, uint32_t host)
{
	uint32_t there = pm_fabric_same_port(with->drawing, host, with->now);

	return is_linked(with->now, there) &&
	       pm_drawing_peer(with->now, there, with->drawing) !=
		       with->drawing->ports[host].peer;
}

/* Adds the host that is drawn at a slot, unless it is elsewhere. */
static int take_slot(struct drawn *drawn, json_t *part)
{
	const struct missing_drawing *with = drawn->with;
	uint32_t slot = find_end_port(with->drawing,
				      json_array_get(json_object_get(part, "ends"), 0));
	uint32_t host = slot == PM_NONE ? PM_NONE : with->drawing->ports[slot].peer;

	if (host != PM_NONE && is_host_port(with->drawing, host))
		return is_elsewhere(with, host)
			       ? 0
			       : add_part(drawn, make_host(with->drawing, host));
	/* The slot of a host that has moved for good, or of one never known. */
	if (host != PM_NONE ||
	    (slot != PM_NONE && !with->partial && !was_missing(with, part)))
		return 0;
	return add_part(drawn, json_incref(part));
}

/*
 * Lists names of hosts that are drawn at a missing switch, and not elsewhere now. An
 * aggregation node is part of its switch.
 */
static int name_hosts(const struct drawn *drawn, json_t *part, uint32_t sw)
{
	const struct pm_fabric *drawing = drawn->with->drawing;
	json_t *names = json_array();
	json_int_t elsewhere = 0;

	pm_for_each_port(i, drawing, sw) {
		uint32_t host = drawing->ports[i].peer;

		if (host == PM_NONE || !is_host_port(drawing, host) ||
		    pm_is_aggregation_node(drawing, drawing->ports[host].node))
			continue;
		if (is_elsewhere(drawn->with, host))
			elsewhere++;
		else
			names = pm_json_append(
				names, pm_json_text(pm_fabric_name(
					       drawing, drawing->ports[host].node)));
	}
	elsewhere = number_of(part, "hosts") - elsewhere;
	return json_object_set_new(part, "hosts",
				   json_integer(elsewhere > 0 ? elsewhere : 0)) |
	       json_object_set_new(part, "names", names);
}

static int take_switch(struct drawn *drawn, json_t *part)
{
	uint32_t port = find_end_port(drawn->with->drawing,
				      json_array_get(json_object_get(part, "ends"), 0));

	if (port != PM_NONE &&
	    name_hosts(drawn, part, drawn->with->drawing->ports[port].node))
		return -ENOMEM;
	return add_part(drawn, json_incref(part));
}

/* A link that is not drawn was never adopted. */
static int take_planned_link(struct drawn *drawn, json_t *part)
{
	const struct pm_fabric *drawing = drawn->with->drawing;
	const json_t *ends = json_object_get(part, "ends");
	uint32_t a = find_end_port(drawing, json_array_get(ends, 0));
	uint32_t b = find_end_port(drawing, json_array_get(ends, 1));

	return a == PM_NONE || b == PM_NONE || drawing->ports[a].peer == b
		       ? add_part(drawn, json_incref(part))
		       : 0;
}

static int take_planned(struct drawn *drawn, const json_t *parts)
{
	json_t *part;
	size_t i;
	int rc = 0;

	json_array_foreach(parts, i, part) {
		if (is_kind(part, "switch"))
			rc |= take_switch(drawn, part);
		else if (is_kind(part, "host"))
			rc |= take_slot(drawn, part);
		else
			rc |= take_planned_link(drawn, part);
	}
	return rc;
}

/* ---- What the drawing says ---- */

static int take_drawn(struct drawn *drawn)
{
	const struct pm_fabric *drawing = drawn->with->drawing;
	struct pm_drawing_diff diff;
	int rc = pm_drawing_compare(drawing, drawn->with->now, &diff, NULL);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < diff.num_missing && !rc; i++) {
		uint32_t port = diff.missing[i];

		rc = add_part(drawn, is_host_port(drawing, port)
					     ? make_host(drawing, port)
					     : make_link(drawn->with, port));
	}
	pm_drawing_diff_free(&diff);
	return rc;
}

/* ---- What was missing before ---- */

/* Whether a part of the last list is neither there nor another part's place. */
static bool is_still_missing(const struct missing_drawing *with, const json_t *part)
{
	const json_t *ends = json_object_get(part, "ends");
	const json_t *end = json_array_get(ends, 0);
	uint32_t drawn = find_end_port(with->drawing, end),
		 now = find_end_port(with->now, end);
	uint32_t peer;

	if (is_kind(part, "switch"))
		return drawn != PM_NONE &&
		       (now == PM_NONE ||
			!pm_fabric_has_link(with->now, with->now->ports[now].node));
	if (is_kind(part, "host") && json_is_true(json_object_get(end, "host")))
		return !is_linked(with->now, now);
	if (is_linked(with->now, now))
		return false;
	if (is_kind(part, "host")) /* an unknown one, of a leaf that is missing */
		return now == PM_NONE;
	peer = find_end_port(with->drawing, json_array_get(ends, 1));
	return drawn != PM_NONE && peer != PM_NONE &&
	       with->drawing->ports[drawn].peer == peer && !is_linked_now(with, peer);
}

/* Whether the drawing has the part at its place, in a switch that is missing, too. */
static bool is_in_missing(const struct missing_drawing *with, const json_t *part)
{
	const json_t *ends = json_object_get(part, "ends"), *end;
	size_t i;

	json_array_foreach(ends, i, end) {
		struct pm_request_part at;

		if (json_is_true(json_object_get(end, "host")) ||
		    !pm_request_part_read(end, &at))
			continue;
		if (!pm_drawing_is_present(with->now, at.guid))
			return true;
	}
	return false;
}

/* A host is known by its GUID still when the drawing has another one at its place. */
static json_t *copy_kept(const struct missing_drawing *with, const json_t *part)
{
	json_t *copy = json_deep_copy(part);
	json_t *ends = json_object_get(copy, "ends");
	uint32_t host = find_end_port(with->drawing, json_array_get(ends, 0));

	if (is_kind(part, "host") && !is_in_missing(with, part) &&
	    !is_linked(with->drawing, host) && json_array_size(ends) == 2)
		json_array_remove(ends, 1);
	if (is_in_missing(with, part)) { /* which counts it, or has no links any more */
		json_object_set_new(copy, "hosts", json_integer(0));
		json_object_set_new(copy, "links", json_integer(0));
		json_object_set_new(copy, "behind",
				    json_boolean(!is_kind(part, "switch")));
	}
	return copy;
}

static int take_before(struct drawn *drawn)
{
	const json_t *part;
	size_t i;
	int rc = 0;

	json_array_foreach(drawn->with->before, i, part) {
		if (is_still_missing(drawn->with, part))
			rc |= add_part(drawn, copy_kept(drawn->with, part));
	}
	return rc;
}

/* ---- All of it ---- */

/* Parts that are not listed stay in the sums. */
static int put_result(json_t *missing, struct drawn *drawn, json_int_t parts[3])
{
	static const char *const names[] = {"switches", "links", "hosts"};
	const json_int_t sums[] = {drawn->switches, drawn->links, drawn->hosts};
	json_t *total = json_object_get(missing, "total");
	int rc = json_array_extend(drawn->beside, drawn->behind);

	for (size_t i = 0; i < 3; i++)
		rc |= json_object_set_new(
			total, names[i],
			json_integer(number_of(total, names[i]) - parts[i] + sums[i]));
	while (json_array_size(drawn->beside) > MISSING_LISTED)
		json_array_remove(drawn->beside, json_array_size(drawn->beside) - 1);
	return rc | json_object_set(missing, "parts", drawn->beside);
}

static void add_sums(const json_t *parts, json_int_t sums[3])
{
	const json_t *part;
	size_t i;

	json_array_foreach(parts, i, part) {
		sums[0] += is_kind(part, "switch");
		sums[1] += number_of(part, "links");
		sums[2] += number_of(part, "hosts");
	}
}

int missing_draw(json_t *missing, const struct missing_drawing *with)
{
	const json_t *parts = json_object_get(missing, "parts");
	struct drawn drawn = {.with = with,
			      .index = json_object(),
			      .beside = json_array(),
			      .behind = json_array()};
	json_int_t sums[3] = {0, 0, 0};
	int rc = 0;

	add_sums(parts, sums);
	if (!drawn.index || !drawn.beside || !drawn.behind)
		rc = -ENOMEM;
	rc = rc ? rc : take_planned(&drawn, parts);
	rc = rc ? rc : take_drawn(&drawn);
	rc = rc ? rc : take_before(&drawn);
	rc = rc ? rc : put_result(missing, &drawn, sums);
	json_decref(drawn.index);
	json_decref(drawn.beside);
	json_decref(drawn.behind);
	return rc ? -ENOMEM : 0;
}
