/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes events from two state documents. A table has a row for each kind: list elements
 * with a key that come or go, and texts that become null or not.
 */
#include "event_changes.h"

#include "members.h"

#include <portmajor/json/values.h>

#include <string.h>
#include <time.h>

#define NAMED 4	  /* elements named in an event */
#define NAME 110  /* bytes of a name */
#define NAMES 512 /* bytes of all of them */

static bool is_text(const json_t *object, const char *member, const char *text)
{
	const char *found = text_of(object, member);

	return found && !strcmp(found, text);
}

/* ---- List elements ---- */

static void name_end(const json_t *part, char *name, size_t size)
{
	pm_json_ends_print(part, name, size);
}

/* `leaf9 (18 hosts)`, `host h9-4 at leaf9[4]` */
static void name_missing(const json_t *part, char *name, size_t size)
{
	json_int_t hosts = number_of(part, "hosts");
	char where[NAME];

	pm_json_missing_print(part, where, sizeof(where));
	if (is_text(part, "kind", "switch") && hosts)
		snprintf(name, size, "%s (%" JSON_INTEGER_FORMAT " host%s)", where, hosts,
			 hosts == 1 ? "" : "s");
	else
		snprintf(name, size, "%s", where);
}

/* `leaf9` that is back, its hosts are not all */
static void name_alone(const json_t *part, char *name, size_t size)
{
	pm_json_missing_print(part, name, size);
}

/* `host h9-4 at leaf9[4] (still)` */
static void name_left(const json_t *part, char *name, size_t size)
{
	char where[NAME];

	pm_json_missing_print(part, where, sizeof(where));
	snprintf(name, size, "%s (still)", where);
}

/* `s0:4` */
static void name_drained(const json_t *drain, char *name, size_t size)
{
	const char *label = text_of(drain, "label");
	json_int_t port = number_of(drain, "port");

	label = label ? label : text_of(drain, "name");
	label = label ? label : "?";
	if (port)
		snprintf(name, size, "%s:%" JSON_INTEGER_FORMAT, label, port);
	else
		snprintf(name, size, "%s", label);
}

/* Whether paths still use a part that is drained or on hold, as hosts need it. */
static bool is_needed(const json_t *thing)
{
	return is_text(thing, "state", "needed");
}

/* ` until 2026-11-24 20:32:10`, or nothing. */
static void print_until(const json_t *drain, char *text, size_t size)
{
	time_t until = (time_t)number_of(drain, "until");
	struct tm local;

	text[0] = '\0';
	if (until && localtime_r(&until, &local))
		strftime(text, size, " until %Y-%m-%d %H:%M:%S", &local);
}

/* `s0:4 by root: optics`, `s0:4 (needed) until 2026-11-24 20:32:10 by root` */
static void name_drain(const json_t *drain, char *name, size_t size)
{
	const char *by = text_of(drain, "by"), *reason = text_of(drain, "reason");
	char what[NAME], until[32];

	name_drained(drain, what, sizeof(what));
	print_until(drain, until, sizeof(until));
	snprintf(name, size, "%s%s%s%s%s%s%s", what, is_needed(drain) ? " (needed)" : "",
		 until, by ? " by " : "", by ? by : "", reason ? ": " : "",
		 reason ? reason : "");
}

/* `leaf5 does not answer LFT Sets (2 blocks)` */
static void name_unset(const json_t *sw, char *name, size_t size)
{
	json_int_t blocks = number_of(sw, "blocks");
	char what[NAME];

	name_drained(sw, what, sizeof(what));
	snprintf(name, size, "%s %s (%" JSON_INTEGER_FORMAT " block%s)", what,
		 json_is_true(json_object_get(sw, "different"))
			 ? "acknowledges LFT Sets with other content"
			 : "does not answer LFT Sets",
		 blocks, blocks == 1 ? "" : "s");
}

