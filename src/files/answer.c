/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Judges by the plugin's state what has come of a request. */
#include <portmajor/files/answer.h>
#include <portmajor/files/requests.h>
#include <portmajor/json/values.h>

#include <stdio.h>
#include <string.h>

/* What is judged, and the result. */
struct judge {
	const json_t *request;
	uint64_t number;
	const struct pm_answer_facts *facts;
	const json_t *parts; /* that the request names */
	bool all, asks;	     /* asks: names none and not all */
	bool done, over;
};

static const char *text_of(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));

	return text ? text : "";
}

static uint64_t number_of(const json_t *object, const char *member)
{
	return (uint64_t)json_integer_value(json_object_get(object, member));
}

static const json_t *state_of(const struct judge *judge, const char *member)
{
	return json_object_get(judge->facts->state, member);
}

static bool is_unset(const struct judge *judge)
{
	return json_is_false(json_object_get(state_of(judge, "drained"), "settled"));
}

/* ---- Causes ---- */

static const char *name_of(const json_t *sw)
{
	const char *label = text_of(sw, "label"), *name = text_of(sw, "name");

	return *label ? label : *name ? name : text_of(sw, "guid");
}

static void name_unset(const json_t *list, char cause[PM_ANSWER_CAUSE])
{
	size_t num = json_array_size(list);

	cause[0] = '\0';
	if (num == 1)
		snprintf(cause, PM_ANSWER_CAUSE, "%.128s has not acknowledged its table",
			 name_of(json_array_get(list, 0)));
	else if (num)
		snprintf(
			cause, PM_ANSWER_CAUSE,
			"%.128s and %zu more switch%s have not acknowledged their tables",
			name_of(json_array_get(list, 0)), num - 1, num == 2 ? "" : "es");
}

void pm_answer_cause(const json_t *state, char cause[PM_ANSWER_CAUSE])
{
	const char *sm = text_of(state, "sm_state");

	if (!state)
		snprintf(cause, PM_ANSWER_CAUSE, "OpenSM has not seen the fabric yet");
	else if (*sm && strcmp(sm, "master") != 0)
		snprintf(cause, PM_ANSWER_CAUSE,
			 "OpenSM is not the master (%.20s): it follows as the master",
			 sm);
	else if (json_is_object(json_object_get(state, "shadow")))
		snprintf(cause, PM_ANSWER_CAUSE,
			 "OpenSM runs portmajor in shadow mode, in which nothing is "
			 "drained: it follows when portmajor routes");
	else if (json_is_false(
			 json_object_get(json_object_get(state, "engine"), "active")))
		snprintf(cause, PM_ANSWER_CAUSE,
			 "another engine routes: it follows when portmajor routes");
	else
		name_unset(json_object_get(json_object_get(state, "unset"), "list"),
			   cause);
}

/* ---- Drains ---- */

/*
 * The state of a drain: the plugin's word, or "pending". Its word on a former drain of
 * the same part does not count: tables may be changing for what came between.
 */
static const char *find_state(const struct judge *judge, const json_t *drain)
{
	const json_t *drained = state_of(judge, "drained"), *item;
	size_t i;

	json_array_foreach(json_object_get(drained, "list"), i, item) {
		if (*text_of(item, "state") &&
		    !strcmp(text_of(item, "guid"), text_of(drain, "guid")) &&
		    number_of(item, "port") == number_of(drain, "port") &&
		    number_of(item, "since") == number_of(drain, "since") &&
		    number_of(drained, "number") >= number_of(drain, "number"))
			return text_of(item, "state");
	}
	return "pending";
}

static bool is_same_part(const json_t *a, const struct pm_request_part *part)
{
	struct pm_request_part b;

	return pm_request_part_read(a, &b) && b.guid == part->guid && b.num == part->num;
}

static bool is_named(const struct judge *judge, const struct pm_request_part *part)
{
	const json_t *named;
	size_t i;

	json_array_foreach(judge->parts, i, named) {
		if (is_same_part(named, part))
			return true;
	}
	return false;
}

