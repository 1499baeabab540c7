/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps the times and acknowledgements of missing parts in the state document. */
#include "missing_kept.h"

#include "members.h"

#include <portmajor/json/values.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- The sweeper's document ---- */

static json_t *describe_port(const struct pm_fabric *topology, uint32_t port)
{
	const struct pm_port *p = &topology->ports[port];

	return pm_json_end(topology, topology->nodes[p->node].guid, p->num);
}

static json_t *describe_ends(const struct pm_fabric *topology, const struct pm_tree *tree,
			     uint32_t port)
{
	uint32_t peer = topology->ports[port].peer;

	if (!topology->ports[port].num || peer == PM_NONE)
		return json_pack("[o]", describe_port(topology, port));
	if (tree->level[topology->ports[peer].node] <
	    tree->level[topology->ports[port].node])
		return json_pack("[o, o]", describe_port(topology, peer),
				 describe_port(topology, port));
	return json_pack("[o, o]", describe_port(topology, port),
			 describe_port(topology, peer));
}

static const char *name_kind(const struct pm_port *port)
{
	if (!port->num)
		return "switch";
	return port->peer != PM_NONE ? "link" : "host";
}

static json_t *describe_part(const struct pm_fabric *topology, const struct pm_tree *tree,
			     const struct pm_missing_part *part)
{
	return json_pack("{s:s, s:o, s:I, s:I, s:b}", "kind",
			 name_kind(&topology->ports[part->port]), "ends",
			 describe_ends(topology, tree, part->port), "hosts",
			 (json_int_t)part->hosts, "links", (json_int_t)part->links,
			 "behind", (int)part->behind);
}

json_t *missing_describe(const struct pm_fabric *topology, const struct pm_tree *tree,
			 const struct pm_missing *missing)
{
	json_t *parts = json_array();

	for (uint32_t i = 0; i < missing->num && i < MISSING_LISTED; i++)
		parts = pm_json_append(parts,
				       describe_part(topology, tree, &missing->parts[i]));
	return json_pack("{s:{s:I, s:I, s:I}, s:o}", "total", "switches",
			 (json_int_t)missing->switches, "links",
			 (json_int_t)missing->links, "hosts", (json_int_t)missing->hosts,
			 "parts", parts);
}

/* ---- Kept data ---- */

static bool is_acknowledged(const json_t *part)
{
	return json_is_true(json_object_get(part, "acknowledged"));
}

/* The data of a part; host: of node-name-map or a file, or NULL. */
static json_t *make_entry(json_int_t since, const char *host)
{
	json_t *entry = json_pack("{s:I}", "since", since);

	if (!host || (entry && !json_object_set_new(entry, "host", pm_json_text(host))))
		return entry;
	json_decref(entry);
	return NULL;
}

/* Adds outages that are acknowledged, and not in the previous state. */
static void add_acknowledged(json_t *parts, const struct pm_requests *requests)
{
	for (uint32_t i = 0; i < requests->acknowledged.num; i++) {
		const struct pm_request_part *part = &requests->acknowledged.list[i];
		char key[MEMBERS_KEY];

		snprintf(key, sizeof(key), "0x%016" PRIx64 ":%u", part->guid, part->num);
		if (!json_object_get(parts, key))
			json_object_set_new(parts, key,
					    make_entry((json_int_t)part->mark, NULL));
	}
}

void missing_begin(struct missing_kept *kept, const json_t *state,
		   const struct pm_requests *requests)
{
	json_t *missing = json_object_get(state, "missing");
	json_t *parts = json_object();
	char key[MEMBERS_KEY];
	json_t *part;
	size_t i;

	json_array_foreach(json_object_get(missing, "parts"), i, part) {
		json_t *entry =
			make_entry(number_of(part, "since"), text_of(part, "host"));

		if (!make_key(part, key) || !entry)
			json_decref(entry);
		else
			json_object_set_new(parts, key, entry);
	}
	add_acknowledged(parts, requests);
	json_decref(kept->parts);
	json_decref(kept->last);
	kept->parts = parts;
	kept->last = json_is_object(missing) ? json_incref(missing) : NULL;
}

void missing_take(struct missing_kept *kept, const json_t *document)
{
	json_t *missing = json_object_get(document, "missing");

	if (!json_is_object(missing))
		return;
	json_decref(kept->raw);
	kept->raw = json_incref(missing);
}

/* The name of the host that was at a part's port, or NULL. */
static const char *find_host(const json_t *part, const struct known_hosts *hosts)
{
	const char *kind = text_of(part, "kind");
	const json_t *end = json_array_get(json_object_get(part, "ends"), 0);
	const char *guid = text_of(end, "guid");
	const struct known_host *host;

	if (!kind || strcmp(kind, "host") != 0 || !guid)
		return NULL;
	host = known_hosts_at(hosts, strtoull(guid, NULL, 16),
			      (unsigned int)number_of(end, "port"));
	return host ? host->name : NULL;
}

