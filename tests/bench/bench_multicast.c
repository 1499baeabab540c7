/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The costs of events in multicast tables, trees on links, and the time that trees
 * take, beside an imitation of OpenSM's own trees: its rule for the root (the first
 * switch with the smallest largest hop count) and for branches (the first port of a
 * shortest path), without its lists and allocations. Sets are exact and the same in
 * every run; OpenSM itself sends all of its blocks, whatever has happened. Exit 1 if a
 * number is out of bounds.
 *
 *   bench_multicast [LARGE]     as in struct pm_multicast_config; 0: the default
 */
#include "bench.h"

#include <portmajor/base/random.h>
#include <portmajor/multicast/mft_steps.h>
#include <portmajor/multicast/multicast.h>

#include <inttypes.h>

#define SEED 1
#define POSITIONS 3 /* of switches with 36 ports */

static const struct size {
	const char *name;
	struct pm_generate config;
	uint32_t all, pairs; /* groups with a member at each leaf, groups of two */
	uint32_t events;     /* of a kind, at most, taken evenly */
	double most;	     /* Sets of a failure at most, as a part of OpenSM's */
} sizes[] = {
	{"director 36",
	 {.kind = PM_GENERATE_DIRECTOR, .director = {36}},
	 5,
	 96,
	 100000,
	 0.15},
	{"director 324",
	 {.kind = PM_GENERATE_DIRECTOR, .director = {324}},
	 5,
	 5832,
	 40,
	 0.02},
	{"xgft 18,18,18",
	 {.kind = PM_GENERATE_XGFT, .xgft = {3, {18, 18, 18}, {1, 18, 18}}},
	 5,
	 5832,
	 40,
	 0.02},
};

struct bench {
	const struct size *size;
	struct pm_fabric *fabric;
	struct pm_plan *plan;
	const struct pm_fabric *topology;
	const struct pm_tree *tree;
	struct pm_multicast *multicast;
	struct pm_group *groups;
	uint32_t *members, num_groups;
	struct pm_mfts *whole;
	uint8_t *usable, *reachable; /* [port], [switch] */
	struct pm_mft_steps steps;
	uint64_t full;	 /* Sets that OpenSM sends whenever it sends any */
	uint8_t *hops;	 /* [from][to] */
	uint16_t *masks; /* of the imitation, dense: [group][switch][POSITIONS] */
	double imitation_ms;
	bool good;
};

/* ---- Fabric and groups ---- */

/* The slot of a leaf with this number among those of the leaf, in turn. */
static uint32_t slot_of(const struct bench *b, uint32_t leaf, uint32_t number)
{
	uint32_t sw = b->tree->leaves[leaf];
	uint32_t hosts = pm_fabric_count_hosts(b->topology, sw, NULL);

	number %= hosts;
	pm_for_each_port(i, b->topology, sw)
		if (b->topology->ports[i].host && !number--)
			return i;
	die("a leaf without hosts");
}

/* Groups with a member at each leaf first; then pairs: a host each in turn, and one drawn
 * at another leaf. */
static void make_groups(struct bench *b)
{
	uint32_t leaves = b->tree->num_leaves, at = 0;
	uint64_t random = SEED;

	b->num_groups = b->size->all + b->size->pairs;
	b->groups = claim(b->num_groups * sizeof(*b->groups));
	b->members = claim((size_t)(leaves * b->size->all + 2 * b->size->pairs) * 4);
	for (uint32_t g = 0; g < b->num_groups; g++) {
		struct pm_group *group = &b->groups[g];
		uint32_t host = g - b->size->all;

		*group = (struct pm_group){.mlid = (uint16_t)(PM_MLID_FIRST + g),
					   .members = b->members + at};
		for (uint32_t l = 0; l < leaves && g < b->size->all; l++)
			b->members[at++] = slot_of(b, l, g + l);
		if (g >= b->size->all) {
			uint32_t other = (uint32_t)pm_random_below(&random, leaves - 1);

			b->members[at++] = slot_of(b, host % leaves, host / leaves);
			b->members[at++] =
				slot_of(b, (host + 1 + other) % leaves,
					(uint32_t)pm_random_below(&random, 1000));
		}
		group->num = (uint32_t)(b->members + at - group->members);
	}
}

