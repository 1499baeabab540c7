/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up the errors of ports over the last hour. */
#include "port_errors.h"

#include <portmajor/json/values.h>

#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_S 3600
#define SLICE_S (HOUR_S / PORT_ERROR_SLICES)
#define LATE_S 5 /* slack between two readings of a port, beside OpenSM's interval */
#define NODE_NAME 65

struct port_with_errors {
	time_t slice; /* number of the newest slice since the epoch */
	uint32_t errors[PORT_ERROR_SLICES]
		       [PORT_ERROR_KINDS]; /* first by slice % slices */
	char name[NODE_NAME];
};

struct read_port {
	struct read_port *next;
	uint64_t guid;
	time_t last;			 /* time of the last reading; 0: none */
	time_t interval_s;		 /* of the last reading */
	uint64_t wait;			 /* ticks a second in it, or 0 */
	struct port_with_errors *errors; /* NULL: it had none */
	uint8_t num;
};

static const char *const kind_names[PORT_ERROR_KINDS] = {
	[PORT_ERROR_SYMBOL] = "symbol_errors",
	[PORT_ERROR_RECOVERY] = "link_recoveries",
	[PORT_ERROR_DOWNED] = "link_downed",
	[PORT_ERROR_RECEIVE] = "receive_errors",
};

/* ---- Readings ---- */

static int compare_ports(const void *a, const void *b)
{
	const struct read_port *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return (int)x->num - y->num;
}

static struct read_port *add_port(struct port_errors *errors,
				  const struct port_reading *reading)
{
	struct read_port *port = calloc(1, sizeof(*port));

	if (!port)
		return NULL;
	port->guid = reading->guid;
	port->num = reading->num;
	if (!tsearch(port, &errors->ports, compare_ports)) {
		free(port);
		return NULL;
	}
	port->next = errors->first;
	errors->first = port;
	return port;
}

/* Finds a port, or adds a new one; NULL without memory. */
static struct read_port *find_port(struct port_errors *errors,
				   const struct port_reading *reading)
{
	const struct read_port key = {.guid = reading->guid, .num = reading->num};
	struct read_port *const *found = tfind(&key, &errors->ports, compare_ports);

	return found ? *found : add_port(errors, reading);
}

/* Whether a port is gone, so that a reading could not go on, nor have errors to list. */
static bool is_old(const struct read_port *port, time_t now)
{
	return now - port->last > HOUR_S &&
	       now - port->last > 2 * port->interval_s + LATE_S;
}

static void free_port(struct read_port *port)
{
	free(port->errors);
	free(port);
}

/* Forgets old ports, once in a slice; else nodes with new GUIDs would add up. */
static void forget_old(struct port_errors *errors, time_t now)
{
	struct read_port **at = &errors->first;

	if (errors->slice == now / SLICE_S)
		return;
	errors->slice = now / SLICE_S;
	while (*at) {
		struct read_port *port = *at;

		if (!is_old(port, now)) {
			at = &port->next;
			continue;
		}
		*at = port->next;
		tdelete(port, &errors->ports, compare_ports);
		free_port(port);
	}
}

/*
 * Whether the difference is to the last reading here. OpenSM forgets a node that was
 * away, and then has its first reading again.
 */
static bool goes_on(const struct read_port *port, const struct port_reading *reading,
		    time_t now)
{
	time_t beside = now - port->last - reading->interval_s;

	return port->last && beside >= -LATE_S && beside <= LATE_S;
}

/* A counter that another program has cleared is below its last value. */
static uint32_t as_count(uint64_t difference)
{
	return difference > UINT32_MAX ? 0 : (uint32_t)difference;
}

/* Ticks a second; likewise. */
static uint64_t wait_of(const struct port_reading *reading)
{
	return as_count(reading->wait) /
	       (uint64_t)(reading->interval_s > 0 ? reading->interval_s : 1);
}

/* Clears the slices before the last hour. */
static void go_to(struct port_with_errors *port, time_t now)
{
	time_t slice = now / SLICE_S;

	for (int i = 0; i < PORT_ERROR_SLICES && port->slice < slice; i++) {
		port->slice++;
		memset(port->errors[port->slice % PORT_ERROR_SLICES], 0,
		       sizeof(port->errors[0]));
	}
	port->slice = slice;
}

