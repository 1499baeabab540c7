/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Plans on disk: round trips, and damage of every kind. */

#include "world.h"
#include "unit.h"

#include <portmajor/base/replace.h>
#include <portmajor/files/plan_file.h>

#include <sys/stat.h>
#include <unistd.h>

struct folder {
	char path[64]; /* a folder of its own */
	char plan[96]; /* a file in it */
};

static int make_folder(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	snprintf(f->path, sizeof(f->path), "/tmp/test_plan_file.XXXXXX");
	if (!mkdtemp(f->path)) {
		free(f);
		return -1;
	}
	snprintf(f->plan, sizeof(f->plan), "%s/a.plan", f->path);
	*state = f;
	return 0;
}

static int remove_folder(void **state)
{
	struct folder *f = *state;

	unlink(f->plan);
	rmdir(f->path);
	free(f);
	return 0;
}

static char *slurp(const char *path, size_t *length)
{
	FILE *file = fopen(path, "r");
	char *text = malloc(1 << 22);

	assert_non_null(file);
	assert_non_null(text);
	*length = fread(text, 1, (1 << 22) - 1, file);
	text[*length] = '\0';
	fclose(file);
	return text;
}

static int write_plan(const struct pm_plan *plan, const char *path, struct pm_error *err)
{
	char *text;
	size_t length;
	int rc = pm_plan_file_print(plan, &text, &length);

	if (rc)
		return rc;
	rc = pm_replace(path, ".new", text, length, err);
	free(text);
	return rc;
}

static void assert_same_plan(const struct pm_plan *a, const struct pm_plan *b)
{
	uint32_t ports = a->topology->num_ports;

	assert_int_equal(a->order, b->order);
	assert_int_equal(a->lmc, b->lmc);
	assert_int_equal(a->top_lid, b->top_lid);
	assert_int_equal(ports, b->topology->num_ports);
	assert_memory_equal(a->lid, b->lid, ports * sizeof(*a->lid));
	assert_memory_equal(a->plane, b->plane, ports * sizeof(*a->plane));
	assert_memory_equal(a->rank, b->rank, ports * sizeof(*a->rank));
	assert_memory_equal(a->base_plane, b->base_plane, ports);
	assert_int_equal(a->num_runs, b->num_runs);
	for (uint32_t i = 0; i < a->num_runs; i++) {
		assert_int_equal(a->runs[i].start, b->runs[i].start);
		assert_int_equal(a->runs[i].length, b->runs[i].length);
		assert_int_equal(a->runs[i].plane, b->runs[i].plane);
	}
}

static void test_round_trip(void **state)
{
	static const struct {
		const char *name;
		struct pm_plan_config config;
	} rows[] = {
		{"grouped", {.order = PM_GROUPED}},
		{"leaf-major", {.order = PM_LEAF_MAJOR}},
		{"LMC 2", {.order = PM_GROUPED, .lmc = 2}},
	};
	struct folder *f = *state;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct pm_fabric *fabric = world_director(36);
		struct pm_plan *plan = NULL, *again = NULL;
		struct pm_error err = {""};

		if (pm_plan_make(fabric, &rows[i].config, &plan, &err) ||
		    write_plan(plan, f->plan, &err) ||
		    pm_plan_file_read(f->plan, &again, &err))
			fail_msg("%s: %s", rows[i].name, err.text);
		assert_same_plan(plan, again);
		pm_plan_free(plan);
		pm_plan_free(again);
		pm_fabric_free(fabric);
	}
}

/* Names that need quoting, and the rarer marks of nodes and ports. */
static void test_oddities(void **state)
{
	struct pm_fabric *fabric = pm_fabric_new();
	struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan *plan = NULL, *again = NULL;
	struct folder *f = *state;
	struct pm_error err = {""};
	uint32_t sw, host, node;

	pm_fabric_add_node(fabric, PM_SWITCH, 1, 4, "a b%c\n\"\xc3\xa4", &sw, NULL);
	pm_fabric_add_node(fabric, PM_CA, 2, 1, "h", &host, NULL);
	pm_fabric_add_node(fabric, PM_CA, 3, 1, "an", &node, NULL);
	pm_fabric_link(fabric, sw, 1, host, 1, NULL);
	pm_fabric_link(fabric, sw, 4, node, 1, NULL);
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	fabric->nodes[0].root = 1;
	fabric->ports[1].host = PM_IO;
	fabric->ports[4].host = PM_AGGREGATION;
	assert_int_equal(pm_plan_make(fabric, &config, &plan, &err), 0);
	assert_int_equal(write_plan(plan, f->plan, &err), 0);
	if (pm_plan_file_read(f->plan, &again, &err))
		fail_msg("%s", err.text);
	assert_string_equal(pm_fabric_name(again->topology, 0), "a b%c\n\"\xc3\xa4");
	assert_int_equal(again->topology->nodes[0].root, 1);
	assert_int_equal(again->topology->ports[1].host, PM_IO);
	assert_int_equal(again->topology->ports[4].host, PM_AGGREGATION);
	pm_plan_free(plan);
	pm_plan_free(again);
	pm_fabric_free(fabric);
}

