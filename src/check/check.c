/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <portmajor/check.h>
#include <portmajor/alloc.h>

#include "step.h"

#include <errno.h>

static int no_memory(struct pm_error *err)
{
	return pm_error_no_memory(err);
}

/*
 * Marks what an up-then-down path from a switch reaches: a search over pairs
 * (switch, has gone down). seen[] holds two flags per switch.
 */
static void search(const struct pm_check *check, uint32_t from, uint8_t *seen,
		   uint32_t *queue)
{
	const struct pm_fabric *fabric = check->fabric;
	uint32_t head = 0, tail = 0;

	memset(seen, 0, 2 * (size_t)fabric->num_switches);
	seen[2 * from] = 1;
	queue[tail++] = 2 * from;
	while (head < tail) {
		uint32_t x = queue[head] / 2, gone_down = queue[head] % 2;
		const struct pm_node *n = &fabric->nodes[x];

		head++;
		for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports;
		     i++) {
			uint32_t y = pm_fabric_peer_node(fabric, i), state;

			if (y == PM_NONE || y >= fabric->num_switches ||
			    (check->level[y] != check->level[x] + 1 &&
			     check->level[y] + 1 != check->level[x]))
				continue; /* not a tree's cable */
			if (check->level[y] > check->level[x] && gone_down)
				continue;
			state = 2 * y + (check->level[y] < check->level[x]);
			if (seen[state])
				continue;
			seen[state] = 1;
			queue[tail++] = state;
		}
	}
}

static void note(struct pm_check_paths *result, const struct pm_check *check,
		 enum pm_check_fault fault, uint32_t from, uint32_t lid, uint32_t port)
{
	static const char *const names[PM_FAULTS] = {
		[PM_FAULT_LOST] = "lost",
		[PM_FAULT_LOOP] = "loop",
		[PM_FAULT_TURN] = "turns up after going down",
		[PM_FAULT_ASTRAY] = "ends elsewhere",
		[PM_FAULT_APART] = "not reached",
		[PM_FAULT_DEAF] = "no way to the manager",
	};
	const struct pm_fabric *fabric = check->fabric;

	if (result->example[fault].text[0])
		return;
	pm_error_set(&result->example[fault], 0, "%s: from \"%s\" to LID %u of \"%s\"",
		     names[fault], pm_fabric_name(fabric, from), lid,
		     pm_fabric_name(fabric, fabric->ports[port].node));
	if (fault != PM_FAULT_APART && !result->first.text[0])
		result->first = result->example[fault];
}

/* Follows one LID from one switch; a path exists. */
static void follow(const struct pm_check *check, uint32_t from, uint32_t port,
		   uint32_t lid, struct pm_check_paths *result)
{
	uint32_t sw = from, at = PM_NONE, hops = 0, limit = check->fabric->num_switches;
	bool down = false, turned = false;
	enum step step;

	for (;;) {
		uint32_t before = sw;

		step = take_step(check, lid, &sw, &at);
		if (step != STEP_ON)
			break;
		if (check->level[sw] < check->level[before])
			down = true;
		else if (down || check->level[sw] == check->level[before])
			turned = true;
		if (++hops > limit) {
			result->loops++;
			note(result, check, PM_FAULT_LOOP, from, lid, port);
			return;
		}
	}
	if (turned) {
		result->turns++;
		note(result, check, PM_FAULT_TURN, from, lid, port);
	}
	if (step == STEP_DROP) {
		result->lost++;
		note(result, check, PM_FAULT_LOST, from, lid, port);
	} else if (at != port) {
		result->astray++;
		note(result, check, PM_FAULT_ASTRAY, from, lid, port);
	} else {
		result->delivered++;
	}
}

/* Whether a LID's path from a switch ends at the port, whichever way it goes. */
static bool arrives(const struct pm_check *check, uint32_t from, uint32_t port,
		    uint32_t lid)
{
	uint32_t sw = from, at = PM_NONE, hops = 0;
	enum step step;

	do
		step = take_step(check, lid, &sw, &at);
	while (step == STEP_ON && ++hops <= check->fabric->num_switches);
	return step == STEP_END && at == port;
}

/*
 * Numbers the parts of the fabric that cables join, over switches alone: part[sw] is the
 * lowest switch of its part.
 */
static void find_parts(const struct pm_fabric *fabric, uint32_t *part, uint32_t *queue)
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

/* What no up-then-down path joins: an end port's LIDs may be reached all the same. */
static void follow_apart(const struct pm_check *check, uint32_t from, uint32_t port,
			 struct pm_check_paths *result)
{
	const struct pm_port *p = &check->fabric->ports[port];

