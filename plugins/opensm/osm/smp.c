/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends SMPs through OpenSM's vendor layer, a bounded number at a time, and takes
 * answers.
 */
#include "smp.h"

#include "engine/clock.h"

#include <opensm/osm_inform.h>
#include <opensm/osm_madw.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MARK 0x706d /* in context fields that OpenSM itself sets to 0 or 1 */
#define SLOTS SMP_SLOTS
#define SLACK_MS 100
#define SLICE_MS 20 /* between checks of OpenSM's queue */
/* OpenSM returns each SMP within seconds; this is for its defects. */
#define GONE_MS 60000

/* OpenSM's own handlers, which no installed header declares. */
void osm_ni_rcv_process(void *sm, void *madw);
void osm_si_rcv_process(void *sm, void *madw);
void osm_pi_rcv_process(void *sm, void *madw);
void osm_pkey_rcv_process(void *sm, void *madw);
void osm_slvl_rcv_process(void *sm, void *madw);
void osm_vla_rcv_process(void *sm, void *madw);
void osm_lft_rcv_process(void *sm, void *madw);
void osm_mft_rcv_process(void *sm, void *madw);
void osm_trap_rcv_process(void *sm, void *madw);

static const struct {
	ib_net16_t attribute;
	cl_disp_msgid_t message; /* by which OpenSM hands over answers */
	bool set;
} kinds[] = {
	[SMP_PORT_INFO] = {IB_MAD_ATTR_PORT_INFO, OSM_MSG_MAD_PORT_INFO, false},
	[SMP_SET_PORT] = {IB_MAD_ATTR_PORT_INFO, OSM_MSG_MAD_PORT_INFO, true},
	[SMP_NODE_INFO] = {IB_MAD_ATTR_NODE_INFO, OSM_MSG_MAD_NODE_INFO, false},
	[SMP_SWITCH_INFO] = {IB_MAD_ATTR_SWITCH_INFO, OSM_MSG_MAD_SWITCH_INFO, false},
	[SMP_SET_SWITCH] = {IB_MAD_ATTR_SWITCH_INFO, OSM_MSG_MAD_SWITCH_INFO, true},
	[SMP_PKEYS] = {IB_MAD_ATTR_P_KEY_TABLE, OSM_MSG_MAD_PKEY, false},
	[SMP_SET_PKEYS] = {IB_MAD_ATTR_P_KEY_TABLE, OSM_MSG_MAD_PKEY, true},
	[SMP_SET_SL2VL] = {IB_MAD_ATTR_SLVL_TABLE, OSM_MSG_MAD_SLVL, true},
	[SMP_SET_VLARB] = {IB_MAD_ATTR_VL_ARBITRATION, OSM_MSG_MAD_VL_ARB, true},
	[SMP_BLOCK] = {IB_MAD_ATTR_LIN_FWD_TBL, OSM_MSG_MAD_LFT, false},
	[SMP_SET_BLOCK] = {IB_MAD_ATTR_LIN_FWD_TBL, OSM_MSG_MAD_LFT, true},
	[SMP_MFT] = {IB_MAD_ATTR_MCAST_FWD_TBL, OSM_MSG_MAD_MFT, false},
	[SMP_SET_MFT] = {IB_MAD_ATTR_MCAST_FWD_TBL, OSM_MSG_MAD_MFT, true},
};

/* An SMP that is out. */
struct slot {
	uint32_t serial; /* of the SMP: an answer with another one is not its */
	uint32_t index;	 /* in its batch */
	bool out, done;
	bool given_up; /* its batch is over; out until OpenSM returns it */
	enum smp_kind kind;
	bool disowned;
	bool recorded;		/* a block in OpenSM's record */
	struct smp_block block; /* of a Set; but for an LFT the number is its modifier */
	double sent_ms;
	enum smp_outcome outcome;
	uint16_t status; /* of the answer */
	/* What is set, then what was answered, which is read as PortInfo, too. */
	_Alignas(8) uint8_t data[SMP_DATA];
};

struct smp_sender {
	osm_opensm_t *osm;
	struct {
		_Atomic uint64_t begun, done;
	} infos; /* PortInfo queried and processed by OpenSM */
	struct smp_hooks hooks;
	struct clock_signal signal;
	/* under its lock: */
	struct slot slots[SLOTS];
	uint32_t serial; /* of the last SMP */
	uint32_t out;	 /* slots of the present batch that are out */
	uint64_t set;	 /* LFT blocks, in all */
};

