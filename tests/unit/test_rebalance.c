/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "unit.h"

#include <portmajor/base/print.h>
#include <portmajor/files/rebalance.h>

#include <unistd.h>

#define BAD_RATE "rate must be 1 to 1000000 blocks per second, not "

static const struct {
	const char *name, *text;
	uint32_t rate;
	const char *message; /* NULL: it is good */
} rows[] = {
	{"empty", "", 0, NULL},
	{"blank lines", "\n \t\r\n", 0, NULL},
	{"comment", "# rate 5\n", 0, NULL},
	{"rate", "rate 500\n", 500, NULL},
	{"no line end, blanks", "  rate\t7 # why", 7, NULL},
	{"lines of DOS", "rate 12\r\n", 12, NULL},
	{"lowest", "rate 1", 1, NULL},
	{"highest", "rate 1000000", 1000000, NULL},
	{"too high", "\nrate 1000001", 0, "f:2: " BAD_RATE "\"1000001\""},
	{"none", "rate 0", 0, "f:1: " BAD_RATE "\"0\""},
	{"wraps", "rate 18446744073709551617", 0,
	 "f:1: " BAD_RATE "\"18446744073709551617\""},
	{"negative", "rate -1", 0, "f:1: " BAD_RATE "\"-1\""},
	{"unit", "rate 5/s", 0, "f:1: " BAD_RATE "\"5/s\""},
	{"colon", "rate 5:", 0, "f:1: " BAD_RATE "\"5:\""},
	{"no value", "rate", 0, "f:1: " BAD_RATE "\"\""},
	{"text behind", "rate 5 6", 0, "f:1: " BAD_RATE "\"5 6\""},
	{"twice", "rate 5\nrate 5", 0, "f:2: rate was given already"},
	{"unknown", "speed 5", 0, "f:1: unknown key \"speed\""},
};

static void test_parse(void **state)
{
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_rebalance request = {.rate = 3};
		struct pm_error err = {""};
		int rc = pm_rebalance_parse(rows[i].text, "f", &request, &err);

		if (rc != (rows[i].message ? -EINVAL : 0) ||
		    request.rate != (rows[i].message ? 3 : rows[i].rate) ||
		    strcmp(err.text, rows[i].message ? rows[i].message : "") != 0)
			fail_msg("%s: %d %u \"%s\"", rows[i].name, rc, request.rate,
				 err.text);
	}
}

static int print(FILE *file, const void *arg)
{
	pm_rebalance_print(arg, file);
	return 0;
}

/* What is printed is read. */
static void test_file(void **state)
{
	static const uint32_t rates[] = {0, 1, PM_REBALANCE_RATE_MAX};
	char path[] = "/tmp/portmajor-rebalance-XXXXXX";
	struct pm_rebalance request;
	struct pm_error err;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (size_t i = 0; i < LENGTH(rates); i++) {
		const struct pm_rebalance wanted = {rates[i]};
		char *text;
		size_t length;

		assert_int_equal(pm_text_print(print, &wanted, &text, &length), 0);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, text, length, 0), length);
		free(text);
		request.rate = 77;
		assert_int_equal(pm_rebalance_read(path, &request, &err), 0);
		assert_int_equal(request.rate, rates[i]);
	}
	close(fd);
	unlink(path);
	assert_int_equal(pm_rebalance_read(path, &request, &err), -ENOENT);
	assert_int_equal(pm_rebalance_read("/tmp", &request, &err), -EISDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
