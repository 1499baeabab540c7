/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs the network. In each cycle, flits and signals that were sent `cable` cycles ago
 * arrive, signals first; then nodes send, then switches.
 */
#include "flit_parts.h"

#include <portmajor/memory/xalloc.h>

#include <errno.h>

#define NOTHING_YET (UINT32_MAX / 2) /* a cycle that never comes */

/* ---- Flow control ---- */

static void take_signal(struct pm_flit *flit, uint32_t signal)
{
	uint32_t vc = signal >> 1, owner;
	struct vc *v = &flit->vcs[vc];
	struct link *link = &flit->links[vc >> flit->vc_shift];
	uint64_t bit = flit_bit(flit, vc);

	v->credits++;
	if (signal & 1) {
		link->open &= ~bit;
		if (v->owner != PM_NONE && flit->vcs[v->owner].listed)
			flit_unlist_vc(flit, v->owner);
		return;
	}
	if (link->open & bit)
		return;
	link->open |= bit;
	owner = v->owner;
	if (owner != PM_NONE && flit->vcs[owner].ready)
		flit_list_vc(flit, owner);
}

/* ---- Packets ---- */

/* Makes room so that each node can begin a packet. */
static void make_packet_room(struct pm_flit *flit)
{
	uint32_t old = flit->room_packets;

	if (flit->num_free >= flit->net->num_nodes)
		return;
	if (old > (UINT32_MAX >> FLIT_SHIFT) - flit->net->num_nodes)
		pm_no_memory();
	pm_xgrow(&flit->packets, &flit->room_packets, old + flit->net->num_nodes,
		 sizeof(*flit->packets));
	for (uint32_t i = flit->room_packets; i-- > old;) {
		flit->packets[i].born = flit->free_packets;
		flit->free_packets = i;
		flit->num_free++;
	}
}

static void free_packet(struct pm_flit *flit, uint32_t packet)
{
	flit->packets[packet].born = flit->free_packets;
	flit->free_packets = packet;
	flit->num_free++;
}

static uint32_t bin_of(uint32_t latency)
{
	uint32_t exponent = latency < 2048 ? 0 : 21 - (uint32_t)__builtin_clz(latency);

	return exponent * 1024 + (latency >> exponent);
}

/* The tail has arrived at its node. */
static void finish_packet(struct pm_flit *flit, uint32_t what)
{
	const struct packet *packet = &flit->packets[what >> FLIT_SHIFT];
	uint32_t latency = flit->now - packet->born;

	if (what & FLIT_DAMAGED) {
		flit->lost_packets++;
	} else {
		flit->packets_in++;
		flit->sources[packet->from].arrived++;
		flit->latency += latency;
		flit->histogram[bin_of(latency)]++;
		if (latency > flit->longest)
			flit->longest = latency;
	}
	free_packet(flit, what >> FLIT_SHIFT);
}

/* ---- Arriving ---- */

static void lose_flit(struct pm_flit *flit, struct vc *v, uint32_t what)
{
	flit->lost++;
	flit->lost_flits++;
	v->throwing = !(what & FLIT_TAIL);
	if (v->throwing)
		return;
	if (v->unseen) {
		flit->lost_packets++;
		free_packet(flit, what >> FLIT_SHIFT);
	}
	v->unseen = false;
}

/* The buffer is full: ends the packet's part in it. */
static void begin_loss(struct pm_flit *flit, uint32_t vc, uint32_t what)
{
	struct vc *v = &flit->vcs[vc];
	uint32_t last = (v->first + v->fill - 1) % flit->config.buffer;

	v->unseen = !v->within;
	if (v->within)
		flit->flits[(size_t)vc * flit->config.buffer + last] |=
			FLIT_TAIL | FLIT_DAMAGED;
	v->within = false;
	lose_flit(flit, v, what);
}

static void pass_switch(struct pm_flit *flit, uint32_t vc)
{
	if (++flit->vcs[vc].ready == 1)
		flit_bring_forward(flit, vc, flit->now);
}

