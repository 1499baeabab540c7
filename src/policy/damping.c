/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Damps links. A link has a record from the first time it goes down until its history no
 * longer matters. So the hold doubles each time that it goes down again. With few records
 * an observation costs little more than a memcmp.
 */
#include <portmajor/base/alloc.h>
#include <portmajor/policy/damping.h>
#include <portmajor/policy/exclude.h>

#include <errno.h>

struct record {
	struct pm_damping_end end[2];		    /* compare_ends needs it first */
	uint64_t down_at[PM_DAMPING_LIMIT_MAX + 1]; /* ring of the last limit + 1 times */
	uint64_t changed_at; /* when it last went down or came up */
	uint32_t downs;
	uint32_t hold_ms; /* present or last hold; 0: none */
	bool up;
	bool needed; /* on hold, and in use after the last pm_damping_hold */
};

struct pm_damping {
	struct pm_damping_config config;
	struct record *records; /* sorted by their ends */
	uint32_t num, room;
	uint64_t changes;
};

int pm_damping_make(const struct pm_damping_config *config, struct pm_damping **damping,
		    struct pm_error *err)
{
	struct pm_damping *made;

	if (config->limit > PM_DAMPING_LIMIT_MAX || !config->window_ms ||
	    !config->hold_ms || config->hold_max_ms < config->hold_ms)
		return pm_error_set(err, -EINVAL,
				    "limits of flapping cables out of range: %u times "
				    "in %u ms, hold %u to %u ms",
				    config->limit, config->window_ms, config->hold_ms,
				    config->hold_max_ms);
	made = pm_array(1, sizeof(*made));
	if (!made)
		return pm_error_no_memory(err);
	made->config = *config;
	*damping = made;
	return 0;
}

void pm_damping_free(struct pm_damping *damping)
{
	if (damping)
		free(damping->records);
	free(damping);
}

/* ---- Links and their records ---- */

static int compare_end(const struct pm_damping_end *a, const struct pm_damping_end *b)
{
	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	return a->num < b->num ? -1 : a->num > b->num;
}

/* Compares records by their ends, which come first in them. */
static int compare_ends(const void *a, const void *b)
{
	const struct pm_damping_end *x = a, *y = b;
	int order = compare_end(&x[0], &y[0]);

	return order ? order : compare_end(&x[1], &y[1]);
}

static struct pm_damping_end end_at(const struct pm_fabric *topology, uint32_t port)
{
	const struct pm_port *p = &topology->ports[port];

	return (struct pm_damping_end){topology->nodes[p->node].guid, p->num};
}

/* A port of the link between these ends, or PM_NONE if there is none. */
static uint32_t find_link(const struct pm_fabric *topology,
			  const struct pm_damping_end *end)
{
	uint32_t node = pm_fabric_find_guid(topology, end[0].guid), port, peer;
	struct pm_damping_end remote;

	if (node == PM_NONE || end[0].num > topology->nodes[node].num_ports)
		return PM_NONE;
	port = topology->nodes[node].first_port + end[0].num;
	peer = topology->ports[port].peer;
	if (peer == PM_NONE)
		return PM_NONE;
	remote = end_at(topology, peer);
	return compare_end(&remote, &end[1]) ? PM_NONE : port;
}

/* Whether a switch has any usable port. */
static bool is_observable(const struct pm_fabric *topology, const uint8_t *usable,
			  uint32_t sw)
{
	pm_for_each_port(i, topology, sw)
		if (usable[i])
			return true;
	return false;
}

static bool is_down(const struct pm_fabric *topology, const uint8_t *usable,
		    uint32_t port)
{
	return !usable[port] &&
	       (is_observable(topology, usable, topology->ports[port].node) ||
		is_observable(topology, usable, pm_fabric_peer_node(topology, port)));
}

/* ---- Changes of a link ---- */

static uint64_t last_down(const struct pm_damping *damping, const struct record *r)
{
	return r->down_at[(r->downs - 1) % (damping->config.limit + 1)];
}

