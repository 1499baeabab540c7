/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts the paths that are cut off. For each LID the entries of all switches form trees
 * and loops. Each switch has a mark: its path ends at the host, in a loop, or in a dead
 * end. When an entry changes, the new path is followed. If it ends differently, so do the
 * paths through this switch, which are found from its neighbours on.
 */
#include <portmajor/base/bits.h>
#include <portmajor/base/pool.h>
#include <portmajor/lab/cutoff.h>
#include <portmajor/memory/xalloc.h>

#include <stdlib.h>
#include <string.h>

#define BLOCK 64

struct pm_cutoff {
	struct pm_pool pool;
	const struct pm_fabric *fabric;
	uint8_t *usable;  /* [port] */
	uint8_t *counted; /* [port] hosts there count */
	uint8_t *tables;  /* [switch][length] */
	uint32_t length;
	struct pm_cutoff_lid *lids;
	uint32_t num_lids;
	uint32_t *by_lid;   /* [length] index into lids, or PM_NONE */
	uint32_t *hosts;    /* [switch] number of usable hosts */
	uint64_t *leads;    /* [lid][words] switches with a path to the host, */
	uint64_t *loops;    /* and those with a path into a loop; others: dead end */
	uint32_t words;	    /* of one LID */
	uint32_t *queue;    /* [switch] room */
	uint8_t *state;	    /* [switch] room: enum state */
	uint64_t num_hosts; /* number of hosts that count */
	uint64_t paths, dead, looping;
};

/* How a path ends. */
enum end { DEAD_END, LOOP, HOST };

/* Progress of a search. */
enum state { UNKNOWN, ON_THE_PATH, KNOWN };

/* There is no next switch. */
#define NOWHERE PM_NONE
#define ARRIVED (PM_NONE - 1)

static uint32_t next_of(const struct pm_cutoff *cutoff, uint32_t lid, uint32_t sw)
{
	const struct pm_node *n = &cutoff->fabric->nodes[sw];
	const struct pm_cutoff_lid *to = &cutoff->lids[lid];
	uint8_t out = cutoff->tables[(size_t)sw * cutoff->length + to->lid];
	uint32_t port = n->first_port + out, remote;

	if (out == 0 || out > n->num_ports || !cutoff->usable[port])
		return NOWHERE;
	if (port == to->port)
		return ARRIVED;
	remote = pm_fabric_peer_node(cutoff->fabric, port);
	return remote < cutoff->fabric->num_switches ? remote : NOWHERE;
}

/* The index of a switch's bit in leads or loops. */
static size_t bit_of(const struct pm_cutoff *cutoff, uint32_t lid, uint32_t sw)
{
	return (size_t)lid * cutoff->words * 64 + sw;
}

/* The marked end of a switch's path. */
static enum end end_of(const struct pm_cutoff *cutoff, uint32_t lid, uint32_t sw)
{
	size_t bit = bit_of(cutoff, lid, sw);

	if (cutoff->leads[bit / 64] >> bit % 64 & 1)
		return HOST;
	return cutoff->loops[bit / 64] >> bit % 64 & 1 ? LOOP : DEAD_END;
}

/*
 * The number of paths from usable hosts at a switch to a LID: a host has none to itself.
 */
static uint32_t paths_from(const struct pm_cutoff *cutoff, uint32_t lid, uint32_t sw)
{
	uint32_t port = cutoff->lids[lid].port;

	return cutoff->hosts[sw] -
	       (cutoff->fabric->ports[port].node == sw && cutoff->usable[port]);
}

