/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds states of one fabric. */
#include "one_fabric.h"

#include "commands.h"
#include "json.h"
#include "text.h"

#include <portmajor/files/plan_file.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The plan beside a state, which the caller frees; NULL: there is none to read. */
static struct pm_plan *read_plan(const char *state)
{
	const char *slash = strrchr(state, '/');
	char *path =
		cli_text_make("%.*splan", slash ? (int)(slash + 1 - state) : 0, state);
	struct pm_plan *plan = NULL;
	int rc = pm_plan_file_read(path, &plan, NULL);

	free(path);
	if (rc == -ENOMEM)
		pm_no_memory();
	return rc ? NULL : plan;
}

/* Whether a state's subnet managers have the port of another one. */
static bool names(const struct status *status, const struct status *other)
{
	const json_t *managers = state_file_member(&status->state, "managers"), *one;
	const char *port = cli_json_text(other->state.root, "port_guid");
	size_t i;

	json_array_foreach(managers, i, one) {
		if (*port && !strcmp(cli_json_text(one, "guid"), port))
			return true;
	}
	return false;
}

static bool have_one_plan(const struct status *a, const struct status *b)
{
	struct pm_plan *one = read_plan(a->path), *other = read_plan(b->path);
	bool fit = one && other &&
		   (pm_plan_fits(one, other->topology) ||
		    pm_plan_fits(other, one->topology));

	pm_plan_free(one);
	pm_plan_free(other);
	return fit;
}

static bool is_running_master(const struct status *status)
{
	return status->state.root && status->state.running && status->state.sm &&
	       !strcmp(status->state.sm, "master");
}

void one_fabric_find(struct status *list, size_t num)
{
	for (size_t i = 0; i < num; i++)
		for (size_t j = 0; j < num && !list[i].master; j++)
			if (i != j && list[i].state.root && is_running_master(&list[j]) &&
			    (names(&list[i], &list[j]) || names(&list[j], &list[i]) ||
			     have_one_plan(&list[i], &list[j])))
				list[i].master = &list[j];
}
