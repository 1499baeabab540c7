/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MAC addresses of ports, for hosts on Ethernet. A netlist may have the address in the
 * comment of an end node's port, which ibsim ignores:
 *
 *     [1] "leaf0"[1]   # mac 02:00:00:00:00:01
 *
 * or the GUID itself in parentheses behind the port's number. Other addresses are in a
 * file with a line per port, and comments behind a #. A node with one cable needs no port
 * number:
 *
 *     h0-1    02:00:00:00:00:01
 *     gw[2]   02:00:00:00:00:02
 */
#ifndef PORTMAJOR_MAC_LIST_H
#define PORTMAJOR_MAC_LIST_H

#include <portmajor/base/error.h>
#include <portmajor/fabric/fabric.h>

#include <stddef.h>

/*
 * Reads such a text into mac[port of the sealed fabric]; other elements stay. -EINVAL:
 * bad line, ambiguous name, or repeated port or address, with "source:LINE: ...";
 * -ENOMEM. Cost: O((lines + nodes) log nodes).
 */
int pm_mac_list_parse(const char *text, size_t length, const char *source,
		      const struct pm_fabric *fabric, uint64_t *mac,
		      struct pm_error *err);

/* The same for a file, or standard input for "-"; also other -errno of reading. */
int pm_mac_list_read(const char *path, const struct pm_fabric *fabric, uint64_t *mac,
		     struct pm_error *err);

#endif
