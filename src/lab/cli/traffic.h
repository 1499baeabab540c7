/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engines of `portmajor-lab traffic`; each has options of its own. */
#ifndef PORTMAJOR_CLI_TRAFFIC_H
#define PORTMAJOR_CLI_TRAFFIC_H

#include "options.h"
#include "output.h"

#include <jansson.h>

enum traffic_engine {
	TRAFFIC_CUTOFF,
	TRAFFIC_PACKET,
	TRAFFIC_FLIT,
	TRAFFIC_SHARE,
	TRAFFIC_ENGINES,
};

#define TRAFFIC_NAMES "cutoff|packet|flit|share"

/* The engine of this name; -1, with a message: there is none. */
int traffic_find_engine(const char *name);

int traffic_cutoff(int argc, char **argv);
int traffic_packet(int argc, char **argv);
int traffic_flit(int argc, char **argv);
int traffic_share(int argc, char **argv);

/*
 * Prints an engine's object with the results of all its runs, one for each load and seed,
 * and takes over the object. The exit status is that of the engine.
 */
int traffic_flit_print(json_t *object, const json_t *runs,
		       const struct cli_output *output);
/* The same without printing: the whole object. */
json_t *traffic_packet_describe(json_t *object, const json_t *runs, int *status);
int traffic_packet_print(json_t *object, const json_t *runs,
			 const struct cli_output *output);

/* Their options and operands. */
extern const struct cli_command traffic_cutoff_command;
extern const struct cli_command traffic_packet_command;
extern const struct cli_command traffic_flit_command;
extern const struct cli_command traffic_share_command;

/* The row for --engine in the table of this engine. */
#define TRAFFIC_ENGINE_ROW(engine)                                                       \
	{                                                                                \
		0, "engine", "ENGINE",                                                   \
			"The engine: cutoff, packet, flit or share; each has its own "   \
			"options. Default: the engine that has most of the given "       \
			"options, the first of these if there are several.",             \
			.take = traffic_take_engine, .low = (engine),                    \
			.values = TRAFFIC_NAMES                                          \
	}
int traffic_take_engine(const struct cli_option *option, char *argument, void *to);

#endif