/* `leaf5 has other entries than OpenSM has set (1 block)` */
static void name_altered(const json_t *sw, char *name, size_t size)
{
	json_int_t blocks = number_of(sw, "blocks");
	char what[NAME];

	name_drained(sw, what, sizeof(what));
	snprintf(name, size,
		 "%s has other entries than OpenSM has set (%" JSON_INTEGER_FORMAT
		 " block%s)",
		 what, blocks, blocks == 1 ? "" : "s");
}

/* `leaf5 has its table again` */
static void name_set(const json_t *sw, char *name, size_t size)
{
	char what[NAME];

	name_drained(sw, what, sizeof(what));
	snprintf(name, size, "%s has its table again", what);
}

/* `leaf5[20]-s1-line0[6] (1xQDR)` */
static void name_degraded(const json_t *link, char *name, size_t size)
{
	const char *rate = text_of(link, "link");
	char where[NAME];

	pm_json_ends_print(link, where, sizeof(where));
	snprintf(name, size, "%s (%s)", where, rate ? rate : "?");
}

/* `host h3-3 at leaf3[3], down 5 times in 12 s` */
static void name_flapping_host(const json_t *flap, char *name, size_t size)
{
	char where[NAME];

	pm_json_missing_print(flap, where, sizeof(where));
	snprintf(name, size,
		 "%s, down %" JSON_INTEGER_FORMAT " times in %" JSON_INTEGER_FORMAT " s",
		 where, number_of(flap, "downs"),
		 number_of(flap, "last") - number_of(flap, "first"));
}

/* `leaf5[20]-s1-line0[6] (4 times down, on hold for 60 s)` */
static void name_held(const json_t *flap, char *name, size_t size)
{
	json_int_t downs = number_of(flap, "downs");
	char where[NAME];

	pm_json_ends_print(flap, where, sizeof(where));
	snprintf(name, size,
		 "%s (%" JSON_INTEGER_FORMAT
		 " time%s down, on hold for %" JSON_INTEGER_FORMAT " s)",
		 where, downs, downs == 1 ? "" : "s",
		 (number_of(flap, "hold_ms") + 999) / 1000);
}

/* `s9-line0[6]-leaf23[7] (57 symbol errors, 1 link down)` */
static void name_errors(const json_t *port, char *name, size_t size)
{
	char where[NAME], errors[PM_JSON_ERRORS];

	pm_json_ends_print(port, where, sizeof(where));
	snprintf(name, size, "%s (%s)", where, pm_json_errors_print(port, errors));
}

static bool is_any(const json_t *thing)
{
	(void)thing;
	return true;
}

/*
 * Whether a link is kept out of paths, or would be if none needed it; also while it is
 * down, which ends no hold.
 */
static bool is_held(const json_t *flap)
{
	return is_needed(flap) || is_text(flap, "state", "on-hold") ||
	       is_text(flap, "state", "down");
}

/* Whether all switches have acknowledged tables with this drain, at some time. */
static bool is_followed(const json_t *drain)
{
	return json_is_true(json_object_get(drain, "followed"));
}

static bool has_acknowledgement(const json_t *part)
{
	return json_is_true(json_object_get(part, "acknowledged"));
}

/* ---- Places ---- */

/* Whether one of these ends is an end of a part or, if that is a switch, in it. */
static bool has_end_of(const json_t *ends, const json_t *part)
{
	const json_t *own = json_object_get(part, "ends"), *a, *b;
	size_t i, k;

	json_array_foreach(ends, i, a) {
		json_array_foreach(own, k, b) {
			if (json_equal(json_object_get(a, "guid"),
				       json_object_get(b, "guid")) &&
			    (is_text(part, "kind", "switch") ||
			     number_of(a, "port") == number_of(b, "port") ||
			     !number_of(a, "port")))
				return true;
		}
	}
	return false;
}

/*
 * The kind of change that has the place of a part, which is not missing any more and is
 * not there either; or NULL.
 */
