/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor status: prints and judges the plugin's state. */
#include "cable_output.h"
#include "cache.h"
#include "commands.h"
#include "ends.h"
#include "expected.h"
#include "json.h"
#include "missing_output.h"
#include "text.h"
#include "repeat.h"

#include <portmajor/base/hash.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STATE_VERSION 2
#define MAX_AGE_S 180 /* the plugin writes every 60 */
#define MAX_FINDINGS 19
#define NAMED 8 /* links in a line */

/* Members of a state file that are judged; they live as long as the JSON. */
struct state {
	json_int_t time, pairs_unreachable;
	json_int_t pairs_connected, pairs_cut; /* of hosts; 0 if that is not known */
	bool running;
	bool left;  /* OpenSM has gone without ending */
	int active; /* -1 before the first routing */
	/* NULL: nothing. */
	const char *sm, *engine, *reason, *unreachable, *misread, *unfit, *unsaved;
	const char *expected; /* file of the intended cabling .. */
	json_t *cables;	      /* .. and what differs; ours to free */
	json_t *run, *drained, *plan, *reachable, *shadow, *degraded, *missing, *flapping,
		*multicast;
};

struct findings {
	char *text[MAX_FINDINGS];
	size_t count;
};

static void __attribute__((format(printf, 2, 3)))
add_finding(struct findings *findings, const char *format, ...)
{
	va_list args;

	if (findings->count == MAX_FINDINGS)
		return;
	va_start(args, format);
	if (vasprintf(&findings->text[findings->count], format, args) < 0)
		cli_no_memory();
	findings->count++;
	va_end(args);
}

/* ---- Reading ---- */

/* Text, or NULL where there is none. */
static const char *text_of(const json_t *object, const char *member)
{
	return json_string_value(json_object_get(object, member));
}

/* Whole members; NULL where there is none. */
static void unpack_members(const json_t *root, struct state *state)
{
	state->run = json_object_get(root, "run");
	state->plan = json_object_get(root, "plan");
	state->reachable = json_object_get(root, "reachable");
	state->shadow = json_object_get(root, "shadow");
	state->drained = json_object_get(root, "drained");
	state->degraded = json_object_get(root, "degraded_links");
	state->flapping = json_object_get(root, "flapping");
	state->missing = json_object_get(root, "missing");
	state->multicast = json_object_get(root, "multicast");
}

static int unpack(json_t *root, const char *path, struct state *state)
{
	const char *schema = NULL;
	json_t *active, *engine, *unreachable;
	json_error_t error;
	int version = 0;

	if (json_unpack(root, "{s:s, s:i}", "schema", &schema, "version", &version) ||
	    strcmp(schema, "portmajor-state") != 0)
		return cli_fail(EXIT_INPUT, "%s: not a state file of portmajor", path);
	if (version != STATE_VERSION)
		return cli_fail(EXIT_INPUT,
				"%s: version %d of the schema; this program reads %d",
				path, version, STATE_VERSION);
	if (json_unpack_ex(root, &error, JSON_VALIDATE_ONLY,
			   "{s:I, s:b, s:s, s:s, s:s, s:I, s:I, s:o, s:{s:o}, s:o, "
			   "s:o, s:o, s:I, s:o, s:o, s:{s:I}, s:o}",
			   "time", "running", "sm_state", "opensm", "plugin", "pid",
			   "started", "engine", "engine", "active", "run", "repair",
			   "since_start", "out_of_plan", "flapping", "unreachable",
			   "unreachable", "pairs", "plan"))
		return cli_fail(EXIT_INPUT, "%s: %s", path, error.text);
	engine = json_object_get(root, "engine");
	active = json_object_get(engine, "active");
	unreachable = json_object_get(root, "unreachable");
	state->time = cli_json_number(root, "time");
	state->left =
		json_is_true(json_object_get(root, "running")) && cache_is_left(path);
	state->running = json_is_true(json_object_get(root, "running")) && !state->left;
	state->sm = text_of(root, "sm_state");
	state->active = json_is_boolean(active) ? json_is_true(active) : -1;
	state->engine = text_of(engine, "used");
	state->reason = text_of(engine, "reason");
	state->pairs_unreachable = cli_json_number(unreachable, "pairs");
	state->unreachable = text_of(unreachable, "text");
	state->unsaved = text_of(root, "unsaved");
	state->misread = text_of(root, "config_error");
	state->unfit = text_of(root, "bad_switches");
	unpack_members(root, state);
	state->pairs_connected = cli_json_number(state->reachable, "connected");
	state->pairs_cut =
		state->pairs_connected - cli_json_number(state->reachable, "pairs");
	return EXIT_FINE;
}

