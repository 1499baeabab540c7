/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Updates the flows on links after a failure. The flows for one LID form a tree: each
 * switch has one entry, so all flows that come to it go on together. flow[switch][lid] is
 * their number. When entries of a LID change,
 *
 *	before:  a ---> B ---> c ---> D ---> end       B and D have changed entries
 *	                |             |
 *	                '---> ...     '---> ...        after
 *
 * all flows to B leave B's old path as far as D. The flows that leave D's old path
 * include those from B. Flows that meet their first changed entry at B or D take the new
 * path from there: for D these are its flows less B's.
 */
#include <portmajor/analysis/flows.h>

#include <portmajor/base/alloc.h>
#include <portmajor/check/check.h>
#include <portmajor/fabric/link.h>

#include <errno.h>
#include <string.h>

/* A changed entry, and the flows that came to it before. */
struct changed {
	uint32_t sw;
	uint16_t lid, flow;
};

struct pm_flows {
	struct pm_pool pool; /* of all arrays but the notes */
	const struct pm_fabric *fabric;
	const struct pm_routes *routes;
	const struct pm_tree *tree;
	const uint8_t *const *base;
	uint32_t stride;
	uint32_t common; /* rate, as pm_link_common_rate */
	uint32_t *hosts; /* [switch] end ports */
	uint8_t *is_end; /* [lid] whether it is a present end port's */
	uint16_t *flow;	 /* [switch][stride] flows that come to it, or begin there */
	uint32_t *before, *load; /* [port] */
	uint32_t *order; /* ports of links between levels, by weighted load before */
	uint32_t num_order;

	/* records, and links with a changed load: */
	struct changed *changed;
	uint32_t *ends; /* ports */
	uint32_t *touched;
	uint8_t *is_touched; /* [port] */
	uint32_t num_changed, changed_room, num_ends, ends_room, num_touched;
};

/* ---- Following flows ---- */

static uint8_t entry_before(const struct pm_flows *flows, uint32_t sw, uint32_t lid)
{
	return flows->base[sw][lid];
}

static uint8_t entry_now(const struct pm_flows *flows, uint32_t sw, uint32_t lid)
{
	return pm_routes_table(flows->routes, sw)[lid];
}

/* The port of an entry that leads to a switch of the whole fabric, or PM_NONE. */
static uint32_t port_on(const struct pm_flows *flows, uint32_t sw, uint8_t entry)
{
	const struct pm_node *n = &flows->fabric->nodes[sw];
	uint32_t port = n->first_port + entry;

	return entry > 0 && entry <= n->num_ports && flows->tree->remote[port] != PM_NONE
		       ? port
		       : PM_NONE;
}

static void add_load(struct pm_flows *flows, uint32_t port, uint32_t more)
{
	if (!flows->is_touched[port]) {
		flows->is_touched[port] = 1;
		flows->touched[flows->num_touched++] = port;
	}
	flows->load[port] += more;
}

static uint16_t *flow_at(struct pm_flows *flows, uint32_t sw, uint32_t lid)
{
	return &flows->flow[(size_t)sw * flows->stride + lid];
}

/*
 * Paths are followed side by side: while one waits for an entry from memory, others go
 * on.
 */
#define WALKS 16

/* Flows on their path, now at a switch. */
struct walk {
	uint32_t sw, amount;
	uint16_t lid;
};

/*
 * Takes flows off one step of the old path, which ends at a changed entry. Returns
 * whether the path goes on.
 */
static bool leave(struct pm_flows *flows, const struct pm_fabric *broken,
		  struct walk *walk)
{
	uint32_t port =
		port_on(flows, walk->sw, entry_before(flows, walk->sw, walk->lid));
	uint16_t *flow;

	(void)broken; /* old paths are those in the whole fabric */
	if (port == PM_NONE)
		return false;
	add_load(flows, port, -walk->amount);
	walk->sw = flows->tree->remote[port];
	if (entry_now(flows, walk->sw, walk->lid) ==
	    entry_before(flows, walk->sw, walk->lid))
		return true;
	flow = flow_at(flows, walk->sw, walk->lid);
	*flow = (uint16_t)(*flow - walk->amount);
	return false;
}

