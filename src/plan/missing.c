/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds parts of a plan that were not discovered. */
#include <portmajor/base/alloc.h>
#include <portmajor/plan/missing.h>

/* [switch] in the order of the list. */
enum gone {
	PRESENT,
	BESIDE, /* a present one, or it has no links */
	BEHIND	/* other missing ones alone */
};

/* Whether a port has a link or a host in the plan. */
static bool is_used(const struct pm_port *port)
{
	return port->peer != PM_NONE || port->host != PM_NO_HOST;
}

static bool is_host(const struct pm_port *port)
{
	return port->peer == PM_NONE && (port->host == PM_COMPUTE || port->host == PM_IO);
}

static bool is_service(const struct pm_port *port)
{
	return port->peer == PM_NONE && pm_host_is_service(port->host);
}

/* Whether a switch has ports in use, and none of them was discovered. */
static bool is_gone(const struct pm_fabric *topology, const uint8_t *discovered,
		    uint32_t sw)
{
	bool used = false;

	pm_for_each_port(i, topology, sw) {
		if (discovered[i])
			return false;
		used = used || is_used(&topology->ports[i]);
	}
	return used;
}

/* There is room, as each switch and each port is at most one part. */
static void add_missing(struct pm_missing *missing, const struct pm_missing_part *part)
{
	missing->parts[missing->num++] = *part;
	missing->hosts += part->hosts;
	missing->links += part->links;
}

/* Whether a missing switch has links, and none to a switch that is there. */
static bool is_behind(const struct pm_fabric *topology, const uint8_t *gone, uint32_t sw)
{
	bool linked = false;

	pm_for_each_port(i, topology, sw) {
		uint32_t peer = pm_fabric_peer_node(topology, i);

		if (peer != PM_NONE && !gone[peer])
			return false;
		linked = linked || peer != PM_NONE;
	}
	return linked;
}

/* Whether the first of two missing switches is before the second in the list. */
static bool is_before(const uint8_t *gone, uint32_t a, uint32_t b)
{
	return gone[a] != gone[b] ? gone[a] < gone[b] : a < b;
}

static void add_switch(const struct pm_fabric *topology, const uint8_t *gone, uint32_t sw,
		       struct pm_missing *missing)
{
	struct pm_missing_part part = {.port = topology->nodes[sw].first_port,
				       .behind = gone[sw] == BEHIND};

	pm_for_each_port(i, topology, sw) {
		uint32_t peer = pm_fabric_peer_node(topology, i);

		part.hosts += is_host(&topology->ports[i]);
		/* A link between two of them counts with the first. */
		part.links += peer == PM_NONE ? is_service(&topology->ports[i])
					      : !gone[peer] || is_before(gone, sw, peer);
	}
	missing->switches++;
	add_missing(missing, &part);
}

static void add_switches(const struct pm_fabric *topology, const uint8_t *gone,
			 enum gone which, struct pm_missing *missing)
{
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		if (gone[sw] == which)
			add_switch(topology, gone, sw, missing);
}

/* Adds the missing links and hosts of a present switch; links at their first end. */
static void add_ports(const struct pm_fabric *topology, const uint8_t *discovered,
		      const uint8_t *gone, uint32_t sw, struct pm_missing *missing)
{
	pm_for_each_port(i, topology, sw) {
		const struct pm_port *port = &topology->ports[i];

		if (discovered[i] || !is_used(port) ||
		    (port->peer != PM_NONE &&
		     (port->peer < i || gone[topology->ports[port->peer].node])))
			continue;
		add_missing(missing, &(struct pm_missing_part){.port = i,
							       .hosts = is_host(port),
							       .links = !is_host(port)});
	}
}

int pm_missing_find(const struct pm_fabric *topology, const uint8_t *discovered,
		    struct pm_missing *missing, struct pm_error *err)
{
	struct pm_missing found = {
		.parts =
			pm_array((size_t)topology->num_ports + topology->num_switches + 1,
				 sizeof(*found.parts)),
	};
	uint8_t *gone = pm_array((size_t)topology->num_switches + 1, 1);

	if (!found.parts || !gone) {
		free(found.parts);
		free(gone);
		return pm_error_no_memory(err);
	}
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		gone[sw] = is_gone(topology, discovered, sw) ? BESIDE : PRESENT;
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		if (gone[sw] && is_behind(topology, gone, sw))
			gone[sw] = BEHIND;
	add_switches(topology, gone, BESIDE, &found);
	for (uint32_t sw = 0; sw < topology->num_switches; sw++)
		if (!gone[sw])
			add_ports(topology, discovered, gone, sw, &found);
	add_switches(topology, gone, BEHIND, &found);
	free(gone);
	*missing = found;
	return 0;
}

void pm_missing_free(struct pm_missing *missing)
{
	free(missing->parts);
	*missing = (struct pm_missing){0};
}
