/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recipe.h"
#include "world.h"
#include "unit.h"

#include <portmajor/check/judge.h>

#include <ctype.h>

/* Three leaves with two hosts each below two spines; the tables are those of a plan. */
#define DRAWING                                                                          \
	"l0/6 l1/6 l2/6 s0/3 s1/3 l0:1=a l0:2=b l1:1=c l1:2=d l2:1=e l2:2=f "            \
	"l0:3=s0:1 l0:4=s1:1 l1:3=s0:2 l1:4=s1:2 l2:3=s0:3 l2:4=s1:3"

/* The drawing, and tables for it that tests damage. */
struct bench {
	struct world world;
	struct pm_lfts *lfts;
	struct pm_judge_config config;
	struct pm_judgement found;
	struct pm_error err;
};

static void set_up_with(struct bench *b, const char *drawing,
			const struct pm_plan_config *config)
{
	*b = (struct bench){.config = {.topology = "NET",
				       .tables = "LFTS",
				       .sm = PM_NONE,
				       .lmc_of_ports = true}};
	world_make_with(&b->world, recipe_draw(drawing), config);
	assert_int_equal(pm_lfts_of_plan(b->world.plan, b->world.routes, b->world.fabric,
					 &b->lfts, NULL),
			 0);
}

static void set_up(struct bench *b)
{
	set_up_with(b, DRAWING, &(struct pm_plan_config){.order = PM_GROUPED});
}

static void tear_down(struct bench *b)
{
	pm_lfts_free(b->lfts);
	world_free(&b->world);
}

static int judge(struct bench *b)
{
	return pm_judge(b->world.fabric, b->lfts, &b->config, &b->found, &b->err);
}

static struct pm_lft_switch *table(struct bench *b, const char *name)
{
	uint32_t sw = world_switch(&b->world, name);
	const struct pm_lft_switch *found =
		pm_lfts_find(b->lfts, b->world.fabric->nodes[sw].guid);

	assert_non_null(found);
	return &b->lfts->switches[found - b->lfts->switches];
}

static struct pm_port *port(struct bench *b, const char *name, unsigned int num)
{
	return &b->world.fabric->ports[world_port(b->world.fabric, name, num)];
}

/* The spine to which a leaf sends for a host's LID, "s0" or "s1", and the other one. */
static const char *spine_of(struct bench *b, const char *leaf, const char *host,
			    bool other)
{
	uint8_t up = table(b, leaf)->table[port(b, host, 1)->lid];

	assert_true(up == 3 || up == 4);
	return (up == 3) != other ? "s0" : "s1";
}

static void set_entry(struct bench *b, const char *sw, const char *host, uint8_t entry)
{
	table(b, sw)->table[port(b, host, 1)->lid] = entry;
}

/* Fails unless the findings are these, as "lost 1, loop 2"; *text is in the first one. */
static void assert_found(const struct bench *b, const char *name, const char *expected,
			 const char *text)
{
	char all[1000] = "";
	const char *at, *end;

	for (uint32_t i = 0; i < b->found.num_findings; i++) {
		const struct pm_finding *f = &b->found.findings[i];
		size_t used = strlen(all);

		snprintf(all + used, sizeof(all) - used, "%s%s %u", i ? ", " : "",
			 pm_finding_name(f->kind), (unsigned int)f->count);
	}
	if (strcmp(all, expected))
		fail_msg("%s: %s (%s)", name, all, b->found.findings[0].text);
	if (!*text)
		return;
	at = strstr(b->found.findings[0].text, text);
	/* A last word is whole. */
	end = text + strlen(text) - 1;
	if (!at ||
	    (isalpha((unsigned char)*end) && isalpha((unsigned char)at[strlen(text)])))
		fail_msg("%s: %s", name, b->found.findings[0].text);
}

/* ---- What is wrong ---- */

static void change_nothing(struct bench *b)
{
}

static void drop_entry(struct bench *b)
{
	set_entry(b, "l0", "c", PM_LFT_KEEP);
}

static void name_no_port(struct bench *b)
{
	set_entry(b, "l0", "c", 7);
}

static void name_no_ports(struct bench *b)
{
	set_entry(b, "l1", "a", 77);
	set_entry(b, "l1", "b", 78);
}

static void misroute(struct bench *b)
{
	set_entry(b, "l0", "c", 1);
}

