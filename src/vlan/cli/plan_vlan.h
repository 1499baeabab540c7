/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The request to portmajor-vlan plan, and its results. */
#ifndef PORTMAJOR_CLI_PLAN_VLAN_H
#define PORTMAJOR_CLI_PLAN_VLAN_H

#include "failure_options.h"

#include <portmajor/files/host_table.h>
#include <portmajor/vlan/vlan.h>

/* The request. */
struct plan_vlan {
	const char *folder; /* for the files */
	const char *macs;   /* file of names and MAC addresses, or NULL */
	const char *ports;  /* pattern for names of switches' ports; NULL: the default */
	const char *old;    /* former host table, or NULL */
	uint32_t first;	    /* number of the first VLAN */
	uint32_t mac_table; /* entries that a switch can hold, 0: any number */
	bool merge;
	struct cli_failed untagged; /* names */
};

/* The results; owns all but the request. */
struct vlan_job {
	const struct plan_vlan *request;
	const struct pm_fabric *fabric; /* whole */
	struct pm_vlans vlans;
	struct pm_vlan_table table;
	struct pm_vlan_assignment assignment;
	struct pm_vlan_loads loads;
	uint64_t mac_entries;
	uint32_t mac_switch; /* the switch with the most MAC entries */
	uint64_t *mac;	     /* [host] */
	uint8_t *cut;	     /* [port] failed; NULL: none */
	struct pm_host_table old;
	uint32_t changed, gone; /* lines that differ from the old, or are removed */
	uint32_t fresh; /* of changed: lines of addresses that the old table lacks */
};

/* Reads the MAC addresses of hosts, and the hosts without tags; an exit status. */
int vlan_hosts_read(struct vlan_job *job);

/* Reads the former table, from which changes start after a failure. An exit status. */
int vlan_old_read(struct vlan_job *job);

/* Counts lines that differ from the former table. */
void vlan_old_compare(struct vlan_job *job);

/* A line of the file: a host's, or that of group addresses. */
struct pm_host_line vlan_host_line(const struct vlan_job *job, uint32_t host);
struct pm_host_line vlan_group_line(const struct vlan_job *job);

/* A host's name, with its port where its node has several. The caller frees it. */
char *vlan_host_name(const struct vlan_job *job, uint32_t host);

/* Checks that names of ports and of files are unique and valid; an exit status. */
int vlan_files_check(const struct vlan_job *job);

/* Writes all files, or only those that a failure changes. An exit status. */
int vlan_files_write(const struct vlan_job *job);

#endif