/*
 * OpenSM's context of a Get or Set of an LFT or MFT block, both of which have the same
 * layout; our own context is behind it in the same union. Contexts are copied whole.
 */
struct block_context {
	osm_lft_context_t lft;
	uint32_t slot, serial;
};
_Static_assert(offsetof(osm_lft_context_t, set_method) ==
			       offsetof(osm_mft_context_t, set_method) &&
		       offsetof(osm_lft_context_t, node_guid) ==
			       offsetof(osm_mft_context_t, node_guid),
	       "contexts of LFT and MFT blocks are alike");
_Static_assert(sizeof(struct block_context) <= sizeof(osm_madw_context_t),
	       "OpenSM's contexts have room for ours");

/* ---- Marks ---- */

/* Which SMP of ours a context is of. */
struct mark {
	uint32_t slot, serial;
};

/* Contexts of P_Key, SL-to-VL and VL arbitration tables are alike. */
_Static_assert(offsetof(osm_slvl_context_t, set_method) ==
			       offsetof(osm_pkey_context_t, set_method) &&
		       offsetof(osm_vla_context_t, set_method) ==
			       offsetof(osm_pkey_context_t, set_method),
	       "contexts differ");

static bool is_port_table(cl_disp_msgid_t message)
{
	return message == OSM_MSG_MAD_PKEY || message == OSM_MSG_MAD_SLVL ||
	       message == OSM_MSG_MAD_VL_ARB;
}

/* In fields that OpenSM fills in each of its own contexts. */
static void write_mark(cl_disp_msgid_t message, ib_net64_t guid, const struct mark *mark,
		       osm_madw_context_t *context)
{
	struct block_context block = {
		.lft = {.node_guid = guid, .set_method = MARK},
		.slot = mark->slot,
		.serial = mark->serial,
	};

	memset(context, 0, sizeof(*context));
	if (message == OSM_MSG_MAD_PORT_INFO)
		context->pi_context = (osm_pi_context_t){
			.node_guid = guid,
			.port_guid = mark->slot,
			.light_sweep = MARK,
			.client_rereg = (boolean_t)mark->serial,
		};
	else if (message == OSM_MSG_MAD_NODE_INFO)
		context->ni_context = (osm_ni_context_t){
			.node_guid = mark->slot,
			.dup_node_guid = mark->serial,
			.dup_count = MARK,
		};
	else if (message == OSM_MSG_MAD_SWITCH_INFO)
		context->si_context = (osm_si_context_t){
			.node_guid = (uint64_t)mark->slot << 32 | mark->serial,
			.set_method = MARK,
		};
	else if (is_port_table(message))
		context->pkey_context = (osm_pkey_context_t){
			.node_guid = mark->slot,
			.port_guid = mark->serial,
			.set_method = MARK,
		};
	else
		memcpy(context, &block, sizeof(block));
}

/* False: the context is of OpenSM's own. */
static bool read_mark(cl_disp_msgid_t message, const osm_madw_context_t *context,
		      struct mark *mark)
{
	const osm_pi_context_t *pi = &context->pi_context;
	const osm_ni_context_t *ni = &context->ni_context;
	const osm_si_context_t *si = &context->si_context;
	const osm_pkey_context_t *pkey = &context->pkey_context;
	struct block_context block;

	switch (message) {
	case OSM_MSG_MAD_PORT_INFO:
		*mark = (struct mark){(uint32_t)pi->port_guid,
				      (uint32_t)pi->client_rereg};
		return pi->light_sweep == MARK;
	case OSM_MSG_MAD_NODE_INFO:
		*mark = (struct mark){(uint32_t)ni->node_guid,
				      (uint32_t)ni->dup_node_guid};
		return ni->dup_count == MARK;
	case OSM_MSG_MAD_SWITCH_INFO:
		*mark = (struct mark){(uint32_t)(si->node_guid >> 32),
				      (uint32_t)si->node_guid};
		return si->set_method == MARK;
	case OSM_MSG_MAD_PKEY:
	case OSM_MSG_MAD_SLVL:
	case OSM_MSG_MAD_VL_ARB:
		*mark = (struct mark){(uint32_t)pkey->node_guid,
				      (uint32_t)pkey->port_guid};
		return pkey->set_method == MARK;
	case OSM_MSG_MAD_LFT:
	case OSM_MSG_MAD_MFT:
		memcpy(&block, context, sizeof(block));
		*mark = (struct mark){block.slot, block.serial};
		return block.lft.set_method == MARK;
	default:
		return false;
	}
}

/* ---- Handlers, on threads of OpenSM's dispatcher ---- */

