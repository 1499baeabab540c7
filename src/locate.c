/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is asked, in this order; each step only when the ones before have no question:
 *
 * 0. If the manager's own switch reports, its ports: it always answers, and what is lost
 *    there closes ways to others.
 * 1. Cables between two switches that both report: a lost cable is found at once.
 * 2. A switch at the far end of a lost cable that has not been heard of itself is a
 *    suspect. Its other neighbours are asked for their ports to it, those below first:
 *    they answer at once, while a dead switch would not. If one of these ports is up,
 *    or there is nobody below, those above are asked as well. If all below are down
 *    and nobody above can be reached, it does not matter what is up there.
 * 3. A suspect whose cables below are all down may have gone with all of its component,
 *    a director's chassis say. One neighbour below each first-level switch of it is
 *    asked.
 * 4. Reports that nothing explains yet: a switch that has reported more often than
 *    lost cables were found at it is asked for all its ports; one such switch if there
 *    are many, as they may have one cause. When a few of them in a row have no port
 *    down, the rest is given up: links came up, or hosts went.
 * 5. Those that did not answer are asked once more, by a way that keeps clear of what was
 *    on the first one.
 */
#include <portmajor/locate.h>

#include "route_parts.h"

#include <errno.h>

#define AT_ONCE 4   /* switches that are asked for all ports at the same time */
#define FRUITLESS 4 /* of them in a row, after which no more are asked */

enum cable_state {
	UNASKED,
	ASKED,	   /* here, */
	ASKED_FAR, /* at the other end */
	UP,
	DOWN,
	SILENT,
};

struct pm_locate {
	const struct pm_routes *routes;
	const struct pm_plan *plan;
	const uint8_t *seen; /* [port] up before, in use or not */
	uint32_t manager;
	uint8_t *cable;	    /* [port] enum cable_state, the same at both ends but for
			     * ASKED */
	uint32_t *reports;  /* [switch] */
	uint32_t *lost;	    /* [switch] cables found lost at it */
	uint8_t *heard;	    /* [switch] it has reported or answered */
	uint8_t *answered;  /* [switch] */
	uint8_t *searched;  /* [switch] asked for all its ports */
	uint8_t *doubtful;  /* [switch] suspect, in the component of a dark one, or on
			     * the way to one that did not answer */
	uint8_t *way;	    /* [switch][PM_LOCATE_HOPS] that it was asked by last .. */
	int8_t *hops;	    /* [switch] .. and its length */
	uint8_t *blamed;    /* [switch] room for finding these */
	uint8_t *tries;	    /* [port] how often it was asked in vain */
	uint32_t fruitless; /* searched switches in a row without a lost cable */
	uint32_t *queue, *clear_by, *any_by; /* [switch] of searches for ways */
	bool ways_known;		     /* these are right */
	uint32_t *ports;		     /* questions being made .. */
	uint32_t count, max;		     /* .. and how many */
};

static bool is_alive_before(const struct pm_locate *locate, uint32_t port)
{
	return locate->seen[port] && route_far_switch(locate->routes, port) != PM_NONE;
}

int pm_locate_new(const struct pm_routes *routes, const uint8_t *seen, uint32_t manager,
		  struct pm_locate **result, struct pm_error *err)
{
	struct pm_locate *locate = calloc(1, sizeof(*locate));
	uint32_t num = routes->num_switches;

	if (!locate)
		return pm_error_set(err, -ENOMEM, "out of memory");
	locate->routes = routes;
	locate->plan = routes->plan;
	locate->seen = seen;
	locate->manager = manager;
	locate->cable = pm_array(routes->plan->known->num_ports, 1);
	locate->reports = pm_array(num, sizeof(uint32_t));
	locate->lost = pm_array(num, sizeof(uint32_t));
	locate->heard = pm_array(num, 1);
	locate->answered = pm_array(num, 1);
	locate->searched = pm_array(num, 1);
	locate->doubtful = pm_array(num, 1);
	locate->blamed = pm_array(num, 1);
	locate->way = pm_array(num, PM_LOCATE_HOPS);
	locate->hops = pm_array(num, 1);
	locate->tries = pm_array(routes->plan->known->num_ports, 1);
	locate->queue = pm_array(num, sizeof(uint32_t));
	locate->clear_by = pm_array(num, sizeof(uint32_t));
	locate->any_by = pm_array(num, sizeof(uint32_t));
	if (!locate->cable || !locate->reports || !locate->lost || !locate->heard ||
	    !locate->searched || !locate->answered || !locate->doubtful ||
	    !locate->blamed || !locate->way || !locate->hops || !locate->tries ||
	    !locate->queue || !locate->clear_by || !locate->any_by) {
		pm_locate_free(locate);
		return pm_error_set(err, -ENOMEM, "out of memory");
	}
	*result = locate;
	return 0;
}

