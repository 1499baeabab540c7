/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recordings of LFT Sets: read, written, computed, and followed. */

#include "world.h"
#include "unit.h"

#include <portmajor/analysis/failures.h>
#include <portmajor/base/print.h>
#include <portmajor/base/textfile.h>
#include <portmajor/lab/lft_trace.h>
#include <portmajor/lab/outage.h>

/* Hosts a and b have LIDs 1 and 2; l0 and l1 are joined by s0 and by s1. */
static const char tree[] = "l0/4 l1/4 s0/2 s1/2 l0:1=a l1:1=b l0:2=s0:1 l1:2=s0:2 "
			   "l0:3=s1:1 l1:3=s1:2";

/* 64 entries, of which LIDs 1 and 2 have these ports. */
#define FOUR "ffffffff"
#define TAIL FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR
#define REST FOUR TAIL
#define ENTRIES(one, two) "ff" one two "ff" REST

#define MAGIC "portmajor-sets 1\n"
#define LIDS "lid 0x100008 1 0\nlid 10000a 2 0\n"
#define L0 "table 0x200000 0 " ENTRIES("01", "02") "\n"
#define L1 "table 0x200001 0 " ENTRIES("02", "01") "\n"
#define S0 "table 0x200002 0 " ENTRIES("01", "02") "\n"
#define S1 "table 0x200003 0 " ENTRIES("01", "02") "\n"
#define TABLES L0 L1 S0 S1
#define FAILED "failed 1000 0x200000 2\n"
#define SET(times_and_switch, one, two)                                                  \
	"set " times_and_switch " 0 " ENTRIES(one, two) "\n"
#define SET0 SET("2000 3000 3500 0x200000", "01", "03")
#define SET1 SET("2500 - - 0x200003", "02", "02")
#define SET2 SET("2500 6000 - 0x200001", "03", "01")
#define SETS SET0 SET1 SET2
#define WHOLE MAGIC "engine of a test\n" LIDS TABLES FAILED SETS

static struct pm_fabric *fabric;

static int draw(void **state)
{
	fabric = recipe_draw(tree);
	return 0;
}

static int drop(void **state)
{
	pm_fabric_free(fabric);
	return 0;
}

static struct pm_lft_trace *parse(const char *text)
{
	struct pm_error err = {""};
	struct pm_lft_trace *trace = NULL;

	if (pm_lft_trace_parse(text, strlen(text), "in", fabric, &trace, &err))
		fail_msg("%s", err.text);
	return trace;
}

static uint32_t port_of(const char *name, unsigned int number)
{
	return world_port(fabric, name, number);
}

static void test_read(void **state)
{
	struct pm_lft_trace *trace = parse(WHOLE);

	assert_string_equal(trace->engine, "of a test");
	assert_string_equal(trace->times, "");
	assert_int_equal(trace->length, 64);
	assert_int_equal(trace->lid[port_of("a", 1)], 1);
	assert_int_equal(trace->lid[port_of("b", 1)], 2);
	assert_int_equal(trace->tables[64 + 1], 2); /* of l1 */
	assert_int_equal(trace->tables[64 + 3], PM_LFT_KEEP);
	assert_int_equal(trace->failed_at, 1000);
	assert_int_equal(trace->num_failed, 1);
	assert_int_equal(trace->failed[0], port_of("l0", 2));
	assert_int_equal(trace->num, 3);
	assert_int_equal(trace->set[0].arrived, 3000);
	assert_int_equal(trace->set[0].acked, 3500);
	assert_true(trace->set[1].arrived == PM_LFT_TRACE_NEVER);
	assert_int_equal(trace->set[2].sw, 1);
	assert_int_equal(trace->entries[2 * 64 + 1], 3);
	pm_lft_trace_free(trace);
}

/* Blanks, comments, CR LF, any order, no LF at the end, LMC and blocks above the first.
 */
