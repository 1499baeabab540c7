/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Links of the plan that come back are brought into service without a discovery. A switch
 * reports a change (trap 128); its ports that are known to be down are read. Where one is
 * in INIT, the node at the other end is asked who it is; if it is the plan's, both ends
 * get the values that OpenSM set last (osm/link_records.h), become ARMED, then ACTIVE:
 *
 *     Get near port ---> Get far node, far port, P_Keys ---> Set P_Keys, values
 *                   ---> Set ARMED at both ends ---> Set ACTIVE at both ends
 *
 * OpenSM's record follows where it has the link, so that its next sweep finds nothing to
 * do. Whatever differs from what it set last is left to it, and the log has the reason.
 * The switches of a link are asked for their LID and subnet manager, too: one that was
 * reset, or that OpenSM has dropped, first gets its whole table (returned_switch.h).
 * Entries of others move onto a cable when both its ends are ACTIVE. A cable over which
 * packets would loop, as entries lead to it already, is left to OpenSM.
 *
 * The rest is left to OpenSM's sweep:
 *
 *     by partitions   a switch that was reset, as it has lost the P_Keys of its ports, if
 *                     there are several partitions and something enforces them; then also
 *                     a host that was away for a sweep, as the file may have changed
 *     by lanes        with `qos`, a switch that was reset: it takes a table for each pair
 *                     of its ports (a host gets its two kinds before ARMED)
 *     by identity     a replaced switch; with `migrate`, a port whose LID is to change.
 *                     LIDs and tables are set at a switch only over a link whose remote
 *                     end is the plan's
 *     by mastership   a switch with a LID or subnet manager other than ours: the fabric
 *                     was split, and another master may be there
 *
 * Traps that a return explains are kept from early repair, by their number; later ones
 * are not. A cable that a return finds down is searched for.
 *
 * At most one PortInfo Set is out for a port. OpenSM sends its own in PHASE_MANAGEMENT
 * and PHASE_LINKS, to ports of its record that are not DOWN there; in these phases only
 * other ports are set here.
 */
#ifndef PORTMAJOR_RETURNS_H
#define PORTMAJOR_RETURNS_H

#include "returned_switch.h"

#include <portmajor/policy/damping.h>

/* Opaque: received traps, and ports that were found down. */
struct returns;

/* The input of a run. */
struct returns_subject {
	struct lft_sender *sender;
	const struct view *view;	    /* with tables */
	const struct link_records *records; /* of the view's plan */
	bool idle;  /* OpenSM's record is of the whole fabric, and no sweep uses it */
	bool found; /* its discovery is over, its sweep is not */
	/*
	 * Read all ports, unused ones included, of switches whose traps nothing has
	 * explained, and of reported[switch], unless that is NULL. Else those of switches
	 * with traps that are known to be down.
	 */
	bool read_all;
	const uint8_t *reported;
	/* Both on this thread, with or without osm->lock. */
	bool (*is_halted)(void *context);
	bool (*sets_ports)(
		void *context); /* whether OpenSM may be sending PortInfo Sets */
	/* Updates the view for links that are about to be up[port]. -ENOMEM. */
	int (*use)(void *context, const uint8_t *up);
	/* Notes that so many traps of a switch of the plan are explained, none of the
	 * `later` last ones; or one that is coming. */
	void (*explain)(void *context, uint32_t node, uint32_t traps, uint32_t later,
			bool coming);
	/* A cable of a switch of the plan that counts as up is down. */
	void (*doubt)(void *context, uint32_t node);
	void *context;
};

#define RETURNS_TEXT 256
#define RETURNS_HOSTS 32 /* of a run that are noted by their ports */

