/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the source files of route.h. Rules and their reasons are at the top of
 * rules.c. Tables are made in layers, each on top of the one before:
 *
 *   preferred   (preferred.c, assign_ports.c) with every link usable; made once
 *               or, where a switch holds something as good, that (adopt.c)
 *   moved       (moved.c) entries with a preferred port that does not lead there now
 *   detours     (beyond.c, detour.c) entries for places that have no up-then-down path,
 *               and must be reached nevertheless
 */
#ifndef PORTMAJOR_ROUTE_ROUTE_PARTS_H
#define PORTMAJOR_ROUTE_ROUTE_PARTS_H

#include <portmajor/base/alloc.h>
#include <portmajor/base/bits.h>
#include <portmajor/base/pool.h>
#include <portmajor/fabric/reach.h>
#include <portmajor/route/route.h>

/* Data of a LID, for inner loops. */
struct destination {
	uint32_t sw;	/* switch of the place, PM_NONE: no such LID */
	uint32_t rank;	/* of the place; in a lone block all have one, see find_lone */
	uint32_t order; /* for the digits: see find_orders */
	uint32_t index; /* of slots: counted plane by plane, by rank; else the rank */
	uint32_t plane;
	uint8_t port; /* 0: the switch itself */
	bool counts; /* has a host's traffic: not a switch's, nor an aggregation node's */
};

/* LIDs that follow each other and have the same plane. */
struct interval {
	uint16_t start, length;
};

/* A leaf's own slots, which do not count among those that it sends to. */
struct own {
	uint32_t before; /* slots in planes before this one */
	uint32_t first;	 /* lowest rank in this plane, PM_NONE if it has none */
	uint32_t count;	 /* slots in this plane */
	uint32_t index;	 /* index of the plane's up port among the leaf's up ports */
};

/* Above all indexes of leaves: it is added before a leaf's index is subtracted. */
#define LEAF_INDEXES 65536u

/* The first leaf below a switch; without one, the first leaf of all. */
struct below {
	uint32_t leaf;
	uint32_t plane; /* plane of the leaf's link, PM_NONE for a leaf */
};

/* The assignment of foreign destinations to ports of one direction; see foreign.c. */
struct foreign {
	uint32_t
		step; /* ports from a switch to the next one of its component and level */
	uint32_t share; /* flows of a block for one port */
	uint32_t more;	/* of as many slots as there are other planes, this number .. */
	uint64_t flows[2];   /* .. has flows[1]; the others have flows[0] */
	uint64_t unit;	     /* of `flows`: a flow has this number of them */
	bool by_pod;	     /* no port serves two pods in a block */
	uint32_t phases;     /* number of assignments: 1, or the number of other planes */
	uint32_t width;	     /* most ports of a switch */
	uint32_t each_plane; /* number of ports for a plane, cyclically */
	uint8_t *part;	     /* [phase][lid] index of its port, below width */
	bool whole_blocks;   /* no block has two ports */
};

/* Places that a reach set has lost, and their LIDs. */
struct withdrawn {
	uint64_t *places;     /* [words] */
	struct pm_span words; /* the words with these places */
	uint64_t *blocks;     /* [touched_words] LFT blocks with such LIDs */
	uint64_t *lids;	      /* [block] its LIDs among these; in other blocks 0 */
};

/* State of a table, in pm_routes.moved[]. */
enum table_state {
	TABLE_PREFERRED,
	TABLE_MOVED,	/* differs, or may differ, from the preferred one */
	TABLE_ISOLATED, /* likewise; has own entries only, as all links have failed */
};

/* The tables without a failure, to which pm_routes_fail compares. */
struct unfailed {
	bool with_detours;
	struct pm_detours detours; /* if so: those of these tables */
	uint8_t *rows;		   /* [row][stride] of the first switches of .. */
	uint32_t num_rows, rows_room;
	uint32_t *row;	/* .. moved_list; [switch] PM_NONE: the preferred table */
	uint32_t hub;	/* the leaf where paths turn up, or PM_NONE */
	bool is_steady; /* as long as it is the hub, failures change few entries */
};

/*
 * Paths over whole_hub (beyond.c) with every link usable, and how they depend on links:
 * each failure changes few of them.
 */
