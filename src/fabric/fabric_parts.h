/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by fabric.c and label.c. */
#ifndef PORTMAJOR_FABRIC_FABRIC_PARTS_H
#define PORTMAJOR_FABRIC_FABRIC_PARTS_H

#include <portmajor/fabric/fabric.h>

/* label.c: adds a text to names[]. -E2BIG: names[] would exceed 4 GiB; -ENOMEM. */
int fabric_add_text(struct pm_fabric *fabric, const char *text, uint32_t *offset);

/*
 * label.c: makes the labels of all nodes from their names and GUIDs. -ENOMEM. O(nodes).
 */
int label_nodes(struct pm_fabric *fabric);

/*
 * label.c: makes the label of a node that is about to get this GUID and the name at an
 * offset into names[], and those of the nodes that shared its name or will share it.
 * -ENOMEM: labels are unchanged. O(nodes).
 */
int label_renamed(struct pm_fabric *fabric, uint32_t node, uint64_t guid, uint32_t name);

#endif
