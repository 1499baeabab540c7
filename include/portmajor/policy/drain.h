/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Drained cables and switches: those that an operator wants out of hosts' paths before
 * service, although they are up. `portmajor drain` keeps them in a text file:
 *
 *     portmajor-drained 1
 *     0x0002c903000a1105 20 leaf5       the cable at port 20 of this switch
 *     since 1763999999                  since when it is drained, ..
 *     by root                           .. by which user, ..
 *     reason errors on lane 2           .. and why
 *     0x0002c903000a2200 - s1-line0     all cables of this switch to other switches
 *     0x0002c903000a2300 - SwitchIB (0x0002c903000a2300)    of several of this name one
 *
 * Names, and lines with since, by and reason, which are of the drain above them and may
 * be missing, are for people: the GUID counts. Blank lines, and comments from # at the
 * beginning of a line, are allowed.
 *
 * As a hold (damping.h), a drain never costs a path: see pm_drains_apply.
 */
#ifndef PORTMAJOR_DRAIN_H
#define PORTMAJOR_DRAIN_H

#include <portmajor/plan/plan.h>

#include <stdio.h>

enum pm_drain_state {
	PM_DRAIN_UNKNOWN, /* the plan has no such switch or cable */
	PM_DRAIN_OUT,	  /* no path of hosts uses it, up or down */
	PM_DRAIN_NEEDED,  /* some of its cables are last paths, and in use */
};

/* A thing that is drained. */
struct pm_drain {
	uint64_t guid;	   /* of a switch */
	unsigned int num;  /* port of it; 0: all of its cables to other switches */
	char *name;	   /* of the switch; may be "" */
	char *label;	   /* what it is called in lists, see pm_fabric_label */
	uint64_t since;	   /* seconds since 1970; 0: not known */
	char *by, *reason; /* or NULL */

	/* As of the last pm_drains_apply. */
	enum pm_drain_state state;
	uint32_t needed; /* cables of it that are in use all the same */
};

/* In the order in which they were drained. Zeroed: none. */
struct pm_drains {
	struct pm_drain *list;
	uint32_t num, room;
};

void pm_drains_free(struct pm_drains *drains);

/*
 * Adds one unless it is there; *added (may be NULL) tells. Of a label with this GUID the
 * name is what stands before that. -ENOMEM.
 */
int pm_drains_add(struct pm_drains *drains, uint64_t guid, unsigned int num,
		  const char *label, bool *added, struct pm_error *err);

/* Notes since when number i is drained, by whom and why; NULL: not known. Texts are
 * copied. -ENOMEM: nothing is noted. */
int pm_drains_note(struct pm_drains *drains, uint32_t i, uint64_t since, const char *by,
		   const char *reason, struct pm_error *err);

/* Replaces *to by a copy. -ENOMEM: it stays. */
int pm_drains_copy(const struct pm_drains *from, struct pm_drains *to,
		   struct pm_error *err);

/* Takes number i out. */
void pm_drains_remove(struct pm_drains *drains, uint32_t i);

/* Whether both are the same things in the same order, whatever is noted of them. */
bool pm_drains_equal(const struct pm_drains *a, const struct pm_drains *b);

/*
 * Reads a file; one that is not there drains nothing. *drains is to be zeroed, and is
 * untouched on failure. -EINVAL: bad line, or drained twice, with a message that begins
 * with "path:LINE: ", or not a text; -EFBIG: more than 16 MiB; -ENOMEM; -errno of opening
 * or reading.
 */
int pm_drains_read(const char *path, struct pm_drains *drains, struct pm_error *err);

/* The same for text in memory, which source names in messages. */
int pm_drains_parse(const char *text, size_t length, const char *source,
		    struct pm_drains *drains, struct pm_error *err);

/*
 * Writes the file's text, of a label or a note the first 256 bytes; errors of the stream
 * are for the caller to see.
 */
void pm_drains_print(const struct pm_drains *drains, FILE *file);

/*
 * Takes drained cables out of alive[port] (see pm_plan_match), both ends. Cables are
 * left in without which an up-then-down path would join fewer pairs of switches with end
 * ports: no more of them than needed, those drained last rather than those drained
 * first. -ENOMEM: alive and *drains are untouched.
 * Cost: nothing if no drained cable is alive; else that of pm_exclude (exclude.h).
 */
int pm_drains_apply(struct pm_drains *drains, const struct pm_plan *plan, uint8_t *alive,
		    struct pm_error *err);

/* A word for a state: "unknown", "out" or "needed". */
const char *pm_drain_state_name(enum pm_drain_state state);

#endif
