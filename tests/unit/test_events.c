/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file of events: its lines, its size, a disk that is full; and the command. */
#include "unit.h"

#include "io/event_command.h"
#include "io/events.h"

#include "memfault.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/portmajor-events-XXXXXX";
static char path[64], old[80];

/* The whole text of a file, "" if there is none. */
static const char *read_text(const char *from)
{
	static char text[2 * EVENTS_SIZE];
	FILE *file = fopen(from, "r");
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[length] = '\0';
	return text;
}

static struct events *start(const char *command)
{
	struct pm_config config = {.event_command_severity = EVENT_INFO};

	snprintf(config.event_command, sizeof(config.event_command), "%s", command);
	unlink(path);
	unlink(old);
	return events_start(&config);
}

static int write_all(struct events *events)
{
	struct pm_error err;

	return events_write(events, path, &err);
}

/* Both are in the text, in this order. */
static void assert_in_order(const char *text, const char *first, const char *second)
{
	const char *at = strstr(text, first);

	assert_non_null(at);
	assert_non_null(strstr(at, second));
}

static void test_line(void **state)
{
	struct events *events = start("");
	const char *text;

	events_note(events, EVENT_WARNING, "repair", "%s \x1b[2J %d", "failed", 7);
	assert_true(events_pending(events));
	assert_int_equal(write_all(events), 0);
	assert_false(events_pending(events));
	text = read_text(path);
	assert_non_null(strchr(text, ' '));
	assert_string_equal(strchr(text, ' '), " warning repair failed ?[2J 7\n");
	events_stop(events);
}

/* A text that is too long ends with "..". */
static void test_long(void **state)
{
	struct events *events = start("");
	char name[400];
	const char *text;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	events_note(events, EVENT_ERROR, "files", "%s", name);
	assert_int_equal(write_all(events), 0);
	text = read_text(path);
	assert_int_equal(strlen(text), EVENT_LINE);
	assert_string_equal(text + EVENT_LINE - 5, "x ..\n");
	events_stop(events);
}

/* Events without room are counted in front of the others. */
static void test_many(void **state)
{
	struct events *events = start("");

	for (unsigned int i = 0; i < EVENTS_PENDING + 3; i++)
		events_note(events, EVENT_INFO, "run", "%u", i);
	assert_int_equal(write_all(events), 0);
	assert_non_null(strstr(read_text(path), " warning events 3 not recorded"));
	assert_non_null(strstr(read_text(path), " info run 1023\n"));
	assert_null(strstr(read_text(path), " info run 1024\n"));
	events_stop(events);
}

/* A file that could not be written gets all events later. */
static void test_no_folder(void **state)
{
	struct events *events = start("");
	struct pm_error err;

	events_note(events, EVENT_INFO, "run", "first");
	assert_int_equal(events_write(events, "/nowhere/events", &err), -2);
	assert_true(events_pending(events));
	assert_non_null(strstr(err.text, "/nowhere/events: "));
	events_note(events, EVENT_INFO, "run", "second");
	assert_int_equal(write_all(events), 0);
	assert_false(events_pending(events));
	assert_in_order(read_text(path), " info run first\n", " info run second\n");
	events_stop(events);
}

/* If the disk stays full, the oldest are dropped, and counted. */
static void test_full_for_long(void **state)
{
	struct events *events = start("");
	struct pm_error err;

	for (unsigned int i = 0; i < EVENTS_PENDING + 7; i++) {
		events_note(events, EVENT_INFO, "run", "%u", i);
		if (i % 100 == 0)
			assert_int_equal(events_write(events, "/nowhere/events", &err),
					 -2);
	}
	assert_int_equal(write_all(events), 0);
	assert_in_order(read_text(path), " warning events 7 not recorded",
			" info run 7\n");
	assert_in_order(read_text(path), " info run 7\n", " info run 1030\n");
	assert_null(strstr(read_text(path), " info run 6\n"));
	events_stop(events);
}

