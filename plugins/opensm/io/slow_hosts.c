/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists hosts' links that are slower than their neighbours. */
#include "slow_hosts.h"

#include "places.h"

#include <portmajor/fabric/link.h>

#include <stdlib.h>

static json_t *describe_host(const struct pm_fabric *now,
			     const struct pm_degraded_link *slow)
{
	char link[PM_LINK_TEXT], usual[PM_LINK_TEXT];

	return json_pack("{s:[o, o], s:s, s:s}", "ends",
			 places_end(now, now->ports[slow->port].peer),
			 places_end(now, slow->port), "link",
			 pm_link_print(slow->link, link), "neighbours",
			 pm_link_print(slow->usual, usual));
}

json_t *slow_hosts_describe(const struct pm_fabric *now)
{
	struct pm_degraded_link *slow;
	uint32_t count;
	json_t *list;

	if (!now)
		return json_null();
	if (pm_degraded_hosts_find(now, &slow, &count, NULL))
		return NULL;
	list = json_array();
	for (uint32_t i = 0; i < count && i < SLOW_HOSTS_LISTED; i++)
		json_array_append_new(list, describe_host(now, &slow[i]));
	free(slow);
	return json_pack("{s:I, s:o}", "count", (json_int_t)count, "list", list);
}
