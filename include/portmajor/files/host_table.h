/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Host tables: the VLAN of each pair of hosts, by MAC addresses. A line per host, in any
 * order, and comments:
 *
 *     02:00:00:00:00:01 101 648          # MAC VLAN PRIORITY
 *     ff:ff:ff:ff:ff:ff 101 4294967295   # where all group addresses go
 *
 * VLANs are 1 to 4094, priorities 1 to 2^32-1 and all different: a pair uses the VLAN of
 * the host with the higher priority. No address is repeated. Changes are new lines, lines
 * that replace that of their address, and `- MAC` for removed addresses.
 */
#ifndef PORTMAJOR_HOST_TABLE_H
#define PORTMAJOR_HOST_TABLE_H

#include <portmajor/base/error.h>

#include <stddef.h>
#include <stdint.h>

#define PM_MAC_GROUP 0xffffffffffffULL /* the line of all group addresses */
#define PM_HOST_VLAN_MAX 4094

struct pm_host_line {
	uint64_t mac; /* its first byte is the highest of 48 bits */
	uint32_t priority;
	uint32_t vlan; /* 0, in changes alone: removed */
	uint32_t line; /* line number in its file, for messages; 0: no file */
};

struct pm_host_table {
	struct pm_host_line *lines; /* by address */
	uint32_t num;
};

/*
 * Reads a table, or changes, from text; source names it in messages. The caller frees it.
 * -EINVAL: a line is wrong, the message names it ("source:LINE: ..."); -ENOMEM.
 * Cost: O(lines x log lines).
 */
int pm_host_table_parse(const char *text, size_t length, const char *source,
			struct pm_host_table *table, struct pm_error *err);
int pm_host_changes_parse(const char *text, size_t length, const char *source,
			  struct pm_host_table *changes, struct pm_error *err);

/* The same for files, or standard input for "-"; also other -errno of reading. */
int pm_host_table_read(const char *path, struct pm_host_table *table,
		       struct pm_error *err);
int pm_host_changes_read(const char *path, struct pm_host_table *changes,
			 struct pm_error *err);

/*
 * Applies changes from `source` to a copy of the table; applying them again changes
 * nothing. -EINVAL: two hosts would have one priority, with a message; -ENOMEM.
 */
int pm_host_table_change(const struct pm_host_table *table,
			 const struct pm_host_table *changes, const char *source,
			 struct pm_host_table *changed, struct pm_error *err);

void pm_host_table_free(struct pm_host_table *table);

/* An address's line, or NULL. */
const struct pm_host_line *pm_host_table_find(const struct pm_host_table *table,
					      uint64_t mac);

/* A checksum of the lines, to compare the tables of hosts. */
uint32_t pm_host_table_sum(const struct pm_host_table *table);

#endif
