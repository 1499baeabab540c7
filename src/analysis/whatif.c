/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tries one failure after another, fast: cuts its links in a copy of the fabric and
 * restores them afterwards, examines only the destinations behind them, and compares only
 * moved entries. Counts the hosts cut off only where there may be some: a link's failure
 * rarely cuts one off.
 */
#include <portmajor/analysis/whatif.h>
#include <portmajor/base/alloc.h>
#include <portmajor/base/bits.h>

#include <portmajor/analysis/flows.h>
#include <portmajor/check/check.h>
#include <portmajor/fabric/link.h>
#include <portmajor/route/order.h>

#include <errno.h>

/* A port with a cut link. */
struct cut {
	uint32_t port, peer;
};

struct pm_whatif {
	struct pm_pool pool; /* of all arrays */
	const struct pm_fabric *fabric;
	struct pm_plan *plan;
	struct pm_routes *routes;
	struct pm_fabric *broken; /* the fabric, with the plan's LIDs, less cuts[] */
	struct cut *cuts;
	uint32_t num_cuts;
	uint32_t *links; /* one port of each cut link between switches, */
	uint32_t num_links;
	uint32_t hosts_cut; /* the number of other cut links */
	/* working memory for comparisons: */
	struct pm_delta *delta; /* [switch] 0 */
	uint64_t *blocks;	/* [switch][words] a set */
	uint32_t words;
	uint32_t *changed, num_changed; /* switches */
	struct pm_order_block *listed;	/* blocks that differ; not of the pool */
	uint32_t num_listed, listed_room;
	uint8_t *usable; /* [port] with a link now */
	uint64_t *used;	 /* see pm_order_find_used */
	struct pm_detours detours;
	uint32_t sm;		/* port, or PM_NONE */
	struct pm_flows *flows; /* NULL if loads are not requested */
	const uint8_t **base;	/* [switch] table before the failure, for flows */
	uint32_t shifts;	/* as in pm_whatif_config */
	uint32_t common_rate;	/* of the whole fabric */
	uint64_t pairs;		/* pairs of end ports that were connected before */
	struct pm_whatif_result before;
	uint32_t *hosts;	/* [switch] end ports with a link */
	uint64_t *host_set;	/* switches with hosts in the whole fabric */
	uint16_t *host_lid;	/* [switch] LID of such an end port, or 0 */
	uint64_t *beyond;	/* [switch][now->words] switches with hosts that the whole
				   fabric's tables join it to, but not up and then down */
	const uint8_t **tables; /* [switch] and */
	uint16_t *top;		/* [switch] for pm_check */
	/* working memory for searches over the fabric: */
	uint32_t *queue, *part, *ports;
	uint32_t *whole_part, managed_part; /* of the whole fabric */
	uint32_t *managed;	 /* [switch] hosts, of switches connected with the SM, */
	uint32_t *whole_managed; /* and those before a failure */
	uint32_t *cut_off, num_cut_off; /* end nodes, by the last failure */
	const uint32_t *last_part; /* part[] or whole_part[], of the last failure, .. */
	uint32_t last_managed;	   /* .. and the SM's component there */
	bool own;		   /* its SM's own link failed */
};

/* ---- Links ---- */

/* The switch of the end node that lost its link, or PM_NONE. */
static uint32_t switch_of_host(const struct pm_whatif *whatif, const struct cut *cut)
{
	uint32_t a = whatif->fabric->ports[cut->port].node;
	uint32_t b = whatif->fabric->ports[cut->peer].node;
	uint32_t low = a < b ? a : b, high = a < b ? b : a;

	return low < whatif->fabric->num_switches && high >= whatif->fabric->num_switches
		       ? low
		       : PM_NONE;
}

