/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The adapter between OpenSM and the core: what its source files share.
 *
 * One sweep, all of it on OpenSM's sweeper thread:
 *
 *   HEAVY_SWEEP_START    before discovery, no lock held (repair.c): losses that traps
 *                        have told of are found, tables computed, blocks sent
 *   HEAVY_SWEEP_DONE     discovery is over, no lock held (lids.c): the fabric is
 *                        copied, the plan made or grown, LIDs are given to
 *                        OpenSM's LID manager, tables computed
 *   engine callback      osm->lock held by OpenSM (tables.c): copied again, as
 *                        the drop manager has run since; tables are written to
 *                        new_lft, switches with an intact table marked so
 *   UCAST_ROUTING_DONE   all LFT blocks are answered (tables.c): what was
 *                        acknowledged is counted, the run logged in one line, and
 *                        a changed plan saved (store.c); the state is published
 *                        (state.c)
 *
 * A failure anywhere leaves OpenSM's forwarding tables as they are; the callback then
 * returns -1 and OpenSM goes on to its next engine. LIDs that the LID manager has been
 * given by then stay.
 */
#ifndef PORTMAJOR_PLUGIN_H
#define PORTMAJOR_PLUGIN_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include <pthread.h>

#include <portmajor/config.h>
#include <portmajor/delta.h>
#include <portmajor/plan.h>
#include <portmajor/roles.h>
#include <portmajor/route.h>

#define PLUGIN_CHANGE_TEXT 512

/* An early repair, as it is logged. */
struct plugin_repaired {
	char change[PLUGIN_CHANGE_TEXT];
	uint32_t number, traps, queries, unanswered, links_down;
	uint32_t looks; /* that found something; above 1 a burst was seen in parts */
	uint64_t sent, acked, bound; /* blocks */
	uint64_t switches;
	double milliseconds; /* from the first trap to the last answer */
	bool gave_up;	     /* blocks that were not answered are left to the sweep */
};

/* A routing run that is not logged yet. */
struct plugin_run {
	bool pending;
	char change[PLUGIN_CHANGE_TEXT];
	struct pm_delta delta; /* what the tables differed by, before sending */
	uint64_t sent;	       /* blocks OpenSM sends, with those of whole tables */
	uint64_t full;	       /* blocks of all tables */
	uint32_t switches;     /* that were sent a block */
	uint32_t whole;	       /* that were sent their whole table */
	uint32_t max_block;
	double milliseconds; /* of computing */
};

struct plugin {
	osm_opensm_t *osm;
	struct pm_config config;
	/*
	 * The plan that is kept on disk, NULL until a fabric could be planned,
	 * and the plan in force: the same, or, with migrate, one with the LIDs of
	 * ports that still run with others.
	 */
	struct pm_plan *base, *plan;
	struct pm_plan *last;	  /* in force when OpenSM ended, until there is one */
	bool settled;		  /* the plan agrees with the LIDs in use */
	bool unsaved;		  /* the files are not those of the plans */
	char *planfile;		  /* path of the base .. */
	char *drifting;		  /* .. and of the plan in force, if that is another */
	uint32_t out_of_plan;	  /* places that keep a LID other than planned */
	int honor_guid2lid;	  /* OpenSM's option to be restored, -1: none */
	struct pm_routes *routes; /* of the plan; NULL: to be made */
	struct pm_error failure;  /* why there is no plan */
	struct pm_roles roles;	  /* of OpenSM's GUID files */
	struct pm_error unread;	  /* why these could not be read, last time */
	char *apart;		  /* what was last logged of switches without a path */
	uint64_t pairs_apart;	  /* how many pairs of them there are */

	/*
	 * [port of plan->known] What was last seen alive, what of that is in use
	 * (flapping links are not), and what was seen in the last run that was logged.
	 */
	uint8_t *seen, *alive, *seen_before;
	bool alive_known; /* routes are those of alive and detours */
	struct pm_detours detours;
	uint8_t *intact; /* [switch of plan->known] see tables.c */

