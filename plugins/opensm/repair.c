/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Early repair: what a trap tells of is found by a few questions and the blocks that
 * change are sent before OpenSM begins to discover the fabric anew. All of it happens on
 * the sweeper thread at HEAVY_SWEEP_START, no lock held, and ends within a bounded time.
 *
 * Questions are SubnGet(PortInfo), sent by OpenSM. Answers to these must not go where
 * OpenSM takes what it discovers from, so its handler for PortInfo is replaced by one
 * that picks out ours, which carry a mark in their context, and passes the rest on. The
 * same handler is told of questions that were not answered.
 *
 * Blocks are sent by OpenSM and their answers go to OpenSM, which notes them in its
 * record of the switch (lft): so the sweep that follows finds nothing to send.
 */
#include "plugin.h"

#include <opensm/osm_madw.h>

#include <portmajor/change.h>
#include <portmajor/locate.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MARK 0x706d	 /* in osm_pi_context_t.light_sweep, which is else 0 or 1 */
#define QUESTIONS 256	 /* at a time */
#define REPORTS 8192	 /* traps that are remembered at a time */
#define AT_A_TIME 64	 /* MADs that are handed over in one hold of the lock */
#define FIRST_TRAP_MS 20 /* a trap is reported shortly after the sweep is asked for */
#define QUIET_MS 4	 /* without a trap: a burst is over */
#define PATIENCE_MS 200	 /* without any answer */
#define MOST_LOOKS 8
#define MOST_MS_PER_BUDGET 10 /* in all, unanswered questions included */

/* OpenSM's own handler, which no installed header declares. */
void osm_pi_rcv_process(void *sm, void *madw);

struct plugin_repair {
	struct plugin_signal signal;
	/* Under its lock. */
	uint16_t *lids; /* of switches that sent traps not dealt with yet */
	uint32_t num_lids;
	double first_trap, last_trap; /* of these; plugin_clock */
	uint32_t round;		      /* answers to earlier rounds are late */
	uint8_t answer[QUESTIONS];
	uint32_t answered;
	uint64_t acked; /* blocks, ever */

	/* Of the sweeper thread. */
	uint32_t ports[QUESTIONS];
	uint32_t number;
};

/* One repair. */
struct work {
	struct plugin *plugin;
	struct plugin_repair *repair;
	struct pm_locate *locate;
	uint8_t *alive;
	double start, first_trap, in_vain; /* ms: plugin_clock, plugin_clock, a time */
	uint32_t traps, queries, unanswered, lost, looks;
	uint64_t sent, acked;
	struct pm_delta delta;
	bool gave_up;
};

/* ---- Callbacks on OpenSM's threads ---- */

static void receive_port_info(void *context, void *data)
{
	struct plugin *plugin = context;
	struct plugin_repair *repair = plugin->repair;
	osm_madw_t *madw = data;
	const osm_pi_context_t *pi = osm_madw_get_pi_context_ptr(madw);
	const ib_smp_t *smp = osm_madw_get_smp_ptr(madw);
	enum pm_answer answer = PM_NO_ANSWER;
	uint32_t index = (uint32_t)pi->port_guid;

	if (pi->light_sweep != MARK) {
		osm_pi_rcv_process(&plugin->osm->sm, data);
		return;
	}
	if (madw->status == IB_SUCCESS && ib_smp_is_response(smp) &&
	    !ib_smp_get_status(smp)) {
		const ib_port_info_t *info = ib_smp_get_payload_ptr(smp);

		answer = ib_port_info_get_port_state(info) == IB_LINK_DOWN
				 ? PM_ANSWER_DOWN
				 : PM_ANSWER_UP;
	}
	pthread_mutex_lock(&repair->signal.lock);
	if ((uint32_t)pi->client_rereg == repair->round && index < QUESTIONS) {
		repair->answer[index] = (uint8_t)answer;
		repair->answered++;
		pthread_cond_signal(&repair->signal.changed);
	}
	pthread_mutex_unlock(&repair->signal.lock);
}

