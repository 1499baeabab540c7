/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "unit.h"

#include <portmajor/files/config.h>

#include <unistd.h>

static void test_good(void **state)
{
	static const struct {
		const char *name, *text;
		enum pm_lid_order order;
		bool migrate;
	} rows[] = {
		{"empty", "", PM_GROUPED, false},
		{"blank lines", "\n \n\t\n", PM_GROUPED, false},
		{"comments", "# a\n  # lid_order x\n#", PM_GROUPED, false},
		{"value", "lid_order port-major\n", PM_PORT_MAJOR, false},
		{"no line end", "lid_order leaf-major", PM_LEAF_MAJOR, false},
		{"blanks around", " \tlid_order\t  leaf-major \t\n", PM_LEAF_MAJOR,
		 false},
		{"comment behind", "lid_order port-major # why\n", PM_PORT_MAJOR, false},
		{"comment close behind", "lid_order port-major# why", PM_PORT_MAJOR,
		 false},
		{"lines of DOS", "lid_order port-major\r\n\r\n", PM_PORT_MAJOR, false},
		{"default given", "lid_order grouped\nmigrate no\n", PM_GROUPED, false},
		{"two keys", "migrate yes\nlid_order leaf-major\n", PM_LEAF_MAJOR, true},
	};

	for_each_row(row, rows) {
		struct pm_config config = {.lid_order = PM_LEAF_MAJOR, .migrate = true};
		struct pm_error err = {""};

		if (pm_config_parse(row->text, "x", &config, &err) ||
		    config.lid_order != row->order || config.migrate != row->migrate)
			fail_msg("%s: %d \"%s\"", row->name, config.lid_order, err.text);
	}
}

static const struct pm_config defaults = {
	.flap = {3, 60000, 60000, 3600000},
	.early_repair = true,
	.throttle_sweeps = true,
	.early_repair_budget_ms = 200,
	.rebalance_auto = true,
	.rebalance_rate = 1000,
};

static void test_roles(void **state)
{
	static const struct {
		const char *text;
		int rc;
		const char *message;
	} rows[] = {
		{"role service name UFM * # why\nrole aggregation device 0x1017\n", 0,
		 ""},
		{"role service", -EINVAL,
		 "x:1: role must be compute|io|service|aggregation"},
		{"\nrole leaf guid 1", -EINVAL, "x:2: role must be"},
		{"role io guid one", -EINVAL, "not a number, such as 0xcf09, last"},
	};

	for_each_row(row, rows) {
		struct pm_config config;
		struct pm_error err = {""};
		int rc = pm_config_parse(row->text, "x", &config, &err);

		if (rc != row->rc || (rc && !strstr(err.text, row->message)))
			fail_msg("%s: %d %s", row->text, rc, err.text);
		if (rc)
			continue;
		assert_int_equal(config.roles.count, 2);
		assert_string_equal(config.roles.list[0].pattern, "UFM *");
		assert_int_equal(config.roles.list[1].number, 0x1017);
		assert_int_equal(config.roles.list[1].host, PM_AGGREGATION);
	}
}

static void test_prometheus(void **state)
{
	struct pm_config config;
	char text[PM_CONFIG_PATH + 32] = "prometheus /";

	assert_int_equal(pm_config_parse("", "x", &config, NULL), 0);
	assert_string_equal(config.prometheus, "");
	assert_int_equal(pm_config_parse("prometheus /a/b.prom # c", "x", &config, NULL),
			 0);
	assert_string_equal(config.prometheus, "/a/b.prom");
	memset(text + 12, 'x', PM_CONFIG_PATH - 1);
	assert_int_equal(pm_config_parse(text, "x", &config, NULL), -EINVAL);
	text[12 + PM_CONFIG_PATH - 2] = '\0';
	assert_int_equal(pm_config_parse(text, "x", &config, NULL), 0);
	assert_int_equal(strlen(config.prometheus), PM_CONFIG_PATH - 1);
}

