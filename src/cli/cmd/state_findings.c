/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Judges the plugin's state, and collects findings. */
#include "state_findings.h"

#include "cable_output.h"
#include "cache.h"
#include "check_now.h"
#include "commands.h"
#include "ends.h"
#include "json.h"
#include "managers_output.h"
#include "missing_output.h"
#include "output.h"
#include "text.h"
#include "unset_output.h"

#include <portmajor/base/escape.h>
#include <portmajor/files/plan_file.h>
#include <portmajor/files/requests.h>
#include <portmajor/json/values.h>
#include <portmajor/memory/xalloc.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <time.h>

#define NAMED 8 /* links in a finding */

static void __attribute__((format(printf, 3, 4)))
add_finding(struct findings *findings, const char *kind, const char *format, ...)
{
	va_list args;

	if (findings->count == MAX_FINDINGS)
		return;
	va_start(args, format);
	if (vasprintf(&findings->text[findings->count], format, args) < 0)
		pm_no_memory();
	findings->kind[findings->count] = kind;
	findings->count++;
	va_end(args);
}

/* Judges pairs that cables connect and our tables do not; other engines' are unknown. */
static void judge_paths(const struct status *status, struct findings *findings)
{
	const struct state_file *state = &status->state;
	const char *where = state->unreachable.text ? state->unreachable.text : "?";
	uint64_t connected = state->reachable.connected, pairs = state->reachable.pairs;

	if (pairs < connected)
		add_finding(
			findings, "paths",
			"%" PRIu64 " of %" PRIu64
			" pairs of hosts are cut off although cables connect them: %s",
			connected - pairs, connected, where);
	else if (state->unreachable.pairs)
		add_finding(findings, "paths",
			    "hosts are cut off although cables connect them: %s", where);
	else if (state->unreachable.ends)
		add_finding(findings, "paths",
			    "end ports are cut off although cables connect them: %s",
			    where);
}

/*
 * Whether a device's file system can be written somewhere: where it cannot, it is mounted
 * read-only there, as in a container or a service that only looks.
 */
static bool is_writable(dev_t device)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, mode[3];
	bool writable = false;
	size_t size = 0;

	while (file && !writable && getline(&line, &size, file) > 0) {
		const char *rest = strstr(line, " - "); /* type, source, options */
		unsigned int a, b;

		writable = sscanf(line, "%*u %*u %u:%u ", &a, &b) == 2 &&
			   makedev(a, b) == device && rest &&
			   sscanf(rest, " - %*s %*s %2s", mode) == 1 &&
			   !strcmp(mode, "rw");
	}
	free(line);
	if (file)
		fclose(file);
	return writable;
}

/* Why no file can be written to the disk of the state, or NULL. */
static const char *find_disk_fault(const struct status *status)
{
	struct statvfs disk;
	struct stat file;

	if (!status->state.running || statvfs(status->path, &disk) ||
	    stat(status->path, &file))
		return NULL;
	if ((disk.f_flag & ST_RDONLY) && !is_writable(file.st_dev))
		return "read-only";
	return !disk.f_bfree || (disk.f_files && !disk.f_ffree) ? "full" : NULL;
}

/*
 * Judges files: a restart goes on with those on disk. The plugin may have been unable to
 * write that it cannot write.
 */
static void judge_files(const struct status *status, struct findings *findings)
{
	const json_t *plan = state_file_member(&status->state, "plan");
	const char *fault = find_disk_fault(status);

	if (status->state.unsaved)
		add_finding(findings, "files", "not saved: %s", status->state.unsaved);
	else if (json_is_false(json_object_get(plan, "saved")))
		add_finding(findings, "files", "the plan is not saved: see OpenSM's log");
	else if (fault)
		add_finding(findings, "files",
			    "the file system of %s is %s: what is known may be old",
			    status->path, fault);
}

static int is_aside(const struct dirent *entry)
{
	return pm_plan_file_is_aside(entry->d_name);
}

/*
 * Judges plans beside the state that OpenSM did not use. They alone may have the LIDs of
 * parts that were absent, so somebody has to look.
 */
