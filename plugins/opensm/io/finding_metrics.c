/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `portmajor status` finds, for Prometheus: the number of findings of each kind. The
 * same rules as in src/cli/cmd/state_findings.c, but for what OpenSM cannot know of
 * itself: that it was killed, hangs, or cannot write at all.
 */
#include "state_parts.h"

#include "prometheus.h"

#include <portmajor/files/requests.h>

#include <string.h>

/* A finding that there is if a member is a text, true, or a number above 0. */
static const struct finding {
	const char *kind;
	const char *object, *member; /* as in struct metric */
	bool fabric;		     /* of a master alone */
} findings[] = {
	{"aside", NULL, "set_aside", false},
	{"config", NULL, "config_error", false},
	{"drain", "drained", "error", false},
	{"tables", "engine_tables", "cut", true},
	{"deadlock", "engine_tables", "credit_loop", true},
	{"switches", NULL, "bad_switches", true},
	{"flapping", "flapping_hosts", "count", true},
	{"degraded_hosts", "degraded_hosts", "count", true},
	{"errors", "port_errors", "count", true},
	{"members", "multicast", "members_left_out", true},
	{"multicast", "multicast", "incomplete", true},
	{"blocks", "unset", "count", true},
};

static bool is_so(const json_t *document, const char *object, const char *member)
{
	const json_t *value = state_member(document, object, member);

	return json_is_string(value) || json_is_true(value) ||
	       json_integer_value(value) > 0;
}

static bool is_text(const json_t *object, const char *member, const char *text)
{
	const char *has = json_string_value(json_object_get(object, member));

	return has && !strcmp(has, text);
}

/* ---- Findings of several members ---- */

static int count_files(const json_t *document)
{
	return is_so(document, NULL, "unsaved") ||
	       json_is_false(state_member(document, "plan", "saved"));
}

static int count_no_master(const json_t *document)
{
	return json_is_true(json_object_get(document, "running")) &&
	       is_so(document, NULL, "no_master");
}

/* Of another engine than ours, unless it is another one by intent. */
static int count_engine(const json_t *document)
{
	bool shadow = is_so(document, "engine", "used") &&
		      json_is_object(json_object_get(document, "shadow"));

	return json_is_false(state_member(document, "engine", "active")) && !shadow;
}

static int count_paths(const json_t *document)
{
	json_int_t connected = json_integer_value(
			   state_member(document, "reachable", "connected")),
		   pairs = json_integer_value(
			   state_member(document, "reachable", "pairs"));

	if (json_is_object(json_object_get(document, "shadow")) || count_engine(document))
		return 0;
	return pairs < connected || is_so(document, "unreachable", "pairs") ||
	       is_so(document, "unreachable", "ends");
}

static int count_missing(const json_t *document)
{
	return is_so(document, "missing", "switches") ||
	       is_so(document, "missing", "links") || is_so(document, "missing", "hosts");
}

static int count_held(const json_t *document)
{
	const json_t *flap;
	size_t i;

	json_array_foreach(json_object_get(document, "flapping"), i, flap) {
		if (is_text(flap, "state", "on-hold") || is_text(flap, "state", "needed"))
			return 1;
	}
	return 0;
}

json_int_t finding_count_degraded(const json_t *document)
{
	json_int_t left =
		json_integer_value(state_member(document, "degraded_links", "count"));
	const json_t *link;
	size_t i;

	/* The list may have fewer links than there are. */
	json_array_foreach(state_member(document, "degraded_links", "list"), i, link)
		left -= pm_request_is_drained(document, link, "out");
	return left;
}

/* Switches with other entries than OpenSM has set, when they were read last. */
static int count_altered(const json_t *document)
{
	return json_array_size(state_member(document, "tables_read", "differing")) > 0;
}

static int count_degraded(const json_t *document)
{
	return finding_count_degraded(document) > 0;
}

static const struct several {
	const char *kind;
	int (*count)(const json_t *document);
	bool fabric; /* as above */
} several[] = {
	{"master", count_no_master, false},	  {"files", count_files, false},
	{"engine", count_engine, true},		  {"paths", count_paths, true},
	{"missing", count_missing, true},	  {"held", count_held, true},
	{"degraded_links", count_degraded, true}, {"entries", count_altered, true},
};

/* Changes that are not acknowledged, a finding for each of these kinds. */
static const char *const changes[] = {"recabled", "moved", "replaced"};

static bool has_change(const json_t *document, const char *kind)
{
	const json_t *change;
	size_t i;

	json_array_foreach(state_member(document, "changed", "list"), i, change) {
		if (is_text(change, "kind", kind) &&
		    !json_is_true(json_object_get(change, "acknowledged")))
			return true;
	}
	return false;
}

/* Masters beside this one, and a master without a plan here: a finding each. */
static unsigned int count_managers(const json_t *document, bool master)
{
	unsigned int count = 0;
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(document, "managers"), i, one)
		count += (master && is_text(one, "sm_state", "master")) ||
			 json_is_true(json_object_get(one, "foreign"));
	return count;
}

/* ---- All of them ---- */

static void print_finding(FILE *out, const char *labels, const char *kind,
			  unsigned int count)
{
	fprintf(out, "portmajor_findings{%s,kind=\"%s\"} %u\n", labels, kind, count);
}

void finding_print_metrics(FILE *out, const json_t *document, const char *labels)
{
	bool runs = json_is_true(json_object_get(document, "running"));
	bool master = is_text(document, "sm_state", "master");
	unsigned int managers = runs ? count_managers(document, master) : 0;

	prometheus_print_head(out, "portmajor_findings",
			      "Findings of portmajor status by kind, but for those that "
			      "OpenSM cannot know");
	print_finding(out, labels, "process", !runs);
	print_finding(out, labels, "managers", managers);
	for (size_t i = 0; i < sizeof(findings) / sizeof(*findings); i++)
		print_finding(
			out, labels, findings[i].kind,
			(master || !findings[i].fabric) &&
				is_so(document, findings[i].object, findings[i].member));
	for (size_t i = 0; i < sizeof(several) / sizeof(*several); i++)
		print_finding(out, labels, several[i].kind,
			      (master || !several[i].fabric) &&
				      several[i].count(document));
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
		print_finding(out, labels, changes[i],
			      master && has_change(document, changes[i]));
}
