/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What can be lost: what somebody names, or every one of a kind. A loss is a list of
 * ports of the fabric whose cables go.
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
 * Adds what a text names, as one port for each thing: port 0 of a node or, with ":PORT"
 * or "[PORT]" behind its name, that port, which has a cable; both ends of a cable may be
 * named, as they are printed: "leaf0[17]-s0-line0[6]". A node is named by its name (all
 * nodes that have it), its label (pm_fabric_label), a pattern with *, ? and [] (all nodes
 * that match), its GUID or a port's ("0x...", or as
 * ibnetdiscover has it "S-..."), or a LID ("lid:N", or N alone), which the fabric's ports
 * have or, if none has one, the plan gives them; or a chassis, by what the names of its
 * switches begin with up to a -: "s0" for s0-line0 and s0-fab0. The name of a node goes
 * before all else, then that of a cable. `what` is what messages begin
 * with: how the text was given. -EINVAL: nothing is named so; -ENOMEM.
 */
int pm_failures_find(const struct pm_fabric *fabric, const struct pm_plan *plan,
		     const char *what, const char *text, struct pm_ports *ports,
		     struct pm_error *err);

/*
 * Whether a text names a thing that pm_failures_find found for it by the name of its node
 * alone, and not by a pattern, GUID or chassis: if there are several of them, they share
 * the name.
 */
bool pm_failures_is_name(const struct pm_fabric *fabric, uint32_t thing,
			 const char *text);

/* Adds the ports whose cables go: all of a node, or the one named. Otherwise the same. */
int pm_failures_add(const struct pm_fabric *fabric, const struct pm_plan *plan,
		    const char *what, const char *text, struct pm_ports *ports,
		    struct pm_error *err);

/*
 * The one node that a text names, in the same ways but for ports and cables. plan may be
 * NULL: LIDs are those of the fabric's ports. -EINVAL: none, or several, of which the
 * message has GUIDs; -ENOMEM.
 */
int pm_failures_find_node(const struct pm_fabric *fabric, const struct pm_plan *plan,
			  const char *what, const char *text, uint32_t *node,
			  struct pm_error *err);

enum pm_failure_kind {
	PM_FAIL_LINKS,	  /* cables between switches */
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

/* Everything of a kind, or every pair of it, numbered from 0. */
struct pm_failures {
	const struct pm_fabric *fabric; /* borrowed */
	enum pm_failure_kind kind;
	bool pairs;
	uint32_t *element; /* nodes, or ports that have the lower index of a cable's */
	uint32_t num_elements;
	uint64_t count; /* of losses */
};

/* All of a kind there is, in the order of the fabric; the tree is that of its switches.
 * The caller frees it. -ENOMEM. */
int pm_failures_list(const struct pm_fabric *fabric, const struct pm_tree *tree,
		     enum pm_failure_kind kind, bool pairs, struct pm_failures *losses,
		     struct pm_error *err);
void pm_failures_free(struct pm_failures *losses);

/*
 * The elements of a loss, by its number; how many: 1, or 2 of a pair. Pairs (i, j),
 * i < j, go by j and then i: however many there are, number k is the same one.
 */
uint32_t pm_failures_elements(const struct pm_failures *losses, uint64_t number,
			      uint32_t element[2]);

/* Adds the ports of a loss, by its number. -ENOMEM. */
int pm_failures_ports(const struct pm_failures *losses, uint64_t number,
		      struct pm_ports *ports);

#endif