/* Marks the present end of a switch's path. */
static void mark(struct pm_cutoff *cutoff, uint32_t lid, uint32_t sw, enum end end)
{
	enum end before = end_of(cutoff, lid, sw);
	uint32_t paths = paths_from(cutoff, lid, sw);
	size_t bit = bit_of(cutoff, lid, sw);
	uint64_t mask = (uint64_t)1 << bit % 64;

	if ((before == HOST) != (end == HOST)) {
		cutoff->leads[bit / 64] ^= mask;
		cutoff->dead += end == HOST ? -(uint64_t)paths : paths;
	}
	if ((before == LOOP) != (end == LOOP)) {
		cutoff->loops[bit / 64] ^= mask;
		cutoff->looping += end == LOOP ? paths : -(uint64_t)paths;
	}
}

/* Follows a switch's path to a switch with a known end: the whole path has that end. */
static void find_out(struct pm_cutoff *cutoff, uint32_t lid, uint32_t sw)
{
	uint32_t num = 0;
	enum end end;

	while (sw < ARRIVED && cutoff->state[sw] == UNKNOWN) {
		cutoff->state[sw] = ON_THE_PATH;
		cutoff->queue[num++] = sw;
		sw = next_of(cutoff, lid, sw);
	}
	if (sw >= ARRIVED)
		end = sw == ARRIVED ? HOST : DEAD_END;
	else
		end = cutoff->state[sw] == KNOWN ? end_of(cutoff, lid, sw) : LOOP;
	while (num) {
		cutoff->state[cutoff->queue[--num]] = KNOWN;
		mark(cutoff, lid, cutoff->queue[num], end);
	}
}

/* Marks and counts everything anew. */
static void count(struct pm_cutoff *cutoff)
{
	const struct pm_fabric *fabric = cutoff->fabric;
	uint32_t last = PM_NONE;

	memset(cutoff->leads, 0,
	       (size_t)cutoff->num_lids * cutoff->words * sizeof(*cutoff->leads));
	memset(cutoff->loops, 0,
	       (size_t)cutoff->num_lids * cutoff->words * sizeof(*cutoff->loops));
	memset(cutoff->hosts, 0, fabric->num_switches * sizeof(*cutoff->hosts));
	cutoff->num_hosts = cutoff->paths = cutoff->looping = 0;
	for (uint32_t lid = 0; lid < cutoff->num_lids; lid++) {
		uint32_t port = cutoff->lids[lid].port;

		if (port != last && cutoff->counted[port]) {
			cutoff->hosts[fabric->ports[port].node] += cutoff->usable[port];
			cutoff->num_hosts++;
		}
		last = port;
	}
	for (uint32_t lid = 0; lid < cutoff->num_lids; lid++)
		if (cutoff->counted[cutoff->lids[lid].port])
			cutoff->paths += cutoff->num_hosts - 1;
	cutoff->dead = cutoff->paths;
	for (uint32_t lid = 0; lid < cutoff->num_lids; lid++) {
		if (!cutoff->counted[cutoff->lids[lid].port])
			continue;
		memset(cutoff->state, UNKNOWN, fabric->num_switches);
		for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
			find_out(cutoff, lid, sw);
	}
}

struct pm_cutoff *pm_cutoff_new(const struct pm_fabric *fabric, const uint8_t *usable,
				const uint8_t *tables, uint32_t length,
				const struct pm_cutoff_lid *lids, uint32_t num_lids)
{
	struct pm_cutoff *cutoff = pm_xarray(1, sizeof(*cutoff));
	uint32_t num = fabric->num_switches;
	struct pm_pool *pool = &cutoff->pool;

	cutoff->fabric = fabric;
	cutoff->length = length;
	cutoff->num_lids = num_lids;
	cutoff->words = pm_bits_words(num);
	cutoff->usable = pm_pool_xcopy(pool, usable, fabric->num_ports, 1);
	cutoff->counted = pm_pool_xcopy(pool, usable, fabric->num_ports, 1);
	cutoff->tables = pm_pool_xcopy(pool, tables, num, length);
	cutoff->lids = pm_pool_xcopy(pool, lids, num_lids, sizeof(*lids));
	cutoff->by_lid = pm_pool_xarray(pool, length, sizeof(uint32_t));
	cutoff->hosts = pm_pool_xarray(pool, num, sizeof(uint32_t));
	cutoff->leads =
		pm_pool_xarray(pool, (size_t)num_lids * cutoff->words, sizeof(uint64_t));
	cutoff->loops =
		pm_pool_xarray(pool, (size_t)num_lids * cutoff->words, sizeof(uint64_t));
	cutoff->queue = pm_pool_xarray(pool, num, sizeof(uint32_t));
	cutoff->state = pm_pool_xarray(pool, num, 1);
	for (uint32_t i = 0; i < length; i++)
		cutoff->by_lid[i] = PM_NONE;
	for (uint32_t i = 0; i < num_lids; i++)
		cutoff->by_lid[lids[i].lid] = i;
	count(cutoff);
	return cutoff;
}

