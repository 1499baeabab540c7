/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The LFT blocks that another engine has OpenSM send. OpenSM sends a block whose new
 * content differs from its record, or all blocks of a switch with a mark. It changes the
 * record when it sends, so the record is kept from before.
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
 * Keeps OpenSM's records, in the callback of an engine that does not route; without
 * memory none. O(size of the tables), as much memory until the end. With osm->lock held.
 */
void other_engine_begin(struct other_engine *other, const osm_subn_t *subn);

/*
 * What was sent since; false, and *sent stays, if nothing was kept. Forgets the records.
 * After OpenSM's Sets, with osm->lock held.
 */
bool other_engine_end(struct other_engine *other, const osm_subn_t *subn,
		      struct other_engine_sent *sent);

void other_engine_forget(struct other_engine *other);

#endif
