/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands of portmajor-vlan. */
#ifndef PORTMAJOR_VLAN_CLI_VLAN_COMMANDS_H
#define PORTMAJOR_VLAN_CLI_VLAN_COMMANDS_H

#include "fabric_options.h"
#include "options.h"
#include "output.h"

int cmd_lldp(int argc, char **argv);
int cmd_load(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_remove(int argc, char **argv);
int cmd_replace(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_update(int argc, char **argv);

#endif
