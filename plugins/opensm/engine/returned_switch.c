/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asks and writes switches at links that come back. */
#include "returned_switch.h"

#include "osm/lft_records.h"

#include <stdlib.h>
#include <string.h>

#define SILENT_MS 80 /* as in repair.c */

static enum smp_make address(struct returned_switches *switches, uint32_t index,
			     enum smp_kind kind, struct smp_request *smp)
{
	const struct returned_switch *sw = &switches->list[index];

	if (osm_exit_flag || switches->is_halted(switches->context) || sw->silent ||
	    sw->why)
		return SMP_OMIT;
	smp->kind = kind;
	smp->guid = cl_hton64(switches->view->plan->topology->nodes[sw->node].guid);
	smp->m_key = sw->m_key;
	smp->route = sw->route;
	return SMP_SEND;
}

static void note_outcome(struct returned_switch *sw, enum smp_outcome outcome)
{
	if (outcome == SMP_SILENT)
		sw->silent = true;
	else if (outcome != SMP_ANSWERED)
		sw->why = "its switch refuses";
}

static void run(struct returned_switches *switches, uint32_t num, struct smp_count *count,
		enum smp_make (*make)(void *context, uint32_t index,
				      struct smp_request *smp),
		bool (*take)(void *context, const struct smp_answer *answer))
{
	smp_run(switches->sender->smps,
		&(struct smp_batch){.num = num,
				    .ahead = SMP_AHEAD,
				    .ahead_most = SMP_AHEAD_MOST,
				    .total_ms = SILENT_MS,
				    .exclusive = true,
				    .context = switches,
				    .make = make,
				    .take = take},
		count);
}

/* ---- Port 0 ---- */

static enum smp_make make_ask(void *context, uint32_t index, struct smp_request *smp)
{
	struct returned_switches *switches = context;

	return address(switches, switches->asked + index, SMP_PORT_INFO, smp);
}

static uint16_t lid_of(const struct returned_switches *switches, uint32_t node)
{
	const struct pm_plan *plan = switches->view->plan;

	return plan->lid[plan->topology->nodes[node].first_port];
}

bool returned_switches_is_recorded(const struct returned_switches *switches,
				   uint32_t node)
{
	const osm_switch_t *sw = lft_records_switch(&switches->sender->osm->subn,
						    switches->view->plan, node);

	return sw && sw->lft;
}

/* Whether the plan's LIDs fit in its table. */
static bool has_room(const struct returned_switches *switches,
		     const ib_switch_info_t *info)
{
	return cl_ntoh16(info->lin_cap) > switches->view->plan->top_lid;
}

static void judge_zero(struct returned_switches *switches, struct returned_switch *sw)
{
	uint32_t first = switches->view->plan->topology->nodes[sw->node].first_port;
	const ib_port_info_t *zero = &sw->zero,
			     *last = &switches->records->ends[first].info;

	sw->reset = !zero->base_lid && !zero->master_sm_base_lid;
	if (!sw->reset && (cl_ntoh16(zero->base_lid) != lid_of(switches, sw->node) ||
			   zero->master_sm_base_lid != switches->records->sm_lid))
		sw->why = "its switch has another LID or subnet manager";
	if (sw->reset && !switches->records->switches[sw->node].lin_top)
		sw->why = "its switch was reset, and OpenSM has not set it before";
	if (sw->reset && cl_ntoh16(last->base_lid) != lid_of(switches, sw->node))
		sw->why = "its switch had another LID than this place has";
	if (sw->reset && switches->view->drifting[first])
		sw->why = "the LID of its switch is to change";
	if (sw->reset && switches->records->options.qos)
		sw->why = "its switch was reset, and has lost its qos tables";
}

static bool take_ask(void *context, const struct smp_answer *answer)
{
	struct returned_switches *switches = context;
	struct returned_switch *sw = &switches->list[switches->asked + answer->index];

	note_outcome(sw, answer->outcome);
	if (answer->outcome != SMP_ANSWERED)
		return true;
	memcpy(&sw->zero, answer->data, sizeof(sw->zero));
	judge_zero(switches, sw);
	return true;
}

void returned_switches_ask(struct returned_switches *switches)
{
	osm_opensm_t *osm = switches->sender->osm;

	run(switches, switches->num - switches->asked, &switches->queries, make_ask,
	    take_ask);
	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t i = switches->asked; i < switches->num; i++) {
		struct returned_switch *sw = &switches->list[i];

		if (sw->reset && !osm->subn.opt.no_partition_enforcement &&
		    cl_qmap_count(&osm->subn.prtn_pkey_tbl) > 1)
			sw->why = "its switch was reset, and has lost its P_Key tables";
		sw->whole =
			sw->reset || !returned_switches_is_recorded(switches, sw->node);
		if (sw->whole &&
		    !has_room(switches, &switches->records->switches[sw->node]))
			sw->why = "its switch has no room for all LIDs";
	}
	CL_PLOCK_RELEASE(&osm->lock);
	switches->asked = switches->num;
}

/* ---- SwitchInfo and port 0 of those that were reset ---- */

static enum smp_make make_info_query(void *context, uint32_t index,
				     struct smp_request *smp)
{
	struct returned_switches *switches = context;

	if (!switches->list[index].reset)
		return SMP_OMIT;
	return address(switches, index, SMP_SWITCH_INFO, smp);
}

static bool take_info(void *context, const struct smp_answer *answer)
{
	struct returned_switches *switches = context;
	struct returned_switch *sw = &switches->list[answer->index];

	note_outcome(sw, answer->outcome);
	if (answer->outcome != SMP_ANSWERED)
		return true;
	memcpy(&sw->info, answer->data, sizeof(sw->info));
	if (!has_room(switches, &sw->info))
		sw->why = "its switch has no room for all LIDs";
	return true;
}

