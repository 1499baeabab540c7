/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * portmajor events: prints the plugin's file of events, which has lines "TIME SEVERITY
 * KIND TEXT". Older lines are in a file .old beside it.
 */
#include "cache.h"
#include "commands.h"
#include "json.h"
#include "text.h"
#include "when.h"

#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE 512      /* bytes; the plugin's are shorter */
#define LOOK_MS 250   /* between reads */
#define COLUMN_MAX 30 /* bytes of a word */

struct request {
	bool follow;
	uint32_t lines;		   /* how many of the last ones; UINT32_MAX: all */
	const char *since, *until; /* or NULL */
	time_t from, to;	   /* the same in seconds since the epoch */
	struct cli_output output;
};

/* ---- Lines ---- */

struct event {
	char time[COLUMN_MAX], severity[COLUMN_MAX], kind[COLUMN_MAX];
	char line[LINE];
	const char *text; /* in the line */
	time_t when;	  /* `time`; 0: it is no time */
};

/* Returns false if the line is no event. */
static bool parse_event(struct event *event)
{
	struct tm local = {0};
	int at = 0;

	if (sscanf(event->line, "%29s %29s %29s %n", event->time, event->severity,
		   event->kind, &at) != 3 ||
	    !at)
		return false;
	event->text = event->line + at;
	event->when = 0;
	if (strptime(event->time, "%Y-%m-%dT%H:%M:%S%z", &local)) {
		long east = local.tm_gmtoff; /* timegm sets it to 0 */

		event->when = timegm(&local) - east;
	}
	return true;
}

/* port: the GUID of OpenSM's port, or NULL. */
static json_t *event_json(const struct event *event, const char *port)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "time", pm_json_text(event->time),
			 "port_guid", pm_json_text(port), "severity",
			 pm_json_text(event->severity), "kind", pm_json_text(event->kind),
			 "text", pm_json_text(event->text));
}

static void print_event(const struct event *event, const char *port)
{
	char head[5 * COLUMN_MAX];

	snprintf(head, sizeof(head), "%s %s%s%-7s %-10s ", event->time, port ? port : "",
		 port ? " " : "", event->severity, event->kind);
	cli_text_put(head);
	cli_text_put(event->text);
	putchar('\n');
}

/* ---- Files ---- */

/* Reads a whole line, without its end; false: there is none yet, and nothing is read. */
static bool read_whole_line(FILE *file, char line[LINE])
{
	long before = ftell(file);
	size_t length;

	clearerr(file);
	if (!fgets(line, LINE, file))
		return false;
	length = strcspn(line, "\n");
	if (line[length] == '\n' || length == LINE - 1) {
		line[length] = '\0';
		return true;
	}
	fseek(file, before, SEEK_SET);
	return false;
}

/*
 * A fabric's file, and the file being read: first .old, then the file and its successors.
 */
struct source {
	const char *path;
	char port[COLUMN_MAX]; /* the GUID that its folder is named by, or "" */
	FILE *file;	       /* NULL: there is no file */
	bool has_event;
	struct event event; /* the next one, not taken yet */
};

/* Whether the path has another file than the one being read. */
static bool is_replaced(const struct source *source)
{
	struct stat there, here;

	return source->file && !stat(source->path, &there) &&
	       !fstat(fileno(source->file), &here) && there.st_ino != here.st_ino;
}

/* Reads the next line; false: there is none yet. */
static bool next_line(struct source *source, char line[LINE])
{
	bool replaced;

	if (!source->file)
		source->file = fopen(source->path, "re");
	if (!source->file)
		return false;
	/* This comes first: nothing is appended to a replaced file. */
	replaced = is_replaced(source);
	if (read_whole_line(source->file, line))
		return true;
	if (!replaced)
		return false;
	fclose(source->file);
	source->file = fopen(source->path, "re");
	return source->file && read_whole_line(source->file, line);
}

/* The path ends with portmajor.GUID/events, or the file was named by the user. */
static void name_port(const char *path, char port[COLUMN_MAX])
{
	const char *slash = strrchr(path, '/'), *dot;

	port[0] = '\0';
	for (dot = slash; dot && dot > path && *dot != '.'; dot--)
		;
	if (dot && slash - dot == 17 && strspn(dot + 1, "0123456789abcdef") == 16)
		snprintf(port, COLUMN_MAX, "0x%.16s", dot + 1);
}

static void open_source(struct source *source, const char *path)
{
	char *old = cli_text_make("%s.old", path);

	*source = (struct source){.path = path};
	name_port(path, source->port);
	source->file = fopen(old, "re");
	free(old);
}

/* ---- Printing ---- */

/* Several files, as those of all fabrics of a machine, merged by time. */
struct sources {
	struct source *list;
	size_t num;
};

static void open_sources(struct sources *sources, char *const *paths)
{
	for (size_t i = 0; i < sources->num; i++)
		open_source(&sources->list[i], paths[i]);
}

static void close_sources(struct sources *sources)
{
	for (size_t i = 0; i < sources->num; i++)
		if (sources->list[i].file)
			fclose(sources->list[i].file);
}

static bool is_requested(const struct event *event, const struct request *request)
{
	return (!request->output.quiet || !strcmp(event->severity, "error") ||
		!strcmp(event->severity, "warning")) &&
	       (!request->since || event->when >= request->from) &&
	       (!request->until || event->when <= request->to);
}

/* Reads the next requested event of a file. */
static bool read_event(struct source *source, const struct request *request)
{
	while (!source->has_event && next_line(source, source->event.line))
		source->has_event = parse_event(&source->event) &&
				    is_requested(&source->event, request);
	return source->has_event;
}

