/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes our tables to OpenSM's arrays, so that OpenSM sends the blocks that differ. */
#include "lft_records.h"

#include <portmajor/base/alloc.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Tries in a row to set a LinearFDBTop, as Sets may be lost on their way to the switch.
 */
#define TOP_TRIES 3

osm_switch_t *lft_records_switch(const osm_subn_t *subn, const struct pm_plan *plan,
				 uint32_t node)
{
	return osm_get_switch_by_guid(subn, cl_hton64(plan->topology->nodes[node].guid));
}

/* The key by which OpenSM's table of switches is ordered. */
static uint64_t key_of(const osm_switch_t *sw)
{
	return cl_qmap_key(&sw->map_item);
}

static uint32_t find_known(const struct pm_plan *plan, uint64_t key)
{
	return pm_fabric_find_guid(plan->topology, cl_ntoh64(key));
}

/* ---- Intact tables ---- */

static bool any_past_init(osm_node_t *node)
{
	for (unsigned int p = 1; p < osm_node_get_num_physp(node); p++) {
		osm_physp_t *physp = osm_node_get_physp_ptr(node, p);

		if (physp &&
		    ib_port_info_get_port_state(&physp->port_info) > IB_LINK_INIT)
			return true;
	}
	return false;
}

static bool is_intact(const struct pm_plan *plan, const osm_switch_t *sw, uint32_t at)
{
	osm_physp_t *port0 = osm_node_get_physp_ptr(sw->p_node, 0);
	uint32_t place = plan->topology->nodes[at].first_port;

	return sw->max_lid_ho && sw->switch_info.lin_top == cl_hton16(sw->max_lid_ho) &&
	       port0 && cl_ntoh16(osm_physp_get_base_lid(port0)) == plan->lid[place] &&
	       any_past_init(sw->p_node);
}

static bool is_blank(const osm_switch_t *sw)
{
	osm_physp_t *port0 = osm_node_get_physp_ptr(sw->p_node, 0);

	return port0 && !sw->switch_info.lin_top && !osm_physp_get_base_lid(port0) &&
	       !any_past_init(sw->p_node);
}

void lft_records_outdate(struct lft_records *records)
{
	records->num = 0;
}

static void forget_prepared(struct lft_records *records)
{
	for (uint32_t i = 0; i < records->num_prepared; i++)
		free(records->prepared[i].table);
	free(records->prepared);
	records->prepared = NULL;
	records->num_prepared = 0;
}

void lft_records_forget(struct lft_records *records)
{
	free(records->noted);
	free(records->lows.list);
	free(records->next.list);
	forget_prepared(records);
	drained_tables_forget(&records->drained);
	*records = (struct lft_records){0};
}

void lft_records_note_intact(struct lft_records *records, const osm_subn_t *subn,
			     const struct pm_plan *plan, bool drains)
{
	uint32_t num = (uint32_t)cl_qmap_count(&subn->sw_guid_tbl);

	lft_records_outdate(records);
	if (pm_grow(&records->noted, &records->room, num, sizeof(*records->noted)))
		return;
	FOR_EACH_SWITCH(sw, subn) {
		uint32_t node = find_known(plan, key_of(sw));

		records->noted[records->num++] = (struct lft_records_noted){
			.key = key_of(sw),
			.node = node,
			.length = sw->lft_size,
			.intact = node != PM_NONE && sw->p_node->discovery_count &&
				  is_intact(plan, sw, node),
			.blank = node != PM_NONE && sw->p_node->discovery_count &&
				 is_blank(sw),
		};
		if (drains && node != PM_NONE && !sw->p_node->discovery_count && sw->lft)
			drained_tables_keep(&records->drained, key_of(sw), sw->lft,
					    sw->lft_size);
	}
}

/* ---- Reading ---- */

const osm_dr_path_t *lft_records_route(const osm_switch_t *sw)
{
	osm_physp_t *port0 = osm_node_get_physp_ptr(sw->p_node, 0);

	return port0 ? osm_physp_get_dr_path_ptr(port0) : NULL;
}

void lft_records_installed(const osm_subn_t *subn, const struct pm_plan *plan,
			   bool discovered, struct pm_installed *installed)
{
	for (uint32_t i = 0; i < plan->topology->num_switches; i++) {
		const osm_switch_t *sw = lft_records_switch(subn, plan, i);
		uint32_t length =
			sw ? (sw->max_lid_ho / PM_LFT_BLOCK + 1u) * PM_LFT_BLOCK : 0;

		installed[i] = (struct pm_installed){NULL, 0};
		if (sw && sw->lft && (!discovered || sw->p_node->discovery_count))
			installed[i] = (struct pm_installed){
				sw->lft, length < sw->lft_size ? length : sw->lft_size};
	}
}

