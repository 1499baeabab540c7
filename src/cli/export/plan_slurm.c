/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes topology.conf, or topology.yaml, for Slurm's topology/tree, where a switch has
 * one link up, and no planes exist. So a switch in that file stands for all switches of a
 * level, in all planes, that connect the same leaves. The number of switches for a job's
 * hosts, by which Slurm chooses, is the same. Example, director of 324 leaves and 18
 * chassis:
 *
 *     level2.0      all fabric cards of all chassis
 *     level1.0 ..   the line cards, of all chassis, over one pod
 *     leaf0 ..      with its hosts
 *
 * A switch above only one of the next lower level is left out.
 */
#include "hostlist.h"
#include "output.h"
#include "plan_command.h"
#include "slurm_hosts.h"

#include <portmajor/base/pool.h>
#include <portmajor/memory/xalloc.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A switch in that file: one of ours with hosts, or all of a level that connect some. */
struct box {
	char name[SLURM_NAME_MAX + 20];
	uint32_t parent;     /* a box, or PM_NONE */
	uint32_t sw;	     /* PM_NONE: there are boxes below it */
	uint32_t first, num; /* its hosts */
};

struct topology {
	const struct pm_fabric *fabric;
	const struct pm_tree *tree;
	struct pm_pool pool;
	struct slurm_hosts hosts;
	struct box *boxes;
	uint32_t *join;	  /* [switch] another one of its group; the last: itself */
	uint32_t *top;	  /* [switch] its highest box so far; PM_NONE: no hosts */
	uint32_t *single; /* [switch] of its group: the only box .. */
	uint32_t *made;	  /* .. and the one above several; PM_NONE: none */
	const char **names;
	uint32_t num_boxes, num_leaves; /* num_leaves: boxes of switches with hosts */
};

/* ---- Boxes ---- */

/* Adds a box for a switch with hosts[first] and the following hosts of this switch. */
static void add_leaf(struct topology *t, uint32_t sw, uint32_t first)
{
	struct box *box = &t->boxes[t->num_boxes];

	*box = (struct box){.parent = PM_NONE, .sw = sw, .first = first};
	while (first + box->num < t->hosts.num &&
	       t->hosts.list[first + box->num].sw == sw)
		box->num++;
	slurm_name_shorten(pm_fabric_name(t->fabric, sw), "_-", box->name);
	t->top[sw] = t->num_boxes++;
}

/* Orders boxes by name, else by address. */
static int compare_boxes(const void *a, const void *b)
{
	struct box *const *x = a, *const *y = b;
	int differ = strcmp((*x)->name, (*y)->name);

	return differ ? differ : *x < *y ? -1 : *x > *y;
}

/* Adds the GUID to the name of leaves that share it, or could then. */
static void name_leaves(struct topology *t)
{
	struct box **sorted =
		pm_pool_xarray(&t->pool, t->num_boxes, sizeof(struct box *));
	uint32_t alike;

	for (uint32_t i = 0; i < t->num_boxes; i++)
		sorted[i] = &t->boxes[i];
	qsort(sorted, t->num_boxes, sizeof(*sorted), compare_boxes);
	for (uint32_t i = 0; i < t->num_boxes; i += alike) {
		for (alike = 1; i + alike < t->num_boxes; alike++)
			if (strcmp(sorted[i]->name, sorted[i + alike]->name) != 0)
				break;
		for (uint32_t k = i; k < i + alike; k++)
			if (alike > 1 || !sorted[k]->name[0] ||
			    plan_ends_with_guid(sorted[k]->name))
				sprintf(sorted[k]->name + strlen(sorted[k]->name),
					"_%016" PRIx64,
					t->fabric->nodes[sorted[k]->sw].guid);
	}
}

static uint32_t find_group(struct topology *t, uint32_t sw)
{
	while (t->join[sw] != sw) {
		t->join[sw] = t->join[t->join[sw]];
		sw = t->join[sw];
	}
	return sw;
}

static void join_below(struct topology *t, uint32_t level)
{
	for (uint32_t sw = 0; sw < t->fabric->num_switches; sw++) {
		if (t->tree->level[sw] != level)
			continue;
		pm_for_each_port(i, t->fabric, sw)
			if (t->tree->direction[i] == PM_DOWN &&
			    t->fabric->ports[i].peer != PM_NONE)
				t->join[find_group(t, t->tree->remote[i])] =
					find_group(t, sw);
	}
}

/*
 * Adds boxes over those that a level connects; their names differ from leaves' by a dot.
 */
