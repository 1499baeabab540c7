/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "repair.h"

#include "tables.h"
#include "wait.h"

#include <portmajor/change.h>
#include <portmajor/locate.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QUESTIONS 256	 /* between two thoughts */
#define REPORTS 8192	 /* traps that are remembered at a time */
#define FIRST_TRAP_MS 20 /* a trap is reported shortly after the sweep is asked for */
#define QUIET_MS 4	 /* without a trap: a burst is over */
#define SILENT_MS 100	 /* a question or a block without an answer */
#define BLOCKS_AHEAD 4	 /* blocks in OpenSM's queue beside those on the wire */
#define MOST_SILENT 8	 /* questions without an answer, then all is left to the sweep */
#define MOST_LOOKS 8
#define MOST_MS_PER_BUDGET 10 /* in all, unanswered questions included */

struct repair {
	struct wait_signal signal;
	/* Under its lock. */
	uint16_t *lids; /* of switches that sent traps not dealt with yet */
	uint32_t num_lids;
	double first_trap, last_trap; /* of these; wait_clock_ms */

	/* Of the sweeper thread. */
	uint32_t number;
};

/* A block to be sent. */
struct block {
	uint32_t known, number;
	uint64_t urgency;
};

/* One repair. */
struct work {
	const struct repair_subject *on;
	const struct pm_plan *plan;
	struct view *view;
	struct repair *repair;
	struct pm_locate *locate;
	uint8_t *alive;
	double start, first_trap, in_vain; /* ms: a moment, a moment, a time */
	uint32_t traps, lost, looks;
	struct ask_count questions;
	uint64_t sent, acked;
	struct pm_delta delta;
	const char *gave_up;
	uint32_t ports[QUESTIONS]; /* asked for */
	struct block *blocks;	   /* to be sent */
	uint32_t num_blocks;
};

/* ---- Traps ---- */

struct repair *repair_start(void)
{
	struct repair *repair = calloc(1, sizeof(*repair));

	if (repair)
		repair->lids = calloc(REPORTS, sizeof(*repair->lids));
	if (!repair || !repair->lids) {
		free(repair);
		return NULL;
	}
	wait_signal_init(&repair->signal);
	return repair;
}

void repair_stop(struct repair *repair)
{
	if (!repair)
		return;
	wait_signal_destroy(&repair->signal);
	free(repair->lids);
	free(repair);
}

void repair_note_trap(struct repair *repair, const ib_mad_notice_attr_t *notice)
{
	if (!ib_notice_is_generic(notice) ||
	    notice->g_or_v.generic.trap_num != CL_HTON16(SM_LINK_STATE_CHANGED_TRAP))
		return;
	pthread_mutex_lock(&repair->signal.lock);
	repair->last_trap = wait_clock_ms();
	if (!repair->num_lids)
		repair->first_trap = repair->last_trap;
	if (repair->num_lids < REPORTS)
		repair->lids[repair->num_lids++] =
			cl_ntoh16(notice->data_details.ntc_128.sw_lid);
	pthread_cond_signal(&repair->signal.changed);
	pthread_mutex_unlock(&repair->signal.lock);
}

void repair_skip(struct repair *repair)
{
	pthread_mutex_lock(&repair->signal.lock);
	repair->num_lids = 0;
	pthread_mutex_unlock(&repair->signal.lock);
}

static bool is_over(const struct work *work)
{
	double spent = wait_clock_ms() - work->start;
	double budget = work->on->budget_ms;

	return osm_exit_flag || work->on->osm->subn.sm_state != IB_SMINFO_STATE_MASTER ||
	       spent - work->in_vain > budget || spent > MOST_MS_PER_BUDGET * budget;
}

/* Waits until the burst of traps pauses. */
static void wait_for_quiet(struct work *work)
{
	struct repair *repair = work->repair;

	pthread_mutex_lock(&repair->signal.lock);
	while (!is_over(work)) {
		double left = repair->last_trap + QUIET_MS - wait_clock_ms();

		if (left <= 0)
			break;
		wait_briefly(&repair->signal, left);
	}
	pthread_mutex_unlock(&repair->signal.lock);
}

