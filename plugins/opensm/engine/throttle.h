/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sweeps after changes that the plugin has dealt with are throttled, as OSPF throttles
 * its SPF runs. The plugin takes a switch's trap 128 from OpenSM; if all ports of the
 * switch, read since, are as the plugin knows them, nothing is left for a discovery but
 * OpenSM's own record:
 *
 *     trap -----> REPORTED --- ports are read ---> CONFIRMED
 *                   ^  |                             |
 *                   |  '-- something is unknown ---> | a sweep at once
 *                   '---- another trap, light sweep -'
 *
 * The sweep then begins THROTTLE_START_MS after the first trap. While changes go on, the
 * next one waits for a delay after the end of the one before: THROTTLE_DELAY_MS, or as
 * long as the last sweep took, doubled each time up to THROTTLE_MOST_MS, or four sweeps.
 * A host that OpenSM has dropped and that is back does not wait for that, nor does a
 * switch that is not CONFIRMED within THROTTLE_START_MS. But OpenSM itself may cause the
 * next trap, as it sets down a port with odd values in each sweep: after
 * THROTTLE_DOUBT_MOST sweeps for such switches one follows in THROTTLE_DOUBT_MS. A sweep
 * that is running is taken for one that has ended without a word after THROTTLE_MOST_MS,
 * or four sweeps.
 *
 * Switches keep PortStateChange until OpenSM's next discovery. Light sweeps would begin
 * it: for a switch that has reported since the last one the bit is hidden from them, and
 * its ports are read again, as a trap of it may have been lost.
 *
 * Other traps are OpenSM's, and so is trap 128 where the plugin has no valid view, where
 * the switch is not the plan's, and with sweep_on_trap FALSE. A trap does not name the
 * port, so all ports of the switch are read, unused ones included; of more than eight
 * switches none, as a discovery finds all of it.
 *
 * During a discovery no other one is requested, as OpenSM would begin it anew at its end,
 * perhaps for ever. But where a repair finds failed cables meanwhile it begins anew,
 * three times at most: its paths led over them, and OpenSM would drop the switches
 * behind, although other cables lead there.
 */
#ifndef PORTMAJOR_THROTTLE_H
#define PORTMAJOR_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#define THROTTLE_START_MS 3e3
#define THROTTLE_DELAY_MS 10e3
#define THROTTLE_MOST_MS 60e3
/*
 * At most, less by a step each time and then anew: a sweep may drop a host that is away
 * at the end of its discovery, and hosts may come and go in the rhythm of these sweeps.
 */
#define THROTTLE_DROPPED_MS 5e3
#define THROTTLE_STEP_MS 1e3
#define THROTTLE_DOUBT_MS 5e3
#define THROTTLE_DOUBT_MOST 5

/* Times are of clock_ms. All functions may be called on any thread. */
struct throttle;

/* A sweep that waits. */
struct throttle_wait {
	double since, until; /* 0: none waits; since 0: it was requested */
	uint64_t traps;	     /* taken since the last sweep began .. */
	uint64_t traps_ever; /* .. and ever */
};

/* NULL without memory. */
struct throttle *throttle_start(void);
void throttle_stop(struct throttle *throttle);

/* Notes a trap of the switch with this LID, which OpenSM will not see. */
void throttle_note_trap(struct throttle *throttle, uint16_t lid, double now);

/* Whether such a trap has come since the last sweep began. */
bool throttle_has_trap(struct throttle *throttle);

/* Lists REPORTED switches, at most `room`, which are being read now; returns how many
 * there are. */
uint32_t throttle_take(struct throttle *throttle, uint16_t *lids, uint32_t room);

/* How many switches are REPORTED. */
uint32_t throttle_count(struct throttle *throttle);

/*
 * The result for a switch that was taken, unless a trap has come meanwhile: its ports are
 * as they are known, or are to be read again.
 */
void throttle_confirm(struct throttle *throttle, uint16_t lid, bool known);

/* Whether a light sweep need not see the bit of this switch; it is REPORTED then. */
bool throttle_hides(struct throttle *throttle, uint16_t lid, double now);

/* A host that OpenSM has dropped is back since that time, which the running sweep, if
 * any, has not found. */
void throttle_hasten(struct throttle *throttle, double since);

/*
 * A sweep is to be requested: no other one is due for THROTTLE_DELAY_MS, or until it has
 * begun or ended. False: that is so already.
 */
bool throttle_request(struct throttle *throttle, double now);

/* When the sweep that waits is due, or 0: none waits. */
double throttle_due(struct throttle *throttle);

struct throttle_wait throttle_waits(struct throttle *throttle);

/* The same for a switch that is not as it is known, at once; false also if that is too
 * soon after others: the sweep waits. */
bool throttle_ask(struct throttle *throttle, double now);

/* OpenSM discovers all that was reported before; the end of its sweep. */
void throttle_begin_sweep(struct throttle *throttle, double now);
void throttle_end_sweep(struct throttle *throttle, double now);

#endif
