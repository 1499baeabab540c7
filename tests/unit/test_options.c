/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The results of rows: options read, help, and a list for shells. */
#include "unit.h"

#include "../../src/cli/options.h"
#include "../../src/cli/output.h"

#include <unistd.h>

const char cli_program[] = "portmajor";

#define MAX_WORDS 8

struct shared {
	const char *file;
	bool deep;
};

struct request {
	bool flag;
	const char *text;
	struct shared shared;
	uint32_t number;
	unsigned int taken; /* how often -t was there */
};

static int take(const struct cli_option *option, char *argument, void *to)
{
	struct request *request = to;

	assert_string_equal(option->name, "take");
	request->taken++;
	return strcmp(argument, "bad") ? EXIT_FINE : EXIT_INPUT;
}

static const struct cli_option shared_options[] = {
	{0, "file", "FILE", "shared", CLI_MEMBER(struct shared, file)},
	{'d', NULL, NULL, "as well", CLI_MEMBER(struct shared, deep)},
	{0},
};

static const struct cli_option rows[] = {
	{'f', "flag", NULL, "a flag", CLI_MEMBER(struct request, flag)},
	{'x', NULL, "TEXT", "a text", CLI_MEMBER(struct request, text)},
	CLI_INCLUDE(struct request, shared, shared_options),
	{'n', "number", "N",
	 "a number, with help that is longer than a line of it has room for, and so is "
	 "broken",
	 CLI_MEMBER(struct request, number), .low = 2, .high = 9},
	{'t', "take", "THIS", "or that", .take = take, .values = "this|bad"},
	{0},
};

static const struct cli_command command = {
	.synopsis = "try ONE\ntry ONE TWO",
	.about = "Tries.\n  As it is.",
	.options = rows,
	.min_operands = 1,
	.max_operands = 2,
};

/* The text on a stream while a command line was read; both streams are restored. */
struct caught {
	int status, operands;
	char *out, *err;
};

static char *slurp(FILE *file)
{
	char *text = calloc(1, 4096);

	assert_non_null(text);
	rewind(file);
	assert_true(fread(text, 1, 4095, file) < 4095);
	fclose(file);
	return text;
}

static int divert(FILE *stream, FILE *to)
{
	int kept = dup(fileno(stream));

	fflush(stream);
	assert_true(kept >= 0 && dup2(fileno(to), fileno(stream)) >= 0);
	return kept;
}

static void restore(FILE *stream, int kept)
{
	fflush(stream);
	assert_true(dup2(kept, fileno(stream)) >= 0);
	close(kept);
}

/* Reads "try WORD WORD.." with words that are separated by blanks. */
static struct caught read_words(const char *words, struct request *request)
{
	static char line[200];
	char *argv[MAX_WORDS + 2] = {"try"}, *rest = line, *word;
	FILE *out = tmpfile(), *err = tmpfile();
	struct caught caught;
	int argc = 1, kept_out, kept_err;

	assert_non_null(out);
	assert_non_null(err);
	snprintf(line, sizeof(line), "%s", words);
	while ((word = strsep(&rest, " ")))
		if (*word)
			argv[argc++] = word;
	kept_out = divert(stdout, out);
	kept_err = divert(stderr, err);
	caught.status = cli_command_read(&command, argc, argv, request);
	caught.operands = argc - optind;
	restore(stdout, kept_out);
	restore(stderr, kept_err);
	caught.out = slurp(out);
	caught.err = slurp(err);
	return caught;
}

static void free_caught(struct caught *caught)
{
	free(caught->out);
	free(caught->err);
}

static const char *shown(const char *text)
{
	return text ? text : "-";
}

