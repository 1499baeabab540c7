/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes topology.conf for Slurm's topology/tree, where a switch has one link up, and no
 * planes exist. So a switch in that file stands for all switches of a level, in all
 * planes, that connect the same leaves. The number of switches for a job's hosts, by
 * which Slurm chooses, is the same. Example, director of 324 leaves and 18 chassis:
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
#include "text.h"

#include <portmajor/base/alloc.h>
#include <portmajor/base/pool.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX 64 /* of a switch's name in that file */

/* A host, and the switch where it is listed. */
struct host {
	const char *name;
	uint32_t sw, order; /* order: ports before */
};

/* A switch in that file: one of ours with hosts, or all of a level that connect some. */
struct box {
	char name[NAME_MAX + 20];
	uint32_t parent;     /* a box, or PM_NONE */
	uint32_t sw;	     /* PM_NONE: there are boxes below it */
	uint32_t first, num; /* its hosts */
};

struct topology {
	const struct pm_fabric *fabric;
	const struct pm_tree *tree;
	struct pm_pool pool;
	struct host *hosts;
	struct box *boxes;
	uint32_t *join;	  /* [switch] another one of its group; the last: itself */
	uint32_t *top;	  /* [switch] its highest box so far; PM_NONE: no hosts */
	uint32_t *single; /* [switch] of its group: the only box .. */
	uint32_t *made;	  /* .. and the one above several; PM_NONE: none */
	const char **names;
	uint32_t num_hosts, num_boxes, num_leaves;
};

/* ---- Hosts ---- */

/* The first word of a name, as far as Slurm allows; hosts have dots, too. */
static void shorten(const char *name, const char *more, char out[NAME_MAX + 1])
{
	size_t n = 0;

	for (; n < NAME_MAX && name[n] && name[n] != ' '; n++)
		out[n] = isalnum((unsigned char)name[n]) || strchr(more, name[n])
				 ? name[n]
				 : '_';
	out[n] = '\0';
}

static int compare_hosts(const void *a, const void *b)
{
	const struct host *x = a, *y = b;
	int differ = strcmp(x->name, y->name);

	return differ ? differ : x->order < y->order ? -1 : x->order > y->order;
}

static int compare_places(const void *a, const void *b)
{
	const struct host *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/*
 * Whether a node's description begins with a host's name, as in "node017 mlx5_0": a
 * second word names the adapter; more words are a model.
 */
static bool is_host_name(const char *text)
{
	size_t length = strcspn(text, " "), local = strlen("localhost");

	if (!length || length > NAME_MAX || !isalnum((unsigned char)*text) ||
	    (!strncmp(text, "localhost", local) &&
	     (length == local || text[local] == '.')))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i]))
			return false;
	text += length + strspn(text + length, " ");
	text += strcspn(text, " ");
	return !text[strspn(text, " ")];
}

/* Finds the adapter of a compute node at a switch's port, or PM_NONE. */
static uint32_t find_adapter(const struct pm_fabric *fabric, uint32_t port)
{
	uint32_t node = pm_fabric_peer_node(fabric, port);

	return node == PM_NONE || fabric->nodes[node].type != PM_CA ||
			       fabric->ports[port].host != PM_COMPUTE
		       ? PM_NONE
		       : node;
}

void plan_slurm_warn(const struct pm_fabric *fabric)
{
	struct cli_names none = {0}, shared = {0};
	uint8_t *visited = pm_array(fabric->num_nodes, 1);

	if (!visited)
		cli_no_memory();
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t node = fabric->ports[i].node < fabric->num_switches
					? find_adapter(fabric, i)
					: PM_NONE;
		const char *label;

		if (node == PM_NONE || visited[node])
			continue;
		visited[node] = 1;
		label = pm_fabric_label(fabric, node);
		if (!is_host_name(pm_fabric_name(fabric, node)))
			cli_names_add(&none, label, 0);
		else if (strcmp(pm_fabric_name(fabric, node), label) != 0)
			cli_names_add(&shared, label, 0);
	}
	free(visited);
	if (none.num)
		cli_note("--slurm: left out %" PRIu32
			 " with names that are no hosts' (see --node-name-map): %s",
			 none.num, none.text);
	if (shared.num)
		cli_note("--slurm: %" PRIu32
			 " have the name of another one, and each name "
			 "is listed once (see --node-name-map): %s",
			 shared.num, shared.text);
}

