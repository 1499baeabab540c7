/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-vlan load, replace, update, show, status, remove: their operands. */
#include "device.h"
#include "vlan_commands.h"

static const struct cli_option options[] = {{0}};

static const struct cli_command commands[DEVICE_ACTIONS] = {
	[DEVICE_LOAD] =
		{
			.synopsis = "load DEVICE TABLE",
			.about =
				"Puts the program on a device, with a host table as `portmajor-vlan plan` writes it.",
			.options = options,
			.min_operands = 2,
			.max_operands = 2,
		},
	[DEVICE_REPLACE] =
		{
			.synopsis = "replace DEVICE TABLE",
			.about =
				"Gives the program on a device another host table, at once, while traffic runs.",
			.options = options,
			.min_operands = 2,
			.max_operands = 2,
		},
	[DEVICE_UPDATE] =
		{
			.synopsis = "update DEVICE CHANGES",
			.about =
				"Changes lines of the host table that is in force, at once: CHANGES is the hosts.diff of `portmajor-vlan plan --diff`.",
			.options = options,
			.min_operands = 2,
			.max_operands = 2,
		},
	[DEVICE_SHOW] =
		{
			.synopsis = "show DEVICE",
			.about =
				"Prints the host table's size and sum, and counters of frames.",
			.options = options,
			.min_operands = 1,
			.max_operands = 1,
		},
	[DEVICE_STATUS] =
		{
			.synopsis = "status DEVICE",
			.about =
				"Tells whether the program on a device does its work: exit status 1 and a line for each finding if not.",
			.options = options,
			.min_operands = 1,
			.max_operands = 1,
		},
	[DEVICE_REMOVE] =
		{
			.synopsis = "remove DEVICE",
			.about =
				"Takes the program off a device, and has its cards receive as before.",
			.options = options,
			.min_operands = 1,
			.max_operands = 1,
		},
};

static int run_action(enum device_action action, int argc, char **argv)
{
	const struct cli_command *command = &commands[action];
	int status = cli_command_read(command, argc, argv, NULL);

	if (status >= 0)
		return status;
	return device_run(action, argv[optind],
			  command->max_operands > 1 ? argv[optind + 1] : NULL);
}

int cmd_load(int argc, char **argv)
{
	return run_action(DEVICE_LOAD, argc, argv);
}

int cmd_replace(int argc, char **argv)
{
	return run_action(DEVICE_REPLACE, argc, argv);
}

int cmd_update(int argc, char **argv)
{
	return run_action(DEVICE_UPDATE, argc, argv);
}

int cmd_show(int argc, char **argv)
{
	return run_action(DEVICE_SHOW, argc, argv);
}

int cmd_status(int argc, char **argv)
{
	return run_action(DEVICE_STATUS, argc, argv);
}

int cmd_remove(int argc, char **argv)
{
	return run_action(DEVICE_REMOVE, argc, argv);
}