/* ---- Writing ---- */

/* The number of our table's entries that a switch's arrays have room for. */
static uint32_t common_length(const struct pm_routes *routes, const osm_switch_t *sw)
{
	uint32_t stride = pm_routes_stride(routes);

	return stride < sw->lft_size ? stride : sw->lft_size;
}

uint32_t lft_records_blocks(const struct pm_routes *routes, const osm_switch_t *sw)
{
	uint32_t blocks = common_length(routes, sw) / PM_LFT_BLOCK;
	uint32_t top = sw->max_lid_ho / PM_LFT_BLOCK + 1u;

	return blocks < top ? blocks : top;
}

void lft_records_wanted(const uint8_t *installed, const uint8_t *table, uint32_t length,
			uint8_t *wanted)
{
	pm_delta_apply(wanted, installed, table, length);
	for (uint32_t lid = 0; lid < length; lid++)
		if (table[lid] == PM_LFT_KEEP && wanted[lid] == 0)
			wanted[lid] = OSM_NO_PATH;
}

/* Removes stale entries from a table; they count as entries that differ. */
static void drop_stale(const osm_switch_t *sw, const struct pm_stale_entry *stale,
		       uint32_t num, struct pm_delta *delta)
{
	uint32_t last = UINT32_MAX;

	for (uint32_t i = 0; i < num && stale[i].lid < sw->lft_size; i++) {
		uint32_t block = stale[i].lid / PM_LFT_BLOCK;
		size_t at = (size_t)block * PM_LFT_BLOCK;

		if (sw->new_lft[stale[i].lid] == OSM_NO_PATH)
			continue;
		delta->blocks += block != last &&
				 !memcmp(sw->new_lft + at, sw->lft + at, PM_LFT_BLOCK);
		delta->entries++;
		last = block;
		sw->new_lft[stale[i].lid] = OSM_NO_PATH;
	}
	delta->least = (delta->entries + PM_LFT_BLOCK - 1) / PM_LFT_BLOCK;
	delta->switches = delta->blocks != 0;
}

/* ---- Prepared tables ---- */

/* One for each switch of the plan. -ENOMEM: none. */
static int make_prepared(struct lft_records *records, uint32_t num)
{
	if (records->num_prepared == num)
		return 0;
	forget_prepared(records);
	records->prepared = calloc(num, sizeof(*records->prepared));
	if (!records->prepared)
		return -ENOMEM;
	records->num_prepared = num;
	return 0;
}

/* Fills the beginning of an array of this length. */
static void fill(struct lft_records_prepared *prepared, uint32_t length,
		 const uint8_t *table, uint32_t filled)
{
	if (prepared->length != length) {
		free(prepared->table);
		prepared->table = malloc(length);
		prepared->length = prepared->table ? length : 0;
	}
	if (!prepared->length)
		return;
	memcpy(prepared->table, table, filled);
	prepared->filled = filled;
}

void lft_records_prepare(struct lft_records *records, const struct pm_routes *routes,
			 const struct pm_stale *stale)
{
	uint32_t stride = pm_routes_stride(routes);

	for (uint32_t i = 0; i < records->num_prepared; i++)
		records->prepared[i].filled = 0;
	if (!stale || !stale->equal ||
	    make_prepared(records, pm_routes_plan(routes)->topology->num_switches))
		return;
	for (uint32_t i = 0; i < records->num; i++) {
		const struct lft_records_noted *noted = &records->noted[i];

		if (noted->node < records->num_prepared && noted->length >= stride &&
		    stale->equal[noted->node])
			fill(&records->prepared[noted->node], noted->length,
			     pm_routes_table(routes, noted->node), stride);
	}
}

/* Exchanges new_lft for the prepared table, if there is one of its size. */
static bool take_prepared(struct lft_records *records, osm_switch_t *sw, uint32_t node)
{
	struct lft_records_prepared *prepared =
		node < records->num_prepared ? &records->prepared[node] : NULL;
	uint8_t *cleared = sw->new_lft;

	if (!prepared || !prepared->filled || prepared->length != sw->lft_size)
		return false;
	memcpy(prepared->table + prepared->filled, sw->lft + prepared->filled,
	       prepared->length - prepared->filled);
	sw->new_lft = prepared->table;
	prepared->table = cleared;
	prepared->filled = 0;
	return true;
}

