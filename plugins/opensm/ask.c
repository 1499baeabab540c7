/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "ask.h"

#include "wait.h"

#include <opensm/osm_madw.h>

#include <stdlib.h>
#include <string.h>

#define MARK 0x706d /* in context fields that OpenSM itself sets to 0 or 1 */
#define SLOTS 128   /* SMPs that can be out */
#define SLACK_MS 100

/* OpenSM's own handlers, which no installed header declares. */
void osm_pi_rcv_process(void *sm, void *madw);
void osm_lft_rcv_process(void *sm, void *madw);

/* An SMP that is out. */
struct slot {
	uint32_t index; /* in its batch */
	bool out, done;
	enum ask_outcome outcome;
	_Alignas(8) uint8_t data[ASK_DATA]; /* read as PortInfo, too */
};

struct ask {
	osm_opensm_t *osm;
	struct wait_signal signal;
	/* Under its lock; the sweeper reads batch, which only it writes, without. */
	struct slot slots[SLOTS];
	uint32_t batch; /* number of the batch; what comes for earlier ones is late */
	uint32_t out;	/* slots that are */
};

/*
 * OpenSM's context of a Get or Set of LFT blocks, and behind it, in the same union, what
 * is ours. Contexts are copied whole.
 */
struct block_context {
	osm_lft_context_t lft;
	uint32_t slot, batch;
	bool set;
};
_Static_assert(sizeof(struct block_context) <= sizeof(osm_madw_context_t),
	       "OpenSM's contexts have room for ours");

/* ---- Handlers, on threads of OpenSM's dispatcher ---- */

/* Notes what came of an SMP. */
static void settle(struct ask *ask, const osm_madw_t *madw, uint32_t slot, uint32_t batch)
{
	const ib_smp_t *smp = osm_madw_get_smp_ptr(madw);
	struct slot *s = &ask->slots[slot];

	pthread_mutex_lock(&ask->signal.lock);
	if (batch == ask->batch && s->out && !s->done) {
		s->done = true;
		if (madw->status != IB_SUCCESS || !ib_smp_is_response(smp))
			s->outcome = ASK_SILENT;
		else if (ib_smp_get_status(smp))
			s->outcome = ASK_REFUSED;
		else
			s->outcome = ASK_ANSWERED;
		memcpy(s->data, ib_smp_get_payload_ptr(smp), ASK_DATA);
		pthread_cond_signal(&ask->signal.changed);
	}
	pthread_mutex_unlock(&ask->signal.lock);
}

static void receive_port_info(void *context, void *data)
{
	struct ask *ask = context;
	osm_madw_t *madw = data;
	const osm_pi_context_t *pi = osm_madw_get_pi_context_ptr(madw);

	if (pi->light_sweep == MARK)
		settle(ask, madw, (uint32_t)pi->port_guid, (uint32_t)pi->client_rereg);
	else
		osm_pi_rcv_process(&ask->osm->sm, data);
}

static void receive_block(void *context, void *data)
{
	struct ask *ask = context;
	osm_madw_t *madw = data;
	const ib_smp_t *smp = osm_madw_get_smp_ptr(madw);
	struct block_context ours;

	memcpy(&ours, &madw->context, sizeof(ours));
	if (ours.lft.set_method != MARK) {
		osm_lft_rcv_process(&ask->osm->sm, data);
		return;
	}
	if (ours.set && smp->method == IB_MAD_METHOD_GET_RESP) {
		/* Of a Set: into OpenSM's record, also when nobody waits any more. */
		madw->context.lft_context.set_method = TRUE;
		osm_lft_rcv_process(&ask->osm->sm, data);
	}
	settle(ask, madw, ours.slot, ours.batch);
}

/* ---- Setting up ---- */

