/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Locates and repairs failures over proven paths. */
#include "repair.h"

#include "osm/lft_records.h"
#include "clock.h"

#include <portmajor/analysis/change_text.h>
#include <portmajor/base/alloc.h>
#include <portmajor/policy/locate.h>
#include <portmajor/route/order.h>
#include <portmajor/route/steps.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QUERIES 256   /* Gets between two steps of the search */
#define REPORTS 8192  /* traps kept at a time */
#define QUIET_MS 4    /* time without a trap that ends a burst */
#define SEND_AHEAD 64 /* items sent before their turn while others wait */
#define MOST_ROUNDS 8
#define MOST_SETS_SILENT 4 /* silent blocks until another failure is searched for */
/*
 * Time until a Get or a block counts as unanswered: OpenSM's default of 4 transmissions
 * of 20 ms each. A switch answers within about 1 ms, and writes a block in 265 us. With
 * as many on the wire as OpenSM sends by default, none waits behind more than a few.
 */
#define SILENT_MS 80

struct repair {
	struct clock_signal signal;
	/* under its lock: */
	uint16_t *lids; /* of switches with traps not handled yet */
	uint32_t num_lids;
	double first_trap, last_trap; /* of these; clock_ms */
	double left;	  /* first trap of what the last repair left; 0: nothing */
	uint64_t dropped; /* traps without room, since repair_take_overflow */
	uint8_t explained[PM_MAX_LID + 1]; /* [LID] traps to drop when they come .. */
	double explained_ms;		   /* .. until then */
	uint8_t expected[PM_MAX_LID + 1];  /* [LID] traps that were received, .. */
	double expected_ms;		   /* .. the last one then */
	bool has_plan;
	bool is_switch[PM_MAX_LID + 1]; /* [LID] of a switch of the plan */

	/* of the repairing thread: */
	uint16_t *taken;    /* traps in the present repair, as far as there is room */
	uint32_t num_taken; /* number of all of them */
	uint32_t number;    /* of the last repair */
};

/* One repair. */
struct work {
	const struct repair_subject *on;
	const struct pm_plan *plan;
	struct view *view;
	struct repair *repair;
	struct pm_locate *locate;
	uint8_t *usable, *gone;
	double first_trap, first_set; /* times in ms; 0: there was none */
	double progress; /* when the last failure was found, or the repair began */
	double aside;	 /* ms since then that do not count in the budget */
	uint32_t traps, failed, rounds;
	struct smp_count queries, sets;
	uint32_t most_missing; /* missing blocks that end the batch */
	uint64_t acked;
	uint64_t restoring; /* blocks sent up to the last that restores a path */
	struct pm_delta listed, delta; /* of blocks to send; of all rounds */
	const char *gave_up;
	uint32_t ports[QUERIES];       /* ports to query */
	struct pm_order_block *blocks; /* blocks to send */
	uint32_t num_blocks, blocks_room;
	enum { QUERYING, SENDING_STEPS, SENDING } mode;
	struct pm_steps steps; /* SENDING_STEPS */
	uint8_t *unknown;      /* [step] block was unknown when steps were made */
	struct pm_order_waits waits;
	uint8_t *unset;	     /* [block] left out, or perhaps not in its switch */
	uint8_t *over;	     /* [block] left out, or its SMP has come back */
	uint8_t *restores;   /* [block] paths between hosts wait for it */
	uint32_t first_idle; /* SENDING: blocks from here on restore no path */
	uint32_t postponed;  /* of these, in the last batch */
	bool last_round;
	bool interrupted;   /* by a trap: this round sends no more blocks */
	bool stepped;	    /* some blocks went in steps */
	uint32_t unordered; /* sum of the orders' `forced` */
	/*
	 * Items in order, those not sent yet from `next` on; and the sent ones by their
	 * index in the batch.
	 */
	uint32_t *order, *sent, next, num_ordered;
};

/* ---- Traps ---- */

struct repair *repair_start(void)
{
	struct repair *repair = calloc(1, sizeof(*repair));

	if (repair)
		repair->lids = calloc(2 * (size_t)REPORTS, sizeof(*repair->lids));
	if (!repair || !repair->lids) {
		free(repair);
		return NULL;
	}
	repair->taken = repair->lids + REPORTS;
	clock_signal_init(&repair->signal);
	return repair;
}

void repair_stop(struct repair *repair)
{
	if (!repair)
		return;
	clock_signal_destroy(&repair->signal);
	free(repair->lids);
	free(repair);
}

/* Whether a LID is port 0's of a switch of the plan. */
static bool is_of_switch(const struct pm_plan *plan, uint32_t lid)
{
	uint32_t place = lid <= plan->top_lid ? plan->owner[lid] : PM_NONE;

	return place != PM_NONE && plan->topology->ports[place].num == 0;
}

void repair_set_plan(struct repair *repair, const struct pm_plan *plan)
{
	pthread_mutex_lock(&repair->signal.lock);
	repair->has_plan = plan != NULL;
	for (uint32_t lid = 0; plan && lid <= PM_MAX_LID; lid++)
		repair->is_switch[lid] = is_of_switch(plan, lid);
	pthread_mutex_unlock(&repair->signal.lock);
}

