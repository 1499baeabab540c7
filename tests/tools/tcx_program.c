/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs by tcx on a device, which tests put beside portmajor-vlan's:
 *
 *     tcx_program list DEVICE           a line for each: ingress or egress, its name
 *     tcx_program before DEVICE SIDE    attaches one ahead of all others, or behind
 *     tcx_program after DEVICE SIDE     them; it has frames pass all that follow
 *     tcx_program fill DEVICE SIDE      attaches as many as there is room for
 *     tcx_program detach DEVICE SIDE    takes the first one off
 *
 * Exit status 77: this kernel has no tcx.
 */
#include "../../plugins/vlan/tcx.h"

#include <bpf/bpf.h>

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const sides[] = {"ingress", "egress"};

static int finish(int rc, const char *what)
{
	if (!rc)
		return 0;
	fprintf(stderr, "tcx_program: %s: %s\n", what, strerror(-rc));
	return rc == -EINVAL ? 77 : 1;
}

/* Returns 0: TCX_PASS. */
static int load(void)
{
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "other", "GPL", code,
			     sizeof(code) / sizeof(*code), NULL);
}

static int attach(unsigned int device, enum vlan_hook hook, bool before)
{
	static const int points[] = {46, 47}; /* BPF_TCX_INGRESS, BPF_TCX_EGRESS */
	int program = load();

	if (program < 0)
		return finish(program, "cannot load a program");
	if (before)
		return finish(vlan_tcx_attach(device, hook, program), "cannot attach it");
	return finish(bpf_prog_attach(program, (int)device,
				      (enum bpf_attach_type)points[hook], 0),
		      "cannot attach it");
}

/* The kernel's answer when there is no room. */
static int fill(unsigned int device, enum vlan_hook hook)
{
	int rc = 0;

	while (!rc) {
		int program = load();

		if (program < 0)
			return finish(program, "cannot load a program");
		rc = vlan_tcx_attach(device, hook, program);
		close(program); /* attached programs stay */
	}
	return finish(rc == -ERANGE ? 0 : rc, "cannot attach it");
}

static int detach(unsigned int device, enum vlan_hook hook)
{
	struct vlan_filters found = {0};
	int rc = vlan_tcx_list(device, hook, &found, NULL);

	if (!rc && !found.num)
		rc = -ENOENT;
	if (!rc)
		rc = vlan_tcx_detach(device, hook,
				     bpf_prog_get_fd_by_id(found.list[0].program));
	free(found.list);
	return finish(rc, "cannot detach it");
}

static int list(unsigned int device)
{
	struct vlan_filters found = {0};
	int rc = 0;

	for (int hook = 0; !rc && hook < VLAN_HOOKS; hook++)
		rc = vlan_tcx_list(device, (enum vlan_hook)hook, &found, NULL);
	for (uint32_t i = 0; i < found.num; i++)
		printf("%s %s\n", sides[found.list[i].hook], found.list[i].name);
	free(found.list);
	return finish(rc, "cannot list them");
}

int main(int argc, char **argv)
{
	unsigned int device = argc > 2 ? if_nametoindex(argv[2]) : 0;
	enum vlan_hook hook =
		argc > 3 && !strcmp(argv[3], "egress") ? VLAN_EGRESS : VLAN_INGRESS;

	if (!device)
		return finish(-ENODEV, "no device");
	if (!strcmp(argv[1], "list"))
		return list(device);
	if (!strcmp(argv[1], "detach"))
		return detach(device, hook);
	if (!strcmp(argv[1], "fill"))
		return fill(device, hook);
	return attach(device, hook, !strcmp(argv[1], "before"));
}
