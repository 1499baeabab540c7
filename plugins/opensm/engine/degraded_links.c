/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds links that are slower than their neighbours. */
#include "degraded_links.h"

#include <stdlib.h>

bool degraded_links_find(const struct subnet_cache *cache, const struct view *view,
			 struct pm_degraded_link **list, uint32_t *count)
{
	const struct pm_plan *plan = view->plan;
	uint8_t *link;
	int rc;

	*list = NULL;
	*count = 0;
	if (!plan || cache->plan != plan)
		return false;
	link = malloc(plan->topology->num_ports + 1u);
	if (!link)
		return false;
	subnet_cache_links(cache, link);
	for (uint32_t i = 0; i < plan->topology->num_ports; i++)
		if (!view->discovered[i])
			link[i] = 0;
	rc = pm_degraded_links_find(plan->topology, &plan->tree, link, list, count, NULL);
	free(link);
	return !rc;
}
