/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files of operators that change while the writer's thread reads, with the test in place
 * of OpenSM and its log.
 */
#include "unit.h"

#include "io/operator_files.h"

#include "io/log.h"
#include "engine/clock.h"

#include <float.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONG_MS 60e3

static char folder[] = "/tmp/portmajor-watch-XXXXXX";
static osm_opensm_t osm;
static struct pm_config config;
static char conf_path[64];
static atomic_int sweeps; /* asked for */
static atomic_int lines;  /* logged */
static char line[512];	  /* the last of them; before `lines` is counted up */
static struct worker *writer;
static struct operator_files *_Atomic followed_by; /* of the writer; NULL: none yet */

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

static void await_count(const atomic_int *count, int wanted)
{
	double start = clock_ms();

	while (*count < wanted) {
		assert_true(clock_ms() < start + LONG_MS);
		sched_yield();
	}
}

/* In one step. */
static void write_file(const char *path, const char *text)
{
	char other[130];
	FILE *file;

	snprintf(other, sizeof(other), "%s.new", path);
	file = fopen(other, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(other, path), 0);
}

/* As plugin.c does it. */
static double write_files(void *context, bool last)
{
	struct operator_files *files = followed_by;

	if (files && operator_files_begin(files))
		operator_files_read(files);
	return DBL_MAX;
}

static struct operator_files *start(void)
{
	struct operator_files *files;

	sweeps = lines = 0;
	writer = worker_start("portmajor-write", write_files, NULL);
	assert_non_null(writer);
	files = operator_files_start(&osm, writer, &config, &(struct pm_error){""});
	assert_non_null(files);
	followed_by = files;
	operator_files_poll(files);
	while (operator_files_await(files))
		;
	assert_false(operator_files_give_up(files));
	return files;
}

static void stop_following(struct operator_files *files)
{
	assert_true(worker_stop(writer, clock_ms() + LONG_MS));
	followed_by = NULL;
	operator_files_stop(files);
	worker_free(writer);
}

/* The sweep that OpenSM begins with is over. */
static void sweep(struct operator_files *files)
{
	const struct pm_roles roles = {0};

	operator_files_routed(files, &roles, false);
	assert_int_equal(sweeps, 0);
}

/* Other reasons for a sweep get it at once between sweeps, and after a running one. */
static void test_sweeps(void **state)
{
	const struct pm_roles roles = {0};
	struct operator_files *files = start();

	operator_files_request_sweep(files);
	assert_int_equal(sweeps, 0);
	operator_files_routed(files, &roles, true);
	assert_int_equal(sweeps, 1);
	operator_files_request_sweep(files);
	assert_int_equal(sweeps, 2);
	operator_files_poll(files);
	operator_files_request_sweep(files);
	operator_files_routed(files, &roles, false);
	assert_int_equal(sweeps, 2);
	stop_following(files);
}

/* Has all files read, as a sweep does, and waits for the line or the change. */
static bool read_again(struct operator_files *operator_files, int wanted_lines,
		       struct pm_config *now, struct pm_error *misread)
{
	operator_files_poll(operator_files);
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
	operator_files = start();
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

	/* The next sweep finds the same error, which is no change. */
	write_file(conf_path, "flap_limmit 8\n\n");
	operator_files_poll(operator_files);
	write_file(conf_path, "flap_limit 9\nrole io guid 7\n");
	assert_true(read_again(operator_files, 0, &now, &misread));
	assert_string_equal(misread.text, "");
	assert_int_equal(lines, 1);
	operator_files_routed(operator_files, &roles, false);
	stop_following(operator_files);
	pm_roles_free(&roles);
	osm.subn.opt.event_plugin_options = NULL;
	unlink(conf_path);
}

/* Changes after a sweep has read the files are for another one. */
static void test_late_configuration(void **state)
{
	struct operator_files *operator_files;
	struct pm_roles roles = {0};

	osm.subn.opt.event_plugin_options = conf_path;
	pm_config_init(&config);
	write_file(conf_path, "");
	operator_files = start();
	sweep(operator_files);
	write_file(conf_path, "flap_limit 9\n");
	operator_files_poll(operator_files);
	operator_files_routed(operator_files, &roles, false);
	await_count(&sweeps, 1); /* by that call, or by the thread */
	stop_following(operator_files);
	osm.subn.opt.event_plugin_options = NULL;
	unlink(conf_path);
}

/* ---- Files that other users could have written ---- */

static char guids_path[64], elsewhere[64];
static const struct {
	const char *path, *text;
} followed[] = {
	{conf_path, "rebalance_rate 7\n"},
	{guids_path, "0x17\n"},
};

static void spoil_mode(const char *path)
{
	assert_int_equal(chmod(path, 0664), 0);
}

static void spoil_mode_of_others(const char *path)
{
	assert_int_equal(chmod(path, 0646), 0);
}

static void spoil_owner(const char *path)
{
	assert_int_equal(chown(path, 1, (gid_t)-1), 0);
}

static void spoil_folder(const char *path)
{
	assert_int_equal(chmod(folder, 0777), 0);
}

/* To a good file, or for those that may be a link, in a circle. */
static void spoil_link(const char *path)
{
	bool linked = path == conf_path || path == guids_path;

	unlink(elsewhere);
	assert_int_equal(rename(path, elsewhere), 0);
	assert_int_equal(symlink(linked ? path : elsewhere, path), 0);
}

static void spoil_fifo(const char *path)
{
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0);
}

static void spoil_type(const char *path)
{
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
}

