/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the hosts of topology.conf, and a switch for each. */
#include "slurm_hosts.h"
#include "output.h"
#include "text.h"

#include <portmajor/base/hash.h>
#include <portmajor/fabric/roles.h>
#include <portmajor/memory/xalloc.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

void slurm_name_shorten(const char *name, const char *more, char out[SLURM_NAME_MAX + 1])
{
	size_t n = 0;

	for (; n < SLURM_NAME_MAX && name[n] && name[n] != ' '; n++)
		out[n] = isalnum((unsigned char)name[n]) || strchr(more, name[n])
				 ? name[n]
				 : '_';
	out[n] = '\0';
}

/*
 * Whether a node's description begins with a host's name, as in "node017 mlx5_0": a
 * second word names the adapter; more words are a model.
 */
static bool is_host_name(const char *text)
{
	size_t length = strcspn(text, " "), local = strlen("localhost");

	if (!length || length > SLURM_NAME_MAX || !isalnum((unsigned char)*text) ||
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

/* ---- Adapters ---- */

/* Finds the adapter of a host at a switch's port, or PM_NONE. */
static uint32_t find_adapter(const struct pm_fabric *fabric, uint32_t port)
{
	uint32_t node = pm_fabric_peer_node(fabric, port);

	return node == PM_NONE || fabric->nodes[node].type != PM_CA ||
			       pm_is_aggregation_node(fabric, node)
		       ? PM_NONE
		       : node;
}

/* The better a kind is for a host's place, the lower. */
static int kind_order(uint8_t kind)
{
	return kind == PM_COMPUTE ? 0 : kind == PM_SERVICE ? 1 : 2;
}

/* By host, the best kind first, and by port. */
static int compare_adapters(const void *a, const void *b)
{
	const struct slurm_host *x = a, *y = b;
	int differ = strcmp(x->name, y->name);

	if (!differ)
		differ = kind_order(x->kind) - kind_order(y->kind);
	return differ ? differ : x->port < y->port ? -1 : x->port > y->port;
}

static int compare_by_port(const void *a, const void *b)
{
	const struct slurm_host *x = a, *y = b;

	return x->port < y->port ? -1 : x->port > y->port;
}

/* Lists the adapters with a host's name in order, and returns their number. */
static uint32_t list_adapters(const struct pm_fabric *fabric, struct pm_pool *pool,
			      struct slurm_host *list)
{
	char name[SLURM_NAME_MAX + 1];
	uint32_t num = 0;

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t sw = fabric->ports[i].node;
		uint32_t node =
			sw < fabric->num_switches ? find_adapter(fabric, i) : PM_NONE;

		if (node == PM_NONE || !is_host_name(pm_fabric_name(fabric, node)))
			continue;
		slurm_name_shorten(pm_fabric_name(fabric, node), "._-", name);
		list[num].name = pm_pool_xcopy(pool, name, strlen(name) + 1, 1);
		if (!list[num].name)
			return 0;
		list[num].sw = sw;
		list[num].port = i;
		list[num].node = node;
		list[num++].kind = fabric->ports[i].host;
	}
	qsort(list, num, sizeof(*list), compare_adapters);
	return num;
}

/* ---- A switch for each host ---- */

/* The hosts below a switch: their number, and a sum that tells their sets apart. */
struct below {
	uint64_t sum;
	uint32_t num;
};

/* Counts the adapters of the host at list[0], and those of its best kind. */
static uint32_t count_adapters(const struct slurm_host *list, uint32_t num,
			       uint32_t *best)
{
	uint32_t count = 1;

	*best = 1;
	for (; count < num && !strcmp(list[count].name, list->name); count++)
		*best += list[count].kind == list->kind;
	return count;
}

static void add_below(struct below *below, const struct slurm_host *list, uint32_t num)
{
	uint64_t hash = pm_hash(0, list->name, strlen(list->name));

	for (uint32_t i = 0; i < num; i++) {
		if (i && list[i].sw == list[i - 1].sw)
			continue;
		below[list[i].sw].num++;
		below[list[i].sw].sum += hash;
	}
}

/* Counts the adapters at switches with the hosts of list[at]'s switch. */
static uint32_t count_alike(const struct below *below, const struct slurm_host *list,
			    uint32_t num, uint32_t at)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < num; i++)
		count += below[list[i].sw].sum == below[list[at].sw].sum;
	return count;
}

