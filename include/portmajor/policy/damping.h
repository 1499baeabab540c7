/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flapping cables between switches: which went down too often, and are kept out of
 * the tables until they have been up for a while.
 *
 * A cable that goes down more than `limit` times in less than window_ms is put on
 * hold: it is kept out until it has been up for hold_ms without a break. Going down
 * again, on hold or in less than window_ms after it, doubles the hold, up to
 * hold_max_ms. A window without that after a hold, and all is forgotten. So is a cable on
 * hold that has been down for hold_max_ms and a window: it may well be another one by
 * then. A cable that is down is just down, on hold or not.
 *
 *     limit 3       1   2   3   4              5
 *     up         ----. .-. .-. .-. .========-----. .================---------
 *     down           '-' '-' '-' '-'             '-'
 *                                  | hold  |       | twice the hold| window
 *                        (= is up and kept out)
 *
 * A hold never costs a path, see pm_damping_hold.
 *
 * A cable is known by its two ends, so that it does not matter whether the plan has
 * grown meanwhile. Only those that went down lately take memory. Times are those of
 * a clock that never goes backward, in ms.
 */
#ifndef PORTMAJOR_DAMPING_H
#define PORTMAJOR_DAMPING_H

#include <portmajor/plan/plan.h>

#define PM_DAMPING_LIMIT_MAX 31

struct pm_damping_config {
	uint32_t limit;	      /* times down that are tolerated, 0: never on hold */
	uint32_t window_ms;   /* 1 or more, as the following */
	uint32_t hold_ms;     /* the first hold */
	uint32_t hold_max_ms; /* not below hold_ms */
};

/* Opaque: what went down lately. */
struct pm_damping;

/* The caller frees *flaps. -EINVAL: a number out of its range; -ENOMEM. */
int pm_damping_make(const struct pm_damping_config *config, struct pm_damping **flaps,
		    struct pm_error *err);
void pm_damping_free(struct pm_damping *flaps);

/*
 * Notes which cables went down and came up. before[port] and now[port] of `known` are
 * as pm_plan_match has them (nothing taken out): when this was last called, and now;
 * 0 before where that is not known. now_ms is not less than in earlier calls. A cable
 * between two switches of which nothing is alive has not gone down: they are out of
 * sight, and it is not known how it is. What is known to have gone down and come up
 * between two observations takes two calls. -ENOMEM: nothing was noted.
 * Cost: O(ports) to compare, and for each cable that went down lately a search.
 */
int pm_damping_observe(struct pm_damping *flaps, const struct pm_fabric *known,
		       const uint8_t *before, const uint8_t *now, uint64_t now_ms,
		       struct pm_error *err);

struct pm_damping_holds {
	uint32_t on_hold;  /* cables that are up and were taken out */
	uint32_t released; /* that are on hold, but were left in */
	uint64_t next_ms;  /* until a hold of these ends; UINT64_MAX: never */
};

/*
 * Takes cables on hold out of alive[port], both ends. alive is the `now` of the last
 * pm_damping_observe. Cables are left in without which an up-then-down path would join
 * fewer pairs of switches with end ports: no more of them than needed, and those
 * with the shortest holds. -ENOMEM: alive and *holds are untouched.
 * Cost: nothing if no cable is on hold; else that of pm_exclude (exclude.h).
 */
int pm_damping_hold(struct pm_damping *flaps, const struct pm_plan *plan, uint8_t *alive,
		    uint64_t now_ms, struct pm_damping_holds *holds,
		    struct pm_error *err);

enum pm_damping_state {
	PM_DAMPING_NOTED,   /* went down lately, but not too often */
	PM_DAMPING_DOWN,    /* is down, and on hold when it comes up */
	PM_DAMPING_ON_HOLD, /* is up and kept out */
	PM_DAMPING_NEEDED,  /* is up and on hold, but in use as a last path */
	PM_DAMPING_WATCHED, /* in use after a hold, a window has not passed yet */
};

struct pm_damping_end {
	uint64_t guid;	  /* of the switch */
	unsigned int num; /* of the port */
};

/* A cable that went down lately. */
struct pm_damped_link {
	struct pm_damping_end end[2]; /* the one with the lower GUID or port first */
	enum pm_damping_state
		state;	  /* ON_HOLD or NEEDED: as of the last pm_damping_hold */
	uint32_t downs;	  /* times it went down, as far as remembered */
	uint32_t hold_ms; /* length of its present or last hold, 0: none */
	uint32_t left_ms; /* of the hold, 0: not on hold */
};

/*
 * The next cable in the order of its ends: *at is 0 at first and counts on. False
 * if there is none.
 */
bool pm_damping_next(const struct pm_damping *flaps, uint64_t now_ms, uint32_t *at,
		     struct pm_damped_link *flap);

/* A word for a state: "noted", "down", "on-hold", "needed" or "watched". */
const char *pm_damping_state_name(enum pm_damping_state state);

/* All that is known of a cable that went down lately, for keeping it. */
struct pm_damping_record {
	struct pm_damping_end end[2];
	uint32_t downs, hold_ms; /* as in struct pm_damped_link */
	bool up;
	uint64_t changed_ms; /* how long ago it went down or came up */
	uint32_t num;	     /* of the times in down_ms, 1 or more */
	uint64_t
		down_ms[PM_DAMPING_LIMIT_MAX + 1]; /* how long ago, the last time first */
};

/* As pm_damping_next. */
bool pm_damping_export(const struct pm_damping *flaps, uint64_t now_ms, uint32_t *at,
		       struct pm_damping_record *record);

/*
 * Adds a cable; of its times those that the limit asks for are kept. -EINVAL: it is known
 * already, or the record makes no sense; -ENOMEM.
 */
int pm_damping_import(struct pm_damping *flaps, uint64_t now_ms,
		      const struct pm_damping_record *record, struct pm_error *err);

/* A number that differs whenever what would be exported does, but for time passing. */
uint64_t pm_damping_changes(const struct pm_damping *flaps);

/*
 * Forgets the cable at this port of a switch, with num 0 all cables of the switch, and
 * with guid 0 all there are. Returns how many of them were on hold or watched after it.
 */
uint32_t pm_damping_clear(struct pm_damping *flaps, uint64_t guid, unsigned int num);

#endif