/* Called with the signal's lock held. */
static void note_lid(struct repair *repair, uint16_t lid)
{
	repair->last_trap = clock_ms();
	if (!repair->num_lids)
		repair->first_trap = repair->last_trap;
	if (repair->num_lids < REPORTS)
		repair->lids[repair->num_lids++] = lid;
	else
		repair->dropped++;
	pthread_cond_signal(&repair->signal.changed);
}

/* Whether something else explains this trap. Called with the signal's lock held. */
static bool is_explained(struct repair *repair, uint16_t lid)
{
	if (lid > PM_MAX_LID || !repair->explained[lid] ||
	    clock_ms() >= repair->explained_ms)
		return false;
	repair->explained[lid]--;
	return true;
}

bool repair_note_trap(struct repair *repair, const ib_mad_notice_attr_t *notice)
{
	uint16_t lid = cl_ntoh16(notice->data_details.ntc_128.sw_lid);
	bool counts;

	if (!ib_notice_is_generic(notice) ||
	    notice->g_or_v.generic.trap_num != CL_HTON16(SM_LINK_STATE_CHANGED_TRAP))
		return false;
	pthread_mutex_lock(&repair->signal.lock);
	counts = !repair->has_plan || (lid <= PM_MAX_LID && repair->is_switch[lid]);
	if (lid <= PM_MAX_LID && repair->expected[lid])
		repair->expected[lid]--;
	if (counts && !is_explained(repair, lid))
		note_lid(repair, lid);
	pthread_mutex_unlock(&repair->signal.lock);
	return counts;
}

bool repair_has_switch(struct repair *repair, uint16_t lid)
{
	bool has;

	pthread_mutex_lock(&repair->signal.lock);
	has = repair->has_plan && lid <= PM_MAX_LID && repair->is_switch[lid];
	pthread_mutex_unlock(&repair->signal.lock);
	return has;
}

uint32_t repair_count_traps(struct repair *repair)
{
	uint32_t num;

	pthread_mutex_lock(&repair->signal.lock);
	num = repair->num_lids;
	pthread_mutex_unlock(&repair->signal.lock);
	return num;
}

bool repair_take_overflow(struct repair *repair, uint64_t *dropped)
{
	uint64_t now;

	pthread_mutex_lock(&repair->signal.lock);
	now = repair->dropped;
	repair->dropped = 0;
	pthread_mutex_unlock(&repair->signal.lock);
	*dropped += now;
	return now;
}

/* Called with the signal's lock held. */
static void forget(struct repair *repair, uint32_t num)
{
	if (num > repair->num_lids)
		num = repair->num_lids;
	repair->num_lids -= num;
	memmove(repair->lids, repair->lids + num,
		repair->num_lids * sizeof(*repair->lids));
	if (num)
		repair->first_trap = repair->last_trap;
	repair->left = 0;
}

void repair_skip(struct repair *repair, uint32_t num)
{
	pthread_mutex_lock(&repair->signal.lock);
	forget(repair, num);
	pthread_mutex_unlock(&repair->signal.lock);
}

void repair_expect(struct repair *repair, uint16_t lid)
{
	double now = clock_ms();

	pthread_mutex_lock(&repair->signal.lock);
	if (now >= repair->expected_ms + REPAIR_EXPLAINED_MS)
		memset(repair->expected, 0, sizeof(repair->expected));
	repair->expected_ms = now;
	if (repair->expected[lid] < UINT8_MAX)
		repair->expected[lid]++;
	pthread_mutex_unlock(&repair->signal.lock);
}

/* Drops up to num of a switch's traps, the oldest; returns their number. */
static uint32_t drop_traps(struct repair *repair, uint16_t lid, uint32_t num)
{
	uint32_t left = 0, dropped = 0;

	for (uint32_t i = 0; i < repair->num_lids; i++)
		if (repair->lids[i] != lid || dropped == num)
			repair->lids[left++] = repair->lids[i];
		else
			dropped++;
	repair->num_lids = left;
	return dropped;
}

static uint32_t count_waiting(const struct repair *repair, uint16_t lid)
{
	uint32_t num = 0;

	for (uint32_t i = 0; i < repair->num_lids; i++)
		num += repair->lids[i] == lid;
	return num;
}

void repair_explain(struct repair *repair, uint16_t lid, uint32_t num, uint32_t later,
		    bool coming)
{
	uint32_t expected, newer, waiting;

	pthread_mutex_lock(&repair->signal.lock);
	expected = repair->expected[lid];
	newer = later > expected ? later - expected : 0; /* of those that wait */
	expected -= later < expected ? later : expected;
	waiting = count_waiting(repair, lid);
	waiting -= newer < waiting ? newer : waiting;
	num -= drop_traps(repair, lid, num < waiting ? num : waiting);
	if (!coming && num > expected)
		num = expected;
	if (num && clock_ms() >= repair->explained_ms)
		memset(repair->explained, 0, sizeof(repair->explained));
	if (num)
		repair->explained_ms = clock_ms() + REPAIR_EXPLAINED_MS;
	repair->explained[lid] = (uint8_t)(repair->explained[lid] + num);
	pthread_mutex_unlock(&repair->signal.lock);
}

void repair_doubt(struct repair *repair, uint16_t lid)
{
	uint32_t i = 0;

	pthread_mutex_lock(&repair->signal.lock);
	repair->explained[lid] = 0;
	while (i < repair->num_lids && repair->lids[i] != lid)
		i++;
	if (i == repair->num_lids)
		note_lid(repair, lid);
	pthread_mutex_unlock(&repair->signal.lock);
}