void pm_locate_free(struct pm_locate *locate)
{
	if (!locate)
		return;
	free(locate->cable);
	free(locate->reports);
	free(locate->lost);
	free(locate->heard);
	free(locate->answered);
	free(locate->searched);
	free(locate->doubtful);
	free(locate->blamed);
	free(locate->way);
	free(locate->hops);
	free(locate->tries);
	free(locate->queue);
	free(locate->clear_by);
	free(locate->any_by);
	free(locate);
}

static uint32_t count_alive(const struct pm_locate *locate, uint32_t sw)
{
	const struct pm_node *n = route_node(locate->routes, sw);
	uint32_t count = 0;

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		count += is_alive_before(locate, i);
	return count;
}

/* A switch that reports more than half of its cables is about to go itself. */
void pm_locate_report(struct pm_locate *locate, uint32_t sw)
{
	locate->reports[sw]++;
	if (locate->reports[sw] * 2 > count_alive(locate, sw) && !locate->answered[sw]) {
		locate->heard[sw] = 0;
		locate->doubtful[sw] = 1;
		locate->ways_known = false;
	} else {
		locate->heard[sw] = 1;
	}
}

/* ---- Answers ---- */

static void set_cable(struct pm_locate *locate, uint32_t port, enum cable_state state)
{
	locate->cable[port] = (uint8_t)state;
	locate->cable[locate->plan->known->ports[port].peer] = (uint8_t)state;
}

void pm_locate_answer(struct pm_locate *locate, uint32_t port, enum pm_answer answer)
{
	uint32_t sw = locate->plan->known->ports[port].node;
	uint32_t far = route_far_switch(locate->routes, port);

	if (far == PM_NONE || locate->cable[port] != ASKED)
		return;
	if (answer == PM_NO_ANSWER)
		return; /* see note_silence */
	set_cable(locate, port, answer == PM_ANSWER_DOWN ? DOWN : UP);
	locate->heard[sw] = locate->answered[sw] = 1;
	if (answer == PM_ANSWER_UP)
		return;
	locate->ways_known = false;
	locate->lost[sw]++;
	locate->lost[far]++;
	locate->fruitless = 0;
	if (!locate->heard[far])
		locate->doubtful[far] = 1;
}

/* What no cable joins with the manager any more has gone with what was lost. */
static void cut_off(struct pm_locate *locate, uint8_t *alive)
{
	const struct pm_fabric *known = locate->plan->known;
	uint32_t home = known->ports[locate->manager].node;

	locate->ways_known = false;
	pm_reach_parts(known, alive, locate->any_by, locate->queue);
	for (uint32_t i = 0; i < known->num_ports; i++)
		if (locate->any_by[known->ports[i].node] != locate->any_by[home])
			alive[i] = 0;
}

uint32_t pm_locate_lost(struct pm_locate *locate, uint8_t *alive)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < locate->plan->known->num_ports; i++) {
		bool lost = locate->cable[i] == DOWN;

		alive[i] = locate->seen[i] && !lost;
		count += lost && locate->plan->known->ports[i].peer > i;
	}
	cut_off(locate, alive);
	return count;
}

/* ---- Ways ---- */

/*
 * The way that the switch's own reports took, backwards: by the tables, from there to
 * the manager. False if it meets what is lost or in doubt, or comes to nothing.
 */
static bool reverse_of_tables(const struct pm_locate *locate, uint32_t sw, uint32_t to,
			      uint8_t path[PM_LOCATE_HOPS], int *hops)
{
	const struct pm_fabric *known = locate->plan->known;
	uint16_t lid = locate->plan->lid[locate->manager];
	uint8_t reversed[PM_LOCATE_HOPS];
	int count = 0;

	while (sw != to && count < PM_LOCATE_HOPS) {
		const struct pm_node *n = &known->nodes[sw];
		uint8_t out = pm_routes_table(locate->routes, sw)[lid];
		uint32_t port = n->first_port + out;

		if (out == 0 || out > n->num_ports || !is_alive_before(locate, port) ||
		    locate->cable[port] == DOWN)
			return false;
		reversed[count++] = known->ports[known->ports[port].peer].num;
		sw = route_far_switch(locate->routes, port);
		if (locate->doubtful[sw])
			return false;
	}
	for (int i = 0; i < count; i++)
		path[i] = reversed[count - 1 - i];
	*hops = count;
	return sw == to;
}