static json_t *describe_drain(const json_t *drain, const char *state)
{
	json_t *thing = json_copy((json_t *)(uintptr_t)drain); /* it stays */

	if (thing && !json_object_set_new(thing, "state", json_string(state)))
		return thing;
	json_decref(thing);
	return NULL;
}

/* Done: followed, all tables are acknowledged, and what is named or all there is is out.
 */
static json_t *judge_drains(struct judge *judge)
{
	const json_t *drains = json_object_get(judge->facts->requests, "drains"), *drain;
	const json_t *drained = state_of(judge, "drained");
	const json_t *unset = state_of(judge, "unset");
	bool undrains = !strcmp(text_of(judge->request, "request"), "undrain");
	json_t *list = json_array();
	size_t i;

	if (judge->asks && !json_array_size(drains))
		judge->done = !json_array_size(json_object_get(unset, "list"));
	else
		judge->done = json_is_object(drained) && !is_unset(judge) &&
			      number_of(drained, "number") >= judge->number;
	judge->over = judge->done;
	json_array_foreach(drains, i, drain) {
		const char *state = find_state(judge, drain);
		struct pm_request_part part = {0};
		bool counts = judge->asks || (pm_request_part_read(drain, &part) &&
					      is_named(judge, &part));

		list = pm_json_append(list, describe_drain(drain, state));
		if (!counts || undrains)
			continue;
		judge->over = judge->over && strcmp(state, "pending") != 0;
		judge->done = judge->done && !strcmp(state, "out");
	}
	return list;
}

/* ---- Links on hold ---- */

/* Whether a release with this number or an earlier one is not done yet. */
static bool is_release_pending(const struct judge *judge)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(judge->facts->requests, "releases"), i, item) {
		if (number_of(item, "number") <= judge->number)
			return true;
	}
	return false;
}

static bool is_meant(const struct judge *judge, const json_t *thing, bool any_end)
{
	const json_t *named;
	struct pm_request_part part;
	size_t i;

	json_array_foreach(judge->parts, i, named) {
		if (pm_request_part_read(named, &part) &&
		    pm_request_part_is(thing, &part, any_end))
			return true;
	}
	return judge->all || judge->asks;
}

static json_t *judge_holds(struct judge *judge)
{
	json_t *list = json_array(), *link;
	size_t i;

	judge->done = judge->asks || (!is_release_pending(judge) && !is_unset(judge));
	json_array_foreach(state_of(judge, "flapping"), i, link) {
		if (!pm_request_is_held(link))
			continue;
		list = pm_json_append(list, json_incref(link));
		judge->done = judge->done && !is_meant(judge, link, true);
	}
	judge->over = judge->done;
	return list;
}

/* ---- Missing parts ---- */

/* Whether this outage is acknowledged: by the state, or by a request since. */
static bool is_part_acknowledged(const struct judge *judge, const json_t *part)
{
	const json_t *list = json_object_get(judge->facts->requests, "acknowledged");
	const json_t *item;
	struct pm_request_part at;
	size_t i;

	if (json_is_true(json_object_get(part, "acknowledged")))
		return true;
	json_array_foreach(list, i, item) {
		if (pm_request_part_read(item, &at) &&
		    pm_request_part_is(part, &at, false) &&
		    number_of(item, "since") == number_of(part, "since"))
			return true;
	}
	return false;
}

static json_t *describe_part(const json_t *part, bool acknowledged)
{
	json_t *thing = json_copy((json_t *)(uintptr_t)part); /* it stays */

	if (thing &&
	    !json_object_set_new(thing, "acknowledged", json_boolean(acknowledged)))
		return thing;
	json_decref(thing);
	return NULL;
}

/* Adds parts to the list, and judges them. */
static json_t *judge_parts(struct judge *judge, const json_t *parts, json_t *list)
{
	const json_t *part;
	size_t i;

	json_array_foreach(parts, i, part) {
		bool acknowledged = is_part_acknowledged(judge, part);

		list = pm_json_append(list, describe_part(part, acknowledged));
		judge->done =
			judge->done && (acknowledged || !is_meant(judge, part, false));
	}
	return list;
}

