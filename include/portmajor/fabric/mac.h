/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MAC addresses as numbers of 48 bits, the first byte the highest, and the GUIDs made of
 * them. On Ethernet a port's GUID is its address as an EUI-64, as in RoCE:
 * 02:00:00:00:00:01 has the GUID 0x000000fffe000001.
 */
#ifndef PORTMAJOR_MAC_H
#define PORTMAJOR_MAC_H

#include <portmajor/base/lexer.h>

#include <stdbool.h>
#include <stdint.h>

#define PM_MAC_TEXT 18 /* bytes of an address as text, with its NUL */

/* Reads a word as an address; false: it is none. */
bool pm_mac_parse(struct pm_text word, uint64_t *mac);

/* Whether an address can be a host's: it is neither 0 nor a group's. */
bool pm_mac_is_host(uint64_t mac);

/* Prints an address; returns text. */
const char *pm_mac_print(uint64_t mac, char text[PM_MAC_TEXT]);

/* The GUID of an address, and the address of a GUID; 0: the GUID is not made from one. */
uint64_t pm_mac_guid(uint64_t mac);
uint64_t pm_guid_mac(uint64_t guid);

#endif
