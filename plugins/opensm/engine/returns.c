/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Links that come back: traps, and where they are; OpenSM's record follows. */
#include "returns_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Traps ---- */

struct returns *returns_start(void)
{
	struct returns *returns = calloc(1, sizeof(*returns));

	if (returns)
		pthread_mutex_init(&returns->lock, NULL);
	return returns;
}

void returns_stop(struct returns *returns)
{
	if (!returns)
		return;
	pthread_mutex_destroy(&returns->lock);
	free(returns->served);
	free(returns->down);
	free(returns->unexplained);
	free(returns->credit);
	free(returns->history);
	returns_forget_written(returns);
	free(returns);
}

bool returns_note_trap(struct returns *returns, const ib_mad_notice_attr_t *notice)
{
	uint16_t lid = cl_ntoh16(notice->data_details.ntc_128.sw_lid);

	if (!ib_notice_is_generic(notice) || lid > PM_MAX_LID ||
	    notice->g_or_v.generic.trap_num != CL_HTON16(SM_LINK_STATE_CHANGED_TRAP))
		return false;
	returns_note_lid(returns, lid, true);
	return true;
}

bool returns_wait(struct returns *returns)
{
	double now = clock_ms();
	bool any;

	pthread_mutex_lock(&returns->lock);
	any = returns->num_noted && (returns->fresh || now >= returns_due(returns));
	pthread_mutex_unlock(&returns->lock);
	return any;
}

void returns_hurry(struct returns *returns)
{
	pthread_mutex_lock(&returns->lock);
	returns->fresh |= returns->waits && returns->num_noted;
	pthread_mutex_unlock(&returns->lock);
}

double returns_due(const struct returns *returns)
{
	if (returns->retry_ms > 0 && returns->flap_ms > 0)
		return returns->retry_ms < returns->flap_ms ? returns->retry_ms
							    : returns->flap_ms;
	return returns->retry_ms > 0 ? returns->retry_ms : returns->flap_ms;
}

/* Whether the arrays are those of the view's plan. */
static bool is_fit(const struct returns *returns, const struct view *view)
{
	return returns->down && returns->serial == view->serial;
}

void returns_note_port(struct returns *returns, const struct view *view, uint32_t port)
{
	if (is_fit(returns, view))
		returns->down[port] = 1;
	returns_note_lid(
		returns,
		returns_lid_of(view->plan, view->plan->topology->ports[port].node), true);
}

void returns_explain(struct returns *returns, const struct view *view, uint32_t node)
{
	const struct pm_plan *plan = view->plan;
	uint16_t lid = returns_lid_of(plan, node);
	bool waits;

	pthread_mutex_lock(&returns->lock);
	waits = returns->noted[lid];
	returns->noted[lid] -= waits;
	returns->num_noted -= waits && !returns->noted[lid];
	pthread_mutex_unlock(&returns->lock);
	if (waits || !is_fit(returns, view))
		return;
	if (!returns->unexplained[node])
		returns_give_credit(returns, node, plan->topology->num_switches);
	returns->unexplained[node] = 0;
}

bool returns_are_unexplained(const struct returns *returns, const struct view *view)
{
	return is_fit(returns, view) &&
	       memchr(returns->unexplained, 1, view->plan->topology->num_switches);
}

/* Takes a switch's traps. Those of cables that are back already explain themselves. */
static void take_switch(struct work *work, uint32_t node, uint8_t traps)
{
	struct returns *returns = work->returns;
	uint8_t credit = clock_ms() < returns->credit_ms ? returns->credit[node] : 0;

	if (credit > traps)
		credit = traps;
	returns->credit[node] = (uint8_t)(returns->credit[node] - credit);
	work->traps[node] = traps;
	work->explained[node] = work->credited[node] = credit;
	work->reported[node] = traps > credit ? REPORT_DOWN : 0;
}

