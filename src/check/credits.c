/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds credit loops. Follows the paths of every LID from all sources. At a switch that
 * an earlier path of this LID visited, only the dependency at that switch may be new.
 * Dependencies are a bit matrix per switch: in port by out port. A depth-first search
 * then looks for a cycle.
 */
#include "mft_ports.h"
#include "step.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <string.h>

enum colour {
	WHITE, /* not visited */
	GREY,  /* on the path that is being searched */
	BLACK, /* leads to no credit loop */
};

struct credits {
	const struct pm_check *check;
	uint64_t *bits;	   /* of all matrixes */
	size_t *first;	   /* [switch] where its matrix begins in bits[], in bits */
	uint8_t *used;	   /* [port] whether a path uses it as a channel */
	uint32_t *visited; /* [switch] last LID with a path there */
	uint32_t *taken;   /* [port] last MLID with packets that leave by it */
	uint8_t *colour;   /* [port] enum colour */
	uint8_t *next;	   /* [port] out port that the search is to try next */
	uint32_t *path;	   /* channels being searched, or to be followed */
	uint32_t *sources, num_sources; /* switches with end ports */
};

static size_t bit_of(const struct credits *c, uint32_t sw, uint32_t in, uint32_t out)
{
	return c->first[sw] + (size_t)in * (c->check->fabric->nodes[sw].num_ports + 1u) +
	       out;
}

static int make_graph_room(struct credits *c, const struct pm_check *check)
{
	const struct pm_fabric *fabric = check->fabric;
	size_t total = 0;

	*c = (struct credits){.check = check};
	c->first = pm_array(fabric->num_switches, sizeof(*c->first));
	if (!c->first)
		return -ENOMEM;
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++) {
		size_t ports = fabric->nodes[sw].num_ports + 1u;

		c->first[sw] = total;
		total += ports * ports;
	}
	c->bits = pm_array(total / 64 + 1, sizeof(*c->bits));
	c->used = pm_array(fabric->num_ports, 1);
	c->visited = pm_array(fabric->num_switches, sizeof(*c->visited));
	c->taken = pm_array(fabric->num_ports, sizeof(*c->taken));
	c->colour = pm_array(fabric->num_ports, 1);
	c->next = pm_array(fabric->num_ports, 1);
	c->path = pm_array(fabric->num_ports, sizeof(*c->path));
	c->sources = pm_array(fabric->num_switches, sizeof(*c->sources));
	if (!c->bits || !c->used || !c->visited || !c->taken || !c->colour || !c->next ||
	    !c->path || !c->sources)
		return -ENOMEM;
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		if (has_end_ports(fabric, sw))
			c->sources[c->num_sources++] = sw;
	return 0;
}

static void free_room(struct credits *c)
{
	free(c->bits);
	free(c->first);
	free(c->used);
	free(c->visited);
	free(c->taken);
	free(c->colour);
	free(c->next);
	free(c->path);
	free(c->sources);
}

static void note_channel(struct credits *c, uint32_t out, struct pm_check_credits *result)
{
	result->channels += !c->used[out];
	c->used[out] = 1;
}

/* Records that packets entering a switch by one port leave it by another. */
static void note_dependency(struct credits *c, uint32_t sw, uint32_t in, uint32_t out,
			    struct pm_check_credits *result)
{
	size_t bit = bit_of(c, sw, in, out);
	uint64_t mask = (uint64_t)1 << bit % 64;

	result->dependencies += !(c->bits[bit / 64] & mask);
	c->bits[bit / 64] |= mask;
}

/* ---- Unicast ---- */

/* Notes the channels on the path of a LID from a switch, and their dependencies. */
static void follow_lid(struct credits *c, uint32_t from, uint32_t lid,
		       struct pm_check_credits *result)
{
	const struct pm_fabric *fabric = c->check->fabric;
	uint32_t sw = from, in = PM_NONE, out;

	for (;;) {
		uint32_t here = sw;
		bool visited = c->visited[here] == lid;

		c->visited[here] = lid;
		if (take_step(c->check, lid, &sw, &out) != STEP_ON)
			return;
		if (in != PM_NONE)
			note_dependency(c, here, in, fabric->ports[out].num, result);
		if (visited)
			return;
		note_channel(c, out, result);
		in = fabric->ports[fabric->ports[out].peer].num;
	}
}

static void follow_all(struct credits *c, struct pm_check_credits *result)
{
	const struct pm_fabric *fabric = c->check->fabric;

	for (uint32_t port = 0; port < fabric->num_ports; port++) {
		const struct pm_port *p = &fabric->ports[port];

		if (p->node < fabric->num_switches || !p->lid ||
		    switch_of(fabric, port) == PM_NONE)
			continue;
		for (uint32_t k = 0; k < 1u << p->lmc; k++)
			for (uint32_t i = 0; i < c->num_sources; i++)
				follow_lid(c, c->sources[i], p->lid + k, result);
	}
}

/* ---- Multicast ---- */

/*
 * Packets of an MLID that entered a switch by a port, or begin there (PM_NONE), leave by
 * all other ports of the mask. Puts the channels that no packet of this MLID has taken
 * yet behind path[0..num); returns the new num.
 */