/* Whether the history of a link no longer matters. */
static bool is_over(const struct pm_damping *damping, const struct record *r,
		    uint64_t now_ms)
{
	const struct pm_damping_config *config = &damping->config;
	uint64_t wait = config->window_ms;

	if (!r->hold_ms)
		return now_ms - last_down(damping, r) >= wait;
	wait += r->up ? r->hold_ms : config->hold_max_ms;
	return now_ms - r->changed_at >= wait;
}

static void go_down(struct pm_damping *damping, struct record *r, uint64_t now_ms)
{
	const struct pm_damping_config *config = &damping->config;
	uint32_t ring = config->limit + 1;

	damping->changes++;
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

static void come_up(struct pm_damping *damping, struct record *r, uint64_t now_ms)
{
	damping->changes++;
	r->up = true;
	r->changed_at = now_ms;
}

/* How much longer the link has to stay up; if it is down, the whole hold. */
static uint32_t hold_left(const struct record *r, uint64_t now_ms)
{
	if (r->up && now_ms - r->changed_at >= r->hold_ms)
		return 0;
	return r->hold_ms - (uint32_t)(r->up ? now_ms - r->changed_at : 0);
}

/* ---- Observing ---- */

static void forget_over(struct pm_damping *damping, uint64_t now_ms)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < damping->num; i++)
		if (!is_over(damping, &damping->records[i], now_ms))
			damping->records[kept++] = damping->records[i];
	damping->changes += damping->num - kept;
	damping->num = kept;
}

/* Adds a record for each link that went down and has none; the record starts as up. */
static int add_lost(struct pm_damping *damping, const struct pm_fabric *topology,
		    const uint8_t *before, const uint8_t *now)
{
	uint32_t sorted = damping->num, num = sorted;

	for (uint32_t i = 0; i < topology->num_ports; i++) {
		struct record record = {.up = true};
		uint32_t peer = topology->ports[i].peer;

		if (!before[i] || now[i] || peer == PM_NONE || !is_down(topology, now, i))
			continue;
		record.end[0] = end_at(topology, i);
		record.end[1] = end_at(topology, peer);
		/* Only one of a link's two ports counts. */
		if (compare_end(&record.end[0], &record.end[1]) > 0)
			continue;
		if (sorted && bsearch(&record, damping->records, sorted, sizeof(record),
				      compare_ends))
			continue;
		if (pm_grow(&damping->records, &damping->room, num + 1, sizeof(record)))
			return -ENOMEM;
		damping->records[num++] = record;
	}
	if (num > sorted)
		qsort(damping->records, num, sizeof(*damping->records), compare_ends);
	damping->num = num;
	return 0;
}

int pm_damping_observe(struct pm_damping *damping, const struct pm_fabric *topology,
		       const uint8_t *before, const uint8_t *now, uint64_t now_ms,
		       struct pm_error *err)
{
	if (!damping->config.limit)
		return 0;
	forget_over(damping, now_ms);
	if (memcmp(before, now, topology->num_ports) != 0 &&
	    add_lost(damping, topology, before, now))
		return pm_error_no_memory(err);
	for (uint32_t i = 0; i < damping->num; i++) {
		struct record *r = &damping->records[i];
		uint32_t port = find_link(topology, r->end);

		if (port == PM_NONE)
			continue;
		if (r->up && is_down(topology, now, port))
			go_down(damping, r, now_ms);
		else if (!r->up && now[port])
			come_up(damping, r, now_ms);
	}
	return 0;
}

/* ---- Holding ---- */

/* Records of links that are up and on hold, longest hold first. */
struct held {
	uint32_t *records;
	struct pm_exclusion *links; /* the same links */
	uint32_t num;
};