void plugin_note_trap(struct plugin *plugin, const ib_mad_notice_attr_t *notice)
{
	struct plugin_repair *repair = plugin->repair;

	if (!repair || !ib_notice_is_generic(notice) ||
	    notice->g_or_v.generic.trap_num != CL_HTON16(SM_LINK_STATE_CHANGED_TRAP))
		return;
	pthread_mutex_lock(&repair->signal.lock);
	repair->last_trap = plugin_clock();
	if (!repair->num_lids)
		repair->first_trap = repair->last_trap;
	if (repair->num_lids < REPORTS)
		repair->lids[repair->num_lids++] =
			cl_ntoh16(notice->data_details.ntc_128.sw_lid);
	pthread_cond_signal(&repair->signal.changed);
	pthread_mutex_unlock(&repair->signal.lock);
}

void plugin_note_block(struct plugin *plugin)
{
	struct plugin_repair *repair = plugin->repair;

	if (!repair)
		return;
	pthread_mutex_lock(&repair->signal.lock);
	repair->acked++;
	pthread_cond_signal(&repair->signal.changed);
	pthread_mutex_unlock(&repair->signal.lock);
}

/* ---- Setting up ---- */

int plugin_start_repair(struct plugin *plugin)
{
	osm_opensm_t *osm = plugin->osm;
	struct plugin_repair *repair;

	if (!plugin->config.early_repair)
		return 0;
	repair = calloc(1, sizeof(*repair));
	if (repair)
		repair->lids = calloc(REPORTS, sizeof(*repair->lids));
	if (!repair || !repair->lids) {
		free(repair);
		return -ENOMEM;
	}
	plugin_signal_init(&repair->signal);
	plugin->repair = repair;
	if (!plugin_take_over(osm, &osm->sm.pi_disp_h,
			      &(struct plugin_handler){OSM_MSG_MAD_PORT_INFO,
						       receive_port_info, plugin},
			      &(struct plugin_handler){OSM_MSG_MAD_PORT_INFO,
						       osm_pi_rcv_process, &osm->sm}))
		return 0;
	plugin_stop_repair(plugin);
	return -ENOMEM;
}

/* The handler is gone by then: OpenSM shuts the dispatcher down before its plugins. */
void plugin_stop_repair(struct plugin *plugin)
{
	struct plugin_repair *repair = plugin->repair;

	if (!repair)
		return;
	plugin->repair = NULL;
	plugin_signal_destroy(&repair->signal);
	free(repair->lids);
	free(repair);
}

/* ---- Waiting ---- */

static bool is_over(const struct work *work)
{
	double spent = plugin_clock() - work->start;
	double budget = work->plugin->config.early_repair_budget_ms;

	return osm_exit_flag ||
	       work->plugin->osm->subn.sm_state != IB_SMINFO_STATE_MASTER ||
	       spent - work->in_vain > budget || spent > MOST_MS_PER_BUDGET * budget;
}

/* Waits until the burst of traps pauses. */
static void wait_for_quiet(struct work *work)
{
	struct plugin_repair *repair = work->repair;

	pthread_mutex_lock(&repair->signal.lock);
	while (!is_over(work)) {
		double left = repair->last_trap + QUIET_MS - plugin_clock();

		if (left <= 0)
			break;
		plugin_wait_briefly(&repair->signal, left);
	}
	pthread_mutex_unlock(&repair->signal.lock);
}

/* Waits for the answers of a round: until all are there, or none comes any more. */
static void wait_for_answers(struct work *work, uint32_t num)
{
	struct plugin_repair *repair = work->repair;
	double last = plugin_clock();
	uint32_t before = 0;

	pthread_mutex_lock(&repair->signal.lock);
	while (repair->answered < num && !osm_exit_flag) {
		double now = plugin_clock();

		if (repair->answered != before)
			last = now;
		before = repair->answered;
		if (now - last > PATIENCE_MS)
			break;
		plugin_wait_briefly(&repair->signal, PATIENCE_MS);
	}
	if (repair->answered < num)
		work->in_vain += plugin_clock() - last;
	repair->round++; /* what comes now is late */
	pthread_mutex_unlock(&repair->signal.lock);
}

/* ---- Sending ---- */

static osm_switch_t *find_switch(const struct plugin *plugin, uint32_t known)
{
	uint64_t guid = plugin->plan->known->nodes[known].guid;

	return osm_get_switch_by_guid(&plugin->osm->subn, cl_hton64(guid));
}