	if (p->node < check->fabric->num_switches)
		return;
	for (uint32_t k = 0; k < 1u << p->lmc; k++)
		if (!arrives(check, from, port, p->lid + k)) {
			result->apart++;
			note(result, check, PM_FAULT_APART, from, p->lid + k, port);
		}
}

/* From every switch that cables join with the manager's. */
static void follow_to_manager(const struct pm_check *check, uint8_t *seen,
			      uint32_t *queue, struct pm_check_paths *result)
{
	const struct pm_fabric *fabric = check->fabric;
	const struct pm_port *port = &fabric->ports[check->manager];
	uint32_t head = 0, tail = 0;

	memset(seen, 0, fabric->num_switches);
	queue[tail] = switch_of(fabric, check->manager);
	if (queue[tail] == PM_NONE || !port->lid)
		return;
	seen[queue[tail++]] = 1;
	while (head < tail) {
		uint32_t x = queue[head++];
		const struct pm_node *n = &fabric->nodes[x];

		for (uint32_t k = 0; k < 1u << port->lmc; k++)
			if (!arrives(check, x, check->manager, port->lid + k)) {
				result->deaf++;
				note(result, check, PM_FAULT_DEAF, x, port->lid + k,
				     check->manager);
			}
		for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports;
		     i++) {
			uint32_t y = pm_fabric_peer_node(fabric, i);

			if (y == PM_NONE || y >= fabric->num_switches || seen[y])
				continue;
			seen[y] = 1;
			queue[tail++] = y;
		}
	}
}

int pm_check_paths(const struct pm_check *check, bool from_all,
		   struct pm_check_paths *result, struct pm_error *err)
{
	const struct pm_fabric *fabric = check->fabric;
	uint8_t *seen = pm_array(2 * (size_t)fabric->num_switches, 1);
	uint32_t *queue = pm_array(2 * (size_t)fabric->num_switches, sizeof(*queue));
	uint32_t *part = pm_array(fabric->num_switches, sizeof(*part));
	int rc = 0;

	memset(result, 0, sizeof(*result));
	if (!seen || !queue || !part) {
		rc = no_memory(err);
		goto out;
	}
	find_parts(fabric, part, queue);
	for (uint32_t from = 0; from < fabric->num_switches; from++) {
		if (!from_all && !has_end_ports(fabric, from))
			continue;
		search(check, from, seen, queue);
		for (uint32_t port = 0; port < fabric->num_ports; port++) {
			const struct pm_port *p = &fabric->ports[port];
			uint32_t sw = p->lid ? switch_of(fabric, port) : PM_NONE;

			if (sw == PM_NONE)
				continue;
			if (!seen[2 * sw] && !seen[2 * sw + 1]) {
				result->cut += 1u << p->lmc;
				if (part[sw] == part[from])
					follow_apart(check, from, port, result);
				continue;
			}
			for (uint32_t k = 0; k < 1u << p->lmc; k++) {
				result->pairs++;
				follow(check, from, port, p->lid + k, result);
			}
		}
	}
	if (check->manager != PM_NONE)
		follow_to_manager(check, seen, queue, result);
out:
	free(seen);
	free(queue);
	free(part);
	return rc;
}

/* ---- Loads ---- */

/* End ports with a LID and a cable to a switch, by switch and port. */
static int list_end_ports(const struct pm_fabric *fabric, uint32_t **list,
			  uint32_t *count)
{
	uint32_t num = 0;
	uint32_t *ports = pm_array(fabric->num_ports, sizeof(*ports));

	if (!ports)
		return -ENOMEM;
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer;

		if (fabric->ports[i].node >= fabric->num_switches)
			break;
		if (peer != PM_NONE && fabric->ports[peer].node >= fabric->num_switches &&
		    fabric->ports[peer].lid)
			ports[num++] = peer;
	}
	*list = ports;
	*count = num;
	return 0;
}

/*
 * Adds `flows` to every link between switches on the way of a LID from a
 * switch; the largest load that comes out is returned.
 */
static uint32_t add_path(const struct pm_check *check, uint32_t from, uint32_t lid,
			 uint32_t flows, uint32_t *load)
{
	uint32_t sw = from, most = 0, hops = 0, at;

	while (take_step(check, lid, &sw, &at) == STEP_ON) {
		load[at] += flows;
		if (load[at] > most)
			most = load[at];
		if (++hops > check->fabric->num_switches)
			break;
	}
	return most;
}

static void sum_loads(const struct pm_check *check, const uint32_t *load,
		      struct pm_check_loads *loads)
{
	const struct pm_fabric *fabric = check->fabric;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t x = fabric->ports[i].node, y = pm_fabric_peer_node(fabric, i);
		struct pm_check_load *kind;
		unsigned int low;

