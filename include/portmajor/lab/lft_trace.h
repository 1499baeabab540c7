/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LFT Sets with times: what became of the tables of a fabric after a loss, as OpenSM sent
 * it or as it is computed. A recording is text, a row on each line, in any order but for
 * the first:
 *
 *   portmajor-sets 1                          the format and its version
 *   engine TEXT                               who made the tables; may be left out
 *   times TEXT                                what times mean; may be left out
 *   lid GUID LID LMC                          an end port, or a switch, and its LIDs
 *   table GUID BLOCK ENTRIES                  a block that a switch holds at first
 *   lost NS GUID PORT                         a cable, by a switch at one of its ends
 *   set SENT ARRIVED ACKED GUID BLOCK ENTRIES an LFT Set to a switch
 *
 * GUIDs are hexadecimal with or without 0x, of the port of an end node and of the node of
 * a switch. ENTRIES are 64 ports of two hexadecimal digits, from LID 64 x BLOCK on; ff:
 * none, and so are blocks that no row has. Times are ns on one clock from any moment on.
 * All cables are lost at one time. Sets come in the order of SENT. A switch has changed
 * at ARRIVED; at ACKED the subnet manager knows. Either is - if it did not happen: a Set
 * that was lost has neither. Lines that are empty or begin with # say nothing.
 *
 * LIDs stay while Sets are sent. Recordings with other LIDs are comparable by hosts.
 */
#ifndef PORTMAJOR_LFT_TRACE_H
#define PORTMAJOR_LFT_TRACE_H

#include <portmajor/fabric/fabric.h>
#include <portmajor/plan/plan.h>

#include <stddef.h>
#include <stdio.h>

#define PM_LFT_TRACE_NEVER UINT64_MAX
#define PM_LFT_TRACE_TEXT 80 /* room for the texts of a recording, with a NUL */

/* An LFT Set, to a switch of the fabric. Times in ns, those of what did not happen
 * PM_LFT_TRACE_NEVER; else sent <= arrived <= acked. */
struct pm_lft_trace_set {
	uint64_t sent, arrived, acked;
	uint32_t sw, block;
};

/* A recording, by the indexes of one sealed fabric. */
struct pm_lft_trace {
	char engine[PM_LFT_TRACE_TEXT], times[PM_LFT_TRACE_TEXT]; /* "": not said */
	uint16_t *lid;	 /* [port] base LID, 0: none; of a switch at its port 0 */
	uint8_t *lmc;	 /* [port] */
	uint8_t *tables; /* [switch][length] before the first Set */
	uint32_t length; /* a multiple of 64, above all LIDs and blocks */
	uint64_t lost_at;
	uint32_t *lost; /* ports whose cables are lost, one of each; of switches */
	uint32_t num_lost, lost_room;
	struct pm_lft_trace_set *set; /* in the order in which they were sent */
	uint8_t *entries;	      /* [set][64] */
	uint32_t num, set_room, entries_room;
};

/*
 * Reads a recording of this fabric as it is before the loss; text[] needs no NUL at its
 * end. *sets is for the caller to free. -EINVAL: bad content, or of another fabric:
 * GUIDs or ports that it does not have, a switch without a table; the message is
 * "source:LINE: what is wrong". -EFBIG; -ENOMEM. Cost: O(length + switches).
 */
int pm_lft_trace_parse(const char *text, size_t length, const char *source,
		       const struct pm_fabric *fabric, struct pm_lft_trace **sets,
		       struct pm_error *err);
/* The same for a file; see pm_textfile_read. */
int pm_lft_trace_read(const char *path, const struct pm_fabric *fabric,
		      struct pm_lft_trace **sets, struct pm_error *err);

/* A recording that is to be written, and its fabric. */
struct pm_lft_trace_file {
	const struct pm_lft_trace *sets;
	const struct pm_fabric *fabric;
};

/* Writes the recording of a struct pm_lft_trace_file: a pm_print, see print.h. */
int pm_lft_trace_print(FILE *out, const void *file);

/* A Set that arrived. */
struct pm_lft_trace_arrival {
	uint64_t ns;
	uint32_t set;
};

/* Lists them by time, those of one time as they were sent; list has room for sets->num.
 * How many there are. O(Sets x log Sets). */
uint32_t pm_lft_trace_arrivals(const struct pm_lft_trace *sets,
			       struct pm_lft_trace_arrival *list);

/* Time since the loss; 0 before it. */
static inline uint64_t pm_lft_trace_since(const struct pm_lft_trace *sets, uint64_t ns)
{
	return ns > sets->lost_at ? ns - sets->lost_at : 0;
}

struct pm_lft_trace_config {
	uint32_t sm; /* port of the fabric where the subnet manager is, or PM_NONE */
	bool connect_roots;
	uint64_t mad_ns;    /* from sending a block to its answer; up to 10^12 */
	uint32_t wire_smps; /* blocks on the wire at a time, 1 and up */
};

/*
 * The recording that portmajor would make with this plan, made of the fabric: its tables
 * before the cables at these ports of the fabric are lost and after, and its order of
 * blocks. At time 0 all is
 * lost and the first blocks are sent: finding out takes no time. Each block arrives when
 * it is answered. Switches that the subnet manager cannot reach get none; if nothing is
 * said of it, it is where most hosts are. The caller frees *sets. -ENOMEM.
 */
int pm_lft_trace_compute(const struct pm_fabric *fabric, const struct pm_plan *plan,
			 const struct pm_lft_trace_config *config, const uint32_t *ports,
			 uint32_t num_ports, struct pm_lft_trace **sets,
			 struct pm_error *err);

void pm_lft_trace_free(struct pm_lft_trace *sets);

#endif