static bool is_awaited(const struct smp_sender *smps, const struct mark *mark)
{
	const struct slot *s = &smps->slots[mark->slot];

	return mark->slot < SLOTS && s->out && !s->done && s->serial == mark->serial;
}

/* Whether the answer to a Set has to be what was set; ports change by themselves. */
static bool is_echoed(enum smp_kind kind)
{
	return kind == SMP_SET_BLOCK || kind == SMP_SET_MFT || kind == SMP_SET_PKEYS;
}

static void settle_slot(struct smp_sender *smps, const osm_madw_t *madw,
			const struct mark *mark)
{
	const ib_smp_t *smp = osm_madw_get_smp_ptr(madw);
	struct slot *s = &smps->slots[mark->slot];

	pthread_mutex_lock(&smps->signal.lock);
	if (is_awaited(smps, mark)) {
		s->done = true;
		if (madw->status != IB_SUCCESS || !ib_smp_is_response(smp))
			s->outcome = SMP_SILENT;
		else if (ib_smp_get_status(smp))
			s->outcome = SMP_REFUSED;
		else if (is_echoed(s->kind) &&
			 memcmp(s->data, ib_smp_get_payload_ptr(smp), SMP_DATA) != 0)
			s->outcome = SMP_DIFFERENT;
		else
			s->outcome = SMP_ANSWERED;
		s->status = cl_ntoh16(ib_smp_get_status(smp));
		memcpy(s->data, ib_smp_get_payload_ptr(smp), SMP_DATA);
		if (s->given_up)
			s->out = false;
		pthread_cond_signal(&smps->signal.changed);
	}
	pthread_mutex_unlock(&smps->signal.lock);
}

/* Settles an answer to the plugin. False: it is OpenSM's. */
static bool take_ours(struct smp_sender *smps, cl_disp_msgid_t message,
		      const osm_madw_t *madw)
{
	struct mark mark;

	if (!read_mark(message, &madw->context, &mark))
		return false;
	settle_slot(smps, madw, &mark);
	return true;
}

/* Whether a port was in service, which is not after this answer to a Set of OpenSM's. */
static bool is_set_down(struct smp_sender *smps, const osm_madw_t *madw)
{
	const ib_smp_t *smp = osm_madw_get_smp_ptr(madw);
	const ib_port_info_t *info = ib_smp_get_payload_ptr(smp);
	uint8_t num = (uint8_t)cl_ntoh32(smp->attr_mod);
	const osm_node_t *node;
	const osm_physp_t *port = NULL;
	bool was_up;

	if (ib_smp_get_status(smp) || ib_port_info_get_port_state(info) > IB_LINK_INIT)
		return false;
	CL_PLOCK_ACQUIRE(&smps->osm->lock);
	node = osm_get_node_by_guid(&smps->osm->subn, madw->context.pi_context.node_guid);
	if (node && node->sw && num < osm_node_get_num_physp(node))
		port = osm_node_get_physp_ptr((osm_node_t *)(uintptr_t)node, num);
	was_up = port && osm_physp_get_port_state(port) > IB_LINK_INIT;
	CL_PLOCK_RELEASE(&smps->osm->lock);
	return was_up;
}

static void receive_port_info(void *context, void *data)
{
	struct smp_sender *smps = context;
	const osm_madw_t *madw = data;
	bool set;

	if (take_ours(smps, OSM_MSG_MAD_PORT_INFO, madw))
		return;
	set = osm_madw_get_pi_context_ptr(madw)->set_method;
	if (set && smps->hooks.on_set_down && is_set_down(smps, madw))
		smps->hooks.on_set_down(
			smps->hooks.context, madw->context.pi_context.node_guid,
			(uint8_t)cl_ntoh32(osm_madw_get_smp_ptr(madw)->attr_mod));
	atomic_fetch_add(&smps->infos.begun, !set);
	osm_pi_rcv_process(&smps->osm->sm, data);
	atomic_fetch_add(&smps->infos.done, !set);
}

static void receive_node_info(void *context, void *data)
{
	struct smp_sender *smps = context;

	if (!take_ours(smps, OSM_MSG_MAD_NODE_INFO, data))
		osm_ni_rcv_process(&smps->osm->sm, data);
}

/* The LID of a switch in OpenSM's record, or 0. */
static uint16_t lid_of_switch(struct smp_sender *smps, ib_net64_t guid)
{
	uint16_t lid = 0;
	osm_node_t *node;

	CL_PLOCK_ACQUIRE(&smps->osm->lock);
	node = osm_get_node_by_guid(&smps->osm->subn, guid);
	if (node && node->sw)
		lid = cl_ntoh16(osm_node_get_base_lid(node, 0));
	CL_PLOCK_RELEASE(&smps->osm->lock);
	return lid;
}

