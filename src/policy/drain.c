/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists drains, and excludes their links. */
#include <portmajor/base/alloc.h>
#include <portmajor/policy/drain.h>
#include <portmajor/policy/exclude.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static void free_drain(struct pm_drain *d)
{
	free(d->name);
	free(d->label);
	free(d->by);
	free(d->reason);
}

void pm_drains_free(struct pm_drains *drains)
{
	for (uint32_t i = 0; i < drains->num; i++)
		free_drain(&drains->list[i]);
	free(drains->list);
	*drains = (struct pm_drains){0};
}

static uint32_t find_drain(const struct pm_drains *drains, uint64_t guid,
			   unsigned int num)
{
	for (uint32_t i = 0; i < drains->num; i++)
		if (drains->list[i].guid == guid && drains->list[i].num == num)
			return i;
	return PM_NONE;
}

/* The length of the name in the label of the switch with this GUID. */
static size_t name_length(const char *label, uint64_t guid)
{
	size_t length = strlen(label), guid_length;
	char text[24];

	guid_length = (size_t)snprintf(text, sizeof(text), " (0x%016" PRIx64 ")", guid);
	if (length > guid_length && !strcmp(label + length - guid_length, text))
		return length - guid_length;
	snprintf(text, sizeof(text), "0x%016" PRIx64, guid);
	return strcmp(label, text) != 0 ? length : 0;
}

int pm_drains_add(struct pm_drains *drains, uint64_t guid, unsigned int num,
		  const char *label, bool *added, struct pm_error *err)
{
	bool is_new = find_drain(drains, guid, num) == PM_NONE;
	char *name, *copy;

	if (added)
		*added = is_new;
	if (!is_new)
		return 0;
	copy = strdup(label);
	name = strndup(label, name_length(label, guid));
	if (!copy || !name ||
	    pm_grow(&drains->list, &drains->room, drains->num + 1,
		    sizeof(*drains->list))) {
		free(copy);
		free(name);
		return pm_error_no_memory(err);
	}
	drains->list[drains->num++] =
		(struct pm_drain){.guid = guid, .num = num, .name = name, .label = copy};
	return 0;
}

int pm_drains_note(struct pm_drains *drains, uint32_t i, uint64_t since, const char *by,
		   const char *reason, struct pm_error *err)
{
	struct pm_drain *d = &drains->list[i];
	char *own_by = by ? strdup(by) : NULL,
	     *own_reason = reason ? strdup(reason) : NULL;

	if ((by && !own_by) || (reason && !own_reason)) {
		free(own_by);
		free(own_reason);
		return pm_error_no_memory(err);
	}
	free(d->by);
	free(d->reason);
	d->since = since;
	d->by = own_by;
	d->reason = own_reason;
	return 0;
}

int pm_drains_copy(const struct pm_drains *from, struct pm_drains *to,
		   struct pm_error *err)
{
	struct pm_drains copy = {.number = from->number};
	int rc = 0;

	for (uint32_t i = 0; i < from->num && !rc; i++) {
		const struct pm_drain *d = &from->list[i];

		rc = pm_drains_add(&copy, d->guid, d->num, d->label, NULL, err);
		if (!rc)
			rc = pm_drains_note(&copy, i, d->since, d->by, d->reason, err);
		if (!rc) {
			copy.list[i].number = d->number;
			copy.list[i].until = d->until;
		}
	}
	if (rc) {
		pm_drains_free(&copy);
		return rc;
	}
	pm_drains_free(to);
	*to = copy;
	return 0;
}

void pm_drains_remove(struct pm_drains *drains, uint32_t i)
{
	free_drain(&drains->list[i]);
	memmove(&drains->list[i], &drains->list[i + 1],
		(drains->num - i - 1) * sizeof(*drains->list));
	drains->num--;
}

void pm_drains_renumber(struct pm_drains *drains, const struct pm_drains *from)
{
	drains->number = from->number;
	for (uint32_t i = 0; i < drains->num && i < from->num; i++)
		drains->list[i].until = from->list[i].until;
}

bool pm_drains_equal(const struct pm_drains *a, const struct pm_drains *b)
{
	if (a->num != b->num)
		return false;
	for (uint32_t i = 0; i < a->num; i++)
		if (a->list[i].guid != b->list[i].guid ||
		    a->list[i].num != b->list[i].num ||
		    a->list[i].since != b->list[i].since)
			return false;
	return true;
}

/* ---- The rule ---- */

/* The usable links of all drains. */
struct links {
	struct pm_exclusion *list;
	uint8_t *has; /* [port] whether it is in the list */
	uint32_t num;
};

/* A drain's ports in `topology`, first..last-1: none if its switch or port is absent. */
static void find_ports(const struct pm_fabric *topology, const struct pm_drain *d,
		       uint32_t *first, uint32_t *last)
{
	uint32_t sw = pm_fabric_find_guid(topology, d->guid);
	const struct pm_node *n = sw == PM_NONE ? NULL : &topology->nodes[sw];

	*first = *last = 0;
	if (!n || d->num > n->num_ports)
		return;
	*first = n->first_port + (d->num ? d->num : 1);
	*last = d->num ? *first + 1 : n->first_port + n->num_ports + 1;
}

static void add_links(const struct pm_fabric *topology, const struct pm_drain *d,
		      const uint8_t *usable, struct links *links)
{
	uint32_t port, last;

	for (find_ports(topology, d, &port, &last); port < last; port++) {
		uint32_t peer = topology->ports[port].peer;

		if (peer == PM_NONE || !usable[port] || links->has[port])
			continue;
		links->has[port] = links->has[peer] = 1;
		links->list[links->num++].port = port;
	}
}

static void note_state(const struct pm_fabric *topology, const uint8_t *usable,
		       struct pm_drain *d)
{
	uint32_t port, last, links = 0;

	d->needed = 0;
	for (find_ports(topology, d, &port, &last); port < last; port++)
		if (topology->ports[port].peer != PM_NONE) {
			links++;
			d->needed += usable[port] != 0;
		}
	d->state = d->needed ? PM_DRAIN_NEEDED : links ? PM_DRAIN_OUT : PM_DRAIN_UNKNOWN;
}

int pm_drains_apply(struct pm_drains *drains, const struct pm_plan *plan, uint8_t *usable,
		    struct pm_error *err)
{
	uint32_t num_ports = plan->topology->num_ports;
	struct links links = {0};
	int rc = 0;

	if (!drains->num)
		return 0;
	links.list = pm_array(num_ports, sizeof(*links.list));
	links.has = pm_array(num_ports, 1);
	if (!links.list || !links.has)
		rc = pm_error_no_memory(err);
	for (uint32_t i = 0; i < drains->num && !rc; i++)
		add_links(plan->topology, &drains->list[i], usable, &links);
	if (!rc)
		rc = pm_exclude(plan, usable, links.list, links.num, err);
	for (uint32_t i = 0; i < drains->num && !rc; i++)
		note_state(plan->topology, usable, &drains->list[i]);
	free(links.list);
	free(links.has);
	return rc;
}

const char *pm_drain_state_name(enum pm_drain_state state)
{
	static const char *const names[] = {
		[PM_DRAIN_UNKNOWN] = "unknown",
		[PM_DRAIN_OUT] = "out",
		[PM_DRAIN_NEEDED] = "needed",
	};

	return names[state];
}