static void judge_aside(const struct status *status, struct findings *findings)
{
	const char *slash = strrchr(status->path, '/');
	char *folder = cli_text_make("%.*s/", slash ? (int)(slash - status->path) : 0,
				     status->path);
	struct dirent **found = NULL;
	int num = slash ? scandir(folder, &found, is_aside, alphasort) : 0;

	if (num > 0)
		add_finding(findings, "aside",
			    "a plan was not used: %s%s%s; `portmajor events` says why; "
			    "remove the file when nobody needs it",
			    folder, found[num - 1]->d_name, num > 1 ? " and others" : "");
	for (int i = 0; i < num; i++)
		free(found[i]);
	free(found);
	free(folder);
}

/* A member's text, or NULL if it has none. */
static const char *text_of(const json_t *object, const char *member)
{
	return json_string_value(json_object_get(object, member));
}

/* Appends to an allocated text. */
static void __attribute__((format(printf, 2, 3)))
append(char **text, const char *format, ...)
{
	char *more, *both;
	va_list args;

	va_start(args, format);
	if (vasprintf(&more, format, args) < 0)
		pm_no_memory();
	va_end(args);
	both = cli_text_make("%s%s", *text ? *text : "", more);
	free(more);
	free(*text);
	*text = both;
}

/* `leaf5[20]-s1-line0[6] (1xQDR, neighbours 4xQDR)` */
static void append_degraded(char **text, const json_t *link)
{
	const char *own = text_of(link, "link"), *usual = text_of(link, "neighbours");
	char *name = cli_ends_name(link);

	append(text, "%s (%s, neighbours %s)", name, own ? own : "?",
	       usual ? usual : "?");
	free(name);
}

/* The operand of `portmajor drain` for an end of a link, as a word for the shell. */
static char *drain_word(const json_t *end)
{
	json_int_t port = cli_json_number(end, "port");
	const char *name = cli_json_label(end);
	char *text = cli_text_make("%s:%" JSON_INTEGER_FORMAT, name ? name : "", port);
	size_t size = 4 * strlen(text) + 32; /* of it in quotes, or a GUID */
	char *word = pm_xarray(size, 1);

	if (!name || !*name || !pm_escape_shell(text, word, size))
		snprintf(word, size, "%s:%" JSON_INTEGER_FORMAT,
			 cli_json_text(end, "guid"), port);
	free(text);
	return word;
}

/*
 * Appends the command that drains the first link between switches which no drain has yet.
 */
static void append_drain(const struct status *status, char **text, const json_t *list)
{
	const json_t *port;
	size_t i;

	json_array_foreach(list, i, port) {
		const char *kind = text_of(port, "kind");
		char *word, *name;

		/* Lists of links alone have no kinds. */
		if ((kind && strcmp(kind, "link") != 0) ||
		    pm_request_is_drained(status->state.root, port, NULL))
			continue;
		word = drain_word(json_array_get(json_object_get(port, "ends"), 0));
		name = cli_ends_name(port);
		append(text, "; `portmajor drain %s` keeps %s out of paths", word, name);
		free(name);
		free(word);
		return;
	}
}

/*
 * Slow links; a list may have fewer than there are. Drained ones are out of paths. With
 * `whose`: of hosts, which no drain takes out.
 */
static void judge_slow(const struct status *status, const char *member, const char *whose,
		       struct findings *findings)
{
	const json_t *object = state_file_member(&status->state, member);
	const json_t *list = json_object_get(object, "list");
	json_int_t count = cli_json_number(object, "count"), named = 0;
	char *text = NULL;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *link = json_array_get(list, i);

		if (pm_request_is_drained(status->state.root, link, "out")) {
			count--;
			continue;
		}
		if (named++ >= NAMED)
			continue;
		append(&text, "%s", named > 1 ? ", " : "");
		append_degraded(&text, link);
	}
	if (count) {
		append(&text, "%s", !text ? "?" : count > NAMED ? ", .." : "");
		if (!*whose)
			append_drain(status, &text, list);
		add_finding(findings, member,
			    "%" JSON_INTEGER_FORMAT "%s link%s slower than %s "
			    "neighbours: %s",
			    count, whose, count == 1 ? " is" : "s are",
			    count == 1 ? "its" : "their", text);
	}
	free(text);
}

