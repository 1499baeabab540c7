/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor status: what the plugin says of itself, and whether that is in order. */
#include "cache.h"
#include "cli.h"
#include "json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STATE_VERSION 1
#define MAX_AGE_S 180 /* the plugin writes every 60 */
#define MAX_FINDINGS 8
#define NAMED 8 /* links in a line */

/* A state file's members, as far as they are printed; they live as long as the JSON. */
struct state {
	json_int_t time, pid, started, out_of_plan, pairs_apart;
	json_int_t pairs_joined, pairs_cut; /* of hosts; 0 if that is not known */
	int running, active;		    /* active: -1 before the first routing */
	const char *manager, *opensm, *plugin, *engine, *reason, *apart, *misread, *unfit;
	const char *port, *unsaved; /* NULL: not in older files; nothing */
	json_t *run, *repair, *flapping, *drained, *totals, *plan, *served, *shadow;
};

struct findings {
	char *text[MAX_FINDINGS];
	size_t count;
};

static void __attribute__((format(printf, 2, 3)))
find(struct findings *findings, const char *format, ...)
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

static json_int_t number(const json_t *object, const char *member)
{
	return json_integer_value(json_object_get(object, member));
}

static int unpack(json_t *root, const char *path, struct state *state)
{
	const char *schema = NULL;
	json_t *active, *engine, *apart;
	json_error_t error;
	int version = 0;

	if (json_unpack(root, "{s:s, s:i}", "schema", &schema, "version", &version) ||
	    strcmp(schema, "portmajor-state") != 0)
		return cli_fail(EXIT_INPUT, "%s: not a state file of portmajor", path);
	if (version != STATE_VERSION)
		return cli_fail(EXIT_INPUT,
				"%s: version %d of the schema; this program reads %d",
				path, version, STATE_VERSION);
	if (json_unpack_ex(root, &error, 0,
			   "{s:I, s:b, s:s, s:s, s:s, s:I, s:I, s:o, s:{s:o}, s:o, "
			   "s:o, s:o, s:I, s:o, s:o, s:{s:I}, s:o}",
			   "time", &state->time, "running", &state->running, "sm_state",
			   &state->manager, "opensm", &state->opensm, "plugin",
			   &state->plugin, "pid", &state->pid, "started", &state->started,
			   "engine", &engine, "engine", "active", &active, "run",
			   &state->run, "repair", &state->repair, "since_start",
			   &state->totals, "out_of_plan", &state->out_of_plan, "flapping",
			   &state->flapping, "apart", &apart, "apart", "pairs",
			   &state->pairs_apart, "plan", &state->plan))
		return cli_fail(EXIT_INPUT, "%s: %s", path, error.text);
	state->active = json_is_boolean(active) ? json_is_true(active) : -1;
	state->engine = text_of(engine, "used");
	state->reason = text_of(engine, "reason");
	state->apart = text_of(apart, "text");
	state->port = text_of(root, "port_guid");
	state->unsaved = text_of(root, "unsaved");
	state->misread = text_of(root, "config_error");
	state->unfit = text_of(root, "bad_switches");
	state->served = json_object_get(root, "served");   /* not in older files */
	state->shadow = json_object_get(root, "shadow");   /* nor this */
	state->drained = json_object_get(root, "drained"); /* nor this */
	state->pairs_joined = number(state->served, "joined");
	state->pairs_cut = state->pairs_joined - number(state->served, "pairs");
	return EXIT_FINE;
}

static double milliseconds(const json_t *object)
{
	return json_number_value(json_object_get(object, "milliseconds"));
}

static const char *word(const json_t *object, const char *member)
{
	const char *text = text_of(object, member);

	return text ? text : "?";
}

/* ---- Judging ---- */

/* Hosts that cables join and our tables do not; another engine's are not known. */
static void judge_paths(const struct state *state, struct findings *findings)
{
	const char *where = state->apart ? state->apart : "?";

	if (state->pairs_cut > 0)
		find(findings,
		     "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
		     " pairs of hosts are cut off that cables join: %s",
		     state->pairs_cut, state->pairs_joined, where);
	else if (state->pairs_apart > 0)
		find(findings, "hosts are cut off that cables join: %s", where);
}

/* A restart goes on with what is on disk. */
static void judge_files(const struct state *state, struct findings *findings)
{
	if (state->unsaved)
		find(findings, "not saved: %s", state->unsaved);
	else if (json_is_false(json_object_get(state->plan, "saved")))
		find(findings, "the plan is not saved: see OpenSM's log");
}

static void judge(const struct state *state, json_int_t age, uint32_t max_age,
		  struct findings *findings)
{
	bool master = !strcmp(state->manager, "master");

