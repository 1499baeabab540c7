/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses ports for Gets, in these steps. A step is taken only when the earlier steps
 * have no port left.
 *
 * 0. If the SM's own switch reports, its ports: it always answers, and a failure there
 *    closes paths to other switches.
 * 1. Links between two reporting switches: a failed link is found at once.
 * 2. A switch at the remote end of a failed link that has not reported or answered is a
 *    suspect. Its other neighbours are queried for their ports to it, those below first:
 *    they answer at once, unlike a dead switch. If one of these ports is up, or there is
 *    no neighbour below, those above are queried as well. If all ports from below are
 *    down and no neighbour above can be reached, the ports from above do not matter. A
 *    switch that did report may have sent its last report if it has several failed links,
 *    or one on the path of its reports: one more neighbour is queried for its port to it.
 *    When three neighbours have no link to it, it is a suspect.
 * 3. If all links below a suspect are down, its whole component may have failed, such as
 *    a director's chassis. For each first-level switch of that component, one
 *    neighbour below it is queried.
 * 4. Reports that no failed link explains: a switch with more reports than failed links
 *    found at it is queried for all its ports. Many such switches may have one cause:
 *    they are queried one at a time. When a few of them in a row have no port down, the
 *    others are left out: links came up, or hosts left. While OpenSM sweeps, links that
 *    were not up before are queried, too: the sweep may have found them.
 *
 * These steps assume that silent switches are usable, which is right for one failure and
 * may be wrong for several. After an unanswered Get only proven paths are used
 * (locate_paths.c), as many switches may be dead. The path to any other switch is proven
 * first: its last proven switch is queried for the port to the next one. Dead switches
 * are not queried any more, and other paths lead to the parts behind them. A second
 * unanswered Get ends the search.
 */
#include "locate_parts.h"

#include <errno.h>

#define AT_ONCE 4     /* switches queried for all ports at the same time */
#define MANY_FAILED 3 /* see is_suspect */
#define FRUITLESS 4   /* searches in a row without a failed link, then no more */

int pm_locate_new(const struct pm_routes *routes, const uint8_t *discovered, uint32_t sm,
		  struct pm_locate **result, struct pm_error *err)
{
	struct pm_locate *locate = calloc(1, sizeof(*locate));
	const struct pm_fabric *topology = pm_routes_plan(routes)->topology;
	uint32_t num = topology->num_switches;
	struct pm_pool *pool;

	if (!locate)
		return pm_error_no_memory(err);
	pool = &locate->pool;
	locate->routes = routes;
	locate->plan = pm_routes_plan(routes);
	locate->sm = sm;
	locate->home = topology->ports[sm].node;
	locate->discovered = pm_pool_copy(pool, discovered, topology->num_ports, 1);
	locate->link = pm_pool_array(pool, topology->num_ports, 1);
	locate->reports = pm_pool_array(pool, num, sizeof(uint32_t));
	locate->failed = pm_pool_array(pool, num, sizeof(uint32_t));
	locate->heard = pm_pool_array(pool, num, 1);
	locate->answered = pm_pool_array(pool, num, 1);
	locate->searched = pm_pool_array(pool, num, 1);
	locate->doubtful = pm_pool_array(pool, num, 1);
	locate->mute = pm_pool_array(pool, num, 1);
	locate->wanted = pm_pool_array(pool, num, 1);
	locate->proof = pm_pool_array(pool, num, sizeof(uint32_t));
	locate->queue = pm_pool_array(pool, num, sizeof(uint32_t));
	locate->clear_by = pm_pool_array(pool, num, sizeof(uint32_t));
	locate->any_by = pm_pool_array(pool, num, sizeof(uint32_t));
	if (pm_pool_check(pool, err)) {
		pm_locate_free(locate);
		return -ENOMEM;
	}
	locate_prove_again(locate);
	*result = locate;
	return 0;
}

void pm_locate_free(struct pm_locate *locate)
{
	if (locate)
		pm_pool_free(&locate->pool);
	free(locate);
}

static uint32_t count_usable(const struct pm_locate *locate, uint32_t sw)
{
	uint32_t count = 0;

	pm_for_each_port(i, locate->plan->topology, sw)
		count += locate_was_usable(locate, i);
	return count;
}

