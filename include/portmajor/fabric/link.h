/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Widths and speeds of links, and degraded links: those slower than their neighbours.
 *
 * A code is one byte for a width and a speed, 0 if neither is known; without either of
 * them the rate is unknown. Each end of a link has its own code (pm_port.link): files
 * give both ends the same, switches may report one end alone.
 */
#ifndef PORTMAJOR_LINK_H
#define PORTMAJOR_LINK_H

#include <portmajor/fabric/tree.h>

#include <stddef.h>

/* Of a lane, in the order of their rates. */
enum pm_speed {
	PM_SPEED_UNKNOWN,
	PM_SDR,
	PM_DDR,
	PM_QDR,
	PM_FDR10,
	PM_FDR,
	PM_EDR,
	PM_HDR,
	PM_NDR,
	PM_XDR,
	PM_SPEEDS
};

/* "QDR"; "?" for an unknown one. */
const char *pm_speed_name(enum pm_speed speed);

/* The speed with this name, which has `length` bytes; PM_SPEED_UNKNOWN: there is none. */
enum pm_speed pm_speed_find(const char *name, size_t length);

/* Makes a code; any number of lanes but 1, 2, 4, 8 and 12 counts as unknown. */
uint8_t pm_link_code(unsigned int lanes, enum pm_speed speed);

/* The lanes and the speed of a code; 0: unknown. */
unsigned int pm_link_lanes(uint8_t link);
enum pm_speed pm_link_speed(uint8_t link);

/*
 * Data rate in Mb/s in one direction, rounded down: 4xQDR 32,000, 4xFDR 54,545, 4xEDR
 * 100,000. Encoding is deducted: 8 of 10 bits up to QDR, 64 of 66 from FDR10 on are data.
 * From HDR on rates are nominal: 50,000 a lane, doubled with each speed. 0: unknown.
 */
uint32_t pm_link_rate(uint8_t link);

/* The code with the lower rate; if one rate is unknown, the other code. */
uint8_t pm_link_slower(uint8_t a, uint8_t b);

/* The code of the link at a port, that of its slower end; 0: no link, or unknown. */
uint8_t pm_link_at(const struct pm_fabric *fabric, uint32_t port);

/* "4xQDR", "1x?", "?xEDR", or "?"; returns text. */
#define PM_LINK_TEXT 16
const char *pm_link_print(uint8_t link, char text[PM_LINK_TEXT]);

/*
 * The common rate: the highest that more than half of the links between switches with a
 * known rate reach. 0: all known rates are the same, or there is none. O(ports).
 */
uint32_t pm_link_common_rate(const struct pm_fabric *fabric);

/*
 * Flows on the link at a port, scaled to the common rate and rounded to the nearest
 * number; unscaled if either rate is unknown.
 */
static inline uint64_t pm_link_weigh(const struct pm_fabric *fabric, uint32_t common,
				     uint32_t port, uint64_t flows)
{
	uint32_t rate = common ? pm_link_rate(pm_link_at(fabric, port)) : 0;

	return !rate || rate == common ? flows : (flows * common + rate / 2) / rate;
}

/* ---- Degraded links ---- */

struct pm_degraded_link {
	uint32_t port; /* the end with the lower index */
	uint8_t link;  /* its code; that of the slower end */
	uint8_t usual; /* its neighbours' code */
};

/*
 * The rule: links between switches are neighbours if the switches at their ends are of
 * the same two kinds. Switches are of one kind if they have the same level, number of
 * ports, and fastest speed of a link to a switch: so an older generation is not compared
 * with a newer one, but a link that fell back to a lower speed is. The usual rate is the
 * highest that more than half of the neighbours with a known rate reach. A link below it
 * is degraded.
 *
 * link[port] are codes for the ports of the tree's skeleton; 0: no link, or unknown.
 * *list is by port, and the caller frees it. -ENOMEM. O(ports + links log links), without
 * the latter if all links are the same.
 */
int pm_degraded_links_find(const struct pm_fabric *skeleton, const struct pm_tree *tree,
			   const uint8_t *link, struct pm_degraded_link **list,
			   uint32_t *count, struct pm_error *err);

/*
 * The same for links of a fabric's hosts, by the codes of its ports, with `port` at the
 * switch. Neighbours are links of hosts with the same device ID at switches of one kind:
 * the same number of ports, device ID, and fastest speed of a link. O(links log links),
 * or O(ports) if all are the same.
 */
int pm_degraded_hosts_find(const struct pm_fabric *fabric, struct pm_degraded_link **list,
			   uint32_t *count, struct pm_error *err);

#endif
