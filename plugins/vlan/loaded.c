/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds a device's loaded program, and its maps. */
#include "loaded.h"
#include "content.h"

#include <portmajor/base/alloc.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <errno.h>
#include <unistd.h>

#define MAPS 8 /* our program has two */

static bool is_ours(const struct vlan_filter *filter)
{
	static const char *const names[] = {"pm_vlan_ingress", "pm_vlan_egress"};
	size_t length = strlen(names[filter->hook]);

	/* libbpf appends the program's id to a filter's name, as ":[id]". */
	return filter->program && !strncmp(filter->name, names[filter->hook], length) &&
	       (!filter->name[length] || filter->name[length] == ':');
}

int vlan_loaded_find(unsigned int device, struct vlan_loaded *loaded,
		     struct pm_error *err)
{
	struct vlan_filters filters;
	struct vlan_loaded found = {0};
	int rc = vlan_filters_list(device, &filters, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < filters.num; i++) {
		const struct vlan_filter *filter = &filters.list[i];

		if (is_ours(filter) && !found.ours[filter->hook].program) {
			found.ours[filter->hook] = *filter;
			found.num++;
			continue;
		}
		if (!found.num_others++)
			found.other = *filter;
		/* Filters are listed in the order in which they run. */
		if (!found.ours[filter->hook].program && !*found.ahead[filter->hook].kind)
			found.ahead[filter->hook] = *filter;
	}
	free(filters.list);
	*loaded = found;
	return 0;
}

/* ---- Maps ---- */

/* Takes a map if it is one of our two. */
static int take_map(struct vlan_maps *maps, __u32 id)
{
	struct bpf_map_info info = {0};
	__u32 length = sizeof(info);
	int rc, fd = bpf_map_get_fd_by_id(id);

	if (fd < 0)
		return fd;
	rc = bpf_obj_get_info_by_fd(fd, &info, &length);
	if (!rc && !strcmp(info.name, "pm_vlan_table") && maps->tables < 0)
		maps->tables = fd;
	else if (!rc && !strcmp(info.name, "pm_vlan_counts") && maps->counts < 0 &&
		 info.max_entries == VLAN_COUNTS)
		maps->counts = fd;
	else
		close(fd);
	return rc;
}

int vlan_maps_open(const struct vlan_loaded *loaded, struct vlan_maps *maps,
		   struct pm_error *err)
{
	int rc, fd = bpf_prog_get_fd_by_id(loaded->ours[VLAN_EGRESS].program);
	struct vlan_maps found = {-1, -1};
	__u32 ids[MAPS];
	struct bpf_prog_info info = {.nr_map_ids = MAPS, .map_ids = (uintptr_t)ids};
	__u32 length = sizeof(info);

	if (fd < 0)
		return vlan_bpf_error(err, fd, "cannot inspect the program");
	rc = bpf_obj_get_info_by_fd(fd, &info, &length);
	close(fd);
	for (__u32 i = 0; !rc && i < info.nr_map_ids && i < MAPS; i++)
		rc = take_map(&found, ids[i]);
	if (rc)
		rc = vlan_bpf_error(err, rc, "cannot inspect the program's maps");
	else if (found.tables < 0 || found.counts < 0)
		rc = pm_error_set(err, -EPROTO,
				  "the program in the kernel is of another version: "
				  "remove it, and load it anew");
	if (rc)
		vlan_maps_close(&found);
	else
		*maps = found;
	return rc;
}

void vlan_maps_close(struct vlan_maps *maps)
{
	if (maps->tables >= 0)
		close(maps->tables);
	if (maps->counts >= 0)
		close(maps->counts);
}

int vlan_maps_table(const struct vlan_maps *maps, int *fd, struct pm_error *err)
{
	const __u32 only = 0;
	__u32 id;
	int rc = bpf_map_lookup_elem(maps->tables, &only, &id);

	if (!rc) {
		*fd = bpf_map_get_fd_by_id(id);
		rc = *fd < 0 ? *fd : 0;
	}
	return rc ? vlan_bpf_error(err, rc, "cannot inspect the table in force") : 0;
}

int vlan_maps_swap(const struct vlan_maps *maps, int fd, struct pm_error *err)
{
	const __u32 only = 0;
	int rc = bpf_map_update_elem(maps->tables, &only, &fd, BPF_ANY);

	return rc ? vlan_bpf_error(err, rc, "cannot put the table in force") : 0;
}

int vlan_maps_count(const struct vlan_maps *maps, uint64_t counts[VLAN_COUNTS],
		    struct pm_error *err)
{
	int rc = 0, processors = libbpf_num_possible_cpus();
	uint64_t *each;

	if (processors < 0)
		return vlan_bpf_error(err, processors, "cannot count processors");
	each = pm_array((size_t)processors, sizeof(*each));
	if (!each)
		return pm_error_no_memory(err);
	for (__u32 what = 0; what < VLAN_COUNTS && !rc; what++) {
		counts[what] = 0;
		rc = bpf_map_lookup_elem(maps->counts, &what, each);
		for (int i = 0; i < processors && !rc; i++)
			counts[what] += each[i];
	}
	free(each);
	return rc ? vlan_bpf_error(err, rc, "cannot read the counters") : 0;
}
