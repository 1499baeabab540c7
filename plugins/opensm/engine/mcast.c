/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Computes, sends and repairs multicast tables, from a record of the switches' tables. */
#include "mcast.h"

#include "osm/mft_wire.h"

#include "../osm/mcast_groups.h"
#include "osm/lft_records.h"
#include "clock.h"

#include <portmajor/base/alloc.h>
#include <portmajor/base/pool.h>
#include <portmajor/fabric/search.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A switch's record is right, is to become unknown, or empty as it was reset. */
enum doubt { SURE, UNKNOWN, BLANK };

struct mcast {
	struct smp_sender *smps;
	struct mcast_quiet *quiet;
	const struct pm_plan *plan; /* shared; NULL: none yet */
	struct pm_pool pool; /* of the arrays by the plan's ports, switches, nodes */
	struct pm_multicast *multicast;
	struct pm_mfts *installed, *wanted;
	struct mcast_groups groups; /* as last read .. */
	struct mcast_groups routed; /* .. and those that have trees in `wanted` .. */
	uint8_t *usable;	    /* .. over these links: [port] */
	struct mcast_shown shown;
	uint16_t *capacity; /* [switch] */
	bool resized;	    /* it differs from that of `multicast` */
	bool computed;	    /* `wanted` and `trees` match all these */
	bool in_step;	    /* all switches have the wanted entries */
	uint8_t *doubted;   /* [switch] enum doubt, for the next run */
	uint8_t *reachable; /* [switch] */
	uint8_t *silent;    /* [switch] see mft_wire.h */
	uint8_t *up;	    /* [port] */
	uint32_t *by;	    /* [node] as in search.h: directed routes over `up` .. */
	uint32_t *queue;
	uint8_t sm_port; /* .. from this port of the SM's node, or 0: it is a switch */
	uint32_t blocks; /* blocks below this may have entries of ours .. */
	uint32_t passed; /* .. and switches pass packets of those below this */
	uint32_t calls;	 /* the engine's calls when groups were read .. */
	bool hushed;	 /* .. and whether OpenSM saw no records then */
	struct pm_group_tree *trees;
	uint32_t trees_room;
};

/* ---- The plan ---- */

static void free_rooms(struct mcast *m)
{
	pm_multicast_free(m->multicast);
	pm_mfts_free(m->installed);
	pm_mfts_free(m->wanted);
	pm_pool_free(&m->pool);
	pm_plan_free((struct pm_plan *)(uintptr_t)m->plan);
	m->multicast = NULL;
	m->installed = m->wanted = NULL;
	m->computed = m->in_step = false;
	m->plan = NULL;
}

/* Allocates for a plan; doubts switches that `before` lacks, or all if it is NULL. */
static int make_rooms(struct mcast *m, const struct pm_plan *plan,
		      const struct pm_plan *before)
{
	const struct pm_fabric *topology = plan->topology;
	uint32_t ports = topology->num_ports, switches = topology->num_switches;
	struct pm_pool *pool = &m->pool;

	m->multicast = NULL;
	m->wanted = NULL;
	m->computed = m->in_step = false;
	m->pool = (struct pm_pool){0};
	m->shown.cells =
		pm_pool_array(pool, mcast_quiet_words(switches), sizeof(*m->shown.cells));
	m->shown.valid = false;
	m->usable = pm_pool_array(pool, ports, 1);
	m->capacity = pm_pool_array(pool, switches, sizeof(*m->capacity));
	m->doubted = pm_pool_array(pool, switches, 1);
	m->reachable = pm_pool_array(pool, switches, 1);
	m->silent = pm_pool_array(pool, switches, 1);
	m->up = pm_pool_array(pool, ports, 1);
	m->by = pm_pool_array(pool, topology->num_nodes, sizeof(*m->by));
	m->queue = pm_pool_array(pool, topology->num_nodes, sizeof(*m->queue));
	m->installed = pm_mfts_new(topology);
	m->plan = pm_plan_share(plan);
	if (pm_pool_check(pool, NULL) || !m->installed)
		return -ENOMEM;
	for (uint32_t sw = 0; sw < switches; sw++)
		if (!before || pm_fabric_find_guid(before->topology,
						   topology->nodes[sw].guid) == PM_NONE)
			m->doubted[sw] = UNKNOWN;
	return 0;
}