static void cut_port(struct pm_whatif *whatif, uint32_t port)
{
	struct cut new = {port, whatif->broken->ports[port].peer};
	uint32_t sw;

	if (new.peer == PM_NONE)
		return;
	whatif->cuts[whatif->num_cuts++] = new;
	pm_fabric_cut(whatif->broken, port);
	whatif->usable[port] = whatif->usable[new.peer] = 0;
	sw = switch_of_host(whatif, &new);
	if (sw != PM_NONE)
		whatif->hosts[sw]--;
	if (whatif->fabric->ports[port].node < whatif->fabric->num_switches &&
	    whatif->fabric->ports[new.peer].node < whatif->fabric->num_switches)
		whatif->links[whatif->num_links++] = port;
	else
		whatif->hosts_cut++;
}

static void mend_all(struct pm_whatif *whatif)
{
	while (whatif->num_cuts) {
		struct cut c = whatif->cuts[--whatif->num_cuts];

		whatif->broken->ports[c.port].peer = c.peer;
		whatif->broken->ports[c.peer].peer = c.port;
		whatif->usable[c.port] = whatif->usable[c.peer] = 1;
		if (switch_of_host(whatif, &c) != PM_NONE)
			whatif->hosts[switch_of_host(whatif, &c)]++;
	}
	whatif->num_links = whatif->hosts_cut = 0;
}

/* ---- Reachable hosts ---- */

/*
 * The component in part[] with the SM or else with most of the end nodes
 * that the SM had before: the SM does not move to another fabric.
 */
static uint32_t find_managed_part(struct pm_whatif *whatif)
{
	const struct pm_fabric *fabric = whatif->broken;
	uint32_t *part = whatif->part, *ends = whatif->queue, best = 0;

	pm_reach_parts(fabric, NULL, part, whatif->queue);
	if (whatif->sm != PM_NONE)
		return part[fabric->ports[whatif->sm].node];
	memset(ends, 0, fabric->num_nodes * sizeof(*ends));
	for (uint32_t i = fabric->num_switches; i < fabric->num_nodes; i++)
		ends[part[i]] += whatif->whole_part[i] == whatif->managed_part;
	for (uint32_t i = 0; i < fabric->num_nodes; i++)
		if (ends[i] > ends[best])
			best = i;
	return best;
}

/* Counts ordered pairs of end ports that a path connects, also at one switch. */
static uint64_t count_pairs(const struct pm_whatif *whatif)
{
	uint32_t num = whatif->fabric->num_switches;
	uint64_t pairs =
		pm_reachable_pairs(pm_routes_reach(whatif->routes), num, whatif->hosts);

	for (uint32_t sw = 0; sw < num; sw++)
		pairs += (uint64_t)whatif->hosts[sw] * (whatif->hosts[sw] - 1);
	return pairs;
}

static bool meet(const uint64_t *a, const uint64_t *b, uint32_t words)
{
	for (uint32_t w = 0; w < words; w++)
		if (a[w] & b[w])
			return true;
	return false;
}

/*
 * Whether a failure may have left a part of the fabric without others, or an end port
 * without its link. It has not if no end port fails, and both ends of each cut link still
 * reach some common switch.
 */
static bool cuts_off(const struct pm_whatif *whatif)
{
	const struct pm_reach *now = pm_routes_reach(whatif->routes);

	if (whatif->hosts_cut)
		return true;
	for (uint32_t i = 0; i < whatif->num_links; i++) {
		uint32_t port = whatif->links[i];

		if (!meet(pm_reach_updown(now, whatif->fabric->ports[port].node),
			  pm_reach_updown(now, pm_fabric_peer_node(whatif->fabric, port)),
			  now->words))
			return true;
	}
	return false;
}

/* Counts pairs of the end ports hosts[] of two switches. */
static uint64_t count_between(const uint32_t *hosts, uint32_t from, uint32_t to)
{
	return (uint64_t)hosts[from] * hosts[to];
}

/* Whether the tables lead from a switch to the end ports of another one. */
static bool joins(const struct pm_whatif *whatif, uint32_t from, uint32_t to)
{
	return pm_routes_table(whatif->routes, from)[whatif->host_lid[to]] != PM_LFT_KEEP;
}