static const struct {
	void (*spoil)(const char *path);
	const char *why;
	bool by_root;
} faults[] = {
	{spoil_mode, ": others may write it (mode 0664", false},
	{spoil_mode_of_others, ": others may write it (mode 0646", false},
	{spoil_owner, ": it belongs to user 1, not to root", true},
	{spoil_folder, ": others may write it (mode 0777", false},
	{spoil_link, " symbolic link", false},
	{spoil_fifo, ": not a regular file", false},
	{spoil_type, ": not a regular file", false},
};

static void remove_followed(void)
{
	for (size_t i = 0; i < LENGTH(followed); i++)
		remove(followed[i].path);
	unlink(elsewhere);
	assert_int_equal(chmod(folder, 0700), 0);
}

/* Nothing of the files is followed; each is logged once, however often it is read. */
static void check_none_followed(size_t fault)
{
	struct operator_files *files;
	struct pm_config now;
	struct pm_error misread = {""};
	struct pm_roles roles = {0};

	pm_config_init(&config);
	files = start();
	operator_files_poll(files);
	await_count(&lines, LENGTH(followed));
	assert_true(operator_files_take_config(files, &now, &misread));
	assert_non_null(strstr(misread.text, faults[fault].why));
	assert_non_null(strstr(line, faults[fault].why));
	assert_false(operator_files_take_roles(files, &roles));
	operator_files_routed(files, &roles, false);
	stop_following(files);
	assert_int_equal(lines, LENGTH(followed));
}

static void test_untrusted(void **state)
{
	osm.subn.opt.event_plugin_options = conf_path;
	osm.subn.opt.root_guid_file = guids_path;
	for (size_t i = 0; i < LENGTH(faults); i++) {
		if (faults[i].by_root && geteuid())
			continue;
		for (size_t j = 0; j < LENGTH(followed); j++) {
			write_file(followed[j].path, followed[j].text);
			faults[i].spoil(followed[j].path);
		}
		check_none_followed(i);
		remove_followed();
	}
	osm.subn.opt.event_plugin_options = osm.subn.opt.root_guid_file = NULL;
}

/* Replaces portmajor.conf and the GUID file by links through two others to files there.
 */
static void link_followed(const char *there)
{
	char target[120], between[130];

	for (int i = 0; i < 2; i++) {
		const char *path = i ? guids_path : conf_path;

		snprintf(target, sizeof(target), "%s/%s", there, strrchr(path, '/') + 1);
		snprintf(between, sizeof(between), "%s.link", target);
		write_file(target, i ? "0x17\n" : "rebalance_rate 7\n");
		unlink(between);
		unlink(path);
		assert_int_equal(symlink(strrchr(target, '/') + 1, between), 0);
		assert_int_equal(symlink(between, path), 0);
	}
}

static void unlink_followed(const char *there)
{
	static const char *const names[] = {"portmajor.conf", "portmajor.conf.link",
					    "guids", "guids.link"};
	char path[96];

	for (size_t i = 0; i < LENGTH(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", there, names[i]);
		unlink(path);
	}
	unlink(conf_path);
	unlink(guids_path);
}

/* Reads portmajor.conf and the GUID file; why: the expected fault of both, or NULL. */
static void check_linked(const char *why)
{
	struct operator_files *files;
	struct pm_config now;
	struct pm_error misread = {""};
	struct pm_roles roles = {0};

	pm_config_init(&config);
	files = start();
	while (!operator_files_take_config(files, &now, &misread))
		sched_yield();
	if (why) {
		assert_non_null(strstr(misread.text, why));
		await_count(&lines, 2);
		assert_non_null(strstr(line, why));
		assert_false(operator_files_take_roles(files, &roles));
	} else {
		assert_string_equal(misread.text, "");
		assert_int_equal(now.rebalance_rate, 7);
		while (!operator_files_take_roles(files, &roles))
			sched_yield();
		assert_int_equal(lines, 0);
	}
	operator_files_routed(files, &roles, false);
	stop_following(files);
	pm_roles_free(&roles);
}

/* As configuration management makes them: links whose owners and folders are trusted. */
static void test_linked(void **state)
{
	static const char *const links[] = {"portmajor.conf.link", "guids.link"};
	char there[80], link[120];

	snprintf(there, sizeof(there), "%s/managed", folder);
	assert_int_equal(mkdir(there, 0755), 0);
	osm.subn.opt.event_plugin_options = conf_path;
	osm.subn.opt.root_guid_file = guids_path;
	link_followed(there);
	check_linked(NULL);
	assert_int_equal(chmod(there, 0777), 0);
	check_linked("/managed: others may write it (mode 0777");
	assert_int_equal(chmod(there, 0755), 0);
	if (!geteuid())
		for (size_t i = 0; i < LENGTH(links); i++) {
			snprintf(link, sizeof(link), "%s/%s", there, links[i]);
			assert_int_equal(lchown(link, 1, (gid_t)-1), 0);
		}
	if (!geteuid())
		check_linked(".link: it belongs to user 1");
	unlink_followed(there);
	assert_int_equal(rmdir(there), 0);
	osm.subn.opt.event_plugin_options = osm.subn.opt.root_guid_file = NULL;
}

static int set_up(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(conf_path, sizeof(conf_path), "%s/portmajor.conf", folder);
	snprintf(guids_path, sizeof(guids_path), "%s/guids", folder);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", folder);
	return 0;
}

static int tear_down(void **state)
{
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sweeps),
		cmocka_unit_test(test_configuration),
		cmocka_unit_test(test_late_configuration),
		cmocka_unit_test(test_untrusted),
		cmocka_unit_test(test_linked),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