/* Hides PortStateChange from a light sweep, which would begin a discovery. */
static void hide_change(struct smp_sender *smps, osm_madw_t *madw)
{
	const osm_si_context_t *context = &madw->context.si_context;
	ib_smp_t *smp = osm_madw_get_smp_ptr(madw);
	ib_switch_info_t *info = ib_smp_get_payload_ptr(smp);

	if (context->light_sweep && !context->set_method && !ib_smp_get_status(smp) &&
	    ib_switch_info_get_state_change(info) && smps->hooks.hides_change &&
	    smps->hooks.hides_change(smps->hooks.context,
				     lid_of_switch(smps, context->node_guid)))
		ib_switch_info_clear_state_change(info);
}

static void receive_switch_info(void *context, void *data)
{
	struct smp_sender *smps = context;

	if (take_ours(smps, OSM_MSG_MAD_SWITCH_INFO, data))
		return;
	hide_change(smps, data);
	osm_si_rcv_process(&smps->osm->sm, data);
}

static void receive_pkeys(void *context, void *data)
{
	struct smp_sender *smps = context;

	if (!take_ours(smps, OSM_MSG_MAD_PKEY, data))
		osm_pkey_rcv_process(&smps->osm->sm, data);
}

static void receive_sl2vl(void *context, void *data)
{
	struct smp_sender *smps = context;

	if (!take_ours(smps, OSM_MSG_MAD_SLVL, data))
		osm_slvl_rcv_process(&smps->osm->sm, data);
}

static void receive_vlarb(void *context, void *data)
{
	struct smp_sender *smps = context;

	if (!take_ours(smps, OSM_MSG_MAD_VL_ARB, data))
		osm_vla_rcv_process(&smps->osm->sm, data);
}

/* Whether this answers a Set that OpenSM's record should follow. */
static bool is_to_be_noted(struct smp_sender *smps, const osm_madw_t *madw,
			   const struct mark *mark)
{
	const ib_smp_t *smp = osm_madw_get_smp_ptr(madw);
	bool noted;

	if (smp->method != IB_MAD_METHOD_GET_RESP)
		return false;
	pthread_mutex_lock(&smps->signal.lock);
	noted = is_awaited(smps, mark) && smps->slots[mark->slot].kind == SMP_SET_BLOCK &&
		!smps->slots[mark->slot].disowned && smps->slots[mark->slot].recorded;
	pthread_mutex_unlock(&smps->signal.lock);
	return noted;
}

/* The slot is out until the answer is recorded: the block is not sent again before. */
static void receive_block(void *context, void *data)
{
	struct smp_sender *smps = context;
	osm_madw_t *madw = data;
	struct mark mark;

	if (!read_mark(OSM_MSG_MAD_LFT, &madw->context, &mark)) {
		osm_lft_rcv_process(&smps->osm->sm, data);
		return;
	}
	if (is_to_be_noted(smps, madw, &mark)) {
		madw->context.lft_context.set_method = TRUE;
		osm_lft_rcv_process(&smps->osm->sm, data);
	}
	settle_slot(smps, madw, &mark);
}

static void receive_mft(void *context, void *data)
{
	struct smp_sender *smps = context;

	if (!take_ours(smps, OSM_MSG_MAD_MFT, data))
		osm_mft_rcv_process(&smps->osm->sm, data);
}

/*
 * Represses a trap, and reports it to subscribers, as OpenSM does, with the M_Key of the
 * switch that sent it.
 */
static void answer_trap(struct smp_sender *smps, osm_madw_t *madw,
			ib_mad_notice_attr_t *notice)
{
	osm_opensm_t *osm = smps->osm;
	uint8_t payload[sizeof(*notice)];
	const osm_port_t *port;

	memcpy(payload, notice, sizeof(payload));
	CL_PLOCK_ACQUIRE(&osm->lock);
	port = osm_get_port_by_lid(&osm->subn, notice->data_details.ntc_128.sw_lid);
	if (port) {
		osm_madw_get_smp_ptr(madw)->m_key =
			ib_port_info_get_m_key(&port->p_physp->port_info);
		notice->issuer_gid.unicast.prefix = osm->subn.opt.subnet_prefix;
		notice->issuer_gid.unicast.interface_id = osm_port_get_guid(port);
	}
	(void)osm_resp_send(&osm->sm, madw, 0, payload);
	(void)osm_report_notice(&osm->log, &osm->subn, notice);
	CL_PLOCK_RELEASE(&osm->lock);
}

