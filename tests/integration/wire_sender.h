/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of an opensm that sends, in libwire.so: the plugin marks the context of each
 * of its own SMPs, as it must distinguish their answers from OpenSM's.
 */
#ifndef PM_TESTS_WIRE_SENDER_H
#define PM_TESTS_WIRE_SENDER_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Whether the SMP that this thread is sending is the plugin's own. */
bool sender_is_plugin(void);

#pragma GCC visibility pop

/* The same, for other preloaded libraries. */
bool wire_plugin_sends(void);

#endif