void repair_skip_covered(struct repair *repair, bool (*are_covered)(const void *context),
			 const void *context)
{
	pthread_mutex_lock(&repair->signal.lock);
	if (are_covered(context))
		forget(repair, REPORTS);
	pthread_mutex_unlock(&repair->signal.lock);
}

static bool is_halted(const struct work *work)
{
	return work->on->is_halted(work->on->context);
}

static bool is_over(const struct work *work)
{
	double spent = clock_ms() - work->progress;
	double budget = work->on->budget_ms;

	return osm_exit_flag ||
	       work->on->sender->osm->subn.sm_state != IB_SMINFO_STATE_MASTER ||
	       spent - work->aside > budget || is_halted(work);
}

/* Restores the whole budget. */
static void note_progress(struct work *work)
{
	work->progress = clock_ms();
	work->aside = 0;
}

/*
 * Waits until a burst of traps pauses, for at most a budget's time, which does not count
 * in the budget: several hundred switches report the failure of a chassis.
 */
static void wait_for_quiet(struct work *work)
{
	struct repair *repair = work->repair;
	double start = clock_ms();

	pthread_mutex_lock(&repair->signal.lock);
	while (!is_over(work)) {
		double left = repair->last_trap + QUIET_MS - clock_ms();

		if (left <= 0)
			break;
		clock_wait_briefly(&repair->signal, left);
	}
	pthread_mutex_unlock(&repair->signal.lock);
	work->aside += clock_ms() - start;
}

/* Passes new traps to the search; returns their number. */
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
		uint16_t lid = repair->lids[i];

		if (is_of_switch(plan, lid))
			pm_locate_report(work->locate,
					 plan->topology->ports[plan->owner[lid]].node);
		if (repair->num_taken < REPORTS)
			repair->taken[repair->num_taken] = lid;
		repair->num_taken++;
	}
	repair->num_lids = 0;
	pthread_mutex_unlock(&repair->signal.lock);
	work->traps += num;
	return num;
}

/*
 * Leaves traps that the search has not explained to the next repair, as far as there is
 * room for them.
 */
static void leave_traps(struct work *work)
{
	struct repair *repair = work->repair;
	uint32_t left = 0;

	pthread_mutex_lock(&repair->signal.lock);
	repair->left = work->first_trap;
	if (repair->num_taken)
		repair->first_trap = work->first_trap;
	while (left < repair->num_taken && left < REPORTS && repair->num_lids < REPORTS)
		repair->lids[repair->num_lids++] = repair->taken[left++];
	repair->dropped += repair->num_taken - left;
	pthread_mutex_unlock(&repair->signal.lock);
}

/* The first trap of what the last repair left, or 0. */
static double take_left(struct repair *repair)
{
	double left;

	pthread_mutex_lock(&repair->signal.lock);
	left = repair->left;
	repair->left = 0;
	pthread_mutex_unlock(&repair->signal.lock);
	return left;
}

static bool await_traps(struct repair *repair, double milliseconds)
{
	bool any;

	pthread_mutex_lock(&repair->signal.lock);
	for (double end = clock_ms() + milliseconds;
	     !repair->num_lids && clock_ms() < end && !osm_exit_flag;)
		clock_wait_briefly(&repair->signal, end - clock_ms());
	any = repair->num_lids != 0;
	pthread_mutex_unlock(&repair->signal.lock);
	return any;
}

/* ---- Paths ---- */

/*
 * Addresses a switch of OpenSM's record; or one that is back already, whose ports are
 * asked, while OpenSM has no record of it (returns.h).
 */
static bool address(const struct work *work, uint32_t node, struct smp_request *smp)
{
	const osm_subn_t *subn = &work->on->sender->osm->subn;
	const struct link_records *records = work->on->records;
	const struct pm_node *sw = &work->plan->topology->nodes[node];

	smp->sw = lft_records_switch(subn, work->plan, node);
	if (smp->sw || work->mode != QUERYING || records->plan != work->plan)
		return smp->sw;
	smp->guid = cl_hton64(sw->guid);
	smp->m_key = records->ends[sw->first_port].info.m_key;
	return true;
}

/* As pm_locate_safe_path; writes the path to *smp. */
static int find_path(const struct work *work, uint32_t node, struct smp_request *smp)
{
	const osm_subn_t *subn = &work->on->sender->osm->subn;
	const osm_port_t *sm = osm_get_port_by_guid(subn, subn->sm_port_guid);
	uint8_t hops[PM_LOCATE_HOPS], path[IB_SUBNET_PATH_HOPS_MAX] = {0};
	int num, first = 1;

	_Static_assert(PM_LOCATE_HOPS + 2 <= IB_SUBNET_PATH_HOPS_MAX, "paths fit");
	if (!sm || !address(work, node, smp))
		return PM_LOCATE_NO_PATH;
	num = pm_locate_safe_path(work->locate, node, hops);
	if (num < 0)
		return num;
	if (osm_node_get_type(sm->p_node) != IB_NODE_TYPE_SWITCH)
		path[first++] = osm_physp_get_port_num(sm->p_physp);
	memcpy(path + first, hops, (size_t)num);
	osm_dr_path_init(&smp->route, (uint8_t)(num + first - 1), path);
	return num;
}

/* ---- The order of items ---- */

