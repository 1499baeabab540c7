/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds deadlocks. A buffer is stuck if its front can enter no VC, and each VC that it
 * might take waits for a stuck buffer. A VC of another packet waits for the buffer with
 * that packet in front; a full VC waits for itself. Candidates are buffers that have not
 * moved for as long as signals take, so that senders know their state. Candidates that
 * can move are removed until there are none; the rest is stuck for ever.
 */
#include "flit_parts.h"

enum { STUCK, MOVES };

/* Whether nothing has left a buffer for so long that all its signals have arrived. */
static bool stands(const struct pm_flit *flit, uint32_t vc)
{
	const struct vc *v = &flit->vcs[vc];
	uint32_t last = v->last_read > flit->now ? 0 : v->last_read;

	return v->ready && flit->now - last > flit->cable_span + flit->signal_span;
}

/* The VCs that the front waits for, as bits, of the link that it wants. */
static uint64_t wanted(const struct pm_flit *flit, uint32_t vc)
{
	const struct vc *v = &flit->vcs[vc];

	return v->next_vc == PM_NONE ? flit_choice(flit, vc) : flit_bit(flit, v->next_vc);
}

/* The buffer for which a VC waits that the front of `vc` cannot take now. */
static uint32_t waits_for(const struct pm_flit *flit, uint32_t vc, uint32_t number)
{
	uint32_t next = flit->vcs[vc].want << flit->vc_shift | number;
	uint32_t owner = flit->vcs[next].owner;

	return owner == PM_NONE || owner == vc ? next : owner;
}

/* Whether a VC has room. If another packet has the VC, that goes on, and will end. */
static bool is_open(const struct pm_flit *flit, uint32_t vc, uint32_t number)
{
	return flit->links[flit->vcs[vc].want].open >> number & 1;
}

/* Whether a VC that the front waits for has room, or waits for a buffer that moves. */
static bool gets_out(const struct pm_flit *flit, uint32_t vc)
{
	for (uint64_t among = wanted(flit, vc); among; among &= among - 1) {
		uint32_t number = (uint32_t)__builtin_ctzll(among);

		if (is_open(flit, vc, number) ||
		    flit->moves[waits_for(flit, vc, number)] == MOVES)
			return true;
	}
	return false;
}

/* Marks stuck buffers; returns their number. */
static uint32_t find_stuck(struct pm_flit *flit)
{
	uint32_t vcs = flit->net->num_links << flit->vc_shift, stuck = 0;
	bool again = true;

	for (uint32_t vc = 0; vc < vcs; vc++) {
		bool in_switch = flit->net->links[vc >> flit->vc_shift].to <
				 flit->net->num_switches;

		flit->moves[vc] = in_switch && stands(flit, vc) ? STUCK : MOVES;
		stuck += flit->moves[vc] == STUCK;
	}
	while (again && stuck) {
		again = false;
		for (uint32_t vc = 0; vc < vcs; vc++) {
			if (flit->moves[vc] == MOVES || !gets_out(flit, vc))
				continue;
			flit->moves[vc] = MOVES;
			stuck--;
			again = true;
		}
	}
	return stuck;
}

static uint32_t next_stuck(const struct pm_flit *flit, uint32_t vc)
{
	return waits_for(flit, vc, (uint32_t)__builtin_ctzll(wanted(flit, vc)));
}

/* Each stuck buffer waits for another stuck one, so this path ends in a loop. */
static void note_loop(struct pm_flit *flit, uint32_t vc, uint32_t stuck)
{
	struct pm_flit_deadlock *found = &flit->deadlock;
	uint32_t first;

	while (stuck--)
		vc = next_stuck(flit, vc);
	first = vc;
	do {
		if (found->length < PM_FLIT_LOOP)
			found->loop[found->length] = (struct pm_flit_buffer){
				vc >> flit->vc_shift, flit_number(flit, vc)};
		found->length++;
		vc = next_stuck(flit, vc);
	} while (vc != first);
}

void flit_find_deadlock(struct pm_flit *flit)
{
	uint32_t vcs = flit->net->num_links << flit->vc_shift, one = PM_NONE;
	uint32_t stuck = find_stuck(flit);

	if (!stuck)
		return;
	flit->deadlock = (struct pm_flit_deadlock){.cycle = flit->now, .buffers = stuck};
	for (uint32_t vc = 0; vc < vcs; vc++) {
		if (flit->moves[vc] == MOVES)
			continue;
		flit->deadlock.flits += flit->vcs[vc].fill;
		one = vc;
	}
	note_loop(flit, one, stuck);
}
