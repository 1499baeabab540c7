/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The repairer's job for the check of the switches' tables, which anything interrupts. */
#include "repairer_parts.h"

static bool is_busy(void *context)
{
	return repairer_phase(context) != PHASE_IDLE || repairer_is_urgent(context);
}

/* Whether OpenSM has all that it is to know of the fabric; else it is to look. */
static bool is_discovered(struct repairer *r)
{
	if (!r->config.throttle || !throttle_has_trap(r->config.throttle))
		return true;
	repairer_ask_sweep(r, "tables are to be checked", "");
	return false;
}

/*
 * Also where another engine routes. True: there is more to do at once. In standby there
 * are no phases.
 */
bool repairer_check(struct repairer *r)
{
	const struct table_check_subject subject = {
		.osm = r->config.osm,
		.smps = r->config.smps,
		.is_interrupted = is_busy,
		.context = r,
	};
	struct table_check *check = r->config.check;
	bool ready = false;

	r->tries[JOB_CHECK].due_ms = 0;
	if (!check || !table_check_is_wanted(check))
		return false;
	r->tries[JOB_CHECK].due_ms = clock_ms(); /* or later, as the job looks again */
	if (r->config.osm->subn.sm_state != IB_SMINFO_STATE_MASTER) {
		table_check_fail(check, "OpenSM is not the master any more");
		ready = true;
	} else if (is_busy(r) || !is_discovered(r)) {
		return false;
	} else {
		ready = table_check_run(check, &subject);
	}
	if (ready)
		r->config.note_check(r->config.context);
	return true;
}