static const char *find_taker(const json_t *part, const json_t *now)
{
	const json_t *list = json_object_get(json_object_get(now, "changed"), "list");
	const json_t *change;
	size_t i;

	json_array_foreach(list, i, change) {
		bool replaced = is_text(change, "kind", "replaced");

		if ((replaced || !is_text(part, "kind", "switch")) &&
		    (has_end_of(json_object_get(change, "was"), part) ||
		     (!replaced && has_end_of(json_object_get(change, "ends"), part))))
			return text_of(change, "kind");
	}
	return NULL;
}

typedef void print_name(const json_t *thing, char *name, size_t size);

/* Elements of a list, and the events when they come and when they go. */
static const struct list {
	const char *object, *member; /* where it is; object may be NULL */
	bool (*is_one)(const json_t *thing);
	enum event_severity severity; /* when one comes; when it goes: a notice */
	const char *come, *gone;      /* kinds of events; gone NULL: no event */
	print_name *name_come, *name_gone;
} lists[] = {
	{"missing", "parts", is_any, EVENT_WARNING, "missing", "returned", name_missing,
	 name_missing},
	{"missing", "parts", has_acknowledgement, EVENT_NOTICE, "acknowledged", NULL,
	 name_missing, NULL},
	{"drained", "list", is_followed, EVENT_NOTICE, "drained", "undrained", name_drain,
	 name_drained},
	{"unset", "list", is_any, EVENT_WARNING, "unset", "set", name_unset, name_set},
	{"tables_read", "differing", is_any, EVENT_WARNING, "unset", "set", name_altered,
	 name_set},
	{NULL, "flapping", is_held, EVENT_WARNING, "held", "released", name_held,
	 name_end},
	{"flapping_hosts", "list", is_any, EVENT_WARNING, "flapping", "steady",
	 name_flapping_host, name_missing},
	{"degraded_hosts", "list", is_any, EVENT_WARNING, "degraded", "restored",
	 name_degraded, name_end},
	{"degraded_links", "list", is_any, EVENT_WARNING, "degraded", "restored",
	 name_degraded, name_end},
	{"port_errors", "list", is_any, EVENT_WARNING, "errors", "clean", name_errors,
	 name_end},
};

static const json_t *find_list(const json_t *document, const struct list *list)
{
	const json_t *object =
		list->object ? json_object_get(document, list->object) : document;

	return json_object_get(object, list->member);
}

/* Adds elements that are needed, or the others. -1: no memory. */
static int add_things(json_t *index, const json_t *things, const struct list *list,
		      bool needed)
{
	char key[MEMBERS_KEY];
	json_t *thing;
	size_t i;

	json_array_foreach(things, i, thing) {
		if (list->is_one(thing) && is_needed(thing) == needed &&
		    make_key(thing, key) && json_object_set(index, key, thing))
			return -1;
	}
	return 0;
}

/* Makes {"GUID:PORT": element}; NULL without memory. Those that paths use come first. */
static json_t *index_things(const json_t *document, const struct list *list)
{
	const json_t *things = find_list(document, list);
	json_t *index = json_object();

	if (add_things(index, things, list, true) ||
	    add_things(index, things, list, false)) {
		json_decref(index);
		return NULL;
	}
	return index;
}

/* Elements that one index has and the other lacks, and how an event names them. */
struct others {
	json_t *index;
	const json_t *other;
	print_name *print;
	const char *begun; /* precedes the names */
	const json_t *now; /* the document: those that this kind of change .. */
	const char *taker; /* .. explains, or none does; NULL: all */
};

static bool is_explained(const json_t *thing, const struct others *others)
{
	const char *taker = others->now ? find_taker(thing, others->now) : NULL;

	return taker && others->taker ? !strcmp(taker, others->taker)
				      : taker == others->taker;
}

/* Names them; returns their number. */
static size_t name_others(const struct others *others, char names[NAMES])
{
	size_t count = 0, used = 0;
	const char *key;
	json_t *thing;

	json_object_foreach(others->index, key, thing) {
		char name[NAME];

		if (json_object_get(others->other, key) || !is_explained(thing, others) ||
		    count++ >= NAMED)
			continue;
		others->print(thing, name, sizeof(name));
		used += (size_t)snprintf(names + used, NAMES - used, "%s%s",
					 used ? ", " : "", name);
	}
	return count;
}

