/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Judges tables over a topology, step by step, and collects findings. */
#include "judge_parts.h"

#include <portmajor/base/alloc.h>
#include <portmajor/base/pool.h>
#include <portmajor/fabric/link.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- Levels and the subnet manager ---- */

/* Takes levels from a tree; whether it has all switches with links. */
static bool take_levels(struct judge *j, const struct pm_fabric *topology,
			const struct pm_tree *tree)
{
	bool all = true;

	for (uint32_t i = 0; i < j->fabric->num_switches; i++) {
		uint32_t sw = pm_fabric_find_guid(topology, j->fabric->nodes[i].guid);

		j->level[i] = sw == PM_NONE ? PM_NO_LEVEL : tree->level[sw];
		all &= sw != PM_NONE || !pm_fabric_has_link(j->fabric, i);
	}
	return all;
}

/* Takes the levels that the end ports suggest, where there is no plan. */
static int guess_levels(struct judge *j, struct pm_error *err)
{
	const struct pm_fabric *whole = j->config->whole ? j->config->whole : j->fabric;
	struct pm_fabric *skeleton = pm_fabric_skeleton(whole);
	struct pm_tree tree = {0};
	int rc = skeleton ? pm_tree_make(skeleton, &tree, err) : pm_error_no_memory(err);

	if (!rc)
		take_levels(j, skeleton, &tree);
	pm_tree_free(&tree);
	pm_fabric_free(skeleton);
	return rc;
}

/* Finds the switches' levels in the whole fabric: those of the plan, if there is one. */
static int find_levels(struct judge *j, struct pm_error *err)
{
	const struct pm_plan *given = j->config->plan;
	int rc;

	if (given && take_levels(j, given->topology, &given->tree))
		return 0;
	rc = judge_make_plan(j, err);
	if (rc)
		return rc;
	if (!j->made)
		return guess_levels(j, err);
	take_levels(j, j->made->topology, &j->made->tree);
	return 0;
}

/* Finds the subnet manager's port: the named one, or that with the SM LID of the file. */
static void find_sm(struct judge *j)
{
	uint32_t lid = j->lfts->sm_lid;

	j->sm = j->config->sm;
	for (uint32_t i = 0; lid && i < j->fabric->num_ports; i++) {
		const struct pm_port *p = &j->fabric->ports[i];

		if (j->sm == PM_NONE && p->lid && lid >= p->lid &&
		    lid < p->lid + (1u << p->lmc))
			j->sm = i;
	}
}

/* ---- The tables' switches ---- */

/*
 * Takes the tables of switches in the fabric. Counts the others in *unknown, and returns
 * the first of these, or NULL.
 */
static const struct pm_lft_switch *take_tables(struct judge *j, uint32_t *unknown)
{
	const struct pm_lft_switch *first = NULL;

	for (uint32_t i = 0; i < j->lfts->num_switches; i++) {
		const struct pm_lft_switch *table = &j->lfts->switches[i];
		uint32_t sw = pm_fabric_find_guid(j->fabric, table->guid);

		if (sw < j->fabric->num_switches) {
			j->table[sw] = table->table;
			j->top[sw] = table->top;
			j->found.tables++;
		} else if (!(*unknown)++) {
			first = table;
		}
	}
	return first;
}

/* Finds tables of switches that the fabric lacks, and switches without a table. */
static int match_tables(struct judge *j, struct pm_error *err)
{
	uint32_t unknown = 0, missing = 0, first_missing = 0;
	const struct pm_lft_switch *first = take_tables(j, &unknown);

	if (!j->found.tables)
		return pm_error_set(
			err, -EINVAL,
			"%s:%" PRIu32
			": tables of another fabric: no switch of %s has any of them",
			j->config->tables, first->line, j->config->topology);
	for (uint32_t sw = 0; sw < j->fabric->num_switches; sw++)
		if (!j->table[sw] && pm_fabric_has_link(j->fabric, sw) && !missing++)
			first_missing = sw;
	if (first)
		judge_find(j, PM_FOUND_UNKNOWN_SWITCH, unknown,
			   "%u %s that the topology does not have: 0x%016" PRIx64
			   " (\"%s\") on line %u of %s",
			   unknown,
			   unknown == 1 ? "table is of a switch"
					: "tables are of switches",
			   first->guid, first->name, first->line, j->config->tables);
	judge_find(j, PM_FOUND_NO_TABLE, missing, "%u %s no table: \"%s\"", missing,
		   missing == 1 ? "switch has" : "switches have",
		   pm_fabric_label(j->fabric, first_missing));
	return 0;
}

/* ---- LIDs ---- */

/* Whether a port should have a LID. */
static bool wants_lid(const struct pm_fabric *fabric, const struct pm_port *p)
{
	if (p->node < fabric->num_switches)
		return !p->num && pm_fabric_has_link(fabric, p->node);
	return p->peer != PM_NONE;
}

