/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * portmajor-vlan lldp: compares the cables of an Ethernet, as its nodes see their
 * neighbours, with the netlist.
 */
#include "json.h"
#include "lldp.h"
#include "port_names.h"
#include "text.h"
#include "vlan_commands.h"

#include <portmajor/memory/xalloc.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX ".json"

struct request {
	struct cli_fabric fabric;
	const char *ports; /* pattern of port names */
	char **files;
	int num_files;
	struct cli_output output;
};

/* What is known of the neighbour at a port. */
enum hearing { NOT_READ, SILENT, HEARD, OTHER };

struct cabling {
	const char *pattern;
	struct pm_fabric *fabric;
	uint8_t *node;	  /* [node] 1: its file was read */
	uint8_t *hearing; /* [port] enum hearing */
	json_t *findings;
	uint32_t elsewhere; /* neighbours that are not in the netlist */
};

/* ---- Names ---- */

/* The node with this name, with or without its domains; or PM_NONE. */
static uint32_t find_heard(const struct pm_fabric *fabric, const char *name)
{
	char *text = strdup(name), *dot = text;
	uint32_t node = PM_NONE;

	if (!text)
		pm_no_memory();
	while (dot && node == PM_NONE) {
		node = pm_fabric_find_name(fabric, text);
		dot = strrchr(text, '.');
		if (dot)
			*dot = '\0';
	}
	free(text);
	return node;
}

static bool is_switch(const struct cabling *c, uint32_t node)
{
	return node < c->fabric->num_switches;
}

/* The switch's port with this name, or PM_NONE. */
static uint32_t find_port(const struct cabling *c, uint32_t sw, const char *name)
{
	uint32_t found = PM_NONE;

	pm_for_each_port(i, c->fabric, sw) {
		char *text = cli_port_name(c->fabric, i, c->pattern);

		if (!strcmp(text, name))
			found = i;
		free(text);
	}
	return found;
}

/* "leaf0 swp3"; for a host only its name, as hosts name their devices in many ways. */
static char *end_name(const struct cabling *c, uint32_t port)
{
	uint32_t node = c->fabric->ports[port].node;
	char *name =
		is_switch(c, node) ? cli_port_name(c->fabric, port, c->pattern) : NULL;
	char *text = cli_text_make("%s%s%s", pm_fabric_name(c->fabric, node),
				   name ? " " : "", name ? name : "");

	free(name);
	return text;
}

static char *neighbour_name(const struct lldp_neighbour *n)
{
	return cli_text_make("%s%s%s", n->name ? n->name : n->id, *n->port ? " " : "",
			     n->port);
}

/* ---- Findings ---- */

/* Adds a finding; both texts may be NULL. */
static void add_cable_finding(struct cabling *c, const char *kind, uint32_t node,
			      const char *interface, const char *expected,
			      const char *heard)
{
	c->findings = pm_json_append(
		c->findings,
		json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", kind, "name",
			  pm_json_text(pm_fabric_name(c->fabric, node)), "interface",
			  pm_json_text(interface), "netlist", pm_json_text(expected),
			  "heard", pm_json_text(heard)));
}

/* Whether a neighbour is the node at a port: by name, for switches also by port name. */
static bool is_peer(const struct cabling *c, uint32_t peer,
		    const struct lldp_neighbour *n)
{
	uint32_t node = c->fabric->ports[peer].node;

	return n->name && find_heard(c->fabric, n->name) == node &&
	       (!is_switch(c, node) || find_port(c, node, n->port) == peer);
}

static void compare_port(struct cabling *c, uint32_t port, const struct lldp_neighbour *n)
{
	uint32_t peer = c->fabric->ports[port].peer;
	char *heard, *expected;

	if (peer != PM_NONE && is_peer(c, peer, n)) {
		if (c->hearing[port] == SILENT)
			c->hearing[port] = HEARD;
		return;
	}
	heard = neighbour_name(n);
	expected = peer == PM_NONE ? NULL : end_name(c, peer);
	c->hearing[port] = OTHER;
	add_cable_finding(c, expected ? "other" : "unexpected",
			  c->fabric->ports[port].node, n->interface, expected, heard);
	free(expected);
	free(heard);
}

