/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads and writes operators' requests, and changes them by a request. */
#include <portmajor/base/alloc.h>
#include <portmajor/base/replace.h>
#include <portmajor/base/textfile.h>
#include <portmajor/files/requests.h>
#include <portmajor/json/values.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define SCHEMA "portmajor-requests"
#define VERSION 1
#define MAX_FILE ((size_t)16 << 20)

static const char *text_of(const json_t *object, const char *member)
{
	return json_string_value(json_object_get(object, member));
}

/* A member that is a number from 0 on; false: it is none. */
static bool take_number(const json_t *object, const char *member, uint64_t *number)
{
	const json_t *value = json_object_get(object, member);

	*number = (uint64_t)json_integer_value(value);
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

/* ---- Parts ---- */

bool pm_request_part_read(const json_t *object, struct pm_request_part *part)
{
	const char *guid = text_of(object, "guid");
	uint64_t port;
	char *end;

	if (!guid || strncmp(guid, "0x", 2) != 0 || strlen(guid) > 18 ||
	    strspn(guid + 2, "0123456789abcdefABCDEF") != strlen(guid + 2) ||
	    !take_number(object, "port", &port) || port > PM_MAX_PORTS)
		return false;
	*part = (struct pm_request_part){strtoull(guid, &end, 16), (unsigned int)port, 0};
	return part->guid != 0;
}

bool pm_request_part_is(const json_t *thing, const struct pm_request_part *part,
			bool any_end)
{
	const json_t *ends = json_object_get(thing, "ends");
	struct pm_request_part end;

	for (size_t i = 0; i < json_array_size(ends) && (any_end || !i); i++)
		if (pm_request_part_read(json_array_get(ends, i), &end) &&
		    end.guid == part->guid && end.num == part->num)
			return true;
	return false;
}

/* Whether a drain is of one of these ends, or of its switch. */
static bool has_end(const json_t *ends, const struct pm_request_part *drain)
{
	struct pm_request_part end;

	for (size_t i = 0; i < json_array_size(ends); i++)
		if (pm_request_part_read(json_array_get(ends, i), &end) &&
		    end.guid == drain->guid && (!drain->num || end.num == drain->num))
			return true;
	return false;
}

bool pm_request_is_drained(const json_t *state, const json_t *thing, const char *word)
{
	const json_t *list = json_object_get(json_object_get(state, "drained"), "list");
	const json_t *object;
	size_t i;

	json_array_foreach(list, i, object) {
		const char *its = text_of(object, "state");
		struct pm_request_part drain;

		if ((!word || (its && !strcmp(its, word))) &&
		    pm_request_part_read(object, &drain) &&
		    has_end(json_object_get(thing, "ends"), &drain))
			return true;
	}
	return false;
}

bool pm_request_is_held(const json_t *link)
{
	const char *state = text_of(link, "state");

	return state && (!strcmp(state, "on-hold") || !strcmp(state, "needed"));
}

static int add_part(struct pm_request_parts *parts, const struct pm_request_part *part)
{
	if (pm_grow(&parts->list, &parts->room, parts->num + 1, sizeof(*parts->list)))
		return -ENOMEM;
	parts->list[parts->num++] = *part;
	return 0;
}

static bool is_same_place(const struct pm_request_part *a,
			  const struct pm_request_part *b)
{
	return a->guid == b->guid && a->num == b->num;
}

/* Whether parts have this one, with this mark. */
static bool has_part(const struct pm_request_parts *parts,
		     const struct pm_request_part *part)
{
	for (uint32_t i = 0; i < parts->num; i++)
		if (is_same_place(&parts->list[i], part) &&
		    parts->list[i].mark == part->mark)
			return true;
	return false;
}

/* Keeps the parts for which `keeps` is true; whether any has gone. */
static bool keep_parts(struct pm_request_parts *parts,
		       bool (*keeps)(const struct pm_request_part *part, const void *arg),
		       const void *arg)
{
	uint32_t before = parts->num;

	parts->num = 0;
	for (uint32_t i = 0; i < before; i++)
		if (keeps(&parts->list[i], arg))
			parts->list[parts->num++] = parts->list[i];
	return parts->num != before;
}

static int copy_parts(const struct pm_request_parts *from, struct pm_request_parts *to)
{
	*to = (struct pm_request_parts){pm_copy(from->list, from->num, sizeof(*to->list)),
					from->num, from->num};
	return to->list ? 0 : -ENOMEM;
}

/* ---- The whole ---- */

void pm_requests_free(struct pm_requests *requests)
{
	pm_drains_free(&requests->drains);
	free(requests->releases.list);
	free(requests->acknowledged.list);
	*requests = (struct pm_requests){0};
}

int pm_requests_copy(const struct pm_requests *from, struct pm_requests *to,
		     struct pm_error *err)
{
	struct pm_requests copy = {
		.number = from->number, .rebalance = from->rebalance, .rate = from->rate};

	if (pm_drains_copy(&from->drains, &copy.drains, NULL) ||
	    copy_parts(&from->releases, &copy.releases) ||
	    copy_parts(&from->acknowledged, &copy.acknowledged)) {
		pm_requests_free(&copy);
		return pm_error_no_memory(err);
	}
	pm_requests_free(to);
	*to = copy;
	return 0;
}

static bool is_later(const struct pm_request_part *part, const void *arg)
{
	return part->mark > *(const uint64_t *)arg;
}

bool pm_requests_released(struct pm_requests *requests, uint64_t number)
{
	return keep_parts(&requests->releases, is_later, &number);
}

bool pm_requests_rebalanced(struct pm_requests *requests, uint64_t number)
{
	if (!requests->rebalance || requests->rebalance > number)
		return false;
	requests->rebalance = requests->rate = 0;
	return true;
}

uint32_t pm_requests_find_over(const struct pm_requests *requests, uint64_t now)
{
	uint32_t i = 0;

	while (i < requests->drains.num &&
	       (!requests->drains.list[i].until || requests->drains.list[i].until > now))
		i++;
	return i;
}

bool pm_requests_end_drains(struct pm_requests *requests, uint64_t now)
{
	uint32_t before = requests->drains.num, i;

	while ((i = pm_requests_find_over(requests, now)) < requests->drains.num)
		pm_drains_remove(&requests->drains, i);
	if (requests->drains.num == before)
		return false;
	requests->drains.number = ++requests->number;
	return true;
}

bool pm_requests_is_acknowledged(const struct pm_requests *requests, uint64_t guid,
				 unsigned int num, uint64_t since)
{
	const struct pm_request_part part = {guid, num, since};

	return has_part(&requests->acknowledged, &part);
}

int pm_requests_inherit(struct pm_requests *requests, const struct pm_requests *from)
{
	struct pm_requests next = {0};
	int rc = 0;

	if (!requests->number)
		return pm_requests_copy(from, requests, NULL) ? -ENOMEM
							      : from->number != 0;
	if (pm_requests_copy(requests, &next, NULL))
		return -ENOMEM;
	for (uint32_t i = 0; rc >= 0 && i < from->acknowledged.num; i++)
		if (!has_part(&next.acknowledged, &from->acknowledged.list[i]))
			rc = add_part(&next.acknowledged, &from->acknowledged.list[i])
				     ? -ENOMEM
				     : 1;
	if (rc > 0) {
		pm_requests_free(requests);
		*requests = next;
		return rc;
	}
	pm_requests_free(&next);
	return rc;
}

/* ---- The file: writing ---- */

static json_t *describe_drain(const struct pm_drain *d)
{
	json_t *until = d->until ? json_integer((json_int_t)d->until) : json_null();
	json_t *drain = json_pack("{s:o, s:o, s:i, s:I, s:I, s:o, s:o, s:o}", "guid",
				  pm_json_guid(d->guid), "name", pm_json_text(d->name),
				  "port", (int)d->num, "number", (json_int_t)d->number,
				  "since", (json_int_t)d->since, "until", until, "by",
				  pm_json_text(d->by), "reason", pm_json_text(d->reason));

	return pm_json_label(drain, d->name, d->label);
}

static json_t *describe_parts(const struct pm_request_parts *parts, const char *mark)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < parts->num; i++) {
		const struct pm_request_part *part = &parts->list[i];

		list = pm_json_append(
			list,
			part->guid
				? json_pack("{s:o, s:i, s:I}", "guid",
					    pm_json_guid(part->guid), "port",
					    (int)part->num, mark, (json_int_t)part->mark)
				: json_pack("{s:I}", mark, (json_int_t)part->mark));
	}
	return list;
}

