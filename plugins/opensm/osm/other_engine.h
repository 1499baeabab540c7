/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts the LFT blocks that OpenSM sends for another engine. OpenSM sends the blocks
 * with a new content that differs from its record, or all blocks of a switch with a mark.
 * It changes the record when it sends, so a copy from before is kept.
 */
#ifndef PORTMAJOR_OTHER_ENGINE_H
#define PORTMAJOR_OTHER_ENGINE_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <stdbool.h>
#include <stdint.h>

struct other_engine_switch {
	uint64_t key; /* in OpenSM's table of switches */
	uint8_t *lft; /* OpenSM's record */
	uint32_t size;
	bool whole; /* gets its whole table */
};

/* OpenSM's records before the engine computes. All zero: none. */
struct other_engine {
	struct other_engine_switch *list; /* in the order of their keys */
	uint32_t num;
};

struct other_engine_sent {
	uint64_t sent, acked; /* LFT blocks; acked so far */
};

/*
 * Copies OpenSM's records, in the callback of this engine, which does not route; without
 * memory copies none. O(size of the tables), also in memory, until the end. With
 * osm->lock held.
 */
void other_engine_begin(struct other_engine *other, const osm_subn_t *subn);

/*
 * Counts the blocks sent since, and forgets the copies. False: nothing was copied; *sent
 * stays. After OpenSM's Sets, with osm->lock held.
 */
bool other_engine_end(struct other_engine *other, const osm_subn_t *subn,
		      struct other_engine_sent *sent);

void other_engine_forget(struct other_engine *other);

#endif