static int compare_lids(const void *a, const void *b)
{
	const uint16_t *x = a, *y = b;

	return *x - *y;
}

static void find_duplicates(struct judge *j, uint16_t *lids, uint32_t count)
{
	uint32_t twice = 0, first = 0;

	qsort(lids, count, sizeof(*lids), compare_lids);
	for (uint32_t i = 1; i < count; i++)
		if (lids[i] == lids[i - 1] && !twice++)
			first = lids[i];
	judge_find(j, PM_FOUND_DUPLICATE_LID, twice, "%u %s the LID of another one: %u",
		   twice, twice == 1 ? "port has" : "ports have", first);
}

/* Counts LIDs with two owners, and ports without a LID. */
static int count_lids(struct judge *j, struct pm_error *err)
{
	const struct pm_fabric *fabric = j->fabric;
	uint16_t *lids = pm_array(fabric->num_ports, sizeof(*lids));
	uint32_t count = 0, without = 0, first_without = 0;

	if (!lids)
		return pm_error_no_memory(err);
	for (uint32_t i = 0; i < fabric->num_ports; i++) {
		const struct pm_port *p = &fabric->ports[i];

		j->found.end_ports +=
			p->node >= fabric->num_switches && p->peer != PM_NONE;
		if (!p->lid && wants_lid(fabric, p) && !without++)
			first_without = i;
		if (!p->lid)
			continue;
		lids[count++] = p->lid;
		for (uint32_t k = 0; i != j->found.left_out && k < 1u << p->lmc; k++)
			pm_bits_set(j->in_use, (p->lid + k) & UINT16_MAX);
	}
	j->found.ports_with_lid = count;
	judge_find(j, PM_FOUND_NO_LID, without, "%u %s no LID: \"%s\"[%u]", without,
		   without == 1 ? "port with a cable has" : "ports with a cable have",
		   pm_fabric_label(fabric, fabric->ports[first_without].node),
		   fabric->ports[first_without].num);
	find_duplicates(j, lids, count);
	free(lids);
	return 0;
}

static int take_lids(struct judge *j, struct pm_error *err)
{
	const struct pm_lft_owner *owner = j->lfts->owner;
	struct pm_lft_lids lids;
	int rc = pm_lfts_give_lids(j->lfts, j->fabric, &lids, err);

	if (!rc) {
		j->found.left_out = lids.left_out;
		rc = count_lids(j, err);
	}
	if (rc)
		return rc;
	if (!j->found.ports_with_lid)
		return pm_error_set(err, -EINVAL,
				    "no LIDs: neither %s nor %s has the ports' LIDs "
				    "(dump_fts without -n and ibnetdiscover write them)",
				    j->config->topology, j->config->tables);
	if (lids.first_differ != PM_NONE)
		judge_find(
			j, PM_FOUND_OTHER_LID, lids.differ,
			"%u %s another LID in the tables' file than in the topology: \"%s\" (%u)",
			lids.differ, lids.differ == 1 ? "port has" : "ports have",
			pm_fabric_label(j->fabric,
					j->fabric->ports[lids.first_differ].node),
			j->fabric->ports[lids.first_differ].lid);
	judge_find(j, PM_FOUND_UNKNOWN_PORT, lids.unknown,
		   "%u %s not in the topology: 0x%016" PRIx64
		   " with LID %u, on line %u of %s",
		   lids.unknown,
		   lids.unknown == 1 ? "port in the tables' file is"
				     : "ports in the tables' file are",
		   owner[lids.first_unknown].guid, lids.first_unknown,
		   owner[lids.first_unknown].line, j->config->tables);
	return 0;
}

/* ---- Entries ---- */

/* Finds LIDs that have entries and no owner: those of empty places, or unknown ones. */
static int find_unassigned(struct judge *j, struct pm_error *err)
{
	uint32_t of_somebody = 0;

	for (uint32_t sw = 0; sw < j->fabric->num_switches; sw++)
		for (uint32_t lid = 1; j->table[sw] && lid <= j->top[sw]; lid++) {
			bool in_use = pm_bits_test(j->in_use, lid);

			if (j->table[sw][lid] == PM_LFT_KEEP ||
			    pm_bits_test(j->has_entry, lid))
				continue;
			pm_bits_set(j->has_entry, lid);
			of_somebody += in_use;
			if (in_use || j->found.unassigned++)
				continue;
			j->found.first_unassigned = lid;
			j->found.at = sw;
		}
	if (!of_somebody)
		return pm_error_set(
			err, -EINVAL,
			"%s: tables of another fabric: no port in %s has any of their LIDs",
			j->config->tables, j->config->topology);
	return 0;
}