json_t *pm_requests_json(const struct pm_requests *requests)
{
	json_t *drains = json_array();

	for (uint32_t i = 0; i < requests->drains.num; i++)
		drains =
			pm_json_append(drains, describe_drain(&requests->drains.list[i]));
	return json_pack(
		"{s:s, s:i, s:I, s:o, s:o, s:o, s:o}", "schema", SCHEMA, "version",
		VERSION, "number", (json_int_t)requests->number, "drains", drains,
		"releases", describe_parts(&requests->releases, "number"), "rebalance",
		requests->rebalance
			? json_pack("{s:I, s:I}", "rate", (json_int_t)requests->rate,
				    "number", (json_int_t)requests->rebalance)
			: json_null(),
		"acknowledged", describe_parts(&requests->acknowledged, "since"));
}

int pm_requests_write(const char *path, const struct pm_requests *requests,
		      struct pm_error *err)
{
	json_t *root = pm_requests_json(requests);
	char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER) : NULL;
	size_t length = text ? strlen(text) : 0;
	int rc;

	if (!text)
		rc = pm_error_no_memory(err);
	else if (length > MAX_FILE)
		rc = pm_error_set(err, -EFBIG, "%s: more than 16 MiB of requests", path);
	else
		rc = pm_replace_public(path, ".new", text, length, err);
	free(text);
	json_decref(root);
	return rc;
}

