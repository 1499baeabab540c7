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
	return json_pack("{s:s, s:o, s:I, s:I}", "kind",
			 name_kind(&topology->ports[part->port]), "ends",
			 describe_ends(topology, tree, part->port), "hosts",
			 (json_int_t)part->hosts, "links", (json_int_t)part->links);
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
	missing_forget(kept);
	kept->parts = parts;
	kept->last = json_is_object(missing) ? json_incref(missing) : NULL;
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

/* What a part's completion needs. */
struct completion {
	const struct missing_kept *kept;
	const struct known_hosts *hosts;
	const struct pm_requests *requests;
	time_t now;
};

/* Gives a part its kept data, or new data, and records these in `parts`. */
static int complete_part(const struct completion *with, json_t *part, json_t *parts)
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
	before = json_object_get(with->kept->parts, key);
	host = text_of(before, "host");
	host = host ? host : find_host(part, with->hosts);
	since = before ? number_of(before, "since") : (json_int_t)with->now;
	known = is_outage_acknowledged(part, since, with->requests);
	entry = make_entry(since, host);
	rc = json_object_set_new(part, "since", json_integer(since)) |
	     json_object_set_new(part, "acknowledged", json_boolean(known));
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

int missing_complete(struct missing_kept *kept, json_t *document,
		     const struct known_hosts *hosts, const struct pm_requests *requests,
		     time_t now)
{
	const struct completion with = {kept, hosts, requests, now};
	json_t *missing = json_object_get(document, "missing"), *parts, *part;
	int rc = 0;
	size_t i;

	if (!json_is_object(missing)) {
		if (!kept->last)
			return 0;
		missing = kept->last;
		if (json_object_set(document, "missing", missing))
			return -ENOMEM;
	}
	parts = json_object();
	if (!parts)
		return -ENOMEM;
	json_array_foreach(json_object_get(missing, "parts"), i, part)
		rc |= complete_part(&with, part, parts);
	rc |= set_sums(missing);
	if (rc) {
		json_decref(parts);
		return -ENOMEM;
	}
	json_incref(missing);
	missing_forget(kept);
	*kept = (struct missing_kept){parts, missing};
	return 0;
}

void missing_forget(struct missing_kept *kept)
{
	json_decref(kept->parts);
	json_decref(kept->last);
	*kept = (struct missing_kept){NULL, NULL};
}
