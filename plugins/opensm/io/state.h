/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The published state: the file state, JSON, in the store's folder, and portmajor.prom
 * for Prometheus. docs/json.md has the members.
 *
 * The sweeper builds the document from its own data, and the repairer updates its
 * members. The writer's thread (worker.h) writes it, so that a slow disk delays no sweep;
 * it does so at least every minute, so that the document's time shows whether OpenSM
 * runs. No lock of OpenSM's is needed or taken.
 */
#ifndef PORTMAJOR_STATE_H
#define PORTMAJOR_STATE_H

#include "engine/transition.h"
#include "activity.h"
#include "engine/planning.h"
#include "engine/repair.h"
#include "engine/returns.h"
#include "engine/shadow.h"
#include "engine/degraded_links.h"
#include "engine/engine_check.h"
#include "engine/throttle.h"
#include "events.h"
#include "host_flaps.h"
#include "known_hosts.h"
#include "port_errors.h"
#include "store.h"
#include "osm/lft_records.h"
#include "osm/other_engine.h"
#include "osm/unset.h"
#include "engine/view.h"

#include <portmajor/files/requests.h>
#include <portmajor/plan/missing.h>

#include <jansson.h>

struct state;

/* A finished routing run. */
struct state_run {
	uint64_t number;
	const char *change;
	const struct lft_records_written *written;
	uint64_t acked; /* blocks */
	uint32_t lids_assigned, lids_changed, out_of_plan;
	uint32_t stale;	     /* entries removed, see stale.h */
	uint32_t loops;	     /* LIDs that would have looped */
	double milliseconds; /* of computing */
};

/* A run in shadow mode. */
struct state_shadow {
	uint64_t number;
	const char *change; /* change, or why the fabric would be declined */
	const struct shadow_result *found; /* NULL: the fabric would be declined */
	uint32_t out_of_plan;
	double milliseconds;	       /* of computing */
	const char *engine;	       /* that routed; NULL: its blocks are not known */
	struct other_engine_sent sent; /* by that engine */
};

/* Other members of the document; all borrowed until state_publish returns. */
struct state_facts {
	const struct planning *planning;
	const struct view *view;
	const char *unreachable; /* text on unreachable switches, or "" */
	const char *unfit;	 /* bad switches, by name and fault, or "" */
	const char *misread;	 /* error of the configuration file, or "" */
	bool failed_over;	 /* another engine routes, see failback.h .. */
	uint64_t failback_in_ms; /* .. for this time if nothing changes, or UINT64_MAX */
	const char *drains_unread; /* why requests are not followed, or "" */
	bool degraded_known;	   /* degraded links, by port of */
	const struct pm_degraded_link *degraded; /* view->plan->topology */
	uint32_t num_degraded;
	const struct pm_missing *missing; /* of the plan in force; NULL: not known */
	/* Of the view, with which drains are published; NULL: both stay as they were. */
	const struct unset *unset;
	bool transitions; /* they may follow newer drains than the view's, and renew them
			   */
};

/*
 * The writer's rounds must call state_write; it writes state, metrics and events once the
 * store is open. Metrics go to the file config->prometheus, unless that is "" or, if it
 * is a folder, to portmajor.GUID.prom in it, with the port's GUID. Without
 * config->prometheus they go to the store's folder. Events go to the file `events` of the
 * store's folder; events NULL: there are none. Of the configuration, `prometheus`,
 * port_error_limit and `flap` are used. NULL without memory.
 */
struct state *state_start(osm_opensm_t *osm, struct store *store, struct worker *writer,
			  struct events *events, const struct pm_config *config);

/*
 * Takes over another configuration's port_error_limit and `flap`, from the next write on.
 * On any thread.
 */
void state_set(struct state *state, const struct pm_config *config);

/* After the writer has ended. */
void state_stop(struct state *state);

/*
 * The first part of a round of the writer, on its thread: takes the newest document. The
 * fabric is taken afterwards, so that it is not older.
 */
void state_take(struct state *state);