static uint64_t *beyond_of(const struct pm_whatif *whatif, uint32_t from)
{
	return whatif->beyond +
	       (size_t)from * pm_bits_words(whatif->fabric->num_switches);
}

/* Finds the pairs of switches that no path up and then down joins, but the tables. */
static void find_beyond(struct pm_whatif *whatif)
{
	const struct pm_reach *now = pm_routes_reach(whatif->routes);

	for (uint32_t from = 0; from < whatif->fabric->num_switches; from++)
		for (uint32_t w = 0;
		     pm_bits_test(whatif->host_set, from) && w < now->words; w++)
			for (uint64_t lost =
				     whatif->host_set[w] & ~pm_reach_updown(now, from)[w];
			     lost; lost &= lost - 1) {
				uint32_t to = w * 64 + (uint32_t)__builtin_ctzll(lost);

				if (to != from && joins(whatif, from, to))
					pm_bits_set(beyond_of(whatif, from), to);
			}
}

/* Counts these pairs of end ports hosts[], as if the tables were the whole fabric's. */
static uint64_t count_beyond(const struct pm_whatif *whatif, const uint32_t *hosts)
{
	uint32_t num = whatif->fabric->num_switches;
	uint64_t count = 0;

	for (uint32_t from = 0; from < num; from++)
		for (uint32_t w = 0; hosts[from] && w < pm_bits_words(num); w++)
			for (uint64_t set = beyond_of(whatif, from)[w]; set;
			     set &= set - 1)
				count += count_between(
					hosts, from,
					w * 64 + (uint32_t)__builtin_ctzll(set));
	return count;
}

/* Counts the pairs that lost all paths up and then down, and that the tables join. */
static uint64_t count_joined(const struct pm_whatif *whatif, const uint32_t *hosts)
{
	const struct pm_reach *now = pm_routes_reach(whatif->routes);
	const struct pm_reach *before = pm_routes_reach_before(whatif->routes);
	uint32_t num;
	const uint32_t *less = pm_routes_reach_less(whatif->routes, &num);
	uint64_t count = 0;

	for (uint32_t i = 0; i < num; i++)
		for (uint32_t w = 0; hosts[less[i]] && w < now->words; w++)
			for (uint64_t lost = pm_reach_updown(before, less[i])[w] &
					     ~pm_reach_updown(now, less[i])[w] &
					     whatif->host_set[w];
			     lost; lost &= lost - 1) {
				uint32_t to = w * 64 + (uint32_t)__builtin_ctzll(lost);

				if (to != less[i] && joins(whatif, less[i], to))
					count += count_between(hosts, less[i], to);
			}
	return count;
}

/*
 * Counts the pairs of end ports hosts[] that other paths join since the failure, less
 * those that they join no more; modulo 2^64. gains: with those that had no path before.
 */
static uint64_t count_change_beyond(const struct pm_whatif *whatif, const uint32_t *hosts,
				    bool gains)
{
	const struct pm_reach *before = pm_routes_reach_before(whatif->routes);
	const struct pm_plan *plan = whatif->plan;
	uint64_t count = count_joined(whatif, hosts);
	uint32_t num;
	const struct pm_routes_change *changes = pm_routes_changes(whatif->routes, &num);

	for (uint32_t i = 0; i < num; i++) {
		const struct pm_routes_change *c = &changes[i];
		uint32_t to;

		if (c->before != PM_LFT_KEEP && c->after != PM_LFT_KEEP)
			continue;
		to = plan->topology->ports[plan->owner[c->lid]].node;
		if (c->lid != whatif->host_lid[to] || to == c->sw ||
		    pm_bits_test(pm_reach_updown(before, c->sw), to))
			continue;
		if (c->before != PM_LFT_KEEP)
			count -= count_between(hosts, c->sw, to);
		else if (gains)
			count += count_between(hosts, c->sw, to);
	}
	return count;
}