	if (!state->running)
		find(findings, "OpenSM has ended");
	else if (age > (json_int_t)max_age)
		find(findings,
		     "the state is old: written %" JSON_INTEGER_FORMAT
		     " s ago; is OpenSM running, and its disk not full?",
		     age);
	judge_files(state, findings);
	if (master && state->active == 0 &&
	    !(json_is_object(state->shadow) && state->engine))
		find(findings, "OpenSM fell back to %s: %s",
		     state->engine ? state->engine : "no engine at all",
		     state->reason ? state->reason : "?");
	else if (master && !json_is_object(state->shadow))
		judge_paths(state, findings);
	if (state->unfit)
		find(findings, "bad switches: %s", state->unfit);
	if (state->misread)
		find(findings, "the configuration is not used: %s", state->misread);
	if (text_of(state->drained, "error"))
		find(findings, "what is drained is not followed: %s",
		     text_of(state->drained, "error"));
	if (number(state->run, "acked") < number(state->run, "sent"))
		find(findings,
		     "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
		     " LFT blocks of the last run were not acknowledged",
		     number(state->run, "sent") - number(state->run, "acked"),
		     number(state->run, "sent"));
}

/* ---- Printing ---- */

/* Names come from the fabric: nothing in them may reach the terminal. */
static void print_clean(const char *text)
{
	for (; *text; text++)
		putchar((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text);
}

static void print_time(json_int_t seconds)
{
	time_t when = (time_t)seconds;
	struct tm local;
	char text[32] = "?";

	if (localtime_r(&when, &local))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
	fputs(text, stdout);
}

static void print_blocks(const json_t *object)
{
	printf("LFT blocks sent %" JSON_INTEGER_FORMAT ", acked %" JSON_INTEGER_FORMAT
	       ", bound %" JSON_INTEGER_FORMAT,
	       number(object, "sent"), number(object, "acked"), number(object, "bound"));
}

static void print_event(const char *title, const json_t *event)
{
	printf("%-12s%" JSON_INTEGER_FORMAT ", ", title, number(event, "number"));
	print_time(number(event, "time"));
	fputs(": ", stdout);
	print_clean(word(event, "change"));
	fputs("\n            ", stdout);
	print_blocks(event);
}

static void print_run(const json_t *run)
{
	if (!json_is_object(run)) {
		puts("last run    none yet");
		return;
	}
	print_event("last run", run);
	printf(", full load %" JSON_INTEGER_FORMAT
	       "\n            switches %" JSON_INTEGER_FORMAT
	       ", whole tables %" JSON_INTEGER_FORMAT ", entries %" JSON_INTEGER_FORMAT
	       "; LIDs assigned %" JSON_INTEGER_FORMAT ", moved %" JSON_INTEGER_FORMAT
	       "; computed in %.1f ms\n",
	       number(run, "full_load"), number(run, "switches"),
	       number(run, "whole_tables"), number(run, "entries"),
	       number(run, "lids_assigned"), number(run, "lids_moved"),
	       milliseconds(run));
}

static void print_shadow(const json_t *shadow)
{
	printf("shadow      %" JSON_INTEGER_FORMAT ", ", number(shadow, "number"));
	print_time(number(shadow, "time"));
	fputs(": ", stdout);
	print_clean(word(shadow, "change"));
	if (!json_is_true(json_object_get(shadow, "would_route"))) {
		puts("\n            portmajor would not route this fabric");
		return;
	}
	fputs("\n            would send LFT blocks ", stdout);
	if (json_is_integer(json_object_get(shadow, "event")))
		printf("%" JSON_INTEGER_FORMAT " for this, ", number(shadow, "event"));
	printf("%" JSON_INTEGER_FORMAT " to take over, full load %" JSON_INTEGER_FORMAT
	       "; LIDs out of plan %" JSON_INTEGER_FORMAT "\n",
	       number(shadow, "take_over"), number(shadow, "full_load"),
	       number(shadow, "lids_out_of_plan"));
}

static void print_repair(const json_t *repair)
{
	if (!json_is_object(repair)) {
		puts("last repair none");
		return;
	}
	print_event("last repair", repair);
	printf("; traps %" JSON_INTEGER_FORMAT ", queries %" JSON_INTEGER_FORMAT
	       ", unanswered %" JSON_INTEGER_FORMAT "; %.1f ms",
	       number(repair, "traps"), number(repair, "queries"),
	       number(repair, "unanswered"), milliseconds(repair));
	if (json_is_true(json_object_get(repair, "left_to_sweep"))) {
		const char *why = json_string_value(json_object_get(repair, "gave_up"));

		fputs("; the rest was left to the sweep", stdout);
		fputs(why ? ": " : "", stdout);
		print_clean(why ? why : "");
	}
	putchar('\n');
}

static void print_link(const json_t *flap)
{
	const json_t *ends = json_object_get(flap, "ends");

	for (size_t i = 0; i < 2; i++) {
		const json_t *end = json_array_get(ends, i);
		const char *name = json_string_value(json_object_get(end, "name"));

		fputs(i ? "-" : "", stdout);
		print_clean(name ? name : word(end, "guid"));
		printf("[%" JSON_INTEGER_FORMAT "]", number(end, "port"));
	}
	fputs(" (", stdout);
	print_clean(word(flap, "state"));
	printf(", %" JSON_INTEGER_FORMAT " times down", number(flap, "downs"));
	if (number(flap, "left_ms"))
		printf(", %" JSON_INTEGER_FORMAT " s left",
		       (number(flap, "left_ms") + 999) / 1000);
	putchar(')');
}

static void print_flaps(const json_t *flapping)
{
	size_t count = json_array_size(flapping);

	printf("flapping    %zu links went down lately", count);
	for (size_t i = 0; i < count && i < NAMED; i++) {
		fputs(i ? ", " : ": ", stdout);
		print_link(json_array_get(flapping, i));
	}
	puts(count > NAMED ? ", .." : "");
}

static void print_drained(const json_t *list)
{
	size_t count = json_array_size(list);

	printf("drained     %zu", count);
	for (size_t i = 0; i < count && i < NAMED; i++) {
		const json_t *item = json_array_get(list, i);
		const char *name = text_of(item, "name");

		fputs(i ? ", " : ": ", stdout);
		print_clean(name && *name ? name : word(item, "guid"));
		if (number(item, "port"))
			printf(":%" JSON_INTEGER_FORMAT, number(item, "port"));
		fputs(" (", stdout);
		print_clean(word(item, "state"));
		if (number(item, "needed"))
			printf(", cables in use as last paths %" JSON_INTEGER_FORMAT,
			       number(item, "needed"));
		putchar(')');
	}
	puts(count > NAMED ? ", .." : "");
}

static void print_plan(const json_t *plan)
{
	fputs("plan        ", stdout);
	if (!json_is_object(plan)) {
		puts("none yet");
		return;
	}
	print_clean(word(plan, "file"));
	printf("%s: lid_order %s, LMC %" JSON_INTEGER_FORMAT
	       ", switches %" JSON_INTEGER_FORMAT ", LIDs up to %" JSON_INTEGER_FORMAT
	       "\n",
	       json_is_true(json_object_get(plan, "saved")) ? "" : " (not saved)",
	       word(plan, "lid_order"), number(plan, "lmc"), number(plan, "switches"),
	       number(plan, "top_lid"));
}

/* Blocks that went beside runs. */
static void print_others(const struct state *state, const char *what, const char *times,
			 const char *sent, const char *acked)
{
	printf("            %s %" JSON_INTEGER_FORMAT
	       ", LFT blocks sent %" JSON_INTEGER_FORMAT ", acked %" JSON_INTEGER_FORMAT
	       "\n",
	       what, number(state->totals, times), number(state->totals, sent),
	       number(state->totals, acked));
}

static void print_totals(const struct state *state)
{
	fputs("since       ", stdout);
	print_time(state->started);
	printf(": runs %" JSON_INTEGER_FORMAT ", of other engines %" JSON_INTEGER_FORMAT
	       "; ",
	       number(state->totals, "runs"), number(state->totals, "fallbacks"));
	print_blocks(state->totals);
	putchar('\n');
	print_others(state, "early repairs", "repairs", "repair_sent", "repair_acked");
	if (number(state->totals, "moves"))
		print_others(state, "moves of drains", "moves", "move_sent",
			     "move_acked");
}

static void print_engine(const struct state *state, json_int_t age)
{
	json_t *back = json_object_get(state->served, "returns_in_ms");
	json_int_t left = (json_integer_value(back) + 999) / 1000 - age;

	fputs("engine      ", stdout);
	print_clean(state->engine	 ? state->engine
		    : state->active == 0 ? "none"
					 : "none yet");
	if (state->active == 0 && json_is_integer(back))
		printf(", portmajor again in %" JSON_INTEGER_FORMAT " s",
		       left > 0 ? left : 0);
	putchar('\n');
}

/* Which it is; a port's GUID is all that the plugin knows it by. */
static void print_fabric(const struct state *state)
{
	if (!state->port)
		return;
	fputs("fabric      of port ", stdout);
	print_clean(state->port);
	putchar('\n');
}

static void print_state(const struct state *state, json_int_t age)
{
	fputs("OpenSM      ", stdout);
	print_clean(state->opensm);
	fputs(", ", stdout);
	print_clean(state->running ? state->manager : "ended");
	printf(", pid %" JSON_INTEGER_FORMAT ", state written %" JSON_INTEGER_FORMAT
	       " s ago by portmajor ",
	       state->pid, age);
	print_clean(state->plugin);
	putchar('\n');
	print_engine(state, age);
	if (json_is_object(state->shadow))
		print_shadow(state->shadow);
	print_run(state->run);
	print_repair(state->repair);
	printf("LIDs        %" JSON_INTEGER_FORMAT " out of plan\n", state->out_of_plan);
	print_flaps(state->flapping);
	print_drained(json_object_get(state->drained, "list"));
	fputs("paths       ", stdout);
	print_clean(state->pairs_apart && state->apart
			    ? state->apart
			    : "between all switches with end ports");
	putchar('\n');
	print_plan(state->plan);
	print_totals(state);
}

static void print_findings(const struct findings *findings, bool quiet)
{
	for (size_t i = 0; i < findings->count; i++) {
		fputs("finding     ", stdout);
		print_clean(findings->text[i]);
		putchar('\n');
	}
	if (!findings->count && !quiet)
		puts("verdict     ok");
}

static int print_json(json_t *root, const char *path, json_int_t age,
		      const struct findings *findings)
{
	json_t *object = cli_json_new("status", 1), *list = json_array();

	for (size_t i = 0; i < findings->count; i++)
		json_array_append_new(list, cli_json_string(findings->text[i]));
	if (json_object_set_new(object, "file", cli_json_string(path)) ||
	    json_object_set_new(object, "age_s", json_integer(age)) ||
	    json_object_set_new(object, "findings", list) ||
	    json_object_set(object, "state", root)) {
		json_decref(object);
		object = NULL;
	}
	return cli_json_print(object);
}

/* ---- The command ---- */

struct request {
	uint32_t max_age; /* seconds */
	struct cli_output output;
};

static int show(const char *path, const struct request *request)
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
	if (status == EXIT_FINE) {
		age = (json_int_t)time(NULL) - state.time;
		age = age < 0 ? 0 : age; /* clocks are set, now and then */
		judge(&state, age, request->max_age, &findings);
		if (request->output.json) {
			status = print_json(root, path, age, &findings);
		} else {
			if (!request->output.quiet || findings.count)
				print_fabric(&state);
			if (!request->output.quiet)
				print_state(&state, age);
			print_findings(&findings, request->output.quiet);
		}
		if (status == EXIT_FINE && findings.count)
			status = EXIT_FINDINGS;
	}
	for (size_t i = 0; i < findings.count; i++)
		free(findings.text[i]);
	json_decref(root);
	return status;
}

