/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the files of portmajor-vlan plan, for hosts and for switches. */
#include "json.h"
#include "outfile.h"
#include "output.h"
#include "plan_vlan.h"
#include "port_names.h"
#include "text.h"

#include <portmajor/base/escape.h>
#include <portmajor/fabric/mac.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOWHERE 4095 /* in place of no VLAN: none of a plan */

/* ---- Hosts ---- */

static void print_line(FILE *file, const struct pm_host_line *line, const char *name)
{
	char text[PM_MAC_TEXT];

	fprintf(file, "%s %" PRIu32 " %" PRIu32 " # ", pm_mac_print(line->mac, text),
		line->vlan, line->priority);
	pm_put_field(file, name, SIZE_MAX, "");
	putc('\n', file);
}

/* Whether to write a line: all are written, or those that differ from the old table. */
static bool is_wanted(const struct vlan_job *job, const struct pm_host_line *line,
		      bool changes)
{
	const struct pm_host_line *old =
		changes ? pm_host_table_find(&job->old, line->mac) : NULL;

	return !old || old->vlan != line->vlan || old->priority != line->priority;
}

static void print_hosts(FILE *file, const struct vlan_job *job, bool changes)
{
	struct pm_host_line line = vlan_group_line(job);

	if (is_wanted(job, &line, changes))
		print_line(file, &line, "broadcast and multicast");
	for (uint32_t h = 0; h < job->vlans.num_hosts; h++) {
		char *name;

		line = vlan_host_line(job, h);
		if (!is_wanted(job, &line, changes))
			continue;
		name = vlan_host_name(job, h);
		print_line(file, &line, name);
		free(name);
	}
}

