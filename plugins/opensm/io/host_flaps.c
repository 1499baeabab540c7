/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts how often hosts' links went down. */
#include "host_flaps.h"

#include <portmajor/base/alloc.h>
#include <portmajor/json/values.h>

#include <stdlib.h>

struct host_flap {
	struct pm_damping_end leaf;
	time_t times[PM_DAMPING_LIMIT_MAX + 1]; /* the last ones, a ring */
	uint32_t downs; /* since `first`; the last is times[downs - 1], cyclically */
	time_t first;	/* of the times that no break of HOST_FLAPS_S separates */
	bool flaps;
};

static time_t last_time(const struct host_flap *flap)
{
	return flap->times[(flap->downs - 1) % (PM_DAMPING_LIMIT_MAX + 1)];
}

static bool is_old(const struct host_flap *flap, time_t now)
{
	return now - last_time(flap) > HOST_FLAPS_S;
}

static void forget_old(struct host_flaps *flaps, time_t now)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < flaps->num; i++)
		if (!is_old(&flaps->list[i], now))
			flaps->list[kept++] = flaps->list[i];
	flaps->num = kept;
}

static struct host_flap *find_flap(struct host_flaps *flaps,
				   const struct pm_damping_end *leaf)
{
	for (uint32_t i = 0; i < flaps->num; i++)
		if (flaps->list[i].leaf.guid == leaf->guid &&
		    flaps->list[i].leaf.num == leaf->num)
			return &flaps->list[i];
	return NULL;
}

/* Whether it went down more than limit times in less than a window. */
static bool is_flapping(const struct host_flap *flap, const struct pm_damping_config *of)
{
	time_t then;

	if (!of->limit || flap->downs <= of->limit)
		return false;
	then = flap->times[(flap->downs - 1 - of->limit) % (PM_DAMPING_LIMIT_MAX + 1)];
	return (last_time(flap) - then) * 1000 < (time_t)of->window_ms;
}

static void note_locked(struct host_flaps *flaps, const struct pm_damping_end *leaf,
			time_t now)
{
	struct host_flap *flap;

	forget_old(flaps, now);
	flap = find_flap(flaps, leaf);
	if (!flap) {
		if (pm_grow(&flaps->list, &flaps->room, flaps->num + 1,
			    sizeof(*flaps->list)))
			return;
		flap = &flaps->list[flaps->num++];
		*flap = (struct host_flap){.leaf = *leaf, .first = now};
	}
	flap->times[flap->downs++ % (PM_DAMPING_LIMIT_MAX + 1)] = now;
	flap->flaps |= is_flapping(flap, &flaps->config);
}

void host_flaps_set(struct host_flaps *flaps, const struct pm_damping_config *config)
{
	pthread_mutex_lock(&flaps->mutex);
	flaps->config = *config;
	pthread_mutex_unlock(&flaps->mutex);
}

void host_flaps_note(struct host_flaps *flaps, const struct pm_damping_end *leaf,
		     time_t now)
{
	pthread_mutex_lock(&flaps->mutex);
	note_locked(flaps, leaf, now);
	pthread_mutex_unlock(&flaps->mutex);
}

void host_flaps_note_once(struct host_flaps *flaps, const struct pm_damping_end *leaf,
			  time_t since, time_t now)
{
	const struct host_flap *flap;

	pthread_mutex_lock(&flaps->mutex);
	flap = find_flap(flaps, leaf);
	if (!flap || last_time(flap) < since)
		note_locked(flaps, leaf, now);
	pthread_mutex_unlock(&flaps->mutex);
}

void host_flaps_defer(struct host_flaps *flaps, const struct pm_damping_end *leaf)
{
	struct host_flap *flap;

	pthread_mutex_lock(&flaps->mutex);
	flap = find_flap(flaps, leaf);
	if (flap)
		flap->flaps = true;
	pthread_mutex_unlock(&flaps->mutex);
}

/* The last first. */
static int compare_flaps(const void *a, const void *b)
{
	time_t x = last_time(a), y = last_time(b);

	return (x < y) - (x > y);
}

static json_t *describe_flap(const struct host_flap *flap,
			     const struct pm_fabric *topology,
			     const struct known_hosts *hosts)
{
	const struct known_host *host =
		known_hosts_at(hosts, flap->leaf.guid, flap->leaf.num);

	return json_pack("{s:s, s:[o], s:o, s:I, s:I, s:I}", "kind", "host", "ends",
			 pm_json_end(topology, flap->leaf.guid, flap->leaf.num), "host",
			 pm_json_text(host ? host->name : NULL), "downs",
			 (json_int_t)flap->downs, "first", (json_int_t)flap->first,
			 "last", (json_int_t)last_time(flap));
}

json_t *host_flaps_describe(struct host_flaps *flaps, const struct pm_fabric *topology,
			    const struct known_hosts *hosts, time_t now)
{
	json_t *list = json_array();
	json_int_t count = 0;

	pthread_mutex_lock(&flaps->mutex);
	forget_old(flaps, now);
	if (flaps->num)
		qsort(flaps->list, flaps->num, sizeof(*flaps->list), compare_flaps);
	for (uint32_t i = 0; i < flaps->num; i++)
		if (flaps->list[i].flaps && count++ < HOST_FLAPS_LISTED)
			list = pm_json_append(
				list, describe_flap(&flaps->list[i], topology, hosts));
	pthread_mutex_unlock(&flaps->mutex);
	return json_pack("{s:I, s:o}", "count", count, "list", list);
}

void host_flaps_free(struct host_flaps *flaps)
{
	free(flaps->list);
	flaps->list = NULL;
	flaps->num = flaps->room = 0;
}
