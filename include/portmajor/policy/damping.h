/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Link damping: links between switches that went down too often are on hold, out of the
 * tables, until they have been up for a while.
 *
 * A link that goes down more than `limit` times in less than window_ms is on hold until
 * it has been up for hold_ms without a break. When it goes down again, on hold or less
 * than window_ms after a hold, the hold doubles, up to hold_max_ms. By default the limit
 * is 3, the window 60 s, and holds are 60 to 3600 s. The history ends a window after a
 * hold or, without one, after the last time down. It also ends when a link on hold has
 * been down for hold_max_ms and a window, as the link may have been replaced.
 *
 *     limit 3       1   2   3   4              5
 *     up         ----. .-. .-. .-. .========-----. .================---------
 *     down           '-' '-' '-' '-'             '-'
 *                                  | hold  |       | twice the hold| window
 *                        (= is up and kept out)
 *
 * A hold never cuts off a pair of hosts, see pm_damping_hold.
 *
 * A link is identified by its two ends, so a plan may grow meanwhile. Only links that
 * went down lately take memory. Times are of a monotonic clock, in ms.
 */
#ifndef PORTMAJOR_DAMPING_H
#define PORTMAJOR_DAMPING_H

#include <portmajor/plan/plan.h>

#define PM_DAMPING_LIMIT_MAX 31

struct pm_damping_config {
	uint32_t limit;	      /* tolerated times down; 0: never on hold */
	uint32_t window_ms;   /* 1 or more, as the following */
	uint32_t hold_ms;     /* the first hold */
	uint32_t hold_max_ms; /* not below hold_ms */
};

/* Opaque: links that went down lately. */
struct pm_damping;

/* The caller frees *damping. -EINVAL: a number out of its range; -ENOMEM. */
int pm_damping_make(const struct pm_damping_config *config, struct pm_damping **damping,
		    struct pm_error *err);
void pm_damping_free(struct pm_damping *damping);

/*
 * Notes links that went down and came up. before[port] and now[port] of `topology` are
 * from pm_plan_match, with nothing excluded: at the last call (0 if unknown), and now.
 * now_ms never decreases. A link between two switches without any usable port does not
 * count as gone down, as neither switch can be observed. A link that went down and came
 * up between two observations takes two calls. -ENOMEM: nothing was noted. Cost: O(ports)
 * to compare, and for each link that went down lately a search.
 */
int pm_damping_observe(struct pm_damping *damping, const struct pm_fabric *topology,
		       const uint8_t *before, const uint8_t *now, uint64_t now_ms,
		       struct pm_error *err);

struct pm_damping_holds {
	uint32_t on_hold; /* links that are up and excluded */
	uint32_t needed;  /* links on hold that are in use, as hosts need them */
	uint64_t next_ms; /* ms until a hold ends; UINT64_MAX: none does */
};

/*
 * Excludes links on hold from usable[port] by pm_exclude (exclude.h), which leaves in
 * needed links: those with the shortest holds. usable is the `now` of the last
 * pm_damping_observe. -ENOMEM: usable and *holds are untouched. Cost: nothing if no link
 * is on hold; else that of pm_exclude.
 */
int pm_damping_hold(struct pm_damping *damping, const struct pm_plan *plan,
		    uint8_t *usable, uint64_t now_ms, struct pm_damping_holds *holds,
		    struct pm_error *err);

enum pm_damping_state {
	PM_DAMPING_NOTED,   /* went down lately, but not too often */
	PM_DAMPING_DOWN,    /* down, and on hold when it comes up */
	PM_DAMPING_ON_HOLD, /* up and excluded */
	PM_DAMPING_NEEDED,  /* up and on hold, but in use as a last path */
	PM_DAMPING_WATCHED, /* in use after a hold, for less than a window */
};

struct pm_damping_end {
	uint64_t guid;	  /* of the switch */
	unsigned int num; /* of the port */
};

/* A link that went down lately. */
struct pm_damped_link {
	struct pm_damping_end end[2]; /* the end with the lower GUID or port first */
	enum pm_damping_state
		state;	  /* ON_HOLD or NEEDED: as of the last pm_damping_hold */
	uint32_t downs;	  /* remembered times that it went down */
	uint32_t hold_ms; /* length of its present or last hold, 0: none */
	uint32_t left_ms; /* of the hold, 0: not on hold */
};

/*
 * The next link in the order of ends. *at is 0 at first; each call advances it. False:
 * there is none.
 */
bool pm_damping_next(const struct pm_damping *damping, uint64_t now_ms, uint32_t *at,
		     struct pm_damped_link *link);

/* "noted", "down", "on-hold", "needed" or "watched". */
const char *pm_damping_state_name(enum pm_damping_state state);

/* A link that went down lately, to save it. */
struct pm_damping_record {
	struct pm_damping_end end[2];
	uint32_t downs, hold_ms; /* as in struct pm_damped_link */
	bool up;
	uint64_t changed_ms;			    /* since it went down or came up */
	uint32_t num;				    /* times in down_ms, 1 or more */
	uint64_t down_ms[PM_DAMPING_LIMIT_MAX + 1]; /* ms ago, the last time first */
};

/* As pm_damping_next. */
bool pm_damping_export(const struct pm_damping *damping, uint64_t now_ms, uint32_t *at,
		       struct pm_damping_record *record);

/*
 * Adds a link with its last times down, as many as the limit needs. -EINVAL: it is there
 * already, or the record is invalid; -ENOMEM.
 */
int pm_damping_import(struct pm_damping *damping, uint64_t now_ms,
		      const struct pm_damping_record *record, struct pm_error *err);

/*
 * Makes a copy with another configuration, which the caller frees. Holds above its
 * hold_max_ms are shortened. -EINVAL: see pm_damping_make; -ENOMEM. O(links).
 */
int pm_damping_copy(const struct pm_damping *from, const struct pm_damping_config *config,
		    uint64_t now_ms, struct pm_damping **to, struct pm_error *err);

/*
 * A number that changes when the exported records change, other than by the passage of
 * time.
 */
uint64_t pm_damping_changes(const struct pm_damping *damping);

/*
 * Forgets the link at this port of a switch, with num 0 all links of the switch, with
 * guid 0 all links. Returns the number of those that were on hold or watched.
 */
uint32_t pm_damping_clear(struct pm_damping *damping, uint64_t guid, unsigned int num);

#endif
