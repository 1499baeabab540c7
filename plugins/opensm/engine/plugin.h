/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plugin: its modules, its threads, and the data that they share, with their locks.
 *
 *     engine/  decides
 *       plugin         loads and unloads, passes on OpenSM's events
 *       sweep          one sweep: the work at each of its events
 *       settings       takes over a configuration that was read again
 *       routing        from a fabric to tables
 *       mcast_sweep    chooses the router of multicast; its tables come before links
 *       repairer       a table of jobs, in any phase of a   a thread of its own
 *                      sweep; its view: repairer_view.c
 *         repair_job, returns_job, transition_job, balance_job, groups_job, check_job:
 *         when and for what
 *       repair         finds and repairs failures            queries, sends
 *       returns        brings links that come back into service    queries, sends
 *       returned_switch  writes switches at such links       queries, sends
 *       mcast          multicast trees, and their blocks     sends
 *       transition     changes tables to other links in use  sends
 *       balance        changes tables to the plan's          sends
 *       ahead          sends blocks that need an order       sends
 *       recover        reads tables back                     queries
 *       table_check    reads tables back on request, and compares them    queries
 *       shadow         counts blocks in shadow mode
 *       engine_check   judges the tables of another engine   a thread of its own
 *       planning       the plan in force                     no OpenSM
 *       view           discovered links, holds, drains: to tables  no OpenSM
 *       alarm          requests a run when a hold ends       a thread of its own
 *       held_links     logs links on hold, ends holds on request
 *       degraded_links links slower than their neighbours
 *       worker         a thread of the plugin, with timed rounds
 *       clock          a clock and conditions
 *       phase.h        OpenSM's phases
 *     osm/     OpenSM's structures
 *       smp            the plugin's SMPs, as many as the wire takes
 *       subnet_cache   OpenSM's subnet, compared with before
 *       snapshot, guid2lid, lft_records, engine_tables    by value
 *       lft_set        rules of the plugin's LFT Sets
 *       link_records   what OpenSM set last at ports         by value
 *       unset          switches whose tables are not those in force
 *       mft_wire       MFT blocks and their answers
 *       mcast_groups   multicast groups, by value
 *       mcast_quiet    OpenSM's multicast manager, kept from sending
 *       hop_counts     OpenSM's hop counts, computed where they are read
 *     io/      files and the log
 *       operator_files the files that operators write        on the writer's thread
 *       kept_requests  operators' requests in force          on the writer's thread
 *       control        the socket that takes them            a thread of its own
 *       store          plans and holds on disk               on the writer's thread
 *       state          the published state                   on the writer's thread
 *       fabric_file    the discovered fabric, a netlist      on the writer's thread
 *       tables_file    the tables that were read on request  on the writer's thread
 *       log_events     log lines about events; log: writes them
 *       candidates     plans on disk that may be this fabric's    no OpenSM
 *       activity       phases, repairs by phase, balance          no OpenSM
 *       mastership     whether OpenSM is the master or knows one
 *       places         what is at another place than drawn        no OpenSM
 *       missing_drawn  missing parts, corrected by the drawing    no OpenSM
 *       managers       other subnet managers of the fabric
 *       missing_kept   missing parts: since when, acknowledged    no OpenSM
 *       host_flaps     hosts whose links go down again and again  no OpenSM
 *       slow_hosts     hosts' links that are slower than others   no OpenSM
 *       known_hosts    hosts, each at its last port                no OpenSM
 *       port_errors    errors of ports in the last hour            no OpenSM
 *       events         events for operators: file, syslog, and event_command,
 *                      for later reading                          no OpenSM
 *       event_changes  events that are differences of two states  no OpenSM
 *       members.h      members of the state's document            no OpenSM
 *       reserve_file     room for the state on a full disk          no OpenSM
 *       prometheus     metrics of the state's document            no OpenSM
 *
 * plugin, sweep, settings, routing, mcast_sweep and log_events share struct plugin, which
 * the others do not know.
 *
 * Threads:
 *
 *   main          OpenSM's first: creates the plugin before OpenSM reports anything, and
 *                 deletes it when all threads of OpenSM that call the plugin have ended
 *   sweeper       OpenSM's: the engine's callback and all events but traps
 *   dispatcher    OpenSM's, one for each processor: answers to SMPs, traps, readings of
 *                 the performance manager
 *   repairer      the plugin's: sends all its SMPs, also for the sweeper
 *   writer        the plugin's: reads and writes all files, and follows requests
 *   control       the plugin's: serves the control socket; uses nothing of OpenSM's
 *   alarm's       the plugin's: requests routing runs
 *   checker       the plugin's: judges the tables of another engine
 *
 * On OpenSM's threads and the repairer's the plugin touches no files but three: OpenSM's
 * log; the configuration, on main, when the plugin is loaded; and OpenSM's dump of its
 * multicast tables, if the log's flag for routing is set. The sweeper waits for files in
 * three places, within bounds (sweep.h): after the first discovery (5 s), and after the
 * first one after standby (2 s), until they are read; and, before LIDs of a new plan are
 * handed over, until the plan is on disk (2 s). The sweeper waits for the repairer in
 * four places: before a discovery, for the repair of failures that traps have reported by
 * then (3 s); after it, for the end of a transition, or of a round of rebalancing (2 s);
 * after it, and before links are set, for PortInfo Sets that are out (1 s); and for its
 * errands: blocks to be sent before its own, multicast after these,
 * and tables to be read. Repairs wait for no file.
 *
 * Data that threads share. A module of one thread is not listed, nor a module with a lock
 * of its own that covers all of it (activity, engine_check, events, host_flaps,
 * port_errors, worker). All other data are the sweeper's (and main's, before and after
 * it):
 *
 *   datum                       written by            read by               lock
 *   smp: slots, out, batch      repairer, dispatcher, repairer, dispatcher, smps'
 *                               sweeper (disowned)    sweeper
 *   repair: lids .. is_switch   the trap handler,     the same              repair's
 *                               repairer, sweeper
 *   returns: noted ..           dispatcher, repairer, the same              returns'
 *     served_room               sweeper
 *   repairer: settings ..       repairer, sweeper     repairer, sweeper     its own (1)
 *     balanced; plan and
 *     serial of view
 *   repairer: halted, phase,    repairer, sweeper,    repairer, sweeper     none (2)
 *     trap_phase; routing;      the trap handler
 *     balance: as_planned
 *   mcast_quiet: ours .. tops   repairer, sweeper     repairer, sweeper     osm->lock (3)
 *   mcast_quiet: due            repairer, sweeper     repairer              none (2)
 *   plan                        sweeper, before it    any with a reference  none
 *                               is shared
 *   plugin: unset, early,       main, repairer,       repairer, sweeper,    none (2)
 *     early_repair              sweeper               the trap handler
 *   state: below its mutex      any                   writer                state's
 *   fabric_file: fabric         sweeper, writer       writer                file's
 *   store: all below its lock   sweeper, writer       any                   store's
 *   operator_files: below lock  sweeper, writer       the same              files'
 *   kept_requests: below lock   repairer, sweeper,    the same              its own
 *                               writer
 *   control: below its lock     control, writer       the same              its own
 *   table_check: below its      repairer, writer      the same              its own
 *     lock
 *   alarm: due                  sweeper, alarm's      alarm's               none (2)
 *   plugin, modules: pointers   main                  any                   none (4)
 *
 *   of OpenSM
 *   nodes, ports, switches,     dispatcher, repairer, repairer, sweeper,    osm->lock (5)
 *     guid2lid                  sweeper               writer
 *   lft, new_lft of a switch;   dispatcher, repairer, repairer, sweeper,    osm->lock
 *     multicast tables,         sweeper               OpenSM's
 *     mlids_req
 *   vl15: queues                OpenSM's, repairer    the same              their own
 *   subn.opt, engines,          main, dispatcher,     repairer, sweeper,    none (6)
 *     sm_state, use_mfttop,     repairer, sweeper,    writer, OpenSM's
 *     osm_exit_flag             signal handlers
 *   subn.force_reroute,         alarm's, dispatcher,  sweeper               none (7)
 *     force_heavy_sweep         repairer, sweeper,
 *                               writer
 *   log                         any                   any                   its own
 *
 *   (1) the repairer reads what it alone writes without the lock
 *   (2) atomic
 *   (3) written with the lock held exclusively
 *   (4) set by main before anything is reported, and never changed
 *   (5) the sweeper reads sm_port_guid and max_ucast_lid_ho without the lock, as no
 *       other thread writes them after discovery; the writer, which does not wait for the
 *       lock, reads the port of OpenSM only
 *   (6) a word or less, read as OpenSM reads it
 *   (7) written before the sweeper is signalled to check, as by OpenSM itself
 *
 * Locks: a thread that holds a lock of the plugin does not take osm->lock; the reverse is
 * allowed. It takes no second lock of the plugin either, and touches no file. A worker's
 * `opensm` is the exception. A thread of the plugin holds it while it uses OpenSM's
 * memory; the writer also while it wakes the repairer. While it is held, other locks of
 * the plugin may be taken, OpenSM's log written, and the sweeper signalled; the signal
 * takes a lock of OpenSM's below which no other is taken. Main alone waits for `opensm`,
 * and a thread that hangs when OpenSM ends never gets it again. A thread that holds
 * osm->lock waits for locks of the plugin, but not for an answer, a file or another
 * thread's work, and touches no file but OpenSM's log. tests/integration/test_threads.py
 * looks for races.
 */