static void carry_doubts(const struct mcast *old, struct mcast *m)
{
	for (uint32_t sw = 0; sw < old->plan->topology->num_switches; sw++) {
		uint32_t same = pm_fabric_find_guid(m->plan->topology,
						    old->plan->topology->nodes[sw].guid);

		if (old->doubted[sw] && same < m->plan->topology->num_switches)
			m->doubted[same] = old->doubted[sw];
	}
}

/* Changes to another plan, with the known blocks; without memory to none. */
static int change_plan(struct mcast *m, const struct pm_plan *plan)
{
	struct mcast old = *m;
	struct pm_mfts *moved = NULL;
	int rc = make_rooms(m, plan, old.plan);

	if (!rc && old.plan)
		rc = pm_mfts_move(old.installed, old.plan->topology, plan->topology,
				  &moved);
	if (moved) {
		pm_mfts_free(m->installed);
		m->installed = moved;
		carry_doubts(&old, m);
	}
	free_rooms(&old);
	if (rc)
		free_rooms(m);
	return rc;
}

/* ---- Installed tables ---- */

static void forget_all(struct mcast *m)
{
	m->shown.valid = false;
	memset(m->doubted, UNKNOWN, m->plan->topology->num_switches);
}

static void doubt_each(struct mcast *m, const uint64_t *guids, uint32_t num,
		       enum doubt doubt)
{
	for (uint32_t i = 0; i < num; i++) {
		uint32_t sw = pm_fabric_find_guid(m->plan->topology, guids[i]);

		if (sw < m->plan->topology->num_switches)
			m->doubted[sw] = (uint8_t)doubt;
	}
}

void mcast_forget(struct mcast *m, const struct pm_plan *plan,
		  const struct mcast_doubt *doubt)
{
	if (m->plan != plan && change_plan(m, plan))
		return; /* mcast_run tries again, and knows no table */
	if (doubt->all)
		forget_all(m);
	doubt_each(m, doubt->guids, doubt->num, UNKNOWN);
	doubt_each(m, doubt->blank, doubt->num_blank, BLANK);
}

/* Empties the record if nothing is known of any switch. -ENOMEM. */
static int begin_anew(struct mcast *m)
{
	const uint32_t num = m->plan->topology->num_switches;
	struct pm_mfts *installed;

	if (memchr(m->doubted, SURE, num))
		return 0;
	installed = pm_mfts_new(m->plan->topology);
	if (!installed)
		return -ENOMEM;
	pm_mfts_free(m->installed);
	m->installed = installed;
	return 0;
}

/* Has the record follow. -ENOMEM. */
static int apply_doubts(struct mcast *m)
{
	if (begin_anew(m))
		return -ENOMEM;
	for (uint32_t sw = 0; sw < m->plan->topology->num_switches; sw++) {
		uint32_t blocks = (m->capacity[sw] + PM_MFT_BLOCK - 1u) / PM_MFT_BLOCK;

		if (m->doubted[sw] == SURE)
			continue;
		m->in_step = false;
		if (m->doubted[sw] == BLANK)
			pm_mfts_clear(m->installed, sw);
		else if (pm_mfts_forget(m->installed, sw, blocks))
			return -ENOMEM;
		m->doubted[sw] = SURE;
	}
	return 0;
}

/* ---- Wanted tables ---- */