/* Counts the end ports at switches of a set that have some. */
static uint64_t count_ends(const struct pm_whatif *whatif, const uint64_t *before,
			   const uint64_t *after, uint32_t words)
{
	uint64_t count = 0;

	for (uint32_t w = 0; w < words; w++)
		for (uint64_t lost = before[w] & ~after[w] & whatif->host_set[w]; lost;
		     lost &= lost - 1)
			count += whatif->hosts[w * 64 + (uint32_t)__builtin_ctzll(lost)];
	return count;
}

/* Subtracts the pairs that lost their path, where all end ports are connected as before.
 */
static void subtract_pairs(const struct pm_whatif *whatif, struct pm_whatif_result *found)
{
	const struct pm_reach *now = pm_routes_reach(whatif->routes);
	const struct pm_reach *before = pm_routes_reach_before(whatif->routes);
	uint32_t count;
	const uint32_t *less = pm_routes_reach_less(whatif->routes, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t sw = less[i];
		uint64_t lost;

		if (!pm_bits_test(whatif->host_set, sw))
			continue;
		lost = whatif->hosts[sw] * count_ends(whatif, pm_reach_updown(before, sw),
						      pm_reach_updown(now, sw),
						      now->words);
		found->pairs_cut += lost;
		if (whatif->whole_part[sw] == whatif->managed_part)
			found->reachable.pairs -= lost;
	}
	found->pairs_cut -= count_change_beyond(whatif, whatif->hosts, false);
	found->reachable.pairs +=
		count_change_beyond(whatif, whatif->whole_managed, true);
}

/* Counts present nodes and pairs; returns the SM's component in part[]. */
static uint32_t count_present(struct pm_whatif *whatif, struct pm_whatif_result *found)
{
	uint32_t num = whatif->fabric->num_switches, part = find_managed_part(whatif);

	for (uint32_t sw = 0; sw < num; sw++) {
		bool here = whatif->part[sw] == part;

		whatif->managed[sw] = here ? whatif->hosts[sw] : 0;
		found->switches += here;
		found->switches_cut += !here;
	}
	found->full_load = (uint64_t)found->switches * pm_plan_blocks(whatif->plan);
	found->pairs_cut = whatif->pairs - count_pairs(whatif) -
			   count_beyond(whatif, whatif->hosts) -
			   count_change_beyond(whatif, whatif->hosts, false);
	pm_reachable_count(pm_routes_reach(whatif->routes), num, whatif->managed,
			   whatif->part, whatif->queue, &found->reachable);
	found->reachable.pairs += count_beyond(whatif, whatif->managed) +
				  count_change_beyond(whatif, whatif->managed, true);
	return part;
}

/* Lists the end nodes that were in the SM's component and are now in another one. */
static void list_cut_off(struct pm_whatif *whatif, uint32_t part)
{
	const struct pm_fabric *fabric = whatif->fabric;

	for (uint32_t i = fabric->num_switches; i < fabric->num_nodes; i++)
		if (whatif->whole_part[i] == whatif->managed_part &&
		    whatif->part[i] != part)
			whatif->cut_off[whatif->num_cut_off++] = i;
}

/* ---- Comparing ---- */

static void add_delta(struct pm_delta *sum, const struct pm_delta *delta)
{
	sum->blocks += delta->blocks;
	sum->entries += delta->entries;
	sum->least += delta->least;
	sum->switches += delta->switches;
}

static void add_switch(const struct pm_whatif *whatif, uint32_t sw,
		       const struct pm_delta *delta, struct pm_whatif_result *result)
{
	unsigned int level = whatif->plan->tree.level[sw];

	add_delta(&result->total, delta);
	if (level < PM_WHATIF_LEVELS)
		add_delta(&result->level[level], delta);
}

/* Lists a block if it differs from that before. -ENOMEM. */
static int list_block(struct pm_whatif *whatif, uint32_t sw, uint32_t number)
{
	const uint8_t *before = pm_routes_table_before(whatif->routes, sw);

	if (pm_grow(&whatif->listed, &whatif->listed_room, whatif->num_listed + 1,
		    sizeof(*whatif->listed)))
		return -ENOMEM;
	whatif->num_listed += pm_order_compare(whatif->routes, sw, number,
					       before + (size_t)number * PM_LFT_BLOCK,
					       &whatif->listed[whatif->num_listed]);
	return 0;
}

