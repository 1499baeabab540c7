/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the tables of all switches on request (`portmajor check --now`), and compares
 * them with OpenSM's record, while OpenSM does not sweep.
 *
 * In a first pass each switch is read. At the end of a pass all that was read is compared
 * with the record, which may have changed since; what differs is read again in the next
 * one. A switch that differs in two readings, the second of them in the last pass, holds
 * other entries than OpenSM has set. So in the end all tables are those of one moment, or
 * differ from it for certain; if they still change after TABLE_CHECK_PASSES, the result
 * tells. A switch that does not answer is tried twice, too.
 *
 * Requests that come during a reading are served by one more.
 */
#ifndef PORTMAJOR_TABLE_CHECK_H
#define PORTMAJOR_TABLE_CHECK_H

#include "osm/smp.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define TABLE_CHECK_PASSES 4

struct table_check;

enum table_reading { TABLE_UNREAD, TABLE_READ, TABLE_SILENT };

/* A switch and its table. */
struct table_read {
	uint64_t key; /* in OpenSM's table of switches */
	enum table_reading reading;
	char name[IB_NODE_DESCRIPTION_SIZE + 1];
	uint16_t lid;
	uint8_t *table;	      /* [length], whole blocks */
	uint32_t length;      /* up to LinearFDBTop */
	uint32_t blocks;      /* of these differ from OpenSM's record .. */
	uint32_t first_block; /* .. from this one on */
	uint32_t pass;	      /* of the last reading */
	bool again;	      /* it was no better than in the reading before that */
};

/* The result of a reading. */
struct tables_read {
	uint64_t number;    /* of the last request that it serves */
	const char *failed; /* why it was given up, or NULL */
	struct table_read *list;
	uint32_t num;
	uint32_t passes;
	bool changing; /* tables changed during the last pass */
	uint64_t sent; /* Gets of LFT blocks */
	time_t time;   /* of its end */
	double since_ms, milliseconds;
};

struct table_check_subject {
	osm_opensm_t *osm;
	struct smp_sender *smps;
	/* Whether to end a piece; without a lock. */
	bool (*is_interrupted)(void *context);
	void *context;
};

/* NULL without memory. */
struct table_check *table_check_start(void);
void table_check_stop(struct table_check *check);

/* Requests a reading that begins after this call; its number. On any thread. */
uint64_t table_check_request(struct table_check *check);

/* Takes a result that is ready, for table_check_free; NULL: none. On any thread. */
struct tables_read *table_check_take(struct table_check *check);
void table_check_free(struct tables_read *read);

/* ---- On the thread that sends, with no lock held ---- */

/* Whether a request waits or is being served. */
bool table_check_is_wanted(struct table_check *check);

/*
 * Reads one switch, or ends a pass, for which it holds osm->lock, shared, for O(tables).
 * True: there is a result.
 */
bool table_check_run(struct table_check *check,
		     const struct table_check_subject *subject);

/* Ends all requests without one. */
void table_check_fail(struct table_check *check, const char *why);

#endif
