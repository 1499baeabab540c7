/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Activity for the state file (state.h): the phase of the sweep, repairs and their times
 * by phase, the distance of tables from the plan's, and multicast groups. Any thread
 * notes it, under a lock of its own, which is held for copying only; the writer thread
 * describes it.
 */
#ifndef PORTMAJOR_ACTIVITY_H
#define PORTMAJOR_ACTIVITY_H

#include "../engine/phase.h"

#include <jansson.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Distance of the tables in force from the plan's, for usable links. */
struct state_balance {
	uint64_t entries_off, blocks_off; /* different LFT entries; blocks with them */
	uint32_t switches_off;		  /* with such entries */
	bool rebalancing;		  /* tables are changing to the plan's .. */
	uint64_t blocks_left; /* .. with this number of blocks still to be sent */
};

/* The duration of a repair, in ms from the failure's first trap on. */
struct state_repair_time {
	enum sweep_phase phase; /* when the trap came */
	double first_set_ms;	/* to the first LFT Set; negative: none was sent */
	double last_answer_ms;	/* to the last answer; ignored without a Set */
};

/* The last routing of multicast groups. */
struct state_multicast {
	const char *left; /* why OpenSM routes them, or NULL; static */
	uint32_t groups, trees, spanned, excluded; /* as in engine/mcast.h */
	bool incomplete;			   /* some Sets are still to be sent */
	uint64_t sent, acked, bound;		   /* MFT blocks, added to the sums */
	uint32_t ordered;			   /* groups with Sets in an order */
	double milliseconds;
};

/* The last time that MFT blocks were sent. */
struct activity_mft_change {
	time_t time; /* 0: never */
	struct state_multicast what;
};

/* Sums and maxima over repairs. */
struct activity_repairs {
	uint64_t repairs, sent; /* repairs, and those with an LFT Set */
	double first_set_ms, first_set_ms_max;
	double last_answer_ms, last_answer_ms_max;
};

/* Zeroed but for the lock: nothing is known. */
struct activity {
	pthread_mutex_t lock;
	/* Under it. */
	bool phase_known, balance_known;
	enum sweep_phase phase;
	double discovery_ms, longest_ms; /* begin by clock_ms; duration of the longest */
	struct state_balance balance;
	struct activity_repairs repairs[PHASES];
	uint64_t traps_dropped;
	bool multicast_known;
	struct state_multicast multicast; /* with sums */
	struct activity_mft_change mft_change;
};

void activity_note_phase(struct activity *activity, enum sweep_phase phase);
/* Whether the last sweep has ended, and no other has begun. */
bool activity_is_idle(struct activity *activity);
/* The duration of the longest discovery that came to an end; 0: none did. */
double activity_longest_discovery(struct activity *activity);

void activity_note_balance(struct activity *activity, const struct state_balance *now);
void activity_note_repair(struct activity *activity,
			  const struct state_repair_time *took);
void activity_note_traps_dropped(struct activity *activity, uint64_t more);
void activity_note_multicast(struct activity *activity,
			     const struct state_multicast *now);

/*
 * Sets the members phase, balance, multicast and repairs_by_phase of a document, and
 * traps_dropped and multicast_* of its since_start; docs/json.md has them. -1: no memory.
 */
int activity_describe(struct activity *activity, json_t *document);

/* Prints the document's members by phase as metrics, with labels, `port_guid="0x.."`. */
void activity_print_metrics(FILE *out, const json_t *document, const char *labels);

#endif