/* -ENOMEM. */
static int count_change(struct pm_whatif *whatif, const struct pm_routes_change *change)
{
	struct pm_delta *delta = &whatif->delta[change->sw];
	uint64_t *blocks = whatif->blocks + (size_t)change->sw * whatif->words;

	if (change->after == PM_LFT_KEEP)
		return 0;
	if (!delta->entries++) {
		memset(blocks, 0, whatif->words * sizeof(*blocks));
		whatif->changed[whatif->num_changed++] = change->sw;
	}
	if (pm_bits_test(blocks, change->lid / PM_LFT_BLOCK))
		return 0;
	delta->blocks++;
	pm_bits_set(blocks, change->lid / PM_LFT_BLOCK);
	return list_block(whatif, change->sw, change->lid / PM_LFT_BLOCK);
}

/* Compares the tables of all switches in this component. -ENOMEM. */
static int compare_tables(struct pm_whatif *whatif, const uint32_t *part,
			  uint32_t component, struct pm_whatif_result *result)
{
	uint32_t count;
	const struct pm_routes_change *changes =
		pm_routes_changes(whatif->routes, &count);
	int rc = 0;

	whatif->num_listed = 0;
	for (uint32_t i = 0; i < count && !rc; i++)
		if (part[changes[i].sw] == component)
			rc = count_change(whatif, &changes[i]);
	while (whatif->num_changed) {
		uint32_t sw = whatif->changed[--whatif->num_changed];
		struct pm_delta *delta = &whatif->delta[sw];

		delta->switches = 1;
		delta->least = (delta->entries + PM_LFT_BLOCK - 1) / PM_LFT_BLOCK;
		add_switch(whatif, sw, delta, result);
		*delta = (struct pm_delta){0};
	}
	return rc ? rc
		  : pm_order_count_restoring(whatif->routes, whatif->usable, whatif->used,
					     whatif->listed, whatif->num_listed,
					     &result->restoring);
}

/* ---- Loads ---- */

/* Records the entries that the failure has changed, and the failed end ports. */
static int note_changes(struct pm_whatif *whatif)
{
	uint32_t count, sw;
	const struct pm_routes_change *changes =
		pm_routes_changes(whatif->routes, &count);
	bool failed = false;

	for (uint32_t i = 0; i < count && !failed; i++)
		failed =
			pm_flows_note_entry(whatif->flows, changes[i].sw, changes[i].lid);
	for (uint32_t i = 0; i < whatif->num_cuts && !failed; i++) {
		const struct cut *c = &whatif->cuts[i];

		sw = switch_of_host(whatif, c);
		if (sw != PM_NONE)
			failed = pm_flows_note_end(
				whatif->flows, whatif->fabric->ports[c->port].node == sw
						       ? c->port
						       : c->peer);
	}
	return failed ? -ENOMEM : 0;
}

static int find_loads(struct pm_whatif *whatif, struct pm_whatif_result *result)
{
	int rc = note_changes(whatif);

	if (!rc) {
		pm_flows_update(whatif->flows, whatif->broken);
		result->load = pm_flows_most(whatif->flows);
	}
	pm_flows_restore(whatif->flows);
	return rc;
}

static int find_shifts(struct pm_whatif *whatif, struct pm_whatif_result *result)
{
	struct pm_check check = {.fabric = whatif->broken,
				 .level = whatif->plan->tree.level,
				 .table = whatif->tables,
				 .top = whatif->top,
				 .sm = PM_NONE,
				 .common_rate = whatif->common_rate};

	for (uint32_t sw = 0; sw < whatif->fabric->num_switches; sw++) {
		whatif->tables[sw] = pm_routes_table(whatif->routes, sw);
		whatif->top[sw] = whatif->plan->top_lid;
	}
	return pm_check_shifts(&check, whatif->shifts, &result->shift, NULL);
}