	struct plugin_flaps *flaps; /* NULL: flapping links are like others */
	struct plugin_recovery *recovery;
	bool strict; /* the plan may be the one that the LIDs in use came from */
	bool reread; /* tables are to be read back from the switches, see tables.c */
	struct plugin_repair *repair; /* NULL: no early repair */
	struct plugin_state *state;   /* NULL: no memory for it */

	uint32_t lids_assigned, lids_moved; /* since the last log line */
	double milliseconds;		    /* of computing since then */
	uint64_t runs;
	struct plugin_run run;
};

/* ---- snapshot.c ---- */

/*
 * Copies what OpenSM has discovered: nodes seen in this sweep and the cables
 * between them that are not down. LIDs of end ports that are not active, as after
 * a reboot, are left out with active_only. Call with osm->lock held, shared at least.
 * The caller frees *fabric. Errors as pm_fabric_seal.
 */
int plugin_snapshot(const struct plugin *plugin, bool active_only,
		    struct pm_fabric **fabric, struct pm_error *err);

/*
 * Clears stayed[port] of cables whose ports are not past INIT, as after having been down
 * for a moment; right after discovery only. Call with osm->lock held.
 */
void plugin_find_bounced(const struct plugin *plugin, uint8_t *stayed);

/* Reads OpenSM's GUID files anew; what cannot be read is logged once and stays. */
void plugin_read_roles(struct plugin *plugin);

/* ---- lids.c ---- */

/* HEAVY_SWEEP_DONE. */
void plugin_give_lids(struct plugin *plugin);

/*
 * Makes the plan if there is none, or grows it where the fabric has what it does
 * not know of. With keep, or with migrate set, LIDs in use are kept. Errors as
 * pm_plan_make; the plan in force stays then.
 */
int plugin_update_plan(struct plugin *plugin, const struct pm_fabric *fabric, bool keep,
		       struct pm_error *err);

/* Forgets the plan and what was computed with it. */
void plugin_drop_plan(struct plugin *plugin);

/* ---- store.c ---- */

/* The path of a file in OpenSM's cache folder; the caller frees it. NULL: no memory. */
char *plugin_cache_path(const char *name);

/* Loads the plans from OpenSM's cache folder; a bad file is set aside. -ENOMEM. */
int plugin_load_plans(struct plugin *plugin);

/* Sets the plan just loaded aside if it is that of another fabric. */
void plugin_check_plan(struct plugin *plugin, const struct pm_fabric *fabric);

/* Writes the plans there if they have changed. Takes no lock. */
void plugin_save_plans(struct plugin *plugin);

/* ---- tables.c ---- */

/*
 * Computes tables for what is alive in this fabric, just discovered or not. -errno with
 * a message.
 */
int plugin_compute(struct plugin *plugin, const struct pm_fabric *fabric, bool discovered,
		   struct pm_error *err);

/*
 * Makes the tables those for what is seen alive now, without flapping links. bounced:
 * NULL, or what stayed up since the last time. -ENOMEM.
 */
int plugin_see(struct plugin *plugin, const uint8_t *seen, const uint8_t *bounced,
	       const struct pm_detours *detours, struct pm_error *err);

/*
 * What a switch should have: our entry, or the one it has where ours says so. A 0 it has
 * may be a block that was never acknowledged, and is not kept: it would make the switch
 * swallow packets.
 */
void plugin_wanted(const uint8_t *held, const uint8_t *table, uint32_t length,
		   uint8_t *wanted);

/* Notes which switches' tables are intact; right after discovery only. */
void plugin_note_intact(struct plugin *plugin);

/* The engine's callback: 0, or -1. */
int plugin_build_tables(void *context);

/* UCAST_ROUTING_DONE: logs the pending run. */
void plugin_finish_run(struct plugin *plugin);

/* ---- recover.c ---- */

