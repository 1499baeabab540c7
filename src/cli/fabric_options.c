/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options and input of the commands that read a fabric. */
#include "fabric_options.h"

#include "output.h"

#include <portmajor/base/hash.h>
#include <portmajor/base/textfile.h>
#include <portmajor/files/config.h>
#include <portmajor/memory/xalloc.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int take_order(const struct cli_option *option, char *argument, void *to)
{
	(void)option;
	if (pm_lid_order_parse(argument, to))
		return cli_fail(EXIT_USAGE, "no lid_order \"%s\"", argument);
	return EXIT_FINE;
}

static int take_lmc(const struct cli_option *option, char *argument, void *to)
{
	struct cli_fabric *config = to;
	unsigned long lmc;

	(void)option;
	if (!cli_number(argument, 0, PM_MAX_LMC, &lmc))
		return cli_fail(EXIT_USAGE, "LMC is 0 to %d", PM_MAX_LMC);
	config->plan.lmc = (uint8_t)lmc;
	config->lmc_given = true;
	return EXIT_FINE;
}

const struct cli_option cli_node_options[] = {
	{0, "root_guid_file", "FILE", "The roots of the tree, as in opensm(8).",
	 CLI_MEMBER(struct cli_fabric, files.roots)},
	{0, "cn_guid_file", "FILE", "The compute nodes, as in opensm(8).",
	 CLI_MEMBER(struct cli_fabric, files.compute)},
	{0, "io_guid_file", "FILE", "The I/O nodes, as in opensm(8).",
	 CLI_MEMBER(struct cli_fabric, files.io)},
	{0, "config", "FILE", "A portmajor.conf(5), for its `role` lines.",
	 CLI_MEMBER(struct cli_fabric, config)},
	{0, "node-name-map", "FILE", "Names of nodes by GUID, as for infiniband-diags.",
	 CLI_MEMBER(struct cli_fabric, names)},
	{0},
};

const struct cli_option cli_fabric_options[] = {
	{'o', NULL, "ORDER",
	 "The order of LIDs: grouped (the default), leaf-major or port-major; "
	 "see portmajor.conf(5).",
	 take_order, offsetof(struct cli_fabric, plan.order),
	 .values = "grouped|leaf-major|port-major"},
	{'m', NULL, "LMC", "LMC of end ports, 0 to 3. Default 0.", take_lmc,
	 .values = "0|1|2|3"},
	{.include = cli_node_options},
	{0, "connect_roots", NULL,
	 "As in opensm(8): all switches that cables connect reach each other, "
	 "and so do service ports and other end ports without a path free of "
	 "credit loops. These paths may be part of a credit loop.",
	 CLI_MEMBER(struct cli_fabric, connect_roots)},
	{0},
};

/* Applies a line of a map, 0xGUID "NAME" or a comment. */
static int rename_one(struct pm_fabric *fabric, char *line, const char *path,
		      unsigned int number)
{
	char *at = line + strspn(line, " \t\r"), *end, *close;
	struct pm_error err;
	uint64_t guid;
	uint32_t node;

	for (const char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' && *c != '\t' && *c != '\r')
			return cli_fail(EXIT_INPUT, "%s:%u: not text: byte 0x%02x", path,
					number, (unsigned char)*c);
	if (!*at || *at == '#')
		return EXIT_FINE;
	guid = strtoull(at, &end, 16);
	end += strspn(end, " \t");
	close = *end == '"' ? strrchr(end + 1, '"') : NULL;
	if (end == at || !close)
		return cli_fail(EXIT_INPUT, "%s:%u: no 0xGUID \"NAME\"", path, number);
	*close = '\0';
	node = pm_fabric_find_guid(fabric, guid);
	if (node != PM_NONE && pm_fabric_rename(fabric, node, guid, end + 1, &err))
		return cli_fail(EXIT_INPUT, "%s:%u: %s", path, number, err.text);
	return EXIT_FINE;
}

/* Names nodes as the file of --node-name-map has it. */
static int rename_nodes(struct pm_fabric *fabric, const char *path)
{
	int status = EXIT_FINE;
	char *text = NULL, *copy, *rest, *line;
	struct pm_error err;
	size_t length = 0;

	if (pm_textfile_read(path, &text, &length, &err))
		return cli_refuse(&err);
	copy = rest = strndup(text ? text : "", length);
	if (!copy)
		pm_no_memory();
	if (strlen(copy) < length)
		status = cli_fail(EXIT_INPUT, "%s: not text: byte 0x00",
				  pm_textfile_name(path));
	for (unsigned int number = 1; !status && (line = strsep(&rest, "\n")); number++)
		status = rename_one(fabric, line, pm_textfile_name(path), number);
	free(copy);
	free(text);
	return status;
}

int cli_fabric_describe(struct pm_fabric *fabric, const struct cli_fabric *config)
{
	struct pm_role_files files = config->files;
	struct pm_roles roles = {0};
	struct pm_config plugin;
	struct pm_error err;

	pm_config_init(&plugin);
	if (config->config && pm_config_read(config->config, &plugin, &err))
		return cli_refuse(&err);
	files.rules = &plugin.roles;
	if (pm_roles_read(&files, &roles, &err))
		return cli_refuse(&err);
	pm_roles_apply(&roles, fabric);
	pm_roles_free(&roles);
	return config->names ? rename_nodes(fabric, config->names) : EXIT_FINE;
}

void cli_fabric_warn(const struct pm_netlist_notes *notes)
{
	uint32_t shown =
		notes->count < PM_NETLIST_NOTES ? notes->count : PM_NETLIST_NOTES;

	for (uint32_t i = 0; i < shown; i++)
		cli_fail(EXIT_FINE, "warning: %s", notes->first[i].text);
	if (shown < notes->count)
		cli_fail(EXIT_FINE, "warning: and %" PRIu32 " more",
			 notes->count - shown);
}

int cli_fabric_read(const char *path, const struct cli_fabric *config,
		    struct pm_fabric **fabric)
{
	struct pm_netlist_notes notes = {0};
	struct pm_error err;

	if (pm_netlist_read(path, fabric, &notes, &err))
		return cli_refuse(&err);
	cli_fabric_warn(&notes);
	if (config->notes)
		*config->notes = notes;
	return cli_fabric_describe(*fabric, config);
}

uint64_t cli_fabric_fingerprint(const struct pm_fabric *fabric)
{
	uint64_t hash = PM_HASH_START;

	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		const struct pm_node *n = &fabric->nodes[i];

		hash = pm_hash_number(hash, n->guid);
		hash = pm_hash_number(hash, (uint64_t)n->type << 16 |
						    (uint64_t)n->root << 8 |
						    n->num_ports);
	}
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		hash = pm_hash_number(hash, (uint64_t)fabric->ports[i].peer << 8 |
						    fabric->ports[i].host);
	return hash;
}
