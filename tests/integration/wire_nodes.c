/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Nodes and cables as seen in answers. See wire_nodes.h. */

#include "wire_nodes.h"

#include <arpa/inet.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNICAST_LIDS 0xc000u

/* The other end of a port; port 0 is the node itself. */
struct end {
	uint64_t guid;
	struct target peer;
	uint8_t port;
	uint8_t hops; /* of port 0: the route that it was found by last */
	uint8_t route[SMP_PATH_BYTES];
};

static struct {
	void *ends; /* of tsearch */
	struct target own;
	struct target lid_target[UNICAST_LIDS];
} nodes;

static int compare_ends(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return x->port - y->port;
}

static struct end *find_end(uint64_t guid, uint8_t port)
{
	struct end wanted = {.guid = guid, .port = port};
	void *found = tfind(&wanted, &nodes.ends, compare_ends);

	return found ? *(struct end **)found : NULL;
}

static struct end *learn_end(uint64_t guid, uint8_t port, struct target peer)
{
	struct end *end = calloc(1, sizeof(*end)), **topology = NULL;

	if (end) {
		*end = (struct end){.guid = guid, .port = port};
		topology = tsearch(end, &nodes.ends, compare_ends);
	}
	if (!topology) {
		fprintf(stderr, "wire: no memory for cables\n");
		abort();
	}
	if (*topology != end)
		free(end);
	(*topology)->peer = peer;
	return *topology;
}

struct target nodes_peer(uint64_t guid, uint8_t port)
{
	const struct end *end = guid ? find_end(guid, port) : NULL;

	return end ? end->peer : (struct target){0};
}

/* The end of so many hops of a directed route. */
static struct target follow(const uint8_t *mad, unsigned int hops)
{
	struct target target = nodes.own;

	for (unsigned int i = 1; i <= hops && target.guid; i++)
		target = nodes_peer(target.guid, mad[SMP_PATH + i]);
	return target;
}

static void learn_node(const uint8_t *question, const uint8_t *answer)
{
	struct target found = {.guid = read_be(answer + NODE_INFO_GUID, 8),
			       .port = answer[NODE_INFO_PORT],
			       .is_switch = answer[NODE_INFO_TYPE] == NODE_SWITCH};
	unsigned int hops = hop_count(question);
	struct end *node = learn_end(found.guid, 0, found);
	struct target before;

	node->hops = (uint8_t)hops;
	memcpy(node->route, question + SMP_PATH, sizeof(node->route));
	if (!hops)
		nodes.own = found;
	before = hops ? follow(question, hops - 1) : (struct target){0};
	if (!before.guid)
		return;
	before.port = question[SMP_PATH + hops];
	learn_end(before.guid, before.port, found);
	learn_end(found.guid, found.port, before);
}

void nodes_learn(const uint8_t *question, const uint8_t *answer)
{
	uint64_t lid = read_be(answer + SMP_DATA + PORT_INFO_LID, 2);
	struct target target;

	if (question[MAD_CLASS] != CLASS_SMP_DIRECT)
		return;
	if (attr_id(question) == ATTR_NODE_INFO)
		learn_node(question, answer);
	if (attr_id(question) != ATTR_PORT_INFO || lid >= UNICAST_LIDS)
		return;
	target = follow(question, hop_count(question));
	if (target.guid && !(target.is_switch && attr_modifier(question)))
		nodes.lid_target[lid] = target;
}

struct target nodes_where(const void *umad)
{
	const uint8_t *mad = umad_get_mad((void *)(uintptr_t)umad);
	uint16_t lid;

	if (mad[MAD_CLASS] == CLASS_SMP_DIRECT)
		return follow(mad, hop_count(mad));
	lid = ntohs(((const ib_user_mad_t *)umad)->addr.lid);
	return lid < UNICAST_LIDS ? nodes.lid_target[lid] : (struct target){0};
}

const uint8_t *nodes_route(uint64_t guid, unsigned int *hops)
{
	const struct end *node = find_end(guid, 0);

	if (node)
		*hops = node->hops;
	return node ? node->route : NULL;
}

uint16_t nodes_lid(uint64_t guid)
{
	for (uint32_t lid = 1; lid < UNICAST_LIDS; lid++)
		if (nodes.lid_target[lid].guid == guid)
			return (uint16_t)lid;
	return 0;
}
