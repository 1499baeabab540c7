/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Follows loops and cycles in mixtures of tables. For a LID each switch leads to at most
 * one other. So a changed entry ends the loop through its switch, if there is one, and
 * may close another loop through it.
 *
 * Dependencies are counted by LIDs. A LID uses a switch that has hosts, and a switch to
 * which a used switch leads. uses[] counts these reasons, so that a change is followed
 * only as far as switches begin or cease to be used. In a loop each switch would be a
 * reason for the next one, so LIDs with a loop are counted anew.
 */
#include "depend.h"

#include <portmajor/lab/mixture.h>
#include <portmajor/memory/xalloc.h>

#define BLOCK PM_LFT_BLOCK

struct follower {
	const struct pm_fabric *fabric;
	const struct pm_lft_trace *trace;
	struct pm_mixture *found;
	struct pm_pool pool;
	struct depend depend;
	uint8_t *usable; /* [port] */
	uint8_t *tables; /* [switch][length] */
	uint32_t length;
	uint32_t *port_of; /* [LID] its host's port at the switch, or PM_NONE */
	uint32_t *index;   /* [LID] in uses, or PM_NONE */
	uint16_t *uses;	   /* [index][switch] */
	uint32_t *hosts;   /* [switch] number of usable hosts */
	uint32_t *loops;   /* [LID] its present loops */
	uint8_t *state;	   /* [switch] room */
	uint32_t *path;	   /* [switch] room */
	struct pm_lft_trace_arrival *arrivals;
	uint32_t now;	   /* the present Set, or what mixture.h has instead */
	uint32_t num_back; /* links that have returned */
	uint32_t num_loops, num_cycles; /* present ones */
	uint64_t last;			/* time of the last step, since the failure */
};

/* ---- Paths ---- */

/* The port by which packets for a LID leave a switch to another switch, or PM_NONE. */
static uint32_t exit_of(const struct follower *f, uint32_t lid, uint32_t sw)
{
	const struct pm_node *n = &f->fabric->nodes[sw];
	uint8_t out = f->tables[(size_t)sw * f->length + lid];
	uint32_t port = n->first_port + out, remote;

	if (!out || out > n->num_ports || !f->usable[port])
		return PM_NONE;
	remote = pm_fabric_peer_node(f->fabric, port);
	return remote < f->fabric->num_switches ? port : PM_NONE;
}

static uint32_t next_of(const struct follower *f, uint32_t lid, uint32_t sw)
{
	uint32_t port = exit_of(f, lid, sw);

	return port == PM_NONE ? PM_NONE : pm_fabric_peer_node(f->fabric, port);
}

/* ---- Loops and cycles ---- */

/* Adds a loop or cycle that the present Set makes; returns its index. */
static uint32_t add_ring(struct follower *f, struct pm_mixture_rings *rings, uint32_t lid,
			 const uint32_t *at, uint32_t length)
{
	struct pm_mixture *found = f->found;

	pm_xgrow(&rings->list, &rings->room, rings->num + 1, sizeof(*rings->list));
	pm_xgrow(&found->at, &found->room_at, found->num_at + length, sizeof(*found->at));
	rings->list[rings->num] = (struct pm_mixture_ring){
		.made = f->now,
		.removed = PM_MIXTURE_NOTHING,
		.lid = lid,
		.length = length,
		.first = found->num_at,
	};
	memcpy(found->at + found->num_at, at, length * sizeof(*at));
	found->num_at += length;
	return rings->num++;
}

/* ---- Loops ---- */

static void begin_loop(struct follower *f, uint32_t lid, uint32_t sw)
{
	uint32_t length = 0;

	do {
		f->path[length++] = sw;
		sw = next_of(f, lid, sw);
	} while (sw != f->path[0]);
	add_ring(f, &f->found->loops, lid, f->path, length);
	f->loops[lid]++;
	f->num_loops++;
}

static void end_loop(struct follower *f, struct pm_mixture_ring *loop)
{
	loop->removed = f->now;
	f->loops[loop->lid]--;
	f->num_loops--;
}

/* Ends the LID's loop through a switch. */
static void end_loop_at(struct follower *f, uint32_t lid, uint32_t sw)
{
	struct pm_mixture_rings *loops = &f->found->loops;

	for (uint32_t i = loops->num; i-- && f->loops[lid];) {
		struct pm_mixture_ring *loop = &loops->list[i];

		if (loop->lid != lid || loop->removed != PM_MIXTURE_NOTHING)
			continue;
		for (uint32_t k = 0; k < loop->length; k++)
			if (f->found->at[loop->first + k] == sw) {
				end_loop(f, loop);
				return;
			}
	}
}

