/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the input of the packet engine: hosts, tables, failures and repairs. */
#include "packet_scene.h"

#include "lft_input.h"
#include "output.h"
#include "trace_check.h"

#include <portmajor/base/textfile.h>
#include <portmajor/memory/xalloc.h>

/* ---- Hosts and tables ---- */

static int plan_tables(struct scene *scene, const struct cli_fabric *config)
{
	const struct pm_fabric *fabric = scene->fabric;
	int status = cli_tables_make(&scene->tables, config, fabric, PM_NONE);

	if (status)
		return status;
	scene->length = pm_routes_stride(scene->tables.routes);
	scene->lfts = pm_xarray(fabric->num_switches, scene->length);
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++)
		memcpy(scene->lfts + (size_t)sw * scene->length,
		       pm_routes_table(scene->tables.routes, sw), scene->length);
	for (uint32_t h = 0; h < scene->num_hosts; h++)
		scene->hosts[h].lid =
			scene->tables.plan->lid[fabric->ports[scene->hosts[h].port].peer];
	return EXIT_FINE;
}

/* Copies tables of a file to their switches, by GUID. */
static void copy_lfts(struct scene *scene, const struct pm_lfts *lfts)
{
	const struct pm_fabric *fabric = scene->fabric;

	for (uint32_t i = 0; i < lfts->num_switches; i++)
		if (lfts->switches[i].length > scene->length)
			scene->length = lfts->switches[i].length;
	scene->lfts = pm_xarray(fabric->num_switches, scene->length);
	memset(scene->lfts, PM_LFT_KEEP, (size_t)fabric->num_switches * scene->length);
	for (uint32_t sw = 0; sw < fabric->num_switches; sw++) {
		const struct pm_lft_switch *found =
			pm_lfts_find(lfts, fabric->nodes[sw].guid);

		if (found)
			memcpy(scene->lfts + (size_t)sw * scene->length, found->table,
			       found->length);
	}
}

static int file_tables(struct scene *scene, const char *path)
{
	struct pm_lfts *lfts;
	int status = lft_input_read(path, scene->fabric, &lfts);

	if (!status)
		copy_lfts(scene, lfts);
	pm_lfts_free(lfts);
	return status;
}

const char *scene_name(const struct scene *scene, uint32_t host)
{
	uint32_t port = scene->hosts[host].port;

	return pm_fabric_label(scene->fabric, scene->fabric->ports[port].node);
}

/* Takes the tables and LIDs of a recording; the fabric's LIDs do not count. */
static int recorded_tables(struct scene *scene, const char *path)
{
	const struct pm_fabric *fabric = scene->fabric;
	struct pm_error err;

	if (pm_lft_trace_read(path, fabric, &scene->recording, &err))
		return cli_refuse(&err);
	scene->length = scene->recording->length;
	scene->lfts =
		pm_xcopy(scene->recording->tables, fabric->num_switches, scene->length);
	for (uint32_t h = 0; h < scene->num_hosts; h++) {
		scene->hosts[h].lid = scene->recording->lid[scene->hosts[h].port];
		if (!scene->hosts[h].lid)
			return cli_fail(
				EXIT_INPUT,
				"%s has no LID of host \"%s\": of another fabric?",
				pm_textfile_name(path), scene_name(scene, h));
	}
	return EXIT_FINE;
}

/* Takes a recording's failures; --fail may name the same. */
static int recorded_failure(struct scene *scene, const struct scene_config *config)
{
	const struct pm_lft_trace *recording = scene->recording;

	if (config->failed->num)
		return lab_trace_check(scene->fabric, &scene->failed, recording,
				       config->sets);
	scene->failed.list = pm_xcopy(recording->failed, recording->num_failed,
				      sizeof(*recording->failed));
	scene->failed.num = recording->num_failed;
	return EXIT_FINE;
}

int scene_read(struct scene *scene, const char *path, const struct scene_config *config)
{
	int status = cli_fabric_read(path, config->fabric, &scene->fabric);

	if (!status && config->lfts)
		status = file_tables(scene, config->lfts);
	if (!status) {
		scene->hosts = pm_xarray(scene->fabric->num_ports, sizeof(*scene->hosts));
		scene->num_hosts = pm_packet_list_hosts(scene->fabric, scene->hosts);
	}
	if (!status && config->sets)
		status = recorded_tables(scene, config->sets);
	if (!status && !config->lfts && !config->sets)
		status = plan_tables(scene, config->fabric);
	for (uint32_t h = 0; h < scene->num_hosts && !status; h++)
		if (!scene->hosts[h].lid)
			status = cli_fail(EXIT_INPUT, "host \"%s\" has no LID",
					  scene_name(scene, h));
	if (!status && !config->quiet)
		cli_failed_print(scene->fabric, scene->tables.plan, config->failed);
	if (!status)
		status = cli_failures_add(scene->fabric, scene->tables.plan,
					  config->failed, &scene->failed);
	if (!status && config->sets)
		status = recorded_failure(scene, config);
	return status;
}

/* ---- Failures ---- */

/* Computes the plugin's recording; its time 0 is that of the first block. */
static void compute_recording(struct scene *scene, const struct scene_config *config)
{
	const struct repair_config *repair = &config->repair;
	const struct pm_lft_trace_config how = {
		.sm = PM_NONE,
		.connect_roots = config->fabric->connect_roots,
		.mad_ns = repair->kind == REPAIR_ORDER ? repair->smp : 0,
		.wire_smps = repair->wire_smps};

	scene->recording = pm_lft_trace_compute(scene->fabric, scene->tables.plan, &how,
						scene->failed.list, scene->failed.num);
	for (uint32_t i = 0; i < scene->recording->num; i++) {
		struct pm_lft_trace_set *set = &scene->recording->set[i];

		set->sent += repair->after;
		set->arrived += repair->after;
		set->acked += repair->after;
	}
}

void scene_mend(struct scene *scene, const struct scene_config *config,
		const struct pm_replay_config *times)
{
	if (config->repair.kind != REPAIR_NONE)
		compute_recording(scene, config);
	if (scene->recording)
		pm_replay_make(scene->recording, times, &scene->replay);
}

uint32_t scene_host(const struct scene *scene, const char *name)
{
	uint32_t node = pm_fabric_find_name(scene->fabric, name);

	if (node == PM_NONE)
		node = pm_fabric_find_label(scene->fabric, name);
	else if (strcmp(pm_fabric_label(scene->fabric, node), name) != 0)
		return PM_NONE;
	for (uint32_t h = 0; h < scene->num_hosts; h++)
		if (scene->fabric->ports[scene->hosts[h].port].node == node)
			return h;
	return PM_NONE;
}

void scene_free(struct scene *scene)
{
	free(scene->lfts);
	free(scene->hosts);
	free(scene->failed.list);
	free(scene->replay.list);
	free(scene->replay.returns);
	pm_lft_trace_free(scene->recording);
	cli_tables_free(&scene->tables);
	pm_fabric_free(scene->fabric);
}
