/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * portmajor events: prints the plugin's file of events, which has lines "TIME SEVERITY
 * KIND TEXT". Older lines are in a file .old beside it.
 */
#include "cache.h"
#include "commands.h"
#include "json.h"
#include "text.h"

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
	uint32_t lines;	  /* how many of the last ones; UINT32_MAX: all */
	const char *file; /* NULL: the files of all fabrics */
	struct cli_output output;
};

/* ---- Lines ---- */

struct event {
	char time[COLUMN_MAX], severity[COLUMN_MAX], kind[COLUMN_MAX];
	const char *text;
};

/* Returns false if the line is no event. */
static bool parse_event(const char *line, struct event *event)
{
	int at = 0;

	if (sscanf(line, "%29s %29s %29s %n", event->time, event->severity, event->kind,
		   &at) != 3 ||
	    !at)
		return false;
	event->text = line + at;
	return true;
}

static json_t *event_json(const struct event *event)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "time", pm_json_text(event->time),
			 "severity", pm_json_text(event->severity), "kind",
			 pm_json_text(event->kind), "text", pm_json_text(event->text));
}

static void print_event(const struct event *event)
{
	char head[4 * COLUMN_MAX];

	snprintf(head, sizeof(head), "%s %-7s %-10s ", event->time, event->severity,
		 event->kind);
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
	FILE *file; /* NULL: there is no file */
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

static void open_source(struct source *source, const char *path)
{
	char *old = cli_text_make("%s.old", path);

	source->path = path;
	source->file = fopen(old, "re");
	free(old);
}

/* ---- Printing ---- */

/* Adds an event to a list of objects or, if that is NULL, prints it. */
static void tell_event(const struct event *event, const struct request *request,
		       json_t *list)
{
	if (list)
		json_array_append_new(list, event_json(event));
	else if (request->output.json)
		cli_json_print_line(event_json(event));
	else
		print_event(event);
}

/* Reads the next requested event; its text is in the line. */
static bool next_event(struct source *source, const struct request *request,
		       char line[LINE], struct event *event)
{
	while (next_line(source, line))
		if (parse_event(line, event) &&
		    (!request->output.quiet || !strcmp(event->severity, "error") ||
		     !strcmp(event->severity, "warning")))
			return true;
	return false;
}

static uint32_t count_events(const char *path, const struct request *request)
{
	struct source source;
	struct event event;
	uint32_t count = 0;
	char line[LINE];

	open_source(&source, path);
	while (next_event(&source, request, line, &event))
		count++;
	if (source.file)
		fclose(source.file);
	return count;
}

/* Prints the present events, without the first `but`. */
static void tell_events(struct source *source, const struct request *request,
			uint32_t but, json_t *list)
{
	struct event event;
	char line[LINE];

	while (next_event(source, request, line, &event))
		if (but)
			but--;
		else
			tell_event(&event, request, list);
}

/* Prints events for ever, or until printing fails. */
static int follow(struct source *sources, size_t num, const struct request *request)
{
	const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};

	while (!fflush(stdout)) {
		nanosleep(&pause, NULL);
		for (size_t i = 0; i < num; i++)
			tell_events(&sources[i], request, 0, NULL);
	}
	return EXIT_INPUT;
}

static int tell_all(char *const *paths, size_t num, const struct request *request)
{
	struct source *sources = calloc(num, sizeof(*sources));
	bool whole = request->output.json && !request->follow;
	json_t *list = whole ? json_array() : NULL;
	int status = EXIT_FINE;

	if (!sources)
		cli_no_memory();
	for (size_t i = 0; i < num; i++) {
		uint32_t count = count_events(paths[i], request);

		if (num > 1 && !request->output.json) {
			fputs(i ? "\n" : "", stdout);
			cli_print_line("%s:", paths[i]);
		}
		open_source(&sources[i], paths[i]);
		tell_events(&sources[i], request,
			    count > request->lines ? count - request->lines : 0, list);
	}
	if (whole)
		status = cli_json_print(cli_json_join(
			cli_json_new("events", 1), json_pack("{s:o}", "events", list)));
	if (request->follow)
		status = follow(sources, num, request);
	for (size_t i = 0; i < num; i++)
		if (sources[i].file)
			fclose(sources[i].file);
	free(sources);
	return status;
}

/* ---- The command ---- */

static const struct cli_option options[] = {
	{'n', "lines", "N", "the last N events of a fabric only",
	 CLI_MEMBER(struct request, lines), .high = INT32_MAX},
	{'f', "follow", NULL, "go on with new events until interrupted",
	 CLI_MEMBER(struct request, follow)},
	CLI_OUTPUT(struct request, output, "print errors and warnings only",
		   "print JSON, see docs/json.md; a line for each event with --follow"),
	{0},
};

static const struct cli_command command = {
	.synopsis = "events [OPTION]... [FILE]",
	.about =
		"Prints what happened, a dated line for each event: failures and their "
		"repairs, parts that are missing or back, drains, links on hold, OpenSM's "
		"state and engine. The plugin keeps them in portmajor.GUID/events in "
		"OpenSM's cache folder, $OSM_CACHE_DIR or " CLI_CACHE_DIR
		"; if OpenSM runs for several fabrics, those of each are printed.",
	.options = options,
	.max_operands = 1,
};

static int tell_found(const struct request *request)
{
	struct cache_paths paths;
	char *wanted;
	int status;

	if (cache_find("events", &paths, &wanted))
		cli_no_memory();
	status = paths.count ? tell_all(paths.path, paths.count, request)
			     : cli_fail(EXIT_INPUT, "%s: no such file", wanted);
	free(wanted);
	cache_paths_free(&paths);
	return status;
}

int cmd_events(int argc, char **argv)
{
	struct request request = {.lines = UINT32_MAX};
	int status = cli_command_read(&command, argc, argv, &request);
	char *path;

	if (status >= 0)
		return status;
	path = optind < argc ? argv[optind] : NULL;
	if (!path)
		return tell_found(&request);
	if (access(path, R_OK))
		return cli_fail(EXIT_INPUT, "%s: %s", path, strerror(errno));
	return tell_all(&path, 1, &request);
}