/* A switch that reports more than half of its links is probably failing itself. */
void pm_locate_report(struct pm_locate *locate, uint32_t sw)
{
	locate->reports[sw]++;
	if (locate->reports[sw] * 2 > count_usable(locate, sw) && !locate->answered[sw]) {
		locate->heard[sw] = 0;
		locate->doubtful[sw] = 1;
		locate->paths_known = false;
	} else {
		locate->heard[sw] = 1;
	}
}

/* ---- Answers ---- */

/* Whether a proven path leads over the failed link at this port. */
static bool is_proof(const struct pm_locate *locate, uint32_t port)
{
	uint32_t remote = locate_remote(locate, port);

	return locate_is_proven(locate, remote) && locate->proof[remote] == port;
}

static void note_failed(struct pm_locate *locate, uint32_t port)
{
	const struct pm_port *p = &locate->plan->topology->ports[port];
	uint32_t remote = locate_remote(locate, port);

	locate->paths_known = false;
	locate->failed[p->node]++;
	locate->failed[remote]++;
	locate->fruitless = 0;
	if (!locate->heard[remote])
		locate->doubtful[remote] = 1;
	if (is_proof(locate, port) || is_proof(locate, p->peer))
		locate_prove_again(locate);
}

/* Records the answer for a link that was not up before. */
static void note_undiscovered(struct pm_locate *locate, uint32_t port,
			      enum pm_answer answer)
{
	locate_set_link(locate, port, answer == PM_ANSWER_DOWN ? GONE : RETURNED);
}

void pm_locate_answer(struct pm_locate *locate, uint32_t port, enum pm_answer answer)
{
	uint32_t sw = locate->plan->topology->ports[port].node;

	pm_locate_answered(locate, sw, answer != PM_NO_ANSWER);
	if (locate->link[port] != QUERIED)
		return;
	if (answer == PM_NO_ANSWER) {
		locate_set_link(locate, port, SILENT);
		return;
	}
	locate->heard[sw] = locate->answered[sw] = 1;
	if (!locate->discovered[port]) {
		note_undiscovered(locate, port, answer);
		return;
	}
	locate_set_link(locate, port, answer == PM_ANSWER_DOWN ? DOWN : UP);
	if (answer == PM_ANSWER_UP)
		locate_prove(locate, port);
	else
		note_failed(locate, port);
}

void pm_locate_skip(struct pm_locate *locate, uint32_t port)
{
	if (locate->link[port] == QUERIED)
		locate_set_link(locate, port, SILENT);
}

/* Parts that no link connects with the SM any more have failed, too. */
static void cut_off(struct pm_locate *locate, uint8_t *usable)
{
	const struct pm_fabric *topology = locate->plan->topology;

	locate->paths_known = false;
	pm_reach_parts(topology, usable, locate->any_by, locate->queue);
	for (uint32_t i = 0; i < topology->num_ports; i++)
		if (locate->any_by[topology->ports[i].node] !=
		    locate->any_by[locate->home])
			usable[i] = 0;
}

uint32_t pm_locate_failed(struct pm_locate *locate, uint8_t *usable)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < locate->plan->topology->num_ports; i++) {
		bool failed = locate->link[i] == DOWN;

		usable[i] = locate->discovered[i] && !failed;
		count += failed && locate->plan->topology->ports[i].peer > i;
	}
	cut_off(locate, usable);
	return count;
}

void pm_locate_sweeping(struct pm_locate *locate)
{
	locate->sweeping = true;
}

uint32_t pm_locate_gone(const struct pm_locate *locate, uint8_t *gone)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < locate->plan->topology->num_ports; i++) {
		gone[i] = locate->link[i] == GONE;
		count += gone[i];
	}
	return count;
}

/* ---- Choosing ports ---- */

static void list_query(struct pm_locate *locate, uint32_t port)
{
	if (locate->count == locate->max || locate->link[port] != UNQUERIED)
		return;
	locate_set_link(locate, port, QUERIED_REMOTE);
	locate->link[port] = QUERIED;
	locate->ports[locate->count++] = port;
}

/* Queries the first unproven link on the path to a switch. */
static void query_for_proof(struct pm_locate *locate, uint32_t sw)
{
	struct directed_route route;

	if (!locate_find_path(locate, sw, &route))
		return;
	for (int i = 0; i < route.hops; i++) {
		uint32_t remote = locate_remote(locate, route.ports[i]);

		if (locate->link[route.ports[i]] == UP)
			locate_prove(locate, route.ports[i]);
		if (!locate_is_proven(locate, remote)) {
			list_query(locate, route.ports[i]);
			return;
		}
	}
}

