/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Brings links that came back into service. */
#include "returns_parts.h"

#include "osm/lft_records.h"

#include <portmajor/route/stale.h>

#include <stdlib.h>
#include <string.h>

/* ---- Tables ---- */

/* Switches of which no link comes back get no table. */
static void drop_tables(struct work *work)
{
	struct returned_switch *switches[2];

	for (uint32_t i = 0; i < work->num_links; i++) {
		returns_find_switches(work, &work->links[i], switches);
		for (int e = 0; e < 2; e++)
			if (switches[e] && returns_is_good(&work->links[i]))
				switches[e]->needed = true;
	}
	for (uint32_t i = 0; i < work->switches.num; i++)
		work->switches.list[i].whole &= work->switches.list[i].needed;
}

/* Writes ports that are up once the good cables are in service. */
static void find_up(const struct work *work, uint8_t *up)
{
	memcpy(up, work->up, work->topology->num_ports);
	for (uint32_t i = 0; i < work->num_links; i++)
		if (returns_is_good(&work->links[i]) && !work->links[i].host)
			up[work->links[i].port] = up[work->links[i].peer] = 1;
}

static bool any_whole(const struct work *work)
{
	for (uint32_t i = 0; i < work->switches.num; i++)
		if (work->switches.list[i].whole && !work->switches.list[i].why)
			return true;
	return false;
}

/* Notes the table that a switch has got, or a part of it. */
static void note_written(struct work *work, const struct returned_switch *sw)
{
	struct written *written = &work->returns->written[sw->node];
	const struct pm_routes *routes = work->on->view->routes;
	bool all = !sw->why && !sw->silent;

	if (!all && !written->any)
		return; /* no link of it comes into service */
	returns_forget_table(written);
	written->any = work->returns->any_written = true;
	written->table = all ? malloc(pm_routes_stride(routes)) : NULL;
	if (written->table) /* else it gets its whole table again */
		memcpy(written->table, pm_routes_table(routes, sw->node),
		       pm_routes_stride(routes));
}

/* Writes tables of the view, and notes what they are. */
static void write_tables(struct work *work)
{
	work->no_memory |= returned_switches_write(&work->switches) != 0;
	for (uint32_t i = 0; i < work->switches.num && !work->no_memory; i++)
		if (work->switches.list[i].whole)
			note_written(work, &work->switches.list[i]);
}

