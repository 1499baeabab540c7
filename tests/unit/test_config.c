/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

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

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_config config = {.lid_order = PM_LEAF_MAJOR, .migrate = true};
		struct pm_error err = {""};

		if (pm_config_parse(rows[i].text, "x", &config, &err) ||
		    config.lid_order != rows[i].order ||
		    config.migrate != rows[i].migrate)
			fail_msg("%s: %d \"%s\"", rows[i].name, config.lid_order,
				 err.text);
	}
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
	{"equals sign", "lid_order = grouped", ":1: ", {"behind the value", "lid_order"}},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct pm_config config = {.lid_order = PM_PORT_MAJOR, .migrate = true};
		struct pm_error err = {""};
		char start[64];
		int rc = pm_config_parse(bad[i].text, "pm.conf", &config, &err);

		snprintf(start, sizeof(start), "pm.conf%s", bad[i].start);
		if (rc != -EINVAL || strncmp(err.text, start, strlen(start)) ||
		    !strstr(err.text, bad[i].more[0]) ||
		    !strstr(err.text, bad[i].more[1]))
			fail_msg("%s: %d \"%s\"", bad[i].name, rc, err.text);
		assert_int_equal(config.lid_order, PM_PORT_MAJOR);
		assert_true(config.migrate);
		assert_int_equal(pm_config_parse(bad[i].text, "x", &config, NULL),
				 -EINVAL);
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

	(void)state;
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
	free(large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
