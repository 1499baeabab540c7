/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events (events.h) that are differences between two state documents (state.h): parts
 * that are missing or back, drains, holds and degraded links that begin and end, another
 * engine or state of OpenSM, and errors that come and go.
 */
#ifndef PORTMAJOR_IO_EVENT_CHANGES_H
#define PORTMAJOR_IO_EVENT_CHANGES_H

#include "events.h"

#include <jansson.h>

/* The member of a document whose engine is not told yet: the engine that was told. */
#define EVENT_CHANGES_ENGINE "engine_told"

/* The engine that a document has, for events; borrowed. NULL: none. */
const json_t *event_changes_engine(const json_t *document);

/*
 * Notes the differences between `before` and `now`, in both directions. before: the last
 * document of this process or, for its first document, that of the previous process;
 * NULL: none. Without memory some events are not noted. Cost: O(parts, drains, links in
 * both).
 */
void event_changes_note(struct events *events, const json_t *before, const json_t *now);

#endif
