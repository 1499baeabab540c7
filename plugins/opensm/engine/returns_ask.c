/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asks what is at links that were found in INIT, and what is left to OpenSM. */
#include "returns_parts.h"

#include <opensm/osm_partition.h>

#include <string.h>

/* ---- What is left to OpenSM ---- */

/* Whether no other port than this one has its LIDs. */
static bool has_lids(const struct work *work, const struct link_end *end)
{
	const osm_subn_t *subn = &work->on->sender->osm->subn;
	uint32_t lid = cl_ntoh16(end->info.base_lid);

	for (uint32_t i = 0; i < 1u << ib_port_info_get_lmc(&end->info); i++) {
		const osm_port_t *port =
			lid + i < cl_ptr_vector_get_size(&subn->port_lid_tbl)
				? cl_ptr_vector_get(&subn->port_lid_tbl, lid + i)
				: NULL;

		if (port && osm_port_get_guid(port) != end->port_guid)
			return false;
	}
	return true;
}

/* Whether end ports may carry different packets: by partition, or as limited members. */
static bool are_partitions_mixed(const osm_subn_t *subn)
{
	const cl_qmap_t *partitions = &subn->prtn_pkey_tbl;
	const cl_map_item_t *first = cl_qmap_head(partitions);

	return cl_qmap_count(partitions) > 1 ||
	       (first != cl_qmap_end(partitions) &&
		cl_map_count(&((const osm_prtn_t *)first)->part_guid_tbl));
}

static const char *judge_host(const struct work *work, const struct link *link)
{
	const osm_subn_t *subn = &work->on->sender->osm->subn;
	const struct link_end *end = &link->host->end;
	const osm_port_t *port = osm_get_port_by_guid(subn, end->port_guid);

	if (work->on->view->drifting[link->port])
		return "its LID is to change";
	if (port && port->lid && port->lid != end->info.base_lid)
		return "OpenSM has given it another LID elsewhere";
	if (cl_ntoh16(end->info.base_lid) != work->plan->lid[link->port])
		return "it had another LID than this place has";
	if (!has_lids(work, end))
		return "another port has its LID";
	if (link->host->num_pkeys > LINK_PKEY_BLOCKS)
		return "its P_Key table is long";
	if (end->sweep != work->on->records->sweep && are_partitions_mixed(subn))
		return "partitions may have changed while it was away";
	return NULL;
}

/* Why a link is left to OpenSM before anything is asked, or NULL. */
static const char *judge_record(const struct work *work, const struct link *link)
{
	const struct link_records *records = work->on->records;
	const struct link_end *near = link->near.last, *far = link->far.last;

	if (!near->node_guid || !far->node_guid)
		return "OpenSM has not set it before";
	if (near->values != records->values || far->values != records->values ||
	    link_records_are_outdated(records, &work->on->sender->osm->subn))
		return "OpenSM's options have changed";
	return link->host ? judge_host(work, link) : NULL;
}

/* ---- Flapping hosts ---- */

/* Whether a host's link has come back too often to be served at once. */
static bool is_flapping(struct work *work, const struct link *link)
{
	const struct history *history = &work->returns->history[link->port];
	double now = clock_ms(), oldest = history->at[history->next],
	       newest = history->at[(history->next + FLAPS - 1u) % FLAPS];

	if (oldest <= 0 || now - oldest > FLAP_WINDOW_MS || now - newest > FLAP_PAUSE_MS)
		return false;
	if (work->returns->flap_ms <= 0 ||
	    newest + FLAP_PAUSE_MS < work->returns->flap_ms)
		work->returns->flap_ms = newest + FLAP_PAUSE_MS;
	return true;
}

/* ---- Asking ---- */

/* Lists a switch to ask, over this route. */
void returns_list_switch(struct work *work, uint32_t node, ib_net64_t m_key,
			 const osm_dr_path_t *route)
{
	struct returned_switches *switches = &work->switches;

	if (work->asked[node])
		return;
	if (pm_grow(&switches->list, &switches->room, switches->num + 1,
		    sizeof(*switches->list))) {
		work->no_memory = true;
		return;
	}
	switches->list[switches->num++] =
		(struct returned_switch){.node = node, .m_key = m_key, .route = *route};
	work->asked[node] = switches->num;
}

/* Whether OpenSM's last discovery had this port up, and not linked to the other one. */
static bool is_elsewhere(const osm_physp_t *port, const osm_physp_t *other)
{
	return port && osm_physp_get_port_state(port) != IB_LINK_DOWN &&
	       osm_physp_get_remote(port) != other;
}