/* Hands the traps that have come to the search; how many there were. */
static uint32_t take_traps(struct work *work)
{
	struct repair *repair = work->repair;
	const struct pm_plan *plan = work->plan;
	uint32_t num;

	pthread_mutex_lock(&repair->signal.lock);
	num = repair->num_lids;
	if (num && !work->traps)
		work->first_trap = repair->first_trap;
	for (uint32_t i = 0; i < num; i++) {
		uint32_t place = repair->lids[i] <= plan->top_lid
					 ? plan->owner[repair->lids[i]]
					 : PM_NONE;

		if (place != PM_NONE && plan->known->ports[place].num == 0)
			pm_locate_report(work->locate, plan->known->ports[place].node);
	}
	repair->num_lids = 0;
	pthread_mutex_unlock(&repair->signal.lock);
	work->traps += num;
	return num;
}

static bool has_traps(struct repair *repair, double milliseconds)
{
	bool any;

	pthread_mutex_lock(&repair->signal.lock);
	for (double end = wait_clock_ms() + milliseconds;
	     !repair->num_lids && wait_clock_ms() < end && !osm_exit_flag;)
		wait_briefly(&repair->signal, end - wait_clock_ms());
	any = repair->num_lids != 0;
	pthread_mutex_unlock(&repair->signal.lock);
	return any;
}

/* ---- Questions ---- */

/* The directed route to a switch; false if there is none. */
static bool find_route(const struct work *work, uint32_t known, osm_dr_path_t *route)
{
	const osm_subn_t *subn = &work->on->osm->subn;
	const osm_port_t *sm = osm_get_port_by_guid(subn, subn->sm_port_guid);
	uint8_t hops[PM_LOCATE_HOPS], path[IB_SUBNET_PATH_HOPS_MAX] = {0};
	int num = pm_locate_path(work->locate, known, hops), first = 1;

	if (num < 0 || !sm)
		return false;
	if (osm_node_get_type(sm->p_node) != IB_NODE_TYPE_SWITCH)
		path[first++] = osm_physp_get_port_num(sm->p_physp);
	if (num + first > IB_SUBNET_PATH_HOPS_MAX)
		return false;
	memcpy(path + first, hops, (size_t)num);
	osm_dr_path_init(route, (uint8_t)(num + first - 1), path);
	return true;
}

static bool make_question(void *context, uint32_t index, struct ask_smp *smp)
{
	struct work *work = context;
	const struct pm_port *port = &work->plan->known->ports[work->ports[index]];

	smp->kind = ASK_PORT_INFO;
	smp->sw = tables_switch(&work->on->osm->subn, work->plan, port->node);
	smp->modifier = port->num;
	return smp->sw && find_route(work, port->node, &smp->route);
}

/* Ends the asking when too many are silent. */
static bool take_answer(void *context, const struct ask_answer *answer)
{
	struct work *work = context;
	enum pm_answer means = PM_NO_ANSWER;

	if (answer->outcome == ASK_ANSWERED)
		means = ib_port_info_get_port_state(
				(const ib_port_info_t *)answer->data) == IB_LINK_DOWN
				? PM_ANSWER_DOWN
				: PM_ANSWER_UP;
	pm_locate_answer(work->locate, work->ports[answer->index], means);
	return work->questions.silent < MOST_SILENT && !is_over(work);
}

static void ask_all(struct work *work, uint32_t num)
{
	uint32_t silent = work->questions.silent;
	double start = wait_clock_ms();

	ask_run(work->on->ask,
		&(struct ask_batch){.num = num,
				    .total_ms = SILENT_MS,
				    .context = work,
				    .make = make_question,
				    .take = take_answer},
		&work->questions);
	if (work->questions.silent > silent)
		work->in_vain += wait_clock_ms() - start;
}

/* Asks until nothing more is worth asking and no trap comes. */
static void search(struct work *work)
{
	uint32_t num;

	do {
		wait_for_quiet(work);
		take_traps(work);
		num = pm_locate_questions(work->locate, work->ports, QUESTIONS);
		if (num)
			ask_all(work, num);
		if (work->questions.silent >= MOST_SILENT)
			work->gave_up = "too many questions not answered";
	} while (num && !work->gave_up && !is_over(work));
}

