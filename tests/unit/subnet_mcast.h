/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast of the subnet of stubs (subnet.h): groups, OpenSM's multicast manager, which
 * sends every block of every record, and the tables that switches hold.
 */
#ifndef TESTS_SUBNET_MCAST_H
#define TESTS_SUBNET_MCAST_H

#include "subnet.h"

#include <opensm/osm_madw.h>

/* A host joins a group or leaves it, which has OpenSM look at that MLID; `configured`: a
 * group of the partition configuration, which stays without members. */
void subnet_join(const char *host, uint16_t mlid, bool configured);
void subnet_leave(const char *host, uint16_t mlid);

/* A run of OpenSM's multicast manager, of all MLIDs or those that were asked for. */
void subnet_mcast_run(bool all);

/* What was sent since the last call: blocks by OpenSM's manager, and by the plugin. */
uint32_t subnet_mcast_sets_of_opensm(void);
uint32_t subnet_mcast_sets(void);
/* Blocks that the plugin has read since the last call. */
uint32_t subnet_mcast_gets(void);

/* No switch answers so many Sets of MFT blocks from now on. */
void subnet_mcast_refuse(uint32_t times);

/* A switch answers no Set of an MFT block until another one does not; NULL: all do. */
void subnet_mcast_silence(const char *sw);

/* A switch, and OpenSM's record of it, have an entry of an MLID, as by trees of OpenSM's
 * own. */
void subnet_mcast_scribble(const char *sw, uint16_t mlid);

/* The switches have a MulticastFDBTop, and packets of MLIDs above it are dropped. */
void subnet_mcast_have_top(void);

/* How often OpenSM set one that passes nothing. */
uint32_t subnet_mcast_turned_off(void);

/* What is wrong with a group in the tables that switches hold, or NULL. */
const char *subnet_mcast_fault(uint16_t mlid);

/* Whether any switch has an entry of an MLID. */
bool subnet_mcast_has_entries(uint16_t mlid);

/* Whether OpenSM's records are what the switches hold. */
bool subnet_mcast_is_shown(void);

/* ---- For subnet.c ---- */

void subnet_mcast_begin(const struct pm_fabric *fabric);
void subnet_mcast_end(void);

/* Whether a Set or Get of a switch of the fabric is answered. */
bool subnet_mcast_answer(ib_smp_t *smp, uint32_t sw);
void subnet_mcast_set_info(const ib_switch_info_t *info, uint32_t sw);

#endif
