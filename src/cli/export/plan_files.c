/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes files for other programs, made from a plan. */
#include "outfile.h"
#include "output.h"
#include "plan_command.h"
#include "slurm_hosts.h"
#include "text.h"

#include <portmajor/analysis/lft_diff.h>
#include <portmajor/base/escape.h>
#include <portmajor/base/pool.h>
#include <portmajor/fabric/reach.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- OpenSM ---- */

static int compare_guids(const void *a, const void *b)
{
	const struct pm_lft_reassigned *x = a, *y = b;

	return x->guid < y->guid ? -1 : x->guid > y->guid;
}

/* `0xGUID 0xLOWEST 0xHIGHEST` and an empty line, by GUID. */
static int write_guid2lid(FILE *file, const void *arg)
{
	const struct plan_source *s = arg;
	struct pm_lft_reassigned *list = pm_xarray(PM_MAX_LID + 1, sizeof(*list));
	uint32_t count = 0;

	for (uint32_t lid = 1; lid <= PM_MAX_LID; lid++) {
		uint64_t guid = s->lfts->owner[lid].guid;

		if (!guid)
			continue;
		if (count && list[count - 1].guid == guid)
			list[count - 1].after = (uint16_t)lid;
		else
			list[count++] = (struct pm_lft_reassigned){guid, (uint16_t)lid,
								   (uint16_t)lid};
	}
	qsort(list, count, sizeof(*list), compare_guids);
	for (uint32_t i = 0; i < count; i++)
		fprintf(file, "0x%016" PRIx64 " 0x%04x 0x%04x\n\n", list[i].guid,
			list[i].before, list[i].after);
	free(list);
	return 0;
}

static int write_lfts(FILE *file, const void *arg)
{
	const struct plan_source *s = arg;

	return pm_lfts_write(s->lfts, s->fabric, file);
}

/* The highest level of each connected part of the fabric: `0xGUID` of its switches. */
static int write_roots(FILE *file, const void *arg)
{
	const struct plan_source *s = arg;
	const struct pm_fabric *topology = s->plan->topology;
	const uint8_t *level = s->plan->tree.level;
	uint32_t num = topology->num_switches;
	struct pm_pool pool = {0};
	uint32_t *part = pm_pool_array(&pool, num, sizeof(*part));
	uint32_t *room = pm_pool_array(&pool, num, sizeof(*room));
	uint8_t *top = pm_pool_array(&pool, num, sizeof(*top));
	int rc = pm_pool_check(&pool, NULL);

	if (!rc)
		pm_reach_parts(topology, NULL, part, room);
	for (uint32_t sw = 0; !rc && sw < num; sw++)
		if (level[sw] != PM_NO_LEVEL && level[sw] > top[part[sw]])
			top[part[sw]] = level[sw];
	for (uint32_t sw = 0; !rc && sw < num; sw++)
		if (level[sw] == top[part[sw]])
			fprintf(file, "0x%016" PRIx64 "\n", topology->nodes[sw].guid);
	pm_pool_free(&pool);
	return rc;
}

/* ---- ibdmchk ---- */

/* The port that holds a port's LID: for a switch's ports, its port 0. */
static uint32_t lid_port(const struct pm_fabric *fabric, uint32_t port)
{
	uint32_t node = fabric->ports[port].node;

	return node < fabric->num_switches ? fabric->nodes[node].first_port : port;
}

static unsigned int planned_lid(const struct plan_source *s, uint32_t port)
{
	uint32_t place = pm_plan_place(s->plan, s->fabric, lid_port(s->fabric, port));

	return place == PM_NONE ? 0 : s->plan->lid[place];
}

/* Writes one end of a cable. ibdmchk knows no routers, and its names end at a brace. */
static void write_end(const struct plan_source *s, uint32_t port,
		      unsigned int vendor_digits, FILE *file)
{
	const struct pm_port *p = &s->fabric->ports[port];
	const struct pm_node *n = &s->fabric->nodes[p->node];
	bool is_switch = n->type == PM_SWITCH;

	fprintf(file,
		"{ %s%s Ports:%02X SystemGUID:%016" PRIX64 " NodeGUID:%016" PRIX64
		" PortGUID:%016" PRIX64 " VenID:%0*X DevID:0000 Rev:00000000 {",
		is_switch ? "SW" : "CA", s->sm == lid_port(s->fabric, port) ? "-SM" : "",
		n->num_ports, n->guid, n->guid, is_switch ? n->guid : p->guid,
		(int)vendor_digits, 0u);
	pm_put_field(file, pm_fabric_name(s->fabric, p->node), SIZE_MAX, "{}");
	fprintf(file, "} LID:%04X PN:%02X } ", planned_lid(s, port), p->num);
}

static int write_subnet(FILE *file, const void *arg)
{
	const struct plan_source *s = arg;

	for (uint32_t i = 0; i < s->fabric->num_ports; i++) {
		if (s->fabric->ports[i].peer == PM_NONE)
			continue;
		write_end(s, i, 6, file);
		write_end(s, s->fabric->ports[i].peer, 8, file);
		fprintf(file, "PHY=4x LOG=ACT SPD=10\n");
	}
	return 0;
}