/* Copies OpenSM's groups. -ENOMEM; -ECANCELED: multicast is not ours. */
static int read_subnet(struct mcast *m)
{
	osm_opensm_t *osm = m->quiet->osm;
	const struct pm_plan *plan = m->plan;
	const osm_port_t *sm;
	int rc = -ECANCELED;

	/* The engine's caller holds this lock exclusively, to the end of its run. */
	CL_PLOCK_ACQUIRE(&osm->lock);
	atomic_store(&m->quiet->due, false);
	if (!mcast_quiet_is_ours(m->quiet))
		goto out;
	if (mcast_quiet_is_missed(m->quiet))
		forget_all(m);
	sm = osm_get_port_by_guid(&osm->subn, osm->subn.sm_port_guid);
	m->sm_port = sm && osm_node_get_type(sm->p_node) != IB_NODE_TYPE_SWITCH
			     ? osm_physp_get_port_num(sm->p_physp)
			     : 0;
	m->passed = mcast_quiet_blocks_passed(m->quiet);
	m->calls = m->quiet->calls;
	m->hushed = m->quiet->hushed;
	for (uint32_t sw = 0; sw < plan->topology->num_switches; sw++)
		m->reachable[sw] = lft_records_switch(&osm->subn, plan, sw) != NULL;
	m->resized |= mcast_groups_capacity(&osm->subn, plan, m->capacity);
	rc = mcast_groups_read(&m->groups, &osm->subn, plan);
out:
	CL_PLOCK_RELEASE(&osm->lock);
	return rc;
}

static bool is_port_up(const void *context, uint32_t port)
{
	const struct mcast *m = context;

	return m->up[port];
}

/*
 * Finds the links that pass packets, and the switches that they connect with the SM.
 * OpenSM's routes are from its last discovery, and may lead through parts that have
 * failed since.
 */
static void find_links(struct mcast *m, const struct view *view)
{
	const struct pm_fabric *topology = m->plan->topology;
	struct pm_search search = {.fabric = topology, .queue = m->queue, .by = m->by};

	for (uint32_t i = 0; i < topology->num_ports; i++) {
		uint32_t peer = pm_fabric_peer_node(topology, i);

		m->up[i] = peer != PM_NONE && view->discovered[i] &&
			   m->reachable[topology->ports[i].node] && m->reachable[peer];
	}
	pm_search_begin(&search);
	if (view->detours.sm != PM_NONE)
		pm_search_start(&search, topology->ports[view->detours.sm].node);
	pm_search_run(&search, is_port_up, m);
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		m->reachable[sw] = m->by[sw] != PM_NONE;
	for (uint32_t i = 0; i < topology->num_ports; i++)
		m->up[i] = m->up[i] && m->reachable[topology->ports[i].node];
}

/* Makes `multicast` anew for another plan or other capacities. */
static int renew_multicast(struct mcast *m)
{
	const struct pm_multicast_config config = {.capacity = m->capacity};
	int rc;

	if (m->multicast && !m->resized)
		return 0;
	pm_multicast_free(m->multicast);
	m->multicast = NULL;
	rc = pm_multicast_new(m->plan, &config, &m->multicast, NULL);
	m->resized &= rc != 0;
	return rc;
}

/* Whether `wanted` was computed from the present links and groups. */
static bool is_computed(const struct mcast *m, const struct view *view)
{
	return m->computed && !m->resized &&
	       !memcmp(m->usable, view->usable, m->plan->topology->num_ports) &&
	       mcast_groups_are_same(&m->groups, &m->routed);
}

static void note_computed(struct mcast *m, const struct view *view)
{
	m->computed = true;
	mcast_groups_swap(&m->groups, &m->routed);
	memcpy(m->usable, view->usable, m->plan->topology->num_ports);
}

