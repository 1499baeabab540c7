/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands of portmajor, and their common parts. */
#ifndef PORTMAJOR_CLI_COMMANDS_H
#define PORTMAJOR_CLI_COMMANDS_H

#include "fabric_options.h"
#include "options.h"
#include "output.h"

int cmd_acknowledge(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_drain(int argc, char **argv);
int cmd_undrain(int argc, char **argv);
int cmd_events(int argc, char **argv);
int cmd_generate(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_rebalance(int argc, char **argv);
int cmd_release(int argc, char **argv);
int cmd_table(int argc, char **argv);
int cmd_preflight(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_whatif(int argc, char **argv);

#endif
