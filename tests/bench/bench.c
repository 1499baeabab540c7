/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory, fabrics and clocks of benchmarks. */
#include "bench.h"

#include <portmajor/netlist/netlist.h>

#include <errno.h>

void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(2);
}

void *claim(size_t bytes)
{
	void *memory = calloc(bytes + 1, 1);

	if (!memory)
		die("out of memory");
	return memory;
}

struct pm_fabric *generate(const struct pm_generate *config)
{
	struct pm_fabric *fabric;
	struct pm_error err;
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file || pm_generate_write(config, file, &err) || fclose(file) ||
	    pm_netlist_parse(text, size, "generated", &fabric, &err))
		die("no fabric");
	free(text);
	return fabric;
}

double clock_time_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

double cpu_ms(void)
{
	return clock_time_ms(CLOCK_PROCESS_CPUTIME_ID);
}