/* Before OpenSM's filter of equal traps. */
static void receive_trap(void *context, void *data)
{
	struct smp_sender *smps = context;
	const ib_smp_t *smp = osm_madw_get_smp_ptr((const osm_madw_t *)data);
	bool is_trap = smp->method == IB_MAD_METHOD_TRAP &&
		       (smp->mgmt_class == IB_MCLASS_SUBN_LID ||
			smp->mgmt_class == IB_MCLASS_SUBN_DIR);
	ib_mad_notice_attr_t notice = {0};

	memcpy(&notice, smp->data, IB_SMP_DATA_SIZE);
	if (is_trap && smps->hooks.on_trap &&
	    smps->hooks.on_trap(smps->hooks.context, &notice))
		answer_trap(smps, data, &notice);
	else
		osm_trap_rcv_process(&smps->osm->sm, data);
}

/* ---- Setting up ---- */

/* Replaces a handler; -1 if that fails, with the former one restored. */
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

/* The handlers that are replaced. */
struct handler {
	cl_disp_reg_handle_t *handle;
	cl_disp_msgid_t message;
	cl_pfn_msgrcv_cb_t ours, theirs;
};

static int replace_handlers(struct smp_sender *smps)
{
	osm_sm_t *sm = &smps->osm->sm;
	const struct handler handlers[] = {
		{&sm->ni_disp_h, OSM_MSG_MAD_NODE_INFO, receive_node_info,
		 osm_ni_rcv_process},
		{&sm->si_disp_h, OSM_MSG_MAD_SWITCH_INFO, receive_switch_info,
		 osm_si_rcv_process},
		{&sm->pi_disp_h, OSM_MSG_MAD_PORT_INFO, receive_port_info,
		 osm_pi_rcv_process},
		{&sm->pkey_disp_h, OSM_MSG_MAD_PKEY, receive_pkeys, osm_pkey_rcv_process},
		{&sm->slvl_disp_h, OSM_MSG_MAD_SLVL, receive_sl2vl, osm_slvl_rcv_process},
		{&sm->vla_disp_h, OSM_MSG_MAD_VL_ARB, receive_vlarb, osm_vla_rcv_process},
		{&sm->lft_disp_h, OSM_MSG_MAD_LFT, receive_block, osm_lft_rcv_process},
		{&sm->mft_disp_h, OSM_MSG_MAD_MFT, receive_mft, osm_mft_rcv_process},
		{&sm->trap_disp_h, OSM_MSG_MAD_NOTICE, receive_trap,
		 osm_trap_rcv_process},
	};
	const size_t num = sizeof(handlers) / sizeof(*handlers);

	for (size_t i = 0; i < num; i++) {
		const struct handler *h = &handlers[i];

		if (!replace_handler(smps->osm, h->handle, h->message, h->ours, smps,
				     h->theirs))
			continue;
		while (i--)
			restore_handler(smps->osm, handlers[i].handle,
					handlers[i].message, handlers[i].theirs);
		return -1;
	}
	return 0;
}

struct smp_sender *smp_start(osm_opensm_t *osm, const struct smp_hooks *hooks)
{
	struct smp_sender *smps = calloc(1, sizeof(*smps));

	if (!smps)
		return NULL;
	smps->osm = osm;
	smps->hooks = *hooks;
	clock_signal_init(&smps->signal);
	if (!replace_handlers(smps))
		return smps;
	smp_stop(smps);
	return NULL;
}

void smp_stop(struct smp_sender *smps)
{
	if (!smps)
		return;
	clock_signal_destroy(&smps->signal);
	free(smps);
}

/* ---- Sending ---- */

static ib_net64_t guid_of(const struct smp_request *smp)
{
	return smp->sw ? osm_node_get_node_guid(smp->sw->p_node) : smp->guid;
}

static ib_net64_t key_of(const struct smp_request *smp)
{
	const osm_physp_t *port0;

	if (!smp->sw)
		return smp->m_key;
	port0 = osm_node_get_physp_ptr(smp->sw->p_node, 0);
	return port0 ? ib_port_info_get_m_key(&port0->port_info) : 0;
}

static uint32_t time_out(const struct smp_sender *smps, const struct smp_batch *batch)
{
	uint64_t times = smps->osm->subn.opt.transaction_retries + UINT64_C(1);
	uint32_t each = (uint32_t)(batch->total_ms / times);

	return each ? each : 1;
}