/*
 * Queries a port, unless its link was queried. If the list is full the port comes later;
 * so does, while careful, a port if its path has to be proven first.
 */
static void query_port(struct pm_locate *locate, uint32_t port)
{
	const struct pm_port *ports = locate->plan->topology->ports;
	struct directed_route route;

	if (locate->link[port] != UNQUERIED || !locate_was_usable(locate, port))
		return;
	if (locate->careful && locate_is_proven(locate, ports[ports[port].peer].node))
		port = ports[port].peer;
	if (locate->careful && !locate_is_proven(locate, ports[port].node))
		query_for_proof(locate, ports[port].node);
	else if (locate_find_path(locate, ports[port].node, &route))
		list_query(locate, port);
}

/* Queries a port with a link that was not up before. */
static void query_undiscovered(struct pm_locate *locate, uint32_t port)
{
	uint32_t sw = locate->plan->topology->ports[port].node;
	struct directed_route route;

	if (locate->link[port] != UNQUERIED || locate_remote(locate, port) == PM_NONE)
		return;
	if (locate->careful && !locate_is_proven(locate, sw))
		query_for_proof(locate, sw);
	else if (locate_find_path(locate, sw, &route))
		list_query(locate, port);
}

static void query_all_ports(struct pm_locate *locate, uint32_t sw)
{
	pm_for_each_port(i, locate->plan->topology, sw) {
		if (locate->discovered[i])
			query_port(locate, i);
		else if (locate->sweeping)
			query_undiscovered(locate, i);
	}
}

/* Counts a switch's links to switches that report. */
static uint32_t count_to_reporters(const struct pm_locate *locate, uint32_t sw)
{
	uint32_t count = 0;

	pm_for_each_port(i, locate->plan->topology, sw)
		count += locate_was_usable(locate, i) &&
			 locate->reports[locate_remote(locate, i)];
	return count;
}

/*
 * Doubts reporting switches if most of their neighbours report: one may be the cause.
 */
static void doubt_common_causes(struct pm_locate *locate)
{
	for (uint32_t sw = 0; sw < locate->plan->topology->num_switches; sw++) {
		uint32_t reporters;

		if (!locate->reports[sw] || locate->answered[sw] || locate->doubtful[sw])
			continue;
		reporters = count_to_reporters(locate, sw);
		if (reporters < 3 || reporters * 2 <= count_usable(locate, sw))
			continue;
		locate->doubtful[sw] = 1;
		locate->paths_known = false;
	}
}

static void query_at_home(struct pm_locate *locate)
{
	if (!locate->reports[locate->home])
		return;
	locate->searched[locate->home] = 1;
	query_all_ports(locate, locate->home);
}

static void query_between_reporters(struct pm_locate *locate)
{
	for (uint32_t sw = 0; sw < locate->plan->topology->num_switches; sw++) {
		if (!locate->reports[sw])
			continue;
		pm_for_each_port(i, locate->plan->topology, sw) {
			uint32_t remote = locate_remote(locate, i);

			/* The end with fewer reporting neighbours likelier answers. */
			if (remote == PM_NONE || remote < sw || !locate->reports[remote])
				continue;
			query_port(locate,
				   count_to_reporters(locate, sw) <=
						   count_to_reporters(locate, remote)
					   ? i
					   : locate->plan->topology->ports[i].peer);
		}
	}
}

/* A switch's links in one direction, by their state. */
struct tally {
	uint32_t unqueried, up, down;
};

static struct tally count_links(const struct pm_locate *locate, uint32_t sw,
				enum pm_direction direction)
{
	struct tally tally = {0, 0, 0};

	pm_for_each_port(i, locate->plan->topology, sw) {
		if (locate->plan->tree.direction[i] != direction ||
		    !locate_was_usable(locate, i))
			continue;
		tally.unqueried += locate->link[i] == UNQUERIED;
		tally.up += locate->link[i] == UP;
		tally.down += locate->link[i] == DOWN;
	}
	return tally;
}

/* Queries the neighbours in one direction for their ports to a switch. */
static void query_about(struct pm_locate *locate, uint32_t sw,
			enum pm_direction direction)
{
	pm_for_each_port(i, locate->plan->topology, sw)
		if (locate->plan->tree.direction[i] == direction)
			query_port(locate, locate->plan->topology->ports[i].peer);
}

static bool is_known_up(const struct pm_locate *locate, uint32_t sw)
{
	return locate->answered[sw] || count_links(locate, sw, PM_DOWN).up ||
	       count_links(locate, sw, PM_UP).up;
}

