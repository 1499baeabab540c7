/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Matches drains with an operand: by their names, and by the plan's parts. */
#include "drain_match.h"

#include "output.h"
#include "text.h"

#include <portmajor/analysis/failures.h>
#include <portmajor/files/plan_file.h>
#include <portmajor/memory/xalloc.h>

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- By name ---- */

/* Whether text is a name, with or without its port; or matches it as a pattern. */
static bool is_named(const char *text, const char *name, unsigned int num, bool pattern)
{
	char *with_port;
	bool named = pattern ? !fnmatch(text, name, 0) : !strcmp(text, name);

	if (named || !num)
		return named;
	with_port = cli_text_make("%s:%u", name, num);
	named = pattern ? !fnmatch(text, with_port, 0) : !strcmp(text, with_port);
	free(with_port);
	return named;
}

static bool has_guid(const char *text, const struct pm_drain *d)
{
	char *end;
	uint64_t guid = strncmp(text, "0x", 2) ? 0 : strtoull(text, &end, 16);
	char number[20];

	if (!guid || guid != d->guid)
		return false;
	snprintf(number, sizeof(number), ":%u", d->num);
	return !*end || (d->num && !strcmp(end, number));
}

static enum drain_match match_name(const char *text, const struct pm_drain *d)
{
	if (is_named(text, d->name, d->num, false))
		return DRAIN_BY_NAME;
	if (is_named(text, d->label, d->num, false) || has_guid(text, d))
		return DRAIN_BY_PART;
	return is_named(text, d->name, d->num, true) ? DRAIN_BY_PATTERN : DRAIN_NOT_MEANT;
}

/* ---- By the plan ---- */

static bool is_port(const struct pm_fabric *topology, uint32_t port,
		    const struct pm_drain *d)
{
	return port != PM_NONE && topology->ports[port].num == d->num &&
	       topology->nodes[topology->ports[port].node].guid == d->guid;
}

/* Whether a drain is of a switch's thing (num 0), or of a link, by either end. */
static bool is_thing(const struct pm_fabric *topology, uint32_t thing,
		     const struct pm_drain *d)
{
	const struct pm_port *port = &topology->ports[thing];

	return port->num ? is_port(topology, thing, d) || is_port(topology, port->peer, d)
			 : topology->nodes[port->node].guid == d->guid;
}

/* Looks the operand up in the plan; nothing: it has no such part, or cannot be read. */
static struct pm_plan *look_up(const struct cli_port *port, const char *operand,
			       struct pm_ports *things)
{
	char *path = cli_text_make("%splan", port->folder);
	struct pm_plan *plan = NULL;
	int rc = pm_plan_file_read(path, &plan, NULL);

	if (!rc)
		rc = pm_failures_find(plan->topology, plan, "undrain", operand, things,
				      NULL);
	if (rc == -ENOMEM)
		pm_no_memory();
	free(path);
	return plan;
}

void drain_match_find(const struct cli_port *port, const char *operand,
		      enum drain_match *match)
{
	const struct pm_drains *drains = &port->kept.drains;
	size_t length = strlen(operand);
	struct pm_ports things = {0};
	struct pm_plan *plan = look_up(port, operand, &things);
	/* `leaf5[20]` is a port, and not the pattern of leaf50 and leaf52. */
	bool exact = things.num && plan->topology->ports[things.list[0]].num && length &&
		     operand[length - 1] == ']';

	for (uint32_t i = 0; i < drains->num; i++) {
		match[i] =
			exact ? DRAIN_NOT_MEANT : match_name(operand, &drains->list[i]);
		for (uint32_t t = 0; t < things.num && !match[i]; t++)
			if (is_thing(plan->topology, things.list[t], &drains->list[i]))
				match[i] = DRAIN_BY_PART;
	}
	free(things.list);
	pm_plan_free(plan);
}
