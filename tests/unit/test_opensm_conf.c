/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "unit.h"

#include <portmajor/files/opensm_conf.h>

#include <unistd.h>

/* The value that counts for the key `k` in a text. */
static const struct {
	const char *name, *text;
	const char *value; /* NULL: none */
	unsigned int line; /* of the item that counts, 0: there is none */
} rows[] = {
	{"empty", "", NULL, 0},
	{"another key", "kk 1\n", NULL, 0},
	{"plain", "k 1\n", "1", 1},
	{"no line end", "a b\nk 1", "1", 2},
	{"tab", "\tk\t1\t\n", "1", 1},
	{"line of DOS", "k 1\r\n", "1", 1},
	{"comment behind", "k 1 # 2\n", "1", 1},
	{"comment close behind", "k 1#2\n", "1", 1},
	{"commented out", "#k 1\n", NULL, 0},
	{"no value", "k\n", NULL, 1},
	{"blank value", "k  \n", NULL, 1},
	{"null", "k (null)\n", NULL, 1},
	{"several words", "k a  b c \n", "a  b c", 1},
	{"quotes", "k \"a b \"\n", "a b ", 1},
	{"single quotes", "k 'a'\n", "a", 1},
	{"unlike quotes", "k 'a\"\n", "'a\"", 1},
	{"one quote", "k \"\n", "\"", 1},
	{"nothing in quotes", "k \"\"\n", NULL, 1},
	{"the last one counts", "k 1\nk 2\n\n", "2", 2},
	{"the last one counts, empty", "k 1\nk\n", NULL, 2},
};

static void test_values(void **state)
{
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct pm_opensm_conf_item *item;
		struct pm_opensm_conf conf = {0};
		const char *value;

		assert_int_equal(pm_opensm_conf_parse(rows[i].text, "x", &conf, NULL), 0);
		item = pm_opensm_conf_find(&conf, "k");
		value = pm_opensm_conf_value(&conf, "k");
		if ((item ? item->line : 0) != rows[i].line || !value != !rows[i].value ||
		    (value && strcmp(value, rows[i].value) != 0))
			fail_msg("%s: line %u \"%s\"", rows[i].name,
				 item ? item->line : 0, value ? value : "(none)");
		pm_opensm_conf_free(&conf);
	}
}

static void test_long_lines(void **state)
{
	char text[PM_OPENSM_CONF_LINE + 8] = "a 1\nk ";
	struct pm_opensm_conf conf = {0};
	struct pm_error err = {""};

	memset(text + 6, 'x', PM_OPENSM_CONF_LINE - 2); /* one byte more than is read */
	assert_int_equal(pm_opensm_conf_parse(text, "sm", &conf, &err), -EINVAL);
	assert_int_equal(strncmp(err.text, "sm:2: ", 6), 0);
	assert_null(conf.items);
	text[6 + PM_OPENSM_CONF_LINE - 2 - 1] = '\0';
	assert_int_equal(pm_opensm_conf_parse(text, "sm", &conf, &err), 0);
	pm_opensm_conf_free(&conf);
}

static void write_file(char *path, const char *bytes, size_t length)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), length);
	close(fd);
}

static void test_files(void **state)
{
	char good[] = "/tmp/portmajor-smconf-XXXXXX";
	char nul[] = "/tmp/portmajor-smconf-XXXXXX";
	struct pm_opensm_conf conf = {0};
	struct pm_error err = {""};

	write_file(good, "k 1\n", 4);
	assert_int_equal(pm_opensm_conf_read(good, &conf, &err), 0);
	assert_string_equal(pm_opensm_conf_value(&conf, "k"), "1");
	pm_opensm_conf_free(&conf);
	unlink(good);
	assert_int_equal(pm_opensm_conf_read(good, &conf, &err), -ENOENT);
	assert_non_null(strstr(err.text, good));
	write_file(nul, "k 1\0\n", 5);
	assert_int_equal(pm_opensm_conf_read(nul, &conf, &err), -EINVAL);
	assert_non_null(strstr(err.text, "not a text file"));
	unlink(nul);
	assert_int_equal(pm_opensm_conf_read("/tmp", &conf, &err), -EISDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