static void test_forms(void **state)
{
	struct pm_lft_trace *trace = parse(
		MAGIC "# a comment\r\n\r\n"
		      "set 2 2 2 200000 0 " ENTRIES(
			      "01", "03") " \n" FAILED TABLES "times  of a wire \r\n"
					  "lid 100008 64 1  \n lid 10000a 200 0\n"
					  "set 9 9 9 200000 5 " ENTRIES("ff", "FF"));

	assert_string_equal(trace->times, "of a wire");
	assert_int_equal(trace->length, 6 * 64);
	assert_int_equal(trace->lid[port_of("a", 1)], 64);
	assert_int_equal(trace->lmc[port_of("a", 1)], 1);
	assert_int_equal(trace->tables[6 * 64 + 1], 2);
	assert_int_equal(trace->tables[6 * 64 + 64], PM_LFT_KEEP);
	assert_int_equal(trace->num, 2);
	assert_int_equal(trace->set[1].block, 5);
	assert_int_equal(trace->entries[64 + 2], PM_LFT_KEEP);
	pm_lft_trace_free(trace);
}

/* Tables have room for all LIDs. */
static void test_length(void **state)
{
	struct pm_lft_trace *trace =
		parse(MAGIC "lid 100008 638 1\nlid 10000a 640 3\n" TABLES FAILED);
	struct pm_outage found;

	assert_int_equal(trace->length, 11 * 64);
	pm_outage_follow(fabric, trace, &found);
	assert_int_equal(found.at_once, found.paths);
	free(found.curve);
	pm_lft_trace_free(trace);
	trace = parse(MAGIC "lid 10000a 640 0\n" TABLES FAILED); /* a block's first LID */
	assert_int_equal(trace->length, 11 * 64);
	pm_lft_trace_free(trace);
}

/* Links that return, by time; a switch that was reset. Rows in any order. */
static void test_returns(void **state)
{
	struct pm_lft_trace *trace =
		parse(MAGIC "active 3000 0x200002 1\nreset 200000\nactive 2000 200001 1\n"
			    "reset 0x200002\n" LIDS TABLES FAILED
			    "failed 1000 200001 1\nfailed 1000 200001 3\n");

	assert_int_equal(trace->num_failed, 3);
	assert_int_equal(trace->num_active, 2);
	assert_int_equal(trace->active[0].ns, 2000);
	assert_int_equal(trace->active[0].port, port_of("l1", 1));
	assert_int_equal(trace->active[1].ns, 3000);
	assert_int_equal(trace->active[1].port,
			 port_of("s0", 1)); /* FAILED's other end */
	assert_int_equal(trace->num_reset, 2);
	assert_int_equal(trace->reset[0], 0);
	assert_int_equal(trace->reset[1], 2);
	pm_lft_trace_free(trace);
}

static void assert_same(const struct pm_lft_trace *a, const struct pm_lft_trace *b)
{
	size_t tables = (size_t)fabric->num_switches * a->length;

	assert_string_equal(a->engine, b->engine);
	assert_string_equal(a->times, b->times);
	assert_int_equal(a->length, b->length);
	assert_memory_equal(a->lid, b->lid, fabric->num_ports * sizeof(*a->lid));
	assert_memory_equal(a->lmc, b->lmc, fabric->num_ports);
	assert_memory_equal(a->tables, b->tables, tables);
	assert_true(a->failed_at == b->failed_at);
	assert_int_equal(a->num_failed, b->num_failed);
	assert_memory_equal(a->failed, b->failed, a->num_failed * sizeof(*a->failed));
	assert_int_equal(a->num_active, b->num_active);
	for (uint32_t i = 0; i < a->num_active; i++) {
		assert_true(a->active[i].ns == b->active[i].ns);
		assert_int_equal(a->active[i].port, b->active[i].port);
	}
	assert_int_equal(a->num_reset, b->num_reset);
	for (uint32_t i = 0; i < a->num_reset; i++)
		assert_int_equal(a->reset[i], b->reset[i]);
	assert_int_equal(a->num, b->num);
	for (uint32_t i = 0; i < a->num; i++)
		assert_memory_equal(&a->set[i], &b->set[i], sizeof(*a->set));
	assert_memory_equal(a->entries, b->entries, (size_t)a->num * PM_LFT_BLOCK);
}

