/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Channels that depend on each other, while dependencies come and go: those that close
 * cycles are known at any time. A channel is the port of a switch by which packets leave
 * for another switch.
 */
#ifndef PORTMAJOR_LAB_DEPEND_H
#define PORTMAJOR_LAB_DEPEND_H

#include <portmajor/base/pool.h>
#include <portmajor/fabric/fabric.h>

/* Of packets that come by one channel and leave by another. */
struct dependency {
	uint32_t from, to;
};

/* A dependency that closes a cycle with others, none of which do. */
struct closing {
	struct dependency edge;
	uint32_t *cycle; /* channels, from edge.to to edge.from */
	uint32_t length;
	uint32_t ring; /* for the caller; PM_NONE at first */
};

struct depend {
	const struct pm_fabric *fabric;
	struct pm_pool pool;
	size_t *first;	   /* [switch] where its matrix begins in cells[] */
	uint32_t *cells;   /* [in port][out port]: how many packets' LIDs, and flags */
	uint32_t *place;   /* [port] in a topological order of all but closing ones */
	uint32_t *before;  /* [port] by which a search came to a channel */
	uint32_t *visited; /* [port] search that came there */
	uint32_t search;   /* number of the last one */
	uint32_t *queue, *behind, *ahead, *places; /* [port] room */
	struct dependency *touched;
	uint32_t num_touched, touched_room;
	struct closing *closing;
	uint32_t num_closing, closing_room;
	bool failed; /* there was no memory */
};

/* Nothing depends on anything; fabric is borrowed. -ENOMEM. */
int depend_begin(struct depend *d, const struct pm_fabric *fabric);
void depend_free(struct depend *d);

/* One more LID, or one less, has packets that come by `from` and leave by `to`. */
void depend_add(struct depend *d, uint32_t from, uint32_t to, bool more);

/*
 * Finds cycles that dependencies make that were added, and calls `ended` for those that
 * are none any more, before they leave the list. -ENOMEM.
 */
int depend_settle(struct depend *d, void (*ended)(void *context, uint32_t ring),
		  void *context);

#endif