/* The adapter at whose switch a host is listed, see slurm_hosts.h. */
static struct slurm_host choose(const struct below *below, const struct slurm_host *list,
				uint32_t num)
{
	uint32_t most = 0, best = 0;
	struct slurm_host chosen;
	bool equal = false;

	for (uint32_t i = 0; i < num; i++) {
		const struct below *ours = &below[list[i].sw];
		const struct below *others = &below[list[best].sw];
		uint32_t count = count_alike(below, list, num, i);

		if (count < most || (count == most && ours->sum == others->sum))
			continue;
		equal = count == most;
		if (!equal || ours->num < others->num)
			best = i;
		most = count;
	}
	chosen = list[best];
	chosen.guessed = equal;
	return chosen;
}

void slurm_hosts_find(const struct pm_fabric *fabric, struct pm_pool *pool,
		      struct slurm_hosts *hosts)
{
	uint32_t ports = fabric->num_ports, num, count, best;
	struct slurm_host *list = pm_pool_xarray(pool, ports, sizeof(*list));
	struct below *below = pm_pool_xarray(pool, fabric->num_switches, sizeof(*below));

	*hosts = (struct slurm_hosts){
		.list = pm_pool_xarray(pool, ports, sizeof(*hosts->list)),
		.io = pm_pool_xarray(pool, ports, sizeof(*hosts->io)),
	};
	num = list_adapters(fabric, pool, list);
	for (uint32_t i = 0; i < num; i += count) {
		count = count_adapters(list + i, num - i, &best);
		if (kind_order(list[i].kind) <= 1)
			add_below(below, list + i, best);
	}
	for (uint32_t i = 0; i < num; i += count) {
		count = count_adapters(list + i, num - i, &best);
		if (kind_order(list[i].kind) > 1)
			hosts->io[hosts->num_io++] = list[i];
		else
			hosts->list[hosts->num++] = choose(below, list + i, best);
	}
	qsort(hosts->list, hosts->num, sizeof(*hosts->list), compare_by_port);
}

/* ---- Notes ---- */

/* Adapters whose names are no hosts', or are those of others. */
static void note_names(const struct pm_fabric *fabric)
{
	struct cli_names none = {0}, shared = {0};
	uint8_t *visited = pm_xarray(fabric->num_nodes, 1);

	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		uint32_t node = fabric->ports[i].node < fabric->num_switches
					? find_adapter(fabric, i)
					: PM_NONE;
		const char *label;

		if (node == PM_NONE || visited[node] ||
		    fabric->ports[i].host != PM_COMPUTE)
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
			 " with names that are no hosts' (see --node-name-map); Slurm "
			 "22.05 gives no jobs to nodes that are not in the file: %s",
			 none.num, none.text);
	if (shared.num)
		cli_note("--slurm: %" PRIu32
			 " have the name of another one, and each name "
			 "is listed once (see --node-name-map): %s",
			 shared.num, shared.text);
}

void slurm_hosts_note(const struct pm_fabric *fabric)
{
	struct cli_names guessed = {0}, io = {0};
	struct pm_pool pool = {0};
	struct slurm_hosts hosts;

	note_names(fabric);
	slurm_hosts_find(fabric, &pool, &hosts);
	for (uint32_t i = 0; i < hosts.num; i++)
		if (hosts.list[i].guessed)
			cli_names_add(&guessed, hosts.list[i].name, 0);
	for (uint32_t i = 0; i < hosts.num_io; i++)
		cli_names_add(&io, hosts.io[i].name, 0);
	if (guessed.num)
		cli_note("--slurm: hosts with as many adapters at switches of other "
			 "hosts, so that their place is a guess (name adapters for "
			 "storage in --io_guid_file): %" PRIu32 ", %s",
			 guessed.num, guessed.text);
	if (io.num)
		cli_note(
			"--slurm: left out I/O nodes; Slurm 22.05 gives no jobs to nodes "
			"that are not in the file: %" PRIu32 ", %s",
			io.num, io.text);
	pm_pool_free(&pool);
}
