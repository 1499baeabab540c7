/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds a tick in which links of different rates send whole numbers of bytes. */
#include <portmajor/lab/rates.h>

#include <portmajor/fabric/link.h>

#include <errno.h>
#include <string.h>

#define BLOCK_FS UINT64_C(512000000000) /* a block at 1 Mb/s, in femtoseconds */
#define MOST_PARTS 1000			/* ticks of a block on the fastest link */

/* Inserts a new rate at its place. */
static void count_rate(struct pm_rates *rates, uint32_t rate, uint32_t links)
{
	uint32_t at = 0;

	while (at < rates->num && rates->list[at].rate > rate)
		at++;
	if (at == rates->num || rates->list[at].rate != rate) {
		memmove(&rates->list[at + 1], &rates->list[at],
			(rates->num - at) * sizeof(*rates->list));
		rates->list[at] = (struct pm_rate){.rate = rate};
		rates->num++;
	}
	rates->list[at].links += links;
}

/*
 * Sets ticks, given those of a block on the fastest link; returns whether all are right.
 */
static bool try_parts(struct pm_rates *rates, uint32_t parts)
{
	uint64_t whole = (uint64_t)parts * rates->list[0].rate;

	for (uint32_t i = 0; i < rates->num; i++) {
		uint64_t rate = rates->list[i].rate;
		uint64_t ticks = (whole + rate / 2) / rate, found = ticks * rate;
		uint64_t wrong = found > whole ? found - whole : whole - found;

		if (ticks > UINT16_MAX || wrong * 1000 > whole)
			return false;
		rates->list[i].ticks = (uint32_t)ticks;
	}
	return true;
}

static int find_parts(struct pm_rates *rates, struct pm_error *err)
{
	uint32_t parts = 1;

	while (parts <= MOST_PARTS && !try_parts(rates, parts))
		parts++;
	if (parts > MOST_PARTS)
		return pm_error_set(
			err, -EINVAL, "links of %u and %u Mb/s are too far apart",
			rates->list[0].rate, rates->list[rates->num - 1].rate);
	rates->tick = BLOCK_FS / rates->list[0].rate / parts;
	return 0;
}

static uint16_t find_ticks(const struct pm_rates *rates, uint32_t rate)
{
	uint32_t at = 0;

	while (rate && rates->list[at].rate != rate)
		at++;
	return (uint16_t)rates->list[at].ticks;
}

int pm_rates_find(const struct pm_fabric *fabric, uint16_t *ticks, struct pm_rates *rates,
		  struct pm_error *err)
{
	uint32_t links[UINT8_MAX + 1] = {0}, unknown = 0;
	int rc;

	*rates = (struct pm_rates){0};
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		ticks[i] = 1;
		if (fabric->ports[i].peer != PM_NONE && fabric->ports[i].peer > i)
			links[pm_link_at(fabric, i)]++;
	}
	for (uint32_t code = 0; code <= UINT8_MAX; code++) {
		uint32_t rate = pm_link_rate((uint8_t)code);

		if (rate && links[code])
			count_rate(rates, rate, links[code]);
		else
			unknown += links[code];
	}
	if (!rates->num)
		return 0;
	rates->list[0].links += unknown;
	rc = find_parts(rates, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < fabric->num_ports; i++)
		if (fabric->ports[i].peer != PM_NONE)
			ticks[i] = find_ticks(rates, pm_link_rate(pm_link_at(fabric, i)));
	return 0;
}
