/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Severities and kinds of events (portmajor-events(1)), by their words. */
#ifndef PORTMAJOR_EVENT_KINDS_H
#define PORTMAJOR_EVENT_KINDS_H

#include <stdint.h>

/* The worst comes first. */
enum event_severity {
	EVENT_ERROR,
	EVENT_WARNING,
	EVENT_NOTICE,
	EVENT_INFO,
	EVENT_SEVERITIES,
};

extern const char *const pm_event_severities[EVENT_SEVERITIES];

/* All kinds, at most 64; a NULL ends them. */
extern const char *const pm_event_kinds[];

/* The bit of a kind in a set of kinds; 0: there is no such kind. */
uint64_t pm_event_kind_bit(const char *kind);

/* Reads a severity's word. -EINVAL. */
int pm_event_severity_parse(const char *word, enum event_severity *severity);

/* Reads kinds, separated by commas. -EINVAL: one of them is unknown, or empty. */
int pm_event_kinds_parse(const char *words, uint64_t *kinds);

#endif