/* Puts all items in their first order; -ENOMEM. */
static int assign_order(struct work *work, uint32_t num)
{
	uint32_t *order = reallocarray(work->order, num, sizeof(*order));
	uint32_t *sent;

	if (!order)
		return -ENOMEM;
	work->order = order;
	sent = reallocarray(work->sent, num, sizeof(*sent));
	if (!sent)
		return -ENOMEM;
	work->sent = sent;
	work->next = 0;
	work->num_ordered = num;
	for (uint32_t i = 0; i < num; i++)
		work->order[i] = i;
	return 0;
}

/* Marks an item as sent or left out; the items before it still wait. */
static void finish_item(struct work *work, uint32_t at)
{
	uint32_t item = work->order[at];

	memmove(work->order + work->next + 1, work->order + work->next,
		(at - work->next) * sizeof(*work->order));
	work->order[work->next++] = item;
}

/* Whether some Set of an earlier step is marked; or, if `marked` is false, is not. */
static bool has_before(const struct work *work, uint32_t item, const uint8_t *marks,
		       bool marked)
{
	const struct pm_steps_set *sets = work->steps.sets;

	for (uint32_t i = 0; sets[i].step < sets[item].step; i++)
		if (marks[i] == marked)
			return true;
	return false;
}

/*
 * Whether an item has to wait until others are over (order.h, steps.h), or until those
 * that hosts wait for are sent.
 */
static bool is_early(const struct work *work, uint32_t at)
{
	uint32_t item = work->order[at];

	if (work->mode == SENDING_STEPS)
		return has_before(work, item, work->over, false);
	return work->mode == SENDING &&
	       ((item >= work->first_idle && work->next < work->first_idle) ||
		pm_order_is_early(&work->waits, item, work->over));
}

/*
 * Whether an item is left out because one before it was not answered, or was left out: a
 * packet might loop.
 */
static bool is_in_vain(const struct work *work, uint32_t item)
{
	if (work->mode == SENDING_STEPS)
		return has_before(work, item, work->unset, true);
	return work->mode == SENDING &&
	       pm_order_is_behind(&work->waits, item, work->unset);
}

static uint32_t block_switch(const struct work *work, uint32_t item)
{
	return work->mode == SENDING_STEPS ? work->steps.sets[item].sw
					   : work->blocks[item].sw;
}

static uint32_t block_number(const struct work *work, uint32_t item)
{
	return work->mode == SENDING_STEPS ? work->steps.sets[item].number
					   : work->blocks[item].number;
}

/*
 * Whether the block has to wait because a Set of it is out, ours or OpenSM's; or OpenSM's
 * record is too short, as the switch has come anew since the block was listed.
 */
static bool is_out(struct work *work, uint32_t item)
{
	const osm_switch_t *sw;
	uint32_t number;

	if (work->mode == QUERYING)
		return false;
	sw = lft_records_switch(&work->on->sender->osm->subn, work->plan,
				block_switch(work, item));
	number = block_number(work, item);
	return sw && ((number + 1) * PM_LFT_BLOCK > sw->lft_size ||
		      !lft_set_is_free(work->on->sender, sw, number));
}

/* Whether an item is left out whatever its path is; counts those that only wait. */
static bool is_postponed(struct work *work, uint32_t item)
{
	bool out = is_out(work, item);

	work->postponed += out;
	return out || is_in_vain(work, item);
}

/*
 * Whether a new trap interrupts the sending: these blocks do not reflect its failure, and
 * the next round computes the rest anew. The last round sends all, despite traps.
 */
static bool is_interrupted(struct work *work)
{
	work->interrupted |= work->mode != QUERYING && !work->last_round &&
			     !is_over(work) && repair_count_traps(work->repair);
	return work->interrupted;
}

/*
 * Makes SMP `index` of the batch: the first item with a free path. Items without
 * any path are left out, which is logged.
 */
static enum smp_make take_item(struct work *work, uint32_t index, struct smp_request *smp,
			       uint32_t (*find_switch)(const struct work *work,
						       uint32_t item),
			       void (*leave_out)(struct work *work, uint32_t item))
{
	if (is_halted(work) || is_interrupted(work))
		return SMP_OMIT;
	for (uint32_t i = work->next;
	     i < work->num_ordered && i < work->next + SEND_AHEAD; i++) {
		uint32_t item = work->order[i];
		int hops = PM_LOCATE_NO_PATH;

		/* An SMP must go over each path that find_path returns. */
		if (is_early(work, i))
			continue;
		if (!is_postponed(work, item))
			hops = find_path(work, find_switch(work, item), smp);
		if (hops == PM_LOCATE_LATER)
			continue;
		finish_item(work, i);
		work->sent[index] = item;
		if (hops >= 0)
			return SMP_SEND;
		leave_out(work, item);
	}
	return work->next < work->num_ordered ? SMP_LATER : SMP_OMIT;
}

/* ---- Gets ---- */

static uint32_t queried_switch(const struct work *work, uint32_t query)
{
	return work->plan->topology->ports[work->ports[query]].node;
}

static void skip_query(struct work *work, uint32_t query)
{
	pm_locate_skip(work->locate, work->ports[query]);
}

static enum smp_make make_query(void *context, uint32_t index, struct smp_request *smp)
{
	struct work *work = context;
	enum smp_make made = take_item(work, index, smp, queried_switch, skip_query);

