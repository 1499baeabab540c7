/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the hosts' addresses and their previous table. */
#include "output.h"
#include "plan_vlan.h"
#include "text.h"

#include <portmajor/fabric/mac.h>
#include <portmajor/files/mac_list.h>
#include <portmajor/memory/xalloc.h>

#include <inttypes.h>
#include <stdio.h>

static uint32_t host_node(const struct vlan_job *job, uint32_t host)
{
	return job->fabric->ports[job->vlans.hosts[host]].node;
}

char *vlan_host_name(const struct vlan_job *job, uint32_t host)
{
	uint32_t node = host_node(job, host);
	const char *name = pm_fabric_name(job->fabric, node);
	uint32_t cables = 0;

	pm_for_each_port(i, job->fabric, node)
		cables += job->fabric->ports[i].peer != PM_NONE;
	return cables > 1 ? cli_text_make("%s[%u]", name,
					  job->fabric->ports[job->vlans.hosts[host]].num)
			  : cli_text_make("%s", name);
}

/* ---- Addresses ---- */

static int fail_named(const struct vlan_job *job, uint32_t host, const char *what)
{
	char *name = vlan_host_name(job, host);
	int status = cli_fail(EXIT_INPUT, "%s %s", name, what);

	free(name);
	return status;
}

struct owner {
	uint64_t mac;
	uint32_t host;
};

static int compare_host_macs(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	if (x->mac != y->mac)
		return x->mac < y->mac ? -1 : 1;
	return x->host < y->host ? -1 : x->host > y->host;
}

/* Checks that all addresses differ: a file's do, but some may be the netlist's. */
static int check_macs(const struct vlan_job *job)
{
	uint32_t num = job->vlans.num_hosts;
	struct owner *list = pm_xarray(num, sizeof(*list));
	char text[PM_MAC_TEXT];
	int status = EXIT_FINE;

	for (uint32_t h = 0; h < num; h++)
		list[h] = (struct owner){job->mac[h], h};
	qsort(list, num, sizeof(*list), compare_host_macs);
	for (uint32_t i = 1; i < num && !status; i++) {
		char *one, *two;

		if (list[i].mac != list[i - 1].mac)
			continue;
		one = vlan_host_name(job, list[i - 1].host);
		two = vlan_host_name(job, list[i].host);
		status = cli_fail(EXIT_INPUT, "%s and %s have one MAC address, %s", one,
				  two, pm_mac_print(list[i].mac, text));
		free(one);
		free(two);
	}
	free(list);
	return status;
}

static int read_macs(struct vlan_job *job)
{
	const struct pm_fabric *fabric = job->fabric;
	uint64_t *mac = pm_xarray(fabric->num_ports, sizeof(*mac));
	struct pm_error err;
	int status = EXIT_FINE;

	job->mac = pm_xarray(job->vlans.num_hosts, sizeof(*job->mac));
	if (job->request->macs && pm_mac_list_read(job->request->macs, fabric, mac, &err))
		status = cli_refuse(&err);
	for (uint32_t h = 0; h < job->vlans.num_hosts && !status; h++) {
		uint32_t port = job->vlans.hosts[h];

		job->mac[h] =
			mac[port] ? mac[port] : pm_guid_mac(fabric->ports[port].guid);
		if (!job->mac[h])
			status = fail_named(
				job, h,
				job->request->macs
					? "has no MAC address, neither in the file nor in the netlist"
					: "has no MAC address in the netlist: --macs FILE gives it");
	}
	free(mac);
	return status ? status : check_macs(job);
}

/* ---- Hosts without tags ---- */

static int find_untagged(struct vlan_job *job, const char *wanted)
{
	const char *why = "there is no such host";

	for (uint32_t h = 0; h < job->vlans.num_hosts; h++) {
		char *name = vlan_host_name(job, h);
		bool found = !strcmp(name, wanted);

		free(name);
		if (found) {
			job->vlans.untagged[h] = 1;
			return EXIT_FINE;
		}
		if (!strcmp(pm_fabric_name(job->fabric, host_node(job, h)), wanted))
			why = "it has several ports: NAME[PORT] says which";
	}
	return cli_fail(EXIT_USAGE, "--untagged %s: %s", wanted, why);
}

int vlan_hosts_read(struct vlan_job *job)
{
	int status = read_macs(job);

	for (uint32_t i = 0; i < job->request->untagged.num && !status; i++)
		status = find_untagged(job, job->request->untagged.list[i]);
	return status;
}

/* ---- Tables ---- */

struct pm_host_line vlan_host_line(const struct vlan_job *job, uint32_t host)
{
	const struct pm_vlan_host *line = &job->table.host[host];

	return (struct pm_host_line){
		.mac = job->mac[host],
		.priority = line->priority,
		.vlan = job->request->first + line->vlan,
	};
}

struct pm_host_line vlan_group_line(const struct vlan_job *job)
{
	return (struct pm_host_line){
		.mac = PM_MAC_GROUP,
		.priority = UINT32_MAX,
		.vlan = job->request->first + job->table.broadcast,
	};
}

/* Finds the plan's VLAN with the number in an old line. */
static int take_vlan(const struct vlan_job *job, const struct pm_host_line *line,
		     uint32_t *vlan)
{
	uint32_t first = job->request->first, last = first + job->vlans.num - 1;

	if (line->vlan < first || line->vlan > last)
		return cli_fail(EXIT_INPUT,
				"%s:%" PRIu32 ": VLAN %" PRIu32
				" is none of the plan's, %" PRIu32 " to %" PRIu32,
				job->request->old, line->line, line->vlan, first, last);
	*vlan = line->vlan - first;
	return EXIT_FINE;
}

/* Takes the old table, which is in force when the failure happens. */
static int take_lines(struct vlan_job *job)
{
	const struct pm_host_line *line = pm_host_table_find(&job->old, PM_MAC_GROUP);
	int status;

	if (!line)
		return cli_fail(EXIT_INPUT,
				"%s has no line of broadcasts: plan without --fail first",
				job->request->old);
	status = take_vlan(job, line, &job->table.broadcast);
	for (uint32_t h = 0; h < job->vlans.num_hosts && !status; h++) {
		if (job->vlans.untagged[h])
			continue;
		line = pm_host_table_find(&job->old, job->mac[h]);
		if (!line)
			return fail_named(
				job, h,
				"is not in the former table: plan without --fail first");
		status = take_vlan(job, line, &job->table.host[h].vlan);
		job->table.host[h].priority = line->priority;
	}
	return status;
}

int vlan_old_read(struct vlan_job *job)
{
	struct pm_error err;

	if (!job->request->old)
		return EXIT_FINE;
	if (pm_host_table_read(job->request->old, &job->old, &err))
		return cli_refuse(&err);
	return job->cut ? take_lines(job) : EXIT_FINE;
}

static void compare_line(struct vlan_job *job, const struct pm_host_line *line,
			 uint32_t *found)
{
	const struct pm_host_line *old = pm_host_table_find(&job->old, line->mac);

	*found += old != NULL;
	job->fresh += !old;
	job->changed +=
		!old || old->vlan != line->vlan || old->priority != line->priority;
}

void vlan_old_compare(struct vlan_job *job)
{
	struct pm_host_line line = vlan_group_line(job);
	uint32_t found = 0;

	if (!job->request->old)
		return;
	compare_line(job, &line, &found);
	for (uint32_t h = 0; h < job->vlans.num_hosts; h++) {
		line = vlan_host_line(job, h);
		compare_line(job, &line, &found);
	}
	job->gone = job->old.num - found;
}
