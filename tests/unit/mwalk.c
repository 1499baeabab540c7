/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "mwalk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[256];

static const char *log_line(const struct mwalk *walk, uint16_t mlid, uint32_t from,
			    uint32_t port, const char *what)
{
	const struct pm_port *a = &walk->topology->ports[from],
			     *b = &walk->topology->ports[port];

	snprintf(text, sizeof(text), "MLID 0x%x from %s[%u]: %s at %s[%u]", mlid,
		 pm_fabric_label(walk->topology, a->node), a->num, what,
		 pm_fabric_label(walk->topology, b->node), b->num);
	return text;
}

/*
 * A copy enters a switch by a port, and leaves by others; copies that enter switches
 * are added to the queue. Returns a port with a second copy, or PM_NONE.
 */
static uint32_t relay(const struct mwalk *walk, uint16_t mlid, uint32_t in,
		      uint8_t *visited, uint8_t *received, uint32_t *queue, uint32_t *num)
{
	const struct pm_node *n = &walk->topology->nodes[walk->topology->ports[in].node];

	for (unsigned int out = 0; out <= n->num_ports; out++) {
		uint32_t port = n->first_port + out,
			 peer = walk->topology->ports[port].peer;

		if (port == in ||
		    !pm_mfts_has_port(walk->tables, walk->topology->ports[in].node, mlid,
				      out))
			continue;
		if (peer == PM_NONE) {
			if (++received[port] > 1)
				return port;
			continue;
		}
		if (walk->up && !walk->up[port])
			continue;
		if (visited[peer])
			return peer;
		visited[peer] = 1;
		queue[(*num)++] = peer;
	}
	return PM_NONE;
}

const char *mwalk_send(const struct mwalk *walk, uint16_t mlid, uint32_t from,
		       uint8_t *received)
{
	uint32_t num_ports = walk->topology->num_ports, num = 1, twice = PM_NONE;
	uint32_t *queue = malloc(sizeof(*queue) * (num_ports + 1));
	uint8_t *visited = calloc(num_ports, 1);

	if (!queue || !visited)
		exit(2);
	queue[0] = from;
	for (uint32_t i = 0; i < num && twice == PM_NONE; i++)
		twice = relay(walk, mlid, queue[i], visited, received, queue, &num);
	free(queue);
	free(visited);
	return twice == PM_NONE ? NULL
				: log_line(walk, mlid, from, twice, "a second copy");
}

/* Marks members. */
static uint8_t *mark(const struct mwalk *walk, const uint32_t *ports, uint32_t num)
{
	uint8_t *marks = calloc(walk->topology->num_ports, 1);

	if (!marks)
		exit(2);
	for (uint32_t i = 0; i < num; i++)
		marks[ports[i]] = 1;
	return marks;
}

const char *mwalk_group(const struct mwalk *walk, const struct pm_group *group)
{
	uint8_t *member = mark(walk, group->members, group->num);
	uint8_t *received = mark(walk, NULL, 0);
	const char *wrong = NULL;

	for (uint32_t i = 0; i < group->num && !wrong; i++) {
		uint32_t from = group->members[i];

		memset(received, 0, walk->topology->num_ports);
		wrong = mwalk_send(walk, group->mlid, from, received);
		for (uint32_t port = 0; port < walk->topology->num_ports && !wrong;
		     port++)
			if (received[port] != (member[port] && port != from))
				wrong = log_line(walk, group->mlid, from, port,
						 received[port] ? "received by no member"
								: "not received");
	}
	free(member);
	free(received);
	return wrong;
}

const char *mwalk_harmless(const struct mwalk *walk, uint16_t mlid, const uint32_t *from,
			   uint32_t num, const uint8_t *may)
{
	uint8_t *received = mark(walk, NULL, 0);
	const char *wrong = NULL;

	for (uint32_t i = 0; i < num && !wrong; i++) {
		memset(received, 0, walk->topology->num_ports);
		wrong = mwalk_send(walk, mlid, from[i], received);
		for (uint32_t port = 0; port < walk->topology->num_ports && !wrong;
		     port++)
			if (received[port] && (!may[port] || port == from[i]))
				wrong = log_line(walk, mlid, from[i], port,
						 "received by no member");
	}
	free(received);
	return wrong;
}