/* ---- Differences ---- */

/* Whether a switch's record is known to be the wanted table. */
static bool is_equal(const struct pm_stale *stale, const osm_switch_t *sw, uint32_t node)
{
	return stale->equal && sw->lft && stale->equal[node] == sw->lft;
}

/*
 * Few tables differ from OpenSM's record, and in few blocks. Returns whether new_lft, the
 * record and the table are equal.
 */
static bool write_table(struct lft_records *records, const struct pm_routes *routes,
			const struct pm_stale *stale, osm_switch_t *sw, uint32_t node,
			struct pm_delta *total)
{
	const uint8_t *table = pm_routes_table(routes, node);
	uint32_t length = common_length(routes, sw), num;
	const struct pm_stale_entry *entries = pm_stale_of(stale, node, &num);
	struct pm_delta own = {0};

	if (!num && is_equal(stale, sw, node) && take_prepared(records, sw, node))
		return true;
	memcpy(sw->new_lft, sw->lft, sw->lft_size);
	if (!num && (is_equal(stale, sw, node) || !memcmp(sw->lft, table, length)))
		return true;
	pm_delta_add(&own, sw->lft, table, length);
	for (uint32_t at = 0; at < length; at += PM_LFT_BLOCK)
		if (memcmp(sw->lft + at, table + at, PM_LFT_BLOCK) != 0)
			lft_records_wanted(sw->lft + at, table + at, PM_LFT_BLOCK,
					   sw->new_lft + at);
	if (num)
		drop_stale(sw, entries, num, &own);
	total->blocks += own.blocks;
	total->entries += own.entries;
	total->least += own.least;
	total->switches += own.switches;
	return false;
}

/* ---- Gaps ---- */

/* A longer path counts as a loop. */
#define MOST_HOPS 64

/* All tables with their gaps filled. */
struct gaps {
	struct pm_stale_input input; /* OpenSM's record is installed */
	const struct pm_stale *stale;
};

/* Whether a switch has no entry that the table leaves open, and lost none as stale. */
static bool is_gap(const struct gaps *gaps, uint32_t node, uint32_t lid)
{
	uint8_t record = pm_installed_entry(&gaps->input.installed[node], lid);

	return pm_routes_table(gaps->input.routes, node)[lid] == PM_LFT_KEEP &&
	       (!record || record == OSM_NO_PATH);
}

static uint8_t filled_entry(const struct gaps *gaps, uint32_t node, uint32_t lid)
{
	return is_gap(gaps, node, lid)
		       ? pm_routes_preferred(gaps->input.routes, node)[lid]
		       : pm_stale_entry(&gaps->input, gaps->stale, node, lid);
}

/* Whether packets for a LID come back to this switch. */
static bool comes_back(const struct gaps *gaps, uint32_t node, uint32_t lid)
{
	uint32_t at = node;

	for (uint32_t hops = 0; hops < MOST_HOPS; hops++) {
		at = pm_stale_next(&gaps->input, at, filled_entry(gaps, at, lid));
		if (at == PM_NONE)
			return false;
		if (at == node)
			return true;
	}
	return true;
}

/* Lists the gaps of a switch that are to stay. -ENOMEM. */
static int list_gaps(const struct gaps *gaps, uint32_t node, struct pm_stale *open)
{
	for (uint32_t lid = 0; lid < gaps->input.installed[node].length; lid++)
		if (is_gap(gaps, node, lid) && comes_back(gaps, node, lid) &&
		    pm_stale_add(open, node, lid))
			return -ENOMEM;
	return 0;
}

/*
 * Preferred entries alone close no loop: their path ends at its place, or at the first
 * switch with an entry of the tables, and from there on all have entries. But an
 * entry that another switch keeps may lead back: lists gaps that stay, as packets would
 * come back. -ENOMEM. O(size of the tables), and O(hops) for each gap.
 */
