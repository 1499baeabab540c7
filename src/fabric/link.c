/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Codes of link widths and speeds, and degraded links. */
#include <portmajor/base/alloc.h>
#include <portmajor/fabric/link.h>

#include <stdio.h>
#include <string.h>

/* A code: upper half, the index of the width in widths[]; lower half, the speed. */
static const uint8_t widths[] = {0, 1, 2, 4, 8, 12};

#define NUM_WIDTHS (sizeof(widths) / sizeof(widths[0]))
#define CODES 256

static const struct {
	const char *name;
	uint32_t kbits; /* data rate of a lane in kbit/s */
} speeds[PM_SPEEDS] = {
	[PM_SPEED_UNKNOWN] = {"?", 0},	  [PM_SDR] = {"SDR", 2000000},
	[PM_DDR] = {"DDR", 4000000},	  [PM_QDR] = {"QDR", 8000000},
	[PM_FDR10] = {"FDR10", 10000000}, [PM_FDR] = {"FDR", 13636363},
	[PM_EDR] = {"EDR", 25000000},	  [PM_HDR] = {"HDR", 50000000},
	[PM_NDR] = {"NDR", 100000000},	  [PM_XDR] = {"XDR", 200000000},
};

/* ---- Codes ---- */

const char *pm_speed_name(enum pm_speed speed)
{
	return speeds[(unsigned int)speed < PM_SPEEDS ? speed : PM_SPEED_UNKNOWN].name;
}

enum pm_speed pm_speed_find(const char *name, size_t length)
{
	enum pm_speed speed = PM_SDR;

	while (speed < PM_SPEEDS && (strlen(speeds[speed].name) != length ||
				     memcmp(speeds[speed].name, name, length) != 0))
		speed++;
	return speed < PM_SPEEDS ? speed : PM_SPEED_UNKNOWN;
}

uint8_t pm_link_code(unsigned int lanes, enum pm_speed speed)
{
	unsigned int width = NUM_WIDTHS - 1;

	while (width && widths[width] != lanes)
		width--;
	return (uint8_t)(width << 4 | (unsigned int)speed);
}

unsigned int pm_link_lanes(uint8_t link)
{
	return link >> 4 < (int)NUM_WIDTHS ? widths[link >> 4] : 0;
}

enum pm_speed pm_link_speed(uint8_t link)
{
	unsigned int speed = link & 15;

	return speed < PM_SPEEDS ? (enum pm_speed)speed : PM_SPEED_UNKNOWN;
}

uint32_t pm_link_rate(uint8_t link)
{
	return (uint32_t)((uint64_t)pm_link_lanes(link) *
			  speeds[pm_link_speed(link)].kbits / 1000);
}

uint8_t pm_link_slower(uint8_t a, uint8_t b)
{
	uint32_t x = pm_link_rate(a), y = pm_link_rate(b);

	return !x || (y && y < x) ? b : a;
}

uint8_t pm_link_at(const struct pm_fabric *fabric, uint32_t port)
{
	uint32_t peer = fabric->ports[port].peer;

	return peer == PM_NONE ? 0
			       : pm_link_slower(fabric->ports[port].link,
						fabric->ports[peer].link);
}

const char *pm_link_print(uint8_t link, char text[PM_LINK_TEXT])
{
	unsigned int lanes = pm_link_lanes(link);
	const char *speed = pm_speed_name(pm_link_speed(link));

	if (lanes)
		snprintf(text, PM_LINK_TEXT, "%ux%s", lanes, speed);
	else
		snprintf(text, PM_LINK_TEXT, "%s%s", pm_link_speed(link) ? "?x" : "",
			 speed);
	return text;
}

/* ---- Rates of all links ---- */