static void arrive_at_switch(struct pm_flit *flit, uint32_t vc, uint32_t what)
{
	const struct pm_flit_config *config = &flit->config;
	struct vc *v = &flit->vcs[vc];
	uint32_t last = v->first + v->fill;

	if (v->throwing) {
		lose_flit(flit, v, what);
		return;
	}
	if (v->fill == config->buffer) {
		begin_loss(flit, vc, what);
		return;
	}
	if (last >= config->buffer)
		last -= config->buffer;
	flit->flits[(size_t)vc * config->buffer + last] = what;
	v->within = !(what & FLIT_TAIL);
	if (++v->fill > flit->highest_fill)
		flit->highest_fill = v->fill;
	if (config->flow == PM_FLIT_SLACK && v->fill >= config->stop && !v->sent_stop) {
		v->sent_stop = true;
		flit_send_signal(flit, vc, true);
	}
	if (config->delay) {
		uint32_t slot = flit->now % config->delay;
		uint32_t i = flit->num_passing[slot]++;

		flit->passing[(size_t)slot * flit->net->num_links + i] = vc;
	} else {
		pass_switch(flit, vc);
	}
}

static void arrive(struct pm_flit *flit, struct moving moving)
{
	uint32_t to = flit->net->links[moving.vc >> flit->vc_shift].to;

	if (to < flit->net->num_switches) {
		arrive_at_switch(flit, moving.vc, moving.flit);
		return;
	}
	flit->arrived++;
	flit->flits_in++;
	if (flit->config.flow == PM_FLIT_CREDIT)
		flit_send_signal(flit, moving.vc, false);
	if (moving.flit & FLIT_TAIL)
		finish_packet(flit, moving.flit);
}

static void take_signals(struct pm_flit *flit)
{
	uint32_t slot = flit->now % flit->signal_span, num = flit->num_signals[slot];
	const uint32_t *signals = flit->signals + slot * (size_t)2 * flit->net->num_links;

	flit->num_signals[slot] = 0;
	for (uint32_t i = 0; i < num; i++)
		take_signal(flit, signals[i]);
}

static void pass_switches(struct pm_flit *flit)
{
	uint32_t slot = flit->now % flit->config.delay;
	const uint32_t *passing = flit->passing + (size_t)slot * flit->net->num_links;

	for (uint32_t i = 0; i < flit->num_passing[slot]; i++)
		pass_switch(flit, passing[i]);
	flit->num_passing[slot] = 0;
}

static void arrive_all(struct pm_flit *flit)
{
	uint32_t slot = flit->now % flit->cable_span, num = flit->num_cables[slot];
	const struct moving *moving = flit->cables + (size_t)slot * flit->net->num_links;

	take_signals(flit);
	if (flit->config.delay)
		pass_switches(flit);
	for (uint32_t i = 0; i < num; i++)
		arrive(flit, moving[i]);
	flit->num_cables[slot] = 0;
}

static void do_cycle(struct pm_flit *flit)
{
	void (*send)(struct pm_flit *, uint32_t) =
		flit_has_stages(flit) ? flit_send_by_stages : flit_send_of_switch;

	arrive_all(flit);
	for (uint32_t node = 0; node < flit->net->num_nodes; node++)
		flit_send_of_node(flit, node);
	for (uint32_t sw = 0; sw < flit->net->num_switches; sw++)
		if (flit->num_listed[sw])
			send(flit, sw);
	flit->now++;
}

void pm_flit_run(struct pm_flit *flit, uint32_t cycles)
{
	/* The signals of the last movement must have arrived before the next search. */
	uint32_t often =
		2 * (flit->cable_span + flit->signal_span + 2 * flit->config.delay) +
		1024;

	while (cycles-- && !flit->deadlock.cycle) {
		make_packet_room(flit);
		do_cycle(flit);
		if (flit->now % often == 0)
			flit_find_deadlock(flit);
	}
}

static int check_flow(const struct pm_flit_config *config, struct pm_error *err)
{
	if (config->flow == PM_FLIT_SLACK &&
	    (config->stop > config->buffer || config->go >= config->stop))
		return pm_error_set(
			err, -EINVAL,
			"GO (%u) is to be below STOP (%u), and STOP at most the buffer (%u)",
			config->go, config->stop, config->buffer);
	return 0;
}