/* Whether a switch's path returns to it. */
static bool comes_back(const struct follower *f, uint32_t lid, uint32_t sw)
{
	uint32_t at = next_of(f, lid, sw);

	for (uint32_t hops = 0; at != PM_NONE && at != sw; hops++) {
		if (hops == f->fabric->num_switches)
			return false; /* in another loop */
		at = next_of(f, lid, at);
	}
	return at == sw;
}

static void find_loops(struct follower *f, uint32_t lid)
{
	enum { UNKNOWN, ON_THE_PATH, KNOWN };

	memset(f->state, UNKNOWN, f->fabric->num_switches);
	for (uint32_t from = 0; from < f->fabric->num_switches; from++) {
		uint32_t sw = from;

		while (sw != PM_NONE && f->state[sw] == UNKNOWN) {
			f->state[sw] = ON_THE_PATH;
			sw = next_of(f, lid, sw);
		}
		if (sw != PM_NONE && f->state[sw] == ON_THE_PATH)
			begin_loop(f, lid, sw);
		for (sw = from; sw != PM_NONE && f->state[sw] == ON_THE_PATH;
		     sw = next_of(f, lid, sw))
			f->state[sw] = KNOWN;
	}
}

/* Ends the loops that lead over a failed link. */
static void cut_loops(struct follower *f)
{
	struct pm_mixture_rings *loops = &f->found->loops;

	for (uint32_t i = 0; i < loops->num; i++) {
		struct pm_mixture_ring *loop = &loops->list[i];

		for (uint32_t k = 0;
		     k < loop->length && loop->removed == PM_MIXTURE_NOTHING; k++)
			if (next_of(f, loop->lid, f->found->at[loop->first + k]) ==
			    PM_NONE)
				end_loop(f, loop);
	}
}

/* ---- Dependencies ---- */

static uint16_t *uses_of(const struct follower *f, uint32_t lid)
{
	return f->uses + (size_t)f->index[lid] * f->fabric->num_switches;
}

/* Adds or removes the dependency of packets that come by a channel (PM_NONE: none). */
static void depend_on_next(struct follower *f, uint32_t lid, uint32_t channel, bool more)
{
	uint32_t next;

	if (channel == PM_NONE)
		return;
	next = exit_of(f, lid, pm_fabric_peer_node(f->fabric, channel));
	if (next != PM_NONE)
		depend_add(&f->depend, channel, next, more);
}

/* Adds a reason for a LID's packets to come to a switch, or removes one. */
static void use(struct follower *f, uint32_t lid, uint32_t sw, bool more)
{
	uint16_t *uses = uses_of(f, lid);

	while (sw != PM_NONE) {
		uses[sw] = (uint16_t)(more ? uses[sw] + 1 : uses[sw] - 1);
		if (uses[sw] != (more ? 1 : 0))
			return;
		depend_on_next(f, lid, exit_of(f, lid, sw), more);
		sw = next_of(f, lid, sw);
	}
}

/* Removes all that is counted for a LID. */
static void use_nothing(struct follower *f, uint32_t lid)
{
	uint16_t *uses = uses_of(f, lid);

	for (uint32_t sw = 0; sw < f->fabric->num_switches; sw++)
		if (uses[sw])
			depend_on_next(f, lid, exit_of(f, lid, sw), false);
	memset(uses, 0, f->fabric->num_switches * sizeof(*uses));
}

/* Counts a LID's packets, if its host is usable. */
static void use_all(struct follower *f, uint32_t lid)
{
	if (!f->usable[f->port_of[lid]])
		return;
	for (uint32_t sw = 0; sw < f->fabric->num_switches; sw++)
		if (f->hosts[sw])
			use(f, lid, sw, true);
}

/* Adds the dependencies of packets that an entry forwards, or removes them. */
static void use_entry(struct follower *f, uint32_t lid, uint32_t sw, bool more)
{
	const uint16_t *uses = uses_of(f, lid);
	uint32_t out = exit_of(f, lid, sw);

	if (out == PM_NONE)
		return;
	pm_for_each_port(port, f->fabric, sw) {
		uint32_t remote = pm_fabric_peer_node(f->fabric, port);

		if (remote < f->fabric->num_switches && uses[remote] &&
		    exit_of(f, lid, remote) == f->fabric->ports[port].peer)
			depend_add(&f->depend, f->fabric->ports[port].peer, out, more);
	}
	depend_on_next(f, lid, out, more);
	use(f, lid, pm_fabric_peer_node(f->fabric, out), more);
}

/* ---- Sets ---- */