/* The change of one number of the defaults by a text. */
static const struct {
	const char *name, *text;
	size_t offset; /* in struct pm_config */
	uint32_t value;
} numbers[] = {
#define AT(field) offsetof(struct pm_config, field)
	{"defaults", "", AT(flap.limit), 3},
	{"limit", "flap_limit 5", AT(flap.limit), 5},
	{"limit off", "flap_limit 0", AT(flap.limit), 0},
	{"highest limit", "flap_limit 31", AT(flap.limit), 31},
	{"window", "flap_window 1", AT(flap.window_ms), 1000},
	{"a day's window", "flap_window 86400", AT(flap.window_ms), 86400000},
	{"hold", "flap_hold 7", AT(flap.hold_ms), 7000},
	{"hold, no more than its limit", "flap_hold 3600", AT(flap.hold_ms), 3600000},
	{"longest hold", "flap_hold_max 86400", AT(flap.hold_max_ms), 86400000},
	{"hold never doubled", "flap_hold_max 60", AT(flap.hold_max_ms), 60000},
	{"budget", "early_repair_budget 1", AT(early_repair_budget_ms), 1},
	{"highest budget", "early_repair_budget 10000", AT(early_repair_budget_ms),
	 10000},
	{"lowest rate", "rebalance_rate 1", AT(rebalance_rate), 1},
	{"highest rate", "rebalance_rate 1000000", AT(rebalance_rate), 1000000},
	{"zeros before", "early_repair_budget 000000030", AT(early_repair_budget_ms), 30},
#undef AT
};

static bool same(const struct pm_config *a, const struct pm_config *b)
{
	return a->lid_order == b->lid_order && a->migrate == b->migrate &&
	       !memcmp(&a->flap, &b->flap, sizeof(a->flap)) &&
	       a->early_repair == b->early_repair &&
	       a->throttle_sweeps == b->throttle_sweeps &&
	       a->early_repair_budget_ms == b->early_repair_budget_ms &&
	       a->rebalance_auto == b->rebalance_auto &&
	       a->rebalance_rate == b->rebalance_rate &&
	       !strcmp(a->prometheus, b->prometheus);
}

static void test_numbers(void **state)
{
	for_each_row(row, numbers) {
		struct pm_config config = {.migrate = true}, wanted = defaults;
		struct pm_error err = {""};

		memcpy((char *)&wanted + row->offset, &row->value, sizeof(row->value));
		if (pm_config_parse(row->text, "x", &config, &err) ||
		    !same(&config, &wanted))
			fail_msg("%s: \"%s\"", row->name, err.text);
	}
}

static void test_early_repair(void **state)
{
	struct pm_config config, wanted = defaults;

	assert_int_equal(pm_config_parse("early_repair yes", "x", &config, NULL), 0);
	assert_true(same(&config, &wanted));
	wanted.early_repair = false;
	assert_int_equal(pm_config_parse("early_repair no", "x", &config, NULL), 0);
	assert_true(same(&config, &wanted));
	pm_config_init(&config);
	assert_true(same(&config, &defaults));
}

static void test_rebalance(void **state)
{
	struct pm_config config, wanted = defaults;

	assert_int_equal(pm_config_parse("rebalance auto", "x", &config, NULL), 0);
	assert_true(same(&config, &wanted));
	wanted.rebalance_auto = false;
	assert_int_equal(pm_config_parse("rebalance request", "x", &config, NULL), 0);
	assert_true(same(&config, &wanted));
}