/* Result. */
struct returned {
	uint32_t number;	/* of runs in which links came back, from 1; else 0 */
	uint32_t hosts, cables; /* in service now */
	uint32_t left;		/* links that are left to OpenSM, .. */
	const char *why;	/* .. and why the first of them is, or NULL */
	bool missed;	   /* its running sweep, if any, has not found all of these */
	uint32_t deferred; /* hosts that flap: served later */
	uint32_t gone; /* with `read_all`: hosts with links that are down, and were up */
	uint32_t strange; /* with `read_all`: ports that only a discovery explains */
	/* Their names, as far as there is room. */
	char links[RETURNS_TEXT], left_links[RETURNS_TEXT], deferred_links[RETURNS_TEXT];
	char strange_ports[RETURNS_TEXT];
	/* The leaves' ports of the first of `hosts`, and of `deferred`. */
	struct pm_damping_end host_ends[RETURNS_HOSTS], deferred_ends[RETURNS_HOSTS];
	uint32_t queries, sets, unanswered;
	uint32_t blocks, acked; /* of whole tables, in `sets` */
	/*
	 * For the caller to free, or NULL. [port of the view's plan] of links that are
	 * back; ports that are up now. Switches that got their whole table. With
	 * `read_all`, [switch] whether all of its ports were read and are as they are
	 * known.
	 */
	uint8_t *back, *up;
	uint64_t *whole;
	uint8_t *fits;
	uint32_t num_whole;
	bool unknown;	     /* OpenSM's record lacks a link, in no discovery */
	double milliseconds; /* from the first trap */
};

/* NULL without memory. */
struct returns *returns_start(void);
void returns_stop(struct returns *returns);

/*
 * Notes a trap; before OpenSM drops repeated ones, on any thread. Returns whether it is
 * trap 128.
 */
bool returns_note_trap(struct returns *returns, const ib_mad_notice_attr_t *notice);

/* Whether switches with traps, or ports found in INIT, wait and are due. */
bool returns_wait(struct returns *returns);

/* OpenSM sets no ports any more: links that wait for that are due. On any thread. */
void returns_hurry(struct returns *returns);

/* ---- On one thread at a time ---- */

/* Notes that a port of the view's plan was found in INIT, or failed: it is read again. */
void returns_note_port(struct returns *returns, const struct view *view, uint32_t port);

/*
 * Notes that a repair has explained a trap of a switch of the view, which may come a
 * little later. On the thread of returns_run.
 */
void returns_explain(struct returns *returns, const struct view *view, uint32_t node);

/* LID of a switch's port 0. */
static inline uint16_t returns_lid_of(const struct pm_plan *plan, uint32_t node)
{
	return plan->lid[plan->topology->nodes[node].first_port];
}

/* Whether some switch's traps are unexplained, of the last run with the view's plan. */
bool returns_are_unexplained(const struct returns *returns, const struct view *view);

/* When the next try is due, or a host that flaps may be served; clock_ms, or 0. */
double returns_due(const struct returns *returns);

/*
 * Clears up[port] of hosts whose links were found down since the last discovery began,
 * and before this clock_ms. Returns when the first of the others was, or 0. O(ports).
 */
double returns_exclude_gone(struct returns *returns, const struct view *view,
			    double before, uint8_t *up);

/* Brings links into service. False: there was nothing to do. */
bool returns_run(struct returns *returns, const struct returns_subject *subject,
		 struct returned *done);

/*
 * Has switches that got whole tables, and of which OpenSM has no record yet, follow the
 * view, which has changed: before others' entries move. `done` has the blocks.
 */
void returns_follow(struct returns *returns, const struct returns_subject *subject,
		    struct returned *done);

/*
 * Has OpenSM's record follow the links that were served since returns_begin_sweep, as an
 * answer to its discovery may be older. `links`: at the end of a discovery, and before
 * OpenSM drops what that did not find, their ends are linked there, too. Where it has
 * lost a link, its ports are INIT, as it would set them DOWN. When the first link that it
 * lacks was served, clock_ms; 0: it lacks none. With osm->lock held exclusively. O(links
 * served).
 */
double returns_settle(struct returns *returns, osm_subn_t *subn, bool links);

/* A discovery begins: what was served before it is known to it. On any thread. */
void returns_begin_sweep(struct returns *returns);

#endif
