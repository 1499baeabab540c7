/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares an LFT trace with the failure that options name. */
#ifndef PORTMAJOR_LAB_CLI_TRACE_CHECK_H
#define PORTMAJOR_LAB_CLI_TRACE_CHECK_H

#include <portmajor/analysis/failures.h>
#include <portmajor/lab/lft_trace.h>

/* Marks both ends of the links at these ports: [port]; the caller frees it. */
uint8_t *lab_trace_ends(const struct pm_fabric *fabric, const uint32_t *ports,
			uint32_t num);

/* Checks that the links at these ports fail in a trace, and no others; an exit status. */
int lab_trace_check(const struct pm_fabric *fabric, const struct pm_ports *ports,
		    const struct pm_lft_trace *trace, const char *path);

#endif