/* Adds flows to one step of the present path; a negative number takes them off. */
static bool take_step(struct pm_flows *flows, const struct pm_fabric *broken,
		      struct walk *walk)
{
	uint32_t port = port_on(flows, walk->sw, entry_now(flows, walk->sw, walk->lid));

	if (port == PM_NONE || broken->ports[port].peer == PM_NONE)
		return false;
	add_load(flows, port, walk->amount);
	walk->sw = flows->tree->remote[port];
	return true;
}

typedef bool step_fn(struct pm_flows *flows, const struct pm_fabric *broken,
		     struct walk *walk);

static inline void follow_walks(struct pm_flows *flows, const struct pm_fabric *broken,
				struct walk *walks, uint32_t num, step_fn *step)
{
	for (uint32_t hops = 0; num && hops < broken->num_switches; hops++) {
		uint32_t going = 0;

		for (uint32_t i = 0; i < num; i++) {
			walks[going] = walks[i];
			going += step(flows, broken, &walks[going]);
		}
		num = going;
	}
}

/* ---- A failure ---- */

int pm_flows_note_entry(struct pm_flows *flows, uint32_t sw, uint32_t lid)
{
	struct changed new = {sw, (uint16_t)lid, *flow_at(flows, sw, lid)};

	/* Without flows there is nothing to move. */
	if (!new.flow || !flows->is_end[lid] ||
	    entry_now(flows, sw, lid) == entry_before(flows, sw, lid))
		return 0;
	if (pm_grow(&flows->changed, &flows->changed_room, flows->num_changed + 1,
		    sizeof(new)))
		return -ENOMEM;
	flows->changed[flows->num_changed++] = new;
	return 0;
}

int pm_flows_note_end(struct pm_flows *flows, uint32_t port)
{
	if (pm_grow(&flows->ends, &flows->ends_room, flows->num_ends + 1,
		    sizeof(*flows->ends)))
		return -ENOMEM;
	flows->ends[flows->num_ends++] = port;
	return 0;
}

static void move_flows(struct pm_flows *flows, const struct pm_fabric *broken)
{
	struct walk walks[WALKS];
	uint32_t num = 0;

	for (uint32_t i = 0; i < flows->num_changed; i++) {
		const struct changed *c = &flows->changed[i];

		walks[num++] = (struct walk){c->sw, c->flow, c->lid};
		if (num == WALKS || i + 1 == flows->num_changed) {
			follow_walks(flows, broken, walks, num, leave);
			num = 0;
		}
	}
	for (uint32_t i = 0; i < flows->num_changed; i++) {
		const struct changed *c = &flows->changed[i];
		uint16_t *flow = flow_at(flows, c->sw, c->lid);

		walks[num++] = (struct walk){c->sw, *flow, c->lid};
		*flow = c->flow;
		if (num == WALKS || i + 1 == flows->num_changed) {
			follow_walks(flows, broken, walks, num, take_step);
			num = 0;
		}
	}
}

/* Takes the flows from a switch's end ports to a LID off their present path. */
static void take_off(struct pm_flows *flows, const struct pm_fabric *broken, uint32_t sw,
		     uint32_t lid, uint32_t amount)
{
	struct walk walk = {sw, -amount, (uint16_t)lid};

	follow_walks(flows, broken, &walk, 1, take_step);
}

static bool has_end(const struct pm_flows *flows, uint32_t port)
{
	uint32_t peer = pm_fabric_peer_node(flows->fabric, port);

	return peer != PM_NONE && peer >= flows->fabric->num_switches &&
	       pm_routes_plan(flows->routes)->lid[port];
}

/* Failed end ports neither send nor receive. */
static void fail_ends(struct pm_flows *flows, const struct pm_fabric *broken)
{
	const uint16_t *lid_of = pm_routes_plan(flows->routes)->lid;

	for (uint32_t i = 0; i < flows->num_ends; i++) {
		uint32_t lid = lid_of[flows->ends[i]];

		flows->is_end[lid] = 0;
		for (uint32_t sw = 0; sw < broken->num_switches; sw++)
			if (flows->hosts[sw])
				take_off(flows, broken, sw, lid, flows->hosts[sw]);
	}
	for (uint32_t i = 0; i < flows->num_ends; i++)
		for (uint32_t lid = 0; lid < flows->stride; lid++)
			if (flows->is_end[lid])
				take_off(flows, broken,
					 flows->fabric->ports[flows->ends[i]].node, lid,
					 1);
}