static struct pm_mfts *route(struct bench *b)
{
	struct pm_mfts *tables;
	struct pm_error err;

	pm_multicast_set_links(b->multicast, b->usable);
	if (pm_multicast_route(b->multicast, b->groups, b->num_groups, &tables, NULL,
			       &err))
		die(err.text);
	return tables;
}

/* ---- OpenSM's trees, imitated ---- */

static void find_hops(struct bench *b)
{
	uint32_t num = b->topology->num_switches, *queue = claim(num * sizeof(*queue));

	b->hops = claim((size_t)num * num);
	memset(b->hops, 0xff, (size_t)num * num);
	for (uint32_t from = 0; from < num; from++) {
		uint8_t *hops = b->hops + (size_t)from * num;
		uint32_t count = 1;

		queue[0] = from;
		hops[from] = 0;
		for (uint32_t k = 0; k < count; k++)
			pm_for_each_port(i, b->topology, queue[k]) {
				uint32_t remote = b->tree->remote[i];

				if (remote == PM_NONE || hops[remote] != 0xff)
					continue;
				hops[remote] = (uint8_t)(hops[queue[k]] + 1);
				queue[count++] = remote;
			}
	}
	free(queue);
}

static uint32_t find_root(const struct bench *b, const struct pm_group *group)
{
	uint32_t num = b->topology->num_switches, best = 0, least = UINT32_MAX;

	for (uint32_t sw = 0; sw < num; sw++) {
		const uint8_t *hops = b->hops + (size_t)sw * num;
		uint32_t most = 0;

		for (uint32_t i = 0; i < group->num; i++) {
			uint32_t at = b->topology->ports[group->members[i]].node;

			if (hops[at] + 1u > most)
				most = hops[at] + 1u;
		}
		if (most < least) {
			least = most;
			best = sw;
		}
	}
	return best;
}

/* The first port of a shortest path to a switch. */
static uint32_t first_port(const struct bench *b, uint32_t sw, uint32_t to)
{
	uint32_t num = b->topology->num_switches;
	uint8_t least = b->hops[(size_t)sw * num + to];

	pm_for_each_port(i, b->topology, sw) {
		uint32_t remote = b->tree->remote[i];

		if (remote != PM_NONE && b->hops[(size_t)remote * num + to] + 1 == least)
			return i;
	}
	die("no path");
}

static void imitate(const struct bench *b, uint16_t *masks)
{
	uint32_t num = b->topology->num_switches;

	for (uint32_t g = 0; g < b->num_groups; g++) {
		const struct pm_group *group = &b->groups[g];
		uint32_t root = find_root(b, group);

		for (uint32_t i = 0; i < group->num; i++) {
			const struct pm_port *member =
				&b->topology->ports[group->members[i]];
			uint16_t *table = masks + (size_t)g * num * POSITIONS;

			for (uint32_t at = root; at != member->node;) {
				uint32_t port = first_port(b, at, member->node);
				const struct pm_port *a = &b->topology->ports[port];
				const struct pm_port *z = &b->topology->ports[a->peer];

				table[at * POSITIONS + a->num / 16] |=
					(uint16_t)(1u << a->num % 16);
				at = z->node;
				table[at * POSITIONS + z->num / 16] |=
					(uint16_t)(1u << z->num % 16);
			}
			table[member->node * POSITIONS + member->num / 16] |=
				(uint16_t)(1u << member->num % 16);
		}
	}
}

/*
 * A switch gets all its blocks up to the highest one with an entry, each with all its
 * positions.
 */
