/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands of portmajor-lab. */
#ifndef PORTMAJOR_LAB_CLI_LAB_COMMANDS_H
#define PORTMAJOR_LAB_CLI_LAB_COMMANDS_H

#include "fabric_options.h"
#include "options.h"
#include "output.h"

int cmd_collective(int argc, char **argv);
int cmd_dsm(int argc, char **argv);
int cmd_job(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_traffic(int argc, char **argv);

#endif
