/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces device.c in builds without clang or libbpf. */
#include "device.h"
#include "output.h"

int device_run(enum device_action action, const char *name, const char *file)
{
	(void)action;
	(void)file;
	return cli_fail(
		EXIT_FINDINGS,
		"%s: built without BPF, for which clang and libbpf 1.0 are needed", name);
}
