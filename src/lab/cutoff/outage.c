/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds how many pairs of hosts a trace of LFT Sets leaves cut off, over time. */
#include <portmajor/base/pool.h>
#include <portmajor/lab/cutoff.h>
#include <portmajor/lab/outage.h>
#include <portmajor/memory/xalloc.h>

#include <stdlib.h>
#include <string.h>

struct follower {
	const struct pm_fabric *fabric;
	const struct pm_lft_trace *trace;
	struct pm_pool pool;
	uint8_t *usable;  /* [port] */
	uint8_t *counted; /* [port] hosts there count: its link is usable, or returns */
	struct pm_cutoff_lid *lids;
	uint32_t num_lids;
	struct pm_lft_trace_arrival *arrivals;
	uint32_t num_arrivals, num_back; /* blocks, and links that have returned */
	struct pm_cutoff *cutoff;
	uint64_t looping,
		loops_at; /* paths in loops, from this time after the failure on */
	struct pm_outage found;
};

/* Lists the LIDs of end ports with a link to a switch. */
static void list_end_lids(struct follower *f)
{
	const struct pm_fabric *fabric = f->fabric;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer;

		if (fabric->ports[i].node < fabric->num_switches || !f->trace->lid[i] ||
		    peer == PM_NONE || fabric->ports[peer].node >= fabric->num_switches)
			continue;
		for (uint32_t k = 0; k < 1u << f->trace->lmc[i]; k++)
			f->lids[f->num_lids++] = (struct pm_cutoff_lid){
				(uint16_t)(f->trace->lid[i] + k), peer};
	}
}

static void list_arrivals(struct follower *f)
{
	const struct pm_lft_trace *trace = f->trace;
	struct pm_outage *found = &f->found;

	for (uint32_t i = 0; i < trace->num; i++) {
		const struct pm_lft_trace_set *set = &trace->set[i];
		uint64_t end =
			set->acked != PM_LFT_TRACE_NEVER ? set->acked : set->arrived;

		found->unacknowledged += set->acked == PM_LFT_TRACE_NEVER;
		if (end != PM_LFT_TRACE_NEVER &&
		    pm_lft_trace_since(trace, end) > found->last)
			found->last = pm_lft_trace_since(trace, end);
	}
	if (trace->num)
		found->first = pm_lft_trace_since(trace, trace->set[0].sent);
	f->num_arrivals = pm_lft_trace_arrivals(trace, f->arrivals);
}

static void note_point(struct follower *f, uint64_t ns)
{
	struct pm_outage *found = &f->found;
	struct pm_outage_point point = {pm_lft_trace_since(f->trace, ns),
					pm_cutoff_dead(f->cutoff)};
	struct pm_outage_point *last = &found->curve[found->num_points - 1];

	if (point.dead == last->dead)
		return;
	if (point.ns != last->ns) {
		found->curve[found->num_points++] = point;
		return;
	}
	last->dead = point.dead;
	if (found->num_points > 1 && last[-1].dead == point.dead)
		found->num_points--;
}

/* From this time on, the number of paths in loops may differ. */
static void note_loops(struct follower *f, uint64_t ns)
{
	struct pm_outage *found = &f->found;
	uint64_t now = pm_lft_trace_since(f->trace, ns);

	if (now > f->loops_at || ns == PM_LFT_TRACE_NEVER) {
		if (f->looping > found->loops_most)
			found->loops_most = f->looping;
		if (ns != PM_LFT_TRACE_NEVER)
			found->loop_seconds +=
				(double)f->looping * 1e-9 * (double)(now - f->loops_at);
	}
	f->loops_at = now;
	f->looping = pm_cutoff_looping(f->cutoff);
}

/* Links that carry packets again by then are usable. */
static void bring_back(struct follower *f, uint64_t until)
{
	const struct pm_lft_trace *trace = f->trace;

	for (; f->num_back < trace->num_active && trace->active[f->num_back].ns <= until;
	     f->num_back++) {
		const struct pm_lft_trace_return *link = &trace->active[f->num_back];

		f->usable[link->port] = f->usable[f->fabric->ports[link->port].peer] = 1;
		pm_cutoff_links(f->cutoff, f->usable, f->counted);
		note_point(f, link->ns);
		note_loops(f, link->ns);
	}
}

/* Empties the tables of switches that were reset. */
static void reset_tables(struct follower *f)
{
	uint8_t empty[PM_LFT_BLOCK];

	memset(empty, PM_LFT_KEEP, sizeof(empty));
	for (uint32_t i = 0; i < f->trace->num_reset; i++)
		for (uint32_t b = 0; b < f->trace->length / PM_LFT_BLOCK; b++)
			pm_cutoff_set(f->cutoff, f->trace->reset[i], b, empty);
}