struct hub_index {
	uint32_t hub;	 /* pm_routes.whole_hub, or PM_NONE */
	bool is_made;	 /* for the present preferred tables, .. */
	uint32_t sm;	 /* .. and this place of the subnet manager */
	uint64_t *from;	 /* [place][words] switches that need a path over the hub */
	uint64_t *over;	 /* [switch][words] places that it sends to as to the hub */
	uint64_t *via;	 /* [switch][words] places; such a path leads over this switch, up
			    to the first one that reaches the place */
	uint64_t *again; /* [words] working memory: places whose paths may change */
};

struct pm_routes {
	const struct pm_plan *plan;
	uint32_t stride, num_switches;
	struct pm_pool pool; /* of all arrays */

	/* Index: data that depend on the plan alone; read-only once made. */
	struct destination *to;	    /* [lid] */
	uint32_t *first_lid;	    /* [switch + 1] into lids_of */
	uint16_t *lids_of;	    /* LIDs, by the switch of their place */
	uint32_t *first_interval;   /* [plane + 1] into intervals; the last
				     * "plane" is for places without one */
	uint64_t *plane_blocks;	    /* [plane + 1][touched_words] blocks with its LIDs */
	struct interval *intervals; /* at most as many as LIDs */
	struct own *own;	    /* [leaf][plane] */
	uint32_t *moved_index;	    /* [leaf] its index for moved entries to other pods */
	uint32_t *first_up;	    /* [switch + 1] into up */
	uint8_t *up;		    /* up ports: see route_up */
	uint8_t *up_by_num;	    /* likewise, but by port number */
	uint64_t *leaf_set;	    /* [words] */
	uint64_t *planeless;	    /* [words] switches with a LID without a plane */
	bool uneven;		    /* some leaf lacks planes that others have */
	uint8_t *is_lone;	    /* [block] has LIDs of aggregation nodes, and of no
				     * other end ports; see index.c */
	uint64_t *nothing;	    /* [words] the empty set */
	struct pm_reach whole;	    /* with every link usable */
	uint32_t weight[PM_NO_LEVEL + 1]; /* [height] divisor of the digit there */
	struct below *below;		  /* [switch] */
	uint32_t other_pod;		  /* the first leaf of the second pod, or 0 */
	struct foreign foreign_up, foreign_down;

	/*
	 * Preferred: tables with every link usable, and data on them. Made once; adopt.c
	 * may replace them by the switches' tables.
	 */
	uint8_t *preferred; /* [switch][stride] */
	uint8_t *irregular; /* [leaf switch] not all entries are the planes' own ports:
			       the tree has holes */
	uint8_t *full;	    /* [switch] each up port leads to every leaf */

	/* Current: of the last update. */
	uint8_t *usable;     /* [port] */
	uint8_t *linked;     /* [port] this link or a parallel link is usable */
	struct pm_reach now; /* with usable[] */
	struct pm_reach_failure failure; /* failure.changed[] is for `now` */
	uint8_t *table;			 /* [switch][stride], valid where moved[switch] */
	uint8_t *moved;			 /* [switch] enum table_state */
	uint64_t *touched; /* [switch][touched_words] blocks; in all others the table is
			      the preferred one */
	uint32_t touched_words;
	uint32_t *moved_list; /* switches with moved[] set, each once */
	uint32_t num_moved;

	/* Failures, for fail.c. */
	bool whole_now; /* all links but cut[] are usable, and tables are those of .. */
	bool noting;	/* .. unfailed, except changes[] */
	bool stripped;	/* the last failure's tables were made from the preferred ones */
	struct unfailed unfailed;
	uint32_t *cut; /* ports, both ends of each link */
	uint32_t num_cut;
	uint32_t num_alone;   /* the first switches of moved_list, which have no link */
	uint64_t *everywhere; /* [words] switches that all switches reach in the whole
				 tree */
	struct pm_routes_change *changes; /* each entry once; not of the pool */
	uint32_t num_changes, changes_room;
	bool lacks_memory;	    /* a change could not be noted */
	uint64_t examined;	    /* see pm_routes_examined */
	struct withdrawn withdrawn; /* of the present set */
	uint64_t *named;  /* [port][touched_words] blocks in which the port's switch .. */
	uint8_t *indexed; /* .. prefers it; [switch] whether these are filled */