static const struct {
	const char *name, *text;
	const char *start;   /* of the message, behind the source's name */
	const char *more[2]; /* anywhere in it */
} bad[] = {
	{"unknown key", "lid_ordr grouped\n", ":1: ", {"unknown key", "\"lid_ordr\""}},
	{"unknown key alone", "\n\nx", ":3: ", {"unknown key", "\"x\""}},
	{"case matters", "LID_ORDER grouped", ":1: ", {"unknown key", "LID_ORDER"}},
	{"bad value",
	 "# c\nlid_order major\n",
	 ":2: ",
	 {"lid_order must be grouped, leaf-major or port-major", "\"major\""}},
	{"no value", "lid_order\n", ":1: ", {"lid_order must be", "\"\""}},
	{"value in a comment",
	 "lid_order # grouped",
	 ":1: ",
	 {"lid_order must be", "\"\""}},
	{"bad flag", "migrate maybe", ":1: ", {"migrate must be yes or no", "\"maybe\""}},
	{"twice",
	 "lid_order grouped\n\nlid_order grouped\n",
	 ":3: ",
	 {"lid_order", "line 1 already"}},
	{"twice, bad",
	 "lid_order grouped\nlid_order x\n",
	 ":2: ",
	 {"line 1 already", ""}},
	{"text behind",
	 "lid_order grouped really\n",
	 ":1: ",
	 {"\"really\" behind the value", "lid_order"}},
	{"limit too high",
	 "flap_limit 32",
	 ":1: ",
	 {"flap_limit must be 0 to 31", "\"32\""}},
	{"negative", "flap_limit -1", ":1: ", {"flap_limit must be", "\"-1\""}},
	{"signed", "flap_limit +1", ":1: ", {"flap_limit must be", "\"+1\""}},
	{"unit",
	 "flap_window 60s",
	 ":1: ",
	 {"flap_window must be 1 to 86400 seconds", "\"60s\""}},
	{"fraction", "flap_hold 1.5", ":1: ", {"flap_hold must be 1 to", "\"1.5\""}},
	{"no window", "flap_window 0", ":1: ", {"flap_window must be", "\"0\""}},
	{"no hold", "flap_hold 0", ":1: ", {"flap_hold must be", "\"0\""}},
	{"hold of days",
	 "flap_hold_max 86401",
	 ":1: ",
	 {"flap_hold_max must be", "\"86401\""}},
	{"wraps", "flap_hold 4294967297", ":1: ", {"flap_hold must be", "4294967297"}},
	{"wraps long",
	 "flap_hold 18446744073709551617",
	 ":1: ",
	 {"flap_hold must be", ""}},
	{"too many digits",
	 "early_repair_budget 0000000030",
	 ":1: ",
	 {"early_repair_budget must be", "\"0000000030\""}},
	{"no number", "flap_limit", ":1: ", {"flap_limit must be", "\"\""}},
	{"no budget",
	 "early_repair_budget 0",
	 ":1: ",
	 {"early_repair_budget must be 1 to 10000 milliseconds", "\"0\""}},
	{"too large a budget",
	 "early_repair_budget 10001",
	 ":1: ",
	 {"early_repair_budget must be", "\"10001\""}},
	{"bad repair",
	 "early_repair 1",
	 ":1: ",
	 {"early_repair must be yes or no", "\"1\""}},
	{"bad rebalance",
	 "rebalance yes",
	 ":1: ",
	 {"rebalance must be auto or request", "\"yes\""}},
	{"no rate",
	 "rebalance_rate 0",
	 ":1: ",
	 {"rebalance_rate must be 1 to 1000000 blocks per second", "\"0\""}},
	{"too high a rate",
	 "rebalance_rate 1000001",
	 ":1: ",
	 {"rebalance_rate must be", "\"1000001\""}},
	{"hold above its default limit",
	 "flap_hold 3601",
	 ": ",
	 {"flap_hold_max, 3600, is below", "flap_hold, 3601"}},
	{"hold below its limit",
	 "flap_hold_max 20\nflap_hold 30",
	 ": ",
	 {"flap_hold_max, 20, is below", "flap_hold, 30"}},
	{"path that is not absolute",
	 "prometheus pm.prom",
	 ":1: ",
	 {"prometheus must be the absolute path of a file or folder", "\"pm.prom\""}},
	{"folder", "prometheus /tmp/", ":1: ", {"prometheus must be", "\"/tmp/\""}},
	{"equals sign", "lid_order = grouped", ":1: ", {"behind the value", "lid_order"}},
};

static void test_bad(void **state)
{
	for_each_row(row, bad) {
		struct pm_config config = {.lid_order = PM_PORT_MAJOR, .migrate = true};
		struct pm_error err = {""};
		char start[64];
		int rc = pm_config_parse(row->text, "pm.conf", &config, &err);

		snprintf(start, sizeof(start), "pm.conf%s", row->start);
		if (rc != -EINVAL || strncmp(err.text, start, strlen(start)) ||
		    !strstr(err.text, row->more[0]) || !strstr(err.text, row->more[1]))
			fail_msg("%s: %d \"%s\"", row->name, rc, err.text);
		assert_int_equal(config.lid_order, PM_PORT_MAJOR);
		assert_true(config.migrate);
		assert_int_equal(pm_config_parse(row->text, "x", &config, NULL), -EINVAL);
	}
}

/* A file with these bytes; the caller frees the name after unlinking. */
static char *write_file(const char *bytes, size_t length)
{
	char *path = strdup("/tmp/portmajor-config-XXXXXX");
	int fd;

	assert_non_null(path);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), length);
	close(fd);
	return path;
}

