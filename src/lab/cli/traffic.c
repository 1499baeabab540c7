/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the engine of `portmajor-lab traffic`. */
#include "lists.h"
#include "traffic.h"

int traffic_find_engine(const char *name)
{
	int engine = cli_find_word(TRAFFIC_NAMES, name);

	if (engine < 0)
		cli_fail(EXIT_USAGE, "--engine: no engine \"%s\"", name);
	return engine;
}

/* The engine was read before the options, and not abbreviated. */
int traffic_take_engine(const struct cli_option *option, char *argument, void *to)
{
	int engine = traffic_find_engine(argument);

	(void)to;
	if (engine < 0)
		return EXIT_USAGE;
	return (uint32_t)engine == option->low
		       ? EXIT_FINE
		       : cli_fail(EXIT_USAGE, "--engine is to be spelled out");
}