	uint64_t *alike; /* [words] working memory of moved.c */

	/* Working memory of detour.c; beyond.c uses the queue, too. */
	uint32_t *queue, *distance; /* [switch] */

	/* Paths beyond up and then down, for beyond.c. */
	uint32_t *upper; /* switches above the leaves with end ports, first those .. */
	uint32_t num_talking;  /* .. that are in talking[], */
	uint32_t num_may_turn; /* number of switches whose paths may turn at the hub */
	uint32_t *hubs; /* [num_hubs] leaves that may be the hub, the best one first */
	uint32_t num_hubs;
	uint32_t sm;  /* place of the subnet manager in the last update, or PM_NONE */
	uint32_t hub; /* switch where their paths turn up, or PM_NONE */
	bool had_hub; /* some update had one */
	struct hub_index hub_index;
	uint32_t whole_hub;   /* the hub that serves most in the whole tree, or PM_NONE */
	uint8_t *may_turn;    /* [switch] its paths may turn at the hub */
	uint64_t *with_slots; /* [words] switches that have or had end ports, .. */
	uint64_t *talking;    /* [words] .. and some that are no aggregation nodes */
	uint64_t *lacking, *senders; /* [words] working memory */
	uint8_t *has_services;	     /* [switch] some of these are service ports */
	uint8_t *marked;	     /* [switch] working memory */
};

/* The up ports of one switch; borrowed. */
struct up_ports {
	const uint8_t *num;
	uint32_t count;
};

/* Some ports of one switch. */
struct ports {
	uint8_t num[PM_MAX_PORTS + 1];
	uint32_t count;
};

static inline const struct pm_node *route_node(const struct pm_routes *routes,
					       uint32_t sw)
{
	return &routes->plan->topology->nodes[sw];
}

static inline uint32_t route_remote_switch(const struct pm_routes *routes, uint32_t port)
{
	return routes->plan->tree.remote[port];
}

/*
 * All up ports of a switch, usable or not, with parallel links side by side: so a block
 * with neighbouring ports depends on the fewest switches above.
 */
static inline struct up_ports route_up(const struct pm_routes *routes, uint32_t sw)
{
	uint32_t first = routes->first_up[sw];

	return (struct up_ports){routes->up + first, routes->first_up[sw + 1] - first};
}

/* The reach set over this link, if the link is usable. */
static inline const uint64_t *route_reach_over(const struct pm_routes *routes,
					       const struct pm_reach *reach,
					       uint32_t port)
{
	uint32_t remote = route_remote_switch(routes, port);

	return routes->plan->tree.direction[port] == PM_UP
		       ? pm_reach_updown(reach, remote)
		       : pm_reach_down(reach, remote);
}

static inline const uint8_t *route_preferred(const struct pm_routes *routes, uint32_t sw)
{
	return routes->preferred + (size_t)sw * routes->stride;
}

/* The table without a failure, see pm_routes_fail. */
static inline const uint8_t *route_unfailed(const struct pm_routes *routes, uint32_t sw)
{
	uint32_t row = routes->unfailed.row[sw];

	return row != PM_NONE ? routes->unfailed.rows + (size_t)row * routes->stride
			      : route_preferred(routes, sw);
}

/* The result of pm_routes_table(). */
static inline const uint8_t *route_table(const struct pm_routes *routes, uint32_t sw)
{
	return routes->moved[sw] ? routes->table + (size_t)sw * routes->stride
				 : route_preferred(routes, sw);
}

/* moved.c: notes a change by the present failure. */
void route_note(struct pm_routes *routes, uint32_t sw, uint32_t lid, uint8_t before,
		uint8_t after);

static inline uint64_t *route_touched(const struct pm_routes *routes, uint32_t sw)
{
	return routes->touched + (size_t)sw * routes->touched_words;
}

/* Changes an entry in the table of a switch. */
static inline void route_set(struct pm_routes *routes, uint32_t sw, uint32_t lid,
			     uint8_t after)
{
	routes->table[(size_t)sw * routes->stride + lid] = after;
	pm_bits_set(route_touched(routes, sw), lid / PM_LFT_BLOCK);
}

