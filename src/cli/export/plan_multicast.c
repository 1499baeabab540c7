/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Describes the orders of planes of multicast LIDs. */
#include "json.h"
#include "output.h"
#include "plan_command.h"
#include "text.h"

#include <portmajor/memory/xalloc.h>
#include <portmajor/multicast/multicast.h>

#include <stdio.h>
#include <stdlib.h>

static json_t *list_order(const struct pm_multicast *multicast, uint32_t mlid,
			  uint32_t *planes, uint32_t num)
{
	json_t *list = json_array();

	pm_multicast_order(multicast, (uint16_t)mlid, false, planes);
	for (uint32_t i = 0; i < num; i++)
		json_array_append_new(list, json_integer(planes[i]));
	return list;
}

/* Lists the first plane of each MLID's own order, which large groups use. */
static json_t *list_large(const struct pm_multicast *multicast, uint32_t first,
			  uint32_t last, uint32_t *planes)
{
	json_t *list = json_array();

	for (uint32_t mlid = first; mlid <= last; mlid++) {
		pm_multicast_order(multicast, (uint16_t)mlid, true, planes);
		json_array_append_new(list, json_integer(planes[0]));
	}
	return list;
}

static json_t *list_blocks(const struct pm_multicast *multicast, uint32_t num_planes,
			   uint32_t blocks, uint32_t *planes)
{
	json_t *list = json_array();

	for (uint32_t b = 0; b < blocks && num_planes; b++) {
		uint32_t first = PM_MLID_FIRST + b * PM_MFT_BLOCK;
		uint32_t last = first + PM_MFT_BLOCK - 1;

		if (last > PM_MLID_LAST)
			last = PM_MLID_LAST;
		json_array_append_new(
			list,
			json_pack("{s:i, s:I, s:I, s:o, s:o}", "block", (int)b, "first",
				  (json_int_t)first, "last", (json_int_t)last, "planes",
				  list_order(multicast, first, planes, num_planes),
				  "large", list_large(multicast, first, last, planes)));
	}
	return list;
}

json_t *plan_multicast_json(const struct pm_plan *plan, uint32_t blocks)
{
	const struct pm_multicast_config config = {0};
	uint32_t num = plan->tree.num_planes, *planes = calloc(num + 1, sizeof(*planes));
	struct pm_multicast *multicast;
	json_t *object;

	if (!planes || pm_multicast_new(plan, &config, &multicast, NULL))
		pm_no_memory();
	object = json_pack("{s:I, s:o}", "large_above",
			   (json_int_t)pm_multicast_large(multicast), "blocks",
			   list_blocks(multicast, num, blocks, planes));
	pm_multicast_free(multicast);
	free(planes);
	return object;
}

static void print_list(const json_t *list)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		printf(" %" JSON_INTEGER_FORMAT, json_integer_value(one));
	putchar('\n');
}

void plan_multicast_print(const json_t *object)
{
	const json_t *block;
	size_t i;

	cli_text_print(object,
		       "multicast: groups with members at more than "
		       "{large_above|switch|switches} begin with a plane of their own\n");
	json_array_foreach(json_object_get(object, "blocks"), i, block) {
		printf("MLIDs 0x%llx-0x%llx, planes:",
		       (unsigned long long)cli_json_number(block, "first"),
		       (unsigned long long)cli_json_number(block, "last"));
		print_list(json_object_get(block, "planes"));
		fputs(" first plane of large groups:", stdout);
		print_list(json_object_get(block, "large"));
	}
}