/* Makes trees of all groups over the view's links. */
static int compute(struct mcast *m, const struct view *view)
{
	struct pm_mfts *wanted;
	int rc;

	if (is_computed(m, view))
		return 0;
	m->computed = m->in_step = false;
	rc = renew_multicast(m);
	if (!rc && pm_grow(&m->trees, &m->trees_room, m->groups.num, sizeof(*m->trees)))
		rc = -ENOMEM;
	if (rc)
		return rc;
	pm_multicast_set_links(m->multicast, view->usable);
	rc = pm_multicast_route(m->multicast, m->groups.list, m->groups.num, &wanted,
				m->trees, NULL);
	if (rc)
		return rc;
	for (uint32_t i = 0; !rc && i < m->groups.num; i++)
		if (m->trees[i].state == PM_GROUP_UNSERVED)
			rc = pm_multicast_span(m->multicast, &m->groups.list[i], wanted);
	if (rc) {
		pm_mfts_free(wanted);
		return rc;
	}
	pm_mfts_free(m->wanted);
	m->wanted = wanted;
	note_computed(m, view);
	if (m->blocks < pm_mfts_num_blocks(wanted))
		m->blocks = pm_mfts_num_blocks(wanted);
	return 0;
}

static void count_trees(const struct mcast *m, struct mcast_done *done)
{
	done->groups = m->routed.num;
	done->excluded = m->routed.strangers;
	for (uint32_t i = 0; i < m->routed.num; i++) {
		done->trees += m->trees[i].state != PM_GROUP_IDLE;
		done->spanned += m->trees[i].state == PM_GROUP_UNSERVED;
		done->excluded += m->trees[i].excluded;
	}
}

/* ---- Sending ---- */

static struct mft_wire wire_of(const struct mcast *m, const struct mcast_subject *on)
{
	return (struct mft_wire){.smps = m->smps,
				 .osm = m->quiet->osm,
				 .plan = m->plan,
				 .installed = m->installed,
				 .by = m->by,
				 .sm_port = m->sm_port,
				 .silent = m->silent,
				 .sweeping = on->sweeping,
				 .idle = on->idle,
				 .is_interrupted = on->is_interrupted,
				 .context = on->context};
}

static void raise_tops(struct mcast *m)
{
	osm_opensm_t *osm = m->quiet->osm;

	CL_PLOCK_ACQUIRE(&osm->lock);
	mcast_quiet_raise_tops(m->quiet, pm_mfts_num_blocks(m->wanted));
	CL_PLOCK_RELEASE(&osm->lock);
}

/*
 * Reads unknown blocks, so that a switch that still has its blocks is sent none, and its
 * groups lose no packet. -ENOMEM.
 */
static int read_back(struct mcast *m, const struct mcast_subject *subject, uint32_t first,
		     uint32_t end, struct mft_wire_done *done)
{
	const struct mft_wire wire = wire_of(m, subject);
	struct pm_mft_delta unknown = {.cells = NULL};
	int rc = pm_mft_unknown_find(m->installed, first, end, m->reachable, &unknown);

	if (!rc && unknown.num)
		mft_wire_read(&wire, unknown.cells, unknown.num, done);
	pm_mft_delta_free(&unknown);
	return rc;
}

/*
 * Takes blocks that still differ after an interruption out of the count: the next run
 * counts them. -ENOMEM.
 */
static int uncount_left(const struct mcast *m, const struct pm_mft_input *input,
			struct mcast_done *done)
{
	struct pm_mft_delta left = {.cells = NULL};
	int rc = pm_mft_delta_find(m->installed, m->wanted, input->first, input->end,
				   m->reachable, &left);

	if (!rc)
		done->cells -= left.num < done->cells ? left.num : done->cells;
	pm_mft_delta_free(&left);
	return rc;
}

/* Sends the blocks that differ, and no others. -ENOMEM. */
static int bring_up_to_date(struct mcast *m, const struct mcast_subject *subject,
			    uint32_t first, uint32_t end, struct mcast_done *done)
{
	const struct mft_wire wire = wire_of(m, subject);
	const struct pm_mft_input input = {
		.topology = m->plan->topology,
		.installed = m->installed,
		.wanted = m->wanted,
		.up = m->up,
		.reachable = m->reachable,
		.first = first,
		.end = end,
	};
	struct pm_mft_steps steps = {0};
	int rc = read_back(m, subject, first, end, &done->wire);

	if (!rc && !done->wire.interrupted)
		rc = pm_mft_steps_find(&input, &steps);
	if (!rc && steps.num) {
		done->cells += steps.cells;
		done->ordered += steps.ordered;
		mft_wire_send(&wire, &steps, &done->wire);
		if (done->wire.interrupted)
			rc = uncount_left(m, &input, done);
	}
	pm_mft_steps_free(&steps);
	return rc;
}

