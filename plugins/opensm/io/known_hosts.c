/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps the names and ports of hosts that were present at any time. */
#include "known_hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_numbers(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

/* Orders hosts by port; for a port, those of the newest fabric come first. */
static int compare_by_host(const void *a, const void *b)
{
	const struct known_host *x = a, *y = b;
	int order = compare_numbers(x->guid, y->guid);

	if (!order)
		order = (int)x->num - y->num;
	return order ? order : (int)x->old - y->old;
}

static int compare_leaf_ports(const struct known_host *x, const struct known_host *y)
{
	int order = compare_numbers(x->leaf, y->leaf);

	return order ? order : (int)x->leaf_port - y->leaf_port;
}

static int compare_by_leaf(const void *a, const void *b)
{
	const struct known_host *x = a, *y = b;
	int order = compare_leaf_ports(x, y);

	return order ? order : (int)x->old - y->old;
}

static bool is_same_host(const struct known_host *a, const struct known_host *b)
{
	return a->guid == b->guid && a->num == b->num;
}

static bool is_same_leaf_port(const struct known_host *a, const struct known_host *b)
{
	return !compare_leaf_ports(a, b);
}

/* Keeps the first of equal sorted hosts; frees the others. */
static void drop_repeated(struct known_hosts *hosts,
			  bool (*is_same)(const struct known_host *a,
					  const struct known_host *b))
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < hosts->count; i++) {
		if (kept && is_same(&hosts->list[kept - 1], &hosts->list[i]))
			free(hosts->list[i].name);
		else
			hosts->list[kept++] = hosts->list[i];
	}
	hosts->count = kept;
}

/* Adds the hosts of a fabric; there is room for them. -ENOMEM. */
static int add_hosts(struct known_hosts *hosts, const struct pm_fabric *fabric)
{
	for (uint32_t at = 0; at < fabric->num_ports; at++) {
		const struct pm_port *port = &fabric->ports[at], *peer;
		char *name;

		if (port->node < fabric->num_switches || port->peer == PM_NONE)
			continue;
		peer = &fabric->ports[port->peer];
		if (peer->node >= fabric->num_switches)
			continue;
		name = strdup(pm_fabric_name(fabric, port->node));
		if (!name)
			return -ENOMEM;
		hosts->list[hosts->count++] = (struct known_host){
			.leaf = fabric->nodes[peer->node].guid,
			.guid = fabric->nodes[port->node].guid,
			.leaf_port = peer->num,
			.num = port->num,
			.name = name,
		};
	}
	return 0;
}

/* Adds copies of the known hosts. -ENOMEM. */
static int add_known(struct known_hosts *hosts, const struct known_hosts *before)
{
	for (uint32_t i = 0; i < before->count; i++) {
		struct known_host host = before->list[i];

		host.old = true;
		host.name = strdup(host.name);
		if (!host.name)
			return -ENOMEM;
		hosts->list[hosts->count++] = host;
	}
	return 0;
}

int known_hosts_learn(struct known_hosts *hosts, const struct pm_fabric *fabric)
{
	struct known_hosts made = {0};
	size_t room = (size_t)hosts->count + fabric->num_ports + 1;

	made.list = malloc(room * sizeof(*made.list));
	if (!made.list || add_hosts(&made, fabric) || add_known(&made, hosts)) {
		known_hosts_free(&made);
		return -ENOMEM;
	}
	qsort(made.list, made.count, sizeof(*made.list), compare_by_host);
	drop_repeated(&made, is_same_host);
	qsort(made.list, made.count, sizeof(*made.list), compare_by_leaf);
	drop_repeated(&made, is_same_leaf_port);
	known_hosts_free(hosts);
	*hosts = made;
	return 0;
}

static int compare_key(const void *key, const void *host)
{
	return compare_leaf_ports(key, host);
}

const struct known_host *known_hosts_at(const struct known_hosts *hosts, uint64_t leaf,
					unsigned int leaf_port)
{
	const struct known_host key = {.leaf = leaf, .leaf_port = (uint8_t)leaf_port};

	return hosts->count ? bsearch(&key, hosts->list, hosts->count,
				      sizeof(*hosts->list), compare_key)
			    : NULL;
}

const struct known_host *known_hosts_of(const struct known_hosts *hosts, uint64_t guid,
					unsigned int num)
{
	for (uint32_t i = 0; i < hosts->count; i++)
		if (hosts->list[i].guid == guid && hosts->list[i].num == num)
			return &hosts->list[i];
	return NULL;
}

void known_hosts_free(struct known_hosts *hosts)
{
	for (uint32_t i = 0; i < hosts->count; i++)
		free(hosts->list[i].name);
	free(hosts->list);
	*hosts = (struct known_hosts){0};
}