/* Without memory all events are written later, and none before. */
static void test_no_memory(void **state)
{
	bool failed = true;

	for (uint64_t nth = 1; failed; nth++) {
		struct events *events = start("");
		struct pm_error err;
		const char *text;
		int rc;

		for (unsigned int i = 0; i < EVENTS_PENDING; i++)
			events_note(events, EVENT_INFO, "run", "%u", i);
		memfault_begin(&(struct memfault){.nth = nth});
		rc = events_write(events, path, &err);
		failed = memfault_end() >= nth;
		text = read_text(path);
		if (rc) {
			assert_int_equal(rc, -ENOMEM);
			assert_string_equal(text, "");
			assert_int_equal(write_all(events), 0);
			text = read_text(path);
		}
		assert_non_null(strstr(text, " info run 0\n"));
		assert_non_null(strstr(text, " info run 255\n"));
		events_stop(events);
	}
}

static void test_size(void **state)
{
	struct events *events = start("");
	struct stat file;

	for (unsigned int i = 0; stat(old, &file); i++) {
		events_note(events, EVENT_INFO, "run", "%0100u", i);
		assert_int_equal(write_all(events), 0);
		assert_int_equal(stat(path, &file), 0);
		assert_true(file.st_size < EVENTS_SIZE + EVENT_LINE);
	}
	assert_true(file.st_size >= EVENTS_SIZE);
	assert_int_equal(stat(path, &file), 0);
	assert_true(file.st_size < EVENT_LINE);
	events_stop(events);
}

/* ---- The command ---- */

static double later_ms; /* that the clock is ahead */

double __real_clock_ms(void);
double __wrap_clock_ms(void);

double __wrap_clock_ms(void)
{
	return __real_clock_ms() + later_ms;
}

static void make_command(char *command, const char *body)
{
	FILE *file;

	snprintf(command, 64, "%s/command", folder);
	file = fopen(command, "w");
	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", body);
	fclose(file);
	chmod(command, 0755);
}

/* Rounds until the command has nothing to do, at most 20 s. */
static void finish(struct events *events)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};

	for (unsigned int i = 0; i < 2000 && events_pending(events); i++) {
		assert_int_equal(write_all(events), 0);
		nanosleep(&pause, NULL);
	}
	assert_false(events_pending(events));
}

static void test_command(void **state)
{
	char command[64], told[64], body[160];
	struct events *events;
	struct pm_error err;

	snprintf(told, sizeof(told), "%s/told", folder);
	snprintf(body, sizeof(body), "printf '%%s\\n' \"$1\" >>%s", told);
	make_command(command, body);
	events = start(command);
	events_note(events, EVENT_INFO, "run", "$(reboot); first");
	events_note(events, EVENT_INFO, "run", "second");
	finish(events);
	assert_string_equal(strstr(read_text(told), " info"),
			    strstr(read_text(path), " info"));
	events_command_trouble(events, &err);
	assert_string_equal(err.text, "");
	events_stop(events);
	unlink(told);
	unlink(command);
}

/* A command counts for events from then on, until there is none. */
static void test_other_command(void **state)
{
	struct pm_config config = {.event_command_severity = EVENT_INFO};
	char command[64], told[64], body[160];
	struct events *events = start("");

	snprintf(told, sizeof(told), "%s/told", folder);
	snprintf(body, sizeof(body), "printf '%%s\\n' \"$1\" >>%s", told);
	make_command(command, body);
	events_note(events, EVENT_INFO, "run", "first");
	finish(events);
	snprintf(config.event_command, sizeof(config.event_command), "%s", command);
	events_set(events, &config);
	events_note(events, EVENT_INFO, "run", "second");
	finish(events);
	config.event_command[0] = '\0';
	events_set(events, &config);
	events_note(events, EVENT_INFO, "run", "third");
	finish(events);
	assert_null(strchr(strchr(read_text(told), '\n') + 1, '\n'));
	assert_non_null(strstr(read_text(told), " info run second\n"));
	events_stop(events);
	unlink(told);
	unlink(command);
}

/* A clock that was set comes first: after it, times are out of order. */
static void test_clock(void **state)
{
	struct events *events = start("");

	events_note(events, EVENT_INFO, "run", "first");
	later_ms += 3600e3;
	events_note(events, EVENT_INFO, "run", "second");
	later_ms = 0;
	events_note(events, EVENT_INFO, "run", "third");
	finish(events);
	assert_in_order(read_text(path), " info run first\n",
			" notice clock set back by 3600 s\n");
	assert_in_order(read_text(path), " notice clock set back by 3600 s\n",
			" info run second\n");
	assert_in_order(read_text(path), " info run second\n",
			" notice clock set forward by 3600 s\n");
	events_stop(events);
}

