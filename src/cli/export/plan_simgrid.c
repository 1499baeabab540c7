/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes a platform for SimGrid, with the tables' routes. It has one zone, with a route
 * for each pair of hosts: packets from different leaves to one host may take any paths,
 * so no zone with fewer routes can have them all.
 */
#include "plan_command.h"

#include <portmajor/base/pool.h>
#include <portmajor/fabric/link.h>
#include <portmajor/memory/xalloc.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HOPS 64	   /* of a path; a longer one is a loop */
#define RATE 200000	   /* Mb/s if unknown, as in portmajor-lab traffic */
#define WIRE_NS 50	   /* along a cable, as there */
#define CROSSING_NS 100	   /* through the switch before the cable */
#define XML_NAME (6 * 256) /* of a name with all its bytes escaped */

/* A host, at its first port with a cable to a switch. */
struct host {
	uint32_t port, sw; /* its own port; the switch at the other end */
	uint16_t lid;
};

struct platform {
	const struct plan_source *source;
	struct pm_pool pool;
	struct host *hosts;
	const char **name;     /* [node] unique, in XML; NULL: neither switch nor host */
	const uint8_t **table; /* [switch] or NULL */
	uint32_t *length;      /* [switch] of that */
	uint32_t num_hosts;
	char *path; /* between two switches, as XML */
	size_t path_size;
};

/* ---- Names ---- */

/* Writes a name in XML; bytes that are not ASCII become question marks. */
static void escape(const char *name, char out[XML_NAME])
{
	char *end = out;

	for (size_t i = 0; i < XML_NAME / 6 - 32 && name[i]; i++) {
		unsigned char c = (unsigned char)name[i];

		if (strchr("&<>\"'", c))
			end += sprintf(end, "&#%u;", c);
		else
			*end++ = c < 0x80 && isprint(c) ? (char)c : '?';
	}
	*end = '\0';
}

struct named {
	const char *name;
	uint32_t node;
};

static int compare_names(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int differ = strcmp(x->name, y->name);

	return differ ? differ : x->node < y->node ? -1 : x->node > y->node;
}

/* Adds the GUID to names that several nodes have, or could have then. */
static void distinguish(struct platform *p, struct named *list, uint32_t num)
{
	const struct pm_fabric *fabric = p->source->fabric;
	uint32_t alike;

	qsort(list, num, sizeof(*list), compare_names);
	for (uint32_t i = 0; i < num; i += alike) {
		for (alike = 1; i + alike < num; alike++)
			if (strcmp(list[i].name, list[i + alike].name) != 0)
				break;
		for (uint32_t k = i; k < i + alike; k++) {
			char text[XML_NAME + 20];
			int length =
				snprintf(text, sizeof(text), "%s-%016" PRIx64,
					 list[k].name, fabric->nodes[list[k].node].guid);

			if (alike == 1 && !plan_ends_with_guid(list[k].name))
				continue;
			p->name[list[k].node] =
				pm_pool_xcopy(&p->pool, text, (size_t)length + 1, 1);
		}
	}
}

/* Names switches, and the hosts, which find_hosts has marked with any name. */
static void name_nodes(struct platform *p)
{
	const struct pm_fabric *fabric = p->source->fabric;
	struct named *list = pm_pool_xarray(&p->pool, fabric->num_nodes, sizeof(*list));
	uint32_t num = 0;

	for (uint32_t node = 0; node < fabric->num_nodes; node++) {
		char text[XML_NAME];

		if (node >= fabric->num_switches && !p->name[node])
			continue;
		escape(pm_fabric_name(fabric, node), text);
		p->name[node] = pm_pool_xcopy(&p->pool, text, strlen(text) + 1, 1);
		list[num++] = (struct named){p->name[node], node};
	}
	distinguish(p, list, num);
}

/* ---- Hosts and tables ---- */

/*
 * Lists hosts by switch and port; a node with several cabled ports counts by the first.
 */
static void find_hosts(struct platform *p)
{
	const struct pm_fabric *fabric = p->source->fabric;

	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		pm_for_each_port(i, fabric, sw) {
			uint32_t peer = fabric->ports[i].peer;
			uint32_t node = pm_fabric_peer_node(fabric, i);
			uint32_t place;

			if (peer == PM_NONE || fabric->nodes[node].type != PM_CA ||
			    p->name[node])
				continue;
			place = pm_plan_place(p->source->plan, fabric, peer);
			if (place == PM_NONE)
				continue;
			p->name[node] = "";
			p->hosts[p->num_hosts++] =
				(struct host){peer, sw, p->source->plan->lid[place]};
		}
}

static void find_tables(struct platform *p)
{
	const struct pm_fabric *fabric = p->source->fabric;

	for (uint32_t sw = 0; sw < fabric->num_switches; sw++) {
		const struct pm_lft_switch *found =
			pm_lfts_find(p->source->lfts, fabric->nodes[sw].guid);

		p->table[sw] = found ? found->table : NULL;
		p->length[sw] = found ? found->length : 0;
	}
}

/* ---- Printing ---- */

