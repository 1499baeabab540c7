/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Links that run below their neighbours', as OpenSM has found them. */
#ifndef PORTMAJOR_DEGRADED_LINKS_H
#define PORTMAJOR_DEGRADED_LINKS_H

#include "osm/subnet_cache.h"
#include "view.h"

#include <portmajor/fabric/link.h>

/*
 * Those of view->plan->known that were seen when the cache last looked and have not been
 * lost since; see link.h for the rule. False: nothing is known, as there is no plan yet
 * or no memory. The caller frees *list. No lock is needed. O(ports), and more if links
 * differ.
 */
bool degraded_links_find(const struct subnet_cache *cache, const struct view *view,
			 struct pm_slow_link **list, uint32_t *count);

#endif