/* ---- The file: reading ---- */

static int read_parts(const json_t *list, const char *mark, bool may_be_all,
		      struct pm_request_parts *parts)
{
	const json_t *object;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > PM_REQUEST_PARTS)
		return -EINVAL;
	json_array_foreach(list, i, object) {
		struct pm_request_part part = {0};
		bool all = may_be_all && !json_object_get(object, "guid") &&
			   !json_object_get(object, "port");

		if ((!all && !pm_request_part_read(object, &part)) ||
		    !take_number(object, mark, &part.mark))
			return -EINVAL;
		if (add_part(parts, &part))
			return -ENOMEM;
	}
	return 0;
}

static int read_drain(const json_t *object, struct pm_drains *drains)
{
	const char *label = text_of(object, "label"), *name = text_of(object, "name");
	struct pm_request_part part;
	uint64_t number, since, until;
	bool added;

	label = label ? label : name;
	if (!pm_request_part_read(object, &part) || !label ||
	    !take_number(object, "number", &number) ||
	    !take_number(object, "since", &since))
		return -EINVAL;
	if (pm_drains_add(drains, part.guid, part.num, label, &added, NULL))
		return -ENOMEM;
	if (!added)
		return -EINVAL;
	take_number(object, "until", &until); /* 0 without one */
	drains->list[drains->num - 1].number = number;
	drains->list[drains->num - 1].until = until;
	return pm_drains_note(drains, drains->num - 1, since, text_of(object, "by"),
			      text_of(object, "reason"), NULL);
}

static int read_drains(const json_t *list, struct pm_drains *drains)
{
	const json_t *object;
	size_t i;
	int rc = json_is_array(list) && json_array_size(list) <= PM_REQUEST_PARTS
			 ? 0
			 : -EINVAL;

	json_array_foreach(list, i, object)
		rc = rc ? rc : read_drain(object, drains);
	return rc;
}