/* Lists adapters of named compute nodes, by switch; of a machine only the first one. */
static void find_hosts(struct topology *t)
{
	const struct pm_fabric *fabric = t->fabric;
	char name[NAME_MAX + 1];
	uint32_t num = 0;

	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		pm_for_each_port(i, fabric, sw) {
			uint32_t node = find_adapter(fabric, i);

			if (node == PM_NONE ||
			    !is_host_name(pm_fabric_name(fabric, node)))
				continue;
			shorten(pm_fabric_name(fabric, node), "._-", name);
			t->hosts[num].name =
				pm_pool_copy(&t->pool, name, strlen(name) + 1, 1);
			if (!t->hosts[num].name)
				return;
			t->hosts[num].sw = sw;
			t->hosts[num].order = i;
			num++;
		}
	qsort(t->hosts, num, sizeof(*t->hosts), compare_hosts);
	for (uint32_t i = 0; i < num; i++)
		if (!t->num_hosts ||
		    strcmp(t->hosts[t->num_hosts - 1].name, t->hosts[i].name) != 0)
			t->hosts[t->num_hosts++] = t->hosts[i];
	qsort(t->hosts, t->num_hosts, sizeof(*t->hosts), compare_places);
}

/* ---- Boxes ---- */

/* Adds a box for a switch with hosts[first] and the following hosts of this switch. */
static void add_leaf(struct topology *t, uint32_t sw, uint32_t first)
{
	struct box *box = &t->boxes[t->num_boxes];

	*box = (struct box){.parent = PM_NONE, .sw = sw, .first = first};
	while (first + box->num < t->num_hosts && t->hosts[first + box->num].sw == sw)
		box->num++;
	shorten(pm_fabric_name(t->fabric, sw), "_-", box->name);
	t->top[sw] = t->num_boxes++;
}

/* Orders boxes by name, else by address. */
static int compare_boxes(const void *a, const void *b)
{
	struct box *const *x = a, *const *y = b;
	int differ = strcmp((*x)->name, (*y)->name);

	return differ ? differ : *x < *y ? -1 : *x > *y;
}

/* Adds the GUID to the name of leaves that share it, or could then. -ENOMEM. */
static int name_leaves(struct topology *t)
{
	struct box **sorted = pm_pool_array(&t->pool, t->num_boxes, sizeof(struct box *));
	uint32_t alike;

	if (!sorted)
		return -ENOMEM;
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
	return 0;
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

/* -ENOMEM. */
static int add_boxes(struct topology *t)
{
	for (uint32_t sw = 0; sw < t->fabric->num_switches; sw++) {
		t->join[sw] = sw;
		t->top[sw] = PM_NONE;
	}
	for (uint32_t i = 0; i < t->num_hosts; i++)
		if (!i || t->hosts[i].sw != t->hosts[i - 1].sw)
			add_leaf(t, t->hosts[i].sw, i);
	t->num_leaves = t->num_boxes;
	if (name_leaves(t))
		return -ENOMEM;
	for (uint32_t level = 1; level <= t->tree->top_level; level++)
		add_level(t, level);
	return 0;
}

/* ---- Printing ---- */

static void print_box(const struct topology *t, uint32_t number, FILE *file)
{
	const struct box *box = &t->boxes[number];
	uint32_t num = 0;

	fprintf(file, "SwitchName=%s %s=", box->name,
		box->sw == PM_NONE ? "Switches" : "Nodes");
	for (uint32_t i = 0; i < box->num; i++)
		t->names[num++] = t->hosts[box->first + i].name;
	for (uint32_t i = 0; i < t->num_boxes && box->sw == PM_NONE; i++)
		if (t->boxes[i].parent == number)
			t->names[num++] = t->boxes[i].name;
	cli_hostlist_print(file, t->names, num);
	fputc('\n', file);
}

static int fill_topology(struct topology *t)
{
	find_hosts(t);
	return pm_pool_check(&t->pool, NULL) ? -ENOMEM : add_boxes(t);
}

int plan_slurm_write(FILE *file, const void *arg)
{
	const struct plan_source *source = arg;
	uint32_t switches = source->fabric->num_switches;
	uint32_t ports = source->fabric->num_ports;
	struct topology t = {.fabric = source->fabric, .tree = &source->plan->tree};
	int rc;

	t.hosts = pm_pool_array(&t.pool, ports, sizeof(*t.hosts));
	t.boxes = pm_pool_array(&t.pool, (size_t)switches * 2, sizeof(*t.boxes));
	t.join = pm_pool_array(&t.pool, switches, sizeof(*t.join));
	t.top = pm_pool_array(&t.pool, switches, sizeof(*t.top));
	t.single = pm_pool_array(&t.pool, switches, sizeof(*t.single));
	t.made = pm_pool_array(&t.pool, switches, sizeof(*t.made));
	t.names = pm_pool_array(&t.pool, (size_t)switches * 2 + ports, sizeof(*t.names));
	rc = pm_pool_check(&t.pool, NULL) ? -ENOMEM : fill_topology(&t);
	if (!rc)
		fprintf(file,
			"# Made by portmajor plan --slurm, for "
			"TopologyPlugin=topology/tree.\n"
			"# levelN.M: all switches of level N that join what is listed, "
			"of all %u planes.\n",
			source->plan->tree.num_planes);
	for (uint32_t i = 0; i < t.num_boxes && !rc; i++)
		print_box(&t, i, file);
	pm_pool_free(&t.pool);
	return rc;
}
