/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Event lists, by hand. */
#include "unit.h"

#include <portmajor/lab/goal.h>

#include <unistd.h>

static struct pm_goal *parse(const char *text)
{
	struct pm_goal *goal = NULL;
	struct pm_error err = {""};

	if (pm_goal_parse(text, strlen(text), "in", &goal, &err))
		fail_msg("%s", err.text);
	return goal;
}

static void assert_message(const struct pm_goal *goal, uint32_t i, uint32_t from,
			   uint64_t bytes, uint64_t ns)
{
	assert_int_equal(goal->list[i].from, from);
	assert_int_equal(goal->list[i].bytes, bytes);
	assert_int_equal(goal->list[i].ns, ns);
}

static void assert_wait(const struct pm_goal *goal, uint32_t i, uint32_t k,
			uint32_t message, uint64_t ns)
{
	const struct pm_goal_wait *wait = &goal->waits[goal->list[i].first_wait + k];

	assert_true(k < goal->list[i].num_waits);
	assert_int_equal(wait->message, message);
	assert_int_equal(wait->ns, ns);
}

/* There and back, with computing before, between and beside it. */
static void test_ping(void **state)
{
	struct pm_goal *goal = parse("num_ranks 2\n\n"
				     "rank 1 {\n"
				     "r: recv 100b from 0 tag 7\n"
				     "c: calc 50 cpu 0\n"
				     "d: calc 20\n"
				     "s: send 8b to 0\n"
				     "c requires r\n"
				     "s requires c\n"
				     "s requires d\n"
				     "d requires r\n"
				     "}\n"
				     "// a comment\n"
				     "rank 0 {\n"
				     "s requires c\n"
				     "c: calc 1000\n"
				     "s: send 100b to 1 tag 7 nic 0\r\n"
				     "recv 8b from 1\n"
				     "}\n");

	assert_int_equal(goal->ranks, 2);
	assert_int_equal(goal->num, 2);
	assert_int_equal(goal->calc_ns, 1070);
	assert_message(goal, 0, 0, 100, 1000);
	assert_int_equal(goal->list[0].num_waits, 0);
	assert_message(goal, 1, 1, 8, 50);
	assert_int_equal(goal->list[1].num_waits, 1);
	assert_wait(goal, 1, 0, 0, 50);
	pm_goal_free(goal);
}

/* irequires: from the begin of a receive or a computing, not its end; a send waits for
 * a send's arrival, and for all received since. Tags tell messages apart, else turns. */
static void test_waits(void **state)
{
	struct pm_goal *goal = parse("num_ranks 2\n"
				     "rank 0 {\n"
				     "a: send 1b to 1 tag 2\n"
				     "b: send 2b to 1 tag 1\n"
				     "c: send 3b to 1 tag 1\n"
				     "recv 5b from 1\n"
				     "recv 6b from 1\n"
				     "recv 7b from 1\n"
				     "}\n"
				     "rank 1 {\n"
				     "x: recv 2b from 0 tag 1\n"
				     "y: recv 3b from 0 tag 1\n"
				     "z: recv 1b from 0 tag 2\n"
				     "k: calc 9\n"
				     "y requires x\n"
				     "k requires z\n"
				     "k irequires y\n"
				     "s: send 5b to 0\n"
				     "s requires k\n"
				     "t: send 6b to 0\n"
				     "t requires s\n"
				     "u: send 7b to 0\n"
				     "u irequires s\n"
				     "}\n");

	assert_int_equal(goal->num, 6);
	for (uint32_t i = 0; i < 6; i++) {
		assert_message(goal, i, i > 2, (uint64_t[]){1, 2, 3, 5, 6, 7}[i],
			       i == 3 || i == 5 ? 9 : 0);
		assert_int_equal(goal->list[i].num_waits,
				 ((uint32_t[]){0, 0, 0, 2, 1, 2})[i]);
	}
	for (uint32_t i = 3; i < 6; i += 2) {
		assert_wait(goal, i, 0, 1, 9);
		assert_wait(goal, i, 1, 0, 9);
	}
	assert_wait(goal, 4, 0, 3, 0);
	pm_goal_free(goal);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"", "no num_ranks"},
		{"num_ranks 1", "in:1: not \"num_ranks N\""},
		{"num_ranks 2\nnum_ranks 2", "in:2: not \"num_ranks N\""},
		{"rank 0 {", "in:1: not \"rank R {\""},
		{"num_ranks 2\nrank 2 {", "in:2: not \"rank R {\""},
		{"num_ranks 2\nrank 0 {\n}\nrank 0 {\n}", "in:4: rank 0 is given twice"},
		{"num_ranks 2\nrank 0 {\n", "rank 0 has no end"},
		{"num_ranks 2\n", "no messages"},
		{"num_ranks 2\n\x01", "in:2: not text"},
		{"num_ranks 2\ncalc 3", "in:2: neither num_ranks nor rank"},
		{"num_ranks 2\nrank 0 {\na:\n}", "in:3: no event after the label"},
		{"num_ranks 2\nrank 0 {\nsend 3 to 1\n}", "in:3: not \"send"},
		{"num_ranks 2\nrank 0 {\ncalc x\n}", "in:3: not \"send"},
		{"num_ranks 2\nrank 0 {\nsend 3b to 0\n}", "in:3: rank 0 has no message"},
		{"num_ranks 2\nrank 0 {\nsend 67108865b to 1\n}", "more than 64 MiB"},
		{"num_ranks 2\nrank 0 {\na: calc 1\na: calc 2\n}", "two events \"a\""},
		{"num_ranks 2\nrank 0 {\na: calc 1\na requires b\n}",
		 "in:4: rank 0 has no event \"b\""},
		{"num_ranks 2\nrank 0 {\na: calc 1\nb: calc 1\na requires b\n"
		 "b requires a\n}",
		 "in:3: rank 0: events require each other in a cycle"},
		{"num_ranks 2\nrank 0 {\nsend 3b to 1 tag 4\n}",
		 "in:3: rank 0 sends to rank 1, tag 4, which does not receive it"},
		{"num_ranks 2\nrank 0 {\nrecv 3b from 1\n}",
		 "in:3: rank 0 receives from rank 1, tag 0, which does not send it"},
	};

	for_each_row(row, rows) {
		struct pm_goal *goal = NULL;
		struct pm_error err = {""};

		assert_int_equal(
			pm_goal_parse(row->text, strlen(row->text), "in", &goal, &err),
			-EINVAL);
		if (!strstr(err.text, row->message))
			fail_msg("%s: not %s", err.text, row->message);
		assert_null(goal);
	}
}

/* The same in a file, with its name in messages. */
static void test_file(void **state)
{
	static const char text[] = "num_ranks 2\n"
				   "rank 0 {\nsend 3b to 1\n}\n"
				   "rank 1 {\nrecv 3b from 0\n}\n"
				   "rank 1 {\n";
	char path[] = "/tmp/test_goal.XXXXXX", message[60];
	struct pm_goal *goal = NULL;
	struct pm_error err = {""};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(pm_goal_read(path, &goal, &err), -EINVAL);
	snprintf(message, sizeof(message), "%s:8: rank 1 is given twice", path);
	assert_string_equal(err.text, message);
	assert_null(goal);
	assert_int_equal(ftruncate(fd, (off_t)strlen(text) - 9), 0);
	assert_int_equal(pm_goal_read(path, &goal, &err), 0);
	assert_int_equal(goal->num, 1);
	assert_message(goal, 0, 0, 3, 0);
	pm_goal_free(goal);
	close(fd);
	unlink(path);
	assert_int_equal(pm_goal_read(path, &goal, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ping),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
