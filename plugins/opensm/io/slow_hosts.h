/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hosts' links that are slower than their neighbours (link.h), in the state's document.
 */
#ifndef PORTMAJOR_IO_SLOW_HOSTS_H
#define PORTMAJOR_IO_SLOW_HOSTS_H

#include <portmajor/fabric/fabric.h>

#include <jansson.h>

#define SLOW_HOSTS_LISTED 100

/*
 * The member `degraded_hosts` of a fabric as discovered; null without one. NULL without
 * memory.
 */
json_t *slow_hosts_describe(const struct pm_fabric *now);

#endif
