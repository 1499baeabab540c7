/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The plan on disk, beside OpenSM's own caches; and, while ports run with other LIDs or
 * planes than planned (migrate), the plan in force, which says which. A file that cannot
 * be read, is damaged, or was made for another LMC or fabric is never trusted nor lost:
 * it gets another name, and the plan is made from the fabric and the LIDs in it.
 */
#include "plugin.h"

#include <portmajor/planfile.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

char *plugin_cache_path(const char *name)
{
	const char *folder = getenv("OSM_CACHE_DIR");
	char *path;

	if (!folder || !*folder)
		folder = OSM_DEFAULT_CACHE_DIR;
	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static void set_aside(const struct plugin *plugin, const char *path, const char *why)
{
	char *aside;

	if (asprintf(&aside, "%s.bad-%lld", path, (long long)time(NULL)) < 0)
		return;
	if (rename(path, aside))
		OSM_LOG(&plugin->osm->log, OSM_LOG_ERROR,
			"portmajor: plan not used: %s (and it cannot be renamed: %s)\n",
			why, strerror(errno));
	else
		OSM_LOG(&plugin->osm->log, OSM_LOG_ERROR,
			"portmajor: plan not used and renamed to %s: %s\n", aside, why);
	free(aside);
}

/* NULL: there is none that can be used. */
static struct pm_plan *load(const struct plugin *plugin, const char *path)
{
	struct pm_plan *plan = NULL;
	struct pm_error err;
	int rc = pm_planfile_read(path, &plan, &err);

	if (rc == -ENOENT)
		return NULL;
	if (!rc && plan->lmc != plugin->osm->subn.opt.lmc)
		rc = pm_error_set(&err, -EBADMSG, "%s: made for LMC %u", path, plan->lmc);
	if (!rc)
		return plan;
	pm_plan_free(plan);
	set_aside(plugin, path, err.text);
	return NULL;
}

int plugin_load_plans(struct plugin *plugin)
{
	struct pm_plan *plan;

	plugin->planfile = plugin_cache_path("portmajor.plan");
	plugin->drifting = plugin_cache_path("portmajor.drifting");
	if (!plugin->planfile || !plugin->drifting)
		return -ENOMEM;
	plan = load(plugin, plugin->planfile);
	if (!plan)
		return 0;
	if (plan->order != plugin->config.lid_order)
		OSM_LOG(&plugin->osm->log, OSM_LOG_INFO,
			"portmajor: %s was made with lid_order %s, which stays until "
			"LIDs are "
			"reassigned\n",
			plugin->planfile, pm_lid_order_name(plan->order));
	plugin->base = plan;
	plugin->last = load(plugin, plugin->drifting);
	return 0;
}

void plugin_check_plan(struct plugin *plugin, const struct pm_fabric *fabric)
{
	if (!plugin->base || pm_plan_fits(plugin->base, fabric))
		return;
	set_aside(plugin, plugin->planfile, "it is the plan of another fabric");
	plugin_drop_plan(plugin);
}

/* Writes the plan in force first: ports keep what it says whatever the base says. */
static int save(const struct plugin *plugin, struct pm_error *err)
{
	int rc = 0;

	if (plugin->plan != plugin->base)
		rc = pm_planfile_write(plugin->plan, plugin->drifting, err);
	if (!rc)
		rc = pm_planfile_write(plugin->base, plugin->planfile, err);
	if (!rc && plugin->plan == plugin->base)
		unlink(plugin->drifting);
	return rc;
}

void plugin_save_plans(struct plugin *plugin)
{
	struct pm_error err;

	if (!plugin->unsaved || !plugin->plan)
		return;
	if (!save(plugin, &err))
		plugin->unsaved = false;
	else
		OSM_LOG(&plugin->osm->log, OSM_LOG_ERROR,
			"portmajor: plan not saved: %s\n", err.text);
}