/* Whether no earlier port has a failed link to the same switch. */
static bool is_first_failed(const struct pm_locate *locate, uint32_t sw, uint32_t port)
{
	pm_for_each_port(i, locate->plan->topology, sw) {
		if (i == port)
			break;
		if (locate->link[i] == DOWN &&
		    locate_remote(locate, i) == locate_remote(locate, port))
			return false;
	}
	return true;
}

/* Counts the switches to which a switch has failed links. */
static uint32_t count_failed_neighbours(const struct pm_locate *locate, uint32_t sw)
{
	uint32_t count = 0;

	pm_for_each_port(i, locate->plan->topology, sw)
		count += locate->link[i] == DOWN && is_first_failed(locate, sw, i);
	return count;
}

/*
 * Whether a switch may be dead: a link of it failed, and it has not reported. Or it has,
 * but half of its links failed, or links to several switches: it may have failed
 * afterwards.
 */
static bool is_suspect(const struct pm_locate *locate, uint32_t sw)
{
	return locate->failed[sw] && !locate->answered[sw] &&
	       (!locate->heard[sw] ||
		locate->failed[sw] * 2 >= count_usable(locate, sw) ||
		(count_failed_neighbours(locate, sw) >= MANY_FAILED &&
		 !is_known_up(locate, sw)));
}

/* Whether a switch's reports came over a failed link: they were of an earlier failure. */
static bool has_reported_before(const struct pm_locate *locate, uint32_t sw)
{
	uint32_t port = locate_reports_by(locate, sw);

	return locate->reports[sw] && port != PM_NONE && locate->link[port] == DOWN;
}

/* Whether one more neighbour's answer has to decide if a switch is a suspect. */
static bool is_odd(const struct pm_locate *locate, uint32_t sw)
{
	return (locate->failed[sw] > 1 || has_reported_before(locate, sw)) &&
	       !is_suspect(locate, sw) && !is_known_up(locate, sw);
}

/* Whether a switch is a suspect and all its links below have failed. */
static bool is_dark(const struct pm_locate *locate, uint32_t sw)
{
	struct tally below = count_links(locate, sw, PM_DOWN);

	return is_suspect(locate, sw) && below.down && !below.up && !below.unqueried;
}

/* Whether some first-level switch of the component is known to be usable. */
static bool has_live_entry(const struct pm_locate *locate, uint32_t component)
{
	const struct pm_tree *tree = &locate->plan->tree;

	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		if (tree->component[sw] == component && pm_tree_height(tree, sw) == 1 &&
		    (locate->heard[sw] || count_links(locate, sw, PM_DOWN).up))
			return true;
	return false;
}

/* Queries one neighbour below for its port to a switch, preferably one that reports. */
static void query_one_below(struct pm_locate *locate, uint32_t sw)
{
	uint32_t found = PM_NONE;

	pm_for_each_port(i, locate->plan->topology, sw) {
		if (locate->plan->tree.direction[i] != PM_DOWN ||
		    !locate_was_usable(locate, i) || locate->link[i] != UNQUERIED)
			continue;
		if (found == PM_NONE)
			found = i;
		if (locate->reports[locate_remote(locate, i)]) {
			found = i;
			break;
		}
	}
	if (found != PM_NONE)
		query_port(locate, locate->plan->topology->ports[found].peer);
}

static void query_suspects(struct pm_locate *locate)
{
	const struct pm_tree *tree = &locate->plan->tree;

	for (uint32_t sw = 0; sw < tree->num_switches; sw++) {
		if (is_suspect(locate, sw))
			query_about(locate, sw, PM_DOWN);
		else if (is_odd(locate, sw))
			query_one_below(locate, sw);
	}
	if (locate->count)
		return;
	for (uint32_t sw = 0; sw < tree->num_switches; sw++) {
		if (!is_suspect(locate, sw) || !count_links(locate, sw, PM_UP).unqueried)
			continue;
		if (!is_dark(locate, sw) || has_live_entry(locate, tree->component[sw]))
			query_about(locate, sw, PM_UP);
	}
}

static void query_component(struct pm_locate *locate, uint32_t component)
{
	const struct pm_tree *tree = &locate->plan->tree;

	locate->paths_known = false;
	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		if (tree->component[sw] == component && !locate->heard[sw])
			locate->doubtful[sw] = 1;
	for (uint32_t sw = 0; sw < tree->num_switches; sw++) {
		struct tally below;

		if (tree->component[sw] != component || pm_tree_height(tree, sw) != 1 ||
		    locate->heard[sw])
			continue;
		below = count_links(locate, sw, PM_DOWN);
		if (!below.up && !below.down)
			query_one_below(locate, sw);
	}
}