#ifndef PORTMAJOR_PLUGIN_H
#define PORTMAJOR_PLUGIN_H

#include "ahead.h"
#include "alarm.h"
#include "engine_check.h"
#include "osm/smp.h"
#include "osm/subnet_cache.h"
#include "held_links.h"
#include "osm/guid2lid.h"
#include "planning.h"
#include "repair.h"
#include "returns.h"
#include "shadow.h"
#include "osm/snapshot.h"
#include "io/state.h"
#include "io/fabric_file.h"
#include "io/store.h"
#include "osm/lft_records.h"
#include "osm/other_engine.h"
#include "osm/unset.h"
#include "view.h"
#include "io/kept_requests.h"
#include "io/operator_files.h"
#include "worker.h"
#include "repairer.h"

#include <portmajor/analysis/change_text.h>
#include <portmajor/fabric/roles.h>
#include <portmajor/files/config.h>
#include <portmajor/policy/failback.h>

#define PLUGIN_CHANGE_TEXT 512

/* A routing run, logged when it ends. */
struct plugin_run {
	bool everything; /* all blocks, as it has just become the master */
	char change[PLUGIN_CHANGE_TEXT];
	struct lft_records_written written;
	double milliseconds; /* of computing */
	double locked_ms;
	bool recomputed; /* with osm->lock held */
	struct ahead ahead;
	uint32_t stale; /* removed entries, see stale.h */
	uint32_t loops; /* LIDs that would have looped */
};