static void change_entry(struct follower *f, uint32_t lid, uint32_t sw, uint8_t *entry,
			 uint8_t value)
{
	bool counted = f->index[lid] != PM_NONE, anew = counted && f->loops[lid];
	bool used = counted && !anew && uses_of(f, lid)[sw];

	if (anew)
		use_nothing(f, lid);
	if (used)
		use_entry(f, lid, sw, false);
	end_loop_at(f, lid, sw);
	*entry = value;
	if (comes_back(f, lid, sw))
		begin_loop(f, lid, sw);
	if (anew)
		use_all(f, lid);
	if (used)
		use_entry(f, lid, sw, true);
}

static void write_block(struct follower *f, uint32_t index)
{
	const struct pm_lft_trace_set *set = &f->trace->set[index];
	const uint8_t *entries = f->trace->entries + (size_t)index * BLOCK;
	uint32_t first = set->block * BLOCK;
	uint8_t *table = f->tables + (size_t)set->sw * f->length + first;

	f->now = index;
	for (uint32_t i = 0; i < BLOCK; i++)
		if (table[i] != entries[i] && first + i)
			change_entry(f, first + i, set->sw, &table[i], entries[i]);
}

static void end_cycle(void *context, uint32_t ring)
{
	struct follower *f = context;

	f->found->cycles.list[ring].removed = f->now;
	f->num_cycles--;
}

static void settle_tables(struct follower *f)
{
	struct depend *d = &f->depend;

	depend_settle(d, end_cycle, f);
	for (uint32_t i = 0; i < d->num_closing; i++) {
		struct closing *closing = &d->closing[i];

		if (closing->ring != PM_NONE)
			continue;
		closing->ring = add_ring(f, &f->found->cycles, 0, closing->cycle,
					 closing->length);
		f->num_cycles++;
	}
}

static void note_most(struct pm_mixture_rings *rings, uint32_t num, uint64_t ns)
{
	if (num > rings->most)
		rings->most = num;
	rings->ns += num ? ns : 0;
}

/* Sets the time of the next step. */
static void step_to(struct follower *f, uint64_t ns)
{
	uint64_t now = pm_lft_trace_since(f->trace, ns);

	if (now > f->last) {
		note_most(&f->found->loops, f->num_loops, now - f->last);
		note_most(&f->found->cycles, f->num_cycles, now - f->last);
	}
	f->last = now;
}

/* ---- The failure and the return of links ---- */

static void count_hosts(struct follower *f)
{
	uint32_t last = PM_NONE;

	memset(f->hosts, 0, f->fabric->num_switches * sizeof(*f->hosts));
	for (uint32_t lid = 0; lid < f->length; lid++) {
		uint32_t port = f->port_of[lid];

		if (port != PM_NONE && port != last && f->usable[port])
			f->hosts[f->fabric->ports[port].node]++;
		last = port;
	}
}

static void use_no_lid(struct follower *f)
{
	for (uint32_t lid = 0; lid < f->length; lid++)
		if (f->index[lid] != PM_NONE)
			use_nothing(f, lid);
}

static void use_each_lid(struct follower *f)
{
	count_hosts(f);
	for (uint32_t lid = 0; lid < f->length; lid++)
		if (f->index[lid] != PM_NONE)
			use_all(f, lid);
}

static void fail(struct follower *f)
{
	f->now = PM_MIXTURE_FAILURE;
	use_no_lid(f);
	for (uint32_t i = 0; i < f->trace->num_failed; i++) {
		uint32_t port = f->trace->failed[i];

		f->usable[port] = f->usable[f->fabric->ports[port].peer] = 0;
	}
	for (uint32_t i = 0; i < f->trace->num_reset; i++)
		memset(f->tables + (size_t)f->trace->reset[i] * f->length, PM_LFT_KEEP,
		       f->length);
	cut_loops(f);
	use_each_lid(f);
	settle_tables(f);
}

/* Finds the loops over a link that carries packets again, each by one of its ends. */
static void close_loops(struct follower *f, uint32_t port)
{
	const struct pm_port *ports = f->fabric->ports;
	const uint32_t ends[] = {port, ports[port].peer};

	for (uint32_t lid = 1; lid < f->length; lid++)
		for (uint32_t i = 0; i < 2; i++) {
			uint32_t sw = ports[ends[i]].node;

			if (sw < f->fabric->num_switches &&
			    exit_of(f, lid, sw) == ends[i] && comes_back(f, lid, sw)) {
				begin_loop(f, lid, sw);
				break;
			}
		}
}

/* Links that carry packets again by then are usable. */
static void bring_back(struct follower *f, uint64_t until)
{
	const struct pm_lft_trace *trace = f->trace;

	for (; f->num_back < trace->num_active && trace->active[f->num_back].ns <= until;
	     f->num_back++) {
		const struct pm_lft_trace_return *link = &trace->active[f->num_back];

		step_to(f, link->ns);
		f->now = trace->num + f->num_back;
		use_no_lid(f);
		f->usable[link->port] = f->usable[f->fabric->ports[link->port].peer] = 1;
		close_loops(f, link->port);
		use_each_lid(f);
		settle_tables(f);
	}
}

