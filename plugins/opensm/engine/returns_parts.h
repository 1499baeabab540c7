/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Returns from inside: what their files share.
 *
 *     returns.c          traps, and where links came back
 *     returns_ask.c      asks what is at these links; what is left to OpenSM
 *     returns_serve.c    brings the others into service
 *     returns_smps.c     the SMPs of both
 *     returns_record.c   has OpenSM's record follow
 *     returns_base.c     what these share
 */
#ifndef PORTMAJOR_RETURNS_PARTS_H
#define PORTMAJOR_RETURNS_PARTS_H

#include "clock.h"
#include "returns.h"

#include <portmajor/base/alloc.h>

#include <pthread.h>

#define SILENT_MS 80 /* as in repair.c */
#define RETRY_MS 50  /* pause before the first retry, which doubles */
#define RETRIES 6
#define WAIT_MS 500   /* between checks whether OpenSM still sets ports: returns_hurry */
#define CREDIT_MS 100 /* from a link's first trap to that of its other end */
#define MOST_ROUNDS 8
#define FLAPS 3		    /* returns of a host within .. */
#define FLAP_WINDOW_MS 10e3 /* .. this time: served once in .. */
#define FLAP_PAUSE_MS 1e3
#define ALREADY_ACTIVE 0x1c /* status of a Set(ACTIVE) to a port that is */

/* One end of a link, as OpenSM's record may have it. */
struct served_end {
	ib_net64_t guid;
	ib_port_info_t info; /* with the port ACTIVE */
	uint8_t num;
};

struct served {
	struct served_end ends[2];
	uint16_t lid; /* of the switch */
	double at_ms; /* clock_ms */
};

/* What a switch got as its whole table, as OpenSM had no record. */
struct written {
	bool any;
	uint8_t *table; /* [pm_routes_stride], or NULL: not all of it was acknowledged */
};

/* What became of a link, by its near end. */
struct history {
	double at[FLAPS]; /* the last times at which a host was served, clock_ms */
	uint8_t next;
	bool told;	  /* that it waits, since the last of them */
	uint32_t sweep;	  /* records->sweep in which it was left to OpenSM, .. */
	const char *left; /* .. and why, or NULL */
	double gone;	  /* when a host's link was found down, clock_ms; 0: it is not */
};

struct returns {
	pthread_mutex_t lock;
	/* under it: */
	uint8_t noted[PM_MAX_LID + 1]; /* [LID] of a switch: its traps, up to 255 */
	uint32_t num_noted;
	bool fresh; /* a trap since the last run */
	bool waits; /* some link waits until OpenSM sets no ports */
	double first_trap;
	double begun; /* clock_ms of the last discovery's begin */
	struct served *served;
	uint32_t num_served, served_room;
	/* of the thread: */
	uint32_t number, tries;
	double retry_ms, flap_ms; /* clock_ms, or 0 */
	uint32_t serial;	  /* of the plan of: */
	uint8_t *down;		  /* [port] found down, whatever OpenSM's record says */
	uint8_t *unexplained;	  /* [switch] its traps */
	uint8_t *credit;  /* [switch] traps that are to come, as its cables are back .. */
	double credit_ms; /* .. until then */
	struct history *history; /* [port] */
	struct written *written; /* [switch] */
	uint32_t num_written;	 /* its length */
	bool any_written;
};

/* An end of a link that came back. */
struct end {
	const struct link_end *last; /* what OpenSM set */
	ib_net64_t m_key;
	osm_dr_path_t route;
	ib_port_info_t has, want;
	bool differs;
};

struct link {
	uint32_t port;		      /* the near end, of a switch that is reached */
	uint32_t peer;		      /* the far end, or PM_NONE: a host's */
	const struct link_host *host; /* or NULL */
	struct end near, far;
	osm_dr_path_t back;  /* to the near end over this link, if `disputed` */
	bool disputed;	     /* OpenSM has ports that are up there, but not the link */
	uint8_t wrong_pkeys; /* bits of blocks */
	bool lost_qos;	     /* a host that was reset: its qos tables */
	bool silent;
	bool waits;	 /* OpenSM may be setting it, or it flaps */
	bool found;	 /* OpenSM's running sweep sets it */
	const char *why; /* it is left to OpenSM, or NULL */
};

/* An SMP. */
struct item {
	uint32_t link; /* or a port that is read */
	enum smp_kind kind;
	uint8_t end; /* 0 near, 1 far */
	uint8_t block;
	uint8_t state; /* of a SMP_SET_PORT */
};

/* Which ports of a switch are read: those known to be down, or all. */
enum { REPORT_DOWN = 1, REPORT_ALL };

