/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A cable has a record from the moment it goes down until nothing that it did matters
 * any more. So a record that has a hold, present or past, and goes down once more always
 * doubles it. With few records or none, an observation is little more than a memcmp.
 */
#include <portmajor/flap.h>
#include <portmajor/reach.h>

#include "alloc.h"
#include "bits.h"

#include <errno.h>

struct record {
	struct pm_flap_end end[2];		 /* first, see compare_ends */
	uint64_t down_at[PM_FLAP_LIMIT_MAX + 1]; /* the last limit + 1 times, a ring */
	uint64_t changed_at;			 /* when it last went down or came up */
	uint32_t downs;
	uint32_t hold_ms; /* present or past, 0: none */
	bool up;
	bool needed; /* on hold, and left in by the last pm_flaps_hold */
};

struct pm_flaps {
	struct pm_flap_config config;
	struct record *records; /* by their ends */
	uint32_t num, room;
};

int pm_flaps_make(const struct pm_flap_config *config, struct pm_flaps **flaps,
		  struct pm_error *err)
{
	struct pm_flaps *made;

	if (config->limit > PM_FLAP_LIMIT_MAX || !config->window_ms || !config->hold_ms ||
	    config->hold_max_ms < config->hold_ms)
		return pm_error_set(err, -EINVAL,
				    "limits of flapping cables out of range: %u times "
				    "in %u ms, hold %u to %u ms",
				    config->limit, config->window_ms, config->hold_ms,
				    config->hold_max_ms);
	made = pm_array(1, sizeof(*made));
	if (!made)
		return pm_error_set(err, -ENOMEM, "out of memory");
	made->config = *config;
	*flaps = made;
	return 0;
}

void pm_flaps_free(struct pm_flaps *flaps)
{
	if (flaps)
		free(flaps->records);
	free(flaps);
}

/* ---- Cables and their records ---- */

static int compare_end(const struct pm_flap_end *a, const struct pm_flap_end *b)
{
	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	return a->num < b->num ? -1 : a->num > b->num;
}

/* Of records, or of the two ends alone. */
static int compare_ends(const void *a, const void *b)
{
	const struct pm_flap_end *x = a, *y = b;
	int order = compare_end(&x[0], &y[0]);

	return order ? order : compare_end(&x[1], &y[1]);
}

static struct pm_flap_end end_at(const struct pm_fabric *known, uint32_t port)
{
	const struct pm_port *p = &known->ports[port];

	return (struct pm_flap_end){known->nodes[p->node].guid, p->num};
}

/* A port of this cable, or PM_NONE if there is no such cable. */
static uint32_t find_cable(const struct pm_fabric *known, const struct pm_flap_end *end)
{
	uint32_t node = pm_fabric_find_guid(known, end[0].guid), port, peer;
	struct pm_flap_end far;

	if (node == PM_NONE || end[0].num > known->nodes[node].num_ports)
		return PM_NONE;
	port = known->nodes[node].first_port + end[0].num;
	peer = known->ports[port].peer;
	if (peer == PM_NONE)
		return PM_NONE;
	far = end_at(known, peer);
	return compare_end(&far, &end[1]) ? PM_NONE : port;
}

/* Whether anything is alive at this switch. */
static bool in_sight(const struct pm_fabric *known, const uint8_t *alive, uint32_t sw)
{
	const struct pm_node *n = &known->nodes[sw];

	for (uint32_t i = n->first_port + 1; i <= n->first_port + n->num_ports; i++)
		if (alive[i])
			return true;
	return false;
}

static bool is_down(const struct pm_fabric *known, const uint8_t *alive, uint32_t port)
{
	return !alive[port] && (in_sight(known, alive, known->ports[port].node) ||
				in_sight(known, alive, pm_fabric_peer_node(known, port)));
}

/* ---- What happens to a cable ---- */

static uint64_t last_down(const struct pm_flaps *flaps, const struct record *r)
{
	return r->down_at[(r->downs - 1) % (flaps->config.limit + 1)];
}

/* Whether nothing that this cable did matters any more. */
static bool is_over(const struct pm_flaps *flaps, const struct record *r, uint64_t now_ms)
{
	const struct pm_flap_config *config = &flaps->config;
	uint64_t wait = config->window_ms;

	if (!r->hold_ms)
		return now_ms - last_down(flaps, r) >= wait;
	wait += r->up ? r->hold_ms : config->hold_max_ms;
	return now_ms - r->changed_at >= wait;
}

static void go_down(const struct pm_flaps *flaps, struct record *r, uint64_t now_ms)
{
	const struct pm_flap_config *config = &flaps->config;
	uint32_t ring = config->limit + 1;

	r->up = false;
	r->changed_at = now_ms;
	r->down_at[r->downs++ % ring] = now_ms;
	if (r->hold_ms > config->hold_max_ms / 2)
		r->hold_ms = config->hold_max_ms;
	else if (r->hold_ms)
		r->hold_ms *= 2;
	else if (r->downs >= ring &&
		 now_ms - r->down_at[r->downs % ring] < config->window_ms)
		r->hold_ms = config->hold_ms;
}

