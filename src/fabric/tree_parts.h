/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the source files of tree.h: levels.c comes first, then tree.c. */
#ifndef PORTMAJOR_TREE_PARTS_H
#define PORTMAJOR_TREE_PARTS_H

#include <portmajor/fabric/tree.h>

/* levels.c: fills in level, direction, remote and their counts. */
int tree_find_levels(const struct pm_fabric *skeleton, struct pm_tree *tree,
		     struct pm_error *err);

/* levels.c: the set of a switch in the union-find parent[switch]: its first switch. */
uint32_t tree_find_root(uint32_t *parent, uint32_t x);
/*
 * Makes the sets: switches connected by links up or down, with both ends in levels low to
 * high.
 */
void tree_join_levels(const struct pm_fabric *skeleton, const struct pm_tree *tree,
		      unsigned int low, unsigned int high, uint32_t *parent);

#endif
