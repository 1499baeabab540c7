/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A configuration that was read again while OpenSM runs (operator_files.h): takes over
 * the keys that can change, and logs which did and which need a restart. After an error
 * in the file all values stay as they are.
 */
#ifndef PORTMAJOR_SETTINGS_H
#define PORTMAJOR_SETTINGS_H

#include "plugin.h"

/* The repairer's part of a configuration. */
struct repairer_settings settings_of_repairer(const struct pm_config *config);

/* Takes over a configuration that was read since, if any. On the sweeper, with no lock.
 */
void settings_take(struct plugin *plugin);

#endif
