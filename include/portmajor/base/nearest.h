/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The known word nearest to a mistyped one, for "did you mean". */
#ifndef PORTMAJOR_NEAREST_H
#define PORTMAJOR_NEAREST_H

/* Zeroed before the first word is offered. */
struct pm_nearest {
	const char *word;      /* the nearest so far; NULL: none is near */
	unsigned int distance; /* its edit distance */
};

/*
 * The number of letters to insert, delete, replace or swap with their neighbour to turn
 * one word into the other, ignoring case. UINT_MAX: a word has more than 63 bytes.
 * O(length^2).
 */
unsigned int pm_edit_distance(const char *a, const char *b);

/*
 * Keeps a known word if it is nearer than earlier ones, and at most a third of its
 * letters differ. The word is borrowed.
 */
void pm_nearest_offer(struct pm_nearest *nearest, const char *mistyped,
		      const char *known);

/* Room for pm_nearest_hint. */
#define PM_NEAREST_HINT 96

/* Writes ": did you mean WORD?", or nothing when no word is near, and returns it. */
const char *pm_nearest_hint(const struct pm_nearest *nearest, char hint[PM_NEAREST_HINT]);

#endif