/*
 * The file with the next event, which is that of the earliest time; NULL: there is none
 * yet. The order of each file stays, also where its clock was set back.
 */
static struct source *next_source(struct sources *sources, const struct request *request)
{
	struct source *next = NULL;

	for (size_t i = 0; i < sources->num; i++) {
		struct source *source = &sources->list[i];

		if (read_event(source, request) &&
		    (!next || source->event.when < next->event.when))
			next = source;
	}
	if (next)
		next->has_event = false;
	return next;
}

static uint32_t count_events(struct sources *sources, char *const *paths,
			     const struct request *request)
{
	uint32_t count = 0;

	open_sources(sources, paths);
	while (next_source(sources, request))
		count++;
	close_sources(sources);
	return count;
}

/* Prints the present events, without the first `but`, or adds them to a list of objects,
 * unless that is NULL. */
static void tell_events(struct sources *sources, const struct request *request,
			uint32_t but, json_t *list)
{
	struct source *source;

	while ((source = next_source(sources, request))) {
		const char *port = source->port[0] ? source->port : NULL;

		if (but)
			but--;
		else if (list)
			json_array_append_new(list, event_json(&source->event, port));
		else if (request->output.json)
			cli_json_print_line(event_json(&source->event, port));
		else
			print_event(&source->event, sources->num > 1 ? port : NULL);
	}
}

/* Prints events for ever, or until printing fails. */
static int follow(struct sources *sources, const struct request *request)
{
	const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};

	while (!fflush(stdout)) {
		nanosleep(&pause, NULL);
		tell_events(sources, request, 0, NULL);
	}
	return EXIT_INPUT;
}

static int tell_all(char *const *paths, size_t num, const struct request *request)
{
	struct sources sources = {calloc(num, sizeof(*sources.list)), num};
	bool whole = request->output.json && !request->follow;
	json_t *list = whole ? json_array() : NULL;
	int status = EXIT_FINE;
	uint32_t count;

	if (!sources.list)
		pm_no_memory();
	count = count_events(&sources, paths, request);
	open_sources(&sources, paths);
	tell_events(&sources, request,
		    count > request->lines ? count - request->lines : 0, list);
	if (whole)
		status = cli_json_print(cli_json_join(
			cli_json_new("events", 1), json_pack("{s:o}", "events", list)));
	if (request->follow)
		status = follow(&sources, request);
	close_sources(&sources);
	free(sources.list);
	return status;
}

/* ---- The command ---- */

static const struct cli_option options[] = {
	{0, "since", "TIME",
	 "Print only events from this local time on: 2026-11-29T03:00 (also with "
	 "seconds), 2026-11-29, 03:00 (today), or so long ago: 90s, 30m, 2h, 3d.",
	 CLI_MEMBER(struct request, since)},
	{0, "until", "TIME",
	 "Print only events up to this time; a minute or a day counts as a "
	 "whole.",
	 CLI_MEMBER(struct request, until)},
	{'n', "lines", "N", "Print only the last N events.",
	 CLI_MEMBER(struct request, lines), .high = INT32_MAX},
	{'f', "follow", NULL, "Continue with new events until interrupted.",
	 CLI_MEMBER(struct request, follow)},
	CLI_OUTPUT(struct request, output, "Print errors and warnings only.",
		   "Print one JSON object (docs/json.md); with --follow a line for each "
		   "event."),
	{0},
};

static const struct cli_command command = {
	.synopsis = "events [OPTION]... [FILE | FOLDER]",
	.about =
		"Print the events of the fabric, a dated line for each: failures, "
		"repairs, "
		"missing and returned parts, drains, links on hold, and OpenSM's state "
		"and "
		"engine. The plugin keeps them in portmajor.GUID/events in OpenSM's cache "
		""
		""
		"folder, $OSM_CACHE_DIR or " CLI_CACHE_DIR
		". Events of several ports are merged by time, and have the GUID of the "
		"port.",
	.options = options,
	.max_operands = 1,
};

static int tell_found(const struct request *request)
{
	struct cache_paths paths;
	char *wanted;
	int status;

	cache_find("events", &paths, &wanted);
	status = paths.count ? tell_all(paths.path, paths.count, request)
			     : cli_fail(EXIT_INPUT, "%s: " CACHE_NONE, wanted);
	free(wanted);
	cache_paths_free(&paths);
	return status;
}

static int read_time(const char *name, const char *text, bool end, time_t *when)
{
	return !text || cli_when_read(text, time(NULL), end, when)
		       ? EXIT_FINE
		       : cli_fail(EXIT_USAGE,
				  "events: --%s: \"%s\" is no time: 2026-11-29T03:00, "
				  "2026-11-29, 03:00 or 2h (ago)",
				  name, text);
}

int cmd_events(int argc, char **argv)
{
	struct request request = {.lines = UINT32_MAX};
	int status = cli_command_read(&command, argc, argv, &request);
	char *path;

	if (status >= 0)
		return status;
	status = read_time("since", request.since, false, &request.from);
	if (status == EXIT_FINE)
		status = read_time("until", request.until, true, &request.to);
	if (status != EXIT_FINE)
		return status;
	if (optind == argc)
		return tell_found(&request);
	path = cache_file(argv[optind], "events");
	status = access(path, R_OK)
			 ? cli_fail(EXIT_INPUT, "%s: %s", path, strerror(errno))
			 : tell_all(&path, 1, &request);
	free(path);
	return status;
}
