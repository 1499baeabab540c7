/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes the Sets of portmajor's early repair from its plan, tables and block order. */
#include <portmajor/base/pool.h>
#include <portmajor/lab/lft_trace.h>
#include <portmajor/memory/xalloc.h>
#include <portmajor/route/delta.h>
#include <portmajor/route/order.h>

#include <stdio.h>

#define BLOCK PM_LFT_BLOCK

struct job {
	const struct pm_fabric *fabric;
	const struct pm_lft_trace_config *config;
	const struct pm_plan *plan;
	struct pm_routes *routes;
	struct pm_detours detours;
	struct pm_lft_trace *trace;
	struct pm_pool pool;
	uint8_t *usable;	/* [port] of plan->topology */
	uint32_t *part, *queue; /* [switch] */
	struct pm_order_block *blocks;
	uint32_t num_blocks;
};

/* Lists LIDs; ports of the plan have the same indexes in the fabric. */
static void list_fabric_lids(struct job *job)
{
	const struct pm_plan *plan = job->plan;
	const struct pm_fabric *fabric = job->fabric;

	for (uint32_t i = 0; i < plan->topology->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer, port = i;

		if (plan->topology->ports[i].num) {
			if (peer == PM_NONE ||
			    fabric->ports[peer].node < fabric->num_switches)
				continue;
			port = peer;
			job->trace->lmc[port] = plan->lmc;
		}
		job->trace->lid[port] = plan->lid[i];
	}
}

/* Cuts the links at these ports, and records those with a switch at an end. */
static void fail(struct job *job, const uint32_t *ports, uint32_t num)
{
	const struct pm_fabric *fabric = job->fabric;
	struct pm_lft_trace *trace = job->trace;

	for (uint32_t i = 0; i < num; i++) {
		uint32_t port = ports[i], peer = fabric->ports[port].peer;
		uint32_t low = port < peer ? port : peer; /* a switch's is lower */

		if (peer == PM_NONE || low >= job->plan->topology->num_ports ||
		    !job->usable[low])
			continue;
		job->usable[low] = 0;
		if (port + peer - low < job->plan->topology->num_ports)
			job->usable[port + peer - low] = 0;
		trace->failed[trace->num_failed++] = low;
	}
}

/* The SM's component in part[]; PM_NONE: its link has failed. */
static uint32_t find_managed_part(struct job *job)
{
	const struct pm_fabric *topology = job->plan->topology;
	uint32_t sm = job->config->sm, best = 0, *hosts = job->queue;

	pm_reach_parts(topology, job->usable, job->part, job->queue);
	if (sm != PM_NONE) {
		if (job->fabric->ports[sm].node < topology->num_switches)
			return job->part[job->fabric->ports[sm].node];
		sm = job->fabric->ports[sm].peer;
		return job->usable[sm] ? job->part[topology->ports[sm].node] : PM_NONE;
	}
	memset(hosts, 0, topology->num_switches * sizeof(*hosts));
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		hosts[job->part[sw]] += pm_fabric_count_hosts(topology, sw, job->usable);
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		if (hosts[sw] > hosts[best])
			best = sw;
	return best;
}

static void list_blocks(struct job *job, uint32_t part)
{
	const struct pm_lft_trace *trace = job->trace;

	for (uint32_t sw = 0; sw < job->plan->topology->num_switches; sw++)
		for (uint32_t b = 0; b < trace->length / BLOCK && job->part[sw] == part;
		     b++)
			job->num_blocks += pm_order_compare(
				job->routes, sw, b,
				trace->tables + (size_t)sw * trace->length +
					(size_t)b * BLOCK,
				&job->blocks[job->num_blocks]);
}