/* Whatever byte is changed, and wherever the file ends, it is refused. */
static void test_damage(void **state)
{
	struct pm_fabric *fabric = world_director(36);
	struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan *plan = NULL, *again = NULL;
	struct folder *f = *state;
	struct pm_error err = {""};
	size_t length;
	char *text;

	assert_int_equal(pm_plan_make(fabric, &config, &plan, &err), 0);
	assert_int_equal(write_plan(plan, f->plan, &err), 0);
	text = slurp(f->plan, &length);
	assert_int_equal(pm_plan_file_parse(text, length, "x", &again, &err), 0);
	pm_plan_free(again);
	again = NULL;
	for (size_t i = 0; i < length; i += 97) {
		assert_int_equal(pm_plan_file_parse(text, i, "x", &again, &err),
				 -EBADMSG);
		text[i] ^= 1;
		assert_int_equal(pm_plan_file_parse(text, length, "x", &again, &err),
				 -EBADMSG);
		text[i] ^= 1;
	}
	assert_null(again);
	free(text);
	pm_plan_free(plan);
	pm_fabric_free(fabric);
}

#define HEAD "portmajor-plan 4\norder grouped\nlmc 0\n"
#define SW "switch 1 1 4 a\n"

/* A corrected checksum does not make a wrong content valid. */
static const struct {
	const char *name, *body, *says;
} nonsense[] = {
	{"older format", "portmajor-plan 3\norder grouped\nlmc 0\n",
	 "x:1: a plan of format 3; this version reads format 4"},
	{"newer format", "portmajor-plan 4.1\nanything\n",
	 "x:1: a plan of format 4.1; this version reads format 4"},
	{"no plan", "portmajor-table 4\norder grouped\nlmc 0\n", "x:1: not a plan"},
	{"order", "portmajor-plan 4\norder x\nlmc 0\n", "x:2: no order"},
	{"lmc", "portmajor-plan 4\norder grouped\nlmc 4\n", "x:3: no lmc"},
	{"no switch", HEAD, "end port"},
	{"line", HEAD "foo 1\n", "x:4: unknown"},
	{"ports", HEAD "switch 1 1 300 a\n", "x:4:"},
	{"cable", HEAD SW "cable 0 1 1 1\n", "x:5: not a cable"},
	{"disorder",
	 HEAD "switch 2 2 4 b\n"
	      "switch 1 1 4 a\n",
	 "order"},
	{"LID twice", HEAD SW "host 0 1\nplace 0 0 5 - 0 0\nplace 0 1 5 - 0 0\n",
	 "LID 5"},
	{"LID 0", HEAD SW "host 0 1\nplace 0 0 0 - 0 0\n", "LID 0"},
	{"plane", HEAD SW "host 0 1\nplace 0 0 5 3 0 0\n", "plane"},
	{"no LID", HEAD SW "host 0 1\n", "has no LID"},
	{"switch without a GUID", HEAD "switch 1\n", "x:4: not a switch"},
	{"switch without ports", HEAD "switch 1 1 0 a\n", "x:4: this switch"},
	{"switch twice", HEAD "switch 1 1 4 a\nswitch 1 1 4 a\n", "not in order"},
	{"key", HEAD "switch -1 1 4 a\n", "x:4: not a switch"},
	{"name", HEAD "switch 1 1 4 a%2\n", "x:4: not a switch"},
	{"name with NUL", HEAD "switch 1 1 4 a%00\n", "x:4: not a switch"},
	{"name, no digits", HEAD "switch 1 1 4 %zz\n", "x:4: not a switch"},
	{"root first", HEAD "root 0\n", "x:4: not a root"},
	{"root", HEAD SW "root 1\n", "x:5: not a root"},
	{"more behind root", HEAD SW "root 0 0\n", "x:5: not a root"},
	{"cable first", HEAD "cable 0 1 0 2\n", "x:4: not a cable"},
	{"cable port", HEAD SW "cable 0 1 0 5\n", "x:5: not a cable"},
	{"more behind cable", HEAD SW "cable 0 1 0 2 3\n", "x:5: not a cable"},
	{"cable to port 0", HEAD SW "cable 0 1 0 0\n", "x:5: a port"},
	{"cable twice", HEAD SW "cable 0 1 0 2\ncable 0 1 0 3\n", "x:6: a port"},
	{"host", HEAD SW "host 0 5\n", "x:5: not a host port"},
	{"host at port 0", HEAD SW "host 0 0\n", "x:5: not a host port"},
	{"host and cable", HEAD SW "cable 0 1 0 2\nhost 0 1\n", "x:6: this port"},
	{"io and cable", HEAD SW "cable 0 1 0 2\nio 0 2\n", "x:6: this port"},
	{"io", HEAD SW "io x 1\n", "x:5: not a host port"},
	{"place", HEAD SW "place 0 1 49152 - 0 0\n", "x:5: not a place"},
	{"place, turn", HEAD SW "place 0 1 5 - 256 0\n", "x:5: not a place"},
	{"place, rank", HEAD SW "place 0 1 5 - 0 65536\n", "x:5: not a place"},
	{"place, plane", HEAD SW "place 0 1 5 -1 0 0\n", "x:5: not a place"},
	{"more behind place", HEAD SW "place 0 1 5 - 0 0 0\n", "x:5: not a place"},
	{"run, length", HEAD SW "run 0 x -\n", "x:5: not a run"},
	{"run, plane", HEAD SW "run 0 64\n", "x:5: not a run"},
	{"more behind run", HEAD SW "run 0 64 - 1\n", "x:5: not a run"},
	/* The digit behind the last one. */
	{"key, no digit", HEAD "switch g 1 4 a\n", "x:4: not a switch"},
	{"GUID, no digit", HEAD "switch 1 g 4 a\n", "x:4: not a switch"},
	{"ports, no digit", HEAD "switch 1 1 a x\n", "x:4: not a switch"},
	{"root, no digit", HEAD SW "root a\n", "x:5: not a root"},
	{"cable, no digit", HEAD SW "cable 0 a 0 2\n", "x:5: not a cable"},
	{"node of a cable, no digit", HEAD SW "cable a 1 0 2\n", "x:5: not a cable"},
	{"LID, no digit", HEAD SW "place 0 1 a - 0 0\n", "x:5: not a place"},
	{"plane, no digit", HEAD SW "place 0 1 5 a 0 0\n", "x:5: not a place"},
	{"turn, no digit", HEAD SW "place 0 1 5 - a 0\n", "x:5: not a place"},
	{"rank, no digit", HEAD SW "place 0 1 5 - 0 a\n", "x:5: not a place"},
	{"start of a run, no digit", HEAD SW "run a 64 -\n", "x:5: not a run"},
	{"length of a run, no digit", HEAD SW "run 0 a -\n", "x:5: not a run"},
	{"plane of a run, no digit", HEAD SW "run 0 64 a\n", "x:5: not a run"},
	{"lmc, no digit", "portmajor-plan 4\norder grouped\nlmc a\n", "x:3: no lmc"},
	{"adopted late", HEAD SW "adopted\n", "x:5: unknown line"},
	{"adopted and more", HEAD "adopted 1\n", "x:4: unknown line"},
	{"empty line", HEAD "\n" SW, "x:4: unknown line"},
	{"no order", "portmajor-plan 4\nlmc 0\n", "x:2: no order"},
	{"more behind lmc", "portmajor-plan 4\norder grouped\nlmc 0 0\n", "x:3: no lmc"},
	{"runs", HEAD SW "host 0 1\nplace 0 0 5 - 0 0\nrun 64 64 -\nrun 0 64 -\n",
	 "run at LID 0"},
	{"plane of a run", HEAD SW "host 0 1\nplace 0 0 5 - 0 0\nrun 64 64 0\n",
	 "run at LID 64: no such plane"},
	{"run", HEAD SW "host 0 1\nplace 0 0 5 - 0 0\nrun 49000 400 -\n", "49399"},
};

