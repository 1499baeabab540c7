/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes over a configuration that was read again while OpenSM runs (operator_files.h):
 * the keys that can change. Logs the keys that did, and those that need a restart. After
 * an error in the file all values stay as they are.
 */
#ifndef PORTMAJOR_SETTINGS_H
#define PORTMAJOR_SETTINGS_H

#include "plugin.h"

/* The repairer's part of a configuration. */
struct repairer_settings settings_of_repairer(const struct pm_config *config);

/* Takes over a newly read configuration, if any. On the sweeper, with no lock held. */
void settings_take(struct plugin *plugin);

#endif