/* Puts our handler for answers with tables in place of OpenSM's. -ENOMEM. */
int plugin_start_recovery(struct plugin *plugin);
void plugin_stop_recovery(struct plugin *plugin);

/*
 * Reads the tables of all switches, held[switch of plan->known], after discovery and
 * with no lock held. The caller frees *tables, in which they lie. -ENOMEM.
 */
int plugin_read_tables(struct plugin *plugin, struct pm_held *held, uint8_t **tables,
		       struct pm_error *err);

/* ---- flaps.c ---- */

/* Begins to watch for flapping links, if that is configured. -ENOMEM. */
int plugin_start_flaps(struct plugin *plugin);
void plugin_stop_flaps(struct plugin *plugin);

/*
 * Takes flapping links out of alive[], which comes as seen now; plugin->seen is what
 * was seen last. For bounced see plugin_see. -ENOMEM.
 */
int plugin_hold_flaps(struct plugin *plugin, const uint8_t *bounced, uint8_t *alive,
		      struct pm_error *err);

/* As pm_flaps_next, now; false too where flapping links are not watched. */
bool plugin_next_flap(const struct plugin *plugin, uint32_t *at, struct pm_flap *flap);

/* ---- repair.c ---- */

/* Puts our handler in place of OpenSM's, if early repair is configured. -ENOMEM. */
int plugin_start_repair(struct plugin *plugin);
void plugin_stop_repair(struct plugin *plugin);

/* OSM_EVENT_ID_TRAP and OSM_EVENT_ID_LFT_CHANGE, on any thread, osm->lock held. */
void plugin_note_trap(struct plugin *plugin, const ib_mad_notice_attr_t *notice);
void plugin_note_block(struct plugin *plugin);

/* HEAVY_SWEEP_START. */
void plugin_repair(struct plugin *plugin);

/* ---- state.c: all but start and stop on the sweeper thread ---- */

/* Begins to write portmajor.state and portmajor.prom. -ENOMEM. */
int plugin_start_state(struct plugin *plugin);

/* Writes them a last time, with OpenSM not running any more. */
void plugin_stop_state(struct plugin *plugin);

/* The run that is being logged, with as many blocks acknowledged. */
void plugin_note_run(struct plugin *plugin, uint64_t acked);

void plugin_note_repair(struct plugin *plugin, const struct plugin_repaired *repaired);

/* Why the engine's callback returns -1; published at once. */
void plugin_note_declined(struct plugin *plugin, const struct pm_error *why);

/* UCAST_ROUTING_DONE: which engine routed. Call with osm->lock held. */
void plugin_note_engine(struct plugin *plugin);

/*
 * Has the files written with what is known now, by another thread, soon. Takes no
 * lock of OpenSM's and waits for no disk.
 */
void plugin_publish(struct plugin *plugin);

/* ---- wait.c ---- */

/* Milliseconds of a clock that only goes forward. */
double plugin_clock(void);

/* Something that one thread waits for and others do. */
struct plugin_signal {
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

void plugin_signal_init(struct plugin_signal *signal);
void plugin_signal_destroy(struct plugin_signal *signal);

/* Waits, with the lock held, for `changed` or a moment of plugin_clock. */
void plugin_wait_until(struct plugin_signal *signal, double when);

/* The same for some time, or until it is time to see whether OpenSM is leaving. */
void plugin_wait_briefly(struct plugin_signal *signal, double milliseconds);

/* Who receives answers of a kind from OpenSM's dispatcher. */
struct plugin_handler {
	cl_disp_msgid_t message;
	cl_pfn_msgrcv_cb_t receive;
	void *context;
};

/* Puts our handler in place of OpenSM's; -1, and OpenSM's is back, if that fails. */
int plugin_take_over(osm_opensm_t *osm, cl_disp_reg_handle_t *handle,
		     const struct plugin_handler *ours,
		     const struct plugin_handler *theirs);

#endif
