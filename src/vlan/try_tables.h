/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Host tables of small fabrics, tried one by one. */
#ifndef VLAN_TRY_TABLES_H
#define VLAN_TRY_TABLES_H

#include "assign_vlans.h"

/*
 * Searches the table with the fewest lines that differ from `before`, fewer than `lines`,
 * and with no more unreachable pairs than `unreachable`; writes it to d->host. False, and
 * d->host unchanged: there is none, there are more than `most` pairs to check, or there
 * is no memory. Of the tables with one number of lines all are tried, or none.
 */
bool try_tables(struct assigner *d, const struct pm_vlan_host *before, uint32_t lines,
		uint64_t unreachable, uint64_t most);

#endif