/* The spine sends c's packets back to l0. */
static void make_loop(struct bench *b)
{
	set_entry(b, spine_of(b, "l0", "c", false), "c", 1);
}

/* Up, down to l2, and up again. */
static void turn_up(struct bench *b)
{
	set_entry(b, "l2", "c", !strcmp(spine_of(b, "l0", "c", false), "s0") ? 4 : 3);
	set_entry(b, spine_of(b, "l0", "c", false), "c", 3);
}

/* A ring of leaves is no tree, whatever its root. */
static void set_unreachable(struct bench *b)
{
	static const char *const leaves[] = {"l0", "l1", "l2"};
	struct pm_fabric *fabric = b->world.fabric;

	for (size_t i = 0; i < 3; i++) {
		uint32_t one = world_port(fabric, leaves[i], 5);
		uint32_t other = world_port(fabric, leaves[(i + 1) % 3], 6);

		pm_fabric_cut(fabric, world_port(fabric, leaves[i], 3));
		pm_fabric_cut(fabric, world_port(fabric, leaves[i], 4));
		fabric->ports[one].peer = other;
		fabric->ports[other].peer = one;
	}
}

/* The spine that a's traffic does not use has no entry for it. */
static void hide_path(struct bench *b)
{
	set_entry(b, spine_of(b, "l1", "a", true), "a", PM_LFT_KEEP);
}

/* Only the file has its owner. */
static void hide_sm_of_file(struct bench *b)
{
	hide_path(b);
	b->lfts->sm_lid = port(b, "a", 1)->lid;
}

static void name_sm_of_nobody(struct bench *b)
{
	hide_path(b);
	b->lfts->sm_lid = 1000;
}

static void drop_table(struct bench *b)
{
	struct pm_lft_switch *last = &b->lfts->switches[--b->lfts->num_switches];

	b->lfts->owner[last->lid].guid = 0;
	free(last->table);
	free(last->name);
}

static void rename_switch(struct bench *b)
{
	struct pm_lft_switch *last = &b->lfts->switches[b->lfts->num_switches - 1];

	last->guid = 0xffff;
	last->line = 17;
}

/* Only the tables' file has LIDs, and takes d for another one. */
static void rename_port(struct bench *b)
{
	uint16_t lid = port(b, "d", 1)->lid;

	for (uint32_t i = 0; i < b->world.fabric->num_ports; i++)
		b->world.fabric->ports[i].lid = 0;
	b->lfts->owner[lid] = (struct pm_lft_owner){0xdead, 23};
}

static void give_lid_twice(struct bench *b)
{
	port(b, "a", 1)->lid = port(b, "b", 1)->lid;
}

/* In the tables' file only; the topology has the owners. */
static void exchange_lids(struct bench *b)
{
	struct pm_lft_owner *owner = b->lfts->owner;
	uint16_t one = port(b, "a", 1)->lid, other = port(b, "b", 1)->lid;
	struct pm_lft_owner kept = owner[one];

	owner[one] = owner[other];
	owner[other] = kept;
}

static void add_strange_lid(struct bench *b)
{
	struct pm_lft_switch *sw = table(b, "l1");

	assert_int_equal(pm_lft_grow(sw, 100), 0);
	sw->table[100] = 1;
	sw->top = 100;
}

static void add_entry(struct bench *b, const char *name, uint16_t lid, uint8_t entry)
{
	struct pm_lft_switch *sw = table(b, name);

	assert_int_equal(pm_lft_grow(sw, lid), 0);
	sw->table[lid] = entry;
	if (sw->top < lid)
		sw->top = lid;
}

/* l0 and s0 send it to each other. */
static void loop_strange_lid(struct bench *b)
{
	add_entry(b, "l0", 100, 3);
	add_entry(b, "s0", 100, 1);
}

/* s0 drops it, as of all LIDs above its LinearFDBTop. */
static void loop_above_top(struct bench *b)
{
	uint16_t top = table(b, "s0")->top;

	loop_strange_lid(b);
	table(b, "s0")->top = top;
}

static void use_other_spine(struct bench *b)
{
	set_entry(b, "l0", "c", !strcmp(spine_of(b, "l0", "c", true), "s0") ? 3 : 4);
}