/* Puts a handler in place of another one; -1, and that is back, if it fails. */
static int replace_handler(osm_opensm_t *osm, cl_disp_reg_handle_t *handle,
			   cl_disp_msgid_t message, cl_pfn_msgrcv_cb_t ours,
			   void *context, cl_pfn_msgrcv_cb_t theirs)
{
	cl_disp_unregister(*handle);
	*handle = cl_disp_register(&osm->disp, message, ours, context);
	if (*handle != CL_DISP_INVALID_HANDLE)
		return 0;
	*handle = cl_disp_register(&osm->disp, message, theirs, &osm->sm);
	return -1;
}

static void restore_handler(osm_opensm_t *osm, cl_disp_reg_handle_t *handle,
			    cl_disp_msgid_t message, cl_pfn_msgrcv_cb_t theirs)
{
	cl_disp_unregister(*handle);
	*handle = cl_disp_register(&osm->disp, message, theirs, &osm->sm);
}

struct ask *ask_start(osm_opensm_t *osm)
{
	struct ask *ask = calloc(1, sizeof(*ask));

	if (!ask)
		return NULL;
	ask->osm = osm;
	wait_signal_init(&ask->signal);
	if (replace_handler(osm, &osm->sm.pi_disp_h, OSM_MSG_MAD_PORT_INFO,
			    receive_port_info, ask, osm_pi_rcv_process))
		goto fail;
	if (replace_handler(osm, &osm->sm.lft_disp_h, OSM_MSG_MAD_LFT, receive_block, ask,
			    osm_lft_rcv_process)) {
		restore_handler(osm, &osm->sm.pi_disp_h, OSM_MSG_MAD_PORT_INFO,
				osm_pi_rcv_process);
		goto fail;
	}
	return ask;
fail:
	ask_stop(ask);
	return NULL;
}

void ask_stop(struct ask *ask)
{
	if (!ask)
		return;
	wait_signal_destroy(&ask->signal);
	free(ask);
}

/* ---- Sending ---- */

static ib_net64_t key_of(const osm_switch_t *sw)
{
	const osm_physp_t *port0 = osm_node_get_physp_ptr(sw->p_node, 0);

	return port0 ? ib_port_info_get_m_key(&port0->port_info) : 0;
}

/* The time-out of one transmission. */
static uint32_t time_out(const struct ask *ask, const struct ask_batch *batch)
{
	uint64_t times = ask->osm->subn.opt.transaction_retries + UINT64_C(1);
	uint32_t each = (uint32_t)(batch->total_ms / times);

	return each ? each : 1;
}

static bool send_question(struct ask *ask, const struct ask_batch *batch, uint32_t slot,
			  struct ask_smp *smp)
{
	osm_madw_context_t context = {
		.pi_context = {.node_guid = osm_node_get_node_guid(smp->sw->p_node),
			       .port_guid = slot,
			       .light_sweep = MARK,
			       .client_rereg = (boolean_t)ask->batch},
	};

	return osm_req_get(&ask->osm->sm, &smp->route, IB_MAD_ATTR_PORT_INFO,
			   cl_hton32(smp->modifier), FALSE, key_of(smp->sw),
			   time_out(ask, batch), OSM_MSG_MAD_PORT_INFO,
			   &context) == IB_SUCCESS;
}

static bool send_block(struct ask *ask, const struct ask_batch *batch, uint32_t slot,
		       struct ask_smp *smp)
{
	bool set = smp->kind == ASK_SET_BLOCK;
	struct block_context ours = {
		.lft = {.node_guid = osm_node_get_node_guid(smp->sw->p_node),
			.set_method = MARK},
		.slot = slot,
		.batch = ask->batch,
		.set = set,
	};
	osm_madw_context_t context;

