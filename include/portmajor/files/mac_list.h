/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which port has which MAC address, for hosts on Ethernet. A netlist may say
 * the address in the comment of an end node's port, of which ibsim reads nothing:
 *
 *     [1] "leaf0"[1]   # mac 02:00:00:00:00:01
 *
 * or the GUID itself in parentheses behind the port's number. Otherwise a file does, a
 * line a port, with comments behind a #; the port may be left out where a node has one
 * cable:
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
 * Reads such a text into mac[port], which has an element for each port of the sealed
 * fabric; others stay as they are. -EINVAL: a line is wrong, a name is that of several
 * nodes, or a port or an address stands twice, with "source:LINE: ..."; -ENOMEM.
 * Cost: O((lines + nodes) log nodes).
 */
int pm_mac_list_parse(const char *text, size_t length, const char *source,
		      const struct pm_fabric *fabric, uint64_t *mac,
		      struct pm_error *err);

/* The same of a file, or of standard input for "-"; also other -errno of reading. */
int pm_mac_list_read(const char *path, const struct pm_fabric *fabric, uint64_t *mac,
		     struct pm_error *err);

#endif
