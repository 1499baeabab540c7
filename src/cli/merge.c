/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The merge command of a program: its options, and the files to read. */
#include "merge.h"

#include "options.h"

#include <getopt.h>
#include <limits.h>
#include <string.h>

static int add_file(const struct cli_merge *merge, void *whole, const char *path)
{
	json_error_t error;
	json_t *object = strcmp(path, "-") ? json_load_file(path, 0, &error)
					   : json_loadf(stdin, 0, &error);
	int status;

	if (!object)
		return error.line > 0 ? cli_fail(EXIT_INPUT, "%s:%d: %s", path,
						 error.line, error.text)
				      : cli_fail(EXIT_INPUT, "%s: %s", path, error.text);
	status = merge->add(whole, object, path);
	json_decref(object);
	return status;
}

static const struct cli_option options[] = {
	{'q', "quiet", NULL, "Print no text.", CLI_MEMBER(struct cli_output, quiet)},
	{0, "json", NULL, "Print one JSON object (docs/json.md), as without --shard.",
	 CLI_MEMBER(struct cli_output, json)},
	{0},
};

int cli_merge_run(const struct cli_merge *merge, void *whole, int argc, char **argv)
{
	const struct cli_command command = {
		.synopsis = "merge [OPTION]... FILE...",
		.about = merge->about,
		.options = options,
		.min_operands = 1,
		.max_operands = INT_MAX,
	};
	struct cli_output output = {0};
	int status = cli_command_read(&command, argc, argv, &output);

	if (status >= 0)
		return status;
	status = EXIT_FINE;
	for (int i = optind; i < argc && !status; i++)
		status = add_file(merge, whole, argv[i]);
	return status ? status : merge->print(whole, &output);
}
