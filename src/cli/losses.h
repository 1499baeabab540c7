/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What can be lost, as `portmajor whatif` is told: by name, or every one of a kind. A
 * loss is a list of ports of the fabric whose cables go.
 */
#ifndef PORTMAJOR_CLI_LOSSES_H
#define PORTMAJOR_CLI_LOSSES_H

#include <portmajor/plan.h>

#include <jansson.h>

/* Ports of a fabric; zeroed: none. The list is freed with free(). */
struct cli_ports {
	uint32_t *list;
	uint32_t num, room;
};

/*
 * Adds what a text names, as one port for each thing: port 0 of a node, or the port of a
 * cable. `option` is what the text was given with, for messages; otherwise as
 * cli_losses_add.
 */
int cli_losses_find(const struct pm_fabric *fabric, const struct pm_plan *plan,
		    const char *option, const char *text, struct cli_ports *ports);

/*
 * Adds what a text names: all cables of a node or, with ":PORT" behind it, that one. A
 * node is named by its name, a pattern with * and ? (all nodes that match), its GUID or
 * a port's ("0x..."), or a LID ("lid:N", or N alone), which the fabric's ports have or,
 * if none has one, the plan gives them. The name of a node goes before all else. An exit
 * status, with a message unless it is EXIT_FINE.
 */
int cli_losses_add(const struct pm_fabric *fabric, const struct pm_plan *plan,
		   const char *text, struct cli_ports *ports);

enum cli_kind {
	CLI_LINKS,    /* cables between switches */
	CLI_SWITCHES, /* all */
	CLI_LEAVES,
	CLI_SPINES, /* switches of the highest level */
	CLI_HOSTS,  /* end nodes */
	CLI_KINDS,
};

const char *cli_kind_name(enum cli_kind kind);
/* -1: no such kind. */
int cli_kind_parse(const char *name, enum cli_kind *kind);

/* Everything of a kind, or every pair of it, numbered from 0. */
struct cli_losses {
	const struct pm_fabric *fabric; /* borrowed */
	enum cli_kind kind;
	bool pairs;
	uint32_t *element; /* nodes, or ports that have the lower number of a cable's */
	uint32_t num_elements;
	uint64_t count; /* of losses */
};

/* All of a kind there is; an exit status. The caller frees it. */
int cli_losses_list(const struct pm_fabric *fabric, const struct pm_plan *plan,
		    enum cli_kind kind, bool pairs, struct cli_losses *losses);
void cli_losses_free(struct cli_losses *losses);

/* Adds the ports of a loss, by its number; -1 without memory. */
int cli_losses_ports(const struct cli_losses *losses, uint64_t number,
		     struct cli_ports *ports);

/* Names a cable, by the port at either end ("leaf5[20]-s1-line0[6]", as in the plugin's
 * log), and a node. NULL without memory. */
json_t *cli_link_json(const struct pm_fabric *fabric, uint32_t port);
json_t *cli_node_json(const struct pm_fabric *fabric, uint32_t node);

/* Names a loss: an array of one or two objects. NULL without memory. */
json_t *cli_losses_json(const struct cli_losses *losses, uint64_t number);

#endif