/* Writes blocks from the i-th on, up to a time: those before, or after, the failure. */
static uint32_t write_blocks(struct follower *f, uint32_t i, uint64_t until)
{
	for (; i < f->num_arrivals && f->arrivals[i].ns < until; i++) {
		uint32_t set = f->arrivals[i].set;

		bring_back(f, f->arrivals[i].ns);
		f->found.differ += pm_cutoff_set(f->cutoff, f->trace->set[set].sw,
						 f->trace->set[set].block,
						 f->trace->entries +
							 (size_t)set * PM_LFT_BLOCK) != 0;
		if (!f->found.num_points)
			continue;
		note_point(f, f->arrivals[i].ns);
		note_loops(f, f->arrivals[i].ns);
	}
	return i;
}

static void follow_sets(struct follower *f)
{
	struct pm_outage *found = &f->found;
	uint32_t i = write_blocks(f, 0, f->trace->failed_at);

	found->before = pm_cutoff_dead(f->cutoff);
	found->all_before = pm_cutoff_paths(f->cutoff);
	for (uint32_t k = 0; k < f->trace->num_failed; k++) {
		uint32_t port = f->trace->failed[k];

		f->usable[port] = f->usable[f->fabric->ports[port].peer] = 0;
	}
	memcpy(f->counted, f->usable, f->fabric->num_ports);
	for (uint32_t k = 0; k < f->trace->num_active; k++) {
		uint32_t port = f->trace->active[k].port;

		f->counted[port] = f->counted[f->fabric->ports[port].peer] = 1;
	}
	reset_tables(f);
	pm_cutoff_links(f->cutoff, f->usable, f->counted);
	found->paths = pm_cutoff_paths(f->cutoff);
	found->hosts = pm_cutoff_hosts(f->cutoff);
	found->pairs = found->hosts ? found->hosts * (found->hosts - 1) : 0;
	found->at_once = pm_cutoff_dead(f->cutoff);
	found->curve[found->num_points++] = (struct pm_outage_point){0, found->at_once};
	found->loops_at_once = f->looping = pm_cutoff_looping(f->cutoff);
	write_blocks(f, i, PM_LFT_TRACE_NEVER);
	bring_back(f, PM_LFT_TRACE_NEVER);
	note_loops(f, PM_LFT_TRACE_NEVER);
	found->loops_end = f->looping;
	found->end = pm_cutoff_dead(f->cutoff);
}

/* From when on at most `rest` of the paths that come back are still dead. */
static uint64_t find_back(const struct pm_outage *found, uint64_t rest)
{
	uint32_t i = found->num_points;

	while (i && found->curve[i - 1].dead <= found->end + rest)
		i--;
	return i < found->num_points ? found->curve[i].ns : 0;
}

static void sum_up(struct pm_outage *found)
{
	uint64_t back = found->at_once > found->end ? found->at_once - found->end : 0;

	for (uint32_t i = 0; i + 1 < found->num_points; i++)
		found->path_seconds +=
			((double)found->curve[i].dead - (double)found->end) * 1e-9 *
			(double)(found->curve[i + 1].ns - found->curve[i].ns);
	found->back[PM_OUTAGE_HALF] = find_back(found, back / 2);
	found->back[PM_OUTAGE_MOST] = find_back(found, back / 100);
	found->back[PM_OUTAGE_ALL] = find_back(found, 0);
}

static void begin_outage(struct follower *f)
{
	const struct pm_fabric *fabric = f->fabric;
	struct pm_pool *pool = &f->pool;

	f->usable = pm_pool_xarray(pool, fabric->num_ports, 1);
	f->counted = pm_pool_xarray(pool, fabric->num_ports, 1);
	f->lids = pm_pool_xarray(pool, PM_MAX_LID + 1, sizeof(*f->lids));
	f->arrivals = pm_pool_xarray(pool, f->trace->num, sizeof(*f->arrivals));
	f->found.curve = pm_xarray((size_t)f->trace->num + f->trace->num_active + 1,
				   sizeof(*f->found.curve));
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		f->usable[i] = fabric->ports[i].peer != PM_NONE;
	list_end_lids(f);
	list_arrivals(f);
	f->cutoff = pm_cutoff_new(fabric, f->usable, f->trace->tables, f->trace->length,
				  f->lids, f->num_lids);
}

void pm_outage_follow(const struct pm_fabric *fabric, const struct pm_lft_trace *trace,
		      struct pm_outage *outage)
{
	struct follower f = {.fabric = fabric, .trace = trace};

	begin_outage(&f);
	follow_sets(&f);
	sum_up(&f.found);
	*outage = f.found;
	pm_cutoff_free(f.cutoff);
	pm_pool_free(&f.pool);
}
