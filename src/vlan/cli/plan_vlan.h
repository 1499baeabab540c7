/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What portmajor-vlan plan was asked, and what comes of it. */
#ifndef PORTMAJOR_CLI_PLAN_VLAN_H
#define PORTMAJOR_CLI_PLAN_VLAN_H

#include "failure_options.h"

#include <portmajor/files/host_table.h>
#include <portmajor/vlan/vlan.h>

/* What is asked for. */
struct plan_vlan {
	const char *folder; /* for the files */
	const char *macs;   /* file of names and MAC addresses, or NULL */
	const char *ports;  /* pattern for switches' ports; NULL: the usual */
	const char *old;    /* former host table, or NULL */
	uint32_t first;	    /* number of the first VLAN */
	uint32_t mac_table; /* room of switches, 0: any */
	bool merge;
	struct cli_failed untagged; /* names */
};

/* What comes of it; all but the request is the job's own. */
struct vlan_job {
	const struct plan_vlan *request;
	const struct pm_fabric *fabric; /* whole */
	struct pm_vlans vlans;
	struct pm_vlan_table table;
	struct pm_vlan_assignment assignment;
	struct pm_vlan_loads loads;
	uint64_t mac_entries;
	uint32_t mac_switch; /* that has the most of them */
	uint64_t *mac;	     /* [host] */
	uint8_t *cut;	     /* [port], NULL: nothing is lost */
	struct pm_host_table old;
	uint32_t changed, gone; /* lines that differ from the old, or are gone */
	uint32_t fresh;		/* of changed: of addresses that the old one lacks */
};

/* The MAC addresses of hosts, and the hosts without tags; an exit status. */
int vlan_hosts_read(struct vlan_job *job);

/* The former table: what changes start from, if anything is lost. An exit status. */
int vlan_old_read(struct vlan_job *job);

/* Counts lines that differ from it. */
void vlan_old_compare(struct vlan_job *job);

/* A host's line as a file has it. */
struct pm_host_line vlan_host_line(const struct vlan_job *job, uint32_t host);
struct pm_host_line vlan_group_line(const struct vlan_job *job);

/* Its name, with its port where its node has several. The caller frees it. */
char *vlan_host_name(const struct vlan_job *job, uint32_t host);

/* Whether names of ports and of files come out as they should; an exit status. */
int vlan_files_check(const struct vlan_job *job);

/* Writes all, or only what a failure changes. An exit status. */
int vlan_files_write(const struct vlan_job *job);

#endif
