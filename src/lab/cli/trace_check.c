/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks whether an LFT trace is of the failure that options name. */
#include "trace_check.h"

#include "output.h"

#include <portmajor/base/textfile.h>
#include <portmajor/memory/xalloc.h>

uint8_t *lab_trace_ends(const struct pm_fabric *fabric, const uint32_t *ports,
			uint32_t num)
{
	uint8_t *marks = pm_xarray(fabric->num_ports, 1);

	for (uint32_t i = 0; i < num; i++) {
		uint32_t peer = fabric->ports[ports[i]].peer;

		if (peer != PM_NONE)
			marks[ports[i]] = marks[peer] = 1;
	}
	return marks;
}

/* failed[port] has both ends of the links that should fail. */
static int compare_failed(const struct pm_fabric *fabric, const uint8_t *failed,
			  const struct pm_lft_trace *trace, const char *path)
{
	uint32_t ends = 0;

	for (uint32_t i = 0; i < trace->num_failed; i++) {
		const struct pm_port *p = &fabric->ports[trace->failed[i]];

		if (!failed[trace->failed[i]])
			return cli_fail(EXIT_INPUT,
					"%s: \"%s\"[%u] fails there, but not by --fail",
					pm_textfile_name(path),
					pm_fabric_label(fabric, p->node), p->num);
		ends += 1 + failed[p->peer];
	}
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		ends -= failed[i];
	return ends ? cli_fail(EXIT_INPUT, "%s: not all that --fail names fails there",
			       pm_textfile_name(path))
		    : EXIT_FINE;
}

int lab_trace_check(const struct pm_fabric *fabric, const struct pm_ports *ports,
		    const struct pm_lft_trace *trace, const char *path)
{
	uint8_t *failed = lab_trace_ends(fabric, ports->list, ports->num);
	int status = compare_failed(fabric, failed, trace, path);

	free(failed);
	return status;
}
