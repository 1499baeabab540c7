/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the engine of `portmajor-lab traffic`. */
#include "traffic.h"

#include <string.h>

static const char *const names[TRAFFIC_ENGINES] = {
	[TRAFFIC_CUTOFF] = "cutoff",
	[TRAFFIC_PACKET] = "packet",
	[TRAFFIC_FLIT] = "flit",
	[TRAFFIC_SHARE] = "share",
};

const char *traffic_engine_name(enum traffic_engine engine)
{
	return names[engine];
}

int traffic_find_engine(const char *name)
{
	int i = 0;

	while (i < TRAFFIC_ENGINES && strcmp(name, names[i]) != 0)
		i++;
	if (i < TRAFFIC_ENGINES)
		return i;
	cli_fail(EXIT_USAGE, "--engine: no engine \"%s\"", name);
	return -1;
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