/*
 * A cable is disputed if OpenSM's record has both its ports up, but not the cable: so if
 * one end gives another port's number. Each discovery drops such a cable, and a return
 * would last until the next one. An SMP over the cable shows it, to that end alone.
 */
static void find_dispute(const struct work *work, struct link *link)
{
	const osm_subn_t *subn = &work->on->sender->osm->subn;
	const struct link_end *near = link->near.last, *far = link->far.last;
	const osm_physp_t *here = returns_find_physp(subn, near->node_guid, near->num);
	const osm_physp_t *there = returns_find_physp(subn, far->node_guid, far->num);
	uint32_t node = link->host ? PM_NONE : work->topology->ports[link->peer].node;

	link->disputed = node != PM_NONE && work->via[node] != PM_NONE &&
			 is_elsewhere(here, there) && is_elsewhere(there, here) &&
			 returns_route(work, node, far->num, &link->back);
}

/* Addresses both ends, or leaves the link to OpenSM. With osm->lock held. */
static void address_ends(struct work *work, struct link *link)
{
	const struct pm_port *near = &work->topology->ports[link->port];

	link->why = judge_record(work, link);
	if (link->why)
		return;
	link->near.m_key = returns_key_of(work, near->node);
	link->far.m_key =
		link->host ? link->host->end.info.m_key
			   : returns_key_of(work, work->topology->ports[link->peer].node);
	if (!returns_route(work, near->node, 0, &link->near.route) ||
	    !returns_route(work, near->node, near->num, &link->far.route))
		link->why = "its path is too long";
	if (link->host && link->port == work->on->view->detours.sm)
		link->far.route = (osm_dr_path_t){0}; /* no hop */
	find_dispute(work, link);
}

/*
 * Asks the far end for its node and values, and over a disputed link the near end for its
 * node, too.
 */
static void ask_far(struct work *work)
{
	for (uint32_t i = work->judged; i < work->num_links; i++) {
		const struct link *link = &work->links[i];
		uint8_t blocks = link->host ? (uint8_t)link->host->num_pkeys : 0;

		if (link->why || link->waits)
			continue;
		returns_add_smp(work, &(struct item){i, SMP_NODE_INFO, 1, 0, 0});
		returns_add_smp(work, &(struct item){i, SMP_PORT_INFO, 1, 0, 0});
		if (link->disputed)
			returns_add_smp(work, &(struct item){i, SMP_NODE_INFO, 0, 0, 0});
		for (uint8_t b = 0; b < blocks; b++)
			returns_add_smp(work, &(struct item){i, SMP_PKEYS, 1, b, 0});
	}
	returns_send_smps(work, &work->queries);
}

bool returns_is_good(const struct link *link)
{
	return !link->silent && !link->why && !link->waits;
}

/* Whether packets may reach a switch, over a cable that is in service. */
static bool is_in_use(const struct work *work, uint32_t node)
{
	const struct pm_node *sw = &work->topology->nodes[node];

	return memchr(work->up + sw->first_port + 1, 1, sw->num_ports);
}

/* Switches that packets reach get their tables when these links are in service. */
static void postpone_whole(struct work *work, uint32_t first)
{
	for (uint32_t i = first; i < work->switches.num; i++) {
		struct returned_switch *sw = &work->switches.list[i];

		sw->whole &= sw->reset || !is_in_use(work, sw->node);
	}
}

/* Asks the switches of links whose far ends are the plan's; another switch is not. */
static void ask_switches(struct work *work)
{
	uint32_t first = work->switches.num;

	for (uint32_t i = work->judged; i < work->num_links; i++) {
		const struct link *link = &work->links[i];

		if (!returns_is_good(link))
			continue;
		returns_list_switch(work, work->topology->ports[link->port].node,
				    link->near.m_key, &link->near.route);
		if (!link->host)
			returns_list_switch(work, work->topology->ports[link->peer].node,
					    link->far.m_key, &link->far.route);
	}
	if (work->switches.num == first || returns_is_over(work))
		return;
	returned_switches_ask(&work->switches);
	postpone_whole(work, first);
}

/* The switches of a link, or NULL: none is asked. */
void returns_find_switches(const struct work *work, const struct link *link,
			   struct returned_switch *switches[2])
{
	const uint32_t nodes[] = {work->topology->ports[link->port].node,
				  link->host ? PM_NONE
					     : work->topology->ports[link->peer].node};

