/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends MFT blocks in steps, and reads unknown ones from the switches. */
#include "mft_wire.h"

#include "lft_records.h"

#include <string.h>

#define MOST_SILENT 4 /* silent switches in a call, each of which takes SMP_TOTAL_MS */

struct sending {
	const struct mft_wire *wire;
	const struct pm_mft_set *sets;	 /* Sets to send, or NULL .. */
	const struct pm_mft_cell *cells; /* .. and these blocks to read */
	uint32_t out[PM_MFT_BLOCKS];	 /* [block] Sets of step 0 that are out */
	bool failed[PM_MFT_BLOCKS];	 /* [block] one of them was not answered */
	uint32_t silent;		 /* silent switches */
	bool over;
	struct mft_wire_done *done;
};

static struct pm_mft_cell cell_of(const struct sending *s, uint32_t index)
{
	const struct pm_mft_set *set = s->sets ? &s->sets[index] : NULL;

	if (!set)
		return s->cells[index];
	return (struct pm_mft_cell){set->sw, set->block, set->position};
}

/* The path to a reachable switch; false: it is too long. */
static bool find_route(const struct mft_wire *wire, uint32_t sw, osm_dr_path_t *route)
{
	const struct pm_fabric *topology = wire->plan->topology;
	uint8_t back[IB_SUBNET_PATH_HOPS_MAX], path[IB_SUBNET_PATH_HOPS_MAX] = {0};
	uint8_t num = 0, first = 1;

	for (uint32_t by = wire->by[sw]; topology->ports[by].num;
	     by = wire->by[topology->ports[by].node]) {
		if (num + 2 == IB_SUBNET_PATH_HOPS_MAX)
			return false;
		back[num++] = topology->ports[by].num;
	}
	if (wire->sm_port)
		path[first++] = wire->sm_port;
	for (uint8_t i = 0; i < num; i++)
		path[first + i] = back[num - 1 - i];
	osm_dr_path_init(route, (uint8_t)(num + first - 1), path);
	return true;
}

/* Addresses an SMP for a cell; returns why nothing can be sent there, or NULL. */
static const char *address(const struct sending *s, const struct pm_mft_cell *cell,
			   struct smp_request *smp)
{
	const struct mft_wire *wire = s->wire;
	const osm_switch_t *sw =
		lft_records_switch(&wire->osm->subn, wire->plan, cell->sw);

	*smp = (struct smp_request){
		.kind = s->sets ? SMP_SET_MFT : SMP_MFT,
		.sw = sw,
		.modifier = smp_mft_modifier(cell->block, cell->position)};
	if (wire->silent[cell->sw])
		return "a block not answered";
	if (!sw || !find_route(wire, cell->sw, &smp->route))
		return "a switch has no route";
	if (smp_is_mft_out(wire->smps, osm_node_get_node_guid(sw->p_node), smp->modifier))
		return "an earlier SMP for the block is out";
	return NULL;
}

/* Leaves out a cell, and with it later Sets of its block. */
static void leave_out(struct sending *s, uint32_t index, const char *reason)
{
	const struct pm_mft_set *set = s->sets ? &s->sets[index] : NULL;

	if (!set)
		return;
	s->done->gave_up = reason;
	s->failed[set->block] |= !set->step;
}

static enum smp_make make_smp(void *context, uint32_t index, struct smp_request *smp)
{
	struct sending *s = context;
	const struct pm_mft_set *set = s->sets ? &s->sets[index] : NULL;
	const struct pm_mft_cell cell = cell_of(s, index);
	const char *reason;

	s->done->interrupted |= s->wire->is_interrupted(s->wire->context);
	s->over |= s->done->interrupted;
	if (s->over)
		return SMP_OMIT;
	if (set && set->step && s->out[set->block])
		return SMP_LATER;
	reason = address(s, &cell, smp);
	if (set && set->step && s->failed[set->block])
		reason = "a block not answered";
	if (reason) {
		leave_out(s, index, reason);
		return SMP_OMIT;
	}
	if (!set)
		return SMP_SEND;
	for (size_t i = 0; i < PM_MFT_BLOCK; i++) {
		smp->data[2 * i] = (uint8_t)(set->masks[i] >> 8);
		smp->data[2 * i + 1] = (uint8_t)set->masks[i];
	}
	s->out[set->block] += !set->step;
	return SMP_SEND;
}

static void note_unanswered(struct sending *s, uint32_t index, enum smp_outcome outcome)
{
	const struct pm_mft_cell cell = cell_of(s, index);
	uint8_t *silent = &s->wire->silent[cell.sw];

	leave_out(s, index, smp_fault(outcome));
	if (s->sets)
		pm_mfts_forget_block(s->wire->installed, cell.sw, cell.block,
				     cell.position);
	s->silent += outcome == SMP_SILENT && !*silent;
	*silent |= outcome == SMP_SILENT;
	s->over |= s->silent >= MOST_SILENT;
}

/* The block is in the switch's answer. */
static bool keep_answer(void *context, const struct smp_answer *answer)
{
	struct sending *s = context;
	const struct pm_mft_cell cell = cell_of(s, answer->index);
	uint16_t masks[PM_MFT_BLOCK];

	if (s->sets)
		s->out[cell.block] -= !s->sets[answer->index].step;
	if (answer->outcome == SMP_SILENT || answer->outcome == SMP_REFUSED) {
		note_unanswered(s, answer->index, answer->outcome);
		return !s->over && !osm_exit_flag;
	}
	if (answer->outcome == SMP_DIFFERENT)
		leave_out(s, answer->index, smp_fault(answer->outcome));
	for (size_t i = 0; i < PM_MFT_BLOCK; i++)
		masks[i] = (uint16_t)(answer->data[2 * i] << 8 | answer->data[2 * i + 1]);
	s->done->acked += s->sets && answer->outcome == SMP_ANSWERED;
	s->done->learned += !s->sets;
	if (pm_mfts_set_block(s->wire->installed, cell.sw, cell.block, cell.position,
			      masks)) {
		leave_out(s, answer->index, "out of memory");
		pm_mfts_forget_block(s->wire->installed, cell.sw, cell.block,
				     cell.position);
		s->over = true;
	}
	return !s->over && !osm_exit_flag;
}

static uint32_t run_batch(struct sending *sending, uint32_t num)
{
	const struct mft_wire *wire = sending->wire;
	struct smp_count count = {0};

	memset(wire->silent, 0, wire->plan->topology->num_switches);
	smp_run(wire->smps,
		&(struct smp_batch){.num = num,
				    .ahead = wire->idle	      ? 0
					     : wire->sweeping ? SMP_AHEAD_BESIDE
							      : SMP_AHEAD,
				    .ahead_most = wire->idle ? 0 : SMP_AHEAD_MOST,
				    .total_ms = SMP_TOTAL_MS,
				    .context = sending,
				    .make = make_smp,
				    .take = keep_answer},
		&count);
	return count.sent;
}

void mft_wire_send(const struct mft_wire *wire, const struct pm_mft_steps *steps,
		   struct mft_wire_done *done)
{
	struct sending sending = {.wire = wire, .sets = steps->sets, .done = done};

	done->sent += run_batch(&sending, steps->num);
}

void mft_wire_read(const struct mft_wire *wire, const struct pm_mft_cell *cells,
		   uint32_t num, struct mft_wire_done *done)
{
	struct sending sending = {.wire = wire, .cells = cells, .done = done};

	done->queried += run_batch(&sending, num);
}