static int check_rule(const struct pm_flit_net *net, const struct pm_flit_config *config,
		      struct pm_error *err)
{
	if (config->rule == PM_FLIT_HOP && config->vcs <= net->max_hops)
		return pm_error_set(err, -EINVAL,
				    "the rule hop needs %u VCs here, not %u",
				    net->max_hops + 1, config->vcs);
	if ((config->rule == PM_FLIT_DATELINE || config->rule == PM_FLIT_ROW) &&
	    (!net->torus || config->vcs < 2))
		return pm_error_set(err, -EINVAL,
				    "the rule %s is for a torus with 2 VCs and more",
				    config->rule == PM_FLIT_ROW ? "row" : "dateline");
	return 0;
}

static int check_pattern(const struct pm_flit_net *net,
			 const struct pm_flit_config *config, struct pm_error *err)
{
	if (config->pattern == PM_FLIT_SHIFT &&
	    (config->node < 1 || config->node >= net->num_nodes))
		return pm_error_set(err, -EINVAL, "a shift is by 1 to %u nodes, not %u",
				    net->num_nodes - 1, config->node);
	if (config->pattern == PM_FLIT_HOT_SPOT &&
	    (config->node >= net->num_nodes || config->share < 1 || config->share > 100))
		return pm_error_set(err, -EINVAL,
				    "a hot spot is a node from 0 to %u, with 1 to 100 "
				    "percent of the packets",
				    net->num_nodes - 1);
	if (config->pattern == PM_FLIT_PAIR &&
	    (config->node >= net->num_nodes || config->from >= net->num_nodes ||
	     config->node == config->from))
		return pm_error_set(err, -EINVAL,
				    "a pair is two nodes from 0 to %u that differ",
				    net->num_nodes - 1);
	return 0;
}