static void query_components(struct pm_locate *locate)
{
	const struct pm_tree *tree = &locate->plan->tree;
	uint32_t last = PM_NONE;

	for (uint32_t dark = 0; dark < tree->num_switches; dark++) {
		if (pm_tree_height(tree, dark) != 1 || tree->component[dark] == last ||
		    !is_dark(locate, dark))
			continue;
		last = tree->component[dark];
		query_component(locate, last);
	}
}

static bool is_unexplained(const struct pm_locate *locate, uint32_t sw)
{
	return locate->reports[sw] > locate->failed[sw] && !locate->searched[sw];
}

static void query_reporters(struct pm_locate *locate)
{
	uint32_t unexplained = 0, searched = 0, at_once;

	for (uint32_t sw = 0; sw < locate->plan->topology->num_switches; sw++) {
		unexplained += is_unexplained(locate, sw);
		if (locate->searched[sw])
			query_all_ports(locate, sw);
	}
	at_once = unexplained <= AT_ONCE ? unexplained : 1;
	for (uint32_t sw = 0; sw < locate->plan->topology->num_switches &&
			      searched < at_once && locate->fruitless < FRUITLESS;
	     sw++) {
		if (!is_unexplained(locate, sw))
			continue;
		searched++;
		locate->searched[sw] = 1;
		locate->fruitless++;
		query_all_ports(locate, sw);
		/* If its links have all been queried, the next switch has its turn. */
		at_once += !locate->count;
	}
}

/* Links found up may have failed meanwhile; links found down have failed in any case. */
void pm_locate_be_careful(struct pm_locate *locate)
{
	locate->careful = locate->warned = true;
	locate->excused = locate->silences;
	for (uint32_t i = 0; i < locate->plan->topology->num_ports; i++)
		if (locate->link[i] == SILENT || locate->link[i] == UP)
			locate_set_link(locate, i, UNQUERIED);
	locate_prove_again(locate);
}

/* Ends a round: handles the answers, and the Gets without one. */
static void conclude(struct pm_locate *locate)
{
	/* not queried in the end */
	for (uint32_t i = 0; i < locate->plan->topology->num_ports; i++)
		if (locate->link[i] == QUERIED)
			locate_set_link(locate, i, UNQUERIED);
	locate->num_probes = 0;
	if (locate->silences == locate->excused)
		return;
	if (locate->warned)
		locate->over = true;
	else
		pm_locate_be_careful(locate);
}

void pm_locate_want(struct pm_locate *locate, uint32_t sw)
{
	locate->wanted[sw] = 1;
}

/* Proves paths to switches for which other SMPs wait. */
static void prove_wanted(struct pm_locate *locate)
{
	for (uint32_t sw = 0;
	     sw < locate->plan->topology->num_switches && locate->careful; sw++)
		if (locate->wanted[sw] && !locate_is_proven(locate, sw))
			query_for_proof(locate, sw);
}

/* Whether a switch has a link that is up as far as is known. */
static bool is_connected(const struct pm_locate *locate, uint32_t sw)
{
	pm_for_each_port(i, locate->plan->topology, sw)
		if (locate_was_usable(locate, i) && locate->link[i] != DOWN)
			return true;
	return false;
}

/* Whether a reporting, connected switch did not answer over a proven path. */
static bool any_mute(const struct pm_locate *locate)
{
	for (uint32_t sw = 0; sw < locate->plan->topology->num_switches; sw++)
		if (locate->mute[sw] && locate->reports[sw] && is_connected(locate, sw))
			return true;
	return false;
}

bool pm_locate_gave_up(const struct pm_locate *locate)
{
	return locate->over || any_mute(locate);
}

uint32_t pm_locate_queries(struct pm_locate *locate, uint32_t *ports, uint32_t max)
{
	static void (*const steps[])(struct pm_locate * locate) = {
		query_at_home,	  query_between_reporters, query_suspects,
		query_components, query_reporters,	   prove_wanted};

	conclude(locate);
	if (locate->over)
		return 0;
	doubt_common_causes(locate);
	locate->ports = ports;
	locate->count = 0;
	locate->max = max;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && !locate->count; i++)
		steps[i](locate);
	return locate->count;
}