	memset(&context, 0, sizeof(context));
	memcpy(&context, &ours, sizeof(ours));
	if (set)
		return osm_req_set(&ask->osm->sm, &smp->route, smp->data, ASK_DATA,
				   IB_MAD_ATTR_LIN_FWD_TBL, cl_hton32(smp->modifier),
				   FALSE, key_of(smp->sw), time_out(ask, batch),
				   OSM_MSG_MAD_LFT, &context) == IB_SUCCESS;
	return osm_req_get(&ask->osm->sm, &smp->route, IB_MAD_ATTR_LIN_FWD_TBL,
			   cl_hton32(smp->modifier), FALSE, key_of(smp->sw),
			   time_out(ask, batch), OSM_MSG_MAD_LFT, &context) == IB_SUCCESS;
}

/* Whether a datagram is ours, as this slot's of this batch. */
static bool is_slot(const osm_madw_t *madw, uint32_t slot, uint32_t batch)
{
	const osm_pi_context_t *pi = &madw->context.pi_context;
	struct block_context ours;

	memcpy(&ours, &madw->context, sizeof(ours));
	return madw->fail_msg == OSM_MSG_MAD_PORT_INFO
		       ? pi->light_sweep == MARK && pi->port_guid == slot &&
				 pi->client_rereg == (boolean_t)batch
		       : madw->fail_msg == OSM_MSG_MAD_LFT &&
				 ours.lft.set_method == MARK && ours.slot == slot &&
				 ours.batch == batch;
}

/*
 * OpenSM's poller serves the queue of answers before that of requests, in which thousands
 * wait while a large fabric is discovered. What was just handed over is near the end of
 * that one, unless it has been sent already. As many of ours are out as the wire takes
 * and a few more (window): so many answers of OpenSM's may wait behind them.
 */
static void pass_queue(const struct ask *ask, uint32_t slot)
{
	osm_vl15_t *vl15 = &ask->osm->vl15;
	cl_list_item_t *item;

	cl_spinlock_acquire(&vl15->lock);
	item = cl_qlist_tail(&vl15->rfifo);
	for (int i = 0; i < SLOTS && item != cl_qlist_end(&vl15->rfifo);
	     i++, item = cl_qlist_prev(item)) {
		if (!is_slot((const osm_madw_t *)item, slot, ask->batch))
			continue;
		cl_qlist_remove_item(&vl15->rfifo, item);
		cl_qlist_insert_tail(&vl15->ufifo, item);
		break;
	}
	cl_spinlock_release(&vl15->lock);
}

/* A batch under way. */
struct run {
	struct ask *ask;
	const struct ask_batch *batch;
	struct ask_count *count;
	uint32_t next; /* to be sent */
	bool over;     /* no more are */
};

static uint32_t window(const struct run *run)
{
	uint32_t wire = run->ask->osm->subn.opt.max_wire_smps;
	uint32_t most = (wire ? wire : 1) + run->batch->ahead;

	return most < SLOTS ? most : SLOTS;
}

/* A slot for an SMP, or SLOTS: as many are out as may be. */
static uint32_t take_slot(struct run *run, uint32_t index)
{
	struct ask *ask = run->ask;
	uint32_t slot = SLOTS;

	pthread_mutex_lock(&ask->signal.lock);
	if (ask->out < window(run))
		for (slot = 0; slot < SLOTS && ask->slots[slot].out;)
			slot++;
	if (slot < SLOTS) {
		ask->slots[slot] = (struct slot){.index = index, .out = true};
		ask->out++;
	}
	pthread_mutex_unlock(&ask->signal.lock);
	return slot;
}

/* It was not sent after all. */
static void fail_slot(struct ask *ask, uint32_t slot)
{
	pthread_mutex_lock(&ask->signal.lock);
	ask->slots[slot].done = true;
	ask->slots[slot].outcome = ASK_REFUSED;
	pthread_mutex_unlock(&ask->signal.lock);
}

static void drop_slot(struct ask *ask, uint32_t slot)
{
	pthread_mutex_lock(&ask->signal.lock);
	ask->slots[slot].out = false;
	ask->out--;
	pthread_mutex_unlock(&ask->signal.lock);
}

