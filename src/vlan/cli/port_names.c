/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of Ethernet ports by a pattern. */
#include "port_names.h"

#include "output.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

#define PORT_PATTERN "swp{port}"

int cli_port_pattern_check(const char *pattern)
{
	if (!pattern || strstr(pattern, "{port}"))
		return EXIT_FINE;
	return cli_fail(EXIT_USAGE, "--port-names %s: there is no {port} in it", pattern);
}

struct named_port {
	const struct pm_fabric *fabric;
	const struct pm_port *port;
	const char *pattern;
};

static int print_name(FILE *file, const void *arg)
{
	const struct named_port *named = arg;
	const char *pattern = named->pattern;

	while (*pattern)
		if (!strncmp(pattern, "{port}", 6)) {
			fprintf(file, "%u", named->port->num);
			pattern += 6;
		} else if (!strncmp(pattern, "{switch}", 8)) {
			fputs(pm_fabric_name(named->fabric, named->port->node), file);
			pattern += 8;
		} else {
			fputc(*pattern++, file);
		}
	return 0;
}

char *cli_port_name(const struct pm_fabric *fabric, uint32_t port, const char *pattern)
{
	const struct named_port named = {fabric, &fabric->ports[port],
					 pattern ? pattern : PORT_PATTERN};

	return cli_text_make_by(print_name, &named);
}
