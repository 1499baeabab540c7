/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Brings links that were found in INIT into service, or leaves them to OpenSM. */
#include "returns_parts.h"

#include "osm/lft_records.h"

#include <portmajor/route/stale.h>

#include <stdlib.h>
#include <string.h>

/* ---- What is left to OpenSM ---- */

/* Whether OpenSM sets neither end in this sweep. */
static bool is_apart(const struct work *work, const struct link *link)
{
	const osm_subn_t *subn = &work->on->sender->osm->subn;
	const struct link_end *near = link->near.last, *far = link->far.last;
	const osm_physp_t *here = returns_find_physp(subn, near->node_guid, near->num);
	const osm_physp_t *there = returns_find_physp(subn, far->node_guid, far->num);
	uint8_t state = there ? osm_physp_get_port_state(there) : IB_LINK_DOWN;

	if (here && osm_physp_get_port_state(here) != IB_LINK_DOWN)
		return false;
	if (!there || link->host)
		return !there;
	return state == IB_LINK_DOWN ||
	       (state == IB_LINK_INIT && !osm_physp_get_remote(there));
}

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

static const char *judge_host(const struct work *work, const struct link *link)
{
	const osm_subn_t *subn = &work->on->sender->osm->subn;
	const struct link_end *end = &link->host->end;

	if (work->on->view->drifting[link->port])
		return "its LID is to change";
	if (cl_ntoh16(end->info.base_lid) != work->plan->lid[link->port])
		return "it had another LID than this place has";
	if (!has_lids(work, end))
		return "another port has its LID";
	if (link->host->num_pkeys > LINK_PKEY_BLOCKS)
		return "its P_Key table is long";
	if (end->sweep != work->on->records->sweep &&
	    cl_qmap_count(&subn->prtn_pkey_tbl) > 1)
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

/* ---- SMPs ---- */

static void add_item(struct work *work, const struct item *item)
{
	if (pm_grow(&work->items, &work->items_room, work->num_items + 1,
		    sizeof(*work->items)))
		work->no_memory = true;
	else
		work->items[work->num_items++] = *item;
}

static bool is_set(enum smp_kind kind)
{
	return kind == SMP_SET_PORT || kind == SMP_SET_PKEYS;
}

/* Fills a Set. */
static void fill_set(const struct link *link, const struct item *item,
		     struct smp_request *smp)
{
	const struct end *end = item->end ? &link->far : &link->near;
	ib_port_info_t info = end->want;

	if (item->kind == SMP_SET_PKEYS) {
		memcpy(smp->data, &link->host->pkeys[item->block], SMP_DATA);
		return;
	}
	ib_port_info_set_port_state(&info, item->state);
	if (item->state != IB_LINK_NO_CHANGE)
		ib_port_info_set_client_rereg(&info, 0);
	memcpy(smp->data, &info, sizeof(info));
}

/* Whether a port understands bit 31 of the modifier, and has extended speeds. */
static bool has_speeds(const struct work *work, const struct link *link, uint8_t end)
{
	const ib_port_info_t *info = &link->far.has;
	uint32_t node = work->topology->ports[end ? link->peer : link->port].node;

	if (!end || !link->host)
		info = &work->on->records->ends[work->topology->nodes[node].first_port]
				.info;
	return info->capability_mask & IB_PORT_CAP_HAS_EXT_SPEEDS;
}

static uint32_t modifier_of(const struct work *work, const struct item *item)
{
	const struct link *link = &work->links[item->link];
	uint32_t num = item->end ? link->far.last->num : link->near.last->num;

	if (item->kind == SMP_PKEYS || item->kind == SMP_SET_PKEYS)
		return item->block;
	if (item->kind == SMP_NODE_INFO)
		return 0;
	if (item->kind == SMP_SET_PORT && has_speeds(work, link, item->end))
		num |= 1u << 31;
	return num;
}

static enum smp_make make_smp(void *context, uint32_t index, struct smp_request *smp)
{
	struct work *work = context;
	const struct item *item = &work->items[index];
	struct link *link = &work->links[item->link];
	const struct end *end = item->end ? &link->far : &link->near;

	if (returns_is_over(work) || link->silent || link->why || link->waits)
		return SMP_OMIT;
	if (is_set(item->kind) && work->on->sets_ports(work->on->context) &&
	    !is_apart(work, link)) {
		link->waits = work->waits = true;
		return SMP_OMIT;
	}
	*smp = (struct smp_request){.kind = item->kind,
				    .guid = end->last->node_guid,
				    .m_key = end->m_key,
				    .modifier = modifier_of(work, item),
				    .route = end->route};
	if (is_set(item->kind))
		fill_set(link, item, smp);
	/* One that was given up: its port is set again when it has come back. */
	link->silent = item->kind == SMP_SET_PORT &&
		       smp_is_port_out(work->on->sender->smps, smp->guid, smp->modifier);
	return link->silent ? SMP_OMIT : SMP_SEND;
}

/* Whether the node at the far end, and its port, are those of before. */
static bool is_same_node(const struct link *link, const ib_node_info_t *info)
{
	const struct link_end *last = link->far.last;

	return info->node_guid == last->node_guid &&
	       (!link->host || info->port_guid == last->port_guid) &&
	       ib_node_info_get_local_port_num(info) == last->num;
}

static void take_info(struct link *link, const struct item *item,
		      const struct smp_answer *answer)
{
	ib_port_info_t *to = item->end ? &link->far.has : &link->near.has;

	memcpy(to, answer->data, sizeof(*to));
	if (item->kind == SMP_SET_PORT && ib_port_info_get_port_state(to) < item->state)
		link->why = "a port did not change its state";
}

/* The answer to an SMP of a link. */
static bool take_answer(void *context, const struct smp_answer *answer)
{
	struct work *work = context;
	const struct item *item = &work->items[answer->index];
	struct link *link = &work->links[item->link];

	if (answer->outcome == SMP_REFUSED && answer->status == ALREADY_ACTIVE &&
	    item->state == IB_LINK_ACTIVE)
		ib_port_info_set_port_state(item->end ? &link->far.has : &link->near.has,
					    IB_LINK_ACTIVE);
	else if (answer->outcome == SMP_SILENT)
		link->silent = true;
	else if (answer->outcome != SMP_ANSWERED)
		link->why = "an end refuses";
	else if (item->kind == SMP_PORT_INFO || item->kind == SMP_SET_PORT)
		take_info(link, item, answer);
	else if (item->kind == SMP_NODE_INFO &&
		 !is_same_node(link, (const ib_node_info_t *)answer->data))
		link->why = "another node or port is there";
	else if (item->kind == SMP_PKEYS &&
		 memcmp(answer->data, &link->host->pkeys[item->block], SMP_DATA) != 0)
		link->wrong_pkeys |= (uint8_t)(1u << item->block);
	return true;
}

/* ---- Flapping hosts ---- */

/* Whether a host's link has come back too often to be served at once. */
static bool is_flapping(struct work *work, const struct link *link)
{
	const struct flaps *flaps = &work->returns->flaps[link->port];
	double now = clock_ms(), oldest = flaps->at[flaps->next],
	       newest = flaps->at[(flaps->next + FLAPS - 1u) % FLAPS];

	if (oldest <= 0 || now - oldest > FLAP_WINDOW_MS || now - newest > FLAP_PAUSE_MS)
		return false;
	if (work->returns->flap_ms <= 0 ||
	    newest + FLAP_PAUSE_MS < work->returns->flap_ms)
		work->returns->flap_ms = newest + FLAP_PAUSE_MS;
	return true;
}

static void note_flap(struct work *work, const struct link *link)
{
	struct flaps *flaps = &work->returns->flaps[link->port];

	flaps->at[flaps->next] = clock_ms();
	flaps->next = (uint8_t)((flaps->next + 1u) % FLAPS);
}

/* ---- Bringing links into service ---- */

/* Lists a switch to ask, over this route. */
static void list_switch(struct work *work, uint32_t node, ib_net64_t m_key,
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

/* Addresses both ends, or leaves the link to OpenSM. With osm->lock held. */
static void address(struct work *work, struct link *link)
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
}

/* Asks the far end what it is and has. */
static void ask_far(struct work *work)
{
	for (uint32_t i = work->done; i < work->num_links; i++) {
		const struct link *link = &work->links[i];
		uint8_t blocks = link->host ? (uint8_t)link->host->num_pkeys : 0;

		if (link->why || link->waits)
			continue;
		add_item(work, &(struct item){i, SMP_NODE_INFO, 1, 0, 0});
		add_item(work, &(struct item){i, SMP_PORT_INFO, 1, 0, 0});
		for (uint8_t b = 0; b < blocks; b++)
			add_item(work, &(struct item){i, SMP_PKEYS, 1, b, 0});
	}
	returns_send(work, &work->queries, make_smp, take_answer);
}

static bool is_good(const struct link *link)
{
	return !link->silent && !link->why && !link->waits;
}

/* Asks the switches of links whose far ends are the plan's; another switch is not. */
static void ask_switches(struct work *work)
{
	for (uint32_t i = work->done; i < work->num_links; i++) {
		const struct link *link = &work->links[i];

		if (!is_good(link))
			continue;
		list_switch(work, work->topology->ports[link->port].node,
			    link->near.m_key, &link->near.route);
		if (!link->host)
			list_switch(work, work->topology->ports[link->peer].node,
				    link->far.m_key, &link->far.route);
	}
	if (work->switches.num && !returns_is_over(work))
		returned_switches_ask(&work->switches);
}

/* The switches of a link, or NULL: none is asked. */
static void find_switches(const struct work *work, const struct link *link,
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
static void judge_switches(const struct work *work, struct link *link)
{
	struct returned_switch *switches[2];

	find_switches(work, link, switches);
	for (int i = 0; i < 2; i++) {
		if (!switches[i])
			continue;
		link->silent |= switches[i]->silent;
		if (switches[i]->why && !link->why)
			link->why = switches[i]->why;
	}
}

/* Switches of which no link comes back get no table. */
static void drop_tables(struct work *work)
{
	struct returned_switch *switches[2];

	for (uint32_t i = work->done; i < work->num_links; i++) {
		find_switches(work, &work->links[i], switches);
		for (int e = 0; e < 2; e++)
			if (switches[e] && is_good(&work->links[i]))
				switches[e]->needed = true;
	}
	for (uint32_t i = 0; i < work->switches.num; i++)
		work->switches.list[i].whole &= work->switches.list[i].needed;
}

static const char *judge_far(const struct work *work, const struct link *link)
{
	const char *why = link_records_misfit(&link->near.has, &link->near.last->info);
	const ib_port_info_t *has = &link->far.has;

	if (!why)
		why = link_records_misfit(has, &link->far.last->info);
	if (!why && link->host && work->on->records->options.qos &&
	    has->base_lid != link->host->end.info.base_lid)
		why = "it was reset, and has lost its qos tables";
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

static void judge_all(struct work *work)
{
	for (uint32_t i = work->done; i < work->num_links; i++) {
		struct link *link = &work->links[i];

		if (link->waits)
			continue;
		judge_switches(work, link);
		if (!link->silent && !link->why)
			link->why = judge_far(work, link);
		if (!link->silent && !link->why)
			merge(work, link);
	}
	drop_tables(work);
}

/* Writes ports that are up once the good cables are in service. */
static void find_up(const struct work *work, uint8_t *up)
{
	memcpy(up, work->up, work->topology->num_ports);
	for (uint32_t i = work->done; i < work->num_links; i++)
		if (is_good(&work->links[i]) && !work->links[i].host)
			up[work->links[i].port] = up[work->links[i].peer] = 1;
}

static bool any_whole(const struct work *work)
{
	for (uint32_t i = 0; i < work->switches.num; i++)
		if (work->switches.list[i].whole && !work->switches.list[i].why)
			return true;
	return false;
}

/* Writes whole tables of the view over these ports, and notes what they are. */
static void write_whole(struct work *work, const uint8_t *up)
{
	struct returns *returns = work->returns;

	work->no_memory |= work->on->use(work->on->context, up) ||
			   returned_switches_write(&work->switches);
	work->used = true;
	for (uint32_t i = 0; i < work->switches.num && !work->no_memory; i++) {
		const struct returned_switch *sw = &work->switches.list[i];

		if (!sw->whole || sw->why || sw->silent)
			continue;
		returns->written[sw->node] =
			returned_switches_hash(&work->switches, sw->node);
		returns->any_written = true;
	}
}

/* Whether packets may reach a switch, over a cable that is in service. */
static bool is_in_use(const struct work *work, uint32_t node)
{
	const struct pm_node *sw = &work->topology->nodes[node];

	return memchr(work->up + sw->first_port + 1, 1, sw->num_ports);
}

/* Switches that packets reach get their tables when these links are in service. */
static void postpone_whole(struct work *work)
{
	for (uint32_t i = 0; i < work->switches.num; i++) {
		struct returned_switch *sw = &work->switches.list[i];

		sw->whole &= sw->reset || !is_in_use(work, sw->node);
	}
}

/* Leaves cables to OpenSM; `port` of a switch, or PM_NONE: all. */
static void leave_cables(struct work *work, uint32_t port)
{
	for (uint32_t i = work->done; i < work->num_links; i++) {
		struct link *link = &work->links[i];

		if (is_good(link) && !link->host &&
		    (port == PM_NONE || link->port == port || link->peer == port))
			link->why = "packets could loop over it";
	}
}

/* Leaves the cables to which entries lead that must not be kept. */
static void leave_suspects(struct work *work, const struct pm_stale_input *input,
			   const struct pm_stale *stale)
{
	for (uint32_t i = 0; i < stale->num; i++) {
		const struct pm_stale_entry *entry = &stale->entries[i];
		const struct pm_held *held = &input->held[entry->sw];
		const struct pm_node *node = &work->topology->nodes[entry->sw];

		if (entry->lid < held->length &&
		    held->table[entry->lid] <= node->num_ports)
			leave_cables(work, node->first_port + held->table[entry->lid]);
	}
}

/*
 * The number of entries that must not be kept (stale.h) with links that are up. If there
 * are more than so many, leaves cables to which they lead. Without memory UINT32_MAX.
 */
static uint32_t count_stale(struct work *work, const uint8_t *up, uint32_t most)
{
	osm_opensm_t *osm = work->on->sender->osm;
	struct pm_held *held = calloc(work->topology->num_switches + 1u, sizeof(*held));
	const struct pm_stale_input input = {work->on->view->routes, held, up, NULL};
	struct pm_stale stale = {.num = 0};
	uint32_t num = UINT32_MAX;

	if (!held)
		return num;
	CL_PLOCK_ACQUIRE(&osm->lock);
	lft_records_held(&osm->subn, work->plan, false, held);
	if (!pm_stale_find(&input, &stale)) {
		num = stale.num;
		if (num > most)
			leave_suspects(work, &input, &stale);
	}
	CL_PLOCK_RELEASE(&osm->lock);
	pm_stale_free(&stale);
	free(held);
	return num;
}

/*
 * Leaves cables to OpenSM if entries that switches hold already would loop over them. It
 * removes these first. Writes up[port] anew.
 */
static void judge_loops(struct work *work, uint8_t *up)
{
	uint32_t now = count_stale(work, work->up, UINT32_MAX);

	if (count_stale(work, up, now) <= now && now < UINT32_MAX)
		return;
	find_up(work, up);
	if (now == UINT32_MAX || count_stale(work, up, now) > now)
		leave_cables(work, PM_NONE);
}

/* Before packets pass: tables of switches that need them, and no loops. */
static void prepare_tables(struct work *work)
{
	uint8_t *up = malloc(work->topology->num_ports + 1u);

	if (!up) {
		work->no_memory = true;
		return;
	}
	find_up(work, up);
	postpone_whole(work);
	if (any_whole(work))
		write_whole(work, up);
	for (uint32_t i = work->done; i < work->num_links; i++)
		if (!work->links[i].waits)
			judge_switches(work, &work->links[i]);
	if (memcmp(up, work->up, work->topology->num_ports) != 0)
		judge_loops(work, up);
	free(up);
}

/* Restores what OpenSM set, as far as it differs. */
static void set_values(struct work *work)
{
	for (uint32_t i = work->done; i < work->num_links; i++) {
		const struct link *link = &work->links[i];

		if (link->silent || link->why || link->waits)
			continue;
		for (uint8_t b = 0; b < LINK_PKEY_BLOCKS; b++)
			if (link->wrong_pkeys >> b & 1)
				add_item(work, &(struct item){i, SMP_SET_PKEYS, 1, b, 0});
		if (link->near.differs)
			add_item(work, &(struct item){i, SMP_SET_PORT, 0, 0, 0});
		if (link->far.differs)
			add_item(work, &(struct item){i, SMP_SET_PORT, 1, 0, 0});
	}
	returns_send(work, &work->sets, make_smp, take_answer);
}

/* Sets the state of the ends that are in a lower one. */
static void set_state(struct work *work, uint8_t state)
{
	for (uint32_t i = work->done; i < work->num_links; i++) {
		const struct link *link = &work->links[i];

		if (link->silent || link->why || link->waits)
			continue;
		if (ib_port_info_get_port_state(&link->near.has) < state)
			add_item(work, &(struct item){i, SMP_SET_PORT, 0, 0, state});
		if (ib_port_info_get_port_state(&link->far.has) < state)
			add_item(work, &(struct item){i, SMP_SET_PORT, 1, 0, state});
	}
	returns_send(work, &work->sets, make_smp, take_answer);
}

static bool is_in_service(const struct link *link)
{
	return is_good(link) &&
	       ib_port_info_get_port_state(&link->near.has) == IB_LINK_ACTIVE &&
	       ib_port_info_get_port_state(&link->far.has) == IB_LINK_ACTIVE;
}

/* ---- The end of it ---- */

static void note_back(struct work *work, const struct link *link)
{
	struct returned *result = work->result;

	if (link->peer == PM_NONE || work->start[link->port])
		return;
	if (!result->back)
		result->back = calloc(work->topology->num_ports + 1u, 1);
	if (result->back)
		result->back[link->port] = result->back[link->peer] = 1;
}

/* The other switch of a cable has reported it, too, or will. */
static void explain_far(struct work *work, uint32_t node)
{
	struct returns *returns = work->returns;

	if (work->traps[node] > work->explained[node]) {
		returns_count_explained(work, node);
		return;
	}
	returns_give_credit(returns, node, work->topology->num_switches);
	work->on->explain(work->on->context, node, 1, 0, true);
}

static struct served_end served_end(const struct end *end)
{
	return (struct served_end){end->last->node_guid, end->has, end->last->num};
}

/* Notes a link that is in service; with osm->lock held exclusively. */
static void finish_link(struct work *work, const struct link *link)
{
	struct returned *result = work->result;
	const struct pm_port *port = &work->topology->ports[link->port];
	struct served served = {{served_end(&link->near), served_end(&link->far)},
				returns_lid_of(work->plan, port->node)};

	work->returns->down[link->port] = 0;
	if (link->host)
		note_flap(work, link);
	else
		work->returns->down[link->peer] = 0;
	result->hosts += link->host != NULL;
	result->cables += link->host == NULL;
	returns_name_port(work, link->port, result->links);
	result->unknown |= !returns_settle_one(&work->on->sender->osm->subn, &served,
					       work->on->idle);
	returns_forget_served(work->returns, &served.ends[0]);
	returns_remember(work->returns, &served);
	note_back(work, link);
	if (link->peer == PM_NONE)
		return;
	work->up[link->port] = work->up[link->peer] = 1;
	explain_far(work, work->topology->ports[link->peer].node);
}

/*
 * Whether OpenSM's discovery found a link in INIT: its link manager sets the ports, and a
 * Set that fails has it sweep again. With osm->lock held.
 */
static bool is_found(const struct work *work, const struct link *link)
{
	const struct pm_port *port = &work->topology->ports[link->port];
	const osm_physp_t *here = returns_find_physp(
		&work->on->sender->osm->subn,
		cl_hton64(work->topology->nodes[port->node].guid), port->num);

	return work->on->found && here && osm_physp_get_remote(here) &&
	       osm_physp_get_port_state(here) == IB_LINK_INIT;
}

/* Notes a link that is not in service: it is tried again, or left to OpenSM. */
static void leave_link(struct work *work, struct link *link)
{
	struct returns *returns = work->returns;
	struct returned *result = work->result;

	if (link->silent && returns->tries >= RETRIES)
		link->why = "an end does not answer";
	if (!link->why) {
		returns_note_lid(returns,
				 returns_lid_of(work->plan,
						work->topology->ports[link->port].node),
				 false);
		return;
	}
	if (!result->left++)
		result->why = link->why;
	result->missed |= !link->found;
	returns_name_port(work, link->port, result->left_links);
}

static void finish_links(struct work *work)
{
	osm_opensm_t *osm = work->on->sender->osm;

	CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
	for (uint32_t i = work->done; i < work->num_links; i++)
		if (is_in_service(&work->links[i]))
			finish_link(work, &work->links[i]);
		else
			work->links[i].found = is_found(work, &work->links[i]);
	CL_PLOCK_RELEASE(&osm->lock);
	for (uint32_t i = work->done; i < work->num_links; i++) {
		if (is_in_service(&work->links[i]))
			continue;
		work->fits[work->topology->ports[work->links[i].port].node] = 0;
		leave_link(work, &work->links[i]);
	}
	work->done = work->num_links;
}

/*
 * Switches with whole tables are read, too: their other links may be back. One that was
 * reset has lost the state of all.
 */
static void report_whole(struct work *work)
{
	struct returned_switches *switches = &work->switches;
	struct returned *result = work->result;

	for (uint32_t i = 0; i < switches->num; i++) {
		const struct returned_switch *sw = &switches->list[i];

		if (!sw->whole || sw->why || sw->silent)
			continue;
		work->reported[sw->node] = sw->reset ? REPORT_ALL : REPORT_DOWN;
		if (!result->whole)
			result->whole = calloc(work->topology->num_switches + 1u,
					       sizeof(*result->whole));
		if (result->whole && result->num_whole < work->topology->num_switches)
			result->whole[result->num_whole++] =
				work->topology->nodes[sw->node].guid;
	}
}

void returns_serve(struct work *work)
{
	osm_opensm_t *osm = work->on->sender->osm;

	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t i = work->done; i < work->num_links; i++) {
		struct link *link = &work->links[i];

		address(work, link);
		link->waits = !link->why && link->host && is_flapping(work, link);
		if (!link->waits)
			continue;
		work->result->held++;
		returns_name_port(work, link->port, work->result->held_links);
	}
	CL_PLOCK_RELEASE(&osm->lock);
	ask_far(work);
	ask_switches(work);
	judge_all(work);
	if (!returns_is_over(work))
		prepare_tables(work);
	set_values(work);
	set_state(work, IB_LINK_ARMED);
	set_state(work, IB_LINK_ACTIVE);
	finish_links(work);
	report_whole(work);
	work->switches.num = 0;
	memset(work->asked, 0, work->topology->num_switches * sizeof(*work->asked));
}

/* Lists the switches whose tables have changed since they got them. */
static void list_outdated(struct work *work)
{
	struct returns *returns = work->returns;
	osm_opensm_t *osm = work->on->sender->osm;

	returns->any_written = false;
	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t sw = 0; sw < work->topology->num_switches; sw++) {
		osm_dr_path_t route;

		if (!returns->written[sw])
			continue;
		if (returned_switches_is_recorded(&work->switches, sw)) {
			returns->written[sw] = 0;
			continue;
		}
		returns->any_written = true;
		if (returns->written[sw] == returned_switches_hash(&work->switches, sw) ||
		    work->via[sw] == PM_NONE || !returns_route(work, sw, 0, &route))
			continue;
		list_switch(work, sw, returns_key_of(work, sw), &route);
		if (!work->no_memory)
			work->switches.list[work->switches.num - 1].whole = true;
	}
	CL_PLOCK_RELEASE(&osm->lock);
}

void returns_rewrite(struct work *work)
{
	if (!work->returns->any_written || returns_is_over(work))
		return;
	if ((work->used || memcmp(work->up, work->start, work->topology->num_ports)) &&
	    work->on->use(work->on->context, work->up)) {
		work->no_memory = true;
		return;
	}
	list_outdated(work);
	if (work->switches.num)
		write_whole(work, work->up);
	work->switches.num = 0;
}