/* Of all fabrics, one after the other; the worst exit status. */
static int show_each(const struct cache_paths *paths, const struct request *request)
{
	int worst = EXIT_FINE;

	for (size_t i = 0; i < paths->count; i++) {
		int status;

		if (i && !request->output.json && !request->output.quiet)
			putchar('\n');
		status = show(paths->path[i], request);
		worst = status > worst ? status : worst;
	}
	return worst;
}

static int show_all(const struct request *request)
{
	struct cache_paths paths;
	char *wanted;
	int status;

	if (cache_find("state", &paths, &wanted))
		return cli_fail(EXIT_INPUT, "out of memory");
	/* The state of an earlier version matters only before this one has run. */
	if (paths.old && paths.count > 1)
		free(paths.path[--paths.count]);
	if (!paths.count)
		status = cli_fail(EXIT_INPUT, "%s: no such file", wanted);
	else
		status = show_each(&paths, request);
	free(wanted);
	cache_paths_free(&paths);
	return status;
}

static const struct cli_option options[] = {
	{0, "max-age", "SECONDS",
	 "a file not written for so long is old (default 180; the plugin writes it after "
	 "each run and every minute)",
	 CLI_MEMBER(struct request, max_age), .high = INT32_MAX},
	{'q', "quiet", NULL, "print findings only",
	 CLI_MEMBER(struct request, output.quiet)},
	{0, "json", NULL, "print JSON, see docs/json.md",
	 CLI_MEMBER(struct request, output.json)},
	{0},
};

static const struct cli_command command = {
	.synopsis = "status [OPTION]... [FILE]",
	.about = "Tells from the file that the plugin writes (portmajor.GUID/state in "
		 "OpenSM's cache folder, $OSM_CACHE_DIR or " CLI_CACHE_DIR
		 ") whether the fabric is as it should be; if OpenSM runs for several "
		 "fabrics, of each. Exit status 1 if OpenSM has fallen back to another "
		 "engine or does not run, hosts are cut off that cables join, LFT blocks "
		 "were not acknowledged, files cannot be written, or the state is old.",
	.options = options,
	.max_operands = 1,
};

int cmd_status(int argc, char **argv)
{
	struct request request = {.max_age = MAX_AGE_S};
	int status = cli_command_read(&command, argc, argv, &request);

	if (status >= 0)
		return status;
	return optind < argc ? show(argv[optind], &request) : show_all(&request);
}
