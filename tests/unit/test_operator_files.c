/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files of operators that appear while the thread looks, with the test in place of
 * OpenSM, its log and the store.
 */
#include "unit.h"

#include "io/operator_files.h"

#include "io/log.h"
#include "engine/clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONG_MS 60e3

static char folder[] = "/tmp/portmajor-watch-XXXXXX";
static char request_path[64], drained_path[64];
static osm_opensm_t osm;
static struct pm_config config;
static char conf_path[64];
static atomic_int sweeps, requests; /* asked for */
static atomic_int lines;	    /* logged */
static char line[512];		    /* the last of them; before `lines` is counted up */
static atomic_bool closed;

void log_line(osm_log_t *log, osm_log_level_t level, const char *format, ...)
{
	va_list args;

	assert_ptr_equal(log, &osm.log);
	assert_int_equal(level, OSM_LOG_ERROR);
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	lines++;
}

void osm_sm_signal(osm_sm_t *sm, osm_signal_t signal)
{
	assert_ptr_equal(sm, &osm.sm);
	assert_int_equal(signal, OSM_SIGNAL_SWEEP);
	sweeps++;
}

char *store_path(struct store *store, const char *name)
{
	char *path;

	assert_null(store);
	if (closed || asprintf(&path, "%s/%s", folder, name) < 0)
		return NULL;
	return path;
}