/* Marks the switches with traps; returns their number. */
static uint32_t take_traps(struct work *work)
{
	struct returns *returns = work->returns;
	uint32_t num = 0;

	pthread_mutex_lock(&returns->lock);
	work->first_trap = returns->first_trap;
	for (uint32_t lid = 0; lid <= PM_MAX_LID && returns->num_noted; lid++) {
		uint32_t place = lid <= work->plan->top_lid && returns->noted[lid]
					 ? work->plan->owner[lid]
					 : PM_NONE;

		if (place != PM_NONE && !work->topology->ports[place].num) {
			take_switch(work, work->topology->ports[place].node,
				    returns->noted[lid]);
			num++;
		}
		returns->num_noted -= returns->noted[lid] != 0;
		returns->noted[lid] = 0;
	}
	returns->fresh = false;
	pthread_mutex_unlock(&returns->lock);
	return num;
}

static uint32_t take_unexplained(struct work *work)
{
	uint32_t num = 0;

	for (uint32_t sw = 0; sw < work->topology->num_switches; sw++) {
		work->reported[sw] = work->returns->unexplained[sw] ||
				     (work->on->reported && work->on->reported[sw]);
		num += work->reported[sw];
	}
	memset(work->returns->unexplained, 0, work->topology->num_switches);
	return num;
}

/* ---- Paths ---- */

/* Finds a path to each switch over these links, [port]. O(links). */
static void find_paths(struct work *work, const uint8_t *links)
{
	const struct pm_fabric *topology = work->topology;
	uint32_t *queue = work->via + topology->num_switches, head = 0, tail = 0;
	uint32_t sm = work->on->view->detours.sm;

	memset(work->via, 0xff, topology->num_switches * sizeof(*work->via));
	if (sm == PM_NONE)
		return;
	queue[tail++] = topology->ports[sm].node;
	work->via[queue[0]] = sm; /* it has no switch at the other end */
	while (head < tail) {
		const struct pm_node *node = &topology->nodes[queue[head++]];

		for (uint32_t i = 1; i <= node->num_ports; i++) {
			uint32_t port = node->first_port + i;
			uint32_t peer = topology->ports[port].peer, next;

			if (peer == PM_NONE || !links[port] || !links[peer])
				continue;
			next = topology->ports[peer].node;
			if (work->via[next] != PM_NONE)
				continue;
			work->via[next] = port;
			queue[tail++] = next;
		}
	}
}

static bool is_reached(const struct work *work, uint32_t node)
{
	return work->via[node] != PM_NONE;
}

/* ---- OpenSM's record; with osm->lock held ---- */

/*
 * Whether a port is known to be down, or in INIT. OpenSM's record of one that a packet
 * turned ACTIVE stays at ARMED.
 */
static bool is_down(const struct work *work, uint32_t port)
{
	const struct pm_port *p = &work->topology->ports[port];
	ib_net64_t guid = cl_hton64(work->topology->nodes[p->node].guid);
	const osm_physp_t *physp =
		returns_find_physp(&work->on->sender->osm->subn, guid, p->num);

	return !physp || osm_physp_get_port_state(physp) < IB_LINK_ARMED ||
	       work->returns->down[port] ||
	       (p->peer != PM_NONE && !work->on->view->discovered[port]);
}

/* ---- Reading ports ---- */

static bool is_planned(const struct work *work, uint32_t port)
{
	return work->topology->ports[port].peer != PM_NONE ||
	       link_records_host(work->on->records, port);
}

static void add_port(struct work *work, uint32_t port)
{
	if (pm_grow(&work->ports, &work->ports_room, work->num_ports + 1,
		    sizeof(*work->ports)))
		work->no_memory = true;
	else
		work->ports[work->num_ports++] = port;
}

/* Lists the ports of reported switches to read. */
static void list_reported(struct work *work)
{
	osm_opensm_t *osm = work->on->sender->osm;

	work->num_ports = 0;
	CL_PLOCK_ACQUIRE(&osm->lock);
	for (uint32_t sw = 0; sw < work->topology->num_switches; sw++) {
		const struct pm_node *node = &work->topology->nodes[sw];

		if (!work->reported[sw] || !is_reached(work, sw))
			continue;
		work->fits[sw] = work->on->read_all;
		for (uint32_t i = 1; i <= node->num_ports; i++) {
			uint32_t port = node->first_port + i;

			if (!work->taken[port] &&
			    (work->on->read_all ||
			     (is_planned(work, port) &&
			      (work->reported[sw] == REPORT_ALL || is_down(work, port)))))
				add_port(work, port);
		}
	}
	CL_PLOCK_RELEASE(&osm->lock);
}

