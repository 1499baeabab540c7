/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "store.h"

#include <opensm/osm_base.h>

#include <portmajor/planfile.h>
#include <portmajor/replace.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

char *store_path(const char *name)
{
	const char *folder = getenv("OSM_CACHE_DIR");
	char *path;

	if (!folder || !*folder)
		folder = OSM_DEFAULT_CACHE_DIR;
	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

int store_open(struct store *store, osm_log_t *log)
{
	*store = (struct store){log, store_path("portmajor.plan"),
				store_path("portmajor.drifting")};
	return store->base && store->drifting ? 0 : -ENOMEM;
}

void store_close(struct store *store)
{
	free(store->base);
	free(store->drifting);
}

static void set_aside(const struct store *store, const char *path, const char *why)
{
	char *aside;

	if (asprintf(&aside, "%s.bad-%lld", path, (long long)time(NULL)) < 0)
		return;
	if (rename(path, aside))
		say(store->log, OSM_LOG_ERROR,
		    ": plan not used: %s (and it cannot be renamed: %s)", why,
		    strerror(errno));
	else
		say(store->log, OSM_LOG_ERROR, ": plan not used and renamed to %s: %s",
		    aside, why);
	free(aside);
}

/* NULL: there is none that can be used. */
static struct pm_plan *load(const struct store *store, const char *path, uint8_t lmc)
{
	struct pm_plan *plan = NULL;
	struct pm_error err;
	int rc = pm_planfile_read(path, &plan, &err);

	if (rc == -ENOENT)
		return NULL;
	if (!rc && plan->lmc != lmc)
		rc = pm_error_set(&err, -EBADMSG, "%s: made for LMC %u", path, plan->lmc);
	if (!rc)
		return plan;
	pm_plan_free(plan);
	set_aside(store, path, err.text);
	return NULL;
}

void store_load(const struct store *store, uint8_t lmc, struct planning *planning)
{
	struct pm_plan *base = load(store, store->base, lmc);

	if (base)
		planning_load(planning, base, load(store, store->drifting, lmc));
}

void store_refuse(const struct store *store, struct planning *planning, const char *why)
{
	set_aside(store, store->base, why);
	planning_forget(planning);
}

static int write_plan(const struct pm_plan *plan, const char *path, struct pm_error *err)
{
	size_t length;
	char *text;
	int rc = pm_planfile_print(plan, &text, &length);

	if (rc)
		return pm_error_set(err, rc, "out of memory");
	rc = pm_replace(path, ".new", text, length, err);
	free(text);
	return rc;
}

/* Writes the plan in force first: ports keep what it says whatever the base says. */
static int save(const struct store *store, const struct planning *planning,
		struct pm_error *err)
{
	int rc = 0;

	if (planning->plan != planning->base)
		rc = write_plan(planning->plan, store->drifting, err);
	if (!rc)
		rc = write_plan(planning->base, store->base, err);
	if (!rc && planning->plan == planning->base)
		unlink(store->drifting);
	return rc;
}

void store_save(const struct store *store, struct planning *planning)
{
	struct pm_error err;

	if (!planning->unsaved || !planning->plan)
		return;
	if (!save(store, planning, &err))
		planning->unsaved = false;
	else
		say(store->log, OSM_LOG_ERROR, ": plan not saved: %s", err.text);
}
