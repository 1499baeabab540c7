/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Follows the plugin's steps for links that return, and counts their SMPs. */
#include <portmajor/analysis/return_cost.h>

#include <portmajor/base/pool.h>

#include <string.h>

/* Of a port. */
enum state {
	IN_SERVICE,
	ASKED, /* in this run */
	DOWN,
	LISTED, /* the other end of a link in the list */
};

/* A link, by its end whose switch was read. */
struct link {
	uint32_t port, peer;
	bool host; /* the remote end is no switch */
};

struct work {
	const struct pm_return *parts;
	const struct pm_fabric *fabric;
	struct pm_pool pool;
	uint8_t *down;	    /* [port] enum state, of links that are not in service */
	uint8_t *reached;   /* [switch] now */
	uint8_t *reported;  /* [switch] it is read in this round */
	uint8_t *asked;	    /* [switch] in this run */
	struct link *links; /* of this run, */
	uint32_t num_links, num_asked; /* and how many of them were asked */
	struct pm_return_cost cost;
};

/* A step of so many SMPs: the next one waits for their answers. Returns the number. */
static uint32_t step(struct work *work, uint32_t smps)
{
	uint32_t at_once = work->parts->at_once;

	work->cost.round_trips += smps / at_once + (smps % at_once != 0);
	return smps;
}

static bool is_a_switch(const struct work *work, uint32_t node)
{
	return node < work->fabric->num_switches;
}

static bool was_reset(const struct work *work, uint32_t port)
{
	return work->parts->reset && work->parts->reset[work->fabric->ports[port].node];
}

/* ---- Reading ---- */

static void read_port(struct work *work, uint32_t port)
{
	uint32_t peer = work->fabric->ports[port].peer;

	work->cost.port_gets++;
	if (work->down[port] == LISTED)
		return;
	work->down[peer] = LISTED;
	work->links[work->num_links++] = (struct link){
		port, peer, !is_a_switch(work, work->fabric->ports[peer].node)};
}

/* Reads ports known to be down of the reported switches. */
static void read_ports(struct work *work)
{
	uint32_t before = work->cost.port_gets;

	for (uint32_t sw = 0; sw < work->fabric->num_switches; sw++)
		pm_for_each_port(port, work->fabric, sw)
			if (work->reported[sw] && work->down[port] >= DOWN)
				read_port(work, port);
	step(work, work->cost.port_gets - before);
	memset(work->reported, 0, work->fabric->num_switches);
}

/* ---- Serving ---- */

static void ask_remote(struct work *work)
{
	uint32_t gets = 0;

	for (uint32_t i = work->num_asked; i < work->num_links; i++)
		gets += work->links[i].host ? 3 : 2;
	work->cost.remote_gets += step(work, gets);
}

/* One that was not reached is read next. */
static uint32_t ask_switch(struct work *work, uint32_t port)
{
	uint32_t sw = work->fabric->ports[port].node;

	if (!is_a_switch(work, sw) || work->asked[sw])
		return 0;
	work->asked[sw] = 1;
	work->reported[sw] = !work->reached[sw];
	return 1;
}

static void ask_switches(struct work *work)
{
	uint32_t gets = 0;

	for (uint32_t i = work->num_asked; i < work->num_links; i++) {
		const struct link *link = &work->links[i];

		work->down[link->port] = work->down[link->peer] = ASKED;
		gets += ask_switch(work, link->port) + ask_switch(work, link->peer);
	}
	work->cost.switch_gets += step(work, gets);
	work->num_asked = work->num_links;
}

/* Sets switches that were reset or dropped, before packets pass. */
static void write_switches(struct work *work)
{
	const struct pm_return *parts = work->parts;
	uint32_t fresh = 0, whole = 0;

	for (uint32_t sw = 0; sw < work->fabric->num_switches; sw++) {
		if (!work->asked[sw] || work->reached[sw])
			continue;
		fresh += parts->reset && parts->reset[sw];
		whole++;
	}
	work->cost.switches += whole;
	work->cost.switch_gets += step(work, fresh);
	work->cost.value_sets += step(work, fresh); /* SwitchInfo */
	work->cost.value_sets += step(work, fresh); /* port 0 */
	work->cost.table_sets += step(work, whole * parts->table_blocks);
}