	if (made == SMP_SEND) {
		smp->kind = SMP_PORT_INFO;
		smp->modifier =
			work->plan->topology->ports[work->ports[work->sent[index]]].num;
	}
	return made;
}

/* What a port's state means; a link between ARMED and ACTIVE is coming up. */
static enum pm_answer judge_state(const struct work *work, uint32_t port, uint8_t state)
{
	if (state == IB_LINK_INIT)
		work->on->note_init(work->on->context, port);
	return state == IB_LINK_DOWN || state == IB_LINK_INIT ? PM_ANSWER_DOWN
							      : PM_ANSWER_UP;
}

/* The first unanswered Get ends the batch: the search has to choose anew. */
static bool take_answer(void *context, const struct smp_answer *answer)
{
	struct work *work = context;
	uint32_t port = work->ports[work->sent[answer->index]];
	enum pm_answer means = PM_NO_ANSWER;

	if (answer->outcome == SMP_ANSWERED)
		means = judge_state(work, port,
				    ib_port_info_get_port_state(
					    (const ib_port_info_t *)answer->data));
	pm_locate_answer(work->locate, port, means);
	if (means == PM_ANSWER_DOWN)
		note_progress(work);
	return means != PM_NO_ANSWER && !is_over(work);
}

/*
 * Sends a batch. Waits for silent switches or for the wire, and the sending of blocks, do
 * not count in the budget.
 */
static void run_batch(struct work *work, const struct smp_batch *batch,
		      struct smp_count *count)
{
	uint32_t silent = count->silent;
	double start = clock_ms(), queued = count->queued_ms;

	smp_run(work->on->sender->smps, batch, count);
	if (count->silent > silent || work->mode != QUERYING)
		work->aside += clock_ms() - start;
	else
		work->aside += count->queued_ms - queued;
}

static void query_all(struct work *work, uint32_t num)
{
	if (assign_order(work, num)) {
		work->gave_up = "out of memory";
		return;
	}
	run_batch(work,
		  &(struct smp_batch){.num = num,
				      .ahead_most = SMP_AHEAD_MOST,
				      .total_ms = SILENT_MS,
				      .context = work,
				      .make = make_query,
				      .take = take_answer},
		  &work->queries);
}

/* Queries ports until the search has none left and no trap comes. */
static void search_failed(struct work *work)
{
	uint32_t num;

	do {
		wait_for_quiet(work);
		take_traps(work);
		num = pm_locate_queries(work->locate, work->ports, QUERIES);
		if (num)
			query_all(work, num);
	} while (num && !work->gave_up && !is_over(work));
	if (pm_locate_gave_up(work->locate))
		work->gave_up = "queries not answered";
	else if (num && is_over(work))
		work->gave_up = "out of time";
}

/* ---- Blocks ---- */

static int list_switch(struct work *work, uint32_t node)
{
	const struct pm_routes *routes = work->view->routes;
	const osm_switch_t *sw =
		lft_records_switch(&work->on->sender->osm->subn, work->plan, node);
	uint8_t path[PM_LOCATE_HOPS];
	struct pm_delta delta = {0};
	uint32_t num;

	if (!sw || !sw->lft)
		return 0;
	num = lft_records_blocks(routes, sw);
	pm_delta_add(&delta, sw->lft, pm_routes_table(routes, node), num * PM_LFT_BLOCK);
	if (!delta.blocks || pm_locate_path(work->locate, node, path) < 0)
		return 0;
	if (pm_grow(&work->blocks, &work->blocks_room,
		    work->num_blocks + (uint32_t)delta.blocks + 1, sizeof(*work->blocks)))
		return -ENOMEM;
	for (uint32_t b = 0; b < num; b++)
		work->num_blocks += pm_order_compare(routes, node, b,
						     sw->lft + (size_t)b * PM_LFT_BLOCK,
						     &work->blocks[work->num_blocks]);
	work->listed.least += delta.least;
	work->listed.switches++;
	return 0;
}

static void skip_block(struct work *work, uint32_t block)
{
	work->unset[block] = work->over[block] = 1;
}

/*
 * Where a block was unknown, a step has no port for entries that are to be kept. If
 * OpenSM's Set of the block was answered since, these entries are known, and stay.
 */
static void keep_known(const uint8_t *record, const uint8_t *table, uint8_t *entries)
{
	for (uint32_t i = 0; i < PM_LFT_BLOCK; i++)
		if (table[i] == PM_LFT_KEEP && record[i])
			entries[i] = record[i];
}

static void find_entries(const struct work *work, uint32_t item, const osm_switch_t *sw,
			 uint8_t *entries)
{
	size_t at = (size_t)block_number(work, item) * PM_LFT_BLOCK;
	const uint8_t *table =
		pm_routes_table(work->view->routes, block_switch(work, item)) + at;

	if (work->mode != SENDING_STEPS) {
		lft_records_wanted(sw->lft + at, table, PM_LFT_BLOCK, entries);
		return;
	}
	memcpy(entries, work->steps.sets[item].entries, PM_LFT_BLOCK);
	if (work->unknown[item])
		keep_known(sw->lft + at, table, entries);
}

static enum smp_make make_block(void *context, uint32_t index, struct smp_request *smp)
{
	struct work *work = context;
	enum smp_make made = take_item(work, index, smp, block_switch, skip_block);
	uint8_t entries[PM_LFT_BLOCK];