/* ---- Blocks ---- */

static int compare_blocks(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	if (x->urgency != y->urgency)
		return x->urgency > y->urgency ? -1 : 1;
	if (x->known != y->known)
		return x->known < y->known ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static bool has_hosts(const struct work *work, uint32_t known)
{
	const struct pm_fabric *fabric = work->plan->known;
	const struct pm_node *n = &fabric->nodes[known];

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		if (fabric->ports[i].host && work->view->alive[i])
			return true;
	return false;
}

/*
 * Blocks with the SM's LID first, those near the SM before those far away, so that its
 * ways are whole again at once. Then the switches with most entries to be changed,
 * those with hosts before the others.
 */
static uint64_t find_urgency(const struct work *work, uint32_t known, uint32_t number,
			     const struct pm_delta *delta)
{
	uint8_t path[PM_LOCATE_HOPS];
	uint64_t near;

	if (work->plan->lid[work->view->detours.manager] / PM_LFT_BLOCK == number) {
		near = (uint64_t)(PM_LOCATE_HOPS -
				  pm_locate_path(work->locate, known, path));
		return (uint64_t)2 << 32 | near;
	}
	return (uint64_t)has_hosts(work, known) << 32 | delta->entries;
}

/* Where a block of our table differs from what OpenSM knows of the switch. */
static bool block_differs(const uint8_t *lft, const uint8_t *table, uint32_t block)
{
	struct pm_delta delta = {0};

	pm_delta_add(&delta, lft + block * PM_LFT_BLOCK, table + block * PM_LFT_BLOCK,
		     PM_LFT_BLOCK);
	return delta.blocks != 0;
}

/* Blocks of a table that a switch's record has room for and OpenSM sends. */
static uint32_t common_blocks(const struct pm_routes *routes, const osm_switch_t *sw)
{
	uint32_t blocks = pm_routes_stride(routes) / PM_LFT_BLOCK;
	uint32_t room = sw->lft_size / PM_LFT_BLOCK;
	uint32_t top = sw->max_lid_ho / PM_LFT_BLOCK + 1u;

	blocks = blocks < room ? blocks : room;
	return blocks < top ? blocks : top;
}

static int list_switch(struct work *work, uint32_t known)
{
	const struct pm_routes *routes = work->view->routes;
	const osm_switch_t *sw = tables_switch(&work->on->osm->subn, work->plan, known);
	const uint8_t *table = pm_routes_table(routes, known);
	uint8_t path[PM_LOCATE_HOPS];
	struct pm_delta delta = {0};
	struct block *more;
	uint32_t num;

	if (!sw || !sw->lft)
		return 0;
	num = common_blocks(routes, sw);
	pm_delta_add(&delta, sw->lft, table, num * PM_LFT_BLOCK);
	if (!delta.blocks || pm_locate_path(work->locate, known, path) < 0)
		return 0;
	more = reallocarray(work->blocks, work->num_blocks + delta.blocks, sizeof(*more));
	if (!more)
		return -ENOMEM;
	work->blocks = more;
	for (uint32_t b = 0; b < num; b++)
		if (block_differs(sw->lft, table, b))
			more[work->num_blocks++] = (struct block){
				known, b, find_urgency(work, known, b, &delta)};
	work->delta.bound += delta.bound;
	work->delta.entries += delta.entries;
	work->delta.switches++;
	return 0;
}

/*
 * Zeroes the block in OpenSM's record, as OpenSM does when it sends one: if the answer is
 * lost, nobody knows what the switch holds, and the sweep sends the block again.
 */
static bool make_block(void *context, uint32_t index, struct ask_smp *smp)
{
	struct work *work = context;
	const struct block *block = &work->blocks[index];
	const osm_switch_t *sw =
		tables_switch(&work->on->osm->subn, work->plan, block->known);
	uint32_t at = block->number * PM_LFT_BLOCK;

	if (!sw || at + PM_LFT_BLOCK > sw->lft_size ||
	    !find_route(work, block->known, &smp->route))
		return false;
	smp->kind = ASK_SET_BLOCK;
	smp->sw = sw;
	smp->modifier = block->number;
	tables_wanted(sw->lft + at,
		      pm_routes_table(work->view->routes, block->known) + at,
		      PM_LFT_BLOCK, smp->data);
	memset(sw->lft + at, 0, PM_LFT_BLOCK);
	return true;
}

static bool take_acknowledgement(void *context, const struct ask_answer *answer)
{
	struct work *work = context;

	work->acked += answer->outcome == ASK_ANSWERED;
	if (answer->outcome != ASK_ANSWERED)
		work->gave_up = "a block not answered";
	return !work->gave_up;
}

static int send_tables(struct work *work)
{
	osm_opensm_t *osm = work->on->osm;
	struct ask_count count = {0};
	int rc = 0;

	work->num_blocks = 0;
	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t sw = 0; sw < work->plan->known->num_switches && !rc; sw++)
		rc = list_switch(work, sw);
	CL_PLOCK_RELEASE(&osm->lock);
	if (rc || !work->num_blocks)
		return rc;
	qsort(work->blocks, work->num_blocks, sizeof(*work->blocks), compare_blocks);
	ask_run(work->on->ask,
		&(struct ask_batch){.num = work->num_blocks,
				    .ahead = BLOCKS_AHEAD,
				    .total_ms = SILENT_MS,
				    .exclusive = true,
				    .context = work,
				    .make = make_block,
				    .take = take_acknowledgement},
		&count);
	work->sent += count.sent;
	return 0;
}

