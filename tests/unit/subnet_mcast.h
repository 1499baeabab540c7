/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast of the subnet of stubs (subnet.h): groups, OpenSM's multicast manager,
 * which sends every block of every record, and the switches' tables.
 */
#ifndef TESTS_SUBNET_MCAST_H
#define TESTS_SUBNET_MCAST_H

#include "subnet.h"

#include <opensm/osm_madw.h>

/*
 * A host joins a group or leaves it, after which OpenSM processes that MLID;
 * `configured`: a group of the partition configuration, which stays without members.
 */
void subnet_join(const char *host, uint16_t mlid, bool configured);
void subnet_leave(const char *host, uint16_t mlid);

/* A run of OpenSM's multicast manager, for all MLIDs or the requested ones. */
void subnet_mcast_run(bool all);

/* The Sets since the last call: of OpenSM's manager, and of the plugin. */
uint32_t subnet_mcast_sets_of_opensm(void);
uint32_t subnet_mcast_sets(void);
/* Blocks that the plugin has read since the last call. */
uint32_t subnet_mcast_gets(void);

/* From now on this number of Sets of MFT blocks is not answered. */
void subnet_mcast_refuse(uint32_t times);

/* Calls this once, after the next Set of an MFT block. */
void subnet_mcast_on_set(void (*call)(void));

/* A switch answers no Set of an MFT block until another one does not; NULL: all do. */
void subnet_mcast_silence(const char *sw);

/* A switch, and OpenSM's record of it, have an entry of an MLID, as by trees of OpenSM's
 * own. */
void subnet_mcast_scribble(const char *sw, uint16_t mlid);

/* The switches have a MulticastFDBTop, and drop packets of MLIDs above it. */
void subnet_mcast_have_top(void);

/* How often OpenSM set one that passes no MLID. */
uint32_t subnet_mcast_turned_off(void);

/* The fault of a group's tables in the switches, or NULL. */
const char *subnet_mcast_fault(uint16_t mlid);

/* Whether any switch has an entry of an MLID. */
bool subnet_mcast_has_entries(uint16_t mlid);

/* Whether OpenSM's records equal the switches' tables. */
bool subnet_mcast_is_shown(void);

/* ---- For subnet.c ---- */

void subnet_mcast_begin(const struct pm_fabric *fabric);
void subnet_mcast_end(void);

/* Whether a Set or Get of a switch of the fabric is answered. */
bool subnet_mcast_answer(ib_smp_t *smp, uint32_t sw);
void subnet_mcast_set_info(const ib_switch_info_t *info, uint32_t sw);

#endif