static int compare_holds(const void *a, const void *b, void *context)
{
	const struct record *records = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (records[x].hold_ms != records[y].hold_ms)
		return records[x].hold_ms > records[y].hold_ms ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void find_held(const struct pm_damping *damping, const struct pm_fabric *topology,
		      const uint8_t *usable, uint64_t now_ms, struct held *held)
{
	for (uint32_t i = 0; i < damping->num; i++) {
		const struct record *r = &damping->records[i];
		uint32_t port;

		if (!r->up || !hold_left(r, now_ms))
			continue;
		port = find_link(topology, r->end);
		if (port != PM_NONE && usable[port])
			held->records[held->num++] = i;
	}
	if (held->num)
		qsort_r(held->records, held->num, sizeof(*held->records), compare_holds,
			damping->records);
	for (uint32_t i = 0; i < held->num; i++)
		held->links[i].port =
			find_link(topology, damping->records[held->records[i]].end);
}

static void note_holds(struct pm_damping *damping, const struct held *held,
		       uint64_t now_ms, struct pm_damping_holds *holds)
{
	*holds = (struct pm_damping_holds){.next_ms = UINT64_MAX};
	for (uint32_t i = 0; i < held->num; i++) {
		struct record *r = &damping->records[held->records[i]];
		uint64_t left = hold_left(r, now_ms);

		r->needed = held->links[i].needed;
		holds->needed += r->needed;
		holds->on_hold += !r->needed;
		if (left < holds->next_ms)
			holds->next_ms = left;
	}
}

int pm_damping_hold(struct pm_damping *damping, const struct pm_plan *plan,
		    uint8_t *usable, uint64_t now_ms, struct pm_damping_holds *holds,
		    struct pm_error *err)
{
	struct pm_pool pool = {0};
	struct held held = {
		.records = pm_pool_array(&pool, damping->num, sizeof(*held.records)),
		.links = pm_pool_array(&pool, damping->num, sizeof(*held.links)),
	};
	int rc = pm_pool_check(&pool, err);

	if (!rc) {
		find_held(damping, plan->topology, usable, now_ms, &held);
		rc = pm_exclude(plan, usable, held.links, held.num, err);
	}
	if (!rc)
		note_holds(damping, &held, now_ms, holds);
	pm_pool_free(&pool);
	return rc;
}

/* ---- For operators ---- */

static enum pm_damping_state state_of(const struct record *r, uint64_t now_ms)
{
	if (!r->hold_ms)
		return PM_DAMPING_NOTED;
	if (!r->up)
		return PM_DAMPING_DOWN;
	if (!hold_left(r, now_ms))
		return PM_DAMPING_WATCHED;
	return r->needed ? PM_DAMPING_NEEDED : PM_DAMPING_ON_HOLD;
}

bool pm_damping_next(const struct pm_damping *damping, uint64_t now_ms, uint32_t *at,
		     struct pm_damped_link *link)
{
	const struct record *r;

	if (*at >= damping->num)
		return false;
	r = &damping->records[(*at)++];
	*link = (struct pm_damped_link){
		.end = {r->end[0], r->end[1]},
		.state = state_of(r, now_ms),
		.downs = r->downs,
		.hold_ms = r->hold_ms,
		.left_ms = hold_left(r, now_ms),
	};
	return true;
}

const char *pm_damping_state_name(enum pm_damping_state state)
{
	static const char *const names[] = {
		[PM_DAMPING_NOTED] = "noted",	  [PM_DAMPING_DOWN] = "down",
		[PM_DAMPING_ON_HOLD] = "on-hold", [PM_DAMPING_NEEDED] = "needed",
		[PM_DAMPING_WATCHED] = "watched",
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

uint32_t pm_damping_clear(struct pm_damping *damping, uint64_t guid, unsigned int num)
{
	uint32_t kept = 0, cleared = 0;

	for (uint32_t i = 0; i < damping->num; i++) {
		if (is_at(&damping->records[i], guid, num))
			cleared += damping->records[i].hold_ms != 0;
		else
			damping->records[kept++] = damping->records[i];
	}
	damping->changes += damping->num - kept;
	damping->num = kept;
	return cleared;
}

/* ---- Export and import ---- */

bool pm_damping_export(const struct pm_damping *damping, uint64_t now_ms, uint32_t *at,
		       struct pm_damping_record *record)
{
	uint32_t ring = damping->config.limit + 1;
	const struct record *r;

	if (*at >= damping->num)
		return false;
	r = &damping->records[(*at)++];
	*record = (struct pm_damping_record){
		.end = {r->end[0], r->end[1]},
		.downs = r->downs,
		.hold_ms = r->hold_ms,
		.up = r->up,
		.changed_ms = now_ms - r->changed_at,
		.num = r->downs < ring ? r->downs : ring,
	};
	for (uint32_t i = 0; i < record->num; i++)
		record->down_ms[i] = now_ms - r->down_at[(r->downs - 1 - i) % ring];
	return true;
}

static bool makes_sense(const struct pm_damping_record *record)
{
	if (!record->num || record->num > PM_DAMPING_LIMIT_MAX + 1 ||
	    record->num > record->downs || record->changed_ms > record->down_ms[0] ||
	    compare_end(&record->end[0], &record->end[1]) >= 0)
		return false;
	for (uint32_t i = 1; i < record->num; i++)
		if (record->down_ms[i] < record->down_ms[i - 1])
			return false;
	return true;
}

/*
 * Times before the clock's start wrap around, which is harmless: only differences count.
 */
static struct record make_record(const struct pm_damping *damping, uint64_t now_ms,
				 const struct pm_damping_record *from)
{
	uint32_t ring = damping->config.limit + 1;
	uint32_t num = from->num < ring ? from->num : ring;
	struct record r = {
		.end = {from->end[0], from->end[1]},
		.changed_at = now_ms - from->changed_ms,
		/* So the ring has all times it should have. */
		.downs = num < ring ? num : from->downs,
		.hold_ms = from->hold_ms < damping->config.hold_max_ms
				   ? from->hold_ms
				   : damping->config.hold_max_ms,
		.up = from->up,
	};

	for (uint32_t i = 0; i < num; i++)
		r.down_at[(r.downs - 1 - i) % ring] = now_ms - from->down_ms[i];
	return r;
}

int pm_damping_import(struct pm_damping *damping, uint64_t now_ms,
		      const struct pm_damping_record *record, struct pm_error *err)
{
	struct record made;

	if (!makes_sense(record))
		return pm_error_set(err, -EINVAL, "not a cable that went down");
	made = make_record(damping, now_ms, record);
	if (damping->num &&
	    bsearch(&made, damping->records, damping->num, sizeof(made), compare_ends))
		return pm_error_set(err, -EINVAL, "the same cable twice");
	if (pm_grow(&damping->records, &damping->room, damping->num + 1, sizeof(made)))
		return pm_error_no_memory(err);
	damping->records[damping->num++] = made;
	/* Exported records come in order, and need no sorting. */
	if (damping->num > 1 &&
	    compare_ends(&damping->records[damping->num - 2], &made) > 0)
		qsort(damping->records, damping->num, sizeof(made), compare_ends);
	damping->changes++;
	return 0;
}

int pm_damping_copy(const struct pm_damping *from, const struct pm_damping_config *config,
		    uint64_t now_ms, struct pm_damping **to, struct pm_error *err)
{
	struct pm_damping_record record;
	struct pm_damping *made;
	uint32_t at = 0;
	int rc = pm_damping_make(config, &made, err);

	if (rc)
		return rc;
	while (!rc && pm_damping_export(from, now_ms, &at, &record))
		rc = pm_damping_import(made, now_ms, &record, err);
	if (!rc)
		*to = made;
	else
		pm_damping_free(made);
	return rc;
}

uint64_t pm_damping_changes(const struct pm_damping *damping)
{
	return damping->changes;
}
