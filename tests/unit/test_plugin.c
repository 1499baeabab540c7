/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The whole plugin below an OpenSM of stubs (subnet.h), with each allocation of a step
 * failing alone, and then with all behind it. Either the result is that of the step
 * without failures, or the log reports the lack of memory and there is no result:
 * tables unchanged, no LID twice, no lock held, nothing leaked, every document on disk
 * whole. The next sweep makes up for it.
 */
#include "subnet.h"

#include "memfault.h"
#include "recipe.h"
#include "unit.h"

#include <jansson.h>

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

/* The interval of the tried allocations without PM_EVERY; fewer without a sweep */
#ifndef EVERY
#define EVERY 61
#endif
#define FINER (EVERY / 4)

static const char *folder;
static struct pm_fabric *fabrics[2]; /* and a larger one */
static struct pm_fabric *fabric;     /* of the scenario */
static struct memfault failing;	     /* now, in the scenario of this name */
static const char *name;

/* The result of a step, and of the sweep behind it. */
struct outcome {
	struct subnet_sweep sweep, after;
	uint64_t lids, tables, lids_after, tables_after;
	uint32_t unreachable; /* pairs of hosts */
	uint64_t told;	      /* by the last document, of pairs apart and served */
	uint64_t allocations;
};

/* ---- Files ---- */