static void add_errors(struct port_with_errors *port, const struct port_reading *reading,
		       time_t now)
{
	uint32_t *sums;

	go_to(port, now);
	sums = port->errors[port->slice % PORT_ERROR_SLICES];
	for (int kind = 0; kind < PORT_ERROR_KINDS; kind++) {
		uint32_t count = as_count(reading->errors[kind]);

		sums[kind] += count < UINT32_MAX - sums[kind] ? count : 0;
	}
	snprintf(port->name, sizeof(port->name), "%s", reading->name);
}

static struct port_with_errors *new_errors(time_t now)
{
	struct port_with_errors *port = calloc(1, sizeof(*port));

	if (port)
		port->slice = now / SLICE_S;
	return port;
}

void port_errors_note(struct port_errors *errors, const struct port_reading *reading,
		      time_t now)
{
	struct read_port *port;
	uint32_t any = 0;

	for (int kind = 0; kind < PORT_ERROR_KINDS; kind++)
		any |= as_count(reading->errors[kind]);
	pthread_mutex_lock(&errors->mutex);
	port = find_port(errors, reading);
	if (port)
		port->wait = goes_on(port, reading, now) ? wait_of(reading) : 0;
	if (port && any && goes_on(port, reading, now)) {
		if (!port->errors)
			port->errors = new_errors(now);
		if (port->errors)
			add_errors(port->errors, reading, now);
	}
	if (port) {
		port->last = now;
		port->interval_s = reading->interval_s;
	}
	forget_old(errors, now);
	pthread_mutex_unlock(&errors->mutex);
}

/* ---- The document ---- */

/* A port of the list; most: errors of its most frequent kind. */
struct listed {
	uint64_t sums[PORT_ERROR_KINDS], most;
	const struct read_port *port;
};

static int compare_listed(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	if (x->most != y->most)
		return x->most > y->most ? -1 : 1;
	if (x->port->guid != y->port->guid)
		return x->port->guid < y->port->guid ? -1 : 1;
	return (int)x->port->num - y->port->num;
}

static void sum_up(struct listed *listed, struct read_port *port, time_t now)
{
	*listed = (struct listed){.port = port};
	go_to(port->errors, now);
	for (int kind = 0; kind < PORT_ERROR_KINDS; kind++) {
		for (int slice = 0; slice < PORT_ERROR_SLICES; slice++)
			listed->sums[kind] += port->errors->errors[slice][kind];
		if (listed->sums[kind] > listed->most)
			listed->most = listed->sums[kind];
	}
}

static json_t *describe_host(const struct known_host *host)
{
	return json_pack("{s:o, s:o, s:i}", "guid", pm_json_guid(host->guid), "name",
			 pm_json_text(host->name), "port", (int)host->num);
}

/* Describes a switch's port, and the port at the other end of its link. */
static json_t *describe_link(const struct pm_fabric *topology, uint32_t sw,
			     const struct known_host *host, const struct read_port *port)
{
	const struct pm_node *node = &topology->nodes[sw];
	json_t *end = pm_json_end(topology, port->guid, port->num);
	uint32_t peer = port->num > node->num_ports
				? PM_NONE
				: topology->ports[node->first_port + port->num].peer;

	if (peer != PM_NONE)
		return json_pack(
			"[o, o]", end,
			pm_json_end(topology,
				    topology->nodes[topology->ports[peer].node].guid,
				    topology->ports[peer].num));
	return host ? json_pack("[o, o]", end, describe_host(host))
		    : json_pack("[o]", end);
}

/* Describes a host's port; the host may be unknown. */
static json_t *describe_end_port(const struct pm_fabric *topology,
				 const struct known_host *host,
				 const struct read_port *port)
{
	if (!host)
		return json_pack("[{s:o, s:o, s:i}]", "guid", pm_json_guid(port->guid),
				 "name",
				 pm_json_text(port->errors ? port->errors->name : ""),
				 "port", (int)port->num);
	return json_pack("[o, o]", describe_host(host),
			 pm_json_end(topology, host->leaf, host->leaf_port));
}

static json_t *describe_port(const struct pm_fabric *topology,
			     const struct known_hosts *hosts,
			     const struct read_port *port)
{
	uint32_t sw = topology ? pm_fabric_find_guid(topology, port->guid) : PM_NONE;
	const struct known_host *host =
		sw == PM_NONE ? known_hosts_of(hosts, port->guid, port->num)
			      : known_hosts_at(hosts, port->guid, port->num);

	return json_pack("{s:s, s:o}", "kind", sw == PM_NONE || host ? "host" : "link",
			 "ends",
			 sw == PM_NONE ? describe_end_port(topology, host, port)
				       : describe_link(topology, sw, host, port));
}

