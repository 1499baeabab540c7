/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares the intended cabling with the discovered one. */
#include "expected.h"

#include "cable_output.h"
#include "output.h"
#include "text.h"

#include <portmajor/netlist/netlist.h>

#include <stdlib.h>
#include <string.h>

#define FABRIC_FILE "fabric.net"

/* The path of a file beside another one; the caller frees it. */
static char *path_beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return cli_text_make("%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, name);
}

static int read_netlist(const char *path, struct pm_fabric **fabric)
{
	struct pm_error err;

	return pm_netlist_read(path, fabric, NULL, &err) ? cli_refuse(&err) : EXIT_FINE;
}

int expected_compare(const char *netlist, const char *state, json_t **cables)
{
	struct pm_fabric *wanted = NULL, *found = NULL;
	char *path = path_beside(state, FABRIC_FILE);
	int status = read_netlist(netlist, &wanted);

	if (!status)
		status = read_netlist(path, &found);
	if (!status)
		*cables = cable_diff_describe(wanted, found);
	pm_fabric_free(wanted);
	pm_fabric_free(found);
	free(path);
	return status;
}