/* One of l0's up ports carries both hosts of l1: 3 of 8 flows up from l0. */
static void use_other_spine_balance(struct bench *b)
{
	use_other_spine(b);
	b->config.balance = 1.4;
}

static void use_other_spine_balanced(struct bench *b)
{
	use_other_spine(b);
	b->config.balance = 1.5;
}

static void plan_otherwise(struct bench *b)
{
	b->config.plan_config.order = PM_PORT_MAJOR;
}

static void plan_nothing(struct bench *b)
{
	b->config.plan_config.lmc = PM_MAX_LMC + 1;
	b->config.lmc_of_ports = false;
}

/* Options of a judgement: a is the subnet manager's host; paths from all switches count;
 * a plan is given; the tables must conform to a plan. */
enum { SM = 1, FROM_ALL = 2, PLAN = 4, CONFORM = 8 };

static const struct {
	const char *name;
	void (*damage)(struct bench *b);
	unsigned int with;
	const char *expected, *text;
} rows[] = {
	{"right", change_nothing, 0, "", ""},
	{"no entry", drop_entry, 0, "lost 1",
	 "1 path ends nowhere though there is a path (lost: from \"l0\" to LID "},
	{"no port", name_no_port, 0, "no-such-port 1, lost 1",
	 "1 entry names a port that the switch does not have: port 7 for LID "},
	{"no ports", name_no_ports, 0, "no-such-port 2, lost 2",
	 "2 entries name a port that the switch does not have: port 77 for LID "},
	{"misrouted", misroute, 0, "misrouted 1",
	 "1 path ends at another port (ends elsewhere"},
	{"loop", make_loop, 0, "loop 2, loops 1, credit-loop 2",
	 "2 paths end in a loop (loop"},
	{"loop of nobody's LID", loop_strange_lid, 0, "loops 1",
	 "loops: 1 LID, LID 100 over \"l0\", \"s0\""},
	{"loops above LinearFDBTop", loop_above_top, 0, "", ""},
	{"turn", turn_up, 0, "turn 1", "1 path turns up after going down"},
	{"unreachable", set_unreachable, 0, "unreachable 12",
	 "12 paths to end ports do not arrive, for which"},
	{"the SM", hide_path, SM, "sm 1",
	 "1 path to the subnet manager does not arrive (no path to the manager: from \"s"},
	{"manager untold", hide_path, 0, "", ""},
	{"the SM that the file names", hide_sm_of_file, 0, "sm 1", ""},
	{"an SM that nobody is", name_sm_of_nobody, 0, "", ""},
	{"from all switches", hide_path, FROM_ALL, "lost 1", ""},
	{"no table", drop_table, 0, "no-table 1, lost 11",
	 "1 switch has no table: \"s1\""},
	{"unknown switch", rename_switch, 0, "unknown-switch 1, no-table 1, lost 11",
	 "1 table is of a switch that the topology does not have: 0x000000000000ffff "
	 "(\"s1\") on line 17 of LFTS"},
	{"unknown port", rename_port, 0, "no-lid 1, unknown-port 1",
	 "1 port with a cable has no LID: \"d\"[1]"},
	{"a LID twice", give_lid_twice, 0, "duplicate-lid 1, other-lid 1, misrouted 3",
	 "1 port has the LID of another one: "},
	{"other LIDs", exchange_lids, 0, "other-lid 2",
	 "2 ports have another LID in the tables' file than in the topology: \""},
	{"LID of nobody", add_strange_lid, 0, "", ""},
	{"LID unknown to the plan", add_strange_lid, PLAN, "unknown-lid 1",
	 "1 LID has entries and no place, neither in the topology nor in the plan: "
	 "100"},
	{"other entry", use_other_spine, 0, "", ""},
	{"other entry than planned", use_other_spine, CONFORM, "entry-out-of-plan 1",
	 "1 entry is not as planned for these LIDs, in 1 block of 1 switch"},
	{"other entry than in the plan", use_other_spine, PLAN, "entry-out-of-plan 1",
	 ""},
	{"load", use_other_spine_balance, 0, "balance 1, balance 1",
	 "a cable up between levels 0 and 1 carries 1.50 times the mean, more than 1.40"},
	{"load that may be", use_other_spine_balanced, 0, "", ""},
	{"other order", plan_otherwise, 0, "", ""},
	{"other order than planned", plan_otherwise, CONFORM, "lid-out-of-plan 10",
	 "10 ports have no planned LID"},
	{"no plan", plan_nothing, 0, "", ""},
	{"no plan though wanted", plan_nothing, CONFORM, "no-plan 1",
	 "no plan: LMC is 4"},
};

