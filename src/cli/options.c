/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_usage(int option, const char *usage)
{
	fputs(usage, option == 'h' ? stdout : stderr);
	return option == 'h' ? EXIT_FINE : EXIT_USAGE;
}

/* Deals with an option that many subcommands have; -1 if it is another one. */
static int take_common(int option, const struct cli_options *options)
{
	switch (option) {
	case 'J':
		options->output->json = true;
		return EXIT_FINE;
	case 'q':
		options->output->quiet = true;
		return EXIT_FINE;
	default:
		return options->fabric ? cli_fabric_option(option, options->fabric) : -1;
	}
}

int cli_options_read(int argc, char **argv, const struct cli_options *options,
		     void *request)
{
	int option, status;

	while ((option = getopt_long(argc, argv, options->short_options,
				     options->long_options, NULL)) != -1) {
		status = take_common(option, options);
		if (status < 0 && options->take)
			status = options->take(option, request);
		if (status < 0)
			return cli_usage(option, options->usage);
		if (status > 0)
			return status;
	}
	if (argc - optind < options->least || argc - optind > options->most)
		return cli_usage('?', options->usage);
	return -1;
}

bool cli_number(const char *text, unsigned long low, unsigned long high,
		unsigned long *value)
{
	char *end;

	errno = 0;
	*value = strtoul(text, &end, 0);
	return !errno && end != text && !*end && !strchr(text, '-') && *value >= low &&
	       *value <= high;
}