uint32_t pm_link_common_rate(const struct pm_fabric *fabric)
{
	uint32_t count[CODES] = {0}, total = 0, common = 0, kinds = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t peer = fabric->ports[i].peer;
		uint8_t link = peer == PM_NONE ? 0 : pm_link_at(fabric, i);

		if (pm_link_rate(link) && fabric->ports[i].node < fabric->num_switches &&
		    fabric->ports[peer].node < fabric->num_switches) {
			kinds += !count[link]++;
			total++;
		}
	}
	for (unsigned int a = 0; kinds > 1 && a < CODES; a++) {
		uint32_t rate = pm_link_rate((uint8_t)a), reach = 0;

		for (unsigned int b = 0; count[a] && b < CODES; b++)
			reach += pm_link_rate((uint8_t)b) >= rate ? count[b] : 0;
		if (reach > total - reach && rate > common)
			common = rate;
	}
	return common;
}

/* ---- Degraded links ---- */

struct neighbour {
	uint64_t kinds; /* of the switches at both ends */
	uint32_t rate, port;
	uint8_t link;
};

/* The link with its lower end at this port; 0: no such link, or its rate is unknown. */
static uint8_t own_link(const struct pm_fabric *skeleton, const uint8_t *link,
			uint32_t port)
{
	uint32_t peer = skeleton->ports[port].peer;
	uint8_t slower;

	if (peer == PM_NONE || peer < port)
		return 0;
	slower = pm_link_slower(link[port], link[peer]);
	return pm_link_rate(slower) ? slower : 0;
}

/* Counts links with a known rate. *same: all of these have the same width and speed. */
static uint32_t count_known(const struct pm_fabric *skeleton, const uint8_t *link,
			    bool *same)
{
	uint8_t first = 0;
	uint32_t known = 0;

	*same = true;
	for (uint32_t i = 0; i < skeleton->num_ports; i++) {
		uint8_t own = own_link(skeleton, link, i);

		if (!own)
			continue;
		if (!known++)
			first = own;
		*same = *same && own == first;
	}
	return known;
}

static enum pm_speed fastest(const struct pm_fabric *skeleton, const uint8_t *link,
			     uint32_t sw)
{
	enum pm_speed speed = PM_SPEED_UNKNOWN;

	pm_for_each_port(i, skeleton, sw) {
		uint32_t peer = skeleton->ports[i].peer;
		enum pm_speed here =
			peer == PM_NONE
				? PM_SPEED_UNKNOWN
				: pm_link_speed(pm_link_slower(link[i], link[peer]));

		if (here > speed)
			speed = here;
	}
	return speed;
}

static int compare_neighbours(const void *a, const void *b)
{
	const struct neighbour *x = a, *y = b;

	if (x->kinds != y->kinds)
		return x->kinds < y->kinds ? -1 : 1;
	if (x->rate != y->rate)
		return x->rate < y->rate ? -1 : 1;
	if (x->link != y->link)
		return x->link < y->link ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

static int compare_degraded(const void *a, const void *b)
{
	const struct pm_degraded_link *x = a, *y = b;

	return x->port < y->port ? -1 : x->port > y->port;
}

static uint32_t list_neighbours(const struct pm_fabric *skeleton, const uint8_t *link,
				const uint32_t *kind, struct neighbour *list)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < skeleton->num_ports; i++) {
		uint8_t own = own_link(skeleton, link, i);
		uint32_t a, b;

		if (!own)
			continue;
		a = kind[skeleton->ports[i].node];
		b = kind[pm_fabric_peer_node(skeleton, i)];
		list[count++] = (struct neighbour){.kinds = a < b ? (uint64_t)a << 32 | b
								  : (uint64_t)b << 32 | a,
						   .rate = pm_link_rate(own),
						   .port = i,
						   .link = own};
	}
	qsort(list, count, sizeof(*list), compare_neighbours);
	return count;
}

/* Picks the degraded links from sorted neighbours. */
static uint32_t pick(const struct neighbour *list, uint32_t count,
		     struct pm_degraded_link *degraded)
{
	uint32_t picked = 0;

	for (uint32_t first = 0, end; first < count; first = end) {
		const struct neighbour *usual;

		for (end = first + 1;
		     end < count && list[end].kinds == list[first].kinds;)
			end++;
		/* The links of this rate or a higher one are just more than half. */
		usual = &list[first + (end - first - 1) / 2];
		for (uint32_t i = first; list[i].rate < usual->rate; i++)
			degraded[picked++] = (struct pm_degraded_link){
				list[i].port, list[i].link, usual->link};
	}
	if (picked)
		qsort(degraded, picked, sizeof(*degraded), compare_degraded);
	return picked;
}