static int check_ranges(const struct pm_flit_config *config, struct pm_error *err)
{
	const struct pm_flit_stages *stages = &config->stages;
	const struct {
		const char *what;
		uint32_t value, low, high;
	} ranges[] = {
		{"cycles of a cable", config->cable, 1, PM_FLIT_MAX_CABLE},
		{"flits of a buffer", config->buffer, 1, PM_FLIT_MAX_BUFFER},
		{"VCs", config->vcs, 1, PM_FLIT_MAX_VCS},
		{"reads", config->reads, 1, UINT32_MAX},
		{"cycles of a switch", config->delay, 0, PM_FLIT_MAX_CABLE},
		{"flits of a packet", config->length, 1, PM_FLIT_MAX_LENGTH},
		{"load in millionths", config->load, PM_FLIT_MIN_LOAD, PM_FLIT_FULL_LOAD},
		{"cycles of routing", stages->routing, 0, PM_FLIT_MAX_STAGE},
		{"cycles of VC allocation", stages->vc, 0, PM_FLIT_MAX_STAGE},
		{"cycles of the crossbar's allocation", stages->crossbar, !!stages->vc,
		 PM_FLIT_MAX_STAGE},
		{"cycles in the crossbar", stages->crossing, 0, PM_FLIT_MAX_STAGE},
		{"cycles of credits", stages->credit, 0, PM_FLIT_MAX_STAGE},
		{"reads of a switch with stages", config->reads, 1,
		 stages->vc ? 1 : UINT32_MAX},
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (ranges[i].value < ranges[i].low || ranges[i].value > ranges[i].high)
			return pm_error_set(err, -EINVAL, "%s: %u is not from %u to %u",
					    ranges[i].what, ranges[i].value,
					    ranges[i].low, ranges[i].high);
	return 0;
}

static int check_config(const struct pm_flit_net *net,
			const struct pm_flit_config *config, struct pm_error *err)
{
	int rc = check_ranges(config, err);

	if (!rc && net->no_path.pairs)
		rc = pm_error_set(err, -EINVAL, "no path from \"%s\" to \"%s\"",
				  net->names[net->num_switches + net->no_path.from],
				  net->names[net->num_switches + net->no_path.to]);
	if (!rc)
		rc = check_flow(config, err);
	if (!rc)
		rc = check_rule(net, config, err);
	if (!rc)
		rc = check_pattern(net, config, err);
	if (!rc && config->stages.vc && config->arbitration == PM_FLIT_BY_PACKET)
		rc = pm_error_set(err, -EINVAL,
				  "arbitration by packet is of switches without stages");
	if (!rc && (uint64_t)net->num_links << flit_vc_shift(config->vcs) >= PM_NONE / 2)
		rc = pm_error_set(err, -EINVAL, "too many VCs of all links");
	return rc;
}

static void claim_memory(struct pm_flit *flit)
{
	const struct pm_flit_net *net = flit->net;
	const struct pm_flit_config *config = &flit->config;
	size_t vcs = (size_t)net->num_links << flit->vc_shift, links = net->num_links;
	struct pm_pool *pool = &flit->pool;

	flit->vcs = pm_pool_xarray(pool, vcs, sizeof(*flit->vcs));
	flit->links = pm_pool_xarray(pool, links, sizeof(*flit->links));
	flit->flits = pm_pool_xarray(pool, vcs * config->buffer, sizeof(uint32_t));
	flit->num_listed = pm_pool_xarray(pool, net->num_switches, sizeof(uint32_t));
	flit->sources = pm_pool_xarray(pool, net->num_nodes, sizeof(*flit->sources));
	flit->cables =
		pm_pool_xarray(pool, links * flit->cable_span, sizeof(*flit->cables));
	flit->num_cables = pm_pool_xarray(pool, flit->cable_span, sizeof(uint32_t));
	flit->signals =
		pm_pool_xarray(pool, 2 * links * flit->signal_span, sizeof(uint32_t));
	flit->num_signals = pm_pool_xarray(pool, flit->signal_span, sizeof(uint32_t));
	flit->passing = pm_pool_xarray(pool, links * config->delay, sizeof(uint32_t));
	flit->num_passing = pm_pool_xarray(pool, config->delay, sizeof(uint32_t));
	flit->histogram = pm_pool_xarray(pool, FLIT_BINS, sizeof(uint64_t));
	flit->moves = pm_pool_xarray(pool, vcs, 1);
	if (!flit_has_stages(flit))
		return;
	flit->stage_vcs = pm_pool_xarray(pool, vcs, sizeof(*flit->stage_vcs));
	flit->stage_links = pm_pool_xarray(pool, links, sizeof(*flit->stage_links));
	flit->asking = pm_pool_xarray(pool, vcs, sizeof(uint32_t));
}

static void begin_run(struct pm_flit *flit)
{
	const struct pm_flit_config *config = &flit->config;
	size_t vcs = (size_t)flit->net->num_links << flit->vc_shift;

	flit->all_vcs = ~(uint64_t)0 >> (64 - config->vcs);
	flit->interval =
		((uint64_t)config->length << 16) * PM_FLIT_FULL_LOAD / config->load;
	flit->random = config->seed;
	flit->free_packets = PM_NONE;
	for (size_t i = 0; i < vcs; i++) {
		flit->vcs[i].next_vc = flit->vcs[i].owner = PM_NONE;
		flit->vcs[i].last_read = NOTHING_YET;
		flit->vcs[i].credits = config->buffer;
	}
	for (uint32_t i = 0; i < flit->net->num_links; i++)
		flit->links[i] = (struct link){.open = flit->all_vcs,
					       .head = PM_NONE,
					       .end = PM_NONE,
					       .sending = PM_NONE,
					       .read_at = NOTHING_YET};
	for (uint32_t i = 0; flit_has_stages(flit) && i < flit->net->num_links; i++)
		flit->stage_links[i].offer = PM_NONE;
	for (uint32_t i = 0; i < flit->net->num_nodes; i++)
		flit_source_begin(flit, i);
}

int pm_flit_new(const struct pm_flit_net *net, const struct pm_flit_config *config,
		struct pm_flit **result, struct pm_error *err)
{
	int rc = check_config(net, config, err);
	struct pm_flit *flit;

	if (rc)
		return rc;
	flit = pm_xarray(1, sizeof(*flit));
	flit->net = net;
	flit->config = *config;
	flit->vc_shift = flit_vc_shift(config->vcs);
	flit->cable_span = config->cable + config->stages.crossing;
	flit->signal_span = config->cable + config->stages.credit;
	claim_memory(flit);
	begin_run(flit);
	*result = flit;
	return 0;
}

void pm_flit_free(struct pm_flit *flit)
{
	if (flit) {
		pm_pool_free(&flit->pool);
		free(flit->packets);
	}
	free(flit);
}
