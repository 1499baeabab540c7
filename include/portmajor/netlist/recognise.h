/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Recognises the kind of a file by its first lines. So the message on a file given as the
 * wrong operand names its kind, not a bad first line.
 */
#ifndef PORTMAJOR_RECOGNISE_H
#define PORTMAJOR_RECOGNISE_H

#include <portmajor/base/lexer.h>

/* Whether a text begins like LFTs as OpenSM and dump_fts write them (see lft_file.h). */
bool pm_text_is_lfts(struct pm_text text);

/* Whether a text begins like a topology (see netlist.h). */
bool pm_text_is_topology(struct pm_text text);

#endif