	if (made != SMP_SEND)
		return made;
	if (work->first_set <= 0)
		work->first_set = clock_ms();
	if (work->restores[work->sent[index]])
		work->restoring = work->sets.sent + 1u;
	find_entries(work, work->sent[index], smp->sw, entries);
	lft_set_make(block_number(work, work->sent[index]), entries, smp);
	return SMP_SEND;
}

/* Counts blocks that were sent and not answered. */
static uint32_t num_missing(const struct work *work)
{
	return work->sets.silent + work->sets.refused;
}

/*
 * A silent switch gets no more blocks, others do. The way to one that answers with other
 * content is proven all the same.
 */
static bool take_acknowledgement(void *context, const struct smp_answer *answer)
{
	struct work *work = context;
	bool set = answer->outcome == SMP_ANSWERED;
	uint32_t block = work->sent[answer->index];

	work->acked += set;
	work->unset[block] = !set;
	work->over[block] = 1;
	pm_locate_answered(work->locate, block_switch(work, block),
			   set || answer->outcome == SMP_DIFFERENT);
	return num_missing(work) < work->most_missing;
}

static int list_tables(struct work *work)
{
	osm_opensm_t *osm = work->on->sender->osm;
	int rc = 0;

	work->num_blocks = 0;
	work->listed = (struct pm_delta){0};
	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t sw = 0; sw < work->plan->topology->num_switches && !rc; sw++)
		rc = list_switch(work, sw);
	CL_PLOCK_RELEASE(&osm->lock);
	return rc;
}

/* On -ENOMEM nothing may be sent. */
static int make_marks(struct work *work, uint32_t num)
{
	work->unset = calloc(3 * (size_t)num, 1);
	if (!work->unset || assign_order(work, num)) {
		free(work->unset);
		work->unset = NULL;
		return -ENOMEM;
	}
	work->over = work->unset + num;
	work->restores = work->over + num;
	return 0;
}

static void send_batch(struct work *work, uint32_t num)
{
	work->most_missing = num_missing(work) + MOST_SETS_SILENT;
	run_batch(work,
		  &(struct smp_batch){.num = num,
				      .ahead = work->on->sweeping ? SMP_AHEAD_BESIDE
								  : SMP_AHEAD,
				      .ahead_most = SMP_AHEAD_MOST,
				      .total_ms = SILENT_MS,
				      .exclusive = true,
				      .context = work,
				      .make = make_block,
				      .take = take_acknowledgement},
		  &work->sets);
	free(work->unset);
	work->unset = NULL;
	work->mode = QUERYING;
}

/* Marks the steps with a block that is zeroed in OpenSM's record. With osm->lock held. */
static int note_unknown(struct work *work)
{
	const osm_subn_t *subn = &work->on->sender->osm->subn;

	if (!work->steps.num)
		return 0;
	work->unknown = calloc(work->steps.num, 1);
	if (!work->unknown)
		return -ENOMEM;
	for (uint32_t i = 0; i < work->steps.num; i++) {
		const struct pm_steps_set *set = &work->steps.sets[i];
		const osm_switch_t *sw = lft_records_switch(subn, work->plan, set->sw);

		work->unknown[i] = sw && lft_records_is_zeroed(sw, set->number);
	}
	return 0;
}