void pm_flows_update(struct pm_flows *flows, const struct pm_fabric *broken)
{
	move_flows(flows, broken);
	fail_ends(flows, broken);
}

void pm_flows_restore(struct pm_flows *flows)
{
	const uint16_t *lid_of = pm_routes_plan(flows->routes)->lid;

	while (flows->num_touched) {
		uint32_t port = flows->touched[--flows->num_touched];

		flows->load[port] = flows->before[port];
		flows->is_touched[port] = 0;
	}
	while (flows->num_ends)
		flows->is_end[lid_of[flows->ends[--flows->num_ends]]] = 1;
	flows->num_changed = 0;
}

/* Whether a port's link is between levels, and counted. */
static bool is_counted(const struct pm_flows *flows, uint32_t port)
{
	uint32_t sw = flows->fabric->ports[port].node, remote = flows->tree->remote[port];
	uint8_t a = flows->tree->level[sw], b;

	if (remote == PM_NONE)
		return false;
	b = flows->tree->level[remote];
	return a != b && (a < b ? a : b) < PM_CHECK_LEVELS;
}

/* A port's load, weighted by the rate of its link. */
static uint64_t weigh(const struct pm_flows *flows, const uint32_t *load, uint32_t port)
{
	return pm_link_weigh(flows->fabric, flows->common, port, load[port]);
}

uint64_t pm_flows_most(const struct pm_flows *flows)
{
	uint64_t most = 0;
	uint32_t i = 0;

	for (uint32_t k = 0; k < flows->num_touched; k++) {
		uint32_t port = flows->touched[k];

		if (weigh(flows, flows->load, port) > most && is_counted(flows, port))
			most = weigh(flows, flows->load, port);
	}
	/* The other links are unchanged. */
	while (i < flows->num_order && flows->is_touched[flows->order[i]])
		i++;
	if (i < flows->num_order && weigh(flows, flows->load, flows->order[i]) > most)
		most = weigh(flows, flows->load, flows->order[i]);
	return most;
}

/* ---- Before a failure ---- */

static bool is_nothing(const uint16_t *flow)
{
	uint16_t any = 0;

	for (uint32_t k = 0; k < PM_LFT_BLOCK; k++)
		any |= flow[k];
	return !any;
}

/*
 * Passes on a switch's flows for the LIDs of a block, in one direction. Consecutive
 * entries mostly have the same port.
 */
static void send_block(struct pm_flows *flows, uint32_t sw, uint32_t block,
		       uint8_t direction)
{
	const struct pm_node *n = &flows->fabric->nodes[sw];
	const uint16_t *flow = flow_at(flows, sw, block);
	const uint8_t *row = flows->base[sw] + block;

	if (is_nothing(flow))
		return;
	for (uint32_t k = 0, end; k < PM_LFT_BLOCK; k = end) {
		uint32_t port = n->first_port + row[k], sum = 0;
		uint16_t *next;

		for (end = k + 1; end < PM_LFT_BLOCK && row[end] == row[k];)
			end++;
		if (row[k] > n->num_ports || flows->tree->direction[port] != direction)
			continue;
		next = flow_at(flows, flows->tree->remote[port], block);
		for (uint32_t i = k; i < end; i++) {
			next[i] = (uint16_t)(next[i] + flow[i]);
			sum += flow[i];
		}
		flows->load[port] += sum;
	}
}

/* Computes all flows for the LIDs of a block that lead up and then down. */
static void fill_block(struct pm_flows *flows, uint32_t block, const uint8_t *odd)
{
	const struct pm_reach *reach = pm_routes_reach(flows->routes);

	for (uint32_t sw = 0; sw < flows->fabric->num_switches; sw++)
		for (uint32_t lid = block; flows->hosts[sw] && lid < block + PM_LFT_BLOCK;
		     lid++)
			if (flows->is_end[lid] && !odd[lid])
				*flow_at(flows, sw, lid) = (uint16_t)flows->hosts[sw];
	for (uint32_t i = 0; i < reach->num_by_level; i++)
		send_block(flows, reach->by_level[i], block, PM_UP);
	for (uint32_t i = reach->num_by_level; i-- > 0;)
		if (flows->tree->level[reach->by_level[i]] > 0)
			send_block(flows, reach->by_level[i], block, PM_DOWN);
}

