/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "packet_scene.h"

#include "output.h"

#include <portmajor/alloc.h>
#include <portmajor/delta.h>
#include <portmajor/order.h>

static int no_memory(void)
{
	return cli_fail(EXIT_INPUT, "out of memory");
}

/* ---- Hosts and tables ---- */

/* All end nodes' ports with a cable to a switch, by switch and port. */
static int list_hosts(struct scene *scene)
{
	const struct pm_fabric *fabric = scene->fabric;

	scene->hosts = pm_array(fabric->num_ports, sizeof(*scene->hosts));
	if (!scene->hosts)
		return no_memory();
	scene->num_hosts = pm_packet_list_hosts(fabric, scene->hosts);
	return EXIT_FINE;
}

static int plan_tables(struct scene *scene, const struct cli_fabric *config)
{
	const struct pm_fabric *fabric = scene->fabric;
	int status = cli_tables_make(&scene->tables, config, fabric, PM_NONE);

	if (status)
		return status;
	scene->length = pm_routes_stride(scene->tables.routes);
	scene->lfts = pm_array(fabric->num_switches, scene->length);
	if (!scene->lfts)
		return no_memory();
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		memcpy(scene->lfts + (size_t)sw * scene->length,
		       pm_routes_table(scene->tables.routes, sw), scene->length);
	for (uint32_t h = 0; h < scene->num_hosts; h++)
		scene->hosts[h].lid =
			scene->tables.plan->lid[fabric->ports[scene->hosts[h].port].peer];
	return EXIT_FINE;
}

/* Tables of a file as they are found by GUID; an exit status. */
static int copy_lfts(struct scene *scene, const struct pm_lfts *lfts, const char *path)
{
	const struct pm_fabric *fabric = scene->fabric;

	for (uint32_t i = 0; i < lfts->num_switches; i++)
		if (lfts->switches[i].length > scene->length)
			scene->length = lfts->switches[i].length;
	scene->lfts = pm_array(fabric->num_switches, scene->length);
	if (!scene->lfts)
		return no_memory();
	memset(scene->lfts, PM_LFT_KEEP, (size_t)fabric->num_switches * scene->length);
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++) {
		const struct pm_lft_switch *found =
			pm_lfts_find(lfts, fabric->nodes[sw].guid);

		if (found)
			memcpy(scene->lfts + (size_t)sw * scene->length, found->table,
			       found->length);
		else if (pm_fabric_has_cable(fabric, sw))
			return cli_fail(EXIT_INPUT, "%s has no table of \"%s\"", path,
					pm_fabric_name(fabric, sw));
	}
	return EXIT_FINE;
}

static int file_tables(struct scene *scene, const char *path)
{
	struct pm_lft_lids given;
	struct pm_lfts *lfts;
	struct pm_error err;
	int status;

	if (pm_lfts_read(path, &lfts, &err))
		return cli_fail(EXIT_INPUT, "%s", err.text);
	if (pm_lfts_give_lids(lfts, scene->fabric, &given, &err))
		status = cli_fail(EXIT_INPUT, "%s", err.text);
	else if (given.first_differ != PM_NONE)
		status = cli_fail(EXIT_INPUT, "%s is of other LIDs than the fabric's",
				  path);
	else
		status = copy_lfts(scene, lfts, path);
	pm_lfts_free(lfts);
	return status;
}

const char *scene_name(const struct scene *scene, uint32_t host)
{
	uint32_t port = scene->hosts[host].port;

	return pm_fabric_name(scene->fabric, scene->fabric->ports[port].node);
}

int scene_read(struct scene *scene, const char *path, const struct cli_fabric *config,
	       const char *lfts)
{
	int status = cli_fabric_read(path, config, &scene->fabric);

	if (!status && lfts)
		status = file_tables(scene, lfts);
	if (!status)
		status = list_hosts(scene);
	if (!status && !lfts)
		status = plan_tables(scene, config);
	for (uint32_t h = 0; h < scene->num_hosts && !status; h++)
		if (!scene->hosts[h].lid)
			status = cli_fail(EXIT_INPUT, "host \"%s\" has no LID",
					  scene_name(scene, h));
	return status;
}