static bool post(struct smp_sender *smps, const struct smp_batch *batch,
		 const struct slot *slot, const struct smp_request *smp)
{
	const struct mark mark = {(uint32_t)(slot - smps->slots), slot->serial};
	cl_disp_msgid_t message = kinds[smp->kind].message;
	osm_madw_context_t context;

	write_mark(message, guid_of(smp), &mark, &context);
	if (kinds[smp->kind].set)
		return osm_req_set(&smps->osm->sm, &smp->route, smp->data, SMP_DATA,
				   kinds[smp->kind].attribute, cl_hton32(smp->modifier),
				   FALSE, key_of(smp), time_out(smps, batch), message,
				   &context) == IB_SUCCESS;
	return osm_req_get(&smps->osm->sm, &smp->route, kinds[smp->kind].attribute,
			   cl_hton32(smp->modifier), FALSE, key_of(smp),
			   time_out(smps, batch), message, &context) == IB_SUCCESS;
}

static bool is_slot(const osm_madw_t *madw, uint32_t slot, uint32_t serial)
{
	struct mark mark;

	return read_mark(madw->fail_msg, &madw->context, &mark) && mark.slot == slot &&
	       mark.serial == serial;
}

/*
 * Moves an SMP to the queue of answers, which OpenSM's poller serves before the queue of
 * requests. Unless our last
 * SMP has been sent, it is near the end of the queue of requests. As many of our SMPs are
 * out as the wire takes, and a few more (window): so many answers of OpenSM's may wait
 * behind them.
 */
static void pass_queue(const struct smp_sender *smps, const struct slot *slot)
{
	uint32_t index = (uint32_t)(slot - smps->slots);
	osm_vl15_t *vl15 = &smps->osm->vl15;
	cl_list_item_t *item;

	cl_spinlock_acquire(&vl15->lock);
	item = cl_qlist_tail(&vl15->rfifo);
	for (int i = 0; i < SLOTS && item != cl_qlist_end(&vl15->rfifo);
	     i++, item = cl_qlist_prev(item)) {
		if (!is_slot((const osm_madw_t *)item, index, slot->serial))
			continue;
		cl_qlist_remove_item(&vl15->rfifo, item);
		cl_qlist_insert_tail(&vl15->ufifo, item);
		break;
	}
	cl_spinlock_release(&vl15->lock);
}

struct run {
	struct smp_sender *smps;
	const struct smp_batch *batch;
	struct smp_count *count;
	uint32_t next;	/* the next to send */
	uint32_t ahead; /* how many may wait in OpenSM's queue now */
	bool over;	/* no more are sent */
};

static uint32_t window(const struct run *run)
{
	uint32_t wire = run->smps->osm->subn.opt.max_wire_smps;
	uint32_t most = (wire ? wire : 1) + run->ahead;

	return most < SLOTS ? most : SLOTS;
}

/* A free slot, or that of an SMP that never came back, or NULL. */
static struct slot *find_free(struct smp_sender *smps)
{
	double now = clock_ms();

	for (uint32_t i = 0; i < SLOTS; i++) {
		struct slot *s = &smps->slots[i];

		if (!s->out || (s->given_up && now > s->sent_ms + GONE_MS))
			return s;
	}
	return NULL;
}

/* Takes a slot for an SMP; NULL: as many are out as allowed. */
static struct slot *take_slot(struct run *run, uint32_t index)
{
	struct smp_sender *smps = run->smps;
	struct slot *slot = NULL;

	pthread_mutex_lock(&smps->signal.lock);
	if (smps->out < window(run))
		slot = find_free(smps);
	if (slot) {
		*slot = (struct slot){.serial = ++smps->serial,
				      .index = index,
				      .out = true,
				      .sent_ms = clock_ms()};
		smps->out++;
	}
	pthread_mutex_unlock(&smps->signal.lock);
	return slot;
}

/* Records the SMP that is about to be sent. */
static void fill_slot(struct smp_sender *smps, struct slot *slot,
		      const struct smp_request *smp)
{
	pthread_mutex_lock(&smps->signal.lock);
	slot->kind = smp->kind;
	smps->set += smp->kind == SMP_SET_BLOCK;
	slot->block = (struct smp_block){guid_of(smp), smp->modifier};
	slot->recorded = smp->sw != NULL;
	memcpy(slot->data, smp->data, SMP_DATA);
	pthread_mutex_unlock(&smps->signal.lock);
}

static void fail_slot(struct smp_sender *smps, struct slot *slot)
{
	pthread_mutex_lock(&smps->signal.lock);
	slot->done = true;
	slot->outcome = SMP_REFUSED;
	pthread_mutex_unlock(&smps->signal.lock);
}

