/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor whatif: the cost of a loss. */
#include "cli.h"

#include <portmajor/whatif.h>

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: portmajor whatif [OPTION]... NETLIST --lose NAME[:PORT]...\n"
	"\n"
	"Prints how many LFT blocks the subnet manager sends when something is lost\n"
	"from a fabric, an ibsim or ibnetdiscover file (- is standard "
	"input).\n" CLI_FABRIC_HELP "  -L, --lose NAME[:PORT]\n"
	"            a node, all its cables, or one cable; NAME may be a pattern\n"
	"            with * and ?, and stands for every node that it matches. May be\n"
	"            given several times: all of it is lost at once\n"
	"  -s, --sm NAME\n"
	"            the node with the subnet manager: what keeps it reachable from "
	"every\n"
	"            switch is counted too\n"
	"  -h        this help\n"
	"`bound` is the sum over switches of ceil(changed entries / 64).\n";

static void cut_node(struct pm_fabric *broken, uint32_t node)
{
	const struct pm_node *n = &broken->nodes[node];

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		pm_fabric_cut(broken, i);
}

/* Splits "NAME:PORT" unless a node has that whole name; *port is 0 without one. */
static bool split_loss(const struct pm_fabric *fabric, char *text, unsigned long *port)
{
	char *colon = strrchr(text, ':');

	*port = 0;
	if (!colon || pm_fabric_find_name(fabric, text) != PM_NONE)
		return true;
	if (!cli_number(colon + 1, 1, PM_MAX_PORTS, port))
		return false;
	*colon = '\0';
	return true;
}

/* Cuts what `text` names; an exit status. */
static int lose(const struct pm_fabric *fabric, struct pm_fabric *broken, char *text)
{
	unsigned long port;
	uint32_t found = 0;

	if (!split_loss(fabric, text, &port))
		return cli_fail(EXIT_USAGE, "--lose %s: no such port", text);
	for (uint32_t i = 0; i < fabric->num_nodes; i++) {
		const struct pm_node *n = &fabric->nodes[i];
		const char *name = pm_fabric_name(fabric, i);

		if (strcmp(name, text) && fnmatch(text, name, 0))
			continue;
		found++;
		if (!port) {
			cut_node(broken, i);
			continue;
		}
		if (port > n->num_ports ||
		    fabric->ports[n->first_port + port].peer == PM_NONE)
			return cli_fail(EXIT_USAGE,
					"--lose: \"%s\" has no cable at port %lu", name,
					port);
		pm_fabric_cut(broken, n->first_port + (uint32_t)port);
	}
	if (!found)
		return cli_fail(EXIT_USAGE, "--lose: no node is named \"%s\"", text);
	return EXIT_FINE;
}

static void print_row(const char *name, const struct pm_delta *delta)
{
	printf("%-10s %10llu %10llu %10llu %10llu\n", name,
	       (unsigned long long)delta->switches, (unsigned long long)delta->blocks,
	       (unsigned long long)delta->bound, (unsigned long long)delta->entries);
}

static void print_result(const struct pm_plan *plan,
			 const struct pm_whatif_result *result)
{
	printf("lid_order %s\n", pm_lid_order_name(plan->order));
	printf("%-10s %10s %10s %10s %10s\n", "", "switches", "blocks", "bound",
	       "entries");
	for (unsigned int level = 0;
	     level <= plan->tree.top_level && level < PM_WHATIF_LEVELS; level++) {
		char name[16] = "leaves";

		if (level)
			snprintf(name, sizeof(name), "level %u", level);
		print_row(name, &result->level[level]);
	}
	print_row("total", &result->total);
	printf("full load %llu blocks for %u switches; %u switches cut off; "
	       "%llu pairs of end ports cut\n",
	       (unsigned long long)result->full_load, result->switches,
	       result->switches_cut, (unsigned long long)result->pairs_cut);
}

