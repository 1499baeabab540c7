/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends flits from nodes and switches. Each link out of a switch has a list of the VCs
 * with a flit for it in front. VCs that wait for flow control are not in the list; heads
 * that need a VC are. An input that has sent goes to the end of the list.
 */
#include "flit_parts.h"

#include <portmajor/base/random.h>

/* ---- Lists ---- */

static void append_vc(struct pm_flit *flit, uint32_t vc)
{
	struct vc *v = &flit->vcs[vc];
	struct link *link = &flit->links[v->want];

	v->after = PM_NONE;
	v->before = link->end;
	if (link->end == PM_NONE)
		link->head = vc;
	else
		flit->vcs[link->end].after = vc;
	link->end = vc;
}

static void take_out_vc(struct pm_flit *flit, uint32_t vc)
{
	const struct vc *v = &flit->vcs[vc];
	struct link *link = &flit->links[v->want];

	if (v->before == PM_NONE)
		link->head = v->after;
	else
		flit->vcs[v->before].after = v->after;
	if (v->after == PM_NONE)
		link->end = v->before;
	else
		flit->vcs[v->after].before = v->before;
}

void flit_list_vc(struct pm_flit *flit, uint32_t vc)
{
	append_vc(flit, vc);
	flit->vcs[vc].listed = true;
	flit->num_listed[flit->net->links[flit->vcs[vc].want].from]++;
}

void flit_unlist_vc(struct pm_flit *flit, uint32_t vc)
{
	take_out_vc(flit, vc);
	flit->vcs[vc].listed = false;
	flit->num_listed[flit->net->links[flit->vcs[vc].want].from]--;
}

/* The link that leads from a switch to a node. */
static uint32_t find_next_hop(struct pm_flit *flit, uint32_t sw, uint32_t node)
{
	const struct pm_flit_net *net = flit->net;
	uint32_t first = net->first_link[sw];
	uint32_t next_hop = net->next_hop[(size_t)sw * net->num_nodes + node];

	if (next_hop == PM_FLIT_UP)
		next_hop = net->up[sw] +
			   (uint32_t)pm_random_below(&flit->random,
						     net->first_link[sw + 1] - first -
							     net->up[sw]);
	return first + next_hop;
}

/*
 * Whether the packet in front of a VC has to take an upper VC of the link that it wants.
 * It stays in one half of the VCs to the end of a row.
 */
static bool takes_upper(struct pm_flit *flit, uint32_t vc, uint32_t node)
{
	const struct pm_flit_link *links = flit->net->links;
	uint32_t from = vc >> flit->vc_shift, to = flit->vcs[vc].want;
	uint8_t row = links[to].dimension;

	if (row == PM_FLIT_NO_DIMENSION)
		return false;
	if (links[from].dimension == row)
		return flit_number(flit, vc) >= flit->config.vcs / 2;
	while (links[to].dimension == row && !links[to].wrap)
		to = find_next_hop(flit, links[to].to, node);
	return links[to].dimension == row;
}

void flit_bring_forward(struct pm_flit *flit, uint32_t vc, uint32_t cycle)
{
	struct vc *v = &flit->vcs[vc];

	if (flit_has_stages(flit))
		flit_enter_stages(flit, vc, cycle);
	if (v->next_vc == PM_NONE) {
		uint32_t front = flit->flits[(size_t)vc * flit->config.buffer + v->first];
		const struct packet *packet = &flit->packets[front >> FLIT_SHIFT];

		v->want = find_next_hop(flit, flit->net->links[vc >> flit->vc_shift].to,
					packet->to);
		if (flit->config.rule == PM_FLIT_ROW)
			v->upper = takes_upper(flit, vc, packet->to);
	} else if (!flit_vc_open(flit, v->next_vc)) {
		return;
	}
	flit_list_vc(flit, vc);
}

/* ---- Flits ---- */

/* Reports the room that a flit has left in a buffer. */
static void log_room(struct pm_flit *flit, uint32_t vc)
{
	struct vc *v = &flit->vcs[vc];

	if (flit->config.flow == PM_FLIT_CREDIT) {
		flit_send_signal(flit, vc, false);
	} else if (v->sent_stop && v->fill <= flit->config.go) {
		v->sent_stop = false;
		flit_send_signal(flit, vc, false);
	}
}

/* Sends a flit into an open VC; it takes so many cycles. */
static void send_flit(struct pm_flit *flit, uint32_t vc, uint32_t what, uint32_t cycles)
{
	struct link *link = &flit->links[vc >> flit->vc_shift];
	uint32_t slot = (flit->now + cycles) % flit->cable_span;
	uint32_t i = flit->num_cables[slot]++;

	flit->cables[(size_t)slot * flit->net->num_links + i] = (struct moving){vc, what};
	link->sent++;
	if (flit->config.flow == PM_FLIT_CREDIT && !--flit->vcs[vc].credits)
		link->open &= ~flit_bit(flit, vc);
}

/* ---- Nodes and switches ---- */