static bool is_outage_acknowledged(const json_t *part, json_int_t since,
				   const struct pm_requests *requests)
{
	const json_t *end = json_array_get(json_object_get(part, "ends"), 0);
	struct pm_request_part at;

	return pm_request_part_read(end, &at) &&
	       pm_requests_is_acknowledged(requests, at.guid, at.num, (uint64_t)since);
}

/* When a new outage begins: no earlier one, of another kind, has the same time. */
static json_int_t begin_outage(const json_t *part, const struct missing_facts *facts)
{
	json_int_t since = (json_int_t)facts->now;

	while (is_outage_acknowledged(part, since, facts->requests))
		since++;
	return since;
}

/*
 * Gives a part its kept data, or new data, and records these in `parts`. document: with
 * the drains.
 */
static int complete_part(const struct missing_kept *kept,
			 const struct missing_facts *facts, const json_t *document,
			 json_t *part, json_t *parts)
{
	char key[MEMBERS_KEY];
	const char *host;
	const json_t *before;
	json_int_t since;
	json_t *entry;
	bool known;
	int rc;

	if (!make_key(part, key))
		return 0;
	before = json_object_get(kept->parts, key);
	host = text_of(part, "host");
	host = host ? host : text_of(before, "host");
	host = host ? host : find_host(part, facts->hosts);
	since = before ? number_of(before, "since") : begin_outage(part, facts);
	known = is_outage_acknowledged(part, since, facts->requests);
	entry = make_entry(since, host);
	rc = json_object_set_new(part, "since", json_integer(since)) |
	     json_object_set_new(part, "acknowledged", json_boolean(known)) |
	     json_object_set_new(
		     part, "drained",
		     json_boolean(pm_request_is_drained(document, part, NULL)));
	rc |= entry ? json_object_update(part, entry) : -1;
	return rc | json_object_set_new(parts, key, entry);
}

/* Sets the member NAME: how many missing parts are not acknowledged. */
static int set_sum(json_t *missing, const char *name)
{
	json_int_t sum = number_of(json_object_get(missing, "total"), name);
	const json_t *part;
	size_t i;

	json_array_foreach(json_object_get(missing, "parts"), i, part) {
		const char *kind = text_of(part, "kind");

		if (!is_acknowledged(part))
			continue;
		sum -= strcmp(name, "switches") != 0 ? number_of(part, name)
		       : kind			     ? !strcmp(kind, "switch")
						     : 0;
	}
	return json_object_set_new(missing, name, json_integer(sum));
}

static int set_sums(json_t *missing)
{
	json_int_t acknowledged = 0;
	const json_t *part;
	size_t i;

	json_array_foreach(json_object_get(missing, "parts"), i, part)
		acknowledged += is_acknowledged(part);
	return set_sum(missing, "switches") | set_sum(missing, "links") |
	       set_sum(missing, "hosts") |
	       json_object_set_new(missing, "acknowledged", json_integer(acknowledged));
}

/* The newest member, or the last one; NULL: neither is known, or no memory (*rc). */
static json_t *make_member(const struct missing_kept *kept,
			   const struct missing_facts *facts, int *rc)
{
	struct missing_drawing drawing = facts->drawing;
	json_t *from = kept->raw ? kept->raw : kept->last;
	json_t *missing = from ? json_deep_copy(from) : NULL;

	*rc = from && !missing ? -ENOMEM : 0;
	drawing.before = json_object_get(kept->last, "parts");
	if (missing && kept->raw && drawing.drawing && drawing.now)
		*rc = missing_draw(missing, &drawing);
	return missing;
}

int missing_complete(struct missing_kept *kept, json_t *document,
		     const struct missing_facts *facts)
{
	json_t *missing, *parts, *part;
	size_t i;
	int rc;

	missing = make_member(kept, facts, &rc);
	parts = json_object();
	json_array_foreach(json_object_get(missing, "parts"), i, part)
		rc |= complete_part(kept, facts, document, part, parts);
	if (!missing || !parts || rc || set_sums(missing) ||
	    json_object_set(document, "missing", missing)) {
		rc = missing || rc ? -ENOMEM : 0;
		json_decref(missing);
		json_decref(parts);
		return rc;
	}
	json_decref(kept->parts);
	json_decref(kept->last);
	kept->parts = parts;
	kept->last = missing;
	return 0;
}

void missing_forget(struct missing_kept *kept)
{
	json_decref(kept->parts);
	json_decref(kept->last);
	json_decref(kept->raw);
	*kept = (struct missing_kept){0};
}
