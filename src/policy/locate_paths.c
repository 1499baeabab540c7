/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds paths to switches. A path is proven if each link of it is known to be up: by an
 * answer, or because an answer came over it. A switch that is cut off from the SM has no
 * proven path. So an SMP over a proven path is answered, unless the switch never answers
 * or has failed since.
 *
 * An SMP over another path is a probe. At most PM_LOCATE_PROBES probes are out at a time,
 * and no two of them share an unproven switch or link. After the first unanswered probe
 * no other is sent. So at most this number of probes get no answer, however many switches
 * are dead.
 */
#include "locate_parts.h"

/* ---- Proven paths ---- */

void locate_prove(struct pm_locate *locate, uint32_t port)
{
	uint32_t sw = locate->plan->topology->ports[port].node;
	uint32_t remote = locate_remote(locate, port);

	if (locate_is_proven(locate, sw) && !locate_is_proven(locate, remote) &&
	    !locate->mute[remote])
		locate->proof[remote] = port;
}

static bool is_known_up(const void *context, uint32_t port)
{
	const struct pm_locate *locate = context;

	return locate->link[port] == UP && !locate->mute[locate_remote(locate, port)];
}

/* Finds the links by which the SM's switch reaches the others: by[] as in search.h. */
static void search_links(struct pm_locate *locate, pm_search_passes *passes, uint32_t *by)
{
	struct pm_search search = {
		.fabric = locate->plan->topology,
		.queue = locate->queue,
		.by = by,
	};

	pm_search_begin(&search);
	pm_search_start(&search, locate->home);
	pm_search_run(&search, passes, locate);
}

void locate_prove_again(struct pm_locate *locate)
{
	search_links(locate, is_known_up, locate->proof);
}

/* ---- Paths ---- */

/* Follows by[], the ports into switches, back to the SM's; false: a path is too long. */
static bool follow_back(const struct pm_locate *locate, const uint32_t *by, uint32_t sw,
			struct directed_route *route)
{
	const struct pm_port *ports = locate->plan->topology->ports;
	int hops = 0;

	for (uint32_t x = sw; x != locate->home; x = ports[by[x]].node)
		if (++hops > PM_LOCATE_HOPS)
			return false;
	route->hops = hops;
	for (uint32_t x = sw; x != locate->home; x = ports[by[x]].node)
		route->ports[--hops] = by[x];
	return true;
}

uint32_t locate_reports_by(const struct pm_locate *locate, uint32_t sw)
{
	const struct pm_node *n = &locate->plan->topology->nodes[sw];
	uint8_t out = pm_routes_table(locate->routes, sw)[locate->plan->lid[locate->sm]];

	return out == 0 || out > n->num_ports ? PM_NONE : n->first_port + out;
}

/*
 * The path of the switch's own reports, backwards: tables lead these to the SM. False if
 * the path has a failed link or a doubtful switch, or does not reach the SM.
 */
static bool reverse_of_tables(const struct pm_locate *locate, uint32_t sw,
			      struct directed_route *route)
{
	uint32_t reversed[PM_LOCATE_HOPS];
	int count = 0;

	while (sw != locate->home && count < PM_LOCATE_HOPS) {
		uint32_t port = locate_reports_by(locate, sw);

		if (port == PM_NONE || !locate_was_usable(locate, port) ||
		    locate->link[port] == DOWN)
			return false;
		reversed[count++] = locate->plan->topology->ports[port].peer;
		sw = locate_remote(locate, port);
		if (locate->doubtful[sw] && !locate_is_proven(locate, sw))
			return false;
	}
	route->hops = count;
	for (int i = 0; i < count; i++)
		route->ports[i] = reversed[count - 1 - i];
	return sw == locate->home;
}

/* Finds a path over a proven neighbour. */
static bool beside_proven(const struct pm_locate *locate, uint32_t sw,
			  struct directed_route *route)
{
	const struct pm_port *ports = locate->plan->topology->ports;

	pm_for_each_port(i, locate->plan->topology, sw) {
		if (!locate_was_usable(locate, i) || locate->link[i] == DOWN ||
		    !locate_is_proven(locate, ports[ports[i].peer].node))
			continue;
		if (!follow_back(locate, locate->proof, locate_remote(locate, i),
				 route) ||
		    route->hops == PM_LOCATE_HOPS)
			continue;
		route->ports[route->hops++] = ports[i].peer;
		return true;
	}
	return false;
}

static bool is_open(const void *context, uint32_t port)
{
	const struct pm_locate *locate = context;

	return locate_was_usable(locate, port) && locate->link[port] != DOWN;
}

/* The same, but not from a doubtful switch. */
static bool is_clear(const void *context, uint32_t port)
{
	const struct pm_locate *locate = context;
	uint32_t sw = locate->plan->topology->ports[port].node;

	return (!locate->doubtful[sw] || locate_is_proven(locate, sw)) &&
	       is_open(locate, port);
}

