/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines in OpenSM's log. */
#ifndef PORTMAJOR_LOG_H
#define PORTMAJOR_LOG_H

#include <opensm/osm_config.h>
#include <opensm/osm_log.h>

/*
 * Writes one line, "portmajor" and the formatted text, and flushes it: OpenSM buffers
 * lines that are not errors, perhaps for hours. On any thread. Truncated by OpenSM at
 * 4096 bytes, with its prefix. The text goes by pm_escape_terminal.
 */
__attribute__((format(printf, 3, 4))) void log_line(osm_log_t *log, osm_log_level_t level,
						    const char *format, ...);

#endif
