/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends by switches with stages. In a cycle, heads get VCs of the links that they
 * request, and then VCs with a flit get turns in the crossbar. Both use one round of
 * iSLIP (McKeown, 1999): an output offers itself to the next requesting input in its
 * turn, and an input takes the next offer in its own turn. Several outputs may offer
 * themselves to one input, and all but one stay idle. But a turn moves on only after an
 * offer was taken, so that outputs soon offer themselves to different inputs.
 */
#include "flit_parts.h"

/* Whether one index precedes another, counted from `turn` on and then from 0. */
static bool comes_first(uint32_t one, uint32_t other, uint32_t turn)
{
	return one - turn < other - turn;
}

/* ---- VCs ---- */

/* Lists the VCs with heads that request a VC of this link; returns their number. */
static uint32_t find_asking(struct pm_flit *flit, uint32_t index)
{
	uint32_t num = 0;

	for (uint32_t vc = flit->links[index].head; vc != PM_NONE;
	     vc = flit->vcs[vc].after) {
		struct stage_vc *stage = &flit->stage_vcs[vc];

		if (flit->vcs[vc].next_vc != PM_NONE || stage->at > flit->now)
			continue;
		stage->offer = PM_NONE;
		flit->asking[num++] = vc;
	}
	return num;
}

/* Offers a VC of a link to a requester. */
static void offer_vc(struct pm_flit *flit, uint32_t next, uint32_t num)
{
	const struct stage_vc *output = &flit->stage_vcs[next];
	uint32_t best = PM_NONE;
	struct stage_vc *input;

	for (uint32_t i = 0; i < num; i++) {
		uint32_t vc = flit->asking[i];

		if (flit_choice(flit, vc) & flit_bit(flit, next) &&
		    (best == PM_NONE || comes_first(vc, best, output->grants)))
			best = vc;
	}
	if (best == PM_NONE)
		return;
	input = &flit->stage_vcs[best];
	if (input->offer == PM_NONE || comes_first(next, input->offer, input->takes))
		input->offer = next;
}

/* Gives the VC to the packet, whether flow control lets it pass now or not. */
static void take_vc(struct pm_flit *flit, uint32_t vc)
{
	struct stage_vc *input = &flit->stage_vcs[vc];
	uint32_t next = input->offer;

	input->takes = next + 1;
	flit->stage_vcs[next].grants = vc + 1;
	flit->vcs[vc].next_vc = next;
	flit->vcs[next].owner = vc;
	flit->links[next >> flit->vc_shift].taken |= flit_bit(flit, next);
	flit_enter_stages(flit, vc, flit->now + 1);
	if (!flit_vc_open(flit, next))
		flit_unlist_vc(flit, vc);
}

static void allocate_vcs(struct pm_flit *flit, uint32_t index)
{
	uint32_t num = find_asking(flit, index);
	uint64_t among = flit->all_vcs & ~flit->links[index].taken;

	if (!num)
		return;
	for (; among; among &= among - 1)
		offer_vc(flit, index << flit->vc_shift | (uint32_t)__builtin_ctzll(among),
			 num);
	for (uint32_t i = 0; i < num; i++)
		if (flit->stage_vcs[flit->asking[i]].offer != PM_NONE)
			take_vc(flit, flit->asking[i]);
}

/* ---- The crossbar ---- */

/* Whether a VC precedes another one, for an output that both want. */
static bool vc_first(const struct pm_flit *flit, uint32_t vc, uint32_t other,
		     uint32_t turn)
{
	uint32_t from = vc >> flit->vc_shift, other_from = other >> flit->vc_shift;

	if (from != other_from)
		return comes_first(from, other_from, turn);
	return comes_first(vc, other, flit->stage_links[from].reads);
}

/* Offers an output to an input. */
static void offer_output(struct pm_flit *flit, uint32_t index)
{
	struct stage_link *output = &flit->stage_links[index], *input;
	uint32_t best = PM_NONE;

	for (uint32_t vc = flit->links[index].head; vc != PM_NONE;
	     vc = flit->vcs[vc].after)
		if (flit->vcs[vc].next_vc != PM_NONE &&
		    flit->stage_vcs[vc].at <= flit->now &&
		    (best == PM_NONE || vc_first(flit, vc, best, output->grants)))
			best = vc;
	output->front = best;
	if (best == PM_NONE)
		return;
	input = &flit->stage_links[best >> flit->vc_shift];
	if (input->offer == PM_NONE || comes_first(index, input->offer, input->takes))
		input->offer = index;
}

/* Sends through an output, if the input has taken its offer. */
static void use_output(struct pm_flit *flit, uint32_t index)
{
	struct stage_link *output = &flit->stage_links[index], *input;
	uint32_t vc = output->front;

	if (vc == PM_NONE)
		return;
	input = &flit->stage_links[vc >> flit->vc_shift];
	if (input->offer != index)
		return;
	output->grants = (vc >> flit->vc_shift) + 1;
	input->takes = index + 1;
	input->reads = vc + 1;
	input->offer = PM_NONE;
	flit_send_front(flit, vc);
}

void flit_send_by_stages(struct pm_flit *flit, uint32_t sw)
{
	uint32_t first = flit->net->first_link[sw], end = flit->net->first_link[sw + 1];

	for (uint32_t i = first; i < end; i++)
		allocate_vcs(flit, i);
	for (uint32_t i = first; i < end; i++)
		offer_output(flit, i);
	for (uint32_t i = first; i < end; i++)
		use_output(flit, i);
}
