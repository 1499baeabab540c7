/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Plans on disk: round trips, and damage of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world.h"

#include <portmajor/planfile.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	snprintf(f->path, sizeof(f->path), "/tmp/test_planfile.XXXXXX");
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

static void assert_same_plan(const struct pm_plan *a, const struct pm_plan *b)
{
	uint32_t ports = a->known->num_ports;

	assert_int_equal(a->order, b->order);
	assert_int_equal(a->lmc, b->lmc);
	assert_int_equal(a->top_lid, b->top_lid);
	assert_int_equal(ports, b->known->num_ports);
	assert_memory_equal(a->lid, b->lid, ports * sizeof(*a->lid));
	assert_memory_equal(a->plane, b->plane, ports * sizeof(*a->plane));
	assert_memory_equal(a->rank, b->rank, ports * sizeof(*a->rank));
	assert_memory_equal(a->turn, b->turn, ports);
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
		    pm_planfile_write(plan, f->plan, &err) ||
		    pm_planfile_read(f->plan, &again, &err))
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
	uint32_t sw, host;

	pm_fabric_add_node(fabric, PM_SWITCH, 1, 4, "a b%c\n\"\xc3\xa4", &sw, NULL);
	pm_fabric_add_node(fabric, PM_CA, 2, 1, "h", &host, NULL);
	pm_fabric_link(fabric, sw, 1, host, 1, NULL);
	assert_int_equal(pm_fabric_seal(fabric, NULL), 0);
	fabric->nodes[0].root = 1;
	fabric->ports[1].host = PM_IO;
	assert_int_equal(pm_plan_make(fabric, &config, &plan, &err), 0);
	assert_int_equal(pm_planfile_write(plan, f->plan, &err), 0);
	if (pm_planfile_read(f->plan, &again, &err))
		fail_msg("%s", err.text);
	assert_string_equal(pm_fabric_name(again->known, 0), "a b%c\n\"\xc3\xa4");
	assert_int_equal(again->known->nodes[0].root, 1);
	assert_int_equal(again->known->ports[1].host, PM_IO);
	pm_plan_free(plan);
	pm_plan_free(again);
	pm_fabric_free(fabric);
}

/* Whatever byte is changed, and wherever the file ends, it is not taken. */
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
	assert_int_equal(pm_planfile_write(plan, f->plan, &err), 0);
	text = slurp(f->plan, &length);
	assert_int_equal(pm_planfile_parse(text, length, "x", &again, &err), 0);
	pm_plan_free(again);
	again = NULL;
	for (size_t i = 0; i < length; i += 97) {
		assert_int_equal(pm_planfile_parse(text, i, "x", &again, &err), -EBADMSG);
		text[i] ^= 1;
		assert_int_equal(pm_planfile_parse(text, length, "x", &again, &err),
				 -EBADMSG);
		text[i] ^= 1;
	}
	assert_null(again);
	free(text);
	pm_plan_free(plan);
	pm_fabric_free(fabric);
}

/* A checksum made right again does not make nonsense sense. */
static void test_nonsense(void **state)
{
	static const struct {
		const char *name, *body, *says;
	} rows[] = {
		{"version", "portmajor-plan 9\norder grouped\nlmc 0\n", "version"},
		{"order", "portmajor-plan 3\norder x\nlmc 0\n", "x:2: no order"},
		{"lmc", "portmajor-plan 3\norder grouped\nlmc 4\n", "x:3: no lmc"},
		{"no switch", "portmajor-plan 3\norder grouped\nlmc 0\n", "end port"},
		{"line", "portmajor-plan 3\norder grouped\nlmc 0\nfoo 1\n",
		 "x:4: unknown"},
		{"ports", "portmajor-plan 3\norder grouped\nlmc 0\nswitch 1 1 300 a\n",
		 "x:4:"},
		{"cable",
		 "portmajor-plan 3\norder grouped\nlmc 0\nswitch 1 1 4 a\n"
		 "cable 0 1 1 1\n",
		 "x:5: not a cable"},
		{"disorder",
		 "portmajor-plan 3\norder grouped\nlmc 0\nswitch 2 2 4 b\n"
		 "switch 1 1 4 a\n",
		 "order"},
		{"LID twice",
		 "portmajor-plan 3\norder grouped\nlmc 0\nswitch 1 1 4 a\n"
		 "host 0 1\nplace 0 0 5 - 0 0\nplace 0 1 5 - 0 0\n",
		 "LID 5"},
		{"LID 0",
		 "portmajor-plan 3\norder grouped\nlmc 0\nswitch 1 1 4 a\n"
		 "host 0 1\nplace 0 0 0 - 0 0\n",
		 "LID 0"},
		{"plane",
		 "portmajor-plan 3\norder grouped\nlmc 0\nswitch 1 1 4 a\n"
		 "host 0 1\nplace 0 0 5 3 0 0\n",
		 "plane"},
		{"no LID",
		 "portmajor-plan 3\norder grouped\nlmc 0\nswitch 1 1 4 a\n"
		 "host 0 1\n",
		 "has no LID"},
		{"runs",
		 "portmajor-plan 3\norder grouped\nlmc 0\nswitch 1 1 4 a\n"
		 "host 0 1\nplace 0 0 5 - 0 0\nrun 64 64 -\nrun 0 64 -\n",
		 "run at LID 0"},
		{"run",
		 "portmajor-plan 3\norder grouped\nlmc 0\nswitch 1 1 4 a\n"
		 "host 0 1\nplace 0 0 5 - 0 0\nrun 49000 400 -\n",
		 "49399"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		char text[512];
		uint64_t hash = 0xcbf29ce484222325;
		struct pm_plan *plan = NULL;
		struct pm_error err = {""};

		for (const char *c = rows[i].body; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
		snprintf(text, sizeof(text), "%send %016llx\n", rows[i].body,
			 (unsigned long long)hash);
		if (pm_planfile_parse(text, strlen(text), "x", &plan, &err) != -EBADMSG ||
		    !strstr(err.text, rows[i].says) || plan)
			fail_msg("%s: \"%s\"", rows[i].name, err.text);
	}
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

	assert_int_equal(pm_planfile_read(f->plan, &plan, &err), -ENOENT);
	assert_int_equal(pm_planfile_read(f->path, &plan, &err), -EIO);
	assert_null(plan);
	assert_int_equal(pm_plan_make(fabric, &config, &plan, &err), 0);
	snprintf(missing, sizeof(missing), "%s/no/a.plan", f->path);
	assert_int_equal(pm_planfile_write(plan, missing, &err), -ENOENT);
	assert_non_null(strstr(err.text, missing));
	assert_int_equal(pm_planfile_write(plan, f->plan, &err), 0);
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
		cmocka_unit_test_setup_teardown(test_files, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
