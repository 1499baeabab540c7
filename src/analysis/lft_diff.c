/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares two sets of tables. */
#include <portmajor/analysis/lft_diff.h>

#include <portmajor/base/alloc.h>

#include <errno.h>

static uint8_t entry(const struct pm_lft_switch *sw, uint32_t lid)
{
	return lid < sw->length ? sw->table[lid] : PM_LFT_KEEP;
}

struct pm_lft_change pm_lft_compare(const struct pm_lft_switch *before,
				    const struct pm_lft_switch *after, bool keep)
{
	uint32_t length = before->length > after->length ? before->length : after->length;
	struct pm_lft_change change = {0, 0};

	for (uint32_t start = 0; start < length; start += PM_LFT_BLOCK) {
		uint32_t entries = 0;

		for (uint32_t lid = start; lid < start + PM_LFT_BLOCK; lid++) {
			uint8_t wanted = entry(after, lid);

			if (lid && (lid == before->left_out || lid == after->left_out))
				continue;
			entries += wanted != entry(before, lid) &&
				   !(keep && wanted == PM_LFT_KEEP);
		}
		change.entries += entries;
		change.blocks += entries != 0;
	}
	return change;
}

/* Counts the blocks of a table with an entry, as sent to a switch without a table. */
static uint32_t whole_table(const struct pm_lft_switch *sw)
{
	static const struct pm_lft_switch nothing;

	return pm_lft_compare(&nothing, sw, false).blocks;
}

static void compare_lids(const struct pm_lfts *before, const struct pm_lfts *after,
			 struct pm_lft_diff *diff)
{
	uint16_t x = pm_lfts_left_out(before), y = pm_lfts_left_out(after);

	if (!before->num_owned || !after->num_owned)
		return;
	for (uint32_t lid = 1; lid <= PM_MAX_LID; lid++) {
		uint64_t a = before->owner[lid].guid, b = after->owner[lid].guid;

		diff->lids_gone += a && !b && lid != y;
		diff->lids_new += b && !a && lid != x;
		diff->lids_other_owner += a && b && a != b;
	}
}

struct pm_lft_diff pm_lfts_compare(const struct pm_lfts *before,
				   const struct pm_lfts *after, bool keep)
{
	struct pm_lft_diff diff = {0};

	for (uint32_t i = 0; i < after->num_switches; i++) {
		const struct pm_lft_switch *sw = &after->switches[i];
		const struct pm_lft_switch *old = pm_lfts_find(before, sw->guid);
		struct pm_lft_change change;

		if (!old) {
			diff.switches_new++;
			diff.whole += whole_table(sw);
			continue;
		}
		change = pm_lft_compare(old, sw, keep);
		diff.switches += change.entries != 0;
		diff.entries += change.entries;
		diff.blocks += change.blocks;
		diff.least += (change.entries + PM_LFT_BLOCK - 1) / PM_LFT_BLOCK;
	}
	for (uint32_t i = 0; i < before->num_switches; i++)
		diff.switches_gone += !pm_lfts_find(after, before->switches[i].guid);
	compare_lids(before, after, &diff);
	return diff;
}

/* ---- LIDs by port ---- */

static int compare_reassigned(const void *a, const void *b)
{
	const struct pm_lft_reassigned *x = a, *y = b;

	return x->guid < y->guid ? -1 : x->guid > y->guid;
}

/* Lists the lowest LID of every known port, as `before` or `after`. */
static uint32_t list_ports(const struct pm_lfts *lfts, bool is_after,
			   struct pm_lft_reassigned *list)
{
	uint32_t count = 0, kept = 0;

	for (uint32_t lid = 1; lid <= PM_MAX_LID; lid++)
		if (lfts->owner[lid].guid)
			list[count++] = (struct pm_lft_reassigned){
				lfts->owner[lid].guid, is_after ? 0 : (uint16_t)lid,
				is_after ? (uint16_t)lid : 0};
	qsort(list, count, sizeof(*list), compare_reassigned);
	for (uint32_t i = 0; i < count; i++) {
		if (!kept || list[kept - 1].guid != list[i].guid)
			list[kept++] = list[i];
		else if (list[i].before + list[i].after <
			 list[kept - 1].before + list[kept - 1].after)
			list[kept - 1] = list[i];
	}
	return kept;
}

/* Whether dump_fts left out a port's only LID on one side. */
static bool is_left_out(const struct pm_lft_reassigned *port,
			const struct pm_lfts *before, const struct pm_lfts *after)
{
	return (!port->before && port->after == pm_lfts_left_out(before)) ||
	       (!port->after && port->before == pm_lfts_left_out(after));
}

int pm_lfts_find_reassigned(const struct pm_lfts *before, const struct pm_lfts *after,
			    struct pm_lft_reassigned **reassigned,
			    uint32_t *num_reassigned, struct pm_error *err)
{
	struct pm_lft_reassigned *list =
		pm_array(2 * ((size_t)PM_MAX_LID + 1), sizeof(*list));
	uint32_t count, kept = 0;

	if (!list)
		return pm_error_no_memory(err);
	count = 0;
	if (before->num_owned && after->num_owned) {
		count = list_ports(before, false, list);
		count += list_ports(after, true, list + count);
	}
	qsort(list, count, sizeof(*list), compare_reassigned);
	for (uint32_t i = 0; i < count; i++) {
		struct pm_lft_reassigned port = list[i];

		if (i + 1 < count && list[i + 1].guid == port.guid) {
			i++;
			port.before = (uint16_t)(port.before + list[i].before);
			port.after = (uint16_t)(port.after + list[i].after);
		}
		if (port.before != port.after && !is_left_out(&port, before, after))
			list[kept++] = port;
	}
	*reassigned = list;
	*num_reassigned = kept;
	return 0;
}