/*
 * How far a sweep has come. A reroute has no discovery.
 *
 *     step       since                          valid data
 *     NOTHING    HEAVY_SWEEP_START or _DONE,
 *                UCAST_ROUTING_DONE
 *     TABLES     a discovery                    view, stale, ahead, infos
 *     FAILURE    a discovery                    failure
 *     HANDED     the engine's callback          run; infos until the next refresh
 */
enum sweep_step {
	SWEEP_NOTHING, /* nothing is known of the fabric since the last routing run */
	SWEEP_TABLES,  /* tables were computed for what was discovered */
	SWEEP_FAILURE, /* they could not be, for a reason */
	SWEEP_HANDED,  /* OpenSM sends our tables */
};

/* One sweep: what discovery found, what was merged, and what came of it. */
struct sweep {
	enum sweep_phase phase;
	enum sweep_step step;
	struct pm_error failure;
	uint64_t infos;		 /* PortInfos received before the cache's last refresh */
	struct pm_stale stale;	 /* entries to remove from the switches' tables .. */
	uint64_t set;		 /* .. and smp_count_set then; later: at the last run */
	struct ahead ahead;	 /* blocks sent before OpenSM's turn */
	struct lids_given given; /* since the last log line */
	int honor_guid2lid;	 /* value of OpenSM's option to restore; -1: none */
	double milliseconds;	 /* of computing, since the last run */
	double locked_ms;	 /* of these under the exclusive lock */
	struct plugin_run run;
};

