/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies host tables to and from the maps of the tc program. */
#include "content.h"
#include "vlan_maps.h"

#include <portmajor/base/alloc.h>

#include <bpf/bpf.h>

#include <errno.h>
#include <unistd.h>

int vlan_bpf_error(struct pm_error *err, int code, const char *what)
{
	switch (-code) {
	case EPERM:
	case EACCES:
		return pm_error_set(err, code,
				    "%s: only root may (CAP_SYS_ADMIN and CAP_NET_ADMIN)",
				    what);
	case ENOSYS:
		return pm_error_set(err, code,
				    "%s: this kernel has no BPF (CONFIG_BPF_SYSCALL)",
				    what);
	case ENOMEM:
		return pm_error_set(err, code, "%s: out of memory", what);
	default:
		return pm_error_set(err, code, "%s: %s", what, strerror(-code));
	}
}

void vlan_content_free(struct vlan_content *content)
{
	pm_host_table_free(&content->table);
}

void vlan_content_pop_own(struct vlan_content *content)
{
	for (uint32_t i = 0; i < content->table.num; i++)
		content->popped[content->table.lines[i].vlan] = true;
}

/* ---- To a map ---- */

static struct vlan_key host_key(uint64_t mac)
{
	struct vlan_key key = {.kind = VLAN_HOST};

	for (unsigned int i = 0; i < VLAN_MAC_BYTES; i++)
		key.mac[i] = (__u8)(mac >> (8 * (VLAN_MAC_BYTES - 1 - i)));
	return key;
}

static int put(int fd, const struct vlan_key *key, uint32_t vlan, uint32_t priority)
{
	const struct vlan_line value = {.priority = priority, .vlan = vlan};

	return bpf_map_update_elem(fd, key, &value, BPF_ANY);
}

static int put_all(int fd, const struct vlan_content *content,
		   const struct pm_host_line *own)
{
	struct vlan_key key = {.kind = VLAN_OWN};
	int rc = put(fd, &key, own->vlan, own->priority);

	for (uint32_t i = 0; i < content->table.num && !rc; i++) {
		const struct pm_host_line *line = &content->table.lines[i];

		key = host_key(line->mac);
		rc = put(fd, &key, line->vlan, line->priority);
	}
	key = (struct vlan_key){.kind = VLAN_POPPED};
	for (uint32_t vlan = 0; vlan < VLAN_NUMBERS && !rc; vlan++) {
		key.mac[0] = (__u8)(vlan >> 8);
		key.mac[1] = (__u8)vlan;
		if (content->popped[vlan])
			rc = put(fd, &key, vlan, 0);
	}
	key = (struct vlan_key){.kind = VLAN_OUR_HOOK};
	return rc || !content->our_hook ? rc : put(fd, &key, 0, 0);
}

static uint32_t count_entries(const struct vlan_content *content)
{
	uint32_t num =
		content->table.num + 2; /* the device's line, and the owner of its hook */

	for (uint32_t vlan = 0; vlan < VLAN_NUMBERS; vlan++)
		num += content->popped[vlan];
	return num;
}

int vlan_content_to_map(const struct vlan_content *content,
			const struct pm_host_line *own, int *fd, struct pm_error *err)
{
	int rc, made = bpf_map_create(BPF_MAP_TYPE_HASH, "pm_vlan_lines",
				      sizeof(struct vlan_key), sizeof(struct vlan_line),
				      count_entries(content), NULL);

	if (made < 0)
		return vlan_bpf_error(err, made, "cannot make a table in the kernel");
	rc = put_all(made, content, own);
	if (rc) {
		close(made);
		return vlan_bpf_error(err, rc, "cannot fill a table in the kernel");
	}
	*fd = made;
	return 0;
}

int vlan_content_mark_hook(int fd, struct pm_error *err)
{
	const struct vlan_key key = {.kind = VLAN_OUR_HOOK};
	int rc = put(fd, &key, 0, 0);

	return rc ? vlan_bpf_error(err, rc, "cannot fill a table in the kernel") : 0;
}

/* ---- From a map ---- */

static void take_line(struct vlan_content *content, const struct vlan_key *key,
		      const struct vlan_line *value)
{
	uint64_t mac = 0;

	for (unsigned int i = 0; i < VLAN_MAC_BYTES; i++)
		mac = mac << 8 | key->mac[i];
	if (key->kind == VLAN_HOST)
		content->table.lines[content->table.num++] = (struct pm_host_line){
			.mac = mac, .priority = value->priority, .vlan = value->vlan};
	if (key->kind == VLAN_POPPED)
		content->popped[value->vlan % VLAN_NUMBERS] = true;
	if (key->kind == VLAN_OUR_HOOK)
		content->our_hook = true;
}

static int compare_lines(const void *a, const void *b)
{
	const struct pm_host_line *x = a, *y = b;

	return x->mac < y->mac ? -1 : x->mac > y->mac;
}

/* A program's map no longer changes, so its keys stay in their order. */
static int take_all(int fd, uint32_t room, struct vlan_content *content,
		    struct pm_error *err)
{
	struct vlan_key key, next, *before = NULL;
	struct vlan_line value;
	int rc = 0;

	for (uint32_t i = 0; i < room && !rc; i++) {
		rc = bpf_map_get_next_key(fd, before, &next);
		if (!rc)
			rc = bpf_map_lookup_elem(fd, &next, &value);
		if (!rc)
			take_line(content, &next, &value);
		key = next;
		before = &key;
	}
	if (rc && rc != -ENOENT)
		return vlan_bpf_error(err, rc, "cannot read the table in the kernel");
	qsort(content->table.lines, content->table.num, sizeof(struct pm_host_line),
	      compare_lines);
	return 0;
}

int vlan_content_from_map(int fd, struct vlan_content *content, struct pm_error *err)
{
	struct vlan_content read = {0};
	struct bpf_map_info info = {0};
	__u32 length = sizeof(info);
	int rc = bpf_obj_get_info_by_fd(fd, &info, &length);

	if (rc)
		return vlan_bpf_error(err, rc, "cannot read the table in the kernel");
	if (info.type != BPF_MAP_TYPE_HASH || info.key_size != sizeof(struct vlan_key) ||
	    info.value_size != sizeof(struct vlan_line))
		return pm_error_set(err, -EPROTO,
				    "the table in the kernel is of another version: "
				    "remove it, and load it anew");
	read.table.lines = pm_array(info.max_entries, sizeof(*read.table.lines));
	if (!read.table.lines)
		return pm_error_no_memory(err);
	rc = take_all(fd, info.max_entries, &read, err);
	if (rc)
		vlan_content_free(&read);
	else
		*content = read;
	return rc;
}
