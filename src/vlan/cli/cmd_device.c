/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portmajor-vlan load, replace, update, show, status, remove: their operands. */
#include "device.h"
#include "vlan_commands.h"

static const struct cli_option options[] = {{0}};

#define DEVICE_COMMAND(usage, operands, text)                                            \
	{                                                                                \
		.synopsis = (usage), .about = (text), .options = options,                \
		.min_operands = (operands), .max_operands = (operands)                   \
	}

static const struct cli_command commands[DEVICE_ACTIONS] = {
	[DEVICE_LOAD] = DEVICE_COMMAND(
		"load DEVICE TABLE", 2,
		"Load the program and a host table, as `portmajor-vlan plan` writes it, on a device."),
	[DEVICE_REPLACE] = DEVICE_COMMAND(
		"replace DEVICE TABLE", 2,
		"Replace the host table of a device, at once, while traffic runs."),
	[DEVICE_UPDATE] = DEVICE_COMMAND(
		"update DEVICE CHANGES", 2,
		"Change lines of the host table of a device, at once. CHANGES is the "
		"hosts.diff of "
		"`portmajor-vlan plan --diff`."),
	[DEVICE_SHOW] = DEVICE_COMMAND(
		"show DEVICE", 1,
		"Print the loaded program, the size and sum of its host table, and counters of frames."),
	[DEVICE_STATUS] = DEVICE_COMMAND(
		"status DEVICE", 1,
		"Check that the program on a device works: that frames are sent and "
		"received with "
		"tags. Exit status 1, with a line for each finding, if not."),
	[DEVICE_REMOVE] = DEVICE_COMMAND(
		"remove DEVICE", 1,
		"Remove the program from a device, and restore its cards' settings."),
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