static int find_open(const osm_subn_t *subn, struct gaps *gaps, struct pm_stale *open)
{
	const struct pm_routes *routes = gaps->input.routes;
	const struct pm_plan *plan = pm_routes_plan(routes);
	uint32_t num = plan->topology->num_switches;
	struct pm_installed *installed = calloc(num + 1u, sizeof(*installed));
	int rc = installed ? 0 : -ENOMEM;

	gaps->input.installed = installed;
	FOR_EACH_SWITCH(sw, subn) {
		uint32_t node = find_known(plan, key_of(sw));

		if (!rc && node != PM_NONE)
			installed[node] =
				(struct pm_installed){sw->lft, common_length(routes, sw)};
	}
	for (uint32_t node = 0; node < num && !rc; node++)
		rc = list_gaps(gaps, node, open);
	free(installed);
	return rc;
}

/*
 * Gives a switch that has no entries yet the preferred ones over links that are up, where
 * the tables leave them open; an entry that was just removed as stale stays removed.
 */
static void fill_gaps(const struct pm_routes *routes, const uint8_t *up,
		      const struct pm_stale *open, const osm_switch_t *sw, uint32_t node)
{
	const uint8_t *table = pm_routes_table(routes, node);
	const uint8_t *preferred = pm_routes_preferred(routes, node);
	uint32_t first = pm_routes_plan(routes)->topology->nodes[node].first_port;
	uint32_t length = common_length(routes, sw), num;
	const struct pm_stale_entry *stays = pm_stale_of(open, node, &num);

	for (uint32_t lid = 0; lid < length; lid++) {
		if (num && stays->lid == lid)
			stays++, num--;
		else if (table[lid] == PM_LFT_KEEP && sw->new_lft[lid] == OSM_NO_PATH &&
			 (sw->lft[lid] == OSM_NO_PATH || !sw->lft[lid]) &&
			 preferred[lid] != PM_LFT_KEEP && up[first + preferred[lid]])
			sw->new_lft[lid] = preferred[lid];
	}
}

/* ---- What OpenSM sends ---- */

/* Whether OpenSM's record has the wanted block. */
static bool is_recorded(const osm_switch_t *sw, uint32_t block)
{
	size_t at = (size_t)block * PM_LFT_BLOCK;

	return !memcmp(sw->lft + at, sw->new_lft + at, PM_LFT_BLOCK);
}

/*
 * Counts the blocks that OpenSM will send to this switch, given the marks. equal: new_lft
 * is the record.
 */
static void count_sent(const osm_subn_t *subn, const osm_switch_t *sw, bool equal,
		       struct lft_records_written *written)
{
	bool all = sw->need_update || subn->need_update;
	uint32_t blocks = 0;

	if (all)
		blocks = written->max_block;
	else if (!equal && memcmp(sw->lft, sw->new_lft,
				  (size_t)written->max_block * PM_LFT_BLOCK) != 0)
		for (uint32_t b = 0; b < written->max_block; b++)
			blocks += !is_recorded(sw, b);
	written->sent += blocks;
	written->full += written->max_block;
	written->switches += blocks != 0;
	written->whole += all;
}

uint32_t lft_records_most_blocks(const osm_subn_t *subn)
{
	uint32_t most = 0;

	FOR_EACH_SWITCH(sw, subn)
		if (most < sw->max_lid_ho / PM_LFT_BLOCK + 1u)
			most = sw->max_lid_ho / PM_LFT_BLOCK + 1u;
	return most;
}

/* The note of a switch, or NULL; the search begins at *at. */
static const struct lft_records_noted *find_noted(const struct lft_records *records,
						  uint32_t *at, uint64_t key)
{
	while (*at < records->num && records->noted[*at].key < key)
		(*at)++;
	return *at < records->num && records->noted[*at].key == key ? &records->noted[*at]
								    : NULL;
}

/* A switch's index in the plan, which may have changed since it was noted. */
static uint32_t known_now(const struct pm_plan *plan,
			  const struct lft_records_noted *noted, uint64_t key)
{
	const struct pm_fabric *topology = plan->topology;

	if (noted && noted->node < topology->num_switches &&
	    topology->nodes[noted->node].guid == cl_ntoh64(key))
		return noted->node;
	return find_known(plan, key);
}

/*
 * A switch that refuses blocks for lack of room must get all else: a LinearFDBTop that it
 * accepts, and the blocks that fit. Blocks beyond are made to look as if the switch had
 * them. The mark, which is for the whole table, is replaced by a zeroed record, as OpenSM
 * itself zeroes it: so blocks are sent because they differ.
 */