/*
 * The shortest ways from the manager's switch to all others: by[] has the cable into
 * each. Nothing doubtful lies between, or, with through_doubtful, may.
 */
static void search(struct pm_locate *locate, bool through_doubtful, uint32_t *by)
{
	uint32_t from = locate->plan->known->ports[locate->manager].node;
	uint32_t head = 0, tail = 0;

	memset(by, 0xff, locate->routes->num_switches * sizeof(*by));
	locate->queue[tail++] = from;
	while (head < tail) {
		uint32_t x = locate->queue[head++];
		const struct pm_node *n = route_node(locate->routes, x);

		if (x != from && locate->doubtful[x] && !through_doubtful)
			continue;
		for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports;
		     i++) {
			uint32_t y;

			if (!is_alive_before(locate, i) || locate->cable[i] == DOWN)
				continue;
			y = route_far_switch(locate->routes, i);
			if (y == from || by[y] != PM_NONE)
				continue;
			by[y] = i;
			locate->queue[tail++] = y;
		}
	}
}

/* Both kinds of ways, found anew only after something was learned. */
static const uint32_t *find_ways(struct pm_locate *locate, uint32_t sw)
{
	if (!locate->ways_known) {
		search(locate, false, locate->clear_by);
		search(locate, true, locate->any_by);
		locate->ways_known = true;
	}
	return locate->clear_by[sw] != PM_NONE ? locate->clear_by : locate->any_by;
}

int pm_locate_path(struct pm_locate *locate, uint32_t sw, uint8_t path[PM_LOCATE_HOPS])
{
	const struct pm_port *ports = locate->plan->known->ports;
	uint32_t from = ports[locate->manager].node;
	const uint32_t *by;
	int hops = 0, at;

	if (sw == from)
		return 0;
	if (reverse_of_tables(locate, sw, from, path, &hops))
		return hops;
	by = find_ways(locate, sw);
	if (by[sw] == PM_NONE)
		return -1;
	for (uint32_t x = sw; x != from; x = ports[by[x]].node)
		hops++;
	if (hops > PM_LOCATE_HOPS)
		return -1;
	at = hops;
	for (uint32_t x = sw; x != from; x = ports[by[x]].node)
		path[--at] = ports[by[x]].num;
	return hops;
}

/* ---- Questions ---- */

/* Asks for a port, unless its cable was asked for; what is full now comes later. */
static void ask(struct pm_locate *locate, uint32_t port)
{
	if (locate->count == locate->max || locate->cable[port] != UNASKED ||
	    !is_alive_before(locate, port))
		return;
	set_cable(locate, port, ASKED_FAR);
	locate->cable[port] = ASKED;
	locate->ports[locate->count++] = port;
}

/* How many of a switch's cables lead to switches that report. */
static uint32_t count_to_reporters(const struct pm_locate *locate, uint32_t sw)
{
	const struct pm_node *n = route_node(locate->routes, sw);
	uint32_t count = 0;

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		count += is_alive_before(locate, i) &&
			 locate->reports[route_far_switch(locate->routes, i)];
	return count;
}

/* Who reports, and has mostly neighbours that do, may be what they tell of. */
static void doubt_common_causes(struct pm_locate *locate)
{
	for (uint32_t sw = 0; sw < locate->routes->num_switches; sw++) {
		uint32_t reporters;

		if (!locate->reports[sw] || locate->answered[sw] || locate->doubtful[sw])
			continue;
		reporters = count_to_reporters(locate, sw);
		if (reporters < 3 || reporters * 2 <= count_alive(locate, sw))
			continue;
		locate->doubtful[sw] = 1;
		locate->ways_known = false;
	}
}