/* The same, and notes it if that is asked for. */
static inline void route_put(struct pm_routes *routes, uint32_t sw, uint32_t lid,
			     uint8_t before, uint8_t after)
{
	route_set(routes, sw, lid, after);
	if (routes->noting)
		route_note(routes, sw, lid, before, after);
}

/* Whether the reach set over a usable link differs from that in the whole tree. */
static inline bool route_reach_changed(const struct pm_routes *routes, uint32_t port)
{
	return routes->failure.changed[route_remote_switch(routes, port)] &
	       (routes->plan->tree.direction[port] == PM_UP ? PM_REACH_UPDOWN
							    : PM_REACH_DOWN);
}

/* route.c: whether a usable link leads to the same switch as this one; O(ports). */
bool route_has_stand_in(const struct pm_routes *routes, uint32_t port);
/* Computes the tables for usable[] from the preferred ones. */
void route_update(struct pm_routes *routes, const struct pm_detours *detours);

/* Whether the subnet manager is at this switch: all end ports need a path from there. */
static inline bool route_is_sm_switch(const struct pm_routes *routes, uint32_t sw)
{
	return routes->sm != PM_NONE && routes->plan->lid[routes->sm] &&
	       routes->plan->topology->ports[routes->sm].node == sw;
}

/* Whether a switch may need paths over the hub to other places. */
static inline bool route_may_need_hub(const struct pm_routes *routes, uint32_t sw)
{
	return pm_bits_test(routes->with_slots, sw) || route_is_sm_switch(routes, sw);
}

/* rules.c: ports of a switch, and the keys by which entries choose among them. */
void route_list_leading(const struct pm_routes *routes, uint32_t sw, uint32_t to,
			enum pm_direction direction, struct ports *list);
/* Whether a destination is native to a switch, and its entry there follows the digits. */
static inline bool route_is_native(const struct pm_routes *routes, uint32_t sw,
				   uint32_t lid)
{
	return pm_tree_is_native(&routes->plan->tree, routes->to[lid].plane, sw) &&
	       !routes->is_lone[lid / PM_LFT_BLOCK];
}

/* The plane by which foreign destinations choose among ports down. */
static inline uint32_t route_plane_key(const struct pm_routes *routes, uint32_t lid)
{
	return routes->is_lone[lid / PM_LFT_BLOCK] ? 0 : routes->to[lid].plane;
}

static inline uint32_t route_native_key(const struct pm_routes *routes, uint32_t sw,
					uint32_t lid)
{
	return routes->to[lid].order /
	       routes->weight[pm_tree_height(&routes->plan->tree, sw)];
}

/* The keys of foreign destinations, going up, and the phase, going down. */
uint32_t route_foreign_up(const struct pm_routes *routes, uint32_t sw, uint32_t lid);
uint32_t route_down_phase(const struct pm_routes *routes, uint32_t sw, uint32_t lid);

static inline uint32_t route_foreign_key(const struct pm_routes *routes,
					 const struct foreign *foreign, uint32_t phase,
					 uint32_t sw, uint32_t lid)
{
	return routes->plan->tree.index_in_level[sw] * foreign->step +
	       foreign->part[(size_t)phase * routes->stride + lid];
}

static inline uint32_t route_foreign_down(const struct pm_routes *routes, uint32_t sw,
					  uint32_t lid)
{
	const struct foreign *down = &routes->foreign_down;
	const struct pm_tree *tree = &routes->plan->tree;

	if (pm_tree_height(tree, sw) != 2)
		return tree->index_in_level[sw] + route_plane_key(routes, lid) +
		       routes->to[lid].rank;
	/* A plane further, so that planes with as many ports each differ. */
	return route_plane_key(routes, lid) +
	       route_foreign_key(routes, down,
				 down->phases > 1 ? route_down_phase(routes, sw, lid) : 0,
				 sw, lid);
}

/* Fills a row with foreign entries, by the keys above; `up` is not empty. */
void route_fill_foreign(const struct pm_routes *routes, uint32_t sw, struct up_ports up,
			uint8_t *row);