/* Missing parts, and then changes. */
static json_t *judge_missing(struct judge *judge)
{
	json_t *list = json_array();

	judge->done = true;
	list = judge_parts(judge, json_object_get(state_of(judge, "missing"), "parts"),
			   list);
	list = judge_parts(judge, json_object_get(state_of(judge, "changed"), "list"),
			   list);
	judge->over = judge->done;
	return list;
}

/* ---- Balance ---- */

/* One that was given up leaves entries, and is over, too. */
static json_t *judge_balance(struct judge *judge)
{
	json_t *balance = json_object_get(judge->facts->state, "balance");
	const json_t *pending = json_object_get(judge->facts->requests, "rebalance");
	bool known = json_is_object(balance);

	judge->over = judge->asks || !json_is_object(pending) ||
		      number_of(pending, "number") > judge->number;
	judge->over =
		judge->over && !json_is_true(json_object_get(balance, "rebalancing"));
	judge->done = judge->over && !number_of(balance, "entries_off") &&
		      (known || !judge->asks);
	return known ? json_incref(balance) : json_null();
}

/* ---- Tables ---- */

/* Done by a reading that began after the request. */
static json_t *judge_tables(struct judge *judge)
{
	json_t *read = json_object_get(judge->facts->state, "tables_read");

	judge->done = json_is_object(read) && number_of(read, "number") >= judge->number;
	judge->over = judge->done;
	return judge->done ? json_incref(read) : json_null();
}

/* ---- The answer ---- */

static const struct {
	const char *name, *list;
	json_t *(*judge)(struct judge *judge);
	bool by_tables; /* pending for the reason that tables are not followed */
} kinds[] = {
	{"drain", "drained", judge_drains, true},
	{"undrain", "drained", judge_drains, true},
	{"release", "held", judge_holds, true},
	{"acknowledge", "missing", judge_missing, false},
	{"rebalance", "balance", judge_balance, false},
	{"check", "tables_read", judge_tables, false},
};

static json_t *find_cause(const struct judge *judge, bool by_tables)
{
	char cause[PM_ANSWER_CAUSE] = "";

	if (judge->facts->cause)
		return pm_json_text(judge->facts->cause);
	if (by_tables)
		pm_answer_cause(judge->facts->state, cause);
	return pm_json_filled(cause);
}

json_t *pm_answer_make(const json_t *request, uint64_t number,
		       const struct pm_answer_facts *facts, bool *over)
{
	struct judge judge = {.request = request, .number = number, .facts = facts};
	const char *name = text_of(request, "request");
	json_t *port = json_object_get(facts->state, "port_guid"), *list;
	bool refused = facts->reason != NULL, waits;
	size_t kind = 0;

	while (kind < sizeof(kinds) / sizeof(*kinds) &&
	       strcmp(name, kinds[kind].name) != 0)
		kind++;
	*over = true;
	if (kind == sizeof(kinds) / sizeof(*kinds))
		return refused ? json_pack("{s:s, s:o, s:n}", "state", "refused",
					   "reason", pm_json_text(facts->reason), "cause")
			       : NULL;
	judge.parts = json_object_get(request, "parts");
	judge.all = json_is_true(json_object_get(request, "all"));
	judge.asks = !judge.all && !json_array_size(judge.parts);
	list = kinds[kind].judge(&judge);
	*over = refused || judge.over;
	waits = !refused && !judge.done;
	return json_pack("{s:s, s:o, s:o, s:I, s:O, s:o}", "state",
			 refused      ? "refused"
			 : judge.done ? "done"
				      : "pending",
			 "reason", pm_json_text(facts->reason), "cause",
			 waits ? find_cause(&judge, kinds[kind].by_tables) : json_null(),
			 "number", (json_int_t)number, "port_guid",
			 port ? port : json_null(), kinds[kind].list, list);
}
