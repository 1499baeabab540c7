/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The repairer from inside: what its files share.
 *
 *     repairer_base.c   lock, phase, interruptions, errands
 *     repairer_view.c   the view that the sweeper hands over, and failures it takes back
 *     *_job.c           one job each, or two
 *     repairer.c        the thread and its table of jobs
 *
 * The thread does one job at a time: of those that may run in the present phase, the
 * first in enum job's order that finds something to do. Each runs in pieces, between
 * which more urgent ones come first; a trap or an errand ends a piece.
 */
#ifndef PORTMAJOR_REPAIRER_PARTS_H
#define PORTMAJOR_REPAIRER_PARTS_H

#include "clock.h"
#include "repairer.h"
#include "worker.h"

/* Most urgent first. */
enum job {
	JOB_ERRAND,	/* the sweeper waits for it */
	JOB_RETURN,	/* links that come back */
	JOB_REPAIR,	/* traps, and blocks that were withheld or not acknowledged */
	JOB_READ_PORTS, /* of switches that have reported changes */
	JOB_MOVES,	/* entries onto cables that came back */
	JOB_SWEEP,	/* requests the sweep that waits, when it is due */
	JOB_OWN,	/* reads the SM's own port, as traps of its leaf cannot come */
	JOB_TRANSITION, /* drains */
	JOB_REBALANCE,	/* tables that were found in the switches */
	JOB_GROUPS,	/* multicast, after unicast */
	JOB_TELL,	/* which parts are missing, before a sweep finds that */
	JOB_SEARCH,	/* multicast entries that another master has left */
	JOB_CHECK,	/* reads tables, on request */
	JOBS		/* none */
};

/* Tries of a job; see REPAIRER_RETRY_MS. */
struct tries {
	double due_ms; /* clock_ms of the next one; 0: none */
	uint32_t num;  /* in a row, up to REPAIRER_RETRIES */
};

#define SET_DOWN_MOST 256 /* ports that are told from flaps .. */
#define SET_DOWN_MS 10e3  /* .. for so long */

enum validity { VOID, VALID, HALTED };

/* A view that is prepared or handed over. */
struct handover {
	/* With memory and tables for another plan than in use, or empty. */
	struct view view;
	uint32_t serial; /* of the plan that it is prepared for; 0: none */
	uint32_t num_ports, num_switches;
	uint8_t *discovered, *believed, *unfit, *drifting;
	struct pm_detours detours;
	struct pm_drains drains;
	struct pm_damping *damping;
	bool adopted; /* tables were found in the switches */
	bool ready;   /* it may be taken over */
};

/* Work of the sweeper's, which waits meanwhile. */
struct errand {
	void (*run)(void *context); /* NULL: none */
	void *context;
};

struct repairer {
	struct repairer_config config;
	struct lft_sender sender;
	struct worker *worker;
	atomic_bool halted; /* the view is not valid, until one is taken over */
	atomic_int phase;
	atomic_int trap_phase; /* phase in which the first waiting trap came */
	struct clock_signal signal;
	/* under its lock: */
	struct repairer_settings settings;
	enum validity validity;
	enum job running;
	struct errand errand;
	bool finishing;	      /* the sweeper waits for the end of repairs .. */
	double first_trap_ms; /* .. and until then for a first trap */
	bool served;	      /* traps were handled since PHASE_IDLE began */
	bool resend;	      /* send blocks that were withheld or postponed */
	bool in_transition;   /* a transition is under way, perhaps interrupted */
	bool abandon;	      /* ends it */
	struct handover next; /* the sweeper's until it is `ready` */
	uint8_t *discovered;  /* [port] at the take-over, less those found failed since */
	uint8_t *swept;	      /* [port] the same, with these */
	uint8_t *failed, *downs; /* [port] found since the last repairer_take_failed, as
				    in struct view */
	struct {
		uint64_t guid; /* of the switch */
		double at_ms;
		uint8_t num;
	} set_down[SET_DOWN_MOST]; /* by OpenSM; the oldest ones are written over */
	uint32_t num_set_down;
	bool any_failed;
	bool records_due; /* a sweep has ended: its values of ports are to be copied */
	struct pm_drains drained; /* drains of its view */
	struct balance balance;	  /* written by the thread */
	bool balanced;		  /* all tables became the plan's since the last take */
	/* of the thread: */
	struct view view;
	bool without_tables; /* no tables yet for the view that was taken over */
	struct tries tries[JOBS];
	bool owed;		     /* blocks wait for OpenSM's */
	uint32_t traps_left;	     /* of a repair that gave up */
	struct link_records records; /* what OpenSM set last */
	uint8_t *before; /* [port] discovered before cables came back, or NULL */
	struct throttle_wait noted; /* at the last note_wait */
	uint32_t own_downs;	    /* Gets in a row that found the SM's port down */
	bool sweep_follows;	    /* it is requested when a discovery is over */
	uint32_t anew; /* discoveries of this sweep that begin anew; under the lock */
	struct transition transition;
	uint64_t num_transitions;
	bool adopted;	/* tables were found in the switches .. */
	bool has_grown; /* .. while parts were absent that have come since */
	bool unmeasured;
	uint32_t resumed_rate; /* of rebalancing that another plan interrupted, or 0 */
	double rest_ms;	       /* until then none without a request, as one failed */
	struct mcast *mcast;   /* NULL: multicast is OpenSM's */
	bool groups_due;       /* usable links may have changed */
	double back_ms; /* the first return since entries moved onto cables that are back
			 */
	uint32_t above; /* first block that JOB_SEARCH has not read */
};