static void test_files(void **state)
{
	struct pm_config config = {.lid_order = PM_PORT_MAJOR};
	struct pm_error err = {""};
	char *path = write_file("lid_order leaf-major\n", 21);
	char *large = calloc(1, (1 << 20) + 1);

	assert_non_null(large);
	memset(large, '\n', (1 << 20) + 1);
	assert_int_equal(pm_config_read(path, &config, &err), 0);
	assert_int_equal(config.lid_order, PM_LEAF_MAJOR);
	unlink(path);
	assert_int_equal(pm_config_read(path, &config, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	free(path);
	assert_int_equal(pm_config_read("/tmp", &config, &err), -EISDIR);
	path = write_file("nonsense 1\n", 11);
	assert_int_equal(pm_config_read(path, &config, &err), -EINVAL);
	assert_int_equal(strncmp(err.text, path, strlen(path)), 0);
	assert_int_equal(strncmp(err.text + strlen(path), ":1: ", 4), 0);
	unlink(path);
	free(path);
	path = write_file("lid_order \0 x\n", 14);
	assert_int_equal(pm_config_read(path, &config, &err), -EINVAL);
	unlink(path);
	free(path);
	path = write_file(large, (1 << 20) + 1);
	assert_int_equal(pm_config_read(path, &config, &err), -EFBIG);
	unlink(path);
	free(path);
	path = write_file(large, 1 << 20);
	assert_int_equal(pm_config_read(path, &config, &err), 0);
	assert_int_equal(config.lid_order, PM_GROUPED);
	unlink(path);
	free(path);
	/* The last word of the largest file counts. */
	memcpy(large + (1 << 20) - 20, "lid_order leaf-major", 20);
	path = write_file(large, 1 << 20);
	assert_int_equal(pm_config_read(path, &config, &err), 0);
	assert_int_equal(config.lid_order, PM_LEAF_MAJOR);
	unlink(path);
	free(path);
	free(large);
}

/* If a line requests it, an error elsewhere does not make the engine route. */
static void test_shadow(void **state)
{
	static const struct {
		const char *text;
		bool shadow;
	} rows[] = {
		{"shadow yes\n", true},
		{"shadow no\n", false},
		{"", false},
		{"flap_limmit 3\nshadow yes # for now\n", true},
		{"shadow yes\nlid_order none\n", true},
		{"shadow yes\nflap_hold 9\nflap_hold_max 8\n", true},
		{"shadow yess\n", false},
		{"flap_limmit 3\n", false},
	};

	for_each_row(row, rows) {
		struct pm_config config;
		struct pm_error err;

		pm_config_init(&config);
		pm_config_parse(row->text, "f", &config, &err);
		if (config.shadow != row->shadow || config.flap.limit != 3)
			fail_msg("%s", row->text);
	}
}

/* Each key by its name, with a value of its type; live ones are copied, no others. */
static void test_compare(void **state)
{
	static const struct {
		const char *text, *live, *restart;
	} rows[] = {
		{"", "", ""},
		{"# only a comment\nflap_limit 3\n", "", ""},
		{"lid_order leaf-major\nmigrate yes\nshadow yes\nprometheus /p\n", "",
		 "lid_order, migrate, shadow, prometheus"},
		{"flap_limit 4\nflap_window 5\nflap_hold 6\nflap_hold_max 7\n",
		 "flap_limit, flap_window, flap_hold, flap_hold_max", ""},
		{"early_repair no\nearly_repair_budget 9\nmigrate yes\n",
		 "early_repair, early_repair_budget", "migrate"},
		{"rebalance request\nrebalance_rate 5\nevent_syslog no\n"
		 "event_command /bin/true\nrole io guid 7\n",
		 "rebalance, rebalance_rate, event_syslog, event_command, role", ""},
		{"event_command_severity warning\nevent_command_kinds missing,held\n",
		 "event_command_severity, event_command_kinds", ""},
	};

	for_each_row(row, rows) {
		char names[PM_CONFIG_KEYS];
		struct pm_config config, now;

		pm_config_init(&config);
		assert_int_equal(pm_config_parse(row->text, "f", &now, NULL), 0);
		assert_int_equal(pm_config_compare(&config, &now, PM_CONFIG_LIVE, names),
				 row->live[0] != 0);
		assert_string_equal(names, row->live);
		assert_int_equal(
			pm_config_compare(&config, &now, PM_CONFIG_RESTART, names),
			row->restart[0] != 0);
		assert_string_equal(names, row->restart);
		pm_config_take_live(&config, &now);
		assert_false(pm_config_compare(&config, &now, PM_CONFIG_LIVE, names));
		pm_config_compare(&config, &now, PM_CONFIG_RESTART, names);
		assert_string_equal(names, row->restart);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	     cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_early_repair), cmocka_unit_test(test_bad),
		cmocka_unit_test(test_files),	     cmocka_unit_test(test_roles),
		cmocka_unit_test(test_prometheus),   cmocka_unit_test(test_shadow),
		cmocka_unit_test(test_rebalance),    cmocka_unit_test(test_compare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
