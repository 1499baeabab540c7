/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Judges multicast tables. For each MLID a depth-first search over the links that its
 * packets use finds loops, and a walk from each switch with members counts copies. The
 * members at a switch share one walk, which starts with a copy to each port of the mask:
 * a member's own walk would only lack the copy to the member itself.
 */
#include "mft_ports.h"

#include <portmajor/base/pool.h>
#include <portmajor/check/check_mfts.h>

#include <inttypes.h>

enum colour {
	WHITE, /* not visited, or for another MLID */
	GREY,  /* on the path that is being searched */
	BLACK  /* leads to no loop */
};

struct walker {
	const struct pm_fabric *fabric;
	const struct pm_mfts *mfts;
	struct pm_check_mfts *result;
	uint16_t mlid;
	uint32_t *users, num_users;   /* switches with a mask */
	uint32_t *member, num_member; /* switch ports of members, or ports 0 */
	uint32_t *is_member;	      /* [port] == MLID: the port is in member[] */
	uint32_t *sites, num_sites;   /* switches with members */
	uint32_t *site_members; /* [switch] members there, while a group is judged */
	uint8_t *colour, *next; /* [port] links in use: colour; next out port */
	uint32_t *path, *coloured, num_coloured;
	uint32_t *visited, *copies, walk; /* [switch], [port] == walk: has a copy */
	uint32_t *queue, *in; /* switches, and the port that a copy came in by */
};

/* Counts a fault; the first of a kind becomes the example, with this port. */
static void note(struct walker *w, enum pm_mft_fault fault, uint64_t count, uint32_t port,
		 const char *text)
{
	const struct pm_port *p = &w->fabric->ports[port];

	if (!w->result->count[fault])
		pm_error_set(&w->result->example[fault], 0, "MLID 0x%x, \"%s\"[%u]%s",
			     w->mlid, pm_fabric_label(w->fabric, p->node), p->num, text);
	w->result->count[fault] += count;
}

/* ---- Members ---- */

static void add_member(struct walker *w, uint32_t port)
{
	uint32_t sw = w->fabric->ports[port].node;

	if (w->is_member[port] == w->mlid)
		return;
	w->is_member[port] = w->mlid;
	w->member[w->num_member++] = port;
	if (!w->site_members[sw]++)
		w->sites[w->num_sites++] = sw;
}

/* Adds members by their switch's port. A member without a link is never reached. */
static void add_members(struct walker *w, const struct pm_group *group)
{
	for (uint32_t i = 0; i < group->num; i++) {
		uint32_t port = group->members[i];

		if (w->fabric->ports[port].node >= w->fabric->num_switches)
			port = w->fabric->ports[port].peer;
		if (port != PM_NONE &&
		    w->fabric->ports[port].node < w->fabric->num_switches)
			add_member(w, port);
	}
}

/* Finds members by masks. */
static void find_members(struct walker *w)
{
	for (uint32_t i = 0; i < w->num_users; i++) {
		const struct pm_node *n = &w->fabric->nodes[w->users[i]];

		mft_for_each_port(num, w->mfts, w->users[i], w->mlid)
			if (num <= n->num_ports &&
			    mft_is_end(w->fabric, n->first_port + num))
				add_member(w, n->first_port + num);
	}
}

/* ---- Masks ---- */

static void judge_port(struct walker *w, uint32_t sw, uint32_t num)
{
	const struct pm_node *n = &w->fabric->nodes[sw];
	uint32_t port = n->first_port + num, behind;

	if (num > n->num_ports) {
		note(w, PM_MFT_NOWHERE, 1, n->first_port, " has no such port");
		return;
	}
	if (mft_is_end(w->fabric, port)) {
		if (w->is_member[port] != w->mlid)
			note(w, PM_MFT_STRANGER, 1, port, "");
		return;
	}
	behind = mft_switch_behind(w->fabric, port);
	if (behind == PM_NONE)
		note(w, PM_MFT_NOWHERE, 1, port, " has no link");
	else if (!mft_has_entry(w->mfts, behind, w->mlid))
		note(w, PM_MFT_NOWHERE, 1, port, " leads to a switch with an empty mask");
}

