/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A switch's multicast table before and after a failure, as JSON and as text. */
#ifndef PORTMAJOR_CLI_TABLE_MFTS_H
#define PORTMAJOR_CLI_TABLE_MFTS_H

#include <portmajor/analysis/mft_failure.h>

#include <jansson.h>

/* The switch's entries by block of 32 MLIDs, see docs/json.md. */
json_t *table_mfts_json(const struct pm_mft_failure *failure, uint32_t sw);

/* The same object as text. */
void table_mfts_print(const json_t *object);

#endif
