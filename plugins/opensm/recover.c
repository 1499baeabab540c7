/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Taking a running fabric over without the plan that it was made with: tables are read
 * back from the switches, and kept where they are as good as ours (pm_routes_adopt). Read
 * once, after the first discovery, through OpenSM; its handler for tables is replaced by
 * one that picks out what was asked here, as in repair.c.
 */
#include "plugin.h"

#include <opensm/osm_madw.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MARK 0x706d	/* in osm_lft_context_t.set_method, which is else 0 or 1 */
#define AT_A_TIME 64	/* MADs that are handed over in one hold of the lock */
#define PATIENCE_MS 500 /* without any answer */

/* OpenSM's own handler, which no installed header declares. */
void osm_lft_rcv_process(void *sm, void *madw);

struct plugin_recovery {
	struct plugin_signal signal;
	/* Under its lock. [switch of plan->known], by GUID in the answers. */
	const struct pm_fabric *known;
	uint8_t *tables;
	uint32_t stride;
	uint32_t asked, answered;
	bool *missed; /* [switch] some block was not answered */
};

static void receive_lft(void *context, void *data)
{
	struct plugin *plugin = context;
	struct plugin_recovery *r = plugin->recovery;
	osm_madw_t *madw = data;
	const osm_lft_context_t *lft = osm_madw_get_lft_context_ptr(madw);
	const ib_smp_t *smp = osm_madw_get_smp_ptr(madw);
	uint32_t at = cl_ntoh32(smp->attr_mod) * PM_LFT_BLOCK, sw;

	if (lft->set_method != MARK) {
		osm_lft_rcv_process(&plugin->osm->sm, data);
		return;
	}
	pthread_mutex_lock(&r->signal.lock);
	sw = r->known ? pm_fabric_find_guid(r->known, cl_ntoh64(lft->node_guid))
		      : PM_NONE;
	if (sw != PM_NONE && at + PM_LFT_BLOCK <= r->stride) {
		if (madw->status == IB_SUCCESS && ib_smp_is_response(smp) &&
		    !ib_smp_get_status(smp))
			memcpy(r->tables + (size_t)sw * r->stride + at,
			       ib_smp_get_payload_ptr(smp), PM_LFT_BLOCK);
		else
			r->missed[sw] = true;
		r->answered++;
		pthread_cond_signal(&r->signal.changed);
	}
	pthread_mutex_unlock(&r->signal.lock);
}

int plugin_start_recovery(struct plugin *plugin)
{
	osm_opensm_t *osm = plugin->osm;
	struct plugin_recovery *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	plugin_signal_init(&r->signal);
	plugin->recovery = r;
	if (!plugin_take_over(
		    osm, &osm->sm.lft_disp_h,
		    &(struct plugin_handler){OSM_MSG_MAD_LFT, receive_lft, plugin},
		    &(struct plugin_handler){OSM_MSG_MAD_LFT, osm_lft_rcv_process,
					     &osm->sm}))
		return 0;
	plugin_stop_recovery(plugin);
	return -ENOMEM;
}

void plugin_stop_recovery(struct plugin *plugin)
{
	struct plugin_recovery *r = plugin->recovery;

	if (!r)
		return;
	plugin->recovery = NULL;
	plugin_signal_destroy(&r->signal);
	free(r);
}

/* ---- Reading ---- */

static uint32_t blocks_of(const osm_switch_t *sw, uint32_t stride)
{
	uint32_t blocks = cl_ntoh16(sw->switch_info.lin_top) / PM_LFT_BLOCK + 1u;
	uint32_t most = stride / PM_LFT_BLOCK;

	return blocks < most ? blocks : most;
}

/* Asks a switch for its whole table; with OpenSM's lock held. */
static uint32_t ask_switch(const struct plugin *plugin, const osm_switch_t *sw)
{
	osm_physp_t *port0 = osm_node_get_physp_ptr(sw->p_node, 0);
	osm_madw_context_t context;
	uint32_t asked = 0;

	if (!port0)
		return 0;
	memset(&context, 0, sizeof(context));
	context.lft_context.node_guid = osm_node_get_node_guid(sw->p_node);
	context.lft_context.set_method = MARK;
	for (uint32_t b = 0; b < blocks_of(sw, plugin->recovery->stride); b++)
		asked += osm_req_get(&plugin->osm->sm, osm_physp_get_dr_path_ptr(port0),
				     IB_MAD_ATTR_LIN_FWD_TBL, cl_hton32(b), FALSE,
				     ib_port_info_get_m_key(&port0->port_info), 0,
				     OSM_MSG_MAD_LFT, &context) == IB_SUCCESS;
	return asked;
}

static void ask_all(struct plugin *plugin)
{
	struct plugin_recovery *r = plugin->recovery;
	osm_opensm_t *osm = plugin->osm;

	for (uint32_t sw = 0; sw < r->known->num_switches && !osm_exit_flag; sw++) {
		const osm_switch_t *there;
		uint32_t asked = 0;

		CL_PLOCK_ACQUIRE(&osm->lock);
		there = osm_get_switch_by_guid(&osm->subn,
					       cl_hton64(r->known->nodes[sw].guid));
		if (there)
			asked = ask_switch(plugin, there);
		CL_PLOCK_RELEASE(&osm->lock);
		pthread_mutex_lock(&r->signal.lock);
		r->asked += asked;
		if (!asked)
			r->missed[sw] = true;
		pthread_mutex_unlock(&r->signal.lock);
	}
}

static void wait_for_tables(struct plugin_recovery *r)
{
	double last = plugin_clock();
	uint32_t seen = 0;

	pthread_mutex_lock(&r->signal.lock);
	while (r->answered < r->asked && !osm_exit_flag) {
		if (r->answered != seen)
			last = plugin_clock();
		seen = r->answered;
		if (plugin_clock() - last > PATIENCE_MS)
			break;
		plugin_wait_briefly(&r->signal, PATIENCE_MS);
	}
	if (r->answered < r->asked) /* nobody knows whose */
		memset(r->missed, true, r->known->num_switches * sizeof(*r->missed));
	pthread_mutex_unlock(&r->signal.lock);
}

int plugin_read_tables(struct plugin *plugin, struct pm_held *held, uint8_t **tables,
		       struct pm_error *err)
{
	struct plugin_recovery *r = plugin->recovery;
	uint32_t num = plugin->plan->known->num_switches;
	uint32_t stride = pm_plan_blocks(plugin->plan) * PM_LFT_BLOCK;
	bool *missed = calloc(num + 1u, sizeof(*missed));
	uint8_t *read = malloc((size_t)num * stride + 1u);

	if (!r || !missed || !read) {
		free(missed);
		free(read);
		return pm_error_set(err, -ENOMEM, "out of memory");
	}
	memset(read, OSM_NO_PATH, (size_t)num * stride);
	pthread_mutex_lock(&r->signal.lock);
	r->known = plugin->plan->known;
	r->tables = read;
	r->stride = stride;
	r->missed = missed;
	r->asked = r->answered = 0;
	pthread_mutex_unlock(&r->signal.lock);
	ask_all(plugin);
	wait_for_tables(r);
	pthread_mutex_lock(&r->signal.lock);
	r->known = NULL;
	pthread_mutex_unlock(&r->signal.lock);
	for (uint32_t sw = 0; sw < num; sw++)
		held[sw] = (struct pm_held){
			missed[sw] ? NULL : read + (size_t)sw * stride, stride};
	free(missed);
	*tables = read;
	return 0;
}
