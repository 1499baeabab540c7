/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LFT traces: the LFT Sets after a failure with their times, recorded from OpenSM or
 * computed. A recording is text, a row on each line, in any order but for the first:
 *
 *   portmajor-sets 1                          the format and its version
 *   engine TEXT                               engine of the tables; may be left out
 *   times TEXT                                the meaning of times; may be left out
 *   lid GUID LID LMC                          an end port, or a switch, and its LIDs
 *   table GUID BLOCK ENTRIES                  a block that a switch holds at first
 *   failed NS GUID PORT                       a link, by a switch at one of its ends
 *   active NS GUID PORT                       such a link carries packets again
 *   reset GUID                                a switch that lost its table meanwhile
 *   set SENT ARRIVED ACKED GUID BLOCK ENTRIES an LFT Set to a switch
 *
 * GUIDs are hexadecimal with or without 0x, of the port of an end node and of the node of
 * a switch. ENTRIES are 64 ports of two hexadecimal digits, from LID 64 x BLOCK on; ff:
 * no port. A block without a row has no ports. Times are ns of one clock, since any
 * moment. All links fail at one time, and stay away unless a row says when both ends are
 * ACTIVE again. A switch that was reset has no entries from the failure on, but those
 * that Sets write. Sets are in the order of SENT. The switch's table changes at ARRIVED,
 * and the subnet manager gets the answer at ACKED. Each of these two is - if it did not
 * happen: a lost Set has neither. Empty lines, and lines that begin with #, are ignored.
 *
 * LIDs do not change while Sets are sent. Recordings with different LIDs can be compared
 * by hosts.
 */
#ifndef PORTMAJOR_LFT_TRACE_H
#define PORTMAJOR_LFT_TRACE_H

#include <portmajor/fabric/fabric.h>
#include <portmajor/plan/plan.h>

#include <stddef.h>
#include <stdio.h>

#define PM_LFT_TRACE_NEVER UINT64_MAX
#define PM_LFT_TRACE_TEXT 80 /* room for the texts of a recording, with a NUL */

/*
 * An LFT Set to a switch of the fabric. Times in ns, PM_LFT_TRACE_NEVER if it did not
 * happen; else sent <= arrived <= acked.
 */
struct pm_lft_trace_set {
	uint64_t sent, arrived, acked;
	uint32_t sw, block;
};

/* A failed link, by a port at its end, carries packets again from ns on. */
struct pm_lft_trace_return {
	uint64_t ns;
	uint32_t port;
};

/* A recording, by the indexes of one sealed fabric. */
struct pm_lft_trace {
	char engine[PM_LFT_TRACE_TEXT], times[PM_LFT_TRACE_TEXT]; /* "": unknown */
	uint16_t *lid;	 /* [port] base LID, 0: none; of a switch: at its port 0 */
	uint8_t *lmc;	 /* [port] */
	uint8_t *tables; /* [switch][length] before the first Set */
	uint32_t length; /* a multiple of 64, above all LIDs and blocks */
	uint64_t failed_at;
	uint32_t *failed; /* switches' ports with failed links, one end of each */
	uint32_t num_failed, failed_room;
	struct pm_lft_trace_return *active; /* by time, all after failed_at */
	uint32_t num_active, active_room;
	uint32_t *reset; /* switches that lost their tables at failed_at */
	uint32_t num_reset, reset_room;
	struct pm_lft_trace_set *set; /* in the order of sending */
	uint8_t *entries;	      /* [set][64] */
	uint32_t num, set_room, entries_room;
};

/*
 * Reads a recording of this fabric, which is complete; text[] needs no NUL at its end.
 * The caller frees *trace. -EINVAL: bad content, unknown GUIDs or ports, or a switch
 * without a table, with "source:LINE: fault". -EFBIG. Cost: O(length +
 * switches).
 */
int pm_lft_trace_parse(const char *text, size_t length, const char *source,
		       const struct pm_fabric *fabric, struct pm_lft_trace **trace,
		       struct pm_error *err);
/* The same for a file; see pm_textfile_read. */
int pm_lft_trace_read(const char *path, const struct pm_fabric *fabric,
		      struct pm_lft_trace **trace, struct pm_error *err);

/* A recording to write, and its fabric. */
struct pm_lft_trace_file {
	const struct pm_lft_trace *trace;
	const struct pm_fabric *fabric;
};

/* Writes the recording of a struct pm_lft_trace_file: a pm_print, see print.h. */
int pm_lft_trace_print(FILE *out, const void *file);

/* A Set that arrived. */
struct pm_lft_trace_arrival {
	uint64_t ns;
	uint32_t set;
};

/*
 * Lists arrivals by time, then by sending; list has room for trace->num. Returns their
 * number. O(Sets x log Sets).
 */
uint32_t pm_lft_trace_arrivals(const struct pm_lft_trace *trace,
			       struct pm_lft_trace_arrival *list);

/* Time since the failure; 0 before it. */
static inline uint64_t pm_lft_trace_since(const struct pm_lft_trace *trace, uint64_t ns)
{
	return ns > trace->failed_at ? ns - trace->failed_at : 0;
}

struct pm_lft_trace_config {
	uint32_t sm; /* the subnet manager's port of the fabric, or PM_NONE */
	bool connect_roots;
	uint64_t mad_ns;    /* from sending a block to its answer; up to 10^12 */
	uint32_t wire_smps; /* blocks on the wire at a time, 1 and up */
};

/*
 * Computes the recording of portmajor with this plan of the fabric: its tables before and
 * after the failure of the links at these ports, and its order of blocks. At time 0 all
 * these links fail and the first blocks are sent: detection takes no time. Each block
 * arrives when it is acknowledged. Switches out of the subnet manager's reach get no
 * blocks; with PM_NONE the subnet manager is where most hosts are. The caller frees
 * the trace.
 */
struct pm_lft_trace *pm_lft_trace_compute(const struct pm_fabric *fabric,
					  const struct pm_plan *plan,
					  const struct pm_lft_trace_config *config,
					  const uint32_t *ports, uint32_t num_ports);

void pm_lft_trace_free(struct pm_lft_trace *trace);

#endif
