/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Kinds of failures, for options and in JSON. */
#ifndef PORTMAJOR_CLI_FAILURE_OPTIONS_H
#define PORTMAJOR_CLI_FAILURE_OPTIONS_H

#include "options.h"

#include <portmajor/analysis/failures.h>

#include <jansson.h>

/* Arguments of --fail; the list has room for all arguments of the command. */
struct cli_failed {
	char **list;
	uint32_t num;
};

/* For a row of --fail, or of another option with such a list. */
int cli_take_failed(const struct cli_option *option, char *argument, void *to);

#define CLI_FAIL(request, member, text)                                                  \
	{                                                                                \
		'F', "fail", "WHAT[:PORT]", text, .take = cli_take_failed,               \
						  .to = offsetof(request, member)        \
	}

/* A list of the texts. NULL without memory. */
json_t *cli_failed_json(const struct cli_failed *failed);

/* pm_failures_find, and pm_failures_add for each text of --fail; an exit status. */
int cli_failures_find(const struct pm_fabric *fabric, const struct pm_plan *plan,
		      const char *what, const char *text, struct pm_ports *ports);
int cli_failures_add(const struct pm_fabric *fabric, const struct pm_plan *plan,
		     const struct cli_failed *failed, struct pm_ports *ports);

/*
 * Notes on stderr the parts that an operand of `what` has matched, if they are several.
 */
void cli_failures_print(const struct pm_fabric *fabric, const char *what,
			const char *text, const struct pm_ports *things);

/* The same for each text of --fail; cli_failures_add reports errors. */
void cli_failed_print(const struct pm_fabric *fabric, const struct pm_plan *plan,
		      const struct cli_failed *failed);

/*
 * Makes a copy of the fabric without the failed parts, with the same indexes, for the
 * caller to free; an exit status.
 */
int cli_failures_cut(const struct pm_fabric *fabric, const struct pm_plan *plan,
		     const struct cli_failed *failed, struct pm_fabric **broken);

/*
 * Name a cable, by its port at either end ("leaf5[20]-s1-line0[6]", as in the plugin's
 * log), and a node; with a "label" if that is not the name (pm_fabric_label). NULL
 * without memory.
 */
json_t *cli_link_json(const struct pm_fabric *fabric, uint32_t port);
json_t *cli_node_json(const struct pm_fabric *fabric, uint32_t node);

/*
 * The nodes and cables named by --fail, each with its GUIDs, as a list; and the first few
 * of them as a line of text that begins with `what`. An exit status.
 */
int cli_took_json(const struct pm_fabric *fabric, const struct pm_plan *plan,
		  const struct cli_failed *failed, json_t **took);
void cli_took_print(const char *what, const json_t *took);

/* Names a failure, by an array of one or two objects. NULL without memory. */
json_t *cli_failures_json(const struct pm_failures *failures, uint64_t number);

#endif
