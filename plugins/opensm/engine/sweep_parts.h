/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sweep from inside: what its files share, in the order of its moments (sweep.h).
 *
 *     sweep_base.c      whose turn it is, phases, reports
 *     sweep.c           begin and end
 *     sweep_merge.c     what the repairer has found and done since
 *     sweep_prepare.c   after discovery: plan, tables, LIDs
 *     sweep_plan.c      the first plan
 *     sweep_tables.c    the engine's callback
 *     sweep_done.c      the end of a routing run
 *     sweep_shadow.c    shadow mode, at that end
 */
#ifndef PORTMAJOR_SWEEP_PARTS_H
#define PORTMAJOR_SWEEP_PARTS_H

#include "routing.h"
#include "sweep.h"

/* ---- sweep_base.c ---- */

/* Whether OpenSM's first engine is this one, and may route; else LIDs are left alone. */
bool sweep_is_first_engine(const struct plugin *plugin);

/* Whether OpenSM will call the engine for tables, as far as is known. */
bool sweep_is_wanted(const struct plugin *plugin);

/* All phases but PHASE_ROUTING end the use of a discovery's results. */
void sweep_set_phase(struct plugin *plugin, enum sweep_phase phase);

/* Whether holds are known that releases could end: at first they are read with the plan.
 */
bool sweep_may_release(const struct plugin *plugin);

/* Notes the engine that has routed, and has its tables judged if it is another one. */
void sweep_note_engine(struct plugin *plugin);

/* ---- sweep_merge.c ---- */

/*
 * Merges the ports found failed into the view. They stay failed until a discovery that
 * begins afterwards finds them; the present discovery may have found them before they
 * failed. Whether there were any.
 */
bool sweep_merge_failed(struct plugin *plugin);

/* The same, logged and published; with no lock held. */
void sweep_merge_known(struct plugin *plugin);

/* Hands the view over if the repairer has no valid one. With no lock held. */
void sweep_offer_view(struct plugin *plugin);

/* Voids the repairer's view: another engine routes, or may, and its blocks may be out. */
void sweep_leave_view(struct plugin *plugin);

/* As repairer_take_drains; if the repairer is void, the drains requested. */
void sweep_take_drains(struct plugin *plugin, bool wait);

/* As repairer_take_balance. */
void sweep_take_balance(struct plugin *plugin, bool wait);

/* ---- sweep_prepare.c ---- */

/* -ENOTSUP: OpenSM's options need what this engine cannot do, or are unknown. */
int sweep_check_options(const struct plugin *plugin, struct pm_error *err);

/*
 * Copies the present parts into a fabric that the caller finishes and frees. With
 * osm->lock held.
 */
int sweep_copy_fabric(struct plugin *plugin, bool active_only, struct pm_fabric **fabric,
		      struct pm_error *err);

/* Copies the fabric that OpenSM has discovered; the caller frees *fabric. */
int sweep_see_fabric(struct plugin *plugin, struct pm_fabric **fabric,
		     struct pm_error *err);

/* ---- sweep_plan.c ---- */

/*
 * Makes the first plan of this process from the running fabric, or reads it from disk.
 * *found: what the switches hold; the caller frees it. After a failure the next plan is
 * still the first.
 */
int sweep_settle_plan(struct plugin *plugin, const struct pm_fabric *fabric,
		      struct routing_found *found, struct pm_error *err);

/*
 * Forgets the plan if another OpenSM was the master meanwhile, and its later plan is on a
 * disk that both share.
 */
void sweep_forget_if_outdated(struct plugin *plugin, const struct pm_fabric *fabric);

/* ---- sweep_done.c, sweep_shadow.c ---- */

/* Counts, logs and notes the run that OpenSM has ended. */
void sweep_finish_run(struct plugin *plugin);

/* Computes tables for the fabric that another engine has just routed. */
void sweep_run_shadow(struct plugin *plugin);

#endif