int pm_degraded_links_find(const struct pm_fabric *skeleton, const struct pm_tree *tree,
			   const uint8_t *link, struct pm_degraded_link **list,
			   uint32_t *count, struct pm_error *err)
{
	bool same;
	uint32_t known = count_known(skeleton, link, &same);
	struct neighbour *neighbours = NULL;
	struct pm_degraded_link *degraded = NULL;
	uint32_t *kind = NULL;
	int rc = 0;

	*list = NULL;
	*count = 0;
	if (same)
		return 0;
	neighbours = pm_array(known, sizeof(*neighbours));
	degraded = pm_array(known, sizeof(*degraded));
	kind = pm_array(skeleton->num_switches, sizeof(*kind));
	if (!neighbours || !degraded || !kind) {
		rc = pm_error_no_memory(err);
		goto out;
	}
	for (uint32_t sw = 0; sw < skeleton->num_switches; sw++)
		kind[sw] = (uint32_t)tree->level[sw] << 16 |
			   (uint32_t)skeleton->nodes[sw].num_ports << 8 |
			   (uint32_t)fastest(skeleton, link, sw);
	known = list_neighbours(skeleton, link, kind, neighbours);
	*count = pick(neighbours, known, degraded);
	*list = degraded;
	degraded = NULL;
out:
	free(neighbours);
	free(degraded);
	free(kind);
	return rc;
}

/* ---- Hosts ---- */

/* The fastest speed of a switch's links, as the ports' codes are. */
static enum pm_speed fastest_here(const struct pm_fabric *fabric, uint32_t sw)
{
	enum pm_speed speed = PM_SPEED_UNKNOWN;

	pm_for_each_port(i, fabric, sw) {
		enum pm_speed here = pm_link_speed(pm_link_at(fabric, i));

		if (here > speed)
			speed = here;
	}
	return speed;
}

/* Lists hosts' links with known rates; *same: all have the same width and speed. */
static uint32_t list_host_links(const struct pm_fabric *fabric, struct neighbour *list,
				bool *same)
{
	uint32_t count = 0;

	*same = true;
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++) {
		const struct pm_node *node = &fabric->nodes[sw];
		uint64_t kind = (uint64_t)node->device << 32 |
				(uint64_t)node->num_ports << 24 |
				(uint64_t)fastest_here(fabric, sw) << 16;

		pm_for_each_port(i, fabric, sw) {
			uint32_t host = pm_fabric_peer_node(fabric, i);
			uint8_t link = pm_link_at(fabric, i);

			if (host == PM_NONE || host < fabric->num_switches ||
			    !pm_link_rate(link))
				continue;
			*same = *same && (!count || link == list[0].link);
			list[count++] = (struct neighbour){
				.kinds = kind | fabric->nodes[host].device,
				.rate = pm_link_rate(link),
				.port = i,
				.link = link};
		}
	}
	return count;
}

int pm_degraded_hosts_find(const struct pm_fabric *fabric, struct pm_degraded_link **list,
			   uint32_t *count, struct pm_error *err)
{
	struct neighbour *hosts = pm_array(fabric->num_ports, sizeof(*hosts));
	struct pm_degraded_link *degraded = NULL;
	uint32_t num;
	bool same;
	int rc = hosts ? 0 : pm_error_no_memory(err);

	*list = NULL;
	*count = 0;
	num = hosts ? list_host_links(fabric, hosts, &same) : 0;
	if (num && !same) {
		degraded = pm_array(num, sizeof(*degraded));
		rc = degraded ? 0 : pm_error_no_memory(err);
	}
	if (degraded) {
		qsort(hosts, num, sizeof(*hosts), compare_neighbours);
		*count = pick(hosts, num, degraded);
		*list = degraded;
	}
	free(hosts);
	return rc;
}
