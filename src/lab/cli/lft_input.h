/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables that option --lfts names. */
#ifndef PORTMAJOR_CLI_LFT_INPUT_H
#define PORTMAJOR_CLI_LFT_INPUT_H

#include <portmajor/files/lft_file.h>

/*
 * Reads tables, and gives the fabric's ports without a LID those in the file. Refuses
 * tables with other LIDs than the fabric's, and tables without the LID of an end port
 * that dump_fts left out. The caller frees *lfts, which is NULL after a failure. An exit
 * status.
 */
int lft_input_read(const char *path, struct pm_fabric *fabric, struct pm_lfts **lfts);

#endif
