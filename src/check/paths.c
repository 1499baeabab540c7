/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Follows packets: whether they arrive, and whether on up-then-down paths. */
#include "step.h"

#include <portmajor/base/alloc.h>

/*
 * Marks what an up-then-down path from a switch reaches: a search over pairs
 * (switch, has gone down). visited[] holds two flags per switch.
 */
static void search_reach(const struct pm_check *check, uint32_t from, uint8_t *visited,
			 uint32_t *queue)
{
	const struct pm_fabric *fabric = check->fabric;
	uint32_t head = 0, tail = 0;

	memset(visited, 0, 2 * (size_t)fabric->num_switches);
	visited[2 * (size_t)from] = 1;
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
				continue; /* a link outside the tree */
			if (check->level[y] > check->level[x] && gone_down)
				continue;
			state = 2 * y + (check->level[y] < check->level[x]);
			if (visited[state])
				continue;
			visited[state] = 1;
			queue[tail++] = state;
		}
	}
}

static void note_in(struct pm_error *example, const struct pm_check *check,
		    enum pm_check_fault fault, uint32_t from, uint32_t lid, uint32_t port)
{
	static const char *const names[PM_FAULTS] = {
		[PM_FAULT_LOST] = "lost",
		[PM_FAULT_LOOP] = "loop",
		[PM_FAULT_TURN] = "turns up after going down",
		[PM_FAULT_MISROUTED] = "ends elsewhere",
		[PM_FAULT_UNREACHABLE] = "not reached",
		[PM_FAULT_SM_UNREACHABLE] = "no path to the manager",
	};
	const struct pm_fabric *fabric = check->fabric;

	if (!example->text[0])
		pm_error_set(example, 0, "%s: from \"%s\" to LID %u of \"%s\"",
			     names[fault], pm_fabric_label(fabric, from), lid,
			     pm_fabric_label(fabric, fabric->ports[port].node));
}

static void note(struct pm_check_paths *result, const struct pm_check *check,
		 enum pm_check_fault fault, uint32_t from, uint32_t lid, uint32_t port)
{
	note_in(&result->example[fault], check, fault, from, lid, port);
	if (fault != PM_FAULT_UNREACHABLE && !result->first.text[0])
		result->first = result->example[fault];
}

/* Follows a LID from a switch that has an up-then-down path to the port. */
static void follow_lid(const struct pm_check *check, uint32_t from, uint32_t port,
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
		result->misrouted++;
		note(result, check, PM_FAULT_MISROUTED, from, lid, port);
	} else {
		result->delivered++;
	}
}

/* Follows a LID in any direction to *at; STEP_ON: it loops. */
static enum step find_end(const struct pm_check *check, uint32_t from, uint32_t lid,
			  uint32_t *at)
{
	uint32_t sw = from, hops = 0;
	enum step step;

	*at = PM_NONE;
	do
		step = take_step(check, lid, &sw, at);
	while (step == STEP_ON && ++hops <= check->fabric->num_switches);
	return step;
}

/* Whether a LID's path from a switch ends at the port, in any direction. */
static bool arrives(const struct pm_check *check, uint32_t from, uint32_t port,
		    uint32_t lid)
{
	uint32_t at;

	return find_end(check, from, lid, &at) == STEP_END && at == port;
}

static bool is_aggregation(const struct pm_fabric *fabric, uint32_t port)
{
	return fabric->ports[port].host == PM_AGGREGATION;
}

/* Whether all end ports of a switch, one at least, are aggregation nodes'. */
static bool has_only_aggregation(const struct pm_fabric *fabric, uint32_t sw)
{
	bool any = false;

	pm_for_each_port(i, fabric, sw) {
		uint32_t peer = pm_fabric_peer_node(fabric, i);

		if (peer == PM_NONE || peer < fabric->num_switches)
			continue;
		if (!is_aggregation(fabric, i))
			return false;
		any = true;
	}
	return any;
}

