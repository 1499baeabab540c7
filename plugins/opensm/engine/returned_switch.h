/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Switches at links that come back. One that was reset has lost its LIDs and tables; one
 * that OpenSM has dropped holds a table that nobody knows. Both get their whole table
 * before a link of theirs carries a packet. As long as OpenSM has no record of it, no
 * other Set reaches such a switch: when its table has changed, it gets the blocks that
 * differ. As packets pass then, entries that lead down are acknowledged first, from the
 * lowest level on, then others from the highest on: a packet that meets a new entry meets
 * only new ones from there. A block with both is sent twice.
 */
#ifndef PORTMAJOR_RETURNED_SWITCH_H
#define PORTMAJOR_RETURNED_SWITCH_H

#include "osm/lft_set.h"
#include "osm/link_records.h"
#include "view.h"

struct returned_switch {
	uint32_t node;	     /* of the plan */
	osm_dr_path_t route; /* as addressed */
	ib_net64_t m_key;
	ib_port_info_t zero;	  /* its port 0, as it answered */
	ib_switch_info_t info;	  /* likewise, if it was reset */
	bool reset;		  /* it has no LID, and no subnet manager's */
	bool whole;		  /* it is to get its whole table */
	bool needed;		  /* of its links some come back */
	const uint8_t *installed; /* the table that it has got, or NULL: unknown */
	bool silent;
	const char *why; /* it is left to OpenSM, or NULL */
};

/* A block of a switch that is to get its table. */
struct returned_block {
	uint32_t sw; /* index in the list */
	uint32_t number;
	uint32_t after; /* so many of the first blocks are to be over before */
	uint8_t step;	/* blocks of lower steps are to be over before */
	bool down;	/* only entries that lead down are new */
	bool over;
};

struct returned_switches {
	struct returned_switch *list;
	uint32_t num, room;
	uint32_t asked; /* the first ones of the list */
	struct lft_sender *sender;
	const struct view *view;
	const struct link_records *records;
	bool (*is_halted)(void *context);
	void *context;
	struct smp_count queries, sets, tables;
	uint32_t acked; /* blocks */
	/* of a batch: */
	struct returned_block *blocks;
	uint32_t num_blocks, blocks_room, num_over; /* the first ones that are over */
};

/* Asks the others for port 0, and judges: reset, known, or left to OpenSM. One Get each.
 */
void returned_switches_ask(struct returned_switches *switches);

/*
 * Gives those that need it their LIDs, LinearFDBTop and tables of the view, and waits for
 * the answers. Per switch 3 SMPs if it was reset, and the blocks that differ from what it
 * holds. -ENOMEM.
 */
int returned_switches_write(struct returned_switches *switches);

/* Whether OpenSM has a record of a switch's table. With osm->lock held. */
bool returned_switches_is_recorded(const struct returned_switches *switches,
				   uint32_t node);

/* Lists the blocks to send, in their order. -ENOMEM. Cost: comparing the tables. */
int returned_order(struct returned_switches *switches);

/* Whether packets go down, or stay, by this entry of a switch's table. */
bool returned_leads_down(const struct returned_switches *switches, uint32_t node,
			 uint8_t out);

#endif