/* Parses a body with the line that ends it, which has its checksum. */
static int parse_body(const char *body, struct pm_plan **plan, struct pm_error *err)
{
	char text[512];
	uint64_t hash = 0xcbf29ce484222325;

	for (const char *c = body; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	snprintf(text, sizeof(text), "%send %016llx\n", body, (unsigned long long)hash);
	return pm_plan_file_parse(text, strlen(text), "x", plan, err);
}

static void test_nonsense(void **state)
{
	for (size_t i = 0; i < LENGTH(nonsense); i++) {
		struct pm_plan *plan = NULL;
		struct pm_error err = {""};

		if (parse_body(nonsense[i].body, &plan, &err) != -EBADMSG ||
		    !strstr(err.text, nonsense[i].says) || plan)
			fail_msg("%s: \"%s\"", nonsense[i].name, err.text);
	}
}

/* The highest numbers that a line may have, and one more. */
static void test_ranges(void **state)
{
	static const struct {
		const char *line;
		bool good;
	} rows[] = {
		{"place 0 1 5 - 0 65535\n", true},
		{"place 0 1 5 - 0 65536\n", false},
		{"place 0 1 49151 - 0 0\n", true},
		{"place 0 1 49152 - 0 0\n", false},
		{"place 0 1 5 - 1 0\n", false}, /* a turn, but no LMC */
		{"place 0 1 5 - 255 0\n", false},
		{"place 0 1 5 4294967294 0 0\n", false},
		{"place 0 1 5 4294967295 0 0\n", false},
		{"place 0 2 5 - 0 0\n", true}, /* an empty slot */
		{"place 0 3 5 - 0 0\n", false},
		{"place 1 1 5 - 0 0\n", false},
		{"place 0 1 5 - 0 0\nrun 0 49152 -\n", true},
		{"place 0 1 5 - 0 0\nrun 0 49153 -\n", false},
		{"place 0 1 5 - 0 0\nrun 49151 1 -\n", true},
		{"place 0 1 5 - 0 0\nrun 49152 1 -\n", false},
		{"place 0 1 5 - 0 0\nrun 64 0 -\n", false},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		char text[256];
		struct pm_plan *plan = NULL;
		struct pm_error err = {""};
		int rc;

		snprintf(text, sizeof(text),
			 HEAD "switch 1 1 2 a\nhost 0 1\nplace 0 0 1 - 0 0\n%s",
			 rows[i].line);
		rc = parse_body(text, &plan, &err);
		if (rc != (rows[i].good ? 0 : -EBADMSG))
			fail_msg("%s: %d %s", rows[i].line, rc, err.text);
		pm_plan_free(plan);
	}
}

/* A plan that was made of the tables found comes back as such. */
static void test_adopted(void **state)
{
	struct pm_fabric *fabric = world_director(36);
	struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan *plan = NULL, *again = NULL;
	struct folder *f = *state;

	assert_int_equal(pm_plan_make(fabric, &config, &plan, NULL), 0);
	for (int adopted = 0; adopted < 2; adopted++) {
		pm_plan_set_adopted(plan, adopted);
		assert_int_equal(write_plan(plan, f->plan, NULL), 0);
		assert_int_equal(pm_plan_file_read(f->plan, &again, NULL), 0);
		assert_int_equal(again->adopted, adopted);
		assert_same_plan(plan, again);
		pm_plan_free(again);
	}
	pm_plan_free(plan);
	pm_fabric_free(fabric);
}

static void test_files(void **state)
{
	struct pm_fabric *fabric = world_director(36);
	struct pm_plan_config config = {.order = PM_GROUPED};
	struct pm_plan *plan = NULL;
	struct folder *f = *state;
	struct pm_error err = {""};
	char missing[128];
	struct stat st;

	assert_int_equal(pm_plan_file_read(f->plan, &plan, &err), -ENOENT);
	assert_int_equal(pm_plan_file_read(f->path, &plan, &err), -EISDIR);
	assert_null(plan);
	assert_int_equal(pm_plan_make(fabric, &config, &plan, &err), 0);
	snprintf(missing, sizeof(missing), "%s/no/a.plan", f->path);
	assert_int_equal(write_plan(plan, missing, &err), -ENOENT);
	assert_non_null(strstr(err.text, missing));
	assert_int_equal(write_plan(plan, f->plan, &err), 0);
	snprintf(missing, sizeof(missing), "%s.new", f->plan);
	assert_int_equal(stat(missing, &st), -1);
	pm_plan_free(plan);
	pm_fabric_free(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_oddities, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_damage, make_folder, remove_folder),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test_setup_teardown(test_adopted, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_files, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
