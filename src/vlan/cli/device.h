/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Actions on a host's device; plugins/vlan does them where there is BPF. */
#ifndef PORTMAJOR_VLAN_CLI_DEVICE_H
#define PORTMAJOR_VLAN_CLI_DEVICE_H

enum device_action {
	DEVICE_LOAD,
	DEVICE_REPLACE,
	DEVICE_UPDATE,
	DEVICE_SHOW,
	DEVICE_STATUS,
	DEVICE_REMOVE,
	DEVICE_ACTIONS
};

/*
 * Does the action on the device with this name. file ("-": standard input) is for actions
 * that take one, else NULL. An exit status, with a message unless it is EXIT_FINE.
 */
int device_run(enum device_action action, const char *name, const char *file);

#endif