static void drop_slot(struct smp_sender *smps, struct slot *slot)
{
	pthread_mutex_lock(&smps->signal.lock);
	slot->out = false;
	smps->out--;
	pthread_mutex_unlock(&smps->signal.lock);
}

static void send_smp(struct run *run, struct slot *slot, const struct smp_request *smp)
{
	struct smp_sender *smps = run->smps;
	bool sent;

	fill_slot(smps, slot, smp);
	sent = post(smps, run->batch, slot, smp);
	run->count->sent += sent;
	if (!sent)
		fail_slot(smps, slot);
	else
		pass_queue(smps, slot);
}

/* Sends as many SMPs as the wire takes. With osm->lock held. */
static void fill_wire(struct run *run)
{
	struct smp_sender *smps = run->smps;

	while (run->next < run->batch->num) {
		struct smp_request smp = {.sw = NULL};
		struct slot *slot = take_slot(run, run->next);
		enum smp_make made;

		if (!slot)
			return;
		made = run->batch->make(run->batch->context, run->next, &smp);
		if (made != SMP_SEND)
			drop_slot(smps, slot);
		if (made == SMP_LATER)
			return;
		run->next++;
		if (made == SMP_SEND)
			send_smp(run, slot, &smp);
	}
}

/* Sets how many SMPs may wait in OpenSM's queue after this answer. */
static void adapt(struct run *run, enum smp_outcome outcome)
{
	if (outcome == SMP_SILENT)
		run->ahead = run->batch->ahead;
	else if (run->ahead < run->batch->ahead_most)
		run->ahead++;
}

/* Takes the answers that have come; returns their number. */
static uint32_t take_answers(struct run *run)
{
	struct smp_sender *smps = run->smps;
	uint32_t taken = 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		struct slot slot;

		pthread_mutex_lock(&smps->signal.lock);
		slot = smps->slots[i];
		if (slot.out && slot.done) {
			smps->slots[i].out = false;
			smps->out--;
		}
		pthread_mutex_unlock(&smps->signal.lock);
		if (!slot.out || !slot.done)
			continue;
		taken++;
		adapt(run, slot.outcome);
		run->count->silent += slot.outcome == SMP_SILENT;
		run->count->refused += slot.outcome == SMP_REFUSED;
		run->count->different += slot.outcome == SMP_DIFFERENT;
		run->over |=
			!run->batch->take(run->batch->context,
					  &(struct smp_answer){slot.index, slot.outcome,
							       slot.status, slot.data});
	}
	return taken;
}

static bool any_done(const struct smp_sender *smps)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		if (smps->slots[i].out && smps->slots[i].done)
			return true;
	return false;
}

static uint32_t num_out(struct smp_sender *smps)
{
	uint32_t out;

	pthread_mutex_lock(&smps->signal.lock);
	out = smps->out;
	pthread_mutex_unlock(&smps->signal.lock);
	return out;
}

/* Whether one of our SMPs is in a queue of OpenSM's. With vl15's lock held. */
static bool is_in(const struct smp_sender *smps, cl_qlist_t *queue)
{
	cl_list_item_t *item = cl_qlist_head(queue);

	for (; item != cl_qlist_end(queue); item = cl_qlist_next(item))
		for (uint32_t i = 0; i < SLOTS; i++)
			/* Other batches free only slots that were given up. */
			if (!smps->slots[i].given_up && smps->slots[i].out &&
			    is_slot((const osm_madw_t *)item, i, smps->slots[i].serial))
				return true;
	return false;
}

/* Whether some SMP of the batch is not on the wire yet. */
static bool any_queued(const struct run *run)
{
	osm_vl15_t *vl15 = &run->smps->osm->vl15;
	bool queued;

	cl_spinlock_acquire(&vl15->lock);
	queued = is_in(run->smps, &vl15->ufifo) || is_in(run->smps, &vl15->rfifo);
	cl_spinlock_release(&vl15->lock);
	return queued;
}

/* Waits until an SMP has come back, or until `end`; returns whether one has. */
static bool clock_wait_until_done(const struct run *run, double end)
{
	struct smp_sender *smps = run->smps;
	bool any;

	pthread_mutex_lock(&smps->signal.lock);
	while (!any_done(smps) && smps->out && clock_ms() < end && !osm_exit_flag)
		clock_wait_briefly(&smps->signal, end - clock_ms());
	any = any_done(smps);
	pthread_mutex_unlock(&smps->signal.lock);
	return any;
}