/*
 * Shortest paths around doubtful switches, or else through them. They are searched again
 * only after an answer or a silence.
 */
static const uint32_t *find_paths(struct pm_locate *locate, uint32_t sw)
{
	if (!locate->paths_known) {
		search_links(locate, is_clear, locate->clear_by);
		search_links(locate, is_open, locate->any_by);
		locate->paths_known = true;
	}
	return locate->clear_by[sw] != PM_NONE ? locate->clear_by : locate->any_by;
}

bool locate_find_path(struct pm_locate *locate, uint32_t sw, struct directed_route *route)
{
	const uint32_t *by;

	if (locate->mute[sw])
		return false;
	if (locate_is_proven(locate, sw))
		return follow_back(locate, locate->proof, sw, route);
	/* its reports came by that path */
	if (locate->reports[sw] && reverse_of_tables(locate, sw, route))
		return true;
	if (beside_proven(locate, sw, route) || reverse_of_tables(locate, sw, route))
		return true;
	by = find_paths(locate, sw);
	return by[sw] != PM_NONE && follow_back(locate, by, sw, route);
}

static int write_path(const struct pm_locate *locate, const struct directed_route *route,
		      uint8_t path[PM_LOCATE_HOPS])
{
	for (int i = 0; i < route->hops; i++)
		path[i] = locate->plan->topology->ports[route->ports[i]].num;
	return route->hops;
}

int pm_locate_path(struct pm_locate *locate, uint32_t sw, uint8_t path[PM_LOCATE_HOPS])
{
	struct directed_route route;

	if (!locate_find_path(locate, sw, &route))
		return PM_LOCATE_NO_PATH;
	return write_path(locate, &route, path);
}

/* ---- Probes ---- */

static struct probe *find_probe(struct pm_locate *locate, uint32_t sw)
{
	for (uint32_t i = 0; i < locate->num_probes; i++)
		if (locate->probes[i].sw == sw)
			return &locate->probes[i];
	return NULL;
}

/* Whether two paths share an unproven switch or link. */
static bool shares_risk(const struct pm_locate *locate, const struct directed_route *a,
			const struct directed_route *b)
{
	for (int i = 0; i < a->hops; i++) {
		uint32_t remote = locate_remote(locate, a->ports[i]);
		bool is_up = locate->link[a->ports[i]] == UP;

		for (int j = 0; j < b->hops; j++) {
			if (a->ports[i] == b->ports[j] && !is_up)
				return true;
			if (locate_remote(locate, b->ports[j]) == remote &&
			    !locate_is_proven(locate, remote))
				return true;
		}
	}
	return false;
}

static bool may_probe(const struct pm_locate *locate, const struct directed_route *route)
{
	for (uint32_t i = 0; i < locate->num_probes; i++)
		if (shares_risk(locate, route, &locate->probes[i].route))
			return false;
	return locate->num_probes < PM_LOCATE_PROBES;
}

int pm_locate_safe_path(struct pm_locate *locate, uint32_t sw,
			uint8_t path[PM_LOCATE_HOPS])
{
	struct directed_route route;

	if (!locate_find_path(locate, sw, &route))
		return PM_LOCATE_NO_PATH;
	if (locate->careful && !locate_is_proven(locate, sw))
		return PM_LOCATE_NO_PATH;
	if (!locate_is_proven(locate, sw)) {
		if (!may_probe(locate, &route))
			return PM_LOCATE_LATER;
		locate->probes[locate->num_probes++] = (struct probe){sw, route};
	} else if (find_probe(locate, sw)) {
		/* Otherwise one answer could be taken for the other. */
		return PM_LOCATE_LATER;
	}
	return write_path(locate, &route, path);
}

static void prove_path(struct pm_locate *locate, const struct directed_route *route)
{
	for (int i = 0; i < route->hops; i++) {
		uint8_t state = locate->link[route->ports[i]];

		if (state == UNQUERIED || state == SILENT)
			locate_set_link(locate, route->ports[i], UP);
		locate_prove(locate, route->ports[i]);
	}
}

/* Doubts all unproven switches on the path to a switch that did not answer. */
static void blame_path(struct pm_locate *locate, const struct directed_route *route)
{
	for (int i = 0; i < route->hops; i++) {
		uint32_t remote = locate_remote(locate, route->ports[i]);

		if (!locate_is_proven(locate, remote))
			locate->doubtful[remote] = 1;
	}
}

void pm_locate_answered(struct pm_locate *locate, uint32_t sw, bool answered)
{
	struct probe *probe = find_probe(locate, sw);

	if (answered) {
		if (probe)
			prove_path(locate, &probe->route);
	} else {
		locate->silences++;
		locate->careful = true;
		locate->paths_known = false;
		/* It may have failed after its report. */
		locate->heard[sw] = locate->answered[sw];
		if (probe)
			blame_path(locate, &probe->route);
		else
			locate->mute[sw] = 1;
	}
	if (probe)
		*probe = locate->probes[--locate->num_probes];
}