/* Finds the requested data of the present tables; -ENOMEM. */
static int find_traffic(struct pm_whatif *whatif, struct pm_whatif_result *result,
			struct pm_error *err)
{
	if ((whatif->flows && find_loads(whatif, result)) ||
	    (whatif->shifts && find_shifts(whatif, result)))
		return pm_error_no_memory(err);
	return 0;
}

/* Whether the subnet manager is on an end port whose link is cut. */
static bool lost_own(const struct pm_whatif *whatif)
{
	uint32_t sm = whatif->sm;

	return sm != PM_NONE &&
	       whatif->fabric->ports[sm].node >= whatif->fabric->num_switches &&
	       whatif->broken->ports[sm].peer != whatif->fabric->ports[sm].peer;
}

int pm_whatif_fail(struct pm_whatif *whatif, const uint32_t *ports, uint32_t num_ports,
		   struct pm_whatif_result *result, struct pm_error *err)
{
	struct pm_whatif_result found = {0};
	int rc;

	whatif->num_cut_off = 0;
	for (uint32_t i = 0; i < num_ports; i++)
		cut_port(whatif, ports[i]);
	rc = pm_routes_fail(whatif->routes, whatif->links, whatif->num_links,
			    &whatif->detours);
	if (rc) {
		pm_error_no_memory(err);
		goto out;
	}
	whatif->last_part = whatif->whole_part;
	whatif->last_managed = whatif->managed_part;
	whatif->own = lost_own(whatif);
	if (cuts_off(whatif)) {
		whatif->last_part = whatif->part;
		whatif->last_managed = count_present(whatif, &found);
		list_cut_off(whatif, whatif->last_managed);
	} else {
		found.switches = whatif->before.switches;
		found.switches_cut = whatif->before.switches_cut;
		found.full_load = whatif->before.full_load;
		found.reachable = whatif->before.reachable;
		subtract_pairs(whatif, &found);
	}
	rc = compare_tables(whatif, whatif->last_part, whatif->last_managed, &found);
	rc = rc ? pm_error_no_memory(err) : find_traffic(whatif, &found, err);
out:
	mend_all(whatif);
	if (!rc)
		*result = found;
	return rc;
}

int pm_whatif_try(struct pm_whatif *whatif, const struct pm_fabric *broken,
		  struct pm_whatif_result *result, struct pm_error *err)
{
	const struct pm_fabric *whole = whatif->fabric;
	uint32_t num = 0;
	bool more = broken->num_ports != whole->num_ports ||
		    broken->num_switches != whole->num_switches;

	for (uint32_t i = 0; !more && i < whole->num_ports; i++) {
		uint32_t peer = broken->ports[i].peer;

		more = peer != PM_NONE && peer != whole->ports[i].peer;
		if (peer != whole->ports[i].peer)
			whatif->ports[num++] = i;
	}
	if (more)
		return pm_error_set(
			err, -EINVAL,
			"the failed fabric has parts that the whole fabric lacks");
	return pm_whatif_fail(whatif, whatif->ports, num, result, err);
}

/* ---- Making ---- */

/* Gives ports the plan's LIDs, and counts end ports. */
static void settle_lids(struct pm_whatif *whatif)
{
	const struct pm_fabric *topology = whatif->plan->topology;
	struct pm_fabric *fabric = whatif->broken;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		fabric->ports[i].lid = 0;
		whatif->usable[i] = fabric->ports[i].peer != PM_NONE;
	}
	for (uint32_t i = 0; i < topology->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer, place = i;

		if (peer != PM_NONE && fabric->ports[peer].node >= fabric->num_switches) {
			whatif->hosts[fabric->ports[i].node]++;
			pm_bits_set(whatif->host_set, fabric->ports[i].node);
			/* Others' detours end at the manager's. */
			if (!whatif->host_lid[fabric->ports[i].node] ||
			    peer != whatif->sm)
				whatif->host_lid[fabric->ports[i].node] =
					whatif->plan->lid[i];
			place = peer;
		}
		fabric->ports[place].lid = whatif->plan->lid[i];
		fabric->ports[place].lmc = topology->ports[i].num ? whatif->plan->lmc : 0;
	}
}