static void check_round_trip(const struct pm_lft_trace *trace)
{
	const struct pm_lft_trace_file file = {trace, fabric};
	struct pm_lft_trace *again;
	size_t length;
	char *text;

	assert_int_equal(pm_text_print(pm_lft_trace_print, &file, &text, &length), 0);
	again = parse(text);
	assert_same(trace, again);
	free(text);
	pm_lft_trace_free(again);
}

static void test_round_trip(void **state)
{
	struct pm_lft_trace *trace =
		parse(WHOLE "times of a wire\nfailed 1000 200001 1\nreset 200001\n"
			    "active 9000 200000 2\nactive 8000 200001 1\n");

	check_round_trip(trace);
	pm_lft_trace_free(trace);
}

static const struct {
	const char *name, *text, *message;
} errors[] = {
	{"empty", "", "in:1: empty"},
	{"version", "portmajor-sets 2\n" LIDS,
	 "in:1: no \"portmajor-sets 1\": no recording of LFT Sets of this version"},
	{"netlist", "Switch 36 \"x\"\n",
	 "in:1: no \"portmajor-sets 1\": no recording of LFT Sets of this version"},
	{"unknown", MAGIC "sets 1\n", "in:2: unknown row \"sets\""},
	{"bytes", MAGIC "engine \x01\n", "in:2: not text: byte 0x01"},
	{"long", MAGIC "engine " REST "\n", "in:2: more than 79 characters"},
	{"lid.form", MAGIC "lid 100008 1\n", "in:2: not a row \"lid GUID LID LMC\""},
	{"lid.more", MAGIC "lid 100008 1 0 0\n", "in:2: not a row \"lid GUID LID LMC\""},
	{"lid.lmc", MAGIC "lid 100008 1 8\n", "in:2: not a row \"lid GUID LID LMC\""},
	{"lid.0", MAGIC "lid 100008 0 0\n", "in:2: no LIDs 1 to 49151"},
	{"lid.high", MAGIC "lid 100008 49151 1\n", "in:2: no LIDs 1 to 49151"},
	{"lid.guid", MAGIC "lid 1 1 0\n",
	 "in:2: the fabric has no port with a cable and GUID 0x0000000000000001: of "
	 "another fabric?"},
	{"lid.port", MAGIC "lid 100008 1 0\nlid 100008 2 0\n",
	 "in:3: this port has LID 1 already"},
	{"lid.twice", MAGIC "lid 100008 2 1\nlid 10000a 3 0\n",
	 "in:3: LID 3 is that of line 2"},
	{"table.form", MAGIC "table 200000 0\n",
	 "in:2: not a row \"table GUID BLOCK ENTRIES\""},
	{"table.short", MAGIC "table 200000 0 ff" REST "\n",
	 "in:2: not a row \"table GUID BLOCK ENTRIES\""},
	{"table.digit", MAGIC "table 200000 0 " ENTRIES("0x", "01") "\n",
	 "in:2: not a row \"table GUID BLOCK ENTRIES\""},
	{"table.block", MAGIC "table 200000 768 " ENTRIES("01", "01") "\n",
	 "in:2: not a row \"table GUID BLOCK ENTRIES\""},
	{"table.port", MAGIC "table 200002 0 " ENTRIES("01", "03") "\n",
	 "in:2: port 3 of \"s0\", which has 2: of another fabric?"},
	{"table.switch", MAGIC "table 100008 0 " ENTRIES("01", "01") "\n",
	 "in:2: the fabric has no switch with GUID 0x0000000000100008: of another "
	 "fabric?"},
	{"table.twice", MAGIC L0 L0, "in:3: this block is in line 2 already"},
	{"table.none", MAGIC LIDS L0 L1 S0 FAILED,
	 "in:7: no table of switch \"s1\": of another fabric?"},
	{"failed.form", MAGIC "failed 200000 2\n",
	 "in:2: not a row \"failed NS GUID PORT\""},
	{"failed.switch", MAGIC "failed 0 200009 2\n",
	 "in:2: the fabric has no switch with GUID 0x0000000000200009: of another "
	 "fabric?"},
	{"failed.port", MAGIC "failed 0 200000 4\n",
	 "in:2: no cable at port 4 of \"l0\""},
	{"failed.port0", MAGIC "failed 0 200000 0\n",
	 "in:2: no cable at port 0 of \"l0\""},
	{"failed.beyond", MAGIC "failed 0 200000 5\n",
	 "in:2: no cable at port 5 of \"l0\""},
	{"failed.twice", MAGIC "failed 0 200000 2\nfailed 0 200002 1\n",
	 "in:3: this cable is in line 2 already"},
	{"failed.times", MAGIC "failed 0 200000 2\nfailed 5 200000 3\n",
	 "in:3: failed at 5 ns, others at 0"},
	{"failed.none", MAGIC LIDS TABLES SETS,
	 "in:10: no row \"failed\": nothing fails"},
	{"active.form", MAGIC "active 200000 2\n",
	 "in:2: not a row \"active NS GUID PORT\""},
	{"active.switch", MAGIC "active 5 100008 1\n",
	 "in:2: the fabric has no switch with GUID 0x0000000000100008: of another "
	 "fabric?"},
	{"active.port", MAGIC "active 5 200000 4\n",
	 "in:2: no cable at port 4 of \"l0\""},
	{"active.twice", MAGIC "active 5 200000 2\nactive 6 200002 1\n",
	 "in:3: this cable is in line 2 already"},
	{"active.up", MAGIC LIDS "active 5000 200000 3\n" TABLES FAILED,
	 "in:4: this cable has not failed"},
	{"active.early", MAGIC LIDS "active 1000 200000 2\n" TABLES FAILED,
	 "in:4: active at 1000 ns, and it failed at 1000"},
	{"reset.form", MAGIC "reset 0 200000\n", "in:2: not a row \"reset GUID\""},
	{"reset.switch", MAGIC "reset 100008\n",
	 "in:2: the fabric has no switch with GUID 0x0000000000100008: of another "
	 "fabric?"},
	{"reset.twice", MAGIC "reset 200000\nreset 200000\n",
	 "in:3: this switch is in line 2 already"},
	{"set.form", MAGIC "set 1 2 200000 0 " ENTRIES("01", "01") "\n",
	 "in:2: not a row \"set SENT ARRIVED ACKED GUID BLOCK ENTRIES\""},
	{"set.never-sent", MAGIC SET("- 1 2 200000", "01", "01"),
	 "in:2: not a row \"set SENT ARRIVED ACKED GUID BLOCK ENTRIES\""},
	{"set.switch", MAGIC SET("1 2 3 200009", "01", "01"),
	 "in:2: the fabric has no switch with GUID 0x0000000000200009: of another "
	 "fabric?"},
	{"set.port", MAGIC SET("1 2 3 200002", "01", "04"),
	 "in:2: port 4 of \"s0\", which has 2: of another fabric?"},
	{"set.backwards", MAGIC SET2 "\n" SET0, "in:4: sent before that of line 2"},
	{"set.arrived", MAGIC SET("2 1 3 200000", "01", "01"),
	 "in:2: it arrived before it was sent"},
	{"set.acked", MAGIC SET("1 3 2 200000", "01", "01"),
	 "in:2: acknowledged before it arrived"},
	{"set.acked-only", MAGIC SET("1 - 2 200000", "01", "01"),
	 "in:2: acknowledged before it arrived"},
};