static void note_others(struct events *events, enum event_severity severity,
			const char *kind, const struct others *others)
{
	const char *begun = others->begun ? others->begun : "";
	char names[NAMES] = "";
	size_t count = name_others(others, names);

	if (count > NAMED)
		events_note(events, severity, kind, "%s%zu: %s, ..", begun, count, names);
	else if (count)
		events_note(events, severity, kind, "%s%s", begun, names);
}

/* Whether a part is a host behind a switch of this index of missing parts. */
static bool is_behind(const json_t *part, const json_t *index)
{
	const json_t *end;
	size_t i;

	if (!is_text(part, "kind", "host"))
		return false;
	json_array_foreach(json_object_get(part, "ends"), i, end) {
		const char *guid = text_of(end, "guid");
		char key[MEMBERS_KEY];

		snprintf(key, sizeof(key), "%s:0", guid ? guid : "");
		if (json_object_get(index, key))
			return true;
	}
	return false;
}

/*
 * Indexes hosts whose switch is back, and they are not: they were missing before, behind
 * it. NULL without memory.
 */
static json_t *index_left(json_t *new, const json_t *old)
{
	json_t *left = json_object(), *thing;
	const char *key;

	json_object_foreach(new, key, thing) {
		if (!json_object_get(old, key) && is_behind(thing, old) &&
		    !is_behind(thing, new) && json_object_set(left, key, thing)) {
			json_decref(left);
			return NULL;
		}
	}
	return left;
}

/*
 * Notes elements that have gone. A part that is missing no more has returned, unless a
 * change has its place: that is no return, but ends the outage.
 */
static void note_gone(struct events *events, const struct list *list,
		      const struct others *gone)
{
	static const char *const takers[] = {"recabled", "moved", "replaced"};
	struct others taken = *gone;

	note_others(events, EVENT_NOTICE, list->gone, gone);
	if (!gone->now)
		return;
	taken.begun = "missing no more: ";
	for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++) {
		taken.taker = takers[i];
		note_others(events, EVENT_NOTICE, takers[i], &taken);
	}
}

static void note_indexes(struct events *events, const struct list *list, json_t *old,
			 json_t *new, const json_t *now)
{
	json_t *left = index_left(new, old), *known = json_copy(old);

	if (left && known && !json_object_update(known, left)) {
		note_others(events, list->severity, list->come,
			    &(struct others){.index = new,
					     .other = known,
					     .print = list->name_come});
		note_others(events, EVENT_NOTICE, list->come,
			    &(struct others){
				    .index = left, .other = old, .print = name_left});
		if (list->gone)
			note_gone(events, list,
				  &(struct others){.index = old,
						   .other = new,
						   .print = json_object_size(left)
								    ? name_alone
								    : list->name_gone,
						   .now = strcmp(list->come, "missing")
								  ? NULL
								  : now});
	}
	json_decref(left);
	json_decref(known);
}

static void note_list(struct events *events, const struct list *list,
		      const json_t *before, const json_t *now)
{
	json_t *old = index_things(before, list), *new = index_things(now, list);

	/* An unknown list, as a standby's, makes no events. */
	if (old && new &&json_is_array(find_list(now, list)))
		note_indexes(events, list, old, new, now);
	json_decref(old);
	json_decref(new);
}

/* ---- Texts ---- */