/* Sends as many Sets at a time as the wire takes; each takes the same time. */
static void list_sets(struct job *job)
{
	struct pm_lft_trace *trace = job->trace;
	uint64_t mad_ns = job->config->mad_ns;

	trace->set = pm_xarray(job->num_blocks, sizeof(*trace->set));
	trace->entries = pm_xarray(job->num_blocks, BLOCK);
	for (uint32_t i = 0; i < job->num_blocks; i++) {
		const struct pm_order_block *block = &job->blocks[i];
		size_t at = (size_t)block->number * BLOCK;
		uint64_t sent = i / job->config->wire_smps * mad_ns;

		trace->set[i] = (struct pm_lft_trace_set){.sent = sent,
							  .arrived = sent + mad_ns,
							  .acked = sent + mad_ns,
							  .sw = block->sw,
							  .block = block->number};
		pm_delta_apply(trace->entries + (size_t)i * BLOCK,
			       trace->tables + (size_t)block->sw * trace->length + at,
			       pm_routes_table(job->routes, block->sw) + at, BLOCK);
	}
	trace->num = job->num_blocks;
	snprintf(trace->engine, PM_LFT_TRACE_TEXT, "portmajor, computed");
	snprintf(trace->times, PM_LFT_TRACE_TEXT,
		 "the failure is known at once; %g us a Set, %u at a time",
		 (double)mad_ns / 1000, job->config->wire_smps);
}

static void allocate_job(struct job *job, uint32_t num_ports)
{
	uint32_t switches = job->plan->topology->num_switches;
	uint32_t length = pm_routes_stride(job->routes);
	struct pm_lft_trace *trace = job->trace = pm_xarray(1, sizeof(*trace));
	struct pm_pool *pool = &job->pool;

	trace->length = length;
	trace->lid = pm_xarray(job->fabric->num_ports, sizeof(*trace->lid));
	trace->lmc = pm_xarray(job->fabric->num_ports, 1);
	trace->tables = pm_xarray(switches, length);
	trace->failed = pm_xarray(num_ports, sizeof(*trace->failed));
	job->usable = pm_pool_xarray(pool, job->plan->topology->num_ports, 1);
	job->part = pm_pool_xarray(pool, switches, sizeof(uint32_t));
	job->queue = pm_pool_xarray(pool, switches, sizeof(uint32_t));
	/* One more, as a comparison writes to the next element. */
	job->blocks = pm_pool_xarray(pool, (size_t)switches * (length / BLOCK) + 1,
				     sizeof(*job->blocks));
}

static void compute(struct job *job, const uint32_t *ports, uint32_t num_ports)
{
	struct pm_lft_trace *trace = job->trace;
	struct pm_order_waits waits;

	pm_plan_match(job->plan, job->fabric, job->usable);
	pm_routes_update(job->routes, job->usable, &job->detours);
	for (uint32_t sw = 0; sw < job->plan->topology->num_switches; sw++)
		memcpy(trace->tables + (size_t)sw * trace->length,
		       pm_routes_table(job->routes, sw), trace->length);
	list_fabric_lids(job);
	fail(job, ports, num_ports);
	pm_routes_update(job->routes, job->usable, &job->detours);
	list_blocks(job, find_managed_part(job));
	if (pm_order_sort(job->routes, job->usable, job->blocks, job->num_blocks, &waits))
		pm_no_memory();
	pm_order_free(&waits);
	list_sets(job);
}

struct pm_lft_trace *pm_lft_trace_compute(const struct pm_fabric *fabric,
					  const struct pm_plan *plan,
					  const struct pm_lft_trace_config *config,
					  const uint32_t *ports, uint32_t num_ports)
{
	struct job job = {
		.fabric = fabric,
		.plan = plan,
		.config = config,
		.detours = {.sm = config->sm == PM_NONE
					  ? PM_NONE
					  : pm_plan_place(plan, fabric, config->sm),
			    .switches = config->connect_roots},
	};

	if (pm_routes_make(plan, &job.routes, NULL))
		pm_no_memory();
	allocate_job(&job, num_ports);
	compute(&job, ports, num_ports);
	pm_pool_free(&job.pool);
	pm_routes_free(job.routes);
	return job.trace;
}
