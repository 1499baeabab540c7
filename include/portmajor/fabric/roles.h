/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Roles of nodes: the roots of the tree, and the kinds of end ports. The first rule that
 * applies to an end port counts:
 *
 * 	rules of the operator, in their order (portmajor.conf)
 * 	io_guid_file, then cn_guid_file of OpenSM, if it is in them
 * 	what the node is: aggregation nodes have aggregation ports, and
 * 	routers service ports
 * 	cn_guid_file, if there is one: whatever is not in it is I/O
 * 	else it is a compute node's
 *
 * A plan turns compute ports at a switch above the leaves into service ports, unless they
 * are by the first two (src/plan/find_tree.c).
 */
#ifndef PORTMAJOR_ROLES_H
#define PORTMAJOR_ROLES_H

#include <portmajor/base/lexer.h>
#include <portmajor/fabric/fabric.h>

#include <stddef.h>

#define PM_ROLE_RULES 64   /* most rules */
#define PM_ROLE_PATTERN 64 /* bytes of a pattern with its NUL */

enum pm_role_match {
	PM_MATCH_GUID,	 /* of the node or the port */
	PM_MATCH_DEVICE, /* NodeInfo:DeviceID */
	PM_MATCH_NAME,	 /* the node's description, by a pattern of fnmatch(3) */
};

struct pm_role_rule {
	uint8_t host;  /* enum pm_host of the end ports */
	uint8_t match; /* enum pm_role_match */
	uint64_t number;
	char pattern[PM_ROLE_PATTERN];
};

struct pm_role_rules {
	struct pm_role_rule list[PM_ROLE_RULES];
	uint32_t count;
};

/*
 * Adds the rule of a line `role` of portmajor.conf; the text is what follows the key:
 * `compute|io|service|aggregation guid|device|name VALUE`. A name goes to the end of the
 * text and may have blanks. Returns NULL, or an error message.
 */
const char *pm_role_rules_add(struct pm_role_rules *rules, struct pm_text text);

bool pm_role_rules_equal(const struct pm_role_rules *a, const struct pm_role_rules *b);

/* Sorted GUIDs. */
struct pm_guids {
	uint64_t *list;
	uint32_t count;
	bool given; /* the file, perhaps an empty one, exists */
};

struct pm_roles {
	struct pm_guids roots, compute, io;
	struct pm_role_rules rules;
};

bool pm_roles_equal(const struct pm_roles *a, const struct pm_roles *b);

/* Whether a node is an aggregation node, by its device ID or its description. */
bool pm_is_aggregation_node(const struct pm_fabric *fabric, uint32_t node);

/*
 * Marks a sealed fabric's roots, and the kinds of its end ports. O(nodes log GUIDs + end
 * ports x rules).
 */
void pm_roles_apply(const struct pm_roles *roles, struct pm_fabric *fabric);

/* Frees the lists; zeroed roles are fine. */
void pm_roles_free(struct pm_roles *roles);

#endif
