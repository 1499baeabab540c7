/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Common data of all runs of the packet engine, from the options. */
#ifndef PORTMAJOR_CLI_PACKET_LAB_H
#define PORTMAJOR_CLI_PACKET_LAB_H

#include "packet_request.h"

/*
 * Reads the fabric at a path, its tables and the failure, and sets up the engine for a
 * run without repair. Completes the request, which it borrows: `messages` of INT32_MAX
 * become one to each other host, `calls` times, and a `time` that is not given becomes
 * the longest. Call packet_lab_end in any case. An exit status.
 */
int packet_lab_begin(struct packet_lab *lab, struct packet_request *request,
		     const char *path);

/*
 * Sets up the engine for the failure at the request's `at`, which may be set after
 * packet_lab_begin, and for the LFT Sets that follow. Call it once.
 */
void packet_lab_mend(struct packet_lab *lab);

void packet_lab_end(struct packet_lab *lab);

#endif