static void test_read(void **state)
{
	static const struct {
		const char *words;
		int status;
		const char *result; /* flag, text, file, deep, number, taken, operands */
		const char *message;
	} table[] = {
		{"a", -1, "0 - - 0 0 0 1", ""},
		{"-f a b", -1, "1 - - 0 0 0 2", ""},
		{"a --flag b", -1, "1 - - 0 0 0 2", ""},
		{"-x y a", -1, "0 y - 0 0 0 1", ""},
		{"-xy -f a", -1, "1 y - 0 0 0 1", ""},
		{"--file=z -d a", -1, "0 - z 1 0 0 1", ""},
		{"--file y --file z a", -1, "0 - z 0 0 0 1", ""},
		{"-fdn9 a", -1, "1 - - 1 9 0 1", ""},
		{"--number 2 a", -1, "0 - - 0 2 0 1", ""},
		{"--num 0x3 a", -1, "0 - - 0 3 0 1", ""},
		{"-- -f", -1, "0 - - 0 0 0 1", ""},
		{"-t x --take y a", -1, "0 - - 0 0 2 1", ""},
		{"-n 1 a", EXIT_USAGE, NULL, "--number 1: not a number from 2 to 9"},
		{"-n 10 a", EXIT_USAGE, NULL, "--number 10: not a number from 2 to 9"},
		{"-n -3 a", EXIT_USAGE, NULL, "--number -3: not a number from 2 to 9"},
		{"-n 3x a", EXIT_USAGE, NULL, "--number 3x: not a number from 2 to 9"},
		{"-t bad -n 1 a", EXIT_INPUT, NULL, ""},
		{"", EXIT_USAGE, NULL, "usage: portmajor try ONE"},
		{"a b c", EXIT_USAGE, NULL, "usage: portmajor try ONE"},
		{"-y a", EXIT_USAGE, NULL, "portmajor: try: invalid option -y\n"},
		{"-\xc3\xa9 a", EXIT_USAGE, NULL, "portmajor: try: invalid option -?\n"},
		{"--no\x1b a", EXIT_USAGE, NULL,
		 "portmajor: try: option \"--no?\" is unknown or ambiguous\n"},
		{"--flag=1 a", EXIT_USAGE, NULL,
		 "portmajor: try: option \"--flag=1\" takes no argument\n"},
		{"a --number", EXIT_USAGE, NULL,
		 "portmajor: try: option \"--number\" needs an argument\n"},
		{"a -n", EXIT_USAGE, NULL,
		 "portmajor: try: option -n needs an argument\n"},
		{"a -x", EXIT_USAGE, NULL, "usage: portmajor try ONE"},
		{"a --list-options", EXIT_USAGE, NULL, "usage: portmajor try ONE"},
	};

	for (size_t i = 0; i < LENGTH(table); i++) {
		struct request r = {0};
		struct caught caught = read_words(table[i].words, &r);
		char result[100];

		snprintf(result, sizeof(result), "%d %s %s %d %u %u %d", r.flag,
			 shown(r.text), shown(r.shared.file), r.shared.deep, r.number,
			 r.taken, caught.operands);
		if (caught.status != table[i].status ||
		    (table[i].result && strcmp(result, table[i].result) != 0) ||
		    !strstr(caught.err, table[i].message))
			fail_msg("\"%s\": status %d, %s; %s", table[i].words,
				 caught.status, result, caught.err);
		assert_string_equal(caught.out, "");
		free_caught(&caught);
	}
}

static void test_answers(void **state)
{
	static const char help[] =
		"usage: portmajor try ONE\n"
		"       portmajor try ONE TWO\n"
		"\n"
		"Tries.\n"
		"  As it is.\n"
		"\n"
		"  -f, --flag          a flag\n"
		"  -x TEXT             a text\n"
		"      --file FILE     shared\n"
		"  -d                  as well\n"
		"  -n, --number N      a number, with help that is "
		"longer than a line of it has\n"
		"                      room for, and so is broken\n"
		"  -t, --take THIS     or that\n"
		"  -h, --help          Print help and exit with status 0.\n"
		"  -V, --version       Print the version and exit with status 0.\n";
	static const char list[] =
		"-f\n--flag\n-x TEXT\n--file FILE\n-d\n-n N\n--number N\n"
		"-t this|bad\n--take this|bad\n-h\n--help\n-V\n--version\n";
	static const struct {
		const char *words, *out;
	} table[] = {
		{"-h", help},
		{"a -f --help b c", help},
		{"-V -n 1", "portmajor " PORTMAJOR_VERSION "\n"},
		{"--list-options", list},
	};

	for (size_t i = 0; i < LENGTH(table); i++) {
		struct request r = {0};
		struct caught caught = read_words(table[i].words, &r);

		assert_int_equal(caught.status, EXIT_FINE);
		assert_string_equal(caught.out, table[i].out);
		assert_string_equal(caught.err, "");
		free_caught(&caught);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
