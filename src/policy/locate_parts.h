/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by locate*.c: the findings on a failure, and the paths to switches. */
#ifndef PM_LOCATE_PARTS_H
#define PM_LOCATE_PARTS_H

#include <portmajor/base/alloc.h>
#include <portmajor/fabric/search.h>
#include <portmajor/policy/locate.h>

enum link_state {
	UNQUERIED,
	QUERIED,	/* at this end .. */
	QUERIED_REMOTE, /* .. or at the other end */
	UP,
	DOWN,
	SILENT,
	RETURNED, /* not up before, and up now, .. */
	GONE,	  /* .. or not up now; it may have been up meanwhile */
};

/* A path as the output port at each switch. */
struct directed_route {
	int hops;
	uint32_t ports[PM_LOCATE_HOPS];
};

/* A probe: an SMP over a path that is not proven. */
struct probe {
	uint32_t sw;
	struct directed_route route;
};

struct pm_locate {
	struct pm_pool pool; /* of all arrays */
	const struct pm_routes *routes;
	const struct pm_plan *plan;
	uint8_t *discovered; /* [port] up before, in use or not */
	uint32_t home;	     /* the subnet manager's switch .. */
	uint32_t sm;	     /* .. and place */
	uint8_t *link; /* [port] enum link_state, the same at both ends but for QUERIED */
	uint32_t *reports;  /* [switch] */
	uint32_t *failed;   /* [switch] links found failed at it */
	uint8_t *heard;	    /* [switch] has reported or answered */
	uint8_t *answered;  /* [switch] */
	uint8_t *searched;  /* [switch] all its ports are queried */
	uint8_t *doubtful;  /* [switch] suspect, in the component of a dark switch, or on
			       the path to a switch that did not answer */
	uint8_t *mute;	    /* [switch] did not answer over a proven path */
	uint8_t *wanted;    /* [switch] pm_locate_want */
	uint32_t fruitless; /* searched switches in a row without a failed link */
	uint32_t silences;  /* unanswered SMPs so far .. */
	uint32_t excused;   /* .. and before `careful` was set */
	bool sweeping;	    /* see pm_locate_sweeping */
	bool careful;	    /* only proven paths are used .. */
	bool warned;	    /* .. and no SMP is out over another path */
	bool over;

	/* Paths. */
	uint32_t *proof;    /* [switch] by[] of search.h: of the proven paths, .. */
	uint32_t *clear_by; /* .. of a search around doubtful switches, .. */
	uint32_t *any_by;   /* .. and of one through them */
	bool paths_known;   /* clear_by and any_by are up to date */
	uint32_t *queue;    /* [switch] scratch */
	struct probe probes[PM_LOCATE_PROBES];
	uint32_t num_probes;

	/* The list of pm_locate_queries. */
	uint32_t *ports;
	uint32_t count, max;
};

/* The switch at the other end of a port's link, or PM_NONE. */
static inline uint32_t locate_remote(const struct pm_locate *locate, uint32_t port)
{
	return pm_fabric_peer_node(locate->plan->topology, port);
}

static inline bool locate_is_proven(const struct pm_locate *locate, uint32_t sw)
{
	return locate->proof[sw] != PM_NONE;
}

static inline bool locate_was_usable(const struct pm_locate *locate, uint32_t port)
{
	return locate->discovered[port] && locate_remote(locate, port) != PM_NONE;
}

static inline void locate_set_link(struct pm_locate *locate, uint32_t port,
				   enum link_state state)
{
	locate->link[port] = (uint8_t)state;
	locate->link[locate->plan->topology->ports[port].peer] = (uint8_t)state;
}

/* locate_paths.c: proves the switch behind a link that is up, if this end is. */
void locate_prove(struct pm_locate *locate, uint32_t port);

/* Proves anew all switches that links known to be up connect with the subnet manager. */
void locate_prove_again(struct pm_locate *locate);

/* The port by which a switch sends its reports, by its table; PM_NONE: there is none. */
uint32_t locate_reports_by(const struct pm_locate *locate, uint32_t sw);

/* A path to a switch, over proven links as far as possible; false if there is none. */
bool locate_find_path(struct pm_locate *locate, uint32_t sw,
		      struct directed_route *route);

#endif