static int read_rebalance(const json_t *object, struct pm_requests *requests)
{
	uint64_t rate;

	if (json_is_null(object))
		return 0;
	if (!take_number(object, "number", &requests->rebalance) ||
	    !requests->rebalance || !take_number(object, "rate", &rate) ||
	    rate > PM_REBALANCE_RATE_MAX)
		return -EINVAL;
	requests->rate = (uint32_t)rate;
	return 0;
}

static int read_members(const json_t *root, struct pm_requests *requests)
{
	int rc = take_number(root, "number", &requests->number) ? 0 : -EINVAL;

	if (!rc)
		rc = read_drains(json_object_get(root, "drains"), &requests->drains);
	if (!rc)
		rc = read_parts(json_object_get(root, "releases"), "number", true,
				&requests->releases);
	if (!rc)
		rc = read_parts(json_object_get(root, "acknowledged"), "since", false,
				&requests->acknowledged);
	if (!rc)
		rc = read_rebalance(json_object_get(root, "rebalance"), requests);
	requests->drains.number = requests->number;
	return rc;
}

static bool is_ours(const json_t *root)
{
	const char *schema = text_of(root, "schema");
	uint64_t version;

	return schema && !strcmp(schema, SCHEMA) &&
	       take_number(root, "version", &version) && version == VERSION;
}

int pm_requests_parse(const char *text, size_t length, const char *source,
		      struct pm_requests *requests, struct pm_error *err)
{
	struct pm_requests found = {0};
	json_error_t error;
	json_t *root = pm_json_parse(text, length, &error);
	int rc = root && is_ours(root) ? read_members(root, &found) : -EINVAL;

	if (!root && !error.text[0])
		rc = -ENOMEM;
	if (rc == -ENOMEM)
		pm_error_no_memory(err);
	else if (!root)
		pm_error_set(err, rc, "%s:%d: %s", source, error.line, error.text);
	else if (rc)
		pm_error_set(err, rc,
			     is_ours(root) ? "%s: a member is missing or invalid"
					   : "%s: not " SCHEMA " 1",
			     source);
	json_decref(root);
	if (rc)
		pm_requests_free(&found);
	else
		*requests = found;
	return rc;
}

int pm_requests_read(const char *path, struct pm_requests *requests, struct pm_error *err)
{
	struct pm_error why;
	char *text;
	int rc = pm_textfile_read_string(path, MAX_FILE, &text, &why);

	if (rc == -ENOENT)
		return 0;
	if (rc)
		return pm_error_set(err, rc, "%s", why.text);
	rc = pm_requests_parse(text, strlen(text), path, requests, err);
	free(text);
	return rc;
}

/* ---- A request ---- */

/* What is wanted: parts, all there are, or neither. */
struct wanted {
	struct pm_requests *requests;
	const json_t *request;
	const struct pm_request_facts *facts;
	struct pm_request_parts parts;
	bool all;
	struct pm_error *err;
};

static int refuse(const struct wanted *wanted, const char *why)
{
	return pm_error_set(wanted->err, -EINVAL, "%s", why);
}

/* "leaf5:20" of the request's part number i. */
static void name_part(const struct wanted *wanted, uint32_t i, char name[PM_REQUEST_TEXT])
{
	const struct pm_request_part *part = &wanted->parts.list[i];
	const json_t *object =
		json_array_get(json_object_get(wanted->request, "parts"), i);
	const char *label = text_of(object, "label");
	char guid[20];

	snprintf(guid, sizeof(guid), "0x%016" PRIx64, part->guid);
	if (part->num)
		snprintf(name, PM_REQUEST_TEXT, "%.200s:%u", label ? label : guid,
			 part->num);
	else
		snprintf(name, PM_REQUEST_TEXT, "%.200s", label ? label : guid);
}

static int refuse_part(const struct wanted *wanted, uint32_t i, const char *what)
{
	char name[PM_REQUEST_TEXT];

	name_part(wanted, i, name);
	return pm_error_set(wanted->err, -EINVAL, "%s is %s", name, what);
}