static uint32_t relay(struct credits *c, uint32_t sw, uint32_t in, uint16_t mlid,
		      uint32_t num, struct pm_check_credits *result)
{
	const struct pm_fabric *fabric = c->check->fabric;
	const struct pm_node *n = &fabric->nodes[sw];

	mft_for_each_port(out, c->check->mfts, sw, mlid) {
		uint32_t port = n->first_port + out;

		if (out == in || out > n->num_ports ||
		    mft_switch_behind(fabric, port) == PM_NONE)
			continue;
		if (in != PM_NONE)
			note_dependency(c, sw, in, out, result);
		if (c->taken[port] == mlid)
			continue;
		c->taken[port] = mlid;
		note_channel(c, port, result);
		c->path[num++] = port;
	}
	return num;
}

/* Whether the mask has the switch's own port or the port of an end node. */
static bool has_member(const struct credits *c, uint32_t sw, uint16_t mlid)
{
	const struct pm_node *n = &c->check->fabric->nodes[sw];

	mft_for_each_port(num, c->check->mfts, sw, mlid)
		if (num <= n->num_ports &&
		    mft_is_end(c->check->fabric, n->first_port + num))
			return true;
	return false;
}

static void follow_mlid(struct credits *c, uint16_t mlid, struct pm_check_credits *result)
{
	const struct pm_port *ports = c->check->fabric->ports;
	uint32_t num = 0;

	for (uint32_t sw = 0; sw < c->check->fabric->num_switches; sw++)
		if (has_member(c, sw, mlid))
			num = relay(c, sw, PM_NONE, mlid, num, result);
	while (num) {
		const struct pm_port *in = &ports[ports[c->path[--num]].peer];

		num = relay(c, in->node, in->num, mlid, num, result);
	}
}

static void follow_mlids(struct credits *c, struct pm_check_credits *result)
{
	uint32_t num = pm_mfts_num_blocks(c->check->mfts) * PM_MFT_BLOCK;

	for (uint32_t i = 0; i < num && i < PM_MLIDS; i++)
		follow_mlid(c, (uint16_t)(PM_MLID_FIRST + i), result);
}

/* ---- The search ---- */

/* The next channel to search after this one, or PM_NONE when all are done. */
static uint32_t next_channel(struct credits *c, uint32_t channel)
{
	const struct pm_fabric *fabric = c->check->fabric;
	const struct pm_port *in = &fabric->ports[fabric->ports[channel].peer];
	const struct pm_node *n = &fabric->nodes[in->node];

	while (c->next[channel] < n->num_ports) {
		uint32_t out = ++c->next[channel];
		size_t bit = bit_of(c, in->node, in->num, out);

		if (c->bits[bit / 64] >> bit % 64 & 1)
			return n->first_port + out;
	}
	return PM_NONE;
}

/*
 * Records a credit loop: the search came from the end of path[0..depth) back to a channel
 * on this path.
 */
static void note_credit_loop(const struct credits *c, uint32_t depth, uint32_t channel,
			     struct pm_check_credits *result)
{
	uint32_t start = depth;

	while (c->path[start - 1] != channel)
		start--;
	start--;
	result->length = depth - start;
	for (uint32_t i = 0; i < result->length && i < PM_CHECK_CREDIT_LOOP; i++)
		result->credit_loop[i] = c->path[start + i];
}

/* Searches the channels reachable from this one; true if there is a credit loop. */
static bool search_from(struct credits *c, uint32_t channel,
			struct pm_check_credits *result)
{
	uint32_t depth = 0;

	c->path[depth++] = channel;
	c->colour[channel] = GREY;
	while (depth) {
		uint32_t next = next_channel(c, c->path[depth - 1]);

		if (next == PM_NONE) {
			c->colour[c->path[--depth]] = BLACK;
		} else if (c->colour[next] == GREY) {
			note_credit_loop(c, depth, next, result);
			return true;
		} else if (c->colour[next] == WHITE) {
			c->colour[next] = GREY;
			c->path[depth++] = next;
		}
	}
	return false;
}

static void search_cycle(struct credits *c, struct pm_check_credits *result)
{
	uint32_t num = c->check->fabric->num_ports;

	memset(c->colour, WHITE, num);
	memset(c->next, 0, num);
	for (uint32_t port = 0; port < num; port++)
		if (c->used[port] && c->colour[port] == WHITE &&
		    search_from(c, port, result))
			return;
}

int pm_check_credits(const struct pm_check *check, struct pm_check_credits *result,
		     struct pm_error *err)
{
	struct credits c;
	int rc = make_graph_room(&c, check);

	*result = (struct pm_check_credits){0};
	if (rc) {
		free_room(&c);
		return pm_error_set(err, rc, "out of memory");
	}
	follow_all(&c, result);
	search_cycle(&c, result);
	if (check->mfts && !result->length) {
		follow_mlids(&c, result);
		search_cycle(&c, result);
		result->multicast = result->length > 0;
	}
	free_room(&c);
	return 0;
}
