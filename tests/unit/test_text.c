/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Members of an object in text: each kind, there, missing and of another type. */
#include "unit.h"

#include "../../src/cli/output.h"
#include "../../src/cli/text.h"

#include <unistd.h>

const char cli_program[] = "portmajor";

static const char object[] =
	"{\"name\": \"a\\u001b[31m\\tb\\u007f\", \"n\": -7, \"r\": 2.25, \"none\": null, \"one\": 1,"
	" \"list\": [4, 5, 6], \"in\": {\"deep\": {\"n\": 9007199254740993}}, \"t\": 86399,"
	" \"s\": {\"a\": 0.0001, \"b\": 0.012345, \"c\": 4.5678e-5, \"d\": 0.05, \"e\": 0.09999,"
	" \"f\": 0.125, \"g\": -0.001234}}";

static const struct row {
	const char *text, *printed;
} rows[] = {
	{"", ""},
	{"plain, 100%, %s and }\n", "plain, 100%, %s and }\n"},
	{"{name}", "a?[31m?b?"},
	{"<{n}>{n}", "<-7>-7"},
	{"{#n} {%n} {%r}", "-7 -7.0 2.2"},
	{"{in.deep.n}.", "9007199254740993."},
	{"{#list} of {#in.deep.n}", "3 of 9007199254740993"},
	{"{@t}", "1970-01-01 23:59:59"},
	{"{no} {none} {r} {list} {in}", "? - ? ? ?"},
	{"{4none} {%none} {5%%none}", "   - -     -"},
	{"{none.r} {6%%%none.in.r}", "-      -"},
	{"{n|cable|cables} {#list|cable|cables}, {one|switch|switches} {#no|x|y}",
	 "-7 cables 3 cables, 1 switch 0 y"},
	{"{no.deep} {name.n} {in.no.n}", "? ? ?"},
	{"{#no} {#name} {#r} {#in}", "0 0 0 0"},
	{"{%no} {%name}", "0.0 0.0"},
	{"{%%r} {%%%r} {%%n} {%%no}", "2.25 2.250 -7.00 0.00"},
	{"{4n} {1n} {3#list}{6%r}{7%%r}|{4#no}", "  -7 -7   3   2.2   2.25|   0"},
	{"{6in.deep.n} {9name}", "9007199254740993 a?[31m?b?"},
	{"{~%%r} {~%%%r} {~%n} {~%no} {6~%%none}", "2.25 2.250 -7.0 0.0      -"},
	{"{~%%%s.a} {~%%%s.b} {~%%%s.c} {9~%%s.d}", "0.0001 0.0123 0.0000457      0.05"},
	{"{~%%%s.e} {~%%s.f} {~%%s.g}", "0.100 0.125 -0.00123"},
	{"{@no}", "1970-01-01 00:00:00"},
};

static void test_print(void **state)
{
	json_t *root = json_loads(object, 0, NULL);

	assert_non_null(root);
	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		char printed[200] = "";
		FILE *file = tmpfile();
		int kept = dup(STDOUT_FILENO);

		assert_non_null(file);
		fflush(stdout);
		assert_true(kept >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
		cli_text_print(root, rows[i].text);
		fflush(stdout);
		assert_true(dup2(kept, STDOUT_FILENO) >= 0);
		close(kept);
		rewind(file);
		assert_true(fread(printed, 1, sizeof(printed) - 1, file) <
			    sizeof(printed) - 1);
		fclose(file);
		if (strcmp(printed, rows[i].printed) != 0)
			fail_msg("\"%s\" became \"%s\", not \"%s\"", rows[i].text,
				 printed, rows[i].printed);
	}
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