/* Prints links by the names that `--fail` takes, with the port by which packets leave. */
static void print_links(const struct platform *p, FILE *file)
{
	const struct pm_fabric *fabric = p->source->fabric;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		const struct pm_port *port = &fabric->ports[i];
		uint32_t peer = pm_fabric_peer_node(fabric, i);
		uint32_t rate = pm_link_rate(pm_link_at(fabric, i));

		if (peer == PM_NONE || !p->name[port->node] || !p->name[peer])
			continue;
		fprintf(file,
			"<link id=\"%s:%u\" bandwidth=\"%uMbps\" latency=\"%dns\"/>\n",
			p->name[port->node], port->num, rate ? rate : RATE,
			WIRE_NS + (port->node < fabric->num_switches) * CROSSING_NS);
	}
}

/* Writes the path from a switch to a host to p->path; false: there is none. */
static bool find_path(struct platform *p, uint32_t sw, const struct host *to)
{
	const struct pm_fabric *fabric = p->source->fabric;
	char *end = p->path;

	for (int hops = 0; hops < MAX_HOPS; hops++) {
		uint8_t num = to->lid < p->length[sw] ? p->table[sw][to->lid] : 0;
		uint32_t port = fabric->nodes[sw].first_port + num;

		if (!num || num > fabric->nodes[sw].num_ports ||
		    fabric->ports[port].peer == PM_NONE)
			return false;
		end += snprintf(end, p->path_size - (size_t)(end - p->path),
				"<link_ctn id=\"%s:%u\"/>", p->name[sw], num);
		if (fabric->ports[port].peer == to->port)
			return true;
		sw = pm_fabric_peer_node(fabric, port);
		if (sw >= fabric->num_switches)
			return false;
	}
	return false;
}

/* Prints the routes from all hosts to one; returns how many hosts have no path. */
static uint32_t print_routes(struct platform *p, const struct host *to, FILE *file)
{
	const struct pm_fabric *fabric = p->source->fabric;
	const char *name = p->name[fabric->ports[to->port].node];
	uint32_t cut = 0;
	bool connected = false;

	for (uint32_t h = 0; h < p->num_hosts; h++) {
		const struct host *from = &p->hosts[h];
		const struct pm_port *port = &fabric->ports[from->port];

		if (!h || from->sw != p->hosts[h - 1].sw)
			connected = find_path(p, from->sw, to);
		if (from == to)
			continue;
		cut += !connected;
		if (connected)
			fprintf(file,
				"<route src=\"%s\" dst=\"%s\" symmetrical=\"NO\">"
				"<link_ctn id=\"%s:%u\"/>%s</route>\n",
				p->name[port->node], name, p->name[port->node], port->num,
				p->path);
	}
	return cut;
}

static void print_platform(struct platform *p, FILE *file)
{
	const struct pm_fabric *fabric = p->source->fabric;
	uint64_t cut = 0;

	fputs("<?xml version=\"1.0\"?>\n"
	      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
	      "<platform version=\"4.1\">\n<zone id=\"fabric\" routing=\"Full\">\n",
	      file);
	for (uint32_t h = 0; h < p->num_hosts; h++)
		fprintf(file, "<host id=\"%s\" speed=\"1Gf\"/>\n",
			p->name[fabric->ports[p->hosts[h].port].node]);
	print_links(p, file);
	for (uint32_t h = 0; h < p->num_hosts; h++)
		cut += print_routes(p, &p->hosts[h], file);
	fprintf(file,
		"</zone>\n</platform>\n<!-- ordered pairs without a path: %" PRIu64
		" -->\n",
		cut);
}

static void fill_platform(struct platform *p)
{
	size_t longest = 0;

	find_hosts(p);
	name_nodes(p);
	find_tables(p);
	for (uint32_t node = 0; node < p->source->fabric->num_nodes; node++)
		if (p->name[node] && strlen(p->name[node]) > longest)
			longest = strlen(p->name[node]);
	p->path_size = MAX_HOPS * (longest + sizeof("<link_ctn id=\":255\"/>")) + 1;
	p->path = pm_pool_xarray(&p->pool, p->path_size, 1);
}

uint32_t plan_simgrid_hosts(const struct pm_fabric *fabric)
{
	uint32_t hosts = 0;

	for (uint32_t node = fabric->num_switches; node < fabric->num_nodes; node++)
		hosts += fabric->nodes[node].type == PM_CA &&
			 pm_fabric_has_link(fabric, node);
	return hosts;
}

int plan_simgrid_write(FILE *file, const void *arg)
{
	const struct plan_source *source = arg;
	const struct pm_fabric *fabric = source->fabric;
	struct platform p = {.source = source};

	p.hosts = pm_pool_xarray(&p.pool, fabric->num_nodes, sizeof(*p.hosts));
	p.name = pm_pool_xarray(&p.pool, fabric->num_nodes, sizeof(*p.name));
	p.table = pm_pool_xarray(&p.pool, fabric->num_switches, sizeof(*p.table));
	p.length = pm_pool_xarray(&p.pool, fabric->num_switches, sizeof(*p.length));
	fill_platform(&p);
	print_platform(&p, file);
	pm_pool_free(&p.pool);
	return 0;
}
