/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * portmajor preflight: checks the values of opensm.conf. For an invalid value OpenSM
 * silently takes the default, or FALSE. A value has the type of the default that OpenSM
 * writes.
 */
#include "options.h"
#include "preflight.h"

#include <portmajor/base/nearest.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OURS "portmajor"
#define BETWEEN ", \t" /* between names of engines */

/* ---- Names ---- */

/* Takes the next word of a list; false at the end. */
static bool next_word(const char **list, char *word, size_t size)
{
	size_t length;

	*list += strspn(*list, BETWEEN);
	length = strcspn(*list, BETWEEN);
	if (!length)
		return false;
	snprintf(word, size, "%.*s", (int)length, *list);
	*list += length;
	return true;
}

/* Whether a word is in a list; *near: a similar one. */
static bool find_word(const char *list, const char *wanted, struct pm_nearest *near,
		      char word[PM_OPENSM_CONF_LINE])
{
	while (list && next_word(&list, word, PM_OPENSM_CONF_LINE)) {
		if (!strcmp(word, wanted))
			return true;
		pm_nearest_offer(near, word, wanted);
		if (near->word)
			return false;
	}
	return false;
}

void preflight_check_plugin_name(struct preflight *p)
{
	const char *names = pm_opensm_conf_value(&p->conf, "event_plugin_name");
	char word[PM_OPENSM_CONF_LINE];
	struct pm_nearest near = {0};

	if (find_word(names, OURS, &near, word) && !strchr(names, ','))
		preflight_report(p, true, "event_plugin_name", "%s", names);
	else if (near.word)
		preflight_report(p, false, "event_plugin_name",
				 "\"%s\": did you mean " OURS "?", word);
	else if (names && strchr(names, ','))
		preflight_report(p, false, "event_plugin_name",
				 "\"%s\": separate names by blanks; OpenSM splits at a "
				 "comma only behind the first name",
				 names);
	else
		preflight_report(p, false, "event_plugin_name",
				 "does not name portmajor: add the line "
				 "`event_plugin_name %s%sportmajor`",
				 names ? names : "", names ? " " : "");
}

bool preflight_has_next_engine(const struct preflight *p)
{
	const char *engines = pm_opensm_conf_value(&p->conf, "routing_engine");
	char word[PM_OPENSM_CONF_LINE];

	while (engines && next_word(&engines, word, sizeof(word)))
		if (!strcmp(word, OURS))
			return next_word(&engines, word, sizeof(word)) &&
			       strcmp(word, "no_fallback") != 0;
	return false;
}

/* Reports a name of which OpenSM has no engine, and returns false. */
static bool check_engine_name(struct preflight *p, const char *name)
{
	static const char *const known[] = {
		OURS,  "minhop", "updn",       "dnup", "file",	 "ftree", "lash",
		"dor", "none",	 "torus-2QoS", "nue",  "dfsssp", "sssp",  "no_fallback"};
	struct pm_nearest near = {0};
	char hint[PM_NEAREST_HINT];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!strcmp(name, known[i]))
			return true;
		pm_nearest_offer(&near, name, known[i]);
	}
	preflight_report(p, false, "routing_engine", "OpenSM has no engine \"%s\"%s",
			 name, pm_nearest_hint(&near, hint));
	return false;
}

void preflight_check_engines(struct preflight *p)
{
	const char *engines = pm_opensm_conf_value(&p->conf, "routing_engine");
	const char *rest = engines;
	char word[PM_OPENSM_CONF_LINE];
	bool ours = false, first = false, topology = true;

	for (bool begin = true; rest && next_word(&rest, word, sizeof(word));
	     begin = false) {
		topology = check_engine_name(p, word) && topology;
		ours = ours || !strcmp(word, OURS);
		first = first || (begin && ours);
	}
	if (!topology)
		return;
	if (!ours)
		preflight_report(
			p, false, "routing_engine",
			"does not name portmajor: `routing_engine portmajor,nue`");
	else if (!first)
		preflight_report(p, false, "routing_engine",
				 "%s: portmajor must come first to route first", engines);
	else if (!preflight_has_next_engine(p))
		preflight_report(
			p, false, "routing_engine",
			"%s: none comes behind portmajor to route when it cannot: "
			"`routing_engine portmajor,nue`",
			engines);
	else
		preflight_report(p, true, "routing_engine", "%s", engines);
}

/* ---- Numbers and flags ---- */

static bool is_flag(const char *value)
{
	return !strcmp(value, "TRUE") || !strcmp(value, "FALSE");
}

static bool is_number(const char *value)
{
	char *end;

	errno = 0;
	if (*value == '-')
		strtoll(value, &end, 0);
	else
		strtoull(value, &end, 0);
	return !errno && end != value && !*end;
}

/* Checks a value, given OpenSM's default. */
static void check_value(struct preflight *p, const struct pm_opensm_conf_item *item)
{
	const char *usual = pm_opensm_conf_value(&p->defaults, item->key);

	if (!usual || !strcmp(item->key, "lmc")) /* lmc has a check of its own */
		return;
	if (is_flag(usual) && !is_flag(item->value))
		preflight_report(
			p, false, "values",
			"%s:%u: %s must be TRUE or FALSE; OpenSM takes \"%s\" for FALSE",
			p->conf_path, item->line, item->key, item->value);
	else if (is_number(usual) && !is_number(item->value))
		preflight_report(p, false, "values",
				 "%s:%u: %s must be a number, not \"%s\"", p->conf_path,
				 item->line, item->key, item->value);
}

static bool is_true(const struct preflight *p, const char *key)
{
	const char *value = pm_opensm_conf_value(&p->conf, key);

	return value && !strcmp(value, "TRUE");
}

static void check_conflicts(struct preflight *p)
{
	if (is_true(p, "reassign_lids"))
		preflight_report(
			p, false, "reassign_lids",
			"TRUE: each start gives hosts in use other LIDs and ends "
			"their connections; set it to FALSE once `out of plan` is 0");
	if (is_true(p, "use_ucast_cache"))
		preflight_report(p, false, "use_ucast_cache",
				 "TRUE: portmajor switches it off; set it to FALSE");
}

/* ---- Files ---- */

static void check_files(struct preflight *p)
{
	static const char *const keys[] = {"root_guid_file",
					   "cn_guid_file",
					   "io_guid_file",
					   "ids_guid_file",
					   "guid_routing_order_file",
					   "port_prof_ignore_file",
					   "hop_weights_file",
					   "port_search_ordering_file",
					   "dimn_ports_file",
					   "lid_matrix_dump_file",
					   "lfts_file",
					   "torus_config",
					   "node_name_map_name",
					   "partition_config_file",
					   "qos_policy_file",
					   "prefix_routes_file",
					   "per_module_logging_file",
					   "dump_files_dir"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *path = pm_opensm_conf_value(&p->conf, keys[i]);
		const char *usual = pm_opensm_conf_value(&p->defaults, keys[i]);

		/* OpenSM can do without the files of its defaults. */
		if (path && (!usual || strcmp(path, usual)) && access(path, R_OK))
			preflight_report(p, false, "files", "%s %s: %s", keys[i], path,
					 strerror(errno));
	}
}

void preflight_check_values(struct preflight *p)
{
	unsigned int before = p->findings;

	for (size_t i = 0; i < p->conf.count; i++)
		if (pm_opensm_conf_find(&p->conf, p->conf.items[i].key) ==
		    &p->conf.items[i])
			check_value(p, &p->conf.items[i]);
	check_conflicts(p);
	check_files(p);
	if (p->findings == before)
		preflight_report(
			p, true, "values",
			"numbers and flags can be read, files that are named are there");
}