/* Sends, in a run, the blocks of groups that differ. -ENOMEM. */
static int bring_groups_up_to_date(struct mcast *m, const struct mcast_subject *subject,
				   struct mcast_done *done)
{
	int rc;

	if (m->in_step)
		return 0;
	rc = bring_up_to_date(m, subject, 0, m->blocks, done);
	m->in_step = !rc && !done->wire.interrupted && !done->wire.gave_up &&
		     !done->wire.queried && !done->cells &&
		     !memchr(m->reachable, 0, m->plan->topology->num_switches);
	return rc;
}

static bool is_hushed(const struct mcast *m)
{
	osm_opensm_t *osm = m->quiet->osm;
	bool hushed;

	CL_PLOCK_ACQUIRE(&osm->lock);
	hushed = m->quiet->hushed;
	CL_PLOCK_RELEASE(&osm->lock);
	return hushed;
}

bool mcast_run(struct mcast *m, const struct mcast_subject *subject,
	       struct mcast_done *done)
{
	const struct view *view = subject->view;
	double start = clock_ms();
	int rc = 0;

	*done = (struct mcast_done){.groups = 0};
	if (m->plan != view->plan)
		rc = change_plan(m, view->plan);
	if (!rc)
		rc = read_subnet(m);
	if (!rc)
		rc = apply_doubts(m);
	if (!rc) {
		find_links(m, view);
		rc = compute(m, view);
	}
	if (!rc) {
		count_trees(m, done);
		raise_tops(m);
		rc = bring_groups_up_to_date(m, subject, done);
	}
	if (rc == -ECANCELED)
		return false;
	if (rc)
		done->wire.gave_up =
			rc == -ENOMEM ? "out of memory" : "OpenSM's groups are invalid";
	else if (m->hushed || done->wire.sent)
		mcast_quiet_show(m->quiet, m->plan, m->wanted, m->calls, &m->shown);
	done->compare_later = is_hushed(m);
	done->milliseconds = clock_ms() - start;
	return true;
}

/* Whether multicast is still ours, and the last run was for this plan. */
static bool goes_on(const struct mcast *m, const struct view *view)
{
	osm_opensm_t *osm = m->quiet->osm;
	bool ours;

	CL_PLOCK_ACQUIRE(&osm->lock);
	ours = mcast_quiet_is_ours(m->quiet);
	CL_PLOCK_RELEASE(&osm->lock);
	return ours && m->wanted && m->plan == view->plan;
}

bool mcast_search_above(struct mcast *m, const struct mcast_subject *subject,
			uint32_t *from, struct mcast_done *done)
{
	double start = clock_ms();
	int rc = 0;

	*done = (struct mcast_done){.groups = 0};
	if (!goes_on(m, subject->view))
		return false;
	count_trees(m, done);
	if (*from < m->blocks)
		*from = m->blocks;
	for (; !rc && *from < m->passed && !done->wire.interrupted; (*from)++)
		rc = bring_up_to_date(m, subject, *from, *from + 1, done);
	*from -= done->wire.interrupted;
	if (rc)
		done->wire.gave_up = "out of memory";
	done->milliseconds = clock_ms() - start;
	return done->wire.queried;
}

/* ---- Begin and end ---- */

struct mcast *mcast_start(struct smp_sender *smps, struct mcast_quiet *quiet)
{
	struct mcast *m = calloc(1, sizeof(*m));

	if (m) {
		m->smps = smps;
		m->quiet = quiet;
	}
	return m;
}

void mcast_free(struct mcast *m)
{
	if (!m)
		return;
	free_rooms(m);
	mcast_groups_free(&m->groups);
	mcast_groups_free(&m->routed);
	free(m->trees);
	free(m);
}
