/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Degraded links, as OpenSM has found them. */
#ifndef PORTMAJOR_DEGRADED_LINKS_H
#define PORTMAJOR_DEGRADED_LINKS_H

#include "osm/subnet_cache.h"
#include "view.h"

#include <portmajor/fabric/link.h>

/*
 * Finds the degraded links of view->plan->topology at the cache's last refresh that have
 * not failed since; link.h has the rule. False: unknown, as there is no plan or memory.
 * The caller frees *list. No lock is needed. O(ports), and more if links differ.
 */
bool degraded_links_find(const struct subnet_cache *cache, const struct view *view,
			 struct pm_degraded_link **list, uint32_t *count);

#endif
