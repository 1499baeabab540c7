/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes over a configuration that was read again while OpenSM runs (operator_files.h):
 * the keys that can change. Logs the keys that did, and those that need a restart. After
 * an error in the file all values stay as they are.
 *
 * If opensm.conf names a file that could not be read when OpenSM started, the plugin is
 * unconfigured: it declines to route, leaves LIDs alone, and sends nothing. The first
 * file that can be read ends that, with all keys but `prometheus`; `shadow yes` in it
 * needs a restart.
 */
#ifndef PORTMAJOR_SETTINGS_H
#define PORTMAJOR_SETTINGS_H

#include "plugin.h"

/* The repairer's part of a configuration. */
struct repairer_settings settings_of_repairer(const struct pm_config *config);

/* Takes over a newly read configuration, if any. On the sweeper, with no lock held. */
void settings_take(struct plugin *plugin);

#endif