static void set_ports(struct work *work)
{
	uint32_t values = 0;

	for (uint32_t i = 0; i < work->num_links; i++)
		values += was_reset(work, work->links[i].port) +
			  was_reset(work, work->links[i].peer);
	work->cost.value_sets += step(work, values);
	work->cost.state_sets += step(work, 2 * work->num_links); /* ARMED */
	work->cost.state_sets += step(work, 2 * work->num_links); /* ACTIVE */
}

static void finish(struct work *work)
{
	for (uint32_t i = 0; i < work->num_links; i++) {
		const struct link *link = &work->links[i];

		work->down[link->port] = work->down[link->peer] = IN_SERVICE;
		work->cost.hosts += link->host;
		work->cost.cables += !link->host;
		if (!link->host)
			work->reached[work->fabric->ports[link->peer].node] =
				work->reached[work->fabric->ports[link->port].node] = 1;
	}
}

/* ---- Runs ---- */

/* Reports the first switch in reach with a link that is down. False: there is none. */
static bool report_first(struct work *work)
{
	for (uint32_t sw = 0; sw < work->fabric->num_switches; sw++)
		pm_for_each_port(port, work->fabric, sw)
			if (work->reached[sw] && work->down[port] != IN_SERVICE) {
				work->reported[sw] = 1;
				return true;
			}
	return false;
}

static void run(struct work *work)
{
	work->num_links = work->num_asked = 0;
	memset(work->asked, 0, work->fabric->num_switches);
	for (read_ports(work); work->num_links > work->num_asked; read_ports(work)) {
		ask_remote(work);
		ask_switches(work);
	}
	write_switches(work);
	set_ports(work);
	finish(work);
}

static void begin(struct work *work)
{
	const struct pm_return *parts = work->parts;

	for (uint32_t i = 0; i < parts->num_ports; i++) {
		uint32_t port = parts->ports[i], peer = work->fabric->ports[port].peer;

		if (peer != PM_NONE)
			work->down[port] = work->down[peer] = DOWN;
	}
	for (uint32_t sw = 0; sw < work->fabric->num_switches; sw++)
		work->reached[sw] =
			parts->reached[sw] && !(parts->reset && parts->reset[sw]);
}

static void count_unreached(struct work *work)
{
	uint32_t ends = 0;

	for (uint32_t port = 0; port < work->fabric->num_ports; port++)
		ends += work->down[port] != IN_SERVICE;
	work->cost.unreached = ends / 2;
}

static int allocate(struct work *work, struct pm_error *err)
{
	uint32_t num = work->fabric->num_switches;

	work->down = pm_pool_array(&work->pool, work->fabric->num_ports, 1);
	work->reached = pm_pool_array(&work->pool, num, 1);
	work->reported = pm_pool_array(&work->pool, num, 1);
	work->asked = pm_pool_array(&work->pool, num, 1);
	work->links =
		pm_pool_array(&work->pool, work->parts->num_ports, sizeof(*work->links));
	return pm_pool_check(&work->pool, err);
}

int pm_return_cost_find(const struct pm_return *parts, struct pm_return_cost *cost,
			struct pm_error *err)
{
	struct work work = {.parts = parts, .fabric = parts->fabric};
	int rc = allocate(&work, err);

	if (!rc) {
		begin(&work);
		while (report_first(&work))
			run(&work);
		count_unreached(&work);
		*cost = work.cost;
	}
	pm_pool_free(&work.pool);
	return rc;
}

uint64_t pm_return_cost_gets(const struct pm_return_cost *cost)
{
	return (uint64_t)cost->port_gets + cost->remote_gets + cost->switch_gets;
}

uint64_t pm_return_cost_sets(const struct pm_return_cost *cost)
{
	return (uint64_t)cost->table_sets + cost->value_sets + cost->state_sets;
}