static void test_findings(void **state)
{
	for_each_row(row, rows) {
		struct bench b;

		set_up(&b);
		row->damage(&b);
		if (row->with & SM)
			b.config.sm = world_port(b.world.fabric, "a", 1);
		if (row->with & PLAN)
			b.config.plan = b.world.plan;
		b.config.from_all = row->with & FROM_ALL;
		b.config.conform = row->with & CONFORM;
		if (judge(&b))
			fail_msg("%s: %s", row->name, b.err.text);
		assert_found(&b, row->name, row->expected, row->text);
		tear_down(&b);
	}
}

/* ---- Parts of a whole fabric ---- */

/* Tables after a failure: a plan of the remaining parts would be another one. */
static void test_whole(void **state)
{
	struct pm_fabric *whole = recipe_draw(DRAWING), *now;
	struct bench b;

	set_up(&b);
	now = world_without(&b.world, "l0:4");
	world_update(&b.world, now);
	pm_lfts_free(b.lfts);
	assert_int_equal(
		pm_lfts_of_plan(b.world.plan, b.world.routes, now, &b.lfts, NULL), 0);
	b.config.conform = true;
	assert_int_equal(pm_judge(now, b.lfts, &b.config, &b.found, &b.err), 0);
	assert_true(b.found.num_findings > 0);
	b.config.whole = whole;
	assert_int_equal(pm_judge(now, b.lfts, &b.config, &b.found, &b.err), 0);
	assert_found(&b, "whole", "", "");
	assert_int_equal(b.found.paths.pairs, b.found.paths.delivered);
	tear_down(&b);
	pm_fabric_free(now);
	pm_fabric_free(whole);
}

/*
 * Two pods below two cores with a host each: levels are those of the plan, not those that
 * the end ports suggest at first, where the cores are leaves.
 */
static void test_levels_of_plan(void **state)
{
	struct pm_plan *plan;
	struct bench b;

	set_up_with(&b,
		    "p0l0/3 p0l1/3 p1l0/3 p1l1/3 p0s/4 p1s/4 c0/3 c1/3 p0l0:1=a p0l0:2=b "
		    "p0l1:1=c p0l1:2=d p1l0:1=e p1l0:2=f p1l1:1=g p1l1:2=h c0:1=x c1:1=y "
		    "p0l0:3=p0s:1 p0l1:3=p0s:2 p1l0:3=p1s:1 p1l1:3=p1s:2 p0s:3=c0:2 "
		    "p0s:4=c1:2 p1s:3=c0:3 p1s:4=c1:3",
		    &(struct pm_plan_config){.order = PM_GROUPED});
	plan = b.world.plan;
	world_update(&b.world, b.world.fabric);
	pm_lfts_free(b.lfts);
	assert_int_equal(
		pm_lfts_of_plan(plan, b.world.routes, b.world.fabric, &b.lfts, NULL), 0);
	for (int given = 0; given < 2; given++) {
		b.config.plan = given ? plan : NULL;
		assert_int_equal(judge(&b), 0);
		assert_found(&b, "levels", "", "");
		assert_int_equal(plan->tree.top_level, 2);
		assert_int_equal(b.found.loads.up[1].links, 4);
		assert_int_equal(b.found.loads.down[1].links, 4);
	}
	tear_down(&b);
}

/* The same GUIDs, cabled otherwise. */
static void test_other_whole(void **state)
{
	struct pm_fabric *whole = recipe_draw(
		"l0/5 l1/5 l2/5 s0/3 s1/3 l0:1=a l0:2=b l1:1=c l1:2=d l2:1=e "
		"l2:2=f l0:3=s1:3 l0:4=s0:3 l1:3=s1:1 l1:4=s0:1 l2:3=s1:2 l2:4=s0:2");
	struct bench b;

	set_up(&b);
	b.config.conform = true;
	b.config.whole = whole;
	assert_int_equal(judge(&b), 0);
	assert_found(&b, "other whole", "no-plan 1",
		     "no plan: NET is no part of the whole fabric");
	tear_down(&b);
	pm_fabric_free(whole);
}