/* A command gets only events of the severities and kinds that are configured. */
static void test_selected(void **state)
{
	struct pm_config config = {.event_command_severity = EVENT_WARNING};
	char command[64], told[64], body[160];
	struct events *events = start("");

	snprintf(told, sizeof(told), "%s/told", folder);
	snprintf(body, sizeof(body), "printf '%%s\\n' \"$1\" >>%s", told);
	make_command(command, body);
	snprintf(config.event_command, sizeof(config.event_command), "%s", command);
	assert_int_equal(
		pm_event_kinds_parse("missing,master", &config.event_command_kinds), 0);
	events_set(events, &config);
	events_note(events, EVENT_NOTICE, "missing", "one");
	events_note(events, EVENT_WARNING, "missing", "two");
	events_note(events, EVENT_WARNING, "held", "three");
	events_note(events, EVENT_ERROR, "master", "four");
	finish(events);
	assert_in_order(read_text(told), " warning missing two\n",
			" error master four\n");
	assert_null(strstr(read_text(told), "one"));
	assert_null(strstr(read_text(told), "three"));
	assert_int_equal(pm_event_kinds_parse("missing,", &config.event_command_kinds),
			 -EINVAL);
	assert_int_equal(pm_event_kinds_parse("mising", &config.event_command_kinds),
			 -EINVAL);
	events_stop(events);
	unlink(told);
	unlink(command);
}

/* Reported once until it succeeds. */
static void test_failure(void **state)
{
	char command[64];
	struct events *events;
	struct pm_error err;

	make_command(command, "exit 3");
	events = start(command);
	for (unsigned int i = 0; i < 2; i++) {
		events_note(events, EVENT_INFO, "run", "one");
		finish(events);
		events_command_trouble(events, &err);
		if (i)
			assert_string_equal(err.text, "");
		else
			assert_non_null(strstr(err.text, "/command: exit status 3"));
	}
	events_stop(events);
	unlink(command);
	events = start(command);
	events_note(events, EVENT_INFO, "run", "one");
	finish(events);
	events_command_trouble(events, &err);
	assert_non_null(strstr(err.text, "/command: cannot be started: error 2"));
	events_stop(events);
}

static void test_hanging(void **state)
{
	char command[64];
	struct events *events;
	struct pm_error err;

	make_command(command, "sleep 1000");
	events = start(command);
	events_note(events, EVENT_INFO, "run", "one");
	assert_int_equal(write_all(events), 0);
	later_ms = EVENT_COMMAND_S * 1e3 + 1;
	finish(events);
	events_command_trouble(events, &err);
	assert_non_null(strstr(err.text, "/command: killed by signal 9"));
	events_stop(events);
	unlink(command);
	later_ms = 0;
}

static void test_behind(void **state)
{
	char command[64];
	struct events *events;
	struct pm_error err;

	make_command(command, "exit 0");
	events = start(command);
	for (unsigned int i = 0; i < EVENT_COMMAND_LINES + 1; i++)
		events_note(events, EVENT_INFO, "run", "%u", i);
	finish(events);
	events_command_trouble(events, &err);
	assert_non_null(strstr(err.text, "does not keep up"));
	events_stop(events);
	unlink(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),	      cmocka_unit_test(test_long),
		cmocka_unit_test(test_many),	      cmocka_unit_test(test_no_folder),
		cmocka_unit_test(test_full_for_long), cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_size),	      cmocka_unit_test(test_command),
		cmocka_unit_test(test_other_command), cmocka_unit_test(test_selected),
		cmocka_unit_test(test_clock),	      cmocka_unit_test(test_failure),
		cmocka_unit_test(test_hanging),	      cmocka_unit_test(test_behind),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/events", folder);
	snprintf(old, sizeof(old), "%s.old", path);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	unlink(old);
	rmdir(folder);
	return failed;
}
