/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flapping cables on disk: a restart changes no more than the passing of time does. */

#include "world.h"
#include "unit.h"

#include <portmajor/files/damping_file.h>

static const struct pm_damping_config config = {3, 60000, 30000, 3600000};

static struct pm_damping *make_damping(uint32_t limit)
{
	struct pm_damping_config other = config;
	struct pm_damping *damping;

	other.limit = limit;
	assert_int_equal(pm_damping_make(&other, &damping, NULL), 0);
	return damping;
}

/* A cable that went down so often, once a second, until 500 ms before now. */
static struct pm_damping_record make_link(uint64_t guid, uint32_t times, bool up)
{
	struct pm_damping_record r = {
		.end = {{guid, 1}, {guid + 1, 2}},
		.downs = times,
		.hold_ms = times > 3 ? 30000 : 0,
		.up = up,
		.changed_ms = up ? 400 : 500,
		.num = times < 4 ? times : 4,
	};

	for (uint32_t i = 0; i < r.num; i++)
		r.down_ms[i] = 500 + 1000 * i;
	return r;
}

static struct pm_damped_link get(const struct pm_damping *damping, uint64_t now,
				 uint32_t at)
{
	struct pm_damped_link flap;

	assert_true(pm_damping_next(damping, now, &at, &flap));
	return flap;
}

static void test_round_trip(void **state)
{
	const struct pm_damping_clock then = {5000000, 1000}, later = {77, 1010};
	struct pm_damping *a = make_damping(3), *b = make_damping(3);
	struct pm_damping_record r[3] = {make_link(10, 2, true), make_link(20, 4, true),
					 make_link(30, 7, false)};
	struct pm_error err = {""};
	char *text, *again;
	size_t length, same;

	for (int i = 2; i >= 0; i--) /* they come sorted all the same */
		assert_int_equal(pm_damping_import(a, then.now_ms, &r[i], NULL), 0);
	assert_int_equal(pm_damping_file_print(a, &then, &text, &length), 0);
	/* 10 s later, and after a reboot: the other clock is young. */
	if (pm_damping_file_parse(text, length, "x", &later, b, &err))
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < 3; i++) {
		struct pm_damped_link flap = get(b, later.now_ms, i);

		assert_int_equal(flap.end[0].guid, r[i].end[0].guid);
		assert_int_equal(flap.end[1].num, 2);
		assert_int_equal(flap.downs, r[i].downs);
		assert_int_equal(flap.hold_ms, r[i].hold_ms);
	}
	assert_int_equal(get(b, later.now_ms, 0).state, PM_DAMPING_NOTED);
	assert_int_equal(get(b, later.now_ms, 1).state, PM_DAMPING_ON_HOLD);
	assert_int_equal(get(b, later.now_ms, 1).left_ms, 30000 - 400 - 10000);
	assert_int_equal(get(b, later.now_ms, 2).state, PM_DAMPING_DOWN);
	free(text);
	/* No record is lost in between. */
	assert_int_equal(pm_damping_file_print(a, &then, &text, &length), 0);
	pm_damping_clear(b, 0, 0);
	assert_int_equal(pm_damping_file_parse(text, length, "x", &then, b, NULL), 0);
	assert_int_equal(pm_damping_file_print(b, &then, &again, &same), 0);
	assert_int_equal(length, same);
	assert_memory_equal(text, again, length);
	free(text);
	free(again);
	pm_damping_free(a);
	pm_damping_free(b);
}

/* A clock that was set back: no time has passed. */
static void test_clock_set_back(void **state)
{
	const struct pm_damping_clock then = {5000000, 1000}, before = {5000000, 900};
	struct pm_damping *a = make_damping(3), *b = make_damping(3);
	struct pm_damping_record r = make_link(10, 4, true);
	size_t length;
	char *text;

	assert_int_equal(pm_damping_import(a, then.now_ms, &r, NULL), 0);
	assert_int_equal(pm_damping_file_print(a, &then, &text, &length), 0);
	assert_int_equal(pm_damping_file_parse(text, length, "x", &before, b, NULL), 0);
	assert_int_equal(get(b, before.now_ms, 0).left_ms, 30000 - 400);
	free(text);
	pm_damping_free(a);
	pm_damping_free(b);
}

/*
 * The limit was changed meanwhile: whether it goes on hold is decided by the kept
 * count.
 */
static void test_other_limits(void **state)
{
	const uint64_t now = 1000000;
	struct pm_damping_record r = make_link(10, 4, true), out;
	struct pm_damping *more = make_damping(31), *less = make_damping(1);
	uint32_t at = 0;

	assert_int_equal(pm_damping_import(more, now, &r, NULL), 0);
	assert_int_equal(pm_damping_import(less, now, &r, NULL), 0);
	assert_true(pm_damping_export(more, now, &at, &out));
	assert_int_equal(out.num, 4);
	assert_memory_equal(out.down_ms, r.down_ms, 4 * sizeof(r.down_ms[0]));
	at = 0;
	assert_true(pm_damping_export(less, now, &at, &out));
	assert_int_equal(out.num, 2);
	assert_int_equal(out.downs, 4);
	assert_memory_equal(out.down_ms, r.down_ms, 2 * sizeof(r.down_ms[0]));
	assert_false(pm_damping_export(less, now, &at, &out));
	/* A hold is not above its limit. */
	r = make_link(20, 4, true);
	r.hold_ms = 4000000000;
	assert_int_equal(pm_damping_import(more, now, &r, NULL), 0);
	assert_int_equal(get(more, now, 1).hold_ms, config.hold_max_ms);
	pm_damping_free(more);
	pm_damping_free(less);
}