static int allocate_tables(struct pm_whatif *whatif, struct pm_error *err)
{
	struct pm_pool *pool = &whatif->pool;
	uint32_t num = whatif->fabric->num_switches;

	whatif->words = pm_bits_words(pm_plan_blocks(whatif->plan));
	whatif->delta = pm_pool_array(pool, num, sizeof(*whatif->delta));
	whatif->blocks =
		pm_pool_array(pool, (size_t)num * whatif->words, sizeof(*whatif->blocks));
	whatif->changed = pm_pool_array(pool, num, sizeof(*whatif->changed));
	whatif->used = pm_pool_array(pool, (size_t)num * pm_plan_blocks(whatif->plan),
				     sizeof(*whatif->used));
	return pm_pool_check(pool, err);
}

/*
 * Finds LIDs to which some traffic takes detours, even in the whole fabric: they have
 * entries that are not preferred.
 */
static void find_odd(const struct pm_whatif *whatif, uint8_t *odd)
{
	uint32_t stride = pm_routes_stride(whatif->routes);

	for (uint32_t sw = 0; sw < whatif->fabric->num_switches; sw++) {
		const uint8_t *preferred = pm_routes_preferred(whatif->routes, sw);

		for (uint32_t lid = 0; whatif->base[sw] != preferred && lid < stride;
		     lid++)
			odd[lid] |= whatif->base[sw][lid] != preferred[lid];
	}
}

static int start_flows(struct pm_whatif *whatif, struct pm_error *err)
{
	uint8_t *odd = pm_array(pm_routes_stride(whatif->routes), 1);
	int rc;

	if (!odd)
		return pm_error_no_memory(err);
	for (uint32_t sw = 0; sw < whatif->fabric->num_switches; sw++)
		whatif->base[sw] = pm_routes_table_before(whatif->routes, sw);
	find_odd(whatif, odd);
	rc = pm_flows_new(whatif->fabric, whatif->routes, whatif->base, odd,
			  &whatif->flows, err);
	free(odd);
	return rc;
}

/* Finds the data before a failure. */
static int find_before(struct pm_whatif *whatif, struct pm_error *err)
{
	find_beyond(whatif);
	whatif->pairs = count_pairs(whatif) + count_beyond(whatif, whatif->hosts);
	whatif->managed_part = count_present(whatif, &whatif->before);
	memcpy(whatif->whole_part, whatif->part,
	       whatif->fabric->num_nodes * sizeof(*whatif->part));
	whatif->last_part = whatif->whole_part;
	whatif->last_managed = whatif->managed_part;
	memcpy(whatif->whole_managed, whatif->managed,
	       whatif->fabric->num_switches * sizeof(*whatif->managed));
	return find_traffic(whatif, &whatif->before, err);
}