/* ---- Judging ---- */

/* Hosts that cables join and our tables do not; another engine's are not known. */
static void judge_paths(const struct state *state, struct findings *findings)
{
	const char *where = state->unreachable ? state->unreachable : "?";

	if (state->pairs_cut > 0)
		add_finding(findings,
			    "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
			    " pairs of hosts are cut off that cables join: %s",
			    state->pairs_cut, state->pairs_connected, where);
	else if (state->pairs_unreachable > 0)
		add_finding(findings, "hosts are cut off that cables join: %s", where);
}

/* A restart goes on with the files on disk. */
static void judge_files(const struct state *state, struct findings *findings)
{
	if (state->unsaved)
		add_finding(findings, "not saved: %s", state->unsaved);
	else if (json_is_false(json_object_get(state->plan, "saved")))
		add_finding(findings, "the plan is not saved: see OpenSM's log");
}

/* Appends to a text that is allocated. */
static void __attribute__((format(printf, 2, 3)))
append(char **text, const char *format, ...)
{
	char *more, *both;
	va_list args;

	va_start(args, format);
	if (vasprintf(&more, format, args) < 0)
		cli_no_memory();
	va_end(args);
	if (asprintf(&both, "%s%s", *text ? *text : "", more) < 0)
		cli_no_memory();
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

/* The list may be shorter than the count. */
static void judge_links(const struct state *state, struct findings *findings)
{
	const json_t *list = json_object_get(state->degraded, "list");
	json_int_t count = cli_json_number(state->degraded, "count");
	char *text = NULL;

	if (count <= 0)
		return;
	for (size_t i = 0; i < json_array_size(list) && i < NAMED; i++) {
		append(&text, "%s", i ? ", " : "");
		append_degraded(&text, json_array_get(list, i));
	}
	add_finding(findings,
		    "%" JSON_INTEGER_FORMAT " link%s below %s neighbours': %s%s", count,
		    count == 1 ? " runs" : "s run", count == 1 ? "its" : "their",
		    text ? text : "?", count > NAMED ? ", .." : "");
	free(text);
}

static void judge_missing(const struct state *state, struct findings *findings)
{
	char *text = cli_missing_finding(state->missing);

	if (text)
		add_finding(findings, "%s", text);
	free(text);
}

static void judge_cables(const struct state *state, struct findings *findings)
{
	char *text = cable_diff_finding(state->cables, state->expected);

	if (text)
		add_finding(findings, "%s", text);
	free(text);
}

/* Links that are kept out, or would be but for paths that need them. */
static void judge_holds(const struct state *state, struct findings *findings)
{
	json_int_t held = 0;
	char *text = NULL, *name;
	const json_t *flap;
	size_t i;

	json_array_foreach(state->flapping, i, flap) {
		const char *word = text_of(flap, "state");

		if (!word ||
		    (strcmp(word, "on-hold") != 0 && strcmp(word, "needed") != 0))
			continue;
		if (held++ >= NAMED)
			continue;
		name = cli_ends_name(flap);
		append(&text, "%s%s (%s)", held > 1 ? ", " : "", name, word);
		free(name);
	}
	if (held)
		add_finding(findings,
			    "%" JSON_INTEGER_FORMAT
			    " link%s flapping: %s%s (`portmajor release` ends a hold)",
			    held, held == 1 ? " is" : "s are", text,
			    held > NAMED ? ", .." : "");
	free(text);
}

static void judge_multicast(const struct state *state, struct findings *findings)
{
	json_int_t left_out = cli_json_number(state->multicast, "members_left_out");

	if (left_out)
		add_finding(findings,
			    "%" JSON_INTEGER_FORMAT
			    " member%s of multicast groups %s in no tree: "
			    "no links, a switch without multicast, or too small a table",
			    left_out, left_out == 1 ? "" : "s",
			    left_out == 1 ? "is" : "are");
	if (json_is_true(json_object_get(state->multicast, "incomplete")))
		add_finding(findings, "multicast tables are not all sent");
}

/* Facts as of the last run: a standby knows nothing newer. */
static void judge_fabric(const struct state *state, struct findings *findings)
{
	json_int_t sent = cli_json_number(state->run, "sent");
	json_int_t acked = cli_json_number(state->run, "acked");

	if (state->unfit)
		add_finding(findings, "bad switches: %s", state->unfit);
	judge_missing(state, findings);
	judge_cables(state, findings);
	judge_holds(state, findings);
	judge_links(state, findings);
	judge_multicast(state, findings);
	if (acked < sent)
		add_finding(findings,
			    "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
			    " LFT blocks of the last run were not acknowledged",
			    sent - acked, sent);
}

static void judge(const struct state *state, json_int_t age, uint32_t max_age,
		  struct findings *findings)
{
	bool master = !strcmp(state->sm, "master");

	if (state->left)
		add_finding(
			findings,
			"OpenSM was killed or has crashed: no process holds the lock of its "
			"folder");
	else if (!state->running)
		add_finding(findings, "OpenSM has ended");
	else if (age > (json_int_t)max_age)
		add_finding(findings,
			    "the state is old: written %" JSON_INTEGER_FORMAT
			    " s ago; is OpenSM running, and its disk not full?",
			    age);
	judge_files(state, findings);
	if (master && state->active == 0 &&
	    !(json_is_object(state->shadow) && state->engine))
		add_finding(findings, "OpenSM fell back to %s: %s",
			    state->engine ? state->engine : "no engine at all",
			    state->reason ? state->reason : "?");
	else if (master && !json_is_object(state->shadow))
		judge_paths(state, findings);
	if (master)
		judge_fabric(state, findings);
	if (state->misread)
		add_finding(findings, "the configuration is not used: %s",
			    state->misread);
	if (text_of(state->drained, "error"))
		add_finding(findings, "what is drained is not followed: %s",
			    text_of(state->drained, "error"));
}

/* ---- Printing ---- */

#define BLOCKS "LFT blocks sent {#sent}, acked {#acked}, bound {#bound}"
#define EVENT "{#number}, {@time}: {change}\n            " BLOCKS

static void print_run(const json_t *run)
{
	if (!json_is_object(run)) {
		puts("last run    none yet");
		return;
	}
	cli_text_print(run,
		       "last run    " EVENT ", full load {#full_load}\n"
		       "            switches {#switches}, whole tables {#whole_tables}, "
		       "entries {#entries}; LIDs assigned {#lids_assigned}, moved "
		       "{#lids_moved}; computed in {%milliseconds} ms\n");
	if (cli_json_number(run, "stale_entries") > 0)
		cli_text_print(
			run,
			"            stale entries removed "
			"{#stale_entries}, LIDs that would have looped {#looping_lids}\n");
}

static void print_shadow(const json_t *shadow)
{
	cli_text_print(shadow, "shadow      {#number}, {@time}: {change}\n            ");
	if (!json_is_true(json_object_get(shadow, "would_route"))) {
		puts("portmajor would not route this fabric");
		return;
	}
	if (json_is_object(json_object_get(shadow, "other")))
		cli_text_print(shadow, "{other.engine} sent LFT blocks {#other.sent}; ");
	fputs("would send LFT blocks ", stdout);
	if (json_is_integer(json_object_get(shadow, "event")))
		cli_text_print(shadow, "{#event} for this, ");
	cli_text_print(shadow, "{#take_over} to take over, full load {#full_load}; LIDs "
			       "out of plan {#lids_out_of_plan}\n");
}

static void print_repair(const json_t *repair)
{
	if (!json_is_object(repair)) {
		puts("last repair none");
		return;
	}
	cli_text_print(repair,
		       "last repair " EVENT "; traps {#traps}, queries {#queries}, "
		       "unanswered {#unanswered}; {%milliseconds} ms");
	if (json_is_true(json_object_get(repair, "left_to_sweep")))
		cli_text_print(repair,
			       text_of(repair, "gave_up")
				       ? "; the rest was left to the sweep: {gave_up}"
				       : "; the rest was left to the sweep");
	putchar('\n');
}

/* Those of a list that there is room for, each by `print_one`; ends the line. */
static void print_some(const json_t *list, void (*print_one)(const json_t *one))
{
	size_t count = json_array_size(list);

	for (size_t i = 0; i < count && i < NAMED; i++) {
		fputs(i ? ", " : ": ", stdout);
		print_one(json_array_get(list, i));
	}
	puts(count > NAMED ? ", .." : "");
}

/* The name of a switch or, if it is not known, its GUID. */
static void put_name(const json_t *sw)
{
	const char *name = cli_json_label(sw);

	if (name && *name)
		cli_text_put(name);
	else
		cli_text_print(sw, "{guid}");
}

static void print_link(const json_t *flap)
{
	char *name = cli_ends_name(flap);

	cli_text_put(name);
	free(name);
	cli_text_print(flap, " ({state}, {#downs|time|times} down");
	if (cli_json_number(flap, "left_ms"))
		printf(", %" JSON_INTEGER_FORMAT " s left",
		       (cli_json_number(flap, "left_ms") + 999) / 1000);
	putchar(')');
}

/*
 * Those that are or were on hold flap; another one went down, with a switch perhaps, and
 * may be whole.
 */
static void print_flapping(const json_t *list)
{
	json_t *flapping = json_array(), *once = json_array();
	json_t *both, *flap;
	size_t i;

	json_array_foreach(list, i, flap)
		json_array_append(strcmp(cli_json_text(flap, "state"), "noted") ? flapping
										: once,
				  flap);
	both = json_pack("{s:o, s:o}", "flapping", flapping, "once", once);
	cli_text_print(both, "flapping    {#flapping|link|links}");
	print_some(flapping, print_link);
	cli_text_print(both, "went down   {#once|link|links} lately");
	print_some(once, print_link);
	json_decref(both);
}

static void print_drain(const json_t *item)
{
	put_name(item);
	if (cli_json_number(item, "port"))
		cli_text_print(item, ":{#port}");
	cli_text_print(item, " ({state}");
	if (cli_json_number(item, "needed"))
		cli_text_print(item, ", cables in use as last paths {#needed}");
	if (cli_json_number(item, "since"))
		cli_text_print(item, ", since {@since}");
	if (text_of(item, "by"))
		cli_text_print(item, " by {by}");
	if (text_of(item, "reason"))
		cli_text_print(item, ": {reason}");
	putchar(')');
}

/* How far tables are off the plan's, where the plugin has said it. */
static void print_balance(const json_t *balance)
{
	if (!json_is_object(balance))
		return;
	fputs("balance     ", stdout);
	if (!cli_json_number(balance, "entries_off"))
		fputs("tables are the plan's", stdout);
	else
		cli_text_print(balance, "{#entries_off|entry|entries} off the plan's, in "
					"{#blocks_off|LFT block|LFT blocks} of "
					"{#switches_off|switch|switches}");
	if (json_is_true(json_object_get(balance, "rebalancing")))
		cli_text_print(balance,
			       "; rebalancing, {#blocks_left|LFT block|LFT blocks} left");
	putchar('\n');
}

static void print_multicast(const json_t *multicast)
{
	if (!json_is_object(multicast))
		return;
	fputs("multicast   ", stdout);
	if (text_of(multicast, "left_to_opensm"))
		cli_text_print(multicast, "left to OpenSM: {left_to_opensm}");
	else
		cli_text_print(multicast, "{#groups|group|groups}, {#trees|tree|trees}");
	if (cli_json_number(multicast, "down_and_up"))
		cli_text_print(multicast, ", {#down_and_up} down and up again");
	if (cli_json_number(multicast, "members_left_out"))
		cli_text_print(multicast, "; {#members_left_out|member|members} in none");
	if (json_is_true(json_object_get(multicast, "incomplete")))
		fputs("; tables are not all sent", stdout);
	putchar('\n');
	if (json_is_object(json_object_get(multicast, "last_change")))
		cli_text_print(
			json_object_get(multicast, "last_change"),
			"            last change {@time}: MFT blocks sent {#sent}, "
			"acked {#acked}, bound {#bound}; {%milliseconds} ms\n");
}

/* The mean of times, which are sums over `sent` repairs. */
static double mean_of(const json_t *repairs, const char *member)
{
	return json_number_value(json_object_get(repairs, member)) /
	       (double)cli_json_number(repairs, "sent");
}

/* Repairs by the phase of OpenSM's sweep, and how long they took. */
static void print_phases(const json_t *phases)
{
	json_t *of = json_object();
	const char *name;
	json_t *repairs;

	json_object_foreach((json_t *)phases, name, repairs) {
		if (!cli_json_number(repairs, "repairs"))
			continue;
		printf("            in phase %s: ", name);
		cli_text_print(repairs, "early repairs {#repairs}");
		if (cli_json_number(repairs, "sent")) {
			json_object_set_new(of, "set",
					    json_real(mean_of(repairs, "first_set_ms")));
			json_object_set_new(
				of, "answer",
				json_real(mean_of(repairs, "last_answer_ms")));
			cli_text_print(
				of,
				"; ms from the first trap to the first Set {%set} (at most ");
			cli_text_print(repairs, "{%first_set_ms_max}");
			cli_text_print(of, "), to the last answer {%answer} (at most ");
			cli_text_print(repairs, "{%last_answer_ms_max})");
		}
		putchar('\n');
	}
	json_decref(of);
}

static void print_plan(const json_t *plan)
{
	if (!json_is_object(plan)) {
		puts("plan        none yet");
		return;
	}
	cli_text_print(plan, "plan        {file}");
	fputs(json_is_true(json_object_get(plan, "saved")) ? "" : " (not saved)", stdout);
	cli_text_print(plan, ": lid_order {lid_order}, LMC {#lmc}, switches {#switches}, "
			     "LIDs up to {#top_lid}\n");
}

static void print_totals(const json_t *totals)
{
	cli_text_print(totals, ": runs {#runs}, of other engines {#fallbacks}; " BLOCKS
			       "\n            early repairs {#repairs}, LFT blocks sent "
			       "{#repair_sent}, acked {#repair_acked}\n");
	if (cli_json_number(totals, "moves"))
		cli_text_print(totals, "            moves of drains {#moves}, LFT blocks "
				       "sent {#move_sent}, acked {#move_acked}\n");
	if (cli_json_number(totals, "multicast_sent"))
		cli_text_print(totals, "            multicast: MFT blocks sent "
				       "{#multicast_sent}, acked {#multicast_acked}\n");
	if (cli_json_number(totals, "traps_dropped"))
		cli_text_print(
			totals,
			"            traps dropped for want of room {#traps_dropped}\n");
}

static void print_engine(const struct state *state, json_int_t age)
{
	json_t *back = json_object_get(state->reachable, "failback_in_ms");
	json_int_t left = (json_integer_value(back) + 999) / 1000 - age;

	fputs("engine      ", stdout);
	cli_text_put(state->engine	  ? state->engine
		     : state->active == 0 ? "none"
					  : "none yet");
	if (state->active == 0 && json_is_integer(back))
		printf(", portmajor again in %" JSON_INTEGER_FORMAT " s",
		       left > 0 ? left : 0);
	putchar('\n');
}

/* Which it is; a port's GUID is all that the plugin knows it by. */
static void print_fabric(const json_t *root)
{
	if (text_of(root, "port_guid"))
		cli_text_print(root, "fabric      of port {port_guid}\n");
}

static void print_state(const json_t *root, const struct state *state, json_int_t age)
{
	cli_text_print(root, "OpenSM      {opensm}, ");
	cli_text_print(root, state->running ? "{sm_state}" : "ended");
	cli_text_print(root, ", pid {#pid}, state written ");
	printf("%" JSON_INTEGER_FORMAT, age);
	cli_text_print(root, " s ago by portmajor {plugin}\n");
	print_engine(state, age);
	if (text_of(root, "phase"))
		cli_text_print(root, "phase       {phase}\n");
	if (json_is_object(state->shadow))
		print_shadow(state->shadow);
	print_run(state->run);
	print_repair(json_object_get(root, "repair"));
	cli_text_print(root, "LIDs        {#out_of_plan} out of plan\n");
	print_flapping(json_object_get(root, "flapping"));
	if (json_is_object(state->degraded))
		cli_text_print(root,
			       "degraded    {#degraded_links.count|link|links} below "
			       "their neighbours'\n");
	cli_missing_print(state->missing);
	if (state->cables)
		cli_text_print(state->cables, "expected    cables missing {#missing}, "
					      "additional {#additional}, swapped "
					      "{#swapped}\n");
	cli_text_print(root, "drained     {#drained.list}");
	print_some(json_object_get(state->drained, "list"), print_drain);
	cli_text_print(root,
		       state->unreachable
			       ? "paths       {unreachable.text}\n"
			       : "paths       between all switches with end ports\n");
	print_plan(state->plan);
	print_balance(json_object_get(root, "balance"));
	print_multicast(json_object_get(root, "multicast"));
	cli_text_print(root, "since       {@started}");
	print_totals(json_object_get(root, "since_start"));
	print_phases(json_object_get(root, "repairs_by_phase"));
}

static void print_findings(const struct findings *findings, bool quiet)
{
	for (size_t i = 0; i < findings->count; i++) {
		fputs("finding     ", stdout);
		cli_text_put(findings->text[i]);
		putchar('\n');
	}
	if (!findings->count && !quiet)
		puts("verdict     ok");
}

static json_t *describe_state(json_t *root, const char *path, const struct state *state,
			      json_int_t age, const struct findings *findings)
{
	json_t *object = cli_json_new("status", 1), *list = json_array();

	for (size_t i = 0; i < findings->count; i++)
		json_array_append_new(list, pm_json_text(findings->text[i]));
	json_object_set_new(object, "file", pm_json_text(path));
	json_object_set_new(object, "age_s", json_integer(age));
	json_object_set_new(object, "running", json_boolean(state->running));
	json_object_set_new(object, "findings", list);
	json_object_set_new(object, "cables",
			    state->cables ? json_incref(state->cables) : json_null());
	json_object_set(object, "state", root);
	return object;
}

/* ---- The command ---- */

struct request {
	uint32_t max_age; /* seconds */
	bool watch;
	const char *expect; /* netlist of the intended cabling, or NULL */
	const char *file;   /* NULL: those of all fabrics */
	struct cli_output output;
};

static int print(json_t *root, const char *path, const struct state *state,
		 json_int_t age, const struct findings *findings,
		 const struct request *request)
{
	if (request->output.json) {
		json_t *object = describe_state(root, path, state, age, findings);

		return request->watch ? cli_json_print_line(object)
				      : cli_json_print(object);
	}
	if (!request->output.quiet || findings->count)
		print_fabric(root);
	if (!request->output.quiet)
		print_state(root, state, age);
	print_findings(findings, request->output.quiet);
	return EXIT_FINE;
}

/* A standby knows nothing new of the fabric. */
static int compare_cables(struct state *state, const char *path, const char *expect)
{
	state->expected = expect;
	return expect && !strcmp(state->sm, "master")
		       ? expected_compare(expect, path, &state->cables)
		       : EXIT_FINE;
}

/* Sets *old, if that is sooner, to when the state will be an old one. */
static int show_state(const char *path, const struct request *request, time_t *old)
{
	struct findings findings = {0};
	struct state state = {0};
	json_error_t error;
	json_t *root = json_load_file(path, 0, &error);
	json_int_t age;
	int status;

	if (!root)
		return error.line > 0 ? cli_fail(EXIT_INPUT, "%s:%d: %s", path,
						 error.line, error.text)
				      : cli_fail(EXIT_INPUT, "%s", error.text);
	status = unpack(root, path, &state);
	if (status == EXIT_FINE)
		status = compare_cables(&state, path, request->expect);
	if (status == EXIT_FINE) {
		age = (json_int_t)time(NULL) - state.time;
		age = age < 0 ? 0 : age; /* clocks are set, now and then */
		judge(&state, age, request->max_age, &findings);
		status = print(root, path, &state, age, &findings, request);
		if (status == EXIT_FINE && findings.count)
			status = EXIT_FINDINGS;
		if (age <= (json_int_t)request->max_age &&
		    *old > state.time + request->max_age)
			*old = state.time + request->max_age + 1;
	}
	for (size_t i = 0; i < findings.count; i++)
		free(findings.text[i]);
	json_decref(state.cables);
	json_decref(root);
	return status;
}

/* Of all fabrics, one after the other; the worst exit status. */
static int show_each(const struct cache_paths *paths, const struct request *request,
		     time_t *old)
{
	int worst = EXIT_FINE;

	for (size_t i = 0; i < paths->count; i++) {
		int status;

		if (i && !request->output.json && !request->output.quiet)
			putchar('\n');
		status = show_state(paths->path[i], request, old);
		worst = status > worst ? status : worst;
	}
	return worst;
}

static int show_all(const struct request *request, time_t *old)
{
	struct cache_paths paths;
	char *wanted;
	int status;

	if (cache_find("state", &paths, &wanted))
		return cli_fail(EXIT_INPUT, "out of memory");
	if (!paths.count)
		status = cli_fail(EXIT_INPUT, "%s: no such file", wanted);
	else if (paths.count > 1 && request->expect)
		status = cli_fail(EXIT_USAGE,
				  "--expect is of one fabric: name its FILE, one of %s",
				  wanted);
	else
		status = show_each(&paths, request, old);
	free(wanted);
	cache_paths_free(&paths);
	return status;
}

/* ---- Watching ---- */

static int show_states(const void *arg, time_t *old)
{
	const struct request *request = arg;

	return request->file ? show_state(request->file, request, old)
			     : show_all(request, old);
}

/* A killed OpenSM writes nothing. */
static uint64_t mark_file(uint64_t hash, const char *path)
{
	return pm_hash_number(cli_watch_file(hash, path), cache_is_left(path));
}

static uint64_t mark(const void *arg)
{
	const struct request *request = arg;
	uint64_t hash = PM_HASH_START;
	struct cache_paths paths;
	char *wanted;

	if (request->file)
		return mark_file(hash, request->file);
	if (cache_find("state", &paths, &wanted))
		cli_no_memory();
	for (size_t i = 0; i < paths.count; i++)
		hash = mark_file(hash, paths.path[i]);
	free(wanted);
	cache_paths_free(&paths);
	return hash;
}

static const struct cli_option options[] = {
	{0, "watch", NULL,
	 "go on until interrupted: on a terminal the page is renewed each second, else "
	 "what is new is told when a state is written, or has become old",
	 CLI_MEMBER(struct request, watch)},
	{0, "max-age", "SECONDS",
	 "a file not written for so long is old (default 180; the plugin writes it after "
	 "each run and every minute)",
	 CLI_MEMBER(struct request, max_age), .high = INT32_MAX},
	{0, "expect", "NETLIST",
	 "the intended cabling, an ibsim, ibnetdiscover or opensm-subnet.lst file: cables "
	 "that are missing, additional or swapped are a finding",
	 CLI_MEMBER(struct request, expect)},
	CLI_OUTPUT(struct request, output, "print findings only",
		   "print JSON, see docs/json.md; a line each time with --watch"),
	{0},
};

static const struct cli_command command = {
	.synopsis = "status [OPTION]... [FILE]",
	.about =
		"Tells from the file that the plugin writes (portmajor.GUID/state in "
		"OpenSM's cache folder, $OSM_CACHE_DIR or " CLI_CACHE_DIR
		") whether the fabric is as it should be; if OpenSM runs for several "
		"fabrics, of each. Exit status 1 if OpenSM has fallen back to another "
		"engine or does not run, parts are missing that were there, hosts are "
		"cut "
		"off that cables join, links are kept out for flapping or run below "
		"their "
		"neighbours', LFT blocks were not acknowledged, files cannot be written, "
		"or the state is old.",
	.options = options,
	.max_operands = 1,
};

int cmd_status(int argc, char **argv)
{
	struct request request = {.max_age = MAX_AGE_S};
	struct cli_watch watch = {show_states, mark, &request, false};
	time_t ignored = 0;
	int status = cli_command_read(&command, argc, argv, &request);

	if (status >= 0)
		return status;
	request.file = optind < argc ? argv[optind] : NULL;
	watch.screen = isatty(STDOUT_FILENO) && !request.output.json;
	return request.watch ? cli_watch_run(&watch) : show_states(&request, &ignored);
}