static void test_changes(void **state)
{
	struct pm_damping_record r = make_link(10, 4, true);
	struct pm_damping *damping = make_damping(3);
	uint64_t before = pm_damping_changes(damping);

	assert_int_equal(pm_damping_import(damping, 10000, &r, NULL), 0);
	assert_int_not_equal(pm_damping_changes(damping), before);
	before = pm_damping_changes(damping);
	get(damping, 20000, 0);
	assert_int_equal(pm_damping_changes(damping), before);
	pm_damping_clear(damping, 0, 0);
	assert_int_not_equal(pm_damping_changes(damping), before);
	before = pm_damping_changes(damping);
	pm_damping_clear(damping, 0, 0);
	assert_int_equal(pm_damping_changes(damping), before);
	pm_damping_free(damping);
}

static void test_nonsense(void **state)
{
#define HEAD "portmajor-holds 1\ntime 5\n"
	static const struct {
		const char *name, *body, *says;
	} rows[] = {
		{"empty", "\n", "x:1: not holds"},
		{"version", "portmajor-holds 2\ntime 5\n", "x:1: not holds"},
		{"no time", "portmajor-holds 1\n", "no time"},
		{"time", "portmajor-holds 1\ntime x\n", "x:2: no time"},
		{"two times", "portmajor-holds 1\ntime 5 6\n", "x:2: no time"},
		{"line", HEAD "foo\n", "x:3: unknown"},
		{"short", HEAD "cable a 1 b 2 1 0 up\n", "x:3: not a cable"},
		{"port", HEAD "cable a 1 b 255 1 0 up 1 1\n", "x:3: not a cable"},
		{"state", HEAD "cable a 1 b 2 1 0 off 1 1\n", "x:3: not a cable"},
		{"no down", HEAD "cable a 1 b 2 1 0 up 1\n", "x:3: not a cable that"},
		{"word", HEAD "cable a 1 b 2 1 0 up 1 x\n", "x:3: not a time"},
		{"downs", HEAD "cable a 1 b 2 1 0 up 1 1 2\n", "x:3: not a cable that"},
		{"order", HEAD "cable a 1 b 2 2 0 up 1 3 2\n", "x:3: not a cable that"},
		{"ends", HEAD "cable b 1 a 2 1 0 up 1 1\n", "x:3: not a cable that"},
		{"itself", HEAD "cable a 1 a 1 1 0 up 1 1\n", "x:3: not a cable that"},
		{"later than down", HEAD "cable a 1 b 2 1 0 up 9 1\n",
		 "x:3: not a cable"},
		{"GUID, no digit", HEAD "cable a 1 g 2 1 0 up 1 1\n", "x:3: not a cable"},
		{"port, no digit", HEAD "cable a 1 b a 1 0 up 1 1\n", "x:3: not a cable"},
		{"downs, no digit", HEAD "cable a 1 b 2 a 0 up 1 1\n",
		 "x:3: not a cable"},
		{"hold, no digit", HEAD "cable a 1 b 2 1 a up 1 1\n", "x:3: not a cable"},
		{"change, no digit", HEAD "cable a 1 b 2 1 0 up a 20\n",
		 "x:3: not a cable"},
		{"time, no digit", HEAD "cable a 1 b 2 1 0 up 1 a\n", "x:3: not a time"},
		{"twice", HEAD "cable a 1 b 2 1 0 up 1 1\ncable a 1 b 2 1 0 up 1 1\n",
		 "x:4: the same cable"},
		{"too many",
		 HEAD "cable a 1 b 2 40 0 up 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
		      "1 1 1 1 1 1 1 1 1 1 1 1\n",
		 "x:3: too many"},
	};
	const struct pm_damping_clock clock = {100000, 5};

	for_each_row(row, rows) {
		struct pm_damping *damping = make_damping(3);
		uint64_t hash = 0xcbf29ce484222325;
		struct pm_error err = {""};
		char text[512];

		for (const char *c = row->body; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
		snprintf(text, sizeof(text), "%send %016llx\n", row->body,
			 (unsigned long long)hash);
		if (pm_damping_file_parse(text, strlen(text), "x", &clock, damping,
					  &err) != -EBADMSG ||
		    !strstr(err.text, row->says))
			fail_msg("%s: \"%s\"", row->name, err.text);
		text[0] ^= 1;
		assert_int_equal(pm_damping_file_parse(text, strlen(text), "x", &clock,
						       damping, &err),
				 -EBADMSG);
		assert_non_null(strstr(err.text, "checksum"));
		pm_damping_free(damping);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_clock_set_back),
		cmocka_unit_test(test_other_limits),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