static void count_full(struct bench *b)
{
	uint32_t num = b->topology->num_switches;

	for (uint32_t sw = 0; sw < num; sw++) {
		uint32_t blocks = 0;

		for (uint32_t g = 0; g < b->num_groups; g++) {
			const uint16_t *mask =
				b->masks + ((size_t)g * num + sw) * POSITIONS;

			if (mask[0] | mask[1] | mask[2])
				blocks = g / PM_MFT_BLOCK + 1;
		}
		b->full += (uint64_t)blocks * pm_mfts_num_positions(b->whole, sw);
	}
}

/* ---- Begin and end ---- */

static void make(struct bench *b, const struct size *size, uint32_t large)
{
	struct pm_plan_config planned = {.order = PM_GROUPED};
	struct pm_multicast_config config = {.large = large};
	struct pm_error err;
	double start;

	*b = (struct bench){
		.size = size, .fabric = generate(&size->config), .good = true};
	if (pm_plan_make(b->fabric, &planned, &b->plan, &err) ||
	    pm_multicast_new(b->plan, &config, &b->multicast, &err))
		die(err.text);
	b->topology = b->plan->topology;
	b->tree = &b->plan->tree;
	b->usable = claim(b->topology->num_ports);
	b->reachable = claim(b->topology->num_switches);
	memset(b->usable, 1, b->topology->num_ports);
	make_groups(b);
	b->whole = route(b);
	find_hops(b);
	b->masks =
		claim((size_t)b->num_groups * b->topology->num_switches * POSITIONS * 2);
	start = cpu_ms();
	imitate(b, b->masks);
	b->imitation_ms = cpu_ms() - start;
	count_full(b);
}

static void end(struct bench *b)
{
	pm_mfts_free(b->whole);
	pm_mft_steps_free(&b->steps);
	pm_multicast_free(b->multicast);
	free(b->groups);
	free(b->members);
	free(b->usable);
	free(b->reachable);
	free(b->hops);
	free(b->masks);
	pm_plan_free(b->plan);
	pm_fabric_free(b->fabric);
}

/* ---- Events ---- */

struct range {
	uint64_t num, sum, most, cells, longest, ordered;
};

static void add(struct range *range, const struct pm_mft_steps *steps)
{
	range->num++;
	range->sum += steps->num;
	range->cells += steps->cells;
	range->ordered += steps->ordered;
	if (steps->num > range->most)
		range->most = steps->num;
	if (steps->longest > range->longest)
		range->longest = steps->longest;
}

/* Sets from one set of tables to another; switches without links get none. */
static void transit(struct bench *b, const struct pm_mfts *installed,
		    const struct pm_mfts *wanted, struct range *range)
{
	struct pm_mft_input input = {b->topology,  installed, wanted,	    b->usable,
				     b->reachable, 0,	      PM_MFT_BLOCKS};

	memset(b->reachable, 0, b->topology->num_switches);
	for (uint32_t i = 0; i < b->topology->num_ports; i++)
		if (b->topology->ports[i].peer != PM_NONE && b->usable[i])
			b->reachable[b->topology->ports[i].node] = 1;
	if (pm_mft_steps_find(&input, &b->steps))
		die("out of memory");
	add(range, &b->steps);
}

/* limit: the most Sets that an event of this kind may take, 0: as the size says. */
static void print_range(struct bench *b, const char *name, const char *event,
			const struct range *range, uint64_t limit)
{
	double part = (double)range->most / (double)b->full;
	bool good = limit ? range->most <= limit : part <= b->size->most;

	printf("| %s | %s | %" PRIu64 " | %.1f | %" PRIu64 " | %.3f | %" PRIu64
	       " | %.2f | %.1f |%s\n",
	       name, event, range->num, (double)range->sum / (double)range->num,
	       range->most, part, range->longest,
	       range->cells ? (double)range->sum / (double)range->cells : 1.0,
	       (double)range->ordered / (double)range->num,
	       good ? "" : " more than is to be");
	b->good &= good;
}

