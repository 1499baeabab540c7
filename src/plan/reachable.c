/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts the pairs of end ports that have a path. */
#include <portmajor/base/alloc.h>
#include <portmajor/base/bits.h>
#include <portmajor/plan/reachable.h>

#include <errno.h>

/* Counts pairs that links connect: those of a component, less those at one switch. */
static uint64_t count_connected(uint32_t num_switches, const uint32_t *hosts,
				const uint32_t *part, uint32_t *total)
{
	uint64_t connected = 0;

	memset(total, 0, num_switches * sizeof(*total));
	for (uint32_t sw = 0; sw < num_switches; sw++)
		total[part[sw]] += hosts[sw];
	for (uint32_t sw = 0; sw < num_switches; sw++)
		connected += (uint64_t)hosts[sw] * (total[part[sw]] - hosts[sw]);
	return connected;
}

/* Counts end ports at switches that are not in a row of pm_reach. */
static uint64_t count_lacking(const struct pm_reach *reach, uint32_t num_switches,
			      const uint64_t *row, const uint32_t *hosts)
{
	uint64_t count = 0;

	for (uint32_t w = 0; w < reach->words; w++)
		for (uint64_t lacking = ~row[w]; lacking; lacking &= lacking - 1) {
			uint32_t sw = w * 64 + (uint32_t)__builtin_ctzll(lacking);

			if (sw < num_switches)
				count += hosts[sw];
		}
	return count;
}

uint64_t pm_reachable_pairs(const struct pm_reach *reach, uint32_t num_switches,
			    const uint32_t *hosts)
{
	uint64_t all = 0, pairs = 0;

	for (uint32_t sw = 0; sw < num_switches; sw++)
		all += hosts[sw];
	for (uint32_t sw = 0; sw < num_switches; sw++) {
		const uint64_t *row = pm_reach_updown(reach, sw);
		uint64_t here = pm_bits_test(row, sw) ? hosts[sw] : 0;

		if (hosts[sw])
			pairs += hosts[sw] *
				 (all - here -
				  count_lacking(reach, num_switches, row, hosts));
	}
	return pairs;
}

/* The first pair of switches with end ports that links connect, but no such path. */
static void find_cut(const struct pm_reach *reach, uint32_t num_switches,
		     const uint32_t *hosts, const uint32_t *part, uint32_t *cut)
{
	for (uint32_t a = 0; a < num_switches; a++) {
		const uint64_t *row = pm_reach_updown(reach, a);

		for (uint32_t b = a + 1; hosts[a] && b < num_switches; b++) {
			if (!hosts[b] || part[a] != part[b] || pm_bits_test(row, b))
				continue;
			cut[0] = a;
			cut[1] = b;
			return;
		}
	}
}

void pm_reachable_count(const struct pm_reach *reach, uint32_t num_switches,
			const uint32_t *hosts, const uint32_t *part, uint32_t *room,
			struct pm_reachable *reachable)
{
	reachable->connected = count_connected(num_switches, hosts, part, room);
	reachable->pairs = pm_reachable_pairs(reach, num_switches, hosts);
	reachable->unreachable[0] = reachable->unreachable[1] = PM_NONE;
	if (reachable->pairs < reachable->connected)
		find_cut(reach, num_switches, hosts, part, reachable->unreachable);
}

int pm_reachable_find(const struct pm_fabric *topology, const struct pm_reach *reach,
		      const uint8_t *discovered, struct pm_reachable *reachable,
		      struct pm_error *err)
{
	uint32_t num = topology->num_switches;
	struct pm_pool pool = {0};
	uint32_t *hosts = pm_pool_array(&pool, num, sizeof(*hosts));
	uint32_t *part = pm_pool_array(&pool, num, sizeof(*part));
	uint32_t *room = pm_pool_array(&pool, num, sizeof(*room));
	int rc = pm_pool_check(&pool, err);

	if (rc)
		goto out;
	for (uint32_t sw = 0; sw < num; sw++)
		hosts[sw] = pm_fabric_count_hosts(topology, sw, discovered);
	pm_reach_parts(topology, discovered, part, room);
	pm_reachable_count(reach, num, hosts, part, room, reachable);
out:
	pm_pool_free(&pool);
	return rc;
}

int pm_reachable_refuse(const struct pm_reachable *reachable,
			const struct pm_fabric *topology, const struct pm_tree *tree,
			struct pm_error *err)
{
	return pm_error_set(
		err, -ENOTSUP,
		"not a fat tree: no up-then-down path joins %llu of %llu pairs of hosts, "
		"such as those at \"%s\" and \"%s\" (%u cables between switches of one "
		"level); if it is one, root_guid_file can name its roots",
		(unsigned long long)(reachable->connected - reachable->pairs),
		(unsigned long long)reachable->connected,
		pm_fabric_label(topology, reachable->unreachable[0]),
		pm_fabric_label(topology, reachable->unreachable[1]), tree->num_side);
}
