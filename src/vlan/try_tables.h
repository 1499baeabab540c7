/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Host tables of small fabrics, tried one by one. */
#ifndef VLAN_TRY_TABLES_H
#define VLAN_TRY_TABLES_H

#include "assign_vlans.h"

/*
 * Looks for a table that differs from `before` in fewer than `lines` hosts' lines, as few
 * as can be, and leaves no more pairs apart than `unreachable`; d->host is that table
 * then. False: there is none, or there are more than `most` pairs to look at; d->host is
 * as it was. Tables with so many lines are tried all or not at all. -ENOMEM: false.
 */
bool try_tables(struct assigner *d, const struct pm_vlan_host *before, uint32_t lines,
		uint64_t unreachable, uint64_t most);

#endif
