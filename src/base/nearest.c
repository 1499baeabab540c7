/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Edit distance with swaps of neighbouring letters (optimal string alignment), one row of
 * the table at a time. A cell is the distance between the first i letters of one word and
 * the first k of the other.
 */
#include <portmajor/base/nearest.h>

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 63

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

unsigned int pm_edit_distance(const char *a, const char *b)
{
	unsigned int rows[3][LONGEST + 1]; /* row i is at i % 3 */
	size_t height = strlen(a), width = strlen(b);

	if (height > LONGEST || width > LONGEST)
		return UINT_MAX;
	for (size_t k = 0; k <= width; k++)
		rows[0][k] = (unsigned int)k;
	for (size_t i = 1; i <= height; i++) {
		const unsigned int *above = rows[(i - 1) % 3], *two = rows[(i + 1) % 3];
		unsigned int *row = rows[i % 3];

		row[0] = (unsigned int)i;
		for (size_t k = 1; k <= width; k++) {
			row[k] = least(least(above[k], row[k - 1]) + 1,
				       above[k - 1] + !same(a[i - 1], b[k - 1]));
			if (i > 1 && k > 1 && same(a[i - 1], b[k - 2]) &&
			    same(a[i - 2], b[k - 1]))
				row[k] = least(row[k], two[k - 2] + 1);
		}
	}
	return rows[height % 3][width];
}

void pm_nearest_offer(struct pm_nearest *nearest, const char *mistyped, const char *known)
{
	unsigned int distance = pm_edit_distance(mistyped, known);

	if (distance > (strlen(known) + 2) / 3 ||
	    (nearest->word && distance >= nearest->distance))
		return;
	*nearest = (struct pm_nearest){known, distance};
}

const char *pm_nearest_hint(const struct pm_nearest *nearest, char hint[PM_NEAREST_HINT])
{
	hint[0] = '\0';
	if (nearest->word)
		snprintf(hint, PM_NEAREST_HINT, ": did you mean %s?", nearest->word);
	return hint;
}