/* Judges links between switches, and those of hosts. */
static void judge_links(const struct status *status, struct findings *findings)
{
	judge_slow(status, "degraded_links", "", findings);
	judge_slow(status, "degraded_hosts", " host", findings);
}

/* `leaf5[20]-s1-line0[6] (57 symbol errors, 1 link down)` */
static void append_port_errors(char **text, const json_t *port)
{
	char *name = cli_ends_name(port), errors[PM_JSON_ERRORS];

	append(text, "%s (%s)", name, pm_json_errors_print(port, errors));
	free(name);
}

/* The list may have fewer ports than there are. */
static void judge_port_errors(const struct status *status, struct findings *findings)
{
	const json_t *list =
		json_object_get(state_file_member(&status->state, "port_errors"), "list");
	uint64_t count = status->state.port_errors.count;
	char *text = NULL;

	if (!count)
		return;
	for (size_t i = 0; i < json_array_size(list) && i < NAMED; i++) {
		append(&text, "%s", i ? ", " : "");
		append_port_errors(&text, json_array_get(list, i));
	}
	append(&text, "%s", count > NAMED ? ", .." : "");
	append_drain(status, &text, list);
	add_finding(findings, "errors",
		    "%" PRIu64 " port%s had errors in the last hour: %s", count,
		    count == 1 ? "" : "s", text);
	free(text);
}

static void judge_missing(const struct status *status, struct findings *findings)
{
	char *text = cli_missing_finding(state_file_member(&status->state, "missing"));

	if (text)
		add_finding(findings, "missing", "%s", text);
	free(text);
}

static void judge_places(const struct status *status, struct findings *findings)
{
	static const char *const kinds[] = {"recabled", "moved", "replaced"};
	const json_t *changed = state_file_member(&status->state, "changed");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		char *text = cli_changed_finding(changed, kinds[i]);

		if (text)
			add_finding(findings, kinds[i], "%s", text);
		free(text);
	}
}

static void judge_cables(const struct status *status, struct findings *findings)
{
	char *text = cable_diff_finding(status->cables, status->expected);

	if (text)
		add_finding(findings, "cables", "%s", text);
	free(text);
}

/* Judges links that are kept out of paths, or would be if none needed them. */
static void judge_holds(const struct status *status, struct findings *findings)
{
	const json_t *flapping = state_file_member(&status->state, "flapping");
	json_int_t held = 0;
	char *text = NULL, *name;
	const json_t *flap;
	size_t i;

	json_array_foreach(flapping, i, flap) {
		const char *word = cli_json_text(flap, "state");

		if (strcmp(word, "on-hold") != 0 && strcmp(word, "needed") != 0)
			continue;
		if (held++ >= NAMED)
			continue;
		name = cli_ends_name(flap);
		append(&text, "%s%s (%s)", held > 1 ? ", " : "", name, word);
		free(name);
	}
	if (held)
		add_finding(findings, "held",
			    "%" JSON_INTEGER_FORMAT
			    " link%s flapping: %s%s (`portmajor release` ends a hold)",
			    held, held == 1 ? " is" : "s are", text,
			    held > NAMED ? ", .." : "");
	free(text);
}

/* Judges hosts whose links went down again and again in the last hour. */
static void judge_flapping_hosts(const struct status *status, struct findings *findings)
{
	const json_t *hosts = state_file_member(&status->state, "flapping_hosts");
	json_int_t count = cli_json_number(hosts, "count");
	char *text = NULL, *name;
	const json_t *flap;
	size_t i;

	json_array_foreach(json_object_get(hosts, "list"), i, flap) {
		if (i == NAMED)
			break;
		name = cli_missing_name(flap);
		append(&text,
		       "%s%s (%" JSON_INTEGER_FORMAT " times in %" JSON_INTEGER_FORMAT
		       " s)",
		       i ? ", " : "", name, cli_json_number(flap, "downs"),
		       cli_json_number(flap, "last") - cli_json_number(flap, "first"));
		free(name);
	}
	if (count)
		add_finding(findings, "flapping",
			    "%" JSON_INTEGER_FORMAT
			    " host%s down again and again: %s%s; check cable and adapter",
			    count, count == 1 ? "'s link goes" : "s' links go",
			    text ? text : "?", count > NAMED ? ", .." : "");
	free(text);
}