/* Finds entries that name a port beyond the switch's ports. */
static void find_bad_ports(struct judge *j)
{
	uint64_t count = 0;
	uint32_t first = 0, first_lid = 0;

	for (uint32_t sw = 0; sw < j->fabric->num_switches; sw++)
		for (uint32_t lid = 0; j->table[sw] && lid <= j->top[sw]; lid++) {
			uint8_t port = j->table[sw][lid];

			if (port == PM_LFT_KEEP || port <= j->fabric->nodes[sw].num_ports)
				continue;
			if (!count++) {
				first = sw;
				first_lid = lid;
			}
		}
	if (count)
		judge_find(j, PM_FOUND_NO_SUCH_PORT, count,
			   "%" PRIu64 " %s a port that the switch does not have: port %u "
			   "for LID %u on \"%s\"",
			   count, count == 1 ? "entry names" : "entries name",
			   j->table[first][first_lid], first_lid,
			   pm_fabric_label(j->fabric, first));
}

/* ---- Walks ---- */

static void judge_paths(struct judge *j)
{
	const struct pm_check_paths *p = &j->found.paths;
	/* Engines leave pairs of aggregation nodes out; with connect_roots none does. */
	uint64_t left_out = j->config->connect_roots ? 0 : p->aggregation;
	const struct {
		const char *one, *many;
		uint64_t count;
	} rows[PM_FAULTS] = {
		[PM_FAULT_LOST] = {"path ends nowhere though there is a path",
				   "paths end nowhere though there is a path", p->lost},
		[PM_FAULT_LOOP] = {"path ends in a loop", "paths end in a loop",
				   p->loops},
		[PM_FAULT_TURN] = {"path turns up after going down",
				   "paths turn up after going down", p->turns},
		[PM_FAULT_MISROUTED] = {"path ends at another port",
					"paths end at another port", p->misrouted},
		[PM_FAULT_UNREACHABLE] =
			{"path to an end port does not arrive, for which there "
			 "is no path up and then down",
			 "paths to end ports do not arrive, for which there "
			 "is no path up and then down",
			 p->unreachable - left_out},
		[PM_FAULT_SM_UNREACHABLE] = {"path to the subnet manager does not arrive",
					     "paths to the subnet manager do not arrive",
					     p->sm_unreachable},
	};

	for (unsigned int i = 0; i < PM_FAULTS; i++) {
		const char *example = p->example[i].text;

		if (i == PM_FAULT_UNREACHABLE && !*example)
			example = p->left_out.text;
		judge_find(j, PM_FOUND_LOST + i, rows[i].count, "%" PRIu64 " %s (%s)",
			   rows[i].count, rows[i].count == 1 ? rows[i].one : rows[i].many,
			   example);
	}
}

/* Lists the switches of a loop, "leaf0", "spine1" and so on, as far as there is room. */
static void judge_loops(struct judge *j)
{
	const struct pm_check_loops *l = &j->found.loops;
	char text[PM_FINDING_TEXT / 2] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < l->length && i < PM_CHECK_LOOP && used < sizeof(text);
	     i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\"%s\"",
					 i ? ", " : "",
					 pm_fabric_name(j->fabric, l->loop[i]));
	judge_find(j, PM_FOUND_LOOPS, l->lids, "loops: %u %s, LID %u over %s%s", l->lids,
		   l->lids == 1 ? "LID" : "LIDs", l->lid, text,
		   l->length > PM_CHECK_LOOP ? ", .." : "");
}

/* Lists the ports of a credit loop, "leaf0"[7] and so on, as far as there is room. */
static void judge_credits(struct judge *j)
{
	const struct pm_check_credits *c = &j->found.credits;
	char text[PM_FINDING_TEXT / 2] = "";
	size_t used = 0;

	for (uint32_t i = 0;
	     i < c->length && i < PM_CHECK_CREDIT_LOOP && used < sizeof(text); i++) {
		const struct pm_port *p = &j->fabric->ports[c->credit_loop[i]];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\"%s\"[%u]",
					 i ? ", " : "",
					 pm_fabric_label(j->fabric, p->node), p->num);
	}
	judge_find(j, PM_FOUND_CREDIT_LOOP, c->length,
		   "a credit loop%s over %u cables: %s%s",
		   c->multicast ? " of unicast and multicast together" : "", c->length,
		   text, c->length > PM_CHECK_CREDIT_LOOP ? ", .." : "");
}