/* Waits until an SMP comes back, or none will; time in OpenSM's queue does not count. */
static bool wait_for_answer(const struct run *run)
{
	double left = run->batch->total_ms + SLACK_MS, start;
	double queued = 0;
	bool any = false;

	while (!any && left > 0 && num_out(run->smps) && !osm_exit_flag) {
		start = clock_ms();
		any = clock_wait_until_done(run, start + SLICE_MS);
		if (!any && queued < SMP_QUEUED_MS && any_queued(run))
			queued += clock_ms() - start;
		else
			left -= clock_ms() - start;
	}
	run->count->queued_ms += queued;
	return any;
}

/* Counts SMPs that are still out as unanswered. */
static void give_up(struct run *run)
{
	struct smp_sender *smps = run->smps;

	for (uint32_t i = 0; i < SLOTS; i++) {
		struct slot *s = &smps->slots[i];
		bool silent;

		pthread_mutex_lock(&smps->signal.lock);
		silent = s->out && !s->done && !s->given_up;
		s->given_up |= silent;
		smps->out -= silent;
		pthread_mutex_unlock(&smps->signal.lock);
		if (!silent)
			continue;
		run->count->silent++;
		run->batch->take(run->batch->context,
				 &(struct smp_answer){s->index, SMP_SILENT, 0, s->data});
	}
	take_answers(run);
}

static void send_more(struct run *run)
{
	osm_opensm_t *osm = run->smps->osm;

	if (run->batch->exclusive) {
		CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
	} else {
		CL_PLOCK_ACQUIRE(&osm->lock);
	}
	fill_wire(run);
	CL_PLOCK_RELEASE(&osm->lock);
}

void smp_run(struct smp_sender *smps, const struct smp_batch *batch,
	     struct smp_count *count)
{
	struct run run = {smps, batch, count, 0, batch->ahead, false};

	for (;;) {
		run.over |= osm_exit_flag || run.next == batch->num;
		if (!run.over)
			send_more(&run);
		if (take_answers(&run))
			continue;
		if (!num_out(smps) || !wait_for_answer(&run))
			break;
	}
	give_up(&run);
}

/* ---- SMPs that are out ---- */

static bool is_set_out(struct smp_sender *smps, enum smp_kind kind, ib_net64_t guid,
		       uint32_t number)
{
	bool out = false;

	pthread_mutex_lock(&smps->signal.lock);
	for (uint32_t i = 0; i < SLOTS && !out; i++) {
		const struct slot *s = &smps->slots[i];

		out = s->out && !s->done && s->kind == kind && s->block.guid == guid &&
		      s->block.number == number;
	}
	pthread_mutex_unlock(&smps->signal.lock);
	return out;
}

bool smp_is_out(struct smp_sender *smps, ib_net64_t guid, uint32_t number)
{
	return is_set_out(smps, SMP_SET_BLOCK, guid, number);
}

bool smp_is_mft_out(struct smp_sender *smps, ib_net64_t guid, uint32_t modifier)
{
	return is_set_out(smps, SMP_SET_MFT, guid, modifier);
}

bool smp_is_port_out(struct smp_sender *smps, ib_net64_t guid, uint32_t modifier)
{
	return is_set_out(smps, SMP_SET_PORT, guid, modifier);
}

uint32_t smp_list_out(struct smp_sender *smps, struct smp_block *blocks)
{
	uint32_t num = 0;

	pthread_mutex_lock(&smps->signal.lock);
	for (uint32_t i = 0; i < SLOTS; i++)
		if (smps->slots[i].out && !smps->slots[i].done &&
		    smps->slots[i].kind == SMP_SET_BLOCK)
			blocks[num++] = smps->slots[i].block;
	pthread_mutex_unlock(&smps->signal.lock);
	return num;
}

uint64_t smp_count_set(struct smp_sender *smps)
{
	uint64_t set;

	pthread_mutex_lock(&smps->signal.lock);
	set = smps->set;
	pthread_mutex_unlock(&smps->signal.lock);
	return set;
}

void smp_disown(struct smp_sender *smps)
{
	pthread_mutex_lock(&smps->signal.lock);
	for (uint32_t i = 0; i < SLOTS; i++)
		smps->slots[i].disowned = true;
	pthread_mutex_unlock(&smps->signal.lock);
}

uint64_t smp_count_infos(const struct smp_sender *smps)
{
	return atomic_load(&smps->infos.done);
}

bool smp_has_infos_since(const struct smp_sender *smps, uint64_t count)
{
	return atomic_load(&smps->infos.begun) != count;
}