static void write_file(const char *file_name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, file_name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static const char *config_path(const char *text)
{
	static char path[128];

	write_file("conf", text);
	snprintf(path, sizeof(path), "%s/conf", folder);
	return path;
}

/* A document agrees with all counts. */
static void check_member(const json_t *document, const char *count, const char *member)
{
	const json_t *since = json_object_get(document, "since_start");
	json_int_t times = json_integer_value(json_object_get(since, count));

	assert_true(!times == json_is_null(json_object_get(document, member)));
}

/* NULL: there is none. */
static json_t *load_state(void)
{
	char path[128];
	glob_t found = {0};
	json_t *document = NULL;

	snprintf(path, sizeof(path), "%s/portmajor.*/state", folder);
	if (!glob(path, 0, NULL, &found)) {
		document = json_load_file(found.gl_pathv[0], 0, NULL);
		assert_non_null(document);
	}
	globfree(&found);
	return document;
}

static uint64_t check_state(bool shadow)
{
	uint64_t told;
	const json_t *unreachable;
	json_t *document = load_state();

	if (!document)
		return 0;
	check_member(document, "runs", "run");
	check_member(document, "repairs", "repair");
	check_member(document, "transitions", "transition");
	if (shadow)
		assert_true(json_is_object(json_object_get(document, "shadow")) ||
			    json_is_null(json_object_get(document, "plan")));
	if (json_is_object(json_object_get(document, "plan")) && !shadow)
		assert_true(json_is_string(
			json_object_get(json_object_get(document, "plan"), "file")));
	unreachable = json_object_get(document, "unreachable");
	/* It lists paths over a hub, too. */
	assert_true(json_is_string(json_object_get(unreachable, "text")) ||
		    !json_integer_value(json_object_get(unreachable, "pairs")));
	told = (uint64_t)json_integer_value(json_object_get(unreachable, "pairs")) << 32 |
	       (uint64_t)json_integer_value(
		       json_object_get(json_object_get(document, "reachable"), "pairs"));
	json_decref(document);
	return told;
}

/* ---- Scenarios ---- */

#define QUIET "early_repair no\n"

static void sweep(void)
{
	struct subnet_sweep result;

	subnet_sweep(&result);
	assert_int_equal(result.no_memory, 0);
}

static void load(const char *text)
{
	assert_true(subnet_load(config_path(text)));
}

static void load_only(void)
{
	load(QUIET);
}

static void load_and_run(void)
{
	load(QUIET);
	sweep();
	sweep();
}

static void run_again(void)
{
	load_and_run();
	subnet_unload();
	subnet_opensm()->subn.first_time_master_sweep = TRUE;
	load(QUIET);
}

/* A fabric that runs, and no plan: tables are read back, and LID history is used. */
static void run_without_plan(void)
{
	load_and_run();
	subnet_unload();
	subnet_remove_files("portmajor.*/*");
	subnet_opensm()->subn.first_time_master_sweep = TRUE;
	load(QUIET);
}

/* LIDs are those of another engine, and of a host that is away guid2lid has one. */
static void run_by_others(void)
{
	subnet_sweep_alone();
	subnet_set_link("l2", 2, false, false);
	load(QUIET);
}

static void return_host(void)
{
	subnet_set_link("l2", 2, true, false);
}

static void run_elsewhere(void)
{
	char from[128], to[128];

	run_again();
	snprintf(from, sizeof(from), "%s/portmajor.%016llx", folder,
		 (unsigned long long)cl_ntoh64(subnet_opensm()->subn.sm_port_guid));
	snprintf(to, sizeof(to), "%s/portmajor.0000000000000abc", folder);
	assert_int_equal(rename(from, to), 0);
}

static void take_over(void)
{
	load_and_run();
	subnet_opensm()->subn.coming_out_of_standby = TRUE;
}

static void fail_link(void)
{
	load_and_run();
	subnet_set_link("l0", 3, false, false);
}

static void fail_path(void)
{
	load_and_run();
	subnet_set_link("l0", 3, false, false);
	subnet_set_link("l0", 4, false, false);
}

/* Cables join l0 and l2 by way of l1 alone, where paths turn up again. */
static void fail_pair(void)
{
	load_and_run();
	subnet_set_link("l0", 4, false, false);
	subnet_set_link("l2", 3, false, false);
}

static void repair(void)
{
	load("");
	sweep();
	sweep();
	subnet_set_link("l0", 3, false, true);
}

static void ask_to_drain(void)
{
	char text[128];
	uint32_t sw = pm_fabric_find_name(fabric, "l1");

	snprintf(text, sizeof(text),
		 "{\"request\": \"drain\", \"parts\": [{\"guid\": \"0x%016llx\", "
		 "\"port\": 3}]}",
		 (unsigned long long)fabric->nodes[sw].guid);
	subnet_ask(text);
}

static void drain(void)
{
	load_and_run();
	ask_to_drain();
}

static void repair_and_drain(void)
{
	repair();
	ask_to_drain();
}

/* Without a sweep: only the repairer's thread, which is to follow it. */
static void drain_beside(void)
{
	load("");
	sweep();
	sweep();
	subnet_begin_sweep();
	ask_to_drain();
	subnet_let_write();
}

/* A cable fails in the middle of a transition. */
static uint32_t blocks_before;

static void fail_meanwhile(void)
{
	if (!--blocks_before)
		subnet_set_link("l2", 4, false, true);
}

static void fail_afterwards(void)
{
	if (blocks_before && blocks_before <= 2)
		subnet_set_link("l2", 4, false, true);
}

static void interrupted_drain(void)
{
	drain_beside();
	blocks_before = 2;
	subnet_on_block(fail_meanwhile);
}

static void set_switch(const char *sw, unsigned int ports, bool up)
{
	for (unsigned int port = 1; port <= ports; port++)
		subnet_set_link(sw, port, up, false);
}

/*
 * All files are lost while a spine and a leaf are absent: the tables found are kept.
 * The spine returns.
 */
static void ask_to_rebalance(void)
{
	subnet_ask("{\"request\": \"rebalance\", \"all\": true}");
	subnet_begin_sweep();
}

static void ask_again(void)
{
	struct subnet_sweep result;

	ask_to_rebalance();
	subnet_work(&result, 1000);
	assert_int_equal(result.no_memory, 0);
}

static void rebalance(void)
{
	load_and_run();
	set_switch("s1", 4, false);
	set_switch("l3", 6, false);
	sweep();
	subnet_unload();
	subnet_remove_files("portmajor.*/*");
	load(QUIET "rebalance request\n");
	sweep();
	set_switch("s1", 4, true);
	sweep();
	sweep();
	ask_to_rebalance();
}

static void flap(const char *sw, unsigned int port)
{
	for (int i = 0; i < 4; i++) {
		subnet_set_link(sw, port, false, false);
		sweep();
		subnet_set_link(sw, port, true, false);
		sweep();
	}
}

static void release_holds(void)
{
	char text[128];
	uint32_t sw = pm_fabric_find_name(fabric, "l0");

	load_and_run();
	flap("l0", 3);
	flap("l1", 4);
	snprintf(text, sizeof(text),
		 "{\"request\": \"release\", \"parts\": [{\"guid\": \"0x%016llx\", "
		 "\"port\": 3}]}",
		 (unsigned long long)fabric->nodes[sw].guid);
	subnet_ask(text);
}

static void shadow(void)
{
	load(QUIET "shadow yes\n");
	sweep();
	subnet_set_link("l0", 3, false, false);
}

static void migrate(void)
{
	load_and_run();
	subnet_unload();
	subnet_remove_files("portmajor.*/*");
	load(QUIET "migrate yes\n");
}

static void reassign(void)
{
	run_again();
	subnet_opensm()->subn.opt.reassign_lids = TRUE;
}

static void do_sweep(struct subnet_sweep *result)
{
	subnet_sweep(result);
}

static void do_work(struct subnet_sweep *result)
{
	subnet_work(result, 1000);
}

static const char *config;

static void write_config(void)
{
	config = config_path(QUIET "shadow yes\n");
}

static void do_load(struct subnet_sweep *result)
{
	*result = (struct subnet_sweep){.rc = 1};
	subnet_load(config);
}

/* The state is written a last time. */
static void do_unload(struct subnet_sweep *result)
{
	*result = (struct subnet_sweep){.rc = 1};
	subnet_unload();
}

static const struct scenario {
	const char *name;
	void (*prepare)(void);
	void (*act)(struct subnet_sweep *result);
	bool shadow;
	bool first;	    /* the result of OpenSM's first sweep stays */
	void (*then)(void); /* before the next sweep, or NULL */
	bool left;	    /* without memory, the rest is left to the sweep */
	bool large;	    /* a tree of three spines */
} scenarios[] = {
	{"the plugin is loaded", write_config, .act = do_load, .shadow = true},
	{"first sweep", load_only, .act = do_sweep, .first = true},
	{"no plan for what runs", run_without_plan, .act = do_sweep},
	{"LIDs of others", run_by_others, .act = do_sweep, .then = return_host},
	{"plan on disk", run_again, .act = do_sweep},
	{"plan in another folder", run_elsewhere, .act = do_sweep},
	{"out of standby", take_over, .act = do_sweep},
	{"cable lost", fail_link, .act = do_sweep},
	{"path lost", fail_path, .act = do_sweep},
	{"pair lost", fail_pair, .act = do_sweep},
	{"repair", repair, .act = do_sweep},
	{"drain", drain, .act = do_sweep},
	{"repair and drain", repair_and_drain, .act = do_sweep},
	{"repair by itself", repair, .act = do_work, .left = true},
	{"drain beside a sweep", drain_beside, .act = do_work, .left = true},
	{"drain, and a cable lost", interrupted_drain, .act = do_work,
	 .then = fail_afterwards, .left = true},
	{"rebalancing", rebalance, .act = do_work, .then = ask_again, .left = true,
	 .large = true},
	{"holds released", release_holds, .act = do_sweep},
	{"shadow mode", shadow, .act = do_sweep, .shadow = true},
	{"migrating", migrate, .act = do_sweep},
	{"LIDs reassigned", reassign, .act = do_sweep, .first = true},
	{"the plugin is unloaded", fail_path, .act = do_unload},
};

/* ---- A trial ---- */

static void check_step(const struct scenario *s, const struct outcome *now,
		       const struct outcome *expected)
{
	const struct subnet_sweep *sweep = &now->sweep;

	assert_int_equal(subnet_double_lids(), 0);
	if (sweep->rc < 0 && !s->shadow) {
		assert_true(sweep->untouched);
		assert_int_equal(sweep->refusals, 1);
		return;
	}
	assert_int_equal(sweep->rc, expected->sweep.rc);
	if (!sweep->no_memory) {
		assert_int_equal(now->lids, expected->lids);
		assert_int_equal(now->tables, expected->tables);
	}
	if (!s->left || !sweep->no_memory)
		assert_int_equal(now->unreachable, expected->unreachable);
}

/* The next sweep goes on as if nothing had happened. */
static void check_after(const struct scenario *s, const struct outcome *now,
			const struct outcome *expected)
{
	assert_int_equal(now->after.no_memory, 0);
	/* A plan that could not be read for lack of memory is renamed, and that is
	 * logged. */
	assert_true(s->first || !now->after.set_aside);
	assert_int_equal(now->after.errors, now->after.set_aside);
	assert_int_equal(now->after.rc, expected->after.rc);
	if (now->sweep.rc < 0 && s->first)
		return;
	assert_int_equal(now->lids_after, expected->lids_after);
	assert_int_equal(now->tables_after, expected->tables_after);
}

/* Does a step; expected NULL: no allocation fails, and this is the expected result. */
static struct outcome run(const struct scenario *s, const struct memfault *fault,
			  const struct outcome *expected, bool goes_on)
{
	struct outcome now = {.allocations = 0};
	int64_t live = memfault_live();

	subnet_remove_files("*/*");
	subnet_remove_files("*");
	subnet_begin(fabric);
	s->prepare();
	memfault_begin(fault);
	s->act(&now.sweep);
	now.allocations = memfault_end();
	now.unreachable = subnet_unreachable();
	now.lids = subnet_lids();
	now.tables = subnet_tables();
	if (expected)
		check_step(s, &now, expected);
	if (goes_on && subnet_is_loaded()) {
		if (s->then)
			s->then();
		subnet_sweep(&now.after);
		now.lids_after = subnet_lids();
		now.tables_after = subnet_tables();
		if (expected)
			check_after(s, &now, expected);
	}
	subnet_unload();
	subnet_end();
	now.told = check_state(s->shadow);
	if (expected && goes_on && now.told)
		assert_int_equal(now.told, expected->told);
	if (expected)
		assert_int_equal(memfault_live(), live);
	return now;
}

/*
 * Some of the allocations fail, others by the number of the scenario: one alone, and one
 * with all behind it, each with and without a sweep afterwards.
 */
static void try_all(const struct scenario *s, uint64_t first, uint64_t every)
{
	const struct memfault none = {0};
	struct outcome expected;
	uint64_t trials = 0;

	fabric = fabrics[s->large];
	run(s, &none, NULL,
	    true); /* by now libraries have made their one-time allocations */
	expected = run(s, &none, NULL, true);
	assert_true(expected.allocations);
	for (uint64_t nth = first; nth <= expected.allocations + 1; nth += every)
		for (unsigned int kind = 0; kind < 4; kind++) {
			failing = (struct memfault){nth, kind & 1};
			run(s, &failing, &expected, kind & 2);
			trials++;
		}
	print_message("%s: %u allocations, %u trials\n", s->name,
		      (unsigned int)expected.allocations, (unsigned int)trials);
}

static void test_each(void **state)
{
	for (size_t i = 0; i < LENGTH(scenarios); i++) {
		const char *only = getenv("PM_ONLY");
		uint64_t every;

		name = scenarios[i].name;
		every = from_environment("PM_EVERY", scenarios[i].left ? FINER : EVERY);
		if (!only || !strcmp(only, name))
			try_all(&scenarios[i], 1 + i % every, every);
	}
	name = NULL;
}

static uint64_t count_allocations(void)
{
	struct subnet_sweep result;

	memfault_begin(&(struct memfault){0});
	subnet_sweep(&result);
	assert_int_equal(result.rc, 0);
	return memfault_end();
}

/*
 * The second sweep already computes nothing: it allocates as much as the third, and the
 * tables that are prepared from then on.
 */
static void test_quiet(void **state)
{
	uint64_t first, second, third;

	subnet_remove_files("*/*");
	subnet_remove_files("*");
	fabric = fabrics[0];
	subnet_begin(fabric);
	load(QUIET);
	first = count_allocations();
	second = count_allocations();
	third = count_allocations();
	print_message("%u, %u and %u allocations\n", (unsigned int)first,
		      (unsigned int)second, (unsigned int)third);
	subnet_unload();
	subnet_end();
	assert_int_equal(second, third + fabric->num_switches);
}

static void check_phase(const char *expected)
{
	json_t *document = load_state();

	assert_string_equal(json_string_value(json_object_get(document, "phase")),
			    expected);
	json_decref(document);
}

/* After a routing run without a discovery no work is left. */
static void test_phases(void **state)
{
	struct subnet_sweep result;

	subnet_remove_files("*/*");
	subnet_remove_files("*");
	fabric = fabrics[0];
	subnet_begin(fabric);
	load(QUIET);
	sweep();
	check_phase("links"); /* the state is written before the sweep's end, .. */
	subnet_reroute(&result);
	assert_int_equal(result.rc, 0);
	check_phase("idle"); /* .. which is this, here */
	subnet_unload();
	subnet_end();
}

/* A discovery without an end sees nothing: failures found before stay. */
static void test_no_end_of_discovery(void **state)
{
	struct subnet_sweep result;

	subnet_remove_files("*/*");
	subnet_remove_files("*");
	fabric = fabrics[0];
	subnet_begin(fabric);
	drain_beside(); /* so that the callback makes tables anew */
	subnet_work(&result, 0);
	subnet_set_link("l0", 3, false, true);
	subnet_begin_sweep();
	assert_int_equal(subnet_unreachable(), 0);
	subnet_reroute(&result);
	assert_int_equal(result.rc, 0);
	assert_int_equal(subnet_unreachable(), 0);
	subnet_unload();
	subnet_end();
}

/* A repair is of the phase in which its first trap came. */
static void test_phase_of_repair(void **state)
{
	struct subnet_sweep result;
	json_t *document;
	const json_t *repairs;

	subnet_remove_files("*/*");
	subnet_remove_files("*");
	fabric = fabrics[0];
	subnet_begin(fabric);
	load("");
	sweep();
	subnet_begin_sweep();
	subnet_set_link("l0", 3, false, true);
	subnet_reroute(&result);
	subnet_work(&result, 0);
	assert_int_equal(subnet_unreachable(), 0);
	subnet_unload();
	subnet_end();
	document = load_state();
	repairs = json_object_get(json_object_get(document, "repairs_by_phase"),
				  "discovery");
	assert_int_equal(json_integer_value(json_object_get(repairs, "repairs")), 1);
	json_decref(document);
}

static int set_up(void **state)
{
	fabrics[0] =
		recipe_draw("l0/6 l1/6 l2/6 s0/4 s1/4 l0:1=a0 l0:2=b0 l1:1=a1 l1:2=b1 "
			    "l2:1=a2 l2:2=b2 l0:3=s0:1 l0:4=s1:1 l1:3=s0:2 l1:4=s1:2 "
			    "l2:3=s0:3 l2:4=s1:3");
	fabrics[1] = recipe_draw(
		"l0/6 l1/6 l2/6 l3/6 s0/4 s1/4 s2/4 l0:1=a0 l0:2=b0 l0:3=c0 l1:1=a1 "
		"l1:2=b1 l1:3=c1 l2:1=a2 l2:2=b2 l2:3=c2 l3:1=a3 l3:2=b3 l3:3=c3 "
		"l0:4=s0:1 l0:5=s1:1 l0:6=s2:1 l1:4=s0:2 l1:5=s1:2 l1:6=s2:2 "
		"l2:4=s0:3 l2:5=s1:3 l2:6=s2:3 l3:4=s0:4 l3:5=s1:4 l3:6=s2:4");
	folder = subnet_make_folder();
	return 0;
}

static int tear_down(void **state)
{
	if (name)
		print_message("%s: with allocation %u%s failing\n", name,
			      (unsigned int)failing.nth,
			      failing.onwards ? " and all behind it" : "");
	subnet_remove_folder();
	pm_fabric_free(fabrics[0]);
	pm_fabric_free(fabrics[1]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_quiet),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_no_end_of_discovery),
		cmocka_unit_test(test_phase_of_repair),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