static enum smp_make make_read(void *context, uint32_t index, struct smp_request *smp)
{
	struct work *work = context;
	const struct pm_port *port = &work->topology->ports[work->ports[index]];

	if (returns_is_over(work) || !returns_route(work, port->node, 0, &smp->route))
		return SMP_OMIT;
	smp->kind = SMP_PORT_INFO;
	smp->guid = cl_hton64(work->topology->nodes[port->node].guid);
	smp->m_key = returns_key_of(work, port->node);
	smp->modifier = port->num;
	return SMP_SEND;
}

static void add_link(struct work *work, uint32_t port, const ib_port_info_t *has)
{
	const struct link_records *records = work->on->records;
	uint32_t peer = work->topology->ports[port].peer;
	struct link link = {.port = port, .peer = peer};

	if (work->taken[port])
		return;
	link.near.last = &records->ends[port];
	link.near.has = *has;
	link.host = peer == PM_NONE ? link_records_host(records, port) : NULL;
	link.far.last = link.host ? &link.host->end : &records->ends[peer];
	if (pm_grow(&work->links, &work->links_room, work->num_links + 1,
		    sizeof(*work->links))) {
		work->no_memory = true;
		return;
	}
	work->links[work->num_links++] = link;
	work->taken[port] = 1;
	if (peer != PM_NONE)
		work->taken[peer] = 1;
}

/* Whether a port is as it is known; a host's may go and come, and is served. */
static void judge_state(struct work *work, uint32_t port, uint8_t state)
{
	const struct pm_port *p = &work->topology->ports[port];

	if (p->peer == PM_NONE ? state == IB_LINK_DOWN || is_planned(work, port)
			       : (state == IB_LINK_DOWN) == !work->start[port] ||
					 state == IB_LINK_INIT || state == IB_LINK_ARMED)
		return;
	work->fits[p->node] = 0;
	if (state == IB_LINK_DOWN)
		return; /* it is searched, see take_read */
	work->result->strange++;
	returns_name_link(work, port, PM_NONE, work->result->strange_ports);
}

static double time_of_begin(struct returns *returns)
{
	double begun;

	pthread_mutex_lock(&returns->lock);
	begun = returns->begun;
	pthread_mutex_unlock(&returns->lock);
	return begun;
}

/* Notes since when a host's link is down; a discovery has told of earlier times. */
static void note_gone(struct work *work, uint32_t port, uint8_t state)
{
	double *gone = &work->returns->history[port].gone;

	if (state != IB_LINK_DOWN) {
		*gone = 0;
	} else if (*gone <= 0 || *gone < time_of_begin(work->returns)) {
		*gone = clock_ms();
		work->result->gone += work->start[port];
	}
}

static bool take_read(void *context, const struct smp_answer *answer)
{
	struct work *work = context;
	const ib_port_info_t *info = (const ib_port_info_t *)answer->data;
	uint32_t port = work->ports[answer->index];
	uint8_t state;

	if (answer->outcome == SMP_SILENT && work->returns->tries < RETRIES)
		returns_note_lid(
			work->returns,
			returns_lid_of(work->plan, work->topology->ports[port].node),
			false);
	if (answer->outcome != SMP_ANSWERED) {
		work->fits[work->topology->ports[port].node] = 0;
		return true;
	}
	state = ib_port_info_get_port_state(info);
	if (work->on->read_all)
		judge_state(work, port, state);
	if (!is_planned(work, port))
		return true;
	if (state == IB_LINK_INIT || state == IB_LINK_ARMED)
		returns_count_explained(work, work->topology->ports[port].node);
	work->returns->down[port] = state != IB_LINK_ACTIVE;
	if (work->topology->ports[port].peer == PM_NONE)
		note_gone(work, port, state);
	if (state == IB_LINK_DOWN && work->topology->ports[port].peer != PM_NONE &&
	    work->up[port])
		work->on->doubt(work->on->context, work->topology->ports[port].node);
	if (state == IB_LINK_INIT || state == IB_LINK_ARMED)
		add_link(work, port, info);
	return true;
}

static void read_ports(struct work *work)
{
	list_reported(work);
	work->num_items = work->num_ports;
	returns_send(work, &work->queries, make_read, take_read);
	memset(work->reported, 0, work->topology->num_switches);
}