static void come_up(struct record *r, uint64_t now_ms)
{
	r->up = true;
	r->changed_at = now_ms;
}

/* How long it must still be up; all of the hold if it is down. */
static uint32_t hold_left(const struct record *r, uint64_t now_ms)
{
	if (r->up && now_ms - r->changed_at >= r->hold_ms)
		return 0;
	return r->hold_ms - (uint32_t)(r->up ? now_ms - r->changed_at : 0);
}

/* ---- Observing ---- */

static void forget_over(struct pm_flaps *flaps, uint64_t now_ms)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < flaps->num; i++)
		if (!is_over(flaps, &flaps->records[i], now_ms))
			flaps->records[kept++] = flaps->records[i];
	flaps->num = kept;
}

/* Adds a record for each cable that went down and has none; it is up as yet. */
static int add_lost(struct pm_flaps *flaps, const struct pm_fabric *known,
		    const uint8_t *before, const uint8_t *now)
{
	uint32_t sorted = flaps->num, num = sorted;

	for (uint32_t i = 0; i < known->num_ports; i++) {
		struct record record = {.up = true};
		uint32_t peer = known->ports[i].peer;

		if (!before[i] || now[i] || peer == PM_NONE || !is_down(known, now, i))
			continue;
		record.end[0] = end_at(known, i);
		record.end[1] = end_at(known, peer);
		if (compare_end(&record.end[0], &record.end[1]) > 0)
			continue; /* the other port stands for it */
		if (sorted && bsearch(&record, flaps->records, sorted, sizeof(record),
				      compare_ends))
			continue;
		if (pm_grow(&flaps->records, &flaps->room, num + 1, sizeof(record)))
			return -ENOMEM;
		flaps->records[num++] = record;
	}
	if (num > sorted)
		qsort(flaps->records, num, sizeof(*flaps->records), compare_ends);
	flaps->num = num;
	return 0;
}

int pm_flaps_observe(struct pm_flaps *flaps, const struct pm_fabric *known,
		     const uint8_t *before, const uint8_t *now, uint64_t now_ms,
		     struct pm_error *err)
{
	if (!flaps->config.limit)
		return 0;
	forget_over(flaps, now_ms);
	if (memcmp(before, now, known->num_ports) != 0 &&
	    add_lost(flaps, known, before, now))
		return pm_error_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < flaps->num; i++) {
		struct record *r = &flaps->records[i];
		uint32_t port = find_cable(known, r->end);

		if (port == PM_NONE)
			continue;
		if (r->up && is_down(known, now, port))
			go_down(flaps, r, now_ms);
		else if (!r->up && now[port])
			come_up(r, now_ms);
	}
	return 0;
}

/* ---- Holding ---- */

/* A cable that is up and on hold. */
struct candidate {
	uint32_t record, port;
	uint32_t hold_ms;
	bool needed;
};

struct cut {
	const struct pm_plan *plan;
	uint8_t *alive;
	struct candidate *list; /* longest hold first */
	uint32_t num;
	uint64_t *ends;		   /* set of switches with end ports */
	struct pm_reach all, left; /* with all candidates, and without some */
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->hold_ms != y->hold_ms)
		return x->hold_ms > y->hold_ms ? -1 : 1;
	return x->record < y->record ? -1 : x->record > y->record;
}

static void find_candidates(const struct pm_flaps *flaps, uint64_t now_ms,
			    struct cut *cut)
{
	for (uint32_t i = 0; i < flaps->num; i++) {
		const struct record *r = &flaps->records[i];
		uint32_t port;

		if (!r->up || !hold_left(r, now_ms))
			continue;
		port = find_cable(cut->plan->known, r->end);
		if (port != PM_NONE && cut->alive[port])
			cut->list[cut->num++] = (struct candidate){
				.record = i, .port = port, .hold_ms = r->hold_ms};
	}
	if (cut->num)
		qsort(cut->list, cut->num, sizeof(*cut->list), compare_candidates);
}

static int find_reach(struct cut *cut, struct pm_error *err)
{
	const struct pm_fabric *known = cut->plan->known;
	int rc;

	rc = pm_reach_init(&cut->plan->tree, &cut->all, err);
	if (!rc)
		rc = pm_reach_init(&cut->plan->tree, &cut->left, err);
	if (rc)
		return rc;
	cut->ends = pm_array(cut->all.words, sizeof(*cut->ends));
	if (!cut->ends)
		return pm_error_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < known->num_ports; i++)
		if (cut->alive[i] && known->ports[i].peer == PM_NONE)
			pm_bits_set(cut->ends, known->ports[i].node);
	pm_reach_compute(known, &cut->plan->tree, cut->alive, &cut->all);
	return 0;
}

