/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options and input of the subcommands that read a fabric. */
#include "cli.h"

#include <portmajor/netlist.h>

int cli_fabric_option(int option, struct cli_fabric *config)
{
	unsigned long lmc;

	switch (option) {
	case 'o':
		if (pm_lid_order_parse(optarg, &config->plan.order))
			return cli_fail(EXIT_USAGE, "no lid_order \"%s\"", optarg);
		return EXIT_FINE;
	case 'm':
		if (!cli_number(optarg, 0, PM_MAX_LMC, &lmc))
			return cli_fail(EXIT_USAGE, "LMC is 0 to %d", PM_MAX_LMC);
		config->plan.lmc = (uint8_t)lmc;
		return EXIT_FINE;
	case 'A':
		config->files.roots = optarg;
		return EXIT_FINE;
	case 'U':
		config->files.compute = optarg;
		return EXIT_FINE;
	case 'I':
		config->files.io = optarg;
		return EXIT_FINE;
	case 'Z':
		config->connect_roots = true;
		return EXIT_FINE;
	default:
		return -1;
	}
}

int cli_fabric_read(const char *path, const struct cli_fabric *config,
		    struct pm_fabric **fabric)
{
	struct pm_roles roles = {0};
	struct pm_error err;

	if (pm_roles_read(&config->files, &roles, &err) ||
	    pm_netlist_read(path, fabric, &err)) {
		pm_roles_free(&roles);
		return cli_fail(EXIT_INPUT, "%s", err.text);
	}
	pm_roles_apply(&roles, *fabric);
	pm_roles_free(&roles);
	return EXIT_FINE;
}