static void set_switch(struct bench *b, uint32_t sw, bool usable)
{
	pm_for_each_port(i, b->topology, sw) {
		uint32_t peer = b->topology->ports[i].peer;

		if (peer != PM_NONE)
			b->usable[i] = b->usable[peer] = usable;
	}
}

/*
 * The parts that can fail: a link at a port, a switch, a component. Returns their
 * number, or has number `item` of them fail or return.
 */
enum kind {
	LEAF_LINK,
	UPPER_LINK,
	SWITCH,
	COMPONENT,
	NUM_KINDS,
};

static const char *const kind_names[] = {"leaf's link", "link above", "switch above",
					 "component"};

static bool is_kind(const struct bench *b, enum kind kind, uint32_t i)
{
	if (kind == SWITCH)
		return !pm_tree_is_leaf(b->tree, i);
	return kind == COMPONENT ||
	       (b->tree->direction[i] == PM_UP &&
		pm_tree_is_leaf(b->tree, b->topology->ports[i].node) ==
			(kind == LEAF_LINK));
}

static uint32_t count_items(const struct bench *b, enum kind kind)
{
	if (kind == SWITCH)
		return b->topology->num_switches;
	return kind == COMPONENT ? b->tree->num_components : b->topology->num_ports;
}

static void set_item(struct bench *b, enum kind kind, uint32_t i, bool usable)
{
	if (kind == SWITCH)
		set_switch(b, i, usable);
	else if (kind == COMPONENT)
		for (uint32_t sw = 0; sw < b->topology->num_switches; sw++) {
			if (b->tree->component[sw] == i)
				set_switch(b, sw, usable);
		}
	else
		b->usable[i] = b->usable[b->topology->ports[i].peer] = usable;
}

/* A switch without links loses its table: it has rebooted when it is back. */
static struct pm_mfts *keep(const struct bench *b, const struct pm_mfts *after)
{
	struct pm_mfts *installed = pm_mfts_clone(after);

	if (!installed)
		die("out of memory");
	for (uint32_t sw = 0; sw < b->topology->num_switches; sw++)
		if (!b->reachable[sw])
			pm_mfts_clear(installed, sw);
	return installed;
}

/* Whether an event is one of those that are tried: all, or some at even distances. */
static bool is_taken(const struct bench *b, uint32_t number, uint32_t count)
{
	uint64_t events = b->size->events;

	return events >= count ||
	       number * events / count != (number + 1) * events / count;
}

static void run_kind(struct bench *b, enum kind kind)
{
	uint32_t num = count_items(b, kind), count = 0, counted = 0;
	struct range failed = {0}, back = {0};

	for (uint32_t i = 0; i < num; i++)
		count += is_kind(b, kind, i);
	for (uint32_t i = 0; i < num; i++) {
		struct pm_mfts *after, *installed;

		if (!is_kind(b, kind, i) || !is_taken(b, counted++, count))
			continue;
		set_item(b, kind, i, false);
		after = route(b);
		transit(b, b->whole, after, &failed);
		installed = keep(b, after);
		set_item(b, kind, i, true);
		transit(b, installed, b->whole, &back);
		pm_mfts_free(after);
		pm_mfts_free(installed);
	}
	print_range(b, kind_names[kind], "lost", &failed, 0);
	print_range(b, "", "back", &back, 0);
}

/* The last member of a group leaves and returns. */
static void run_members(struct bench *b, uint32_t first, uint32_t num, const char *name,
			uint64_t limit)
{
	struct range failed = {0}, back = {0};

	for (uint32_t g = first; g < first + num; g++) {
		struct pm_mfts *after;

		b->groups[g].num--;
		after = route(b);
		b->groups[g].num++;
		transit(b, b->whole, after, &failed);
		transit(b, after, b->whole, &back);
		pm_mfts_free(after);
	}
	print_range(b, name, "lost", &failed, limit);
	print_range(b, "", "back", &back, limit);
}