/* Texts of the document that are null unless something is wrong. */
static const struct text {
	const char *kind;
	const char *object, *member; /* as above */
	enum event_severity severity;
	const char *begun; /* precedes the text */
	const char *ended;
} texts[] = {
	{"master", NULL, "no_master", EVENT_ERROR, "none: ", "there is one again"},
	{"config", NULL, "config_error", EVENT_ERROR, "not used: ", "used again"},
	{"drain", "drained", "error", EVENT_ERROR, "not followed: ", "followed again"},
	{"switch", NULL, "bad_switches", EVENT_ERROR,
	 "bad: ", "no bad switches any more"},
	{"tables", "engine_tables", "cut", EVENT_ERROR, "",
	 "the tables in use serve all pairs again, or they are portmajor's"},
	{"deadlock", "engine_tables", "credit_loop", EVENT_ERROR, "",
	 "the tables in use have no credit loop any more"},
	{"paths", "unreachable", "text", EVENT_WARNING, "",
	 "up-then-down paths join all switches with end ports again"},
};

static const char *find_text(const json_t *document, const struct text *text)
{
	return text_of(text->object ? json_object_get(document, text->object) : document,
		       text->member);
}

/* Whether another process wrote the document before. */
static bool is_new(const json_t *before, const json_t *now)
{
	return number_of(before, "started") != number_of(now, "started") ||
	       number_of(before, "pid") != number_of(now, "pid");
}

/* An OpenSM that ends, or begins, is no master. */
static bool is_silent(const struct text *text, const json_t *before, const json_t *now)
{
	return !strcmp(text->kind, "master") &&
	       (json_is_false(json_object_get(now, "running")) || is_new(before, now));
}

static void note_text(struct events *events, const struct text *text,
		      const json_t *before, const json_t *now)
{
	const char *old = find_text(before, text), *new = find_text(now, text);

	if (new && (!old || strcmp(old, new) != 0))
		events_note(events, text->severity, text->kind, "%s%s", text->begun, new);
	else if (old && !new && !is_silent(text, before, now))
		events_note(events, EVENT_NOTICE, text->kind, "%s", text->ended);
}

/* ---- OpenSM and its engine ---- */

/* The manager of the list with this GUID, or NULL. */
static const json_t *find_manager(const json_t *document, const char *guid)
{
	const json_t *list = json_object_get(document, "managers"), *one;
	size_t i;

	json_array_foreach(list, i, one) {
		if (guid && is_text(one, "guid", guid))
			return one;
	}
	return NULL;
}

/* `port 0x0002c903000a1105 (sm2)` */
static void name_manager(const json_t *one, char name[NAME])
{
	const char *guid = text_of(one, "guid"), *node = text_of(one, "name");

	snprintf(name, NAME, "port %s%s%.40s%s", guid ? guid : "?", node ? " (" : "",
		 node ? node : "", node ? ")" : "");
}

/* A manager that is new, or in another state than before. */
static void note_manager(struct events *events, const json_t *one, bool master)
{
	json_int_t priority = number_of(one, "priority");
	char name[NAME];

	name_manager(one, name);
	if (master && is_text(one, "sm_state", "master"))
		events_note(events, EVENT_ERROR, "master",
			    "two masters of one fabric: the other is OpenSM of %s", name);
	else
		events_note(events, EVENT_NOTICE, "opensm",
			    "%s is %s, priority %" JSON_INTEGER_FORMAT, name,
			    text_of(one, "sm_state"), priority);
}

static bool is_foreign(const json_t *manager)
{
	return json_is_true(json_object_get(manager, "foreign"));
}

static void note_foreign(struct events *events, const json_t *one)
{
	char name[NAME];

	name_manager(one, name);
	events_note(events, EVENT_WARNING, "master",
		    "%s is the master and has no portmajor, or plans are not copied",
		    name);
}