static void test_errors(void **state)
{
	struct pm_lft_trace *none = NULL;
	struct pm_error big = {""};

	assert_int_equal(pm_lft_trace_parse("", PM_TEXTFILE_MAX_BYTES + 1, "in", fabric,
					    &none, &big),
			 -EFBIG);
	assert_string_equal(big.text, "in: more than 1073741824 bytes");
	for_each_row(row, errors) {
		struct pm_lft_trace *trace = NULL;
		struct pm_error err = {""};
		int rc = pm_lft_trace_parse(row->text, strlen(row->text), "in", fabric,
					    &trace, &err);

		if (rc != -EINVAL || trace || strcmp(err.text, row->message) != 0)
			fail_msg("%s: %d, \"%s\"", row->name, rc, err.text);
	}
}

static void test_files(void **state)
{
	struct pm_lft_trace *trace = NULL;
	struct pm_error err = {""};

	assert_int_equal(pm_lft_trace_read("/nowhere/to.sets", fabric, &trace, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/to.sets"));
	assert_null(trace);
}

/* ---- Following ---- */

/* The result of following a text; the caller frees its curve. */
static struct pm_outage follow(const char *text)
{
	struct pm_lft_trace *trace = parse(text);
	struct pm_outage found;

	pm_outage_follow(fabric, trace, &found);
	pm_lft_trace_free(trace);
	return found;
}

/*
 * Times from the failure on; b is cut off from a on the first path, a from b on the
 * second.
 */
static void test_follow(void **state)
{
	struct pm_outage found = follow(WHOLE);

	assert_int_equal(found.hosts, 2);
	assert_int_equal(found.pairs, 2);
	assert_int_equal(found.paths, 2);
	assert_int_equal(found.before, 0);
	assert_int_equal(found.at_once, 2);
	assert_int_equal(found.end, 0);
	assert_int_equal(found.differ, 2);
	assert_int_equal(found.unacknowledged, 2);
	assert_int_equal(found.first, 1000);
	assert_int_equal(found.last, 5000);
	assert_int_equal(found.num_points, 3);
	assert_int_equal(found.curve[1].ns, 2000);
	assert_int_equal(found.curve[1].dead, 1);
	assert_int_equal(found.curve[2].ns, 5000);
	assert_int_equal(found.curve[2].dead, 0);
	assert_int_equal(found.back[PM_OUTAGE_HALF], 2000);
	assert_int_equal(found.back[PM_OUTAGE_MOST], 5000);
	assert_int_equal(found.back[PM_OUTAGE_ALL], 5000);
	assert_true(found.path_seconds > 6.999e-6 && found.path_seconds < 7.001e-6);
	free(found.curve);
}

/*
 * Paths that a Set breaks for a while return later, and a path that stays cut off is no
 * delay.
 */
static void test_follow_worse(void **state)
{
	struct pm_outage found =
		follow(MAGIC LIDS TABLES FAILED SET("1000 1500 1500 200000", "01", "03")
			       SET("1500 1700 1700 200003", "01", "ff")
				       SET("1500 1900 1900 200003", "01", "02"));

	assert_int_equal(found.at_once, 2);
	assert_int_equal(found.end, 1);
	assert_int_equal(found.back[PM_OUTAGE_HALF], 900);
	assert_int_equal(found.back[PM_OUTAGE_ALL], 900);
	assert_true(found.path_seconds > 0.699e-6 && found.path_seconds < 0.701e-6);
	free(found.curve);
}

/* b's LID goes back and forth between l0 and s0, then comes to a dead end, and again. */
static void test_follow_loops(void **state)
{
	struct pm_outage found =
		follow(MAGIC LIDS TABLES
		       "failed 1000 0x200000 3\n" SET("2000 2000 2000 200002", "01", "01")
			       SET("5000 5000 5000 200002", "01", "ff")
				       SET("6000 6000 6000 200002", "01", "01")
					       SET("8000 8000 8000 200000", "01", "02"));

	assert_int_equal(found.loops_at_once, 0);
	assert_int_equal(found.loops_most, 1);
	assert_int_equal(found.loops_end, 1);
	assert_true(found.loop_seconds > 4.999e-6 && found.loop_seconds < 5.001e-6);
	assert_int_equal(found.end, 1);
	free(found.curve);
}

/* Sets before the failure, a host that is lost, and two of one time in their order. */
static void test_follow_others(void **state)
{
	struct pm_outage found = follow(MAGIC LIDS TABLES "failed 1000 200000 1\n" SET(
		"0 500 500 200000", "01", "ff") SET("1500 1700 1700 200003", "01", "ff")
						SET("1500 1700 1700 200003", "01", "02"));

	assert_int_equal(found.before, 1);
	assert_int_equal(found.all_before, 2);
	assert_int_equal(found.hosts, 1);
	assert_int_equal(found.pairs, 0);
	assert_int_equal(found.at_once, 0);
	assert_int_equal(found.differ, 3);
	assert_int_equal(found.num_points, 1);
	assert_int_equal(found.first, 0);
	assert_int_equal(found.last, 700);
	free(found.curve);
}

/* Paths that were restored before the failure are over by then. */
static void test_follow_before(void **state)
{
	struct pm_outage found = follow(MAGIC LIDS TABLES "failed 1000 200000 2\n" SET(
		"0 500 500 200000", "01", "ff") SET("0 600 600 200000", "01", "02"));

	assert_int_equal(found.before, 0);
	assert_int_equal(found.at_once, 2);
	assert_int_equal(found.differ, 2);
	assert_int_equal(found.num_points, 1);
	free(found.curve);
}

/*
 * A Set that arrives with the failure: the curve begins with the dead paths after it.
 */
static void test_follow_at_once(void **state)
{
	struct pm_outage found = follow(MAGIC LIDS TABLES "failed 1000 200000 2\n" SET(
		"0 1000 1000 200000", "01", "03"));

	assert_int_equal(found.at_once, 2);
	assert_int_equal(found.end, 1);
	assert_int_equal(found.num_points, 1);
	assert_int_equal(found.curve[0].dead, 1);
	free(found.curve);
}

/* A host's link flaps: its pairs are cut until it returns, whatever Sets do. */
static void test_follow_flap(void **state)
{
	struct pm_outage found = follow(
		MAGIC LIDS TABLES "failed 1000 200000 1\nactive 201000 200000 1\n" SET(
			"2000 2000 2000 200000", "ff", "02")
			SET("3000 3000 3000 200000", "01", "02"));

	assert_int_equal(found.before, 0);
	assert_int_equal(found.hosts, 2);
	assert_int_equal(found.pairs, 2);
	assert_int_equal(found.at_once, 2);
	assert_int_equal(found.end, 0);
	assert_int_equal(found.num_points, 2);
	assert_int_equal(found.curve[1].ns, 200000);
	assert_int_equal(found.back[PM_OUTAGE_HALF], 200000);
	assert_int_equal(found.back[PM_OUTAGE_ALL], 200000);
	assert_int_equal(found.last, 2000);
	assert_true(found.path_seconds > 399.9e-6 && found.path_seconds < 400.1e-6);
	free(found.curve);
}

#define L0_FAILS "failed 1000 200000 1\nfailed 1000 200000 2\nfailed 1000 200000 3\n"
#define L0_RETURNS "active 5000 200000 1\nactive 6000 200000 2\nactive 7000 200000 3\n"

/* A leaf is away with its host. With its table paths return with the second link. */
static void test_follow_leaf(void **state)
{
	struct pm_outage found = follow(MAGIC LIDS TABLES L0_FAILS L0_RETURNS);

	assert_int_equal(found.at_once, 2);
	assert_int_equal(found.num_points, 2);
	assert_int_equal(found.curve[1].ns, 5000);
	assert_int_equal(found.curve[1].dead, 0);
	free(found.curve);
	/* Without it they wait for the Set; one to an empty table comes in time. */
	found = follow(MAGIC LIDS TABLES L0_FAILS L0_RETURNS
		       "reset 200000\n" SET("8000 9000 9000 200000", "01", "03"));
	assert_int_equal(found.at_once, 2);
	assert_int_equal(found.num_points, 2);
	assert_int_equal(found.curve[1].ns, 8000);
	free(found.curve);
	found = follow(MAGIC LIDS TABLES L0_FAILS L0_RETURNS
		       "reset 200000\n" SET("2000 3000 3000 200000", "01", "03"));
	assert_int_equal(found.num_points, 3);
	assert_int_equal(found.curve[1].ns, 5000); /* b to a, over s0 */
	assert_int_equal(found.curve[1].dead, 1);
	assert_int_equal(found.curve[2].ns, 6000); /* a to b, over s1 */
	assert_int_equal(found.curve[2].dead, 0);
	free(found.curve);
}

/* Events of one time are one point, or none. */
static void test_follow_one_time(void **state)
{
	struct pm_outage found =
		follow(MAGIC LIDS TABLES FAILED SET("1000 1500 1500 200000", "01", "03")
			       SET("1000 1500 1500 200000", "01", "02")
				       SET("1000 1700 1700 200000", "01", "03")
					       SET("1000 1700 1700 200001", "03", "01"));

	assert_int_equal(found.num_points, 2);
	assert_int_equal(found.curve[1].ns, 700);
	assert_int_equal(found.curve[1].dead, 0);
	free(found.curve);
}

/* With LMC 1 each host has two paths to the other, over different planes. */
static void test_follow_lmc(void **state)
{
	struct pm_lft_trace *trace =
		parse(MAGIC "lid 100008 2 1\nlid 10000a 4 1\n"
			    "table 200000 0 ffff01010203ffff" TAIL "\n"
			    "table 200001 0 ffff02030101ffff" TAIL "\n"
			    "table 200002 0 ffff01010202ffff" TAIL "\n"
			    "table 200003 0 ffff01010202ffff" TAIL "\n" FAILED);
	struct pm_outage found;

	pm_outage_follow(fabric, trace, &found);
	assert_int_equal(found.hosts, 2);
	assert_int_equal(found.pairs, 2);
	assert_int_equal(found.paths, 4);
	assert_int_equal(found.at_once, 2);
	free(found.curve);
	pm_lft_trace_free(trace);
}

/* ---- Computing ---- */

/* Computes a failure; the plan's tables after it are in *wanted. */
static struct pm_lft_trace *compute(struct world *world, const char *failure,
				    uint32_t smps)
{
	const struct pm_lft_trace_config config = {
		.sm = PM_NONE, .mad_ns = 100000, .wire_smps = smps};
	struct pm_ports ports = {0};
	struct pm_lft_trace *trace;

	assert_int_equal(pm_failures_add(world->fabric, world->plan, "loss", failure,
					 &ports, NULL),
			 0);
	trace = pm_lft_trace_compute(world->fabric, world->plan, &config, ports.list,
				     ports.num);
	free(ports.list);
	return trace;
}

static void check_computed(struct world *world, const char *failure)
{
	struct pm_lft_trace *trace = compute(world, failure, 4);
	struct pm_delta delta = world_fail(world, failure);
	struct pm_outage found;

	assert_int_equal(trace->num, delta.blocks);
	pm_outage_follow(world->fabric, trace, &found);
	assert_int_equal(found.before, 0);
	assert_int_equal(found.paths, found.pairs << world->plan->lmc);
	assert_true(found.at_once > 0);
	assert_int_equal(found.end, 0);
	assert_int_equal(found.differ, trace->num);
	assert_int_equal(found.last, (trace->num + 3) / 4 * 100000);
	for (uint32_t i = 0; i < trace->num; i++) {
		const struct pm_lft_trace_set *set = &trace->set[i];
		const uint8_t *table = pm_routes_table(world->routes, set->sw) +
				       (size_t)set->block * PM_LFT_BLOCK;

		assert_int_equal(set->sent, i / 4 * 100000);
		for (uint32_t k = 0; k < PM_LFT_BLOCK; k++)
			if (table[k] != PM_LFT_KEEP)
				assert_int_equal(trace->entries[i * PM_LFT_BLOCK + k],
						 table[k]);
	}
	fabric = world->fabric;
	check_round_trip(trace);
	free(found.curve);
	pm_lft_trace_free(trace);
}

static void test_compute(void **state)
{
	static const char *const failures[] = {"s0-*", "leaf5:20", "s1-fab0",
					       "s2-line1:20"};

	for (size_t i = 0; i < LENGTH(failures); i++) {
		struct pm_plan_config config = {.order = PM_GROUPED, .lmc = i % 2};
		struct pm_fabric *drawn = fabric;
		struct world world;

		world_make_with(&world, world_director(36), &config);
		check_computed(&world, failures[i]);
		world_free(&world);
		fabric = drawn;
	}
}

/* Sets to this switch. */
static uint32_t count_sets(const struct pm_lft_trace *trace, const struct pm_fabric *of,
			   const char *sw)
{
	uint32_t node = pm_fabric_find_name(of, sw), num = 0;

	for (uint32_t i = 0; i < trace->num; i++)
		num += trace->set[i].sw == node;
	return num;
}

/* Switches out of the subnet manager's reach get nothing. */
static void test_compute_parts(void **state)
{
	struct pm_fabric *of = recipe_draw(
		"l0/4 l1/4 l2/4 s0/3 s1/3 l0:1=a l0:2=b l1:1=c l1:2=d l2:1=e l2:2=f "
		"l0:3=s0:1 l1:3=s0:2 l2:3=s0:3 l0:4=s1:1 l1:4=s1:2 l2:4=s1:3");
	struct pm_lft_trace_config config = {
		.sm = PM_NONE, .mad_ns = 1000, .wire_smps = 1};
	/* {l0, l1, s0} and {l2, s1} remain; one cable is named at both ends. */
	const uint32_t unreachable[] = {world_port(of, "l2", 3), world_port(of, "l0", 4),
					world_port(of, "s1", 2), world_port(of, "l1", 4)};
	const uint32_t own[] = {world_port(of, "l0", 4), world_port(of, "e", 1)};
	struct pm_plan *plan;
	struct pm_lft_trace *trace;

	assert_int_equal(pm_plan_make(of, &(struct pm_plan_config){0}, &plan, NULL), 0);
	trace = pm_lft_trace_compute(of, plan, &config, unreachable, 4);
	assert_int_equal(trace->num_failed, 3);
	assert_true(count_sets(trace, of, "l0") && count_sets(trace, of, "l1"));
	assert_int_equal(count_sets(trace, of, "l2") + count_sets(trace, of, "s1"), 0);
	pm_lft_trace_free(trace);
	config.sm = world_port(of, "e", 1);
	trace = pm_lft_trace_compute(of, plan, &config, unreachable, 4);
	assert_int_equal(count_sets(trace, of, "l0") + count_sets(trace, of, "l1"), 0);
	pm_lft_trace_free(trace);
	trace = pm_lft_trace_compute(of, plan, &config, own, 1);
	assert_true(trace->num > 0);
	pm_lft_trace_free(trace);
	/* It has lost its own cable. */
	trace = pm_lft_trace_compute(of, plan, &config, own, 2);
	assert_int_equal(trace->num, 0);
	assert_int_equal(trace->num_failed, 2);
	pm_lft_trace_free(trace);
	pm_plan_free(plan);
	pm_fabric_free(of);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_returns),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_follow_worse),
		cmocka_unit_test(test_follow_loops),
		cmocka_unit_test(test_follow_others),
		cmocka_unit_test(test_follow_lmc),
		cmocka_unit_test(test_compute),
		cmocka_unit_test(test_compute_parts),
		cmocka_unit_test(test_follow_before),
		cmocka_unit_test(test_follow_at_once),
		cmocka_unit_test(test_follow_one_time),
		cmocka_unit_test(test_follow_flap),
		cmocka_unit_test(test_follow_leaf),
		cmocka_unit_test(test_length),
	};

	return cmocka_run_group_tests(tests, draw, drop);
}