/* Follows LIDs of a pair without an up-then-down path: packets may take another one. */
static void follow_unreachable(const struct pm_check *check, uint32_t from, uint32_t port,
			       struct pm_check_paths *result)
{
	const struct pm_port *p = &check->fabric->ports[port];
	bool aggregation;

	if (p->node < check->fabric->num_switches)
		return;
	aggregation = is_aggregation(check->fabric, p->peer) &&
		      has_only_aggregation(check->fabric, from);
	for (uint32_t k = 0; k < 1u << p->lmc; k++) {
		uint32_t at;
		enum step step = find_end(check, from, p->lid + k, &at);

		if (step == STEP_END && at == port)
			continue;
		result->unreachable++;
		if (aggregation && step == STEP_DROP) {
			result->aggregation++;
			note_in(&result->left_out, check, PM_FAULT_UNREACHABLE, from,
				p->lid + k, port);
		} else {
			note(result, check, PM_FAULT_UNREACHABLE, from, p->lid + k, port);
		}
	}
}

/* Follows the SM's LIDs from every switch that links connect with the SM's switch. */
static void follow_to_sm(const struct pm_check *check, uint8_t *visited, uint32_t *queue,
			 struct pm_check_paths *result)
{
	const struct pm_fabric *fabric = check->fabric;
	const struct pm_port *port = &fabric->ports[check->sm];
	uint32_t head = 0, tail = 0;

	memset(visited, 0, fabric->num_switches);
	queue[tail] = switch_of(fabric, check->sm);
	if (queue[tail] == PM_NONE || !port->lid)
		return;
	visited[queue[tail++]] = 1;
	while (head < tail) {
		uint32_t x = queue[head++];
		const struct pm_node *n = &fabric->nodes[x];

		for (uint32_t k = 0; k < 1u << port->lmc; k++)
			if (!arrives(check, x, check->sm, port->lid + k)) {
				result->sm_unreachable++;
				note(result, check, PM_FAULT_SM_UNREACHABLE, x,
				     port->lid + k, check->sm);
			}
		for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports;
		     i++) {
			uint32_t y = pm_fabric_peer_node(fabric, i);

			if (y == PM_NONE || y >= fabric->num_switches || visited[y])
				continue;
			visited[y] = 1;
			queue[tail++] = y;
		}
	}
}

int pm_check_paths(const struct pm_check *check, bool from_all,
		   struct pm_check_paths *result, struct pm_error *err)
{
	const struct pm_fabric *fabric = check->fabric;
	uint8_t *visited = pm_array(2 * (size_t)fabric->num_switches, 1);
	uint32_t *queue = pm_array(2 * (size_t)fabric->num_switches, sizeof(*queue));
	uint32_t *part = pm_array(fabric->num_switches, sizeof(*part));
	int rc = 0;

	memset(result, 0, sizeof(*result));
	if (!visited || !queue || !part) {
		rc = pm_error_no_memory(err);
		goto out;
	}
	find_parts(fabric, part, queue);
	for (uint32_t from = 0; from < fabric->num_switches; from++) {
		if (!from_all && !has_end_ports(fabric, from))
			continue;
		search_reach(check, from, visited, queue);
		for (uint32_t port = 0; port < fabric->num_ports; port++) {
			const struct pm_port *p = &fabric->ports[port];
			uint32_t sw = p->lid ? switch_of(fabric, port) : PM_NONE;

			if (sw == PM_NONE)
				continue;
			if (!visited[2 * (size_t)sw] && !visited[2 * (size_t)sw + 1]) {
				result->cut += 1u << p->lmc;
				if (part[sw] == part[from])
					follow_unreachable(check, from, port, result);
				continue;
			}
			for (uint32_t k = 0; k < 1u << p->lmc; k++) {
				result->pairs++;
				follow_lid(check, from, port, p->lid + k, result);
			}
		}
	}
	if (check->sm != PM_NONE)
		follow_to_sm(check, visited, queue, result);
out:
	free(visited);
	free(queue);
	free(part);
	return rc;
}
