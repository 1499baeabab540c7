/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attaches the tc program to a device, and detaches it. */
#include "program.h"
#include "content.h"
#include "tcx.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* preference of our tc filters: before all others */
#define PREFERENCE 1
#define HANDLE 1

static const enum bpf_tc_attach_point points[] = {BPF_TC_INGRESS, BPF_TC_EGRESS};

/* libbpf's last message: the kernel's words, if there are any */
static char verifier_log[160];

static int hear(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN) {
		vsnprintf(verifier_log, sizeof(verifier_log), format, args);
		verifier_log[strcspn(verifier_log, "\n")] = '\0';
	}
	return 0;
}

/* Reports an error, with these words if its number does not show the remedy. */
static int fail_load(struct pm_error *err, int code, const char *what)
{
	int rc = vlan_bpf_error(err, code, what);
	size_t length = err ? strlen(err->text) : 0;

	if (err && *verifier_log && code != -EPERM && code != -ENOSYS && code != -ENOMEM)
		snprintf(err->text + length, sizeof(err->text) - length, " (%s)",
			 verifier_log);
	return rc;
}

static struct bpf_tc_hook hook_of(unsigned int device, enum bpf_tc_attach_point point)
{
	return (struct bpf_tc_hook){.sz = sizeof(struct bpf_tc_hook),
				    .ifindex = (int)device,
				    .attach_point = point};
}

static int fail_at(struct pm_error *err, int code, enum vlan_hook at)
{
	return fail_load(err, code,
			 at == VLAN_INGRESS ? "cannot attach the program at ingress"
					    : "cannot attach the program at egress");
}

/* ---- As tc filters ---- */

static int attach_one(unsigned int device, enum vlan_hook at, int program,
		      struct pm_error *err)
{
	struct bpf_tc_hook hook = hook_of(device, points[at]);
	struct bpf_tc_opts opts = {.sz = sizeof(opts),
				   .prog_fd = program,
				   .handle = HANDLE,
				   .priority = PREFERENCE};
	int rc = bpf_tc_attach(&hook, &opts);

	/* A qdisc `ingress` has one list of filters, with the ingress filter by now. */
	if (rc == -EEXIST && at == VLAN_EGRESS)
		return pm_error_set(err, rc,
				    "cannot attach the program at egress: the device "
				    "has an ingress qdisc in place of clsact");
	return rc ? fail_at(err, rc, at) : 0;
}

static int detach_one(unsigned int device, enum vlan_hook at, uint32_t handle,
		      uint32_t preference, struct pm_error *err)
{
	struct bpf_tc_hook hook = hook_of(device, points[at]);
	struct bpf_tc_opts opts = {
		.sz = sizeof(opts), .handle = handle, .priority = preference};
	int rc = bpf_tc_detach(&hook, &opts);

	return rc ? fail_load(err, rc, "cannot detach the program") : 0;
}

static int remove_hook(unsigned int device, struct pm_error *err)
{
	struct bpf_tc_hook hook = hook_of(device, BPF_TC_INGRESS | BPF_TC_EGRESS);
	int rc = bpf_tc_hook_destroy(&hook);

	return rc ? fail_load(err, rc, "cannot remove the device's clsact qdisc") : 0;
}

/* Ingress comes first: tags must be popped before other hosts' frames have them. */
static int attach_both(unsigned int device, const int programs[VLAN_HOOKS],
		       struct pm_error *err)
{
	int rc = attach_one(device, VLAN_INGRESS, programs[VLAN_INGRESS], err);

	if (rc)
		return rc;
	rc = attach_one(device, VLAN_EGRESS, programs[VLAN_EGRESS], err);
	if (rc)
		detach_one(device, VLAN_INGRESS, HANDLE, PREFERENCE, NULL);
	return rc;
}

