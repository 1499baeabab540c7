/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engines of `portmajor traffic`, each with options of its own. */
#ifndef PORTMAJOR_CLI_TRAFFIC_H
#define PORTMAJOR_CLI_TRAFFIC_H

int traffic_flit(int argc, char **argv);

#endif