static int allocate_whatif(struct pm_whatif *whatif, struct pm_error *err)
{
	struct pm_pool *pool = &whatif->pool;
	const struct pm_fabric *fabric = whatif->fabric;
	uint32_t num = fabric->num_switches;

	whatif->broken = pm_fabric_clone(fabric);
	if (!whatif->broken)
		return pm_error_no_memory(err);
	whatif->cuts = pm_pool_array(pool, fabric->num_ports, sizeof(*whatif->cuts));
	whatif->links = pm_pool_array(pool, fabric->num_ports, sizeof(uint32_t));
	whatif->usable = pm_pool_array(pool, fabric->num_ports, 1);
	whatif->hosts = pm_pool_array(pool, num, sizeof(uint32_t));
	whatif->host_set = pm_pool_array(pool, pm_bits_words(num), sizeof(uint64_t));
	whatif->host_lid = pm_pool_array(pool, num, sizeof(uint16_t));
	whatif->beyond =
		pm_pool_array(pool, (size_t)num * pm_bits_words(num), sizeof(uint64_t));
	whatif->base = pm_pool_array(pool, num, sizeof(*whatif->base));
	whatif->tables = pm_pool_array(pool, num, sizeof(*whatif->tables));
	whatif->top = pm_pool_array(pool, num, sizeof(*whatif->top));
	whatif->queue = pm_pool_array(pool, fabric->num_nodes, sizeof(uint32_t));
	whatif->part = pm_pool_array(pool, fabric->num_nodes, sizeof(uint32_t));
	whatif->whole_part = pm_pool_array(pool, fabric->num_nodes, sizeof(uint32_t));
	whatif->ports = pm_pool_array(pool, fabric->num_ports, sizeof(uint32_t));
	whatif->managed = pm_pool_array(pool, num, sizeof(uint32_t));
	whatif->whole_managed = pm_pool_array(pool, num, sizeof(uint32_t));
	whatif->cut_off = pm_pool_array(pool, fabric->num_nodes, sizeof(uint32_t));
	return pm_pool_check(pool, err);
}

int pm_whatif_new(const struct pm_fabric *fabric, const struct pm_whatif_config *config,
		  struct pm_whatif **result, struct pm_error *err)
{
	struct pm_whatif *whatif = calloc(1, sizeof(*whatif));
	int rc;

	if (!whatif)
		return pm_error_no_memory(err);
	whatif->fabric = fabric;
	whatif->sm = config->sm;
	whatif->shifts = config->shifts;
	whatif->common_rate = pm_link_common_rate(fabric);
	rc = allocate_whatif(whatif, err);
	if (!rc)
		rc = pm_plan_make(fabric, &config->plan, &whatif->plan, err);
	if (!rc)
		rc = pm_routes_make(whatif->plan, &whatif->routes, err);
	if (!rc)
		rc = allocate_tables(whatif, err);
	if (rc)
		goto fail;
	whatif->detours = (struct pm_detours){
		.sm = config->sm == PM_NONE
			      ? PM_NONE
			      : pm_plan_place(whatif->plan, fabric, config->sm),
		.switches = config->connect_roots,
	};
	settle_lids(whatif);
	if (pm_routes_fail(whatif->routes, NULL, 0, &whatif->detours))
		rc = pm_error_no_memory(err);
	else
		pm_order_find_used(whatif->routes, whatif->used);
	if (!rc && config->loads)
		rc = start_flows(whatif, err);
	if (!rc)
		rc = find_before(whatif, err);
	if (rc)
		goto fail;
	*result = whatif;
	return 0;
fail:
	pm_whatif_free(whatif);
	return rc;
}

void pm_whatif_free(struct pm_whatif *whatif)
{
	if (!whatif)
		return;
	pm_flows_free(whatif->flows);
	pm_routes_free(whatif->routes);
	pm_plan_free(whatif->plan);
	pm_fabric_free(whatif->broken);
	pm_pool_free(&whatif->pool);
	free(whatif->listed);
	free(whatif);
}

const struct pm_plan *pm_whatif_plan(const struct pm_whatif *whatif)
{
	return whatif->plan;
}

const struct pm_whatif_result *pm_whatif_before(const struct pm_whatif *whatif)
{
	return &whatif->before;
}

bool pm_whatif_reached(const struct pm_whatif *whatif, uint8_t *reached)
{
	const uint32_t *part = whatif->own ? whatif->whole_part : whatif->last_part;
	uint32_t managed = whatif->own ? whatif->managed_part : whatif->last_managed;

	for (uint32_t sw = 0; sw < whatif->fabric->num_switches; sw++)
		reached[sw] = part[sw] == managed;
	return !whatif->own;
}

const uint32_t *pm_whatif_cut_off(const struct pm_whatif *whatif, uint32_t *num)
{
	*num = whatif->num_cut_off;
	return whatif->cut_off;
}