/*
 * Valid in any phase:
 *
 *     view.current     its tables are those for its links in use, until view.until_ms
 *     view.failed      ports found failed since HEAVY_SWEEP_START, whatever that
 *                      discovery saw of them
 *     cache.covered    the plan covers the cache, and its LIDs were handed over: from one
 *                      discovery to the next
 *     steps_failed     the last run left its steps to the repairer; if the next run fails
 *                      to send its steps, they are left to OpenSM
 */
struct plugin {
	osm_opensm_t *osm;
	struct pm_config config; /* in force; some keys can change, see settings.h */
	struct pm_error misread; /* error of the configuration file, or "" */
	bool unconfigured; /* no configuration was read since the start: see settings.h */
	atomic_bool early_repair; /* of the configuration */
	struct pm_roles roles;	  /* of OpenSM's GUID files */

	struct planning planning;
	struct pm_lid_history *history; /* of LIDs from before the first plan, or NULL */
	struct view view;
	struct lft_records lft_records;
	struct mcast_quiet quiet;
	struct mcast_doubt doubt; /* switches found since groups were last routed */
	const char *no_multicast; /* why OpenSM routes multicast, or NULL */
	struct store *store;
	struct smp_sender *smps;   /* NULL without memory: the plugin sends no SMPs */
	struct repair *repair;	   /* NULL: no memory for it */
	struct returns *returns;   /* likewise */
	struct throttle *throttle; /* likewise */
	struct repairer *repairer; /* NULL: only OpenSM sends */
	_Atomic(struct repairer *) early; /* the same, for traps of OpenSM's dispatcher */
	struct alarm *alarm;		  /* NULL: no memory for it */
	struct worker *writer;
	struct control *control; /* NULL: no memory for it */
	struct operator_files *operator_files;
	struct table_check *table_check; /* NULL: no memory for it */
	struct kept_requests *requests;
	double tables_due;  /* clock_ms to remove the file of tables; DBL_MAX: none */
	uint64_t published; /* state_written, as last published on the control socket */
	struct events *events;		  /* NULL: no memory for them */
	struct state *state;		  /* NULL: no memory for it */
	struct fabric_file *fabric_file;  /* likewise */
	struct snapshot_hash subnet_hash; /* of the subnet that it has */
	struct engine_check *check;	  /* likewise */

	struct sweep sweep;
	struct subnet_cache cache; /* OpenSM's subnet, as the tables know it */

	bool steps_failed; /* steps were left to the repairer, see leave_steps */
	char unfit[PM_LFT_CAPACITY_TEXT],
		unfit_logged[PM_LFT_CAPACITY_TEXT]; /* bad switches */

	struct pm_failback failback;	  /* chooses the engine, by reachable pairs */
	uint64_t failback_in_ms;	  /* ms until a failback, or UINT64_MAX */
	struct pm_damping_holds logged;	  /* links on hold, as last logged */
	atomic_bool rebalancing;	  /* as last logged, by the repairer */
	atomic_bool unset;		  /* as last published, some table is not set */
	bool requested;			  /* OpenSM has called the engine */
	char unreachable[PM_CHANGE_TEXT]; /* unreachable switches last logged, or "" */

	uint64_t runs;
	struct shadow shadow;	   /* portmajor's tables, in shadow mode */
	struct other_engine other; /* blocks of the engine that routes, in shadow mode */
};

#endif