/* The port that a subnet manager on this node would use; an exit status. */
static int find_manager(const struct pm_fabric *fabric, const char *name, uint32_t *port)
{
	uint32_t node = pm_fabric_find_name(fabric, name);
	const struct pm_node *n;

	if (node == PM_NONE)
		return cli_fail(EXIT_USAGE, "--sm: no node is named \"%s\"", name);
	n = &fabric->nodes[node];
	*port = n->first_port;
	if (node < fabric->num_switches)
		return EXIT_FINE;
	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++) {
		uint32_t peer = pm_fabric_peer_node(fabric, i);

		if (peer == PM_NONE || peer >= fabric->num_switches)
			continue;
		*port = i;
		return EXIT_FINE;
	}
	return cli_fail(EXIT_USAGE, "--sm: \"%s\" has no cable to a switch", name);
}

static int try_losses(const struct pm_fabric *fabric,
		      const struct pm_whatif_config *config, char **losses,
		      uint32_t num_losses)
{
	struct pm_fabric *broken = pm_fabric_clone(fabric);
	struct pm_whatif *whatif = NULL;
	struct pm_whatif_result result;
	struct pm_error err;
	int status = EXIT_FINE;

	if (!broken)
		return cli_fail(EXIT_INPUT, "out of memory");
	for (uint32_t i = 0; i < num_losses && !status; i++)
		status = lose(fabric, broken, losses[i]);
	if (status)
		goto out;
	if (pm_whatif_new(fabric, config, &whatif, &err) ||
	    pm_whatif_try(whatif, broken, &result, &err))
		status = cli_fail(EXIT_INPUT, "%s", err.text);
	else
		print_result(pm_whatif_plan(whatif), &result);
out:
	pm_whatif_free(whatif);
	pm_fabric_free(broken);
	return status;
}

/* What the options say. */
struct request {
	struct cli_fabric fabric;
	const char *manager;
	char **losses;
	uint32_t num_losses;
};

/* Reads the options; an exit status, or -1 to go on. */
static int read_options(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		CLI_FABRIC_LONG,
		{"lose", required_argument, NULL, 'L'},
		{"sm", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option, status;

	while ((option = getopt_long(argc, argv, "hs:L:" CLI_FABRIC_SHORT, options,
				     NULL)) != -1) {
		status = cli_fabric_option(option, &request->fabric);
		if (status > 0)
			return status;
		if (status == EXIT_FINE)
			continue;
		if (option == 'L') {
			request->losses[request->num_losses++] = optarg;
		} else if (option == 's') {
			request->manager = optarg;
		} else {
			fputs(usage, option == 'h' ? stdout : stderr);
			return option == 'h' ? EXIT_FINE : EXIT_USAGE;
		}
	}
	/* What follows --lose NAME are more names, up to the next option. */
	if (optind + 1 > argc || (!request->num_losses && optind + 1 == argc)) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	for (int i = optind + 1; i < argc; i++)
		request->losses[request->num_losses++] = argv[i];
	return -1;
}

static int run(const char *path, const struct request *request)
{
	struct pm_whatif_config config = {
		.plan = request->fabric.plan,
		.manager = PM_NONE,
		.connect_roots = request->fabric.connect_roots,
	};
	struct pm_fabric *fabric = NULL;
	int status = cli_fabric_read(path, &request->fabric, &fabric);

	if (!status && request->manager)
		status = find_manager(fabric, request->manager, &config.manager);
	if (!status)
		status =
			try_losses(fabric, &config, request->losses, request->num_losses);
	pm_fabric_free(fabric);
	return status;
}

int cmd_whatif(int argc, char **argv)
{
	struct request request = {.losses = calloc((size_t)argc, sizeof(char *))};
	int status;

	if (!request.losses)
		return cli_fail(EXIT_INPUT, "out of memory");
	status = read_options(argc, argv, &request);
	if (status < 0)
		status = run(argv[optind], &request);
	free(request.losses);
	return status;
}
