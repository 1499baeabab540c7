/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor traffic: what jobs would feel. --engine says by which model. */
#include "cli.h"
#include "traffic.h"

#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} engines[] = {
	{"flit", traffic_flit},
};

/* The last --engine ENGINE or --engine=ENGINE, or NULL. */
static const char *find_engine(int argc, char **argv)
{
	const char *engine = NULL;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (!strcmp(argv[i], "--engine") && i + 1 < argc)
			engine = argv[++i];
		else if (!strncmp(argv[i], "--engine=", 9))
			engine = argv[i] + 9;
	}
	return engine;
}

int cmd_traffic(int argc, char **argv)
{
	const char *engine = find_engine(argc, argv);

	for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++)
		if (!engine || !strcmp(engine, engines[i].name))
			return engines[i].run(argc, argv);
	return cli_fail(EXIT_USAGE, "--engine: no engine \"%s\"", engine);
}