/* Entries for an absent host count if the tables have all entries. */
static void test_whole_tables(void **state)
{
	struct pm_fabric *whole = recipe_draw(DRAWING);
	struct bench b;

	set_up(&b);
	b.config.conform = true;
	b.config.whole = whole;
	set_entry(&b, "l1", "b", 5);
	port(&b, "b", 1)->lid = 0;
	b.lfts->owner[world_lid(&b.world, "l0", 2)].guid = 0;
	pm_fabric_cut(b.world.fabric, world_port(b.world.fabric, "l0", 2));
	assert_int_equal(judge(&b), 0);
	assert_found(&b, "tables with entries in use", "", "");
	b.lfts->whole = true;
	assert_int_equal(judge(&b), 0);
	assert_found(&b, "whole tables", "entry-out-of-plan 1", "");
	tear_down(&b);
	pm_fabric_free(whole);
}

static void test_shifts(void **state)
{
	struct bench b;

	set_up(&b);
	assert_int_equal(judge(&b), 0);
	assert_int_equal(b.found.shift, 0);
	b.config.shifts = INT32_MAX;
	assert_int_equal(judge(&b), 0);
	assert_int_equal(b.found.shift, 1);
	use_other_spine(&b);
	assert_int_equal(judge(&b), 0);
	assert_int_equal(b.found.shift, 2);
	tear_down(&b);
}

/* ---- What is counted ---- */

static void test_counts(void **state)
{
	const struct pm_judgement *f;
	struct bench b;

	set_up(&b);
	assert_int_equal(judge(&b), 0);
	f = &b.found;
	assert_int_equal(f->tables, 5);
	assert_int_equal(f->end_ports, 6);
	assert_int_equal(f->ports_with_lid, 11);
	assert_int_equal(f->unassigned, 0);
	assert_int_equal(f->paths.pairs, 3 * 11);
	assert_int_equal(f->paths.delivered, 3 * 11);
	assert_int_equal(f->credits.length, 0);
	/* From each leaf two hosts to the four of the others, by two cables. */
	assert_int_equal(f->loads.up[0].links, 6);
	assert_int_equal(f->loads.up[0].flows, 3 * 2 * 4);
	assert_true(f->planned);
	assert_int_equal(f->lids_differ, 0);
	assert_int_equal(f->delta.entries, 0);
	tear_down(&b);
}

static void test_unassigned_lid(void **state)
{
	struct bench b;

	set_up(&b);
	add_strange_lid(&b);
	assert_int_equal(judge(&b), 0);
	assert_int_equal(b.found.unassigned, 1);
	assert_int_equal(b.found.first_unassigned, 100);
	assert_int_equal(b.found.at, world_switch(&b.world, "l1"));
	tear_down(&b);
}

/*
 * The plan's entries for an empty place need not be in a file, nor be unknown in one.
 */
static void test_empty_places(void **state)
{
	struct bench b;
	uint32_t lid;

	set_up(&b);
	/* f goes: its place stays in the plan. */
	lid = port(&b, "f", 1)->lid;
	port(&b, "f", 1)->lid = 0;
	b.lfts->owner[lid].guid = 0;
	pm_fabric_cut(b.world.fabric, world_port(b.world.fabric, "f", 1));
	b.config.plan = b.world.plan;
	for (uint32_t i = 0; i < b.lfts->num_switches; i++)
		b.lfts->switches[i].table[lid] = PM_LFT_KEEP;
	table(&b, "l0")->table[lid] = 1;
	assert_int_equal(judge(&b), 0);
	assert_found(&b, "f away", "", "");
	assert_int_equal(b.found.unassigned, 1);
	assert_int_equal(b.found.first_unassigned, lid);
	assert_int_equal(b.found.delta.entries, 0);
	tear_down(&b);
}

static void test_differences(void **state)
{
	struct bench b;

	set_up(&b);
	use_other_spine(&b);
	assert_int_equal(judge(&b), 0);
	assert_int_equal(b.found.delta.entries, 1);
	assert_int_equal(b.found.delta.blocks, 1);
	assert_int_equal(b.found.delta.switches, 1);
	tear_down(&b);
	set_up(&b);
	plan_nothing(&b);
	assert_int_equal(judge(&b), 0);
	assert_false(b.found.planned);
	assert_non_null(strstr(b.found.unplanned.text, "LMC is 4"));
	tear_down(&b);
}

