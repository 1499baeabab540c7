/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of names, short: their form, and that no name is lost or made up. */
#include "unit.h"

#include "../../src/cli/output.h"
#include "../../src/cli/export/hostlist.h"

#include <portmajor/base/random.h>

const char cli_program[] = "portmajor";

#define MAX_NAMES 64
#define TEXT 4096

/* The list of names in words, separated by blanks. */
static void print_words(const char *words, char printed[TEXT])
{
	const char *names[MAX_NAMES];
	char copy[TEXT], *rest = copy;
	uint32_t num = 0;
	FILE *out = fmemopen(printed, TEXT, "w");

	assert_non_null(out);
	snprintf(copy, sizeof(copy), "%s", words);
	for (char *word; (word = strsep(&rest, " ")) != NULL;)
		if (*word)
			names[num++] = word;
	cli_hostlist_print(out, names, num);
	fputc('\0', out);
	fclose(out);
}

static const struct row {
	const char *names, *printed;
} rows[] = {
	{"", ""},
	{"leaf0", "leaf0"},
	{"a a a", "a"},
	{"h3 h1 h2", "h[1-3]"},
	{"h10 h8 h9", "h[8-10]"},
	{"h10 h08 h09", "h[08-10]"},
	{"h10 h08 h9", "h[9,08,10]"},
	{"h099 h100 h101", "h[099-101]"},
	{"h1 h3 h5 h6", "h[1,3,5-6]"},
	{"h1 h01 h001", "h[1,01,001]"},
	{"h0-2 h0-1 h1-1", "h0-[1-2],h1-1"},
	{"b a 7 6", "[6-7],a,b"},
	{"x1y x2y x", "x,x1y,x2y"},
	{"n1 n n2", "n,n[1-2]"},
	{"h h0 h1 hh0", "h,h[0-1],hh0"},
	{"n999999999 n1000000000 n1000000001", "n999999999,n1[000000000-000000001]"},
	{"n4294967295 n4294967296", "n4[294967295-294967296]"},
};

static void test_rows(void **state)
{
	char printed[TEXT];

	for_each_row(row, rows) {
		print_words(row->names, printed);
		assert_string_equal(printed, row->printed);
	}
}

/* Adds the names of a list, a blank behind each. */
static void expand(const char *list, char *names)
{
	while (*list) {
		size_t prefix = strcspn(list, "[,"), length;

		if (list[prefix] != '[') {
			names += sprintf(names, "%.*s ", (int)prefix, list);
			list += prefix + (list[prefix] == ',');
			continue;
		}
		for (const char *at = list + prefix; *at != ']'; at += length) {
			char *end;
			unsigned long first = strtoul(++at, &end, 10), last = first;
			int digits = (int)(end - at);

			if (*end == '-')
				last = strtoul(end + 1, &end, 10);
			for (; first <= last; first++)
				names += sprintf(names, "%.*s%0*lu ", (int)prefix, list,
						 digits, first);
			length = (size_t)(end - at);
		}
		list = strchr(list, ']') + 1;
		list += *list == ',';
	}
}

static int compare_words(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The words of a text, sorted and once each. */
static void sort_words(char *text, char sorted[TEXT])
{
	char *words[MAX_NAMES * 2] = {NULL};
	size_t num = 0;

	for (char *word; (word = strsep(&text, " ")) != NULL;)
		if (*word)
			words[num++] = word;
	qsort(words, num, sizeof(*words), compare_words);
	*sorted = '\0';
	for (size_t i = 0; i < num; i++)
		if (!i || strcmp(words[i], words[i - 1]) != 0)
			sorted += sprintf(sorted, "%s ", words[i]);
}

/* All names come out again. */
static void test_random(void **state)
{
	static const char *const prefixes[] = {"", "n", "n0", "n-"};
	uint64_t random = 7;
	char words[TEXT], printed[TEXT], names[TEXT], sorted[2][TEXT];

	for (int round = 0; round < 2000; round++) {
		uint32_t num = 1 + (uint32_t)(pm_random_next(&random) % (MAX_NAMES - 1));
		char *end = words;

		for (uint32_t i = 0; i < num; i++)
			end += sprintf(end, "%s%0*u ",
				       prefixes[pm_random_next(&random) % 4],
				       (int)(pm_random_next(&random) % 4),
				       (uint32_t)(pm_random_next(&random) % 120));
		print_words(words, printed);
		expand(printed, names);
		sort_words(words, sorted[0]);
		sort_words(names, sorted[1]);
		assert_string_equal(sorted[0], sorted[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