/* Leaves cables to OpenSM; `port` of a switch, or PM_NONE: all. */
static void leave_cables(struct work *work, uint32_t port)
{
	for (uint32_t i = 0; i < work->num_links; i++) {
		struct link *link = &work->links[i];

		if (returns_is_good(link) && !link->host &&
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
		const struct pm_installed *installed = &input->installed[entry->sw];
		const struct pm_node *node = &work->topology->nodes[entry->sw];

		if (entry->lid < installed->length &&
		    installed->table[entry->lid] <= node->num_ports)
			leave_cables(work,
				     node->first_port + installed->table[entry->lid]);
	}
}

/*
 * The number of LIDs with kept entries that loop (stale.h) over links that are up. If
 * there are more than so many, leaves cables to which such entries lead. Without memory
 * UINT32_MAX.
 */
static uint32_t count_loops(struct work *work, const uint8_t *up, uint32_t most)
{
	osm_opensm_t *osm = work->on->sender->osm;
	struct pm_installed *installed =
		calloc(work->topology->num_switches + 1u, sizeof(*installed));
	const struct pm_stale_input input = {
		.routes = work->on->view->routes, .installed = installed, .up = up};
	struct pm_stale stale = {.num = 0};
	uint32_t num = UINT32_MAX;

	if (!installed)
		return num;
	CL_PLOCK_ACQUIRE(&osm->lock);
	lft_records_installed(&osm->subn, work->plan, false, installed);
	if (!pm_stale_find(&input, &stale)) {
		num = stale.loops;
		if (num > most)
			leave_suspects(work, &input, &stale);
	}
	CL_PLOCK_RELEASE(&osm->lock);
	pm_stale_free(&stale);
	free(installed);
	return num;
}

/* Whether the entries for a LID lead from one switch to another, over links that are up.
 */
static bool leads_to(const struct work *work, const struct pm_installed *installed,
		     const uint8_t *up, uint32_t lid, uint32_t from, uint32_t to)
{
	const struct pm_fabric *topology = work->topology;
	uint32_t sw = from;

	for (uint32_t i = 0; i < topology->num_switches && sw != to; i++) {
		const struct pm_node *node = &topology->nodes[sw];
		uint8_t num = lid < installed[sw].length ? installed[sw].table[lid]
							 : PM_LFT_KEEP;
		uint32_t port = node->first_port + num;

		if (!num || num > node->num_ports || !up[port] ||
		    pm_fabric_peer_node(topology, port) >= topology->num_switches)
			return false;
		sw = pm_fabric_peer_node(topology, port);
	}
	return sw == to;
}

/* Whether packets that the switch of a port sends there come back to it. */
static bool loops_over(const struct work *work, const struct pm_installed *installed,
		       const uint8_t *up, uint32_t port)
{
	const struct pm_port *p = &work->topology->ports[port];
	const struct pm_installed *sw = &installed[p->node];
	uint32_t peer = work->topology->ports[p->peer].node;

	for (uint32_t lid = 0; lid < sw->length; lid++)
		if (sw->table[lid] == p->num &&
		    leads_to(work, installed, up, lid, peer, p->node))
			return true;
	return false;
}

/* Whether entries that switches hold loop over a good cable; true without memory. */
static bool any_loops(const struct work *work, const uint8_t *up)
{
	osm_opensm_t *osm = work->on->sender->osm;
	struct pm_installed *installed =
		calloc(work->topology->num_switches + 1u, sizeof(*installed));
	bool any = !installed;

	CL_PLOCK_ACQUIRE(&osm->lock);
	if (installed)
		lft_records_installed(&osm->subn, work->plan, false, installed);
	for (uint32_t i = 0; i < work->num_links && !any; i++) {
		const struct link *link = &work->links[i];

		any = returns_is_good(link) && !link->host &&
		      (loops_over(work, installed, up, link->port) ||
		       loops_over(work, installed, up, link->peer));
	}
	CL_PLOCK_RELEASE(&osm->lock);
	free(installed);
	return any;
}

/*
 * Leaves cables to OpenSM if entries that switches hold already would loop over them. It
 * removes these first. Which cables these are is found only if some loop is over a good
 * one, as that is a walk over all tables. Writes up[port] anew.
 */
static void judge_loops(struct work *work, uint8_t *up)
{
	uint32_t now;

	if (!any_loops(work, up))
		return;
	now = count_loops(work, work->up, UINT32_MAX);
	if (count_loops(work, up, now) <= now && now < UINT32_MAX)
		return;
	find_up(work, up);
	if (now == UINT32_MAX || count_loops(work, up, now) > now)
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
	if (any_whole(work)) {
		work->no_memory |= work->on->use(work->on->context, up) != 0;
		work->used = true;
		write_tables(work);
	}
	for (uint32_t i = 0; i < work->num_links; i++)
		if (!work->links[i].waits)
			returns_judge_switches(work, &work->links[i]);
	if (memcmp(up, work->up, work->topology->num_ports) != 0)
		judge_loops(work, up);
	free(up);
}

/* ---- Ports ---- */

/* The tables of a host that was reset. */
static void add_qos(struct work *work, uint32_t link)
{
	const struct link_qos *qos = &work->links[link].host->qos;

	if (qos->has_sl2vl)
		returns_add_smp(work, &(struct item){link, SMP_SET_SL2VL, 1, 0, 0});
	for (uint8_t b = 0; b < 4; b++)
		if (qos->blocks >> b & 1)
			returns_add_smp(work,
					&(struct item){link, SMP_SET_VLARB, 1, b, 0});
}

/* Restores what OpenSM set, as far as it differs. */
static void set_values(struct work *work)
{
	for (uint32_t i = 0; i < work->num_links; i++) {
		const struct link *link = &work->links[i];

		if (link->silent || link->why || link->waits)
			continue;
		for (uint8_t b = 0; b < LINK_PKEY_BLOCKS; b++)
			if (link->wrong_pkeys >> b & 1)
				returns_add_smp(
					work, &(struct item){i, SMP_SET_PKEYS, 1, b, 0});
		if (link->lost_qos)
			add_qos(work, i);
		if (link->near.differs)
			returns_add_smp(work, &(struct item){i, SMP_SET_PORT, 0, 0, 0});
		if (link->far.differs)
			returns_add_smp(work, &(struct item){i, SMP_SET_PORT, 1, 0, 0});
	}
	returns_send_smps(work, &work->sets);
}

/* Sets the state of the ends that are in a lower one. */
static void set_state(struct work *work, uint8_t state)
{
	for (uint32_t i = 0; i < work->num_links; i++) {
		const struct link *link = &work->links[i];

		if (link->silent || link->why || link->waits)
			continue;
		if (ib_port_info_get_port_state(&link->near.has) < state)
			returns_add_smp(work,
					&(struct item){i, SMP_SET_PORT, 0, 0, state});
		if (ib_port_info_get_port_state(&link->far.has) < state)
			returns_add_smp(work,
					&(struct item){i, SMP_SET_PORT, 1, 0, state});
	}
	returns_send_smps(work, &work->sets);
}

static bool is_in_service(const struct link *link)
{
	return returns_is_good(link) &&
	       ib_port_info_get_port_state(&link->near.has) == IB_LINK_ACTIVE &&
	       ib_port_info_get_port_state(&link->far.has) == IB_LINK_ACTIVE;
}

/* ---- The end of it ---- */

static void note_flap(struct work *work, const struct link *link)
{
	struct history *history = &work->returns->history[link->port];

	history->at[history->next] = clock_ms();
	history->next = (uint8_t)((history->next + 1u) % FLAPS);
	history->told = false;
}

static void note_back(struct work *work, const struct link *link)
{
	struct returned *result = work->result;

	if (work->start[link->port])
		return;
	if (!result->back)
		result->back = calloc(work->topology->num_ports + 1u, 1);
	if (!result->back)
		return;
	result->back[link->port] = 1;
	if (link->peer != PM_NONE)
		result->back[link->peer] = 1;
}

/* The other switch of a cable has reported it, too, or will. */
static void explain_far(struct work *work, uint32_t node)
{
	struct returns *returns = work->returns;

	if (work->traps[node] > work->explained[node]) {
		returns_count_explained(work, node);
		return;
	}
	if (returns->unexplained[node]) { /* in an earlier run */
		returns->unexplained[node] = 0;
		work->on->explain(work->on->context, node, 1, 0, false);
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
				returns_lid_of(work->plan, port->node),
				clock_ms()};

	work->returns->down[link->port] = 0;
	work->returns->history[link->port].left = NULL;
	work->returns->history[link->port].gone = 0;
	if (link->host)
		note_flap(work, link);
	if (!link->host) {
		work->returns->down[link->peer] = 0;
		work->returns->history[link->peer].left = NULL;
	}
	if (link->host && result->hosts < RETURNS_HOSTS)
		result->host_ends[result->hosts] = returns_end(work, link->port);
	result->hosts += link->host != NULL;
	result->cables += link->host == NULL;
	returns_name_link(work, link->port, link->peer, result->links);
	result->unknown |= !returns_settle_one(&work->on->sender->osm->subn, &served,
					       work->on->idle);
	returns_forget_served(work->returns, &served.ends[0]);
	returns_remember(work->returns, &served);
	note_back(work, link);
	work->up[link->port] = 1;
	if (link->peer == PM_NONE)
		return;
	work->up[link->peer] = 1;
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

/* Whether that was said since the last sweep; notes it. Either end may be the near one.
 */
static bool was_left(const struct work *work, const struct link *link)
{
	uint32_t end = link->peer < link->port ? link->peer : link->port;
	struct history *history = &work->returns->history[end];
	uint32_t sweep = work->on->records->sweep;
	bool was = history->left == link->why && history->sweep == sweep;

	history->left = link->why;
	history->sweep = sweep;
	return was;
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
	result->missed |= !link->found;
	if (was_left(work, link))
		return;
	if (!result->left++)
		result->why = link->why;
	returns_name_link(work, link->port, link->peer, result->left_links);
}

static void finish_links(struct work *work)
{
	osm_opensm_t *osm = work->on->sender->osm;

	CL_PLOCK_EXCL_ACQUIRE(&osm->lock);
	for (uint32_t i = 0; i < work->num_links; i++)
		if (is_in_service(&work->links[i]))
			finish_link(work, &work->links[i]);
		else
			work->links[i].found = is_found(work, &work->links[i]);
	CL_PLOCK_RELEASE(&osm->lock);
	for (uint32_t i = 0; i < work->num_links; i++) {
		if (is_in_service(&work->links[i]))
			continue;
		work->fits[work->topology->ports[work->links[i].port].node] = 0;
		leave_link(work, &work->links[i]);
	}
}

/* Notes the switches that got their whole table. */
static void note_whole(struct work *work)
{
	struct returned_switches *switches = &work->switches;
	struct returned *result = work->result;

	for (uint32_t i = 0; i < switches->num; i++) {
		const struct returned_switch *sw = &switches->list[i];

		if (!sw->whole || sw->why || sw->silent)
			continue;
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
	drop_tables(work);
	if (!returns_is_over(work))
		prepare_tables(work);
	set_values(work);
	set_state(work, IB_LINK_ARMED);
	set_state(work, IB_LINK_ACTIVE);
	finish_links(work);
	note_whole(work);
	work->switches.num = work->switches.asked = 0;
	memset(work->asked, 0, work->topology->num_switches * sizeof(*work->asked));
}

/* Lists a switch if its table has changed since it got it. With osm->lock held. */
static void list_outdated(struct work *work, uint32_t sw)
{
	struct written *written = &work->returns->written[sw];
	const struct pm_routes *routes = work->on->view->routes;
	osm_dr_path_t route;

	if (!written->any)
		return;
	if (returned_switches_is_recorded(&work->switches, sw)) {
		returns_forget_table(written);
		return;
	}
	work->returns->any_written = true;
	if ((written->table && !memcmp(written->table, pm_routes_table(routes, sw),
				       pm_routes_stride(routes))) ||
	    work->via[sw] == PM_NONE || !returns_route(work, sw, 0, &route))
		return;
	returns_list_switch(work, sw, returns_key_of(work, sw), &route);
	if (work->no_memory)
		return;
	work->switches.list[work->switches.num - 1].whole = true;
	work->switches.list[work->switches.num - 1].installed = written->table;
}

void returns_rewrite(struct work *work)
{
	osm_opensm_t *osm = work->on->sender->osm;

	if (returns_is_over(work))
		return;
	work->returns->any_written = false;
	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t sw = 0; sw < work->topology->num_switches; sw++)
		list_outdated(work, sw);
	CL_PLOCK_RELEASE(&osm->lock);
	if (work->switches.num)
		write_tables(work);
	work->switches.num = 0;
}