static void judge_multicast(const struct status *status, struct findings *findings)
{
	uint64_t left_out = status->state.multicast.members_left_out;

	if (left_out)
		add_finding(findings, "members",
			    "%" PRIu64 " member%s of multicast groups %s in no tree: "
			    "no links, a switch without multicast, or too small a table",
			    left_out, left_out == 1 ? "" : "s",
			    left_out == 1 ? "is" : "are");
	if (status->state.multicast.incomplete)
		add_finding(findings, "multicast", "multicast tables are not all sent");
}

/* Of tables that were read on request: what they are now is not known. */
static void judge_tables_read(const struct status *status, struct findings *findings)
{
	const json_t *read = state_file_member(&status->state, "tables_read");
	char when[CLI_TEXT_WHEN];
	const char *name;
	uint64_t count;
	char *text = check_now_finding(read, CHECK_NOT_AS_SET, &name, &count);

	if (text)
		add_finding(findings, "entries",
			    "%s, as read at %s (`portmajor check --now` reads again; a "
			    "restart of OpenSM writes all tables)",
			    text, cli_text_when(cli_json_number(read, "time"), when));
	free(text);
}

/* Judges the fabric as of the last run: a standby knows nothing newer. */
static void judge_fabric(const struct status *status, struct findings *findings)
{
	char *unset = cli_unset_finding(state_file_member(&status->state, "unset"));

	if (status->state.bad_switches)
		add_finding(findings, "switches", "bad switches: %s",
			    status->state.bad_switches);
	judge_missing(status, findings);
	judge_places(status, findings);
	judge_cables(status, findings);
	judge_holds(status, findings);
	judge_flapping_hosts(status, findings);
	judge_links(status, findings);
	judge_port_errors(status, findings);
	judge_multicast(status, findings);
	judge_tables_read(status, findings);
	if (unset)
		add_finding(findings, "blocks", "%s", unset);
	free(unset);
}

/*
 * Whether OpenSM's process is there. Its pid may be another process's only where the
 * folder's lock cannot be read, or on another machine.
 */
static bool lives(const struct status *status)
{
	json_int_t pid = cli_json_number(status->state.root, "pid");

	return cache_has_our_pid(status->state.root) && pid > 1 && pid <= INT32_MAX &&
	       (!kill((pid_t)pid, 0) || errno == EPERM);
}

/* Whether a master knows a standby. */
static bool has_standby(const struct state_file *state)
{
	const json_t *managers = state_file_member(state, "managers"), *one;
	size_t i;

	json_array_foreach(managers, i, one) {
		if (!strcmp(cli_json_text(one, "sm_state"), "standby"))
			return true;
	}
	return false;
}

/* Adds the end of OpenSM, and which one of this machine is the master instead. */
static void add_end(const struct status *status, const char *what,
		    struct findings *findings)
{
	const struct status *master = status->master;

	if (!master)
		add_finding(findings, "process", "%s", what);
	else
		add_finding(findings, "process",
			    "%s; the master is that of port %s, %s standby", what,
			    cli_json_text(master->state.root, "port_guid"),
			    has_standby(&master->state) ? "with a" : "without a");
}