/* ---- Losses ---- */

/* Blocks that differ now from what switches hold, in the order in which they are sent. */
static int list_blocks(const struct scene *scene, const uint8_t *alive,
		       struct pm_order_block **list, uint32_t *num)
{
	const struct pm_routes *routes = scene->tables.routes;
	struct pm_order_waits waits;
	uint32_t room = 0;

	for (uint32_t sw = 0; sw < scene->fabric->num_switches; sw++)
		for (uint32_t b = 0; b < scene->length / PM_LFT_BLOCK; b++) {
			const uint8_t *held = scene->lfts + (size_t)sw * scene->length +
					      (size_t)b * PM_LFT_BLOCK;

			if (pm_grow(list, &room, *num + 1, sizeof(**list)))
				return no_memory();
			*num += pm_order_compare(routes, sw, b, held, &(*list)[*num]);
		}
	if (pm_order_sort(routes, alive, *list, *num, &waits))
		return no_memory();
	pm_order_free(&waits);
	return EXIT_FINE;
}

/* Writes the k-th Set. */
static void write_set(const struct scene *scene, const struct repair_config *repair,
		      const struct pm_order_block *block, uint32_t k)
{
	size_t at = (size_t)block->number * PM_LFT_BLOCK;
	struct pm_packet_set *set = &scene->sets[k];

	set->sw = block->sw;
	set->block = block->number;
	set->time = repair->begin;
	if (repair->kind == REPAIR_ORDER)
		set->time += (k / repair->wire_smps + 1) * repair->smp;
	pm_delta_apply(set->entries, scene->lfts + (size_t)block->sw * scene->length + at,
		       pm_routes_table(scene->tables.routes, block->sw) + at,
		       PM_LFT_BLOCK);
}

static int mend(struct scene *scene, const struct repair_config *repair, uint8_t *alive)
{
	const struct pm_fabric *fabric = scene->fabric;
	struct pm_order_block *blocks = NULL;
	uint32_t num = 0;
	int status;

	if (!pm_plan_match(scene->tables.plan, fabric, alive))
		return cli_fail(EXIT_INPUT, "the plan is of another fabric");
	for (uint32_t i = 0; i < scene->lost.num; i++) {
		uint32_t port = scene->lost.list[i], peer = fabric->ports[port].peer;
		uint32_t known = scene->tables.plan->known->num_ports;

		if (port < known)
			alive[port] = 0;
		if (peer < known)
			alive[peer] = 0;
	}
	pm_routes_update(scene->tables.routes, alive, NULL);
	status = list_blocks(scene, alive, &blocks, &num);
	if (!status) {
		scene->sets = pm_array(num, sizeof(*scene->sets));
		status = scene->sets ? EXIT_FINE : no_memory();
	}
	for (uint32_t k = 0; k < num && !status; k++)
		write_set(scene, repair, &blocks[k], k);
	scene->num_sets = status ? 0 : num;
	free(blocks);
	return status;
}

int scene_lose(struct scene *scene, const struct cli_lost *lost,
	       const struct repair_config *repair)
{
	uint8_t *alive;
	int status;

	if (!lost->num)
		return EXIT_FINE;
	status = cli_losses_add(scene->fabric, scene->tables.plan, lost, &scene->lost);
	if (status || repair->kind == REPAIR_NONE)
		return status;
	alive = pm_array(scene->fabric->num_ports, 1);
	status = alive ? mend(scene, repair, alive) : no_memory();
	free(alive);
	return status;
}

uint32_t scene_host(const struct scene *scene, const char *name)
{
	uint32_t node = pm_fabric_find_name(scene->fabric, name);

	for (uint32_t h = 0; h < scene->num_hosts; h++)
		if (scene->fabric->ports[scene->hosts[h].port].node == node)
			return h;
	return PM_NONE;
}

void scene_free(struct scene *scene)
{
	free(scene->lfts);
	free(scene->hosts);
	free(scene->lost.list);
	free(scene->sets);
	cli_tables_free(&scene->tables);
	pm_fabric_free(scene->fabric);
}
