/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of Ethernet ports by a pattern. */
#include "port_names.h"

#include "output.h"

#include <stdio.h>
#include <string.h>

#define PORT_PATTERN "swp{port}"

int cli_port_pattern_check(const char *pattern)
{
	if (!pattern || strstr(pattern, "{port}"))
		return EXIT_FINE;
	return cli_fail(EXIT_USAGE, "--port-names %s: there is no {port} in it", pattern);
}

char *cli_port_name(const struct pm_fabric *fabric, uint32_t port, const char *pattern)
{
	const struct pm_port *p = &fabric->ports[port];
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		cli_no_memory();
	if (!pattern)
		pattern = PORT_PATTERN;
	while (*pattern)
		if (!strncmp(pattern, "{port}", 6)) {
			fprintf(file, "%u", p->num);
			pattern += 6;
		} else if (!strncmp(pattern, "{switch}", 8)) {
			fputs(pm_fabric_name(fabric, p->node), file);
			pattern += 8;
		} else {
			fputc(*pattern++, file);
		}
	if (ferror(file) || fclose(file) || !text)
		cli_no_memory();
	return text;
}