static void keep_to_room(osm_switch_t *sw)
{
	uint16_t room = cl_ntoh16(sw->switch_info.lin_cap);
	size_t end = ((size_t)room + PM_LFT_BLOCK - 1) / PM_LFT_BLOCK * PM_LFT_BLOCK;

	if (!room || room > sw->max_lid_ho)
		return;
	sw->max_lid_ho = (uint16_t)(room - 1);
	if (end < sw->lft_size)
		memcpy(sw->new_lft + end, sw->lft + end, sw->lft_size - end);
	if (sw->need_update)
		memset(sw->lft, 0, end < sw->lft_size ? end : sw->lft_size);
	sw->need_update = 0;
}

/*
 * Makes blocks of which our Sets are out look as if the switch had the wanted ones, so
 * that OpenSM does not send them. With a mark for the whole table OpenSM would send them
 * all the same; so the mark is replaced by a zeroed record, and the others are sent as
 * they differ.
 */
static void withhold(osm_switch_t *sw, const struct lft_records_withheld *withheld)
{
	if (withheld->all && !sw->need_update)
		memcpy(sw->new_lft, sw->lft, sw->lft_size);
	for (uint32_t i = 0; i < withheld->num; i++) {
		size_t at = (size_t)withheld->blocks[i].number * PM_LFT_BLOCK;

		if (withheld->blocks[i].guid != key_of(sw) ||
		    at + PM_LFT_BLOCK > sw->lft_size)
			continue;
		if (sw->need_update)
			memset(sw->lft, 0, sw->lft_size);
		sw->need_update = 0;
		memcpy(sw->new_lft + at, sw->lft + at, PM_LFT_BLOCK);
	}
}

/*
 * OpenSM's tables end with the highest LID that any port has ever reported, which may be
 * far above the plan. No LID there is in use: LinearFDBTop and the blocks that OpenSM
 * compares end with the plan.
 */
static void end_with_plan(osm_switch_t *sw, const struct pm_plan *plan)
{
	if (sw->max_lid_ho > plan->top_lid)
		sw->max_lid_ho = plan->top_lid;
}

static void begin_writing(osm_subn_t *subn, const struct pm_plan *plan,
			  const struct lft_records_withheld *withheld,
			  struct lft_records_written *written)
{
	FOR_EACH_SWITCH(sw, subn)
		end_with_plan(sw, plan);
	*written =
		(struct lft_records_written){.max_block = lft_records_most_blocks(subn),
					     .withheld = withheld->num + withheld->all,
					     .equal = true};
}

static void forget_above(osm_switch_t *sw, uint16_t top)
{
	size_t from = ((size_t)top + 1) / PM_LFT_BLOCK * PM_LFT_BLOCK;
	size_t end = ((size_t)sw->max_lid_ho / PM_LFT_BLOCK + 1) * PM_LFT_BLOCK;

	if (from < end)
		memset(sw->lft + from, 0, end - from);
}

/* The note of a switch from the last writing, or NULL; the search begins at *at. */
static const struct lft_records_low *find_low(const struct lft_records_lows *lows,
					      uint32_t *at, uint64_t key)
{
	while (*at < lows->num && lows->list[*at].key < key)
		(*at)++;
	return *at < lows->num && lows->list[*at].key == key ? &lows->list[*at] : NULL;
}

/* Without memory there is no note, and the blocks above the top are sent once more. */
static void note_low(struct lft_records_lows *lows, const struct lft_records_low *low)
{
	if (!pm_grow(&lows->list, &lows->room, lows->num + 1, sizeof(*lows->list)))
		lows->list[lows->num++] = *low;
}

/*
 * When LinearFDBTop rises, a switch's entries above the old one are unknown: its table
 * may have had no room for them. As long as it does not rise, sending them again is
 * useless after a few tries; once it has risen, they are sent again. *equal becomes false
 * where new_lft may differ from the record then.
 */
static void forget_above_top(struct lft_records *records, uint32_t *at, osm_switch_t *sw,
			     bool *equal)
{
	struct lft_records_low now = {key_of(sw), cl_ntoh16(sw->switch_info.lin_top),
				      sw->max_lid_ho, 1};
	const struct lft_records_low *before = find_low(&records->lows, at, now.key);
	bool gave_up = before && before->times == TOP_TRIES;
	bool same = before && before->top == now.top && before->wanted == now.wanted;

	if (gave_up && !same)
		forget_above(sw, before->top);
	*equal &= now.top >= now.wanted && !gave_up;
	if (now.top >= now.wanted)
		return;
	if (same)
		now.times = (uint8_t)(before->times + !gave_up);
	if (!same || !gave_up)
		forget_above(sw, now.top);
	note_low(&records->next, &now);
}