static void ask_at_home(struct pm_locate *locate)
{
	uint32_t home = locate->plan->known->ports[locate->manager].node;
	const struct pm_node *n = route_node(locate->routes, home);

	if (!locate->reports[home] || locate->searched[home])
		return;
	locate->searched[home] = 1;
	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		ask(locate, i);
}

static void ask_between_reporters(struct pm_locate *locate)
{
	for (uint32_t sw = 0; sw < locate->routes->num_switches; sw++) {
		const struct pm_node *n = route_node(locate->routes, sw);

		if (!locate->reports[sw])
			continue;
		for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports;
		     i++) {
			uint32_t far = route_far_switch(locate->routes, i);

			/* The one with fewer such neighbours is likelier to answer. */
			if (far == PM_NONE || far < sw || !locate->reports[far])
				continue;
			ask(locate, count_to_reporters(locate, sw) <=
						    count_to_reporters(locate, far)
					    ? i
					    : locate->plan->known->ports[i].peer);
		}
	}
}

/* A switch's cables in one direction, by what is known of them. */
struct tally {
	uint32_t unasked, up, down;
};

static struct tally count_cables(const struct pm_locate *locate, uint32_t sw,
				 enum pm_direction direction)
{
	const struct pm_node *n = route_node(locate->routes, sw);
	struct tally tally = {0, 0, 0};

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++) {
		if (locate->plan->tree.direction[i] != direction ||
		    !is_alive_before(locate, i))
			continue;
		tally.unasked += locate->cable[i] == UNASKED;
		tally.up += locate->cable[i] == UP;
		tally.down += locate->cable[i] == DOWN;
	}
	return tally;
}

/* Asks the neighbours in one direction for their ports to a switch. */
static void ask_about(struct pm_locate *locate, uint32_t sw, enum pm_direction direction)
{
	const struct pm_node *n = route_node(locate->routes, sw);

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		if (locate->plan->tree.direction[i] == direction)
			ask(locate, locate->plan->known->ports[i].peer);
}

/* It lost a cable, and has not been heard of or lost half of them. */
static bool is_suspect(const struct pm_locate *locate, uint32_t sw)
{
	return locate->lost[sw] && !locate->answered[sw] &&
	       (!locate->heard[sw] || locate->lost[sw] * 2 >= count_alive(locate, sw));
}

/* A suspect all of whose cables below are lost. */
static bool is_dark(const struct pm_locate *locate, uint32_t sw)
{
	struct tally below = count_cables(locate, sw, PM_DOWN);

	return is_suspect(locate, sw) && below.down && !below.up && !below.unasked;
}

/* Whether some first-level switch of this component is known to be alive. */
static bool has_live_entry(const struct pm_locate *locate, uint32_t component)
{
	const struct pm_tree *tree = &locate->plan->tree;

	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		if (tree->component[sw] == component && tree->level[sw] == 1 &&
		    (locate->heard[sw] || count_cables(locate, sw, PM_DOWN).up))
			return true;
	return false;
}

static void ask_about_suspects(struct pm_locate *locate)
{
	const struct pm_tree *tree = &locate->plan->tree;

	for (uint32_t sw = 0; sw < tree->num_switches; sw++)
		if (is_suspect(locate, sw))
			ask_about(locate, sw, PM_DOWN);
	if (locate->count)
		return;
	for (uint32_t sw = 0; sw < tree->num_switches; sw++) {
		if (!is_suspect(locate, sw) || !count_cables(locate, sw, PM_UP).unasked)
			continue;
		if (!is_dark(locate, sw) || has_live_entry(locate, tree->component[sw]))
			ask_about(locate, sw, PM_UP);
	}
}

/* One port below a switch that leads to it, rather of a switch that reports. */
static void ask_one_below(struct pm_locate *locate, uint32_t sw)
{
	const struct pm_node *n = route_node(locate->routes, sw);
	uint32_t found = PM_NONE;

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++) {
		if (locate->plan->tree.direction[i] != PM_DOWN ||
		    !is_alive_before(locate, i) || locate->cable[i] != UNASKED)
			continue;
		if (found == PM_NONE)
			found = i;
		if (locate->reports[route_far_switch(locate->routes, i)]) {
			found = i;
			break;
		}
	}
	if (found != PM_NONE)
		ask(locate, locate->plan->known->ports[found].peer);
}