/* Whether all pairs of switches with end ports have the paths still that they had. */
static bool all_joined(struct cut *cut)
{
	pm_reach_compute(cut->plan->known, &cut->plan->tree, cut->alive, &cut->left);
	for (uint32_t sw = 0; sw < cut->plan->known->num_switches; sw++) {
		const uint64_t *all = pm_reach_updown(&cut->all, sw);
		const uint64_t *left = pm_reach_updown(&cut->left, sw);

		if (!pm_bits_test(cut->ends, sw))
			continue;
		for (uint32_t w = 0; w < cut->all.words; w++)
			if (all[w] & ~left[w] & cut->ends[w])
				return false;
	}
	return true;
}

static void set_alive(struct cut *cut, uint32_t from, uint32_t to, uint8_t alive)
{
	for (uint32_t i = from; i < to; i++) {
		uint32_t port = cut->list[i].port;

		cut->alive[port] = alive;
		cut->alive[cut->plan->known->ports[port].peer] = alive;
	}
}

/* Takes candidates from..to-1 out if no path is lost by that, else none of them. */
static bool take_out(struct cut *cut, uint32_t from, uint32_t to)
{
	set_alive(cut, from, to, 0);
	if (all_joined(cut))
		return true;
	set_alive(cut, from, to, 1);
	return false;
}

/*
 * In order, each is taken out if that costs no path. As taking out more never brings a
 * path, the next one that must stay is found by bisection.
 */
static void take_out_most(struct cut *cut)
{
	uint32_t out = 0; /* up to here it is settled */

	while (out < cut->num && !take_out(cut, out, cut->num)) {
		uint32_t stuck = cut->num; /* out..stuck-1 cannot all go */

		while (stuck - out > 1) {
			uint32_t middle = out + (stuck - out) / 2;

			if (take_out(cut, out, middle))
				out = middle;
			else
				stuck = middle;
		}
		cut->list[out++].needed = true;
	}
}

static void note_holds(struct pm_flaps *flaps, const struct cut *cut, uint64_t now_ms,
		       struct pm_flap_holds *holds)
{
	*holds = (struct pm_flap_holds){.next_ms = UINT64_MAX};
	for (uint32_t i = 0; i < cut->num; i++) {
		struct record *r = &flaps->records[cut->list[i].record];
		uint64_t left = hold_left(r, now_ms);

		r->needed = cut->list[i].needed;
		holds->released += r->needed;
		holds->held += !r->needed;
		if (left < holds->next_ms)
			holds->next_ms = left;
	}
}

int pm_flaps_hold(struct pm_flaps *flaps, const struct pm_plan *plan, uint8_t *alive,
		  uint64_t now_ms, struct pm_flap_holds *holds, struct pm_error *err)
{
	struct cut cut = {.plan = plan, .alive = alive};
	int rc = 0;

	cut.list = pm_array(flaps->num, sizeof(*cut.list));
	if (!cut.list)
		return pm_error_set(err, -ENOMEM, "out of memory");
	find_candidates(flaps, now_ms, &cut);
	if (cut.num)
		rc = find_reach(&cut, err);
	if (!rc) {
		take_out_most(&cut);
		note_holds(flaps, &cut, now_ms, holds);
	}
	pm_reach_free(&cut.all);
	pm_reach_free(&cut.left);
	free(cut.ends);
	free(cut.list);
	return rc;
}

/* ---- For operators ---- */

static enum pm_flap_state state_of(const struct record *r, uint64_t now_ms)
{
	if (!r->hold_ms)
		return PM_FLAP_NOTED;
	if (!r->up)
		return PM_FLAP_DOWN;
	if (!hold_left(r, now_ms))
		return PM_FLAP_WATCHED;
	return r->needed ? PM_FLAP_NEEDED : PM_FLAP_HELD;
}

bool pm_flaps_next(const struct pm_flaps *flaps, uint64_t now_ms, uint32_t *at,
		   struct pm_flap *flap)
{
	const struct record *r;

	if (*at >= flaps->num)
		return false;
	r = &flaps->records[(*at)++];
	*flap = (struct pm_flap){
		.end = {r->end[0], r->end[1]},
		.state = state_of(r, now_ms),
		.downs = r->downs,
		.hold_ms = r->hold_ms,
		.left_ms = hold_left(r, now_ms),
	};
	return true;
}

const char *pm_flap_state_name(enum pm_flap_state state)
{
	static const char *const names[] = {
		[PM_FLAP_NOTED] = "noted",     [PM_FLAP_DOWN] = "down",
		[PM_FLAP_HELD] = "held",       [PM_FLAP_NEEDED] = "needed",
		[PM_FLAP_WATCHED] = "watched",
	};

	return names[state];
}

static bool is_at(const struct record *r, uint64_t guid, unsigned int num)
{
	for (int i = 0; i < 2; i++)
		if (r->end[i].guid == guid && (!num || r->end[i].num == num))
			return true;
	return !guid;
}

uint32_t pm_flaps_clear(struct pm_flaps *flaps, uint64_t guid, unsigned int num)
{
	uint32_t kept = 0, cleared = 0;

	for (uint32_t i = 0; i < flaps->num; i++) {
		if (is_at(&flaps->records[i], guid, num))
			cleared += flaps->records[i].hold_ms != 0;
		else
			flaps->records[kept++] = flaps->records[i];
	}
	flaps->num = kept;
	return cleared;
}
