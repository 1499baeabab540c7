/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Remembers tables of switches at drained links. */
#include "drained_tables.h"

#include <portmajor/base/alloc.h>
#include <portmajor/route/delta.h>

#include <string.h>

static struct drained_table *find_table(const struct drained_tables *tables, uint64_t key)
{
	for (uint32_t i = 0; i < tables->num; i++)
		if (tables->list[i].key == key)
			return &tables->list[i];
	return NULL;
}

/* Makes room for a table of this length; NULL without memory. */
static struct drained_table *make_table(struct drained_tables *tables, uint64_t key,
					uint32_t length)
{
	struct drained_table *own = find_table(tables, key);
	uint8_t *entries;

	if (own && own->length == length)
		return own;
	entries = malloc(length);
	if (!entries || (!own && pm_grow(&tables->list, &tables->room, tables->num + 1,
					 sizeof(*tables->list)))) {
		free(entries);
		return NULL;
	}
	if (!own)
		own = &tables->list[tables->num++];
	else
		free(own->entries);
	own->key = key;
	own->entries = entries;
	own->length = length;
	return own;
}

static void drop_table(struct drained_tables *tables, struct drained_table *own)
{
	free(own->entries);
	*own = tables->list[--tables->num];
}

static bool has_entry(uint8_t port)
{
	return port && port != OSM_NO_PATH;
}

void drained_tables_note(struct drained_tables *tables, uint64_t key, bool drained,
			 const uint8_t *table, const struct pm_installed *installed,
			 uint8_t *new_lft)
{
	uint32_t length = installed->length;
	struct drained_table *own = find_table(tables, key);

	if (!drained && own)
		drop_table(tables, own);
	if (!drained)
		return;
	for (uint32_t lid = 0; own && lid < length && lid < own->length; lid++)
		if (table[lid] == PM_LFT_KEEP && !has_entry(installed->table[lid]) &&
		    !has_entry(new_lft[lid]))
			new_lft[lid] = own->entries[lid];
	own = make_table(tables, key, length);
	if (own)
		memcpy(own->entries, new_lft, length);
}

void drained_tables_keep(struct drained_tables *tables, uint64_t key,
			 const uint8_t *table, uint32_t length)
{
	struct drained_table *own =
		find_table(tables, key) ? NULL : make_table(tables, key, length);

	if (own)
		memcpy(own->entries, table, length);
}

void drained_tables_forget(struct drained_tables *tables)
{
	for (uint32_t i = 0; i < tables->num; i++)
		free(tables->list[i].entries);
	free(tables->list);
	*tables = (struct drained_tables){.num = 0};
}