/* Computes the flows for one LID, over any paths. */
static void fill_odd(struct pm_flows *flows, uint32_t lid)
{
	for (uint32_t from = 0; from < flows->fabric->num_switches; from++) {
		uint32_t sw = from, port = 0;

		for (uint32_t hops = 0; flows->hosts[from] && port != PM_NONE &&
					hops < flows->fabric->num_switches;
		     hops++) {
			uint16_t *flow = flow_at(flows, sw, lid);

			*flow = (uint16_t)(*flow + flows->hosts[from]);
			port = port_on(flows, sw, entry_before(flows, sw, lid));
			if (port == PM_NONE)
				break;
			flows->load[port] += flows->hosts[from];
			sw = flows->tree->remote[port];
		}
	}
}

static int compare_loads(const void *a, const void *b, void *context)
{
	const struct pm_flows *flows = context;
	uint64_t x = weigh(flows, flows->before, *(const uint32_t *)a);
	uint64_t y = weigh(flows, flows->before, *(const uint32_t *)b);

	return (x < y) - (x > y);
}

static void sort_links(struct pm_flows *flows)
{
	for (uint32_t i = 0; i < flows->tree->num_ports; i++)
		if (is_counted(flows, i))
			flows->order[flows->num_order++] = i;
	if (flows->num_order)
		qsort_r(flows->order, flows->num_order, sizeof(*flows->order),
			compare_loads, flows);
}

static void fill_flows(struct pm_flows *flows, const uint8_t *odd)
{
	const uint16_t *lid_of = pm_routes_plan(flows->routes)->lid;

	for (uint32_t i = 0; i < flows->tree->num_ports; i++)
		if (has_end(flows, i)) {
			flows->hosts[flows->fabric->ports[i].node]++;
			flows->is_end[lid_of[i]] = 1;
		}
	for (uint32_t block = 0; block < flows->stride; block += PM_LFT_BLOCK)
		fill_block(flows, block, odd);
	for (uint32_t lid = 0; lid < flows->stride; lid++)
		if (flows->is_end[lid] && odd[lid])
			fill_odd(flows, lid);
	memcpy(flows->before, flows->load,
	       flows->tree->num_ports * sizeof(*flows->before));
	sort_links(flows);
}

static int allocate_flows(struct pm_flows *flows, struct pm_error *err)
{
	struct pm_pool *pool = &flows->pool;
	uint32_t num = flows->fabric->num_switches, ports = flows->tree->num_ports;
	size_t cells = (size_t)num * flows->stride;

	flows->hosts = pm_pool_array(pool, num, sizeof(uint32_t));
	flows->is_end = pm_pool_array(pool, flows->stride, 1);
	flows->flow = pm_pool_bytes(pool, cells * sizeof(*flows->flow));
	flows->before = pm_pool_array(pool, ports, sizeof(uint32_t));
	flows->load = pm_pool_array(pool, ports, sizeof(uint32_t));
	flows->order = pm_pool_array(pool, ports, sizeof(uint32_t));
	flows->touched = pm_pool_array(pool, ports, sizeof(uint32_t));
	flows->is_touched = pm_pool_array(pool, ports, 1);
	if (flows->flow)
		memset(flows->flow, 0, cells * sizeof(*flows->flow));
	return pm_pool_check(pool, err);
}

int pm_flows_new(const struct pm_fabric *fabric, const struct pm_routes *routes,
		 const uint8_t *const *base, const uint8_t *odd, struct pm_flows **result,
		 struct pm_error *err)
{
	struct pm_flows *flows = calloc(1, sizeof(*flows));
	int rc;

	if (!flows)
		return pm_error_no_memory(err);
	flows->fabric = fabric;
	flows->routes = routes;
	flows->tree = &pm_routes_plan(routes)->tree;
	flows->base = base;
	flows->common = pm_link_common_rate(fabric);
	flows->stride = pm_routes_stride(routes);
	rc = allocate_flows(flows, err);
	if (rc) {
		pm_flows_free(flows);
		return rc;
	}
	fill_flows(flows, odd);
	*result = flows;
	return 0;
}

void pm_flows_free(struct pm_flows *flows)
{
	if (!flows)
		return;
	pm_pool_free(&flows->pool);
	free(flows->changed);
	free(flows->ends);
	free(flows);
}