void pm_cutoff_free(struct pm_cutoff *cutoff)
{
	if (cutoff)
		pm_pool_free(&cutoff->pool);
	free(cutoff);
}

void pm_cutoff_links(struct pm_cutoff *cutoff, const uint8_t *usable,
		     const uint8_t *counted)
{
	memcpy(cutoff->usable, usable, cutoff->fabric->num_ports);
	memcpy(cutoff->counted, counted, cutoff->fabric->num_ports);
	count(cutoff);
}

/* The present end of a switch's path, whatever its mark is. */
static enum end follow_entries(const struct pm_cutoff *cutoff, uint32_t lid, uint32_t sw)
{
	for (uint32_t hops = 0; hops <= cutoff->fabric->num_switches; hops++) {
		sw = next_of(cutoff, lid, sw);
		if (sw >= ARRIVED)
			return sw == ARRIVED ? HOST : DEAD_END;
	}
	return LOOP;
}

/* Marks the switches with paths over this one with its end. */
static void spread(struct pm_cutoff *cutoff, uint32_t lid, uint32_t sw, enum end end)
{
	const struct pm_fabric *fabric = cutoff->fabric;
	uint32_t num = 0;

	mark(cutoff, lid, sw, end);
	cutoff->queue[num++] = sw;
	for (uint32_t i = 0; i < num; i++) {
		pm_for_each_port(port, fabric, cutoff->queue[i]) {
			uint32_t remote = pm_fabric_peer_node(fabric, port);

			if (remote >= fabric->num_switches ||
			    end_of(cutoff, lid, remote) == end ||
			    next_of(cutoff, lid, remote) != cutoff->queue[i])
				continue;
			mark(cutoff, lid, remote, end);
			cutoff->queue[num++] = remote;
		}
	}
}

uint32_t pm_cutoff_set(struct pm_cutoff *cutoff, uint32_t sw, uint32_t block,
		       const uint8_t *entries)
{
	uint32_t first = block * BLOCK, differ = 0;
	uint8_t *table = cutoff->tables + (size_t)sw * cutoff->length + first;

	for (uint32_t i = 0; i < BLOCK; i++) {
		uint32_t lid = cutoff->by_lid[first + i];
		enum end end;

		if (table[i] == entries[i])
			continue;
		differ++;
		table[i] = entries[i];
		if (lid == PM_NONE || !cutoff->counted[cutoff->lids[lid].port])
			continue;
		end = follow_entries(cutoff, lid, sw);
		if (end != end_of(cutoff, lid, sw))
			spread(cutoff, lid, sw, end);
	}
	return differ;
}

uint64_t pm_cutoff_hosts(const struct pm_cutoff *cutoff)
{
	return cutoff->num_hosts;
}

uint64_t pm_cutoff_paths(const struct pm_cutoff *cutoff)
{
	return cutoff->paths;
}

uint64_t pm_cutoff_dead(const struct pm_cutoff *cutoff)
{
	return cutoff->dead;
}

uint64_t pm_cutoff_looping(const struct pm_cutoff *cutoff)
{
	return cutoff->looping;
}