static json_t *describe_listed(const struct pm_fabric *topology,
			       const struct known_hosts *hosts,
			       const struct listed *listed)
{
	json_t *object = describe_port(topology, hosts, listed->port);
	int rc = object ? 0 : -1;

	for (int kind = 0; kind < PORT_ERROR_KINDS; kind++)
		rc |= json_object_set_new(object, kind_names[kind],
					  json_integer((json_int_t)listed->sums[kind]));
	if (!rc)
		return object;
	json_decref(object);
	return NULL;
}

/*
 * Lists ports with enough errors, the worst first, for the caller to free; NULL: no
 * memory.
 */
static struct listed *list_worst(struct port_errors *errors, uint32_t limit, time_t now,
				 size_t *count)
{
	struct read_port *port;
	struct listed *list;
	size_t room = 1;

	for (port = errors->first; port; port = port->next)
		room += port->errors != NULL;
	list = malloc(room * sizeof(*list));
	*count = 0;
	if (!list)
		return NULL;
	for (port = errors->first; port; port = port->next) {
		if (!port->errors)
			continue;
		sum_up(&list[*count], port, now);
		*count += list[*count].most >= limit;
	}
	qsort(list, *count, sizeof(*list), compare_listed);
	return list;
}

static json_t *describe(struct port_errors *errors, uint32_t limit,
			const struct pm_fabric *topology, const struct known_hosts *hosts,
			time_t now)
{
	json_t *array = json_array();
	size_t count;
	struct listed *list = list_worst(errors, limit, now, &count);

	for (size_t i = 0; list && i < count && i < PORT_ERRORS_LISTED; i++)
		array = pm_json_append(array, describe_listed(topology, hosts, &list[i]));
	if (!list) {
		json_decref(array);
		return NULL;
	}
	free(list);
	return json_pack("{s:I, s:o}", "count", (json_int_t)count, "list", array);
}

json_t *port_errors_describe(struct port_errors *errors, uint32_t limit,
			     const struct pm_fabric *topology,
			     const struct known_hosts *hosts, time_t now)
{
	json_t *described;

	pthread_mutex_lock(&errors->mutex);
	described = errors->ports && limit ? describe(errors, limit, topology, hosts, now)
					   : json_null();
	pthread_mutex_unlock(&errors->mutex);
	return described;
}

/* Keeps the worst ports, in order; *count: their number. */
static void insert_wait(const struct read_port *worst[PORT_WAITS_LISTED], size_t *count,
			const struct read_port *port)
{
	size_t at = *count;

	while (at > 0 && worst[at - 1]->wait < port->wait)
		at--;
	if (at == PORT_WAITS_LISTED)
		return;
	*count += *count < PORT_WAITS_LISTED;
	for (size_t i = *count - 1; i > at; i--)
		worst[i] = worst[i - 1];
	worst[at] = port;
}

json_t *port_waits_describe(struct port_errors *errors, const struct pm_fabric *topology,
			    const struct known_hosts *hosts, time_t now)
{
	const struct read_port *worst[PORT_WAITS_LISTED];
	size_t count = 0;
	json_t *array;

	pthread_mutex_lock(&errors->mutex);
	array = errors->ports ? json_array() : json_null();
	for (const struct read_port *p = errors->first; p; p = p->next)
		if (p->wait && !is_old(p, now))
			insert_wait(worst, &count, p);
	for (size_t i = 0; i < count; i++) {
		json_t *port = describe_port(topology, hosts, worst[i]);

		if (port &&
		    json_object_set_new(port, "ticks_per_s",
					json_integer((json_int_t)worst[i]->wait))) {
			json_decref(port);
			port = NULL;
		}
		array = pm_json_append(array, port);
	}
	pthread_mutex_unlock(&errors->mutex);
	return array;
}

static void leave_port(void *port)
{
	(void)port;
}

void port_errors_free(struct port_errors *errors)
{
	struct read_port *next;

	tdestroy(errors->ports, leave_port);
	errors->ports = NULL;
	for (struct read_port *port = errors->first; port; port = next) {
		next = port->next;
		free_port(port);
	}
	errors->first = NULL;
}