/* Judges whether OpenSM runs and writes its state. */
static void judge_process(const struct status *status, struct findings *findings)
{
	if (status->state.killed)
		add_end(status,
			"OpenSM was killed or has crashed: no process holds the lock of "
			"its folder",
			findings);
	else if (!status->state.running)
		add_end(status, "OpenSM has ended", findings);
	else if (status->age > (json_int_t)status->max_age && lives(status))
		add_finding(findings, "process",
			    "OpenSM (pid %" JSON_INTEGER_FORMAT
			    ") runs, but has written nothing for %" JSON_INTEGER_FORMAT
			    " s: it hangs, or its disk is full or does not answer",
			    cli_json_number(status->state.root, "pid"), status->age);
	else if (status->age > (json_int_t)status->max_age)
		add_finding(findings, "process",
			    "the state is old: written %" JSON_INTEGER_FORMAT
			    " s ago; is OpenSM running, and its disk not full?",
			    status->age);
}

/* Judges the other subnet managers that OpenSM knows. */
static void judge_managers(const struct status *status, struct findings *findings)
{
	const json_t *managers = state_file_member(&status->state, "managers"), *one;
	bool master = !strcmp(status->state.sm, "master"), told = false;
	char since[CLI_TEXT_WHEN];
	size_t i;

	json_array_foreach(managers, i, one) {
		char *name = cli_manager_name(one);

		cli_text_when(cli_json_number(one, "since"), since);
		if (master && !strcmp(cli_json_text(one, "sm_state"), "master")) {
			add_finding(
				findings, "master",
				"two masters of one fabric, since %s: the other is %s; "
				"end one of them",
				since, name);
			told = true;
		} else if (json_is_true(json_object_get(one, "foreign"))) {
			add_finding(findings, "master",
				    "the master is %s, since %s, and there is no plan "
				    "of it here: it has no portmajor, or plans are not "
				    "copied between the machines",
				    name, since);
		}
		free(name);
	}
	if (master && status->master && !told)
		add_finding(findings, "master",
			    "two masters of one fabric: the other is OpenSM of port %s; "
			    "end one of them",
			    cli_json_text(status->master->state.root, "port_guid"));
}

/* Judges whether anybody runs the fabric, as far as this OpenSM knows. */
static void judge_master(const struct status *status, struct findings *findings)
{
	const struct state_file *state = &status->state;
	char since[CLI_TEXT_WHEN];

	if (state->running)
		judge_managers(status, findings);
	if (state->running && state->no_master)
		add_finding(findings, "master",
			    "no master since %s: %s; the fabric is as last known",
			    cli_text_when(state->no_master_since, since),
			    state->no_master);
}

/* Judges the tables of another engine, which the plugin has followed. */
static void judge_tables(const struct status *status, struct findings *findings)
{
	const json_t *tables = state_file_member(&status->state, "engine_tables");
	const char *cut = text_of(tables, "cut"), *loop = text_of(tables, "credit_loop");

	if (cut)
		add_finding(findings, "tables", "%s", cut);
	if (loop)
		add_finding(findings, "deadlock", "%s", loop);
}

/* Judges, of a master, which engine routes, and whether all hosts have paths. */
static void judge_routing(const struct status *status, struct findings *findings)
{
	const struct state_file *state = &status->state;
	bool shadow = json_is_object(state_file_member(state, "shadow"));

	if (state->routed && !state->active && !(shadow && state->engine.used))
		add_finding(findings, "engine", "OpenSM fell back to %s: %s",
			    state->engine.used ? state->engine.used : "no engine at all",
			    state->engine.reason ? state->engine.reason : "?");
	else if (!shadow)
		judge_paths(status, findings);
	judge_tables(status, findings);
}

void findings_judge(const struct status *status, struct findings *findings)
{
	const struct state_file *state = &status->state;
	bool master = !strcmp(state->sm, "master");

	/* What a former master knew of the fabric is its successor's to tell. */
	if (!state->running && status->master)
		master = false;
	judge_process(status, findings);
	judge_master(status, findings);
	judge_files(status, findings);
	judge_aside(status, findings);
	if (master)
		judge_routing(status, findings);
	if (master)
		judge_fabric(status, findings);
	if (state->config_error)
		add_finding(findings, "config", "the configuration is not used: %s",
			    state->config_error);
	if (state->drained.error)
		add_finding(findings, "drain", "drains are not followed: %s",
			    state->drained.error);
}

void findings_free(struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		free(findings->text[i]);
}