/* ---- A run ---- */

static bool any_reported(const struct work *work)
{
	for (uint32_t sw = 0; sw < work->topology->num_switches; sw++)
		if (work->reported[sw])
			return true;
	return false;
}

/* Reads and asks, then from the switches that are reached so, too; and serves all. */
static void search(struct work *work)
{
	for (int i = 0; i < MOST_ROUNDS && any_reported(work) && !returns_is_over(work);
	     i++) {
		find_paths(work, work->passed);
		read_ports(work);
		if (work->num_links > work->judged)
			returns_ask(work);
	}
	if (work->num_links)
		returns_serve(work);
}

/* Has arrays for the view's plan. -ENOMEM. */
static int fit(struct returns *returns, const struct view *view)
{
	const struct pm_fabric *topology = view->plan->topology;
	uint8_t *down, *unexplained, *credit;
	struct history *history;
	struct written *written;

	if (is_fit(returns, view))
		return 0;
	down = calloc(topology->num_ports + 1u, 1);
	unexplained = calloc(topology->num_switches + 1u, 1);
	credit = calloc(topology->num_switches + 1u, 1);
	history = calloc(topology->num_ports + 1u, sizeof(*history));
	written = calloc(topology->num_switches + 1u, sizeof(*written));
	free(returns->down);
	free(returns->unexplained);
	free(returns->credit);
	free(returns->history);
	returns_forget_written(returns);
	returns->down = down;
	returns->unexplained = unexplained;
	returns->credit = credit;
	returns->history = history;
	returns->written = written;
	returns->num_written = written ? topology->num_switches : 0;
	returns->serial = view->serial;
	if (down && unexplained && credit && history && written)
		return 0;
	free(returns->down);
	returns->down = NULL;
	return -ENOMEM;
}

static void free_work(struct work *work)
{
	free(work->up);
	free(work->passed);
	free(work->start);
	free(work->via);
	free(work->reported);
	free(work->read);
	free(work->fits);
	free(work->traps);
	free(work->explained);
	free(work->credited);
	free(work->asked);
	free(work->switches.list);
	free(work->taken);
	free(work->ports);
	free(work->links);
	free(work->items);
}

/* -ENOMEM. */
static int make_work(struct work *work)
{
	const struct pm_fabric *topology = work->topology;
	const osm_port_t *sm;
	osm_opensm_t *osm = work->on->sender->osm;

	work->up = malloc(topology->num_ports + 1u);
	work->passed = malloc(topology->num_ports + 1u);
	work->start = malloc(topology->num_ports + 1u);
	work->taken = calloc(topology->num_ports + 1u, 1);
	work->via = malloc((2u * topology->num_switches + 1u) * sizeof(*work->via));
	work->reported = calloc(topology->num_switches + 1u, 1);
	work->read = calloc(topology->num_switches + 1u, 1);
	work->fits = calloc(topology->num_switches + 1u, 1);
	work->traps = calloc(topology->num_switches + 1u, 1);
	work->explained = calloc(topology->num_switches + 1u, 1);
	work->credited = calloc(topology->num_switches + 1u, 1);
	work->asked = calloc(topology->num_switches + 1u, sizeof(*work->asked));
	if (!work->up || !work->passed || !work->start || !work->taken || !work->via ||
	    !work->reported || !work->read || !work->fits || !work->traps ||
	    !work->explained || !work->credited || !work->asked)
		return -ENOMEM;
	work->switches = (struct returned_switches){
		.sender = work->on->sender,
		.view = work->on->view,
		.records = work->on->records,
		.is_halted = work->on->is_halted,
		.context = work->on->context,
	};
	memcpy(work->up, work->on->view->discovered, topology->num_ports);
	memcpy(work->passed, work->up, topology->num_ports);
	memcpy(work->start, work->up, topology->num_ports);
	CL_PLOCK_ACQUIRE(&osm->lock);
	sm = osm_get_port_by_guid(&osm->subn, osm->subn.sm_port_guid);
	if (sm && osm_node_get_type(sm->p_node) != IB_NODE_TYPE_SWITCH)
		work->sm_port = osm_physp_get_port_num(sm->p_physp);
	CL_PLOCK_RELEASE(&osm->lock);
	return 0;
}