/* Finds the Sets that need an order (steps.h). With osm->lock held. */
static int find_steps(struct work *work)
{
	const struct pm_stale none = {.num = 0};
	struct pm_installed *installed =
		calloc(work->plan->topology->num_switches + 1u, sizeof(*installed));
	const struct pm_stale_input input = {.routes = work->view->routes,
					     .installed = installed,
					     .up = work->view->discovered};
	int rc;

	if (!installed)
		return -ENOMEM;
	lft_records_installed(&work->on->sender->osm->subn, work->plan, false, installed);
	rc = pm_steps_make(&input, &none, &work->steps);
	free(installed);
	return rc ? rc : note_unknown(work);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct pm_order_block *x = a, *y = b;

	if (x->sw != y->sw)
		return x->sw < y->sw ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_sets(const void *a, const void *b)
{
	const struct pm_steps_set *x = a, *y = b;

	if (x->sw != y->sw)
		return x->sw < y->sw ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Removes blocks that need an order from the list; the others may be sent at any time. */
static void leave_ordered(struct work *work)
{
	struct pm_steps *steps = &work->steps;
	uint32_t num = 0;

	qsort(steps->sets, steps->num, sizeof(*steps->sets), compare_sets);
	for (uint32_t i = 0; i < work->num_blocks; i++) {
		const struct pm_steps_set key = {.sw = work->blocks[i].sw,
						 .number = work->blocks[i].number};

		if (!bsearch(&key, steps->sets, steps->num, sizeof(key), compare_sets))
			work->blocks[num++] = work->blocks[i];
	}
	work->num_blocks = num;
}

/* Marks the Sets of blocks that restore a path; sorts work->blocks by switch. */
static void mark_steps(struct work *work)
{
	qsort(work->blocks, work->num_blocks, sizeof(*work->blocks), compare_blocks);
	for (uint32_t i = 0; i < work->steps.num; i++) {
		const struct pm_order_block key = {.sw = work->steps.sets[i].sw,
						   .number = work->steps.sets[i].number};
		const struct pm_order_block *block =
			bsearch(&key, work->blocks, work->num_blocks, sizeof(key),
				compare_blocks);

		work->restores[i] = block && block->paths;
	}
}

/*
 * Sends the blocks that could loop in another order, in the steps of steps.h, and lists
 * the rest. If a Set is not answered, or has no path, later ones are left to another try.
 * The blocks are sorted. -ENOMEM.
 */
static int send_steps(struct work *work)
{
	osm_opensm_t *osm = work->on->sender->osm;
	uint32_t left = num_missing(work) + work->sets.different + work->postponed;
	uint64_t acked = work->acked;
	int rc;

	CL_PLOCK_ACQUIRE(&osm->lock);
	rc = find_steps(work);
	CL_PLOCK_RELEASE(&osm->lock);
	if (!rc && !work->steps.num)
		return 0;
	if (!rc)
		rc = make_marks(work, work->steps.num);
	if (!rc) {
		mark_steps(work);
		work->stepped = true;
		work->mode = SENDING_STEPS;
		send_batch(work, work->steps.num);
		rc = list_tables(work);
	}
	if (!rc && !work->interrupted && work->acked - acked < work->steps.num) {
		leave_ordered(work);
		if (num_missing(work) + work->sets.different + work->postponed == left)
			work->gave_up = "no path to a switch whose block has to go first";
	}
	pm_steps_free(&work->steps);
	free(work->unknown);
	work->unknown = NULL;
	return rc;
}

/* Sorts blocks by order.h; -ENOMEM. */
static int sort_blocks(struct work *work)
{
	pm_order_free(&work->waits);
	return pm_order_sort(work->view->routes, work->view->usable, work->blocks,
			     work->num_blocks, &work->waits);
}

/*
 * Sends the blocks in the order of order.h. Blocks that could loop are sent before, in
 * steps, in these cases: where paths may turn up again (pm_routes_may_turn); where some
 * blocks would have to wait for each other; in a resend, which is not only for failures;
 * and once some have gone in steps, since entries may drop in between.
 */
static int send_listed(struct work *work)
{
	bool steps = work->on->resend || work->stepped ||
		     pm_routes_may_turn(work->view->routes);
	int rc = sort_blocks(work);

	if (!rc && (work->waits.forced || steps)) {
		rc = send_steps(work);
		if (!rc)
			rc = sort_blocks(work);
	}
	if (rc || !work->num_blocks || work->interrupted)
		return rc;
	work->unordered += work->waits.forced;
	rc = make_marks(work, work->num_blocks);
	if (rc)
		return rc;
	work->first_idle = pm_order_restoring(work->blocks, work->num_blocks);
	memset(work->restores, 1, work->first_idle);
	work->mode = SENDING;
	send_batch(work, work->num_blocks);
	return 0;
}

static void send_tables(struct work *work)
{
	struct pm_delta listed = work->listed;
	uint64_t sent = work->sets.sent;

	work->postponed = 0;
	if (work->num_blocks && send_listed(work))
		work->gave_up = "out of memory";
	pm_order_free(&work->waits);
	sent = work->interrupted ? work->sets.sent - sent : UINT64_MAX;
	/* The rest will be listed again. */
	work->delta.least += listed.least < sent ? listed.least : sent;
	work->delta.switches += listed.switches < sent ? listed.switches : sent;
}

/* ---- A repair ---- */

/* Forgets the traps of this repair, unless the search ended early: they are explained. */
static void forget_taken(struct work *work)
{
	if (!work->gave_up)
		work->repair->num_taken = 0;
}

/* Updates the view with the found failures, and lists the blocks to send. */
static int compute(struct work *work, struct pm_error *err)
{
	struct view_observation seen = {
		.discovered = work->usable,
		.detours = work->view->detours,
		.now_ms = (uint64_t)clock_ms(),
	};
	bool changed;

	int rc = view_update(work->view, &seen, &changed, err);

	if (!rc)
		rc = work->on->take_over(work->on->context);
	if (!rc) {
		forget_taken(work);
		rc = list_tables(work);
	}
	if (rc)
		work->gave_up = rc == -ECANCELED ? "halted" : "out of memory";
	return rc;
}

/* Whether some SMP of ours was not answered: then only proven paths are used. */
static bool is_careful(const struct work *work)
{
	return work->queries.silent + work->queries.refused + num_missing(work);
}

/* Finds paths to switches that get blocks; returns the number of failed links so far. */
static uint32_t prove_paths(struct work *work)
{
	for (uint32_t i = 0; i < work->num_blocks; i++)
		pm_locate_want(work->locate, work->blocks[i].sw);
	search_failed(work);
	return pm_locate_failed(work->locate, work->usable);
}

/* Computes and sends the tables; returns the number of failed links found. */
static uint32_t mend(struct work *work, uint32_t failed, struct pm_error *err)
{
	uint32_t before;

	do {
		before = failed;
		if (compute(work, err))
			return failed;
		if (is_careful(work) && !work->gave_up)
			failed = prove_paths(work);
	} while (failed != before && !osm_exit_flag);
	if (!osm_exit_flag)
		send_tables(work);
	return failed;
}

/* One round: searches, computes, sends. Returns the number of failed links found. */
static uint32_t run_round(struct work *work, struct pm_error *err)
{
	bool rest = work->interrupted;
	uint32_t failed;

	work->interrupted = false;
	if (pm_locate_new(work->view->routes, work->view->discovered,
			  work->view->detours.sm, &work->locate, err)) {
		work->gave_up = "out of memory";
		repair_skip(work->repair, REPORTS);
		return 0;
	}
	if (is_careful(work))
		pm_locate_be_careful(work->locate);
	if (work->on->sweeping)
		pm_locate_sweeping(work->locate);
	search_failed(work);
	failed = pm_locate_failed(work->locate, work->usable);
	if (pm_locate_gone(work->locate, work->gone))
		work->on->note_gone(work->on->context, work->gone);
	/* Blocks may be missing from earlier rounds, too. */
	if ((failed || rest || num_missing(work) || work->on->resend) && !osm_exit_flag)
		failed = mend(work, failed, err);
	if (!is_halted(work))
		forget_taken(work);
	work->failed += failed;
	work->rounds += failed != 0;
	pm_locate_free(work->locate);
	work->locate = NULL;
	return failed;
}

/*
 * Makes rounds until there is nothing more to find or send. If a block was not answered,
 * something has failed meanwhile, which a trap need not report. */
static void search_around(struct work *work, struct pm_error *err)
{
	for (int i = 0; i < MOST_ROUNDS; i++) {
		uint32_t missing = num_missing(work);
		bool careful = is_careful(work), found;

		work->last_round = i == MOST_ROUNDS - 1;
		found = run_round(work, err) != 0;
		missing = num_missing(work) - missing;
		if (missing && careful && !work->gave_up)
			work->gave_up = "blocks not answered";
		if (work->interrupted && is_over(work) && !work->gave_up)
			work->gave_up = "out of time";
		if (work->gave_up || is_over(work))
			return;
		if (!missing && !work->interrupted &&
		    (!found || !await_traps(work->repair, QUIET_MS)))
			return;
	}
}

/*
 * `before` may be older than `start`, the repair's begin: cables that have come since,
 * and failed again before entries moved onto them, would be no change.
 */
static void describe_change(const struct work *work, const uint8_t *before,
			    const uint8_t *start, struct repaired *done)
{
	const uint8_t *now = work->view->discovered;
	size_t used;

	pm_change_describe(work->plan, before, now, done->change, sizeof(done->change));
	if (!work->failed || memcmp(before, now, work->plan->topology->num_ports) != 0)
		return;
	pm_change_describe(work->plan, start, now, done->change, sizeof(done->change));
	used = strlen(done->change);
	snprintf(done->change + used, sizeof(done->change) - used,
		 ", which had just come back");
}

static void fill_result(const struct work *work, struct repaired *done)
{
	*done = (struct repaired){
		.number = work->failed || work->sets.sent ? ++work->repair->number : 0,
		.traps = work->traps,
		.queries = work->queries.sent,
		.unanswered = work->queries.silent + work->queries.refused,
		.links_down = work->failed,
		.rounds = work->rounds,
		.sent = work->sets.sent,
		.acked = work->acked,
		.restoring = work->restoring,
		.least = work->delta.least,
		.unordered = work->unordered,
		.switches = work->delta.switches,
		.postponed = work->postponed,
		.first_set_ms = work->traps && work->first_set > 0
					? work->first_set - work->first_trap
					: 0,
		.milliseconds = work->first_trap > 0 ? clock_ms() - work->first_trap : 0,
		.halted = is_halted(work),
		.came = work->on->before != NULL,
		.silences = work->queries.silent + work->sets.silent,
		.gave_up = work->gave_up,
	};
}

/* Discovered ports before cables came, if any did, and now; NULL without memory. */
static uint8_t *copy_discovered(const struct repair_subject *subject)
{
	const struct view *view = subject->view;
	uint32_t num = view->plan->topology->num_ports;
	uint8_t *copies = malloc(2 * (size_t)num);

	if (!copies)
		return NULL;
	memcpy(copies, subject->before ? subject->before : view->discovered, num);
	memcpy(copies + num, view->discovered, num);
	return copies;
}

bool repair_run(struct repair *repair, const struct repair_subject *subject,
		struct repaired *done)
{
	struct view *view = subject->view;
	struct work *work;
	struct pm_error err = {""};
	uint32_t num = view->plan->topology->num_ports;
	uint8_t *before;

	if (!await_traps(repair, subject->wait_ms) && !subject->resend)
		return false;
	*done = (struct repaired){.gave_up = "out of memory"};
	work = calloc(1, sizeof(*work));
	before = copy_discovered(subject);
	if (work) {
		work->usable = malloc(num);
		work->gone = malloc(num);
	}
	if (!work || !before || !work->usable || !work->gone) {
		repair_skip(repair, REPORTS);
		goto out;
	}
	work->on = subject;
	work->plan = view->plan;
	work->view = view;
	work->repair = repair;
	repair->num_taken = 0;
	work->first_trap = take_left(repair); /* unless a trap reports another failure */
	note_progress(work);
	search_around(work, &err);
	if (work->sets.different && !work->gave_up)
		work->gave_up = smp_fault(SMP_DIFFERENT);
	if (is_halted(work))
		work->gave_up = "a routing run is due";
	if (work->gave_up || work->postponed)
		leave_traps(work);
	fill_result(work, done);
	describe_change(work, before, before + num, done);
out:
	if (work) {
		free(work->usable);
		free(work->gone);
		free(work->blocks);
		free(work->order);
		free(work->sent);
	}
	free(before);
	free(work);
	return true;
}