		if (x >= fabric->num_switches || y == PM_NONE ||
		    y >= fabric->num_switches)
			continue;
		if (check->level[x] == check->level[y])
			continue;
		low = check->level[x] < check->level[y] ? check->level[x]
							: check->level[y];
		if (low >= PM_CHECK_LEVELS)
			continue;
		kind = low == check->level[x] ? &loads->up[low] : &loads->down[low];
		if (!kind->links || load[i] < kind->least)
			kind->least = load[i];
		if (load[i] > kind->most)
			kind->most = load[i];
		kind->links++;
		kind->flows += load[i];
	}
}

/* Of one leaf: LIDs of end ports elsewhere by up port. */
static void count_uplinks(const struct pm_check *check, uint32_t leaf,
			  const uint32_t *ends, uint32_t num_ends,
			  struct pm_check_loads *loads)
{
	const struct pm_fabric *fabric = check->fabric;
	const struct pm_node *n = &fabric->nodes[leaf];
	uint32_t count[PM_MAX_PORTS + 1] = {0};
	uint32_t least = PM_NONE, most = 0;

	for (uint32_t e = 0; e < num_ends; e++) {
		const struct pm_port *p = &fabric->ports[ends[e]];

		for (uint32_t k = 0; k < 1u << p->lmc; k++) {
			uint32_t lid = p->lid + k;

			if (lid <= check->top[leaf] &&
			    check->table[leaf][lid] <= n->num_ports)
				count[check->table[leaf][lid]]++;
		}
	}
	for (uint32_t p = 1; p <= n->num_ports; p++) {
		uint32_t peer = pm_fabric_peer_node(fabric, n->first_port + p);

		if (peer == PM_NONE || peer >= fabric->num_switches ||
		    check->level[peer] <= check->level[leaf])
			continue;
		if (count[p] < least)
			least = count[p];
		if (count[p] > most)
			most = count[p];
	}
	if (least == PM_NONE)
		return;
	if (most - least > loads->uplink_spread)
		loads->uplink_spread = most - least;
	if (least < loads->uplink_least)
		loads->uplink_least = least;
	if (most > loads->uplink_most)
		loads->uplink_most = most;
}

int pm_check_loads(const struct pm_check *check, struct pm_check_loads *loads,
		   struct pm_error *err)
{
	const struct pm_fabric *fabric = check->fabric;
	uint32_t *load = pm_array(fabric->num_ports, sizeof(*load));
	uint32_t *hosts = pm_array(fabric->num_switches, sizeof(*hosts));
	uint32_t *ends = NULL, num_ends = 0;
	int rc = 0;

	memset(loads, 0, sizeof(*loads));
	loads->uplink_least = PM_NONE;
	if (!load || !hosts || list_end_ports(fabric, &ends, &num_ends)) {
		rc = no_memory(err);
		goto out;
	}
	for (uint32_t e = 0; e < num_ends; e++)
		hosts[pm_fabric_peer_node(fabric, ends[e])]++;
	for (uint32_t e = 0; e < num_ends; e++)
		for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
			if (hosts[sw])
				add_path(check, sw, fabric->ports[ends[e]].lid, hosts[sw],
					 load);
	sum_loads(check, load, loads);
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		if (check->level[sw] == 0 && check->table[sw] && hosts[sw])
			count_uplinks(check, sw, ends, num_ends, loads);
out:
	free(load);
	free(hosts);
	free(ends);
	return rc;
}

int pm_check_shifts(const struct pm_check *check, uint32_t samples, uint32_t *result,
		    struct pm_error *err)
{
	const struct pm_fabric *fabric = check->fabric;
	uint32_t *load = pm_array(fabric->num_ports, sizeof(*load));
	uint32_t *ends = NULL, num_ends = 0, most = 0, steps;
	int rc = 0;

	if (!load || list_end_ports(fabric, &ends, &num_ends)) {
		rc = no_memory(err);
		goto out;
	}
	/* The last step round is none: everybody would send to itself. */
	steps = samples && samples < num_ends ? samples + 1 : num_ends;
	for (uint32_t s = 1; s < steps; s++) {
		uint32_t k = (uint32_t)((uint64_t)s * num_ends / steps);

		memset(load, 0, fabric->num_ports * sizeof(*load));
		for (uint32_t i = 0; i < num_ends; i++) {
			uint32_t to = ends[(i + k) % num_ends], here;

			here = add_path(check, pm_fabric_peer_node(fabric, ends[i]),
					fabric->ports[to].lid, 1, load);
			if (here > most)
				most = here;
		}
	}
	*result = most;
out:
	free(load);
	free(ends);
	return rc;
}