/* ---- repairer_base.c ---- */

#define REPAIRER_WAIT_MS 50 /* between checks of the thread's work */

void repairer_lock(struct repairer *r);
void repairer_unlock(struct repairer *r); /* wakes threads that wait for a change */

struct repairer_settings repairer_settings_of(struct repairer *r);
enum sweep_phase repairer_phase(const struct repairer *r);

/* Whether all LFT Sets that are out may be the thread's own: see phase.h. */
bool repairer_may_change(enum sweep_phase phase);

/* Has the next try come after a pause that grows with each; see REPAIRER_RETRY_MS. */
void repairer_try_again(struct tries *tries);

/* Whether nothing may be sent for the view. On the thread, with or without osm->lock. */
bool repairer_is_halted(void *context);

/* Whether a transition is to end: the sweeper waits no longer, or nothing may be sent. */
bool repairer_is_abandoned(struct repairer *r);

/* Whether the sweeper has an errand that has not begun. */
bool repairer_has_errand(struct repairer *r);

/* Whether something waits that is more urgent than the long jobs. Likewise. */
bool repairer_is_urgent(struct repairer *r);

/* The same, or nothing may be sent: a piece of a job is to end. */
bool repairer_is_interrupted(void *context);

/* Requests a discovery, or a routing run without one, as OpenSM's console does. */
void repairer_request_sweep(struct repairer *r);
void repairer_force_sweep(struct repairer *r); /* in a discovery, too */
void repairer_request_reroute(struct repairer *r);

/*
 * Has a running discovery begin anew, as it would by the traps that OpenSM does not see:
 * it cannot pass links that failed, and OpenSM would drop what it did not reach. At most
 * ANEW_MOST times a sweep.
 */
#define ANEW_MOST 3
void repairer_begin_anew(struct repairer *r);

/*
 * Requests a sweep at once for changes that OpenSM has not seen (throttle.h), and logs
 * why. Nothing if there are none, or one is requested already.
 */
void repairer_ask_sweep(struct repairer *r, const char *why, const char *ports);

/* Reports the end of a repair or transition; see note_tables in repairer.h. */
void repairer_note_tables(struct repairer *r, bool settled, bool changed);

/* Has repairer_tell run after REPAIRER_TELL_MS, or as it is due already. */
void repairer_tell_later(struct repairer *r);

/* ---- repairer_view.c; on the thread ---- */

/* Takes over a view that was handed over, if any. Without memory the view is void. */
void repairer_take_over(struct repairer *r);

/* Updates the view over these parts; nothing new is known of others. -ENOMEM. */
int repairer_update(struct repairer *r, const uint8_t *discovered);

/* Computes the tables that the switches hold, before any failure is found. -ENOMEM. */
int repairer_update_first(struct repairer *r);

/* take_over, note_gone and note_init of struct repair_subject. */
int repairer_note_failed(void *context);
void repairer_note_gone(void *context, const uint8_t *gone);
void repairer_note_init(void *context, uint32_t port);

/*
 * Notes cables that are in service again, back[port], and updates the view to the ports
 * that are up. -ECANCELED, -ENOMEM.
 */
int repairer_note_back(struct repairer *r, const uint8_t *back, const uint8_t *up);

/* Copies what OpenSM has set, after a sweep. */
void repairer_copy_records(struct repairer *r);

void repairer_free_views(struct repairer *r);

/* ---- Jobs; on the thread. False: there was nothing to do ---- */

bool repairer_return(struct repairer *r);
bool repairer_read_ports(struct repairer *r);
bool repairer_use_back(struct repairer *r);
bool repairer_sweep(struct repairer *r);
bool repairer_watch_own(struct repairer *r);
bool repairer_tell(struct repairer *r);
bool repairer_repair(struct repairer *r);
bool repairer_follow_drains(struct repairer *r); /* a transition */
bool repairer_rebalance(struct repairer *r);
bool repairer_route(struct repairer *r); /* groups */
bool repairer_search(struct repairer *r);
bool repairer_check(struct repairer *r);

/* Has switches that came back, and of which OpenSM has no record, follow the view. */
void repairer_follow(struct repairer *r);

/* If traps were dropped, a discovery finds what they reported. */
void repairer_check_overflow(struct repairer *r);

/* Leaves drains that the repairer cannot follow to a sweep. */
void repairer_leave_drains(struct repairer *r);

#endif
