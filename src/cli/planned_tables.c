/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes a plan with its tables, for commands that judge or write tables. */
#include "planned_tables.h"

#include "output.h"

#include <portmajor/analysis/change_text.h>
#include <portmajor/analysis/failures.h>

#include <errno.h>

int cli_tables_route(struct cli_tables *tables, const struct cli_fabric *config,
		     const struct pm_fabric *fabric, uint32_t sm)
{
	struct pm_error err;

	if (pm_routes_make_for(tables->plan, fabric, sm, config->connect_roots,
			       &tables->routes, &err) ||
	    pm_routes_unreachable(tables->routes, &tables->unreachable, &err) ||
	    pm_apart_find(fabric, &tables->apart, &err))
		return cli_refuse(&err);
	return EXIT_FINE;
}

int cli_tables_make(struct cli_tables *tables, const struct cli_fabric *config,
		    const struct pm_fabric *fabric, uint32_t sm)
{
	struct pm_error err;

	if (pm_plan_make(fabric, &config->plan, &tables->plan, &err))
		return cli_refuse(&err);
	return cli_tables_route(tables, config, fabric, sm);
}

bool cli_tables_cut(const struct cli_tables *tables)
{
	return pm_change_paths_cut(&tables->unreachable) || tables->apart.count;
}

void cli_tables_free(struct cli_tables *tables)
{
	pm_routes_free(tables->routes);
	pm_plan_free(tables->plan);
}

uint32_t cli_tables_plane(const struct pm_plan *plan, uint32_t p)
{
	const struct pm_tree *tree = &plan->tree;
	uint32_t sw = 0;

	while (sw + 1 < tree->num_switches &&
	       (tree->component[sw] != tree->planes[p].component ||
		tree->index_in_pod[sw] != tree->planes[p].index_in_pod))
		sw++;
	return sw;
}

int cli_tables_sm(const struct pm_fabric *fabric, const char *name, uint32_t *port)
{
	struct pm_error err;
	uint32_t node;
	int rc;

	*port = PM_NONE;
	if (!name)
		return EXIT_FINE;
	rc = pm_failures_find_node(fabric, NULL, "--sm", name, &node, &err);
	if (rc)
		return cli_fail(rc == -EINVAL ? EXIT_USAGE : EXIT_INPUT, "%s", err.text);
	*port = fabric->nodes[node].first_port;
	if (node < fabric->num_switches)
		return EXIT_FINE;
	pm_for_each_port(i, fabric, node) {
		uint32_t peer = pm_fabric_peer_node(fabric, i);

		if (peer == PM_NONE || peer >= fabric->num_switches)
			continue;
		*port = i;
		return EXIT_FINE;
	}
	return cli_fail(EXIT_USAGE, "--sm: \"%s\" has no cable to a switch", name);
}