static void judge_masks(struct walker *w)
{
	for (uint32_t i = 0; i < w->num_users; i++)
		mft_for_each_port(num, w->mfts, w->users[i], w->mlid)
			judge_port(w, w->users[i], num);
}

/* ---- Loops ---- */

static void colour(struct walker *w, uint32_t port, uint32_t *depth)
{
	w->colour[port] = GREY;
	w->next[port] = 0;
	w->coloured[w->num_coloured++] = port;
	w->path[(*depth)++] = port;
}

/* The next link that packets take after this one, or PM_NONE when all are done. */
static uint32_t next_link(struct walker *w, uint32_t link)
{
	const struct pm_port *in = &w->fabric->ports[w->fabric->ports[link].peer];
	const struct pm_node *n = &w->fabric->nodes[in->node];
	uint32_t num = w->next[link];

	while ((num = mft_next_port(w->mfts, in->node, w->mlid, num)) <= n->num_ports) {
		uint32_t port = n->first_port + num++;

		w->next[link] = (uint8_t)num;
		if (num - 1 != in->num && mft_switch_behind(w->fabric, port) != PM_NONE)
			return port;
	}
	return PM_NONE;
}

/* Searches the links that follow a link. Returns a link of a loop, or PM_NONE. */
static uint32_t search_from(struct walker *w, uint32_t link)
{
	uint32_t depth = 0;

	colour(w, link, &depth);
	while (depth) {
		uint32_t next = next_link(w, w->path[depth - 1]);

		if (next == PM_NONE)
			w->colour[w->path[--depth]] = BLACK;
		else if (w->colour[next] == GREY)
			return next;
		else if (w->colour[next] == WHITE)
			colour(w, next, &depth);
	}
	return PM_NONE;
}

static uint32_t search_site(struct walker *w, uint32_t sw)
{
	const struct pm_node *n = &w->fabric->nodes[sw];
	uint32_t loop = PM_NONE;

	mft_for_each_port(num, w->mfts, sw, w->mlid) {
		uint32_t port = n->first_port + num;

		if (loop == PM_NONE && num <= n->num_ports &&
		    mft_switch_behind(w->fabric, port) != PM_NONE &&
		    w->colour[port] == WHITE)
			loop = search_from(w, port);
	}
	return loop;
}

static void judge_loops(struct walker *w)
{
	uint32_t loop = PM_NONE;

	for (uint32_t i = 0; i < w->num_sites && loop == PM_NONE; i++)
		loop = search_site(w, w->sites[i]);
	if (loop != PM_NONE)
		note(w, PM_MFT_LOOP, 1, loop, "");
	while (w->num_coloured)
		w->colour[w->coloured[--w->num_coloured]] = WHITE;
}

/* ---- Copies ---- */

/* Sends copies from a switch to the ports of its mask, and queues the switches there. */
static void relay(struct walker *w, uint32_t sw, uint32_t came_by, uint32_t *num_queue)
{
	const struct pm_node *n = &w->fabric->nodes[sw];

	mft_for_each_port(num, w->mfts, sw, w->mlid) {
		uint32_t port = n->first_port + num, behind;

		if (num == came_by || num > n->num_ports)
			continue;
		behind = mft_switch_behind(w->fabric, port);
		if (behind == PM_NONE) {
			w->copies[port] = w->walk;
		} else if (w->visited[behind] == w->walk) {
			note(w, PM_MFT_TWICE, 1, w->fabric->ports[port].peer, "");
		} else {
			w->visited[behind] = w->walk;
			w->in[*num_queue] =
				w->fabric->ports[w->fabric->ports[port].peer].num;
			w->queue[(*num_queue)++] = behind;
		}
	}
}

