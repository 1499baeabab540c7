/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A graph of channels that depend on each other. While dependencies come and go, it keeps
 * the dependencies that close cycles. A channel is the port of a switch by which packets
 * leave for another switch.
 */
#ifndef PORTMAJOR_LAB_DEPEND_H
#define PORTMAJOR_LAB_DEPEND_H

#include <portmajor/base/pool.h>
#include <portmajor/fabric/fabric.h>

/* A dependency: packets come by one channel and leave by another. */
struct dependency {
	uint32_t from, to;
};

/* A dependency that closes a cycle; without such dependencies there is no cycle. */
struct closing {
	struct dependency edge;
	uint32_t *cycle; /* channels, from edge.to to edge.from */
	uint32_t length;
	uint32_t ring; /* for the caller; PM_NONE at first */
};

struct depend {
	const struct pm_fabric *fabric;
	struct pm_pool pool;
	size_t *first;	   /* [switch] beginning of its matrix in cells[] */
	uint32_t *cells;   /* [in port][out port]: number of LIDs with such packets, and
			      flags */
	uint32_t *order;   /* [port] index in a topological order, without closing
			      dependencies */
	uint32_t *before;  /* [port] channel by which a search came to it */
	uint32_t *visited; /* [port] number of the last search that came to it */
	uint32_t search;   /* number of the last search */
	uint32_t *queue, *behind, *ahead, *orders; /* [port] working memory */
	struct dependency *touched;
	uint32_t num_touched, touched_room;
	struct closing *closing;
	uint32_t num_closing, closing_room;
};

/* Begins without dependencies; fabric is borrowed. */
void depend_begin(struct depend *d, const struct pm_fabric *fabric);
void depend_free(struct depend *d);

/*
 * Notes that one LID more, or one less, has packets that come by `from` and leave by
 * `to`.
 */
void depend_add(struct depend *d, uint32_t from, uint32_t to, bool more);

/*
 * Finds the cycles that added dependencies have closed. Calls `ended` for cycles that are
 * gone, before they leave the list.
 */
void depend_settle(struct depend *d, void (*ended)(void *context, uint32_t ring),
		   void *context);

#endif