static int make_hook(unsigned int device, int table, bool *ours, struct pm_error *err)
{
	struct bpf_tc_hook hook = hook_of(device, BPF_TC_INGRESS | BPF_TC_EGRESS);
	int rc = bpf_tc_hook_create(&hook);

	*ours = !rc;
	*verifier_log = '\0'; /* no message that it exists already */
	if (rc == -EEXIST)
		return 0;
	return rc ? fail_load(err, rc, "cannot add a clsact qdisc to the device")
		  : vlan_content_mark_hook(table, err);
}

static int attach_filters(unsigned int device, const int programs[VLAN_HOOKS], int table,
			  struct pm_error *err)
{
	bool ours = false;
	int rc = make_hook(device, table, &ours, err);

	if (!rc)
		rc = attach_both(device, programs, err);
	if (rc && ours)
		remove_hook(device, NULL);
	return rc;
}

/* ---- By tcx ---- */

static int attach_tcx(unsigned int device, const int programs[VLAN_HOOKS],
		      struct pm_error *err)
{
	int rc = vlan_tcx_attach(device, VLAN_INGRESS, programs[VLAN_INGRESS]);

	if (rc)
		return fail_at(err, rc, VLAN_INGRESS);
	rc = vlan_tcx_attach(device, VLAN_EGRESS, programs[VLAN_EGRESS]);
	if (!rc)
		return 0;
	vlan_tcx_detach(device, VLAN_INGRESS, programs[VLAN_INGRESS]);
	return fail_at(err, rc, VLAN_EGRESS);
}

static int detach_tcx(unsigned int device, const struct vlan_filter *ours,
		      struct pm_error *err)
{
	int rc, fd = bpf_prog_get_fd_by_id(ours->program);

	if (fd < 0)
		return fail_load(err, fd, "cannot detach the program");
	rc = vlan_tcx_detach(device, ours->hook, fd);
	close(fd);
	return rc ? fail_load(err, rc, "cannot detach the program") : 0;
}

/* ---- By either ---- */

static int attach_object(unsigned int device, const struct bpf_object *object, int table,
			 struct pm_error *err)
{
	static const char *const names[] = {"pm_vlan_ingress", "pm_vlan_egress"};
	int programs[VLAN_HOOKS], rc;

	for (int at = 0; at < VLAN_HOOKS; at++)
		programs[at] = bpf_program__fd(
			bpf_object__find_program_by_name(object, names[at]));
	rc = attach_tcx(device, programs, err);
	/* This kernel has no tcx. */
	return rc == -EINVAL ? attach_filters(device, programs, table, err) : rc;
}

int vlan_program_attach(unsigned int device, int table, struct pm_error *err)
{
	struct bpf_object *object;
	struct vlan_maps maps = {-1, -1};
	int rc;

	libbpf_set_print(hear);
	object = bpf_object__open_mem(vlan_object, vlan_object_size, NULL);
	if (!object)
		return fail_load(err, -errno, "cannot read the program");
	rc = bpf_object__load(object);
	if (rc) {
		rc = fail_load(err, rc, "cannot load the program");
	} else {
		maps.tables = bpf_object__find_map_fd_by_name(object, "pm_vlan_table");
		rc = vlan_maps_swap(&maps, table, err);
	}
	if (!rc)
		rc = attach_object(device, object, table, err);
	bpf_object__close(object); /* an attached program stays, with its maps */
	return rc;
}

int vlan_program_detach(unsigned int device, const struct vlan_loaded *loaded,
			bool our_hook, struct pm_error *err)
{
	int rc = 0;

	libbpf_set_print(hear);
	for (int at = VLAN_EGRESS; at >= VLAN_INGRESS && !rc; at--) {
		const struct vlan_filter *ours = &loaded->ours[at];

		if (!strcmp(ours->kind, VLAN_TCX))
			rc = detach_tcx(device, ours, err);
		else if (ours->program)
			rc = detach_one(device, ours->hook, ours->handle,
					ours->preference, err);
	}
	if (!rc && our_hook && !loaded->num_others)
		rc = remove_hook(device, err);
	return rc;
}