/* The present notes become the last ones. */
static void keep_lows(struct lft_records *records)
{
	struct lft_records_lows before = records->lows;

	records->lows = records->next;
	records->next = before;
	records->next.num = 0;
}

/* Whether a port of a switch is marked. */
static bool is_marked(const struct pm_fabric *topology, uint32_t node,
		      const uint8_t *marks)
{
	pm_for_each_port(i, topology, node)
		if (marks[i])
			return true;
	return false;
}

/* See drained_tables.h. Returns whether the switch has a drained link. */
static bool note_drained(struct lft_records *records, const struct pm_routes *routes,
			 const uint8_t *excluded, const osm_switch_t *sw, uint32_t node)
{
	const struct pm_installed installed = {sw->lft, common_length(routes, sw)};
	bool drained = is_marked(pm_routes_plan(routes)->topology, node, excluded);

	drained_tables_note(&records->drained, key_of(sw), drained,
			    pm_routes_table(routes, node), &installed, sw->new_lft);
	return drained;
}

void lft_records_write(struct lft_records *records, osm_subn_t *subn,
		       const struct pm_plan *plan, const struct pm_routes *routes,
		       const struct pm_stale *stale,
		       const struct lft_records_drains *drains,
		       const struct lft_records_withheld *withheld,
		       struct lft_records_written *written)
{
	struct gaps gaps = {{.routes = routes, .up = drains->up}, stale};
	struct pm_stale open = {.num = 0};
	bool fill = subn->need_update && drains->up && !find_open(subn, &gaps, &open);
	uint32_t at = 0, low_at = 0;

	if (fill) /* old entries may lead back to filled ones */
		drained_tables_forget(&records->drained);
	begin_writing(subn, plan, withheld, written);
	FOR_EACH_SWITCH(sw, subn) {
		const struct lft_records_noted *noted =
			find_noted(records, &at, key_of(sw));
		uint32_t node = known_now(plan, noted, key_of(sw));
		bool equal = false, wanted = true;

		if (sw->need_update == 1 && noted && noted->intact)
			sw->need_update = 0;
		if (node == PM_NONE) {
			memcpy(sw->new_lft, sw->lft, sw->lft_size);
		} else {
			equal = write_table(records, routes, stale, sw, node,
					    &written->delta) &&
				!sw->need_update;
			if (fill)
				fill_gaps(routes, drains->up, &open, sw, node);
			equal &= !note_drained(records, routes, drains->excluded, sw,
					       node);
			wanted = equal;
		}
		keep_to_room(sw);
		forget_above_top(records, &low_at, sw, &equal);
		withhold(sw, withheld);
		count_sent(subn, sw, equal, written);
		written->equal &= wanted;
	}
	pm_stale_free(&open);
	written->equal &= !written->sent && !written->withheld;
	keep_lows(records);
	lft_records_outdate(records);
}

static bool is_among(const struct lft_records_withheld *blocks, const osm_switch_t *sw,
		     uint32_t block)
{
	for (uint32_t i = 0; i < blocks->num; i++)
		if (blocks->blocks[i].guid == key_of(sw) &&
		    blocks->blocks[i].number == block)
			return true;
	return false;
}

bool lft_records_is_zeroed(const osm_switch_t *sw, uint32_t block)
{
	static const uint8_t zeroed[PM_LFT_BLOCK];
	size_t at = (size_t)block * PM_LFT_BLOCK;

	return sw->lft && at + PM_LFT_BLOCK <= sw->lft_size &&
	       !memcmp(sw->lft + at, zeroed, PM_LFT_BLOCK);
}

/*
 * Whether a block is missing: one that timed out is zeroed. A withheld block differs,
 * too, once an earlier Set of it has been answered.
 */
static bool is_missing(const osm_switch_t *sw, uint32_t block)
{
	return !is_recorded(sw, block) && lft_records_is_zeroed(sw, block);
}

uint64_t lft_records_missing(const osm_subn_t *subn,
			     const struct lft_records_written *written,
			     const struct lft_records_withheld *ours)
{
	uint64_t missing = 0;

	FOR_EACH_SWITCH(sw, subn)
		for (uint32_t b = 0; sw->lft && sw->new_lft && b < written->max_block &&
				     (b + 1) * PM_LFT_BLOCK <= sw->lft_size;
		     b++)
			missing += is_missing(sw, b) && !is_among(ours, sw, b);
	return missing;
}