static void judge_mfts(struct judge *j)
{
	static const struct {
		const char *one, *many;
	} rows[PM_MFT_FAULTS] = {
		[PM_MFT_LOOP] = {"multicast group has packets that loop",
				 "multicast groups have packets that loop"},
		[PM_MFT_TWICE] =
			{"switch gets a second copy of multicast packets",
			 "times a switch gets a second copy of multicast packets"},
		[PM_MFT_MISSED] =
			{"pair of members of a multicast group is not connected",
			 "pairs of members of multicast groups are not connected"},
		[PM_MFT_STRANGER] =
			{"port gets packets of a multicast group that it is not in",
			 "ports get packets of multicast groups that they are not in"},
		[PM_MFT_NOWHERE] = {"multicast entry has a port that leads nowhere",
				    "multicast entries have ports that lead nowhere"},
	};
	const struct pm_check_mfts *mfts = &j->found.mfts;

	for (unsigned int i = 0; i < PM_MFT_FAULTS; i++)
		judge_find(j, PM_FOUND_MFT_LOOP + i, mfts->count[i],
			   "%" PRIu64 " %s (%s)", mfts->count[i],
			   mfts->count[i] == 1 ? rows[i].one : rows[i].many,
			   mfts->example[i].text);
}

static void judge_load(struct judge *j, const struct pm_check_load *load,
		       const char *direction, unsigned int level)
{
	double limit = j->config->balance, ratio = pm_check_load_ratio(load);

	if (load->links && limit > 0 && ratio > limit)
		judge_find(j, PM_FOUND_BALANCE, 1,
			   "a cable %s between levels %u and %u carries %.2f times the "
			   "mean, more than %.2f",
			   direction, level, level + 1, ratio, limit);
}

static int walk_all(struct judge *j, struct pm_error *err)
{
	const struct pm_check check = {j->fabric,      j->level,
				       j->table,       j->top,
				       j->sm,	       pm_link_common_rate(j->fabric),
				       j->config->mfts};
	struct pm_judgement *found = &j->found;
	int rc = pm_check_paths(&check, j->config->from_all, &found->paths, err);

	if (!rc)
		rc = pm_check_pairs(&check, &found->host_pairs, err);
	if (!rc)
		rc = pm_check_loops(&check, &found->loops, err);
	if (!rc)
		rc = pm_check_credits(&check, &found->credits, err);
	if (!rc)
		rc = pm_check_loads(&check, &found->loads, err);
	if (!rc && j->config->mfts)
		rc = pm_check_mfts(j->fabric, j->config->mfts, j->config->groups,
				   j->config->num_groups, &found->mfts, err);
	if (!rc && j->config->shifts)
		rc = pm_check_shifts(&check, j->config->shifts, &found->shift, err);
	if (rc)
		return rc;
	judge_paths(j);
	judge_loops(j);
	judge_credits(j);
	judge_mfts(j);
	for (unsigned int l = 0; l < PM_CHECK_LEVELS; l++) {
		judge_load(j, &found->loads.up[l], "up", l);
		judge_load(j, &found->loads.down[l], "down", l);
	}
	return 0;
}

/* Follows paths to all LIDs but the one that the file leaves out. */
static int walk(struct judge *j, struct pm_error *err)
{
	uint32_t left_out = j->found.left_out;
	uint16_t lid;
	int rc;

	if (left_out == PM_NONE)
		return walk_all(j, err);
	lid = j->fabric->ports[left_out].lid;
	j->fabric->ports[left_out].lid = 0;
	rc = walk_all(j, err);
	j->fabric->ports[left_out].lid = lid;
	return rc;
}

/* ---- All of it ---- */

static int judge_all(struct judge *j, struct pm_error *err)
{
	int rc = match_tables(j, err);

	if (!rc)
		rc = take_lids(j, err);
	if (!rc)
		rc = find_levels(j, err);
	if (!rc)
		rc = find_unassigned(j, err);
	if (rc)
		return rc;
	find_bad_ports(j);
	find_sm(j);
	rc = walk(j, err);
	return rc ? rc : judge_plan(j, err);
}

int pm_judge(struct pm_fabric *fabric, const struct pm_lfts *lfts,
	     const struct pm_judge_config *config, struct pm_judgement *judgement,
	     struct pm_error *err)
{
	struct pm_pool pool = {0};
	struct judge *j = pm_pool_array(&pool, 1, sizeof(*j));
	const uint8_t **table =
		pm_pool_array(&pool, fabric->num_switches, sizeof(*table));
	uint16_t *top = pm_pool_array(&pool, fabric->num_switches, sizeof(*top));
	uint8_t *level = pm_pool_array(&pool, fabric->num_switches, sizeof(*level));
	int rc = pm_pool_check(&pool, err);

	if (!rc) {
		j->fabric = fabric;
		j->lfts = lfts;
		j->config = config;
		j->table = table;
		j->top = top;
		j->level = level;
		rc = judge_all(j, err);
		pm_plan_free(j->made);
	}
	if (!rc)
		*judgement = j->found;
	pm_pool_free(&pool);
	return rc;
}