	for (int i = 0; i < 2; i++)
		switches[i] = nodes[i] != PM_NONE && work->asked[nodes[i]]
				      ? &work->switches.list[work->asked[nodes[i]] - 1]
				      : NULL;
}

/* Takes over what became of a link's switches. */
void returns_judge_switches(const struct work *work, struct link *link)
{
	struct returned_switch *switches[2];

	returns_find_switches(work, link, switches);
	for (int i = 0; i < 2; i++) {
		if (!switches[i])
			continue;
		link->silent |= switches[i]->silent;
		if (switches[i]->why && !link->why)
			link->why = switches[i]->why;
	}
}

static const char *judge_far(const struct work *work, struct link *link)
{
	const char *why = link_records_misfit(&link->near.has, &link->near.last->info);
	const ib_port_info_t *has = &link->far.has;

	if (!why)
		why = link_records_misfit(has, &link->far.last->info);
	link->lost_qos = link->host && work->on->records->options.qos &&
			 has->base_lid != link->host->end.info.base_lid;
	if (!why && link->lost_qos && !link->host->qos.known)
		why = "it was reset, and its qos tables are not known";
	if (!why && ib_port_info_get_port_state(has) == IB_LINK_DOWN)
		why = "its far end is down";
	return why;
}

/* Makes the values that both ends are to have. */
static void merge(struct work *work, struct link *link)
{
	const osm_subn_t *subn = &work->on->sender->osm->subn;
	ib_net16_t sm_lid = work->on->records->sm_lid;
	struct end *far = &link->far;

	link->near.differs = link_records_merge(&link->near.has, &link->near.last->info,
						0, &link->near.want);
	far->differs = link_records_merge(&far->has, &far->last->info,
					  link->host ? sm_lid : 0, &far->want);
	if (link->host && far->has.master_sm_base_lid != sm_lid &&
	    (far->has.capability_mask & IB_PORT_CAP_HAS_CLIENT_REREG) &&
	    !subn->opt.no_clients_rereg)
		ib_port_info_set_client_rereg(&far->want, 1);
}

/*
 * A switch that gets its whole table is read, too: its other links may be back. One that
 * was reset has lost the state of all.
 */
static void read_next(struct work *work, uint32_t node)
{
	const struct returned_switch *sw = &work->switches.list[work->asked[node] - 1];

	if (!sw->whole || work->read[node])
		return;
	work->read[node] = 1;
	work->reported[node] = sw->reset ? REPORT_ALL : REPORT_DOWN;
}

/* SMPs pass a cable that both its switches are ready for. */
static void pass(struct work *work, const struct link *link)
{
	if (link->host)
		return;
	work->passed[link->port] = work->passed[link->peer] = 1;
	read_next(work, work->topology->ports[link->port].node);
	read_next(work, work->topology->ports[link->peer].node);
}

/* What was not asked, as the search has to end or there is no memory, is tried again. */
static void judge_all(struct work *work)
{
	bool over = returns_is_over(work);

	for (uint32_t i = work->judged; i < work->num_links; i++) {
		struct link *link = &work->links[i];

		link->waits |= over;
		if (link->waits)
			continue;
		returns_judge_switches(work, link);
		if (!link->silent && !link->why)
			link->why = judge_far(work, link);
		if (returns_is_good(link)) {
			merge(work, link);
			pass(work, link);
		}
	}
}

/* Counts and names a host that waits: once until it is served. */
static void note_deferred(struct work *work, uint32_t port)
{
	struct history *history = &work->returns->history[port];

	if (history->told)
		return;
	history->told = true;
	if (work->result->deferred < RETURNS_HOSTS)
		work->result->deferred_ends[work->result->deferred] =
			returns_end(work, port);
	work->result->deferred++;
	returns_name_link(work, port, PM_NONE, work->result->deferred_links);
}

void returns_ask(struct work *work)
{
	osm_opensm_t *osm = work->on->sender->osm;

	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t i = work->judged; i < work->num_links; i++) {
		struct link *link = &work->links[i];

		address_ends(work, link);
		link->waits = !link->why && link->host && is_flapping(work, link);
		if (link->waits)
			note_deferred(work, link->port);
	}
	CL_PLOCK_RELEASE(&osm->lock);
	ask_far(work);
	ask_switches(work);
	judge_all(work);
	work->judged = work->num_links;
}