/* Each LID of a port counts, and the plan goes by what the ports have. */
static void test_lmc(void **state)
{
	static const struct pm_plan_config config = {.order = PM_GROUPED, .lmc = 1};
	struct bench b;
	uint16_t lid;

	set_up_with(&b, DRAWING, &config);
	for (uint32_t i = 0; i < b.world.fabric->num_ports; i++)
		b.world.fabric->ports[i].lid = 0; /* the file knows them */
	b.config.conform = true;
	assert_int_equal(judge(&b), 0);
	assert_found(&b, "LMC 1", "", "");
	assert_int_equal(b.found.ports_with_lid, 11);
	assert_int_equal(b.found.paths.delivered, 3 * (6 * 2 + 5));
	assert_int_equal(b.found.unassigned, 0);
	lid = port(&b, "c", 1)->lid;
	table(&b, "l0")->table[lid + 1] = PM_LFT_KEEP;
	b.config.conform = false;
	assert_int_equal(judge(&b), 0);
	assert_found(&b, "second LID", "lost 1", "");
	b.config.lmc_of_ports = false;
	b.config.conform = true;
	assert_int_equal(judge(&b), 0);
	assert_int_equal(b.found.findings[1].kind, PM_FOUND_LID_OUT_OF_PLAN);
	tear_down(&b);
}

/* Moves the host f to LID 64, which dump_fts left out of all tables. */
static void leave_out_f(struct bench *b)
{
	struct pm_port *f = port(b, "f", 1);
	uint16_t lid = f->lid;

	for (uint32_t i = 0; i < b->lfts->num_switches; i++) {
		struct pm_lft_switch *sw = &b->lfts->switches[i];

		sw->table[lid] = PM_LFT_KEEP;
		sw->left_out = 64;
	}
	b->lfts->owner[lid].guid = 0;
	f->lid = 64;
}

/*
 * Paths to that LID are not judged; all others are, and so is that LID if a table has
 * it.
 */
static void test_left_out(void **state)
{
	struct bench b;

	set_up(&b);
	leave_out_f(&b);
	b.config.balance = 1.5;
	assert_int_equal(judge(&b), 0);
	assert_found(&b, "left out", "", "");
	assert_int_equal(b.found.left_out, port(&b, "f", 1) - b.world.fabric->ports);
	assert_int_equal(port(&b, "f", 1)->lid, 64);
	assert_int_equal(b.found.ports_with_lid, 11);
	assert_int_equal(b.found.paths.delivered, 3 * 10);
	assert_int_equal(b.found.delta.entries, 0);
	b.config.balance = 0;
	set_entry(&b, "l0", "e", PM_LFT_KEEP);
	assert_int_equal(judge(&b), 0);
	assert_found(&b, "another LID", "lost 1", "of \"e\"");
	tear_down(&b);

	/* The entry of one switch shows that the others have none. */
	set_up(&b);
	leave_out_f(&b);
	assert_int_equal(pm_lft_grow(table(&b, "l2"), 64), 0);
	table(&b, "l2")->top = 64;
	set_entry(&b, "l2", "f", 2);
	assert_int_equal(judge(&b), 0);
	assert_found(&b, "in one table", "lost 2", "to LID 64 of \"f\"");
	assert_int_equal(b.found.left_out, PM_NONE);
	tear_down(&b);
}

/* A switch without cables can have neither LID nor table, which is no fault. */
static void test_idle_switch(void **state)
{
	struct bench b;

	set_up(&b);
	for (unsigned int p = 1; p <= 3; p++)
		pm_fabric_cut(b.world.fabric, world_port(b.world.fabric, "s1", p));
	pm_routes_free(b.world.routes);
	b.world.routes = NULL;
	pm_lfts_free(b.lfts);
	assert_int_equal(pm_routes_make_for(b.world.plan, b.world.fabric, PM_NONE, false,
					    &b.world.routes, NULL),
			 0);
	assert_int_equal(pm_lfts_of_plan(b.world.plan, b.world.routes, b.world.fabric,
					 &b.lfts, NULL),
			 0);
	port(&b, "s1", 0)->lid = 0;
	b.config.plan = b.world.plan;
	assert_int_equal(judge(&b), 0);
	assert_found(&b, "idle", "", "");
	assert_int_equal(b.found.tables, 4);
	tear_down(&b);
}