/* Assigns foreign destinations, for switches with at most `width` up ports; -ENOMEM. */
int route_assign_foreign(struct pm_routes *routes, uint32_t width, struct pm_error *err);

/* index.c: fills in all that depends on the plan alone; -ENOMEM. */
int route_index(struct pm_routes *routes, struct pm_error *err);

/* preferred.c: -ENOMEM. */
int route_fill_preferred(struct pm_routes *routes, struct pm_error *err);

/* assign_ports.c: leaves' preferred entries that planes do not determine; -ENOMEM. */
int route_assign(struct pm_routes *routes, struct pm_error *err);
/* relief.c: changes some of these where a port has too many; -ENOMEM. */
int route_relieve(struct pm_routes *routes, struct pm_error *err);

/* moved.c */
uint8_t route_move_entry(const struct pm_routes *routes, uint32_t sw, uint32_t lid,
			 uint8_t instead_of);
void route_fill_own(const struct pm_routes *routes, uint32_t sw, uint8_t *row);
void route_update_switch(struct pm_routes *routes, uint32_t sw);
/* Makes the table a copy of the preferred one, for changes by route_set. */
void route_start_moving(struct pm_routes *routes, uint32_t sw);
/* Moves the entries with a port that no longer leads to their place. */
void route_move_from(struct pm_routes *routes, uint32_t sw, uint32_t port);
/* The same for a usable port and the LIDs in `withdrawn`. */
void route_move_withdrawn(struct pm_routes *routes, uint32_t sw, uint32_t port,
			  const struct withdrawn *withdrawn);
/* Prefetches the entries that route_move_withdrawn will examine. */
void route_fetch_withdrawn(struct pm_routes *routes, uint32_t sw, uint32_t port,
			   const struct withdrawn *withdrawn);
/* Whether all links of a switch to others have failed. */
bool route_is_alone(const struct pm_routes *routes, uint32_t sw);
/* If so, leaves the switch only its own entries; else false. */
bool route_isolate(struct pm_routes *routes, uint32_t sw);
/* Notes that the table will be, or the preferred one was, changed in another way. */
void route_touch_all(struct pm_routes *routes, uint32_t sw);

/*
 * beyond.c. The first chooses the hub. The second adds paths that go down and up again
 * there. The third adds such paths from all switches to the subnet manager's place, which
 * has LIDs, so that its detours turn up elsewhere only where they must. The fourth finds
 * the end ports that need such paths; -ENOMEM.
 */
void route_choose_hub(struct pm_routes *routes);
void route_add_beyond(struct pm_routes *routes);
void route_add_beyond_to_sm(struct pm_routes *routes, uint32_t sm);
int route_index_beyond(struct pm_routes *routes, struct pm_error *err);
/*
 * Whether hub_index.hub is surely the hub after a failure, whose entries have not moved
 * yet.
 */
bool route_keeps_hub(struct pm_routes *routes);
/*
 * Whether the present failure takes the last up-then-down path of switches with hosts
 * that still have links. O(switches that reach less).
 */
bool route_cuts_hosts(struct pm_routes *routes);
/*
 * Whether end ports of these switches need a path over the hub where they have no other.
 */
bool route_wants_hub(const struct pm_routes *routes, uint32_t from, uint32_t to);
/*
 * Sets marked[] for the switches that send to a place as to the hub, as those in from[]
 * need it. If `via` is not NULL, does so for preferred tables with every link usable, and
 * adds the place to these sets.
 */
void route_mark_beyond(struct pm_routes *routes, uint32_t to, const uint64_t *from,
		       uint64_t *via);
/* Sends from a switch to a place as to the hub. */
void route_send_to_hub(struct pm_routes *routes, uint32_t sw, uint32_t to);

/*
 * hub_entries.c: the first chooses the hub and adds all of its entries. The second
 * updates these, and notes, after pm_routes_fail has moved entries of tables that had
 * them.
 */
void route_add_hub_entries(struct pm_routes *routes);
void route_update_hub_entries(struct pm_routes *routes);

/* detour.c: adds both kinds of detours. */
void route_add_detours(struct pm_routes *routes, const struct pm_detours *detours);

#endif