/* Traps of a switch since they were taken. */
static uint32_t count_later(const struct work *work, uint32_t sw)
{
	struct returns *returns = work->returns;
	uint32_t num;

	pthread_mutex_lock(&returns->lock);
	num = returns->noted[returns_lid_of(work->plan, sw)];
	pthread_mutex_unlock(&returns->lock);
	return num;
}

/* What the returns do not explain is looked for elsewhere. */
static void explain_traps(const struct work *work)
{
	for (uint32_t sw = 0; sw < work->topology->num_switches; sw++) {
		uint32_t traps = work->traps[sw], found = work->explained[sw];

		if (!traps)
			continue;
		work->returns->unexplained[sw] = traps > found;
		found = (traps < found ? traps : found) - work->credited[sw];
		work->on->explain(work->on->context, sw, found, count_later(work, sw),
				  false);
	}
}

/* Sets the time of the next try. */
static void plan_retry(const struct work *work)
{
	struct returns *returns = work->returns;
	bool rest;

	pthread_mutex_lock(&returns->lock);
	rest = returns->num_noted && returns->flap_ms <= 0;
	returns->waits = work->waits;
	pthread_mutex_unlock(&returns->lock);
	returns->retry_ms = 0;
	if (!rest)
		returns->tries = 0;
	else if (work->waits)
		returns->retry_ms = clock_ms() + WAIT_MS;
	else
		returns->retry_ms = clock_ms() + (RETRY_MS << (returns->tries < RETRIES
								       ? returns->tries++
								       : RETRIES));
}

static void note_counts(const struct work *work, struct returned *done)
{
	const struct returned_switches *switches = &work->switches;

	done->queries = work->queries.sent + switches->queries.sent;
	done->blocks = switches->tables.sent;
	done->acked = switches->acked;
	done->sets = work->sets.sent + switches->sets.sent + done->blocks;
	done->unanswered = work->queries.silent + work->sets.silent +
			   switches->queries.silent + switches->sets.silent +
			   switches->tables.silent;
}

bool returns_run(struct returns *returns, const struct returns_subject *subject,
		 struct returned *done)
{
	struct work work = {.returns = returns,
			    .on = subject,
			    .plan = subject->view->plan,
			    .topology = subject->view->plan->topology,
			    .result = done};
	bool any = false;

	*done = (struct returned){.number = 0};
	if (fit(returns, subject->view) || make_work(&work))
		goto out;
	any = subject->read_all ? take_unexplained(&work) : take_traps(&work);
	if (!any)
		goto out;
	returns->flap_ms = 0;
	search(&work);
	if (!subject->read_all) {
		explain_traps(&work);
		plan_retry(&work);
	}
	if (done->hosts || done->cables)
		done->number = ++returns->number;
	note_counts(&work, done);
	if (subject->read_all) {
		done->fits = work.fits;
		work.fits = NULL;
	}
	if (done->back || work.used) {
		done->up = work.up;
		work.up = NULL;
	}
	done->milliseconds = work.first_trap > 0 ? clock_ms() - work.first_trap : 0;
out:
	free_work(&work);
	return any;
}

double returns_exclude_gone(struct returns *returns, const struct view *view,
			    double before, uint8_t *up)
{
	double begun = time_of_begin(returns), first = 0;

	for (uint32_t i = 0; is_fit(returns, view) && i < view->plan->topology->num_ports;
	     i++) {
		double gone = returns->history[i].gone;

		if (gone <= 0 || gone < begun || !up[i])
			continue;
		if (gone <= before)
			up[i] = 0;
		else if (first <= 0 || gone < first)
			first = gone;
	}
	return first;
}

void returns_follow(struct returns *returns, const struct returns_subject *subject,
		    struct returned *done)
{
	struct work work = {.returns = returns,
			    .on = subject,
			    .plan = subject->view->plan,
			    .topology = subject->view->plan->topology,
			    .result = done};

	*done = (struct returned){.number = 0};
	if (returns->any_written && !fit(returns, subject->view) && !make_work(&work)) {
		find_paths(&work, work.up);
		returns_rewrite(&work);
		note_counts(&work, done);
	}
	free_work(&work);
}