static void add_level(struct topology *t, uint32_t level)
{
	uint32_t number = 0;

	join_below(t, level);
	for (uint32_t sw = 0; sw < t->fabric->num_switches; sw++)
		t->single[sw] = t->made[sw] = PM_NONE;
	for (uint32_t i = 0; i < t->num_leaves; i++) {
		uint32_t sw = t->boxes[i].sw, group = find_group(t, sw);

		if (t->single[group] == PM_NONE)
			t->single[group] = t->top[sw];
		if (t->single[group] == t->top[sw] || t->made[group] != PM_NONE)
			continue;
		t->made[group] = t->num_boxes;
		t->boxes[t->num_boxes] = (struct box){.parent = PM_NONE, .sw = PM_NONE};
		sprintf(t->boxes[t->num_boxes++].name, "level%u.%u", level, number++);
	}
	for (uint32_t i = 0; i < t->num_leaves; i++) {
		uint32_t sw = t->boxes[i].sw, made = t->made[find_group(t, sw)];

		if (made == PM_NONE)
			continue;
		t->boxes[t->top[sw]].parent = made;
		t->top[sw] = made;
	}
}

static void add_boxes(struct topology *t)
{
	for (uint32_t sw = 0; sw < t->fabric->num_switches; sw++) {
		t->join[sw] = sw;
		t->top[sw] = PM_NONE;
	}
	for (uint32_t i = 0; i < t->hosts.num; i++)
		if (!i || t->hosts.list[i].sw != t->hosts.list[i - 1].sw)
			add_leaf(t, t->hosts.list[i].sw, i);
	t->num_leaves = t->num_boxes;
	name_leaves(t);
	for (uint32_t level = 1; level <= t->tree->top_level; level++)
		add_level(t, level);
}

/* ---- Printing ---- */

static void print_names(const struct topology *t, uint32_t index, FILE *file)
{
	const struct box *box = &t->boxes[index];
	uint32_t num = 0;

	for (uint32_t i = 0; i < box->num; i++)
		t->names[num++] = t->hosts.list[box->first + i].name;
	for (uint32_t i = 0; i < t->num_boxes && box->sw == PM_NONE; i++)
		if (t->boxes[i].parent == index)
			t->names[num++] = t->boxes[i].name;
	cli_hostlist_print(file, t->names, num);
}

static void print_conf(const struct topology *t, FILE *file)
{
	for (uint32_t i = 0; i < t->num_boxes; i++) {
		fprintf(file, "SwitchName=%s %s=", t->boxes[i].name,
			t->boxes[i].sw == PM_NONE ? "Switches" : "Nodes");
		print_names(t, i, file);
		fputc('\n', file);
	}
}

/* In quotes, as a name may look like a number. */
static void print_yaml(const struct topology *t, FILE *file)
{
	fputs("- topology: portmajor\n  cluster_default: true\n  tree:\n    switches:\n",
	      file);
	for (uint32_t i = 0; i < t->num_boxes; i++) {
		fprintf(file, "      - switch: \"%s\"\n        %s: \"", t->boxes[i].name,
			t->boxes[i].sw == PM_NONE ? "children" : "nodes");
		print_names(t, i, file);
		fputs("\"\n", file);
	}
}

static void write_topology(FILE *file, const struct plan_source *source, bool yaml)
{
	uint32_t switches = source->fabric->num_switches;
	uint32_t ports = source->fabric->num_ports;
	struct topology t = {.fabric = source->fabric, .tree = &source->plan->tree};

	t.boxes = pm_pool_xarray(&t.pool, (size_t)switches * 2, sizeof(*t.boxes));
	t.join = pm_pool_xarray(&t.pool, switches, sizeof(*t.join));
	t.top = pm_pool_xarray(&t.pool, switches, sizeof(*t.top));
	t.single = pm_pool_xarray(&t.pool, switches, sizeof(*t.single));
	t.made = pm_pool_xarray(&t.pool, switches, sizeof(*t.made));
	t.names = pm_pool_xarray(&t.pool, (size_t)switches * 2 + ports, sizeof(*t.names));
	slurm_hosts_find(t.fabric, &t.pool, &t.hosts);
	add_boxes(&t);
	fprintf(file,
		"# Made by portmajor plan --slurm, for %s.\n"
		"# levelN.M: all switches of level N that join what is listed, "
		"of all %u planes.\n",
		yaml ? "Slurm's topology.yaml" : "TopologyPlugin=topology/tree",
		source->plan->tree.num_planes);
	(yaml ? print_yaml : print_conf)(&t, file);
	pm_pool_free(&t.pool);
}

int plan_slurm_write(FILE *file, const void *arg)
{
	write_topology(file, arg, false);
	return 0;
}

int plan_slurm_write_yaml(FILE *file, const void *arg)
{
	write_topology(file, arg, true);
	return 0;
}
