/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tcx by libbpf 1.1, which does not know it, but passes unknown numbers on. */
#include "tcx.h"
#include "content.h"

#include <portmajor/base/alloc.h>

#include <bpf/bpf.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define PROGRAMS 64 /* most that Linux attaches to a hook */

/* BPF_TCX_INGRESS, BPF_TCX_EGRESS and BPF_F_BEFORE, which older headers lack. */
static const int points[] = {46, 47};
#define BEFORE (1U << 3)

static enum bpf_attach_type point_of(enum vlan_hook hook)
{
	return (enum bpf_attach_type)points[hook];
}

bool vlan_tcx_exists(unsigned int device)
{
	__u32 num = 0;

	return bpf_prog_query((int)device, point_of(VLAN_INGRESS), 0, NULL, NULL, &num) !=
	       -EINVAL;
}

/* A program that is gone by now is left out. */
static int add_program(struct vlan_filters *filters, enum vlan_hook hook, __u32 id,
		       struct pm_error *err)
{
	struct vlan_filter found = {.hook = hook, .program = id, .kind = VLAN_TCX};
	struct bpf_prog_info info = {0};
	__u32 length = sizeof(info);
	int rc, fd = bpf_prog_get_fd_by_id(id);

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return vlan_bpf_error(err, fd, "cannot inspect the program");
	rc = bpf_obj_get_info_by_fd(fd, &info, &length);
	close(fd);
	if (rc)
		return vlan_bpf_error(err, rc, "cannot inspect the program");
	snprintf(found.name, sizeof(found.name), "%s", info.name);
	if (pm_grow(&filters->list, &filters->room, filters->num + 1, sizeof(found)))
		return pm_error_no_memory(err);
	filters->list[filters->num++] = found;
	return 0;
}

int vlan_tcx_list(unsigned int device, enum vlan_hook hook, struct vlan_filters *filters,
		  struct pm_error *err)
{
	__u32 ids[PROGRAMS], num = PROGRAMS;
	int rc = bpf_prog_query((int)device, point_of(hook), 0, NULL, ids, &num);

	/* no tcx; or none was ever attached (6.6 returns that) */
	if (rc == -EINVAL || rc == -ENOENT)
		return 0;
	if (rc)
		return vlan_bpf_error(err, rc, "cannot list programs");
	for (__u32 i = 0; !rc && i < num; i++)
		rc = add_program(filters, hook, ids[i], err);
	return rc;
}

int vlan_tcx_attach(unsigned int device, enum vlan_hook hook, int program)
{
	return bpf_prog_attach(program, (int)device, point_of(hook), BEFORE);
}

int vlan_tcx_detach(unsigned int device, enum vlan_hook hook, int program)
{
	return bpf_prog_detach2(program, (int)device, point_of(hook));
}