static void ask_about_components(struct pm_locate *locate)
{
	const struct pm_tree *tree = &locate->plan->tree;
	uint32_t last = PM_NONE;

	for (uint32_t dark = 0; dark < tree->num_switches; dark++) {
		if (tree->level[dark] != 1 || tree->component[dark] == last ||
		    !is_dark(locate, dark))
			continue;
		last = tree->component[dark];
		for (uint32_t sw = 0; sw < tree->num_switches; sw++) {
			struct tally below;

			if (tree->component[sw] != last)
				continue;
			if (!locate->heard[sw])
				locate->doubtful[sw] = 1;
			locate->ways_known = false;
			below = count_cables(locate, sw, PM_DOWN);
			if (tree->level[sw] == 1 && !locate->heard[sw] && !below.up &&
			    !below.down)
				ask_one_below(locate, sw);
		}
	}
}

static bool is_unexplained(const struct pm_locate *locate, uint32_t sw)
{
	return locate->reports[sw] > locate->lost[sw] && !locate->searched[sw];
}

static void ask_reporters(struct pm_locate *locate)
{
	uint32_t unexplained = 0, searched = 0, at_once;

	for (uint32_t sw = 0; sw < locate->routes->num_switches; sw++)
		unexplained += is_unexplained(locate, sw);
	at_once = unexplained <= AT_ONCE ? unexplained : 1;
	for (uint32_t sw = 0; sw < locate->routes->num_switches && searched < at_once &&
			      locate->fruitless < FRUITLESS;
	     sw++) {
		const struct pm_node *n = route_node(locate->routes, sw);

		if (!is_unexplained(locate, sw))
			continue;
		searched++;
		locate->searched[sw] = 1;
		locate->fruitless++;
		for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports;
		     i++)
			ask(locate, i);
		/* All its cables may have been asked for: then the next one is. */
		at_once += !locate->count;
	}
}

/* Who did not answer is asked once more, by another way. */
static void ask_the_silent(struct pm_locate *locate)
{
	for (uint32_t i = 0; i < locate->plan->known->num_ports; i++)
		if (locate->cable[i] == SILENT && locate->tries[i] == 1) {
			set_cable(locate, i, UNASKED);
			ask(locate, i);
		}
}

/* What is on the way to a switch that did not answer, and has not been heard of. */
static void blame_the_way(struct pm_locate *locate, uint32_t sw)
{
	const struct pm_fabric *known = locate->plan->known;
	uint32_t at = known->ports[locate->manager].node;
	const uint8_t *way = locate->way + (size_t)sw * PM_LOCATE_HOPS;

	for (int i = 0; i < locate->hops[sw]; i++) {
		at = pm_fabric_peer_node(known, known->nodes[at].first_port + way[i]);
		locate->blamed[at] = at != sw;
	}
}

static void note_silence(struct pm_locate *locate)
{
	const struct pm_fabric *known = locate->plan->known;
	uint32_t last = PM_NONE;

	memset(locate->blamed, 0, locate->routes->num_switches);
	for (uint32_t i = 0; i < known->num_ports; i++) {
		if (locate->cable[i] != ASKED)
			continue;
		if (known->ports[i].node != last)
			blame_the_way(locate, known->ports[i].node);
		last = known->ports[i].node;
		/* It may have gone after it reported. */
		locate->heard[last] = locate->answered[last];
		set_cable(locate, i, SILENT);
		locate->tries[i]++;
	}
	for (uint32_t sw = 0; sw < locate->routes->num_switches && last != PM_NONE; sw++)
		locate->doubtful[sw] |= locate->blamed[sw];
	locate->ways_known = locate->ways_known && last == PM_NONE;
}

uint32_t pm_locate_questions(struct pm_locate *locate, uint32_t *ports, uint32_t max)
{
	static void (*const steps[])(struct pm_locate * locate) = {
		ask_at_home,	      ask_between_reporters, ask_about_suspects,
		ask_about_components, ask_reporters,	     ask_the_silent};

	note_silence(locate);
	doubt_common_causes(locate);
	locate->ports = ports;
	locate->count = 0;
	locate->max = max;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && !locate->count; i++)
		steps[i](locate);
	for (uint32_t i = 0; i < locate->count; i++) {
		uint32_t sw = locate->plan->known->ports[ports[i]].node;

		locate->hops[sw] = (int8_t)pm_locate_path(
			locate, sw, locate->way + (size_t)sw * PM_LOCATE_HOPS);
	}
	return locate->count;
}
