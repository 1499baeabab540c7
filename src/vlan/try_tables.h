/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Host tables of small fabrics, tried one by one. */
#ifndef VLAN_TRY_TABLES_H
#define VLAN_TRY_TABLES_H

#include "assign_vlans.h"

/*
 * Searches for the table with the fewest lines that differ from `before`: fewer than
 * `lines`, with at most `unreachable` unreachable pairs. Writes it to d->host. False, and
 * d->host is unchanged: there is none, or there are more than `most` pairs to check. For
 * each number of lines it tries all tables, or none.
 */
bool try_tables(struct assigner *d, const struct pm_vlan_host *before, uint32_t lines,
		uint64_t unreachable, uint64_t most);

#endif