static int write_hosts(FILE *file, const void *arg)
{
	fputs("# MAC VLAN PRIORITY # host: of two, that with the higher priority decides\n",
	      file);
	print_hosts(file, arg, false);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Prints lines of addresses that the plan no longer has. */
static void print_gone(FILE *file, const struct vlan_job *job)
{
	uint32_t num = job->vlans.num_hosts;
	uint64_t *list = pm_xcopy(job->mac, num, sizeof(*list));
	char text[PM_MAC_TEXT];

	qsort(list, num, sizeof(*list), by_number);
	for (uint32_t i = 0; i < job->old.num; i++) {
		uint64_t mac = job->old.lines[i].mac;

		if (mac != PM_MAC_GROUP &&
		    !bsearch(&mac, list, num, sizeof(*list), by_number))
			fprintf(file, "- %s\n", pm_mac_print(mac, text));
	}
	free(list);
}

static int write_changes(FILE *file, const void *arg)
{
	const struct vlan_job *job = arg;

	fputs("# what is new or differs from the table before; - MAC: is gone\n", file);
	print_hosts(file, job, true);
	print_gone(file, job);
	return 0;
}

/* ---- Names ---- */

struct switch_source {
	const struct vlan_job *job;
	uint32_t sw;
};

static char *port_name(const struct vlan_job *job, uint32_t port)
{
	return cli_port_name(job->fabric, port, job->request->ports);
}

static bool is_plain(const char *text, const char *others)
{
	for (; *text; text++)
		if (!(*text >= 'a' && *text <= 'z') && !(*text >= 'A' && *text <= 'Z') &&
		    !(*text >= '0' && *text <= '9') && !strchr(others, *text))
			return false;
	return true;
}

/* Checks a port's name: programs read it without quotes. */
static int check_port(const struct vlan_job *job, uint32_t port)
{
	char *name = port_name(job, port);
	int status = EXIT_FINE;

	if (!is_plain(name, "._:/@-") || *name == '-')
		status = cli_fail(EXIT_USAGE,
				  "--port-names: \"%s\" is no name for a port: letters, "
				  "digits and . _ : / @ - may be in it",
				  name);
	free(name);
	return status;
}

/* The name of a switch's file; the caller frees it. */
static char *file_name(const struct vlan_job *job, uint32_t sw, const char *suffix)
{
	char *path = cli_text_make("%s/%s%s", job->request->folder,
				   pm_fabric_name(job->fabric, sw), suffix);
	char *name = path + strlen(job->request->folder) + 1;

	for (char *c = name; *c; c++)
		if (!is_plain((char[]){*c, 0}, "._+-"))
			*c = '_';
	if (*name == '.')
		*name = '_';
	return path;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Checks that all switches have different files. */
static int check_files(const struct vlan_job *job)
{
	uint32_t num = job->fabric->num_switches;
	char **paths = pm_xarray(num, sizeof(*paths));
	int status = EXIT_FINE;

	for (uint32_t sw = 0; sw < num; sw++)
		paths[sw] = file_name(job, sw, "");
	qsort(paths, num, sizeof(*paths), compare_paths);
	for (uint32_t sw = 1; sw < num && !status; sw++)
		if (!strcmp(paths[sw], paths[sw - 1]))
			status = cli_fail(
				EXIT_INPUT,
				"two switches have names that make one file, %s.ovs",
				paths[sw]);
	for (uint32_t sw = 0; sw < num; sw++)
		free(paths[sw]);
	free(paths);
	return status;
}

int vlan_files_check(const struct vlan_job *job)
{
	int status = cli_port_pattern_check(job->request->ports);

	for (uint32_t sw = 0; sw < job->fabric->num_switches && !status; sw++)
		status = check_port(job, job->fabric->nodes[sw].first_port + 1);
	return status ? status : check_files(job);
}

/* ---- Ports ---- */

/* VLANs of a port: tagged ones, and an untagged one or PM_NONE. */
struct port_vlans {
	uint8_t *tagged; /* [vlan] */
	uint32_t untagged;
	bool any;  /* any is tagged */
	bool bare; /* its host sends without tags */
};

/* Whether the host at this port sends without tags. */
static bool is_untagged(const struct vlan_job *job, uint32_t port)
{
	for (uint32_t h = 0; h < job->vlans.num_hosts; h++)
		if (job->vlans.hosts[h] == port)
			return job->vlans.untagged[h];
	return false;
}

/*
 * Finds a port's VLANs. A port without a cable is in none: a device plugged in later
 * reaches nothing.
 */
static void find_vlans(const struct vlan_job *job, uint32_t port, struct port_vlans *p)
{
	const struct pm_vlans *v = &job->vlans;
	uint32_t sw = job->fabric->ports[port].node, peer = job->fabric->ports[port].peer;
	bool host = peer != PM_NONE &&
		    job->fabric->ports[peer].node >= job->fabric->num_switches;

	p->bare = host && job->request->untagged.num && is_untagged(job, peer);
	p->untagged = PM_NONE;
	p->any = false;
	for (uint32_t vlan = 0; vlan < v->num; vlan++) {
		bool member = v->up[(size_t)vlan * v->tree->num_switches + sw] != PM_NONE;

		if (host && member && vlan == v->access)
			p->untagged = vlan;
		p->tagged[vlan] = host ? member && !p->bare && vlan != v->access
				  : peer != PM_NONE ? pm_vlans_tagged(v, vlan, port)
						    : 0;
		p->any |= p->tagged[vlan];
	}
}

/* Prints a range of numbers; `bridge` takes no range of one number. */
static void print_run(FILE *file, uint32_t from, uint32_t to)
{
	fprintf(file, "%" PRIu32, from);
	if (to > from)
		fprintf(file, "-%" PRIu32, to);
}

/* Prints runs of VLANs by number, each with `before` and `after`. */
static void print_runs(FILE *file, const struct vlan_job *job, const uint8_t *tagged,
		       const char *before, const char *between, const char *after)
{
	bool first = true;

	for (uint32_t i = 0; i < job->vlans.num; i++) {
		uint32_t from = i;

		if (!tagged[i])
			continue;
		while (i + 1 < job->vlans.num && tagged[i + 1])
			i++;
		fprintf(file, "%s%s", first ? "" : between, before);
		print_run(file, job->request->first + from, job->request->first + i);
		fputs(after, file);
		first = false;
	}
}

static struct port_vlans begin_ports(const struct vlan_job *job)
{
	return (struct port_vlans){.tagged = pm_xarray(job->vlans.num, 1)};
}

static bool has_cable(const struct vlan_job *job, uint32_t port)
{
	return job->fabric->ports[port].peer != PM_NONE;
}

/* ---- Open vSwitch ---- */

/*
 * Prints a port. An access port would drop frames that a host sends with the tag of the
 * port's own VLAN. Open vSwitch forwards the tag 4095, too, but no frame from a protected
 * port to another one. A switch may have fewer ports than the netlist, but must have
 * those with a cable.
 */
static void print_ovs_port(FILE *file, const struct vlan_job *job, uint32_t port,
			   struct port_vlans *p)
{
	char *name = port_name(job, port);

	find_vlans(job, port, p);
	fprintf(file, " \\\n\t-- %sset port %s protected=%s",
		has_cable(job, port) ? "" : "--if-exists ", name,
		p->any || p->untagged != PM_NONE ? "false" : "true");
	if (p->untagged != PM_NONE)
		fprintf(file, " vlan_mode=%s tag=%" PRIu32,
			p->bare ? "access" : "native-untagged",
			job->request->first + p->untagged);
	else
		fputs(" vlan_mode=trunk tag='[]'", file);
	fputs(" trunks=", file);
	if (p->any)
		print_runs(file, job, p->tagged, "", ",", "");
	else if (p->bare && p->untagged != PM_NONE)
		fputs("'[]'", file);
	else if (p->untagged != PM_NONE)
		fprintf(file, "%" PRIu32, job->request->first + p->untagged);
	else
		fprintf(file, "%d", NOWHERE); /* an empty list would mean all VLANs */
	free(name);
}

static int write_ovs(FILE *file, const void *arg)
{
	const struct switch_source *s = arg;
	struct port_vlans p = begin_ports(s->job);

	fputs("#!/bin/sh\n# VLANs of this switch's ports; arguments are options of "
	      "ovs-vsctl, as --db=...\nexec ovs-vsctl \"$@\"",
	      file);
	pm_for_each_port(i, s->job->fabric, s->sw)
		print_ovs_port(file, s->job, i, &p);
	fputc('\n', file);
	free(p.tagged);
	return 0;
}

/* ---- Linux bridges ---- */

/* Removes a port from all other VLANs, in runs: 1 to 4094 without the port's own. */
static void print_others(FILE *file, const struct vlan_job *job, const char *name,
			 const struct port_vlans *p)
{
	uint32_t first = job->request->first, from = 1;

	for (uint32_t i = 0; i <= job->vlans.num; i++) {
		bool end = i == job->vlans.num;
		uint32_t number = end ? PM_VLAN_MAX + 1 : first + i;

		if (!end && !p->tagged[i] && i != p->untagged)
			continue;
		if (number > from) {
			fprintf(file, "vlan del dev %s vid ", name);
			print_run(file, from, number - 1);
			fputc('\n', file);
		}
		from = number + 1;
	}
}

/* Adds a port to its own VLANs. */
static void print_own(FILE *file, const struct vlan_job *job, const char *name,
		      const struct port_vlans *p)
{
	char *add = cli_text_make("vlan add dev %s vid ", name);

	if (p->untagged != PM_NONE)
		fprintf(file, "%s%" PRIu32 " pvid untagged\n", add,
			job->request->first + p->untagged);
	print_runs(file, job, p->tagged, add, "", "\n");
	free(add);
}

typedef void print_bridge(FILE *, const struct vlan_job *, const char *name,
			  const struct port_vlans *);

static void print_bridge_ports(FILE *file, const struct switch_source *s, bool cable,
			       print_bridge *print)
{
	struct port_vlans p = begin_ports(s->job);

	pm_for_each_port(i, s->job->fabric, s->sw)
		if (has_cable(s->job, i) == cable) {
			char *name = port_name(s->job, i);

			find_vlans(s->job, i, &p);
			print(file, s->job, name, &p);
			free(name);
		}
	free(p.tagged);
}

/*
 * All ports leave their former VLANs before any gets another one: with ports of two plans
 * in one VLAN the switch could close a loop. Unused ports may be missing, so they are the
 * last ones to leave.
 */
static int write_bridge(FILE *file, const void *arg)
{
	fputs("# for bridge -force -batch; the bridge has vlan_filtering 1 "
	      "vlan_default_pvid 0\n",
	      file);
	print_bridge_ports(file, arg, true, print_others);
	print_bridge_ports(file, arg, false, print_others);
	print_bridge_ports(file, arg, true, print_own);
	return 0;
}

/* ---- Other switches ---- */

static int print_tagged(FILE *file, const void *arg)
{
	const struct switch_source *s = arg;
	struct port_vlans p = begin_ports(s->job);

	find_vlans(s->job, s->sw, &p);
	print_runs(file, s->job, p.tagged, "", ",", "");
	free(p.tagged);
	return 0;
}

/* Adds the peer, its GUID and its port; null without a cable. */
static void add_peer(const struct vlan_job *job, uint32_t port, json_t *object)
{
	uint32_t end = job->fabric->ports[port].peer;
	const struct pm_port *peer = end == PM_NONE ? NULL : &job->fabric->ports[end];

	json_object_set_new(object, "peer",
			    peer ? pm_json_text(pm_fabric_name(job->fabric, peer->node))
				 : json_null());
	json_object_set_new(object, "peer_guid",
			    peer ? pm_json_guid(job->fabric->nodes[peer->node].guid)
				 : json_null());
	json_object_set_new(object, "peer_port",
			    peer ? json_integer(peer->num) : json_null());
}

static json_t *port_json(const struct vlan_job *job, uint32_t port)
{
	struct switch_source source = {job, port};
	struct port_vlans vlans = begin_ports(job);
	char *name = port_name(job, port), *tagged = NULL;
	size_t length;
	json_t *object;

	find_vlans(job, port, &vlans);
	if (pm_text_print(print_tagged, &source, &tagged, &length))
		pm_no_memory();
	object = json_pack("{s:i, s:o}", "port", job->fabric->ports[port].num, "name",
			   pm_json_text(name));
	add_peer(job, port, object);
	json_object_set_new(
		object, "untagged",
		vlans.untagged == PM_NONE
			? json_null()
			: json_integer((json_int_t)job->request->first + vlans.untagged));
	json_object_set_new(object, "tagged", json_string(tagged ? tagged : ""));
	free(tagged);
	free(name);
	free(vlans.tagged);
	return object;
}

static json_t *switch_json(const struct vlan_job *job, uint32_t sw)
{
	json_t *ports = json_array();

	pm_for_each_port(i, job->fabric, sw)
		ports = pm_json_append(ports, port_json(job, i));
	return json_pack("{s:o, s:o, s:o}", "name",
			 pm_json_text(pm_fabric_name(job->fabric, sw)), "guid",
			 pm_json_guid(job->fabric->nodes[sw].guid), "ports", ports);
}

static int write_json(FILE *file, const void *arg)
{
	const struct vlan_job *job = arg;
	json_t *object = cli_json_new("switches", 1), *list = json_array();
	int rc;

	for (uint32_t vlan = 0; vlan < job->vlans.num; vlan++)
		list = pm_json_append(
			list,
			json_pack(
				"{s:I, s:o, s:o}", "vlan",
				(json_int_t)job->request->first + vlan, "top",
				pm_json_text(pm_fabric_name(job->fabric,
							    job->vlans.top[vlan])),
				"top_guid",
				pm_json_guid(
					job->fabric->nodes[job->vlans.top[vlan]].guid)));
	json_object_set_new(
		object, "access",
		json_integer((json_int_t)job->request->first + job->vlans.access));
	json_object_set_new(object, "vlans", list);
	list = json_array();
	for (uint32_t sw = 0; sw < job->fabric->num_switches; sw++)
		list = pm_json_append(list, switch_json(job, sw));
	json_object_set_new(object, "switches", list);
	rc = json_dumpf(object, file, JSON_INDENT(1));
	fputc('\n', file);
	json_decref(object);
	return rc ? -EIO : 0;
}

/* ---- All files ---- */

static int write_named(const struct vlan_job *job, const char *name, pm_print *print)
{
	char *path = cli_text_make("%s/%s", job->request->folder, name);
	int status = cli_outfile_write(path, print, job);

	free(path);
	return status;
}

static int write_switch(const struct vlan_job *job, uint32_t sw, const char *suffix,
			pm_print *print)
{
	struct switch_source source = {job, sw};
	char *path = file_name(job, sw, suffix);
	int status = cli_outfile_write(path, print, &source);

	free(path);
	return status;
}

static int write_switches(const struct vlan_job *job)
{
	int status = write_named(job, "switches.json", write_json);

	for (uint32_t sw = 0; sw < job->fabric->num_switches && !status; sw++) {
		status = write_switch(job, sw, ".ovs", write_ovs);
		if (!status)
			status = write_switch(job, sw, ".bridge", write_bridge);
	}
	return status;
}

/* Removes the file of an earlier plan's changes: it would be taken for this table's. */
static int remove_changes(const struct vlan_job *job)
{
	char *path = cli_text_make("%s/hosts.diff", job->request->folder);
	int status = EXIT_FINE;

	if (unlink(path) && errno != ENOENT)
		status = cli_fail(EXIT_INPUT, "%s: %s", path, strerror(errno));
	free(path);
	return status;
}

int vlan_files_write(const struct vlan_job *job)
{
	const char *folder = job->request->folder;
	int status = EXIT_FINE;

	if (mkdir(folder, 0777) && errno != EEXIST)
		return cli_fail(EXIT_INPUT, "%s: %s", folder, strerror(errno));
	if (!job->cut)
		status = write_switches(job);
	if (!status)
		status = job->request->old ? write_named(job, "hosts.diff", write_changes)
					   : remove_changes(job);
	return status ? status : write_named(job, "hosts", write_hosts);
}
