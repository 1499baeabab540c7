/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts pairs of hosts that packets can join. For each LID every switch is visited once:
 * a walk ends at a switch of which an earlier walk has found where its packets end.
 */
#include "step.h"

#include <portmajor/base/pool.h>

#include <errno.h>
#include <string.h>

enum verdict {
	UNKNOWN,
	VISITED, /* by the present walk */
	ARRIVES,
	FAILS,
};

struct walks {
	const struct pm_check *check;
	uint32_t *hosts;   /* [switch] hosts with a LID */
	uint32_t *part;	   /* [switch] as find_parts */
	uint32_t *path;	   /* switches of the present walk */
	uint8_t *verdict;  /* [switch] enum verdict, of the present LID */
	uint8_t *isolated; /* [switch] a LID of the present port does not arrive */
};

void find_parts(const struct pm_fabric *fabric, uint32_t *part, uint32_t *queue)
{
	for (uint32_t i = 0; i < fabric->num_switches; i++)
		part[i] = PM_NONE;
	for (uint32_t i = 0; i < fabric->num_switches; i++) {
		uint32_t head = 0, tail = 0;

		if (part[i] != PM_NONE)
			continue;
		part[i] = i;
		queue[tail++] = i;
		while (head < tail) {
			const struct pm_node *n = &fabric->nodes[queue[head++]];
			uint32_t last = n->first_port + n->num_ports;

			for (uint32_t p = n->first_port + 1; p <= last; p++) {
				uint32_t y = pm_fabric_peer_node(fabric, p);

				if (y == PM_NONE || y >= fabric->num_switches ||
				    part[y] != PM_NONE)
					continue;
				part[y] = i;
				queue[tail++] = y;
			}
		}
	}
}

/* Whether an end port is a host's with a LID and a link to a switch. */
static bool is_host(const struct pm_fabric *fabric, uint32_t port)
{
	const struct pm_port *p = &fabric->ports[port];
	uint32_t sw = p->peer == PM_NONE ? PM_NONE : fabric->ports[p->peer].node;

	return p->node >= fabric->num_switches && p->lid && sw < fabric->num_switches &&
	       !pm_host_is_service(fabric->ports[p->peer].host);
}

/* Follows a LID from a switch to the port, or not. */
static enum verdict walk_pair(struct walks *w, uint32_t from, uint32_t lid, uint32_t port)
{
	uint32_t sw = from, at = PM_NONE, depth = 0;
	enum verdict verdict = UNKNOWN;
	enum step step = STEP_ON;

	while (step == STEP_ON && w->verdict[sw] == UNKNOWN) {
		w->verdict[sw] = VISITED;
		w->path[depth++] = sw;
		step = take_step(w->check, lid, &sw, &at);
	}
	if (step == STEP_ON) /* a loop, or known */
		verdict = w->verdict[sw] == ARRIVES ? ARRIVES : FAILS;
	else
		verdict = step == STEP_END && at == port ? ARRIVES : FAILS;
	while (depth)
		w->verdict[w->path[--depth]] = (uint8_t)verdict;
	return verdict;
}

/* Follows all LIDs of a port from all switches with hosts. */
static void walk_to(struct walks *w, uint32_t port)
{
	const struct pm_fabric *fabric = w->check->fabric;
	const struct pm_port *p = &fabric->ports[port];

	memset(w->isolated, 0, fabric->num_switches);
	for (uint32_t k = 0; k < 1u << p->lmc; k++) {
		memset(w->verdict, UNKNOWN, fabric->num_switches);
		for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
			if (w->hosts[sw] && walk_pair(w, sw, p->lid + k, port) == FAILS)
				w->isolated[sw] = 1;
	}
}

/* Counts the pairs with hosts of other switches that send to this one. */
static void count_host_pairs(const struct walks *w, uint32_t port,
			     struct pm_check_pairs *pairs)
{
	const struct pm_fabric *fabric = w->check->fabric;
	uint32_t to = switch_of(fabric, port);

	for (uint32_t sw = 0; sw < fabric->num_switches; sw++) {
		if (sw == to || w->part[sw] != w->part[to])
			continue;
		pairs->connected += w->hosts[sw];
		if (!w->isolated[sw])
			pairs->reachable += w->hosts[sw];
		else if (w->hosts[sw] && pairs->from == PM_NONE) {
			pairs->from = sw;
			pairs->to = port;
		}
	}
}

int pm_check_pairs(const struct pm_check *check, struct pm_check_pairs *pairs,
		   struct pm_error *err)
{
	const struct pm_fabric *fabric = check->fabric;
	uint32_t num = fabric->num_switches;
	struct pm_pool pool = {0};
	struct walks w = {
		.check = check,
		.hosts = pm_pool_array(&pool, num, sizeof(*w.hosts)),
		.part = pm_pool_array(&pool, num, sizeof(*w.part)),
		.path = pm_pool_array(&pool, num, sizeof(*w.path)),
		.verdict = pm_pool_array(&pool, num, 1),
		.isolated = pm_pool_array(&pool, num, 1),
	};
	int rc = pm_pool_check(&pool, err);

	*pairs = (struct pm_check_pairs){.from = PM_NONE, .to = PM_NONE};
	if (!rc)
		find_parts(fabric, w.part, w.path);
	for (uint32_t port = 0; !rc && port < fabric->num_ports; port++)
		if (is_host(fabric, port))
			w.hosts[switch_of(fabric, port)]++;
	for (uint32_t port = 0; !rc && port < fabric->num_ports; port++)
		if (is_host(fabric, port)) {
			walk_to(&w, port);
			count_host_pairs(&w, port, pairs);
		}
	pm_pool_free(&pool);
	return rc;
}
