/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Failures to try: parts named by a user, or every part of a kind. A failure is a list of
 * the fabric's ports that have failed links.
 */
#ifndef PORTMAJOR_FAILURES_H
#define PORTMAJOR_FAILURES_H

#include <portmajor/plan/plan.h>

/* Ports of a fabric; zeroed: none. The list is freed with free(). */
struct pm_ports {
	uint32_t *list;
	uint32_t num, room;
};

/*
 * Adds the parts that a text names, one port for each; a node by its port 0. The text is
 *
 *	a node's name, for all nodes of that name, or its label (pm_fabric_label)
 *	a pattern with *, ? and [], for all nodes that match
 *	a GUID of a node or a port: "0x...", or ibnetdiscover's "S-..."
 *	"lid:N", or N alone: a LID of the fabric's ports or, without LIDs, of the plan
 *	a chassis: the beginning of its switches' names up to a -, "s0" for s0-line0
 *	one of these and ":PORT" or "[PORT]": a port, which must have a link
 *	both ends of a link, as printed: "leaf0[17]-s0-line0[6]"
 *
 * A node's name counts before a link's. Messages begin with `what`, such as an option.
 * -EINVAL: no such part; -ENOMEM.
 */
int pm_failures_find(const struct pm_fabric *fabric, const struct pm_plan *plan,
		     const char *what, const char *text, struct pm_ports *ports,
		     struct pm_error *err);

/*
 * Whether `text` names the part by its node's name, not by a pattern, GUID or chassis. If
 * it names several parts in this way, their nodes share the name.
 */
bool pm_failures_is_name(const struct pm_fabric *fabric, uint32_t thing,
			 const char *text);

/*
 * The same, but adds the ports with failed links: all ports of a node, or the named port.
 */
int pm_failures_add(const struct pm_fabric *fabric, const struct pm_plan *plan,
		    const char *what, const char *text, struct pm_ports *ports,
		    struct pm_error *err);

/*
 * Finds the single node that a text names as above, without ports and links. plan may be
 * NULL: LIDs are those of the fabric's ports. -EINVAL: none, or several, with GUIDs in
 * the message; -ENOMEM.
 */
int pm_failures_find_node(const struct pm_fabric *fabric, const struct pm_plan *plan,
			  const char *what, const char *text, uint32_t *node,
			  struct pm_error *err);

enum pm_failure_kind {
	PM_FAIL_LINKS,	  /* links between switches */
	PM_FAIL_SWITCHES, /* all */
	PM_FAIL_LEAVES,
	PM_FAIL_SPINES, /* switches of the highest level */
	PM_FAIL_HOSTS,	/* end nodes */
	PM_FAILURE_KINDS,
};

/* "links" and so on. */
const char *pm_failure_kind_name(enum pm_failure_kind kind);
/* -EINVAL: no such kind. */
int pm_failure_kind_parse(const char *name, enum pm_failure_kind *kind);

/* Every part of a kind, or every pair of them, numbered from 0. */
struct pm_failures {
	const struct pm_fabric *fabric; /* borrowed */
	enum pm_failure_kind kind;
	bool pairs;
	uint32_t *element; /* nodes, or the ports of links with the lower index */
	uint32_t num_elements;
	uint64_t count; /* of failures */
};

/*
 * Lists all of a kind, in the order of the fabric; the tree is that of its switches. The
 * caller frees it. -ENOMEM.
 */
int pm_failures_list(const struct pm_fabric *fabric, const struct pm_tree *tree,
		     enum pm_failure_kind kind, bool pairs, struct pm_failures *failures,
		     struct pm_error *err);
void pm_failures_free(struct pm_failures *failures);

/*
 * Writes the elements of a failure, by its number; returns 1, or 2 for a pair. Pairs (i,
 * j), i < j, go by j and then i, so that number k does not depend on the count.
 */
uint32_t pm_failures_elements(const struct pm_failures *failures, uint64_t number,
			      uint32_t element[2]);

/* Adds the ports of a failure, by its number. -ENOMEM. */
int pm_failures_ports(const struct pm_failures *failures, uint64_t number,
		      struct pm_ports *ports);

#endif