/* One run. */
struct work {
	struct returns *returns;
	const struct returns_subject *on;
	const struct pm_plan *plan;
	const struct pm_fabric *topology;
	uint8_t *up;	 /* [port] links in service */
	uint8_t *passed; /* [port] links for SMPs: these, and those that may be served */
	uint8_t *start;	 /* [port] discovered at the start */
	uint32_t *via;	 /* [switch] port that leads to it, or PM_NONE */
	uint8_t sm_port; /* number of the SM's own port, 0: it is on a switch */
	uint8_t *reported;	    /* [switch] it is to be read: REPORT_DOWN .. */
	uint8_t *read;		    /* [switch] it was reported by a link */
	uint8_t *fits;		    /* [switch] see struct returned, so far */
	uint8_t *traps, *explained; /* [switch] numbers of them, .. */
	uint8_t *credited;	    /* .. of these, explained before they came */
	uint32_t *asked;	    /* [switch] 1 + index in switches.list, or 0 */
	struct returned_switches switches;
	uint32_t *ports; /* to read */
	uint8_t *taken;	 /* [port] of a link in the list */
	uint32_t num_ports, ports_room;
	struct link *links;
	uint32_t num_links, links_room;
	struct item *items;
	uint32_t num_items, items_room;
	uint32_t judged; /* links that were asked, first in the list */
	struct smp_count queries, sets;
	struct returned *result;
	double first_trap;
	bool waits; /* some link waits for OpenSM */
	bool no_memory;
	bool used; /* the view has cables that are not all in service */
};

/* ---- returns_base.c ---- */

void returns_note_lid(struct returns *returns, uint16_t lid, bool fresh);
void returns_count_up(uint8_t *count); /* up to UINT8_MAX */

/* A trap of this switch is to come that is explained already. */
void returns_give_credit(struct returns *returns, uint32_t node, uint32_t num_switches);

/* A port of a switch of the plan. */
struct pm_damping_end returns_end(const struct work *work, uint32_t port);

/* Adds a port's name to a text, or a cable's, unless peer is PM_NONE; if there is room.
 */
void returns_name_link(const struct work *work, uint32_t port, uint32_t peer, char *text);

/* Counts a trap of a switch as explained. */
void returns_count_explained(struct work *work, uint32_t node);

/* The path to a switch that is reached, then out at a port of it, unless that is 0. */
bool returns_route(const struct work *work, uint32_t node, uint8_t out,
		   osm_dr_path_t *route);
ib_net64_t returns_key_of(const struct work *work, uint32_t node); /* a switch's M_Key */

bool returns_is_over(const struct work *work);

/* Forgets what a switch got as its table, or all got. */
void returns_forget_table(struct written *written);
void returns_forget_written(struct returns *returns);

/* Sends work->num_items SMPs. */
void returns_send(struct work *work, struct smp_count *count,
		  enum smp_make (*make)(void *context, uint32_t index,
					struct smp_request *smp),
		  bool (*take)(void *context, const struct smp_answer *answer));

/* ---- returns_record.c ---- */

/* In OpenSM's record, or NULL. With osm->lock held. */
osm_physp_t *returns_find_physp(const osm_subn_t *subn, ib_net64_t guid, uint8_t num);

/*
 * Has OpenSM's record follow. `links`: the ends are linked there, too, if it has both.
 * Whether it has the link. With osm->lock held exclusively.
 */
bool returns_settle_one(osm_subn_t *subn, const struct served *served, bool links);
void returns_remember(struct returns *returns, const struct served *served);
void returns_forget_served(struct returns *returns, const struct served_end *end);

/* ---- returns_ask.c ---- */

/*
 * Asks what is at the links that are listed and were not asked, and judges them. Reports
 * switches that are reached over them and whose other links may be back.
 */
void returns_ask(struct work *work);

/* Whether nothing speaks against a link's service, so far. */
bool returns_is_good(const struct link *link);

/* The switches of a link, or NULL: none is asked. */
void returns_find_switches(const struct work *work, const struct link *link,
			   struct returned_switch *switches[2]);

/* Takes over what became of a link's switches. */
void returns_judge_switches(const struct work *work, struct link *link);

/* Lists a switch to ask, or to write, over this route. */
void returns_list_switch(struct work *work, uint32_t node, ib_net64_t m_key,
			 const osm_dr_path_t *route);

/* ---- returns_serve.c ---- */

/* Brings the links that were judged good into service. */
void returns_serve(struct work *work);

/* Has switches with whole tables of which OpenSM has no record follow. */
void returns_rewrite(struct work *work);

/* ---- returns_smps.c ---- */

void returns_add_smp(struct work *work, const struct item *item);

/* Sends those that were added, and takes their answers. */
void returns_send_smps(struct work *work, struct smp_count *count);

#endif