/* Chooses, in turn, an open VC of a link that no packet has, among these; or PM_NONE. */
static uint32_t choose_vc(const struct pm_flit *flit, uint32_t index, uint64_t among)
{
	struct link *link = &flit->links[index];
	uint64_t later;
	uint32_t vc;

	among &= link->open & ~link->taken;
	if (!among)
		return PM_NONE;
	later = among & ~(uint64_t)0 << link->turn;
	vc = (uint32_t)__builtin_ctzll(later ? later : among);
	link->turn = (vc + 1) % PM_FLIT_MAX_VCS;
	return index << flit->vc_shift | vc;
}

static uint32_t take_packet(struct pm_flit *flit)
{
	uint32_t packet = flit->free_packets;

	flit->free_packets = flit->packets[packet].born;
	flit->num_free--;
	return packet;
}

void flit_send_of_node(struct pm_flit *flit, uint32_t node)
{
	struct source *source = &flit->sources[node];
	uint32_t link = flit->net->first_link[flit->net->num_switches + node];

	if (!source->left) {
		bool first = flit->config.rule == PM_FLIT_HOP ||
			     flit->config.rule == PM_FLIT_ONE;
		uint32_t vc;

		if (!flit_source_waits(flit, node))
			return;
		vc = choose_vc(flit, link, first ? 1 : flit->all_vcs);
		if (vc == PM_NONE)
			return;
		source->vc = vc;
		source->packet = take_packet(flit);
		flit->packets[source->packet] = flit_source_take(flit, node);
		source->left = flit->config.length;
	} else if (!flit_vc_open(flit, source->vc)) {
		return;
	}
	source->left--;
	flit->sent++;
	send_flit(flit, source->vc,
		  source->packet << FLIT_SHIFT | (source->left ? 0 : FLIT_TAIL),
		  flit->config.cable);
}

void flit_send_front(struct pm_flit *flit, uint32_t vc)
{
	uint32_t buffer = flit->config.buffer;
	struct vc *v = &flit->vcs[vc];
	uint32_t what = flit->flits[(size_t)vc * buffer + v->first];
	struct link *from = &flit->links[vc >> flit->vc_shift];
	uint32_t next = v->next_vc;

	if (from->read_at != flit->now)
		from->reads = 0;
	from->read_at = v->last_read = flit->now;
	from->reads++;
	if (++v->first == buffer)
		v->first = 0;
	v->fill--;
	v->ready--;
	log_room(flit, vc);
	send_flit(flit, next, what, flit->config.cable + flit->config.stages.crossing);
	if (flit->config.arbitration == PM_FLIT_BY_PACKET)
		flit->links[v->want].sending = what & FLIT_TAIL ? PM_NONE : vc;
	if (!flit_has_stages(flit) && !(what & FLIT_TAIL) && v->ready &&
	    flit_vc_open(flit, next)) {
		take_out_vc(flit, vc);
		append_vc(flit, vc);
		return;
	}
	flit_unlist_vc(flit, vc);
	if (what & FLIT_TAIL) {
		flit->links[v->want].taken &= ~flit_bit(flit, next);
		flit->vcs[next].owner = PM_NONE;
		v->next_vc = PM_NONE;
	}
	if (v->ready)
		flit_bring_forward(flit, vc, flit->now + 1);
}

/* Whether the front may leave now; a head takes its VC. */
static bool may_leave(struct pm_flit *flit, uint32_t vc)
{
	const struct link *from = &flit->links[vc >> flit->vc_shift];
	struct vc *v = &flit->vcs[vc];
	uint32_t next;

	if (from->read_at == flit->now &&
	    (from->reads >= flit->config.reads || v->last_read == flit->now))
		return false;
	if (v->next_vc != PM_NONE)
		return true;
	next = choose_vc(flit, v->want, flit_choice(flit, vc));
	if (next == PM_NONE)
		return false;
	v->next_vc = next;
	flit->vcs[next].owner = vc;
	flit->links[v->want].taken |= flit_bit(flit, next);
	return true;
}

static void send_by_link(struct pm_flit *flit, uint32_t index)
{
	uint32_t vc = flit->links[index].head, sending = flit->links[index].sending;

	if (sending != PM_NONE && flit->vcs[sending].listed && may_leave(flit, sending)) {
		flit_send_front(flit, sending);
		return;
	}
	while (vc != PM_NONE && !may_leave(flit, vc))
		vc = flit->vcs[vc].after;
	if (vc != PM_NONE)
		flit_send_front(flit, vc);
}

/* Goes through a switch's links; each cycle begins with another one. */
void flit_send_of_switch(struct pm_flit *flit, uint32_t sw)
{
	uint32_t first = flit->net->first_link[sw];
	uint32_t num = flit->net->first_link[sw + 1] - first;
	uint32_t turn = flit->now % num;

	for (uint32_t i = turn; i < num; i++)
		send_by_link(flit, first + i);
	for (uint32_t i = 0; i < turn; i++)
		send_by_link(flit, first + i);
}