/* Sends what the wire takes; with osm->lock held. */
static void fill_wire(struct run *run)
{
	struct ask *ask = run->ask;

	while (run->next < run->batch->num) {
		struct ask_smp smp = {.sw = NULL};
		uint32_t slot = take_slot(run, run->next);
		enum ask_make made;
		bool sent;

		if (slot == SLOTS)
			return;
		made = run->batch->make(run->batch->context, run->next, &smp);
		if (made != ASK_SEND)
			drop_slot(ask, slot);
		if (made == ASK_LATER)
			return;
		run->next++;
		if (made == ASK_OMIT)
			continue;
		sent = smp.kind == ASK_PORT_INFO
			       ? send_question(ask, run->batch, slot, &smp)
			       : send_block(ask, run->batch, slot, &smp);
		run->count->sent += sent;
		if (!sent)
			fail_slot(ask, slot);
		else if (run->batch->urgent)
			pass_queue(ask, slot);
	}
}

/* Takes what has come back; how many that were. */
static uint32_t take_answers(struct run *run)
{
	struct ask *ask = run->ask;
	uint32_t taken = 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		struct slot slot;

		pthread_mutex_lock(&ask->signal.lock);
		slot = ask->slots[i];
		if (slot.out && slot.done) {
			ask->slots[i].out = false;
			ask->out--;
		}
		pthread_mutex_unlock(&ask->signal.lock);
		if (!slot.out || !slot.done)
			continue;
		taken++;
		run->count->silent += slot.outcome == ASK_SILENT;
		run->count->refused += slot.outcome == ASK_REFUSED;
		run->over |= !run->batch->take(
			run->batch->context,
			&(struct ask_answer){slot.index, slot.outcome, slot.data});
	}
	return taken;
}

static bool any_done(const struct ask *ask)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		if (ask->slots[i].out && ask->slots[i].done)
			return true;
	return false;
}

/* Waits until something has come back, or nothing will any more: false. */
static bool wait_for_answer(const struct run *run)
{
	struct ask *ask = run->ask;
	double end = wait_clock_ms() + run->batch->total_ms + SLACK_MS;
	bool any;

	pthread_mutex_lock(&ask->signal.lock);
	while (!any_done(ask) && ask->out && wait_clock_ms() < end && !osm_exit_flag)
		wait_briefly(&ask->signal, end - wait_clock_ms());
	any = any_done(ask);
	pthread_mutex_unlock(&ask->signal.lock);
	return any;
}

/* What is still out is silent. */
static void give_up(struct run *run)
{
	struct ask *ask = run->ask;

	pthread_mutex_lock(&ask->signal.lock);
	ask->batch++; /* what comes now is late */
	for (uint32_t i = 0; i < SLOTS; i++)
		if (ask->slots[i].out && !ask->slots[i].done) {
			ask->slots[i].done = true;
			ask->slots[i].outcome = ASK_SILENT;
		}
	pthread_mutex_unlock(&ask->signal.lock);
	take_answers(run);
}

static void send_more(struct run *run)
{
	osm_opensm_t *osm = run->ask->osm;

	if (run->batch->exclusive) {
		CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
	} else {
		CL_PLOCK_ACQUIRE(&osm->lock);
	}
	fill_wire(run);
	CL_PLOCK_RELEASE(&osm->lock);
}

static uint32_t num_out(struct ask *ask)
{
	uint32_t out;

	pthread_mutex_lock(&ask->signal.lock);
	out = ask->out;
	pthread_mutex_unlock(&ask->signal.lock);
	return out;
}

void ask_run(struct ask *ask, const struct ask_batch *batch, struct ask_count *count)
{
	struct run run = {ask, batch, count, 0, false};

	for (;;) {
		run.over |= osm_exit_flag || run.next == batch->num;
		if (!run.over)
			send_more(&run);
		if (take_answers(&run))
			continue;
		if (!num_out(ask) || !wait_for_answer(&run))
			break;
	}
	give_up(&run);
}