/* A host's device may be at any of its cables. */
static void compare_host(struct cabling *c, uint32_t host, const struct lldp_neighbour *n)
{
	char *heard;

	pm_for_each_port(i, c->fabric, host) {
		uint32_t peer = c->fabric->ports[i].peer;

		if (peer != PM_NONE && is_peer(c, peer, n)) {
			c->hearing[i] = HEARD;
			return;
		}
	}
	if (!n->name || find_heard(c->fabric, n->name) == PM_NONE) {
		c->elsewhere++;
		return;
	}
	heard = neighbour_name(n);
	add_cable_finding(c, "unexpected", host, n->interface, NULL, heard);
	free(heard);
}

static void compare_neighbours(struct cabling *c, uint32_t node, const struct lldp *lldp)
{
	pm_for_each_port(i, c->fabric, node)
		c->hearing[i] = SILENT;
	for (uint32_t i = 0; i < lldp->num; i++) {
		const struct lldp_neighbour *n = &lldp->list[i];
		uint32_t port;

		if (!is_switch(c, node)) {
			compare_host(c, node, n);
			continue;
		}
		port = find_port(c, node, n->interface);
		if (port == PM_NONE)
			c->elsewhere++; /* such as a management port */
		else
			compare_port(c, port, n);
	}
}

/* One end that has the other as neighbour is enough: not all hosts send. */
static void find_missing(struct cabling *c)
{
	for (uint32_t port = 0; port < c->fabric->num_ports; port++) {
		uint32_t peer = c->fabric->ports[port].peer;
		char *expected, *interface;

		if (peer == PM_NONE || c->hearing[port] != SILENT ||
		    c->hearing[peer] == HEARD)
			continue;
		expected = end_name(c, peer);
		interface = is_switch(c, c->fabric->ports[port].node)
				    ? cli_port_name(c->fabric, port, c->pattern)
				    : NULL;
		add_cable_finding(c, "missing", c->fabric->ports[port].node, interface,
				  expected, NULL);
		free(interface);
		free(expected);
	}
}

/* ---- Files ---- */

/* The node that a file's name names. */
static int find_owner(const struct cabling *c, const char *path, uint32_t *node)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t length = strlen(base), suffix = strlen(SUFFIX);
	char *name;

	if (length <= suffix || strcmp(base + length - suffix, SUFFIX) != 0)
		return cli_fail(EXIT_INPUT, "%s: a file is called by its node, NAME%s",
				path, SUFFIX);
	name = strndup(base, length - suffix);
	if (!name)
		pm_no_memory();
	*node = find_heard(c->fabric, name);
	free(name);
	if (*node == PM_NONE)
		return cli_fail(EXIT_INPUT, "%s: the netlist has no such node", path);
	if (strcmp(pm_fabric_label(c->fabric, *node), pm_fabric_name(c->fabric, *node)))
		return cli_fail(EXIT_INPUT, "%s: several nodes have this name", path);
	if (c->node[*node]++)
		return cli_fail(EXIT_INPUT, "%s: a second file of this node", path);
	return EXIT_FINE;
}

static int take_file(struct cabling *c, const char *path)
{
	uint32_t node = PM_NONE;
	struct lldp lldp;
	int status = find_owner(c, path, &node);

	if (!status)
		status = lldp_read(path, &lldp);
	if (status)
		return status;
	compare_neighbours(c, node, &lldp);
	lldp_free(&lldp);
	return EXIT_FINE;
}

static int run_lldp(struct cabling *c, const struct request *request)
{
	int status = cli_port_pattern_check(request->ports);

	if (!status)
		status = cli_fabric_read(request->files[0], &request->fabric, &c->fabric);
	if (status)
		return status;
	c->node = pm_xarray(c->fabric->num_nodes, 1);
	c->hearing = pm_xarray(c->fabric->num_ports, 1);
	c->findings = json_array();
	for (int i = 1; i < request->num_files && !status; i++)
		status = take_file(c, request->files[i]);
	if (!status)
		find_missing(c);
	return status;
}