/* Counts the copies of packets that the members at a switch send. */
static void send_from(struct walker *w, uint32_t sw)
{
	uint32_t num = 1, senders = w->site_members[sw];

	w->walk++;
	w->visited[sw] = w->walk;
	w->queue[0] = sw;
	w->in[0] = PM_NONE;
	for (uint32_t i = 0; i < num; i++)
		relay(w, w->queue[i], w->in[i], &num);
	for (uint32_t i = 0; i < w->num_member; i++) {
		uint32_t port = w->member[i];
		/* A member is no receiver of its own packets. */
		uint32_t from = senders - (w->fabric->ports[port].node == sw);

		w->result->pairs += from;
		if (w->copies[port] == w->walk)
			w->result->delivered += from;
		else if (from)
			note(w, PM_MFT_MISSED, from, port, "");
	}
}

/* ---- MLIDs ---- */

static void find_users(struct walker *w)
{
	w->num_users = 0;
	for (uint32_t sw = 0; sw < w->fabric->num_switches; sw++)
		if (mft_has_entry(w->mfts, sw, w->mlid))
			w->users[w->num_users++] = sw;
}

/* group: NULL if no group has this MLID, or if members are to be found by masks. */
static void judge_mlid(struct walker *w, const struct pm_group *group, bool find)
{
	w->num_member = w->num_sites = 0;
	find_users(w);
	if (group)
		add_members(w, group);
	else if (find)
		find_members(w);
	judge_masks(w);
	if (w->num_member < 2) {
		w->result->unused += w->num_users;
	} else {
		w->result->groups++;
		w->result->members += w->num_member;
		judge_loops(w);
		for (uint32_t i = 0; i < w->num_sites; i++)
			send_from(w, w->sites[i]);
	}
	for (uint32_t i = 0; i < w->num_sites; i++)
		w->site_members[w->sites[i]] = 0;
}

static int allocate_walker(struct walker *w, struct pm_pool *pool, struct pm_error *err)
{
	uint32_t switches = w->fabric->num_switches, ports = w->fabric->num_ports;

	w->users = pm_pool_array(pool, switches, sizeof(uint32_t));
	w->sites = pm_pool_array(pool, switches, sizeof(uint32_t));
	w->site_members = pm_pool_array(pool, switches, sizeof(uint32_t));
	w->visited = pm_pool_array(pool, switches, sizeof(uint32_t));
	w->queue = pm_pool_array(pool, switches, sizeof(uint32_t));
	w->in = pm_pool_array(pool, switches, sizeof(uint32_t));
	w->member = pm_pool_array(pool, ports, sizeof(uint32_t));
	w->is_member = pm_pool_array(pool, ports, sizeof(uint32_t));
	w->path = pm_pool_array(pool, ports, sizeof(uint32_t));
	w->coloured = pm_pool_array(pool, ports, sizeof(uint32_t));
	w->copies = pm_pool_array(pool, ports, sizeof(uint32_t));
	w->colour = pm_pool_array(pool, ports, 1);
	w->next = pm_pool_array(pool, ports, 1);
	return pm_pool_check(pool, err);
}

int pm_check_mfts(const struct pm_fabric *fabric, const struct pm_mfts *mfts,
		  const struct pm_group *groups, uint32_t num,
		  struct pm_check_mfts *result, struct pm_error *err)
{
	struct pm_pool pool = {0};
	struct walker w = {
		.fabric = fabric,
		.mfts = mfts,
		.result = result,
	};
	uint32_t end = PM_MLID_FIRST + pm_mfts_num_blocks(mfts) * PM_MFT_BLOCK, group = 0;
	int rc = allocate_walker(&w, &pool, err);

	*result = (struct pm_check_mfts){0};
	if (num && groups[num - 1].mlid >= end)
		end = groups[num - 1].mlid + 1u;
	for (uint32_t mlid = PM_MLID_FIRST; !rc && mlid < end && mlid <= PM_MLID_LAST;
	     mlid++) {
		bool has = group < num && groups[group].mlid == mlid;

		w.mlid = (uint16_t)mlid;
		judge_mlid(&w, has ? &groups[group] : NULL, !groups);
		group += has;
	}
	pm_pool_free(&pool);
	return rc;
}