/* ---- A repair ---- */

/* Takes what was found into view and sends the tables for it. */
static void apply(struct work *work, struct pm_error *err)
{
	struct view_sight sight = {
		.seen = work->alive,
		.detours = work->view->detours,
		.now_ms = (uint64_t)wait_clock_ms(),
	};
	bool changed;

	if (view_look(work->view, &sight, &changed, err) || send_tables(work))
		work->gave_up = "out of memory";
}

/* One look: search, compute, send. False if nothing was found. */
static bool look(struct work *work, struct pm_error *err)
{
	uint32_t lost;

	if (pm_locate_new(work->view->routes, work->view->seen,
			  work->view->detours.manager, &work->locate, err))
		return false;
	search(work);
	lost = pm_locate_lost(work->locate, work->alive);
	if (lost && !osm_exit_flag)
		apply(work, err);
	work->lost += lost;
	work->looks += lost != 0;
	pm_locate_free(work->locate);
	work->locate = NULL;
	return lost != 0;
}

static void describe(const struct work *work, const uint8_t *before,
		     struct repaired *done)
{
	*done = (struct repaired){
		.number = work->repair->number,
		.traps = work->traps,
		.queries = work->questions.sent,
		.unanswered = work->questions.silent + work->questions.refused,
		.links_down = work->lost,
		.looks = work->looks,
		.sent = work->sent,
		.acked = work->acked,
		.bound = work->delta.bound,
		.switches = work->delta.switches,
		.milliseconds = wait_clock_ms() - work->first_trap,
		.gave_up = work->gave_up,
	};
	pm_change_describe(work->plan, before, work->view->seen, done->change,
			   sizeof(done->change));
}

bool repair_run(struct repair *repair, const struct repair_subject *subject,
		struct repaired *done)
{
	struct view *view = subject->view;
	struct work *work;
	struct pm_error err = {""};
	uint32_t num = view->plan->known->num_ports;
	uint8_t *before;
	bool any = false;

	if (!has_traps(repair, FIRST_TRAP_MS))
		return false;
	work = calloc(1, sizeof(*work));
	before = malloc(num);
	if (work)
		work->alive = malloc(num);
	if (!work || !before || !work->alive) {
		repair_skip(repair);
		goto out;
	}
	work->on = subject;
	work->plan = view->plan;
	work->view = view;
	work->repair = repair;
	work->start = wait_clock_ms();
	memcpy(before, view->seen, num);
	repair->number++;
	for (int i = 0; i < MOST_LOOKS && look(work, &err); i++)
		if (is_over(work) || work->gave_up || !has_traps(repair, QUIET_MS))
			break;
	describe(work, before, done);
	any = true;
out:
	if (work) {
		free(work->alive);
		free(work->blocks);
	}
	free(before);
	free(work);
	return any;
}