/* A master tells as well which others have gone. */
static void note_managers(struct events *events, const json_t *before, const json_t *now)
{
	bool master = is_text(now, "sm_state", "master");
	const json_t *one, *old;
	char name[NAME];
	size_t i;

	json_array_foreach(json_object_get(now, "managers"), i, one) {
		const char *state = text_of(one, "sm_state");

		old = find_manager(before, text_of(one, "guid"));
		if (state && strcmp(state, "former") != 0 &&
		    (!old || !is_text(old, "sm_state", state)))
			note_manager(events, one, master);
		if (is_foreign(one) && !is_foreign(old))
			note_foreign(events, one);
	}
	if (!master || !is_text(before, "sm_state", "master"))
		return;
	json_array_foreach(json_object_get(before, "managers"), i, one) {
		if (find_manager(now, text_of(one, "guid")))
			continue;
		name_manager(one, name);
		events_note(events, EVENT_WARNING, "opensm", "%s, %s, has gone", name,
			    is_text(one, "sm_state", "standby") ? "a standby"
								: "the former master");
	}
}

static void note_opensm(struct events *events, const json_t *before, const json_t *now)
{
	const char *sm = text_of(now, "sm_state");
	bool new = is_new(before, now);

	if (json_is_true(json_object_get(before, "running")) && new)
		events_note(events, EVENT_WARNING, "opensm",
			    "the last OpenSM (pid %" JSON_INTEGER_FORMAT
			    ") was killed or has crashed",
			    number_of(before, "pid"));
	if (new)
		events_note(events, EVENT_NOTICE, "opensm",
			    "%s started, pid %" JSON_INTEGER_FORMAT ", with portmajor %s",
			    text_of(now, "opensm"), number_of(now, "pid"),
			    text_of(now, "plugin"));
	if (sm && (new || !is_text(before, "sm_state", sm)))
		events_note(events, EVENT_NOTICE, "opensm", "OpenSM is %s", sm);
	if (json_is_false(json_object_get(now, "running")))
		events_note(events, EVENT_NOTICE, "opensm", "OpenSM has ended");
}

const json_t *event_changes_engine(const json_t *document)
{
	const json_t *told = json_object_get(document, EVENT_CHANGES_ENGINE);

	return told ? told : json_object_get(document, "engine");
}

static void note_engine(struct events *events, const json_t *before, const json_t *now)
{
	const json_t *old = event_changes_engine(before);
	const json_t *engine = event_changes_engine(now);
	const json_t *active = json_object_get(engine, "active");
	const char *used = text_of(engine, "used"), *reason = text_of(engine, "reason");
	bool same =
		json_equal(active, json_object_get(old, "active")) &&
		json_equal(json_object_get(engine, "used"), json_object_get(old, "used"));

	if (same || !json_is_boolean(active))
		return;
	if (json_is_true(active))
		events_note(events, EVENT_NOTICE, "engine", "portmajor routes");
	else if (json_is_object(json_object_get(now, "shadow")) && used)
		events_note(events, EVENT_NOTICE, "engine", "%s routes, in shadow mode",
			    used);
	else
		events_note(events, EVENT_ERROR, "engine", "OpenSM fell back to %s: %s",
			    used ? used : "no engine at all", reason ? reason : "?");
}

static void note_balance(struct events *events, const json_t *before, const json_t *now)
{
	const json_t *balance = json_object_get(now, "balance");
	json_int_t left = number_of(balance, "blocks_off");
	bool old = json_is_true(
		json_object_get(json_object_get(before, "balance"), "rebalancing"));
	bool new = json_is_true(json_object_get(balance, "rebalancing"));

	if (new && !old)
		events_note(events, EVENT_INFO, "balance",
			    "rebalancing: %" JSON_INTEGER_FORMAT
			    " LFT blocks are not the plan's",
			    left);
	else if (old && !new &&left)
		events_note(events, EVENT_WARNING, "balance",
			    "ended early: %" JSON_INTEGER_FORMAT
			    " LFT block%s not the plan's",
			    left, left == 1 ? " is" : "s are");
	else if (old && !new)
		events_note(events, EVENT_INFO, "balance", "rebalanced");
}

void event_changes_note(struct events *events, const json_t *before, const json_t *now)
{
	note_opensm(events, before, now);
	note_managers(events, before, now);
	note_engine(events, before, now);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		note_list(events, &lists[i], before, now);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		note_text(events, &texts[i], before, now);
	note_balance(events, before, now);
}