int pm_requests_may_drain(const struct pm_fabric *topology, uint64_t guid,
			  unsigned int num, struct pm_error *err)
{
	uint32_t sw = pm_fabric_find_guid(topology, guid), port, peer;
	const char *name = sw == PM_NONE ? NULL : pm_fabric_label(topology, sw);

	if (sw == PM_NONE)
		return pm_error_set(err, -EINVAL,
				    "0x%016" PRIx64 " is not in the plan of this fabric",
				    guid);
	if (sw >= topology->num_switches)
		return pm_error_set(
			err, -EINVAL,
			"%s is a host: only links between switches can be drained", name);
	if (!num && pm_fabric_count_hosts(topology, sw, NULL))
		return pm_error_set(
			err, -EINVAL,
			"%s has hosts, which need it: name cables of it (%s:PORT)", name,
			name);
	if (!num)
		return 0;
	port = topology->nodes[sw].first_port + num;
	if (num > topology->nodes[sw].num_ports ||
	    (topology->ports[port].peer == PM_NONE &&
	     topology->ports[port].host == PM_NO_HOST))
		return pm_error_set(err, -EINVAL,
				    "%s has no cable at port %u in the plan", name, num);
	peer = pm_fabric_peer_node(topology, port);
	if (peer == PM_NONE || peer >= topology->num_switches)
		return pm_error_set(
			err, -EINVAL,
			"port %u of %s leads to a host%s%s%s: only links between "
			"switches can be drained",
			num, name, peer == PM_NONE ? "" : " (",
			peer == PM_NONE ? "" : pm_fabric_label(topology, peer),
			peer == PM_NONE ? "" : ")");
	return 0;
}