char *store_path_beside(const struct store *store, const char *name)
{
	char *path;

	assert_null(store);
	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static void await_count(const atomic_int *count, int wanted)
{
	double start = clock_ms();

	while (*count < wanted) {
		assert_true(clock_ms() < start + LONG_MS);
		sched_yield();
	}
}

static bool is_there(const char *path)
{
	return !access(path, F_OK);
}

/* In one step, as `portmajor rebalance` and `portmajor drain` do it. */
static void write_file(const char *path, const char *text)
{
	char other[80];
	FILE *file;

	snprintf(other, sizeof(other), "%s.new", path);
	file = fopen(other, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(other, path), 0);
}

static void write_request(const char *text)
{
	write_file(request_path, text);
}

static void write_drained(const char *text)
{
	write_file(drained_path, text);
}

static void count_request(void *context)
{
	requests++;
}

static struct operator_files *start(bool roles_only)
{
	struct operator_files *operator_files;

	sweeps = lines = requests = 0;
	config.shadow = roles_only;
	operator_files =
		operator_files_start(&osm, NULL, &config, &(struct pm_error){""});
	assert_non_null(operator_files);
	operator_files_on_request(operator_files, count_request, NULL);
	while (operator_files_await(operator_files))
		;
	assert_false(operator_files_give_up(operator_files));
	return operator_files;
}

static void stop_following(struct operator_files *operator_files)
{
	assert_true(operator_files_stop(operator_files, clock_ms() + LONG_MS));
}

/* The sweep that OpenSM begins with is over; requests for the repairer ask for none. */
static void sweep(struct operator_files *operator_files)
{
	const struct pm_roles roles = {0};

	operator_files_routed(operator_files, &roles);
	assert_int_equal(sweeps, 0);
	requests = 0; /* for what is drained, as first read */
}

static void end(struct operator_files *operator_files)
{
	stop_following(operator_files);
	assert_int_equal(sweeps, 0);
}

static void test_rebalance(void **state)
{
	struct rebalance_request request = {77};
	struct operator_files *operator_files = start(false);

	sweep(operator_files);
	assert_false(operator_files_take_rebalance(operator_files, &request));
	write_request("rate 500\n");
	await_count(&requests, 1);
	assert_false(is_there(request_path));
	assert_true(operator_files_take_rebalance(operator_files, &request));
	assert_int_equal(request.rate, 500);
	assert_false(operator_files_take_rebalance(operator_files, &request));
	write_request("rate 3\n");
	await_count(&requests, 2);
	write_request(""); /* the newest counts */
	await_count(&requests, 3);
	assert_true(operator_files_take_rebalance(operator_files, &request));
	assert_int_equal(request.rate, 0);
	assert_int_equal(lines, 0);
	end(operator_files);
}

/* It is told, and goes; a good one counts after it. */
static void test_bad_request(void **state)
{
	struct rebalance_request request;
	struct operator_files *operator_files = start(false);

	sweep(operator_files);
	write_request("rate many\n");
	await_count(&lines, 1);
	assert_non_null(strstr(line, "rebalance not followed: "));
	assert_non_null(strstr(line, "/rebalance:1: rate must be"));
	assert_false(is_there(request_path));
	assert_int_equal(mkdir(request_path, 0755), 0);
	await_count(&lines, 2);
	assert_non_null(strstr(line, "Is a directory"));
	assert_false(operator_files_take_rebalance(operator_files, &request));
	assert_int_equal(rmdir(request_path), 0);
	write_request("rate 5");
	await_count(&requests, 1);
	assert_true(operator_files_take_rebalance(operator_files, &request));
	assert_int_equal(lines, 2);
	end(operator_files);
}

/* Before the folder is open nothing is looked at; in shadow mode never. */
static void test_later(void **state)
{
	struct rebalance_request request;
	struct operator_files *operator_files;

	write_request("rate 5\n");
	stop_following(start(true));
	closed = true;
	operator_files = start(false);
	assert_true(is_there(request_path));
	sweep(operator_files);
	closed = false;
	await_count(&requests, 1);
	assert_true(operator_files_take_rebalance(operator_files, &request));
	end(operator_files);
}

/* Between sweeps, a second later at most; one is asked for. In vain it is told once. */
static void test_clear_holds(void **state)
{
	struct operator_files *operator_files = start(false);
	char path[80], *text;

	snprintf(path, sizeof(path), "%s/clear-holds", folder);
	sweep(operator_files);
	write_file(path, "a[1]\n"); /* nobody looks: another engine routes */
	write_request("");
	await_count(&requests, 1);
	assert_true(is_there(path));
	operator_files_poll(operator_files, strdup(path));
	operator_files_routed(operator_files, &(struct pm_roles){0});
	await_count(&sweeps, 1);
	assert_false(is_there(path));
	text = operator_files_take_clear_holds(operator_files);
	assert_string_equal(text, "a[1]\n");
	free(text);
	write_file(path, "");
	await_count(&sweeps, 2);
	text = operator_files_take_clear_holds(operator_files);
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(lines, 0);
	assert_int_equal(mkdir(path, 0755), 0);
	await_count(&lines, 1);
	for (int i = 2; i <= 4; i++) { /* three rounds */
		write_request("");
		await_count(&requests, i);
	}
	assert_int_equal(lines, 1);
	assert_int_equal(rmdir(path), 0);
	stop_following(operator_files);
}

/* A sweep is asked for once for each change, though each sweep has the file read. */
static void test_claim(void **state)
{
	const struct pm_drains none = {0};
	struct pm_drains now = {0};
	struct operator_files *operator_files;

	write_drained("portmajor-drained 1\n0x17 - a\n");
	operator_files = start(false);
	requests = 0; /* of the first look */
	assert_true(operator_files_claim_drains(operator_files, &none));
	for (int i = 1; i <= 3; i++) {
		operator_files_poll(operator_files, NULL);
		await_count(&requests, i);
		assert_true(operator_files_has_drains(operator_files, &none));
		assert_false(operator_files_claim_drains(operator_files, &none));
	}
	write_drained("portmajor-drained 1\n0x17 - a\n0x18 - b\n");
	await_count(&requests, 4);
	assert_true(operator_files_claim_drains(operator_files, &none));
	write_drained("portmajor-drained 1\n0x18 - b\n");
	await_count(&requests, 5);
	assert_true(operator_files_take_drains(
		operator_files, &now)); /* by a sweep that was on its way */
	operator_files_poll(operator_files, NULL);
	await_count(&requests, 6);
	assert_false(operator_files_claim_drains(operator_files, &none));
	pm_drains_free(&now);
	end(operator_files);
	assert_int_equal(unlink(drained_path), 0);
}

static atomic_int in_call;

static void take_long(void *context)
{
	double start = clock_ms();

	in_call = 1;
	while (clock_ms() < start + 50)
		sched_yield();
	in_call = 0;
}

/* The repairer, which is woken, ends before the watch. */
static void test_no_more(void **state)
{
	struct operator_files *operator_files = start(false);

	sweep(operator_files);
	operator_files_on_request(operator_files, take_long, NULL);
	write_request("rate 5\n");
	await_count(&in_call, 1);
	operator_files_on_request(operator_files, NULL, NULL);
	assert_int_equal(in_call, 0);
	end(operator_files);
}

/* Has all files read, as a sweep does, and waits for the line or the news of that. */
static bool read_again(struct operator_files *operator_files, int wanted_lines,
		       struct pm_config *now, struct pm_error *misread)
{
	operator_files_poll(operator_files, NULL);
	if (wanted_lines)
		await_count(&lines, wanted_lines);
	for (double start = clock_ms(); clock_ms() < start + LONG_MS; sched_yield())
		if (operator_files_take_config(operator_files, now, misread))
			return true;
	return false;
}

/* Another configuration, a bad one that is logged once, and its correction. */
static void test_configuration(void **state)
{
	struct pm_config now = {.rebalance_rate = 77};
	struct pm_error misread = {""};
	struct pm_roles roles = {0};
	struct operator_files *operator_files;

	osm.subn.opt.event_plugin_options = conf_path;
	pm_config_init(&config);
	write_file(conf_path, "");
	operator_files = start(false);
	assert_false(operator_files_take_config(operator_files, &now, &misread));

	write_file(conf_path, "flap_limit 9\nrole io guid 7\n");
	assert_true(read_again(operator_files, 0, &now, &misread));
	assert_int_equal(now.flap.limit, 9);
	while (!operator_files_take_roles(operator_files, &roles))
		sched_yield();
	assert_int_equal(roles.rules.count, 1);
	assert_false(operator_files_take_config(operator_files, &now, &misread));

	write_file(conf_path, "flap_limmit 8\n");
	assert_true(read_again(operator_files, 1, &now, &misread));
	assert_int_equal(now.flap.limit, 9);
	assert_non_null(strstr(misread.text, ":1: unknown key \"flap_limmit\""));
	assert_non_null(strstr(line, "configuration not used, values in use stay: /tmp"));

	/* The next sweep's look finds the same error, which is no news. */
	write_file(conf_path, "flap_limmit 8\n\n");
	operator_files_poll(operator_files, NULL);
	write_file(conf_path, "flap_limit 9\nrole io guid 7\n");
	assert_true(read_again(operator_files, 0, &now, &misread));
	assert_string_equal(misread.text, "");
	assert_int_equal(lines, 1);
	operator_files_routed(operator_files, &roles);
	stop_following(operator_files);
	pm_roles_free(&roles);
	osm.subn.opt.event_plugin_options = NULL;
	unlink(conf_path);
}

/* News that come after a sweep has looked are for another one. */
static void test_late_configuration(void **state)
{
	struct operator_files *operator_files;
	struct pm_roles roles = {0};

	osm.subn.opt.event_plugin_options = conf_path;
	pm_config_init(&config);
	write_file(conf_path, "");
	operator_files = start(false);
	sweep(operator_files);
	write_file(conf_path, "flap_limit 9\n");
	operator_files_poll(operator_files, NULL);
	operator_files_routed(operator_files, &roles);
	await_count(&sweeps, 1); /* by that call, or by the thread */
	stop_following(operator_files);
	osm.subn.opt.event_plugin_options = NULL;
	unlink(conf_path);
}

static int set_up(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(request_path, sizeof(request_path), "%s/rebalance", folder);
	snprintf(conf_path, sizeof(conf_path), "%s/portmajor.conf", folder);
	snprintf(drained_path, sizeof(drained_path), "%s/portmajor.drained", folder);
	return 0;
}

static int tear_down(void **state)
{
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rebalance),
		cmocka_unit_test(test_bad_request),
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_claim),
		cmocka_unit_test(test_no_more),
		cmocka_unit_test(test_clear_holds),
		cmocka_unit_test(test_configuration),
		cmocka_unit_test(test_late_configuration),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