/*
 * Counts the switches on a path from a switch to a LID's port, as OpenSM does; -1: none.
 */
static int count_hops(const struct plan_source *s, const struct pm_lft_switch *from,
		      uint32_t lid)
{
	const struct pm_fabric *fabric = s->fabric;
	const struct pm_lft_switch *at = from;

	for (int hops = 0; hops < 64 && at && lid < at->length; hops++) {
		uint32_t node = pm_fabric_find_guid(fabric, at->guid), peer;

		if (at->table[lid] > fabric->nodes[node].num_ports)
			return -1;
		if (!at->table[lid])
			return hops;
		peer = pm_fabric_peer_node(fabric, fabric->nodes[node].first_port +
							   at->table[lid]);
		if (peer == PM_NONE)
			return -1;
		if (peer >= fabric->num_switches)
			return hops + 1;
		at = pm_lfts_find(s->lfts, fabric->nodes[peer].guid);
	}
	return -1;
}

static int write_fdbs(FILE *file, const void *arg)
{
	const struct plan_source *s = arg;
	uint32_t top = pm_lfts_top(s->lfts);

	for (uint32_t i = 0; i < s->lfts->num_switches; i++) {
		const struct pm_lft_switch *sw = &s->lfts->switches[i];

		fprintf(file,
			"dump_ucast_routes: Switch 0x%016" PRIx64
			"\nLID    : Port : Hops : Optimal\n",
			sw->guid);
		for (uint32_t lid = 1; lid <= top; lid++) {
			int hops = s->lfts->owner[lid].guid ? count_hops(s, sw, lid) : -1;

			if (hops < 0)
				fprintf(file, "0x%04X : UNREACHABLE\n", lid);
			else
				fprintf(file, "0x%04X : %03u  : %02d   : yes\n", lid,
					sw->table[lid], hops);
		}
	}
	return 0;
}

/* A plan has no multicast groups. */
static int write_nothing(FILE *file, const void *arg)
{
	(void)file;
	(void)arg;
	return 0;
}

static int write_ibdmchk(const char *folder, const struct plan_source *s)
{
	static const struct {
		const char *name;
		pm_print *print;
	} files[] = {
		{"opensm-subnet.lst", write_subnet},
		{"opensm.fdbs", write_fdbs},
		{"opensm.mcfdbs", write_nothing},
	};
	int status = EXIT_FINE;

	if (mkdir(folder, 0777) && errno != EEXIST)
		return cli_fail(EXIT_INPUT, "%s: %s", folder, strerror(errno));
	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !status; i++) {
		char *path = cli_text_make("%s/%s", folder, files[i].name);

		status = cli_outfile_write(path, files[i].print, s);
		free(path);
	}
	return status;
}

/* Writes one of the files; NULL: it was not requested. */
static int write_one(const char *path, pm_print *print, const struct plan_source *s)
{
	return path ? cli_outfile_write(path, print, s) : EXIT_FINE;
}

static bool is_yaml(const char *path)
{
	const char *end = path ? strrchr(path, '.') : NULL;

	return end && (!strcmp(end, ".yaml") || !strcmp(end, ".yml"));
}

static int write_all(const struct plan_files *files, const struct plan_source *s)
{
	int status = write_one(files->guid2lid, write_guid2lid, s);

	if (!status)
		status = write_one(files->lfts, write_lfts, s);
	if (!status)
		status = write_one(files->roots, write_roots, s);
	if (!status && files->ibdmchk)
		status = write_ibdmchk(files->ibdmchk, s);
	if (!status)
		status = write_one(files->slurm,
				   is_yaml(files->slurm) ? plan_slurm_write_yaml
							 : plan_slurm_write,
				   s);
	if (!status && files->slurm)
		slurm_hosts_note(s->fabric);
	if (!status)
		status = write_one(files->simgrid, plan_simgrid_write, s);
	return status;
}

bool plan_files_any(const struct plan_files *files)
{
	return files->guid2lid || files->lfts || files->roots || files->ibdmchk ||
	       files->slurm || files->simgrid;
}

int plan_files_write(const struct plan_files *files, const struct cli_tables *tables,
		     const struct pm_fabric *fabric, uint32_t sm)
{
	struct plan_source s = {.plan = tables->plan, .fabric = fabric, .sm = sm};
	struct pm_lfts *lfts = NULL;
	struct pm_error err;
	int status;

	if (!plan_files_any(files))
		return EXIT_FINE;
	if (files->simgrid && plan_simgrid_hosts(fabric) > PLAN_SIMGRID_HOSTS)
		return cli_fail(EXIT_USAGE,
				"--simgrid: %u hosts, with a route for each pair of "
				"them: at most %u",
				plan_simgrid_hosts(fabric), PLAN_SIMGRID_HOSTS);
	if (pm_lfts_of_plan(tables->plan, tables->routes, fabric, &lfts, &err))
		return cli_refuse(&err);
	s.lfts = lfts;
	status = write_all(files, &s);
	pm_lfts_free(lfts);
	return status;
}