/*
 * The rest of a round, after store_write: writes the files if there is news, after a
 * minute, or with `last`: OpenSM has ended. Acknowledged parts are those of the requests
 * in force. now: the fabric, NULL: not known. Returns the clock_ms of the next round.
 */
double state_write(struct state *state, const struct known_hosts *hosts,
		   const struct pm_fabric *now, const struct pm_requests *requests,
		   bool last);

/*
 * Takes over missing parts, with their times and names, from the state of another place
 * (store_take_source), whose OpenSM was the master of this fabric: they are no events
 * here. On the writer's thread, before state_write.
 */
void state_inherit(struct state *state, const char *place);

/*
 * Takes over what came of reading tables on request (tables_file.h), NULL: no memory. On
 * the writer's thread, before state_write.
 */
void state_note_tables_read(struct state *state, json_t *read);

/* The last complete document, NULL: none yet, and how many there were; likewise. */
const json_t *state_written(const struct state *state, uint64_t *times);

/* The plan of the last document, to be freed, or NULL. On any thread. */
const struct pm_plan *state_plan(struct state *state);

void state_note_run(struct state *state, const struct state_run *run);
void state_note_shadow(struct state *state, const struct state_shadow *shadow);
void state_note_repair(struct state *state, const struct repaired *repaired);
/* Blocks of a repair that were for cables that are back: no failure. */
void state_note_came(struct state *state, const struct repaired *repaired);
void state_note_return(struct state *state, const struct returned *returned);
/* OpenSM's next sweep waits, or does not any more. */
void state_note_wait(struct state *state, const struct throttle_wait *wait);

/* Replaces the missing parts of a sweep by those of its plan. On any thread. */
void state_renew_missing(struct state *state, const struct pm_plan *plan,
			 const struct pm_missing *missing);

/* Whether OpenSM's port is down, though OpenSM may not know it yet. On any thread. */
void state_note_own_port(struct state *state, bool down);
void state_note_transition(struct state *state, uint64_t number,
			   const struct transition_result *done);

/* Notes why the engine's callback returns -1. Another engine that routed last stays
 * noted. */
void state_note_declined(struct state *state, const struct pm_error *why);

/*
 * At UCAST_ROUTING_DONE: notes the engine that routed and, if it is not portmajor, and
 * portmajor did not decline, the reason.
 */
void state_note_engine(struct state *state, const char *name, bool ours,
		       const char *why_not);

/*
 * Has the writer write what is wrong with the tables of another engine, which stays until
 * portmajor or a third one routes. On any thread.
 */
void state_note_verdict(struct state *state, const struct engine_verdict *verdict);

/*
 * The notes below are for any thread, and do not wait. The files have them at the next
 * write: after state_publish, or within a minute.
 *
 * OpenSM's present phase.
 */
void state_note_phase(struct state *state, enum sweep_phase phase);

/* The times of a repair, after state_note_repair. */
void state_note_repair_time(struct state *state, const struct state_repair_time *took);

/* A reading of a port's counters; takes no lock of OpenSM's. */
void state_note_port_errors(struct state *state, const struct port_reading *reading);

/* More traps were dropped for want of room. */
void state_note_traps_dropped(struct state *state, uint64_t more);

/* Multicast groups, routed or not. */
void state_note_multicast(struct state *state, const struct state_multicast *groups);

/* The present distance of tables from the plan's. */
void state_note_balance(struct state *state, const struct state_balance *balance);

/*
 * Has the writer write the present state, soon. Takes no lock of OpenSM's and waits for
 * no disk.
 */
void state_publish(struct state *state, const struct state_facts *facts);

/*
 * The same for the members that a repair or a transition changes, the totals, and the
 * view's links; the rest stays as last published. Does nothing before the first
 * state_publish.
 */
void state_renew(struct state *state, const struct view *view, const char *drains_unread,
		 const struct unset *unset);

/* The same only for why requests are not followed, or "". */
void state_renew_unread(struct state *state, const char *drains_unread);

#endif