/* Cut to its longest length, at the begin of a character; the caller frees it. */
static char *copy_text(const char *text)
{
	size_t length = strnlen(text, PM_REQUEST_TEXT);

	while (length == PM_REQUEST_TEXT && length &&
	       ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	return strndup(text, length);
}

/* The label of the request's part number i, or its GUID; the caller frees it. */
static char *copy_label(const struct wanted *wanted, uint32_t i)
{
	const json_t *object =
		json_array_get(json_object_get(wanted->request, "parts"), i);
	const char *label = text_of(object, "label");
	char guid[20];

	snprintf(guid, sizeof(guid), "0x%016" PRIx64, wanted->parts.list[i].guid);
	return copy_text(label ? label : guid);
}

/* Adds a part with the request's notes, unless it is there. -ENOMEM. */
static int add_drain(const struct wanted *wanted, uint32_t i, const char *by,
		     const char *reason)
{
	const struct pm_request_part *part = &wanted->parts.list[i];
	struct pm_drains *drains = &wanted->requests->drains;
	char *label = copy_label(wanted, i);
	bool added = false;
	int rc = label ? pm_drains_add(drains, part->guid, part->num, label, &added,
				       wanted->err)
		       : pm_error_no_memory(wanted->err);

	free(label);
	if (rc || !added)
		return rc;
	drains->list[drains->num - 1].number = wanted->requests->number + 1;
	return pm_drains_note(drains, drains->num - 1, wanted->facts->now, by, reason,
			      wanted->err);
}

static int add_drains(const struct wanted *wanted)
{
	const char *by = text_of(wanted->request, "by");
	const char *reason = text_of(wanted->request, "reason");
	char *own_by = by ? copy_text(by) : NULL;
	char *own_reason = reason ? copy_text(reason) : NULL;
	int rc = (by && !own_by) || (reason && !own_reason)
			 ? pm_error_no_memory(wanted->err)
			 : 0;

	for (uint32_t i = 0; i < wanted->parts.num && !rc; i++)
		rc = add_drain(wanted, i, own_by, own_reason);
	free(own_by);
	free(own_reason);
	return rc;
}

static uint32_t find_drain(const struct pm_drains *drains,
			   const struct pm_request_part *part)
{
	uint32_t i = 0;

	while (i < drains->num &&
	       (drains->list[i].guid != part->guid || drains->list[i].num != part->num))
		i++;
	return i;
}

/* Sets when the parts' drains end; whether any had another end. */
static bool set_until(const struct wanted *wanted, uint64_t until)
{
	struct pm_drains *drains = &wanted->requests->drains;
	bool any = false;

	for (uint32_t i = 0; i < wanted->parts.num; i++) {
		struct pm_drain *d =
			&drains->list[find_drain(drains, &wanted->parts.list[i])];

		any |= d->until != until;
		d->until = until;
	}
	return any;
}

static int drain(const struct wanted *wanted)
{
	const struct pm_plan *plan = wanted->facts->plan;
	struct pm_drains *drains = &wanted->requests->drains;
	const json_t *given = json_object_get(wanted->request, "until");
	uint32_t before = drains->num;
	uint64_t until = 0, seen;
	bool any = false;
	int rc = 0;

	if (take_number(wanted->request, "seen", &seen) && drains->number > seen)
		return refuse(wanted, PM_REQUEST_OUTDATED);
	if (given && !json_is_null(given) &&
	    (!take_number(wanted->request, "until", &until) ||
	     until <= wanted->facts->now))
		return refuse(wanted, "drain: its end is no time to come");
	if (wanted->all)
		return refuse(wanted, "drain: parts have to be named");
	if (before + wanted->parts.num > PM_REQUEST_PARTS)
		return refuse(wanted, "drain: too many parts");
	for (uint32_t i = 0; i < wanted->parts.num && !rc && plan; i++)
		rc = pm_requests_may_drain(plan->topology, wanted->parts.list[i].guid,
					   wanted->parts.list[i].num, wanted->err);
	if (!rc)
		rc = add_drains(wanted);
	while (rc && drains->num > before)
		pm_drains_remove(drains, drains->num - 1);
	if (!rc && until)
		any = set_until(wanted, until);
	return rc ? rc : any || drains->num != before;
}

static int undrain(const struct wanted *wanted)
{
	struct pm_drains *drains = &wanted->requests->drains;
	uint32_t before = drains->num;

	for (uint32_t i = 0; i < wanted->parts.num; i++)
		if (find_drain(drains, &wanted->parts.list[i]) == drains->num)
			return refuse_part(wanted, i, "not drained");
	if (wanted->all)
		while (drains->num)
			pm_drains_remove(drains, drains->num - 1);
	for (uint32_t i = 0; i < wanted->parts.num; i++) {
		uint32_t at = find_drain(drains, &wanted->parts.list[i]);

		if (at < drains->num) /* it may be named twice */
			pm_drains_remove(drains, at);
	}
	return drains->num != before;
}

/* Refuses what only a master does that routes with portmajor. */
static int check_master(const struct wanted *wanted)
{
	const char *sm = text_of(wanted->facts->state, "sm_state");

	if (!wanted->facts->state)
		return refuse(wanted, "OpenSM has not seen the fabric yet");
	if (!sm || strcmp(sm, "master") != 0)
		return pm_error_set(wanted->err, -EINVAL,
				    "OpenSM is not the master (%.20s)",
				    sm && *sm ? sm : "?");
	if (json_is_object(json_object_get(wanted->facts->state, "shadow")))
		return refuse(wanted, "OpenSM runs portmajor in shadow mode");
	return 0;
}

static bool is_on_hold(const struct wanted *wanted, const struct pm_request_part *part)
{
	const json_t *links = json_object_get(wanted->facts->state, "flapping"), *link;
	size_t i;

	json_array_foreach(links, i, link) {
		if (pm_request_is_held(link) && pm_request_part_is(link, part, true))
			return true;
	}
	return false;
}

static int release(const struct wanted *wanted)
{
	struct pm_request_parts *releases = &wanted->requests->releases;
	uint32_t before = releases->num;
	struct pm_request_part part = {.mark = wanted->requests->number + 1};
	int rc = check_master(wanted);

	for (uint32_t i = 0; i < wanted->parts.num && !rc; i++)
		if (!is_on_hold(wanted, &wanted->parts.list[i]))
			rc = refuse_part(wanted, i, "no link on hold");
	if (!rc && before + wanted->parts.num >= PM_REQUEST_PARTS)
		rc = refuse(wanted, "release: too many links");
	if (!rc && wanted->all)
		rc = add_part(releases, &part);
	for (uint32_t i = 0; i < wanted->parts.num && !rc; i++) {
		part.guid = wanted->parts.list[i].guid;
		part.num = wanted->parts.list[i].num;
		rc = add_part(releases, &part);
	}
	if (rc)
		releases->num = before;
	if (rc == -ENOMEM)
		pm_error_no_memory(wanted->err);
	return rc ? rc : releases->num != before;
}

/* Adds the first ends of a list in the state, each with its begin. -ENOMEM. */
static int add_open(const json_t *list, struct pm_request_parts *open)
{
	struct pm_request_part part;
	const json_t *thing;
	size_t i;

	json_array_foreach(list, i, thing) {
		const json_t *ends = json_object_get(thing, "ends");

		if (pm_request_part_read(json_array_get(ends, 0), &part) &&
		    take_number(thing, "since", &part.mark) && add_part(open, &part))
			return -ENOMEM;
	}
	return 0;
}

/*
 * Lists the missing parts of the state, each with the begin of its outage, and parts at
 * other places, likewise. -errno.
 */
static int list_missing(const struct wanted *wanted, struct pm_request_parts *missing)
{
	const json_t *state = wanted->facts->state;
	const json_t *member = json_object_get(state, "missing");
	const json_t *changed = json_object_get(state, "changed");

	if (!state)
		return refuse(wanted, "OpenSM has not seen the fabric yet");
	if (!json_is_object(member))
		return refuse(wanted, "OpenSM does not know what is missing");
	return add_open(json_object_get(member, "parts"), missing) ||
			       add_open(json_object_get(changed, "list"), missing)
		       ? pm_error_no_memory(wanted->err)
		       : 0;
}

static bool is_outage(const struct pm_request_part *part, const void *missing)
{
	return has_part(missing, part);
}

/* Acknowledges these outages, but for those that are. -errno. */
static int add_outages(const struct wanted *wanted,
		       const struct pm_request_parts *outages)
{
	struct pm_request_parts *parts = &wanted->requests->acknowledged;

	for (uint32_t i = 0; i < outages->num; i++) {
		if (has_part(parts, &outages->list[i]))
			continue;
		if (parts->num == PM_REQUEST_PARTS)
			return refuse(wanted, "acknowledge: too many parts");
		if (add_part(parts, &outages->list[i]))
			return pm_error_no_memory(wanted->err);
	}
	return 0;
}

/* Drops acknowledgements of outages that are over, and adds those of these outages. */
static int change_outages(const struct wanted *wanted,
			  const struct pm_request_parts *missing,
			  const struct pm_request_parts *outages)
{
	struct pm_request_parts *parts = &wanted->requests->acknowledged;
	uint32_t before;
	int rc;

	keep_parts(parts, is_outage, missing);
	before = parts->num;
	rc = add_outages(wanted, outages);
	if (rc)
		parts->num = before;
	return rc ? rc : parts->num != before;
}

/* Adds the open outages of a named part, which may also be a change. -errno. */
static int name_outages(const struct wanted *wanted, uint32_t i,
			const struct pm_request_parts *missing,
			struct pm_request_parts *outages)
{
	bool any = false;

	for (uint32_t k = 0; k < missing->num; k++) {
		if (!is_same_place(&missing->list[k], &wanted->parts.list[i]))
			continue;
		any = true;
		if (add_part(outages, &missing->list[k]))
			return pm_error_no_memory(wanted->err);
	}
	return any ? 0 : refuse_part(wanted, i, "neither missing nor changed");
}

static int acknowledge(const struct wanted *wanted)
{
	struct pm_request_parts missing = {0}, outages = {0};
	int rc = list_missing(wanted, &missing);

	for (uint32_t i = 0; i < wanted->parts.num && !rc; i++)
		rc = name_outages(wanted, i, &missing, &outages);
	if (!rc)
		rc = change_outages(wanted, &missing, wanted->all ? &missing : &outages);
	free(missing.list);
	free(outages.list);
	return rc;
}

static int rebalance(const struct wanted *wanted)
{
	uint64_t rate = 0;
	const json_t *given = json_object_get(wanted->request, "rate");
	int rc;

	if (!wanted->all && !wanted->parts.num)
		return 0;
	rc = check_master(wanted);
	if (rc)
		return rc;
	if (wanted->parts.num || (given && !json_is_null(given) &&
				  (!take_number(wanted->request, "rate", &rate) ||
				   !rate || rate > PM_REBALANCE_RATE_MAX)))
		return refuse(wanted, "rebalance: not a rate");
	wanted->requests->rebalance = wanted->requests->number + 1;
	wanted->requests->rate = (uint32_t)rate;
	return 1;
}

/* The plugin serves it as it comes. */
static int check_tables(const struct wanted *wanted)
{
	return wanted->parts.num ? refuse(wanted, "check: of all switches only")
				 : check_master(wanted);
}

bool pm_request_is_check(const json_t *request)
{
	const char *name = text_of(request, "request");

	return name && !strcmp(name, "check") &&
	       json_is_true(json_object_get(request, "all"));
}

/* Each returns 1: changed, 0: nothing to change, or -errno. */
static const struct {
	const char *name;
	int (*apply)(const struct wanted *wanted);
	bool drains;
} kinds[] = {
	{"drain", drain, true},		 {"undrain", undrain, true},
	{"release", release, false},	 {"acknowledge", acknowledge, false},
	{"rebalance", rebalance, false}, {"check", check_tables, false},
};

static int apply(size_t kind, const struct wanted *wanted, uint64_t *number)
{
	struct pm_requests *requests = wanted->requests;
	bool none = !wanted->all && !wanted->parts.num;
	int rc = none ? 0 : kinds[kind].apply(wanted);

	if (rc < 0)
		return rc;
	requests->number += rc != 0;
	if (rc && kinds[kind].drains)
		requests->drains.number = requests->number;
	*number = rc		       ? requests->number
		  : kinds[kind].drains ? requests->drains.number
				       : 0;
	return 0;
}

int pm_requests_apply(struct pm_requests *requests, const json_t *request,
		      const struct pm_request_facts *facts, uint64_t *number,
		      struct pm_error *err)
{
	struct wanted wanted = {requests, request, facts, .err = err};
	const char *name = text_of(request, "request");
	const json_t *parts = json_object_get(request, "parts"), *object;
	size_t kind = 0, i;
	int rc = 0;

	*number = 0;
	while (name && kind < sizeof(kinds) / sizeof(*kinds) &&
	       strcmp(name, kinds[kind].name) != 0)
		kind++;
	if (!name || kind == sizeof(kinds) / sizeof(*kinds))
		return refuse(&wanted, "not a request");
	wanted.all = json_is_true(json_object_get(request, "all"));
	if ((parts && !json_is_array(parts)) || (wanted.all && json_array_size(parts)))
		return refuse(&wanted, "\"parts\" or \"all\", and a list of parts");
	json_array_foreach(parts, i, object) {
		struct pm_request_part part;

		if (!rc && !pm_request_part_read(object, &part))
			rc = refuse(&wanted, "a part is no GUID and port");
		if (!rc && add_part(&wanted.parts, &part))
			rc = pm_error_no_memory(err);
	}
	if (!rc)
		rc = apply(kind, &wanted, number);
	free(wanted.parts.list);
	return rc;
}