/* ---- The whole trace ---- */

/* Writes blocks from the i-th on, up to a time. */
static void write_blocks(struct follower *f, uint32_t *i, uint32_t num, uint64_t until)
{
	for (; *i < num && f->arrivals[*i].ns < until; (*i)++) {
		bring_back(f, f->arrivals[*i].ns);
		step_to(f, f->arrivals[*i].ns);
		write_block(f, f->arrivals[*i].set);
		settle_tables(f);
	}
}

/* Lists the LIDs of end ports that have a link to a switch; returns their number. */
static uint32_t list_end_lids(struct follower *f)
{
	const struct pm_fabric *fabric = f->fabric;
	uint32_t num = 0;

	for (uint32_t lid = 0; lid < f->length; lid++)
		f->port_of[lid] = f->index[lid] = PM_NONE;
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer;

		if (fabric->ports[i].node < fabric->num_switches || !f->trace->lid[i] ||
		    peer == PM_NONE || fabric->ports[peer].node >= fabric->num_switches)
			continue;
		for (uint32_t k = 0; k < 1u << f->trace->lmc[i]; k++) {
			f->port_of[f->trace->lid[i] + k] = peer;
			f->index[f->trace->lid[i] + k] = num++;
		}
	}
	return num;
}

static void begin_mixtures(struct follower *f)
{
	const struct pm_fabric *fabric = f->fabric;
	struct pm_pool *pool = &f->pool;
	uint32_t num = fabric->num_switches;

	f->length = f->trace->length;
	f->usable = pm_pool_xarray(pool, fabric->num_ports, 1);
	f->tables = pm_pool_xcopy(pool, f->trace->tables, num, f->length);
	f->port_of = pm_pool_xarray(pool, f->length, sizeof(uint32_t));
	f->index = pm_pool_xarray(pool, f->length, sizeof(uint32_t));
	f->loops = pm_pool_xarray(pool, f->length, sizeof(uint32_t));
	f->hosts = pm_pool_xarray(pool, num, sizeof(uint32_t));
	f->state = pm_pool_xarray(pool, num, 1);
	f->path = pm_pool_xarray(pool, num, sizeof(uint32_t));
	f->arrivals = pm_pool_xarray(pool, f->trace->num, sizeof(*f->arrivals));
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		f->usable[i] = fabric->ports[i].peer != PM_NONE;
	f->uses = pm_pool_xarray(pool, (size_t)list_end_lids(f) * num, sizeof(*f->uses));
	depend_begin(&f->depend, fabric);
}

/* Finds the faults before the first Set. */
static void look_first(struct follower *f)
{
	f->now = PM_MIXTURE_FIRST;
	count_hosts(f);
	for (uint32_t lid = 1; lid < f->length; lid++) {
		find_loops(f, lid);
		if (f->index[lid] != PM_NONE)
			use_all(f, lid);
	}
	settle_tables(f);
}

/* Drops faults that began and ended at the same time. */
static void drop_momentary(const struct follower *f, struct pm_mixture_rings *rings)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < rings->num; i++) {
		const struct pm_mixture_ring *ring = &rings->list[i];
		bool is_set = ring->made < f->trace->num && ring->removed < f->trace->num;

		if (!is_set || f->trace->set[ring->made].arrived !=
				       f->trace->set[ring->removed].arrived)
			rings->list[kept++] = *ring;
	}
	rings->num = kept;
}

static void follow_mixtures(struct follower *f)
{
	uint32_t num = pm_lft_trace_arrivals(f->trace, f->arrivals), i = 0;

	look_first(f);
	write_blocks(f, &i, num, f->trace->failed_at);
	fail(f);
	write_blocks(f, &i, num, PM_LFT_TRACE_NEVER);
	bring_back(f, PM_LFT_TRACE_NEVER);
	note_most(&f->found->loops, f->num_loops, 0);
	note_most(&f->found->cycles, f->num_cycles, 0);
	drop_momentary(f, &f->found->loops);
	drop_momentary(f, &f->found->cycles);
}

void pm_mixture_follow(const struct pm_fabric *fabric, const struct pm_lft_trace *trace,
		       struct pm_mixture *mixture)
{
	struct follower f = {.fabric = fabric, .trace = trace, .found = mixture};

	*mixture = (struct pm_mixture){0};
	begin_mixtures(&f);
	follow_mixtures(&f);
	depend_free(&f.depend);
	pm_pool_free(&f.pool);
}

void pm_mixture_free(struct pm_mixture *mixture)
{
	free(mixture->loops.list);
	free(mixture->cycles.list);
	free(mixture->at);
}
