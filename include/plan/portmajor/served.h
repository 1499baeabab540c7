/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much of what cables join the tables serve, and whether that is enough: the engine
 * gives way to OpenSM's next one where what is alive is no tree any more, and takes the
 * fabric back when it has been one again for a while.
 *
 *     3/4 ---------.            .-.          .--------------------   share that is served
 *                   \           | |         /
 *     1/2 - - - - - -\- - - - - - -\- - - -/- - - - - - - - - -
 *                     '--------'    '-----'
 *         we route    |the next engine     | hold        | we route
 *
 * A fabric is given away when less than half is served, and taken back when three
 * quarters have been served for a hold without a break. Each giving way doubles the hold,
 * up to a longest one; after as long as that in our hands the next hold is the first one
 * again. So whatever a fabric does, it changes hands a bounded number of times: with
 * holds of 60 to 3600 s it is given away 6 times in any hour at most.
 *
 * A sight in which less than half of the pairs are joined that were so at most is
 * blurred: rather answers are lost than cables. Only when it stays so for the first hold
 * is it believed, and the fabric given away.
 *
 * docs/design.md has the reasons for the marks.
 */
#ifndef PORTMAJOR_SERVED_H
#define PORTMAJOR_SERVED_H

#include <portmajor/reach.h>

/* Ordered pairs of end ports at different switches. Those at one need no tables. */
struct pm_served {
	uint64_t joined; /* that cables join, in whatever way */
	uint64_t pairs;	 /* of these: that an up-then-down path joins */
	uint32_t
		apart[2]; /* the switches of the first pair that none joins, or PM_NONE */
};

/*
 * Ordered pairs of end ports at different switches that an up-then-down path joins, where
 * hosts[switch] of them are attached. O(switches^2 / 64 + pairs of switches not joined).
 */
uint64_t pm_served_pairs(const struct pm_reach *reach, uint32_t num_switches,
			 const uint32_t *hosts);

/*
 * Lists the first pairs, up to max, of switches with end ports that cables join and no
 * up-then-down path does, each once; what is not listed stays. O(switches^2).
 */
void pm_served_apart(const struct pm_reach *reach, uint32_t num_switches,
		     const uint32_t *hosts, const uint32_t *part, uint32_t (*apart)[2],
		     uint32_t max);

/*
 * Counts, where hosts[switch] end ports are attached, part[switch] is as pm_reach_parts
 * has it, and room[switch] is room. O(switches^2 / 64 + pairs of switches not joined),
 * and O(switches^2) if any are apart.
 */
void pm_served_count(const struct pm_reach *reach, uint32_t num_switches,
		     const uint32_t *hosts, const uint32_t *part, uint32_t *room,
		     struct pm_served *served);

/*
 * The same for what is seen[port] in a skeleton, cables that are kept out of the tables
 * too: they join. NULL: all that the skeleton knows. -ENOMEM. Also O(cables).
 */
int pm_served_find(const struct pm_fabric *known, const struct pm_reach *reach,
		   const uint8_t *seen, struct pm_served *served, struct pm_error *err);

/* Half of the pairs that cables join, or more: a tree, if need be with parts missing. */
static inline bool pm_served_enough(const struct pm_served *served)
{
	return served->pairs >= served->joined - served->pairs;
}

/* Three quarters of them or more: what was given away may be taken back. */
static inline bool pm_served_well(const struct pm_served *served)
{
	return served->pairs >= 3 * (served->joined - served->pairs);
}

/* -ENOTSUP with a message that says what is not served. */
int pm_served_refuse(const struct pm_served *served, const struct pm_fabric *known,
		     const struct pm_tree *tree, struct pm_error *err);

/* Who routes. Read-only for everybody but served.c. */
struct pm_yield {
	uint32_t first_ms, longest_ms; /* holds */
	uint32_t hold_ms;	       /* the last one, 0: none, or forgotten */
	bool gave_way;		       /* the next engine routes */
	bool well;		       /* it does, but three quarters are served again */
	uint64_t since_ms;	       /* well, or else in our hands */
	uint64_t usual;		       /* pairs joined at most, in our hands */
	bool blurred;		       /* far fewer were joined, too few served .. */
	uint64_t blurred_ms;	       /* .. and since when */
};

/* In our hands. longest_ms is not below first_ms, that not 0. */
void pm_yield_init(struct pm_yield *yield, uint32_t first_ms, uint32_t longest_ms);

/*
 * Decides, for each routing run: yield->gave_way says whether to leave it to the next
 * engine. now_ms is that of a clock that never goes backward. Returns the ms until the
 * fabric changes hands if nothing happens, for which a run must be asked for then, or
 * UINT64_MAX. To be called only while there is an engine to give way to. O(1).
 */
uint64_t pm_yield_observe(struct pm_yield *yield, const struct pm_served *served,
			  uint64_t now_ms);

/* Ends a hold: the next pm_yield_observe takes a fabric that is well served back. */
void pm_yield_clear(struct pm_yield *yield);

#endif