static enum smp_make make_info(void *context, uint32_t index, struct smp_request *smp)
{
	struct returned_switches *switches = context;
	const struct returned_switch *sw = &switches->list[index];
	const ib_switch_info_t *last = &switches->records->switches[sw->node];
	ib_switch_info_t info = sw->info;

	if (!sw->reset)
		return SMP_OMIT;
	info.lin_top = last->lin_top;
	info.life_state = last->life_state;
	info.mcast_top = last->mcast_top;
	ib_switch_info_clear_state_change(&info); /* it stays: OpenSM looks at it */
	memcpy(smp->data, &info, sizeof(info));
	return address(switches, index, SMP_SET_SWITCH, smp);
}

static enum smp_make make_zero(void *context, uint32_t index, struct smp_request *smp)
{
	struct returned_switches *switches = context;
	const struct returned_switch *sw = &switches->list[index];
	const struct pm_node *node = &switches->view->plan->topology->nodes[sw->node];
	ib_port_info_t info;

	if (!sw->reset)
		return SMP_OMIT;
	(void)link_records_merge(&sw->zero,
				 &switches->records->ends[node->first_port].info,
				 switches->records->sm_lid, &info);
	memcpy(smp->data, &info, sizeof(info));
	return address(switches, index, SMP_SET_PORT, smp);
}

static bool take_set(void *context, const struct smp_answer *answer)
{
	struct returned_switches *switches = context;

	note_outcome(&switches->list[answer->index], answer->outcome);
	return true;
}

/* ---- Tables ---- */

/* Whether the blocks that one waits for are over; else an SMP is out. */
static bool is_due(struct returned_switches *switches, uint32_t index)
{
	while (switches->num_over < index && switches->blocks[switches->num_over].over)
		switches->num_over++;
	return switches->blocks[index].after <= switches->num_over;
}

/*
 * The entries of a block that is sent. Those that the plan leaves open, for LIDs to which
 * only drained links lead, are as OpenSM's record has them, if there is one.
 */
static void find_entries(const struct returned_switches *switches,
			 const struct returned_block *block, const osm_switch_t *record,
			 uint8_t *entries)
{
	const struct returned_switch *sw = &switches->list[block->sw];
	const uint8_t none[PM_LFT_BLOCK] = {0};
	size_t first = (size_t)block->number * PM_LFT_BLOCK;
	uint8_t table[PM_LFT_BLOCK];

	memcpy(table, pm_routes_table(switches->view->routes, sw->node) + first,
	       sizeof(table));
	for (uint32_t i = 0; block->down && i < PM_LFT_BLOCK; i++)
		if (!returned_leads_down(switches, sw->node, table[i]))
			table[i] = sw->installed[first + i];
	lft_records_wanted(record ? record->lft + first : none, table, PM_LFT_BLOCK,
			   entries);
}

/* Fills the Set of a block. SMP_OMIT: one is out; it is tried again. */
static enum smp_make fill_block(struct returned_switches *switches,
				const struct returned_block *block,
				struct smp_request *smp)
{
	struct returned_switch *sw = &switches->list[block->sw];
	uint8_t entries[PM_LFT_BLOCK];

	smp->sw = lft_records_switch(&switches->sender->osm->subn, switches->view->plan,
				     sw->node);
	if (smp->sw && (block->number + 1) * PM_LFT_BLOCK > smp->sw->lft_size)
		smp->sw = NULL;
	find_entries(switches, block, smp->sw, entries);
	if (smp->sw) {
		if (!lft_set_is_free(switches->sender, smp->sw, block->number)) {
			sw->silent = true;
			return SMP_OMIT;
		}
		lft_set_make(block->number, entries, smp);
		return SMP_SEND;
	}
	smp->modifier = block->number;
	memcpy(smp->data, entries, sizeof(entries));
	return SMP_SEND;
}

/* With osm->lock held exclusively. */
static enum smp_make make_table_block(void *context, uint32_t index,
				      struct smp_request *smp)
{
	struct returned_switches *switches = context;
	struct returned_block *block = &switches->blocks[index];
	enum smp_make made;

	if (!is_due(switches, index))
		return SMP_LATER;
	made = address(switches, block->sw, SMP_SET_BLOCK, smp);
	if (made == SMP_SEND)
		made = fill_block(switches, block, smp);
	block->over = made != SMP_SEND;
	return made;
}

static bool take_block(void *context, const struct smp_answer *answer)
{
	struct returned_switches *switches = context;
	struct returned_block *block = &switches->blocks[answer->index];

	block->over = true;
	switches->acked += answer->outcome == SMP_ANSWERED;
	note_outcome(&switches->list[block->sw], answer->outcome);
	return true;
}

/* What a reset takes, beside the table. */
static void write_reset(struct returned_switches *switches)
{
	run(switches, switches->num, &switches->queries, make_info_query, take_info);
	run(switches, switches->num, &switches->sets, make_info, take_set);
	run(switches, switches->num, &switches->sets, make_zero, take_set);
}

int returned_switches_write(struct returned_switches *switches)
{
	int rc;

	write_reset(switches);
	rc = returned_order(switches);
	if (!rc && switches->num_blocks)
		run(switches, switches->num_blocks, &switches->tables, make_table_block,
		    take_block);
	free(switches->blocks);
	switches->blocks = NULL;
	switches->num_blocks = switches->blocks_room = 0;
	return rc;
}