#define RING 40

/* A ring of switches with a host each: switch i has LID i + 1, its host RING + i + 1. */
static void draw_ring(struct bench *b)
{
	char drawing[8000] = "";
	size_t used = 0;

	*b = (struct bench){.config = {"NET", "LFTS", .sm = PM_NONE}};
	for (int i = 0; i < RING; i++)
		used += (size_t)snprintf(drawing + used, sizeof(drawing) - used,
					 "name-of-a-switch-%03d/3 ", i);
	for (int i = 0; i < RING; i++)
		used += (size_t)snprintf(
			drawing + used, sizeof(drawing) - used,
			"name-of-a-switch-%03d:1=h%d name-of-a-switch-%03d:2="
			"name-of-a-switch-%03d:3 ",
			i, i, i, (i + 1) % RING);
	b->world.fabric = recipe_draw(drawing);
	b->lfts = pm_lfts_new();
	assert_non_null(b->lfts);
}

/* All send in one direction; a credit loop that does not fit a line of text. */
static void test_long_loop(void **state)
{
	struct bench b;

	draw_ring(&b);
	for (uint16_t i = 0; i < RING; i++) {
		const struct pm_node *n = &b.world.fabric->nodes[i];
		struct pm_lft_switch *sw = pm_lfts_add(b.lfts, n->guid, "", 0, 2 * RING);

		assert_non_null(sw);
		sw->top = 2 * RING;
		memset(sw->table + 1, 2, sw->top);
		sw->table[i + 1] = 0;
		sw->table[RING + i + 1] = 1;
		b.world.fabric->ports[n->first_port].lid = i + 1;
		b.world.fabric->ports[b.world.fabric->ports[n->first_port + 1].peer].lid =
			RING + i + 1;
	}
	pm_lfts_sort(b.lfts);
	assert_int_equal(judge(&b), 0);
	assert_int_equal(b.found.credits.length, RING);
	assert_found(&b, "ring", "credit-loop 40",
		     "a credit loop over 40 cables: \"name-of-a-switch-0");
	assert_string_equal(
		b.found.findings[0].text + strlen(b.found.findings[0].text) - 4, ", ..");
	assert_false(b.found.planned);
	tear_down(&b);
}

/* ---- Refused ---- */

static void forget_lids(struct bench *b)
{
	for (uint32_t i = 0; i < b->world.fabric->num_ports; i++)
		b->world.fabric->ports[i].lid = 0;
	memset(b->lfts->owner, 0, (PM_MAX_LID + 1) * sizeof(*b->lfts->owner));
}

static void rename_all(struct bench *b)
{
	for (uint32_t i = 0; i < b->lfts->num_switches; i++)
		b->lfts->switches[i].guid = 0xff00 + i;
	b->lfts->switches[0].line = 3;
}

static void move_lids(struct bench *b)
{
	for (uint32_t i = 0; i < b->world.fabric->num_ports; i++)
		if (b->world.fabric->ports[i].lid)
			b->world.fabric->ports[i].lid += 1000;
}

static const struct {
	const char *name;
	void (*damage)(struct bench *b);
	const char *text;
} refused[] = {
	{"other switches", rename_all,
	 "LFTS:3: tables of another fabric: no switch of NET has any of them"},
	{"no LIDs", forget_lids,
	 "no LIDs: neither NET nor LFTS has the ports' LIDs (dump_fts without -n and "
	 "ibnetdiscover write them)"},
	{"other LIDs", move_lids,
	 "LFTS: tables of another fabric: no port in NET has any of their LIDs"},
};

static void test_refused(void **state)
{
	for_each_row(row, refused) {
		struct bench b;

		set_up(&b);
		row->damage(&b);
		b.found.tables = 77;
		if (judge(&b) != -EINVAL || strcmp(b.err.text, row->text) ||
		    b.found.tables != 77)
			fail_msg("%s: %s", row->name, b.err.text);
		tear_down(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_levels_of_plan),
		cmocka_unit_test(test_other_whole),
		cmocka_unit_test(test_whole_tables),
		cmocka_unit_test(test_shifts),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_unassigned_lid),
		cmocka_unit_test(test_empty_places),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_lmc),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_idle_switch),
		cmocka_unit_test(test_long_loop),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