/* The directed route to a switch; false if there is none. */
static bool find_route(const struct work *work, uint32_t known, osm_dr_path_t *route)
{
	const struct plugin *plugin = work->plugin;
	const osm_port_t *sm =
		osm_get_port_by_guid(&plugin->osm->subn, plugin->osm->subn.sm_port_guid);
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

static ib_net64_t key_of(const osm_switch_t *sw)
{
	const osm_physp_t *port0 = osm_node_get_physp_ptr(sw->p_node, 0);

	return port0 ? ib_port_info_get_m_key(&port0->port_info) : 0;
}

/* Asks one question; with OpenSM's lock held. */
static bool ask(const struct work *work, uint32_t index)
{
	const struct plugin *plugin = work->plugin;
	const struct pm_port *port =
		&plugin->plan->known->ports[work->repair->ports[index]];
	const osm_switch_t *sw = find_switch(plugin, port->node);
	osm_madw_context_t context = {
		.pi_context = {.node_guid = sw ? osm_node_get_node_guid(sw->p_node) : 0,
			       .port_guid = index,
			       .light_sweep = MARK,
			       .client_rereg = (boolean_t)work->repair->round},
	};
	osm_dr_path_t route;

	return sw && find_route(work, port->node, &route) &&
	       osm_req_get(&plugin->osm->sm, &route, IB_MAD_ATTR_PORT_INFO,
			   cl_hton32(port->num), FALSE, key_of(sw), 0,
			   OSM_MSG_MAD_PORT_INFO, &context) == IB_SUCCESS;
}

static void ask_all(struct work *work, uint32_t num)
{
	struct plugin_repair *repair = work->repair;
	osm_opensm_t *osm = work->plugin->osm;
	uint32_t asked = 0;

	pthread_mutex_lock(&repair->signal.lock);
	memset(repair->answer, PM_NO_ANSWER, sizeof(repair->answer));
	repair->answered = 0;
	pthread_mutex_unlock(&repair->signal.lock);
	for (uint32_t i = 0; i < num; i += AT_A_TIME) {
		CL_PLOCK_ACQUIRE(&osm->lock);
		for (uint32_t k = i; k < num && k < i + AT_A_TIME; k++)
			asked += ask(work, k);
		CL_PLOCK_RELEASE(&osm->lock);
	}
	wait_for_answers(work, asked);
	work->queries += asked;
	for (uint32_t i = 0; i < num; i++) {
		work->unanswered += repair->answer[i] == PM_NO_ANSWER;
		pm_locate_answer(work->locate, repair->ports[i],
				 (enum pm_answer)repair->answer[i]);
	}
}

/* A block to be sent. */
struct block {
	uint32_t known, number;
	uint64_t urgency;
};

struct blocks {
	struct block *list;
	uint32_t count;
};

static int compare_blocks(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	if (x->urgency != y->urgency)
		return x->urgency > y->urgency ? -1 : 1;
	if (x->known != y->known)
		return x->known < y->known ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static bool has_hosts(const struct plugin *plugin, uint32_t known)
{
	const struct pm_node *n = &plugin->plan->known->nodes[known];

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		if (plugin->plan->known->ports[i].host && plugin->alive[i])
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
	const struct plugin *plugin = work->plugin;
	uint8_t path[PM_LOCATE_HOPS];
	uint64_t near;

	if (plugin->plan->lid[plugin->detours.manager] / PM_LFT_BLOCK == number) {
		near = (uint64_t)(PM_LOCATE_HOPS -
				  pm_locate_path(work->locate, known, path));
		return (uint64_t)2 << 32 | near;
	}
	return (uint64_t)has_hosts(plugin, known) << 32 | delta->entries;
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
static uint32_t common_blocks(const struct plugin *plugin, const osm_switch_t *sw)
{
	uint32_t blocks = pm_routes_stride(plugin->routes) / PM_LFT_BLOCK;
	uint32_t room = sw->lft_size / PM_LFT_BLOCK;
	uint32_t top = sw->max_lid_ho / PM_LFT_BLOCK + 1u;

	blocks = blocks < room ? blocks : room;
	return blocks < top ? blocks : top;
}

static int list_switch(struct work *work, uint32_t known, struct blocks *blocks)
{
	struct plugin *plugin = work->plugin;
	const osm_switch_t *sw = find_switch(plugin, known);
	const uint8_t *table = pm_routes_table(plugin->routes, known);
	uint8_t path[PM_LOCATE_HOPS];
	struct pm_delta delta = {0};
	struct block *more;
	uint32_t num;

	if (!sw || !sw->lft)
		return 0;
	num = common_blocks(plugin, sw);
	pm_delta_add(&delta, sw->lft, table, num * PM_LFT_BLOCK);
	if (!delta.blocks || pm_locate_path(work->locate, known, path) < 0)
		return 0;
	more = reallocarray(blocks->list, blocks->count + delta.blocks, sizeof(*more));
	if (!more)
		return -ENOMEM;
	blocks->list = more;
	for (uint32_t b = 0; b < num; b++)
		if (block_differs(sw->lft, table, b))
			blocks->list[blocks->count++] = (struct block){
				known, b, find_urgency(work, known, b, &delta)};
	work->delta.bound += delta.bound;
	work->delta.entries += delta.entries;
	work->delta.switches++;
	return 0;
}

static bool send_block(const struct work *work, const struct block *block)
{
	const struct plugin *plugin = work->plugin;
	const osm_switch_t *sw = find_switch(plugin, block->known);
	uint32_t at = block->number * PM_LFT_BLOCK;
	uint8_t payload[PM_LFT_BLOCK];
	osm_madw_context_t context;
	osm_dr_path_t route;

	if (!sw || at + PM_LFT_BLOCK > sw->lft_size ||
	    !find_route(work, block->known, &route))
		return false;
	plugin_wanted(sw->lft + at, pm_routes_table(plugin->routes, block->known) + at,
		      PM_LFT_BLOCK, payload);
	memset(&context, 0, sizeof(context));
	context.lft_context.node_guid = osm_node_get_node_guid(sw->p_node);
	context.lft_context.set_method = TRUE;
	return osm_req_set(&plugin->osm->sm, &route, payload, sizeof(payload),
			   IB_MAD_ATTR_LIN_FWD_TBL, cl_hton32(block->number), FALSE,
			   key_of(sw), 0, CL_DISP_MSGID_NONE, &context) == IB_SUCCESS;
}

/* Waits until all blocks are answered, or no answer comes any more. */
static void wait_for_blocks(struct work *work, uint64_t before, uint64_t sent)
{
	struct plugin_repair *repair = work->repair;
	double last = plugin_clock();
	uint64_t seen = before;

	pthread_mutex_lock(&repair->signal.lock);
	while (repair->acked - before < sent && !osm_exit_flag) {
		double now = plugin_clock();

		if (repair->acked != seen)
			last = now;
		seen = repair->acked;
		if (now - last > PATIENCE_MS)
			break;
		plugin_wait_briefly(&repair->signal, PATIENCE_MS);
	}
	if (repair->acked - before < sent)
		work->gave_up = true;
	work->acked += repair->acked - before;
	pthread_mutex_unlock(&repair->signal.lock);
}

static int send_tables(struct work *work)
{
	struct plugin *plugin = work->plugin;
	struct plugin_repair *repair = work->repair;
	osm_opensm_t *osm = plugin->osm;
	struct blocks blocks = {0};
	uint64_t before, sent = 0;
	int rc = 0;

	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t sw = 0; sw < plugin->plan->known->num_switches && !rc; sw++)
		rc = list_switch(work, sw, &blocks);
	CL_PLOCK_RELEASE(&osm->lock);
	if (!rc && blocks.count)
		qsort(blocks.list, blocks.count, sizeof(*blocks.list), compare_blocks);
	pthread_mutex_lock(&repair->signal.lock);
	before = repair->acked;
	pthread_mutex_unlock(&repair->signal.lock);
	for (uint32_t i = 0; i < blocks.count && !rc && !osm_exit_flag; i += AT_A_TIME) {
		CL_PLOCK_ACQUIRE(&osm->lock);
		for (uint32_t k = i; k < blocks.count && k < i + AT_A_TIME; k++)
			sent += send_block(work, &blocks.list[k]);
		CL_PLOCK_RELEASE(&osm->lock);
	}
	wait_for_blocks(work, before, sent);
	work->sent += sent;
	free(blocks.list);
	return rc;
}

/* ---- A repair ---- */

/* Hands the traps that have come to the search; how many there were. */
static uint32_t take_traps(struct work *work)
{
	struct plugin_repair *repair = work->repair;
	const struct pm_plan *plan = work->plugin->plan;
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

/* Asks until nothing more is worth asking and no trap comes. */
static void search(struct work *work)
{
	struct plugin_repair *repair = work->repair;
	uint32_t num;

	do {
		wait_for_quiet(work);
		take_traps(work);
		num = pm_locate_questions(work->locate, repair->ports, QUESTIONS);
		if (num)
			ask_all(work, num);
	} while (num && !is_over(work));
}

/* One look: search, compute, send. False if nothing was found. */
static bool look(struct work *work, struct pm_error *err)
{
	struct plugin *plugin = work->plugin;
	uint32_t lost;

	if (pm_locate_new(plugin->routes, plugin->seen, plugin->detours.manager,
			  &work->locate, err))
		return false;
	search(work);
	lost = pm_locate_lost(work->locate, work->alive);
	if (lost && !osm_exit_flag) {
		if (plugin_see(plugin, work->alive, NULL, &plugin->detours, err) ||
		    send_tables(work))
			work->gave_up = true;
	}
	work->lost += lost;
	work->looks += lost != 0;
	pm_locate_free(work->locate);
	work->locate = NULL;
	return lost != 0;
}

static bool has_traps(struct plugin_repair *repair, double milliseconds)
{
	bool any;

	pthread_mutex_lock(&repair->signal.lock);
	for (double end = plugin_clock() + milliseconds;
	     !repair->num_lids && plugin_clock() < end && !osm_exit_flag;)
		plugin_wait_briefly(&repair->signal, end - plugin_clock());
	any = repair->num_lids != 0;
	pthread_mutex_unlock(&repair->signal.lock);
	return any;
}

/* What we computed is in the switches, and OpenSM is in charge of them. */
static bool is_ready(const struct plugin *plugin)
{
	const osm_opensm_t *osm = plugin->osm;

	return plugin->repair && plugin->routes && plugin->alive_known &&
	       plugin->settled && osm->subn.sm_state == IB_SMINFO_STATE_MASTER &&
	       !osm->subn.first_time_master_sweep && !osm->subn.coming_out_of_standby &&
	       osm->routing_engine_used && osm->routing_engine_used->context == plugin &&
	       plugin->detours.manager != PM_NONE;
}

static void log_repair(const struct work *work, const uint8_t *before)
{
	struct plugin *plugin = work->plugin;
	struct plugin_repaired done = {
		.number = work->repair->number,
		.traps = work->traps,
		.queries = work->queries,
		.unanswered = work->unanswered,
		.links_down = work->lost,
		.looks = work->looks,
		.sent = work->sent,
		.acked = work->acked,
		.bound = work->delta.bound,
		.switches = work->delta.switches,
		.milliseconds = plugin_clock() - work->first_trap,
		.gave_up = work->gave_up,
	};

	pm_change_describe(plugin->plan, before, plugin->seen, done.change,
			   sizeof(done.change));
	OSM_LOG(&plugin->osm->log, done.links_down ? OSM_LOG_INFO : OSM_LOG_VERBOSE,
		"portmajor repair %u: %s; traps %u, queries %u, unanswered %u, links "
		"down %u, looks %u; LFT blocks sent %" PRIu64 ", acked %" PRIu64
		", bound %" PRIu64 "; switches %" PRIu64
		"; %.1f ms from the first trap to the last "
		"answer%s\n",
		done.number, done.change, done.traps, done.queries, done.unanswered,
		done.links_down, done.looks, done.sent, done.acked, done.bound,
		done.switches, done.milliseconds,
		done.gave_up ? "; left to the sweep: blocks not answered" : "");
	if (!done.links_down)
		return;
	plugin_note_repair(plugin, &done);
	plugin_publish(plugin);
}

void plugin_repair(struct plugin *plugin)
{
	struct work work = {.plugin = plugin, .repair = plugin->repair};
	struct pm_error err = {""};
	uint8_t *before;
	uint32_t num;

	if (!plugin->repair)
		return;
	if (!is_ready(plugin) || !has_traps(plugin->repair, FIRST_TRAP_MS)) {
		pthread_mutex_lock(&plugin->repair->signal.lock);
		plugin->repair->num_lids = 0;
		pthread_mutex_unlock(&plugin->repair->signal.lock);
		return;
	}
	num = plugin->plan->known->num_ports;
	work.start = plugin_clock();
	work.alive = malloc(num);
	before = malloc(num);
	if (work.alive && before) {
		memcpy(before, plugin->seen, num);
		plugin->repair->number++;
		for (int i = 0; i < MOST_LOOKS && look(&work, &err); i++)
			if (is_over(&work) || work.gave_up ||
			    !has_traps(plugin->repair, QUIET_MS))
				break;
		log_repair(&work, before);
	}
	free(work.alive);
	free(before);
}