/* ---- Results ---- */

static json_t *describe_cabling(const struct cabling *c, const struct request *request)
{
	json_int_t cables = 0, heard = 0, unread = 0;

	for (uint32_t port = 0; port < c->fabric->num_ports; port++) {
		uint32_t peer = c->fabric->ports[port].peer;
		uint8_t one, other;

		if (peer == PM_NONE || peer < port)
			continue;
		one = c->hearing[port];
		other = c->hearing[peer];
		cables++;
		unread += one == NOT_READ && other == NOT_READ;
		heard += one != OTHER && other != OTHER &&
			 (one == HEARD || other == HEARD);
	}
	return cli_json_join(cli_json_new("lldp", 1),
			     json_pack("{s:O, s:i, s:I, s:I, s:I, s:I}", "findings",
				       c->findings, "files", request->num_files - 1,
				       "cables", cables, "heard", heard, "unread", unread,
				       "elsewhere", (json_int_t)c->elsewhere));
}

static void put(const json_t *finding, const char *member)
{
	const char *text = json_string_value(json_object_get(finding, member));

	cli_text_put(text ? text : "nobody");
}

static void print_finding(const json_t *finding)
{
	bool expected = json_is_string(json_object_get(finding, "netlist"));

	fputs("finding: ", stdout);
	put(finding, "name");
	if (json_is_string(json_object_get(finding, "interface"))) {
		putchar(' ');
		put(finding, "interface");
	}
	fputs(": hears ", stdout);
	put(finding, "heard");
	fputs(expected ? ", and in the netlist there is " : ", which the netlist has not",
	      stdout);
	if (expected)
		put(finding, "netlist");
	putchar('\n');
}

static int write_cabling(const struct cabling *c, const struct request *request)
{
	json_t *object = describe_cabling(c, request), *finding;
	size_t i;

	if (request->output.json)
		return cli_json_print(object);
	json_array_foreach(c->findings, i, finding)
		print_finding(finding);
	if (!request->output.quiet)
		cli_text_print(object, "{heard} of {cables} cables are heard as in the "
				       "netlist, {unread} have no file at either end; "
				       "{elsewhere|neighbour|neighbours} elsewhere\n");
	json_decref(object);
	return EXIT_FINE;
}

static const struct cli_option options[] = {
	{0, "port-names", "PATTERN",
	 "Switches' names of ports, such as eth1/{port} or {switch}-{port}. "
	 "Default swp{port}.",
	 CLI_MEMBER(struct request, ports)},
	CLI_OUTPUT(struct request, output, "Print findings only.",
		   "Print one JSON object (docs/json.md)."),
	{0},
};

static const struct cli_command command = {
	.synopsis = "lldp [OPTION]... NETLIST NODE.json...",
	.about = "Compare an Ethernet's cables with its netlist. Each file is the output "
		 "of `lldpctl -f json` on a switch or host, and has its name: "
		 "leaf0.json. Exit status 1 if a cable is missing or elsewhere.",
	.options = options,
	.min_operands = 2,
	.max_operands = INT32_MAX,
};

int cmd_lldp(int argc, char **argv)
{
	struct request request = {0};
	struct cabling c = {0};
	int status = cli_command_read(&command, argc, argv, &request);

	if (status >= 0)
		return status;
	request.files = argv + optind;
	request.num_files = argc - optind;
	c.pattern = request.ports;
	status = run_lldp(&c, &request);
	if (!status)
		status = write_cabling(&c, &request);
	if (!status && json_array_size(c.findings))
		status = EXIT_FINDINGS;
	json_decref(c.findings);
	free(c.hearing);
	free(c.node);
	pm_fabric_free(c.fabric);
	return status;
}