/* ---- Loads and time ---- */

/* Trees on links: the most and the mean; by OpenSM's masks, or, with NULL, by ours. */
static double print_loads(const struct bench *b, const char *name, const uint16_t *masks)
{
	uint32_t num = b->topology->num_switches, links = 0;
	uint64_t sum = 0, most = 0;

	for (uint32_t i = 0; i < b->topology->num_ports; i++) {
		const struct pm_port *port = &b->topology->ports[i];
		uint64_t trees = 0;

		if (b->tree->direction[i] != PM_UP)
			continue;
		for (uint32_t g = 0; g < b->num_groups; g++)
			trees +=
				masks ? masks[((size_t)g * num + port->node) * POSITIONS +
					      port->num / 16] >>
							port->num % 16 &
						1
				      : pm_mfts_has_port(b->whole, port->node,
							 b->groups[g].mlid, port->num);
		sum += trees;
		links++;
		if (trees > most)
			most = trees;
	}
	printf("trees on a link, %s: most %" PRIu64 ", mean %.2f\n", name, most,
	       (double)sum / links);
	return (double)most;
}

static double time_route(struct bench *b)
{
	double best = 1e9;

	for (int run = 0; run < 3; run++) {
		double start = cpu_ms(), took;
		struct pm_mfts *tables = route(b);

		took = cpu_ms() - start;
		pm_mfts_free(tables);
		if (took < best)
			best = took;
	}
	return best;
}

static double time_steps(struct bench *b, const struct pm_mfts *installed)
{
	struct range range = {0};
	double start = cpu_ms();

	transit(b, installed, b->whole, &range);
	return cpu_ms() - start;
}

static void compare(struct bench *b)
{
	struct pm_mfts *empty = pm_mfts_new(b->topology);
	double theirs = b->imitation_ms, ours, ours_load, their_load;

	if (!empty)
		die("out of memory");
	ours = time_route(b);
	ours_load = print_loads(b, "portmajor", NULL);
	their_load = print_loads(b, "one root", b->masks);
	printf("all trees: %.2f ms, imitation of OpenSM's %.2f ms, ratio %.3f; Sets of no difference %.2f ms, ",
	       ours, theirs, ours / theirs, time_steps(b, b->whole));
	printf("of a first load %.2f ms", time_steps(b, empty));
	printf(", %u\n", b->steps.num);
	b->good &= ours_load < their_load;
	/* Far from the usual value, so that a busy machine does no harm. */
	if (RATIOS_COUNT && b->num_groups > 1000)
		b->good &= ours < 0.5 * theirs;
	pm_mfts_free(empty);
}

static void print_head(const struct bench *b)
{
	printf("%s: %u switches, %u groups of all leaves, %u of two; large above %u; "
	       "OpenSM sends %" PRIu64 " Sets\n",
	       b->size->name, b->topology->num_switches, b->size->all, b->size->pairs,
	       pm_multicast_large(b->multicast), b->full);
	printf("| event | | events | Sets, mean | most | of OpenSM's | longest block "
	       "| Sets of a place | groups in order |\n"
	       "|---|---|---|---|---|---|---|---|---|\n");
}

int main(int argc, char **argv)
{
	uint32_t large = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	bool good = true;

	for (size_t i = 0; i < LENGTH(sizes); i++) {
		struct bench b;

		make(&b, &sizes[i], large);
		print_head(&b);
		/* The block of its own port: the tree keeps the leaf. */
		run_members(&b, 0, sizes[i].all, "member of all leaves", 1);
		/* All of a tree: two positions each of 2 leaves, 2 switches, a root. */
		run_members(&b, sizes[i].all, sizes[i].pairs < 200 ? sizes[i].pairs : 200,
			    "member of two", 10);
		for (enum kind kind = 0; kind < NUM_KINDS; kind++)
			run_kind(&b, kind);
		compare(&b);
		good &= b.good;
		end(&b);
	}
	return !good;
}
