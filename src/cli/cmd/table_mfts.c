/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A switch's multicast table before and after a failure, as JSON and as text. */
#include "table_mfts.h"

#include "json.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

static json_t *ports_json(const struct pm_mfts *mfts, uint32_t sw, uint16_t mlid)
{
	uint32_t end = pm_mfts_num_positions(mfts, sw) * PM_MFT_POSITION;
	json_t *list = json_array();

	for (unsigned int port = 0; port < end; port++)
		if (pm_mfts_has_port(mfts, sw, mlid, port))
			list = pm_json_append(list, json_integer(port));
	return list;
}

/* Describes the MLIDs of a block that have an entry before or after. */
static json_t *entries_json(const struct pm_mft_failure *failure, uint32_t sw,
			    uint32_t block)
{
	uint32_t first = PM_MLID_FIRST + block * PM_MFT_BLOCK;
	json_t *list = json_array();

	for (uint32_t mlid = first; mlid < first + PM_MFT_BLOCK && mlid <= PM_MLID_LAST;
	     mlid++) {
		json_t *before = ports_json(failure->before, sw, (uint16_t)mlid);
		json_t *after = ports_json(failure->after, sw, (uint16_t)mlid);
		bool empty = !json_array_size(before) && !json_array_size(after);
		json_t *entry = json_pack("{s:I, s:o, s:o}", "mlid", (json_int_t)mlid,
					  "before", before, "after", after);

		if (empty)
			json_decref(entry);
		else
			list = pm_json_append(list, entry);
	}
	return list;
}

/* Lists the positions that differ: a Set for each. */
static json_t *changed_json(const struct pm_mft_failure *failure, uint32_t sw,
			    uint32_t block)
{
	json_t *list = json_array();

	for (uint32_t p = 0; p < pm_mfts_num_positions(failure->before, sw); p++)
		if (memcmp(pm_mfts_block(failure->before, sw, block, p),
			   pm_mfts_block(failure->after, sw, block, p),
			   PM_MFT_BLOCK * sizeof(uint16_t)) != 0)
			list = pm_json_append(list, json_integer(p));
	return list;
}

json_t *table_mfts_json(const struct pm_mft_failure *failure, uint32_t sw)
{
	uint32_t before = pm_mfts_num_blocks(failure->before);
	uint32_t after = pm_mfts_num_blocks(failure->after);
	json_t *list = json_array();

	for (uint32_t b = 0; b < before || b < after; b++) {
		json_t *entries = entries_json(failure, sw, b);

		if (json_array_size(entries))
			list = pm_json_append(
				list, json_pack("{s:I, s:o, s:o}", "block", (json_int_t)b,
						"changed", changed_json(failure, sw, b),
						"entries", json_incref(entries)));
		json_decref(entries);
	}
	return json_pack("{s:I, s:o}", "positions",
			 (json_int_t)pm_mfts_num_positions(failure->before, sw), "blocks",
			 list);
}

static void print_ports(const json_t *list)
{
	const json_t *port;
	size_t i;

	json_array_foreach(list, i, port)
		printf(" %" JSON_INTEGER_FORMAT, json_integer_value(port));
	if (!json_array_size(list))
		fputs(" none", stdout);
}

static void print_entry(const json_t *entry)
{
	const json_t *before = json_object_get(entry, "before");
	const json_t *after = json_object_get(entry, "after");

	printf("0x%04x  ", (unsigned int)cli_json_number(entry, "mlid"));
	print_ports(before);
	if (!json_equal(before, after)) {
		fputs(" ->", stdout);
		print_ports(after);
	}
	putchar('\n');
}

void table_mfts_print(const json_t *object)
{
	const json_t *block, *entry;
	size_t b, i;

	if (!json_array_size(json_object_get(object, "blocks")))
		puts("no multicast entries");
	json_array_foreach(json_object_get(object, "blocks"), b, block) {
		cli_text_print(block, "MFT block {block}: ");
		printf("%zu of ", json_array_size(json_object_get(block, "changed")));
		cli_text_print(object, "{positions|position|positions} to be sent\n"
				       "MLID     ports\n");
		json_array_foreach(json_object_get(block, "entries"), i, entry)
			print_entry(entry);
	}
}
